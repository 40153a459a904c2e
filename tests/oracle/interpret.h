/* interpret.h - the second interpreter of docs/executor.md: scalars, naive loops, no code of the
 * framework. */
#ifndef ORACLE_INTERPRET_H
#define ORACLE_INTERPRET_H
#include "invent.h"
#include "scalar.h"

enum { ORACLE_PATH = 96, ORACLE_TAPS = 4, ORACLE_SENTENCE = 256 };

typedef struct oracle_matrix { /* a parameter, or the input rows of a stack ("encoder.input") */
    char name[ORACLE_PATH];
    int rows, cols;
    double *value, *grad; /* rows x cols; grad is filled */
    int used;             /* the law knows a parameter of this name and shape */
    int reached;          /* a readout depends on it */
    scalar first;         /* its leaves; < 0: none yet */
} oracle_matrix;
typedef struct oracle_bank {
    int count, room;
    oracle_matrix *matrix;
} oracle_bank;
oracle_matrix *oracle_bank_add(oracle_bank *bank, const char *name, int rows,
                               int cols); /* zeros; NULL rows: fine */
void oracle_bank_release(oracle_bank *bank);

typedef struct oracle_readout { /* rows x hidden values each; NULL: not read */
    int tokens;
    double *sequence, *summary, *tap[ORACLE_TAPS];
} oracle_readout;

typedef struct oracle_result {
    oracle_readout readout[ORACLE_STACKS];
    int skipped[ORACLE_STACKS]; /* phases that reach no readout */
    double loss;
    char error[ORACLE_SENTENCE]; /* "" or what the bank lacks */
} oracle_result;

/* Runs all stacks forward, then the loss backward: `bank` receives gradients, used and reached. */
void oracle_interpret(const oracle_model *model, oracle_bank *bank, oracle_result *result);
void oracle_result_release(oracle_result *result);

/* The loss: over all readouts r (sequence, summary, taps; stack by stack), weight(r) x sum (x -
 * target)^2. */
double oracle_weight(const oracle_model *model, int readout);
double oracle_target(const oracle_model *model, int readout, int element);

/* Which phases are skipped; `program.h` is the interpreter's own. */
int oracle_skipped(const oracle_model *model, int s);

#endif
