/* Blocks of bcsr (kernels/cpu/attention/bcsr.h) of rows that read most of many sources, in one
 * block and in
 * several, in heads of many widths, against the oracle; and that what one row alone reads, and is
 * not
 * finite, stays with it. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/thin.h"
#include <math.h>
#include <stdio.h>

enum {
    NODES = 400,
    WIDE = 2300, /* of three blocks */
    ROWS = 37,
    ALONE = 5, /* the row that reads the last source */
    LABELS = 5,
    LEVELS = 4
};
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };

/* Runs over up to a tenth of `nodes` sources with holes of up to `hole` between them: each second
 * run reads every source, of the others one goes up and one down, by every second source.
 * `labelled`: one label a run. */
static void make_rows(rig *r, int hole, int32_t nodes, int labelled)
{
    const int64_t part_rows[] = { nodes }, first[] = { 0, ROWS };
    gsa_dice dice = { 77 };
    int turn = 0;
    edges_begin(&r->maker, 1, part_rows, labelled ? LABELS : 1);
    for (int32_t row = 0; row < ROWS; row++) {
        edges_row(&r->maker, 0, row);
        for (int32_t at = 0, count; at < nodes - 1;
             at += count + (int32_t)gsa_between(&dice, 0, hole)) {
            count = (int32_t)gsa_between(&dice, 1, nodes / 10);
            if (at + count > nodes - 1) count = nodes - 1 - at;
            gsa_run run = { at, count, 1, labelled ? at % LABELS : 0, 0, 0 };
            const int32_t half = (count - 1) / 2;
            if (turn++ % 2) run.count = half + 1, run.step = turn % 4 ? 2 : -2;
            if (run.step < 0) run.first += 2 * half;
            edges_run(&r->maker, run);
        }
        if (row == ALONE) edges_run(&r->maker, (gsa_run){ nodes - 1, 1, 1, 0, 0, 0 });
    }
    edges_done(&r->maker, 1, 1, first);
    rig_graph(r);
}

static void check_tiled(int at, const gsa_attend_args *args)
{
    gsa_cpu_formats formats;
    ck_assert(gsa_cpu_probe_of(level[at])->formats(args, &formats));
    ck_assert_int_eq(formats.bcsr, ROWS - ROWS % gsa_cpu_probe_of(level[at])->lanes);
}

static const int dims[] = { 1, 2, 7, 8, 9, 10, 15, 16, 17, 24, 31, 32, 33, 50 };

static void check_one(int at, int dim, int flags, int hole, int32_t nodes, int labelled)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, 3, dim, 1, flags };
    gsa_backend *b;
    char name[96];
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, holes %d, %d sources", b->name, dim,
             flags, hole, (int)nodes);
    rig_begin(&r, b, 31, RIG_RANDOM, shape);
    make_rows(&r, hole, nodes, labelled);
    check_tiled(at, &(gsa_attend_args){ .edges = &r.device, .heads = 3, .head_dim = dim });
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    static const int flags[] = { 0, 4, 32, 36 }; /* dropout 4, gradients of v alone 32 */
    for (int at = 0; at < LEVELS; at++)
        for (int i = _i % GSA_THIN(2); i < 2 * GSA_COUNT(flags) && gsa_cpu_has(level[at]);
             i += GSA_THIN(2))
            check_one(at, dims[_i], flags[i / 2], i % 2 * 3, NODES, 0);
}
END_TEST

/* Vectors 1, bias 2, dropout 4, -inf 64. */
static const struct {
    int dim, flags;
} wide[] = { { 10, 0 }, { 64, 0 }, { 17, 4 }, { 16, 3 }, { 70, 7 }, { 8, 67 } };

START_TEST(several_blocks_equal_the_oracle)
{
    for (int at = 0; at < LEVELS; at++)
        if (gsa_cpu_has(level[at]))
            check_one(at, wide[_i].dim, wide[_i].flags, 3, WIDE, wide[_i].flags & 3);
}
END_TEST

enum { HEADS = 2, MOST = HEADS * 24 };

typedef struct planes {
    float q[ROWS * MOST], k[WIDE * MOST], v[WIDE * MOST], out[ROWS * MOST], lse[ROWS * HEADS],
        dout[ROWS * MOST];
    float dq[ROWS * MOST], dk[WIDE * MOST], dv[WIDE * MOST];
} planes;

/* `odd`: in v (0) or k (1) of the last source. */
static void attend(planes *x, int at, int32_t nodes, int dim, int plane, float odd)
{
    gsa_dice dice = { 9 };
    rig r = level_rig(level[at], 1);
    make_rows(&r, 2, nodes, 0);
    *x = (planes){ .q = { 0 } };
    for (int i = 0; i < ROWS * MOST; i++)
        x->q[i] = (float)gsa_bell(&dice), x->dout[i] = (float)gsa_bell(&dice);
    for (int i = 0; i < nodes * MOST; i++)
        x->k[i] = (float)gsa_bell(&dice), x->v[i] = (float)gsa_bell(&dice);
    (plane ? x->k : x->v)[(nodes - 1) * HEADS * dim + 3] = odd;
    const gsa_part parts[GSA_MAX_KINDS] = { { x->k, x->v, x->dk, x->dv } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = HEADS,
                                   .head_dim = dim,
                                   .scale = 0.3,
                                   .q = x->q,
                                   .parts = parts,
                                   .out = x->out,
                                   .lse = x->lse,
                                   .dout = x->dout,
                                   .dq = x->dq };
    check_tiled(at, &args);
    level_rig_attend(&r, &args);
    level_rig_end(&r);
}

/* Of rows that go together one reads what is not finite. */
START_TEST(a_row_keeps_what_it_alone_reads)
{
    static const int width[] = { 5, 10, 24 };
    static const float odd[] = { NAN, INFINITY };
    static planes clean, x;
    const int32_t nodes = _i < 2 ? NODES : WIDE;
    for (int at = 0; at < LEVELS; at++)
        for (int i = 0; i < 2 * GSA_COUNT(width) && gsa_cpu_has(level[at]); i++) {
            const int dim = width[i / 2], row_size = HEADS * dim;
            int spoilt = 0;
            attend(&clean, at, nodes, dim, i % 2, 0.5f);
            attend(&x, at, nodes, dim, i % 2, odd[_i % 2]);
            for (int j = 0; j < ROWS * row_size; j++) {
                const int alone = j / row_size == ALONE;
                ck_assert_msg(alone || fabsf(x.out[j] - clean.out[j]) <= 1e-5f,
                              "head_dim %d: out %d", dim, j);
                ck_assert_msg(alone || fabsf(x.dq[j] - clean.dq[j]) <= 1e-4f, "head_dim %d: dq %d",
                              dim, j);
                spoilt += alone && !(isfinite(x.out[j]) &&
                                     isfinite(x.dq[j])); /* a score of -inf has the weight 0 */
            }
            ck_assert_msg(spoilt > 0, "head_dim %d: nothing of the row that reads it", dim);
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(dims)),
                                       GSA_LOOP(several_blocks_equal_the_oracle, GSA_COUNT(wide)) };
    static const gsa_test odd[] = { GSA_LOOP(a_row_keeps_what_it_alone_reads, 4) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 120), GSA_CASE("odd", odd, 120) };
    return gsa_run_suite("cpu_tiles", cases, GSA_COUNT(cases), argc, argv);
}
