/* sweep_four.h - four short ranges of one length at a time.
 *
 * The lowest spans of a tree are many rows of two, four or eight edges: alone, each waits for its
 * own sums, exponential and logarithm. Lane 4 j + i of a score vector is head j of row i, a vector
 * one place of the range: nothing is summed or searched across lanes, and exponential, logarithm
 * and division are done for four rows and QUADS heads at once. */
#ifndef GSA_CPU_SWEEP_FOUR_H
#define GSA_CPU_SWEEP_FOUR_H
#include "kernels/cpu/attention/sweep.h"

enum { FOUR = 4, FOUR_PLACES = 32 /* edges of a row at most */ };

typedef struct cpu_four {
    const ref_attend *t;
    int64_t row[FOUR];
    int64_t ahead; /* numbers from a row to one that comes later, which is asked for; 0: none is */
    int32_t places, kind, first[FOUR], label[FOUR]; /* the first source */
    const float *q[FOUR], *k[FOUR], *v[FOUR], *r[FOUR];
} cpu_four;

typedef struct cpu_fours { /* rows that wait until there are four of a length */
    int32_t waiting[FOUR_PLACES + 1], row[FOUR_PLACES + 1][FOUR];
} cpu_fours;

static inline void cpu_fours_start(cpu_fours *x)
{
    memset(x->waiting, 0, sizeof x->waiting);
}

/* Whether a range may go with three others. */
static inline int cpu_foured(const ref_attend *t, const gsa_run *run)
{
    return t->dim > 0 && !t->drop.on && run->count <= FOUR_PLACES &&
           (run->count == 1 || run->label_step == 0);
}

/* A row waits; 1 when it was the fourth: then `four` is filled, and none waits any more. */
int cpu_four_put(const ref_attend *t, cpu_fours *x, int32_t row, cpu_four *four);
void cpu_four_forward(const cpu_four *four);
/* The gradients of some heads; 0 when a row has no gradient (its lse is -inf): then nothing is
 * done. */
int cpu_four_backward(const cpu_four *four, int32_t first, int32_t last,
                      const ref_label_sums *sums);

#endif
