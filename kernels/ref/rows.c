/* rows.c - rows taken from a table, gradients scattered back into it, rows chosen by a mask. */
#include "kernels/ref/ref.h"

typedef struct row_job {
    real *y, *dc;
    const real *table, *c;
    const int32_t *ids;
    const uint8_t *mask;
    int32_t first_id;
    int accumulate;
    real scale;
    int64_t rows, cols, chunk;
} row_job;

static void gather_chunk(void *context, int64_t item)
{
    const row_job *job = context;
    const int64_t cols = job->cols, last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) {
        real *restrict y = job->y + row * cols;
        if (!job->accumulate) memset(y, 0, sizeof(real) * (size_t)cols);
        if (job->ids[row] < 0) continue;
        const real *restrict from = job->table + job->ids[row] * cols;
        if (job->accumulate) ref_axpy(y, job->scale, from, cols);
        else
            for (int64_t i = 0; i < cols; i++) y[i] = job->scale * from[i];
    }
}

static gsa_status gather_forward(gsa_backend *b, void *y, const void *table, const int32_t *ids,
                                 double scale, int accumulate, int64_t rows, int64_t cols,
                                 int64_t table_rows)
{
    gsa_status status = gsa_ref_shape(b, "gather_forward", rows, cols);
    if (status == GSA_OK) status = gsa_ref_shape(b, "gather_forward", table_rows, cols);
    if (status == GSA_OK)
        status = gsa_ref_check_indices(b, "gather_forward", "id", ids, rows, INT32_MIN, table_rows);
    if (status != GSA_OK || cols == 0) return status;
    row_job job = { .y = y,
                    .table = table,
                    .ids = ids,
                    .scale = (real)scale,
                    .accumulate = accumulate,
                    .rows = rows,
                    .cols = cols };
    job.chunk = ref_row_chunk(cols);
    gsa_team_run(b->team, ref_items(rows, job.chunk), gather_chunk, &job);
    return GSA_OK;
}

/* An item is a slice of columns: several rows may add to one row of the table, always in ascending
 * order. */
static void scatter_slice(void *context, int64_t item)
{
    const row_job *job = context;
    const int64_t first = item * job->chunk, width = ref_smaller(job->chunk, job->cols - first);
    for (int64_t row = 0; row < job->rows; row++)
        if (job->ids[row] >= job->first_id && job->ids[row] >= 0)
            ref_axpy(job->y + job->ids[row] * job->cols + first, job->scale,
                     job->table + row * job->cols + first, width);
}

static gsa_status gather_backward(gsa_backend *b, void *dtable, const void *dy, const int32_t *ids,
                                  int32_t first_id, double scale, int64_t rows, int64_t cols,
                                  int64_t table_rows)
{
    gsa_status status = gsa_ref_shape(b, "gather_backward", rows, cols);
    if (status == GSA_OK) status = gsa_ref_shape(b, "gather_backward", table_rows, cols);
    if (status == GSA_OK)
        status =
            gsa_ref_check_indices(b, "gather_backward", "id", ids, rows, INT32_MIN, table_rows);
    if (status != GSA_OK || dtable == NULL) return status;
    row_job job = { .y = dtable,
                    .table = dy,
                    .ids = ids,
                    .first_id = first_id,
                    .scale = (real)scale,
                    .rows = rows,
                    .cols = cols };
    job.chunk = REF_COLUMNS / 2;
    gsa_team_run(b->team, ref_items(cols, job.chunk), scatter_slice, &job);
    return GSA_OK;
}

static void select_chunk(void *context, int64_t item)
{
    const row_job *job = context;
    const int64_t cols = job->cols, last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) {
        const real *from = (job->mask[row] ? job->table : job->c) + row * cols;
        if (cols > 0) memmove(job->y + row * cols, from, sizeof(real) * (size_t)cols);
    }
}

static gsa_status select_forward(gsa_backend *b, void *y, const uint8_t *mask, const void *a,
                                 const void *c, int64_t rows, int64_t cols)
{
    const gsa_status status = gsa_ref_shape(b, "select_forward", rows, cols);
    if (status != GSA_OK) return status;
    row_job job = { .y = y,
                    .mask = mask,
                    .table = a,
                    .c = c,
                    .rows = rows,
                    .cols = cols,
                    .chunk = ref_row_chunk(cols) };
    gsa_team_run(b->team, ref_items(rows, job.chunk), select_chunk, &job);
    return GSA_OK;
}

static void select_back_chunk(void *context, int64_t item)
{
    const row_job *job = context;
    const int64_t cols = job->cols, last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) {
        real *to = job->mask[row] ? job->y : job->dc;
        if (to != NULL) ref_axpy(to + row * cols, 1, job->table + row * cols, cols);
    }
}

static gsa_status select_backward(gsa_backend *b, void *da, void *dc, const uint8_t *mask,
                                  const void *dy, int64_t rows, int64_t cols)
{
    const gsa_status status = gsa_ref_shape(b, "select_backward", rows, cols);
    if (status != GSA_OK) return status;
    row_job job = { .y = da,
                    .dc = dc,
                    .mask = mask,
                    .table = dy,
                    .rows = rows,
                    .cols = cols,
                    .chunk = ref_row_chunk(cols) };
    gsa_team_run(b->team, ref_items(rows, job.chunk), select_back_chunk, &job);
    return GSA_OK;
}

void GSA_REF(fill_rows)(gsa_backend *b)
{
    b->gather_forward = gather_forward;
    b->gather_backward = gather_backward;
    b->select_forward = select_forward;
    b->select_backward = select_backward;
}
