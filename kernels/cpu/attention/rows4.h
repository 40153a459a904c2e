/* rows4.h - what the formats of four rows share (ell, dia): where scores are, their softmax,
 * their slopes.
 *
 * The scores of four rows are a matrix [places][4]: a vector holds QUADS places. Blocks of such
 * scores follow one another, each from a whole vector on; start[i] is the first number of block i,
 * start[blocks] the end. A place that a row lacks is at -inf. Maxima and sums of a row go over
 * vectors and then over quads: no lane of one row meets another's, so no row's bits depend on the
 * rows next to it. */
#ifndef GSA_CPU_ROWS4_H
#define GSA_CPU_ROWS4_H
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/attend.h"
#include "kernels/cpu/attention/kept.h"

enum { ROWS4 = 4 };

static inline void cpu_rows4_exp(float *s, int32_t count)
{
    vec x[VEC_SOME];
    int32_t i = 0;
    for (; i + VEC_SOME * LANES <= count; i += VEC_SOME * LANES) {
        for (int j = 0; j < VEC_SOME; j++) x[j] = vec_load(s + i + j * LANES);
        vec_exp_some(x, VEC_SOME);
        for (int j = 0; j < VEC_SOME; j++) vec_store(s + i + j * LANES, x[j]);
    }
    for (; i < count; i += LANES) vec_store(s + i, vec_exp(vec_load(s + i)));
}

/* s <- p; lse [blocks][4], with room for LANES numbers more, as has `share`. 1: some row has no
 * weights, all of its p are 0. */
static inline int cpu_rows4_softmax(float *s, const int32_t *start, int32_t blocks, float *lse,
                                    float *share)
{
    int dead = 0;
    for (int32_t b = 0; b < blocks; b++) {
        vec top = vec_all(-FLT_MAX);
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            top = vec_max(vec_load(s + i), top);
        top = vec_quads_max(top);
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            vec_store(s + i, vec_sub(vec_load(s + i), top));
        vec_store(lse + 4 * b, top);
    }
    cpu_rows4_exp(s, start[blocks]);
    for (int32_t b = 0; b < blocks; b++) {
        vec sum = vec_zero();
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            sum = vec_add(sum, vec_load(s + i));
        vec_store(share + 4 * b, vec_quads_sum(sum));
    }
    for (int32_t i = 0; i < 4 * blocks; i += LANES) {
        const vec sum = vec_load(share + i);
        vec_store(lse + i, vec_add(vec_load(lse + i), vec_log(sum)));
        vec_store(share + i, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
        dead |= vec_bits_nonzero(sum) != vec_bits_nonzero(vec_all(1));
    }
    for (int32_t b = 0; b < blocks; b++) {
        const vec by = vec_four(share + 4 * b);
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            vec_store(s + i, vec_mul(vec_load(s + i), by));
    }
    return dead;
}

/* s *= 0 or 1/(1-p) of the heads first .. first+heads-1, each of whole vectors for `places` places;
 * the bits too, where `kept` is not NULL. */
static inline void cpu_rows4_keep(const ref_attend *t, const int64_t row[ROWS4], int32_t places,
                                  int32_t first, int32_t heads, float *s, cpu_bits *kept)
{
    enum { MOST = BLOCK * ROWS4 / LANES };
    const int32_t vectors = (places + QUADS - 1) / QUADS;
    cpu_bits bits[HEADS * MOST];
    for (int32_t h = 0; h < heads; h += KEPT_HEADS)
        cpu_keep_rows4(t, row, NULL, places, first + h, bits + h * vectors, vectors);
    cpu_keep(t, s, bits, (int64_t)heads * vectors);
    if (kept) memcpy(kept, bits, sizeof *bits * (size_t)(heads * vectors));
}

/* p <- exp(s - lse), ds <- p (g - inner); p holds s and ds holds g; lse, inner: [blocks][4]. */
static inline void cpu_rows4_slopes(float *p, float *ds, const int32_t *start, int32_t blocks,
                                    const float *lse, const float *inner)
{
    for (int32_t b = 0; b < blocks; b++) {
        const vec shift = vec_four(lse + 4 * b);
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            vec_store(p + i, vec_sub(vec_load(p + i), shift));
    }
    cpu_rows4_exp(p, start[blocks]);
    for (int32_t b = 0; b < blocks; b++) {
        const vec less = vec_four(inner + 4 * b);
        for (int32_t i = start[b]; i < start[b + 1]; i += LANES)
            vec_store(ds + i, vec_mul(vec_load(p + i), vec_sub(vec_load(ds + i), less)));
    }
}

#endif
