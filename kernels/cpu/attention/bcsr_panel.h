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
    const float *k[BCSR_COLUMNS], *v[BCSR_COLUMNS],
        *r[BCSR_LABELS]; /* rows of columns, label vectors */
    float of[4 *
             (BCSR_LABELS + QUADS)]; /* what wanted labels add to a panel's scores, [label][row], */
    float more[4 * (BCSR_COLUMNS + QUADS)]; /* and where */
} bcsr_panels;

/* Of a block, for all heads. */
void cpu_panels_begin(bcsr_panels *x, const ref_attend *t, const bcsr_block *block,
                      cpu_prefetch *prefetch);

/* s[place][row] of panel g for the head x->head: scale q.(k + r_l) + b_l, -inf where there is no
 * edge. Returns each row's largest, at least -FLT_MAX, in all quads. */
vec cpu_panel_scores(bcsr_panels *x, int g, float *s);

/* The same bits of the rows q, scaled already, `stride` numbers apart, but whatever it is where
 * there is no edge. Returns what is NaN where `odd` is or a product is not finite. */
vec cpu_panel_bare_scores(bcsr_panels *x, int g, const float *q, int64_t stride, float *s, vec odd);

/* s[place][row] = rows.v of panel g, for the head that is at x->at; returns likewise. */
vec cpu_panel_values(bcsr_panels *x, int g, const float *rows, int64_t stride, float *s, vec odd);

#endif
