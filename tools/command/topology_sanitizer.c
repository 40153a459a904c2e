/* topology_sanitizer.c - plugins that were built with AddressSanitizer: its runtime must be there
 * before the program is, so the checked process is started with it; and what a sanitizer says of a
 * plugin is told from what the plugin says itself. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command/sanitized.h"
#include "tools/command/topology.h"

enum { PLUGIN_MOST = 256 << 20 };

/* "libasan.so.8": the name of the runtime as the shared object holds it, of those that it needs. 0:
 * it is not there. */
static int find_runtime(const char *bytes, int64_t count, const char *prefix,
                        char name[GSA_RUNTIME_NAME])
{
    const char *at = memmem(bytes, (size_t)count, prefix, strlen(prefix));
    if (!at) return 0;
    snprintf(name, GSA_RUNTIME_NAME, "%.*s",
             (int)strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_.-"), at);
    return 1;
}

/* The path ends before settings: ./x.so:key=value. */
static gsa_status look_into(const gsa_system *system, const char *what, char name[GSA_RUNTIME_NAME],
                            gsa_error *error)
{
    static const char symbol[] = "__asan_init";
    char path[GSA_PATH_ROOM], *bytes;
    int64_t count;
    const char *settings = strstr(what, ".so:");
    const int room = snprintf(path, sizeof path, "%.*s",
                              settings ? (int)(settings - what) + 3 : (int)strlen(what), what);
    if (room >= GSA_PATH_ROOM || system->kind(system->user, path, NULL) != GSA_FILE_REGULAR)
        return GSA_OK;
    const gsa_status status = gsa_read_file(system, path, PLUGIN_MOST, &bytes, &count, error);
    if (status != GSA_OK) return status;
    const int found = find_runtime(bytes, count, "libasan.so.", name) ||
                      find_runtime(bytes, count, "libclang_rt.asan", name);
    const int built_so = memmem(bytes, (size_t)count, symbol, sizeof symbol) != NULL;
    gsa_release(system, bytes);
    if (found || !built_so) return GSA_OK;
    return gsa_fail(error, GSA_ERR_PLUGIN,
                    "plugin '%s' was built with AddressSanitizer and names no runtime to load, as "
                    "clang does by default: build "
                    "it with gcc, or with clang's -shared-libasan",
                    path);
}

gsa_status gsa_sanitizer_runtime(const gsa_args *args, const char *what,
                                 char name[GSA_RUNTIME_NAME], gsa_error *error)
{
    int plugins;
    const char *const *plugin = gsa_args_texts(args, "plugin", &plugins);
    name[0] = 0;
#if GSA_SANITIZED /* the runtime is here */
    (void)look_into, (void)what, (void)plugin, (void)error;
    return GSA_OK;
#else
    gsa_status status = look_into(gsa_args_system(args), what, name, error);
    for (int i = 0; i < plugins && status == GSA_OK && !*name; i++)
        status = look_into(gsa_args_system(args), plugin[i], name, error);
    return status;
#endif
}

gsa_status gsa_sanitizer_environment(const gsa_system *system, const char *runtime,
                                     gsa_environment *environment, gsa_error *error)
{
    extern char **environ;
    static const char quiet[] = "ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:",
                      preload[] = "LD_PRELOAD=";
    const char *own = getenv("ASAN_OPTIONS"), *before = getenv("LD_PRELOAD");
    int count = 0, kept = 0;
    *environment = (gsa_environment){ .system = system };
    while (environ[count]) count++;
    environment->list = gsa_alloc_zero(system, (size_t)count + 3, sizeof *environment->list);
    const size_t room = sizeof quiet + sizeof preload + strlen(runtime) + (own ? strlen(own) : 0) +
                        (before ? strlen(before) + 1 : 0) + 1;
    environment->text = gsa_alloc(system, room, 1);
    if (!environment->list || !environment->text)
        return gsa_out_of_memory(error, "an environment", (int64_t)room);
    for (int i = 0; i < count; i++)
        if (strncmp(environ[i], preload, sizeof preload - 1) != 0 &&
            strncmp(environ[i], quiet, strlen("ASAN_OPTIONS=")) != 0)
            environment->list[kept++] = environ[i];
    char *at = environment->text;
    environment->list[kept++] = at;
    at += snprintf(at, room, "%s%s", quiet, own ? own : "") + 1;
    environment->list[kept] = at;
    snprintf(at, room - (size_t)(at - environment->text), "%s%s%s%s", preload, runtime,
             before ? ":" : "", before ? before : "");
    return GSA_OK;
}

void gsa_sanitizer_release(gsa_environment *environment)
{
    gsa_release(environment->system, environment->list);
    gsa_release(environment->system, environment->text);
}

int gsa_sanitizer_says(const char *line, char *said, size_t size)
{
    const char *name = strstr(line, "Sanitizer: ");
    if (!name && !strstr(line, ": runtime error: ")) return 0;
    if (name) /* "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc ..." */
        while (name > line && name[-1] != ' ') name--;
    const char *from = name ? name : line, *end = name ? strstr(from, " on ") : NULL;
    snprintf(said, size, "%.*s", end ? (int)(end - from) : (int)strlen(from), from);
    return 1;
}
