/* Products under a limit of memory: the code that oneDNN generates has its room when a backend
 * opens, or the opening is refused. Each test limits a process of its own. */
#include "kernels/backend.h"
#include "kernels/gemm.h"
#include "support/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 200, LITTLE = 1 << 20 };

/* A limit below what the process has refuses all that it asks for from here on. */
static int limit(int which, rlim_t bytes)
{
    struct rlimit now;
    if (getrlimit(which, &now) != 0) return 0;
    now.rlim_cur = bytes;
    return setrlimit(which, &now) == 0;
}

/* Every set of kernels is wanted by some of these; a product that finds no memory may say so. */
static void multiply_all(void)
{
    static const int sizes[] = { 1, 2, 7, 16, 17, 48, 64, MOST };
    static float a[MOST * MOST], b[MOST * MOST], c[MOST * MOST];
    enum { COUNT = sizeof sizes / sizeof *sizes };
    sigset_t before;
    gsa_gemm_begin(&before);
    for (int i = 0; i < COUNT * COUNT * COUNT * 8; i++) {
        const int turn = i % 8, cell = i / 8, m = sizes[cell % COUNT],
                  n = sizes[cell / COUNT % COUNT], k = sizes[cell / COUNT / COUNT];
        gsa_gemm_f32(&(gsa_gemm){ c, a, b, m, n, k, n, turn & 1 ? m : k, turn & 2 ? k : n, turn & 1,
                                  turn >> 1 & 1, turn >> 2 });
    }
    gsa_gemm_end(&before);
}

static int open_and_multiply(int which)
{
    gsa_backend *b = NULL;
    if (!limit(which, (rlim_t)1 << 40)) return 1;
    if (gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL) != GSA_OK) return 2;
    if (!limit(which, LITTLE)) return 3;
    multiply_all();
    gsa_backend_release(b);
    return 0;
}

static int open_without_room(int which)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    free(malloc(1 << 16)); /* the heap has what the backend itself takes */
    if (!limit(which, LITTLE)) return 1;
    if (gsa_backend_ref(NULL, GSA_F32, 1, &b, &error) != GSA_ERR_MEMORY) return 2;
    return strstr(error.text, "32768 kB for the code of matrix products") && !b ? 0 : 3;
}

static void check_in_child(int (*act)(int which), int which)
{
    int status = -1;
#ifdef GSA_SANITIZED /* which takes terabytes of addresses */
    return;
#endif
    if (strncmp(gsa_gemm_library(), "oneDNN", 6) != 0) return; /* no other generates code */
    const pid_t child = fork();
    if (child == 0) _exit(act(which));
    waitpid(child, &status, 0);
    ck_assert_msg(WIFEXITED(status), "signal %d ended it", WTERMSIG(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static const int limits[] = { RLIMIT_AS, RLIMIT_DATA };

START_TEST(a_backend_opens_with_the_code_of_all_products)
{
    check_in_child(open_and_multiply, limits[_i]);
}
END_TEST

START_TEST(a_backend_without_room_for_code_is_refused)
{
    check_in_child(open_without_room, limits[_i]);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test code[] = {
        GSA_LOOP(a_backend_opens_with_the_code_of_all_products, GSA_COUNT(limits)),
        GSA_LOOP(a_backend_without_room_for_code_is_refused, GSA_COUNT(limits)),
    };
    static const gsa_case cases[] = { GSA_CASE("code", code, 60) };
    return gsa_run_suite("kernel_room", cases, GSA_COUNT(cases), argc, argv);
}
