/* device.h - what kernels share: who a thread is, sums over lanes, searches, dropout. Device code
 * only. */
#ifndef GSA_CUDA_DEVICE_H
#define GSA_CUDA_DEVICE_H
#include "kernels/cuda/state.h"
#include "kernels/philox.h"

enum { GSA_WARP = 32 };
#define GSA_ALL_LANES 0xffffffffu

GSA_DEVICE int64_t gsa_thread(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __host__ inline float *gsa_floats(void *at)
{
    return (float *)at;
}
static __device__ __host__ inline const float *gsa_floats(const void *at)
{
    return (const float *)at;
}

/* what(i) for i = 0..count-1, a thread each; what: [=] __device__(int64_t i). Lanes of a warp have
 * neighbouring i: where an item has as many i as there are lanes, or a multiple, they share it. */
template <int THREADS, int LANES, class What>
__global__ void __launch_bounds__(THREADS) gsa_each(GSA_ARGUMENT(What) what, int64_t count)
{
    const int64_t i = gsa_thread() / LANES;
    if (i >= count) return;
    if constexpr (LANES == 1) what(i);
    else what(i, (int)threadIdx.x % LANES);
}

template <int THREADS = GSA_ELEMENTS, int LANES = 1, class What>
gsa_status gsa_cuda_each(gsa_backend *b, const char *op, int64_t count, const What &what)
{
    const int64_t blocks = gsa_cuda_blocks(b, op, count, THREADS / LANES);
    if (blocks <= 0) return blocks < 0 ? b->error.status : GSA_OK;
    return gsa_cuda_check(b,
                          GSA_LAUNCH((gsa_each<THREADS, LANES, What>), blocks, THREADS,
                                     gsa_cuda_stream(b), what, count),
                          op, __FILE__, __LINE__);
}

/* what(i, lane), a warp each. */
template <class What>
gsa_status gsa_cuda_each_warp(gsa_backend *b, const char *op, int64_t count, const What &what)
{
    return gsa_cuda_each<GSA_THREADS, GSA_WARP>(b, op, count, what);
}

/* The sum over groups of `width` lanes (a power of two), in every lane: the same tree everywhere,
 * so the same bits. */
template <class T> GSA_DEVICE T gsa_sum_lanes(T x, int width)
{
    GSA_UNROLL
    for (int step = width / 2; step > 0; step >>= 1) x += __shfl_xor_sync(GSA_ALL_LANES, x, step);
    return x;
}

/* The largest of a warp; a NaN in it stays a NaN. */
template <class T> GSA_DEVICE T gsa_top(T a, T b)
{
    return b > a || isnan(b) ? (isnan(a) ? a : b) : a;
}

GSA_DEVICE int gsa_top(int a, int b)
{
    return max(a, b);
}

template <class T> GSA_DEVICE T gsa_top_lanes(T x)
{
    GSA_UNROLL
    for (int step = GSA_WARP / 2; step > 0; step >>= 1)
        x = gsa_top(x, __shfl_xor_sync(GSA_ALL_LANES, x, step));
    return x;
}

/* The first i of 0..count with keys[i] >= x (count: none). */
GSA_DEVICE int64_t gsa_first_at_least(const uint32_t *keys, int64_t count, uint32_t x)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (__ldg(keys + middle) < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Is this the last of `count` blocks that come here? Then what the others wrote before is, and
 * is read through volatile pointers. Every thread of a block calls it. */
GSA_DEVICE bool gsa_last_block(unsigned *counter, unsigned count)
{
    GSA_SHARED(int, last, [1]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last[0] = atomicAdd(counter, 1u) == count - 1;
        if (last[0]) *counter = 0;
    }
    __syncthreads();
    if (last[0]) __threadfence();
    return last[0];
}

#define GSA_LOG2E 1.4426950408889634
#define GSA_LN2   0.6931471805599453

/* 2^x in one instruction, within 2^-22 of it; below 2^-126 zero. exp2f takes four, for what is
 * smaller than that. */
GSA_DEVICE float gsa_exp2(float x)
{
#if defined(__CUDA_ARCH__)
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}

/* The first fault wins: by the order of ops, then of rows. */
GSA_DEVICE void gsa_report(const gsa_cuda_watch &watch, int64_t row)
{
    atomicMin(watch.fault, watch.serial | (unsigned long long)row);
}

/* ---- dropout: the key of backend.h */
typedef struct gsa_cuda_drop {
    int on;
    uint32_t limit, seed, step, site;
    float keep;
    const int32_t *example_id, *row_example, *row_local;
} gsa_cuda_drop;

/* `edges` brings the identity of rows for attention; NULL: the dropout's own. */
static inline gsa_cuda_drop gsa_cuda_drop_of(const gsa_dropout *d, const gsa_edges *edges)
{
    gsa_cuda_drop drop = {};
    if (d == NULL || d->p == 0) return drop;
    drop.on = 1, drop.limit = (uint32_t)(d->p * 4294967296.0), drop.keep = (float)(1 / (1 - d->p));
    drop.seed = d->seed, drop.step = d->step, drop.site = d->site << 12;
    drop.example_id = d->example_id;
    drop.row_example = edges ? edges->row_example : d->row_example;
    drop.row_local = edges ? edges->row_local : d->row_local;
    return drop;
}

GSA_DEVICE gsa_philox gsa_drop_words(const gsa_cuda_drop &d, int64_t row, uint32_t third,
                                     uint32_t quad)
{
    const uint32_t example = (uint32_t)__ldg(d.example_id + __ldg(d.row_example + row)),
                   local = (uint32_t)__ldg(d.row_local + row);
    const gsa_philox counter = { { example, local, third, d.site | quad } };
    return gsa_philox4x32(counter, d.seed, d.step);
}

GSA_DEVICE float gsa_drop_factor(const gsa_cuda_drop &d, uint32_t word)
{
    return word < d.limit ? 0.0f : d.keep;
}

/* The factor of one (row, k, head). */
GSA_DEVICE float gsa_drop_edge(const gsa_cuda_drop &d, int64_t row, uint32_t k, int head)
{
    const gsa_philox words = gsa_drop_words(d, row, k, (uint32_t)head / 4);
    const uint32_t low = head & 1 ? words.word[1] : words.word[0],
                   high = head & 1 ? words.word[3] : words.word[2];
    return gsa_drop_factor(d, head & 2 ? high : low);
}

#endif
