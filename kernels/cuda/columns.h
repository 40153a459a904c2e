/* columns.h - sums over rows, column by column, in a fixed order: rows are cut into chunks by sizes
 * alone, each chunk has its partial sums, which are added in the order of chunks. */
#ifndef GSA_CUDA_COLUMNS_H
#define GSA_CUDA_COLUMNS_H
#include "kernels/cuda/state.h"

/* Floats of room that the partial sums of one matrix want. */
int64_t gsa_cuda_column_room(int64_t rows, int64_t cols);

/* out[c] += sum over rows of x[row, c]. labels > 0: column c = head * labels + label goes to
 * out[label * heads + head]. */
gsa_status gsa_cuda_column_sums(gsa_backend *b, float *out, const float *x, int64_t rows,
                                int64_t cols, int64_t labels, float *room);

/* dgain[c] += sum of dy (x - mean) rstd;
 *     dbias[c] += sum of dy. Either may be NULL. Takes scratch. */
gsa_status gsa_cuda_norm_sums(gsa_backend *b, float *dgain, float *dbias, const float *dy,
                              const float *x, const float *mean, const float *rstd, int64_t rows,
                              int64_t cols);

#endif
