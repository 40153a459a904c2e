/* Strips of the cpu backend's tiles (kernels/cpu/attention/bcsr.h): rows that read some of their
 * sources in common, at random, by labels that rows share and that they do not, against the oracle;
 * that neither threads nor batching change a bit, forward and backward; and that what is not finite
 * stays with the rows that read it. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"
#include "support/thin.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 120, ROWS = 37, LABELS = 5, LEVELS = 4 };
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };
static const int dims[] = { 1, 3, 8, 10, 16, 17, 33, 48, 50, 63, 64, 65, 100, 128, 200, 256 };

/* How sparse rows are, in per cent, and how edges are labelled. */
enum {
    COMMON,
    DIAGONAL,
    MIXED,
    ANY,
    SHARED /* by some of four rows that follow one another, in all eight ways */
};
static const struct {
    int density, labels;
} kinds[] = { { 35, COMMON }, { 35, MIXED }, { 45, DIAGONAL }, { 60, MIXED },
              { 60, ANY },    { 80, MIXED }, { 55, SHARED } };

static int32_t label_of(int how, int32_t column, int32_t row, gsa_dice *dice)
{
    if (how == MIXED) how = column % 3;
    if (how == COMMON) return column % LABELS;
    if (how == SHARED)
        return (column / 8 + __builtin_popcount((unsigned)column % 8 & ((1u << row % 4) - 1))) %
               LABELS;
    return how == DIAGONAL ? (column + LABELS * ROWS - row) % LABELS
                           : (int32_t)gsa_between(dice, 0, LABELS - 1);
}

/* Rows of four read most of a column or nothing of it; ranges of columns are apart and are of two
 * kinds. */
static void make_rows(edges_maker *m, gsa_dice *dice, int which, int32_t e)
{
    for (int32_t row = 0; row < ROWS; row++) {
        gsa_dice fours = { (uint64_t)(1000 * which + row / 4) };
        edges_row(m, e, row);
        for (int32_t c = 0; c < NODES; c++) {
            const int32_t read = (int32_t)gsa_between(&fours, 0, 99),
                          label = label_of(kinds[which].labels, c, row, dice);
            if (c % 40 >= 33 || read >= kinds[which].density || gsa_between(dice, 0, 9) == 0)
                continue;
            edges_run(m, (gsa_run){ e * NODES + c, 1, 1, label, 0, c >= 60 });
        }
    }
}

static void make_edges(rig *r, uint64_t seed, int which, int32_t examples)
{
    const int64_t part_rows[2] = { (int64_t)examples * NODES, (int64_t)examples * NODES };
    int64_t *first = calloc((size_t)examples + 1, sizeof *first);
    ck_assert_ptr_nonnull(first);
    edges_begin(&r->maker, 2, part_rows, LABELS);
    for (int32_t e = 0; e < examples; e++) {
        gsa_dice dice = { seed };
        make_rows(&r->maker, &dice, which, e);
    }
    for (int32_t e = 0; e <= examples; e++) first[e] = (int64_t)e * ROWS;
    edges_done(&r->maker, examples, 1, first);
    free(first);
    rig_graph(r);
}

static void check_one(int at, int dim, int flags, int which)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, 1 + which, dim, 1, flags };
    char name[96];
    gsa_backend *b;
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, kind %d", b->name, dim, flags, which);
    rig_begin(&r, b, (uint64_t)which, RIG_RANDOM, shape);
    make_edges(&r, (uint64_t)(7 * which + flags), which, 2);
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    static const int flags[] = {
        0, 1, 2, 3, 5, 7, 67, 35
    }; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
    for (int at = 0; at < LEVELS; at++)
        for (int f = _i % GSA_THIN(2); f < GSA_COUNT(flags) && gsa_cpu_has(level[at]);
             f += GSA_THIN(2))
            check_one(at, dims[_i], flags[f], (_i + f / GSA_THIN(2)) % GSA_COUNT(kinds));
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------- */

enum {
    HEADS = 3,
    DIM = 50,
    WIDTH = HEADS * DIM,
    ONE = ROWS * WIDTH,
    PART = NODES * WIDTH,
    MOST = 24
};

typedef struct planes {
    float q[MOST * ONE], k[MOST * PART], v[MOST * PART], out[MOST * ONE], lse[MOST * ROWS * HEADS],
        dout[MOST * ONE];
    float dq[MOST * ONE], dk[2][MOST * PART], dv[2][MOST * PART], dr[LABELS * DIM],
        db[LABELS * HEADS];
    int reads[ROWS][NODES];
} planes;

/* What is not finite, and of which source or row. */
enum {
    NOTHING,
    OF_V,
    OF_K,
    OF_DOUT,
    TAINTS,
    LARGE = TAINTS /* scores, of queries a million times as large; do is 1 */
};
enum { TAINTED = 3 };

/* `examples` times the same numbers. */
static void fill(planes *x, int32_t examples, int taint)
{
    gsa_dice dice = { 5 };
    for (int i = 0; i < ONE; i++) x->q[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < PART; i++)
        x->k[i] = (float)gsa_normal(&dice), x->v[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < ONE; i++) x->dout[i] = (float)gsa_normal(&dice);
    float *const plane[] = { NULL, x->v, x->k, x->dout };
    for (int i = 0; taint == LARGE && i < ONE; i++) x->q[i] *= 1e6f, x->dout[i] = 1;
    if (taint && taint < TAINTS) plane[taint][TAINTED * WIDTH + 7] = INFINITY;
    for (int32_t e = 1; e < examples; e++) {
        memcpy(x->q + e * ONE, x->q, sizeof *x->q * ONE),
            memcpy(x->dout + e * ONE, x->dout, sizeof *x->q * ONE);
        memcpy(x->k + e * PART, x->k, sizeof *x->k * PART),
            memcpy(x->v + e * PART, x->v, sizeof *x->v * PART);
    }
    memset(x->dq, 0, sizeof x->dq), memset(x->dk, 0, sizeof x->dk), memset(x->dv, 0, sizeof x->dv);
    memset(x->dr, 0, sizeof x->dr), memset(x->db, 0, sizeof x->db);
}

static void note_reads(planes *x, const gsa_edges *e)
{
    memset(x->reads, 0, sizeof x->reads);
    for (int row = 0; row < ROWS; row++)
        for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++)
            x->reads[row][e->runs[i].first] = 1;
}

/* Both passes of `examples` copies, which must be equal to the first. */
static void attend(planes *x, int at, int threads, int32_t examples, int which, double drop,
                   int taint)
{
    static const int32_t id[MOST];
    static float vectors[LABELS * DIM], bias[LABELS * HEADS];
    gsa_dice dice = { 6 };
    rig r = level_rig(level[at], threads);
    gsa_cpu_formats formats;
    make_edges(&r, 11, which, examples);
    fill(x, examples, taint), note_reads(x, &r.device);
    for (int i = 0; i < LABELS * DIM; i++) vectors[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < LABELS * HEADS; i++) bias[i] = (float)gsa_normal(&dice);
    const gsa_part parts[GSA_MAX_KINDS] = { { x->k, x->v, x->dk[0], x->dv[0] },
                                            { x->v, x->k, x->dk[1], x->dv[1] } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .scale = 0.2,
                                   .dropout = { .p = drop, .seed = 3, .example_id = id },
                                   .q = x->q,
                                   .parts = parts,
                                   .label_vectors = vectors,
                                   .label_bias = bias,
                                   .out = x->out,
                                   .lse = x->lse,
                                   .dout = x->dout,
                                   .dq = x->dq,
                                   .dlabel_vectors = x->dr,
                                   .dlabel_bias = x->db };
    ck_assert(gsa_cpu_probe_of(level[at])->formats(&args, &formats));
    ck_assert_int_eq(formats.bcsr, (ROWS - ROWS % gsa_cpu_probe_of(level[at])->lanes) * examples);
    level_rig_attend(&r, &args);
    level_rig_end(&r);
}

/* Example `e` of x against the first of y. */
static int same_example(const planes *x, int32_t e, const planes *y)
{
    int same = memcmp(x->out + e * ONE, y->out, sizeof *y->out * ONE) == 0;
    same &= memcmp(x->dq + e * ONE, y->dq, sizeof *y->dq * ONE) == 0;
    for (int kind = 0; kind < 2; kind++) {
        same &= memcmp(x->dk[kind] + e * PART, y->dk[kind], sizeof *y->q * PART) == 0;
        same &= memcmp(x->dv[kind] + e * PART, y->dv[kind], sizeof *y->q * PART) == 0;
    }
    return same;
}

START_TEST(nothing_changes_a_bit)
{
    static planes want, got;
    static const int threads[] = { 1, 2, 3, 8 };
    for (int at = 0; at < LEVELS; at++)
        for (int drop = 0; drop < 2 && gsa_cpu_has(level[at]); drop++) {
            attend(&want, at, 1, 1, _i, drop * 0.2, NOTHING);
            for (int i = 0; i < 2 * GSA_COUNT(threads); i += GSA_THIN(3)) {
                /* so many rows that items are larger the fewer threads there are */
                const int32_t examples = i % 2 ? MOST : 1 + (i + _i) % 5;
                attend(&got, at, threads[i / 2], 1, _i, drop * 0.2, NOTHING);
                ck_assert_msg(same_example(&got, 0, &want), "%d threads", threads[i / 2]);
                ck_assert_msg(memcmp(got.dr, want.dr, sizeof got.dr) == 0,
                              "label vectors, %d threads", threads[i / 2]);
                ck_assert_msg(memcmp(got.db, want.db, sizeof got.db) == 0,
                              "label biases, %d threads", threads[i / 2]);
                attend(&got, at, threads[i / 2], examples, _i, drop * 0.2, NOTHING);
                for (int32_t e = 0; e < examples; e++)
                    ck_assert_msg(same_example(&got, e, &want), "%d threads, example %d of %d",
                                  threads[i / 2], e, examples);
            }
        }
}
END_TEST

/* p = exp(s - lse) of a row sum to 1 where s are the forward pass's bits. Of other roundings they
 * do not: a unit of the last place of such scores is an eighth. */
START_TEST(weights_of_large_scores_sum_to_one)
{
    static planes x;
    for (int at = 0; at < LEVELS; at++) {
        if (!gsa_cpu_has(level[at])) continue;
        attend(&x, at, 1, 1, _i, 0, LARGE);
        for (int j = 0; j < WIDTH; j++) {
            double sum = 0;
            for (int c = 0; c < NODES; c++)
                sum += (double)x.dv[0][c * WIDTH + j] + (double)x.dv[1][c * WIDTH + j];
            ck_assert_msg(sum > ROWS - 0.02 && sum < ROWS + 0.02, "level %d: dv sum to %g, not %d",
                          level[at], sum, ROWS);
        }
    }
}
END_TEST

/* Whether a row of a plane is not as it is without the taint; gradients of a tile with a taint are
 * summed in another order. */
static int differs(const float *x, const float *clean, int row, float most)
{
    int bad = 0;
    for (int c = row * WIDTH; c < (row + 1) * WIDTH; c++) {
        const float by = x[c] - clean[c];
        bad |= !(by < most && by > -most);
    }
    return bad;
}

/* Whether a row reads a source through which something is not finite, or is such a row. */
static int may_differ(const planes *x, int row, int taint)
{
    return taint == OF_DOUT ? row == TAINTED : x->reads[row][TAINTED];
}

/* What is not finite reaches the rows that read it, and what they read; all else is as without
 * it. */
START_TEST(rows_keep_to_their_sources)
{
    static planes clean, x;
    for (int at = 0; at < LEVELS; at++)
        for (int taint = OF_V; taint < TAINTS && gsa_cpu_has(level[at]); taint++) {
            int odd = 0, even = 0, spoilt = 0, given = 0;
            attend(&clean, at, 1, 1, _i, 0, NOTHING);
            attend(&x, at, 1, 1, _i, 0, taint);
            for (int row = 0; row < ROWS; row++) {
                const int may = may_differ(&x, row, taint),
                          out = differs(x.out, clean.out, row, 1e-4f);
                const int dq = differs(x.dq, clean.dq, row, 1e-3f);
                odd += dq, spoilt += out, even += !may;
                ck_assert_msg(may || !(out || dq), "taint %d, row %d", taint, row);
            }
            ck_assert_msg(odd > 0 && even > 0, "taint %d: %d rows differ, %d may not", taint, odd,
                          even);
            ck_assert_msg((spoilt > 0) == (taint != OF_DOUT), "taint %d: %d outputs differ", taint,
                          spoilt);
            for (int c = 0; c < NODES; c++) {
                int may = 0, bad = 0;
                for (int row = 0; row < ROWS; row++)
                    may |= x.reads[row][c] && may_differ(&x, row, taint);
                for (int k = 0; k < 2; k++)
                    bad |= differs(x.dk[k], clean.dk[k], c, 1e-3f) ||
                           differs(x.dv[k], clean.dv[k], c, 1e-3f);
                given += bad;
                ck_assert_msg(may || !bad, "taint %d, source %d", taint, c);
            }
            ck_assert_msg(given > 0, "taint %d: no source's gradient differs", taint);
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(dims)) };
    static const gsa_test bits[] = { GSA_LOOP(nothing_changes_a_bit, GSA_COUNT(kinds)) };
    static const gsa_test odd[] = { GSA_LOOP(rows_keep_to_their_sources, GSA_COUNT(kinds)),
                                    GSA_LOOP(weights_of_large_scores_sum_to_one,
                                             GSA_COUNT(kinds)) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 120), GSA_CASE("bits", bits, 120),
                                      GSA_CASE("odd", odd, 120) };
    return gsa_run_suite("cpu_strips", cases, GSA_COUNT(cases), argc, argv);
}
