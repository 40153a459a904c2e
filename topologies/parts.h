/* parts.h - what the files of topologies/ share about the registry and the host table; not
 * installed. */
#ifndef GSA_TOPOLOGY_PARTS_H
#define GSA_TOPOLOGY_PARTS_H
#include "graph/column.h"
#include "lexicon.h"
#include "registry.h"
#include "words.h"

typedef struct gsa_entry {
    const gsa_topology *topology;
    const char *origin; /* owned when `library` is set */
    void *library;      /* dlopen's handle, or NULL */
} gsa_entry;
typedef struct gsa_service {
    char *id;
    const void *service;
} gsa_service;

struct gsa_registry {
    const gsa_system *system;
    gsa_entry *entries; /* by id, ascending */
    gsa_service *services;
    int count, n_services;
    gsa_lexicon_service lexicon; /* offered from the start, as is the other */
    gsa_column_service column;
};

/* Checks the topology and puts it in its place; on failure the registry is unchanged and the entry
 * stays the caller's. */
gsa_status gsa_registry_insert(gsa_registry *registry, const gsa_entry *entry, gsa_error *error);
void gsa_unload(gsa_registry *registry, gsa_entry *entry);

/* The host as one pattern's plugin sees it. While `creating`, the first failure and a lack of
 * memory are remembered; later calls (destroy, or allocation from another thread) change nothing
 * here. */
typedef struct gsa_hosting {
    gsa_host table;
    const gsa_registry *registry;
    int creating, failed, starved;
    gsa_error said;
    int columns; /* that were asked for */
    char column[GSA_COLUMNS_ASKED][GSA_WORD_LIMIT + 1];
} gsa_hosting;
void gsa_hosting_open(gsa_hosting *hosting, const gsa_registry *registry);
gsa_column_service gsa_column_service_of(void);
/* Remembers that a service had no memory for the plugin that is being created: as a NULL from
 * alloc. */
void gsa_host_starve(const gsa_host *host);

#endif
