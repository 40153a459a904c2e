/* ell_single.c - backward of rows of one edge, at once: the weight is 1, ds = p (do.v - do.o) = 0,
 * so that dv += do is the whole gradient, and neither the query nor the key is read (with dropout
 * dv += m do). Where s or do.v is not finite a row goes the long way: 0 * inf is not 0. */
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/row.h"

/* Whether lse and do.v of some heads are finite. */
static int finite(const ref_attend *t, int64_t row, const float *dout, const float *v,
                  int32_t first, int32_t last)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    const int64_t at = (int64_t)first * t->dim;
    const vec sum = cpu_dot(dout + at, v + at, (int64_t)(last - first) * t->dim);
    float odd = 0;
    for (int32_t h = first; h < last; h++) odd += 0 * lse[h];
    return odd == 0 && vec_bits_nonzero(vec_mul(sum, vec_zero())) == 0;
}

/* dv += m do in the columns of some heads. */
CPU_INLINE void scatter_piece(float *dv, const float *dout, vec m, int64_t i, lanes all, int whole)
{
    vec_put(dv + i, all, whole,
            vec_fma(m, vec_take(dout + i, all, whole), vec_take(dv + i, all, whole)));
}
static void scatter_single(const ref_attend *t, float *dv, const float *dout, int32_t first,
                           int32_t last, float m)
{
    VEC_ALONG((int64_t)first * t->dim, (int64_t)last * t->dim, scatter_piece, dv, dout, vec_all(m))
}

void cpu_ell_single_backward(const cpu_ell *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_edges *edges = t->edges;
    const gsa_run *run = edges->runs + edges->run_offset[row];
    while (run->count == 0) run++;
    const gsa_part *part = &t->args->parts[run->kind];
    const float *dout = (const float *)t->args->dout + row * t->width,
                *v = (const float *)part->v + run->first * t->width;
    float *dv = part->dv ? (float *)part->dv + run->first * t->width : NULL, m[MASK_HEADS];
    for (int32_t h = x->first; h < x->last; h += MASK_HEADS) {
        const int32_t last = h + MASK_HEADS < x->last ? h + MASK_HEADS : x->last;
        const int all = finite(t, row, dout, v, h, last);
        if (all && dv && !t->drop.on) scatter_single(t, dv, dout, h, last, 1);
        if (all && (!dv || !t->drop.on)) continue;
        for (int32_t j = 0; j < MASK_HEADS; j++) m[j] = 1;
        if (t->drop.on)
            ref_drop_four(&t->drop, t->drop.example_id[edges->row_example[row]],
                          edges->row_local[row], 0, (uint32_t)h / 4, m);
        for (int32_t j = h; j < last;
             j++) /* each by itself: which are at work depends on threads */
            if (!all && !finite(t, row, dout, v, j, j + 1))
                cpu_row_backward_all(t, row, j, j + 1, x->sums);
            else if (dv) scatter_single(t, dv, dout, j, j + 1, m[j - h]);
    }
}
