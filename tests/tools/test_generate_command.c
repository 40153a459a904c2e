/* gsa generate and gsa bench generate: what comes out, what is said when asked wrongly. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void refuse(const char *const *args, int code, const char *fragment)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.signal == 0 && ran.code == code, "exit code %d, signal %d: %s", ran.code,
                  ran.signal, ran.err);
    ck_assert_msg(strstr(ran.err, fragment) != NULL, "'%s', expected '%s'", ran.err, fragment);
    ck_assert_str_eq(ran.out, "");
}

/* Models of patterns that go on for ever, over bytes and over many words. */
static void train_endless(void)
{
    FILE *words = fopen("words.txt", "w");
    for (int i = 0; i < 9000; i++) fprintf(words, "w%d ", i);
    fclose(words);
    run(ARGS("train", "language.ini", "--quiet", "--threads", "1", "--set", "model.position=none",
             "--set", "model.encoder=window:causal=1", "--out", "endless"),
        NULL);
    run(ARGS("train", "language.ini", "--quiet", "--threads", "1", "--set", "model.position=none",
             "--set", "data.tokens=words", "--set", "data.train=words.txt", "--set",
             "model.encoder=window:causal=1", "--out", "words"),
        NULL);
}

static void train(void)
{
    gsa_cli_enter();
    gsa_cli_write(
        "language.ini",
        "[task]\nname = language_modelling\n[data]\ntrain = text.txt\ntokens = bytes\nwindow = 8\n"
        "[model]\nencoder = bpt:causal=1,full:causal=1\nhidden = 8\nheads = 2\nembedding = 8\n"
        "position = learned\nposition_max = 32\n[train]\nmax_steps = 2\nbatch = 4\n");
    gsa_cli_write("text.txt", "the cat sat on the mat\nthe dog sat too\n");
    run(ARGS("train", "language.ini", "--quiet", "--threads", "1", "--out", "model"), NULL);
    run(ARGS("train", "language.ini", "--quiet", "--threads", "1", "--set", "model.encoder=strided",
             "--out", "strided"),
        NULL);
}

START_TEST(texts)
{
    train();
    run(ARGS("generate", "--model", "model", "--prompt", "the ", "--tokens", "6", "--greedy",
             "--echo", "--threads", "1"),
        NULL);
    ck_assert_int_eq(strncmp(ran.out, "the ", 4), 0);
    ck_assert_int_eq(ran.out[strlen(ran.out) - 1], '\n');
    ck_assert_ptr_nonnull(strstr(ran.err, "then 6 tokens, "));
    char *first = strdup(ran.out);
    run(ARGS("generate", "--model", "model", "--tokens", "6", "--temperature", "0", "--echo",
             "--threads", "2", "--quiet"),
        "the ");
    ck_assert_str_eq(ran.out, first);
    ck_assert_str_eq(ran.err, "");
    run(ARGS("generate", "--model", "model", "--prompt", "", "--tokens", "20", "--raw", "--output",
             "x", "--quiet"),
        NULL);
    char *raw = gsa_cli_read("x");
    ck_assert_ptr_nonnull(raw);
    ck_assert_str_eq(ran.out, "");
    free(first), free(raw);
    gsa_cli_leave();
}
END_TEST

/* With its defaults, 200 tokens, a model of 32 positions goes on, and says what it reads. */
START_TEST(defaults_of_a_short_model)
{
    static const char says[] = "texts grow longer than the 32 positions that the model has "
                               "learned: beyond, a token is drawn "
                               "from the 16 to 32 tokens before it\n";
    train();
    run(ARGS("generate", "--model", "model", "--prompt", "the ", "--raw"), NULL);
    ck_assert_msg(strstr(ran.err, says) && strstr(ran.err, "then 200 tokens, "), "%s", ran.err);
    run(ARGS("generate", "--model", "model", "--tokens", "30"),
        "the\ncat sat on the mat and the dog sat too\nthe\n");
    ck_assert_msg(strstr(ran.err, says) && !strstr(strstr(ran.err, says) + 1, says), "%s",
                  ran.err); /* once */
    run(ARGS("generate", "--model", "model", "--prompt", "the ", "--tokens", "27"), NULL);
    ck_assert_ptr_null(strstr(ran.err, "positions"));
    gsa_cli_leave();
}
END_TEST

START_TEST(asked_wrongly)
{
    train();
    train_endless();
    refuse(ARGS("generate", "--prompt", "x"), 2, "--model");
    refuse(ARGS("generate", "--model", "model", "--prompt", "x", "--input", "y"), 2,
           "--prompt and --input both say the prompts");
    refuse(ARGS("generate", "--model", "model", "--prompt", "x", "--greedy", "--temperature", "2"),
           2, "--greedy and --temperature both say how tokens are drawn");
    refuse(ARGS("generate", "--model", "model", "--prompt", "x", "--temperature", "warm"), 2,
           "'--temperature' is 'warm', expected a number from 0 to 1000000");
    refuse(ARGS("generate", "--model", "model", "--prompt", "x", "--top-p", "0"), 2,
           "'--top-p' is '0'");
    refuse(ARGS("generate", "--model", "endless", "--prompt", "x", "--tokens", "2000000000"), 1,
           "2000000001 tokens in all are too many to generate: topology 'window', length "
           "2000000002: 2000000002 nodes of "
           "input and memory, the limit is 16777216");
    refuse(ARGS("generate", "--model", "endless", "--prompt", "x", "--tokens", "2147483647"), 1,
           "2147483647 tokens after a prompt of 2 are too many");
    refuse(
        ARGS("generate", "--model", "words", "--prompt", "x", "--count", "65536", "--tokens", "1"),
        1, "65536 texts side by side have ");
    refuse(ARGS("generate", "--model", "strided", "--prompt", "x", "--tokens", "3"), 1,
           "layers 0 to 0 run strided, which does not promise that what a token reads stays the "
           "same as the text grows");
    gsa_cli_leave();
}
END_TEST

START_TEST(what_a_token_costs)
{
    gsa_cli_enter();
    run(ARGS("bench", "generate", "--topology", "window:width=5:causal=1*2", "--length", "0,40",
             "--batch", "2", "--heads", "2", "--head-dim", "4", "--runs", "1", "--json", "-"),
        NULL);
    json_t *root = json_loads(strchr(ran.out, '{'), 0, NULL);
    ck_assert_ptr_nonnull(root);
    const json_t *last = json_array_get(json_object_get(root, "cases"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(last, "prefix")), 40);
    ck_assert_double_eq(json_real_value(json_object_get(last, "rows_per_token")), 4);
    ck_assert_double_eq(json_real_value(json_object_get(last, "edges_per_token")), 6);
    json_decref(root);
    refuse(ARGS("bench", "generate", "--topology", "star", "--runs", "1"), 1,
           "which does not promise that no token depends");
    refuse(ARGS("bench", "generate", "--topology", "full:causal=1+cross", "--runs", "1"), 1,
           "reads a memory");
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test text_tests[] = { GSA_TEST(texts), GSA_TEST(defaults_of_a_short_model),
                                           GSA_TEST(asked_wrongly) };
    static const gsa_test bench_tests[] = { GSA_TEST(what_a_token_costs) };
    static const gsa_case cases[] = { GSA_CASE("texts", text_tests, 120),
                                      GSA_CASE("bench", bench_tests, 60) };
    return gsa_run_suite("generate_command", cases, GSA_COUNT(cases), argc, argv);
}
