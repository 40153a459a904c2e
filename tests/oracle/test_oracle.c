/* 1,000 random models: what the framework computes against a second interpreter of its law, forward
 * and backward. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "census.h"
#include "harness.h"
#include "mask.h"
#include "support/guard.h"
#include "support/suite.h"

enum { MODELS = 1000, CHUNK = 100 };

/* ---- comparison */
static int differ(const char *what, const double *got, const double *want, int64_t count,
                  double atol, double rtol)
{
    if (!got != !want) {
        fprintf(stderr, "%s: %s\n", what, got ? "was not asked for" : "is missing");
        return 1;
    }
    return got ? gsa_differ(what, got, want, count, atol, rtol) : 0;
}

static double largest(const double *x, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    return most;
}

static int readouts_differ(const oracle_model *model, const oracle_result *got,
                           const oracle_result *want)
{
    int wrong = fabs(got->loss - want->loss) > 1e-9 * (1 + fabs(want->loss));
    if (wrong) fprintf(stderr, "loss %.17g, expected %.17g\n", got->loss, want->loss);
    for (int s = 0; s < model->stacks; s++) {
        const oracle_readout *a = &got->readout[s], *b = &want->readout[s];
        const int hidden = model->stack[s].settings.hidden;
        wrong |= a->tokens != b->tokens;
        wrong |= differ("sequence", a->sequence, b->sequence, a->tokens * hidden, 1e-9, 1e-9);
        wrong |= differ("summary", a->summary, b->summary, model->examples * hidden, 1e-9, 1e-9);
        for (int i = 0; i < ORACLE_TAPS; i++)
            wrong |= differ("tap", a->tap[i], b->tap[i], a->tokens * hidden, 1e-9, 1e-9);
        if (got->skipped[s] != want->skipped[s]) {
            fprintf(stderr, "%s: %d phases skipped, expected %d\n", model->stack[s].name,
                    got->skipped[s], want->skipped[s]);
            wrong = 1;
        }
    }
    return wrong;
}

static int parameter_differs(const oracle_harness *h, const oracle_matrix *m, double scale)
{
    const gsa_parameter *p = gsa_parameters_find(h->parameters, m->name);
    const int64_t count = (int64_t)m->rows * m->cols;
    if (!p) return 0; /* the empty input */
    double *grad = malloc((size_t)(count + 1) * sizeof *grad);
    gsa_error error;
    int wrong = !grad || gsa_tensor_read(h->backend, &p->value, 1, grad, &error) != GSA_OK;
    if (!wrong) wrong = gsa_differ(m->name, grad, m->grad, count, 1e-10 * scale, 1e-8);
    free(grad);
    if (!m->used) wrong = 1, fprintf(stderr, "%s: the law knows no such parameter\n", m->name);
    const int reached = (p->flags & GSA_UNREACHED) == 0;
    if (reached != m->reached) {
        fprintf(stderr, "%s: %s as unreached\n", m->name,
                m->reached ? "is flagged" : "is not flagged");
        wrong = 1;
    }
    return wrong;
}

static int gradients_differ(const oracle_harness *h, const oracle_bank *bank)
{
    double scale = 1e-6;
    int wrong = 0;
    for (int i = 0; i < bank->count; i++)
        scale = fmax(scale, largest(bank->matrix[i].grad,
                                    (int64_t)bank->matrix[i].rows * bank->matrix[i].cols));
    for (int i = 0; i < bank->count; i++) wrong |= parameter_differs(h, &bank->matrix[i], scale);
    return wrong;
}

/* 1 and words on stderr where the framework and the law differ. */
static int model_differs(const oracle_model *model)
{
    oracle_harness h;
    oracle_bank bank = { 0 };
    oracle_result got = { 0 }, want = { 0 };
    gsa_backend *backend = NULL;
    gsa_error error;
    ck_assert_msg(gsa_test_backend(NULL, GSA_F64, 1, &backend, &error) == GSA_OK, "%s", error.text);
    int wrong =
        oracle_open(&h, model, backend, NULL) != GSA_OK || oracle_step(&h, 1, &got) != GSA_OK;
    if (wrong) fprintf(stderr, "the framework refuses: %s\n", h.error.text);
    else {
        wrong = oracle_fill_bank(&h, &bank) != GSA_OK;
        oracle_interpret(model, &bank, &want);
        if (want.error[0]) wrong = 1, fprintf(stderr, "the interpreter misses: %s\n", want.error);
        else wrong |= readouts_differ(model, &got, &want) | gradients_differ(&h, &bank);
    }
    oracle_result_release(&got);
    oracle_result_release(&want);
    oracle_bank_release(&bank);
    oracle_close(&h);
    gsa_backend_release(backend);
    return wrong;
}

static void compare(uint64_t seed)
{
    oracle_model *model = malloc(sizeof *model);
    ck_assert_ptr_nonnull(model);
    oracle_invent(model, seed);
    const int wrong = model_differs(model);
    if (wrong) oracle_print(model);
    free(model);
    ck_assert_msg(!wrong, "the model of seed %llu differs from the law", (unsigned long long)seed);
}

#define CHUNK_TEST(n)                                                                              \
    START_TEST(models_##n)                                                                         \
    {                                                                                              \
        compare((uint64_t)(n * CHUNK + _i));                                                       \
    }                                                                                              \
    END_TEST                                                                                       \
    static const gsa_test chunk_##n[] = { GSA_LOOP(models_##n, CHUNK) };
CHUNK_TEST(0)
CHUNK_TEST(1)
CHUNK_TEST(2)
CHUNK_TEST(3)
CHUNK_TEST(4)
CHUNK_TEST(5)
CHUNK_TEST(6)
CHUNK_TEST(7)
CHUNK_TEST(8)
CHUNK_TEST(9)

/* ---- what the 1,000 models cover */
START_TEST(every_feature_is_exercised)
{
    oracle_features *features = calloc(1, sizeof *features);
    oracle_model *model = malloc(sizeof *model);
    ck_assert(features && model);
    for (uint64_t seed = 0; seed < MODELS; seed++) {
        oracle_invent(model, seed);
        oracle_count_features(model, features);
    }
    int missing = 0;
    for (int i = 0; i < features->count; i++) {
        printf("%4d models: %s\n", features->models[i], features->name[i]);
        if (!features->models[i])
            missing = 1, fprintf(stderr, "never exercised: %s\n", features->name[i]);
    }
    ck_assert_int_ge(features->count, 80);
    ck_assert(!missing);
    free(features);
    free(model);
}
END_TEST

START_TEST(invention_follows_from_the_seed)
{
    oracle_model *a = malloc(sizeof *a), *b = malloc(sizeof *b);
    ck_assert(a && b);
    oracle_invent(a, 7);
    oracle_invent(b, 7);
    ck_assert_str_eq(a->stack[0].spec, b->stack[0].spec);
    ck_assert_mem_eq(a->stack, b->stack, offsetof(oracle_stack, name));
    ck_assert_mem_eq(&a->stack[0].settings, &b->stack[0].settings, sizeof a->stack[0].settings);
    free(a);
    free(b);
}
END_TEST

/* Salmon et al. 2011, Random123's kat_vectors. */
START_TEST(philox_draws_the_published_numbers)
{
    static const struct {
        uint32_t counter[4], key[2], word[4];
    } rows[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { ~0u, ~0u, ~0u, ~0u },
          { ~0u, ~0u },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        uint32_t word[4];
        oracle_philox(word, rows[i].counter, rows[i].key);
        ck_assert_mem_eq(word, rows[i].word, sizeof word);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test cover[] = { GSA_TEST(every_feature_is_exercised),
                                      GSA_TEST(invention_follows_from_the_seed),
                                      GSA_TEST(philox_draws_the_published_numbers) };
    static const gsa_case cases[] = {
        GSA_CASE("cover", cover, 60),      GSA_CASE("models_0", chunk_0, 60),
        GSA_CASE("models_1", chunk_1, 60), GSA_CASE("models_2", chunk_2, 60),
        GSA_CASE("models_3", chunk_3, 60), GSA_CASE("models_4", chunk_4, 60),
        GSA_CASE("models_5", chunk_5, 60), GSA_CASE("models_6", chunk_6, 60),
        GSA_CASE("models_7", chunk_7, 60), GSA_CASE("models_8", chunk_8, 60),
        GSA_CASE("models_9", chunk_9, 60)
    };
    return gsa_run_suite("oracle", cases, GSA_COUNT(cases), argc, argv);
}
