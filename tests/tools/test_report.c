/* test_report.c - gsa report: the page holds what the runs' folders hold; in a browser, where there
 * is one, its tables and charts show it. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "browser.h"
#include "cli.h"
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

/* The second run's name, which a page and a shell must not take for more than a name. */
static const char second[] = "it's <two>";

static void train(void)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "one"));
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "model.hidden=16", "--set",
             "train.lr=0.01", "--out", second));
    run(ARGS("eval", "--model", "one", "--json", "one/report.json", "--quiet"));
}

static json_t *loaded(const char *path)
{
    json_error_t error;
    json_t *value = json_load_file(path, 0, &error);
    ck_assert_msg(value != NULL, "%s: %s", path, error.text);
    return value;
}

static const json_t *run_at(const json_t *page, int place)
{
    return json_array_get(json_object_get(page, "runs"), (size_t)place);
}

START_TEST(the_page_has_what_the_folders_have)
{
    char path[64];
    train();
    run(ARGS("report", "one", second, "--errors", "0", "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    for (int r = 0; r < 2; r++) {
        const char *name = r ? second : "one";
        const json_t *own = run_at(page, r), *log = json_object_get(own, "log");
        ck_assert_str_eq(json_string_value(json_object_get(own, "name")), name);
        ck_assert_str_eq(
            json_string_value(json_object_get(json_object_get(own, "settings"), "model.hidden")),
            r ? "16" : "8");
        snprintf(path, sizeof path, "%s/result.json", name);
        json_t *result = loaded(path);
        ck_assert(json_equal(result, json_object_get(own, "result")));
        json_decref(result);
        snprintf(path, sizeof path, "%s/log.jsonl", name);
        char *text = gsa_cli_read(path), *at = text;
        for (size_t i = 0; i < json_array_size(log); i++) {
            json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
            ck_assert(json_equal(line, json_array_get(log, i)));
            json_decref(line);
            at = strchr(at, '\n') + 1;
        }
        ck_assert_int_eq(*at, 0);
        free(text);
    }
    json_t *report = loaded("one/report.json");
    ck_assert(json_equal(report, json_object_get(run_at(page, 0), "report")));
    ck_assert(json_is_null(json_object_get(run_at(page, 1), "report")));
    json_decref(report), json_decref(page);
    gsa_cli_leave();
}
END_TEST

/* A run's JSON asks for no more pictures by splits that no run has. */
START_TEST(splits_of_no_run_are_not_drawn)
{
    static const char *const names[] = { "s", "test", "dev0", "" };
    json_t *report = json_object(), *splits = json_object();
    train();
    json_object_set_new(report, "splits", splits);
    for (int i = 0; i < GSA_COUNT(names); i++)
        json_object_set_new(splits, names[i],
                            json_pack("{s:[{s:s}]}", "worst", "text", "a good one"));
    ck_assert_int_eq(json_dump_file(report, "one/report.json", 0), 0);
    run(ARGS("report", "one", "--errors", "3", "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    splits = json_object_get(json_object_get(run_at(page, 0), "report"), "splits");
    for (int i = 0; i < GSA_COUNT(names); i++) {
        json_t *worst = json_object_get(json_object_get(splits, names[i]), "worst");
        ck_assert_int_eq(json_object_get(json_array_get(worst, 0), "picture") != NULL, i == 1);
    }
    json_decref(report), json_decref(page);
    gsa_cli_leave();
}
END_TEST

START_TEST(the_comparison_is_that_of_compare)
{
    train();
    run(ARGS("report", "one", second, "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    const json_t *compared = json_object_get(page, "compared");
    run(ARGS("compare", second, "one", "--json", "--split", "dev"));
    json_t *expected = json_loads(ran.out, 0, NULL), *own = json_array_get(compared, 0);
    ck_assert_str_eq(json_string_value(json_object_get(own, "split")), "dev");
    static const char *const keys[] = { "difference", "low", "high", "p" };
    for (int k = 0; k < GSA_COUNT(keys); k++)
        ck_assert(fabs(json_number_value(json_object_get(own, keys[k])) -
                       json_number_value(json_object_get(expected, keys[k]))) < 1e-7);
    json_decref(expected), json_decref(page);
    /* other data: said, and the page is made */
    run(ARGS("train", "sum.ini", "--quiet", "--threads", "1", "--out", "sum"));
    run(ARGS("report", "one", "sum", "--out", "r.html"));
    page = page_json("r.html", NULL);
    own = json_array_get(json_object_get(page, "compared"), 0);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(own, "said")));
    json_decref(page);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_run_that_still_trains_is_shown)
{
    train();
    char *log = gsa_cli_read("one/log.jsonl");
    *strrchr(log, '}') = 0; /* the last line has no end */
    gsa_cli_write("one/log.jsonl", log);
    ck_assert_int_eq(unlink("one/result.json"), 0);
    run(ARGS("report", "one", "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    int lines = 0;
    for (const char *c = log; *c; c++) lines += *c == '\n';
    ck_assert_int_eq(json_array_size(json_object_get(run_at(page, 0), "log")), lines);
    ck_assert(json_is_null(json_object_get(run_at(page, 0), "result")));
    free(log), json_decref(page);
    gsa_cli_leave();
}
END_TEST

/* The page's command, which a_browser_shows_it reads: the same model. */
START_TEST(its_settings_make_it_again)
{
    train();
    run(ARGS("train", "one/config.ini", "--quiet", "--out", "one-again"));
    json_t *result = loaded("one/result.json"), *again = loaded("one-again/result.json");
    ck_assert(json_equal(json_object_get(result, "dev_accuracy"),
                         json_object_get(again, "dev_accuracy")));
    run(ARGS("compare", "one", "one-again", "--json", "--split", "dev"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\"difference\": 0, \"low\": 0, \"high\": 0, \"p\": 1"));
    char *one = gsa_cli_read("one/outcomes.jsonl"), *two = gsa_cli_read("one-again/outcomes.jsonl");
    ck_assert_str_eq(one, two);
    free(one), free(two);
    json_decref(result), json_decref(again);
    gsa_cli_leave();
}
END_TEST

/* The picture of a place that the page names. */
static const json_t *picture_of(const json_t *page, const json_t *object)
{
    const json_t *place = json_object_get(object, "picture");
    const char *said = json_string_value(json_object_get(object, "said"));
    ck_assert_msg(json_is_integer(place), "not drawn: %s", said ? said : "nothing is said");
    return json_array_get(json_object_get(page, "pictures"), (size_t)json_integer_value(place));
}

/* A model that has learned nothing: its errors are drawn with its weights on their own words, the
 * worst first; its pattern, too. */
START_TEST(errors_and_patterns_are_drawn)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "train.lr=1e-9", "--out",
             "poor"));
    run(ARGS("eval", "--model", "poor", "--json", "poor/report.json", "--quiet"));
    run(ARGS("report", "poor", "--errors", "1", "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    const json_t *own = run_at(page, 0),
                 *pattern = json_array_get(json_object_get(own, "patterns"), 0),
                 *splits = json_object_get(json_object_get(own, "report"), "splits"),
                 *worst = json_object_get(json_object_get(splits, "dev"), "worst");
    ck_assert_int_ge(json_array_size(worst), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(picture_of(page, pattern), "length")), 12);
    char words[512] = "";
    const json_t *picture = picture_of(page, json_array_get(worst, 0)),
                 *tokens = json_object_get(picture, "tokens");
    const int64_t length = json_integer_value(json_object_get(picture, "length"));
    for (int64_t i = 0; i < length; i++) {
        const size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s", used ? " " : "",
                 json_string_value(json_array_get(tokens, (size_t)i)));
    }
    ck_assert_str_eq(words, json_string_value(json_object_get(json_array_get(worst, 0), "text")));
    ck_assert_int_gt(json_integer_value(json_object_get(picture, "columns")), 0);
    const json_t *first = json_array_get(json_object_get(own, "log"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "kind")), "environment");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "threads")), 1);
    json_decref(page);
    run(ARGS("report", "poor", "--errors", "0", "--out", "r.html"));
    page = page_json("r.html", NULL);
    ck_assert_int_eq(json_array_size(json_object_get(page, "pictures")), 1); /* the pattern's */
    json_decref(page);
    /* without its model the page is made, and says why there is no picture */
    ck_assert_int_eq(system("rm -r poor/step-*"), 0);
    run(ARGS("report", "poor", "--out", "r.html"));
    page = page_json("r.html", NULL);
    splits = json_object_get(json_object_get(run_at(page, 0), "report"), "splits");
    worst = json_array_get(json_object_get(json_object_get(splits, "dev"), "worst"), 0);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(worst, "said")));
    json_decref(page);
    gsa_cli_leave();
}
END_TEST

/* The worst error of each task is drawn: by its texts, its example, or its graph. */
static const struct {
    const char *recipe, *data;
} tasks[] = {
    { "sentence_pairs\n[model]\nencoder = star\nhidden = 8\nheads = 2\n[data]\ntrain = d\n"
      "dev = d\n",
      "0\ta b\tb\n1\tb\ta a\n0\tb b\ta\n" },
    { "tagging\n[model]\nencoder = star\nhidden = 8\nheads = 2\n[data]\ntrain = d\ndev = d\n"
      "format = conll\n",
      "the D\ncat N\nruns V\n\na D\ndog N\nsleeps V\n" },
    { "node_classification\n[model]\nencoder = ring\nhidden = 8\nheads = 2\n[data]\ntrain = d\n",
      "0\ttrain\tx\t0:1\n1\tdev\ty\t1:1\n2\ttest\tx\t0:1\n3\tdev\tx\t0:1\n" },
    { "masked_summation\nk = 1\nn = 6\nd = 3\ntrain = 8\ndev = 4\ntest = 4\n[model]\n"
      "encoder = star\nhidden = 8\nheads = 2\n",
      NULL },
    { "span_extraction\n[model]\nencoder = window:width=3\nhidden = 8\nheads = 2\n[data]\n"
      "train = d\ndev = d\ntokens = chars\n",
      "{\"data\": [{\"paragraphs\": [{\"context\": \"abc def ghi jkl\", \"qas\": ["
      "{\"id\": \"1\", \"question\": \"a?\", \"answers\": [{\"text\": \"def\", "
      "\"answer_start\": 4}]}, {\"id\": \"2\", \"question\": \"b?\", \"answers\": "
      "[{\"text\": \"jkl\", \"answer_start\": 12}]}]}]}]}" },
    { "translation\n[model]\nencoder = full\ndecoder = full:causal=1+cross\nhidden = 8\n"
      "heads = 2\n[data]\ntrain = d\ndev = d\n",
      "a b c\tx y z\nb c\ty z\na\tx\n" },
    { "language_modelling\n[model]\nencoder = window:width=5:causal=1\nhidden = 8\nheads = 2\n"
      "[data]\ntrain = d\ndev = d\n",
      "the quick brown fox jumps over the lazy dog\nthe end of the line is here\n" },
};

START_TEST(errors_of_every_task_have_attention)
{
    char recipe[1024];
    gsa_cli_enter();
    gsa_cli_write("d", tasks[_i].data ? tasks[_i].data : "");
    snprintf(recipe, sizeof recipe, "[task]\nname = %s[train]\nmax_steps = 1\nlr = 1e-9\n",
             tasks[_i].recipe);
    gsa_cli_write("r.ini", recipe);
    run(ARGS("train", "r.ini", "--quiet", "--threads", "1", "--out", "poor"));
    run(ARGS("eval", "--model", "poor", "--json", "poor/report.json", "--quiet"));
    run(ARGS("report", "poor", "--errors", "2", "--out", "r.html"));
    json_t *page = page_json("r.html", NULL);
    const json_t *splits = json_object_get(json_object_get(run_at(page, 0), "report"), "splits"),
                 *split = json_object_get(splits, "dev"), *worst = json_object_get(split, "worst");
    if (!worst) worst = json_object_get(split, "worst_lines");
    ck_assert_int_ge(json_array_size(worst), 1);
    for (size_t i = 0; i < json_array_size(worst) && i < 2; i++) {
        const json_t *wrong = json_array_get(worst, i), *picture = picture_of(page, wrong),
                     *node = json_object_get(wrong, "node");
        ck_assert_int_gt(json_integer_value(json_object_get(picture, "columns")), 0);
        ck_assert_int_gt(json_integer_value(json_object_get(picture, "edges")), 0);
        if (node)
            ck_assert_int_lt(json_integer_value(node),
                             json_integer_value(json_object_get(picture, "nodes")));
    }
    json_decref(page);
    gsa_cli_leave();
}
END_TEST

/* The report of both runs where a process may have so many descriptors; its exit code. */
static int report_with(int descriptors)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        for (int file = 3; file < 256; file++) close(file); /* what this process inherited */
        const struct rlimit limit = { (rlim_t)descriptors, (rlim_t)descriptors };
        if (freopen("err.txt", "w", stderr) && setrlimit(RLIMIT_NOFILE, &limit) == 0)
            execl(GSA_COMMAND, "gsa", "report", "one", second, "--out", "r.html", (char *)NULL);
        _exit(99);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Without descriptors, as without memory, there is the whole page or none, and a sentence. */
START_TEST(descriptors_run_out)
{
    int refused = 0, made = 0;
    train();
    run(ARGS("report", "one", second, "--out", "whole.html"));
    for (int limit = 4; limit < 20; limit++) {
        const int code = report_with(limit);
        if (code == 0) {
            made++;
            ck_assert_msg(system("cmp whole.html r.html && rm r.html") == 0, "limit %d", limit);
            continue;
        }
        refused++;
        char *said = gsa_cli_read("err.txt");
        ck_assert_msg(code == 1 && strstr(said, "Too many open files"), "limit %d: %d, %s", limit,
                      code, said);
        ck_assert_msg(!gsa_cli_exists("r.html"), "limit %d", limit);
        free(said);
    }
    ck_assert_msg(refused > 1 && made > 1, "%d, %d", refused, made);
    gsa_cli_leave();
}
END_TEST

START_TEST(what_is_no_run_is_refused)
{
    static const struct {
        const char *spoils, *text, *says;
    } rows[] = { { "one/log.jsonl", "{\"step\": 1}\nno JSON\n", "one/log.jsonl" },
                 { "one/result.json", "{", "one/result.json" },
                 { "one/config.ini", "no = section\n", "config.ini:1" } };
    train();
    gsa_cli_write(rows[_i].spoils, rows[_i].text);
    gsa_cli_run(ARGS("report", "one", "--out", "r.html"), NULL, &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, rows[_i].says), "exit code %d: %s", ran.code,
                  ran.err);
    ck_assert(!gsa_cli_exists("r.html"));
    ck_assert_int_eq(rename(second, "\xff"), 0);
    gsa_cli_run(ARGS("report", "\xff", "--out", "r.html"), NULL, &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "run 1: its folder's name is no UTF-8"), "%s",
                  ran.err);
    gsa_cli_run(ARGS("report", "nowhere", "--out", "r.html"), NULL, &ran);
    ck_assert_msg(ran.code != 0 && strstr(ran.err, "nowhere/config.ini"), "exit code %d: %s",
                  ran.code, ran.err);
    gsa_cli_leave();
}
END_TEST

/* The bytes that TensorBoard 2.21's own EventAccumulator read as epoch 3 and train_loss 0.5 of step
 * 300, 2.5 seconds after the start; a line without a step has no value. */
START_TEST(event_files_are_tensorboards)
{
    static const unsigned char golden[] =
        "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\0\0\0\0\0\0\x1a\x0d"
        "brain.Event:2\xee\xdf\x28\xa3"
        "\x1c\0\0\0\0\0\0\0\xc8\xc1\x95\x1d\x09\0\0\0\0\0\0\x04\x40\x10\xac\x02\x2a\x0e\x0a\x0c"
        "\x0a\x05"
        "epoch\x15\0\0\x40\x40\x1a\x21\x97\xb2"
        "\x21\0\0\0\0\0\0\0\x01\x7b\xec\xf6\x09\0\0\0\0\0\0\x04\x40\x10\xac\x02\x2a\x13\x0a\x11"
        "\x0a\x0a"
        "train_loss\x15\0\0\0\x3f\x27\x7c\xbf\x44";
    unsigned char own[sizeof golden + 1];
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "one"));
    gsa_cli_write("one/log.jsonl",
                  "{\"kind\":\"epoch\",\"epoch\":3,\"step\":300,\"train_loss\":0.5,"
                  "\"seconds\":2.5}\n{\"kind\":\"message\",\"text\":\"x\"}\n");
    run(ARGS("report", "./one", "--out", "r.html", "--tensorboard", "tb/logs"));
    FILE *file = fopen("tb/logs/__one/events.out.tfevents.0.gsa", "rb");
    ck_assert_ptr_nonnull(file);
    const size_t bytes = fread(own, 1, sizeof own, file);
    fclose(file);
    ck_assert_int_eq(bytes, sizeof golden - 1);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_msg(own[i] == golden[i], "byte %zu is %02x, expected %02x", i, own[i], golden[i]);
    gsa_cli_run(ARGS("report", "one", "one", "--out", "r2.html", "--tensorboard", "tb"), NULL,
                &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "runs 1 and 2 would both be 'one' in tb"), "%s",
                  ran.err);
    gsa_cli_leave();
}
END_TEST

/* The page of a run that is over is what gsa report makes of it; before, it had each epoch. */
START_TEST(a_page_is_written_while_it_trains)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "one", "--report",
             "live.html"));
    run(ARGS("report", "one", "--out", "after.html"));
    char *live = gsa_cli_read("live.html"), *after = gsa_cli_read("after.html");
    ck_assert_str_eq(live, after);
    free(live), free(after);
    /* one that has not ended */
    const pid_t child =
        gsa_cli_start(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--out", "two",
                           "--report", "two.html", "--set", "train.epochs=100000"));
    for (int i = 0; i < 1000 && !gsa_cli_exists("two.html"); i++)
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    json_t *page = page_json("two.html", NULL);
    ck_assert_int_ge(json_array_size(json_object_get(run_at(page, 0), "log")), 1);
    ck_assert(json_is_null(json_object_get(run_at(page, 0), "result")));
    json_decref(page);
    kill(child, SIGTERM);
    gsa_cli_wait(child, &ran);
    static const char *const asked[][3] = { { "--out", "x", "-" }, { "--quiet", NULL, "r.html" } };
    for (int i = 0; i < 2; i++) {
        gsa_cli_run(ARGS("train", "text.ini", "--report", asked[i][2], asked[i][0], asked[i][1]),
                    NULL, &ran);
        ck_assert_msg(ran.code == 2 && strstr(ran.err, "--report "), "%d %s", ran.code, ran.err);
    }
    gsa_cli_leave();
}
END_TEST

/* ---- in a browser -------------------------------------------------------------------------- */

/* The charts' ranges of steps, each once. */
static int ranges(void)
{
    return (int)browser_number("new Set([...document.querySelectorAll('#charts svg')].filter(s => "
                               "s.querySelector('polyline')).map(s => "
                               "[...s.querySelectorAll('text')].slice(-2).map(t => t.textContent)"
                               ".join())).size");
}

/* A drag over one chart is the range of all; the logarithm and smoothing move the line. */
static void look_at_curves(void)
{
    static const char line[] = "document.querySelector('[data-key=loss] polyline')"
                               ".getAttribute('points')";
    browser_run("document.querySelector('[data-key=loss]').scrollIntoView()");
    json_t *whole = browser_value("%s", line);
    const double x = browser_number("document.querySelector('[data-key=loss]')"
                                    ".getBoundingClientRect().x"),
                 y = browser_number("document.querySelector('[data-key=loss]')"
                                    ".getBoundingClientRect().y");
    browser_move(x + 225, y + 100);
    browser_button(1);
    browser_move(x + 545, y + 100);
    browser_button(0);
    ck_assert_int_eq(ranges(), 1);
    ck_assert(browser_number("document.querySelector('#charts polyline').getAttribute('points')"
                             ".split(' ').length") > 1);
    json_t *part = browser_value("%s", line);
    ck_assert_str_ne(json_string_value(whole), json_string_value(part));
    browser_run("document.querySelector('[data-key=loss]').dispatchEvent(new "
                "Event('dblclick'))");
    browser_run("(() => { const b = document.getElementById('log'); b.checked = true; "
                "b.dispatchEvent(new Event('input')); })()");
    browser_says("loss, logarithmic", "document.querySelector('[data-key=loss] text').textContent");
    json_decref(whole), json_decref(part);
}

/* Calibration, rates, p and the attention of errors, which the lists change. */
static void look_at_errors(void)
{
    run(ARGS("train", "text.ini", "--quiet", "--threads", "1", "--set", "train.lr=1e-9", "--out",
             "poor"));
    run(ARGS("eval", "--model", "poor", "--json", "poor/report.json", "--quiet"));
    run(ARGS("report", "poor", "one", "--out", "r.html"));
    browser_open("r.html", "");
    json_t *report = loaded("poor/report.json");
    const json_t *dev = json_object_get(json_object_get(report, "splits"), "dev");
    const double ece =
        json_number_value(json_object_get(json_object_get(dev, "calibration"), "ece"));
    ck_assert(fabs(browser_number("Number(document.querySelector('#calibration .row p').textContent"
                                  ".match(/ECE ([^,]*)/)[1])") -
                   ece) < 1e-4);
    ck_assert(browser_number("document.querySelectorAll('#errors figure').length") >=
              (double)json_array_size(json_object_get(dev, "worst")));
    ck_assert(browser_number("document.querySelectorAll('#errors canvas').length") >= 1);
    ck_assert(browser_number("document.querySelectorAll('#patterns canvas').length") == 1);
    ck_assert(browser_number("document.querySelectorAll('#compared tr').length") >= 2);
    ck_assert(browser_number("[...document.querySelectorAll('#environment td')].filter(c => "
                             "c.textContent === 'seed').length") == 1);
    static const char pixels[] = "document.querySelector('#errors canvas').toDataURL()";
    json_t *before = browser_value("%s", pixels);
    browser_run("(() => { const s = document.getElementById('view'); s.value = 'matrix'; "
                "s.dispatchEvent(new Event('change')); })()");
    json_t *after = browser_value("%s", pixels);
    ck_assert_str_ne(json_string_value(before), json_string_value(after));
    json_decref(before), json_decref(after), json_decref(report);
}

START_TEST(a_browser_shows_it)
{
    if (!browser_is_here()) {
        printf("report: there is no chromium, the page is not shown\n");
        return;
    }
    train();
    run(ARGS("report", "one", second, "--out", "r.html"));
    json_t *result = loaded("one/result.json");
    browser_start(1200, 900);
    browser_open("r.html", "");
    const double shown =
        browser_number("Number([...document.querySelectorAll('#results tr')].find(r => "
                       "r.cells[0].textContent === 'dev_accuracy').cells[1].textContent)");
    ck_assert(fabs(shown - json_number_value(json_object_get(result, "dev_accuracy"))) < 1e-4);
    browser_says("model.hidden 8 16,train.lr 0.001 0.01",
                 "[...document.querySelectorAll('#settings tr.differs')].map(r => "
                 "[...r.cells].map(c => c.textContent).join(' ')).sort().join(',')");
    /* a line for each run in the chart of the loss; smoothing and zoom redraw it */
    ck_assert(browser_number("document.querySelectorAll('[data-key=loss] polyline').length") == 2);
    browser_value("(() => { const s = document.getElementById('smooth'); s.value = 0.9; "
                  "s.dispatchEvent(new Event('input')); })()");
    ck_assert(browser_number("document.querySelectorAll('[data-key=loss] polyline').length") == 2);
    ck_assert(browser_number("document.querySelectorAll('#matrices table').length") >= 1);
    json_t *commands = browser_value("document.getElementById('commands').textContent");
    ck_assert_ptr_nonnull(strstr(json_string_value(commands),
                                 "gsa train 'it'\\''s <two>/config.ini' --out "
                                 "'it'\\''s <two>-again'"));
    json_decref(commands), json_decref(result);
    look_at_curves();
    look_at_errors();
    browser_end();
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test data[] = { GSA_TEST(the_page_has_what_the_folders_have),
                                     GSA_TEST(splits_of_no_run_are_not_drawn),
                                     GSA_TEST(the_comparison_is_that_of_compare),
                                     GSA_TEST(a_run_that_still_trains_is_shown),
                                     GSA_TEST(its_settings_make_it_again),
                                     GSA_TEST(errors_and_patterns_are_drawn),
                                     GSA_LOOP(errors_of_every_task_have_attention,
                                              GSA_COUNT(tasks)),
                                     GSA_TEST(event_files_are_tensorboards),
                                     GSA_TEST(a_page_is_written_while_it_trains),
                                     GSA_LOOP(what_is_no_run_is_refused, 3),
                                     GSA_TEST(descriptors_run_out) };
    static const gsa_test shown[] = { GSA_TEST(a_browser_shows_it) };
    static const gsa_case cases[] = { GSA_CASE("data", data, 60), GSA_CASE("shown", shown, 60) };
    const char *only = getenv("CK_RUN_CASE");
    if (only && strcmp(only, "shown") == 0 && !browser_is_here()) {
        printf("run_report: skipped, there is no chromium\n");
        return 77;
    }
    return gsa_run_suite("run_report", cases, GSA_COUNT(cases), argc, argv);
}
