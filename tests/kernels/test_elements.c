/* The element-wise kernels of the cpu backend beside ref's, at each level: the same words of dropout bit by bit, and what infinities, NaN
 * and rows without a target become. That ordinary numbers agree is the job of the table of ops, run at each level (GSA_TEST_BACKEND). */
#include "support/compare.h"
#include "support/suite.h"
#include "kernels/backend.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int levels[] = { GSA_CPU_PLAIN, GSA_CPU_AVX2, GSA_CPU_AVX512 };
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

/* ---- dropout ------------------------------------------------------------------------------------------------------------------ */

enum { ROWS = 5, WIDEST = 300 };

/* Forward into y, in place into z, backward onto ones in dx. Inputs hold a NaN and an infinity, which dropping makes 0. */
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
                    ck_assert_msg(memcmp(got[i], want[i], bytes) == 0, "%s, %d columns, p = %g, output %d", b->name,
                                  (int)cols, rates[_i], i);
            }
            gsa_backend_release(a);
            gsa_backend_release(b);
        }
}
END_TEST

/* ---- cross entropy -------------------------------------------------------------------------------------------------------------- */

static int alike(float got, float want, double size)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return fabs((double)got - (double)want) <= 1e-6 * size;
}

/* One row: gradients beside ref's to 1e-6 of the slope, losses to 1e-6 of the largest logit. */
static void check_row(int l, const char *what, const float *x, int32_t target, double smoothing, int64_t classes)
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
        ck_assert_int_eq(one->cross_entropy_forward(one, &loss[i], &nll[i], x, &target, smoothing, 1, 1, classes), GSA_OK);
        ck_assert_int_eq(one->cross_entropy_backward(one, dx[i], &slope, x, &target, smoothing, 1, 1, classes), GSA_OK);
    }
    if (b) {
        ck_assert_msg(alike(loss[1], loss[0], size) && alike(nll[1], nll[0], size),
                      "%s, %s, %d classes: loss %g %g, expected %g %g", b->name, what, (int)classes, (double)loss[1],
                      (double)nll[1], (double)loss[0], (double)nll[0]);
        for (int64_t c = 0; c < classes; c++)
            ck_assert_msg(alike(dx[1][c], dx[0][c], 1), "%s, %s, %d classes: slope %d is %g, expected %g", b->name, what,
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

int main(int argc, char **argv)
{
    static const gsa_test dropout[] = { GSA_LOOP(dropout_draws_the_words_of_ref, 4) };
    static const gsa_test entropy[] = { GSA_LOOP(rows_that_are_not_ordinary, LEVELS) };
    static const gsa_case cases[] = { GSA_CASE("dropout", dropout, 30), GSA_CASE("entropy", entropy, 30) };
    return gsa_run_suite("cpu_elements", cases, GSA_COUNT(cases), argc, argv);
}
