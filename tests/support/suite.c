#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check tells its parent of every assertion that holds, a message each, to say after which one a
 * test crashed: loops over many values did little else. Here (the linker wraps the function) a
 * thread tells of the first so many at a line, then of one in so many; those that fail are told as
 * before. */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line)
{
    enum { LINES = 64, FIRST = 1000, ONE_IN = 256 };
    static _Thread_local struct {
        const char *file;
        int line;
        unsigned marks;
    } seen[LINES], *at;
    at = &seen[(unsigned)line % LINES];
    if (at->file != file || at->line != line) at->file = file, at->line = line, at->marks = 0;
    if (++at->marks <= FIRST || at->marks % ONE_IN == 0) __real__mark_point(file, line);
}

static int compare_cases(const gsa_case *cases, int count, int argc, char **argv)
{
    int wrong = 0;
    for (int c = 0; c < count; c++) {
        int listed = 0;
        for (int a = 2; a < argc; a++) listed |= strcmp(cases[c].name, argv[a]) == 0;
        if (!listed)
            wrong = 1, fprintf(stderr, "case '%s' is in the program but not in CMakeLists.txt\n",
                               cases[c].name);
    }
    for (int a = 2; a < argc; a++) {
        int known = 0;
        for (int c = 0; c < count; c++) known |= strcmp(cases[c].name, argv[a]) == 0;
        if (!known)
            wrong = 1,
            fprintf(stderr, "case '%s' is in CMakeLists.txt but not in the program\n", argv[a]);
    }
    printf("%d cases listed\n", count);
    return wrong || count == 0;
}

/* A level of vectors that a test needs to force. */
static int gsa_machine_has(const char *backend)
{
#if defined __x86_64__
    if (backend && strcmp(backend, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (backend && strcmp(backend, "avx512") == 0) return wide;
    if (backend && strcmp(backend, "emulated") == 0) /* of AVX-512, where it is not there */
        return !wide && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (backend && strcmp(backend, "neon") == 0) return 0;
#endif
    (void)backend;
    return 1;
}

int gsa_run_suite(const char *name, const gsa_case *cases, int count, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--cases") == 0) return compare_cases(cases, count, argc, argv);
    if (!gsa_machine_has(getenv("GSA_TEST_BACKEND"))) {
        printf("%s: skipped, level %s is not for this machine\n", name, getenv("GSA_TEST_BACKEND"));
        return 77;
    }
    Suite *suite = suite_create(name);
    for (int c = 0; c < count; c++) {
        TCase *tcase = tcase_create(cases[c].name);
        tcase_set_timeout(tcase, cases[c].timeout);
        for (int t = 0; t < cases[c].count; t++) {
            const gsa_test *test = &cases[c].tests[t];
            if (test->loops > 1) tcase_add_loop_test(tcase, test->test, 0, test->loops);
            else tcase_add_test(tcase, test->test);
        }
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (run == 0)
        fprintf(stderr, "%s: no test ran: is CK_RUN_CASE=%s a case of it?\n", name,
                getenv("CK_RUN_CASE") ? getenv("CK_RUN_CASE") : "");
    return failed != 0 || run == 0;
}
