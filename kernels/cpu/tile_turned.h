/* tile_turned.h - products of four rows of a head with rows one at a time, where the four stand in registers.
 *
 * Lane b of turned vector i is of row i ^ (b % 4): what the four vectors of sums have of one row stands in lanes of all of them, and one
 * shuffle brings each into its place, where rows as they are would need two. */
#ifndef GSA_CPU_TILE_TURNED_H
#define GSA_CPU_TILE_TURNED_H
#include "kernels/cpu/tile_strip.h"

typedef struct cpu_turned {
    vec part[STRIP][SLICE];
} cpu_turned;

/* Rows x + r stride of at most SLICE vectors. */
CPU_INLINE void cpu_turn_four(cpu_turned *to, const float *x, int64_t stride, float scale, int vectors, int whole, lanes end)
{
    const lanes odd = lanes_of_bits(0xAAAAu), high = lanes_of_bits(0xCCCCu);
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        vec row[STRIP], two[STRIP];
        CPU_UNROLL
        for (int r = 0; r < STRIP; r++) row[r] = vec_mul(cpu_piece(x + r * stride, v, vectors, whole, end), vec_all(scale));
        CPU_UNROLL
        for (int r = 0; r < STRIP; r++) two[r] = vec_keep(odd, row[r ^ 1], row[r]);
        CPU_UNROLL
        for (int r = 0; r < STRIP; r++) to->part[r][v] = vec_keep(high, two[r ^ 2], two[r]);
    }
}

/* Lane i of each quad: what its lanes add to the product of row i with x, `labelled`: with x + r. */
CPU_INLINE vec cpu_turned_dots(const cpu_turned *q, const float *x, const float *r, int labelled, int vectors, int whole, lanes end)
{
    vec sum[STRIP];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        vec k = cpu_piece(x, v, vectors, whole, end);
        if (labelled) k = vec_add(k, cpu_piece(r, v, vectors, whole, end));
        k = vec_held(k);
        CPU_UNROLL
        for (int i = 0; i < STRIP; i++) sum[i] = v ? vec_fma(q->part[i][v], k, sum[i]) : vec_mul(q->part[i][v], k);
    }
    return vec_add(vec_add(sum[0], vec_swap_one(sum[1])), vec_swap_two(vec_add(sum[2], vec_swap_one(sum[3]))));
}

#endif
