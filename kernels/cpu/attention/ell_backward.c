/* ell_backward.c - gradients of a slice's rows for some heads, as attention.c has them:
 *   p = exp(s - lse),  ds = p (g - D),  g = v.do,  D = do.o;  dq += ds (k + r),  dk += ds q,
 *     dv += p do,  dr += ds q
 * Rows scatter into dK and dV one after another. */
#include "kernels/cpu/attention/ell.h"

typedef struct back_slice { /* some heads */
    const ref_attend *t;
    const cpu_slice *b;
    const ref_label_sums *sums;
    const float *q[ROWS4], *dout[ROWS4];
    int32_t first, heads, start[HEADS + 1];
    float p[ELL_SCORES], ds[ELL_SCORES];
    float lse[ROWS4 * HEADS + LANES]; /* [heads][4]; -inf: the row has no gradient */
} back_slice;

/* p, which dropout has a part in, and ds. */
static void weigh(back_slice *x)
{
    const ref_attend *t = x->t;
    const cpu_slice *b = x->b;
    const float *out[ROWS4];
    float inner[ROWS4 * HEADS + LANES];
    cpu_bits keep_mask[ELL_SCORES / LANES];
    cpu_slice_rows(b, t->args->out, t->width, out);
    for (int32_t h = 0; h < x->heads; h++) {
        const int64_t at = (int64_t)(x->first + h) * t->dim;
        cpu_own_dots(inner + ROWS4 * h, x->dout, out, NULL, 1, at, t->dim);
        cpu_own_scores(x->p + x->start[h], t, b, x->q, x->first + h);
        cpu_own_dots(x->ds + x->start[h], x->dout, b->v, NULL, b->places, at, t->dim);
        for (int r = 0; r < ROWS4; r++)
            x->lse[ROWS4 * h + r] =
                ((const float *)t->args->lse)[b->row[r] * t->heads + x->first + h];
    }
    if (t->drop.on) cpu_mask_scores(t, b->row, b->places, x->first, x->heads, x->ds, keep_mask);
    cpu_rows4_slopes(x->p, x->ds, x->start, x->heads, x->lse, inner);
    if (t->drop.on) cpu_mask_apply(t, x->p, keep_mask, x->start[x->heads] / LANES);
}

/* db_{l,h} += ds. */
static void add_label_biases(const back_slice *x, int r)
{
    const ref_label_sums *sums = x->sums;
    for (int32_t h = 0; h < x->heads; h++)
        for (int32_t e = r; e < ROWS4 * x->b->edges[r] && x->lse[ROWS4 * h + r] != -INFINITY;
             e += ROWS4)
            sums->db[(int64_t)x->b->label[e] * sums->group + x->first + h - sums->first_head] +=
                x->ds[x->start[h] + e];
}

/* A head of row r; ds is scaled. */
static void add_row(const back_slice *x, int32_t h, int r, const cpu_targets *to)
{
    const ref_attend *t = x->t;
    const cpu_slice *b = x->b;
    const int64_t at = (int64_t)(x->first + h) * t->dim;
    static const float one = 1;
    const int32_t edges = b->edges[r];
    const float *p = x->p + x->start[h] + r, *ds = x->ds + x->start[h] + r, *q = x->q[r] + at;
    float *dq = t->args->dq ? (float *)t->args->dq + b->row[r] * t->width + at : NULL;
    if (dq && t->r)
        CPU_BY_CUTS(t->dim, SLICE, cpu_own_mix, dq, &one, ds, b->k + r, b->r + r, 4, at, edges,
                    NULL, 0)
    else if (dq)
        CPU_BY_CUTS(t->dim, SLICE, cpu_own_mix, dq, &one, ds, b->k + r, NULL, 4, at, edges, NULL, 0)
    CPU_BY_CUTS(t->dim, SLICE, cpu_own_scatter, to->dk, ds, 4, q, at, edges)
    CPU_BY_CUTS(t->dim, SLICE, cpu_own_scatter, to->dv, p, 4, x->dout[r] + at, at, edges)
    if (x->sums->dr) CPU_BY_CUTS(t->dim, SLICE, cpu_own_scatter, to->dr, ds, 4, q, 0, edges)
}

void cpu_ell_backward(const ref_attend *t, const cpu_slice *b, int32_t first, int32_t last,
                      const ref_label_sums *sums)
{
    back_slice x;
    cpu_targets to;
    x.t = t, x.b = b, x.sums = sums;
    cpu_slice_rows(b, t->args->q, t->width, x.q);
    cpu_slice_rows(b, t->args->dout, t->width, x.dout);
    for (x.first = first; x.first < last; x.first += HEADS) {
        x.heads = last - x.first < HEADS ? last - x.first : HEADS;
        cpu_slice_starts(b, x.heads, x.start);
        weigh(&x);
        for (int r = 0; r < b->rows && sums->db; r++) add_label_biases(&x, r);
        for (int32_t i = 0; i < x.start[x.heads]; i += LANES)
            vec_store(x.ds + i, vec_mul(vec_load(x.ds + i), vec_all(t->scale)));
        for (int r = 0; r < b->rows; r++) {
            cpu_find_targets(t, sums, b->kind + r, b->source + r, b->label + r, ROWS4, b->edges[r],
                             &to);
            for (int32_t h = 0; h < x.heads; h++)
                if (x.lse[ROWS4 * h + r] != -INFINITY) add_row(&x, h, r, &to);
        }
    }
}
