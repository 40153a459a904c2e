/* suite.h - the frame of every test program: a table of cases, each a Check tcase with its tests.
 *
 *   START_TEST(empty_row_gives_zero) { ... } END_TEST
 *   static const gsa_test rows[] = { GSA_TEST(empty_row_gives_zero), ... };
 *   int main(int argc, char **argv) { static const gsa_case cases[] = { GSA_CASE("rows", rows, 30),
 *   ... }; return gsa_run_suite("attend", cases, GSA_COUNT(cases), argc, argv);
 *   }
 * Each test runs in a forked child (CK_FORK=no turns that off); nothing multi-threaded may run
 * before the fork. */
#ifndef GSA_TEST_SUITE_H
#define GSA_TEST_SUITE_H
#include <check.h>

/* START_TEST defines a pointer next to each test, which our tables do not use. */
#pragma GCC diagnostic ignored "-Wunused-variable"

typedef struct gsa_test {
    const TTest *test;
    int loops; /* > 1: a loop test, _i counts from 0 */
} gsa_test;
typedef struct gsa_case {
    const char *name;
    const gsa_test *tests;
    int count;
    double timeout; /* seconds for one test */
} gsa_case;
#define GSA_COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))
#define GSA_TEST(f)                                                                                \
    {                                                                                              \
        &f##_ttest, 1                                                                              \
    }
#define GSA_LOOP(f, n)                                                                             \
    {                                                                                              \
        &f##_ttest, n                                                                              \
    }
#define GSA_CASE(name, tests, timeout)                                                             \
    {                                                                                              \
        name, tests, GSA_COUNT(tests), timeout                                                     \
    }

/* Runs the cases that CK_RUN_CASE selects (all without it); 0 when all passed and at least one ran.
 * `--cases a b ...` compares the names with the table instead. */
int gsa_run_suite(const char *name, const gsa_case *cases, int count, int argc, char **argv);

#endif
