/* spelling.h - the distinct words of the data and their characters: what a stack over characters
 * computes once a batch. */
#ifndef GSA_SPELLING_H
#define GSA_SPELLING_H
#include "gsa/vocabulary.h"

typedef struct gsa_spelling {
    const gsa_system *system;
    gsa_vocabulary *forms; /* its ids number the words */
    int64_t *offset;       /* [forms+1] first character */
    int32_t *id;           /* of characters */
    gsa_slice *text;       /* likewise */
    int32_t *number;     /* [forms] keys of dropout: they depend on the word alone, so no split of a
                            batch changes a mask */
    int64_t *stamp, now; /* [forms] the batch that met the word last */
    int32_t *place;      /* [forms] its place in that batch */
} gsa_spelling;

/* Words of several lists; of each the first `most` characters. `characters` is frozen. */
gsa_status gsa_spelling_create(const gsa_system *system, const gsa_slice *const *form,
                               const int64_t *count, int lists, const gsa_vocabulary *characters,
                               int64_t most, gsa_spelling *spelling, gsa_error *error);
void gsa_spelling_release(gsa_spelling *spelling); /* a zeroed one is fine */

/* Begins a batch; then the place of each word in it, in the order they come: a new one gets place
 * *count, which grows. */
void gsa_spelling_begin(gsa_spelling *spelling);
int32_t gsa_spelling_place(gsa_spelling *spelling, int32_t word, int32_t *count);

#endif
