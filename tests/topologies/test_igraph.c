/* The pictures of the built-in topologies, read back by igraph: the same nodes, edges, labels and
 * names, and the same graphs as igraph's own generators make. One thread; igraph's attribute table
 * is set before the first graph. */
#include <igraph/igraph.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/write.h"
#include "naive.h"
#include "support/suite.h"
#include "topologies/spec.h"

static int warnings; /* of igraph, in this test's process */
static void on_warning(const char *reason, const char *file, int line)
{
    fprintf(stderr, "igraph warns: %s (%s:%d)\n", reason, file, line);
    warnings++;
}

static void start_igraph(void)
{
    igraph_set_error_handler(igraph_error_handler_printignore);
    igraph_set_warning_handler(on_warning);
    igraph_set_attribute_table(&igraph_cattribute_table);
}

typedef struct drawn { /* a pattern's picture: what was written, and what igraph read */
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_instance *instance;
    igraph_t graph;
} drawn;

static const char *const hostile[] = { "plain",
                                       "",
                                       "<&>\"'",
                                       "]]>",
                                       "<!--",
                                       "-->",
                                       "&amp;",
                                       "&#0;",
                                       "a\tb",
                                       "a\nb",
                                       "a\r\nb\rc",
                                       "  two  ",
                                       " ",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xd7\xa9\xd7\x9c",
                                       "\xe2\x80\xae xyz",
                                       "e\xcc\x81",
                                       "\xef\xbf\xbd",
                                       "%s%n",
                                       "n0",
                                       "<node id=\"n0\"/>",
                                       "\x7f",
                                       "\xc2\x85",
                                       "\xc2\xa0",
                                       "\\",
                                       "{}" };

static void read_back(drawn *d, const char *path)
{
    FILE *in = fopen(path, "rb");
    ck_assert_ptr_nonnull(in);
    const igraph_error_t code = igraph_read_graph_graphml(&d->graph, in, 0);
    ck_assert_msg(code == IGRAPH_SUCCESS, "igraph: %s", igraph_strerror(code));
    fclose(in);
    unlink(path);
    ck_assert_int_eq(warnings, 0);
}

static drawn draw(const char *text, int32_t n, const gsa_slice *tokens)
{
    drawn d;
    gsa_stack_spec spec;
    gsa_output *output;
    gsa_error error = { 0 };
    char path[] = "/tmp/gsa-picture-XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_OK);
    const gsa_part_spec *part = &spec.segments[0].parts[0];
    ck_assert_int_eq(gsa_registry_create(NULL, &d.registry, &error), GSA_OK);
    ck_assert_msg(gsa_pattern_create(d.registry, part->id, part->settings, part->n_settings,
                                     &d.pattern, &error) == GSA_OK,
                  "%s", error.text);
    gsa_spec_release(&spec);
    const gsa_example example = {
        .struct_size = sizeof example, .length = n, .heads = 2, .text = tokens
    };
    ck_assert_msg(gsa_pattern_instance(d.pattern, NULL, &example, NULL, 1, &d.instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    const gsa_picture_stack stack = { .text = tokens, .memory = -1 };
    const gsa_picture_sheet sheet = { .instance = d.instance,
                                      .schema = gsa_pattern_schema(d.pattern),
                                      .topology = gsa_pattern_topology(d.pattern),
                                      .self = gsa_pattern_self(d.pattern) };
    const gsa_picture picture = { gsa_pattern_text(d.pattern), &stack, &sheet, 1, 1 };
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, &error), GSA_OK);
    ck_assert_msg(gsa_write_picture(NULL, &picture, GSA_FORMAT_GRAPHML, output, &error) == GSA_OK,
                  "%s", error.text);
    ck_assert_msg(gsa_output_commit(output, &error) == GSA_OK, "%s", error.text);
    read_back(&d, path);
    return d;
}

static void end(drawn *d)
{
    igraph_destroy(&d->graph);
    gsa_instance_release(d->instance);
    gsa_pattern_release(d->pattern);
    gsa_registry_release(d->registry);
}

/* ---- pictures ------------------------------------------------------------------------------ */

static const struct {
    const char *spec;
    naive_pattern *naive;
    int parameters[3];
    int first_node[3]; /* where each kind's nodes start, in units of n */
} pictures[] = {
    { "full", naive_full, { 0, 0 }, { 0 } },
    { "full:causal", naive_full, { 1, 0 }, { 0 } },
    { "full:clip=2", naive_full, { 0, 2 }, { 0 } },
    { "full:causal:clip=3", naive_full, { 1, 3 }, { 0 } },
    { "ring", naive_ring, { 1 }, { 0 } },
    { "ring:cyclic=0", naive_ring, { 0 }, { 0 } },
    { "window:width=5", naive_window, { 5, 0 }, { 0 } },
    { "window:width=3:causal", naive_window, { 3, 1 }, { 0 } },
    { "star", naive_star, { 1, 1, 1 }, { 0, 1, 2 } },
    { "star:cyclic=0", naive_star, { 1, 1, 0 }, { 0, 1, 2 } },
    { "star:radial=0", naive_star, { 0, 1, 1 }, { 0, 1, 2 } },
    { "star:ring=0", naive_star, { 1, 0, 1 }, { 0, 1, 2 } },
};
static const int32_t lengths[] = { 0, 1, 2, 3, 4, 7, 28, 60 };

static void check_nodes(const drawn *d, int32_t n, const gsa_slice *tokens)
{
    const gsa_schema *schema = gsa_pattern_schema(d->pattern);
    igraph_integer_t at = 0;
    for (int kind = 0; kind < gsa_schema_kinds(schema); kind++)
        for (int64_t i = 0; i < gsa_instance_nodes(d->instance, kind); i++, at++) {
            const int start = gsa_schema_kind(schema, kind)->start;
            char label[64];
            snprintf(label, sizeof label, "%s %" PRId64, gsa_schema_kind(schema, kind)->name, i);
            if (tokens && (start == GSA_INPUT || start == GSA_COPY))
                snprintf(label, sizeof label, "%.*s", (int)tokens[i].bytes, tokens[i].at);
            ck_assert_str_eq(VAS(&d->graph, "label", at), label);
            ck_assert_str_eq(VAS(&d->graph, "kind", at), gsa_schema_kind(schema, kind)->name);
            ck_assert_double_eq(VAN(&d->graph, "index", at), (double)i);
        }
    ck_assert_int_eq(igraph_vcount(&d->graph), at);
    ck_assert_double_eq(GAN(&d->graph, "length"), n);
    ck_assert_str_eq(GAS(&d->graph, "spec"), gsa_pattern_text(d->pattern));
    ck_assert_str_eq(GAS(&d->graph, "topology"), gsa_pattern_topology(d->pattern)->id);
}

static void check_edges(const drawn *d, int32_t n, const naive_list *list, const int *first_node)
{
    const gsa_topology *topology = gsa_pattern_topology(d->pattern);
    ck_assert_int_eq(igraph_ecount(&d->graph), list->count);
    ck_assert(igraph_is_directed(&d->graph));
    for (igraph_integer_t e = 0; e < list->count; e++) {
        const naive_edge *want = &list->edges[e];
        const char *phase = gsa_schema_phase(gsa_pattern_schema(d->pattern), want->phase)->name;
        const int star = strcmp(topology->id, "star") == 0, to_kind = star ? 1 + want->phase : 0;
        igraph_integer_t from, to;
        char name[64] = "";
        if (topology->label)
            topology->label(gsa_pattern_self(d->pattern), want->phase, want->label, name,
                            sizeof name);
        igraph_edge(&d->graph, e, &from, &to);
        ck_assert_int_eq(from, first_node[want->from_kind] * n + want->from);
        ck_assert_int_eq(to, first_node[to_kind] * n + want->to);
        ck_assert_double_eq(EAN(&d->graph, "rel", e), want->label);
        ck_assert_str_eq(EAS(&d->graph, "label", e), name);
        ck_assert_str_eq(EAS(&d->graph, "interaction", e), phase);
        ck_assert_double_eq(EAN(&d->graph, "phase", e), want->phase);
    }
}

START_TEST(nodes_edges_labels_and_names_come_back)
{
    start_igraph();
    for (int l = 0; l < 2 * GSA_COUNT(lengths); l++) {
        const int32_t n = lengths[l / 2];
        gsa_slice tokens[60];
        naive_list list = { 0 };
        for (int i = 0; i < 60; i++) {
            const char *token = hostile[(i + l) % GSA_COUNT(hostile)];
            tokens[i] = (gsa_slice){ token, (int64_t)strlen(token) };
        }
        drawn d = draw(pictures[_i].spec, n, l % 2 ? tokens : NULL);
        pictures[_i].naive(&list, n, pictures[_i].parameters);
        check_nodes(&d, n, l % 2 ? tokens : NULL);
        check_edges(&d, n, &list, pictures[_i].first_node);
        naive_release(&list);
        end(&d);
    }
}
END_TEST

START_TEST(a_star_of_length_n_has_6n_plus_1_edges)
{
    start_igraph();
    for (int32_t n = 1; n < 50; n++) {
        drawn d = draw("star", n, NULL);
        ck_assert_int_eq(igraph_ecount(&d.graph), 6 * n + 1);
        ck_assert_int_eq(igraph_vcount(&d.graph), 2 * n + 1);
        end(&d);
    }
}
END_TEST

/* ---- generators ---------------------------------------------------------------------------- */

typedef void generator(igraph_t *graph, int32_t n);
static void make_ring(igraph_t *graph, int32_t n)
{
    igraph_ring(graph, n, 1, 1, 1);
}
static void make_path(igraph_t *graph, int32_t n)
{
    igraph_ring(graph, n, 1, 1, 0);
}
static void make_full(igraph_t *graph, int32_t n)
{
    igraph_full(graph, n, 1, 0);
}
static void make_order(igraph_t *graph, int32_t n)
{
    igraph_full_citation(graph, n, 1);
}
static void make_wheel(igraph_t *graph, int32_t n)
{
    igraph_wheel(graph, n + 1, IGRAPH_WHEEL_MUTUAL, n);
}
static void make_spokes(igraph_t *graph, int32_t n)
{
    igraph_star(graph, n + 1, IGRAPH_STAR_MUTUAL, n);
}
static void make_window_5(igraph_t *graph, int32_t n) /* a path in which two steps are one edge */
{
    igraph_ring(graph, n, 0, 0, 0);
    igraph_connect_neighborhood(graph, 2, IGRAPH_ALL);
    igraph_to_directed(graph, IGRAPH_TO_DIRECTED_MUTUAL);
}

static const struct {
    const char *spec;
    generator *make;
    int32_t first; /* the smallest n for which igraph means the same */
    int drop;      /* the first n nodes (star's constant sources) are left out */
} generators[] = {
    { "ring", make_ring, 3, 0 },
    { "ring:cyclic=0", make_path, 1, 0 },
    { "full", make_full, 1, 0 },
    { "full:clip=3", make_full, 1, 0 },
    { "full:causal", make_order, 1, 0 },
    { "window:width=3", make_path, 1, 0 },
    { "window:width=5", make_window_5, 3, 0 },
    { "window:width=1001", make_full, 1, 0 },
    { "window:width=1001:causal", make_order, 1, 0 },
    { "star", make_wheel, 4, 1 },
    { "star:ring=0", make_spokes, 1, 1 },
    { "star:radial=0", make_ring, 3, 1 },
    { "star:radial=0:cyclic=0", make_path, 1, 1 },
};

/* Self loops aside, which every pattern here has and no generator makes. */
START_TEST(patterns_are_the_graphs_that_igraph_generates)
{
    start_igraph();
    for (int32_t n = generators[_i].first; n < 24; n++) {
        drawn d = draw(generators[_i].spec, n, NULL);
        igraph_t expected;
        igraph_vs_t sources;
        igraph_bool_t equal = 0;
        igraph_vs_range(&sources, 0, generators[_i].drop ? n : 0);
        igraph_delete_vertices(&d.graph, sources);
        igraph_simplify(&d.graph, 0, 1, NULL);
        generators[_i].make(&expected, n);
        ck_assert_int_eq(igraph_isomorphic(&d.graph, &expected, &equal), IGRAPH_SUCCESS);
        ck_assert_msg(equal, "%s of length %d is not what igraph generates", generators[_i].spec,
                      n);
        igraph_destroy(&expected);
        end(&d);
    }
}
END_TEST

static const gsa_test picture_tests[] = { GSA_LOOP(nodes_edges_labels_and_names_come_back,
                                                   GSA_COUNT(pictures)),
                                          GSA_TEST(a_star_of_length_n_has_6n_plus_1_edges) };
static const gsa_test generator_tests[] = { GSA_LOOP(patterns_are_the_graphs_that_igraph_generates,
                                                     GSA_COUNT(generators)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("pictures", picture_tests, 120),
                                      GSA_CASE("generators", generator_tests, 120) };
    return gsa_run_suite("igraph", cases, GSA_COUNT(cases), argc, argv);
}
