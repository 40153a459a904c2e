/* tile_strip.h - a tile at work by strips: four rows of a head and the columns that one of them reads.
 *
 * A row of K is multiplied with the four rows while all of them stand in registers, or three with four that stand in the first cache
 * (tile_turned.h), and what a vector's worth of products is summed up to goes into one vector of scores. All scores of a strip stand in the first cache: one maximum, one sum, and the mix of values stays in registers from
 * the first column to the last. */
#ifndef GSA_CPU_TILE_STRIP_H
#define GSA_CPU_TILE_STRIP_H
#include "kernels/cpu/attention/band.h"
#include "kernels/cpu/attention/tile.h"

enum {
    STRIP = 4,                      /* rows */
    MIXED = LANES == 16 ? SLICE : 3 /* vectors of four rows whose sums stand in registers at once */
};

typedef struct cpu_strips {
    const ref_attend *t;
    const cpu_tile *tile;
    cpu_soon *soon; /* asked for a portion with each vector of scores */
    int32_t head;
    int64_t at; /* of the head in a row of k and v */
    const float *k[TILE_PLACED], *v[TILE_PLACED], *r[TILE_LABELS]; /* rows of columns, label vectors */
    const float *own[TILE_LABELS];                                 /* vectors of a strip's wanted labels */
    float of[TILE_LABELS];                                         /* what wanted labels' biases add to a strip's scores, */
    float more[4 * (TILE_PLACED + QUADS)];                         /* and where */
} cpu_strips;

/* Of the tile, for all heads. */
void cpu_strips_begin(cpu_strips *x, const ref_attend *t, const cpu_tile *tile, cpu_soon *soon);

/* s[place][row] of strip g for the head x->head: scale q.(k + r_l) + b_l, -inf where there is no edge. Returns each row's largest, at least
 * -FLT_MAX, in all quads. */
vec cpu_strip_scores(cpu_strips *x, int g, float *s);

/* The same bits of the rows q, scaled already, `stride` numbers apart, but whatever it is where there is no edge. Returns what is NaN where
 * `odd` is or a product is not finite. */
vec cpu_strip_bare_scores(cpu_strips *x, int g, const float *q, int64_t stride, float *s, vec odd);

/* s[place][row] = rows.v of strip g, for the head that stands at x->at; returns likewise. */
vec cpu_strip_values(cpu_strips *x, int g, const float *rows, int64_t stride, float *s, vec odd);

/* The next columns of a head whose sums stand in registers: at most MIXED vectors, of four two and two. */
static inline cpu_cut cpu_mix_cut(int32_t dim, int32_t from)
{
    if (LANES == 16) return cpu_cut_at(dim, from);
    const int32_t left = dim - from, all = (left + LANES - 1) / LANES, most = all == MIXED + 1 ? 2 : MIXED;
    const int vectors = all < most ? all : most;
    return (cpu_cut){ vectors, left >= vectors * LANES, lanes_first(left - (vectors - 1) * LANES) };
}

/* s <- exp(s - from) of so many vectors, `from` the largest of each row; returns the sums of each row, in all quads. */
static inline vec cpu_strip_exponents(float *s, int32_t vectors, vec from)
{
    vec sum = vec_zero();
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec p[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++) p[i] = vec_sub(vec_load(s + (j + i) * LANES), from);
        if (some == VEC_SOME) vec_exp_down_some(p, VEC_SOME);
        else vec_exp_down_some(p, 1);
        for (int i = 0; i < some; i++) vec_store(s + (j + i) * LANES, p[i]), sum = vec_add(sum, p[i]);
    }
    return vec_quads_sum(sum);
}

#endif
