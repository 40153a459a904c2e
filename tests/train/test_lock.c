/* One process at a time in a folder; lines of several in one file. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gsa/scratch.h"
#include "rig.h"
#include "support/suite.h"
#include "train/driver/leftovers.h"
#include "train/driver/lock.h"
#include "train/use/checkpoint_mean.h"
#include "train/runs/results.h"

/* A process that has the folder's lock, once this returns. */
static pid_t holder_of(const char *folder)
{
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        gsa_lock lock;
        byte = gsa_lock_folder(gsa_system_default(), folder, &lock, NULL) == GSA_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1) pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void kill_now(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
}

START_TEST(one_at_a_time)
{
    gsa_scratch s;
    gsa_lock lock, second;
    gsa_error error;
    char wanted[400];
    gsa_scratch_open(&s);
    const pid_t child = holder_of(s.folder);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    snprintf(wanted, sizeof wanted, "folder '%s' is in use: process %ld writes there", s.folder,
             (long)child);
    ck_assert_msg(strstr(error.text, wanted), "%s", error.text);
    gsa_lock_release(&lock); /* of a refusal: nothing */
    kill_now(child);
    ck_assert(gsa_exists(
        gsa_scratch_path(&s, "lock"))); /* a killed process leaves its file, which locks nothing */
    for (int round = 0; round < 3; round++) {
        ck_assert_msg(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error) == GSA_OK,
                      "%s", error.text);
        ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &second, &error),
                         GSA_ERR_ARGUMENT);
        snprintf(wanted, sizeof wanted, "process %ld writes", (long)getpid());
        ck_assert_msg(strstr(error.text, wanted), "%s", error.text);
        gsa_lock_release(&lock);
        ck_assert(!gsa_exists(gsa_scratch_path(&s, "lock")));
    }
    gsa_scratch_close(&s);
}
END_TEST

/* As a run writes it. */
static void put_config(rig *r)
{
    int64_t bytes;
    rig_train_ok(r, "other");
    char *text = gsa_get_file(gsa_scratch_path(&r->scratch, "other/config.ini"), &bytes);
    gsa_put_file(gsa_scratch_path(&r->scratch, "run/config.ini"), text, bytes);
    free(text);
}

/* A link that waits in a run's folder under the name of a run's file is replaced, what it names
 * stays. */
START_TEST(a_run_writes_through_no_link)
{
    static const char *const files[] = { "outcomes.jsonl", "result.json", "log.jsonl",
                                         "curve.svg" };
    rig r;
    int64_t bytes;
    rig_open(&r, rig_summation, GSA_F32, 1);
    char *other = strdup(gsa_scratch_path(&r.scratch, "precious"));
    gsa_put_file(other, "precious", 8);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&r.scratch, "run"), 0700), 0);
    static const char *const steps[] = { "step-4", "step-2.old-gsa", "step-2.tmp-gsa" };
    for (int i = 0; i < 3; i++) {
        char folder[256];
        snprintf(folder, sizeof folder, "%s", gsa_scratch_path(&r.scratch, "run/%s", steps[i]));
        ck_assert_int_eq(mkdir(folder, 0700), 0);
        ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(r.error.text, steps[i]) != NULL, "%s", r.error.text);
        ck_assert_int_eq(rmdir(folder), 0);
    }
    put_config(&r);
    for (int i = 0; i < GSA_COUNT(files); i++)
        ck_assert_int_eq(symlink(other, gsa_scratch_path(&r.scratch, "run/%s", files[i])), 0);
    rig_train_ok(&r, "run");
    char *text = gsa_get_file(other, &bytes);
    ck_assert(bytes == 8 && memcmp(text, "precious", 8) == 0);
    for (int i = 0; i < GSA_COUNT(files); i++) {
        struct stat found;
        ck_assert_int_eq(lstat(gsa_scratch_path(&r.scratch, "run/%s", files[i]), &found), 0);
        ck_assert_msg(S_ISREG(found.st_mode), "%s", files[i]);
    }
    free(text), free(other);
    rig_close(&r);
}
END_TEST

/* gsa average writes as a training does: not next to another process, and leaves no lock. */
START_TEST(a_mean_is_written_alone)
{
    rig r;
    char run[300], out[300];
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_train_ok(&r, "run");
    snprintf(run, sizeof run, "%s/run", r.scratch.folder);
    snprintf(out, sizeof out, "%s/mean", r.scratch.folder);
    const gsa_checkpoint_mean_options options = { .run = run, .out = out, .last = 1 };
    ck_assert_int_eq(mkdir(out, 0700), 0);
    const pid_t child = holder_of(out);
    ck_assert_int_eq(gsa_checkpoint_mean(NULL, &options, NULL, NULL, &r.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "/mean' is in use") != NULL, "%s", r.error.text);
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "mean/latest")));
    kill_now(child);
    const pid_t reader = holder_of(run); /* a run that trains */
    ck_assert_msg(gsa_checkpoint_mean(NULL, &options, NULL, NULL, &r.error) == GSA_OK, "%s",
                  r.error.text);
    kill_now(reader);
    ck_assert(gsa_exists(gsa_scratch_path(&r.scratch, "mean/latest")) &&
              !gsa_exists(gsa_scratch_path(&r.scratch, "mean/lock")));
    rig_close(&r);
}
END_TEST

/* What no run wrote under that name is neither waited for nor overwritten. */
/* The folder was moved while its run wrote: the name may be another run's by now. */
START_TEST(the_lock_of_another_run_stays)
{
    gsa_scratch s;
    gsa_lock first, second;
    gsa_error error;
    char moved[400], folder[400];
    gsa_scratch_open(&s);
    snprintf(folder, sizeof folder, "%s", gsa_scratch_path(&s, "run"));
    snprintf(moved, sizeof moved, "%s", gsa_scratch_path(&s, "moved"));
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), folder, &first, &error), GSA_OK);
    ck_assert_int_eq(rename(folder, moved), 0);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), folder, &second, &error), GSA_OK);
    gsa_lock_release(&first);
    ck_assert(gsa_exists(gsa_scratch_path(&s, "run/lock")));
    gsa_lock_release(&second);
    ck_assert(!gsa_exists(gsa_scratch_path(&s, "run/lock")));
    gsa_scratch_close(&s);
}
END_TEST

START_TEST(what_is_no_lock_is_left_alone)
{
    gsa_scratch s;
    gsa_lock lock;
    gsa_error error;
    char path[400], other[400];
    gsa_scratch_open(&s);
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&s, "lock"));
    snprintf(other, sizeof other, "%s", gsa_scratch_path(&s, "precious"));
    gsa_put_file(other, "precious\n", 9);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "/lock' is no regular file, not the lock of a run") != NULL,
                  "%s", error.text);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(other, path), 0);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "/lock' is a link, not the lock of a run") != NULL, "%s",
                  error.text);
    int64_t bytes;
    char *text = gsa_get_file(other, &bytes);
    ck_assert(bytes == 9 && memcmp(text, "precious\n", 9) == 0);
    free(text);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/nonexistent/made", path),
                     0); /* what a link names is not made either */
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_int_eq(unlink(path), 0);
    gsa_put_file(path, "precious\n", 9);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "/lock' is a file with other text") != NULL, "%s", error.text);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "/lock' is a folder") != NULL, "%s", error.text);
    ck_assert_int_eq(rmdir(path), 0);
    gsa_put_file(path, "4711\n", 5); /* of a process that was killed */
    ck_assert_msg(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error) == GSA_OK, "%s",
                  error.text);
    gsa_lock_release(&lock);
    gsa_scratch_close(&s);
}
END_TEST

/* What a run writes is its process's number and a line end: anything else is a user's. */
START_TEST(a_number_of_no_run_stays)
{
    static const char *const texts[] = { "4711",      "00123456789012345678901234567",
                                         "0\n",       "04711\n",
                                         "4194305\n", "99999999\n",
                                         "\n",        "4711\n\n",
                                         "4711 \n",   "12345678901234567890123456789012\n" };
    gsa_scratch s;
    gsa_lock lock;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&s);
    for (int i = 0; i < GSA_COUNT(texts); i++) {
        gsa_put_file(gsa_scratch_path(&s, "lock"), texts[i], (int64_t)strlen(texts[i]));
        ck_assert_msg(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error) ==
                          GSA_ERR_ARGUMENT,
                      "%s", texts[i]);
        ck_assert_msg(strstr(error.text, "/lock' is a file with other text") != NULL, "%s",
                      error.text);
        char *text = gsa_get_file(gsa_scratch_path(&s, "lock"), &bytes);
        ck_assert(bytes == (int64_t)strlen(texts[i]) && memcmp(text, texts[i], bytes) == 0);
        free(text);
    }
    gsa_put_file(gsa_scratch_path(&s, "lock"), "4194304\n", 8);
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error), GSA_OK);
    gsa_lock_release(&lock);
    ck_assert(!gsa_exists(gsa_scratch_path(&s, "lock")));
    gsa_scratch_close(&s);
}
END_TEST

/* A user's, or of a run that was killed before it wrote its number: it locks, and stays empty. */
START_TEST(an_empty_lock_stays)
{
    gsa_scratch s;
    gsa_lock lock, second;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&s);
    gsa_put_file(gsa_scratch_path(&s, "lock"), "", 0);
    for (int round = 0; round < 2; round++) {
        ck_assert_msg(gsa_lock_folder(gsa_system_default(), s.folder, &lock, &error) == GSA_OK,
                      "%s", error.text);
        ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &second, &error),
                         GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(error.text, "is in use: another process writes") != NULL, "%s",
                      error.text);
        gsa_lock_release(&lock);
        free(gsa_get_file(gsa_scratch_path(&s, "lock"), &bytes));
        ck_assert_int_eq(bytes, 0);
    }
    gsa_scratch_close(&s);
}
END_TEST

#define TMP ".tmp-gsa-00000f00"
START_TEST(what_a_kill_left_is_removed)
{
    static const char *const names[] = { "config.ini" TMP "0a1b",  "log.jsonl" TMP "ffff",
                                         "curve.svg" TMP "1234",   "result.json" TMP "0000",
                                         "notes" TMP "0a1b",       "config.ini" TMP "0A1B",
                                         "config.ini" TMP "0a1bc", "log.jsonl.tmp-abcd",
                                         "log.jsonl.tmp-gsa-0a1b" };
    gsa_scratch s;
    gsa_scratch_open(&s);
    for (int i = 0; i < GSA_COUNT(names); i++)
        gsa_put_file(gsa_scratch_path(&s, "%s", names[i]), "x", 1);
    ck_assert_int_eq(symlink("notes" TMP "0a1b", gsa_scratch_path(&s, "log.jsonl" TMP "1111")), 0);
    ck_assert_int_eq(gsa_remove_leftovers(gsa_system_default(), s.folder, NULL), GSA_OK);
    for (int i = 0; i < GSA_COUNT(names); i++)
        ck_assert_msg(gsa_exists(gsa_scratch_path(&s, "%s", names[i])) == (i >= 4), "%s", names[i]);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&s, "log.jsonl" TMP "1111")), 1);
    gsa_scratch_close(&s);
}
END_TEST

/* The file of that name is gone where it was to be emptied, as when another process releases its
 * lock just then: tried again. */
static int truncate_too_late(void *user, const char *path, int64_t bytes)
{
    int *late = user;
    if (*late > 0) --*late, unlink(path);
    return gsa_system_default()->truncate(NULL, path, bytes);
}

START_TEST(a_lock_may_vanish)
{
    gsa_scratch s;
    gsa_lock lock;
    gsa_error error = { 0 };
    int late = 3;
    gsa_system system = *gsa_system_default();
    system.truncate = truncate_too_late, system.user = &late;
    gsa_scratch_open(&s);
    ck_assert_msg(gsa_lock_folder(&system, s.folder, &lock, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(late, 0);
    gsa_lock second;
    ck_assert_int_eq(gsa_lock_folder(gsa_system_default(), s.folder, &second, &error),
                     GSA_ERR_ARGUMENT);
    gsa_lock_release(&lock);
    ck_assert(!gsa_exists(gsa_scratch_path(&s, "lock")));
    gsa_scratch_close(&s);
}
END_TEST

static int64_t write_one(void *user, int file, const void *bytes, int64_t count)
{
    return gsa_system_default()->write(user, file, bytes, count > 1 ? 1 : count);
}

START_TEST(a_write_may_be_short)
{
    gsa_scratch s;
    gsa_lock lock;
    gsa_error error = { 0 };
    char number[32], *text;
    int64_t bytes;
    gsa_system system = *gsa_system_default();
    system.write = write_one;
    gsa_scratch_open(&s);
    ck_assert_msg(gsa_lock_folder(&system, s.folder, &lock, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(
        gsa_read_file(NULL, gsa_scratch_path(&s, "lock"), sizeof number, &text, &bytes, NULL),
        GSA_OK);
    snprintf(number, sizeof number, "%ld\n", (long)getpid());
    ck_assert_str_eq(text, number);
    gsa_release(gsa_system_default(), text);
    gsa_lock_release(&lock);
    gsa_scratch_close(&s);
}
END_TEST

/* Whoever comes and goes, at most one is inside: each makes a folder there that must not be there,
 * and takes it away. */
START_TEST(many_come_and_go)
{
    enum { PROCESSES = 4, ROUNDS = 300, TWO = 1, REFUSED = 2 };
    gsa_scratch s;
    pid_t child[PROCESSES];
    gsa_scratch_open(&s);
    const char *inside = strdup(gsa_scratch_path(&s, "inside"));
    const gsa_system *system = gsa_system_default();
    for (int c = 0; c < PROCESSES; c++) {
        child[c] = fork();
        if (child[c] != 0) continue;
        gsa_error error;
        for (int got = 0; got < ROUNDS;) {
            gsa_lock lock;
            const gsa_status status = gsa_lock_folder(system, s.folder, &lock, &error);
            if (status == GSA_ERR_ARGUMENT) continue;
            if (status != GSA_OK) _exit(REFUSED);
            if (system->make_folder(NULL, inside) < 0 || system->remove(NULL, inside) < 0)
                _exit(TWO);
            gsa_lock_release(&lock);
            got++;
        }
        _exit(0);
    }
    for (int c = 0; c < PROCESSES; c++) {
        int status;
        ck_assert_int_eq(waitpid(child[c], &status, 0), child[c]);
        ck_assert_msg(status == 0, "process %d: %s", c,
                      WEXITSTATUS(status) == TWO ? "two were inside at once"
                                                 : "an error that is no refusal");
    }
    free((void *)(uintptr_t)inside);
    gsa_scratch_close(&s);
}
END_TEST

/* A run is refused its folder while another trains there, and goes on once that one was killed. */
START_TEST(runs_are_refused)
{
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "run/lock")));
    const pid_t child = holder_of(gsa_scratch_path(&r.scratch, "run"));
    rig_set(&r, "train.epochs=2");
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "/run' is in use: process ") != NULL, "%s", r.error.text);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "/run' is in use: process ") != NULL, "%s", r.error.text);
    kill_now(child);
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "epochs"), 2);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "holds a run already") != NULL, "%s", r.error.text);
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "run/lock")));
    rig_close(&r);
}
END_TEST

/* No file that a run did not write is overwritten; those that a killed run left are. */
START_TEST(what_is_of_no_run_stays)
{
    static const char *const names[] = { "config.ini", "curve.svg", "log.jsonl", "outcomes.jsonl",
                                         "result.json" };
    char path[64], said[96];
    int64_t bytes;
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.epochs=1");
    ck_assert_int_eq(mkdir(gsa_scratch_path(&r.scratch, "run"), 0700), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "run/%s", names[i]);
        snprintf(said, sizeof said, "/%s' is not of a run", path);
        gsa_put_file(gsa_scratch_path(&r.scratch, path), "keep\n", 5);
        ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(r.error.text, said) != NULL, "%s", r.error.text);
        char *text = gsa_get_file(gsa_scratch_path(&r.scratch, path), &bytes);
        ck_assert(bytes == 5 && memcmp(text, "keep\n", 5) == 0);
        free(text);
        ck_assert_int_eq(remove(gsa_scratch_path(&r.scratch, path)), 0);
    }
    static const char *const steps[] = { "step-4", "step-2.old-gsa", "step-2.tmp-gsa" };
    for (int i = 0; i < 3; i++) {
        char folder[256];
        snprintf(folder, sizeof folder, "%s", gsa_scratch_path(&r.scratch, "run/%s", steps[i]));
        ck_assert_int_eq(mkdir(folder, 0700), 0);
        ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(r.error.text, steps[i]) != NULL, "%s", r.error.text);
        ck_assert_int_eq(rmdir(folder), 0);
    }
    put_config(&r);
    gsa_put_file(gsa_scratch_path(&r.scratch, "run/log.jsonl"), "{\"kind\":\"environment\"}\n", 23);
    gsa_put_file(gsa_scratch_path(&r.scratch, "run/curve.svg"), "<svg", 4);
    ck_assert_msg(rig_train(&r, "run") == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

static int lines_of(const char *path)
{
    int64_t bytes;
    int lines = 0;
    char *text = gsa_get_file(path, &bytes);
    for (int64_t i = 0; i < bytes; i++) lines += text[i] == '\n';
    ck_assert(bytes == 0 || text[bytes - 1] == '\n');
    free(text);
    return lines;
}

START_TEST(lines_of_several_processes_are_whole)
{
    enum { PROCESSES = 4, LINES = 25 };
    gsa_scratch s;
    gsa_results *all;
    gsa_error error;
    pid_t child[PROCESSES];
    gsa_scratch_open(&s);
    const char *path = strdup(gsa_scratch_path(&s, "all.jsonl"));
    gsa_put_file(path, "{\"task\": \"no end\"}", 18);
    for (int c = 0; c < PROCESSES; c++) {
        child[c] = fork();
        for (int i = 0; child[c] == 0 && i < LINES; i++) {
            char line[6000];
            snprintf(line, sizeof line,
                     "{\"task\": \"t\", \"run\": \"%d\", \"setting\": \"%d\", \"seed\": %d, "
                     "\"text\": \"%05000d\"}",
                     i, c, i, c);
            if (gsa_results_put_into(NULL, path, 0, line, NULL) != GSA_OK) _exit(1);
        }
        if (child[c] == 0) _exit(0);
    }
    for (int c = 0; c < PROCESSES; c++) {
        int status;
        ck_assert_int_eq(waitpid(child[c], &status, 0), child[c]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(lines_of(path), PROCESSES * LINES + 1);
    ck_assert_int_eq(gsa_results_create(NULL, &all, &error), GSA_OK);
    ck_assert_msg(gsa_results_read(all, gsa_system_default(), path, &error) == GSA_OK, "%s",
                  error.text);
    gsa_results_release(all);
    /* the same again: nothing; other figures: the later line counts */
    static const char *const again[] = {
        "{\"task\": \"t\", \"run\": \"a\", \"setting\": \"s\", \"dev_x\": 1.5}",
        "{\"dev_x\": 1.5, \"run\": \"a\", \"setting\": \"s\", \"task\": \"t\"}",
        "{\"task\": \"t\", \"run\": \"a\", \"setting\": \"s\", \"dev_x\": 2.5}"
    };
    static const int more[] = { 1, 1, 2 };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(gsa_results_put_into(NULL, path, 0, again[i], &error), GSA_OK);
        ck_assert_int_eq(lines_of(path), PROCESSES * LINES + 1 + more[i]);
    }
    free((void *)(uintptr_t)path);
    gsa_scratch_close(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test folders[] = { GSA_TEST(one_at_a_time),
                                        GSA_TEST(the_lock_of_another_run_stays),
                                        GSA_TEST(what_is_no_lock_is_left_alone),
                                        GSA_TEST(a_number_of_no_run_stays),
                                        GSA_TEST(an_empty_lock_stays),
                                        GSA_TEST(what_a_kill_left_is_removed),
                                        GSA_TEST(a_lock_may_vanish),
                                        GSA_TEST(a_write_may_be_short),
                                        GSA_TEST(many_come_and_go),
                                        GSA_TEST(runs_are_refused),
                                        GSA_TEST(a_run_writes_through_no_link),
                                        GSA_TEST(what_is_of_no_run_stays),
                                        GSA_TEST(a_mean_is_written_alone) };
    static const gsa_test lines[] = { GSA_TEST(lines_of_several_processes_are_whole) };
    static const gsa_case cases[] = { GSA_CASE("folders", folders, 60),
                                      GSA_CASE("lines", lines, 60) };
    return gsa_run_suite("lock", cases, GSA_COUNT(cases), argc, argv);
}
