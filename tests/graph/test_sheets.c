/* Pictures of several layers and stacks, and of weights: one node a kind's node, one edge an edge,
 * numbers to the digit. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/write.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"
#include "xml.h"

/* ---- three patterns: tokens and spans; tokens that read a memory, head by head; a wrong start for
 * the span ---- */

static void describe_tree(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "span"));
    d->phase(d, &GSA_PHASE(.sources = 3, .destinations = 2, .name = "up"));
    d->sequence(d, 0);
}

static void emit_tree(const gsa_example *x, gsa_emitter *e)
{
    const gsa_node span = gsa_at(1, e->nodes(e, 1, 1));
    e->place(e, span, 1, 0, x->length - 1);
    e->run(e, 0, gsa_at(0, 0), x->length, 1, span, 0, 0);
    gsa_edge(e, 0, span, span, 0);
}

static void describe_reader(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_MEMORY, .name = "memory"));
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.sources = 2, .destinations = 2, .name = "self"));
    d->phase(d, &GSA_PHASE(.per_head = 1, .sources = 1, .destinations = 2, .name = "read"));
    d->sequence(d, 1);
}

static void emit_reader(const gsa_example *x, gsa_emitter *e)
{
    for (int i = 0; i < x->length; i++) {
        gsa_edge(e, 0, gsa_at(1, i), gsa_at(1, i), 0);
        for (int h = 0; x->memory_length > 0 && h < x->heads;
             h++) /* head h reads the last token in head 0 */
            gsa_edge(e, 1, gsa_at(0, (int64_t)(x->memory_length - 1) * x->heads),
                     gsa_at(1, (int64_t)i * x->heads + h), 0);
    }
}

static void describe_other(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_MEAN_INPUT, .name = "span"));
    d->phase(d, &GSA_PHASE(.sources = 1, .destinations = 2, .name = "up"));
    d->sequence(d, 0);
}

static void emit_two_spans(const gsa_example *x, gsa_emitter *e)
{
    e->nodes(e, 1, 2);
    e->run(e, 0, gsa_at(0, 0), x->length, 1, gsa_at(1, 0), 0, 0);
}

enum { TREE, READER, OTHER, TWO, PATTERNS };
static const gsa_script scripts[PATTERNS] = { { describe_tree, emit_tree },
                                              { describe_reader, emit_reader },
                                              { describe_other, emit_two_spans },
                                              { describe_tree, emit_two_spans } };
static const gsa_slice words[] = { { "\xe4\xbd\xa0", 3 },
                                   { "<b>", 3 },
                                   { "\xf0\x9f\x98\x80\"", 5 } };

typedef struct made {
    gsa_topology topology[PATTERNS];
    gsa_schema *schema[PATTERNS];
    gsa_instance *instance[PATTERNS];
    gsa_picture_stack stack[3];
    gsa_picture_sheet sheet[4];
    gsa_picture picture;
} made;

static gsa_picture_sheet sheet_of(const made *m, int pattern, int stack, int layer)
{
    return (gsa_picture_sheet){ .instance = m->instance[pattern],
                                .schema = m->schema[pattern],
                                .topology = &m->topology[pattern],
                                .self = &scripts[pattern],
                                .stack = stack,
                                .layer = layer };
}

/* An encoder of two tree layers over three tokens, a decoder of one layer over two. */
static void make(made *m)
{
    static const char *const ids[PATTERNS] = { "tree", "reader", "other", "two" };
    *m = (made){ 0 };
    for (int p = 0; p < PATTERNS; p++) {
        const gsa_example example = gsa_toy_example(p == READER ? 2 : 3, 3, 2);
        m->topology[p] = gsa_scripted, m->topology[p].id = ids[p];
        ck_assert_int_eq(gsa_schema_create(NULL, &m->topology[p], &scripts[p], &m->schema[p], NULL),
                         GSA_OK);
        ck_assert_int_eq(gsa_instance_create(NULL, m->schema[p], &m->topology[p], &scripts[p],
                                             &example, NULL, 1, &m->instance[p], NULL),
                         GSA_OK);
    }
    m->stack[0] = (gsa_picture_stack){ .name = "encoder", .text = words, .memory = -1 };
    m->stack[1] = (gsa_picture_stack){ .name = "decoder", .memory = 0 };
    m->sheet[0] = sheet_of(m, TREE, 0, 0);
    m->sheet[1] = sheet_of(m, TREE, 0, 1);
    m->sheet[2] = sheet_of(m, READER, 1, 0);
    m->picture = (gsa_picture){ "tree*2 & reader", m->stack, m->sheet, 2, 3 };
}

static void release(made *m)
{
    for (int p = 0; p < PATTERNS; p++) {
        gsa_instance_release(m->instance[p]);
        gsa_schema_release(m->schema[p]);
    }
}

/* The picture as bytes (to be freed), or NULL and the status. */
static char *written(const gsa_system *system, const gsa_picture *picture, int format,
                     gsa_status *status, gsa_error *error)
{
    char path[] = "/tmp/gsa-sheets-XXXXXX", *data = NULL;
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    gsa_output *output;
    int64_t bytes;
    *status = gsa_output_open(system, path, &output, error);
    if (*status == GSA_OK) {
        *status = gsa_write_picture(system, picture, format, output, error);
        if (*status == GSA_OK) *status = gsa_output_commit(output, error);
        else gsa_output_abandon(output);
    }
    if (gsa_read_file(NULL, path, 1 << 28, &data, &bytes, NULL) != GSA_OK)
        ck_abort_msg("%s is gone", path);
    unlink(path);
    if (*status == GSA_OK) return data;
    ck_assert_int_eq(bytes, 0); /* nothing was half-written */
    free(data);
    return NULL;
}

static char *must(const gsa_picture *picture, int format)
{
    gsa_status status;
    gsa_error error = { GSA_OK, "" };
    char *data = written(NULL, picture, format, &status, &error);
    ck_assert_msg(data != NULL, "%s", error.text);
    return data;
}

static void expect_data(const char *document, const char *key, int nth, const char *wanted)
{
    char *found = xml_data(document, key, nth);
    ck_assert_msg(found && strcmp(found, wanted) == 0, "%s number %d is '%s', expected '%s'", key,
                  nth, found ? found : "(none)", wanted);
    free(found);
}

/* ---- an encoder and a decoder -------------------------------------------------------------- */

static const struct {
    const char *label, *kind, *stack;
    int level;
} nodes[] = {
    { "\xe4\xbd\xa0", "encoder.token", "encoder", -1 },
    { "<b>", "encoder.token", "encoder", -1 },
    { "\xf0\x9f\x98\x80\"", "encoder.token", "encoder", -1 },
    { "span 0", "encoder.span", "encoder", 1 },
    { "token 0", "decoder.token", "decoder", -1 },
    { "token 1", "decoder.token", "decoder", -1 },
};
static const struct {
    int from, to, phase, layer, head_from, head_to;
    const char *name;
} edges[] = {
    { 0, 3, 0, 0, -1, -1, "up" },   { 1, 3, 0, 0, -1, -1, "up" }, { 2, 3, 0, 0, -1, -1, "up" },
    { 3, 3, 0, 0, -1, -1, "up" },   { 0, 3, 0, 1, -1, -1, "up" }, { 1, 3, 0, 1, -1, -1, "up" },
    { 2, 3, 0, 1, -1, -1, "up" },   { 3, 3, 0, 1, -1, -1, "up" }, { 4, 4, 0, 0, -1, -1, "self" },
    { 5, 5, 0, 0, -1, -1, "self" }, { 2, 4, 1, 0, 0, 0, "read" }, { 2, 4, 1, 0, 0, 1, "read" },
    { 2, 5, 1, 0, 0, 0, "read" },   { 2, 5, 1, 0, 0, 1, "read" },
};

START_TEST(a_decoder_reads_the_encoders_nodes)
{
    made m;
    int64_t count, layers;
    make(&m);
    char *data = must(&m.picture, GSA_FORMAT_GRAPHML);
    ck_assert_int_eq(xml_count(data, "node"), GSA_COUNT(nodes));
    for (int i = 0; i < GSA_COUNT(nodes); i++) {
        char level[16];
        snprintf(level, sizeof level, "%d", nodes[i].level);
        expect_data(data, "v_label", i, nodes[i].label);
        expect_data(data, "v_kind", i, nodes[i].kind);
        expect_data(data, "v_stack", i, nodes[i].stack);
        expect_data(data, "v_level", i, level);
    }
    xml_edge *found = xml_edges(data, &count);
    double *layer = xml_numbers(data, "e_layer", &layers);
    ck_assert_int_eq(count, GSA_COUNT(edges));
    ck_assert_int_eq(layers, count);
    for (int i = 0; i < GSA_COUNT(edges); i++) {
        ck_assert_msg(found[i].from == edges[i].from && found[i].to == edges[i].to &&
                          found[i].phase == edges[i].phase && layer[i] == edges[i].layer &&
                          found[i].head_from == edges[i].head_from &&
                          found[i].head_to == edges[i].head_to,
                      "edge %d", i);
        expect_data(data, "e_interaction", i, edges[i].name);
    }
    expect_data(data, "g_topology", 0, "tree,reader");
    expect_data(data, "g_spec", 0, "tree*2 & reader");
    expect_data(data, "g_length", 0, "5");
    free(layer), free(found), free(data);
    release(&m);
}
END_TEST

START_TEST(a_memory_that_is_not_bound_has_its_own_nodes)
{
    made m;
    make(&m);
    m.stack[1].name = NULL, m.stack[1].memory = -1, m.stack[1].memory_text = words;
    m.sheet[2].stack = 0;
    m.picture = (gsa_picture){ NULL, &m.stack[1], &m.sheet[2], 1, 1 };
    char *data = must(&m.picture, GSA_FORMAT_GRAPHML);
    ck_assert_int_eq(xml_count(data, "node"), 5);
    expect_data(data, "v_label", 1, "<b>");
    expect_data(data, "v_kind", 1, "memory");
    expect_data(data, "v_label", 3, "token 0");
    expect_data(data, "v_kind", 3, "token");
    expect_data(data, "v_stack", 3, "");
    expect_data(data, "g_spec", 0, "reader");
    free(data);
    release(&m);
}
END_TEST

START_TEST(patterns_of_one_layer_are_told_apart)
{
    static const char *const names[] = { "tree.up", "tree2.up" };
    static const char *const phases[] = { "0", "1" };
    made m;
    make(&m);
    m.sheet[1].layer = 0;
    m.picture = (gsa_picture){ NULL, m.stack, m.sheet, 1, 2 };
    char *data = must(&m.picture, GSA_FORMAT_GRAPHML);
    for (int i = 0; i < 8; i++) {
        expect_data(data, "e_interaction", i, names[i / 4]);
        expect_data(data, "e_phase", i, phases[i / 4]);
        expect_data(data, "e_layer", i, "0");
    }
    expect_data(data, "v_kind", 0, "token"); /* one stack: no prefix */
    free(data);
    release(&m);
}
END_TEST

/* ---- weights ------------------------------------------------------------------------------- */

static const double up[] = { 0.5, 0.25, 0.125, 0.125, 0.375, 0.625, 0, 0 }, self[] = { 1, 1, 1, 1 },
                    reading[] = { 1. / 3, 2. / 3, 1e-30, 1 };
static const double *const of_tree[] = { up }, *const of_reader[] = { self, reading };

static void weigh(made *m)
{
    m->sheet[1].weights = of_tree;
    m->sheet[2].weights = of_reader;
}

static const char golden_dot[] =
    "digraph \"tree,reader\" {\n"
    "  graph [spec=\"tree*2 &amp; reader\", length=5, heads=2];\n"
    "  n0 [label=\"\xe4\xbd\xa0\", kind=\"encoder.token\", index=0, stack=\"encoder\"];\n"
    "  n1 [label=\"<b>\", kind=\"encoder.token\", index=1, stack=\"encoder\"];\n"
    "  n2 [label=\"\xf0\x9f\x98\x80\\\"\", kind=\"encoder.token\", index=2, stack=\"encoder\"];\n"
    "  n3 [label=\"span 0\", kind=\"encoder.span\", index=0, level=1, first=0, last=2, "
    "stack=\"encoder\"];\n"
    "  n4 [label=\"token 0\", kind=\"decoder.token\", index=0, stack=\"decoder\"];\n"
    "  n5 [label=\"token 1\", kind=\"decoder.token\", index=1, stack=\"decoder\"];\n"
#define EDGE(from, to, name, k, heads, layer, w, w0, w1)                                           \
    "  n" from " -> n" to " [interaction=\"" name "\", label=\"\", rel=0, k=" k heads              \
    ", layer=" layer ", weight=" w ", w0=" w0 ", w1=" w1 "];\n"
    EDGE("0", "3", "up", "0", "", "0", "1", "1", "1")
        EDGE("1", "3", "up", "1", "", "0", "1", "1", "1")
            EDGE("2", "3", "up", "2", "", "0", "1", "1", "1")
                EDGE("3", "3", "up", "3", "", "0", "1", "1", "1") EDGE("0", "3", "up", "0", "", "1",
                                                                       "0.375", "0.5", "0.25")
                    EDGE("1", "3", "up", "1", "", "1", "0.125", "0.125", "0.125")
                        EDGE("2", "3", "up", "2", "", "1", "0.5", "0.375", "0.625")
                            EDGE("3", "3", "up", "3", "", "1", "0", "0", "0")
                                EDGE("4", "4", "self", "0", "", "0", "1", "1", "1")
                                    EDGE("5", "5", "self", "0", "", "0", "1", "1", "1")
                                        EDGE("2", "4", "read", "0", ", head_from=0, head_to=0", "0",
                                             "0.333333333", "0.333333333", "0")
                                            EDGE("2", "4", "read", "0", ", head_from=0, head_to=1",
                                                 "0", "0.666666667", "0", "0.666666667")
                                                EDGE("2", "5", "read", "0",
                                                     ", head_from=0, head_to=0", "0", "1e-30",
                                                     "1e-30", "0") EDGE("2", "5", "read", "0",
                                                                        ", head_from=0, head_to=1",
                                                                        "0", "1", "0", "1") "}\n";

static const char golden_mtx[] =
    "%%MatrixMarket matrix coordinate real general\n"
    "% tree,reader, length 5, 14 edges; row = destination, column = source\n"
    "6 6 8\n"
    "4 1 1.375\n4 2 1.125\n4 3 1.5\n4 4 1\n5 5 1\n5 3 1\n6 6 1\n6 3 1\n";

static void compare_with_golden(void)
{
    made m;
    int64_t count;
    make(&m);
    weigh(&m);
    char *dot = must(&m.picture, GSA_FORMAT_DOT), *mtx = must(&m.picture, GSA_FORMAT_MTX);
    char *graphml = must(&m.picture, GSA_FORMAT_GRAPHML);
    ck_assert_str_eq(dot, golden_dot);
    ck_assert_str_eq(mtx, golden_mtx);
    expect_data(graphml, "e_weight", 4, "0.375");
    expect_data(graphml, "e_w0", 10, "0.333333333");
    expect_data(graphml, "e_w1", 10, "0");
    expect_data(graphml, "e_w1", 12, "0");
    expect_data(graphml, "e_w0", 12, "1e-30");
    double *numbers = xml_numbers(graphml, "e_w2", &count);
    ck_assert_int_eq(count, 0);
    free(numbers), free(dot), free(mtx), free(graphml);
    release(&m);
}

START_TEST(weights_stand_on_the_edges)
{
    compare_with_golden();
}
END_TEST

START_TEST(a_decimal_comma_changes_nothing)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "" };
    for (int i = 0; i < GSA_COUNT(names); i++)
        if (setlocale(LC_ALL, names[i])) compare_with_golden(); /* else it is not installed here */
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(a_phase_without_weights_is_not_drawn)
{
    static const double *const only_read[] = { NULL, reading };
    made m;
    int64_t count;
    make(&m);
    m.sheet[2].weights = only_read;
    m.stack[1].memory = -1;
    m.sheet[2].stack = 0;
    m.picture = (gsa_picture){ NULL, &m.stack[1], &m.sheet[2], 1, 1 };
    char *data = must(&m.picture, GSA_FORMAT_GRAPHML);
    xml_edge *found = xml_edges(data, &count);
    ck_assert_int_eq(count, 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(found[i].phase, 1);
    free(found), free(data);
    release(&m);
}
END_TEST

/* ---- random patterns, two layers, random weights: against the runs, expanded by another function
 * ---- */

typedef struct expected {
    const gsa_toy *toy;
    const gsa_instance *instance;
    const double *const *weights;
    int heads;
} expected;

static int64_t first_node(const expected *x, int kind)
{
    int64_t first = 0;
    for (int k = 0; k < kind; k++) first += gsa_instance_nodes(x->instance, k);
    return first;
}

/* What node, over all kinds, an index of a phase's space is. */
static int64_t node_of(const expected *x, uint64_t kinds, int64_t index, int scale)
{
    for (int k = 0; k < x->toy->kinds; k++) {
        const int64_t rows = kinds >> k & 1 ? gsa_instance_nodes(x->instance, k) * scale : 0;
        if (index < rows) return first_node(x, k) + index / scale;
        index -= rows;
    }
    return -1;
}

/* Compares one phase of one layer with the file's edges from `at` on; returns where the next
 * begins. */
static int64_t compare_phase(const expected *x, int phase, int layer, const xml_edge *edge,
                             const double *layers, double *const *w, const double *mean, int64_t at,
                             int64_t *wrong)
{
    const gsa_phase *p = &x->toy->phase[phase];
    const int scale = p->per_head ? x->heads : 1, columns = p->per_head ? 1 : x->heads;
    gsa_edges e;
    gsa_instance_edges(x->instance, phase, &e);
    int32_t *sources = malloc((size_t)e.edge_total * 4 + 4),
            *labels = malloc((size_t)e.edge_total * 4 + 4);
    gsa_edges_expand(&e, sources, labels, NULL);
    for (int64_t row = 0; row < e.rows; row++)
        for (int64_t i = e.edge_offset[row]; i < e.edge_offset[row + 1]; i++, at++) {
            double sum = 0;
            for (int h = 0; h < x->heads; h++) {
                const double own = !p->per_head       ? x->weights[phase][i * columns + h]
                                   : row % scale == h ? x->weights[phase][i]
                                                      : 0;
                sum += own;
                *wrong += !(fabs(w[h][at] - own) <= 5e-9 * fabs(own));
            }
            if (!p->per_head) sum /= x->heads;
            *wrong += !(fabs(mean[at] - sum) <= 6e-9 * fabs(sum)) || layers[at] != layer ||
                      edge[at].phase != phase || edge[at].label != labels[i] ||
                      edge[at].to != node_of(x, p->destinations, row, scale) ||
                      edge[at].from != node_of(x, p->sources, sources[i], scale);
        }
    free(sources), free(labels);
    return at;
}

START_TEST(random_weights_are_read_back)
{
    int64_t wrong = 0, seen = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        gsa_toy toy;
        gsa_schema *schema;
        gsa_instance *instance;
        gsa_dice dice = { seed };
        double *weights[6] = { NULL }, *w[3];
        int64_t count = 0, numbers;
        const int heads = (int)(seed % 3) + 1;
        const gsa_example example = gsa_toy_example((int32_t)(seed % 5), 2, heads);
        gsa_toy_make(&toy, seed);
        ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &toy, &schema, NULL), GSA_OK);
        ck_assert_int_eq(gsa_instance_create(NULL, schema, &gsa_random_toy, &toy, &example, NULL, 0,
                                             &instance, NULL),
                         GSA_OK);
        for (int p = 0; p < toy.phases; p++) {
            gsa_edges e;
            gsa_instance_edges(instance, p, &e);
            weights[p] = malloc((size_t)(e.edge_total * heads + 1) * sizeof(double));
            for (int64_t i = 0; i < e.edge_total * heads; i++) weights[p][i] = gsa_unit(&dice);
        }
        const gsa_picture_stack stack = { .memory = -1 };
        gsa_picture_sheet sheets[2] = {
            { .instance = instance, .schema = schema, .weights = (const double *const *)weights }
        };
        sheets[1] = sheets[0], sheets[1].layer = 4;
        const gsa_picture picture = { NULL, &stack, sheets, 1, 2 };
        char *data = must(&picture, GSA_FORMAT_GRAPHML);
        xml_edge *edge = xml_edges(data, &count);
        double *mean = xml_numbers(data, "e_weight", &numbers),
               *layers = xml_numbers(data, "e_layer", &numbers);
        for (int h = 0; h < heads; h++) {
            w[h] = xml_numbers(data, (const char *[]){ "e_w0", "e_w1", "e_w2" }[h], &numbers);
            wrong += numbers != count;
        }
        const expected x = { &toy, instance, (const double *const *)weights, heads };
        int64_t at = 0;
        for (int s = 0; s < 2; s++)
            for (int p = 0; p < toy.phases; p++)
                if (toy.phase[p].when == GSA_EACH_LAYER && toy.phase[p].aggregate != GSA_NONE)
                    at = compare_phase(&x, p, s ? 4 : 0, edge, layers, w, mean, at, &wrong);
        wrong += at != count;
        seen += count;
        for (int h = 0; h < heads; h++) free(w[h]);
        for (int p = 0; p < toy.phases; p++) free(weights[p]);
        free(mean), free(layers), free(edge), free(data);
        gsa_instance_release(instance);
        gsa_schema_release(schema);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(seen, 1000);
}
END_TEST

/* ---- what does not fit together ------------------------------------------------------------ */

static const double not_finite[] = { 0.5, 0.25, NAN, 0, 0, 0, 0, 0 };
static const double *const of_nan[] = { not_finite };

static void no_sheet(made *m)
{
    m->picture.n_sheets = 0;
}
static void many_sheets(made *m)
{
    m->picture.n_sheets = GSA_MAX_SHEETS + 1;
}
static void no_stack(made *m)
{
    m->picture.n_stacks = 0;
}
static void unnamed(made *m)
{
    m->stack[1].name = "";
}
static void same_name(made *m)
{
    m->stack[1].name = "encoder";
}
static void own_memory(made *m)
{
    m->stack[1].memory = 1;
}
static void far_memory(made *m)
{
    m->stack[1].memory = 2;
}
static void far_stack(made *m)
{
    m->sheet[2].stack = 2;
}
static void below_layer(made *m)
{
    m->sheet[1].layer = -1;
}
static void wrong_schema(made *m)
{
    m->sheet[1].schema = m->schema[READER];
}
static void wrong_start(made *m)
{
    m->sheet[1] = sheet_of(m, OTHER, 0, 1);
}
static void wrong_count(made *m)
{
    m->sheet[1] = sheet_of(m, TWO, 0, 1);
}
static void wrong_length(made *m)
{
    m->sheet[1] = sheet_of(m, READER, 0, 1);
}
static void no_encoder(made *m)
{
    m->sheet[0] = m->sheet[1] = m->sheet[2];
}
static void bad_weight(made *m)
{
    m->sheet[1].weights = of_nan;
}
static void bad_name(made *m)
{
    m->stack[0].name = "en\x01";
}
static void bad_memory_text(made *m)
{
    static const gsa_slice texts[] = { { "a", 1 }, { "\xff", 1 }, { "b", 1 } };
    m->stack[1].memory = -1, m->stack[1].memory_text = texts;
}
static void short_memory(made *m)
{
    m->sheet[0] = m->sheet[1] = sheet_of(m, READER, 0, 0); /* a sequence of 2, a memory of 3 */
}

static const struct {
    void (*spoil)(made *);
    gsa_status status;
    const char *sentence;
} refusals[] = {
    { no_sheet, GSA_ERR_ARGUMENT, "without a sheet" },
    { many_sheets, GSA_ERR_LIMIT, "a picture of 16385 sheets" },
    { no_stack, GSA_ERR_ARGUMENT, "sheet 0 is in layer 0 of stack 0" },
    { unnamed, GSA_ERR_ARGUMENT, "stack 1 of 2 has no name" },
    { same_name, GSA_ERR_ARGUMENT, "stacks 0 and 1 are both named 'encoder'" },
    { own_memory, GSA_ERR_ARGUMENT, "stack 1 reads the sequence of stack 1" },
    { far_memory, GSA_ERR_ARGUMENT, "stack 1 reads the sequence of stack 2" },
    { far_stack, GSA_ERR_ARGUMENT, "sheet 2 is in layer 0 of stack 2" },
    { below_layer, GSA_ERR_ARGUMENT, "sheet 1 is in layer -1" },
    { wrong_schema, GSA_ERR_ARGUMENT, "another schema than 'reader'" },
    { wrong_start, GSA_ERR_ARGUMENT,
      "stack 'encoder', layer 0 (tree) and stack 'encoder', layer 1 (other) both have a kind "
      "'span'" },
    { wrong_count, GSA_ERR_ARGUMENT,
      "kind 'span' has 1 nodes in stack 'encoder', layer 0 (tree), but 2 in" },
    { wrong_length, GSA_ERR_ARGUMENT,
      "stack 'encoder', layer 0 (tree) has length 3, but stack 'encoder', layer 1 (reader) has 2" },
    { no_encoder, GSA_ERR_ARGUMENT, "stack 'encoder' is read, but no sheet draws it" },
    { short_memory, GSA_ERR_ARGUMENT,
      "reads a memory of 3 nodes, but the sequence of stack 'encoder' has 2" },
    { bad_weight, GSA_ERR_NUMBER,
      "layer 1, phase up: the weight of edge 1 is not a finite number" },
    { bad_name, GSA_ERR_FORMAT, "the name of stack 0: byte 2" },
    { bad_memory_text, GSA_ERR_FORMAT, "memory token 2: byte 0" },
};

START_TEST(what_does_not_fit_has_its_sentence)
{
    for (int format = 0; format <= GSA_FORMAT_CSV; format++) {
        made m;
        gsa_status status;
        gsa_error error = { GSA_OK, "" };
        make(&m);
        refusals[_i].spoil(&m);
        ck_assert_ptr_null(written(NULL, &m.picture, format, &status, &error));
        ck_assert_msg(status == refusals[_i].status &&
                          strstr(error.text, refusals[_i].sentence) != NULL,
                      "status %d, '%s', expected '%s'", status, error.text, refusals[_i].sentence);
        release(&m);
    }
}
END_TEST

static gsa_status write_once(gsa_faults *faults, void *context)
{
    made m;
    gsa_status status;
    gsa_error error = { GSA_OK, "" };
    make(&m);
    weigh(&m);
    char *data = written(&faults->table, &m.picture, *(int *)context, &status, &error);
    ck_assert((data != NULL) == (status == GSA_OK) && (data || error.text[0]));
    free(data);
    release(&m);
    return status;
}

START_TEST(a_fault_leaves_nothing_half_written)
{
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, write_once, &_i), 4);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test stacks[] = { GSA_TEST(a_decoder_reads_the_encoders_nodes),
                                       GSA_TEST(a_memory_that_is_not_bound_has_its_own_nodes),
                                       GSA_TEST(patterns_of_one_layer_are_told_apart) };
    static const gsa_test weights[] = { GSA_TEST(weights_stand_on_the_edges),
                                        GSA_TEST(a_decimal_comma_changes_nothing),
                                        GSA_TEST(a_phase_without_weights_is_not_drawn),
                                        GSA_TEST(random_weights_are_read_back) };
    static const gsa_test refused[] = { GSA_LOOP(what_does_not_fit_has_its_sentence,
                                                 GSA_COUNT(refusals)) };
    static const gsa_test faults[] = { GSA_LOOP(a_fault_leaves_nothing_half_written, 4) };
    static const gsa_case cases[] = { GSA_CASE("stacks", stacks, 30),
                                      GSA_CASE("weights", weights, 60),
                                      GSA_CASE("refused", refused, 30),
                                      GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("sheets", cases, GSA_COUNT(cases), argc, argv);
}
