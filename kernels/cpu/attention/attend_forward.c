/* attend_forward.c - one pass over the edges of a row for each group of heads: scores of a block,
 * their maximum and sum, the mix of values. A row of up to BLOCK edges takes one block and is
 * divided by its sum before values are mixed; a longer one keeps a running maximum and sum (online
 * softmax: Milakov, Gimelshein 2018). Time O(edges x heads x dim), no memory beyond the outputs. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/bcsr_read.h"

typedef struct forward_job {
    ref_attend t;
    int64_t chunk, chunks;
    cpu_plan *plan;
    int64_t segments, crossings; /* of intervals, where the call may work by them */
    cpu_interval_states states;
} forward_job;

/* The largest finite number at least: scores that are all -inf then give exponentials of 0. A NaN
 * shows in the sum. */
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

/* p_e = exp(s_e - lse) over the scores that are in `weights`. */
static void finish_weights(const ref_attend *t, int64_t row)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    for (int64_t e = t->edges->edge_offset[row]; e < t->edges->edge_offset[row + 1]; e++) {
        float *weights = (float *)t->args->weights + e * t->heads;
        for (int32_t h = 0; h < t->heads; h++)
            weights[h] = isinf(lse[h]) && lse[h] < 0 ? 0 : expf(weights[h] - lse[h]);
    }
}

static void keep_scores(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                        int32_t heads, const float *s)
{
    float *weights = t->args->weights;
    const int64_t edge = t->edges->edge_offset[row] + block->first;
    for (int32_t e = 0; weights && e < block->count; e++)
        for (int32_t j = 0; j < heads; j++)
            weights[(edge + e) * t->heads + first + j] = s[cpu_place(e, j)];
}

/* Writes lse of a group and 1 / sum, 0 where nothing was added. */
static void finish_group(cpu_softmax state, float *lse, int32_t heads, float *share)
{
    const vec sum = vec_sub(state.sum, state.lost);
    float each[LANES];
    vec_store(each, vec_add(state.top, vec_log(sum)));
    for (int32_t j = 0; j < heads; j++) lse[j] = each[4 * j];
    vec_store(share, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
}

static void drop(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                 int32_t heads, float *s)
{
    float factor[GROUPS * SCORES];
    if (!t->drop.on) return;
    cpu_keep_block(t, row, first, heads, block, factor);
    for (int32_t h = 0; h < heads; h += QUADS)
        multiply_scores(s + cpu_place(0, h), cpu_quads(block->count), factor + cpu_place(0, h),
                        LANES);
}

/* Some heads of a row that fits one block. */
static void short_row(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                      int32_t heads)
{
    const float *q = (const float *)t->args->q + row * t->width;
    float *out = (float *)t->args->out + row * t->width,
          *lse = (float *)t->args->lse + row * t->heads + first, s[GROUPS * SCORES],
          share[4 * HEADS];
    const int32_t quads = cpu_quads(block->count);
    const cpu_asks asks = cpu_asks_of(t, block->ahead, heads, BLOCK);
    cpu_scores(t, block, q, first, heads, s);
    keep_scores(t, row, block, first, heads, s);
    for (int32_t h = 0; h < heads; h += QUADS) {
        float *group = s + cpu_place(0, h);
        const vec top = top_of(group, quads, vec_all(-FLT_MAX)), sum = exponents(group, quads, top);
        finish_group((cpu_softmax){ top, sum, vec_zero() }, lse + h,
                     heads - h < QUADS ? heads - h : QUADS, share + 4 * h);
        multiply_scores(group, quads, share + 4 * h, 0);
    }
    drop(t, row, block, first, heads, s);
    for (int32_t j = 0; j < heads; j++) {
        const int64_t at = (int64_t)(first + j) * t->dim;
        if (share[4 * j] == 0) memset(out + at, 0, sizeof(float) * (size_t)t->dim);
        else cpu_mix(out + at, NULL, s + cpu_place(0, j), block->v, at, asks, t->dim, block->count);
    }
}

/* Adds the scores of a block to a group's state; returns by what is shrunk what is there so far. */
static vec absorb(cpu_softmax *state, float *s, int32_t quads)
{
    const vec top = top_of(s, quads, state->top);
    return cpu_absorb(state, top, exponents(s, quads, top));
}

/* Adds a block of a row to the states and the mix of some heads; `fresh`: nothing was there
 * before. */
static void absorb_block(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                         int32_t heads, cpu_softmax *state, float *out, int fresh)
{
    const cpu_asks asks = cpu_asks_of(t, block->ahead, heads, BLOCK);
    float s[GROUPS * SCORES], share[4 * HEADS];
    for (int g = 0; fresh && g < GROUPS; g++)
        state[g] = (cpu_softmax){ vec_all(-FLT_MAX), vec_zero(), vec_zero() };
    cpu_scores(t, block, (const float *)t->args->q + row * t->width, first, heads, s);
    keep_scores(t, row, block, first, heads, s);
    for (int32_t h = 0; h < heads; h += QUADS)
        vec_store(share + 4 * h,
                  absorb(&state[h / QUADS], s + cpu_place(0, h), cpu_quads(block->count)));
    drop(t, row, block, first, heads, s);
    for (int32_t j = 0; j < heads; j++) {
        const int64_t at = (int64_t)(first + j) * t->dim;
        cpu_mix(out + at, fresh ? NULL : share + 4 * j, s + cpu_place(0, j), block->v, at, asks,
                t->dim, block->count);
    }
}

/* Of some heads of a row: lse; out is divided by the sums. */
static void end_row(const ref_attend *t, int64_t row, int32_t first, int32_t heads,
                    const cpu_softmax *state, float *out)
{
    float share[4 * HEADS];
    for (int32_t h = 0; h < heads; h += QUADS)
        finish_group(state[h / QUADS], (float *)t->args->lse + row * t->heads + first + h,
                     heads - h < QUADS ? heads - h : QUADS, share + 4 * h);
    for (int32_t j = 0; j < heads; j++)
        for (int64_t i = (int64_t)(first + j) * t->dim, end = i + t->dim; i < end; i++)
            out[i] = share[4 * j] == 0 ? 0 : share[4 * j] * out[i];
}

static void long_row(const ref_attend *t, int64_t row, int32_t first, int32_t heads)
{
    float *out = (float *)t->args->out + row * t->width;
    cpu_softmax state[GROUPS];
    ref_walk walk = ref_walk_of(t->edges, row);
    cpu_block block;
    block.first = 0, block.count = 0;
    while (cpu_next(t, &walk, &block))
        absorb_block(t, row, &block, first, heads, state, out, block.first == 0);
    end_row(t, row, first, heads, state, out);
}

void cpu_forward_block(const ref_attend *t, int64_t row, const cpu_block *block, cpu_softmax *state,
                       float *out, int fresh)
{
    for (int32_t h = 0; h < t->heads; h += HEADS, state += GROUPS)
        absorb_block(t, row, block, h, t->heads - h < HEADS ? t->heads - h : HEADS, state, out,
                     fresh);
}

void cpu_forward_end(const ref_attend *t, int64_t row, const cpu_softmax *state, float *out)
{
    for (int32_t h = 0; h < t->heads; h += HEADS, state += GROUPS)
        end_row(t, row, h, t->heads - h < HEADS ? t->heads - h : HEADS, state, out);
}

static void one_row(const ref_attend *t, int64_t row)
{
    const int is_short = t->edges->edge_offset[row + 1] - t->edges->edge_offset[row] <= BLOCK;
    cpu_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0, block.count = 0;
    if (is_short) cpu_next(t, &walk, &block);
    for (int32_t h = 0; h < t->heads; h += HEADS) {
        const int32_t heads = t->heads - h < HEADS ? t->heads - h : HEADS;
        if (is_short) short_row(t, row, &block, h, heads);
        else long_row(t, row, h, heads);
    }
    if (t->args->weights) finish_weights(t, row);
}

typedef struct forward_work { /* of an item */
    const forward_job *job;
    cpu_inspection inspection;
    cpu_ell waiting;
    cpu_reading reading;
} forward_work;

static void run_part(forward_work *x, const cpu_part *part);

/* Blocks of bcsr; what is not finite goes otherwise. */
static void run_blocks(forward_work *x, const cpu_part *part)
{
    const ref_attend *t = &x->job->t;
    const int64_t end = part->row + part->rows;
    bcsr_block behind[PLAN_BLOCKS];
    cpu_part other;
    bcsr_read(t, part->block, cpu_plan_blocks(x->job->plan, end, behind) > 0 ? behind : NULL,
              &x->reading);
    if (cpu_bcsr_forward(t, part->block, &x->reading)) return;
    for (int64_t row = part->row; row < end;) {
        row = cpu_inspect(&x->inspection, row, end, 0, &other);
        run_part(x, &other);
    }
}

static void run_part(forward_work *x, const cpu_part *part)
{
    const ref_attend *t = &x->job->t;
    switch (part->format) {
    case CPU_GEMM:
        if (cpu_dense_forward(t, part->row, part->rows)) break;
        for (int64_t i = 0; i < part->rows; i++) one_row(t, part->row + i);
        break;
    case CPU_DIA:
        for (int i = 0; i < part->bands; i++) cpu_band_forward(t, &part->band[i]);
        break;
    case CPU_BCSR:
        run_blocks(x, part);
        break;
    case CPU_INTERVAL: /* by items of their own */
        break;
    case CPU_ELL:
        cpu_ell_put(&x->waiting, part->row);
        break;
    default:
        one_row(t, part->row);
        break;
    }
}

static void forward_rows(const forward_job *job, int64_t item)
{
    const ref_attend *t = &job->t;
    const int64_t last = cpu_inspect_cut(t, (item + 1) * job->chunk);
    forward_work x = { .job = job };
    cpu_part part;
    cpu_start_reading(&x.reading, 0, t->heads, 0);
    cpu_ell_begin(&x.waiting, t, 0, t->heads, NULL);
    cpu_inspect_start(&x.inspection, t, job->plan, &x.waiting);
    for (int64_t row = cpu_inspect_cut(t, item * job->chunk), end = row; row < last;) {
        if (row >= end) {
            cpu_inspect_block(&x.inspection, row);
            end = ref_smaller(last, x.inspection.block.first + x.inspection.block.count);
        }
        row = cpu_inspect(&x.inspection, row, end, 1, &part);
        run_part(&x, &part);
    }
    cpu_ell_end(&x.waiting);
    vec_stream_end();
}

/* Where a segment comes among the items: after its example's first rows, in a tree the tokens',
 * whose keys and values the third cache still holds. It rises from segment to segment. */
static int64_t segment_item(const forward_job *job, int64_t segment)
{
    const cpu_intervals *s = job->states.all;
    return segment + s->axis[s->segment_axis[segment]].after_row / job->chunk + 1;
}

static void forward_item(void *context, int64_t item)
{
    const forward_job *job = context;
    int64_t first = 0, end = job->segments; /* the first segment that comes here or later */
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        if (segment_item(job, middle) < item) first = middle + 1;
        else end = middle;
    }
    if (first < job->segments && segment_item(job, first) == item)
        cpu_interval_forward(&job->t, &job->states, first);
    else forward_rows(job, item - first);
}

static void join_item(void *context, int64_t item)
{
    const forward_job *job = context;
    cpu_interval_join(&job->t, &job->states, item);
}

/* Memory for the states of long ranges. Rows whose weights are wanted are no intervals. */
static gsa_status prepare_intervals(gsa_backend *b, forward_job *job)
{
    const ref_attend *t = &job->t;
    const cpu_intervals *s = &job->plan->intervals;
    const int64_t states = s->slots * cpu_states(t) * (int64_t)sizeof(cpu_softmax);
    if (s->count == 0 || !bcsr_serves(t)) return GSA_OK;
    char *memory = gsa_ref_scratch(b, "attend_forward",
                                   states + s->shared * t->width * (int64_t)sizeof(float), 1);
    if (!memory) return b->error.status;
    job->states = (cpu_interval_states){ s, (cpu_softmax *)(void *)memory,
                                         (float *)(void *)(memory + states) };
    job->segments = s->segments, job->crossings = s->crossings;
    return GSA_OK;
}

/* Rows of an item: with few threads many, for what the first tile of an item reads nobody has asked
 * for. No bit depends on it. */
static int64_t rows_of_item(const gsa_backend *b, const gsa_edges *edges)
{
    enum { MOST = 2048, ITEMS = 16 };
    const int64_t least = ref_edge_chunk(edges), fair = edges->rows / (ITEMS * (int64_t)b->threads);
    const int64_t most = fair < MOST ? fair : MOST;
    return least > most ? least : most;
}

gsa_status cpu_attend_forward(gsa_backend *b, const gsa_attend_args *args)
{
    gsa_status status = ref_attend_check(b, "attend_forward", args, 0);
    if (status != GSA_OK) return status;
    forward_job job = { .t = ref_attend_of(args), .chunk = rows_of_item(b, args->edges) };
    job.chunks = ref_items(args->edges->rows, job.chunk);
    job.plan = cpu_plan_of(b, "attend_forward", &job.t);
    if (!job.plan) return b->error.status;
    status = prepare_intervals(b, &job);
    if (status == GSA_OK) gsa_team_run(b->team, job.chunks + job.segments, forward_item, &job);
    if (status == GSA_OK) gsa_team_run(b->team, job.crossings, join_item, &job);
    cpu_plan_done(b, args->edges, job.plan);
    return status;
}
