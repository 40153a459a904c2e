/* Sampling: exact sets, ties, frequencies by chi-square, refusals. Written text: words, characters,
 * broken bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "support/compare.h"
#include "support/suite.h"
#include "train/decode/sampler.h"

enum { CLASSES = 6, DRAWS = 20000 };

static gsa_error error;

static gsa_sampler *sampler_of(double temperature, int32_t top_k, double top_p, int32_t classes)
{
    gsa_sampler *s;
    const gsa_sampling how = { .temperature = temperature, .top_k = top_k, .top_p = top_p };
    ck_assert_msg(gsa_sampler_create(gsa_system_default(), &how, classes, &s, &error) == GSA_OK,
                  "%s", error.text);
    return s;
}

static int32_t draw(gsa_sampler *s, const double *logits, double u)
{
    int32_t drawn;
    ck_assert_msg(gsa_sampler_draw(s, logits, u, &drawn, NULL, &error) == GSA_OK, "%s", error.text);
    return drawn;
}

/* ---- which classes can be drawn: bits ------------------------------------------------------ */
#define LN(p) log(p)
static const struct {
    double p[CLASSES];
    int32_t top_k;
    double top_p, temperature;
    unsigned set;
} sets[] = {
    /* class   5432 10 */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 1, 1, 0x3f },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 6, 1, 1, 0x3f },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 9, 1, 1, 0x3f },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 1, 1, 1, 0x02 },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 2, 1, 1, 0x06 }, /* of equals the first */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 5, 1, 1, 0x1f },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 0.39, 1, 0x02 },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 0.41, 1, 0x06 },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 0.85, 1, 0x0f },
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 1e-9, 1, 0x02 }, /* at least one */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 },
      3,
      0.7,
      1,
      0x06 }, /* 0.6 of 0.8: p counts what top_k left */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 },
      0,
      0.5,
      1e-2,
      0x02 }, /* cold: one takes nearly all, before p is asked */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 },
      0,
      0.66,
      1e6,
      0x0f }, /* hot: all alike, 4 of 6, the larger ones */
    { { 0.1, 0.4, 0.2, 0.2, 0.05, 0.05 }, 0, 1, 0, 0x02 }, /* greedy */
    { { 0.2, 0.2, 0.2, 0.2, 0.2, 0 }, 0, 1, 0, 0x01 },
    { { 0, 0.5, 0, 0.5, 0, 0 }, 0, 1, 1, 0x0a }, /* -inf: never */
    { { 0, 0.5, 0, 0.5, 0, 0 }, 4, 1, 1, 0x0a },
    { { 0, 0, 0, 1, 0, 0 }, 0, 0.5, 1, 0x08 },
};

START_TEST(the_set_is_exact)
{
    double logits[CLASSES];
    unsigned seen = 0;
    gsa_sampler *s = sampler_of(sets[_i].temperature, sets[_i].top_k, sets[_i].top_p, CLASSES);
    for (int c = 0; c < CLASSES; c++) logits[c] = LN(sets[_i].p[c]) + 3;
    for (int i = 0; i < 4000; i++) seen |= 1u << draw(s, logits, i / 4000.0);
    seen |= 1u << draw(s, logits, 1 - 0x1p-53);
    ck_assert_uint_eq(seen, sets[_i].set);
    gsa_sampler_release(s);
}
END_TEST

/* ---- how often ----------------------------------------------------------------------------- */
/* Chi-square of DRAWS draws against `expected`; 5 degrees of freedom: above 20.5 once in a
 * thousand. The seed is fixed. */
static double chi_square(gsa_sampler *s, const double *logits, const double *expected,
                         uint32_t seed)
{
    int64_t count[CLASSES] = { 0 };
    double sum = 0;
    for (int64_t i = 0; i < DRAWS; i++) count[draw(s, logits, gsa_sample_uniform(seed, 3, i))]++;
    for (int c = 0; c < CLASSES; c++) {
        const double want = expected[c] * DRAWS, off = (double)count[c] - want;
        if (want > 0) sum += off * off / want;
        else ck_assert_int_eq(count[c], 0);
    }
    return sum;
}

static const struct {
    double temperature, top_p;
    int32_t top_k;
} ways[] = { { 1, 1, 0 }, { 0.5, 1, 0 }, { 2, 1, 0 }, { 1, 1, 3 }, { 1, 0.7, 0 }, { 0.7, 0.8, 4 } };

START_TEST(frequencies_are_the_probabilities)
{
    static const double p[CLASSES] = { 0.05, 0.3, 0.1, 0.25, 0.18, 0.12 };
    static const int by_size[CLASSES] = { 1, 3, 4, 5, 2, 0 };
    double logits[CLASSES], expected[CLASSES] = { 0 }, sum = 0, before = 0;
    const int most = ways[_i].top_k ? ways[_i].top_k : CLASSES;
    for (int c = 0; c < CLASSES; c++) logits[c] = log(p[c]) - 7;
    for (int i = 0; i < most; i++) sum += pow(p[by_size[i]], 1 / ways[_i].temperature);
    for (int i = 0; i < most && (i == 0 || before < ways[_i].top_p * sum); i++)
        before += expected[by_size[i]] = pow(p[by_size[i]], 1 / ways[_i].temperature);
    for (int c = 0; c < CLASSES; c++) expected[c] /= before;
    gsa_sampler *s = sampler_of(ways[_i].temperature, ways[_i].top_k, ways[_i].top_p, CLASSES);
    const double found = chi_square(s, logits, expected, 11);
    ck_assert_msg(found < 20.5, "chi-square %g", found);
    double warmer[CLASSES];
    for (int c = 0; c < CLASSES; c++) warmer[c] = expected[c] > 0 ? 1.0 / CLASSES : 0;
    if (expected[0] > 0)
        ck_assert_double_gt(chi_square(s, logits, warmer, 11), 100); /* the test can fail */
    gsa_sampler_release(s);
}
END_TEST

START_TEST(uniform_numbers)
{
    int64_t count[10] = { 0 };
    for (int64_t i = 0; i < DRAWS; i++) {
        const double u = gsa_sample_uniform(1, 2, i);
        ck_assert(u >= 0 && u < 1 && u == gsa_sample_uniform(1, 2, i));
        count[(int)(10 * u)]++;
    }
    double sum = 0;
    for (int b = 0; b < 10; b++) sum += pow((double)count[b] - DRAWS / 10.0, 2) / (DRAWS / 10.0);
    ck_assert_double_lt(sum, 27.9); /* 9 degrees of freedom, once in a thousand */
    ck_assert(gsa_sample_uniform(1, 2, 3) != gsa_sample_uniform(2, 2, 3));
    ck_assert(gsa_sample_uniform(1, 2, 3) != gsa_sample_uniform(1, 3, 3));
    ck_assert(gsa_sample_uniform(1, 2, 3) != gsa_sample_uniform(1, 2, 3 + (INT64_C(1) << 32)));
}
END_TEST

START_TEST(log_p_is_that_of_the_drawn)
{
    const double logits[3] = { 1, 3, 2 };
    const double sum = exp(1) + exp(3) + exp(2);
    int32_t drawn;
    double log_p;
    gsa_sampler *s = sampler_of(1, 2, 1, 3), *greedy = sampler_of(0, 0, 1, 3);
    ck_assert_int_eq(gsa_sampler_draw(s, logits, 0.999, &drawn, &log_p, &error), GSA_OK);
    ck_assert_int_eq(drawn, 2);
    ck_assert_double_eq_tol(log_p, log(exp(2) / sum), 1e-12);
    ck_assert_int_eq(gsa_sampler_draw(greedy, logits, 0.999, &drawn, &log_p, &error), GSA_OK);
    ck_assert_int_eq(drawn, 1);
    ck_assert_double_eq_tol(log_p, log(exp(3) / sum), 1e-12);
    gsa_sampler_release(s), gsa_sampler_release(greedy);
}
END_TEST

START_TEST(refused)
{
    static const gsa_sampling wrong[] = {
        { -1, 1, 0, 0 },  { NAN, 1, 0, 0 }, { 1, 0, 0, 0 },
        { 1, 1.5, 0, 0 }, { 1, 1, -1, 0 },  { INFINITY, 1, 0, 0 }
    };
    static const double bad[][2] = {
        { NAN, 0 }, { 0, NAN }, { -INFINITY, -INFINITY }, { INFINITY, 0 }
    };
    gsa_sampler *s;
    int32_t drawn;
    for (int i = 0; i < GSA_COUNT(wrong); i++)
        ck_assert_int_eq(gsa_sampler_create(gsa_system_default(), &wrong[i], 3, &s, &error),
                         GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "temperature inf"));
    s = sampler_of(1, 0, 0.5, 2);
    for (int i = 0; i < GSA_COUNT(bad); i++)
        ck_assert_int_eq(gsa_sampler_draw(s, bad[i], 0.5, &drawn, NULL, &error), GSA_ERR_FORMAT);
    gsa_sampler_release(s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test set_tests[] = { GSA_LOOP(the_set_is_exact, GSA_COUNT(sets)) };
    static const gsa_test numbers[] = {
        GSA_LOOP(frequencies_are_the_probabilities, GSA_COUNT(ways)), GSA_TEST(uniform_numbers),
        GSA_TEST(log_p_is_that_of_the_drawn)
    };
    static const gsa_test refusals[] = { GSA_TEST(refused) };
    static const gsa_case cases[] = { GSA_CASE("sets", set_tests, 30),
                                      GSA_CASE("numbers", numbers, 30),
                                      GSA_CASE("refusals", refusals, 30) };
    return gsa_run_suite("sampler", cases, GSA_COUNT(cases), argc, argv);
}
