/* stack_batch.c - examples for a stack: every pattern's instances, joined. Host work only. */
#include "stack_parts.h"
#include <string.h>

gsa_status gsa_stack_batch_create(const gsa_stack *stack, gsa_stack_batch **batch, gsa_error *error)
{
    gsa_stack_batch *made = gsa_alloc_zero(stack->system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a stack's batch", (int64_t)sizeof *made);
    made->stack = stack;
    made->batch = gsa_alloc_zero(stack->system, (size_t)stack->n_parts, sizeof *made->batch);
    gsa_status status =
        made->batch ? GSA_OK : gsa_out_of_memory(error, "a stack's batch", stack->n_parts);
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
        status = gsa_batch_create(stack->system, stack->parts[p].schema, &made->batch[p], error);
    if (status != GSA_OK) gsa_stack_batch_release(made);
    else *batch = made;
    return status;
}

void gsa_stack_batch_release(gsa_stack_batch *batch)
{
    if (!batch) return;
    const gsa_system *system = batch->stack->system;
    for (int p = 0; batch->batch && p < batch->stack->n_parts; p++)
        gsa_batch_release(batch->batch[p]);
    gsa_release(system, batch->batch);
    gsa_release(system, batch->instances);
    gsa_release(system, batch->offset);
    for (int i = 0; batch->late && i < batch->stack->n_parts * GSA_MAX_PHASES; i++)
        gsa_release(system, batch->late[i]);
    gsa_release(system, batch->late);
    gsa_share_release(batch->share);
    gsa_release(system, batch);
}

void gsa_stack_batch_tell_content(gsa_stack_batch *batch)
{
    for (int p = 0; p < batch->stack->n_parts; p++) gsa_batch_tell_content(batch->batch[p]);
}

static gsa_status reserve(gsa_stack_batch *batch, int32_t count, gsa_error *error)
{
    const gsa_system *system = batch->stack->system;
    if (count <= batch->room && batch->offset) return GSA_OK;
    const size_t slots = (size_t)count * (size_t)batch->stack->n_parts;
    gsa_instance **instances = gsa_resize(system, batch->instances, slots, sizeof(gsa_instance *));
    if (instances) batch->instances = instances;
    int64_t *offset = gsa_resize(system, batch->offset, (size_t)count + 1, sizeof *offset);
    if (offset) batch->offset = offset;
    if (!instances || !offset)
        return gsa_out_of_memory(error, "a stack's batch",
                                 (int64_t)(slots * sizeof(gsa_instance *)));
    batch->room = count;
    return GSA_OK;
}

/* Kinds of equal names are one kind: their node counts must agree. */
static gsa_status same_counts(const gsa_stack_batch *batch, int32_t example, int64_t number,
                              gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    for (int p = 0; p < stack->n_parts; p++)
        for (int k = 0; k < gsa_schema_kinds(stack->parts[p].schema); k++) {
            const gsa_stack_kind *kind = &stack->kinds[stack->parts[p].kind[k]];
            const gsa_stack_part *owner = &stack->parts[kind->part];
            const int64_t here = gsa_instance_nodes(
                batch->instances[(size_t)p * (size_t)batch->room + (size_t)example], k);
            const int64_t there = gsa_instance_nodes(
                batch->instances[(size_t)kind->part * (size_t)batch->room + (size_t)example],
                gsa_schema_find_kind(owner->schema, kind->name));
            if (here != there)
                return gsa_fail(error, GSA_ERR_ARGUMENT,
                                "stack %s, example %lld: kind '%s' has %lld nodes in segment %d "
                                "(%s), but %lld in segment %d (%s)",
                                stack->name, (long long)number, kind->name, (long long)there,
                                owner->segment, gsa_pattern_text(owner->pattern), (long long)here,
                                stack->parts[p].segment, gsa_pattern_text(stack->parts[p].pattern));
        }
    return GSA_OK;
}

/* One pattern's instance: with the columns that it requests. */
static gsa_status make_instance(const gsa_pattern *pattern, gsa_cache *cache,
                                const gsa_limits *limits, const gsa_sequences *seq, int64_t token,
                                gsa_example example, gsa_instance **instance, gsa_error *error)
{
    const gsa_slice *column[GSA_COLUMNS_ASKED];
    const gsa_status status =
        gsa_pattern_take(pattern, seq->column, seq->columns, token, column, error);
    if (status != GSA_OK) return status;
    example.columns = gsa_pattern_columns(pattern), example.column = column;
    return gsa_pattern_instance(pattern, cache, &example, limits, 0, instance, error);
}

/* What patterns do from now on is for this one. */
static void note_example(const gsa_stack *stack, int64_t number)
{
    gsa_calling(stack->system,
                &(gsa_plugin_call){ .who = "", .function = "example", .number = number });
}

static gsa_status make_instances(gsa_stack_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_sequences *seq, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    int64_t token = 0, memory = 0;
    gsa_status status = GSA_OK;
    for (int32_t e = 0; e < seq->count && status == GSA_OK; e++) {
        const gsa_example example = { .struct_size = sizeof example,
                                      .length = seq->length[e],
                                      .memory_length =
                                          seq->memory_length ? seq->memory_length[e] : 0,
                                      .heads = stack->settings.heads,
                                      .text = seq->text ? seq->text + token : NULL,
                                      .group = seq->group ? seq->group + token : NULL,
                                      .memory_group =
                                          seq->memory_group ? seq->memory_group + memory : NULL,
                                      .draw = seq->draw };
        const int64_t number = seq->example ? seq->example[e] + 1 : e; /* for people */
        note_example(stack, seq->example ? number : 0);
        for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
            status = make_instance(stack->parts[p].pattern, cache, limits, seq, token, example,
                                   &batch->instances[(size_t)p * (size_t)batch->room + (size_t)e],
                                   error);
        note_example(stack, 0);
        if (status != GSA_OK) return gsa_fail_at(error, status, "example %lld", (long long)number);
        status = same_counts(batch, e, number, error);
        batch->offset[e] = token;
        token += example.length;
        memory += example.memory_length;
    }
    batch->offset[seq->count] = batch->tokens = token;
    return status;
}

static void release_instances(gsa_stack_batch *batch)
{
    const size_t slots = (size_t)batch->stack->n_parts * (size_t)batch->room;
    for (size_t i = 0; i < slots; i++) gsa_instance_release(batch->instances[i]);
    if (slots) memset(batch->instances, 0, slots * sizeof(gsa_instance *));
}

/* A given graph is cut by its draw 0. */
static gsa_status settle(gsa_stack_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                         const gsa_sequences *sequences, gsa_error *error)
{
    gsa_sequences first = *sequences;
    if (!batch->group || first.count == 0 || !gsa_share_unsettled(batch->share)) return GSA_OK;
    first.count = 1, first.draw = 0;
    gsa_status status = make_instances(batch, cache, limits, &first, error);
    if (status == GSA_OK) status = gsa_stack_settle(batch, error);
    release_instances(batch);
    return status;
}

gsa_status gsa_stack_batch_build(gsa_stack_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_sequences *sequences, gsa_error *error)
{
    const gsa_stack *stack = batch->stack;
    batch->count = 0;
    batch->edges = 0;
    if (sequences->count < 0 || (sequences->count > 0 && !sequences->length))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a batch of %d examples needs their lengths",
                        sequences->count);
    if (stack->reads_memory && !sequences->memory_length)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack %s reads a memory, but the batch has no memory lengths",
                        stack->name);
    gsa_status status = reserve(batch, sequences->count, error);
    if (status != GSA_OK) return status;
    const size_t slots = (size_t)stack->n_parts * (size_t)batch->room;
    if (slots) memset(batch->instances, 0, slots * sizeof(gsa_instance *));
    status = settle(batch, cache, limits, sequences, error);
    if (status == GSA_OK) status = make_instances(batch, cache, limits, sequences, error);
    if (status == GSA_OK && batch->group) status = gsa_stack_share(batch, sequences->count, error);
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++) {
        status =
            gsa_batch_build(batch->batch[p], batch->instances + (size_t)p * (size_t)batch->room,
                            sequences->count, error);
        if (status == GSA_OK) batch->edges += gsa_batch_edge_total(batch->batch[p]);
    }
    release_instances(batch);
    if (status == GSA_OK && batch->group) status = gsa_stack_mark_late(batch, error);
    if (status == GSA_OK) batch->count = sequences->count;
    return status;
}

int64_t gsa_stack_batch_edges(const gsa_stack_batch *batch)
{
    return batch->edges;
}

/* Of each pattern the block, of which all kinds and phases are views; and where examples begin. */
gsa_status gsa_stack_batch_ahead(const gsa_stack_batch *batch, gsa_tape *tape, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int p = 0; p < batch->stack->n_parts && status == GSA_OK; p++) {
        int64_t bytes;
        const void *block = gsa_batch_block(batch->batch[p], &bytes);
        status = gsa_tape_ahead(tape, block, bytes, error);
    }
    if (status != GSA_OK) return status;
    return gsa_tape_ahead(tape, batch->offset, (batch->count + 1) * (int64_t)sizeof(int64_t),
                          error);
}
