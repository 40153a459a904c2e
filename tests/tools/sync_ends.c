/* sync_ends.c - loaded before the command: once the file that GSA_ENDS_AFTER names holds anything,
 * the next sync to the disk brings SIGTERM with it. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int fsync(int file)
{
    typedef int syncer(int);
    static syncer *next;
    struct stat seen;
    const char *after = getenv("GSA_ENDS_AFTER");
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fsync");
    if (after && stat(after, &seen) == 0 && seen.st_size > 0) raise(SIGTERM);
    return next(file);
}
