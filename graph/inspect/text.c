/* text.c - text on the page: how wide it is about, cut where too long, escaped. No font is at hand:
 * widths are of Helvetica's sort. */
#include <string.h>
#include "graph/inspect/draw.h"
#include "graph/utf8.h"

static uint32_t code_of(const char *at, int32_t bytes)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = (unsigned char)at[0] & masks[bytes];
    for (int32_t i = 1; i < bytes; i++) code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* In units of the font's size. */
static double advance(uint32_t code)
{
    if (code < 0x20 || (code >= 0x300 && code < 0x370) || (code >= 0x200b && code <= 0x200f) ||
        code == 0xfe0f)
        return 0;
    if (code < 0x80)
        return strchr("iljtf.,:;'|!()[]I ", (int)code) ? 0.32
               : strchr("mwMW@%", (int)code)           ? 0.9
                                                       : 0.6;
    if ((code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
        (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
        (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61))
        return 1;
    return code >= 0x1f000 ? 1.3 : 0.65;
}

/* Bytes of the character at `at`, 1 for a byte that begins none. */
static int32_t step(const char *at)
{
    const int32_t bytes = (unsigned char)*at < 0x80 ? 1 : gsa_utf8_length(at);
    return bytes >= 1 && bytes <= 4 && strnlen(at, (size_t)bytes) == (size_t)bytes &&
                   gsa_utf8_invalid(at, bytes) < 0
               ? bytes
               : 1;
}

double gsa_text_width(const char *text, double size)
{
    double sum = 0;
    for (int32_t bytes; *text; text += bytes) {
        bytes = step(text);
        sum += advance(code_of(text, bytes));
    }
    return sum * size;
}

void gsa_text_short(const char *text, int most, char out[SHORT_TEXT])
{
    size_t used = 0;
    for (int characters = 0; *text; characters++) {
        const int32_t bytes = step(text);
        if (characters + 1 >= most && text[bytes]) {
            memcpy(out + used, "\xe2\x80\xa6", 3);
            used += 3;
            break;
        }
        if (used + (size_t)bytes + 4 >= SHORT_TEXT) break;
        memcpy(out + used, text, (size_t)bytes);
        used += (size_t)bytes, text += bytes;
    }
    out[used] = 0;
}

void gsa_draw_text(const gsa_page *page, const char *text)
{
    for (int32_t bytes; *text; text += bytes) {
        bytes = step(text);
        const unsigned char c = (unsigned char)*text;
        if (c == '&') gsa_output_text(page->out, "&amp;");
        else if (c == '<') gsa_output_text(page->out, "&lt;");
        else if (c == '>') gsa_output_text(page->out, "&gt;");
        else if (c == '\n') gsa_output_text(page->out, "\xe2\x8f\x8e");
        else if (c == '\t') gsa_output_text(page->out, "\xe2\x87\xa5");
        else if (gsa_xml_invalid(text, bytes) >= 0 || c == '\r')
            gsa_output_text(page->out, "\xef\xbf\xbd");
        else gsa_output_write(page->out, text, bytes);
    }
}
