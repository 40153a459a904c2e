/* registry.h - which topologies exist: the built-ins, and plugins loaded from a path.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_registry *registry;
 *     if (gsa_registry_create(NULL, &registry, &error)) return puts(error.text), 1;
 *     if (gsa_registry_load(registry, "./plugin.so", &error)) puts(error.text); // there is none
 *     for (int i = 0; i < gsa_registry_count(registry); i++) {
 *         const gsa_topology *known = gsa_registry_at(registry, i);
 *         printf("%s: %s (%s)\n", known->id, known->summary, gsa_registry_origin(registry, i));
 *     }
 *     if (!gsa_registry_find(registry, "windw", &error)) puts(error.text); // names the nearest
 *     gsa_registry_release(registry);
 *     return 0;
 *
 * Law.  A registry is made, filled by one thread, then read by any. Topologies live as long as the
 *     registry. Loading runs the plugin's code in this process: that is trust, not isolation;
 *     everything that it emits is checked.
 *     Errors: GSA_ERR_ARGUMENT (a path without a slash, an id twice), GSA_ERR_IO (no such file),
 *     GSA_ERR_PLUGIN (no topology in it, or a broken one), GSA_ERR_LIMIT (too many),
 *     GSA_ERR_MEMORY. */
#ifndef GSA_REGISTRY_H
#define GSA_REGISTRY_H
#include "graph/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The topologies that a process knows, built in and loaded. Opaque. */
typedef struct gsa_registry gsa_registry;

/* With the built-in topologies in it. */
gsa_status gsa_registry_create(const gsa_system *system, gsa_registry **registry, gsa_error *error);
void gsa_registry_release(gsa_registry *registry);

/* Loads a shared object: the path must hold a slash (nothing is searched for), RTLD_NOW |
 * RTLD_LOCAL. One sentence for every way it can fail: no slash, no such file, no regular file, not
 * a shared object (the loader's words), no gsa_plugin_1 symbol (and which other gsa_plugin_N it
 * has), wrong abi, struct_size or param_stride too small, missing describe or emit, malformed id,
 * doc or parameter (duplicate name, reserved name, fallback that its own range refuses), an id that
 * is taken. */
gsa_status gsa_registry_load(gsa_registry *registry, const char *path, gsa_error *error);

/* A plugin may export a task too, or a task alone (task.h): the symbol with the task ABI's number.
 */
#define GSA_TASK_ABI 1u
/* The symbol of a plugin's task. */
#define GSA_TASK_PLUGIN gsa_task_1
/* What the `index`-th of the loaded plugins that export the symbol has under it, and its path;
 * NULL: there are fewer. */
const void *gsa_registry_symbol(const gsa_registry *registry, const char *symbol, int index,
                                const char **origin);

/* Adds a topology that lives in this program (embedders, tests); checked alike; must outlive the
 * registry. */
gsa_status gsa_registry_add(gsa_registry *registry, const gsa_topology *topology, gsa_error *error);

/* How many topologies are known. */
int gsa_registry_count(const gsa_registry *registry);
const gsa_topology *gsa_registry_at(const gsa_registry *registry, int index); /* by id, ascending */
const char *gsa_registry_origin(const gsa_registry *registry,
                                int index); /* "built-in", "this program" or the path */
/* The topology, or NULL and a sentence that lists the known ids and the nearest one. */
const gsa_topology *gsa_registry_find(const gsa_registry *registry, const char *id,
                                      gsa_error *error);
/* Parameter `index` of a topology, wherever its stride puts it. */
const gsa_param *gsa_topology_param(const gsa_topology *topology, uint32_t index);

/* A service that plugins may request from the host by `id` ("gsa.lexicon/1"); `service` must
 * outlive the registry. Replaces an equal id. */
gsa_status gsa_registry_offer(gsa_registry *registry, const char *id, const void *service,
                              gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
