/* stack_program.c - from segments to a list of steps: which kinds are one, what runs in which
 * order, what nothing reads. */
#include "stack_parts.h"
#include <string.h>

/* ---- kinds --------------------------------------------------------------------------------- */
static int find_kind(const gsa_stack *stack, const char *name)
{
    for (int k = 0; k < stack->n_kinds; k++)
        if (strcmp(stack->kinds[k].name, name) == 0) return k;
    return -1;
}

static gsa_status join_kind(gsa_stack *stack, int p, int kind, gsa_error *error)
{
    gsa_stack_part *part = &stack->parts[p];
    const gsa_kind *k = gsa_schema_kind(part->schema, kind);
    int at = find_kind(stack, k->name);
    if (at < 0) {
        at = stack->n_kinds++;
        stack->kinds[at] = (gsa_stack_kind){ .name = k->name,
                                             .start = k->start,
                                             .learned = k->learned,
                                             .segment = part->segment,
                                             .part = p };
    }
    const gsa_stack_kind *known = &stack->kinds[at];
    if (known->start != k->start || known->learned != k->learned)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s: segment %d (%s) and segment %d (%s) both have a kind '%s', but "
                        "it starts differently",
                        stack->name, known->segment,
                        gsa_pattern_text(stack->parts[known->part].pattern), part->segment,
                        gsa_pattern_text(part->pattern), k->name);
    part->kind[kind] = at;
    stack->reads_memory |= k->start == GSA_MEMORY;
    return GSA_OK;
}

gsa_status gsa_stack_join_kinds(gsa_stack *stack, gsa_error *error)
{
    int total = 0;
    for (int p = 0; p < stack->n_parts; p++) total += gsa_schema_kinds(stack->parts[p].schema);
    stack->kinds = gsa_alloc_zero(stack->system, (size_t)total, sizeof *stack->kinds);
    if (!stack->kinds)
        return gsa_out_of_memory(error, "kinds of a stack", total * (int64_t)sizeof *stack->kinds);
    for (int p = 0; p < stack->n_parts; p++)
        for (int k = 0; k < gsa_schema_kinds(stack->parts[p].schema); k++) {
            const gsa_status status = join_kind(stack, p, k, error);
            if (status != GSA_OK) return status;
        }
    return GSA_OK;
}

/* ---- order --------------------------------------------------------------------------------- */
/* Does the phase start its together group? It does when it is not together with any, and when those
 * before it in its group do not run. */
static int opens_group(const gsa_stack *stack, const gsa_step *step)
{
    const gsa_schema *schema = stack->parts[step->part].schema;
    const int when = gsa_schema_phase(schema, step->phase)->when;
    int first = step->phase;
    for (int f = step->phase; f >= 0; f--) {
        if (gsa_schema_phase(schema, f)->when != when) continue;
        first = f;
        if (!gsa_schema_phase(schema, f)->together) break;
    }
    const gsa_step *last = stack->n_steps > 0 ? &stack->steps[stack->n_steps - 1] : NULL;
    return !last || last->what != GSA_STEP_PHASE || last->part != step->part ||
           last->layer != step->layer || last->phase < first || first == step->phase;
}

static gsa_status add_step(gsa_stack *stack, gsa_step step, gsa_error *error)
{
    if (stack->n_steps == stack->room_steps) {
        const int room = stack->room_steps ? 2 * stack->room_steps : 64;
        gsa_step *steps = gsa_resize(stack->system, stack->steps, (size_t)room, sizeof *steps);
        if (!steps)
            return gsa_out_of_memory(error, "steps of a stack", room * (int64_t)sizeof *steps);
        stack->steps = steps;
        stack->room_steps = room;
    }
    if (step.what == GSA_STEP_PHASE) {
        step.opens = opens_group(stack, &step);
        step.site = stack->next_site;
        stack->next_site += 3;
        if (stack->next_site >= 1u << 20)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "stack %s has more than %u phases over all layers", stack->name,
                            (1u << 20) / 3);
    }
    stack->steps[stack->n_steps++] = step;
    return GSA_OK;
}

static gsa_status add_phase(gsa_stack *stack, int segment, int layer, int part, int phase,
                            gsa_error *error)
{
    return add_step(stack,
                    (gsa_step){ .what = GSA_STEP_PHASE,
                                .segment = segment,
                                .layer = layer,
                                .part = part,
                                .phase = phase,
                                .weights = -1 },
                    error);
}

static int is_split(const gsa_schema *schema,
                    int last) /* is the first each-layer phase after `last` together with it? */
{
    for (int f = last + 1; f < gsa_schema_phases(schema); f++)
        if (gsa_schema_phase(schema, f)->when == GSA_EACH_LAYER)
            return gsa_schema_phase(schema, f)->together ? f : -1;
    return -1;
}

/* -1: no phase of a layer has edges. */
static int last_with_edges(const gsa_schema *schema)
{
    int last = -1;
    for (int f = 0; f < gsa_schema_phases(schema); f++) {
        const gsa_phase *phase = gsa_schema_phase(schema, f);
        if (phase->when == GSA_EACH_LAYER && phase->aggregate != GSA_NONE) last = f;
    }
    return last;
}

/* The part's phases of each layer from..to-1. */
static gsa_status add_phases(gsa_stack *stack, int segment, int layer, int part, int from, int to,
                             gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int f = from; f < to && status == GSA_OK; f++)
        if (gsa_schema_phase(stack->parts[part].schema, f)->when == GSA_EACH_LAYER)
            status = add_phase(stack, segment, layer, part, f, error);
    return status;
}

static gsa_status check_split(const gsa_stack *stack, int segment, int part, gsa_error *error)
{
    const gsa_schema *schema = stack->parts[part].schema;
    const int split = is_split(schema, last_with_edges(schema));
    return split < 0 ? GSA_OK
                     : gsa_fail(error, GSA_ERR_ARGUMENT,
                                "stack %s, segment %d: '+' would part phase %s of %s from the "
                                "phase it is together with",
                                stack->name, segment, gsa_schema_phase(schema, split)->name,
                                gsa_schema_topology(schema));
}

/* One layer of a + b: a's phases up to its last one with edges, then those of b, then a's remaining
 * phases. A spec may have thousands of parts: of each the first ones in their order, then of each
 * the others from the last part on. */
static gsa_status add_layer(gsa_stack *stack, int segment, int layer, gsa_error *error)
{
    const int first = stack->first_part[segment], end = stack->first_part[segment + 1];
    gsa_status status = GSA_OK;
    for (int p = first; p < end && status == GSA_OK; p++) {
        const int last = last_with_edges(stack->parts[p].schema);
        if (p + 1 < end) status = check_split(stack, segment, p, error);
        if (status == GSA_OK) status = add_phases(stack, segment, layer, p, 0, last + 1, error);
    }
    for (int p = end - 1; p >= first && status == GSA_OK; p--) {
        const gsa_schema *schema = stack->parts[p].schema;
        status = add_phases(stack, segment, layer, p, last_with_edges(schema) + 1,
                            gsa_schema_phases(schema), error);
    }
    return status;
}

static int writes_new_kind(const gsa_stack *stack, int part, const gsa_phase *phase)
{
    const gsa_stack_part *p = &stack->parts[part];
    for (int k = 0; k < gsa_schema_kinds(p->schema); k++)
        if (phase->destinations >> k & 1 && stack->kinds[p->kind[k]].segment == p->segment)
            return 1;
    return 0;
}

static gsa_status add_segment(gsa_stack *stack, int segment, int *layer, gsa_error *error)
{
    gsa_status status = add_step(
        stack, (gsa_step){ .what = GSA_STEP_ENTER, .segment = segment, .layer = -1 }, error);
    for (int p = stack->first_part[segment]; p < stack->first_part[segment + 1]; p++)
        for (int f = 0; f < gsa_schema_phases(stack->parts[p].schema) && status == GSA_OK; f++) {
            const gsa_phase *phase = gsa_schema_phase(stack->parts[p].schema, f);
            if (phase->when == GSA_ONCE && writes_new_kind(stack, p, phase))
                status = add_phase(stack, segment, -1, p, f, error);
        }
    for (int l = 0; l < stack->segments[segment].layers && status == GSA_OK; l++, ++*layer) {
        status = add_layer(stack, segment, *layer, error);
        if (status == GSA_OK)
            status = add_step(
                stack,
                (gsa_step){ .what = GSA_STEP_LAYER_END, .segment = segment, .layer = *layer },
                error);
    }
    return status;
}

gsa_status gsa_stack_order(gsa_stack *stack, gsa_error *error)
{
    int layer = 0;
    gsa_status status = GSA_OK;
    for (int s = 0; s < stack->n_segments && status == GSA_OK; s++)
        status = add_segment(stack, s, &layer, error);
    stack->n_layers = layer;
    return status;
}

/* ---- what a readout depends on, going backwards -------------------------------------------- */
enum { CURRENT = 1, OLD = 2 }; /* needed as it is now; read at the start of the together group */

static int any_needed(const gsa_stack *stack, const gsa_step *step, const uint8_t *need)
{
    const gsa_stack_part *part = &stack->parts[step->part];
    const gsa_phase *phase = gsa_step_phase(stack, step);
    for (int k = 0; k < gsa_schema_kinds(part->schema); k++)
        if (phase->destinations >> k & 1 && need[part->kind[k]] & CURRENT) return 1;
    return 0;
}

static void visit_phase(const gsa_stack *stack, gsa_step *step, uint8_t *need)
{
    const gsa_stack_part *part = &stack->parts[step->part];
    const gsa_phase *phase = gsa_step_phase(stack, step);
    step->needed = any_needed(stack, step, need);
    for (int k = 0; step->needed && k < gsa_schema_kinds(part->schema); k++) {
        uint8_t *n = &need[part->kind[k]];
        if (phase->destinations >> k & 1) {
            if (phase->empty == GSA_KEEP_EMPTY && phase->aggregate != GSA_NONE)
                *n |= CURRENT; /* rows that keep it */
            else *n &= (uint8_t)~CURRENT;
            if (gsa_phase_reads_old(phase)) *n |= OLD;
        }
        if (phase->sources >> k & 1) *n |= OLD;
    }
    if (step->opens) /* the group starts here: what it read is what was before */
        for (int k = 0; k < stack->n_kinds; k++)
            if (need[k]) need[k] = CURRENT;
}

static void need_readout(const gsa_stack *stack, uint8_t *need)
{
    const gsa_stack_part *part = &stack->parts[stack->first_part[stack->n_segments - 1]];
    if (stack->reads & GSA_READ_SEQUENCE) need[stack->sequence] = CURRENT;
    for (int i = 0; stack->reads & GSA_READ_SUMMARY && i < gsa_stack_pools(stack); i++) {
        int kind, pool;
        double weight;
        gsa_stack_pool(stack, i, &kind, &pool, &weight);
        for (int k = 0; k < gsa_schema_kinds(part->schema); k++)
            if (pool == GSA_SUMMARY_NODE || k == kind) need[part->kind[k]] = CURRENT;
    }
}

static int is_tapped(const gsa_stack *stack, int layer)
{
    for (int t = 0; t < stack->n_taps; t++)
        if (stack->taps[t] == layer) return 1;
    return 0;
}

/* Kinds that this segment declares first are needed from their start; older ones go on being needed
 * as they are. */
static void enter_backwards(gsa_stack *stack, int segment, uint8_t *need)
{
    for (int k = 0; k < stack->n_kinds; k++) {
        if (!need[k]) continue;
        const int starts_here = stack->kinds[k].segment == segment;
        if (starts_here) stack->kinds[k].needed = 1;
        need[k] = starts_here ? 0 : CURRENT;
    }
}

void gsa_stack_find_needed(gsa_stack *stack)
{
    uint8_t need[GSA_MAX_KINDS * 64] = { 0 }; /* stacks of more kinds are refused when made */
    need_readout(stack, need);
    for (int i = stack->n_steps - 1; i >= 0; i--) {
        gsa_step *step = &stack->steps[i];
        if (step->what == GSA_STEP_PHASE) visit_phase(stack, step, need);
        else if (step->what == GSA_STEP_LAYER_END && is_tapped(stack, step->layer))
            need[stack->sequence] |= CURRENT;
        else if (step->what == GSA_STEP_ENTER) enter_backwards(stack, step->segment, need);
    }
}
