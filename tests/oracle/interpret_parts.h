/* interpret_parts.h - what interpret.c and phase.c share. */
#ifndef ORACLE_INTERPRET_PARTS_H
#define ORACLE_INTERPRET_PARTS_H
#include <stddef.h>
#include "interpret.h"
#include "program.h"

typedef struct oracle_plane { /* the state of a kind: scalars [rows, hidden], never changed once
                                 made */
    int rows;
    scalar *at;
} oracle_plane;

typedef struct oracle_machine {
    const oracle_model *model;
    oracle_bank *bank;
    oracle_result *result;
    scalar_tape t;
    int hidden, readouts;
    scalar loss;
    uint32_t first_site; /* of the current stack */
    scalar **plane;      /* all planes, to free them */
    int planes, plane_room;
    /* of the current stack */
    int s;
    const oracle_stack *stack;
    const oracle_matrix *input;
    oracle_plane memory; /* the sequence of the stack before */
    oracle_graph graph[ORACLE_PATTERNS][ORACLE_EXAMPLES];
    int nodes[ORACLE_KINDS][ORACLE_EXAMPLES],
        first[ORACLE_KINDS][ORACLE_EXAMPLES + 1];    /* rows of a kind, by example */
    oracle_plane now[ORACLE_KINDS];                  /* current states of the stack's kinds */
    oracle_plane opened[ORACLE_PARTS][ORACLE_KINDS]; /* at the start of the part's open group */
} oracle_machine;

void *oracle_memory(size_t count, size_t size); /* zeros; aborts without memory */
oracle_plane oracle_new_plane(oracle_machine *r, int rows);
/* The parameter "path.leaf", its leaves made; NULL and a sentence where it is not in the bank or of
 * another shape. */
oracle_matrix *oracle_weights(oracle_machine *r, const char *path, const char *leaf, int rows,
                              int cols, int reached);
/* y = layer norm of x, hidden columns */
void oracle_norm(oracle_machine *r, scalar *y, const scalar *x, const oracle_matrix *gain,
                 const oracle_matrix *bias);
/* `number`: the phase's place in the program, for dropout. */
void oracle_run_phase(oracle_machine *r, const oracle_item *item, int number);

#endif
