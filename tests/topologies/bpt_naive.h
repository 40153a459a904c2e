/* bpt_naive.h - the edges of a binary-partition tree by what they are for: each token covers the
 * tokens next to it with larger and larger spans. Intervals of tokens grow; no pointers into
 * levels, and no code of topologies/ is used. */
#ifndef GSA_TEST_BPT_NAIVE_H
#define GSA_TEST_BPT_NAIVE_H
#include <stdint.h>

enum bpt_variant { BPT_FIXED, BPT_REFERENCE, BPT_PAPER };
typedef struct bpt_shape {
    int64_t n, k, clip;
    int causal, variant;
} bpt_shape;

typedef struct bpt_edge { /* nodes are (level, place in the level) */
    int to_level, from_level;
    int64_t to, from;
    int32_t label;
} bpt_edge;
typedef struct bpt_list { /* rows: the tokens, then the spans level by level; a row: itself, left
                             outwards, right outwards */
    bpt_edge *edges;
    int64_t count, capacity;
} bpt_list;

void bpt_naive(bpt_list *list, const bpt_shape *shape);
void bpt_naive_release(bpt_list *list);
int bpt_naive_depth(int64_t n);                    /* levels; 1 for n = 0 and 1 */
int64_t bpt_naive_size(int64_t n, int level);      /* ceil(n / 2^level) */
int64_t bpt_naive_first(int level, int64_t place); /* tokens that the node stands for */
int64_t bpt_naive_last(int64_t n, int level, int64_t place);

#endif
