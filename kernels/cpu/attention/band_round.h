/* band_round.h - scores of a band: along its stripes by rounds, of what else it reads place by
 * place.
 *
 * A stripe of `count` places reads count + 3 rows of x. A round is one dot product of each of the
 * band's rows, all four folded together: in round g row r meets x_g, and where r > g, so that x_g
 * is not its own, x_{g + count}. So there are `count` rounds without a hole, four sums are alive at
 * a time, which leaves registers for the rows of q, and what one round folds is next to the
 * products of the next. Round g holds place (g - r) mod count of row r: vectors of rounds become
 * vectors of places by one choice of lanes. */
#ifndef GSA_CPU_BAND_ROUND_H
#define GSA_CPU_BAND_ROUND_H
#include "kernels/cpu/attention/band.h"

#if GSA_CPU_LANES == 16

/* Which lanes, of four rounds and a vector after them (16 and on): where `m` rounds are left of
 * the four, the first ones follow; places. */
#define CPU_BY_LANE(F, m)                                                                          \
    {                                                                                              \
        F(0, m), F(1, m), F(2, m), F(3, m), F(4, m), F(5, m), F(6, m), F(7, m), F(8, m), F(9, m),  \
            F(10, m), F(11, m), F(12, m), F(13, m), F(14, m), F(15, m)                             \
    }
#define CPU_LEFT(lane, m)  ((lane) < 4 * (m) ? (lane) : 16 + (lane)-4 * (m))
#define CPU_PLACE(lane, m) (4 * ((lane) / 4 + (lane) % 4) + (lane) % 4)
#define CPU_LAST(lane, m)                                                                          \
    (CPU_PLACE(lane, m) < 16 ? CPU_PLACE(lane, m) : (16 + CPU_PLACE(lane, m) - 4 * (m)) % 32)

typedef struct cpu_rounds {
    const float *q, *x; /* of row 0, of its first place */
    int64_t width, ahead;
    int32_t count;
} cpu_rounds;

CPU_INLINE vec cpu_band_round(vec q[BAND_ROWS][SLICE], const float *const x[BAND_ROWS], int shared,
                              int vectors, int whole, lanes end)
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
CPU_INLINE vec cpu_band_four_rounds(vec q[BAND_ROWS][SLICE], const cpu_rounds *a, int32_t first,
                                    int32_t left, int vectors, int whole, lanes end)
{
    vec w[QUADS];
    const float *at = a->x + first * a->width;
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++, at += a->width) {
        const float *x[BAND_ROWS];
        CPU_UNROLL
        for (int r = 0; r < BAND_ROWS; r++)
            x[r] = first == 0 && r > i ? at + a->count * a->width : at;
        w[i] = vec_zero();
        if (a->ahead && first == 0) cpu_ask(a->q + i * a->width, a->ahead, vectors);
        if (a->ahead && left <= 4) cpu_ask(a->x + (a->count - 1 + i) * a->width, a->ahead, vectors);
        if (i < left) w[i] = cpu_band_round(q, x, first != 0 || i == 3, vectors, whole, end);
    }
    return vec_fold(w);
}

/* s[place][r] <- scale q_r . x of one stripe and head; what implements the last place is written
 * too, to the end of its vector. */
CPU_INLINE void cpu_band_rounds(float *s, const cpu_rounds *a, float scale, int vectors, int whole,
                                lanes end)
{
    static const int32_t place[16] = CPU_BY_LANE(CPU_PLACE, 0),
                         wrap[4][16] = { CPU_BY_LANE(CPU_LEFT, 1), CPU_BY_LANE(CPU_LEFT, 2),
                                         CPU_BY_LANE(CPU_LEFT, 3), CPU_BY_LANE(CPU_LEFT, 4) },
                         behind[4][16] = { CPU_BY_LANE(CPU_LAST, 1), CPU_BY_LANE(CPU_LAST, 2),
                                           CPU_BY_LANE(CPU_LAST, 3), CPU_BY_LANE(CPU_LAST, 4) };
    const int32_t last = (a->count - 1) / 4 * 4, left = a->count - last;
    vec q[BAND_ROWS][SLICE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        q[r][v] = cpu_piece(a->q + r * a->width, v, vectors, whole, end);
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

/* Not inlined: it is called for each head and band, and its code is large. `at`: the head's first
 * column. */
static __attribute__((noinline)) void cpu_band_rounds_of(float *s, const float *q,
                                                         const cpu_places *p, int64_t at,
                                                         int32_t count, int64_t width, int32_t dim,
                                                         float scale)
{
    const cpu_rounds a = { q, p->x[0] + at, width, p->ahead, count };
    const cpu_cut cut = cpu_cut_at(dim, 0);
#define ROUNDS_OF(vectors, whole) cpu_band_rounds(s, &a, scale, vectors, whole, cut.end)
    CPU_BY_CUT(cut, ROUNDS_OF)
#undef ROUNDS_OF
}
#else

/* At 8 lanes the rows of q are read with each two rows of x, for which the registers have room: 6
 * vectors read for 8 multiplications. Rounds are kept in memory, so that the places come out of it
 * by reading along its diagonals. */
typedef struct cpu_rounds {
    const float *q, *x; /* of row 0, of its first place */
    int64_t width, at;  /* at: of the head's first column */
    const cpu_places *places;
    int32_t count, dim;
} cpu_rounds;

enum { ROUND_LATER = BAND_ROWS - 1 /* from this round on all rows meet the same row of x */ };

/* `rounds` rounds, one or two, from `first` on; first = turn up to ROUND_LATER. Lane 4 i + r: q_r .
 * x of round first + i. */
CPU_INLINE vec cpu_band_two_rounds(const cpu_rounds *a, int32_t first, int turn, int rounds,
                                   int asks, int whole)
{
    const float *q = a->q, *x = a->x + first * a->width;
    vec sum[2][BAND_ROWS], near[2], far[2], w[2];
    CPU_UNROLL
    for (int i = 0; i < 2; i++) CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) sum[i][r] = vec_zero();
    for (int32_t left = a->dim; left > 0; left -= LANES, q += LANES, x += LANES) {
        const lanes end = lanes_first(left < LANES ? left : LANES);
        CPU_UNROLL
        for (int i = 0; i < rounds; i++) {
            near[i] = vec_held(cpu_piece(x + i * a->width, 0, 1, whole, end));
            far[i] = turn + i < ROUND_LATER
                         ? vec_held(cpu_piece(x + (a->count + i) * a->width, 0, 1, whole, end))
                         : near[i];
        }
        CPU_UNROLL
        for (int r = 0; r < BAND_ROWS; r++) {
            const vec row = vec_held(cpu_piece(q + r * a->width, 0, 1, whole, end));
            CPU_UNROLL
            for (int i = 0; i < rounds; i++)
                sum[i][r] = vec_fma(row, r <= turn + i ? near[i] : far[i], sum[i][r]);
        }
        if (asks && a->places->ahead && left / LANES % (ASK_LINE / LANES) == 0) {
            const cpu_band_asks to =
                cpu_band_asks_of(a->places->ahead, a->at + a->dim - left, a->width);
            const float *fresh = a->x + (a->count - 1) * a->width + (a->dim - left);
            for (int r = 0; first == 0 && r < BAND_ROWS; r++) cpu_ask_row(q, r, to, 1);
            for (int r = 0; first > 0 && r < BAND_ROWS; r++) cpu_ask_row(fresh, r, to, 1);
        }
    }
    CPU_UNROLL
    for (int i = 0; i < 2; i++)
        w[i] = i < rounds ? vec_sum_fours(sum[i][0], sum[i][1], sum[i][2], sum[i][3]) : vec_zero();
    return vec_fold(w);
}

CPU_INLINE vec cpu_band_rounds_from(const cpu_rounds *a, int32_t first, int turn, int asks,
                                    int whole)
{
    return a->count - first > 1 ? cpu_band_two_rounds(a, first, turn, 2, asks, whole)
                                : cpu_band_two_rounds(a, first, turn, 1, asks, whole);
}

/* s[place][r] <- scale q_r . x of one stripe and head; what implements the last place is written
 * too, to the end of its vector. */
CPU_INLINE void cpu_band_rounds(float *s, const cpu_rounds *a, float scale, int whole)
{
    float each[BAND_SCORES + 4 * BAND_ROWS +
               LANES]; /* [round][r], and after the last round the first ones once more */
    const vec by = vec_all(scale), first = vec_mul(by, cpu_band_two_rounds(a, 0, 0, 2, 1, whole)),
              second = vec_mul(by, cpu_band_rounds_from(a, 2, 2, 1, whole));
    vec_store(each, first), vec_store(each + LANES, second);
    for (int32_t g = 4; g < a->count; g += 2)
        vec_store(each + BAND_ROWS * g,
                  vec_mul(by, cpu_band_rounds_from(a, g, ROUND_LATER, 0, whole)));
    vec_store(each + BAND_ROWS * a->count, first),
        vec_store(each + BAND_ROWS * a->count + LANES, second);
    for (int32_t e = 0; e < a->count; e += QUADS)
        vec_store(s + BAND_ROWS * e, vec_diagonals(each + BAND_ROWS * e));
}

static __attribute__((noinline)) void cpu_band_rounds_of(float *s, const float *q,
                                                         const cpu_places *p, int64_t at,
                                                         int32_t count, int64_t width, int32_t dim,
                                                         float scale)
{
    const cpu_rounds a = { q, p->x[0] + at, width, at, p, count, dim };
    if (dim % LANES) cpu_band_rounds(s, &a, scale, 0);
    else cpu_band_rounds(s, &a, scale, 1);
}
#endif

/* s[e][r] <- scale q_r . x_e,r of one head, whose columns in a row of x begin at `at`; q is at
 * them. */
static inline void cpu_band_scores(float *s, const ref_attend *t, const cpu_band *band,
                                   const float *q, const cpu_places *p, int64_t at, float scale)
{
    if (cpu_by_rounds(t, band))
        cpu_band_rounds_of(s, q, p, at, band->edges, t->width, t->dim, scale);
    else cpu_band_dots(s, q, p, band->edges, at, t->width, t->dim, scale);
}
#endif
