/* context.h - what a program needs that trains: topologies, a backend, parameters, a tape, and the
 * parts that are made of them, in one handle.
 *
 *   gsa_context_options options = { sizeof options };
 *   gsa_context_open(&options, &context, &error);
 *   gsa_context_input, gsa_context_stack, gsa_context_linear, gsa_context_optimiser, ...
 *   a step:
 *     gsa_context_begin(context, 1, step);
 *     a forward pass: gsa_input_forward, gsa_stack_forward, gsa_linear_forward, a loss of tape.h
 *     gsa_context_step(context, optimiser, loss, rate, &value, &error);
 *   gsa_context_release(context);
 *
 * docs/library.md has the whole program.
 *
 * Law.  A context owns all that it gave: gsa_context_release releases it, newest first, and nobody
 *     else does. Parts may also be made without a context (stack.h, input.h, optimiser.h). One
 *     thread uses a context at a time. Each failure is one sentence; what was made before it stays.
 */
#ifndef GSA_CONTEXT_H
#define GSA_CONTEXT_H
#include "input.h"
#include "optimiser.h"
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_context gsa_context;

typedef struct gsa_context_options { /* a zeroed tail means default */
    uint32_t struct_size;
    int32_t threads;            /* 0: one for each core; at most 4096 */
    const char *device;         /* NULL: "auto"; gsa_backend_open (backend.h) lists them */
    int32_t real;               /* gsa_real */
    uint32_t seed;              /* of initial values and of dropout */
    const char *const *plugins; /* [n_plugins] paths of topologies' plugins */
    int32_t n_plugins, zero;
    const gsa_system *system; /* memory and files; NULL: the system's own */
} gsa_context_options;

/* options NULL: all default. */
gsa_status gsa_context_open(const gsa_context_options *options, gsa_context **context,
                            gsa_error *error);
void gsa_context_release(gsa_context *context); /* NULL does nothing */

/* Its parts, for what has no call here. */
gsa_registry *gsa_context_registry(const gsa_context *context);
gsa_backend *gsa_context_backend(const gsa_context *context);
gsa_parameters *gsa_context_parameters(const gsa_context *context);
gsa_tape *gsa_context_tape(const gsa_context *context);

/* ---- parts of a model, by the calls of their headers. Names of parameters are unique: an input or
 * a stack is named by its options. */
gsa_status gsa_context_input(gsa_context *context, const gsa_settings *settings,
                             const gsa_input_options *options, gsa_input **input, gsa_error *error);
/* The stack that a text such as "bpt:k=4*2" describes (spec.h). */
gsa_status gsa_context_stack(gsa_context *context, const char *spec, const gsa_settings *settings,
                             const gsa_stack_options *options, gsa_stack **stack, gsa_error *error);
gsa_status gsa_context_batch(gsa_context *context, const gsa_stack *stack, gsa_stack_batch **batch,
                             gsa_error *error);
/* A batch is built with a cache of the context's own (gsa_stack_batch_build). */
gsa_status gsa_context_build(gsa_context *context, gsa_stack_batch *batch,
                             const gsa_sequences *sequences, gsa_error *error);

/* y = x W^T + b: W [outputs, inputs] drawn uniformly from +-sqrt(6 / (inputs + outputs)), b zero
 * and without decay; the parameters "NAME.weight" and "NAME.bias". */
typedef struct gsa_linear {
    gsa_parameter *weight, *bias;
} gsa_linear;
gsa_status gsa_context_linear(gsa_context *context, const char *name, int64_t inputs,
                              int64_t outputs, gsa_linear *linear, gsa_error *error);
gsa_tensor *gsa_linear_forward(const gsa_linear *linear, gsa_tape *tape, gsa_tensor *x);

/* Of all parameters that were made before it. */
gsa_status gsa_context_optimiser(gsa_context *context, const gsa_optimiser_options *options,
                                 gsa_optimiser **optimiser, gsa_error *error);

/* ---- a step */
/* The tape forgets the last pass. training 0: no dropout, and nothing to go back through. */
void gsa_context_begin(gsa_context *context, int training, uint32_t step);
/* The first failure of the forward pass; else gradients of the loss [1,1], one step of the
 * optimiser, and the loss's value (NULL: it is not read). A gradient that is not finite is
 * GSA_ERR_NUMBER with the parameter's name, and changes nothing. */
gsa_status gsa_context_step(gsa_context *context, gsa_optimiser *optimiser, gsa_tensor *loss,
                            double lr, double *value, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
