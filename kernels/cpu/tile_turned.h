/* tile_turned.h - products of four rows of a head with rows one at a time, where the four stand in registers.
 *
 * Lane b of turned vector i is of row i ^ (b % 4): what the four vectors of sums have of one row stands in lanes of all of them, and one
 * shuffle brings each into its place, where rows as they are would need two. */
#ifndef GSA_CPU_TILE_TURNED_H
#define GSA_CPU_TILE_TURNED_H
#include "kernels/cpu/tile_strip.h"

enum { AHEAD = 2 * QUADS };

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

/* s[column][row]: the products of a strip's rows, the first of which is q, with its columns' x + at. Nothing else of s is written. */
CPU_INLINE void cpu_strip_dots_slice(float *s, const cpu_strip *strip, const float *q, int64_t stride, float scale,
                                     const float *const *x, int64_t at, cpu_soon *soon, int vectors, int whole, lanes end)
{
    cpu_turned four;
    cpu_turn_four(&four, q, stride, scale, vectors, whole, end);
    for (int32_t j = 0; j < strip->count; j += QUADS) {
        vec w[QUADS];
        float *to[QUADS];
        const uint16_t *ahead = strip->column + (j + AHEAD < strip->count ? j + AHEAD : 0);
        for (int i = 0; i < QUADS; i++)
            for (int v = 0; v < vectors; v++) __builtin_prefetch(x[ahead[i]] + at + v * LANES);
        for (int i = 0; i < QUADS; i++) w[i] = cpu_turned_dots(&four, x[strip->column[j + i]] + at, NULL, 0, vectors, whole, end);
        for (int i = 0; i < QUADS; i++) to[i] = s + strip->column[j + i] * LANES;
        vec_put_quads(to, vec_fold(w));
        cpu_ask_soon(soon, 1);
    }
}

/* The same of all strips; heads of at most SLICE vectors. */
static inline void cpu_strip_dots(const ref_attend *t, const cpu_tile *tile, float *s, const float *q, float scale,
                                  const float *const *x, int64_t at, cpu_soon *soon)
{
    const cpu_cut cut = cpu_cut_at(t->dim, 0);
    memset(s, 0, sizeof(float) * LANES * (size_t)tile->columns);
    for (int g = 0; g < tile->strips; g++) {
        const int32_t vectors_of_strip = (tile->strip[g].count + QUADS - 1) / QUADS;
#define STRIP_DOTS(vectors, whole)                                                                                          \
    cpu_strip_dots_slice(s + STRIP * g, &tile->strip[g], q + STRIP * g * t->width, t->width, scale, x, at, soon, vectors, \
                         whole, cut.end)
        CPU_BY_CUT(cut, STRIP_DOTS)
#undef STRIP_DOTS
        cpu_ask_soon(soon, tile->columns / QUADS - vectors_of_strip);
    }
}

#endif
