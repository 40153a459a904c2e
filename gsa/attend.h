/* attend.h - attention over a graph, forward and backward, on buffers of your own: no stack, no
 * tape, no parameters.
 *
 * Example:
 *
 *     const int32_t source[] = { 0, 1, 2, 0 }, row[] = { 0, 1, 2, 2 };
 *     const gsa_edge_list list = { sizeof list, 4, 3, -1, 4, source, row };
 *     const float x[6] = { 1, 2, 3, 4, 5, 6 }; // 3 rows, 1 head of 2
 *     float out[6], lse[3];
 *     gsa_attention a = { sizeof a, 0, 1, 2, 0, x, x, x };
 *     gsa_error error;
 *     gsa_graph *graph = NULL;
 *     gsa_backend *backend = NULL;
 *     a.out = out, a.lse = lse;
 *     int failed = gsa_graph_of_edges(NULL, &list, &graph, &error) ||
 *                  gsa_backend_open(NULL, "cpu", GSA_F32, 1, &backend, &error) ||
 *                  gsa_attend_forward(backend, graph, &a, &error);
 *     if (failed) puts(error.text);
 *     gsa_backend_release(backend), gsa_graph_release(graph);
 *     return failed || out[0] != 1; // row 0 reads source 0 alone
 *
 * docs/library.md has the whole program.
 *
 * Law.  A graph holds the edges of a batch of examples, joined without padding. Buffers are the
 *     caller's, row-major and contiguous, in the backend's memory: of float or double, as the
 *     backend was opened (double is GSA_F64 of "cpu", which is then `ref`). The phase's rows are
 *     its destination kinds, one after the other, each over all examples; its sources are its
 *     source kinds likewise. The kernel's equations are at gsa_attend_args in
 *     kernels/backend.h. NaN stays NaN. Same inputs, same bits, for any number of threads and
 *     any split into batches.
 *     One thread uses a graph at a time, and one a backend; graphs of one pattern, and backends,
 *     may be used by as many threads as there are. A backend is opened with the number of threads
 *     that its loops use (gsa_backend_open). A call allocates where it is the first of its sizes
 *     on this graph and backend, else nothing.
 *     The registry outlives the graph, and so does a device's backend that it was used with. Each
 *     failure is one sentence; outputs then hold anything.
 *     Errors: GSA_ERR_ARGUMENT (a wrong spec, a value out of range, a graph that is not built),
 *     GSA_ERR_LIMIT (more nodes or edges than an index holds), GSA_ERR_PLUGIN (a topology broke
 *     its contract), GSA_ERR_UNSUPPORTED (the backend lacks the call), GSA_ERR_IO (a file cannot
 *     be written). */
#ifndef GSA_ATTEND_H
#define GSA_ATTEND_H
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The edges of a batch of examples, for calls of attention. Opaque; released by its owner. */
typedef struct gsa_graph gsa_graph;

/* One pattern, as a spec's part: "star", "window:width=11"; plugins are in the registry. The graph
 * has no examples until gsa_graph_build. */
gsa_status gsa_graph_open(const gsa_system *system, const gsa_registry *registry, const char *spec,
                          gsa_graph **graph, gsa_error *error);
/* The same of a pattern that is there; the graph keeps a reference. */
gsa_status gsa_graph_create(const gsa_system *system, gsa_pattern *pattern, gsa_graph **graph,
                            gsa_error *error);
void gsa_graph_release(gsa_graph *graph); /* NULL does nothing */

/* The edges of these examples take the place of those before. `heads` is for per-head phases, whose
 * nodes are node * heads + head. cache, limits: NULL or as gsa_pattern_instance takes them.
 * Reusable: allocates only where it must grow. After a failure the graph has no examples. */
gsa_status gsa_graph_build(gsa_graph *graph, gsa_cache *cache, const gsa_limits *limits,
                           const gsa_sequences *sequences, int32_t heads, gsa_error *error);

/* Edges of your own: of one phase, "attend". They are copied. */
typedef struct gsa_edge_list {
    uint32_t struct_size;
    int32_t index_bytes;     /* of source, destination, row_offset: 4 or 8 */
    int64_t rows;            /* destination nodes */
    int64_t sources;         /* source nodes; -1: the rows themselves are the sources */
    int64_t count;           /* edges */
    const void *source;      /* [count] */
    const void *destination; /* [count], in any order; or NULL and */
    const void *row_offset;  /* [rows+1]: sources are grouped by row (CSR) */
    const int32_t *label;    /* [count] or NULL: all 0 */
    int32_t labels;          /* they are below it; 0: 1 */
    int32_t examples; /* graphs that share no node, one after the other; 0: one. Backward works on
                         many at once, and dropout's key is a row's place in its own */
    const int64_t *example_rows;    /* [examples+1] first row of each; of one NULL */
    const int64_t *example_sources; /* likewise, where sources are not the rows */
} gsa_edge_list;

/* A row's edges keep the list's order; edges that are given twice count twice. */
gsa_status gsa_graph_of_edges(const gsa_system *system, const gsa_edge_list *list,
                              gsa_graph **graph, gsa_error *error);
/* Where the list was not in order of its rows: edge i of the graph is edge order[i] of the list.
 * Else NULL. Lives as long as the graph. */
const int64_t *gsa_graph_order(const gsa_graph *graph);

/* Phases are found by name or by number, which gsa_schema_phases of the schema counts. -1: none. */
int gsa_graph_phase(const gsa_graph *graph, const char *name);
const gsa_schema *gsa_graph_schema(const gsa_graph *graph);
const gsa_pattern *gsa_graph_pattern(const gsa_graph *graph); /* NULL: edges of your own */
const gsa_batch *gsa_graph_batch(const gsa_graph *graph);     /* nodes and examples of each kind */
/* The rows of the phase's q and out, of its k and v, and its edges. */
int64_t gsa_graph_rows(const gsa_graph *graph, int phase);
int64_t gsa_graph_sources(const gsa_graph *graph, int phase);
int64_t gsa_graph_edges(const gsa_graph *graph, int phase);
/* Row, source and label of the edges one by one, [edges] each, NULL: not wanted. Weights are in
 * this order. */
gsa_status gsa_graph_list(const gsa_graph *graph, int phase, int32_t *row, int32_t *source,
                          int32_t *label, gsa_error *error);
/* One example as GraphML, DOT or Matrix Market, by the end of the path (graph/write.h). text: its
 * tokens, or NULL. */
gsa_status gsa_graph_write(const gsa_graph *graph, int32_t example, const gsa_slice *text,
                           const char *path, gsa_error *error);

/* What a call reads and writes. A zeroed tail means default. Sizes: rows, sources and edges of the
 * phase, its labels. */
typedef struct gsa_attention {
    uint32_t struct_size;
    int32_t phase;           /* of the graph (gsa_graph_phase) */
    int32_t heads, head_dim; /* >= 1; columns of one head */
    double scale;            /* of scores; 0: 1/sqrt(head_dim) */
    const void *q;           /* [rows, heads, head_dim] */
    const void *k, *v;       /* [sources, heads, head_dim] */
    const void *key_labels;  /* r [labels, head_dim], added to keys, or NULL */
    const void *bias;        /* b [labels, heads], added to scores, or NULL */
    double dropout; /* of weights: 0 <= p < 1; its key is (seed, step, site) and the edge */
    uint32_t seed, step, site; /* of dropout: two calls with the same key draw the same mask */
    int32_t add;               /* backward: 1: gradients are added to, 0: written */
    const int32_t *number;     /* [examples] of the examples in the global batch, NULL: 0, 1, ... */
    void *out;                 /* [rows, heads, head_dim] */
    void *lse;                 /* [rows, heads]: log sum exp of scores; backward reads it */
    void *weights;             /* forward: [edges, heads] before dropout, or NULL */
    /* backward reads all above but weights, and dout; gradients that are NULL are not wanted */
    const void *dout; /* [rows, heads, head_dim] */
    /* shaped as q, k, v, key_labels, bias; NULL: not wanted */
    void *dq, *dk, *dv, *dkey_labels, *dbias;
} gsa_attention;

/* Attention forward over the graph: writes `out`, and `lse` and `weights` where they are set. */
gsa_status gsa_attend_forward(gsa_backend *backend, gsa_graph *graph,
                              const gsa_attention *attention, gsa_error *error);
/* The gradients of gsa_attend_forward: written, or added to where `add` is 1. */
gsa_status gsa_attend_backward(gsa_backend *backend, gsa_graph *graph,
                               const gsa_attention *attention, gsa_error *error);

/* out [rows, columns] = the sum, or with mean != 0 the mean, of v [sources, columns] over the
 * edges of each row; rows without edges: 0. Backward: dv of dout, added to where add != 0. */
gsa_status gsa_aggregate_forward(gsa_backend *backend, gsa_graph *graph, int phase, int mean,
                                 int64_t columns, const void *v, void *out, gsa_error *error);
gsa_status gsa_aggregate_backward(gsa_backend *backend, gsa_graph *graph, int phase, int mean,
                                  int64_t columns, const void *dout, void *dv, int add,
                                  gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
