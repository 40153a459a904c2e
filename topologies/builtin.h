/* builtin.h - the topologies that every registry starts with. They use the ABI that plugins use and
 * nothing else. */
#ifndef GSA_BUILTIN_H
#define GSA_BUILTIN_H
#include "graph/topology.h"

extern const gsa_topology gsa_topology_bpt, gsa_topology_full, gsa_topology_ring, gsa_topology_star,
    gsa_topology_window;
extern const gsa_topology gsa_topology_char_word;
extern const gsa_topology gsa_topology_bigbird, gsa_topology_cross, gsa_topology_dilated,
    gsa_topology_head_area;
extern const gsa_topology gsa_topology_longformer, gsa_topology_strided;

extern const gsa_topology *const gsa_builtin[]; /* ends with NULL */

#endif
