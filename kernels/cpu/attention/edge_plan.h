/* edge_plan.h - what attention works out of edges before it computes: their blocks and their
 * intervals. Made once and kept in the edges' memo, where they have one, so that layers, heads,
 * directions and calls share it. */
#ifndef GSA_CPU_EDGE_PLAN_H
#define GSA_CPU_EDGE_PLAN_H
#include "kernels/cpu/attention/interval.h"
#include "kernels/cpu/attention/bcsr.h"

typedef struct cpu_plan {
    int64_t rows, runs, edges; /* of what it is about */
    int labelled;              /* of the blocks */
    cpu_intervals intervals;
    ref_looks looks; /* of the backward pass */
    char **blocks;   /* [rows / LANES + 1]: of LANES rows the first of which is among these, one
                        after another; NULL: there are none. NULL: nobody has looked */
} cpu_plan;

/* The plan of a call. Give it back with plan_done. NULL without memory: b->error says so. */
cpu_plan *cpu_plan_of(gsa_backend *b, const char *op, const ref_attend *t);
void cpu_plan_done(gsa_backend *b, const gsa_edges *edges, cpu_plan *plan);

enum { PLAN_BLOCKS = BCSR_UNION / BCSR_COLUMNS /* of the same rows at most */ };

/* The blocks of the rows from `row` on, which the call may work by; returns how many. */
int cpu_plan_blocks(const cpu_plan *plan, int64_t row, bcsr_block block[PLAN_BLOCKS]);

#endif
