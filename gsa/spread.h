/* spread.h - a stack's batch whose examples' rows are spread over ranks. Not installed. */
#ifndef GSA_SPREAD_H
#define GSA_SPREAD_H
#include "local_tokens.h"
#include "ranks.h"
#include "stack.h"

/* From now on the batch's builds are this rank's share of the examples. A stack that reads a memory
 * is refused. */
gsa_status gsa_stack_batch_spread(gsa_stack_batch *batch, gsa_group *group, gsa_error *error);
gsa_local_tokens gsa_stack_batch_tokens(const gsa_stack_batch *batch);
int gsa_stack_batch_spreads(const gsa_stack_batch *batch);

#endif
