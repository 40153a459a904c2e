/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;
 *      dr_l += scale ds_e q;  db_{l,h} += ds_e */
#include "kernels/ref/attend_items.h"

static void add_sources(const ref_attend *t, const ref_attend_block *block, int64_t at,
                        const real *q, const real *dout, const real *ds, const real *kept)
{
    for (int32_t e = 0; e < block->edge.count; e++) {
        const gsa_part *part = &t->args->parts[block->edge.kind[e]];
        const int64_t to = block->edge.source[e] * t->width + at;
        if (part->dk) ref_axpy((real *)part->dk + to, ds[e], q, t->dim);
        if (part->dv) ref_axpy((real *)part->dv + to, kept[e], dout, t->dim);
    }
}

/* ds holds scale ds_e; `slope` holds ds_e. */
static void add_labels(const ref_attend *t, const ref_attend_block *block, int32_t head,
                       const real *q, const real *ds, const real *slope, real *dq,
                       const ref_label_sums *sums)
{
    for (int32_t e = 0; e < block->edge.count; e++) {
        const int64_t label = block->edge.label[e];
        if (t->r && dq) ref_axpy(dq, ds[e], t->r + label * t->dim, t->dim);
        if (sums->dr) ref_axpy(sums->dr + label * t->dim, ds[e], q, t->dim);
        if (sums->db) sums->db[label * sums->group + head - sums->first_head] += slope[e];
    }
}

static void head_block(const ref_attend *t, int64_t row, int32_t head,
                       const ref_attend_block *block, const ref_label_sums *sums)
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
    for (int32_t e = 0; e < count; e++)
        slope[e] = ref_dot(dout, block->v[e] + (int64_t)head * t->dim, t->dim);
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

static void row_heads(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                      const ref_label_sums *sums)
{
    ref_attend_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    ref_walk_skip(&walk, t->from);
    block.first = (uint32_t)t->from;
    block.edge.count = 0;
    while (ref_attend_goes_on(t, block.first, block.edge.count) &&
           ref_attend_next(t, &walk, &block))
        for (int32_t h = first; h < last; h++) {
            if (t->drop.on && h % 4 == 0) ref_attend_draw(t, row, h, &block);
            head_block(t, row, h, &block, sums);
        }
}

static void rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                       const ref_label_sums *sums, void *room)
{
    (void)room;
    for (int64_t row = rows.first; row < rows.first + rows.count; row++)
        row_heads(t, row, first, last, sums);
}

static gsa_status attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    ref_looks looks = { 0 };
    const gsa_status status = ref_back(b, args, rows_heads, NULL, &looks, 0);
    gsa_release(b->system, looks.at);
    return status;
}

void GSA_REF(fill_attend_backward)(gsa_backend *b)
{
    b->attend_backward = attend_backward;
}
