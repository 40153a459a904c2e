#include "gsa/context.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t CACHE_BYTES = INT64_C(1) << 28;

typedef struct part { /* what the context made, and how it goes */
    void *at;
    void (*release)(void *at);
} part;

struct gsa_context {
    const gsa_system *system;
    uint32_t seed, zero;
    gsa_registry *registry;
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_cache *cache;
    part *parts;
    int count, room;
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
    c->system = o.system, c->seed = o.seed;
    status = open_parts(c, &o, error);
    if (status == GSA_OK) *context = c;
    else gsa_context_release(c);
    return status;
}

void gsa_context_release(gsa_context *c)
{
    if (!c) return;
    while (c->count > 0) {
        const part *last = &c->parts[--c->count];
        last->release(last->at);
    }
    if (c->cache) gsa_cache_release(c->cache);
    if (c->tape) gsa_tape_release(c->tape);
    gsa_parameters_release(c->parameters);
    gsa_backend_release(c->backend);
    gsa_registry_release(c->registry);
    gsa_release(c->system, c->parts);
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

/* ---- parts --------------------------------------------------------------------------------- */

/* Room for one part more, so that what is made next can be kept. */
static gsa_status make_room(gsa_context *c, gsa_error *error)
{
    if (!c) return absent("context", error);
    if (c->count < c->room) return GSA_OK;
    const int room = 2 * c->room + 8;
    part *parts = gsa_resize(c->system, c->parts, (size_t)room, sizeof *parts);
    if (!parts)
        return gsa_out_of_memory(error, "the context's parts", room * (int64_t)sizeof *parts);
    c->parts = parts, c->room = room;
    return GSA_OK;
}

static void keep(gsa_context *c, void *at, void (*release)(void *at))
{
    c->parts[c->count++] = (part){ at, release };
}

static void drop_input(void *at)
{
    gsa_input_release(at);
}

static void drop_stack(void *at)
{
    gsa_stack_release(at);
}

static void drop_batch(void *at)
{
    gsa_stack_batch_release(at);
}

static void drop_optimiser(void *at)
{
    gsa_optimiser_release(at);
}

gsa_status gsa_context_input(gsa_context *c, const gsa_settings *settings,
                             const gsa_input_options *options, gsa_input **input, gsa_error *error)
{
    *input = NULL;
    if (!settings || !options)
        return absent(settings ? "input's options" : "input's settings", error);
    gsa_status status = make_room(c, error);
    if (status == GSA_OK)
        status = gsa_input_create(c->system, settings, options, c->parameters, input, error);
    if (status == GSA_OK) keep(c, *input, drop_input);
    return status;
}

gsa_status gsa_context_stack(gsa_context *c, const char *spec, const gsa_settings *settings,
                             const gsa_stack_options *options, gsa_stack **stack, gsa_error *error)
{
    gsa_stack_spec parsed = { 0 };
    *stack = NULL;
    if (!spec || !settings || !options)
        return absent(!spec      ? "stack's text"
                      : settings ? "stack's options"
                                 : "stack's settings",
                      error);
    gsa_status status = make_room(c, error);
    if (status == GSA_OK) status = gsa_spec_parse(c->system, spec, &parsed, error);
    if (status == GSA_OK)
        status = gsa_stack_create(c->system, c->registry, &parsed, settings, options, c->parameters,
                                  stack, error);
    if (status == GSA_OK) keep(c, *stack, drop_stack);
    gsa_spec_release(&parsed);
    return status;
}

gsa_status gsa_context_batch(gsa_context *c, const gsa_stack *stack, gsa_stack_batch **batch,
                             gsa_error *error)
{
    *batch = NULL;
    if (!stack) return absent("batch's stack", error);
    gsa_status status = make_room(c, error);
    if (status == GSA_OK) status = gsa_stack_batch_create(stack, batch, error);
    if (status == GSA_OK) keep(c, *batch, drop_batch);
    return status;
}

gsa_status gsa_context_build(gsa_context *c, gsa_stack_batch *batch, const gsa_sequences *sequences,
                             gsa_error *error)
{
    if (!c || !batch || !sequences)
        return absent(!c ? "context" : batch ? "list of sequences" : "batch", error);
    return gsa_stack_batch_build(batch, c->cache, NULL, sequences, error);
}

gsa_status gsa_context_linear(gsa_context *c, const char *name, int64_t inputs, int64_t outputs,
                              gsa_linear *linear, gsa_error *error)
{
    char weight[256], bias[256];
    *linear = (gsa_linear){ NULL, NULL };
    if (!c || !name) return absent(c ? "name of a Linear" : "context", error);
    if (inputs < 1 || outputs < 1 || inputs > INT32_MAX || outputs > INT32_MAX)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "Linear '%.100s' of %lld inputs and %lld outputs, expected 1 to %d", name,
                        (long long)inputs, (long long)outputs, INT32_MAX);
    if (snprintf(weight, sizeof weight, "%s.weight", name) >= (int)sizeof weight)
        return gsa_fail(error, GSA_ERR_LIMIT, "Linear '%.100s...': the name is too long", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const gsa_status status = gsa_parameters_add(c->parameters, weight, outputs, inputs,
                                                 GSA_INIT_XAVIER, 0, 0, &linear->weight, error);
    if (status != GSA_OK) return status;
    return gsa_parameters_add(c->parameters, bias, 1, outputs, GSA_INIT_ZERO, 0, GSA_NO_DECAY,
                              &linear->bias, error);
}

gsa_tensor *gsa_linear_forward(const gsa_linear *linear, gsa_tape *tape, gsa_tensor *x)
{
    if (!linear->weight || !linear->bias)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "a Linear that was never made");
    return gsa_op_linear(tape, x, &linear->weight->value, &linear->bias->value);
}

gsa_status gsa_context_optimiser(gsa_context *c, const gsa_optimiser_options *options,
                                 gsa_optimiser **optimiser, gsa_error *error)
{
    *optimiser = NULL;
    gsa_status status = make_room(c, error);
    if (status == GSA_OK)
        status = gsa_optimiser_create(c->system, c->parameters, options, optimiser, error);
    if (status == GSA_OK) keep(c, *optimiser, drop_optimiser);
    return status;
}

/* ---- a step -------------------------------------------------------------------------------- */

void gsa_context_begin(gsa_context *c, int training, uint32_t step)
{
    gsa_tape_reset(c->tape, training, c->seed, step);
}

gsa_status gsa_context_step(gsa_context *c, gsa_optimiser *optimiser, gsa_tensor *loss, double lr,
                            double *value, gsa_error *error)
{
    double norm, own = 0;
    if (!value) value = &own;
    if (!c || !optimiser) return absent(c ? "optimiser" : "context", error);
    if (!(lr >= 0 && isfinite(lr)))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "lr = %g, expected a finite rate >= 0", lr);
    gsa_status status = gsa_tape_status(c->tape, error);
    if (status == GSA_OK && !loss) return absent("loss", error);
    if (status == GSA_OK) status = gsa_parameters_zero_gradients(c->parameters, error);
    if (status == GSA_OK) status = gsa_tape_backward(c->tape, loss, error);
    if (status == GSA_OK) status = gsa_tensor_read(c->backend, loss, 0, value, error);
    if (status == GSA_OK) status = gsa_optimiser_step(optimiser, lr, &norm, error);
    if (status != GSA_OK || isfinite(norm)) return status;
    return gsa_optimiser_blame(optimiser, gsa_optimiser_steps(optimiser) + 1, *value, norm, error);
}
