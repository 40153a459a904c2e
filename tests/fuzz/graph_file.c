/* A graph as a pattern: GraphML, Matrix Market, lists of edges (GRAPH_FORMAT). */
#include "topologies/pattern.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const char *const flags[] = { "0", "1" };
    const gsa_setting settings[] = { { "path", gsa_fuzz_on_disk(at + 1, bytes - 1) },
                                     { "format", GRAPH_FORMAT },
                                     { "self", flags[at[0] & 1] },
                                     { "unique", flags[at[0] >> 1 & 1] },
                                     { "header", flags[at[0] >> 2 & 1] },
                                     { "repeat", flags[at[0] >> 3 & 1] } };
    static gsa_registry *registry; /* once: what libFuzzer counts of a plugin must stay loaded */
    gsa_pattern *pattern;
    gsa_error error;
    (void)path, (void)system;
    if (!registry) {
        FUZZ_CHECK(gsa_registry_create(gsa_system_default(), &registry, &error) == GSA_OK);
        FUZZ_CHECK(gsa_registry_load(registry, GSA_FILE_PLUGIN, &error) == GSA_OK);
    }
    const gsa_status status = gsa_pattern_create(registry, "file", settings, 6, &pattern, &error);
    FUZZ_SAID(status, error);
    if (status == GSA_OK) gsa_pattern_release(pattern);
}
