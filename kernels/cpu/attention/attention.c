/* attention.c - the executor of both passes: items of rows, each part of them by the format that
 * inspect.c tells. The backward pass is one over the edges by destination, which computes p again
 * from lse; its cut into items is ref's (attend_items.h). Time O(edges x heads x dim). */
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/attention/row.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/attention/bcsr_read.h"
#include <stdatomic.h>

enum {
    HUB_EDGES = 2048, /* of a row alone: with more it is cut into REF_WIDE pieces */
    HUBS = 16         /* whose pieces are at work together */
};

typedef struct forward_hubs { /* rows that are cut by edges, after the others */
    _Atomic int64_t count;
    int64_t done, *row;
    float *pieces; /* [HUBS][REF_WIDE][heads * SOFTMAX + width]: states, sums of values */
} forward_hubs;

typedef struct forward_job {
    ref_attend t;
    int64_t chunk, chunks;
    int64_t segments, crossings; /* of intervals, where the call may work by them */
    cpu_interval_states states;
    forward_hubs *hubs;
    float *rooms;
} forward_job;

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

static void lone_row(const ref_attend *t, int64_t row, forward_hubs *hubs)
{
    float *out = (float *)t->args->out + row * t->width, state[HEADS * SOFTMAX];
    if (ref_edges_of(t->edges, (gsa_rows){ row, 1 }) > HUB_EDGES) {
        hubs->row[atomic_fetch_add(&hubs->count, 1)] = row;
        return;
    }
    for (int32_t h = 0, end; h < t->heads; h = end) {
        end = t->heads - h < HEADS ? t->heads : h + HEADS;
        cpu_row_forward_all(t, row, h, end, state, out);
        cpu_row_end(t, row, h, end, state, out);
    }
    if (t->args->weights) finish_weights(t, row);
}

static float *piece_of(const forward_job *job, int64_t item)
{
    return job->hubs->pieces + item * (job->t.heads * SOFTMAX + job->t.width);
}

static void piece_item(void *context, int64_t item)
{
    const forward_job *job = context;
    const int64_t row = job->hubs->row[job->hubs->done + item / REF_WIDE];
    ref_attend t = job->t;
    float *state = piece_of(job, item), *out = state + t.heads * SOFTMAX;
    if (ref_attend_piece(&t, row, (int)(item % REF_WIDE), REF_WIDE))
        cpu_row_forward_all(&t, row, 0, t.heads, state, out);
}

/* Pieces meet in their order. */
static void hub_item(void *context, int64_t item)
{
    const forward_job *job = context;
    const int64_t row = job->hubs->row[job->hubs->done + item];
    ref_attend t = job->t;
    float *out = (float *)t.args->out + row * t.width, *state = piece_of(job, item * REF_WIDE);
    const int64_t sums = t.heads * SOFTMAX;
    memcpy(out, state + sums, sizeof *out * (size_t)t.width);
    for (int i = 1; i < REF_WIDE && ref_attend_piece(&t, row, i, REF_WIDE); i++) {
        const float *more = piece_of(job, item * REF_WIDE + i);
        cpu_row_join(&t, state, out, more, more + sums);
    }
    cpu_row_end(&t, row, 0, t.heads, state, out);
    if (t.args->weights) finish_weights(&t, row);
}

static void run_hubs(gsa_backend *b, forward_job *job)
{
    forward_hubs *x = job->hubs;
    const int64_t hubs = atomic_load(&x->count);
    for (; x->done < hubs; x->done += HUBS) {
        const int64_t some = ref_smaller(HUBS, hubs - x->done);
        gsa_team_run(b->team, some * REF_WIDE, piece_item, job);
        gsa_team_run(b->team, some, hub_item, job);
    }
}

/* ---- parts of rows by their formats, in both passes ------------------------------------------ */

typedef struct work { /* of an item */
    const ref_attend *t;
    const ref_label_sums *sums; /* NULL: forward */
    forward_hubs *hubs;         /* forward */
    int32_t first, last;        /* heads */
    void *room;
    cpu_inspection inspection;
    cpu_ell waiting;
    cpu_reading reading;
    int32_t interval; /* 1 + the axis that has some of the rows, 0: none has */
} work;

static void run_part(work *x, const cpu_part *part);

static void run_row(const work *x, int64_t row)
{
    if (x->sums) cpu_row_backward_all(x->t, row, x->first, x->last, x->sums);
    else lone_row(x->t, row, x->hubs);
}

static void run_dia(const work *x, const cpu_dia *dia)
{
    if (!x->sums) cpu_dia_forward(x->t, dia);
    else if (!cpu_dia_backward(x->t, dia, x->first, x->last, x->sums))
        for (int r = 0; r < DIA_ROWS; r++) run_row(x, dia->row + r);
}

/* What is not finite goes otherwise. */
static void run_blocks(work *x, const cpu_part *part)
{
    const int64_t end = part->row + part->rows;
    bcsr_block behind[PLAN_BLOCKS];
    cpu_part other;
    bcsr_read(x->t, part->block, cpu_plan_blocks(x->t->plan, end, behind) > 0 ? behind : NULL,
              &x->reading);
    for (int i = 0; x->sums && i < part->blocks; i++)
        cpu_bcsr_backward(x->t, &part->block[i], &x->reading, x->sums, x->room);
    if (x->sums || cpu_bcsr_forward(x->t, part->block, &x->reading, x->room)) return;
    for (int64_t row = part->row; row < end;) {
        row = cpu_inspect(&x->inspection, row, end, 0, &other);
        run_part(x, &other);
    }
}

static void run_part(work *x, const cpu_part *part)
{
    switch (part->format) {
    case CPU_GEMM: /* backward: the whole block at once, before */
        if (cpu_dense_forward(x->t, part->row, part->rows, x->room)) break;
        for (int64_t i = 0; i < part->rows; i++) run_row(x, part->row + i);
        break;
    case CPU_DIA:
        for (int i = 0; i < part->dias; i++) run_dia(x, &part->dia[i]);
        break;
    case CPU_BCSR:
        run_blocks(x, part);
        break;
    case CPU_INTERVAL: /* forward by items of their own, backward after the others */
        x->interval = part->interval;
        break;
    case CPU_ELL:
        cpu_ell_put(&x->waiting, part->row);
        break;
    default:
        run_row(x, part->row);
        break;
    }
}

static void run_rows(work *x, int64_t row, int64_t end)
{
    const ref_attend *t = x->t;
    cpu_part part;
    cpu_start_reading(&x->reading, x->first, x->last, x->sums != NULL);
    cpu_ell_begin(&x->waiting, t, x->first, x->last, x->sums);
    while (row < end) {
        row = cpu_inspect(&x->inspection, row, end, 1, &part);
        if (x->sums || !ref_leaves_out(t->args, part.row, part.rows)) run_part(x, &part);
    }
    cpu_ell_end(&x->waiting);
}

/* ---- forward --------------------------------------------------------------------------------- */

static void forward_rows(const forward_job *job, void *room, int64_t item)
{
    const ref_attend *t = &job->t;
    work x = {
        .t = t, .hubs = job->hubs, .last = t->heads, .room = room, .inspection = { .t = t }
    };
    run_rows(&x, cpu_inspect_cut(t, item * job->chunk),
             cpu_inspect_cut(t, (item + 1) * job->chunk));
    vec_stream_end();
}

/* Where a segment comes among the items: after its example's first rows, in a tree the tokens',
 * whose keys and values the third cache still holds. It rises from segment to segment. */
static int64_t segment_item(const forward_job *job, int64_t segment)
{
    const cpu_intervals *s = job->states.all;
    return segment + s->axis[s->segment_axis[segment]].after_row / job->chunk + 1;
}

static void forward_item(void *context, void *room, int64_t item)
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
    else forward_rows(job, room, item - first);
}

static void join_item(void *context, int64_t item)
{
    const forward_job *job = context;
    cpu_interval_join(&job->t, &job->states, item);
}

/* Memory for threads and for the states of long ranges. Rows whose weights are wanted are no
 * intervals; those of intervals are all late. */
static gsa_status prepare(gsa_backend *b, const cpu_plan *plan, forward_job *job)
{
    const ref_attend *t = &job->t;
    const cpu_intervals *s = &plan->intervals;
    const int early = t->args->late && !t->args->rest,
              by_intervals = s->count > 0 && bcsr_serves(t) && !early;
    const int64_t rooms = (int64_t)b->threads * (ROOM / (int64_t)sizeof(float)),
                  hubs = t->edges->edge_total / HUB_EDGES, /* at most */
        pieces = ref_smaller(hubs, HUBS) * REF_WIDE * (t->heads * SOFTMAX + t->width),
                  states = by_intervals ? s->slots * t->heads * SOFTMAX : 0,
                  mixes = by_intervals ? s->shared * t->width : 0;
    job->rooms = gsa_ref_scratch(b, "attend_forward", rooms + 2 * hubs + pieces + states + mixes,
                                 sizeof(float));
    if (!job->rooms) return b->error.status;
    job->hubs->row = (int64_t *)(void *)(job->rooms + rooms);
    job->hubs->pieces = job->rooms + rooms + 2 * hubs;
    float *behind = job->hubs->pieces + pieces;
    if (!by_intervals) return GSA_OK;
    job->states = (cpu_interval_states){ s, behind, behind + states };
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
    forward_hubs hubs = { 0 };
    forward_job job = { .t = ref_attend_of(args),
                        .chunk = rows_of_item(b, args->edges),
                        .hubs = &hubs };
    job.chunks = ref_items(args->edges->rows, job.chunk);
    cpu_plan *plan = cpu_plan_of(b, "attend_forward", &job.t);
    if (!plan) return b->error.status;
    job.t.plan = plan;
    status = prepare(b, plan, &job);
    if (status == GSA_OK)
        gsa_team_run_in(b->team, job.chunks + job.segments, forward_item, &job, job.rooms, ROOM);
    if (status == GSA_OK) gsa_team_run(b->team, job.crossings, join_item, &job);
    if (status == GSA_OK) run_hubs(b, &job);
    cpu_plan_done(b, args->edges, plan);
    return status;
}

/* ---- backward -------------------------------------------------------------------------------- */

static void backward_rows(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                          const ref_label_sums *sums, void *room)
{
    const cpu_plan *plan = t->plan;
    work x = {
        .t = t, .sums = sums, .first = first, .last = last, .room = room, .inspection = { .t = t }
    };
    if (rows.count == 0) return;
    if (t->end > 0) { /* edges of a hub */
        run_row(&x, rows.first);
        return;
    }
    cpu_inspect_block(&x.inspection, rows.first);
    if (x.inspection.dense && cpu_dense_backward(t, rows, first, last, room)) return;
    x.inspection.dense = 0;
    run_rows(&x, rows.first, rows.first + rows.count);
    if (x.interval)
        cpu_interval_backward(t, &plan->intervals, x.interval - 1, rows, first, last, sums);
}

gsa_status cpu_attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    const ref_attend t = ref_attend_of(args);
    if (ref_attend_check(b, "attend_backward", args, 1) != GSA_OK) return b->error.status;
    cpu_plan *plan = cpu_plan_of(b, "attend_backward", &t);
    if (!plan) return b->error.status;
    const gsa_status status =
        ref_back(b, args, backward_rows, plan, &plan->looks, ROOM / sizeof(real));
    cpu_plan_done(b, args->edges, plan);
    return status;
}
