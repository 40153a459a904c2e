/* pool.c - mean or first maximum over the rows of each example. */
#include "kernels/ref/ref.h"

typedef struct pool_job {
    real *y;
    const real *x;
    int32_t *arg;
    const int32_t *kept_arg;
    const int64_t *offset;
    int accumulate;       /* backward */
    int64_t cols, slices; /* items = examples x slices of REF_COLUMNS columns */
} pool_job;

typedef struct pool_item {
    int64_t example, first_row, last_row, first_col, width;
} pool_item;

static pool_item item_of(const pool_job *job, int64_t item)
{
    const int64_t example = item / job->slices, first = item % job->slices * REF_COLUMNS;
    return (pool_item){ example, job->offset[example], job->offset[example + 1], first,
                        ref_smaller(REF_COLUMNS, job->cols - first) };
}

static void mean_item(void *context, int64_t item)
{
    const pool_job *job = context;
    const pool_item at = item_of(job, item);
    double sum[REF_COLUMNS] = { 0 };
    for (int64_t row = at.first_row; row < at.last_row; row++) {
        const real *x = job->x + row * job->cols + at.first_col;
        for (int64_t i = 0; i < at.width; i++) sum[i] += (double)x[i];
    }
    const double share = at.last_row > at.first_row ? 1 / (double)(at.last_row - at.first_row) : 0;
    real *y = job->y + at.example * job->cols + at.first_col;
    for (int64_t i = 0; i < at.width; i++) y[i] = (real)(sum[i] * share);
}

/* The first NaN wins over every number, so that a NaN is never lost. */
static void maximum_item(void *context, int64_t item)
{
    const pool_job *job = context;
    const pool_item at = item_of(job, item);
    const size_t first = (size_t)(at.example * job->cols + at.first_col), width = (size_t)at.width;
    const int none = at.first_row == at.last_row;
    real best[REF_COLUMNS] = { 0 };
    int32_t arg[REF_COLUMNS];
    if (!none) memcpy(best, job->x + at.first_row * job->cols + at.first_col, sizeof(real) * width);
    for (int64_t i = 0; i < REF_COLUMNS; i++) arg[i] = none ? -1 : (int32_t)at.first_row;
    for (int64_t row = at.first_row + 1; row < at.last_row; row++) {
        const real *x = job->x + row * job->cols + at.first_col;
        for (int64_t i = 0; i < at.width; i++) {
            const int more = (x[i] > best[i]) | (isnan(x[i]) & !isnan(best[i]));
            best[i] = more ? x[i] : best[i];
            arg[i] = more ? (int32_t)row : arg[i];
        }
    }
    memcpy(job->y + first, best, sizeof(real) * width);
    memcpy(job->arg + first, arg, sizeof *arg * width);
}

static void mean_back_item(void *context, int64_t item)
{
    const pool_job *job = context;
    const pool_item at = item_of(job, item);
    const real share = at.last_row > at.first_row ? 1 / (real)(at.last_row - at.first_row) : 0;
    const real *dy = job->x + at.example * job->cols + at.first_col;
    for (int64_t row = at.first_row; row < at.last_row; row++) {
        real *dx = job->y + row * job->cols + at.first_col;
        if (job->accumulate) ref_axpy(dx, share, dy, at.width);
        else
            for (int64_t i = 0; i < at.width; i++) dx[i] = share * dy[i];
    }
}

static void maximum_back_item(void *context, int64_t item)
{
    const pool_job *job = context;
    const pool_item at = item_of(job, item);
    const real *dy = job->x + at.example * job->cols;
    const int32_t *arg = job->kept_arg + at.example * job->cols;
    for (int64_t row = at.first_row; row < at.last_row && !job->accumulate; row++)
        memset(job->y + row * job->cols + at.first_col, 0, sizeof(real) * (size_t)at.width);
    for (int64_t i = at.first_col; i < at.first_col + at.width; i++)
        if (arg[i] >= 0) job->y[arg[i] * job->cols + i] += dy[i];
}

static gsa_status run(gsa_backend *b, const char *op, pool_job *job, int lacks_arg,
                      void (*body)(void *, int64_t), int64_t examples)
{
    const gsa_status status = gsa_ref_shape(b, op, examples, job->cols);
    if (status != GSA_OK) return status;
    if (lacks_arg)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a maximum needs arg [examples, cols], which is NULL", op);
    job->slices = ref_items(job->cols, REF_COLUMNS);
    gsa_team_run(b->team, examples * job->slices, body, job);
    return GSA_OK;
}

static gsa_status pool_forward(gsa_backend *b, void *y, int32_t *arg, const void *x,
                               const int64_t *offset, int maximum, int64_t examples, int64_t cols)
{
    pool_job job = { .y = y, .x = x, .arg = arg, .offset = offset, .cols = cols };
    return run(b, "pool_forward", &job, maximum && arg == NULL, maximum ? maximum_item : mean_item,
               examples);
}

static gsa_status pool_backward(gsa_backend *b, void *dx, const void *dy, const int32_t *arg,
                                const int64_t *offset, int maximum, int accumulate,
                                int64_t examples, int64_t cols)
{
    pool_job job = {
        .y = dx, .x = dy, .kept_arg = arg, .offset = offset, .accumulate = accumulate, .cols = cols
    };
    if (dx == NULL) return GSA_OK;
    return run(b, "pool_backward", &job, maximum && arg == NULL,
               maximum ? maximum_back_item : mean_back_item, examples);
}

void GSA_REF(fill_pool)(gsa_backend *b)
{
    b->pool_forward = pool_forward;
    b->pool_backward = pool_backward;
}
