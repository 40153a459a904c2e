/* plan.cu - plans are built by a handful of kernels, a scan and a sort, all queued: nothing is read
 * back. */
#include "kernels/cuda/plan.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

/* ---- kernels ------------------------------------------------------------------------------- */

/* A warp a row: the first edge of each of its runs, 32 at a time; after the last run the number of
 * edges. */
static __global__ void __launch_bounds__(GSA_THREADS)
    place_runs(int64_t *first, const gsa_run *runs, const int64_t *run_offset,
               const int64_t *edge_offset, int64_t rows)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    if (row > rows) return; /* a whole warp */
    const int64_t last = __ldg(run_offset + min(row + 1, rows));
    int64_t edge = __ldg(edge_offset + row);
    if (row == rows && lane == 0) first[last] = edge;
    for (int64_t r = __ldg(run_offset + row); r < last; r += GSA_WARP) {
        const int64_t count = r + lane < last ? runs[r + lane].count : 0;
        int64_t sum = count;
        for (int step = 1; step < GSA_WARP; step <<= 1) {
            const int64_t before = __shfl_up_sync(GSA_ALL_LANES, sum, step);
            if (lane >= step) sum += before;
        }
        if (r + lane < last) first[r + lane] = edge + sum - count;
        edge += __shfl_sync(GSA_ALL_LANES, sum, GSA_WARP - 1);
    }
}

/* How many pieces a row is cut into; offset is the edges' own or that of the out-edges. */
static __global__ void count_pieces(int64_t *piece, const int64_t *offset, int32_t length,
                                    int64_t rows)
{
    const int64_t row = gsa_thread();
    if (row > rows) return;
    const int64_t degree = row < rows ? __ldg(offset + row + 1) - __ldg(offset + row) : 0;
    piece[row] = degree > length ? (degree + length - 1) / length : 0;
}

static __global__ void note_owners(int32_t *owner, const int64_t *piece, int64_t rows)
{
    const int64_t row = gsa_thread();
    if (row >= rows) return;
    for (int64_t p = __ldg(piece + row); p < __ldg(piece + row + 1); p++) owner[p] = (int32_t)row;
}

typedef struct expand_job {
    const int64_t *run_first, *edge_offset;
    const gsa_run *runs;
    int64_t rows, run_total, edge_total;
    gsa_cuda_entry *entries; /* or NULL */
    uint32_t *key;           /* or NULL: among the sources of all kinds */
    int64_t *value;          /* or NULL, with the next */
    gsa_transposed *record;
    int64_t part_first[GSA_MAX_KINDS];
} expand_job;

/* A thread an edge: which run and which row it lies in is searched, so hubs and single edges cost
 * the same. */
static __global__ void expand_edges(GSA_ARGUMENT(expand_job) job)
{
    const int64_t e = gsa_thread();
    if (e >= job.edge_total) return;
    const int64_t r = gsa_last_at_most(job.run_first, 0, job.run_total, e);
    const gsa_run run = job.runs[r];
    const int32_t i = (int32_t)(e - __ldg(job.run_first + r));
    const int32_t source = run.first + i * run.step, label = run.label + i * run.label_step;
    if (job.entries)
        job.entries[e] =
            gsa_cuda_entry{ source, (uint32_t)label * GSA_MAX_KINDS + (uint32_t)run.kind };
    if (job.key) job.key[e] = (uint32_t)(job.part_first[run.kind] + source);
    if (job.record == NULL) return;
    const int64_t row = gsa_last_at_most(job.edge_offset, 0, job.rows, e);
    job.value[e] = e;
    job.record[e] =
        gsa_transposed{ (int32_t)row, (int32_t)(e - __ldg(job.edge_offset + row)), label };
}

/* Out-edges in the order of the sort, and where each source's begin. */
static __global__ void order_edges(gsa_transposed *out, int64_t *offset,
                                   const gsa_transposed *record, const int64_t *order,
                                   const uint32_t *sorted, int64_t edges, int64_t sources)
{
    const int64_t i = gsa_thread();
    if (i < edges) out[i] = record[__ldg(order + i)];
    if (i <= sources) offset[i] = gsa_first_at_least(sorted, edges, (uint32_t)i);
}

#if defined(GSA_CHECKED)
typedef struct check_job {
    const gsa_run *runs;
    int64_t run_total;
    int32_t kinds, labels;
    gsa_cuda_watch watch;
    int64_t part_rows[GSA_MAX_KINDS];
} check_job;

/* Every run inside its kind and its labels: what gsa_edges_check says of runs. */
static __global__ void check_runs(GSA_ARGUMENT(check_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.run_total) return;
    const gsa_run run = job.runs[i];
    const int64_t rows = run.kind >= 0 && run.kind < job.kinds ? job.part_rows[run.kind] : 0;
    const int64_t last = run.first + (int64_t)(run.count - 1) * run.step,
                  end = run.label + (int64_t)(run.count - 1) * run.label_step;
    const int64_t labels = job.labels > 0 ? job.labels : 1;
    const int good = run.count >= 1 && run.first >= 0 && run.first < rows && last >= 0 &&
                     last < rows && run.label >= 0 && run.label < labels && end >= 0 &&
                     end < labels;
    if (!good) gsa_report(job.watch, i);
}

static gsa_status check_edges(gsa_backend *b, const gsa_edges *edges)
{
    check_job job = { edges->runs,
                      edges->run_total,
                      edges->kinds,
                      edges->labels,
                      gsa_cuda_suspect(b, GSA_FAULT_EDGES),
                      {} };
    for (int k = 0; k < GSA_MAX_KINDS; k++) job.part_rows[k] = edges->part_rows[k];
    GSA_TRY(GSA_EACH(b, "edges", edges->run_total, check_runs, job));
    const gsa_status status = gsa_cuda_read_faults(b);
    gsa_cuda_enter_capture(b);
    return status;
}
#else
static gsa_status check_edges(gsa_backend *, const gsa_edges *)
{
    return GSA_OK;
}
#endif

/* ---- building ------------------------------------------------------------------------------ */
/* Rows are cut where any can be long enough; the length grows with the edges, so that the pieces
 * stay few. A function of sizes alone: the order of sums is fixed. most: edges of the longest row,
 * or more. */
static gsa_status make_cut(gsa_backend *b, const char *op, const int64_t *offset, int64_t rows,
                           int64_t edges, int64_t most, gsa_cuda_cut *cut)
{
    const gsa_cuda_tuning *tuning = gsa_cuda_of(b)->tuning;
    const int64_t wanted = edges / tuning->hub_chunks;
    cut->length = (int32_t)(wanted < tuning->hub_edges ? tuning->hub_edges
                            : wanted < INT32_MAX       ? wanted
                                                       : INT32_MAX);
    if (most <= cut->length || rows == 0) return GSA_OK;
    cut->bound = 2 * (edges / cut->length) + 1;
    GSA_TRY(gsa_cuda_take_array(b, op, rows + 1, sizeof(int64_t), (void **)&cut->piece));
    GSA_TRY(GSA_EACH(b, op, rows + 1, count_pieces, cut->piece, offset, cut->length, rows));
    GSA_TRY(gsa_cuda_scan(b, cut->piece, rows + 1));
    GSA_TRY(gsa_cuda_take_array(b, op, cut->bound, sizeof *cut->owner, (void **)&cut->owner));
    return GSA_EACH(b, op, rows, note_owners, cut->owner, cut->piece, rows);
}

static int is_told(const gsa_content *content)
{
    return content->word[0] != 0 || content->word[1] != 0;
}

static int64_t most_edges(const gsa_edges *edges, int out)
{
    if (!is_told(&edges->content)) return edges->edge_total;
    return out ? edges->content.most_out : edges->content.most_in;
}

static gsa_status make_run_first(gsa_backend *b, const char *op, const gsa_edges *edges,
                                 gsa_cuda_plan *plan)
{
    if (plan->run_first) return GSA_OK;
    GSA_TRY(gsa_cuda_take_array(b, op, edges->run_total + 1, sizeof(int64_t),
                                (void **)&plan->run_first));
    return GSA_WARPS(b, op, edges->rows + 1, place_runs, plan->run_first, edges->runs,
                     edges->run_offset, edges->edge_offset, edges->rows);
}

static gsa_status run_expand(gsa_backend *b, const char *op, const gsa_edges *edges,
                             const gsa_cuda_plan *plan, expand_job *job)
{
    job->run_first = plan->run_first, job->edge_offset = edges->edge_offset,
    job->runs = edges->runs;
    job->rows = edges->rows, job->run_total = edges->run_total, job->edge_total = edges->edge_total;
    for (int k = 0; k < GSA_MAX_KINDS; k++) job->part_first[k] = plan->part_first[k];
    return GSA_EACH(b, op, edges->edge_total, expand_edges, *job);
}

static gsa_status make_in(gsa_backend *b, const char *op, const gsa_edges *edges,
                          gsa_cuda_plan *plan)
{
    const gsa_cuda_tuning *tuning = gsa_cuda_of(b)->tuning;
    const int short_runs =
        (double)edges->edge_total < tuning->expand_below * (double)edges->run_total;
    const int fits = edges->edge_total <= tuning->expand_bytes / (int64_t)sizeof(gsa_cuda_entry) &&
                     edges->labels < INT32_MAX / GSA_MAX_KINDS;
    GSA_TRY(make_cut(b, op, edges->edge_offset, edges->rows, edges->edge_total,
                     most_edges(edges, 0), &plan->in));
    if (edges->edge_total == 0 || (plan->in.piece == NULL && !short_runs)) return GSA_OK;
    GSA_TRY(make_run_first(b, op, edges, plan));
    if (!short_runs || !fits) return GSA_OK;
    expand_job job = {};
    GSA_TRY(gsa_cuda_take_array(b, op, edges->edge_total, sizeof *job.entries,
                                (void **)&plan->entries));
    job.entries = plan->entries;
    return run_expand(b, op, edges, plan, &job);
}

typedef struct sort_room { /* lives while the out-edges are made */
    uint32_t *key, *sorted;
    int64_t *value, *order;
    gsa_transposed *record;
} sort_room;

static void give_room(gsa_backend *b, const sort_room *room)
{
    void *const all[] = { room->key, room->sorted, room->value, room->order, room->record };
    for (void *at : all) gsa_cuda_give(b, at);
}

static gsa_status sort_out(gsa_backend *b, const char *op, const gsa_edges *edges,
                           gsa_cuda_plan *plan, sort_room *room)
{
    const int64_t total = edges->edge_total;
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->key, (void **)&room->key));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->sorted, (void **)&room->sorted));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->value, (void **)&room->value));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->order, (void **)&room->order));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->record, (void **)&room->record));
    expand_job job = {};
    job.key = room->key, job.value = room->value, job.record = room->record;
    GSA_TRY(run_expand(b, op, edges, plan, &job));
    if (total > 0)
        GSA_TRY(gsa_cuda_sort(b, room->sorted, room->key, room->order, room->value, total,
                              gsa_cuda_bits(plan->sources)));
    return GSA_EACH(b, op, plan->sources + 1 > total ? plan->sources + 1 : total, order_edges,
                    plan->out, plan->out_offset, room->record, room->order, room->sorted, total,
                    plan->sources);
}

static void place_sources(const gsa_edges *edges, gsa_cuda_plan *plan)
{
    plan->sources = 0;
    for (int k = 0; k < edges->kinds; k++) {
        plan->part_first[k] = plan->sources;
        plan->sources += edges->part_rows[k];
    }
}

static gsa_status make_out(gsa_backend *b, const char *op, const gsa_edges *edges,
                           gsa_cuda_plan *plan)
{
    sort_room room = {};
    place_sources(edges, plan);
    if (plan->sources >= INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "%s: %lld source rows over the kinds, at most 2147483646 have a transpose",
                        op, (long long)plan->sources);
    if (edges->edge_total > 0) GSA_TRY(make_run_first(b, op, edges, plan));
    GSA_TRY(
        gsa_cuda_take_array(b, op, plan->sources + 1, sizeof(int64_t), (void **)&plan->out_offset));
    GSA_TRY(gsa_cuda_take_array(b, op, edges->edge_total, sizeof *plan->out, (void **)&plan->out));
    gsa_status status = sort_out(b, op, edges, plan, &room);
    give_room(b, &room);
    if (status == GSA_OK)
        status = make_cut(b, op, plan->out_offset, plan->sources, edges->edge_total,
                          most_edges(edges, 1), &plan->out_cut);
    plan->has_out = status == GSA_OK;
    return status;
}

/* ---- the table of plans -------------------------------------------------------------------- */
static void release_plan(gsa_backend *b, gsa_cuda_plan **slot)
{
    gsa_cuda_plan *plan = *slot;
    if (plan == NULL) return;
    *slot = NULL;
    void *const all[] = { plan->run_first,     plan->entries,         plan->in.piece,
                          plan->in.owner,      plan->out_offset,      plan->out,
                          plan->out_cut.piece, plan->out_cut.owner,   plan->list_offset,
                          plan->list_column,   plan->list_out_offset, plan->list_out_column,
                          plan->out_edge };
    for (void *at : all) gsa_cuda_give(b, at);
    gsa_cuda_release_windows(b, &plan->windows);
    gsa_cuda_release_windows(b, &plan->out_windows);
    gsa_release(b->system, plan);
}

void gsa_cuda_forget_plans(gsa_backend *b)
{
    for (int i = 0; i < GSA_CUDA_PLANS; i++) release_plan(b, &gsa_cuda_of(b)->plans[i]);
}

static int overlaps(const void *a, int64_t a_bytes, const void *at, int64_t bytes)
{
    return (uintptr_t)a < (uintptr_t)at + (uintptr_t)bytes &&
           (uintptr_t)at < (uintptr_t)a + (uintptr_t)a_bytes;
}

void gsa_cuda_touch_plans(gsa_backend *b, const void *at, int64_t bytes)
{
    for (int i = 0; i < GSA_CUDA_PLANS; i++) {
        const gsa_cuda_plan *plan = gsa_cuda_of(b)->plans[i];
        if (plan && !is_told(&plan->content) &&
            (overlaps(plan->run_offset, 8 * (plan->rows + 1), at, bytes) ||
             overlaps(plan->edge_offset, 8 * (plan->rows + 1), at, bytes) ||
             overlaps(plan->runs, (int64_t)sizeof(gsa_run) * plan->run_total, at, bytes)))
            release_plan(b, &gsa_cuda_of(b)->plans[i]);
    }
}

static int is_plan_of(const gsa_cuda_plan *plan, const gsa_edges *edges)
{
    if (plan == NULL || plan->rows != edges->rows || plan->run_total != edges->run_total ||
        plan->edge_total != edges->edge_total)
        return 0;
    if (is_told(&edges->content) || is_told(&plan->content))
        return plan->content.word[0] == edges->content.word[0] &&
               plan->content.word[1] == edges->content.word[1];
    return plan->run_offset == edges->run_offset && plan->edge_offset == edges->edge_offset &&
           plan->runs == edges->runs;
}

/* The slot that holds the plan of these edges, or else an empty one (made empty if need be). */
static gsa_cuda_plan **slot_for(gsa_backend *b, const gsa_edges *edges)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_plan **oldest = &s->plans[0];
    for (int i = 0; i < GSA_CUDA_PLANS; i++)
        if (is_plan_of(s->plans[i], edges)) return &s->plans[i];
    for (int i = 0; i < GSA_CUDA_PLANS; i++) {
        const gsa_cuda_plan *plan = s->plans[i];
        if (plan && is_told(&plan->content) && plan->used + GSA_CUDA_ASKED < s->plan_clock)
            release_plan(b, &s->plans[i]);
    }
    for (int i = 0; i < GSA_CUDA_PLANS; i++) {
        if (s->plans[i] == NULL) return &s->plans[i];
        if (s->plans[i]->used < (*oldest)->used) oldest = &s->plans[i];
    }
    release_plan(b, oldest);
    return oldest;
}

gsa_status gsa_cuda_plan_of(gsa_backend *b, const char *op, const gsa_edges *edges, int transpose,
                            const gsa_cuda_plan **plan)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_settle_capture(b);
    gsa_cuda_plan **slot = slot_for(b, edges);
    gsa_status status = GSA_OK;
    if (*slot == NULL) {
        *slot = (gsa_cuda_plan *)gsa_alloc_zero(b->system, 1, sizeof **slot);
        if (*slot == NULL) return gsa_out_of_memory(&b->error, op, (int64_t)sizeof **slot);
        (*slot)->content = edges->content;
        (*slot)->run_offset = edges->run_offset, (*slot)->edge_offset = edges->edge_offset,
        (*slot)->runs = edges->runs;
        (*slot)->rows = edges->rows, (*slot)->run_total = edges->run_total,
        (*slot)->edge_total = edges->edge_total;
        status = check_edges(b, edges);
        if (status == GSA_OK) status = make_in(b, op, edges, *slot);
    }
    if (status == GSA_OK && transpose && !(*slot)->has_out) status = make_out(b, op, edges, *slot);
    if (status != GSA_OK) {
        release_plan(b, slot);
        return status;
    }
    (*slot)->used = ++s->plan_clock;
    *plan = *slot;
    return GSA_OK;
}

/* ---- lists for a sparse library ------------------------------------------------------------ */
static __global__ void narrow_offsets(int32_t *to, const int64_t *from, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) to[i] = (int32_t)from[i];
}

static __global__ void list_out_edges(int32_t *column, int32_t *edge, const gsa_transposed *out,
                                      const int64_t *edge_offset, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i >= count) return;
    column[i] = out[i].row;
    edge[i] = (int32_t)(__ldg(edge_offset + out[i].row) + out[i].k);
}

static gsa_status fill_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                             gsa_cuda_plan *plan)
{
    expand_job job = {};
    job.key = (uint32_t *)plan->list_column; /* fewer than 2^31 */
    GSA_TRY(GSA_EACH(b, op, edges->rows + 1, narrow_offsets, plan->list_offset, edges->edge_offset,
                     edges->rows + 1));
    GSA_TRY(GSA_EACH(b, op, plan->sources + 1, narrow_offsets, plan->list_out_offset,
                     plan->out_offset, plan->sources + 1));
    GSA_TRY(run_expand(b, op, edges, plan, &job));
    return GSA_EACH(b, op, edges->edge_total, list_out_edges, plan->list_out_column, plan->out_edge,
                    plan->out, edges->edge_offset, edges->edge_total);
}

static gsa_status make_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                             gsa_cuda_plan *plan)
{
    GSA_TRY(
        gsa_cuda_take_array(b, op, edges->rows + 1, sizeof(int32_t), (void **)&plan->list_offset));
    GSA_TRY(gsa_cuda_take_array(b, op, edges->edge_total, sizeof(int32_t),
                                (void **)&plan->list_column));
    GSA_TRY(gsa_cuda_take_array(b, op, plan->sources + 1, sizeof(int32_t),
                                (void **)&plan->list_out_offset));
    GSA_TRY(gsa_cuda_take_array(b, op, edges->edge_total, sizeof(int32_t),
                                (void **)&plan->list_out_column));
    GSA_TRY(
        gsa_cuda_take_array(b, op, edges->edge_total, sizeof(int32_t), (void **)&plan->out_edge));
    return fill_lists(b, op, edges, plan);
}

gsa_status gsa_cuda_plan_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                               const gsa_cuda_plan **plan)
{
    GSA_TRY(gsa_cuda_plan_of(b, op, edges, 1, plan));
    gsa_cuda_plan **const slot = slot_for(b, edges);
    if ((*slot)->out_edge) return GSA_OK;
    const gsa_status status = make_lists(b, op, edges, *slot);
    if (status != GSA_OK) release_plan(b, slot);
    return status;
}

/* ---- windows ------------------------------------------------------------------------------- */
static gsa_status list_and_make(gsa_backend *b, const char *op, const gsa_edges *edges,
                                gsa_cuda_plan *plan, int by_source, sort_room *room)
{
    const int64_t total = edges->edge_total;
    expand_job job = {};
    GSA_TRY(make_run_first(b, op, edges, plan));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->key, (void **)&room->key));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->value, (void **)&room->value));
    GSA_TRY(gsa_cuda_take_array(b, op, total, sizeof *room->record, (void **)&room->record));
    job.key = room->key, job.value = room->value, job.record = room->record;
    GSA_TRY(run_expand(b, op, edges, plan, &job));
    const gsa_window_edges listed = { by_source,
                                      total,
                                      by_source ? plan->sources : edges->rows,
                                      by_source ? edges->rows : plan->sources,
                                      room->key,
                                      room->record,
                                      room->value };
    return gsa_cuda_make_windows(b, op, &listed, by_source ? &plan->out_windows : &plan->windows);
}

/* Columns are 32-bit numbers: without windows where sources or rows are not. */
static gsa_status make_windows(gsa_backend *b, const char *op, const gsa_edges *edges,
                               gsa_cuda_plan *plan, int by_source)
{
    sort_room room = {};
    place_sources(edges, plan);
    if (edges->edge_total == 0 || plan->sources >= INT32_MAX || edges->rows >= INT32_MAX)
        return GSA_OK;
    const gsa_status status = list_and_make(b, op, edges, plan, by_source, &room);
    give_room(b, &room);
    return status;
}

gsa_status gsa_cuda_plan_windows(gsa_backend *b, const char *op, const gsa_edges *edges,
                                 int transpose, const gsa_cuda_plan **plan)
{
    gsa_status status = GSA_OK;
    GSA_TRY(gsa_cuda_plan_of(b, op, edges, transpose, plan));
    gsa_cuda_plan **const slot = slot_for(b, edges), *const mine = *slot;
    if (!mine->has_windows) status = make_windows(b, op, edges, mine, 0);
    if (status == GSA_OK) mine->has_windows = 1;
    if (status == GSA_OK && transpose && !mine->has_out_windows)
        status = make_windows(b, op, edges, mine, 1);
    if (status != GSA_OK) release_plan(b, slot);
    else mine->has_out_windows |= transpose;
    return status;
}
