/* leftovers.h - a run's own files, and what a kill left of them. */
#ifndef GSA_TRAIN_LEFTOVERS_H
#define GSA_TRAIN_LEFTOVERS_H
#include "graph/system.h"

enum { GSA_RUN_FILES = 5 };
/* What a run writes into its folder next to `latest`, `lock` and its checkpoints. */
extern const char *const gsa_run_files[GSA_RUN_FILES];

/* Removes the temporaries of these files from a folder that the caller has locked. Links and
 * everything else stay. */
gsa_status gsa_remove_leftovers(const gsa_system *system, const char *folder, gsa_error *error);

enum { GSA_STEP_NAME = 64 };
/* 1, and its name: the folder holds a step-N, step-N.old-gsa or step-N.tmp-gsa, which a run there
 * would take for its own. The step-N.tmp-gsa of the step `own` may be there; -1: of none. < 0: the
 * folder cannot be listed, with errno set. */
int gsa_finds_step(const gsa_system *system, const char *folder, int64_t own,
                   char name[GSA_STEP_NAME]);
/* Whether a whole checkpoint is there, be it without `latest`. */
int gsa_has_checkpoint(const gsa_system *system, const char *folder);

#endif
