/* Pictures read back: every attribute of every built-in, refusals, statistics by hand, and the
 * graphs that igraph generates. */
#include <igraph/igraph.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "drawn.h"
#include "graph/inspect/graphml_size.h"
#include "support/faults.h"
#include "support/suite.h"

/* ---- attributes ---------------------------------------------------------------------------- */

static const char *const specs[] = { "full:clip=2",
                                     "ring",
                                     "window:width=5",
                                     "star",
                                     "star:cyclic=0",
                                     "bpt:k=1",
                                     "bpt:k=2:causal=1",
                                     "head_area:width=3:heads=3",
                                     "longformer",
                                     "bigbird",
                                     "strided:heads=split",
                                     "dilated",
                                     "cross",
                                     "char_word:lexicon=LEXICON",
                                     "char_word:lexicon=LEXICON:residual=1",
                                     "char_word:local=adjacent" };
static const int32_t lengths[] = { 0, 1, 2, 3, 21, 42 };

static void check_nodes(const drawn *d, int with_text)
{
    const gsa_schema *schema = gsa_pattern_schema(d->pattern);
    int32_t at = 0;
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(d->instance, k); i++, at++) {
            const gsa_kind *kind = gsa_schema_kind(schema, k);
            const gsa_view_node *node = &d->view->node[at];
            const gsa_place place = gsa_instance_place(d->instance, k, i);
            char label[128];
            snprintf(label, sizeof label, "%s %d", kind->name, (int)i);
            if (with_text && (kind->start == GSA_INPUT || kind->start == GSA_COPY))
                snprintf(label, sizeof label, "%s", drawn_token(i).at);
            ck_assert_str_eq(node->label, label);
            ck_assert_str_eq(d->view->kinds.at[node->kind], kind->name);
            ck_assert_int_eq(node->index, i);
            ck_assert_int_eq(node->level, place.level);
            ck_assert_int_eq(node->first, place.level < 0 ? -1 : place.first);
            ck_assert_int_eq(node->last, place.level < 0 ? -1 : place.last);
        }
    ck_assert_int_eq(d->view->nodes, at);
}

/* Edges are in the order of phases, rows and emission; `at` counts them. */
static void check_phase(const drawn *d, int p, int64_t *at)
{
    const gsa_schema *schema = gsa_pattern_schema(d->pattern);
    const gsa_phase *phase = gsa_schema_phase(schema, p);
    const gsa_topology *topology = gsa_pattern_topology(d->pattern);
    const int32_t heads = phase->per_head ? gsa_instance_heads(d->instance) : 1;
    gsa_edges edges;
    int64_t row = 0;
    gsa_instance_edges(d->instance, p, &edges);
    for (int k = 0; k < gsa_schema_kinds(schema); k++) {
        const int64_t nodes =
            phase->destinations >> k & 1 ? gsa_instance_nodes(d->instance, k) * heads : 0;
        for (int64_t i = 0; i < nodes; i++, row++)
            for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++)
                for (int32_t j = 0; j < edges.runs[r].count; j++, ++*at) {
                    const gsa_run *run = &edges.runs[r];
                    const gsa_view_edge *edge = &d->view->edge[*at];
                    const int32_t source = run->first + j * run->step,
                                  label = run->label + j * run->label_step;
                    char name[256] = "";
                    if (topology->label)
                        topology->label(gsa_pattern_self(d->pattern), p, label, name, sizeof name);
                    ck_assert_int_eq(d->view->node[edge->from].index, source / heads);
                    ck_assert_str_eq(d->view->kinds.at[d->view->node[edge->from].kind],
                                     gsa_schema_kind(schema, run->kind)->name);
                    ck_assert_int_eq(d->view->node[edge->to].index, i / heads);
                    ck_assert_str_eq(d->view->kinds.at[d->view->node[edge->to].kind],
                                     gsa_schema_kind(schema, k)->name);
                    ck_assert_str_eq(d->view->phases.at[edge->phase], phase->name);
                    ck_assert_str_eq(d->view->labels.at[edge->label], name);
                    ck_assert_int_eq(edge->rel, label);
                    ck_assert_int_eq(edge->layer, 0);
                    ck_assert_int_eq(edge->head_to, phase->per_head ? i % heads : -1);
                    ck_assert_int_eq(edge->head_from, phase->per_head ? source % heads : -1);
                    ck_assert_double_eq(edge->weight, 1);
                }
    }
}

START_TEST(every_attribute_of_every_built_in_comes_back)
{
    for (int l = 0; l < 2 * GSA_COUNT(lengths); l++) {
        const int with_text = l % 2 || strstr(specs[_i], "LEXICON");
        drawn d = drawn_make(specs[_i], lengths[l / 2], with_text);
        const gsa_schema *schema = gsa_pattern_schema(d.pattern);
        int64_t at = 0;
        check_nodes(&d, with_text);
        for (int p = 0; p < gsa_schema_phases(schema); p++) {
            const gsa_phase *phase = gsa_schema_phase(schema, p);
            if (phase->when == GSA_EACH_LAYER && phase->aggregate != GSA_NONE)
                check_phase(&d, p, &at);
        }
        ck_assert_int_eq(d.view->edges, at);
        ck_assert_int_eq(d.view->length, lengths[l / 2]);
        ck_assert_str_eq(d.view->spec, gsa_pattern_text(d.pattern));
        ck_assert_int_eq(d.view->weighted, 0);
        ck_assert(d.view->directed && d.view->profile);
        drawn_end(&d);
    }
}
END_TEST

/* ---- foreign and broken files -------------------------------------------------------------- */

#define G "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
#define KEY(id, where, name, type)                                                                 \
    "<key id=\"" id "\" for=\"" where "\" attr.name=\"" name "\" attr.type=\"" type "\"/>"
#define DATA(key, value)  "<data key=\"" key "\">" value "</data>"
#define E(from, to, data) "<edge source=\"" from "\" target=\"" to "\">" data "</edge>"

START_TEST(a_foreign_file_is_read_too)
{
    gsa_view *v = drawn_view(G KEY("d", "node", "name", "string") KEY(
        "w", "edge", "weight",
        "double") "<graph edgedefault=\"undirected\">"
                  "<node id=\"x\">" DATA("d", "caf\xc3\xa9 &lt;1&gt;") "</node><node id=\"y\"/>" E(
                      "x", "y", DATA("w", "2.5")) E("y", "y", "") "</graph></graphml>");
    ck_assert_int_eq(v->nodes, 2);
    ck_assert_int_eq(v->edges, 2);
    ck_assert(!v->directed && !v->profile && v->weighted);
    ck_assert_str_eq(v->node[0].label, "caf\xc3\xa9 <1>");
    ck_assert_str_eq(v->kinds.at[v->node[0].kind], "node");
    ck_assert_str_eq(v->phases.at[v->edge[0].phase], "edge");
    ck_assert_double_eq(v->edge[0].weight, 2.5);
    ck_assert_double_eq(v->edge[1].weight, 0); /* absent: igraph says NaN */
    ck_assert_int_eq(v->length, -1);
    gsa_view_release(v);
    v = drawn_view(G "<graph edgedefault=\"directed\"><node id=\"first\"/></graph></graphml>");
    ck_assert_str_eq(v->node[0].label, "first");
    gsa_view_release(v);
}
END_TEST

static const struct {
    const char *text, *says;
    int status;
} broken[] = {
    { "", "is empty, expected GraphML", GSA_ERR_FORMAT },
    { "no xml", "does not begin as XML", GSA_ERR_FORMAT },
    { "<?xml version='1.0' encoding='UTF-7'?>+ADw-graphml/>", "does not begin as XML in UTF-8",
      GSA_ERR_FORMAT },
    { "\x4c\x6f\xa7\x94\x93", "does not begin as XML in UTF-8", GSA_ERR_FORMAT }, /* EBCDIC */
    { "\xef\xbb\xbf<?xml version='1.0' encoding=\"iso-8859-1\"?><svg/>", "holds no <graph>",
      GSA_ERR_FORMAT },
    { G, "Extra content at the end", GSA_ERR_FORMAT },
    { G "<graph>", "Extra content at the end", GSA_ERR_FORMAT },
    { G "<graph edgedefault=\"directed\"><node id=\"a\"></graph></graphml>", "mismatch",
      GSA_ERR_FORMAT },
    { G "<graph edgedefault=\"directed\"><node id=\"a\"/>\x02</graph></graphml>", "invalid Char",
      GSA_ERR_FORMAT },
    { G "<graph edgedefault=\"directed\"><node id=\"\xff\"/></graph></graphml>", "encod",
      GSA_ERR_FORMAT },
    { G "<graph edgedefault=\"directed\"><node/></graph></graphml>", "Node with missing ID",
      GSA_ERR_FORMAT },
    { G "<graph edgedefault=\"directed\"><edge target=\"b\"/></graph></graphml>",
      "missing source or target", GSA_ERR_FORMAT },
    { G KEY("k", "edge", "w", "list") "<graph edgedefault=\"directed\"/></graphml>",
      "Unknown attribute type 'list'", GSA_ERR_FORMAT },
    { G KEY("k", "edge", "w", "double") "<graph edgedefault=\"directed\"><node id=\"a\"/>" E(
          "a", "a", DATA("k", "one")) "</graph></graphml>",
      "Unexpected character 'o' while parsing real number", GSA_ERR_FORMAT },
    { "<svg/>", "XML that holds no <graph>, expected GraphML", GSA_ERR_FORMAT },
    { G KEY("n", "graph", "nodes", "long") "<graph edgedefault=\"directed\">" DATA(
          "n", "2") "<node id=\"a\"/>" E("a", "b", "") E("a", "c", "") "</graph></graphml>",
      "it says 2 nodes and has 3", GSA_ERR_FORMAT },
    { G KEY("n", "graph", "edges", "long") "<graph edgedefault=\"directed\">" DATA(
          "n", "2") "<node id=\"a\"/>" E("a", "a", "") "</graph></graphml>",
      "it says 2 edges and has 1", GSA_ERR_FORMAT },
};

START_TEST(a_broken_file_is_a_sentence)
{
    char path[64];
    gsa_view *view;
    gsa_error error = { 0 };
    drawn_write(path, broken[_i].text, (int64_t)strlen(broken[_i].text));
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), broken[_i].status);
    ck_assert_ptr_null(view);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, broken[_i].says),
                  "'%s' does not say '%s'", error.text, broken[_i].says);
    unlink(path);
}
END_TEST

START_TEST(many_keys_of_many_nodes_are_too_many)
{
    enum { EACH = 2200 };
    char path[64], *text = gsa_alloc(NULL, EACH, 60);
    size_t used = (size_t)sprintf(text, "<graphml>");
    for (int i = 0; i < EACH; i++) used += (size_t)sprintf(text + used, "<x0:key id='k'/>");
    for (int i = 0; i < EACH; i++) used += (size_t)sprintf(text + used, "<node id='n%d'/>", i);
    gsa_view *view;
    gsa_error error = { 0 };
    drawn_write(path, text, (int64_t)used);
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(error.text, "2200 keys of 2200 nodes and edges need 464640000 bytes"),
                  "%s", error.text);
    unlink(path);
    used =
        (size_t)sprintf(text, "<graphml><key><default/></key><key><default>%064000d</default>", 0);
    for (int i = 0; i < EACH; i++) used += (size_t)sprintf(text + used, "<edge/>");
    drawn_write(path, text, (int64_t)used);
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(error.text, "2 keys of 2200 nodes and edges need 846"), "%s", error.text);
    unlink(path);
    static const char *const begins[] = { "<default>/>", "<g:default ><!-- /> </default> -->",
                                          "<default a='/>'>", "<default><![CDATA[</default>]]>" };
    for (int b = 0; b < 4; b++) {
        used = (size_t)sprintf(text, "<graphml><key>%s%064000d</default></key>", begins[b], 0);
        for (int i = 0; i < EACH; i++) used += (size_t)sprintf(text + used, "<edge/>");
        drawn_write(path, text, (int64_t)used);
        ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), GSA_ERR_LIMIT);
        unlink(path);
    }
    drawn_write(path, "<\0g\0", 4);
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(error.text, "a zero byte, expected GraphML in UTF-8"), "%s", error.text);
    unlink(path);
    gsa_release(NULL, text);
}
END_TEST

static void expect_refusal(const char *text, size_t bytes, const char *says)
{
    char path[64];
    gsa_view *view;
    gsa_error error = { 0 };
    drawn_write(path, text, (int64_t)bytes);
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, &error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
    unlink(path);
}

/* What the scan takes a file's keys for, and whether its DTD declares anything. */
static const struct {
    const char *text;
    int64_t of_node, of_edge;
    int32_t declares;
} scanned[] = {
    { "<key for='node' attr.type='string'/>", 96, 0, 0 },
    { "<key for='edge' attr.type='string'></key>", 0, 96, 0 },
    { "<key\n\tfor = \"node\" attr.type = \"int\" />", 18, 0, 0 },
    { "<key attr.type='long' for='edge'><default>1</default></key>", 0, 18, 0 },
    { "<g:key for='node' attr.type='float'/><key for='node' attr.type='boolean'/>", 36, 0, 0 },
    { "<key for='graph' attr.type='string'/>", 0, 0, 0 },
    { "<key for='all' attr.type='double'/>", 18, 18, 0 },
    { "<key><key/><key id='k'>", 288, 288, 0 },
    { "<key for='graph' g:for='node' attr.type='int' g:attr.type='string'>", 96, 0, 0 },
    { "<key for='gr&#97;ph' attr.type='int '>", 96, 96, 0 },
    { "<key id=\"for='graph'\" for='node' attr.type='int'>", 18, 0, 0 },
    { "<key id='>' for='edge' g:for='node' attr.name='\">' attr.type='int'>", 18, 18, 0 },
    { "<key x.for='edge' format='edge' attr.types='int' for='edges' attr.type='doubles'>", 96, 96,
      0 },
    { "<!-- <key ' --><key for='node' attr.type='int'/>", 18, 0, 0 },
    { "<keys for='node'/><ke/></key>", 0, 0, 0 },
    { "<!DOCTYPE graphml><!-- a --><a><![CDATA[b]]></a>", 0, 0, 0 },
    { "<!DOCTYPE graphml SYSTEM \"http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd\">", 0, 0,
      0 },
    { "<!DOCTYPE graphml [<!ATTLIST key attr.name CDATA 'a'>]>", 0, 0, 1 },
    { "<!DOCTYPE graphml [<!ENTITY a 'a'>]>", 0, 0, 1 },
    { "<!DOCTYPE graphml SYSTEM '>' [<!ENTITY % a 'a'>]>", 0, 0, 1 },
};

START_TEST(keys_are_what_they_say)
{
    const int64_t bytes = (int64_t)strlen(scanned[_i].text);
    gsa_graphml_size whole = { .zeros = 0 }, parts = { .zeros = 0 };
    gsa_graphml_add(&whole, scanned[_i].text, bytes);
    for (int64_t i = 0; i < bytes; i++) gsa_graphml_add(&parts, scanned[_i].text + i, 1);
    ck_assert_int_eq(whole.of_node, scanned[_i].of_node);
    ck_assert_int_eq(whole.of_edge, scanned[_i].of_edge);
    ck_assert_int_eq(whole.declares, scanned[_i].declares);
    ck_assert_int_eq(parts.of_node, whole.of_node);
    ck_assert_int_eq(parts.of_edge, whole.of_edge);
    ck_assert_int_eq(parts.declares, whole.declares);
}
END_TEST

/* So many keys of the type, of nodes; then nodes, and edges between nodes that are not declared. */
static char *keyed(const char *type, int keys, int nodes, int edges, size_t *bytes)
{
    char *text = gsa_alloc(NULL, (size_t)(keys + nodes + edges) + 2, 96);
    size_t used = (size_t)sprintf(text, G);
    for (int i = 0; i < keys; i++)
        used += (size_t)sprintf(
            text + used, "<key id='k%d' for='node' attr.name='a%d' attr.type='%s'/>", i, i, type);
    used += (size_t)sprintf(text + used, "<graph edgedefault='directed'>");
    for (int i = 0; i < nodes; i++) used += (size_t)sprintf(text + used, "<node id='n%d'/>\n", i);
    for (int i = 0; i < edges; i++)
        used +=
            (size_t)sprintf(text + used, "<edge source='%c%d' target='%c%d'/>\n", nodes ? 'n' : 's',
                            nodes ? i % nodes : i, nodes ? 'n' : 't', nodes ? i / nodes : i);
    *bytes = used + (size_t)sprintf(text + used, "</graph></graphml>");
    return text;
}

/* igraph takes 80 bytes for a text that is not there, and an edge makes its two nodes. */
START_TEST(texts_and_nodes_of_edges_count)
{
    size_t bytes;
    char *text = keyed("string", 2600, 1400, 0, &bytes);
    expect_refusal(text, bytes, ": 2600 keys of 1400 nodes and edges need 349440000 bytes");
    gsa_release(NULL, text);
    text = keyed("string", 2600, 0, 700, &bytes);
    expect_refusal(text, bytes, ": 2600 keys of 700 nodes and edges need 349440000 bytes");
    gsa_release(NULL, text);
    expect_refusal("<!DOCTYPE graphml [<!ATTLIST key attr.name CDATA 'a'>]><graphml/>", 65,
                   ": its DTD declares what its tags hold (<!ATTLIST, <!ENTITY), expected");
}
END_TEST

/* A pattern's own file of some MB, and another program's: a dozen texts of a node, bare edges. */
START_TEST(ordinary_files_are_read)
{
    size_t bytes;
    drawn d = drawn_make("full", 160, 0);
    ck_assert_int_eq(d.view->edges, 160 * 160);
    drawn_end(&d);
    char *text = keyed("string", 12, 300, 60000, &bytes);
    gsa_view *view = drawn_view(text);
    ck_assert_int_eq(view->nodes, 300);
    ck_assert_int_eq(view->edges, 60000);
    gsa_view_release(view);
    gsa_release(NULL, text);
    view = drawn_view("<!DOCTYPE graphml SYSTEM 'graphml.dtd'>" G "<graph edgedefault='directed'>"
                      "<node id='a'/></graph></graphml>");
    ck_assert_int_eq(view->nodes, 1);
    gsa_view_release(view);
}
END_TEST

/* igraph looks for each key among all before it, and kinds are compared with each other. */
START_TEST(keys_and_kinds_are_few)
{
    enum { KEYS = 8193, KINDS = 1025 };
    char *text = gsa_alloc(NULL, KEYS, 64);
    size_t used = (size_t)sprintf(text, G);
    for (int i = 0; i < KEYS; i++) used += (size_t)sprintf(text + used, "<key id='k%d'/>", i);
    expect_refusal(text, used, ": it has 8193 keys, expected at most 8192");
    used = (size_t)sprintf(text, G KEY("k", "node", "kind", "string") "<graph>");
    for (int i = 0; i < KINDS; i++)
        used += (size_t)sprintf(text + used, "<node id='%d'><data key='k'>k%d</data></node>", i, i);
    used += (size_t)sprintf(text + used, "</graph></graphml>");
    expect_refusal(text, used, ": its nodes are of 1025 kinds, expected at most 1024");
    gsa_release(NULL, text);
}
END_TEST

/* 2000 weights of 2000 edges: to look for each edge's alone takes half a minute. */
START_TEST(many_weights_are_read_soon)
{
    enum { EACH = 2000 };
    char *text = gsa_alloc(NULL, EACH, 128);
    size_t used = (size_t)sprintf(text, G);
    for (int i = 0; i < EACH; i++)
        used += (size_t)sprintf(
            text + used, "<key id='w%d' for='edge' attr.name='w%d' attr.type='double'/>", i, i);
    used += (size_t)sprintf(text + used, "<graph><node id='a'/>");
    for (int i = 0; i < EACH; i++)
        used += (size_t)sprintf(
            text + used, "<edge source='a' target='a'><data key='w%d'>%d</data></edge>", i, i);
    sprintf(text + used, "</graph></graphml>");
    gsa_view *v = drawn_view(text);
    ck_assert_int_eq(v->head_weights, EACH);
    for (int i = 0; i < EACH; i++) ck_assert_double_eq(v->head_weight[i * EACH + i], i);
    gsa_view_release(v);
    gsa_release(NULL, text);
}
END_TEST

START_TEST(what_igraph_drops_is_noted)
{
    gsa_view *v = drawn_view(G "<graph edgedefault=\"directed\"><node id=\"a\">" DATA(
        "unknown", "1") "</node></graph></graphml>");
    ck_assert_msg(strstr(v->note, "unknown"), "'%s'", v->note);
    gsa_view_release(v);
}
END_TEST

static int foreign_errors;
static void on_error(const char *reason, const char *file, int line, igraph_error_t code)
{
    (void)reason, (void)file, (void)line, (void)code;
    foreign_errors++;
    IGRAPH_FINALLY_FREE();
}

START_TEST(what_the_process_had_set_up_is_put_back)
{
    char path[64];
    gsa_view *view;
    igraph_set_error_handler(on_error);
    drawn_write(path, "<", 1);
    ck_assert_int_eq(gsa_view_read(gsa_system_default(), path, &view, NULL), GSA_ERR_FORMAT);
    ck_assert_int_eq(foreign_errors, 0);
    ck_assert(igraph_set_error_handler(on_error) == on_error);
    ck_assert_ptr_null(igraph_set_attribute_table(NULL));
    unlink(path);
}
END_TEST

/* ---- selection ----------------------------------------------------------------------------- */

#define TWO_LAYERS                                                                                 \
    G KEY("l", "edge", "layer", "int") KEY("i", "edge", "interaction", "string")                   \
        KEY("w", "edge", "weight", "double") KEY("a", "edge", "w0", "double")                      \
            KEY("b", "edge", "w1",                                                                 \
                "double") "<graph edgedefault=\"directed\">"                                       \
                          "<node id=\"n0\"/><node id=\"n1\"/>" E(                                  \
                              "n0", "n1",                                                          \
                              DATA("l", "0") DATA("i", "down") DATA("w", "0.5") DATA("a", "0.25")  \
                                  DATA("b", "0.75")) E("n1", "n0",                                 \
                                                       DATA("l", "1") DATA("i", "down")            \
                                                           DATA("w", "0.25") DATA("a", "0.5")      \
                                                               DATA("b", "0"))                     \
                              E("n1", "n1",                                                        \
                                DATA("l", "1") DATA("i", "up") DATA("w", "0.125")                  \
                                    DATA("a", "0.125") DATA("b", "0.125")) "</graph></graphml>"

static const struct {
    int32_t layer;
    const char *phase;
    int32_t head;
    int64_t edges;
    double first;     /* weight of the first edge that is kept */
    const char *says; /* NULL: it works */
} selections[] = {
    { -1, NULL, -1, 3, 0.5, NULL },
    { 0, NULL, -1, 1, 0.5, NULL },
    { 1, NULL, -1, 2, 0.25, NULL },
    { 1, NULL, 0, 2, 0.5, NULL },
    { -1, "up", 1, 1, 0.125, NULL },
    { 0, "up", -1, 0, 0, NULL },
    { -1, NULL, 1, 3, 0.75, NULL },
    { 2, NULL, -1, 0, 0, "layer 2, expected 0 to 1" },
    { -1, NULL, 2, 0, 0, "head 2, expected 0 to 1" },
    { -1, "left", -1, 0, 0, "no phase is named 'left'; the file has: down, up" },
};

START_TEST(edges_are_selected_by_layer_phase_and_head)
{
    gsa_error error = { 0 };
    gsa_view *v = drawn_view(TWO_LAYERS);
    const int wrong = selections[_i].says != NULL;
    ck_assert_int_eq(v->layers, 2);
    ck_assert_int_eq(v->head_weights, 2);
    ck_assert_int_eq(
        gsa_view_select(v, selections[_i].layer, selections[_i].phase, selections[_i].head, &error),
        wrong ? GSA_ERR_ARGUMENT : GSA_OK);
    if (wrong) ck_assert_msg(strstr(error.text, selections[_i].says), "%s", error.text);
    else ck_assert_int_eq(v->edges, selections[_i].edges);
    if (!wrong && v->edges > 0) ck_assert_double_eq(v->edge[0].weight, selections[_i].first);
    gsa_view_release(v);
}
END_TEST

/* ---- statistics ---------------------------------------------------------------------------- */

#define DIRECTED(rest) "<graph edgedefault=\"directed\">" rest "</graph>"
#define FOUR           "<node id=\"a\"/><node id=\"b\"/><node id=\"c\"/><node id=\"d\"/>"
#define AB             E("a", "b", "")
#define BC             E("b", "c", "")
#define CD             E("c", "d", "")
static const struct {
    const char *graph;
    int64_t loops, parallel, weak[2], strong[2], isolated,
        diameter; /* components and the largest one's nodes */
    double density, mean, reachable;
    gsa_quantiles in;
} measured[] = {
    { DIRECTED(""), 0, 0, { 0, 0 }, { 0, 0 }, 0, -1, 0, 0, 0, { 0, 0, 0, 0, 0, 0 } },
    { DIRECTED("<node id=\"a\"/>"),
      0,
      0,
      { 1, 1 },
      { 1, 1 },
      1,
      -1,
      0,
      0,
      0,
      { 0, 0, 0, 0, 0, 0 } },
    { DIRECTED(FOUR AB BC CD),
      0,
      0,
      { 1, 4 },
      { 4, 1 },
      0,
      3,
      3. / 16,
      5. / 3,
      0.5,
      { 0, 1, 1, 1, 1, 0.75 } },
    { "<graph edgedefault=\"undirected\">" FOUR AB BC CD "</graph>",
      0,
      0,
      { 1, 4 },
      { 1, 4 },
      0,
      3,
      3. / 16,
      5. / 3,
      1,
      { 1, 1, 2, 2, 2, 1.5 } },
    { DIRECTED(FOUR AB BC E("c", "a", "")),
      0,
      0,
      { 2, 3 },
      { 2, 3 },
      1,
      2,
      3. / 16,
      1.5,
      0.5,
      { 0, 1, 1, 1, 1, 0.75 } },
    { DIRECTED(FOUR AB AB AB E("a", "a", "") E("d", "d", "")),
      2,
      2,
      { 3, 2 },
      { 4, 1 },
      2,
      1,
      3. / 16,
      1,
      1. / 12,
      { 0, 1, 1, 1, 3, 1.25 } },
};

START_TEST(statistics_are_what_a_hand_counts)
{
    char text[2048];
    gsa_measures *m;
    gsa_error error = { 0 };
    snprintf(text, sizeof text, "%s%s</graphml>", G, measured[_i].graph);
    gsa_view *v = drawn_view(text);
    ck_assert_msg(gsa_view_measure(v, &m, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(m->loops, measured[_i].loops);
    ck_assert_int_eq(m->parallel, measured[_i].parallel);
    ck_assert_int_eq(m->weak, measured[_i].weak[0]);
    ck_assert_int_eq(m->largest_weak, measured[_i].weak[1]);
    ck_assert_int_eq(m->strong, measured[_i].strong[0]);
    ck_assert_int_eq(m->largest_strong, measured[_i].strong[1]);
    ck_assert_int_eq(m->isolated, measured[_i].isolated);
    ck_assert_int_eq(m->diameter, measured[_i].diameter);
    ck_assert_int_eq(m->sources, v->nodes);
    ck_assert_double_eq_tol(m->density, measured[_i].density, 1e-15);
    ck_assert_double_eq_tol(m->mean_distance, measured[_i].mean, 1e-15);
    ck_assert_double_eq_tol(m->reachable, measured[_i].reachable, 1e-15);
    const gsa_quantiles *in = &m->in[v->kinds.count], *want = &measured[_i].in;
    ck_assert_int_eq(in->least, want->least);
    ck_assert_int_eq(in->quarter, want->quarter);
    ck_assert_int_eq(in->half, want->half);
    ck_assert_int_eq(in->three_quarters, want->three_quarters);
    ck_assert_int_eq(in->most, want->most);
    ck_assert_double_eq_tol(in->mean, want->mean, 1e-15);
    gsa_measures_release(m);
    gsa_view_release(v);
}
END_TEST

START_TEST(a_star_is_measured_by_kind_phase_and_label)
{
    static const struct {
        const char *phase, *label;
        int edges;
    } labels[] = { { "down", "left", 12 },  { "down", "self", 12 },  { "down", "right", 12 },
                   { "down", "embed", 12 }, { "down", "relay", 12 }, { "up", "self", 1 },
                   { "up", "up", 12 } };
    gsa_measures *m;
    drawn d = drawn_make("star", 12, 0);
    ck_assert_int_eq(gsa_view_measure(d.view, &m, NULL), GSA_OK);
    ck_assert_int_eq(m->n_labels, GSA_COUNT(labels));
    for (int i = 0; i < GSA_COUNT(labels); i++) {
        ck_assert_str_eq(d.view->phases.at[m->labels[i].phase], labels[i].phase);
        ck_assert_str_eq(d.view->labels.at[m->labels[i].label], labels[i].label);
        ck_assert_int_eq(m->labels[i].edges, labels[i].edges);
    }
    ck_assert_int_eq(m->phase_edges[0], 60);
    ck_assert_int_eq(m->phase_edges[1], 13);
    ck_assert_int_eq(m->kind_nodes[2], 1);
    ck_assert_int_eq(m->in[1].least, 5);
    ck_assert_int_eq(m->in[1].most, 5);
    ck_assert_int_eq(m->in[2].half, 13);
    ck_assert_int_eq(m->diameter, 3); /* constant source, token, relay, token */
    gsa_measures_release(m);
    drawn_end(&d);
}
END_TEST

START_TEST(distances_of_a_large_graph_are_sampled_and_say_so)
{
    enum { N = 15000 };
    gsa_measures *m;
    gsa_view *v = drawn_large(N, 1);
    ck_assert_int_eq(gsa_view_measure(v, &m, NULL), GSA_OK);
    ck_assert_int_eq(m->sources, 64);
    ck_assert_int_eq(m->diameter, N - 1); /* node 0 is in the sample */
    ck_assert_double_eq_tol(m->mean_distance, N / 3., N / 50.);
    gsa_measures_release(m);
    gsa_view_release(v);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

static gsa_status attempt(gsa_faults *faults, void *path)
{
    gsa_view *view;
    gsa_measures *measures = NULL;
    gsa_error error = { 0 };
    gsa_status status = gsa_view_read(&faults->table, path, &view, &error);
    if (status == GSA_OK) status = gsa_view_measure(view, &measures, &error);
    gsa_measures_release(measures);
    gsa_view_release(view);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    char path[64];
    drawn_write(path, TWO_LAYERS, (int64_t)strlen(TWO_LAYERS));
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, attempt, path), 20);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, attempt, path), 0);
    unlink(path);
}
END_TEST

/* ---- generators that tests/topologies does not have ---------------------------------------- */

typedef void generator(igraph_t *graph, int32_t n);
static void circulant(igraph_t *graph, int32_t n, const igraph_integer_t *shifts, int count)
{
    igraph_vector_int_t list;
    igraph_vector_int_init_array(&list, shifts, count);
    igraph_circulant(graph, n, &list, 1);
    igraph_vector_int_destroy(&list);
}
static void make_ring(igraph_t *graph, int32_t n)
{
    circulant(graph, n, (igraph_integer_t[]){ 1, n - 1 }, 2);
}
static void make_full(igraph_t *graph, int32_t n)
{
    igraph_integer_t shifts[64];
    for (int32_t i = 1; i < n; i++) shifts[i - 1] = i;
    circulant(graph, n, shifts, n - 1);
}
static void make_cross(igraph_t *graph, int32_t n) /* memory of n + 2 tokens */
{
    igraph_full_bipartite(graph, NULL, n, n + 2, 1, IGRAPH_IN);
}
static void make_paths(igraph_t *graph, int32_t n) /* every second token: two paths */
{
    igraph_t odd;
    igraph_ring(graph, (n + 1) / 2, 1, 1, 0);
    igraph_ring(&odd, n / 2, 1, 1, 0);
    igraph_t even = *graph;
    igraph_disjoint_union(graph, &even, &odd);
    igraph_destroy(&even);
    igraph_destroy(&odd);
}

static const struct {
    const char *spec;
    generator *make;
    int32_t first;
} generators[] = { { "ring", make_ring, 3 },
                   { "full", make_full, 2 },
                   { "cross", make_cross, 1 },
                   { "dilated:width=3:step=2", make_paths, 2 } };

START_TEST(patterns_are_the_graphs_that_igraph_generates)
{
    igraph_set_error_handler(igraph_error_handler_printignore);
    for (int32_t n = generators[_i].first; n < 20; n++) {
        drawn d = drawn_make(generators[_i].spec, n, 0);
        igraph_t made, expected;
        igraph_vector_int_t ends;
        igraph_bool_t equal = 0;
        igraph_vector_int_init(&ends, 0);
        for (int64_t e = 0; e < d.view->edges; e++) {
            if (d.view->edge[e].from == d.view->edge[e].to) continue;
            igraph_vector_int_push_back(&ends, d.view->edge[e].from);
            igraph_vector_int_push_back(&ends, d.view->edge[e].to);
        }
        igraph_create(&made, &ends, d.view->nodes, 1);
        generators[_i].make(&expected, n);
        ck_assert_int_eq(igraph_isomorphic(&made, &expected, &equal), IGRAPH_SUCCESS);
        ck_assert_msg(equal, "%s of length %d is not what igraph generates", generators[_i].spec,
                      n);
        igraph_vector_int_destroy(&ends);
        igraph_destroy(&made);
        igraph_destroy(&expected);
        drawn_end(&d);
    }
}
END_TEST

static const gsa_test read_tests[] = {
    GSA_LOOP(every_attribute_of_every_built_in_comes_back, GSA_COUNT(specs)),
    GSA_TEST(a_foreign_file_is_read_too), GSA_TEST(what_igraph_drops_is_noted),
    GSA_TEST(what_the_process_had_set_up_is_put_back),
    GSA_LOOP(edges_are_selected_by_layer_phase_and_head, GSA_COUNT(selections))
};
static const gsa_test broken_tests[] = { GSA_LOOP(a_broken_file_is_a_sentence, GSA_COUNT(broken)),
                                         GSA_TEST(many_keys_of_many_nodes_are_too_many),
                                         GSA_LOOP(keys_are_what_they_say, GSA_COUNT(scanned)),
                                         GSA_TEST(texts_and_nodes_of_edges_count),
                                         GSA_TEST(ordinary_files_are_read),
                                         GSA_TEST(keys_and_kinds_are_few),
                                         GSA_TEST(many_weights_are_read_soon),
                                         GSA_TEST(every_allocation_may_fail) };
static const gsa_test measure_tests[] = {
    GSA_LOOP(statistics_are_what_a_hand_counts, GSA_COUNT(measured)),
    GSA_TEST(a_star_is_measured_by_kind_phase_and_label),
    GSA_TEST(distances_of_a_large_graph_are_sampled_and_say_so)
};
static const gsa_test generator_tests[] = { GSA_LOOP(patterns_are_the_graphs_that_igraph_generates,
                                                     GSA_COUNT(generators)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("read", read_tests, 120),
                                      GSA_CASE("broken", broken_tests, 120),
                                      GSA_CASE("measures", measure_tests, 120),
                                      GSA_CASE("generators", generator_tests, 120) };
    return gsa_run_suite("inspect", cases, GSA_COUNT(cases), argc, argv);
}
