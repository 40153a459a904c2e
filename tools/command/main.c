/* main.c - gsa VERB [operands] [options]: finds the verb, parses its table, runs it, turns its
 * status into an exit code. */
#define _GNU_SOURCE /* O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "topologies/words.h"
#include "tools/command/own.h"
#include "tools/command/ranks.h"
#include "tools/command/verbs.h"

const gsa_verb *const *gsa_verbs(int *count)
{
    static const gsa_verb *const verbs[] = {
        &gsa_verb_topologies, &gsa_verb_topology, &gsa_verb_graph,   &gsa_verb_init,
        &gsa_verb_train,      &gsa_verb_eval,     &gsa_verb_predict, &gsa_verb_generate,
        &gsa_verb_attend,     &gsa_verb_compare,  &gsa_verb_table,   &gsa_verb_average,
        &gsa_verb_report,     &gsa_verb_bench,    &gsa_verb_doctor,  &gsa_verb_chart,
        &gsa_verb_help
    };
    *count = (int)(sizeof verbs / sizeof *verbs);
    return verbs;
}

static const char *verb_name(const void *context, int index)
{
    (void)context;
    int count;
    return gsa_verbs(&count)[index]->name;
}

const gsa_verb *gsa_verb_find(const char *name, gsa_error *error)
{
    int count;
    const gsa_verb *const *verbs = gsa_verbs(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
    }
    char shown[GSA_SHOWN], known[256];
    gsa_word_list(known, sizeof known, verb_name, NULL, count, name);
    gsa_fail(error, GSA_ERR_ARGUMENT, "unknown verb %s (%s)", gsa_word_show(name, shown), known);
    return NULL;
}

int gsa_exit_code(gsa_status status)
{
    switch (status) {
    case GSA_OK:
    case GSA_ERR_INTERRUPTED:
        return GSA_EXIT_OK;
    case GSA_ERR_ARGUMENT:
    case GSA_ERR_FORMAT:
        return GSA_EXIT_USAGE;
    case GSA_ERR_DEVICE:
        return GSA_EXIT_DEVICE;
    default:
        return GSA_EXIT_FAILED;
    }
}

static gsa_status print(const gsa_system *system,
                        void (*write)(gsa_output *out, const gsa_verb *verb), const gsa_verb *verb,
                        gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(system, "-", &out, error);
    if (status != GSA_OK) return status;
    write(out, verb);
    return gsa_output_commit(out, error);
}

static void write_usage(gsa_output *out, const gsa_verb *verb)
{
    (void)verb;
    gsa_write_usage(out);
}

static void write_version(gsa_output *out, const gsa_verb *verb)
{
    (void)verb;
    gsa_output_format(out, "gsa %s\n", GSA_VERSION);
}

/* The libraries of matrix products end a process that has no room for them. */
static gsa_status check_limits(gsa_error *error)
{
    static const struct {
        int which, least; /* kB */
        const char *name;
    } limits[] = { { RLIMIT_STACK, 256, "the stack (ulimit -s)" },
                   { RLIMIT_AS, 128 << 10, "the address space (ulimit -v)" } };
    struct rlimit now;
    for (int i = 0; i < 2; i++)
        if (getrlimit(limits[i].which, &now) == 0 && now.rlim_cur >> 10 < (rlim_t)limits[i].least)
            return gsa_fail(error, GSA_ERR_LIMIT, "%s is limited to %llu kB, expected %d or more",
                            limits[i].name, (unsigned long long)now.rlim_cur >> 10,
                            limits[i].least);
    return GSA_OK;
}

/* The loader opens them, and no table is asked. */
static gsa_status note_plugins(const gsa_args *args, gsa_error *error)
{
    int count = 0;
    const char *const *plugin = gsa_args_texts(args, "plugin", &count);
    for (int i = 0; i < count; i++)
        if (!gsa_note_read(plugin[i])) return gsa_out_of_memory(error, "a plugin's name", 4096);
    return GSA_OK;
}

static gsa_status run(int argc, char **argv, gsa_error *error)
{
    gsa_system system_of_command = *gsa_tidy_system();
    const gsa_system *system = &system_of_command;
    system_of_command.calling = gsa_note_call;
    gsa_keep_inputs(&system_of_command);
    gsa_watch_crashes(1);
    if (argc < 2) return gsa_fail(error, GSA_ERR_ARGUMENT, "which verb? 'gsa help' lists them");
    if (strcmp(argv[1], "--version") == 0) return print(system, write_version, NULL, error);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print(system, write_usage, NULL, error);
    const gsa_verb *verb = gsa_verb_find(argv[1], error);
    if (!verb) return error->status;
    if (gsa_ranks() && !verb->shared)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'gsa %s' is for one process, and %d ranks were started: train, eval, predict and "
            "generate are shared by ranks",
            verb->name, gsa_ranks()->ranks);
    gsa_args *args;
    char own[GSA_PATH_ROOM], last[GSA_PATH_ROOM];
    gsa_status status = check_limits(error);
    if (status != GSA_OK) return status;
    status = gsa_args_parse(system, verb, gsa_key_hint, argv + 2, argc - 2, &args, error);
    if (status != GSA_OK) return status;
    status = gsa_ranks_same(verb, args, error);
    const int helps = gsa_args_help(args);
    if (status == GSA_OK && helps) status = print(system, gsa_write_help, verb, error);
    if (status == GSA_OK && !helps) status = gsa_add_own_plugins(args, own, error);
    if (status == GSA_OK && !helps) status = gsa_own_add_last(args, verb, last, error);
    if (status == GSA_OK && !helps) status = note_plugins(args, error);
    if (status == GSA_OK && !helps) status = verb->run(args, error);
    if (status != GSA_OK) gsa_explain_own_plugins(error);
    gsa_args_release(args);
    return status;
}

#ifndef O_PATH
#define O_PATH O_WRONLY
#endif

/* A stream that the caller closed gives its number to no file of a run, which messages would go to:
 * what is put there can be neither read nor written as that stream. */
static void hold_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", stream == STDIN_FILENO ? O_PATH : O_RDONLY);
}

/* JSON that lacks a member is wrong, and jansson leaves out what it has no memory for. */
static void *json_memory(size_t bytes)
{
    void *at = malloc(bytes);
    if (at || bytes == 0) return at;
    fprintf(stderr, "gsa: JSON: out of memory, %zu bytes were requested\n", bytes);
    gsa_take_away();
    gsa_own_give_up();
    _exit(GSA_EXIT_FAILED);
}

int main(int argc, char **argv)
{
    json_set_alloc_funcs(json_memory, free);
    hold_streams();
    gsa_watch_exit(1);
    gsa_error error = { 0 };
    int speaks, code;
    gsa_status status = gsa_ranks_open(&error);
    if (status == GSA_OK) status = run(argc, argv, &error);
    status = gsa_ranks_agree(status, &error, &speaks, &code);
    if (status != GSA_OK && speaks) fprintf(stderr, "gsa: %s\n", error.text);
    gsa_ranks_close();
    gsa_watch_exit(0);
    return code;
}
