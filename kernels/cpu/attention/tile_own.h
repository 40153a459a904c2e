/* tile_own.h - products of four rows with rows to which each of the four adds a label vector of its own, or some share one (LABEL_WAYS):
 *   s[place][i] = q_i . (k_place + r_l(place, i)).
 *
 * Vector by vector a label's is added to K's and the sum is multiplied: an addition and a multiplication, which different units do at the same
 * time. A product of the four rows with each label that one of them wants, summed, stored and looked up where it belongs, is two
 * multiplications and a third more around them. The rows stand as they are, not turned (tile_turned.h): lanes of a sum are one row's. */
#ifndef GSA_CPU_TILE_OWN_H
#define GSA_CPU_TILE_OWN_H
#include "kernels/cpu/attention/tile_strip.h"

enum { OWN = LANES == 16 ? 1 : 2 /* places at once: as many as the registers hold beside K's vectors */ };
_Static_assert(QUADS % OWN == 0, "places fill vectors");

typedef struct cpu_own { /* four rows of a head; read together one behind the other */
    _Alignas(64) vec part[LANES == 16 ? SLICE : TILE_DIM / LANES][STRIP];
} cpu_own;

static inline void cpu_own_rows(cpu_own *to, const float *x, int64_t stride, float scale, int32_t dim)
{
    for (int v = 0; v * LANES < dim; v++) {
        const int left = dim - v * LANES < LANES ? dim - v * LANES : LANES;
        for (int i = 0; i < STRIP; i++)
            to->part[v][i] = vec_mul(vec_load_first(x + i * stride + v * LANES, lanes_first(left)), vec_all(scale));
    }
}

/* sum[j][i] += what vector v adds to the product of row i and place j; rows share labels as `way` says. */
CPU_INLINE void cpu_own_step(vec sum[OWN][STRIP], const vec q[STRIP], const float *const *x, const float *(*r)[STRIP],
                             unsigned way, int64_t v, int whole, lanes end)
{
    vec k[OWN], both[OWN] = { vec_zero() };
    CPU_UNROLL
    for (int j = 0; j < OWN; j++) k[j] = vec_held(cpu_piece(x[j] + v * LANES, 0, 1, whole, end));
    CPU_UNROLL
    for (int i = 0; i < STRIP; i++) {
        const vec row = vec_held(q[i]);
        CPU_UNROLL
        for (int j = 0; j < OWN; j++) {
            if (way >> i & 1) both[j] = vec_add(k[j], cpu_piece(r[j][i] + v * LANES, 0, 1, whole, end));
            sum[j][i] = LANES == 16 && v == 0 ? vec_mul(row, both[j]) : vec_fma(row, both[j], sum[j][i]);
        }
    }
}

/* w[j], 4 lanes by 4 lanes: what they add to the products of the rows i with x[place[j]] + at + of[from[4 j + i]], of OWN places. AVX-512: the rows
 * stand in registers, and `vectors` is known. */
CPU_INLINE void cpu_own_dots(vec w[OWN], const cpu_own *q, const float *const *x, const uint16_t *place, int64_t at,
                             const float *const *of, const uint16_t *from, unsigned way, int vectors, int whole, lanes end)
{
    const float *row[OWN], *r[OWN][STRIP];
    vec sum[OWN][STRIP];
    CPU_UNROLL
    for (int j = 0; j < OWN; j++) {
        row[j] = x[place[j]] + at;
        CPU_UNROLL
        for (int i = 0; i < STRIP; i++) r[j][i] = of[from[STRIP * j + i]], sum[j][i] = vec_zero();
    }
    if (LANES == 16) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) cpu_own_step(sum, q->part[v], row, r, way, v, whole || v + 1 < vectors, end);
    } else {
        const int full = whole ? vectors : vectors - 1;
        for (int v = 0; v < full; v++) cpu_own_step(sum, q->part[v], row, r, way, v, 1, end);
        if (!whole) cpu_own_step(sum, q->part[full], row, r, way, full, 0, end);
    }
    CPU_UNROLL
    for (int j = 0; j < OWN; j++) w[j] = vec_sum_fours(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
}

/* AVX-512: the rows into registers, from which they are read then. */
CPU_INLINE const cpu_own *cpu_own_near(cpu_own *near, const cpu_own *rows, int vectors)
{
    if (LANES != 16) return rows;
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) CPU_UNROLL
    for (int i = 0; i < STRIP; i++) near->part[v][i] = vec_held(rows->part[v][i]);
    return near;
}

/* [place][row]: the products of QUADS places, the same bits forward and backward. */
CPU_INLINE vec cpu_own_products(const cpu_own *q, const float *const *x, const uint16_t *place, int64_t at, const float *const *of,
                                const uint16_t *from, unsigned way, int vectors, int whole, lanes end)
{
    vec w[QUADS];
    CPU_UNROLL
    for (int i = 0; i < QUADS; i += OWN) cpu_own_dots(w + i, q, x, place + i, at, of, from + STRIP * i, way, vectors, whole, end);
    return vec_fold(w);
}

/* CALL(vectors, whole) for heads of `cut`: constants for AVX-512. */
#if GSA_CPU_LANES == 16
#define CPU_BY_OWN(cut, CALL) CPU_BY_CUT(cut, CALL)
#else
#define CPU_BY_OWN(cut, CALL) { CALL((cut).vectors, (cut).whole); }
#endif

/* A head's columns at once, as many as there are. */
static inline cpu_cut cpu_own_cut(int32_t dim)
{
    const int vectors = (dim + LANES - 1) / LANES;
    return (cpu_cut){ vectors, dim % LANES == 0, lanes_first(dim - (vectors - 1) * LANES) };
}

#endif
