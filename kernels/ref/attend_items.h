/* attend_items.h - how attention's backward pass is cut into items, for ref and for the levels of
 * cpu, which differ in what they do with a row.
 *
 * An item is a chunk of examples and a group of heads: sources of different examples are different
 * rows of dk and dv, heads are different columns, so items never meet. Label gradients are shared
 * by all: each item has its own partial sums. */
#ifndef GSA_REF_ATTEND_ITEMS_H
#define GSA_REF_ATTEND_ITEMS_H
#include "kernels/ref/attend.h"

enum {
    REF_BACK_ITEMS = 32,
    REF_HEAD_ITEMS = 16, /* from so many on heads stay together */
    REF_FEW_ITEMS =
        4, /* fewer are cut by single heads, where label sums need a cut by sizes alone */
    REF_PARTIAL_LIMIT = 1 << 22, /* elements of all partials, unless one item alone needs more */
};

/* One item's place in the partial sums; NULL where the gradient is not wanted. */
typedef struct ref_label_sums {
    real *dr, *db;
    int32_t first_head, group;
} ref_label_sums;

/* Adds the gradients of the rows' heads first .. last-1; `room` is its thread's (team.h). */
typedef void ref_rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                            const ref_label_sums *sums, void *room);

typedef struct ref_back_job {
    ref_attend t;
    ref_rows_heads *rows_heads;
    int64_t room; /* numbers of a thread's room */
    real *rooms;
    int64_t chunk, chunks;     /* examples of an item; items along examples */
    int32_t group, groups;     /* heads of an item; items along heads */
    real *partial;             /* [chunks, groups][labels, dim] then [labels, group], or NULL */
    int64_t partial_r, stride; /* elements of the first part, of both */
} ref_back_job;

/* Heads first .. last-1 of rows from .. to-1 of a plane. */
static inline void ref_clear(const ref_attend *t, void *plane, int64_t from, int64_t to,
                             int32_t first, int32_t last)
{
    const size_t columns = (size_t)(last - first) * (size_t)t->dim;
    real *at = (real *)plane + from * t->width + (int64_t)first * t->dim;
    if ((int64_t)columns == t->width) memset(at, 0, sizeof(real) * columns * (size_t)(to - from));
    else
        for (int64_t row = from; row < to; row++, at += t->width)
            memset(at, 0, sizeof(real) * columns);
}

/* Gradients that hold nothing yet start at zeros where an item is about to add to them, so that it
 * finds them in a cache. */
static inline void ref_clear_item(const ref_back_job *job, int64_t example, int64_t end,
                                  int32_t first, int32_t last)
{
    const ref_attend *t = &job->t;
    const gsa_edges *edges = t->edges;
    for (int64_t r = edges->block_offset[example];
         r < edges->block_offset[end] && t->args->dq && t->args->set_dq; r++)
        ref_clear(t, t->args->dq, edges->blocks[r].first,
                  edges->blocks[r].first + edges->blocks[r].count, first, last);
    for (int k = 0; k < edges->kinds && edges->source_scale > 0; k++) {
        const gsa_part *part = &t->args->parts[k];
        if (edges->part_rows[k] == 0) continue;
        const int64_t from = edges->source_offset[k][example] * edges->source_scale;
        const int64_t to = edges->source_offset[k][end] * edges->source_scale;
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

static inline void ref_back_item(void *context, void *room, int64_t item)
{
    const ref_back_job *job = context;
    const ref_attend *t = &job->t;
    const int64_t first_example = item / job->groups * job->chunk;
    const int64_t last_example = ref_smaller(first_example + job->chunk, t->edges->examples);
    const int32_t first = (int32_t)(item % job->groups) * job->group;
    const int32_t last = (int32_t)ref_smaller((int64_t)first + job->group, t->heads);
    ref_label_sums sums = { .first_head = first, .group = job->group };
    if (job->partial) {
        real *partial = job->partial + item * job->stride;
        memset(partial, 0, sizeof(real) * (size_t)job->stride);
        if (t->args->dlabel_vectors) sums.dr = partial;
        if (t->args->dlabel_bias) sums.db = partial + job->partial_r;
    }
    ref_clear_item(job, first_example, last_example, first, last);
    for (int64_t r = t->edges->block_offset[first_example];
         r < t->edges->block_offset[last_example]; r++)
        job->rows_heads(t, t->edges->blocks[r], first, last, &sums, room);
}

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

/* Cuts examples, and heads where these alone make too few items, for memory gives whole rows three
 * times as fast as pieces of rows. Label sums are added item by item: with them the cut is a
 * function of sizes alone, and there are fewer items where label tables are so large that their
 * partials would be. Without them the cut changes no bits, and heads are cut by the number of
 * threads. */
static inline gsa_status ref_back_cut(gsa_backend *b, ref_back_job *job)
{
    const gsa_attend_args *args = job->t.args;
    const int64_t labels = args->edges->labels, examples = args->edges->examples,
                  quads = ref_items(job->t.heads, 4);
    const int wants_labels = args->dlabel_vectors != NULL || args->dlabel_bias != NULL;
    int64_t most = REF_BACK_ITEMS;
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
    job->groups = (int32_t)ref_items(job->t.heads, job->group);
    job->partial_r = args->dlabel_vectors ? labels * job->t.dim : 0;
    job->stride = job->partial_r + (args->dlabel_bias ? labels * job->group : 0);
    const int64_t rooms = b->threads * job->room,
                  partials = job->chunks * job->groups * job->stride;
    if (rooms + partials == 0) return GSA_OK;
    job->rooms = gsa_ref_scratch(b, "attend_backward", rooms + partials, sizeof(real));
    if (!job->rooms) return b->error.status;
    job->partial = partials ? job->rooms + rooms : NULL;
    return GSA_OK;
}

static inline void ref_add_label_sums(const ref_back_job *job)
{
    const ref_attend *t = &job->t;
    for (int64_t item = 0; item < job->chunks * job->groups; item++) {
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

/* The whole pass over the edges. `plan` is what rows_heads knows of them beforehand; each thread
 * has a room of `room` numbers. */
static inline gsa_status ref_back(gsa_backend *b, const gsa_attend_args *args,
                                  ref_rows_heads *rows_heads, const void *plan, int64_t room)
{
    gsa_status status = ref_attend_check(b, "attend_backward", args, 1);
    if (status != GSA_OK) return status;
    ref_back_job job = { .t = ref_attend_of(args), .rows_heads = rows_heads, .room = room };
    if (args->edges->rows == 0 || args->edges->source_scale == 0) ref_clear_sources(&job.t);
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    job.t.plan = plan;
    status = ref_back_cut(b, &job);
    if (status != GSA_OK) return status;
    gsa_team_run_in(b->team, job.chunks * job.groups, ref_back_item, &job, job.rooms,
                    job.room * (int64_t)sizeof(real));
    if (job.partial) ref_add_label_sums(&job);
    return GSA_OK;
}

#endif
