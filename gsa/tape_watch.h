/* tape_watch.h - which parameters' gradients are whole while the backward pass still runs. Not
 * installed.
 *
 * Law.  Ops count their parameters in the forward pass, and take them off in the backward pass. A
 *     parameter that is also read through a view is whole at the end alone. Attention, pools and
 *     losses do not count what states they read: a parameter in their place whose gradient would
 *     grow after it was whole is a failure of the tape; gsa_op_view of it is the way out. */
#ifndef GSA_TAPE_WATCH_H
#define GSA_TAPE_WATCH_H
#include "tape.h"

enum { GSA_USES_SPENT = -1, GSA_USES_VIEWED = 1 << 30 };

/* After a reset, before the forward pass: `between` is called after each op of its backward pass.
 * The caller has set the parameters' uses to 0; a gradient is whole where they are
 * GSA_USES_SPENT. */
void gsa_tape_watch(gsa_tape *tape, void (*between)(void *user), void *user);

#endif
