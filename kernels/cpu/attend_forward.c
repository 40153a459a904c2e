/* attend_forward.c - one pass over the edges of a row for each head: scores of a block, a running maximum and sum (online softmax:
 * Milakov, Gimelshein 2018), the mix of values. A row of up to BLOCK edges takes one block, and its exponentials are exact as in
 * two passes; p stands in one small array. Time O(edges x heads x dim), no memory beyond the outputs. */
#include <math.h>
#include "kernels/cpu/attend.h"
#include "kernels/cpu/ops.h"

typedef struct forward_job {
    ref_attend t;
    int64_t chunk;
} forward_job;

typedef struct softmax_state {
    float top;  /* largest score so far; NaN once a score was NaN */
    double sum; /* of exp(s - top) */
} softmax_state;

/* The largest of the scores and `top`; NaN where one of them is. Behind the scores -inf is put, as far as a vector reads. */
static float top_of(float *s, int32_t count, float top)
{
    vec most = vec_all(top);
    int odd = isnan(top);
    vec_store(s + count, vec_all(-INFINITY));
    for (int32_t e = 0; e < count; e += LANES) {
        const vec x = vec_load(s + e);
        most = vec_max(most, x);
        odd |= vec_has_nan(x);
    }
    return odd ? NAN : vec_top(most);
}

/* s[e] <- exp(s[e] - top), 0 behind them; returns their sum. */
static double exponents(float *s, int32_t count, float top)
{
    vec sum = vec_zero();
    for (int32_t e = 0; e < count; e += LANES) {
        const vec p = vec_exp(vec_sub(vec_load(s + e), vec_all(top)));
        vec_store(s + e, p);
        sum = vec_add(sum, p);
    }
    return (double)vec_sum(sum);
}

/* Adds a block to one head's state and to o (not yet divided by the sum). */
static void absorb(const ref_attend *t, int64_t row, int32_t head, const cpu_block *block, float *s, softmax_state *state,
                   float *o)
{
    const float top = top_of(s, block->count, state->top);
    if (isinf(top) && top < 0) return;
    if (!(top == state->top)) {
        const float shrink = expf(state->top - top);
        state->sum *= (double)shrink;
        state->top = top;
        for (int32_t i = 0; i < t->dim; i++) o[i] *= shrink;
    }
    state->sum += exponents(s, block->count, top);
    if (t->drop.on) {
        float factor[BLOCK];
        cpu_draw(t, row, head, block, factor);
        for (int32_t e = 0; e < block->count; e++) s[e] *= factor[e];
    }
    cpu_mix(o, s, block->v, (int64_t)head * t->dim, t->dim, block->count);
}

/* p_e = exp(s_e - lse) over the scores that stand in `weights`. */
static void finish_weights(const ref_attend *t, int64_t row)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    for (int64_t e = t->edges->edge_offset[row]; e < t->edges->edge_offset[row + 1]; e++) {
        float *weights = (float *)t->args->weights + e * t->heads;
        for (int32_t h = 0; h < t->heads; h++) weights[h] = isinf(lse[h]) && lse[h] < 0 ? 0 : expf(weights[h] - lse[h]);
    }
}

static void finish_head(const ref_attend *t, softmax_state state, float *lse, float *o)
{
    const int none = isinf(state.top) && state.top < 0;
    const float share = none ? 0 : (float)(1 / state.sum);
    *lse = none ? state.top : (float)((double)state.top + log(state.sum));
    for (int32_t i = 0; i < t->dim; i++) o[i] *= share;
}

static void keep_scores(const ref_attend *t, int64_t edge, int32_t head, const float *s, int32_t count)
{
    float *weights = t->args->weights;
    for (int32_t e = 0; weights && e < count; e++) weights[(edge + e) * t->heads + head] = s[e];
}

/* All heads of a row that fits one block: its edges are looked up once. */
static void short_row(const ref_attend *t, int64_t row, const cpu_block *block)
{
    const float *q = (const float *)t->args->q + row * t->width;
    float *out = (float *)t->args->out + row * t->width, *lse = (float *)t->args->lse + row * t->heads,
          s[BLOCK + LANES] = { 0 };
    for (int64_t i = 0; i < t->width; i++) out[i] = 0;
    for (int32_t h = 0; h < t->heads; h++) {
        const int64_t at = (int64_t)h * t->dim;
        softmax_state state = { -INFINITY, 0 };
        cpu_scores(t, block, q + at, h, s);
        keep_scores(t, t->edges->edge_offset[row], h, s, block->count);
        absorb(t, row, h, block, s, &state, out + at);
        finish_head(t, state, lse + h, out + at);
    }
}

/* One head over all blocks of a long row. */
static void long_row(const ref_attend *t, int64_t row, int32_t head)
{
    const int64_t at = row * t->width + (int64_t)head * t->dim;
    const float *q = (const float *)t->args->q + at;
    float *o = (float *)t->args->out + at, s[BLOCK + LANES] = { 0 };
    softmax_state state = { -INFINITY, 0 };
    ref_walk walk = ref_walk_of(t->edges, row);
    cpu_block block = { .count = 0 };
    block.first = 0;
    for (int32_t i = 0; i < t->dim; i++) o[i] = 0;
    while (cpu_next(t, &walk, &block)) {
        cpu_scores(t, &block, q, head, s);
        keep_scores(t, t->edges->edge_offset[row] + block.first, head, s, block.count);
        absorb(t, row, head, &block, s, &state, o);
    }
    finish_head(t, state, (float *)t->args->lse + row * t->heads + head, o);
}

static void forward_chunk(void *context, int64_t item)
{
    const forward_job *job = context;
    const ref_attend *t = &job->t;
    const int64_t last = ref_smaller((item + 1) * job->chunk, t->edges->rows);
    cpu_block block;
    for (int64_t row = item * job->chunk; row < last; row++) {
        if (t->edges->edge_offset[row + 1] - t->edges->edge_offset[row] <= BLOCK) {
            ref_walk walk = ref_walk_of(t->edges, row);
            block.first = 0, block.count = 0;
            cpu_next(t, &walk, &block);
            short_row(t, row, &block);
        } else
            for (int32_t h = 0; h < t->heads; h++) long_row(t, row, h);
        if (t->args->weights) finish_weights(t, row);
    }
}

gsa_status GSA_CPU(attend_forward)(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_status status = ref_attend_check(b, "attend_forward", args, 0);
    if (status != GSA_OK) return status;
    forward_job job = { .t = ref_attend_of(args), .chunk = ref_edge_chunk(args->edges) };
    gsa_team_run(b->team, ref_items(args->edges->rows, job.chunk), forward_chunk, &job);
    return GSA_OK;
}
