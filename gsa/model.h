/* model.h - several stacks over several sequences in one tape: encoder and decoder, pairs of
 * sentences, characters and words.
 *
 * Example:
 *
 *     #include <gsa/context.h>
 *     const char *const names[] = { "a", "b" }; // one stack over both texts of a pair
 *     const int32_t length[] = { 3, 2 };
 *     const gsa_model_sequence texts[2] = { { 2, length }, { 2, length } };
 *     const gsa_settings settings = gsa_settings_default();
 *     gsa_stack_spec spec;
 *     const gsa_model_stack stack = { "encoder", &spec, &settings, GSA_READ_SUMMARY };
 *     const gsa_model_pass passes[2] = { { "a", "encoder", "a" }, { "b", "encoder", "b" } };
 *     const gsa_model_options options = { names, 2, &stack, 1, passes, 2 };
 *     gsa_error error;
 *     gsa_context *c = NULL;
 *     gsa_model *model = NULL;
 *     gsa_model_batch *batch = NULL;
 *     if (gsa_context_open(NULL, &c, &error) || gsa_spec_parse(NULL, "star", &spec, &error) ||
 *         gsa_model_create(NULL, gsa_context_registry(c), &options, gsa_context_parameters(c),
 *                          &model, &error) ||
 *         gsa_model_batch_create(model, &batch, &error) ||
 *         gsa_model_batch_build(batch, NULL, NULL, texts, &error))
 *         return puts(error.text), 1;
 *     gsa_tape *tape = gsa_context_tape(c);
 *     gsa_tensor *rows = gsa_tape_zeros(tape, 5, settings.hidden), *const both[2] = { rows, rows };
 *     gsa_readout read[2]; // .summary [2, hidden] of each text
 *     gsa_model_forward(model, tape, batch, both, read);
 *     const int failed = gsa_tape_status(tape, &error) || read[1].summary->rows != 2;
 *     gsa_model_batch_release(batch), gsa_model_release(model);
 *     gsa_spec_release(&spec), gsa_context_release(c);
 *     return failed;
 *
 * A *sequence* is named data: lengths, and where a pattern reads them texts and groups. A *stack*
 * is patterns and parameters. A *pass* is one execution of a stack on a sequence. It starts from
 * input rows, or from another pass's sequence, and may read another pass's sequence as memory:
 * final, or as it is after so many layers. A pass is executed once, however many read it, and
 * each layer projects its memory once. Runs of one stack share its parameters; their gradients add
 * up. docs/models.md shows an encoder with a decoder, and a pair of sentences.
 *
 * Law.  Order of passes is free: what a pass reads is executed before it, or before its first
 * segment that reads a memory: two passes of `bpt*3,bpt+cross*3` read each other after 3 layers. A
 * circle is an error. What is described is copied; the registry must outlive the model, the model
 * its batches. Building a batch is host work and may run in another thread than a forward pass of
 * another batch. After warm-up neither allocates (patterns by length alone, from a cache). Dropout:
 * stacks have disjoint sites; the second, third, ... pass of one stack, and the input of the
 * second, third, ... sequence, number their examples from 2^26, 2 x 2^26, ... So no two places
 * share a mask, a model of one pass draws what its stack alone draws, and no batch split changes a
 * mask.
 *     One thread at a time computes with a model. Errors: GSA_ERR_ARGUMENT (an unknown name, a
 *     circle, lengths that do not fit), GSA_ERR_LIMIT (a size), GSA_ERR_PLUGIN (a topology broke
 *     its contract), GSA_ERR_MEMORY. */
#ifndef GSA_MODEL_H
#define GSA_MODEL_H
#include "input.h"
#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sequences, stacks and passes of one model. Opaque. */
typedef struct gsa_model gsa_model;

enum { GSA_MODEL_MOST = 32 }; /* sequences, stacks, passes of one model: each */

/* One stack of a model: patterns, settings, and what is read of it. */
typedef struct gsa_model_stack {
    const char *name;             /* unique; first word of its parameters' names */
    const gsa_stack_spec *spec;   /* patterns of the stack */
    const gsa_settings *settings; /* sizes and choices */
    uint32_t reads; /* gsa_readout_use: what the caller reads of its passes; what passes read of it
                       is added */
    const int
        *taps;  /* likewise: layers, 0-based, whose sequence the caller reads too (gsa_model_tap) */
    int n_taps; /* of taps */
} gsa_model_stack;

/* One execution of a stack on a sequence. */
typedef struct gsa_model_pass {
    const char *name;              /* unique among passes; NULL: the stack's */
    const char *stack, *sequence;  /* names of the stack, and of the sequence that it is run on */
    const char *input, *memory;    /* passes whose sequence it starts from (a pass on the same
                       sequence;    NULL: the caller's rows) and reads as memory (NULL: none) */
    int input_after, memory_after; /* after so many of the other's layers, 1 .. all; 0: all */
} gsa_model_pass;

/* The sequences, stacks and passes of a model; all is copied. */
typedef struct gsa_model_options {
    const char *const *sequences;  /* names, unique */
    int n_sequences;               /* 1 .. GSA_MODEL_MOST, as the other numbers */
    const gsa_model_stack *stacks; /* [n_stacks] */
    int n_stacks;                  /* of stacks */
    const gsa_model_pass *passes;  /* [n_passes], in any order */
    int n_passes;                  /* of passes */
    uint32_t first_site;           /* of the first stack; 0: 16. The others follow */
} gsa_model_options;

/* Creates the stacks, in the order given. One sentence each: a name missing, unknown (with the
 * known ones and the nearest) or given twice; a stack or sequence that no pass uses; a stack of
 * which nothing is read; a stack that reads memory in a pass that binds none, or the reverse; a
 * circle (with its passes); a depth that the other does not have; hidden sizes that differ; an
 * input from another sequence; what gsa_stack_create refuses. Parameters that were added by then
 * stay in `parameters`. */
gsa_status gsa_model_create(const gsa_system *system, const gsa_registry *registry,
                            const gsa_model_options *options, gsa_parameters *parameters,
                            gsa_model **model, gsa_error *error);
void gsa_model_release(gsa_model *model); /* NULL does nothing */

/* How many passes the model has. */
int gsa_model_passes(const gsa_model *model);
/* How many sequences the model has. */
int gsa_model_sequences(const gsa_model *model);
int gsa_model_find_pass(const gsa_model *model, const char *name); /* -1: none */
/* The number of the sequence of this name, from 0; -1: there is none. */
int gsa_model_find_sequence(const gsa_model *model, const char *name);
/* A pass or sequence that is not there (such as the -1 above) gives NULL here and below, and is a
 * failure of a forward pass. */
const char *gsa_model_pass_name(const gsa_model *model, int pass);
const gsa_stack *gsa_model_stack_of(const gsa_model *model, int pass);
uint32_t gsa_model_sites(const gsa_model *model); /* the first dropout site after all its stacks */

/* ---- a batch ------------------------------------------------------------------------------- */
typedef struct gsa_model_sequence { /* host arrays; `number` is copied, so is `length`; text and
                                       group are read by the build alone */
    int32_t count; /* examples. Sequences that one pass joins have equally many; others need not
                      (words of characters) */
    const int32_t *length; /* [count] */
    const gsa_slice *text; /* tokens of all examples, one after the other, or NULL */
    const int32_t *group; /* likewise, ascending in an example; of a pass's memory: what its pattern
                             sees as memory_group */
    const int32_t *number; /* [count] of the example in the global batch, 0 .. 2^26-1, for dropout;
                              NULL: 0, 1, 2, ... */
    const gsa_named_column *column; /* [columns] what patterns may request next to tokens */
    int32_t columns, zero;          /* columns: how many */
    const int64_t *example;         /* [count] or NULL: as in gsa_sequences */
    int64_t draw;                   /* likewise */
} gsa_model_sequence;

/* Edges of all passes of a model over one batch. Opaque. */
typedef struct gsa_model_batch gsa_model_batch;
/* Makes a batch without examples for this model, which must outlive it. */
gsa_status gsa_model_batch_create(const gsa_model *model, gsa_model_batch **batch,
                                  gsa_error *error);
/* NULL does nothing. */
void gsa_model_batch_release(gsa_model_batch *batch);
/* `sequences` [gsa_model_sequences] in the order of the options. A pass's memory lengths are the
 * nodes of the other's sequence kind, its memory groups that sequence's groups. Reusable: allocates
 * only where it must grow. */
gsa_status gsa_model_batch_build(gsa_model_batch *batch, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_model_sequence *sequences, gsa_error *error);
gsa_stack_batch *gsa_model_batch_of(gsa_model_batch *batch,
                                    int pass); /* to look into: gsa_stack_watch */
int64_t
gsa_model_batch_edges(const gsa_model_batch *batch); /* of one layer each of all passes' segments */
/* The arrays of a batch that was built, for the tape's next round (tape.h: gsa_tape_ahead). */
gsa_status gsa_model_batch_ahead(const gsa_model_batch *batch, gsa_tape *tape, gsa_error *error);

/* ---- forward: failures are the tape's; tape and readouts point into the batch until the tape's
 * reset ---- */
/* A sequence's input rows through `input`; sequences may share one. ids or features as
 * gsa_input_forward takes them. */
gsa_tensor *gsa_model_input(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                            int sequence, const gsa_input *input, const int32_t *ids,
                            gsa_tensor *features);
/* Likewise of an input with types: type [tokens] of each row. */
gsa_tensor *gsa_model_input_typed(const gsa_model *model, gsa_tape *tape,
                                  const gsa_model_batch *batch, int sequence,
                                  const gsa_input *input, const int32_t *ids, const int32_t *type,
                                  gsa_tensor *features);
/* All passes. rows [sequences]: input rows [tokens, hidden], NULL where no pass starts from them;
 * readouts [passes] are filled. */
void gsa_model_forward(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                       gsa_tensor *const *rows, gsa_readout *readouts);
/* One pass, for rows that are made of what another pass gave (characters into words). `rows` NULL:
 * it starts from a pass. The passes that it reads must have been executed into the same readouts.
 */
void gsa_model_forward_pass(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                            int pass, gsa_tensor *rows, gsa_readout *readouts);
/* The pass's sequence after a layer, 0-based: a tap that the caller requested or a pass reads. Else
 * NULL. */
gsa_tensor *gsa_model_tap(const gsa_model *model, const gsa_readout *readouts, int pass, int layer);
/* Gives the tape the pass's numbers of examples: for dropout that one head does on several passes.
 * Forward passes leave those of pass 0's sequence, as they were given. */
void gsa_model_number(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                      int pass);

#ifdef __cplusplus
}
#endif
#endif
