/* optimiser.h - Adam, AdamW and SGD over a model's parameters; moments stand in backend memory.
 *
 * Frozen and unreached parameters are left alone; weight decay skips those that are marked
 * GSA_NO_DECAY. The gradient is clipped by its global norm. When the norm is not finite nothing is
 * changed. */
#ifndef GSA_OPTIMISER_H
#define GSA_OPTIMISER_H
#include "train/driver/average.h"

typedef struct gsa_optimiser_options {
    int32_t kind, zero; /* gsa_optimizer of keys.h */
    double beta1, beta2, eps, momentum, weight_decay, clip;
} gsa_optimiser_options;

typedef struct gsa_optimiser {
    const gsa_system *system;
    gsa_parameters *parameters;
    gsa_optimiser_options options;
    int64_t steps;             /* applied so far: Adam's t */
    void **first, **second;    /* [parameters] moments, NULL where there is none */
    double *squares, *control; /* backend memory: 1 and 4 doubles: norm and factor for steps, and
                                  for the mean of the weights */
    int64_t *bad;              /* likewise: 1 */
    gsa_average *average; /* borrowed: follows each step, piece by piece, as long as the weights are
                             near; NULL: none */
    /* Of a table whose gradient tells its rows apart: rows whose moments are not zeros, which alone
     * move. The first step goes over all rows (and makes 0 of -0, as every later one would) and
     * then looks; so it is after a resume. */
    uint8_t **moving; /* [parameters][rows] or NULL */
    int count, rows_known;
} gsa_optimiser;

gsa_status gsa_optimiser_create(const gsa_system *system, gsa_parameters *parameters,
                                const gsa_optimiser_options *options, gsa_optimiser *optimiser,
                                gsa_error *error);
void gsa_optimiser_release(gsa_optimiser *optimiser); /* a zeroed one is fine */

/* One step with the gradients as they stand. *norm: before clipping; not finite: nothing was
 * changed and `steps` has not moved. norm NULL, on a backend that does not share the host's memory:
 * nothing is read, the norm stands in control[0]. After one that is not finite, steps change
 * nothing any more, but `steps` moves; until gsa_optimiser_resume, which sets it. */
gsa_status gsa_optimiser_step(gsa_optimiser *optimiser, double lr, double *norm, gsa_error *error);
gsa_status gsa_optimiser_resume(gsa_optimiser *optimiser, int64_t steps, gsa_error *error);
/* GSA_ERR_NUMBER and the first parameter whose value or gradient is not finite: "step 12: the
 * gradient of 'x' ...". */
gsa_status gsa_optimiser_blame(gsa_optimiser *optimiser, int64_t step, double loss, double norm,
                               gsa_error *error);

static inline int gsa_is_learned(const gsa_parameter *parameter)
{
    return (parameter->flags & (GSA_FROZEN | GSA_UNREACHED)) == 0;
}

#endif
