/* leftovers.h - what a kill left of a run's own files. */
#ifndef GSA_TRAIN_LEFTOVERS_H
#define GSA_TRAIN_LEFTOVERS_H
#include "graph/system.h"

/* Removes the temporaries of config.ini, log.jsonl and the other files of a run from its folder,
 * which the
 * caller has locked. Links and everything else stay. */
gsa_status gsa_remove_leftovers(const gsa_system *system, const char *folder, gsa_error *error);

#endif
