#include "gsa/context.h"
#include "graph/index.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "gsa/tape_parts.h"

static const int64_t CACHE_BYTES = INT64_C(1) << 28;
enum { FIRST_SITE = 16 }; /* of dropout in stacks; inputs have those below */

typedef struct batch {
    gsa_stack_batch *edges;
    int32_t *length; /* [count], room for `room`: all that the edges were made of */
    int32_t count, room;
} batch;

struct gsa_encoder {
    gsa_context *context;
    gsa_input *input;
    gsa_stack *stack;
    batch *batch; /* [batches]; `used` of them since the context's last begin */
    int32_t batches, used;
    uint32_t round, zero;
    gsa_encoder *next;
};

struct gsa_context {
    const gsa_system *system;
    uint32_t seed, round; /* round: counts begins */
    uint32_t next_input, next_site;
    gsa_registry *registry;
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_cache *cache;
    gsa_encoder *encoders;
    gsa_optimiser *optimiser;
    gsa_schedule rate;
};

static gsa_status absent(const char *what, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_ARGUMENT, "the %s is NULL", what);
}

/* ---- opening ------------------------------------------------------------------------------- */

/* The options that the caller knows of; what it does not is zero. */
static gsa_status take(const gsa_context_options *given, gsa_context_options *o, gsa_error *error)
{
    *o = (gsa_context_options){ .struct_size = sizeof *o };
    if (!given) return GSA_OK;
    const size_t least = offsetof(gsa_context_options, device);
    if (given->struct_size < least || given->struct_size > 65536)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the context's options say struct_size = %u, expected %zu",
                        given->struct_size, sizeof *o);
    memcpy(o, given, given->struct_size < sizeof *o ? given->struct_size : sizeof *o);
    if (o->real != GSA_F32 && o->real != GSA_F64)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "real = %d, expected 0 (float) or 1 (double)",
                        o->real);
    if (o->n_plugins < 0 || (o->n_plugins > 0 && !o->plugins))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "n_plugins = %d, and plugins is %s", o->n_plugins,
                        o->plugins ? "a list" : "NULL");
    return GSA_OK;
}

static gsa_status open_parts(gsa_context *c, const gsa_context_options *o, gsa_error *error)
{
    gsa_status status = gsa_registry_create(c->system, &c->registry, error);
    for (int i = 0; i < o->n_plugins && status == GSA_OK; i++)
        status = o->plugins[i] ? gsa_registry_load(c->registry, o->plugins[i], error)
                               : absent("path of a plugin", error);
    if (status == GSA_OK)
        status = gsa_backend_open(c->system, o->device, o->real, o->threads, &c->backend, error);
    if (status == GSA_OK)
        status = gsa_parameters_create(c->system, c->backend, o->seed, &c->parameters, error);
    if (status == GSA_OK) status = gsa_tape_create(c->system, c->backend, &c->tape, error);
    if (status == GSA_OK) status = gsa_cache_create(c->system, CACHE_BYTES, &c->cache, error);
    return status;
}

gsa_status gsa_context_open(const gsa_context_options *options, gsa_context **context,
                            gsa_error *error)
{
    gsa_context_options o;
    *context = NULL;
    gsa_status status = take(options, &o, error);
    gsa_context *c = status == GSA_OK ? gsa_alloc_zero(o.system, 1, sizeof *c) : NULL;
    if (!c)
        return status == GSA_OK ? gsa_out_of_memory(error, "the context", (int64_t)sizeof *c)
                                : status;
    c->system = o.system, c->seed = o.seed, c->next_site = FIRST_SITE;
    status = open_parts(c, &o, error);
    if (status == GSA_OK) *context = c;
    else gsa_context_release(c);
    return status;
}

static void release_encoder(gsa_encoder *e)
{
    const gsa_system *system = e->context->system;
    for (int32_t i = 0; i < e->batches; i++) {
        gsa_stack_batch_release(e->batch[i].edges);
        gsa_release(system, e->batch[i].length);
    }
    gsa_stack_release(e->stack);
    gsa_input_release(e->input);
    gsa_release(system, e->batch);
    gsa_release(system, e);
}

void gsa_context_release(gsa_context *c)
{
    if (!c) return;
    gsa_optimiser_release(c->optimiser);
    for (gsa_encoder *e = c->encoders, *next; e; e = next) {
        next = e->next;
        release_encoder(e);
    }
    if (c->cache) gsa_cache_release(c->cache);
    if (c->tape) gsa_tape_release(c->tape);
    gsa_parameters_release(c->parameters);
    gsa_backend_release(c->backend);
    gsa_registry_release(c->registry);
    gsa_release(c->system, c);
}

gsa_registry *gsa_context_registry(const gsa_context *context)
{
    return context->registry;
}

gsa_backend *gsa_context_backend(const gsa_context *context)
{
    return context->backend;
}

gsa_parameters *gsa_context_parameters(const gsa_context *context)
{
    return context->parameters;
}

gsa_tape *gsa_context_tape(const gsa_context *context)
{
    return context->tape;
}

gsa_optimiser *gsa_context_optimiser(const gsa_context *context)
{
    return context->optimiser;
}

/* ---- parts --------------------------------------------------------------------------------- */

static gsa_status make_encoder(gsa_encoder *e, const char *spec, const gsa_settings *settings,
                               gsa_input_options input, gsa_stack_options stack, gsa_error *error)
{
    gsa_context *c = e->context;
    gsa_stack_spec parsed = { 0 };
    gsa_status status = gsa_spec_parse(c->system, spec, &parsed, error);
    if (!input.name) input.name = "input";
    if (input.embedding_std == 0) input.embedding_std = 1;
    if (!input.site) input.site = c->next_input;
    if (!stack.name) stack.name = "encoder";
    if (!stack.first_site) stack.first_site = c->next_site;
    if (status == GSA_OK && input.site >= FIRST_SITE)
        status = gsa_fail(error, GSA_ERR_LIMIT, "%s: a context has at most %d inputs", input.name,
                          FIRST_SITE);
    if (status == GSA_OK)
        status = gsa_stack_create(c->system, c->registry, &parsed, settings, &stack, c->parameters,
                                  &e->stack, error);
    if (status == GSA_OK)
        status = gsa_input_create(c->system, settings, &input, c->parameters, &e->input, error);
    gsa_spec_release(&parsed);
    return status;
}

gsa_status gsa_context_encoder(gsa_context *c, const char *spec, const gsa_settings *settings,
                               const gsa_input_options *input, const gsa_stack_options *stack,
                               gsa_encoder **encoder, gsa_error *error)
{
    static const gsa_stack_options summary = { .reads = GSA_READ_SUMMARY };
    *encoder = NULL;
    if (!c || !spec || !settings || !input)
        return absent(!c          ? "context"
                      : !spec     ? "stack's text"
                      : !settings ? "encoder's settings"
                                  : "input's options",
                      error);
    gsa_encoder *e = gsa_alloc_zero(c->system, 1, sizeof *e);
    if (!e) return gsa_out_of_memory(error, "an encoder", (int64_t)sizeof *e);
    e->context = c;
    const gsa_status status =
        make_encoder(e, spec, settings, *input, stack ? *stack : summary, error);
    if (status != GSA_OK) {
        release_encoder(e);
        return status;
    }
    c->next_input++;
    if (gsa_stack_sites(e->stack) > c->next_site) c->next_site = gsa_stack_sites(e->stack);
    e->next = c->encoders, c->encoders = *encoder = e;
    return GSA_OK;
}

/* A batch that no pass since the last begin has taken; NULL: there is none. */
static batch *take_batch(gsa_encoder *e, gsa_error *error)
{
    gsa_context *c = e->context;
    if (e->round != c->round) e->round = c->round, e->used = 0;
    if (e->used < e->batches) return &e->batch[e->used++];
    batch *grown = gsa_resize(c->system, e->batch, (size_t)e->batches + 1, sizeof *grown);
    if (!grown) {
        gsa_out_of_memory(error, "a batch", (int64_t)sizeof *grown);
        return NULL;
    }
    e->batch = grown;
    grown[e->batches] = (batch){ NULL };
    if (gsa_stack_batch_create(e->stack, &grown[e->batches].edges, error) != GSA_OK) return NULL;
    e->used = ++e->batches;
    return &grown[e->used - 1];
}

/* Lengths alone make the same edges of the same lengths: they are kept, and all that was planned
 * for them. */
static gsa_status build(gsa_encoder *e, batch *b, const gsa_sequences *s, gsa_error *error)
{
    const gsa_system *system = e->context->system;
    const int alone = !s->memory_length && !s->text && !s->group && !s->columns;
    const size_t bytes = s->count > 0 ? (size_t)s->count * sizeof *b->length : 0;
    if (alone && s->length && bytes && b->count == s->count &&
        memcmp(b->length, s->length, bytes) == 0)
        return GSA_OK;
    b->count = 0;
    const gsa_status status = gsa_stack_batch_build(b->edges, e->context->cache, NULL, s, error);
    if (status != GSA_OK || !alone || !bytes) return status;
    if (s->count > b->room) {
        int32_t *length = gsa_resize(system, b->length, (size_t)s->count, sizeof *length);
        if (!length) return gsa_out_of_memory(error, "a batch's lengths", (int64_t)bytes);
        b->length = length, b->room = s->count;
    }
    memcpy(b->length, s->length, bytes);
    b->count = s->count;
    return GSA_OK;
}

gsa_readout gsa_encoder_forward(gsa_encoder *e, const gsa_sequences *sequences, const int32_t *ids,
                                gsa_tensor *features, gsa_tensor *memory)
{
    gsa_error error;
    gsa_readout read = { NULL };
    if (!e) return read;
    gsa_tape *tape = e->context->tape;
    batch *b = take_batch(e, &error);
    gsa_status status = !b          ? GSA_ERR_MEMORY
                        : sequences ? build(e, b, sequences, &error)
                                    : absent("encoder's list of sequences", &error);
    if (status != GSA_OK) {
        gsa_tape_fail(tape, status, "%s", error.text);
        return read;
    }
    gsa_tensor *x =
        gsa_input_forward(e->input, tape, ids, features, sequences->length, sequences->count);
    gsa_stack_forward(e->stack, tape, b->edges, x, memory, &read);
    return read;
}

gsa_status gsa_context_linear(gsa_context *c, const char *name, int64_t inputs, int64_t outputs,
                              gsa_linear *linear, gsa_error *error)
{
    char weight[256], bias[256];
    *linear = (gsa_linear){ NULL };
    if (!c || !name) return absent(c ? "name of a Linear" : "context", error);
    if (inputs < 1 || outputs < 1 || inputs > gsa_index_most || outputs > gsa_index_most)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "Linear '%.100s' of %lld inputs and %lld outputs, expected 1 to %d", name,
                        (long long)inputs, (long long)outputs, gsa_index_most);
    if (snprintf(weight, sizeof weight, "%s.weight", name) >= (int)sizeof weight)
        return gsa_fail(error, GSA_ERR_LIMIT, "Linear '%.100s...': the name is too long", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    linear->tape = c->tape;
    const gsa_status status = gsa_parameters_add(c->parameters, weight, outputs, inputs,
                                                 GSA_INIT_XAVIER, 0, 0, &linear->weight, error);
    if (status != GSA_OK) return status;
    return gsa_parameters_add(c->parameters, bias, 1, outputs, GSA_INIT_ZERO, 0, GSA_NO_DECAY,
                              &linear->bias, error);
}

gsa_tensor *gsa_linear_forward(const gsa_linear *linear, gsa_tensor *x)
{
    if (!linear->tape) return NULL;
    if (!linear->weight || !linear->bias)
        return gsa_tape_fail(linear->tape, GSA_ERR_ARGUMENT, "a Linear that was never made");
    return gsa_op_linear(linear->tape, x, &linear->weight->value, &linear->bias->value);
}

gsa_tensor *gsa_context_cross_entropy(gsa_context *c, gsa_tensor *logits, const int32_t *label)
{
    int64_t counted = 0;
    if (gsa_tape_lacks(c->tape, logits, "cross-entropy")) return NULL;
    if (!label) return gsa_tape_fail(c->tape, GSA_ERR_ARGUMENT, "the labels are NULL");
    for (int64_t i = 0; i < logits->rows; i++) {
        if (label[i] < -1 || label[i] >= logits->cols)
            return gsa_tape_fail(c->tape, GSA_ERR_ARGUMENT, "label[%lld] = %d, expected -1 to %lld",
                                 (long long)i, label[i], (long long)logits->cols - 1);
        counted += label[i] >= 0;
    }
    const int64_t bytes = logits->rows * (int64_t)sizeof *label;
    return gsa_op_cross_entropy(c->tape, logits, gsa_tape_upload(c->tape, label, bytes),
                                counted ? 1.0 / (double)counted : 0);
}

/* ---- a step -------------------------------------------------------------------------------- */

gsa_status gsa_context_optimise(gsa_context *c, const gsa_optimiser_options *options,
                                const gsa_schedule *rate, gsa_error *error)
{
    gsa_optimiser *made;
    if (!c || !rate) return absent(c ? "schedule" : "context", error);
    const gsa_status status = gsa_optimiser_create(c->system, c->parameters, options, &made, error);
    if (status != GSA_OK) return status;
    gsa_optimiser_release(c->optimiser);
    c->optimiser = made, c->rate = *rate;
    return GSA_OK;
}

static int64_t steps(const gsa_context *c)
{
    return c->optimiser ? gsa_optimiser_steps(c->optimiser) : 0;
}

void gsa_context_begin(gsa_context *c, int training)
{
    c->round++;
    gsa_tape_reset(c->tape, training, c->seed, (uint32_t)steps(c));
}

gsa_status gsa_context_step(gsa_context *c, gsa_tensor *loss, double *value, gsa_error *error)
{
    double norm, own = 0;
    if (!value) value = &own;
    if (!c || !c->optimiser) return absent(c ? "optimiser" : "context", error);
    const double lr = gsa_schedule_rate(&c->rate, steps(c));
    gsa_status status = gsa_tape_status(c->tape, error);
    if (status == GSA_OK && !loss) return absent("loss", error);
    if (status == GSA_OK && !(lr >= 0 && isfinite(lr)))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the rate of step %lld is %g, expected a finite one >= 0",
                        (long long)steps(c), lr);
    if (status == GSA_OK) status = gsa_parameters_zero_gradients(c->parameters, error);
    if (status == GSA_OK) status = gsa_tape_backward(c->tape, loss, error);
    if (status == GSA_OK) status = gsa_tensor_read(c->backend, loss, 0, value, error);
    if (status == GSA_OK) status = gsa_optimiser_step(c->optimiser, lr, &norm, error);
    if (status != GSA_OK || isfinite(norm)) return status;
    return gsa_optimiser_blame(c->optimiser, steps(c) + 1, *value, norm, error);
}
