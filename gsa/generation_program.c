/* generation_program.c - a stack's steps as turns over values: which values there are, which of
 * them anything reads, what is kept. */
#include <string.h>
#include "generation_parts.h"

/* ---- refusals ------------------------------------------------------------------------------ */
static int has_parameter(const gsa_topology *topology, const char *name)
{
    for (uint32_t p = 0; p < topology->n_params; p++)
        if (strcmp(gsa_topology_param(topology, p)->name, name) == 0) return 1;
    return 0;
}

static gsa_status refuse(const gsa_stack *stack, const gsa_stack_part *part, const char *why,
                         gsa_error *error)
{
    int first = 0;
    for (int s = 0; s < part->segment; s++) first += stack->segments[s].layers;
    const int last = first + stack->segments[part->segment].layers - 1;
    const char *hint = has_parameter(gsa_pattern_topology(part->pattern), "causal")
                           ? " (see its parameter 'causal')"
                           : "";
    return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                    "stack %s cannot generate: layers %d to %d run %s, which %s%s", stack->name,
                    first, last, gsa_pattern_text(part->pattern), why, hint);
}

static gsa_status check_part(const gsa_stack *stack, const gsa_stack_part *part, gsa_error *error)
{
    const uint32_t flags = gsa_schema_flags(part->schema);
    if (flags & GSA_NEEDS_TEXT)
        return refuse(stack, part, "reads the whole text before its first row", error);
    if (!(flags & GSA_CAUSAL))
        return refuse(stack, part, "does not promise that no token depends on a later one", error);
    if (!(flags & GSA_PREFIX_STABLE))
        return refuse(stack, part,
                      "does not promise that what a token reads stays the same as the text grows",
                      error);
    for (int k = 0; k < gsa_schema_kinds(part->schema); k++)
        if (gsa_schema_kind(part->schema, k)->start == GSA_MEAN_INPUT)
            return refuse(stack, part, "starts from the mean of all tokens", error);
    return GSA_OK;
}

static gsa_status check_stack(const gsa_stack *stack, gsa_error *error)
{
    const gsa_stack_kind *kind = &stack->kinds[stack->sequence];
    gsa_status status = GSA_OK;
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
        status = check_part(stack, &stack->parts[p], error);
    if (status != GSA_OK) return status;
    if (!(stack->reads & GSA_READ_SEQUENCE))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s cannot generate: its sequence is not read", stack->name);
    if (kind->start != GSA_INPUT && kind->start != GSA_COPY)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "stack %s cannot generate: its sequence, kind '%s', has no row a token",
                        stack->name, kind->name);
    return GSA_OK;
}

/* ---- values, in the order in which they are made ------------------------------------------- */
typedef struct tracer {
    gsa_generation *g;
    int *now, *old; /* [kinds]: the value that is there; -1: none */
} tracer;

static int new_value(gsa_generation *g, int kind)
{
    g->value[g->n_values] = (gsa_value_of){ .kind = kind, .keep = -1 };
    return g->n_values++;
}

static void no_values(gsa_turn *turn)
{
    for (int k = 0; k < GSA_MAX_KINDS; k++)
        turn->old[k] = turn->now[k] = turn->made[k] = turn->k[k] = turn->v[k] = -1;
}

static void enter(tracer *t, const gsa_step *step)
{
    const gsa_stack *stack = t->g->stack;
    gsa_turn *turn = &t->g->turn[t->g->n_turns++];
    turn->step = step;
    no_values(turn);
    turn->first = t->g->n_values;
    for (int k = 0; k < stack->n_kinds; k++)
        if (stack->kinds[k].segment == step->segment && stack->kinds[k].needed)
            t->now[k] = new_value(t->g, k);
    turn->count = t->g->n_values - turn->first;
}

static void phase(tracer *t, const gsa_step *step)
{
    const gsa_stack *stack = t->g->stack;
    const gsa_stack_part *part = &stack->parts[step->part];
    if (step->opens) memcpy(t->old, t->now, (size_t)stack->n_kinds * sizeof *t->old);
    if (!step->needed) return;
    gsa_turn *turn = &t->g->turn[t->g->n_turns++];
    turn->step = step;
    no_values(turn);
    for (int k = 0; k < gsa_schema_kinds(part->schema); k++) {
        turn->old[k] = t->old[part->kind[k]], turn->now[k] = t->now[part->kind[k]];
        if (gsa_step_phase(stack, step)->destinations >> k & 1)
            turn->made[k] = t->now[part->kind[k]] = new_value(t->g, part->kind[k]);
    }
}

static void trace(tracer *t)
{
    const gsa_stack *stack = t->g->stack;
    for (int i = 0; i < stack->n_steps; i++) {
        const gsa_step *step = &stack->steps[i];
        if (step->what == GSA_STEP_ENTER) {
            enter(t, step);
            memcpy(t->old, t->now, (size_t)stack->n_kinds * sizeof *t->old);
        } else if (step->what == GSA_STEP_PHASE) phase(t, step);
    }
    t->g->last = t->now[stack->sequence];
}

/* ---- what the sequence depends on, going backwards, value by value: in bpt not the last layer's
 * spans ---- */
static void mark(gsa_generation *g, int value)
{
    if (value >= 0) g->value[value].read = 1;
}

static void mark_turn(gsa_generation *g, const gsa_turn *turn)
{
    if (turn->step->what != GSA_STEP_PHASE) return;
    const gsa_phase *phase = gsa_step_phase(g->stack, turn->step);
    const int kinds = gsa_schema_kinds(g->stack->parts[turn->step->part].schema);
    int any = 0;
    for (int k = 0; k < kinds; k++) {
        if (turn->made[k] < 0 || !g->value[turn->made[k]].read) continue;
        any = 1;
        if (gsa_phase_reads_old(phase)) mark(g, turn->old[k]);
        if (phase->empty == GSA_KEEP_EMPTY && phase->aggregate != GSA_NONE) mark(g, turn->now[k]);
    }
    for (int k = 0; any && k < kinds; k++)
        if (phase->sources >> k & 1) mark(g, turn->old[k]);
}

/* ---- pools --------------------------------------------------------------------------------- */
int gsa_generation_pool(gsa_generation *g, gsa_kept wanted)
{
    for (int p = 0; p < g->n_pools; p++) {
        const gsa_kept *pool = &g->pool[p];
        if (pool->value == wanted.value && pool->gain == wanted.gain &&
            pool->weight == wanted.weight && pool->bias == wanted.bias)
            return p;
    }
    g->pool[g->n_pools] = wanted;
    return g->n_pools++;
}

static void find_pools(gsa_generation *g, gsa_turn *turn)
{
    const gsa_stack *stack = g->stack;
    if (turn->step->what != GSA_STEP_PHASE) return;
    const gsa_phase *phase = gsa_step_phase(stack, turn->step);
    const gsa_phase_weights *w = &stack->weights[turn->step->weights];
    const int kinds = gsa_schema_kinds(stack->parts[turn->step->part].schema);
    int any = 0;
    for (int k = 0; k < kinds; k++) any |= turn->made[k] >= 0 && g->value[turn->made[k]].read;
    for (int k = 0; any && k < kinds; k++) {
        if (!(phase->sources >> k & 1)) continue;
        gsa_kept pool = { .value = turn->old[k] };
        pool.x.cols = stack->settings.hidden;
        if (gsa_stack_norm_first(stack, phase) && phase->destinations >> k & 1)
            pool.gain = w->gain, pool.shift = w->shift;
        if (phase->aggregate == GSA_ATTEND) {
            pool.x.cols = gsa_stack_aggregate_columns(stack, phase);
            pool.weight = w->k;
            turn->k[k] = gsa_generation_pool(g, pool);
            pool.weight = w->v, pool.bias = w->v_bias;
        }
        turn->v[k] = gsa_generation_pool(g, pool);
    }
}

/* ---- the program --------------------------------------------------------------------------- */
/* A value, two pools of it for each phase that reads it, and one that keeps it. */
static gsa_status reserve(gsa_generation *g, gsa_error *error)
{
    const gsa_stack *stack = g->stack;
    int64_t values = stack->n_kinds, turns = 0, pools = 0;
    for (int i = 0; i < stack->n_steps; i++) {
        const gsa_step *step = &stack->steps[i];
        turns += step->what != GSA_STEP_LAYER_END;
        if (step->what != GSA_STEP_PHASE) continue;
        const int kinds = gsa_schema_kinds(stack->parts[step->part].schema);
        values += kinds, pools += 2 * kinds;
    }
    pools += values;
    g->value = gsa_alloc_zero(g->system, (size_t)values, sizeof *g->value);
    g->turn = gsa_alloc_zero(g->system, (size_t)turns, sizeof *g->turn);
    g->pool = gsa_alloc_zero(g->system, (size_t)pools, sizeof *g->pool);
    if (g->value && g->turn && g->pool) return GSA_OK;
    return gsa_out_of_memory(error, "what a stack generates with",
                             turns * (int64_t)sizeof *g->turn);
}

gsa_status gsa_generation_program(gsa_generation *g, gsa_error *error)
{
    const gsa_stack *stack = g->stack;
    gsa_status status = check_stack(stack, error);
    if (status == GSA_OK) status = reserve(g, error);
    if (status != GSA_OK) return status;
    int *kinds = gsa_alloc(g->system, 2 * (size_t)stack->n_kinds, sizeof *kinds);
    if (!kinds)
        return gsa_out_of_memory(error, "what a stack generates with",
                                 2 * (int64_t)sizeof *kinds * stack->n_kinds);
    for (int k = 0; k < 2 * stack->n_kinds; k++) kinds[k] = -1;
    tracer t = { g, kinds, kinds + stack->n_kinds };
    trace(&t);
    gsa_release(g->system, kinds);
    mark(g, g->last);
    for (int i = g->n_turns - 1; i >= 0; i--) mark_turn(g, &g->turn[i]);
    for (int i = 0; i < g->n_turns; i++) find_pools(g, &g->turn[i]);
    return GSA_OK;
}
