#include "graph/status.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"

/* One line that any terminal and any JSON log accepts: line breaks become spaces, other controls and broken bytes '?'. */
static void make_printable(char *text)
{
    int64_t left = (int64_t)strlen(text), bad;
    for (char *at = text; (bad = gsa_utf8_invalid(at, left)) >= 0; at += bad + 1, left -= bad + 1) at[bad] = '?';
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r' || *c == '\t') *c = ' ';
        else if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
}

/* Ends a text that filled its buffer with "..." after the last whole character that leaves room for it. */
static void cut(char *text)
{
    size_t end = GSA_ERROR_SIZE - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    strcpy(text + end, "...");
}

/* At most `length` bytes of `text` stand there; what does not fit is cut. */
static void keep(gsa_error *error, const char *text, size_t length)
{
    const size_t most = GSA_ERROR_SIZE - 1;
    memcpy(error->text, text, length < most ? length : most);
    error->text[length < most ? length : most] = 0;
    if (length > most) cut(error->text);
    make_printable(error->text);
}

gsa_status gsa_fail(gsa_error *error, gsa_status status, const char *format, ...)
{
    if (!error) return status;
    char text[GSA_ERROR_SIZE + 1]; /* the arguments may point into error->text */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error->status = status;
    if (length < 0) strcpy(text, "an error whose sentence could not be formatted");
    keep(error, text, strlen(text));
    return status;
}

gsa_status gsa_fail_at(gsa_error *error, gsa_status status, const char *where, ...)
{
    if (!error) return status;
    char text[2 * GSA_ERROR_SIZE + 2];
    va_list arguments;
    va_start(arguments, where);
    const int length = vsnprintf(text, GSA_ERROR_SIZE, where, arguments);
    va_end(arguments);
    if (length < 0) return error->status;
    if (length >= GSA_ERROR_SIZE) cut(text);
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
