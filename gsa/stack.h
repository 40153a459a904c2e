/* stack.h - segments of patterns, executed: the phase executor. docs/executor.md states its law;
 * tests/oracle/ holds a second, slow interpreter of that law which shares no code.
 * One thread at a time computes with a stack, and one uses a batch. Texts and patterns that are
 * returned live as long as the stack. Errors: GSA_ERR_ARGUMENT (settings, patterns that do not
 * fit together, lengths), GSA_ERR_LIMIT (a size), GSA_ERR_PLUGIN (a topology broke its
 * contract), GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     #include <gsa/context.h>
 *     const int32_t length[] = { 3, 2 };
 *     const gsa_sequences examples = { 2, length };
 *     const gsa_settings settings = gsa_settings_default();
 *     const gsa_stack_options options = { "encoder", GSA_READ_SEQUENCE | GSA_READ_SUMMARY };
 *     float x[5 * 300] = { 1 };
 *     gsa_error error;
 *     gsa_context *c = NULL;
 *     gsa_stack_spec spec;
 *     gsa_stack *stack = NULL;
 *     gsa_stack_batch *batch = NULL;
 *     if (gsa_context_open(NULL, &c, &error) || gsa_spec_parse(NULL, "star*2", &spec, &error) ||
 *         gsa_stack_create(NULL, gsa_context_registry(c), &spec, &settings, &options,
 *                          gsa_context_parameters(c), &stack, &error) ||
 *         gsa_stack_batch_create(stack, &batch, &error) ||
 *         gsa_stack_batch_build(batch, NULL, NULL, &examples, &error))
 *         return puts(error.text), 1;
 *     gsa_tape *tape = gsa_context_tape(c);
 *     gsa_readout read; // .sequence [5, 300], .summary [2, 300]
 *     gsa_tensor *rows = gsa_tape_constant(tape, x, GSA_F32, 5, 300);
 *     gsa_stack_forward(stack, tape, batch, rows, NULL, &read);
 *     const int failed = gsa_tape_status(tape, &error) || read.summary->rows != 2;
 *     gsa_stack_batch_release(batch), gsa_stack_release(stack);
 *     gsa_spec_release(&spec), gsa_context_release(c);
 *     return failed;
 *
 */
#ifndef GSA_STACK_H
#define GSA_STACK_H
#include "graph/batch.h"
#include "parameters.h"
#include "settings.h"
#include "topologies/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is read of a stack; bits. */
enum gsa_readout_use { GSA_READ_SEQUENCE = 1, GSA_READ_SUMMARY = 2 };

/* Segments of patterns with parameters. Immutable after it is made. Opaque. */
typedef struct gsa_stack gsa_stack;

/* Name and readouts of a stack. */
typedef struct gsa_stack_options {
    const char *name; /* first word of parameter names: "encoder" */
    uint32_t reads;   /* gsa_readout_use: phases that reach none of these (nor a tap) are skipped */
    const int *taps; /* ascending layer numbers (0-based over all segments) whose sequence is wanted
                        too, after that layer */
    int n_taps;      /* of taps */
    uint32_t first_site; /* dropout sites of the stack are first_site + 3 i + {0 attention, 1
                            hidden, 2 ffn}, i = the phase's place in the program; give stacks of one
                            tape disjoint ranges (gsa_stack_sites). 0: 16 */
} gsa_stack_options;

/* Creates the patterns, the execution program and the parameters. Fails with a sentence when the
 * spec names what the registry does not know, a segment disagrees with an earlier one about a kind,
 * the summary is read but the last segment has none, ...; parameters that were added by then stay
 * in `parameters`. */
gsa_status gsa_stack_create(const gsa_system *system, const gsa_registry *registry,
                            const gsa_stack_spec *spec, const gsa_settings *settings,
                            const gsa_stack_options *options, gsa_parameters *parameters,
                            gsa_stack **stack, gsa_error *error);
void gsa_stack_release(gsa_stack *stack);

/* Layers of all segments together. */
int gsa_stack_layers(const gsa_stack *stack);
uint32_t gsa_stack_sites(const gsa_stack *stack); /* the first site after this stack's */
/* 1: the last segment's first pattern declares a summary. */
int gsa_stack_has_summary(const gsa_stack *stack);
/* 1: some kind starts from another sequence. */
int gsa_stack_reads_memory(const gsa_stack *stack);
int gsa_stack_memory_layer(
    const gsa_stack *stack); /* layers before its memory is read first; -1: it reads none */
/* 1: some pattern reads the tokens' texts. */
int gsa_stack_needs_text(const gsa_stack *stack);
/* Canonical text of the spec. */
const char *gsa_stack_text(const gsa_stack *stack);
/* One line per skipped phase ("encoder.0.1.up: reaches no readout"), or "". */
const char *gsa_stack_report(const gsa_stack *stack);

/* ---- a batch of examples for a stack: host work only, may run in another thread than the forward
 * pass ---- */
/* Examples as a stack reads them: lengths, and texts and groups where a pattern needs them. */
typedef struct gsa_sequences {
    int32_t count;                  /* examples, >= 0 */
    const int32_t *length;          /* [count] */
    const int32_t *memory_length;   /* [count] or NULL */
    const gsa_slice *text;          /* tokens of all examples, one after the other, or NULL */
    const int32_t *group;           /* likewise, or NULL */
    const int32_t *memory_group;    /* likewise, of the memory's nodes */
    const gsa_named_column *column; /* [columns] values of all examples' tokens, one after the
                                       other: what patterns may request */
    int32_t columns, zero;          /* columns: how many */
    const int64_t *example; /* [count] which of the data's each is, from 0; for messages, where they
                               count from 1. NULL: not known */
    int64_t draw;           /* gsa_example's */
} gsa_sequences;

/* The edges of a stack over one batch of examples. Opaque; reused from batch to batch. */
typedef struct gsa_stack_batch gsa_stack_batch;
/* Makes a batch without examples for this stack, which must outlive it. */
gsa_status gsa_stack_batch_create(const gsa_stack *stack, gsa_stack_batch **batch,
                                  gsa_error *error);
/* NULL does nothing. */
void gsa_stack_batch_release(gsa_stack_batch *batch);
void gsa_stack_batch_tell_content(gsa_stack_batch *batch); /* gsa_batch_tell_content of each part */
/* Offers what a pass will upload (gsa_tape_ahead). */
gsa_status gsa_stack_batch_ahead(const gsa_stack_batch *batch, gsa_tape *tape, gsa_error *error);
/* Builds or fetches the instances and joins them. `cache` may be NULL. The sentence names the
 * example. Reusable: allocates only where it must grow. */
gsa_status gsa_stack_batch_build(gsa_stack_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_sequences *sequences, gsa_error *error);
int64_t gsa_stack_batch_edges(
    const gsa_stack_batch *batch); /* of one layer each of the segments, for reports */

/* What a forward pass over the batch has to do, all layers together; phases that no readout depends
 * on do not count. */
typedef struct gsa_stack_counts {
    int64_t examples, tokens; /* of the batch */
    int64_t nodes;            /* of every kind, once: those that have states */
    int64_t edges, read; /* all; those that end in nodes of the sequence. In a per-head phase each
                            head has its own */
    int64_t scores;      /* one for each edge and head: numbers that are not kept */
} gsa_stack_counts;
/* How many examples are in the batch. */
gsa_stack_counts gsa_stack_batch_count(const gsa_stack_batch *batch);

/* ---- looking inside: the attention weights of a forward pass
 * A layer runs the patterns of its segment, numbered in the order of the spec; a pattern has its
 * schema's phases. */
int gsa_stack_patterns(const gsa_stack *stack, int layer); /* of layer 0 .. gsa_stack_layers - 1 */
/* The pattern at this place of a layer, both from 0; the place must exist. */
const gsa_pattern *gsa_stack_pattern(const gsa_stack *stack, int layer, int pattern);
/* Does the phase run in this layer? 0: no readout depends on it (gsa_stack_report), or it is a
 * once-phase. */
int gsa_stack_runs(const gsa_stack *stack, int layer, int pattern, int phase);

/* Attention weights that a forward pass keeps. */
typedef struct gsa_watched {
    int layer, pattern, phase; /* requested: an each-layer phase that attends */
    int32_t zero;
    gsa_tensor *weights; /* [edges of the batch, heads], [edges, 1] of a per-head phase, in the
                            order of gsa_batch_edges */
} gsa_watched;
/* From now on every gsa_stack_forward over this batch sets `weights` of each entry: the tape's
 * until its reset, read by gsa_tensor_read; NULL where the phase is skipped or was not reached.
 * They are p of kernels/backend.h: of a row's edges they sum to 1 in each head (to 0 where every
 * score is -inf); before dropout, so that training shows them too. The list is borrowed until the
 * next call; `count` 0 ends it, and costs nothing. An entry that names no such phase is
 * GSA_ERR_ARGUMENT, and the list before it stays valid. Cost: edges x heads numbers a watched phase
 * in backend memory. */
gsa_status gsa_stack_watch(gsa_stack_batch *batch, gsa_watched *watched, int count,
                           gsa_error *error);

/* What a forward pass of a stack gave. */
typedef struct gsa_readout {
    gsa_tensor *sequence;    /* [tokens, hidden], NULL if not requested */
    gsa_tensor *summary;     /* [examples, hidden], likewise */
    gsa_tensor **taps;       /* [n_taps], lives until the tape's reset */
    gsa_row_identity tokens; /* identity of the sequence's rows, for dropout in heads */
} gsa_readout;

/* input [tokens of all examples, hidden]; memory: another stack's sequence, or NULL. Failures are
 * the tape's.
 * The tape and the readout point into the batch: it is built again only when the tape is reset or
 * not used any more. */
void gsa_stack_forward(const gsa_stack *stack, gsa_tape *tape, const gsa_stack_batch *batch,
                       gsa_tensor *input, gsa_tensor *memory, gsa_readout *readout);

/* The same in parts, so that stacks can take turns and read each other at a depth: begin; advance
 * until so many layers are done, as often as wanted (the taps of those layers are there then);
 * finish, which does the rest and the readout. `memory` is looked at when gsa_stack_memory_layer is
 * passed. NULL after a failure, which the others take. */
typedef struct gsa_stack_pass gsa_stack_pass;
gsa_stack_pass *gsa_stack_begin(const gsa_stack *stack, gsa_tape *tape,
                                const gsa_stack_batch *batch, gsa_tensor *input,
                                gsa_readout *readout);
void gsa_stack_advance(gsa_stack_pass *pass, gsa_tensor *memory, int layers);
void gsa_stack_finish(gsa_stack_pass *pass, gsa_tensor *memory);

#ifdef __cplusplus
}
#endif
#endif
