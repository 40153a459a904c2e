/* optimiser.h - Adam, AdamW and SGD over a model's parameters, with clipping.
 *
 * Example:
 *
 *     #include <gsa/context.h>
 *     gsa_optimiser_options options = gsa_optimiser_default(GSA_OPTIMISER_ADAMW);
 *     gsa_parameter *w;
 *     gsa_optimiser *optimiser = NULL;
 *     gsa_context *c = NULL;
 *     double norm = 0;
 *     gsa_error error;
 *     options.clip = 1, options.weight_decay = 0.01;
 *     int failed = gsa_context_open(NULL, &c, &error);
 *     gsa_parameters *all = failed ? NULL : gsa_context_parameters(c);
 *     failed = failed || gsa_parameters_add(all, "w", 2, 3, GSA_INIT_XAVIER, 0, 0, &w, &error) ||
 *              gsa_optimiser_create(NULL, all, &options, &optimiser, &error) ||
 *              gsa_parameters_zero_gradients(all, &error) || // then a pass and gsa_tape_backward
 *              gsa_optimiser_step(optimiser, 1e-3, &norm, &error);
 *     if (failed) puts(error.text);
 *     gsa_optimiser_release(optimiser), gsa_context_release(c);
 *     return failed || norm != 0;
 *
 * With g the gradient after clipping, w a weight, t = 1, 2, ... the step, lr the step's rate:
 *   clipping   g <- g min(1, clip / |g|), |g| over all parameters together (Pascanu et al. 2013)
 *   Adam       m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2,
 *              w <- w - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *              (Kingma and Ba 2015, algorithm 1), g with weight_decay w added before
 *   AdamW      the same without that, and w <- w - lr weight_decay w (Loshchilov and Hutter 2019)
 *   SGD        m <- momentum m + g + weight_decay w, w <- w - lr m
 *
 * Law.  The optimiser takes the parameters that are when it is created, and is released before
 *     them. Its moments are in the backend's memory: none, one or two numbers a weight. Frozen
 * and unreached parameters are left alone. Weight decay skips those that are marked GSA_NO_DECAY.
 *     When the gradient's norm is not finite nothing is changed. A step allocates nothing, and has
 *     the same bits for any number of threads. One thread at a time. */
#ifndef GSA_OPTIMISER_H
#define GSA_OPTIMISER_H
#include "parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which rule updates the weights. */
enum gsa_optimiser_kind { GSA_OPTIMISER_ADAM, GSA_OPTIMISER_ADAMW, GSA_OPTIMISER_SGD };

/* Moments and count of steps over one set of parameters. Opaque. */
typedef struct gsa_optimiser gsa_optimiser;

/* Rates of decay, clipping and running mean of an optimiser. */
typedef struct gsa_optimiser_options {
    uint32_t struct_size;
    int32_t kind;        /* gsa_optimiser_kind */
    double beta1, beta2; /* Adam, AdamW: 0 <= beta < 1 */
    double eps;          /* likewise: >= 1e-30, but for SGD */
    double momentum;     /* SGD: 0 <= momentum < 1 */
    double weight_decay; /* >= 0 */
    double clip;         /* largest norm of the gradient; 0: no clipping */
} gsa_optimiser_options;

/* beta1 0.9, beta2 0.999, eps 1e-8; no momentum, decay or clipping. */
gsa_optimiser_options gsa_optimiser_default(int kind);

/* system NULL: the system's own memory. Refuses values that are out of range (GSA_ERR_ARGUMENT). */
gsa_status gsa_optimiser_create(const gsa_system *system, gsa_parameters *parameters,
                                const gsa_optimiser_options *options, gsa_optimiser **optimiser,
                                gsa_error *error);
void gsa_optimiser_release(gsa_optimiser *optimiser); /* NULL does nothing */

/* One step with the gradients as they are. Fails as the backend does (GSA_ERR_DEVICE). *norm:
 * before clipping; not finite: nothing was changed and the count of steps has not moved. norm NULL:
 * it is not told; and a backend that does not share the host's memory is then not waited for: after
 * a norm that is not finite its steps change nothing any more, but are counted, until
 * gsa_optimiser_resume sets the count. */
gsa_status gsa_optimiser_step(gsa_optimiser *optimiser, double lr, double *norm, gsa_error *error);
int64_t gsa_optimiser_steps(const gsa_optimiser *optimiser); /* applied so far: Adam's t */
/* Sets that count, >= 0. Fails as the backend does (GSA_ERR_DEVICE). */
gsa_status gsa_optimiser_resume(gsa_optimiser *optimiser, int64_t steps, gsa_error *error);
/* GSA_ERR_NUMBER and the first parameter whose value or gradient is not finite: "step 12: the
 * gradient of 'x' ..."; `loss` and `norm` are for the sentence. */
gsa_status gsa_optimiser_blame(gsa_optimiser *optimiser, int64_t step, double loss, double norm,
                               gsa_error *error);

/* State, to be kept next to the weights: moment 0 or 1 of a parameter by its index, in the
 * backend's memory and of the parameter's shape; NULL: there is none. */
void *gsa_optimiser_moment(const gsa_optimiser *optimiser, int parameter, int moment);

#ifdef __cplusplus
}
#endif
#endif
