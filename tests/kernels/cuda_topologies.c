/* Attention on CUDA over the edges of every built-in topology. */
#include "cuda_cases.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const specs[] = { "full",
                                     "full:causal",
                                     "full:clip=4",
                                     "ring",
                                     "star",
                                     "star:relays=3",
                                     "window",
                                     "window:width=3:causal",
                                     "bpt:k=2",
                                     "bpt:k=4:causal",
                                     "longformer",
                                     "strided",
                                     "dilated",
                                     "bigbird",
                                     "char_word:lexicon=",
                                     "char_word:local=adjacent",
                                     "cross",
                                     "head_area:width=5",
                                     "head_area:width=3:heads=5:border=clamp" };
enum { SPECS = sizeof specs / sizeof *specs, LONGEST = 64 };

int topology_specs(void)
{
    return SPECS;
}

static void topology_phases(tally *t, const both *pair, const gsa_pattern *pattern, int32_t length,
                            int d, int extra)
{
    static const gsa_slice letters[4] = { { "a", 1 }, { "b", 1 }, { "c", 1 }, { "d", 1 } };
    gsa_slice text[LONGEST];
    for (int i = 0; i < LONGEST; i++) text[i] = letters[i * i / 3 % 4];
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = length,
                                  .memory_length = length / 2 + 1,
                                  .heads = 3,
                                  .text = text };
    gsa_instance *instance;
    gsa_error error = { 0 };
    check(t, gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) == GSA_OK,
          "%s", error.text);
    for (int phase = 0; phase < gsa_schema_phases(gsa_pattern_schema(pattern)); phase++) {
        gsa_edges edges;
        char name[160];
        gsa_instance_edges(instance, phase, &edges);
        if (edges.edge_total == 0) continue;
        snprintf(name, sizeof name, "%s, n=%d, phase %d", gsa_pattern_text(pattern), (int)length,
                 phase);
        attend_pair(t, pair->cuda, pair->ref, &edges, 2, d,
                    (edges.labels <= 64 ? WITH_VECTORS | WITH_BIAS : 0) | extra, name);
    }
    gsa_instance_release(instance);
}

/* No built-in is forgotten. */
static void all_are_there(tally *t, const gsa_registry *registry)
{
    for (int i = 0; i < gsa_registry_count(registry); i++) {
        const char *id = gsa_registry_at(registry, i)->id;
        const size_t bytes = strlen(id);
        int found = 0;
        for (int s = 0; s < SPECS; s++)
            found |= strncmp(specs[s], id, bytes) == 0 &&
                     (specs[s][bytes] == 0 || specs[s][bytes] == ':');
        check(t, found, "no case runs the topology %s", id);
    }
}

/* A dictionary of words out of the texts' letters. */
static void write_words(char *path, size_t size)
{
    static const char words[] = "a\nab\nbd\nabb\ncb\ndaab\n";
    snprintf(path, size, "/tmp/gsa-cuda-words-XXXXXX");
    const int file = mkstemp(path);
    if (file < 0 || write(file, words, sizeof words - 1) != (ssize_t)(sizeof words - 1)) abort();
    close(file);
}

void every_topology(tally *t, const both *pair, int extra)
{
    static const int32_t lengths[] = { 1, 2, 7, 30, LONGEST }, widths[] = { 10, 16, 50, 8, 10 };
    gsa_registry *registry;
    gsa_error error = { 0 };
    char words[64];
    if (gsa_registry_create(NULL, &registry, &error) != GSA_OK) abort();
    all_are_there(t, registry);
    write_words(words, sizeof words);
    for (int s = 0; s < SPECS; s++) {
        gsa_stack_spec spec;
        gsa_pattern *pattern = NULL;
        char text[128];
        snprintf(text, sizeof text, "%s%s", specs[s],
                 specs[s][strlen(specs[s]) - 1] == '=' ? words : "");
        gsa_status status = gsa_spec_parse(NULL, text, &spec, &error);
        const gsa_part_spec *part = status == GSA_OK ? &spec.segments[0].parts[0] : NULL;
        if (part)
            status = gsa_pattern_create(registry, part->id, part->settings, part->n_settings,
                                        &pattern, &error);
        check(t, status == GSA_OK, "%s: %s", specs[s], error.text);
        for (int l = 0; l < 5 && status == GSA_OK; l++)
            topology_phases(t, pair, pattern, lengths[l], widths[l], extra);
        gsa_pattern_release(pattern);
        if (part) gsa_spec_release(&spec);
    }
    unlink(words);
    gsa_registry_release(registry);
}

void topology_case(tally *t)
{
    both pair = open_both();
    every_topology(t, &pair, 0);
    close_both(&pair);
}
