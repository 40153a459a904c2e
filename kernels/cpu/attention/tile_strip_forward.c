/* tile_strip_forward.c - attention of a tile's rows, strip by strip: all its scores, one softmax, the mix of values. */
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/tile_read.h"
#include "kernels/cpu/attention/tile_strip.h"

typedef struct strip_mix { /* to + r stride <- share[r] sum_i p[i][r] x[place[i]][at ..] */
    int32_t count;
    const uint16_t *place;
    const float *const *x, *p, *share;
    int64_t at, stride;
    float *to;
    cpu_soon *soon;
} strip_mix;

CPU_INLINE void mix_place(vec sum[STRIP][MIXED], const strip_mix *m, int32_t i, int vectors, int whole, lanes end)
{
    const float *x = m->x[m->place[i]] + m->at, *p = m->p + 4 * i;
#if GSA_CPU_LANES == 16
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec part = vec_held(cpu_piece(x, v, vectors, whole, end));
        CPU_UNROLL
        for (int r = 0; r < STRIP; r++) sum[r][v] = vec_fma(vec_all(p[r]), part, sum[r][v]);
    }
#else
    vec part[MIXED]; /* vectors stand while shares pass by: that takes one register less, and so all there are */
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) part[v] = vec_held(cpu_piece(x, v, vectors, whole, end));
    CPU_UNROLL
    for (int r = 0; r < STRIP; r++) {
        const vec share = vec_held(vec_all(p[r]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) sum[r][v] = vec_fma_in_place(share, part[v], sum[r][v]);
    }
#endif
}

/* Returns what is NaN where a sum is not finite. `stream`: past the caches. */
CPU_INLINE vec mix_slice(const strip_mix *m, int stream, int vectors, int whole, lanes end)
{
    vec sum[STRIP][MIXED], odd = vec_zero();
    int32_t i = 0;
    CPU_UNROLL
    for (int r = 0; r < STRIP; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_zero();
    for (; i + QUADS <= m->count; i += QUADS) {
        CPU_UNROLL
        for (int j = 0; j < QUADS; j++) mix_place(sum, m, i + j, vectors, whole, end);
        cpu_ask_portion(m->soon);
    }
    for (; i < m->count; i++) mix_place(sum, m, i, vectors, whole, end);
    CPU_UNROLL
    for (int r = 0; r < STRIP; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec y = vec_mul(sum[r][v], vec_all(m->share[r])), z = m->share[r] == 0 ? vec_zero() : y;
        if (stream && whole) vec_stream(m->to + r * m->stride + v * LANES, z);
        else cpu_put_piece(m->to + r * m->stride, v, vectors, whole, end, z);
        odd = vec_fma(y, vec_zero(), odd);
    }
    return odd;
}

static vec mix_cut(const strip_mix *m, cpu_cut cut, int stream)
{
    vec odd = vec_zero();
#define MIX(vectors, whole)                                                                                                 \
    if ((vectors) <= MIXED) odd = mix_slice(m, 0, vectors, whole, cut.end)
#define PAST(vectors, whole)                                                                                                \
    if ((vectors) <= MIXED) odd = mix_slice(m, 1, vectors, whole, cut.end)
    if (stream) CPU_BY_CUT(cut, PAST)
    else CPU_BY_CUT(cut, MIX)
#undef MIX
#undef PAST
    return odd;
}

static vec mix(strip_mix m, int32_t dim, int stream)
{
    if (LANES == 16) return mix_cut(&m, cpu_mix_cut(dim, 0), stream);
    vec odd = vec_zero();
    for (int32_t left = dim; left > 0;) {
        const cpu_cut cut = cpu_mix_cut(left, 0);
        odd = vec_add(odd, mix_cut(&m, cut, stream));
        left -= cut.vectors * LANES, m.at += cut.vectors * LANES, m.to += cut.vectors * LANES;
    }
    return odd;
}

/* Strip g for the head at work; 0 when something is not finite. */
static int forward_strip(cpu_strips *x, const cpu_kept_tile *kept, int g)
{
    const ref_attend *t = x->t;
    const cpu_strip *strip = &x->tile->strip[g];
    const int64_t row = x->tile->row + STRIP * g, at = (int64_t)x->head * t->dim;
    float *lse = (float *)t->args->lse + row * t->heads + x->head, each[LANES], share[LANES], s[4 * TILE_PLACED];
    const vec top = cpu_strip_scores(x, g, s);
    const vec sum = cpu_strip_exponents(s, cpu_whole_quads(strip->count) / QUADS, top);
    vec_store(share, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
    vec_store(each, vec_add(top, vec_log(sum)));
    for (int r = 0; r < STRIP; r++) lse[(int64_t)r * t->heads] = each[r];
    if (t->drop.on) cpu_keep_strip(t, s, kept, x->head, strip, g);
    const strip_mix m = { strip->count, strip->column, x->v,     s,
                          share,        x->at,         t->width, (float *)t->args->out + row * t->width + at,
                          x->soon };
    return !vec_has_nan(mix(m, t->dim, LANES == 16 && cpu_streams(t)));
}

int cpu_strips_forward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading)
{
    cpu_kept_tile kept;
    cpu_strips x;
    cpu_strips_begin(&x, t, tile, &reading->soon);
    for (x.head = 0; x.head < t->heads; x.head++) {
        x.at = (int64_t)x.head * t->dim;
        if (t->drop.on && x.head % KEPT_HEADS == 0) cpu_keep_tile(t, tile, x.head, &kept);
        for (int g = 0; g < tile->strips; g++)
            if (!forward_strip(&x, &kept, g)) return 0;
    }
    return 1;
}
