/* sweep_nest.h - ranges of 2, 4, 8, 16 and 32 sources that part NEST sources by halves: the lowest spans of a tree, 16 lanes.
 *
 * Range by range, a source is read once a level, and a row of two edges is mostly the reading of q and the writing of its output. A nest
 * takes four sources at a time into registers, and all of its rows that read them pass by: each row of K and of V is read once, each
 * vector of a query meets all of the four that its row reads, and what is summed up is folded for four sources at once. Scores stand
 * level by level, [level][source]: maxima and sums go across the lanes of a range, for all ranges of a level at a time. Heads of at most
 * SLICE vectors; not with dropout, nor where labels differ along a range. */
#ifndef GSA_CPU_SWEEP_NEST_H
#define GSA_CPU_SWEEP_NEST_H
#include "kernels/cpu/sweep.h"

/* Whether a call works by nests. */
static inline int cpu_nests(const ref_attend *t)
{
    return LANES == 16 && t->dim > 0 && t->dim <= SLICE * LANES && !t->drop.on;
}

/* The forward pass of its rows. `next`: the nest behind, whose queries and first keys are asked for meanwhile; NULL: nothing is. */
void GSA_CPU(nest_forward)(const ref_attend *t, const cpu_nest *nest, const cpu_nest *next);

#endif
