/* registry_parts.h - what the files of topologies/ share about the registry; not installed. */
#ifndef GSA_TOPOLOGY_REGISTRY_PARTS_H
#define GSA_TOPOLOGY_REGISTRY_PARTS_H
#include "graph/column.h"
#include "host.h"
#include "lexicon.h"
#include "registry.h"

typedef struct gsa_entry {
    const gsa_topology *topology;
    const char *origin; /* owned when `library` is set */
    void *library;      /* dlopen's handle, or NULL */
} gsa_entry;

enum { GSA_PLUGINS_MOST = 64 }; /* plugins of tasks alone that one registry takes */

struct gsa_registry {
    const gsa_system *system;
    gsa_entry *entries; /* by id, ascending */
    gsa_services services;
    int count, n_others;
    gsa_entry others[GSA_PLUGINS_MOST]; /* plugins without a topology */
    gsa_lexicon_service lexicon;        /* offered from the start, as is the other */
    gsa_column_service column;
};

/* Checks the topology and puts it in its place; on failure the registry is unchanged and the entry
 * stays the caller's. */
gsa_status gsa_registry_insert(gsa_registry *registry, const gsa_entry *entry, gsa_error *error);
void gsa_unload(gsa_registry *registry, gsa_entry *entry);

/* Is a topology's struct what the ABI says? Checked once, when it enters a registry. Fixed fields
 * first (abi, struct_size), so that no byte is read that the struct does not have. Refuses: another
 * abi, struct_size or param_stride too small, no describe or emit, destroy without create, a
 * malformed id, summary or reference, and for each parameter: a malformed, reserved or repeated
 * name, an unknown type, a range or a list of choices that holds nothing, no doc line, a fallback
 * that its own range refuses. */
gsa_status gsa_topology_sound(const gsa_topology *topology, gsa_error *error);

#endif
