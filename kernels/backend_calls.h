/* backend_calls.h - every call of the backend's table that does something, for those who wrap the
 * whole table (profile.c; the tests' guard): X(entry, parameters, arguments). The arguments begin
 * with `in`, the backend that is wrapped; the parameters with `b`, the one around it. release,
 * alloc and free are not among them, nor steps and uploads next to the work, which few backends
 * have.
 * Macros alone: any thread.
 *
 * Example:
 *
 *     #define NAMED(entry, parameters, arguments) puts(#entry);
 *     GSA_BACKEND_CALLS(NAMED) // upload, download, copy, ...
 *     return 0;
 *
 */
#ifndef GSA_BACKEND_CALLS_H
#define GSA_BACKEND_CALLS_H
#include "kernels/backend.h"

/* X(entry, parameters, arguments) for each operation of a backend's table. */
#define GSA_BACKEND_CALLS(X)                                                                       \
    X(upload, (gsa_backend * b, void *to, const void *from, int64_t n), (in, to, from, n))         \
    X(download, (gsa_backend * b, void *to, const void *from, int64_t n), (in, to, from, n))       \
    X(copy, (gsa_backend * b, void *to, const void *from, int64_t n), (in, to, from, n))           \
    X(zero_fill, (gsa_backend * b, void *at, int64_t n), (in, at, n))                              \
    X(gemm,                                                                                        \
      (gsa_backend * b, void *c, const void *a, const void *bb, int64_t m, int64_t n, int64_t k,   \
       int ta, int tb, int64_t ldc, int64_t lda, int64_t ldb, int accumulate),                     \
      (in, c, a, bb, m, n, k, ta, tb, ldc, lda, ldb, accumulate))                                  \
    X(bias_forward, (gsa_backend * b, void *y, const void *bias, int64_t rows, int64_t cols),      \
      (in, y, bias, rows, cols))                                                                   \
    X(bias_backward, (gsa_backend * b, void *dbias, const void *dy, int64_t rows, int64_t cols),   \
      (in, dbias, dy, rows, cols))                                                                 \
    X(add, (gsa_backend * b, void *y, const void *a, const void *c, int64_t n), (in, y, a, c, n))  \
    X(accumulate, (gsa_backend * b, void *y, const void *x, double scale, int64_t n),              \
      (in, y, x, scale, n))                                                                        \
    X(multiply,                                                                                    \
      (gsa_backend * b, void *y, const void *a, const void *c, int accumulate, int64_t n),         \
      (in, y, a, c, accumulate, n))                                                                \
    X(activate_forward, (gsa_backend * b, void *y, const void *x, int activation, int64_t n),      \
      (in, y, x, activation, n))                                                                   \
    X(activate_backward,                                                                           \
      (gsa_backend * b, void *dx, const void *dy, const void *x, int activation, int accumulate,   \
       int64_t n),                                                                                 \
      (in, dx, dy, x, activation, accumulate, n))                                                  \
    X(dropout_forward,                                                                             \
      (gsa_backend * b, void *y, const void *x, const gsa_dropout *d, int64_t rows, int64_t cols), \
      (in, y, x, d, rows, cols))                                                                   \
    X(dropout_backward,                                                                            \
      (gsa_backend * b, void *dx, const void *dy, const gsa_dropout *d, int64_t rows,              \
       int64_t cols),                                                                              \
      (in, dx, dy, d, rows, cols))                                                                 \
    X(norm_forward,                                                                                \
      (gsa_backend * b, void *y, void *mean, void *rstd, const void *x, const void *gain,          \
       const void *bias, double eps, int64_t rows, int64_t cols),                                  \
      (in, y, mean, rstd, x, gain, bias, eps, rows, cols))                                         \
    X(norm_backward,                                                                               \
      (gsa_backend * b, void *dx, void *dgain, void *dbias, const void *dy, const void *x,         \
       const void *gain, const void *mean, const void *rstd, int accumulate, int64_t rows,         \
       int64_t cols),                                                                              \
      (in, dx, dgain, dbias, dy, x, gain, mean, rstd, accumulate, rows, cols))                     \
    X(gather_forward,                                                                              \
      (gsa_backend * b, void *y, const void *table, const int32_t *ids, double scale,              \
       int accumulate, int64_t rows, int64_t cols, int64_t table_rows),                            \
      (in, y, table, ids, scale, accumulate, rows, cols, table_rows))                              \
    X(gather_backward,                                                                             \
      (gsa_backend * b, void *dtable, const void *dy, const int32_t *ids, int32_t first_id,        \
       double scale, int64_t rows, int64_t cols, int64_t table_rows),                              \
      (in, dtable, dy, ids, first_id, scale, rows, cols, table_rows))                              \
    X(select_forward,                                                                              \
      (gsa_backend * b, void *y, const uint8_t *mask, const void *a, const void *c, int64_t rows,  \
       int64_t cols),                                                                              \
      (in, y, mask, a, c, rows, cols))                                                             \
    X(select_backward,                                                                             \
      (gsa_backend * b, void *da, void *dc, const uint8_t *mask, const void *dy, int64_t rows,     \
       int64_t cols),                                                                              \
      (in, da, dc, mask, dy, rows, cols))                                                          \
    X(pool_forward,                                                                                \
      (gsa_backend * b, void *y, int32_t *arg, const void *x, const int64_t *offset, int maximum,  \
       int64_t examples, int64_t cols),                                                            \
      (in, y, arg, x, offset, maximum, examples, cols))                                            \
    X(pool_backward,                                                                               \
      (gsa_backend * b, void *dx, const void *dy, const int32_t *arg, const int64_t *offset,       \
       int maximum, int accumulate, int64_t examples, int64_t cols),                               \
      (in, dx, dy, arg, offset, maximum, accumulate, examples, cols))                              \
    X(aggregate_forward,                                                                           \
      (gsa_backend * b, void *y, const gsa_edges *edges, const gsa_part *parts, int mean,          \
       int64_t cols),                                                                              \
      (in, y, edges, parts, mean, cols))                                                           \
    X(aggregate_backward,                                                                          \
      (gsa_backend * b, const gsa_part *parts, const void *dy, const gsa_edges *edges, int mean,   \
       int64_t cols),                                                                              \
      (in, parts, dy, edges, mean, cols))                                                          \
    X(attend_forward, (gsa_backend * b, const gsa_attend_args *args), (in, args))                  \
    X(attend_backward, (gsa_backend * b, const gsa_attend_args *args), (in, args))                 \
    X(crf_forward, (gsa_backend * b, const gsa_crf_args *args), (in, args))                        \
    X(crf_backward, (gsa_backend * b, const gsa_crf_args *args), (in, args))                       \
    X(crf_decode, (gsa_backend * b, const gsa_crf_args *args), (in, args))                         \
    X(cross_entropy_forward,                                                                       \
      (gsa_backend * b, void *loss, void *nll, const void *logits, const int32_t *targets,         \
       double smoothing, double scale, int64_t rows, int64_t classes),                             \
      (in, loss, nll, logits, targets, smoothing, scale, rows, classes))                           \
    X(cross_entropy_backward,                                                                      \
      (gsa_backend * b, void *dlogits, const void *dloss, const void *logits,                      \
       const int32_t *targets, double smoothing, double scale, int accumulate, int64_t rows,       \
       int64_t classes),                                                                           \
      (in, dlogits, dloss, logits, targets, smoothing, scale, accumulate, rows, classes))          \
    X(segment_entropy_forward,                                                                     \
      (gsa_backend * b, void *loss, const void *logits, const int64_t *offset,                     \
       const int32_t *targets, double scale, int64_t segments, int64_t rows, int64_t cols),        \
      (in, loss, logits, offset, targets, scale, segments, rows, cols))                            \
    X(segment_entropy_backward,                                                                    \
      (gsa_backend * b, void *dlogits, const void *dloss, const void *logits,                      \
       const int64_t *offset, const int32_t *targets, double scale, int64_t segments,              \
       int64_t rows, int64_t cols),                                                                \
      (in, dlogits, dloss, logits, offset, targets, scale, segments, rows, cols))                  \
    X(square_error_forward,                                                                        \
      (gsa_backend * b, void *loss, const void *x, const void *target, double scale, int64_t n),   \
      (in, loss, x, target, scale, n))                                                             \
    X(square_error_backward,                                                                       \
      (gsa_backend * b, void *dx, const void *dloss, const void *x, const void *target,            \
       double scale, int64_t n),                                                                   \
      (in, dx, dloss, x, target, scale, n))                                                        \
    X(sum, (gsa_backend * b, double *out, const void *x, int64_t n), (in, out, x, n))              \
    X(sum_squares, (gsa_backend * b, double *out, const void *x, int accumulate, int64_t n),       \
      (in, out, x, accumulate, n))                                                                 \
    X(count_bad, (gsa_backend * b, int64_t * out, const void *x, int64_t n), (in, out, x, n))      \
    X(clip, (gsa_backend * b, double *control, const double *squares, double max_norm, int latch), \
      (in, control, squares, max_norm, latch))                                                     \
    X(adam,                                                                                        \
      (gsa_backend * b, void *w, void *m, void *v, const void *g, const double *control,           \
       const gsa_adam *adam, int64_t n),                                                           \
      (in, w, m, v, g, control, adam, n))                                                          \
    X(sgd,                                                                                         \
      (gsa_backend * b, void *w, void *m, const void *g, const double *control, double lr,         \
       double momentum, double l2, int64_t n),                                                     \
      (in, w, m, g, control, lr, momentum, l2, n))                                                 \
    X(gemm_part,                                                                                   \
      (gsa_backend * b, void *c, const void *a, const void *bb, int64_t m, int64_t n, int64_t k,   \
       const uint8_t *late, int rest),                                                             \
      (in, c, a, bb, m, n, k, late, rest))

#endif
