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

/* The page's edges, names and weights are the GraphML's; texts of every `step`-th edge. */
static void same_edges(int step)
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
        ck_assert_msg(own->from == edge[i].from && own->to == edge[i].to &&
                          own->label == edge[i].label && own->head_from == edge[i].head_from &&
                          own->head_to == edge[i].head_to &&
                          (double)page_layer(&page, own) == layer[i],
                      "edge %lld is another", (long long)i);
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
            ck_assert_msg(fabs(weight[i] - page.weight[i * page.columns + h]) < 1e-7,
                          "edge %lld, head %lld: %.9g, the page has %.9g", (long long)i,
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
    same_edges(7);
    gsa_cli_leave();
}
END_TEST

START_TEST(weights_are_the_graphmls)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set",
             "model.encoder=star*2,full:clip=2+ring", "--out", "text"));
    write_both(ARGS("attend", "--model", "text", "--text", "a good film", "--quiet"));
    same_edges(1);
    page_data page = page_data_read("a.html");
    ck_assert_int_eq(page.columns, 2);
    page_data_release(&page);
    write_both(ARGS("attend", "--model", "text", "--example", "1", "--layer", "2", "--quiet"));
    same_edges(1);
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
    ck_assert_msg(page.bytes < 12 * page.edges && each < 4, "%.2f bytes an edge", each);
    ck_assert_int_lt(empty.bytes, 90000);
    page_data_release(&page), page_data_release(&empty);
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test data[] = { GSA_LOOP(a_pattern_is_the_graphmls, GSA_COUNT(patterns)),
                                     GSA_TEST(weights_are_the_graphmls),
                                     GSA_TEST(the_same_call_gives_the_same_bytes),
                                     GSA_TEST(an_edge_takes_few_bytes) };
    static const gsa_test texts[] = { GSA_LOOP(a_hostile_text_stays_a_text, GSA_COUNT(hostile)),
                                      GSA_TEST(a_megabyte_is_one_token),
                                      GSA_TEST(nothing_in_the_page_has_an_address) };
    static const gsa_case cases[] = { GSA_CASE("data", data, 120), GSA_CASE("texts", texts, 30) };
    return gsa_run_suite("page", cases, GSA_COUNT(cases), argc, argv);
}
