#include "train/group/metis.h"
#include <metis.h>
#include <signal.h>
#include <stdio.h>

_Static_assert(IDXTYPEWIDTH == 32, "indices of METIS are those of the graph");

/* METIS catches SIGTERM and SIGABRT while it works, and leaves handlers that act once: SIGTERM
 * waits, and both are handled as before. */
typedef struct guard {
    struct sigaction term, abort;
    sigset_t mask;
} guard;

static void guard_set(guard *g)
{
    sigset_t waits;
    sigemptyset(&waits);
    sigaddset(&waits, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &waits, &g->mask);
    sigaction(SIGTERM, NULL, &g->term);
    sigaction(SIGABRT, NULL, &g->abort);
}

static void guard_release(const guard *g)
{
    sigaction(SIGTERM, &g->term, NULL);
    sigaction(SIGABRT, &g->abort, NULL);
    pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
}

/* Of all cuts of like work it seeks the one where the fewest rows are sent. */
int gsa_metis_cut(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                  size_t room)
{
    idx_t options[METIS_NOPTIONS], nodes = graph->nodes, constraints = 1, volume = 0;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_VOL;
    options[METIS_OPTION_SEED] = 1;
    guard signals;
    guard_set(&signals);
    const int rc =
        METIS_PartGraphKway(&nodes, &constraints, graph->first, graph->adjacent, graph->weight,
                            NULL, NULL, &parts, NULL, NULL, options, &volume, part);
    guard_release(&signals);
    int inside = rc == METIS_OK; /* it has said so of nodes that it gave to no part */
    for (idx_t i = 0; i < nodes && inside; i++) inside = part[i] >= 0 && part[i] < parts;
    if (inside) return 0;
    snprintf(why, room, "METIS %s",
             rc == METIS_ERROR_MEMORY ? "lacks memory" : "refuses the graph");
    return -1;
}
