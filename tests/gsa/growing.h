/* growing.h - a stack, run at once over whole sequences and token by token; for the suites of
 * generation. */
#ifndef GSA_TEST_GROWING_H
#define GSA_TEST_GROWING_H
#include "bench.h"
#include "gsa/generation.h"

enum { GROWING_HIDDEN = 6, GROWING_MEMORY = 5 };

typedef struct growing {
    bench b;
    gsa_registry *registry;
    gsa_cache *cache;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_generation *generation;
    int32_t tokens; /* of `rows`: random input, and of a memory */
    double *rows, *memory;
    const int32_t *group, *memory_group; /* of the tokens and of each memory's rows; NULL: none */
} growing;

/* Settings drawn from the seed: hidden 6, everything else varies. */
gsa_settings growing_settings(uint64_t seed);
/* The registry has the pattern `odd` too, and the template's. `longest` 0: no generation is
 * made. */
growing growing_open(const gsa_system *system, const char *spec, const gsa_settings *settings,
                     int real, int32_t tokens, int32_t longest);
void growing_close(growing *w);

/* The first `length` tokens at once, with a memory of `memory` rows where the stack reads one:
 * [length, hidden]. */
double *growing_at_once(growing *w, int32_t length, int32_t memory);
/* `count` sequences more, with memories of so many rows (NULL: GROWING_MEMORY each). */
void growing_begin(growing *w, int32_t count, const int32_t *memory);
/* Tokens first[i] .. + length[i] of `rows` for each sequence; out [sum of length, hidden]. */
void growing_append(growing *w, const int32_t *first, const int32_t *length, double *out);

#endif
