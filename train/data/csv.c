#include "train/data/csv.h"
#include <string.h>

/* Where the record ends that begins at `at`: its line end, or `end`; NULL: a quote is open
 * there. */
static char *find_end(char *at, char *end, char separator)
{
    for (int begins = 1; at < end && *at != '\n'; at++) {
        if (begins && *at == '"') {
            for (at++; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++)
                at += *at == '"';
            if (at >= end) return NULL;
        }
        begins = *at == separator;
    }
    return at;
}

char gsa_csv_separator(const gsa_lines *lines)
{
    int commas = 0, semicolons = 0, quoted = 0;
    for (const char *at = lines->at; at < lines->end && (quoted || *at != '\n'); at++) {
        quoted ^= *at == '"';
        commas += !quoted && *at == ',', semicolons += !quoted && *at == ';';
    }
    return semicolons > 0 && commas == 0 ? ';' : ',';
}

/* One field from *at on, which moves after it, to a separator or `end`; 0: text follows its
 * closing quote. */
static int take_field(char **at, const char *end, char separator, gsa_slice *field)
{
    char *from = *at, *to = from;
    if (from == end || *from != '"') {
        char *stop = memchr(from, separator, (size_t)(end - from));
        *at = stop ? stop : from + (end - from);
        *field = (gsa_slice){ from, *at - from };
        return 1;
    }
    for (from++; *from != '"' || (from + 1 < end && from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    *field = (gsa_slice){ *at, to - *at };
    *at = from + 1;
    return *at == end || **at == separator;
}

static gsa_status take_record(const gsa_lines *lines, char *at, const char *end, char separator,
                              gsa_slice part[GSA_COLUMNS], int *count, gsa_error *error)
{
    for (*count = 0;; at++) {
        gsa_slice field;
        if (!take_field(&at, end, separator, &field))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s:%lld: in column %d text follows the closing quote, expected '%c'",
                            lines->path, (long long)lines->number, *count + 1, separator);
        if (*count == GSA_COLUMNS) {
            *count = -1;
            return GSA_OK;
        }
        part[(*count)++] = field;
        if (at == end) return GSA_OK;
    }
}

gsa_status gsa_csv_next(gsa_lines *lines, char separator, gsa_slice part[GSA_COLUMNS], int *count,
                        int64_t *line, gsa_error *error)
{
    *count = 0;
    while (lines->at < lines->end) {
        char *first = lines->at, *end = find_end(first, lines->end, separator);
        *line = ++lines->number;
        if (!end)
            return gsa_fail(
                error, GSA_ERR_FORMAT,
                "%s:%lld: a quote opens in the record that begins here and is never closed",
                lines->path, (long long)*line);
        lines->at = end < lines->end ? end + 1 : end;
        if (end > first && end[-1] == '\r') end--;
        if (end == first) continue;
        gsa_status status = gsa_lines_check(lines, first, end - first, error);
        int64_t inside = 0;
        for (const char *c = first; c < end; c++) inside += *c == '\n';
        if (status == GSA_OK)
            status = take_record(lines, first, end, separator, part, count, error);
        lines->number += inside;
        return status;
    }
    return GSA_OK;
}
