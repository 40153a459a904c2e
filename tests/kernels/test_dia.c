/* Diagonal blocks of the cpu backend (kernels/cpu/attention/dia.h): rows whose runs follow one
 * another, at random, against the oracle; and that rows of two kinds are in none. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"
#include "support/thin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 128, RUNS = 4, LEVELS = 4 };
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };
static int32_t below(gsa_dice *dice, int64_t end)
{
    return (int32_t)gsa_between(dice, 0, end - 1);
}

static const int dims[] = { 1, 3, 8, 15, 16, 17, 31, 33, 50, 64, 65, 100, 128, 200, 256 };

/* Some runs that move on with the rows or stay; `broken`: each 7th row has an edge more, so that
 * its band is none; `alone` > 0: one run of so many edges that moves on. */
static void make_diagonals(rig *r, gsa_dice *dice, int32_t examples, int32_t rows, int broken,
                           int32_t alone)
{
    const int64_t part_rows[2] = { (int64_t)examples * NODES, (int64_t)examples * NODES };
    gsa_run runs[RUNS];
    int32_t move[RUNS];
    int64_t first[8] = { 0 };
    const int32_t count =
        alone
            ? 1
            : 2 + below(dice, RUNS - 1); /* of one label alone the gradient is 0 but for rounding */
    for (int32_t i = 0; i < count; i++) {
        const int32_t step = below(dice, 4) ? 1 : below(dice, 5) - 2;
        const int32_t edges = 1 + below(dice, i == 0 ? 12 : 5);
        runs[i] =
            (gsa_run){ (step < 0 ? 32 : 10) + below(dice, 5), edges, step, i, 0, below(dice, 2) };
        if (i < 2 && edges <= 4) runs[i].label_step = below(dice, 2);
        move[i] = below(dice, 4) ? 1 : 0;
    }
    if (alone)
        runs[0] = (gsa_run){ below(dice, 5), alone, 1, 0, alone == 5, below(dice, 2) }, move[0] = 1;
    edges_begin(&r->maker, 2, part_rows, 5);
    for (int32_t e = 0; e < examples; e++)
        for (int32_t row = 0; row < rows; row++) {
            edges_row(&r->maker, e, row);
            for (int32_t i = 0; i < count; i++) {
                gsa_run run = runs[i];
                run.first += e * NODES + (row % 24) * move[i];
                edges_run(&r->maker, run);
            }
            if (broken && row % 7 == 6) edges_run(&r->maker, (gsa_run){ e * NODES, 1, 1, 0, 0, 0 });
        }
    for (int32_t e = 0; e <= examples; e++) first[e] = (int64_t)e * rows;
    edges_done(&r->maker, examples, 1, first);
    rig_graph(r);
}

static void check_one(int at, int dim, int flags, int seed, int32_t alone)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, alone > 64 ? 16 : 1 + seed % 6, dim, 1, flags };
    char name[96];
    gsa_backend *b;
    gsa_dice dice = { (uint64_t)(100 * seed + dim) };
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, seed %d, %d edges", b->name, dim, flags,
             seed, (int)alone);
    rig_begin(&r, b, (uint64_t)seed, RIG_RANDOM, shape);
    make_diagonals(&r, &dice, 2, alone ? 24 : 1 + (seed * 5 + dim) % 24, seed % 3 == 0, alone);
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    static const int flags[] = {
        0, 1, 2, 3, 32, 66, 4, 7
    }; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
    for (int at = 0; at < LEVELS; at++)
        for (int f = 0; f < GSA_COUNT(flags) && gsa_cpu_has(level[at]); f++)
            for (int seed = (f + _i) % GSA_THIN(4); seed < 4; seed += GSA_THIN(4))
                check_one(at, dims[_i], flags[f], 10 * f + seed, 0);
}
END_TEST

/* One stripe, whose scores are worked out along it: each number of edges on either side of a
 * vector's fours. */
START_TEST(one_stripe)
{
    static const int flags[] = { 0, 4, 32 };
    for (int at = 0; at < LEVELS; at++)
        for (int32_t edges = 3 + _i % GSA_THIN(2); edges <= 96 && gsa_cpu_has(level[at]);
             edges += (edges < 14   ? 1
                       : edges < 32 ? 6
                                    : 32) *
                      GSA_THIN(2))
            check_one(at, dims[_i], edges == 5 ? 7 : flags[edges % 3], edges, edges);
    for (int at = 0; at < LEVELS && dims[_i] == 8;
         at++) /* as many heads and edges as go together */
        if (gsa_cpu_has(level[at])) check_one(at, dims[_i], 7, 96, 96);
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------- */

/* `examples` copies of two kinds of ROWS rows that all read the same sources; rows of a kind are
 * together, so that with one example those of the second go on where the first kind's end. `to`:
 * the first example's outputs, by kind. */
enum {
    KIND_ROWS = 10,
    SHARED = 5,
    KIND_HEADS = 3,
    KIND_DIM = 50,
    KIND_COUNT = KIND_ROWS * KIND_HEADS * KIND_DIM
};
static void two_kinds(int at, int32_t examples, const float *numbers, float to[2][KIND_COUNT])
{
    enum { COPY = SHARED * KIND_HEADS * KIND_DIM, MOST = 3 };
    static float q[2 * MOST * KIND_COUNT], k[MOST * COPY], v[MOST * COPY],
        out[2 * MOST * KIND_COUNT], lse[2 * MOST * KIND_ROWS * KIND_HEADS];
    const int64_t part_rows[1] = { (int64_t)examples * SHARED };
    int64_t first[2 * (MOST + 1)];
    rig r = level_rig(level[at], 1);
    edges_begin(&r.maker, 1, part_rows, 1);
    for (int32_t kind = 0; kind < 2; kind++)
        for (int32_t e = 0; e <= examples; e++) {
            first[kind * (examples + 1) + e] = (int64_t)(kind * examples + e) * KIND_ROWS;
            for (int32_t row = 0; row < KIND_ROWS && e < examples; row++) {
                edges_row(&r.maker, e, kind * KIND_ROWS + row);
                edges_run(&r.maker, (gsa_run){ e * SHARED, SHARED, 1, 0, 0, 0 });
            }
        }
    for (int32_t e = 0; e < 2 * examples; e++)
        memcpy(q + e * KIND_COUNT, numbers + e / examples * KIND_COUNT, sizeof *q * KIND_COUNT);
    for (int32_t e = 0; e < examples; e++) {
        memcpy(k + e * COPY, numbers + 2 * KIND_COUNT, sizeof *k * COPY);
        memcpy(v + e * COPY, numbers + 2 * KIND_COUNT + COPY, sizeof *v * COPY);
    }
    edges_done(&r.maker, examples, 2, first);
    rig_graph(&r);
    const gsa_part parts[GSA_MAX_KINDS] = { { k, v, NULL, NULL } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = KIND_HEADS,
                                   .head_dim = KIND_DIM,
                                   .scale = 0.5,
                                   .q = q,
                                   .parts = parts,
                                   .out = out,
                                   .lse = lse };
    level_rig_attend(&r, &args);
    for (int kind = 0; kind < 2; kind++)
        memcpy(to[kind], out + kind * examples * KIND_COUNT, sizeof to[kind]);
    level_rig_end(&r);
}

START_TEST(no_band_has_rows_of_two_kinds)
{
    static float numbers[4 * KIND_COUNT], alone[2][KIND_COUNT], batched[2][KIND_COUNT];
    gsa_dice dice = { 12 };
    for (int i = 0; i < 4 * KIND_COUNT; i++) numbers[i] = (float)gsa_normal(&dice);
    for (int at = 0; at < LEVELS; at++) {
        if (!gsa_cpu_has(level[at])) continue;
        two_kinds(at, 1, numbers, alone);
        two_kinds(at, 3, numbers, batched);
        ck_assert_msg(memcmp(alone, batched, sizeof alone) == 0, "level %d: the batch changes bits",
                      level[at]);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(dims)),
                                       GSA_LOOP(one_stripe, GSA_COUNT(dims)) };
    static const gsa_test bits[] = { GSA_TEST(no_band_has_rows_of_two_kinds) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 120),
                                      GSA_CASE("bits", bits, 120) };
    return gsa_run_suite("cpu_dia", cases, GSA_COUNT(cases), argc, argv);
}
