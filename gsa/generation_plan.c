/* generation_plan.c - patterns of the greatest length, and which token makes which row of which
 * value. */
#include <string.h>
#include "generation_parts.h"
#include "graph/ready.h"

typedef struct planner {
    gsa_generation *g;
    gsa_generation_plan *plan;
    gsa_error *error;
} planner;

static void release_layout(const gsa_system *system, gsa_layout *layout)
{
    if (!layout) return;
    gsa_release(system, layout->ready);
    gsa_release(system, layout->node);
    gsa_release(system, layout->rank);
    gsa_release(system, layout->start);
    gsa_release(system, layout);
}

static void release_plan(const gsa_generation *g, gsa_generation_plan *plan)
{
    for (int p = 0; plan->instance && p < g->stack->n_parts; p++)
        gsa_instance_release(plan->instance[p]);
    for (int l = 0; l < plan->n_layouts; l++) release_layout(g->system, plan->layouts[l]);
    gsa_release(g->system, plan->memory_group);
    gsa_release(g->system, plan->group);
    gsa_release(g->system, plan->instance);
    gsa_release(g->system, plan->layouts);
    gsa_release(g->system, plan->of);
    gsa_release(g->system, plan);
}

void gsa_generation_plans_release(gsa_generation *g)
{
    for (int p = 0; p < g->n_plans; p++) release_plan(g, g->plan[p]);
    gsa_release(g->system, g->plan);
    g->plan = NULL, g->n_plans = 0;
}

/* ---- patterns ------------------------------------------------------------------------------ */
static gsa_status make_instances(const planner *x)
{
    const gsa_stack *stack = x->g->stack;
    gsa_status status = GSA_OK;
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = x->g->longest,
                                  .memory_length = x->plan->memory_length,
                                  .heads = stack->settings.heads,
                                  .group = x->plan->group,
                                  .memory_group = x->plan->memory_group };
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
        status = gsa_pattern_instance(stack->parts[p].pattern, x->g->cache, &example, &x->g->limits,
                                      0, &x->plan->instance[p], x->error);
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
        for (int k = 0; k < gsa_schema_kinds(stack->parts[p].schema) && status == GSA_OK; k++) {
            const gsa_stack_kind *kind = &stack->kinds[stack->parts[p].kind[k]];
            const int there = gsa_schema_find_kind(stack->parts[kind->part].schema, kind->name);
            if (gsa_instance_nodes(x->plan->instance[p], k) !=
                gsa_instance_nodes(x->plan->instance[kind->part], there))
                status = gsa_fail(
                    x->error, GSA_ERR_ARGUMENT,
                    "stack %s: %s and %s, of %d tokens, disagree about the nodes of kind '%s'",
                    stack->name, gsa_pattern_text(stack->parts[p].pattern),
                    gsa_pattern_text(stack->parts[kind->part].pattern), x->g->longest, kind->name);
        }
    return status;
}

/* ---- layouts ------------------------------------------------------------------------------- */
static gsa_layout *new_layout(const planner *x, int64_t nodes)
{
    const gsa_system *system = x->g->system;
    gsa_layout *layout = gsa_alloc_zero(system, 1, sizeof *layout);
    if (!layout) return NULL;
    layout->nodes = nodes;
    layout->ready = gsa_alloc(system, (size_t)nodes + 1, sizeof *layout->ready);
    layout->node = gsa_alloc(system, (size_t)nodes + 1, sizeof *layout->node);
    layout->rank = gsa_alloc(system, (size_t)nodes + 1, sizeof *layout->rank);
    layout->start = gsa_alloc_zero(system, (size_t)x->g->longest + 2, sizeof *layout->start);
    if (layout->ready && layout->node && layout->rank && layout->start) return layout;
    release_layout(system, layout);
    return NULL;
}

/* A counting sort of the nodes by ready index; `one` row stands for all. */
static void sort_nodes(gsa_layout *layout, int32_t longest)
{
    const int64_t rows = layout->one && layout->nodes > 0 ? 1 : layout->nodes;
    for (int64_t i = 0; i < layout->nodes; i++) layout->rank[i] = 0;
    for (int64_t i = 0; i < rows; i++)
        layout->rank[i] = (int32_t)layout->start[layout->ready[i] + 2]++;
    for (int32_t t = 0; t <= longest; t++) layout->start[t + 1] += layout->start[t];
    for (int64_t i = 0; i < rows; i++)
        layout->node[layout->start[layout->ready[i] + 1] + layout->rank[i]] = (int32_t)i;
}

static int same_layout(const gsa_layout *a, const gsa_layout *b)
{
    return a->nodes == b->nodes && a->one == b->one &&
           memcmp(a->ready, b->ready, (size_t)a->nodes * sizeof *a->ready) == 0;
}

/* Gives the value the layout whose ready indices are, or one of the plan that is equal; takes it
 * over. */
static gsa_status settle(const planner *x, int value, gsa_layout *layout)
{
    gsa_generation_plan *plan = x->plan;
    for (int l = 0; l < plan->n_layouts; l++) {
        if (!same_layout(plan->layouts[l], layout)) continue;
        plan->of[value] = plan->layouts[l];
        release_layout(x->g->system, layout);
        return GSA_OK;
    }
    sort_nodes(layout, x->g->longest);
    plan->layouts[plan->n_layouts++] = plan->of[value] = layout;
    return GSA_OK;
}

static gsa_status no_memory(const planner *x)
{
    return gsa_out_of_memory(x->error, "ready indices", x->g->longest * (int64_t)sizeof(int32_t));
}

static gsa_status start_value(const planner *x, int value)
{
    const gsa_stack *stack = x->g->stack;
    const gsa_stack_kind *kind = &stack->kinds[x->g->value[value].kind];
    const int schema_kind = gsa_schema_find_kind(stack->parts[kind->part].schema, kind->name);
    gsa_layout *layout =
        new_layout(x, gsa_instance_nodes(x->plan->instance[kind->part], schema_kind));
    if (!layout) return no_memory(x);
    const int by_token = kind->start == GSA_INPUT || kind->start == GSA_COPY;
    layout->one = (kind->start == GSA_ZERO || kind->start == GSA_BY_PHASE) && kind->learned == 0;
    for (int64_t i = 0; i < layout->nodes; i++) layout->ready[i] = by_token ? (int32_t)i : -1;
    return settle(x, value, layout);
}

static gsa_status make_values(const planner *x, const gsa_turn *turn)
{
    const gsa_generation *g = x->g;
    const int part = turn->step->part, kinds = gsa_schema_kinds(g->stack->parts[part].schema);
    const int32_t *old[GSA_MAX_KINDS] = { 0 }, *now[GSA_MAX_KINDS] = { 0 };
    int32_t *made[GSA_MAX_KINDS] = { 0 };
    gsa_layout *layout[GSA_MAX_KINDS] = { 0 };
    gsa_status status = GSA_OK;
    for (int k = 0; k < kinds; k++) {
        if (turn->old[k] >= 0) old[k] = x->plan->of[turn->old[k]]->ready;
        if (turn->now[k] >= 0) now[k] = x->plan->of[turn->now[k]]->ready;
        if (turn->made[k] < 0) continue;
        layout[k] = new_layout(x, gsa_instance_nodes(x->plan->instance[part], k));
        if (layout[k]) made[k] = layout[k]->ready;
        else status = no_memory(x);
    }
    if (status == GSA_OK)
        gsa_ready_phase(x->plan->instance[part], turn->step->phase, old, now, made);
    for (int k = 0; k < kinds; k++) {
        if (layout[k] && status == GSA_OK) status = settle(x, turn->made[k], layout[k]);
        else release_layout(g->system, layout[k]);
    }
    return status;
}

/* ---- what must be kept, and the promise ---------------------------------------------------- */
static void keep(gsa_generation *g, int value)
{
    if (g->value[value].keep >= 0) return;
    gsa_kept pool = { .value = value, .first = g->value[value].rows };
    pool.x.cols = g->stack->settings.hidden;
    g->value[value].keep = gsa_generation_pool(g, pool);
}

/* Is a row older than the row that it becomes? */
static int is_late(const gsa_layout *from, const gsa_layout *to)
{
    for (int64_t i = 0; i < to->nodes; i++)
        if (from->ready[i] < to->ready[i]) return 1;
    return 0;
}

static void keep_old(const planner *x, const gsa_turn *turn)
{
    gsa_generation *g = x->g;
    if (!gsa_phase_reads_old(gsa_step_phase(g->stack, turn->step))) return;
    for (int k = 0; k < GSA_MAX_KINDS; k++)
        if (turn->made[k] >= 0 && g->value[turn->made[k]].read &&
            is_late(x->plan->of[turn->old[k]], x->plan->of[turn->made[k]]))
            keep(g, turn->old[k]);
}

static gsa_status check_promise(const planner *x)
{
    gsa_generation *g = x->g;
    const gsa_layout *last = x->plan->of[g->last];
    for (int64_t i = 0; i < last->nodes; i++) {
        if (last->ready[i] > i)
            return gsa_fail(x->error, GSA_ERR_PLUGIN,
                            "stack %s cannot generate: token %lld depends on token %d, though each "
                            "of its patterns (%s) "
                            "promises to be causal",
                            g->stack->name, (long long)i, last->ready[i], g->stack->text);
        if (last->ready[i] < i) keep(g, g->last);
    }
    return GSA_OK;
}

/* ---- the plan ------------------------------------------------------------------------------ */
static gsa_status build(const planner *x)
{
    gsa_generation *g = x->g;
    x->plan->instance =
        gsa_alloc_zero(g->system, (size_t)g->stack->n_parts, sizeof(gsa_instance *));
    x->plan->layouts = gsa_alloc_zero(g->system, (size_t)g->n_values, sizeof(gsa_layout *));
    x->plan->of = gsa_alloc_zero(g->system, (size_t)g->n_values, sizeof(gsa_layout *));
    if (!x->plan->instance || !x->plan->layouts || !x->plan->of) return no_memory(x);
    gsa_status status = make_instances(x);
    for (int i = 0; i < g->n_turns && status == GSA_OK; i++) {
        const gsa_turn *turn = &g->turn[i];
        for (int v = 0; v < turn->count && status == GSA_OK; v++)
            status = start_value(x, turn->first + v);
        if (turn->step->what == GSA_STEP_PHASE && status == GSA_OK) status = make_values(x, turn);
    }
    if (status == GSA_OK) status = check_promise(x);
    for (int i = 0; i < g->n_turns && status == GSA_OK; i++)
        if (g->turn[i].step->what == GSA_STEP_PHASE) keep_old(x, &g->turn[i]);
    return status;
}

static int same_groups(const int32_t *have, const int32_t *want, int32_t count)
{
    for (int32_t i = 0; have && i < count; i++)
        if (have[i] != (want ? want[i] : 0)) return 0;
    return 1;
}

/* A copy, or zeros; NULL: no memory. */
static int32_t *groups_of(const gsa_generation *g, const int32_t *group, int32_t count)
{
    int32_t *copy = gsa_alloc_zero(g->system, (size_t)count, sizeof *copy);
    if (copy && group) memcpy(copy, group, (size_t)count * sizeof *copy);
    return copy;
}

static gsa_status set_groups(const planner *x, const int32_t *memory_group, const int32_t *group)
{
    const gsa_generation *g = x->g;
    if (g->by_length) return GSA_OK;
    x->plan->memory_group = groups_of(g, memory_group, x->plan->memory_length);
    x->plan->group = groups_of(g, group, g->longest);
    return x->plan->memory_group && x->plan->group ? GSA_OK : no_memory(x);
}

gsa_status gsa_generation_plan_for(gsa_generation *g, int32_t memory_length,
                                   const int32_t *memory_group, const int32_t *group,
                                   const gsa_generation_plan **plan, gsa_error *error)
{
    for (int p = 0; p < g->n_plans; p++) {
        const gsa_generation_plan *have = g->plan[p];
        if (have->memory_length != memory_length ||
            !same_groups(have->memory_group, memory_group, memory_length) ||
            !same_groups(have->group, group, g->longest))
            continue;
        *plan = have;
        return GSA_OK;
    }
    gsa_generation_plan **plans =
        gsa_resize(g->system, g->plan, (size_t)g->n_plans + 1, sizeof(gsa_generation_plan *));
    if (plans) g->plan = plans;
    gsa_generation_plan *made = plans ? gsa_alloc_zero(g->system, 1, sizeof *made) : NULL;
    if (!made) return gsa_out_of_memory(error, "a plan", (int64_t)sizeof *made);
    made->memory_length = memory_length;
    const planner x = { g, made, error };
    gsa_status status = set_groups(&x, memory_group, group);
    if (status == GSA_OK) status = build(&x);
    if (status != GSA_OK) return release_plan(g, made), status;
    *plan = g->plan[g->n_plans++] = made;
    return GSA_OK;
}

/* ---- groups that come with the tokens ------------------------------------------------------ */
/* What was made must be what the new plan would have made of these tokens. */
static gsa_status check_past(const gsa_generation *g, const gsa_generation_plan *old,
                             const gsa_generation_plan *plan, int32_t length, gsa_error *error)
{
    for (int v = 0; v < g->n_values; v++) {
        const gsa_layout *a = old->of[v], *b = plan->of[v];
        const size_t rows = (size_t)a->start[length + 1];
        if (a->one == b->one &&
            memcmp(a->start, b->start, ((size_t)length + 2) * sizeof *a->start) == 0 &&
            memcmp(a->node, b->node, rows * sizeof *a->node) == 0)
            continue;
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "stack %s cannot generate: what %d tokens are made of changes with the "
                        "group of a later one, though each "
                        "of its patterns (%s) promises that it stays the same",
                        g->stack->name, length, g->stack->text);
    }
    return GSA_OK;
}

gsa_status gsa_generation_regroup(gsa_generation *g, gsa_grown *sequence, const int32_t *group,
                                  int32_t length, gsa_error *error)
{
    const gsa_generation_plan *old = sequence->plan, *plan;
    const int32_t before = sequence->length;
    if (g->by_length || !group || length == 0) return GSA_OK;
    for (int32_t i = 0; i < length; i++)
        if (group[i] < (i ? group[i - 1] : before ? old->group[before - 1] : INT32_MIN))
            return gsa_fail(
                error, GSA_ERR_ARGUMENT,
                "generation: group %d of token %d comes before that of the token before it",
                group[i], before + i);
    if (memcmp(old->group + before, group, (size_t)length * sizeof *group) == 0) return GSA_OK;
    int32_t *all = groups_of(g, old->group, g->longest);
    if (!all) return gsa_out_of_memory(error, "groups", g->longest * (int64_t)sizeof *all);
    for (int32_t i = before; i < g->longest; i++)
        all[i] = group[i - before < length ? i - before : length - 1];
    gsa_status status =
        gsa_generation_plan_for(g, old->memory_length, old->memory_group, all, &plan, error);
    if (status == GSA_OK) status = check_past(g, old, plan, before, error);
    if (status == GSA_OK) sequence->plan = plan;
    gsa_release(g->system, all);
    return status;
}
