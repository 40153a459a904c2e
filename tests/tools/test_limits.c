/* Sizes that reach the largest int32 index: the command, linked with a largest index of LIMIT
 * (limited.c), takes what reaches it and refuses what passes it, in one sentence, by the lines that
 * guard 2^31 - 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "support/suite.h"

#define OVER(n) "@" #n /* LIMIT + n */

typedef struct row {
    const char *args[GSA_CLI_ARGS];
    const char *says; /* NULL: it is taken */
} row;

static gsa_ran ran;

/* `count` times what, between head and tail. */
static void repeat(const char *path, const char *head, const char *what, int count,
                   const char *tail)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(head, file);
    for (int i = 0; i < count; i++) fputs(what, file);
    fputs(tail, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* So many different words. */
static void repeat_numbers(const char *path, const char *head, int count)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(head, file);
    for (int i = 0; i < count; i++) fprintf(file, "%d ", i);
    fputs("\n", file);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_nodes(const char *path, int count)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < count; i++) fprintf(file, "%d\ttrain\tx\t0:1\n", i);
    ck_assert_int_eq(fclose(file), 0);
}

#define MODEL "[model]\nencoder = ring\nhidden = 8\nheads = 1\n[train]\nepochs = 1\n"

static void enter(void)
{
    gsa_cli_enter();
    gsa_cli_write("t.ini", "[task]\nname = text_classification\n" MODEL "batch = 1\n");
    gsa_cli_write("c.ini", "[task]\nname = tagging\n" MODEL "[data]\nscheme = none\n");
    gsa_cli_write("n.ini", "[task]\nname = node_classification\n" MODEL);
    gsa_cli_write("l.ini", "[task]\nname = language_modelling\n[model]\nencoder = "
                           "window:width=3:causal=1\nhidden = 8\nheads = 1\n[train]\nepochs = "
                           "1\n[data]\ntrain = l.txt\ntokens = chars\nwindow = 8\n");
    gsa_cli_write("l.txt", "the cat sat on the mat and the dog on the log\n");
    repeat("most.tsv", "good\tb\nbad\t", "a ", LIMIT, "\n");
    repeat("over.tsv", "good\tb\nbad\t", "a ", LIMIT + 1, "\n");
    repeat("word.tsv", "good\tb\nbad\t", "a", LIMIT + 1, "\n");
    repeat("two.tsv", "good\tb\nbad\t", "a ", LIMIT, "\nbad\ta\n");
    repeat_numbers("words.tsv", "good\tb\nbad\t", LIMIT / 4 + 1);
    repeat("over.conll", "", "a X\n", LIMIT + 1, "\n");
    repeat("over.line", "", "a", LIMIT, "\n");
    gsa_cli_write("p.ini",
                  "[task]\nname = translation\n[model]\nencoder = ring\ndecoder = "
                  "window:width=3:causal=1+cross\nhidden = 8\nheads = 1\n[train]\nepochs = "
                  "1\n[data]\nsource = a\ntarget = b\n");
    repeat("p.a", "", "a ", LIMIT, "\n");
    gsa_cli_write("p.b", "b\n");
    gsa_cli_write("s.ini", "[task]\nname = span_extraction\n" MODEL "[data]\ntokens = words\n");
    repeat("s.json",
           "{\"data\": [{\"paragraphs\": [{\"qas\": [{\"id\": \"1\", \"question\": \"q\", "
           "\"answers\": [{\"text\": \"a\", \"answer_start\": 0}]}], \"context\": \"",
           "a ", LIMIT, "\"}]}]}\n");
    write_nodes("over.nodes", LIMIT + 1);
}

/* Runs the row with each @n as LIMIT + n. */
static void check(const row *r)
{
    static char number[GSA_CLI_ARGS][128];
    const char *args[GSA_CLI_ARGS + 1] = { NULL };
    for (int i = 0; i < GSA_CLI_ARGS && r->args[i]; i++) {
        const char *at = strchr(r->args[i], '@');
        args[i] = at ? number[i] : r->args[i];
        if (at)
            snprintf(number[i], sizeof number[i], "%.*s%d", (int)(at - r->args[i]), r->args[i],
                     LIMIT + atoi(at + 1));
    }
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && (ran.code == 0) == !r->says, "code %d, signal %d: %s",
                  ran.code, ran.signal, ran.err);
    if (!r->says) return;
    ck_assert_msg(strstr(ran.err, r->says) != NULL, "%s", ran.err);
    ck_assert_ptr_eq(strchr(ran.err, '\n'), ran.err + strlen(ran.err) - 1);
}

static const row patterns[] = {
    { { "graph", "--topology", "ring", "--length", OVER(0), "--out", "g.mtx" }, NULL },
    { { "graph", "--topology", "ring", "--length", OVER(1), "--out", "g.mtx" }, "nodes" },
    { { "graph", "--topology", "star", "--length", OVER(0), "--out", "g.mtx" }, "nodes" },
    { { "graph", "--topology", "full", "--length", OVER(1), "--out", "g.mtx" },
      "a count of edges out of range" },
    { { "graph", "--topology", "ring", "--length", OVER(-9), "--heads", "2", "--out", "g.mtx" },
      "nodes x" },
    { { "graph", "--topology", "bpt:k=2", "--length", OVER(0), "--out", "g.mtx" }, "nodes" },
};

static const row data[] = {
    { { "train", "t.ini", "--quiet", "--set", "data.train=most.tsv" }, NULL },
    { { "train", "t.ini", "--quiet", "--set", "data.train=over.tsv" }, "the example has" },
    { { "train", "t.ini", "--quiet", "--set", "data.train=word.tsv" }, "a word has" },
    { { "train", "t.ini", "--quiet", "--set", "data.train=words.tsv" }, "a vocabulary holds" },
    { { "train", "c.ini", "--quiet", "--set", "data.train=over.conll" }, "the sentence has" },
    { { "train", "n.ini", "--quiet", "--set", "data.train=over.nodes" }, "more than" },
    { { "train", "p.ini", "--quiet", "--set", "data.train=p" }, "tokens" },
    { { "train", "s.ini", "--quiet", "--set", "data.train=s.json" }, "too many" },
};

static const row models[] = {
    { { "train", "t.ini", "--quiet", "--set", "data.train=two.tsv", "--set", "train.batch=3" },
      "nodes x heads, the limit is" },
    { { "train", "t.ini", "--quiet", "--set", "data.train=two.tsv", "--set", "model.hidden=@1" },
      "is too large for ffn" },
    { { "train", "t.ini", "--quiet", "--set", "data.train=two.tsv", "--set", "model.head_dim=@1" },
      "head_dim" },
    { { "train", "l.ini", "--quiet", "--out", "run" }, NULL },
};

START_TEST(patterns_reach_the_limit)
{
    enter();
    check(&patterns[_i]);
}
END_TEST

START_TEST(data_reaches_the_limit)
{
    enter();
    check(&data[_i]);
}
END_TEST

START_TEST(models_reach_the_limit)
{
    enter();
    check(&models[_i]);
}
END_TEST

START_TEST(texts_are_generated_to_the_limit)
{
    static const row rows[] = {
        { { "generate", "--device", "cpu", "--model", "run", "--tokens", "2", "--prompt", "the" },
          NULL },
        { { "generate", "--device", "cpu", "--model", "run", "--tokens", OVER(0), "--prompt",
            "the" },
          "tokens after a prompt" },
        { { "predict", "--device", "cpu", "--model", "run", "--input", "over.line", "--quiet" },
          "the line has" },
    };
    enter();
    check(&models[GSA_COUNT(models) - 1]);
    for (int i = 0; i < GSA_COUNT(rows); i++) check(&rows[i]);
}
END_TEST

static const gsa_test pattern_tests[] = { GSA_LOOP(patterns_reach_the_limit, GSA_COUNT(patterns)) };
static const gsa_test data_tests[] = { GSA_LOOP(data_reaches_the_limit, GSA_COUNT(data)) };
static const gsa_test model_tests[] = { GSA_LOOP(models_reach_the_limit, GSA_COUNT(models)),
                                        GSA_TEST(texts_are_generated_to_the_limit) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("patterns", pattern_tests, 60),
                                      GSA_CASE("data", data_tests, 60),
                                      GSA_CASE("models", model_tests, 60) };
    return gsa_run_suite("limits", cases, GSA_COUNT(cases), argc, argv);
}
