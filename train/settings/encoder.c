/* encoder.c - from `[model] encoder` or the sections [encoder.N] to a stack's spec. */
#include <stdio.h>
#include <string.h>
#include "topologies/param.h"
#include "topologies/words.h"
#include "train/settings/recipe.h"

enum { PLACE = 512, LIST = 700 };

static const char *param_name(const void *context, int index)
{
    static const char *const own[] = { "topology", "layers", "share" };
    return index < 3 ? own[index] : gsa_topology_param(context, (uint32_t)index - 3)->name;
}

static gsa_status check_setting(const gsa_recipe *recipe, const gsa_topology *topology,
                                const gsa_ini_entry *entry, gsa_error *error)
{
    char place[PLACE], list[LIST];
    gsa_value value;
    gsa_ini_place(&recipe->ini, entry, place, sizeof place);
    for (uint32_t i = 0; i < topology->n_params; i++) {
        const gsa_param *param = gsa_topology_param(topology, i);
        if (strcmp(param->name, entry->key) != 0) continue;
        const gsa_status status = gsa_param_parse(param, entry->value, &value, error);
        if (status != GSA_OK) gsa_fail_at(error, status, "%s: [%s]", place, entry->section);
        return status;
    }
    gsa_word_list(list, sizeof list, param_name, topology, (int)topology->n_params + 3, entry->key);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: unknown key '%s' of [%s] with topology %s; %s",
                    place, entry->key, entry->section, topology->id, list);
}

/* topology and layers as spec text; GSA_OK and the text's new end. */
static gsa_status head_of_segment(const gsa_recipe *recipe, const gsa_registry *registry,
                                  const char *section, char **text, gsa_error *error)
{
    static const gsa_param layers = { "layers", GSA_INT, 0, 1, 1000, NULL, "1", "" };
    char place[PLACE];
    gsa_value count = { .i = 1 };
    const gsa_ini_entry *id = gsa_ini_find(&recipe->ini, section, "topology");
    const gsa_ini_entry *times = gsa_ini_find(&recipe->ini, section, "layers");
    gsa_status status = GSA_OK;
    if (!gsa_registry_find(registry, id->value, error)) status = GSA_ERR_ARGUMENT;
    if (status == GSA_OK && times)
        status = gsa_param_parse(&layers, times->value, &count, error), id = times;
    gsa_ini_place(&recipe->ini, id, place, sizeof place);
    if (status != GSA_OK) {
        gsa_fail_at(error, status, "%s: [%s]", place, section);
        return status;
    }
    const char *before = *text ? *text : "",
               *topology = gsa_ini_find(&recipe->ini, section, "topology")->value;
    const size_t room = strlen(before) + strlen(topology) + 32;
    char *joined = gsa_alloc(recipe->ini.system, room, 1);
    if (!joined) return gsa_out_of_memory(error, "encoder", (int64_t)room);
    snprintf(joined, room, "%s%s%s*%lld", before, *before ? "," : "", topology, (long long)count.i);
    gsa_release(recipe->ini.system, *text);
    *text = joined;
    return GSA_OK;
}

/* The part of a segment that a setting is meant for: the first whose topology declares it, else the
 * first, whose refusal lists what it declares. NULL: the topology is not known. */
static const gsa_topology *part_of(const gsa_registry *registry, const gsa_segment_spec *segment,
                                   const char *key, int *part, gsa_error *error)
{
    const gsa_topology *first = NULL;
    *part = 0;
    for (int p = 0; p < segment->n_parts; p++) {
        const gsa_topology *topology = gsa_registry_find(registry, segment->parts[p].id, error);
        if (!topology) return NULL;
        if (p == 0) first = topology;
        for (uint32_t i = 0; i < topology->n_params; i++)
            if (strcmp(gsa_topology_param(topology, i)->name, key) == 0) {
                *part = p;
                return topology;
            }
    }
    return first;
}

/* The keys of a section but `topology` and `layers` into the spec's segment. */
static gsa_status set_settings(const gsa_recipe *recipe, const gsa_registry *registry,
                               const char *section, int segment, gsa_stack_spec *spec,
                               gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < recipe->ini.count && status == GSA_OK; i++) {
        const gsa_ini_entry *e = &recipe->ini.entries[i];
        int part = 0;
        if (strcmp(e->section, section) != 0 || !e->key ||
            gsa_ini_find(&recipe->ini, section, e->key) != e)
            continue;
        if (strcmp(e->key, "topology") == 0 || strcmp(e->key, "layers") == 0) continue;
        if (strcmp(e->key, "share") != 0) {
            const gsa_topology *topology =
                part_of(registry, &spec->segments[segment], e->key, &part, error);
            status = topology ? check_setting(recipe, topology, e, error) : GSA_ERR_ARGUMENT;
        }
        if (status != GSA_OK) return status;
        status = gsa_spec_set(spec, segment, part, e->key, e->value, error);
        if (status != GSA_OK) gsa_fail_at(error, status, "%s: [%s]", recipe->ini.path, section);
    }
    return status;
}

/* `[model] encoder` as text, and what the sections add to its segments: paths, which the text
 * cannot hold. */
static gsa_status from_text(const gsa_recipe *recipe, const gsa_registry *registry,
                            gsa_stack_spec *spec, gsa_error *error)
{
    char section[32];
    gsa_status status =
        gsa_spec_parse(recipe->ini.system, recipe->values.model_encoder, spec, error);
    for (int i = 0; status == GSA_OK && i < spec->n_segments; i++) {
        snprintf(section, sizeof section, "encoder.%d", i + 1);
        status = set_settings(recipe, registry, section, i, spec, error);
    }
    if (status == GSA_OK && gsa_recipe_sections(recipe) > spec->n_segments)
        status = gsa_fail(error, GSA_ERR_FORMAT,
                          "there is a section [encoder.%d], but '%s' has %d segment%s",
                          gsa_recipe_sections(recipe), recipe->values.model_encoder,
                          spec->n_segments, spec->n_segments > 1 ? "s" : "");
    return status;
}

static gsa_status from_sections(const gsa_recipe *recipe, const gsa_registry *registry,
                                gsa_stack_spec *spec, gsa_error *error)
{
    char section[32], *text = NULL;
    gsa_status status = GSA_OK;
    int segments = 0;
    for (; status == GSA_OK; segments++) {
        snprintf(section, sizeof section, "encoder.%d", segments + 1);
        if (!gsa_ini_find(&recipe->ini, section, "topology")) break;
        status = head_of_segment(recipe, registry, section, &text, error);
    }
    if (status == GSA_OK) status = gsa_spec_parse(recipe->ini.system, text, spec, error);
    gsa_release(recipe->ini.system, text);
    for (int i = 0; i < segments && status == GSA_OK; i++) {
        snprintf(section, sizeof section, "encoder.%d", i + 1);
        status = set_settings(recipe, registry, section, i, spec, error);
    }
    return status;
}

const char *gsa_recipe_encoder(const gsa_recipe *recipe)
{
    return *recipe->values.model_encoder ? recipe->values.model_encoder : "it";
}

gsa_status gsa_recipe_encoder_fail(const gsa_recipe *recipe, gsa_status status, gsa_error *error)
{
    char place[PLACE];
    gsa_recipe_place(recipe, "model", "encoder", place, sizeof place);
    if (*recipe->values.model_encoder) gsa_fail_at(error, status, "%s: [model] encoder", place);
    else gsa_fail_at(error, status, "%s: [encoder.N]", recipe->ini.path);
    return status;
}

gsa_status gsa_spec_try(const gsa_stack_spec *spec, const gsa_registry *registry, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < spec->n_segments; i++) {
        for (int p = 0; p < spec->segments[i].n_parts && status == GSA_OK; p++) {
            const gsa_part_spec *part = &spec->segments[i].parts[p];
            gsa_pattern *pattern;
            status = gsa_pattern_create(registry, part->id, part->settings, part->n_settings,
                                        &pattern, error);
            if (status == GSA_OK) gsa_pattern_release(pattern);
        }
    }
    return status;
}

gsa_status gsa_recipe_spec(const gsa_recipe *recipe, const gsa_registry *registry,
                           gsa_stack_spec *spec, gsa_error *error)
{
    *spec = (gsa_stack_spec){ 0 };
    const char *text = recipe->values.model_encoder;
    gsa_status status = *text ? from_text(recipe, registry, spec, error)
                              : from_sections(recipe, registry, spec, error);
    const int parsed = status == GSA_OK;
    if (parsed) status = gsa_spec_try(spec, registry, error);
    if (status == GSA_OK) return GSA_OK;
    gsa_spec_release(spec);
    if (*text || parsed) gsa_recipe_encoder_fail(recipe, status, error);
    return status;
}

static int reads_memory(const gsa_pattern *pattern)
{
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        if (gsa_schema_kind(schema, k)->start == GSA_MEMORY) return 1;
    return 0;
}

gsa_status gsa_recipe_memory_layer(const gsa_stack_spec *spec, const gsa_registry *registry,
                                   int *layer, gsa_error *error)
{
    int before = 0;
    *layer = -1;
    for (int i = 0; i < spec->n_segments; before += spec->segments[i++].layers) {
        for (int p = 0; p < spec->segments[i].n_parts; p++) {
            const gsa_part_spec *part = &spec->segments[i].parts[p];
            gsa_pattern *pattern;
            const gsa_status status = gsa_pattern_create(registry, part->id, part->settings,
                                                         part->n_settings, &pattern, error);
            if (status != GSA_OK) return status;
            if (*layer < 0 && reads_memory(pattern)) *layer = before;
            gsa_pattern_release(pattern);
        }
    }
    return GSA_OK;
}

/* One pattern of layer `layer`, from 1. */
static gsa_status check_causal(const gsa_pattern *pattern, int layer, const char *text,
                               const char *task, gsa_error *error)
{
    if (gsa_schema_flags(gsa_pattern_schema(pattern)) & GSA_CAUSAL) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "layer %d of %s, %s, lets a token see those after it, which %s has to predict: "
                    "many patterns have causal=1",
                    layer, text, gsa_pattern_text(pattern), task);
}

gsa_status gsa_spec_causal(const gsa_stack_spec *spec, const gsa_registry *registry,
                           const char *text, const char *task, gsa_error *error)
{
    gsa_status status = GSA_OK;
    int before = 0;
    for (int i = 0; i < spec->n_segments; before += spec->segments[i++].layers)
        for (int p = 0; p < spec->segments[i].n_parts && status == GSA_OK; p++) {
            const gsa_part_spec *part = &spec->segments[i].parts[p];
            gsa_pattern *pattern;
            status = gsa_pattern_create(registry, part->id, part->settings, part->n_settings,
                                        &pattern, error);
            if (status != GSA_OK) return status;
            status = check_causal(pattern, before + 1, text, task, error);
            gsa_pattern_release(pattern);
        }
    return status;
}
