/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;  dr_l += scale ds_e q;  db_{l,h} += ds_e
 *
 * An item is a chunk of examples and a group of heads: sources of different examples are different rows of dk and dv, heads
 * are different columns, so items never meet. Label gradients are shared by all: each item has its own partial sums. */
#include "kernels/ref/attend.h"

enum { ITEMS = 32, PARTIAL_LIMIT = 1 << 22 /* elements of all partials, unless one item alone needs more */ };

typedef struct backward_job {
    ref_attend t;
    int64_t chunk, chunks;     /* examples of an item; items along examples */
    int32_t group, groups;     /* heads of an item, a multiple of 4; items along heads */
    real *partial;             /* [chunks, groups][labels, dim] then [labels, group], or NULL */
    int64_t partial_r, stride; /* elements of the first part, of both */
} backward_job;

/* One item's place in the partial sums; NULL where the gradient is not wanted. */
typedef struct label_sums {
    real *dr, *db;
    int32_t first_head, group;
} label_sums;

static void add_sources(const ref_attend *t, const ref_attend_block *block, int64_t at, const real *q, const real *dout,
                        const real *ds, const real *kept)
{
    for (int32_t e = 0; e < block->edge.count; e++) {
        const gsa_part *part = &t->args->parts[block->edge.kind[e]];
        const int64_t to = block->edge.source[e] * t->width + at;
        if (part->dk) ref_axpy((real *)part->dk + to, ds[e], q, t->dim);
        if (part->dv) ref_axpy((real *)part->dv + to, kept[e], dout, t->dim);
    }
}

/* ds holds scale ds_e; `slope` holds ds_e. */
static void add_labels(const ref_attend *t, const ref_attend_block *block, int32_t head, const real *q, const real *ds,
                       const real *slope, real *dq, const label_sums *sums)
{
    for (int32_t e = 0; e < block->edge.count; e++) {
        const int64_t label = block->edge.label[e];
        if (t->r && dq) ref_axpy(dq, ds[e], t->r + label * t->dim, t->dim);
        if (sums->dr) ref_axpy(sums->dr + label * t->dim, ds[e], q, t->dim);
        if (sums->db) sums->db[label * sums->group + head - sums->first_head] += slope[e];
    }
}

static void head_block(const ref_attend *t, int64_t row, int32_t head, const ref_attend_block *block, const label_sums *sums)
{
    const int64_t at = row * t->width + (int64_t)head * t->dim;
    const real *q = (const real *)t->args->q + at, *dout = (const real *)t->args->dout + at;
    const real lse = ((const real *)t->args->lse)[row * t->heads + head];
    real *dq = t->args->dq ? (real *)t->args->dq + at : NULL;
    const int32_t count = block->edge.count;
    real p[REF_BLOCK], slope[REF_BLOCK], ds[REF_BLOCK];
    if (isinf(lse) && lse < 0) return;
    const real inner = ref_dot(dout, (const real *)t->args->out + at, t->dim); /* D */
    ref_scores(t, block, q, head, p);
    for (int32_t e = 0; e < count; e++) p[e] = exp(p[e] - lse);
    for (int32_t e = 0; e < count; e++) slope[e] = ref_dot(dout, block->v[e] + (int64_t)head * t->dim, t->dim);
    if (t->drop.on)
        for (int32_t e = 0; e < count; e++) slope[e] *= block->factor[e][head % 4];
    for (int32_t e = 0; e < count; e++) slope[e] = p[e] * (slope[e] - inner);
    for (int32_t e = 0; e < count; e++) ds[e] = t->scale * slope[e];
    if (t->drop.on)
        for (int32_t e = 0; e < count; e++) p[e] *= block->factor[e][head % 4];
    if (dq) ref_mix(dq, ds, block->k, (int64_t)head * t->dim, count, t->dim);
    add_sources(t, block, (int64_t)head * t->dim, q, dout, ds, p);
    if (t->r || sums->dr || sums->db) add_labels(t, block, head, q, ds, slope, dq, sums);
}

static void row_heads(const ref_attend *t, int64_t row, int32_t first, int32_t last, const label_sums *sums)
{
    ref_attend_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0;
    block.edge.count = 0;
    while (ref_attend_next(t, &walk, &block))
        for (int32_t h = first; h < last; h++) {
            if (t->drop.on && h % 4 == 0) ref_attend_draw(t, row, h, &block);
            head_block(t, row, h, &block, sums);
        }
}

static void backward_item(void *context, int64_t item)
{
    const backward_job *job = context;
    const ref_attend *t = &job->t;
    const int64_t first_example = item / job->groups * job->chunk;
    const int64_t last_example = ref_smaller(first_example + job->chunk, t->edges->examples);
    const int32_t first = (int32_t)(item % job->groups) * job->group;
    const int32_t last = (int32_t)ref_smaller((int64_t)first + job->group, t->heads);
    label_sums sums = { .first_head = first, .group = job->group };
    if (job->partial) {
        real *partial = job->partial + item * job->stride;
        memset(partial, 0, sizeof(real) * (size_t)job->stride);
        if (t->args->dlabel_vectors) sums.dr = partial;
        if (t->args->dlabel_bias) sums.db = partial + job->partial_r;
    }
    for (int64_t r = t->edges->block_offset[first_example]; r < t->edges->block_offset[last_example]; r++) {
        const gsa_rows rows = t->edges->blocks[r];
        for (int64_t row = rows.first; row < rows.first + rows.count; row++) row_heads(t, row, first, last, &sums);
    }
}

/* Cuts examples and heads by sizes alone: about ITEMS items, fewer where label tables are so large that their partials
 * would be. */
static gsa_status cut(gsa_backend *b, backward_job *job)
{
    const gsa_attend_args *args = job->t.args;
    const int64_t labels = args->edges->labels, examples = args->edges->examples, quads = ref_items(job->t.heads, 4);
    const int wants_labels = args->dlabel_vectors != NULL || args->dlabel_bias != NULL;
    int64_t most = ITEMS;
    if (wants_labels && labels > 0) most = PARTIAL_LIMIT / (labels * (job->t.dim + job->t.heads) + 1);
    most = most < 1 ? 1 : ref_smaller(most, ITEMS);
    job->chunk = ref_items(examples, most);
    job->chunks = ref_items(examples, job->chunk);
    const int64_t groups = ref_smaller(most / job->chunks, quads);
    job->group = (int32_t)(4 * ref_items(quads, groups < 1 ? 1 : groups));
    job->groups = (int32_t)ref_items(job->t.heads, job->group);
    job->partial_r = args->dlabel_vectors ? labels * job->t.dim : 0;
    job->stride = job->partial_r + (args->dlabel_bias ? labels * job->group : 0);
    if (job->stride == 0) return GSA_OK;
    job->partial = gsa_ref_scratch(b, "attend_backward", job->chunks * job->groups * job->stride, sizeof(real));
    return job->partial ? GSA_OK : b->error.status;
}

static void add_label_sums(const backward_job *job)
{
    const ref_attend *t = &job->t;
    for (int64_t item = 0; item < job->chunks * job->groups; item++) {
        const real *partial = job->partial + item * job->stride;
        const int32_t first = (int32_t)(item % job->groups) * job->group;
        const int64_t width = ref_smaller(job->group, t->heads - first);
        if (t->args->dlabel_vectors) ref_axpy(t->args->dlabel_vectors, 1, partial, job->partial_r);
        if (t->args->dlabel_bias)
            for (int64_t l = 0; l < t->edges->labels; l++)
                ref_axpy((real *)t->args->dlabel_bias + l * t->heads + first, 1, partial + job->partial_r + l * job->group,
                         width);
    }
}

static gsa_status attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    gsa_status status = ref_attend_check(b, "attend_backward", args, 1);
    if (status != GSA_OK || args->edges->rows == 0 || args->heads == 0) return status;
    backward_job job = { .t = ref_attend_of(args) };
    status = cut(b, &job);
    if (status != GSA_OK) return status;
    gsa_team_run(b->team, job.chunks * job.groups, backward_item, &job);
    if (job.partial) add_label_sums(&job);
    return GSA_OK;
}

void GSA_REF(fill_attend_backward)(gsa_backend *b)
{
    b->attend_backward = attend_backward;
}
