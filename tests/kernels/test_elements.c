/* The element-wise kernels of the cpu backend next to ref's, at each level: the same words of
 * dropout bit by bit, and what infinities, NaN and rows without a target become. That ordinary
 * numbers agree is the job of the table of ops, run at each level (GSA_TEST_BACKEND). */
#include "support/compare.h"
#include "support/suite.h"
#include "kernels/backend.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int levels[] = { GSA_CPU_PLAIN, GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED,
                              GSA_CPU_NEON };
enum { LEVELS = GSA_COUNT(levels) };

static gsa_backend *ref(void)
{
    gsa_backend *b = NULL;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    return b;
}

/* NULL where the machine has no such level. */
static gsa_backend *level(int i)
{
    gsa_backend *b = NULL;
    if (!gsa_cpu_has(levels[i])) return NULL;
    ck_assert_int_eq(gsa_backend_cpu(NULL, levels[i], 1, &b, NULL), GSA_OK);
    return b;
}

/* ---- dropout ------------------------------------------------------------------------------- */

enum { ROWS = 5, WIDEST = 300 };

/* Forward into y, in place into z, backward onto ones in dx. Inputs hold a NaN and an infinity,
 * which dropping makes 0. */
static void drop(gsa_backend *b, double p, int64_t cols, float *y, float *z, float *dx)
{
    static const int32_t id[] = { 7, INT32_MAX, 12345 }, example[ROWS] = { 0, 0, 1, 2, 2 },
                         local[ROWS] = { 0, 5, 1, INT32_MAX, 9 };
    const gsa_dropout d = { .p = p,
                            .seed = 0xDEADBEEF,
                            .step = 4000000000u,
                            .site = (1u << 20) - 1,
                            .example_id = id,
                            .row_example = example,
                            .row_local = local };
    gsa_dice dice = { (uint64_t)cols };
    float x[ROWS * WIDEST];
    for (int64_t i = 0; i < ROWS * cols; i++) {
        x[i] = i % 11 == 3 ? NAN : i % 13 == 5 ? INFINITY : (float)gsa_normal(&dice);
        z[i] = x[i];
        dx[i] = 1;
    }
    ck_assert_int_eq(b->dropout_forward(b, y, x, &d, ROWS, cols), GSA_OK);
    ck_assert_int_eq(b->dropout_forward(b, z, z, &d, ROWS, cols), GSA_OK);
    ck_assert_int_eq(b->dropout_backward(b, dx, x, &d, ROWS, cols), GSA_OK);
}

START_TEST(dropout_draws_the_words_of_ref)
{
    static const double rates[] = { 0, 0.1, 0.5, 0.999 };
    for (int64_t cols = 1; cols <= WIDEST; cols += cols < 140 ? 1 : 23)
        for (int l = 0; l < LEVELS; l++) {
            float want[3][ROWS * WIDEST], got[3][ROWS * WIDEST];
            gsa_backend *a = ref(), *b = level(l);
            if (b) {
                const size_t bytes = sizeof(float) * (size_t)(ROWS * cols);
                drop(a, rates[_i], cols, want[0], want[1], want[2]);
                drop(b, rates[_i], cols, got[0], got[1], got[2]);
                for (int i = 0; i < 3; i++)
                    ck_assert_msg(memcmp(got[i], want[i], bytes) == 0,
                                  "%s, %d columns, p = %g, output %d", b->name, (int)cols,
                                  rates[_i], i);
            }
            gsa_backend_release(a);
            gsa_backend_release(b);
        }
}
END_TEST

/* ---- cross entropy ------------------------------------------------------------------------- */

static int alike(float got, float want, double size)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return fabs((double)got - (double)want) <= 1e-6 * size;
}

/* One row: gradients next to ref's to 1e-6 of the slope, losses to 1e-6 of the largest logit. */
static void check_row(int l, const char *what, const float *x, int32_t target, double smoothing,
                      int64_t classes)
{
    gsa_backend *a = ref(), *b = level(l);
    const float slope = 1;
    float loss[2], nll[2], *dx[2];
    double size = 1;
    for (int64_t c = 0; c < classes; c++)
        if (isfinite(x[c])) size = fmax(size, fabs((double)x[c]));
    for (int i = 0; i < 2 && b; i++) {
        gsa_backend *one = i ? b : a;
        dx[i] = calloc((size_t)classes, sizeof(float));
        ck_assert_int_eq(one->cross_entropy_forward(one, &loss[i], &nll[i], x, &target, smoothing,
                                                    1, 1, classes),
                         GSA_OK);
        ck_assert_int_eq(one->cross_entropy_backward(one, dx[i], &slope, x, &target, smoothing, 1,
                                                     1, 1, classes),
                         GSA_OK);
    }
    if (b) {
        ck_assert_msg(alike(loss[1], loss[0], size) && alike(nll[1], nll[0], size),
                      "%s, %s, %d classes: loss %g %g, expected %g %g", b->name, what, (int)classes,
                      (double)loss[1], (double)nll[1], (double)loss[0], (double)nll[0]);
        for (int64_t c = 0; c < classes; c++)
            ck_assert_msg(alike(dx[1][c], dx[0][c], 1),
                          "%s, %s, %d classes: slope %d is %g, expected %g", b->name, what,
                          (int)classes, (int)c, (double)dx[1][c], (double)dx[0][c]);
        free(dx[0]);
        free(dx[1]);
    }
    gsa_backend_release(a);
    gsa_backend_release(b);
}

START_TEST(rows_that_are_not_ordinary)
{
    static const int64_t widths[] = { 1, 2, 7, 8, 16, 17, 31, 64, 65, 257, 513, 6000 };
    static const float odd[] = { 0, NAN, INFINITY, -INFINITY, 1e8f, -1e8f };
    gsa_dice dice = { 17 };
    float *x = malloc(sizeof *x * 6000);
    for (int w = 0; w < GSA_COUNT(widths); w++)
        for (int i = 0; i < GSA_COUNT(odd); i++) {
            const int64_t n = widths[w];
            const double smoothing = i % 2 ? 0.1 : 0;
            for (int64_t c = 0; c < n; c++) x[c] = (float)(3 * gsa_normal(&dice));
            check_row(_i, "no target", x, -1, smoothing, n);
            x[n - 1] = odd[i];
            check_row(_i, "odd one last", x, 0, smoothing, n);
            check_row(_i, "odd target", x, (int32_t)n - 1, smoothing, n);
            for (int64_t c = 0; c < n; c++) x[c] = odd[i];
            check_row(_i, "all alike", x, 0, smoothing, n);
            for (int64_t c = 0; c < n; c++) x[c] = 1000 + (float)(60 * gsa_normal(&dice));
            check_row(_i, "large", x, (int32_t)(n / 2), smoothing, n);
        }
    free(x);
}
END_TEST

/* ---- activations --------------------------------------------------------------------------- */

static double exact(int kind, double x, double *slope)
{
    const double root = sqrt(2), bell = exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
    double y = x > 0 ? x : kind == GSA_RELU ? 0 : 0.01 * x;
    *slope = x > 0 ? 1 : kind == GSA_RELU ? 0 : 0.01;
    if (kind == GSA_GELU) y = x * erfc(-x / root) / 2, *slope = erfc(-x / root) / 2 + x * bell;
    if (kind == GSA_TANH) y = tanh(x), *slope = 1 / (cosh(x) * cosh(x));
    if (kind == GSA_SIGMOID) y = 1 / (1 + exp(-x)), *slope = y * (1 - y);
    return y;
}

/* From 1e-6 to 40 on both sides: values to 4e-7 of 1 or of themselves, whichever is larger, tanh
 * near 0 to 4e-7 of itself. */
START_TEST(activations_are_close)
{
    enum { N = 4001 };
    static float x[2 * N], y[2 * N], dx[2 * N], ones[2 * N];
    gsa_backend *b = level(_i);
    if (!b) return;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(40 * pow(10, -7.6 * i / N));
        x[N + i] = -x[i];
        ones[i] = ones[N + i] = 1;
    }
    for (int kind = GSA_RELU; kind <= GSA_SIGMOID; kind++) {
        memset(dx, 0, sizeof dx);
        ck_assert_int_eq(b->activate_forward(b, y, x, kind, 2 * N), GSA_OK);
        ck_assert_int_eq(b->activate_backward(b, dx, ones, x, kind, 1, 2 * N), GSA_OK);
        for (int i = 0; i < 2 * N; i++) {
            double slope;
            const double want = exact(kind, (double)x[i], &slope);
            const double size = kind == GSA_TANH ? fabs(want) : fmax(1, fabs(want));
            ck_assert_msg(fabs((double)y[i] - want) <= 4e-7 * size,
                          "%s: activation %d of %g is %g, not %g", b->name, kind, (double)x[i],
                          (double)y[i], want);
            ck_assert_msg(fabs((double)dx[i] - slope) <= 6e-7, "%s: slope %d at %g is %g, not %g",
                          b->name, kind, (double)x[i], (double)dx[i], slope);
        }
    }
    gsa_backend_release(b);
}
END_TEST

/* The ends of the numbers, in place and with every number of them after the last whole vector. */
START_TEST(activations_of_odd_numbers)
{
    static const float odd[] = { 0,      -0.0f,   NAN, INFINITY, -INFINITY, 3e38f, -3e38f,
                                 1e-40f, -1e-40f, 100, -100,     88,        -88 };
    enum { N = GSA_COUNT(odd) };
    gsa_backend *a = ref(), *b = level(_i);
    for (int kind = GSA_RELU; b && kind <= GSA_SIGMOID; kind++)
        for (int count = 0; count <= 40; count++) {
            float y[2][40], dx[2][40] = { { 0 } }, dy[40];
            for (int i = 0; i < count; i++)
                y[0][i] = y[1][i] = odd[(i + count) % N], dy[i] = 1 + (float)i;
            a->activate_backward(a, dx[0], dy, y[0], kind, 1, count);
            b->activate_backward(b, dx[1], dy, y[1], kind, 1, count);
            float in_place[40];
            memcpy(in_place, dy, sizeof in_place);
            b->activate_backward(b, in_place, in_place, y[1], kind, 0, count);
            for (int i = 0; i < count; i++)
                ck_assert_msg(alike(in_place[i], dx[1][i], 0), "%s: activation %d in place",
                              b->name, kind);
            a->activate_forward(a, y[0], y[0], kind, count);
            b->activate_forward(b, y[1], y[1], kind, count);
            for (int i = 0; i < count; i++)
                ck_assert_msg(alike(y[1][i], y[0][i], fmax(1, fabs((double)y[0][i]))) &&
                                  alike(dx[1][i], dx[0][i], 41),
                              "%s: activation %d of %g is %g with slope %g, expected %g with %g",
                              b->name, kind, (double)odd[(i + count) % N], (double)y[1][i],
                              (double)dx[1][i], (double)y[0][i], (double)dx[0][i]);
        }
    gsa_backend_release(a);
    gsa_backend_release(b);
}
END_TEST

/* ---- layer norm ---------------------------------------------------------------------------- */

enum { NORM_ROWS = 7, OUTPUTS = 3 };

/* Forward into out[0], backward onto what out[1] (dx) and out[2] (dgain, then dbias) hold; which:
 * bits of the gradients that are wanted. */
static void norm(gsa_backend *b, const float *x, int64_t cols, int which, float *const out[OUTPUTS])
{
    float gain[WIDEST], bias[WIDEST], mean[NORM_ROWS], rstd[NORM_ROWS];
    gsa_dice dice = { 3 };
    for (int64_t i = 0; i < cols; i++)
        gain[i] = (float)gsa_normal(&dice), bias[i] = (float)gsa_normal(&dice);
    for (int64_t i = 0; i < NORM_ROWS * cols; i++) out[1][i] = (float)i / 100;
    for (int64_t i = 0; i < 2 * cols; i++) out[2][i] = (float)i / 100;
    ck_assert_int_eq(b->norm_forward(b, out[0], mean, rstd, x, gain, bias, 1e-5, NORM_ROWS, cols),
                     GSA_OK);
    ck_assert_int_eq(b->norm_backward(b, which & 1 ? out[1] : NULL, which & 2 ? out[2] : NULL,
                                      which & 4 ? out[2] + cols : NULL, x, x, gain, mean, rstd, 1,
                                      NORM_ROWS, cols),
                     GSA_OK);
}

/* Rows of plain numbers, of numbers far from 0, of one number, with a NaN, with an infinity; any of
 * the gradients. */
START_TEST(norm_beside_ref)
{
    static const int64_t widths[] = { 1, 2, 7, 15, 16, 17, 40, 127, 128, 129, 300 };
    gsa_backend *a = ref(), *b = level(_i);
    for (int w = 0; b && w < GSA_COUNT(widths); w++)
        for (int which = 0; which < 8; which++) {
            const int64_t n = widths[w], counts[OUTPUTS] = { NORM_ROWS * n, NORM_ROWS * n, 2 * n };
            float x[NORM_ROWS * WIDEST], *want[OUTPUTS], *got[OUTPUTS];
            gsa_dice dice = { 9 };
            for (int64_t i = 0; i < NORM_ROWS * n; i++)
                x[i] = (float)((i / n == 1 ? 1000 : 0) + (i / n == 2 ? 0.5 : gsa_normal(&dice)));
            if (which % 2 == 0) x[3 * n + n / 2] = NAN, x[4 * n + n - 1] = INFINITY;
            for (int o = 0; o < OUTPUTS; o++) {
                want[o] = calloc((size_t)counts[o], sizeof(float));
                got[o] = calloc((size_t)counts[o], sizeof(float));
            }
            norm(a, x, n, which, want);
            norm(b, x, n, which, got);
            for (int o = 0; o < OUTPUTS; o++) {
                for (int64_t i = 0; i < counts[o];
                     i++) /* a row whose numbers are 1000 deviations from 0 keeps 3 digits less */
                    ck_assert_msg(
                        alike(got[o][i], want[o][i], 2e3 * fmax(1, fabs((double)want[o][i]))),
                        "%s, %d columns, gradients %d: output %d [%d] is %g, expected %g", b->name,
                        (int)n, which, o, (int)i, (double)got[o][i], (double)want[o][i]);
                free(want[o]);
                free(got[o]);
            }
        }
    gsa_backend_release(a);
    gsa_backend_release(b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test dropout[] = { GSA_LOOP(dropout_draws_the_words_of_ref, 4) };
    static const gsa_test entropy[] = { GSA_LOOP(rows_that_are_not_ordinary, LEVELS) };
    static const gsa_test activations[] = { GSA_LOOP(activations_are_close, LEVELS),
                                            GSA_LOOP(activations_of_odd_numbers, LEVELS) };
    static const gsa_test norms[] = { GSA_LOOP(norm_beside_ref, LEVELS) };
    static const gsa_case cases[] = { GSA_CASE("dropout", dropout, 30),
                                      GSA_CASE("entropy", entropy, 30),
                                      GSA_CASE("activations", activations, 30),
                                      GSA_CASE("norm", norms, 30) };
    return gsa_run_suite("cpu_elements", cases, GSA_COUNT(cases), argc, argv);
}
