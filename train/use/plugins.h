/* plugins.h - the plugins that a model's patterns come from: a checkpoint holds their paths and
 * hashes, as plugins.sha256, so that the model finds them again, and is not put together with
 * others. */
#ifndef GSA_TRAIN_PLUGINS_H
#define GSA_TRAIN_PLUGINS_H
#include "gsa/checkpoint.h"
#include "gsa/model.h"
#include "train/driver.h"

/* One line a topology, "sha256  mark  id
 *     /path"; "" where all are built in or come with the program. Owned by the caller. */
gsa_status gsa_plugins_hash(const gsa_system *system, const gsa_model *model, const char *task,
                            const gsa_registry *registry, const gsa_plugin_policy *policy,
                            char **text, gsa_error *error);
/* Writes the text next to the model; nothing where it is "". */
gsa_status gsa_plugins_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error);
/* What the checkpoint was trained with: topologies that the registry has must come from the same
 * bytes; others are loaded where the policy trusts checkpoint and file, and `say` is told. Each
 * failure is one sentence that names topology and plugin. */
gsa_status gsa_plugins_find(const gsa_system *system, const char *checkpoint,
                            const gsa_plugin_policy *policy,
                            void (*say)(void *context, const char *sentence), void *context,
                            gsa_registry *registry, gsa_error *error);

#endif
