/* window_engine.h - how a tile of a window is multiplied on tensor cores (mma.h). Two kinds of
 * products:
 *   dots  x[r, c] = sum_i A[r, i] B[c, i]  scores and do.v: 16 x 16, over the columns of a head
 *   mix  acc[r, i] += sum_c W[r, c] B[c, i]
 *        o, dq, dk, dv: 16 x dim, over the columns of the window
 * An engine multiplies: window_tensor by tf32, window_bf16 by bf16. A and B are stored as the
 * engine's T, rows STRIDE numbers apart; W is floats. Outside the mask weights are 0, and 0 times
 * infinity is not 0: a tile with a number that is not finite is multiplied edge by edge
 * (attend_window.h). */
#ifndef GSA_CUDA_WINDOW_ENGINE_H
#define GSA_CUDA_WINDOW_ENGINE_H
#include "kernels/cuda/mma.h"
#include "kernels/cuda/window.h"

/* Numbers in shared memory: N are 16 bytes. */
template <class T> struct window_storage;
template <> struct window_storage<float> {
    enum { N = 4 };
    static __device__ __forceinline__ float get(const float *at)
    {
        return *at;
    }
    /* Not finite, or so large that tf32 rounds it to infinity. */
    static __device__ __forceinline__ bool large(const uint4 &x)
    {
        return !(fabsf(__uint_as_float(x.x)) < 3e38f) || !(fabsf(__uint_as_float(x.y)) < 3e38f) ||
               !(fabsf(__uint_as_float(x.z)) < 3e38f) || !(fabsf(__uint_as_float(x.w)) < 3e38f);
    }
};
template <> struct window_storage<gsa_bf16> {
    enum { N = 8 };
    static __device__ __forceinline__ float get(const gsa_bf16 *at)
    {
        return __uint_as_float((uint32_t)at->bits << 16);
    }
    static __device__ __forceinline__ bool not_finite(uint32_t x)
    {
        return (x & 0x7f800000u) == 0x7f800000u || (x & 0x7f80u) == 0x7f80u;
    }
    static __device__ __forceinline__ bool large(const uint4 &x)
    {
        return not_finite(x.x) || not_finite(x.y) || not_finite(x.z) || not_finite(x.w);
    }
};

/* Floats from one row of W to the next: no two lanes of a load in one bank. */
enum { WINDOW_W = 20 };

/* Who holds what where mma.h multiplies: elements of D. */
template <int D_> struct window_fragments {
    enum { D = D_, ROWS = 2, COLS = 4, OUTS = D_ / 4, LANES = 4 };
    static __device__ __forceinline__ int row(int lane, int a)
    {
        return lane / 4 + 8 * a;
    }
    static __device__ __forceinline__ int col(int lane, int b)
    {
        return lane % 4 * 2 + 8 * (b / 2) + b % 2;
    }
    static __device__ __forceinline__ int out(int lane, int o)
    {
        return col(lane, o);
    }
    static __device__ __forceinline__ int at(int r, int c)
    {
        return r * WINDOW_W + c;
    }
};

/* PRODUCTS 3: high low + low high + high high; 1: high high. */
template <int D_, int PRODUCTS> struct window_tensor : window_fragments<D_> {
    typedef float T;
    typedef window_tensor<D_, PRODUCTS> labels;
    typedef window_fragments<D_> lanes;
    enum { STRIDE = D_ + 4, ROWS = lanes::ROWS, COLS = lanes::COLS, OUTS = lanes::OUTS };

    template <int N> struct split {
        float high[N], low[N];
        __device__ __forceinline__ void set(int i, float x)
        {
            high[i] = gsa_tf32(x);
            low[i] = PRODUCTS == 3 ? gsa_tf32(x - high[i]) : 0;
        }
    };

    /* The 16 x 8 of A that starts at `a`, whose rows are `stride` apart. */
    static __device__ __forceinline__ void load_a(split<4> &x, const float *a, int stride, int lane)
    {
        const float *at = a + lane / 4 * stride + lane % 4;
        x.set(0, at[0]), x.set(1, at[8 * stride]), x.set(2, at[4]), x.set(3, at[8 * stride + 4]);
    }

    /* d: columns 8 n .. 8 n + 7 of x, this lane's elements of which are 2 n, 2 n + 1. */
    template <int N>
    static __device__ __forceinline__ void multiply(float x[ROWS][N], int n, const split<4> &a,
                                                    const split<2> &b)
    {
        float &d0 = x[0][2 * n], &d1 = x[0][2 * n + 1], &d2 = x[1][2 * n], &d3 = x[1][2 * n + 1];
        if (PRODUCTS == 3) {
            gsa_mma_tf32(d0, d1, d2, d3, a.low, b.high);
            gsa_mma_tf32(d0, d1, d2, d3, a.high, b.low);
        }
        gsa_mma_tf32(d0, d1, d2, d3, a.high, b.high);
    }

    static __device__ __forceinline__ void dots(float x[ROWS][COLS], const float *a, const float *b,
                                                int dim, int lane)
    {
        for (int i = 0; i < dim; i += 8) {
            split<4> left;
            load_a(left, a + i, STRIDE, lane);
            GSA_UNROLL
            for (int n = 0; n < COLS / 2; n++) {
                const float *at = b + (8 * n + lane / 4) * STRIDE + i + lane % 4;
                split<2> right;
                right.set(0, at[0]), right.set(1, at[4]);
                multiply(x, n, left, right);
            }
        }
    }

    static __device__ __forceinline__ void mix(float acc[ROWS][OUTS], const float *w,
                                               const float *b, int dim, int lane)
    {
        for (int c = 0; c < GSA_WINDOW_TILE; c += 8) {
            split<4> left;
            load_a(left, w + c, WINDOW_W, lane);
            GSA_UNROLL
            for (int n = 0; n < OUTS / 2; n++) {
                if (n * 8 >= dim) break;
                const float *at = b + (c + lane % 4) * STRIDE + 8 * n + lane / 4;
                split<2> right;
                right.set(0, at[0]), right.set(1, at[4 * STRIDE]);
                multiply(acc, n, left, right);
            }
        }
    }
};

/* Scores are exact products of bf16; a weight is split into high + low, both bf16, which keeps 16
 * of its 24 bits. */
template <int D_> struct window_bf16 : window_fragments<D_> {
    typedef gsa_bf16 T;
    typedef window_tensor<D_, 3> labels;
    typedef window_fragments<D_> lanes;
    enum { STRIDE = D_ + 8, ROWS = lanes::ROWS, COLS = lanes::COLS, OUTS = lanes::OUTS };

    static __device__ __forceinline__ uint32_t pair(const T *at)
    {
        return *(const uint32_t *)at;
    }

    static __device__ __forceinline__ void dots(float x[ROWS][COLS], const T *a, const T *b,
                                                int dim, int lane)
    {
        for (int i = 0; i < dim; i += 16) {
            const T *const at = a + lane / 4 * STRIDE + i + lane % 4 * 2;
            const uint32_t left[4] = { pair(at), pair(at + 8 * STRIDE), pair(at + 8),
                                       pair(at + 8 * STRIDE + 8) };
            GSA_UNROLL
            for (int n = 0; n < COLS / 2; n++) {
                const T *const from = b + (8 * n + lane / 4) * STRIDE + i + lane % 4 * 2;
                const uint32_t right[2] = { pair(from), pair(from + 8) };
                gsa_mma_bf16(x[0][2 * n], x[0][2 * n + 1], x[1][2 * n], x[1][2 * n + 1], left,
                             right);
            }
        }
    }

    /* W as A: high and low parts of this lane's two columns in rows g and g + 8, twice. */
    static __device__ __forceinline__ void split_weights(uint32_t high[4], uint32_t low[4],
                                                         const float *w, int lane)
    {
        GSA_UNROLL
        for (int i = 0; i < 4; i++) {
            const float2 x = *(const float2 *)(w + lanes::at(lanes::row(lane, i % 2),
                                                             lanes::col(lane, i / 2 * 2)));
            high[i] = gsa_bf16_pair(x.x, x.y);
            low[i] = gsa_bf16_pair(x.x - __uint_as_float(high[i] << 16),
                                   x.y - __uint_as_float(high[i] & 0xffff0000u));
        }
    }

    static __device__ __forceinline__ void mix(float acc[ROWS][OUTS], const float *w, const T *b,
                                               int dim, int lane)
    {
        uint32_t high[4], low[4];
        split_weights(high, low, w, lane);
        GSA_UNROLL
        for (int n = 0; n < OUTS / 2; n += 2) {
            uint32_t right[4];
            if (n * 8 >= dim) break;
            gsa_load_transposed(right, b + lane % 16 * STRIDE + 8 * n + lane / 16 * 8);
            GSA_UNROLL
            for (int i = 0; i < 2; i++) {
                const int o = 2 * (n + i);
                gsa_mma_bf16(acc[0][o], acc[0][o + 1], acc[1][o], acc[1][o + 1], low,
                             right + 2 * i);
                gsa_mma_bf16(acc[0][o], acc[0][o + 1], acc[1][o], acc[1][o + 1], high,
                             right + 2 * i);
            }
        }
    }
};

#endif
