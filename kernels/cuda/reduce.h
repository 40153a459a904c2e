/* reduce.h - sums in double over fixed chunks. Device code. */
#ifndef GSA_CUDA_REDUCE_H
#define GSA_CUDA_REDUCE_H
#include "kernels/cuda/device.h"

/* The sum over a block of GSA_ELEMENTS threads, in thread 0: lanes by a tree, then warps in order.
 * Every thread calls it. */
GSA_DEVICE double gsa_sum_block(double x)
{
    GSA_SHARED(double, warps, [GSA_ELEMENTS / GSA_WARP]);
    x = gsa_sum_lanes(x, GSA_WARP);
    if (threadIdx.x % GSA_WARP == 0) warps[threadIdx.x / GSA_WARP] = x;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < GSA_ELEMENTS / GSA_WARP; w++) x += warps[w];
    return x;
}

/* Scratch for the partial sums of `count` elements, and the blocks that make them. */
static inline gsa_status gsa_cuda_partials(gsa_backend *b, const char *op, int64_t count,
                                           double **partial, int64_t *blocks)
{
    void *room;
    GSA_TRY(gsa_cuda_shape(b, op, count, 1));
    GSA_TRY(gsa_cuda_grid(b, op, count, GSA_REDUCE_CHUNK, blocks));
    GSA_TRY(gsa_cuda_scratch(b, op, *blocks, sizeof(double), &room));
    *partial = (double *)room;
    return GSA_OK;
}

/* What a reduction leaves: *sum or, as a float, *loss = scale x sum. */
typedef struct gsa_cuda_total {
    const double *partial;
    int64_t partials;
    double *sum;
    int accumulate;
    int64_t *count;
    float *loss;
    double scale;
} gsa_cuda_total;
gsa_status gsa_cuda_finish(gsa_backend *b, const gsa_cuda_total *total);

#endif
