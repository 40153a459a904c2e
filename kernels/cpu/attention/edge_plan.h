/* edge_plan.h - what attention works out of edges before it computes: their tiles and their sweeps. Made once and kept in the edges' memo,
 * where they have one, so that layers, heads, directions and calls share it. */
#ifndef GSA_CPU_EDGE_PLAN_H
#define GSA_CPU_EDGE_PLAN_H
#include "kernels/cpu/attention/sweep.h"
#include "kernels/cpu/attention/tile.h"

typedef struct cpu_plan {
    int64_t rows, runs, edges; /* of what it is about */
    int has_tiles, labelled;
    cpu_sweeps sweeps;
    int64_t *at; /* [rows / LANES + 1]: where the tile stands that begins in these LANES rows, -1: none does */
    char *tiles;
} cpu_plan;

/* The plan of a call. Give it back with plan_done. NULL without memory: b->error says so. */
cpu_plan *cpu_plan_of(gsa_backend *b, const char *op, const ref_attend *t);
void cpu_plan_done(gsa_backend *b, const gsa_edges *edges, cpu_plan *plan);

/* 1 where a tile starts at `row`, which the call may work by. */
int cpu_plan_tile(const cpu_plan *plan, int64_t row, cpu_tile *tile);

#endif
