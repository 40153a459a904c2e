/* host.h - the services that a pattern's plugin is given while it is created; not installed. */
#ifndef GSA_TOPOLOGY_HOST_H
#define GSA_TOPOLOGY_HOST_H
#include "graph/column.h"
#include "graph/status.h"
#include "graph/system.h"
#include "graph/topology.h"
#include "words.h"

typedef struct gsa_service {
    char *id;
    const void *service;
} gsa_service;
typedef struct gsa_services {
    gsa_service *at;
    int count;
} gsa_services;

/* The host as one pattern's plugin sees it. While `creating`, the first failure and a lack of
 * memory are remembered; later calls (destroy, or allocation from another thread) change nothing
 * here. */
typedef struct gsa_hosting {
    gsa_host table;
    const gsa_system *system;
    const gsa_services *services;
    int creating, failed, starved;
    gsa_error said;
    int columns; /* that were requested */
    char column[GSA_COLUMNS_ASKED][GSA_WORD_LIMIT + 1];
} gsa_hosting;
void gsa_hosting_open(gsa_hosting *hosting, const gsa_system *system, const gsa_services *services);
gsa_column_service gsa_column_service_of(void);
/* Remembers that a service had no memory for the plugin that is being created: as a NULL from
 * alloc. */
void gsa_host_starve(const gsa_host *host);

#endif
