/* generation.h - a stack token by token. Token t costs the rows whose ready index is t
 * (graph/ready.h), not the whole graph.
 *
 * Promised are the numbers of gsa_stack_forward over all tokens of the sequence, without dropout,
 * for patterns that promise GSA_CAUSAL and GSA_PREFIX_STABLE: what token i is made of is the same
 * for every longer text.
 *
 *   values  Every phase makes new states of its destination kinds. Of each such value a token makes
 *           the rows with ready = t: its own, in bpt also those of the spans that end with it. Rows
 *           are appended and never move or change.
 *   kept    Of earlier rows stays what a later row can read: K and V where a phase attends; a state
 *           only where one sums, or where a row is older than what it becomes. K and V are
 *           projected once, when a row is made; those of a memory when its sequence is opened.
 *           Kinds that start as equal rows (spans: zeros) have one row.
 *   beams   What a token made is a *moment*; a sequence is a list of moments, four bytes a token.
 *           Two that share a prefix list the same ones and their edges name the same rows:
 *           gsa_generation_choose copies lists, never rows. Memory grows by the rows that were
 *           really made.
 *   order   Edges of a row are read in the order of the pattern, so a row's number depends on what
 *           it reads alone, not on which other sequences are there or in which pieces tokens come.
 *           In double that holds to the bit. In float the matrix product may take another path for
 *           another number of rows, and last places differ (1e-5 of a row's scale, as from the
 *           whole).
 *
 * Law.  Patterns are emitted once, for `longest` tokens (with a memory: once for each length of it;
 *     where groups are read, for each list of them), so opening costs what one batch of one such
 *     example costs. Tensors taken and given belong to the caller's tape, which must not be
 *     training and is on the same backend as the parameters. Failures are the tape's; one within
 *     append or open leaves the sequences unusable until gsa_generation_clear. The stack outlives
 *     it. One thread at a time. */
#ifndef GSA_GENERATION_H
#define GSA_GENERATION_H
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_generation gsa_generation;

typedef struct gsa_generation_options {
    int32_t longest; /* tokens that a sequence may have; the time and memory of emission go with it,
                        that of rows does not */
    int32_t zero;
    gsa_cache *cache;         /* of instances, or NULL */
    const gsa_limits *limits; /* or NULL */
} gsa_generation_options;

/* Refuses with a sentence that names the layers and the pattern: one that does not promise to be
 * causal and prefix-stable (and what is missing), one that reads the text; a stack whose sequence
 * is not read or has no row a token. */
gsa_status gsa_generation_create(const gsa_stack *stack, gsa_backend *backend,
                                 const gsa_generation_options *options, gsa_generation **generation,
                                 gsa_error *error);
void gsa_generation_release(gsa_generation *generation); /* NULL does nothing */
/* No sequences, no rows; what was allocated stays for the next ones. */
void gsa_generation_clear(gsa_generation *generation);

typedef struct gsa_generation_memory {
    gsa_tensor
        *rows; /* [sum of length, hidden]: another stack's sequence; read during the call alone */
    const int32_t *length; /* [count] */
    const int32_t *group;  /* of the rows, ascending in a sequence; NULL: all 0 */
} gsa_generation_memory;

/* `count` sequences without tokens, numbered after those that are there. `memory` where the stack
 * reads one, else NULL. */
void gsa_generation_open(gsa_generation *generation, gsa_tape *tape, int32_t count,
                         const gsa_generation_memory *memory);
/* length[i] >= 0 new tokens for every sequence i; `input` their rows, [sum of length, hidden]
 * (gsa_input_append). Returns their last states, what gsa_readout.sequence holds of them. A prompt
 * is best given at once. `group`: of these tokens, ascending in a sequence, for patterns that read
 * groups (cross:align=1); NULL: as the token before, 0 at first. A new group costs one emission. */
gsa_tensor *gsa_generation_append(gsa_generation *generation, gsa_tape *tape, gsa_tensor *input,
                                  const int32_t *length, const int32_t *group);
/* From now on there are `count` sequences, and i is what parent[i] was: a copy where a number
 * is there twice, gone where it does not. */
gsa_status gsa_generation_choose(gsa_generation *generation, const int32_t *parent, int32_t count,
                                 gsa_error *error);

int32_t gsa_generation_sequences(const gsa_generation *generation);
int32_t gsa_generation_length(const gsa_generation *generation,
                              int32_t sequence); /* tokens so far */
int32_t gsa_generation_longest(const gsa_generation *generation);

typedef struct gsa_generation_counts { /* since clear */
    int64_t tokens;                    /* appended */
    int64_t rows;                      /* of all phases, computed */
    int64_t edges;                     /* read by them */
    int64_t kept;                      /* rows of K, V and states that stay */
    int64_t bytes;                     /* that they take; more may be allocated */
} gsa_generation_counts;
gsa_generation_counts gsa_generation_count(const gsa_generation *generation);

#ifdef __cplusplus
}
#endif
#endif
