/* stack_count.c - how much a forward pass over a batch has to do. */
#include "stack_parts.h"

static int64_t nodes_of_kind(const gsa_stack_batch *batch, int kind)
{
    const gsa_stack *stack = batch->stack;
    for (int p = 0; p < stack->n_parts; p++)
        for (int k = 0; k < gsa_schema_kinds(stack->parts[p].schema); k++)
            if (stack->parts[p].kind[k] == kind) return gsa_batch_nodes(batch->batch[p], k);
    return 0;
}

/* Of the phase's edges those that end in nodes of the sequence. */
static int64_t edges_into_sequence(const gsa_stack_batch *batch, const gsa_step *step,
                                   const gsa_edges *edges)
{
    const gsa_stack_part *part = &batch->stack->parts[step->part];
    const gsa_phase *phase = gsa_step_phase(batch->stack, step);
    const int64_t scale = phase->per_head ? batch->stack->settings.heads : 1;
    int64_t first = 0;
    for (int k = 0; k < gsa_schema_kinds(part->schema); k++) {
        if (!(phase->destinations >> k & 1)) continue;
        const int64_t rows = gsa_batch_nodes(batch->batch[step->part], k) * scale;
        if (part->kind[k] == batch->stack->sequence)
            return edges->edge_offset[first + rows] - edges->edge_offset[first];
        first += rows;
    }
    return 0;
}

gsa_stack_counts gsa_stack_batch_count(const gsa_stack_batch *batch)
{
    const gsa_stack *stack = batch->stack;
    gsa_stack_counts counts = { .tokens = batch->count ? batch->tokens : 0,
                                .examples = batch->count };
    if (batch->count == 0) return counts;
    for (int k = 0; k < stack->n_kinds; k++) counts.nodes += nodes_of_kind(batch, k);
    for (int i = 0; i < stack->n_steps; i++) {
        const gsa_step *step = &stack->steps[i];
        gsa_edges edges;
        if (step->what != GSA_STEP_PHASE || !step->needed ||
            gsa_step_phase(stack, step)->aggregate == GSA_NONE)
            continue;
        gsa_batch_edges(batch->batch[step->part], step->phase, NULL, &edges);
        counts.edges += edges.edge_total;
        counts.scores +=
            edges.edge_total * (gsa_step_phase(stack, step)->per_head ? 1 : stack->settings.heads);
        counts.read += edges_into_sequence(batch, step, &edges);
    }
    return counts;
}
