/* attend.c - attention and sums over a graph, on the caller's buffers: checks, and the backend's
 * calls. */
#include "attend.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "attend_parts.h"

/* ---- the graph in the backend's memory ------------------------------------------------------- */

static gsa_status said(const gsa_backend *b, gsa_status status, gsa_error *error)
{
    return gsa_fail(error, status, "%s", b->error.text);
}

static gsa_status upload(gsa_graph *graph, gsa_backend *b, gsa_error *error)
{
    int64_t bytes;
    const void *block = gsa_batch_block(graph->batch, &bytes);
    const int64_t numbers = graph->examples * (int64_t)sizeof(int32_t);
    if (graph->device == b) return GSA_OK;
    if (graph->device)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the graph is in the memory of another backend (%s)", graph->device->name);
    void *base = b->alloc(b, bytes + 1), *number = base ? b->alloc(b, numbers + 1) : NULL;
    gsa_status status = GSA_OK;
    if (!number) status = gsa_backend_no_memory(b, "a graph", bytes + numbers, error);
    else if (b->upload(b, base, block, bytes) || b->upload(b, number, graph->number, numbers))
        status = said(b, b->error.status, error);
    if (status == GSA_OK) {
        graph->device = b, graph->base = base, graph->device_number = number;
        return GSA_OK;
    }
    if (number) b->free(b, number);
    if (base) b->free(b, base);
    return status;
}

static gsa_status edges_for(gsa_backend *b, gsa_graph *graph, int phase, gsa_edges *edges,
                            gsa_error *error)
{
    const gsa_schema *schema = gsa_graph_schema(graph);
    if (phase < 0 || phase >= gsa_schema_phases(schema))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "phase %d of a graph that has %d", phase,
                        gsa_schema_phases(schema));
    if (gsa_schema_phase(schema, phase)->aggregate == GSA_NONE)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "phase '%s' of %s has no edges: it works on each node by itself",
                        gsa_schema_phase(schema, phase)->name, gsa_schema_topology(schema));
    const gsa_status status = b->shares_host_memory ? GSA_OK : upload(graph, b, error);
    if (status == GSA_OK)
        gsa_batch_edges(graph->batch, phase, b->shares_host_memory ? NULL : graph->base, edges);
    return status;
}

/* The parts of one plane: kinds in order. `step`: bytes of a row. */
static const void *part_of(const void *plane, const gsa_edges *edges, int kind, int64_t step)
{
    int64_t rows = 0;
    for (int k = 0; k < kind; k++) rows += edges->part_rows[k];
    return plane ? (const char *)plane + rows * step : NULL;
}

static void *own_part_of(void *plane, const gsa_edges *edges, int kind, int64_t step)
{
    int64_t rows = 0;
    for (int k = 0; k < kind; k++) rows += edges->part_rows[k];
    return plane ? (char *)plane + rows * step : NULL;
}

static int64_t sources_of(const gsa_edges *edges)
{
    int64_t sources = 0;
    for (int k = 0; k < edges->kinds; k++) sources += edges->part_rows[k];
    return sources;
}

static gsa_status missing(const char *op, const char *name, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_ARGUMENT, "%s: %s is NULL", op, name);
}

static gsa_status width_of(const char *op, int64_t heads, int64_t head_dim, int64_t rows,
                           int64_t sources, int real_bytes, int64_t *width, gsa_error *error)
{
    int64_t bytes;
    if (heads < 1 || head_dim < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: %" PRId64 " heads of %" PRId64 " columns; each is at least 1", op,
                        heads, head_dim);
    *width = heads * head_dim;
    if (!gsa_mul(rows > sources ? rows : sources, *width, &bytes) ||
        !gsa_mul(bytes, real_bytes, &bytes))
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%s: %" PRId64 " rows of %" PRId64 " numbers are too many bytes", op,
                        rows > sources ? rows : sources, *width);
    return GSA_OK;
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct attend_call {
    const char *op;
    gsa_edges edges;
    gsa_part parts[GSA_MAX_KINDS];
    gsa_attend_args args;
    int64_t width, sources;
} attend_call;

static gsa_status check(const attend_call *c, const gsa_attention *a, int backward,
                        gsa_error *error)
{
    const struct {
        const char *name;
        const void *at;
        int wanted;
    } buffers[] = { { "q", a->q, c->edges.rows > 0 },
                    { "k", a->k, c->sources > 0 },
                    { "v", a->v, c->sources > 0 },
                    { "out", a->out, c->edges.rows > 0 },
                    { "lse", a->lse, c->edges.rows > 0 },
                    { "dout", a->dout, backward && c->edges.rows > 0 },
                    { "key_labels", a->key_labels, backward && a->dkey_labels },
                    { "bias", a->bias, backward && a->dbias } };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i].wanted && !buffers[i].at) return missing(c->op, buffers[i].name, error);
    if (!(a->dropout >= 0 && a->dropout < 1))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: dropout is %g; a number from 0, and below 1, was expected", c->op,
                        a->dropout);
    if (!isfinite(a->scale))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%s: scale is %g; a finite number was expected",
                        c->op, a->scale);
    return GSA_OK;
}

static void fill_args(attend_call *c, const gsa_backend *b, const gsa_graph *graph,
                      const gsa_attention *a)
{
    const int64_t step = c->width * b->real_bytes;
    for (int k = 0; k < c->edges.kinds; k++)
        c->parts[k] =
            (gsa_part){ part_of(a->k, &c->edges, k, step), part_of(a->v, &c->edges, k, step),
                        own_part_of(a->dk, &c->edges, k, step),
                        own_part_of(a->dv, &c->edges, k, step) };
    const int32_t *own = b->shares_host_memory ? graph->number : graph->device_number;
    const uint64_t set = a->add ? 0 : UINT64_MAX;
    c->args = (gsa_attend_args){ .edges = &c->edges,
                                 .heads = a->heads,
                                 .head_dim = a->head_dim,
                                 .scale = a->scale != 0 ? a->scale : 1 / sqrt((double)a->head_dim),
                                 .q = a->q,
                                 .parts = c->parts,
                                 .label_vectors = a->key_labels,
                                 .label_bias = a->bias,
                                 .dropout = { .p = a->dropout,
                                              .seed = a->seed,
                                              .step = a->step,
                                              .site = a->site,
                                              .example_id = a->number ? a->number : own,
                                              .row_example = c->edges.row_example,
                                              .row_local = c->edges.row_local },
                                 .out = a->out,
                                 .lse = a->lse,
                                 .weights = a->weights,
                                 .dout = a->dout,
                                 .dq = a->dq,
                                 .dlabel_vectors = a->dkey_labels,
                                 .dlabel_bias = a->dbias,
                                 .set_dq = set & 1,
                                 .set_dk = set,
                                 .set_dv = set };
}

static gsa_status prepare(attend_call *c, gsa_backend *b, gsa_graph *graph, const gsa_attention *a,
                          int backward, gsa_error *error)
{
    c->op = backward ? "attend_backward" : "attend_forward";
    if (a->struct_size != sizeof *a)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: struct_size is %" PRIu32 "; this library expects %zu", c->op,
                        a->struct_size, sizeof *a);
    gsa_status status = edges_for(b, graph, a->phase, &c->edges, error);
    if (status != GSA_OK) return status;
    c->sources = sources_of(&c->edges);
    status = width_of(c->op, a->heads, a->head_dim, c->edges.rows, c->sources, b->real_bytes,
                      &c->width, error);
    if (status == GSA_OK) status = check(c, a, backward, error);
    if (status == GSA_OK) fill_args(c, b, graph, a);
    return status;
}

static gsa_status lacks(const gsa_backend *b, const char *op, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_UNSUPPORTED, "backend %s has no %s", b->name, op);
}

gsa_status gsa_attend_forward(gsa_backend *backend, gsa_graph *graph,
                              const gsa_attention *attention, gsa_error *error)
{
    attend_call c;
    gsa_status status = prepare(&c, backend, graph, attention, 0, error);
    if (status != GSA_OK) return status;
    if (!backend->attend_forward) return lacks(backend, c.op, error);
    status = backend->attend_forward(backend, &c.args);
    return status == GSA_OK ? GSA_OK : said(backend, status, error);
}

/* Tables' gradients are always added to, so they begin as zeros. */
static gsa_status clear_tables(gsa_backend *b, const attend_call *c, const gsa_attention *a,
                               gsa_error *error)
{
    const int64_t labels = c->edges.labels;
    gsa_status status = GSA_OK;
    if (a->dkey_labels)
        status = b->zero_fill(b, a->dkey_labels, labels * a->head_dim * b->real_bytes);
    if (status == GSA_OK && a->dbias)
        status = b->zero_fill(b, a->dbias, labels * a->heads * b->real_bytes);
    return status == GSA_OK ? GSA_OK : said(b, status, error);
}

gsa_status gsa_attend_backward(gsa_backend *backend, gsa_graph *graph,
                               const gsa_attention *attention, gsa_error *error)
{
    attend_call c;
    gsa_status status = prepare(&c, backend, graph, attention, 1, error);
    if (status != GSA_OK) return status;
    if (!backend->attend_backward) return lacks(backend, c.op, error);
    if (!attention->add) status = clear_tables(backend, &c, attention, error);
    if (status != GSA_OK) return status;
    status = backend->attend_backward(backend, &c.args);
    return status == GSA_OK ? GSA_OK : said(backend, status, error);
}

/* ---- sums and means -------------------------------------------------------------------------- */

static gsa_status prepare_sum(gsa_backend *b, gsa_graph *graph, int phase, int64_t columns,
                              const char *op, const void *rows, const char *rows_name,
                              const void *sources, const char *sources_name, gsa_edges *edges,
                              gsa_error *error)
{
    int64_t width;
    gsa_status status = edges_for(b, graph, phase, edges, error);
    if (status != GSA_OK) return status;
    status = width_of(op, 1, columns, edges->rows, sources_of(edges), b->real_bytes, &width, error);
    if (status != GSA_OK) return status;
    if (edges->rows > 0 && !rows) return missing(op, rows_name, error);
    if (sources_of(edges) > 0 && !sources) return missing(op, sources_name, error);
    return GSA_OK;
}

gsa_status gsa_aggregate_forward(gsa_backend *backend, gsa_graph *graph, int phase, int mean,
                                 int64_t columns, const void *v, void *out, gsa_error *error)
{
    gsa_edges edges;
    gsa_part parts[GSA_MAX_KINDS];
    gsa_status status = prepare_sum(backend, graph, phase, columns, "aggregate_forward", out, "out",
                                    v, "v", &edges, error);
    if (status != GSA_OK) return status;
    if (!backend->aggregate_forward) return lacks(backend, "aggregate_forward", error);
    for (int k = 0; k < edges.kinds; k++)
        parts[k] = (gsa_part){ .v = part_of(v, &edges, k, columns * backend->real_bytes) };
    status = backend->aggregate_forward(backend, out, &edges, parts, mean != 0, columns);
    return status == GSA_OK ? GSA_OK : said(backend, status, error);
}

gsa_status gsa_aggregate_backward(gsa_backend *backend, gsa_graph *graph, int phase, int mean,
                                  int64_t columns, const void *dout, void *dv, int add,
                                  gsa_error *error)
{
    gsa_edges edges;
    gsa_part parts[GSA_MAX_KINDS];
    gsa_status status = prepare_sum(backend, graph, phase, columns, "aggregate_backward", dout,
                                    "dout", dv, "dv", &edges, error);
    if (status != GSA_OK) return status;
    if (!backend->aggregate_backward) return lacks(backend, "aggregate_backward", error);
    for (int k = 0; k < edges.kinds; k++)
        parts[k] = (gsa_part){ .dv = own_part_of(dv, &edges, k, columns * backend->real_bytes) };
    if (!add)
        status =
            backend->zero_fill(backend, dv, sources_of(&edges) * columns * backend->real_bytes);
    if (status == GSA_OK)
        status = backend->aggregate_backward(backend, parts, dout, &edges, mean != 0, columns);
    return status == GSA_OK ? GSA_OK : said(backend, status, error);
}
