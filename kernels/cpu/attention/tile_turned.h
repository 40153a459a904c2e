/* tile_turned.h - products of four rows of a head with other rows.
 *
 * Lane b of turned vector i is of row i ^ (b % 4): what the four vectors of sums have of one row stands in lanes of all of them, and one
 * shuffle brings each into its place, where rows as they are would need two.
 *
 * AVX-512: the four rows of at most SLICE vectors stand in registers, and rows meet them one at a time (cpu_turned_dots). AVX2 has 16
 * registers: 12 sums of four rows with three stand in them, and the four are read from the first cache, 7 loads for 12 multiplications
 * (cpu_turned_some), whatever the heads' columns. */
#ifndef GSA_CPU_TILE_TURNED_H
#define GSA_CPU_TILE_TURNED_H
#include "kernels/cpu/attention/tile_strip.h"

enum {
    TURNED = LANES == 16 ? SLICE : TILE_DIM / LANES, /* vectors of a row at most */
    MET = 3                                          /* rows that meet the four at once, AVX2 */
};

typedef struct cpu_turned {
    vec part[LANES == 16 ? STRIP : TURNED][LANES == 16 ? TURNED : STRIP]; /* AVX2: what is read together one behind the other */
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
        for (int r = 0; r < STRIP; r++) to->part[LANES == 16 ? r : v][LANES == 16 ? v : r] = vec_keep(high, two[r ^ 2], two[r]);
    }
}

/* Rows x + r stride of as many columns as the level has room for: SLICE vectors, TILE_DIM (AVX2). */
static inline void cpu_turn_rows(cpu_turned *to, const float *x, int64_t stride, float scale, int32_t dim)
{
    const cpu_cut cut = cpu_cut_at(dim, 0);
    if (LANES == 16) {
#define TURN(vectors, whole) cpu_turn_four(to, x, stride, scale, vectors, whole, cut.end)
        CPU_BY_CUT(cut, TURN)
#undef TURN
        return;
    }
    for (int v = 0; v * LANES < dim; v++) {
        const int left = dim - v * LANES < LANES ? dim - v * LANES : LANES;
        cpu_turned one;
        cpu_turn_four(&one, x + v * LANES, stride, scale, 1, 0, lanes_first(left));
        for (int r = 0; r < STRIP; r++) to->part[v][r] = one.part[0][r];
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

/* sum[i] += what vector v of x[i], `labelled`: of x[i] + r[i], adds to the products of the four rows. */
CPU_INLINE void cpu_turned_step(vec sum[MET][STRIP], const cpu_turned *q, int v, const float *const *x, const float *const *r,
                                int rows, int labelled, int whole, lanes end)
{
    vec k[MET];
    CPU_UNROLL
    for (int i = 0; i < rows; i++) {
        k[i] = cpu_piece(x[i] + v * LANES, 0, 1, whole, end);
        if (labelled) k[i] = vec_add(k[i], cpu_piece(r[i] + v * LANES, 0, 1, whole, end));
        k[i] = vec_held(k[i]);
    }
    CPU_UNROLL
    for (int j = 0; j < STRIP; j++) {
        const vec part = vec_held(q->part[v][j]);
        CPU_UNROLL
        for (int i = 0; i < rows; i++) sum[i][j] = vec_fma(part, k[i], sum[i][j]);
    }
}

/* w[i] <- as cpu_turned_dots, of the row x[place[i]] + at, to which r[label[i]] is added where `labelled`; at most MET rows. */
CPU_INLINE void cpu_turned_some(vec *w, const cpu_turned *q, const float *const *x, const uint16_t *place, int64_t at,
                                const float *const *r, const uint16_t *label, int rows, int labelled, int32_t dim)
{
    const float *row[MET], *more[MET] = { NULL };
    vec sum[MET][STRIP];
    int v = 0;
    CPU_UNROLL
    for (int i = 0; i < rows; i++) {
        row[i] = x[place[i]] + at;
        if (labelled) more[i] = r[label[i]];
        CPU_UNROLL
        for (int j = 0; j < STRIP; j++) sum[i][j] = vec_zero();
    }
    for (; (v + 1) * LANES <= dim; v++) cpu_turned_step(sum, q, v, row, more, rows, labelled, 1, lanes_first(0));
    if (v * LANES < dim) cpu_turned_step(sum, q, v, row, more, rows, labelled, 0, lanes_first(dim - v * LANES));
    CPU_UNROLL
    for (int i = 0; i < rows; i++)
        w[i] = vec_add(vec_add(sum[i][0], vec_swap_one(sum[i][1])), vec_swap_two(vec_add(sum[i][2], vec_swap_one(sum[i][3]))));
}

#endif
