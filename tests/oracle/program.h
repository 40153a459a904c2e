/* program.h - the order in which a stack's phases run, and which of them reach a readout. */
#ifndef ORACLE_PROGRAM_H
#define ORACLE_PROGRAM_H
#include "order.h"

typedef struct oracle_program {
    int items;
    oracle_item item[ORACLE_ITEMS];
    unsigned born[ORACLE_SEGMENTS]; /* kinds of the stack that start with the segment */
    unsigned start_needed;          /* kinds whose start value reaches a readout */
} oracle_program;

void oracle_compile(const oracle_model *model, int s, oracle_program *program);
/* The pattern with the pools that the stack's summary is of. */
oracle_pattern oracle_read_as(const oracle_stack *stack, const oracle_pattern *last);
/* A set of kinds of the pattern as kinds of the stack. */
unsigned oracle_stack_kinds(const oracle_pattern *pattern, unsigned kinds);

#endif
