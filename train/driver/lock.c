#include "train/driver/lock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint_parts.h"
#include "train/driver/session.h"

enum { TRIES = 100, NUMBER = 32, MOST_PROCESS = 1 << 22 /* Linux; others have fewer */ };
enum { LOCK_ABSENT, LOCK_EMPTY, LOCK_OF_RUN, LOCK_OTHER };

/* ---- what is a checkpoint ------------------------------------------------------------------ */

static gsa_status see_checkpoint(const gsa_system *system, const char *folder, int *found,
                                 gsa_error *error)
{
    static const char *const files[] = { GSA_MANIFEST, GSA_MODEL_FILE, "config.ini" };
    gsa_status status = GSA_OK;
    *found = 1;
    for (size_t i = 0; i < sizeof files / sizeof *files && *found && status == GSA_OK; i++) {
        int kind;
        status = gsa_see_in(system, folder, files[i], &kind, error);
        *found = kind == GSA_FILE_REGULAR;
    }
    return status;
}

gsa_status gsa_check_outside(const gsa_system *system, const char *folder, gsa_error *error)
{
    char at[4096];
    if ((size_t)snprintf(at, sizeof at, "%s", *folder ? folder : ".") >= sizeof at)
        return gsa_fail(error, GSA_ERR_LIMIT, "the path '%.60s...' has more than %zu bytes", folder,
                        sizeof at - 1);
    for (;;) {
        char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
        int found;
        const gsa_status status = see_checkpoint(system, at, &found, error);
        if (status != GSA_OK) return status;
        if (found)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "'%.150s' is a checkpoint, which holds nothing else: choose another "
                            "folder",
                            at);
        if (strcmp(name, "..") == 0 || strcmp(at, ".") == 0 || slash == at) return GSA_OK;
        if (slash) *slash = 0;
        else strcpy(at, ".");
    }
}

gsa_status gsa_make_run_folder(const gsa_system *system, const char *folder, gsa_error *error)
{
    const gsa_status status = gsa_check_outside(system, folder, error);
    return status == GSA_OK ? gsa_make_folders(system, folder, error) : status;
}

/* ---- the lock ------------------------------------------------------------------------------ */

void gsa_lock_give_back(gsa_lock *lock)
{
    const gsa_system *system = lock->system;
    if (!lock->path) return;
    /* while it is held: see take. Another may have the name by now. */
    if (!lock->stays && (!system->same || system->same(system->user, lock->file, lock->path)))
        system->remove(system->user, lock->path);
    system->close(system->user, lock->file);
    gsa_release(system, lock->path);
    lock->path = NULL;
}

void gsa_lock_release(gsa_lock *lock)
{
    gsa_lock_give_back(lock);
    gsa_anchor_close(lock->anchor);
    *lock = (gsa_lock){ 0 };
}

/* A run writes its process's number and a line end, nothing else. */
static int form_of(const char *text, int64_t bytes)
{
    const size_t digits = strspn(text, "0123456789");
    if (bytes == 0) return LOCK_EMPTY;
    return *text != '0' && digits > 0 && digits < 8 && atol(text) <= MOST_PROCESS &&
                   (size_t)bytes == digits + 1 && text[digits] == '\n'
               ? LOCK_OF_RUN
               : LOCK_OTHER;
}

/* The number in the file, "" where no run's is there; < 0: it cannot be read. */
static int read_number(const gsa_system *system, const char *path, char number[NUMBER], int *form)
{
    *number = 0, *form = LOCK_ABSENT;
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    if (file < 0) return errno == ENOENT ? 0 : -1;
    const int64_t bytes = system->read(system->user, file, number, NUMBER - 1);
    const int why = errno;
    number[bytes > 0 ? bytes : 0] = 0;
    *form = form_of(number, bytes);
    number[*form == LOCK_OF_RUN ? strlen(number) - 1 : 0] = 0;
    system->close(system->user, file);
    errno = why;
    return bytes < 0 ? -1 : 0;
}

static gsa_status held(const gsa_system *system, const char *folder, const char *path,
                       gsa_error *error)
{
    char number[NUMBER];
    int form;
    read_number(system, path, number, &form);
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "folder '%s' is in use: %s%s writes there; wait for its end, or choose another folder",
        folder, *number ? "process " : "another process", number);
}

static gsa_status broken(const char *path, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be locked: %s", path, strerror(errno));
}

/* Nothing is opened that is no file (a FIFO would wait for its other end), nothing is overwritten
 * that no run wrote. */
static gsa_status check_own(const gsa_system *system, const char *path, int *form, gsa_error *error)
{
    char number[NUMBER];
    const int kind = gsa_entry_kind(system, path);
    *form = LOCK_ABSENT;
    if (kind == GSA_FILE_ABSENT) return GSA_OK;
    if (kind < 0 || (kind == GSA_FILE_REGULAR && read_number(system, path, number, form) < 0))
        return broken(path, error);
    if (kind == GSA_FILE_REGULAR && *form != LOCK_OTHER) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' is %s, not the lock of a run: move it away",
                    path,
                    kind == GSA_FILE_FOLDER    ? "a folder"
                    : kind == GSA_FILE_LINK    ? "a link"
                    : kind == GSA_FILE_REGULAR ? "a file with other text"
                                               : "no regular file");
}

/* GSA_OK, and *taken 0 where the file is no longer the one of that name: who had the lock took it
 * away between open and lock. A lock that cannot be written is taken away, too. A file that was
 * there and is empty may be a user's, or of a run that was killed before it wrote: it locks as it
 * is, and stays so. */
static gsa_status take(const gsa_system *system, const char *folder, const char *path,
                       gsa_lock *lock, int *taken, gsa_error *error)
{
    char own[NUMBER];
    int form;
    const int bytes = snprintf(own, sizeof own, "%ld\n", (long)getpid());
    if (system->lock(system->user, lock->file, 0) < 0)
        return errno == EWOULDBLOCK ? held(system, folder, path, error) : broken(path, error);
    if (system->same && !system->same(system->user, lock->file, path)) return GSA_OK;
    gsa_status status = check_own(system, path, &form, error); /* now that nobody writes it */
    lock->stays &= form == LOCK_EMPTY;
    *taken = status == GSA_OK && lock->stays;
    if (status != GSA_OK || *taken) return status;
    if (system->truncate(system->user, path, 0) < 0)
        return errno == ENOENT ? GSA_OK : broken(path, error);
    int64_t done = 0, put = 1;
    for (errno = 0; done < bytes && put > 0; done += put > 0 ? put : 0)
        put = system->write(system->user, lock->file, own + done, bytes - done);
    *taken = done == bytes;
    if (*taken) return GSA_OK;
    status = broken(path, error);
    system->remove(system->user, path);
    return status;
}

/* One try: see take. */
static gsa_status open_and_take(const gsa_system *system, const char *folder, const char *path,
                                gsa_lock *lock, int *taken, gsa_error *error)
{
    int form;
    gsa_status status = check_own(system, path, &form, error);
    if (status != GSA_OK) return status;
    lock->stays = form == LOCK_EMPTY;
    lock->file = system->open(system->user, path, GSA_OPEN_OWN);
    if (lock->file < 0) return broken(path, error);
    status = take(system, folder, path, lock, taken, error);
    if (!*taken) system->close(system->user, lock->file);
    return status;
}

/* In the folder that is open. */
static gsa_status lock_opened(const gsa_system *system, const char *folder, gsa_lock *lock,
                              gsa_error *error)
{
    const size_t room = strlen(folder) + 8;
    gsa_status status = GSA_OK;
    int taken = 0;
    char *path = gsa_alloc(system, room, 1);
    if (!path) return gsa_out_of_memory(error, folder, (int64_t)room);
    snprintf(path, room, "%s/lock", folder);
    for (int i = 0; i < TRIES && !taken && status == GSA_OK; i++)
        status = open_and_take(system, folder, path, lock, &taken, error);
    if (taken) lock->path = path;
    if (taken) return GSA_OK;
    if (status == GSA_OK) status = held(system, folder, path, error);
    gsa_release(system, path);
    return status;
}

gsa_status gsa_lock_folder(const gsa_system *system, const char *folder, gsa_lock *lock,
                           gsa_error *error)
{
    *lock = (gsa_lock){ 0 };
    gsa_status status = gsa_make_run_folder(system, folder, error);
    if (status == GSA_OK) status = gsa_anchor_open(system, system, folder, &lock->anchor, error);
    if (status == GSA_OK && gsa_anchor_lacks(lock->anchor))
        status =
            gsa_fail(error, GSA_ERR_IO, "folder '%s' was made, and is not there any more", folder);
    lock->system = gsa_anchor_system(lock->anchor, system);
    if (status == GSA_OK && system->lock) status = lock_opened(lock->system, folder, lock, error);
    if (status != GSA_OK) gsa_lock_release(lock);
    return status;
}
