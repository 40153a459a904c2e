#include "train/use/plugins.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "graph/system_parts.h"
#include "gsa/hash.h"
#include "topologies/words.h"
#include "train/task_parts.h"
#include "train/use/inputs.h"

enum { LONGEST = 1 << 20, HEX = 64, PATH = 4096 };
static const char file_name[] = "plugins.sha256";
static const char of_task[] = "task:"; /* before the name, where a plugin brings a task */

/* ---- what is written ----------------------------------------------------------------------- */

/* The path of the plugin that the topology comes from; NULL: none, or one that comes with the
 * program. */
static const char *origin_of(const gsa_registry *registry, const char *id,
                             const gsa_plugin_policy *policy)
{
    for (int i = 0; i < gsa_registry_count(registry); i++) {
        const char *origin = gsa_registry_origin(registry, i);
        if (strcmp(gsa_registry_at(registry, i)->id, id) != 0) continue;
        return !strchr(origin, '/') || (policy->own && strcmp(policy->own, origin) == 0) ? NULL
                                                                                         : origin;
    }
    return NULL;
}

static gsa_status absolute(const char *path, char out[PATH], gsa_error *error)
{
    char folder[PATH] = "";
    while (strncmp(path, "./", 2) == 0) path += 2;
    if (*path != '/' && !getcwd(folder, sizeof folder))
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s': the current folder's name cannot be told",
                        path);
    if (snprintf(out, PATH, "%s%s%s", folder, *folder ? "/" : "", path) >= PATH ||
        strchr(path, '\n'))
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "plugin '%.200s...': the path cannot be kept with a model", path);
    return GSA_OK;
}

static gsa_status add_line(const gsa_system *system, const char *id, const char *origin,
                           const gsa_plugin_policy *policy, char **text, gsa_error *error)
{
    char path[PATH], hex[HEX + 1], mark[GSA_PLUGIN_MARK] = "-";
    gsa_status status = absolute(origin, path, error);
    if (status == GSA_OK) status = gsa_sha256_file(system, origin, hex, error);
    if (status != GSA_OK) return status;
    if (policy->mark && !policy->mark(origin, mark))
        return gsa_fail(error, GSA_ERR_IO, "plugin '%s' cannot be read: it is not there any more",
                        origin);
    const size_t used = strlen(*text),
                 room = used + HEX + strlen(mark) + strlen(id) + strlen(path) + 8;
    char *more = gsa_resize(system, *text, room, 1);
    if (!more) return gsa_out_of_memory(error, "hashes of plugins", (int64_t)room);
    *text = more;
    snprintf(more + used, room - used, "%s  %s  %s  %s\n", hex, mark, id, path);
    return GSA_OK;
}

static int is_listed(const char *text, const char *id)
{
    char part[GSA_ERROR_SIZE];
    snprintf(part, sizeof part, "  %s  /", id);
    return strstr(text, part) != NULL;
}

gsa_status gsa_plugins_hash(const gsa_system *system, const gsa_model *model, const char *task,
                            const gsa_registry *registry, const gsa_plugin_policy *policy,
                            char **text, gsa_error *error)
{
    char named[GSA_ERROR_SIZE];
    gsa_status status = GSA_OK;
    *text = gsa_copy_text(system, "");
    if (!*text) return gsa_out_of_memory(error, "hashes of plugins", 1);
    for (int r = 0; r < gsa_model_passes(model); r++) {
        const gsa_stack *stack = gsa_model_stack_of(model, r);
        for (int l = 0; l < gsa_stack_layers(stack); l++)
            for (int p = 0; p < gsa_stack_patterns(stack, l) && status == GSA_OK; p++) {
                const char *id = gsa_pattern_topology(gsa_stack_pattern(stack, l, p))->id;
                const char *origin = origin_of(registry, id, policy);
                if (origin && !is_listed(*text, id))
                    status = add_line(system, id, origin, policy, text, error);
            }
    }
    snprintf(named, sizeof named, "%s%s", of_task, task ? task : "");
    if (status == GSA_OK && task)
        status = add_line(system, named, gsa_task_origin(registry, task), policy, text, error);
    if (status == GSA_OK) return GSA_OK;
    gsa_release(system, *text);
    *text = NULL;
    return status;
}

gsa_status gsa_plugins_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error)
{
    return gsa_save_lines(checkpoint, file_name, text, error);
}

/* ---- what is found again ------------------------------------------------------------------- */

typedef struct finding {
    const gsa_system *system;
    const char *checkpoint, *record;
    const gsa_plugin_policy *policy;
    void (*say)(void *context, const char *sentence);
    void *context;
    gsa_registry *registry;
    char *hex, *mark, *id, *path; /* of the line */
} finding;

/* "topology 'x'", "task 'y'" */
static const char *what(const finding *f, char name[GSA_SHOWN + 16])
{
    const size_t bytes = strlen(of_task);
    const int task = strncmp(f->id, of_task, bytes) == 0;
    snprintf(name, GSA_SHOWN + 16, "%s '%.80s'", task ? "task" : "topology",
             f->id + (task ? bytes : 0));
    return name;
}

/* One that is here already, by --plugin or of the program's own. */
static gsa_status compare(const finding *f, const char *origin, gsa_error *error)
{
    char hex[HEX + 1], name[GSA_SHOWN + 16];
    const gsa_status status = gsa_sha256_file(f->system, origin, hex, error);
    if (status != GSA_OK || strcmp(hex, f->hex) == 0 || f->policy->other) return status;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s comes from '%s', which is not the plugin that the model in %s "
                    "was trained with: its SHA-256 "
                    "is %.12s..., the model says %.12s... (--other-plugin takes it all the same)",
                    what(f, name), origin, f->checkpoint, hex, f->hex);
}

static gsa_status refuse(const finding *f, const char *why, gsa_error *error)
{
    char name[GSA_SHOWN + 16];
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "the model in %s was trained with %s of plugin '%s', %s: --plugin "
                    "FILE.so names it",
                    f->checkpoint, what(f, name), f->path, why);
}

static gsa_status load(const finding *f, gsa_error *error)
{
    char hex[HEX + 1], mark[GSA_PLUGIN_MARK], said[PATH + 128];
    const gsa_plugin_policy *policy = f->policy;
    if (!policy->trusts || !policy->mark) return refuse(f, "which is not loaded unasked", error);
    if (f->system->kind(f->system->user, f->path, NULL) != GSA_FILE_REGULAR)
        return refuse(f, "which is not there any more", error);
    if (!policy->trusts(f->checkpoint) || !policy->trusts(f->record) || !policy->trusts(f->path))
        return refuse(f,
                      "and it, the model or a folder on the way is somebody else's, whose code is "
                      "not run unasked",
                      error);
    gsa_status status = gsa_sha256_file(f->system, f->path, hex, error);
    if (status == GSA_OK && strcmp(hex, f->hex) != 0)
        return refuse(f,
                      policy->other ? "which was changed since"
                                    : "which was changed since (--other-plugin takes one that is "
                                      "named all the same)",
                      error);
    if (status == GSA_OK && (!policy->mark(f->path, mark) || strcmp(mark, f->mark) != 0))
        return refuse(f,
                      "and the file there is not the one that stood there then: code that came "
                      "with a model is not run "
                      "unasked",
                      error);
    if (status == GSA_OK) status = gsa_registry_load(f->registry, f->path, error);
    if (status != GSA_OK || !f->say) return status;
    snprintf(said, sizeof said, "loads the plugin that the model was trained with: %s", f->path);
    f->say(f->context, said);
    return GSA_OK;
}

/* "sha256  mark  id  /path", cut into its parts. 0: it is no such line. */
static int cut(finding *f, char *line)
{
    if (strlen(line) < HEX + 2 || strspn(line, "0123456789abcdef") != HEX ||
        strncmp(line + HEX, "  ", 2) != 0)
        return 0;
    f->hex = line, f->mark = line + HEX + 2, f->id = strstr(f->mark, "  ");
    if (!f->id || f->id == f->mark || strspn(f->mark, "0123456789.-") != (size_t)(f->id - f->mark))
        return 0;
    *f->id = 0, f->id += 2;
    char *end = strstr(f->id, "  /");
    if (!end || end == f->id || strcspn(f->id, " /") != (size_t)(end - f->id)) return 0;
    f->path = end + 2;
    line[HEX] = *end = 0;
    return 1;
}

static gsa_status find_one(finding *f, char *line, int number, gsa_error *error)
{
    if (!cut(f, line))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%d is no line of SHA-256, mark, topology and path", f->record, number);
    const size_t prefix = strlen(of_task);
    if (strncmp(f->id, of_task, prefix) == 0) {
        const char *origin = gsa_task_origin(f->registry, f->id + prefix);
        return origin ? compare(f, origin, error) : load(f, error);
    }
    for (int i = 0; i < gsa_registry_count(f->registry); i++) {
        const char *origin = gsa_registry_origin(f->registry, i);
        if (strcmp(gsa_registry_at(f->registry, i)->id, f->id) == 0)
            return strchr(origin, '/') ? compare(f, origin, error) : GSA_OK;
    }
    return load(f, error);
}

gsa_status gsa_plugins_find(const gsa_system *system, const char *checkpoint,
                            const gsa_plugin_policy *policy,
                            void (*say)(void *context, const char *sentence), void *context,
                            gsa_registry *registry, gsa_error *error)
{
    char record[PATH], *text;
    int64_t bytes;
    int number = 0, kind;
    snprintf(record, sizeof record, "%s/%s", checkpoint, file_name);
    gsa_status status = gsa_see(system, record, &kind, error);
    if (status != GSA_OK || kind != GSA_FILE_REGULAR)
        return status; /* of an older version, or without plugins */
    status = gsa_read_file(system, record, LONGEST, &text, &bytes, error);
    if (status != GSA_OK) return status;
    finding f = { .system = system,
                  .checkpoint = checkpoint,
                  .record = record,
                  .policy = policy,
                  .say = say,
                  .context = context,
                  .registry = registry };
    for (char *line = text, *next; *line && status == GSA_OK; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        status = find_one(&f, line, ++number, error);
    }
    gsa_release(system, text);
    return status;
}
