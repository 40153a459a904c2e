#include "pattern.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "param.h"
#include "host.h"
#include "registry_parts.h"
#include "words.h"

struct gsa_pattern {
    atomic_int references;
    const gsa_system *system;
    const gsa_topology *topology;
    gsa_value *values; /* [n_params] */
    char **paths;      /* [n_params]: the text that a path's value points into, else NULL */
    gsa_hosting hosting;
    void *self;
    int created; /* create() has returned 0, or set self */
    gsa_schema *schema;
    char *text;
};

/* ---- settings -> values -------------------------------------------------------------------- */

static const char *param_name_at(const void *context, int index)
{
    return gsa_topology_param(context, (uint32_t)index)->name;
}

static int find_param(const gsa_topology *topology, const char *key)
{
    for (uint32_t i = 0; key && i < topology->n_params; i++)
        if (strcmp(gsa_topology_param(topology, i)->name, key) == 0) return (int)i;
    return -1;
}

static gsa_status unknown_param(const gsa_topology *topology, const char *key, gsa_error *error)
{
    char known[768], shown[GSA_SHOWN];
    gsa_word_list(known, sizeof known, param_name_at, topology, (int)topology->n_params,
                  key ? key : "");
    return gsa_fail(error, GSA_ERR_ARGUMENT, "topology '%s' has no parameter %s; %s", topology->id,
                    gsa_word_show(key, shown), known);
}

/* Every key is known, and none is there twice. */
static gsa_status check_keys(const gsa_topology *topology, const gsa_setting *settings, int count,
                             gsa_error *error)
{
    for (int i = 0; i < count; i++) {
        if (find_param(topology, settings[i].key) < 0)
            return unknown_param(topology, settings[i].key, error);
        for (int j = 0; j < i; j++) {
            char one[GSA_SHOWN], two[GSA_SHOWN];
            if (strcmp(settings[i].key, settings[j].key) == 0)
                return gsa_fail(error, GSA_ERR_ARGUMENT,
                                "topology '%s': parameter '%s' is given twice, as %s and as %s",
                                topology->id, settings[i].key,
                                gsa_word_show(settings[j].value, one),
                                gsa_word_show(settings[i].value, two));
        }
    }
    return GSA_OK;
}

static gsa_status read_value(gsa_pattern *pattern, uint32_t index, const char *text,
                             gsa_error *error)
{
    const gsa_param *param = gsa_topology_param(pattern->topology, index);
    if (!text)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "topology '%s': parameter '%s' must be given: %s",
                        pattern->topology->id, param->name, param->doc);
    if (param->type == GSA_PATH) {
        pattern->paths[index] = gsa_copy_text(pattern->system, text);
        if (!pattern->paths[index])
            return gsa_out_of_memory(error, param->name, (int64_t)strlen(text) + 1);
        text = pattern->paths[index];
    }
    const gsa_status status = gsa_param_parse(param, text, &pattern->values[index], error);
    if (status != GSA_OK) gsa_fail_at(error, status, "topology '%s'", pattern->topology->id);
    return status;
}

static gsa_status read_settings(gsa_pattern *pattern, const gsa_setting *settings, int count,
                                gsa_error *error)
{
    const gsa_topology *topology = pattern->topology;
    gsa_status status = check_keys(topology, settings, count, error);
    pattern->values = gsa_alloc_zero(pattern->system, topology->n_params, sizeof *pattern->values);
    pattern->paths = gsa_alloc_zero(pattern->system, topology->n_params, sizeof *pattern->paths);
    if (status == GSA_OK && (!pattern->values || !pattern->paths))
        status = gsa_out_of_memory(error, "parameters of a topology",
                                   topology->n_params * (int64_t)sizeof(gsa_value));
    for (uint32_t i = 0; status == GSA_OK && i < topology->n_params; i++) {
        const char *text = gsa_topology_param(topology, i)->fallback;
        for (int s = 0; s < count; s++)
            if (find_param(topology, settings[s].key) == (int)i)
                text = settings[s].value ? settings[s].value : "";
        status = read_value(pattern, i, text, error);
    }
    return status;
}

/* ---- the plugin's own state ---------------------------------------------------------------- */

static gsa_status create_self(gsa_pattern *pattern, gsa_error *error)
{
    const gsa_topology *topology = pattern->topology;
    gsa_hosting *hosting = &pattern->hosting;
    if (!topology->create) {
        pattern->self = pattern->values;
        return GSA_OK;
    }
    gsa_hosting_open(hosting, hosting->system, hosting->services);
    gsa_calling(pattern->system, &(gsa_plugin_call){ .who = topology->id, .function = "create" });
    const int returned = topology->create(&hosting->table, pattern->values, &pattern->self);
    gsa_calling(pattern->system, NULL);
    hosting->creating = 0;
    const int failed = returned < 0 || hosting->failed;
    pattern->created = !failed || pattern->self;
    if (!failed) return GSA_OK;
    if (hosting->starved)
        return gsa_fail(error, GSA_ERR_MEMORY, "topology '%s': out of memory in create",
                        topology->id);
    if (!hosting->failed)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "topology '%s': create returned %d without a sentence", topology->id,
                        returned);
    return gsa_fail(error, GSA_ERR_ARGUMENT, "topology '%s': %s", topology->id, hosting->said.text);
}

/* ---- canonical text ------------------------------------------------------------------------ */

static int differs_from_fallback(const gsa_pattern *pattern, uint32_t index)
{
    const gsa_param *param = gsa_topology_param(pattern->topology, index);
    gsa_value fallback;
    return !param->fallback || gsa_param_parse(param, param->fallback, &fallback, NULL) != GSA_OK ||
           !gsa_param_equal(param, fallback, pattern->values[index]);
}

/* Writes the text where `out` has room for it; returns its length. */
static size_t canonical(const gsa_pattern *pattern, char *out, size_t size)
{
    const gsa_topology *topology = pattern->topology;
    size_t used = (size_t)snprintf(out, size, "%s", topology->id);
    for (uint32_t i = 0; i < topology->n_params; i++) {
        if (!differs_from_fallback(pattern, i)) continue;
        const size_t room = used < size ? size - used : 0;
        used += (size_t)snprintf(room ? out + used : NULL, room,
                                 ":%s=", gsa_topology_param(topology, i)->name);
        const size_t rest = used < size ? size - used : 0;
        used += (size_t)gsa_pattern_value(pattern, i, rest ? out + used : NULL, rest);
    }
    return used;
}

static gsa_status make_text(gsa_pattern *pattern, gsa_error *error)
{
    const size_t size = canonical(pattern, NULL, 0) + 1;
    pattern->text = gsa_alloc(pattern->system, size, 1);
    if (!pattern->text) return gsa_out_of_memory(error, "text of a pattern", (int64_t)size);
    canonical(pattern, pattern->text, size);
    return GSA_OK;
}

/* ---- the handle ---------------------------------------------------------------------------- */

gsa_status gsa_pattern_create(const gsa_registry *registry, const char *id,
                              const gsa_setting *settings, int count, gsa_pattern **pattern,
                              gsa_error *error)
{
    *pattern = NULL;
    const gsa_topology *topology = gsa_registry_find(registry, id, error);
    if (!topology) return GSA_ERR_ARGUMENT;
    gsa_pattern *p = gsa_alloc_zero(registry->system, 1, sizeof *p);
    if (!p) return gsa_out_of_memory(error, "pattern", sizeof *p);
    atomic_init(&p->references, 1);
    p->system = registry->system;
    p->topology = topology;
    p->hosting.system = registry->system, p->hosting.services = &registry->services;
    gsa_status status = read_settings(p, settings, count, error);
    if (status == GSA_OK) status = create_self(p, error);
    if (status == GSA_OK)
        status = gsa_schema_create(p->system, topology, p->self, &p->schema, error);
    if (status == GSA_OK && p->hosting.columns && gsa_schema_flags(p->schema) & GSA_BY_LENGTH)
        status = gsa_fail(error, GSA_ERR_PLUGIN,
                          "topology '%s' reads columns of the data and promises GSA_BY_LENGTH",
                          topology->id);
    if (status == GSA_OK) status = make_text(p, error);
    if (status == GSA_OK) *pattern = p;
    else gsa_pattern_release(p);
    return status;
}

gsa_pattern *gsa_pattern_retain(gsa_pattern *pattern)
{
    atomic_fetch_add_explicit(&pattern->references, 1, memory_order_relaxed);
    return pattern;
}

void gsa_pattern_release(gsa_pattern *pattern)
{
    if (!pattern || atomic_fetch_sub_explicit(&pattern->references, 1, memory_order_acq_rel) > 1)
        return;
    const gsa_topology *topology = pattern->topology;
    gsa_schema_release(pattern->schema);
    if (pattern->created && topology->destroy) {
        gsa_calling(pattern->system,
                    &(gsa_plugin_call){ .who = topology->id, .function = "destroy" });
        topology->destroy(&pattern->hosting.table, pattern->self);
        gsa_calling(pattern->system, NULL);
    }
    for (uint32_t i = 0; pattern->paths && i < topology->n_params; i++)
        gsa_release(pattern->system, pattern->paths[i]);
    gsa_release(pattern->system, pattern->paths);
    gsa_release(pattern->system, pattern->values);
    gsa_release(pattern->system, pattern->text);
    gsa_release(pattern->system, pattern);
}

const gsa_topology *gsa_pattern_topology(const gsa_pattern *pattern)
{
    return pattern->topology;
}

const gsa_schema *gsa_pattern_schema(const gsa_pattern *pattern)
{
    return pattern->schema;
}

const void *gsa_pattern_self(const gsa_pattern *pattern)
{
    return pattern->self;
}

const char *gsa_pattern_text(const gsa_pattern *pattern)
{
    return pattern->text;
}

int gsa_pattern_value(const gsa_pattern *pattern, uint32_t index, char *out, size_t size)
{
    const gsa_param *param = gsa_topology_param(pattern->topology, index);
    return param ? gsa_param_format(param, pattern->values[index], out, size)
                 : snprintf(out, size, "%s", "");
}

int gsa_pattern_columns(const gsa_pattern *pattern)
{
    return pattern->hosting.columns;
}

const char *gsa_pattern_column(const gsa_pattern *pattern, int place)
{
    return place >= 0 && place < pattern->hosting.columns ? pattern->hosting.column[place] : NULL;
}

static gsa_status missing(const gsa_pattern *pattern, int place, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "topology '%s' reads a column '%s' beside each token, and this input has none "
                    "of that name (in recipes: "
                    "data.side)",
                    pattern->topology->id, pattern->hosting.column[place]);
}

gsa_status gsa_pattern_take(const gsa_pattern *pattern, const gsa_named_column *columns, int count,
                            int64_t first, const gsa_slice **place, gsa_error *error)
{
    for (int p = 0; p < pattern->hosting.columns; p++) {
        int i = 0;
        while (i < count && strcmp(columns[i].name, pattern->hosting.column[p]) != 0) i++;
        if (i == count || !columns[i].value) return missing(pattern, p, error);
        place[p] = columns[i].value + first;
    }
    return GSA_OK;
}

/* 1: the example has what was requested; older callers know of no columns. */
static int has_columns(const gsa_pattern *pattern, const gsa_example *x)
{
    return x->struct_size >= offsetof(gsa_example, draw) &&
           x->columns >= pattern->hosting.columns && x->column;
}

gsa_status gsa_pattern_instance(const gsa_pattern *pattern, gsa_cache *cache,
                                const gsa_example *example, const gsa_limits *limits, int inspect,
                                gsa_instance **instance, gsa_error *error)
{
    if (pattern->hosting.columns && example->length > 0 && !has_columns(pattern, example))
        return missing(pattern, 0, error);
    if (cache && !inspect) /* cached instances hold no places */
        return gsa_cache_get(cache, pattern->schema, pattern->topology, pattern->self, example,
                             limits, instance, error);
    return gsa_instance_create(pattern->system, pattern->schema, pattern->topology, pattern->self,
                               example, limits, inspect, instance, error);
}
