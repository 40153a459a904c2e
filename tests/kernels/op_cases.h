/* op_cases.h - one table of the backend's ops, used by three suites: parity with an oracle in
 * double, central differences, same bits for any number of threads. */
#ifndef GSA_TEST_OP_CASES_H
#define GSA_TEST_OP_CASES_H
#include "rig.h"

typedef int64_t op_shape[5];

typedef struct op_case {
    const char *name;
    const char *covers;     /* entries of gsa_backend that this case calls */
    const op_shape *shapes; /* parity */
    int shape_count;
    const op_shape *grad_shapes; /* central differences; the last number 1: random inputs only (the
                                    op has a kink) */
    int grad_count;
    const op_shape *big_shapes; /* threads: more items than threads */
    int big_count;
    void (*setup)(rig *r);
    gsa_status (*forward)(rig *r);
    gsa_status (*backward)(rig *r);  /* NULL: none */
    void (*oracle)(rig *r);          /* fills `want` of what forward writes */
    void (*oracle_backward)(rig *r); /* adds to `want` of the gradients */
} op_case;

extern const op_case op_cases[];
extern const int op_case_count;
extern const op_case graph_cases[];
extern const int graph_case_count;

/* Case i of both tables, or NULL after the last: what every backend has. */
const op_case *op_case_at(int i);
/* The same, then the ops that a device may lack (crf_cases.c). */
const op_case *op_case_any(int i);

#define OP_SHAPES(list) list, (int)(sizeof(list) / sizeof(*(list)))

#endif
