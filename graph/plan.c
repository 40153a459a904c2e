#include "graph/plan.h"
#include "graph/index.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"

enum { HUB = GSA_DEGREE_BINS - 1, DEFAULT_CHUNK = 256 };

typedef struct plan_parts { /* a plan and the arrays that it owns, writable */
    gsa_plan plan;
    int32_t *rows_by_degree, *csr_source, *csr_label;
    gsa_chunk *chunk;
    int64_t *out_offset;
    gsa_transposed *out;
    int64_t csr_limit, transpose_limit, csr_bytes, transpose_bytes; /* for gsa_plan_explain */
    int32_t hub_chunk;
} plan_parts;

static int64_t degree(const gsa_edges *e, int64_t row)
{
    return e->edge_offset[row + 1] - e->edge_offset[row];
}

static int bin_of(int64_t edges, int32_t hub_chunk)
{
    static const int64_t last[HUB - 1] = { 0, 4, 8, 16, 32, 64 };
    if (edges > hub_chunk) return HUB;
    int bin = 0;
    while (bin < HUB - 1 && edges > last[bin]) bin++;
    return bin;
}

static gsa_status sort_by_degree(const gsa_system *system, const gsa_edges *e, plan_parts *x,
                                 gsa_error *error)
{
    gsa_plan *plan = &x->plan;
    x->rows_by_degree = gsa_alloc(system, (size_t)e->rows, sizeof *x->rows_by_degree);
    if (!x->rows_by_degree) return gsa_out_of_memory(error, "plan, rows by degree", e->rows * 4);
    for (int64_t r = 0; r < e->rows; r++) {
        plan->bin_offset[bin_of(degree(e, r), x->hub_chunk) + 1]++;
        if (degree(e, r) > plan->max_degree) plan->max_degree = degree(e, r);
    }
    for (int b = 0; b < GSA_DEGREE_BINS; b++) plan->bin_offset[b + 1] += plan->bin_offset[b];
    int64_t next[GSA_DEGREE_BINS];
    memcpy(next, plan->bin_offset, sizeof next);
    for (int64_t r = 0; r < e->rows; r++)
        x->rows_by_degree[next[bin_of(degree(e, r), x->hub_chunk)]++] = (int32_t)r;
    plan->bytes += e->rows * (int64_t)sizeof *x->rows_by_degree;
    return GSA_OK;
}

/* Cuts one row at multiples of hub_chunk; returns the next free chunk. */
static gsa_chunk *cut_row(const gsa_edges *e, int64_t row, int32_t hub_chunk, gsa_chunk *chunk)
{
    int64_t run = e->run_offset[row], before = 0; /* edges of the row that are before the run */
    for (int64_t first = 0; first < degree(e, row); first += hub_chunk, chunk++) {
        while (before + e->runs[run].count <= first) before += e->runs[run++].count;
        const int64_t left = degree(e, row) - first;
        *chunk = (gsa_chunk){ row, first, run, (int32_t)(first - before),
                              left < hub_chunk ? (int32_t)left : hub_chunk };
    }
    return chunk;
}

static gsa_status cut_hubs(const gsa_system *system, const gsa_edges *e, plan_parts *x,
                           gsa_error *error)
{
    gsa_plan *plan = &x->plan;
    for (int64_t i = plan->bin_offset[HUB]; i < e->rows; i++)
        plan->chunks += (degree(e, x->rows_by_degree[i]) + x->hub_chunk - 1) / x->hub_chunk;
    x->chunk = gsa_alloc(system, (size_t)plan->chunks, sizeof *x->chunk);
    if (!x->chunk)
        return gsa_out_of_memory(error, "plan, hub chunks",
                                 plan->chunks * (int64_t)sizeof *x->chunk);
    gsa_chunk *next = x->chunk;
    for (int64_t i = plan->bin_offset[HUB]; i < e->rows; i++)
        next = cut_row(e, x->rows_by_degree[i], x->hub_chunk, next);
    plan->bytes += plan->chunks * (int64_t)sizeof *x->chunk;
    return GSA_OK;
}

/* Calls the body with the source's place in the concatenated space, row, k and label of every edge,
 * rows ascending. */
#define EACH_EDGE(e, part_first, row, k, source, label)                                            \
    for (int64_t row = 0; row < (e)->rows; row++)                                                  \
        for (int64_t i_ = (e)->run_offset[row], k = 0; i_ < (e)->run_offset[row + 1]; i_++)        \
            for (int64_t j_ = 0, source = (part_first)[(e)->runs[i_].kind] + (e)->runs[i_].first,  \
                         label = (e)->runs[i_].label;                                              \
                 j_ < (e)->runs[i_].count;                                                         \
                 j_++, k++, source += (e)->runs[i_].step, label += (e)->runs[i_].label_step)

/* A counting sort by source: rows and k ascend already, so the order is (source, row, k). */
static gsa_status transpose(const gsa_system *system, const gsa_edges *e, plan_parts *x,
                            gsa_error *error)
{
    const gsa_plan *plan = &x->plan;
    x->transpose_bytes = e->edge_total * (int64_t)sizeof *x->out +
                         (plan->sources + 1) * (int64_t)sizeof *x->out_offset;
    if (x->transpose_bytes > x->transpose_limit) return GSA_OK;
    x->out_offset = gsa_alloc_zero(system, (size_t)(plan->sources + 1), sizeof *x->out_offset);
    x->out = gsa_alloc(system, (size_t)e->edge_total, sizeof *x->out);
    if (!x->out_offset || !x->out)
        return gsa_out_of_memory(error, "plan, transpose", x->transpose_bytes);
    EACH_EDGE(e, plan->part_first, row, k, source, label) x->out_offset[source + 1]++;
    for (int64_t s = 0; s < plan->sources; s++) x->out_offset[s + 1] += x->out_offset[s];
    EACH_EDGE(e, plan->part_first, row, k, source, label)
    x->out[x->out_offset[source]++] = (gsa_transposed){ (int32_t)row, (int32_t)k, (int32_t)label };
    memmove(x->out_offset + 1, x->out_offset, (size_t)plan->sources * sizeof *x->out_offset);
    x->out_offset[0] = 0;
    x->plan.bytes += x->transpose_bytes;
    return GSA_OK;
}

static gsa_status expand(const gsa_system *system, const gsa_edges *e, plan_parts *x,
                         gsa_error *error)
{
    x->csr_bytes = e->edge_total * 2 * (int64_t)sizeof(int32_t);
    if (x->csr_bytes > x->csr_limit) return GSA_OK;
    x->csr_source = gsa_alloc(system, (size_t)e->edge_total, sizeof *x->csr_source);
    x->csr_label = gsa_alloc(system, (size_t)e->edge_total, sizeof *x->csr_label);
    if (!x->csr_source || !x->csr_label)
        return gsa_out_of_memory(error, "plan, expanded edges", x->csr_bytes);
    gsa_edges_expand(e, x->csr_source, x->csr_label, NULL);
    x->plan.bytes += x->csr_bytes;
    return GSA_OK;
}

static int64_t limit_of(int64_t given, int64_t fallback)
{
    return given == 0 ? fallback : given; /* below 0: nothing fits */
}

static gsa_status fill(const gsa_system *system, const gsa_edges *e, plan_parts *x,
                       gsa_error *error)
{
    gsa_plan *plan = &x->plan;
    plan->rows = e->rows, plan->edges = e->edge_total, plan->bytes = (int64_t)sizeof *x;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        plan->part_first[k] = plan->sources;
        if (k < e->kinds) plan->sources += e->part_rows[k];
    }
    plan->mean_run = e->run_total ? (double)e->edge_total / (double)e->run_total : 0;
    gsa_status status = sort_by_degree(system, e, x, error);
    if (status == GSA_OK && plan->max_degree > gsa_index_most)
        status = gsa_fail(error, GSA_ERR_LIMIT,
                          "plan: a row of %" PRId64 " edges, the limit is %" PRId32,
                          plan->max_degree, gsa_index_most);
    if (status == GSA_OK) status = cut_hubs(system, e, x, error);
    if (status == GSA_OK) status = transpose(system, e, x, error);
    if (status == GSA_OK) status = expand(system, e, x, error);
    plan->rows_by_degree = x->rows_by_degree, plan->chunk = x->chunk;
    plan->out_offset = x->out_offset, plan->out = x->out;
    plan->csr_source = x->csr_source, plan->csr_label = x->csr_label;
    return status;
}

gsa_status gsa_plan_create(const gsa_system *system, const gsa_edges *edges,
                           const gsa_plan_options *options, gsa_plan **plan, gsa_error *error)
{
    static const gsa_plan_options defaults = { 0 };
    *plan = NULL;
    if (!options) options = &defaults;
    if (options->hub_chunk < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "plan: hub_chunk is %" PRId32 ", expected at least 0", options->hub_chunk);
    plan_parts *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "plan", (int64_t)sizeof *made);
    made->hub_chunk = options->hub_chunk ? options->hub_chunk : DEFAULT_CHUNK;
    made->csr_limit = limit_of(options->csr_limit, INT64_C(256) << 20);
    made->transpose_limit = limit_of(options->transpose_limit, INT64_C(1) << 30);
    const gsa_status status = fill(system, edges, made, error);
    if (status != GSA_OK) gsa_plan_release(system, &made->plan);
    else *plan = &made->plan;
    return status;
}

void gsa_plan_release(const gsa_system *system, gsa_plan *plan)
{
    plan_parts *x = (plan_parts *)plan; /* its first member */
    if (!x) return;
    void *const owned[] = { x->rows_by_degree, x->csr_source, x->csr_label,
                            x->chunk,          x->out_offset, x->out };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) gsa_release(system, owned[i]);
    gsa_release(system, x);
}

typedef struct writer {
    char *out;
    size_t size, used; /* used may pass size: what would have been written */
} writer;

GSA_PRINTF(2, 3) static void say(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(w->used < w->size ? w->out + w->used : NULL,
                                 w->used < w->size ? w->size - w->used : 0, format, arguments);
    va_end(arguments);
    if (length > 0) w->used += (size_t)length;
}

static void say_copy(writer *w, const char *what, int made, int64_t bytes, int64_t limit)
{
    if (made) say(w, "%s: yes, %" PRId64 " bytes\n", what, bytes);
    else if (limit < 0) say(w, "%s: no, switched off\n", what);
    else say(w, "%s: no, %" PRId64 " bytes exceed the limit of %" PRId64 "\n", what, bytes, limit);
}

int gsa_plan_explain(const gsa_plan *plan, char *out, size_t size)
{
    static const char *const names[] = { "0", "1-4", "5-8", "9-16", "17-32", "33-64" };
    const plan_parts *x = (const plan_parts *)plan;
    writer w = { out, size, 0 };
    const int64_t hundredths =
        (int64_t)(plan->mean_run * 100 + 0.5); /* without the locale's decimal point */
    say(&w,
        "%" PRId64 " rows, %" PRId64 " edges from %" PRId64 " sources; %" PRId64 ".%02" PRId64
        " edges a run\n",
        plan->rows, plan->edges, plan->sources, hundredths / 100, hundredths % 100);
    say(&w, "rows by in-degree:");
    for (int b = 0; b < GSA_DEGREE_BINS; b++) {
        const int64_t rows = plan->bin_offset[b + 1] - plan->bin_offset[b];
        if (b < HUB - 1) say(&w, " %s: %" PRId64 ",", names[b], rows);
        else if (b < HUB) say(&w, " 65-%" PRId32 ": %" PRId64 ",", x->hub_chunk, rows);
        else say(&w, " more: %" PRId64 " (largest %" PRId64 ")\n", rows, plan->max_degree);
    }
    say(&w, "hubs: %" PRId64 " chunks of %" PRId32 " edges\n", plan->chunks, x->hub_chunk);
    say_copy(&w, "transpose", plan->out != NULL, x->transpose_bytes, x->transpose_limit);
    say_copy(&w, "CSR", plan->csr_source != NULL, x->csr_bytes, x->csr_limit);
    return (int)w.used;
}
