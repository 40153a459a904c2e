/* stack.h - segments of patterns, executed: the phase executor. docs/executor.md states its law; tests/oracle/ holds a second,
 * slow interpreter of that law which shares no code. */
#ifndef GSA_STACK_H
#define GSA_STACK_H
#include "graph/batch.h"
#include "parameters.h"
#include "settings.h"
#include "topologies/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gsa_readout_use { GSA_READ_SEQUENCE = 1, GSA_READ_SUMMARY = 2 };

typedef struct gsa_stack gsa_stack;

typedef struct gsa_stack_options {
    const char *name;       /* first word of parameter names: "encoder" */
    uint32_t reads;         /* gsa_readout_use: phases that reach none of these (nor a tap) are skipped */
    const int *taps;        /* ascending layer numbers (0-based over all segments) whose sequence is wanted too, after that layer */
    int n_taps;
    uint32_t first_site;    /* dropout sites of the stack are first_site + 3 i + {0 attention, 1 hidden, 2 ffn}, i = the phase's place in the
                               program; give stacks of one tape disjoint ranges (gsa_stack_sites). 0: 16 */
} gsa_stack_options;

/* Creates the patterns, the execution program and the parameters. Fails with a sentence when the spec names what the registry
 * does not know, a segment disagrees with an earlier one about a kind, the summary is read but the last segment has none, ...;
 * parameters that were added by then stay in `parameters`. */
gsa_status gsa_stack_create(const gsa_system *system, const gsa_registry *registry, const gsa_stack_spec *spec,
                            const gsa_settings *settings, const gsa_stack_options *options, gsa_parameters *parameters,
                            gsa_stack **stack, gsa_error *error);
void gsa_stack_release(gsa_stack *stack);

int gsa_stack_layers(const gsa_stack *stack);
uint32_t gsa_stack_sites(const gsa_stack *stack); /* the first site after this stack's */
int gsa_stack_has_summary(const gsa_stack *stack);
int gsa_stack_reads_memory(const gsa_stack *stack);
int gsa_stack_needs_text(const gsa_stack *stack);
/* Canonical text of the spec. */
const char *gsa_stack_text(const gsa_stack *stack);
/* One line per skipped phase ("encoder.0.1.up: reaches no readout"), or "". */
const char *gsa_stack_report(const gsa_stack *stack);

/* ---- a batch of examples for a stack: host work only, may run in another thread than the forward pass -------------------- */
typedef struct gsa_sequences {
    int32_t count;
    const int32_t *length;        /* [count] */
    const int32_t *memory_length; /* [count] or NULL */
    const gsa_slice *text;        /* tokens of all examples, one after the other, or NULL */
    const int32_t *group;         /* likewise, or NULL */
    const int32_t *memory_group;
} gsa_sequences;

typedef struct gsa_stack_batch gsa_stack_batch;
gsa_status gsa_stack_batch_create(const gsa_stack *stack, gsa_stack_batch **batch, gsa_error *error);
void gsa_stack_batch_release(gsa_stack_batch *batch);
/* Builds or fetches the instances and joins them. `cache` may be NULL. The sentence names the example. Reusable: allocates only
 * where it must grow. */
gsa_status gsa_stack_batch_build(gsa_stack_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_sequences *sequences, gsa_error *error);
int64_t gsa_stack_batch_edges(const gsa_stack_batch *batch); /* of one layer each of the segments, for reports */

typedef struct gsa_readout {
    gsa_tensor *sequence;    /* [tokens, hidden], NULL if not asked for */
    gsa_tensor *summary;     /* [examples, hidden], likewise */
    gsa_tensor **taps;       /* [n_taps], lives until the tape's reset */
    gsa_row_identity tokens; /* identity of the sequence's rows, for dropout in heads */
} gsa_readout;

/* input [tokens of all examples, hidden]; memory: another stack's sequence, or NULL. Failures are the tape's.
 * The tape and the readout point into the batch: it is built again only when the tape is reset or not used any more. */
void gsa_stack_forward(const gsa_stack *stack, gsa_tape *tape, const gsa_stack_batch *batch, gsa_tensor *input,
                       gsa_tensor *memory, gsa_readout *readout);

#ifdef __cplusplus
}
#endif
#endif
