/* metis.h - METIS (Karypis and Kumar 1998) as a group's partitioner, where it is there. */
#ifndef GSA_GROUP_METIS_H
#define GSA_GROUP_METIS_H
#include "graph/share.h"

#if GSA_HAVE_METIS
/* gsa_group.cut. METIS draws from rand(), and seeds it. A SIGTERM waits until it is done. */
int gsa_metis_cut(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                  size_t room);
#else
#define gsa_metis_cut NULL
#endif

#endif
