#include "train/data/lines.h"
#include <string.h>
#include "graph/utf8.h"

gsa_lines gsa_lines_start(const char *path, char *bytes, int64_t count)
{
    gsa_lines lines = { .path = path, .at = bytes, .end = bytes + count };
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) lines.at += 3;
    return lines;
}

int gsa_lines_next(gsa_lines *lines, char **line, int64_t *bytes)
{
    if (lines->at >= lines->end) return 0;
    char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    char *last = stop ? stop : lines->end;
    *line = lines->at;
    *bytes = last - lines->at;
    if (*bytes > 0 && last[-1] == '\r') --*bytes;
    lines->at = stop ? stop + 1 : lines->end;
    lines->number++;
    return 1;
}

gsa_status gsa_lines_check(const gsa_lines *lines, const char *line, int64_t bytes,
                           gsa_error *error)
{
    const int64_t bad = gsa_utf8_invalid(line, bytes);
    if (bad >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: invalid UTF-8 at byte %lld of the line (0x%02x)%s", lines->path,
                        (long long)lines->number, (long long)bad + 1,
                        (unsigned)(unsigned char)line[bad], lines->advice ? lines->advice : "");
    if (bytes > 0 && memchr(line, 0, (size_t)bytes))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: the line holds a NUL byte", lines->path,
                        (long long)lines->number);
    return GSA_OK;
}
