/* wordbook.h - the words of a task's texts: the vocabulary, and vectors for its embedding. */
#ifndef GSA_WORDBOOK_H
#define GSA_WORDBOOK_H
#include "gsa/checkpoint.h"
#include "gsa/input.h"
#include "gsa/vocabulary.h"
#include "train/settings/recipe.h"
#include "train/data/text.h"
#include "train/driver/minibatch.h"
#include "train/vocabulary/vectors.h"

typedef struct gsa_wordbook {
    const gsa_system *system;
    gsa_vocabulary *vocabulary;
    gsa_vectors vectors; /* until gsa_wordbook_prepare */
    int32_t width, frozen, normalize, zero;
    double embedding_std;
} gsa_wordbook;

/* From the texts, of which the first `trained` are training data, as [data] vocabulary and vectors
 * say; settles model.embedding where vectors do. */
gsa_status gsa_wordbook_learn(const gsa_system *system, gsa_recipe *recipe,
                              const gsa_text *const *texts, int count, int trained,
                              gsa_wordbook *book, gsa_error *error);
/* The same in three steps, where the training data comes in blocks: `texts` of the last are of
 * other splits. Counting forgets the rarest of more than GSA_WORDS_COUNTED words
 * (gsa_vocabulary_bound). */
enum { GSA_WORDS_COUNTED = 1 << 22 };
gsa_status gsa_wordbook_begin(const gsa_system *system, gsa_recipe *recipe, gsa_wordbook *book,
                              gsa_error *error);
gsa_status gsa_wordbook_count(gsa_wordbook *book, const gsa_text *text, int64_t most,
                              gsa_error *error); /* most: GSA_WORDS_COUNTED, or 0: all */
gsa_status gsa_wordbook_end(gsa_wordbook *book, const gsa_recipe *recipe,
                            const gsa_text *const *texts, int count, gsa_error *error);
/* From a checkpoint's folder. */
gsa_status gsa_wordbook_restore(const gsa_system *system, const gsa_recipe *recipe,
                                const char *folder, gsa_wordbook *book, gsa_error *error);
gsa_status gsa_wordbook_save(const gsa_wordbook *book, gsa_checkpoint *checkpoint,
                             gsa_error *error);
void gsa_wordbook_release(gsa_wordbook *book); /* a zeroed one is fine */

gsa_input_options gsa_wordbook_input(const gsa_wordbook *book);
/* The vectors go into the input's embedding and are forgotten. */
gsa_status gsa_wordbook_prepare(gsa_wordbook *book, gsa_input *input, gsa_backend *backend,
                                gsa_error *error);
/* The id of each token and the length of each example, released by the caller; a text without
 * examples gives NULLs. */
gsa_status gsa_wordbook_number(const gsa_wordbook *book, const gsa_text *text, int32_t **id,
                               int32_t **length, gsa_error *error);

/* The examples' words into a sequence of the batch, with their ids and lengths. `first`: the number
 * of the text's first example. */
gsa_status gsa_wordbook_fill(gsa_minibatch *batch, int sequence, const int64_t *example,
                             int64_t first, const gsa_text *text, const int32_t *id,
                             const int32_t *length, gsa_error *error);

/* A task's `signature`: "tokens:words|case:mixed". */
void gsa_wordbook_signature(const void *self, const gsa_recipe_values *values, char *text,
                            size_t room);

#endif
