/* model_parts.h - what the model's files share. Private to gsa/. */
#ifndef GSA_MODEL_PARTS_H
#define GSA_MODEL_PARTS_H
#include "model.h"
#include "stack_parts.h"

typedef struct gsa_model_link { /* what a pass reads of another */
    int pass;                   /* -1: nothing */
    int layer;                  /* of the other's stack; -1: its final sequence */
} gsa_model_link;

typedef struct gsa_model_place { /* a pass, resolved */
    char *name;
    int stack, sequence;
    gsa_model_link input, memory;
    int range; /* which pass of its stack it is: its examples are numbered from range <<
                  GSA_RANGE_BITS */
} gsa_model_place;

enum { GSA_RANGE_BITS = 26 };

struct gsa_model {
    const gsa_system *system;
    char *sequence[GSA_MODEL_MOST];
    gsa_stack *stack[GSA_MODEL_MOST];
    gsa_model_place pass[GSA_MODEL_MOST];
    int early[GSA_MODEL_MOST]; /* by pass: layers before it reads its memory; without memory: 0 */
    int order[2 * GSA_MODEL_MOST]; /* of execution: 2 r: the early layers of pass r, 2 r + 1: the
                                      rest */
    int n_order;
    int build[GSA_MODEL_MOST];  /* passes in the order in which their batches are built */
    int ranges[GSA_MODEL_MOST]; /* by sequence: ranges of numbers that its passes and its input use
                                 */
    int n_sequences, n_stacks, n_passes;
    int apart; /* the backend cannot look into batches: they tell their content */
};

typedef struct gsa_numbered { /* a sequence in a batch */
    int32_t count, room;
    int32_t *length;
    int32_t *number; /* [ranges][count] */
} gsa_numbered;

struct gsa_model_batch {
    const gsa_model *model;
    int built; /* 0 where the last build failed */
    gsa_numbered sequence[GSA_MODEL_MOST];
    gsa_stack_batch *batch[GSA_MODEL_MOST]; /* by pass */
    int32_t *memory_length[GSA_MODEL_MOST]; /* by pass, [memory_room] */
    int32_t memory_room[GSA_MODEL_MOST];
};

/* Rows of the pass's sequence kind in the part of its stack that owns it. */
typedef struct gsa_sequence_kind {
    int part, kind;
    int by_token; /* one node a token? */
} gsa_sequence_kind;
static inline gsa_sequence_kind gsa_stack_sequence_kind(const gsa_stack *stack)
{
    const int part = stack->first_part[stack->n_segments - 1],
              kind = gsa_schema_sequence(stack->parts[part].schema);
    const int start = gsa_schema_kind(stack->parts[part].schema, kind)->start;
    return (gsa_sequence_kind){ part, kind, start == GSA_INPUT || start == GSA_COPY };
}

#endif
