/* attend_forward.c - one pass over the edges of a row with a running maximum and sum per head
 * (online softmax: Milakov, Gimelshein 2018), a block of edges at a time. Time O(edges x heads x
 * dim), no memory beyond the outputs. */
#include "kernels/ref/attend.h"

enum { GROUP = 32 /* heads whose running state is on the stack; a multiple of 4 */ };

typedef struct forward_job {
    ref_attend t;
    int64_t chunk;
} forward_job;

typedef struct softmax_state {
    real top;   /* largest score so far; NaN once a score was NaN */
    double sum; /* of exp(s - top) */
} softmax_state;

static real top_of(const real *s, int32_t count, real top)
{
    for (int32_t e = 0; e < count; e++) top = s[e] > top || isnan(s[e]) ? s[e] : top;
    return top;
}

/* Adds a block to one head's state and to o (not yet divided by the sum). */
static void absorb(const ref_attend *t, const ref_attend_block *block, int32_t head,
                   real *restrict s, softmax_state *state, real *o)
{
    const int32_t count = block->edge.count;
    const real top = top_of(s, count, state->top);
    double sum = 0;
    if (isinf(top) && top < 0) return;
    if (!(top == state->top)) {
        const real shrink = exp(state->top - top);
        state->sum *= (double)shrink;
        state->top = top;
        for (int32_t i = 0; i < t->dim; i++) o[i] *= shrink;
    }
    for (int32_t e = 0; e < count; e++) s[e] = exp(s[e] - top);
    for (int32_t e = 0; e < count; e++) sum += (double)s[e];
    state->sum += sum;
    if (t->drop.on)
        for (int32_t e = 0; e < count; e++) s[e] *= block->factor[e][head % 4];
    ref_mix(o, s, block->v, (int64_t)head * t->dim, count, t->dim);
}

/* p_e = exp(s_e - lse) over the scores that are in `weights`. */
static void finish_weights(const ref_attend *t, int64_t row, int32_t first, int32_t last)
{
    const real *lse = (const real *)t->args->lse + row * t->heads;
    for (int64_t e = t->edges->edge_offset[row]; e < t->edges->edge_offset[row + 1]; e++) {
        real *weights = (real *)t->args->weights + e * t->heads;
        for (int32_t h = first; h < last; h++)
            weights[h] = isinf(lse[h]) && lse[h] < 0 ? 0 : exp(weights[h] - lse[h]);
    }
}

static void finish_row(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                       const softmax_state *states)
{
    real *lse = (real *)t->args->lse + row * t->heads, *out = (real *)t->args->out + row * t->width;
    for (int32_t h = first; h < last; h++) {
        const softmax_state state = states[h - first];
        const int none = isinf(state.top) && state.top < 0;
        const real share = none ? 0 : (real)(1 / state.sum);
        lse[h] = none ? state.top : (real)((double)state.top + log(state.sum));
        for (int32_t i = 0; i < t->dim; i++) out[(int64_t)h * t->dim + i] *= share;
    }
}

static void attend_heads(const ref_attend *t, int64_t row, int32_t first, int32_t last)
{
    const real *q = (const real *)t->args->q + row * t->width;
    real *out = (real *)t->args->out + row * t->width, *weights = t->args->weights, s[REF_BLOCK];
    softmax_state states[GROUP];
    ref_attend_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0;
    block.edge.count = 0;
    for (int32_t h = first; h < last; h++)
        states[h - first] = (softmax_state){ -(real)INFINITY, 0 };
    for (int64_t i = (int64_t)first * t->dim; i < (int64_t)last * t->dim; i++) out[i] = 0;
    while (ref_attend_next(t, &walk, &block))
        for (int32_t h = first; h < last; h++) {
            const int64_t at = (int64_t)h * t->dim, edge = t->edges->edge_offset[row] + block.first;
            if (t->drop.on && h % 4 == 0) ref_attend_draw(t, row, h, &block);
            ref_scores(t, &block, q + at, h, s);
            if (weights)
                for (int32_t e = 0; e < block.edge.count; e++)
                    weights[(edge + e) * t->heads + h] = s[e];
            absorb(t, &block, h, s, &states[h - first], out + at);
        }
    finish_row(t, row, first, last, states);
    if (weights) finish_weights(t, row, first, last);
}

static void forward_chunk(void *context, int64_t item)
{
    const forward_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->t.edges->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        for (int32_t h = ref_leaves_out(job->t.args, row, 1) ? job->t.heads : 0; h < job->t.heads;
             h += GROUP)
            attend_heads(&job->t, row, h, (int32_t)ref_smaller((int64_t)h + GROUP, job->t.heads));
}

static gsa_status attend_forward(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_status status = ref_attend_check(b, "attend_forward", args, 0);
    if (status != GSA_OK) return status;
    forward_job job = { .t = ref_attend_of(args), .chunk = ref_edge_chunk(args->edges) };
    gsa_team_run(b->team, ref_items(args->edges->rows, job.chunk), forward_chunk, &job);
    return GSA_OK;
}

void GSA_REF(fill_attend_forward)(gsa_backend *b)
{
    b->attend_forward = attend_forward;
}
