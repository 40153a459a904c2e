/* ranks.c - finds what started this process by the environment, loads gsa-mpi.so, and ends all
 * ranks alike. The group is a mutable global of the command, for its watch has no other way to
 * speak. */
#include "tools/command/ranks.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gsa/hash.h"
#include "train/group/mpi.h"
#include "train/group/nccl.h"
#include "tools/command/verbs.h"

static gsa_group group;
static const gsa_group_mpi *module;
static char program[65];

/* Rank and number of ranks as Open MPI, MPICH (and what is made of it) and Slurm say them. */
static int launched(int *rank, int *ranks)
{
    static const char *const names[][2] = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
                                            { "PMI_RANK", "PMI_SIZE" },
                                            { "PMIX_RANK", "SLURM_NTASKS" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *r = getenv(names[i][0]), *n = getenv(names[i][1]);
        if (!r || !n) continue;
        *rank = atoi(r), *ranks = atoi(n);
        return *ranks > 1;
    }
    return 0;
}

/* The program as a whole; of a library its name, size and beginning, where its build is named. */
static gsa_status hash_mapped(const char *path, char hex[65], gsa_error *error)
{
    enum { BEGIN = 1 << 16 };
    const gsa_system *system = gsa_system_default();
    char own[GSA_PATH_ROOM] = "", bytes[4096];
    gsa_sha256 hash;
    int64_t size = 0, got = 0;
    if (readlink("/proc/self/exe", own, sizeof own - 1) > 0 && strcmp(own, path) == 0)
        return gsa_sha256_file(system, path, hex, error);
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    system->kind(system->user, path, &size);
    gsa_sha256_start(&hash);
    gsa_sha256_add(&hash, strrchr(path, '/'), (int64_t)strlen(strrchr(path, '/')));
    gsa_sha256_add(&hash, &size, sizeof size);
    for (int64_t at = 0; file >= 0 && at < BEGIN; at += got) {
        got = system->read_at(system->user, file, bytes, sizeof bytes, at);
        if (got <= 0) break;
        gsa_sha256_add(&hash, bytes, got);
    }
    if (file >= 0) system->close(system->user, file);
    gsa_sha256_end(&hash, hex);
    return GSA_OK;
}

/* In no order, for libraries lie anywhere; before MPI is loaded, which may differ. */
static gsa_status hash_program(gsa_error *error)
{
    char line[GSA_PATH_ROOM + 128], last[GSA_PATH_ROOM] = "", hex[65];
    uint8_t sum[64] = { 0 };
    gsa_status status = GSA_OK;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && status == GSA_OK && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (!path || !strstr(line, " r-xp ")) continue;
        path[strcspn(path, "\n")] = 0;
        if (strcmp(path, last) == 0 || strlen(path) >= sizeof last) continue;
        strcpy(last, path);
        status = hash_mapped(path, hex, error);
        for (int i = 0; i < 64 && status == GSA_OK; i++) sum[i] = (uint8_t)(sum[i] + hex[i]);
    }
    if (maps) fclose(maps);
    for (int i = 0; i < 64; i++) program[i] = (char)('A' + sum[i] % 26);
    return status;
}

/* A device that is lost ends a job of several ranks as it ends one. */
static int tell_lost(gsa_status status, const char *sentence)
{
    fprintf(stderr, "gsa: %s\n", sentence);
    gsa_watch_exit(0); /* MPI_Abort may end by exit(), with this code */
    return status == GSA_ERR_DEVICE ? gsa_exit_code(status) : GSA_EXIT_RANK;
}

/* The table of a module beside the program or in its folder of plugins; NULL: `why`. */
static void *load(const char *file, const char *table, const char *part, char *why, size_t room)
{
    static const char *const places[] = { "", GSA_OWN_PLUGINS "/" };
    char path[2][GSA_PATH_ROOM] = { "", "" };
    for (int i = 0; i < 2; i++) {
        if (!gsa_beside_program(places[i], file, path[i]) || access(path[i], R_OK) != 0) continue;
        void *library = dlopen(path[i], RTLD_NOW | RTLD_GLOBAL);
        void *found = library ? dlsym(library, table) : NULL;
        if (!found) snprintf(why, room, "%s", dlerror());
        return found;
    }
    snprintf(why, room, "this gsa has no %s: %s is neither %s nor %s (built with -DGSA_%s=ON)",
             part, file, path[0], path[1], part);
    return NULL;
}

static const gsa_wire *find_wire(char *why, size_t room)
{
    return load("gsa-nccl.so", GSA_GROUP_NCCL_TABLE, "NCCL", why, room);
}

gsa_status gsa_ranks_open(gsa_error *error)
{
    char why[GSA_ERROR_SIZE] = "";
    int rank, ranks;
    if (!launched(&rank, &ranks)) return GSA_OK;
    group = (gsa_group){
        .system = gsa_system_default(), .rank = rank, .ranks = ranks, .find_wire = find_wire
    };
    gsa_status status = hash_program(error);
    if (status == GSA_OK) module = load("gsa-mpi.so", GSA_GROUP_MPI_TABLE, "MPI", why, sizeof why);
    if (status == GSA_OK && !module)
        status = gsa_fail(error, GSA_ERR_UNSUPPORTED, "%d ranks were started, but %s", ranks, why);
    if (status == GSA_OK && module->open(&group, tell_lost, why, sizeof why) != 0)
        status = gsa_fail(error, GSA_ERR_ARGUMENT, "%s", why);
    group.program = program;
    if (status != GSA_OK) module = NULL;
    return status;
}

gsa_group *gsa_ranks(void)
{
    return module ? &group : NULL;
}

static int is_compared(const gsa_option *option)
{
    static const char *const own[] = { "threads", "device", "quiet" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(option->name, own[i]) == 0) return 0;
    return option->type != GSA_OPTION_OUTPUT && option->type != GSA_OPTION_TEXTS &&
           (option->type != GSA_OPTION_TEXT ||
            (!strstr(option->value, "FILE") && !strstr(option->value, "DIR")));
}

static void hash_command(const gsa_verb *verb, const gsa_args *args, char hex[65])
{
    gsa_sha256 hash;
    gsa_sha256_start(&hash);
    gsa_sha256_add(&hash, verb->name, (int64_t)strlen(verb->name) + 1);
    gsa_sha256_add(&hash, gsa_args_help(args) ? "1" : "0", 1);
    for (int i = 0; i < verb->n_options; i++) {
        const char *name = verb->options[i].name;
        if (!is_compared(&verb->options[i])) continue;
        const char *text = gsa_args_text(args, name);
        gsa_sha256_add(&hash, gsa_args_given(args, name) ? "1" : "0", 1);
        if (text) gsa_sha256_add(&hash, text, (int64_t)strlen(text) + 1);
    }
    gsa_sha256_end(&hash, hex);
}

gsa_status gsa_ranks_same(const gsa_verb *verb, const gsa_args *args, gsa_error *error)
{
    char own[65], first[65] = "";
    if (!module) return GSA_OK;
    hash_command(verb, args, own);
    if (group.rank == 0) memcpy(first, own, sizeof first);
    const gsa_status status = gsa_group_merge(&group, GSA_OK, first, sizeof first, error);
    if (status != GSA_OK || strcmp(own, first) == 0) return status;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "its verb or options are not those of rank 0: every rank runs the same");
}

gsa_status gsa_ranks_agree(gsa_status status, gsa_error *error, int *speaks, int *code)
{
    *speaks = !module || group.rank == 0;
    if (module) status = gsa_group_tell(&group, status, NULL, NULL, error);
    *code =
        module && group.blamed && status != GSA_ERR_DEVICE ? GSA_EXIT_RANK : gsa_exit_code(status);
    return status;
}

void gsa_ranks_close(void)
{
    if (!module) return;
    gsa_group_release(&group);
    module->close(&group);
    module = NULL;
}
