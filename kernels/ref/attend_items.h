/* attend_items.h - how attention's backward pass is cut into items, for ref and for the levels of
 * cpu, which differ in what they do with a row.
 *
 * An item is a chunk of examples and a group of heads: sources of different examples are different
 * rows of dk and dv, heads are different columns, so items never meet. Where these are too few for
 * the threads, large examples come alone, their parts side by side (attend_turns.h). Label
 * gradients are shared by all: each item has its own partial sums. */
#ifndef GSA_REF_ATTEND_ITEMS_H
#define GSA_REF_ATTEND_ITEMS_H
#include "kernels/ref/attend_turns.h"

enum {
    REF_BACK_ITEMS = 32,
    REF_HEAD_ITEMS = 16, /* from so many on heads stay together */
    REF_FEW_ITEMS =
        4, /* fewer are cut by single heads, where label sums need a cut by sizes alone */
    REF_PARTIAL_LIMIT = 1 << 22, /* elements of all partials, unless one item alone needs more */
};

typedef struct ref_back_job {
    ref_attend t;
    ref_rows_heads *rows_heads;
    int64_t own_room, room; /* numbers of a thread's room: rows_heads' own, and all */
    real *rooms;
    int64_t chunk, chunks; /* examples of an item; items along examples */
    int32_t group, groups; /* heads of an item; items along heads */
    const ref_looks *looks;
    ref_cut *cuts;   /* [looks->count] */
    int64_t numbers; /* of the sums of parts and pieces of one example */
    int alone;       /* examples that are cut come one by one, after the others, */
    real *sums;      /* with these; otherwise they are in the rooms */
    real *partial;   /* [chunks (+ REF_PARTS where examples come alone), groups][labels, dim] then
                        [labels, group], or NULL */
    int64_t partial_r, stride; /* elements of the first part, of both */
} ref_back_job;

/* Gradients that hold nothing yet start at zeros where an item is about to add to them, so that it
 * finds them in a cache: piece `piece` of `pieces` of each of an example's planes. */
static inline void ref_clear_example(const ref_attend *t, int64_t example, int32_t first,
                                     int32_t last, int64_t piece, int64_t pieces)
{
    const gsa_edges *edges = t->edges;
    for (int64_t r = edges->block_offset[example];
         r < edges->block_offset[example + 1] && t->args->dq && t->args->set_dq; r++) {
        const gsa_rows rows = edges->blocks[r];
        ref_clear(t, t->args->dq, rows.first + rows.count * piece / pieces,
                  rows.first + rows.count * (piece + 1) / pieces, first, last);
    }
    for (int k = 0; k < edges->kinds && edges->source_scale > 0; k++) {
        const gsa_part *part = &t->args->parts[k];
        if (edges->part_rows[k] == 0) continue;
        const int64_t start = edges->source_offset[k][example] * edges->source_scale,
                      count = edges->source_offset[k][example + 1] * edges->source_scale - start,
                      from = start + count * piece / pieces,
                      to = start + count * (piece + 1) / pieces;
        if (t->args->set_dk >> k & 1 && part->dk) ref_clear(t, part->dk, from, to, first, last);
        if (t->args->set_dv >> k & 1 && part->dv) ref_clear(t, part->dv, from, to, first, last);
    }
}

/* The same of dk and dv as a whole: where there is no item, or where it is not told which sources
 * are an example's. */
static inline void ref_clear_sources(const ref_attend *t)
{
    for (int k = 0; k < t->edges->kinds; k++) {
        const gsa_part *part = &t->args->parts[k];
        const int64_t rows = t->edges->part_rows[k];
        if (rows == 0) continue;
        if (t->args->set_dk >> k & 1 && part->dk) ref_clear(t, part->dk, 0, rows, 0, t->heads);
        if (t->args->set_dv >> k & 1 && part->dv) ref_clear(t, part->dv, 0, rows, 0, t->heads);
    }
}

/* The cut of an example; NULL: it is whole. */
static inline const ref_cut *ref_find_cut(const ref_back_job *job, int64_t example)
{
    int64_t first = 0, end = job->looks->count;
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        if (job->looks->at[middle].example < example) first = middle + 1;
        else end = middle;
    }
    if (first == job->looks->count || job->looks->at[first].example != example) return NULL;
    return job->cuts[first].of.parts > 1 || job->cuts[first].of.hubs > 0 ? &job->cuts[first] : NULL;
}

typedef struct ref_item { /* at work */
    const ref_back_job *job;
    int64_t sums; /* whose partial sums */
} ref_item;

static inline ref_share ref_share_item(const ref_back_job *job, int64_t group, int64_t item,
                                       void *room)
{
    const int32_t first = (int32_t)group * job->group;
    ref_share x = { .t = &job->t, .rows_heads = job->rows_heads, .first = first, .room = room };
    x.last = (int32_t)ref_smaller((int64_t)first + job->group, job->t.heads);
    x.sums = (ref_label_sums){ .first_head = first, .group = job->group };
    real *partial = job->partial + item * job->stride;
    if (job->partial && job->t.args->dlabel_vectors) x.sums.dr = partial;
    if (job->partial && job->t.args->dlabel_bias) x.sums.db = partial + job->partial_r;
    return x;
}

/* An example in an item adds to the item's label sums, */
static inline ref_share ref_share_inside(const void *context, int64_t group, int64_t part,
                                         void *room)
{
    const ref_item *item = context;
    (void)part;
    return ref_share_item(item->job, group, item->sums, room);
}

/* one that comes alone to those of its part. */
static inline ref_share ref_share_alone(const void *context, int64_t group, int64_t part,
                                        void *room)
{
    const ref_back_job *job = context;
    return ref_share_item(job, group, (job->chunks + part) * job->groups + group, room);
}

static inline void ref_back_item(void *context, void *room, int64_t item)
{
    const ref_back_job *job = context;
    const ref_attend *t = &job->t;
    const gsa_edges *e = t->edges;
    const int64_t first = item / job->groups * job->chunk,
                  last = ref_smaller(first + job->chunk, e->examples);
    const ref_share x = ref_share_item(job, item % job->groups, item, room);
    const ref_item self = { job, item };
    real *own = (real *)room + job->own_room;
    if (job->partial)
        memset(job->partial + item * job->stride, 0, sizeof(real) * (size_t)job->stride);
    for (int64_t i = first; i < last; i++) {
        const ref_cut *cut = ref_find_cut(job, i);
        if (cut && job->alone) continue;
        ref_clear_example(t, i, x.first, x.last, 0, 1);
        if (cut)
            ref_run_example(&(ref_example){ .cut = cut,
                                            .job = &self,
                                            .share_of = ref_share_inside,
                                            .group = item % job->groups,
                                            .groups = 1,
                                            .room = room,
                                            .own = own,
                                            .dq = own + cut->slots * cut->numbers });
        for (int64_t r = e->block_offset[i]; r < e->block_offset[i + 1] && !cut; r++)
            job->rows_heads(t, e->blocks[r], x.first, x.last, &x.sums, room);
    }
}

static inline void ref_clear_item(void *context, void *room, int64_t item)
{
    const ref_example *x = context;
    const ref_share share = x->share_of(x->job, item % x->groups, 0, room);
    ref_clear_example(share.t, x->cut->of.example, share.first, share.last, item / x->groups,
                      REF_PARTS);
}

static inline void ref_back_alone(gsa_backend *b, const ref_back_job *job, const ref_cut *cut)
{
    ref_example x = { .cut = cut,
                      .job = job,
                      .share_of = ref_share_alone,
                      .team = b->team,
                      .groups = job->groups,
                      .room = job->rooms,
                      .room_bytes = job->room * (int64_t)sizeof(real),
                      .own = job->sums,
                      .dq = job->sums + cut->slots * cut->numbers };
    const gsa_attend_args *args = job->t.args;
    if (args->set_dq || args->set_dk || args->set_dv) ref_each(&x, REF_PARTS, ref_clear_item);
    ref_run_example(&x);
}

/* ---- the cut ------------------------------------------------------------------------------- */

/* Heads of an item, of `groups` items along heads: by fours, which share the draws of dropout;
 * without dropout fewer where fours are too few for `wanted` items. */
static inline int32_t ref_back_group(const ref_back_job *job, int64_t groups, int64_t wanted)
{
    const int64_t quads = ref_items(job->t.heads, 4),
                  few = ref_items(job->t.heads * job->chunks, wanted);
    const int64_t group = 4 * ref_items(quads, groups < 1 ? 1 : groups);
    if (job->t.drop.on || job->chunks * ref_items(job->t.heads, group) >= wanted)
        return (int32_t)group;
    return (int32_t)(few < 1 ? 1 : ref_smaller(few, group));
}

/* Looks at the examples that are large enough, where `looks` were for others; 0 without memory. */
static inline int ref_look_all(gsa_backend *b, const ref_attend *t, ref_looks *looks)
{
    int64_t count = 0;
    if (t->width <= looks->width) return 1;
    for (int64_t e = 0; e < t->edges->examples; e++) count += ref_may_cut(t, e, t->width);
    gsa_release(b->system, looks->at);
    *looks =
        (ref_looks){ .at = count ? gsa_alloc(b->system, (size_t)count, sizeof *looks->at) : NULL };
    if (count > 0 && !looks->at) return 0;
    for (int64_t e = 0; e < t->edges->examples; e++)
        if (ref_may_cut(t, e, t->width)) ref_look_at(t->edges, e, &looks->at[looks->count++]);
    looks->width = t->width;
    return 1;
}

static inline gsa_status ref_find_cuts(gsa_backend *b, ref_back_job *job, ref_looks *looks)
{
    job->looks = looks;
    if (!ref_look_all(b, &job->t, looks))
        return gsa_out_of_memory(&b->error, "attend_backward", (int64_t)sizeof(ref_look));
    if (looks->count == 0) return GSA_OK;
    job->cuts = gsa_alloc(b->system, (size_t)looks->count, sizeof *job->cuts);
    if (!job->cuts)
        return gsa_out_of_memory(&b->error, "attend_backward",
                                 looks->count * (int64_t)sizeof *job->cuts);
    for (int64_t i = 0; i < looks->count; i++) {
        const ref_cut *cut = &job->cuts[i];
        ref_cut_of(&job->t, &looks->at[i], &job->cuts[i]);
        const int64_t numbers =
            cut->slots * cut->numbers + (cut->of.hubs ? REF_WIDE * job->t.width : 0);
        job->numbers = numbers > job->numbers ? numbers : job->numbers;
    }
    return GSA_OK;
}

/* Rooms, partial sums of labels, and sums of parts: in each room, or for one example. */
static inline gsa_status ref_back_memory(gsa_backend *b, ref_back_job *job)
{
    /* with sums of labels not by the number of threads: their order would depend on it */
    const int64_t most_rooms = job->stride > 0 ? REF_BACK_ITEMS : b->threads;
    if (job->numbers * most_rooms > REF_CUT_NUMBERS) job->alone = 1;
    job->own_room = job->room;
    if (!job->alone) job->room += (job->numbers + 15) / 16 * 16, job->numbers = 0;
    const int64_t rooms = b->threads * job->room,
                  items = job->chunks + (job->alone ? REF_PARTS : 0),
                  partials = items * job->groups * job->stride;
    if (rooms + partials + job->numbers == 0) return GSA_OK;
    job->rooms =
        gsa_ref_scratch(b, "attend_backward", rooms + partials + job->numbers, sizeof(real));
    if (!job->rooms) return b->error.status;
    job->partial = partials ? job->rooms + rooms : NULL;
    job->sums = job->rooms + rooms + partials;
    return GSA_OK;
}

/* Cuts examples, and heads where these alone make too few items, for memory gives whole rows three
 * times as fast as pieces of rows. Label sums are added item by item: with them the cut is a
 * function of sizes alone, and there are fewer items where label tables are so large that their
 * partials would be. Without them the cut changes no bits, and heads are cut by the number of
 * threads. Heads are cut also where a cache does not keep what all of them read from afar. */
static inline gsa_status ref_back_cut(gsa_backend *b, ref_back_job *job, ref_looks *looks)
{
    const gsa_attend_args *args = job->t.args;
    const int64_t labels = args->edges->labels, examples = args->edges->examples,
                  quads = ref_items(job->t.heads, 4);
    const int wants_labels = args->dlabel_vectors != NULL || args->dlabel_bias != NULL;
    int64_t most = REF_BACK_ITEMS;
    const gsa_status status = ref_find_cuts(b, job, looks);
    if (status != GSA_OK) return status;
    if (wants_labels && labels > 0)
        most = REF_PARTIAL_LIMIT / (labels * (job->t.dim + job->t.heads) + 1);
    most = most < 1 ? 1 : ref_smaller(most, REF_BACK_ITEMS);
    job->chunk = ref_items(examples, most);
    job->chunks = ref_items(examples, job->chunk);
    const int64_t wanted = wants_labels     ? REF_HEAD_ITEMS
                           : b->threads > 1 ? (int64_t)b->threads * 4
                                            : 1;
    const int64_t groups = ref_smaller(ref_smaller(most, wanted) / job->chunks, quads);
    job->group =
        ref_back_group(job, groups, ref_smaller(most, wants_labels ? REF_FEW_ITEMS : b->threads));
    const int32_t together =
        ref_heads_together(&job->t, looks, wants_labels ? most / job->chunks : job->t.heads);
    if (job->group > together) job->group = together;
    job->groups = (int32_t)ref_items(job->t.heads, job->group);
    job->partial_r = args->dlabel_vectors ? labels * job->t.dim : 0;
    job->stride = job->partial_r + (args->dlabel_bias ? labels * job->group : 0);
    const int items_few =
        job->chunks * job->groups < (wants_labels ? REF_HEAD_ITEMS : 2 * b->threads);
    job->alone = wants_labels ? items_few && (job->chunks + REF_PARTS) * job->groups <= most
                              : items_few && b->threads > 1;
    return ref_back_memory(b, job);
}

static inline void ref_add_label_sums(const ref_back_job *job)
{
    const ref_attend *t = &job->t;
    const int64_t chunks = job->chunks + (job->alone ? REF_PARTS : 0);
    for (int64_t item = 0; item < chunks * job->groups; item++) {
        const real *partial = job->partial + item * job->stride;
        const int32_t first = (int32_t)(item % job->groups) * job->group;
        const int64_t width = ref_smaller(job->group, t->heads - first);
        if (t->args->dlabel_vectors) ref_axpy(t->args->dlabel_vectors, 1, partial, job->partial_r);
        if (t->args->dlabel_bias)
            for (int64_t l = 0; l < t->edges->labels; l++)
                ref_axpy((real *)t->args->dlabel_bias + l * t->heads + first, 1,
                         partial + job->partial_r + l * job->group, width);
    }
}

static inline void ref_back_run(gsa_backend *b, ref_back_job *job)
{
    const int64_t items = job->chunks * job->groups;
    gsa_team_run_in(b->team, items, ref_back_item, job, job->rooms,
                    job->room * (int64_t)sizeof(real));
    if (job->alone && job->partial)
        memset(job->partial + items * job->stride, 0,
               sizeof(real) * (size_t)(REF_PARTS * job->groups * job->stride));
    for (int64_t i = 0; i < job->looks->count && job->alone; i++) {
        const ref_cut *cut = ref_find_cut(job, job->looks->at[i].example);
        if (cut) ref_back_alone(b, job, cut);
    }
    if (job->partial) ref_add_label_sums(job);
}

/* The whole pass over the edges. `plan` is what rows_heads knows of them beforehand, `looks` are
 * those at them so far, zeros at first; each thread has a room of `room` numbers. */
static inline gsa_status ref_back(gsa_backend *b, const gsa_attend_args *args,
                                  ref_rows_heads *rows_heads, const void *plan, ref_looks *looks,
                                  int64_t room)
{
    gsa_status status = ref_attend_check(b, "attend_backward", args, 1);
    if (status != GSA_OK) return status;
    ref_back_job job = { .t = ref_attend_of(args), .rows_heads = rows_heads, .room = room };
    if (args->edges->rows == 0 || args->edges->source_scale == 0) ref_clear_sources(&job.t);
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    job.t.plan = plan;
    status = ref_back_cut(b, &job, looks);
    if (status == GSA_OK) ref_back_run(b, &job);
    gsa_release(b->system, job.cuts);
    return status;
}

#endif
