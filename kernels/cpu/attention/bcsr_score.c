/* bcsr_score.c - products of a panel's rows with those of its places: scores, forward and backward
 * the same bits, and g = v do. */
#include "kernels/cpu/attention/bcsr_panel.h"

/* more[place][row] <- rows.r_l + b_l of the label l of each edge: of[i][r] has them of the labels
 * that are wanted. One by one: a gather takes longer. Returns what is NaN where `odd` is or a
 * product is not finite. */
static vec look_up(bcsr_panels *x, const bcsr_panel *panel, const cpu_transposed *rows, vec odd)
{
    const ref_attend *t = x->t;
    const cpu_products p = { .places = cpu_whole_quads(panel->labels),
                             .place = panel->wanted,
                             .x = x->r,
                             .prefetch = x->prefetch };
    if (t->r) odd = cpu_multiply(x->of, rows, &p, t->dim, odd, CPU_BARE);
    else memset(x->of, 0, sizeof *x->of * 4 * (size_t)panel->labels);
    for (int32_t i = 0; t->bias && i < panel->labels; i++)
        for (int r = 0; r < PANEL_ROWS; r++)
            x->of[4 * i + r] +=
                t->bias[(int64_t)x->block->label[panel->wanted[i]] * t->heads + x->head];
    const uint16_t *from = panel->from;
    for (int32_t i = 0; i < 4 * cpu_whole_quads(panel->count); i += 4, from += 4) {
        if (*from & PANEL_SAME) {
            memcpy(x->more + i, x->of + 4 * (*from ^ PANEL_SAME), 4 * sizeof(float));
            continue;
        }
        CPU_UNROLL
        for (int r = 0; r < PANEL_ROWS; r++) {
            float one = x->of[4 * from[r] + r];
            __asm__("" : VEC_REGISTER(one));
            x->more[i + r] = one;
        }
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
        for (int64_t source = range->first, c = range->column; source <= range->last;
             source++, c++) {
            const int64_t at = source * t->width;
            x->k[c] = (const float *)part->k + at, x->v[c] = (const float *)part->v + at;
            x->dk[c] = part->dk ? (float *)part->dk + at : NULL;
            x->dv[c] = part->dv ? (float *)part->dv + at : NULL;
        }
    }
}

vec cpu_panel_products(bcsr_panels *x, int g, int values, const float *const rows[PANEL_ROWS],
                       float scale, float *s, vec told, int how)
{
    const ref_attend *t = x->t;
    const bcsr_panel *panel = &x->block->panel[g];
    cpu_products p = { .places = cpu_whole_quads(panel->count),
                       .place = panel->column,
                       .x = values ? x->v : x->k,
                       .at = x->at,
                       .mask = panel->mask,
                       .prefetch = x->prefetch };
    cpu_transposed q;
    cpu_transpose_rows(&q, rows, scale, t->dim);
    if (!values && panel->labels > 0 && (t->r || t->bias)) {
        const vec odd = look_up(x, panel, &q, how == CPU_MASKED ? vec_zero() : told);
        if (how == CPU_BARE) told = odd;
        p.more = x->more;
    }
    return cpu_multiply(s, &q, &p, t->dim, told, how);
}
