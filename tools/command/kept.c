/* kept.c - what no output of the command takes the place of: a file that it reads, what is in a
 * checkpoint, what a run needs. Files that were read are known by their paths: another file that
 * is there now counts. And what is read of a checkpoint is no link: its owner may exchange a file
 * for one after the manifest was checked. */
#define _DEFAULT_SOURCE /* realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint_parts.h"
#include "train/driver/leftovers.h"
#include "train/driver/lock.h"
#include "tools/command/verbs.h"

/* Checkpoints that were read last: a run that saves for days must not remember all their files,
 * and what is read of one comes right after its manifest. */
enum { MANIFESTS = 64, PLACED = 64 };
static const char MANIFEST[] = "manifest.sha256";

typedef struct read_file {
    char *at;
    int opened; /* by this name: what a recipe names may not be read at all, and the files of a run
                   are read in a folder that is held */
} read_file;

static struct { /* kept to the end of the process */
    pthread_mutex_t lock;
    read_file *file;
    int count, room;
    struct stat placed[PLACED]; /* files that this process made, and may replace and remove */
    int n_placed;
    char *checkpoint[MANIFESTS]; /* folders, with their "/" */
    int next;                    /* of these, the one that goes first */
    char writing[PATH_MAX];      /* the step-N.tmp-gsa that was made last */
    int regular;                 /* as gsa_read_regular says */
    gsa_system table;            /* without what is here */
} reads = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int note(const char *path, int opened)
{
    int i = 0;
    while (i < reads.count && strcmp(reads.file[i].at, path) != 0) i++;
    if (i < reads.count) return reads.file[i].opened |= opened, 1;
    if (reads.count == reads.room) {
        const int room = reads.room ? 2 * reads.room : 64;
        read_file *more = realloc(reads.file, (size_t)room * sizeof *more);
        if (!more) return 0;
        reads.file = more, reads.room = room;
    }
    char *copy = strdup(path);
    if (copy) reads.file[reads.count++] = (read_file){ copy, opened };
    return copy != NULL;
}

static int note_read(const char *path, int opened)
{
    pthread_mutex_lock(&reads.lock);
    const int noted = note(path, opened);
    pthread_mutex_unlock(&reads.lock);
    return noted;
}

int gsa_note_read(const char *path)
{
    return note_read(path, 0);
}

int gsa_each_read(int (*each)(void *context, const char *path), void *context)
{
    int good = 1;
    pthread_mutex_lock(&reads.lock);
    for (int i = 0; i < reads.count && good; i++) good = each(context, reads.file[i].at);
    pthread_mutex_unlock(&reads.lock);
    return good;
}

static int is_stream(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Of "-" as that descriptor. Where nothing is, *there has no mode. */
static gsa_status see_file(const char *path, int standard, struct stat *there, gsa_error *error)
{
    int kind = is_stream(path) ? fstat(standard, there) : stat(path, there);
    if (kind == 0) return GSA_OK;
    *there = (struct stat){ .st_mode = 0 };
    return errno == ENOENT || errno == EBADF ? GSA_OK : gsa_take_kind(path, &kind, error);
}

static int is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Under whatever name of its own: an output by a second one would be written over it. */
static int is_in(const char *folder, const struct stat *file)
{
    struct stat there;
    int found = 0;
    DIR *all = opendir(folder);
    for (struct dirent *one; all && !found && (one = readdir(all));)
        found = fstatat(dirfd(all), one->d_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                is_same(&there, file);
    if (all) closedir(all);
    return found;
}

/* A named output may be standard input, too, before that is read. What is no file is not
 * changed. */
static gsa_status check_read(const char *path, gsa_error *error)
{
    struct stat target, there;
    gsa_status status = see_file(path, STDOUT_FILENO, &target, error);
    if (status != GSA_OK || !S_ISREG(target.st_mode)) return status;
    if (stat("/proc/self/exe", &there) == 0 && is_same(&there, &target))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "it is this program");
    pthread_mutex_lock(&reads.lock);
    for (int i = is_stream(path) ? 0 : -1; i < reads.count && status == GSA_OK; i++) {
        status = see_file(i < 0 ? "-" : reads.file[i].at, STDIN_FILENO, &there, error);
        if (status == GSA_OK && there.st_mode && is_same(&there, &target))
            status = gsa_fail(error, GSA_ERR_ARGUMENT, "the command or its recipe reads it");
    }
    pthread_mutex_unlock(&reads.lock);
    return status;
}

int gsa_is_in_run(const char *run, const char *path)
{
    char at[GSA_PATH_ROOM];
    struct stat file, there;
    int found = 0;
    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode)) return 0;
    DIR *all = opendir(run);
    for (struct dirent *one; all && !found && (one = readdir(all));) {
        if (snprintf(at, sizeof at, "%s/%s", run, one->d_name) >= (int)sizeof at) continue;
        if (strncmp(one->d_name, "step-", 5) == 0) found = is_in(at, &file);
        else found = gsa_is_of_a_run(at, 1) && stat(at, &there) == 0 && is_same(&there, &file);
    }
    if (all) closedir(all);
    return found;
}

static gsa_status check_checkpoints(const char *path, gsa_error *error)
{
    struct stat target;
    gsa_status status = see_file(path, STDOUT_FILENO, &target, error);
    if (status != GSA_OK || !S_ISREG(target.st_mode)) return status;
    pthread_mutex_lock(&reads.lock);
    for (int i = 0; i < MANIFESTS && status == GSA_OK; i++)
        if (reads.checkpoint[i] && is_in(reads.checkpoint[i], &target))
            status = gsa_fail(error, GSA_ERR_ARGUMENT, "it is a file of a checkpoint");
    pthread_mutex_unlock(&reads.lock);
    return status;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What the verb makes anew of a run: of such a name, and by the option that is for it. */
static const char *remade[2];

void gsa_remake(const char *path, const char *name)
{
    for (int i = 0; path && strcmp(name_of(path), name) == 0 && i < 2; i++)
        if (!remade[i]) {
            remade[i] = path;
            return;
        }
}

static int is_remade(const char *path)
{
    for (int i = 0; i < 2; i++)
        if (remade[i] && strcmp(remade[i], path) == 0) return 1;
    return 0;
}

/* The first `room` bytes of a regular file, terminated; "" where there is none. A file that may be
 * written but not read holds nothing that is known. */
static gsa_status read_begin(const char *path, char *text, size_t room, gsa_error *error)
{
    char why[128];
    int kind;
    *text = 0;
    const gsa_status status = gsa_see(gsa_system_default(), path, &kind, error);
    if (status != GSA_OK || kind != GSA_FILE_REGULAR) return status;
    FILE *in = fopen(path, "rb");
    if (!in && errno != EACCES)
        return gsa_fail(error, GSA_ERR_IO, "what it holds cannot be seen: %s",
                        gsa_errno_text(errno, why, sizeof why));
    text[in ? fread(text, 1, room - 1, in) : 0] = 0;
    if (in) fclose(in);
    return GSA_OK;
}

/* The results of a sweep begin so; `last` holds the name of a run next to it, and a line's end. */
static gsa_status check_content(const char *path, const char *folder, gsa_error *error)
{
    static const char results[] = "{\"run\": \"";
    char text[NAME_MAX + 2], run[GSA_PATH_ROOM + NAME_MAX + 2];
    int kind = GSA_FILE_ABSENT;
    gsa_status status = read_begin(path, text, sizeof text, error);
    if (status != GSA_OK || !*text) return status;
    if (strncmp(text, results, sizeof results - 1) == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "it holds the results of runs");
    const size_t name = strcspn(text, "\n/");
    if (strcmp(name_of(path), "last") != 0 || strcmp(text + name, "\n") != 0) return GSA_OK;
    snprintf(run, sizeof run, "%s/%.*s", folder, (int)name, text);
    status = gsa_see_in(gsa_system_default(), run, "config.ini", &kind, error);
    return status != GSA_OK || kind == GSA_FILE_ABSENT
               ? status
               : gsa_fail(error, GSA_ERR_ARGUMENT, "it says which run was the last");
}

/* gsa average writes no log. */
static gsa_status check_run(const char *path, const char *folder, gsa_error *error)
{
    const gsa_system *system = gsa_system_default();
    int log, latest = GSA_FILE_ABSENT;
    if (!gsa_is_of_a_run(path, 0) || is_remade(path)) return GSA_OK;
    gsa_status status = gsa_see_in(system, folder, "log.jsonl", &log, error);
    if (status == GSA_OK) status = gsa_see_in(system, folder, GSA_LATEST, &latest, error);
    return log == GSA_FILE_REGULAR || latest == GSA_FILE_REGULAR
               ? gsa_fail(error, GSA_ERR_ARGUMENT, "it is of a run, which needs it")
               : status;
}

static void folder_of(const char *path, char folder[GSA_PATH_ROOM])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, GSA_PATH_ROOM, "%.*s",
             !slash          ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash ? path : ".");
}

/* The file that an output by a descriptor writes to; NULL: none that has a name. */
static const char *named_by(const char *path, char real[PATH_MAX])
{
    char at[32];
    const int file = is_stream(path) ? STDOUT_FILENO : gsa_descriptor_of(path);
    if (file < 0) return path;
    snprintf(at, sizeof at, "/proc/self/fd/%d", file);
    return realpath(at, real);
}

/* A run removes what a kill left of its outputs. */
static gsa_status check_name(const char *path, gsa_error *error)
{
    const char *name = name_of(path);
    return name[gsa_bytes_of_target(name)]
               ? gsa_fail(error, GSA_ERR_ARGUMENT, "its name is that of a temporary")
               : GSA_OK;
}

/* The path was followed through its links. */
static gsa_status check_place(const char *path, int replaces, gsa_error *error)
{
    char folder[GSA_PATH_ROOM], real[PATH_MAX];
    gsa_status status = check_read(path, error);
    const char *at = named_by(path, real);
    if (status == GSA_OK && at) status = check_name(at, error);
    folder_of(at ? at : path, folder);
    if (status == GSA_OK && at) status = gsa_check_outside(gsa_system_default(), folder, error);
    if (status == GSA_OK) status = check_checkpoints(path, error);
    if (status == GSA_OK && at) status = check_run(at, folder, error);
    if (status == GSA_OK && at == path && replaces) status = check_content(path, folder, error);
    return status;
}

static int refuse(void *user, const char *path, char *why, size_t room)
{
    gsa_error told;
    (void)user;
    const gsa_status status = check_place(path, 1, &told);
    if (status != GSA_OK) snprintf(why, room, "%s", told.text);
    return status != GSA_OK;
}

gsa_status gsa_check_appended(const gsa_system *system, const char *path, gsa_error *error)
{
    char end[GSA_PATH_ROOM];
    if (system->resolve(system->user, path, end, sizeof end) < 0)
        snprintf(end, sizeof end, "%s", path);
    const gsa_status status = check_place(end, 0, error);
    return status == GSA_OK ? status : gsa_fail_at(error, status, "'%s' cannot be written", path);
}

/* A link goes, and what it names stays. */
static gsa_status check_own(const char *path, gsa_error *error)
{
    int kind;
    gsa_status status = gsa_see_entry(gsa_system_default(), path, &kind, error);
    if (status == GSA_OK && kind == GSA_FILE_REGULAR) status = check_read(path, error);
    return status == GSA_OK ? status : gsa_fail_at(error, status, "'%s' cannot be written", path);
}

gsa_status gsa_check_stream(const gsa_system *system, const char *path, gsa_error *error)
{
    const char *stream = gsa_stream_to(system, path);
    return stream ? gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' cannot be written: %s goes there", path,
                             stream)
                  : GSA_OK;
}

/* Of a stream, before a run removes it. */
static gsa_status check_stream_name(const char *stream, gsa_error *error)
{
    char real[PATH_MAX];
    const char *at = named_by(stream, real);
    const gsa_status status = at ? check_name(at, error) : GSA_OK;
    return status == GSA_OK ? status : gsa_fail_at(error, status, "'%s' cannot be written", at);
}

/* A run removes what has the name of a temporary of its own, or is in a step that was not ended. */
typedef struct removed {
    const char *folder; /* its real path */
    char path[PATH_MAX];
} removed;

static int is_kept(void *context, const char *path)
{
    removed *r = context;
    char real[PATH_MAX];
    int64_t step;
    const size_t bytes = strlen(r->folder);
    if (!realpath(path, real) || strncmp(real, r->folder, bytes) != 0 || real[bytes] != '/')
        return 1;
    char *name = real + bytes + 1, *slash = strchr(name, '/');
    if (slash) *slash = 0;
    const int goes = slash ? !strchr(slash + 1, '/') && (gsa_step_of(name, GSA_WRITING, &step) ||
                                                         gsa_step_of(name, GSA_REPLACED, &step))
                           : name[gsa_bytes_of_target(name)] != 0;
    if (goes) snprintf(r->path, sizeof r->path, "%s", path);
    return !goes;
}

static gsa_status check_removed(const char *folder, gsa_error *error)
{
    char real[PATH_MAX];
    removed r = { .folder = realpath(folder, real) };
    return !r.folder || gsa_each_read(is_kept, &r)
               ? GSA_OK
               : gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' has the name of a temporary of run '%s', which would remove it: "
                          "the command or its recipe reads it",
                          r.path, folder);
}

gsa_status gsa_check_replaced(const char *folder, int anew, gsa_error *error)
{
    static const char *const more[] = { "asked.ini", GSA_LATEST, "lock" };
    char path[GSA_PATH_ROOM];
    gsa_status status = check_stream_name("/dev/fd/1", error);
    if (status == GSA_OK) status = check_stream_name("/dev/fd/2", error);
    enum { ALL = GSA_RUN_FILES + sizeof more / sizeof *more, READABLE = GSA_RUN_FILES + 1 };
    for (int i = 0; i < ALL && status == GSA_OK; i++) {
        const char *name = i < GSA_RUN_FILES ? gsa_run_files[i] : more[i - GSA_RUN_FILES];
        const int begun = i >= GSA_RUN_FILES || strcmp(name, "config.ini") == 0;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        status = gsa_check_stream(gsa_system_default(), path, error);
        if (status == GSA_OK && i < READABLE && (anew || !begun)) status = check_own(path, error);
    }
    return status == GSA_OK ? check_removed(folder, error) : status;
}

int gsa_note_pattern(const gsa_pattern *pattern)
{
    char path[GSA_PATH_ROOM];
    const gsa_topology *topology = gsa_pattern_topology(pattern);
    for (uint32_t i = 0; i < topology->n_params; i++)
        if (gsa_topology_param(topology, i)->type == GSA_PATH &&
            gsa_pattern_value(pattern, i, path, sizeof path) > 0 && !gsa_note_read(path))
            return 0;
    return 1;
}

/* 1: `path` is a file beside one of them. A manifest itself is remembered. */
static int is_of_checkpoint(const char *path, int *is_manifest)
{
    char **const last = reads.checkpoint;
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    int i = 0;
    *is_manifest = strcmp(path + folder, MANIFEST) == 0;
    pthread_mutex_lock(&reads.lock);
    while (i < MANIFESTS &&
           !(last[i] && strlen(last[i]) == folder && memcmp(last[i], path, folder) == 0))
        i++;
    if (*is_manifest && i == MANIFESTS) {
        free(last[reads.next]);
        last[reads.next] = strndup(path, folder);
        reads.next = (reads.next + 1) % MANIFESTS;
    }
    pthread_mutex_unlock(&reads.lock);
    return i < MANIFESTS;
}

static int is_step_written(const char *path)
{
    int64_t step;
    return gsa_step_of(name_of(path), GSA_WRITING, &step);
}

/* In the step-N.tmp-gsa that this run writes, and reads once for its manifest. */
static int is_being_written(const char *path)
{
    char folder[GSA_PATH_ROOM], real[PATH_MAX];
    folder_of(path, folder);
    if (!is_step_written(folder) || !realpath(folder, real)) return 0;
    pthread_mutex_lock(&reads.lock);
    const int own = strcmp(real, reads.writing) == 0;
    pthread_mutex_unlock(&reads.lock);
    return own;
}

static int make_folder(void *user, const char *path)
{
    char real[PATH_MAX];
    const int rc = reads.table.make_folder(user, path);
    if (rc < 0 || !is_step_written(path) || !realpath(path, real)) return rc;
    pthread_mutex_lock(&reads.lock);
    strcpy(reads.writing, real);
    pthread_mutex_unlock(&reads.lock);
    return rc;
}

/* By its real path where its folder is held: the descriptor is another's, once that one ends. */
static const char *lasting(const char *path, char real[PATH_MAX])
{
    return gsa_is_held(path) && realpath(path, real) ? real : path;
}

static int open_file(void *user, const char *path, int mode)
{
    int is_manifest;
    char real[PATH_MAX];
    /* a file that was opened here: a shell gives its own without that flag */
    const int written = mode != GSA_OPEN_READ && mode != GSA_OPEN_READ_OWN;
    if (written && fcntl(gsa_descriptor_of(path), F_GETFD) == FD_CLOEXEC) return errno = EBADF, -1;
    if (written) return reads.table.open(user, path, mode);
    const char *known = lasting(path, real);
    if (is_being_written(known) || is_of_checkpoint(known, &is_manifest))
        return reads.table.open(user, path, GSA_OPEN_READ_OWN);
    if (!is_manifest && !note_read(known, !gsa_is_held(path))) return errno = ENOMEM, -1;
    const int named = !gsa_is_held(path) && strcmp(path, "-") != 0 && gsa_descriptor_of(path) == -1;
    if (reads.regular && named && realpath(path, real))
        return reads.table.open(user, real, GSA_OPEN_READ_OWN);
    return reads.table.open(user, path, mode);
}

void gsa_read_regular(void)
{
    reads.regular = 1;
}

/* What is removed or replaced is asked of what was read by then, too: before that, a recipe tells
 * by its text alone what it will read. */
static int was_opened(const struct stat *target)
{
    struct stat there;
    gsa_error error;
    for (int i = 0; i < reads.n_placed; i++)
        if (is_same(&reads.placed[i], target)) return 0;
    for (int i = 0; i < reads.count; i++)
        if (reads.file[i].opened &&
            see_file(reads.file[i].at, STDIN_FILENO, &there, &error) == GSA_OK && there.st_mode &&
            is_same(&there, target))
            return 1;
    return 0;
}

static int would_lose(const char *path)
{
    struct stat target;
    if (lstat(path, &target) < 0 || !S_ISREG(target.st_mode)) return 0;
    pthread_mutex_lock(&reads.lock);
    const int lost = was_opened(&target);
    pthread_mutex_unlock(&reads.lock);
    return lost;
}

/* The first ones: what a command makes and then reads by name, as a recipe, it makes as it begins.
 */
static void place(const char *path)
{
    struct stat made;
    if (lstat(path, &made) < 0 || !S_ISREG(made.st_mode)) return;
    pthread_mutex_lock(&reads.lock);
    if (reads.n_placed < PLACED) reads.placed[reads.n_placed++] = made;
    pthread_mutex_unlock(&reads.lock);
}

static int rename_file(void *user, const char *from, const char *to)
{
    if (would_lose(to)) return errno = EBUSY, -1;
    const int rc = reads.table.rename(user, from, to);
    if (rc >= 0) place(to);
    return rc;
}

static int remove_file(void *user, const char *path)
{
    return would_lose(path) ? (errno = EBUSY, -1) : reads.table.remove(user, path);
}

void gsa_keep_inputs(gsa_system *system)
{
    reads.table = *system;
    system->open = open_file, system->refuses = refuse;
    system->rename = rename_file, system->remove = remove_file, system->make_folder = make_folder;
}
