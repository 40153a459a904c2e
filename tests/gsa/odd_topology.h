/* odd_topology.h - a pattern of tests: odd_topology.c says what it is. */
#ifndef GSA_TEST_ODD_TOPOLOGY_H
#define GSA_TEST_ODD_TOPOLOGY_H
#include "graph/topology.h"

extern const gsa_topology odd_topology;

#endif
