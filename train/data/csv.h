/* csv.h - records of comma-separated values (RFC 4180): fields between separators, in quotes where
 * they hold a separator, a line end or a quote, which is doubled there. A byte order mark, LF alone
 * and lines without anything are fine. */
#ifndef GSA_CSV_H
#define GSA_CSV_H
#include "train/data/columns.h"
#include "train/data/lines.h"

/* ';' where the first record holds one outside quotes and no comma there, else ','. */
char gsa_csv_separator(const gsa_lines *lines);
/* The next record's fields, unquoted in place; *count 0: the end, -1: more than GSA_COLUMNS. *line
 * is where it begins. Invalid UTF-8, a quote that is not closed and text after a closing one are a
 * sentence with that line. */
gsa_status gsa_csv_next(gsa_lines *lines, char separator, gsa_slice part[GSA_COLUMNS], int *count,
                        int64_t *line, gsa_error *error);

#endif
