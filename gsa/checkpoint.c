/* checkpoint.c - writing a checkpoint. What a crash may leave, and what the next begin does with
 * it:
 *   step-N.tmp-gsa[-K]      half-written or half-removed: removed
 *   latest.tmp-gsa-...  a `latest` that was never put in place: removed
 *   step-N.old-gsa alone    killed between the two renames that replace a step-N: put back
 *   step-N.old-gsa, step-N  killed before the replaced one was removed: removed
 * Nothing is removed but plain files of these names and folders of plain files: what is a link, or
 * holds a folder or a link, is somebody else's and stays. So does a step-N with a file of a name
 * that the checkpoint being written has not, without a whole manifest of that step, or with the
 * state of another run or none where this one has its own, and a step-N.old, which is the name of a
 * user's copy. What stays under the name of a temporary is passed by: the next K is taken. Before a
 * folder's first checkpoint no list tells what is ours, so that leftovers go with its end. */
#include "checkpoint.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checkpoint_parts.h"
#include "graph/system_parts.h"

#define OLD ".old" /* step-N.old[-K]: what no run of the folder wrote, and was in the way */

struct gsa_checkpoint {
    const gsa_system *system;
    int64_t step;
    char *folder, *writing, *place; /* DIR, DIR/step-N.tmp-gsa[-K], DIR/step-N */
    gsa_names files;
    char *run; /* that its state tells, NULL: none */
};

/* ---- shared with checkpoint_find.c --------------------------------------------------------- */

char *gsa_text_of(const gsa_system *system, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : gsa_alloc(system, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* The suffix of a temporary may have a number behind it. */
static int ends_as(const char *end, const char *suffix)
{
    const size_t bytes = strlen(suffix);
    if (strncmp(end, suffix, bytes) != 0) return 0;
    end += bytes;
    if (strcmp(suffix, GSA_WRITING) == 0 && end[0] == '-' && end[1])
        end += 1 + strspn(end + 1, "0123456789");
    return !*end;
}

int gsa_step_of(const char *name, const char *suffix, int64_t *step)
{
    const size_t prefix = strlen(GSA_STEP);
    if (strncmp(name, GSA_STEP, prefix) != 0) return 0;
    const char *digits = name + prefix;
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 18 || (digits[0] == '0' && count > 1) ||
        !ends_as(digits + count, suffix))
        return 0;
    *step = 0;
    for (size_t i = 0; i < count; i++) *step = *step * 10 + (digits[i] - '0');
    return 1;
}

gsa_status gsa_names_add(gsa_names *names, const char *name, gsa_error *error)
{
    if (names->count == names->room) {
        const int room = names->room ? 2 * names->room : 16;
        char **more = gsa_resize(names->system, names->at, (size_t)room, sizeof *more);
        if (!more)
            return gsa_out_of_memory(error, "the names in a folder", room * (int64_t)sizeof *more);
        names->at = more, names->room = room;
    }
    char *copy = gsa_copy_text(names->system, name);
    if (!copy) return gsa_out_of_memory(error, "the names in a folder", (int64_t)strlen(name) + 1);
    names->at[names->count++] = copy;
    return GSA_OK;
}

static int add_listed(void *context, const char *name)
{
    gsa_names *names = context;
    names->failed = gsa_names_add(names, name, NULL) != GSA_OK;
    return names->failed;
}

gsa_status gsa_names_list(const gsa_system *system, const char *folder, gsa_names *names,
                          gsa_error *error)
{
    char why[128];
    *names = (gsa_names){ .system = system };
    const int rc = system->list(system->user, folder, add_listed, names);
    if (names->failed) return gsa_out_of_memory(error, folder, (int64_t)sizeof *names->at);
    if (rc == 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be listed: %s", folder,
                    gsa_errno_text(errno, why, sizeof why));
}

void gsa_names_release(gsa_names *names)
{
    for (int i = 0; i < names->count; i++) gsa_release(names->system, names->at[i]);
    gsa_release(names->system, names->at);
    names->at = NULL, names->count = names->room = 0;
}

/* ---- removing ------------------------------------------------------------------------------ */

static gsa_status cannot(const char *path, const char *what, gsa_error *error)
{
    char why[128];
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be %s: %s", path, what,
                    gsa_errno_text(errno, why, sizeof why));
}

static gsa_status remove_path(const gsa_system *system, const char *path, gsa_error *error)
{
    return system->remove(system->user, path) < 0 ? cannot(path, "removed", error) : GSA_OK;
}

static gsa_status remove_inside(const gsa_system *system, const char *folder, const char *name,
                                gsa_error *error)
{
    char *path = gsa_text_of(system, "%s/%s", folder, name);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(name));
    const gsa_status status = remove_path(system, path, error);
    gsa_release(system, path);
    return status;
}

/* A folder of plain files. */
static gsa_status remove_folder(const gsa_system *system, const char *folder, gsa_error *error)
{
    gsa_names names;
    if (system->clear_folder)
        return system->clear_folder(system->user, folder) < 0 ? cannot(folder, "removed", error)
                                                              : GSA_OK;
    gsa_status status = gsa_names_list(system, folder, &names, error);
    for (int i = 0; status == GSA_OK && i < names.count; i++)
        status = remove_inside(system, folder, names.at[i], error);
    gsa_names_release(&names);
    return status == GSA_OK ? remove_path(system, folder, error) : status;
}

/* 1: of a checkpoint with the files `known`, or a temporary of one. */
static int is_known(const gsa_names *known, const char *name)
{
    const size_t bytes = gsa_bytes_of_target(name);
    if (strncmp(name, GSA_MANIFEST, bytes) == 0 && strlen(GSA_MANIFEST) == bytes) return 1;
    for (int i = 0; i < known->count; i++)
        if (strncmp(known->at[i], name, bytes) == 0 && strlen(known->at[i]) == bytes) return 1;
    return 0;
}

/* What can be read and is none of ours is no failure. */
static gsa_status take_strange(gsa_status status, const gsa_error *why, gsa_error *error)
{
    return status == GSA_OK || status == GSA_ERR_FORMAT || status == GSA_ERR_LIMIT
               ? GSA_OK
               : gsa_fail(error, status, "%s", why->text);
}

/* *whole: the folder has a manifest, and that is of its step. */
static gsa_status check_listed(const gsa_system *system, const char *folder, int *whole,
                               gsa_error *error)
{
    gsa_names listed;
    gsa_error why;
    const gsa_status status = gsa_manifest_names(system, folder, &listed, whole, &why);
    gsa_names_release(&listed);
    return take_strange(status, &why, error);
}

/* *own: DIR/step-N<suffix> is a folder, no link to one, and holds known plain files alone; a
 * step-N has its manifest, too. */
static gsa_status check_own(const gsa_system *system, const char *folder, int64_t step,
                            const char *suffix, const gsa_names *known, int *own, gsa_error *error)
{
    gsa_names names = { .system = system };
    gsa_status status = GSA_OK;
    int whole = 1;
    char *path = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64 "%s", folder, step, suffix);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    *own = gsa_entry_kind(system, path) == GSA_FILE_FOLDER;
    if (*own) status = gsa_names_list(system, path, &names, error);
    for (int i = 0; status == GSA_OK && *own && i < names.count; i++) {
        char *file = gsa_text_of(system, "%s/%s", path, names.at[i]);
        if (!file) status = gsa_out_of_memory(error, path, (int64_t)strlen(path));
        else
            *own = gsa_entry_kind(system, file) == GSA_FILE_REGULAR && is_known(known, names.at[i]);
        gsa_release(system, file);
    }
    if (status == GSA_OK && *own && !*suffix) status = check_listed(system, path, &whole, error);
    *own &= whole;
    gsa_names_release(&names);
    gsa_release(system, path);
    return status;
}

/* *path: the first of step-N<suffix>, step-N<suffix>-1... that is not there. */
static gsa_status pick_free(const gsa_system *system, const char *folder, int64_t step,
                            const char *suffix, char **path, gsa_error *error)
{
    int kind = GSA_FILE_REGULAR;
    gsa_status status = GSA_OK;
    for (int k = 0; status == GSA_OK && kind != GSA_FILE_ABSENT; k++) {
        char number[16] = "";
        if (k > 0) snprintf(number, sizeof number, "-%d", k);
        *path = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64 "%s%s", folder, step, suffix, number);
        if (!*path) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
        kind = gsa_entry_kind(system, *path);
        if (kind < 0) status = cannot(*path, "seen", error);
        if (kind != GSA_FILE_ABSENT) gsa_release(system, *path), *path = NULL;
    }
    return status;
}

/* step-N<suffix> becomes a temporary first, or its manifest goes first, so that what is half
 * removed is never taken for a checkpoint. The folder is our own. */
static gsa_status discard(const gsa_system *system, const char *folder, int64_t step,
                          const char *suffix, gsa_error *error)
{
    char *from = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64 "%s", folder, step, suffix);
    char *to = NULL;
    int renamed = strncmp(suffix, GSA_WRITING, strlen(GSA_WRITING)) != 0;
    gsa_status status = from ? GSA_OK : gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    if (status == GSA_OK && renamed)
        status = pick_free(system, folder, step, GSA_WRITING, &to, error);
    if (status == GSA_OK && renamed && system->rename(system->user, from, to) < 0) {
        renamed = 0; /* EXDEV: of the lower layer of an overlay, as in a container's image */
        status = errno == EXDEV ? remove_inside(system, from, GSA_MANIFEST, error)
                                : cannot(from, "removed", error);
    }
    if (status == GSA_OK) status = remove_folder(system, renamed ? to : from, error);
    gsa_release(system, from);
    gsa_release(system, to);
    return status;
}

/* A replaced checkpoint of our own: put back where the new one never came, else removed. */
static gsa_status settle_replaced(const gsa_system *system, const char *folder, int64_t step,
                                  int *back, gsa_error *error)
{
    char *place = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64, folder, step);
    char *old = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64 GSA_REPLACED, folder, step);
    gsa_status status = GSA_OK;
    const int kind = place ? gsa_entry_kind(system, place) : -1;
    *back = kind == GSA_FILE_ABSENT;
    if (!place || !old) status = gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    else if (kind == GSA_FILE_FOLDER) status = discard(system, folder, step, GSA_REPLACED, error);
    else if (!*back || system->rename(system->user, old, place) < 0)
        status = cannot(old, "put back", error);
    gsa_release(system, place);
    gsa_release(system, old);
    return status;
}

/* latest.tmp-gsa-XXXXXXXXXXXX that a kill left. */
static gsa_status clean_latest(const gsa_system *system, const char *folder, const char *name,
                               gsa_error *error)
{
    const size_t bytes = strlen(GSA_LATEST);
    if (strncmp(name, GSA_LATEST, bytes) != 0 || gsa_bytes_of_target(name) != bytes || !name[bytes])
        return GSA_OK;
    char *path = gsa_text_of(system, "%s/%s", folder, name);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(name));
    const int own = gsa_entry_kind(system, path) == GSA_FILE_REGULAR;
    gsa_release(system, path);
    return own ? remove_inside(system, folder, name, error) : GSA_OK;
}

/* One entry of the folder, where its name ends with `suffix`: *step becomes that of a step that is
 * our own and stays, or -1. */
static gsa_status settle_one(const gsa_system *system, const char *folder, const gsa_names *known,
                             const char *name, const char *suffix, int64_t *step, gsa_error *error)
{
    int64_t number;
    int own, stays = 0;
    *step = -1;
    if (!gsa_step_of(name, suffix, &number)) return GSA_OK;
    if (*suffix) suffix = strchr(name, *suffix); /* with its number */
    gsa_status status = check_own(system, folder, number, suffix, known, &own, error);
    if (!own || status != GSA_OK) return status;
    if (!*suffix) stays = 1;
    else if (strcmp(suffix, GSA_REPLACED) == 0)
        status = settle_replaced(system, folder, number, &stays, error);
    else status = discard(system, folder, number, suffix, error);
    if (stays) *step = number;
    return status;
}

/* Removes what kills left of checkpoints with the files `known`; steps of our own that stay go to
 * `steps`, which has room for all names. */
static gsa_status settle(const gsa_system *system, const char *folder, const gsa_names *known,
                         const gsa_names *names, int64_t *steps, int *count, gsa_error *error)
{
    static const char *const suffixes[] = { GSA_WRITING, GSA_REPLACED, "" };
    gsa_status status = GSA_OK;
    *count = 0;
    for (int i = 0; status == GSA_OK && i < names->count; i++)
        status = clean_latest(system, folder, names->at[i], error);
    for (int s = 0; s < 3; s++)
        for (int i = 0; status == GSA_OK && i < names->count; i++) {
            int64_t step;
            status = settle_one(system, folder, known, names->at[i], suffixes[s], &step, error);
            if (step >= 0) steps[(*count)++] = step;
        }
    return status;
}

/* The newest step's files: what is ours, as far as a save knows before it. */
static gsa_status list_known(const gsa_system *system, const char *folder, const gsa_names *names,
                             gsa_names *known, gsa_error *error)
{
    int64_t newest = -1, step;
    *known = (gsa_names){ .system = system };
    for (int i = 0; i < names->count; i++)
        if (gsa_step_of(names->at[i], "", &step) && step > newest) newest = step;
    if (newest < 0) return GSA_OK;
    char *place = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64, folder, newest);
    if (!place) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    gsa_error why;
    int whole;
    const gsa_status status = gsa_manifest_names(system, place, known, &whole, &why);
    gsa_release(system, place);
    return status != GSA_ERR_MEMORY ? GSA_OK /* what cannot be read is no manifest of ours */
                                    : gsa_fail(error, status, "%s", why.text);
}

gsa_status gsa_checkpoint_clean(const gsa_system *system, const char *folder, gsa_error *error)
{
    gsa_names names, known = { .system = system };
    int64_t *steps = NULL;
    int count;
    gsa_status status = gsa_names_list(system, folder, &names, error);
    if (status == GSA_OK) status = list_known(system, folder, &names, &known, error);
    if (status == GSA_OK && !(steps = gsa_alloc(system, (size_t)names.count, sizeof *steps)))
        status = gsa_out_of_memory(error, folder, names.count * (int64_t)sizeof *steps);
    if (status == GSA_OK) status = settle(system, folder, &known, &names, steps, &count, error);
    gsa_names_release(&known);
    gsa_names_release(&names);
    gsa_release(system, steps);
    return status;
}

/* ---- begin --------------------------------------------------------------------------------- */

/* A folder that was just made is lost with the power unless the folders above it are synchronised,
 * up to the first. */
static gsa_status sync_above(const gsa_system *system, const char *folder, gsa_error *error)
{
    gsa_status status = GSA_OK;
    char *path = gsa_copy_text(system, folder);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    for (int more = 1; status == GSA_OK && more;) {
        char *slash = strrchr(path, '/');
        more = slash && slash != path;
        if (slash) *slash = 0;
        const char *above = !slash ? "." : *path ? path : "/";
        if (system->sync_folder(system->user, above) < 0)
            status = cannot(above, "synchronised", error);
    }
    gsa_release(system, path);
    return status;
}

static gsa_status make_folder(const gsa_system *system, const char *folder, gsa_error *error)
{
    const int stood = system->kind(system->user, folder, NULL) == GSA_FILE_FOLDER;
    const gsa_status status = stood ? GSA_OK : gsa_make_folders(system, folder, error);
    return status == GSA_OK && !stood ? sync_above(system, folder, error) : status;
}

static void end(gsa_checkpoint *checkpoint)
{
    const gsa_system *system = checkpoint->system;
    gsa_names_release(&checkpoint->files);
    gsa_release(system, checkpoint->folder);
    gsa_release(system, checkpoint->writing);
    gsa_release(system, checkpoint->place);
    gsa_release(system, checkpoint->run);
    gsa_release(system, checkpoint);
}

static gsa_status begin(gsa_checkpoint *checkpoint, const char *folder, gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    checkpoint->folder = gsa_copy_text(system, folder);
    checkpoint->place = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64, folder, checkpoint->step);
    if (!checkpoint->folder || !checkpoint->place)
        return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    gsa_status status = make_folder(system, folder, error);
    if (status == GSA_OK) status = gsa_checkpoint_clean(system, folder, error);
    if (status == GSA_OK)
        status =
            pick_free(system, folder, checkpoint->step, GSA_WRITING, &checkpoint->writing, error);
    if (status == GSA_OK && system->make_folder(system->user, checkpoint->writing) < 0)
        status = cannot(checkpoint->writing, "made", error);
    return status;
}

gsa_status gsa_checkpoint_begin(const gsa_system *system, const char *folder, int64_t step,
                                gsa_checkpoint **checkpoint, gsa_error *error)
{
    system = gsa_system_or_default(system);
    *checkpoint = NULL;
    if (step < 0 || step > INT64_C(999999999999999999))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a checkpoint's step is %" PRId64 ", not 0 or more", step);
    gsa_checkpoint *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, folder, (int64_t)sizeof *made);
    made->system = made->files.system = system;
    made->step = step;
    const gsa_status status = begin(made, folder, error);
    if (status != GSA_OK) end(made);
    else *checkpoint = made;
    return status;
}

gsa_status gsa_checkpoint_file(gsa_checkpoint *checkpoint, const char *name, gsa_output **output,
                               gsa_error *error)
{
    *output = NULL;
    if (!gsa_manifest_takes(name))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'%s' cannot name a file of a checkpoint: expected letters, digits, '.', '_', '-'",
            name);
    if (checkpoint->files.count == GSA_MOST_FILES)
        return gsa_fail(error, GSA_ERR_LIMIT, "'%s' has %d files, and a checkpoint has no more",
                        checkpoint->writing, GSA_MOST_FILES);
    for (int i = 0; i < checkpoint->files.count; i++)
        if (strcmp(checkpoint->files.at[i], name) == 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' is in '%s' already", name,
                            checkpoint->writing);
    char *path = gsa_text_of(checkpoint->system, "%s/%s", checkpoint->writing, name);
    if (!path) return gsa_out_of_memory(error, checkpoint->writing, (int64_t)strlen(name));
    gsa_status status = gsa_names_add(&checkpoint->files, name, error);
    if (status == GSA_OK) status = gsa_output_open_own(checkpoint->system, path, output, error);
    gsa_release(checkpoint->system, path);
    return status;
}

/* ---- commit -------------------------------------------------------------------------------- */

/* What a kill left in the folder, of the same step, goes; what is no file of ours stays, and is no
 * part of a checkpoint. */
static gsa_status tidy(const gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_names names;
    const char *folder = checkpoint->writing;
    gsa_status status = gsa_names_list(checkpoint->system, folder, &names, error);
    for (int i = 0; status == GSA_OK && i < names.count; i++) {
        const char *name = names.at[i];
        if (!is_known(&checkpoint->files, name))
            status = gsa_fail(error, GSA_ERR_IO,
                              "'%s' holds '%s', which is no file of a checkpoint: move it away",
                              folder, name);
        else if (gsa_bytes_of_target(name) != strlen(name))
            status = remove_inside(checkpoint->system, folder, name, error);
    }
    gsa_names_release(&names);
    return status;
}

/* What was replaced before in this place goes, where it is our own and another is there: alone it
 * is the only one until the new one is in place. Half removed it is no whole checkpoint. */
static gsa_status drop_replaced(const gsa_checkpoint *checkpoint, gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    int own;
    if (system->kind(system->user, checkpoint->place, NULL) == GSA_FILE_ABSENT) return GSA_OK;
    gsa_status status = check_own(checkpoint->system, checkpoint->folder, checkpoint->step,
                                  GSA_REPLACED, &checkpoint->files, &own, error);
    if (status != GSA_OK || !own) return status;
    char *old = gsa_text_of(checkpoint->system, "%s" GSA_REPLACED, checkpoint->place);
    status = old ? remove_folder(checkpoint->system, old, error)
                 : gsa_out_of_memory(error, checkpoint->place, (int64_t)strlen(checkpoint->place));
    gsa_release(checkpoint->system, old);
    return status;
}

/* *run: what the folder's state tells, "" where an earlier version wrote it; NULL: none can be
 * read. */
static gsa_status read_run(const gsa_system *system, const char *folder, char **run,
                           gsa_error *error)
{
    gsa_safetensors state;
    gsa_error why;
    *run = NULL;
    char *path = gsa_text_of(system, "%s/" GSA_STATE_FILE, folder);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    int kind;
    gsa_status status = gsa_see(system, path, &kind, &why);
    if (status == GSA_OK && kind == GSA_FILE_REGULAR &&
        (status = gsa_safetensors_read_header(system, path, &state, &why)) == GSA_OK) {
        const char *note = gsa_safetensors_note(&state, GSA_RUN_NOTE);
        *run = gsa_copy_text(system, note ? note : "");
        if (!*run) status = gsa_out_of_memory(&why, path, (int64_t)strlen(path));
        gsa_safetensors_release(&state);
    }
    gsa_release(system, path);
    return take_strange(status, &why, error);
}

/* *own: the run that is being saved made DIR/step-N, as far as its state names a run. */
static gsa_status check_ours(const gsa_checkpoint *checkpoint, int64_t step, int *own,
                             gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    char *run, *path;
    gsa_status status =
        check_own(system, checkpoint->folder, step, "", &checkpoint->files, own, error);
    if (status != GSA_OK || !*own || !checkpoint->run) return status;
    path = gsa_text_of(system, "%s/" GSA_STEP "%" PRId64, checkpoint->folder, step);
    if (!path) return gsa_out_of_memory(error, checkpoint->folder, (int64_t)strlen(GSA_STEP));
    status = read_run(system, path, &run, error);
    *own = run && (!*run || !*checkpoint->run || strcmp(run, checkpoint->run) == 0);
    gsa_release(system, run);
    gsa_release(system, path);
    return status;
}

/* step-N.tmp-gsa to step-N; what is there steps aside and comes back when that fails. Where no run
 * wrote it, it becomes a step-N.old[-K], which stays. */
static gsa_status put_in_place(gsa_checkpoint *checkpoint, gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    const int kind = gsa_entry_kind(system, checkpoint->place);
    const int replaces = kind == GSA_FILE_FOLDER;
    if (kind != GSA_FILE_ABSENT && !replaces) /* a file, a pipe or a link is none of ours */
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be replaced: it is no folder",
                        checkpoint->place);
    int own = 1;
    gsa_status status = replaces ? check_ours(checkpoint, checkpoint->step, &own, error) : GSA_OK;
    if (status != GSA_OK) return status;
    char *old = NULL;
    if (!own) status = pick_free(system, checkpoint->folder, checkpoint->step, OLD, &old, error);
    else if (replaces && !(old = gsa_text_of(system, "%s" GSA_REPLACED, checkpoint->place)))
        status = gsa_out_of_memory(error, checkpoint->place, (int64_t)strlen(checkpoint->place));
    if (status != GSA_OK) return status;
    if (replaces && system->rename(system->user, checkpoint->place, old) < 0)
        status = cannot(checkpoint->place, "replaced", error);
    else if (system->rename(system->user, checkpoint->writing, checkpoint->place) < 0) {
        status = cannot(checkpoint->place, "put in place", error);
        if (replaces)
            system->rename(system->user, old, checkpoint->place); /* else the next one does it */
    }
    gsa_release(system, old);
    return status;
}

static gsa_status point_to(gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    char *path = gsa_text_of(checkpoint->system, "%s/" GSA_LATEST, checkpoint->folder);
    if (!path)
        return gsa_out_of_memory(error, checkpoint->folder, (int64_t)strlen(checkpoint->folder));
    gsa_status status = gsa_output_open_own(checkpoint->system, path, &output, error);
    gsa_release(checkpoint->system, path);
    if (status != GSA_OK) return status;
    gsa_output_format(output, GSA_STEP "%" PRId64 "\n", checkpoint->step);
    return gsa_output_commit(output, error);
}

/* Does step `a` stay rather than `b`? First the new one, then those before it, newest first, then
 * those after it, which belong to a run that was taken up again from an earlier step. */
static int stays_before(int64_t a, int64_t b, int64_t newest)
{
    if ((a <= newest) != (b <= newest)) return a <= newest;
    return a > b;
}

static gsa_status prune(gsa_checkpoint *checkpoint, int keep, gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    gsa_names names;
    int64_t *steps = NULL;
    int all = 0, count = 0;
    gsa_status status = gsa_names_list(system, checkpoint->folder, &names, error);
    if (status == GSA_OK && !(steps = gsa_alloc(system, (size_t)names.count, sizeof *steps)))
        status = gsa_out_of_memory(error, checkpoint->folder, names.count * (int64_t)sizeof *steps);
    if (status == GSA_OK)
        status = settle(system, checkpoint->folder, &checkpoint->files, &names, steps, &all, error);
    for (int i = 0; status == GSA_OK && i < all; i++) {
        int own = 0;
        status = check_ours(checkpoint, steps[i], &own, error);
        if (own) steps[count++] = steps[i];
    }
    for (int i = 0; status == GSA_OK && i < count; i++) {
        int better = 0;
        for (int j = 0; j < count; j++)
            better += stays_before(steps[j], steps[i], checkpoint->step);
        if (better >= keep) status = discard(system, checkpoint->folder, steps[i], "", error);
    }
    gsa_release(system, steps);
    gsa_names_release(&names);
    return status == GSA_OK ? status
                            : gsa_fail_at(error, status, "'%s' is saved, but an older one stays",
                                          checkpoint->place);
}

static gsa_status commit(gsa_checkpoint *checkpoint, int keep, int *placed, gsa_error *error)
{
    const gsa_system *system = checkpoint->system;
    if (keep < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%d checkpoints cannot be kept: expected 1 or more", keep);
    if (checkpoint->files.count == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' has no files", checkpoint->writing);
    gsa_status status = tidy(checkpoint, error);
    if (status == GSA_OK)
        status = gsa_manifest_write(system, checkpoint->writing, checkpoint->step,
                                    &checkpoint->files, error);
    if (status == GSA_OK) status = read_run(system, checkpoint->writing, &checkpoint->run, error);
    if (status == GSA_OK) status = drop_replaced(checkpoint, error);
    if (status == GSA_OK) status = put_in_place(checkpoint, error);
    if (status != GSA_OK) return status;
    *placed = 1;
    if (system->sync_folder(system->user, checkpoint->folder) < 0)
        return cannot(checkpoint->folder, "synchronised", error);
    status = point_to(checkpoint, error);
    return status == GSA_OK ? prune(checkpoint, keep, error) : status;
}

gsa_status gsa_checkpoint_commit(gsa_checkpoint *checkpoint, int keep, gsa_error *error)
{
    int placed = 0;
    const gsa_status status = commit(checkpoint, keep, &placed, error);
    if (placed) end(checkpoint);
    else gsa_checkpoint_abandon(checkpoint);
    return status;
}

void gsa_checkpoint_abandon(gsa_checkpoint *checkpoint)
{
    if (!checkpoint) return;
    int own;
    if (check_own(checkpoint->system, checkpoint->folder, checkpoint->step,
                  strrchr(checkpoint->writing, '/') + strlen(strrchr(checkpoint->place, '/')),
                  &checkpoint->files, &own, NULL) == GSA_OK &&
        own)
        remove_folder(checkpoint->system, checkpoint->writing, NULL); /* else the next one does */
    end(checkpoint);
}
