/* oracle_check.h - both passes of an op on a rig whose graph is made, against the op's oracle: NMSE
 * at most 1e-7, every error at most 1e-4 of its row's scale, no guard band touched. For tests under
 * Check. */
#ifndef GSA_TEST_ORACLE_CHECK_H
#define GSA_TEST_ORACLE_CHECK_H
#include "op_cases.h"
#include "support/suite.h"

static inline void equals_the_oracle(rig *r, const op_case *op, const char *name)
{
    op->setup(r);
    ck_assert_int_eq(op->forward(r), GSA_OK);
    ck_assert_int_eq(op->backward(r), GSA_OK);
    rig_fetch(r);
    op->oracle_backward(r);
    ck_assert_msg(rig_compare(r, name, 0, 1e-7, 1e-4) == 0, "%s: forward differs (see above)",
                  name);
    ck_assert_msg(rig_compare(r, name, 1, 1e-7, 1e-4) == 0, "%s: backward differs (see above)",
                  name);
    ck_assert_msg(rig_bands_touched(r) == 0, "%s: a guard band was touched", name);
}

#endif
