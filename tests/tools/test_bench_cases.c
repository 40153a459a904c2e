/* gsa bench train over several cases: what is measured of each, and what does not fit. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tools/command/child.h"
#include "cli.h"
#include "gsa/safetensors.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "no number '%s'", key);
    return json_number_value(value);
}

static const json_t *case_of(const json_t *all, size_t index)
{
    return json_array_get(json_object_get(all, "cases"), index);
}

/* ring and star over n = 8, 16: tokens 2 n + 2 x nodes; steps are timed after the first two. */
START_TEST(lengths_and_encoders)
{
    static const struct {
        const char *encoder, *n;
        int tokens, nodes,
            edges; /* of a batch of 4: ring 3 n edges a layer; star's centre: one node more */
    } wanted[] = { { "ring*1", "8", 32, 32, 96 },
                   { "ring*1", "16", 64, 64, 192 },
                   { "full*2", "8", 32, 32, 512 },
                   { "full*2", "16", 64, 64, 2048 } };
    gsa_cli_enter();
    gsa_cli_run(ARGS("bench", "train", "sum.ini", "--each=model.encoder=ring*1;full*2",
                     "--each=task.n=8,16", "--steps=3", "--set=train.batch=4", "--runs=2",
                     "--threads=1", "--json=b.json"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert(strstr(ran.out, "full*2 16") && strstr(ran.out, "2 rounds, 1 thread"));
    json_t *all = json_load_file("b.json", 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "cases")), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *one = case_of(all, i), *each = json_object_get(one, "each");
        ck_assert_str_eq(json_string_value(json_object_get(each, "model.encoder")),
                         wanted[i].encoder);
        ck_assert_str_eq(json_string_value(json_object_get(each, "task.n")), wanted[i].n);
        ck_assert_int_eq((int)number_of(one, "tokens"), wanted[i].tokens);
        ck_assert_int_eq((int)number_of(one, "nodes"), wanted[i].nodes);
        ck_assert_int_eq((int)number_of(one, "edges"), wanted[i].edges);
        ck_assert_int_eq((int)number_of(one, "length"), wanted[i].tokens / 4);
        ck_assert_int_eq((int)number_of(one, "steps"), 5);
        ck_assert_uint_eq(json_array_size(json_object_get(one, "step_ms")), 6); /* of two rounds */
        ck_assert(number_of(one, "tokens_per_second") > 0 &&
                  number_of(one, "peak_rss_bytes") > number_of(one, "tape_bytes"));
        ck_assert(json_object_get(one, "dev_mse") == NULL);
    }
    json_decref(all);
    gsa_cli_leave();
}
END_TEST

/* A language model's in-degree: of a window of 3 that looks back, 2 but for the first token; of
 * every token before, (n + 1) / 2. */
START_TEST(in_degree)
{
    static const double degree[] = { 15 / 8.0, 4.5, 31 / 16.0, 8.5 };
    static const char recipe[] =
        "[task]\nname = language_modelling\n[model]\nencoder = full:causal=1\nhidden = 8\nheads = "
        "2\n"
        "[train]\nbatch = 2\n[data]\ntrain = text.txt\ntokens = bytes\nwindow = 8\n";
    gsa_cli_enter();
    gsa_cli_write("text.ini", recipe);
    gsa_cli_write(
        "text.txt",
        "the quick brown fox jumps over the lazy dog, and the dog barks at the quick brown fox\n");
    gsa_cli_run(ARGS("bench", "train", "text.ini", "--each=data.window=8,16",
                     "--each=model.encoder=window:width=3:causal=1*2;full:causal=1*2", "--steps=1",
                     "--threads=1", "--json=b.json"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    json_t *all = json_load_file("b.json", 0, NULL);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(number_of(case_of(all, i), "in_degree") == degree[i], "%zu: %g, not %g", i,
                      number_of(case_of(all, i), "in_degree"), degree[i]);
    json_decref(all);
    gsa_cli_leave();
}
END_TEST

/* The states of 480,000 tokens alone are more than 64 MiB. */
START_TEST(too_large)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("bench", "train", "sum.ini", "--each=task.n=8,60000", "--steps=1",
                     "--set=task.train=8", "--set=train.batch=8", "--memory=64", "--threads=1",
                     "--json=b.json"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    json_t *all = json_load_file("b.json", 0, NULL);
    const char *why = json_string_value(json_object_get(case_of(all, 1), "skipped"));
    ck_assert_ptr_null(json_object_get(case_of(all, 0), "skipped"));
    if (GSA_CHILD_LIMITS) {
        ck_assert_msg(why && strstr(why, "not within --memory 64 MiB: ") &&
                          strstr(why, "out of memory"),
                      "%s", why ? why : ran.out);
        ck_assert_ptr_null(json_object_get(case_of(all, 1), "tokens_per_second"));
        ck_assert_ptr_nonnull(strstr(ran.out, "skipped: not within --memory 64 MiB"));
    }
    json_decref(all);
    gsa_cli_leave();
}
END_TEST

/* Whatever it is that finds no memory first: a thread's stack, a tensor, the code that a library
 * makes for itself. */
START_TEST(no_room)
{
    static const struct {
        const char *memory, *threads;
    } few[] = {
        { "1", "1" }, { "1", "2" }, { "4", "1" }, { "8", "1" }, { "8", "2" }, { "16", "2" }
    };
    gsa_cli_enter();
    for (int i = 0; i < GSA_COUNT(few); i++) {
        gsa_cli_run(ARGS("bench", "train", "sum.ini", "--steps=1", "--memory", few[i].memory,
                         "--threads", few[i].threads),
                    NULL, &ran);
        ck_assert_msg(ran.code == 0, "%s MiB, %s threads: %s", few[i].memory, few[i].threads,
                      ran.err);
        if (GSA_CHILD_LIMITS && i < 2)
            ck_assert_msg(strstr(ran.out, "skipped: not within --memory 1 MiB"), "%s threads: %s",
                          few[i].threads, ran.out);
    }
    gsa_cli_leave();
}
END_TEST

/* Examples of --text are its passages one after another and, after the last whole one, from the
 * start: of "good films" (a character a token) `good`, ` fil`, `good` with 1, 0 and 1 words of 4, 0
 * and 4 characters that each read it. The graph's edges are the words' spelling too. */
START_TEST(passages)
{
    json_t *all;
    gsa_cli_enter();
    gsa_cli_write("words.txt", "good\nms\nlong\n");
    gsa_cli_write("text.txt", "go\nod films\n");
    gsa_cli_run(ARGS("bench", "kernel", "--topology=char_word:lexicon=words.txt:global=0",
                     "--text=text.txt", "--length=4", "--batch=1,2,3", "--heads=1", "--head-dim=8",
                     "--runs=1", "--device=cpu", "--json=b.json"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    all = json_load_file("b.json", 0, NULL);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq((int)number_of(case_of(all, i), "edges"), i < 2 ? 4 : 8);
    json_decref(all);
    gsa_cli_run(ARGS("bench", "graph", "--topology=char_word:lexicon=words.txt:global=0",
                     "--text=text.txt", "--length=4,10", "--batch=3", "--runs=1", "--json=b.json"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    all = json_load_file("b.json", 0, NULL);
    ck_assert_int_eq((int)number_of(case_of(all, 0), "edges"), 2 * 8);
    ck_assert_int_eq((int)number_of(case_of(all, 1), "edges"), 2 * 3 * 6);
    json_decref(all);
    gsa_cli_run(
        ARGS("bench", "graph", "--topology=star", "--text=text.txt", "--length=11", "--runs=1"),
        NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "--text has 10 characters, but --length takes 11"), "%s",
                  ran.err);
    gsa_cli_write("marked.txt", "\xEF\xBB\xBFgo\r\nod\rfilms\r"); /* a line end of Windows, one of
                                                                     no system, one at the end */
    gsa_cli_run(
        ARGS("bench", "graph", "--topology=star", "--text=marked.txt", "--length=11", "--runs=1"),
        NULL, &ran);
    ck_assert_msg(strstr(ran.err, "--text has 10 characters, but --length takes 11"), "%s",
                  ran.err);
    gsa_cli_run(ARGS("bench", "kernel", "--topology=star", "--text=none.txt"), NULL, &ran);
    ck_assert_msg(ran.code == 1 && strstr(ran.err, "'none.txt'"), "%s", ran.err);
    gsa_cli_leave();
}
END_TEST

static const struct {
    const char *args[10];
    int code;
    const char *says;
} refused[] = {
    { { "sum.ini", "--each", "task.m=1,2" }, 2, "unknown key 'm'" },
    { { "sum.ini", "--each", "m=1,2" }, 2, "{m} is in no value" },
    { { "sum.ini", "--steps", "0" }, 2, "--steps" },
    { { "sum.ini", "--set", "train.max_steps=2" }, 2, "sum.ini: the first 2 steps warm up" },
    { { "text.ini", "--steps", "1", "--set", "data.train=none.tsv" }, 1, "text.ini: 'none.tsv'" },
};

START_TEST(sentences)
{
    const char *args[GSA_CLI_ARGS + 1] = { "bench", "train" };
    gsa_cli_enter();
    for (int i = 0; refused[_i].args[i]; i++) args[2 + i] = refused[_i].args[i];
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.code == refused[_i].code && strstr(ran.err, refused[_i].says), "%d %s",
                  ran.code, ran.err);
    gsa_cli_leave();
}
END_TEST

static const void *array(const gsa_safetensors *file, const char *name, int64_t rows, int64_t cols)
{
    const gsa_blob *blob = gsa_safetensors_find(file, name);
    ck_assert_msg(blob && blob->dims == 2 && blob->shape[0] == rows && blob->shape[1] == cols, "%s",
                  name);
    return blob->data;
}

/* Attention of one head of 3 numbers over 5 tokens that read their neighbours and themselves, from
 * the arrays alone. */
START_TEST(arrays_hold_a_round)
{
    enum { N = 5, D = 3 };
    gsa_safetensors file;
    gsa_error error = { 0 };
    gsa_cli_enter();
    gsa_cli_run(ARGS("bench", "kernel", "--topology=window:width=3", "--length=5", "--batch=1",
                     "--heads=1", "--head-dim=3", "--runs=1", "--threads=1", "--device=cpu",
                     "--arrays=a.safetensors"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_msg(gsa_safetensors_read(NULL, "a.safetensors", &file, &error) == GSA_OK, "%s",
                  error.text);
    const int64_t *offset = array(&file, "attend.edge_offset", N + 1, 1);
    const int32_t *source = array(&file, "attend.source", offset[N], 1);
    const float *q = array(&file, "attend.q", N, D), *k = array(&file, "attend.k.0", N, D);
    const float *v = array(&file, "attend.v.0", N, D), *out = array(&file, "attend.out", N, D);
    const float *dout = array(&file, "attend.dout", N, D), *dv = array(&file, "attend.dv.0", N, D);
    double want[N][D] = { { 0 } };
    ck_assert_int_eq(offset[N], 13);
    for (int i = 0; i < N; i++) {
        double weight[N], sum = 0, mix[D] = { 0 };
        for (int64_t e = offset[i]; e < offset[i + 1]; e++) {
            double score = 0;
            for (int c = 0; c < D; c++)
                score += (double)q[i * D + c] * (double)k[source[e] * D + c];
            sum += weight[e - offset[i]] = exp(0.125 * score);
        }
        for (int64_t e = offset[i]; e < offset[i + 1]; e++)
            for (int c = 0; c < D; c++) {
                mix[c] += weight[e - offset[i]] / sum * (double)v[source[e] * D + c];
                want[source[e]][c] += weight[e - offset[i]] / sum * (double)dout[i * D + c];
            }
        for (int c = 0; c < D; c++) ck_assert_double_eq_tol((double)out[i * D + c], mix[c], 1e-6);
    }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < D; c++)
            ck_assert_double_eq_tol((double)dv[i * D + c], want[i][c], 1e-6);
    gsa_safetensors_release(&file);
    gsa_cli_leave();
}
END_TEST

START_TEST(arrays_are_of_one_case)
{
    gsa_cli_enter();
    gsa_cli_run(ARGS("bench", "kernel", "--topology=ring", "--length=5,6", "--runs=1",
                     "--arrays=a.safetensors"),
                NULL, &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "--arrays holds one case"), "%d %s", ran.code,
                  ran.err);
    gsa_cli_run(ARGS("bench", "graph", "--topology=ring", "--length=5", "--runs=1", "--arrays=a"),
                NULL, &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "--arrays"), "%d %s", ran.code, ran.err);
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test measured[] = { GSA_TEST(lengths_and_encoders),
                                         GSA_TEST(in_degree),
                                         GSA_TEST(too_large),
                                         GSA_TEST(no_room),
                                         GSA_TEST(passages),
                                         GSA_TEST(arrays_hold_a_round) };
    static const gsa_test wrong[] = { GSA_LOOP(sentences, GSA_COUNT(refused)),
                                      GSA_TEST(arrays_are_of_one_case) };
    static const gsa_case cases[] = { GSA_CASE("measured", measured, 120),
                                      GSA_CASE("refused", wrong, 60) };
    return gsa_run_suite("bench_cases", cases, GSA_COUNT(cases), argc, argv);
}
