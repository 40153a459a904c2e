/* topology_probe.c - the checked process: sets its limits, loads the plugin, runs the check, says each step on a pipe. */
#include <inttypes.h>
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
#include <unistd.h>
#include "topologies/check.h"
#include "topology.h"

enum { CPU_SECONDS = 120, ADDRESS_SPACE_FACTOR = 4, LINE_SIZE = GSA_ERROR_SIZE + 64 };

/* AddressSanitizer reserves terabytes of addresses: there the parent's look at the resident memory is the only limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITS_ADDRESSES = 0 };
#else
enum { LIMITS_ADDRESSES = 1 };
#endif

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
    if (LIMITS_ADDRESSES) limit(RLIMIT_AS, (rlim_t)gsa_args_number(args, "memory", 0) * ADDRESS_SPACE_FACTOR << 20);
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

/* "./x.so:key=value": the path ends before the settings; a spec has no slash in its name. NULL: out of memory. */
static gsa_status open_what(const gsa_args *args, const char *what, gsa_registry *registry, gsa_pattern **pattern,
                            gsa_error *error)
{
    const char *settings = strstr(what, ".so:");
    const size_t path_bytes = settings ? (size_t)(settings - what) + 3 : strlen(what);
    if (strcspn(what, "/") > strcspn(what, ":") || !strchr(what, '/')) {
        say("at %d 0", GSA_STAGE_CREATE);
        return gsa_open_pattern(registry, gsa_args_system(args), what, pattern, error);
    }
    char path[4096], spec[4096];
    if (path_bytes >= sizeof path)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "the plugin's path has %zu bytes, expected fewer than %zu", path_bytes,
                        sizeof path);
    snprintf(path, sizeof path, "%.*s", (int)path_bytes, what);
    const gsa_status status = gsa_registry_load(registry, path, error);
    if (status != GSA_OK) return status;
    for (int i = 0; i < gsa_registry_count(registry); i++)
        if (strcmp(gsa_registry_origin(registry, i), path) == 0)
            snprintf(spec, sizeof spec, "%s%s", gsa_registry_at(registry, i)->id, what + path_bytes);
    say("at %d 0", GSA_STAGE_CREATE);
    return gsa_open_pattern(registry, gsa_args_system(args), spec, pattern, error);
}

static gsa_status check(const gsa_args *args, const gsa_pattern *pattern, int again, gsa_error *error)
{
    gsa_check_report report;
    const gsa_check_options options = { .length = (int32_t)gsa_args_number(args, "length", 0),
                                        .progress = on_progress,
                                        .last = again ? GSA_CHECK_DETERMINISTIC : 0 };
    say("pattern %s", gsa_pattern_text(pattern));
    const gsa_status status = gsa_check_pattern(gsa_args_system(args), pattern, &options, &report, error);
    if (status == GSA_OK) say("digest %" PRIu64, report.digest);
    for (int p = 0; p < GSA_CHECKS && status == GSA_OK && !again; p++)
        say("finding %d %d %s", p, report.finding[p].verdict, report.finding[p].text);
    return status;
}

static gsa_status probe(const gsa_args *args, const char *what, int again, gsa_error *error)
{
    struct stat pipe;
    gsa_registry *registry = NULL;
    gsa_pattern *pattern = NULL;
    if (fstat(GSA_PROBE_PIPE, &pipe) != 0 || !S_ISFIFO(pipe.st_mode))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "this part of 'gsa topology' is run by 'gsa topology check' alone");
    signal(SIGPIPE, SIG_DFL);
    set_limits(args);
    say("at %d 0", GSA_STAGE_LOAD);
    gsa_status status = gsa_open_registry(args, &registry, error);
    if (status == GSA_OK) status = open_what(args, what, registry, &pattern, error);
    if (status == GSA_OK) status = check(args, pattern, again, error);
    if (status != GSA_OK) say("error %d %s", (int)status, error->text);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    say("done");
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
