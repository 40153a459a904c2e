/* gsa-inspect in a child: options, exit codes, the table and JSON, pictures that are whole or not
 * there. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "drawn.h"
#include "support/suite.h"
#include "tools/cli.h"

static gsa_ran ran;
#define ARGS(...) ((const char *[]){ __VA_ARGS__, NULL })

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
}

/* star.graphml of 12 tokens in the test's folder. */
static void enter(void)
{
    gsa_cli_enter();
    drawn d = drawn_make("star", 12, 0);
    char *text = gsa_cli_read(d.path);
    gsa_cli_write("star.graphml", text);
    free(text);
    drawn_end(&d);
}

static const struct {
    const char *args[6];
    int code;
    const char *says; /* on stderr */
} calls[] = {
    { { NULL }, 2, "'gsa-inspect' needs FILE.graphml: usage: gsa-inspect FILE.graphml [options]" },
    { { "star.graphml", "other" }, 2, "'gsa-inspect' does not know what to do with 'other'" },
    { { "star.graphml", "--stile", "arc" }, 2, "'gsa-inspect' has no option 'stile'" },
    { { "star.graphml", "--style", "oval" },
      2,
      "'gsa-inspect --style' is 'oval', expected one of auto|arc" },
    { { "star.graphml", "-s" }, 2, "options are spelled out, see 'gsa-inspect --help'" },
    { { "nothing.graphml" }, 1, "'nothing.graphml' cannot be opened: No such file" },
    { { "." }, 1, "it is a folder" },
    { { "star.graphml", "--phase", "sideways" },
      2,
      "no phase is named 'sideways'; the file has: down, up" },
    { { "star.graphml", "--layer", "3" }, 2, "layer 3, expected 0 to 0" },
    { { "star.graphml", "--head", "0" }, 2, "the file has no weights of single heads" },
    { { "star.graphml", "--svg", "a.svg", "--node", "99" }, 2, "node 99, the graph has 25 nodes" },
    { { "star.graphml", "--node", "3" },
      2,
      "'gsa-inspect --node' is of a picture: give --svg FILE too" },
    { { "star.graphml", "--style", "arc", "--stats" }, 2, "'gsa-inspect --style' is of a picture" },
    { { "star.graphml", "--svg", "no/such/folder/a.svg" }, 1, "cannot be written" },
    { { "star.graphml", "--svg", "-", "--stats" }, 2, "would share standard output" },
    { { "star.graphml", "--svg", "./star.graphml" }, 2, "pictures are SVG" },
    { { "star.graphml", "--svg", "/dev/full" }, 1, "No space left on device" },
    { { "star.graphml", "--svg", "." }, 1, "it is a folder" },
    { { "star.graphml", "--svg", "./star.png" },
      2,
      "--svg './star.png': pictures are SVG, expected a name that ends in .svg" },
    { { "star.graphml", "--svg", "../no.such/.picture" }, 1, "cannot be written" },
    { { "star.graphml" }, 0, "" },
    { { "star.graphml", "--svg", "a.svg" }, 0, "" },
    { { "star.graphml", "--svg", "-" }, 0, "" },
    { { "--help" }, 0, "" },
    { { "--version" }, 0, "" },
};

START_TEST(calls_end_as_they_should)
{
    enter();
    char *before = gsa_cli_listing();
    run(calls[_i].args);
    ck_assert_msg(ran.code == calls[_i].code, "exit %d: %s", ran.code, ran.err);
    ck_assert_msg(strstr(ran.err, calls[_i].says) != NULL, "'%s' does not say '%s'", ran.err,
                  calls[_i].says);
    if (!*calls[_i].says) ck_assert_str_eq(ran.err, "");
    else
        ck_assert_msg(strncmp(ran.err, "gsa-inspect: ", 13) == 0 &&
                          strchr(ran.err, '\n') == ran.err + strlen(ran.err) - 1,
                      "%s", ran.err);
    char *after = gsa_cli_listing();
    if (calls[_i].code) ck_assert_str_eq(before, after); /* nothing is left over */
    free(before);
    free(after);
    gsa_cli_leave();
}
END_TEST

START_TEST(the_table_says_what_is_there)
{
    static const char *const lines[] = {
        "star: 25 nodes, 73 edges, length 12, heads 3\n",
        "\n  relay                       1          13    13    13    13    13   13.00 ",
        "\n  down                       60\n",
        "\n  (to itself)                13\n",
        "\ndensity          0.1168\n",
        "\ndiameter         3\n",
        "\n  down 4: relay                               12  ####"
    };
    enter();
    run(ARGS("star.graphml", "--stats"));
    for (int i = 0; i < GSA_COUNT(lines); i++)
        ck_assert_msg(strstr(ran.out, lines[i]) != NULL, "no '%s' in\n%s", lines[i], ran.out);
    run(ARGS("star.graphml", "--labels", "2"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\n  and 5 more\n"));
    run(ARGS("star.graphml", "--phase", "up"));
    ck_assert_ptr_nonnull(strstr(ran.out, "star: 25 nodes, 13 edges"));
    gsa_cli_leave();
}
END_TEST

START_TEST(json_is_the_same_numbers)
{
    enter();
    run(ARGS("star.graphml", "--json"));
    json_t *all = json_loads(ran.out, 0, NULL);
    int nodes, edges, diameter, exact, relay;
    ck_assert_ptr_nonnull(all);
    ck_assert_int_eq(json_unpack(all, "{s:i, s:i, s:{s:i, s:b}, s:[{}, {}, {s:{s:i}}]}", "nodes",
                                 &nodes, "edges", &edges, "distance", "diameter", &diameter,
                                 "exact", &exact, "kinds", "in", "max", &relay),
                     0);
    ck_assert_int_eq(nodes, 25);
    ck_assert_int_eq(edges, 73);
    ck_assert_int_eq(diameter, 3);
    ck_assert(exact);
    ck_assert_int_eq(relay, 13);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "labels")), 7);
    json_decref(all);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_picture_goes_where_it_is_told)
{
    enter();
    run(ARGS("star.graphml", "--svg", "-"));
    ck_assert(strncmp(ran.out, "<?xml", 5) == 0 && strstr(ran.out, "</svg>\n"));
    char *first = strdup(ran.out);
    run(ARGS("star.graphml", "--svg", "a.svg", "--stats"));
    char *second = gsa_cli_read("a.svg");
    ck_assert_str_eq(first, second);
    ck_assert_ptr_nonnull(strstr(ran.out, "25 nodes"));
    run(ARGS("star.graphml", "--svg", "b.svg", "--title", "A <star> & \xe6\x98\x9f"));
    char *third = gsa_cli_read("b.svg");
    ck_assert_ptr_nonnull(strstr(third, "<title>A &lt;star&gt; &amp; \xe6\x98\x9f</title>"));
    free(first);
    free(second);
    free(third);
    gsa_cli_leave();
}
END_TEST

/* XML carries line ends, and the control characters of which terminals make sequences. */
START_TEST(foreign_names_command_no_terminal)
{
    static const char *const lines[] = { "the?31mspec: 2 nodes, 1 edges\n", "\n  a?31m b     ",
                                         "\n  as?31mk     ", "\n  as?31mk 0: l?31m a     " };
    enter();
    gsa_cli_write("names.graphml",
                  "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
                  "<key id=\"s\" for=\"graph\" attr.name=\"spec\" attr.type=\"string\"/>"
                  "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>"
                  "<key id=\"p\" for=\"edge\" attr.name=\"interaction\" attr.type=\"string\"/>"
                  "<key id=\"l\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>"
                  "<graph edgedefault=\"directed\"><data key=\"s\">the&#x9b;31mspec</data>"
                  "<node id=\"x\"><data key=\"k\">a&#x9b;31m&#10;b</data></node>"
                  "<node id=\"y\"><data key=\"no&#x9b;31m\">1</data></node>"
                  "<edge source=\"x\" target=\"y\"><data key=\"p\">as&#x9b;31mk</data>"
                  "<data key=\"l\">l&#x9b;31m&#13;a</data></edge></graph></graphml>");
    run(ARGS("names.graphml"));
    ck_assert_int_eq(ran.code, 0);
    for (int i = 0; i < GSA_COUNT(lines); i++)
        ck_assert_msg(strstr(ran.out, lines[i]) != NULL, "no '%s' in\n%s", lines[i], ran.out);
    ck_assert_msg(strstr(ran.err, "igraph warns: ") && strstr(ran.err, "no?31m"), "%s", ran.err);
    ck_assert(!strstr(ran.out, "\xc2\x9b") && !strchr(ran.out, '\r'));
    gsa_cli_leave();
}
END_TEST

/* Messages from one row to another and back do not lie on one path. */
START_TEST(two_ways_lie_side_by_side)
{
    double out[2], back[2];
    enter();
    gsa_cli_write(
        "two.graphml",
        "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
        "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/><graph "
        "edgedefault=\"directed\">"
        "<node id=\"a\"><data key=\"k\">token</data></node><node id=\"b\"><data "
        "key=\"k\">letter</data></node>"
        "<edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"a\"/></graph></graphml>");
    run(ARGS("two.graphml", "--style", "arc", "--svg", "-"));
    const char *edges = strstr(ran.out, "class=\"edges\"");
    const char *first = edges ? strstr(edges, "<path d=\"") : NULL,
               *second = first ? strstr(first + 1, "<path d=\"") : NULL;
    ck_assert_msg(second != NULL, "%s", ran.out);
    ck_assert_int_eq(sscanf(first, "<path d=\"M%lf %*fC%*f %*f %*f %*f %lf", &out[0], &out[1]), 2);
    ck_assert_int_eq(sscanf(second, "<path d=\"M%lf %*fC%*f %*f %*f %*f %lf", &back[0], &back[1]),
                     2);
    ck_assert_double_ge(fabs(out[0] - back[1]), 4);
    ck_assert_double_ge(fabs(out[1] - back[0]), 4);
    gsa_cli_leave();
}
END_TEST

START_TEST(standard_input_is_a_file_too)
{
    enter();
    char *text = gsa_cli_read("star.graphml");
    gsa_cli_run(ARGS("-", "--stats"), text, &ran);
    ck_assert_msg(ran.code == 0 && strstr(ran.out, "star: 25 nodes, 73 edges"), "%s%s", ran.out,
                  ran.err);
    free(text);
    gsa_cli_leave();
}
END_TEST

/* Also where a shell opened it, and what gsa writes stays. */
START_TEST(what_is_read_or_of_a_run_stays)
{
    static const struct {
        const char *args, *says;
    } rows[] = { { "- --svg graph <graph", "the command or its recipe reads it" },
                 { "star.graphml --svg step/p.svg", "is a checkpoint, which holds nothing else" },
                 { "star.graphml --svg run/latest", "it is of a run, which needs it" } };
    char command[512];
    enter();
    ck_assert_int_eq(system("cp star.graphml graph; mkdir step run; cd step; : >manifest.sha256; "
                            ": >model.safetensors; : >config.ini; cd ..; "
                            ": >run/log.jsonl; : >run/latest"),
                     0);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        snprintf(command, sizeof command,
                 GSA_COMMAND " %s 2>err.txt; test $? = 2 && grep -q '%s' err.txt && cmp graph "
                             "star.graphml && test ! -s run/latest && test ! -e step/p.svg",
                 rows[i].args, rows[i].says);
        ck_assert_msg(system(command) == 0, "%s", rows[i].args);
    }
    gsa_cli_leave();
}
END_TEST

static const gsa_test call_tests[] = { GSA_LOOP(calls_end_as_they_should, GSA_COUNT(calls)) };
static const gsa_test output_tests[] = {
    GSA_TEST(foreign_names_command_no_terminal), GSA_TEST(what_is_read_or_of_a_run_stays),
    GSA_TEST(the_table_says_what_is_there),      GSA_TEST(json_is_the_same_numbers),
    GSA_TEST(a_picture_goes_where_it_is_told),   GSA_TEST(two_ways_lie_side_by_side),
    GSA_TEST(standard_input_is_a_file_too)
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("calls", call_tests, 60),
                                      GSA_CASE("outputs", output_tests, 60) };
    return gsa_run_suite("gsa_inspect", cases, GSA_COUNT(cases), argc, argv);
}
