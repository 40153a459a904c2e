#include "train/driver/rows.h"
#include <string.h>

static gsa_status refuse(const gsa_learner *m, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                    "train.split = rows: task %s does not count each row by itself, or reads more "
                    "than one sequence; expected examples",
                    m->task->name);
}

gsa_status gsa_rank_rows_create(gsa_learner *model, gsa_group *group, gsa_rank_rows *rows,
                                gsa_error *error)
{
    const gsa_task_plan *p = &model->plan;
    const gsa_backend *b = gsa_parameters_backend(model->parameters);
    *rows = (gsa_rank_rows){ .model = model, .group = group, .part = { .system = model->system } };
    if (!b->shares_host_memory)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "train.split = rows: %s has memory of its own; expected --device cpu",
                        b->name);
    if (!model->task->by_row || p->n_sequences != 1 || p->n_passes != 1 || model->task->beside ||
        model->task->features)
        return refuse(model, error);
    rows->by_example = (p->stack[0].reads & GSA_READ_SUMMARY) != 0;
    gsa_status status = gsa_model_batch_create(model->net, &rows->graph, error);
    if (status == GSA_OK)
        status = gsa_stack_batch_spread(gsa_model_batch_of(rows->graph, 0), group, error);
    if (status != GSA_OK) gsa_rank_rows_release(rows);
    return status;
}

void gsa_rank_rows_release(gsa_rank_rows *rows)
{
    if (!rows->model) return;
    gsa_rank_rows_end(rows);
    if (rows->graph) gsa_model_batch_release(rows->graph);
    gsa_minibatch_release(&rows->part);
    *rows = (gsa_rank_rows){ 0 };
}

/* ---- this rank's part ---------------------------------------------------------------------- */

/* to[i] = from[token[i]], rows of `size` bytes */
static void pick(const gsa_local_tokens *local, const void *from, size_t size, void *to)
{
    for (int64_t i = 0; i < local->count; i++)
        memcpy((char *)to + (size_t)i * size, (const char *)from + (size_t)local->token[i] * size,
               size);
}

static gsa_status take_sequence(gsa_rank_rows *r, const gsa_local_tokens *local,
                                const gsa_minibatch_sequence *from, gsa_error *error)
{
    const int32_t columns = gsa_learner_columns(r->model, 0);
    const int typed = r->model->plan.input[0].types > 0;
    gsa_minibatch_sequence *to = &r->part.sequence[0];
    gsa_status status =
        gsa_minibatch_sequence_size(&r->part, 0, from->count, local->count, columns, error);
    if (status == GSA_OK && typed) status = gsa_minibatch_types(&r->part, 0, error);
    if (status != GSA_OK) return status;
    for (int32_t e = 0; e < from->count; e++)
        to->number[e] = from->number[e], to->length[e] = from->length[e];
    if (columns) pick(local, from->feature, (size_t)columns * sizeof *to->feature, to->feature);
    else pick(local, from->id, sizeof *to->id, to->id);
    if (typed) pick(local, from->type, sizeof *to->type, to->type);
    return GSA_OK;
}

/* A ghost's target is its owner's. */
static gsa_status take_targets(gsa_rank_rows *r, const gsa_local_tokens *local,
                               const gsa_minibatch *batch, gsa_error *error)
{
    const int64_t terms = r->model->plan.terms, numbers = batch->targets * terms;
    const gsa_status status = gsa_minibatch_targets(
        &r->part, r->by_example ? batch->targets : local->count, terms, error);
    if (status != GSA_OK) return status;
    if (!r->by_example) pick(local, batch->label, sizeof *batch->label, r->part.label);
    else if (terms) memcpy(r->part.target, batch->target, (size_t)numbers * sizeof *batch->target);
    else memcpy(r->part.label, batch->label, (size_t)batch->targets * sizeof *batch->label);
    for (int64_t i = 0; i < local->count && !r->by_example; i++)
        if (local->ghost[i]) r->part.label[i] = -1;
    return GSA_OK;
}

gsa_status gsa_rank_rows_begin(gsa_rank_rows *r, const gsa_minibatch *batch,
                               const gsa_minibatch **part, gsa_error *error)
{
    gsa_learner *m = r->model;
    *part = &r->part;
    if (batch->picks || (!r->by_example && (m->plan.terms > 0 || !batch->label)))
        return refuse(m, error);
    gsa_status status = gsa_learner_join(m, batch, r->graph, error);
    if (status != GSA_OK) return status;
    const gsa_local_tokens local = gsa_stack_batch_tokens(gsa_model_batch_of(r->graph, 0));
    r->part.first = batch->first;
    status = gsa_minibatch_begin(&r->part, batch->count, error);
    if (status == GSA_OK) status = take_sequence(r, &local, &batch->sequence[0], error);
    if (status == GSA_OK) status = take_targets(r, &local, batch, error);
    r->own = 0;
    for (int64_t i = 0; i < local.count; i++) r->own += !local.ghost[i];
    if (status != GSA_OK) return status;
    if (!r->whole) r->whole = m->graph;
    m->graph = r->graph, m->joined = 1;
    return GSA_OK;
}

void gsa_rank_rows_end(gsa_rank_rows *r)
{
    if (r->whole) r->model->graph = r->whole;
    r->whole = NULL, r->model->joined = 0;
}

gsa_status gsa_rank_rows_collect(gsa_rank_rows *r, gsa_status status, const double *values,
                                 const gsa_minibatch *batch, int64_t columns, double *out,
                                 gsa_error *error)
{
    const size_t row = (size_t)columns * sizeof *out;
    if (status == GSA_OK && r->by_example) {
        memcpy(out, values, (size_t)batch->targets * row);
        return gsa_group_tell(r->group, status, NULL, NULL, error);
    }
    if (status == GSA_OK) {
        const gsa_local_tokens local = gsa_stack_batch_tokens(gsa_model_batch_of(r->graph, 0));
        memset(out, 0, (size_t)batch->targets * row);
        for (int64_t i = 0; i < local.count; i++)
            if (!local.ghost[i]) memcpy(out + local.token[i] * columns, values + i * columns, row);
    }
    return gsa_group_merge(r->group, status, out, batch->targets * (int64_t)row, error);
}
