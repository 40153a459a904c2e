#include "train/use/inputs.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "gsa/hash.h"

enum { LINE = 256, LONGEST = 1 << 20 };
static const char file_name[] = "inputs.sha256";

/* Calls each(context, pattern, parameter) for every file of the stack's patterns, in the order of
 * the spec. */
typedef gsa_status gsa_each_input(void *context, const gsa_pattern *pattern, uint32_t param,
                                  gsa_error *error);

static gsa_status walk(const gsa_stack *stack, gsa_each_input *each, void *context,
                       gsa_error *error)
{
    const gsa_pattern *before = NULL; /* layers of a segment share their patterns */
    gsa_status status = GSA_OK;
    for (int l = 0; l < gsa_stack_layers(stack); l++) {
        if (gsa_stack_pattern(stack, l, 0) == before) continue;
        before = gsa_stack_pattern(stack, l, 0);
        for (int p = 0; p < gsa_stack_patterns(stack, l); p++) {
            const gsa_pattern *pattern = gsa_stack_pattern(stack, l, p);
            const gsa_topology *topology = gsa_pattern_topology(pattern);
            for (uint32_t i = 0; i < topology->n_params && status == GSA_OK; i++)
                if (gsa_topology_param(topology, i)->type == GSA_PATH)
                    status = each(context, pattern, i, error);
        }
    }
    return status;
}

typedef struct listing {
    const gsa_system *system;
    char *text;
    size_t bytes;
    const char *expected; /* the rest of what a checkpoint says, or NULL: only list */
    const char *folder;
} listing;

static gsa_status hash_one(const gsa_system *system, const gsa_pattern *pattern, uint32_t param,
                           char *path, size_t size, char line[LINE], gsa_error *error)
{
    char hex[65];
    const gsa_topology *topology = gsa_pattern_topology(pattern);
    line[0] = 0;
    const int length = gsa_pattern_value(pattern, param, path, size);
    if (length == 0) return GSA_OK; /* no file was named */
    if (length < 0 || (size_t)length >= size)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "topology '%s': the path in '%s' has %d bytes, at most %zu can be read",
                        topology->id, gsa_topology_param(topology, param)->name, length, size - 1);
    const gsa_status status = gsa_sha256_file(system, path, hex, error);
    if (status == GSA_OK)
        snprintf(line, LINE, "%s  %s.%s\n", hex, topology->id,
                 gsa_topology_param(topology, param)->name);
    return status;
}

static gsa_status list_one(void *context, const gsa_pattern *pattern, uint32_t param,
                           gsa_error *error)
{
    listing *l = context;
    char path[4096], line[LINE];
    const gsa_status status = hash_one(l->system, pattern, param, path, sizeof path, line, error);
    const size_t more = strlen(line);
    if (status != GSA_OK || more == 0) return status;
    char *text = gsa_resize(l->system, l->text, l->bytes + more + 1, 1);
    if (!text) return gsa_out_of_memory(error, "hashes of inputs", (int64_t)(l->bytes + more + 1));
    memcpy(text + l->bytes, line, more + 1);
    l->text = text, l->bytes += more;
    return GSA_OK;
}

gsa_status gsa_inputs_hash(const gsa_system *system, const gsa_stack *stack, char **text,
                           gsa_error *error)
{
    listing l = { .system = system, .text = gsa_copy_text(system, "") };
    *text = NULL;
    if (!l.text) return gsa_out_of_memory(error, "hashes of inputs", 1);
    const gsa_status status = walk(stack, list_one, &l, error);
    if (status == GSA_OK) *text = l.text;
    else gsa_release(system, l.text);
    return status;
}

gsa_status gsa_save_lines(gsa_checkpoint *checkpoint, const char *name, const char *text,
                          gsa_error *error)
{
    gsa_output *output;
    if (!*text) return GSA_OK;
    const gsa_status status = gsa_checkpoint_file(checkpoint, name, &output, error);
    if (status != GSA_OK) return status;
    gsa_output_text(output, text);
    return gsa_output_commit(output, error);
}

gsa_status gsa_inputs_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error)
{
    return gsa_save_lines(checkpoint, file_name, text, error);
}

/* The first file whose line is not the checkpoint's. */
static gsa_status compare_one(void *context, const gsa_pattern *pattern, uint32_t param,
                              gsa_error *error)
{
    listing *l = context;
    char path[4096], line[LINE];
    const gsa_status status = hash_one(l->system, pattern, param, path, sizeof path, line, error);
    const size_t bytes = strlen(line);
    if (status != GSA_OK || bytes == 0) return status;
    if (strncmp(l->expected, line, bytes) == 0) {
        l->expected += bytes;
        return GSA_OK;
    }
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "'%s' (%s of topology '%s') is not the file that the model in %s was trained "
                    "with: its SHA-256 is %.12s..., "
                    "%s has %.12s...",
                    path, gsa_topology_param(gsa_pattern_topology(pattern), param)->name,
                    gsa_pattern_topology(pattern)->id, l->folder, line, file_name,
                    *l->expected ? l->expected : "none");
}

gsa_status gsa_inputs_check(const gsa_system *system, const gsa_stack *stack, const char *text,
                            const char *checkpoint, gsa_error *error)
{
    char path[4096], *said = NULL;
    int64_t bytes;
    snprintf(path, sizeof path, "%s/%s", checkpoint, file_name);
    if (!*text || system->kind(system->user, path, NULL) == GSA_FILE_ABSENT) return GSA_OK;
    gsa_status status = gsa_read_file(system, path, LONGEST, &said, &bytes, error);
    if (status != GSA_OK) return status;
    listing l = { .system = system, .expected = said, .folder = checkpoint };
    status = strcmp(said, text) == 0 ? GSA_OK : walk(stack, compare_one, &l, error);
    gsa_release(system, said);
    return status;
}
