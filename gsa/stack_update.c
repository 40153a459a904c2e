/* stack_update.c - from aggregates to new states, row by row: docs/executor.md, "one phase", 3, and
 * the last norm. */
#include <math.h>
#include "stack_parts.h"

static gsa_tensor *value(gsa_parameter *p)
{
    return p ? &p->value : NULL;
}

double gsa_stack_scale(const gsa_stack *stack)
{
    const gsa_settings *s = &stack->settings;
    return 1 / sqrt((double)(s->scale == GSA_SCALE_FULL ? s->hidden : s->head_dim));
}

static gsa_tensor *feed_forward(const gsa_settings *s, gsa_tape *tape, const gsa_phase_weights *w,
                                uint32_t site, gsa_row_identity rows, gsa_tensor *a)
{
    gsa_tensor *f =
        gsa_op_linear_activated(tape, a, value(w->up), value(w->up_bias), s->activation);
    f = gsa_op_dropout(tape, f, s->dropout_ffn, site + 2, rows);
    return gsa_op_linear(tape, f, value(w->down), value(w->down_bias));
}

gsa_tensor *gsa_stack_update(const gsa_stack *stack, gsa_tape *tape, const gsa_step *step,
                             gsa_row_identity rows, gsa_tensor *x, gsa_tensor *a)
{
    const gsa_settings *s = &stack->settings;
    const gsa_phase_weights *w = &stack->weights[step->weights];
    const int kind = gsa_step_phase(stack, step)->update,
              residual = kind == GSA_SUBLAYER || kind == GSA_FFN;
    if (kind == GSA_ASSIGN) return a;
    gsa_tensor *u;
    if (kind == GSA_FFN) u = feed_forward(s, tape, w, step->site, rows, a);
    else if (kind == GSA_RELU_NORM)
        u = gsa_op_linear_activated(tape, a, value(w->o), value(w->o_bias), GSA_RELU);
    else u = gsa_op_linear(tape, a, value(w->o), value(w->o_bias));
    if (kind == GSA_LINEAR) return u;
    u = gsa_op_dropout(tape, u, s->dropout_hidden, step->site + 1, rows);
    if (residual) u = gsa_op_add(tape, x, u);
    if (residual && s->norm == GSA_NORM_PRE) return u;
    return gsa_op_norm(tape, u, value(w->gain), value(w->shift), s->norm_eps);
}

gsa_tensor *gsa_stack_last_norm(const gsa_stack *stack, gsa_tape *tape, gsa_tensor *x)
{
    if (stack->settings.norm != GSA_NORM_PRE) return x;
    return gsa_op_norm(tape, x, value(stack->gain), value(stack->shift), stack->settings.norm_eps);
}
