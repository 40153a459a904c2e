/* row.h - the format row: a row alone (row.c), by blocks of its edges. */
#ifndef GSA_CPU_ROW_H
#define GSA_CPU_ROW_H
#include "kernels/cpu/attention/attend.h"
#include "kernels/cpu/attention/prefetch.h"
#include "kernels/ref/attend_items.h"

/* Adds a block of a row's edges to the states of some heads, [heads][SOFTMAX] (softmax.h), and to
 * `out`, the row's of all heads; `fresh`: nothing was there before. `prefetch`, where there is one,
 * is prefetched meanwhile. */
void cpu_row_forward(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                     int32_t last, float *state, float *out, int fresh, cpu_prefetch *prefetch);
/* Adds the state and the sums of another part of a row's edges. */
void cpu_row_join(const ref_attend *t, float *state, float *out, const float *more_state,
                  const float *more_out);
/* After the last block: lse; out is divided by the sums. */
void cpu_row_end(const ref_attend *t, int64_t row, int32_t first, int32_t last, const float *state,
                 float *out);

/* The gradients of some heads of a row by a block of its edges. */
void cpu_row_backward(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                      int32_t last, const ref_label_sums *sums, cpu_prefetch *prefetch);

/* The same by all blocks of its edges, or of its piece. Forward the states are new. */
void cpu_row_forward_all(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                         float *state, float *out);
void cpu_row_backward_all(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                          const ref_label_sums *sums);

#endif
