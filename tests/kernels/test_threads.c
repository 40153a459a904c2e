/* Same inputs, same bits, for 1, 2, 3, 8 and 16 threads: every op, gradients with labels, products
 * of awkward shapes. */
#define _DEFAULT_SOURCE
#include "kernels/gemm.h"
#include "kernels/team.h"
#include "op_cases.h"
#include "support/compare.h"
#include "support/guard.h"
#include "support/suite.h"
#include "support/thin.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASES = 31 };
static const int threads[] = { 1, 2, 3, 8, 16 };

/* The hash of one case; 0 when something failed. Also called outside of Check, in a process of its
 * own. */
static uint64_t run(const op_case *op, int shape, int real, int team)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    rig r;
    if (gsa_test_backend(NULL, real, team, &b, &error) != GSA_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 0;
    }
    rig_begin(&r, b, 4000 + (uint64_t)shape, RIG_RANDOM, op->big_shapes[shape]);
    op->setup(&r);
    gsa_status status = op->forward(&r);
    if (status == GSA_OK && op->backward) status = op->backward(&r);
    if (status != GSA_OK) fprintf(stderr, "%s: %s\n", op->name, b->error.text);
    if (status == GSA_OK) rig_fetch(&r);
    const uint64_t hash = status == GSA_OK ? rig_hash(&r) : 0;
    rig_end(&r);
    gsa_backend_release(b);
    return hash;
}

/* Doubles, whose loops are the same source, take every other number of threads. */
static void compare(int i, int real)
{
    const op_case *op = op_case_any(i);
    for (int s = 0; s < op->big_count; s++) {
        const uint64_t want = run(op, s, real, 1);
        ck_assert(want != 0);
        for (int t = GSA_THIN(2); t < GSA_COUNT(threads);
             t += (real == GSA_F64 ? 2 : 1) * GSA_THIN(2))
            ck_assert_msg(run(op, s, real, threads[t]) == want,
                          "%s shape %d: %d threads give other bits than 1", op->name, s,
                          threads[t]);
    }
}

START_TEST(float_bits)
{
    compare(_i, GSA_F32);
}
END_TEST

START_TEST(double_bits)
{
    compare(_i, GSA_F64);
}
END_TEST

/* The same product in a process of its own, started with OMP_NUM_THREADS = `omp`: libraries read it
 * when they are loaded. */
static uint64_t product_elsewhere(int shape, int omp, int team)
{
    char text[3][16];
    int ends[2], status = 0;
    uint64_t hash = 0;
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(text[0], sizeof text[0], "%d", shape);
    snprintf(text[1], sizeof text[1], "%d", team);
    snprintf(text[2], sizeof text[2], "%d", omp);
    const pid_t child = fork();
    if (child == 0) {
        setenv("OMP_NUM_THREADS", text[2], 1);
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_kernel_threads", "--product", text[0], text[1], (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ck_assert_int_eq((int)read(ends[0], &hash, sizeof hash), (int)sizeof hash);
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    close(ends[0]);
    return hash;
}

static int product(const char *shape, const char *team)
{
    const uint64_t hash = run(op_case_at(0), atoi(shape), GSA_F32, atoi(team));
    return write(STDOUT_FILENO, &hash, sizeof hash) == (ssize_t)sizeof hash ? 0 : 1;
}

START_TEST(products_in_separate_processes)
{
    for (int s = 0; s < op_case_at(0)->big_count; s++) {
        const uint64_t want = product_elsewhere(s, 1, 1);
        ck_assert(want != 0);
        for (int t = GSA_THIN(2); t < GSA_COUNT(threads); t += GSA_THIN(2)) {
            ck_assert_msg(product_elsewhere(s, threads[t], 1) == want,
                          "shape %d: OMP_NUM_THREADS=%d", s, threads[t]);
            ck_assert_msg(product_elsewhere(s, 1, threads[t]) == want, "shape %d: %d threads", s,
                          threads[t]);
        }
    }
}
END_TEST

/* Blocks of a product: a step of generation, whose rows are few, is cut by columns where it is
 * large enough. */
START_TEST(few_rows_are_cut_by_columns)
{
    static const struct {
        int64_t m, n, k, rows, chunks, columns;
    } cases[] = {
        { 1, 256, 256, 1, 1, 1 },     { 1, 1024, 256, 1, 1, 1 },  { 1, 1024, 1024, 1, 1, 2 },
        { 1, 4096, 1024, 1, 1, 10 },  { 1, 1024, 4096, 1, 4, 1 }, { 8, 512, 512, 1, 1, 1 },
        { 16, 512, 512, 1, 1, 2 },    { 64, 512, 512, 1, 1, 4 },  { 200, 300, 300, 1, 1, 2 },
        { 200, 100, 1000, 1, 1, 1 },  { 256, 512, 512, 1, 1, 4 }, { 257, 512, 512, 2, 1, 1 },
        { 1, 50000, 1024, 1, 1, 16 },
    };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        const gsa_gemm_cut cut = gsa_gemm_cut_of(cases[i].m, cases[i].n, cases[i].k);
        ck_assert_msg(cut.row_blocks == cases[i].rows && cut.k_chunks == cases[i].chunks &&
                          cut.column_blocks == cases[i].columns,
                      "case %d: %d x %d x %d", i, (int)cut.row_blocks, (int)cut.k_chunks,
                      (int)cut.column_blocks);
    }
}
END_TEST

static int covers(int64_t each, int64_t blocks, int64_t whole)
{
    return each * (blocks - 1) < whole && whole <= each * blocks;
}

START_TEST(blocks_cover_a_product_once)
{
    gsa_dice dice = { 7 };
    int64_t cut_by_columns = 0;
    for (int i = 0; i < 20000; i++) {
        const int64_t m = gsa_between(&dice, 1, 600), n = gsa_between(&dice, 1, 5000),
                      k = gsa_between(&dice, 1, 5000);
        const gsa_gemm_cut cut = gsa_gemm_cut_of(m, n, k);
        cut_by_columns += cut.column_blocks > 1;
        ck_assert_msg(covers(cut.rows, cut.row_blocks, m) &&
                          covers(cut.columns, cut.column_blocks, n) &&
                          covers(cut.k, cut.k_chunks, k),
                      "%d x %d x %d", (int)m, (int)n, (int)k);
    }
    ck_assert_int_gt(cut_by_columns, 500);
}
END_TEST

/* A process that has worked with two threads forks; the child works with one thread. */
START_TEST(child_of_a_parallel_process_works_alone)
{
    const uint64_t want = run(op_case_at(0), 2, GSA_F32, 2);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(run(op_case_at(0), 2, GSA_F32, 1) == want ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- the team itself ----------------------------------------------------------------------- */
enum { ITEMS = 40 };
typedef struct tally {
    atomic_int runs[ITEMS];
} tally;

static void count_item(void *context, int64_t item)
{
    atomic_fetch_add(&((tally *)context)->runs[item], 1);
}

/* Many short loops in a row: a helper that wakes late must not run an item of another loop twice,
 * nor lose one. */
START_TEST(every_item_runs_once)
{
    for (int t = 0; t < GSA_COUNT(threads); t++) {
        gsa_team *team = NULL;
        ck_assert_int_eq(gsa_team_create(gsa_system_default(), threads[t], &team, NULL), GSA_OK);
        int wrong = 0;
        for (int round = 0; round < 5000; round++) {
            tally counts = { 0 };
            const int items = round % (ITEMS + 1);
            gsa_team_run(team, items, count_item, &counts);
            for (int i = 0; i < ITEMS; i++) wrong += atomic_load(&counts.runs[i]) != (i < items);
        }
        ck_assert_int_eq(wrong, 0);
        gsa_team_release(team);
    }
    gsa_team_release(NULL);
}
END_TEST

static void count_in_room(void *context, void *room, int64_t item)
{
    (void)context, (void)item;
    ++*(int64_t *)room; /* by its thread alone */
}

START_TEST(each_thread_has_its_room)
{
    enum { MOST = 8, ROOM = 64, MANY = 20000 };
    for (int count = 1; count <= MOST; count++) {
        _Alignas(ROOM) char rooms[(MOST + 1) * ROOM] = { 0 };
        int64_t sum = 0, own;
        gsa_team *team = NULL;
        ck_assert_int_eq(gsa_team_create(gsa_system_default(), count, &team, NULL), GSA_OK);
        gsa_team_run_in(team, MANY, count_in_room, NULL, rooms, ROOM);
        gsa_team_release(team);
        for (int i = 0; i <= MOST; i++) {
            memcpy(&own, rooms + i * ROOM, sizeof own);
            sum += own;
            ck_assert_msg(i < count || own == 0, "%d threads used room %d", count, i);
        }
        ck_assert_int_eq(sum, MANY);
    }
}
END_TEST

START_TEST(a_team_of_none_is_refused)
{
    static const int bad[] = { 0, -1, 4097 };
    for (int i = 0; i < GSA_COUNT(bad); i++) {
        gsa_team *team = NULL;
        gsa_error error = { 0 };
        char number[16];
        snprintf(number, sizeof number, "%d", bad[i]);
        ck_assert_int_eq(gsa_team_create(gsa_system_default(), bad[i], &team, &error),
                         GSA_ERR_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(error.text, number));
        ck_assert_ptr_null(team);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test floats[] = { GSA_LOOP(float_bits, CASES) },
                          doubles[] = { GSA_LOOP(double_bits, CASES) };
    static const gsa_test gemm[] = { GSA_TEST(products_in_separate_processes),
                                     GSA_TEST(few_rows_are_cut_by_columns),
                                     GSA_TEST(blocks_cover_a_product_once) };
    static const gsa_test forks[] = { GSA_TEST(child_of_a_parallel_process_works_alone) };
    static const gsa_test team[] = { GSA_TEST(every_item_runs_once),
                                     GSA_TEST(each_thread_has_its_room),
                                     GSA_TEST(a_team_of_none_is_refused) };
    static const gsa_case cases[] = { GSA_CASE("float", floats, 120),
                                      GSA_CASE("double", doubles, 120), GSA_CASE("gemm", gemm, 60),
                                      GSA_CASE("fork", forks, 60), GSA_CASE("team", team, 60) };
    if (argc == 4 && strcmp(argv[1], "--product") == 0) return product(argv[2], argv[3]);
    return gsa_run_suite("kernel_threads", cases, GSA_COUNT(cases), argc, argv);
}
