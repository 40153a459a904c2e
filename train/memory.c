#include "train/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gsa/optimiser.h"
#include "gsa/parameters.h"

enum { FACTS = 4096 };

/* The start of a small file of the system's; "" where it is not there. */
static void read_facts(const gsa_system *system, const char *path, char text[FACTS])
{
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    const int64_t got = file < 0 ? 0 : system->read_at(system->user, file, text, FACTS - 1, 0);
    if (file >= 0) system->close(system->user, file);
    text[got > 0 ? got : 0] = 0;
}

int64_t gsa_memory_resident(const gsa_system *system)
{
    char text[FACTS];
    long long pages = 0;
    read_facts(system, "/proc/self/statm", text);
    return sscanf(text, "%*s %lld", &pages) == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

/* The number after `name` at the start of a line; with "" the first; -1: none, as "max". */
static int64_t number_in(const char *text, const char *name)
{
    char *end;
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, name, strlen(name)) != 0) continue;
        const long long number = strtoll(at + strlen(name), &end, 10);
        return end == at + strlen(name) ? -1 : number;
    }
    return -1;
}

/* What a control group may still have: pages of files, which it counts, are given back. */
static int64_t left_to_group(const gsa_system *system, const char *folder, const char *limits,
                             const char *usage)
{
    char path[FACTS + 64], text[FACTS];
    snprintf(path, sizeof path, "%s/%s", folder, limits);
    read_facts(system, path, text);
    const int64_t limit = number_in(text, "");
    snprintf(path, sizeof path, "%s/%s", folder, usage);
    read_facts(system, path, text);
    const int64_t used = number_in(text, "");
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    read_facts(system, path, text);
    const int64_t idle = number_in(text, "inactive_file "),
                  active = number_in(text, "active_file ");
    if (limit < 0 || used < 0 || idle < 0 || active < 0) return INT64_MAX;
    return limit > used - idle - active ? limit - (used - idle - active) : 1;
}

/* The least of what this process's control group and those around it may have. `line` marks the
 * group's path in /proc/self/cgroup: "0::" in version 2, ":memory:" in version 1. */
static int64_t left_to_groups(const gsa_system *system, const char *line, const char *root,
                              const char *limits, const char *usage)
{
    char text[FACTS], folder[FACTS];
    int64_t least = INT64_MAX;
    read_facts(system, "/proc/self/cgroup", text);
    const char *at = strstr(text, line);
    at = at ? at + strlen(line) : "";
    const int length = (int)strcspn(at, "\n");
    if (snprintf(folder, sizeof folder, "%s%.*s", root, length, at) >= FACTS)
        folder[strlen(root)] = 0;
    for (;;) {
        const int64_t left = left_to_group(system, folder, limits, usage);
        if (left < least) least = left;
        char *end = strrchr(folder, '/');
        if (strlen(folder) <= strlen(root)) return least;
        *end = 0;
    }
}

/* What the process's own limits (ulimit -v, -d) leave of addresses and of data. */
static int64_t left_to_process(const gsa_system *system)
{
    char text[FACTS];
    long long used[2] = { 0 };
    int64_t least = INT64_MAX;
    read_facts(system, "/proc/self/statm", text);
    if (sscanf(text, "%lld %*s %*s %*s %*s %lld", &used[0], &used[1]) != 2) return least;
    read_facts(system, "/proc/self/limits", text);
    static const char *const names[] = { "Max address space", "Max data size" };
    for (int i = 0; i < 2; i++) {
        const int64_t limit = number_in(text, names[i]), held = used[i] * sysconf(_SC_PAGESIZE);
        const int64_t left = limit < 0 ? INT64_MAX : limit > held ? limit - held : 1;
        if (left < least) least = left;
    }
    return least;
}

int64_t gsa_memory_available(const gsa_system *system)
{
    char text[FACTS];
    read_facts(system, "/proc/meminfo", text);
    const int64_t kib = number_in(text, "MemAvailable:");
    if (kib < 0) return 0;
    const int64_t left[] = {
        kib << 10, left_to_groups(system, "0::", "/sys/fs/cgroup", "memory.max", "memory.current"),
        left_to_groups(system, ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                       "memory.usage_in_bytes"),
        left_to_process(system)
    };
    int64_t least = left[0];
    for (int i = 1; i < 4; i++)
        if (left[i] < least) least = left[i];
    return least;
}

/* ---- weights ------------------------------------------------------------------------------- */

gsa_budget gsa_budget_new(const gsa_system *system, const gsa_recipe *recipe,
                          const gsa_backend *backend)
{
    const gsa_recipe_values *v = &recipe->values;
    const int moments = v->train_optimizer != GSA_OPTIMISER_SGD ? 2 : v->train_momentum > 0;
    return (gsa_budget){ .system = system,
                         .recipe = recipe,
                         .fixed = backend->real_bytes,
                         .learned = (2 + moments) * backend->real_bytes };
}

gsa_status gsa_budget_allow(void *context, const char *name, int64_t rows, int64_t cols, int flags,
                            gsa_error *error)
{
    gsa_budget *b = context;
    int64_t bytes;
    if (!gsa_mul(rows, cols, &bytes) ||
        !gsa_mul(bytes, flags & GSA_FROZEN ? b->fixed : b->learned, &bytes) ||
        !gsa_add(b->bytes, bytes, &bytes))
        return gsa_fail(error, GSA_ERR_LIMIT, "parameter %s: %lld x %lld is no possible shape",
                        name, (long long)rows, (long long)cols);
    b->bytes = bytes;
    if (bytes < GSA_BUDGET_BYTES) return GSA_OK;
    const int64_t limit = b->recipe->values.train_memory;
    if (limit > 0 && bytes > limit)
        return gsa_recipe_fail(b->recipe, "train", "memory", error,
                               "= %lld: weights up to %s of %lld x %lld, with their gradients and "
                               "moments, need %lld bytes",
                               (long long)limit, name, (long long)rows, (long long)cols,
                               (long long)bytes);
    if (limit == 0 && b->available == 0) b->available = gsa_memory_available(b->system);
    if (limit > 0 || b->available == 0 || bytes <= b->available) return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "weights up to %s of %lld x %lld, with their gradients and moments, need %.2f "
                    "GB, %.2f GB are available: take a smaller model, or set train.memory",
                    name, (long long)rows, (long long)cols, 1e-9 * (double)bytes,
                    1e-9 * (double)b->available);
}
