/* stat_fails.c - loaded before the command: what a path leads to that ends with GSA_UNSEEN cannot
 * be told, at the call GSA_UNSEEN_AT of these, from 1; 0: at each. Where GSA_SEEN_AS is set, it is
 * told to be what that names: as if it were exchanged afterwards. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_unseen(const char *path)
{
    static int calls;
    const char *end = getenv("GSA_UNSEEN"), *at = getenv("GSA_UNSEEN_AT");
    const size_t bytes = strlen(path), tail = end ? strlen(end) : bytes + 1;
    if (bytes < tail || strcmp(path + bytes - tail, end) != 0) return 0;
    calls++;
    return !at || atoi(at) == 0 || atoi(at) == calls;
}

typedef int seer(int folder, const char *path, struct stat *seen, int flags);

int fstatat(int folder, const char *path, struct stat *seen, int flags)
{
    static seer *next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fstatat");
    if (!is_unseen(path)) return next(folder, path, seen, flags);
    const char *as = getenv("GSA_SEEN_AS");
    return as ? next(AT_FDCWD, as, seen, flags) : (errno = EIO, -1);
}

int stat(const char *path, struct stat *seen)
{
    return fstatat(AT_FDCWD, path, seen, 0);
}
