/* The profiled backend: the same table, the same results, every call counted once where it
 * belongs. */
#include "kernels/profile.h"
#include <stddef.h>
#include <string.h>
#include "support/guard.h"
#include "support/suite.h"

static gsa_backend *profiled(gsa_profile *profile)
{
    gsa_backend *inner = NULL, *b = NULL;
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F32, 1, &inner, NULL), GSA_OK);
    ck_assert_int_eq(gsa_backend_profile(inner, profile, &b, NULL), GSA_OK);
    return b;
}

START_TEST(every_op_is_wrapped)
{
    gsa_profile profile = { 0 };
    gsa_backend *b = profiled(&profile), *plain = NULL;
    ck_assert_int_eq(gsa_test_backend(NULL, GSA_F32, 1, &plain, NULL), GSA_OK);
    const size_t first = offsetof(gsa_backend, release), last = offsetof(gsa_backend, step_begin),
                 step = sizeof b->release;
    for (size_t at = first; at + step <= last; at += step)
        ck_assert_msg(memcmp((char *)b + at, (char *)plain + at, step) != 0,
                      "entry %d is the inner one's", (int)((at - first) / step));
    ck_assert(b->gemm_part != plain->gemm_part);
    gsa_backend_release(b);
    gsa_backend_release(plain);
}
END_TEST

START_TEST(what_is_missing_stays_missing)
{
    gsa_profile profile = { 0 };
    gsa_backend *inner = NULL, *b = NULL;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &inner, NULL), GSA_OK);
    inner->crf_decode = NULL, inner->gemm = NULL;
    ck_assert_int_eq(gsa_backend_profile(inner, &profile, &b, NULL), GSA_OK);
    ck_assert(b->crf_decode == NULL && b->gemm == NULL && b->add != NULL);
    gsa_backend_release(b);
}
END_TEST

START_TEST(calls_are_counted_in_their_section)
{
    gsa_profile profile = { 0 };
    gsa_backend *b = profiled(&profile);
    const float host[6] = { 1, 2, 3, 4, 5, 6 };
    float *x = b->alloc(b, sizeof host), *y = b->alloc(b, sizeof host), back[4];
    gsa_profile_enter(&profile, GSA_PROFILE_STEP);
    ck_assert_int_eq(b->upload(b, x, host, sizeof host), GSA_OK);
    ck_assert_int_eq(b->gemm(b, y, x, x, 2, 2, 3, 0, 1, 2, 3, 3, 0),
                     GSA_OK); /* [2,3] times its transpose */
    ck_assert_int_eq(b->download(b, back, y, sizeof back), GSA_OK);
    ck_assert(back[0] == 14 && back[1] == 32 && back[2] == 32 && back[3] == 77);
    ck_assert_int_eq(b->add(b, y, x, x, -1), GSA_ERR_ARGUMENT);
    ck_assert_str_ne(b->error.text, "");
    gsa_profile_enter(&profile, GSA_PROFILE_EVALUATION);
    ck_assert_int_eq(b->zero_fill(b, y, 8), GSA_OK);
    const gsa_profile_mark mark = gsa_profile_begin(&profile);
    gsa_profile_end(&profile, GSA_PROFILE_FILL, mark);
    gsa_profile_enter(&profile, GSA_PROFILE_REST);
    const gsa_profile_time *step = profile.part[GSA_PROFILE_STEP],
                           *judged = profile.part[GSA_PROFILE_EVALUATION];
    ck_assert(step[GSA_PROFILE_gemm].calls == 1 && step[GSA_PROFILE_gemm].flops == 24);
    ck_assert(step[GSA_PROFILE_upload].calls == 1 && step[GSA_PROFILE_add].calls == 1);
    ck_assert(step[GSA_PROFILE_zero_fill].calls == 0 && judged[GSA_PROFILE_zero_fill].calls == 1);
    ck_assert(judged[GSA_PROFILE_FILL].calls == 1);
    ck_assert(profile.section[GSA_PROFILE_STEP].calls == 1 &&
              profile.section[GSA_PROFILE_EVALUATION].calls == 1);
    double parts = 0;
    for (int p = 0; p < GSA_PROFILE_PARTS; p++) parts += step[p].seconds;
    ck_assert(parts > 0 && parts <= profile.section[GSA_PROFILE_STEP].seconds);
    b->free(b, x), b->free(b, y);
    gsa_backend_release(b);
}
END_TEST

START_TEST(nothing_is_timed_without_a_profile)
{
    gsa_profile_enter(NULL, GSA_PROFILE_STEP);
    const gsa_profile_mark mark = gsa_profile_begin(NULL);
    ck_assert(mark.seconds == 0 && mark.processor == 0);
    gsa_profile_end(NULL, GSA_PROFILE_FILL, mark);
    for (int p = 0; p < GSA_PROFILE_PARTS; p++) ck_assert_str_ne(gsa_profile_name(p), "");
    ck_assert_str_eq(gsa_profile_name(GSA_PROFILE_gemm), "gemm");
    ck_assert_str_eq(gsa_profile_name(GSA_PROFILE_GRAPH), "graph");
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test table[] = { GSA_TEST(every_op_is_wrapped),
                                      GSA_TEST(what_is_missing_stays_missing) };
    static const gsa_test counts[] = { GSA_TEST(calls_are_counted_in_their_section),
                                       GSA_TEST(nothing_is_timed_without_a_profile) };
    static const gsa_case cases[] = { GSA_CASE("table", table, 30),
                                      GSA_CASE("counts", counts, 30) };
    return gsa_run_suite("profile", cases, GSA_COUNT(cases), argc, argv);
}
