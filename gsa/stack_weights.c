/* stack_weights.c - the parameters of a stack: names and shapes as docs/executor.md lists them. */
#include "stack_parts.h"
#include <stdio.h>
#include <string.h>

typedef struct adder { /* sticky */
    const gsa_stack *stack;
    gsa_parameters *parameters;
    const char *prefix;
    gsa_status status;
    gsa_error *error;
} adder;

static gsa_parameter *add(adder *a, const char *leaf, int64_t rows, int64_t cols, int init,
                          double scale, int flags)
{
    gsa_parameter *p = NULL;
    char name[512];
    if (a->status != GSA_OK) return NULL;
    snprintf(name, sizeof name, "%s.%s", a->prefix, leaf);
    a->status =
        gsa_parameters_add(a->parameters, name, rows, cols, init, scale, flags, &p, a->error);
    return p;
}

static gsa_parameter *matrix(adder *a, const char *leaf, int64_t rows, int64_t cols)
{
    return add(a, leaf, rows, cols, a->stack->settings.init, a->stack->settings.init_scale, 0);
}

static gsa_parameter *row(adder *a, const char *leaf, int64_t cols, int init)
{
    return add(a, leaf, 1, cols, init, 0, GSA_NO_DECAY);
}

int64_t gsa_stack_aggregate_columns(const gsa_stack *stack, const gsa_phase *phase)
{
    return phase->aggregate == GSA_ATTEND
               ? (int64_t)stack->settings.heads * stack->settings.head_dim
               : stack->settings.hidden;
}

static void attend_weights(adder *a, const gsa_phase *phase, gsa_phase_weights *w)
{
    const gsa_settings *s = &a->stack->settings;
    const int64_t width = (int64_t)s->heads * s->head_dim;
    w->q = matrix(a, "q.weight", width, s->hidden);
    w->k = matrix(a, "k.weight", width, s->hidden);
    w->v = matrix(a, "v.weight", width, s->hidden);
    if (s->bias & GSA_BIAS_Q) w->q_bias = row(a, "q.bias", width, GSA_INIT_ZERO);
    if (s->bias & GSA_BIAS_V) w->v_bias = row(a, "v.bias", width, GSA_INIT_ZERO);
    if (phase->label_use == GSA_KEY_VECTORS)
        w->label_vectors = matrix(a, "labels.vectors", phase->labels, s->head_dim);
    if (phase->label_use == GSA_HEAD_BIAS)
        w->label_bias = add(a, "labels.bias", phase->labels, phase->per_head ? 1 : s->heads,
                            GSA_INIT_ZERO, 0, GSA_NO_DECAY);
}

static void phase_weights(adder *a, const gsa_phase *phase, gsa_phase_weights *w)
{
    const gsa_settings *s = &a->stack->settings;
    if (phase->aggregate == GSA_ATTEND) attend_weights(a, phase, w);
    if (phase->update == GSA_FFN) {
        w->up = matrix(a, "up.weight", s->ffn, s->hidden);
        w->up_bias = row(a, "up.bias", s->ffn, GSA_INIT_ZERO);
        w->down = matrix(a, "down.weight", s->hidden, s->ffn);
        w->down_bias = row(a, "down.bias", s->hidden, GSA_INIT_ZERO);
    } else if (phase->update != GSA_ASSIGN) {
        w->o = matrix(a, "o.weight", s->hidden, gsa_stack_aggregate_columns(a->stack, phase));
        if (s->bias & GSA_BIAS_O) w->o_bias = row(a, "o.bias", s->hidden, GSA_INIT_ZERO);
    }
    if (phase->update != GSA_LINEAR && phase->update != GSA_ASSIGN) {
        w->gain = row(a, "norm.gain", s->hidden, GSA_INIT_ONE);
        w->shift = row(a, "norm.bias", s->hidden, GSA_INIT_ZERO);
    }
}

/* The step that owns the same weights already: same part, same name, and the same layer or a shared
 * one. Such a step is behind `first`, where its segment begins, or its layer if that shares with
 * none: else each step would look at all before it. */
static int shared_weights(const gsa_stack *stack, int first, int at)
{
    const gsa_step *step = &stack->steps[at];
    const gsa_phase *phase = gsa_step_phase(stack, step);
    for (int i = first; i < at; i++) {
        const gsa_step *other = &stack->steps[i];
        if (other->what != GSA_STEP_PHASE || other->part != step->part) continue;
        if ((other->layer < 0) != (step->layer < 0)) continue;
        if (other->layer != step->layer && !stack->segments[step->segment].share) continue;
        const gsa_phase *theirs = gsa_step_phase(stack, other);
        if (other->phase == step->phase ||
            (phase->weights && theirs->weights && strcmp(phase->weights, theirs->weights) == 0))
            return other->weights;
    }
    return -1;
}

static gsa_status new_weights(gsa_stack *stack, gsa_step *step, int segment_layer,
                              gsa_parameters *parameters, gsa_error *error)
{
    if (stack->n_weights == stack->room_weights) {
        const int room = stack->room_weights ? 2 * stack->room_weights : 32;
        gsa_phase_weights *weights =
            gsa_resize(stack->system, stack->weights, (size_t)room, sizeof *weights);
        if (!weights)
            return gsa_out_of_memory(error, "weights of a stack", room * (int64_t)sizeof *weights);
        stack->weights = weights;
        stack->room_weights = room;
    }
    const gsa_phase *phase = gsa_step_phase(stack, step);
    char layer[24] = "once", prefix[400];
    if (step->layer >= 0) snprintf(layer, sizeof layer, "%d", segment_layer);
    snprintf(prefix, sizeof prefix, "%s.%d.%s.%s%s", stack->name, step->segment, layer,
             stack->parts[step->part].prefix, phase->weights ? phase->weights : phase->name);
    adder a = { stack, parameters, prefix, GSA_OK, error };
    step->weights = stack->n_weights++;
    stack->weights[step->weights] = (gsa_phase_weights){ 0 };
    phase_weights(&a, phase, &stack->weights[step->weights]);
    return a.status;
}

static gsa_status kind_rows(gsa_stack *stack, gsa_parameters *parameters, gsa_error *error)
{
    for (int k = 0; k < stack->n_kinds; k++) {
        gsa_stack_kind *kind = &stack->kinds[k];
        if (kind->learned == 0) continue;
        char prefix[200];
        snprintf(prefix, sizeof prefix, "%s.%s", stack->name, kind->name);
        adder a = { stack, parameters, prefix, GSA_OK, error };
        kind->rows = add(&a, "rows.weight", kind->learned, stack->settings.hidden, GSA_INIT_NORMAL,
                         0.02, GSA_NO_DECAY);
        if (a.status != GSA_OK) return a.status;
    }
    return GSA_OK;
}

gsa_status gsa_stack_add_weights(gsa_stack *stack, gsa_parameters *parameters, gsa_error *error)
{
    gsa_status status = kind_rows(stack, parameters, error);
    int first_layer = 0, first = 0;
    for (int i = 0; i < stack->n_steps && status == GSA_OK; i++) {
        gsa_step *step = &stack->steps[i];
        if (step->what == GSA_STEP_ENTER) first_layer = i > 0 ? stack->steps[i - 1].layer + 1 : 0;
        if (step->what == GSA_STEP_ENTER ||
            (step->what == GSA_STEP_LAYER_END && !stack->segments[step->segment].share))
            first = i;
        if (step->what != GSA_STEP_PHASE) continue;
        step->weights = shared_weights(stack, first, i);
        if (step->weights < 0)
            status = new_weights(stack, step, step->layer - first_layer, parameters, error);
    }
    if (status == GSA_OK && stack->settings.norm == GSA_NORM_PRE) {
        adder a = { stack, parameters, stack->name, GSA_OK, error };
        stack->gain = row(&a, "norm.gain", stack->settings.hidden, GSA_INIT_ONE);
        stack->shift = row(&a, "norm.bias", stack->settings.hidden, GSA_INIT_ZERO);
        status = a.status;
    }
    return status;
}

static void flag_weights(gsa_phase_weights *w)
{
    gsa_parameter *const all[] = {
        w->q,         w->k,       w->v,    w->o,         w->q_bias, w->v_bias, w->o_bias,
        w->up,        w->up_bias, w->down, w->down_bias, w->gain,   w->shift,  w->label_vectors,
        w->label_bias
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) all[i]->flags |= GSA_UNREACHED;
}

void gsa_stack_flag_unreached(gsa_stack *stack)
{
    for (int i = 0; i < stack->n_steps; i++)
        if (stack->steps[i].what == GSA_STEP_PHASE && stack->steps[i].needed)
            stack->weights[stack->steps[i].weights].needed = 1;
    for (int w = 0; w < stack->n_weights; w++)
        if (!stack->weights[w].needed) flag_weights(&stack->weights[w]);
    for (int k = 0; k < stack->n_kinds; k++)
        if (stack->kinds[k].rows && !stack->kinds[k].needed)
            stack->kinds[k].rows->flags |= GSA_UNREACHED;
}
