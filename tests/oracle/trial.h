/* trial.h - one stack of built-in topologies over a batch, with a loss on its sequence and, where
 * it has one, its summary. */
#ifndef ORACLE_TRIAL_H
#define ORACLE_TRIAL_H
#include "gsa/stack.h"

enum trial_rows { TRIAL_RANDOM, TRIAL_EQUAL /* one row for all tokens */, TRIAL_ZERO };

typedef struct trial_plan {
    const char *spec;
    gsa_settings settings;
    const int32_t *length;
    int32_t examples;
    int rows; /* trial_rows */
    int real, threads;
    int queries; /* gsa_stack's, of stack_parts.h */
} trial_plan;

typedef struct trial {
    gsa_error error;
    gsa_backend *backend;
    gsa_registry *registry;
    gsa_parameters *parameters;
    gsa_tape *tape;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_parameter *input; /* the last parameter */
    double *target;       /* random numbers, enough for every readout */
    int64_t tokens, targets;
} trial;

/* Random parameters and rows, the same for every backend. 0, or 1 and a sentence in
 * trial->error. */
int trial_open(trial *t, const trial_plan *plan);
void trial_close(trial *t);
/* One training step with dropout keyed by (5, 7); backward != 0 fills the gradients. `readout` may
 * be NULL; its tensors live until the next step. */
int trial_step(trial *t, int backward, double *loss, gsa_readout *readout);

#endif
