#include "graph/utf8.h"

/* Bytes of the well-formed character at `at` (Unicode 15, table 3-7), or 0. The second byte's range
 * depends on the first: E0 A0.. and F0 90.. exclude overlong forms, ED ..9F surrogates, F4 ..8F
 * what lies above U+10FFFF. */
static int well_formed(const unsigned char *at, int64_t left)
{
    const unsigned char a = at[0];
    if (a < 0x80) return 1;
    if (a < 0xc2 || a > 0xf4) return 0;
    const int bytes = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
    if (left < bytes) return 0;
    const unsigned char low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high) return 0;
    for (int i = 2; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return bytes;
}

static int xml_refuses(const unsigned char *at, int bytes)
{
    if (bytes == 1) return at[0] < 0x20 && at[0] != '\t' && at[0] != '\n' && at[0] != '\r';
    return bytes == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe; /* U+FFFE, U+FFFF */
}

static int64_t first_invalid(const char *text, int64_t bytes, int xml)
{
    const unsigned char *at = (const unsigned char *)text;
    for (int64_t i = 0; i < bytes;) {
        const int width = well_formed(at + i, bytes - i);
        if (width == 0 || (xml && xml_refuses(at + i, width))) return i;
        i += width;
    }
    return -1;
}

int64_t gsa_utf8_invalid(const char *at, int64_t bytes)
{
    return first_invalid(at, bytes, 0);
}

int64_t gsa_xml_invalid(const char *at, int64_t bytes)
{
    return first_invalid(at, bytes, 1);
}

int32_t gsa_utf8_length(const char *at)
{
    const unsigned char a = (unsigned char)*at;
    return a < 0x80 ? 1 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
}
