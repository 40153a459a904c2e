/* coverage.h - how far the attention of a translation covers its source (Wu et al. 2016, eq. 14):
 *
 *   cp(X; Y) = beta * sum_i log(min(sum_j p_ij, 1))
 *
 * p_ij is the attention of target position j to source position i: the softmax weight in the last
 * layer of the decoder whose tokens attend to the source, in its last such pattern and phase, mean
 * over the heads. j goes over the positions that predict the translation and its end; i over the
 * source's positions, </s> too, that an edge leads to. */
#ifndef GSA_COVERAGE_H
#define GSA_COVERAGE_H
#include "gsa/stack.h"

typedef struct gsa_coverage {
    gsa_watched watched;        /* the phase */
    const gsa_pattern *pattern; /* its pattern */
    int kind;                   /* the memory, as a kind of the pattern's schema */
    int zero;
} gsa_coverage;
/* A sentence where no phase of the decoder attends from its tokens alone to the source. */
gsa_status gsa_coverage_find(const gsa_stack *decoder, gsa_coverage *coverage, gsa_error *error);

/* sum [sources] += the weights of rows first .. last - 1 of an example whose edges these are;
 * weights [edges, heads]. A source that an edge of these rows leads to has a sum of at least 0,
 * others keep theirs. `source` has room for the edges. */
void gsa_coverage_add(const gsa_coverage *coverage, const gsa_edges *edges, const double *weights,
                      int32_t heads, int64_t first, int64_t last, int32_t *source, double *sum);
/* sum_i log(min(sum_i, 1)) over those that are not negative; 0 of none. */
double gsa_coverage_of(const double *sum, int32_t sources);

#endif
