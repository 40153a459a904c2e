/* Every op of the backend against an oracle in double: float and double, shapes from 0 up, guard
 * bands of 1 KiB. */
#include "coverage.h"
#include "support/guard.h"
#include "support/suite.h"
#include <math.h>

enum { CASES = 31 };

static gsa_backend *backend(int real)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_test_backend(NULL, real, 2, &b, &error) == GSA_OK, "%s", error.text);
    return b;
}

static void run_shape(gsa_backend *b, const op_case *op, int shape)
{
    const double nmse = b->real == GSA_F32 ? 1e-7 : 1e-20,
                 per_row = b->real == GSA_F32 ? 1e-4 : 1e-10;
    char name[128];
    rig r;
    const int64_t *s = op->shapes[shape];
    snprintf(name, sizeof name, "%s %s [%lld %lld %lld %lld %lld]", op->name,
             b->real == GSA_F32 ? "float" : "double", (long long)s[0], (long long)s[1],
             (long long)s[2], (long long)s[3], (long long)s[4]);
    rig_begin(&r, b, 100 + (uint64_t)shape, RIG_RANDOM, s);
    op->setup(&r);
    ck_assert_msg(op->forward(&r) == GSA_OK, "%s: %s", name, b->error.text);
    rig_fetch(&r);
    op->oracle(&r);
    ck_assert_msg(rig_compare(&r, name, 0, nmse, per_row) == 0, "%s: forward differs (see above)",
                  name);
    if (op->backward) {
        ck_assert_msg(op->backward(&r) == GSA_OK, "%s: %s", name, b->error.text);
        rig_fetch(&r);
        op->oracle_backward(&r);
        ck_assert_msg(rig_compare(&r, name, 1, nmse, per_row) == 0,
                      "%s: backward differs (see above)", name);
        ck_assert_msg(rig_compare(&r, name, 0, nmse, per_row) == 0,
                      "%s: backward changed a tensor of forward", name);
    }
    ck_assert_msg(rig_bands_touched(&r) == 0, "%s: a guard band was touched", name);
    rig_end(&r);
}

static void run_case(int i, int real)
{
    const op_case *op = op_case_any(i);
    gsa_backend *b = backend(real);
    for (int s = 0; s < op->shape_count; s++) run_shape(b, op, s);
    gsa_backend_release(b);
}

START_TEST(float_parity)
{
    run_case(_i, GSA_F32);
}
END_TEST

START_TEST(double_parity)
{
    run_case(_i, GSA_F64);
}
END_TEST

/* Memory is what the rig itself runs on; steps, which compute nothing, have cases of their own
 * (cuda_graphs.c). */
static void must_be_covered(const char *name, void *context)
{
    static const char *const no_op[] = { "release",       "alloc",      "free",     "upload",
                                         "download",      "step_begin", "step_end", "upload_ahead",
                                         "upload_arrive", "aside",      "back",     "meet" };
    int known = entry_covered(name, 0);
    for (int i = 0; i < GSA_COUNT(no_op); i++) known |= strcmp(name, no_op[i]) == 0;
    if (!known) fprintf(stderr, "%s: no case covers this entry of gsa_backend\n", name);
    *(int *)context += !known;
}

START_TEST(every_entry_has_a_case)
{
    int missing = 0, total = 0, count = 0;
    for (; op_case_any(count); count++) {
        ck_assert_int_ge(op_case_any(count)->shape_count, 6);
        total += op_case_any(count)->shape_count * 2 * (op_case_any(count)->backward ? 2 : 1);
    }
    ck_assert_int_eq(count, CASES);
    ck_assert_int_ge(each_entry(GSA_BACKEND_HEADER, must_be_covered, &missing), 41);
    ck_assert_int_eq(missing, 0);
    printf("%d cases (op x type x shape x direction)\n", total);
    ck_assert_int_ge(total, 500);
}
END_TEST

/* ---- what a caller can get wrong: a status and one sentence that names the value ----------- */
#define FAILS(call, status, words)                                                                 \
    do {                                                                                           \
        b->error.text[0] = 0;                                                                      \
        ck_assert_int_eq(call, status);                                                            \
        ck_assert_msg(strstr(b->error.text, words) != NULL, "'%s' lacks '%s'", b->error.text,      \
                      words);                                                                      \
    } while (0)

START_TEST(bad_arguments_are_sentences)
{
    gsa_backend *b;
    float x[8] = { 0 }, y[8] = { 0 };
    double control[2];
    const int32_t ids[3] = { 0, 5, 1 }, zero[8] = { 0 };
    const int64_t ends[3] = { 0, 1, 3 }, back[3] = { 0, 2, 1 };
    gsa_edges edges = { .rows = 1, .kinds = 1 };
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    gsa_attend_args args = { .edges = &edges, .heads = -1, .head_dim = 2, .parts = parts };
    const gsa_dropout all = { .p = 1, .example_id = zero }, nan_rate = { .p = NAN },
                      far = { .p = 0.5, .site = 1u << 20 };
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    FAILS(b->gemm(b, y, x, x, -1, 1, 1, 0, 0, 1, 1, 1, 0), GSA_ERR_ARGUMENT, "-1");
    FAILS(b->gemm(b, y, x, x, 1, 2, 1, 0, 0, 1, 1, 2, 0), GSA_ERR_ARGUMENT, "ldc");
    FAILS(b->gemm(b, y, x, x, 1, 1, 1, 0, 0, 1, INT64_C(1) << 31, 1, 0), GSA_ERR_LIMIT,
          "2147483648");
    FAILS(b->add(b, y, x, x, -3), GSA_ERR_ARGUMENT, "-3");
    FAILS(b->bias_forward(b, y, x, 2, -4), GSA_ERR_ARGUMENT, "-4");
    FAILS(b->bias_forward(b, y, x, INT64_C(1) << 40, INT64_C(1) << 40), GSA_ERR_LIMIT, "64 bits");
    FAILS(b->activate_forward(b, y, x, 17, 1), GSA_ERR_ARGUMENT, "17");
    FAILS(b->norm_forward(b, y, y, y, x, x, x, 1e-5, 1, 0), GSA_ERR_ARGUMENT, "0 columns");
    FAILS(b->norm_backward(b, y, y, y, x, x, x, x, x, 1, 1, 0), GSA_ERR_ARGUMENT, "0 columns");
    FAILS(b->dropout_forward(b, y, x, &all, 1, 1), GSA_ERR_ARGUMENT, "p = 1");
    FAILS(b->dropout_forward(b, y, x, &nan_rate, 1, 1), GSA_ERR_ARGUMENT, "nan");
    FAILS(b->dropout_forward(b, y, x, &far, 1, 1), GSA_ERR_ARGUMENT, "1048576");
    FAILS(b->gather_forward(b, y, x, ids, 1, 0, 3, 1, 5), GSA_ERR_ARGUMENT, "id 5 of row 1");
    FAILS(b->gather_backward(b, y, x, ids, 0, 1, 3, 1, 5), GSA_ERR_ARGUMENT, "id 5 of row 1");
    FAILS(b->cross_entropy_forward(b, y, NULL, x, ids, 0, 1, 3, 2), GSA_ERR_ARGUMENT,
          "target 5 of row 1");
    FAILS(b->cross_entropy_backward(b, y, x, x, ids, 0, 1, 1, 3, 2), GSA_ERR_ARGUMENT,
          "target 5 of row 1");
    FAILS(b->cross_entropy_forward(b, y, NULL, x, ids, 1, 1, 1, 2), GSA_ERR_ARGUMENT,
          "a smoothing of 1");
    FAILS(b->cross_entropy_backward(b, y, x, x, ids, -0.1, 1, 1, 1, 2), GSA_ERR_ARGUMENT,
          "a smoothing of -0.1");
    FAILS(b->cross_entropy_forward(b, y, NULL, x, ids, (double)NAN, 1, 1, 2), GSA_ERR_ARGUMENT,
          "a smoothing of nan");
    FAILS(b->segment_entropy_forward(b, y, x, ends, ids, 1, 2, 3, 1), GSA_ERR_ARGUMENT,
          "target 5 of segment 1");
    FAILS(b->segment_entropy_backward(b, y, x, x, ends, ids, 1, 2, 4, 1), GSA_ERR_ARGUMENT,
          "from 0 to 3, expected 0 to 4");
    FAILS(b->segment_entropy_forward(b, y, x, back, ids, 1, 2, 1, 1), GSA_ERR_ARGUMENT,
          "segment 1 ends before it begins");
    FAILS(b->pool_forward(b, y, NULL, x, NULL, 1, 1, 1), GSA_ERR_ARGUMENT, "arg");
    FAILS(b->clip(b, control, control, -1, 0), GSA_ERR_ARGUMENT, "-1");
    FAILS(b->attend_forward(b, &args), GSA_ERR_ARGUMENT, "-1 heads");
    args.heads = 1;
    args.dropout.p = 2;
    FAILS(b->attend_forward(b, &args), GSA_ERR_ARGUMENT, "p = 2");
    args.dropout.p = 0;
    FAILS(b->attend_backward(b, &args), GSA_ERR_ARGUMENT, "0 examples");
    FAILS(b->aggregate_backward(b, parts, x, &edges, 0, 1), GSA_ERR_ARGUMENT, "0 examples");
    FAILS(b->zero_fill(b, y, -8), GSA_ERR_ARGUMENT, "-8");
    ck_assert_ptr_null(b->alloc(b, -1));
    ck_assert_ptr_null(b->alloc(b, INT64_MAX));
    gsa_backend_release(b);
    ck_assert_int_eq(gsa_backend_ref(NULL, 7, 1, &b, NULL), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 0, &b, NULL), GSA_ERR_ARGUMENT);
    gsa_backend_release(NULL);
}
END_TEST

/* ---- NaN stays NaN ------------------------------------------------------------------------- */
START_TEST(nan_stays_nan)
{
    gsa_backend *b;
    const float x[3] = { 1, NAN, -2 }, ones[3] = { 1, 1, 1 };
    const int64_t offset[2] = { 0, 3 };
    const int32_t target = 0;
    float y[3], mean, rstd, dx[3];
    int32_t arg;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    for (int kind = GSA_RELU; kind <= GSA_SIGMOID; kind++) {
        ck_assert_int_eq(b->activate_forward(b, y, x, kind, 3), GSA_OK);
        ck_assert(isnan(y[1]) && isfinite(y[0]) && isfinite(y[2]));
    }
    b->norm_forward(b, y, &mean, &rstd, x, ones, ones, 1e-5, 1, 3);
    ck_assert(isnan(y[0]) && isnan(mean) && isnan(rstd));
    b->pool_forward(b, y, &arg, x, offset, 1, 1, 1);
    ck_assert(isnan(y[0]) && arg == 1);
    b->pool_forward(b, y, NULL, x, offset, 0, 1, 1);
    ck_assert(isnan(y[0]));
    b->cross_entropy_forward(b, y, NULL, x, &target, 0, 1, 1, 3);
    ck_assert(isnan(y[0]));
    b->cross_entropy_backward(b, memset(dx, 0, sizeof dx), ones, x, &target, 0, 1, 1, 1, 3);
    ck_assert(isnan(dx[0]) && isnan(dx[2]));
    b->gemm(b, y, x, ones, 1, 1, 3, 0, 0, 1, 3, 1, 0);
    ck_assert(isnan(y[0]));
    gsa_backend_release(b);
}
END_TEST

/* The gradient of cross-entropy depends on the differences of logits, not on their size. */
START_TEST(large_logits_keep_their_gradient)
{
    gsa_backend *b;
    const float one = 1;
    const int32_t target = 0;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    for (int step = 0; step < 1000; step++) {
        const float top = 1000 + (float)step * 0.37f, x[3] = { top, top - 3, top - 9 };
        const double second = exp((double)x[1] - (double)x[0]),
                     third = exp((double)x[2] - (double)x[0]);
        const double sum = 1 + second + third;
        float dx[3] = { 0 };
        b->cross_entropy_backward(b, dx, &one, x, &target, 0, 1, 1, 1, 3);
        ck_assert_double_eq_tol((double)dx[0], 1 / sum - 1, 2e-7);
        ck_assert_double_eq_tol((double)dx[1] * sum / second, 1, 1e-6);
        ck_assert_double_eq_tol((double)dx[2] * sum / third, 1, 1e-6);
    }
    gsa_backend_release(b);
}
END_TEST

/* A product that does not accumulate never reads C. */
START_TEST(gemm_ignores_old_c)
{
    for (int real = GSA_F32; real <= GSA_F64; real++) {
        static float f[300 * 7], ones[3000 * 7];
        static double d[300 * 7], more[3000 * 7];
        gsa_backend *b = NULL;
        ck_assert_int_eq(gsa_backend_ref(NULL, real, 1, &b, NULL), GSA_OK);
        for (int i = 0; i < 300 * 7; i++) f[i] = NAN, d[i] = NAN;
        for (int i = 0; i < 3000 * 7; i++) ones[i] = 1, more[i] = 1;
        void *c = real == GSA_F32 ? (void *)f : (void *)d,
             *a = real == GSA_F32 ? (void *)ones : (void *)more;
        ck_assert_int_eq(b->gemm(b, c, a, a, 7, 7, 3000, 1, 0, 7, 7, 7, 0), GSA_OK);
        for (int i = 0; i < 49; i++) ck_assert((real == GSA_F32 ? (double)f[i] : d[i]) == 3000);
        ck_assert_int_eq(b->gemm(b, c, a, a, 300, 7, 1, 0, 0, 7, 1, 7, 0), GSA_OK);
        for (int i = 0; i < 2100; i++) ck_assert((real == GSA_F32 ? (double)f[i] : d[i]) == 1);
        ck_assert_int_eq(b->gemm(b, c, a, a, 300, 7, 0, 0, 0, 7, 1, 7, 0), GSA_OK);
        for (int i = 0; i < 2100; i++) ck_assert((real == GSA_F32 ? (double)f[i] : d[i]) == 0);
        gsa_backend_release(b);
    }
}
END_TEST

/* Rows that are not there yet do not matter; with them all bits are those of one product. */
START_TEST(parts_of_a_product_are_its_bits)
{
    static const int sizes[][3] = { { 40, 8, 30 }, { 1300, 33, 64 }, { 700, 12, 4500 } };
    enum { MOST = 700 * 4500, OUT = 1300 * 33 };
    static double a[MOST], w[12 * 4500], whole[OUT], parts[OUT];
    const uint8_t late[] = { 0, 1, 0, 1, 1, 0 };
    for (int i = 0; i < 2 * GSA_COUNT(sizes); i++) {
        const int real = i % 2 ? GSA_F64 : GSA_F32, *s = sizes[i / 2];
        const size_t bytes = real == GSA_F64 ? 8 : 4, row = (size_t)s[2] * bytes;
        gsa_dice dice = { 3 };
        gsa_backend *b = NULL;
        ck_assert_int_eq(gsa_test_backend(NULL, real, 2, &b, NULL), GSA_OK);
        for (int k = 0; k < s[0] * s[2]; k++)
            if (real == GSA_F64) a[k] = gsa_normal(&dice);
            else ((float *)a)[k] = (float)gsa_normal(&dice);
        for (int k = 0; k < s[1] * s[2]; k++)
            if (real == GSA_F64) w[k] = gsa_normal(&dice);
            else ((float *)w)[k] = (float)gsa_normal(&dice);
        ck_assert_int_eq(b->gemm(b, whole, a, w, s[0], s[1], s[2], 0, 1, s[1], s[2], s[2], 0),
                         GSA_OK);
        char *second = (char *)a + GSA_GEMM_ROWS * row, saved[64];
        if (s[0] > GSA_GEMM_ROWS) memcpy(saved, second, 64), memset(second, 0xff, 64);
        ck_assert_int_eq(b->gemm_part(b, parts, a, w, s[0], s[1], s[2], late, 0), GSA_OK);
        if (s[0] > GSA_GEMM_ROWS) memcpy(second, saved, 64);
        ck_assert_int_eq(b->gemm_part(b, parts, a, w, s[0], s[1], s[2], late, 1), GSA_OK);
        ck_assert_int_eq(memcmp(whole, parts, (size_t)(s[0] * s[1]) * bytes), 0);
        gsa_backend_release(b);
    }
}
END_TEST

/* Gradients that are NULL are skipped. */
START_TEST(null_gradients_are_skipped)
{
    gsa_backend *b;
    const float x[6] = { 1, 2, 3, 4, 5, 6 }, one[3] = { 1, 1, 1 };
    const uint8_t mask[2] = { 1, 0 };
    const int32_t ids[2] = { 0, 1 };
    const int64_t offset[2] = { 0, 2 };
    float g[6] = { 0 };
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    ck_assert_int_eq(b->norm_backward(b, NULL, NULL, NULL, x, x, one, one, one, 1, 2, 3), GSA_OK);
    ck_assert_int_eq(b->norm_backward(b, NULL, g, NULL, x, x, one, one, one, 1, 2, 3), GSA_OK);
    ck_assert(g[0] == 1 * 0 + 4 * 3);
    ck_assert_int_eq(b->bias_backward(b, NULL, x, 2, 3), GSA_OK);
    ck_assert_int_eq(b->activate_backward(b, NULL, x, x, GSA_TANH, 1, 6), GSA_OK);
    ck_assert_int_eq(b->gather_backward(b, NULL, x, ids, 0, 1, 2, 3, 2), GSA_OK);
    ck_assert_int_eq(b->select_backward(b, NULL, NULL, mask, x, 2, 3), GSA_OK);
    ck_assert_int_eq(b->pool_backward(b, NULL, x, NULL, offset, 0, 1, 1, 3), GSA_OK);
    ck_assert_int_eq(b->cross_entropy_backward(b, NULL, one, x, ids, 0, 1, 1, 2, 3), GSA_OK);
    ck_assert_int_eq(b->square_error_backward(b, NULL, one, x, x, 1, 6), GSA_OK);
    gsa_backend_release(b);
}
END_TEST

/* Once an op has run with its sizes, the same op allocates nothing. */
static void *counted_alloc(void *user, size_t bytes)
{
    ++*(int *)user;
    return gsa_system_default()->alloc(gsa_system_default()->user, bytes);
}

START_TEST(steady_state_allocates_nothing)
{
    int allocations = 0;
    gsa_system counting = *gsa_system_default();
    static float a[5000 * 9], c[81];
    double sum;
    gsa_backend *b;
    counting.user = &allocations;
    counting.alloc = counted_alloc;
    ck_assert_int_eq(gsa_backend_ref(&counting, GSA_F32, 2, &b, NULL), GSA_OK);
    for (int round = 0, before = 0; round < 3; round++) {
        b->gemm(b, c, a, a, 9, 9, 5000, 1, 0, 9, 9, 9, 0);
        b->bias_backward(b, c, a, 5000, 9);
        b->sum(b, &sum, a, 45000);
        if (round > 0) ck_assert_int_eq(allocations, before);
        before = allocations;
    }
    gsa_backend_release(b);
}
END_TEST

/* Memory that never comes is a status, nothing is lost, and the backend works on afterwards. */
typedef struct scarce {
    int left, live;
} scarce;

static void *refusing_alloc(void *user, size_t bytes)
{
    scarce *memory = user;
    if (--memory->left < 0) return NULL;
    memory->live++;
    return gsa_system_default()->alloc(gsa_system_default()->user, bytes);
}

static void counted_release(void *user, void *at)
{
    ((scarce *)user)->live -= at != NULL;
    gsa_system_default()->release(gsa_system_default()->user, at);
}

START_TEST(no_memory_is_a_status)
{
    scarce memory = { 0, 0 };
    gsa_system refusing = *gsa_system_default();
    static float a[5000 * 9], c[81];
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    refusing.user = &memory;
    refusing.alloc = refusing_alloc;
    refusing.release = counted_release;
    int allowed = 0;
    for (;; allowed++) {
        memory.left = allowed;
        const gsa_status status = gsa_backend_ref(&refusing, GSA_F32, 2, &b, &error);
        if (status == GSA_OK) break;
        ck_assert_int_eq(status, GSA_ERR_MEMORY);
        ck_assert_int_eq(memory.live, 0);
    }
    ck_assert_int_ge(allowed, 2);
    ck_assert_ptr_null(b->alloc(b, 100));
    ck_assert_int_eq(b->error.status, GSA_ERR_MEMORY);
    FAILS(b->gemm(b, c, a, a, 9, 9, 5000, 1, 0, 9, 9, 9, 0), GSA_ERR_MEMORY, "gemm");
    FAILS(b->bias_backward(b, c, a, 5000, 9), GSA_ERR_MEMORY, "bias_backward");
    memory.left = 10;
    ck_assert_int_eq(b->gemm(b, c, a, a, 9, 9, 5000, 1, 0, 9, 9, 9, 0), GSA_OK);
    gsa_backend_release(b);
    ck_assert_int_eq(memory.live, 0);
}
END_TEST

START_TEST(memory_is_aligned)
{
    gsa_backend *b;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    for (int64_t bytes = 0; bytes < 300; bytes++) {
        void *at = b->alloc(b, bytes);
        ck_assert_int_eq((int)((uintptr_t)at % 64), 0);
        b->free(b, at);
    }
    b->free(b, NULL);
    gsa_backend_release(b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test coverage[] = { GSA_TEST(every_entry_has_a_case) };
    static const gsa_test floats[] = { GSA_LOOP(float_parity, CASES) },
                          doubles[] = { GSA_LOOP(double_parity, CASES) };
    static const gsa_test arguments[] = { GSA_TEST(bad_arguments_are_sentences),
                                          GSA_TEST(null_gradients_are_skipped) };
    static const gsa_test special[] = { GSA_TEST(nan_stays_nan),
                                        GSA_TEST(large_logits_keep_their_gradient),
                                        GSA_TEST(gemm_ignores_old_c),
                                        GSA_TEST(parts_of_a_product_are_its_bits),
                                        GSA_TEST(steady_state_allocates_nothing),
                                        GSA_TEST(no_memory_is_a_status),
                                        GSA_TEST(memory_is_aligned) };
    static const gsa_case cases[] = { GSA_CASE("coverage", coverage, 10),
                                      GSA_CASE("float", floats, 120),
                                      GSA_CASE("double", doubles, 120),
                                      GSA_CASE("arguments", arguments, 10),
                                      GSA_CASE("special", special, 30) };
    return gsa_run_suite("kernel_ops", cases, GSA_COUNT(cases), argc, argv);
}
