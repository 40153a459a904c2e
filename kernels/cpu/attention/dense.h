/* dense.h - rows that all read one run of sources, or its beginnings, by matrix products. */
#ifndef GSA_CPU_DENSE_H
#define GSA_CPU_DENSE_H
#include "kernels/cpu/attention/attend.h"

enum { DENSE_ROWS = 128 /* of a product at most; a block's first rows, the next ones, ... */ };

/* Whether that is how a block's rows read, and it pays. */
int cpu_dense_fits(const ref_attend *t, gsa_rows rows);

/* Rows row .. row+rows-1 of a block that fits, rows <= DENSE_ROWS; 0 when something is not finite:
 * then they are to be computed otherwise. */
int cpu_dense_forward(const ref_attend *t, int64_t row, int64_t rows, void *room);

/* The gradients of a block that fits, for the heads first .. last-1; 0 when something is not
 * finite: then nothing is added. */
int cpu_dense_backward(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last, void *room);

#endif
