/* prefetch.h - a batch is read, encoded, and its patterns made and joined, in a thread of its own,
 * while the one before it is computed.
 *
 * Law.  One batch ahead at most. What is requested is a guess: whoever takes another batch loses
 *     nothing but the work, and gets what it would have got without. A failure is kept with its
 *     sentence until the batch is taken, and goes with it when it is not. So results, their order
 *     and errors are those of a run that builds each batch when its turn comes.
 *     One caller. The thread starts with the first question, takes no signals, reads numbers in the
 *     C locale, and calls the task's `fill` (task.h), the model's patterns and the system's table.
 *     Where the system gives no thread, and in a process that forked, nothing is built ahead.
 *     Memory: a second batch on the host. */
#ifndef GSA_PREFETCH_H
#define GSA_PREFETCH_H
#include "train/learner.h"

typedef struct gsa_wanted { /* examples that make a batch */
    int32_t split, count;
    int32_t first;          /* place of the first one in the global batch */
    int64_t draw;           /* in training the step, from 1 (gsa_example); else 0 */
    const int64_t *example; /* [count], borrowed */
} gsa_wanted;

typedef struct gsa_prefetch gsa_prefetch;

/* The model, with its task, outlives it. `profile` as in gsa_learner. */
gsa_status gsa_prefetch_create(const gsa_system *system, gsa_learner *model,
                               gsa_prefetch **prefetch, gsa_error *error);
void gsa_prefetch_release(
    gsa_prefetch *prefetch); /* waits for what is being built; NULL does nothing */

/* From now on this batch is built. Nothing reads the batch taken before the last any more, nor its
 * graphs: the tape was reset. What was requested and not taken is lost. */
void gsa_prefetch_ask(gsa_prefetch *prefetch, const gsa_wanted *wanted);
/* Waits for what is being built, but not for a thread that has not begun. 1: it was this batch, and
 * is in *batch and the model's graphs, which the next forward pass finds made; or its failure
 * in *status and error. 0: it was not, or was not begun; nothing has changed, and nobody else fills
 * a batch. */
int gsa_prefetch_take(gsa_prefetch *prefetch, const gsa_wanted *wanted, gsa_minibatch *batch,
                      gsa_status *status, gsa_error *error);

/* Waits for what was requested, even for a thread that has not begun. 1: it is built and well, and
 * is in *batch and *graph until another one is requested; 0: there is nothing to look at. It is
 * taken as before. */
int gsa_prefetch_look(gsa_prefetch *prefetch, const gsa_minibatch **batch,
                      const gsa_model_batch **graph);

#endif
