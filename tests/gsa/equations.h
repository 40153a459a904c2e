/* equations.h - two papers' equations, written down once more with plain loops over one sequence;
 * nothing of the project is used but the parameters' values, found by name. */
#ifndef GSA_TEST_EQUATIONS_H
#define GSA_TEST_EQUATIONS_H
#include "gsa/parameters.h"

typedef struct equation_model {
    const gsa_parameters *parameters;
    gsa_backend *backend;
    int hidden, heads, head_dim, ffn;
} equation_model;

/* Star-Transformer (Guo et al. 2019), equations 4 to 8 and algorithm 1: `layers` layers over e [n,
 * hidden]; h [n, hidden], s [hidden]. */
void star_equations(const equation_model *m, int layers, int n, const double *e, double *h,
                    double *s);
/* One Transformer encoder layer (Vaswani et al. 2017), post-norm, whole sequence: x [n, hidden] in
 * place. */
void transformer_equations(const equation_model *m, int layer, int n, double *x);

#endif
