/* sweep_group.h - rows of a sweep that read all sources of a piece, four, two or one of them at
 * once.
 *
 * A row of K is multiplied with the rows' queries while these stand in registers, and a row of V
 * goes into all their outputs, so that K, V, dK and dV are read and written once for four rows.
 * Lane b of a vector of scores is row b % rows, and the columns follow one another: a maximum, an
 * exponential or a sum serves all rows. Every row reads every column: nothing is masked, and what
 * is not finite needs no second way. Heads of at most SLICE vectors have their queries in registers
 * (AVX-512), others in L1 (sweep_packed.h). Not with dropout, nor where labels differ along a
 * range. */
#ifndef GSA_CPU_SWEEP_GROUP_H
#define GSA_CPU_SWEEP_GROUP_H
#include "kernels/cpu/attention/sweep.h"
#include "kernels/cpu/attention/panel.h"

enum {
    GROUP = STRIP,  /* rows at most */
    GROUP_DIM = 256 /* columns of a head at most */
};

typedef struct cpu_group {
    const ref_attend *t;
    int64_t ahead; /* numbers from a source's row to that of the next piece, which is asked for; 0:
                      nothing is */
    int64_t from, row[GROUP];
    int32_t columns, kind; /* sources from .. from+columns-1 */
    int32_t label[GROUP];
    int rows;
    /* Of the forward pass. */
    float *out[GROUP];
    cpu_softmax *state[GROUP]; /* of all heads, as forward_block's; not read where `fresh`, not
                                  written where `ends` */
    int fresh[GROUP], ends[GROUP];
} cpu_group;

/* Whether a call works by groups; whether a range may stand in one. */
static inline int cpu_groups(const ref_attend *t)
{
    return t->dim > 0 && t->dim <= GROUP_DIM && !t->drop.on;
}
static inline int cpu_grouped(const ref_attend *t, const gsa_run *run)
{
    return cpu_groups(t) && (run->count == 1 || run->label_step == 0);
}

/* Whether rows are packed: 16 registers do not hold four of 32 columns and the sums. */
static inline int cpu_group_packed(const ref_attend *t)
{
    return LANES != 16 || t->dim > SLICE * LANES;
}

/* 4, 2 or 1 rows. */
void cpu_group_forward(const cpu_group *group);
/* The gradients of some heads; 0 when a row has no gradient (its lse is -inf): then nothing is
 * done. */
int cpu_group_backward(const cpu_group *group, int32_t first, int32_t last,
                       const ref_label_sums *sums);

/* The rows' columns of one head, from `at` on. */
static inline void cpu_group_rows(const cpu_group *g, const void *plane, int64_t at,
                                  const float **x)
{
    for (int r = 0; r < g->rows; r++) x[r] = (const float *)plane + g->row[r] * g->t->width + at;
}

/* Lane b of turned vector i is of row i ^ (b % rows). */
CPU_INLINE void cpu_group_turn(cpu_transposed *to, const float *const *x, float scale, int rows,
                               int vectors, int whole, lanes end)
{
    const lanes odd = lanes_of_bits(0xAAAAu), high = lanes_of_bits(0xCCCCu);
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        vec row[GROUP], two[GROUP];
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            row[r] = vec_mul(cpu_piece(x[r], v, vectors, whole, end), vec_all(scale));
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            two[r] = rows > 1 ? vec_keep(odd, row[r ^ 1], row[r]) : row[r];
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            to->part[v][r] = rows == GROUP ? vec_keep(high, two[r ^ 2], two[r]) : two[r];
    }
}

/* Of two rows lane b: what its lanes add to the product of row b % 2 with x; of one row
 * likewise. */
CPU_INLINE vec cpu_group_few(const cpu_transposed *q, const float *x, int rows, int vectors,
                             int whole, lanes end)
{
    vec sum[2];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec k = vec_held(cpu_piece(x, v, vectors, whole, end));
        CPU_UNROLL
        for (int i = 0; i < rows; i++)
            sum[i] = v ? vec_fma(q->part[v][i], k, sum[i]) : vec_mul(q->part[v][i], k);
    }
    return rows == 2 ? vec_add(sum[0], vec_swap_one(sum[1])) : sum[0];
}

/* Each quad: what its lanes add to the products of the rows with the columns c .. c + GROUP/rows -
 * 1. */
CPU_INLINE vec cpu_group_quad(const cpu_transposed *q, const float *x, int64_t stride,
                              int64_t ahead, int32_t c, int32_t last, int rows, int vectors,
                              int whole, lanes end)
{
    vec few[GROUP];
    for (int i = 0; i < GROUP / rows; i++) {
        const float *column = x + (c + i < last ? c + i : last) * stride;
        if (ahead) cpu_ask(column, ahead, vectors);
        few[i] = rows == GROUP
                     ? cpu_transposed_dots(q->part[0], column, NULL, 0, vectors, whole, end)
                     : cpu_group_few(q, column, rows, vectors, whole, end);
    }
    if (rows == GROUP) return few[0];
    return rows == 2 ? vec_add(vec_pairs_low(few[0], few[1]), vec_pairs_high(few[0], few[1]))
                     : vec_sum_fours(few[0], few[1], few[2], few[3]);
}

/* The products of the rows with the columns that stand in vector j of the scores, of which there
 * are `columns` in all: the last one again where there are no more. */
CPU_INLINE vec cpu_group_dots(const cpu_transposed *q, const float *x, int64_t stride,
                              int64_t ahead, int32_t j, int32_t columns, int rows, int vectors,
                              int whole, lanes end)
{
    vec w[QUADS];
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++)
        w[i] = cpu_group_quad(q, x, stride, ahead, j * (LANES / rows) + i * (GROUP / rows),
                              columns - 1, rows, vectors, whole, end);
    return vec_fold(w);
}

/* Vectors of scores; the lanes of the last one that are columns. */
static inline int32_t cpu_group_vectors(const cpu_group *g)
{
    return (g->columns * g->rows + LANES - 1) / LANES;
}
static inline lanes cpu_group_last(const cpu_group *g)
{
    return lanes_first(g->columns * g->rows - (cpu_group_vectors(g) - 1) * LANES);
}

/* Of each row's lanes in a quad: their sum, their maximum, in all of them. */
CPU_INLINE vec cpu_group_add_quad(vec x, int rows)
{
    const vec two = rows == 1 ? vec_add(x, vec_swap_one(x)) : x;
    return rows == GROUP ? x : vec_add(two, vec_swap_two(two));
}
CPU_INLINE vec cpu_group_max_quad(vec x, int rows)
{
    const vec two = rows == 1 ? vec_max(x, vec_swap_one(x)) : x;
    return rows == GROUP ? x : vec_max(two, vec_swap_two(two));
}

/* Lane b: x[b % rows]. */
CPU_INLINE vec cpu_group_lanes(const float *x, int rows)
{
    return vec_quads_of(x[0], x[1 % rows], x[2 % rows], x[3 % rows]);
}

/* In each row's lanes: a_r . b_r of a head. */
CPU_INLINE vec cpu_group_row_dots(const float *const *a, const float *const *b, int rows,
                                  int vectors, int whole, lanes end)
{
    vec sum[GROUP];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec x = cpu_piece(a[r], v, vectors, whole, end),
                  y = cpu_piece(b[r], v, vectors, whole, end);
        sum[r] = v ? vec_fma(x, y, sum[r]) : vec_mul(x, y);
    }
    return vec_quads_sum(vec_sum_fours(sum[0], sum[1 % rows], sum[2 % rows], sum[3 % rows]));
}

/* The rows' label vectors, where there are any. */
static inline void cpu_group_label_rows(const cpu_group *g, const float **label)
{
    for (int r = 0; g->t->r && r < g->rows; r++)
        label[r] = g->t->r + (int64_t)g->label[r] * g->t->dim;
}

/* In each row's lanes: scale q.r_l + b_l of its label and a head; `dots`: q.r_l, where there are
 * vectors. */
CPU_INLINE vec cpu_group_shift(const cpu_group *g, vec dots, int32_t head, int rows)
{
    const ref_attend *t = g->t;
    const vec shift = t->r ? vec_mul(dots, vec_all(t->scale)) : vec_zero();
    float bias[GROUP];
    for (int r = 0; t->bias && r < rows; r++)
        bias[r] = t->bias[(int64_t)g->label[r] * t->heads + head];
    return t->bias ? vec_add(shift, cpu_group_lanes(bias, rows)) : shift;
}

/* sum_r <- sum_r + sum_c p[c][r] x_c */
CPU_INLINE void cpu_group_mix(vec sum[GROUP][SLICE], const float *p, const float *x, int64_t stride,
                              int32_t columns, int64_t ahead, int rows, int vectors, int whole,
                              lanes end)
{
    for (int32_t c = 0; c < columns; c++, x += stride, p += rows) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) {
            const vec part = vec_held(cpu_piece(x, v, vectors, whole, end));
            CPU_UNROLL
            for (int r = 0; r < rows; r++) sum[r][v] = vec_fma(vec_all(p[r]), part, sum[r][v]);
        }
        if (ahead) cpu_ask(x, ahead, vectors);
    }
}

/* CALL(vectors, 0) with constants: the last vector is read by its lanes, be it whole or not. */
#if GSA_CPU_ONE_COPY
#define CPU_BY_VECTORS(cut, CALL)                                                                  \
    {                                                                                              \
        CALL((cut).vectors, 0);                                                                    \
    }
#else
#define CPU_BY_VECTORS(cut, CALL)                                                                  \
    switch ((cut).vectors) {                                                                       \
    case 1:                                                                                        \
        CALL(1, 0);                                                                                \
        break;                                                                                     \
    case 2:                                                                                        \
        CALL(2, 0);                                                                                \
        break;                                                                                     \
    case 3:                                                                                        \
        CALL(3, 0);                                                                                \
        break;                                                                                     \
    default:                                                                                       \
        CALL(4, 0);                                                                                \
        break;                                                                                     \
    }
#endif

/* CALL_FOUR, _TWO or _ONE(vectors, whole) with constants; fewer copies of the code for few rows,
 * whose time matters less than the compiler's. */
#define CPU_BY_GROUP(rows, cut, CALL)                                                              \
    do {                                                                                           \
        if ((rows) == GROUP) CPU_BY_CUT(cut, CALL##_FOUR)                                          \
        else if ((rows) == 2) CPU_BY_VECTORS(cut, CALL##_TWO)                                      \
        else CPU_BY_VECTORS(cut, CALL##_ONE)                                                       \
    } while (0)

/* CALL(vectors, whole) with constants, for a slice of at most two vectors. */
#if GSA_CPU_ONE_COPY
#define CPU_BY_PAIR(cut, CALL) CALL((cut).vectors, (cut).whole)
#else
#define CPU_BY_PAIR(cut, CALL)                                                                     \
    do {                                                                                           \
        if ((cut).vectors == 2 && (cut).whole) CALL(2, 1);                                         \
        else if ((cut).vectors == 2) CALL(2, 0);                                                   \
        else if ((cut).whole) CALL(1, 1);                                                          \
        else CALL(1, 0);                                                                           \
    } while (0)
#endif

#endif
