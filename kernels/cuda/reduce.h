/* reduce.h - sums in double over fixed chunks. Device code. */
#ifndef GSA_CUDA_REDUCE_H
#define GSA_CUDA_REDUCE_H
#include "kernels/cuda/device.h"

/* The sum over a block of at most GSA_ELEMENTS threads, in thread 0: lanes by a tree, then warps in
 * order. Every thread calls it. */
GSA_DEVICE double gsa_sum_block(double x)
{
    GSA_SHARED(double, warps, [GSA_ELEMENTS / GSA_WARP]);
    x = gsa_sum_lanes(x, GSA_WARP);
    if (threadIdx.x % GSA_WARP == 0) warps[threadIdx.x / GSA_WARP] = x;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned w = 1; w < blockDim.x / GSA_WARP; w++) x += warps[w];
    return x;
}

/* What a reduction leaves: *sum, *count or, as a float, *loss = scale x sum. */
typedef struct gsa_cuda_total {
    double *partial; /* [partials] */
    int64_t partials;
    unsigned *counter;
    double *sum;
    int accumulate;
    int64_t *count;
    float *loss;
    double scale;
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

#endif
