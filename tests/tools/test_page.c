/* test_page.c - pages of gsa graph and gsa attend without a browser: their data is the GraphML's,
 * edge by edge; no text leaves its place; no address is in them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "graph/xml.h"
#include "page_data.h"
#include "support/suite.h"
#include "support/thin.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

/* Both files of the same call. */
static void write_both(const char *const *args)
{
    const char *more[GSA_CLI_ARGS + 1] = { NULL };
    int n = 0;
    for (; args[n]; n++) more[n] = args[n];
    ck_assert_int_le(n + 2, GSA_CLI_ARGS);
    more[n] = "--out";
    more[n + 1] = "a.graphml", run(more);
    more[n + 1] = "a.html", run(more);
}

static void same_text(const char *document, const char *key, int64_t place, const char *text)
{
    char *there = xml_data(document, key, (int)place);
    ck_assert_msg(there && strcmp(there, text) == 0, "%s %lld: '%s', the page has '%s'", key,
                  (long long)place, there, text);
    free(there);
}

/* The page's edges, names and weights are the GraphML's, but for `off`; texts of every `step`-th
 * edge. */
static void same_edges(int step, double off)
{
    int64_t count, same;
    char *document = gsa_cli_read("a.graphml");
    page_data page = page_data_read("a.html");
    xml_edge *edge = xml_edges(document, &count);
    double *layer = xml_numbers(document, "e_layer", &same);
    ck_assert_int_eq(page.edges, count);
    ck_assert_int_eq(json_integer_value(json_object_get(page.json, "nodes")),
                     xml_count(document, "node"));
    for (int64_t i = 0; i < count; i++) {
        const page_edge *own = &page.edge[i];
        if (own->from != edge[i].from || own->to != edge[i].to || own->label != edge[i].label ||
            own->head_from != edge[i].head_from || own->head_to != edge[i].head_to ||
            (double)page_layer(&page, own) != layer[i])
            ck_abort_msg("edge %lld is another", (long long)i);
        if (i % step) continue;
        same_text(document, "e_name", i, page_label(&page, own));
        same_text(document, "e_interaction", i, page_phase(&page, own));
    }
    for (int64_t h = 0; h < page.columns; h++) {
        char key[24];
        snprintf(key, sizeof key, "e_w%lld", (long long)h);
        double *weight = xml_numbers(document, key, &same);
        ck_assert_int_eq(same, count);
        for (int64_t i = 0; i < count; i++)
            if (!(fabs(weight[i] - page.weight[i * page.columns + h]) < off))
                ck_abort_msg("edge %lld, head %lld: %.9g, the page has %.9g", (long long)i,
                             (long long)h, weight[i], page.weight[i * page.columns + h]);
        free(weight);
    }
    free(document), free(edge), free(layer);
    page_data_release(&page);
}

static const char *const patterns[][9] = {
    { "--topology", "star*2", "--text", "the quick brown fox" },
    { "--topology", "bpt:k=2", "--length", "13" },
    { "--topology", "full:clip=3+ring,star", "--length", "7" },
    { "--topology", "head_area:width=3:heads=3", "--length", "6", "--heads", "4" },
    { "--topology", "bpt:k=1:causal=1+cross", "--length", "5", "--memory", "star",
      "--memory-length", "4" },
    { "--topology", "bigbird", "--length", "300" }, /* node numbers of two bytes */
    { "--topology", "window:width=3", "--length", "0" },
    { "--topology", "star", "--length", "1" },
};

START_TEST(a_pattern_is_the_graphmls)
{
    const char *args[GSA_CLI_ARGS + 1] = { "graph" };
    for (int i = 0; i < 9 && patterns[_i][i]; i++) args[i + 1] = patterns[_i][i];
    gsa_cli_enter();
    write_both(args);
    same_edges(7 * GSA_THIN(7), 1e-7);
    gsa_cli_leave();
}
END_TEST

START_TEST(weights_are_the_graphmls)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set",
             "model.encoder=star*2,full:clip=2+ring", "--out", "text"));
    write_both(ARGS("attend", "--model", "text", "--text", "a good film", "--quiet"));
    same_edges(1, 1e-7);
    page_data page = page_data_read("a.html");
    ck_assert_int_eq(page.columns, 2);
    page_data_release(&page);
    write_both(ARGS("attend", "--model", "text", "--example", "1", "--layer", "2", "--quiet"));
    same_edges(1, 1e-7);
    gsa_cli_leave();
}
END_TEST

/* Of more than 200,000 weights the page has multiples of a step, of at most 1e-4. */
START_TEST(many_weights_are_the_graphmls)
{
    enum { WORDS = 320 };
    static const char *const words[] = { "good ", "bad ", "film ", "a " };
    char text[8 * WORDS] = "";
    for (int i = 0; i < WORDS; i++) strcat(text, words[i * i % 7 % 4]);
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "model.encoder=full",
             "--out", "text"));
    write_both(ARGS("attend", "--model", "text", "--text", text, "--quiet"));
    same_edges(9973 * GSA_THIN(5), 0.5e-4 + 1e-7);
    page_data page = page_data_read("a.html");
    ck_assert_int_gt(page.edges * page.columns, 200000);
    page_data_release(&page);
    gsa_cli_leave();
}
END_TEST

/* The name in quotes after `tag`, where the document has it; no call here reads to its end. */
static int name_at(const char *at, const char *tag, char name[64])
{
    int used = 0;
    while (*tag)
        if (*at++ != *tag++) return 0;
    while (used < 63 && *at && *at != '"') name[used++] = *at++;
    name[used] = 0;
    return *at == '"';
}

/* What a strict reader asks of a GraphML, small or too large for colours: each datum has a key. */
START_TEST(every_datum_has_a_key)
{
    static const char *const lengths[] = { "5", "150" };
    gsa_cli_enter();
    for (int i = 0; i < GSA_COUNT(lengths); i++) {
        char known[4096] = " ", id[64], wanted[72];
        int64_t data = 0;
        run(ARGS("graph", "--topology", "full", "--length", lengths[i], "--out", "a.graphml"));
        char *document = gsa_cli_read("a.graphml");
        for (const char *at = document; (at = strchr(at, '<')); at++) {
            if (name_at(at, "<key id=\"", id)) {
                const size_t used = strlen(known);
                snprintf(known + used, sizeof known - used, "%s ", id);
            }
            if (!name_at(at, "<data key=\"", id)) continue;
            snprintf(wanted, sizeof wanted, " %s ", id), data++;
            ck_assert_msg(strstr(known, wanted) != NULL, "length %s: no key %s", lengths[i], id);
        }
        ck_assert_int_gt(data, 100);
        free(document);
    }
    gsa_cli_leave();
}
END_TEST

/* A page and numbers take several pictures, other formats are refused before anything is written;
 * --set is for the first. */
START_TEST(several_patterns_are_one_page)
{
    json_error_t error;
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "window", "--beside", "window:width=3", "--beside", "star",
             "--length", "4", "--set", "width=5", "--out", "a.json"));
    json_t *json = json_load_file("a.json", 0, &error);
    const json_t *pictures = json_object_get(json, "pictures");
    static const char *const specs[] = { "window:width=5", "window:width=3", "star" };
    ck_assert_int_eq(json_array_size(pictures), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(json_string_value(json_object_get(json_array_get(pictures, i), "spec")),
                         specs[i]);
    json_decref(json);
    static const char *const refused[] = { "a.graphml", "a.dot", "a.mtx" };
    for (int i = 0; i < GSA_COUNT(refused); i++) {
        gsa_cli_run(ARGS("graph", "--topology", "star", "--beside", "ring", "--length", "4",
                         "--out", refused[i]),
                    NULL, &ran);
        ck_assert(ran.code == 2 && strstr(ran.err, "--beside needs a page or numbers") &&
                  !gsa_cli_exists(refused[i]));
    }
    gsa_cli_run(
        ARGS("graph", "--topology", "star", "--beside", "rng", "--length", "4", "--format", "html"),
        NULL, &ran);
    ck_assert(ran.code == 2 && *ran.out == 0);
    gsa_cli_leave();
}
END_TEST

START_TEST(the_same_call_gives_the_same_bytes)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "star", "--length", "9", "--out", "a.html"));
    run(ARGS("graph", "--topology", "star", "--length", "9", "--format", "html", "--out", "-"));
    char *file = gsa_cli_read("a.html");
    ck_assert_msg(strncmp(file, ran.out, strlen(ran.out)) == 0 && strlen(ran.out) > 10000,
                  "standard output has another page");
    free(file);
    gsa_cli_leave();
}
END_TEST

/* ---- numbers of heads ---------------------------------------------------------------------- */

typedef struct wanted { /* of one layer, phase and head, from the GraphML */
    double entropy, self, distance, relay;
    int rows;
} wanted;

/* The shares of a row, reckoned from their definition. Nodes: 4 embeddings, 4 tokens, a relay in
 * the middle of them. */
static wanted from_graphml(const xml_edge *edge, const double *weight, const double *layer,
                           char **phase, int64_t count, int in, const char *of)
{
    wanted w = { 0 };
    double all = 0;
    for (int64_t node = 0; node < 9; node++) {
        double sum = 0, entropy = 0, distance = 0, self = 0;
        for (int64_t e = 0; e < count; e++) {
            if (edge[e].to != node || (int)layer[e] != in || strcmp(phase[e], of) != 0) continue;
            const double from = edge[e].from == 8 ? 1.5 : (double)(edge[e].from % 4);
            const double to = node == 8 ? 1.5 : (double)(node % 4);
            sum += weight[e];
            if (weight[e] > 0) entropy -= weight[e] * log(weight[e]) / log(2);
            distance += weight[e] * fabs(from - to);
            if (edge[e].from == node) self += weight[e];
            all += weight[e], w.relay += edge[e].from == 8 ? weight[e] : 0;
        }
        if (!(sum > 0)) continue;
        w.rows++, w.entropy += entropy, w.distance += distance, w.self += self;
    }
    w.entropy /= w.rows, w.distance /= w.rows, w.self /= w.rows, w.relay /= all;
    return w;
}

static void same_number(const json_t *head, const char *key, double expected)
{
    const double own = json_number_value(json_object_get(head, key));
    ck_assert_msg(fabs(own - expected) < 1e-6, "%s is %.9g, expected %.9g", key, own, expected);
}

/* A line of the CSV has each number of the JSON. */
static void same_csv(const char *csv, const json_t *head, const char *key)
{
    char start[128];
    snprintf(start, sizeof start, "\n\"\",\"\",%lld,\"%s\",%lld,%s,\"\",",
             (long long)json_integer_value(json_object_get(head, "layer")),
             json_string_value(json_object_get(head, "phase")),
             (long long)json_integer_value(json_object_get(head, "head")), key);
    const char *at = strstr(csv, start);
    ck_assert_msg(at != NULL, "no line begins with '%s'", start + 1);
    ck_assert(strtod(at + strlen(start), NULL) == json_number_value(json_object_get(head, key)));
}

START_TEST(numbers_of_heads_are_their_definitions)
{
    int64_t count, same;
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "model.encoder=star*2",
             "--out", "text"));
    static const char *const files[] = { "a.graphml", "a.json", "a.csv", "a.html" };
    for (int f = 0; f < GSA_COUNT(files); f++)
        run(ARGS("attend", "--model", "text", "--text", "a very good film", "--quiet", "--out",
                 files[f]));
    json_error_t error;
    json_t *json = json_load_file("a.json", 0, &error);
    page_data page = page_data_read("a.html");
    ck_assert_msg(json != NULL, "%s", error.text);
    char *document = gsa_cli_read("a.graphml"), *csv = gsa_cli_read("a.csv");
    xml_edge *edge = xml_edges(document, &count);
    double *layer = xml_numbers(document, "e_layer", &same);
    double *weight[] = { xml_numbers(document, "e_w0", &same),
                         xml_numbers(document, "e_w1", &same) };
    char **phase = calloc((size_t)count, sizeof *phase);
    for (int64_t e = 0; e < count; e++) phase[e] = xml_data(document, "e_interaction", (int)e);
    const json_t *numbers =
        json_object_get(json_array_get(json_object_get(json, "pictures"), 0), "numbers");
    ck_assert_int_eq(json_array_size(numbers), 8); /* 2 layers, down and up, 2 heads */
    ck_assert(json_equal(numbers, json_object_get(page.json, "numbers")));
    for (size_t i = 0; i < 8; i++) {
        const json_t *head = json_array_get(numbers, i);
        const int64_t h = json_integer_value(json_object_get(head, "head"));
        const wanted w = from_graphml(edge, weight[h], layer, phase, count,
                                      (int)json_integer_value(json_object_get(head, "layer")),
                                      json_string_value(json_object_get(head, "phase")));
        same_number(head, "rows", w.rows);
        same_number(head, "entropy", w.entropy);
        same_number(head, "distance", w.distance);
        same_number(head, "self", w.self);
        same_number(json_object_get(head, "kinds"), "relay", w.relay);
        ck_assert(json_is_false(json_object_get(head, "only_self")));
        same_csv(csv, head, "entropy"), same_csv(csv, head, "distance");
    }
    for (int64_t e = 0; e < count; e++) free(phase[e]);
    free(phase), free(document), free(csv), free(edge), free(layer), free(weight[0]);
    free(weight[1]);
    json_decref(json);
    page_data_release(&page);
    gsa_cli_leave();
}
END_TEST

/* A window of one token is a head that reads nothing but itself. */
START_TEST(a_head_that_reads_itself_is_told)
{
    json_error_t error;
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "window:width=1", "--length", "4", "--out", "a.json"));
    json_t *json = json_load_file("a.json", 0, &error);
    ck_assert_msg(json != NULL, "%s", error.text);
    const json_t *head = json_array_get(
        json_object_get(json_array_get(json_object_get(json, "pictures"), 0), "numbers"), 0);
    same_number(head, "self", 1), same_number(head, "entropy", 0);
    ck_assert(json_is_true(json_object_get(head, "only_self")));
    json_decref(json);
    gsa_cli_leave();
}
END_TEST

/* ---- texts --------------------------------------------------------------------------------- */

static const char *const hostile[] = { "</script><script>alert(1)</script>",
                                       "<!--<script>",
                                       "\"quotes\\'single'\"",
                                       "\u202eright\u202d\u05d0\u05d1",
                                       "\U0001F600\U0001F1E9\U0001F1EA",
                                       "&lt;&amp;",
                                       "a\x7f%s\\u003c" };

START_TEST(a_hostile_text_stays_a_text)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "full", "--text", hostile[_i], "--out", "a.html"));
    page_data page = page_data_read("a.html"); /* refuses a '<' in the data */
    const json_t *tokens = json_object_get(page.json, "tokens");
    ck_assert_int_eq(json_array_size(tokens), 1);
    ck_assert_str_eq(json_string_value(json_array_get(tokens, 0)), hostile[_i]);
    page_data_release(&page);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_megabyte_is_one_token)
{
    enum { SIZE = 1 << 20 };
    char *big = malloc(SIZE + 1), *recipe = malloc(SIZE + 64);
    for (int i = 0; i < SIZE; i++) big[i] = "ab<&\"'>/"[i % 8];
    big[SIZE] = 0;
    snprintf(recipe, SIZE + 64, "pos\t%s\nneg\tbad\n", big);
    gsa_cli_enter();
    gsa_cli_write("big.tsv", recipe);
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "text"));
    run(ARGS("attend", "--model", "text", "--example", "0", "--set", "data.test=big.tsv", "--quiet",
             "--out", "a.html"));
    page_data page = page_data_read("a.html");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(page.json, "tokens"), 0)),
                     big);
    page_data_release(&page);
    free(big), free(recipe);
    gsa_cli_leave();
}
END_TEST

START_TEST(nothing_in_the_page_has_an_address)
{
    static const char *const forbidden[] = { "https:", "src=",      "@import",        "url(",
                                             "href=",  "fetch(",    "XMLHttpRequest", "WebSocket",
                                             "eval(",  "innerHTML", "@DATA@",         "@SCRIPT" };
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "star", "--length", "3", "--out", "a.html"));
    char *page = gsa_cli_read("a.html");
    for (int i = 0; i < GSA_COUNT(forbidden); i++)
        ck_assert_msg(strstr(page, forbidden[i]) == NULL, "the page has '%s'", forbidden[i]);
    ck_assert_ptr_nonnull(strstr(page, "content=\"default-src 'none';"));
    free(page);
    gsa_cli_leave();
}
END_TEST

START_TEST(an_edge_takes_few_bytes)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "star", "--length", "0", "--out", "empty.html"));
    run(ARGS("graph", "--topology", "window:width=101", "--length", "5000", "--out", "a.html"));
    page_data empty = page_data_read("empty.html"), page = page_data_read("a.html");
    const double each = (double)(page.bytes - empty.bytes) / (double)page.edges;
    ck_assert_int_gt(page.edges, 500000);
    ck_assert_msg(page.bytes < 12 * page.edges && each < 1, "%.2f bytes an edge", each);
    ck_assert_int_lt(empty.bytes, 90000);
    page_data_release(&page), page_data_release(&empty);
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test data[] = { GSA_LOOP(a_pattern_is_the_graphmls, GSA_COUNT(patterns)),
                                     GSA_TEST(weights_are_the_graphmls),
                                     GSA_TEST(many_weights_are_the_graphmls),
                                     GSA_TEST(every_datum_has_a_key),
                                     GSA_TEST(several_patterns_are_one_page),
                                     GSA_TEST(the_same_call_gives_the_same_bytes),
                                     GSA_TEST(numbers_of_heads_are_their_definitions),
                                     GSA_TEST(a_head_that_reads_itself_is_told),
                                     GSA_TEST(an_edge_takes_few_bytes) };
    static const gsa_test texts[] = { GSA_LOOP(a_hostile_text_stays_a_text, GSA_COUNT(hostile)),
                                      GSA_TEST(a_megabyte_is_one_token),
                                      GSA_TEST(nothing_in_the_page_has_an_address) };
    static const gsa_case cases[] = { GSA_CASE("data", data, 120), GSA_CASE("texts", texts, 30) };
    return gsa_run_suite("page", cases, GSA_COUNT(cases), argc, argv);
}
