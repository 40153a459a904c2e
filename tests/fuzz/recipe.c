/* A recipe's keys, values and encoder; patterns are made, no file of theirs is there. */
#include "train/settings/recipe.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_recipe recipe;
    gsa_registry *registry;
    gsa_stack_spec spec;
    gsa_error error;
    char hex[65];
    (void)at, (void)bytes;
    const gsa_status status = gsa_recipe_read(system, path, NULL, 0, &recipe, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    gsa_recipe_hash(&recipe, NULL, 0, hex);
    FUZZ_CHECK(gsa_registry_create(system, &registry, &error) == GSA_OK);
    const gsa_status made = gsa_recipe_spec(&recipe, registry, &spec, &error);
    FUZZ_SAID(made, error);
    if (made == GSA_OK) gsa_spec_release(&spec);
    gsa_registry_release(registry);
    gsa_recipe_release(&recipe);
}
