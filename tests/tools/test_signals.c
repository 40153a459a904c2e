/* A handler of the command never writes to the stack that it finds: generated matrix products keep data pointers in its register. */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include <signal.h>
#include "tests/support/suite.h"
#include "tools/verbs.h"

START_TEST(handlers_have_their_own_stack)
{
    static const int number[] = { SIGINT, SIGTERM };
    const volatile sig_atomic_t *stop = gsa_catch_signals();
    stack_t own = { 0 };
    ck_assert_int_eq(sigaltstack(NULL, &own), 0);
    ck_assert_int_eq(own.ss_flags & SS_DISABLE, 0);
    ck_assert_uint_ge(own.ss_size, 32768);
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        ck_assert_int_eq(sigaction(number[i], NULL, &now), 0);
        ck_assert(now.sa_handler != SIG_DFL);
        ck_assert_int_ne(now.sa_flags & SA_ONSTACK, 0);
    }
    ck_assert_int_eq(*stop, 0);
    raise(SIGTERM);
    ck_assert_int_eq(*stop, 1);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test own[] = { GSA_TEST(handlers_have_their_own_stack) };
    static const gsa_case cases[] = { GSA_CASE("own", own, 10) };
    return gsa_run_suite("signals", cases, GSA_COUNT(cases), argc, argv);
}
