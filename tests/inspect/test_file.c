/* The topology `file`, loaded as every plugin is: what its formats mean, what it refuses, what
 * gsa_write_picture wrote comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "file_rig.h"
#include "graph/write.h"
#include "topologies/spec.h"

/* ---- what the formats mean ----------------------------------------------------------------- */

START_TEST(a_file_is_the_graph_that_it_says)
{
    char edges[4096];
    gsa_pattern *pattern;
    gsa_error error = { 0 };
#ifndef GSA_TEST_IGRAPH
    if (file_graphs[_i].graphml) return;
#endif
    file_write(file_graphs[_i].text, strlen(file_graphs[_i].text));
    gsa_registry *registry = file_registry(NULL);
    ck_assert_msg(file_make(registry, file_graphs[_i].settings, &pattern, &error) == GSA_OK, "%s",
                  error.text);
    file_edges(pattern, file_graphs[_i].n, 0, edges, sizeof edges);
    ck_assert_str_eq(edges, file_graphs[_i].edges);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    unlink(file_path);
}
END_TEST

/* ---- samples ------------------------------------------------------------------------------- */

static int64_t draw; /* of the examples */
enum { NODES = 40, ROOM = 16384 };

static void list_file(const char *settings, char edges[ROOM])
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    gsa_registry *registry = file_registry(NULL);
    ck_assert_msg(file_make(registry, settings, &pattern, &error) == GSA_OK, "%s", error.text);
    file_edges(pattern, NODES, draw, edges, ROOM);
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
    file_write(text, used);
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
    unlink(file_path);
}
END_TEST

START_TEST(a_sample_keeps_the_self_edge)
{
    static char edges[ROOM];
    static const char text[] = "1 0\n2 0\n0 0\n3 0\n0 39\n";
    file_write(text, sizeof text - 1);
    for (int seed = 1; seed <= 20; seed++) {
        char settings[64];
        snprintf(settings, sizeof settings, "sample=1 self=1 seed=%d", seed);
        list_file(settings, edges);
        ck_assert_msg(strstr(edges, "0>0") != NULL && strstr(edges, "39>39") != NULL, "%s", edges);
    }
    unlink(file_path);
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

START_TEST(a_malformed_text_is_refused_with_its_line)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    file_write(refused[_i].text, strlen(refused[_i].text));
    gsa_registry *registry = file_registry(NULL);
    ck_assert_int_eq(file_make(registry, refused[_i].settings, &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(pattern);
    file_expect(refused[_i].says, error.text);
    gsa_registry_release(registry);
    unlink(file_path);
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
    file_write(bad_graphml[_i].text, strlen(bad_graphml[_i].text));
    gsa_registry *registry = file_registry(NULL);
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, file_path) && strstr(error.text, bad_graphml[_i].says), "%s",
                  error.text);
    gsa_registry_release(registry);
    unlink(file_path);
}
END_TEST
#endif

START_TEST(what_is_no_file_is_a_sentence)
{
    static const char *const names[] = { "/nowhere/at/all", "/tmp", "/proc/self/mem" };
    gsa_pattern *pattern;
    gsa_registry *registry = file_registry(NULL);
    for (int i = 0; i < GSA_COUNT(names); i++) {
        gsa_error error = { 0 };
        const gsa_setting setting = { "path", names[i] };
        ck_assert_int_eq(gsa_pattern_create(registry, "file", &setting, 1, &pattern, &error),
                         GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(error.text, names[i]) && strstr(error.text, "cannot be"), "%s",
                      error.text);
    }
    gsa_error error = { 0 };
    file_write("", 0);
    unlink(file_path);
    ck_assert_int_eq(mkfifo(file_path, 0600),
                     0); /* nobody writes: to open it would be to wait for ever */
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    file_expect("%: it is no regular file, which can be read again", error.text);
    unlink(file_path);
    file_write("0 1\0 2\n", 7);
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    file_expect("%:1: a zero byte, expected text", error.text);
    unlink(file_path);
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
    gsa_registry *registry = file_registry(NULL);
    for (int large = 0; large < 2; large++) {
        gsa_error error = { 0 };
#ifndef GSA_TEST_IGRAPH
        if (zeros[_i].graphml && !large) continue;
#endif
        file_write(zeros[_i].text, strlen(zeros[_i].text));
        ck_assert_int_eq(truncate(file_path, large ? 2 << 20 : 1 << 10), 0);
        ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
        if (!large) file_expect(zeros[_i].says, error.text);
        else
            ck_assert_msg(strstr(error.text, file_path) &&
                              strstr(error.text, "' has 2097152 bytes") &&
                              strstr(error.text, "of them: a file of holes is not read"),
                          "%s", error.text);
        unlink(file_path);
    }
    gsa_registry_release(registry);
}
END_TEST

START_TEST(one_length_works)
{
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_error error = { 0 };
    file_write("0 1\n", 4);
    gsa_registry *registry = file_registry(NULL);
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_OK);
    const gsa_example example = { .struct_size = sizeof example, .length = 3, .heads = 1 };
    ck_assert_int_eq(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "the graph has 2 nodes, the length is 3"), "%s", error.text);
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    ck_assert_uint_eq(gsa_schema_flags(schema), GSA_BY_LENGTH | GSA_ONE_LENGTH);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    unlink(file_path);
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
    file_write("0 1 x\n1 2 y\n2 0 z\n0 2 x\n", 24);
    gsa_registry *registry = file_registry(NULL);
    for (int i = 0; i < GSA_COUNT(uses); i++) {
        gsa_pattern *pattern;
        gsa_error error = { 0 };
        ck_assert_msg(file_make(registry, uses[i].settings, &pattern, &error) == GSA_OK, "%s",
                      error.text);
        const gsa_phase *phase = gsa_schema_phase(gsa_pattern_schema(pattern), 0);
        ck_assert_int_eq(phase->label_use, uses[i].use);
        ck_assert_int_eq(phase->labels, uses[i].labels);
        gsa_pattern_release(pattern);
    }
    gsa_registry_release(registry);
    unlink(file_path);
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
        file_write(text, strlen(text));
        gsa_registry *registry = file_registry(NULL);
        ck_assert_msg(file_make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
        gsa_pattern_topology(pattern)->label(gsa_pattern_self(pattern), 0, 0, got, sizeof got);
        ck_assert_int_eq(strlen(got), before + 252);
        ck_assert(strncmp(got, name, strlen(got)) == 0);
        gsa_pattern_release(pattern);
        gsa_registry_release(registry);
        unlink(file_path);
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
    file_write(text, (size_t)(at - text));
    free(text);
    gsa_registry *registry = file_registry(NULL);
    ck_assert_msg(file_make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
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
    unlink(file_path);
}
END_TEST

/* ---- memory that runs out ------------------------------------------------------------------ */

START_TEST(every_allocation_may_fail)
{
    static const char text[] = "0 1 x\n1 2 y\n2 0 z\n0 2 x\n";
    file_write(text, 24);
    const int tried = gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, file_attempt,
                                       "labels=keys self=1 directed=0");
    ck_assert_int_gt(tried, 12);
    unlink(file_path);
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

/* Writes the pattern into `file_path` through the command's writer; returns its number of nodes. */
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
    snprintf(named, sizeof named, "%s%s", file_path, end);
    ck_assert_int_eq(gsa_format_of(named, &format, &error), GSA_OK);
    gsa_system quick = *gsa_system_default();
    quick.sync = no_sync, quick.sync_folder = no_sync_folder;
    ck_assert_int_eq(gsa_output_open(&quick, file_path, &output, &error), GSA_OK);
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
    file_write("", 0);
    const int32_t nodes = write_pattern(registry, text, n, ".mtx");
    ck_assert_int_eq(gsa_read_file(NULL, file_path, 1 << 20, &first, &bytes, NULL), GSA_OK);
    write_pattern(registry, text, n, end);
    snprintf(spec, sizeof spec, "file:path=%s:repeat=1", file_path);
    write_pattern(registry, spec, nodes, ".mtx"); /* over the file that it has read */
    ck_assert_int_eq(gsa_read_file(NULL, file_path, 1 << 20, &second, &bytes, NULL), GSA_OK);
    const char *a = strchr(strchr(first, '\n') + 1, '\n'),
               *b = strchr(strchr(second, '\n') + 1, '\n');
    ck_assert_msg(strcmp(a, b) == 0, "%s, length %d, %s:\n%s\n%s", text, n, end, a, b);
    gsa_release(gsa_system_default(), first);
    gsa_release(gsa_system_default(), second);
    unlink(file_path);
}

START_TEST(what_was_written_comes_back)
{
    gsa_registry *registry = file_registry(NULL);
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
    file_write("<graphml/>", 10);
    gsa_registry *registry = file_registry(NULL);
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "this build has no reader for it"), "%s", error.text);
    gsa_registry_release(registry);
    unlink(file_path);
}
END_TEST
#endif

static const gsa_test format_tests[] = { GSA_LOOP(a_file_is_the_graph_that_it_says, FILE_GRAPHS),
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
static const gsa_test memory_tests[] = { GSA_TEST(every_allocation_may_fail) };
static const gsa_test round_tests[] = { GSA_LOOP(what_was_written_comes_back,
                                                 GSA_COUNT(patterns)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("formats", format_tests, 60),
                                      GSA_CASE("refusals", refusal_tests, 60),
                                      GSA_CASE("memory", memory_tests, 60),
                                      GSA_CASE("round_trip", round_tests, 60) };
    return gsa_run_suite("file", cases, GSA_COUNT(cases), argc, argv);
}
