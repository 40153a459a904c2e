/* What must not change the result: the number of threads (not a bit), the order of a batch's
 * examples, recording. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"
#include "support/compare.h"
#include "support/guard.h"
#include "support/suite.h"
#include "trial.h"

/* ---- threads */
static const int threads[] = { 1, 2, 3, 8, 16 };

typedef struct numbers { /* readouts and gradients, one after the other; a float is exact as a
                            double */
    double *at;
    int64_t count;
} numbers;

static void append(numbers *n, gsa_backend *backend, const gsa_tensor *x, int gradient)
{
    gsa_error error;
    if (!x) return;
    n->at = realloc(n->at, (size_t)(n->count + x->rows * x->cols + 1) * sizeof *n->at);
    ck_assert_ptr_nonnull(n->at);
    ck_assert_int_eq(gsa_tensor_read(backend, x, gradient, n->at + n->count, &error), GSA_OK);
    n->count += x->rows * x->cols;
}

static numbers everything(const trial_plan *plan)
{
    trial t;
    numbers n = { 0 };
    gsa_readout readout;
    double loss;
    const int failed = trial_open(&t, plan) || trial_step(&t, 1, &loss, &readout);
    ck_assert_msg(!failed, "%s: %s", plan->spec, t.error.text);
    append(&n, t.backend, readout.sequence, 0);
    append(&n, t.backend, readout.summary, 0);
    for (int p = 0; p < gsa_parameters_count(t.parameters); p++)
        append(&n, t.backend, &gsa_parameters_at(t.parameters, p)->value, 1);
    trial_close(&t);
    return n;
}

static const struct {
    const char *spec;
    int norm, hidden, heads;
} models[] = {
    { "star*2", GSA_NORM_POST, 48, 4 },
    { "star:cyclic=0*1,full:clip=4*1", GSA_NORM_POST, 40, 2 },
    { "full:causal=1*2", GSA_NORM_PRE, 64, 4 },
    { "window:width=7*2", GSA_NORM_PRE, 33, 3 },
    { "ring+star*2", GSA_NORM_POST, 48, 6 },
};

START_TEST(threads_change_no_bit)
{
    const int32_t length[] = { 70, 1, 0, 33, 150, 2 };
    trial_plan plan = {
        models[_i].spec, gsa_settings_default(), length, 6, TRIAL_RANDOM, GSA_F32, 1, 0
    };
    plan.settings.hidden = models[_i].hidden, plan.settings.heads = models[_i].heads,
    plan.settings.norm = models[_i].norm;
    plan.settings.bias = GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O;
    plan.settings.dropout_attention = plan.settings.dropout_hidden = plan.settings.dropout_ffn =
        0.1;
    const numbers first = everything(&plan);
    ck_assert_int_gt(first.count, 1000);
    for (int64_t i = 0; i < first.count; i++) ck_assert(isfinite(first.at[i]));
    for (int i = 0; i < GSA_COUNT(threads); i++) {
        plan.threads = threads[i];
        const numbers n = everything(&plan);
        ck_assert_int_eq(n.count, first.count);
        int64_t differing = 0;
        for (int64_t j = 0; j < n.count; j++)
            differing += memcmp(&n.at[j], &first.at[j], sizeof(double)) != 0;
        ck_assert_msg(!differing, "%s: %lld of %lld numbers differ with %d threads", plan.spec,
                      (long long)differing, (long long)n.count, threads[i]);
        free(n.at);
    }
    free(first.at);
}
END_TEST

/* ---- on which side few destinations are projected: the same numbers, and of each side the same
 * bits for any number of threads */
static const struct {
    const char *spec;
    int norm, bias, hidden, heads, head_dim;
} sides[] = {
    { "star*2", GSA_NORM_POST, 7, 24, 3, 8 },
    { "star:relays=3*1", GSA_NORM_POST, 0, 20, 17, 4 },
    { "star:share=1*2", GSA_NORM_PRE, 2, 30, 2, 7 },
    { "full*1", GSA_NORM_PRE, 7, 16, 4, 4 },
    { "window:width=5*1", GSA_NORM_POST, 7, 16, 16, 2 },
    { "ring+star*1", GSA_NORM_POST, 5, 24, 3, 8 },
};

static trial_plan plan_of_side(int i, int real, const int32_t *length, int examples, int queries)
{
    trial_plan plan = {
        sides[i].spec, gsa_settings_default(), length, examples, TRIAL_RANDOM, real, 1, queries
    };
    plan.settings.hidden = sides[i].hidden, plan.settings.heads = sides[i].heads;
    plan.settings.head_dim = sides[i].head_dim, plan.settings.norm = sides[i].norm,
    plan.settings.bias = sides[i].bias;
    plan.settings.dropout_hidden = 0.1;
    return plan;
}

START_TEST(both_sides_agree)
{
    const int32_t length[] = { 70, 1, 0, 33, 2 };
    trial_plan plan = plan_of_side(_i, GSA_F64, length, 5, 1);
    const numbers queries = everything(&plan);
    plan.queries = -1;
    const numbers sources = everything(&plan);
    ck_assert_int_eq(queries.count, sources.count);
    double scale = 1, apart = 0;
    for (int64_t i = 0; i < sources.count; i++) scale = fmax(scale, fabs(sources.at[i]));
    for (int64_t i = 0; i < sources.count; i++)
        apart = fmax(apart, fabs(queries.at[i] - sources.at[i]));
    ck_assert_msg(apart > 0, "%s: one side was taken twice", plan.spec);
    ck_assert_msg(apart < 1e-11 * scale, "%s: the sides are %g apart, the largest number is %g",
                  plan.spec, apart, scale);
    free(queries.at);
    free(sources.at);
}
END_TEST

START_TEST(threads_change_no_bit_of_queries)
{
    const int32_t length[] = { 70, 1, 0, 33, 150, 2 };
    trial_plan plan = plan_of_side(_i, GSA_F32, length, 6, 1);
    const numbers first = everything(&plan);
    for (int i = 0; i < GSA_COUNT(threads); i++) {
        plan.threads = threads[i];
        const numbers n = everything(&plan);
        ck_assert_int_eq(n.count, first.count);
        ck_assert_msg(memcmp(n.at, first.at, (size_t)n.count * sizeof *n.at) == 0,
                      "%s with %d threads", plan.spec, threads[i]);
        free(n.at);
    }
    free(first.at);
}
END_TEST

/* ---- order of examples */
typedef struct ran { /* a model run once */
    oracle_harness h;
    oracle_result result;
    gsa_backend *backend;
} ran;

static void run(ran *r, const oracle_model *model, const int *order, int training)
{
    gsa_error error;
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F64, 1, &r->backend, &error), GSA_OK);
    ck_assert_msg(oracle_open(&r->h, model, r->backend, order) == GSA_OK &&
                      oracle_step(&r->h, training, &r->result) == GSA_OK,
                  "seed %llu: %s", (unsigned long long)model->seed, r->h.error.text);
}

static void forget(ran *r)
{
    oracle_result_release(&r->result);
    oracle_close(&r->h);
    gsa_backend_release(r->backend);
}

/* Compares what belongs to example order[i] of the model, at place i of `b`, with its place in
 * `a`. */
static int rows_differ(const oracle_model *model, int s, const char *name, const double *a,
                       const double *b, const int *order, int by_token)
{
    const int64_t cols = model->stack[s].settings.hidden;
    int64_t to = 0;
    int wrong = 0;
    for (int i = 0; i < model->examples && a && b; i++) {
        const int64_t rows = by_token ? model->stack[s].length[order[i]] : 1;
        int64_t from = 0;
        for (int e = 0; e < order[i]; e++) from += by_token ? model->stack[s].length[e] : 1;
        wrong |= gsa_differ(name, b + to * cols, a + from * cols, rows * cols, 1e-12, 1e-12);
        to += rows;
    }
    return wrong;
}

static int gradients_differ(const ran *a, const ran *b)
{
    int wrong = 0;
    for (int p = 0; p < gsa_parameters_count(a->h.parameters); p++) {
        const gsa_parameter *x = gsa_parameters_at(a->h.parameters, p),
                            *y = gsa_parameters_find(b->h.parameters, x->name);
        numbers n = { 0 };
        const int64_t count = x->value.rows * x->value.cols;
        ck_assert_ptr_nonnull(y);
        if (strstr(x->name, ".input")) continue; /* its rows are in another order */
        append(&n, a->backend, &x->value, 1);
        append(&n, b->backend, &y->value, 1);
        double scale = 1;
        for (int64_t i = 0; i < count; i++) scale = fmax(scale, fabs(n.at[i]));
        wrong |= gsa_differ(x->name, n.at + count, n.at, count, 1e-9 * scale, 1e-9);
        free(n.at);
    }
    return wrong;
}

START_TEST(order_of_examples_changes_nothing)
{
    oracle_model *model = malloc(sizeof *model);
    ck_assert_ptr_nonnull(model);
    oracle_invent(model, 7000 + (uint64_t)_i);
    int order[ORACLE_EXAMPLES], wrong = 0;
    for (int i = 0; i < model->examples; i++) order[i] = (i + 1 + _i % 2) % model->examples;
    if (_i % 3 == 0) /* backwards instead of turned */
        for (int i = 0; i < model->examples; i++) order[i] = model->examples - 1 - i;
    ran a, b;
    run(&a, model, NULL, 1);
    run(&b, model, order, 1);
    for (int s = 0; s < model->stacks; s++) {
        const oracle_readout *x = &a.result.readout[s], *y = &b.result.readout[s];
        wrong |= rows_differ(model, s, "sequence", x->sequence, y->sequence, order, 1);
        wrong |= rows_differ(model, s, "summary", x->summary, y->summary, order, 0);
        for (int i = 0; i < model->stack[s].taps; i++)
            wrong |= rows_differ(model, s, "tap", x->tap[i], y->tap[i], order, 1);
    }
    wrong |= gradients_differ(&a, &b);
    if (wrong) oracle_print(model);
    forget(&a);
    forget(&b);
    free(model);
    ck_assert_msg(!wrong, "random model %d: the order of its examples shows", 7000 + _i);
}
END_TEST

/* ---- recording: a step that keeps nothing for backward computes the same values */
START_TEST(recording_changes_no_value)
{
    oracle_model *model = malloc(sizeof *model);
    ck_assert_ptr_nonnull(model);
    oracle_invent(model, 8000 + (uint64_t)_i);
    for (int s = 0; s < model->stacks; s++) {
        gsa_settings *x = &model->stack[s].settings;
        x->dropout_attention = x->dropout_hidden = x->dropout_ffn = 0;
    }
    ran a, b;
    run(&a, model, NULL, 1);
    run(&b, model, NULL, 0);
    ck_assert_double_eq(a.result.loss, b.result.loss);
    forget(&a);
    forget(&b);
    free(model);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bits[] = { GSA_LOOP(threads_change_no_bit, GSA_COUNT(models)) };
    static const gsa_test order[] = { GSA_LOOP(order_of_examples_changes_nothing, 60) };
    static const gsa_test recording[] = { GSA_LOOP(recording_changes_no_value, 30) };
    static const gsa_test side[] = { GSA_LOOP(both_sides_agree, GSA_COUNT(sides)),
                                     GSA_LOOP(threads_change_no_bit_of_queries, GSA_COUNT(sides)) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 120), GSA_CASE("sides", side, 120),
                                      GSA_CASE("order", order, 60),
                                      GSA_CASE("recording", recording, 60) };
    return gsa_run_suite("properties", cases, GSA_COUNT(cases), argc, argv);
}
