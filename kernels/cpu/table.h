/* table.h - the entries of the table that a level fills itself. Private to kernels/cpu/. */
#ifndef GSA_CPU_TABLE_H
#define GSA_CPU_TABLE_H
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/isa/vector.h"

extern const gsa_cpu_probe cpu_probe;
gsa_status cpu_attend_forward(gsa_backend *b, const gsa_attend_args *args);
gsa_status cpu_attend_backward(gsa_backend *b, const gsa_attend_args *args);
gsa_status cpu_dropout_forward(gsa_backend *b, void *y, const void *x, const gsa_dropout *dropout,
                               int64_t rows, int64_t cols);
gsa_status cpu_dropout_backward(gsa_backend *b, void *dx, const void *dy,
                                const gsa_dropout *dropout, int64_t rows, int64_t cols);
gsa_status cpu_cross_entropy_forward(gsa_backend *b, void *loss, void *nll, const void *logits,
                                     const int32_t *targets, double smoothing, double scale,
                                     int64_t rows, int64_t classes);
gsa_status cpu_cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                      const void *logits, const int32_t *targets, double smoothing,
                                      double scale, int accumulate, int64_t rows, int64_t classes);
gsa_status cpu_activate_forward(gsa_backend *b, void *y, const void *x, int activation,
                                int64_t count);
gsa_status cpu_activate_backward(gsa_backend *b, void *dx, const void *dy, const void *x,
                                 int activation, int accumulate, int64_t count);
gsa_status cpu_norm_forward(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                            const void *gain, const void *bias, double eps, int64_t rows,
                            int64_t cols);
gsa_status cpu_norm_backward(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                             const void *x, const void *gain, const void *mean, const void *rstd,
                             int accumulate, int64_t rows, int64_t cols);
gsa_status cpu_adam(gsa_backend *b, void *w, void *m, void *v, const void *g, const double *control,
                    const gsa_adam *adam, int64_t count);
gsa_status cpu_sum_squares(gsa_backend *b, double *out, const void *x, int accumulate,
                           int64_t count);

#endif
