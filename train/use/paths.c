#include "train/use/paths.h"
#include <stdio.h>
#include <string.h>
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
    int untrusted;
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

static gsa_status walk_all(walk *w, gsa_error *error)
{
    static const char *const split[] = { "train", "dev", "test" };
    static const char *const stack[] = { "encoder", "decoder", "characters" };
    gsa_status status = GSA_OK;
    for (int i = 0; i < 3 && status == GSA_OK; i++) {
        const char *path = w->splits & 1u << i ? named(w->recipe, "data", split[i]) : NULL;
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
        if (strcmp(name, "-") == 0 ||
            w->system->kind(w->system->user, name, NULL) == GSA_FILE_OTHER)
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
    walk w = { system, recipe, registry, check_one, splits, untrusted };
    return walk_all(&w, error);
}

/* ---- after a failure ----------------------------------------------------------------------- */

/* A sentence, or a plugin's buffer, may have cut the path or replaced bytes of it: that it is not
 * found does not say that the sentence is of another file. */
static int is_altered(const char *path, const char *sentence)
{
    enum { WHOLE = 100 /* bytes of a path that are never cut */ };
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f) return 1;
    return strlen(path) > WHOLE || strlen(sentence) > GSA_ERROR_SIZE / 2;
}

/* "PATH:12: 'secret' is no number" loses what implements the line. A sentence of the file
 * system's tells nothing of what is in a file. */
static gsa_status hide_one(void *context, const char *key, const char *path, gsa_error *error)
{
    const walk *w = context;
    (void)key;
    char text[GSA_ERROR_SIZE];
    const char *at = strstr(error->text, path), *end = at ? at + strlen(path) : NULL;
    if (!at && is_altered(path, error->text)) at = end = error->text;
    if (!at || error->status == GSA_ERR_IO || error->status == GSA_ERR_MEMORY) return GSA_OK;
    if (*end == ':' && end[1] >= '0' && end[1] <= '9') end += 1 + strspn(end + 1, "0123456789");
    else if (end > error->text && strstr(end, "cannot be "))
        return GSA_OK; /* a plugin's, of the file system's */
    if (end == error->text) snprintf(text, sizeof text, "%.500s", w->recipe->ini.path);
    else snprintf(text, sizeof text, "%.*s", (int)(end - error->text), error->text);
    return gsa_fail(error, error->status, "%s%s", text,
                    ": it does not hold what the model needs; what it holds is not told, as the "
                    "model's own recipe names it");
}

void gsa_paths_hide(const gsa_recipe *recipe, const gsa_registry *registry, gsa_error *error)
{
    if (!registry || !error) return;
    walk w = { recipe->ini.system, recipe, registry, hide_one, ~0u, 0 };
    walk_all(&w, error);
}
