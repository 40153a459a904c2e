/* pool.cu - mean or first maximum over the rows of each example: a block has 32 columns of one
 * example, eight rows at a time. */
#include "kernels/cuda/device.h"

enum { LANES = 8 };

typedef struct pool_job {
    float *y;
    const float *x;
    int32_t *arg;
    const int32_t *kept_arg;
    const int64_t *offset;
    int maximum, accumulate; /* accumulate: backward */
    int64_t cols, slices;
} pool_job;

typedef struct pool_best {
    float value;
    int64_t row; /* -1: none yet */
} pool_best;

/* The first NaN wins over every number, then the larger, then the earlier row: in whichever order
 * rows come. */
GSA_DEVICE pool_best better(pool_best a, pool_best b)
{
    if (a.row < 0 || b.row < 0) return a.row < 0 ? b : a;
    const bool a_nan = isnan(a.value), b_nan = isnan(b.value);
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan && a.value != b.value) return a.value > b.value ? a : b;
    return a.row < b.row ? a : b;
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_mean(GSA_ARGUMENT(pool_job) job)
{
    GSA_SHARED(float, sums, [LANES][GSA_WARP + 1]);
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t example = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + column;
    const int64_t first = __ldg(job.offset + example), last = __ldg(job.offset + example + 1);
    float sum = 0;
    if (c < job.cols)
        for (int64_t row = first + lane; row < last; row += LANES)
            sum += __ldg(job.x + row * job.cols + c);
    sums[lane][column] = sum;
    __syncthreads();
    if (lane > 0 || c >= job.cols) return;
    for (int l = 1; l < LANES; l++) sum += sums[l][column];
    job.y[example * job.cols + c] = last > first ? sum / (float)(last - first) : 0;
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_maximum(GSA_ARGUMENT(pool_job) job)
{
    GSA_SHARED(pool_best, found, [LANES][GSA_WARP]);
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t example = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + column;
    const int64_t first = __ldg(job.offset + example), last = __ldg(job.offset + example + 1);
    pool_best best = { 0, -1 };
    if (c < job.cols)
        for (int64_t row = first + lane; row < last; row += LANES)
            best = better(best, pool_best{ __ldg(job.x + row * job.cols + c), row });
    found[lane][column] = best;
    __syncthreads();
    if (lane > 0 || c >= job.cols) return;
    for (int l = 1; l < LANES; l++) best = better(best, found[l][column]);
    job.y[example * job.cols + c] = best.row < 0 ? 0 : best.value;
    job.arg[example * job.cols + c] = (int32_t)best.row;
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_mean_back(GSA_ARGUMENT(pool_job) job)
{
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t example = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + column;
    const int64_t first = __ldg(job.offset + example), last = __ldg(job.offset + example + 1);
    if (c >= job.cols || first == last) return;
    const float share = __ldg(job.x + example * job.cols + c) / (float)(last - first);
    for (int64_t row = first + lane; row < last; row += LANES) {
        float *dx = job.y + row * job.cols + c;
        *dx = job.accumulate ? *dx + share : share;
    }
}

static __global__ void __launch_bounds__(GSA_WARP *LANES)
    pool_maximum_back(GSA_ARGUMENT(pool_job) job)
{
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t example = blockIdx.x / job.slices,
                  c = blockIdx.x % job.slices * GSA_WARP + column;
    if (c >= job.cols) return;
    const int32_t best = __ldg(job.kept_arg + example * job.cols + c);
    const float dy = __ldg(job.x + example * job.cols + c);
    if (job.accumulate && lane == 0 && best >= 0) job.y[best * job.cols + c] += dy;
    if (job.accumulate) return;
    const int64_t first = __ldg(job.offset + example), last = __ldg(job.offset + example + 1);
    for (int64_t row = first + lane; row < last; row += LANES)
        job.y[row * job.cols + c] = row == best ? dy : 0;
}

static gsa_status run(gsa_backend *b, const char *op, void (*pool)(const pool_job), pool_job job,
                      int lacks_arg, int64_t examples)
{
    GSA_TRY(gsa_cuda_shape(b, op, examples, job.cols));
    if (lacks_arg)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a maximum needs arg [examples, cols], which is NULL", op);
    job.slices = (job.cols + GSA_WARP - 1) / GSA_WARP;
    return GSA_RUN_OVER(b, op, examples * job.slices, 1, GSA_WARP * LANES, pool, job);
}

static gsa_status pool_forward(gsa_backend *b, void *y, int32_t *arg, const void *x,
                               const int64_t *offset, int maximum, int64_t examples, int64_t cols)
{
    const pool_job job = { (float *)y, (const float *)x, arg, NULL, offset, maximum, 0, cols, 0 };
    return run(b, "pool_forward", maximum ? pool_maximum : pool_mean, job, maximum && arg == NULL,
               examples);
}

static gsa_status pool_backward(gsa_backend *b, void *dx, const void *dy, const int32_t *arg,
                                const int64_t *offset, int maximum, int accumulate,
                                int64_t examples, int64_t cols)
{
    const pool_job job = { (float *)dx, (const float *)dy, NULL, arg, offset,
                           maximum,     accumulate,        cols, 0 };
    if (dx == NULL) return GSA_OK;
    return run(b, "pool_backward", maximum ? pool_maximum_back : pool_mean_back, job,
               maximum && arg == NULL, examples);
}

void gsa_cuda_fill_pool(gsa_backend *b)
{
    b->pool_forward = pool_forward;
    b->pool_backward = pool_backward;
}
