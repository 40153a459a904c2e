#include "wrong_kernels.h"

#define ALL 0xffffffffu

static __global__ void reverse(int *data, int barrier)
{
    GSA_SHARED(int, copy, [64]);
    copy[threadIdx.x] = data[threadIdx.x];
    if (barrier) __syncthreads();
    data[threadIdx.x] = copy[63 - threadIdx.x];
}
extern "C" cudaError_t run_reverse(int *data, int barrier)
{
    return GSA_LAUNCH(reverse, 1, 64, NULL, data, barrier);
}

static __global__ void lanes(int *data)
{
    const int lane = threadIdx.x % 32;
    int sum = lane;
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(ALL, sum, step);
    data[threadIdx.x] = sum;
    data[64 + threadIdx.x] = __shfl_up_sync(ALL, lane, 1, 8);
    data[128 + threadIdx.x] = __popc(__ballot_sync(ALL, lane % 3 == 0)) + 100 * __any_sync(ALL, lane == 5) +
                              1000 * __all_sync(ALL, lane < 31) + 10000 * __shfl_sync(ALL, lane, 3, 4);
}
extern "C" cudaError_t run_lanes(int *data)
{
    return GSA_LAUNCH(lanes, 1, 64, NULL, data);
}

static __global__ void count(int *data)
{
    atomicAdd(data, 1);
    atomicMax(data + 1, (int)(blockIdx.x * blockDim.x + threadIdx.x));
}
extern "C" cudaError_t run_count(int *data, unsigned blocks)
{
    return GSA_LAUNCH(count, blocks, 32, NULL, data);
}

static __global__ void unset(float *data)
{
    GSA_SHARED(float, copy, [32]);
    data[threadIdx.x] = copy[threadIdx.x];
}
extern "C" cudaError_t run_unset(float *data)
{
    return GSA_LAUNCH(unset, 1, 32, NULL, data);
}

static __global__ void half_barrier(int)
{
    if (threadIdx.x < 32) __syncthreads();
}
extern "C" cudaError_t run_half_barrier(void)
{
    return GSA_LAUNCH(half_barrier, 1, 64, NULL, 0);
}

static __global__ void lost_lane(int)
{
    if (threadIdx.x == 7) return;
    __syncwarp();
}
extern "C" cudaError_t run_lost_lane(void)
{
    return GSA_LAUNCH(lost_lane, 1, 32, NULL, 0);
}

static __global__ void two_masks(int)
{
    if (threadIdx.x < 16) (void)__ballot_sync(ALL, 1);
    else (void)__any_sync(ALL, 1);
}
extern "C" cudaError_t run_two_masks(void)
{
    return GSA_LAUNCH(two_masks, 1, 32, NULL, 0);
}

static __global__ void unnamed_lane(int)
{
    if (threadIdx.x < 16) (void)__shfl_xor_sync(0xffffu, 1, 16);
}
extern "C" cudaError_t run_unnamed_lane(void)
{
    return GSA_LAUNCH(unnamed_lane, 1, 32, NULL, 0);
}

static __global__ void much_shared(int)
{
    GSA_SHARED(double, big, [6145]);
    big[threadIdx.x] = 1;
}
extern "C" cudaError_t run_much_shared(void)
{
    return GSA_LAUNCH(much_shared, 1, 32, NULL, 0);
}

static __global__ void beside_shared(int)
{
    GSA_SHARED(int, small, [4]);
    volatile int *at = small;
    at[4 + threadIdx.x % 2] = 1;
}
extern "C" cudaError_t run_beside_shared(void)
{
    return GSA_LAUNCH(beside_shared, 1, 32, NULL, 0);
}

extern "C" cudaError_t run_odd_block(void)
{
    return GSA_LAUNCH(half_barrier, 1, 33, NULL, 0);
}
