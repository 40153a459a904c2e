/* Attention on one's own buffers: what plain loops over the listed edges compute, gradients by
 * differences, refusals in one sentence, no memory after warm-up. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/attend.h"
#include "scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"

enum { HEADS = 3, DIM = 4, WIDTH = HEADS * DIM, LABELS = 3, ROWS = 7, EDGES = 15 };
static const int32_t lengths[] = { 5, 0, 1, 5 };
static const gsa_sequences sequences = { .count = 4, .length = lengths };

/* A list with a row without edges (3), an edge given twice, rows in no order, labels. */
static const int64_t source[EDGES] = { 4, 0, 1, 2, 6, 6, 3, 5, 0, 1, 1, 2, 3, 4, 5 };
static const int64_t destination[EDGES] = { 6, 0, 0, 5, 1, 4, 4, 4, 2, 2, 2, 5, 6, 0, 1 };
static const int32_t label[EDGES] = { 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 0, 1 };
static const gsa_edge_list listed = { .struct_size = sizeof listed,
                                      .index_bytes = 8,
                                      .rows = ROWS,
                                      .sources = -1,
                                      .count = EDGES,
                                      .source = source,
                                      .destination = destination,
                                      .label = label,
                                      .labels = LABELS };

typedef struct world { /* one phase in double, with buffers of its sizes */
    gsa_registry *registry;
    gsa_graph *graph;
    gsa_backend *backend;
    gsa_attention a;
    int64_t rows, sources, edges, labels;
    double *buffer[16];
    int buffers;
} world;

static gsa_error error;
#define MUST(call) ck_assert_msg((call) == GSA_OK, "%s", error.text)

static double *numbers(world *w, int64_t count, gsa_dice *dice)
{
    double *at = calloc((size_t)count + 1, sizeof *at);
    for (int64_t i = 0; i < count; i++) at[i] = gsa_bell(dice);
    return w->buffer[w->buffers++] = at;
}

static void open_graph(world *w, const char *spec)
{
    if (spec == NULL) MUST(gsa_graph_of_edges(NULL, &listed, &w->graph, &error));
    else {
        MUST(gsa_registry_create(NULL, &w->registry, &error));
        MUST(gsa_graph_open(NULL, w->registry, spec, &w->graph, &error));
        MUST(gsa_graph_build(w->graph, NULL, NULL, &sequences, HEADS, &error));
    }
}

/* spec NULL: the list. */
static world world_of(const char *spec, const char *phase, double dropout)
{
    world w = { 0 };
    gsa_dice dice = { 9 };
    open_graph(&w, spec);
    MUST(gsa_backend_open(NULL, "cpu", GSA_F64, 2, &w.backend, &error));
    const int p = gsa_graph_phase(w.graph, phase);
    ck_assert_int_ge(p, 0);
    const gsa_phase *schema = gsa_schema_phase(gsa_graph_schema(w.graph), p);
    w.rows = gsa_graph_rows(w.graph, p), w.sources = gsa_graph_sources(w.graph, p);
    w.edges = gsa_graph_edges(w.graph, p), w.labels = schema->labels;
    w.a = (gsa_attention){ .struct_size = sizeof w.a, .phase = p, .heads = HEADS, .head_dim = DIM };
    w.a.q = numbers(&w, w.rows * WIDTH, &dice);
    w.a.k = numbers(&w, w.sources * WIDTH, &dice);
    w.a.v = numbers(&w, w.sources * WIDTH, &dice);
    w.a.key_labels = numbers(&w, w.labels * DIM, &dice);
    w.a.bias = numbers(&w, w.labels * HEADS, &dice);
    w.a.dout = numbers(&w, w.rows * WIDTH, &dice);
    w.a.out = numbers(&w, w.rows * WIDTH, &dice);
    w.a.lse = numbers(&w, w.rows * HEADS, &dice);
    w.a.weights = numbers(&w, w.edges * HEADS, &dice);
    w.a.dq = numbers(&w, w.rows * WIDTH, &dice);
    w.a.dk = numbers(&w, w.sources * WIDTH, &dice);
    w.a.dv = numbers(&w, w.sources * WIDTH, &dice);
    w.a.dkey_labels = numbers(&w, w.labels * DIM, &dice);
    w.a.dbias = numbers(&w, w.labels * HEADS, &dice);
    w.a.dropout = dropout, w.a.seed = 5, w.a.step = 2, w.a.site = 3;
    return w;
}

static void world_close(world *w)
{
    for (int i = 0; i < w->buffers; i++) free(w->buffer[i]);
    gsa_backend_release(w->backend);
    gsa_graph_release(w->graph);
    gsa_registry_release(w->registry);
}

/* ---- what plain loops compute ---------------------------------------------------------------- */

typedef struct edge_arrays {
    int32_t *row, *source, *label;
} edge_arrays;

static edge_arrays edges_of(const world *w)
{
    edge_arrays e;
    int32_t **each[] = { &e.row, &e.source, &e.label };
    for (int i = 0; i < 3; i++) *each[i] = calloc((size_t)w->edges + 1, sizeof(int32_t));
    MUST(gsa_graph_list(w->graph, w->a.phase, e.row, e.source, e.label, &error));
    return e;
}

static void edges_free(edge_arrays e)
{
    free(e.row);
    free(e.source);
    free(e.label);
}

static double score(const world *w, const edge_arrays *e, int64_t i, int h)
{
    const double *q = (const double *)w->a.q + (int64_t)e->row[i] * WIDTH + h * DIM;
    const double *k = (const double *)w->a.k + (int64_t)e->source[i] * WIDTH + h * DIM;
    const double *r = (const double *)w->a.key_labels + (int64_t)e->label[i] * DIM;
    double s = 0;
    for (int c = 0; c < DIM; c++) s += q[c] * (k[c] + r[c]);
    return s / sqrt(DIM) + ((const double *)w->a.bias)[e->label[i] * HEADS + h];
}

static void naive(const world *w, double *out, double *weights)
{
    const edge_arrays e = edges_of(w);
    for (int64_t i = 0; i < w->edges; i++)
        for (int h = 0; h < HEADS; h++) {
            double sum = 0;
            for (int64_t j = 0; j < w->edges; j++)
                if (e.row[j] == e.row[i]) sum += exp(score(w, &e, j, h));
            const double p = weights[i * HEADS + h] = exp(score(w, &e, i, h)) / sum;
            const double *v = (const double *)w->a.v + (int64_t)e.source[i] * WIDTH + h * DIM;
            for (int c = 0; c < DIM; c++) out[(int64_t)e.row[i] * WIDTH + h * DIM + c] += p * v[c];
        }
    edges_free(e);
}

static const struct {
    const char *spec, *phase;
} graphs[] = { { NULL, "attend" },
               { "window:width=5:relative=1", "attend" },
               { "bpt:k=2:causal=1", "attend" },
               { "star", "down" },
               { "full:clip=1", "attend" } };

START_TEST(forward_is_what_plain_loops_compute)
{
    world w = world_of(graphs[_i].spec, graphs[_i].phase, 0);
    double *out = calloc((size_t)w.rows * WIDTH + 1, sizeof *out);
    double *weights = calloc((size_t)w.edges * HEADS + 1, sizeof *weights);
    MUST(gsa_attend_forward(w.backend, w.graph, &w.a, &error));
    naive(&w, out, weights);
    ck_assert_int_gt(w.edges, 0);
    ck_assert(!gsa_differ("out", w.a.out, out, w.rows * WIDTH, 1e-12, 1e-12));
    ck_assert(!gsa_differ("weights", w.a.weights, weights, w.edges * HEADS, 1e-12, 1e-12));
    free(out);
    free(weights);
    world_close(&w);
}
END_TEST

/* ---- gradients ------------------------------------------------------------------------------- */

static double loss(world *w)
{
    double sum = 0;
    MUST(gsa_attend_forward(w->backend, w->graph, &w->a, &error));
    for (int64_t i = 0; i < w->rows * WIDTH; i++)
        sum += ((const double *)w->a.out)[i] * ((const double *)w->a.dout)[i];
    return sum;
}

static void check_gradient(world *w, const char *name, const void *x, const void *dx, int64_t count)
{
    double *at = (double *)(uintptr_t)x, *numeric = calloc((size_t)count + 1, sizeof *numeric);
    for (int64_t i = 0; i < count; i++) {
        const double was = at[i], step = 1e-6;
        at[i] = was + step;
        const double up = loss(w);
        at[i] = was - step;
        numeric[i] = (up - loss(w)) / (2 * step);
        at[i] = was;
    }
    ck_assert(!gsa_differ(name, dx, numeric, count, 1e-7, 1e-7));
    free(numeric);
}

START_TEST(backward_is_the_gradient_of_every_input)
{
    const double dropouts[] = { 0, 0.4 };
    world w = world_of(graphs[_i / 2].spec, graphs[_i / 2].phase, dropouts[_i % 2]);
    loss(&w);
    MUST(gsa_attend_backward(w.backend, w.graph, &w.a, &error));
    check_gradient(&w, "dq", w.a.q, w.a.dq, w.rows * WIDTH);
    check_gradient(&w, "dk", w.a.k, w.a.dk, w.sources * WIDTH);
    check_gradient(&w, "dv", w.a.v, w.a.dv, w.sources * WIDTH);
    check_gradient(&w, "dkey_labels", w.a.key_labels, w.a.dkey_labels, w.labels * DIM);
    check_gradient(&w, "dbias", w.a.bias, w.a.dbias, w.labels * HEADS);
    world_close(&w);
}
END_TEST

START_TEST(gradients_are_written_or_added_to)
{
    world w = world_of(NULL, "attend", 0.4);
    double once[ROWS * WIDTH], table[LABELS * DIM];
    loss(&w);
    MUST(gsa_attend_backward(w.backend, w.graph, &w.a, &error));
    memcpy(once, w.a.dk, sizeof once), memcpy(table, w.a.dkey_labels, sizeof table);
    w.a.add = 1;
    MUST(gsa_attend_backward(w.backend, w.graph, &w.a, &error));
    for (int i = 0; i < ROWS * WIDTH; i++) once[i] *= 2;
    for (int i = 0; i < LABELS * DIM; i++) table[i] *= 2;
    ck_assert(!gsa_differ("dk twice", w.a.dk, once, ROWS * WIDTH, 1e-12, 1e-12));
    ck_assert(!gsa_differ("labels twice", w.a.dkey_labels, table, LABELS * DIM, 1e-12, 1e-12));
    world_close(&w);
}
END_TEST

START_TEST(sums_and_means_are_those_of_the_edges)
{
    const int mean = _i;
    world w = world_of(NULL, "attend", 0);
    double wanted[ROWS * WIDTH] = { 0 }, back[ROWS * WIDTH] = { 0 };
    int degree[ROWS] = { 0 };
    for (int i = 0; i < EDGES; i++) degree[destination[i]]++;
    for (int i = 0; i < EDGES; i++)
        for (int c = 0; c < WIDTH; c++) {
            const double share = mean ? 1.0 / degree[destination[i]] : 1;
            wanted[destination[i] * WIDTH + c] +=
                share * ((const double *)w.a.v)[source[i] * WIDTH + c];
            back[source[i] * WIDTH + c] +=
                share * ((const double *)w.a.dout)[destination[i] * WIDTH + c];
        }
    MUST(gsa_aggregate_forward(w.backend, w.graph, 0, mean, WIDTH, w.a.v, w.a.out, &error));
    MUST(gsa_aggregate_backward(w.backend, w.graph, 0, mean, WIDTH, w.a.dout, w.a.dv, 0, &error));
    ck_assert(!gsa_differ("sum", w.a.out, wanted, ROWS * WIDTH, 1e-12, 1e-12));
    ck_assert(!gsa_differ("dv", w.a.dv, back, ROWS * WIDTH, 1e-12, 1e-12));
    world_close(&w);
}
END_TEST

/* ---- edges of one's own -----------------------------------------------------------------------
 */

START_TEST(the_order_tells_which_edge_of_the_list_is_which)
{
    world w = world_of(NULL, "attend", 0);
    const edge_arrays e = edges_of(&w);
    const int64_t *order = gsa_graph_order(w.graph);
    ck_assert_ptr_nonnull(order);
    for (int i = 0; i < EDGES; i++) {
        ck_assert_int_eq(e.row[i], destination[order[i]]);
        ck_assert_int_eq(e.source[i], source[order[i]]);
        ck_assert_int_eq(e.label[i], label[order[i]]);
        ck_assert(i == 0 || e.row[i] > e.row[i - 1] ||
                  (e.row[i] == e.row[i - 1] && order[i] > order[i - 1]));
    }
    edges_free(e);
    world_close(&w);
}
END_TEST

START_TEST(grouped_rows_of_two_examples_and_other_sources)
{
    /* rows 0 and 1 read sources 0 .. 2, row 2 reads 3 and 4 */
    static const int32_t offset[] = { 0, 2, 3, 5 }, from[] = { 0, 2, 1, 4, 3 };
    static const int64_t first_row[] = { 0, 2, 3 }, first_source[] = { 0, 3, 5 };
    gsa_edge_list list = { .struct_size = sizeof list,
                           .index_bytes = 4,
                           .rows = 3,
                           .sources = 5,
                           .count = 5,
                           .source = from,
                           .row_offset = offset,
                           .examples = 2,
                           .example_rows = first_row,
                           .example_sources = first_source };
    gsa_graph *graph;
    int32_t row[5], read[5];
    MUST(gsa_graph_of_edges(NULL, &list, &graph, &error));
    ck_assert_ptr_null(gsa_graph_order(graph));
    ck_assert_int_eq(gsa_graph_rows(graph, 0), 3);
    ck_assert_int_eq(gsa_graph_sources(graph, 0), 5);
    MUST(gsa_graph_list(graph, 0, row, read, NULL, &error));
    for (int i = 0; i < 5; i++) ck_assert_int_eq(read[i], from[i]);
    ck_assert_int_eq(row[3], 2);
    gsa_graph_release(graph);
    static const int32_t astray[] = { 0, 2, 1, 4, 2 }; /* row 2 reads a node of the other example */
    list.source = astray;
    ck_assert_int_eq(gsa_graph_of_edges(NULL, &list, &graph, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "edge 4 into row 2: source 2 is not in 3 .. 4, the nodes that "
                                 "row can read");
}
END_TEST

START_TEST(a_graph_is_written_as_graphml)
{
    world w = world_of(NULL, "attend", 0);
    gsa_scratch folder;
    int64_t bytes;
    gsa_scratch_open(&folder);
    const char *path = gsa_scratch_path(&folder, "own.graphml");
    MUST(gsa_graph_write(w.graph, 0, NULL, path, &error));
    char *text = gsa_get_file(path, &bytes);
    ck_assert_ptr_nonnull(strstr(text, "<edge id=\"e14\""));
    free(text);
    ck_assert_int_eq(gsa_graph_write(w.graph, 1, NULL, path, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "example 1 of a graph that has 1");
    gsa_scratch_close(&folder);
    world_close(&w);
}
END_TEST

/* ---- refusals ----------------------------------------------------------------------------------
 */

START_TEST(a_bad_list_is_one_sentence)
{
    static const int64_t far[EDGES] = { [3] = 7 }, fallen[] = { 0, 2, 1, 15, 15, 15, 15, 15 };
    static const int32_t odd[EDGES] = { [2] = 3 };
    gsa_edge_list bad[6];
    for (int i = 0; i < 6; i++) bad[i] = listed;
    bad[0].struct_size = 8;
    bad[1].index_bytes = 2;
    bad[2].source = far;
    bad[3].destination = far;
    bad[4].label = odd;
    bad[5].destination = NULL, bad[5].row_offset = fallen;
    static const char *const said[] = {
        "edges: struct_size is 8; this library expects ",
        "edges: indices of 2 bytes; 4 or 8 were expected",
        "edge 3 into row 5: source 7 is not in 0 .. 6, the nodes that row can read",
        "edge 3: destination 7 is not in 0 .. 6, the rows",
        "edge 2 into row 0: label 3 is not in 0 .. 2",
        "edges: row_offset[2] is 1; they begin at 0, never fall, and end at the 15 edges"
    };
    gsa_graph *graph;
    ck_assert_int_ne(gsa_graph_of_edges(NULL, &bad[_i], &graph, &error), GSA_OK);
    ck_assert_ptr_null(graph);
    ck_assert_msg(strncmp(error.text, said[_i], strlen(said[_i])) == 0, "%s", error.text);
}
END_TEST

START_TEST(a_bad_call_is_one_sentence)
{
    world w = world_of("full", "attend", 0);
    gsa_attention bad[8];
    for (int i = 0; i < 8; i++) bad[i] = w.a;
    bad[0].struct_size = 4, bad[1].phase = 2, bad[2].phase = 1, bad[3].heads = 0;
    bad[4].k = NULL, bad[5].dropout = 1, bad[6].scale = NAN, bad[7].lse = NULL;
    static const char *const said[] = {
        "attend_forward: struct_size is 4; this library expects ",
        "phase 2 of a graph that has 2",
        "phase 'ffn' of full has no edges: it works on each node by itself",
        "attend_forward: 0 heads of 4 columns; each is at least 1",
        "attend_forward: k is NULL",
        "attend_forward: dropout is 1; a number from 0, and below 1, was expected",
        "attend_forward: scale is nan; a finite number was expected",
        "attend_forward: lse is NULL"
    };
    ck_assert_int_ne(gsa_attend_forward(w.backend, w.graph, &bad[_i], &error), GSA_OK);
    ck_assert_msg(strncmp(error.text, said[_i], strlen(said[_i])) == 0, "%s", error.text);
    world_close(&w);
}
END_TEST

START_TEST(a_stack_is_no_graph)
{
    gsa_registry *registry;
    gsa_graph *graph;
    MUST(gsa_registry_create(NULL, &registry, &error));
    ck_assert_int_eq(gsa_graph_open(NULL, registry, "star*2", &graph, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "'star*2' is a stack, and a graph is of one pattern in one layer: "
                                 "expected one name with its settings, as window:width=11");
    ck_assert_int_ne(gsa_graph_open(NULL, registry, "sta", &graph, &error), GSA_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "star"));
    gsa_registry_release(registry);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------
 */

static gsa_status build_both(gsa_faults *faults, void *context)
{
    gsa_registry *registry = context;
    gsa_graph *pattern = NULL, *own = NULL;
    gsa_status status = gsa_graph_open(&faults->table, registry, "star", &pattern, NULL);
    if (status == GSA_OK) status = gsa_graph_build(pattern, NULL, NULL, &sequences, 1, NULL);
    if (status == GSA_OK) status = gsa_graph_of_edges(&faults->table, &listed, &own, NULL);
    gsa_graph_release(pattern);
    gsa_graph_release(own);
    return status;
}

START_TEST(every_lack_of_memory_is_told_and_nothing_leaks)
{
    gsa_registry *registry;
    MUST(gsa_registry_create(NULL, &registry, &error));
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, build_both, registry), 10);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(warm_calls_and_builds_ask_for_no_memory)
{
    static float plane[9][64 * WIDTH];
    gsa_faults faults;
    gsa_registry *registry;
    gsa_graph *graph;
    gsa_backend *backend;
    gsa_cache *cache;
    gsa_faults_start(&faults);
    MUST(gsa_registry_create(&faults.table, &registry, &error));
    MUST(gsa_cache_create(&faults.table, 1 << 20, &cache, &error));
    MUST(gsa_graph_open(&faults.table, registry, "bpt:k=2", &graph, &error));
    MUST(gsa_backend_open(&faults.table, "cpu", GSA_F32, 2, &backend, &error));
    gsa_attention a = { .struct_size = sizeof a, .heads = HEADS, .head_dim = DIM };
    a.q = plane[0], a.k = plane[1], a.v = plane[2], a.out = plane[3], a.lse = plane[4];
    a.dout = plane[5], a.dq = plane[6], a.dk = plane[7], a.dv = plane[8];
    for (int round = 0; round < 4; round++) {
        if (round < 2) MUST(gsa_graph_build(graph, cache, NULL, &sequences, HEADS, &error));
        ck_assert_int_le(gsa_graph_sources(graph, 0), 64);
        gsa_faults_rewind(&faults);
        if (round == 2) MUST(gsa_graph_build(graph, cache, NULL, &sequences, HEADS, &error));
        ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0);
        MUST(gsa_attend_forward(backend, graph, &a, &error));
        MUST(gsa_attend_backward(backend, graph, &a, &error));
    }
    ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0); /* of the last round */
    gsa_backend_release(backend);
    gsa_graph_release(graph);
    gsa_cache_release(cache);
    gsa_registry_release(registry);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

static const gsa_test equations[] = { GSA_LOOP(forward_is_what_plain_loops_compute, 5),
                                      GSA_LOOP(sums_and_means_are_those_of_the_edges, 2) };
static const gsa_test gradients[] = { GSA_LOOP(backward_is_the_gradient_of_every_input, 10),
                                      GSA_TEST(gradients_are_written_or_added_to) };
static const gsa_test own[] = { GSA_TEST(the_order_tells_which_edge_of_the_list_is_which),
                                GSA_TEST(grouped_rows_of_two_examples_and_other_sources),
                                GSA_TEST(a_graph_is_written_as_graphml) };
static const gsa_test refusals[] = { GSA_LOOP(a_bad_list_is_one_sentence, 6),
                                     GSA_LOOP(a_bad_call_is_one_sentence, 8),
                                     GSA_TEST(a_stack_is_no_graph) };
static const gsa_test memory[] = { GSA_TEST(every_lack_of_memory_is_told_and_nothing_leaks),
                                   GSA_TEST(warm_calls_and_builds_ask_for_no_memory) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("equations", equations, 30),
                                      GSA_CASE("gradients", gradients, 60),
                                      GSA_CASE("own", own, 30), GSA_CASE("refusals", refusals, 30),
                                      GSA_CASE("memory", memory, 60) };
    return gsa_run_suite("own_buffers", cases, GSA_COUNT(cases), argc, argv);
}
