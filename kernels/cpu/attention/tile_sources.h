/* tile_sources.h - what a tile's rows give to dK and dV: y_c += sum_r p[c][r] x_r over the rows r that read column c.
 *
 * A few columns that follow one another stand in registers while the rows that one of them reads pass by, so that each number of q and do is
 * read once for all of them. Fewer columns at a time waste fewer multiplications on rows that read only some, and dK and dV together keep the
 * registers full: two columns of both need 1084 multiply-adds of a row's vector where four columns of one need 1297 and edges 994 (a tile of
 * the leaves of bpt:k=4). AVX2 has half the registers: there one column of one plane stands in eight of them, each number of q and do is
 * read for each edge (9 loads for 8 multiplications, which is what the machine has time for), and nothing is multiplied that is no edge. */
#ifndef GSA_CPU_TILE_SOURCES_H
#define GSA_CPU_TILE_SOURCES_H
#include "kernels/cpu/attention/band.h"
#include "kernels/cpu/attention/tile.h"

enum {
    GIVEN_PLANES = 2,
    GIVEN_TOGETHER = 2, /* planes that one call gives: AVX-512 has the sums of both in registers at once */
    GIVEN_SLICE = 8     /* vectors of one column that stand in registers at once, AVX2 */
};

typedef struct
    cpu_given { /* y[c] + at += sum_r p[found[c][r / 4] + r] x[r stride ..] for a plane; found NULL: p[c LANES + r] */
    const float *p, *x;
    float *const *y; /* rows of columns */
    int64_t at;
    const int32_t (*found)[QUADS];
} cpu_given;

#if GSA_CPU_LANES == 16
/* Columns c .. c+columns-1 from the rows in `bits`. `found`: whether the planes have it; then it is the same. */
CPU_INLINE void cpu_give_slice(const cpu_given *const *g, int planes, int64_t stride, int32_t c, int columns, unsigned bits,
                               int32_t from, int found, int vectors, int whole, lanes end)
{
    vec sum[GIVEN_PLANES][TILE_ROWS][SLICE];
    const float *x[GIVEN_PLANES], *p[GIVEN_PLANES];
    float *y[GIVEN_PLANES][TILE_ROWS];
    for (int k = 0; k < planes; k++) {
        x[k] = g[k]->x + from, p[k] = g[k]->p;
        for (int i = 0; i < columns; i++) y[k][i] = g[k]->y[c + i] + g[k]->at + from;
        for (int i = 0; i < columns; i++)
            for (int v = 0; v < vectors; v++) sum[k][i][v] = cpu_piece(y[k][i], v, vectors, whole, end);
    }
    for (; bits; bits &= bits - 1) {
        const int r = __builtin_ctz(bits);
        const int64_t row = r * stride;
        int64_t place[TILE_ROWS];
        for (int i = 0; i < columns; i++) place[i] = found ? g[0]->found[c + i][r / 4] + r : (int64_t)(c + i) * LANES + r;
        for (int k = 0; k < planes; k++) {
            vec share[TILE_ROWS];
            for (int i = 0; i < columns; i++) share[i] = vec_held(vec_all(p[k][place[i]]));
            for (int v = 0; v < vectors; v++) {
                const vec part = vec_held(cpu_piece(x[k] + row, v, vectors, whole, end));
                for (int i = 0; i < columns; i++) sum[k][i][v] = vec_fma(share[i], part, sum[k][i][v]);
            }
        }
    }
    for (int k = 0; k < planes; k++)
        for (int i = 0; i < columns; i++)
            for (int v = 0; v < vectors; v++) cpu_put_piece(y[k][i], v, vectors, whole, end, sum[k][i][v]);
}

/* Columns first .. last-1. */
CPU_INLINE void cpu_give_columns(const cpu_given *const *g, int planes, int64_t stride, const uint16_t *mask, int32_t first,
                                 int32_t last, int32_t from, int found, int vectors, int whole, lanes end)
{
    const int some = TILE_ROWS / planes;
    int32_t c = first;
    for (; c + some <= last; c += some) {
        unsigned bits = 0;
        for (int i = 0; i < some; i++) bits |= mask[c + i];
        cpu_give_slice(g, planes, stride, c, some, bits, from, found, vectors, whole, end);
    }
    for (; c < last; c++) cpu_give_slice(g, planes, stride, c, 1, mask[c], from, found, vectors, whole, end);
}

/* `found` is known where it is called. */
CPU_INLINE void cpu_give_range(const cpu_given *const *g, int planes, int64_t stride, const uint16_t *mask, int32_t first,
                               int32_t last, int32_t dim, int found)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define BOTH(vectors, whole) cpu_give_columns(g, 2, stride, mask, first, last, i, found, vectors, whole, cut.end)
#define ONE(vectors, whole)  cpu_give_columns(g, 1, stride, mask, first, last, i, found, vectors, whole, cut.end)
        if (planes == 2) {
            CPU_BY_CUT(cut, BOTH)
        } else {
            CPU_BY_CUT(cut, ONE)
        }
#undef BOTH
#undef ONE
    }
}
#else
/* y += sum_r p[found[r / 4] + r] x[r stride ..] of one slice, over the rows in `bits`; `by_place` 0: of p[r]. */
CPU_INLINE void cpu_give_column(float *y, const float *p, const int32_t *found, const float *x, int64_t stride, unsigned bits,
                                int by_place, int vectors, int whole, lanes end)
{
    vec sum[GIVEN_SLICE];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = cpu_piece(y, v, vectors, whole, end);
    for (uint64_t left = bits; left; left &= left - 1) {
        const int64_t r = __builtin_ctzll(left);
        const vec share = vec_held(vec_all(p[by_place ? found[(uint64_t)r / 4] + r : r]));
        const float *row = x + r * stride;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) sum[v] = vec_fma(share, cpu_piece(row, v, vectors, whole, end), sum[v]);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) cpu_put_piece(y, v, vectors, whole, end, sum[v]);
}

/* The planes one after another. */
CPU_INLINE void cpu_give_range(const cpu_given *const *g, int planes, int64_t stride, const uint16_t *mask, int32_t first,
                               int32_t last, int32_t dim, int found)
{
    for (int32_t i = 0; i < dim; i += GIVEN_SLICE * LANES) {
        const int32_t left = dim - i < GIVEN_SLICE * LANES ? dim - i : GIVEN_SLICE * LANES;
        const lanes end = lanes_first((left - 1) % LANES + 1);
#define GIVE(vectors, whole)                                                                                                \
    for (int k = 0; k < planes; k++)                                                                                        \
        for (int32_t c = first; c < last; c++)                                                                              \
            cpu_give_column(g[k]->y[c] + g[k]->at + i, g[k]->p + (found ? 0 : (int64_t)c * LANES),                          \
                            found ? g[k]->found[c] : NULL, g[k]->x + i, stride, mask[c], found, vectors, whole, end)
#define GIVE_CUT(vectors)                                                                                                   \
    case vectors:                                                                                                           \
        if (left % LANES == 0) GIVE(vectors, 1);                                                                            \
        else GIVE(vectors, 0);                                                                                              \
        break
        switch ((left + LANES - 1) / LANES) {
            GIVE_CUT(1);
            GIVE_CUT(2);
            GIVE_CUT(3);
            GIVE_CUT(4);
            GIVE_CUT(5);
            GIVE_CUT(6);
            GIVE_CUT(7);
            GIVE_CUT(8);
        default:
            break;
        }
#undef GIVE_CUT
#undef GIVE
    }
}
#endif

/* The planes that are there. */
CPU_INLINE void cpu_give_planes(const cpu_given *const *g, int planes, int64_t stride, const uint16_t *mask, int32_t first,
                                int32_t last, int32_t dim, int found)
{
    if (planes <= GIVEN_TOGETHER && planes > 0) cpu_give_range(g, planes, stride, mask, first, last, dim, found);
    else
        for (int i = 0; i < planes; i++) cpu_give_range(g + i, 1, stride, mask, first, last, dim, found);
}

/* dK and dV of some columns from one head: ds and p [columns][LANES], and the tile's rows of q and do. */
static inline void cpu_give_sources(const ref_attend *t, const cpu_columns *c, int64_t column, const float *ds,
                                    const float *p, const float *q, const float *dout)
{
    float *y[GIVEN_PLANES][BLOCK];
    const cpu_given to[GIVEN_PLANES] = { { ds, q, y[0], column, NULL }, { p, dout, y[1], column, NULL } };
    for (int32_t first = 0, last; first < c->count; first = last) {
        const gsa_part *part = &t->args->parts[c->kind[first]];
        float *const plane[GIVEN_PLANES] = { part->dk, part->dv };
        const cpu_given *g[GIVEN_PLANES];
        int planes = 0;
        for (last = first; last < c->count && c->kind[last] == c->kind[first];) last++;
        for (int i = 0; i < GIVEN_PLANES; i++) {
            if (!plane[i]) continue;
            g[planes++] = &to[i];
            for (int32_t j = first; j < last; j++) y[i][j] = plane[i] + c->source[j] * t->width;
        }
        cpu_give_planes(g, planes, t->width, c->mask, first, last, t->dim, 0);
    }
}

/* dr_l += sum_r slope[l][r] q_r of one head; reads[l]: the rows r whose slope is not 0. */
static inline void cpu_give_labels(const ref_attend *t, const cpu_tile *tile, const float *slope, const uint16_t *reads,
                                   const float *q, int64_t stride, float *dr)
{
    float *y[TILE_LABELS];
    const cpu_given given = { slope, q, y, 0, NULL }, *const g[] = { &given };
    for (int32_t l = 0; l < tile->labels; l++) y[l] = dr + (int64_t)tile->label[l] * t->dim;
    cpu_give_range(g, 1, stride, reads, 0, tile->labels, t->dim, 0);
}

#endif
