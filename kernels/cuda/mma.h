/* mma.h - products of a warp on tensor cores, sums in float: D [16,8] += A [16,8] B [8,8] of tf32
 * and D [16,8] += A [16,16] B [16,8] of bf16; and their plain twins, for the executor and to be
 * compared with (tests/simt/mma_device.cu). With copy.h the only inline PTX.
 *
 * tf32 is a float with 10 bits after the point; x = high + low with both in tf32 keeps 21 of
 * float's 23, so three products of tf32 are as accurate as one of floats.
 *
 * Who holds what (PTX ISA, matrix fragments of mma.m16n8k8, .tf32), lane = 4 g + t:
 *   A  a0 (g, t)   a1 (g+8, t)   a2 (g, t+4)   a3 (g+8, t+4)
 *   B  b0 (t, g)   b1 (t+4, g)
 *   D  d0 (g, 2t)  d1 (g, 2t+1)  d2 (g+8, 2t)  d3 (g+8, 2t+1)
 * and of mma.m16n8k16, .bf16, two neighbours a register, the first in its lower half; D as above:
 *   A  a0 (g, 2t..)   a1 (g+8, 2t..)   a2 (g, 2t+8..)   a3 (g+8, 2t+8..)
 *   B  b0 (2t.., g)   b1 (2t+8.., g) */
#ifndef GSA_CUDA_MMA_H
#define GSA_CUDA_MMA_H
#include "kernels/cuda/bf16.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GSA_TENSOR_CORES 1
#endif
#if defined(GSA_TENSOR_CORES) || !defined(__CUDACC__)
#define GSA_TENSOR_WAY                                                                             \
    1 /* windows may go on tensor cores: there, and on the executor; for 75 no such code is made   \
       */
#else
#define GSA_TENSOR_WAY 0
#endif

/* ---- the plain twins ----------------------------------------------------------------------- */
GSA_DEVICE float gsa_twin_tf32(float x)
{
    const uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x;
    return __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}

/* Two registers of another lane at once. */
GSA_DEVICE uint2 gsa_words_of(uint32_t x, uint32_t y, int lane)
{
    const uint64_t got = __shfl_sync(GSA_ALL_LANES, (uint64_t)y << 32 | x, lane);
    return make_uint2((uint32_t)got, (uint32_t)(got >> 32));
}

GSA_DEVICE float2 gsa_pair_of(float x, float y, int lane)
{
    const uint2 got = gsa_words_of(__float_as_uint(x), __float_as_uint(y), lane);
    return make_float2(__uint_as_float(got.x), __uint_as_float(got.y));
}

/* Products of tf32 are exact in float; sums are rounded term by term, which tensor cores do in
 * their own way. */
GSA_DEVICE void gsa_twin_mma_tf32(float &d0, float &d1, float &d2, float &d3, const float *a,
                                  const float *b)
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

GSA_DEVICE float gsa_bf16_dot(uint32_t x, uint32_t y)
{
    return __uint_as_float(x << 16) * __uint_as_float(y << 16) +
           __uint_as_float(x & 0xffff0000u) * __uint_as_float(y & 0xffff0000u);
}

/* Products of bf16 are exact in float, too. */
GSA_DEVICE void gsa_twin_mma_bf16(float &d0, float &d1, float &d2, float &d3, const uint32_t *a,
                                  const uint32_t *b)
{
    const int lane = threadIdx.x % GSA_WARP, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 4; k++) {
        const uint2 near_row = gsa_words_of(a[0], a[2], 4 * g + k); /* (g, 2k..), (g, 2k+8..) */
        const uint2 far_row = gsa_words_of(a[1], a[3], 4 * g + k);  /* (g+8, 2k..), (g+8, 2k+8..) */
        const uint2 even = gsa_words_of(b[0], b[1], 4 * (2 * t) + k); /* (2k.., 2t), (2k+8.., 2t) */
        const uint2 odd = gsa_words_of(b[0], b[1], 4 * (2 * t + 1) + k);
        d0 += gsa_bf16_dot(near_row.x, even.x) + gsa_bf16_dot(near_row.y, even.y);
        d1 += gsa_bf16_dot(near_row.x, odd.x) + gsa_bf16_dot(near_row.y, odd.y);
        d2 += gsa_bf16_dot(far_row.x, even.x) + gsa_bf16_dot(far_row.y, even.y);
        d3 += gsa_bf16_dot(far_row.x, odd.x) + gsa_bf16_dot(far_row.y, odd.y);
    }
}

GSA_DEVICE void gsa_twin_load_transposed(uint32_t *x, const void *row)
{
    const int lane = threadIdx.x % GSA_WARP, g = lane / 4, t = lane % 4;
    for (int m = 0; m < 4; m++) {
        const uint16_t *const even = (const uint16_t *)__shfl_sync(GSA_ALL_LANES, (uint64_t)row,
                                                                   8 * m + 2 * t),
                              *const odd = (const uint16_t *)__shfl_sync(
                                  GSA_ALL_LANES, (uint64_t)row, 8 * m + 2 * t + 1);
        x[m] = (uint32_t)odd[g] << 16 | even[g];
    }
}

GSA_DEVICE uint32_t gsa_twin_bf16_pair(float low, float high)
{
    return gsa_bf16_bits(low) | gsa_bf16_bits(high) << 16;
}

#if defined(GSA_TENSOR_CORES)
/* ---- tensor cores -------------------------------------------------------------------------- */
/* The nearest number of tf32, of two the one further from 0. */
GSA_DEVICE float gsa_tf32(float x)
{
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
}

GSA_DEVICE void gsa_mma_tf32(float &d0, float &d1, float &d2, float &d3, const float *a,
                             const float *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

GSA_DEVICE void gsa_mma_bf16(float &d0, float &d1, float &d2, float &d3, const uint32_t *a,
                             const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Four blocks of 8 x 8 numbers of 16 bits in shared memory, transposed: lane 8 m + r names row r of
 * block m, 16 bytes; of each block the lane is given (2t, g) and (2t+1, g). */
GSA_DEVICE void gsa_load_transposed(uint32_t *x, const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

/* Two numbers rounded to bf16, the first in the lower half. */
GSA_DEVICE uint32_t gsa_bf16_pair(float low, float high)
{
    uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}
#else
GSA_DEVICE float gsa_tf32(float x)
{
    return gsa_twin_tf32(x);
}

GSA_DEVICE void gsa_mma_tf32(float &d0, float &d1, float &d2, float &d3, const float *a,
                             const float *b)
{
    gsa_twin_mma_tf32(d0, d1, d2, d3, a, b);
}

GSA_DEVICE void gsa_mma_bf16(float &d0, float &d1, float &d2, float &d3, const uint32_t *a,
                             const uint32_t *b)
{
    gsa_twin_mma_bf16(d0, d1, d2, d3, a, b);
}

GSA_DEVICE void gsa_load_transposed(uint32_t *x, const void *row)
{
    gsa_twin_load_transposed(x, row);
}

GSA_DEVICE uint32_t gsa_bf16_pair(float low, float high)
{
    return gsa_twin_bf16_pair(low, high);
}
#endif

#endif
