/* attend_forward.c - one pass over the edges of a row for each group of heads: scores of a block, their maximum and sum, the mix of
 * values. A row of up to BLOCK edges takes one block and is divided by its sum before values are mixed; a longer one keeps a running
 * maximum and sum (online softmax: Milakov, Gimelshein 2018). Time O(edges x heads x dim), no memory beyond the outputs. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/ops.h"
#include "kernels/cpu/tile.h"

typedef struct forward_job {
    ref_attend t;
    int64_t chunk;
} forward_job;

/* Of a group of heads, each in four lanes. sum - lost is the sum of exp(s - top), compensated (Kahan). */
typedef struct softmax_state {
    vec top, sum, lost;
} softmax_state;

/* The largest finite number at least: scores that are all -inf then give exponentials of 0. A NaN shows in the sum. */
static vec top_of(const float *s, int32_t quads, vec top)
{
    for (int32_t i = 0; i < quads; i++) top = vec_max(vec_load(s + i * LANES), top);
    return vec_quad_max(top);
}

/* s <- exp(s - top); returns their sums. */
static vec exponents(float *s, int32_t quads, vec top)
{
    vec sum = vec_zero();
    for (int32_t i = 0; i < quads; i++) {
        const vec p = vec_exp(vec_sub(vec_load(s + i * LANES), top));
        vec_store(s + i * LANES, p);
        sum = vec_add(sum, p);
    }
    return vec_quad_sum(sum);
}

static void multiply_scores(float *s, int32_t quads, const float *factor, int32_t step)
{
    for (int32_t i = 0; i < quads; i++)
        vec_store(s + i * LANES, vec_mul(vec_load(s + i * LANES), vec_load(factor + i * step)));
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

static void keep_scores(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first, int32_t heads,
                        const float *s)
{
    float *weights = t->args->weights;
    const int64_t edge = t->edges->edge_offset[row] + block->first;
    for (int32_t e = 0; weights && e < block->count; e++)
        for (int32_t j = 0; j < heads; j++) weights[(edge + e) * t->heads + first + j] = s[cpu_place(e, j)];
}

/* Writes lse of a group and returns 1 / sum, 0 where nothing was added. */
static vec finish_group(softmax_state state, float *lse, int32_t heads)
{
    const vec sum = vec_sub(state.sum, state.lost);
    float each[LANES];
    vec_store(each, vec_add(state.top, vec_log(sum)));
    for (int32_t j = 0; j < heads; j++) lse[j] = each[4 * j];
    return vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero());
}

static void drop(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first, int32_t heads, float *s)
{
    float factor[SCORES];
    if (!t->drop.on) return;
    cpu_draw(t, row, first, heads, block, factor);
    multiply_scores(s, cpu_quads(block->count), factor, LANES);
}

/* All heads of a row that fits one block. */
static void short_row(const ref_attend *t, int64_t row, const cpu_block *block)
{
    const float *q = (const float *)t->args->q + row * t->width;
    float *out = (float *)t->args->out + row * t->width, *lse = (float *)t->args->lse + row * t->heads, s[SCORES],
          share[LANES];
    const int32_t quads = cpu_quads(block->count);
    for (int32_t h = 0; h < t->heads; h += QUADS) {
        const int32_t heads = t->heads - h < QUADS ? t->heads - h : QUADS;
        cpu_scores(t, block, q, h, heads, s);
        keep_scores(t, row, block, h, heads, s);
        const vec top = top_of(s, quads, vec_all(-FLT_MAX)), sum = exponents(s, quads, top);
        vec_store(share, finish_group((softmax_state){ top, sum, vec_zero() }, lse + h, heads));
        multiply_scores(s, quads, share, 0);
        drop(t, row, block, h, heads, s);
        for (int32_t j = 0; j < heads; j++) {
            const int64_t at = (int64_t)(h + j) * t->dim;
            if (share[4 * j] == 0) memset(out + at, 0, sizeof(float) * (size_t)t->dim);
            else cpu_mix(out + at, NULL, s + cpu_place(0, j), block->v, at, t->dim, block->count);
        }
    }
}

/* Adds a block to a group's state and to o (not yet divided by the sums). */
static void absorb(const ref_attend *t, const cpu_block *block, int32_t first, int32_t heads, softmax_state *state,
                   int64_t row, float *s)
{
    const int32_t quads = cpu_quads(block->count);
    const vec top = top_of(s, quads, state->top), shrink = vec_exp(vec_sub(state->top, top));
    const vec more = vec_sub(exponents(s, quads, top), vec_mul(state->lost, shrink)), before = vec_mul(state->sum, shrink);
    float keep[LANES];
    state->top = top, state->sum = vec_add(before, more);
    state->lost = vec_sub(vec_sub(state->sum, before), more);
    vec_store(keep, shrink);
    drop(t, row, block, first, heads, s);
    for (int32_t j = 0; j < heads; j++) {
        const int64_t at = (int64_t)(first + j) * t->dim;
        cpu_mix((float *)t->args->out + row * t->width + at, block->first == 0 ? NULL : keep + 4 * j, s + cpu_place(0, j),
                block->v, at, t->dim, block->count);
    }
}

/* One group of heads over all blocks of a long row. */
static void long_row(const ref_attend *t, int64_t row, int32_t first, int32_t heads)
{
    float *o = (float *)t->args->out + row * t->width + (int64_t)first * t->dim, s[SCORES], share[LANES];
    softmax_state state = { vec_all(-FLT_MAX), vec_zero(), vec_zero() };
    ref_walk walk = ref_walk_of(t->edges, row);
    cpu_block block;
    block.first = 0, block.count = 0;
    while (cpu_next(t, &walk, &block)) {
        cpu_scores(t, &block, (const float *)t->args->q + row * t->width, first, heads, s);
        keep_scores(t, row, &block, first, heads, s);
        absorb(t, &block, first, heads, &state, row, s);
    }
    vec_store(share, finish_group(state, (float *)t->args->lse + row * t->heads + first, heads));
    for (int32_t j = 0; j < heads; j++)
        for (int32_t i = 0; i < t->dim; i++)
            o[(int64_t)j * t->dim + i] = share[4 * j] == 0 ? 0 : share[4 * j] * o[(int64_t)j * t->dim + i];
}

static void one_row(const ref_attend *t, int64_t row)
{
    cpu_block block;
    if (t->edges->edge_offset[row + 1] - t->edges->edge_offset[row] <= BLOCK) {
        ref_walk walk = ref_walk_of(t->edges, row);
        block.first = 0, block.count = 0;
        cpu_next(t, &walk, &block);
        short_row(t, row, &block);
    } else
        for (int32_t h = 0; h < t->heads; h += QUADS) long_row(t, row, h, t->heads - h < QUADS ? t->heads - h : QUADS);
    if (t->args->weights) finish_weights(t, row);
}

static void forward_chunk(void *context, int64_t item)
{
    const forward_job *job = context;
    const ref_attend *t = &job->t;
    const int64_t last = GSA_CPU(tile_cut)(t->edges, (item + 1) * job->chunk);
    cpu_tile tile;
    for (int64_t row = GSA_CPU(tile_cut)(t->edges, item * job->chunk); row < last;) {
        if (GSA_CPU(tile_at)(t, row, last, &tile) && GSA_CPU(tile_forward)(t, &tile)) row += LANES;
        else one_row(t, row++);
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
