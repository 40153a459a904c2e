/* Whole models of the built-in topologies against central differences in double, over every
 * parameter and the input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "harness.h"
#include "support/compare.h"
#include "support/suite.h"
#include "support/thin.h"
#include "trial.h"

static const double eps = 1e-6, atol_ = 1e-5, rtol_ = 1e-3;
enum {
    MOST = 30 / GSA_THIN(3),
    FEW = 3 / GSA_THIN(3)
}; /* elements of a larger matrix that are tried, of a random model's */

/* ---- built-in topologies */
typedef struct row {
    const char *spec;
    int norm, bias, scale, activation, readout;
} row;
enum { MEAN = GSA_POOL_MEAN, MAX = GSA_POOL_MAX };
/* clang-format off */
static const row rows[] = {
    /* spec                             norm            bias  scale           activation, readout */
    { "star*2",                         GSA_NORM_POST,  0,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star*2",                         GSA_NORM_POST,  7,    GSA_SCALE_FULL, GSA_GELU, 0 },
    { "star*1",                         GSA_NORM_PRE,   7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star:share=1*2",                 GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star:cyclic=0*2",                GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star:radial=0*2",                GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star:ring=0*2",                  GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "full*2",                         GSA_NORM_POST,  0,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "full*2",                         GSA_NORM_PRE,   7,    GSA_SCALE_FULL, GSA_TANH, 0 },
    { "full:clip=2*2",                  GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_SIGMOID, 0 },
    { "full:causal=1*2",                GSA_NORM_PRE,   4,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "full:causal=1:clip=1:share=1*2", GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_RELU, 0 },
    { "ring*2",                         GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "ring:cyclic=0*2",                GSA_NORM_PRE,   7,    GSA_SCALE_HEAD, GSA_LEAKY_RELU, 0 },
    { "window:width=3*2",               GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "window:width=5:causal=1*2",      GSA_NORM_PRE,   7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "window:width=3*1,full:clip=1*1", GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "star*1,full*1",                  GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "ring+star*2",                    GSA_NORM_PRE,   7,    GSA_SCALE_HEAD, GSA_GELU, 0 },
    { "bpt*2",                          GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, MEAN },
    { "bpt*2",                          GSA_NORM_PRE,   7,    GSA_SCALE_HEAD, GSA_GELU, MEAN },
    { "star*2",                         GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, MEAN },
    { "full*2",                         GSA_NORM_POST,  7,    GSA_SCALE_HEAD, GSA_GELU, MAX },
};
/* clang-format on */
static const int32_t sizes[] = { 1, 2, 3, 7 };
enum { N_ROWS = sizeof rows / sizeof *rows, N_SIZES = sizeof sizes / sizeof *sizes, N_INPUTS = 3 };

/* The loss with `step` added to element i of a matrix, or, with stride > 0, to the elements i, i +
 * stride, ... of it. */
static double moved(trial *t, gsa_parameter *p, double *values, int64_t count, int64_t i,
                    int64_t stride, double step)
{
    double loss = NAN;
    gsa_error error;
    for (int64_t j = i; j < count; j += stride ? stride : count) values[j] += step;
    ck_assert_int_eq(gsa_tensor_write(t->backend, &p->value, values, &error), GSA_OK);
    ck_assert_msg(trial_step(t, 0, &loss, NULL) == 0, "%s", t->error.text);
    for (int64_t j = i; j < count; j += stride ? stride : count) values[j] -= step;
    return loss;
}

/* Ties of a maximum have no derivative by one row alone: equal rows are moved together, column by
 * column. */
static int matrix_differs(trial *t, gsa_parameter *p, const char *where, int together)
{
    const int64_t count = p->value.rows * p->value.cols, stride = together ? p->value.cols : 0,
                  places = together ? stride : count;
    double *values = malloc((size_t)(3 * count + 1) * sizeof *values), *grad = values + count,
           *kept = values + 2 * count;
    gsa_error error;
    int wrong = 0;
    ck_assert_ptr_nonnull(values);
    ck_assert_int_eq(gsa_tensor_read(t->backend, &p->value, 0, values, &error), GSA_OK);
    ck_assert_int_eq(gsa_tensor_read(t->backend, &p->value, 1, grad, &error), GSA_OK);
    for (int64_t i = 0; i < count; i++) kept[i] = values[i];
    gsa_dice dice = { (uint64_t)count };
    for (int64_t n = 0; n < places && n < MOST && !wrong; n++) {
        const int64_t i = places <= MOST ? n : gsa_between(&dice, 0, places - 1);
        double sum = 0;
        for (int64_t j = i; j < count; j += stride ? stride : count) sum += grad[j];
        const double slope = (moved(t, p, values, count, i, stride, eps) -
                              moved(t, p, values, count, i, stride, -eps)) /
                             (2 * eps);
        char name[200];
        snprintf(name, sizeof name, "%s, %s, element %lld", where, p->name, (long long)i);
        wrong = gsa_differ(name, &sum, &slope, 1, atol_, rtol_);
    }
    ck_assert_int_eq(gsa_tensor_write(t->backend, &p->value, kept, &error), GSA_OK);
    free(values);
    return wrong;
}

static void compare_row(const row *r, int32_t n, int input)
{
    const int32_t length[] = { n, 0, n > 1 ? n - 1 : 1 };
    trial_plan plan = { r->spec, gsa_settings_default(), length, 3, input, GSA_F64, 1, 0 };
    plan.settings.hidden = 4, plan.settings.heads = 2, plan.settings.head_dim = 3,
    plan.settings.ffn = 5;
    plan.settings.norm = r->norm, plan.settings.bias = r->bias, plan.settings.scale = r->scale,
    plan.settings.activation = r->activation, plan.settings.readout = r->readout;
    plan.settings.norm_eps = 1e-4;
    plan.queries =
        n % 2 ? 1 : -1; /* projected on the side of the queries wherever that can be, and nowhere */
    trial t;
    char where[120];
    double loss;
    int wrong = 0;
    snprintf(where, sizeof where, "%s, norm %d, bias %d, readout %d, n = %d, input %d", r->spec,
             r->norm, r->bias, r->readout, n, input);
    ck_assert_msg(trial_open(&t, &plan) == 0 && trial_step(&t, 1, &loss, NULL) == 0, "%s: %s",
                  where, t.error.text);
    for (int p = 0; p < gsa_parameters_count(t.parameters); p++) {
        gsa_parameter *parameter = gsa_parameters_at(t.parameters, p);
        if (parameter == t.input && input == TRIAL_ZERO && !r->bias)
            continue; /* relu at 0 has no derivative */
        wrong |=
            matrix_differs(&t, parameter, where, parameter == t.input && input != TRIAL_RANDOM);
    }
    trial_close(&t);
    ck_assert_msg(!wrong, "%s: the gradient differs from the slope", where);
}

START_TEST(built_in_models_have_their_slopes)
{
    for (int i = _i % GSA_THIN(2); i < N_SIZES * N_INPUTS; i += GSA_THIN(2))
        compare_row(&rows[_i], sizes[i / N_INPUTS], i % N_INPUTS);
}
END_TEST

/* ---- random models: empty rows, dropout, several stacks */
static int element_differs(oracle_harness *h, gsa_parameter *p, double *values, double grad,
                           int64_t i)
{
    double loss[2];
    for (int side = 0; side < 2; side++) {
        oracle_result result;
        const double kept = values[i];
        values[i] += side ? eps : -eps;
        ck_assert_int_eq(gsa_tensor_write(h->backend, &p->value, values, &h->error), GSA_OK);
        values[i] = kept;
        ck_assert_msg(oracle_step(h, 1, &result) == GSA_OK, "%s", h->error.text);
        loss[side] = result.loss;
        oracle_result_release(&result);
    }
    const double slope = (loss[1] - loss[0]) / (2 * eps);
    return gsa_differ(p->name, &grad, &slope, 1, atol_, rtol_);
}

static int parameter_differs(oracle_harness *h, gsa_parameter *p, const double *grad)
{
    const int64_t count = p->value.rows * p->value.cols;
    double *values = malloc((size_t)(count + 1) * sizeof *values);
    gsa_dice dice = { 99 };
    int wrong = 0;
    ck_assert_ptr_nonnull(values);
    ck_assert_int_eq(gsa_tensor_read(h->backend, &p->value, 0, values, &h->error), GSA_OK);
    for (int n = 0; n < FEW; n++) {
        const int64_t i = gsa_between(&dice, 0, count - 1);
        wrong |= element_differs(h, p, values, grad[i], i);
    }
    ck_assert_int_eq(gsa_tensor_write(h->backend, &p->value, values, &h->error), GSA_OK);
    free(values);
    return wrong;
}

START_TEST(random_models_have_their_slopes)
{
    oracle_model *model = malloc(sizeof *model);
    oracle_harness h;
    oracle_result result;
    gsa_backend *backend;
    gsa_error error;
    int wrong = 0;
    ck_assert_ptr_nonnull(model);
    oracle_invent(model, 5000 + (uint64_t)_i);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &backend, &error), GSA_OK);
    ck_assert_msg(oracle_open(&h, model, backend, NULL) == GSA_OK &&
                      oracle_step(&h, 1, &result) == GSA_OK,
                  "%s", h.error.text);
    oracle_result_release(&result);
    const int count = gsa_parameters_count(h.parameters);
    double **grad = calloc((size_t)count + 1, sizeof *grad);
    for (int p = 0; grad && p < count; p++) {
        const gsa_tensor *x = &gsa_parameters_at(h.parameters, p)->value;
        grad[p] = malloc((size_t)(x->rows * x->cols + 1) * sizeof **grad);
        ck_assert_int_eq(gsa_tensor_read(backend, x, 1, grad[p], &error), GSA_OK);
    }
    for (int p = 0; p < count; p++)
        wrong |= parameter_differs(&h, gsa_parameters_at(h.parameters, p), grad[p]);
    if (wrong) oracle_print(model);
    for (int p = 0; p < count; p++) free(grad[p]);
    free(grad);
    oracle_close(&h);
    gsa_backend_release(backend);
    free(model);
    ck_assert_msg(!wrong, "random model %d: the gradient differs from the slope", 5000 + _i);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test built_in[] = { GSA_LOOP(built_in_models_have_their_slopes, N_ROWS) };
    static const gsa_test random[] = { GSA_LOOP(random_models_have_their_slopes, 40) };
    static const gsa_case cases[] = { GSA_CASE("built_in", built_in, 120),
                                      GSA_CASE("random", random, 120) };
    return gsa_run_suite("differences", cases, GSA_COUNT(cases), argc, argv);
}
