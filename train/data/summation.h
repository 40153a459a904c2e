/* summation.h - Masked Summation (Guo et al. 2019, section 4.1): X is n x d, column 0 a 0/1 mask
 * with exactly k ones, the others uniform in [0, 1); the target is the sum of the other d-1 columns
 * over the masked rows. Examples are a function of (seed, split, index): nothing is stored, any
 * order of making them gives the same bits. */
#ifndef GSA_SUMMATION_H
#define GSA_SUMMATION_H
#include <stdint.h>

typedef struct gsa_summation {
    int32_t n, k, d; /* n >= k >= 0, d >= 2 */
    uint32_t seed;
} gsa_summation;

/* x [n, d], target [d-1]. O(n d). */
void gsa_summation_example(const gsa_summation *s, uint32_t split, uint64_t index, float *x,
                           float *target);

#endif
