/* sweep_unit.h - what both passes of a batch share (sweep_batch.h): which rows stand in which
 * vector, products, lanes of a row. */
#ifndef GSA_CPU_SWEEP_UNIT_H
#define GSA_CPU_SWEEP_UNIT_H
#include "kernels/cpu/attention/band.h"
#include "kernels/cpu/attention/sweep_batch.h"

enum {
    BATCH_MOST = BATCH_KINDS * BATCH_ROWS, /* rows */
    WIDE = 8                               /* vectors of an output that stand in registers */
};

typedef struct cpu_unit { /* rows whose edges share a vector, or one row */
    const cpu_batch_row *row;
    int32_t rows, kind, at, vectors; /* scores: vectors at .. at+vectors-1 */
    int32_t place;                   /* of the first row among all */
    unsigned edges;                  /* lanes of the last vector that are edges */
} cpu_unit;

typedef struct cpu_units { /* of a batch */
    int32_t units, rows, vectors;
    cpu_unit unit[BATCH_VECTORS];
    const cpu_batch_row *row[BATCH_MOST];
} cpu_units;

static inline int32_t cpu_batch_vectors(int32_t places)
{
    return (places + LANES - 1) / LANES;
}

/* Lanes of each row of a unit of some kind. */
static inline int32_t cpu_unit_lanes(int kind)
{
    return 2 << kind;
}

static inline void cpu_find_units(const cpu_batch *x, cpu_units *w)
{
    w->units = w->rows = w->vectors = 0;
    for (int kind = 0; kind < BATCH_KINDS; kind++) {
        const int32_t each = cpu_unit_lanes(kind);
        for (int32_t i = 0; i < x->rows[kind];) {
            cpu_unit *u = &w->unit[w->units++];
            const int32_t left = x->rows[kind] - i;
            *u = (cpu_unit){
                .row = &x->row[kind][i], .kind = kind, .at = w->vectors, .place = w->rows
            };
            u->rows = left < LANES / each ? left : LANES / each,
            u->vectors = cpu_batch_vectors(u->row->places);
            for (int32_t r = 0; r < u->rows; r++) {
                u->edges |= ((1u << (u->row[r].places - (u->vectors - 1) * LANES)) - 1) << r * each;
                w->row[w->rows++] = u->row + r;
            }
            i += u->rows, w->vectors += u->vectors;
        }
    }
}

/* Lane i: a[i / (LANES / rows)] . x[i], of the columns at .. at+dim-1. */
CPU_INLINE vec cpu_unit_products(const float *const *a, const float *const *x, int64_t at,
                                 int32_t dim, int rows)
{
    const int each = LANES / rows;
    const int32_t whole = dim / LANES;
    const lanes end = lanes_first(dim % LANES);
    vec sum[LANES];
    CPU_UNROLL
    for (int i = 0; i < LANES; i++) sum[i] = vec_zero();
    for (int32_t v = 0; v < whole; v++, at += LANES) CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const vec one = vec_held(vec_load(a[r] + at));
        CPU_UNROLL
        for (int i = r * each; i < (r + 1) * each; i++)
            sum[i] = vec_fma(one, vec_load(x[i] + at), sum[i]);
    }
    if (dim % LANES) CPU_UNROLL
    for (int i = 0; i < LANES; i++)
        sum[i] =
            vec_fma(vec_load_first(a[i / each] + at, end), vec_load_first(x[i] + at, end), sum[i]);
    const vec four[QUADS] = { vec_sum_fours(sum[0], sum[1], sum[2], sum[3]),
                              vec_sum_fours(sum[4], sum[5], sum[6], sum[7]) };
    return vec_fold(four);
}

/* Vector j of a unit: q.k, `values`: do.v. The last edge again where there are no more. */
CPU_INLINE vec cpu_unit_dots(const cpu_unit *u, int64_t at, int64_t stride, int32_t j, int values,
                             int kind, int32_t dim)
{
    const int each = 2 << kind, rows = LANES / each;
    const float *a[LANES], *x[LANES];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const cpu_batch_row *row = u->row + (r < u->rows ? r : 0);
        const int32_t last = row->places - 1 - j * each;
        const float *source = (values ? row->v : row->k) + j * LANES * stride;
        a[r] = values ? row->dout : row->q;
        CPU_UNROLL
        for (int e = 0; e < each; e++, source += e <= last ? stride : 0) x[r * each + e] = source;
    }
    return cpu_unit_products(a, x, at, dim, rows);
}

/* shift[i] <- what the label of row i adds to its scores of a head: scale q.r_l + b_l. */
static inline void cpu_find_shifts(const ref_attend *t, const cpu_units *w, int32_t head,
                                   float *shift)
{
    for (int32_t i = 0; i < w->rows; i += LANES) {
        const float *q[LANES], *r[LANES];
        float bias[LANES] = { 0 };
        vec dots = vec_zero();
        int one = 1; /* vector for all, as mostly */
        for (int j = 0; j < LANES; j++) {
            const cpu_batch_row *row = w->row[i + j < w->rows ? i + j : i];
            q[j] = row->q + (int64_t)head * t->dim, r[j] = row->r, one &= r[j] == r[0];
            if (t->bias) bias[j] = t->bias[(int64_t)row->label * t->heads + head];
        }
        if (t->r && one) dots = cpu_unit_products(r, q, 0, t->dim, 1);
        else if (t->r) dots = cpu_unit_products(q, r, 0, t->dim, LANES);
        vec_store(shift + i, vec_fma(dots, vec_all(t->scale), vec_load(bias)));
    }
}

/* In the lanes of each row of a unit: x[row]. */
CPU_INLINE vec cpu_unit_spread(const float *x, int kind)
{
    static const int32_t from[2][LANES] = { { 0, 0, 1, 1, 2, 2, 3, 3 },
                                            { 0, 0, 0, 0, 1, 1, 1, 1 } };
    if (kind == 2) return vec_all(*x);
    const vec all = vec_load(x);
    return vec_pick(all, all, picks_load(from[kind]));
}

/* Of the lanes of each row: their maximum, their sum, in all of them. */
CPU_INLINE vec cpu_unit_max(vec x, int kind)
{
    x = vec_max(x, vec_swap_one(x));
    if (kind > 0) x = vec_max(x, vec_swap_two(x));
    return kind > 1 ? vec_max(x, vec_turn_halves(x)) : x;
}
CPU_INLINE vec cpu_unit_sum(vec x, int kind)
{
    x = vec_add(x, vec_swap_one(x));
    if (kind > 0) x = vec_add(x, vec_swap_two(x));
    return kind > 1 ? vec_add(x, vec_turn_halves(x)) : x;
}

/* CALL(kind, dim) with constants, as far as code for them is worth it. */
#define CPU_BY_UNIT(of_kind, of_dim, CALL)                                                         \
    do {                                                                                           \
        if ((of_dim) == 64 && (of_kind) == 0) CALL(0, 64);                                         \
        else if ((of_dim) == 64 && (of_kind) == 1) CALL(1, 64);                                    \
        else if ((of_dim) == 64) CALL(2, 64);                                                      \
        else if ((of_kind) == 0) CALL(0, of_dim);                                                  \
        else if ((of_kind) == 1) CALL(1, of_dim);                                                  \
        else CALL(2, of_dim);                                                                      \
    } while (0)

/* CALL(vectors, whole) with constants, `from` and `cut` in its sight, for each slice of a head: of
 * WIDE vectors while there are. */
#define CPU_EACH_WIDE(dim, CALL)                                                                   \
    for (int32_t from = 0, taken; from < (dim); from += taken) {                                   \
        const cpu_cut cut = cpu_cut_at(dim, from);                                                 \
        taken = (dim)-from >= WIDE * LANES ? WIDE * LANES : SLICE * LANES;                         \
        if (taken == WIDE * LANES) CALL(WIDE, 1);                                                  \
        else CPU_BY_CUT(cut, CALL)                                                                 \
    }

#endif
