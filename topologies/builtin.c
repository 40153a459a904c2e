#include "builtin.h"

const gsa_topology *const gsa_builtin[] = { &gsa_topology_full, &gsa_topology_ring, &gsa_topology_star, &gsa_topology_window,
                                            NULL };
