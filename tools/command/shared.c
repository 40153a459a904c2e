/* shared.c - what several verbs do alike. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "topologies/spec.h"
#include "topologies/words.h"
#include "tools/command/verbs.h"

gsa_status gsa_open_registry(const gsa_args *args, gsa_registry **registry, gsa_error *error)
{
    int count;
    const char *const *plugins = gsa_args_texts(args, "plugin", &count);
    gsa_status status = gsa_registry_create(gsa_args_system(args), registry, error);
    for (int i = 0; i < count && status == GSA_OK; i++)
        status = gsa_registry_load(*registry, plugins[i], error);
    if (status == GSA_OK) return GSA_OK;
    gsa_registry_release(*registry);
    *registry = NULL;
    return status;
}

gsa_status gsa_open_pattern(const gsa_registry *registry, const gsa_system *system,
                            const char *spec, gsa_pattern **pattern, gsa_error *error)
{
    char shown[GSA_SHOWN];
    gsa_stack_spec stack = { 0 };
    *pattern = NULL;
    gsa_status status = gsa_spec_parse(system, spec, &stack, error);
    if (status != GSA_OK) return status;
    const gsa_segment_spec *segment = stack.segments;
    if (stack.n_segments != 1 || segment->n_parts != 1 || segment->layers != 1)
        status = gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "%s is a stack, expected one topology with its settings, such as star:cyclic=0",
            gsa_word_show(spec, shown));
    else
        status = gsa_pattern_create(registry, segment->parts->id, segment->parts->settings,
                                    segment->parts->n_settings, pattern, error);
    if (status == GSA_OK && !gsa_note_pattern(*pattern))
        status = gsa_out_of_memory(error, spec, GSA_PATH_ROOM);
    gsa_spec_release(&stack);
    return status;
}

static int count_name(void *context, const char *name)
{
    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) ++*(int *)context;
    return 0;
}

int gsa_count_names(const gsa_system *system, const char *folder)
{
    int names = 0;
    return system->list(system->user, folder, count_name, &names) == 0 ? names : -1;
}

gsa_status gsa_check_made(const gsa_system *inside, const char *folder, int names, gsa_error *error)
{
    const int there = gsa_count_names(inside, folder);
    if (there == names) return GSA_OK;
    if (there < 0)
        return gsa_fail(error, GSA_ERR_IO, "'%s' was made, and cannot be listed: %s", folder,
                        strerror(errno));
    return gsa_fail(error, GSA_ERR_IO, "'%s' was made, and is another folder now", folder);
}

void gsa_remove_made(const gsa_system *system, const char *folder)
{
    char name[GSA_PATH_ROOM + 1];
    snprintf(name, sizeof name, "%s/", folder); /* so that neither a file nor a link is removed */
    system->remove(system->user, name);
}

int gsa_core_count(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 4096 ? 4096 : (int)cores;
}

int gsa_thread_count(const gsa_args *args)
{
    return (int)gsa_args_number(args, "threads", gsa_core_count());
}

gsa_status gsa_print_line(const gsa_system *system, const char *text, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(system, "-", &out, error);
    if (status != GSA_OK) return status;
    gsa_output_text(out, text);
    gsa_output_text(out, "\n");
    return gsa_output_commit(out, error);
}

double gsa_clock_now(int counts_cpu)
{
    struct timespec now;
    clock_gettime(counts_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double gsa_now(void)
{
    return gsa_clock_now(0);
}
