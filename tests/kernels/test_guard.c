/* The guard backend: its memory faults outside a call, every op of its table is a wrapper, its
 * allocator is sound. */
#define _DEFAULT_SOURCE
#include "support/guard.h"
#include "support/compare.h"
#include "support/suite.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;

static void on_fault(int number)
{
    siglongjmp(back, number);
}

static gsa_backend *guard(void)
{
    gsa_backend *b = NULL;
    ck_assert_int_eq(gsa_backend_guard(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    return b;
}

/* The signal that touching the byte raises; 0: none. */
static int touch(volatile unsigned char *at, int writes)
{
    struct sigaction catch = { 0 }, old_segv, old_bus;
    catch.sa_handler = on_fault;
    sigaction(SIGSEGV, &catch, &old_segv);
    sigaction(SIGBUS, &catch, &old_bus);
    const int number = sigsetjmp(back, 1);
    if (number == 0) {
        if (writes) *at = 1;
        else (void)*at;
    }
    sigaction(SIGSEGV, &old_segv, NULL);
    sigaction(SIGBUS, &old_bus, NULL);
    return number;
}

START_TEST(touching_faults)
{
    gsa_backend *b = guard();
    ck_assert_int_eq(b->shares_host_memory, 0);
    float *x = b->alloc(b, 4000), *y = b->alloc(b, 400000), host[3] = { 1, 2, 3 };
    ck_assert_int_ne(touch((unsigned char *)x, 0), 0);
    ck_assert_int_ne(touch((unsigned char *)x, 1), 0);
    ck_assert_int_ne(touch((unsigned char *)y + 399999, 0), 0);
    ck_assert_int_eq(b->upload(b, x, host, sizeof host), GSA_OK);
    ck_assert_int_eq(b->add(b, y, x, x, 3), GSA_OK);
    ck_assert_int_ne(touch((unsigned char *)y, 0), 0);
    ck_assert_int_eq(b->add(b, y, x, x, -3), GSA_ERR_ARGUMENT); /* shut after a failure too */
    ck_assert_str_ne(b->error.text, "");
    ck_assert_int_ne(touch((unsigned char *)y, 0), 0);
    ck_assert_int_eq(b->download(b, host, y, sizeof host), GSA_OK);
    ck_assert(host[0] == 2 && host[1] == 4 && host[2] == 6);
    ck_assert_int_eq(touch((unsigned char *)host, 0), 0);
    gsa_backend_release(b);
}
END_TEST

START_TEST(every_op_is_wrapped)
{
    gsa_backend *b = guard(), *ref = NULL;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &ref, NULL), GSA_OK);
    const size_t first = offsetof(gsa_backend, release), last = offsetof(gsa_backend, step_begin),
                 step = sizeof ref->release;
    ck_assert(b->step_begin == NULL && b->step_end == NULL); /* it gains nothing by them */
    ck_assert(b->gemm_part != NULL && b->gemm_part != ref->gemm_part);
    ck_assert_int_ge((int)((last - first) / step), 38);
    for (size_t at = first; at + step <= last; at += step) {
        static const unsigned char none[sizeof ref->release];
        ck_assert_msg(memcmp((char *)b + at, none, step) != 0, "entry %d of the table is NULL",
                      (int)((at - first) / step));
        ck_assert_msg(memcmp((char *)b + at, (char *)ref + at, step) != 0, "entry %d is ref's own",
                      (int)((at - first) / step));
    }
    gsa_backend_release(b);
    gsa_backend_release(ref);
}
END_TEST

static int all_are(const unsigned char *bytes, int64_t count, int value)
{
    for (int64_t i = 0; i < count; i++)
        if (bytes[i] != value) return 0;
    return 1;
}

START_TEST(new_memory_is_nan_and_blocks_do_not_meet)
{
    enum { BLOCKS = 300 };
    gsa_dice dice = { 5 };
    gsa_backend *b = guard();
    unsigned char *at[BLOCKS] = { 0 };
    int64_t bytes[BLOCKS] = { 0 };
    for (int round = 0; round < 3000; round++) {
        const int i = (int)gsa_between(&dice, 0, BLOCKS - 1);
        unsigned char *host;
        if (at[i]) { /* still holds what was written, whatever happened around it */
            host = malloc((size_t)bytes[i] + 1);
            ck_assert_int_eq(b->download(b, host, at[i], bytes[i]), GSA_OK);
            ck_assert(all_are(host, bytes[i], i % 251));
            b->free(b, at[i]);
            at[i] = NULL;
        } else {
            bytes[i] = gsa_between(&dice, 0, 3000);
            host = malloc((size_t)bytes[i] + 1);
            at[i] = b->alloc(b, bytes[i]);
            ck_assert_int_eq((int)((uintptr_t)at[i] % 64), 0);
            ck_assert_int_eq(b->download(b, host, at[i], bytes[i]), GSA_OK);
            ck_assert(all_are(host, bytes[i], 0xff));
            memset(host, i % 251, (size_t)bytes[i]);
            ck_assert_int_eq(b->upload(b, at[i], host, bytes[i]), GSA_OK);
        }
        free(host);
    }
    ck_assert_ptr_null(b->alloc(b, INT64_C(1) << 40));
    ck_assert_int_eq(b->error.status, GSA_ERR_MEMORY);
    gsa_backend_release(b);
}
END_TEST

START_TEST(the_environment_chooses)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    setenv("GSA_TEST_BACKEND", "guard", 1);
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F64, 1, &b, &error), GSA_OK);
    ck_assert_str_eq(b->name, "guard");
    ck_assert_int_eq(b->real_bytes, 8);
    gsa_backend_release(b);
    unsetenv("GSA_TEST_BACKEND");
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F32, 1, &b, &error), GSA_OK);
    ck_assert_str_eq(b->name, "ref");
    gsa_backend_release(b);
    setenv("GSA_TEST_BACKEND", "moon", 1);
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F32, 1, &b, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "moon"));
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test faults[] = { GSA_TEST(touching_faults) };
    static const gsa_test table[] = { GSA_TEST(every_op_is_wrapped),
                                      GSA_TEST(the_environment_chooses) };
    static const gsa_test memory[] = { GSA_TEST(new_memory_is_nan_and_blocks_do_not_meet) };
    static const gsa_case cases[] = { GSA_CASE("faults", faults, 30), GSA_CASE("table", table, 30),
                                      GSA_CASE("memory", memory, 60) };
    return gsa_run_suite("kernel_guard", cases, GSA_COUNT(cases), argc, argv);
}
