/* dense.h - masked dense attention in double, written from the equations of backend.h's head alone:
 * a score matrix [rows][all sources][multiplicity] per head with -inf where no edge is. Slow, and
 * shares no code with kernels/ref. */
#ifndef GSA_TEST_DENSE_H
#define GSA_TEST_DENSE_H
#include "support/edges_of.h"

typedef struct dense_part {
    const double *k, *v;
    double *dk, *dv;
} dense_part;

/* All host memory. Outputs are written, gradients are added to; those that are NULL are skipped. */
typedef struct dense_attend {
    const gsa_edges *edges;
    int32_t heads, dim;
    double scale;
    const double *q, *r, *bias;
    const dense_part *parts;
    gsa_dropout dropout;
    double *out, *lse, *weights;
    const double *dout; /* NULL: forward only */
    double *dq, *dr, *dbias;
} dense_attend;

void dense_run(const dense_attend *problem);

/* The factor that the stated key gives: 0 or 1/(1-p). */
double dense_attention_factor(const gsa_dropout *dropout, const gsa_edges *edges, int64_t row,
                              int32_t k, int32_t head);
double dense_state_factor(const gsa_dropout *dropout, int64_t row, int64_t column);

#endif
