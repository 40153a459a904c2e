/* dia_forward.c - attention of a diagonal block's rows: scores of all heads, then their softmax,
 * then their mixes, so that what one head waits for another fills. */
#include "kernels/cpu/attention/dia_round.h"

typedef struct forward_dia { /* some heads */
    const cpu_dia *dia;
    cpu_rows4 at;
    cpu_places k, r; /* r: label vectors */
    float s[HEADS * DIA_SCORES];
    int stream; /* rows of the output are whole lines and go past the caches */
} forward_dia;

static void score(forward_dia *x)
{
    const ref_attend *t = x->at.t;
    const float *q = (const float *)t->args->q + x->dia->row * t->width;
    for (int32_t h = 0; h < x->at.heads; h++) {
        const int64_t at = (int64_t)(x->at.first + h) * t->dim;
        float *s = x->s + h * x->at.stride;
        cpu_dia_scores(s, t, x->dia, q + at, &x->k, at, t->scale);
        cpu_dia_add_labels(t, x->dia, &x->r, q + at, x->at.first + h, s);
    }
}

/* -inf after the last place. */
static void end_scores(forward_dia *x)
{
    const int32_t last = x->at.stride - LANES;
    const lanes there = lanes_first(DIA_ROWS * x->dia->edges - last);
    for (float *s = x->s + last; s < x->s + x->at.heads * x->at.stride; s += x->at.stride)
        vec_store(s, vec_keep(there, vec_load(s), vec_all(-INFINITY)));
}

/* Of the head whose columns begin at `at`. */
CPU_INLINE void mix_slice(const forward_dia *x, const float *s, int64_t at, cpu_cut cut)
{
    const ref_attend *t = x->at.t;
    float *o = (float *)t->args->out + x->dia->row * t->width + at + cut.from;
    vec y[DIA_ROWS][DIA_WIDE];
    const cpu_dia_fetch fetch = cpu_dia_ahead_of(x->k.ahead, at + cut.from, t->width);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) y[r][v] = vec_zero();
    cpu_dia_along(DIA_V, y, t, x->dia, s, at + cut.from, fetch, cut);
    for (int r = 0; fetch.ahead && !x->stream && r < DIA_ROWS; r++)
        cpu_dia_fetch_row(o, r, fetch, cut.vectors);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        if (cut.whole && x->stream) vec_stream(o + r * t->width + v * LANES, y[r][v]);
        else cpu_put_piece(o + r * t->width, v, cut, y[r][v]);
}

void cpu_dia_forward(const ref_attend *t, const cpu_dia *dia)
{
    forward_dia x;
    float lse[ROWS4 * HEADS + LANES];
    x.dia = dia, x.at = cpu_dia_rows(t, dia), x.stream = cpu_streams(t);
    cpu_places_of(t, dia, 0, t->heads, &x.k);
    if (t->r) cpu_label_places_of(t, dia, &x.r);
    for (; x.at.first < t->heads; x.at.first += HEADS) {
        x.at.heads = t->heads - x.at.first < HEADS ? t->heads - x.at.first : HEADS;
        score(&x);
        if (dia->edges % QUADS) end_scores(&x);
        const int dead = cpu_rows4_softmax(&x.at, x.s, lse);
        cpu_rows4_drop(&x.at, x.s, NULL);
        for (int32_t h = 0; h < x.at.heads; h++)
            CPU_BY_CUTS(t->dim, DIA_WIDE, mix_slice, &x, x.s + h * x.at.stride,
                        (int64_t)(x.at.first + h) * t->dim)
        cpu_rows4_end(&x.at, DIA_ROWS, lse, dead);
    }
}
