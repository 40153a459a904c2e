/* test_cli.c - what the command does when it is asked properly. */
#include <jansson.h>
#include <regex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static void run(const char *const *args, const char *input)
{
    gsa_cli_run(args, input, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

/* The JSON object in the last line of stdout. */
static json_t *last_object(void)
{
    const size_t bytes = strlen(ran.out);
    ck_assert_msg(bytes > 1 && ran.out[bytes - 1] == '\n', "stdout does not end with a line: %s",
                  ran.out);
    ran.out[bytes - 1] = 0;
    const char *start = strrchr(ran.out, '\n');
    json_error_t why;
    json_t *object = json_loads(start ? start + 1 : ran.out, 0, &why);
    ck_assert_msg(json_is_object(object), "%s: %s", why.text, ran.out);
    return object;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "no number '%s'", key);
    return json_number_value(value);
}

/* ---- texts --------------------------------------------------------------------------------- */

START_TEST(version_and_help)
{
    static const char *const verbs[] = { "topologies", "graph",   "train", "eval",
                                         "predict",    "compare", "table", "bench",
                                         "chart",      "doctor",  "help" };
    gsa_cli_enter();
    run(ARGS("--version"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, GSA_VERSION));
    run(ARGS("help"), NULL);
    for (int i = 0; i < GSA_COUNT(verbs); i++) ck_assert_ptr_nonnull(strstr(ran.out, verbs[i]));
    for (int i = 0; i < GSA_COUNT(verbs); i++) {
        run(ARGS(verbs[i], "--help"), NULL);
        ck_assert_ptr_nonnull(strstr(ran.out, "usage: gsa"));
        ck_assert_ptr_nonnull(strstr(ran.out, "--help"));
        ck_assert_int_eq(count_of(ran.out, " \n"), 0);
    }
    run(ARGS("help", "train"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "train.seed"));
    ck_assert_ptr_nonnull(strstr(ran.out, "task.k"));
    gsa_cli_leave();
}
END_TEST

START_TEST(man_and_completion)
{
    gsa_cli_enter();
    run(ARGS("help", "--man"), NULL);
    ck_assert_int_eq(strncmp(ran.out, ".TH GSA 1", 9), 0);
    ck_assert_ptr_nonnull(strstr(ran.out, "\\fB\\-\\-topology\\fR"));
    ck_assert_ptr_nonnull(strstr(ran.out, "train.seed"));
    run(ARGS("help", "--completion"), NULL);
    gsa_cli_write("gsa.bash", ran.out);
    static const char *const typed[][3] = { { "gsa graph --tokens w", "3", "words" },
                                            { "gsa graph --topology sta", "3", "star" },
                                            { "gsa topology \"\"", "2", "new check" },
                                            { "gsa bench k", "2", "kernel" },
                                            { "gsa graph --set train.se", "3", "" },
                                            { "gsa train --set train.se", "3",
                                              "train.seed= train.select=" } };
    for (int i = 0; i < GSA_COUNT(typed); i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "bash -c '. ./gsa.bash && COMP_WORDS=(%s) COMP_CWORD=%s && _gsa 2>/dev/null; [ "
                 "\"${COMPREPLY[*]}\" = \"%s\" ]'",
                 typed[i][0], typed[i][1], typed[i][2]);
        ck_assert_msg(system(command) == 0, "completing '%s' does not give '%s'", typed[i][0],
                      typed[i][2]);
    }
    gsa_cli_leave();
}
END_TEST

/* The page of keys has a line for each key: its default, the values it takes, what it does, and the
 * tasks that exist. `gsa help train` lists the same keys. */
START_TEST(recipe_keys_page)
{
    regex_t key, tasks;
    char section[64] = "", name[160];
    int keys = 0, listed = 0;
    ck_assert_int_eq(0, regcomp(&key, "^\\* `[a-z_0-9]+ =( [^`]+)?` \\([^)]+\\): [^ ].{2,}$",
                                REG_EXTENDED | REG_NOSUB));
    ck_assert_int_eq(0,
                     regcomp(&tasks, " \\[([a-z_, ]+|encoder[.]N)\\]$", REG_EXTENDED | REG_NOSUB));
    gsa_cli_enter();
    run(ARGS("help", "train"), NULL);
    char *help = strdup(ran.out);
    for (const char *at = strstr(help, "\nrecipe keys"); at; at = strchr(at + 1, '\n'))
        listed += strncmp(at, "\n  ", 3) == 0 && strchr("abcdefghijklmnopqrstuvwxyz", at[3]);
    run(ARGS("help", "--recipe-keys"), NULL);
    ck_assert_int_eq(0, strncmp(ran.out, "# Recipe keys\n", 14));
    for (char *rest = ran.out, *line; (line = strtok_r(rest, "\n", &rest));) {
        sscanf(line, "## [%63[a-z.N]]", section);
        if (strncmp(line, "* `", 3) != 0) continue;
        ck_assert_msg(regexec(&key, line, 0, NULL, 0) == 0, "no default, range or text: %s", line);
        snprintf(name, sizeof name, "\n  %s.%.*s ", section, (int)strcspn(line + 3, " "), line + 3);
        ck_assert_msg(strstr(help, name) != NULL, "gsa help train does not list%s", name);
        ck_assert_msg(line[strlen(line) - 1] != ']' || regexec(&tasks, line, 0, NULL, 0) == 0,
                      "no task: %s", line);
        keys++;
    }
    ck_assert_int_gt(keys, 100);
    ck_assert_int_eq(keys, listed);
    regfree(&key), regfree(&tasks), free(help);
    gsa_cli_leave();
}
END_TEST

START_TEST(topologies)
{
    gsa_cli_enter();
    run(ARGS("topologies", "--json"), NULL);
    json_t *all = json_loads(ran.out, 0, NULL);
    ck_assert(json_is_array(all));
    ck_assert_uint_ge(json_array_size(all), 4);
    run(ARGS("topologies"), NULL);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        ck_assert_ptr_nonnull(strstr(ran.out, json_string_value(json_object_get(one, "id"))));
        ck_assert_ptr_nonnull(
            strstr(ran.out, json_string_value(json_object_get(one, "reference"))));
        ck_assert(json_is_array(json_object_get(one, "parameters")));
    }
    json_decref(all);
    run(ARGS("topologies", "--plugin", GSA_PAIRS), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "pairs - tokens in pairs"));
    gsa_cli_leave();
}
END_TEST

START_TEST(doctor)
{
    static const char *const says[] = { "version ", "compiler ",  "cores ",      "gemm ",
                                        "cuda ",    "temporary ", "topologies ", "pairs (" };
    gsa_cli_enter();
    run(ARGS("doctor", "--plugin", GSA_PAIRS), NULL);
    for (int i = 0; i < GSA_COUNT(says); i++)
        ck_assert_msg(strstr(ran.out, says[i]) != NULL, "no '%s' in %s", says[i], ran.out);
    gsa_cli_leave();
}
END_TEST

/* ---- graphs -------------------------------------------------------------------------------- */

typedef struct drawing {
    const char *spec, *length;
    int nodes, edges;
} drawing;
static const drawing drawings[] = {
    /* edges by the formulas: star 6n+1, ring 3n, full n^2 */
    { "star", "0", 0, 0 },           { "star", "1", 3, 7 },
    { "star", "2", 5, 13 },          { "star", "16", 33, 97 },
    { "ring", "0", 0, 0 },           { "ring", "5", 5, 15 },
    { "full", "7", 7, 49 },          { "full", "0", 0, 0 },
    { "full:causal=1", "4", 4, 10 }, { "window:width=3", "5", 5, 13 },
};

START_TEST(graph_formats)
{
    const drawing *d = &drawings[_i];
    gsa_cli_enter();
    run(ARGS("graph", "--topology", d->spec, "--length", d->length, "--out", "g.graphml"), NULL);
    char *text = gsa_cli_read("g.graphml"), summary[64];
    ck_assert_int_eq(count_of(text, "<node "), d->nodes);
    ck_assert_int_eq(count_of(text, "<edge "), d->edges);
    free(text);
    snprintf(summary, sizeof summary, "| %d nodes, %d edges\n", d->nodes, d->edges);
    ck_assert_msg(strstr(ran.err, summary) != NULL, "%s", ran.err);
    ck_assert_str_eq(ran.out, "");
    run(ARGS("graph", "--topology", d->spec, "--length", d->length, "--format", "dot"), NULL);
    ck_assert_int_eq(count_of(ran.out, "->"), d->edges);
    run(ARGS("graph", "--topology", d->spec, "--length", d->length, "--out", "g.mtx"), NULL);
    text = gsa_cli_read("g.mtx");
    ck_assert_int_eq(strncmp(text, "%%MatrixMarket matrix coordinate integer general\n", 49), 0);
    free(text);
    gsa_cli_leave();
}
END_TEST

START_TEST(graph_texts)
{
    gsa_cli_enter();
    run(ARGS("graph", "--topology", "ring", "--text", " Attention  is\tall\n", "--format", "dot"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"Attention\""));
    ck_assert_ptr_nonnull(strstr(ran.err, "ring, length 3 "));
    run(ARGS("graph", "--topology", "ring", "--text", "Größe", "--tokens", "chars", "--format",
             "dot"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"ö\""));
    ck_assert_ptr_nonnull(strstr(ran.err, "ring, length 5 "));
    run(ARGS("graph", "--topology", "ring", "--text", "ö ", "--tokens", "bytes"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "0xC3"));
    ck_assert_ptr_nonnull(strstr(ran.err, "ring, length 3 "));
    run(ARGS("graph", "--topology", "ring", "--text", ""), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "ring, length 0 "));
    run(ARGS("graph", "--plugin", GSA_PAIRS, "--topology=pairs", "--length=5", "--out=-",
             "--format=mtx"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "| 5 nodes, 5 edges"));
    gsa_cli_leave();
}
END_TEST

/* ---- bench --------------------------------------------------------------------------------- */

START_TEST(bench)
{
    gsa_cli_enter();
    run(ARGS("bench", "kernel", "--topology", "star", "--topology", "full", "--length", "0,8",
             "--head-dim", "4", "--runs", "2", "--explain", "--json", "b.json"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "phase up"));
    json_t *all = json_load_file("b.json", 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "cases")), 4);
    json_decref(all);
    run(ARGS("bench", "kernel", "--topology", "window", "--length", "40", "--runs", "1",
             "--device=cpu", "--threads=1", "--against=ref/2", "--against=cpu-plain",
             "--dropout=0.25", "--json", "b.json"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "n=40 ref/2"));
    ck_assert_ptr_nonnull(strstr(ran.out, "n=40 cpu-plain/1"));
    ck_assert_ptr_nonnull(strstr(ran.out, "--device ref computes on ref"));
    all = json_load_file("b.json", 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "cases")), 3);
    ck_assert(json_real_value(json_object_get(json_array_get(json_object_get(all, "cases"), 2),
                                              "dropout")) == 0.25);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "devices")), 3);
    if (json_object_get(all, "ceilings"))
        ck_assert_ptr_nonnull(
            strstr(ran.out, "ceilings of 2 threads")); /* vectors are known here */
    json_decref(all);
    run(ARGS("bench", "graph", "--topology", "window", "--length", "64", "--runs", "1", "--real",
             "double", "--json", "-"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"instance_bytes\""));
    ck_assert_int_eq(*ran.out, '{'); /* nothing but JSON */
    gsa_cli_run(ARGS("bench", "kernel", "--topology", "ring", "--json", "-", "--arrays", "-"), NULL,
                &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(strstr(ran.err, "would share standard output"));
    gsa_cli_run(ARGS("bench", "kernel", "--topology", "ring", "--json", "-", "--explain"), NULL,
                &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(
        strstr(ran.err, "no room on standard output for --explain: give --json a file"));
    gsa_cli_write("words.txt", "good film\nbad\nfilms\nood\n");
    run(ARGS("bench", "lexicon", "--lexicon", "words.txt", "--text", "dev.tsv", "--runs", "1",
             "--json", "-"),
        NULL);
    ck_assert_ptr_nonnull(
        strstr(ran.out, "\"matches\": 4")); /* good in "good one", bad twice, ood: not films */
    ck_assert_ptr_nonnull(strstr(ran.out, "\"mb_per_s\""));
    run(ARGS("bench", "train", "sum.ini", "--runs", "1"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "sum.ini"));
    run(ARGS("bench", "train", "sum.ini", "--profile", "--device=cpu", "--runs", "2", "--json",
             "b.json"),
        NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "times the products' time"));
    all = json_load_file("b.json", 0, NULL);
    json_t *step = json_object_get(json_array_get(json_object_get(all, "cases"), 0), "step");
    double share = 0;
    const char *name;
    json_t *part;
    json_object_foreach (json_object_get(step, "parts"), name, part)
        share += json_number_value(json_object_get(part, "share"));
    ck_assert_double_eq_tol(share, 1, 1e-9); /* with the rest */
    ck_assert_double_ge(json_number_value(json_object_get(step, "per_product")), 1);
    ck_assert_ptr_nonnull(json_object_get(json_object_get(step, "parts"), "gemm"));
    json_decref(all);
    gsa_cli_leave();
}
END_TEST

/* ---- train, eval, predict ------------------------------------------------------------------ */

START_TEST(train_eval_predict)
{
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--out", "run", "--threads", "1"), NULL);
    json_t *trained = last_object();
    ck_assert_str_eq(json_string_value(json_object_get(trained, "task")), "text_classification");
    ck_assert(number_of(trained, "seconds") >= 0 && number_of(trained, "tokens_per_second") > 0);
    ck_assert(number_of(trained, "parameters") > 0 && number_of(trained, "seed") == 1);
    ck_assert_ptr_nonnull(strstr(ran.err, "step 1/"));
    ck_assert_ptr_nonnull(strstr(ran.err, " tok/s | 0:0"));
    ck_assert_ptr_null(strchr(ran.err, '\r'));
    ck_assert(gsa_cli_exists("run/config.ini") && gsa_cli_exists("run/log.jsonl") &&
              gsa_cli_exists("run/curve.svg"));
    run(ARGS("eval", "--model", "run"), NULL);
    json_t *measured = last_object();
    ck_assert(number_of(measured, "test_accuracy") == number_of(trained, "test_accuracy"));
    ck_assert(number_of(measured, "dev_accuracy") == number_of(trained, "dev_accuracy"));
    run(ARGS("predict", "--model", "run"), "good film\nbad\nnever seen before\n");
    ck_assert_int_eq(count_of(ran.out, "\n"), 3);
    ck_assert_int_eq(count_of(ran.out, "\t"), 3);
    run(ARGS("predict", "--model", "run", "--output", "p.txt"), "");
    ck_assert(gsa_cli_exists("p.txt"));
    json_decref(trained);
    json_decref(measured);
    gsa_cli_leave();
}
END_TEST

/* In a log and on a terminal: what is gone, what is left, the best so far; at the end a table for
 * people, where JSON is not. */
START_TEST(progress_and_the_end)
{
    static const char *const wanted[] = {
        " gone, ", " left", "best dev accuracy 0.", "baseline: majority", "accuracy",
        "dev",     "test",  "parameters",           "in run: result.json"
    };
    const char *args[] = { "train", "text.ini", "--out", "run", "--threads", "1", NULL };
    gsa_cli_enter();
    for (int terminal = 0; terminal < 2; terminal++) {
        if (terminal) gsa_cli_run_on_terminal(args, 90, &ran);
        else run(args, NULL);
        ck_assert_int_eq(ran.code, 0);
        for (int i = 0; i < GSA_COUNT(wanted); i++)
            ck_assert_msg(strstr(ran.err, wanted[i]), "no '%s': %s", wanted[i], ran.err);
        ck_assert_int_eq(count_of(ran.out, "\n"), 1); /* JSON alone */
        json_decref(last_object());
        ck_assert_int_eq(strstr(ran.err, "\r[") != NULL, terminal);
        for (char *at = ran.err; terminal && (at = strstr(at, "\r[")); at++)
            ck_assert_int_le((int)strcspn(at + 1, "\r\033"), 89);
        ck_assert_int_eq(system("rm -r run"), 0);
    }
    run(ARGS("train", "text.ini", "--threads", "1", "--quiet"), NULL);
    ck_assert_str_eq(ran.err, "");
    run(ARGS("train", "text.ini", "--threads", "1"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "nothing is kept: --out DIR keeps the model\n"));
    gsa_cli_leave();
}
END_TEST

/* The dictionary's path is kept in the checkpoint; without the file nothing goes on, and a sentence
 * says which it is. */
START_TEST(a_dictionary_is_found_again)
{
    gsa_cli_enter();
    gsa_cli_write("words.txt", "good\nbad\nfilm\n");
    gsa_cli_write(
        "bipartite.ini",
        "[task]\nname = text_classification\n[model]\nhidden = 8\nheads = 2\n"
        "[train]\nepochs = 1\n[data]\ntrain = train.tsv\ndev = dev.tsv\ntest = dev.tsv\n"
        "tokens = chars\n[encoder.1]\ntopology = char_word\nlexicon = words.txt\nlayers = 2\n");
    run(ARGS("train", "bipartite.ini", "--out", "run"), NULL);
    run(ARGS("predict", "--model", "run"), "good film\nbad\n");
    ck_assert_int_eq(count_of(ran.out, "\n"), 2);
    ck_assert_int_eq(rename("words.txt", "list.txt"), 0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(strstr(
        ran.err, "config.ini: [encoder.N]: topology 'char_word': lexicon: 'words.txt' cannot be"));
    run(ARGS("eval", "--model", "run", "--set", "encoder.1.lexicon=list.txt"), NULL);
    gsa_cli_write("words.txt", "good\nbad\nfil\n"); /* another list under the name: another model */
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(strstr(
        ran.err,
        "'words.txt' (lexicon of topology 'char_word') is not the file that the model in run/"));
    gsa_cli_run(ARGS("train", "--resume", "run", "--set", "train.epochs=2"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    gsa_cli_leave();
}
END_TEST

/* One epoch and one more is two epochs, to the bit; and so is every number of threads. */
START_TEST(resume_and_threads)
{
    static const char weights[] =
        "cmp \"$(echo a/step-*/model.safetensors | xargs ls -t | head -n 1)\" "
        "\"$(echo b/step-*/model.safetensors | xargs ls -t | head -n 1)\"";
    gsa_cli_enter();
    run(ARGS("train", "sum.ini", "--quiet", "--threads", "1", "--set", "train.keep=1", "--out",
             "a"),
        NULL);
    ck_assert_str_eq(ran.err, "");
    run(ARGS("train", "sum.ini", "--quiet", "--threads", "3", "--set", "train.keep=1", "--set",
             "train.epochs=1", "--out", "b"),
        NULL);
    run(ARGS("train", "--quiet", "--resume", "b", "--set", "train.epochs=2"), NULL);
    ck_assert_int_eq(system(weights), 0);
    gsa_cli_leave();
}
END_TEST

/* Another model than the last one answers: that is said whatever else is not. */
START_TEST(an_older_model_is_said_in_quiet)
{
    static const char *const uses[][8] = {
        { "predict", "--model", "run", "--quiet", "good film" },
        { "eval", "--model", "run", "--quiet", "--quiet" },
        { "attend", "--model", "run", "--quiet", "--text", "good", "--format", "csv" },
        { "train", "text.ini", "--quiet", "--set", "train.epochs=1", "--set", "train.start=run" },
        { "train", "--resume", "run", "--quiet", "--set", "train.epochs=4" },
    };
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--set", "train.epochs=3", "--out", "run"), NULL);
    ck_assert_str_eq(ran.err, "");
    ck_assert_int_eq(system("truncate -s 100 run/$(cat run/latest)/model.safetensors"), 0);
    for (int i = 0; i < GSA_COUNT(uses); i++) {
        const char *args[9] = { NULL };
        memcpy(args, uses[i], sizeof uses[i]);
        run(args, NULL);
        const char *said = strstr(ran.err, "model.safetensors");
        ck_assert_msg(said && strstr(said, "' is used instead\n"), "%s: '%s'", args[0], ran.err);
        ck_assert_int_eq(count_of(ran.err, "\n"), 1);
    }
    gsa_cli_leave();
}
END_TEST

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* What the programs that are started from now on do at SIGINT and SIGTERM until they say otherwise:
 * this process may have been started with either ignored. */
static void inherit(void (*interrupt)(int), void (*terminate)(int))
{
    signal(SIGINT, interrupt);
    signal(SIGTERM, terminate);
}

/* Waits until the run that was started has reported so many steps; 0: it does not come to that. */
static int reports(int steps)
{
    int seen = 0;
    for (int i = 0; i < 3000 && seen < steps; i++) {
        char *text = gsa_cli_read("err.txt");
        seen = text ? count_of(text, "step ") : 0;
        free(text);
        if (seen < steps) pause_ms(10);
    }
    return seen >= steps;
}

/* A run that would go on for hours, once it has reported a step. */
static pid_t start_long_run(void)
{
    const pid_t child =
        gsa_cli_start(ARGS("train", "sum.ini", "--set", "train.epochs=100000", "--set",
                           "train.report_every=1", "--set", "task.train=4096", "--out", "long"));
    ck_assert_msg(reports(1), "the run never reported a step");
    return child;
}

START_TEST(first_signal_saves)
{
    gsa_cli_enter();
    inherit(SIG_DFL, SIG_DFL);
    const pid_t child = start_long_run();
    kill(child, _i ? SIGTERM : SIGINT);
    gsa_cli_wait(child, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    ck_assert(gsa_cli_exists("long/latest"));
    ck_assert_int_ne(system("ls -d long/*.tmp* >/dev/null 2>&1"), 0);
    run(ARGS("eval", "--model", "long"), NULL);
    gsa_cli_leave();
}
END_TEST

/* nohup, trap '' INT, a script's job in the background: a signal that is ignored when the program
 * starts does nothing to it, the other one what it always does. */
START_TEST(an_ignored_signal_stays_ignored)
{
    gsa_cli_enter();
    inherit(_i ? SIG_DFL : SIG_IGN, _i ? SIG_IGN : SIG_DFL);
    const pid_t child = start_long_run();
    kill(child, _i ? SIGTERM : SIGINT);
    kill(child, _i ? SIGTERM : SIGINT);
    char *text = gsa_cli_read("err.txt");
    ck_assert_msg(reports(count_of(text, "step ") + 10), "an ignored signal stopped the run");
    free(text);
    kill(child, _i ? SIGINT : SIGTERM);
    gsa_cli_wait(child, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    ck_assert(gsa_cli_exists("long/latest"));
    gsa_cli_leave();
}
END_TEST

/* Both at once: the second finds the flag set, whatever the run is doing. */
START_TEST(second_signal_ends)
{
    gsa_cli_enter();
    inherit(SIG_DFL, SIG_DFL);
    const pid_t child = start_long_run();
    kill(child, SIGSTOP);
    kill(child, SIGINT);
    kill(child, SIGTERM);
    kill(child, SIGCONT);
    gsa_cli_wait(child, &ran);
    ck_assert_msg(ran.signal == 0 && (ran.code == 130 || ran.code == 143),
                  "exit code %d, signal %d", ran.code, ran.signal);
    gsa_cli_leave();
}
END_TEST

/* Outputs that take a while: once a temporary is there, a signal ends the command, as it ends any,
 * takes the temporary away, and leaves the file of before as it was. */
static const struct {
    int number;
    const char *args[GSA_CLI_ARGS + 1];
} slow[] = {
    { SIGINT, { "graph", "--topology", "full", "--length", "2000", "--out", "out.graphml" } },
    { SIGTERM,
      { "predict", "--model", "text", "--input", "lines.txt", "--output", "out.graphml" } },
    { SIGXCPU, { "graph", "--topology", "full", "--length", "2000", "--out", "out.graphml" } },
    { SIGHUP,
      { "generate", "--model", "language", "--prompt", "t", "--tokens", "100000", "--output",
        "out.graphml" } },
};

static void train_two(void)
{
    gsa_cli_write(
        "language.ini",
        "[task]\nname = language_modelling\n[data]\ntrain = text.txt\ntokens = bytes\nwindow = 8\n"
        "[model]\nencoder = window:width=5:causal=1\nhidden = 8\nheads = 2\n[train]\nmax_steps = "
        "2\n");
    gsa_cli_write("text.txt", "the cat sat on the mat\nthe dog sat too\n");
    run(ARGS("train", "language.ini", "--quiet", "--out", "language"), NULL);
    run(ARGS("train", "text.ini", "--quiet", "--out", "text"), NULL);
    FILE *lines = fopen("lines.txt", "w");
    for (int i = 0; i < 200000; i++) fputs("a very good film\n", lines);
    fclose(lines);
}

START_TEST(a_signal_leaves_no_temporary)
{
    gsa_cli_enter();
    train_two();
    gsa_cli_write("out.graphml", "what stood here");
    inherit(SIG_DFL, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const pid_t child = gsa_cli_start(slow[_i].args);
    int there = 0;
    for (int i = 0; i < 10000 && !there; i++) {
        pause_ms(1);
        there = system("ls out.graphml.tmp-* >/dev/null 2>&1") == 0;
    }
    kill(child, slow[_i].number);
    ck_assert_msg(there, "no temporary was there");
    gsa_cli_wait(child, &ran);
    ck_assert_msg(ran.signal == slow[_i].number, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    ck_assert_int_ne(system("ls out.graphml.tmp-* >/dev/null 2>&1"), 0);
    char *text = gsa_cli_read("out.graphml");
    ck_assert_str_eq(text, "what stood here");
    free(text);
    gsa_cli_leave();
}
END_TEST

/* The run's weights take some time to write. While the folder is there and is not whole, the
 * command is held, told to end, and let go. */
static int ended_in_the_midst(int attempt)
{
    char out[32], latest[64];
    snprintf(out, sizeof out, "mean%d", attempt), snprintf(latest, sizeof latest, "%s/latest", out);
    const pid_t child = gsa_cli_start(ARGS("average", "wide", "--last", "1", "--out", out));
    for (int i = 0; i < 1000000 && !gsa_cli_exists(out); i++) sched_yield();
    siginfo_t info;
    kill(child, SIGSTOP);
    waitid(P_PID, (id_t)child, &info, WSTOPPED | WEXITED | WNOWAIT); /* it is, or has ended */
    const int midst = gsa_cli_exists(out) && !gsa_cli_exists(latest);
    kill(child, SIGTERM);
    kill(child, SIGCONT);
    gsa_cli_wait(child, &ran);
    if (!midst) return 0;
    ck_assert_msg(ran.signal == SIGTERM && ran.out[0] == 0, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    run(ARGS("eval", "--model", out, "--quiet"), NULL);
    snprintf(latest, sizeof latest, "test $(ls -A %s | wc -l) = 2",
             out); /* latest and one checkpoint */
    ck_assert_int_eq(system(latest), 0);
    return 1;
}

START_TEST(a_signal_leaves_no_half_folder)
{
    int ended = 0;
    gsa_cli_enter();
    run(ARGS("train", "text.ini", "--quiet", "--set", "model.hidden=512", "--set",
             "train.max_steps=1", "--out", "wide"),
        NULL);
    inherit(SIG_DFL, SIG_DFL);
    for (int i = 0; i < 50 && !ended; i++) ended = ended_in_the_midst(i);
    ck_assert_msg(ended, "the signal never came in the midst");
    gsa_cli_leave();
}
END_TEST

static const gsa_test text_tests[] = { GSA_TEST(version_and_help), GSA_TEST(man_and_completion),
                                       GSA_TEST(recipe_keys_page), GSA_TEST(topologies),
                                       GSA_TEST(doctor) };
static const gsa_test graph_tests[] = { { &graph_formats_ttest, GSA_COUNT(drawings) },
                                        GSA_TEST(graph_texts) };
static const gsa_test bench_tests[] = { GSA_TEST(bench) };
static const gsa_test run_tests[] = { GSA_TEST(train_eval_predict), GSA_TEST(progress_and_the_end),
                                      GSA_TEST(a_dictionary_is_found_again),
                                      GSA_TEST(resume_and_threads),
                                      GSA_TEST(an_older_model_is_said_in_quiet) };
static const gsa_test signal_tests[] = { GSA_LOOP(first_signal_saves, 2),
                                         GSA_LOOP(an_ignored_signal_stays_ignored, 2),
                                         GSA_TEST(second_signal_ends),
                                         GSA_LOOP(a_signal_leaves_no_temporary, GSA_COUNT(slow)),
                                         GSA_TEST(a_signal_leaves_no_half_folder) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("texts", text_tests, 120),
                                      GSA_CASE("graphs", graph_tests, 60),
                                      GSA_CASE("bench", bench_tests, 120),
                                      GSA_CASE("runs", run_tests, 120),
                                      GSA_CASE("signals", signal_tests, 120) };
    return gsa_run_suite("cli", cases, GSA_COUNT(cases), argc, argv);
}
