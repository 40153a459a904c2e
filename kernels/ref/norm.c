/* norm.c - layer norm (Ba, Kiros, Hinton 2016) and the bias that is added to every row. */
#include "kernels/ref/ref.h"

typedef struct norm_job {
    real *y, *mean, *rstd; /* forward */
    real *dx, *dgain,
        *dbias; /* backward; dgain and dbias are partials [items, cols] here, or NULL */
    const real *x, *dy, *gain, *bias;
    const real *kept_mean, *kept_rstd;
    double eps;
    int accumulate; /* dx */
    int64_t rows, cols, chunk, stride;
} norm_job;

/* sum_i (x_i - shift)^power in four independent sums of double. */
static double shifted_sum(const real *x, double shift, int square, int64_t count)
{
    double lane[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int l = 0; l < 4; l++) {
            const double gap = (double)x[i + l] - shift;
            lane[l] += square ? gap * gap : gap;
        }
    for (int l = 0; i < count; i++, l++) {
        const double gap = (double)x[i] - shift;
        lane[l] += square ? gap * gap : gap;
    }
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static void norm_row(const norm_job *job, int64_t row)
{
    const int64_t cols = job->cols;
    const real *restrict x = job->x + row * cols, *restrict gain = job->gain,
                         *restrict bias = job->bias;
    real *restrict y = job->y + row * cols;
    const double mean = shifted_sum(x, 0, 0, cols) / (double)cols;
    const double variance = shifted_sum(x, mean, 1, cols) / (double)cols;
    const real shift = (real)mean, scale = (real)(1 / sqrt(variance + job->eps));
    job->mean[row] = shift;
    job->rstd[row] = scale;
    for (int64_t i = 0; i < cols; i++) y[i] = (x[i] - shift) * scale * gain[i] + bias[i];
}

static void norm_chunk(void *context, int64_t item)
{
    const norm_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) norm_row(job, row);
}

static gsa_status check_norm(gsa_backend *b, const char *op, int64_t rows, int64_t cols)
{
    if (cols == 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: a row of 0 columns has no mean", op);
    return gsa_ref_shape(b, op, rows, cols);
}

static gsa_status norm_forward(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                               const void *gain, const void *bias, double eps, int64_t rows,
                               int64_t cols)
{
    const gsa_status status = check_norm(b, "norm_forward", rows, cols);
    if (status != GSA_OK) return status;
    norm_job job = { .y = y,
                     .mean = mean,
                     .rstd = rstd,
                     .x = x,
                     .gain = gain,
                     .bias = bias,
                     .eps = eps,
                     .rows = rows,
                     .cols = cols };
    job.chunk = ref_row_chunk(cols);
    gsa_team_run(b->team, ref_items(rows, job.chunk), norm_chunk, &job);
    return GSA_OK;
}

/* With xhat = (x - mean) rstd and g = dy gain:  dx += rstd (g - mean(g) - xhat mean(g xhat)). */
static void norm_back_row(const norm_job *job, int64_t row)
{
    const int64_t cols = job->cols;
    const real *restrict x = job->x + row * cols, *restrict dy = job->dy + row * cols,
                         *restrict gain = job->gain;
    const real shift = job->kept_mean[row], scale = job->kept_rstd[row];
    real *restrict dx = job->dx + row * cols;
    double sum_g = 0, sum_gx = 0, lane_g[4] = { 0 }, lane_gx[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= cols; i += 4)
        for (int l = 0; l < 4; l++) {
            const double g = (double)dy[i + l] * (double)gain[i + l];
            lane_g[l] += g;
            lane_gx[l] += g * (double)(x[i + l] - shift);
        }
    for (; i < cols; i++) {
        const double g = (double)dy[i] * (double)gain[i];
        sum_g += g;
        sum_gx += g * (double)(x[i] - shift);
    }
    sum_g += (lane_g[0] + lane_g[2]) + (lane_g[1] + lane_g[3]);
    sum_gx += (lane_gx[0] + lane_gx[2]) + (lane_gx[1] + lane_gx[3]);
    const real mean_g = (real)(sum_g / (double)cols),
               mean_gx = (real)(sum_gx * (double)scale / (double)cols);
    for (i = 0; i < cols; i++)
        dx[i] += scale * (dy[i] * gain[i] - mean_g - (x[i] - shift) * scale * mean_gx);
}

static void norm_back_chunk(void *context, int64_t item)
{
    const norm_job *job = context;
    const int64_t cols = job->cols, last = ref_smaller((item + 1) * job->chunk, job->rows);
    real *restrict dgain = job->dgain ? job->dgain + item * job->stride : NULL;
    real *restrict dbias = job->dbias ? job->dbias + item * job->stride : NULL;
    if (dgain) memset(dgain, 0, sizeof(real) * (size_t)cols);
    if (dbias) memset(dbias, 0, sizeof(real) * (size_t)cols);
    for (int64_t row = item * job->chunk; row < last; row++) {
        const real *restrict x = job->x ? job->x + row * cols : NULL, *restrict dy =
                                                                          job->dy + row * cols;
        if (job->dx && !job->accumulate)
            memset(job->dx + row * cols, 0, sizeof(real) * (size_t)cols);
        if (job->dx) norm_back_row(job, row);
        if (dgain) {
            const real shift = job->kept_mean[row], scale = job->kept_rstd[row];
            for (int64_t i = 0; i < cols; i++) dgain[i] += dy[i] * ((x[i] - shift) * scale);
        }
        if (dbias) ref_axpy(dbias, 1, dy, cols);
    }
}

/* Runs the items with one partial row per wanted sum and adds the partials in the order of
 * items. */
static gsa_status run_back(gsa_backend *b, const char *op, norm_job *job, real *dgain, real *dbias)
{
    const int64_t wanted = (dgain != NULL) + (dbias != NULL);
    job->chunk = ref_partial_chunk(job->rows, ref_row_chunk(job->cols));
    job->stride = job->cols * wanted;
    const int64_t items = ref_items(job->rows, job->chunk);
    real *partial = NULL;
    if (wanted > 0) {
        partial = gsa_ref_scratch(b, op, items * job->stride, sizeof(real));
        if (partial == NULL) return b->error.status;
    }
    job->dgain = dgain ? partial : NULL;
    job->dbias = dbias ? partial + (dgain ? job->cols : 0) : NULL;
    gsa_team_run(b->team, items, norm_back_chunk, job);
    if (dgain) ref_add_partials(dgain, job->dgain, items, job->stride, job->cols);
    if (dbias) ref_add_partials(dbias, job->dbias, items, job->stride, job->cols);
    return GSA_OK;
}

static gsa_status norm_backward(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                                const void *x, const void *gain, const void *mean, const void *rstd,
                                int accumulate, int64_t rows, int64_t cols)
{
    const gsa_status status = check_norm(b, "norm_backward", rows, cols);
    if (status != GSA_OK) return status;
    norm_job job = { .dx = dx,
                     .x = x,
                     .dy = dy,
                     .gain = gain,
                     .kept_mean = mean,
                     .kept_rstd = rstd,
                     .rows = rows,
                     .cols = cols };
    job.accumulate = accumulate;
    return run_back(b, "norm_backward", &job, dgain, dbias);
}

static void bias_chunk(void *context, int64_t item)
{
    const norm_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        ref_axpy(job->y + row * job->cols, 1, job->bias, job->cols);
}

static gsa_status bias_forward(gsa_backend *b, void *y, const void *bias, int64_t rows,
                               int64_t cols)
{
    const gsa_status status = gsa_ref_shape(b, "bias_forward", rows, cols);
    if (status != GSA_OK) return status;
    norm_job job = {
        .y = y, .bias = bias, .rows = rows, .cols = cols, .chunk = ref_row_chunk(cols)
    };
    gsa_team_run(b->team, ref_items(rows, job.chunk), bias_chunk, &job);
    return GSA_OK;
}

static gsa_status bias_backward(gsa_backend *b, void *dbias, const void *dy, int64_t rows,
                                int64_t cols)
{
    const gsa_status status = gsa_ref_shape(b, "bias_backward", rows, cols);
    if (status != GSA_OK || dbias == NULL) return status;
    norm_job job = { .dy = dy, .rows = rows, .cols = cols };
    return run_back(b, "bias_backward", &job, NULL, dbias);
}

void GSA_REF(fill_norm)(gsa_backend *b)
{
    b->norm_forward = norm_forward;
    b->norm_backward = norm_backward;
    b->bias_forward = bias_forward;
    b->bias_backward = bias_backward;
}
