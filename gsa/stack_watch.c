/* stack_watch.c - which phases a layer runs, and whose attention weights somebody needs to see. */
#include "stack_parts.h"

static int segment_of(const gsa_stack *stack, int layer)
{
    int segment = 0;
    for (; layer >= stack->segments[segment].layers; segment++)
        layer -= stack->segments[segment].layers;
    return segment;
}

int gsa_stack_patterns(const gsa_stack *stack, int layer)
{
    const int segment = segment_of(stack, layer);
    return stack->first_part[segment + 1] - stack->first_part[segment];
}

const gsa_pattern *gsa_stack_pattern(const gsa_stack *stack, int layer, int pattern)
{
    return stack->parts[stack->first_part[segment_of(stack, layer)] + pattern].pattern;
}

int gsa_stack_runs(const gsa_stack *stack, int layer, int pattern, int phase)
{
    const int part = stack->first_part[segment_of(stack, layer)] + pattern;
    for (int i = 0; i < stack->n_steps; i++) {
        const gsa_step *s = &stack->steps[i];
        if (s->what == GSA_STEP_PHASE && s->layer == layer && s->part == part && s->phase == phase)
            return s->needed;
    }
    return 0;
}

static gsa_status check_watched(const gsa_stack *stack, const gsa_watched *w, gsa_error *error)
{
    if (w->layer < 0 || w->layer >= stack->n_layers)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s: layer %d cannot be watched, its layers are 0 to %d", stack->name,
                        w->layer, stack->n_layers - 1);
    const int patterns = gsa_stack_patterns(stack, w->layer);
    if (w->pattern < 0 || w->pattern >= patterns)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s: layer %d has patterns 0 to %d, but %d is to be watched",
                        stack->name, w->layer, patterns - 1, w->pattern);
    const gsa_schema *schema = gsa_pattern_schema(gsa_stack_pattern(stack, w->layer, w->pattern));
    if (w->phase < 0 || w->phase >= gsa_schema_phases(schema))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s: %s has phases 0 to %d, but %d is to be watched", stack->name,
                        gsa_schema_topology(schema), gsa_schema_phases(schema) - 1, w->phase);
    const gsa_phase *phase = gsa_schema_phase(schema, w->phase);
    if (phase->when == GSA_EACH_LAYER && phase->aggregate == GSA_ATTEND) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "stack %s: phase %s of %s cannot be watched: it does not attend in a layer",
                    stack->name, phase->name, gsa_schema_topology(schema));
}

gsa_status gsa_stack_watch(gsa_stack_batch *batch, gsa_watched *watched, int count,
                           gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < count && status == GSA_OK; i++) {
        status = check_watched(batch->stack, &watched[i], error);
        watched[i].weights = NULL;
    }
    if (status != GSA_OK) return status;
    batch->watched = watched;
    batch->n_watched = count;
    return GSA_OK;
}

gsa_watched *gsa_stack_find_watched(const gsa_stack_batch *batch, const gsa_step *step)
{
    const gsa_stack *stack = batch->stack;
    for (int i = 0; i < batch->n_watched; i++) {
        gsa_watched *w = &batch->watched[i];
        if (w->layer == step->layer &&
            stack->first_part[step->segment] + w->pattern == step->part && w->phase == step->phase)
            return w;
    }
    return NULL;
}
