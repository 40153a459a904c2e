/* bcsr_score.c - products of a panel's rows with those of its places: scores, forward and backward
 * the same bits, and g = v do. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/bcsr_panel.h"

static float bias_of(const bcsr_panels *x, int32_t label)
{
    return x->t->bias[(int64_t)x->block->label[label] * x->t->heads + x->head];
}

/* of[i][r] = rows.r_l + b_l of the labels that are wanted; more[place][row] of what the labels of
 * its edges add, for the places after the shared ones. One by one: a gather takes longer. Returns
 * what is NaN where `odd` is or a product is not finite. */
static vec look_up(bcsr_panels *x, const bcsr_panel *panel, const cpu_transposed *rows, vec odd)
{
    const ref_attend *t = x->t;
    const int32_t count = 4 * (cpu_whole_quads(panel->count) - panel->shared);
    const cpu_products p = {
        cpu_whole_quads(panel->labels), panel->wanted, NULL, x->r, NULL, 0, NULL, NULL, x->prefetch
    };
    if (t->r) odd = cpu_multiply(x->of, rows, &p, t->dim, odd, CPU_BARE);
    else memset(x->of, 0, sizeof *x->of * 4 * (size_t)panel->labels);
    for (int32_t i = 0; t->bias && i < panel->labels; i++)
        for (int r = 0; r < PANEL_ROWS; r++) x->of[4 * i + r] += bias_of(x, panel->wanted[i]);
    for (int32_t i = 0; i < count; i++) {
        float one = x->of[4 * panel->from[i] + i % 4];
        __asm__("" : VEC_REGISTER(one));
        x->more[i] = one;
    }
    return odd;
}

void cpu_panels_begin(bcsr_panels *x, const ref_attend *t, const bcsr_block *block,
                      cpu_prefetch *prefetch)
{
    x->t = t, x->block = block, x->prefetch = prefetch;
    for (int32_t l = 0; t->r && l < block->labels; l++)
        x->r[l] = t->r + (int64_t)block->label[l] * t->dim;
    for (int i = 0; i < block->ranges; i++) {
        const bcsr_range *range = &block->range[i];
        const gsa_part *part = &t->args->parts[range->kind];
        for (int64_t source = range->first, c = range->column; source <= range->last; source++, c++)
            x->k[c] = (const float *)part->k + source * t->width,
            x->v[c] = (const float *)part->v + source * t->width;
    }
}

/* The places after the shared ones, each of whose rows adds what its own label has. */
static vec score_own(bcsr_panels *x, const bcsr_panel *panel, cpu_products p, float *s,
                     const cpu_transposed *rows, vec told, int how)
{
    p.places = cpu_whole_quads(panel->count) - panel->shared, p.place += panel->shared,
    p.mask += panel->shared / QUADS;
    if (p.places == 0) return told;
    const vec odd = look_up(x, panel, rows, how & CPU_MASKED ? vec_zero() : told);
    p.more = x->more;
    return cpu_multiply(s, rows, &p, x->t->dim, how & CPU_MASKED ? told : odd, how);
}

/* s[place][row] <- scale rows.(k + r_l), to which b_l is added but in shared places. */
static vec score(bcsr_panels *x, const bcsr_panel *panel, const float *rows, int64_t stride,
                 float scale, float *s, vec told, int how)
{
    const ref_attend *t = x->t;
    const cpu_products p = { panel->shared, panel->column, panel->label, x->k,       x->r,
                             x->at,         panel->mask,   NULL,         x->prefetch };
    cpu_transposed q;
    cpu_transpose_rows(&q, rows, stride, scale, t->dim);
    told = cpu_multiply(s, &q, &p, t->dim, told,
                        how | (x->block->labels > 0 && t->r ? CPU_LABELLED : CPU_BARE));
    return score_own(x, panel, p, s + 4 * panel->shared, &q, told, how);
}

/* Adds the bias of labels that all rows of a place share. */
static void add_bias(const bcsr_panels *x, const bcsr_panel *panel, float *s)
{
    for (int32_t i = 0; i < panel->shared; i++)
        for (int r = 0; r < PANEL_ROWS; r++) s[4 * i + r] += bias_of(x, panel->label[i]);
}

vec cpu_panel_scores(bcsr_panels *x, int g, float *s)
{
    const ref_attend *t = x->t;
    const bcsr_panel *panel = &x->block->panel[g];
    const float *rows = (const float *)t->args->q + (x->block->row + PANEL_ROWS * g) * t->width +
                        (int64_t)x->head * t->dim;
    vec top = score(x, panel, rows, t->width, t->scale, s, vec_all(-FLT_MAX), CPU_MASKED);
    if (x->block->labels > 0 && t->bias) {
        add_bias(x, panel, s);
        top = vec_all(-FLT_MAX);
        for (int32_t j = 0; j < panel->count; j += QUADS) top = vec_max(vec_load(s + 4 * j), top);
    }
    return vec_quads_max(top);
}

vec cpu_panel_bare_scores(bcsr_panels *x, int g, const float *rows, int64_t stride, float *s,
                          vec odd)
{
    const bcsr_panel *panel = &x->block->panel[g];
    odd = score(x, panel, rows, stride, 1, s, odd, CPU_BARE);
    if (x->block->labels > 0 && x->t->bias) add_bias(x, panel, s);
    return odd;
}

vec cpu_panel_values(bcsr_panels *x, int g, const float *rows, int64_t stride, float *s, vec odd)
{
    const bcsr_panel *panel = &x->block->panel[g];
    const cpu_products p = { cpu_whole_quads(panel->count),
                             panel->column,
                             NULL,
                             x->v,
                             NULL,
                             x->at,
                             NULL,
                             NULL,
                             x->prefetch };
    cpu_transposed q;
    cpu_transpose_rows(&q, rows, stride, 1, x->t->dim);
    return cpu_multiply(s, &q, &p, x->t->dim, odd, CPU_BARE);
}
