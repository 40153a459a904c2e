/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;  dr_l += scale ds_e q;  db_{l,h} += ds_e
 * The cut into items is ref's (attend_items.h). */
#include <math.h>
#include "kernels/cpu/attend.h"
#include "kernels/cpu/ops.h"
#include "kernels/ref/attend_items.h"

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
                       const float *slope, float *dq, const ref_label_sums *sums)
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
                       float **dv, int values, const ref_label_sums *sums)
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

static void row_heads(const ref_attend *t, int64_t row, int32_t first, int32_t last, const ref_label_sums *sums)
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

gsa_status GSA_CPU(attend_backward)(gsa_backend *b, const gsa_attend_args *args)
{
    return ref_back(b, args, row_heads);
}
