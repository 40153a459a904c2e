/* bcsr_panel.h - the panels of a block at work: pointers to the rows of its columns, scores and
 * values of one panel. */
#ifndef GSA_CPU_BCSR_PANEL_H
#define GSA_CPU_BCSR_PANEL_H
#include "kernels/cpu/attention/panel.h"

typedef struct bcsr_panels {
    const ref_attend *t;
    const bcsr_block *block;
    cpu_prefetch *prefetch; /* prefetched a portion with each vector of scores */
    int32_t head;
    int64_t at; /* of the head in a row of k and v */
    const float *k[BCSR_COLUMNS], *v[BCSR_COLUMNS], *r[BCSR_LABELS]; /* r: label vectors */
    float *dk[BCSR_COLUMNS], *dv[BCSR_COLUMNS];
    float of[4 * (BCSR_LABELS + QUADS)];    /* what labels add to a panel's scores, [label][row], */
    float more[4 * (BCSR_COLUMNS + QUADS)]; /* and where */
} bcsr_panels;

/* Of a block, for all heads. */
void cpu_panels_begin(bcsr_panels *x, const ref_attend *t, const bcsr_block *block,
                      cpu_prefetch *prefetch);

/* s[place][row] of panel g, for the head that is at x->at: scale rows.(k + r_l) + b_l, or of
 * `values` scale rows.v. CPU_MASKED: -inf where there is no edge;
 * CPU_BARE: the same bits, but whatever it is there. Returns as cpu_multiply of `told`. */
vec cpu_panel_products(bcsr_panels *x, int g, int values, const float *const rows[PANEL_ROWS],
                       float scale, float *s, vec told, int how);

#endif
