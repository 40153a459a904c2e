/* Many heads of no whole vectors in tiles of the cpu backend: each head has the bits that it has
 * alone; for any number of threads, and in any batch, also where tiles and bands take turns; what
 * is not finite stays with the rows that read it; and memory that is not there is told of. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "support/thin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a tile read 100 and more of 150, of two kinds; ROWS are four tiles and some rows, of
 * eight with AVX2. */
enum {
    HEADS = 20,
    DIM = 50,
    WIDTH = HEADS * DIM,
    ROWS = 70,
    NODES = 150,
    LABELS = 7,
    LEVELS = 4,
    MOST = 3
};
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };

typedef struct planes { /* of `heads` heads; parts[kind][example][source] */
    float *q, *dout, *out, *lse, *dq, *k[2], *v[2], *dk[2], *dv[2], *dr, *db;
    int32_t heads, examples;
} planes;

static float *numbers(int64_t count)
{
    float *at = calloc((size_t)count, sizeof *at);
    ck_assert_ptr_nonnull(at);
    return at;
}

static planes planes_new(int32_t heads, int32_t examples)
{
    const int64_t own = (int64_t)examples * ROWS * heads * DIM,
                  part = (int64_t)examples * NODES * heads * DIM;
    planes x = { .heads = heads, .examples = examples };
    float **const rows[] = { &x.q, &x.dout, &x.out, &x.dq };
    for (int i = 0; i < GSA_COUNT(rows); i++) *rows[i] = numbers(own);
    for (int k = 0; k < 2; k++)
        x.k[k] = numbers(part), x.v[k] = numbers(part), x.dk[k] = numbers(part),
        x.dv[k] = numbers(part);
    x.lse = numbers((int64_t)examples * ROWS * heads), x.dr = numbers(LABELS * DIM),
    x.db = numbers(LABELS * (int64_t)heads);
    return x;
}

static void planes_free(planes *x)
{
    float *const at[] = { x->q, x->dout, x->out, x->lse, x->dq, x->dr, x->db };
    for (int i = 0; i < GSA_COUNT(at); i++) free(at[i]);
    for (int k = 0; k < 2; k++) free(x->k[k]), free(x->v[k]), free(x->dk[k]), free(x->dv[k]);
}

/* The number of a plane at a row and a column of all HEADS heads, the same in each example. */
static float number(int plane, int64_t row, int64_t column)
{
    gsa_dice dice = { (uint64_t)((plane * 1000 + row) * 1000 + column) };
    return (float)gsa_normal(&dice);
}

/* Heads first .. of all of them. */
static void fill(planes *x, int32_t first)
{
    const int64_t width = (int64_t)x->heads * DIM;
    for (int32_t e = 0; e < x->examples; e++) {
        for (int64_t r = 0; r < ROWS; r++)
            for (int64_t c = 0; c < width; c++) {
                x->q[(e * ROWS + r) * width + c] = number(0, r, first * DIM + c);
                x->dout[(e * ROWS + r) * width + c] = number(1, r, first * DIM + c);
            }
        for (int64_t r = 0; r < NODES; r++)
            for (int64_t c = 0; c < width; c++)
                for (int k = 0; k < 2; k++) {
                    x->k[k][(e * NODES + r) * width + c] = number(2 + k, r, first * DIM + c);
                    x->v[k][(e * NODES + r) * width + c] = number(4 + k, r, first * DIM + c);
                }
    }
}

/* Whether row reads a source; fours of rows read much the same. */
static int reads(int32_t row, int32_t c)
{
    return c % 31 < 25 && (c * 7 + row / 4 * 5) % 10 < 8 && (c + row) % 13 != 0;
}

enum { TILES, LABELLED, BANDS, PATTERNS }; /* BANDS: each second tile is four bands */

/* Kinds: sources below 70 are of kind 0. Labels go by diagonals and by columns. */
static void make_edges(rig *r, int32_t examples, int pattern)
{
    const int64_t part_rows[2] = { (int64_t)examples * NODES, (int64_t)examples * NODES };
    const int labelled = pattern == LABELLED;
    int64_t first[MOST + 1];
    edges_begin(&r->maker, 2, part_rows, labelled ? LABELS : 0);
    for (int32_t e = 0; e < examples; e++)
        for (int32_t row = 0; row < ROWS; row++) {
            edges_row(&r->maker, e, row);
            if (pattern == BANDS && row / 16 % 2) {
                edges_run(&r->maker, (gsa_run){ e * NODES + row % 16 / 4 * 37, 32, 1, 0, 0, 0 });
                continue;
            }
            for (int32_t c = 0; c < NODES; c++) {
                const int32_t label = (c % 3 ? c + LABELS * ROWS - row : c) % LABELS;
                if (reads(row, c))
                    edges_run(&r->maker,
                              (gsa_run){ e * NODES + c, 1, 1, labelled ? label : 0, 0, c >= 70 });
            }
        }
    for (int32_t e = 0; e <= examples; e++) first[e] = (int64_t)e * ROWS;
    edges_done(&r->maker, examples, 1, first);
    rig_graph(r);
}

typedef struct arguments { /* what a call points to */
    gsa_part parts[GSA_MAX_KINDS];
    float vectors[LABELS * DIM], bias[LABELS * HEADS];
    gsa_attend_args args;
} arguments;

/* `kept`: dv alone of the sources' gradients. */
static void point(arguments *a, planes *x, const rig *r, int32_t first, int pattern, int kept)
{
    const int labelled = pattern == LABELLED;
    for (int i = 0; i < LABELS * DIM; i++) a->vectors[i] = number(6, 0, i);
    for (int l = 0; l < LABELS; l++)
        for (int32_t h = 0; h < x->heads; h++) a->bias[l * x->heads + h] = number(7, l, first + h);
    for (int k = 0; k < 2; k++)
        a->parts[k] = (gsa_part){ x->k[k], x->v[k], kept ? NULL : x->dk[k], x->dv[k] };
    a->args = (gsa_attend_args){ .edges = &r->device,
                                 .heads = x->heads,
                                 .head_dim = DIM,
                                 .scale = 0.14,
                                 .q = x->q,
                                 .parts = a->parts,
                                 .label_vectors = labelled ? a->vectors : NULL,
                                 .label_bias = labelled ? a->bias : NULL,
                                 .out = x->out,
                                 .lse = x->lse,
                                 .dout = x->dout,
                                 .dq = x->dq,
                                 .dlabel_vectors = labelled ? x->dr : NULL,
                                 .dlabel_bias = labelled ? x->db : NULL };
}

/* Both passes. */
static void attend(planes *x, int at, int threads, int32_t first, int pattern, int kept)
{
    static arguments a;
    rig r = level_rig(level[at], threads);
    gsa_cpu_formats formats;
    make_edges(&r, x->examples, pattern);
    point(&a, x, &r, first, pattern, kept);
    ck_assert(gsa_cpu_probe_of(level[at])->formats(&a.args, &formats));
    if (pattern == BANDS) ck_assert_int_eq(formats.dia, 32 * x->examples);
    else
        ck_assert_int_eq(formats.bcsr,
                         (ROWS - ROWS % gsa_cpu_probe_of(level[at])->lanes) * x->examples);
    level_rig_attend(&r, &a.args);
    level_rig_end(&r);
}

/* Whether head h of rows of `wide` is what `one` has, a plane of one head. */
static int same_head(const float *wide, const float *one, int64_t rows, int32_t h)
{
    for (int64_t r = 0; r < rows; r++)
        if (memcmp(wide + r * WIDTH + h * DIM, one + r * DIM, sizeof *one * DIM)) return 0;
    return 1;
}

START_TEST(heads_are_as_alone)
{
    const int at = _i / 2 / PATTERNS, pattern = _i / 2 % PATTERNS, kept = _i % 2;
    if (!gsa_cpu_has(level[at])) return;
    planes all = planes_new(HEADS, 1);
    double dr[LABELS * DIM] = { 0 };
    fill(&all, 0), attend(&all, at, 1, 0, pattern, kept);
    for (int32_t h = 0; h < HEADS; h++) {
        planes one = planes_new(1, 1);
        fill(&one, h), attend(&one, at, 1, h, pattern, kept);
        ck_assert_msg(same_head(all.out, one.out, ROWS, h), "out of head %d", h);
        ck_assert_msg(same_head(all.dq, one.dq, ROWS, h), "dq of head %d", h);
        for (int r = 0; r < ROWS; r++)
            ck_assert_msg(all.lse[r * HEADS + h] == one.lse[r], "lse of head %d", h);
        for (int k = 0; k < 2; k++) {
            ck_assert_msg(same_head(all.dk[k], one.dk[k], NODES, h), "dk of head %d", h);
            ck_assert_msg(same_head(all.dv[k], one.dv[k], NODES, h), "dv of head %d", h);
        }
        for (int l = 0; l < LABELS; l++)
            ck_assert_float_eq_tol(all.db[l * HEADS + h], one.db[l], 1e-4f);
        for (int i = 0; i < LABELS * DIM; i++) dr[i] += (double)one.dr[i];
        planes_free(&one);
    }
    for (int i = 0; i < LABELS * DIM; i++) ck_assert_double_eq_tol((double)all.dr[i], dr[i], 2e-3);
    planes_free(&all);
}
END_TEST

static int same_rows(const float *x, const float *want, int32_t e, int64_t rows)
{
    return memcmp(x + e * rows * WIDTH, want, sizeof *x * (size_t)(rows * WIDTH)) == 0;
}

START_TEST(nothing_changes_a_bit)
{
    static const int threads[] = { 1, 2, 3, 8 };
    const int at = _i / PATTERNS, pattern = _i % PATTERNS;
    if (!gsa_cpu_has(level[at])) return;
    planes want = planes_new(HEADS, 1);
    fill(&want, 0), attend(&want, at, 1, 0, pattern, 0);
    for (int i = 0; i < GSA_COUNT(threads); i += GSA_THIN(2))
        for (int32_t examples = 1; examples <= MOST; examples += MOST - 1) {
            planes x = planes_new(HEADS, examples);
            fill(&x, 0), attend(&x, at, threads[i], 0, pattern, 0);
            for (int32_t e = 0; e < examples; e++) {
                ck_assert_msg(same_rows(x.out, want.out, e, ROWS), "out, %d threads, example %d",
                              threads[i], e);
                ck_assert_msg(same_rows(x.dq, want.dq, e, ROWS), "dq, %d threads, example %d",
                              threads[i], e);
                for (int k = 0; k < 2; k++) {
                    ck_assert_msg(same_rows(x.dk[k], want.dk[k], e, NODES),
                                  "dk, %d threads, example %d", threads[i], e);
                    ck_assert_msg(same_rows(x.dv[k], want.dv[k], e, NODES),
                                  "dv, %d threads, example %d", threads[i], e);
                }
            }
            if (examples == 1) {
                ck_assert_msg(memcmp(x.dr, want.dr, sizeof *x.dr * LABELS * DIM) == 0,
                              "label vectors, %d threads", threads[i]);
                ck_assert_msg(memcmp(x.db, want.db, sizeof *x.db * LABELS * HEADS) == 0,
                              "label biases, %d threads", threads[i]);
            }
            planes_free(&x);
        }
    planes_free(&want);
}
END_TEST

/* Whether a row is other than it is without what is not finite; sums may be taken in another order
 * there. */
static int differs(const float *x, const float *clean, int64_t row)
{
    int bad = 0;
    for (int64_t c = row * WIDTH; c < (row + 1) * WIDTH; c++) {
        const float by = x[c] - clean[c];
        bad |= !(by < 1e-3f && by > -1e-3f);
    }
    return bad;
}

enum { OF_V, OF_K, OF_DOUT, TAINTS };
enum { TAINTED = 20, TAINTED_HEAD = 9 };

static int may_differ(int32_t row, int taint)
{
    return taint == OF_DOUT ? row == TAINTED : reads(row, TAINTED);
}

START_TEST(rows_keep_to_their_sources)
{
    const int at = _i / TAINTS, taint = _i % TAINTS;
    if (!gsa_cpu_has(level[at])) return;
    planes clean = planes_new(HEADS, 1), x = planes_new(HEADS, 1);
    int odd = 0, even = 0, given = 0;
    fill(&clean, 0), attend(&clean, at, 1, 0, LABELLED, 0);
    fill(&x, 0);
    float *const plane[TAINTS] = { x.v[0], x.k[0], x.dout };
    plane[taint][TAINTED * WIDTH + TAINTED_HEAD * DIM + 5] = INFINITY;
    attend(&x, at, 1, 0, LABELLED, 0);
    for (int32_t row = 0; row < ROWS; row++) {
        const int may = may_differ(row, taint),
                  bad = differs(x.out, clean.out, row) || differs(x.dq, clean.dq, row);
        odd += bad, even += !may;
        ck_assert_msg(may || !bad, "row %d", row);
    }
    for (int32_t c = 0; c < NODES; c++) {
        int may = 0, bad = 0;
        for (int32_t row = 0; row < ROWS; row++) may |= reads(row, c) && may_differ(row, taint);
        for (int k = 0; k < 2; k++)
            bad |= differs(x.dk[k], clean.dk[k], c) || differs(x.dv[k], clean.dv[k], c);
        given += bad;
        ck_assert_msg(may || !bad, "source %d", c);
    }
    ck_assert_msg(odd > 0 && even > 0 && given > 0, "%d rows differ, %d may not, %d sources differ",
                  odd, even, given);
    planes_free(&clean), planes_free(&x);
}
END_TEST

typedef struct call {
    int at;
    planes *x;
} call;

static gsa_status both_passes(gsa_backend *b, const gsa_edges *edges, void *context)
{
    const gsa_attend_args *args = context;
    (void)edges; /* args have them */
    const gsa_status status = b->attend_forward(b, args);
    return status == GSA_OK ? b->attend_backward(b, args) : status;
}

static gsa_status both_ways(gsa_faults *faults, void *context)
{
    static arguments a;
    const call *c = context;
    rig r = level_rig(level[c->at], 1);
    make_edges(&r, 1, LABELLED);
    point(&a, c->x, &r, 0, LABELLED, 0);
    const gsa_status status = level_rig_faulty(faults, level[c->at], &r, both_passes, &a.args);
    level_rig_end(&r);
    return status;
}

START_TEST(memory_that_is_not_there_is_told_of)
{
    if (!gsa_cpu_has(level[_i])) return;
    planes x = planes_new(HEADS, 1);
    fill(&x, 0);
    ck_assert_int_ge(
        gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, both_ways, &(call){ _i, &x }), 10);
    planes_free(&x);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bits[] = { GSA_LOOP(heads_are_as_alone, 2 * PATTERNS * LEVELS),
                                     GSA_LOOP(nothing_changes_a_bit, PATTERNS * LEVELS) };
    static const gsa_test odd[] = { GSA_LOOP(rows_keep_to_their_sources, TAINTS * LEVELS) };
    static const gsa_test memory[] = { GSA_LOOP(memory_that_is_not_there_is_told_of, LEVELS) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 120), GSA_CASE("odd", odd, 120),
                                      GSA_CASE("memory", memory, 120) };
    return gsa_run_suite("cpu_heads", cases, GSA_COUNT(cases), argc, argv);
}
