/* model.h - input, stack and head of one task, with their parameters and the tape they run on.
 *   out = Linear(dropout(activation(Linear(summary))))     head_hidden > 0
 *   out = Linear(dropout(summary))                         head_hidden = 0 */
#ifndef GSA_TRAIN_MODEL_H
#define GSA_TRAIN_MODEL_H
#include "gsa/input.h"
#include "gsa/stack.h"
#include "train/task.h"

typedef struct gsa_learner {
    const gsa_system *system;
    gsa_backend *backend; /* borrowed */
    gsa_settings settings;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_input *input;
    gsa_stack *stack;
    gsa_stack_batch *graph;
    gsa_cache *cache;
    gsa_parameter *weight[2], *bias[2]; /* the head's Linears; [0] is NULL where there is one */
    int32_t reads_text, features;       /* features: columns of the input, 0: words */
} gsa_learner;

/* The registry must outlive the model. */
gsa_status gsa_learner_create(const gsa_system *system, const gsa_recipe *recipe, const gsa_registry *registry,
                            const gsa_task *task, void *self, gsa_backend *backend, gsa_learner *model, gsa_error *error);
void gsa_learner_release(gsa_learner *model); /* a zeroed one is fine */

/* [examples, outputs] on the model's tape, which the caller has reset. Failures are the tape's. */
gsa_tensor *gsa_learner_forward(gsa_learner *model, const gsa_minibatch *batch);

#endif
