/* edge_plan.h - what attention works out of edges before it computes: their blocks and their
 * intervals. Made once and kept in the edges' memo, where they have one, so that layers, heads,
 * directions and calls share it. */
#ifndef GSA_CPU_EDGE_PLAN_H
#define GSA_CPU_EDGE_PLAN_H
#include <stdatomic.h>
#include "kernels/cpu/attention/interval.h"
#include "kernels/cpu/attention/bcsr.h"

typedef struct cpu_plan {
    int64_t rows, runs, edges; /* of what it is about */
    int has_tiles, labelled;
    cpu_intervals intervals;
    int64_t *at; /* [rows / LANES + 1]: where the first block of these LANES rows is, -1: none
                    does */
    char *tiles;
    void *room_memory; /* of the call in progress */
    char *rooms;       /* in it, at a multiple of 64 */
    int room_count;
} cpu_plan;

/* The plan of a call. Give it back with plan_done. NULL without memory: b->error says so. */
cpu_plan *cpu_plan_of(gsa_backend *b, const char *op, const ref_attend *t);
void cpu_plan_done(gsa_backend *b, const gsa_edges *edges, cpu_plan *plan);

/* A room is memory for what one thread works on that is too large for its stack, whatever was in it
 * before; there is one for each thread of a call. A thread holds one at a time. */
enum { ROOM_BYTES = 640 << 10, ROOM_LINE = 64 /* which tells whether it is taken */ };
static inline void *cpu_room_take(const cpu_plan *plan)
{
    for (int i = 0;; i = (i + 1) % plan->room_count) {
        char *room = plan->rooms + (int64_t)i * (ROOM_LINE + ROOM_BYTES);
        if (!atomic_exchange((_Atomic int *)(void *)room, 1)) return room + ROOM_LINE;
    }
}
static inline void cpu_room_give(void *room)
{
    atomic_store((_Atomic int *)(void *)((char *)room - ROOM_LINE), 0);
}

enum { PLAN_BLOCKS = BCSR_UNION / BCSR_COLUMNS /* of the same rows at most */ };

/* The blocks of the rows from `row` on, which the call may work by; returns how many. */
int cpu_plan_blocks(const cpu_plan *plan, int64_t row, bcsr_block block[PLAN_BLOCKS]);

#endif
