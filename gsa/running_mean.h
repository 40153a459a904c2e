/* running_mean.h - the running mean of a model's weights over its steps, which is evaluated and
 * kept in their place (Polyak and Juditsky 1992, with exponential forgetting).
 *
 *   mean <- d mean + (1 - d) w  d = min(decay, (1 + t) / (10 + t)) after optimiser step t: the
 *        first steps are forgotten soon
 *
 * Only learned parameters have a mean. Everything is a no-op for one that was never made
 * (decay 0). */
#ifndef GSA_RUNNING_MEAN_H
#define GSA_RUNNING_MEAN_H
#include "gsa/parameters.h"

typedef struct gsa_running_mean {
    gsa_backend *backend; /* borrowed */
    gsa_parameters *parameters;
    const gsa_system *system;
    void **mean; /* [parameters] backend memory, NULL where a parameter is not learned; NULL: decay
                    0 */
    char *plane; /* of parameters that are in planes: laid out alike; or NULL */
    double decay;
} gsa_running_mean;

/* The mean begins as the weights of this moment. */
gsa_status gsa_running_mean_create(const gsa_system *system, gsa_parameters *parameters,
                                   gsa_backend *backend, double decay, gsa_running_mean *running,
                                   gsa_error *error);
void gsa_running_mean_release(gsa_running_mean *running); /* a zeroed one is fine */
/* After optimiser step t = 1, 2, ... */
gsa_status gsa_running_mean_step(gsa_running_mean *running, int64_t t, gsa_error *error);
/* Of that: `count` numbers, from `first`, of one parameter; nothing where it has no mean. */
gsa_status gsa_running_mean_piece(gsa_running_mean *running, int parameter, int64_t first,
                                  int64_t count, int64_t t, gsa_error *error);
/* All of it, of parameters that are in planes, before it is known whether the step was applied:
 * control as clip of backend.h leaves it with max_norm 0; a factor that is not finite changes
 * nothing. */
gsa_status gsa_running_mean_gated(gsa_running_mean *running, int64_t t, const double *control,
                                  gsa_error *error);
/* The means are in the parameters, and the weights here; again: back. */
void gsa_running_mean_swap(gsa_running_mean *running);

#endif
