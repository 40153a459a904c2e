/* dropout.c - dropout of states: y = x kept / (1-p), and its gradient. */
#include "kernels/ref/dropout.h"

typedef struct drop_job {
    real *y;
    const real *x;
    ref_drop drop;
    const int32_t *row_example, *row_local;
    int64_t rows, cols, chunk;
    int accumulate;
} drop_job;

static void drop_row(const drop_job *job, int64_t row)
{
    const int32_t example = job->drop.example_id[job->row_example[row]], local = job->row_local[row];
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

static void pass_row(const drop_job *job, int64_t row)
{
    const real *x = job->x + row * job->cols;
    real *y = job->y + row * job->cols;
    for (int64_t i = 0; i < job->cols; i++) y[i] = job->accumulate ? y[i] + x[i] : x[i];
}

static void drop_chunk(void *context, int64_t item)
{
    const drop_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        if (job->drop.on) drop_row(job, row);
        else pass_row(job, row);
}

static gsa_status run(gsa_backend *b, const char *op, void *y, const void *x, const gsa_dropout *dropout, int accumulate,
                      int64_t rows, int64_t cols)
{
    gsa_status status = gsa_ref_shape(b, op, rows, cols);
    if (status == GSA_OK) status = gsa_ref_check_dropout(b, op, dropout);
    if (status != GSA_OK || y == NULL) return status;
    drop_job job = { .y = y, .x = x, .drop = ref_drop_of(dropout), .rows = rows, .cols = cols, .accumulate = accumulate };
    job.chunk = ref_row_chunk(cols * 8);
    job.row_example = dropout->row_example;
    job.row_local = dropout->row_local;
    gsa_team_run(b->team, ref_items(rows, job.chunk), drop_chunk, &job);
    return GSA_OK;
}

static gsa_status dropout_forward(gsa_backend *b, void *y, const void *x, const gsa_dropout *dropout, int64_t rows,
                                  int64_t cols)
{
    return run(b, "dropout_forward", y, x, dropout, 0, rows, cols);
}

static gsa_status dropout_backward(gsa_backend *b, void *dx, const void *dy, const gsa_dropout *dropout, int64_t rows,
                                   int64_t cols)
{
    return run(b, "dropout_backward", dx, dy, dropout, 1, rows, cols);
}

void GSA_REF(fill_dropout)(gsa_backend *b)
{
    b->dropout_forward = dropout_forward;
    b->dropout_backward = dropout_backward;
}
