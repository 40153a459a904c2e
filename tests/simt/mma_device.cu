/* The plain twins of kernels/cuda/mma.h next to the instructions that they stand for, on a device,
 * number by number. The executor tests the twins against matrices (test_mma.cpp); what ties them to
 * tensor cores is here. Rounding and ldmatrix have the same bits; products of whole numbers are
 * exact on both sides; sums of others part by what tensor cores do not keep: at most 2^-20 of the
 * terms' sizes. 77: no device. One without such cores has nothing to show. */
#include "kernels/cuda/mma.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, WARPS = 64 };

typedef struct lane_of { /* what a lane holds, and what either way gave it */
    float a[4], b[2], d[4], sized[4],
        x[2];                        /* sized: the same product of the absolute values, from 0 */
    uint32_t a16[4], b16[4], row[4]; /* row: 16 bytes of shared memory */
    float tf32[2][4], bf16[2][4], rounded[2];
    uint32_t pair[2], given[2][4];
} lane_of;

static __device__ uint32_t size_of(uint32_t pair)
{
    return pair & 0x7fff7fffu;
}

static __global__ void both_ways(lane_of *all)
{
    GSA_SHARED(uint4, room, [LANES]);
    lane_of &l = all[blockIdx.x * LANES + threadIdx.x];
    float a[4], b[2], d[4], d16[4];
    uint32_t sizes[4], b_sizes[4];
    for (int i = 0; i < 4; i++) {
        l.tf32[0][i] = l.tf32[1][i] = l.bf16[0][i] = l.bf16[1][i] = l.d[i];
        a[i] = fabsf(l.a[i]), b[i % 2] = fabsf(l.b[i % 2]), d[i] = d16[i] = fabsf(l.d[i]);
        sizes[i] = size_of(l.a16[i]), b_sizes[i] = size_of(l.b16[i]);
    }
    room[threadIdx.x] = make_uint4(l.row[0], l.row[1], l.row[2], l.row[3]);
    __syncwarp();
    gsa_mma_tf32(l.tf32[0][0], l.tf32[0][1], l.tf32[0][2], l.tf32[0][3], l.a, l.b);
    gsa_twin_mma_tf32(l.tf32[1][0], l.tf32[1][1], l.tf32[1][2], l.tf32[1][3], l.a, l.b);
    gsa_mma_bf16(l.bf16[0][0], l.bf16[0][1], l.bf16[0][2], l.bf16[0][3], l.a16, l.b16);
    gsa_twin_mma_bf16(l.bf16[1][0], l.bf16[1][1], l.bf16[1][2], l.bf16[1][3], l.a16, l.b16);
    gsa_twin_mma_tf32(d[0], d[1], d[2], d[3], a, b);
    gsa_twin_mma_bf16(d16[0], d16[1], d16[2], d16[3], sizes, b_sizes);
    for (int i = 0; i < 4; i++) l.sized[i] = fmaxf(d[i], d16[i]);
    gsa_load_transposed(l.given[0], &room[threadIdx.x]);
    gsa_twin_load_transposed(l.given[1], &room[threadIdx.x]);
    l.rounded[0] = gsa_tf32(l.x[0]), l.rounded[1] = gsa_twin_tf32(l.x[0]);
    l.pair[0] = gsa_bf16_pair(l.x[0], l.x[1]), l.pair[1] = gsa_twin_bf16_pair(l.x[0], l.x[1]);
}

static int64_t checks, failures;
static double worst;

static void check(int good, const char *what, int warp, int lane)
{
    checks++;
    if (good) return;
    if (failures++ < 20) fprintf(stderr, "FAILED: %s, warp %d, lane %d\n", what, warp, lane);
}

static uint32_t dice(void)
{
    static uint32_t state = 12345;
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}

/* Any bits at all in every third warp's numbers to round; whole numbers in the products of even
 * warps. */
static float number(int whole)
{
    return whole ? (float)(int)(dice() % 128) - 64
                 : ((float)dice() / 4294967296.0f - 0.5f) * (float)(1 << dice() % 12);
}

static float cut(float x, uint32_t mask)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits &= mask;
    memcpy(&x, &bits, 4);
    return x;
}

static uint32_t upper(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits >> 16;
}

static void fill(lane_of *l, int warp)
{
    const int whole = warp % 2 == 0;
    for (int i = 0; i < 4; i++) {
        l->a[i] = cut(number(whole), 0xffffe000u), l->b[i % 2] = cut(number(whole), 0xffffe000u),
        l->d[i] = number(whole);
        l->a16[i] = upper(number(whole)) | upper(number(whole)) << 16;
        l->b16[i] = upper(number(whole)) | upper(number(whole)) << 16;
        l->row[i] = dice();
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t any = dice();
        if (warp % 3 == 0) memcpy(&l->x[i], &any, 4);
        else l->x[i] = number(0);
    }
}

static int same_number(float x, float y)
{
    return memcmp(&x, &y, 4) == 0 || (isnan(x) && isnan(y));
}

static float half_of(uint32_t pair, int which)
{
    const uint32_t bits = which ? pair & 0xffff0000u : pair << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void compare(const lane_of *l, int warp, int lane)
{
    const double bound = warp % 2 == 0 ? 0 : ldexp(1, -20);
    for (int i = 0; i < 4; i++) {
        const double sized = (double)l->sized[i],
                     tf32 = fabs((double)l->tf32[0][i] - (double)l->tf32[1][i]),
                     bf16 = fabs((double)l->bf16[0][i] - (double)l->bf16[1][i]),
                     most = tf32 > bf16 ? tf32 : bf16;
        check(tf32 <= bound * sized, "a product of tf32", warp, lane);
        check(bf16 <= bound * sized, "a product of bf16", warp, lane);
        check(l->given[0][i] == l->given[1][i], "a block transposed", warp, lane);
        if (sized > 0 && most / sized > worst) worst = most / sized;
    }
    check(same_number(l->rounded[0], l->rounded[1]), "rounding to tf32", warp, lane);
    for (int i = 0; i < 2; i++)
        check(same_number(half_of(l->pair[0], i), half_of(l->pair[1], i)), "rounding to bf16", warp,
              lane);
}

static int skip(const char *why)
{
    printf("skipped: %s\n", why);
    return 77;
}

int main(void)
{
    static lane_of host[WARPS * LANES];
    lane_of *device = NULL;
    int count = 0, major = 0;
    const cudaError_t there = cudaGetDeviceCount(&count);
    if (there != cudaSuccess) return skip(cudaGetErrorString(there));
    if (count == 0) return skip("the driver lists no device");
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess)
        return 1;
    if (major < 8) {
        printf("compute capability %d has no tensor cores for tf32 and bf16: there is nothing to "
               "compare\n",
               major);
        return 0;
    }
    for (int i = 0; i < WARPS * LANES; i++) fill(&host[i], i / LANES);
    if (cudaMalloc((void **)&device, sizeof host) != cudaSuccess) return 1;
    cudaError_t error = cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) error = GSA_LAUNCH(both_ways, WARPS, LANES, 0, device);
    if (error == cudaSuccess) error = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) fprintf(stderr, "FAILED: %s\n", cudaGetErrorString(error));
    for (int i = 0; i < WARPS * LANES && error == cudaSuccess; i++)
        compare(&host[i], i / LANES, i % LANES);
    cudaFree(device);
    printf("largest gap of a sum: %.3g of its terms' sizes\nChecks: %lld, Failures: %lld\n", worst,
           (long long)checks, (long long)failures);
    return failures > 0 || error != cudaSuccess;
}
