/* Pictures: golden files, hostile text, any locale; and all or nothing. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/utf8.h"
#include "graph/write.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"
#include "xml.h"

/* ---- a small star: tokens read the relay, the relay reads the tokens, twice the first ------ */

static void describe(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_BY_PHASE, .name = "relay"));
    d->phase(d, &GSA_PHASE(.labels = 4, .sources = 3, .destinations = 3, .name = "star"));
    d->phase(
        d, &GSA_PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .destinations = 1, .name = "ffn"));
    d->phase(d, &GSA_PHASE(.when = GSA_ONCE, .aggregate = GSA_MEAN, .update = GSA_ASSIGN,
                           .sources = 1, .destinations = 2, .name = "start"));
    d->sequence(d, 0);
}

static void emit(const gsa_example *x, gsa_emitter *e)
{
    const gsa_node relay = gsa_at(1, e->nodes(e, 1, 1));
    for (int i = 0; i < x->length; i++) gsa_edge(e, 0, relay, gsa_at(0, i), 3);
    e->run(e, 0, gsa_at(0, 0), x->length, 1, relay, 0, x->length <= 4);
    if (x->length) gsa_edge(e, 0, gsa_at(0, 0), relay, 2);
    e->place(e, relay, 1, 0, x->length - 1);
    e->run(e, 2, gsa_at(0, 0), x->length, 1, relay, 0, 0);
}

static const char *label_text = "to"; /* label 1's name; the others have none or a plain one */

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    (void)self, (void)phase;
    if (id == 1) snprintf(out, size, "%s", label_text);
    else if (id == 3) snprintf(out, size, "<relay & \"co\">");
}

static const gsa_script script = { describe, emit };

typedef struct sketch {
    gsa_topology topology;
    gsa_schema *schema;
    gsa_picture picture;
    gsa_picture_stack stack;
    gsa_picture_sheet sheet;
    gsa_instance *instance;
} sketch;

static void draw(sketch *s, int32_t length, const gsa_slice *text, const char *spec)
{
    const gsa_example example = gsa_toy_example(length, 0, 2);
    s->topology = gsa_scripted, s->topology.label = label;
    ck_assert_int_eq(gsa_schema_create(NULL, &s->topology, &script, &s->schema, NULL), GSA_OK);
    ck_assert_int_eq(gsa_instance_create(NULL, s->schema, &s->topology, &script, &example, NULL, 1,
                                         &s->instance, NULL),
                     GSA_OK);
    s->stack = (gsa_picture_stack){ .text = text, .memory = -1 };
    s->sheet = (gsa_picture_sheet){
        .instance = s->instance, .schema = s->schema, .topology = &s->topology, .self = &script
    };
    s->picture = (gsa_picture){ spec, &s->stack, &s->sheet, 1, 1 };
}

static void release(sketch *s)
{
    gsa_instance_release(s->instance);
    gsa_schema_release(s->schema);
}

/* The picture as bytes (to be freed), or NULL and the status. */
static char *written(const gsa_system *system, const gsa_picture *picture, int format,
                     gsa_status *status, gsa_error *error)
{
    char path[] = "/tmp/gsa-picture-XXXXXX", *data = NULL;
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
    if (*status != GSA_OK) {
        ck_assert_int_eq(bytes, 0); /* the target is as it was */
        free(data), data = NULL;
    }
    return data;
}

static const gsa_slice two_tokens[] = { { "a<b", 3 }, { "\"\xc3\xa9\\", 4 } };

#define YED(size, x, y, hue, label)                                                                \
    "<data key=\"v_yed\"><y:ShapeNode><y:Geometry height=\"" size "\" width=\"" size "\" x=\"" x   \
    "\" y=\"" y "\"/><y:Fill color=\"" hue "\" transparent=\"false\"/><y:NodeLabel>" label         \
    "</y:NodeLabel><y:Shape type=\"ellipse\"/></y:ShapeNode></data>"
#define GEPHI(x, y, size, r, g, b)                                                                 \
    "<data key=\"v_x\">" x "</data><data key=\"v_y\">" y "</data><data key=\"v_size\">" size       \
    "</data><data key=\"v_r\">" r "</data><data key=\"v_g\">" g "</data><data key=\"v_b\">" b      \
    "</data>"
static const char golden_graphml[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
    "xmlns:y=\"http://www.yworks.com/xml/graphml\">\n"
    "  <!-- spec: star:x=1- -2 topology: scripted length: 2 heads: 2 nodes: 3 edges: 5 -->\n"
    "  <key id=\"g_topology\" for=\"graph\" attr.name=\"topology\" attr.type=\"string\"/>\n"
    "  <key id=\"g_spec\" for=\"graph\" attr.name=\"spec\" attr.type=\"string\"/>\n"
    "  <key id=\"g_length\" for=\"graph\" attr.name=\"length\" attr.type=\"int\"/>\n"
    "  <key id=\"g_heads\" for=\"graph\" attr.name=\"heads\" attr.type=\"int\"/>\n"
    "  <key id=\"g_nodes\" for=\"graph\" attr.name=\"nodes\" attr.type=\"long\"/>\n"
    "  <key id=\"g_edges\" for=\"graph\" attr.name=\"edges\" attr.type=\"long\"/>\n"
    "  <key id=\"v_label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n"
    "  <key id=\"v_kind\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"
    "  <key id=\"v_index\" for=\"node\" attr.name=\"index\" attr.type=\"int\"/>\n"
    "  <key id=\"v_level\" for=\"node\" attr.name=\"level\" attr.type=\"int\"/>\n"
    "  <key id=\"v_first\" for=\"node\" attr.name=\"first\" attr.type=\"int\"/>\n"
    "  <key id=\"v_last\" for=\"node\" attr.name=\"last\" attr.type=\"int\"/>\n"
    "  <key id=\"v_stack\" for=\"node\" attr.name=\"stack\" attr.type=\"string\"/>\n"
    "  <key id=\"v_x\" for=\"node\" attr.name=\"x\" attr.type=\"double\"/>\n"
    "  <key id=\"v_y\" for=\"node\" attr.name=\"y\" attr.type=\"double\"/>\n"
    "  <key id=\"v_size\" for=\"node\" attr.name=\"size\" attr.type=\"double\"/>\n"
    "  <key id=\"v_r\" for=\"node\" attr.name=\"r\" attr.type=\"int\"/>\n"
    "  <key id=\"v_g\" for=\"node\" attr.name=\"g\" attr.type=\"int\"/>\n"
    "  <key id=\"v_b\" for=\"node\" attr.name=\"b\" attr.type=\"int\"/>\n"
    "  <key id=\"e_phase\" for=\"edge\" attr.name=\"phase\" attr.type=\"int\"/>\n"
    "  <key id=\"e_label\" for=\"edge\" attr.name=\"rel\" attr.type=\"int\"/>\n"
    "  <key id=\"e_name\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>\n"
    "  <key id=\"e_k\" for=\"edge\" attr.name=\"k\" attr.type=\"int\"/>\n"
    "  <key id=\"e_interaction\" for=\"edge\" attr.name=\"interaction\" attr.type=\"string\"/>\n"
    "  <key id=\"e_weight\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n"
    "  <key id=\"e_layer\" for=\"edge\" attr.name=\"layer\" attr.type=\"int\"/>\n"
    "  <key id=\"e_r\" for=\"edge\" attr.name=\"r\" attr.type=\"int\"/>\n"
    "  <key id=\"e_g\" for=\"edge\" attr.name=\"g\" attr.type=\"int\"/>\n"
    "  <key id=\"e_b\" for=\"edge\" attr.name=\"b\" attr.type=\"int\"/>\n"
    "  <key id=\"v_yed\" for=\"node\" attr.name=\"yed\" attr.type=\"string\" "
    "yfiles.type=\"nodegraphics\"/>\n"
    "  <key id=\"e_yed\" for=\"edge\" attr.name=\"yed\" attr.type=\"string\" "
    "yfiles.type=\"edgegraphics\"/>\n";
static const char golden_graph[] =
    "  <graph id=\"G\" edgedefault=\"directed\">\n"
    "    <data key=\"g_topology\">scripted</data><data key=\"g_spec\">star:x=1--2</data><data "
    "key=\"g_length\">2</data>"
    "<data key=\"g_heads\">2</data><data key=\"g_nodes\">3</data><data key=\"g_edges\">5</data>\n"
    "    <node id=\"n0\">" YED(
        "20", "-10", "-160", "#0072b2",
        "a&lt;b") "<data key=\"v_label\">a&lt;b</data><data key=\"v_kind\">token</data><data "
                  "key=\"v_index\">0</data>"
                  "<data key=\"v_level\">-1</data><data key=\"v_first\">-1</data><data "
                  "key=\"v_last\">-1</data><data "
                  "key=\"v_stack\"></data>" GEPHI(
                      "0", "150", "20", "0", "114",
                      "178") "</node>\n"
                             "    <node id=\"n1\">" YED(
                                 "20", "-10", "140", "#0072b2",
                                 "&quot;\xc3\xa9\\") "<data "
                                                     "key=\"v_label\">&quot;\xc3\xa9\\</data><data "
                                                     "key=\"v_kind\">token</data>"
                                                     "<data key=\"v_index\">1</data><data "
                                                     "key=\"v_level\">-1</data><data "
                                                     "key=\"v_first\">-1</data><data "
                                                     "key=\"v_last\">-1</data>"
                                                     "<data "
                                                     "key=\"v_stack\"></data>" GEPHI(
                                                         "0", "-150", "20", "0", "114",
                                                         "178") "</node>\n"
                                                                "    <node id=\"n2\">" YED(
                                                                    "30", "-15", "-15", "#d55e00",
                                                                    "relay 0") "<data "
                                                                               "key=\"v_label\">"
                                                                               "relay "
                                                                               "0</data><data "
                                                                               "key=\"v_kind\">"
                                                                               "relay</data><data "
                                                                               "key=\"v_index\">0</"
                                                                               "data>"
                                                                               "<data "
                                                                               "key=\"v_level\">1</"
                                                                               "data><data "
                                                                               "key=\"v_first\">0</"
                                                                               "data><data "
                                                                               "key=\"v_last\">1</"
                                                                               "data><data "
                                                                               "key=\"v_stack\"></"
                                                                               "data>" GEPHI(
                                                                                   "0", "0", "30",
                                                                                   "213", "94",
                                                                                   "0") "</node>\n";
#define EDGE(id, from, to, number, name, k)                                                        \
    "    <edge id=\"e" id "\" source=\"n" from "\" target=\"n" to                                  \
    "\"><data key=\"e_yed\"><y:PolyLineEdge><y:LineStyle color=\"#0072b2\" type=\"line\" "         \
    "width=\"1\"/><y:Arrows source=\"none\" target=\"standard\"/></y:PolyLineEdge></data>"         \
    "<data key=\"e_r\">0</data><data key=\"e_g\">114</data><data key=\"e_b\">178</data>"           \
    "<data key=\"e_phase\">0</data><data key=\"e_label\">" number                                  \
    "</data><data key=\"e_name\">" name "</data><data key=\"e_k\">" k                              \
    "</data><data key=\"e_interaction\">star</data>"                                               \
    "<data key=\"e_weight\">1</data><data key=\"e_layer\">0</data></edge>\n"
static const char golden_edges[] =
    EDGE("0", "2", "0", "3", "&lt;relay &amp; &quot;co&quot;&gt;", "0")
        EDGE("1", "2", "1", "3", "&lt;relay &amp; &quot;co&quot;&gt;", "0")
            EDGE("2", "0", "2", "0", "", "0") EDGE("3", "1", "2", "1", "to", "1")
                EDGE("4", "0", "2", "2", "", "2") "  </graph>\n"
                                                  "</graphml>\n";

static const char golden_dot[] =
    "digraph \"scripted\" {\n"
    "  graph [spec=\"star:x=1--2\", length=2, heads=2];\n"
    "  n0 [label=\"a<b\", kind=\"token\", index=0];\n"
    "  n1 [label=\"\\\"\xc3\xa9\\\\\", kind=\"token\", index=1];\n"
    "  n2 [label=\"relay 0\", kind=\"relay\", index=0, level=1, first=0, last=1];\n"
    "  n2 -> n0 [interaction=\"star\", label=\"<relay &amp; \\\"co\\\">\", rel=3, k=0];\n"
    "  n2 -> n1 [interaction=\"star\", label=\"<relay &amp; \\\"co\\\">\", rel=3, k=0];\n"
    "  n0 -> n2 [interaction=\"star\", label=\"\", rel=0, k=0];\n"
    "  n1 -> n2 [interaction=\"star\", label=\"to\", rel=1, k=1];\n"
    "  n0 -> n2 [interaction=\"star\", label=\"\", rel=2, k=2];\n"
    "}\n";

static const char golden_mtx[] =
    "%%MatrixMarket matrix coordinate integer general\n"
    "% scripted, length 2, 5 edges; row = destination, column = source\n"
    "3 3 4\n"
    "1 3 1\n"
    "2 3 1\n"
    "3 1 2\n"
    "3 2 1\n";

static const char *const golden[][3] = { { golden_graphml, golden_graph, golden_edges },
                                         { golden_dot },
                                         { golden_mtx } }; /* in parts */

static void compare_with_golden(int format)
{
    sketch s;
    gsa_status status;
    gsa_error error = { GSA_OK, "" };
    draw(&s, 2, two_tokens, "star:x=1--2");
    char *data = written(NULL, &s.picture, format, &status, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    const char *at = data;
    for (int p = 0; p < 3 && golden[format][p]; at += strlen(golden[format][p++]))
        if (strncmp(at, golden[format][p], strlen(golden[format][p])) != 0)
            ck_assert_str_eq(at, golden[format][p]);
    ck_assert_str_eq(at, "");
    free(data);
    release(&s);
}

START_TEST(a_small_star_is_written)
{
    compare_with_golden(_i);
}
END_TEST

START_TEST(the_locale_changes_nothing)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8",
                                         "" };
    for (int i = 0; i < GSA_COUNT(names); i++) {
        if (!setlocale(LC_ALL, names[i])) continue; /* not installed here */
        for (int f = 0; f < GSA_COUNT(golden); f++) compare_with_golden(f);
    }
    setlocale(LC_ALL, "C");
}
END_TEST

/* ---- hostile text -------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int carried;
} hostile[] = {
    { "plain", 1 },
    { "", 1 },
    { "<![CDATA[ x ]]> ]]> <!-- -- --> <?pi?>", 1 },
    { "&amp; &lt; &#x0; &bomb;", 1 },
    { "\"double\" 'single' `back` \\ \\n \\\\", 1 },
    { "tab\tlf\ncr\rcrlf\r\nend\r", 1 },
    { "  spaces  ", 1 },
    { "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\xae rtl \xe2\x80\xac", 1 },
    { "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbd", 1 },
    { "\xef\xbb\xbf bom", 1 },
    { "del \x7f, c1 \xc2\x85, \xe2\x80\xa8", 1 },
    { "]; evil -> node [x=\"", 1 },
    { "nul is the end, \x01", 0 },
    { "\x1b[31m", 0 },
    { "\x0b", 0 },
    { "cut \xc3", 0 },
    { "overlong \xc0\x80", 0 },
    { "surrogate \xed\xa0\x80", 0 },
    { "U+FFFE \xef\xbf\xbe", 0 },
    { "U+FFFF \xef\xbf\xbf", 0 },
    { "latin-1 \xe9t\xe9", 0 },
};

/* Where the hostile text is. */
enum { IN_TOKEN, IN_SPEC, IN_LABEL, PLACES };

START_TEST(hostile_text_is_carried_or_refused)
{
    for (int place = 0; place < PLACES; place++)
        for (int format = 0; format <= GSA_FORMAT_CSV; format++) {
            const char *text = hostile[_i].text;
            const gsa_slice tokens[2] = { { place == IN_TOKEN ? text : "a",
                                            place == IN_TOKEN ? (int64_t)strlen(text) : 1 },
                                          { "b", 1 } };
            sketch s;
            gsa_status status;
            gsa_error error = { GSA_OK, "" };
            label_text = place == IN_LABEL ? text : "to";
            draw(&s, 2, tokens, place == IN_SPEC ? text : "spec");
            char *data = written(NULL, &s.picture, format, &status, &error);
            ck_assert_msg(status == (hostile[_i].carried ? GSA_OK : GSA_ERR_FORMAT),
                          "row %d place %d: '%s'", _i, place, error.text);
            if (!hostile[_i].carried) {
                static const char *const said[] = {
                    "token 1", "spec", "topology 'scripted', phase 'star': the name of label 1"
                };
                ck_assert_msg(strstr(error.text, said[place]) != NULL, "'%s'", error.text);
                ck_assert_int_eq(gsa_utf8_invalid(error.text, (int64_t)strlen(error.text)), -1);
            } else if (format == GSA_FORMAT_GRAPHML) {
                static const char *const keys[] = { "v_label", "g_spec", "e_name" };
                static const int nth[] = { 0, 0, 3 };
                char *back = xml_data(data, keys[place], nth[place]);
                ck_assert_msg(back != NULL, "row %d place %d is not well-formed: %s", _i, place,
                              data);
                ck_assert_str_eq(back, text);
                free(back);
            }
            free(data);
            release(&s);
        }
    label_text = "to";
}
END_TEST

START_TEST(a_megabyte_is_carried)
{
    const size_t size = 1 << 20;
    char *big = malloc(size + 1);
    for (size_t i = 0; i < size; i++) big[i] = "ab<&\"'\r\n->"[i % 10];
    big[size] = 0;
    const gsa_slice tokens[2] = { { big, (int64_t)size }, { "b", 1 } };
    for (int format = 0; format <= GSA_FORMAT_CSV; format++) {
        sketch s;
        gsa_status status;
        gsa_error error;
        draw(&s, 2, tokens, big);
        char *data = written(NULL, &s.picture, format, &status, &error);
        ck_assert_int_eq(status, GSA_OK);
        if (format == GSA_FORMAT_GRAPHML)
            for (int i = 0; i < 2; i++) {
                char *back = xml_data(data, i ? "g_spec" : "v_label", 0);
                ck_assert(back && strcmp(back, big) == 0);
                free(back);
            }
        free(data);
        release(&s);
    }
    free(big);
}
END_TEST

START_TEST(a_bad_request_has_its_sentence)
{
    sketch s, other;
    gsa_status status;
    gsa_error error;
    int format;
    draw(&s, 2, NULL, NULL);
    draw(&other, 2, NULL, NULL);
    for (int f = -1; f <= 6; f += 7) {
        ck_assert_ptr_null(written(NULL, &s.picture, f, &status, &error));
        ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
    }
    s.sheet.schema = other.schema;
    ck_assert_ptr_null(written(NULL, &s.picture, 0, &status, &error));
    ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "another schema"));
    release(&s), release(&other);
    ck_assert(gsa_format_of("a/b.graphml", &format, NULL) == GSA_OK &&
              format == GSA_FORMAT_GRAPHML);
    ck_assert(gsa_format_of(".dot", &format, NULL) == GSA_OK && format == GSA_FORMAT_DOT);
    ck_assert(gsa_format_of("x.graphml.mtx", &format, NULL) == GSA_OK && format == GSA_FORMAT_MTX);
    ck_assert(gsa_format_of("x.html", &format, NULL) == GSA_OK && format == GSA_FORMAT_HTML);
    static const char *const unknown[] = { "", "dot", "x.gml", "x.dot.gz", "x.DOT", "-" };
    for (int i = 0; i < GSA_COUNT(unknown); i++) {
        ck_assert_int_eq(gsa_format_of(unknown[i], &format, &error), GSA_ERR_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(error.text, ".graphml, .dot, .mtx, .html, .json or"));
    }
}
END_TEST

/* ---- random patterns are read back, per-head phases too ------------------------------------ */

static int64_t drawn_edges(const gsa_toy *toy, const gsa_instance *instance)
{
    int64_t total = 0;
    for (int p = 0; p < toy->phases; p++) {
        gsa_edges e;
        gsa_instance_edges(instance, p, &e);
        if (toy->phase[p].when == GSA_EACH_LAYER) total += e.edge_total;
    }
    return total;
}

/* Which node the log's end of an edge is, counted over all kinds, and which head. */
static int64_t node_of(const gsa_toy *toy, const gsa_instance *instance, int p, int kind,
                       int64_t index, int64_t *head)
{
    const int64_t scale = toy->phase[p].per_head ? gsa_instance_heads(instance) : 1;
    int64_t first = 0;
    for (int k = 0; k < kind; k++) first += gsa_instance_nodes(instance, k);
    *head = toy->phase[p].per_head ? index % scale : -1;
    return first + index / scale;
}

/* 1 when the edge (phase, from, to, label, heads) is found in the file, which is then marked as
 * used. */
static int take_edge(xml_edge *edges, int64_t count, const xml_edge *wanted)
{
    for (int64_t i = 0; i < count; i++)
        if (!edges[i].used && edges[i].from == wanted->from && edges[i].to == wanted->to &&
            edges[i].phase == wanted->phase && edges[i].label == wanted->label &&
            edges[i].head_from == wanted->head_from && edges[i].head_to == wanted->head_to)
            return edges[i].used = 1;
    return 0;
}

START_TEST(random_patterns_are_read_back)
{
    gsa_toy_log log = { 0 };
    int64_t wrong = 0, edges = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        gsa_toy toy;
        gsa_schema *schema;
        gsa_instance *instance;
        gsa_status status;
        gsa_error error = { GSA_OK, "" };
        const gsa_example example =
            gsa_toy_example((int32_t)(seed % 6), 2, (int32_t)(seed % 3) + 1);
        gsa_toy_make(&toy, seed);
        toy.log = &log;
        ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &toy, &schema, NULL), GSA_OK);
        ck_assert_int_eq(gsa_instance_create(NULL, schema, &gsa_random_toy, &toy, &example, NULL, 1,
                                             &instance, NULL),
                         GSA_OK);
        const gsa_picture_stack stack = { .memory = -1 };
        const gsa_picture_sheet sheet = { .instance = instance, .schema = schema };
        const gsa_picture picture = { NULL, &stack, &sheet, 1, 1 };
        char *data = written(NULL, &picture, GSA_FORMAT_GRAPHML, &status, &error);
        ck_assert_msg(status == GSA_OK, "%s", error.text);
        int64_t nodes = 0, count = 0;
        for (int k = 0; k < toy.kinds; k++) nodes += gsa_instance_nodes(instance, k);
        xml_edge *found = xml_edges(data, &count);
        wrong += !found || xml_count(data, "node") != nodes || count != drawn_edges(&toy, instance);
        for (int64_t i = 0; i < log.count; i++) {
            const gsa_toy_edge *x = &log.at[i];
            if (toy.phase[x->phase].when == GSA_ONCE) continue;
            xml_edge wanted = { .phase = x->phase, .label = x->label };
            wanted.from =
                node_of(&toy, instance, x->phase, x->from_kind, x->from, &wanted.head_from);
            wanted.to = node_of(&toy, instance, x->phase, x->to_kind, x->to, &wanted.head_to);
            wrong += !take_edge(found, count, &wanted);
        }
        edges += count;
        free(found), free(data);
        data = written(NULL, &picture, GSA_FORMAT_MTX, &status, &error);
        int64_t rows, columns, entries, sum = 0, to, from, number;
        const char *at = strchr(strchr(data, '\n') + 1, '\n') + 1;
        int used;
        wrong += sscanf(at, "%ld %ld %ld%n", &rows, &columns, &entries, &used) != 3 ||
                 rows != nodes || columns != nodes;
        for (at += used; sscanf(at, "%ld %ld %ld%n", &to, &from, &number, &used) == 3;
             at += used, entries--)
            sum += number;
        wrong += entries != 0 || sum != count;
        free(data);
        gsa_instance_release(instance);
        gsa_schema_release(schema);
    }
    free(log.at);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(edges, 1000);
}
END_TEST

/* ---- large pages --------------------------------------------------------------------------- */

enum { BAND = 101, LONG = 5000, HEADS = 8 };

static void describe_band(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.labels = BAND, .sources = 1, .destinations = 1, .name = "band"));
    d->sequence(d, 0);
}

static void emit_band(const gsa_example *x, gsa_emitter *e)
{
    for (int i = 0; i < x->length; i++)
        for (int w = 0; w < BAND; w++) {
            const int from = i + w - BAND / 2;
            if (from >= 0 && from < x->length) gsa_edge(e, 0, gsa_at(0, from), gsa_at(0, i), w);
        }
}

/* Weights of every row fall off as exponential numbers do, which no code makes much smaller. */
static double *random_weights(const gsa_edges *edges)
{
    double *weight = malloc((size_t)(edges->edge_total * HEADS) * sizeof *weight);
    uint64_t state = 1;
    for (int64_t row = 0; row < edges->rows; row++)
        for (int h = 0; h < HEADS; h++) {
            const int64_t first = edges->edge_offset[row], last = edges->edge_offset[row + 1];
            double sum = 0;
            for (int64_t e = first; e < last; e++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                sum += weight[e * HEADS + h] = -log(((double)(state >> 33) + 1) / 2147483649.0);
            }
            for (int64_t e = first; e < last; e++) weight[e * HEADS + h] /= sum;
        }
    return weight;
}

START_TEST(an_edge_of_eight_heads_takes_few_bytes)
{
    static const gsa_script band = { describe_band, emit_band };
    gsa_schema *schema;
    gsa_instance *instance;
    gsa_edges edges;
    gsa_status status;
    gsa_error error;
    const gsa_example example = gsa_toy_example(LONG, 0, HEADS);
    ck_assert_int_eq(gsa_schema_create(NULL, &gsa_scripted, &band, &schema, NULL), GSA_OK);
    ck_assert_int_eq(
        gsa_instance_create(NULL, schema, &gsa_scripted, &band, &example, NULL, 1, &instance, NULL),
        GSA_OK);
    gsa_instance_edges(instance, 0, &edges);
    double *weight = random_weights(&edges);
    const double *weights[] = { weight };
    const gsa_picture_stack stack = { .memory = -1 };
    const gsa_picture_sheet sheet = { .instance = instance, .schema = schema, .weights = weights };
    const gsa_picture picture = { "band", &stack, &sheet, 1, 1 };
    char *data = written(NULL, &picture, GSA_FORMAT_HTML, &status, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    const double each = (double)strlen(data) / (double)edges.edge_total;
    printf("%.2f bytes an edge of %d heads, %lld edges\n", each, HEADS,
           (long long)edges.edge_total);
    ck_assert_int_gt(edges.edge_total, 500000);
    ck_assert_msg(each < 12, "%.2f bytes an edge", each);
    free(data), free(weight);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status write_once(gsa_faults *faults, void *context)
{
    sketch s;
    gsa_status status;
    gsa_error error = { GSA_OK, "" };
    draw(&s, 400, NULL, "spec");
    char *data = written(&faults->table, &s.picture, *(int *)context, &status, &error);
    if (status == GSA_OK) ck_assert_int_gt(strlen(data), 100);
    else ck_assert(error.text[0] != 0);
    free(data);
    release(&s);
    return status;
}

START_TEST(a_fault_leaves_nothing_half_written)
{
    static const int ops[] = { GSA_OP_ALLOC, GSA_OP_OPEN,  GSA_OP_WRITE,
                               GSA_OP_SYNC,  GSA_OP_CLOSE, GSA_OP_RENAME };
    for (int i = 0; i < GSA_COUNT(ops); i++)
        ck_assert_int_gt(gsa_faults_sweep(ops[i], 0,
                                          ops[i] == GSA_OP_ALLOC ? GSA_ERR_MEMORY : GSA_ERR_IO,
                                          write_once, &_i),
                         0);
}
END_TEST

START_TEST(a_full_device_is_reported)
{
    sketch s;
    gsa_output *output;
    gsa_error error;
    if (gsa_system_default()->kind(NULL, "/dev/full", NULL) != GSA_FILE_OTHER) return;
    draw(&s, 2, NULL, "spec");
    ck_assert_int_eq(gsa_output_open(NULL, "/dev/full", &output, &error), GSA_OK);
    ck_assert_int_eq(gsa_write_picture(NULL, &s.picture, _i, output, &error), GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_ERR_IO);
    release(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test files[] = { GSA_LOOP(a_small_star_is_written, GSA_COUNT(golden)),
                                      GSA_TEST(the_locale_changes_nothing),
                                      GSA_TEST(a_bad_request_has_its_sentence) };
    static const gsa_test text[] = { GSA_LOOP(hostile_text_is_carried_or_refused,
                                              GSA_COUNT(hostile)),
                                     GSA_TEST(a_megabyte_is_carried) };
    static const gsa_test back[] = { GSA_TEST(random_patterns_are_read_back),
                                     GSA_TEST(an_edge_of_eight_heads_takes_few_bytes) };
    static const gsa_test faults[] = { GSA_LOOP(a_fault_leaves_nothing_half_written, 6),
                                       GSA_LOOP(a_full_device_is_reported, 6) };
    static const gsa_case cases[] = { GSA_CASE("golden", files, 30), GSA_CASE("hostile", text, 60),
                                      GSA_CASE("back", back, 60), GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("write", cases, GSA_COUNT(cases), argc, argv);
}
