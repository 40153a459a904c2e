/* plan.cu - plans are built by a handful of kernels, a scan and a sort, all queued: nothing is read
 * back. */
#include "kernels/cuda/plan.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"

/* ---- kernels ------------------------------------------------------------------------------- */
typedef struct expand_job {
    const gsa_run *runs;
    const int64_t *run_offset, *edge_offset;
    int64_t rows;
    gsa_cuda_entry *entries; /* or NULL */
    uint32_t *key;           /* or NULL: among the sources of all kinds */
    int64_t *number;         /* or NULL, with the next: 0, 1, 2, ... */
    gsa_transposed *record;
    int64_t part_first[GSA_MAX_KINDS];
} expand_job;

/* A warp a row: its runs one after another, 32 edges at a time. */
static __global__ void __launch_bounds__(GSA_THREADS) expand_rows(GSA_ARGUMENT(expand_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    if (row >= job.rows) return;
    const int64_t first = __ldg(job.edge_offset + row), last = __ldg(job.run_offset + row + 1);
    int64_t before = first;
    for (int64_t r = __ldg(job.run_offset + row); r < last; r++) {
        const gsa_run run = job.runs[r];
        for (int32_t i = threadIdx.x % GSA_WARP; i < run.count; i += GSA_WARP) {
            const int64_t e = before + i;
            const int32_t source = run.first + i * run.step, label = run.label + i * run.label_step;
            if (job.entries)
                job.entries[e] =
                    gsa_cuda_entry{ source, (uint32_t)label * GSA_MAX_KINDS + (uint32_t)run.kind };
            if (job.key) job.key[e] = (uint32_t)(job.part_first[run.kind] + source);
            if (job.number) job.number[e] = e;
            if (job.record)
                job.record[e] = gsa_transposed{ (int32_t)row, (int32_t)(e - first), label };
        }
        before += run.count;
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

/* Out-edges in the order of the sort, and where each source's begin. */
static __global__ void order_edges(gsa_transposed *out, int64_t *offset,
                                   const gsa_transposed *record, const int64_t *order,
                                   const uint32_t *sorted, int64_t edges, int64_t sources)
{
    const int64_t i = gsa_thread();
    if (i < edges) out[i] = record[__ldg(order + i)];
    if (i <= sources) offset[i] = gsa_first_at_least(sorted, edges, (uint32_t)i);
}

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

#if defined(GSA_CHECKED)
/* On the host, what plans are made of: this build is not for speed. */
static gsa_status check_edges(gsa_backend *b, const char *op, const gsa_edges *edges)
{
    const int64_t offsets = 8 * (edges->rows + 1),
                  runs = (int64_t)sizeof(gsa_run) * edges->run_total;
    gsa_edges host = *edges;
    char *copy = (char *)gsa_alloc_zero(b->system, (size_t)(2 * offsets + runs), 1);
    if (copy == NULL) return gsa_out_of_memory(&b->error, op, 2 * offsets + runs);
    host.run_offset = (int64_t *)(void *)copy, host.edge_offset = host.run_offset + edges->rows + 1;
    host.runs = (gsa_run *)(void *)(copy + 2 * offsets);
    host.row_example = host.row_local = NULL, host.block_offset = NULL;
    gsa_status status = b->download(b, copy, edges->run_offset, offsets);
    if (status == GSA_OK) status = b->download(b, copy + offsets, edges->edge_offset, offsets);
    if (status == GSA_OK) status = b->download(b, copy + 2 * offsets, edges->runs, runs);
    if (status == GSA_OK) status = gsa_edges_check(&host, op, &b->error);
    gsa_release(b->system, copy);
    return status;
}
#else
static gsa_status check_edges(gsa_backend *, const char *, const gsa_edges *)
{
    return GSA_OK;
}
#endif

/* ---- building ------------------------------------------------------------------------------ */
static int is_told(const gsa_content *content)
{
    return content->word[0] != 0 || content->word[1] != 0;
}

/* Rows are cut where any can be long enough; the length grows with the edges, so that the pieces
 * stay few. A function of sizes alone: the order of sums is fixed. most: edges of the longest row,
 * or more. */
static void lay_cut(gsa_backend *b, gsa_cuda_room &room, const gsa_edges *edges, int64_t rows,
                    int64_t most, gsa_cuda_cut *cut)
{
    const gsa_cuda_tuning *tuning = gsa_cuda_of(b)->tuning;
    const int64_t wanted = edges->edge_total / tuning->hub_chunks;
    cut->length = (int32_t)(wanted < tuning->hub_edges ? tuning->hub_edges
                            : wanted < INT32_MAX       ? wanted
                                                       : INT32_MAX);
    if (!is_told(&edges->content)) most = edges->edge_total;
    if (most <= cut->length || rows == 0) return;
    cut->bound = 2 * (edges->edge_total / cut->length) + 1;
    room.cut(cut->piece, rows + 1);
    room.cut(cut->owner, cut->bound);
}

static gsa_status fill_cut(gsa_backend *b, const char *op, const int64_t *offset, int64_t rows,
                           const gsa_cuda_cut *cut)
{
    if (cut->piece == NULL) return GSA_OK;
    GSA_TRY(GSA_EACH(b, op, rows + 1, count_pieces, cut->piece, offset, cut->length, rows));
    GSA_TRY(gsa_cuda_scan(b, cut->piece, rows + 1));
    return GSA_EACH(b, op, rows, note_owners, cut->owner, cut->piece, rows);
}

static gsa_status expand(gsa_backend *b, const char *op, const gsa_cuda_plan *plan,
                         gsa_cuda_entry *entries, uint32_t *key, int64_t *number,
                         gsa_transposed *record)
{
    const gsa_edges *edges = &plan->edges;
    expand_job job = { edges->runs,
                       edges->run_offset,
                       edges->edge_offset,
                       edges->rows,
                       entries,
                       key,
                       number,
                       record,
                       {} };
    for (int k = 0; k < GSA_MAX_KINDS; k++) job.part_first[k] = plan->part_first[k];
    return edges->edge_total > 0 ? GSA_WARPS(b, op, edges->rows, expand_rows, job) : GSA_OK;
}

static gsa_status make_in(gsa_backend *b, const char *op, const gsa_edges *edges,
                          gsa_cuda_plan *plan, void **kept)
{
    GSA_TRY(check_edges(b, op, edges));
    if (edges->labels > INT32_MAX / GSA_MAX_KINDS)
        return gsa_fail(&b->error, GSA_ERR_LIMIT, "%s: %d labels, at most %d have entries", op,
                        (int)edges->labels, (int)(INT32_MAX / GSA_MAX_KINDS));
    for (int k = 0; k < edges->kinds; k++)
        plan->part_first[k] = plan->sources, plan->sources += edges->part_rows[k];
    GSA_TRY(gsa_cuda_lay(
        b, op,
        [&](gsa_cuda_room &room) {
            room.cut(plan->entries, edges->edge_total);
            lay_cut(b, room, edges, edges->rows, edges->content.most_in, &plan->in);
        },
        kept));
    GSA_TRY(expand(b, op, plan, plan->entries, NULL, NULL, NULL));
    return fill_cut(b, op, edges->edge_offset, edges->rows, &plan->in);
}

/* By source: a stable sort, so that the rows of a source stay in their order. */
static gsa_status make_out(gsa_backend *b, const char *op, const gsa_edges *edges,
                           gsa_cuda_plan *plan, void **kept)
{
    const int64_t total = edges->edge_total, sources = plan->sources;
    uint32_t *key, *sorted;
    int64_t *number, *order;
    gsa_transposed *record;
    if (sources >= INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "%s: %lld source rows over the kinds, at most 2147483646 have a transpose",
                        op, (long long)sources);
    GSA_TRY(gsa_cuda_lay(
        b, op,
        [&](gsa_cuda_room &room) {
            room.cut(plan->out_offset, sources + 1);
            room.cut(plan->out, total);
            lay_cut(b, room, edges, sources, edges->content.most_out, &plan->out_cut);
        },
        kept));
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(key, total);
        room.cut(sorted, total);
        room.cut(number, total);
        room.cut(order, total);
        room.cut(record, total);
    }));
    GSA_TRY(expand(b, op, plan, NULL, key, number, record));
    if (total > 0)
        GSA_TRY(gsa_cuda_sort(b, sorted, key, order, number, total, gsa_cuda_bits(sources)));
    GSA_TRY(GSA_EACH(b, op, sources + 1 > total ? sources + 1 : total, order_edges, plan->out,
                     plan->out_offset, record, order, sorted, total, sources));
    return fill_cut(b, op, plan->out_offset, sources, &plan->out_cut);
}

static gsa_status make_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                             gsa_cuda_plan *plan, void **kept)
{
    const int64_t total = edges->edge_total, rows = edges->rows, sources = plan->sources;
    GSA_TRY(gsa_cuda_lay(
        b, op,
        [&](gsa_cuda_room &room) {
            room.cut(plan->list_offset, rows + 1);
            room.cut(plan->list_column, total);
            room.cut(plan->list_out_offset, sources + 1);
            room.cut(plan->list_out_column, total);
            room.cut(plan->out_edge, total);
        },
        kept));
    GSA_TRY(
        GSA_EACH(b, op, rows + 1, narrow_offsets, plan->list_offset, edges->edge_offset, rows + 1));
    GSA_TRY(GSA_EACH(b, op, sources + 1, narrow_offsets, plan->list_out_offset, plan->out_offset,
                     sources + 1));
    GSA_TRY(expand(b, op, plan, NULL, (uint32_t *)plan->list_column, NULL, NULL));
    return GSA_EACH(b, op, total, list_out_edges, plan->list_out_column, plan->out_edge, plan->out,
                    edges->edge_offset, total);
}

/* ---- the table of plans -------------------------------------------------------------------- */
static void release_plan(gsa_backend *b, gsa_cuda_plan **slot)
{
    gsa_cuda_plan *plan = *slot;
    if (plan == NULL) return;
    *slot = NULL;
    for (void *at : plan->kept) gsa_cuda_give(b, at);
    gsa_release(b->system, plan);
}

void gsa_cuda_forget_plans(gsa_backend *b)
{
    for (int i = 0; i < GSA_CUDA_PLANS; i++) release_plan(b, &gsa_cuda_of(b)->plans[i]);
}

void gsa_cuda_touch_plans(gsa_backend *b, const void *at, int64_t bytes)
{
    const gsa_cuda_span touched = gsa_cuda_span_of(at, (bytes + 3) / 4);
    for (int i = 0; i < GSA_CUDA_PLANS; i++) {
        gsa_cuda_plan **plan = &gsa_cuda_of(b)->plans[i];
        if (*plan == NULL || is_told(&(*plan)->edges.content)) continue;
        const gsa_edges *edges = &(*plan)->edges;
        if (gsa_cuda_meet(touched, gsa_cuda_span_of(edges->run_offset, 2 * (edges->rows + 1))) ||
            gsa_cuda_meet(touched, gsa_cuda_span_of(edges->edge_offset, 2 * (edges->rows + 1))) ||
            gsa_cuda_meet(touched, gsa_cuda_span_of(edges->runs, edges->run_total *
                                                                     (int64_t)sizeof(gsa_run) / 4)))
            release_plan(b, plan);
    }
}

static int is_plan_of(const gsa_cuda_plan *plan, const gsa_edges *edges)
{
    const gsa_edges *own = plan ? &plan->edges : NULL;
    if (own == NULL || own->rows != edges->rows || own->run_total != edges->run_total ||
        own->edge_total != edges->edge_total)
        return 0;
    if (is_told(&edges->content) || is_told(&own->content))
        return own->content.word[0] == edges->content.word[0] &&
               own->content.word[1] == edges->content.word[1];
    return own->run_offset == edges->run_offset && own->edge_offset == edges->edge_offset &&
           own->runs == edges->runs;
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
        if (plan && is_told(&plan->edges.content) && plan->used + GSA_CUDA_ASKED < s->plan_clock)
            release_plan(b, &s->plans[i]);
    }
    for (int i = 0; i < GSA_CUDA_PLANS; i++) {
        if (s->plans[i] == NULL) return &s->plans[i];
        if (s->plans[i]->used < (*oldest)->used) oldest = &s->plans[i];
    }
    release_plan(b, oldest);
    return oldest;
}

/* The parts that are wanted and not there. */
static gsa_status complete(gsa_backend *b, const char *op, const gsa_edges *edges, int wanted,
                           gsa_cuda_plan *plan)
{
    static gsa_status (*const make[GSA_PLAN_PARTS])(gsa_backend *, const char *, const gsa_edges *,
                                                    gsa_cuda_plan *,
                                                    void **) = { make_in, make_out, make_lists };
    for (int part = 0; part < GSA_PLAN_PARTS; part++) {
        if (!(wanted & ~plan->has & 1 << part)) continue;
        GSA_TRY(make[part](b, op, edges, plan, &plan->kept[part]));
        plan->has |= 1 << part;
    }
    return GSA_OK;
}

gsa_status gsa_cuda_plan_of(gsa_backend *b, const char *op, const gsa_edges *edges, int wanted,
                            const gsa_cuda_plan **plan)
{
    gsa_cuda_settle_capture(b);
    gsa_cuda_plan **slot = slot_for(b, edges);
    if (*slot == NULL) {
        *slot = (gsa_cuda_plan *)gsa_alloc_zero(b->system, 1, sizeof **slot);
        if (*slot == NULL) return gsa_out_of_memory(&b->error, op, (int64_t)sizeof **slot);
    }
    (*slot)->edges = *edges; /* equal content, but perhaps elsewhere by now */
    const gsa_status status = complete(b, op, edges, wanted | GSA_PLAN_IN, *slot);
    if (status != GSA_OK) {
        release_plan(b, slot);
        return status;
    }
    (*slot)->used = ++gsa_cuda_of(b)->plan_clock;
    *plan = *slot;
    return GSA_OK;
}
