#include "graph/status.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"

enum { LONGEST = 8192 /* of what is put together before it is cut: two paths and a reason */ };

/* One line that any terminal and any JSON log accepts: line breaks become spaces, other controls
 * and broken bytes '?'. U+0080 to U+009F are controls, too: to a terminal U+009B is ESC [. */
static void make_printable(char *text)
{
    int64_t left = (int64_t)strlen(text), bad;
    for (char *at = text; (bad = gsa_utf8_invalid(at, left)) >= 0; at += bad + 1, left -= bad + 1)
        at[bad] = '?';
    char *to = text;
    for (const char *c = text; *c; c++) {
        const int pair = (unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0;
        if (*c == '\n' || *c == '\r' || *c == '\t') *to++ = ' ';
        else if ((unsigned char)*c < 0x20 || *c == 0x7f || pair) *to++ = '?';
        else *to++ = *c;
        c += pair;
    }
    *to = 0;
}

static int continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The sentence, of which "..." stands for the middle where it is too long, between whole
 * characters: a long name is in front, what is wrong with it after. */
static void keep(gsa_error *error, const char *text, size_t length)
{
    const size_t most = GSA_ERROR_SIZE - 1;
    if (length <= most) memcpy(error->text, text, length + 1);
    else {
        size_t front = most / 2, back = length - (most - front - 3);
        while (front > 0 && continues(text[front])) front--;
        while (continues(text[back])) back++;
        memcpy(error->text, text, front);
        memcpy(error->text + front, "...", 3);
        memcpy(error->text + front + 3, text + back, length - back + 1);
    }
    make_printable(error->text);
}

/* What did not fit into LONGEST bytes is missing at the end, which says so. */
static void mark_end(char *text, int length)
{
    size_t end = LONGEST - 4;
    if (length < LONGEST) return;
    while (end > 0 && continues(text[end])) end--;
    memcpy(text + end, "...", 4);
}

gsa_status gsa_fail(gsa_error *error, gsa_status status, const char *format, ...)
{
    if (!error) return status;
    char text[LONGEST]; /* the arguments may point into error->text */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error->status = status;
    mark_end(text, length);
    if (length < 0) strcpy(text, "an error whose sentence could not be formatted");
    keep(error, text, strlen(text));
    return status;
}

gsa_status gsa_fail_at(gsa_error *error, gsa_status status, const char *where, ...)
{
    if (!error) return status;
    char text[LONGEST + GSA_ERROR_SIZE + 2];
    va_list arguments;
    va_start(arguments, where);
    const int length = vsnprintf(text, LONGEST, where, arguments);
    va_end(arguments);
    if (length < 0) return error->status;
    mark_end(text, length);
    strcat(text, ": ");
    strcat(text, error->text);
    keep(error, text, strlen(text));
    return error->status;
}

const char *gsa_status_name(gsa_status status)
{
    switch (status) {
    case GSA_OK:
        return "ok";
    case GSA_ERR_ARGUMENT:
        return "argument";
    case GSA_ERR_MEMORY:
        return "memory";
    case GSA_ERR_IO:
        return "io";
    case GSA_ERR_FORMAT:
        return "format";
    case GSA_ERR_LIMIT:
        return "limit";
    case GSA_ERR_PLUGIN:
        return "plugin";
    case GSA_ERR_UNSUPPORTED:
        return "unsupported";
    case GSA_ERR_NUMBER:
        return "number";
    case GSA_ERR_INTERRUPTED:
        return "interrupted";
    case GSA_ERR_DEVICE:
        return "device";
    }
    return "unknown";
}
