/* stack_ranks.c - a stack over examples whose rows are spread over ranks: docs/executor.md, "Rows
 * over ranks". */
#include "spread.h"
#include <string.h>
#include "stack_parts.h"

enum { WHY = 256, FEW = 8 /* tokens of a rank that no partitioner is called for */ };

/* Rank 0 cuts, for a partitioner's numbers at random may be the process's. */
static gsa_status cut_tokens(void *user, gsa_status status, const gsa_share_graph *graph,
                             int64_t nodes, int32_t *owner, gsa_error *error)
{
    gsa_group *group = user;
    char why[WHY] = "";
    if (group->rank != 0) memset(owner, 0, (size_t)nodes * sizeof *owner);
    else if (status == GSA_OK && graph && group->cut && nodes >= FEW * group->ranks &&
             group->cut(graph, group->ranks, owner, why, sizeof why) != 0)
        status = gsa_fail(error, GSA_ERR_MEMORY, "%lld tokens were not cut into %d parts: %s",
                          (long long)nodes, group->ranks, why);
    return gsa_group_merge(group, status, owner, nodes * (int64_t)sizeof *owner, error);
}

gsa_status gsa_stack_batch_spread(gsa_stack_batch *batch, gsa_group *group, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    if (stack->reads_memory)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s reads a memory: its examples cannot be spread over ranks",
                        stack->name);
    gsa_share_pattern *pattern = gsa_alloc(stack->system, (size_t)stack->n_parts, sizeof *pattern);
    if (!pattern)
        return gsa_out_of_memory(error, "a rank's share",
                                 stack->n_parts * (int64_t)sizeof *pattern);
    for (int p = 0; p < stack->n_parts; p++)
        pattern[p] = (gsa_share_pattern){ stack->parts[p].schema, stack->parts[p].kind };
    const gsa_status status =
        gsa_share_create(stack->system, group->rank, group->ranks, stack->n_kinds, pattern,
                         stack->n_parts, &batch->share, error);
    gsa_release(stack->system, pattern);
    if (status == GSA_OK) {
        batch->group = group;
        batch->share->cut = cut_tokens, batch->share->user = group;
    }
    return status;
}

int gsa_stack_batch_spreads(const gsa_stack_batch *batch)
{
    return batch->group != NULL;
}

gsa_local_tokens gsa_stack_batch_tokens(const gsa_stack_batch *batch)
{
    const gsa_share *s = batch->share;
    if (s->token_kind < 0) return (gsa_local_tokens){ 0 };
    const gsa_stack_kind *kind = &batch->stack->kinds[s->token_kind];
    const gsa_batch *of = batch->batch[kind->part];
    const int k = gsa_schema_find_kind(batch->stack->parts[kind->part].schema, kind->name);
    return (gsa_local_tokens){ .count = s->token.count,
                               .token = s->token.at,
                               .ghost = s->kind[s->token_kind].ghost,
                               .example = gsa_batch_node_example(of, k, NULL),
                               .place = gsa_batch_node_local(of, k, NULL) };
}

/* Masks of attention are keyed by an edge's place in its row, which a partial row does not know. */
static gsa_status share_example(gsa_stack_batch *batch, int32_t example, gsa_instance **whole,
                                gsa_instance **mine, gsa_error *error)
{
    const int parts = batch->stack->n_parts;
    for (int p = 0; p < parts; p++)
        whole[p] = batch->instances[(size_t)p * (size_t)batch->room + (size_t)example];
    const gsa_status status = gsa_share_add(batch->share, whole, mine, error);
    for (int p = 0; p < parts && status == GSA_OK; p++) {
        gsa_instance_release(whole[p]);
        batch->instances[(size_t)p * (size_t)batch->room + (size_t)example] = mine[p];
    }
    return status;
}

gsa_status gsa_stack_share(gsa_stack_batch *batch, int32_t count, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    const size_t slots = 2 * (size_t)stack->n_parts;
    gsa_instance **at = gsa_alloc_zero(stack->system, slots, sizeof(gsa_instance *));
    if (!at) return gsa_out_of_memory(error, "a rank's share", (int64_t)slots * 8);
    gsa_status status = GSA_OK;
    gsa_share_begin(batch->share, stack->settings.dropout_attention == 0);
    batch->tokens = 0;
    for (int32_t e = 0; e < count && status == GSA_OK; e++) {
        status = share_example(batch, e, at, at + stack->n_parts, error);
        batch->offset[e] = batch->tokens;
        if (status == GSA_OK) batch->tokens += gsa_instance_length(at[stack->n_parts]);
    }
    batch->offset[count] = batch->tokens;
    if (status == GSA_OK) gsa_share_end(batch->share);
    gsa_release(stack->system, at);
    return status;
}

static int reads(const gsa_stack_batch *batch, const gsa_step *step, const gsa_phase *phase, int k)
{
    const int split = gsa_share_phase_of(batch->share, step->part, step->phase)->split;
    return (phase->sources >> k & 1) || (split && (phase->destinations >> k & 1));
}

void gsa_stack_fetch(const gsa_stack_batch *batch, gsa_tape *tape, const gsa_step *step,
                     gsa_tensor **now, uint8_t *stale)
{
    const gsa_stack *stack = batch->stack;
    const gsa_step *first = step, *end = stack->steps + stack->n_steps;
    for (; step < end && step->what == GSA_STEP_PHASE && (step == first || !step->opens); step++) {
        const gsa_phase *phase = gsa_step_phase(stack, step);
        const gsa_stack_part *part = &stack->parts[step->part];
        if (!step->needed || phase->aggregate == GSA_NONE) continue;
        for (int k = 0; k < gsa_schema_kinds(part->schema); k++) {
            const int kind = part->kind[k];
            if (!stale[kind] || !batch->share->kind[kind].ghosts || !reads(batch, step, phase, k))
                continue;
            now[kind] = gsa_op_fetch(tape, batch->group, &batch->share->kind[kind], now[kind]);
            stale[kind] = 0;
        }
    }
}
