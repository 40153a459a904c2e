/* ready.h - when a node's state can be computed: its *ready* index is the largest token that any
 * path into it starts from.
 *
 * Example:
 *
 *     #include <gsa/pattern.h>
 *     const gsa_setting causal = { "causal", "1" };
 *     const gsa_example example = { sizeof example, 6, 0, 1 };
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_instance *x = NULL;
 *     gsa_ready *ready = NULL;
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "full", &causal, 1, &pattern, &error) ||
 *                  gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &x, &error) ||
 *                  gsa_ready_create(NULL, x, 2, NULL, &ready, &error);
 *     if (failed) return puts(error.text), 1;
 *     const int32_t at = gsa_ready_at(ready, gsa_ready_steps(ready), 0)[4]; // after 2 layers
 *     printf("token 4 is known once token %d is\n", at);
 *     gsa_ready_release(ready), gsa_instance_release(x);
 *     gsa_pattern_release(pattern), gsa_registry_release(registry);
 *     return at != 4;
 *
 * -1 where no token reaches the node (zeros, memory). Generation computes at token t exactly the
 * rows with ready = t; a pattern leaks the future where token i ends with ready > i. Paths follow
 * what the phases compute, not only their edges:
 *   start    INPUT and COPY: node i has i. MEAN_INPUT: length - 1. ZERO, BY_PHASE, MEMORY: -1
 *   edges    a row is as late as its latest source; attend also as its own old state, which is the
 *            query
 *   updates  a residual keeps the old state in; without it only the aggregate counts; a kept row
 *            stays as it was
 *   heads    rows of a per-head phase are (node, head): the node is as late as its latest head
 *   order    once-phases, then the phases of each layer; a together group reads one old state
 * A state is a value: what a step does not write is shared with the step before.
 * Any thread may read what was made. Errors: GSA_ERR_ARGUMENT (layers below 0),
 * GSA_ERR_LIMIT (too many steps), GSA_ERR_MEMORY. */
#ifndef GSA_READY_H
#define GSA_READY_H
#include "instance.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For each row of a causal pattern, the token that completes it. Opaque. */
typedef struct gsa_ready gsa_ready;

/* Runs `layers` layers (0: the once-phases alone). `start`, or start[kind], may be NULL; else it
 * gives the kind's nodes their index at entry, for a segment that is not the first, and is read
 * only during the call; once-phases whose destinations all have one do not run. Keeps a reference
 * to the instance, whose schema must outlive it.
 * O(nodes + runs) a step while indices rise within each source kind (causal patterns), at most
 * O(nodes + edges) otherwise. */
gsa_status gsa_ready_create(const gsa_system *system, gsa_instance *instance, int layers,
                            const int32_t *const *start, gsa_ready **ready, gsa_error *error);
void gsa_ready_release(gsa_ready *ready); /* NULL does nothing */

/* How many steps there are: phases in order of execution. */
int gsa_ready_steps(const gsa_ready *ready);
/* The phase that a step runs and its layer from 0; layer -1: a once-phase. */
void gsa_ready_step(const gsa_ready *ready, int step, int *phase, int *layer);
/* The indices of the kind's nodes before `step`; step = steps: at the end. Lives as long as
 * `ready`. */
const int32_t *gsa_ready_at(const gsa_ready *ready, int step, int kind);

/* One phase alone, for who follows several patterns in turns: next[kind][node] of its destination
 * kinds, from `now`, the indices before it, and `old`, those that its sources have: now's, or its
 * together group's. All by kind; kinds that the phase neither reads nor writes may be NULL. */
void gsa_ready_phase(const gsa_instance *instance, int phase, const int32_t *const *old,
                     const int32_t *const *now, int32_t *const *next);

#ifdef __cplusplus
}
#endif
#endif
