/* learner.h - what a task's plan requests, built: inputs, a model of passes, a head, their
 * parameters and the tape they run on. out = Linear(dropout(activation(Linear(features))))
 * head_hidden > 0 out = Linear(dropout(features))                         head_hidden = 0 features:
 * what the task makes of the readouts, or the summary or sequence of the head's pass. The last
 * Linear's weight may be rows of an embedding (model.tied; task.h says which). Where the batch
 * picks rows the last Linear reads those alone.
 *
 * Losses of layers (Al-Rfou et al. 2019, section 2.2): with plan.aux = a > 0 the head also reads
 * the pass's sequence after each layer l = 1 .. n-1 of n, and in training
 *   loss = loss of layer n + a / |L| sum_{l in L} loss of layer l,
 *        L: the layers with l/n > the share of the steps that is done. */
#ifndef GSA_LEARNER_H
#define GSA_LEARNER_H
#include "gsa/input.h"
#include "gsa/model.h"
#include "train/task_parts.h"

typedef struct gsa_learner {
    const gsa_system *system;
    gsa_backend *backend; /* borrowed */
    const gsa_task *task; /* borrowed, and its object */
    void *self;
    gsa_settings settings;
    gsa_task_plan plan;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_input *input[GSA_BATCH_SEQUENCES]; /* [plan.n_inputs] */
    gsa_model *net;
    gsa_model_batch *graph;
    gsa_cache *cache;
    gsa_parameter *weight[2], *bias[2]; /* the head's Linears; [0] is NULL where there is one */
    int32_t reads_text, tied;           /* tied: weight[1] is an embedding */
    int32_t n_taps; /* layers of the head's pass below its last, with losses of their own */
    int32_t joined; /* 1: `graph` is already the next forward pass's batch */
    int *tap;       /* [n_taps] 0, 1, 2, ... */
    gsa_tensor *
        *tapped; /* [n_taps] what the head makes of them, in the last forward pass of training */
    double done; /* share of the planned steps; the trainer sets it */
    struct gsa_profile *profile; /* borrowed; or NULL */
} gsa_learner;

/* The registry must outlive the model. `without`: of gsa_without, what its parameters do
 * without. `weights`: the file that they will be read from, whose sizes are compared before memory
 * is requested; NULL: none. */
gsa_status gsa_learner_create(const gsa_system *system, const gsa_recipe *recipe,
                              const gsa_registry *registry, const gsa_task *task, void *self,
                              gsa_backend *backend, uint32_t without, const char *weights,
                              gsa_learner *model, gsa_error *error);
void gsa_learner_release(gsa_learner *model); /* a zeroed one is fine */

/* The batch's graphs. Any thread, next to a forward pass of another batch on other graphs. */
gsa_status gsa_learner_join(const gsa_learner *model, const gsa_minibatch *batch,
                            gsa_model_batch *graph, gsa_error *error);
/* Arrays of a batch and of its graphs that the forward pass after the tape's next reset will upload
 * (tape.h: gsa_tape_ahead). */
gsa_status gsa_learner_ahead(const gsa_learner *model, const gsa_minibatch *batch,
                             const gsa_model_batch *graph, gsa_error *error);
/* [targets, outputs] on the model's tape, which the caller has reset. Failures are the tape's. */
gsa_tensor *gsa_learner_forward(gsa_learner *model, const gsa_minibatch *batch);
/* [rows, outputs] of the features [rows, ...], without dropout: outside of training. */
gsa_tensor *gsa_learner_head(gsa_learner *model, gsa_tensor *features);
/* The task's loss of `out`, and of the layers below where they have one. Failures are the
 * tape's. */
gsa_tensor *gsa_learner_loss(gsa_learner *model, gsa_tensor *out, const gsa_minibatch *batch,
                             double scale);
/* The sequence of one pass that reads no other, of a batch; without the others. */
gsa_tensor *gsa_learner_pass(gsa_learner *model, const gsa_minibatch *batch, int pass);
/* The stack of the pass that the head reads. */
const gsa_stack *gsa_learner_encoder(const gsa_learner *model);
/* The text of the stack of that name in the plan, "encoder" or "decoder"; NULL: there is none. */
const char *gsa_learner_text(const gsa_learner *model, const char *stack);
/* Columns of the features that a sequence's input reads; 0: words. */
int32_t gsa_learner_columns(const gsa_learner *model, int sequence);

#endif
