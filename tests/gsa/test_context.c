/* A context: a model made and trained through it, and every call with what it cannot take. */
#include "gsa/context.h"
#include <math.h>
#include <string.h>
#include "gsa/schedule.h"
#include "support/faults.h"
#include "support/suite.h"

enum { EXAMPLES = 16, LENGTH = 6, HIDDEN = 16 };
#define MUST(call) ck_assert_msg((call) == GSA_OK, "%s: %s", #call, error.text)
static gsa_error error;

typedef struct world {
    gsa_context *context;
    gsa_input *input;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_linear head;
    gsa_optimiser *optimiser;
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
    const gsa_input_options words = { .name = "input", .vocabulary = 5, .embedding_std = 1 };
    const gsa_stack_options encoder = { .name = "encoder", .reads = GSA_READ_SUMMARY };
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
    const gsa_sequences data = { .count = EXAMPLES, .length = w->length };
    gsa_status status = gsa_context_open(&options, &w->context, why);
    gsa_context *c = w->context;
    if (status == GSA_OK) status = gsa_context_input(c, &w->settings, &words, &w->input, why);
    if (status == GSA_OK)
        status = gsa_context_stack(c, "star*2", &w->settings, &encoder, &w->stack, why);
    if (status == GSA_OK) status = gsa_context_linear(c, "head", HIDDEN, 2, &w->head, why);
    if (status == GSA_OK) status = gsa_context_batch(c, w->stack, &w->batch, why);
    if (status == GSA_OK) status = gsa_context_build(c, w->batch, &data, why);
    if (status == GSA_OK) status = gsa_context_optimiser(c, &adam, &w->optimiser, why);
    return status;
}

static gsa_tensor *forward(world *w, int training, uint32_t step)
{
    gsa_readout read;
    gsa_tape *tape = gsa_context_tape(w->context);
    gsa_context_begin(w->context, training, step);
    gsa_stack_forward(w->stack, tape, w->batch,
                      gsa_input_forward(w->input, tape, w->ids, NULL, w->length, EXAMPLES), NULL,
                      &read);
    return gsa_op_cross_entropy(tape, gsa_linear_forward(&w->head, tape, read.summary),
                                gsa_tape_upload(tape, w->label, sizeof w->label), 1.0 / EXAMPLES);
}

static double train(world *w, int steps)
{
    double loss = 0;
    for (int step = 0; step < steps; step++)
        MUST(gsa_context_step(w->context, w->optimiser, forward(w, 1, (uint32_t)step), 0.01, &loss,
                              &error));
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
    ck_assert_int_eq(gsa_optimiser_steps(a.optimiser), 81);
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
    MUST(gsa_context_step(w.context, w.optimiser, forward(&w, 1, 3), 0.01, NULL, &error));
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
    if (status == GSA_OK)
        status = gsa_context_step(w.context, w.optimiser, forward(&w, 1, 0), 0.01, NULL, &why);
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

START_TEST(parts_that_cannot_be_are_one_sentence_and_the_context_goes_on)
{
    world w;
    gsa_input *input;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_linear head;
    gsa_optimiser *optimiser;
    gsa_sequences bad = { .count = -1 };
    const gsa_stack_options encoder = { .name = "encoder", .reads = GSA_READ_SUMMARY };
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    gsa_context *c = w.context;
    REFUSED(gsa_context_input(c, NULL, NULL, &input, &error), "the input's settings is NULL");
    REFUSED(
        gsa_context_input(NULL, &w.settings, &(gsa_input_options){ .name = "x" }, &input, &error),
        "the context is NULL");
    REFUSED(gsa_context_stack(c, NULL, &w.settings, &encoder, &stack, &error), "text is NULL");
    REFUSED(gsa_context_stack(c, "star*", &w.settings, &encoder, &stack, &error), "star*");
    REFUSED(gsa_context_stack(c, "stra*2", &w.settings, &encoder, &stack, &error),
            "the nearest is 'star'");
    REFUSED(gsa_context_stack(c, "star*2", &w.settings, &encoder, &stack, &error), "encoder.");
    REFUSED(gsa_context_batch(c, NULL, &batch, &error), "the batch's stack is NULL");
    REFUSED(gsa_context_build(c, w.batch, NULL, &error), "list of sequences is NULL");
    REFUSED(gsa_context_build(c, w.batch, &bad, &error), "-1");
    REFUSED(gsa_context_linear(c, "head", HIDDEN, 2, &head, &error), "head.weight");
    REFUSED(gsa_context_linear(c, "tail", 0, 2, &head, &error), "of 0 inputs and 2 outputs");
    REFUSED(gsa_context_linear(c, NULL, 1, 2, &head, &error), "name of a Linear is NULL");
    REFUSED(gsa_context_optimiser(c, NULL, &optimiser, &error), "the options are NULL");
    MUST(gsa_context_build(c, w.batch, &(gsa_sequences){ .count = EXAMPLES, .length = w.length },
                           &error));
    ck_assert(isfinite(train(&w, 1)));
    gsa_context_release(c);
}
END_TEST

START_TEST(steps_that_cannot_be_are_one_sentence_and_change_nothing)
{
    world w;
    double before[2 * HIDDEN], after[2 * HIDDEN], poison[2] = { NAN, 0 };
    MUST(open_world(&w, NULL, GSA_F32, 1, &error));
    gsa_context *c = w.context;
    gsa_backend *b = gsa_context_backend(c);
    gsa_tensor *weight = &w.head.weight->value;
    MUST(gsa_tensor_read(b, weight, 0, before, &error));
    REFUSED(gsa_context_step(c, NULL, forward(&w, 1, 0), 0.1, NULL, &error),
            "the optimiser is NULL");
    REFUSED(gsa_context_step(c, w.optimiser, forward(&w, 1, 0), NAN, NULL, &error), "lr = nan");
    REFUSED(gsa_context_step(c, w.optimiser, NULL, 0.1, NULL, &error), "the loss is NULL");
    gsa_context_begin(c, 1, 0);
    gsa_linear none = { NULL, NULL };
    REFUSED(gsa_context_step(c, w.optimiser, gsa_linear_forward(&none, gsa_context_tape(c), NULL),
                             0.1, NULL, &error),
            "a Linear that was never made");
    forward(&w, 1, 0);
    REFUSED(gsa_context_step(c, w.optimiser, gsa_op_view(gsa_context_tape(c), weight, 0, 2), 0.1,
                             NULL, &error),
            "loss");
    MUST(gsa_tensor_write(b, &w.head.bias->value, poison, &error));
    REFUSED(gsa_context_step(c, w.optimiser, forward(&w, 1, 0), 0.1, NULL, &error),
            "the value of 'head.bias' holds 1 numbers that are not finite");
    MUST(gsa_tensor_read(b, weight, 0, after, &error));
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_int_eq(gsa_optimiser_steps(w.optimiser), 0);
    gsa_context_release(c);
    gsa_context_release(NULL);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test learns[] = { GSA_LOOP(a_model_learns_the_same_bits_on_any_threads, 2) };
    static const gsa_test memory[] = { GSA_TEST(warm_steps_ask_for_no_memory_and_nothing_leaks),
                                       GSA_TEST(every_lack_of_memory_is_told_and_nothing_leaks) };
    static const gsa_test refused[] = {
        GSA_LOOP(bad_options_are_one_sentence, GSA_COUNT(unopened)),
        GSA_TEST(parts_that_cannot_be_are_one_sentence_and_the_context_goes_on),
        GSA_TEST(steps_that_cannot_be_are_one_sentence_and_change_nothing)
    };
    static const gsa_case cases[] = { GSA_CASE("learns", learns, 30),
                                      GSA_CASE("memory", memory, 60),
                                      GSA_CASE("refused", refused, 30) };
    return gsa_run_suite("context", cases, GSA_COUNT(cases), argc, argv);
}
