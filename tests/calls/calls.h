/* calls.h - scenarios: what a program does with the library, in order, on a table of the system
 * that may fail. Together they call every function that the library exports (test_calls.c).
 *
 *   TRY(gsa_plan_create, system, &edges, NULL, &plan);  // leaves by `out:` where it fails
 *   const int64_t rows = CALL(gsa_batch_nodes)(batch, 0);
 * What a scenario requests of the table between two calls counts for the first. */
#ifndef GSA_TEST_CALLS_H
#define GSA_TEST_CALLS_H
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"

#define CALL(f) (calls_next(#f), f)
#define TRY(f, ...)                                                                                \
    do {                                                                                           \
        if ((status = CALL(f)(__VA_ARGS__, &calls_error)) != GSA_OK) goto out;                     \
    } while (0)

extern gsa_error calls_error;
void calls_next(const char *name); /* of the function that is called next */

typedef gsa_status calls_scenario(gsa_faults *faults, void *scratch);
calls_scenario calls_system, calls_files, calls_graph, calls_pictures, calls_patterns, calls_check,
    calls_edges;
calls_scenario calls_backends, calls_tape, calls_ops, calls_losses, calls_weights, calls_words;
calls_scenario calls_stack, calls_passes, calls_model, calls_context;
calls_scenario calls_minibatch, calls_recipe, calls_train, calls_predictor;

#endif
