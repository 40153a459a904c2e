/* plugins.c - the plugin that comes with the command: `file`, found next to the program, so that it
 * is there without --plugin. */
#define _XOPEN_SOURCE 700 /* realpath, S_ISVTX */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command/verbs.h"

#define OWN "file.so"

/* Relative to the program's folder: the build tree's, then the installation's. */
static const char *const places[] = { "topologies/" OWN, GSA_OWN_PLUGINS "/" OWN };
enum { PLACES = sizeof places / sizeof *places };

int gsa_beside_program(const char *place, const char *name, char path[GSA_PATH_ROOM])
{
    char program[GSA_PATH_ROOM];
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    if (bytes <= 0) return 0;
    program[bytes] = 0;
    char *slash = strrchr(program, '/');
    if (!slash) return 0;
    *slash = 0;
    const int used = snprintf(path, GSA_PATH_ROOM, "%s/%s%s", program, place, name);
    return used > 0 && used < GSA_PATH_ROOM;
}

static int path_of(int place, char *path)
{
    return gsa_beside_program(places[place], "", path);
}

/* FOLDER/file.so, also with settings after it (file.so:path=/a/b), as `gsa topology check` takes
 * it. */
static int is_own(const char *text)
{
    const char *settings = strstr(text, ".so:");
    const size_t bytes = settings ? (size_t)(settings - text) + 3 : strlen(text);
    if (bytes < sizeof OWN - 1 ||
        strncmp(text + bytes - (sizeof OWN - 1), OWN, sizeof OWN - 1) != 0)
        return 0;
    return bytes == sizeof OWN - 1 || text[bytes - sizeof OWN] == '/';
}

gsa_status gsa_add_own_plugins(gsa_args *args, char *path, gsa_error *error)
{
    const gsa_system *system = gsa_system_default();
    int count = 0;
    const char *const *given = gsa_args_texts(args, "plugin", &count);
    for (int i = 0; i < count; i++)
        if (is_own(given[i])) return GSA_OK;
    for (int i = 0; i < gsa_args_operands(args); i++)
        if (is_own(gsa_args_operand(args, i))) return GSA_OK;
    for (int i = 0; i < PLACES; i++)
        if (path_of(i, path) && system->kind(system->user, path, NULL) == GSA_FILE_REGULAR)
            return gsa_args_append(args, "plugin", path, error);
    return GSA_OK;
}

int gsa_is_own_plugin(const char *path)
{
    char own[GSA_PATH_ROOM];
    for (int i = 0; i < PLACES; i++)
        if (path_of(i, own) && strcmp(own, path) == 0) return 1;
    return 0;
}

/* The user's or root's, and not others' to write. A folder that keeps everybody's files apart
 * (/tmp) may be. */
static int is_kept(const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || (facts.st_uid != geteuid() && facts.st_uid != 0)) return 0;
    if (S_ISLNK(facts.st_mode) || (S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX))) return 1;
    return !(facts.st_mode & S_IWOTH) && (!(facts.st_mode & S_IWGRP) || facts.st_gid == getegid());
}

/* The path, and each folder and link on the way to it. */
static int is_way_kept(const char *path)
{
    char way[PATH_MAX];
    if (snprintf(way, sizeof way, "%s", path) >= (int)sizeof way) return 0;
    for (char *slash = way; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (!is_kept(way)) return 0;
        *slash = '/';
    }
    return is_kept(way);
}

static int is_trusted(const char *path)
{
    char real[PATH_MAX];
    return is_way_kept(path) && realpath(path, real) && is_way_kept(real);
}

/* Inode and time of change: both are the kernel's to give, so that nobody who packs an archive
 * knows them. */
static int mark_of(const char *path, char mark[GSA_PLUGIN_MARK])
{
    struct stat facts;
    if (stat(path, &facts) != 0) return 0;
    snprintf(mark, GSA_PLUGIN_MARK, "%ju.%jd.%ld", (uintmax_t)facts.st_ino,
             (intmax_t)facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
    return 1;
}

gsa_plugin_policy gsa_read_plugin_policy(const gsa_args *args)
{
    int count;
    const char *const *given = gsa_args_texts(args, "plugin", &count); /* the own one is the last */
    return (gsa_plugin_policy){ .own = count > 0 && gsa_is_own_plugin(given[count - 1])
                                           ? given[count - 1]
                                           : NULL,
                                .trusts = is_trusted,
                                .mark = mark_of,
                                .other = gsa_args_flag(args, "other-plugin") };
}

void gsa_explain_own_plugins(gsa_error *error)
{
    char first[GSA_PATH_ROOM], second[GSA_PATH_ROOM];
    char text[GSA_ERROR_SIZE];
    if (!strstr(error->text, "no topology is named 'file'") || !path_of(0, first) ||
        !path_of(1, second))
        return;
    memcpy(text, error->text, sizeof text);
    gsa_fail(error, error->status,
             "%s; 'file' is a plugin and is neither %s nor %s: --plugin FOLDER/%s names it", text,
             first, second, OWN);
}
