/* paths.h - the files that the recipe of a model names: a model comes from anywhere, so that its
 * recipe is no reason to open, to wait for or to tell of a file. */
#ifndef GSA_PATHS_H
#define GSA_PATHS_H
#include "topologies/registry.h"
#include "train/settings/recipe.h"

/* Each file that the recipe itself names (no override) and that these splits read is a regular file
 * or absent: nothing that can be read for ever or waited for. Untrusted: there is none. */
gsa_status gsa_paths_check(const gsa_system *system, const gsa_recipe *recipe,
                           const gsa_registry *registry, uint32_t splits, int untrusted,
                           gsa_error *error);
/* After a failure of what reads such files, where there is one: whatever the sentence was, it tells
 * no more than a file and a line, but for failures of the file system and of memory. */
void gsa_paths_hide(const gsa_recipe *recipe, const gsa_registry *registry, uint32_t splits,
                    gsa_error *error);

#endif
