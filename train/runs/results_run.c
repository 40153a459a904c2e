/* results_run.c - the result of one run, with its settings, from its folder. */
#include <stdio.h>
#include <string.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "train/runs/results.h"
#include "train/settings/recipe.h"
#include "train/driver/trainer.h"
#include "train/data/json.h"
#include "train/score/report.h"

enum { NAME = 256 };
static const char seed[] = "train.seed=";

static void put(json_t *settings, const char *section, const char *key, const char *value)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s.%s", section, key);
    if (strncmp(name, seed, sizeof seed - 2) != 0)
        json_object_set_new(settings, name, json_string(value));
}

/* {"train.lr": "0.001", ...}: every key but the seed, and those of [encoder.N]. */
static json_t *settings_of(const gsa_recipe *recipe)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    json_t *settings = json_object();
    for (int i = 0; i < count; i++) {
        char number[64];
        put(settings, keys[i].section, keys[i].name,
            gsa_recipe_text(recipe, i, number, sizeof number));
    }
    for (int i = 0; i < recipe->ini.count; i++) {
        const gsa_ini_entry *e = &recipe->ini.entries[i];
        if (e->key && strncmp(e->section, "encoder.", 8) == 0)
            put(settings, e->section, e->key, e->value);
    }
    return settings;
}

static gsa_status describe(const gsa_system *system, const gsa_recipe *recipe, const char *folder,
                           const char *result, char **line, gsa_error *error)
{
    char setting[65];
    json_error_t why;
    const char *const except[] = { seed };
    json_t *own = gsa_json_parse(result, (int64_t)strlen(result), JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(own)) {
        json_decref(own);
        return gsa_fail(error, GSA_ERR_FORMAT, "%s/result.json: no JSON object: %s", folder,
                        own ? "another value" : why.text);
    }
    gsa_recipe_hash(recipe, except, 1, setting);
    json_t *object = json_pack("{s:o, s:s%, s:s%, s:{}, s:o}", "run", gsa_json_name(folder),
                               "setting", setting, (size_t)12, "family", setting, (size_t)12,
                               "each", "settings", settings_of(recipe));
    const char *encoder = json_string_value(json_object_get(own, "encoder"));
    char *stack = encoder ? gsa_copy_text(system, encoder) : NULL;
    json_object_update(object, own);
    if (stack)
        gsa_results_shorten(stack), json_object_set_new(object, "encoder", json_string(stack));
    gsa_release(system, stack);
    const int lacks = encoder && !stack;
    json_decref(own);
    if (lacks) json_decref(object);
    return lacks ? gsa_out_of_memory(error, folder, (int64_t)strlen(folder))
                 : gsa_json_text(system, object, line, error);
}

static gsa_status read_files(gsa_results *results, const gsa_system *system, const char *folder,
                             gsa_error *error)
{
    gsa_recipe recipe = { 0 };
    char *result = NULL, *line = NULL, *config = gsa_path_join(system, folder, "config.ini", error),
         *path = gsa_path_join(system, folder, "result.json", error);
    int64_t bytes;
    gsa_status status = config && path ? gsa_check_regular(system, config, error) : GSA_ERR_MEMORY;
    if (status == GSA_OK) status = gsa_check_regular(system, path, error);
    if (status == GSA_OK) status = gsa_read_file(system, path, 1 << 24, &result, &bytes, error);
    if (status == GSA_OK) status = gsa_recipe_read(system, config, NULL, 0, &recipe, error);
    if (status == GSA_OK) status = describe(system, &recipe, folder, result, &line, error);
    if (status == GSA_OK) {
        status = gsa_results_put(results, line, error);
        if (status != GSA_OK) gsa_fail_at(error, status, "%s", path);
    }
    gsa_recipe_release(&recipe);
    gsa_release(system, result);
    gsa_release(system, line);
    gsa_release(system, config);
    gsa_release(system, path);
    return status;
}

gsa_status gsa_results_read_run(gsa_results *results, const gsa_system *system, const char *folder,
                                gsa_error *error)
{
    gsa_anchor *run;
    gsa_status status = gsa_anchor_open(system, system, folder, &run, error);
    if (status == GSA_OK)
        status = read_files(results, gsa_anchor_system(run, system), folder, error);
    gsa_anchor_close(run);
    return status;
}
