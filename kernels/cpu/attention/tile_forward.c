/* tile_forward.c - attention of a tile's rows: per head, columns by blocks of BLOCK, with a running maximum and sum for each row. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/tile_read.h"
#include "kernels/cpu/attention/tile_strip.h"

typedef struct tile_state { /* of LANES rows. sum - lost is the sum of exp(s - top), compensated (Kahan) */
    vec top, sum, lost;
} tile_state;

/* s <- exp(s - top), 0 outside the mask; returns by what is shrunk what stands so far. */
static vec absorb(tile_state *state, const cpu_columns *c, float *s)
{
    vec top = state->top, sum = vec_zero();
    for (int32_t i = 0; i < c->count; i++) {
        const vec x = vec_keep(lanes_of_bits(c->mask[i]), vec_load(s + i * LANES), vec_all(-INFINITY));
        vec_store(s + i * LANES, x);
        top = vec_max(x, top);
    }
    for (int32_t i = 0, some; i < c->count; i += some) {
        vec p[VEC_SOME];
        some = c->count - i < VEC_SOME ? 1 : VEC_SOME;
        for (int j = 0; j < some; j++) p[j] = vec_sub(vec_load(s + (i + j) * LANES), top);
        if (some == VEC_SOME) vec_exp_down_some(p, VEC_SOME);
        else vec_exp_down_some(p, 1);
        for (int j = 0; j < some; j++) vec_store(s + (i + j) * LANES, p[j]), sum = vec_add(sum, p[j]);
    }
    const vec shrink = vec_exp(vec_sub(state->top, top)), before = vec_mul(state->sum, shrink);
    const vec more = vec_sub(sum, vec_mul(state->lost, shrink));
    state->top = top, state->sum = vec_add(before, more);
    state->lost = vec_sub(vec_sub(state->sum, before), more);
    return shrink;
}

/* o[r] <- keep[r] o[r] + sum_c p[c][r] v[c]; keep NULL: o is not read. */
static void mix(const cpu_tile *tile, const cpu_columns *c, const float *p, const float *keep, float *o, int64_t at,
                int32_t dim)
{
    const int rows = cpu_rows_together(tile, dim);
    for (int r = 0; r < LANES; r += rows) {
        float *y[LANES];
        const cpu_product g = {
            p + r, 1, LANES, c->count, c->v, at, c->mask, ((1u << rows) - 1) << r, keep ? keep + r : NULL
        };
        for (int i = 0; i < rows; i++) y[i] = o + (r + i) * dim;
        cpu_product_rows(y, &g, dim, rows);
    }
}

/* to[r] <- share[r] o[r], 0 where share is; returns whether all is finite. `stream`: past the caches. */
static int finish(const float *o, float *to, int64_t width, int32_t dim, const float *share, int stream)
{
    vec odd = vec_zero();
    for (int r = 0; r < LANES; r++)
        for (int32_t i = 0; i < dim; i += LANES) {
            const lanes end = lanes_first(dim - i < LANES ? dim - i : LANES);
            const vec y = vec_mul(vec_load_first(o + r * dim + i, end), vec_all(share[r]));
            const vec z = share[r] == 0 ? vec_zero() : y;
            if (stream) vec_stream(to + r * width + i, z);
            else vec_store_first(to + r * width + i, end, z);
            odd = vec_fma(y, vec_zero(), odd);
        }
    return !vec_has_nan(odd);
}

/* of[l][r] = scale q_r . r_l + b_l. */
static void score_labels(const ref_attend *t, const cpu_tile *tile, int32_t head, const float *qt, float *of, cpu_soon *soon)
{
    const float *vectors[TILE_LABELS];
    if (tile->labels <= 0) return;
    if (t->r) {
        cpu_tile_vectors(t, tile, vectors);
        cpu_tile_dots(of, qt, vectors, 0, t->dim, tile->labels, soon);
    } else memset(of, 0, sizeof(float) * LANES * (size_t)tile->labels);
    cpu_add_label_bias(t, tile, head, of);
}

static int forward_head(const ref_attend *t, const cpu_tile *tile, int32_t head, const cpu_kept_tile *kept, cpu_soon *soon)
{
    const int64_t column = (int64_t)head * t->dim, at = tile->row * t->width + column;
    const float *q = (const float *)t->args->q + at;
    float o[TILE_DIM * LANES], *lse = (float *)t->args->lse + tile->row * t->heads + head;
    float qt[TILE_DIM * LANES], s[BLOCK * LANES], share[LANES], of[TILE_LABELS * LANES];
    tile_state state = { vec_all(-FLT_MAX), vec_zero(), vec_zero() };
    cpu_columns c;
    c.first = c.count = 0;
    if (cpu_turns(t, tile)) cpu_turn(qt, q, t->width, t->dim, t->scale);
    score_labels(t, tile, head, qt, of, soon);
    while (cpu_next_columns(t, tile, &c)) {
        cpu_score_tile(t, tile, &c, s, q, t->scale, qt, c.k, column, soon);
        cpu_add_label_scores(tile, &c, of, s);
        vec_store(share, absorb(&state, &c, s));
        if (t->drop.on) cpu_keep_columns(t, s, kept, head, c.first, c.count);
        mix(tile, &c, s, c.first ? share : NULL, o, column, t->dim);
    }
    const vec sum = vec_sub(state.sum, state.lost);
    float each[LANES];
    vec_store(each, vec_add(state.top, vec_log(sum)));
    for (int r = 0; r < LANES; r++) lse[(int64_t)r * t->heads] = each[r];
    vec_store(share, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
    return finish(o, (float *)t->args->out + at, t->width, t->dim, share, cpu_streams(t));
}

int cpu_tile_forward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading)
{
    cpu_kept_tile kept;
    if (cpu_by_strips(t, tile)) return cpu_strips_forward(t, tile, reading);
    for (int32_t h = 0; h < t->heads; h++) {
        if (t->drop.on && h % KEPT_HEADS == 0) cpu_keep_tile(t, tile, h, &kept);
        if (!forward_head(t, tile, h, &kept, &reading->soon)) return 0;
    }
    return 1;
}
