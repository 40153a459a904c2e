/* checkpoint_find.c - the checkpoint to read: the one that `latest` names, else the newest whose
 * manifest holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checkpoint.h"
#include "checkpoint_parts.h"
#include "graph/system_parts.h"

typedef struct candidate {
    int64_t step;
    int replaced; /* step-N.old-gsa */
} candidate;

/* The folder that is searched, through the table that holds it, and what was found. */
typedef struct search {
    const gsa_system *system, *below;
    const char *folder, *unread;
    char *path;
    gsa_anchor *anchor; /* of the checkpoint */
} search;

/* Found when it is whole. It is held before its manifest is checked: another folder of that name
 * is not the one that was. */
static gsa_status try_step(search *s, candidate which, gsa_error *error)
{
    char *place = gsa_text_of(s->below, "%s/" GSA_STEP "%" PRId64 "%s", s->folder, which.step,
                              which.replaced ? GSA_REPLACED : "");
    gsa_anchor *anchor = NULL;
    if (!place) return gsa_out_of_memory(error, s->folder, (int64_t)strlen(s->folder));
    gsa_status status = gsa_anchor_open(s->system, s->below, place, &anchor, error);
    if (status == GSA_OK && gsa_anchor_lacks(anchor))
        status = gsa_fail(error, GSA_ERR_FORMAT, "'%s' is not there or is a link", place);
    if (status == GSA_OK) status = gsa_manifest_check(anchor, s->system, place, s->unread, error);
    if (status == GSA_OK) s->path = place, s->anchor = anchor;
    else gsa_anchor_close(anchor), gsa_release(s->below, place);
    return status;
}

static gsa_status read_latest(const gsa_system *system, const char *folder, int64_t *step,
                              gsa_error *error)
{
    enum { LONGEST = 64 };
    char *text = NULL, *path = gsa_text_of(system, "%s/" GSA_LATEST, folder);
    int64_t bytes;
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
    gsa_status status = gsa_check_regular(system, path, error);
    if (status == GSA_OK) status = gsa_read_file(system, path, LONGEST, &text, &bytes, error);
    if (status == GSA_OK && ((int64_t)strlen(text) != bytes || !gsa_step_of(text, "\n", step)))
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s:1: expected one line, '" GSA_STEP "N'", path);
    gsa_release(system, text);
    gsa_release(system, path);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int newest_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->step != y->step ? (x->step > y->step ? -1 : 1) : x->replaced - y->replaced;
}

/* All of them, newest first; released by the caller. */
static gsa_status list_steps(const gsa_system *system, const char *folder, candidate **found,
                             int *count, gsa_error *error)
{
    gsa_names names;
    *found = NULL, *count = 0;
    gsa_status status = gsa_names_list(system, folder, &names, error);
    if (status == GSA_OK && !(*found = gsa_alloc(system, (size_t)names.count, sizeof **found)))
        status = gsa_out_of_memory(error, folder, names.count * (int64_t)sizeof **found);
    for (int i = 0; status == GSA_OK && i < names.count; i++) {
        candidate one = { .replaced = 0 };
        if (!gsa_step_of(names.at[i], "", &one.step)) {
            one.replaced = gsa_step_of(names.at[i], GSA_REPLACED, &one.step);
            if (!one.replaced) continue;
        }
        (*found)[(*count)++] = one;
    }
    gsa_names_release(&names);
    if (*count > 1) qsort(*found, (size_t)*count, sizeof **found, newest_first);
    return status;
}

/* ": the runs in it are ra, rb" where folders of it have checkpoints, else "". */
static void name_runs(const gsa_system *system, const char *folder, char *out, size_t size)
{
    gsa_names names;
    size_t used = 0;
    out[0] = 0;
    if (gsa_names_list(system, folder, &names, NULL) == GSA_OK && names.count > 1)
        qsort(names.at, (size_t)names.count, sizeof *names.at, by_text);
    for (int i = 0; i < names.count && used < size / 2; i++) {
        char *latest = gsa_text_of(system, "%s/%s/" GSA_LATEST, folder, names.at[i]);
        if (latest && system->kind(system->user, latest, NULL) == GSA_FILE_REGULAR)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                     used ? ", " : ": the runs in it are ", 80, names.at[i]);
        gsa_release(system, latest);
    }
    gsa_names_release(&names);
}

/* The newest whole one but `latest` (-1: none), which was tried. */
static gsa_status fall_back(search *s, int64_t latest, const gsa_error *reason, gsa_error *error)
{
    candidate *found;
    char runs[512];
    int count;
    gsa_status status = list_steps(s->system, s->folder, &found, &count, error);
    if (status != GSA_OK) {
        gsa_release(s->system, found);
        return status;
    }
    status = GSA_ERR_FORMAT;
    for (int i = 0; i < count && status != GSA_OK && status != GSA_ERR_MEMORY; i++)
        if (found[i].step != latest || found[i].replaced) status = try_step(s, found[i], error);
    gsa_release(s->system, found);
    if (status == GSA_OK || status == GSA_ERR_MEMORY) return status;
    name_runs(s->system, s->folder, runs, sizeof runs);
    return gsa_fail(error, status == GSA_ERR_FORMAT && latest >= 0 ? reason->status : status,
                    "'%s' holds no whole checkpoint%s%s", s->folder, *runs ? "" : ": ",
                    *runs ? runs : reason->text);
}

/* A step's own folder, which is held: no other is looked for. */
static gsa_status take_itself(search *s, gsa_anchor *own, gsa_error *error)
{
    const gsa_status status = gsa_manifest_check(own, s->system, s->folder, s->unread, error);
    if (status != GSA_OK) return status;
    s->path = gsa_copy_text(s->below, s->folder);
    return s->path ? GSA_OK : gsa_out_of_memory(error, s->folder, (int64_t)strlen(s->folder));
}

static gsa_status take_latest(search *s, char **warning, gsa_error *error)
{
    gsa_error reason = { GSA_OK, "" };
    candidate latest = { -1, 0 };
    gsa_status status = read_latest(s->system, s->folder, &latest.step, &reason);
    if (status == GSA_OK) status = try_step(s, latest, &reason);
    if (status == GSA_OK) return GSA_OK;
    if (status == GSA_ERR_MEMORY) return gsa_fail(error, status, "%s", reason.text);
    status = fall_back(s, latest.step, &reason, error);
    if (status != GSA_OK) return status;
    *warning = gsa_text_of(s->below, "%s; '%s' is used instead", reason.text, s->path);
    return *warning ? GSA_OK : gsa_out_of_memory(error, s->folder, GSA_ERROR_SIZE);
}

static gsa_status find(search *s, gsa_anchor *own, int *itself, char **warning, gsa_error *error)
{
    int kind;
    char why[128];
    const gsa_status status = gsa_see_in(s->system, s->folder, GSA_MANIFEST, &kind, error);
    if (status != GSA_OK) return status;
    *itself = kind == GSA_FILE_REGULAR;
    if (*itself) return take_itself(s, own, error);
    const int lacks = gsa_anchor_lacks(own);
    const gsa_system *tells = lacks ? s->below : s->system; /* why it was not there */
    kind = tells->kind(tells->user, s->folder, NULL);
    if (kind == GSA_FILE_FOLDER && !lacks) return take_latest(s, warning, error);
    if (kind < 0)
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be opened: %s", s->folder,
                        gsa_errno_text(errno, why, sizeof why));
    return gsa_fail(error, GSA_ERR_IO,
                    "'%s' is no folder of checkpoints: it is not there or is a file", s->folder);
}

gsa_status gsa_checkpoint_hold(const gsa_system *through, const gsa_system *below,
                               const char *folder, const char *unread, gsa_anchor **anchor,
                               char **path, char **warning, gsa_error *error)
{
    search s = { .below = below, .folder = folder, .unread = unread };
    gsa_anchor *own = NULL;
    int itself = 0;
    *anchor = NULL, *path = *warning = NULL;
    gsa_status status = gsa_anchor_open(through, below, folder, &own, error);
    if (status != GSA_OK) return status;
    s.system = gsa_anchor_system(own, through);
    status = find(&s, own, &itself, warning, error);
    if (status == GSA_OK && itself) s.anchor = own;
    else gsa_anchor_close(own);
    if (status == GSA_OK) {
        *path = s.path, *anchor = s.anchor;
        return GSA_OK;
    }
    gsa_release(below, s.path);
    gsa_anchor_close(s.anchor);
    return status;
}

gsa_status gsa_checkpoint_find(const gsa_system *system, const char *folder, const char *unread,
                               char **path, char **warning, gsa_error *error)
{
    gsa_anchor *anchor;
    system = gsa_system_or_default(system);
    const gsa_status status =
        gsa_checkpoint_hold(system, system, folder, unread, &anchor, path, warning, error);
    gsa_anchor_close(anchor);
    return status;
}
