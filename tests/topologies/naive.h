/* naive.h - the edges of each built-in pattern by their definition: all pairs are asked, nothing is clever, no code is
 * shared with topologies/. */
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
naive_pattern naive_star;   /* radial, ring, cyclic */
void naive_release(naive_list *list);

#endif
