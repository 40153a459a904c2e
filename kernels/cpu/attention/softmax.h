/* softmax.h - the softmax of every format, and its slopes.
 *
 * The scores of four rows are a matrix [places][4]: a vector holds QUADS places. A row alone has
 * its edges e at place e / 4, lane e % 4, as four rows of a quarter of them each. A place that a
 * row lacks is at -inf. Maxima and sums of a row go over vectors, then over quads: no lane of one
 * row meets another's, so no row's bits depend on the rows next to it. Exponentials are taken
 * VEC_SOME vectors step by step together: alone each would wait for the one before. */
#ifndef GSA_CPU_SOFTMAX_H
#define GSA_CPU_SOFTMAX_H
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/attend.h"

enum { ROWS4 = 4, SOFTMAX = 3 /* numbers of a row's state in memory */ };

/* ---- online: edges come in parts (Milakov, Gimelshein 2018) -------------------------------- */

/* Of four rows, each in its lane of all quads. sum - lost is the sum of exp(s - top), compensated
 * (Kahan). */
typedef struct cpu_softmax {
    vec top, sum, lost;
} cpu_softmax;

/* s <- exp(s - from) of so many vectors, `from` the largest of each lane's row; returns the sums,
 * those of a row's quads in all of them. */
static inline vec cpu_exponents(float *s, int32_t vectors, vec from)
{
    vec sum = vec_zero();
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec p[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++) p[i] = vec_sub(vec_load(s + (j + i) * LANES), from);
        if (some == VEC_SOME) vec_exp_down_some(p, VEC_SOME);
        else vec_exp_down_some(p, 1);
        for (int i = 0; i < some; i++)
            vec_store(s + (j + i) * LANES, p[i]), sum = vec_add(sum, p[i]);
    }
    return vec_quads_sum(sum);
}

/* Adds exponentials from `top`, the largest score with those before, whose sum is `added`; returns
 * by what is shrunk what is there so far. `fresh`: nothing is. */
static inline vec cpu_softmax_add(cpu_softmax *x, vec top, vec added, int fresh)
{
    if (fresh) {
        *x = (cpu_softmax){ top, added, vec_zero() };
        return vec_zero();
    }
    const vec shrink = vec_exp(vec_sub(x->top, top)), before = vec_mul(x->sum, shrink),
              more = vec_sub(added, vec_mul(x->lost, shrink));
    x->top = top, x->sum = vec_add(before, more);
    x->lost = vec_sub(vec_sub(x->sum, before), more);
    return shrink;
}

/* Returns lse; share <- 1 / sum, 0 where nothing was added. */
static inline vec cpu_softmax_end(const cpu_softmax *x, vec *share)
{
    const vec sum = vec_sub(x->sum, x->lost);
    *share = vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero());
    return vec_add(x->top, vec_log(sum));
}

/* A row's state in memory: top, sum, lost. */
static inline cpu_softmax cpu_softmax_load(const float *x)
{
    return (cpu_softmax){ vec_all(x[0]), vec_all(x[1]), vec_all(x[2]) };
}
static inline void cpu_softmax_store(float *to, const cpu_softmax *x)
{
    to[0] = vec_first(x->top), to[1] = vec_first(x->sum), to[2] = vec_first(x->lost);
}

/* p <- exp(scale s - lse), ds <- scale p (g - inner) of so many vectors; p holds s and ds g. Both
 * 0 in lanes that are not in `mask`; NULL: all are. */
CPU_INLINE void cpu_slopes(float *p, float *ds, int32_t vectors, vec scale, vec lse, vec inner,
                           const uint16_t *mask)
{
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec each[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++)
            each[i] = vec_sub(vec_mul(scale, vec_load(p + (j + i) * LANES)), lse);
        if (some == VEC_SOME) vec_exp_some(each, VEC_SOME);
        else vec_exp_some(each, 1);
        for (int i = 0; i < some; i++) {
            float *at = ds + (j + i) * LANES;
            const lanes edges = lanes_of_bits(mask ? mask[j + i] : 0xFFFFu);
            if (mask) each[i] = vec_keep(edges, each[i], vec_zero());
            const vec slope = vec_mul(scale, vec_mul(each[i], vec_sub(vec_load(at), inner)));
            vec_store(p + (j + i) * LANES, each[i]);
            vec_store(at, mask ? vec_keep(edges, slope, vec_zero()) : slope);
        }
    }
}

/* ---- all edges at once, many short blocks: ell and dia --------------------------------------- */

enum { ROWS4_PLACES = 96 };

typedef struct cpu_rows4 { /* four rows and some heads of them */
    const ref_attend *t;
    int64_t row[ROWS4];
    int32_t places; /* of a head's scores, at most ROWS4_PLACES, */
    int32_t stride; /* which take so many numbers: whole vectors */
    int32_t first, heads;
} cpu_rows4;

/* s <- p, of one head after another; lse [heads][4], with room for LANES numbers more. 1: some row
 * has no weights, all of its p are 0. */
static inline int cpu_rows4_softmax(const cpu_rows4 *x, float *s, float *lse)
{
    const int32_t heads = x->heads, stride = x->stride;
    float share[ROWS4 * HEADS + LANES], *at = s;
    int dead = 0;
    for (int32_t h = 0; h < heads; h++, at += stride) {
        vec top = vec_all(-FLT_MAX);
        for (int32_t i = 0; i < stride; i += LANES) top = vec_max(vec_load(at + i), top);
        top = vec_quads_max(top);
        vec_store(lse + 4 * h, top);
        vec_store(share + 4 * h, cpu_exponents(at, stride / LANES, top));
    }
    for (int32_t i = 0; i < 4 * heads; i += LANES) {
        const vec sum = vec_load(share + i);
        vec_store(lse + i, vec_add(vec_load(lse + i), vec_log(sum)));
        vec_store(share + i, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
        dead |= vec_bits_nonzero(sum) != vec_bits_nonzero(vec_all(1));
    }
    at = s;
    for (int32_t h = 0; h < heads; h++) {
        const vec by = vec_four(share + 4 * h);
        for (float *end = at + stride; at < end; at += LANES)
            vec_store(at, vec_mul(vec_load(at), by));
    }
    return dead;
}

/* Keeps lse of the first `rows` rows; zeros in the output where one has no weights (`dead`). */
static inline void cpu_rows4_end(const cpu_rows4 *x, int32_t rows, const float *lse, int dead)
{
    const ref_attend *t = x->t;
    for (int32_t r = 0; r < rows; r++) {
        float *to = (float *)t->args->lse + x->row[r] * t->heads + x->first;
        float *out = (float *)t->args->out + x->row[r] * t->width + (int64_t)x->first * t->dim;
        for (int32_t h = 0; h < x->heads; h++) {
            to[h] = lse[ROWS4 * h + r];
            if (dead && to[h] == -INFINITY)
                memset(out + (int64_t)h * t->dim, 0, sizeof(float) * (size_t)t->dim);
        }
    }
}

/* p <- exp(s - lse), ds <- p (g - inner); p holds s and ds holds g; lse, inner: [heads][4]. */
static inline void cpu_rows4_slopes(const cpu_rows4 *x, float *p, float *ds, const float *lse,
                                    const float *inner)
{
    for (int32_t h = 0; h < x->heads; h++, p += x->stride, ds += x->stride)
        cpu_slopes(p, ds, x->stride / LANES, vec_all(1), vec_four(lse + 4 * h),
                   vec_four(inner + 4 * h), NULL);
}

#endif
