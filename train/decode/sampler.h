/* sampler.h - draws the next token.
 *
 * From logits z, in this order:
 *   temperature T   z / T. T = 0: the largest, without chance
 *   top_k           the k largest stay; k = 0: all
 *   top_p           of these, the fewest whose probabilities, softmax over the k, add up to p or
 *     more (Holtzman et al. 2020); at least one
 *   draw            by softmax over what stays: the first class, by index, at which the sum exceeds
 *     u times the whole
 * Where logits are equal the smaller index is first. -inf: a class that is never drawn. Sums
 * are in double. */
#ifndef GSA_SAMPLER_H
#define GSA_SAMPLER_H
#include "graph/system.h"

typedef struct gsa_sampling {
    double temperature; /* >= 0 */
    double top_p;       /* 0 < p <= 1 */
    int32_t top_k;
    int32_t zero;
} gsa_sampling;

typedef struct gsa_sampler gsa_sampler;
gsa_status gsa_sampler_create(const gsa_system *system, const gsa_sampling *sampling,
                              int32_t classes, gsa_sampler **sampler, gsa_error *error);
void gsa_sampler_release(gsa_sampler *sampler); /* NULL does nothing */

/* logits [classes]; 0 <= u < 1. *log_p, where not NULL: log softmax(z / T) (T = 0: of z) of what is
 * drawn, over all classes. GSA_ERR_FORMAT where a logit is NaN or +inf, or all are -inf.
 * O(classes), with top_k or top_p O(classes log classes). */
gsa_status gsa_sampler_draw(gsa_sampler *sampler, const double *logits, double u, int32_t *drawn,
                            double *log_p, gsa_error *error);

/* A number of [0, 1), 53 bits: a function of these alone. */
double gsa_sample_uniform(uint32_t seed, uint32_t stream, int64_t position);

#endif
