/* scalar.h - reverse-mode differentiation of scalars: a Wengert list, the plainest form there is.
 * Every number is a node with at most two parents and the partial derivative for each; backward
 * walks the list from its end. */
#ifndef ORACLE_SCALAR_H
#define ORACLE_SCALAR_H

typedef int scalar; /* a node's place in the list */

typedef struct scalar_node {
    double value, grad;
    double partial[2]; /* d value / d parent */
    scalar parent[2];  /* < 0: none */
} scalar_node;
typedef struct scalar_tape {
    scalar_node *node;
    int count, room;
} scalar_tape;

void scalar_release(scalar_tape *t); /* a zeroed tape is empty */
double scalar_value(const scalar_tape *t, scalar x);
double scalar_grad(const scalar_tape *t, scalar x);

scalar scalar_leaf(scalar_tape *t, double value);
scalar scalar_add(scalar_tape *t, scalar a, scalar b);
scalar scalar_sub(scalar_tape *t, scalar a, scalar b);
scalar scalar_mul(scalar_tape *t, scalar a, scalar b);
scalar scalar_div(scalar_tape *t, scalar a, scalar b);
scalar scalar_scale(scalar_tape *t, scalar a, double factor);
scalar scalar_shift(scalar_tape *t, scalar a, double term); /* a + term */
scalar scalar_exp(scalar_tape *t, scalar a);
scalar scalar_log(scalar_tape *t, scalar a);
scalar scalar_sqrt(scalar_tape *t, scalar a);
scalar scalar_tanh(scalar_tape *t, scalar a);
scalar scalar_erf(scalar_tape *t, scalar a);
scalar scalar_max(scalar_tape *t, scalar a, scalar b); /* a where both are equal: no new node */
scalar scalar_leaky(scalar_tape *t, scalar a,
                    double slope); /* a > 0 ? a : slope a; derivative at 0: slope */

/* Gradients of `loss` by every node; forgets those of an earlier call. */
void scalar_backward(scalar_tape *t, scalar loss);

#endif
