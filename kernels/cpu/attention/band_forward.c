/* band_forward.c - attention of a band's rows: scores of all heads, then their softmax, then their
 * mixes, so that what one head waits for another fills. */
#include "kernels/cpu/attention/band_round.h"
#include "kernels/cpu/attention/rows4.h"

typedef struct forward_band { /* some heads */
    const ref_attend *t;
    const cpu_band *band;
    cpu_places k, v, r;           /* r: label vectors */
    int32_t first, heads, stride; /* numbers of a head's scores */
    float s[HEADS * BAND_SCORES];
    int dead;   /* a row of a head has no weights */
    int stream; /* rows of the output are whole lines and go past the caches */
} forward_band;

static void score(forward_band *x)
{
    const ref_attend *t = x->t;
    const float *q = (const float *)t->args->q + x->band->row * t->width;
    for (int32_t h = 0; h < x->heads; h++) {
        const int64_t at = (int64_t)(x->first + h) * t->dim;
        cpu_band_scores(x->s + h * x->stride, t, x->band, q + at, &x->k, at, t->scale);
        cpu_band_add_labels(t, x->band, &x->r, q + at, x->first + h, x->s + h * x->stride);
    }
}

/* -inf after the last place. */
static void end_scores(forward_band *x)
{
    const int32_t last = x->stride - LANES;
    const lanes there = lanes_first(BAND_ROWS * x->band->edges - last);
    for (float *s = x->s + last; s < x->s + x->heads * x->stride; s += x->stride)
        vec_store(s, vec_keep(there, vec_load(s), vec_all(-INFINITY)));
}

/* The weights of all heads at work. */
static void weigh(forward_band *x)
{
    const ref_attend *t = x->t;
    const int64_t row[ROWS4] = { x->band->row, x->band->row + 1, x->band->row + 2,
                                 x->band->row + 3 };
    float lse[ROWS4 * HEADS + LANES], share[ROWS4 * HEADS + LANES];
    int32_t start[HEADS + 1];
    for (int32_t h = 0; h <= x->heads; h++) start[h] = h * x->stride;
    if (x->band->edges % QUADS) end_scores(x);
    x->dead = cpu_rows4_softmax(x->s, start, x->heads, lse, share);
    for (int r = 0; r < ROWS4; r++) {
        float *to = (float *)t->args->lse + row[r] * t->heads + x->first;
        for (int32_t h = 0; h < x->heads; h++) to[h] = lse[ROWS4 * h + r];
    }
    if (t->drop.on) cpu_rows4_keep(t, row, x->band->edges, x->first, x->heads, x->s, NULL);
}

CPU_INLINE void mix_slice(const forward_band *x, float *o, const float *s, int64_t at, int vectors,
                          int whole, lanes end)
{
    vec y[BAND_ROWS][BAND_WIDE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) y[r][v] = vec_zero();
    const cpu_band_asks none = { 0, 0 }, asks = cpu_band_asks_of(x->v.ahead, at, x->t->width);
    for (int32_t i = 0; i < x->band->stripes; i++) {
        const cpu_stripe *stripe = &x->band->stripe[i];
        const float *p = s + stripe->place * BAND_ROWS, *from = x->v.x[stripe->place] + at;
        if (cpu_is_long(stripe))
            cpu_band_add_stripe(y, p, from, x->t->width, asks, stripe->count, vectors, whole, end);
        else
            for (int32_t e = 0; e < stripe->count; e++)
                cpu_band_add_place(
                    y, p + e * BAND_ROWS, from + e * x->t->width, stripe->move * x->t->width,
                    x->v.fresh[stripe->place + e] ? asks : none, vectors, whole, end);
    }
    for (int r = 0; x->v.ahead && !x->stream && r < BAND_ROWS; r++)
        cpu_ask_row(o, r, asks, vectors);
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        if (whole && x->stream) vec_stream(o + r * x->t->width + v * LANES, y[r][v]);
        else cpu_put_piece(o + r * x->t->width, v, vectors, whole, end, y[r][v]);
}

static void mix(const forward_band *x, int32_t h)
{
    const int64_t at = (int64_t)(x->first + h) * x->t->dim;
    float *o = (float *)x->t->args->out + x->band->row * x->t->width + at;
    const float *s = x->s + h * x->stride;
#define SLICE_OF(from, vectors, whole, end)                                                        \
    mix_slice(x, o + from, s, at + from, vectors, whole, end)
    CPU_BY_BAND_SLICE(x->t->dim, SLICE_OF);
#undef SLICE_OF
}

/* Zeros where a row has no weights. */
static void clear_dead(const forward_band *x)
{
    const ref_attend *t = x->t;
    for (int32_t h = x->first; h < x->first + x->heads; h++)
        for (int64_t row = x->band->row; row < x->band->row + BAND_ROWS; row++) {
            const float lse = ((const float *)t->args->lse)[row * t->heads + h];
            if (isinf(lse) && lse < 0)
                memset((float *)t->args->out + row * t->width + (int64_t)h * t->dim, 0,
                       sizeof(float) * (size_t)t->dim);
        }
}

void cpu_band_forward(const ref_attend *t, const cpu_band *band)
{
    forward_band x;
    x.t = t, x.band = band, x.stride = cpu_band_vectors(band) * LANES;
    cpu_places_of(t, band, 0, t->heads, &x.k);
    cpu_places_of(t, band, 1, t->heads, &x.v);
    if (t->r) cpu_label_places_of(t, band, &x.r);
    x.stream = cpu_streams(t);
    for (x.first = 0; x.first < t->heads; x.first += HEADS) {
        x.heads = t->heads - x.first < HEADS ? t->heads - x.first : HEADS;
        score(&x);
        weigh(&x);
        for (int32_t h = 0; h < x.heads; h++) mix(&x, h);
        if (x.dead) clear_dead(&x);
    }
}
