/* naive.h - the edges of each built-in pattern by their definition: all pairs are asked, nothing is
 * clever, no code is shared with topologies/. */
#ifndef GSA_TEST_NAIVE_H
#define GSA_TEST_NAIVE_H
#include <stdint.h>

typedef struct naive_edge {
    int phase;
    int64_t to;
    int from_kind;
    int64_t from;
    int32_t label;
} naive_edge;

typedef struct naive_list { /* in the order (phase, destination, place in the row) */
    naive_edge *edges;
    int64_t count, capacity;
} naive_list;

typedef void naive_pattern(naive_list *list, int64_t n, const int *parameters);
naive_pattern naive_full;   /* causal, clip */
naive_pattern naive_ring;   /* cyclic */
naive_pattern naive_window; /* width, causal */
naive_pattern naive_star;   /* radial, ring, cyclic, relays (0: one) */
void naive_release(naive_list *list);

/* Patterns that see more than a length. Nodes of per-head phases are token * heads + head. The
 * order inside a row is not the pattern's: naive_sort puts both lists into one. */
typedef struct naive_example {
    int64_t n, memory;
    int heads;
    const int32_t *group, *memory_group; /* NULL: all 0 */
} naive_example;
typedef void naive_shape(naive_list *list, const naive_example *x, const int *parameters);
naive_shape naive_bigbird;    /* width, global, random, block, seed, causal */
naive_shape naive_cross;      /* align */
naive_shape naive_dilated;    /* width, step, causal */
naive_shape naive_head_area;  /* width, heads, border */
naive_shape naive_longformer; /* width, global, own, causal */
naive_shape naive_strided;    /* fixed, stride, c, heads, causal */
void naive_add(naive_list *list, int phase, int from_kind, int64_t from, int64_t to, int64_t label);
void naive_sort(naive_list *list); /* by phase, destination, source kind, source, label */

#endif
