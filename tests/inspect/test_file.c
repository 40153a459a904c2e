/* The topology `file`, loaded as every plugin is: what its formats mean, what it refuses, what
 * gsa_write_picture wrote comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if GSA_HAVE_ZLIB && GSA_HAVE_ZSTD
#include <zlib.h>
#include <zstd.h>
#endif
#include "graph/write.h"
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"

static char path[] = "/tmp/gsa-file-XXXXXX";

static void write_bytes(const char *text, size_t bytes)
{
    strcpy(path, "/tmp/gsa-file-XXXXXX");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
    close(file);
}

static gsa_registry *registry_of(const gsa_system *system)
{
    gsa_registry *registry;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_registry_create(system, &registry, &error), GSA_OK);
    ck_assert_msg(gsa_registry_load(registry, getenv("GSA_TEST_FILE"), &error) == GSA_OK, "%s",
                  error.text);
    return registry;
}

/* "key=value key=value" and the path. */
static gsa_status make(const gsa_registry *registry, const char *settings, gsa_pattern **pattern,
                       gsa_error *error)
{
    gsa_setting list[8] = { { "path", path } };
    char text[256];
    int count = 1;
    snprintf(text, sizeof text, "%s", settings);
    for (char *key = strtok(text, " "); key; key = strtok(NULL, " ")) {
        char *equals = strchr(key, '=');
        *equals = 0;
        list[count++] = (gsa_setting){ key, equals + 1 };
    }
    return gsa_pattern_create(registry, "file", list, count, pattern, error);
}

static int64_t draw; /* of the examples */

/* Every edge as "from>to" or "from>to:label", in order of rows, with blanks between. */
static void list_edges(const gsa_pattern *pattern, int32_t n, char *out, size_t size)
{
    gsa_instance *instance;
    gsa_edges edges;
    gsa_error error = { 0 };
    size_t used = 0;
    const gsa_example example = {
        .struct_size = sizeof example, .length = n, .heads = 1, .draw = draw
    };
    const gsa_status status =
        gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    gsa_instance_edges(instance, 0, &edges);
    ck_assert_int_eq(gsa_edges_check(&edges, "file", &error), GSA_OK);
    out[0] = 0;
    for (int64_t row = 0; row < edges.rows; row++)
        for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++)
            for (int32_t j = 0; j < edges.runs[r].count; j++) {
                char name[64];
                const gsa_run *run = &edges.runs[r];
                gsa_pattern_topology(pattern)->label(gsa_pattern_self(pattern), 0,
                                                     run->label + j * run->label_step, name,
                                                     sizeof name);
                used +=
                    (size_t)snprintf(out + used, size - used, "%s%d>%d%s%s", used ? " " : "",
                                     run->first + j * run->step, (int)row, *name ? ":" : "", name);
                ck_assert_uint_lt(used, size);
            }
    gsa_instance_release(instance);
}

#define GRAPHML(edges)                                                                             \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"r\" for=\"edge\" "         \
    "attr.name=\"rel\" "                                                                           \
    "attr.type=\"int\"/><key id=\"l\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>"     \
    "<graph edgedefault=\"directed\"><node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>" edges       \
    "</graph></graphml>"
#define MTX(kind, rest) "%%MatrixMarket matrix coordinate " kind "\n" rest

/* ---- what the formats mean ----------------------------------------------------------------- */

static const struct {
    const char *text, *settings;
    int32_t n;
    const char *edges;
    int graphml; /* needs igraph */
} graphs[] = {
    /* lists of edges: from to */
    { "0 1\n1 2\n", "", 3, "0>1 1>2", 0 },
    { "1 2\n2 3\n", "", 3, "0>1 1>2", 0 },
    { "1 2\n2 3\n", "base=0", 4, "1>2 2>3", 0 },
    { "0 1\n", "base=0", 2, "0>1", 0 },
    { "# a comment\n% another\n\n0\t1\n0,2", "", 3, "0>1 0>2", 0 },
    { "0 1\r\n1 0\r\n", "", 2, "1>0 0>1", 0 },
    { "0 1\n", "directed=0", 2, "1>0 0>1", 0 },
    { "0 0\n0 1\n", "directed=0", 2, "0>0 1>0 0>1", 0 },
    { "0 1\n", "self=1", 2, "0>0 0>1 1>1", 0 },
    { "0 0\n0 1\n", "self=1", 2, "0>0 0>1 1>1", 0 },
    { "0 1\n0 1\n1 0\n", "", 2, "1>0 0>1 0>1", 0 },
    { "0 1\n0 1\n1 0\n", "unique=1 directed=0", 2, "1>0 0>1", 0 },
    { "2 1\n0 1\n1 1\n", "", 3, "2>1 0>1 1>1", 0 }, /* the order of the file */
    { "", "", 0, "", 0 },
    { "# nothing\n", "", 0, "", 0 },
    { "# nothing", "self=1", 0, "", 0 },
    { "5 2\n0 1\n1 2\n", "header=1", 5, "0>1 1>2", 0 },
    { "5 2\n0 1\n1 2\n", "", 6, "0>1 5>2 1>2", 0 }, /* never guessed */
    { "3 1\n1 3\n", "header=1", 3, "0>2", 0 },
    { "2 0\n", "header=1", 2, "", 0 },
    { "0 1 red\n1 2 blue\n2 0 red\n", "", 3, "2>0:red 0>1:red 1>2:blue", 0 },
    { "0 1 7\n1 2 -3\n", "", 3, "0>1:7 1>2:-3", 0 },
    { "0 1 red\n", "labels=none", 2, "0>1", 0 },
    { "0 1 \xff\n", "labels=none", 2, "0>1", 0 },
    { "0 1 \xe5\x8c\x97\xf0\x9f\x98\x80\n", "", 2, "0>1:\xe5\x8c\x97\xf0\x9f\x98\x80", 0 },
    { "0 1 red\n", "self=1", 2, "0>0:self 0>1:red 1>1:self", 0 },
    { "0 1 red\n", "labels=keys directed=0", 2, "1>0:red 0>1:red", 0 },
    { "2 1\n0 1 red\n", "header=1", 2, "0>1:red", 0 },
    /* Matrix Market: row = destination, column = source */
    { MTX("pattern general", "3 3 2\n2 1\n3 2\n"), "", 3, "0>1 1>2", 0 },
    { MTX("pattern general", "% a comment\n\n3 3 2\n2 1\n% one more\n3 2\n"), "", 3, "0>1 1>2", 0 },
    { MTX("pattern symmetric", "3 3 2\n2 1\n3 3\n"), "", 3, "1>0 0>1 2>2", 0 },
    { MTX("pattern symmetric", "3 3 1\n2 1\n"), "directed=1", 3, "0>1", 0 },
    { MTX("pattern general", "3 3 1\n2 1\n"), "directed=0", 3, "1>0 0>1", 0 },
    { MTX("real skew-symmetric", "2 2 1\n2 1 -0.5\n"), "", 2, "1>0 0>1", 0 },
    { MTX("real general", "2 2 1\n2 1 1e-3\n"), "", 2, "0>1", 0 },
    { MTX("integer general", "2 2 2\n2 1 4\n1 2 -1\n"), "", 2, "1>0:-1 0>1:4", 0 },
    { MTX("integer general", "2 2 2\n2 1 2\n1 2 0\n"), "repeat=1", 2, "0>1 0>1", 0 },
    { MTX("integer general", "2 2 1\n2 1 2\n"), "labels=none", 2, "0>1", 0 },
    { MTX("integer general", "2 2 1\n2 1 2\n"), "labels=bias self=1", 2, "0>0:self 0>1:2 1>1:self",
      0 },
    { "%%MatrixMarket MATRIX Coordinate Pattern General\n0 0 0\n", "", 0, "", 0 },
    { MTX("pattern general", "4 4 0\n"), "self=1", 4, "0>0 1>1 2>2 3>3", 0 },
    { "2 1\n", "format=edges base=1", 2, "1>0", 0 },
    /* GraphML: source target */
    { GRAPHML("<edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"c\"/>"), "", 3,
      "0>1 1>2", 1 },
    { "\xef\xbb\xbf" GRAPHML("<edge source=\"a\" target=\"b\"/>"), "", 3, "0>1", 1 },
    { GRAPHML("<edge source=\"c\" target=\"a\"/><edge source=\"c\" target=\"a\"/>"), "", 3,
      "2>0 2>0", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"/>"), "directed=0", 3, "1>0 0>1", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"><data key=\"r\">5</data><data key=\"l\">f\xc3\xbcnf "
              "&lt;&amp;&gt;</data></edge>"),
      "", 3, "0>1:f\xc3\xbcnf <&>", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"><data key=\"r\">5</data></edge><edge source=\"a\" "
              "target=\"c\"><data "
              "key=\"r\">2</data></edge>"),
      "labels=keys", 3, "0>1:5 0>2:2", 1 },
    { GRAPHML(""), "self=1", 3, "0>0 1>1 2>2", 1 },
};

START_TEST(a_file_is_the_graph_that_it_says)
{
    char edges[4096];
    gsa_pattern *pattern;
    gsa_error error = { 0 };
#ifndef GSA_TEST_IGRAPH
    if (graphs[_i].graphml) return;
#endif
    write_bytes(graphs[_i].text, strlen(graphs[_i].text));
    gsa_registry *registry = registry_of(NULL);
    ck_assert_msg(make(registry, graphs[_i].settings, &pattern, &error) == GSA_OK, "%s",
                  error.text);
    list_edges(pattern, graphs[_i].n, edges, sizeof edges);
    ck_assert_str_eq(edges, graphs[_i].edges);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

/* ---- samples ------------------------------------------------------------------------------- */

enum { NODES = 40, ROOM = 16384 };

static void list_file(const char *settings, char edges[ROOM])
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    gsa_registry *registry = registry_of(NULL);
    ck_assert_msg(make(registry, settings, &pattern, &error) == GSA_OK, "%s", error.text);
    list_edges(pattern, NODES, edges, ROOM);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}

/* Node i is read by the nodes after it, named i: 0 to 39 edges a row. */
static void write_triangle(void)
{
    static char text[ROOM];
    size_t used = 0;
    for (int to = 0; to < NODES; to++)
        for (int from = 0; from < to; from++)
            used += (size_t)snprintf(text + used, ROOM - used, "%d %d n%d\n", from, to, from);
    write_bytes(text, used);
}

START_TEST(a_row_reads_a_sample)
{
    static char all[ROOM], some[ROOM], again[ROOM], other[ROOM];
    int drawn[NODES] = { 0 }, count[NODES] = { 0 };
    write_triangle();
    list_file("sample=0", all);
    list_file("sample=39", some);
    ck_assert_str_eq(some, all); /* a limit that no row reaches */
    list_file("sample=5", some);
    list_file("sample=5 seed=1", again);
    ck_assert_str_eq(some, again);
    list_file("sample=5 seed=2", other);
    ck_assert_str_ne(some, other);
    list_file("sample=5 redraw=1", other); /* outside of training: the one sample */
    ck_assert_str_eq(some, other);
    draw = 1, list_file("sample=5", other);
    ck_assert_str_eq(some, other);
    list_file("sample=5 redraw=1", again);
    ck_assert_str_ne(some, again);
    draw = 2, list_file("sample=5 redraw=1", other), draw = 0;
    ck_assert_str_ne(again, other);
    const char *at = all;
    for (char *edge = strtok(some, " "); edge; edge = strtok(NULL, " ")) {
        at = strstr(at, edge); /* in the order of the file, with its label */
        ck_assert_ptr_nonnull(at);
        count[atoi(strchr(edge, '>') + 1)]++;
    }
    for (int i = 0; i < NODES; i++) ck_assert_int_eq(count[i], i < 5 ? i : 5);
    for (int seed = 1; seed <= 200; seed++) { /* each edge alike */
        char settings[64];
        snprintf(settings, sizeof settings, "sample=13 seed=%d", seed);
        list_file(settings, some);
        for (char *edge = strtok(some, " "); edge; edge = strtok(NULL, " "))
            if (atoi(strchr(edge, '>') + 1) == 39) drawn[atoi(edge)]++;
    }
    for (int i = 0; i < 39; i++) /* of 200 a third; 5 deviations */
        ck_assert_msg(drawn[i] >= 33 && drawn[i] <= 100, "edge %d: %d of 200", i, drawn[i]);
    unlink(path);
}
END_TEST

START_TEST(a_sample_keeps_the_self_edge)
{
    static char edges[ROOM];
    static const char text[] = "1 0\n2 0\n0 0\n3 0\n0 39\n";
    write_bytes(text, sizeof text - 1);
    for (int seed = 1; seed <= 20; seed++) {
        char settings[64];
        snprintf(settings, sizeof settings, "sample=1 self=1 seed=%d", seed);
        list_file(settings, edges);
        ck_assert_msg(strstr(edges, "0>0") != NULL && strstr(edges, "39>39") != NULL, "%s", edges);
    }
    unlink(path);
}
END_TEST

/* ---- what is refused ----------------------------------------------------------------------- */

#define BAD_MTX(rest) MTX("pattern general", rest)
static const struct {
    const char *text, *settings, *says; /* %: the path */
} refused[] = {
    /* lists of edges */
    { "0 1\n0\n", "", "%:2: one column, expected source and destination" },
    { "0 x\n", "", "%:1: the destination is 'x', expected a node from 0" },
    { "-1 0\n", "", "%:1: the source is '-1', expected a node" },
    { "0 2147483647\n", "", "%:1: the destination is '2147483647'" },
    { "0 99999999999999999999\n", "", "the destination is '99999999999999999999'" },
    { "0 1.5\n", "", "the destination is '1.5'" },
    { "0 1 a b\n", "", "%:1: a column after the third, 'b'" },
    { "0 1 a\n1 2\n", "", "%:2: no label, but other edges have one" },
    { "0 1 a\n1 0 \xff\n", "", "is not UTF-8 without control characters" },
    { "0 1 \xed\xa0\x80\n", "", "is not UTF-8 without control characters" },
    { "0 1 \xc0\xaf\n", "", "is not UTF-8 without control characters" },
    { "0 1 \x1b[31m\n", "", "%:1: the label '" },
    { "0 1\n1 2 a\n", "", "%:1: no label, but other edges have one" },
    { "3 3\n1 3\n", "header=1", "%:1: the header names 3 edges, but 1 follow" },
    { "3 1\n0 3\n", "header=1", "%:1: the header names 3 nodes, but node 3 occurs" },
    { "# nothing\n", "header=1", "header=1 expects a first line" },
    { "0 1\n", "base=1", "%: node 0 is in an edge, expected nodes from 1 on" },
    { "0 1\n", "labels=keys", "%: its edges have no labels" },
    { "0 1\n", "format=mtx", "%:1: '0', expected '%MatrixMarket'" },
    { "0 "
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaa"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaaaaaaaaaaaaaaaaa"
      "aaaaaaaaaaaaaaaaa\n",
      "", "%:1: a word of more than 255 bytes, starting aaaa" },
    /* Matrix Market */
    { "%%MatrixMarket\n", "", "%:1: the line ends, expected matrix" },
    { "%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n", "",
      "%:1: 'array', expected 'coordinate': only sparse" },
    { "%%MatrixMarket vector coordinate real general\n", "", "%:1: 'vector', expected 'matrix'" },
    { MTX("complex general", "1 1 0\n"), "",
      "%:1: the field 'complex', expected pattern, integer or real" },
    { MTX("real hermitian", "1 1 0\n"), "", "%:1: the symmetry 'hermitian', expected general" },
    { MTX("pattern general more", "1 1 0\n"), "", "%:1: more after the symmetry" },
    { BAD_MTX("% only a comment\n"), "", "%:3: the file ends, expected the size" },
    { BAD_MTX("3 2 1\n1 1\n"), "", "%:2: 3 rows and 2 columns, expected as many of each" },
    { BAD_MTX("3 3\n"), "", "%:2: the line ends, expected the number of entries" },
    { BAD_MTX("-1 3 1\n"), "", "%:2: the number of rows is '-1'" },
    { BAD_MTX("4294967296 4294967296 1\n"), "",
      "%:2: the number of rows is '4294967296', expected an integer from 0 to 2147483647" },
    { BAD_MTX("3 3 2 1\n"), "", "%:2: '1' after the size, expected the line's end" },
    { BAD_MTX("3 3 2\n1 1\n"), "", "%:4: the file ends after 1 of 2 entries" },
    { BAD_MTX("3 3 1\n1 1\n2 2\n"), "", "%:4: more than the 1 entries that the size says" },
    { BAD_MTX("3 3 1\n0 1\n"), "", "%:3: the row is '0', expected an integer from 1 to 3" },
    { BAD_MTX("3 3 1\n1 4\n"), "", "%:3: the column is '4', expected an integer from 1 to 3" },
    { BAD_MTX("3 3 1\n1\n"), "", "%:3: the line ends, expected a column" },
    { BAD_MTX("3 3 1\n1 1 7\n"), "", "%:3: '7' after the entry" },
    { MTX("integer general", "3 3 1\n1 1\n"), "", "%:3: the line ends, expected a value" },
    { MTX("integer general", "3 3 1\n1 1 1.5\n"), "", "%:3: the value is '1.5'" },
    { MTX("integer general", "3 3 1\n1 1 -2\n"), "repeat=1",
      "%:3: the number of parallel edges is '-2'" },
    { MTX("real general", "3 3 1\n1 1 1\n"), "labels=bias", "%: its edges have no labels" },
};

/* `says` with % as the path, %MatrixMarket excepted. */
static void expect_sentence(const char *says, const char *text)
{
    char wanted[512];
    const int here = says[0] == '%' && says[1] == ':';
    snprintf(wanted, sizeof wanted, "%s%s", here ? path : "", here ? says + 1 : says);
    char *percent = strstr(wanted, "'%MatrixMarket'");
    if (percent) memmove(percent + 2, percent + 1, strlen(percent)), percent[1] = '%';
    ck_assert_msg(strstr(text, wanted), "'%s' does not say '%s'", text, wanted);
}

START_TEST(a_malformed_text_is_refused_with_its_line)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    write_bytes(refused[_i].text, strlen(refused[_i].text));
    gsa_registry *registry = registry_of(NULL);
    ck_assert_int_eq(make(registry, refused[_i].settings, &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(pattern);
    expect_sentence(refused[_i].says, error.text);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

#ifdef GSA_TEST_IGRAPH
static const struct {
    const char *text, *says;
} bad_graphml[] = {
    { "<", "Extra content at the end" },
    { "<graphml", "Couldn't find end of Start Tag graphml" },
    { "<graphml></graphm>", "Opening and ending tag mismatch" },
    { "<graphml><graph edgedefault=\"directed\"><node id=\"a\"/>", "Extra content at the end" },
    { "<graphml><graph edgedefault=\"directed\"><node id=\"a</graph></graphml>",
      "Couldn't find end of Start Tag node" },
    { "<graphml><graph edgedefault=\"directed\"><node/></graph></graphml>",
      "Node with missing ID" },
    { "<graphml><graph edgedefault=\"directed\"><edge source=\"a\"/></graph></graphml>",
      "Edge with missing source or target" },
    { "<graphml><key id=\"k\" for=\"edge\" attr.name=\"x\" attr.type=\"vector\"/><graph "
      "edgedefault=\"directed\"/></graphml>",
      "Unknown attribute type 'vector'" },
    { "<html></html>", "holds no <graph>" },
    { "<graphml></graphml>", "holds no <graph>" },
    { "<graphml><graph edgedefault=\"directed\"><node id=\"a\"/></graph></graphml><x/>",
      "Extra content" },
    { "<graphml>\x01</graphml>", "PCDATA invalid Char value 1" },
    { "<!DOCTYPE graphml [<!ATTLIST key attr.name CDATA 'a'>]><graphml/>",
      "its DTD declares what its tags hold (<!ATTLIST, <!ENTITY), expected GraphML without" },
};

START_TEST(malformed_graphml_is_refused_in_igraphs_words)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    write_bytes(bad_graphml[_i].text, strlen(bad_graphml[_i].text));
    gsa_registry *registry = registry_of(NULL);
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, bad_graphml[_i].says), "%s",
                  error.text);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST
#endif

START_TEST(what_is_no_file_is_a_sentence)
{
    static const char *const names[] = { "/nowhere/at/all", "/tmp", "/proc/self/mem" };
    gsa_pattern *pattern;
    gsa_registry *registry = registry_of(NULL);
    for (int i = 0; i < GSA_COUNT(names); i++) {
        gsa_error error = { 0 };
        const gsa_setting setting = { "path", names[i] };
        ck_assert_int_eq(gsa_pattern_create(registry, "file", &setting, 1, &pattern, &error),
                         GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(error.text, names[i]) && strstr(error.text, "cannot be"), "%s",
                      error.text);
    }
    gsa_error error = { 0 };
    write_bytes("", 0);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600),
                     0); /* nobody writes: to open it would be to wait for ever */
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    expect_sentence("%: it is no regular file, which can be read again", error.text);
    unlink(path);
    write_bytes("0 1\0 2\n", 7);
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    expect_sentence("%:1: a zero byte, expected text", error.text);
    unlink(path);
    gsa_registry_release(registry);
}
END_TEST

/* Of zero bytes is also what a file of holes reads as: one that small files may be is refused at
 * the first zero, a larger one by what it stores. */
static const struct {
    const char *text, *says;
    int graphml; /* needs igraph */
} zeros[] = {
    { "0 1\n# ", "%:2: a zero byte, expected text", 0 },
    { "0 1\n%", "%:2: a zero byte, expected text", 0 },
    { BAD_MTX("% "), "%:2: a zero byte, expected text", 0 },
    { BAD_MTX("% a\n9 9 0\n%"), "%:4: a zero byte, expected text", 0 },
    { "<graphml>", "%: it holds a zero byte, expected GraphML in UTF-8", 1 },
};

START_TEST(what_is_zeros_is_not_read)
{
    gsa_pattern *pattern;
    gsa_registry *registry = registry_of(NULL);
    for (int large = 0; large < 2; large++) {
        gsa_error error = { 0 };
#ifndef GSA_TEST_IGRAPH
        if (zeros[_i].graphml && !large) continue;
#endif
        write_bytes(zeros[_i].text, strlen(zeros[_i].text));
        ck_assert_int_eq(truncate(path, large ? 2 << 20 : 1 << 10), 0);
        ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
        if (!large) expect_sentence(zeros[_i].says, error.text);
        else
            ck_assert_msg(strstr(error.text, path) && strstr(error.text, "' has 2097152 bytes") &&
                              strstr(error.text, "of them: a file of holes is not read"),
                          "%s", error.text);
        unlink(path);
    }
    gsa_registry_release(registry);
}
END_TEST

/* ---- packed files -------------------------------------------------------------------------- */

#if GSA_HAVE_ZLIB && GSA_HAVE_ZSTD
enum { GZIP, ZSTD, PACKINGS };

/* The bytes as .gz or .zst in `out`, of so many bytes of room. */
static size_t pack(int packing, const char *bytes, size_t count, char *out, size_t room)
{
    if (packing == ZSTD) return ZSTD_compress(out, room, bytes, count, 3);
    z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)count };
    z.next_out = (Bytef *)out, z.avail_out = (uInt)room;
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 5, Z_DEFAULT_STRATEGY);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* Each of the graphs above, and one of many chunks. */
START_TEST(a_packed_file_is_the_graph_that_it_says)
{
    const int which = _i / PACKINGS, packing = _i % PACKINGS;
    char bytes[4096], edges[4096];
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    write_bytes(bytes,
                pack(packing, graphs[which].text, strlen(graphs[which].text), bytes, sizeof bytes));
    gsa_registry *registry = registry_of(NULL);
    const gsa_status status = make(registry, graphs[which].settings, &pattern, &error);
    if (graphs[which].graphml) {
        ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
        expect_sentence("%: it is compressed GraphML: unpack it first", error.text);
    } else {
        ck_assert_msg(status == GSA_OK, "%s", error.text);
        list_edges(pattern, graphs[which].n, edges, sizeof edges);
        ck_assert_str_eq(edges, graphs[which].edges);
        gsa_pattern_release(pattern);
    }
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

START_TEST(a_long_packed_file)
{
    enum { LINES = 200000, BYTES = 16 * LINES };
    char *text = malloc(BYTES), *packed = malloc(BYTES);
    size_t used = 0;
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    for (int i = 0; i < LINES; i++)
        used += (size_t)snprintf(text + used, BYTES - used, "%d %d\n", i, (i * 7 + 1) % LINES);
    gsa_registry *registry = registry_of(NULL);
    uint64_t sum[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        gsa_instance *instance;
        gsa_edges edges;
        if (i) write_bytes(packed, pack(_i, text, used, packed, BYTES));
        else write_bytes(text, used);
        ck_assert_msg(make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
        const gsa_example example = { .struct_size = sizeof example, .length = LINES, .heads = 1 };
        ck_assert_int_eq(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error),
                         GSA_OK);
        gsa_instance_edges(instance, 0, &edges);
        ck_assert_int_eq(edges.edge_total, LINES);
        for (int64_t row = 0; row < edges.rows; row++)
            for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++)
                sum[i] = sum[i] * 31 + (uint64_t)edges.runs[r].first + (uint64_t)row;
        gsa_instance_release(instance);
        gsa_pattern_release(pattern);
        unlink(path);
    }
    ck_assert_uint_eq(sum[0], sum[1]);
    gsa_registry_release(registry);
    free(text), free(packed);
}
END_TEST

/* Cut anywhere, or with a wrong byte: a sentence or a graph, and a small file does not fill the
 * memory. */
START_TEST(a_bad_packed_file_is_a_sentence)
{
    enum { LARGE = (1 << 26) + 100 };
    static const char text[] = "0 1 a\n1 2 b\n2 0 c\n0 2 some\n";
    char bytes[512], bad[512];
    gsa_pattern *pattern = NULL;
    gsa_error error = { 0 };
    gsa_registry *registry = registry_of(NULL);
    const size_t count = pack(_i, text, sizeof text - 1, bytes, sizeof bytes);
    for (size_t cut = 5; cut < count; cut++) {
        write_bytes(bytes, cut);
        ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(error.text, "it is truncated"), "%s", error.text);
        unlink(path);
    }
    for (size_t at = 0; at < count; at++) {
        memcpy(bad, bytes, count), bad[at] ^= 0x55;
        write_bytes(bad, count);
        if (make(registry, "", &pattern, &error) == GSA_OK) gsa_pattern_release(pattern);
        else ck_assert_int_gt((int)strlen(error.text), 10);
        unlink(path);
    }
    char *large = malloc(LARGE), *packed = malloc(LARGE);
    memset(large, '\n', LARGE);
    write_bytes(packed, pack(_i, large, LARGE, packed, LARGE));
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "it unpacks to too much for its size: unpack it first"), "%s",
                  error.text);
    unlink(path);
    free(large), free(packed);
    gsa_registry_release(registry);
}
END_TEST

#endif

START_TEST(one_length_works)
{
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_error error = { 0 };
    write_bytes("0 1\n", 4);
    gsa_registry *registry = registry_of(NULL);
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_OK);
    const gsa_example example = { .struct_size = sizeof example, .length = 3, .heads = 1 };
    ck_assert_int_eq(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "the graph has 2 nodes, the length is 3"), "%s", error.text);
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    ck_assert_uint_eq(gsa_schema_flags(schema), GSA_BY_LENGTH | GSA_ONE_LENGTH);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

START_TEST(labels_are_what_the_parameter_says)
{
    static const struct {
        const char *settings;
        int use, labels;
    } uses[] = { { "", GSA_NAMES_ONLY, 3 },
                 { "labels=keys", GSA_KEY_VECTORS, 3 },
                 { "labels=bias", GSA_HEAD_BIAS, 3 },
                 { "labels=bias self=1", GSA_HEAD_BIAS, 4 },
                 { "labels=none", GSA_NAMES_ONLY, 1 } };
    write_bytes("0 1 x\n1 2 y\n2 0 z\n0 2 x\n", 24);
    gsa_registry *registry = registry_of(NULL);
    for (int i = 0; i < GSA_COUNT(uses); i++) {
        gsa_pattern *pattern;
        gsa_error error = { 0 };
        ck_assert_msg(make(registry, uses[i].settings, &pattern, &error) == GSA_OK, "%s",
                      error.text);
        const gsa_phase *phase = gsa_schema_phase(gsa_pattern_schema(pattern), 0);
        ck_assert_int_eq(phase->label_use, uses[i].use);
        ck_assert_int_eq(phase->labels, uses[i].labels);
        gsa_pattern_release(pattern);
    }
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

#ifdef GSA_TEST_IGRAPH
/* A name in GraphML may have any length; what asks for it has room for 255 bytes. */
START_TEST(a_long_name_is_cut_between_characters)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    for (int before = 0; before < 4; before++) { /* bytes before characters of four */
        char name[512] = "", text[1024], got[256], *at = name + before;
        memset(name, 'a', (size_t)before);
        for (int i = 0; i < 80; i++, at += 4) memcpy(at, "\xf0\x9f\x98\x80", 5);
        snprintf(text, sizeof text,
                 GRAPHML("<edge source='a' target='b'><data key='l'>%s</data></edge>"), name);
        write_bytes(text, strlen(text));
        gsa_registry *registry = registry_of(NULL);
        ck_assert_msg(make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
        gsa_pattern_topology(pattern)->label(gsa_pattern_self(pattern), 0, 0, got, sizeof got);
        ck_assert_int_eq(strlen(got), before + 252);
        ck_assert(strncmp(got, name, strlen(got)) == 0);
        gsa_pattern_release(pattern);
        gsa_registry_release(registry);
        unlink(path);
    }
}
END_TEST
#endif

START_TEST(many_labels_and_many_nodes_are_kept_apart)
{
    enum { N = 20000 };
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_edges edges;
    gsa_error error = { 0 };
    char *text = malloc(N * 32), *at = text;
    for (int i = 0; i < N; i++) at += sprintf(at, "%d %d %d\n", i, (i * 7919 + 1) % N, (N - i) * 3);
    write_bytes(text, (size_t)(at - text));
    free(text);
    gsa_registry *registry = registry_of(NULL);
    ck_assert_msg(make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
    const gsa_example example = { .struct_size = sizeof example, .length = N, .heads = 1 };
    ck_assert_msg(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    gsa_instance_edges(instance, 0, &edges);
    ck_assert_int_eq(edges.edge_total, N);
    for (int64_t row = 0; row < edges.rows; row++)
        for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++) {
            const gsa_run *run = &edges.runs[r];
            ck_assert_int_eq((run->first * INT64_C(7919) + 1) % N, row);
            ck_assert_int_eq(run->label, N - 1 - run->first); /* labels by number: 3, 6, ... */
        }
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST

/* ---- memory that runs out ------------------------------------------------------------------ */

static gsa_status attempt(gsa_faults *faults, void *settings)
{
    gsa_registry *registry;
    gsa_pattern *pattern = NULL;
    gsa_error error = { 0 };
    gsa_status status = gsa_registry_create(&faults->table, &registry, &error);
    if (status != GSA_OK) return status;
    status = gsa_registry_load(registry, getenv("GSA_TEST_FILE"), &error);
    if (status == GSA_OK) status = make(registry, settings, &pattern, &error);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    static const char text[] = "0 1 x\n1 2 y\n2 0 z\n0 2 x\n";
    write_bytes(text, 24);
#if GSA_HAVE_ZLIB && GSA_HAVE_ZSTD
    char bytes[512];
    if (_i == 1) unlink(path), write_bytes(bytes, pack(GZIP, text, 24, bytes, sizeof bytes));
#endif
    const int tried =
        gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, attempt, "labels=keys self=1 directed=0");
    ck_assert_int_gt(tried, 12);
    unlink(path);
}
END_TEST

/* ---- there and back ------------------------------------------------------------------------ */

static const char *const patterns[] = { "star",        "window:width=5", "bpt:k=1",
                                        "full:clip=2", "ring",           "longformer",
                                        "bigbird",     "star:cyclic=0",  "strided" };
static const int32_t lengths[] = { 0, 1, 2, 3, 7, 24 };

static int no_sync(void *user, int file)
{
    (void)user, (void)file;
    return 0;
}
static int no_sync_folder(void *user, const char *folder)
{
    (void)user, (void)folder;
    return 0;
}

/* Writes the pattern into `path` through the command's writer; returns its number of nodes. */
static int32_t write_pattern(const gsa_registry *registry, const char *text, int32_t n,
                             const char *end)
{
    gsa_stack_spec spec;
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_spec_parse(NULL, text, &spec, &error), GSA_OK);
    const gsa_part_spec *part = &spec.segments[0].parts[0];
    ck_assert_int_eq(
        gsa_pattern_create(registry, part->id, part->settings, part->n_settings, &pattern, &error),
        GSA_OK);
    gsa_spec_release(&spec);
    const gsa_example example = { .struct_size = sizeof example, .length = n, .heads = 1 };
    ck_assert_int_eq(gsa_pattern_instance(pattern, NULL, &example, NULL, 1, &instance, &error),
                     GSA_OK);
    const gsa_picture_stack stack = { .memory = -1 };
    const gsa_picture_sheet sheet = { .instance = instance,
                                      .schema = gsa_pattern_schema(pattern),
                                      .topology = gsa_pattern_topology(pattern),
                                      .self = gsa_pattern_self(pattern) };
    const gsa_picture picture = {
        .stacks = &stack, .sheets = &sheet, .n_stacks = 1, .n_sheets = 1
    };
    int format, nodes = 0;
    char named[64];
    gsa_output *output;
    snprintf(named, sizeof named, "%s%s", path, end);
    ck_assert_int_eq(gsa_format_of(named, &format, &error), GSA_OK);
    gsa_system quick = *gsa_system_default();
    quick.sync = no_sync, quick.sync_folder = no_sync_folder;
    ck_assert_int_eq(gsa_output_open(&quick, path, &output, &error), GSA_OK);
    ck_assert_msg(gsa_write_picture(NULL, &picture, format, output, &error) == GSA_OK, "%s",
                  error.text);
    ck_assert_msg(gsa_output_commit(output, &error) == GSA_OK, "%s", error.text);
    for (int k = 0; k < gsa_schema_kinds(sheet.schema); k++)
        nodes += (int)gsa_instance_nodes(instance, k);
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    return nodes;
}

/* The pattern as a matrix, then as `file` reads that and writes it again: the same bytes but for
 * the comment. */
static void check_round(const gsa_registry *registry, const char *text, int32_t n, const char *end)
{
    char *first, *second, spec[128];
    int64_t bytes;
    write_bytes("", 0);
    const int32_t nodes = write_pattern(registry, text, n, ".mtx");
    ck_assert_int_eq(gsa_read_file(NULL, path, 1 << 20, &first, &bytes, NULL), GSA_OK);
    write_pattern(registry, text, n, end);
    snprintf(spec, sizeof spec, "file:path=%s:repeat=1", path);
    write_pattern(registry, spec, nodes, ".mtx"); /* over the file that it has read */
    ck_assert_int_eq(gsa_read_file(NULL, path, 1 << 20, &second, &bytes, NULL), GSA_OK);
    const char *a = strchr(strchr(first, '\n') + 1, '\n'),
               *b = strchr(strchr(second, '\n') + 1, '\n');
    ck_assert_msg(strcmp(a, b) == 0, "%s, length %d, %s:\n%s\n%s", text, n, end, a, b);
    gsa_release(gsa_system_default(), first);
    gsa_release(gsa_system_default(), second);
    unlink(path);
}

START_TEST(what_was_written_comes_back)
{
    gsa_registry *registry = registry_of(NULL);
    for (int i = 0; i < GSA_COUNT(lengths); i++) {
        check_round(registry, patterns[_i], lengths[i], ".mtx");
#ifdef GSA_TEST_IGRAPH
        check_round(registry, patterns[_i], lengths[i], ".graphml");
#endif
    }
    gsa_registry_release(registry);
}
END_TEST

#ifndef GSA_TEST_IGRAPH
START_TEST(graphml_without_its_reader_is_a_sentence)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    write_bytes("<graphml/>", 10);
    gsa_registry *registry = registry_of(NULL);
    ck_assert_int_eq(make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "this build has no reader for it"), "%s", error.text);
    gsa_registry_release(registry);
    unlink(path);
}
END_TEST
#endif

static const gsa_test format_tests[] = { GSA_LOOP(a_file_is_the_graph_that_it_says,
                                                  GSA_COUNT(graphs)),
                                         GSA_TEST(a_row_reads_a_sample),
                                         GSA_TEST(a_sample_keeps_the_self_edge),
#ifdef GSA_TEST_IGRAPH
                                         GSA_TEST(a_long_name_is_cut_between_characters),
#endif
                                         GSA_TEST(labels_are_what_the_parameter_says),
                                         GSA_TEST(many_labels_and_many_nodes_are_kept_apart),
                                         GSA_TEST(one_length_works) };
static const gsa_test refusal_tests[] = {
    GSA_LOOP(a_malformed_text_is_refused_with_its_line, GSA_COUNT(refused)),
#ifdef GSA_TEST_IGRAPH
    GSA_LOOP(malformed_graphml_is_refused_in_igraphs_words, GSA_COUNT(bad_graphml)),
#else
    GSA_TEST(graphml_without_its_reader_is_a_sentence),
#endif
    GSA_TEST(what_is_no_file_is_a_sentence),
    GSA_LOOP(what_is_zeros_is_not_read, GSA_COUNT(zeros)),
};
static const gsa_test memory_tests[] = { GSA_LOOP(every_allocation_may_fail, 2) };
#if GSA_HAVE_ZLIB && GSA_HAVE_ZSTD
static const gsa_test packed_tests[] = {
    GSA_LOOP(a_packed_file_is_the_graph_that_it_says, PACKINGS *GSA_COUNT(graphs)),
    GSA_LOOP(a_long_packed_file, PACKINGS),
    GSA_LOOP(a_bad_packed_file_is_a_sentence, PACKINGS),
};
#endif
static const gsa_test round_tests[] = { GSA_LOOP(what_was_written_comes_back,
                                                 GSA_COUNT(patterns)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = {
        GSA_CASE("formats", format_tests, 60),
        GSA_CASE("refusals", refusal_tests, 60),
#if GSA_HAVE_ZLIB && GSA_HAVE_ZSTD
        GSA_CASE("packed", packed_tests, 60),
#endif
        GSA_CASE("memory", memory_tests, 60),
        GSA_CASE("round_trip", round_tests, 60)
    };
    return gsa_run_suite("file", cases, GSA_COUNT(cases), argc, argv);
}
