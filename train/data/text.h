/* text.h - labelled text: one example a line, strict.
 *   tsv       label<TAB>text, or what `columns` says: "-,text,label"; - is passed over
 *   fasttext  __label__LABEL text
 *   sst       (3 (2 It) (4 (2 's) (4 good)))       the root, or every labelled phrase
 *   stsa      LABEL text
 *   csv       fields in quotes (csv.h), label and text or what `columns` says
 *   json      an object a line with fields label and text, or those that `columns` names:
 *             "label=category" (objects.h)
 * Tokens are words between blanks (Unicode's, too), their characters, or `punctuated`: each
 * character of Unicode's categories P (marks) and S (symbols) is a token, and so is each run of
 * others between them and blanks: "don't!" is don ' t !. With `markup` a tag, from < and a letter,
 * / or ! to the next > of the line, is blanks. -LRB- and its kin, in any case, are brackets in sst
 * and stsa, or as `escapes` says. */
#ifndef GSA_TEXT_H
#define GSA_TEXT_H
#include "graph/system.h"
#include "graph/topology.h"
#include "train/data/blocks.h"
#include "train/data/columns.h"
#include "train/data/encoding.h"

typedef struct gsa_text_options {
    int32_t format;   /* gsa_data_format */
    int32_t header;   /* tsv: skip the first line */
    int32_t subtrees; /* sst: every phrase of at least phrase_min tokens, and the root */
    int32_t phrase_min;
    int32_t lower;
    int32_t tokens;     /* gsa_data_tokens */
    int32_t max_length; /* 0: no cut */
    int32_t unlabelled; /* a line is text and nothing else */
    int32_t encoding;   /* gsa_encoding */
    int32_t markup;
    int32_t escapes; /* gsa_data_escapes; auto: what the format has */
    int32_t empty;   /* gsa_data_empty: an example without a token is refused; left out and counted
                        where it is labelled; kept */
    const char *columns; /* tsv: as data.columns; NULL or "": label,text */
} gsa_text_options;

typedef struct gsa_text {
    const gsa_system *system;
    char *path, *bytes; /* the file; slices point into it */
    char **spills;      /* words that grew when they were lower-cased */
    int64_t n_spills;
    int32_t format;  /* as found */
    int32_t longest; /* tokens of the longest example */
    int64_t skipped; /* examples without a token */
    int64_t cut;     /* examples with more tokens than options->max_length */
    int64_t alike;   /* unlabelled lines that are written as options->format has labelled ones */
    int64_t examples, tokens, example_room, token_room;
    int64_t *offset;  /* [examples+1]: first token; NULL without examples */
    int64_t *line;    /* [examples] */
    gsa_slice *label; /* [examples] */
    gsa_slice *token; /* [tokens] */
} gsa_text;

enum { GSA_CUT_ROOM = 96 };
/* "; 3 of the file's texts are cut to 16 tokens", or "" where none is; returns `out`. */
const char *gsa_text_say_cut(int64_t texts, int64_t most, char out[GSA_CUT_ROOM]);

/* "-" is standard input. Every bad line is a sentence with file:line; no example at all is one with
 * the file. */
gsa_status gsa_text_read(const gsa_system *system, const char *path,
                         const gsa_text_options *options, gsa_text *text, gsa_error *error);
/* The same of a block of a file (blocks.h), whose bytes it takes over. No example is fine. */
gsa_status gsa_text_block(const gsa_system *system, const gsa_block *block,
                          const gsa_text_options *options, gsa_text *text, gsa_error *error);
/* A text without a label, already in memory, as the only example; its line ends are blanks. `name`
 * stands for the path. */
gsa_status gsa_text_take(const gsa_system *system, const char *name, const char *at,
                         const gsa_text_options *options, gsa_text *text, gsa_error *error);
void gsa_text_release(gsa_text *text); /* a zeroed one is fine */
/* "tsv", "fasttext", ... */
const char *gsa_text_format_name(int32_t format);
/* gsa_data_escapes that texts of a format have; auto: none of its own. */
int32_t gsa_text_format_escapes(int32_t format);
int gsa_slice_compare(gsa_slice a, gsa_slice b); /* by bytes */
/* UTF-8 in lower case; returns its bytes. `to` has room for 4 for each of `from`. */
int64_t gsa_lower_into(const char *from, int64_t bytes, char *to);

/* ---- for the readers of single formats (trees.c) ------------------------------------------- */
typedef struct gsa_text_reader {
    gsa_text *text;
    const gsa_text_options *options;
    gsa_slice *word; /* tokens of the line */
    int64_t words, room;
    int64_t number; /* of the line */
    int64_t bytes;  /* of the file, for trees */
    gsa_columns columns;
} gsa_text_reader;
/* Cuts words into tokens, appended to reader->word; the bytes may change in place. */
gsa_status gsa_text_tokenize(gsa_text_reader *reader, char *at, int64_t bytes, gsa_error *error);
gsa_status gsa_text_add(gsa_text_reader *reader, gsa_slice label, int64_t first, int64_t last,
                        gsa_error *error);
gsa_status gsa_text_fail(const gsa_text_reader *reader, gsa_error *error, const char *format, ...)
    GSA_PRINTF(3, 4);
gsa_status gsa_tree_read(gsa_text_reader *reader, char *line, int64_t bytes, gsa_error *error);
/* Brackets written -LRB-, -rrb-, ... become brackets; with `escapes`, \/ and \* lose the
 * backslash. */
int64_t gsa_tree_unescape(char *word, int64_t bytes, int escapes);

#endif
