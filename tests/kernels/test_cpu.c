/* What the cpu backend adds to ref: levels, the vectors' exponential, heads of every width and rows
 * longer than a block. That its table equals ref's oracle is the job of the other suites, run at
 * each level (GSA_TEST_BACKEND). */
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"
#include "support/thin.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int level;
    const char *name;
} levels[] = { { GSA_CPU_PLAIN, "cpu (plain C)" },
               { GSA_CPU_AVX2, "cpu (AVX2)" },
               { GSA_CPU_AVX512, "cpu (AVX-512)" },
               { GSA_CPU_EMULATED, "cpu (AVX-512, emulated)" },
               { GSA_CPU_NEON, "cpu (NEON)" } };

START_TEST(levels_have_names_and_refusals)
{
    gsa_backend *b;
    gsa_error error;
    int best = GSA_CPU_PLAIN;
    for (int i = 0; i < GSA_COUNT(levels); i++) {
        const gsa_status status = gsa_backend_cpu(NULL, levels[i].level, 1, &b, &error);
        if (gsa_cpu_has(levels[i].level)) {
            ck_assert_int_eq(status, GSA_OK);
            ck_assert_str_eq(b->name, levels[i].name);
            gsa_backend_release(b);
            if (levels[i].level != GSA_CPU_EMULATED) best = i;
        } else {
            ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
            ck_assert_ptr_nonnull(strstr(error.text, "is not there on this machine"));
        }
    }
    ck_assert_int_eq(gsa_backend_cpu(NULL, GSA_CPU_BEST, 1, &b, &error), GSA_OK);
    ck_assert_str_eq(b->name, levels[best > 0 ? best : 0].name);
    gsa_backend_release(b);
    ck_assert_int_eq(gsa_backend_cpu(NULL, 6, 1, &b, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "level 6"));
    ck_assert_int_eq(gsa_cpu_has(-1) + gsa_cpu_has(6), 0);
}
END_TEST

START_TEST(devices_have_names)
{
    static const char *const known[][2] = { { "ref", "ref" }, { "cpu", "cpu" }, { "auto", "cpu" } };
    gsa_backend *b;
    gsa_error error;
    for (int i = 0; i < GSA_COUNT(known); i++) {
        ck_assert_int_eq(gsa_backend_open(NULL, known[i][0], GSA_F32, 1, &b, &error), GSA_OK);
        ck_assert_int_eq(strncmp(b->name, known[i][1], 3), 0);
        gsa_backend_release(b);
        ck_assert_int_eq(gsa_backend_open(NULL, known[i][0], GSA_F64, 1, &b, &error), GSA_OK);
        ck_assert_str_eq(b->name, "ref");
        gsa_backend_release(b);
    }
    ck_assert_int_eq(gsa_backend_open(NULL, "tpu", GSA_F32, 1, &b, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "'tpu'"));
}
END_TEST

/* ---- e^x ----------------------------------------------------------------------------------- */

#if defined GSA_HAVE_X86_LEVELS || defined GSA_HAVE_NEON_LEVEL
void gsa_cpu_avx2_exp_probe(float *y, const float *x, int count);
void gsa_cpu_avx512_exp_probe(float *y, const float *x, int count);
void gsa_cpu_emulated_exp_probe(float *y, const float *x, int count);
void gsa_cpu_avx2_log_probe(float *y, const float *x, int count);
void gsa_cpu_avx512_log_probe(float *y, const float *x, int count);
void gsa_cpu_emulated_log_probe(float *y, const float *x, int count);
void gsa_cpu_neon_exp_probe(float *y, const float *x, int count);
void gsa_cpu_neon_log_probe(float *y, const float *x, int count);

static const struct {
    int level;
    void (*exp)(float *y, const float *x, int count);
    void (*log)(float *y, const float *x, int count);
} probes[] = {
#ifdef GSA_HAVE_X86_LEVELS
    { GSA_CPU_AVX2, gsa_cpu_avx2_exp_probe, gsa_cpu_avx2_log_probe },
#endif
#ifdef GSA_HAVE_AVX512_LEVEL
    { GSA_CPU_AVX512, gsa_cpu_avx512_exp_probe, gsa_cpu_avx512_log_probe },
#endif
#ifdef GSA_HAVE_EMULATED_LEVEL
    { GSA_CPU_EMULATED, gsa_cpu_emulated_exp_probe, gsa_cpu_emulated_log_probe },
#endif
#ifdef GSA_HAVE_NEON_LEVEL
    { GSA_CPU_NEON, gsa_cpu_neon_exp_probe, gsa_cpu_neon_log_probe },
#endif
};

START_TEST(exponential_is_close)
{
    enum { CHUNK = 1001 };
    static float x[CHUNK], y[CHUNK];
    if (!gsa_cpu_has(probes[_i].level)) return;
    double worst = 0;
    for (double from = -87.3; from < 88.7; from += 0.01 * CHUNK) {
        for (int i = 0; i < CHUNK; i++) x[i] = (float)fmin(from + 0.01 * i, 88.7);
        probes[_i].exp(y, x, CHUNK);
        for (int i = 0; i < CHUNK; i++)
            worst = fmax(worst, fabs((double)y[i] / exp((double)x[i]) - 1));
    }
    ck_assert_msg(worst < 1.2e-7, "largest relative error %g", worst);
    const float edge[] = { 0,     -0.0f,   1,    INFINITY, -INFINITY, NAN,
                           88.8f, -104.5f, -100, -1e30f,   1e30f };
    float got[GSA_COUNT(edge)];
    probes[_i].exp(got, edge, GSA_COUNT(edge));
    ck_assert(got[0] == 1 && got[1] == 1 && isinf(got[3]) && got[4] == 0 && isnan(got[5]) &&
              isinf(got[6]) && got[7] == 0);
    ck_assert(got[9] == 0 && isinf(got[10]));
    ck_assert_float_eq_tol(got[8] / FLT_TRUE_MIN, expf(-100) / FLT_TRUE_MIN,
                           1); /* denormal: to its last place */
}
END_TEST

/* Sums of a softmax: from 1 (where the error that counts is that of x - 1) to 2^31. */
START_TEST(logarithm_is_close)
{
    enum { CHUNK = 1001 };
    static float x[CHUNK], y[CHUNK];
    if (!gsa_cpu_has(probes[_i].level)) return;
    double worst = 0;
    for (double from = 1; from < 3e9; from *= pow(1.00001, CHUNK)) {
        for (int i = 0; i < CHUNK; i++) x[i] = (float)(from * pow(1.00001, i));
        probes[_i].log(y, x, CHUNK);
        for (int i = 0; i < CHUNK; i++) {
            const double want = log((double)x[i]);
            worst = fmax(worst,
                         fabs((double)y[i] - want) / fmax(want, 1e-30 + fmin(1, (double)x[i] - 1)));
        }
    }
    ck_assert_msg(worst < 1e-7, "largest relative error %g", worst);
    const float edge[] = { 0, 1, NAN };
    float got[GSA_COUNT(edge)];
    probes[_i].log(got, edge, GSA_COUNT(edge));
    ck_assert(isinf(got[0]) && got[0] < 0 && got[1] == 0 && isnan(got[2]));
}
END_TEST
#else
static const int probes[1];

START_TEST(exponential_is_close)
{
    ck_assert_int_eq(gsa_cpu_has(GSA_CPU_AVX2),
                     0); /* no level of vectors is built: nothing to compare */
}
END_TEST

START_TEST(logarithm_is_close)
{
    ck_assert_int_eq(gsa_cpu_has(GSA_CPU_AVX512), 0);
}
END_TEST
#endif

/* ---- widths of heads, rows longer than a block --------------------------------------------- */

static const int dims[] = { 1,  3,  8,  10, 15,  16,  17,  31,  32,  33,
                            50, 63, 64, 65, 100, 127, 128, 129, 200, 256 };

/* Rows of 0 to 200 edges, in runs of every step; duplicates. */
static void make_rows(rig *r)
{
    static const int32_t degrees[] = { 0, 1, 2, 3, 4, 5, 15, 16, 17, 33, 63, 64, 65, 130, 200 };
    const int64_t part_rows[2] = { 12, 7 };
    edges_begin(&r->maker, 2, part_rows, 5);
    for (int32_t row = 0; row < GSA_COUNT(degrees); row++) {
        edges_row(&r->maker, 0, row);
        for (int32_t left = degrees[row], i = 0; left > 0; i++) {
            const int32_t kind = i % 2, span = kind ? 7 : 12,
                          count = left < span - i % 3 ? left : span - i % 3;
            edges_run(&r->maker, (gsa_run){ 0, count, 1, i % 5, 0, kind });
            left -= count;
        }
    }
    edges_done(&r->maker, 1, 1, NULL);
    rig_graph(r);
}

/* Two examples of 50 and 37 rows, each row reading a window of its own example and half of the rows
 * `shared` sources more: tiles of every level begin inside both examples, and end before their last
 * rows. `odd` rows read a source twice. `patchy`: of each `patchy` pairs of sources one is left
 * out, here and there, and labels are by chance: few rows share the label of a column. */
typedef struct window {
    int32_t half, shared, odd, patchy;
} window;
static const window whole; /* no window: every row reads all (make_whole) */
static const window windows[] = { { 1, 0, 0, 0 },  { 5, 0, 0, 0 },  { 5, 7, 0, 0 },
                                  { 16, 3, 0, 0 }, { 64, 0, 0, 0 }, { 64, 7, 20, 0 },
                                  { 30, 7, 0, 2 }, { 64, 0, 0, 5 } };

static void make_windows(rig *r, window w)
{
    static const int32_t start[] = { 0, 50, 87 };
    const int64_t part_rows[2] = { 87, 14 }, first[] = { 0, 50, 87 };
    edges_begin(&r->maker, 2, part_rows, 5);
    for (int32_t e = 0; e < 2; e++)
        for (int32_t row = start[e]; row < start[e + 1]; row++) {
            const int32_t low = row - w.half < start[e] ? start[e] : row - w.half;
            const int32_t end = row + w.half + 1 > start[e + 1] ? start[e + 1] : row + w.half + 1;
            edges_row(&r->maker, e, row - start[e]);
            if (w.shared > 0 && row % 2)
                edges_run(&r->maker, (gsa_run){ 7 * e, w.shared, 1, 1, 0, 1 });
            for (int32_t at = low; w.patchy && at < end; at += 2) {
                const uint32_t chance =
                    ((uint32_t)row * 73u + (uint32_t)at * 179u) * 2654435761u >> 16;
                if (chance % (uint32_t)w.patchy == 0) continue;
                edges_run(&r->maker,
                          (gsa_run){ at, end - at < 2 ? 1 : 2, 1, (int32_t)(chance >> 4 & 3),
                                     (int32_t)(chance >> 7 & 1), 0 });
            }
            if (w.patchy) continue;
            edges_run(&r->maker, (gsa_run){ row, 1, 1, 2, 0, 0 });
            if (low < row) edges_run(&r->maker, (gsa_run){ low, row - low, 1, row % 5, 0, 0 });
            for (int32_t at = row + 1; at < end; at += 4) /* labels that rise along a run */
                edges_run(&r->maker, (gsa_run){ at, end - at < 4 ? end - at : 4, 1, at % 2, 1, 0 });
            if (w.odd && row % w.odd == 0) edges_run(&r->maker, (gsa_run){ low, 1, 1, 0, 0, 0 });
        }
    edges_done(&r->maker, 2, 1, first);
    rig_graph(r);
}

/* Two examples, of which every row reads the same sources: some of all, of another kind. */
static void make_whole(rig *r)
{
    const int64_t part_rows[2] = { 200, 196 }, first[] = { 0, 200, 331 };
    edges_begin(&r->maker, 2, part_rows, 5);
    for (int32_t row = 0; row < 331; row++) {
        const int e = row >= 200;
        edges_row(&r->maker, e, row - (int32_t)first[e]);
        edges_run(&r->maker, (gsa_run){ 3 * e, e ? 190 : 200, 1, 1, 0, e });
    }
    edges_done(&r->maker, 2, 1, first);
    rig_graph(r);
}

/* Forward and backward of one graph at one level against the oracle. */
static void check_graph(int level, int64_t heads, int dim, int flags, const window *w)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, heads, dim, 1, flags };
    char name[96];
    gsa_backend *b;
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, levels[level].level, 1, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, window %d + %d", levels[level].name,
             dim, flags, w ? (int)w->half : -1, w ? (int)w->shared : 0);
    rig_begin(&r, b, (uint64_t)(31 * dim + flags), RIG_RANDOM, shape);
    if (w == &whole) make_whole(&r);
    else if (w) make_windows(&r, *w);
    else make_rows(&r);
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

/* Plain C is the slowest under a sanitizer, and ref's own suites run there: in turn. */
static int has_in_turn(int level, int turn)
{
    return gsa_cpu_has(level) && (level != GSA_CPU_PLAIN || turn % GSA_THIN(4) == 0);
}

START_TEST(every_width_and_long_rows)
{
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int flags = 5 * (_i % GSA_THIN(2)); flags < 16 && has_in_turn(levels[l].level, _i);
             flags += 5 * GSA_THIN(2)) /* none; vectors, dropout; bias, weights; all */
            check_graph(l, 3, dims[_i], flags, NULL);
}
END_TEST

START_TEST(every_width_and_window)
{
    static const int flags[] = {
        0, 1, 4, 5, 2, 32, 3, 66
    }; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int f = 0; f < GSA_COUNT(flags) && has_in_turn(levels[l].level, _i + f); f++)
            for (int w = (f + _i) % (2 * GSA_THIN(5)); w < GSA_COUNT(windows); w += 2 * GSA_THIN(5))
                check_graph(l, 1 + _i % 3, dims[_i], flags[f], &windows[w]);
}
END_TEST

/* More heads than are worked on together, a last group that is not full. */
START_TEST(many_heads)
{
    static const int heads[] = { 15, 16, 17, 35 }, flags[] = { 0, 15, 5, 10 };
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int f = 0; f < GSA_COUNT(flags) && has_in_turn(levels[l].level, _i); f++) {
            check_graph(l, heads[_i], 5, flags[f], NULL);
            check_graph(l, heads[_i], 18, flags[f] & ~8, &windows[f % 3]);
        }
}
END_TEST

START_TEST(whole_examples)
{
    static const int widths[] = { 16, 64, 101 }, flags[] = { 0, 32, 4, 36 };
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int f = _i % GSA_THIN(2); f < GSA_COUNT(flags) && has_in_turn(levels[l].level, _i);
             f += GSA_THIN(2))
            check_graph(l, 1 + f + f / 2, widths[_i], flags[f], &whole);
}
END_TEST

/* Whether numbers are close, and finite where the others are. */
static int agree(const float *x, const float *y, int count)
{
    int same = 1;
    for (int i = 0; i < count; i++)
        same &= isfinite(y[i]) ? fabsf(x[i] - y[i]) <= 1e-5f * (1 + fabsf(y[i])) : !isfinite(x[i]);
    return same;
}

/* What a row does not read must not reach it, though it is in the same tile: NaN and
 * infinities, in every input; with dropout too. */
START_TEST(what_is_not_read_does_not_matter)
{
    enum { ROWS = 87, HEADS = 5, DIM = 20, BAD = 20 * DIM + 7 /* row 20, head 1 */ };
    static const float bad[] = { NAN, INFINITY };
    static const int32_t id[] = { 5, 6 };
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int which = 0; which < 5 && gsa_cpu_has(levels[l].level);
             which++) { /* q, k, v, dout; none */
            static float x[4][ROWS * DIM], y[4][ROWS * DIM], plain[5][4][ROWS * DIM],
                lse[ROWS * HEADS];
            float *const out = y[0], (*const d)[ROWS * DIM] = y + 1;
            gsa_dice dice = { 5 };
            rig r = level_rig(levels[l].level, 1);
            make_windows(&r, (window){ 9, 0, 0, 0 });
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < ROWS * DIM; j++) x[i][j] = (float)gsa_bell(&dice);
            memset(y, 0, sizeof y);
            if (which < 4) x[which][BAD] = bad[_i % 2];
            const gsa_part parts[GSA_MAX_KINDS] = { { x[1], x[2], d[1], d[2] } };
            const gsa_attend_args args = { .edges = &r.device,
                                           .heads = HEADS,
                                           .head_dim = DIM / HEADS,
                                           .scale = 1,
                                           .q = x[0],
                                           .parts = parts,
                                           .dropout = { .p = _i < 2 ? 0 : 0.3, .example_id = id },
                                           .out = out,
                                           .lse = lse,
                                           .dout = x[3],
                                           .dq = d[0] };
            level_rig_attend(&r, &args);
            for (int row = 0; row < ROWS; row++) {
                int clean = 1, clean_d = 1;
                for (int i = 0; i < DIM; i++) {
                    clean &= isfinite(out[row * DIM + i]) != 0;
                    clean_d &= isfinite(d[0][row * DIM + i]) && isfinite(d[1][row * DIM + i]) &&
                               isfinite(d[2][row * DIM + i]);
                }
                if (row < 20 - 18 || row > 20 + 18 || which == 4)
                    ck_assert_msg(clean && clean_d, "%s: input %d spoils row %d", levels[l].name,
                                  which, row);
                if (row < 20 - 9 || row > 20 + 9)
                    ck_assert_msg(clean, "%s: input %d spoils the output of row %d", levels[l].name,
                                  which, row);
            }
            if (which < 3 && _i % 2 == 0) ck_assert(isnan(out[BAD]));
            if (which == 3) ck_assert(isnan(d[0][BAD]));
            if (l == 0) memcpy(plain[which], y, sizeof y);
            ck_assert_msg(agree(&y[0][0], &plain[which][0][0], 4 * ROWS * DIM), "%s: input %d",
                          levels[l].name, which);
            level_rig_end(&r);
        }
}
END_TEST

/* Of whole examples, which are matrix products: what is not finite in a row of q, k or v is where
 * plain C has it, and nowhere else. */
START_TEST(whole_examples_that_are_not_finite)
{
    enum { ROWS = 331, HEADS = 2, DIM = 128, COUNT = ROWS * DIM, BAD = 20 * DIM + 70 /* head 1 */ };
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    static float x[4][COUNT], y[4][COUNT], plain[3][4][COUNT], lse[ROWS * HEADS];
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int which = 0; which < 3 && gsa_cpu_has(levels[l].level); which++) { /* q, k, v */
            gsa_dice dice = { 7 };
            rig r = level_rig(levels[l].level, 1);
            int spoilt = 0;
            make_whole(&r);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < COUNT; j++) x[i][j] = (float)gsa_bell(&dice);
            memset(y, 0, sizeof y);
            x[which][BAD] = bad[_i];
            const gsa_part parts[GSA_MAX_KINDS] = { { x[1], x[2], y[2], y[3] },
                                                    { x[1], x[2], y[2], y[3] } };
            const gsa_attend_args args = { .edges = &r.device,
                                           .heads = HEADS,
                                           .head_dim = DIM / HEADS,
                                           .scale = 0.125,
                                           .q = x[0],
                                           .parts = parts,
                                           .out = y[0],
                                           .lse = lse,
                                           .dout = x[3],
                                           .dq = y[1] };
            level_rig_attend(&r, &args);
            for (int i = 0; i < COUNT; i++) spoilt += !isfinite(y[0][i]);
            if (l == 0) memcpy(plain[which], y, sizeof y);
            ck_assert_msg(spoilt > 0 && spoilt < COUNT, "%s: input %d spoils %d numbers",
                          levels[l].name, which, spoilt);
            ck_assert_msg(agree(&y[0][0], &plain[which][0][0], 4 * COUNT), "%s: input %d",
                          levels[l].name, which);
            level_rig_end(&r);
        }
}
END_TEST

/* A block of matrix products after one of few rows: where items of threads end, which other
 * example is in the batch, and what is not finite in one row (taint: q of the products' first)
 * change no bit of another. */
static void attend_behind(const float *const *x, float *out, int level, int threads, int examples,
                          int32_t before)
{
    enum { WHOLE = 300, HEADS = 2, DIM = 128 };
    static float lse[2 * (WHOLE + 20) * HEADS];
    const int64_t part_rows[] = { (int64_t)examples * WHOLE };
    int64_t first[6];
    rig r = level_rig(level, threads);
    for (int i = 0; i <= examples; i++)
        first[i] = (int64_t)i * before,
        first[examples + 1 + i] = (int64_t)examples * before + (int64_t)i * WHOLE;
    edges_begin(&r.maker, 1, part_rows, 1);
    for (int kind = 0; kind < 2; kind++)
        for (int32_t e = 0; e < examples; e++)
            for (int32_t i = 0; i < (kind ? WHOLE : before); i++) {
                edges_row(&r.maker, e, kind ? before + i : i);
                edges_run(&r.maker, (gsa_run){ e * WHOLE, kind ? WHOLE : 20, 1, 0, 0, 0 });
            }
    edges_done(&r.maker, examples, 2, first);
    rig_graph(&r);
    const gsa_part parts[GSA_MAX_KINDS] = { { x[1], x[2], NULL, NULL } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = HEADS,
                                   .head_dim = DIM / HEADS,
                                   .scale = 0.125,
                                   .q = x[0],
                                   .parts = parts,
                                   .out = out,
                                   .lse = lse };
    level_rig_attend(&r, &args);
    level_rig_end(&r);
}

START_TEST(products_behind_other_rows)
{
    enum { WHOLE = 300, DIM = 128, COUNT = 2 * (WHOLE + 20) * DIM };
    static const int32_t before[] = { 10, 15, 16, 3 };
    static const int threads[] = { 1, 2, 3, 8, 16 };
    static float x[3][COUNT], lone[3][COUNT], clean[COUNT], out[COUNT];
    const float *const all[] = { x[0], x[1], x[2] }, *const one[] = { lone[0], lone[1], lone[2] };
    const int32_t few = before[_i];
    gsa_dice dice = { 8 };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < COUNT; j++) x[i][j] = (float)gsa_bell(&dice);
    memcpy(lone, x, sizeof x);
    memcpy(lone[0] + few * DIM, x[0] + 2 * few * DIM,
           sizeof(float) * WHOLE * DIM); /* the first example's rows of a batch of two */
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int i = 0; i < GSA_COUNT(threads) && has_in_turn(levels[l].level, _i);
             i += GSA_THIN(2)) {
            lone[0][few * DIM] = x[0][2 * few * DIM];
            attend_behind(one, out, levels[l].level, threads[i], 1, few);
            if (i == 0) memcpy(clean, out, sizeof out);
            ck_assert_msg(memcmp(clean, out, sizeof(float) * (size_t)((few + WHOLE) * DIM)) == 0,
                          "%s, %d threads", levels[l].name, threads[i]);
            attend_behind(all, out, levels[l].level, threads[i], 2, few);
            ck_assert_msg(memcmp(clean, out, sizeof(float) * (size_t)(few * DIM)) == 0,
                          "%s, %d threads: few", levels[l].name, threads[i]);
            ck_assert_msg(
                memcmp(clean + few * DIM, out + 2 * few * DIM, sizeof(float) * WHOLE * DIM) == 0,
                "%s, %d threads: batch", levels[l].name, threads[i]);
            lone[0][few * DIM] = NAN;
            attend_behind(one, out, levels[l].level, threads[i], 1, few);
            ck_assert_msg(isnan(out[few * DIM]), "%s, %d threads: NaN", levels[l].name, threads[i]);
            ck_assert_msg(
                agree(clean, out, few * DIM) &&
                    agree(out + (few + 1) * DIM, clean + (few + 1) * DIM, (WHOLE - 1) * DIM),
                "%s, %d threads: others", levels[l].name, threads[i]);
        }
}
END_TEST

/* Windows, whole examples, and these where something is infinite in one head: others are still
 * worked out the same way. All of them with dropout again. */
enum { READINGS = GSA_COUNT(windows) + 2 };
START_TEST(threads_change_no_bit_of_a_tile)
{
    const int reading = _i % READINGS;
    enum { ROWS = 331, HEADS = 5, DIM = 60, WIDTH = HEADS * DIM, COUNT = ROWS * WIDTH };
    static const int threads[] = { 1, 2, 3, 8, 16 };
    static const int32_t id[] = { 8, 2 };
    static float x[4][COUNT], y[2][6][COUNT], lse[ROWS * HEADS];
    gsa_dice dice = { 6 };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < COUNT; j++) x[i][j] = (float)gsa_bell(&dice);
    if (reading > GSA_COUNT(windows)) x[2][0] = INFINITY;
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int i = 0; i < GSA_COUNT(threads) && has_in_turn(levels[l].level, _i);
             i += GSA_THIN(2)) {
            float(*to)[COUNT] = y[i > 0];
            rig r = level_rig(levels[l].level, threads[i]);
            if (reading < GSA_COUNT(windows)) make_windows(&r, windows[reading]);
            else make_whole(&r);
            memset(to, 0, sizeof y[0]);
            const gsa_part kinds[GSA_MAX_KINDS] = { { x[1], x[2], to[1], to[2] },
                                                    { x[2], x[1], to[4], to[5] } };
            const gsa_attend_args args = {
                .edges = &r.device,
                .heads = HEADS,
                .head_dim = reading < GSA_COUNT(windows) ? 10 : DIM,
                .scale = 1,
                .q = x[0],
                .parts = kinds,
                .dropout = { .p = _i < READINGS ? 0 : 0.2, .seed = 4, .example_id = id },
                .out = to[0],
                .lse = lse,
                .dout = x[3],
                .dq = to[3]
            };
            level_rig_attend(&r, &args);
            if (i > 0)
                ck_assert_msg(memcmp(y[0], y[1], sizeof y[0]) == 0, "%s: %d threads",
                              levels[l].name, threads[i]);
            level_rig_end(&r);
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test names[] = { GSA_TEST(levels_have_names_and_refusals),
                                      GSA_TEST(devices_have_names) };
    static const gsa_test exponential[] = { GSA_LOOP(exponential_is_close, GSA_COUNT(probes)),
                                            GSA_LOOP(logarithm_is_close, GSA_COUNT(probes)) };
    static const gsa_test rows[] = { GSA_LOOP(every_width_and_long_rows, GSA_COUNT(dims)),
                                     GSA_LOOP(every_width_and_window, GSA_COUNT(dims)),
                                     GSA_LOOP(many_heads, 4),
                                     GSA_LOOP(whole_examples, 3),
                                     GSA_LOOP(whole_examples_that_are_not_finite, 3),
                                     GSA_LOOP(products_behind_other_rows, 4),
                                     GSA_LOOP(what_is_not_read_does_not_matter, 4),
                                     GSA_LOOP(threads_change_no_bit_of_a_tile, 2 * READINGS) };
    static const gsa_case cases[] = { GSA_CASE("levels", names, 30),
                                      GSA_CASE("exponential", exponential, 30),
                                      GSA_CASE("rows", rows, 60) };
    return gsa_run_suite("cpu", cases, GSA_COUNT(cases), argc, argv);
}
