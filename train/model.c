#include "train/model.h"

static const int64_t CACHE_BYTES = INT64_C(1) << 28;
static const uint32_t HEAD_SITE = (1u << 20) - 1; /* of dropout: the last one, stacks count from 0 */

static gsa_status add_linear(gsa_learner *m, int which, const char *weight, const char *bias, int64_t out, int64_t in,
                             gsa_error *error)
{
    const gsa_status status = gsa_parameters_add(m->parameters, weight, out, in, m->settings.init, m->settings.init_scale, 0,
                                                 &m->weight[which], error);
    if (status != GSA_OK) return status;
    return gsa_parameters_add(m->parameters, bias, 1, out, GSA_INIT_ZERO, 0, GSA_NO_DECAY, &m->bias[which], error);
}

static gsa_status create_head(gsa_learner *m, const gsa_recipe *recipe, int32_t outputs, gsa_error *error)
{
    const int64_t hidden = recipe->values.model_head_hidden;
    gsa_status status = GSA_OK;
    if (hidden > 0) status = add_linear(m, 0, "head.hidden.weight", "head.hidden.bias", hidden, m->settings.hidden, error);
    if (status != GSA_OK) return status;
    return add_linear(m, 1, "head.out.weight", "head.out.bias", outputs, hidden > 0 ? hidden : m->settings.hidden, error);
}

static gsa_status create_input(gsa_learner *m, const gsa_task *task, void *self, gsa_error *error)
{
    gsa_input_options options = { .name = "input" };
    task->input(self, &options);
    m->features = options.vocabulary > 0 ? 0 : options.width;
    const gsa_status status = gsa_input_create(m->system, &m->settings, &options, m->parameters, &m->input, error);
    return status == GSA_OK && task->prepare ? task->prepare(self, m->input, m->backend, error) : status;
}

static gsa_status create_stack(gsa_learner *m, const gsa_recipe *recipe, const gsa_registry *registry, gsa_error *error)
{
    const gsa_stack_options options = { .name = "encoder", .reads = GSA_READ_SUMMARY };
    gsa_stack_spec spec;
    gsa_status status = gsa_recipe_spec(recipe, registry, &spec, error);
    if (status == GSA_OK)
        status = gsa_stack_create(m->system, registry, &spec, &m->settings, &options, m->parameters, &m->stack, error);
    gsa_spec_release(&spec);
    if (status != GSA_OK) return status;
    m->reads_text = gsa_stack_needs_text(m->stack);
    if (gsa_stack_reads_memory(m->stack))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "encoder %s reads another stack's sequence, and this task has none",
                        gsa_stack_text(m->stack));
    if (m->reads_text && m->features > 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "encoder %s reads text, and this task has numbers only",
                        gsa_stack_text(m->stack));
    return gsa_stack_batch_create(m->stack, &m->graph, error);
}

gsa_status gsa_learner_create(const gsa_system *system, const gsa_recipe *recipe, const gsa_registry *registry,
                              const gsa_task *task, void *self, gsa_backend *backend, gsa_learner *model, gsa_error *error)
{
    *model = (gsa_learner){ .system = system, .backend = backend, .settings = gsa_recipe_settings(recipe) };
    gsa_status status =
        gsa_parameters_create(system, backend, (uint32_t)recipe->values.train_seed, &model->parameters, error);
    if (status == GSA_OK) status = create_input(model, task, self, error);
    if (status == GSA_OK) status = create_stack(model, recipe, registry, error);
    if (status == GSA_OK) status = create_head(model, recipe, task->outputs(self), error);
    if (status == GSA_OK) status = gsa_tape_create(system, backend, &model->tape, error);
    if (status == GSA_OK) status = gsa_cache_create(system, CACHE_BYTES, &model->cache, error);
    if (status != GSA_OK) gsa_learner_release(model);
    return status;
}

void gsa_learner_release(gsa_learner *model)
{
    if (model->graph) gsa_stack_batch_release(model->graph);
    if (model->cache) gsa_cache_release(model->cache);
    if (model->tape) gsa_tape_release(model->tape);
    if (model->stack) gsa_stack_release(model->stack);
    if (model->input) gsa_input_release(model->input);
    if (model->parameters) gsa_parameters_release(model->parameters);
    *model = (gsa_learner){ 0 };
}

static gsa_tensor *head(gsa_learner *m, gsa_tensor *x, const gsa_minibatch *batch)
{
    gsa_tape *tape = m->tape;
    if (m->weight[0]) {
        x = gsa_op_linear(tape, x, &m->weight[0]->value, &m->bias[0]->value);
        x = gsa_op_activate(tape, x, m->settings.activation);
    }
    if (m->settings.dropout_head > 0 && gsa_tape_training(tape)) {
        const int64_t bytes = batch->count * (int64_t)sizeof(int32_t);
        const gsa_row_identity rows = { gsa_tape_upload(tape, batch->row, bytes),
                                        gsa_tape_upload(tape, batch->nought, bytes) };
        x = gsa_op_dropout(tape, x, m->settings.dropout_head, HEAD_SITE, rows);
    }
    return gsa_op_linear(tape, x, &m->weight[1]->value, &m->bias[1]->value);
}

gsa_tensor *gsa_learner_forward(gsa_learner *m, const gsa_minibatch *batch)
{
    gsa_error error;
    const gsa_sequences sequences = { .count = batch->count,
                                      .length = batch->length,
                                      .text = m->reads_text ? batch->text : NULL };
    const gsa_status status = gsa_stack_batch_build(m->graph, m->cache, NULL, &sequences, &error);
    if (status != GSA_OK) return gsa_tape_fail(m->tape, status, "%s", error.text);
    gsa_tensor *features = NULL;
    if (m->features > 0) features = gsa_tape_constant(m->tape, batch->feature, GSA_F32, batch->tokens, m->features);
    gsa_tensor *rows =
        gsa_input_forward(m->input, m->tape, m->features > 0 ? NULL : batch->id, features, batch->length, batch->count);
    gsa_readout readout = { 0 };
    gsa_stack_forward(m->stack, m->tape, m->graph, rows, NULL, &readout);
    return head(m, readout.summary, batch);
}
