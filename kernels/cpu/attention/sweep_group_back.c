/* sweep_group_back.c - the backward pass of rows that read all sources of a piece
 * (sweep_group.h). */
#include <math.h>
#include "kernels/cpu/attention/sweep_packed.h"

typedef struct slopes {                        /* of the rows and a head: [columns][rows] */
    float p[GROUP * PIECE], ds[GROUP * PIECE]; /* ds: times the scale */
    float sum[LANES];                          /* of each row's ds, without it */
} slopes;

/* s <- e^s. */
static void exponents(float *s, int32_t vectors)
{
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec x[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++) x[i] = vec_load(s + (j + i) * LANES);
        if (some == VEC_SOME) vec_exp_some(x, VEC_SOME);
        else vec_exp_some(x, 1);
        for (int i = 0; i < some; i++) vec_store(s + (j + i) * LANES, x[i]);
    }
}

/* p_c = exp(s_c - lse), the places behind the last column 0. */
CPU_INLINE void weights(const cpu_group *g, slopes *x, const float *const *q, int32_t head,
                        int packed, int rows, int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const float *k = (const float *)t->args->parts[g->kind].k + g->from * t->width +
                     (int64_t)head * t->dim,
                *label[GROUP];
    const int32_t count = cpu_group_vectors(g);
    float lse[GROUP];
    cpu_operand operand;
    vec shift = vec_zero();
    for (int r = 0; r < rows; r++)
        lse[r] = ((const float *)t->args->lse)[g->row[r] * t->heads + head];
    cpu_group_label_rows(g, label);
    if (t->r) shift = cpu_operand_row_dots(q, label, packed, rows, vectors, whole, end);
    shift = vec_sub(cpu_group_shift(g, shift, head, rows), cpu_group_lanes(lse, rows));
    cpu_operand_of(&operand, q, t->scale, packed, rows, vectors, whole, end);
    for (int32_t j = 0; j < count; j++) {
        vec_store(x->p + j * LANES,
                  vec_add(cpu_operand_dots(&operand, k, t->width, g->ahead, j, g->columns, packed,
                                           rows, vectors, whole, end),
                          shift));
    }
    float *last = x->p + (count - 1) * LANES;
    vec_store(last, vec_keep(cpu_group_last(g), vec_load(last), vec_all(-INFINITY)));
    exponents(x->p, count);
}

/* ds_c = p_c (do.v_c - D) */
CPU_INLINE void slope(const cpu_group *g, slopes *x, const float *const *dout, int32_t head,
                      int packed, int rows, int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const int64_t at = (int64_t)head * t->dim;
    const float *out[GROUP],
        *v = (const float *)t->args->parts[g->kind].v + g->from * t->width + at;
    const int32_t count = cpu_group_vectors(g);
    cpu_operand operand;
    vec sum = vec_zero();
    cpu_group_rows(g, t->args->out, at, out);
    const vec inner = cpu_operand_row_dots(dout, out, packed, rows, vectors, whole, end);
    cpu_operand_of(&operand, dout, 1, packed, rows, vectors, whole, end);
    for (int32_t j = 0; j < count; j++) {
        const vec dp = cpu_operand_dots(&operand, v, t->width, g->ahead, j, g->columns, packed,
                                        rows, vectors, whole, end);
        vec ds = vec_mul(vec_load(x->p + j * LANES), vec_sub(dp, inner));
        if (j == count - 1) ds = vec_keep(cpu_group_last(g), ds, vec_zero());
        sum = vec_add(sum, ds);
        vec_store(x->ds + j * LANES, vec_mul(ds, vec_all(t->scale)));
    }
    vec_store(x->sum, cpu_group_add_quad(vec_quads_sum(sum), rows));
}

/* dq_r += sum_c ds_c (k_c + r_l), the columns of a head from `from` on. */
CPU_INLINE void queries(const cpu_group *g, const slopes *x, int32_t head, int32_t from, int rows,
                        int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const int64_t at = (int64_t)head * t->dim + from;
    const float *k = (const float *)t->args->parts[g->kind].k + g->from * t->width + at;
    vec sum[GROUP][SLICE];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const float *label = t->r ? t->r + (int64_t)g->label[r] * t->dim + from : NULL;
        const vec share = vec_all(t->scale * x->sum[r]);
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[r][v] =
                label ? vec_mul(share, cpu_piece(label, v, vectors, whole, end)) : vec_zero();
    }
    cpu_group_mix(sum, x->ds, k, t->width, g->columns, 0, rows, vectors, whole, end);
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        float *dq = (float *)t->args->dq + g->row[r] * t->width + at;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            cpu_put_piece(dq, v, vectors, whole, end,
                          vec_add(cpu_piece(dq, v, vectors, whole, end), sum[r][v]));
    }
}

/* y_c += sum_r p[c][r] x_r, likewise. */
CPU_INLINE void give(const cpu_group *g, float *plane, const float *p, const float *const *x,
                     int32_t head, int32_t from, int rows, int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const int64_t stride = t->width, ahead = g->ahead;
    float *y = plane + g->from * stride + (int64_t)head * t->dim + from;
    const float *const end_of = p + (int64_t)g->columns * rows;
    vec part[GROUP][SLICE];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) part[r][v] = cpu_piece(x[r] + from, v, vectors, whole, end);
    for (; p < end_of; p += rows, y += stride) {
        vec share[GROUP];
        CPU_UNROLL
        for (int r = 0; r < rows; r++) share[r] = vec_held(vec_all(p[r]));
        if (ahead) cpu_ask(y, ahead, vectors);
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) {
            vec sum = cpu_piece(y, v, vectors, whole, end);
            CPU_UNROLL
            for (int r = 0; r < rows; r++) sum = vec_fma(share[r], part[r][v], sum);
            cpu_put_piece(y, v, vectors, whole, end, sum);
        }
    }
}

/* db_l += sum_c ds_c, dr_l += scale sum_c ds_c q */
static void labels(const cpu_group *g, const slopes *x, const float *const *q, int32_t head,
                   const ref_label_sums *sums)
{
    const ref_attend *t = g->t;
    for (int r = 0; r < g->rows; r++) {
        const int64_t label = g->label[r];
        const float share = t->scale * x->sum[r];
        float *row = sums->dr ? sums->dr + label * t->dim : NULL;
        if (sums->db) sums->db[label * sums->group + head - sums->first_head] += x->sum[r];
        if (row) cpu_spread(&row, &share, q[r], 0, t->dim, 1);
    }
}

/* dq, dk and dv of the columns of a head from `from` on. */
CPU_INLINE void add(const cpu_group *g, const slopes *x, const float *const *q,
                    const float *const *dout, int32_t head, int32_t from, int rows, int vectors,
                    int whole, lanes end)
{
    const gsa_part *part = &g->t->args->parts[g->kind];
    if (g->t->args->dq) queries(g, x, head, from, rows, vectors, whole, end);
    if (part->dk) give(g, part->dk, x->ds, q, head, from, rows, vectors, whole, end);
    if (part->dv) give(g, part->dv, x->p, dout, head, from, rows, vectors, whole, end);
}

CPU_INLINE void backward_head(const cpu_group *g, int32_t head, const ref_label_sums *sums,
                              int packed, int rows, int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const int64_t at = (int64_t)head * t->dim;
    const float *q[GROUP], *dout[GROUP];
    slopes x;
    cpu_group_rows(g, t->args->q, at, q);
    cpu_group_rows(g, t->args->dout, at, dout);
    weights(g, &x, q, head, packed, rows, vectors, whole, end);
    slope(g, &x, dout, head, packed, rows, vectors, whole, end);
    if (!packed) add(g, &x, q, dout, head, 0, rows, vectors, whole, end);
#define SLICE_OF(vectors, whole) add(g, &x, q, dout, head, from, rows, vectors, whole, cut.end)
    else CPU_EACH_SLICE(t->dim, rows, SLICE_OF)
#undef SLICE_OF
    if (sums->db || sums->dr) labels(g, &x, q, head, sums);
}

static void backward_packed(const cpu_group *g, int32_t first, int32_t last,
                            const ref_label_sums *sums)
{
    const cpu_cut cut = cpu_cut_most(g->t->dim, 0, GROUP_DIM / LANES);
    for (int32_t head = first; head < last; head++) {
        if (g->rows == GROUP && g->t->dim == 64)
            backward_head(g, head, sums, 1, GROUP, 8, 1, cut.end);
        else if (g->rows == GROUP)
            backward_head(g, head, sums, 1, GROUP, cut.vectors, cut.whole, cut.end);
        else if (g->rows == 2) backward_head(g, head, sums, 1, 2, cut.vectors, cut.whole, cut.end);
        else backward_head(g, head, sums, 1, 1, cut.vectors, cut.whole, cut.end);
    }
}

int cpu_group_backward(const cpu_group *g, int32_t first, int32_t last, const ref_label_sums *sums)
{
    const float *lse = g->t->args->lse;
    const cpu_cut cut = cpu_cut_at(g->t->dim, 0);
    for (int r = 0; r < g->rows;
         r++) /* all heads are asked, for which ones are at work depends on the number of threads */
        for (int32_t h = 0; h < g->t->heads; h++) {
            const float one = lse[g->row[r] * g->t->heads + h];
            if (isinf(one) && one < 0) return 0;
        }
    if (cpu_group_packed(g->t)) {
        backward_packed(g, first, last, sums);
        return 1;
    }
    for (int32_t head = first; head < last; head++) {
#define HEAD_FOUR(vectors, whole) backward_head(g, head, sums, 0, GROUP, vectors, whole, cut.end)
#define HEAD_TWO(vectors, whole)  backward_head(g, head, sums, 0, 2, vectors, whole, cut.end)
#define HEAD_ONE(vectors, whole)  backward_head(g, head, sums, 0, 1, vectors, whole, cut.end)
        CPU_BY_GROUP(g->rows, cut, HEAD);
#undef HEAD_FOUR
#undef HEAD_TWO
#undef HEAD_ONE
    }
    return 1;
}
