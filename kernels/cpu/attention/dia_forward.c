/* dia_forward.c - attention of a diagonal block's rows: scores of all heads, then their softmax,
 * then their mixes, so that what one head waits for another fills. */
#include "kernels/cpu/attention/dia_round.h"
#include "kernels/cpu/attention/dropout_mask.h"

typedef struct forward_dia { /* some heads */
    const ref_attend *t;
    const cpu_dia *dia;
    cpu_places k, v, r;           /* r: label vectors */
    int32_t first, heads, stride; /* numbers of a head's scores */
    float s[HEADS * DIA_SCORES];
    int dead;   /* a row of a head has no weights */
    int stream; /* rows of the output are whole lines and go past the caches */
} forward_dia;

static void score(forward_dia *x)
{
    const ref_attend *t = x->t;
    const float *q = (const float *)t->args->q + x->dia->row * t->width;
    for (int32_t h = 0; h < x->heads; h++) {
        const int64_t at = (int64_t)(x->first + h) * t->dim;
        cpu_dia_scores(x->s + h * x->stride, t, x->dia, q + at, &x->k, at, t->scale);
        cpu_dia_add_labels(t, x->dia, &x->r, q + at, x->first + h, x->s + h * x->stride);
    }
}

/* -inf after the last place. */
static void end_scores(forward_dia *x)
{
    const int32_t last = x->stride - LANES;
    const lanes there = lanes_first(DIA_ROWS * x->dia->edges - last);
    for (float *s = x->s + last; s < x->s + x->heads * x->stride; s += x->stride)
        vec_store(s, vec_keep(there, vec_load(s), vec_all(-INFINITY)));
}

/* The weights of all heads at work. */
static void weigh(forward_dia *x)
{
    const ref_attend *t = x->t;
    const int64_t row[ROWS4] = { x->dia->row, x->dia->row + 1, x->dia->row + 2, x->dia->row + 3 };
    float lse[ROWS4 * HEADS + LANES], share[ROWS4 * HEADS + LANES];
    int32_t start[HEADS + 1];
    for (int32_t h = 0; h <= x->heads; h++) start[h] = h * x->stride;
    if (x->dia->edges % QUADS) end_scores(x);
    x->dead = cpu_rows4_softmax(x->s, start, x->heads, lse, share);
    for (int r = 0; r < ROWS4; r++) {
        float *to = (float *)t->args->lse + row[r] * t->heads + x->first;
        for (int32_t h = 0; h < x->heads; h++) to[h] = lse[ROWS4 * h + r];
    }
    if (t->drop.on) cpu_mask_scores(t, row, x->dia->edges, x->first, x->heads, x->s, NULL);
}

/* Of the head whose columns begin at `at`. */
CPU_INLINE void mix_slice(const forward_dia *x, const float *s, int64_t at, cpu_cut cut)
{
    const int64_t width = x->t->width;
    float *o = (float *)x->t->args->out + x->dia->row * width + at + cut.from;
    vec y[DIA_ROWS][DIA_WIDE];
    const cpu_dia_fetch fetch = cpu_dia_ahead_of(x->v.ahead, at + cut.from, width);
    cpu_dia_add_all(y, x->dia, &x->v, s, at + cut.from, fetch, cut);
    for (int r = 0; x->v.ahead && !x->stream && r < DIA_ROWS; r++)
        cpu_dia_fetch_row(o, r, fetch, cut.vectors);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        if (cut.whole && x->stream) vec_stream(o + r * width + v * LANES, y[r][v]);
        else cpu_put_piece(o + r * width, v, cut, y[r][v]);
}

/* Zeros where a row has no weights. */
static void clear_dead(const forward_dia *x)
{
    const ref_attend *t = x->t;
    for (int32_t h = x->first; h < x->first + x->heads; h++)
        for (int64_t row = x->dia->row; row < x->dia->row + DIA_ROWS; row++) {
            const float lse = ((const float *)t->args->lse)[row * t->heads + h];
            if (isinf(lse) && lse < 0)
                memset((float *)t->args->out + row * t->width + (int64_t)h * t->dim, 0,
                       sizeof(float) * (size_t)t->dim);
        }
}

void cpu_dia_forward(const ref_attend *t, const cpu_dia *dia)
{
    forward_dia x;
    x.t = t, x.dia = dia, x.stride = cpu_dia_vectors(dia) * LANES;
    cpu_places_of(t, dia, 0, t->heads, &x.k);
    cpu_places_of(t, dia, 1, t->heads, &x.v);
    if (t->r) cpu_label_places_of(t, dia, &x.r);
    x.stream = cpu_streams(t);
    for (x.first = 0; x.first < t->heads; x.first += HEADS) {
        x.heads = t->heads - x.first < HEADS ? t->heads - x.first : HEADS;
        score(&x);
        weigh(&x);
        for (int32_t h = 0; h < x.heads; h++)
            CPU_BY_CUTS(t->dim, DIA_WIDE, mix_slice, &x, x.s + h * x.stride,
                        (int64_t)(x.first + h) * t->dim)
        if (x.dead) clear_dead(&x);
    }
}
