/* Central differences in double for every op that has a backward: eps 1e-6, atol 1e-5, rtol 1e-3;
 * random, zero and equal inputs; graphs with empty rows. */
#include "coverage.h"
#include "support/guard.h"
#include "support/suite.h"
#include <math.h>

enum { CASES = 31 };

/* L = sum of (output times its gradient) over all outputs. */
static double loss_of(rig *r, const op_case *op)
{
    double loss = 0;
    ck_assert_msg(op->forward(r) == GSA_OK, "%s: %s", op->name, r->b->error.text);
    rig_fetch(r);
    for (int i = 0; i < r->count; i++)
        if (r->t[i].role == RIG_OUTPUT || r->t[i].role == RIG_INOUT)
            for (int64_t j = 0; j < r->t[i].count; j++)
                loss += r->t[i].data.value[j] * r->t[i].grad.start[j];
    return loss;
}

static double loss_at(rig *r, const op_case *op, int tensor, int64_t i, double x)
{
    r->t[tensor].data.start[i] = x;
    rig_restart(r);
    return loss_of(r, op);
}

static int check_tensor(rig *r, const op_case *op, int tensor, const double *gradient,
                        const char *name)
{
    const double eps = 1e-6, atol = 1e-5, rtol = 1e-3;
    rig_tensor *t = &r->t[tensor];
    for (int64_t i = 0; i < t->count; i++) {
        const double x = t->data.start[i];
        const double high = loss_at(r, op, tensor, i, x + eps),
                     low = loss_at(r, op, tensor, i, x - eps);
        const double want = (high - low) / (2 * eps), got = gradient[i] - t->grad.start[i];
        t->data.start[i] = x;
        if (!(fabs(got - want) <= atol + rtol * fabs(want))) {
            fprintf(stderr, "%s: d%s[%lld] = %.9g, differences give %.9g\n", name, t->name,
                    (long long)i, got, want);
            return 1;
        }
    }
    return 0;
}

static void check_shape(gsa_backend *b, const op_case *op, int shape, int fill)
{
    const int64_t *s = op->grad_shapes[shape];
    char name[128];
    rig r;
    snprintf(name, sizeof name, "%s shape %d fill %d", op->name, shape, fill);
    rig_begin(&r, b, 900 + (uint64_t)shape, fill, s);
    op->setup(&r);
    loss_of(&r, op);
    ck_assert_msg(op->backward(&r) == GSA_OK, "%s: %s", name, b->error.text);
    rig_fetch(&r);
    for (int i = 0, inputs = 0; i < r.count; i++) {
        if (r.t[i].role != RIG_INPUT) continue;
        double gradient[4096];
        ck_assert_int_le((int)r.t[i].count, 4096);
        memcpy(gradient, r.t[i].grad.value, sizeof(double) * (size_t)r.t[i].count);
        ck_assert_msg(check_tensor(&r, op, i, gradient, name) == 0,
                      "%s: gradient differs (see above)", name);
        inputs++;
        rig_restart(&r); /* the next tensor's gradient is read again */
        loss_of(&r, op);
        op->backward(&r);
        rig_fetch(&r);
        ck_assert_int_ge(inputs, 1);
    }
    rig_end(&r);
}

START_TEST(backward_is_the_difference_quotient)
{
    const op_case *op = op_case_any(_i);
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    if (op->grad_count == 0) return;
    ck_assert_msg(gsa_test_backend(NULL, GSA_F64, 1, &b, &error) == GSA_OK, "%s", error.text);
    for (int s = 0; s < op->grad_count; s++)
        for (int fill = RIG_RANDOM; fill <= RIG_EQUAL_ROWS; fill++) {
            const int kinked = op->grad_shapes[s][4] == 1 && strcmp(op->name, "attend") != 0;
            if (fill == RIG_RANDOM || !kinked) check_shape(b, op, s, fill);
        }
    gsa_backend_release(b);
}
END_TEST

static void backward_must_be_covered(const char *name, void *context)
{
    const char *tail = strstr(name, "_backward");
    if (tail == NULL || tail[9] != 0) return;
    ++((int *)context)[0];
    if (entry_covered(name, 1)) return;
    fprintf(stderr, "%s: no gradient case\n", name);
    ++((int *)context)[1];
}

START_TEST(every_backward_has_a_case)
{
    int found[2] = { 0, 0 }, count = 0;
    while (op_case_any(count)) count++;
    ck_assert_int_eq(count, CASES);
    each_entry(GSA_BACKEND_HEADER, backward_must_be_covered, found);
    printf("%d backward entries, %d without a case\n", found[0], found[1]);
    ck_assert_int_ge(found[0], 12);
    ck_assert_int_eq(found[1], 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test coverage[] = { GSA_TEST(every_backward_has_a_case) };
    static const gsa_test differences[] = { GSA_LOOP(backward_is_the_difference_quotient, CASES) };
    static const gsa_case cases[] = { GSA_CASE("coverage", coverage, 10),
                                      GSA_CASE("differences", differences, 120) };
    return gsa_run_suite("kernel_gradients", cases, GSA_COUNT(cases), argc, argv);
}
