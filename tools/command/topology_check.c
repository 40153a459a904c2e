/* topology_check.c - `gsa topology check`: starts the checked process, listens to it, ends it when
 * it does not answer or takes too much, and prints what it found. */
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "topologies/check.h"
#include "tools/command/topology.h"

enum { LOOK_MS = 10, GROWTH_MIB = 8, BUSY_FACTOR = 20, SANITIZED_FACTOR = 3, ARGS_MOST = 64 };

typedef struct gsa_watch { /* the checked process as seen from here */
    const gsa_system *system;
    pid_t child;
    int pipe, prints[2]; /* -1: closed; prints: its standard output, its standard error */
    int verbose;
    double last_sign, last_look; /* a sign of life: a word, or growth by a GROWTH_MIB */
    int64_t patience_ms, memory_mib, seen_mib, sign_cpu_ms;
    /* what it said */
    char line[GSA_ERROR_SIZE + 64];
    size_t used;
    int property;
    int32_t length;
    int done, threads; /* threads: left running */
    gsa_status status;
    char text[GSA_ERROR_SIZE]; /* the error's sentence */
    char pattern[GSA_ERROR_SIZE];
    gsa_check_report report;
    int found; /* findings that came */
    /* what it printed: how much, the line that is not whole yet, and what a sanitizer found
     * first */
    int64_t printed[2];
    char print[512], found_by[512];
    size_t print_used;
    const char *killed; /* why this process ended it; NULL: it did not */
    int wait_status;
} gsa_watch;

/* ---- starting ------------------------------------------------------------------------------ */

static int list_arguments(const gsa_args *args, const char *part, const char *what,
                          char numbers[2][32], const char **list)
{
    int count = 0, plugins;
    const char *const *plugin = gsa_args_texts(args, "plugin", &plugins);
    const char *const head[] = { "gsa", "topology", part, what, "--memory", numbers[0] };
    snprintf(numbers[0], 32, "%" PRId64, gsa_args_number(args, "memory", 0));
    snprintf(numbers[1], 32, "%" PRId64, gsa_args_number(args, "length", 0));
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) list[count++] = head[i];
    if (gsa_args_given(args, "length")) list[count++] = "--length", list[count++] = numbers[1];
    if (gsa_args_given(args, "text"))
        list[count++] = "--text", list[count++] = gsa_args_text(args, "text");
    list[count++] = "--tokens", list[count++] = gsa_args_text(args, "tokens");
    for (int i = 0; i < plugins && count + 3 < ARGS_MOST; i++)
        list[count++] = "--plugin", list[count++] = plugin[i];
    list[count] = NULL;
    return count;
}

/* In the child, between fork and exec: nothing but system calls. What the plugin prints goes to
 * `prints`. */
static void become_probe(int pipe, const int prints[2], const char *const *list,
                         char *const *environment)
{
    extern char **environ;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    if (pipe == GSA_PROBE_PIPE) fcntl(pipe, F_SETFD, 0);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(prints[0], 1) >= 0 &&
        dup2(prints[1], 2) >= 0 && (pipe == GSA_PROBE_PIPE || dup2(pipe, GSA_PROBE_PIPE) >= 0))
        execve("/proc/self/exe", (char *const *)(uintptr_t)list,
               environment ? environment : environ);
    _exit(127);
}

static int make_pipe(int ends[2])
{
    if (pipe(ends) != 0) return 0;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 1;
}

static gsa_status start(gsa_watch *w, const char *const *list, char *const *environment,
                        gsa_error *error)
{
    int ends[3][2], made = 0;
    while (made < 3 && make_pipe(ends[made])) made++;
    if (made == 3) w->child = fork();
    if (made == 3 && w->child == 0)
        become_probe(ends[0][1], (const int[]){ ends[1][1], ends[2][1] }, list, environment);
    const int reason = errno, started = made == 3 && w->child > 0;
    for (int i = 0; i < made; i++) {
        close(ends[i][1]);
        if (!started) close(ends[i][0]);
    }
    if (made < 3) return gsa_fail(error, GSA_ERR_IO, "no pipe can be made: %s", strerror(reason));
    w->last_sign = w->last_look = gsa_now();
    if (started) {
        w->pipe = ends[0][0], w->prints[0] = ends[1][0], w->prints[1] = ends[2][0];
        return GSA_OK;
    }
    return gsa_fail(error, GSA_ERR_IO, "no process can be started: %s", strerror(reason));
}

/* ---- listening ----------------------------------------------------------------------------- */

static void read_line(gsa_watch *w)
{
    int one = 0, two = 0, at = 0;
    sscanf(w->line, "digest %" SCNu64, &w->report.digest);
    sscanf(w->line, "threads %d", &w->threads);
    if (sscanf(w->line, "at %d %d", &one, &two) == 2) w->property = one, w->length = two;
    else if (strncmp(w->line, "pattern ", 8) == 0)
        snprintf(w->pattern, sizeof w->pattern, "%s", w->line + 8);
    else if (sscanf(w->line, "finding %d %d %n", &one, &two, &at) == 2 && one >= 0 &&
             one < GSA_CHECKS) {
        w->report.finding[one].verdict = two;
        snprintf(w->report.finding[one].text, GSA_ERROR_SIZE, "%s", w->line + at);
        w->report.failed += two == GSA_VERDICT_FAILED;
        w->found++;
    } else if (sscanf(w->line, "error %d %n", &one, &at) == 1) {
        w->status = (gsa_status)one;
        snprintf(w->text, sizeof w->text, "%s", w->line + at);
    } else if (strcmp(w->line, "done") == 0) w->done = 1;
}

static void listen_now(gsa_watch *w)
{
    char bytes[4096];
    const ssize_t got = read(w->pipe, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        close(w->pipe);
        w->pipe = -1;
        return;
    }
    w->last_sign = gsa_now();
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != '\n' && w->used < sizeof w->line - 1) w->line[w->used++] = bytes[i];
        if (bytes[i] != '\n') continue;
        w->line[w->used] = 0, w->used = 0;
        read_line(w);
    }
}

/* What the plugin and its sanitizer print; 0: nothing more is there. */
static int hear_now(gsa_watch *w, int which)
{
    char bytes[4096];
    const ssize_t got = w->prints[which] < 0 ? 0 : read(w->prints[which], bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) {
        if (w->prints[which] >= 0) close(w->prints[which]);
        w->prints[which] = -1;
        return 0;
    }
    w->printed[which] += got;
    if (w->verbose) fwrite(bytes, 1, (size_t)got, stderr);
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != '\n' && w->print_used < sizeof w->print - 1)
            w->print[w->print_used++] = bytes[i];
        if (bytes[i] != '\n') continue;
        w->print[w->print_used] = 0, w->print_used = 0;
        if (!*w->found_by) gsa_sanitizer_says(w->print, w->found_by, sizeof w->found_by);
    }
    return 1;
}

/* A file of the child in /proc; "" where the system has none. */
static void read_facts(const gsa_watch *w, const char *name, char text[512])
{
    char path[64], *facts;
    int64_t bytes;
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)w->child, name);
    text[0] = 0;
    if (gsa_read_file(w->system, path, 4096, &facts, &bytes, NULL) != GSA_OK) return;
    snprintf(text, 512, "%s", facts);
    gsa_release(w->system, facts);
}

static int64_t resident_mib(const gsa_watch *w)
{
    char text[512];
    long long pages = 0;
    read_facts(w, "statm", text);
    return sscanf(text, "%*s %lld", &pages) == 1 ? pages * sysconf(_SC_PAGESIZE) >> 20 : 0;
}

/* Processor time so far; *runs: it would go on if it were given a processor, or what it reads from
 * a disk. */
static int64_t processor_ms(const gsa_watch *w, int *runs)
{
    char text[512], state = 0;
    long long user = 0, kernel = 0;
    read_facts(w, "stat", text);
    const char *after = strrchr(text, ')'); /* the command's name may hold anything */
    const int read = after ? sscanf(after, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld",
                                    &state, &user, &kernel)
                           : 0;
    *runs = read == 3 && (state == 'R' || state == 'D');
    return read == 3 ? (user + kernel) * 1000 / sysconf(_SC_CLK_TCK) : 0;
}

/* No sign of life for too long: it sleeps, or it computed for a good part of that time, or the
 * machine is too busy for ever. */
static int hangs(const gsa_watch *w, double now, int64_t cpu_ms, int runs)
{
    const double silent_ms = 1e3 * (now - w->last_sign);
    if (silent_ms <= (double)w->patience_ms) return 0;
    return !runs || cpu_ms - w->sign_cpu_ms > w->patience_ms / 4 ||
           silent_ms > (double)w->patience_ms * BUSY_FACTOR;
}

static void look(gsa_watch *w)
{
    int runs;
    const double now = gsa_now();
    if (1e3 * (now - w->last_look) < LOOK_MS) return;
    const int64_t mib = resident_mib(w), cpu_ms = processor_ms(w, &runs);
    if (mib > w->seen_mib + GROWTH_MIB) {
        w->seen_mib = mib;
        if (w->property < 0)
            w->last_sign = now; /* a large file is read in create; emit has nothing to load */
    }
    if (w->last_sign > w->last_look) w->sign_cpu_ms = cpu_ms;
    w->last_look = now;
    if (mib > w->memory_mib) w->killed = "memory";
    else if (hangs(w, now, cpu_ms, runs)) w->killed = "hangs";
    if (w->killed) kill(-w->child, SIGKILL), kill(w->child, SIGKILL);
}

static void watch(gsa_watch *w)
{
    int ended = 0;
    while (!ended || w->pipe >= 0) {
        struct pollfd ready[] = { { .fd = w->pipe, .events = POLLIN },
                                  { .fd = w->prints[0], .events = POLLIN },
                                  { .fd = w->prints[1], .events = POLLIN } };
        poll(ready, 3, LOOK_MS);
        if (ready[0].revents && w->pipe >= 0) listen_now(w);
        for (int i = 0; i < 2; i++)
            if (ready[1 + i].revents) hear_now(w, i);
        if (!ended) ended = waitpid(w->child, &w->wait_status, WNOHANG) == w->child;
        else if (w->pipe >= 0 && !ready[0].revents)
            break; /* a child of the plugin holds the pipe */
        if (!ended && !w->killed) look(w);
    }
    if (w->pipe >= 0) close(w->pipe);
    for (int i = 0; i < 2; i++) {
        while (hear_now(w, i)) continue;
        if (w->prints[i] >= 0) close(w->prints[i]);
    }
    kill(-w->child, SIGKILL); /* what it left over */
}

/* ---- saying -------------------------------------------------------------------------------- */

static void write_place(const gsa_watch *w, char *out, size_t size)
{
    if (w->property == GSA_STAGE_START) snprintf(out, size, "before anything was loaded");
    else if (w->property == GSA_STAGE_LOAD)
        snprintf(out, size, "while it was loaded (a constructor)");
    else if (w->property == GSA_STAGE_CREATE) snprintf(out, size, "in create or describe");
    else if (w->property == GSA_CHECK_LABELS && w->length < 0) snprintf(out, size, "in label");
    else if (w->found == GSA_CHECKS) snprintf(out, size, "in destroy, or when it was unloaded");
    else
        snprintf(out, size, "in emit, length %" PRId32 ", while '%s' was checked", w->length,
                 gsa_check_name(w->property));
}

/* It did not come to its end: one sentence that says how, and where. */
static gsa_status say_ended(const gsa_watch *w, const char *what, gsa_error *error)
{
    char place[128];
    write_place(w, place, sizeof place);
    const char *name = *w->pattern ? w->pattern : what;
    if (*w->found_by)
        return gsa_fail(error, GSA_ERR_PLUGIN, "'%s', %s: %s", name, place, w->found_by);
    if (w->killed && strcmp(w->killed, "memory") == 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "'%s' took more than %" PRId64 " MiB of memory %s",
                        name, w->memory_mib, place);
    if (w->killed)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "'%s' hangs: nothing came back for %" PRId64
                        " ms %s (--patience gives it more)",
                        name, w->patience_ms, place);
    if (!WIFSIGNALED(w->wait_status))
        return gsa_fail(error, GSA_ERR_PLUGIN, "'%s' ended the process with exit code %d %s", name,
                        WEXITSTATUS(w->wait_status), place);
    const int number = WTERMSIG(w->wait_status);
    return gsa_fail(error, GSA_ERR_PLUGIN, "'%s' %s %s (signal %d, %s)", name,
                    number == SIGABRT   ? "aborted"
                    : number == SIGXCPU ? "used all of its processor time"
                                        : "crashed",
                    place, number, strsignal(number));
}

static gsa_status print_report(const gsa_watch *w, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(w->system, "-", &out, error);
    if (status != GSA_OK) return status;
    gsa_output_format(out, "%s\n", w->pattern);
    for (int p = 0; p < GSA_CHECKS; p++)
        gsa_output_format(out, "  %-14s  %-12s  %s\n", gsa_check_name(p),
                          gsa_verdict_name(w->report.finding[p].verdict),
                          w->report.finding[p].text);
    return gsa_output_commit(out, error);
}

static gsa_status say_failed(const gsa_watch *w, gsa_error *error)
{
    char names[256] = "";
    for (int p = 0; p < GSA_CHECKS; p++) {
        const size_t used = strlen(names);
        if (w->report.finding[p].verdict == GSA_VERDICT_FAILED)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                     gsa_check_name(p));
    }
    return gsa_fail(error, GSA_ERR_PLUGIN, "'%s' fails the check: %s", w->pattern, names);
}

/* Runs one checked process to its end; what it says, or how it ended, is in the watch. */
static gsa_status run_probe(gsa_watch *w, const gsa_args *args, const char *part, const char *what,
                            gsa_error *error)
{
    char numbers[2][32];
    const char *list[ARGS_MOST];
    char runtime[GSA_RUNTIME_NAME];
    gsa_environment environment = { 0 };
    *w = (gsa_watch){ .system = gsa_args_system(args),
                      .pipe = -1,
                      .prints = { -1, -1 },
                      .property = GSA_STAGE_START };
    w->patience_ms = gsa_args_number(args, "patience", 0),
    w->memory_mib = gsa_args_number(args, "memory", 0);
    w->verbose = gsa_args_flag(args, "verbose");
    list_arguments(args, part, what, numbers, list);
    gsa_status status = gsa_sanitizer_runtime(args, what, runtime, error);
    if (status == GSA_OK && *runtime) {
        w->memory_mib *= SANITIZED_FACTOR;
        status = gsa_sanitizer_environment(w->system, runtime, &environment, error);
    }
    if (status == GSA_OK) status = start(w, list, environment.list, error);
    if (status == GSA_OK) watch(w);
    gsa_sanitizer_release(&environment);
    return status;
}

/* What no single process can see: the same plugin with other addresses, at another time, made
 * several times. */
static gsa_status compare_processes(gsa_watch *w, const gsa_args *args, const char *what,
                                    gsa_error *error)
{
    gsa_watch other;
    gsa_finding *finding = &w->report.finding[GSA_CHECK_DETERMINISTIC];
    if (w->report.failed) return GSA_OK;
    const gsa_status status = run_probe(&other, args, "again", what, error);
    if (status != GSA_OK) return status;
    if (other.status != GSA_OK)
        return gsa_fail(error, other.status, "'%s', in a second process: %s", w->pattern,
                        other.text);
    if (!other.done) return say_ended(&other, what, error);
    if (!w->report.digest || other.report.digest == w->report.digest) return GSA_OK;
    finding->verdict = GSA_VERDICT_FAILED;
    snprintf(finding->text, sizeof finding->text, "%s",
             "a second process describes or emits something else: it depends on addresses, on a "
             "clock or on the process");
    w->report.failed++;
    return GSA_OK;
}

/* What no property tells: the sanitizer's word, and threads that would run on without their
 * code. */
static gsa_status judge_rest(const gsa_watch *w, gsa_error *error)
{
    if (w->report.failed) return say_failed(w, error);
    if (*w->found_by) return gsa_fail(error, GSA_ERR_PLUGIN, "'%s': %s", w->pattern, w->found_by);
    if (w->printed[0] > 0)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "'%s' writes to standard output, where results go: messages go to standard "
                        "error",
                        w->pattern);
    if (w->wait_status != 0) return say_ended(w, w->pattern, error);
    if (w->threads == 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_PLUGIN,
                    "'%s' leaves %d thread%s running: what create or emit starts, destroy must end",
                    w->pattern, w->threads, w->threads == 1 ? "" : "s");
}

static gsa_status judge(gsa_watch *w, const gsa_args *args, const char *what, gsa_error *error)
{
    gsa_status status = GSA_OK;
    const int whole =
        w->found == GSA_CHECKS; /* else it ended early, even if it wrote "done" itself */
    if (whole && w->done && w->status == GSA_OK) status = compare_processes(w, args, what, error);
    if (whole && status == GSA_OK) status = print_report(w, error);
    if (status != GSA_OK) return status;
    if (w->status != GSA_OK && *w->pattern)
        return gsa_fail(error, w->status, "'%s' cannot be checked: %s", w->pattern, w->text);
    if (w->status != GSA_OK) return gsa_fail(error, w->status, "%s", w->text);
    return w->done && whole ? judge_rest(w, error) : say_ended(w, what, error);
}

/* What the child reads: --text, and what the settings of the pattern name. Which of them are paths
 * a plugin alone knows, so each is noted. */
static gsa_status note_read(const gsa_args *args, const char *what, gsa_error *error)
{
    char value[GSA_PATH_ROOM];
    const char *text = gsa_args_text(args, "text");
    int good = !text || gsa_note_read(text);
    for (const char *at = what; good && (at = strchr(at, '=')) != NULL;) {
        const size_t bytes = strcspn(++at, ":");
        snprintf(value, sizeof value, "%.*s", (int)(bytes < sizeof value ? bytes : 0), at);
        good = gsa_note_read(value);
    }
    return good ? GSA_OK : gsa_out_of_memory(error, what, GSA_PATH_ROOM);
}

gsa_status gsa_topology_check(const gsa_args *args, const char *what, gsa_error *error)
{
    gsa_watch w;
    gsa_status status = note_read(args, what, error);
    if (status == GSA_OK) status = run_probe(&w, args, "probe", what, error);
    if (status != GSA_OK) return status;
    status = judge(&w, args, what, error);
    const int64_t printed = w.printed[0] + w.printed[1];
    if (status == GSA_OK || printed == 0 || w.verbose || !error) return status;
    const gsa_error why = *error;
    return gsa_fail(error, status, "%s (it printed %" PRId64 " bytes: --verbose shows them)",
                    why.text, printed);
}
