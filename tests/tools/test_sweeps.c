/* test_sweeps.c - several runs of one command, their comparison and their tables, as a user meets
 * them. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

/* The lines of stdout, each a JSON object; their number. */
static int objects(json_t *object[16])
{
    int count = 0;
    for (char *line = ran.out, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        ck_assert(end && count < 16);
        *end = 0;
        object[count] = json_loads(line, 0, NULL);
        ck_assert_msg(json_is_object(object[count]), "%s", line);
        count++;
    }
    return count;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    ck_assert_msg(value != NULL, "no text '%s'", key);
    return value;
}

START_TEST(seeds_and_encoders)
{
    static const char *const names[] = { "encoder-ring/seed-1", "encoder-ring/seed-2",
                                         "encoder-full_2/seed-1", "encoder-full_2/seed-2" };
    json_t *line[16];
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--each",
             "model.encoder=ring,full*2", "--out", "runs", "--results", "all.jsonl"));
    ck_assert_ptr_nonnull(strstr(ran.err, "run 4/4: encoder-full_2/seed-2\n"));
    ck_assert_ptr_nonnull(strstr(ran.err, "\nencoder  "));
    ck_assert_ptr_nonnull(strstr(ran.err, " ± "));
    ck_assert_int_eq(objects(line), 5);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(text(line[i], "run"), names[i]);
        ck_assert_str_eq(text(line[i], "data"), "train.tsv");
        ck_assert_ptr_nonnull(strstr(text(line[i], "signature"),
                                     "task:text_classification|metric:accuracy|tokens:words|case:"
                                     "mixed|seed:"));
        json_decref(line[i]);
    }
    const json_t *rows = json_object_get(line[4], "summary"), *row = json_array_get(rows, 1);
    ck_assert_uint_eq(json_array_size(rows), 2);
    ck_assert_str_eq(text(row, "encoder"), "full*2");
    ck_assert_int_eq(json_integer_value(json_object_get(row, "n")), 2);
    ck_assert(json_is_number(json_object_get(json_object_get(row, "dev_accuracy"), "sd")));
    json_decref(line[4]);

    run(ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--each",
             "model.encoder=ring,full*2", "--out", "runs"));
    ck_assert_ptr_nonnull(
        strstr(ran.err, "run 1/4: encoder-ring/seed-1, which is there already\n"));
    ck_assert_ptr_null(strstr(ran.err, "epoch"));
    run(ARGS("table", "all.jsonl"));
    ck_assert_msg(
        strncmp(ran.out,
                "| encoder | dev accuracy | test accuracy | seeds | seconds | parameters |\n"
                "|---|---:|---:|---:|---:|---:|\n| ring*1 | ",
                110) == 0,
        "%s", ran.out);
    ck_assert_ptr_nonnull(strstr(ran.out, "\n| full*2 | "));
    char *const of_file = strdup(ran.out);
    run(ARGS("table", "runs")); /* a folder of runs stands for its results */
    ck_assert_str_eq(ran.out, of_file);
    free(of_file);
    gsa_cli_leave();
}
END_TEST

/* A row holds the seeds of one setting, whatever files they come from; what is varied names it. */
START_TEST(runs_of_other_settings_have_rows_of_their_own)
{
    static const char *const made[][4] = { { "a", "1", "ring", "0.001" },
                                           { "b", "2", "ring", "0.001" },
                                           { "c", "1", "full", "0.001" },
                                           { "d", "1", "ring", "0.5" } };
    char set[3][64];
    gsa_cli_enter();
    for (int i = 0; i < GSA_COUNT(made); i++) {
        snprintf(set[0], sizeof set[0], "train.seed=%s", made[i][1]);
        snprintf(set[1], sizeof set[1], "model.encoder=%s", made[i][2]);
        snprintf(set[2], sizeof set[2], "train.lr=%s", made[i][3]);
        run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", made[i][0], "--set",
                 set[0], "--set", set[1], "--set", set[2]));
    }
    run(ARGS("table", "a/result.json", "b", "c/result.json", "d/result.json", "a"));
    ck_assert_msg(strncmp(ran.out, "| train.lr | encoder | dev", 26) == 0, "%s", ran.out);
    char *rows = strchr(strchr(ran.out, '\n') + 1, '\n') + 1;
    ck_assert_msg(strncmp(rows, "| 0.001 | ring*1 | ", 19) == 0 && strstr(rows, " | 2 | "), "%s",
                  ran.out);
    ck_assert_msg(strstr(rows, "\n| 0.001 | full*1 | ") && strstr(rows, "\n| 0.5 | ring*1 | "),
                  "%s", ran.out);
    ck_assert_ptr_null(
        strstr(strstr(rows, " | 2 | ") + 1, " | 2 | ")); /* one seed in each other row */

    /* of what says no setting nothing is known: a row a line, named by its file */
    ck_assert_int_eq(system("cp a/result.json x.json && cp c/result.json y.json"), 0);
    run(ARGS("table", "x.json", "y.json"));
    ck_assert_msg(strncmp(ran.out, "| run | encoder | ", 18) == 0 &&
                      strstr(ran.out, "\n| x.json:1 | ring*1 | ") &&
                      strstr(ran.out, "\n| y.json:1 | full*1 | "),
                  "%s", ran.out);
    gsa_cli_leave();
}
END_TEST

START_TEST(compared)
{
    json_t *line[16];
    gsa_cli_enter();
    run(ARGS("train", "sum.ini", "--threads", "1", "--quiet", "--seeds", "3,5", "--each",
             "model.encoder=star,full", "--out", "runs"));
    run(ARGS("compare", "runs/encoder-star", "runs/encoder-full", "--samples", "500"));
    ck_assert_ptr_nonnull(
        strstr(ran.out, "dev mse, less is better; 32 units, 2 pairs of runs, 500 resamples\n"));
    ck_assert_ptr_nonnull(strstr(ran.out, "test mse"));
    run(ARGS("compare", "runs/encoder-star", "runs/encoder-star", "--split", "test", "--json"));
    ck_assert_int_eq(objects(line), 1);
    ck_assert(json_number_value(json_object_get(line[0], "p")) == 1);
    ck_assert(json_number_value(json_object_get(line[0], "difference")) == 0);
    json_decref(line[0]);
    run(ARGS("eval", "--quiet", "--model", "runs/encoder-star/seed-3", "--outcomes", "o.jsonl"));
    ck_assert_int_eq(system("cmp -s o.jsonl runs/encoder-star/seed-3/outcomes.jsonl"), 0);
    run(ARGS("eval", "--quiet", "--model", "runs/encoder-star/seed-3", "--set", "train.batch=3",
             "--outcomes", "o.jsonl"));
    /* the data's order, not the batches'; sums of products may round otherwise in other shapes */
    ck_assert_int_eq(system("paste -d, o.jsonl runs/encoder-star/seed-3/outcomes.jsonl | sed -n "
                            "2,17p | tr -d '[]' | "
                            "awk -F, '{ d = $1 - $8; n++; if (d * d > 1e-8 * $1 * $1) exit 1 } END "
                            "{ exit n != 16 }'"),
                     0);

    ck_assert_int_eq(system("cp -r runs/encoder-star/seed-3 bare && : >bare/outcomes.jsonl"), 0);
    static const struct {
        const char *const args[6], *const says;
    } wrong[] = {
        { { "compare", "runs/encoder-star", "runs" }, "have no partner in 'runs': seed-3, seed-5" },
        { { "compare", "runs/encoder-star/seed-3", "runs/encoder-star" },
          "'runs/encoder-star/seed-3' is one run and 'runs/encoder-star' a tree of runs: expected "
          "two runs, or two trees" },
        { { "compare", "runs/encoder-star", "runs/encoder-star/seed-3" },
          "'runs/encoder-star' is a tree of runs and 'runs/encoder-star/seed-3' one run: "
          "expected" },
        { { "compare", "runs/encoder-star/seed-3", "bare" },
          "gsa: run 'bare' has no outcomes of dev" },
        { { "compare", "runs/encoder-star/seed-3", "runs/encoder-full/seed-5" },
          "measured on different data" },
        { { "compare", "runs/encoder-star", "runs/encoder-full", "--metric", "f1" },
          "has no metric 'f1'; it has mse" },
        { { "compare", "runs/encoder-star" }, "A B" },
        { { "table", "none.jsonl" }, "none.jsonl" },
        { { "table", "empty.tsv" }, "no result is in 'empty.tsv'" },
        { { "table", "runs/encoder-star" },
          "folder 'runs/encoder-star' holds neither results.jsonl nor the result.json of a run" },
        { { "eval", "runs/encoder-star/seed-3" }, "a trained model is named by --model DIR" },
    };
    for (int i = 0; i < GSA_COUNT(wrong); i++) {
        gsa_cli_run(wrong[i].args, NULL, &ran);
        ck_assert_int_ne(ran.code, 0);
        ck_assert_msg(strstr(ran.err, wrong[i].says) != NULL && ran.out[0] == 0, "%s", ran.err);
    }
    gsa_cli_leave();
}
END_TEST

static const struct {
    const char *const args[12], *const says;
} refused[] = {
    { { "--seeds", "0" }, "--seeds 0: expected how many, 1 to 100000, or a list such as 3,7,9" },
    { { "--seeds", "1,1" }, "two runs would have the folder 'seed-1'" },
    { { "--seeds", "1,-2" }, "--seeds" },
    { { "--each", "domain=a,b" }, "--each domain: {domain} is in no value of 'sum.ini'" },
    { { "--each", "task.k=1,99" }, "k = 99 is more than n = 8" },
    { { "--seeds", "2", "--resume", "runs" }, "the same command goes on" },
    { { "--seeds", "2", "--each", "s=1,2", "--set", "train.seed={s}" },
      "--set train.seed={s} and --seeds both say the seeds" },
};

/* Nothing is begun where the last of the runs is wrong. */
START_TEST(refused_at_once)
{
    const char *args[GSA_CLI_ARGS + 1] = { "train", "sum.ini", "--out", "runs" };
    gsa_cli_enter();
    char *before = gsa_cli_listing();
    for (int i = 0; refused[_i].args[i]; i++) args[4 + i] = refused[_i].args[i];
    gsa_cli_run(args, NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, refused[_i].says) != NULL, "%s", ran.err);
    char *after = gsa_cli_listing();
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_signal_and_on)
{
    json_t *line[16];
    const char *const args[GSA_CLI_ARGS + 1] = { "train",     "sum.ini",
                                                 "--seeds",   "2",
                                                 "--set",     "train.epochs=400",
                                                 "--set",     "train.report_every=1",
                                                 "--set",     "train.checkpoint_every=100000",
                                                 "--out",     "runs",
                                                 "--threads", "1" };
    gsa_cli_enter();
    signal(SIGINT, SIG_DFL); /* this process may have been started with it ignored, and stays so
                                what is started ignored */
    const pid_t child = gsa_cli_start(args);
    for (int i = 0; i < 3000; i++) {
        char *err = gsa_cli_read("err.txt");
        const int going = err && strstr(err, "step ") != NULL;
        free(err);
        if (going) break;
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    }
    kill(child, SIGINT);
    gsa_cli_wait(child, &ran);
    ck_assert_int_eq(ran.code, 0);
    ck_assert_msg(strstr(ran.err, "of 2 (seed-1); the same command goes on\n") != NULL, "%s",
                  ran.err);
    run(args);
    ck_assert_ptr_nonnull(strstr(ran.err, "run 1/2: seed-1, which goes on\n"));
    ck_assert_int_eq(objects(line), 3);
    for (int i = 0; i < 3; i++) json_decref(line[i]);
    gsa_cli_leave();
}
END_TEST

/* Who reads the pipe gets all lines: it has one writer from first to last. */
START_TEST(results_into_a_pipe)
{
    gsa_cli_enter();
    ck_assert_int_eq(
        WEXITSTATUS(system("mkfifo pipe && { cat pipe >got & timeout -s KILL 60 " GSA_COMMAND
                           " train text.ini --threads 1 --seeds 2 --results pipe --quiet >out "
                           "2>err; code=$?; wait; exit $code; }")),
        0);
    char *got = gsa_cli_read("got"), *out = gsa_cli_read("out");
    ck_assert_msg(*got && strncmp(out, got, strlen(got)) == 0, "%s", got);
    ck_assert_ptr_nonnull(strstr(got, "\"run\": \"seed-2\""));
    free(got), free(out);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_result_that_is_none)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--out", "runs", "--quiet"));
    gsa_cli_write("runs/seed-1/result.json", "{}");
    gsa_cli_run(
        ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--out", "runs", "--quiet"),
        NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_str_eq(ran.err, "gsa: run 'seed-1': runs/seed-1/result.json: no result of a run: "
                              "expected its 'task', as gsa train writes it\n");
    /* one that ended between its checkpoint and `latest` goes on */
    ck_assert_int_eq(remove("runs/seed-1/result.json") | remove("runs/seed-1/latest"), 0);
    run(ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--out", "runs", "--quiet"));
    gsa_cli_leave();
}
END_TEST

START_TEST(data_may_be_a_list_or_a_pattern)
{
    static const char *const data[] = { "data.train=trai*.tsv", "data.train=train.tsv,dev.tsv" };
    json_t *line[16];
    gsa_cli_enter();
    for (int i = 0; i < 2; i++) {
        run(ARGS("train", "text.ini", "--threads", "1", "--seeds", "2", "--set", "train.epochs=1",
                 "--set", "data.stream=65536", "--set", data[i]));
        const int count = objects(line);
        ck_assert_int_eq(count, 3);
        for (int k = 0; k < count; k++) json_decref(line[k]);
    }
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test runs[] = { GSA_TEST(seeds_and_encoders),
                                     GSA_TEST(runs_of_other_settings_have_rows_of_their_own),
                                     GSA_TEST(compared),
                                     GSA_TEST(a_signal_and_on),
                                     GSA_TEST(results_into_a_pipe),
                                     GSA_TEST(a_result_that_is_none),
                                     GSA_TEST(data_may_be_a_list_or_a_pattern) };
    static const gsa_test wrong[] = { GSA_LOOP(refused_at_once, GSA_COUNT(refused)) };
    static const gsa_case cases[] = { GSA_CASE("runs", runs, 120), GSA_CASE("refused", wrong, 60) };
    return gsa_run_suite("sweeps", cases, GSA_COUNT(cases), argc, argv);
}
