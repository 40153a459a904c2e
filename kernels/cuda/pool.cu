/* pool.cu - mean or first maximum over the rows of each example: a block has 32 columns of one
 * example, eight rows at a time. */
#include "kernels/cuda/reduce.h"

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

typedef struct pool_place { /* a thread's: a column of an example; c: among all of y. No rows where
                               there is no such column */
    bool there;
    int64_t column, c, first, last;
} pool_place;

GSA_DEVICE pool_place find_place(const pool_job &job)
{
    const int64_t example = blockIdx.x / job.slices,
                  column = blockIdx.x % job.slices * GSA_WARP + threadIdx.x % GSA_WARP;
    const int64_t first = __ldg(job.offset + example);
    const bool there = column < job.cols;
    return pool_place{ there, column, example * job.cols + column, first,
                       there ? __ldg(job.offset + example + 1) : first };
}

static __global__ void __launch_bounds__(GSA_COLUMN_THREADS) pool_rows(GSA_ARGUMENT(pool_job) job)
{
    const pool_place at = find_place(job);
    const auto x = [&](int64_t row) { return __ldg(job.x + row * job.cols + at.column); };
    const bool writes = at.there && threadIdx.x < GSA_WARP;
    if (job.maximum) {
        const pool_best best = gsa_fold_column(
            pool_best{ 0, -1 }, at.first, at.last,
            [&](int64_t row) {
                return pool_best{ x(row), row };
            },
            better);
        if (writes) job.y[at.c] = best.value, job.arg[at.c] = (int32_t)best.row;
    } else {
        const float sum =
            gsa_fold_column(0.0f, at.first, at.last, x, [](float a, float b) { return a + b; });
        if (writes) job.y[at.c] = at.last > at.first ? sum / (float)(at.last - at.first) : 0;
    }
}

/* Of a maximum one row has all of dy; where it is added the others are not touched. */
static __global__ void __launch_bounds__(GSA_COLUMN_THREADS) pool_back(GSA_ARGUMENT(pool_job) job)
{
    pool_place at = find_place(job);
    if (at.first == at.last) return;
    const float dy = __ldg(job.x + at.c), each = dy / (float)(at.last - at.first);
    const int64_t best = job.maximum ? __ldg(job.kept_arg + at.c) : -1;
    if (job.maximum && job.accumulate) at.first = best, at.last = best + 1;
    for (int64_t row = at.first + threadIdx.x / GSA_WARP; row < at.last; row += GSA_COLUMN_LANES) {
        const float more = !job.maximum ? each : row == best ? dy : 0;
        float *const dx = job.y + row * job.cols + at.column;
        *dx = job.accumulate ? *dx + more : more;
    }
}

static gsa_status run(gsa_backend *b, const char *op, void (*pool)(const pool_job), pool_job job,
                      int64_t examples)
{
    GSA_TRY(gsa_ref_shape(b, op, examples, job.cols));
    if (job.maximum && job.arg == NULL && job.kept_arg == NULL)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a maximum needs arg [examples, cols], which is NULL", op);
    job.slices = (job.cols + GSA_WARP - 1) / GSA_WARP;
    return GSA_RUN_OVER(b, op, examples * job.slices, 1, GSA_COLUMN_THREADS, pool, job);
}

static gsa_status pool_forward(gsa_backend *b, void *y, int32_t *arg, const void *x,
                               const int64_t *offset, int maximum, int64_t examples, int64_t cols)
{
    return run(b, "pool_forward", pool_rows,
               { gsa_floats(y), gsa_floats(x), arg, NULL, offset, maximum, 0, cols, 0 }, examples);
}

static gsa_status pool_backward(gsa_backend *b, void *dx, const void *dy, const int32_t *arg,
                                const int64_t *offset, int maximum, int accumulate,
                                int64_t examples, int64_t cols)
{
    if (dx == NULL) return GSA_OK;
    return run(b, "pool_backward", pool_back,
               { gsa_floats(dx), gsa_floats(dy), NULL, arg, offset, maximum, accumulate, cols, 0 },
               examples);
}

void gsa_cuda_fill_pool(gsa_backend *b)
{
    b->pool_forward = pool_forward;
    b->pool_backward = pool_backward;
}
