/* harness.h - an invented model run by the framework. */
#ifndef ORACLE_HARNESS_H
#define ORACLE_HARNESS_H
#include "gsa/stack.h"
#include "interpret.h"

typedef struct oracle_harness {
    const oracle_model *model;
    gsa_error error;      /* of the first failure */
    gsa_backend *backend; /* the caller's */
    gsa_registry *registry;
    gsa_parameters *parameters;
    gsa_cache *cache;
    gsa_tape *tape;
    gsa_stack *stack[ORACLE_STACKS];
    gsa_stack_batch *batch[ORACLE_STACKS];
    gsa_parameter *input[ORACLE_STACKS]; /* NULL where the batch has no tokens */
    int order[ORACLE_EXAMPLES];          /* the batch's example i is the model's example order[i] */
} oracle_harness;

/* Makes stacks and parameters, the latter filled with values that depend on the model's seed and
 * their names, and the batch in the given order (NULL: the model's). */
gsa_status oracle_open(oracle_harness *h, const oracle_model *model, gsa_backend *backend,
                       const int *order);
void oracle_close(oracle_harness *h);
/* Forward, loss and, where training, backward. The readouts' rows are in the batch's order. */
gsa_status oracle_step(oracle_harness *h, int training, oracle_result *result);
/* The parameters as the interpreter needs them, gradients aside. */
gsa_status oracle_fill_bank(const oracle_harness *h, oracle_bank *bank);

#endif
