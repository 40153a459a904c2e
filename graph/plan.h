/* plan.h - the inspector half of inspector/executor: what a kernel needs to know of some edges,
 * worked out once on the host in linear time. *Whether* to take a path is decided here; *how* is
 * the kernel's. Immutable once made.
 * So any thread may read it. gsa_plan_release frees it, or the edges that keep it do.
 *
 * Example:
 *
 *     const gsa_run runs[] = { { 0, 3, 1, 0, 0, 0 }, { 2, 1, 1, 0, 0, 0 } };
 *     const int64_t run_offset[] = { 0, 1, 2 }, edge_offset[] = { 0, 3, 4 };
 *     const gsa_edges edges = { 2, 2, 4, run_offset, edge_offset, runs, 1, 1, { 3 } };
 *     char text[1000];
 *     gsa_error error;
 *     gsa_plan *plan;
 *     if (gsa_plan_create(NULL, &edges, NULL, &plan, &error)) return puts(error.text), 1;
 *     gsa_plan_explain(plan, text, sizeof text);
 *     puts(text);
 *     const int right = plan->max_degree == 3 && plan->out_offset[3] == 4; // by source
 *     gsa_plan_release(NULL, plan);
 *     return !right;
 *
 */
#ifndef GSA_PLAN_H
#define GSA_PLAN_H
#include "edges.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_plan_options { /* zeros = defaults */
    int64_t csr_limit; /* bytes that the expanded CSR may take; 0 = 256 MiB; < 0 = never expand */
    int64_t transpose_limit; /* likewise for the transpose; 0 = 1 GiB */
    int32_t hub_chunk;       /* edges a chunk of a hub row; 0 = 256       */
    int32_t zero;
} gsa_plan_options;

enum {
    GSA_DEGREE_BINS = 8
}; /* in-degree 0, 1-4, 5-8, 9-16, 17-32, 33-64, 65-hub_chunk, more (hubs)                */

typedef struct gsa_chunk { /* a fixed piece of a hub row: edges first_edge .. +edges-1 of the row (k
                              counts from 0) */
    int64_t row, first_edge, run; /* run: absolute index of the run that holds first_edge */
    int32_t skip, edges;          /* edges of that run that belong to earlier chunks          */
} gsa_chunk;

typedef struct gsa_transposed { /* one out-edge of a source: 12 bytes */
    int32_t row, k, label;      /* destination; place of the edge in its row; label */
} gsa_transposed;

/* The edges of a phase in the orders that kernels need. */
typedef struct gsa_plan {
    int64_t rows, edges, sources;      /* sources: all parts together      */
    int64_t part_first[GSA_MAX_KINDS]; /* where each kind starts in the concatenated source space */
    /* degree bins: rows_by_degree lists all rows, bin by bin, ascending inside a bin  */
    int64_t bin_offset[GSA_DEGREE_BINS + 1];
    const int32_t *rows_by_degree; /* [rows] */
    int64_t max_degree;
    double mean_run; /* edges per run: whether walking runs pays                                  */
    /* hub rows, cut at multiples of hub_chunk edges whatever the thread count; chunks of a row are
     *     consecutive  */
    int64_t chunks;
    const gsa_chunk *chunk;
    /* transpose, ordered by (source, destination row, k); NULL arrays when over transpose_limit  */
    const int64_t *out_offset; /* [sources+1] */
    const gsa_transposed *out; /* [edges] */
    /* expanded CSR (row offsets are the edges' edge_offset); NULL when over csr_limit  */
    const int32_t *csr_source; /* [edges] in the concatenated source space */
    const int32_t *csr_label;  /* [edges]  */
    int64_t bytes;
} gsa_plan;

/* `edges` must be in host memory and satisfy GSA_EDGES; it is read during the call only. Cost
 * O(rows + edges + sources) time, and memory as the limits allow. GSA_ERR_ARGUMENT: limits out of
 * range; GSA_ERR_LIMIT: more than an index holds. */
gsa_status gsa_plan_create(const gsa_system *system, const gsa_edges *edges,
                           const gsa_plan_options *options, gsa_plan **plan, gsa_error *error);
void gsa_plan_release(const gsa_system *system, gsa_plan *plan);

/* A few lines for people: bins, hubs, run length, what was expanded and why not. Returns the length
 * written, as snprintf. */
int gsa_plan_explain(const gsa_plan *plan, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
