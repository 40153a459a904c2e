/* The executor running the binary-partition tree computes what Ye et al. 2019 write: against their
 * equations in double, against full attention where k >= n, and, where the pattern promises that
 * nothing later is read, to the bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "gsa/stack.h"
#include "tests/topologies/bpt_naive.h"

enum { HIDDEN = 6, HEADS = 2, WIDTH = 4, INNER = 10, LAYERS = 2 };
static const int32_t lengths[] = { 1, 2, 3, 0, 5, 8, 17 };
enum { COUNT = 7, TOKENS = 36, CELLS = TOKENS * HIDDEN };
static const char *const variants[] = { "fixed", "reference", "paper" };

typedef struct rig {
    bench b;
    gsa_registry *registry;
    gsa_stack *stack;
    gsa_stack_batch *batch;
} rig;

/* Every parameter gets numbers by its name, gains and biases too. */
static void fill(rig *r)
{
    for (int p = 0; p < gsa_parameters_count(r->b.parameters); p++) {
        gsa_parameter *x = gsa_parameters_at(r->b.parameters, p);
        const int64_t count = x->value.rows * x->value.cols;
        gsa_dice dice = { 5 };
        for (const char *c = x->name; *c; c++) dice.state = dice.state * 31 + (unsigned char)*c;
        double *values = malloc((size_t)count * sizeof *values);
        for (int64_t i = 0; i < count; i++)
            values[i] = 0.6 * gsa_normal(&dice) + (strstr(x->name, "gain") != NULL);
        MUST(&r->b, gsa_tensor_write(r->b.backend, &x->value, values, &r->b.error));
        free(values);
    }
}

static rig rig_of(const char *text, int real)
{
    rig r = { .b = bench_open(NULL, real) };
    gsa_settings settings = gsa_settings_default();
    settings.hidden = HIDDEN, settings.heads = HEADS, settings.head_dim = WIDTH,
    settings.ffn = INNER;
    gsa_stack_spec spec;
    const gsa_stack_options options = { .name = "encoder",
                                        .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY };
    MUST(&r.b, gsa_registry_create(NULL, &r.registry, &r.b.error));
    MUST(&r.b, gsa_spec_parse(NULL, text, &spec, &r.b.error));
    MUST(&r.b, gsa_stack_create(NULL, r.registry, &spec, &settings, &options, r.b.parameters,
                                &r.stack, &r.b.error));
    MUST(&r.b, gsa_stack_batch_create(r.stack, &r.batch, &r.b.error));
    gsa_spec_release(&spec);
    fill(&r);
    return r;
}

static rig bpt_rig(int64_t k, int causal, int variant, int prune, int real)
{
    char text[128];
    snprintf(text, sizeof text, "bpt:k=%d:causal=%d:clip=2:variant=%s:prune=%d*%d", (int)k, causal,
             variants[variant], prune, (int)LAYERS);
    return rig_of(text, real);
}

static void rig_close(rig *r)
{
    gsa_stack_batch_release(r->batch);
    gsa_stack_release(r->stack);
    gsa_registry_release(r->registry);
    bench_close(&r->b);
}

static void run(rig *r, const int32_t *length, int32_t count, const double *rows, double *sequence,
                double *summary)
{
    int64_t tokens = 0;
    gsa_readout out;
    for (int32_t i = 0; i < count; i++) tokens += length[i];
    MUST(&r->b,
         gsa_stack_batch_build(r->batch, NULL, NULL,
                               &(gsa_sequences){ .count = count, .length = length }, &r->b.error));
    gsa_tape_reset(r->b.tape, 0, 1, 1);
    gsa_stack_forward(r->stack, r->b.tape, r->batch,
                      gsa_tape_constant(r->b.tape, rows, GSA_F64, tokens, HIDDEN), NULL, &out);
    MUST(&r->b, gsa_tape_status(r->b.tape, &r->b.error));
    MUST(&r->b, gsa_tensor_read(r->b.backend, out.sequence, 0, sequence, &r->b.error));
    if (summary) MUST(&r->b, gsa_tensor_read(r->b.backend, out.summary, 0, summary, &r->b.error));
}

static void draw_rows(double *rows, int count, uint64_t seed)
{
    gsa_dice dice = { seed };
    for (int i = 0; i < count; i++) rows[i] = gsa_normal(&dice);
}

/* ---- the paper's equations ----------------------------------------------------------------- */

static double *weights(const rig *r, int layer, const char *leaf)
{
    char name[96];
    snprintf(name, sizeof name, "encoder.0.%d.%s", layer, leaf);
    const gsa_parameter *p = gsa_parameters_find(r->b.parameters, name);
    ck_assert_msg(p != NULL, "no parameter %s", name);
    double *values = malloc((size_t)(p->value.rows * p->value.cols) * sizeof *values);
    ck_assert_int_eq(gsa_tensor_read(r->b.backend, &p->value, 0, values, NULL), GSA_OK);
    return values;
}

static void times(double *y, const double *w, const double *x, int out, int in) /* y = W x */
{
    for (int o = 0; o < out; o++) {
        y[o] = 0;
        for (int i = 0; i < in; i++) y[o] += w[o * in + i] * x[i];
    }
}

static void norm(double *x, const double *gain, const double *bias)
{
    double mean = 0, var = 0;
    for (int i = 0; i < HIDDEN; i++) mean += x[i] / HIDDEN;
    for (int i = 0; i < HIDDEN; i++) var += (x[i] - mean) * (x[i] - mean) / HIDDEN;
    for (int i = 0; i < HIDDEN; i++) x[i] = (x[i] - mean) / sqrt(var + 1e-6) * gain[i] + bias[i];
}

enum {
    Q,
    K,
    V,
    O,
    LABELS,
    GAIN,
    BIAS,
    UP,
    UP_BIAS,
    DOWN,
    DOWN_BIAS,
    FFN_GAIN,
    FFN_BIAS,
    N_WEIGHTS
};
static const char *const leaves[N_WEIGHTS] = {
    "attend.q.weight",       "attend.k.weight",  "attend.v.weight",  "attend.o.weight",
    "attend.labels.vectors", "attend.norm.gain", "attend.norm.bias", "ffn.up.weight",
    "ffn.up.bias",           "ffn.down.weight",  "ffn.down.bias",    "ffn.norm.gain",
    "ffn.norm.bias"
};

/* Equation 13 for one node u: heads of softmax(Q (K + R)^T / sqrt(d)) V over its in-edges, then
 * W^O. */
static void attend(double **w, const double *h, const bpt_edge *edge, const int64_t *from,
                   int64_t count, const double *u, double *out)
{
    double q[HEADS * WIDTH], k[HEADS * WIDTH], v[HEADS * WIDTH], mixed[HEADS * WIDTH] = { 0 };
    times(q, w[Q], u, HEADS * WIDTH, HIDDEN);
    for (int head = 0; head < HEADS; head++) {
        double total = 0, sum[WIDTH] = { 0 };
        for (int64_t e = 0; e < count; e++) {
            double logit = 0;
            times(k, w[K], h + from[e] * HIDDEN, HEADS * WIDTH, HIDDEN);
            times(v, w[V], h + from[e] * HIDDEN, HEADS * WIDTH, HIDDEN);
            for (int c = 0; c < WIDTH; c++)
                logit += q[head * WIDTH + c] *
                         (k[head * WIDTH + c] + w[LABELS][edge[e].label * WIDTH + c]);
            const double p = exp(logit / sqrt(WIDTH));
            total += p;
            for (int c = 0; c < WIDTH; c++) sum[c] += p * v[head * WIDTH + c];
        }
        for (int c = 0; c < WIDTH; c++) mixed[head * WIDTH + c] = sum[c] / total;
    }
    times(out, w[O], mixed, HIDDEN, HEADS * WIDTH);
}

/* Algorithm 2, lines 2 and 3: Z = norm(H + GSA(H)), H = norm(Z + FFN(Z)) */
static void finish_node(double **w, const double *h, double *z)
{
    double inner[INNER], y[HIDDEN];
    for (int c = 0; c < HIDDEN; c++) z[c] += h[c];
    norm(z, w[GAIN], w[BIAS]);
    times(inner, w[UP], z, INNER, HIDDEN);
    for (int c = 0; c < INNER; c++) inner[c] = fmax(inner[c] + w[UP_BIAS][c], 0);
    times(y, w[DOWN], inner, HIDDEN, INNER);
    for (int c = 0; c < HIDDEN; c++) z[c] += y[c] + w[DOWN_BIAS][c];
    norm(z, w[FFN_GAIN], w[FFN_BIAS]);
}

static int64_t node_at(int64_t n, int level, int64_t place)
{
    for (int below = 0; below < level; below++) place += bpt_naive_size(n, below);
    return place;
}

/* h [nodes, HIDDEN], level by level: the tokens' rows at first, every node's at last; returns the
 * number of nodes. */
static int64_t bpt_equations(const rig *r, const bpt_shape *shape, double *h)
{
    const int64_t n = shape->n, nodes = n ? node_at(n, bpt_naive_depth(n), 0) : 0;
    bpt_list list = { 0 };
    bpt_naive(&list, shape);
    int64_t *from = malloc(((size_t)list.count + 1) * sizeof *from);
    double *z = malloc(((size_t)nodes * HIDDEN + 1) * sizeof *z), *w[N_WEIGHTS];
    for (int64_t e = 0; e < list.count; e++)
        from[e] = node_at(n, list.edges[e].from_level, list.edges[e].from);
    for (int64_t i = n * HIDDEN; i < nodes * HIDDEN; i++) h[i] = 0;
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < N_WEIGHTS; i++) w[i] = weights(r, layer, leaves[i]);
        for (int64_t e = 0, end; e < list.count; e = end) {
            const bpt_edge *first = &list.edges[e];
            const int64_t to = node_at(n, first->to_level, first->to);
            for (end = e; end < list.count && list.edges[end].to_level == first->to_level &&
                          list.edges[end].to == first->to;)
                end++;
            attend(w, h, first, from + e, end - e, h + to * HIDDEN, z + to * HIDDEN);
        }
        for (int64_t u = 0; u < nodes; u++) finish_node(w, h + u * HIDDEN, z + u * HIDDEN);
        memcpy(h, z, (size_t)(nodes * HIDDEN) * sizeof *h);
        for (int i = 0; i < N_WEIGHTS; i++) free(w[i]);
    }
    free(z);
    free(from);
    bpt_naive_release(&list);
    return nodes;
}

START_TEST(bpt_is_the_papers_equations)
{
    const int causal = _i % 2, variant = _i / 2 % 3, k = _i / 6 ? 3 : 1;
    rig r = bpt_rig(k, causal, variant, 0, GSA_F64);
    double rows[CELLS], sequence[CELLS], summary[COUNT * HIDDEN], h[64 * HIDDEN];
    draw_rows(rows, CELLS, 21);
    run(&r, lengths, COUNT, rows, sequence, summary);
    int at = 0;
    for (int e = 0; e < COUNT; at += lengths[e++] * HIDDEN) {
        memcpy(h, rows + at, (size_t)(lengths[e] * HIDDEN) * sizeof *h);
        const int64_t nodes =
            bpt_equations(&r, &(bpt_shape){ lengths[e], k, 2, causal, variant }, h);
        ck_assert_int_eq(gsa_differ("tokens", sequence + at, h, lengths[e] * HIDDEN, 1e-12, 1e-12),
                         0);
        if (nodes == 0) continue; /* the last node is the root; of one token the token itself */
        ck_assert_int_eq(gsa_differ("root", summary + e * HIDDEN, h + (nodes - 1) * HIDDEN, HIDDEN,
                                    1e-12, 1e-12),
                         0);
    }
    rig_close(&r);
}
END_TEST

/* ---- full attention ------------------------------------------------------------------------ */

/* Weights by equal names; the vector of distance j - i (full: + clip) is the one of left or right t
 * at level 0. */
static void take_weights(rig *full, const rig *bpt, int clip)
{
    for (int p = 0; p < gsa_parameters_count(full->b.parameters); p++) {
        gsa_parameter *to = gsa_parameters_at(full->b.parameters, p);
        const gsa_parameter *from = gsa_parameters_find(bpt->b.parameters, to->name);
        ck_assert_msg(from != NULL, "%s", to->name);
        const int64_t cols = to->value.cols;
        double *source = malloc((size_t)(from->value.rows * cols) * sizeof *source);
        double *target = malloc((size_t)(to->value.rows * cols) * sizeof *target);
        MUST(&full->b, gsa_tensor_read(bpt->b.backend, &from->value, 0, source, &full->b.error));
        for (int64_t row = 0; row < to->value.rows; row++) {
            const int64_t distance = row - clip,
                          near = distance < 0 ? -2 * distance - 1 : 2 * distance;
            const int64_t take = strstr(to->name, "labels") ? near : row;
            memcpy(target + row * cols, source + take * cols, (size_t)cols * sizeof *target);
        }
        MUST(&full->b, gsa_tensor_write(full->b.backend, &to->value, target, &full->b.error));
        free(source);
        free(target);
    }
}

START_TEST(a_wide_step_is_full_attention_with_relative_positions)
{
    const int causal = _i % 2, variant = _i / 2 % 3, real = _i / 6 ? GSA_F32 : GSA_F64;
    const double close = real == GSA_F64 ? 1e-12 : 1e-5;
    double rows[CELLS], wide[CELLS], dense[CELLS];
    rig bpt = bpt_rig(17, causal, variant, 0, real),
        full = rig_of(causal ? "full:causal:clip=17*2" : "full:clip=17*2", real);
    take_weights(&full, &bpt, 17);
    draw_rows(rows, CELLS, 22);
    run(&bpt, lengths, COUNT, rows, wide, NULL);
    run(&full, lengths, COUNT, rows, dense, NULL);
    ck_assert_int_eq(gsa_differ("bpt against full", wide, dense, CELLS, close, close), 0);
    rig_close(&bpt);
    rig_close(&full);
}
END_TEST

/* ---- what a token must not see ------------------------------------------------------------- */
enum { LONG = 17 };

/* Which rows of the output change when input row `changed` does: bit i for row i. */
static uint32_t changed_rows(rig *r, const double *rows, const double *before, int changed)
{
    double other[LONG * HIDDEN], after[LONG * HIDDEN];
    const int32_t n = LONG;
    uint32_t differ = 0;
    memcpy(other, rows, sizeof other);
    for (int c = 0; c < HIDDEN; c++)
        other[changed * HIDDEN + c] = -3 * other[changed * HIDDEN + c] + 1;
    run(r, &n, 1, other, after, NULL);
    for (int i = 0; i < LONG; i++)
        if (memcmp(after + i * HIDDEN, before + i * HIDDEN, HIDDEN * sizeof *after) != 0)
            differ |= UINT32_C(1) << i;
    return differ;
}

/* Every token sees every allowed one within two layers, and no other: token t changes the rows from
 * t on, or all. */
START_TEST(no_earlier_output_changes_by_one_bit)
{
    const int causal = _i % 2, variant = _i / 2 % 3, prune = _i / 6 % 2,
              real = _i / 12 ? GSA_F32 : GSA_F64;
    const uint32_t all = (UINT32_C(1) << LONG) - 1;
    for (int k = 1; k <= 4; k += 3) {
        rig r = bpt_rig(k, causal, variant, prune, real);
        double rows[LONG * HIDDEN], before[LONG * HIDDEN];
        const int32_t n = LONG;
        draw_rows(rows, LONG * HIDDEN, 23);
        run(&r, &n, 1, rows, before, NULL);
        for (int t = 0; t < LONG; t++)
            ck_assert_uint_eq(changed_rows(&r, rows, before, t),
                              causal ? all & ~((UINT32_C(1) << t) - 1) : all);
        rig_close(&r);
    }
}
END_TEST

/* Prefix-stable: what a token becomes does not depend on how many follow, and so can be kept while
 * generating. */
START_TEST(a_prefix_gives_the_same_outputs)
{
    rig r = bpt_rig(2, 1, _i % 3, _i / 3, GSA_F64);
    double rows[LONG * HIDDEN], whole[LONG * HIDDEN], part[LONG * HIDDEN];
    draw_rows(rows, LONG * HIDDEN, 24);
    for (int32_t n = LONG; n > 0; n--) {
        run(&r, &n, 1, rows, n == LONG ? whole : part, NULL);
        if (n < LONG)
            ck_assert_int_eq(gsa_differ("prefix", part, whole, n * HIDDEN, 1e-13, 1e-13), 0);
    }
    rig_close(&r);
}
END_TEST

START_TEST(pruned_spans_change_nothing)
{
    const int causal = _i % 2, variant = _i / 2;
    double rows[CELLS], sequence[2][CELLS], summary[2][COUNT * HIDDEN];
    draw_rows(rows, CELLS, 25);
    for (int prune = 0; prune < 2; prune++) {
        rig r = bpt_rig(2, causal, variant, prune, GSA_F64);
        run(&r, lengths, COUNT, rows, sequence[prune], summary[prune]);
        rig_close(&r);
    }
    ck_assert_int_eq(gsa_differ("tokens", sequence[1], sequence[0], CELLS, 1e-13, 1e-13), 0);
    ck_assert_int_eq(gsa_differ("roots", summary[1], summary[0], COUNT * HIDDEN, 1e-13, 1e-13), 0);
}
END_TEST

static const gsa_test equation_tests[] = {
    GSA_LOOP(bpt_is_the_papers_equations, 12),
    GSA_LOOP(a_wide_step_is_full_attention_with_relative_positions, 12)
};
static const gsa_test causal_tests[] = { GSA_LOOP(no_earlier_output_changes_by_one_bit, 24),
                                         GSA_LOOP(a_prefix_gives_the_same_outputs, 6),
                                         GSA_LOOP(pruned_spans_change_nothing, 6) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("equations", equation_tests, 60),
                                      GSA_CASE("causal", causal_tests, 60) };
    return gsa_run_suite("bpt_equations", cases, GSA_COUNT(cases), argc, argv);
}
