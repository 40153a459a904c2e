/* Format `ell` of the cpu backend (kernels/cpu/attention/ell.h): short rows whose sources are
 * anywhere, at random, against the oracle; and rows of one edge by hand. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"
#include "support/thin.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 40, LABELS = 5, LEVELS = 4 };
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };
static int32_t below(gsa_dice *dice, int64_t end)
{
    return (int32_t)gsa_between(dice, 0, end - 1);
}

/* A row of 0 to 68 edges, most of them few, as single sources or short runs of two kinds; sources
 * come twice. */
static void make_row(edges_maker *maker, gsa_dice *dice, int32_t example)
{
    const int32_t most = below(dice, 8) ? 4 : 69;
    for (int32_t left = below(dice, most); left > 0;) {
        const int32_t count = left > 1 && below(dice, 3) == 0 ? 2 : 1;
        edges_run(maker, (gsa_run){ example * NODES + 2 + below(dice, NODES - 4), count,
                                    below(dice, 5) - 2, below(dice, LABELS - 1),
                                    count > 1 ? below(dice, 2) : 0, below(dice, 2) });
        left -= count;
    }
}

static void make_rows(rig *r, gsa_dice *dice, int32_t examples, int32_t rows)
{
    const int64_t part_rows[2] = { (int64_t)examples * NODES, (int64_t)examples * NODES };
    int64_t first[8] = { 0 };
    edges_begin(&r->maker, 2, part_rows, LABELS);
    for (int32_t e = 0; e < examples; e++) {
        for (int32_t row = 0; row < rows; row++) {
            edges_row(&r->maker, e, row);
            make_row(&r->maker, dice, e);
        }
        first[e + 1] = first[e] + rows;
    }
    edges_done(&r->maker, examples, 1, first);
    rig_graph(r);
}

static const int dims[] = { 1, 3, 8, 10, 15, 16, 17, 32, 33, 50, 64, 65, 100, 128, 200, 256 };

static void check_one(int at, int dim, int flags, int seed)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, 1 + seed % 11, dim, 1, flags };
    char name[96];
    gsa_backend *b;
    gsa_dice dice = { (uint64_t)(100 * seed + dim) };
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1 + seed % 3, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, seed %d", b->name, dim, flags, seed);
    rig_begin(&r, b, (uint64_t)seed, RIG_RANDOM, shape);
    make_rows(&r, &dice, 3, 5 + (seed * 5 + dim) % 40);
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    static const int flags[] = {
        0, 1, 2, 3, 4, 7, 32, 66
    }; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
    for (int at = 0; at < LEVELS; at++)
        for (int f = _i % GSA_THIN(2); f < GSA_COUNT(flags) && gsa_cpu_has(level[at]);
             f += GSA_THIN(2))
            check_one(at, dims[_i], flags[f], 10 * f + (f + _i) % 3);
    for (int at = 0; at < LEVELS; at++)
        if (gsa_cpu_has(level[at]))
            check_one(at, dims[_i], 0, 3), check_one(at, dims[_i], 0, 7); /* 4 and 8 heads */
}
END_TEST

/* ---- rows of one edge by hand -------------------------------------------------------------- */

enum { HEADS = 6, DIM = 20, WIDTH = HEADS * DIM };

static const struct {
    const char *name;
    float q, k, v, dout,
        bias; /* the first number of head 1 of the row, of its source; and the bias of that head */
    int out, dq, dk, dv; /* of head 1: 0 is 0 all over, 1 is finite and not 0, 2 is NaN where the
                            bad number is, 3 NaN all over */
} singles[] = {
    { "finite", 1, 1, 1, 1, 0, 1, 0, 0, 1 },
    { "query NaN", NAN, 1, 1, 1, 0, 3, 3, 3, 3 },
    { "query infinite", INFINITY, 1, 1, 1, 0, 3, 3, 3, 3 },
    { "key NaN", 1, NAN, 1, 1, 0, 3, 3, 3, 3 },
    { "value NaN", 1, 1, NAN, 1, 0, 2, 3, 3, 1 },
    { "value infinite", 1, 1, INFINITY, 1, 0, 1, 3, 3, 1 },
    { "gradient NaN", 1, 1, 1, NAN, 0, 1, 3, 3, 2 },
    { "score -inf", 1, 1, 1, 1, -INFINITY, 0, 0, 0, 0 },
    { "score -inf, value infinite", 1, 1, INFINITY, 1, -INFINITY, 0, 0, 0, 0 },
};

static void check_plane(const char *name, const char *plane, const float *x, int dim, int what)
{
    for (int i = 0; i < dim; i++) {
        const int is_nan = isnan(x[i]) != 0, wanted = what == 3 || (what == 2 && i == 0);
        ck_assert_msg(is_nan == wanted && (what != 0 || x[i] == 0) && (what != 1 || x[i] != 0),
                      "%s: %s[%d] is %g", name, plane, i, (double)x[i]);
    }
}

/* Six rows of one edge each, of which row 2 is the table's. Heads of whole vectors, by fours and
 * without a bias, are cut otherwise. */
static void run_single(int at, int i, int heads, int dim)
{
    enum { SINGLES = 6 };
    static float q[SINGLES * WIDTH], k[SINGLES * WIDTH], v[SINGLES * WIDTH], dout[SINGLES * WIDTH],
        out[SINGLES * WIDTH], lse[SINGLES * HEADS], bias[2 * HEADS], dq[SINGLES * WIDTH],
        dk[SINGLES * WIDTH], dv[SINGLES * WIDTH];
    const int64_t part_rows[1] = { SINGLES };
    const int width = heads * dim, bad = 2 * width + dim,
              other = 4 * width + dim; /* row 2 reads source 4 */
    rig r = level_rig(level[at], 1);
    for (int j = 0; j < SINGLES * WIDTH; j++)
        q[j] = k[j] = v[j] = dout[j] = 0.25f, dq[j] = dk[j] = dv[j] = 0;
    q[bad] = singles[i].q, dout[bad] = singles[i].dout, k[other] = singles[i].k,
    v[other] = singles[i].v;
    bias[heads + 1] = singles[i].bias;
    edges_begin(&r.maker, 1, part_rows, 2);
    for (int32_t row = 0; row < SINGLES; row++) {
        edges_row(&r.maker, 0, row);
        edges_run(&r.maker, (gsa_run){ row * 2 % SINGLES + (row > 2), 1, 1, row == 2, 0, 0 });
    }
    edges_done(&r.maker, 1, 1, NULL);
    rig_graph(&r);
    const gsa_part parts[GSA_MAX_KINDS] = { { k, v, dk, dv } };
    gsa_attend_args args = {
        .edges = &r.device, .heads = heads, .head_dim = dim, .scale = 0.3, .q = q, .parts = parts
    };
    args.out = out, args.lse = lse,
    args.label_bias = dim % 16 == 0 && singles[i].bias == 0 ? NULL : bias;
    ck_assert_int_eq(r.b->attend_forward(r.b, &args), GSA_OK);
    args.dout = dout, args.dq = dq;
    ck_assert_int_eq(r.b->attend_backward(r.b, &args), GSA_OK);
    check_plane(singles[i].name, "out", out + bad, dim, singles[i].out);
    check_plane(singles[i].name, "dq", dq + bad, dim, singles[i].dq);
    check_plane(singles[i].name, "dk", dk + other, dim, singles[i].dk);
    check_plane(singles[i].name, "dv", dv + other, dim, singles[i].dv);
    check_plane("another row", "out", out + 3 * width + dim, dim, 1);
    check_plane("another row", "dq", dq + 3 * width + dim, dim, 0);
    check_plane("another head", "dv", dv + 4 * width, dim, 1);
    level_rig_end(&r);
}

START_TEST(one_edge)
{
    for (int at = 0; at < LEVELS; at++)
        if (gsa_cpu_has(level[at]))
            run_single(at, _i, HEADS, DIM), run_single(at, _i, 4, 16), run_single(at, _i, 4, 24);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(dims)) };
    static const gsa_test one[] = { GSA_LOOP(one_edge, GSA_COUNT(singles)) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 120),
                                      GSA_CASE("singles", one, 60) };
    return gsa_run_suite("cpu_ell", cases, GSA_COUNT(cases), argc, argv);
}
