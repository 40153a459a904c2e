/* topology_probe.c - the checked process: sets its limits, loads the plugin, runs the check, says
 * each step on a pipe. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "topologies/check/parts.h"
#include "tools/command/sanitized.h"
#include "tools/command/tokens.h"
#include "tools/command/topology.h"

enum { CPU_SECONDS = 120, ADDRESS_SPACE_FACTOR = 4, LINE_SIZE = GSA_ERROR_SIZE + 64 };

/* AddressSanitizer reserves terabytes of addresses: there the parent's look at the resident memory
 * is the only limit. The runtime may be this program's or one that was loaded for the plugin. */
static int limits_addresses(void)
{
#if GSA_SANITIZED
    return 0;
#else
    return dlsym(RTLD_DEFAULT, "__asan_init") == NULL;
#endif
}

static void limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0) return;
    if (now.rlim_max != RLIM_INFINITY && most > now.rlim_max) most = now.rlim_max;
    setrlimit(what, &(struct rlimit){ most, most });
}

static void set_limits(const gsa_args *args)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody listens any more */
#endif
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CPU, CPU_SECONDS);
    if (limits_addresses())
        limit(RLIMIT_AS, (rlim_t)gsa_args_number(args, "memory", 0) * ADDRESS_SPACE_FACTOR << 20);
}

/* One line, whole or not at all; a lost reader ends the process. */
static void GSA_PRINTF(1, 2) say(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    const size_t bytes = strcspn(line, "\n");
    line[bytes] = '\n';
    for (size_t sent = 0; sent <= bytes;) {
        const ssize_t put = write(GSA_PROBE_PIPE, line + sent, bytes + 1 - sent);
        if (put <= 0) _Exit(GSA_EXIT_FAILED);
        sent += (size_t)put;
    }
}

static void on_progress(void *context, int property, int32_t length)
{
    (void)context;
    say("at %d %" PRId32, property, length);
}

/* "./x.so:key=value": the path ends before the settings; a spec has no slash or ".so" in its
 * name. */
static gsa_status open_what(const gsa_args *args, const char *what, gsa_registry *registry,
                            gsa_pattern **pattern, gsa_error *error)
{
    const char *settings = strstr(what, ".so:");
    const size_t path_bytes = settings ? (size_t)(settings - what) + 3 : strlen(what),
                 name_bytes = strcspn(what, ":");
    const int file = name_bytes > 3 && strncmp(what + name_bytes - 3, ".so", 3) == 0;
    if (!file && strcspn(what, "/") >= name_bytes) {
        say("at %d 0", GSA_STAGE_CREATE);
        return gsa_open_pattern(registry, gsa_args_system(args), what, pattern, error);
    }
    char path[4096], spec[4096] = "";
    if (path_bytes >= sizeof path)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the plugin's path has %zu bytes, expected fewer than %zu", path_bytes,
                        sizeof path);
    snprintf(path, sizeof path, "%.*s", (int)path_bytes, what);
    const gsa_status status = gsa_registry_load(registry, path, error);
    if (status != GSA_OK) return status;
    for (int i = 0; i < gsa_registry_count(registry); i++)
        if (strcmp(gsa_registry_origin(registry, i), path) == 0)
            snprintf(spec, sizeof spec, "%s%s", gsa_registry_at(registry, i)->id,
                     what + path_bytes);
    if (!*spec) /* a task alone, which the registry keeps: its code is none of this check's */
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "plugin '%s': it brings a task and no topology, expected a topology to "
                        "check: a task is tried by training with it",
                        path);
    say("at %d 0", GSA_STAGE_CREATE);
    return gsa_open_pattern(registry, gsa_args_system(args), spec, pattern, error);
}

/* ---- the user's own texts: a line each */

enum { TEXTS_MOST = 200, TEXT_FILE_MOST = 16 << 20 };

typedef struct gsa_own_texts {
    const gsa_system *system;
    char *bytes;
    gsa_tokens *tokens;    /* [TEXTS_MOST] */
    gsa_check_text *texts; /* likewise */
    int32_t count;
} gsa_own_texts;

static void release_texts(gsa_own_texts *own)
{
    for (int32_t i = 0; i < own->count; i++) gsa_tokens_release(&own->tokens[i]);
    gsa_release(own->system, own->tokens);
    gsa_release(own->system, own->texts);
    gsa_release(own->system, own->bytes);
}

static gsa_status read_text(const gsa_args *args, gsa_own_texts *own, char *line, int64_t number,
                            gsa_error *error)
{
    char name[64];
    gsa_tokens *tokens = &own->tokens[own->count];
    snprintf(name, sizeof name, "text, line %" PRId64 ",", number);
    const gsa_status status =
        gsa_tokens_split(own->system, name, line, gsa_args_text(args, "tokens"), tokens, error);
    if (status != GSA_OK) return status;
    own->texts[own->count] = (gsa_check_text){ .token = tokens->token, .count = tokens->count };
    if (tokens->count == 0) gsa_tokens_release(tokens);
    else own->count++;
    if (tokens->count <= GSA_CHECK_TEXT_MOST) return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT, "--%s has %" PRId32 " tokens, at most %d are tried", name,
                    tokens->count, GSA_CHECK_TEXT_MOST);
}

static gsa_status read_texts(const gsa_args *args, gsa_own_texts *own, gsa_error *error)
{
    int64_t bytes, number = 0;
    const char *path = gsa_args_text(args, "text");
    *own = (gsa_own_texts){ .system = gsa_args_system(args) };
    if (!path) return GSA_OK;
    gsa_status status =
        gsa_read_file(own->system, path, TEXT_FILE_MOST, &own->bytes, &bytes, error);
    own->tokens = gsa_alloc_zero(own->system, TEXTS_MOST, sizeof *own->tokens);
    own->texts = gsa_alloc_zero(own->system, TEXTS_MOST, sizeof *own->texts);
    if (status == GSA_OK && (!own->tokens || !own->texts))
        status = gsa_out_of_memory(error, "texts", TEXTS_MOST);
    for (char *line = own->bytes, *next;
         status == GSA_OK && line && *line && own->count < TEXTS_MOST; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        status = read_text(args, own, line, ++number, error);
    }
    if (status != GSA_OK || own->count > 0) return status;
    return gsa_fail(error, GSA_ERR_FORMAT, "--text %s has no line with a token", path);
}

/* ---- the check */

static gsa_status check(const gsa_args *args, const gsa_pattern *pattern, const gsa_own_texts *own,
                        int again, gsa_error *error)
{
    gsa_check_report report;
    const gsa_check_options options = { .length = (int32_t)gsa_args_number(args, "length", 0),
                                        .progress = on_progress,
                                        .last = again ? GSA_CHECK_DETERMINISTIC : 0,
                                        .n_texts = own->count,
                                        .texts = own->texts };
    say("pattern %s", gsa_pattern_text(pattern));
    if (own->count && !(gsa_schema_flags(gsa_pattern_schema(pattern)) & GSA_NEEDS_TEXT))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "it reads no text (GSA_NEEDS_TEXT is not promised), and --text gives it some");
    const gsa_status status =
        gsa_check_pattern(gsa_args_system(args), pattern, &options, &report, error);
    if (status == GSA_OK) say("digest %" PRIu64, report.digest);
    for (int p = 0; p < GSA_CHECKS && status == GSA_OK && !again; p++)
        say("finding %d %d %s", p, report.finding[p].verdict, report.finding[p].text);
    return status;
}

/* A run makes its pattern many times. *pattern: the last one, made next to *first, after others
 * that are gone. */
static gsa_status make_more(const gsa_args *args, gsa_registry *registry, gsa_pattern **first,
                            gsa_pattern **pattern, gsa_error *error)
{
    enum { TIMES = 6 };
    gsa_status status = GSA_OK;
    *first = *pattern;
    for (int i = 2; i <= TIMES && status == GSA_OK; i++) {
        gsa_pattern *more = NULL;
        status = gsa_open_pattern(registry, gsa_args_system(args), gsa_pattern_text(*first), &more,
                                  error);
        if (*pattern != *first) gsa_pattern_release(*pattern);
        *pattern = more;
        if (status == GSA_OK && gsa_check_schema(gsa_pattern_schema(*pattern)) !=
                                    gsa_check_schema(gsa_pattern_schema(*first)))
            status = gsa_fail(error, GSA_ERR_PLUGIN,
                              "instance %d describes other kinds, phases or promises than the "
                              "first",
                              i);
    }
    return status;
}

static int count_one(void *context, const char *name)
{
    *(int *)context += name[0] != '.';
    return 0;
}

static int thread_count(const gsa_system *system)
{
    int count = 0;
    return system->list(system->user, "/proc/self/task", count_one, &count) < 0 ? 0 : count;
}

/* Threads beyond `before` that are still there after a while: one that was joined may be in the
 * list for some more microseconds. */
static int threads_left(const gsa_system *system, int before)
{
    int left = thread_count(system) - before;
    for (int i = 0; i < 50 && left > 0; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        left = thread_count(system) - before;
    }
    return left;
}

/* A plugin that forks would have its copies check on, each with copies of its own. */
static int forked; /* pthread_atfork gives its handlers no argument */

static void end_copy(void)
{
    _Exit(GSA_EXIT_OK);
}

static void note_fork(void)
{
    forked = 1;
}

static gsa_status probe(const gsa_args *args, const char *what, int again, gsa_error *error)
{
    struct stat pipe;
    gsa_registry *registry = NULL;
    gsa_pattern *pattern = NULL, *first = NULL;
    gsa_own_texts own = { 0 };
    const gsa_system *system = gsa_args_system(args);
    if (fstat(GSA_PROBE_PIPE, &pipe) != 0 || !S_ISFIFO(pipe.st_mode))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "this part of 'gsa topology' is run by 'gsa topology check' alone");
    signal(SIGPIPE, SIG_DFL);
    gsa_watch_exit(0), gsa_watch_crashes(0); /* who listens says how it ended */
    set_limits(args);
    pthread_atfork(NULL, note_fork, end_copy);
    gsa_status status = read_texts(args, &own, error);
    const int threads = thread_count(system);
    say("at %d 0", GSA_STAGE_LOAD);
    if (status == GSA_OK) status = gsa_open_registry(args, &registry, error);
    if (status == GSA_OK) status = open_what(args, what, registry, &pattern, error);
    if (status == GSA_OK && again) status = make_more(args, registry, &first, &pattern, error);
    if (status == GSA_OK) status = check(args, pattern, &own, again, error);
    if (status == GSA_OK && forked)
        status = gsa_fail(error, GSA_ERR_UNSUPPORTED,
                          "it starts processes, of which each would go on as the command does");
    if (status != GSA_OK) say("error %d %s", (int)status, error->text);
    if (pattern != first) gsa_pattern_release(pattern);
    gsa_pattern_release(first);
    fflush(stdout); /* of the plugin: who listens counts it */
    const int left = threads_left(system, threads);
    if (left > 0) say("threads %d", left); /* their code must stay: nothing is unloaded */
    else gsa_registry_release(registry);
    release_texts(&own);
    say("done");
    if (left > 0) _Exit(GSA_EXIT_OK);
    return GSA_OK;
}

gsa_status gsa_topology_probe(const gsa_args *args, const char *what, gsa_error *error)
{
    return probe(args, what, 0, error);
}

gsa_status gsa_topology_again(const gsa_args *args, const char *what, gsa_error *error)
{
    return probe(args, what, 1, error);
}
