/* Neither faults, kills nor lost power ever mix two checkpoints. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "drawer.h"
#include "gsa/checkpoint.h"
#include "marked.h"
#include "scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/thin.h"

/* ---- faults -------------------------------------------------------------------------------- */

typedef struct plan {
    int64_t old_step, new_step;
    int keep;
} plan;

/* The n-th call of one sort fails while a second checkpoint is saved. 0: there is no n-th. */
static int fault_once(const plan *p, int op, int n, int forever)
{
    static const int marks[] = { 1, 2, 3, -1 };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_error error = { 0 };
    int mark, warned;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, p->old_step, 1, p->keep);
    gsa_faults_start(&faults);
    faults.fail[op] = n, faults.forever = forever;
    const gsa_status status =
        marked_save(&faults.table, scratch.folder, p->new_step, 2, p->keep, &error);
    const int reached = faults.calls[op] >= n;
    ck_assert_msg(gsa_faults_live(&faults) == 0, "op %d call %d: %lld live", op, n,
                  (long long)gsa_faults_live(&faults));
    ck_assert_msg((status == GSA_OK) == (error.text[0] == 0), "op %d call %d: status %d, '%s'", op,
                  n, (int)status, error.text);
    marked_found(NULL, scratch.folder, marks, &mark, &warned);
    ck_assert_msg(mark == 2 || (mark == 1 && status != GSA_OK),
                  "op %d call %d forever %d: status %d, mark %d", op, n, forever, (int)status,
                  mark);
    if (!forever)
        ck_assert_msg(!warned, "op %d call %d: `latest` does not name what is whole", op, n);
    const int unread = !forever && ((op == GSA_OP_OPEN && n == 1) || (op == GSA_OP_READ && n <= 2));
    if (unread) ck_assert_msg(status == GSA_OK, "the newest manifest cannot be read: not saved");
    else if (op != GSA_OP_KIND && op != GSA_OP_CLOSE && reached)
        ck_assert_msg(status == (op == GSA_OP_ALLOC ? GSA_ERR_MEMORY : GSA_ERR_IO),
                      "op %d call %d: status %d", op, n, (int)status);
    marked_must_save(scratch.folder, p->new_step, 3,
                     p->keep); /* the next save finds nothing in its way, and cleans */
    marked_found(NULL, scratch.folder, marks, &mark, &warned);
    ck_assert_int_eq(mark, 3);
    ck_assert_int_eq(warned, 0);
    ck_assert_int_eq(gsa_count_entries(scratch.folder, ".tmp-gsa") +
                         gsa_count_entries(scratch.folder, ".old-gsa"),
                     0);
    gsa_scratch_close(&scratch);
    return reached;
}

START_TEST(old_or_new_whatever_fails)
{
    static const plan plans[] = { { 1, 2, 2 }, { 1, 2, 1 }, { 5, 5, 1 } };
    int tried = 0;
    for (int op = 0; op < GSA_OPS; op++)
        for (int n = 1, reached = 1; reached; n++) {
            reached = fault_once(&plans[_i], op, n, 0);
            if (reached) fault_once(&plans[_i], op, n, 1), tried += 2;
        }
    ck_assert_int_gt(tried, 100);
}
END_TEST

static gsa_status try_finding(gsa_faults *faults, void *folder)
{
    char *path, *warning;
    const gsa_status status =
        gsa_checkpoint_find(&faults->table, folder, NULL, &path, &warning, NULL);
    gsa_release(&faults->table, path);
    gsa_release(&faults->table, warning);
    return status;
}

START_TEST(finding_with_faults)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    gsa_faults faults;
    int mark, warned;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_finding, scratch.folder),
                     0);
    marked_flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_finding, scratch.folder),
                     0);
    /* a step that cannot be listed is passed over, the folder of all steps is not */
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_LIST, 1, GSA_ERR_IO, try_finding, scratch.folder), 0);
    marked_flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 0);
    char step[300];
    snprintf(step, sizeof step, "%s/step-1", scratch.folder);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_finding, step), 0);
    /* and where there is none, the folder above */
    char *path, *warning;
    gsa_faults_start(&faults);
    ck_assert_int_eq(gsa_make_folders(NULL, gsa_scratch_path(&scratch, "above"), NULL), GSA_OK);
    ck_assert_int_eq(gsa_make_folders(NULL, gsa_scratch_path(&scratch, "above/run"), NULL), GSA_OK);
    marked_must_save(gsa_scratch_path(&scratch, "above/run"), 1, 1, 2);
    for (int n = 1;; n++) {
        gsa_faults_rewind(&faults);
        faults.fail[GSA_OP_ALLOC] = n;
        ck_assert_int_ne(gsa_checkpoint_find(&faults.table, gsa_scratch_path(&scratch, "above"),
                                             NULL, &path, &warning, NULL),
                         GSA_OK);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
        if (faults.calls[GSA_OP_ALLOC] < n) break;
    }
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_READ] =
        5; /* the first two reads are `latest`, the next two the manifest: then the first file */
    ck_assert_str_eq(marked_found(&faults.table, scratch.folder, marks, &mark, &warned), "step-1");
    ck_assert_int_eq(warned, 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- killed -------------------------------------------------------------------------------- */

static void save_for_ever(const char *folder, int64_t step)
{
    for (;; step++)
        if (marked_save(NULL, folder, step, (int)(step % 100), 2, NULL) != GSA_OK) _exit(1);
}

static int64_t step_found(const char *folder)
{
    char *path, *warning;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_checkpoint_find(NULL, folder, NULL, &path, &warning, &error) == GSA_OK, "%s",
                  error.text);
    const int64_t step = atoll(strrchr(path, '-') + 1);
    ck_assert_msg(marked_is(NULL, path, (int)(step % 100)), "%s is mixed", path);
    ck_assert_msg(warning == NULL, "%s", warning);
    gsa_release(NULL, path);
    return step;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The moments lie within the time of three saves, as the slowest of a few took it. */
static int64_t last_moment(const char *folder)
{
    int64_t slowest = 0;
    for (int step = 1; step <= 5; step++) {
        const int64_t start = nanoseconds();
        marked_must_save(folder, step, step, 2);
        const int64_t took = nanoseconds() - start;
        if (took > slowest) slowest = took;
    }
    return 1000000 + (3 * slowest < 300000000 ? 3 * slowest : 300000000);
}

START_TEST(killed_at_any_moment)
{
    enum { KILLS = 250 };
    gsa_dice dice = { 9 };
    gsa_scratch scratch;
    int leftovers = 0;
    gsa_scratch_open(&scratch);
    const int64_t last = last_moment(scratch.folder);
    int64_t step = 5;
    for (int kill_number = 0; kill_number < KILLS; kill_number++) {
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) save_for_ever(scratch.folder, step + 1);
        const struct timespec moment = { 0, gsa_between(&dice, 0, last) };
        nanosleep(&moment, NULL);
        int status;
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFSIGNALED(status), "the child ended by itself, status %d", status);
        const int left = gsa_count_entries(scratch.folder, ".tmp-gsa");
        ck_assert_int_le(left, 1);
        leftovers += left;
        const int64_t now = step_found(scratch.folder);
        ck_assert_int_ge(now, step);
        step = now;
    }
    marked_must_save(scratch.folder, step + 1, 0, 2);
    ck_assert_int_eq(gsa_count_entries(scratch.folder, ".tmp-gsa"), 0);
    printf("%d kills, step %lld reached, %d leftovers, 0 unreadable\n", KILLS, (long long)step,
           leftovers);
    ck_assert_int_gt(leftovers, 0); /* else no save was cut */
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- power loss ---------------------------------------------------------------------------- */

/* The power goes after `power` changes of the second save. Returns 0 when it came to its end
 * before. */
static int power_lost(const plan *p, int64_t power, gsa_dice *dice)
{
    static const int marks[] = { 1, 2, 3, -1 };
    gsa_drawer drawer;
    gsa_error error = { 0 };
    int mark, warned;
    gsa_drawer_open(&drawer);
    ck_assert_int_eq(marked_save(&drawer.table, "/runs/one", p->old_step, 1, p->keep, NULL),
                     GSA_OK);
    gsa_drawer_power_cycle(&drawer, dice); /* what was promised is kept */
    marked_found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_int_eq(mark, 1);
    drawer.power = power;
    const gsa_status status =
        marked_save(&drawer.table, "/runs/one", p->new_step, 2, p->keep, NULL);
    const int cut = drawer.dead;
    ck_assert_int_eq(status != GSA_OK, cut);
    gsa_drawer_power_cycle(&drawer, dice);
    const char *name = marked_found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_msg(mark == 2 || (mark == 1 && status != GSA_OK),
                  "change %lld: found '%s' with mark %d in '%s'", (long long)power, name, mark,
                  marked_names(&drawer.table, "/runs/one"));
    ck_assert_msg(!warned || p->old_step == p->new_step,
                  "change %lld: `latest` names what is not whole", (long long)power);
    const gsa_status again =
        marked_save(&drawer.table, "/runs/one", p->new_step + 1, 3, p->keep, &error);
    ck_assert_msg(again == GSA_OK, "change %lld: %s", (long long)power, error.text);
    marked_found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_int_eq(mark, 3);
    ck_assert_int_eq(warned, 0);
    const char *left = marked_names(&drawer.table, "/runs/one");
    ck_assert_msg(!strstr(left, ".tmp") && !strstr(left, ".old-gsa"), "%s", left);
    gsa_drawer_close(&drawer);
    return cut;
}

START_TEST(old_or_new_without_power)
{
    enum { ROLLS = 12 / GSA_THIN(2) };
    static const plan plans[] = { { 1, 2, 2 }, { 1, 2, 1 }, { 5, 5, 1 } };
    int runs = 0;
    for (int64_t power = 1, cut = 1; cut; power++)
        for (int roll = 0; roll < ROLLS && cut; roll++, runs++) {
            gsa_dice dice = { (uint64_t)(power * 1000 + roll) };
            cut = power_lost(&plans[_i], power, &dice);
        }
    printf("%d power cycles\n", runs);
    ck_assert_int_gt(runs, 200 / GSA_THIN(2));
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test faults[] = { GSA_LOOP(old_or_new_whatever_fails, 3),
                                       GSA_TEST(finding_with_faults) };
    static const gsa_test killed[] = { GSA_TEST(killed_at_any_moment) };
    static const gsa_test power[] = { GSA_LOOP(old_or_new_without_power, 3) };
    static const gsa_case cases[] = { GSA_CASE("faults", faults, 120),
                                      GSA_CASE("killed", killed, 120),
                                      GSA_CASE("power_loss", power, 120) };
    return gsa_run_suite("checkpoint_faults", cases, GSA_COUNT(cases), argc, argv);
}
