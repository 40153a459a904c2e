/* Signals that arrive while products are computed: a handler runs on its thread's own stack, never
 * on memory that a library has put the stack pointer to, and the products are the same bits as
 * without. */
#define _DEFAULT_SOURCE
#include "support/guard.h"
#include "support/suite.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a handler sees has no other place. */
static char *stack_here;
static volatile sig_atomic_t taken, astray;
static atomic_int done;

static void note_stack(int number)
{
    (void)number;
    const intptr_t far = stack_here - (char *)__builtin_frame_address(0);
    taken++;
    astray += far < 0 || far > 1 << 20;
}

static void *shoot(void *thread)
{
    while (!atomic_load(&done)) {
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        usleep(50);
    }
    return NULL;
}

typedef struct product {
    int64_t m, n, k;
    int transpose_a, transpose_b;
} product;

static const product products[] = {
    { 200, 100, 128, 0, 1 },                          /* rows through weights */
    { 130, 17, 256, 0, 1 },  { 200, 128, 100, 0, 0 }, /* their gradient */
    { 128, 100, 300, 1, 0 },                          /* the weights' gradient */
    { 18, 256, 203, 1, 0 },  { 64, 64, 400, 1, 0 },
};
enum { PRODUCTS = sizeof products / sizeof *products, ROUNDS = 40 };

static void multiply(gsa_backend *b, const product *p, void *c, const void *a, const void *bb)
{
    ck_assert_int_eq(b->gemm(b, c, a, bb, p->m, p->n, p->k, p->transpose_a, p->transpose_b, p->n,
                             p->transpose_a ? p->m : p->k, p->transpose_b ? p->k : p->n, 0),
                     GSA_OK);
}

static void *numbers(int64_t count, int real)
{
    void *x = malloc((size_t)count * 8);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)(i * 7919 % 201 - 100) / 64;
        if (real == GSA_F64) ((double *)x)[i] = value;
        else ((float *)x)[i] = (float)value;
    }
    return x;
}

/* How many rounds gave other bits than one without signals, which is the first. */
static int repeat(gsa_backend *b, const product *p)
{
    const size_t bytes = (size_t)(p->m * p->n) * (size_t)b->real_bytes;
    void *x = numbers(p->m * p->k, b->real), *y = numbers(p->k * p->n, b->real),
         *want = malloc(bytes), *got = malloc(bytes);
    pthread_t self = pthread_self(), shooter;
    int other = 0;
    multiply(b, p, want, x, y);
    atomic_store(&done, 0);
    ck_assert_int_eq(pthread_create(&shooter, NULL, shoot, &self), 0);
    const sig_atomic_t before = taken;
    for (int r = 0; r < ROUNDS || taken == before; r++) { /* the other thread may begin late */
        multiply(b, p, got, x, y);
        other += memcmp(got, want, bytes) != 0;
    }
    atomic_store(&done, 1);
    pthread_join(shooter, NULL);
    free(x), free(y), free(want), free(got);
    return other;
}

static void under_signals(int real)
{
    struct sigaction action = { .sa_handler = note_stack, .sa_flags = SA_RESTART };
    gsa_backend *b = NULL;
    char here = 0;
    stack_here = &here;
    sigaction(SIGUSR1, &action, NULL);
    ck_assert_int_eq(gsa_backend_open(NULL, "cpu", real, 1, &b, NULL), GSA_OK);
    for (int p = 0; p < PRODUCTS; p++) ck_assert_int_eq(repeat(b, &products[p]), 0);
    gsa_backend_release(b);
    ck_assert_int_gt(taken, 0);
    ck_assert_int_eq(astray, 0);
}

START_TEST(float_products)
{
    under_signals(GSA_F32);
}
END_TEST

START_TEST(double_products)
{
    under_signals(GSA_F64);
}
END_TEST

/* A product leaves the thread's signals as they were. */
START_TEST(mask_is_given_back)
{
    const float one = 1;
    float c = 0;
    sigset_t before, after;
    gsa_backend *b = NULL;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_eq(gsa_backend_open(NULL, "cpu", GSA_F32, 1, &b, NULL), GSA_OK);
    multiply(b, &(product){ 1, 1, 1, 0, 0 }, &c, &one, &one);
    gsa_backend_release(b);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(sigismember(&after, SIGUSR1), 0);
    ck_assert_int_eq(sigismember(&after, SIGTERM), 0);
    ck_assert_int_eq(sigismember(&after, SIGUSR2), 1);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test tests[] = { GSA_TEST(float_products), GSA_TEST(double_products),
                                      GSA_TEST(mask_is_given_back) };
    static const gsa_case cases[] = { GSA_CASE("products", tests, 60) };
    return gsa_run_suite("kernel_signals", cases, GSA_COUNT(cases), argc, argv);
}
