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

gsa_status gsa_stack_settle(gsa_stack_batch *batch, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    gsa_instance **at = gsa_alloc_zero(stack->system, (size_t)stack->n_parts, sizeof *at);
    if (!at) return gsa_out_of_memory(error, "a rank's share", stack->n_parts * INT64_C(8));
    for (int p = 0; p < stack->n_parts; p++)
        at[p] = batch->instances[(size_t)p * (size_t)batch->room];
    const gsa_status status = gsa_share_settle(batch->share, at, error);
    gsa_release(stack->system, at);
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

/* Does one of the run's sources travel, or a row of the same product's block? Steps that are no
 * wider than a block miss none between the first and the last. */
static int run_is_late(const uint8_t *block, const gsa_run *run, int64_t scale)
{
    const int64_t size = GSA_GEMM_ROWS * scale, wide = run->step > size || run->step < -size,
                  end = run->first + (run->count - INT64_C(1)) * run->step,
                  low = run->step < 0 ? end : run->first, high = run->step < 0 ? run->first : end;
    for (int64_t b = low / size; b <= high / size && !wide; b++)
        if (block[b]) return 1;
    for (int32_t i = 0; i < run->count && wide; i++)
        if (block[(run->first + (int64_t)i * run->step) / size]) return 1;
    return 0;
}

/* block: by stack kind, 1: it has a ghost */
static gsa_status mark_phase(gsa_stack_batch *batch, int part, int phase, uint8_t *const *block,
                             uint8_t **late, gsa_error *error)
{
    const gsa_stack_part *p = &batch->stack->parts[part];
    const gsa_system *system = batch->stack->system;
    gsa_edges e;
    int ghosts = 0;
    gsa_release(system, *late);
    *late = NULL;
    if (gsa_schema_phase(p->schema, phase)->aggregate != GSA_ATTEND ||
        gsa_share_phase_of(batch->share, part, phase)->split)
        return GSA_OK;
    gsa_batch_edges(batch->batch[part], phase, NULL, &e);
    for (int k = 0; k < e.kinds; k++)
        ghosts |= e.part_rows[k] > 0 && batch->share->kind[p->kind[k]].ghosts;
    if (!ghosts) return GSA_OK;
    *late = gsa_alloc_zero(system, (size_t)e.rows + 1, 1);
    if (!*late) return gsa_out_of_memory(error, "rows that wait for others", e.rows + 1);
    for (int64_t row = 0; row < e.rows; row++)
        for (int64_t r = e.run_offset[row]; r < e.run_offset[row + 1] && !(*late)[row]; r++)
            (*late)[row] = (uint8_t)run_is_late(block[p->kind[e.runs[r].kind]], &e.runs[r],
                                                e.source_scale ? e.source_scale : 1);
    return GSA_OK;
}

static uint8_t *find_blocks(const gsa_stack *stack, const gsa_share_kind *kind)
{
    uint8_t *block =
        gsa_alloc_zero(stack->system, (size_t)(kind->nodes / GSA_GEMM_ROWS) + 1, sizeof *block);
    for (int64_t i = 0; block && i < kind->nodes; i++) block[i / GSA_GEMM_ROWS] |= kind->ghost[i];
    return block;
}

gsa_status gsa_stack_mark_late(gsa_stack_batch *batch, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    const size_t places = (size_t)stack->n_parts * GSA_MAX_PHASES, kinds = (size_t)stack->n_kinds;
    uint8_t **block = gsa_alloc_zero(stack->system, kinds, sizeof *block);
    if (!batch->late) batch->late = gsa_alloc_zero(stack->system, places, sizeof *batch->late);
    int whole = block && batch->late;
    for (size_t k = 0; k < kinds && whole; k++)
        whole = (block[k] = find_blocks(stack, &batch->share->kind[k])) != NULL;
    gsa_status status = whole ? GSA_OK : gsa_out_of_memory(error, "rows that wait for others", 0);
    for (int p = 0; p < stack->n_parts; p++)
        for (int f = 0; f < gsa_schema_phases(stack->parts[p].schema) && status == GSA_OK; f++)
            status = mark_phase(batch, p, f, block, &batch->late[p * GSA_MAX_PHASES + f], error);
    for (size_t k = 0; k < kinds && block; k++) gsa_release(stack->system, block[k]);
    gsa_release(stack->system, block);
    return status;
}

void gsa_stack_fetch(const gsa_stack_batch *batch, gsa_tape *tape, const gsa_step *step,
                     gsa_tensor **now, uint8_t *stale)
{
    const gsa_stack *stack = batch->stack;
    const gsa_step *first = step, *end = stack->steps + stack->n_steps;
    const int64_t kinds = stack->n_kinds;
    const gsa_share_kind **of = gsa_tape_host(tape, kinds * (int64_t)sizeof *of);
    gsa_tensor **x = gsa_tape_host(tape, kinds * (int64_t)sizeof *x);
    int *place = gsa_tape_host(tape, kinds * (int64_t)sizeof *place), count = 0;
    for (; step < end && step->what == GSA_STEP_PHASE && (step == first || !step->opens); step++) {
        const gsa_phase *phase = gsa_step_phase(stack, step);
        const gsa_stack_part *part = &stack->parts[step->part];
        if (!step->needed || phase->aggregate == GSA_NONE || tape->failed) continue;
        for (int k = 0; k < gsa_schema_kinds(part->schema); k++) {
            const int kind = part->kind[k];
            if (!stale[kind] || !batch->share->kind[kind].ghosts || !reads(batch, step, phase, k))
                continue;
            of[count] = &batch->share->kind[kind], x[count] = now[kind], place[count++] = kind;
            stale[kind] = 0;
        }
    }
    gsa_op_fetch(tape, batch->group, of, x, count);
    for (int i = 0; i < count; i++) now[place[i]] = x[i];
}
