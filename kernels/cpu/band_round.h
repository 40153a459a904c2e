/* band_round.h - scores of a band: along its stripes by rounds, of what else it reads place by place.
 *
 * A stripe of `count` places reads count + 3 rows of x. A round is one dot product of each of the band's rows, all four folded together: in
 * round g row r meets x_g, and where r > g, so that x_g is not its own, x_{g + count}. So there are `count` rounds without a hole, four sums
 * are alive at a time, which leaves registers for the rows of q, and what one round folds stands beside the products of the next. Round g
 * holds place (g - r) mod count of row r: vectors of rounds become vectors of places by one choice of lanes. */
#ifndef GSA_CPU_BAND_ROUND_H
#define GSA_CPU_BAND_ROUND_H
#include "kernels/cpu/band.h"

#if GSA_CPU_LANES == 16

/* Which lanes, of four rounds and a vector behind them (16 and on): where `m` rounds are left of the four, the first ones follow; places. */
#define CPU_BY_LANE(F, m)                                                                                                   \
    {                                                                                                                       \
        F(0, m), F(1, m), F(2, m), F(3, m), F(4, m), F(5, m), F(6, m), F(7, m), F(8, m), F(9, m), F(10, m), F(11, m),       \
            F(12, m), F(13, m), F(14, m), F(15, m)                                                                          \
    }
#define CPU_LEFT(lane, m)  ((lane) < 4 * (m) ? (lane) : 16 + (lane)-4 * (m))
#define CPU_PLACE(lane, m) (4 * ((lane) / 4 + (lane) % 4) + (lane) % 4)
#define CPU_LAST(lane, m)  (CPU_PLACE(lane, m) < 16 ? CPU_PLACE(lane, m) : (16 + CPU_PLACE(lane, m) - 4 * (m)) % 32)

typedef struct cpu_rounds {
    const float *q, *x; /* of row 0, of its first place */
    int64_t width, ahead;
    int32_t count;
} cpu_rounds;

CPU_INLINE vec cpu_band_round(vec q[BAND_ROWS][SLICE], const float *const x[BAND_ROWS], int shared, int vectors, int whole,
                              lanes end)
{
    vec sum[BAND_ROWS];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec one = vec_held(cpu_piece(x[0], v, vectors, whole, end));
        CPU_UNROLL
        for (int r = 0; r < BAND_ROWS; r++) {
            const vec k = shared || r == 0 ? one : cpu_piece(x[r], v, vectors, whole, end);
            sum[r] = v ? vec_fma(q[r][v], k, sum[r]) : vec_mul(q[r][v], k);
        }
    }
    return vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
}

/* Four rounds from `first` on, of which `left` are there. */
CPU_INLINE vec cpu_band_four_rounds(vec q[BAND_ROWS][SLICE], const cpu_rounds *a, int32_t first, int32_t left, int vectors,
                                    int whole, lanes end)
{
    vec w[QUADS];
    const float *at = a->x + first * a->width;
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++, at += a->width) {
        const float *x[BAND_ROWS];
        CPU_UNROLL
        for (int r = 0; r < BAND_ROWS; r++) x[r] = first == 0 && r > i ? at + a->count * a->width : at;
        w[i] = vec_zero();
        if (a->ahead && first == 0) cpu_ask(a->q + i * a->width, a->ahead, vectors);
        if (a->ahead && left <= 4) cpu_ask(a->x + (a->count - 1 + i) * a->width, a->ahead, vectors);
        if (i < left) w[i] = cpu_band_round(q, x, first != 0 || i == 3, vectors, whole, end);
    }
    return vec_fold(w);
}

/* s[place][r] <- scale q_r . x of one stripe and head; what stands behind the last place is written too, to the end of its vector. */
CPU_INLINE void cpu_band_rounds(float *s, const cpu_rounds *a, float scale, int vectors, int whole, lanes end)
{
    static const int32_t place[16] = CPU_BY_LANE(CPU_PLACE, 0),
                         wrap[4][16] = { CPU_BY_LANE(CPU_LEFT, 1), CPU_BY_LANE(CPU_LEFT, 2), CPU_BY_LANE(CPU_LEFT, 3),
                                         CPU_BY_LANE(CPU_LEFT, 4) },
                         behind[4][16] = { CPU_BY_LANE(CPU_LAST, 1), CPU_BY_LANE(CPU_LAST, 2), CPU_BY_LANE(CPU_LAST, 3),
                                           CPU_BY_LANE(CPU_LAST, 4) };
    const int32_t last = (a->count - 1) / 4 * 4, left = a->count - last;
    vec q[BAND_ROWS][SLICE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) q[r][v] = cpu_piece(a->q + r * a->width, v, vectors, whole, end);
    const vec first = cpu_band_four_rounds(q, a, 0, a->count, vectors, whole, end);
    vec before = first;
    for (int32_t g = 4; g <= last; g += 4, s += LANES) {
        vec now = cpu_band_four_rounds(q, a, g, a->count - g, vectors, whole, end);
        if (g == last) now = vec_pick(now, first, picks_load(wrap[left - 1]));
        vec_store(s, vec_mul(vec_all(scale), vec_pick(before, now, picks_load(place))));
        before = now;
    }
    if (last == 0) before = vec_pick(first, first, picks_load(wrap[left - 1]));
    vec_store(s, vec_mul(vec_all(scale), vec_pick(before, first, picks_load(behind[left - 1]))));
}

/* Not inlined: it is called for each head and band, and its code is large. */
static __attribute__((noinline)) void cpu_band_rounds_of(float *s, const float *q, const float *x, const cpu_places *p,
                                                         int32_t count, int64_t width, int32_t dim, float scale)
{
    const cpu_rounds a = { q, x, width, p->ahead, count };
    const cpu_cut cut = cpu_cut_at(dim, 0);
#define ROUNDS_OF(vectors, whole) cpu_band_rounds(s, &a, scale, vectors, whole, cut.end)
    CPU_BY_CUT(cut, ROUNDS_OF)
#undef ROUNDS_OF
}
#endif

/* s[e][r] <- scale q_r . x_e,r of one head, whose columns in a row of x begin at `at`; q stands at them. */
static inline void cpu_band_scores(float *s, const ref_attend *t, const cpu_band *band, const float *q, const cpu_places *p,
                                   int64_t at, float scale)
{
#if GSA_CPU_LANES == 16
    if (cpu_by_rounds(t, band)) {
        cpu_band_rounds_of(s, q, p->x[0] + at, p, band->edges, t->width, t->dim, scale);
        return;
    }
#endif
    cpu_band_dots(s, q, p, band->edges, at, t->width, t->dim, scale);
}
#endif
