/* sweep_four.h - four short ranges of one length at a time.
 *
 * The lowest spans of a tree are many rows of two, four or eight edges: alone, each waits for its own sums, exponential and logarithm.
 * Lane 4 j + i of a score vector is head j of row i, a vector one place of the range: nothing is summed or searched across lanes, and
 * exponential, logarithm and division are done for four rows and QUADS heads at once. */
#ifndef GSA_CPU_SWEEP_FOUR_H
#define GSA_CPU_SWEEP_FOUR_H
#include "kernels/cpu/sweep.h"

enum { FOUR = 4, FOUR_PLACES = 32 /* edges of a row at most */ };

typedef struct cpu_four {
    const ref_attend *t;
    int64_t row[FOUR];
    int64_t ahead; /* numbers from a row to one that comes later, which is asked for; 0: none is */
    int32_t places, kind, first[FOUR], label[FOUR]; /* the first source */
    const float *q[FOUR], *k[FOUR], *v[FOUR], *r[FOUR];
} cpu_four;

/* 1 when the first FOUR of `left` rows are such: then it is filled. */
int GSA_CPU(four_of)(const ref_attend *t, const int32_t *row, int64_t left, cpu_four *four);
void GSA_CPU(four_forward)(const cpu_four *four);
/* The gradients of some heads; 0 when a row has no gradient (its lse is -inf): then nothing is done. */
int GSA_CPU(four_backward)(const cpu_four *four, int32_t first, int32_t last, const ref_label_sums *sums);

#endif
