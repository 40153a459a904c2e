/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;  dr_l += scale ds_e q;  db_{l,h} += ds_e
 *
 * An item is a chunk of examples and a group of heads: sources of different examples are different rows of dk and dv, heads
 * are different columns, so items never meet. Label gradients are shared by all: each item has its own partial sums. */
#include <math.h>
#include "kernels/cpu/attend.h"
#include "kernels/cpu/ops.h"

enum { ITEMS = 32, PARTIAL_LIMIT = 1 << 22 /* elements of all partials, unless one item alone needs more */ };

typedef struct backward_job {
    ref_attend t;
    int64_t chunk, chunks;     /* examples of an item; items along examples */
    int32_t group, groups;     /* heads of an item, a multiple of 4; items along heads */
    float *partial;            /* [chunks, groups][labels, dim] then [labels, group], or NULL */
    int64_t partial_r, stride; /* elements of the first part, of both */
} backward_job;

/* One item's place in the partial sums; NULL where the gradient is not wanted. */
typedef struct label_sums {
    float *dr, *db;
    int32_t first_head, group;
} label_sums;

/* The block's rows of dK and dV; NULL in *y where the kind wants none. */
static int gradient_rows(const ref_attend *t, const cpu_block *block, int values, float **y)
{
    int wanted = 0;
    for (int32_t e = 0; e < block->count; e++) {
        const gsa_part *part = &t->args->parts[block->kind[e]];
        float *plane = values ? part->dv : part->dk;
        y[e] = plane ? plane + block->source[e] * t->width : NULL;
        wanted += plane != NULL;
    }
    return wanted;
}

/* y[e][at ..] += p[e] x over the edges whose row is wanted. */
static void spread(const ref_attend *t, const cpu_block *block, float **y, int wanted, const float *p, const float *x,
                   int64_t at)
{
    float some[BLOCK];
    float *row[BLOCK];
    int32_t count = 0;
    if (wanted == block->count) {
        cpu_spread(y, p, x, at, t->dim, block->count);
        return;
    }
    for (int32_t e = 0; e < block->count && wanted > 0; e++)
        if (y[e]) some[count] = p[e], row[count++] = y[e];
    cpu_spread(row, some, x, at, t->dim, count);
}

/* ds holds scale ds_e; `slope` holds ds_e. */
static void add_labels(const ref_attend *t, const cpu_block *block, int32_t head, const float *q, const float *ds,
                       const float *slope, float *dq, const label_sums *sums)
{
    const float *r[BLOCK];
    float *dr[BLOCK];
    for (int32_t e = 0; e < block->count; e++) {
        const int64_t label = block->label[e];
        if (t->r) r[e] = t->r + label * t->dim;
        if (sums->dr) dr[e] = sums->dr + label * t->dim;
        if (sums->db) sums->db[label * sums->group + head - sums->first_head] += slope[e];
    }
    if (t->r && dq) cpu_mix(dq, ds, r, 0, t->dim, block->count);
    if (sums->dr) cpu_spread(dr, ds, q, 0, t->dim, block->count);
}

/* p <- m_e p_e and ds <- scale ds_e of one head and block; slope <- ds_e. */
static void slopes(const ref_attend *t, int64_t row, int32_t head, const cpu_block *block, const float *q, const float *dout,
                   float inner, float lse, float *p, float *slope, float *ds)
{
    const int32_t count = block->count;
    cpu_scores(t, block, q, head, p);
    for (int32_t e = 0; e < count; e += LANES) vec_store(p + e, vec_exp(vec_sub(vec_load(p + e), vec_all(lse))));
    cpu_dots(dout, block->v, (int64_t)head * t->dim, t->dim, count, slope);
    if (t->drop.on) {
        float factor[BLOCK];
        cpu_draw(t, row, head, block, factor);
        for (int32_t e = 0; e < count; e++) slope[e] = p[e] * (factor[e] * slope[e] - inner);
        for (int32_t e = 0; e < count; e++) p[e] *= factor[e];
    } else
        for (int32_t e = 0; e < count; e++) slope[e] = p[e] * (slope[e] - inner);
    for (int32_t e = 0; e < count; e++) ds[e] = t->scale * slope[e];
}

static void head_block(const ref_attend *t, int64_t row, int32_t head, const cpu_block *block, float **dk, int keys,
                       float **dv, int values, const label_sums *sums)
{
    const int64_t column = (int64_t)head * t->dim, at = row * t->width + column;
    const float *q = (const float *)t->args->q + at, *dout = (const float *)t->args->dout + at;
    const float lse = ((const float *)t->args->lse)[row * t->heads + head];
    float *dq = t->args->dq ? (float *)t->args->dq + at : NULL;
    const float *out = (const float *)t->args->out + at;
    float p[BLOCK + LANES] = { 0 }, slope[BLOCK + LANES], ds[BLOCK], inner[4];
    if (isinf(lse) && lse < 0) return;
    cpu_dots(dout, &out, 0, t->dim, 1, inner); /* D */
    slopes(t, row, head, block, q, dout, inner[0], lse, p, slope, ds);
    if (dq) cpu_mix(dq, ds, block->k, column, t->dim, block->count);
    spread(t, block, dk, keys, ds, q, column);
    spread(t, block, dv, values, p, dout, column);
    if (t->r || sums->dr || sums->db) add_labels(t, block, head, q, ds, slope, dq, sums);
}

static void row_heads(const ref_attend *t, int64_t row, int32_t first, int32_t last, const label_sums *sums)
{
    float *dk[BLOCK], *dv[BLOCK];
    cpu_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0, block.count = 0;
    while (cpu_next(t, &walk, &block)) {
        const int keys = gradient_rows(t, &block, 0, dk), values = gradient_rows(t, &block, 1, dv);
        for (int32_t h = first; h < last; h++) head_block(t, row, h, &block, dk, keys, dv, values, sums);
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
        float *partial = job->partial + item * job->stride;
        memset(partial, 0, sizeof(float) * (size_t)job->stride);
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
    job->partial = gsa_ref_scratch(b, "attend_backward", job->chunks * job->groups * job->stride, sizeof(float));
    return job->partial ? GSA_OK : b->error.status;
}

static void add_label_sums(const backward_job *job)
{
    const ref_attend *t = &job->t;
    for (int64_t item = 0; item < job->chunks * job->groups; item++) {
        const float *partial = job->partial + item * job->stride;
        const int32_t first = (int32_t)(item % job->groups) * job->group;
        const int64_t width = ref_smaller(job->group, t->heads - first);
        if (t->args->dlabel_vectors) ref_axpy(t->args->dlabel_vectors, 1, partial, job->partial_r);
        if (t->args->dlabel_bias)
            for (int64_t l = 0; l < t->edges->labels; l++)
                ref_axpy((float *)t->args->dlabel_bias + l * t->heads + first, 1, partial + job->partial_r + l * job->group,
                         width);
    }
}

gsa_status GSA_CPU(attend_backward)(gsa_backend *b, const gsa_attend_args *args)
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
