/* ranks.h - ops whose rows are spread over ranks (graph/share.h, group.h). Not installed.
 *
 * Law.  All ranks call the same ops in the same order, and so do their backward passes. A failure
 *     of one rank is every rank's, in its next op or call of the group. What the ops are given
 *     lives until the tape's reset. The backend's memory is the host's. */
#ifndef GSA_RANKS_H
#define GSA_RANKS_H
#include "graph/share.h"
#include "group.h"
#include "input.h"
#include "stack.h"
#include "tape.h"

/* x [the kind's local nodes, cols]: y is x, but the ghosts are their owners' rows. Backward: a
 * ghost's gradient is added to its owner's row. */
gsa_tensor *gsa_op_fetch(gsa_tape *tape, gsa_group *group, const gsa_share_kind *kind,
                         gsa_tensor *x);
/* gsa_op_attend where rows are split: the partial results of a row become one by their
 * log-sum-exp. */
gsa_tensor *gsa_op_attend_split(gsa_tape *tape, const gsa_attend_op *op, gsa_group *group,
                                const gsa_share_phase *split);
/* Its halves, of which ops_graph.c makes the op: after a forward pass partial results (out, lse)
 * go to the owners; before a backward pass the owners' (out, lse, dout) come back. */
typedef struct gsa_split_attend {
    gsa_group *group;
    const gsa_share_phase *phase;
    void *out, *lse, *dout;
    int32_t heads, head_dim, real, zero;
} gsa_split_attend;
void gsa_merge_split(gsa_tape *tape, gsa_split_attend *split);
void gsa_spread_split(gsa_tape *tape, gsa_split_attend *split);
/* The mean, or maximum (first of equals), over all nodes of a kind of each example, whoever owns
 * them; [examples, cols], the same on every rank; no node: 0. */
gsa_tensor *gsa_op_pool_ranks(gsa_tape *tape, gsa_group *group, const gsa_share *share, int kind,
                              gsa_tensor *x, const int64_t *offset, int maximum);
/* The sum of all ranks' x. */
gsa_tensor *gsa_op_sum_ranks(gsa_tape *tape, gsa_group *group, gsa_tensor *x);

/* ---- a stack's batch: from now on its builds are this rank's share of the examples */
gsa_status gsa_stack_batch_spread(gsa_stack_batch *batch, gsa_group *group, gsa_error *error);
typedef struct gsa_local_tokens { /* of the last build, in the order of the input rows */
    int64_t count;
    const int32_t *token;           /* [count] its place among the tokens of all examples */
    const uint8_t *ghost;           /* [count] 1: another rank owns it, and has its target */
    const int32_t *example, *place; /* [count] */
} gsa_local_tokens;
gsa_local_tokens gsa_stack_batch_tokens(const gsa_stack_batch *batch);
int gsa_stack_batch_spreads(const gsa_stack_batch *batch);
/* gsa_input_forward_typed of these tokens alone. */
gsa_tensor *gsa_input_forward_local(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                                    const int32_t *type, gsa_tensor *features,
                                    const gsa_local_tokens *local, int32_t count);

#endif
