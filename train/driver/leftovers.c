/* leftovers.c - temporaries of a run's own files that a kill left in its folder (graph/output.c
 * names them FILE.tmp-gsa-XXXXXXXXXXXX). */
#include "train/driver/leftovers.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint.h"
#include "gsa/checkpoint_parts.h"

enum { NAME = 64 };

typedef struct leftovers {
    const gsa_system *system;
    char (*at)[NAME];
    int count, room, memory; /* memory 0: there was none for a name */
} leftovers;

const char *const gsa_run_files[GSA_RUN_FILES] = { "config.ini", "curve.svg", "log.jsonl",
                                                   "outcomes.jsonl", "result.json" };

/* A temporary of one of the run's own files. */
static int is_leftover(const char *name)
{
    static const char *const begun[] = { "asked.ini", "recipe.ini" }; /* before the run is */
    enum { BEGUN = sizeof begun / sizeof *begun };
    const size_t bytes = gsa_bytes_of_target(name);
    for (int i = 0; i < GSA_RUN_FILES + BEGUN && name[bytes]; i++) {
        const char *own = i < BEGUN ? begun[i] : gsa_run_files[i - BEGUN];
        if (strlen(own) == bytes && strncmp(name, own, bytes) == 0) return 1;
    }
    return 0;
}

static int note(void *context, const char *name)
{
    leftovers *l = context;
    if (!is_leftover(name)) return 0;
    if (l->count == l->room) {
        const int room = l->room ? 2 * l->room : 8;
        char(*more)[NAME] = gsa_resize(l->system, l->at, (size_t)room, sizeof *more);
        if (!more) return l->memory = 0, -1;
        l->at = more, l->room = room;
    }
    snprintf(l->at[l->count++], NAME, "%s", name);
    return 0;
}

static gsa_status remove_one(const gsa_system *system, const char *folder, const char *name,
                             gsa_error *error)
{
    const size_t room = strlen(folder) + NAME + 1;
    char *path = gsa_alloc(system, room, 1);
    gsa_status status = GSA_OK;
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)room);
    snprintf(path, room, "%s/%s", folder, name);
    if (gsa_entry_kind(system, path) == GSA_FILE_REGULAR && system->remove(system->user, path) < 0)
        status = gsa_fail(error, GSA_ERR_IO, "'%s' cannot be removed: %s", path, strerror(errno));
    gsa_release(system, path);
    return status;
}

gsa_status gsa_remove_leftovers(const gsa_system *system, const char *folder, gsa_error *error)
{
    leftovers l = { .system = system, .memory = 1 };
    gsa_status status = GSA_OK;
    if (system->list(system->user, folder, note, &l) < 0)
        status = l.memory ? gsa_fail(error, GSA_ERR_IO, "'%s' cannot be listed: %s", folder,
                                     strerror(errno))
                          : gsa_out_of_memory(error, folder, 2 * NAME * (int64_t)l.room);
    for (int i = 0; i < l.count && status == GSA_OK; i++)
        status = remove_one(system, folder, l.at[i], error);
    gsa_release(system, l.at);
    return status;
}

typedef struct step_sought {
    char *name;
    int64_t own;
} step_sought;

static int is_step(void *context, const char *name)
{
    int64_t step;
    const step_sought *s = context;
    const size_t bytes = strlen(name);
    const int found = (gsa_step_of_folder(name) >= 0 ||
                       (gsa_step_of(name, GSA_WRITING, &step) && step != s->own)) &&
                      bytes < GSA_STEP_NAME;
    if (found) memcpy(s->name, name, bytes + 1);
    return found ? -1 : 0;
}

int gsa_finds_step(const gsa_system *system, const char *folder, int64_t own,
                   char name[GSA_STEP_NAME])
{
    *name = 0;
    const int rc = system->list(system->user, folder, is_step, &(step_sought){ name, own });
    return *name ? 1 : rc < 0 && errno != ENOENT && errno != ENOTDIR ? -1 : 0;
}

int gsa_has_checkpoint(const gsa_system *system, const char *folder)
{
    char name[GSA_STEP_NAME], *step = NULL, *warning = NULL;
    if (gsa_finds_step(system, folder, -1, name) <= 0) return 0;
    const gsa_status status = gsa_checkpoint_find(system, folder, NULL, &step, &warning, NULL);
    gsa_release(system, step);
    gsa_release(system, warning);
    return status == GSA_OK;
}
