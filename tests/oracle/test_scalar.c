/* The oracle's own oracle: every scalar op, and random expressions of them, against central
 * differences. */
#include <math.h>
#include <stdio.h>
#include "scalar.h"
#include "support/compare.h"
#include "support/suite.h"

enum { STEPS = 30, LEAVES = 4, OPS = 13 };

/* Applies op `op`; arguments are kept where the op is smooth. */
static scalar apply(scalar_tape *t, int op, scalar a, scalar b)
{
    const scalar positive = scalar_shift(t, scalar_mul(t, b, b), 0.5);
    switch (op) {
    case 0:
        return scalar_add(t, a, b);
    case 1:
        return scalar_sub(t, a, b);
    case 2:
        return scalar_mul(t, a, b);
    case 3:
        return scalar_div(t, a, positive);
    case 4:
        return scalar_scale(t, a, -1.5);
    case 5:
        return scalar_shift(t, a, 0.25);
    case 6:
        return scalar_exp(t, scalar_tanh(t, a));
    case 7:
        return scalar_log(t, positive);
    case 8:
        return scalar_sqrt(t, positive);
    case 9:
        return scalar_tanh(t, a);
    case 10:
        return scalar_erf(t, a);
    case 11:
        return scalar_max(t, a, b);
    default:
        return scalar_leaky(t, a, 0.01);
    }
}

static scalar one_op(scalar_tape *t, const double *x, uint64_t op)
{
    const scalar a = scalar_leaf(t, x[0]), b = scalar_leaf(t, x[1]);
    (void)scalar_leaf(t, x[2]), (void)scalar_leaf(t, x[3]);
    return apply(t, (int)op, a, b);
}

static scalar random_expression(scalar_tape *t, const double *x, uint64_t seed)
{
    gsa_dice dice = { seed };
    scalar pool[LEAVES + STEPS];
    for (int i = 0; i < LEAVES; i++) pool[i] = scalar_leaf(t, x[i]);
    for (int i = LEAVES; i < LEAVES + STEPS; i++) {
        const scalar a = pool[gsa_between(&dice, 0, i - 1)], b = pool[gsa_between(&dice, 0, i - 1)];
        pool[i] = scalar_tanh(t, apply(t, (int)gsa_between(&dice, 0, OPS - 1), a, b));
    }
    scalar sum = pool[LEAVES];
    for (int i = LEAVES + 1; i < LEAVES + STEPS; i++) sum = scalar_add(t, sum, pool[i]);
    return sum;
}

static int wrong_gradients(scalar (*f)(scalar_tape *, const double *, uint64_t), double *x,
                           uint64_t seed)
{
    const double eps = 1e-6;
    double analytic[LEAVES], numeric[LEAVES];
    scalar_tape t = { 0 };
    scalar_backward(&t, f(&t, x, seed));
    for (int i = 0; i < LEAVES; i++) analytic[i] = scalar_grad(&t, i);
    for (int i = 0; i < LEAVES; i++) {
        double side[2];
        for (int s = 0; s < 2; s++) {
            const double kept = x[i];
            x[i] += s ? eps : -eps;
            t.count = 0;
            side[s] = scalar_value(&t, f(&t, x, seed));
            x[i] = kept;
        }
        numeric[i] = (side[1] - side[0]) / (2 * eps);
    }
    scalar_release(&t);
    char name[64];
    snprintf(name, sizeof name, "expression %llu", (unsigned long long)seed);
    return gsa_differ(name, analytic, numeric, LEAVES, 1e-7, 1e-6);
}

START_TEST(each_op_is_differentiated)
{
    for (int op = 0; op < OPS; op++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double x[LEAVES] = { 0.7 * sign, 0.4, 0, 0 };
            ck_assert_int_eq(wrong_gradients(one_op, x, (uint64_t)op), 0);
        }
}
END_TEST

START_TEST(random_expressions_are_differentiated)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        gsa_dice dice = { seed * 977 };
        double x[LEAVES];
        for (int i = 0; i < LEAVES; i++) x[i] = gsa_normal(&dice);
        ck_assert_int_eq(wrong_gradients(random_expression, x, seed), 0);
    }
}
END_TEST

START_TEST(values_are_those_of_the_library)
{
    scalar_tape t = { 0 };
    const scalar a = scalar_leaf(&t, 0.75), b = scalar_leaf(&t, -2);
    const double got[] = { scalar_value(&t, scalar_div(&t, a, b)),
                           scalar_value(&t, scalar_sub(&t, a, b)),
                           scalar_value(&t, scalar_leaky(&t, b, 0.01)),
                           scalar_value(&t, scalar_erf(&t, a)),
                           scalar_value(&t, scalar_log(&t, scalar_exp(&t, a))) };
    const double want[] = { -0.375, 2.75, -0.02, erf(0.75), 0.75 };
    ck_assert_int_eq(gsa_differ("values", got, want, 5, 1e-15, 0), 0);
    ck_assert_int_eq(scalar_max(&t, a, a), a);
    ck_assert_int_eq(scalar_max(&t, b, a), a);
    scalar_release(&t);
}
END_TEST

START_TEST(a_node_that_is_used_twice_collects_both)
{
    scalar_tape t = { 0 };
    const scalar a = scalar_leaf(&t, 3);
    scalar_backward(&t, scalar_add(&t, scalar_mul(&t, a, a), a));
    ck_assert_double_eq(scalar_grad(&t, a), 7);
    scalar_backward(&t, a);
    ck_assert_double_eq(scalar_grad(&t, a), 1);
    scalar_release(&t);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test differences[] = { GSA_TEST(each_op_is_differentiated),
                                            GSA_TEST(random_expressions_are_differentiated) };
    static const gsa_test plain[] = { GSA_TEST(values_are_those_of_the_library),
                                      GSA_TEST(a_node_that_is_used_twice_collects_both) };
    static const gsa_case cases[] = { GSA_CASE("differences", differences, 30),
                                      GSA_CASE("plain", plain, 30) };
    return gsa_run_suite("scalar", cases, GSA_COUNT(cases), argc, argv);
}
