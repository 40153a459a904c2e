/* plan.cu - plans are built by a handful of kernels, a scan and a sort, all queued: nothing is read
 * back. */
#include "kernels/cuda/plan.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"
#include <string.h>

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
    const int64_t wanted = min(edges->edge_total / tuning->hub_chunks, (int64_t)INT32_MAX);
    cut->length = max((int32_t)wanted, tuning->hub_edges);
    if (!is_told(&edges->content)) most = edges->edge_total;
    if (most <= cut->length || rows == 0) return;
    cut->bound = 2 * (edges->edge_total / cut->length) + 1;
    room.cut(cut->piece, rows + 1);
    room.cut(cut->owner, cut->bound);
}

/* offset: the edges' own, or that of the out-edges. */
static gsa_status fill_cut(gsa_backend *b, const char *op, const int64_t *offset, int64_t rows,
                           const gsa_cuda_cut &cut)
{
    if (cut.piece == NULL) return GSA_OK;
    const auto count_pieces = [=] __device__(int64_t row) {
        const int64_t degree = row < rows ? __ldg(offset + row + 1) - __ldg(offset + row) : 0;
        cut.piece[row] = degree > cut.length ? (degree + cut.length - 1) / cut.length : 0;
    };
    const auto note_owner = [=] __device__(int64_t row) {
        for (int64_t p = __ldg(cut.piece + row); p < __ldg(cut.piece + row + 1); p++)
            cut.owner[p] = (int32_t)row;
    };
    GSA_TRY(gsa_cuda_each(b, op, rows + 1, count_pieces));
    GSA_TRY(gsa_cuda_scan(b, cut.piece, rows + 1));
    return gsa_cuda_each(b, op, rows, note_owner);
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
    const int64_t *const run_offset = edges->run_offset, *const edge_offset = edges->edge_offset;
    /* a warp a row: its runs one after another, 32 edges at a time */
    const auto expand = [=, entries = plan->entries, runs = edges->runs] __device__(int64_t row,
                                                                                    int lane) {
        const int64_t last = __ldg(run_offset + row + 1);
        gsa_cuda_entry *entry = entries + __ldg(edge_offset + row);
        for (int64_t r = __ldg(run_offset + row); r < last; r++) {
            const gsa_run run = runs[r];
            for (int32_t n = lane; n < run.count; n += GSA_WARP)
                entry[n] =
                    gsa_cuda_entry{ run.first + n * run.step,
                                    (uint32_t)(run.label + n * run.label_step) * GSA_MAX_KINDS +
                                        (uint32_t)run.kind };
            entry += run.count;
        }
    };
    if (edges->edge_total > 0) GSA_TRY(gsa_cuda_each_warp(b, op, edges->rows, expand));
    return fill_cut(b, op, edge_offset, edges->rows, plan->in);
}

/* Which of the sources of all kinds an edge comes from. */
GSA_DEVICE uint32_t source_of(const gsa_cuda_entry &entry, const int64_t *part_first)
{
    return (uint32_t)(part_first[entry.tag % GSA_MAX_KINDS] + entry.source);
}

/* By source: a stable sort, so that the rows of a source stay in their order. */
static gsa_status make_out(gsa_backend *b, const char *op, const gsa_edges *edges,
                           gsa_cuda_plan *plan, void **kept)
{
    const int64_t total = edges->edge_total, sources = plan->sources;
    uint32_t *key, *sorted;
    int64_t *place, *order; /* row << 32 | k of each edge, then by source */
    int64_t first[GSA_MAX_KINDS];
    memcpy(first, plan->part_first, sizeof first);
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
        room.cut(place, total);
        room.cut(order, total);
    }));
    const auto note = [=, entries = plan->entries,
                       offset = edges->edge_offset] __device__(int64_t row, int lane) {
        const int64_t from = __ldg(offset + row), to = __ldg(offset + row + 1);
        for (int64_t e = from + lane; e < to; e += GSA_WARP)
            key[e] = source_of(entries[e], first), place[e] = row << 32 | (e - from);
    };
    const auto put = [=, entries = plan->entries, offset = edges->edge_offset, out = plan->out,
                      out_offset = plan->out_offset] __device__(int64_t i) {
        if (i <= sources) out_offset[i] = gsa_first_at_least(sorted, total, (uint32_t)i);
        if (i >= total) return;
        const int64_t row = __ldg(order + i) >> 32, k = __ldg(order + i) & UINT32_MAX;
        const uint32_t tag = entries[__ldg(offset + row) + k].tag;
        out[i] = gsa_transposed{ (int32_t)row, (int32_t)k, (int32_t)(tag / GSA_MAX_KINDS) };
    };
    if (total > 0) {
        GSA_TRY(gsa_cuda_each_warp(b, op, edges->rows, note));
        GSA_TRY(gsa_cuda_sort(b, sorted, key, order, place, total, gsa_cuda_bits(sources)));
    }
    GSA_TRY(gsa_cuda_each(b, op, max(sources + 1, total), put));
    return fill_cut(b, op, plan->out_offset, sources, plan->out_cut);
}

static gsa_status make_lists(gsa_backend *b, const char *op, const gsa_edges *edges,
                             gsa_cuda_plan *plan, void **kept)
{
    const int64_t total = edges->edge_total, rows = edges->rows, sources = plan->sources;
    int64_t first[GSA_MAX_KINDS];
    memcpy(first, plan->part_first, sizeof first);
    GSA_TRY(gsa_cuda_lay(
        b, op,
        [&, own = &plan->lists](gsa_cuda_room &room) {
            room.cut(own->offset, rows + 1), room.cut(own->out_offset, sources + 1);
            room.cut(own->column, total), room.cut(own->out_column, total);
            room.cut(own->out_edge, total);
        },
        kept));
    const auto narrow = [=, own = plan->lists, entries = plan->entries, out = plan->out,
                         out_offset = plan->out_offset,
                         offset = edges->edge_offset] __device__(int64_t i) {
        if (i <= rows) own.offset[i] = (int32_t)offset[i];
        if (i <= sources) own.out_offset[i] = (int32_t)out_offset[i];
        if (i >= total) return;
        own.column[i] = (int32_t)source_of(entries[i], first);
        own.out_column[i] = out[i].row;
        own.out_edge[i] = (int32_t)(__ldg(offset + out[i].row) + out[i].k);
    };
    return gsa_cuda_each(b, op, max(max(rows, sources) + 1, total), narrow);
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
    for (gsa_cuda_plan *&plan : s->plans)
        if (is_plan_of(plan, edges)) return &plan;
    for (gsa_cuda_plan *&plan : s->plans) {
        if (plan && is_told(&plan->edges.content) && plan->used + GSA_CUDA_ASKED < s->plan_clock)
            release_plan(b, &plan);
        if (*oldest && (!plan || plan->used < (*oldest)->used)) oldest = &plan;
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
