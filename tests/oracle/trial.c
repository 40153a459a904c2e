#include "trial.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/stack_parts.h"
#include "support/compare.h"

static gsa_status make_stack(trial *t, const trial_plan *plan)
{
    gsa_stack_options options = { .name = "trial", .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY };
    gsa_stack_spec spec = { 0 };
    gsa_status status = gsa_spec_parse(NULL, plan->spec, &spec, &t->error);
    if (status == GSA_OK)
        status = gsa_stack_create(NULL, t->registry, &spec, &plan->settings, &options,
                                  t->parameters, &t->stack, &t->error);
    gsa_spec_release(&spec);
    if (status == GSA_OK) t->stack->queries = plan->queries;
    return status;
}

static gsa_status make_batch(trial *t, const trial_plan *plan)
{
    const gsa_sequences sequences = { .count = plan->examples, .length = plan->length };
    gsa_status status = gsa_stack_batch_create(t->stack, &t->batch, &t->error);
    for (int32_t e = 0; e < plan->examples; e++) t->tokens += plan->length[e];
    if (status == GSA_OK)
        status = gsa_stack_batch_build(t->batch, NULL, NULL, &sequences, &t->error);
    if (status == GSA_OK)
        status = gsa_parameters_add(t->parameters, "trial.input", t->tokens, plan->settings.hidden,
                                    GSA_INIT_ZERO, 0, 0, &t->input, &t->error);
    return status;
}

static gsa_status fill(trial *t, int p, int rows)
{
    gsa_parameter *parameter = gsa_parameters_at(t->parameters, p);
    const int64_t cols = parameter->value.cols, count = parameter->value.rows * cols;
    gsa_dice dice = { 31 + (uint64_t)p };
    double *values = calloc((size_t)count + 1, sizeof *values);
    if (!values) return gsa_fail(&t->error, GSA_ERR_MEMORY, "no memory for values");
    const double mean = strstr(parameter->name, "norm.gain") ? 1 : 0,
                 scale = parameter->value.rows > 1 ? 1 / sqrt((double)cols) : 0.4;
    for (int64_t i = 0; i < count; i++) {
        values[i] = mean + scale * gsa_normal(&dice);
        if (parameter == t->input && rows == TRIAL_EQUAL && i >= cols) values[i] = values[i - cols];
        if (parameter == t->input && rows == TRIAL_ZERO) values[i] = 0;
    }
    const gsa_status status = gsa_tensor_write(t->backend, &parameter->value, values, &t->error);
    free(values);
    return status;
}

int trial_open(trial *t, const trial_plan *plan)
{
    *t = (trial){ 0 };
    gsa_status status = gsa_backend_ref(NULL, plan->real, plan->threads, &t->backend, &t->error);
    if (status == GSA_OK) status = gsa_registry_create(NULL, &t->registry, &t->error);
    if (status == GSA_OK)
        status = gsa_parameters_create(NULL, t->backend, 3, &t->parameters, &t->error);
    if (status == GSA_OK) status = gsa_tape_create(NULL, t->backend, &t->tape, &t->error);
    if (status == GSA_OK) status = make_stack(t, plan);
    if (status == GSA_OK) status = make_batch(t, plan);
    for (int p = 0; status == GSA_OK && p < gsa_parameters_count(t->parameters); p++)
        status = fill(t, p, plan->rows);
    if (status != GSA_OK) return 1;
    t->targets = (t->tokens > plan->examples ? t->tokens : plan->examples) * plan->settings.hidden;
    t->target = calloc((size_t)t->targets + 1, sizeof *t->target);
    gsa_dice dice = { 17 };
    for (int64_t i = 0; t->target && i < t->targets; i++) t->target[i] = gsa_normal(&dice);
    return !t->target;
}

void trial_close(trial *t)
{
    free(t->target);
    if (t->batch) gsa_stack_batch_release(t->batch);
    if (t->stack) gsa_stack_release(t->stack);
    if (t->tape) gsa_tape_release(t->tape);
    if (t->parameters) gsa_parameters_release(t->parameters);
    if (t->registry) gsa_registry_release(t->registry);
    gsa_backend_release(t->backend);
}

static gsa_tensor *error_of(trial *t, gsa_tensor *x)
{
    gsa_tensor *target =
        x ? gsa_tape_constant(t->tape, t->target, GSA_F64, x->rows, x->cols) : NULL;
    return gsa_op_square_error(t->tape, x, target, 0.5);
}

int trial_step(trial *t, int backward, double *loss, gsa_readout *readout)
{
    static const double weight[] = { 1, 0.7 };
    gsa_readout own;
    gsa_readout *r = readout ? readout : &own;
    gsa_tape_reset(t->tape, 1, 5, 7);
    gsa_stack_forward(t->stack, t->tape, t->batch, &t->input->value, NULL, r);
    gsa_tensor *const term[] = { error_of(t, r->sequence), error_of(t, r->summary) };
    gsa_tensor *sum = gsa_op_combine(t->tape, term, weight, 2);
    if (gsa_tape_status(t->tape, &t->error) != GSA_OK) return 1;
    if (gsa_tensor_read(t->backend, sum, 0, loss, &t->error) != GSA_OK) return 1;
    if (!backward) return 0;
    if (gsa_parameters_zero_gradients(t->parameters, &t->error) != GSA_OK) return 1;
    return gsa_tape_backward(t->tape, sum, &t->error) != GSA_OK;
}
