/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;  dr_l += scale ds_e q;  db_{l,h} += ds_e
 * The cut into items is ref's (attend_items.h). */
#include <math.h>
#include "kernels/cpu/ops.h"
#include "kernels/cpu/tile.h"

typedef struct back_group { /* a group of heads of one row and block; scores stand as attend.h says */
    const ref_attend *t;
    int64_t row;
    int32_t first, heads;
    const float *q, *dout;                      /* of the row */
    float p[SCORES], slope[SCORES], ds[SCORES]; /* m_e p_e, ds_e, scale ds_e */
    int dead[QUADS];                            /* lse is -inf: no gradient */
} back_group;

/* The block's rows of dK or of dV, NULL where the kind wants none. */
static void gradient_rows(const ref_attend *t, const cpu_block *block, int values, float **y)
{
    for (int32_t e = 0; e < block->count; e++) {
        const gsa_part *part = &t->args->parts[block->kind[e]];
        float *plane = values ? part->dv : part->dk;
        y[e] = plane ? plane + block->source[e] * t->width : NULL;
    }
}

/* lse and D = do.o of the group, each head in its four lanes. */
static vec inner_of(back_group *g, vec *lse)
{
    const ref_attend *t = g->t;
    const float *out = (const float *)t->args->out + g->row * t->width,
                *kept = (const float *)t->args->lse + g->row * t->heads + g->first;
    float each[LANES] = { 0 }, inner[LANES];
    cpu_group_dots(t, inner, g->dout, &out, NULL, g->first, g->heads, 1);
    for (int32_t i = 0; i < 4 * g->heads; i++) each[i] = kept[i / 4];
    for (int32_t j = 0; j < g->heads; j++) g->dead[j] = isinf(kept[j]) && kept[j] < 0;
    for (int32_t i = 0; i < LANES; i++) inner[i] = inner[i / 4 * 4];
    *lse = vec_load(each);
    return vec_load(inner);
}

static void slopes(back_group *g, const cpu_block *block)
{
    const ref_attend *t = g->t;
    float factor[SCORES];
    vec lse;
    const vec inner = inner_of(g, &lse);
    cpu_scores(t, block, g->q, g->first, g->heads, g->p);
    cpu_group_dots(t, g->slope, g->dout, block->v, NULL, g->first, g->heads, block->count);
    if (t->drop.on) cpu_draw(t, g->row, g->first, g->heads, block, factor);
    for (int32_t i = 0; i < cpu_quads(block->count) * LANES; i += LANES) {
        const vec p = vec_exp(vec_sub(vec_load(g->p + i), lse)), m = t->drop.on ? vec_load(factor + i) : vec_all(1);
        const vec slope = vec_mul(p, vec_sub(vec_mul(m, vec_load(g->slope + i)), inner));
        vec_store(g->p + i, vec_mul(m, p));
        vec_store(g->slope + i, slope);
        vec_store(g->ds + i, vec_mul(vec_all(t->scale), slope));
    }
}

static void add_labels(const back_group *g, const cpu_block *block, int32_t j, const float *q, const ref_label_sums *sums)
{
    const ref_attend *t = g->t;
    float *dr[BLOCK];
    for (int32_t e = 0; sums->dr && e < block->count; e++) dr[e] = sums->dr + (int64_t)block->label[e] * t->dim;
    for (int32_t e = 0; sums->db && e < block->count; e++)
        sums->db[(int64_t)block->label[e] * sums->group + g->first + j - sums->first_head] += g->slope[cpu_place(e, j)];
    if (sums->dr) cpu_spread(dr, g->ds + 4 * j, q, 0, t->dim, block->count);
}

static void group_block(back_group *g, const cpu_block *block, float **dk, float **dv, const ref_label_sums *sums)
{
    static const float one = 1;
    const ref_attend *t = g->t;
    slopes(g, block);
    for (int32_t j = 0; j < g->heads; j++) {
        const int64_t at = (int64_t)(g->first + j) * t->dim;
        float *dq = t->args->dq ? (float *)t->args->dq + g->row * t->width + at : NULL;
        if (g->dead[j]) continue;
        if (dq) cpu_mix(dq, &one, g->ds + 4 * j, block->k, at, t->dim, block->count);
        if (dq && t->r) cpu_mix(dq, &one, g->ds + 4 * j, block->r, 0, t->dim, block->count);
        cpu_spread(dk, g->ds + 4 * j, g->q + at, at, t->dim, block->count);
        cpu_spread(dv, g->p + 4 * j, g->dout + at, at, t->dim, block->count);
        add_labels(g, block, j, g->q + at, sums);
    }
}

void GSA_CPU(back_block)(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first, int32_t last,
                         const ref_label_sums *sums)
{
    float *dk[BLOCK], *dv[BLOCK];
    back_group g;
    g.t = t, g.row = row;
    g.q = (const float *)t->args->q + row * t->width, g.dout = (const float *)t->args->dout + row * t->width;
    gradient_rows(t, block, 0, dk);
    gradient_rows(t, block, 1, dv);
    for (int32_t h = first; h < last; h += QUADS) {
        g.first = h, g.heads = last - h < QUADS ? last - h : QUADS;
        group_block(&g, block, dk, dv, sums);
    }
}

static void one_row(const ref_attend *t, int64_t row, int32_t first, int32_t last, const ref_label_sums *sums)
{
    cpu_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0, block.count = 0;
    while (cpu_next(t, &walk, &block)) GSA_CPU(back_block)(t, row, &block, first, last, sums);
}

static void rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last, const ref_label_sums *sums)
{
    const int64_t end = rows.first + rows.count;
    cpu_tile tile;
    for (int64_t row = rows.first; row < end;) {
        if (GSA_CPU(tile_at)(t, row, end, &tile)) {
            GSA_CPU(tile_backward)(t, &tile, first, last, sums);
            row += LANES;
        } else one_row(t, row++, first, last, sums);
    }
}

gsa_status GSA_CPU(attend_backward)(gsa_backend *b, const gsa_attend_args *args)
{
    return ref_back(b, args, rows_heads);
}
