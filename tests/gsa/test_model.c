#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model_world.h"

static const int32_t source[] = { 5, 1, 7, 3 }, target[] = { 4, 2, 1, 6 };
enum { COUNT = 4, SOURCE = 16, TARGET = 13, LONG = WORLD_TOKENS * 6 };
static const int64_t tokens[] = { SOURCE, TARGET };
static const gsa_model_sequence both[] = SOURCE_AND_TARGET(source, target);
static const char *const pairs[][2] = { { "bpt:k=4*2", "bpt:k=4:causal=1+cross*2" },
                                        { "full*2", "full:causal=1+cross*2" },
                                        { "star,window:width=3*2",
                                          "full:causal=1*1,full:causal=1+cross*2" } };

static world pair_of(const gsa_system *system, int which, int norm, double dropout)
{
    world w = world_open(system, GSA_F64);
    const picture p = translator(pairs[which][0], pairs[which][1]);
    w.settings.norm = norm;
    w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = dropout;
    world_make(&w, &p, tokens);
    return w;
}

/* ---- the same, stack by stack -------------------------------------------------------------- */
/* Two stacks made and run by hand, in a bench of their own: values depend on names alone, so they
 * are the model's. */
typedef struct hand {
    gsa_stack *stack[2];
    gsa_stack_batch *batch[2];
    gsa_readout out[2];
} hand;

static gsa_stack *hand_stack(world *w, const char *name, const char *text, uint32_t reads,
                             const int *tap, uint32_t site)
{
    gsa_stack_spec spec;
    gsa_stack *stack;
    const gsa_stack_options o = {
        .name = name, .reads = reads, .taps = tap, .n_taps = tap != NULL, .first_site = site
    };
    MUST(&w->b, gsa_spec_parse(NULL, text, &spec, &w->b.error));
    MUST(&w->b, gsa_stack_create(NULL, w->registry, &spec, &w->settings, &o, w->b.parameters,
                                 &stack, &w->b.error));
    gsa_spec_release(&spec);
    return stack;
}

static hand hand_open(world *w, const char *const *specs, const int *tap)
{
    hand h = { 0 };
    h.stack[0] = hand_stack(w, "encoder", specs[0], tap ? 0 : GSA_READ_SEQUENCE, tap, 0);
    h.stack[1] =
        hand_stack(w, "decoder", specs[1], GSA_READ_SEQUENCE, NULL, gsa_stack_sites(h.stack[0]));
    for (int i = 0; i < 2; i++) {
        MUST(&w->b, gsa_stack_batch_create(h.stack[i], &h.batch[i], &w->b.error));
        const char *name = i ? "rows.target" : "rows.source";
        MUST(&w->b, gsa_parameters_add(w->b.parameters, name, tokens[i], 6, GSA_INIT_NORMAL, 1, 0,
                                       &w->rows[i], &w->b.error));
    }
    return h;
}

static void hand_run(world *w, hand *h, int training)
{
    const gsa_sequences s[] = { { .count = COUNT, .length = source },
                                { .count = COUNT, .length = target, .memory_length = source } };
    gsa_tape_reset(w->b.tape, training, 3, 5);
    for (int i = 0; i < 2; i++) {
        MUST(&w->b, gsa_stack_batch_build(h->batch[i], NULL, NULL, &s[i], &w->b.error));
        gsa_tensor *memory = i == 0           ? NULL
                             : h->out[0].taps ? h->out[0].taps[0]
                                              : h->out[0].sequence;
        gsa_stack_forward(h->stack[i], w->b.tape, h->batch[i], &w->rows[i]->value, memory,
                          &h->out[i]);
    }
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
}

static void hand_close(hand *h)
{
    for (int i = 0; i < 2; i++)
        gsa_stack_batch_release(h->batch[i]), gsa_stack_release(h->stack[i]);
}

/* To the bit: rows and gradients, with dropout. */
static void expect_same(world *w, const gsa_readout *out, world *v, hand *h)
{
    double a[LONG], b[LONG];
    const int64_t n = world_read(w, out[1].sequence, 0, a);
    ck_assert_int_eq(world_read(v, h->out[1].sequence, 0, b), n);
    ck_assert_int_eq(gsa_differ("decoder", a, b, n, 0, 0), 0);
    world_backward(w, world_loss(w, &out[1].sequence, 1));
    world_backward(v, world_loss(v, &h->out[1].sequence, 1));
    int64_t total, same;
    double *mine = world_gradients(w, &total), *theirs = world_gradients(v, &same);
    ck_assert_int_eq(total, same);
    ck_assert_int_eq(gsa_differ("gradients", mine, theirs, total, 0, 0), 0);
    free(mine), free(theirs);
}

START_TEST(a_model_is_its_stacks_one_after_the_other)
{
    const int which = _i % 3, norm = _i / 3 % 2, training = _i / 6;
    world w = pair_of(NULL, which, norm, training ? 0.3 : 0), v = world_open(NULL, GSA_F64);
    v.settings = w.settings;
    hand h = hand_open(&v, pairs[which], NULL);
    gsa_readout out[2];
    world_run(&w, both, 1, out);
    hand_run(&v, &h, 1);
    expect_same(&w, out, &v, &h);
    hand_close(&h);
    world_close(&v);
    world_close(&w);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */
START_TEST(memory_at_a_depth_is_the_tap)
{
    const char *const specs[] = { "full*3", "full:causal=1+cross*2" };
    world w = world_open(NULL, GSA_F64), v = world_open(NULL, GSA_F64);
    picture p = translator(specs[0], specs[1]);
    p.passes[1].memory_after = _i + 1;
    world_make(&w, &p, tokens);
    hand h = hand_open(&v, specs, &_i);
    gsa_readout out[2];
    world_run(&w, both, 1, out);
    hand_run(&v, &h, 1);
    expect_same(&w, out, &v, &h);
    ck_assert((gsa_model_tap(w.model, out, 0, _i) != NULL) ==
              (_i < 2)); /* after the last layer: the sequence itself */
    ck_assert((out[0].sequence != NULL) == (_i == 2));
    for (int i = 0; i < gsa_parameters_count(w.b.parameters);
         i++) { /* deeper layers reach nothing */
        const gsa_parameter *x = gsa_parameters_at(w.b.parameters, i);
        int layer = -1;
        if (strncmp(x->name, "encoder.0.", 10) == 0) layer = x->name[10] - '0';
        ck_assert_int_eq((x->flags & GSA_UNREACHED) != 0, layer > _i);
    }
    hand_close(&h);
    world_close(&v);
    world_close(&w);
}
END_TEST

static const void *watched;
static int watched_calls, all_calls;
static gsa_status (*real_gemm)(gsa_backend *, void *, const void *, const void *, int64_t, int64_t,
                               int64_t, int, int, int64_t, int64_t, int64_t, int);
static gsa_status counting_gemm(gsa_backend *b, void *c, const void *x, const void *y, int64_t m,
                                int64_t n, int64_t k, int ta, int tb, int64_t ldc, int64_t lda,
                                int64_t ldb, int accumulate)
{
    all_calls++;
    watched_calls += x == watched;
    return real_gemm(b, c, x, y, m, n, k, ta, tb, ldc, lda, ldb, accumulate);
}

/* The memory is projected to K and V once a layer of each pass that reads it; the encoder runs once
 * for two readers. */
START_TEST(memory_is_projected_once_a_layer)
{
    world w = world_open(NULL, GSA_F64);
    picture p = translator("full*2", "cross*3");
    p.passes[2] = (gsa_model_pass){
        .name = "second", .stack = "decoder", .sequence = "target", .memory = "encoder"
    };
    world_make(&w, &p, tokens);
    gsa_readout out[3];
    gsa_tensor *rows[] = { &w.rows[0]->value, &w.rows[1]->value };
    MUST(&w.b, gsa_model_batch_build(w.batch, NULL, NULL, both, &w.b.error));
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    memset(out, 0, sizeof out);
    real_gemm = w.b.backend->gemm;
    w.b.backend->gemm = counting_gemm;
    all_calls = watched_calls = 0;
    gsa_model_forward_pass(w.model, w.b.tape, w.batch, 0, rows[0], out);
    watched = out[0].sequence->data;
    ck_assert_int_eq(all_calls, 2 * 6); /* q, k, v, o, up, down */
    for (int r = 1; r < 3; r++) gsa_model_forward_pass(w.model, w.b.tape, w.batch, r, rows[1], out);
    ck_assert_int_eq(watched_calls, 2 * 3 * 2); /* passes, layers, K and V */
    all_calls = 0;
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_model_forward(w.model, w.b.tape, w.batch, rows, out);
    ck_assert_int_eq(all_calls,
                     2 * 6 + 2 * 3 * 4); /* the encoder once; q, k, v, o of each cross layer */
    w.b.backend->gemm = real_gemm;
    world_close(&w);
}
END_TEST

/* Sentences of a document: with the encoder within a sentence too, each is as if it were alone. */
START_TEST(aligned_memory_is_sentence_by_sentence)
{
    static const int32_t n[] = { 7, 4 }, m[] = { 5, 3 }, ng[] = { 0, 0, 1, 1, 1, 3, 3, 0, 2, 2, 2 },
                         mg[] = { 0, 1, 1, 2, 3, 0, 1, 2 };
    static const int32_t own_n[] = { 2, 3, 0, 2, 1, 0, 3 },
                         own_m[] = { 1, 2, 1, 1, 1, 1, 1 }; /* the same, group by group of target */
    const gsa_model_sequence whole[] = { { 2, n, NULL, ng, NULL, NULL, 0, 0, NULL, 0 },
                                         { 2, m, NULL, mg, NULL, NULL, 0, 0, NULL, 0 } };
    const gsa_model_sequence apart[] = SOURCE_AND_TARGET(own_n, own_m);
    const char *const specs[] = { "cross:align=1*2", "cross*2" };
    double out[2][LONG];
    for (int i = 0; i < 2; i++) {
        world w = world_open(NULL, GSA_F64);
        const picture p = translator("window:width=1", specs[i]);
        world_make(&w, &p, (int64_t[]){ 11, 8 });
        gsa_readout r[2];
        world_run(&w, i ? apart : whole, 0, r);
        ck_assert_int_eq(world_read(&w, r[1].sequence, 0, out[i]), 8 * 6);
        world_close(&w);
    }
    ck_assert_int_eq(gsa_differ("aligned", out[0], out[1], 8 * 6, 1e-13, 1e-13), 0);
}
END_TEST

/* A later token of the target changes no earlier output by one bit; any token of the source changes
 * all of its example's. */
START_TEST(a_causal_decoder_does_not_leak)
{
    world w = pair_of(NULL, _i, GSA_NORM_POST, 0);
    double first[LONG], then[LONG], values[LONG];
    gsa_readout out[2];
    world_run(&w, both, 0, out);
    world_read(&w, out[1].sequence, 0, first);
    for (int s = 0; s < 2; s++)
        for (int64_t changed = 0, example = 0, from = 0; changed < tokens[s]; changed++) {
            const int32_t *length = s ? target : source;
            if (changed == from + length[example]) from += length[example++];
            world_read(&w, &w.rows[s]->value, 0, values);
            values[changed * 6 + 1] += 0.5;
            MUST(&w.b, gsa_tensor_write(w.b.backend, &w.rows[s]->value, values, &w.b.error));
            world_run(&w, both, 0, out);
            world_read(&w, out[1].sequence, 0, then);
            int64_t row = 0;
            for (int e = 0; e < COUNT; e++)
                for (int64_t i = 0; i < target[e]; i++, row++) {
                    const int same =
                        memcmp(first + row * 6, then + row * 6, 6 * sizeof *first) == 0;
                    const int depends = e == example && (s == 0 || from + i >= changed);
                    ck_assert_msg(same == !depends, "%s token %d changed, output %d of example %d",
                                  s ? "target" : "source", (int)changed, (int)i, e);
                }
            values[changed * 6 + 1] -= 0.5;
            MUST(&w.b, gsa_tensor_write(w.b.backend, &w.rows[s]->value, values, &w.b.error));
            world_run(&w, both, 0, out); /* += and -= may round: take what is now */
            world_read(&w, out[1].sequence, 0, first);
        }
    world_close(&w);
}
END_TEST

/* ---- passes that share a stack --------------------------------------------------------------- */
/* The sentence pair of Ye et al. 2019: `self` on both, then `pair` on both, whose memory is the
 * other as `self` left it. */
static picture sentence_pair(const char *self, const char *pair)
{
    return (picture){ .sequences = { "p", "h" },
                      .stacks = { { .name = "self", .spec = self },
                                  { .name = "pair",
                                    .spec = pair,
                                    .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY } },
                      .passes = { { "pair.p", "pair", "p", "self.p", "self.h", 0,
                                    0 }, /* readers first: order is free */
                                  { "pair.h", "pair", "h", "self.h", "self.p", 0, 0 },
                                  { "self.p", "self", "p", NULL, NULL, 0, 0 },
                                  { "self.h", "self", "h", NULL, NULL, 0, 0 } } };
}
enum { PAIR_P, PAIR_H, SELF_P, SELF_H };

START_TEST(both_sentences_read_each_other)
{
    world w = world_open(NULL, GSA_F64);
    const picture p = sentence_pair("bpt:k=2*3", "bpt:k=2+cross*3");
    world_make(&w, &p, tokens);
    gsa_readout out[4], own;
    world_run(&w, both, 0, out);
    double model[2][LONG], alone[LONG], summary[2][LONG];
    for (int i = 0; i < 2; i++) {
        world_read(&w, out[i].sequence, 0, model[i]);
        world_read(&w, out[i].summary, 0, summary[i]);
    }
    for (int i = 0; i < 2; i++) { /* the same, pass by pass */
        gsa_tensor *self[2];
        gsa_tape_reset(w.b.tape, 0, 3, 5);
        for (int s = 0; s < 2; s++) {
            gsa_stack_forward(gsa_model_stack_of(w.model, SELF_P + s), w.b.tape,
                              gsa_model_batch_of(w.batch, SELF_P + s), &w.rows[s]->value, NULL,
                              &own);
            self[s] = own.sequence;
        }
        gsa_stack_forward(gsa_model_stack_of(w.model, i), w.b.tape, gsa_model_batch_of(w.batch, i),
                          self[i], self[1 - i], &own);
        MUST(&w.b, gsa_tape_status(w.b.tape, &w.b.error));
        ck_assert_int_eq(
            gsa_differ("sequence", model[i], alone, world_read(&w, own.sequence, 0, alone), 0, 0),
            0);
        ck_assert_int_eq(
            gsa_differ("summary", summary[i], alone, world_read(&w, own.summary, 0, alone), 0, 0),
            0);
    }
    ck_assert_int_eq(gsa_model_batch_edges(w.batch),
                     gsa_stack_batch_edges(gsa_model_batch_of(w.batch, 0)) +
                         gsa_stack_batch_edges(gsa_model_batch_of(w.batch, 1)) +
                         gsa_stack_batch_edges(gsa_model_batch_of(w.batch, 2)) +
                         gsa_stack_batch_edges(gsa_model_batch_of(w.batch, 3)));
    world_close(&w);
}
END_TEST

/* Equal sentences: equal outputs, whichever is called p. */
START_TEST(the_pair_is_symmetric)
{
    world w = world_open(NULL, GSA_F64);
    const picture p = sentence_pair("star*2", "full+cross");
    world_make(&w, &p, (int64_t[]){ SOURCE, SOURCE });
    for (int s = 0; s < 2; s++) world_set(&w, &w.rows[s]->value, 41);
    const gsa_model_sequence same[] = SOURCE_AND_TARGET(source, source);
    gsa_readout out[4];
    double a[LONG], b[LONG];
    world_run(&w, same, 0, out);
    world_read(&w, out[PAIR_P].sequence, 0, a);
    ck_assert_int_eq(gsa_differ("p and h", a, b, world_read(&w, out[PAIR_H].sequence, 0, b), 0, 0),
                     0);
    world_close(&w);
}
END_TEST

/* One stack whose second segment reads the other pass after the first: what two stacks one after
 * the other are, where all states are tokens and the norm is post. */
START_TEST(one_stack_reads_itself_at_a_depth)
{
    world w = world_open(NULL, GSA_F64), v = world_open(NULL, GSA_F64);
    const picture p = sentence_pair("full*2", "full+cross*2"), q = {
        .sequences = { "p", "h" },
        .stacks = { { .name = "pair", .spec = "full*2,full+cross*2", .reads = GSA_READ_SEQUENCE } },
        .passes = { { "p", "pair", "p", NULL, "h", 0, 2 }, { "h", "pair", "h", NULL, "p", 0, 2 } }
    };
    world_make(&w, &p, tokens);
    world_make(&v, &q, tokens);
    for (int i = 0; i < gsa_parameters_count(v.b.parameters);
         i++) { /* pair.0.x of q is self.0.x of p, pair.1.x is pair.0.x */
        char name[256];
        double values[LONG];
        gsa_parameter *to = gsa_parameters_at(v.b.parameters, i);
        const int second = strncmp(to->name, "pair.1", 6) == 0,
                  first = strncmp(to->name, "pair.0", 6) == 0;
        snprintf(name, sizeof name, "%s%s",
                 first    ? "self.0"
                 : second ? "pair.0"
                          : "",
                 to->name + (first || second ? 6 : 0));
        world_read(&w, &gsa_parameters_find(w.b.parameters, name)->value, 0, values);
        MUST(&v.b, gsa_tensor_write(v.b.backend, &to->value, values, &v.b.error));
    }
    gsa_readout out[4], own[2];
    double a[LONG], b[LONG];
    world_run(&w, both, 1, out);
    world_run(&v, both, 1, own);
    for (int i = 0; i < 2; i++) {
        world_read(&w, out[i].sequence, 0, a);
        ck_assert_int_eq(gsa_differ("sequence", a, b, world_read(&v, own[i].sequence, 0, b), 0, 0),
                         0);
    }
    world_close(&v);
    world_close(&w);
}
END_TEST

START_TEST(shared_parameters_gather_from_both_runs)
{
    double *sum[3];
    int64_t n = 0;
    for (int i = 0; i < 3; i++) { /* loss of p, of h, of both */
        world w = world_open(NULL, GSA_F64);
        const picture p = {
            .sequences = { "p", "h" },
            .stacks = { { .name = "self", .spec = "bpt:k=1*2", .reads = GSA_READ_SUMMARY } },
            .passes = { { .name = "p", .stack = "self", .sequence = "p" },
                        { .name = "h", .stack = "self", .sequence = "h" } }
        };
        world_make(&w, &p, tokens);
        gsa_readout out[2];
        world_run(&w, both, 1, out);
        gsa_tensor *x[] = { i != 1 ? out[0].summary : NULL, i != 0 ? out[1].summary : NULL };
        world_backward(&w, world_loss(&w, x, 2));
        sum[i] = world_gradients(&w, &n);
        for (int k = 0; k < gsa_parameters_count(w.b.parameters); k++)
            ck_assert(strncmp(gsa_parameters_at(w.b.parameters, k)->name,
                              k < gsa_parameters_count(w.b.parameters) - 2 ? "self." : "rows.",
                              5) == 0);
        world_close(&w);
    }
    double largest = 0;
    for (int64_t k = 0; k < n; k++)
        sum[0][k] += sum[1][k], largest = fmax(largest, fabs(sum[0][k]));
    ck_assert(largest > 0.01);
    ck_assert_int_eq(gsa_differ("p and h", sum[2], sum[0], n, 1e-12 * largest, 1e-12), 0);
    for (int i = 0; i < 3; i++) free(sum[i]);
}
END_TEST

/* ---- characters into words: sequences of different counts, one pass after the caller has made its
 * rows ---- */
START_TEST(characters_become_words)
{
    static const int32_t letters[] = { 3, 1, 5, 2, 4, 6, 2 }, words[] = { 4, 0, 3 };
    const picture p = {
        .sequences = { "letters", "words" },
        .stacks = { { .name = "spelling", .spec = "ring*1", .reads = GSA_READ_SUMMARY },
                    { .name = "encoder", .spec = "star*2", .reads = GSA_READ_SEQUENCE } },
        .passes = { { .stack = "spelling", .sequence = "letters" },
                    { .stack = "encoder", .sequence = "words" } }
    };
    const gsa_model_sequence s[] = SOURCE_AND_TARGET(letters, words);
    world w = world_open(NULL, GSA_F64);
    world_make(&w, &p, (int64_t[]){ 23, 7 });
    gsa_readout out[2] = { 0 };
    MUST(&w.b, gsa_model_batch_build(w.batch, w.cache, NULL, s, &w.b.error));
    gsa_tape_reset(w.b.tape, 1, 3, 5);
    gsa_model_forward_pass(w.model, w.b.tape, w.batch, 0, &w.rows[0]->value, out);
    gsa_tensor *rows = gsa_op_add(w.b.tape, out[0].summary, &w.rows[1]->value);
    gsa_model_forward_pass(w.model, w.b.tape, w.batch, 1, rows, out);
    world_backward(&w, world_loss(&w, &out[1].sequence, 1));
    double gradient[LONG], most = 0;
    const int64_t n = world_read(&w, &w.rows[0]->value, 1, gradient);
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(gradient[i]));
    ck_assert(most > 1e-4);
    world_close(&w);
}
END_TEST

/* ---- dropout ------------------------------------------------------------------------------- */
enum {
    SENTENCES = 3,
    ALIKE = 4,
    BLOCK = 4 * 6,
    BLOCKS = SENTENCES * ALIKE
}; /* examples of four equal tokens */

/* drawn [2][BLOCKS][BLOCK]: the inputs, and what the passes make of rows of ones; without masks all
 * blocks were equal. */
static void draw_all(world *w, const gsa_input *input, double drawn[2][BLOCKS][BLOCK])
{
    static const int32_t four[ALIKE] = { 4, 4, 4, 4 };
    const gsa_model_sequence one = { ALIKE, four, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
                             same[SENTENCES] = { one, one, one };
    double ones[ALIKE * BLOCK];
    gsa_tensor *rows[SENTENCES], *like[SENTENCES];
    gsa_readout out[SENTENCES];
    for (int i = 0; i < ALIKE * BLOCK; i++) ones[i] = 1;
    MUST(&w->b, gsa_model_batch_build(w->batch, w->cache, NULL, same, &w->b.error));
    gsa_tape_reset(w->b.tape, 1, 3, 5);
    for (int s = 0; s < SENTENCES; s++) {
        like[s] = gsa_tape_constant(w->b.tape, ones, GSA_F64, ALIKE * 4, 6);
        rows[s] = gsa_model_input(w->model, w->b.tape, w->batch, s, input, NULL, like[s]);
    }
    gsa_model_forward(w->model, w->b.tape, w->batch, like, out);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    for (int s = 0; s < SENTENCES; s++) {
        world_read(w, rows[s], 0, drawn[0][s * ALIKE]);
        world_read(w, out[s].sequence, 0, drawn[1][s * ALIKE]);
    }
}

START_TEST(runs_and_inputs_draw_their_own_masks)
{
    world w = world_open(NULL, GSA_F64);
    const picture p = {
        .sequences = { "p", "h", "q" },
        .stacks = { { .name = "self", .spec = "full", .reads = GSA_READ_SEQUENCE } },
        .passes = { { .name = "p", .stack = "self", .sequence = "p" },
                    { .name = "h", .stack = "self", .sequence = "h" },
                    { .name = "q", .stack = "self", .sequence = "q" } }
    };
    w.settings.dropout_hidden = w.settings.dropout_input = 0.5;
    w.settings.input = GSA_INPUT_DROPOUT;
    world_make(&w, &p, (int64_t[]){ 1, 1, 1 });
    gsa_input *input;
    MUST(&w.b,
         gsa_input_create(NULL, &w.settings, &(gsa_input_options){ .name = "input", .width = 6 },
                          w.b.parameters, &input, &w.b.error));
    double drawn[2][BLOCKS][BLOCK];
    draw_all(&w, input, drawn);
    for (int i = 0; i < 2; i++)
        for (int a = 1; a < BLOCKS; a++)
            for (int b = 0; b < a; b++)
                ck_assert_msg(memcmp(drawn[i][a], drawn[i][b], sizeof drawn[i][a]) != 0,
                              "%s: sequence %d, example %d drew what sequence %d, example %d did",
                              i ? "pass" : "input", a / ALIKE, a % ALIKE, b / ALIKE, b % ALIKE);
    gsa_input_release(input);
    world_close(&w);
}
END_TEST

/* A batch in two halves, with the examples' numbers: the same rows to the bit, the same gradients
 * to rounding. */
START_TEST(a_split_batch_draws_the_same)
{
    static const int32_t number[] = { 7, 2, 67108863, 5 };
    double whole[2][LONG], *gradient = NULL, *parts[2];
    int64_t n = 0;
    for (int half = -1; half < 2; half++) {
        const int first = half < 0 ? 0 : half * 2, count = half < 0 ? 4 : 2;
        const int64_t s0 = sum_of(source, first), t0 = sum_of(target, first);
        const gsa_model_sequence s[] = {
            { count, source + first, NULL, NULL, number + first, NULL, 0, 0, NULL, 0 },
            { count, target + first, NULL, NULL, number + first, NULL, 0, 0, NULL, 0 }
        };
        world w = world_open(NULL, GSA_F64);
        picture p = sentence_pair("bpt:k=1", "full+cross");
        if (_i)
            p = (picture){ .sequences = { "p", "h" },
                           .stacks = { { .name = "pair",
                                         .spec = "bpt:k=1,bpt:k=1+cross",
                                         .reads = GSA_READ_SEQUENCE } },
                           .passes = { { "p", "pair", "p", NULL, "h", 0, 1 },
                                       { "h", "pair", "h", NULL, "p", 0, 1 } } };
        w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = 0.3;
        world_make(&w, &p, tokens);
        gsa_tensor *rows[2];
        gsa_readout out[4];
        MUST(&w.b, gsa_model_batch_build(w.batch, w.cache, NULL, s, &w.b.error));
        gsa_tape_reset(w.b.tape, 1, 3, 5);
        rows[0] = gsa_op_view(w.b.tape, &w.rows[0]->value, s0, sum_of(source + first, count));
        rows[1] = gsa_op_view(w.b.tape, &w.rows[1]->value, t0, sum_of(target + first, count));
        gsa_model_forward(w.model, w.b.tape, w.batch, rows, out);
        MUST(&w.b, gsa_tape_status(w.b.tape, &w.b.error));
        gsa_tensor *loss = NULL;
        for (int i = 0; i < 2; i++) {
            double mine[LONG];
            const int64_t got = world_read(&w, out[i].sequence, 0, half < 0 ? whole[i] : mine);
            if (half >= 0)
                ck_assert_int_eq(gsa_differ("half", mine, whole[i] + (i ? t0 : s0) * 6, got, 0, 0),
                                 0);
            gsa_tensor *error = gsa_op_square_error(w.b.tape, out[i].sequence,
                                                    gsa_tape_zeros(w.b.tape, got / 6, 6), 1);
            loss = loss ? gsa_op_add(w.b.tape, loss, error) : error;
        }
        world_backward(&w, loss);
        if (half < 0) gradient = world_gradients(&w, &n);
        else parts[half] = world_gradients(&w, &n);
        world_close(&w);
    }
    for (int64_t k = 0; k < n; k++) parts[0][k] += parts[1][k];
    ck_assert_int_eq(gsa_differ("gradients", parts[0], gradient, n, 1e-12, 1e-9), 0);
    free(gradient), free(parts[0]), free(parts[1]);
}
END_TEST

/* ---- nothing at all; steady state ---------------------------------------------------------- */
START_TEST(a_model_of_no_examples_and_of_empty_ones)
{
    static const int32_t none[] = { 0, 0 }, some[] = { 2, 0 };
    const gsa_model_sequence empty[][2] = { { { 0 }, { 0 } },
                                            SOURCE_AND_TARGET(none, none),
                                            SOURCE_AND_TARGET(none, some),
                                            SOURCE_AND_TARGET(some, none) };
    world w = world_open(NULL, GSA_F64);
    const picture p = translator("bpt", "bpt:causal=1+cross:align=1*2");
    w.settings.dropout_attention = w.settings.dropout_hidden = 0.5;
    const int64_t n[] = { _i == 3 ? 2 : 0, _i == 2 ? 2 : 0 };
    world_make(&w, &p, n);
    gsa_readout out[2];
    world_run(&w, empty[_i], 1, out);
    ck_assert_int_eq(out[1].sequence->rows, n[1]);
    world_backward(&w, world_loss(&w, &out[1].sequence, 1));
    world_close(&w);
}
END_TEST

START_TEST(a_step_allocates_nothing_after_warm_up)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    world w = world_open(&faults.table, GSA_F32);
    picture p =
        _i ? sentence_pair("bpt:k=2", "bpt:k=2+cross") : translator(pairs[0][0], pairs[0][1]);
    if (_i == 2)
        p = (picture){
            .sequences = { "p", "h" },
            .stacks = { { .name = "pair", .spec = "bpt,bpt+cross", .reads = GSA_READ_SEQUENCE } },
            .passes = { { "p", "pair", "p", NULL, "h", 0, 1 },
                        { "h", "pair", "h", NULL, "p", 0, 1 } }
        };
    w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = 0.1;
    world_make(&w, &p, tokens);
    const gsa_model_sequence fewer[] = { { 3, source, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
                                         { 3, target, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } },
                             *batches[] = { both, fewer };
    for (int step = 0; step < 12; step++) {
        if (step == 4) gsa_faults_rewind(&faults);
        gsa_readout out[4];
        gsa_tensor *rows[2];
        const gsa_model_sequence *s = batches[step % 2];
        MUST(&w.b, gsa_model_batch_build(w.batch, w.cache, NULL, s, &w.b.error));
        gsa_tape_reset(w.b.tape, 1, 3, (uint32_t)step);
        for (int i = 0; i < 2; i++)
            rows[i] = gsa_op_view(w.b.tape, &w.rows[i]->value, 0, sum_of(s[i].length, s[i].count));
        gsa_model_forward(w.model, w.b.tape, w.batch, rows, out);
        gsa_tensor *y = out[_i ? 0 : 1].sequence;
        gsa_tensor *loss =
            gsa_op_square_error(w.b.tape, y, gsa_tape_zeros(w.b.tape, y->rows, 6), 1);
        world_backward(&w, loss);
    }
    ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0);
    world_close(&w);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test equal[] = { GSA_LOOP(a_model_is_its_stacks_one_after_the_other, 12) };
    static const gsa_test memory[] = { GSA_LOOP(memory_at_a_depth_is_the_tap, 3),
                                       GSA_TEST(memory_is_projected_once_a_layer),
                                       GSA_TEST(aligned_memory_is_sentence_by_sentence) };
    static const gsa_test causal[] = { GSA_LOOP(a_causal_decoder_does_not_leak, 3) };
    static const gsa_test shared[] = { GSA_TEST(both_sentences_read_each_other),
                                       GSA_TEST(the_pair_is_symmetric),
                                       GSA_TEST(one_stack_reads_itself_at_a_depth),
                                       GSA_TEST(shared_parameters_gather_from_both_runs),
                                       GSA_TEST(characters_become_words) };
    static const gsa_test dropout[] = { GSA_TEST(runs_and_inputs_draw_their_own_masks),
                                        GSA_LOOP(a_split_batch_draws_the_same, 2) };
    static const gsa_test steady[] = { GSA_LOOP(a_model_of_no_examples_and_of_empty_ones, 4),
                                       GSA_LOOP(a_step_allocates_nothing_after_warm_up, 3) };
    static const gsa_case cases[] = {
        GSA_CASE("equal", equal, 60),     GSA_CASE("memory", memory, 60),
        GSA_CASE("causal", causal, 60),   GSA_CASE("shared", shared, 60),
        GSA_CASE("dropout", dropout, 60), GSA_CASE("steady", steady, 60)
    };
    return gsa_run_suite("model", cases, GSA_COUNT(cases), argc, argv);
}
