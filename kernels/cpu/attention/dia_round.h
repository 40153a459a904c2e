/* dia_round.h - scores of a diagonal block: along its stripes by rounds, of what else it reads
 * place by place.
 *
 * A stripe of `count` places reads count + 3 rows of x. A round is one dot product of each of the
 * block's rows, all four folded together: in round g row r meets x_g, and where r > g, so that x_g
 * is not its own, x_{g + count}. So there are `count` rounds without a hole. Round g holds place
 * (g - r) mod count of row r: rounds are kept in memory, and places are read along its
 * diagonals. */
#ifndef GSA_CPU_DIA_ROUND_H
#define GSA_CPU_DIA_ROUND_H
#include "kernels/cpu/attention/dia.h"

typedef struct cpu_rounds {
    const float *q, *x; /* of row 0, of its first place */
    int64_t width, at;  /* at: of the head's first column */
    int64_t ahead;
    int32_t count, dim;
} cpu_rounds;

enum { ROUND_LATER = DIA_ROWS - 1 /* from this round on all rows meet the same row of x */ };

/* `rounds` rounds, at most QUADS, from `first` on; first = turn up to ROUND_LATER. Lane 4 i + r:
 * q_r . x of round first + i. The rows of q are read with each QUADS rows of x. */
CPU_INLINE vec cpu_dia_some_rounds(const cpu_rounds *a, int32_t first, int turn, int rounds,
                                   int fetch, int whole)
{
    const float *q = a->q, *x = a->x + first * a->width;
    vec sum[QUADS][DIA_ROWS], near[QUADS], far[QUADS], w[QUADS];
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++) CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) sum[i][r] = vec_zero();
    for (int32_t left = a->dim; left > 0; left -= LANES, q += LANES, x += LANES) {
        const cpu_cut one = cpu_one_vector(left, whole);
        CPU_UNROLL
        for (int i = 0; i < rounds; i++) {
            near[i] = vec_held(cpu_piece(x + i * a->width, 0, one));
            far[i] = turn + i < ROUND_LATER
                         ? vec_held(cpu_piece(x + (a->count + i) * a->width, 0, one))
                         : near[i];
        }
        CPU_UNROLL
        for (int r = 0; r < DIA_ROWS; r++) {
            const vec row = vec_held(cpu_piece(q + r * a->width, 0, one));
            CPU_UNROLL
            for (int i = 0; i < rounds; i++)
                sum[i][r] = vec_fma(row, r <= turn + i ? near[i] : far[i], sum[i][r]);
        }
        if (fetch && a->ahead && left / LANES % (CPU_LINE / LANES) == 0) {
            const cpu_dia_fetch to = cpu_dia_ahead_of(a->ahead, a->at + a->dim - left, a->width);
            const float *fresh = a->x + (a->count - 1) * a->width + (a->dim - left);
            for (int r = 0; r < DIA_ROWS; r++) cpu_dia_fetch_row(first == 0 ? q : fresh, r, to, 1);
        }
    }
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++)
        w[i] = i < rounds ? vec_sum_fours(sum[i][0], sum[i][1], sum[i][2], sum[i][3]) : vec_zero();
    return vec_fold(w);
}

CPU_INLINE vec cpu_dia_rounds_from(const cpu_rounds *a, int32_t first, int turn, int fetch,
                                   int whole)
{
    const int32_t left = a->count - first;
    if (left >= QUADS) return cpu_dia_some_rounds(a, first, turn, QUADS, fetch, whole);
    if (left == 1) return cpu_dia_some_rounds(a, first, turn, 1, fetch, whole);
    if (left == 2) return cpu_dia_some_rounds(a, first, turn, 2, fetch, whole);
    return cpu_dia_some_rounds(a, first, turn, QUADS - 1, fetch, whole);
}

/* s[place][r] <- scale q_r . x of one stripe and head; what is after the last place is written
 * too, to the end of its vector. */
CPU_INLINE void cpu_dia_rounds(float *s, const cpu_rounds *a, float scale, int whole)
{
    enum { SECOND = LANES == 8 ? 2 : 3 };          /* the turn of the rounds from QUADS on */
    float each[DIA_SCORES + 4 * DIA_ROWS + LANES]; /* [round][r], and after the last round the first
                                                      ones once more */
    const vec by = vec_all(scale);
    vec_store(each, vec_mul(by, cpu_dia_some_rounds(a, 0, 0, QUADS, 1, whole)));
    vec_store(each + LANES, vec_mul(by, cpu_dia_rounds_from(a, QUADS, SECOND, 1, whole)));
    for (int32_t g = 2 * QUADS; g < a->count; g += QUADS)
        vec_store(each + DIA_ROWS * g,
                  vec_mul(by, cpu_dia_rounds_from(a, g, ROUND_LATER, 0, whole)));
    for (int32_t g = 0; g < ROUND_LATER; g += QUADS)
        vec_store(each + DIA_ROWS * (a->count + g), vec_load(each + DIA_ROWS * g));
    for (int32_t e = 0; e < a->count; e += QUADS)
        vec_store(s + DIA_ROWS * e, vec_diagonals(each + DIA_ROWS * e));
}

#if GSA_CPU_LANES == 16
/* At 16 lanes the rows of q of a head of at most SLICE vectors stay in registers, and places come
 * out of rounds by one choice of lanes (window 11 forward: 1.3 times as fast). */

CPU_INLINE vec cpu_dia_round(vec q[DIA_ROWS][SLICE], const float *const x[DIA_ROWS], int shared,
                             cpu_cut cut)
{
    vec sum[DIA_ROWS];
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) {
        const vec one = vec_held(cpu_piece(x[0], v, cut));
        CPU_UNROLL
        for (int r = 0; r < DIA_ROWS; r++) {
            const vec k = shared || r == 0 ? one : cpu_piece(x[r], v, cut);
            sum[r] = v ? vec_fma(q[r][v], k, sum[r]) : vec_mul(q[r][v], k);
        }
    }
    return vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
}

/* Four rounds from `first` on, of which `left` are there. */
CPU_INLINE vec cpu_dia_four_rounds(vec q[DIA_ROWS][SLICE], const cpu_rounds *a, int32_t first,
                                   int32_t left, cpu_cut cut)
{
    vec w[QUADS];
    const float *at = a->x + first * a->width;
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++, at += a->width) {
        const float *x[DIA_ROWS];
        CPU_UNROLL
        for (int r = 0; r < DIA_ROWS; r++)
            x[r] = first == 0 && r > i ? at + a->count * a->width : at;
        w[i] = vec_zero();
        if (a->ahead && first == 0) cpu_prefetch_ahead(a->q + i * a->width, a->ahead, cut.vectors);
        if (a->ahead && left <= 4)
            cpu_prefetch_ahead(a->x + (a->count - 1 + i) * a->width, a->ahead, cut.vectors);
        if (i < left) w[i] = cpu_dia_round(q, x, first != 0 || i == 3, cut);
    }
    return vec_fold(w);
}

/* s[place][r] <- scale q_r . x of one stripe and head; what is after the last place is written
 * too, to the end of its vector. */
CPU_INLINE void cpu_dia_rounds_held(float *s, const cpu_rounds *a, float scale, cpu_cut cut)
{
    static const int32_t turn[28] = { 0,  1,  2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                      14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8,  9,  10, 11 };
    const int32_t last = (a->count - 1) / 4 * 4, left = a->count - last;
    vec q[DIA_ROWS][SLICE];
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) q[r][v] = cpu_piece(a->q + r * a->width, v, cut);
    vec before = cpu_dia_four_rounds(q, a, 0, a->count, cut);
    const vec first = vec_pick(before, before, turn + 4 * (4 - left)); /* after the last round */
    for (int32_t g = 4; g <= last; g += 4, s += LANES) {
        vec now = cpu_dia_four_rounds(q, a, g, a->count - g, cut);
        if (g == last) now = vec_keep(lanes_first(4 * left), now, first);
        vec_store(s, vec_mul(vec_all(scale), vec_diagonals_of(before, now)));
        before = now;
    }
    vec_store(s, vec_mul(vec_all(scale), vec_diagonals_of(before, first)));
}
#endif

/* Not inlined: it is called for each head and block, and its code is large. */
static __attribute__((noinline)) void cpu_dia_rounds_of(float *s, const cpu_rounds *a, float scale)
{
#if GSA_CPU_LANES == 16
    const cpu_cut cut = cpu_cut_at(a->dim, 0, SLICE);
    if (a->dim <= SLICE * LANES) {
        CPU_BY_CUT(cut, SLICE, cpu_dia_rounds_held, s, a, scale)
        return;
    }
#endif
    if (a->dim % LANES) cpu_dia_rounds(s, a, scale, 0);
    else cpu_dia_rounds(s, a, scale, 1);
}

/* s[e][r] <- scale q_r . x_e,r of one head, whose columns in a row of x begin at `at`; q is at
 * them. */
static inline void cpu_dia_scores(float *s, const ref_attend *t, const cpu_dia *dia, const float *q,
                                  const cpu_places *p, int64_t at, float scale)
{
    const cpu_rounds a = { q, p->x[0] + at, t->width, at, p->ahead, dia->edges, t->dim };
    if (cpu_by_rounds(dia)) cpu_dia_rounds_of(s, &a, scale);
    else cpu_dia_dots(s, q, p, dia->edges, at, t->width, t->dim, scale);
}

#endif
