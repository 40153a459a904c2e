/* minibatch.h - one forward pass's examples on the host; its arrays are reused and grow only where
 * they must.
 * One thread at a time. Errors: GSA_ERR_LIMIT (more rows than an index holds), GSA_ERR_MEMORY;
 * the arrays then hold anything, and gsa_minibatch_begin starts anew.
 *
 * Example:
 *
 *     gsa_minibatch batch = { gsa_system_default() };
 *     gsa_error error;
 *     int failed = gsa_minibatch_begin(&batch, 2, &error) || // 2 examples, 5 tokens, 2 labels
 *                  gsa_minibatch_sequence_size(&batch, 0, 2, 5, 0, &error) ||
 *                  gsa_minibatch_targets(&batch, 2, 0, &error);
 *     if (failed) return puts(error.text), gsa_minibatch_release(&batch), 1;
 *     batch.sequence[0].length[0] = 3, batch.sequence[0].length[1] = 2;
 *     for (int i = 0; i < 5; i++) batch.sequence[0].id[i] = 2 + i;
 *     batch.label[0] = 1, batch.label[1] = -1; // -1: ignored
 *     gsa_minibatch_release(&batch);
 *     return 0;
 *
 */
#ifndef GSA_MINIBATCH_H
#define GSA_MINIBATCH_H
#include "graph/system.h"
#include "topologies/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSA_BATCH_SEQUENCES = 4, GSA_BATCH_NOTES = 3, GSA_BATCH_SIDES = 8 };

typedef struct gsa_minibatch_sequence { /* of one of the task's sequences, example after example */
    int32_t count;   /* examples: the batch's, or others (characters: one a word) */
    int32_t grouped; /* has it groups (gsa_minibatch_groups)? */
    int64_t tokens;  /* of all its examples */
    int32_t *number; /* [count] place in the global batch: the key of dropout; a task sets those of
                        other examples than the batch's */
    int32_t *length; /* [count] */
    int32_t *id;     /* [tokens], with words */
    int32_t *type;   /* [tokens] of an input with types; NULL: it has none (gsa_minibatch_types) */
    int32_t *group;  /* [tokens] where grouped: which section each is of, ascending in an example;
                        patterns may read it */
    gsa_slice *text; /* [tokens], with words */
    gsa_slice *side[GSA_BATCH_SIDES];         /* [tokens] what is next to them in the data
                                                 (gsa_minibatch_side) */
    gsa_named_column column[GSA_BATCH_SIDES]; /* the same with its names, which are the task's */
    int32_t sides, zero;                      /* of side and column */
    int64_t side_room[GSA_BATCH_SIDES];       /* elements that each side has room for */
    float *feature;                           /* [tokens, width], without */
    int64_t room[7];                          /* elements that the arrays above have room for */
} gsa_minibatch_sequence;

/* Examples side by side, with their targets. Its arrays grow and are used again. */
typedef struct gsa_minibatch {
    const gsa_system *system; /* whose memory it is */
    int32_t count;            /* examples */
    int32_t first;   /* set before a batch begins: place of its first example in the global batch */
    int64_t tokens;  /* of all sequences */
    int64_t targets; /* rows of what the head gives */
    int32_t *row;    /* [count] 0, 1, 2, ...: rows of the head; after them [count] zeros */
    int32_t *label;  /* [targets] class, or -1 */
    float *target;   /* [targets, terms], of tasks whose targets are numbers */
    int32_t *note[GSA_BATCH_NOTES]; /* what a task's own hooks need to know of the batch */
    int64_t *example; /* [count] as the task was given them (gsa_minibatch_name), where named */
    int32_t split, named, picks, zero; /* picks: does the head read `pick` alone
                                          (gsa_minibatch_pick)? */
    int32_t *pick; /* [targets] then: the rows of its run's sequence, ascending */
    gsa_minibatch_sequence sequence[GSA_BATCH_SEQUENCES]; /* those of the task's plan */
    int64_t room[6], note_room[GSA_BATCH_NOTES]; /* elements that the arrays have room for */
    int64_t draw; /* set before a batch begins: of gsa_example, 0 outside of training */
} gsa_minibatch;

/* Begins a batch: room for `count` examples with no tokens and no targets; row is filled. */
gsa_status gsa_minibatch_begin(gsa_minibatch *batch, int32_t count, gsa_error *error);
/* Room for one sequence's `count` lengths, and its tokens: words, or with width > 0 features;
 * number counts from `first`. */
gsa_status gsa_minibatch_sequence_size(gsa_minibatch *batch, int sequence, int32_t count,
                                       int64_t tokens, int64_t width, gsa_error *error);
/* Room for the targets: labels, or with terms > 0 numbers. */
gsa_status gsa_minibatch_targets(gsa_minibatch *batch, int64_t targets, int64_t terms,
                                 gsa_error *error);
/* Room for `count` numbers of note[which]. */
gsa_status gsa_minibatch_note(gsa_minibatch *batch, int which, int64_t count, gsa_error *error);
/* Room for the types of a sequence that has its size. */
gsa_status gsa_minibatch_types(gsa_minibatch *batch, int sequence, gsa_error *error);
/* Room for the groups of a sequence that has its size. Without this call it has none. */
gsa_status gsa_minibatch_groups(gsa_minibatch *batch, int sequence, gsa_error *error);
/* Room for one more column next to the tokens of a sequence that has its size; `name` outlives the
 * batch. */
gsa_status gsa_minibatch_side(gsa_minibatch *batch, int sequence, const char *name,
                              gsa_error *error);
/* Room for the rows that the head reads, of a batch whose targets have theirs. Without this call it
 * reads all. */
gsa_status gsa_minibatch_pick(gsa_minibatch *batch, gsa_error *error);
/* Keeps which examples of which split the batch holds, for score and print. */
gsa_status gsa_minibatch_name(gsa_minibatch *batch, int split, const int64_t *example,
                              gsa_error *error);
void gsa_minibatch_release(gsa_minibatch *batch); /* a zeroed one is fine */

#ifdef __cplusplus
}
#endif
#endif
