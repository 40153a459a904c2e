/* bundle_forward.c - attention of a bundle's rows: scores and weights place by place, then each row's own mix. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/bundle.h"

typedef struct forward_bundle { /* some heads */
    const ref_attend *t;
    const cpu_bundle *b;
    int32_t first, heads;
    float s[GROUPS * BUNDLE_EDGES * LANES]; /* [groups of QUADS heads][places][LANES] */
    int dead;                               /* a row of a head has no weights */
    int stream;                             /* rows of the output are whole lines and go past the caches */
} forward_bundle;

static void keep_lse(const forward_bundle *x, vec lse, int32_t first, int32_t heads)
{
    const cpu_bundle *b = x->b;
    float each[LANES], *to[BUNDLE_ROWS];
    for (int r = 0; r < BUNDLE_ROWS; r++) to[r] = (float *)x->t->args->lse + b->row[r] * x->t->heads + first;
    if (heads >= QUADS && b->rows == BUNDLE_ROWS) {
        vec_to_rows(to, lse);
        return;
    }
    vec_store(each, lse);
    for (int32_t j = 0; j < heads; j++)
        for (int32_t r = 0; r < b->rows; r++) to[r][j] = each[4 * j + r];
}

/* Weights of QUADS heads. */
static vec softmax(forward_bundle *x, float *s)
{
    const int32_t places = x->b->places;
    vec top = vec_all(-FLT_MAX), sum = vec_zero(), p[2];
    for (int32_t e = 0; e < places; e++) top = vec_max(vec_load(s + e * LANES), top);
    for (int32_t e = 0; e < places; e += 2) {
        const int two = e + 1 < places;
        p[0] = vec_sub(vec_load(s + e * LANES), top), p[1] = two ? vec_sub(vec_load(s + (e + 1) * LANES), top) : p[0];
        vec_exp_some(p, 2);
        vec_store(s + e * LANES, p[0]), sum = vec_add(sum, p[0]);
        if (two) vec_store(s + (e + 1) * LANES, p[1]), sum = vec_add(sum, p[1]);
    }
    const vec share = vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero());
    for (int32_t e = 0; e < places; e++) vec_store(s + e * LANES, vec_mul(vec_load(s + e * LANES), share));
    if (vec_bits_nonzero(sum) != vec_bits_nonzero(vec_all(1))) x->dead = 1;
    return vec_add(top, vec_log(sum));
}

/* Of the heads at work; 1 when all weights are 1. */
static int weigh(forward_bundle *x)
{
    const ref_attend *t = x->t;
    const cpu_bundle *b = x->b;
    const float *q[BUNDLE_ROWS];
    int ones = b->places == 1;
    x->dead = 0;
    cpu_bundle_rows(b, t->args->q, t->width, q);
    for (int32_t h = 0; h < x->heads; h += QUADS) {
        const int32_t heads = x->heads - h < QUADS ? x->heads - h : QUADS;
        float *s = x->s + h / QUADS * b->places * LANES;
        for (int32_t e = 0; e < b->places; e++) {
            const vec score = cpu_bundle_scores(t, b, q, e, x->first + h, heads);
            vec_store(s + e * LANES, b->even ? score : vec_keep(cpu_bundle_lanes(b, e), score, vec_all(-INFINITY)));
        }
        const vec one = vec_load(s);
        if (b->places == 1 && vec_bits_nonzero(vec_sub(one, one)) == 0) {
            keep_lse(x, vec_add(one, vec_zero()), x->first + h, heads);
            vec_store(s, vec_all(1));
        } else {
            ones = 0;
            keep_lse(x, softmax(x, s), x->first + h, heads);
        }
    }
    if (!t->drop.on) return ones;
    cpu_bits kept[GROUPS * BUNDLE_EDGES];
    cpu_keep_bundle(t, b->row, b->places, x->first, x->heads, kept);
    cpu_bundle_keep(t, b, kept, x->heads, x->s);
    return 0;
}

CPU_INLINE void put(const forward_bundle *x, float *o, int v, int vectors, int whole, lanes end, vec y)
{
    if (whole && x->stream) vec_stream(o + v * LANES, y);
    else cpu_put_piece(o, v, vectors, whole, end, y);
}

/* A head of row r: o <- sum_e p_e v_e. */
CPU_INLINE void mix_slice(const forward_bundle *x, float *o, const float *p, int r, int64_t at, int vectors, int whole,
                          lanes end)
{
    vec y[SLICE];
    for (int v = 0; v < vectors; v++) y[v] = vec_mul(vec_all(*p), cpu_piece(x->b->v[0][r] + at, v, vectors, whole, end));
    for (int32_t e = 1; e < x->b->edges[r]; e++) {
        const vec share = vec_all(p[e * LANES]);
        for (int v = 0; v < vectors; v++) y[v] = vec_fma(share, cpu_piece(x->b->v[e][r] + at, v, vectors, whole, end), y[v]);
    }
    for (int v = 0; v < vectors; v++) put(x, o, v, vectors, whole, end, y[v]);
}

CPU_INLINE void mix_heads(const forward_bundle *x, float *o, const float *p, int r, int64_t at, int vectors)
{
    vec y[BUNDLE_WIDE];
    cpu_bundle_mix(y, p, x->b->places * LANES, &x->b->v[0][r], at, x->b->edges[r], 1, vectors);
    CPU_UNROLL
    for (int v = 0; v < BUNDLE_WIDE; v++) put(x, o, v, BUNDLE_WIDE, 1, lanes_first(0), y[v]);
}

static const float *weights_of(const forward_bundle *x, int32_t h, int r)
{
    return x->s + h / QUADS * x->b->places * LANES + 4 * (h % QUADS) + r;
}

static void mix(const forward_bundle *x, int r)
{
    const ref_attend *t = x->t;
    const int together = cpu_bundle_heads(t->dim);
    float *out = (float *)t->args->out + x->b->row[r] * t->width;
    int32_t h = 0;
    for (; together && h + together <= x->heads; h += together) {
        const int64_t at = (int64_t)(x->first + h) * t->dim;
#define HEADS_OF(vectors) mix_heads(x, out + at, weights_of(x, h, r), r, at, vectors)
        CPU_BY_BUNDLE_HEADS(together, HEADS_OF)
#undef HEADS_OF
    }
    for (; h < x->heads; h++) {
        const float *p = weights_of(x, h, r);
        const int64_t from = (int64_t)(x->first + h) * t->dim;
        for (int32_t i = 0; i < t->dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(t->dim, i);
            const int64_t at = from + i;
#define SLICE_OF(vectors, whole) mix_slice(x, out + at, p, r, at, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
        }
    }
}

/* The heads at work of the one source. */
static void copy(const forward_bundle *x, int r)
{
    const ref_attend *t = x->t;
    const int64_t from = (int64_t)x->first * t->dim, end = from + (int64_t)x->heads * t->dim;
    const float *v = x->b->v[0][r];
    float *out = (float *)t->args->out + x->b->row[r] * t->width;
    if (!x->stream) memcpy(out + from, v + from, sizeof(float) * (size_t)(end - from));
    else
        for (int64_t i = from; i < end; i += LANES) vec_stream(out + i, vec_load(v + i));
}

/* Zeros where a row has no weights. */
static void clear_dead(const forward_bundle *x)
{
    const ref_attend *t = x->t;
    for (int32_t r = 0; r < x->b->rows; r++) {
        const int64_t row = x->b->row[r];
        for (int32_t h = x->first; h < x->first + x->heads; h++)
            if (((const float *)t->args->lse)[row * t->heads + h] == -INFINITY)
                memset((float *)t->args->out + row * t->width + (int64_t)h * t->dim, 0, sizeof(float) * (size_t)t->dim);
    }
}

void cpu_bundle_forward(const cpu_shelves *shelves, const cpu_bundle *b)
{
    const ref_attend *t = shelves->t;
    forward_bundle x;
    x.t = t, x.b = b;
    x.stream = cpu_streams(t);
    for (x.first = 0; x.first < t->heads; x.first += HEADS) {
        x.heads = t->heads - x.first < HEADS ? t->heads - x.first : HEADS;
        const int ones = weigh(&x);
        for (int r = 0; r < b->rows; r++)
            if (ones) copy(&x, r);
            else mix(&x, r);
        if (x.dead) clear_dead(&x);
    }
}

/* Scores of four heads, in each quad. */
CPU_INLINE vec four_scores(const ref_attend *t, const float *q, const float *k)
{
    vec sum[4], w[QUADS];
    CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        sum[j] = vec_zero();
        for (int32_t i = j * t->dim, end = i + t->dim; i < end; i += LANES)
            sum[j] = vec_fma(vec_load(q + i), vec_load(k + i), sum[j]);
    }
    const vec all = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
    CPU_UNROLL
    for (int j = 0; j < QUADS; j++) w[j] = all;
    return vec_mul(vec_fold(w), vec_all(t->scale));
}

int cpu_single_forward(const cpu_shelves *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_run *run = t->edges->runs + t->edges->run_offset[row];
    if (t->r || t->bias || t->drop.on || t->dim % LANES != 0 || t->heads % 4 != 0) return 0;
    while (run->count == 0) run++;
    const gsa_part *part = &t->args->parts[run->kind];
    const float *q = (const float *)t->args->q + row * t->width, *k = (const float *)part->k + run->first * t->width,
                *v = (const float *)part->v + run->first * t->width;
    float *out = (float *)t->args->out + row * t->width, *lse = (float *)t->args->lse + row * t->heads;
    for (int32_t h = 0; h < t->heads; h += 4) {
        const int64_t at = (int64_t)h * t->dim;
        const vec s = four_scores(t, q + at, k + at);
        if (vec_bits_nonzero(vec_sub(s, s))) return 0;
        vec_store_first(lse + h, lanes_first(4), vec_add(s, vec_zero()));
    }
    for (int64_t i = 0; i < t->width; i += LANES)
        if (x->stream) vec_stream(out + i, vec_load(v + i));
        else vec_store(out + i, vec_load(v + i));
    return 1;
}
