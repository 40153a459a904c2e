/* files.c - whole files and chains of folders. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "graph/system.h"
#include "graph/system_parts.h"

static gsa_status cannot(gsa_error *error, const char *path, const char *what)
{
    char why[128];
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be %s: %s", path, what,
                    gsa_errno_text(errno, why, sizeof why));
}

/* Of what is no regular file, and may have no end; what larger ones are looked at for. */
static const int64_t ENDLESS = INT64_C(1) << 30;

/* What a regular file may have beyond twice the size that it says: it is written meanwhile, or is
 * one of those that say none, as in /proc. */
static const int64_t GROWN = INT64_C(1) << 24;

/* A regular file fits, and is no file of holes. */
static gsa_status check_size(const gsa_system *system, const char *path, int64_t size,
                             int64_t limit, gsa_error *error)
{
    const int64_t half =
        size > ENDLESS ? sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE) : INT64_MAX;
    if (size > limit || size > half)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "'%s' has %" PRId64 " bytes, and the most that is read%s is %" PRId64, path,
                        size, half < limit ? ", half of the machine's memory," : "",
                        half < limit ? half : limit);
    return gsa_check_stored(system, path, size, error);
}

/* Reads to the end or to one byte more than `limit`, whichever comes first; `size` are expected. */
static gsa_status read_all(const gsa_system *system, int file, const char *path, int64_t size,
                           int64_t limit, char **data, int64_t *bytes, gsa_error *error)
{
    int64_t have = 0, room = 0;
    char *at = NULL;
    for (;;) {
        if (have + 1 >= room) {
            const int64_t want = room == 0          ? (size > 0 ? size + 2 : 1 << 14)
                                 : room > limit / 2 ? limit + 2
                                                    : room * 2;
            char *more = gsa_resize(system, at, (size_t)want, 1);
            if (!more) {
                gsa_release(system, at);
                return gsa_out_of_memory(error, path, want);
            }
            at = more, room = want;
        }
        const int64_t got = system->read(system->user, file, at + have, room - 1 - have);
        if (got < 0) {
            const gsa_status status = cannot(error, path, "read");
            gsa_release(system, at);
            return status;
        }
        have += got;
        if (have > limit) {
            gsa_release(system, at);
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "'%s' is longer than %" PRId64 " bytes, the most that is read", path,
                            limit);
        }
        if (got == 0) break;
    }
    at[have] = 0;
    *data = at, *bytes = have;
    return GSA_OK;
}

gsa_status gsa_read_file(const gsa_system *system, const char *path, int64_t limit, char **data,
                         int64_t *bytes, gsa_error *error)
{
    system = gsa_system_or_default(system);
    *data = NULL, *bytes = 0;
    if (limit < 0 || limit > INT64_MAX / 4)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s': a limit of %" PRId64 " bytes is out of range", path, limit);
    int64_t size = 0;
    const int kind =
        strcmp(path, "-") == 0 ? GSA_FILE_OTHER : system->kind(system->user, path, &size);
    if (kind == GSA_FILE_OTHER && limit > ENDLESS) limit = ENDLESS;
    if (kind == GSA_FILE_FOLDER)
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be read: it is a folder", path);
    if (kind != GSA_FILE_REGULAR) size = 0;
    else if (size < limit / 2 && limit - 2 * size > GROWN) limit = 2 * size + GROWN;
    gsa_status status = check_size(system, path, size, limit, error);
    if (status != GSA_OK) return status;
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    if (file < 0) return cannot(error, path, "opened");
    status = read_all(system, file, path, size, limit, data, bytes, error);
    system->close(system->user, file);
    return status;
}

/* *made: it was not there. */
static gsa_status make_one(const gsa_system *system, const char *path, int *made, gsa_error *error)
{
    *made = 0;
    if (system->kind(system->user, path, NULL) == GSA_FILE_FOLDER) return GSA_OK;
    *made = system->make_folder(system->user, path) == 0;
    if (*made) return GSA_OK;
    const int why = errno;
    if (why == EEXIST && system->kind(system->user, path, NULL) == GSA_FILE_FOLDER)
        return GSA_OK; /* made meanwhile */
    if (why == EEXIST && gsa_entry_kind(system, path) == GSA_FILE_LINK)
        return gsa_fail(error, GSA_ERR_IO,
                        "'%s' is a link to what is not there: expected a folder or nothing", path);
    errno = why;
    return cannot(error, path, "made as a folder");
}

/* Where folder/.. follows and the folder is not there, no system would get on, and nobody has
 * looked at what would be behind it once the folder is made. */
static gsa_status check_upwards(const gsa_system *system, char *part, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (char *at = part; status == GSA_OK && (at = strstr(at, "/..")); at++) {
        if (at == part || (at[3] && at[3] != '/')) continue;
        *at = 0;
        if (system->kind(system->user, part, NULL) == GSA_FILE_ABSENT)
            status = gsa_fail(error, GSA_ERR_IO, "'%s/..' leads nowhere: there is no folder '%s'",
                              part, part);
        *at = '/';
    }
    return status;
}

/* A path that cannot be made whole leaves no folder. */
gsa_status gsa_make_folders(const gsa_system *system, const char *path, gsa_error *error)
{
    system = gsa_system_or_default(system);
    if (!*path) return gsa_fail(error, GSA_ERR_ARGUMENT, "a folder's path is empty");
    const size_t bytes = strlen(path);
    char *part = gsa_alloc_zero(system, bytes + 2, 1);
    if (!part) return gsa_out_of_memory(error, path, (int64_t)bytes + 2);
    memcpy(part, path, bytes);
    gsa_status status = check_upwards(system, part, error);
    char *first = NULL, *last = NULL, *at = part; /* where the names of those that were made end */
    while (status == GSA_OK && *at) {
        int made;
        at += 1 + strcspn(at + 1, "/");
        const char kept = *at;
        *at = 0;
        status = make_one(system, part, &made, error);
        if (made) last = at, first = first ? first : at;
        *at = kept;
    }
    for (; status != GSA_OK && first && last >= first; last--)
        if (*last == '/' || last == part + bytes) {
            last[0] = '/', last[1] = 0; /* so that neither a file nor a link is removed */
            system->remove(system->user, part);
        }
    gsa_release(system, part);
    return status;
}

gsa_status gsa_check_below(const gsa_system *system, const char *root, const char *path,
                           gsa_error *error)
{
    gsa_status status = GSA_OK;
    char *part = gsa_copy_text(system, path);
    if (!part) return gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    for (char *at = part + strlen(root); status == GSA_OK && *at;) {
        at += 1 + strcspn(at + 1, "/");
        const char kept = *at;
        *at = 0;
        int kind;
        status = gsa_see_entry(system, part, &kind, error);
        if (status == GSA_OK && kind == GSA_FILE_LINK)
            status =
                gsa_fail(error, GSA_ERR_ARGUMENT,
                         "'%s' is a link, and nothing is written through it: expected a folder "
                         "or nothing there",
                         part);
        *at = kept;
    }
    gsa_release(system, part);
    return status;
}
