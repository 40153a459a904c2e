/* tile_sources.h - what a tile's rows give to dK and dV: y_c += sum_r p[c][r] x_r over the rows r that read column c.
 *
 * A few columns that follow one another stand in registers while the rows that one of them reads pass by, so that each number of q and do is
 * read once for all of them. Fewer columns at a time waste fewer multiplications on rows that read only some, and dK and dV together keep the
 * registers full: two columns of both need 1084 multiply-adds of a row's vector where four columns of one need 1297 and edges 994 (a tile of
 * the leaves of bpt:k=4). */
#ifndef GSA_CPU_TILE_SOURCES_H
#define GSA_CPU_TILE_SOURCES_H
#include "kernels/cpu/tile.h"

enum {
    GIVEN_PLANES = 2,
    GIVEN_TOGETHER = LANES == 16 ? 2 : 1 /* planes whose sums stand in registers at once */
};

typedef struct cpu_given { /* y[c] += sum_r p[c LANES + r] x[r stride ..] for a plane */
    const float *p, *x;
    float *y[BLOCK]; /* rows of the head at work; NULL where the kind wants none */
} cpu_given;

/* Columns c .. c+columns-1 from the rows in `bits`. */
CPU_INLINE void cpu_give_slice(const cpu_given *const *g, int planes, int64_t stride, int32_t c, int columns, unsigned bits,
                               int32_t from, int vectors, int whole, lanes end)
{
    vec sum[GIVEN_PLANES][TILE_ROWS][SLICE];
    const float *x[GIVEN_PLANES], *p[GIVEN_PLANES];
    float *y[GIVEN_PLANES][TILE_ROWS];
    for (int k = 0; k < planes; k++) {
        x[k] = g[k]->x + from, p[k] = g[k]->p + c * LANES;
        for (int i = 0; i < columns; i++) y[k][i] = g[k]->y[c + i] + from;
        for (int i = 0; i < columns; i++)
            for (int v = 0; v < vectors; v++) sum[k][i][v] = cpu_piece(y[k][i], v, vectors, whole, end);
    }
    for (; bits; bits &= bits - 1) {
        const int r = __builtin_ctz(bits);
        const int64_t row = r * stride;
        for (int k = 0; k < planes; k++) {
            vec share[TILE_ROWS];
            for (int i = 0; i < columns; i++) share[i] = vec_held(vec_all(p[k][i * LANES + r]));
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
                                 int32_t last, int32_t from, int vectors, int whole, lanes end)
{
    const int some = TILE_ROWS / planes;
    int32_t c = first;
    for (; c + some <= last; c += some) {
        unsigned bits = 0;
        for (int i = 0; i < some; i++) bits |= mask[c + i];
        cpu_give_slice(g, planes, stride, c, some, bits, from, vectors, whole, end);
    }
    for (; c < last; c++) cpu_give_slice(g, planes, stride, c, 1, mask[c], from, vectors, whole, end);
}

static inline void cpu_give_range(const cpu_given *const *g, int planes, int64_t stride, const uint16_t *mask, int32_t first,
                                  int32_t last, int32_t dim)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define BOTH(vectors, whole) cpu_give_columns(g, 2, stride, mask, first, last, i, vectors, whole, cut.end)
#define ONE(vectors, whole)  cpu_give_columns(g, 1, stride, mask, first, last, i, vectors, whole, cut.end)
        if (planes == 2) {
            CPU_BY_CUT(cut, BOTH)
        } else {
            CPU_BY_CUT(cut, ONE)
        }
#undef BOTH
#undef ONE
    }
}

/* dK and dV of some columns from one head: ds and p [columns][LANES], and the tile's rows of q and do. */
static inline void cpu_give_sources(const ref_attend *t, const cpu_columns *c, int64_t column, const float *ds,
                                    const float *p, const float *q, const float *dout)
{
    cpu_given to[GIVEN_PLANES] = { { .p = ds, .x = q }, { .p = p, .x = dout } };
    for (int32_t first = 0, last; first < c->count; first = last) {
        const gsa_part *part = &t->args->parts[c->kind[first]];
        float *const plane[GIVEN_PLANES] = { part->dk, part->dv };
        const cpu_given *g[GIVEN_PLANES];
        int planes = 0;
        for (last = first; last < c->count && c->kind[last] == c->kind[first];) last++;
        for (int i = 0; i < GIVEN_PLANES; i++) {
            if (!plane[i]) continue;
            g[planes++] = &to[i];
            for (int32_t j = first; j < last; j++) to[i].y[j] = plane[i] + c->source[j] * t->width + column;
        }
        if (planes <= GIVEN_TOGETHER && planes > 0) cpu_give_range(g, planes, t->width, c->mask, first, last, t->dim);
        else
            for (int i = 0; i < planes; i++) cpu_give_range(g + i, 1, t->width, c->mask, first, last, t->dim);
    }
}

#endif
