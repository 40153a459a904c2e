/* A context: a model made and trained through it, and every call with what it cannot take. */
#include "gsa/context.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/faults.h"
#include "support/suite.h"

enum { EXAMPLES = 16, LENGTH = 6, HIDDEN = 16 };
#define MUST(call) ck_assert_msg((call) == GSA_OK, "%s: %s", #call, error.text)
static gsa_error error;

typedef struct world {
    gsa_context *context;
    gsa_encoder *encoder;
    gsa_linear head;
    gsa_settings settings;
    int32_t ids[EXAMPLES * LENGTH], label[EXAMPLES], length[EXAMPLES];
} world;

/* All of a small classifier; a status, so that a lack of memory can be anywhere. */
static gsa_status open_world(world *w, const gsa_system *system, int real, int threads,
                             gsa_error *why)
{
    const gsa_context_options options = { .struct_size = sizeof options,
                                          .threads = threads,
                                          .device = "cpu",
                                          .real = real,
                                          .seed = 7,
                                          .system = system };
    const gsa_input_options words = { .vocabulary = 5 };
    const gsa_schedule rate = { .kind = GSA_SCHEDULE_CONSTANT, .steps = 1, .lr = 0.01 };
    gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
    *w = (world){ .settings = gsa_settings_default() };
    w->settings.hidden = HIDDEN, w->settings.heads = 2, w->settings.dropout_hidden = 0.1;
    adam.clip = 1;
    for (int e = 0; e < EXAMPLES; e++) {
        w->length[e] = LENGTH;
        for (int i = 0; i < LENGTH; i++)
            w->ids[e * LENGTH + i] =
                1 + (int32_t)(gsa_random(1, (uint64_t)e, (uint64_t)i) % 4), /* has it a 4? */
                w->label[e] |= w->ids[e * LENGTH + i] == 4;
    }
    gsa_status status = gsa_context_open(&options, &w->context, why);
    gsa_context *c = w->context;
    if (status == GSA_OK)
        status = gsa_context_encoder(c, "star*2", &w->settings, &words, NULL, &w->encoder, why);
    if (status == GSA_OK) status = gsa_context_linear(c, "head", HIDDEN, 2, &w->head, why);
    if (status == GSA_OK) status = gsa_context_optimise(c, &adam, &rate, why);
    return status;
}

static gsa_tensor *forward(world *w, int training)
{
    const gsa_sequences data = { .count = EXAMPLES, .length = w->length };
    gsa_context_begin(w->context, training);
    const gsa_readout read = gsa_encoder_forward(w->encoder, &data, w->ids, NULL, NULL);
    return gsa_context_cross_entropy(w->context, gsa_linear_forward(&w->head, read.summary),
                                     w->label);
}

static double train(world *w, int steps)
{
    double loss = 0;
    for (int step = 0; step < steps; step++)
        MUST(gsa_context_step(w->context, forward(w, 1), &loss, &error));
    return loss;
}

START_TEST(a_model_learns_the_same_bits_on_any_threads)
{
    world a, b;
    MUST(open_world(&a, NULL, _i ? GSA_F64 : GSA_F32, 1, &error));
    MUST(open_world(&b, NULL, _i ? GSA_F64 : GSA_F32, 3, &error));
    const double first = train(&a, 1), loss = train(&a, 80);
    train(&b, 1);
    ck_assert_double_lt(loss, first / 4);
    ck_assert_double_eq(loss, train(&b, 80));
    ck_assert_int_eq(gsa_optimiser_steps(gsa_context_optimiser(a.context)), 81);
    gsa_context_release(a.context), gsa_context_release(b.context);
}
END_TEST

/* A warm step requests no memory, and all that the context made goes with it. */
START_TEST(warm_steps_ask_for_no_memory_and_nothing_leaks)
{
    world w;
    gsa_faults faults;
    gsa_faults_start(&faults);
    MUST(open_world(&w, &faults.table, GSA_F32, 2, &error));
    train(&w, 3);
    gsa_faults_rewind(&faults);
    MUST(gsa_context_step(w.context, forward(&w, 1), NULL, &error));
    ck_assert_int_le(faults.calls[GSA_OP_ALLOC], 1); /* where the loss is read */
    gsa_context_release(w.context);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

static gsa_status attempt(gsa_faults *faults, void *context)
{
    world w;
    gsa_error why;
    gsa_status status = open_world(&w, &faults->table, GSA_F32, 1, &why);
    if (status == GSA_OK) status = gsa_context_step(w.context, forward(&w, 1), NULL, &why);
    gsa_context_release(w.context);
    (void)context;
    return status;
}

START_TEST(every_lack_of_memory_is_told_and_nothing_leaks)
{
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 1, GSA_ERR_MEMORY, attempt, NULL), 50);
}
END_TEST

/* ---- what cannot be is one sentence -------------------------------------------------------- */
static const char *const nowhere[] = { "./nowhere.so", NULL };
static const struct {
    const char *says;
    gsa_context_options options;
} unopened[] = {
#define OPTIONS .struct_size = sizeof(gsa_context_options), .device = "cpu"
    { "struct_size = 0, expected", { .struct_size = 0 } },
    { "struct_size = 4294967295, expected", { .struct_size = UINT32_MAX } },
    { "threads = -1, expected 0 (all cores) to 4096", { OPTIONS, .threads = -1 } },
    { "threads = 5000, expected 0 (all cores) to 4096", { OPTIONS, .threads = 5000 } },
    { "device 'gpu': expected cpu, ref, auto",
      { .struct_size = sizeof(gsa_context_options), .device = "gpu" } },
    { "real = 2, expected 0 (float) or 1 (double)", { OPTIONS, .real = 2 } },
    { "n_plugins = 2, and plugins is NULL", { OPTIONS, .n_plugins = 2 } },
    { "n_plugins = -1, and plugins is a list", { OPTIONS, .plugins = nowhere, .n_plugins = -1 } },
    { "path of a plugin is NULL", { OPTIONS, .plugins = nowhere + 1, .n_plugins = 1 } },
    { "nowhere.so", { OPTIONS, .plugins = nowhere, .n_plugins = 1 } },
};

START_TEST(bad_options_are_one_sentence)
{
    gsa_context *none = (gsa_context *)&error;
    ck_assert_int_ne(gsa_context_open(&unopened[_i].options, &none, &error), GSA_OK);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(error.text, unopened[_i].says), "%s", error.text);
}
END_TEST

#define REFUSED(call, part)                                                                        \
    do {                                                                                           \
        ck_assert_int_ne(call, GSA_OK);                                                            \
        ck_assert_msg(strstr(error.text, part), "%s: %s", #call, error.text);                      \
    } while (0)

/* A step after this forward pass is refused in these words. */
static void refuse(world *w, gsa_tensor *loss, const char *part)
{
    REFUSED(gsa_context_step(w->context, loss, NULL, &error), part);
    gsa_context_begin(w->context, 1);
}

START_TEST(parts_that_cannot_be_are_one_sentence_and_the_context_goes_on)
{
    world w;
    gsa_encoder *none;
    gsa_linear head;
    gsa_schedule rate = { .lr = 0.01 };
    const gsa_input_options words = { .name = "x", .vocabulary = 5 };
    const gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    gsa_context *c = w.context;
#define ENCODER(c, spec, settings, input)                                                          \
    gsa_context_encoder(c, spec, settings, input, NULL, &none, &error)
    REFUSED(ENCODER(c, "star", NULL, &words), "the encoder's settings is NULL");
    REFUSED(ENCODER(c, "star", &w.settings, NULL), "the input's options is NULL");
    REFUSED(ENCODER(NULL, "star", &w.settings, &words), "the context is NULL");
    REFUSED(ENCODER(c, NULL, &w.settings, &words), "text is NULL");
    REFUSED(ENCODER(c, "star*", &w.settings, &words), "star*");
    REFUSED(ENCODER(c, "stra*2", &w.settings, &words), "the nearest is 'star'");
    REFUSED(ENCODER(c, "star*2", &w.settings, &words), "encoder.");
    ck_assert_ptr_null(none);
    REFUSED(gsa_context_linear(c, "head", HIDDEN, 2, &head, &error), "head.weight");
    REFUSED(gsa_context_linear(c, "tail", 0, 2, &head, &error), "of 0 inputs and 2 outputs");
    REFUSED(gsa_context_linear(c, NULL, 1, 2, &head, &error), "name of a Linear is NULL");
    REFUSED(gsa_context_optimise(c, NULL, &rate, &error), "the options are NULL");
    REFUSED(gsa_context_optimise(c, &adam, NULL, &error), "the schedule is NULL");
    ck_assert(isfinite(train(&w, 1)));
    gsa_context_release(c);
}
END_TEST

START_TEST(passes_that_cannot_be_are_one_sentence_and_the_context_goes_on)
{
    world w;
    int32_t label[EXAMPLES] = { 0 };
    const gsa_sequences bad = { .count = -1 };
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    gsa_context_begin(w.context, 1);
    gsa_encoder_forward(w.encoder, NULL, w.ids, NULL, NULL);
    refuse(&w, NULL, "list of sequences is NULL");
    refuse(&w, gsa_encoder_forward(w.encoder, &bad, w.ids, NULL, NULL).summary, "-1");
    ck_assert_ptr_null(gsa_encoder_forward(NULL, &bad, w.ids, NULL, NULL).summary);
    refuse(&w, NULL, "the loss is NULL");
    ck_assert_ptr_null(gsa_linear_forward(&(gsa_linear){ NULL }, NULL));
    refuse(&w, gsa_linear_forward(&w.head, NULL), "linear");
    const gsa_sequences data = { .count = EXAMPLES, .length = w.length };
    for (int bad_label = -2; bad_label < 4; bad_label++) {
        char says[64];
        label[1] = bad_label;
        gsa_readout read = gsa_encoder_forward(w.encoder, &data, w.ids, NULL, NULL);
        gsa_tensor *out = gsa_linear_forward(&w.head, read.summary);
        gsa_tensor *loss = gsa_context_cross_entropy(w.context, out, label);
        snprintf(says, sizeof says, "label[1] = %d, expected -1 to 1", bad_label);
        if (bad_label < -1 || bad_label > 1) refuse(&w, loss, says);
        else ck_assert_ptr_nonnull(loss);
    }
    ck_assert(isfinite(train(&w, 1)));
    gsa_context_release(w.context);
}
END_TEST

/* Rows without a label do not count, and none that has one is a loss of 0. */
START_TEST(the_loss_is_a_mean_over_labels)
{
    world w;
    double mean, part[2];
    int32_t one[EXAMPLES];
    MUST(open_world(&w, NULL, GSA_F64, 1, &error));
    const gsa_sequences data = { .count = EXAMPLES, .length = w.length };
    gsa_context_begin(w.context, 0);
    gsa_tensor *out = gsa_linear_forward(
        &w.head, gsa_encoder_forward(w.encoder, &data, w.ids, NULL, NULL).summary);
    gsa_backend *b = gsa_context_backend(w.context);
    double sum = 0;
    for (int e = 0; e < EXAMPLES; e++) {
        for (int i = 0; i < EXAMPLES; i++) one[i] = i == e ? w.label[e] : -1;
        MUST(gsa_tensor_read(b, gsa_context_cross_entropy(w.context, out, one), 0, part, &error));
        sum += part[0];
    }
    MUST(gsa_tensor_read(b, gsa_context_cross_entropy(w.context, out, w.label), 0, &mean, &error));
    ck_assert_double_eq_tol(mean, sum / EXAMPLES, 1e-12);
    for (int i = 0; i < EXAMPLES; i++) one[i] = -1;
    MUST(gsa_tensor_read(b, gsa_context_cross_entropy(w.context, out, one), 0, &mean, &error));
    ck_assert_double_eq(mean, 0);
    gsa_context_release(w.context);
}
END_TEST

/* Two encoders, one of which runs twice: two batches in one step. */
START_TEST(encoders_run_several_times_in_a_step)
{
    world w;
    gsa_encoder *other;
    const gsa_input_options words = { .name = "words", .vocabulary = 5 };
    const gsa_stack_options again = { .name = "again", .reads = GSA_READ_SUMMARY };
    double x[2][EXAMPLES * HIDDEN];
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    w.settings.dropout_input = 0.5;
    MUST(gsa_context_encoder(w.context, "ring,star", &w.settings, &words, &again, &other, &error));
    gsa_backend *b = gsa_context_backend(w.context);
    const gsa_sequences all = { .count = EXAMPLES, .length = w.length };
    const gsa_sequences half = { .count = EXAMPLES / 2, .length = w.length };
    for (int round = 0; round < 3; round++) {
        gsa_context_begin(w.context, 0);
        const gsa_readout first = gsa_encoder_forward(w.encoder, &all, w.ids, NULL, NULL);
        const gsa_readout second = gsa_encoder_forward(w.encoder, &half, w.ids, NULL, NULL);
        const gsa_readout third = gsa_encoder_forward(other, &half, w.ids, NULL, NULL);
        MUST(gsa_tensor_read(b, first.summary, 0, x[0], &error));
        MUST(gsa_tensor_read(b, second.summary, 0, x[1], &error));
        for (int i = 0; i < EXAMPLES * HIDDEN / 2; i++)
            ck_assert_double_eq_tol(x[0][i], x[1][i], 1e-5);
        ck_assert_int_eq(third.summary->rows, EXAMPLES / 2);
    }
    gsa_context_release(w.context);
}
END_TEST

START_TEST(steps_that_cannot_be_are_one_sentence_and_change_nothing)
{
    world w;
    double before[2 * HIDDEN], after[2 * HIDDEN], poison[2] = { NAN, 0 };
    const gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
    gsa_schedule rate = { .lr = NAN };
    gsa_context *bare;
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    gsa_context *c = w.context;
    gsa_backend *b = gsa_context_backend(c);
    gsa_tensor *weight = &w.head.weight->value;
    MUST(gsa_tensor_read(b, weight, 0, before, &error));
    MUST(gsa_context_open(NULL, &bare, &error));
    REFUSED(gsa_context_step(bare, NULL, NULL, &error), "the optimiser is NULL");
    gsa_context_release(bare);
    MUST(gsa_context_optimise(c, &adam, &rate, &error));
    refuse(&w, forward(&w, 1), "the rate of step 0 is nan");
    rate.lr = 0.1;
    MUST(gsa_context_optimise(c, &adam, &rate, &error));
    forward(&w, 1);
    refuse(&w, gsa_op_view(gsa_context_tape(c), weight, 0, 2), "loss");
    MUST(gsa_tensor_write(b, &w.head.bias->value, poison, &error));
    refuse(&w, forward(&w, 1), "the value of 'head.bias' holds 1 numbers that are not finite");
    MUST(gsa_tensor_read(b, weight, 0, after, &error));
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_int_eq(gsa_optimiser_steps(gsa_context_optimiser(c)), 0);
    gsa_context_release(c);
    gsa_context_release(NULL);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test learns[] = { GSA_LOOP(a_model_learns_the_same_bits_on_any_threads, 2),
                                       GSA_TEST(the_loss_is_a_mean_over_labels),
                                       GSA_TEST(encoders_run_several_times_in_a_step) };
    static const gsa_test memory[] = { GSA_TEST(warm_steps_ask_for_no_memory_and_nothing_leaks),
                                       GSA_TEST(every_lack_of_memory_is_told_and_nothing_leaks) };
    static const gsa_test refused[] = {
        GSA_LOOP(bad_options_are_one_sentence, GSA_COUNT(unopened)),
        GSA_TEST(parts_that_cannot_be_are_one_sentence_and_the_context_goes_on),
        GSA_TEST(passes_that_cannot_be_are_one_sentence_and_the_context_goes_on),
        GSA_TEST(steps_that_cannot_be_are_one_sentence_and_change_nothing)
    };
    static const gsa_case cases[] = { GSA_CASE("learns", learns, 30),
                                      GSA_CASE("memory", memory, 60),
                                      GSA_CASE("refused", refused, 30) };
    return gsa_run_suite("context", cases, GSA_COUNT(cases), argc, argv);
}
