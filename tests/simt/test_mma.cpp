/* The plain twins of the tensor cores' products (kernels/cuda/mma.h): fragments are filled by the tables of the PTX ISA, written
 * down here once more, and D is compared with the product of the matrices; rounding to tf32 and bf16 with its definition. */
#include "kernels/cuda/mma.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int checks, failures;

static void check(int good, const char *what, int n)
{
    checks++;
    if (good) return;
    failures++;
    fprintf(stderr, "FAILED: %s, %d\n", what, n);
}

struct matrices {
    float a[16][8], b[8][8], d[16][8];
};

static void multiply_once(matrices *m)
{
    const int lane = threadIdx.x, group = lane >> 2, in_group = lane & 3;
    float a[4], b[2], d[4];
    for (int i = 0; i < 4; i++) a[i] = m->a[i == 0 || i == 2 ? group : group + 8][i < 2 ? in_group : in_group + 4];
    for (int i = 0; i < 2; i++) b[i] = m->b[i == 0 ? in_group : in_group + 4][group];
    for (int i = 0; i < 4; i++) d[i] = m->d[i < 2 ? group : group + 8][in_group * 2 + (i & 1)];
    gsa_mma_tf32(d[0], d[1], d[2], d[3], a, b);
    for (int i = 0; i < 4; i++) m->d[i < 2 ? group : group + 8][in_group * 2 + (i & 1)] = d[i];
}

static void products()
{
    for (int n = 0; n < 20; n++) {
        matrices host, *device;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) host.a[i][j] = (float)(rand() % 64), host.d[i][j] = (float)(rand() % 64);
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) host.b[i][j] = (float)(rand() % 64);
        matrices want = host;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++)
                for (int k = 0; k < 8; k++) want.d[i][j] += host.a[i][k] * host.b[k][j];
        simt_order(n % 3 == 0 ? SIMT_FORWARD : n % 3 == 1 ? SIMT_REVERSE : SIMT_RANDOM, (uint64_t)n + 1);
        if (cudaMalloc((void **)&device, sizeof host) != cudaSuccess) abort();
        cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, NULL);
        check(GSA_LAUNCH(multiply_once, 1, 32, NULL, device) == cudaSuccess, simt_message(), n);
        cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, NULL);
        cudaFree(device);
        check(memcmp(host.d, want.d, sizeof want.d) == 0, "a product of integers is not exact", n);
    }
}

/* ---- bf16 ---- */
struct matrices16 {
    float a[16][16], d[16][8];
    uint16_t b[16][8]; /* rows as ldmatrix takes them: 16 bytes */
    uint16_t given[32][4][2], blocks[32][8];
};

static uint32_t two(float x, float y)
{
    uint32_t low, high;
    memcpy(&low, &x, 4), memcpy(&high, &y, 4);
    return low >> 16 | (high & 0xffff0000u);
}

static void multiply_bf16(matrices16 *m)
{
    GSA_SHARED(uint4, room, [48]);
    uint16_t(*const b)[8] = (uint16_t(*)[8])room, (*const blocks)[8] = b + 16;
    const int lane = threadIdx.x, group = lane >> 2, in_group = lane & 3;
    uint32_t a[4], x[4];
    float d[4];
    memcpy(blocks[lane], m->blocks[lane], 16);
    if (lane < 16) memcpy(b[lane], m->b[lane], 16);
    __syncwarp();
    for (int i = 0; i < 4; i++) {
        const int row = i == 0 || i == 2 ? group : group + 8, column = 2 * in_group + (i < 2 ? 0 : 8);
        a[i] = two(m->a[row][column], m->a[row][column + 1]);
        d[i] = m->d[i < 2 ? group : group + 8][in_group * 2 + (i & 1)];
    }
    gsa_load_transposed(x, b[lane % 16]);
    gsa_mma_bf16(d[0], d[1], d[2], d[3], a, x);
    for (int i = 0; i < 4; i++) m->d[i < 2 ? group : group + 8][in_group * 2 + (i & 1)] = d[i];
    gsa_load_transposed(x, blocks[lane]);
    memcpy(m->given[lane], x, 16);
}

static uint16_t upper(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)(bits >> 16);
}

static void products_of_bf16()
{
    for (int n = 0; n < 20; n++) {
        matrices16 host = {}, *device;
        float b[16][8];
        for (int i = 0; i < 16; i++) {
            for (int j = 0; j < 16; j++) host.a[i][j] = (float)(rand() % 64 - 32);
            for (int j = 0; j < 8; j++) host.d[i][j] = (float)(rand() % 64), b[i][j] = (float)(rand() % 64);
            for (int j = 0; j < 8; j++) host.b[i][j] = upper(b[i][j]);
        }
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 8; j++) host.blocks[i][j] = (uint16_t)(i * 8 + j);
        matrices16 want = host;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++)
                for (int k = 0; k < 16; k++) want.d[i][j] += host.a[i][k] * b[k][j];
        simt_order(n % 3 == 0 ? SIMT_FORWARD : n % 3 == 1 ? SIMT_REVERSE : SIMT_RANDOM, (uint64_t)n + 1);
        if (cudaMalloc((void **)&device, sizeof host) != cudaSuccess) abort();
        cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, NULL);
        check(GSA_LAUNCH(multiply_bf16, 1, 32, NULL, device) == cudaSuccess, simt_message(), n);
        cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, NULL);
        cudaFree(device);
        check(memcmp(host.d, want.d, sizeof want.d) == 0, "a product of integers in bf16 is not exact", n);
        int right = 0;
        for (int lane = 0; lane < 32; lane++)
            for (int m = 0; m < 4; m++)
                for (int i = 0; i < 2; i++) right += host.given[lane][m][i] == (8 * m + lane % 4 * 2 + i) * 8 + lane / 4;
        check(right == 256, "blocks are not transposed", n);
    }
}

/* 8 bits in all, to the nearest, ties to even; two of them hold 16. */
static void rounding_to_bf16()
{
    for (int n = 0; n < 100000; n++) {
        const float x = __uint_as_float((uint32_t)rand() << 16 ^ (uint32_t)rand());
        if (!isfinite(x) || fabsf(x) > 3e38f || fabsf(x) < 1e-30f) continue;
        int power;
        const double part = frexp((double)x, &power), want = ldexp(rint(ldexp(part, 8)), power - 8);
        const uint32_t pair = gsa_bf16_pair(x, -x);
        const float high = __uint_as_float(pair << 16), low = gsa_bf16_round(x - high);
        if ((double)high != want || (double)__uint_as_float(pair & 0xffff0000u) != -want) check(0, "rounding to bf16", n);
        if (fabs((double)x - high - low) > ldexp(fabs((double)x), -17)) check(0, "two parts of a float in bf16", n);
    }
}

/* 11 bits in all, to the nearest, ties away from 0; two of them hold a float but for its last bits. */
static void rounding()
{
    for (int n = 0; n < 100000; n++) {
        const uint32_t bits = (uint32_t)rand() << 16 ^ (uint32_t)rand();
        const float x = __uint_as_float(bits);
        if (!isfinite(x) || fabsf(x) > 3e38f || fabsf(x) < 1e-30f) continue;
        int power;
        const double part = frexp((double)x, &power), want = ldexp(round(ldexp(part, 11)), power - 11);
        const float high = gsa_tf32(x), low = gsa_tf32(x - high);
        if ((double)high != want) check(0, "rounding to tf32", n);
        if (fabs((double)x - high - low) > ldexp(fabs((double)x), -22)) check(0, "high and low parts of a float", n);
    }
    check(isnan(gsa_tf32(NAN)) && gsa_tf32(INFINITY) == INFINITY && gsa_tf32(-INFINITY) == -INFINITY && gsa_tf32(0) == 0,
          "numbers that are not finite", 0);
    check(gsa_tf32(1.00048828125f) == 1.0009765625f && gsa_tf32(-1.00048828125f) == -1.0009765625f, "a tie", 0);
}

int main()
{
    srand(7);
    products();
    rounding();
    products_of_bf16();
    rounding_to_bf16();
    printf("Checks: %d, Failures: %d\n", checks, failures);
    return failures > 0;
}
