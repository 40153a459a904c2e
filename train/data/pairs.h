/* pairs.h - labelled pairs of sentences: one pair a line, strict.
 *   tsv    columns with tabs between them. Which they are is said by `columns` ("a,b,label",
 *          "label,-,a,b"; - is passed over), else by the names in the header, else they are label,
 *          a, b. Names of a header: label, gold_label; a, sentence1, premise, question1; b,
 *          sentence2, hypothesis, question2; other columns are passed over
 *   csv    the same columns in quotes (csv.h)
 *   json   a JSON object a line with label, a and b, or the fields that `columns` names:
 *          "a=question,b=answer"
 *   snli   a JSON object with gold_label, sentence1, sentence2, all strings. Pairs whose gold_label
 *          is "-" (no agreement) are skipped and counted (Bowman et al. 2015)
 * Without labels (prediction) a line is a<TAB>b, or the object without gold_label. Tokens as in
 * text.h. */
#ifndef GSA_PAIRS_H
#define GSA_PAIRS_H
#include "train/data/text.h"

typedef struct gsa_pairs {
    gsa_text side[2]; /* a, with the labels and the bytes of the file; b: as many examples */
    int64_t skipped;
    int32_t format, zero; /* gsa_data_format as found: tsv or snli */
} gsa_pairs;

/* "-" is standard input. columns "": by the header, or label, a, b. Every bad line is a sentence
 * with file:line. */
gsa_status gsa_pairs_read(const gsa_system *system, const char *path,
                          const gsa_text_options *options, const char *columns, gsa_pairs *pairs,
                          gsa_error *error);
/* The same of a block of a file (blocks.h), whose bytes it takes over. No pair is fine; columns are
 * told by `columns` alone. */
gsa_status gsa_pairs_block(const gsa_system *system, const gsa_block *block,
                           const gsa_text_options *options, const char *columns, gsa_pairs *pairs,
                           gsa_error *error);
void gsa_pairs_release(gsa_pairs *pairs); /* a zeroed one is fine */

#endif
