/* parallel.h - parallel text: line i of one file is the translation of line i of another, or a line
 * has both in columns.
 *   two files   PATH.SOURCE and PATH.TARGET, with as many lines
 *   one file  columns with tabs between them: source, target, or as `columns` says
 *       ("target,source,-"; - is passed over)
 * A sentence may be empty: an example without tokens. With `documents` such a line parts documents;
 * it has no tokens on either side, and in one file it may be a line without a tab. Tokens as in
 * text.h. */
#ifndef GSA_PARALLEL_H
#define GSA_PARALLEL_H
#include "train/data/text.h"

enum { GSA_SOURCE, GSA_TARGET, GSA_SIDES };

typedef struct gsa_parallel_options {
    const char *suffix[GSA_SIDES]; /* "en", "de"; both "": one file */
    const char *columns;           /* "": source,target */
    int32_t lower, tokens;         /* as in gsa_text_options */
    int32_t documents, zero;
} gsa_parallel_options;

/* Every bad line is a sentence with file:line; files of unequal length are one with both, and so is
 * no line at all. With documents also a line that is empty in one language alone, with both
 * places. */
gsa_status gsa_parallel_read(const gsa_system *system, const char *path,
                             const gsa_parallel_options *options, gsa_text side[GSA_SIDES],
                             gsa_error *error);
/* Sentences of one language, a line each: "-" is standard input, and no line is fine. */
gsa_status gsa_parallel_read_lines(const gsa_system *system, const char *path,
                                   const gsa_parallel_options *options, gsa_text *text,
                                   gsa_error *error);

#endif
