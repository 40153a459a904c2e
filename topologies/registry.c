#include "registry.h"
#include <string.h>
#include "builtin.h"
#include "registry_parts.h"
#include "words.h"

gsa_status gsa_registry_create(const gsa_system *system, gsa_registry **registry, gsa_error *error)
{
    gsa_registry *r = gsa_alloc_zero(system, 1, sizeof *r);
    *registry = NULL;
    if (!r) return gsa_out_of_memory(error, "the registry of topologies", sizeof *r);
    r->system = system;
    r->lexicon = gsa_lexicon_service_of(system);
    r->column = gsa_column_service_of();
    gsa_status status = gsa_registry_offer(r, GSA_LEXICON_SERVICE, &r->lexicon, error);
    if (status == GSA_OK) status = gsa_registry_offer(r, GSA_COLUMN_SERVICE, &r->column, error);
    for (int i = 0; gsa_builtin[i] && status == GSA_OK; i++)
        status = gsa_registry_insert(r, &(gsa_entry){ gsa_builtin[i], "built-in", NULL }, error);
    if (status != GSA_OK) {
        gsa_registry_release(r);
        return status;
    }
    *registry = r;
    return GSA_OK;
}

void gsa_registry_release(gsa_registry *registry)
{
    if (!registry) return;
    const gsa_system *system = registry->system;
    for (int i = 0; i < registry->count; i++) gsa_unload(registry, &registry->entries[i]);
    for (int i = 0; i < registry->n_others; i++) gsa_unload(registry, &registry->others[i]);
    for (int i = 0; i < registry->services.count; i++)
        gsa_release(system, registry->services.at[i].id);
    gsa_release(system, registry->entries);
    gsa_release(system, registry->services.at);
    gsa_release(system, registry);
}

/* The place of the id, or where it belongs when it is not there: the first entry that is not
 * less. */
static int place_of(const gsa_registry *registry, const char *id)
{
    int place = 0;
    while (place < registry->count && strcmp(registry->entries[place].topology->id, id) < 0)
        place++;
    return place;
}

gsa_status gsa_registry_insert(gsa_registry *registry, const gsa_entry *entry, gsa_error *error)
{
    const gsa_status status = gsa_topology_sound(entry->topology, error);
    if (status != GSA_OK) return status;
    const char *id = entry->topology->id;
    const int place = place_of(registry, id), after = registry->count - place;
    if (after > 0 && strcmp(registry->entries[place].topology->id, id) == 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "the id '%s' is taken (by %s)", id,
                        registry->entries[place].origin);
    gsa_entry *entries = gsa_resize(registry->system, registry->entries,
                                    (size_t)registry->count + 1, sizeof *entries);
    if (!entries)
        return gsa_out_of_memory(error, "the list of topologies",
                                 (registry->count + 1) * (int64_t)sizeof *entries);
    memmove(entries + place + 1, entries + place, (size_t)after * sizeof *entries);
    entries[place] = *entry;
    registry->entries = entries;
    registry->count++;
    return GSA_OK;
}

gsa_status gsa_registry_add(gsa_registry *registry, const gsa_topology *topology, gsa_error *error)
{
    if (!topology) return gsa_fail(error, GSA_ERR_ARGUMENT, "the topology to add is NULL");
    return gsa_registry_insert(registry, &(gsa_entry){ topology, "this program", NULL }, error);
}

int gsa_registry_count(const gsa_registry *registry)
{
    return registry->count;
}

const gsa_topology *gsa_registry_at(const gsa_registry *registry, int index)
{
    return index >= 0 && index < registry->count ? registry->entries[index].topology : NULL;
}

const char *gsa_registry_origin(const gsa_registry *registry, int index)
{
    return index >= 0 && index < registry->count ? registry->entries[index].origin : NULL;
}

static const char *id_at(const void *context, int index)
{
    const gsa_registry *registry = context;
    return registry->entries[index].topology->id;
}

const gsa_topology *gsa_registry_find(const gsa_registry *registry, const char *id,
                                      gsa_error *error)
{
    char known[768], shown[GSA_SHOWN];
    const int place = place_of(registry, id ? id : "");
    if (id && place < registry->count && strcmp(id_at(registry, place), id) == 0)
        return registry->entries[place].topology;
    gsa_word_list(known, sizeof known, id_at, registry, registry->count, id ? id : "");
    gsa_fail(error, GSA_ERR_ARGUMENT, "no topology is named %s; %s%s", gsa_word_show(id, shown),
             known,
             strstr(known, "; the nearest is ")
                 ? ""
                 : "; that of a plugin when it is loaded (--plugin ./FILE.so)");
    return NULL;
}

const gsa_param *gsa_topology_param(const gsa_topology *topology, uint32_t index)
{
    if (index >= topology->n_params) return NULL;
    return (const gsa_param *)(const void *)((const char *)topology->params +
                                             (size_t)index * topology->param_stride);
}

gsa_status gsa_registry_offer(gsa_registry *registry, const char *id, const void *service,
                              gsa_error *error)
{
    if (!id || !*id)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a service needs an id, such as \"gsa.lexicon/1\"");
    for (int i = 0; i < registry->services.count; i++)
        if (strcmp(registry->services.at[i].id, id) == 0) {
            registry->services.at[i].service = service;
            return GSA_OK;
        }
    const size_t wanted = (size_t)registry->services.count + 1;
    gsa_service *services =
        gsa_resize(registry->system, registry->services.at, wanted, sizeof *services);
    if (services) registry->services.at = services;
    char *copy = services ? gsa_copy_text(registry->system, id) : NULL;
    if (!copy)
        return gsa_out_of_memory(error, "the list of services",
                                 (int64_t)(wanted * sizeof *services));
    services[registry->services.count++] = (gsa_service){ copy, service };
    return GSA_OK;
}
