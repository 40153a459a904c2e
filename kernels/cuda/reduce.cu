/* reduce.cu - sums, the count of values that are not finite, the clipping factor: a block a chunk,
 * and the last block adds up what all have. The gradient of a bias, and other sums of columns. */
#include "kernels/cuda/reduce.h"

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    reduce_chunk(GSA_ARGUMENT(gsa_cuda_total) total, const float *x, const float *target, int what,
                 int64_t count)
{
    const int64_t first = (int64_t)blockIdx.x * GSA_REDUCE_CHUNK,
                  last = min(first + GSA_REDUCE_CHUNK, count);
    double sum = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += GSA_ELEMENTS) {
        const double value = (double)__ldg(x + i) - (target ? (double)__ldg(target + i) : 0);
        sum += what == GSA_SUM_OF       ? value
               : what == GSA_SQUARES_OF ? value * value
                                        : !isfinite(value);
    }
    sum = gsa_sum_block(sum);
    if (threadIdx.x == 0) total.partial[blockIdx.x] = sum;
    gsa_finish(total);
}

gsa_status gsa_cuda_reduce(gsa_backend *b, const char *op, const void *x, const void *target,
                           int what, int64_t count, gsa_cuda_total total)
{
    GSA_TRY(gsa_ref_shape(b, op, count, 1));
    const int64_t blocks = gsa_cuda_blocks(b, op, count > 0 ? count : 1, GSA_REDUCE_CHUNK);
    if (blocks < 0) return b->error.status;
    GSA_TRY(gsa_cuda_partials(b, op, blocks, &total));
    return GSA_RUN(b, reduce_chunk, blocks, GSA_ELEMENTS, total, (const float *)x,
                   (const float *)target, what, count);
}

static gsa_status sum(gsa_backend *b, double *out, const void *x, int64_t count)
{
    return gsa_cuda_reduce(b, "sum", x, NULL, GSA_SUM_OF, count, { out });
}

static gsa_status sum_squares(gsa_backend *b, double *out, const void *x, int accumulate,
                              int64_t count)
{
    return gsa_cuda_reduce(b, "sum_squares", x, NULL, GSA_SQUARES_OF, count, { out, accumulate });
}

static gsa_status count_bad(gsa_backend *b, int64_t *out, const void *x, int64_t count)
{
    return gsa_cuda_reduce(b, "count_bad", x, NULL, GSA_BAD_OF, count, { NULL, 0, out });
}

static gsa_status clip(gsa_backend *b, double *control, const double *squares, double max_norm,
                       int latch)
{
    if (!(max_norm >= 0))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "clip: max_norm = %g is negative", max_norm);
    const auto factor = [=] __device__(int64_t) {
        const double norm = sqrt(*squares);
        control[0] = norm;
        if (!isfinite(norm) || (latch && isnan(control[1]))) control[1] = NAN;
        else control[1] = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
    };
    return gsa_cuda_each<GSA_WARP>(b, "clip", 1, factor);
}

/* ---- columns ------------------------------------------------------------------------------- */
enum { PARTIALS = 128 };
static const int64_t CHUNK = 256; /* rows of a partial sum at least */

static __global__ void __launch_bounds__(GSA_COLUMN_THREADS)
    sum_columns(GSA_ARGUMENT(gsa_cuda_columns) job)
{
    gsa_sum_columns(job, blockIdx.x);
}

static int64_t chunk_rows(int64_t rows)
{
    return max((rows + PARTIALS - 1) / PARTIALS, CHUNK);
}

int64_t gsa_cuda_column_room(int64_t rows, int64_t cols)
{
    const int64_t chunk = chunk_rows(rows);
    return 2 * ((rows + chunk - 1) / chunk) * cols;
}

/* Into chunks, and as many slices as there are counters. */
static void cut(gsa_backend *b, gsa_cuda_columns *job)
{
    const int64_t slices = (job->cols + GSA_WARP - 1) / GSA_WARP - job->first;
    job->chunk = chunk_rows(job->rows);
    job->chunks = (job->rows + job->chunk - 1) / job->chunk;
    job->counters = gsa_cuda_of(b)->counters;
    job->slices = min(slices, (int64_t)GSA_CUDA_COUNTERS);
}

static gsa_status run(gsa_backend *b, gsa_cuda_columns job)
{
    if (job.rows == 0) return GSA_OK;
    for (; job.first * GSA_WARP < job.cols; job.first += job.slices) {
        cut(b, &job);
        GSA_TRY(GSA_RUN(b, sum_columns, job.chunks * job.slices, GSA_COLUMN_THREADS, job));
    }
    return GSA_OK;
}

gsa_status gsa_cuda_column_sums(gsa_backend *b, float *out, const float *x, int64_t rows,
                                int64_t cols, int64_t labels, float *room)
{
    gsa_cuda_columns job = {};
    job.out = out, job.partial = room, job.x = x, job.rows = rows, job.cols = cols,
    job.labels = labels;
    return run(b, job);
}

gsa_status gsa_cuda_norm_sums(gsa_backend *b, float *dgain, float *dbias, const float *dy,
                              const float *x, const float *mean, const float *rstd, int64_t rows,
                              int64_t cols, gsa_cuda_columns *later)
{
    gsa_cuda_columns job = {};
    GSA_TRY(gsa_cuda_lay(b, "norm_backward", [&](gsa_cuda_room &room) {
        room.cut(job.partial, gsa_cuda_column_room(rows, cols));
    }));
    job.x = dy, job.rows = rows, job.cols = cols;
    job.out = dbias, job.weighted = dgain, job.norm_x = x, job.mean = mean, job.rstd = rstd;
    cut(b, &job);
    if (later == NULL || job.slices * GSA_WARP < cols) return run(b, job);
    *later = job;
    return GSA_OK;
}

static gsa_status bias_backward(gsa_backend *b, void *dbias, const void *dy, int64_t rows,
                                int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "bias_backward", rows, cols));
    if (dbias == NULL) return GSA_OK;
    return gsa_cuda_norm_sums(b, NULL, (float *)dbias, (const float *)dy, NULL, NULL, NULL, rows,
                              cols, NULL);
}

void gsa_cuda_fill_reduce(gsa_backend *b)
{
    b->sum = sum;
    b->sum_squares = sum_squares;
    b->count_bad = count_bad;
    b->clip = clip;
    b->bias_backward = bias_backward;
}
