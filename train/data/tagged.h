/* tagged.h - the tagged sentences of one file as a tagger takes them: words, and the tags that are
 * learned.
 *
 * Tags in a scheme of spans go through their spans, as conlleval reads them, into the scheme that
 * is learned: so tags that break theirs are mended. The file's own tags stay what is scored. */
#ifndef GSA_TAGGED_H
#define GSA_TAGGED_H
#include "train/data/conll.h"
#include "train/score/spans.h"
#include "train/data/sample.h"

typedef struct gsa_tagged_options {
    gsa_conll_options conll;
    int32_t lower, zero_digits;
    gsa_sample part; /* the sentences of the file that are used */
} gsa_tagged_options;

typedef struct gsa_tagged {
    const gsa_system *system;
    gsa_conll conll;         /* the file, and its tags */
    gsa_text taken;          /* the text, where there are no columns; path NULL: there are */
    char *bytes, *tag_bytes; /* what the slices below point into */
    gsa_slice *form;         /* [tokens] the word as written, its digits zero where wanted: it has
                                characters and capitals */
    gsa_text words; /* a view, an example a sentence: the forms, in lower case where wanted */
    gsa_text tags;  /* a view, an example a token: its label is the tag that is learned; and one
                       more, O, with spans */
} gsa_tagged;

/* "-" is standard input. On failure nothing is to be released. */
gsa_status gsa_tagged_read(const gsa_system *system, const char *path,
                           const gsa_tagged_options *options, gsa_tagged *tagged, gsa_error *error);
/* One sentence without tags; its tokens (gsa_data_tokens) are cut as in text.h. */
gsa_status gsa_tagged_take(const gsa_system *system, const char *text, int32_t tokens,
                           const gsa_tagged_options *options, gsa_tagged *tagged, gsa_error *error);
/* Likewise a sentence a line of the file; a line without a token is no sentence, and counts. */
gsa_status gsa_tagged_lines(const gsa_system *system, const char *path, int32_t tokens,
                            const gsa_tagged_options *options, gsa_tagged *tagged,
                            gsa_error *error);
void gsa_tagged_release(gsa_tagged *tagged); /* a zeroed one is fine */

/* Makes `tags`: from the file's scheme into another; none to none leaves them as they are. */
gsa_status gsa_tagged_convert(gsa_tagged *tagged, int32_t from, int32_t to, gsa_error *error);

/* ---- what needs no encoder ----------------------------------------------------------------- */
typedef struct gsa_tag_view {
    int64_t tokens;
    const int32_t *word;  /* [tokens] numbers of words, below 2^31 */
    const int32_t *label; /* [tokens] or -1 */
} gsa_tag_view;
/* The label that is most frequent in training, and in `guess` that of each dev word, or of all
 * words where it is unknown; of equals the smallest. O(n log n). */
gsa_status gsa_tag_baseline(const gsa_system *system, const gsa_tag_view *train,
                            const gsa_tag_view *dev, int32_t labels, int32_t *majority,
                            int32_t *guess, gsa_error *error);

#endif
