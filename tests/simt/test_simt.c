/* The executor: right kernels give the same in every order, wrong ones a sentence. */
#include "support/suite.h"
#include "wrong_kernels.h"
#include <stdlib.h>

enum { ORDERS = 8 };

static void use_order(int i)
{
    simt_order(i < 2 ? (enum simt_order)i : SIMT_RANDOM, 77 + (uint64_t)i);
}

static void *device(const void *from, size_t bytes)
{
    void *at = NULL;
    ck_assert_int_eq(cudaMalloc(&at, bytes), cudaSuccess);
    if (from)
        ck_assert_int_eq(cudaMemcpyAsync(at, from, bytes, cudaMemcpyHostToDevice, NULL),
                         cudaSuccess);
    return at;
}

static void fetch(void *to, void *at, size_t bytes)
{
    ck_assert_int_eq(cudaMemcpyAsync(to, at, bytes, cudaMemcpyDeviceToHost, NULL), cudaSuccess);
    cudaFree(at);
}

static int reversed(int barrier)
{
    int x[64], wrong = 0;
    for (int i = 0; i < 64; i++) x[i] = i * 3;
    int *at = device(x, sizeof x);
    ck_assert_int_eq(run_reverse(at, barrier), cudaSuccess);
    fetch(x, at, sizeof x);
    for (int i = 0; i < 64; i++) wrong += x[i] != (63 - i) * 3;
    return wrong == 0;
}

START_TEST(a_barrier_makes_every_order_right)
{
    use_order(_i);
    ck_assert_int_eq(reversed(1), 1);
}
END_TEST

START_TEST(a_missing_barrier_shows)
{
    int right = 0;
    for (int i = 0; i < ORDERS; i++) {
        use_order(i);
        right += reversed(0);
    }
    ck_assert_int_eq(right, 0);
}
END_TEST

START_TEST(lanes_exchange)
{
    int x[192];
    int *at = device(NULL, sizeof x);
    use_order(_i);
    ck_assert_int_eq(run_lanes(at), cudaSuccess);
    fetch(x, at, sizeof x);
    for (int t = 0; t < 64; t++) {
        ck_assert_int_eq(x[t], 496);
        ck_assert_int_eq(x[64 + t], t % 32 % 8 == 0 ? t % 32 : t % 32 - 1);
        ck_assert_int_eq(x[128 + t], 11 + 100 + 10000 * (t % 32 / 4 * 4 + 3));
    }
}
END_TEST

START_TEST(every_block_runs_once)
{
    int x[2] = { 0, -1 };
    int *at = device(x, sizeof x);
    use_order(_i);
    ck_assert_int_eq(run_count(at, 37), cudaSuccess);
    fetch(x, at, sizeof x);
    ck_assert_int_eq(x[0], 37 * 32);
    ck_assert_int_eq(x[1], 37 * 32 - 1);
}
END_TEST

START_TEST(fresh_memory_is_nan)
{
    float x[32];
    float *at = device(NULL, sizeof x);
    ck_assert_int_eq(run_unset(at), cudaSuccess);
    fetch(x, at, sizeof x);
    for (int i = 0; i < 32; i++) ck_assert(isnan(x[i]));
    at = device(NULL, sizeof x);
    fetch(x, at, sizeof x);
    for (int i = 0; i < 32; i++) ck_assert(isnan(x[i]));
}
END_TEST

static void expect(cudaError_t got, cudaError_t wanted, const char *words)
{
    ck_assert_int_eq(got, wanted);
    ck_assert_msg(strstr(simt_message(), words) != NULL, "'%s' lacks '%s'", simt_message(), words);
    simt_reset();
    ck_assert_int_eq(reversed(1), 1); /* the executor is whole again */
}

START_TEST(misuse_is_a_sentence)
{
    use_order(_i);
    expect(run_half_barrier(), cudaErrorLaunchFailure, "syncthreads");
    expect(run_lost_lane(), cudaErrorLaunchFailure, "__syncwarp");
    expect(run_two_masks(), cudaErrorLaunchFailure, "meets lane");
    expect(run_unnamed_lane(), cudaErrorLaunchFailure, "does not name");
    expect(run_much_shared(), cudaErrorLaunchFailure, "shared memory");
    expect(run_beside_shared(), cudaErrorLaunchFailure, "beside the shared array");
    expect(run_odd_block(), cudaErrorInvalidConfiguration, "33 threads");
}
END_TEST

START_TEST(errors_of_kernels_stick)
{
    void *at = NULL;
    ck_assert_int_eq(run_half_barrier(), cudaErrorLaunchFailure);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
    ck_assert_int_eq(cudaMalloc(&at, 8), cudaErrorLaunchFailure);
    simt_reset();
    ck_assert_int_eq(run_odd_block(), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidConfiguration);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST

START_TEST(copies_know_their_side)
{
    char host[64] = { 0 };
    char *at = device(NULL, 64);
    ck_assert_int_eq(cudaMemcpyAsync(at, host, 65, cudaMemcpyHostToDevice, NULL),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpyAsync(host, at, 64, cudaMemcpyHostToDevice, NULL),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemcpyAsync(host, host, 8, cudaMemcpyDeviceToHost, NULL),
                     cudaErrorInvalidValue);
    ck_assert_int_eq(cudaMemsetAsync(at + 60, 0, 5, NULL), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFree(host), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFree(at), cudaSuccess);
    ck_assert_int_eq(simt_live(), 0);
}
END_TEST

START_TEST(memory_runs_out)
{
    void *at = NULL, *more = NULL;
    simt_memory(1000);
    ck_assert_int_eq(cudaMalloc(&at, 600), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&more, 600), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(more);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    cudaFree(at);
    simt_fail_malloc(2);
    ck_assert_int_eq(cudaMalloc(&at, 600), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&more, 8), cudaErrorMemoryAllocation);
    cudaFree(at);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test right[] = { GSA_LOOP(a_barrier_makes_every_order_right, ORDERS),
                                      GSA_TEST(a_missing_barrier_shows),
                                      GSA_LOOP(lanes_exchange, ORDERS),
                                      GSA_LOOP(every_block_runs_once, ORDERS),
                                      GSA_TEST(fresh_memory_is_nan) };
    static const gsa_test misuse[] = { GSA_LOOP(misuse_is_a_sentence, ORDERS),
                                       GSA_TEST(errors_of_kernels_stick) };
    static const gsa_test memory[] = { GSA_TEST(copies_know_their_side),
                                       GSA_TEST(memory_runs_out) };
    static const gsa_case cases[] = { GSA_CASE("right", right, 30), GSA_CASE("misuse", misuse, 30),
                                      GSA_CASE("memory", memory, 30) };
    return gsa_run_suite("simt", cases, GSA_COUNT(cases), argc, argv);
}
