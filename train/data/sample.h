/* sample.h - how the files of a task of texts are read, and which of their examples are used:
 * data.hold, data.train_part, data.test_part.
 *
 * The examples of a file are put in an order that depends on their numbers alone (by a fixed hash),
 * so that it is the same for every seed, every model and every run, and does not follow the file,
 * which is often sorted by label. data.hold takes the first `hold` of them, when there is no file
 * of development data; training data are those after them, at most train_part; a test set is the
 * first test_part. What is taken keeps the order of the file.
 * With data.stratify data.hold takes of each label its share, rounded up or down; the only example
 * of a label is never held out. */
#ifndef GSA_SAMPLE_H
#define GSA_SAMPLE_H
#include "train/settings/recipe.h"
#include "train/data/text.h"

typedef struct gsa_sample {
    int64_t first, count; /* places in the fixed order; count 0: all from `first` on */
    int64_t held;         /* places that data.hold takes: some must be left over them */
    int32_t stratify, zero;
} gsa_sample;

/* The file that a split is read from ("": none), and the part of it. */
void gsa_sample_of(const gsa_recipe_values *values, int split, const char **path, gsa_sample *part);
gsa_status gsa_sample_check(const gsa_recipe *recipe,
                            gsa_error *error); /* what excludes data.hold */
/* drop[e] of examples 0 to n-1, whose labels are at `label` (NULL: they have none): 1 where e is
 * not of the part. `path` is the file's. */
gsa_status gsa_sample_choose(const gsa_system *system, const gsa_sample *part, const char *path,
                             const gsa_slice *label, int64_t n, uint8_t *drop, gsa_error *error);
/* Drops what is not of the part from the texts, which have as many examples each. Too few for one
 * example: a sentence. */
gsa_status gsa_sample_take(const gsa_sample *part, gsa_text *const *texts, int count,
                           gsa_error *error);
/* How [data] reads text. */
gsa_text_options gsa_sample_options(const gsa_recipe_values *values);
/* Closes the gaps that examples with drop[e] leave. */
void gsa_text_compact(gsa_text *text, const uint8_t *drop);

#endif
