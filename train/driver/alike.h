/* alike.h - ranks that share a run must run the same: program and its libraries, kernels, recipe,
 * plugins, files that patterns read, data, model. */
#ifndef GSA_TRAIN_ALIKE_H
#define GSA_TRAIN_ALIKE_H
#include "train/driver/session.h"

/* What rank 0 has by SHA-256 against each rank's: names the first rank and thing that differ. Reads
 * the files of [data] once. `checkpoint`: the model's folder, or NULL. Group NULL: nothing is done.
 * Takes and returns a status as every call of a group. */
gsa_status gsa_alike_check(gsa_group *group, const gsa_session *session, const char *checkpoint,
                           gsa_status status, gsa_error *error);
/* The same of one file that all ranks read, which is a regular one. */
gsa_status gsa_alike_file(gsa_group *group, const gsa_system *system, const char *path,
                          gsa_status status, gsa_error *error);

#endif
