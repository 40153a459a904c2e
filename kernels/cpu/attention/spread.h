/* spread.h - what a block's edges add to the rows they come from, all heads of a row together: y_e
 * += p_e,h x.
 *
 * Heads of widths that are no multiple of LANES meet inside vectors: each vector of a row then has
 * its own shares, lane by lane, picked out of the scores as they are. Rows are so read and
 * written by whole vectors. Head by head they end with vectors of which a part is written, and what
 * reads these soon after (the next edge, the next row) waits until they have reached the cache. */
#ifndef GSA_CPU_SPREAD_H
#define GSA_CPU_SPREAD_H
#include "kernels/cpu/attention/attend.h"

enum {
    SPREAD_VECTORS = 16, /* of a row of all heads at work */
    SPREAD_NARROWEST = 4 /* head: a vector then meets two groups of heads at most */
};

typedef struct cpu_spread_plan {
    int32_t heads, vectors;
    int whole; /* the last vector is */
    lanes end;
    int32_t group[SPREAD_VECTORS]; /* of the first lane's head */
    picks pick[SPREAD_VECTORS]; /* its shares among those of edge 0 of four, of this group and the
                                   next */
} cpu_spread_plan;

/* 0 where heads do not meet inside vectors, or rows are too wide. */
static inline int cpu_plan_spread(cpu_spread_plan *plan, int32_t dim, int32_t heads)
{
    const int32_t columns = dim * heads;
    plan->heads = heads;
    plan->vectors = (columns + LANES - 1) / LANES, plan->whole = columns % LANES == 0;
    if (dim % LANES == 0 || dim < SPREAD_NARROWEST || plan->vectors > SPREAD_VECTORS) return 0;
    plan->end = lanes_first(columns - (plan->vectors - 1) * LANES);
    for (int32_t v = 0, head = 0, left = dim; v < plan->vectors;
         v++) { /* left: columns of the head that are to come */
        int32_t from[LANES];
        plan->group[v] = head / QUADS;
        for (int32_t i = 0; i < LANES; i++) {
            from[i] = head < heads ? 4 * (head - plan->group[v] * QUADS) : 0;
            if (--left == 0) head++, left = dim;
        }
        plan->pick[v] = picks_load(from);
    }
    return 1;
}

/* y[e] += share_e,h x where y[e] is not NULL, in order; shares as scores are, x and y[e] at the
 * first head's first column. */
static inline void cpu_spread_heads(const cpu_spread_plan *plan, float *const *y,
                                    const float *share, const float *x, int32_t count)
{
    for (int32_t v = 0; v < plan->vectors; v++) {
        const int whole = v + 1 < plan->vectors || plan->whole;
        const float *own = share + plan->group[v] * SCORES,
                    *next = plan->group[v] + 1 < GROUPS ? own + SCORES : own;
        const vec part = whole ? vec_load(x + v * LANES) : vec_load_first(x + v * LANES, plan->end);
        for (int32_t e = 0; e < count; e++) {
            if (!y[e]) continue;
            const int32_t quad = e / 4 * LANES;
            const vec p = vec_pick(vec_load(own + quad), vec_load(next + quad),
                                   picks_after(plan->pick[v], e % 4));
            float *at = y[e] + v * LANES;
            if (whole) vec_store(at, vec_fma(p, part, vec_load(at)));
            else vec_store_first(at, plan->end, vec_fma(p, part, vec_load_first(at, plan->end)));
        }
    }
}

#endif
