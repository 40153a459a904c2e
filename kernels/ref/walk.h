/* walk.h - the edges of one row, taken from its runs a block at a time. */
#ifndef GSA_REF_WALK_H
#define GSA_REF_WALK_H
#include "kernels/ref/ref.h"

enum {
    REF_BLOCK = 16
}; /* edges of a block: their rows of K and V fit the first cache for usual widths */

typedef struct ref_walk {
    const gsa_run *run, *end;
    int32_t done; /* edges of *run already taken */
} ref_walk;

typedef struct ref_edge_block {
    int32_t count;
    int32_t kind[REF_BLOCK], source[REF_BLOCK], label[REF_BLOCK];
} ref_edge_block;

static inline ref_walk ref_walk_of(const gsa_edges *edges, int64_t row)
{
    return (ref_walk){ edges->runs + edges->run_offset[row],
                       edges->runs + edges->run_offset[row + 1], 0 };
}

/* Passes over edges. */
static inline void ref_walk_skip(ref_walk *walk, int64_t edges)
{
    while (walk->run < walk->end && edges >= walk->run->count) edges -= walk->run++->count;
    walk->done = (int32_t)edges;
}

/* The next edges, in emission order; 0 when none are left. */
static inline int32_t ref_walk_next(ref_walk *walk, ref_edge_block *block)
{
    int32_t filled = 0;
    while (filled < REF_BLOCK && walk->run < walk->end) {
        const gsa_run run = *walk->run;
        const int32_t left = run.count - walk->done,
                      take = left < REF_BLOCK - filled ? left : REF_BLOCK - filled;
        for (int32_t i = 0; i < take; i++) {
            block->kind[filled + i] = run.kind;
            block->source[filled + i] = run.first + (walk->done + i) * run.step;
            block->label[filled + i] = run.label + (walk->done + i) * run.label_step;
        }
        filled += take;
        walk->done += take;
        if (walk->done == run.count) walk->run++, walk->done = 0;
    }
    block->count = filled;
    return filled;
}

/* Rows an item handles in a pass over destinations: about 2048 edges and at least as many elements
 * as pay for an item. */
static inline int64_t ref_edge_chunk(const gsa_edges *edges)
{
    const int64_t chunk = edges->rows * 2048 / (edges->edge_total + 8 * edges->rows + 1);
    return chunk > 1 ? chunk : 1;
}

#endif
