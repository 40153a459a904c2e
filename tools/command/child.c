/* child.c - forks, limits, listens on a pipe: a byte of status, then the text or the sentence.
 * wait4 is BSD's. */
#define _DEFAULT_SOURCE
#include "tools/command/child.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(int pipe, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t sent = write(pipe, bytes, count);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return 0;
        bytes += sent, count -= (size_t)sent;
    }
    return 1;
}

/* Private memory that can be written, shared libraries' and threads' too. */
static void limit_memory(int64_t most_bytes)
{
    struct rlimit now;
    if (!GSA_CHILD_LIMITS || most_bytes <= 0 || getrlimit(RLIMIT_DATA, &now) != 0) return;
    const rlim_t most = (rlim_t)most_bytes;
    if (now.rlim_max == RLIM_INFINITY || most < now.rlim_max)
        setrlimit(RLIMIT_DATA, &(struct rlimit){ most, most });
}

static void be_child(const gsa_child_work *work, int pipe)
{
    gsa_error error = { .text = "" };
    char *text = NULL;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody listens any more */
#endif
    if (work->prepare) work->prepare();
    limit_memory(work->most_bytes);
    const gsa_status status = work->run(work->context, &text, &error);
    const char *told = status == GSA_OK ? text : error.text, code = (char)status;
    const int good = put(pipe, &code, 1) && put(pipe, told, strlen(told));
    _exit(good ? 0 : 1); /* what was buffered before the fork is the parent's */
}

/* All that comes until the pipe is closed, terminated. */
static gsa_status listen_to(const gsa_system *system, int pipe, char **bytes, int64_t *count,
                            gsa_error *error)
{
    int64_t room = 0;
    *bytes = NULL, *count = 0;
    for (;;) {
        if (*count + 1 >= room) {
            char *larger = gsa_resize(system, *bytes, (size_t)room + 65536, 1);
            if (!larger) return gsa_out_of_memory(error, "what a process says", room + 65536);
            *bytes = larger, room += 65536;
        }
        const ssize_t got = read(pipe, *bytes + *count, (size_t)(room - *count - 1));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return gsa_fail(error, GSA_ERR_IO, "a process cannot be listened to: %s",
                            strerror(errno));
        *count += got;
        (*bytes)[*count] = 0;
        if (got == 0) return GSA_OK;
    }
}

static gsa_status judge(const gsa_child_work *work, const char *bytes, int64_t count, int ended,
                        gsa_error *error)
{
    const int limited =
        GSA_CHILD_LIMITS && work->most_bytes > 0; /* libraries crash that are given no memory */
    if (count > 0 && *bytes == GSA_OK) return GSA_OK;
    if (count > 0) return gsa_fail(error, (gsa_status)*bytes, "%s", bytes + 1);
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL)
        return gsa_fail(error, GSA_ERR_MEMORY,
                        "it was killed, as machines do that run out of memory");
    if (WIFSIGNALED(ended))
        return gsa_fail(error, GSA_ERR_UNSUPPORTED, "it was ended by signal %d (%s)%s",
                        WTERMSIG(ended), strsignal(WTERMSIG(ended)),
                        limited ? ", perhaps for want of memory, which is limited" : "");
    return gsa_fail(error, GSA_ERR_UNSUPPORTED, "it ended with exit code %d and without a word",
                    WEXITSTATUS(ended));
}

gsa_status gsa_child_run(const gsa_system *system, const gsa_child_work *work, char **text,
                         int64_t *peak_bytes, gsa_error *error)
{
    struct rusage usage;
    int ends[2], ended = 0;
    char *bytes;
    int64_t count;
    *text = NULL, *peak_bytes = 0;
    if (pipe(ends) != 0)
        return gsa_fail(error, GSA_ERR_IO, "no pipe can be made: %s", strerror(errno));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(work, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return gsa_fail(error, GSA_ERR_IO, "no process can be started: %s", strerror(errno));
    }
    gsa_status status = listen_to(system, ends[0], &bytes, &count, error);
    close(ends[0]);
    if (status != GSA_OK) kill(child, SIGKILL);
    while (wait4(child, &ended, 0, &usage) < 0 && errno == EINTR) continue;
    if (status == GSA_OK) status = judge(work, bytes, count, ended, error);
    if (status == GSA_OK) {
        memmove(bytes, bytes + 1, (size_t)count);
        *text = bytes, *peak_bytes = (int64_t)usage.ru_maxrss * 1024;
        return GSA_OK;
    }
    gsa_release(system, bytes);
    return status;
}
