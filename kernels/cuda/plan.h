/* plan.h - what the kernels need to know of some edges, worked out on the device and kept while the
 * edges stay as they are.
 *
 * A plan is found again by the edges' content, where it is told, wherever their arrays are; else
 * by the addresses of the arrays: an upload, copy, fill or free that touches one of them forgets
 * it. Of told content those go that were not requested in the last GSA_CUDA_ASKED calls. It is the
 * device's half of graph/plan.h: same order of out-edges, same cut of hub rows, no readback. */
#ifndef GSA_CUDA_PLAN_H
#define GSA_CUDA_PLAN_H
#include "graph/plan.h"
#include "kernels/cuda/state.h"

typedef struct gsa_cuda_entry { /* one in-edge */
    int32_t source;             /* in its kind */
    uint32_t tag;               /* label * GSA_MAX_KINDS + kind */
} gsa_cuda_entry;

/* Rows that are cut: row u's pieces are piece[u] .. piece[u+1]-1 (none unless it is a hub), each of
 * `length` edges, the last of what remains. The number of pieces is on the device alone, at
 * piece[rows]; `bound` is never less. */
typedef struct gsa_cuda_cut {
    int32_t length;
    int64_t bound;
    int64_t *piece; /* [rows+1], or NULL: no row can be a hub */
    int32_t *owner; /* [bound] the row of each piece; not set after the last */
} gsa_cuda_cut;

/* The edges as lists of 32-bit numbers, by row and by source; column: among the sources of all
 * kinds; out_edge: which of the edges by row it is. Fewer than 2^31 rows and edges. */
typedef struct gsa_cuda_lists {
    int32_t *offset, *column, *out_offset, *out_column, *out_edge;
} gsa_cuda_lists;

/* The parts of a plan. */
enum {
    GSA_PLAN_IN = 1,    /* entries, in: always */
    GSA_PLAN_OUT = 2,   /* out_offset, out, out_cut */
    GSA_PLAN_LISTS = 4, /* lists; with OUT */
    GSA_PLAN_PARTS = 3
};
struct gsa_cuda_plan {
    gsa_edges edges;            /* whose plan this is */
    int64_t used;               /* when it was last requested */
    int has;                    /* which parts */
    void *kept[GSA_PLAN_PARTS]; /* memory of each */
    int64_t sources, part_first[GSA_MAX_KINDS];
    gsa_cuda_entry *entries; /* [edges] */
    gsa_cuda_cut in;
    int64_t *out_offset; /* [sources+1] */
    gsa_transposed *out; /* [edges] by (source, row, k) */
    gsa_cuda_cut out_cut;
    gsa_cuda_lists lists;
};

enum { GSA_CUDA_ASKED = 64 };
/* The plan of these edges, with the parts that are wanted. It lives until the edges are touched or
 * the table is full (the one that was not requested longest goes). */
gsa_status gsa_cuda_plan_of(gsa_backend *b, const char *op, const gsa_edges *edges, int wanted,
                            const gsa_cuda_plan **plan);
void gsa_cuda_touch_plans(gsa_backend *b, const void *at, int64_t bytes);
void gsa_cuda_forget_plans(gsa_backend *b);

#endif
