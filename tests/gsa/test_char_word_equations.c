/* BiG-Transformer (Shu et al. 2020), algorithm 1, written down once more with plain loops over one
 * sentence, against the executor running char_word: nothing of the project is used but the
 * parameters' values, found by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "gsa/stack.h"
#include "scratch.h"

enum { HIDDEN = 6, HEADS = 2, HEAD_DIM = 4, WIDTH = HEADS * HEAD_DIM, INNER = 10 };
enum { LONGEST = 17, CONTEXT = 64 };

/* ---- the paper ----------------------------------------------------------------------------- */

typedef struct paper {
    bench *b;
    int layers, global, words, adjacent, residual, full_scale;
    int n_words, first[CONTEXT], last[CONTEXT];
} paper;

static double *weights(const paper *m, const char *format, int layer)
{
    char name[128];
    snprintf(name, sizeof name, format, layer);
    const gsa_parameter *p = gsa_parameters_find(m->b->parameters, name);
    ck_assert_msg(p != NULL, "no parameter %s", name);
    double *values = malloc((size_t)(p->value.rows * p->value.cols) * sizeof *values);
    MUST(m->b, gsa_tensor_read(m->b->backend, &p->value, 0, values, &m->b->error));
    return values;
}

static void times(double *y, const double *w, const double *x, int out, int in) /* y = W x */
{
    for (int o = 0; o < out; o++) {
        y[o] = 0;
        for (int i = 0; i < in; i++) y[o] += w[o * in + i] * x[i];
    }
}

static void layer_norm(double *x) /* gains 1, biases 0: as they start */
{
    double mean = 0, var = 0;
    for (int i = 0; i < HIDDEN; i++) mean += x[i] / HIDDEN;
    for (int i = 0; i < HIDDEN; i++) var += (x[i] - mean) * (x[i] - mean) / HIDDEN;
    for (int i = 0; i < HIDDEN; i++) x[i] = (x[i] - mean) / sqrt(var + 1e-6);
}

/* eq. 1, 2, 6, 7: MultiHeadAtt(h; U), keys and values both of U */
static void multi_head_att(const paper *m, int layer, const double *h, const double *const *u,
                           int count, double *out)
{
    double q[WIDTH], k[CONTEXT][WIDTH], v[CONTEXT][WIDTH], a[WIDTH] = { 0 };
    double *wq = weights(m, "encoder.0.%d.read.q.weight", layer),
           *wk = weights(m, "encoder.0.%d.read.k.weight", layer),
           *wv = weights(m, "encoder.0.%d.read.v.weight", layer),
           *wo = weights(m, "encoder.0.%d.read.o.weight", layer);
    times(q, wq, h, WIDTH, HIDDEN);
    for (int c = 0; c < count; c++)
        times(k[c], wk, u[c], WIDTH, HIDDEN), times(v[c], wv, u[c], WIDTH, HIDDEN);
    for (int head = 0; head < HEADS; head++) {
        double p[CONTEXT], total = 0;
        for (int c = 0; c < count; c++) {
            double score = 0;
            for (int i = head * HEAD_DIM; i < (head + 1) * HEAD_DIM; i++) score += q[i] * k[c][i];
            total += p[c] = exp(score / sqrt(m->full_scale ? HIDDEN : HEAD_DIM));
        }
        for (int c = 0; c < count; c++)
            for (int i = head * HEAD_DIM; i < (head + 1) * HEAD_DIM; i++)
                a[i] += p[c] / total * v[c][i];
    }
    times(out, wo, a, HIDDEN, WIDTH);
    free(wq), free(wk), free(wv), free(wo);
}

static void feed_forward(const paper *m, int layer, double *h)
{
    double inner[INNER], f[HIDDEN];
    double *up = weights(m, "encoder.0.%d.ffn.up.weight", layer),
           *down = weights(m, "encoder.0.%d.ffn.down.weight", layer);
    times(inner, up, h, INNER, HIDDEN);
    for (int i = 0; i < INNER; i++) inner[i] = inner[i] > 0 ? inner[i] : 0;
    times(f, down, inner, HIDDEN, INNER);
    for (int i = 0; i < HIDDEN; i++) h[i] += f[i];
    layer_norm(h);
    free(up), free(down);
}

static void sentence_of(const paper *m, const char *name, int layer, int n, double h[][HIDDEN],
                        double *s)
{
    double mean[HIDDEN] = { 0 }, *w = weights(m, name, layer); /* eq. 5: s = Average(H) W_s */
    for (int i = 0; i < n; i++)
        for (int c = 0; c < HIDDEN; c++) mean[c] += h[i][c] / n;
    times(s, w, mean, HIDDEN, HIDDEN);
    free(w);
}

/* algorithm 1: h [n, HIDDEN] in place */
static void algorithm_1(const paper *m, int n, double h[][HIDDEN])
{
    double s[HIDDEN], o[CONTEXT][HIDDEN], next[LONGEST][HIDDEN];
    if (m->global) sentence_of(m, "encoder.0.once.start.o.weight", 0, n, h, s);
    for (int l = 0; l < m->layers; l++) {
        for (int j = 0; j < m->n_words; j++)
            for (int c = 0; c < HIDDEN; c++) {
                o[j][c] = 0;
                for (int i = m->first[j]; i <= m->last[j]; i++) o[j][c] += h[i][c];
            }
        for (int i = 0; i < n; i++) {
            const double *u[CONTEXT];
            int count = 0;
            for (int j = 0; j < m->n_words; j++)
                if (m->first[j] <= i && i <= m->last[j]) u[count++] = o[j];
            for (int c = i - 1; c <= i + 1 && m->adjacent; c++)
                if (c >= 0 && c < n) u[count++] = h[c];
            if (m->global) u[count++] = s;
            memcpy(next[i], h[i], sizeof next[i]); /* reads nothing: keeps its state */
            if (count == 0) continue;
            multi_head_att(m, l, h[i], u, count, next[i]);
            for (int c = 0; c < HIDDEN && m->residual; c++) next[i][c] += h[i][c];
            layer_norm(next[i]);
        }
        for (int i = 0; i < n && m->residual; i++) feed_forward(m, l, next[i]);
        memcpy(h, next, sizeof *h * (size_t)n);
        if (m->global && l + 1 < m->layers)
            sentence_of(m, "encoder.0.%d.mean.o.weight", l, n, h, s);
    }
}

/* ---- sentences ----------------------------------------------------------------------------- */

static const char *const dictionary[] = { "南京",     "南京市", "市长", "长江",
                                          "长江大桥", "大桥",   "江大" };
static const char *const sentences[] = { "南",
                                         "南京",
                                         "南京市",
                                         "京京长江市",
                                         "南京市长江大桥",
                                         "",
                                         "xyz大",
                                         "南京市长江大桥南京市长江大桥市长江" };
static const int lengths[] = { 1, 2, 3, 5, 7, 0, 4, 17 };
enum { COUNT = 8, TOKENS = 39 };

static void cut(gsa_slice *token)
{
    for (int e = 0; e < COUNT; e++)
        for (const char *at = sentences[e]; *at; at += token++->bytes)
            *token = (gsa_slice){ at, *at < 'x' ? 3 : 1 };
}

/* The words of a sentence by their last, then their first character. */
static void find_words(paper *m, int n, const gsa_slice *token)
{
    m->n_words = 0;
    for (int last = 0; last < n && m->words; last++)
        for (int first = 0; first <= last; first++) {
            char joined[128] = "";
            for (int i = first; i <= last; i++)
                strncat(joined, token[i].at, (size_t)token[i].bytes);
            for (int w = 0; w < GSA_COUNT(dictionary); w++)
                if (strcmp(joined, dictionary[w]) == 0)
                    m->first[m->n_words] = first, m->last[m->n_words++] = last;
        }
}

/* ---- the executor -------------------------------------------------------------------------- */

typedef struct world {
    bench b;
    gsa_scratch scratch;
    gsa_registry *registry;
    gsa_stack *stack;
    gsa_stack_batch *batch;
} world;

static world world_with(const char *text, int scale)
{
    world w = { .b = bench_open(NULL, GSA_F64) };
    gsa_settings settings = gsa_settings_default();
    gsa_stack_spec spec;
    char words[256] = "";
    settings.hidden = HIDDEN, settings.heads = HEADS, settings.head_dim = HEAD_DIM,
    settings.ffn = INNER;
    settings.scale = scale;
    for (int i = 0; i < GSA_COUNT(dictionary); i++)
        strcat(words, dictionary[i]), strcat(words, "\n");
    gsa_scratch_open(&w.scratch);
    const char *path = gsa_scratch_path(&w.scratch, "words.txt");
    gsa_put_file(path, words, (int64_t)strlen(words));
    MUST(&w.b, gsa_registry_create(NULL, &w.registry, &w.b.error));
    MUST(&w.b, gsa_spec_parse(NULL, text, &spec, &w.b.error));
    MUST(&w.b, gsa_spec_set(&spec, 0, 0, "lexicon", path, &w.b.error));
    MUST(&w.b,
         gsa_stack_create(NULL, w.registry, &spec, &settings,
                          &(gsa_stack_options){ .name = "encoder",
                                                .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY },
                          w.b.parameters, &w.stack, &w.b.error));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    gsa_spec_release(&spec);
    return w;
}

static void world_close(world *w)
{
    gsa_stack_batch_release(w->batch);
    gsa_stack_release(w->stack);
    gsa_registry_release(w->registry);
    gsa_scratch_close(&w->scratch);
    bench_close(&w->b);
}

static const struct {
    const char *spec;
    paper m;
} table[] = {
    { "char_word", { .layers = 1, .global = 1, .words = 1 } },
    { "char_word*3", { .layers = 3, .global = 1, .words = 1 } },
    { "char_word:global=0*3", { .layers = 3, .words = 1 } },
    { "char_word:local=0*2", { .layers = 2, .global = 1 } },
    { "char_word:local=adjacent*3", { .layers = 3, .global = 1, .adjacent = 1 } },
    { "char_word:local=adjacent:global=0*2", { .layers = 2, .adjacent = 1 } },
    { "char_word:residual=1", { .layers = 1, .global = 1, .words = 1, .residual = 1 } },
    { "char_word:residual=1*3", { .layers = 3, .global = 1, .words = 1, .residual = 1 } },
    { "char_word:residual=1:global=0*2", { .layers = 2, .words = 1, .residual = 1 } },
    { "char_word:residual=1:local=adjacent*2",
      { .layers = 2, .global = 1, .adjacent = 1, .residual = 1 } },
    { "char_word*2", { .layers = 2, .global = 1, .words = 1, .full_scale = 1 } },
};

START_TEST(the_executor_equals_algorithm_1)
{
    double rows[TOKENS * HIDDEN], sequence[TOKENS * HIDDEN], summary[COUNT * HIDDEN];
    gsa_slice token[TOKENS];
    gsa_dice dice = { 40 + (uint64_t)_i };
    gsa_readout out;
    int with_words = 0;
    paper m = table[_i].m;
    world w = world_with(table[_i].spec, m.full_scale ? GSA_SCALE_FULL : GSA_SCALE_HEAD);
    m.b = &w.b;
    cut(token);
    for (int i = 0; i < TOKENS * HIDDEN; i++) rows[i] = gsa_normal(&dice);
    MUST(&w.b,
         gsa_stack_batch_build(w.batch, NULL, NULL,
                               &(gsa_sequences){ .count = COUNT, .length = lengths, .text = token },
                               &w.b.error));
    gsa_tape_reset(w.b.tape, 0, 1, 1);
    gsa_stack_forward(w.stack, w.b.tape, w.batch,
                      gsa_tape_constant(w.b.tape, rows, GSA_F64, TOKENS, HIDDEN), NULL, &out);
    MUST(&w.b, gsa_tape_status(w.b.tape, &w.b.error));
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.sequence, 0, sequence, &w.b.error));
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.summary, 0, summary, &w.b.error));
    int at = 0;
    for (int e = 0; e < COUNT; at += lengths[e++]) {
        double mean[HIDDEN] = { 0 };
        find_words(&m, lengths[e], token + at);
        with_words += m.n_words > 0;
        double(*h)[HIDDEN] = (double(*)[HIDDEN])(rows + at * HIDDEN);
        algorithm_1(&m, lengths[e], h);
        ck_assert_int_eq(gsa_differ("characters", sequence + at * HIDDEN, h[0], lengths[e] * HIDDEN,
                                    1e-12, 1e-12),
                         0);
        for (int i = 0; i < lengths[e]; i++)
            for (int c = 0; c < HIDDEN; c++) mean[c] += h[i][c] / lengths[e];
        ck_assert_int_eq(gsa_differ("mean", summary + e * HIDDEN, mean, HIDDEN, 1e-12, 1e-12), 0);
    }
    ck_assert_int_eq(at, TOKENS);
    ck_assert_int_eq(with_words,
                     m.words ? 5 : 0); /* and two sentences of some length without any */
    world_close(&w);
}
END_TEST

/* Batched or alone, a sentence gives the same bits; the text of a batch is cut where its sentences
 * are. */
START_TEST(sentences_of_a_batch_do_not_meet)
{
    double rows[7 * HIDDEN], together[7 * HIDDEN], alone[7 * HIDDEN];
    gsa_slice token[7];
    gsa_dice dice = { 3 };
    world w = world_with("char_word:residual=1*2", GSA_SCALE_HEAD);
    for (int i = 0; i < 7 * HIDDEN; i++) rows[i] = gsa_normal(&dice);
    for (int i = 0; i < 7; i++) token[i] = (gsa_slice){ sentences[4] + 3 * i, 3 };
    for (int round = 0, at = 0; round < 3;
         round++) { /* 南京市长 + 江大桥 in one batch, then each */
        const int32_t both[] = { 4, 3 }, *length = both + (round == 2);
        const int count = round == 0 ? 2 : 1, tokens = round == 0 ? 7 : *length;
        gsa_readout out;
        MUST(&w.b, gsa_stack_batch_build(
                       w.batch, NULL, NULL,
                       &(gsa_sequences){ .count = count, .length = length, .text = token + at },
                       &w.b.error));
        gsa_tape_reset(w.b.tape, 0, 1, 1);
        gsa_stack_forward(w.stack, w.b.tape, w.batch,
                          gsa_tape_constant(w.b.tape, rows + at * HIDDEN, GSA_F64, tokens, HIDDEN),
                          NULL, &out);
        MUST(&w.b, gsa_tape_status(w.b.tape, &w.b.error));
        MUST(&w.b, gsa_tensor_read(w.b.backend, out.sequence, 0,
                                   round ? alone + at * HIDDEN : together, &w.b.error));
        if (round > 0) at += tokens;
    }
    ck_assert_mem_eq(together, alone, sizeof together);
    world_close(&w);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test equations[] = { GSA_LOOP(the_executor_equals_algorithm_1,
                                                   GSA_COUNT(table)),
                                          GSA_TEST(sentences_of_a_batch_do_not_meet) };
    static const gsa_case cases[] = { GSA_CASE("equations", equations, 60) };
    return gsa_run_suite("char_word_equations", cases, GSA_COUNT(cases), argc, argv);
}
