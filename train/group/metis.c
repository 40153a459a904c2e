#include "train/group/metis.h"
#include <metis.h>
#include <stdio.h>

_Static_assert(IDXTYPEWIDTH == 32, "indices of METIS are those of the graph");

/* Of all cuts of like work it seeks the one where the fewest rows are sent. */
int gsa_metis_cut(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                  size_t room)
{
    idx_t options[METIS_NOPTIONS], nodes = graph->nodes, constraints = 1, volume = 0;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_VOL;
    options[METIS_OPTION_SEED] = 1;
    const int rc =
        METIS_PartGraphKway(&nodes, &constraints, graph->first, graph->adjacent, graph->weight,
                            NULL, NULL, &parts, NULL, NULL, options, &volume, part);
    if (rc == METIS_OK) return 0;
    snprintf(why, room, "METIS %s",
             rc == METIS_ERROR_MEMORY ? "lacks memory" : "refuses the graph");
    return -1;
}
