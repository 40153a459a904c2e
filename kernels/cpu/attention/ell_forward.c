/* ell_forward.c - attention of a slice's rows: scores, their softmax, then each row's own mix of
 * values. */
#include "kernels/cpu/attention/ell.h"

/* -inf at places that a row lacks. */
static void mask(const cpu_slice *b, float *s)
{
    for (int r = 0; r < ROWS4; r++)
        for (int32_t e = ROWS4 * b->edges[r] + r; e < (b->places + QUADS - 1) / QUADS * LANES;
             e += ROWS4)
            s[e] = -INFINITY;
}

/* lse [heads][4] of some heads; zeros where a row has no weights. */
static void keep_lse(const ref_attend *t, const cpu_slice *b, int32_t first, int32_t heads,
                     const float *lse, int dead)
{
    for (int32_t r = 0; r < b->rows; r++) {
        float *to = (float *)t->args->lse + b->row[r] * t->heads + first;
        float *out = (float *)t->args->out + b->row[r] * t->width + (int64_t)first * t->dim;
        for (int32_t h = 0; h < heads; h++) {
            to[h] = lse[ROWS4 * h + r];
            if (dead && to[h] == -INFINITY)
                memset(out + (int64_t)h * t->dim, 0, sizeof(float) * (size_t)t->dim);
        }
    }
}

static void mix(const ref_attend *t, const cpu_slice *b, int32_t head, const float *p, int stream)
{
    const int64_t first = (int64_t)head * t->dim;
    float *out[ROWS4];
    for (int r = 0; r < ROWS4; r++) out[r] = (float *)t->args->out + b->row[r] * t->width + first;
    for (int r = 0; r < b->rows; r++)
        CPU_BY_CUTS(t->dim, SLICE, cpu_own_mix, out[r], NULL, p + r, b->v + r, NULL, 4, first,
                    b->edges[r], NULL, stream)
}

static void some_heads(const ref_attend *t, const cpu_slice *b, int32_t first, int32_t heads)
{
    const int stream = cpu_streams(t);
    const float *q[ROWS4];
    float s[ELL_SCORES], lse[ROWS4 * HEADS + LANES], share[ROWS4 * HEADS + LANES];
    int32_t start[HEADS + 1];
    cpu_slice_rows(b, t->args->q, t->width, q);
    cpu_slice_starts(b, heads, start);
    for (int32_t h = 0; h < heads; h++) {
        cpu_own_scores(s + start[h], t, b, q, first + h);
        if (!b->even) mask(b, s + start[h]);
    }
    const int dead = cpu_rows4_softmax(s, start, heads, lse, share);
    if (t->drop.on) cpu_mask_scores(t, b->row, b->places, first, heads, s, NULL);
    for (int32_t h = 0; h < heads; h++) mix(t, b, first + h, s + start[h], stream);
    keep_lse(t, b, first, heads, lse, dead);
}

void cpu_ell_forward(const ref_attend *t, const cpu_slice *b)
{
    for (int32_t h = 0; h < t->heads; h += HEADS)
        some_heads(t, b, h, t->heads - h < HEADS ? t->heads - h : HEADS);
}
