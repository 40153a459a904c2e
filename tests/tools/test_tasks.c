/* Tasks of plugins: trained, found again, and every wrong one is a sentence. The plugins are the
 * task of train/template, whole and broken (broken_task.c). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static const char *plugin(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, GSA_TASKS_AT "/task_%s.so", name);
    return path;
}

static void enter(void)
{
    gsa_cli_enter();
    gsa_cli_write("series.tsv", "0.5\t0 0.5 1\n-0.5\t1 0.5 0 -0.5\n0\t1 1\n1\t0 1 2 3 4\n");
    gsa_cli_write("trend.ini", "[task]\nname = trend\n[model]\nencoder = star\nhidden = 8\n"
                               "heads = 2\n[train]\nepochs = 2\n[data]\ntrain = series.tsv\n"
                               "test = series.tsv\n");
}

static void train_to(const char *out, const char *name, const char *set)
{
    gsa_cli_run(
        ARGS("train", "trend.ini", "--plugin", plugin(name), "--out", out, "--quiet", "--set", set),
        NULL, &ran);
}

static void train(const char *name, const char *set)
{
    train_to("run", name, set);
}

static void must(int code, const char *words)
{
    ck_assert_msg(ran.code == code && (strstr(ran.err, words) || strstr(ran.out, words)),
                  "code %d, expected %d and '%s': %s%s", ran.code, code, words, ran.out, ran.err);
}

/* A task without a report of its own: its losses, the worst example first. */
static void report_losses(void)
{
    double before = INFINITY, sum = 0;
    gsa_cli_run(ARGS("eval", "--model", "run", "--report", "-", "--json", "report.json"), NULL,
                &ran);
    must(0, "quantiles of an example's mean loss");
    json_t *report = json_load_file("report.json", 0, NULL),
           *test = json_object_get(json_object_get(report, "splits"), "test"),
           *worst = json_object_get(test, "worst"), *row;
    size_t i;
    ck_assert_uint_eq(json_array_size(worst), 4);
    json_array_foreach (worst, i, row) {
        const double loss = json_number_value(json_object_get(row, "loss"));
        ck_assert(loss <= before && loss > 0);
        before = loss, sum += loss;
    }
    json_t *mse = json_object_get(json_object_get(test, "scores"), "mse");
    ck_assert_double_eq_tol(sum / 4, json_number_value(mse), 1e-9);
    json_decref(report);
}

START_TEST(every_verb_finds_the_task_of_its_model)
{
    enter();
    train("whole", "train.seed=3");
    must(0, "\"test_mse\"");
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    must(0, "\"task\": \"trend\"");
    ck_assert_ptr_nonnull(strstr(ran.err, "loads the plugin that the model was trained with: /"));
    gsa_cli_run(ARGS("predict", "--model", "run"), "1 2 3\n4 5\n", &ran);
    must(0, "\n");
    gsa_cli_run(ARGS("predict", "--model", "run"), "1 two\n", &ran);
    must(2, "no number in");
    gsa_cli_run(ARGS("predict", "--model", "run", "--top-k", "2"), "1 2\n", &ran);
    must(2, "the model's task is trend");
    gsa_cli_run(ARGS("predict", "--model", "run", "1 2 3"), NULL, &ran);
    must(0, "\n");
    gsa_cli_run(ARGS("train", "--resume", "run", "--set", "train.epochs=3", "--quiet"), NULL, &ran);
    must(0, "\"test_mse\"");
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", plugin("no_lengths")), NULL, &ran);
    must(2, "task 'trend' comes from '");
    report_losses();
    gsa_cli_run(ARGS("compare", "run", "run"), NULL, &ran);
    must(0, "test mse, less is better; 4 units");
    gsa_cli_run(ARGS("report", "run", "--out", "report.html"), NULL, &ran);
    must(0, "");
    gsa_cli_run(ARGS("chart", "run/result.json", "--x", "seed", "--y", "test_mse", "--out", "-"),
                NULL, &ran);
    must(0, "test mse");
    gsa_cli_leave();
}
END_TEST

START_TEST(what_a_task_does_not_read_is_refused)
{
    enter();
    train("whole", "data.max_length=7");
    must(2, "max_length = 7 is not for task trend, which reads data.train data.test "
            "in addition to those of all tasks");
    train("whole", "task.name=trent");
    must(2, "that of a plugin when it is loaded (--plugin ./FILE.so)");
    gsa_cli_run(ARGS("train", "trend.ini", "--quiet"), NULL, &ran);
    must(2, "parameter 'name' is 'trend', expected one of masked_summation");
    train("whole", "data.train=nowhere.tsv");
    must(1, "nowhere.tsv");
    gsa_cli_write("series.tsv", "high\t1 2\n");
    train("whole", "train.seed=3");
    must(2, "series.tsv:1: no finite slope before a tab");
    gsa_cli_leave();
}
END_TEST

static const struct {
    const char *set, *says;
} options[] = {
    { "task.options=scale=0", "options = scale=0: parameter 'scale'" },
    { "task.options=size=2", "task trend has no option 'size'" },
    { "task.options=scale=1:scale=2", "option scale is given twice" },
    { "task.options=scale=1*2", "expected NAME=VALUE, and more of them after a ':'" },
    { "task.options=scale=1,star", "expected NAME=VALUE, and more of them after a ':'" },
    { "task.options==", "options = =: " },
};

START_TEST(options_come_from_the_recipe)
{
    char one[256];
    enter();
    train("whole", "task.options=scale=1");
    must(0, "\"test_mse\"");
    snprintf(one, sizeof one, "%.255s", strstr(ran.out, "\"test_mse\""));
    train_to("again", "whole", "task.options=scale=3");
    must(0, "\"test_mse\"");
    ck_assert_str_ne(one, strstr(ran.out, "\"test_mse\""));
    gsa_cli_run(ARGS("eval", "--model", "again"), NULL, &ran);
    must(0, "\"task\": \"trend\"");
    for (size_t i = 0; i < GSA_COUNT(options); i++) {
        train_to("bad", "whole", options[i].set);
        must(2, options[i].says);
    }
    gsa_cli_run(ARGS("train", "trend.ini", "--quiet", "--set", "task.name=tagging", "--set",
                     "task.options=scale=1"),
                NULL, &ran);
    must(2, "is not for task tagging: it is read by tasks of plugins");
    gsa_cli_leave();
}
END_TEST

static const struct {
    const char *name, *says;
} broken[] = {
    { "abi", "task ABI 2, expected 1" },
    { "symbol", "it has gsa_task_2 and no gsa_task_1: it was built for task ABI 2, expected task" },
    { "size", "the task's struct_size is 16, expected at least" },
    { "name", "the task's name is 'Trend', expected [a-z][a-z0-9_]*" },
    { "no_name", "the task's name is (nothing)" },
    { "metric", "task 'trend': its metric is 'MSE', expected [a-z][a-z0-9_]*" },
    { "no_fill", "task 'trend' has no fill" },
    { "no_create", "task 'trend' has no create" },
    { "no_object", "task 'trend': create gave no object" },
    { "large_plan", "task 'trend': its plan says n_sequences = 9, expected 1 to 4" },
    { "nameless", "task 'trend': pass 0 of its plan has no stack" },
    { "too_few", "the task has -3 examples" },
    { "no_lengths", "examples and gave no lengths of them" },
    { "no_targets", "gsa: " },
    { "no_loss", "task 'trend' gave no loss" },
    { "options_lost", "task 'trend': 1 options without a table of them" },
};

START_TEST(a_wrong_task_is_one_sentence)
{
    enter();
    train(broken[_i].name, "train.seed=3");
    ck_assert_msg(ran.signal == 0 && ran.code > 0 && strstr(ran.err, broken[_i].says),
                  "%s: code %d, signal %d: %s", broken[_i].name, ran.code, ran.signal, ran.err);
    ck_assert_int_eq(strchr(ran.err, '\n') == ran.err + strlen(ran.err) - 1, 1);
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test found[] = { GSA_TEST(every_verb_finds_the_task_of_its_model),
                                      GSA_TEST(what_a_task_does_not_read_is_refused),
                                      GSA_TEST(options_come_from_the_recipe) };
    static const gsa_test refused[] = { GSA_LOOP(a_wrong_task_is_one_sentence, GSA_COUNT(broken)) };
    static const gsa_case cases[] = { GSA_CASE("found", found, 60),
                                      GSA_CASE("refused", refused, 60) };
    return gsa_run_suite("tasks", cases, GSA_COUNT(cases), argc, argv);
}
