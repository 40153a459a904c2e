#include "scalar.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static scalar push(scalar_tape *t, double value, scalar a, double da, scalar b, double db)
{
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 1 << 16;
        t->node = realloc(t->node, (size_t)t->room * sizeof *t->node);
        if (!t->node) fprintf(stderr, "oracle: no memory for %d scalars\n", t->room), abort();
    }
    t->node[t->count] = (scalar_node){ value, 0, { da, db }, { a, b } };
    return t->count++;
}

void scalar_release(scalar_tape *t)
{
    free(t->node);
    *t = (scalar_tape){ 0 };
}

double scalar_value(const scalar_tape *t, scalar x)
{
    return t->node[x].value;
}

double scalar_grad(const scalar_tape *t, scalar x)
{
    return t->node[x].grad;
}

scalar scalar_leaf(scalar_tape *t, double value)
{
    return push(t, value, -1, 0, -1, 0);
}

scalar scalar_add(scalar_tape *t, scalar a, scalar b)
{
    return push(t, scalar_value(t, a) + scalar_value(t, b), a, 1, b, 1);
}

scalar scalar_sub(scalar_tape *t, scalar a, scalar b)
{
    return push(t, scalar_value(t, a) - scalar_value(t, b), a, 1, b, -1);
}

scalar scalar_mul(scalar_tape *t, scalar a, scalar b)
{
    const double x = scalar_value(t, a), y = scalar_value(t, b);
    return push(t, x * y, a, y, b, x);
}

scalar scalar_div(scalar_tape *t, scalar a, scalar b)
{
    const double x = scalar_value(t, a), y = scalar_value(t, b);
    return push(t, x / y, a, 1 / y, b, -x / (y * y));
}

scalar scalar_scale(scalar_tape *t, scalar a, double factor)
{
    return push(t, scalar_value(t, a) * factor, a, factor, -1, 0);
}

scalar scalar_shift(scalar_tape *t, scalar a, double term)
{
    return push(t, scalar_value(t, a) + term, a, 1, -1, 0);
}

scalar scalar_exp(scalar_tape *t, scalar a)
{
    const double y = exp(scalar_value(t, a));
    return push(t, y, a, y, -1, 0);
}

scalar scalar_log(scalar_tape *t, scalar a)
{
    const double x = scalar_value(t, a);
    return push(t, log(x), a, 1 / x, -1, 0);
}

scalar scalar_sqrt(scalar_tape *t, scalar a)
{
    const double y = sqrt(scalar_value(t, a));
    return push(t, y, a, 0.5 / y, -1, 0);
}

scalar scalar_tanh(scalar_tape *t, scalar a)
{
    const double y = tanh(scalar_value(t, a));
    return push(t, y, a, 1 - y * y, -1, 0);
}

scalar scalar_erf(scalar_tape *t, scalar a)
{
    const double x = scalar_value(t, a), two_over_root_pi = 1.1283791670955126;
    return push(t, erf(x), a, two_over_root_pi * exp(-x * x), -1, 0);
}

scalar scalar_max(scalar_tape *t, scalar a, scalar b)
{
    return scalar_value(t, a) >= scalar_value(t, b) ? a : b;
}

scalar scalar_leaky(scalar_tape *t, scalar a, double slope)
{
    return scalar_scale(t, a, scalar_value(t, a) > 0 ? 1 : slope);
}

void scalar_backward(scalar_tape *t, scalar loss)
{
    for (int i = 0; i < t->count; i++) t->node[i].grad = 0;
    t->node[loss].grad = 1;
    for (int i = loss; i >= 0; i--) {
        const scalar_node *x = &t->node[i];
        for (int p = 0; p < 2; p++)
            if (x->parent[p] >= 0) t->node[x->parent[p]].grad += x->grad * x->partial[p];
    }
}
