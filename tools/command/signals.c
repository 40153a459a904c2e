/* signals.c - what a signal does to the command. To `gsa train` the first one asks, the second
 * insists; any other verb it ends, and with it the temporaries of outputs that are not whole; while
 * a folder is written it waits. A handler has no other way to know and to speak: these are the
 * mutable globals of the command. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command/verbs.h"

/* ---- temporaries --------------------------------------------------------------------------- */

enum {
    TEMPORARIES = 16,
    NAME_ROOM = 4096
}; /* of those above, or with longer names, what a signal leaves is left */

/* Whose it is matters: a child that is ended would take away its parent's. Changed while the thread
 * takes no signals, and the command's other threads never do. */
static struct temporary {
    volatile pid_t owner; /* 0: nothing is here */
    char path[NAME_ROOM];
} temporaries[TEMPORARIES];

static const int ending[] = {
    SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU
};
enum { ENDING = sizeof ending / sizeof *ending };

void gsa_take_away(void)
{
    const pid_t own = getpid();
    for (int i = 0; i < TEMPORARIES; i++)
        if (temporaries[i].owner == own) unlink(temporaries[i].path);
}

static sigset_t hold(void)
{
    sigset_t all, before;
    sigemptyset(&all);
    for (int i = 0; i < ENDING; i++) sigaddset(&all, ending[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    return before;
}

static void let_go(const sigset_t *before)
{
    const int kept = errno;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = kept;
}

static void note(const char *path)
{
    const size_t bytes = strlen(path) + 1;
    int at = 0;
    while (at < TEMPORARIES && temporaries[at].owner == getpid()) at++;
    if (at == TEMPORARIES || bytes > NAME_ROOM) return;
    memcpy(temporaries[at].path, path, bytes);
    temporaries[at].owner = getpid();
}

static void forget(const char *path)
{
    for (int i = 0; i < TEMPORARIES; i++)
        if (temporaries[i].owner == getpid() && strcmp(temporaries[i].path, path) == 0)
            temporaries[i].owner = 0;
}

/* ---- what is waited for -------------------------------------------------------------------- */

/* This thread waits for the other end of a pipe, or for another's lock: no step comes that looks at
 * `stop`. */
static _Thread_local volatile sig_atomic_t waits;

static int open_waiting(void *user, const char *path, int mode)
{
    waits = gsa_system_default()->kind(user, path, NULL) == GSA_FILE_OTHER;
    const int file = gsa_system_default()->open(user, path, mode);
    waits = 0;
    return file;
}

static int is_stream(int file)
{
    struct stat seen;
    return fstat(file, &seen) == 0 && !S_ISREG(seen.st_mode);
}

static int64_t read_waiting(void *user, int file, void *buffer, int64_t bytes)
{
    waits = is_stream(file);
    const int64_t got = gsa_system_default()->read(user, file, buffer, bytes);
    waits = 0;
    return got;
}

static int64_t write_waiting(void *user, int file, const void *buffer, int64_t bytes)
{
    waits = is_stream(file);
    const int64_t put = gsa_system_default()->write(user, file, buffer, bytes);
    waits = 0;
    return put;
}

static int lock_waiting(void *user, int file, int wait)
{
    waits = wait;
    const int rc = gsa_system_default()->lock(user, file, wait);
    waits = 0;
    return rc;
}

/* What must not be there before is a temporary (graph/output.c), until it is renamed or removed, or
 * an empty file that is to be replaced (own.c), until a whole one has its place. Other files are
 * opened while signals are taken: a pipe waits for its other end. */
static int open_noted(void *user, const char *path, int mode)
{
    if (mode != GSA_OPEN_CREATE && mode != GSA_OPEN_CREATE_PRIVATE)
        return open_waiting(user, path, mode);
    const sigset_t before = hold();
    const int file = gsa_system_default()->open(user, path, mode);
    if (file >= 0) note(path);
    let_go(&before);
    return file;
}

static int rename_noted(void *user, const char *from, const char *to)
{
    const sigset_t before = hold();
    const int rc = gsa_system_default()->rename(user, from, to);
    if (rc >= 0) forget(from), forget(to);
    let_go(&before);
    return rc;
}

static int remove_noted(void *user, const char *path)
{
    const sigset_t before = hold();
    const int rc = gsa_system_default()->remove(user, path);
    forget(path);
    let_go(&before);
    return rc;
}

/* ---- folders ------------------------------------------------------------------------------- */

static int caught_already; /* gsa_catch_signals: the verb itself knows what to do */
static struct {
    int active;
    sigset_t before;
} held;

/* A folder is whole with its last file: from the first one that a verb makes on, signals wait. */
static int make_folder_held(void *user, const char *path)
{
    if (!held.active && !caught_already) held.before = hold(), held.active = 1;
    return gsa_system_default()->make_folder(user, path);
}

void gsa_let_signals_come(void)
{
    if (held.active) held.active = 0, let_go(&held.before);
}

/* ---- handlers ------------------------------------------------------------------------------ */

static volatile sig_atomic_t stop;

/* The end is the signal's own, so that who started the program sees which. The first process of a
 * container is not ended by its own. */
static void ended(int number)
{
    sigset_t own;
    gsa_take_away();
    signal(number, SIG_DFL);
    sigemptyset(&own), sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    raise(number);
    _exit(GSA_EXIT_SIGNAL + number);
}

static void caught(int number)
{
    if (stop) {
        gsa_take_away();
        _exit(GSA_EXIT_SIGNAL + number);
    }
    if (waits) ended(number);
    stop = 1;
}

/* Who started the program may have had a signal ignored (nohup, trap '' INT, a script's job in the
 * background): it stays so. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

const gsa_system *gsa_tidy_system(void)
{
    static gsa_system tidy;
    tidy = *gsa_system_default();
    tidy.open = open_noted, tidy.rename = rename_noted, tidy.remove = remove_noted,
    tidy.make_folder = make_folder_held, tidy.read = read_waiting, tidy.write = write_waiting,
    tidy.lock = lock_waiting;
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files: write fails instead */
    for (int i = 0; i < ENDING; i++) handle(ending[i], ended);
    return &tidy;
}

const volatile sig_atomic_t *gsa_catch_signals(void)
{
    gsa_let_signals_come();
    caught_already = 1;
    handle(SIGINT, caught);
    handle(SIGTERM, caught);
    return &stop;
}
