/* signals.c - the first signal asks, the second insists. The flag is the one mutable global of the command: a handler has no other
 * way to speak. */
#include <unistd.h>
#include "verbs.h"

static volatile sig_atomic_t stop;

static void caught(int number)
{
    if (stop) _exit(GSA_EXIT_SIGNAL + number);
    stop = 1;
}

int gsa_signal_came(void)
{
    return stop != 0;
}

const volatile sig_atomic_t *gsa_catch_signals(void)
{
    struct sigaction action = { .sa_handler = caught };
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stop;
}
