/* ASan under the kernels: what switches between their threads is compiled without it, here as for
 * the backend's tests, and yet what they read and write out of bounds is seen. GSA_TEST_ASAN is
 * CMake's word: a build that requests ASan and does not get it is red, not skipped. */
#include "stray_kernels.h"
#include "support/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum stray { READ, WRITE_LOCAL, READ_FREED };
typedef struct attempt {
    enum stray what;
    int bytes, at;      /* of the device's block; the element */
    const char *report; /* what ASan says; "": nothing */
} attempt;

/* In the child: nothing here is undefined but what the kernel does. */
static int make(const attempt *a)
{
    void *data = NULL;
    if (cudaMalloc(&data, (size_t)a->bytes) != cudaSuccess ||
        cudaMemsetAsync(data, 0, (size_t)a->bytes, NULL) != cudaSuccess)
        return 3;
    if (a->what == READ_FREED && cudaFree(data) != cudaSuccess) return 3;
    const cudaError_t error =
        a->what == WRITE_LOCAL ? run_write_local(data, a->at) : run_read(data, a->at);
    if (error != cudaSuccess || cudaStreamSynchronize(NULL) != cudaSuccess) return 4;
    return a->what == READ_FREED || cudaFree(data) == cudaSuccess ? 0 : 5;
}

/* In a process of its own, which ASan ends: its status, and what it wrote to stderr. */
static int status_of(const attempt *a, char *said, size_t room)
{
    int ends[2], status = -1;
    size_t used = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        _exit(make(a));
    }
    close(ends[1]);
    char piece[512];
    for (ssize_t got; (got = read(ends[0], piece, sizeof piece)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            if (used + 1 < room) said[used++] = piece[i];
    said[used] = 0;
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "ended with status %d: %s", status, said);
    return WEXITSTATUS(status);
}

static void compare(const attempt *a)
{
    char said[16 << 10], first[96];
    const int status = status_of(a, said, sizeof said);
    if (*a->report == 0) {
        ck_assert_msg(status == 0 && *said == 0, "status %d: %s", status, said);
        return;
    }
    snprintf(first, sizeof first, "AddressSanitizer: %s ", a->report);
    ck_assert_msg(strstr(said, first) != NULL, "no \"%s\", status %d: %s", first, status, said);
    ck_assert_int_ne(status, 0);
}

/* Blocks of a multiple of 256 bytes, to which the executor aligns them, and not; what goes wrong
 * is next to what just does not. */
static const attempt of_kernels[] = {
    { READ, 1024, 255, "" },
    { READ, 1024, 256, "heap-buffer-overflow" },
    { READ, 100, 24, "" },
    { READ, 100, 25, "heap-buffer-overflow" },
    { WRITE_LOCAL, 100, 7, "" },
    { WRITE_LOCAL, 100, 8, "stack-buffer-overflow" },
    { READ_FREED, 100, 3, "heap-use-after-free" },
};

START_TEST(what_kernels_do_is_seen)
{
    compare(&of_kernels[_i]);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test kernels[] = { GSA_LOOP(what_kernels_do_is_seen, GSA_COUNT(of_kernels)) };
    static const gsa_case cases[] = { GSA_CASE("kernels", kernels, 30) };
    if (!GSA_TEST_ASAN && argc == 1) {
        puts("strays: skipped, this build is without AddressSanitizer");
        return 77;
    }
    return gsa_run_suite("strays", cases, GSA_COUNT(cases), argc, argv);
}
