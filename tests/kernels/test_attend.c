/* The attention kernel against masked dense attention (dense.c), and its invariants. */
#include "dense.h"
#include "op_cases.h"
#include "support/guard.h"
#include "support/suite.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gsa_backend *backend(int real)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_test_backend(NULL, real, 2, &b, &error) == GSA_OK, "%s", error.text);
    return b;
}

static const op_case *attend_case(void)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    ck_assert_str_eq(op->name, "attend");
    return op;
}

/* Forward and backward of a rig whose graph may already be made; everything compared with the
 * oracle. */
static void check(rig *r, const char *name)
{
    const op_case *op = attend_case();
    const int is_float = r->b->real == GSA_F32;
    const double nmse = is_float ? 1e-7 : 1e-20, per_row = is_float ? 1e-4 : 1e-10;
    op->setup(r);
    ck_assert_msg(op->forward(r) == GSA_OK, "%s: %s", name, r->b->error.text);
    ck_assert_msg(op->backward(r) == GSA_OK, "%s: %s", name, r->b->error.text);
    rig_fetch(r);
    op->oracle_backward(r); /* runs forward too */
    ck_assert_msg(rig_compare(r, name, 0, nmse, per_row) == 0, "%s: forward differs (see above)",
                  name);
    ck_assert_msg(rig_compare(r, name, 1, nmse, per_row) == 0, "%s: backward differs (see above)",
                  name);
    ck_assert_msg(rig_bands_touched(r) == 0, "%s: a guard band was touched", name);
    rig_end(r);
}

/* ---- 1,000 random graphs, in float and in double ------------------------------------------- */
enum { LOOPS = 10, GRAPHS = 100 };

START_TEST(equals_dense_attention)
{
    gsa_backend *backends[2] = { backend(GSA_F32), backend(GSA_F64) };
    for (int g = 0; g < GRAPHS; g++) {
        const uint64_t seed = (uint64_t)(_i * GRAPHS + g) * 7919 + 17;
        gsa_dice dice = { seed };
        const op_shape shape = { gsa_between(&dice, 1, gsa_between(&dice, 0, 3) ? 24 : 64),
                                 gsa_between(&dice, 1, 6), gsa_between(&dice, 1, 12),
                                 gsa_between(&dice, 1, 4), gsa_between(&dice, 0, 127) };
        op_shape safe;
        memcpy(safe, shape, sizeof safe);
        if ((safe[4] & 64) && !(safe[4] & 2))
            safe[4] &= ~INT64_C(64); /* -inf comes through label biases */
        for (int real = 0; real < 2; real++) {
            char name[96];
            rig r;
            snprintf(name, sizeof name, "graph %d, seed %llu, flags %d", _i * GRAPHS + g,
                     (unsigned long long)seed, (int)safe[4]);
            rig_begin(&r, backends[real], seed, RIG_RANDOM, safe);
            check(&r, name);
        }
    }
    gsa_backend_release(backends[0]);
    gsa_backend_release(backends[1]);
}
END_TEST

/* ---- every directed graph with at most three nodes ----------------------------------------- */
START_TEST(every_tiny_graph)
{
    gsa_backend *backends[2] = { backend(GSA_F32), backend(GSA_F64) };
    int graphs = 0;
    for (int n = 0; n <= 3; n++)
        for (int bits = 0; bits < 1 << (n * n); bits++, graphs++)
            for (int real = 0; real < 2; real++) {
                const op_shape shape = { n, 2, 3, 1, 3 };
                const int64_t part_rows[1] = { n };
                char name[64];
                rig r;
                snprintf(name, sizeof name, "%d nodes, adjacency %#x", n, (unsigned)bits);
                rig_begin(&r, backends[real], (uint64_t)bits, RIG_RANDOM, shape);
                edges_begin(&r.maker, 1, part_rows, 5);
                for (int u = 0; u < n; u++) {
                    edges_row(&r.maker, 0, u);
                    for (int v = 0; v < n; v++)
                        if (bits >> (u * n + v) & 1)
                            edges_run(&r.maker, (gsa_run){ v, 1, 1, (u + 2 * v) % 5, 0, 0 });
                }
                edges_done(&r.maker, 1, 1, NULL);
                rig_graph(&r);
                check(&r, name);
            }
    ck_assert_int_eq(graphs, 1 + 2 + 16 + 512);
    gsa_backend_release(backends[0]);
    gsa_backend_release(backends[1]);
}
END_TEST

/* ---- renaming nodes renames outputs -------------------------------------------------------- */
enum { HEADS = 3, DIM = 5, WIDTH = HEADS * DIM };

/* One example, one kind, rows = nodes; edges are (row, source, label) in `list`; order[i] is the
 * new name of node i. */
static void make_renamed(edges_maker *m, const edges_list *list, int64_t nodes,
                         const int64_t *order)
{
    int64_t *old = calloc((size_t)nodes + 1, sizeof *old);
    for (int64_t i = 0; i < nodes; i++) old[order[i]] = i;
    edges_begin(m, 1, &nodes, 5);
    for (int64_t row = 0; row < nodes; row++) {
        edges_row(m, 0, (int32_t)row);
        for (int64_t e = 0; e < list->total; e++)
            if (list->row[e] == old[row])
                edges_run(m,
                          (gsa_run){ (int32_t)order[list->source[e]], 1, 1, list->label[e], 0, 0 });
    }
    edges_done(m, 1, 1, NULL);
    free(old);
}

typedef struct tensors {
    double *q, *k, *v, *out, *lse, *dout, *dq, *dk, *dv;
} tensors;

static double *doubles(int64_t count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

static tensors new_tensors(int64_t n)
{
    return (tensors){ doubles(n * WIDTH), doubles(n * WIDTH), doubles(n * WIDTH),
                      doubles(n * WIDTH), doubles(n * HEADS), doubles(n * WIDTH),
                      doubles(n * WIDTH), doubles(n * WIDTH), doubles(n * WIDTH) };
}

static void free_tensors(tensors *t)
{
    double *all[] = { t->q, t->k, t->v, t->out, t->lse, t->dout, t->dq, t->dk, t->dv };
    for (int i = 0; i < GSA_COUNT(all); i++) free(all[i]);
}

static void attend(const gsa_edges *edges, tensors *t, const double *r, const double *bias)
{
    gsa_backend *b = NULL;
    const gsa_part part[GSA_MAX_KINDS] = { { t->k, t->v, t->dk, t->dv } };
    const gsa_attend_args args = { .edges = edges,
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .scale = 0.5,
                                   .q = t->q,
                                   .parts = part,
                                   .label_vectors = r,
                                   .label_bias = bias,
                                   .out = t->out,
                                   .lse = t->lse,
                                   .dout = t->dout,
                                   .dq = t->dq };
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &b, NULL), GSA_OK);
    ck_assert_int_eq(b->attend_forward(b, &args), GSA_OK);
    ck_assert_int_eq(b->attend_backward(b, &args), GSA_OK);
    gsa_backend_release(b);
}

static void permute(double *to, const double *from, const int64_t *order, int64_t nodes)
{
    for (int64_t i = 0; i < nodes; i++)
        memcpy(to + order[i] * WIDTH, from + i * WIDTH, WIDTH * sizeof(double));
}

START_TEST(renaming_nodes_renames_outputs)
{
    gsa_dice dice = { 77 + (uint64_t)_i };
    const int64_t n = gsa_between(&dice, 1, 40), many = gsa_between(&dice, 0, 6 * n);
    int64_t *order = calloc((size_t)n, sizeof *order), *same = calloc((size_t)n, sizeof *same);
    double table[5 * WIDTH], *renamed = doubles(n * WIDTH);
    edges_list list = { many,
                        calloc((size_t)many + 1, 8),
                        NULL,
                        calloc((size_t)many + 1, 4),
                        calloc((size_t)many + 1, 4),
                        NULL };
    edges_maker plain, other;
    tensors a = new_tensors(n), b = new_tensors(n);
    for (int64_t i = 0; i < n; i++) order[i] = same[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = gsa_between(&dice, 0, i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int64_t e = 0; e < many; e++) {
        list.row[e] = gsa_between(&dice, 0, n - 1);
        list.source[e] = (int32_t)gsa_between(&dice, 0, n - 1);
        list.label[e] = (int32_t)gsa_between(&dice, 0, 4);
    }
    for (int i = 0; i < 5 * WIDTH; i++) table[i] = gsa_normal(&dice);
    for (int64_t i = 0; i < n * WIDTH; i++)
        a.q[i] = gsa_normal(&dice), a.k[i] = gsa_normal(&dice), a.v[i] = gsa_normal(&dice),
        a.dout[i] = gsa_normal(&dice);
    permute(b.q, a.q, order, n);
    permute(b.k, a.k, order, n);
    permute(b.v, a.v, order, n);
    permute(b.dout, a.dout, order, n);
    make_renamed(&plain, &list, n, same);
    make_renamed(&other, &list, n, order);
    attend(&plain.view, &a, table, table);
    attend(&other.view, &b, table, table);
    permute(renamed, a.out, order, n);
    ck_assert_msg(memcmp(renamed, b.out, (size_t)(n * WIDTH) * sizeof(double)) == 0,
                  "outputs: other bits");
    permute(renamed, a.dq, order, n);
    ck_assert_msg(memcmp(renamed, b.dq, (size_t)(n * WIDTH) * sizeof(double)) == 0,
                  "dq: other bits");
    permute(renamed, a.dk, order, n); /* summed over rows in another order */
    ck_assert_int_eq(gsa_differ("dk", b.dk, renamed, n * WIDTH, 1e-12, 1e-12), 0);
    permute(renamed, a.dv, order, n);
    ck_assert_int_eq(gsa_differ("dv", b.dv, renamed, n * WIDTH, 1e-12, 1e-12), 0);
    edges_free(&plain);
    edges_free(&other);
    edges_list_free(&list);
    free_tensors(&a);
    free_tensors(&b);
    free(order);
    free(same);
    free(renamed);
}
END_TEST

/* ---- weights; heads as rows ---------------------------------------------------------------- */
START_TEST(weights_of_a_row_sum_to_one)
{
    const op_shape shape = { 60, 5, 4, 3, 8 };
    gsa_backend *b = backend(GSA_F32);
    rig r;
    rig_begin(&r, b, 31, RIG_RANDOM, shape);
    attend_case()->setup(&r);
    ck_assert_int_eq(attend_case()->forward(&r), GSA_OK);
    rig_fetch(&r);
    const gsa_edges *e = &r.maker.view;
    const double *weights = r.t[rig_find(&r, "weights")].data.value;
    int64_t rows = 0;
    for (int64_t row = 0; row < e->rows; row++)
        for (int h = 0; h < 5 && e->edge_offset[row + 1] > e->edge_offset[row]; h++, rows++) {
            double sum = 0;
            for (int64_t k = e->edge_offset[row]; k < e->edge_offset[row + 1]; k++)
                sum += weights[k * 5 + h];
            ck_assert_double_le(fabs(sum - 1), 1e-5);
        }
    ck_assert_int_ge((int)rows, 100);
    rig_end(&r);
    gsa_backend_release(b);
}
END_TEST

/* (rows, heads) is the same memory as (rows x heads, one head) when row and source indices are node
 * x heads + head. */
START_TEST(heads_are_rows)
{
    enum { N = 9 };
    gsa_dice dice = { 8 };
    const int64_t nodes = N, finer = N * HEADS;
    edges_maker coarse, fine;
    tensors a = new_tensors(N), b = new_tensors(N);
    for (int64_t i = 0; i < N * WIDTH; i++)
        b.q[i] = a.q[i] = gsa_normal(&dice), b.k[i] = a.k[i] = gsa_normal(&dice),
        b.v[i] = a.v[i] = gsa_normal(&dice), b.dout[i] = a.dout[i] = gsa_normal(&dice);
    edges_begin(&coarse, 1, &nodes, 0);
    edges_begin(&fine, 1, &finer, 0);
    for (int32_t u = 0; u < N; u++) {
        edges_row(&coarse, 0, u);
        if (u > 0) edges_run(&coarse, (gsa_run){ .first = 0, .count = u, .step = 1 });
        for (int32_t h = 0; h < HEADS; h++) {
            edges_row(&fine, 0, u * HEADS + h);
            if (u > 0) edges_run(&fine, (gsa_run){ .first = h, .count = u, .step = HEADS });
        }
    }
    edges_done(&coarse, 1, 1, NULL);
    edges_done(&fine, 1, 1, NULL);
    attend(&coarse.view, &a, NULL, NULL);
    const gsa_part part[GSA_MAX_KINDS] = { { b.k, b.v, b.dk, b.dv } };
    const gsa_attend_args args = { .edges = &fine.view,
                                   .heads = 1,
                                   .head_dim = DIM,
                                   .scale = 0.5,
                                   .q = b.q,
                                   .parts = part,
                                   .out = b.out,
                                   .lse = b.lse,
                                   .dout = b.dout,
                                   .dq = b.dq };
    gsa_backend *ref = NULL;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &ref, NULL), GSA_OK);
    ck_assert_int_eq(ref->attend_forward(ref, &args), GSA_OK);
    ck_assert_int_eq(ref->attend_backward(ref, &args), GSA_OK);
    ck_assert(memcmp(a.out, b.out, sizeof(double) * N * WIDTH) == 0 &&
              memcmp(a.lse, b.lse, sizeof(double) * N * HEADS) == 0);
    ck_assert(memcmp(a.dq, b.dq, sizeof(double) * N * WIDTH) == 0 &&
              memcmp(a.dk, b.dk, sizeof(double) * N * WIDTH) == 0);
    gsa_backend_release(ref);
    edges_free(&coarse);
    edges_free(&fine);
    free_tensors(&a);
    free_tensors(&b);
}
END_TEST

/* ---- limits: a hub of 100,000 edges, empty and masked rows, NaN, scores that would overflow exp
 * ---- */
typedef struct small {
    edges_maker maker;
    gsa_part part[GSA_MAX_KINDS];
    gsa_attend_args args;
    gsa_backend *b;
} small;

static void run_small(small *s, int64_t nodes, float *q, float *k, float *v, float *out, float *lse)
{
    s->part[0] = (gsa_part){ .k = k, .v = v };
    s->args = (gsa_attend_args){ .edges = &s->maker.view,
                                 .heads = 1,
                                 .head_dim = 1,
                                 .scale = 1,
                                 .q = q,
                                 .parts = s->part,
                                 .out = out,
                                 .lse = lse };
    edges_begin(&s->maker, 1, &nodes, 0);
    edges_row(&s->maker, 0, 0);
    if (nodes > 0)
        edges_run(&s->maker, (gsa_run){ .first = 0, .count = (int32_t)nodes, .step = 1 });
    edges_row(&s->maker, 0, 1);
    edges_done(&s->maker, 1, 1, NULL);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &s->b, NULL), GSA_OK);
    ck_assert_int_eq(s->b->attend_forward(s->b, &s->args), GSA_OK);
}

static void end_small(small *s)
{
    gsa_backend_release(s->b);
    edges_free(&s->maker);
}

START_TEST(a_hub_of_100000_edges)
{
    enum { N = 100000 };
    static float k[N], v[N];
    float q[2] = { 1, 1 }, out[2], lse[2];
    double sum = 0, mean = 0;
    gsa_dice dice = { 3 };
    small s;
    for (int i = 0; i < N; i++) {
        k[i] = (float)gsa_normal(&dice);
        v[i] = (float)gsa_unit(&dice);
        sum += exp((double)k[i]);
        mean += exp((double)k[i]) * (double)v[i];
    }
    run_small(&s, N, q, k, v, out, lse);
    ck_assert_double_le(fabs((double)out[0] - mean / sum), 1e-6);
    ck_assert_double_le(fabs((double)lse[0] - log(sum)), 1e-5);
    ck_assert(out[1] == 0 && isinf(lse[1]) && lse[1] < 0); /* the empty row */
    end_small(&s);
}
END_TEST

START_TEST(large_masked_and_nan_scores)
{
    float q[2] = { 1, 1 }, v[3] = { 1, 2, 3 }, out[2], lse[2], inf = INFINITY;
    float rows[][3] = { { 10000, 10000, -10000 },
                        { -inf, -inf, -inf },
                        { -inf, 5, -inf },
                        { 1, NAN, 2 },
                        { NAN, -inf, -inf } };
    const float want[] = { 1.5f, 0, 2, NAN, NAN }, want_lse[] = { 10000.693f, -inf, 5, NAN, NAN };
    for (int i = 0; i < GSA_COUNT(want); i++) {
        float dout[2] = { 1, 1 }, dq[2] = { 0 }, dk[3] = { 0 }, dv[3] = { 0 };
        small s;
        run_small(&s, 3, q, rows[i], v, out, lse);
        ck_assert_msg(out[0] == want[i] || (isnan(out[0]) && isnan(want[i])), "row %d: out %g", i,
                      (double)out[0]);
        ck_assert_msg(lse[0] == want_lse[i] || (isnan(lse[0]) && isnan(want_lse[i])),
                      "row %d: lse %g", i, (double)lse[0]);
        s.part[0].dv = dv;
        s.part[0].dk = dk;
        s.args.dout = dout;
        s.args.dq = dq;
        ck_assert_int_eq(s.b->attend_backward(s.b, &s.args), GSA_OK);
        for (int j = 0; j < 3; j++)
            if (i == 1) ck_assert(dv[j] == 0 && dk[j] == 0);
            else if (i >= 3) ck_assert(isnan(dv[j]));
            else ck_assert(isfinite(dv[j]));
        ck_assert(dq[1] == 0);
        end_small(&s);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test dense[] = { GSA_LOOP(equals_dense_attention, LOOPS) };
    static const gsa_test tiny[] = { GSA_TEST(every_tiny_graph) };
    static const gsa_test permutation[] = { GSA_LOOP(renaming_nodes_renames_outputs, 50) };
    static const gsa_test weights[] = { GSA_TEST(weights_of_a_row_sum_to_one),
                                        GSA_TEST(heads_are_rows) };
    static const gsa_test limits[] = { GSA_TEST(a_hub_of_100000_edges),
                                       GSA_TEST(large_masked_and_nan_scores) };
    static const gsa_case cases[] = { GSA_CASE("dense", dense, 120), GSA_CASE("tiny", tiny, 120),
                                      GSA_CASE("permutation", permutation, 60),
                                      GSA_CASE("weights", weights, 30),
                                      GSA_CASE("limits", limits, 30) };
    return gsa_run_suite("attend", cases, GSA_COUNT(cases), argc, argv);
}
