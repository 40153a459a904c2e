/* checkpoint_mean.h - the mean of a run's last checkpoints, as a model of its own (Vaswani et al.
 * 2017, section 6.1). Of each checkpoint the weights that training had then are taken, also where
 * it keeps better ones of an earlier step or their running mean (gsa/running_mean.h).
 *
 * The new folder is locked (lock.h) while it is written. The run's is not: it may be training, or
 * be somebody else's to read. Its checkpoints are whole, and none changes; one that the run drops
 * while it is read is an error. */
#ifndef GSA_CHECKPOINT_MEAN_H
#define GSA_CHECKPOINT_MEAN_H
#include "graph/system.h"

typedef struct gsa_checkpoint_mean_options {
    const char *run; /* folder of the run */
    const char *out; /* folder of the new one, which holds no run; it can be evaluated and predict,
                        but not go on */
    int64_t last;    /* checkpoints, >= 1 */
} gsa_checkpoint_mean_options;

/* *first and *newest: steps of the checkpoints, or NULL. */
gsa_status gsa_checkpoint_mean(const gsa_system *system, const gsa_checkpoint_mean_options *options,
                               int64_t *first, int64_t *newest, gsa_error *error);

#endif
