/* probe.c - what the machine can do at a level of vectors: multiplications, reading, reading of
 * scattered rows. */
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/table.h"

enum { CHAINS = 12 }; /* of additions that do not wait for one another */

static void put(float *out, const vec *sum)
{
    vec all = sum[0];
    for (int i = 1; i < CHAINS; i++) all = vec_add(all, sum[i]);
    vec_store(out, all);
}

static int64_t multiply(float *out, int64_t rounds)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_load(out);
    const vec a = vec_load(out), b = vec_load(out + LANES);
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < CHAINS; i++) sum[i] = vec_fma(sum[i], a, b);
    put(out, sum);
    return rounds * CHAINS * LANES * 2;
}

static void read_all(float *out, const float *x, int64_t count)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_zero();
    for (int64_t at = 0; at + CHAINS * LANES <= count; at += CHAINS * LANES)
        for (int i = 0; i < CHAINS; i++) sum[i] = vec_add(sum[i], vec_load(x + at + i * LANES));
    put(out, sum);
}

static void read_rows(float *out, const float *x, const int32_t *rows, int64_t count,
                      int32_t columns)
{
    vec sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = vec_zero();
    for (int64_t r = 0; r < count; r++) {
        const float *row = x + (int64_t)rows[r] * columns;
        for (int32_t i = 0; i + 4 * LANES <= columns; i += 4 * LANES)
            for (int j = 0; j < 4; j++) sum[j] = vec_add(sum[j], vec_load(row + i + j * LANES));
    }
    put(out, sum);
}

const gsa_cpu_probe cpu_probe = { LANES, multiply, read_all, read_rows, cpu_formats };
