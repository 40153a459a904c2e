/* reduce.h - sums in a fixed order: in double over chunks, and down columns. Device code. */
#ifndef GSA_CUDA_REDUCE_H
#define GSA_CUDA_REDUCE_H
#include "kernels/cuda/device.h"

/* x of all threads of a block of at most GSA_ELEMENTS, in every one of them: lanes by a tree, then
 * warps in order. Every thread calls it; what they shared before they are through with. */
template <class Join> GSA_DEVICE double gsa_fold_block(double x, Join join)
{
    GSA_SHARED(double, warps, [GSA_ELEMENTS / GSA_WARP]);
    GSA_UNROLL
    for (int step = GSA_WARP / 2; step > 0; step >>= 1)
        x = join(x, __shfl_xor_sync(GSA_ALL_LANES, x, step));
    __syncthreads();
    if (threadIdx.x % GSA_WARP == 0) warps[threadIdx.x / GSA_WARP] = x;
    __syncthreads();
    x = warps[0];
    for (unsigned w = 1; w < blockDim.x / GSA_WARP; w++) x = join(x, warps[w]);
    return x;
}

GSA_DEVICE double gsa_sum_block(double x)
{
    return gsa_fold_block(x, [](double a, double b) { return a + b; });
}

/* Of one column, in the threads of lane 0: what rows from first to last - 1 have, one of each(row)
 * after another by lane, then by join in the order of lanes. A block is 32 columns of
 * GSA_COLUMN_LANES; every thread calls it. */
enum {
    GSA_COLUMN_LANES = 8 /* rows that a block reads at a time */,
    GSA_COLUMN_THREADS = GSA_WARP * GSA_COLUMN_LANES
};
template <class T, class Each, class Join>
GSA_DEVICE T gsa_fold_column(T value, int64_t first, int64_t last, Each each, Join join)
{
    GSA_SHARED(T, values, [GSA_COLUMN_LANES][GSA_WARP + 1]);
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    for (int64_t row = first + lane; row < last; row += GSA_COLUMN_LANES)
        value = join(value, each(row));
    values[lane][column] = value;
    __syncthreads();
    for (int l = 1; lane == 0 && l < GSA_COLUMN_LANES; l++) value = join(value, values[l][column]);
    return value;
}

/* What a reduction leaves: *sum, *count or, as a float, *loss = scale x sum. */
typedef struct gsa_cuda_total {
    double *sum = NULL;
    int accumulate = 0;
    int64_t *count = NULL;
    float *loss = NULL;
    double scale = 0;
    double *partial = NULL; /* [partials] */
    int64_t partials = 0;
    unsigned *counter = NULL;
} gsa_cuda_total;

/* The partial sums are, once every block has been here: the last adds them up, in their order.
 * Every thread calls it. */
GSA_DEVICE void gsa_finish(const gsa_cuda_total &total)
{
    if (!gsa_last_block(total.counter, gridDim.x)) return;
    const volatile double *partial = total.partial;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < total.partials; i += blockDim.x) sum += partial[i];
    sum = gsa_sum_block(sum);
    if (threadIdx.x > 0) return;
    if (total.sum) *total.sum = total.accumulate ? *total.sum + sum : sum;
    if (total.count) *total.count = (int64_t)sum;
    if (total.loss) *total.loss = (float)(total.scale * sum);
}

/* A total of so many partial sums, in scratch. */
static inline gsa_status gsa_cuda_partials(gsa_backend *b, const char *op, int64_t partials,
                                           gsa_cuda_total *total)
{
    total->partials = partials, total->counter = gsa_cuda_of(b)->counters;
    return gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) { room.cut(total->partial, partials); });
}

/* The total of x - target (NULL: 0), of its squares, or of what is not finite. */
enum { GSA_SUM_OF, GSA_SQUARES_OF, GSA_BAD_OF };
gsa_status gsa_cuda_reduce(gsa_backend *b, const char *op, const void *x, const void *target,
                           int what, int64_t count, gsa_cuda_total total);

/* ---- sums over rows, column by column: rows are cut into chunks by sizes alone, each chunk has
 * its partial sums, which are added in the order of chunks */
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
