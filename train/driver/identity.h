/* identity.h - which run a checkpoint is of. The name of a run is a SHA-256 of what it began with:
 * recipe with seed, data, files of patterns, plugins, the model of train.start; two that begin
 * alike give the same bits. The note "run" of state.safetensors has it, and the first line of
 * log.jsonl. What earlier versions wrote has none, and is taken as it is. */
#ifndef GSA_IDENTITY_H
#define GSA_IDENTITY_H
#include "gsa/checkpoint_parts.h"
#include "gsa/safetensors.h"
#include "train/driver/session.h"

enum { GSA_IDENTITY = 65 };
/* Of a run that begins. */
void gsa_identity_of(const gsa_session *session, char id[GSA_IDENTITY]);
/* The name in a state, "" where it has none. GSA_ERR_FORMAT: the log of the run's folder has
 * another. `path` is the state's. */
gsa_status gsa_identity_read(const gsa_system *system, const char *folder,
                             const gsa_safetensors *state, const char *path, char id[GSA_IDENTITY],
                             gsa_error *error);

#endif
