/* measure.c - what the table of gsa-inspect --stats says. Components and distances are igraph's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/inspect/guard.h"

enum { SAMPLE = 64 };
static const int64_t EXACT_WORK =
    400000000; /* nodes x (nodes + edges) steps of a search from every node */

/* ---- counts -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static gsa_quantiles quantiles(int64_t *values, int64_t count)
{
    double sum = 0;
    if (count == 0) return (gsa_quantiles){ 0 };
    qsort(values, (size_t)count, sizeof *values, by_value);
    for (int64_t i = 0; i < count; i++) sum += (double)values[i];
    const int64_t last = count - 1;
    return (gsa_quantiles){ values[0],
                            values[(last + 2) / 4],
                            values[(2 * last + 2) / 4],
                            values[(3 * last + 2) / 4],
                            values[last],
                            sum / (double)count };
}

/* Quantiles of one end's degrees, for each kind and for all nodes. */
static void measure_degrees(const gsa_view *view, int in, int64_t *degree, int64_t *work,
                            gsa_quantiles *out)
{
    memset(degree, 0, (size_t)view->nodes * sizeof *degree);
    for (int64_t e = 0; e < view->edges; e++) {
        degree[in ? view->edge[e].to : view->edge[e].from]++;
        if (!view->directed) degree[in ? view->edge[e].from : view->edge[e].to]++;
    }
    for (int32_t k = 0; k <= view->kinds.count; k++) {
        int64_t count = 0;
        for (int32_t v = 0; v < view->nodes; v++)
            if (k == view->kinds.count || view->node[v].kind == k) work[count++] = degree[v];
        out[k] = quantiles(work, count);
    }
}

static int by_label(const void *a, const void *b)
{
    const gsa_label_count *x = a, *y = b;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->rel != y->rel) return x->rel < y->rel ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* All edges' labels sorted; equal neighbours become one. */
static gsa_status count_labels(const gsa_view *view, gsa_measures *m, gsa_error *error)
{
    gsa_label_count *all = gsa_alloc(view->system, (size_t)view->edges, sizeof *all);
    if (!all) return gsa_out_of_memory(error, "labels", view->edges * (int64_t)sizeof *all);
    for (int64_t e = 0; e < view->edges; e++)
        all[e] =
            (gsa_label_count){ view->edge[e].phase, view->edge[e].label, view->edge[e].rel, 1 };
    qsort(all, (size_t)view->edges, sizeof *all, by_label);
    int64_t kept = 0;
    for (int64_t e = 0; e < view->edges; e++)
        if (kept > 0 && by_label(&all[kept - 1], &all[e]) == 0) all[kept - 1].edges++;
        else all[kept++] = all[e];
    m->labels = all, m->n_labels = (int32_t)(kept < INT32_MAX ? kept : INT32_MAX);
    return GSA_OK;
}

static int by_ends(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

static gsa_status count_pairs(const gsa_view *view, gsa_measures *m, gsa_error *error)
{
    int32_t(*pairs)[2] = gsa_alloc(view->system, (size_t)view->edges, sizeof *pairs);
    if (!pairs)
        return gsa_out_of_memory(error, "pairs of nodes", view->edges * (int64_t)sizeof *pairs);
    for (int64_t e = 0; e < view->edges; e++) {
        pairs[e][0] = view->edge[e].to, pairs[e][1] = view->edge[e].from;
        m->loops += view->edge[e].from == view->edge[e].to;
    }
    qsort(pairs, (size_t)view->edges, sizeof *pairs, by_ends);
    for (int64_t e = 1; e < view->edges; e++) m->parallel += by_ends(pairs[e - 1], pairs[e]) == 0;
    if (view->nodes > 0)
        m->density =
            (double)(view->edges - m->parallel) / ((double)view->nodes * (double)view->nodes);
    gsa_release(view->system, pairs);
    return GSA_OK;
}

static gsa_status count(const gsa_view *view, gsa_measures *m, gsa_error *error)
{
    int64_t *work = gsa_alloc(view->system, 2 * (size_t)view->nodes, sizeof *work);
    if (!work)
        return gsa_out_of_memory(error, "degrees",
                                 2 * (int64_t)view->nodes * (int64_t)sizeof *work);
    for (int32_t v = 0; v < view->nodes; v++) m->kind_nodes[view->node[v].kind]++;
    for (int64_t e = 0; e < view->edges; e++) m->phase_edges[view->edge[e].phase]++;
    measure_degrees(view, 1, work, work + view->nodes, m->in);
    measure_degrees(view, 0, work, work + view->nodes, m->out);
    gsa_release(view->system, work);
    const gsa_status status = count_labels(view, m, error);
    return status == GSA_OK ? count_pairs(view, m, error) : status;
}

/* ---- components and distances -------------------------------------------------------------- */

static igraph_error_t components(const igraph_t *graph, igraph_connectedness_t mode,
                                 int64_t *number, int64_t *largest)
{
    igraph_vector_int_t sizes;
    igraph_integer_t n;
    igraph_error_t code = igraph_vector_int_init(&sizes, 0);
    if (code != IGRAPH_SUCCESS) return code;
    code = igraph_connected_components(graph, NULL, &sizes, &n, mode);
    if (code == IGRAPH_SUCCESS) {
        *number = n;
        for (igraph_integer_t i = 0; i < n; i++)
            if (VECTOR(sizes)[i] > *largest) *largest = VECTOR(sizes)[i];
    }
    igraph_vector_int_destroy(&sizes);
    return code;
}

typedef struct distance_sum {
    int64_t longest, joined, pairs;
    double sum;
} distance_sum;

static igraph_error_t distances_from(const igraph_t *graph, igraph_integer_t from,
                                     igraph_matrix_t *row, distance_sum *d)
{
    const igraph_error_t code =
        igraph_distances(graph, row, igraph_vss_1(from), igraph_vss_all(), IGRAPH_OUT);
    if (code != IGRAPH_SUCCESS) return code;
    for (igraph_integer_t to = 0; to < igraph_vcount(graph); to++) {
        const double distance = MATRIX(*row, 0, to);
        if (to == from) continue;
        d->pairs++;
        if (distance == IGRAPH_INFINITY) continue;
        d->joined++, d->sum += distance;
        if ((int64_t)distance > d->longest) d->longest = (int64_t)distance;
    }
    return IGRAPH_SUCCESS;
}

static igraph_error_t distances(const igraph_t *graph, gsa_measures *m)
{
    const int64_t n = igraph_vcount(graph), work = n + igraph_ecount(graph);
    distance_sum d = { 0 };
    igraph_matrix_t row;
    igraph_error_t code = igraph_matrix_init(&row, 0, 0);
    if (code != IGRAPH_SUCCESS) return code;
    m->sources = n <= SAMPLE || n <= EXACT_WORK / (work + 1) ? n : SAMPLE;
    for (int64_t i = 0; i < m->sources && code == IGRAPH_SUCCESS; i++)
        code = distances_from(graph, i * n / m->sources, &row, &d);
    igraph_matrix_destroy(&row);
    m->diameter = d.joined > 0 ? d.longest : -1;
    m->mean_distance = d.joined > 0 ? d.sum / (double)d.joined : 0;
    m->reachable = d.pairs > 0 ? (double)d.joined / (double)d.pairs : 0;
    return code;
}

static igraph_error_t count_isolated(const igraph_t *graph, gsa_measures *m)
{
    igraph_vector_int_t degree;
    igraph_error_t code = igraph_vector_int_init(&degree, 0);
    if (code != IGRAPH_SUCCESS) return code;
    code = igraph_degree(graph, &degree, igraph_vss_all(), IGRAPH_ALL, IGRAPH_NO_LOOPS);
    for (igraph_integer_t v = 0; code == IGRAPH_SUCCESS && v < igraph_vcount(graph); v++)
        m->isolated += VECTOR(degree)[v] == 0;
    igraph_vector_int_destroy(&degree);
    return code;
}

static igraph_error_t measure_graph(const igraph_t *graph, gsa_measures *m)
{
    igraph_error_t code = components(graph, IGRAPH_WEAK, &m->weak, &m->largest_weak);
    if (code == IGRAPH_SUCCESS)
        code = components(graph, IGRAPH_STRONG, &m->strong, &m->largest_strong);
    if (code == IGRAPH_SUCCESS) code = count_isolated(graph, m);
    if (code == IGRAPH_SUCCESS) code = distances(graph, m);
    return code;
}

static igraph_error_t make_graph(const gsa_view *view, igraph_t *graph)
{
    igraph_vector_int_t ends;
    igraph_error_t code = igraph_vector_int_init(&ends, 2 * view->edges);
    if (code != IGRAPH_SUCCESS) return code;
    for (int64_t e = 0; e < view->edges; e++)
        VECTOR(ends)[2 * e] = view->edge[e].from, VECTOR(ends)[2 * e + 1] = view->edge[e].to;
    code = igraph_create(graph, &ends, view->nodes, view->directed);
    igraph_vector_int_destroy(&ends);
    return code;
}

static gsa_status measure_with_igraph(const gsa_view *view, gsa_measures *m, gsa_error *error)
{
    gsa_igraph_guard guard;
    igraph_t graph;
    gsa_status status = gsa_igraph_enter(&guard, error);
    if (status != GSA_OK) return status;
    igraph_error_t code = make_graph(view, &graph);
    if (code == IGRAPH_SUCCESS) {
        code = measure_graph(&graph, m);
        igraph_destroy(&graph);
    }
    if (code != IGRAPH_SUCCESS)
        status = gsa_igraph_failed(code, GSA_ERR_UNSUPPORTED, "statistics", error);
    gsa_igraph_leave(&guard);
    return status;
}

gsa_status gsa_view_measure(const gsa_view *view, gsa_measures **measures, gsa_error *error)
{
    const size_t kinds = (size_t)view->kinds.count, phases = (size_t)view->phases.count;
    gsa_measures *m = gsa_alloc_zero(view->system, 1, sizeof *m);
    *measures = NULL;
    if (!m) return gsa_out_of_memory(error, "statistics", (int64_t)sizeof *m);
    m->system = view->system;
    m->kind_nodes = gsa_alloc_zero(view->system, kinds, sizeof *m->kind_nodes);
    m->phase_edges = gsa_alloc_zero(view->system, phases, sizeof *m->phase_edges);
    m->in = gsa_alloc_zero(view->system, kinds + 1, sizeof *m->in);
    m->out = gsa_alloc_zero(view->system, kinds + 1, sizeof *m->out);
    gsa_status status = m->kind_nodes && m->phase_edges && m->in && m->out
                            ? count(view, m, error)
                            : gsa_out_of_memory(error, "statistics", 0);
    if (status == GSA_OK) status = measure_with_igraph(view, m, error);
    if (status == GSA_OK) *measures = m;
    else gsa_measures_release(m);
    return status;
}

void gsa_measures_release(gsa_measures *m)
{
    if (!m) return;
    gsa_release(m->system, m->kind_nodes);
    gsa_release(m->system, m->phase_edges);
    gsa_release(m->system, m->in);
    gsa_release(m->system, m->out);
    gsa_release(m->system, m->labels);
    gsa_release(m->system, m);
}
