/* norm.cu - layer norm (Ba, Kiros, Hinton 2016); a warp a row. Mean first, then the squares of what
 * is left: no cancellation. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/device.h"

typedef struct norm_job {
    float *y, *mean, *rstd, *dx;
    const float *x, *dy, *gain, *bias, *kept_mean, *kept_rstd;
    float eps;
    int accumulate; /* dx */
    int64_t rows, cols;
} norm_job;

static __global__ void __launch_bounds__(GSA_THREADS) norm_rows(GSA_ARGUMENT(norm_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP, cols = job.cols;
    const int lane = threadIdx.x % GSA_WARP;
    if (row >= job.rows) return; /* a whole warp */
    const float *x = job.x + row * cols;
    float sum = 0, square = 0;
    for (int64_t c = lane; c < cols; c += GSA_WARP) sum += __ldg(x + c);
    const float mean = gsa_sum_lanes(sum, GSA_WARP) / (float)cols;
    for (int64_t c = lane; c < cols; c += GSA_WARP)
        square += (__ldg(x + c) - mean) * (__ldg(x + c) - mean);
    const float rstd = 1 / sqrtf(gsa_sum_lanes(square, GSA_WARP) / (float)cols + job.eps);
    for (int64_t c = lane; c < cols; c += GSA_WARP)
        job.y[row * cols + c] =
            (__ldg(x + c) - mean) * rstd * __ldg(job.gain + c) + __ldg(job.bias + c);
    if (lane == 0) job.mean[row] = mean, job.rstd[row] = rstd;
}

/* With xhat = (x - mean) rstd and g = dy gain:  dx += rstd (g - mean(g) - xhat mean(g xhat)). */
static __global__ void __launch_bounds__(GSA_THREADS) norm_rows_back(GSA_ARGUMENT(norm_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP, cols = job.cols;
    const int lane = threadIdx.x % GSA_WARP;
    if (row >= job.rows) return;
    const float *x = job.x + row * cols, *dy = job.dy + row * cols;
    const float mean = __ldg(job.kept_mean + row), rstd = __ldg(job.kept_rstd + row);
    float sum = 0, with_x = 0;
    for (int64_t c = lane; c < cols; c += GSA_WARP) {
        const float g = __ldg(dy + c) * __ldg(job.gain + c);
        sum += g;
        with_x += g * (__ldg(x + c) - mean);
    }
    const float mean_g = gsa_sum_lanes(sum, GSA_WARP) / (float)cols;
    const float mean_gx = gsa_sum_lanes(with_x, GSA_WARP) * rstd / (float)cols;
    for (int64_t c = lane; c < cols; c += GSA_WARP) {
        const float old = job.accumulate ? job.dx[row * cols + c] : 0;
        job.dx[row * cols + c] = old + rstd * (__ldg(dy + c) * __ldg(job.gain + c) - mean_g -
                                               (__ldg(x + c) - mean) * rstd * mean_gx);
    }
}

static gsa_status prepare(gsa_backend *b, const char *op, int64_t rows, int64_t cols,
                          int64_t *blocks)
{
    if (cols == 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: a row of 0 columns has no mean", op);
    GSA_TRY(gsa_cuda_shape(b, op, rows, cols));
    return gsa_cuda_grid(b, op, rows, GSA_THREADS / GSA_WARP, blocks);
}

static gsa_status norm_forward(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                               const void *gain, const void *bias, double eps, int64_t rows,
                               int64_t cols)
{
    int64_t blocks;
    norm_job job = {};
    GSA_TRY(prepare(b, "norm_forward", rows, cols, &blocks));
    job.y = (float *)y, job.mean = (float *)mean, job.rstd = (float *)rstd,
    job.x = (const float *)x;
    job.gain = (const float *)gain, job.bias = (const float *)bias, job.eps = (float)eps,
    job.rows = rows, job.cols = cols;
    return GSA_RUN(b, norm_rows, blocks, GSA_THREADS, job);
}

static gsa_status norm_backward(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                                const void *x, const void *gain, const void *mean, const void *rstd,
                                int accumulate, int64_t rows, int64_t cols)
{
    int64_t blocks;
    norm_job job = {};
    GSA_TRY(prepare(b, "norm_backward", rows, cols, &blocks));
    job.dx = (float *)dx, job.dy = (const float *)dy, job.x = (const float *)x,
    job.gain = (const float *)gain;
    job.accumulate = accumulate;
    job.kept_mean = (const float *)mean, job.kept_rstd = (const float *)rstd, job.rows = rows,
    job.cols = cols;
    if (dx) GSA_TRY(GSA_RUN(b, norm_rows_back, blocks, GSA_THREADS, job));
    if (dgain == NULL && dbias == NULL) return GSA_OK;
    return gsa_cuda_norm_sums(b, (float *)dgain, (float *)dbias, job.dy, job.x, job.kept_mean,
                              job.kept_rstd, rows, cols);
}

void gsa_cuda_fill_norm(gsa_backend *b)
{
    b->norm_forward = norm_forward;
    b->norm_backward = norm_backward;
}
