/* system_parts.h - what the files of graph/ share about the table; not installed. */
#ifndef GSA_SYSTEM_PARTS_H
#define GSA_SYSTEM_PARTS_H
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/system.h"

static inline const gsa_system *gsa_system_or_default(const gsa_system *system)
{
    return system ? system : gsa_system_default();
}

/* The path of a folder that is held goes on with its descriptor. With two slashes nobody else
 * writes it, and a table that has never heard of it still gets there. */
#define GSA_HELD "//proc/self/fd/"

static inline int gsa_is_held(const char *path)
{
    return strncmp(path, GSA_HELD, sizeof GSA_HELD - 1) == 0;
}

/* The descriptor that the path leads to, and that is written as it is: opened anew, a file that
 * the shell has open would be written from its begin. -1: none. */
int gsa_descriptor_of(const char *path);
enum { GSA_ANOTHERS_DESCRIPTOR = -2 }; /* of gsa_descriptor_of: of another process */

/* The kind of the name itself: GSA_FILE_LINK for a link, where the table knows links. */
static inline int gsa_entry_kind(const gsa_system *system, const char *path)
{
    return system->entry ? system->entry(system->user, path)
                         : system->kind(system->user, path, NULL);
}

/* The words of an errno, in `out`. ESTALE is an anchor's (anchor.h) and NFS's own. */
static inline const char *gsa_errno_text(int number, char *out, size_t size)
{
    out[0] = 0;
    if (number == ESTALE) return "it was exchanged or written meanwhile, or its server lost it";
    return strerror_r(number, out, size) == 0 && out[0] ? out : "unknown error";
}

/* ---- what is there: a failure to see it is an error, never an absence ---- */

/* *kind as the table has just told it of the path. Beneath a file nothing is. */
static inline gsa_status gsa_take_kind(const char *path, int *kind, gsa_error *error)
{
    char why[128];
    if (*kind < 0 && errno == ENOTDIR) *kind = GSA_FILE_ABSENT;
    return *kind >= 0 ? GSA_OK
                      : gsa_fail(error, GSA_ERR_IO, "'%s' cannot be examined: %s", path,
                                 gsa_errno_text(errno, why, sizeof why));
}

static inline gsa_status gsa_see(const gsa_system *system, const char *path, int *kind,
                                 gsa_error *error)
{
    *kind = system->kind(system->user, path, NULL);
    return gsa_take_kind(path, kind, error);
}

/* Of the name itself, as gsa_entry_kind. */
static inline gsa_status gsa_see_entry(const gsa_system *system, const char *path, int *kind,
                                       gsa_error *error)
{
    *kind = gsa_entry_kind(system, path);
    return gsa_take_kind(path, kind, error);
}

/* Of a value that may be a file's name: what is too long for one is another thing, as a list. */
static inline gsa_status gsa_see_value(const gsa_system *system, const char *value, int *kind,
                                       gsa_error *error)
{
    *kind = system->kind(system->user, value, NULL);
    if (*kind < 0 && errno == ENAMETOOLONG) *kind = GSA_FILE_ABSENT;
    return gsa_take_kind(value, kind, error);
}

/* Of folder/name, without memory, whose lack is no absence; nor is too long a path. */
static inline gsa_status gsa_see_in(const gsa_system *system, const char *folder, const char *name,
                                    int *kind, gsa_error *error)
{
    char path[4096 + 64];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
        return gsa_see(system, path, kind, error);
    errno = ENAMETOOLONG, *kind = -1;
    return gsa_take_kind(folder, kind, error);
}

/* Before a file of a folder is read that may be another's: a FIFO is waited for, /dev/zero has no
 * end, and a link makes messages of what the folder's maker may not read. */
static inline gsa_status gsa_check_regular(const gsa_system *system, const char *path,
                                           gsa_error *error)
{
    int kind;
    const gsa_status status = gsa_see_entry(system, path, &kind, error);
    return status == GSA_OK && (kind == GSA_FILE_OTHER || kind == GSA_FILE_LINK)
               ? gsa_fail(error, GSA_ERR_FORMAT, "'%s' is no regular file", path)
               : status;
}

/* No folder of the path below `root`, with which it begins, is a link: what is written there would
 * be elsewhere. */
gsa_status gsa_check_below(const gsa_system *system, const char *root, const char *path,
                           gsa_error *error);

/* A file of holes costs its maker nothing, and its reader all of its bytes. */
static inline gsa_status gsa_check_stored(const gsa_system *system, const char *path, int64_t bytes,
                                          gsa_error *error)
{
    enum { SMALL = 1 << 20, PART = 16 };
    const int64_t stored =
        system->stored && bytes > SMALL ? system->stored(system->user, path) : bytes;
    return stored < bytes / PART
               ? gsa_fail(
                     error, GSA_ERR_LIMIT,
                     "'%s' has %lld bytes and stores %lld of them: a file of holes is not read",
                     path, (long long)bytes, (long long)stored)
               : GSA_OK;
}

/* A temporary of output.c is FILE.tmp-gsa-, the process's number in 8 digits of base 16 and 4 more:
 * nobody names a file of their own so. */
#define GSA_TEMPORARY ".tmp-gsa-"
enum { GSA_TEMPORARY_DIGITS = 12 };

/* Bytes of FILE where the name is that of a temporary; else of all. */
static inline size_t gsa_bytes_of_target(const char *name)
{
    const size_t bytes = strlen(name), prefix = sizeof GSA_TEMPORARY - 1,
                 mark = prefix + GSA_TEMPORARY_DIGITS;
    return bytes > mark && strncmp(name + bytes - mark, GSA_TEMPORARY, prefix) == 0 &&
                   strspn(name + bytes - mark + prefix, "0123456789abcdef") == GSA_TEMPORARY_DIGITS
               ? bytes - mark
               : bytes;
}

/* A number as people read it: the sign of a NaN, which printf shows, says nothing. */
static inline double gsa_shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

#endif
