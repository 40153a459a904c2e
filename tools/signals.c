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

/* Who started the program may have had a signal ignored (nohup, trap '' INT, a script's job in the background): it stays so. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

const volatile sig_atomic_t *gsa_catch_signals(void)
{
    handle(SIGINT, caught);
    handle(SIGTERM, caught);
    return &stop;
}
