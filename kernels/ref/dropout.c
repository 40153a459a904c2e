/* dropout.c - dropout of states: y = x kept / (1-p), and its gradient. */
#include "kernels/ref/dropout.h"

static void drop_row(const ref_drop_job *job, int64_t row)
{
    const int32_t example = job->drop.example_id[job->row_example[row]],
                  local = job->row_local[row];
    const real *x = job->x + row * job->cols;
    real *y = job->y + row * job->cols, factor[4];
    for (int64_t c = 0; c < job->cols; c += 4) {
        ref_drop_four(&job->drop, example, local, (uint32_t)(c / 4), 0, factor);
        for (int64_t i = c; i < c + 4 && i < job->cols; i++) {
            const real kept = factor[i - c] == 0 ? 0 : x[i] * factor[i - c];
            y[i] = job->accumulate ? y[i] + kept : kept;
        }
    }
}

static void pass_row(const ref_drop_job *job, int64_t row)
{
    const real *x = job->x + row * job->cols;
    real *y = job->y + row * job->cols;
    for (int64_t i = 0; i < job->cols; i++) y[i] = job->accumulate ? y[i] + x[i] : x[i];
}

static void drop_chunk(void *context, int64_t item)
{
    const ref_drop_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        if (job->drop.on) job->row(job, row);
        else pass_row(job, row);
}

gsa_status GSA_REF(dropout)(gsa_backend *b, const char *op, ref_drop_job *job,
                            const gsa_dropout *dropout, int64_t rows, int64_t cols, int64_t cost)
{
    gsa_status status = gsa_ref_shape(b, op, rows, cols);
    if (status == GSA_OK) status = gsa_ref_check_dropout(b, op, dropout);
    if (status != GSA_OK || job->y == NULL) return status;
    job->drop = ref_drop_of(dropout), job->rows = rows, job->cols = cols,
    job->chunk = ref_row_chunk(cost);
    job->row_example = dropout->row_example, job->row_local = dropout->row_local;
    gsa_team_run(b->team, ref_items(rows, job->chunk), drop_chunk, job);
    return GSA_OK;
}

static gsa_status dropout_forward(gsa_backend *b, void *y, const void *x,
                                  const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    ref_drop_job job = { .y = y, .x = x, .row = drop_row };
    return GSA_REF(dropout)(b, "dropout_forward", &job, dropout, rows, cols, cols * 8);
}

static gsa_status dropout_backward(gsa_backend *b, void *dx, const void *dy,
                                   const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    ref_drop_job job = { .y = dx, .x = dy, .accumulate = 1, .row = drop_row };
    return GSA_REF(dropout)(b, "dropout_backward", &job, dropout, rows, cols, cols * 8);
}

void GSA_REF(fill_dropout)(gsa_backend *b)
{
    b->dropout_forward = dropout_forward;
    b->dropout_backward = dropout_backward;
}
