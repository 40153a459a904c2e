#include "builtin.h"

const gsa_topology *const gsa_builtin[] = { &gsa_topology_bpt,
                                            &gsa_topology_char_word,
                                            &gsa_topology_full,
                                            &gsa_topology_ring,
                                            &gsa_topology_star,
                                            &gsa_topology_window,
                                            &gsa_topology_bigbird,
                                            &gsa_topology_cross,
                                            &gsa_topology_dilated,
                                            &gsa_topology_head_area,
                                            &gsa_topology_longformer,
                                            &gsa_topology_strided,
                                            NULL };
