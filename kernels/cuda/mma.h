/* mma.h - one product of a warp on tensor cores: D [16,8] += A [16,8] B [8,8], factors in tf32, sums in float; and its plain
 * twin, for architectures without it and for the executor. The one file with inline PTX.
 *
 * tf32 is a float with 10 bits behind the point; x = high + low with both in tf32 keeps 21 of float's 23, so three products
 * of tf32 are as accurate as one of floats.
 *
 * Who holds what (PTX ISA, matrix fragments of mma.m16n8k8, .tf32), lane = 4 g + t:
 *   A  a0 (g, t)   a1 (g+8, t)   a2 (g, t+4)   a3 (g+8, t+4)
 *   B  b0 (t, g)   b1 (t+4, g)
 *   D  d0 (g, 2t)  d1 (g, 2t+1)  d2 (g+8, 2t)  d3 (g+8, 2t+1) */
#ifndef GSA_CUDA_MMA_H
#define GSA_CUDA_MMA_H
#include "kernels/cuda/device.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GSA_TENSOR_CORES 1
#endif

/* The nearest number of tf32, of two the one further from 0. */
GSA_DEVICE float gsa_tf32(float x)
{
#if defined(GSA_TENSOR_CORES)
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
#else
    const uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x;
    return __uint_as_float((bits + 0x1000u) & 0xffffe000u);
#endif
}

#if defined(GSA_TENSOR_CORES)
GSA_DEVICE void gsa_mma_tf32(float &d0, float &d1, float &d2, float &d3, const float *a, const float *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
#else
/* Two registers of another lane at once. */
GSA_DEVICE float2 gsa_pair_of(float x, float y, int lane)
{
    const uint64_t both = (uint64_t)__float_as_uint(y) << 32 | __float_as_uint(x);
    const uint64_t got = __shfl_sync(GSA_ALL_LANES, both, lane);
    return make_float2(__uint_as_float((uint32_t)got), __uint_as_float((uint32_t)(got >> 32)));
}

/* Products of tf32 are exact in float; sums are rounded term by term, which tensor cores do in their own way. */
GSA_DEVICE void gsa_mma_tf32(float &d0, float &d1, float &d2, float &d3, const float *a, const float *b)
{
    const int lane = threadIdx.x % GSA_WARP, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 4; k++) {
        const float2 near_row = gsa_pair_of(a[0], a[2], 4 * g + k);   /* (g, k), (g, k+4) */
        const float2 far_row = gsa_pair_of(a[1], a[3], 4 * g + k);    /* (g+8, k), (g+8, k+4) */
        const float2 even = gsa_pair_of(b[0], b[1], 4 * (2 * t) + k); /* (k, 2t), (k+4, 2t) */
        const float2 odd = gsa_pair_of(b[0], b[1], 4 * (2 * t + 1) + k);
        d0 += near_row.x * even.x + near_row.y * even.y;
        d1 += near_row.x * odd.x + near_row.y * odd.y;
        d2 += far_row.x * even.x + far_row.y * even.y;
        d3 += far_row.x * odd.x + far_row.y * odd.y;
    }
}
#endif

#endif
