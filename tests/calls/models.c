/* Inputs, stacks, models of several stacks, and a model made through a context. */
#include "calls.h"
#include "gsa/context.h"
#include "gsa/model.h"

enum { HIDDEN = 4 };
static const int32_t length[] = { 2, 3 }, memory_length[] = { 2, 1 }, ids[] = { 1, 2, 3, 1, 0 };

static gsa_settings small(void)
{
    gsa_settings s = gsa_settings_default();
    s.hidden = HIDDEN, s.heads = 1, s.position = GSA_POSITION_LEARNED, s.position_max = 8;
    return s;
}

/* What stacks and models are made of. */
typedef struct ground {
    gsa_registry *registry;
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_input *input;
    gsa_parameter *rows; /* of an input that is a parameter: no tape has room because of it */
} ground;

/* An empty tape: a warm one has room. */
static gsa_status fresh(ground *g, const gsa_system *s)
{
    gsa_status status;
    gsa_tape_release(g->tape);
    g->tape = NULL;
    TRY(gsa_tape_create, s, g->backend, &g->tape);
    gsa_tape_reset(g->tape, 1, 1, 1);
out:
    return status;
}

#define FRESH(g)                                                                                   \
    if ((status = fresh(g, s)) != GSA_OK) goto out

static gsa_status open_ground(ground *g, const gsa_system *s, const gsa_settings *settings)
{
    const gsa_input_options words = { .name = "input", .vocabulary = 4 };
    gsa_status status;
    *g = (ground){ 0 };
    TRY(gsa_registry_create, s, &g->registry);
    TRY(gsa_backend_open, s, "ref", GSA_F32, 1, &g->backend);
    g->backend->shares_host_memory = 0; /* as a device: what it reads is copied */
    TRY(gsa_parameters_create, s, g->backend, 1, &g->parameters);
    TRY(gsa_parameters_add, g->parameters, "rows", 5, HIDDEN, GSA_INIT_NORMAL, 1, 0, &g->rows);
    TRY(gsa_input_create, s, settings, &words, g->parameters, &g->input);
    CALL(gsa_input_embedding)(g->input);
    FRESH(g);
out:
    return status;
}

static void close_ground(ground *g)
{
    CALL(gsa_input_release)(g->input);
    gsa_tape_release(g->tape), gsa_parameters_release(g->parameters);
    gsa_backend_release(g->backend), gsa_registry_release(g->registry);
}

typedef struct made_stack {
    ground g;
    gsa_stack_spec spec;
    gsa_stack *stack;
    gsa_stack_batch *batch;
} made_stack;

static gsa_status open_stack(made_stack *m, const gsa_system *s, const char *spec)
{
    const gsa_settings settings = small();
    const gsa_stack_options options = { .name = "encoder", .reads = GSA_READ_SEQUENCE };
    const gsa_sequences sequences = { .count = 2,
                                      .length = length,
                                      .memory_length = memory_length };
    gsa_status status;
    *m = (made_stack){ 0 };
    if ((status = open_ground(&m->g, s, &settings)) != GSA_OK) goto out;
    TRY(gsa_spec_parse, s, spec, &m->spec);
    TRY(gsa_stack_create, s, m->g.registry, &m->spec, &settings, &options, m->g.parameters,
        &m->stack);
    TRY(gsa_stack_batch_create, m->stack, &m->batch);
    TRY(gsa_stack_batch_build, m->batch, NULL, NULL, &sequences);
out:
    return status;
}

static void close_stack(made_stack *m)
{
    CALL(gsa_stack_batch_release)(m->batch);
    CALL(gsa_stack_release)(m->stack);
    gsa_spec_release(&m->spec);
    close_ground(&m->g);
}

gsa_status calls_stack(gsa_faults *faults, void *scratch)
{
    gsa_status status;
    gsa_watched watched[8];
    const gsa_system *s = &faults->table;
    gsa_readout out = { 0 };
    made_stack m;
    (void)scratch;
    if ((status = open_stack(&m, s, "star*2")) != GSA_OK) goto out;
    const gsa_stack *stack = m.stack;
    CALL(gsa_stack_layers)(stack), CALL(gsa_stack_sites)(stack), CALL(gsa_stack_text)(stack);
    CALL(gsa_stack_has_summary)(stack), CALL(gsa_stack_reads_memory)(stack);
    CALL(gsa_stack_memory_layer)(stack), CALL(gsa_stack_needs_text)(stack);
    CALL(gsa_stack_report)(stack), CALL(gsa_stack_patterns)(stack, 0);
    CALL(gsa_stack_pattern)(stack, 0, 0), CALL(gsa_stack_runs)(stack, 0, 0, 0);
    CALL(gsa_stack_batch_tell_content)(m.batch), CALL(gsa_stack_batch_edges)(m.batch);
    CALL(gsa_stack_batch_count)(m.batch);
    TRY(gsa_stack_batch_ahead, m.batch, m.g.tape);
    watched[0] = (gsa_watched){ 0 };
    TRY(gsa_stack_watch, m.batch, watched, 1);
    CALL(gsa_input_forward)(m.g.input, m.g.tape, ids, NULL, length, 2);
    TRY(gsa_tape_status, m.g.tape);
    FRESH(&m.g);
    CALL(gsa_stack_forward)(stack, m.g.tape, m.batch, &m.g.rows->value, NULL, &out);
    TRY(gsa_tape_status, m.g.tape);
out:
    close_stack(&m);
    return status;
}

/* A stack in turns with its memory, and rows of an input typed and appended. */
gsa_status calls_passes(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const int32_t one[] = { 1, 1 };
    gsa_status status;
    gsa_readout out = { 0 };
    made_stack m;
    (void)scratch;
    if ((status = open_stack(&m, s, "full+cross*2")) != GSA_OK) goto out;
    CALL(gsa_input_forward_typed)(m.g.input, m.g.tape, ids, NULL, NULL, length, 2);
    TRY(gsa_tape_status, m.g.tape);
    FRESH(&m.g);
    CALL(gsa_input_append)(m.g.input, m.g.tape, ids, NULL, length, one, 2);
    TRY(gsa_tape_status, m.g.tape);
    FRESH(&m.g);
    gsa_tape *t = m.g.tape;
    gsa_stack_pass *pass = CALL(gsa_stack_begin)(m.stack, t, m.batch, &m.g.rows->value, &out);
    TRY(gsa_tape_status, t);
    gsa_tensor *memory = gsa_op_view(t, &m.g.rows->value, 0, 3);
    CALL(gsa_stack_advance)(pass, memory, 1);
    CALL(gsa_stack_finish)(pass, memory);
    TRY(gsa_tape_status, t);
out:
    close_stack(&m);
    return status;
}

gsa_status calls_model(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const int taps[] = { 0 };
    static const char *const names[] = { "source", "target" };
    const gsa_settings settings = small();
    const gsa_model_sequence sequences[] = { { .count = 2, .length = length },
                                             { .count = 2, .length = length } };
    gsa_stack_spec encoder = { 0 }, decoder = { 0 };
    const gsa_model_stack stacks[] = {
        { "encoder", &encoder, &settings, GSA_READ_SEQUENCE, taps, 1 },
        { "decoder", &decoder, &settings, GSA_READ_SEQUENCE, NULL, 0 }
    };
    const gsa_model_pass passes[] = {
        { .name = "read", .stack = "encoder", .sequence = "source" },
        { .name = "write", .stack = "decoder", .sequence = "target", .memory = "read" }
    };
    const gsa_model_options options = { names, 2, stacks, 2, passes, 2, 0 };
    gsa_status status;
    gsa_model *model = NULL;
    gsa_model_batch *batch = NULL;
    gsa_readout out[2] = { { 0 } };
    ground g;
    (void)scratch;
    if ((status = open_ground(&g, s, &settings)) != GSA_OK) goto out;
    TRY(gsa_spec_parse, s, "star", &encoder);
    TRY(gsa_spec_parse, s, "full:causal=1+cross", &decoder);
    TRY(gsa_model_create, s, g.registry, &options, g.parameters, &model);
    TRY(gsa_model_batch_create, model, &batch);
    TRY(gsa_model_batch_build, batch, NULL, NULL, sequences);
    TRY(gsa_model_batch_ahead, batch, g.tape);
    CALL(gsa_model_passes)(model), CALL(gsa_model_sequences)(model);
    CALL(gsa_model_find_pass)(model, "read"), CALL(gsa_model_find_sequence)(model, "target");
    CALL(gsa_model_pass_name)(model, 0), CALL(gsa_model_stack_of)(model, 0);
    CALL(gsa_model_sites)(model), CALL(gsa_model_batch_of)(batch, 0);
    CALL(gsa_model_batch_edges)(batch);
    FRESH(&g);
    CALL(gsa_model_number)(model, g.tape, batch, 0);
    TRY(gsa_tape_status, g.tape);
    FRESH(&g);
    gsa_tensor *rows[] = { &g.rows->value, &g.rows->value };
    CALL(gsa_model_input)(model, g.tape, batch, 0, g.input, ids, NULL);
    TRY(gsa_tape_status, g.tape);
    FRESH(&g);
    CALL(gsa_model_input_typed)(model, g.tape, batch, 1, g.input, ids, NULL, NULL);
    TRY(gsa_tape_status, g.tape);
    FRESH(&g);
    CALL(gsa_model_forward)(model, g.tape, batch, rows, out);
    TRY(gsa_tape_status, g.tape);
    CALL(gsa_model_tap)(model, out, 0, 0);
    FRESH(&g);
    CALL(gsa_model_forward_pass)(model, g.tape, batch, 0, rows[0], out);
    TRY(gsa_tape_status, g.tape);
out:
    CALL(gsa_model_batch_release)(batch);
    CALL(gsa_model_release)(model);
    gsa_spec_release(&encoder), gsa_spec_release(&decoder);
    close_ground(&g);
    return status;
}

gsa_status calls_context(gsa_faults *faults, void *scratch)
{
    static const int32_t label[] = { 1, 0 };
    const gsa_context_options options = { .struct_size = sizeof options,
                                          .threads = 1,
                                          .device = "cpu",
                                          .seed = 7,
                                          .system = &faults->table };
    const gsa_input_options words = { .vocabulary = 4 };
    const gsa_schedule rate = { .kind = GSA_SCHEDULE_CONSTANT, .steps = 1, .lr = 0.01 };
    const gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
    const gsa_sequences data = { .count = 2, .length = length };
    const gsa_settings settings = small();
    gsa_status status;
    gsa_context *c = NULL;
    gsa_encoder *encoder;
    gsa_linear head;
    double loss;
    (void)scratch;
    TRY(gsa_context_open, &options, &c);
    CALL(gsa_context_registry)(c), CALL(gsa_context_backend)(c), CALL(gsa_context_parameters)(c);
    CALL(gsa_context_tape)(c), CALL(gsa_context_optimiser)(c);
    TRY(gsa_context_encoder, c, "star", &settings, &words, NULL, &encoder);
    TRY(gsa_context_linear, c, "head", HIDDEN, 2, &head);
    TRY(gsa_context_optimise, c, &adam, &rate);
    CALL(gsa_context_begin)(c, 1);
    gsa_tensor *out = CALL(gsa_linear_forward)(&head, &head.weight->value);
    CALL(gsa_context_cross_entropy)(c, out, label); /* before attention has made room */
    const gsa_readout read = CALL(gsa_encoder_forward)(encoder, &data, ids, NULL, NULL);
    out = gsa_context_cross_entropy(c, gsa_linear_forward(&head, read.summary), label);
    TRY(gsa_context_step, c, out, &loss);
out:
    CALL(gsa_context_release)(c);
    return status;
}
