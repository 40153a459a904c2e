/* ell_forward.c - attention of a slice's rows: scores, softmax, each row's own mix of values. */
#include "kernels/cpu/attention/ell.h"

/* -inf at places that a row lacks. */
static void mask(const cpu_slice *b, float *s)
{
    for (int r = 0; r < ROWS4; r++)
        for (int32_t e = ROWS4 * b->edges[r] + r; e < b->at.stride; e += ROWS4) s[e] = -INFINITY;
}

static void mix(const cpu_slice *b, int32_t head, const float *p, int stream)
{
    const ref_attend *t = b->at.t;
    const int64_t first = (int64_t)head * t->dim;
    for (int r = 0; r < b->rows; r++)
        CPU_BY_CUTS(t->dim, SLICE, cpu_own_mix,
                    (float *)t->args->out + b->at.row[r] * t->width + first, NULL, p + r, b->v + r,
                    NULL, 4, first, b->edges[r], NULL, stream)
}

void cpu_ell_forward(const cpu_slice *b)
{
    const cpu_rows4 *x = &b->at;
    const int stream = cpu_streams(x->t);
    const float *q[ROWS4];
    float s[ELL_SCORES], lse[ROWS4 * HEADS + LANES];
    cpu_slice_rows(b, x->t->args->q, q);
    for (int32_t h = 0; h < x->heads; h++) {
        cpu_own_scores(s + h * x->stride, b, q, x->first + h);
        if (!b->even) mask(b, s + h * x->stride);
    }
    const int dead = cpu_rows4_softmax(x, s, lse);
    cpu_rows4_drop(x, s, NULL);
    for (int32_t h = 0; h < x->heads; h++) mix(b, x->first + h, s + h * x->stride, stream);
    cpu_rows4_end(x, b->rows, lse, dead);
}
