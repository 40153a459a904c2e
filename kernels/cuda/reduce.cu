/* reduce.cu - sums, the count of values that are not finite, the clipping factor. A block a chunk,
 * and the last block adds up what all have. */
#include "kernels/cuda/reduce.h"

enum { SUM, SQUARES, BAD };

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    reduce_chunk(GSA_ARGUMENT(gsa_cuda_total) total, const float *x, int what, int64_t count)
{
    const int64_t first = (int64_t)blockIdx.x * GSA_REDUCE_CHUNK,
                  last = min(first + GSA_REDUCE_CHUNK, count);
    double sum = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += GSA_ELEMENTS) {
        const double value = (double)__ldg(x + i);
        sum += what == SUM ? value : what == SQUARES ? value * value : isfinite(value) ? 0 : 1;
    }
    sum = gsa_sum_block(sum);
    if (threadIdx.x == 0) total.partial[blockIdx.x] = sum;
    gsa_finish(total);
}

static gsa_status reduce(gsa_backend *b, const char *op, const void *x, int what, int64_t count,
                         gsa_cuda_total total)
{
    GSA_TRY(gsa_cuda_chunks(b, op, count, &total));
    return GSA_RUN(b, reduce_chunk, total.partials, GSA_ELEMENTS, total, (const float *)x, what,
                   count);
}

static gsa_status sum(gsa_backend *b, double *out, const void *x, int64_t count)
{
    gsa_cuda_total total = {};
    total.sum = out;
    return reduce(b, "sum", x, SUM, count, total);
}

static gsa_status sum_squares(gsa_backend *b, double *out, const void *x, int accumulate,
                              int64_t count)
{
    gsa_cuda_total total = {};
    total.sum = out, total.accumulate = accumulate;
    return reduce(b, "sum_squares", x, SQUARES, count, total);
}

static gsa_status count_bad(gsa_backend *b, int64_t *out, const void *x, int64_t count)
{
    gsa_cuda_total total = {};
    total.count = out;
    return reduce(b, "count_bad", x, BAD, count, total);
}

static __global__ void clip_factor(double *control, const double *squares, double max_norm,
                                   int latch)
{
    if (threadIdx.x > 0) return;
    const double norm = sqrt(*squares);
    control[0] = norm;
    if (!isfinite(norm) || (latch && isnan(control[1]))) control[1] = NAN;
    else control[1] = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
}

static gsa_status clip(gsa_backend *b, double *control, const double *squares, double max_norm,
                       int latch)
{
    if (!(max_norm >= 0))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "clip: max_norm = %g is negative", max_norm);
    return GSA_RUN(b, clip_factor, 1, GSA_WARP, control, squares, max_norm, latch);
}

void gsa_cuda_fill_reduce(gsa_backend *b)
{
    b->sum = sum;
    b->sum_squares = sum_squares;
    b->count_bad = count_bad;
    b->clip = clip;
}
