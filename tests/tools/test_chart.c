/* gsa chart: axes and their ticks, what is drawn, what is refused. tests/tools/chart.svg is the
 * picture of a few points, looked at. */
#include "train/chart/chart.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "graph/utf8.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

/* ---- scales -------------------------------------------------------------------------------- */

static const struct {
    double low, high;
    int log, bytes;
    const char *ticks; /* as they are labelled */
} scales[] = {
    { 0, 60000, 0, 0, "0 10k 20k 30k 40k 50k 60k" },
    { 3, 7, 0, 0, "3 4 5 6 7" },
    { 0.61, 0.893, 0, 0, "0.6 0.65 0.7 0.75 0.8 0.85 0.9" },
    { -4, 9, 0, 0, "-5 0 5 10" },
    { 5, 5, 0, 0, "4.7 4.8 4.9 5 5.1 5.2 5.3" },
    { 0, 0, 0, 0, "-0.6 -0.4 -0.2 0 0.2 0.4 0.6" },
    { 1e-7, 5e-7, 0, 0, "1e-07 2e-07 3e-07 4e-07 5e-07" },
    { 200e6, 900e6, 0, 1, "0 B 200 MiB 400 MiB 600 MiB 800 MiB 1000 MiB" },
    { 64, 8192, 2, 0, "64 128 256 512 1024 2048 4096 8192" },
    { 65, 8000, 2, 0, "64 128 256 512 1024 2048 4096 8192" },
    { 64, 64, 2, 0, "32 64 128" },
    { 0.3, 3, 2, 0, "0.25 0.5 1 2 4" },
    { 1, 1 << 30, 2, 0,
      "1 8 64 512 4096 32768 262144 2.09715e+06 1.67772e+07 1.34218e+08 1.07374e+09" },
    { 1 << 20, 5 << 20, 2, 1, "1 MiB 2 MiB 4 MiB 8 MiB" },
    { 3, 700, 10, 0, "2 5 10 20 50 100 200 500 1000" },
    { 20, 20, 10, 0, "10 20 50" },
    { 0.02, 0.5, 10, 0, "0.02 0.05 0.1 0.2 0.5" },
    { 1e-3, 1e6, 10, 0, "0.001 0.01 0.1 1 10 100 1000 10k 100k 1M" },
};

START_TEST(ticks)
{
    const gsa_axis s =
        gsa_axis_of(scales[_i].low, scales[_i].high, scales[_i].log, scales[_i].bytes);
    char text[400] = "", label[GSA_CHART_LABEL];
    for (int i = 0; i < s.n_ticks; i++) {
        gsa_axis_label(s.tick[i], scales[_i].bytes, label);
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", label);
    }
    ck_assert_str_eq(text, scales[_i].ticks);
    ck_assert(s.low <= scales[_i].low * (1 + 1e-9) && s.high >= scales[_i].high * (1 - 1e-9));
}
END_TEST

/* Any range: few ticks, ascending, that enclose it, and places in proportion. */
START_TEST(any_range)
{
    unsigned state = 7;
    for (int trial = 0; trial < 20000; trial++) {
        double end[2];
        for (int i = 0; i < 2; i++) {
            state = state * 1664525u + 1013904223u;
            end[i] = pow(10, (state >> 8) / 16777216.0 * 12 - 6);
        }
        const int log = (int[]){ 0, 2, 10 }[trial % 3];
        const double low = fmin(end[0], end[1]), high = fmax(end[0], end[1]);
        const gsa_axis s = gsa_axis_of(low, high, log, trial % 2);
        ck_assert_msg(s.n_ticks >= 2 && s.n_ticks <= 14, "%d ticks for %g to %g, base %d",
                      s.n_ticks, low, high, log);
        for (int i = 1; i < s.n_ticks; i++) ck_assert(s.tick[i] > s.tick[i - 1]);
        ck_assert_msg(s.low <= low * (1 + 1e-9) && s.high >= high * (1 - 1e-9), "%g to %g, base %d",
                      low, high, log);
        ck_assert(fabs(gsa_axis_at(&s, s.low)) < 1e-12 &&
                  fabs(gsa_axis_at(&s, s.high) - 1) < 1e-12);
        ck_assert(gsa_axis_at(&s, low) <= gsa_axis_at(&s, high));
    }
}
END_TEST

START_TEST(halves)
{
    const gsa_axis linear = gsa_axis_of(0, 100, 0, 0), two = gsa_axis_of(4, 64, 2, 0),
                   ten = gsa_axis_of(1, 1e4, 10, 0);
    ck_assert_double_eq_tol(gsa_axis_at(&linear, 25), 0.25, 1e-12);
    ck_assert_double_eq_tol(gsa_axis_at(&two, 16), 0.5, 1e-12);
    ck_assert_double_eq_tol(gsa_axis_at(&ten, 100), 0.5, 1e-12);
}
END_TEST

/* ---- what is drawn ------------------------------------------------------------------------- */

static const char bench[] =
    "{\n \"bench\": \"train\",\n \"cases\": [\n"
    "  {\"name\": \"a\", \"each\": {\"model.encoder\": \"bpt:k=4*2\", \"data.window\": \"64\"}, "
    "\"rate\": 30000, \"at\": {\"ms\": 1.5}},\n"
    "  {\"name\": \"b\", \"each\": {\"model.encoder\": \"bpt:k=4*2\", \"data.window\": \"128\"}, "
    "\"rate\": 29000.5, \"at\": {\"ms\": 2}},\n"
    "  {\"name\": \"c\", \"each\": {\"model.encoder\": \"full & <co>\", \"data.window\": \"128\"}, "
    "\"rate\": 12000, \"at\": {\"ms\": 4}},\n"
    "  {\"name\": \"d\", \"each\": {\"model.encoder\": \"full & <co>\", \"data.window\": \"64\"}, "
    "\"rate\": 41000, \"at\": {\"ms\": 1}},\n"
    "  {\"name\": \"e\", \"each\": {\"model.encoder\": \"full & <co>\", \"data.window\": \"256\"}, "
    "\"skipped\": \"no memory\"}\n ]\n}\n";
static const char results[] =
    "{\"encoder\": \"star*2\", \"seed\": 1, \"f1\": 0.5, \"dev_bytes\": 1024}\n"
    "{\"encoder\": \"star*2\", \"seed\": 2, \"f1\": 0.75, \"dev_bytes\": 2048}\n\n"
    "{\"encoder\": \"full*1,ring*1\", \"seed\": 1, \"f1\": 0.25, \"dev_bytes\": 512}\n";

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

/* Every tag that opens is closed, in order, and no bare & or < is left: enough of XML to see a text
 * that was not escaped. */
static int well_formed(const char *text)
{
    char open[16][16];
    int depth = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '&' && strncmp(at, "&amp;", 5) && strncmp(at, "&lt;", 4) &&
            strncmp(at, "&gt;", 4))
            return 0;
        if (*at != '<') continue;
        const char *end = strchr(at, '>');
        if (!end) return 0;
        char name[16] = "";
        sscanf(at, "<%15[a-z/]", name);
        if (at[1] == '?' || end[-1] == '/') at = end;
        else if (name[0] == '/' && (depth == 0 || strcmp(open[--depth], name + 1) != 0)) return 0;
        else if (name[0] != '/' && depth == 16) return 0;
        else if (name[0] != '/') strcpy(open[depth++], name);
        at = end;
    }
    return depth == 0;
}

START_TEST(golden)
{
    char *page = gsa_cli_read(GSA_SOURCE "/tests/tools/chart.svg");
    gsa_cli_enter();
    gsa_cli_write("b.json", bench);
    for (int i = 0; i < 2; i++) {
        run(ARGS("chart", "b.json", "--x", "data.window", "--y", "rate", "--series=model.encoder",
                 "--log-x=2", "--zero", "--title=a < b", "--y-label=tokens & more", "--out", "-"));
        ck_assert_str_eq(ran.err, "1 case left out, skipped when measured\n");
        ck_assert_msg(page && strcmp(page, ran.out) == 0, "not tests/tools/chart.svg but:\n%s",
                      ran.out);
    }
    ck_assert(well_formed(ran.out));
    free(page);
    gsa_cli_leave();
}
END_TEST

START_TEST(seeds_and_words)
{
    gsa_cli_enter();
    gsa_cli_write("r.jsonl", results);
    gsa_cli_write("b.json", bench);
    run(ARGS("chart", "r.jsonl", "--x", "encoder", "--y", "f1", "--out", "s.svg"));
    ck_assert_str_eq(ran.err, "");
    char *svg = gsa_cli_read("s.svg");
    ck_assert(svg && well_formed(svg));
    ck_assert_int_eq(count_of(svg, "class=\"spread\""), 1); /* two seeds of one encoder */
    ck_assert_int_eq(count_of(svg, "points: means; bars"), 1);
    ck_assert_int_eq(count_of(svg, "class=\"line\""), 0); /* words have no between */
    ck_assert_int_eq(count_of(svg, ">star*2<") + count_of(svg, ">full*1,ring*1<"), 2);
    free(svg);
    run(ARGS("chart", "r.jsonl", "--x", "seed", "--y", "dev_bytes", "--series", "topology",
             "--log-y", "2", "--out", "-"));
    ck_assert(strstr(ran.out, ">star</text>") && strstr(ran.out, ">full</text>") &&
              strstr(ran.out, ">2 KiB</text>"));
    run(ARGS("chart", "r.jsonl", "--x", "seed", "--y", "f1", "--where", "encoder=star*2", "--where",
             "seed=2", "--out", "-"));
    ck_assert_int_eq(count_of(ran.out, "class=\"spread\""), 0);
    ck_assert_int_eq(count_of(ran.out, "fill=\"currentColor\""), 1);
    run(ARGS("chart", "b.json", "--x", "data.window", "--y", "at.ms", "--y", "rate=of work",
             "--where=model.encoder=bpt:k=4*2", "--log-y=10", "--out=-"));
    ck_assert(strstr(ran.out, ">at.ms</text>") && strstr(ran.out, ">of work</text>"));
    run(ARGS("chart", "r.jsonl", "b.json", "--x", "name", "--y", "rate", "--where", "name=a",
             "--out", "-"));
    ck_assert_ptr_nonnull(strstr(ran.out, ">b.json</text>"));
    gsa_cli_leave();
}
END_TEST

/* Files of one name in several folders are told apart by the folders. */
START_TEST(a_line_a_file)
{
    static const char log[] = "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n";
    static const char *const named[][3] = { { "one/log.jsonl", "two/log.jsonl", ">one<" },
                                            { "one/log.jsonl", "one/b/log.jsonl", ">one/b<" },
                                            { "one/log.jsonl", "other.jsonl", ">log.jsonl<" } };
    gsa_cli_enter();
    ck_assert_int_eq(system("mkdir -p one/b two"), 0);
    gsa_cli_write("one/log.jsonl", log);
    gsa_cli_write("one/b/log.jsonl", log);
    gsa_cli_write("other.jsonl", log);
    gsa_cli_write("two/log.jsonl", "{\"step\": 1, \"loss\": 8}\n{\"step\": 2, \"loss\": 9}\n");
    for (int i = 0; i < GSA_COUNT(named); i++) {
        run(ARGS("chart", named[i][0], named[i][1], "--x", "step", "--y", "loss", "--out", "-"));
        ck_assert_int_eq(count_of(ran.out, "class=\"line\""), 4); /* and in the legend */
        ck_assert_int_eq(count_of(ran.out, "class=\"spread\""), 0);
        ck_assert_msg(strstr(ran.out, named[i][2]) != NULL, "no '%s': %s", named[i][2], ran.out);
    }
    gsa_cli_leave();
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------- */

static const struct {
    const char *args[GSA_CLI_ARGS];
    int code;
    const char *says[3];
} refused[] = {
    { { "b.json", "--x", "data.windw", "--y", "rate" },
      2,
      { "b.json: case 1 (a): no key 'data.windw'", "the nearest is 'data.window'" } },
    { { "b.json", "--x", "data.window", "--y", "at.m" }, 2, { "no key 'at.m'", "'at.ms'" } },
    { { "r.jsonl", "--x", "seed", "--y", "encoder" },
      2,
      { "r.jsonl:1: encoder is '\"star*2\"', expected a number of 1e-100 to 1e100" } },
    { { "r.jsonl", "--x", "seed", "--y", "f1", "--series", "kind" },
      2,
      { "r.jsonl:1: no key 'kind'" } },
    { { "r.jsonl", "--x", "encoder", "--y", "f1", "--log-x", "2" },
      2,
      { "r.jsonl:1: encoder is", "expected a number" } },
    { { "r.jsonl", "--x", "seed", "--y", "f1", "--log-x", "3" }, 2, { "--log-x", "2|10" } },
    { { "r.jsonl", "--x", "seed", "--y", "f1", "--where", "seed=9" },
      2,
      { "no point to draw", "3 records" } },
    { { "r.jsonl", "--x", "seed", "--y", "f1", "--where", "seed" },
      2,
      { "--where 'seed'", "KEY=VALUE" } },
    { { "r.jsonl", "--y", "f1" }, 2, { "--x KEY" } },
    { { "zero.jsonl", "--x", "a", "--y", "b", "--log-y", "10" },
      2,
      { "zero.jsonl:2: b is '0'", "more than 0, as --log-y" } },
    { { "zero.jsonl", "--x", "b", "--y", "a", "--log-x", "2" },
      2,
      { "zero.jsonl:2: b is '0'", "more than 0, as --log-x" } },
    { { "huge.jsonl", "--x", "x", "--y", "y" },
      2,
      { "huge.jsonl:1: y is '1e308', expected a number of 1e-100" } },
    { { "huge.jsonl", "--x", "x", "--y", "z", "--log-y", "2" },
      2,
      { "huge.jsonl:1: z is", "expected a number of 1e-100" } },
    { { "null.jsonl", "--x", "a", "--y", "b" },
      2,
      { "null.jsonl: b is 'null', expected a number of 1e-100 to 1e100" } },
    { { "mixed.jsonl", "--x", "a", "--y", "b" },
      2,
      { "mixed.jsonl:2: a is '\"word\"', expected a number" } },
    { { "cut.jsonl", "--x", "a", "--y", "b" }, 2, { "cut.jsonl:2: no JSON" } },
    { { "twice.jsonl", "--x", "a", "--y", "b" },
      2,
      { "twice.jsonl:2: no JSON: duplicate object key" } },
    { { "twice.json", "--x", "a", "--y", "b" },
      2,
      { "twice.json:4: no JSON: duplicate object key" } },
    { { "broken.json", "--x", "a", "--y", "b" }, 2, { "broken.json:4: no JSON" } },
    { { "list.jsonl", "--x", "a", "--y", "b" }, 2, { "list.jsonl:1: expected a JSON object" } },
    { { "empty.tsv", "--x", "a", "--y", "b" }, 2, { "empty.tsv is empty" } },
    { { "none.json", "--x", "a", "--y", "b" }, 1, { "'none.json'" } },
    { { "b.json", "--x", "data.window", "--y", "rate", "--title", "\xff" },
      2,
      { "--title", "UTF-8" } },
};

START_TEST(no_other_pictures)
{
    gsa_cli_enter();
    gsa_cli_write("r.jsonl", results);
    gsa_cli_run(ARGS("chart", "r.jsonl", "--x", "seed", "--y", "f1", "--out", "never.pdf"), NULL,
                &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "--out 'never.pdf': pictures are SVG"), "%d %s",
                  ran.code, ran.err);
    ck_assert(!gsa_cli_exists("never.pdf"));
    gsa_cli_leave();
}
END_TEST

START_TEST(sentences)
{
    const char *args[GSA_CLI_ARGS + 1] = { "chart", "--out", "never.svg" };
    gsa_cli_enter();
    gsa_cli_write("b.json", bench);
    gsa_cli_write("r.jsonl", results);
    gsa_cli_write("zero.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 2, \"b\": 0}\n");
    gsa_cli_write(
        "huge.jsonl",
        "{\"x\": 1, \"y\": 1e308, \"z\": 1e-300}\n{\"x\": 2, \"y\": -1e308, \"z\": 1e300}\n");
    gsa_cli_write("null.jsonl", "{\"a\": 1, \"b\": null}\n");
    gsa_cli_write("mixed.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": \"word\", \"b\": 2}\n");
    gsa_cli_write("cut.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 1,\n");
    gsa_cli_write("twice.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 2, \"b\": 3, \"a\": 4}\n");
    gsa_cli_write("twice.json",
                  "{\n  \"cases\": [\n    {\"a\": 1,\n     \"a\": 2, \"b\": 3}\n  ]\n}\n");
    gsa_cli_write("broken.json", "{\n  \"cases\": [\n    {\"a\": 1, \"b\": 3\n");
    gsa_cli_write("list.jsonl", "3\n[1]\n");
    for (int i = 0; refused[_i].args[i]; i++) args[3 + i] = refused[_i].args[i];
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.code == refused[_i].code, "exit code %d: %s", ran.code, ran.err);
    for (int i = 0; i < 3 && refused[_i].says[i]; i++)
        ck_assert_msg(strstr(ran.err, refused[_i].says[i]) != NULL, "'%s' is not in: %s",
                      refused[_i].says[i], ran.err);
    ck_assert(!gsa_cli_exists("never.svg") && ran.out[0] == 0);
    gsa_cli_leave();
}
END_TEST

START_TEST(many_lines)
{
    char text[4000] = "";
    gsa_cli_enter();
    for (int i = 0; i < 17; i++)
        sprintf(text + strlen(text), "{\"a\": %d, \"b\": 1, \"c\": \"line %d\"}\n", i, i);
    gsa_cli_write("m.jsonl", text);
    gsa_cli_run(ARGS("chart", "m.jsonl", "--x", "a", "--y", "b", "--series", "c", "--out", "-"),
                NULL, &ran);
    ck_assert_msg(ran.code == 1 && strstr(ran.err, "m.jsonl:17: more than 16 lines"), "%d %s",
                  ran.code, ran.err);
    run(ARGS("chart", "m.jsonl", "--x", "c", "--y", "b", "--out", "-"));
    ck_assert(well_formed(ran.out) && strstr(ran.out, "rotate(-30)"));
    gsa_cli_leave();
}
END_TEST

/* A long word is cut, within a character too; a line's name may be no UTF-8. */
START_TEST(cut_words)
{
    char word[302] = "a", text[400];
    for (int i = 1; i < 301; i += 3) memcpy(word + i, "\xe2\x82\xac", 3);
    snprintf(text, sizeof text, "{\"w\":\"%s\",\"x\":1,\"y\":2}\n", word);
    gsa_cli_enter();
    gsa_cli_write("w.jsonl", text);
    for (int i = 0; i < 3; i++) {
        run(i == 0   ? ARGS("chart", "w.jsonl", "--x", "w", "--y", "y", "--out", "-")
            : i == 1 ? ARGS("chart", "w.jsonl", "--x", "x", "--y", "y", "--y", "x", "--series", "w",
                            "--out", "-")
                     : ARGS("chart", "w.jsonl", "--x", "x", "--y", "y=caf\xe9", "--y", "x=\xf0",
                            "--out", "-"));
        ck_assert(well_formed(ran.out) && strstr(ran.out, "\xef\xbf\xbd"));
        ck_assert_int_lt(gsa_utf8_invalid(ran.out, (int64_t)strlen(ran.out)), 0);
    }
    ck_assert(strstr(ran.out, "caf\xef\xbf\xbd</text>") && strstr(ran.out, ">\xef\xbf\xbd</text>"));
    gsa_cli_leave();
}
END_TEST

/* Texts that share their first 300 bytes are told apart, and keys have any length. */
START_TEST(long_words_and_keys)
{
    char same[301], text[2000], where[400], key[400], both[400], word[400];
    memset(same, 'e', 300), same[300] = 0;
    snprintf(text, sizeof text,
             "{\"w\":\"%sa\",\"x\":1,\"y\":1,\"%s\":{\"in_bytes\":2048}}\n"
             "{\"w\":\"%sb\",\"x\":1,\"y\":100,\"%s\":{\"in_bytes\":4096}}\n",
             same, same, same, same);
    snprintf(where, sizeof where, "w=%sb", same);
    snprintf(key, sizeof key, "%s.in_bytes", same);
    snprintf(both, sizeof both, "%s.in_bytes=bytes of it", same);
    snprintf(word, sizeof word, ">%.255s<", same);
    gsa_cli_enter();
    gsa_cli_write("w.jsonl", text);
    run(ARGS("chart", "w.jsonl", "--x", "x", "--y", "y", "--series", "w", "--out", "-"));
    ck_assert_int_eq(count_of(ran.out, "class=\"spread\""), 0);
    ck_assert_int_eq(count_of(ran.out, word), 2); /* of the legend */
    run(ARGS("chart", "w.jsonl", "--x", "w", "--y", "y", "--out", "-"));
    ck_assert_int_eq(count_of(ran.out, "class=\"spread\""), 0);
    ck_assert_int_eq(count_of(ran.out, word), 2);
    run(ARGS("chart", "w.jsonl", "--x", "x", "--y", "y", "--where", where, "--out", "-"));
    ck_assert_ptr_nonnull(strstr(ran.out, ">100<"));
    run(ARGS("chart", "w.jsonl", "--x", "x", "--y", key, "--out", "-"));
    ck_assert_ptr_nonnull(strstr(ran.out, " KiB<"));
    run(ARGS("chart", "w.jsonl", "--x", key, "--y", both, "--y", "y", "--where", where, "--series",
             "w", "--out", "-"));
    gsa_cli_run(ARGS("chart", "w.jsonl", "--x", "x", "--y", "z", "--out", "-"), NULL, &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, "w.jsonl:1: no key 'z' (known: w, x, y"));
    gsa_cli_leave();
}
END_TEST

/* However many reports: the first is kept, and those between are as far from each other. */
START_TEST(a_curve_of_many_reports_keeps_some)
{
    enum { REPORTS = 100000 };
    gsa_chart curve = { .system = gsa_system_default(), .lines = 1 };
    const gsa_chart_line *line = &curve.line[0];
    for (int i = 0; i < REPORTS; i++) {
        gsa_chart_add(&curve, 0, i, 1.0 / (i + 1));
        ck_assert_int_le(line->points, GSA_CHART_MOST);
        if (i == GSA_CHART_MOST - 1) ck_assert_int_eq(line->points, GSA_CHART_MOST);
    }
    static const double beyond[] = { -1.7e308, 1.7e308, INFINITY, NAN };
    for (int i = 0; i < GSA_COUNT(beyond); i++) /* of a log that anybody may have written */
        gsa_chart_add(&curve, 0, beyond[i], 1), gsa_chart_add(&curve, 0, 1, beyond[i]);
    ck_assert_int_le(line->room, GSA_CHART_MOST);
    ck_assert_int_eq(line->points, (REPORTS + 31) / 32);
    for (int i = 0; i < line->points; i++) ck_assert_double_eq(line->point[i].x, 32 * i);
    gsa_chart_release(&curve);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test scale_tests[] = { GSA_LOOP(ticks, GSA_COUNT(scales)), GSA_TEST(any_range),
                                            GSA_TEST(halves) };
    static const gsa_test drawn[] = { GSA_TEST(golden),
                                      GSA_TEST(seeds_and_words),
                                      GSA_TEST(many_lines),
                                      GSA_TEST(a_line_a_file),
                                      GSA_TEST(cut_words),
                                      GSA_TEST(long_words_and_keys),
                                      GSA_TEST(a_curve_of_many_reports_keeps_some) };
    static const gsa_test wrong[] = { GSA_LOOP(sentences, GSA_COUNT(refused)),
                                      GSA_TEST(no_other_pictures) };
    static const gsa_case cases[] = { GSA_CASE("scales", scale_tests, 30),
                                      GSA_CASE("drawn", drawn, 60),
                                      GSA_CASE("refused", wrong, 60) };
    return gsa_run_suite("chart", cases, GSA_COUNT(cases), argc, argv);
}
