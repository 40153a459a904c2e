/* lines.h - the lines of a file in memory: split at LF alone, a CR before it is cut, a byte order
 * mark at the start is skipped. */
#ifndef GSA_LINES_H
#define GSA_LINES_H
#include "graph/system.h"

typedef struct gsa_lines {
    const char *path; /* for messages */
    char *at, *end;
    int64_t number;     /* of the line that gsa_lines_next gave last, from 1 */
    const char *advice; /* NULL, or how the sentence about invalid UTF-8 ends: encoding.h */
} gsa_lines;

gsa_lines gsa_lines_start(const char *path, char *bytes, int64_t count);
/* 1 and the line (not terminated), or 0 at the end. */
int gsa_lines_next(gsa_lines *lines, char **line, int64_t *bytes);
/* The line is UTF-8 without NUL, or a sentence with file:line and byte. */
gsa_status gsa_lines_check(const gsa_lines *lines, const char *line, int64_t bytes,
                           gsa_error *error);

#endif
