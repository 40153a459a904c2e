/* inputs.h - the files that a model's patterns read when they were made (a lexicon, a graph): a
 * model means what it does with these alone, so a checkpoint holds their hashes, as inputs.sha256,
 * and a model is not put together with others. */
#ifndef GSA_INPUTS_H
#define GSA_INPUTS_H
#include "gsa/checkpoint.h"
#include "gsa/stack.h"

/* One line a file, "sha256  topology.parameter", in the order of the spec; "" where no pattern
 *     reads one. Owned by the caller. */
gsa_status gsa_inputs_hash(const gsa_system *system, const gsa_stack *stack, char **text,
                           gsa_error *error);
/* Writes the text as that file of the checkpoint; nothing where it is "". */
gsa_status gsa_save_lines(gsa_checkpoint *checkpoint, const char *name, const char *text,
                          gsa_error *error);
gsa_status gsa_inputs_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error);
/* GSA_ERR_FORMAT where the checkpoint's hashes are others: names topology, parameter and file. */
gsa_status gsa_inputs_check(const gsa_system *system, const gsa_stack *stack, const char *text,
                            const char *checkpoint, gsa_error *error);

#endif
