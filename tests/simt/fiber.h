/* fiber.h - stacks that are switched by hand: one for each CUDA thread of the block at work. ASan
 * is told when
 * they are entered from the host's stack and left for it. */
#ifndef GSA_SIMT_FIBER_H
#define GSA_SIMT_FIBER_H
#include <stddef.h>

typedef struct fiber {
    void *sp;            /* where it is while another runs */
    unsigned char *base; /* lowest byte of its stack; of the host's stack once known */
    size_t size;
    void *fake;    /* ASan's own */
    int made;      /* by fiber_create; 0: the host's */
    int abandoned; /* its body was left for good in the midst of calls: the next fiber_prepare
                      forgets all their frames */
} fiber;

/* Gives `f` a stack with a guard page below; aborts when there is no memory. */
void fiber_create(fiber *f);
void fiber_release(fiber *f);
/* The next switch to `f` calls body, on a fresh stack. `offset` < 8192 shifts the top, so that many
 * stacks do not share cache sets. */
void fiber_prepare(fiber *f, void (*body)(void), size_t offset);
/* Runs `to`; returns when somebody switches back to `from`. `last`: nobody ever will. */
void fiber_switch(fiber *from, fiber *to, int last);
/* The first call of a body: `host`, where it was the host that switched here (NULL: another),
 * receives its own stack, which is not known else. */
void fiber_entered(fiber *host);

#endif
