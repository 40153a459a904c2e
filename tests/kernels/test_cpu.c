/* What the cpu backend adds to ref: levels, the vectors' exponential, heads of every width and rows longer than a block. That its
 * table equals ref's oracle is the job of the other suites, run at each level (GSA_TEST_BACKEND). */
#include "op_cases.h"
#include "support/suite.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int level;
    const char *name;
} levels[] = { { GSA_CPU_PLAIN, "cpu (plain C)" }, { GSA_CPU_AVX2, "cpu (AVX2)" }, { GSA_CPU_AVX512, "cpu (AVX-512)" } };

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
            best = i;
        } else {
            ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
            ck_assert_ptr_nonnull(strstr(error.text, "is not there on this machine"));
        }
    }
    ck_assert_int_eq(gsa_backend_cpu(NULL, GSA_CPU_BEST, 1, &b, &error), GSA_OK);
    ck_assert_str_eq(b->name, levels[best > 0 ? best : 0].name);
    gsa_backend_release(b);
    ck_assert_int_eq(gsa_backend_cpu(NULL, 4, 1, &b, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "level 4"));
    ck_assert_int_eq(gsa_cpu_has(-1) + gsa_cpu_has(4), 0);
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

/* ---- e^x -------------------------------------------------------------------------------------------------------------------- */

#ifdef GSA_HAVE_X86_LEVELS
void gsa_cpu_avx2_exp_probe(float *y, const float *x, int count);
void gsa_cpu_avx512_exp_probe(float *y, const float *x, int count);
void gsa_cpu_avx2_log_probe(float *y, const float *x, int count);
void gsa_cpu_avx512_log_probe(float *y, const float *x, int count);

static const struct {
    int level;
    void (*exp)(float *y, const float *x, int count);
    void (*log)(float *y, const float *x, int count);
} probes[] = { { GSA_CPU_AVX2, gsa_cpu_avx2_exp_probe, gsa_cpu_avx2_log_probe },
               { GSA_CPU_AVX512, gsa_cpu_avx512_exp_probe, gsa_cpu_avx512_log_probe } };

START_TEST(exponential_is_close)
{
    enum { CHUNK = 1001 };
    static float x[CHUNK], y[CHUNK];
    if (!gsa_cpu_has(probes[_i].level)) return;
    double worst = 0;
    for (double from = -87.3; from < 88.7; from += 0.01 * CHUNK) {
        for (int i = 0; i < CHUNK; i++) x[i] = (float)fmin(from + 0.01 * i, 88.7);
        probes[_i].exp(y, x, CHUNK);
        for (int i = 0; i < CHUNK; i++) worst = fmax(worst, fabs((double)y[i] / exp((double)x[i]) - 1));
    }
    ck_assert_msg(worst < 1.2e-7, "largest relative error %g", worst);
    const float edge[] = { 0, -0.0f, 1, INFINITY, -INFINITY, NAN, 88.8f, -104.5f, -100, -1e30f, 1e30f };
    float got[GSA_COUNT(edge)];
    probes[_i].exp(got, edge, GSA_COUNT(edge));
    ck_assert(got[0] == 1 && got[1] == 1 && isinf(got[3]) && got[4] == 0 && isnan(got[5]) && isinf(got[6]) && got[7] == 0);
    ck_assert(got[9] == 0 && isinf(got[10]));
    ck_assert_float_eq_tol(got[8] / FLT_TRUE_MIN, expf(-100) / FLT_TRUE_MIN, 1); /* denormal: to its last place */
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
            worst = fmax(worst, fabs((double)y[i] - want) / fmax(want, 1e-30 + fmin(1, (double)x[i] - 1)));
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
    ck_assert_int_eq(gsa_cpu_has(GSA_CPU_AVX2), 0); /* no level of vectors is built: nothing to compare */
}
END_TEST

START_TEST(logarithm_is_close)
{
    ck_assert_int_eq(gsa_cpu_has(GSA_CPU_AVX512), 0);
}
END_TEST
#endif

/* ---- widths of heads, rows longer than a block ------------------------------------------------------------------------------------ */

static const int dims[] = { 1, 3, 8, 10, 15, 16, 17, 31, 32, 33, 50, 63, 64, 65, 100, 127, 128, 129, 200, 256 };

/* Rows of 0 to 200 edges, in runs of every step; duplicates. */
static void make_rows(rig *r)
{
    static const int32_t degrees[] = { 0, 1, 2, 3, 4, 5, 15, 16, 17, 33, 63, 64, 65, 130, 200 };
    const int64_t part_rows[2] = { 12, 7 };
    edges_begin(&r->maker, 2, part_rows, 5);
    for (int32_t row = 0; row < GSA_COUNT(degrees); row++) {
        edges_row(&r->maker, 0, row);
        for (int32_t left = degrees[row], i = 0; left > 0; i++) {
            const int32_t kind = i % 2, span = kind ? 7 : 12, count = left < span - i % 3 ? left : span - i % 3;
            edges_run(&r->maker, (gsa_run){ 0, count, 1, i % 5, 0, kind });
            left -= count;
        }
    }
    edges_done(&r->maker, 1, 1, NULL);
    rig_graph(r);
}

START_TEST(every_width_and_long_rows)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int flags = 0; flags < 16 && gsa_cpu_has(levels[l].level);
             flags += 5) { /* none; vectors, dropout; bias, weights; all */
            const op_shape shape = { 19, 3, dims[_i], 1, flags };
            char name[64];
            gsa_backend *b;
            rig r;
            ck_assert_int_eq(gsa_backend_cpu(NULL, levels[l].level, 1, &b, NULL), GSA_OK);
            snprintf(name, sizeof name, "%s, head_dim %d, flags %d", levels[l].name, dims[_i], flags);
            rig_begin(&r, b, (uint64_t)(31 * dims[_i] + flags), RIG_RANDOM, shape);
            make_rows(&r);
            op->setup(&r);
            ck_assert_int_eq(op->forward(&r), GSA_OK);
            ck_assert_int_eq(op->backward(&r), GSA_OK);
            rig_fetch(&r);
            op->oracle_backward(&r);
            ck_assert_msg(rig_compare(&r, name, 0, 1e-7, 1e-4) == 0, "%s: forward differs (see above)", name);
            ck_assert_msg(rig_compare(&r, name, 1, 1e-7, 1e-4) == 0, "%s: backward differs (see above)", name);
            ck_assert_msg(rig_bands_touched(&r) == 0, "%s: a guard band was touched", name);
            rig_end(&r);
            gsa_backend_release(b);
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test names[] = { GSA_TEST(levels_have_names_and_refusals), GSA_TEST(devices_have_names) };
    static const gsa_test exponential[] = { GSA_LOOP(exponential_is_close, GSA_COUNT(probes)),
                                            GSA_LOOP(logarithm_is_close, GSA_COUNT(probes)) };
    static const gsa_test rows[] = { GSA_LOOP(every_width_and_long_rows, GSA_COUNT(dims)) };
    static const gsa_case cases[] = { GSA_CASE("levels", names, 30), GSA_CASE("exponential", exponential, 30),
                                      GSA_CASE("rows", rows, 60) };
    return gsa_run_suite("cpu", cases, GSA_COUNT(cases), argc, argv);
}
