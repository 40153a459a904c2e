/* rehearsal.h - what memory a run will need, told before it begins: its largest step is walked
 * through on a backend that does nothing (kernels/idle.h), with its batch and graph.
 *
 * Law.  Runs whose states of one layer are less than GSA_REHEARSAL_BYTES say nothing, unless
 *     train.memory is set. Of the first GSA_REHEARSAL_BATCHES batches the one with most tokens is
 *     taken. What the process has by then (weights, moments, data, graph, one batch) counts as it
 *     is; tensors of the step are those of the tape, to the byte. Left out are the kernels' own
 *     room (a few rows a thread) and what an evaluation holds.
 *     On a backend with memory of its own, tensors are that memory's: they are told, and neither
 *     train.memory nor what this machine has is a limit of theirs. Of several ranks, which may
 *     have unlike examples, the largest numbers are told and judged. */
#ifndef GSA_REHEARSAL_H
#define GSA_REHEARSAL_H
#include "train/driver/trainer.h"

enum { GSA_REHEARSAL_BYTES = 16 << 20, GSA_REHEARSAL_BATCHES = 64 };

typedef struct gsa_need { /* bytes */
    int64_t tensors;      /* of the largest step, and their gradients */
    int64_t batch;        /* of a second batch, where one is read ahead */
    int64_t held;         /* what the process has already; 0: not known */
    int64_t available;    /* of the machine, and of its control groups; 0: not known */
} gsa_need;

/* Says what is needed; a sentence where that is more than train.memory, or than what is available
 * on this machine for its ranks together. All ranks call it. */
gsa_status gsa_trainer_rehearse(gsa_trainer *t, gsa_error *error);

#endif
