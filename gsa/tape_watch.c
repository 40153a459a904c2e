#include "tape_watch.h"
#include "tape_parts.h"

void gsa_tape_watch(gsa_tape *tape, void (*between)(void *user), void *user)
{
    tape->between = between, tape->user = user;
}

void gsa_tape_spend(gsa_tape *tape, gsa_tensor *x)
{
    if (!tape->between || x->uses == 0) return;
    if (x->uses == GSA_USES_SPENT)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                      "a parameter of %lld x %lld gets more gradient than its ops counted",
                      (long long)x->rows, (long long)x->cols);
    else if (--x->uses == 0) x->uses = GSA_USES_SPENT;
}
