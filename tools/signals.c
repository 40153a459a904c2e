/* signals.c - the first signal asks, the second insists. The flag is the one mutable global of the command: a handler has no other
 * way to speak.
 *
 * The handler runs on a stack of its own. Generated code of matrix products (oneDNN's) keeps data pointers in the stack pointer's
 * register; a signal's frame, a few kilobytes below that register, would be written into whatever tensor it points to. The threads of
 * a backend's team take no signals at all (kernels/team.c). */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include <unistd.h>
#include "verbs.h"

enum { STACK = 1 << 16 }; /* frames hold every vector register: 4 KiB with AVX-512, 12 KiB with AMX */

static volatile sig_atomic_t stop;
static _Alignas(64) char stack[STACK];

static void caught(int number)
{
    if (stop) _exit(GSA_EXIT_SIGNAL + number);
    stop = 1;
}

const volatile sig_atomic_t *gsa_catch_signals(void)
{
    const stack_t own = { .ss_sp = stack, .ss_size = STACK };
    struct sigaction action = { .sa_handler = caught };
    if (sigaltstack(&own, NULL) != 0) return &stop; /* not caught then: a signal ends the process, and spoils nothing */
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stop;
}
