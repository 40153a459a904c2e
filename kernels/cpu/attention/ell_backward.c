/* ell_backward.c - gradients of a slice's rows for some heads, as attention.c has them:
 *   p = exp(s - lse),  ds = p (g - D),  g = v.do,  D = do.o;  dq += ds (k + r),  dk += ds q,
 *     dv += p do,  dr += ds q
 * Rows scatter into dK and dV one after another. */
#include "kernels/cpu/attention/ell.h"

typedef struct back_slice { /* some heads */
    const cpu_slice *b;
    const ref_label_sums *sums;
    const float *q[ROWS4], *dout[ROWS4];
    float p[ELL_SCORES], ds[ELL_SCORES];
    float lse[ROWS4 * HEADS + LANES]; /* [heads][4]; -inf: the row has no gradient */
} back_slice;

/* p, which dropout has a part in, and ds. */
static void weigh(back_slice *x)
{
    const cpu_rows4 *at = &x->b->at;
    const ref_attend *t = at->t;
    const float *out[ROWS4];
    float inner[ROWS4 * HEADS + LANES];
    cpu_slice_rows(x->b, t->args->out, out);
    for (int32_t h = 0; h < at->heads; h++) {
        const int64_t column = (int64_t)(at->first + h) * t->dim;
        cpu_own_dots(inner + ROWS4 * h, x->dout, out, NULL, 1, column, t->dim);
        cpu_own_scores(x->p + h * at->stride, x->b, x->q, at->first + h);
        cpu_own_dots(x->ds + h * at->stride, x->dout, x->b->v, NULL, at->places, column, t->dim);
    }
    cpu_rows4_weigh(at, x->p, x->ds, x->lse, inner);
}

/* db_{l,h} += ds. */
static void add_label_biases(const back_slice *x, int r)
{
    const ref_label_sums *sums = x->sums;
    const cpu_rows4 *at = &x->b->at;
    for (int32_t h = 0; h < at->heads; h++)
        for (int32_t e = r; e < ROWS4 * x->b->edges[r] && x->lse[ROWS4 * h + r] != -INFINITY;
             e += ROWS4)
            sums->db[(int64_t)x->b->label[e] * sums->group + at->first + h - sums->first_head] +=
                x->ds[h * at->stride + e];
}

/* A head of row r; ds is scaled. */
static void add_row(const back_slice *x, int32_t h, int r, const cpu_targets *to)
{
    const cpu_slice *b = x->b;
    const ref_attend *t = b->at.t;
    const int64_t at = (int64_t)(b->at.first + h) * t->dim;
    static const float one = 1;
    const int32_t edges = b->edges[r];
    const float *p = x->p + h * b->at.stride + r, *ds = x->ds + h * b->at.stride + r,
                *q = x->q[r] + at;
    float *dq = t->args->dq ? (float *)t->args->dq + b->at.row[r] * t->width + at : NULL;
    if (dq) cpu_row_mix(dq, &one, ds, b->k + r, t->r ? b->r + r : NULL, 4, at, t->dim, edges, NULL);
    cpu_row_scatter(to->dk, ds, 4, q, at, t->dim, edges);
    cpu_row_scatter(to->dv, p, 4, x->dout[r] + at, at, t->dim, edges);
    if (x->sums->dr) cpu_row_scatter(to->dr, ds, 4, q, 0, t->dim, edges);
}

void cpu_ell_backward(const cpu_slice *b, const ref_label_sums *sums)
{
    const ref_attend *t = b->at.t;
    back_slice x;
    cpu_targets to;
    x.b = b, x.sums = sums;
    cpu_slice_rows(b, t->args->q, x.q);
    cpu_slice_rows(b, t->args->dout, x.dout);
    weigh(&x);
    for (int r = 0; r < b->rows && sums->db; r++) add_label_biases(&x, r);
    for (int32_t i = 0; i < b->at.heads * b->at.stride; i += LANES)
        vec_store(x.ds + i, vec_mul(vec_load(x.ds + i), vec_all(t->scale)));
    for (int r = 0; r < b->rows; r++) {
        cpu_find_targets(t, sums, b->kind + r, b->source + r, b->label + r, ROWS4, b->edges[r],
                         &to);
        for (int32_t h = 0; h < b->at.heads; h++)
            if (x.lse[ROWS4 * h + r] != -INFINITY) add_row(&x, h, r, &to);
    }
}
