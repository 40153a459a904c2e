/* Same inputs, same bits, for 1, 2, 3, 8 and 16 threads: every op, gradients with labels, products of awkward shapes. */
#define _DEFAULT_SOURCE
#include "op_cases.h"
#include "support/guard.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASES = 21 };
static const int threads[] = { 1, 2, 3, 8, 16 };

/* FNV-1a over the bits of every tensor and gradient. */
static uint64_t hash_rig(rig *r)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    rig_fetch(r);
    for (int i = 0; i < r->count; i++)
        for (int g = 0; g < 2; g++) {
            const rig_array *a = g ? &r->t[i].grad : &r->t[i].data;
            const unsigned char *bytes = (const unsigned char *)a->value;
            if (a->whole == NULL) continue;
            for (size_t j = 0; j < (size_t)r->t[i].count * sizeof(double); j++) hash = (hash ^ bytes[j]) * UINT64_C(0x100000001b3);
        }
    return hash;
}

static uint64_t run(const op_case *op, int shape, int real, int team)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    rig r;
    ck_assert_msg(gsa_test_backend(NULL, real, team, &b, &error) == GSA_OK, "%s", error.text);
    rig_begin(&r, b, 4000 + (uint64_t)shape, RIG_RANDOM, op->big_shapes[shape]);
    op->setup(&r);
    ck_assert_msg(op->forward(&r) == GSA_OK, "%s: %s", op->name, b->error.text);
    if (op->backward) ck_assert_msg(op->backward(&r) == GSA_OK, "%s: %s", op->name, b->error.text);
    const uint64_t hash = hash_rig(&r);
    rig_end(&r);
    gsa_backend_release(b);
    return hash;
}

/* Doubles, whose loops are the same source, take every other number of threads. */
static void compare(int i, int real)
{
    const op_case *op = op_case_at(i);
    for (int s = 0; s < op->big_count; s++) {
        const uint64_t want = run(op, s, real, 1);
        for (int t = 1; t < GSA_COUNT(threads); t += real == GSA_F64 ? 2 : 1)
            ck_assert_msg(run(op, s, real, threads[t]) == want, "%s shape %d: %d threads give other bits than 1", op->name, s,
                          threads[t]);
    }
}

START_TEST(float_bits)
{
    compare(_i, GSA_F32);
}
END_TEST

START_TEST(double_bits)
{
    compare(_i, GSA_F64);
}
END_TEST

/* The same product in a process of its own, with OMP_NUM_THREADS and the backend's threads as given. */
static uint64_t product_elsewhere(int shape, int team)
{
    int ends[2];
    uint64_t hash = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char text[16];
        snprintf(text, sizeof text, "%d", team);
        setenv("OMP_NUM_THREADS", text, 1);
        hash = run(op_case_at(0), shape, GSA_F32, team);
        const int sent = write(ends[1], &hash, sizeof hash) == (ssize_t)sizeof hash;
        _exit(sent ? 0 : 1);
    }
    int status = 0;
    ck_assert_int_eq((int)read(ends[0], &hash, sizeof hash), (int)sizeof hash);
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    close(ends[0]);
    close(ends[1]);
    return hash;
}

START_TEST(products_in_separate_processes)
{
    for (int s = 0; s < op_case_at(0)->big_count; s++) {
        const uint64_t want = product_elsewhere(s, 1);
        for (int t = 1; t < GSA_COUNT(threads); t++)
            ck_assert_msg(product_elsewhere(s, threads[t]) == want, "shape %d: %d threads in another process", s, threads[t]);
    }
}
END_TEST

/* A process that has worked with two threads forks; the child works with one thread. */
START_TEST(child_of_a_parallel_process_works_alone)
{
    const uint64_t want = run(op_case_at(0), 2, GSA_F32, 2);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(run(op_case_at(0), 2, GSA_F32, 1) == want ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test floats[] = { GSA_LOOP(float_bits, CASES) }, doubles[] = { GSA_LOOP(double_bits, CASES) };
    static const gsa_test gemm[] = { GSA_TEST(products_in_separate_processes) };
    static const gsa_test forks[] = { GSA_TEST(child_of_a_parallel_process_works_alone) };
    static const gsa_case cases[] = { GSA_CASE("float", floats, 120), GSA_CASE("double", doubles, 120), GSA_CASE("gemm", gemm, 60),
                                      GSA_CASE("fork", forks, 60) };
    return gsa_run_suite("kernel_threads", cases, GSA_COUNT(cases), argc, argv);
}
