/* step.h - one optimiser step of a run. */
#ifndef GSA_STEP_H
#define GSA_STEP_H
#include "train/driver/trainer.h"

/* Forward and backward over the pieces of the next global batch, then the optimiser; what came of
 * it is in the ledger (trainer.h). Where there is no room left in that it is settled first, and
 * if that sets the run back, nothing else is done. GSA_ERR_INTERRUPTED: a stop was requested and
 * nothing has changed. Allocates nothing once its shapes were seen. */
gsa_status gsa_trainer_step(gsa_trainer *t, gsa_error *error);
/* This rank's part with most tokens, *tokens, of the epoch's first `batches` global batches; count
 * 0: it has none. */
gsa_wanted gsa_trainer_largest(const gsa_trainer *t, int64_t batches, int64_t *tokens);

#endif
