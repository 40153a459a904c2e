/* ranks.h - ops whose rows are spread over ranks (graph/share.h, group.h). Not installed.
 *
 * Law.  All ranks call the same ops in the same order, and so do their backward passes: in training
 *     every op has one, as a rank without rows cannot see what others learn from its inputs. A
 *     failure of one rank is every rank's, in its next op or call of the group. What the ops are
 *     given lives until the tape's reset. The backend's memory is the host's. */
#ifndef GSA_OPS_RANKS_H
#define GSA_OPS_RANKS_H
#include "graph/share.h"
#include "group.h"
#include "tape.h"

/* x [the kinds' local nodes, cols] each become y: x, but the ghosts are their owners' rows. These
 * are late (tape_parts.h): they travel while what is made of the others is computed, until
 * gsa_tape_arrive. Backward: a ghost's gradient is added to its owner's row; meanwhile the weights'
 * gradients of what read y are computed. */
void gsa_op_fetch(gsa_tape *tape, gsa_group *group, const gsa_share_kind *const *kind,
                  gsa_tensor **x, int count);
/* gsa_op_attend; late [rows] or NULL: rows that read what may be late, or are worked on together
 * with such keys and values. Others are computed while these are on their way. */
gsa_tensor *gsa_op_attend_late(gsa_tape *tape, const gsa_attend_op *op, const uint8_t *late);
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
/* Pools all nodes of a kind in each example, on all ranks: their mean, or with `place`, the nodes'
 * numbers in the whole example, their maximum (the first of equal ones). Every rank has the result
 * [examples, cols]; without nodes it is 0. */
gsa_tensor *gsa_op_pool_ranks(gsa_tape *tape, gsa_group *group, const gsa_share *share, int kind,
                              gsa_tensor *x, const int64_t *offset, const int32_t *place);
/* The sum of all ranks' x. */
gsa_tensor *gsa_op_sum_ranks(gsa_tape *tape, gsa_group *group, gsa_tensor *x);

#endif
