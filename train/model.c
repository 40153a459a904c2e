#include "train/model.h"

static const int64_t CACHE_BYTES = INT64_C(1) << 28;
static const uint32_t HEAD_SITE = (1u << 20) - 1; /* of dropout: the last one, stacks count from 0 */

static const gsa_settings *settings_of(const gsa_learner *m, const gsa_settings *own)
{
    return own->hidden > 0 ? own : &m->settings;
}

/* ---- making one ------------------------------------------------------------------------------------------------------------- */

static gsa_status add_linear(gsa_learner *m, int which, const char *weight, const char *bias, int64_t out, int64_t in,
                             gsa_error *error)
{
    const gsa_status status = gsa_parameters_add(m->parameters, weight, out, in, m->settings.init, m->settings.init_scale, 0,
                                                 &m->weight[which], error);
    if (status != GSA_OK) return status;
    return gsa_parameters_add(m->parameters, bias, 1, out, GSA_INIT_ZERO, 0, GSA_NO_DECAY, &m->bias[which], error);
}

static gsa_status create_head(gsa_learner *m, const gsa_recipe *recipe, gsa_error *error)
{
    const int64_t hidden = recipe->values.model_head_hidden;
    const int64_t in = m->settings.hidden * (int64_t)(m->plan.head_inputs > 0 ? m->plan.head_inputs : 1);
    gsa_status status = GSA_OK;
    if (hidden > 0) status = add_linear(m, 0, "head.hidden.weight", "head.hidden.bias", hidden, in, error);
    if (status != GSA_OK) return status;
    return add_linear(m, 1, "head.out.weight", "head.out.bias", m->plan.outputs, hidden > 0 ? hidden : in, error);
}

static gsa_status create_inputs(gsa_learner *m, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < m->plan.n_inputs && status == GSA_OK; i++) {
        gsa_input_options *options = &m->plan.input[i];
        if (!options->name) options->name = "input";
        options->site = (uint32_t)i;
        status = gsa_input_create(m->system, settings_of(m, &m->plan.input_settings[i]), options, m->parameters,
                                  &m->input[i], error);
    }
    return status == GSA_OK && m->task->prepare ? m->task->prepare(m->self, m, error) : status;
}

int32_t gsa_learner_columns(const gsa_learner *m, int sequence)
{
    const gsa_input_options *input = &m->plan.input[m->plan.input_of[sequence]];
    return input->vocabulary > 0 ? 0 : input->width;
}

/* Patterns may read the texts of sequences that are words. */
static gsa_status check_texts(gsa_learner *m, gsa_error *error)
{
    for (int r = 0; r < m->plan.n_runs; r++) {
        const gsa_stack *stack = gsa_model_stack_of(m->net, r);
        if (!gsa_stack_needs_text(stack)) continue;
        m->reads_text = 1;
        if (gsa_learner_columns(m, gsa_model_find_sequence(m->net, m->plan.run[r].sequence)) > 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "encoder %s reads text, and this task has numbers only",
                            gsa_stack_text(stack));
    }
    return GSA_OK;
}

static gsa_status create_net(gsa_learner *m, const gsa_stack_spec *specs, const gsa_registry *registry, gsa_error *error)
{
    const gsa_plan *p = &m->plan;
    gsa_model_stack stacks[GSA_PLAN_STACKS];
    for (int s = 0; s < p->n_stacks; s++)
        stacks[s] = (gsa_model_stack){ .name = p->stack[s].name,
                                       .spec = &specs[s],
                                       .settings = settings_of(m, &p->stack[s].settings),
                                       .reads = p->stack[s].reads };
    const gsa_model_options options = { .sequences = p->sequence,
                                        .n_sequences = p->n_sequences,
                                        .stacks = stacks,
                                        .n_stacks = p->n_stacks,
                                        .runs = p->run,
                                        .n_runs = p->n_runs };
    gsa_status status = gsa_model_create(m->system, registry, &options, m->parameters, &m->net, error);
    if (status == GSA_OK) status = check_texts(m, error);
    return status == GSA_OK ? gsa_model_batch_create(m->net, &m->graph, error) : status;
}

/* The task's plan for the recipe's encoder. */
static gsa_status ask(gsa_learner *m, const gsa_recipe *recipe, const gsa_registry *registry, const gsa_stack_spec *encoder,
                      gsa_error *error)
{
    const char *text = *recipe->values.model_encoder ? recipe->values.model_encoder : "of sections [encoder.N]";
    gsa_plan_options options = { .recipe = recipe, .encoder = text };
    gsa_status status = gsa_recipe_memory_layer(encoder, registry, &options.memory_layer, error);
    if (status == GSA_OK) status = m->task->plan(m->self, &options, &m->plan, error);
    if (status == GSA_OK && options.memory_layer >= 0 && !m->plan.run[m->plan.head_run].memory)
        status =
            gsa_fail(error, GSA_ERR_ARGUMENT, "encoder %s reads another stack's sequence, and this task has none", text);
    return status;
}

static gsa_status create_parts(gsa_learner *m, const gsa_recipe *recipe, const gsa_registry *registry, gsa_error *error)
{
    gsa_stack_spec encoder, specs[GSA_PLAN_STACKS] = { 0 };
    gsa_status status = gsa_recipe_spec(recipe, registry, &encoder, error);
    if (status == GSA_OK) status = ask(m, recipe, registry, &encoder, error);
    for (int s = 0; s < m->plan.n_stacks && status == GSA_OK; s++)
        if (m->plan.stack[s].spec) status = gsa_spec_parse(m->system, m->plan.stack[s].spec, &specs[s], error);
        else specs[s] = encoder;
    if (status == GSA_OK) status = create_inputs(m, error);
    if (status == GSA_OK) status = create_net(m, specs, registry, error);
    if (status == GSA_OK) status = create_head(m, recipe, error);
    for (int s = 0; s < m->plan.n_stacks; s++)
        if (m->plan.stack[s].spec) gsa_spec_release(&specs[s]);
    gsa_spec_release(&encoder);
    return status;
}

gsa_status gsa_learner_create(const gsa_system *system, const gsa_recipe *recipe, const gsa_registry *registry,
                              const gsa_task *task, void *self, gsa_backend *backend, gsa_learner *model, gsa_error *error)
{
    *model = (gsa_learner){
        .system = system, .backend = backend, .task = task, .self = self, .settings = gsa_recipe_settings(recipe)
    };
    gsa_status status =
        gsa_parameters_create(system, backend, (uint32_t)recipe->values.train_seed, &model->parameters, error);
    if (status == GSA_OK) status = create_parts(model, recipe, registry, error);
    if (status == GSA_OK) status = gsa_tape_create(system, backend, &model->tape, error);
    if (status == GSA_OK) status = gsa_cache_create(system, CACHE_BYTES, &model->cache, error);
    if (status != GSA_OK) gsa_learner_release(model);
    return status;
}

void gsa_learner_release(gsa_learner *model)
{
    if (model->graph) gsa_model_batch_release(model->graph);
    if (model->cache) gsa_cache_release(model->cache);
    if (model->tape) gsa_tape_release(model->tape);
    if (model->net) gsa_model_release(model->net);
    for (int i = 0; i < model->plan.n_inputs; i++)
        if (model->input[i]) gsa_input_release(model->input[i]);
    if (model->parameters) gsa_parameters_release(model->parameters);
    *model = (gsa_learner){ 0 };
}

const gsa_stack *gsa_learner_encoder(const gsa_learner *model)
{
    return gsa_model_stack_of(model->net, model->plan.head_run);
}

/* ---- a forward pass --------------------------------------------------------------------------------------------------------- */

/* What names the rows of the head for dropout: the examples, or the tokens of its run. */
static gsa_row_identity identity_of(gsa_learner *m, const gsa_minibatch *batch, const gsa_readout *readout)
{
    if (!readout->summary) return readout->tokens;
    const int64_t bytes = batch->count * (int64_t)sizeof(int32_t);
    const int32_t *row = gsa_tape_upload(m->tape, batch->row, bytes);
    return (gsa_row_identity){ row, gsa_tape_upload(m->tape, batch->nought, bytes) };
}

static gsa_tensor *head(gsa_learner *m, const gsa_minibatch *batch, const gsa_readout *readouts)
{
    gsa_tape *tape = m->tape;
    const gsa_readout *own = &readouts[m->plan.head_run];
    gsa_tensor *x = own->summary ? own->summary : own->sequence;
    if (m->task->features) x = m->task->features(m->self, tape, readouts);
    if (m->weight[0]) {
        x = gsa_op_linear(tape, x, &m->weight[0]->value, &m->bias[0]->value);
        x = gsa_op_activate(tape, x, m->settings.activation);
    }
    if (m->settings.dropout_head > 0 && gsa_tape_training(tape)) {
        gsa_model_number(m->net, tape, m->graph, m->plan.head_run);
        x = gsa_op_dropout(tape, x, m->settings.dropout_head, HEAD_SITE, identity_of(m, batch, own));
    }
    return gsa_op_linear(tape, x, &m->weight[1]->value, &m->bias[1]->value);
}

/* Rows of a sequence; what stands beside its embedding may be made of what runs gave. */
static gsa_tensor *rows_of(gsa_learner *m, const gsa_minibatch *batch, int sequence, const gsa_readout *readouts)
{
    const gsa_minibatch_sequence *s = &batch->sequence[sequence];
    const int32_t columns = gsa_learner_columns(m, sequence), input = m->plan.input_of[sequence];
    gsa_tensor *features = columns ? gsa_tape_constant(m->tape, s->feature, GSA_F32, s->tokens, columns) : NULL;
    if (m->plan.input[input].beside > 0) features = m->task->beside(m->self, m->tape, sequence, batch, readouts);
    return gsa_model_input_typed(m->net, m->tape, m->graph, sequence, m->input[input], columns ? NULL : s->id, s->type,
                                 features);
}

/* One after the other: what a run starts from may be made of what those before it gave. */
static void run_each(gsa_learner *m, const gsa_minibatch *batch, gsa_readout *readouts)
{
    gsa_tensor *rows[GSA_BATCH_SEQUENCES] = { NULL };
    for (int r = 0; r < m->plan.n_runs; r++) {
        const int s = gsa_model_find_sequence(m->net, m->plan.run[r].sequence);
        if (!m->plan.run[r].input && !rows[s]) rows[s] = rows_of(m, batch, s, readouts);
        gsa_model_forward_run(m->net, m->tape, m->graph, r, m->plan.run[r].input ? NULL : rows[s], readouts);
    }
}

static void run_all(gsa_learner *m, const gsa_minibatch *batch, gsa_readout *readouts)
{
    gsa_tensor *rows[GSA_BATCH_SEQUENCES];
    for (int s = 0; s < m->plan.n_sequences; s++) rows[s] = rows_of(m, batch, s, NULL);
    gsa_model_forward(m->net, m->tape, m->graph, rows, readouts);
}

gsa_tensor *gsa_learner_forward(gsa_learner *m, const gsa_minibatch *batch)
{
    gsa_error error;
    gsa_model_sequence sequences[GSA_BATCH_SEQUENCES];
    gsa_readout readouts[GSA_PLAN_RUNS] = { 0 };
    for (int s = 0; s < m->plan.n_sequences; s++) {
        const gsa_minibatch_sequence *from = &batch->sequence[s];
        sequences[s] = (gsa_model_sequence){
            .count = from->count, .length = from->length, .text = m->reads_text ? from->text : NULL, .number = from->number
        };
    }
    const gsa_status status = gsa_model_batch_build(m->graph, m->cache, NULL, sequences, &error);
    if (status != GSA_OK) return gsa_tape_fail(m->tape, status, "%s", error.text);
    (m->task->beside ? run_each : run_all)(m, batch, readouts);
    return head(m, batch, readouts);
}
