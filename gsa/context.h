/* context.h - what a program needs that trains: topologies, a backend, parameters, a tape, and the
 * parts that are made of them, in one handle.
 *
 * Example:
 *
 *     const int32_t ids[] = { 1, 2, 3, 2, 1 }, length[] = { 3, 2 }, label[] = { 0, 1 };
 *     const gsa_sequences batch = { 2, length };
 *     const gsa_input_options words = { "input", 4 };
 *     const gsa_optimiser_options adam = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
 *     const gsa_schedule rate = { GSA_SCHEDULE_CONSTANT, 0, 20, 0, 0.01 };
 *     const gsa_settings settings = gsa_settings_default();
 *     double loss = 0;
 *     gsa_error error;
 *     gsa_context *c = NULL;
 *     gsa_encoder *encoder;
 *     gsa_linear head;
 *     int failed = gsa_context_open(NULL, &c, &error) ||
 *                  gsa_context_encoder(c, "star", &settings, &words, NULL, &encoder, &error) ||
 *                  gsa_context_linear(c, "head", settings.hidden, 2, &head, &error) ||
 *                  gsa_context_optimise(c, &adam, &rate, &error);
 *     for (int step = 0; step < 20 && !failed; step++) {
 *         gsa_context_begin(c, 1);
 *         gsa_readout read = gsa_encoder_forward(encoder, &batch, ids, NULL, NULL);
 *         gsa_tensor *out = gsa_linear_forward(&head, read.summary);
 *         failed = gsa_context_step(c, gsa_context_cross_entropy(c, out, label), &loss, &error);
 *     }
 *     if (failed) puts(error.text);
 *     gsa_context_release(c);
 *     return failed || !(loss < 0.1);
 *
 * docs/library.md has the whole program.
 *
 * Law.  A context owns all that it gave: gsa_context_release releases it, and nobody else does.
 *     Parts may also be made without a context (stack.h, input.h, model.h, optimiser.h). One thread
 *     uses a context at a time. Each failure is one sentence; what was made before it stays.
 *     Errors: GSA_ERR_ARGUMENT (a wrong spec, name or setting), GSA_ERR_LIMIT (a size),
 *     GSA_ERR_PLUGIN, GSA_ERR_UNSUPPORTED (no such device), GSA_ERR_NUMBER (a loss that is not
 *     finite), GSA_ERR_MEMORY. */
#ifndef GSA_CONTEXT_H
#define GSA_CONTEXT_H
#include "input.h"
#include "optimiser.h"
#include "schedule.h"
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Topologies, backend, parameters and tape under one handle. Opaque. */
typedef struct gsa_context gsa_context;

typedef struct gsa_context_options { /* a zeroed tail means default */
    uint32_t struct_size;
    int32_t threads;            /* 0: one for each core; at most 4096 */
    const char *device;         /* NULL: "auto"; gsa_backend_open (backend.h) lists them */
    int32_t real;               /* gsa_real */
    uint32_t seed;              /* of initial values and of dropout */
    const char *const *plugins; /* [n_plugins] paths of topologies' plugins */
    int32_t n_plugins, zero;    /* of plugins */
    const gsa_system *system;   /* memory and files; NULL: the system's own */
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
gsa_optimiser *gsa_context_optimiser(const gsa_context *context); /* NULL: there is none yet */

/* ---- parts of a model. Their parameters' names are unique. */
/* An input and the stack that a text such as "bpt:k=4*2" describes (spec.h), after it. Names that
 * are NULL are "input" and "encoder"; embedding_std 0 is 1; dropout sites that are 0 are the
 * context's next ones. stack NULL: its summary alone is read. */
typedef struct gsa_encoder gsa_encoder;
gsa_status gsa_context_encoder(gsa_context *context, const char *spec, const gsa_settings *settings,
                               const gsa_input_options *input, const gsa_stack_options *stack,
                               gsa_encoder **encoder, gsa_error *error);
/* Joins the edges of the batch, from a cache of the context's own, and runs input and stack. ids or
 * features as gsa_input_forward takes them; memory: another encoder's sequence, for patterns that
 * read one, or NULL. Several passes of one encoder in a step are several batches, with
 * equal dropout (model.h gives each its own). Host arrays live until the next gsa_context_begin. A
 * failure is the tape's, and told by gsa_context_step. */
gsa_readout gsa_encoder_forward(gsa_encoder *encoder, const gsa_sequences *batch,
                                const int32_t *ids, gsa_tensor *features, gsa_tensor *memory);

/* y = x W^T + b: W [outputs, inputs] drawn uniformly from +-sqrt(6 / (inputs + outputs)), b zero
 * and without decay; the parameters "NAME.weight" and "NAME.bias". */
typedef struct gsa_linear {
    gsa_parameter *weight, *bias; /* [outputs, inputs], [1, outputs]; the context's */
    gsa_tape *tape;               /* the context's */
} gsa_linear;
/* Adds the parameters of a Linear from `inputs` to `outputs` columns: NAME.weight, NAME.bias. */
gsa_status gsa_context_linear(gsa_context *context, const char *name, int64_t inputs,
                              int64_t outputs, gsa_linear *linear, gsa_error *error);
/* x W^T + b: [rows, inputs] to [rows, outputs]. NULL after a failure, which the step tells. */
gsa_tensor *gsa_linear_forward(const gsa_linear *linear, gsa_tensor *x);

/* The mean of -log softmax(logits)[label] [1,1]; label [rows of logits] on the host: a column, or
 * -1: the row does not count. */
gsa_tensor *gsa_context_cross_entropy(gsa_context *context, gsa_tensor *logits,
                                      const int32_t *label);

/* ---- a step */
/* The optimiser, of all parameters that were made before, and its rates; called again: another one
 * in its place. */
gsa_status gsa_context_optimise(gsa_context *context, const gsa_optimiser_options *options,
                                const gsa_schedule *rate, gsa_error *error);
/* The tape forgets the last pass. training 0: no dropout, and nothing to go back through. Dropout
 * is drawn by the context's seed and the steps that were done. */
void gsa_context_begin(gsa_context *context, int training);
/* The first failure of the forward pass; else gradients of the loss [1,1], one step of the
 * optimiser, and the loss's value (NULL: it is not read). A gradient that is not finite is
 * GSA_ERR_NUMBER with the parameter's name, and changes nothing. */
gsa_status gsa_context_step(gsa_context *context, gsa_tensor *loss, double *value,
                            gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
