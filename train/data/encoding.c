#include "train/data/encoding.h"
#include <string.h>
#include "graph/utf8.h"
#include "train/data/source.h"

static const int64_t LARGEST = INT64_C(1) << 36;
const char gsa_encoding_advice[] =
    ": data.encoding = cp1252 (or latin1, or mixed) reads a file that is not UTF-8";

/* windows-1252 from 0x80 to 0x9f */
static const uint16_t high[32] = { 0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                   0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
                                   0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                   0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178 };

const char *gsa_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* At most three bytes, as no character is above U+FFFF. */
static int64_t put(char *to, unsigned c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3f)),
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

/* Bytes after `to`. */
static int64_t convert(const char *from, int64_t bytes, int latin1, char *to)
{
    int64_t used = 0;
    for (int64_t i = 0; i < bytes; i++) {
        const unsigned c = (unsigned char)from[i];
        used += put(to + used, !latin1 && c >= 0x80 && c < 0xa0 ? high[c - 0x80] : c);
    }
    return used;
}

/* Line by line: those that are UTF-8 are copied. */
static int64_t convert_mixed(const char *from, int64_t bytes, char *to)
{
    int64_t used = 0;
    for (int64_t first = 0, last; first < bytes; first = last) {
        const char *stop = memchr(from + first, '\n', (size_t)(bytes - first));
        last = stop ? stop + 1 - from : bytes;
        if (gsa_utf8_invalid(from + first, last - first) >= 0) {
            used += convert(from + first, last - first, 0, to + used);
            continue;
        }
        memcpy(to + used, from + first, (size_t)(last - first));
        used += last - first;
    }
    return used;
}

static int starts(const char *at, int64_t bytes, const char *mark)
{
    const int64_t length = (int64_t)strlen(mark);
    return bytes >= length && memcmp(at, mark, (size_t)length) == 0;
}

gsa_status gsa_encoding_decode(const gsa_system *system, const char *path, int32_t encoding,
                               char **bytes, int64_t *count, gsa_error *error)
{
    int64_t most = *count;
    if (starts(*bytes, *count, "\xff\xfe") || starts(*bytes, *count, "\xfe\xff"))
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s:1: the file starts with the byte order mark of UTF-16, expected UTF-8 or Latin-1",
            path);
    if (starts(*bytes, *count, "\x1f\x8b") ||
        starts(*bytes, *count,
               "\xfd"
               "7zXZ") ||
        starts(*bytes, *count, "\x28\xb5\x2f\xfd") || starts(*bytes, *count, "PK\x03\x04"))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:1: the file is compressed, expected text: unpack it first", path);
    if (encoding == GSA_ENCODING_UTF8) return GSA_OK;
    if (encoding != GSA_ENCODING_MIXED && starts(*bytes, *count, "\xef\xbb\xbf"))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:1: the file starts with the byte order mark of UTF-8: read it with "
                        "data.encoding = utf8",
                        path);
    for (int64_t i = 0; i < *count; i++) most += 2 * ((unsigned char)(*bytes)[i] >= 0x80);
    char *to = gsa_alloc(system, (size_t)most + 1, 1);
    if (!to) return gsa_out_of_memory(error, path, most + 1);
    const int latin1 = encoding == GSA_ENCODING_LATIN1;
    *count = encoding == GSA_ENCODING_MIXED ? convert_mixed(*bytes, *count, to)
                                            : convert(*bytes, *count, latin1, to);
    to[*count] = 0;
    gsa_release(system, *bytes);
    *bytes = to;
    return GSA_OK;
}

gsa_status gsa_encoding_read(const gsa_system *system, const char *path, int32_t encoding,
                             char **bytes, int64_t *count, gsa_error *error)
{
    *bytes = NULL;
    gsa_status status = gsa_source_whole(system, path, LARGEST, bytes, count, error);
    if (status != GSA_OK) return status;
    status = gsa_encoding_decode(system, gsa_input_name(path), encoding, bytes, count, error);
    if (status != GSA_OK) gsa_release(system, *bytes), *bytes = NULL;
    return status;
}
