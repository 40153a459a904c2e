/* compare.h - array comparison that says where and how far, and a seeded generator for test
 * data. */
#ifndef GSA_TEST_COMPARE_H
#define GSA_TEST_COMPARE_H
#include <stdint.h>

/* 0 when |a-b| <= atol + rtol |b| everywhere (NaN equals NaN only); else prints name, worst index,
 * both values, max abs and max rel error to stderr and returns 1. */
int gsa_differ(const char *name, const double *a, const double *b, int64_t count, double atol,
               double rtol);
int gsa_differ_f(const char *name, const float *a, const double *b, int64_t count, double atol,
                 double rtol);
/* Normalised mean squared error: sum (a-b)^2 / sum b^2 (or sum (a-b)^2 where b is all 0). */
double gsa_nmse_f(const float *a, const double *b, int64_t count);

typedef struct gsa_dice {
    uint64_t state;
} gsa_dice; /* splitmix64 */
uint64_t gsa_roll(gsa_dice *dice);
int64_t gsa_between(gsa_dice *dice, int64_t low, int64_t high); /* inclusive */
double gsa_unit(gsa_dice *dice);                                /* [0, 1) */
double gsa_normal(gsa_dice *dice);
/* About normal, of mean 0 and variance 1, within 3.5: one word of dice and no logarithm, for arrays
 * that are large. */
double gsa_bell(gsa_dice *dice);

#endif
