/* The small Masked Summation of train/recipes: the radial connection is what carries far rows; the
 * ring is not needed. */
#include <stdlib.h>
#include <string.h>
#include "support/suite.h"
#include "train/driver.h"

static const struct {
    const char *encoder;
    double low, high; /* of the test MSE */
} variants[] = {
    { "model.encoder=star", 0, 0.006 },
    { "model.encoder=star:ring=0", 0, 0.006 },
    { "model.encoder=star:radial=0", 0.015, 0.1 },
};

START_TEST(small_masked_summation)
{
    gsa_error error;
    char *result;
    const gsa_train_options options = { .recipe = GSA_RECIPES "/masked-summation-small.ini",
                                        .overrides = &variants[_i].encoder,
                                        .n_overrides = 1,
                                        .device = "cpu",
                                        .threads = 1 };
    ck_assert_msg(gsa_train(NULL, &options, &result, &error) == GSA_OK, "%s", error.text);
    const char *at = strstr(result, "\"test_mse\": ");
    ck_assert_ptr_nonnull(at);
    const double mse = strtod(at + strlen("\"test_mse\": "), NULL);
    ck_assert_msg(mse > variants[_i].low && mse < variants[_i].high, "%s: %s", variants[_i].encoder,
                  result);
    gsa_release(gsa_system_default(), result);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test summation[] = { GSA_LOOP(small_masked_summation, GSA_COUNT(variants)) };
    static const gsa_case cases[] = { GSA_CASE("summation", summation, 300) };
    return gsa_run_suite("learns", cases, GSA_COUNT(cases), argc, argv);
}
