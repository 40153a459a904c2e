/* conll.h - sentences with a tag a token, from files of columns: a token a line, an empty line
 * after each sentence.
 *   conll    columns between tabs (when the first token's line has one), else between blanks; a
 *            line that starts with -DOCSTART- ends a sentence
 *   conllu   CoNLL-U: ten columns between tabs, comments, ranges of multiword tokens (1-2) and
 *            empty nodes (1.1) left out
 *   chars    token, one blank or tab, tag: the token may itself be a blank. Untagged: the token
 *            alone, or with a tag that is passed over
 * Strict: every wrong line is a sentence with file:line. A byte order mark at the start, CR LF,
 * empty lines in a row and a missing last line end are fine. */
#ifndef GSA_CONLL_H
#define GSA_CONLL_H
#include "graph/system.h"
#include "graph/topology.h"
#include "train/data/columns.h"
#include "train/data/encoding.h"

/* auto: conllu where the first line looks so, else conll */
enum gsa_conll_format { GSA_CONLL_AUTO, GSA_CONLL_COLUMNS, GSA_CONLL_U, GSA_CONLL_CHARS };

typedef struct gsa_conll_options {
    int32_t format;   /* gsa_conll_format */
    int32_t encoding; /* gsa_encoding */
    int32_t word;     /* column of the token: 1 the first, -1 the last; 0: 1, in conllu 2 */
    int32_t tag;      /* column of the tag; 0: -1, in conllu 4 */
    int32_t untagged; /* tags are not there, or not read: every tag is empty */
    int32_t sides;    /* columns next to the token that are kept, too; none in `chars` */
    int32_t side[GSA_BESIDE];
} gsa_conll_options;

typedef struct gsa_conll {
    const gsa_system *system;
    char *path, *bytes;   /* the file; slices point into it */
    int32_t format, tabs; /* as found; tabs: columns are between tabs */
    int64_t columns;      /* of a line; 0: none was read */
    int64_t sentences, tokens, sentence_room, token_room;
    int64_t *offset;             /* [sentences+1]: first token */
    int64_t *line;               /* [tokens] */
    gsa_slice *word, *tag;       /* [tokens] */
    gsa_slice *side[GSA_BESIDE]; /* [tokens] of the options' columns; NULL: no file said them */
    int64_t longest;             /* tokens of the longest sentence */
} gsa_conll;

/* "-" is standard input. A file without a sentence is an error, unless it is untagged. On failure
 * nothing is to be released. */
gsa_status gsa_conll_read(const gsa_system *system, const char *path,
                          const gsa_conll_options *options, gsa_conll *conll, gsa_error *error);
/* Closes the gaps that sentences with drop[s] leave. */
void gsa_conll_compact(gsa_conll *conll, const uint8_t *drop);
void gsa_conll_release(gsa_conll *conll); /* a zeroed one is fine */
/* "auto", "conll", "conllu", "chars" */
const char *gsa_conll_format_name(int32_t format);

#endif
