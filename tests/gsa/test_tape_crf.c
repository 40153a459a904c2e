/* The CRF on the tape: gradients through what makes its scores, decoding to the host, shapes, a
 * backend without it. */
#include "bench.h"
#include <math.h>
#include <string.h>

enum { TOKENS = 7, TAGS = 3, SEQUENCES = 4, LEAVES = 5 };
static const int64_t offset[SEQUENCES + 1] = { 0, 3, 3, 4, TOKENS }; /* the second is empty */
static const int32_t targets[TOKENS] = { 0, -1, 2, 1, 1, 1, 0 };
static const uint8_t allowed[(TAGS + 2) * TAGS] = { 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };

static const void *device(gsa_tape *tape, const void *host, size_t bytes)
{
    void *copy = gsa_tape_host(tape, (int64_t)bytes);
    memcpy(copy, host, bytes);
    return gsa_tape_upload(tape, copy, (int64_t)bytes);
}

/* x [TOKENS, 2], w [TAGS, 2], transitions, start, end: emissions = x w^T. */
static void add_leaves(bench *b)
{
    static const struct {
        const char *name;
        int64_t rows, cols;
    } leaves[LEAVES] = { { "x", TOKENS, 2 },
                         { "w", TAGS, 2 },
                         { "transitions", TAGS, TAGS },
                         { "start", 1, TAGS },
                         { "end", 1, TAGS } };
    gsa_parameter *p;
    for (int i = 0; i < LEAVES; i++)
        MUST(b, gsa_parameters_add(b->parameters, leaves[i].name, leaves[i].rows, leaves[i].cols,
                                   GSA_INIT_NORMAL, 1, 0, &p, &b->error));
}

static gsa_crf_op crf_of(bench *b, int masked)
{
    gsa_tensor *leaf[LEAVES];
    for (int i = 0; i < LEAVES; i++) leaf[i] = &gsa_parameters_at(b->parameters, i)->value;
    return (gsa_crf_op){ .emissions = gsa_op_linear(b->tape, leaf[0], leaf[1], NULL),
                         .transitions = leaf[2],
                         .start = leaf[3],
                         .end = leaf[4],
                         .sequences = SEQUENCES,
                         .offset = device(b->tape, offset, sizeof offset),
                         .allowed = masked ? device(b->tape, allowed, sizeof allowed) : NULL,
                         .targets = device(b->tape, targets, sizeof targets) };
}

static double loss_of(bench *b, int masked, int backward)
{
    double value;
    gsa_tape_reset(b->tape, 1, 1, 1);
    const gsa_crf_op op = crf_of(b, masked);
    gsa_tensor *loss = gsa_op_crf(b->tape, &op, 0.7);
    MUST(b, gsa_tape_status(b->tape, &b->error));
    MUST(b, gsa_tensor_read(b->backend, loss, 0, &value, &b->error));
    if (backward) MUST(b, gsa_tape_backward(b->tape, loss, &b->error));
    return value;
}

START_TEST(every_leaf_differentiates)
{
    bench b = bench_open(NULL, GSA_F64);
    add_leaves(&b);
    MUST(&b, gsa_parameters_zero_gradients(b.parameters, &b.error));
    loss_of(&b, _i, 1);
    for (int p = 0; p < LEAVES; p++) {
        gsa_tensor *x = &gsa_parameters_at(b.parameters, p)->value;
        double gradient[TOKENS * TAGS], value[TOKENS * TAGS], largest = 0;
        MUST(&b, gsa_tensor_read(b.backend, x, 1, gradient, &b.error));
        MUST(&b, gsa_tensor_read(b.backend, x, 0, value, &b.error));
        for (int64_t i = 0; i < x->rows * x->cols; i++) {
            const double eps = 1e-6, was = value[i];
            value[i] = was + eps;
            MUST(&b, gsa_tensor_write(b.backend, x, value, &b.error));
            const double up = loss_of(&b, _i, 0);
            value[i] = was - eps;
            MUST(&b, gsa_tensor_write(b.backend, x, value, &b.error));
            const double slope = (up - loss_of(&b, _i, 0)) / (2 * eps);
            value[i] = was;
            MUST(&b, gsa_tensor_write(b.backend, x, value, &b.error));
            ck_assert_msg(fabs(slope - gradient[i]) <= 1e-7 + 1e-6 * fabs(slope),
                          "leaf %d, element %d: %.9g, differences say %.9g", p, (int)i, gradient[i],
                          slope);
            largest = fmax(largest, fabs(slope));
        }
        ck_assert_msg(largest > 1e-3, "leaf %d has no gradient", p);
    }
    bench_close(&b);
}
END_TEST

START_TEST(paths_come_to_the_host)
{
    for (int real = GSA_F32; real <= GSA_F64; real++) {
        bench b = bench_open(NULL, real);
        add_leaves(&b);
        gsa_tape_reset(b.tape, 0, 0, 0);
        const double two_states[TOKENS * 2] = { 9, 0, 0, 9, -9, -9, 9, 0, 0, 9, 0, 9, 9, 0 },
                                         w[TAGS * 2] = { 1, 0, 0, 1, -1, -1 };
        const double none[TAGS * TAGS] = { 0 };
        for (int p = 0; p < LEAVES; p++)
            MUST(&b, gsa_tensor_write(b.backend, &gsa_parameters_at(b.parameters, p)->value,
                                      p == 0   ? two_states
                                      : p == 1 ? w
                                               : none,
                                      &b.error));
        const gsa_crf_op op = crf_of(&b, 0), masked = crf_of(&b, 1);
        int32_t path[TOKENS];
        double score[SEQUENCES];
        float small[SEQUENCES];
        static const int32_t expected[TOKENS] = { 0, 1, 2, 0, 1, 1, 0 };
        MUST(&b, gsa_crf_decode(b.tape, &op, path, real == GSA_F64 ? (void *)score : (void *)small,
                                &b.error));
        for (int s = 0; s < SEQUENCES && real == GSA_F32; s++) score[s] = (double)small[s];
        ck_assert_int_eq(memcmp(path, expected, sizeof path), 0);
        ck_assert(score[0] == 36 && score[1] == 0 && score[2] == 9 && score[3] == 27);
        MUST(&b, gsa_crf_decode(b.tape, &masked, path, NULL, &b.error));
        ck_assert(path[0] == 0 && path[1] == 0 &&
                  path[2] == 2); /* 1 to 2 is forbidden: 9 + 0 + 18 */
        bench_close(&b);
    }
}
END_TEST

START_TEST(what_is_wrong_is_a_sentence)
{
    bench b = bench_open(NULL, GSA_F64);
    add_leaves(&b);
    gsa_tape_reset(b.tape, 1, 0, 0);
    gsa_crf_op op = crf_of(&b, 0);
    const char *words = NULL;
    switch (_i) {
    case 0:
        op.transitions = op.start, words = "crf: transitions are [1, 3], but 3 tags need [3, 3]";
        break;
    case 1:
        op.end = op.transitions, words = "crf: end are [3, 3], but 3 tags need [1, 3]";
        break;
    case 2:
        op.start = NULL, words = "crf: an operand is NULL";
        break;
    default:
        b.backend->crf_forward = NULL, b.backend->crf_decode = NULL,
        words = "has no operation 'crf_";
        break;
    }
    int32_t path[TOKENS];
    ck_assert_ptr_null(gsa_op_crf(b.tape, &op, 1));
    ck_assert_int_ne(gsa_tape_status(b.tape, &b.error), GSA_OK);
    ck_assert_msg(strstr(b.error.text, words) != NULL, "'%s' lacks '%s'", b.error.text, words);
    gsa_tape_reset(b.tape, 1, 0, 0);
    const gsa_crf_op again = _i == 3 ? crf_of(&b, 0) : op;
    ck_assert_int_ne(gsa_crf_decode(b.tape, &again, path, NULL, &b.error), GSA_OK);
    ck_assert_msg(strstr(b.error.text, words) != NULL, "'%s' lacks '%s'", b.error.text, words);
    bench_close(&b);
}
END_TEST

START_TEST(nothing_is_fine)
{
    bench b = bench_open(NULL, GSA_F64);
    add_leaves(&b);
    gsa_tape_reset(b.tape, 1, 0, 0);
    const int64_t zero = 0;
    gsa_crf_op op = crf_of(&b, 0);
    op.emissions = gsa_tape_zeros(b.tape, 0, TAGS), op.sequences = 0,
    op.offset = device(b.tape, &zero, sizeof zero), op.targets = NULL;
    gsa_tensor *loss = gsa_op_crf(b.tape, &op, 1);
    double value;
    MUST(&b, gsa_tape_backward(b.tape, loss, &b.error));
    MUST(&b, gsa_tensor_read(b.backend, loss, 0, &value, &b.error));
    ck_assert(value == 0);
    MUST(&b, gsa_crf_decode(b.tape, &op, NULL, NULL, &b.error));
    bench_close(&b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test gradients[] = { GSA_LOOP(every_leaf_differentiates, 2) };
    static const gsa_test decode[] = { GSA_TEST(paths_come_to_the_host) };
    static const gsa_test shapes[] = { GSA_LOOP(what_is_wrong_is_a_sentence, 4),
                                       GSA_TEST(nothing_is_fine) };
    static const gsa_case cases[] = { GSA_CASE("gradients", gradients, 30),
                                      GSA_CASE("decode", decode, 30),
                                      GSA_CASE("shapes", shapes, 30) };
    return gsa_run_suite("tape_crf", cases, GSA_COUNT(cases), argc, argv);
}
