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
#include "kernels/cuda/window.h"

typedef struct gsa_cuda_entry { /* one in-edge of the expanded form */
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

struct gsa_cuda_plan {
    gsa_content content; /* whose plan this is, where it is told; or else */
    const void *run_offset, *edge_offset, *runs;
    int64_t rows, run_total, edge_total, used; /* used: when it was last requested */
    int64_t *run_first; /* [run_total+1] first edge of each run, or NULL where no path needs it */
    gsa_cuda_entry *entries; /* [edges] where runs are short, or NULL: walk the runs */
    gsa_cuda_cut in;
    int has_out;
    int64_t sources, part_first[GSA_MAX_KINDS];
    int64_t *out_offset; /* [sources+1] */
    gsa_transposed *out; /* [edges] by (source, row, k) */
    gsa_cuda_cut out_cut;
    /* the edges as lists of 32-bit numbers, by row and by source, where a path requests them;
     * list_column: among the sources of all kinds; out_edge: which of the edges by row it is */
    int32_t *list_offset, *list_column, *list_out_offset, *list_out_column, *out_edge;
    /* windows of rows, and of sources, where a path requests them (window.h) */
    int has_windows, has_out_windows;
    gsa_cuda_windows windows, out_windows;
};

enum { GSA_CUDA_ASKED = 64 };
/* The plan of these edges; transpose: with out-edges. It lives until the edges are touched or the
 * table is full (the one that was not requested longest goes). */
gsa_status gsa_cuda_plan_of(gsa_backend *b, const char *op, const gsa_edges *edges, int transpose,
                            const gsa_cuda_plan **plan);
/* The same with out-edges and lists; fewer than 2^31 rows and edges. */
gsa_status gsa_cuda_plan_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                               const gsa_cuda_plan **plan);
/* The same with windows of rows; transpose: and out-edges and windows of sources. */
gsa_status gsa_cuda_plan_windows(gsa_backend *b, const char *op, const gsa_edges *edges,
                                 int transpose, const gsa_cuda_plan **plan);
void gsa_cuda_touch_plans(gsa_backend *b, const void *at, int64_t bytes);
void gsa_cuda_forget_plans(gsa_backend *b);

#endif
