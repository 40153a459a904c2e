#include "bench.h"
#include "equations.h"
#include "gsa/stack.h"
#include "support/faults.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct world {
    bench b;
    gsa_registry *registry;
    gsa_cache *cache;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_settings settings;
} world;

static gsa_settings small(void)
{
    gsa_settings s = gsa_settings_default();
    s.hidden = 6, s.heads = 2, s.head_dim = 4, s.ffn = 10;
    return s;
}

static gsa_status try_stack(world *w, const char *text, const gsa_stack_options *options)
{
    gsa_stack_spec spec = { 0 };
    gsa_status status = gsa_spec_parse(NULL, text, &spec, &w->b.error);
    if (status == GSA_OK)
        status = gsa_stack_create(NULL, w->registry, &spec, &w->settings, options, w->b.parameters,
                                  &w->stack, &w->b.error);
    gsa_spec_release(&spec);
    return status;
}

static world world_open(const gsa_system *system, int real)
{
    world w = { .b = bench_open(system, real), .settings = small() };
    MUST(&w.b, gsa_registry_create(system, &w.registry, &w.b.error));
    MUST(&w.b, gsa_cache_create(system, 1 << 20, &w.cache, &w.b.error));
    return w;
}

static world world_with(const gsa_system *system, int real, const char *text, uint32_t reads)
{
    world w = world_open(system, real);
    MUST(&w.b, try_stack(&w, text, &(gsa_stack_options){ .name = "encoder", .reads = reads }));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    return w;
}

static void world_close(world *w)
{
    gsa_stack_batch_release(w->batch);
    gsa_stack_release(w->stack);
    gsa_cache_release(w->cache);
    gsa_registry_release(w->registry);
    bench_close(&w->b);
}

static gsa_readout run(world *w, const int32_t *length, int32_t count, const double *rows,
                       int training)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < count; i++) tokens += length[i];
    MUST(&w->b,
         gsa_stack_batch_build(w->batch, w->cache, NULL,
                               &(gsa_sequences){ .count = count, .length = length }, &w->b.error));
    gsa_tape_reset(w->b.tape, training, 1, 1);
    gsa_readout out;
    gsa_stack_forward(w->stack, w->b.tape, w->batch,
                      gsa_tape_constant(w->b.tape, rows, GSA_F64, tokens, w->settings.hidden), NULL,
                      &out);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    return out;
}

/* ---- equations of the papers --------------------------------------------------------------- */
static const int32_t lengths[] = { 1, 2, 3, 7, 0, 5 };
enum { COUNT = 6, TOKENS = 18 };

START_TEST(star_is_the_papers_equations)
{
    world w = world_with(NULL, GSA_F64, "star*3", GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    double rows[TOKENS * 6], h[TOKENS * 6], s[6], sequence[TOKENS * 6], summary[COUNT * 6];
    gsa_dice dice = { 11 };
    for (int i = 0; i < TOKENS * 6; i++) rows[i] = gsa_normal(&dice);
    const gsa_readout out = run(&w, lengths, COUNT, rows, 0);
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.sequence, 0, sequence, &w.b.error));
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.summary, 0, summary, &w.b.error));
    const equation_model m = { w.b.parameters, w.b.backend, 6, 2, 4, 10 };
    int at = 0;
    for (int e = 0; e < COUNT; at += lengths[e++]) {
        if (lengths[e] == 0) continue;
        star_equations(&m, 3, lengths[e], rows + at * 6, h, s);
        ck_assert_int_eq(
            gsa_differ("satellites", sequence + at * 6, h, lengths[e] * 6, 1e-12, 1e-12), 0);
        for (int c = 0; c < 6; c++) { /* readout: s + max over tokens */
            double most = h[c];
            for (int i = 1; i < lengths[e]; i++) most = fmax(most, h[i * 6 + c]);
            s[c] += most;
        }
        ck_assert_int_eq(gsa_differ("summary", summary + e * 6, s, 6, 1e-12, 1e-12), 0);
    }
    world_close(&w);
}
END_TEST

START_TEST(full_is_the_transformers_encoder)
{
    world w = world_with(NULL, GSA_F64, "full*2", GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    double rows[TOKENS * 6], sequence[TOKENS * 6], summary[COUNT * 6];
    gsa_dice dice = { 12 };
    for (int i = 0; i < TOKENS * 6; i++) rows[i] = gsa_normal(&dice);
    const gsa_readout out = run(&w, lengths, COUNT, rows, 0);
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.sequence, 0, sequence, &w.b.error));
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.summary, 0, summary, &w.b.error));
    const equation_model m = { w.b.parameters, w.b.backend, 6, 2, 4, 10 };
    int at = 0;
    for (int e = 0; e < COUNT; at += lengths[e++]) {
        double mean[6] = { 0 }, *x = rows + at * 6;
        for (int layer = 0; layer < 2; layer++) transformer_equations(&m, layer, lengths[e], x);
        ck_assert_int_eq(gsa_differ("tokens", sequence + at * 6, x, lengths[e] * 6, 1e-12, 1e-12),
                         0);
        for (int i = 0; i < lengths[e] * 6; i++) mean[i % 6] += x[i] / lengths[e];
        ck_assert_int_eq(gsa_differ("mean", summary + e * 6, mean, 6, 1e-12, 1e-12), 0);
    }
    world_close(&w);
}
END_TEST

/* The mean and the maximum of the sequence, for every pattern: also of one that has no summary. */
START_TEST(a_summary_is_what_the_settings_ask_for)
{
    static const char *const specs[] = { "star*2", "bpt*2", "full*2",
                                         "char_word:local=adjacent*2" };
    const int norm = _i / 2 % 2, most = _i % 2;
    world w = world_open(NULL, GSA_F64);
    w.settings.norm = norm, w.settings.readout = most ? GSA_POOL_MAX : GSA_POOL_MEAN;
    MUST(&w.b, try_stack(&w, specs[_i / 4],
                         &(gsa_stack_options){ .name = "encoder",
                                               .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY }));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    double rows[TOKENS * 6], sequence[TOKENS * 6], summary[COUNT * 6], want[COUNT * 6] = { 0 };
    gsa_dice dice = { 14 };
    for (int i = 0; i < TOKENS * 6; i++) rows[i] = gsa_normal(&dice);
    const gsa_readout out = run(&w, lengths, COUNT, rows, 0);
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.sequence, 0, sequence, &w.b.error));
    MUST(&w.b, gsa_tensor_read(w.b.backend, out.summary, 0, summary, &w.b.error));
    for (int e = 0, at = 0; e < COUNT; at += lengths[e++])
        for (int i = 0; i < lengths[e] * 6; i++) {
            double *sum = &want[e * 6 + i % 6], x = sequence[at * 6 + i];
            *sum = !most ? *sum + x / lengths[e] : i < 6 ? x : fmax(*sum, x);
        }
    ck_assert_int_eq(gsa_differ("summary", summary, want, COUNT * 6, 1e-12, 1e-12), 0);
    world_close(&w);
}
END_TEST

START_TEST(a_wide_window_is_full)
{
    double rows[TOKENS * 6], out[2][TOKENS * 6];
    gsa_dice dice = { 13 };
    for (int i = 0; i < TOKENS * 6; i++) rows[i] = gsa_normal(&dice);
    for (int i = 0; i < 2; i++) {
        world w = world_with(NULL, GSA_F64, i ? "window:width=15" : "full", GSA_READ_SEQUENCE);
        gsa_parameters *ps = w.b.parameters;
        for (int p = 0; p < gsa_parameters_count(ps);
             p++) { /* names differ, so the initial values do: set both alike */
            gsa_tensor *x = &gsa_parameters_at(ps, p)->value;
            gsa_dice own = { (uint64_t)p };
            double *values = malloc((size_t)(x->rows * x->cols) * sizeof *values);
            for (int64_t j = 0; j < x->rows * x->cols; j++) values[j] = gsa_normal(&own);
            MUST(&w.b, gsa_tensor_write(w.b.backend, x, values, &w.b.error));
            free(values);
        }
        const gsa_readout r = run(&w, lengths, COUNT, rows, 0);
        MUST(&w.b, gsa_tensor_read(w.b.backend, r.sequence, 0, out[i], &w.b.error));
        world_close(&w);
    }
    ck_assert_int_eq(gsa_differ("window against full", out[1], out[0], TOKENS * 6, 1e-12, 1e-12),
                     0);
}
END_TEST

/* ---- names --------------------------------------------------------------------------------- */
static void expect_names(const char *text, int norm, int bias, int reads, const char *const *names,
                         int count)
{
    world w = world_open(NULL, GSA_F64);
    w.settings.norm = norm, w.settings.bias = bias;
    MUST(&w.b,
         try_stack(&w, text, &(gsa_stack_options){ .name = "encoder", .reads = (uint32_t)reads }));
    ck_assert_int_eq(gsa_parameters_count(w.b.parameters), count);
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(gsa_parameters_at(w.b.parameters, i)->name, names[i]);
    world_close(&w);
}

START_TEST(parameters_have_the_documented_names)
{
    static const char *const star[] = {
        "encoder.0.0.down.q.weight", "encoder.0.0.down.k.weight",  "encoder.0.0.down.v.weight",
        "encoder.0.0.down.q.bias",   "encoder.0.0.down.v.bias",    "encoder.0.0.down.o.weight",
        "encoder.0.0.down.o.bias",   "encoder.0.0.down.norm.gain", "encoder.0.0.down.norm.bias",
        "encoder.0.0.up.q.weight",   "encoder.0.0.up.k.weight",    "encoder.0.0.up.v.weight",
        "encoder.0.0.up.q.bias",     "encoder.0.0.up.v.bias",      "encoder.0.0.up.o.weight",
        "encoder.0.0.up.o.bias",     "encoder.0.0.up.norm.gain",   "encoder.0.0.up.norm.bias"
    };
    expect_names("star", GSA_NORM_POST, GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O, GSA_READ_SUMMARY,
                 star, GSA_COUNT(star));
    static const char *const full[] = { "encoder.0.0.attend.q.weight",
                                        "encoder.0.0.attend.k.weight",
                                        "encoder.0.0.attend.v.weight",
                                        "encoder.0.0.attend.labels.vectors",
                                        "encoder.0.0.attend.o.weight",
                                        "encoder.0.0.attend.norm.gain",
                                        "encoder.0.0.attend.norm.bias",
                                        "encoder.0.0.ffn.up.weight",
                                        "encoder.0.0.ffn.up.bias",
                                        "encoder.0.0.ffn.down.weight",
                                        "encoder.0.0.ffn.down.bias",
                                        "encoder.0.0.ffn.norm.gain",
                                        "encoder.0.0.ffn.norm.bias",
                                        "encoder.norm.gain",
                                        "encoder.norm.bias" };
    expect_names("full:clip=2:share=1*3", GSA_NORM_PRE, 0, GSA_READ_SEQUENCE, full,
                 GSA_COUNT(full));
}
END_TEST

START_TEST(parts_of_one_layer_keep_their_names_apart)
{
    world w = world_with(NULL, GSA_F64, "window:width=3+window:width=5+full*2", GSA_READ_SEQUENCE);
    ck_assert(gsa_parameters_find(w.b.parameters, "encoder.0.1.window.attend.q.weight") != NULL);
    ck_assert(gsa_parameters_find(w.b.parameters, "encoder.0.1.window2.ffn.up.weight") != NULL);
    ck_assert(gsa_parameters_find(w.b.parameters, "encoder.0.0.full.attend.o.weight") != NULL);
    ck_assert_str_eq(gsa_stack_text(w.stack), "window:width=3+window:width=5+full*2");
    ck_assert_int_eq(gsa_stack_layers(w.stack), 2);
    world_close(&w);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------ */
static const struct {
    const char *spec, *fragment;
    int hidden, heads, head_dim;
    uint32_t reads;
    int tap;
} refusals[] = {
    { "sun", "sun", 6, 2, 4, GSA_READ_SEQUENCE, -1 },
    { "star:rays=3", "rays", 6, 2, 4, GSA_READ_SEQUENCE, -1 },
    { "star", "hidden = 0", 0, 2, 4, GSA_READ_SEQUENCE, -1 },
    { "star", "does not divide by heads = 4", 6, 4, 0, GSA_READ_SEQUENCE, -1 },
    { "star", "heads = -1", 6, -1, 4, GSA_READ_SEQUENCE, -1 },
    { "star", "heads = 16385: at most 16384", 6, 16385, 1, GSA_READ_SEQUENCE, -1 },
    { "star*2", "tap 2 must be a layer from 0 to 1", 6, 2, 4, GSA_READ_SEQUENCE, 2 },
    { "star", "tap -5", 6, 2, 4, GSA_READ_SEQUENCE, -5 },
};

START_TEST(what_cannot_be_is_refused)
{
    world w = world_open(NULL, GSA_F64);
    w.settings.hidden = refusals[_i].hidden, w.settings.heads = refusals[_i].heads,
    w.settings.head_dim = refusals[_i].head_dim;
    const gsa_stack_options options = { .name = "encoder",
                                        .reads = refusals[_i].reads,
                                        .taps = &refusals[_i].tap,
                                        .n_taps = refusals[_i].tap != -1 };
    ck_assert_int_ne(try_stack(&w, refusals[_i].spec, &options), GSA_OK);
    ck_assert_msg(strstr(w.b.error.text, refusals[_i].fragment) != NULL, "'%s' lacks '%s'",
                  w.b.error.text, refusals[_i].fragment);
    world_close(&w);
}
END_TEST

START_TEST(taps_without_layers_and_no_name_are_refused)
{
    world w = world_open(NULL, GSA_F64);
    gsa_stack_options options = { .name = "encoder", .reads = GSA_READ_SEQUENCE, .n_taps = 1 };
    ck_assert_int_eq(try_stack(&w, "star", &options), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(w.b.error.text, "stack encoder: 1 taps need their layers");
    options.name = NULL;
    ck_assert_int_eq(try_stack(&w, "star", &options), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(w.b.error.text, "the name of a stack is NULL");
    world_close(&w);
}
END_TEST

START_TEST(input_of_another_shape_is_refused)
{
    world w = world_with(NULL, GSA_F64, "ring", GSA_READ_SEQUENCE);
    const int32_t three = 3;
    MUST(&w.b, gsa_stack_batch_build(w.batch, NULL, NULL,
                                     &(gsa_sequences){ .count = 1, .length = &three }, &w.b.error));
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_readout out;
    gsa_stack_forward(w.stack, w.b.tape, w.batch, gsa_tape_zeros(w.b.tape, 2, 6), NULL, &out);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(
        strstr(w.b.error.text, "starts from 3 rows of 6 columns, but the input has 2 rows") != NULL,
        "%s", w.b.error.text);
    world_close(&w);
}
END_TEST

/* A relay alone, whose start is all that is read of the input; its path is of any length. */
static void describe_lone(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_MEAN_INPUT, .name = "relay"));
    d->phase(
        d, &GSA_PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .destinations = 2, .name = "ffn"));
    d->sequence(d, 0);
    d->summary(d, 1, GSA_MEAN_OF, 1);
}

static void emit_lone(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self, (void)x;
    e->nodes(e, 1, 1);
}

static const gsa_param lone_params[] = { { "words", GSA_PATH, 0, 0, 0, NULL, "", "a file" } };
static const gsa_topology lone = { GSA_HEAD(lone_params),     .id = "lone",
                                   .summary = "a relay",      .reference = "",
                                   .describe = describe_lone, .emit = emit_lone };

static world lone_world(const char *text)
{
    world w = world_open(NULL, GSA_F32);
    MUST(&w.b, gsa_registry_add(w.registry, &lone, &w.b.error));
    MUST(&w.b,
         try_stack(&w, text, &(gsa_stack_options){ .name = "encoder", .reads = GSA_READ_SUMMARY }));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    return w;
}

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        int rows, cols, foreign; /* rows -1: no input */
        const char *fragment;
    } cases[] = {
        { -1, 6, 0, "an operand is NULL" },
        { 1, 6, 0,
          "kind 'relay' starts from 500 rows of 6 columns, but the input has 1 rows of 6" },
        { 500, 5, 0, "but the input has 500 rows of 5" },
        { 500, 6, 1, "stack encoder: the batch was made for stack other" }
    };
    world w = lone_world("lone");
    gsa_stack *own = w.stack, *other = NULL;
    w.stack = NULL;
    MUST(&w.b,
         try_stack(&w, "full", &(gsa_stack_options){ .name = "other", .reads = GSA_READ_SUMMARY }));
    other = w.stack, w.stack = own;
    const int32_t length = 500;
    gsa_stack_batch *foreign;
    MUST(&w.b, gsa_stack_batch_create(other, &foreign, &w.b.error));
    gsa_stack_batch *use = cases[_i].foreign ? foreign : w.batch;
    MUST(&w.b, gsa_stack_batch_build(
                   use, NULL, NULL, &(gsa_sequences){ .count = 1, .length = &length }, &w.b.error));
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_tensor *rows =
        cases[_i].rows < 0 ? NULL : gsa_tape_zeros(w.b.tape, cases[_i].rows, cases[_i].cols);
    gsa_readout out;
    gsa_stack_forward(w.stack, w.b.tape, use, rows, NULL, &out);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(w.b.error.text, cases[_i].fragment) != NULL, "%s", w.b.error.text);
    gsa_stack_batch_release(foreign);
    gsa_stack_release(other);
    world_close(&w);
}
END_TEST

START_TEST(a_long_text_is_kept_whole)
{
    char text[4000] = "lone:words=";
    const size_t start = strlen(text);
    memset(text + start, 'x', sizeof text - start);
    strcpy(text + sizeof text - 3, "*1");
    world w = lone_world(text);
    const char *kept = gsa_stack_text(w.stack);
    ck_assert_msg(strcmp(kept, text) == 0, "%zu of %zu bytes", strlen(kept),
                  strlen(text)); /* too long for Check to show */
    world_close(&w);
}
END_TEST

/* A stack is made under every n-th failing allocation: the right code, nothing leaks. */
static gsa_status make_stack(gsa_faults *faults, void *context)
{
    (void)context;
    gsa_error error;
    gsa_backend *backend = NULL;
    gsa_registry *registry = NULL;
    gsa_parameters *parameters = NULL;
    gsa_stack *stack = NULL;
    gsa_stack_spec spec = { 0 };
    const gsa_settings settings = small();
    const int32_t length[2] = { 3, 4 };
    gsa_stack_batch *batch = NULL;
    gsa_status status = gsa_backend_ref(&faults->table, GSA_F32, 1, &backend, &error);
    if (status == GSA_OK) status = gsa_registry_create(&faults->table, &registry, &error);
    if (status == GSA_OK)
        status = gsa_parameters_create(&faults->table, backend, 1, &parameters, &error);
    if (status == GSA_OK)
        status = gsa_spec_parse(&faults->table, "star*2,full:clip=1", &spec, &error);
    if (status == GSA_OK)
        status =
            gsa_stack_create(&faults->table, registry, &spec, &settings,
                             &(gsa_stack_options){ .name = "encoder", .reads = GSA_READ_SUMMARY },
                             parameters, &stack, &error);
    if (status == GSA_OK) status = gsa_stack_batch_create(stack, &batch, &error);
    if (status == GSA_OK)
        status = gsa_stack_batch_build(batch, NULL, NULL,
                                       &(gsa_sequences){ .count = 2, .length = length }, &error);
    gsa_stack_batch_release(batch);
    gsa_stack_release(stack);
    gsa_spec_release(&spec);
    gsa_parameters_release(parameters);
    gsa_registry_release(registry);
    gsa_backend_release(backend);
    return status;
}

START_TEST(every_failing_allocation_is_met)
{
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, make_stack, NULL), 100);
}
END_TEST

/* ---- skipping ------------------------------------------------------------------------------ */
START_TEST(what_reaches_no_readout_is_skipped_and_said)
{
    world w = world_with(NULL, GSA_F64, "star*2", GSA_READ_SEQUENCE);
    ck_assert_str_eq(gsa_stack_report(w.stack),
                     "encoder segment 0 layer 1: phase up reaches no readout and is skipped\n");
    int unreached = 0;
    for (int p = 0; p < gsa_parameters_count(w.b.parameters); p++) {
        const gsa_parameter *x = gsa_parameters_at(w.b.parameters, p);
        const int up = strncmp(x->name, "encoder.0.1.up.", 15) == 0;
        ck_assert_int_eq((x->flags & GSA_UNREACHED) != 0, up);
        unreached += up;
    }
    ck_assert_int_eq(unreached, 6);
    world_close(&w);
    world with_summary = world_with(NULL, GSA_F64, "star*2", GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    ck_assert_str_eq(gsa_stack_report(with_summary.stack), "");
    world_close(&with_summary);
}
END_TEST

/* ---- nothing at all ------------------------------------------------------------------------ */
START_TEST(a_batch_of_no_examples_is_a_batch)
{
    world w = world_open(NULL, GSA_F64);
    w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = 0.5;
    MUST(&w.b, try_stack(&w, "star,full+ring",
                         &(gsa_stack_options){ .name = "encoder", .reads = GSA_READ_SUMMARY }));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    const double none[1] = { 0 };
    const gsa_readout out = run(&w, lengths, 0, none, 1);
    ck_assert(out.summary->rows == 0 && out.summary->cols == 6);
    MUST(&w.b,
         gsa_tape_backward(w.b.tape, gsa_op_square_error(w.b.tape, out.summary, out.summary, 1),
                           &w.b.error));
    world_close(&w);
}
END_TEST

/* ---- projections --------------------------------------------------------------------------- */
static int64_t gemm_rows;
static gsa_status (*real_gemm)(gsa_backend *, void *, const void *, const void *, int64_t, int64_t,
                               int64_t, int, int, int64_t, int64_t, int64_t, int);
static gsa_status counting_gemm(gsa_backend *b, void *c, const void *x, const void *y, int64_t m,
                                int64_t n, int64_t k, int ta, int tb, int64_t ldc, int64_t lda,
                                int64_t ldb, int accumulate)
{
    gemm_rows += m;
    return real_gemm(b, c, x, y, m, n, k, ta, tb, ldc, lda, ldb, accumulate);
}

START_TEST(one_value_is_projected_once)
{
    double rows[TOKENS * 6] = { 0 };
    int64_t first = 0;
    for (int layers = 1; layers <= 2; layers++) {
        world w = world_with(NULL, GSA_F64, layers == 1 ? "star*1" : "star*2", GSA_READ_SUMMARY);
        real_gemm = w.b.backend->gemm;
        w.b.backend->gemm = counting_gemm;
        gemm_rows = 0;
        run(&w, lengths, COUNT, rows, 0);
        w.b.backend->gemm = real_gemm;
        world_close(&w);
        /* layer 1: q, k, v, o of the tokens (h^0 and e are one value), k, v of the relays, then k,
         * v of the tokens, q, k, v, o of the relays; the example of length 0 has no relay */
        if (layers == 1) ck_assert_int_eq(first = gemm_rows, 6 * TOKENS + 6 * (COUNT - 1));
        else
            ck_assert_int_eq(gemm_rows - first,
                             first + 2 * TOKENS); /* layer 2: k, v of e besides those of h^1 */
    }
}
END_TEST

/* With a look at all before it for each step, these took minutes. */
START_TEST(many_layers_take_a_time_that_grows_with_them)
{
    static const char segment[] = "star:share*1000";
    enum { SEGMENTS = 16 };
    char text[SEGMENTS * sizeof segment] = "";
    for (int s = 0; s < SEGMENTS; s++) strcat(strcat(text, s ? "," : ""), segment);
    const double rows[2 * 6] = { 1, 2, 3, 4, 5, 6 };
    world w = world_with(NULL, GSA_F32, text, GSA_READ_SUMMARY);
    run(&w, (const int32_t[]){ 2 }, 1, rows, 0);
    ck_assert_int_eq(gsa_stack_layers(w.stack), SEGMENTS * 1000);
    world_close(&w);
}
END_TEST

static void *open_many_parts(void *text)
{
    world w = world_with(NULL, GSA_F32, text, GSA_READ_SUMMARY);
    ck_assert_int_eq(gsa_stack_layers(w.stack), 1);
    world_close(&w);
    return NULL;
}

/* A spec is a file's, and threads may have a small stack. */
START_TEST(many_parts_take_no_stack)
{
    enum { PARTS = 1500, STACK = 128 << 10 };
    pthread_attr_t small;
    pthread_t thread;
    char *text = malloc(PARTS * 5);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < PARTS; i++) memcpy(text + (ptrdiff_t)i * 5, "ring+", 5);
    text[PARTS * 5 - 1] = 0;
    ck_assert_int_eq(pthread_attr_init(&small), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&small, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &small, open_many_parts, text), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&small);
    free(text);
}
END_TEST

/* ---- steady state -------------------------------------------------------------------------- */
START_TEST(a_step_allocates_nothing_after_warm_up)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    const char *const specs[] = { "star*2", "full:clip=3*2", "window:width=3*2,ring",
                                  "star,full+ring*2" };
    world w = world_open(&faults.table, GSA_F32);
    w.settings.dropout_attention = w.settings.dropout_hidden = w.settings.dropout_ffn = 0.1;
    MUST(&w.b, try_stack(&w, specs[_i],
                         &(gsa_stack_options){ .name = "encoder", .reads = GSA_READ_SUMMARY }));
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    double rows[TOKENS * 6];
    for (int i = 0; i < TOKENS * 6; i++) rows[i] = 0.1 * i;
    for (int step = 0; step < 8; step++) {
        if (step == 3) gsa_faults_rewind(&faults);
        const gsa_readout out = run(&w, lengths, COUNT, rows, 1);
        gsa_tensor *loss =
            gsa_op_square_error(w.b.tape, out.summary, gsa_tape_zeros(w.b.tape, COUNT, 6), 1);
        MUST(&w.b, gsa_tape_backward(w.b.tape, loss, &w.b.error));
        MUST(&w.b, gsa_parameters_zero_gradients(w.b.parameters, &w.b.error));
    }
    ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0);
    world_close(&w);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test equations[] = { GSA_TEST(star_is_the_papers_equations),
                                          GSA_TEST(full_is_the_transformers_encoder),
                                          GSA_LOOP(a_summary_is_what_the_settings_ask_for, 16),
                                          GSA_TEST(a_wide_window_is_full) };
    static const gsa_test names[] = { GSA_TEST(parameters_have_the_documented_names),
                                      GSA_TEST(parts_of_one_layer_keep_their_names_apart),
                                      GSA_TEST(a_long_text_is_kept_whole) };
    static const gsa_test refused[] = { GSA_LOOP(what_cannot_be_is_refused, GSA_COUNT(refusals)),
                                        GSA_TEST(taps_without_layers_and_no_name_are_refused),
                                        GSA_TEST(input_of_another_shape_is_refused),
                                        GSA_LOOP(what_does_not_fit_is_refused, 4),
                                        GSA_TEST(every_failing_allocation_is_met) };
    static const gsa_test skipping[] = { GSA_TEST(what_reaches_no_readout_is_skipped_and_said),
                                         GSA_TEST(a_batch_of_no_examples_is_a_batch),
                                         GSA_TEST(many_parts_take_no_stack) };
    static const gsa_test projections[] = { GSA_TEST(one_value_is_projected_once),
                                            GSA_TEST(
                                                many_layers_take_a_time_that_grows_with_them) };
    static const gsa_test steady[] = { GSA_LOOP(a_step_allocates_nothing_after_warm_up, 4) };
    static const gsa_case cases[] = {
        GSA_CASE("equations", equations, 60),     GSA_CASE("names", names, 30),
        GSA_CASE("refusals", refused, 120),       GSA_CASE("skipping", skipping, 30),
        GSA_CASE("projections", projections, 30), GSA_CASE("steady", steady, 60)
    };
    return gsa_run_suite("stack", cases, GSA_COUNT(cases), argc, argv);
}
