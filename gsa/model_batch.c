/* model_batch.c - a batch for all passes of a model: numbers of examples, memory lengths and
 * groups, the passes' own batches. */
#include "model_parts.h"

gsa_status gsa_model_batch_create(const gsa_model *model, gsa_model_batch **batch, gsa_error *error)
{
    gsa_model_batch *made = gsa_alloc_zero(model->system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a model's batch", (int64_t)sizeof *made);
    made->model = model;
    gsa_status status = GSA_OK;
    for (int r = 0; r < model->n_passes && status == GSA_OK; r++)
        status = gsa_stack_batch_create(model->stack[model->pass[r].stack], &made->batch[r], error);
    for (int r = 0; r < model->n_passes && status == GSA_OK && model->apart; r++)
        gsa_stack_batch_tell_content(made->batch[r]);
    if (status != GSA_OK) gsa_model_batch_release(made);
    else *batch = made;
    return status;
}

void gsa_model_batch_release(gsa_model_batch *batch)
{
    if (!batch) return;
    const gsa_system *system = batch->model->system;
    for (int r = 0; r < batch->model->n_passes; r++) {
        gsa_stack_batch_release(batch->batch[r]);
        gsa_release(system, batch->memory_length[r]);
    }
    for (int s = 0; s < batch->model->n_sequences; s++) {
        gsa_release(system, batch->sequence[s].length);
        gsa_release(system, batch->sequence[s].number);
    }
    gsa_release(system, batch);
}

/* ---- sequences ----------------------------------------------------------------------------- */
static gsa_status reserve(const gsa_system *system, gsa_numbered *to, int32_t count, int ranges,
                          gsa_error *error)
{
    if (count <= to->room) return GSA_OK;
    const size_t numbers = (size_t)count * (size_t)ranges;
    int32_t *length = gsa_resize(system, to->length, (size_t)count, sizeof *length);
    if (length) to->length = length;
    int32_t *number = gsa_resize(system, to->number, numbers, sizeof *number);
    if (number) to->number = number;
    if (!length || !number)
        return gsa_out_of_memory(error, "a model's batch", (int64_t)(numbers * sizeof *number));
    to->room = count;
    return GSA_OK;
}

static gsa_status take_sequence(gsa_model_batch *batch, int s, const gsa_model_sequence *from,
                                gsa_error *error)
{
    const gsa_model *m = batch->model;
    gsa_numbered *to = &batch->sequence[s];
    if (from->count < 0 || (from->count > 0 && !from->length))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "sequence '%s': a batch of %d examples needs their lengths", m->sequence[s],
                        from->count);
    const gsa_status status = reserve(m->system, to, from->count, m->ranges[s], error);
    if (status != GSA_OK) return status;
    to->count = from->count;
    for (int32_t e = 0; e < from->count; e++) {
        const int32_t number = from->number ? from->number[e] : e;
        if (number < 0 || number >> GSA_RANGE_BITS != 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "sequence '%s', example %d: its number %d must be from 0 to %d",
                            m->sequence[s], e, number, (1 << GSA_RANGE_BITS) - 1);
        to->length[e] = from->length[e];
        for (int r = 0; r < m->ranges[s]; r++)
            to->number[(int64_t)r * from->count + e] = number + (r << GSA_RANGE_BITS);
    }
    return GSA_OK;
}

/* ---- passes ---------------------------------------------------------------------------------- */
/* Nodes of the other pass's sequence kind are this pass's memory: tokens, or what its batch, built
 * before, says. */
static gsa_status measure_memory(gsa_model_batch *batch, int r, gsa_error *error)
{
    const gsa_model *m = batch->model;
    const gsa_model_place *pass = &m->pass[r], *read = &m->pass[pass->memory.pass];
    const int32_t count = batch->sequence[pass->sequence].count,
                  theirs = batch->sequence[read->sequence].count;
    if (count != theirs)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "pass '%s': sequence '%s' has %d examples, but its memory, pass '%s' on "
                        "sequence '%s', has %d",
                        pass->name, m->sequence[pass->sequence], count, read->name,
                        m->sequence[read->sequence], theirs);
    if (count > batch->memory_room[r] || !batch->memory_length[r]) {
        int32_t *length =
            gsa_resize(m->system, batch->memory_length[r], (size_t)count + 1, sizeof *length);
        if (!length)
            return gsa_out_of_memory(error, "memory lengths", count * (int64_t)sizeof *length);
        batch->memory_length[r] = length;
        batch->memory_room[r] = count;
    }
    const gsa_sequence_kind kind = gsa_stack_sequence_kind(m->stack[read->stack]);
    const gsa_batch *joined = batch->batch[pass->memory.pass]->batch[kind.part];
    const int64_t *offset = kind.by_token ? NULL : gsa_batch_offset(joined, kind.kind, NULL);
    for (int32_t e = 0; e < count; e++)
        batch->memory_length[r][e] = offset ? (int32_t)(offset[e + 1] - offset[e])
                                            : batch->sequence[read->sequence].length[e];
    return GSA_OK;
}

static gsa_status build_pass(gsa_model_batch *batch, int r, gsa_cache *cache,
                             const gsa_limits *limits, const gsa_model_sequence *sequences,
                             gsa_error *error)
{
    const gsa_model *m = batch->model;
    const gsa_model_place *pass = &m->pass[r];
    const gsa_model_sequence *own = &sequences[pass->sequence];
    gsa_sequences given = { .count = own->count,
                            .length = own->length,
                            .text = own->text,
                            .group = own->group,
                            .column = own->column,
                            .columns = own->columns,
                            .example = own->example,
                            .draw = own->draw };
    if (pass->memory.pass >= 0) {
        const gsa_model_place *read = &m->pass[pass->memory.pass];
        const gsa_status status = measure_memory(batch, r, error);
        if (status != GSA_OK) return status;
        given.memory_length = batch->memory_length[r];
        if (gsa_stack_sequence_kind(m->stack[read->stack]).by_token)
            given.memory_group = sequences[read->sequence].group;
    }
    const gsa_status status = gsa_stack_batch_build(batch->batch[r], cache, limits, &given, error);
    return status == GSA_OK ? GSA_OK : gsa_fail_at(error, status, "pass '%s'", pass->name);
}

gsa_status gsa_model_batch_build(gsa_model_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_model_sequence *sequences, gsa_error *error)
{
    const gsa_model *m = batch->model;
    gsa_status status = GSA_OK;
    batch->built = 0;
    for (int s = 0; s < m->n_sequences && status == GSA_OK; s++)
        status = take_sequence(batch, s, &sequences[s], error);
    for (int i = 0; i < m->n_passes && status == GSA_OK; i++)
        status = build_pass(batch, m->build[i], cache, limits, sequences, error);
    batch->built = status == GSA_OK;
    return status;
}

gsa_stack_batch *gsa_model_batch_of(gsa_model_batch *batch, int pass)
{
    return pass < 0 || pass >= batch->model->n_passes ? NULL : batch->batch[pass];
}

int64_t gsa_model_batch_edges(const gsa_model_batch *batch)
{
    int64_t edges = 0;
    for (int r = 0; r < batch->model->n_passes; r++)
        edges += gsa_stack_batch_edges(batch->batch[r]);
    return edges;
}

/* Of each pass's patterns the block, of which all kinds and phases are views; and the numbers of
 * examples, a range a piece. */
gsa_status gsa_model_batch_ahead(const gsa_model_batch *batch, gsa_tape *tape, gsa_error *error)
{
    const gsa_model *m = batch->model;
    gsa_status status = GSA_OK;
    for (int r = 0; r < m->n_passes; r++)
        if (status == GSA_OK) status = gsa_stack_batch_ahead(batch->batch[r], tape, error);
    for (int s = 0; s < m->n_sequences; s++)
        for (int range = 0; range < m->ranges[s] && status == GSA_OK; range++) {
            const gsa_numbered *from = &batch->sequence[s];
            status = gsa_tape_ahead(tape, from->number + (int64_t)range * from->count,
                                    from->count * (int64_t)sizeof *from->number, error);
        }
    return status;
}
