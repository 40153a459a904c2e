#include "train/learner.h"
#include <string.h>
#include "kernels/profile.h"
#include "train/memory.h"

static const int64_t CACHE_BYTES = INT64_C(1) << 28;
static const uint32_t HEAD_SITE =
    (1u << 20) - 1; /* of dropout: the last one, stacks count from 0 */

static const gsa_settings *settings_of(const gsa_learner *m, const gsa_settings *own)
{
    return own->hidden > 0 ? own : &m->settings;
}

/* ---- making one ---------------------------------------------------------------------------- */

static gsa_status add_linear(gsa_learner *m, int which, const char *weight, const char *bias,
                             int64_t out, int64_t in, gsa_error *error)
{
    const gsa_status status =
        gsa_parameters_add(m->parameters, weight, out, in, m->settings.init, m->settings.init_scale,
                           0, &m->weight[which], error);
    if (status != GSA_OK) return status;
    return gsa_parameters_add(m->parameters, bias, 1, out, GSA_INIT_ZERO, 0, GSA_NO_DECAY,
                              &m->bias[which], error);
}

static gsa_status tie_head(gsa_learner *m, const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_task_plan *p = &m->plan;
    if (p->tied == 0)
        return gsa_recipe_fail(recipe, "model", "tied", error,
                               "= 1: the classes of task %s are not words of its input",
                               m->task->name);
    gsa_parameter *embedding = gsa_input_embedding(m->input[p->tied - 1]);
    if (embedding->value.rows != (int64_t)p->outputs + p->first_class)
        return gsa_recipe_fail(recipe, "model", "tied", error,
                               "= 1: %d classes from id %d on, the embedding has %lld rows",
                               p->outputs, p->first_class, (long long)embedding->value.rows);
    m->weight[1] = embedding, m->tied = 1;
    return gsa_parameters_add(m->parameters, "head.out.bias", 1, p->outputs, GSA_INIT_ZERO, 0,
                              GSA_NO_DECAY, &m->bias[1], error);
}

static gsa_status create_head(gsa_learner *m, const gsa_recipe *recipe, gsa_error *error)
{
    const int64_t hidden = recipe->values.model_head_hidden;
    const int64_t in =
        m->settings.hidden * (int64_t)(m->plan.head_inputs > 0 ? m->plan.head_inputs : 1);
    gsa_status status = GSA_OK;
    if (hidden > 0)
        status = add_linear(m, 0, "head.hidden.weight", "head.hidden.bias", hidden, in, error);
    if (status != GSA_OK) return status;
    if (recipe->values.model_tied) return tie_head(m, recipe, error);
    return add_linear(m, 1, "head.out.weight", "head.out.bias", m->plan.outputs,
                      hidden > 0 ? hidden : in, error);
}

static gsa_status create_inputs(gsa_learner *m, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < m->plan.n_inputs && status == GSA_OK; i++) {
        gsa_input_options *options = &m->plan.input[i];
        if (!options->name) options->name = "input";
        options->site = (uint32_t)i;
        status = gsa_input_create(m->system, settings_of(m, &m->plan.input_settings[i]), options,
                                  m->parameters, &m->input[i], error);
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
    for (int r = 0; r < m->plan.n_passes; r++) {
        const gsa_stack *stack = gsa_model_stack_of(m->net, r);
        if (!gsa_stack_needs_text(stack)) continue;
        m->reads_text = 1;
        if (gsa_learner_columns(m, gsa_model_find_sequence(m->net, m->plan.pass[r].sequence)) > 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "encoder %s reads text, and this task has numbers only",
                            gsa_stack_text(stack));
    }
    return GSA_OK;
}

/* The layers below the last of the head's pass, where they have losses. */
static gsa_status list_taps(gsa_learner *m, const gsa_stack_spec *specs, int *stack,
                            gsa_error *error)
{
    int layers = 0;
    *stack = -1;
    for (int s = 0; s < m->plan.n_stacks && m->plan.aux > 0; s++)
        if (strcmp(m->plan.stack[s].name, m->plan.pass[m->plan.head_pass].stack) == 0) *stack = s;
    for (int i = 0; *stack >= 0 && i < specs[*stack].n_segments; i++)
        layers += specs[*stack].segments[i].layers;
    if (layers < 2) return GSA_OK;
    m->tap = gsa_alloc(m->system, (size_t)layers, sizeof *m->tap);
    m->tapped = gsa_alloc_zero(m->system, (size_t)layers, sizeof(gsa_tensor *));
    if (!m->tap || !m->tapped)
        return gsa_out_of_memory(error, "losses of layers", layers * INT64_C(12));
    for (int i = 0; i < layers - 1; i++) m->tap[i] = i;
    m->n_taps = layers - 1;
    return GSA_OK;
}

static gsa_status create_net(gsa_learner *m, const gsa_stack_spec *specs,
                             const gsa_registry *registry, gsa_error *error)
{
    const gsa_task_plan *p = &m->plan;
    gsa_model_stack stacks[GSA_TASK_STACKS];
    int tapped;
    gsa_status status = list_taps(m, specs, &tapped, error);
    if (status != GSA_OK) return status;
    for (int s = 0; s < p->n_stacks; s++)
        stacks[s] = (gsa_model_stack){ .name = p->stack[s].name,
                                       .spec = &specs[s],
                                       .settings = settings_of(m, &p->stack[s].settings),
                                       .reads = p->stack[s].reads,
                                       .taps = s == tapped ? m->tap : NULL,
                                       .n_taps = s == tapped ? m->n_taps : 0 };
    const gsa_model_options options = { .sequences = p->sequence,
                                        .n_sequences = p->n_sequences,
                                        .stacks = stacks,
                                        .n_stacks = p->n_stacks,
                                        .passes = p->pass,
                                        .n_passes = p->n_passes };
    status = gsa_model_create(m->system, registry, &options, m->parameters, &m->net, error);
    for (int s = 0; s < p->n_stacks && status == GSA_OK; s++)
        if (p->stack[s].causal)
            status = gsa_spec_causal(&specs[s], registry, gsa_learner_text(m, p->stack[s].name),
                                     m->task->name, error);
    if (status == GSA_OK) status = check_texts(m, error);
    return status == GSA_OK ? gsa_model_batch_create(m->net, &m->graph, error) : status;
}

/* Counts that arrays hold, and places that are there. */
static gsa_status check_plan(const gsa_learner *m, gsa_error *error)
{
    const gsa_task_plan *p = &m->plan;
    const struct {
        const char *name;
        int32_t value, low, high;
    } number[] = { { "n_sequences", p->n_sequences, 1, GSA_BATCH_SEQUENCES },
                   { "n_inputs", p->n_inputs, 1, GSA_BATCH_SEQUENCES },
                   { "n_stacks", p->n_stacks, 1, GSA_TASK_STACKS },
                   { "n_passes", p->n_passes, 1, GSA_TASK_PASSES },
                   { "head_pass", p->head_pass, 0, p->n_passes - 1 },
                   { "outputs", p->outputs, 1, INT32_MAX },
                   { "terms", p->terms, 0, p->outputs },
                   { "head_inputs", p->head_inputs, 0, 1024 },
                   { "tied", p->tied, 0, p->n_inputs } };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i].value < number[i].low || number[i].value > number[i].high)
            return gsa_fail(error, GSA_ERR_PLUGIN,
                            "task '%s': its plan says %s = %d, expected %d to %d", m->task->name,
                            number[i].name, number[i].value, number[i].low, number[i].high);
    for (int s = 0; s < p->n_sequences; s++)
        if (!p->sequence[s] || p->input_of[s] < 0 || p->input_of[s] >= p->n_inputs)
            return gsa_fail(error, GSA_ERR_PLUGIN,
                            "task '%s': sequence %d of its plan has no name, or no input",
                            m->task->name, s);
    for (int r = 0; r < p->n_passes; r++)
        if (!p->pass[r].stack || !p->pass[r].sequence)
            return gsa_fail(error, GSA_ERR_PLUGIN,
                            "task '%s': pass %d of its plan has no stack, or no sequence",
                            m->task->name, r);
    return GSA_OK;
}

/* The task's plan for the recipe's encoder. */
static gsa_status ask(gsa_learner *m, const gsa_recipe *recipe, const gsa_registry *registry,
                      const gsa_stack_spec *encoder, gsa_error *error)
{
    gsa_task_plan_options options = { .recipe = recipe };
    gsa_status status = gsa_recipe_memory_layer(encoder, registry, &options.memory_layer, error);
    if (status == GSA_OK) status = m->task->plan(m->self, &options, &m->plan, error);
    if (status == GSA_OK) status = check_plan(m, error);
    if (status != GSA_OK) m->plan = (gsa_task_plan){ 0 }; /* release counts on its numbers */
    return status;
}

/* Each other layer has weights, which a file pays for; these cost it nothing, and as much time and
 * memory a token as any. */
static gsa_status check_shared(const gsa_learner *m, const gsa_stack_spec *specs, gsa_error *error)
{
    enum { MOST = 4096 };
    int64_t shared = 0;
    for (int s = 0; s < m->plan.n_stacks; s++)
        for (int i = 0; i < specs[s].n_segments; i++) {
            const gsa_segment_spec *one = &specs[s].segments[i];
            if (one->share) shared += (int64_t)(one->layers - 1) * one->n_parts;
        }
    return shared <= MOST ? GSA_OK
                          : gsa_fail(error, GSA_ERR_LIMIT,
                                     "the model repeats layers that share their weights %lld "
                                     "times, expected at most %d",
                                     (long long)shared, MOST);
}

static gsa_status create_parts(gsa_learner *m, const gsa_recipe *recipe,
                               const gsa_registry *registry, gsa_error *error)
{
    gsa_stack_spec encoder, specs[GSA_TASK_STACKS] = { 0 };
    gsa_status status = gsa_recipe_spec(recipe, registry, &encoder, error);
    if (status == GSA_OK) status = ask(m, recipe, registry, &encoder, error);
    for (int s = 0; s < m->plan.n_stacks && status == GSA_OK; s++)
        if (m->plan.stack[s].spec)
            status = gsa_spec_parse(m->system, m->plan.stack[s].spec, &specs[s], error);
        else specs[s] = encoder;
    if (status == GSA_OK) status = check_shared(m, specs, error);
    if (status == GSA_OK) status = create_inputs(m, error);
    if (status == GSA_OK) status = create_net(m, specs, registry, error);
    if (status == GSA_OK) status = create_head(m, recipe, error);
    for (int s = 0; s < m->plan.n_stacks; s++)
        if (m->plan.stack[s].spec) gsa_spec_release(&specs[s]);
    gsa_spec_release(&encoder);
    return status;
}

gsa_status gsa_learner_create(const gsa_system *system, const gsa_recipe *recipe,
                              const gsa_registry *registry, const gsa_task *task, void *self,
                              gsa_backend *backend, uint32_t without, const char *weights,
                              gsa_learner *model, gsa_error *error)
{
    gsa_expected expected = { 0 };
    *model = (gsa_learner){ .system = system,
                            .backend = backend,
                            .task = task,
                            .self = self,
                            .settings = gsa_recipe_settings(recipe) };
    gsa_status status = gsa_parameters_create(system, backend, (uint32_t)recipe->values.train_seed,
                                              &model->parameters, error);
    if (status == GSA_OK) gsa_parameters_without(model->parameters, without);
    gsa_budget budget = gsa_budget_new(system, recipe, backend);
    if (status == GSA_OK && weights)
        status = gsa_parameters_expect(system, model->parameters, weights, &expected, error);
    else if (status == GSA_OK && backend->shares_host_memory)
        gsa_parameters_ask(model->parameters, gsa_budget_allow, &budget);
    if (status == GSA_OK) status = create_parts(model, recipe, registry, error);
    if (model->parameters) gsa_parameters_ask(model->parameters, NULL, NULL);
    if (expected.header.system) gsa_safetensors_release(&expected.header);
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
    gsa_release(model->system, model->tap);
    gsa_release(model->system, model->tapped);
    *model = (gsa_learner){ 0 };
}

const gsa_stack *gsa_learner_encoder(const gsa_learner *model)
{
    return gsa_model_stack_of(model->net, model->plan.head_pass);
}

const char *gsa_learner_text(const gsa_learner *model, const char *stack)
{
    for (int r = 0; r < model->plan.n_passes; r++)
        if (strcmp(model->plan.pass[r].stack, stack) == 0)
            return gsa_stack_text(gsa_model_stack_of(model->net, r));
    return NULL;
}

/* ---- a forward pass ------------------------------------------------------------------------ */

/* What names the rows of the head for dropout: the examples, or the tokens of its pass. */
static gsa_row_identity identity_of(gsa_learner *m, const gsa_minibatch *batch,
                                    const gsa_readout *readout)
{
    if (!readout->summary) return readout->tokens;
    const int32_t *row =
        gsa_tape_upload(m->tape, batch->row, batch->count * 2 * (int64_t)sizeof *row);
    return (gsa_row_identity){ row, row ? row + batch->count : NULL };
}

/* out of features; each layer's has a dropout site of its own: `below` counts from the last layer,
 * 0. */
static gsa_tensor *head_of(gsa_learner *m, const gsa_minibatch *batch, const gsa_readout *own,
                           gsa_tensor *x, int below)
{
    gsa_tape *tape = m->tape;
    if (m->weight[0])
        x = gsa_op_linear_activated(tape, x, &m->weight[0]->value, &m->bias[0]->value,
                                    m->settings.activation);
    if (m->settings.dropout_head > 0 && gsa_tape_training(tape)) {
        gsa_model_number(m->net, tape, m->graph, m->plan.head_pass);
        x = gsa_op_dropout(tape, x, m->settings.dropout_head, HEAD_SITE - (uint32_t)below,
                           identity_of(m, batch, own));
    }
    if (batch && batch->picks) {
        const int32_t *pick =
            gsa_tape_upload(tape, batch->pick, batch->targets * (int64_t)sizeof *pick);
        x = gsa_op_gather(tape, NULL, x, pick, batch->targets, 1, 0);
    }
    gsa_tensor *weight = &m->weight[1]->value;
    if (m->tied) weight = gsa_op_view(tape, weight, m->plan.first_class, m->plan.outputs);
    return gsa_op_linear(tape, x, weight, &m->bias[1]->value);
}

gsa_tensor *gsa_learner_head(gsa_learner *m, gsa_tensor *features)
{
    return head_of(m, NULL, NULL, features, 0);
}

/* Does layer `tap` still have a loss? Bits do not hang on it: a share of steps is compared, not
 * summed. */
static int counts(const gsa_learner *m, int tap)
{
    return (tap + 1) / (double)(m->n_taps + 1) > m->done;
}

static gsa_tensor *head(gsa_learner *m, const gsa_minibatch *batch, const gsa_readout *readouts)
{
    const int pass = m->plan.head_pass;
    const gsa_readout *own = &readouts[pass];
    gsa_tensor *x = own->summary ? own->summary : own->sequence;
    if (m->task->features) x = m->task->features(m->self, m->tape, readouts);
    for (int i = 0; i < m->n_taps; i++)
        m->tapped[i] =
            gsa_tape_training(m->tape) && counts(m, i)
                ? head_of(m, batch, own, gsa_model_tap(m->net, readouts, pass, i), m->n_taps - i)
                : NULL;
    return head_of(m, batch, own, x, 0);
}

gsa_tensor *gsa_learner_loss(gsa_learner *m, gsa_tensor *out, const gsa_minibatch *batch,
                             double scale)
{
    gsa_tensor *loss = m->task->loss(m->self, m->tape, out, batch, scale);
    int of = 0;
    if (!loss && gsa_tape_status(m->tape, NULL) == GSA_OK)
        return gsa_tape_fail(m->tape, GSA_ERR_PLUGIN, "task '%s' gave no loss", m->task->name);
    for (int i = 0; i < m->n_taps; i++) of += m->tapped[i] != NULL;
    for (int i = 0; i < m->n_taps; i++)
        if (m->tapped[i])
            loss = gsa_op_add(
                m->tape, loss,
                m->task->loss(m->self, m->tape, m->tapped[i], batch, scale * m->plan.aux / of));
    return loss;
}

/* Rows of a sequence; what is next to its embedding may be made of what passes gave. */
static gsa_tensor *rows_of(gsa_learner *m, const gsa_minibatch *batch, int sequence,
                           const gsa_readout *readouts)
{
    const gsa_minibatch_sequence *s = &batch->sequence[sequence];
    const int32_t columns = gsa_learner_columns(m, sequence), input = m->plan.input_of[sequence];
    gsa_tensor *features =
        columns ? gsa_tape_constant(m->tape, s->feature, GSA_F32, s->tokens, columns) : NULL;
    if (m->plan.input[input].beside > 0)
        features = m->task->beside(m->self, m->tape, sequence, batch, readouts);
    return gsa_model_input_typed(m->net, m->tape, m->graph, sequence, m->input[input],
                                 columns ? NULL : s->id, s->type, features);
}

/* One after the other: what a pass starts from may be made of what those before it gave. */
static void pass_each(gsa_learner *m, const gsa_minibatch *batch, gsa_readout *readouts)
{
    gsa_tensor *rows[GSA_BATCH_SEQUENCES] = { NULL };
    for (int r = 0; r < m->plan.n_passes; r++) {
        const int s = gsa_model_find_sequence(m->net, m->plan.pass[r].sequence);
        if (!m->plan.pass[r].input && !rows[s]) rows[s] = rows_of(m, batch, s, readouts);
        gsa_model_forward_pass(m->net, m->tape, m->graph, r, m->plan.pass[r].input ? NULL : rows[s],
                               readouts);
    }
}

static void pass_all(gsa_learner *m, const gsa_minibatch *batch, gsa_readout *readouts)
{
    gsa_tensor *rows[GSA_BATCH_SEQUENCES];
    for (int s = 0; s < m->plan.n_sequences; s++) rows[s] = rows_of(m, batch, s, NULL);
    gsa_model_forward(m->net, m->tape, m->graph, rows, readouts);
}

gsa_status gsa_learner_join(const gsa_learner *m, const gsa_minibatch *batch,
                            gsa_model_batch *graph, gsa_error *error)
{
    gsa_model_sequence sequences[GSA_BATCH_SEQUENCES];
    for (int s = 0; s < m->plan.n_sequences; s++) {
        const gsa_minibatch_sequence *from = &batch->sequence[s];
        sequences[s] = (gsa_model_sequence){ .count = from->count,
                                             .length = from->length,
                                             .text = m->reads_text ? from->text : NULL,
                                             .group = from->grouped ? from->group : NULL,
                                             .number = from->number,
                                             .column = from->column,
                                             .columns = from->sides,
                                             .draw = batch->draw };
        if (batch->named && from->count == batch->count) sequences[s].example = batch->example;
    }
    return gsa_model_batch_build(graph, m->cache, NULL, sequences, error);
}

/* What a sequence's input reads; room tells whether the array is there at all. */
static gsa_status sequence_ahead(const gsa_learner *m, const gsa_minibatch *batch, int sequence,
                                 gsa_error *error)
{
    const gsa_minibatch_sequence *s = &batch->sequence[sequence];
    const int64_t columns = gsa_learner_columns(m, sequence), word = (int64_t)sizeof(int32_t);
    if (columns)
        return gsa_tape_ahead(m->tape, s->feature,
                              s->tokens * columns * (int64_t)sizeof *s->feature, error);
    const gsa_status status = gsa_tape_ahead(m->tape, s->id, s->tokens * word, error);
    if (status != GSA_OK || s->room[5] < s->tokens) return status;
    return gsa_tape_ahead(m->tape, s->type, s->tokens * word, error);
}

gsa_status gsa_learner_ahead(const gsa_learner *m, const gsa_minibatch *batch,
                             const gsa_model_batch *graph, gsa_error *error)
{
    const int64_t terms = m->plan.terms, word = (int64_t)sizeof(int32_t);
    gsa_status status = gsa_model_batch_ahead(graph, m->tape, error);
    for (int s = 0; s < m->plan.n_sequences && status == GSA_OK; s++)
        status = sequence_ahead(m, batch, s, error);
    if (status == GSA_OK && terms == 0 && batch->room[2] >= batch->targets)
        status = gsa_tape_ahead(m->tape, batch->label, batch->targets * word, error);
    if (status == GSA_OK && terms > 0 && batch->room[3] >= batch->targets * terms)
        status = gsa_tape_ahead(m->tape, batch->target,
                                batch->targets * terms * (int64_t)sizeof *batch->target, error);
    if (status == GSA_OK && batch->picks)
        status = gsa_tape_ahead(m->tape, batch->pick, batch->targets * word, error);
    return status;
}

/* Once a forward pass; 0 after a failure, which the tape takes. */
static int build_graph(gsa_learner *m, const gsa_minibatch *batch)
{
    gsa_error error;
    const int joined = m->joined;
    m->joined = 0;
    if (joined) return 1;
    const gsa_profile_mark began = gsa_profile_begin(m->profile);
    const gsa_status status = gsa_learner_join(m, batch, m->graph, &error);
    gsa_profile_end(m->profile, GSA_PROFILE_GRAPH, began);
    if (status != GSA_OK) gsa_tape_fail(m->tape, status, "%s", error.text);
    return status == GSA_OK;
}

gsa_tensor *gsa_learner_pass(gsa_learner *m, const gsa_minibatch *batch, int pass)
{
    gsa_readout readouts[GSA_TASK_PASSES] = { 0 };
    if (!build_graph(m, batch)) return NULL;
    gsa_tensor *rows =
        rows_of(m, batch, gsa_model_find_sequence(m->net, m->plan.pass[pass].sequence), NULL);
    gsa_model_forward_pass(m->net, m->tape, m->graph, pass, rows, readouts);
    return readouts[pass].sequence;
}

gsa_tensor *gsa_learner_forward(gsa_learner *m, const gsa_minibatch *batch)
{
    gsa_readout readouts[GSA_TASK_PASSES] = { 0 };
    if (!build_graph(m, batch)) return NULL;
    (m->task->beside ? pass_each : pass_all)(m, batch, readouts);
    return head(m, batch, readouts);
}
