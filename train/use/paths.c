#include "train/use/paths.h"
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/task.h"

/* Calls each(context, what sets it, path) for the files; stops at the first failure. */
typedef gsa_status gsa_each_path(void *context, const char *key, const char *path,
                                 gsa_error *error);
typedef struct walk {
    const gsa_system *system;
    const gsa_recipe *recipe;
    const gsa_registry *registry;
    gsa_each_path *each;
    uint32_t splits;
    int untrusted, named; /* named: of hide, whether there is a path */
    const char *sentence;
    char place[256]; /* "PATH:12", where the sentence has it */
} walk;

/* The value of a key that the recipe's own file sets; NULL: an override does, or nothing. */
static const char *named(const gsa_recipe *recipe, const char *section, const char *key)
{
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, section, key);
    return entry && entry->line > 0 && *entry->value ? entry->value : NULL;
}

/* Is it a path in any topology? */
static int is_path(const gsa_registry *registry, const char *key)
{
    for (int t = 0; t < gsa_registry_count(registry); t++) {
        const gsa_topology *topology = gsa_registry_at(registry, t);
        for (uint32_t i = 0; i < topology->n_params; i++) {
            const gsa_param *param = gsa_topology_param(topology, i);
            if (param->type == GSA_PATH && strcmp(param->name, key) == 0) return 1;
        }
    }
    return 0;
}

static gsa_status walk_stack(walk *w, const char *key, gsa_error *error)
{
    const char *text = named(w->recipe, "model", key);
    gsa_stack_spec spec;
    gsa_status status = GSA_OK;
    if (!text || gsa_spec_parse(w->system, text, &spec, NULL) != GSA_OK) return GSA_OK;
    for (int s = 0; s < spec.n_segments; s++)
        for (int p = 0; p < spec.segments[s].n_parts; p++) {
            const gsa_part_spec *part = &spec.segments[s].parts[p];
            for (int i = 0; i < part->n_settings && status == GSA_OK; i++)
                if (is_path(w->registry, part->settings[i].key) && *part->settings[i].value)
                    status = w->each(w, part->settings[i].key, part->settings[i].value, error);
        }
    gsa_spec_release(&spec);
    return status;
}

static gsa_status walk_sections(walk *w, gsa_error *error)
{
    const gsa_ini *ini = &w->recipe->ini;
    gsa_status status = GSA_OK;
    for (int i = 0; i < ini->count && status == GSA_OK; i++) {
        const gsa_ini_entry *e = &ini->entries[i];
        if (strncmp(e->section, "encoder.", 8) != 0 || !e->key || !is_path(w->registry, e->key))
            continue;
        const char *path = named(w->recipe, e->section, e->key);
        char key[144];
        snprintf(key, sizeof key, "--set %.60s.%.60s=FILE", e->section, e->key);
        if (path) status = w->each(w, key, path, error);
    }
    return status;
}

/* Other splits are read out of data.train's file. */
static uint32_t splits_read(const gsa_recipe_values *v, uint32_t splits)
{
    const int held = splits & 1u << GSA_SPLIT_DEV && !*v->data_dev && v->data_hold > 0;
    const int one = *v->data_split || v->task_name == GSA_TASK_NODE_CLASSIFICATION;
    return splits && (held || one) ? splits | 1u << GSA_SPLIT_TRAIN : splits;
}

static const char *const split[] = { "train", "dev", "test" };

static gsa_status walk_all(walk *w, gsa_error *error)
{
    static const char *const stack[] = { "encoder", "decoder", "characters" };
    const uint32_t splits = splits_read(&w->recipe->values, w->splits);
    gsa_status status = GSA_OK;
    for (int i = 0; i < 3 && status == GSA_OK; i++) {
        const char *path = splits & 1u << i ? named(w->recipe, "data", split[i]) : NULL;
        char key[32];
        snprintf(key, sizeof key, "--set data.%s=FILE", split[i]);
        if (path) status = w->each(w, key, path, error);
    }
    for (int i = 0; i < 3 && status == GSA_OK; i++) status = walk_stack(w, stack[i], error);
    return status == GSA_OK ? walk_sections(w, error) : status;
}

/* ---- before anything is opened ------------------------------------------------------------- */

static gsa_status check_one(void *context, const char *key, const char *path, gsa_error *error)
{
    const walk *w = context;
    const gsa_recipe_values *v = &w->recipe->values;
    const char *const end[] = { "", v->data_source, v->data_target };
    const int other = strncmp(key, "--set", 5) != 0;
    if (w->untrusted)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: the model's recipe names the file '%s' (%s), and the model is not "
                        "trusted: nothing that it names is opened%s%s",
                        w->recipe->ini.path, path, other ? key : "its own",
                        other ? "" : "; yours is given by ", other ? "" : key);
    for (int i = 0; i < 3; i++) {
        char name[4096];
        if (i > 0 && !*end[i]) continue;
        snprintf(name, sizeof name, "%s%s%s", path, i > 0 ? "." : "", end[i]);
        int kind = GSA_FILE_OTHER;
        const gsa_status status =
            strcmp(name, "-") == 0 ? GSA_OK : gsa_see_value(w->system, name, &kind, error);
        if (status != GSA_OK) return status;
        if (kind == GSA_FILE_OTHER)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: the model's recipe names '%s', which is no regular file",
                            w->recipe->ini.path, name);
    }
    return GSA_OK;
}

gsa_status gsa_paths_check(const gsa_system *system, const gsa_recipe *recipe,
                           const gsa_registry *registry, uint32_t splits, int untrusted,
                           gsa_error *error)
{
    walk w = { .system = system,
               .recipe = recipe,
               .registry = registry,
               .each = check_one,
               .splits = splits,
               .untrusted = untrusted };
    return walk_all(&w, error);
}

/* ---- after a failure ----------------------------------------------------------------------- */

static gsa_status hide_one(void *context, const char *key, const char *path, gsa_error *error)
{
    walk *w = context;
    const char *at = strstr(w->sentence, path), *end = at ? at + strlen(path) : "";
    const gsa_system *system = w->recipe->ini.system;
    (void)error;
    if (strncmp(key, "--set data", 10) != 0 && /* PATH.source is another file */
        system->kind(system->user, path, NULL) == GSA_FILE_ABSENT)
        return GSA_OK;
    w->named = 1;
    if (*end != ':') return GSA_OK;
    const size_t digits = strspn(end + 1, "0123456789");
    snprintf(w->place, sizeof w->place, "%.200s%.*s", path, digits ? (int)digits + 1 : 0, end);
    return GSA_OK;
}

/* "PATH:12: ..." of a file that an override names is the user's to see. */
static int is_own(const gsa_ini *ini, const char *sentence)
{
    for (int i = 0; i < 3; i++) {
        const gsa_ini_entry *entry = gsa_ini_find(ini, "data", split[i]);
        const size_t bytes = entry && entry->line == 0 ? strlen(entry->value) : 0;
        if (bytes > 0 && strncmp(sentence, entry->value, bytes) == 0 && sentence[bytes] == ':')
            return 1;
    }
    return 0;
}

void gsa_paths_hide(const gsa_recipe *recipe, const gsa_registry *registry, uint32_t splits,
                    gsa_error *error)
{
    if (!registry || !error || error->status == GSA_ERR_IO || error->status == GSA_ERR_MEMORY ||
        is_own(&recipe->ini, error->text))
        return;
    walk w = { .system = recipe->ini.system,
               .recipe = recipe,
               .registry = registry,
               .each = hide_one,
               .splits = splits,
               .sentence = error->text };
    snprintf(w.place, sizeof w.place, "a file that %.200s names", recipe->ini.path);
    if (walk_all(&w, NULL) == GSA_OK && !w.named) return;
    gsa_fail(error, error->status,
             "%s: it does not hold what the model needs; what it holds is not told, as the model's "
             "own recipe names it",
             w.place);
}
