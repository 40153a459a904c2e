/* batches.h - which examples make which batch, as a pure function of (seed, epoch): going on in the
 * middle of an epoch is a cursor.
 *
 * An epoch is a random permutation; stretches of `bucket` batches are sorted by length, cut into
 * batches, and the batches are shuffled. A global batch feeds one optimiser step; it holds what
 * `accumulate` batches may hold and is cut into pieces of one batch's budget, each a forward and
 * backward pass. So the split changes neither the examples of a step nor their numbers in it. */
#ifndef GSA_BATCHES_H
#define GSA_BATCHES_H
#include "graph/system.h"

typedef struct gsa_batches_options {
    int64_t batch,
        batch_tokens; /* examples and tokens of one piece at most; 0: no such limit, not both */
    int64_t accumulate, bucket;
    uint32_t seed, zero;
    const int64_t *block; /* [blocks+1] first example of each, borrowed; NULL: one block */
    int64_t blocks;
} gsa_batches_options;

typedef struct gsa_keyed {
    uint64_t key;
    int64_t value;
} gsa_keyed;

typedef struct gsa_batches_order { /* of one block */
    int64_t place;                 /* in the epoch; -1: none */
    int64_t examples, count;
    int64_t *example;  /* [examples] in cut order */
    int64_t *first;    /* [count+1] */
    int64_t *shuffled; /* [count] */
} gsa_batches_order;

typedef struct gsa_batches {
    const gsa_system *system;
    gsa_batches_options options;
    int64_t examples, count; /* global batches of the epoch */
    int64_t epoch;           /* -1: plain */
    const int32_t *length;   /* [examples], borrowed */
    int64_t blocks;
    gsa_keyed *block;         /* [blocks] value: the block at this place of the epoch */
    int64_t *begin;           /* [blocks+1] its first global batch */
    gsa_batches_order *order; /* [2] the two blocks read last; [0] is the later */
    gsa_keyed *keyed;         /* scratch: [examples of the largest block + 1] */
} gsa_batches;

gsa_status gsa_batches_create(const gsa_system *system, const gsa_batches_options *options,
                              const int32_t *length, int64_t examples, gsa_batches *batches,
                              gsa_error *error);
void gsa_batches_release(gsa_batches *batches); /* a zeroed one is fine */

/* O(examples log examples); allocates nothing, as all below. */
void gsa_batches_shuffle(gsa_batches *batches, int64_t epoch);
/* One after the other in order of length, unshuffled: for evaluation. */
void gsa_batches_plain(gsa_batches *batches);
/* The examples of global batch `index`. They stay until batches of two other blocks are
 * requested. */
const int64_t *gsa_batches_at(const gsa_batches *batches, int64_t index, int64_t *count);
/* Where the piece ends that starts at `from` of these examples. */
int64_t gsa_batches_piece(const gsa_batches *batches, const int64_t *example, int64_t count,
                          int64_t from);
/* Where piece `piece` of `pieces` begins (train.pieces): each example goes to the piece in whose
 * share of the tokens its middle lies, so that one may be empty. Piece `pieces` begins at count. */
int64_t gsa_batches_share(const gsa_batches *batches, const int64_t *example, int64_t count,
                          int64_t piece, int64_t pieces);

/* Ascending by (key, value), in place, no memory. */
void gsa_sort_keyed(gsa_keyed *a, int64_t count);

#endif
