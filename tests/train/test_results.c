/* The results of several runs: their rows, averages and figures, and the file that holds them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/suite.h"
#include "train/runs/results.h"

START_TEST(statistics)
{
    static const struct {
        int n;
        double x[4], mean, sd, least, most;
    } rows[] = { { 0, { 0 }, 0, 0, 0, 0 },
                 { 1, { 3 }, 3, 0, 3, 3 },
                 { 2, { 1, 3 }, 2, 1.4142135623730951, 1, 3 },
                 { 4, { 4, 1, 3, 2 }, 2.5, 1.2909944487358056, 1, 4 },
                 { 3, { -2, -2, -2 }, -2, 0, -2, -2 } };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        const gsa_stat s = gsa_stat_of(rows[i].x, rows[i].n);
        ck_assert(s.n == rows[i].n && s.least == rows[i].least && s.most == rows[i].most);
        ck_assert_double_eq_tol(s.mean, rows[i].mean, 1e-15);
        ck_assert_double_eq_tol(s.sd, rows[i].sd, 1e-15);
    }
}
END_TEST

static void put_run(gsa_results *r, const char *encoder, const char *domain, int seed,
                    double accuracy)
{
    char line[512];
    gsa_error error;
    snprintf(line, sizeof line,
             "{\"run\": \"%s/%s/%d\", \"recipe\": \"mtl\", \"setting\": \"%s%s\", \"family\": "
             "\"%s\", \"each\": "
             "{\"model.encoder\": "
             "\"%s\", \"domain\": \"%s\"}, \"task\": \"t\", \"encoder\": \"%s*1\", "
             "\"dev_accuracy\": %.15g, \"dev_examples\": 9, "
             "\"seconds\": 2.5, \"parameters\": 77, \"seed\": %d}",
             encoder, domain, seed, encoder, domain, encoder, encoder, domain, encoder, accuracy,
             seed);
    ck_assert_msg(gsa_results_put(r, line, &error) == GSA_OK, "%s", error.text);
}

static const char *cell(const gsa_table *t, int row, const char *column)
{
    for (int c = 0; c < t->columns; c++)
        if (strcmp(t->cell[c], column) == 0) return t->cell[row * t->columns + c];
    ck_abort_msg("no column '%s'", column);
    return "";
}

START_TEST(rows_and_averages)
{
    gsa_results *r;
    gsa_table t;
    ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
    put_run(r, "star", "books", 1, 0.1); /* replaced below */
    for (int seed = 1; seed <= 3; seed++) {
        put_run(r, "star", "books", seed, 0.6 + 0.1 * seed); /* mean 0.8, sd 0.1 */
        put_run(r, "star", "music", seed,
                0.7 - 0.1 * seed); /* mean 0.5: each seed's average is 0.65 */
        put_run(r, "full", "music", seed,
                0.1 * seed); /* averages of the two seeds that both have: 0.3, 0.35 */
        if (seed < 3) put_run(r, "full", "books", seed, 0.5);
    }
    ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
    ck_assert_int_eq(t.rows, 7);
    ck_assert_int_eq(t.texts, 2); /* one recipe has no column, and the encoder is said once */
    static const struct {
        const char *domain, *encoder, *accuracy, *seeds;
    } want[] = { { "books", "star*1", "0.8000 ± 0.1000", "3" },
                 { "music", "star*1", "0.5000 ± 0.1000", "3" },
                 { "music", "full*1", "0.2000 ± 0.1000", "3" },
                 { "books", "full*1", "0.5000 ± 0.0000", "2" },
                 { "average", "star*1", "0.6500 ± 0.0000", "3" },
                 { "average", "full*1", "0.3250 ± 0.0354", "2" } };
    for (int i = 0; i < GSA_COUNT(want); i++) {
        ck_assert_str_eq(cell(&t, i + 1, "domain"), want[i].domain);
        ck_assert_str_eq(cell(&t, i + 1, "encoder"), want[i].encoder);
        ck_assert_str_eq(cell(&t, i + 1, "dev accuracy"), want[i].accuracy);
        ck_assert_str_eq(cell(&t, i + 1, "seeds"), want[i].seeds);
        ck_assert_str_eq(cell(&t, i + 1, "seconds"), "2.5");
        ck_assert_str_eq(cell(&t, i + 1, "parameters"), i < 4 ? "77" : "");
    }
    gsa_table_release(&t);
    gsa_results_release(r);
}
END_TEST

/* Each digit of them would be 309 characters. */
START_TEST(figures_of_any_size)
{
    static const struct {
        double value;
        const char *cell;
    } shown[] = { { -1.7e308, "-1.7e+308" }, { 1.7e308, "1.7e+308" },
                  { 1e15, "1e+15" },         { 999999999999999, "999999999999999.00" },
                  { 12.5, "12.50" },         { 1e-300, "0.0000" } };
    for (int i = 0; i < GSA_COUNT(shown); i++) {
        gsa_results *r;
        gsa_table t;
        ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
        put_run(r, "star", "books", 1, shown[i].value);
        ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
        ck_assert_str_eq(cell(&t, 1, "dev accuracy"), shown[i].cell);
        gsa_table_release(&t);
        gsa_results_release(r);
    }
}
END_TEST

/* Rows that words alone do not tell apart are told by their setting. */
START_TEST(settings_that_no_word_tells_apart)
{
    gsa_results *r;
    gsa_table t;
    char line[256];
    ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "{\"run\": \"seed-%d\", \"recipe\": \"r\", \"setting\": \"%s\", \"each\": {}, "
                 "\"task\": \"t\", "
                 "\"encoder\": \"star*1\", \"dev_mse\": 0.5, \"seed\": %d}",
                 i % 2, i < 2 ? "0aa" : "1bb", i % 2);
        ck_assert_int_eq(gsa_results_put(r, line, NULL), GSA_OK);
    }
    ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
    ck_assert_int_eq(t.rows, 3);
    ck_assert_str_eq(cell(&t, 1, "setting"), "0aa");
    ck_assert_str_eq(cell(&t, 2, "setting"), "1bb");
    gsa_table_release(&t);
    gsa_results_release(r);
}
END_TEST

/* A name of --each that is also a column's has its own column. */
START_TEST(names_that_columns_have)
{
    static const char *const columns[] = { "n",       "seconds", "parameters",     "recipe",
                                           "encoder", "dev_mse", "train.max_steps" };
    for (int i = 0; i < GSA_COUNT(columns); i++) {
        char line[512];
        gsa_results *r;
        gsa_table t;
        ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
        for (int value = 20; value <= 30; value += 10) {
            snprintf(
                line, sizeof line,
                "{\"run\": \"%d\", \"setting\": \"%d\", \"each\": {\"%s\": \"%d\"}, \"task\": "
                "\"t\", \"encoder\": "
                "\"star*1\", \"dev_mse\": 0.5, \"seconds\": 2.5, \"parameters\": 77, \"seed\": 1}",
                value, value, columns[i], value);
            ck_assert_int_eq(gsa_results_put(r, line, NULL), GSA_OK);
        }
        ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
        ck_assert_int_eq(t.columns, 6);
        ck_assert_int_eq(t.texts, 2);
        static const char *const own[] = { "encoder", "dev mse", "seeds", "seconds", "parameters" },
                                 *const is[] = { "star*1", "0.5000", "1", "2.5", "77" };
        for (int row = 1; row <= 2; row++) {
            ck_assert_str_eq(t.cell[0], columns[i]);
            ck_assert_str_eq(t.cell[row * t.columns], row == 1 ? "20" : "30");
            for (int c = 1; c < t.columns; c++) {
                ck_assert_str_eq(t.cell[c], own[c - 1]);
                ck_assert_str_eq(t.cell[row * t.columns + c], is[c - 1]);
            }
        }
        gsa_table_release(&t);
        gsa_results_release(r);
    }
}
END_TEST

START_TEST(folders_are_cut)
{
    static const char *const pair[][2] = {
        { "star*2", "star*2" },
        { "char_word:lexicon=/a/b/words.txt*2", "char_word:lexicon=words.txt*2" },
        { "file:path=x/e.txt:k=3*1,full*1", "file:path=e.txt:k=3*1,full*1" },
        { "a:p=/x/*1,b:q=../y+c:r=z/w", "a:p=*1,b:q=y+c:r=w" },
        { "", "" }
    };
    for (int i = 0; i < GSA_COUNT(pair); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", pair[i][0]);
        gsa_results_shorten(text);
        ck_assert_str_eq(text, pair[i][1]);
    }
}
END_TEST

START_TEST(nothing_and_nonsense)
{
    gsa_scratch s;
    gsa_results *r;
    gsa_table t;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&s);
    ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
    ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
    ck_assert_int_eq(t.rows, 1);
    gsa_table_release(&t);
#define GOOD "{\"task\": \"t\", \"a\": 0.25}"
    static const struct {
        const char *text, *says;
    } bad[] = { { GOOD "\nnonsense\n", "r.jsonl:2: no JSON object" },
                { GOOD "\n[1]\n", "r.jsonl:2: no JSON object: another value" },
                { GOOD "\n{\"b\": 1, \"b\": 2}\n", "r.jsonl:2: no JSON object" },
                { GOOD "\n{\"kind\": \"step\", \"loss\": 0.5}\n",
                  "r.jsonl:2: no result of a run: expected its 'task'" },
                { GOOD "\n{\"task\": 1}\n", "r.jsonl:2: no result of a run" } };
    for (int i = 0; i < GSA_COUNT(bad); i++) {
        gsa_put_file(gsa_scratch_path(&s, "r.jsonl"), bad[i].text, (int64_t)strlen(bad[i].text));
        ck_assert_int_eq(
            gsa_results_read(r, gsa_system_default(), gsa_scratch_path(&s, "r.jsonl"), &error),
            GSA_ERR_FORMAT);
        ck_assert_msg(strstr(error.text, bad[i].says) != NULL, "%s", error.text);
        ck_assert_int_eq(
            gsa_results_put_into(NULL, gsa_scratch_path(&s, "r.jsonl"), 0, GOOD, &error),
            GSA_ERR_FORMAT);
        char *text = gsa_get_file(gsa_scratch_path(&s, "r.jsonl"), &bytes);
        ck_assert_str_eq(text, bad[i].text); /* what is not understood is not lost */
        free(text);
    }
    ck_assert_int_eq(gsa_results_put(r, "[]", &error), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_results_put(r, "{\"a\": 1, \"a\": 1}", &error), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_results_put(r, "{\"a\": 1}", &error), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_results_put_into(NULL, gsa_scratch_path(&s, "new.jsonl"), 0, GOOD, &error),
                     GSA_OK);
    ck_assert_int_eq(gsa_results_put_into(NULL, gsa_scratch_path(&s, "new.jsonl"), 0, GOOD, &error),
                     GSA_OK);
    char *text = gsa_get_file(gsa_scratch_path(&s, "new.jsonl"), &bytes);
    ck_assert_str_eq(text, GOOD "\n" GOOD "\n"); /* lines without identity are kept */
#undef GOOD
    free(text);
    ck_assert_int_eq(
        gsa_results_put(r, "{\"task\": \"t\", \"recipe\": \"r\", \"each\": {\"k\": 3}}", &error),
        GSA_OK);
    ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
    for (int i = 0; i < t.rows * t.columns; i++) ck_assert_str_ne(t.cell[i], "(null)");
    gsa_table_release(&t);
    gsa_results_release(r);
    gsa_scratch_close(&s);
}
END_TEST

/* A look at every line before each would take minutes. */
START_TEST(tables_have_a_bound_and_no_wrong_number)
{
    enum { SIDE = 4200 };
    gsa_results *r;
    gsa_table t;
    gsa_error error;
    int wide = 0;
    ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
    for (int i = 0; i < 2; i++) { /* squares of these are no number */
        char line[200];
        snprintf(line, sizeof line,
                 "{\"task\": \"t\", \"run\": \"seed-%d\", \"setting\": \"s\", \"dev_x\": %de200}",
                 i, 1 + 2 * i);
        ck_assert_int_eq(gsa_results_put(r, line, NULL), GSA_OK);
    }
    ck_assert_int_eq(gsa_results_table(r, &t, NULL), GSA_OK);
    for (int i = 0; i < t.rows * t.columns; i++) wide += strcmp(t.cell[i], "not finite") == 0;
    ck_assert_int_eq(wide, 1);
    gsa_table_release(&t);
    char *line = malloc(20 * SIDE + 100), *at = line;
    ck_assert_ptr_nonnull(line);
    at += sprintf(at, "{\"task\": \"t\", \"run\": \"wide\", \"each\": {");
    for (int i = 0; i < SIDE; i++) at += sprintf(at, "%s\"e%d\": 1", i ? ", " : "", i);
    sprintf(at, "}}");
    ck_assert_int_eq(gsa_results_put(r, line, NULL), GSA_OK);
    for (int i = 0; i < SIDE; i++) {
        sprintf(line, "{\"task\": \"t\", \"run\": \"r%d\", \"each\": {}}", i);
        ck_assert_int_eq(gsa_results_put(r, line, NULL), GSA_OK);
    }
    ck_assert_int_eq(gsa_results_table(r, &t, &error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(error.text, "cells, expected at most 16777216"), "%s", error.text);
    ck_assert_ptr_null(t.cell);
    free(line);
    gsa_results_release(r);
}
END_TEST

START_TEST(many_lines_take_no_long_time)
{
    enum { LINES = 30000, LINE = 128 };
    gsa_scratch s;
    gsa_results *r;
    gsa_error error = { 0 };
    char *text = malloc((size_t)LINES * LINE), *at = text, *summary;
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < LINES; i++)
        at += sprintf(
            at, "{\"run\":\"r\",\"task\":\"t\",\"setting\":\"s\",\"dev_mse\":%d,\"seed\":%d}\n",
            i % 2, i / 2);
    gsa_scratch_open(&s);
    gsa_put_file(gsa_scratch_path(&s, "r.jsonl"), text, at - text);
    ck_assert_int_eq(gsa_results_create(NULL, &r, NULL), GSA_OK);
    ck_assert_msg(gsa_results_read(r, gsa_system_default(), gsa_scratch_path(&s, "r.jsonl"),
                                   &error) == GSA_OK,
                  "%s", error.text);
    ck_assert_int_eq(gsa_results_summary(r, &summary, NULL), GSA_OK);
    ck_assert_msg(strstr(summary, "\"n\": 15000") || strstr(summary, "\"n\":15000"), "%s", summary);
    ck_assert_ptr_nonnull(strstr(summary, "\"min\":"));
    gsa_release(NULL, summary);
    gsa_results_release(r);
    gsa_scratch_close(&s);
    free(text);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test table_tests[] = { GSA_TEST(statistics),
                                            GSA_TEST(rows_and_averages),
                                            GSA_TEST(figures_of_any_size),
                                            GSA_TEST(settings_that_no_word_tells_apart),
                                            GSA_TEST(names_that_columns_have),
                                            GSA_TEST(folders_are_cut) };
    static const gsa_test line_tests[] = { GSA_TEST(nothing_and_nonsense),
                                           GSA_TEST(tables_have_a_bound_and_no_wrong_number),
                                           GSA_TEST(many_lines_take_no_long_time) };
    static const gsa_case cases[] = { GSA_CASE("tables", table_tests, 20),
                                      GSA_CASE("lines", line_tests, 20) };
    return gsa_run_suite("results", cases, GSA_COUNT(cases), argc, argv);
}
