/* interval_panel.h - four rows that read all sources of a piece of an axis.
 *
 * A row of K meets the four queries while these stand in registers, and a row of V goes into four
 * outputs (panel.h): K, V, dK and dV are read and written once for four rows. Every row reads every
 * column: nothing is masked, and what is not finite needs no second way. A label is the same along
 * a range: what it adds to a row's scores is one number. */
#ifndef GSA_CPU_INTERVAL_PANEL_H
#define GSA_CPU_INTERVAL_PANEL_H
#include "kernels/cpu/attention/panel.h"
#include "kernels/cpu/attention/interval.h"

typedef struct cpu_interval_panel {
    const ref_attend *t;
    cpu_soon *soon;
    int64_t from; /* sources from .. from+columns-1, columns <= PIECE */
    int32_t columns, kind;
    int rows; /* 1 .. STRIP */
    int64_t row[STRIP];
    /* Of the forward pass. */
    float *out[STRIP];
    cpu_softmax *state[STRIP]; /* of all heads, as cpu_forward_block's; not read where `fresh`, not
                                  written where `ends` */
    int fresh[STRIP], ends[STRIP];
} cpu_interval_panel;

void cpu_interval_panel_forward(const cpu_interval_panel *g);
/* The gradients of some heads; 0 when a row has no gradient (its lse is -inf): then nothing is
 * done. */
int cpu_interval_panel_backward(const cpu_interval_panel *g, int32_t first, int32_t last,
                                const ref_label_sums *sums);

#endif
