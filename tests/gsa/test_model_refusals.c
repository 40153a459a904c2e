/* What a model refuses, each with its sentence. */
#include <string.h>
#include "model_world.h"

enum { SEQUENCE = GSA_READ_SEQUENCE };
#define ENCODER                                                                                    \
    {                                                                                              \
        .name = "encoder", .spec = "full*2"                                                        \
    }
#define DECODER                                                                                    \
    {                                                                                              \
        .name = "decoder", .spec = "full:causal=1+cross*2", .reads = SEQUENCE                      \
    }
#define READER                                                                                     \
    {                                                                                              \
        .name = "reader", .spec = "full", .reads = SEQUENCE                                        \
    }
#define ENCODE                                                                                     \
    {                                                                                              \
        NULL, "encoder", "source", NULL, NULL, 0, 0                                                \
    }
#define DECODE(memory, after)                                                                      \
    {                                                                                              \
        NULL, "decoder", "target", NULL, memory, 0, after                                          \
    }
#define PAIR                                                                                       \
    {                                                                                              \
        "source", "target"                                                                         \
    }

static const struct {
    const char *sentence; /* a part of it */
    picture p;
} refusals[] = {
    { "a model of 0 sequences: 1 to 32 are possible", { { NULL }, { ENCODER }, { ENCODE } } },
    { "a model of 0 stacks", { { "source" }, { { 0 } }, { ENCODE } } },
    { "a model of 0 passes", { { "source" }, { ENCODER }, { { 0 } } } },
    { "sequence 1 of the model has no name", { { "source", "" }, { ENCODER }, { ENCODE } } },
    { "stack 0 of the model has no name", { { "source" }, { { .spec = "full" } }, { ENCODE } } },
    { "pass 0 of the model has no name",
      { { "source" }, { ENCODER }, { { "", "encoder", "source", NULL, NULL, 0, 0 } } } },
    { "two sequences of the model are named 'source'",
      { { "source", "source" }, { ENCODER }, { ENCODE } } },
    { "two stacks of the model are named 'encoder'",
      { { "source" }, { ENCODER, ENCODER }, { ENCODE } } },
    { "two passes of the model are named 'encoder': name the passes of a stack apart",
      { PAIR, { ENCODER }, { ENCODE, { NULL, "encoder", "target", NULL, NULL, 0, 0 } } } },
    { "pass 'endoder' names the unknown stack 'endoder'; known: encoder, decoder; the nearest is "
      "'encoder'",
      { PAIR,
        { ENCODER, DECODER },
        { { NULL, "endoder", "source", NULL, NULL, 0, 0 }, DECODE("encoder", 0) } } },
    { "pass 'a' names the unknown stack (nothing)",
      { PAIR, { ENCODER }, { { "a", NULL, "source", NULL, NULL, 0, 0 } } } },
    { "pass 'encoder' names the unknown sequence 'sauce'; known: source, target; the nearest is "
      "'source'",
      { PAIR, { ENCODER }, { { NULL, "encoder", "sauce", NULL, NULL, 0, 0 } } } },
    { "pass 'encoder' names the unknown sequence (nothing); known: source, target",
      { PAIR, { ENCODER }, { { NULL, "encoder", NULL, NULL, NULL, 0, 0 } } } },
    { "pass 'decoder' names the unknown pass 'coder'; known: encoder, decoder",
      { PAIR, { ENCODER, DECODER }, { ENCODE, DECODE("coder", 0) } } },
    { "pass 'encoder' names the unknown pass 'x'",
      { { "source" }, { ENCODER }, { { NULL, "encoder", "source", "x", NULL, 0, 0 } } } },
    { "pass 'decoder': memory_after = 3, but stack 'encoder' of pass 'encoder' has 2 layers",
      { PAIR, { ENCODER, DECODER }, { ENCODE, DECODE("encoder", 3) } } },
    { "pass 'decoder': memory_after = -1, but",
      { PAIR, { ENCODER, DECODER }, { ENCODE, DECODE("encoder", -1) } } },
    { "pass 'decoder': memory_after = 1 without memory",
      { PAIR, { ENCODER, DECODER }, { ENCODE, DECODE(NULL, 1) } } },
    { "pass 'encoder': input_after = 2 without input",
      { { "source" }, { ENCODER }, { { NULL, "encoder", "source", NULL, NULL, 2, 0 } } } },
    { "stack decoder (full:causal=1+cross*2) reads a memory, but pass 'decoder' binds none",
      { PAIR,
        { { .name = "encoder", .spec = "full", .reads = SEQUENCE }, DECODER },
        { ENCODE, DECODE(NULL, 0) } } },
    { "pass 'reader' binds pass 'encoder' as memory, but stack reader (full*1) reads none",
      { PAIR,
        { ENCODER, READER },
        { ENCODE, { NULL, "reader", "target", NULL, "encoder", 0, 0 } } } },
    { "circle: decoder -> decoder", { { "target" }, { DECODER }, { DECODE("decoder", 0) } } },
    { "circle: b -> c -> b",
      { { "target" },
        { DECODER },
        { { "a", "decoder", "target", NULL, "b", 0, 0 },
          { "b", "decoder", "target", NULL, "c", 0, 0 },
          { "c", "decoder", "target", "b", "a", 0, 0 } } } },
    { "circle: a -> b -> a", /* each needs what the other does after it has read */
      { { "target" },
        { { .name = "twice", .spec = "full*2,full+cross*2", .reads = SEQUENCE } },
        { { "a", "twice", "target", NULL, "b", 0, 3 },
          { "b", "twice", "target", NULL, "a", 0, 3 } } } },
    { "pass 'decoder' on sequence 'target' cannot start from pass 'encoder', which is on 'source'",
      { PAIR,
        { ENCODER, READER },
        { ENCODE, { "decoder", "reader", "target", "encoder", NULL, 0, 0 } } } },
    { "pass 'decoder' has hidden = 8, but its memory, pass 'encoder', has hidden = 6",
      { PAIR,
        { ENCODER, { .name = "decoder", .spec = "cross", .reads = SEQUENCE, .hidden = 8 } },
        { ENCODE, DECODE("encoder", 0) } } },
    { "pass 'reader' has hidden = 8, but its input, pass 'encoder', has hidden = 6",
      { { "source" },
        { ENCODER, { .name = "reader", .spec = "full", .reads = SEQUENCE, .hidden = 8 } },
        { ENCODE, { NULL, "reader", "source", "encoder", NULL, 0, 0 } } } },
    { "stack 'reader' is in no pass of the model",
      { { "source" }, { ENCODER, READER }, { ENCODE } } },
    { "no pass of the model is on sequence 'target'",
      { PAIR, { READER }, { { NULL, "reader", "source", NULL, NULL, 0, 0 } } } },
    { "of stack 'encoder' nothing is read, neither by the task nor by a pass",
      { { "source" }, { ENCODER }, { ENCODE } } },
    { "stack encoder: tap 2 must be a layer from 0 to 1",
      { { "source" },
        { { .name = "encoder", .spec = "full*2", .taps = { 0, 2 }, .n_taps = 2 } },
        { ENCODE } } },
    { "stack encoder: tap -1 must",
      { { "source" },
        { { .name = "encoder", .spec = "full", .taps = { -1 }, .n_taps = 1 } },
        { ENCODE } } },
    { "stack encoder: the task reads a summary, but the last segment's pattern cross",
      { PAIR,
        { READER, { .name = "encoder", .spec = "cross", .reads = GSA_READ_SUMMARY } },
        { { "first", "reader", "source", NULL, NULL, 0, 0 },
          { NULL, "encoder", "target", NULL, "first", 0, 0 } } } },
    { "sun",
      { { "source" }, { { .name = "encoder", .spec = "sun", .reads = SEQUENCE } }, { ENCODE } } },
};

START_TEST(what_cannot_be_is_refused)
{
    world w = world_open(NULL, GSA_F64);
    ck_assert_int_ne(world_try(&w, &refusals[_i].p), GSA_OK);
    ck_assert_msg(strstr(w.b.error.text, refusals[_i].sentence) != NULL, "'%s' lacks '%s'",
                  w.b.error.text, refusals[_i].sentence);
    world_close(&w);
}
END_TEST

/* ---- batches ------------------------------------------------------------------------------- */
static const int32_t length[] = { 2, 3 }, wrong[] = { 2, -1 }, early[] = { 0, -1 },
                     late[] = { 0, 1 << 26 };
static const struct {
    const char *sentence;
    gsa_model_sequence s[2];
} batches[] = {
    { "pass 'decoder': sequence 'target' has 1 examples, but its memory, pass 'encoder' on "
      "sequence "
      "'source', has 2",
      { { 2, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
        { 1, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } } },
    { "sequence 'source': a batch of -1 examples",
      { { -1, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
        { 1, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } } },
    { "sequence 'target': a batch of 2 examples needs their lengths",
      { { 2, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
        { 2, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } } },
    { "pass 'encoder': example 1",
      { { 2, wrong, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
        { 2, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } } },
    { "sequence 'source', example 1: its number -1 must be from 0 to 67108863",
      { { 2, length, NULL, NULL, early, NULL, 0, 0, NULL, 0 },
        { 2, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 } } },
    { "sequence 'target', example 1: its number 67108864 must",
      { { 2, length, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },
        { 2, length, NULL, NULL, late, NULL, 0, 0, NULL, 0 } } },
};

START_TEST(a_batch_that_does_not_fit_is_refused)
{
    world w = world_open(NULL, GSA_F64);
    const picture p = translator("full", "full:causal=1+cross");
    world_make(&w, &p, (int64_t[]){ 5, 5 });
    ck_assert_int_ne(gsa_model_batch_build(w.batch, w.cache, NULL, batches[_i].s, &w.b.error),
                     GSA_OK);
    ck_assert_msg(strstr(w.b.error.text, batches[_i].sentence) != NULL, "'%s' lacks '%s'",
                  w.b.error.text, batches[_i].sentence);
    gsa_readout out[2];
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_model_forward(w.model, w.b.tape, w.batch, (gsa_tensor *[]){ NULL, NULL }, out);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert(strstr(w.b.error.text, "was not built, or its build failed") != NULL);
    world_close(&w);
}
END_TEST

/* ---- forward ------------------------------------------------------------------------------- */
enum { NO_ROWS, FEW_ROWS, NARROW_ROWS, FOREIGN, TOO_EARLY, ROWS_TOO_MANY, FORWARDS };
static const char *const forward_sentences[] = {
    "pass 'encoder' needs input rows of sequence 'source'",
    "stack encoder: kind 'token' starts from 5 rows of 6 columns, but the input has 4",
    "but the input has 5 rows of 7",
    "the batch was made for another model",
    "pass 'decoder' reads pass 'encoder', which was not executed before it",
    "pass 'last' starts from pass 'decoder', not from rows"
};

START_TEST(what_does_not_fit_is_refused_going_forward)
{
    world w = world_open(NULL, GSA_F64), other = world_open(NULL, GSA_F64);
    picture p = translator("full", "full:causal=1+cross");
    p.passes[2] = (gsa_model_pass){ "last", "decoder", "target", "decoder", "encoder", 0, 0 };
    const gsa_model_sequence s[] = SOURCE_AND_TARGET(length, length);
    world_make(&w, &p, (int64_t[]){ 5, 5 });
    world_make(&other, &p, (int64_t[]){ 5, 5 });
    MUST(&w.b, gsa_model_batch_build(w.batch, w.cache, NULL, s, &w.b.error));
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_tensor *first = &w.rows[0]->value, *rows[] = { first, &w.rows[1]->value };
    gsa_readout out[3] = { 0 };
    const gsa_model *use = _i == FOREIGN ? other.model : w.model;
    if (_i == NO_ROWS) rows[0] = NULL;
    if (_i == FEW_ROWS) rows[0] = gsa_op_view(w.b.tape, first, 0, 4);
    if (_i == NARROW_ROWS) rows[0] = gsa_tape_zeros(w.b.tape, 5, 7);
    if (_i == TOO_EARLY) gsa_model_forward_pass(use, w.b.tape, w.batch, 1, rows[1], out);
    else if (_i == ROWS_TOO_MANY) gsa_model_forward_pass(use, w.b.tape, w.batch, 2, rows[1], out);
    else gsa_model_forward(use, w.b.tape, w.batch, rows, out);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(w.b.error.text, forward_sentences[_i]) != NULL, "'%s' lacks '%s'",
                  w.b.error.text, forward_sentences[_i]);
    for (int r = 0; r < 3; r++) ck_assert(out[r].sequence == NULL);
    world_close(&other);
    world_close(&w);
}
END_TEST

/* What gsa_model_find_pass gives for a name that is not there, and numbers beyond. */
START_TEST(a_run_that_is_not_there_is_refused)
{
    static const int passes[] = { -1, 2, GSA_MODEL_MOST, 1 << 30 };
    const int pass = passes[_i / 3];
    const gsa_model_sequence s[] = SOURCE_AND_TARGET(length, length);
    const picture p = translator("full", "full:causal=1+cross");
    world w = world_open(NULL, GSA_F64);
    gsa_readout out[2] = { 0 };
    world_make(&w, &p, (int64_t[]){ 5, 5 });
    MUST(&w.b, gsa_model_batch_build(w.batch, w.cache, NULL, s, &w.b.error));
    ck_assert(gsa_model_pass_name(w.model, pass) == NULL &&
              gsa_model_stack_of(w.model, pass) == NULL);
    ck_assert(gsa_model_batch_of(w.batch, pass) == NULL &&
              gsa_model_tap(w.model, out, pass, 0) == NULL);
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    if (_i % 3 == 0)
        gsa_model_forward_pass(w.model, w.b.tape, w.batch, pass, &w.rows[0]->value, out);
    if (_i % 3 == 1) gsa_model_number(w.model, w.b.tape, w.batch, pass);
    if (_i % 3 == 2)
        ck_assert(gsa_model_input(w.model, w.b.tape, w.batch, pass, NULL, NULL, NULL) == NULL);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(w.b.error.text, "of the model, which has 2, counted from 0") != NULL, "%s",
                  w.b.error.text);
    world_close(&w);
}
END_TEST

/* ---- every n-th failing allocation: the right code, nothing leaks -------------------------- */
static gsa_status make_model(gsa_faults *faults, void *context)
{
    (void)context;
    world w = { .system = &faults->table, .settings = small_settings() };
    const picture p = translator("full*2", "full:causal=1+cross");
    const gsa_model_sequence s[] = SOURCE_AND_TARGET(length, length);
    gsa_status status = gsa_backend_ref(&faults->table, GSA_F32, 1, &w.b.backend, &w.b.error);
    if (status == GSA_OK) status = gsa_registry_create(&faults->table, &w.registry, &w.b.error);
    if (status == GSA_OK)
        status = gsa_parameters_create(&faults->table, w.b.backend, 1, &w.b.parameters, &w.b.error);
    if (status == GSA_OK) status = world_try(&w, &p);
    if (status == GSA_OK) status = gsa_model_batch_create(w.model, &w.batch, &w.b.error);
    if (status == GSA_OK) status = gsa_model_batch_build(w.batch, NULL, NULL, s, &w.b.error);
    gsa_model_batch_release(w.batch);
    gsa_model_release(w.model);
    gsa_parameters_release(w.b.parameters);
    gsa_registry_release(w.registry);
    gsa_backend_release(w.b.backend);
    return status;
}

START_TEST(every_failing_allocation_is_met)
{
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, make_model, NULL), 100);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test create[] = { GSA_LOOP(what_cannot_be_is_refused, GSA_COUNT(refusals)) };
    static const gsa_test batch[] = { GSA_LOOP(a_batch_that_does_not_fit_is_refused,
                                               GSA_COUNT(batches)) };
    static const gsa_test forward[] = { GSA_LOOP(what_does_not_fit_is_refused_going_forward,
                                                 FORWARDS),
                                        GSA_LOOP(a_run_that_is_not_there_is_refused, 4 * 3) };
    static const gsa_test memory[] = { GSA_TEST(every_failing_allocation_is_met) };
    static const gsa_case cases[] = { GSA_CASE("create", create, 60), GSA_CASE("batch", batch, 60),
                                      GSA_CASE("forward", forward, 60),
                                      GSA_CASE("memory", memory, 120) };
    return gsa_run_suite("model_refusals", cases, GSA_COUNT(cases), argc, argv);
}
