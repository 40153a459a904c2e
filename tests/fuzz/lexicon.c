/* A word list after char_word, matched with a text that is the list itself. */
#include "topologies/pattern.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    const gsa_setting settings[] = { { "lexicon", path } };
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_error error;
    (void)at, (void)bytes;
    FUZZ_CHECK(gsa_registry_create(system, &registry, &error) == GSA_OK);
    const gsa_status status =
        gsa_pattern_create(registry, "char_word", settings, 1, &pattern, &error);
    FUZZ_SAID(status, error);
    if (status == GSA_OK) gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
