/* Checkpoints: what a save writes, keeps and removes. */
#include <errno.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gsa/checkpoint_parts.h"
#include "gsa/hash.h"
#include "marked.h"
#include "scratch.h"
#include "support/suite.h"

START_TEST(manifest_is_what_sha256sum_checks)
{
    gsa_scratch scratch;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 12, 1, 1);
    ck_assert_str_eq(MARKED_NAMES(scratch), "latest step-12");
    ck_assert_str_eq(marked_names(gsa_system_default(), gsa_scratch_path(&scratch, "step-12")),
                     "config.ini manifest.sha256 model.safetensors state");
    char *latest = gsa_get_file(gsa_scratch_path(&scratch, "latest"), &bytes);
    ck_assert_str_eq(latest, "step-12\n");
    char *manifest = gsa_get_file(gsa_scratch_path(&scratch, "step-12/manifest.sha256"), &bytes),
         expected[512] = "", hex[65];
    for (int f = 0; f < MARKED_FILES; f++) {
        static char content[MARKED_BIG];
        gsa_sha256 hash;
        marked_fill(content, 1, f);
        gsa_sha256_start(&hash);
        gsa_sha256_add(&hash, content, marked_size[f]);
        gsa_sha256_end(&hash, hex);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s  %s\n", hex,
                 marked_file[f]);
    }
    strcat(expected, "# 3 files of step-12\n");
    ck_assert_str_eq(manifest, expected);
    char command[512];
    snprintf(command, sizeof command,
             "cd '%s/step-12' && { command -v sha256sum >/dev/null || exit 0; sha256sum -c "
             "--strict --quiet manifest.sha256; }",
             scratch.folder);
    ck_assert_int_eq(system(command), 0);
    free(latest);
    free(manifest);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(so_many_stay)
{
    static const char *const left[][3] = {
        { "latest step-1", "latest step-1", "latest step-1" },
        { "latest step-2", "latest step-1 step-2", "latest step-1 step-2" },
        { "latest step-3", "latest step-2 step-3", "latest step-1 step-2 step-3" },
        { "latest step-4", "latest step-3 step-4", "latest step-2 step-3 step-4" },
    };
    for (int keep = 1; keep <= 3; keep++) {
        gsa_scratch scratch;
        gsa_scratch_open(&scratch);
        for (int step = 1; step <= GSA_COUNT(left); step++) {
            marked_must_save(scratch.folder, step, step, keep);
            ck_assert_str_eq(MARKED_NAMES(scratch), left[step - 1][keep - 1]);
        }
        gsa_scratch_close(&scratch);
    }
}
END_TEST

/* What is there cannot be renamed, what is being written can. */
static int rename_new(void *user, const char *from, const char *to)
{
    (void)user;
    if (!strstr(from, ".tmp-gsa")) return errno = EXDEV, -1;
    return gsa_system_default()->rename(NULL, from, to);
}

START_TEST(steps_of_an_overlay_s_lower_layer_go)
{
    gsa_scratch scratch;
    gsa_error error = { 0 };
    gsa_system table = *gsa_system_default();
    table.rename = rename_new;
    gsa_scratch_open(&scratch);
    for (int step = 1; step <= 3; step++) marked_must_save(scratch.folder, step, step, 3);
    const gsa_status status = marked_save(&table, scratch.folder, 4, 4, 2, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    ck_assert_str_eq(MARKED_NAMES(scratch), "latest step-3 step-4");
    gsa_scratch_close(&scratch);
}
END_TEST

/* A run taken up from step 10 of 10, 20, 30 writes 15: the steps of the other line go first. */
START_TEST(previous_stays_and_not_the_abandoned)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    for (int step = 10; step <= 30; step += 10) marked_must_save(scratch.folder, step, step, 3);
    marked_must_save(scratch.folder, 15, 15, 2);
    ck_assert_str_eq(MARKED_NAMES(scratch), "latest step-10 step-15");
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(same_step_again)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    int mark, warned;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 0, 1, 2);
    marked_must_save(scratch.folder, 0, 2, 2);
    ck_assert_str_eq(MARKED_NAMES(scratch), "latest step-0");
    ck_assert_str_eq(marked_found(NULL, scratch.folder, marks, &mark, &warned), "step-0");
    ck_assert_int_eq(mark, 2);
    ck_assert_int_eq(warned, 0);
    gsa_scratch_close(&scratch);
}
END_TEST

#define TMP ".tmp-gsa-00000f000a1b"
START_TEST(leftovers_go_and_others_stay)
{
    gsa_scratch scratch;
    char old[300];
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 3);
    marked_must_save(scratch.folder, 2, 2, 3);
    marked_copy(scratch.folder, "step-1", "step-7.tmp-gsa");
    marked_copy(scratch.folder, "step-1", "step-2.old-gsa"); /* next to its step-2: removed */
    marked_must_save(scratch.folder, 4, 1, 3);
    snprintf(old, sizeof old, "%s", gsa_scratch_path(&scratch, "step-4.old-gsa"));
    ck_assert_int_eq(rename(gsa_scratch_path(&scratch, "step-4"), old), 0); /* alone: put back */
    marked_copy(scratch.folder, "step-1", "step-x");
    marked_copy(scratch.folder, "step-1", "step-007");
    marked_copy(scratch.folder, "step-1", "step-007.tmp-gsa");
    gsa_put_file(gsa_scratch_path(&scratch, "latest" TMP), "step", 4);
    gsa_put_file(gsa_scratch_path(&scratch, "notes.tmp"), "mine", 4);
    marked_must_save(scratch.folder, 5, 5, 3);
    ck_assert_str_eq(MARKED_NAMES(scratch),
                     "latest notes.tmp step-007 step-007.tmp-gsa step-2 step-4 step-5 step-x");
    gsa_scratch_close(&scratch);
}
END_TEST

/* Links to another run's checkpoints, and folders that hold more than plain files, are not this
 * run's. */
START_TEST(what_is_linked_is_never_removed)
{
    static const char *const links[] = { "step-1", "step-2.tmp-gsa", "step-3.old-gsa",
                                         "step-9.old-gsa", "latest" TMP };
    gsa_scratch scratch;
    char precious[300];
    gsa_scratch_open(&scratch);
    snprintf(precious, sizeof precious, "%s", gsa_scratch_path(&scratch, "precious"));
    ck_assert_int_eq(mkdir(precious, 0700), 0);
    snprintf(precious + strlen(precious), 20, "/file");
    gsa_put_file(precious, "kept", 4);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run"), 0700), 0);
    for (int i = 0; i < GSA_COUNT(links); i++)
        ck_assert_int_eq(symlink("../precious", gsa_scratch_path(&scratch, "run/%s", links[i])), 0);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-4"), 0700), 0);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-4/inner"), 0700), 0);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-5.tmp-gsa"), 0700), 0);
    ck_assert_int_eq(
        symlink("../../precious/file", gsa_scratch_path(&scratch, "run/step-5.tmp-gsa/state")), 0);
    for (int step = 6; step < 9; step++)
        marked_must_save(gsa_scratch_path(&scratch, "run"), step, step, 1);
    ck_assert_str_eq(
        marked_names(gsa_system_default(), gsa_scratch_path(&scratch, "run")),
        "latest latest" TMP
        " step-1 step-2.tmp-gsa step-3.old-gsa step-4 step-5.tmp-gsa step-8 step-9.old-gsa");
    ck_assert_int_eq(gsa_exists(precious), 1);
    ck_assert_int_eq(
        gsa_system_default()->clear_folder(NULL, gsa_scratch_path(&scratch, "run/step-1")), -1);
    ck_assert_int_eq(
        gsa_system_default()->clear_folder(NULL, gsa_scratch_path(&scratch, "run/step-5.tmp-gsa")),
        -1);
    ck_assert_int_eq(gsa_exists(precious), 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A user's folder with a step's name, and a user's file in a step. */
START_TEST(what_a_user_put_there_is_never_removed)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "step-1"), 0700), 0);
    gsa_put_file(gsa_scratch_path(&scratch, "step-1/thesis.txt"), "kept", 4);
    marked_must_save(scratch.folder, 2, 2, 1);
    gsa_put_file(gsa_scratch_path(&scratch, "step-2/notes"), "kept", 4);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "step-3"), 0700), 0);
    gsa_put_file(gsa_scratch_path(&scratch, "step-3/state"), "kept", 4); /* no run wrote it */
    marked_must_save(scratch.folder, 4, 4, 1);
    marked_copy(scratch.folder, "step-4", "step-4.old");
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "step-7"), 0700), 0);
    gsa_put_file(gsa_scratch_path(&scratch, "step-7/state"), "kept", 4);
    for (int step = 5; step < 9; step++) marked_must_save(scratch.folder, step, step, 1);
    ck_assert_str_eq(MARKED_NAMES(scratch),
                     "latest step-1 step-2 step-3 step-4.old step-7.old step-8");
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-7.old/state")), 1);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-1/thesis.txt")), 1);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-2/notes")), 1);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-3/state")), 1);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-4.old/state")), 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* So in what looks like the leftovers of a kill: nothing is written there, either. */
START_TEST(a_user_s_file_among_leftovers_is_never_removed)
{
    static const char *const kept[] = { "step-4.old-gsa/thesis.txt", "step-5.tmp-gsa/thesis.txt",
                                        "step-9.old-gsa/state.bak", "latest.tmp-notes",
                                        "latest.tmp-abcd" };
    gsa_scratch scratch;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 4, 4, 3);
    marked_copy(scratch.folder, "step-4", "step-4.old-gsa");
    marked_copy(scratch.folder, "step-4", "step-5.tmp-gsa");
    marked_copy(scratch.folder, "step-4", "step-7.tmp-gsa"); /* a kill's own */
    gsa_put_file(gsa_scratch_path(&scratch, "step-7.tmp-gsa/state" TMP), "cut", 3);
    marked_copy(scratch.folder, "step-4", "step-9.old-gsa");
    for (int i = 0; i < GSA_COUNT(kept); i++)
        gsa_put_file(gsa_scratch_path(&scratch, kept[i]), "kept", 4);
    static const char lies[] = "no list\n00000000000000000000000000000000"
                               "00000000000000000000000000000000  ../thesis.txt\n";
    gsa_put_file(gsa_scratch_path(&scratch, "step-4/manifest.sha256"), lies, sizeof lies - 1);
    marked_must_save(scratch.folder, 6, 6, 1);
    ck_assert_int_eq(truncate(gsa_scratch_path(&scratch, "step-6/manifest.sha256"), 1 << 21), 0);
    gsa_put_file(gsa_scratch_path(&scratch, "step-5.tmp-gsa/state"), "mine", 4);
    marked_must_save(scratch.folder, 4, 4, 1);
    marked_must_save(scratch.folder, 5, 5, 1);
    for (int i = 0; i < GSA_COUNT(kept); i++)
        ck_assert_msg(gsa_exists(gsa_scratch_path(&scratch, kept[i])), "%s is gone", kept[i]);
    char *mine;
    int64_t bytes;
    ck_assert_int_eq(gsa_read_file(NULL, gsa_scratch_path(&scratch, "step-5.tmp-gsa/state"), 64,
                                   &mine, &bytes, &error),
                     GSA_OK);
    ck_assert_str_eq(mine, "mine");
    gsa_release(NULL, mine);
    ck_assert_str_eq(MARKED_NAMES(scratch),
                     "latest latest.tmp-abcd latest.tmp-notes step-4.old step-4.old-gsa step-5 "
                     "step-5.tmp-gsa step-6 step-9.old-gsa"); /* 6 has no list of ours */
    gsa_scratch_close(&scratch);
}
END_TEST

/* Before the first checkpoint no list tells a kill's files from a user's: what only the kill can
 * have left goes with the end of the first save. */
START_TEST(leftovers_of_first_saves)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    static const char *const killed[] = { "step-1.tmp-gsa", "step-1.tmp-gsa-1",
                                          "step-1.tmp-gsa-12" };
    static const char *const kept[] = { "step-1.tmp-gsa-", "step-1.tmp-gsa-x", "step-1.tmp-gsa-2" };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, killed[i]), 0700), 0);
        gsa_put_file(gsa_scratch_path(&scratch, "%s/state", killed[i]), "cut", 3);
        ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, kept[i]), 0700), 0);
        gsa_put_file(gsa_scratch_path(&scratch, "%s/%s", kept[i], i < 2 ? "state" : "thesis"),
                     "kept", 4);
    }
    marked_must_save(scratch.folder, 1, 1, 1);
    ck_assert_str_eq(MARKED_NAMES(scratch), "latest step-1 step-1.tmp-gsa- step-1.tmp-gsa-2 "
                                            "step-1.tmp-gsa-x");
    gsa_scratch_close(&scratch);
}
END_TEST

/* A file that comes while a checkpoint is written is no part of it. */
START_TEST(what_a_user_puts_into_one_that_is_being_written)
{
    gsa_scratch scratch;
    gsa_checkpoint *checkpoint;
    gsa_output *output;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 5, &checkpoint, NULL), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, "state", &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    gsa_put_file(gsa_scratch_path(&scratch, "step-5.tmp-gsa/thesis.txt"), "kept", 4);
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 1, &error), GSA_ERR_IO);
    ck_assert_msg(strstr(error.text, "step-5.tmp-gsa' holds 'thesis.txt', which is no file of a "
                                     "checkpoint: move it away"),
                  "%s", error.text);
    ck_assert_int_eq(gsa_exists(gsa_scratch_path(&scratch, "step-5.tmp-gsa/thesis.txt")), 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A checkpoint whose state says which run it is of; NULL: that of an earlier version. */
static void save_of(const char *folder, int64_t step, const char *run, int keep)
{
    static const double number = 1;
    const gsa_blob blob = { "sums", GSA_DTYPE_F64, 1, { 1 }, &number };
    const gsa_note note = { GSA_RUN_NOTE, run };
    gsa_checkpoint *checkpoint;
    gsa_output *output;
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, folder, step, &checkpoint, NULL), GSA_OK);
    ck_assert_int_eq(marked_put(checkpoint, 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, GSA_STATE_FILE, &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_safetensors_write(NULL, output, &blob, 1, &note, run != NULL, NULL),
                     GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, keep, NULL), GSA_OK);
}

/* A step of another run, one without a state, a renamed copy, and a list that is the user's. */
START_TEST(a_step_that_the_run_did_not_make_is_never_removed)
{
    static const char list[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  "
                               "state\n";
    gsa_scratch scratch;
    char from[300];
    gsa_scratch_open(&scratch);
    snprintf(from, sizeof from, "%s", gsa_scratch_path(&scratch, "theirs"));
    save_of(from, 3, "theirs", 9);
    save_of(from, 8, "theirs", 9);
    marked_must_save(from, 4, 1, 9);
    save_of(gsa_scratch_path(&scratch, "run"), 1, NULL, 9);
    save_of(gsa_scratch_path(&scratch, "run"), 2, "ours", 9);
    marked_copy(scratch.folder, "theirs/step-3", "run/step-3");
    marked_copy(scratch.folder, "theirs/step-4", "run/step-4");
    marked_copy(scratch.folder, "theirs/step-8", "run/step-8");
    marked_copy(scratch.folder, "run/step-2", "run/step-5");
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-6"), 0700), 0);
    gsa_put_file(gsa_scratch_path(&scratch, "run/step-6/state"), "", 0);
    gsa_put_file(gsa_scratch_path(&scratch, "run/step-6/manifest.sha256"), list, sizeof list - 1);
    save_of(gsa_scratch_path(&scratch, "run"), 7, "ours", 1);
    ck_assert_str_eq(marked_names(gsa_system_default(), gsa_scratch_path(&scratch, "run")),
                     "latest step-3 step-4 step-5 step-6 step-7 step-8");
    save_of(gsa_scratch_path(&scratch, "run"), 8, "ours", 1);
    ck_assert_str_eq(marked_names(gsa_system_default(), gsa_scratch_path(&scratch, "run")),
                     "latest step-3 step-4 step-5 step-6 step-8 step-8.old");
    for (int round = 0; round < 2; round++) { /* nor a user's step-N.old, an empty folder or not */
        marked_copy(scratch.folder, "theirs/step-8", "run/step-9");
        if (round == 0)
            ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-9.old"), 0700), 0);
        else gsa_put_file(gsa_scratch_path(&scratch, "run/step-9.old/notes"), "kept", 4);
        save_of(gsa_scratch_path(&scratch, "run"), 9, "ours", 1);
        ck_assert_str_eq(marked_names(gsa_system_default(), gsa_scratch_path(&scratch, "run")),
                         round == 0 ? "latest step-3 step-4 step-5 step-6 step-8.old step-9 "
                                      "step-9.old step-9.old-1"
                                    : "latest step-3 step-4 step-5 step-6 step-8.old step-9 "
                                      "step-9.old step-9.old-1 step-9.old-2");
        ck_assert(!gsa_exists(gsa_scratch_path(&scratch, "run/step-9.old/state")));
        ck_assert_int_eq(
            gsa_system_default()->clear_folder(NULL, gsa_scratch_path(&scratch, "run/step-9")), 0);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(abandoned_leaves_nothing)
{
    gsa_scratch scratch;
    gsa_checkpoint *checkpoint;
    gsa_scratch_open(&scratch);
    const char *folder = gsa_scratch_path(&scratch, "a/b/c"); /* made with its parents */
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, folder, 3, &checkpoint, NULL), GSA_OK);
    ck_assert_int_eq(marked_put(checkpoint, 1, NULL), GSA_OK);
    ck_assert_str_eq(marked_names(gsa_system_default(), folder), "step-3.tmp-gsa");
    gsa_checkpoint_abandon(checkpoint);
    gsa_checkpoint_abandon(NULL);
    ck_assert_str_eq(marked_names(gsa_system_default(), folder), "");
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(refusals)
{
    static const char *const bad[] = { "",     ".",  "..", ".hidden",        "a/b", "../up", "a b",
                                       "a\nb", "a*", "é",  "manifest.sha256" };
    gsa_scratch scratch;
    gsa_checkpoint *checkpoint;
    gsa_output *output;
    gsa_error error = { 0 };
    char long_name[140];
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, -1, &checkpoint, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "a checkpoint's step is -1, not 0 or more");
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, INT64_MAX, &checkpoint, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, "", 1, &checkpoint, &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, "/dev/null/x", 1, &checkpoint, &error), GSA_ERR_IO);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &checkpoint, &error), GSA_OK);
    memset(long_name, 'n', sizeof long_name);
    long_name[129] = 0;
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, long_name, &output, &error), GSA_ERR_ARGUMENT);
    for (int i = 0; i < GSA_COUNT(bad); i++)
        ck_assert_int_eq(gsa_checkpoint_file(checkpoint, bad[i], &output, &error),
                         GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, "a", &output, &error), GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, "a", &output, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "'a' is in"));
    for (int i = 1; i <= 64; i++) {
        snprintf(long_name, sizeof long_name, "a%d", i);
        const gsa_status status = gsa_checkpoint_file(checkpoint, long_name, &output, &error);
        ck_assert_int_eq(status, i < 64 ? GSA_OK : GSA_ERR_LIMIT);
        if (i < 64) gsa_output_abandon(output);
    }
    ck_assert_ptr_nonnull(strstr(error.text, "has 64 files, and a checkpoint has no more"));
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 0, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "0 checkpoints cannot be kept: expected 1 or more");
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &checkpoint, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 1, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "has no files"));
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &checkpoint, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, "a", &output, &error), GSA_OK);
    gsa_output_abandon(output); /* a file that was announced and never came */
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 1, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "step-1.tmp-gsa/a' cannot be read"));
    ck_assert_str_eq(MARKED_NAMES(scratch), "");
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test written[] = { GSA_TEST(manifest_is_what_sha256sum_checks),
                                        GSA_TEST(so_many_stay),
                                        GSA_TEST(steps_of_an_overlay_s_lower_layer_go),
                                        GSA_TEST(previous_stays_and_not_the_abandoned),
                                        GSA_TEST(same_step_again),
                                        GSA_TEST(abandoned_leaves_nothing),
                                        GSA_TEST(refusals) };
    static const gsa_test leftovers[] = {
        GSA_TEST(leftovers_go_and_others_stay),
        GSA_TEST(what_is_linked_is_never_removed),
        GSA_TEST(what_a_user_put_there_is_never_removed),
        GSA_TEST(a_step_that_the_run_did_not_make_is_never_removed),
        GSA_TEST(a_user_s_file_among_leftovers_is_never_removed),
        GSA_TEST(leftovers_of_first_saves),
        GSA_TEST(what_a_user_puts_into_one_that_is_being_written)
    };
    static const gsa_case cases[] = { GSA_CASE("written", written, 60),
                                      GSA_CASE("leftovers", leftovers, 60) };
    return gsa_run_suite("checkpoint_saving", cases, GSA_COUNT(cases), argc, argv);
}
