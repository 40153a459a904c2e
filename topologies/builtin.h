/* builtin.h - the topologies that every registry starts with. They use the ABI that plugins use and nothing else. */
#ifndef GSA_BUILTIN_H
#define GSA_BUILTIN_H
#include "graph/topology.h"

extern const gsa_topology gsa_topology_full, gsa_topology_ring, gsa_topology_star, gsa_topology_window;

extern const gsa_topology *const gsa_builtin[]; /* ends with NULL */

#endif
