/* bench.h - a backend, a tape and parameters for one test, in double; dies through Check where one
 * cannot be made. */
#ifndef GSA_TEST_BENCH_H
#define GSA_TEST_BENCH_H
#include "gsa/parameters.h"
#include "support/compare.h"
#include "support/guard.h"
#include "support/suite.h"

typedef struct bench {
    gsa_backend *backend;
    gsa_tape *tape;
    gsa_parameters *parameters;
    gsa_error error;
} bench;

#define MUST(b, call) ck_assert_msg((call) == GSA_OK, "%s: %s", #call, (b)->error.text)

static inline bench bench_open(const gsa_system *system, int real)
{
    bench b = { 0 };
    MUST(&b, gsa_test_backend(system, real, 1, &b.backend, &b.error));
    MUST(&b, gsa_tape_create(system, b.backend, &b.tape, &b.error));
    MUST(&b, gsa_parameters_create(system, b.backend, 7, &b.parameters, &b.error));
    return b;
}

static inline void bench_close(bench *b)
{
    gsa_parameters_release(b->parameters);
    gsa_tape_release(b->tape);
    gsa_backend_release(b->backend);
}

#endif
