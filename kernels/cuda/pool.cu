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

typedef struct pool_place { /* a thread's: column c of an example, every LANES-th row */
    int column, lane;
    int64_t example, c, first, last;
} pool_place;

GSA_DEVICE pool_place find_place(const pool_job &job)
{
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t example = blockIdx.x / job.slices;
    return pool_place{ column,
                       lane,
                       example,
                       blockIdx.x % job.slices * GSA_WARP + column,
                       __ldg(job.offset + example),
                       __ldg(job.offset + example + 1) };
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_mean(GSA_ARGUMENT(pool_job) job)
{
    GSA_SHARED(float, sums, [LANES][GSA_WARP + 1]);
    const pool_place at = find_place(job);
    float sum = 0;
    if (at.c < job.cols)
        for (int64_t row = at.first + at.lane; row < at.last; row += LANES)
            sum += __ldg(job.x + row * job.cols + at.c);
    sums[at.lane][at.column] = sum;
    __syncthreads();
    if (at.lane > 0 || at.c >= job.cols) return;
    for (int l = 1; l < LANES; l++) sum += sums[l][at.column];
    job.y[at.example * job.cols + at.c] =
        at.last > at.first ? sum / (float)(at.last - at.first) : 0;
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_maximum(GSA_ARGUMENT(pool_job) job)
{
    GSA_SHARED(pool_best, found, [LANES][GSA_WARP]);
    const pool_place at = find_place(job);
    pool_best best = { 0, -1 };
    if (at.c < job.cols)
        for (int64_t row = at.first + at.lane; row < at.last; row += LANES)
            best = better(best, pool_best{ __ldg(job.x + row * job.cols + at.c), row });
    found[at.lane][at.column] = best;
    __syncthreads();
    if (at.lane > 0 || at.c >= job.cols) return;
    for (int l = 1; l < LANES; l++) best = better(best, found[l][at.column]);
    job.y[at.example * job.cols + at.c] = best.row < 0 ? 0 : best.value;
    job.arg[at.example * job.cols + at.c] = (int32_t)best.row;
}

static __global__ void __launch_bounds__(GSA_WARP *LANES) pool_mean_back(GSA_ARGUMENT(pool_job) job)
{
    const pool_place at = find_place(job);
    if (at.c >= job.cols || at.first == at.last) return;
    const float share = __ldg(job.x + at.example * job.cols + at.c) / (float)(at.last - at.first);
    for (int64_t row = at.first + at.lane; row < at.last; row += LANES) {
        float *dx = job.y + row * job.cols + at.c;
        *dx = job.accumulate ? *dx + share : share;
    }
}

static __global__ void __launch_bounds__(GSA_WARP *LANES)
    pool_maximum_back(GSA_ARGUMENT(pool_job) job)
{
    const pool_place at = find_place(job);
    if (at.c >= job.cols) return;
    const int32_t best = __ldg(job.kept_arg + at.example * job.cols + at.c);
    const float dy = __ldg(job.x + at.example * job.cols + at.c);
    if (job.accumulate && at.lane == 0 && best >= 0) job.y[best * job.cols + at.c] += dy;
    if (job.accumulate) return;
    for (int64_t row = at.first + at.lane; row < at.last; row += LANES)
        job.y[row * job.cols + at.c] = row == best ? dy : 0;
}

static gsa_status run(gsa_backend *b, const char *op, void (*pool)(const pool_job), pool_job job,
                      int lacks_arg, int64_t examples)
{
    GSA_TRY(gsa_ref_shape(b, op, examples, job.cols));
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
