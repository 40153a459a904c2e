/* system.c - the default table: malloc and POSIX. Interrupted calls are taken up again. */
#define _GNU_SOURCE /* madvise, O_PATH */
#include "graph/system.h"
#include "graph/stored.h"
#include "graph/system_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#endif

enum { LINKS = 40 }; /* a chain has no more of them */

/* Large blocks request large pages, where the system gives them on request: fewer walks through
 * page tables, fewer faults. */
static void ask_for_large_pages(char *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { LEAST = 1 << 22, PAGE = 1 << 16 }; /* PAGE: a multiple of any usual page */
    if (!at || bytes < LEAST) return;
    const size_t skip = (PAGE - (uintptr_t)at % PAGE) % PAGE;
    madvise(at + skip, (bytes - skip) / PAGE * PAGE,
            MADV_HUGEPAGE); /* it may refuse: nothing is lost */
#else
    (void)at, (void)bytes;
#endif
}

static void *posix_alloc(void *user, size_t bytes)
{
    (void)user;
    void *at = malloc(bytes);
    ask_for_large_pages(at, bytes);
    return at;
}

static void *posix_resize(void *user, void *at, size_t bytes)
{
    (void)user;
    return realloc(at, bytes);
}

static void posix_release(void *user, void *at)
{
    (void)user;
    free(at);
}

/* ---- what is beneath a folder that is held ---- */

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

/* A path's last name, in the folder that holds it. */
typedef struct place {
    int folder, own; /* own: to be closed */
    const char *name;
    int links; /* O_NOFOLLOW beneath a folder that is held, else 0 */
} place;

static void leave(const place *at)
{
    const int why = errno;
    if (at->own) close(at->folder);
    errno = why;
}

/* One folder further; a link is none. */
static int enter(place *at, const char *name, size_t bytes)
{
    char one[NAME_MAX + 1];
    if (bytes > NAME_MAX) return errno = ENAMETOOLONG, -1;
    memcpy(one, name, bytes);
    one[bytes] = 0;
    const int next = openat(at->folder, one, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    leave(at);
    at->folder = next, at->own = next >= 0;
    return next < 0 ? -1 : 0;
}

/* Success is followed by leave. */
static int find(const char *path, place *at)
{
    const size_t begin = sizeof GSA_HELD - 1;
    *at = (place){ .folder = AT_FDCWD, .name = path };
    if (!gsa_is_held(path)) return 0;
    const size_t digits = strspn(path + begin, "0123456789");
    const char *next = path + begin + digits;
    if (digits == 0 || digits > 9 || (*next && *next != '/')) return 0;
    at->folder = atoi(path + begin), at->links = O_NOFOLLOW;
    for (size_t bytes;; next += bytes) {
        next += strspn(next, "/");
        bytes = strcspn(next, "/");
        at->name = bytes ? next : ".";
        if (!next[bytes]) return 0;
        if (enter(at, next, bytes) < 0) return -1;
    }
}

static int open_at_as(const char *path, int flags, mode_t mode)
{
    place at;
    if (find(path, &at) < 0) return -1;
    int file;
    /* what is no file beneath a held folder is none of ours: nobody waits for its other end */
    if (at.links) flags |= at.links | O_NONBLOCK;
    do file = openat(at.folder, at.name, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (file < 0 && errno == EINTR);
    leave(&at);
    return file;
}

static int open_at(const char *path, int flags)
{
    return open_at_as(path, flags, 0666);
}

static int stat_at(const char *path, int links, struct stat *seen)
{
    place at;
    if (find(path, &at) < 0) return -1;
    const int rc = fstatat(at.folder, at.name, seen, links && !at.links ? 0 : AT_SYMLINK_NOFOLLOW);
    leave(&at);
    return rc;
}

static int posix_hold(void *user, const char *path, char *at, size_t room)
{
    (void)user;
    const int folder = open_at(path, O_PATH | O_DIRECTORY);
    if (folder >= 0) snprintf(at, room, GSA_HELD "%d", folder);
    return folder;
}

/* The path becomes what its link names: 1. 0: it is no link; < 0: a failure. */
static int follow(char *path, size_t room)
{
    char next[PATH_MAX];
    if (gsa_is_held(path)) return 0;
    const ssize_t bytes = readlink(path, next, sizeof next - 1);
    if (bytes < 0) return errno == EINVAL || errno == ENOENT ? 0 : -1;
    const char *slash = strrchr(path, '/');
    const size_t folder = next[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    if (folder + (size_t)bytes + 1 > room) return errno = ENAMETOOLONG, -1;
    memcpy(path + folder, next, (size_t)bytes);
    path[folder + (size_t)bytes] = 0;
    return 1;
}

/* 1: the path is in a file system of processes, wherever that is mounted. */
static int is_of_processes(const char *path)
{
#ifdef __linux__
    struct statfs at;
    return statfs(path, &at) == 0 && at.f_type == PROC_SUPER_MAGIC;
#else
    return strncmp(path, "/proc/", 6) == 0;
#endif
}

/* 1: the folder, without links, is this process's or one of its threads', by the "self" of the file
 * system that it is in. */
static int is_own_process(const char *folder)
{
    char root[PATH_MAX], self[PATH_MAX + sizeof "/self"], own[PATH_MAX];
    for (const char *end = folder; (end = strchr(end + 1, '/'));) {
        snprintf(root, sizeof root, "%.*s", (int)(end - folder), folder);
        if (!is_of_processes(root)) continue;
        snprintf(self, sizeof self, "%s/self", root);
        const size_t bytes = realpath(self, own) ? strlen(own) : 0;
        return bytes > 0 && strncmp(folder, own, bytes) == 0 && folder[bytes] == '/';
    }
    return 0;
}

/* N of FOLDER/N, where that is a folder of this process's descriptors: /proc/self/fd and those of
 * its threads, by whatever name. -1: it is none; GSA_ANOTHERS_DESCRIPTOR. */
static int descriptor_at(const char *path)
{
    enum { DIGITS = 9 }; /* an int has them */
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/'), *digits = slash ? slash + 1 : path;
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > DIGITS || digits[count]) return -1;
    if (count > 1 && *digits == '0') return -1; /* the system knows none of that name */
    snprintf(folder, sizeof folder, "%.*s.", (int)(digits - path), path);
    if (!is_of_processes(folder) || !realpath(folder, real)) return -1;
    struct stat seen; /* where the folder itself is mounted elsewhere, it has another name */
    const char *name = strrchr(real, '/');
    if (strcmp(name, "/fd") != 0 && (lstat(path, &seen) < 0 || !S_ISLNK(seen.st_mode))) return -1;
    return is_own_process(real) ? atoi(digits) : GSA_ANOTHERS_DESCRIPTOR;
}

int gsa_descriptor_of(const char *path)
{
    char at[PATH_MAX];
    int number = -1, more = strlen(path) < sizeof at && !gsa_is_held(path);
    if (more) strcpy(at, path);
    for (int i = 0; i < LINKS && number == -1 && more > 0; i++) {
        number = descriptor_at(at);
        more = follow(at, sizeof at);
    }
    return number;
}

/* The file, where it is regular and has at most `names` of them (0: any number): a second may
 * be another's. */
static int keep_own(int file, nlink_t names)
{
    struct stat seen;
    if (fstat(file, &seen) == 0) {
        if (S_ISREG(seen.st_mode) && (!names || seen.st_nlink <= names)) return file;
        errno = S_ISREG(seen.st_mode) ? EMLINK : EINVAL;
    }
    const int why = errno;
    close(file);
    return errno = why, -1;
}

static int posix_open(void *user, const char *path, int mode)
{
    (void)user;
    static const int flags[] = { [GSA_OPEN_READ] = O_RDONLY,
                                 [GSA_OPEN_CREATE] = O_WRONLY | O_CREAT | O_EXCL,
                                 [GSA_OPEN_REPLACE] = O_WRONLY | O_CREAT | O_TRUNC,
                                 [GSA_OPEN_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
                                 [GSA_OPEN_EXISTING] = O_WRONLY,
                                 [GSA_OPEN_OWN] = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
                                                  O_NONBLOCK /* a FIFO is no file of ours */,
                                 [GSA_OPEN_READ_OWN] = O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
                                 [GSA_OPEN_CREATE_PRIVATE] = O_WRONLY | O_CREAT | O_EXCL };
    const int own = mode == GSA_OPEN_OWN || mode == GSA_OPEN_READ_OWN;
    if (strcmp(path, "-") == 0) return dup(mode == GSA_OPEN_READ ? STDIN_FILENO : STDOUT_FILENO);
    const int named = /* neither what is new, nor an own file, is a descriptor */
        mode == GSA_OPEN_READ || mode == GSA_OPEN_CREATE || mode >= GSA_OPEN_OWN
            ? -1
            : gsa_descriptor_of(path);
    if (named >= 0) return fcntl(named, F_DUPFD_CLOEXEC, 0);
    if (named == GSA_ANOTHERS_DESCRIPTOR && mode == GSA_OPEN_APPEND) /* it writes there, too */
        return errno = EBADF, -1;
    const int file = open_at_as(path, flags[mode], mode == GSA_OPEN_CREATE_PRIVATE ? 0600 : 0666);
    struct stat seen;
    if (mode == GSA_OPEN_READ && file >= 0 && fstat(file, &seen) == 0 && S_ISREG(seen.st_mode) &&
        seen.st_size == 0) /* some of /proc would wait for what is written to it */
        fcntl(file, F_SETFL, O_NONBLOCK);
    return file >= 0 && own ? keep_own(file, mode == GSA_OPEN_OWN) : file;
}

static int64_t posix_read(void *user, int file, void *buffer, int64_t bytes)
{
    (void)user;
    const size_t most = bytes > 1 << 30 ? (size_t)1 << 30 : (size_t)bytes;
    ssize_t got;
    do got = read(file, buffer, most);
    while (got < 0 && errno == EINTR);
    return got;
}

static int64_t posix_read_at(void *user, int file, void *buffer, int64_t bytes, int64_t offset)
{
    (void)user;
    const size_t most = bytes > 1 << 30 ? (size_t)1 << 30 : (size_t)bytes;
    ssize_t got;
    do got = pread(file, buffer, most, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

static int64_t posix_write(void *user, int file, const void *buffer, int64_t bytes)
{
    (void)user;
    const size_t most = bytes > 1 << 30 ? (size_t)1 << 30 : (size_t)bytes;
    ssize_t put;
    do put = write(file, buffer, most);
    while (put < 0 && errno == EINTR);
    return put;
}

static int posix_sync(void *user, int file)
{
    (void)user;
    int rc;
    do rc = fsync(file);
    while (rc < 0 && errno == EINTR);
    return rc;
}

static int posix_close(void *user, int file)
{
    (void)user;
    return close(file) < 0 && errno != EINTR ? -1
                                             : 0; /* Linux closes it even then: never close twice */
}

static int posix_truncate(void *user, const char *path, int64_t bytes)
{
    (void)user;
    int file = open_at(path, O_WRONLY | O_NONBLOCK);
    if (file >= 0) file = keep_own(file, gsa_is_held(path));
    if (file < 0) return -1;
    const int rc = ftruncate(file, (off_t)bytes), why = errno;
    close(file);
    return errno = why, rc;
}

static int posix_rename(void *user, const char *from, const char *to)
{
    (void)user;
    place old, new;
    if (find(from, &old) < 0) return -1;
    int rc = find(to, &new);
    if (rc == 0) {
        rc = renameat(old.folder, old.name, new.folder, new.name);
        leave(&new);
    }
    leave(&old);
    return rc;
}

static int posix_remove(void *user, const char *path)
{
    (void)user;
    place at;
    if (find(path, &at) < 0) return -1;
    int rc = unlinkat(at.folder, at.name, 0);
    if (rc < 0 && errno == EISDIR) rc = unlinkat(at.folder, at.name, AT_REMOVEDIR);
    leave(&at);
    return rc;
}

static int posix_make_folder(void *user, const char *path)
{
    (void)user;
    place at;
    if (find(path, &at) < 0) return -1;
    const int rc = mkdirat(at.folder, at.name, 0777);
    leave(&at);
    return rc;
}

static int posix_lock(void *user, int file, int wait)
{
    (void)user;
    int rc;
    do rc = flock(file, LOCK_EX | (wait ? 0 : LOCK_NB));
    while (rc < 0 && errno == EINTR);
    return rc < 0 && (errno == ENOLCK || errno == ENOTSUP || errno == EINVAL || errno == ENOSYS)
               ? 0
               : rc;
}

/* Some file systems cannot sync a folder, some folders may be written but not read: then there is
 * nothing to do. */
static int posix_sync_folder(void *user, const char *path)
{
    const int folder = open_at(path, O_RDONLY | O_DIRECTORY);
    if (folder < 0) return errno == EACCES ? 0 : -1;
    const int rc = posix_sync(user, folder) < 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0,
              why = errno;
    close(folder);
    errno = why;
    return rc;
}

static int kind_of(const struct stat *seen)
{
    return S_ISREG(seen->st_mode)   ? GSA_FILE_REGULAR
           : S_ISDIR(seen->st_mode) ? GSA_FILE_FOLDER
                                    : GSA_FILE_OTHER;
}

static int posix_kind(void *user, const char *path, int64_t *bytes)
{
    (void)user;
    struct stat seen;
    if (bytes) *bytes = 0;
    if (gsa_descriptor_of(path) > STDIN_FILENO) return GSA_FILE_OTHER;
    if (stat_at(path, 1, &seen) < 0) return errno == ENOENT ? GSA_FILE_ABSENT : -1;
    if (bytes) *bytes = (int64_t)seen.st_size;
    return kind_of(&seen);
}

static int posix_entry(void *user, const char *path)
{
    (void)user;
    struct stat seen;
    if (stat_at(path, 0, &seen) < 0) return errno == ENOENT ? GSA_FILE_ABSENT : -1;
    return S_ISLNK(seen.st_mode) ? GSA_FILE_LINK : kind_of(&seen);
}

static int64_t posix_stored(void *user, const char *path)
{
    const int file = posix_open(user, path, GSA_OPEN_READ);
    const int64_t bytes = file < 0 ? 0 : gsa_stored_bytes(file);
    if (file >= 0) close(file);
    return bytes;
}

/* A link's chain, one link after the other, so that the last one may name what is not there yet. */
static int64_t posix_resolve(void *user, const char *path, char *out, int64_t room)
{
    (void)user;
    if (snprintf(out, (size_t)room, "%s", path) >= room) return errno = ENAMETOOLONG, -1;
    for (int i = 0; i < LINKS; i++) {
        const int more = follow(out, (size_t)room);
        if (more <= 0) return more < 0 ? -1 : (int64_t)strlen(out);
    }
    return errno = ELOOP, -1;
}

/* Where `give`, who else may read and write `from` (a POSIX access control list), and nobody else,
 * may do so with the new file. 1; 0: it has no such list; < 0: that is not known, or the list
 * cannot be given. */
static int copy_list(int file, int from, int give)
{
#ifdef __linux__
    static const char name[] = "system.posix_acl_access";
    char list[4096];
    const ssize_t bytes = fgetxattr(from, name, list, sizeof list);
    const int none = bytes < 0 && (errno == ENODATA || errno == ENOTSUP);
    if (bytes > 0 && !give) return 1;
    if (bytes > 0) return fsetxattr(file, name, list, (size_t)bytes, 0) < 0 ? -1 : 1;
    /* the folder may have given one to what is new in it */
    if (fremovexattr(file, name) < 0 && errno != ENODATA && errno != ENOTSUP) return -1;
    return none ? 0 : -1;
#else
    (void)file, (void)from, (void)give;
    return 0;
#endif
}

/* Nobody may do more than before. Where the group is another one, its members were among all
 * others, and those of the old one are now; with a list, that is not so. */
static mode_t narrow(mode_t mode, int list, int same_group)
{
    if (list < 0 || (list > 0 && !same_group)) return mode & 0700;
    return same_group ? mode : mode & (0700 | (mode >> 3 & mode & 07) * 011);
}

static int posix_keep_mode(void *user, int file, const char *path)
{
    (void)user;
    struct stat seen, made;
    if (stat_at(path, 1, &seen) < 0 || fstat(file, &made) < 0) return -1;
    int same_group = 1;
    if ((seen.st_uid != made.st_uid || seen.st_gid != made.st_gid) &&
        fchown(file, seen.st_uid, seen.st_gid) < 0) {
        if (errno != EPERM && errno != EINVAL) return -1; /* only root gives a file away */
        same_group = seen.st_gid == made.st_gid || fchown(file, (uid_t)-1, seen.st_gid) == 0;
    }
    const int from = open_at(path, O_RDONLY | O_NONBLOCK);
    const int list = copy_list(file, from, same_group);
    if (from >= 0) close(from);
    /* no set-user-ID: the content is another's */
    return fchmod(file, narrow(seen.st_mode & 0777, list, same_group));
}

static int posix_same(void *user, int file, const char *path)
{
    (void)user;
    struct stat open, named;
    return fstat(file, &open) == 0 && stat_at(path, 0, &named) == 0 &&
           open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

static int posix_stamp(void *user, int file, gsa_stamp *stamp)
{
    (void)user;
    struct stat seen;
    if (fstat(file, &seen) < 0) return -1;
    *stamp = (gsa_stamp){ .device = (int64_t)seen.st_dev,
                          .inode = (int64_t)seen.st_ino,
                          .bytes = (int64_t)seen.st_size,
                          .written = { seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec },
                          .changed = { seen.st_ctim.tv_sec, seen.st_ctim.tv_nsec } };
    return 0;
}

/* One pass over what the folder holds: checks that it is plain files alone, or removes them. */
static int pass_over(int folder, int removes)
{
    int rc = 0;
    struct dirent *entry;
    struct stat seen;
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list && copy >= 0) close(copy);
    if (!list) return -1;
    while (rc == 0 && (errno = 0, entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (removes) rc = unlinkat(folder, entry->d_name, 0);
        else if (fstatat(folder, entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) < 0) rc = -1;
        else if (!S_ISREG(seen.st_mode)) errno = ENOTEMPTY, rc = -1;
    }
    const int why = errno;
    closedir(list);
    errno = why;
    return rc == 0 && why != 0 ? -1 : rc;
}

static int posix_clear_folder(void *user, const char *path)
{
    (void)user;
    place at;
    if (find(path, &at) < 0) return -1;
    const int folder = openat(at.folder, at.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = folder < 0 || pass_over(folder, 0) < 0 || pass_over(folder, 1) < 0 ? -1 : 0;
    const int why = errno;
    if (folder >= 0) close(folder);
    errno = why;
    if (rc == 0) rc = unlinkat(at.folder, at.name, AT_REMOVEDIR);
    leave(&at);
    return rc;
}

static int posix_list(void *user, const char *path, int (*each)(void *context, const char *name),
                      void *context)
{
    (void)user;
    const int file = open_at(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    DIR *folder = file < 0 ? NULL : fdopendir(file);
    if (!folder && file >= 0) close(file);
    if (!folder) return -1;
    int rc = 0;
    struct dirent *entry;
    errno = 0;
    while (rc == 0 && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = each(context, entry->d_name);
        if (rc == 0) errno = 0;
    }
    const int why = errno;
    if (rc == 0 && why != 0) rc = -1;
    closedir(folder);
    errno = why;
    return rc;
}

const gsa_system *gsa_system_default(void)
{
    static const gsa_system table = {
        .alloc = posix_alloc,
        .resize = posix_resize,
        .release = posix_release,
        .open = posix_open,
        .read = posix_read,
        .write = posix_write,
        .sync = posix_sync,
        .close = posix_close,
        .truncate = posix_truncate,
        .rename = posix_rename,
        .remove = posix_remove,
        .make_folder = posix_make_folder,
        .sync_folder = posix_sync_folder,
        .kind = posix_kind,
        .list = posix_list,
        .read_at = posix_read_at,
        .lock = posix_lock,
        .entry = posix_entry,
        .resolve = posix_resolve,
        .keep_mode = posix_keep_mode,
        .clear_folder = posix_clear_folder,
        .same = posix_same,
        .stored = posix_stored,
        .hold = posix_hold,
        .stamp = posix_stamp,
    };
    return &table;
}
