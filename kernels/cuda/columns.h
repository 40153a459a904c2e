/* columns.h - sums over rows, column by column, in a fixed order: rows are cut into chunks by sizes
 * alone, each chunk has its partial sums, which are added in the order of chunks. */
#ifndef GSA_CUDA_COLUMNS_H
#define GSA_CUDA_COLUMNS_H
#include "kernels/cuda/reduce.h"

GSA_DEVICE void gsa_add_column(const gsa_cuda_columns &job, int64_t c)
{
    const volatile float *partial = job.partial;
    const int64_t to =
        job.labels > 0 ? c % job.labels * (job.cols / job.labels) + c / job.labels : c;
    float sum = 0, weighted = 0;
    for (int64_t i = 0; i < job.chunks; i++) {
        sum += partial[2 * i * job.cols + c];
        weighted += partial[(2 * i + 1) * job.cols + c];
    }
    if (job.out) job.out[to] += sum;
    if (job.weighted) job.weighted[to] += weighted;
}

/* A block: 32 columns of one chunk. The last block of a column's chunks adds up what they have, in
 * their order. */
GSA_DEVICE void gsa_sum_columns(const gsa_cuda_columns &job, int64_t block)
{
    const int64_t chunk = block / job.slices, slice = block % job.slices,
                  c = (job.first + slice) * GSA_WARP + threadIdx.x % GSA_WARP;
    const bool there = c < job.cols, writes = there && threadIdx.x < GSA_WARP;
    const int64_t first = chunk * job.chunk, end = there ? min(first + job.chunk, job.rows) : first;
    const float2 sum = gsa_fold_column(
        make_float2(0, 0), first, end,
        [&](int64_t row) {
            const float x = __ldg(job.x + row * job.cols + c);
            if (!job.weighted) return make_float2(x, 0);
            const float away = __ldg(job.norm_x + row * job.cols + c) - __ldg(job.mean + row);
            return make_float2(x, x * (away * __ldg(job.rstd + row)));
        },
        [](float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); });
    if (writes) {
        job.partial[2 * chunk * job.cols + c] = sum.x;
        job.partial[(2 * chunk + 1) * job.cols + c] = sum.y;
    }
    if (gsa_last_block(job.counters + slice, (unsigned)job.chunks) && writes)
        gsa_add_column(job, c);
}

/* Floats of room that the partial sums of one matrix need. */
int64_t gsa_cuda_column_room(int64_t rows, int64_t cols);

/* out[c] += sum over rows of x[row, c]. labels > 0: column c = head * labels + label goes to
 * out[label * heads + head]. */
gsa_status gsa_cuda_column_sums(gsa_backend *b, float *out, const float *x, int64_t rows,
                                int64_t cols, int64_t labels, float *room);

/* dgain[c] += sum of dy (x - mean) rstd;
 *     dbias[c] += sum of dy. Either may be NULL. Takes scratch. later: what is left to do, by a
 * kernel with blocks of GSA_COLUMN_THREADS for gsa_sum_columns, chunks x slices of them; NULL, and
 * where there are too many columns: it is done here. */
gsa_status gsa_cuda_norm_sums(gsa_backend *b, float *dgain, float *dbias, const float *dy,
                              const float *x, const float *mean, const float *rstd, int64_t rows,
                              int64_t cols, gsa_cuda_columns *later);

#endif
