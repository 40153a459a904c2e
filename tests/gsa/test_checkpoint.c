/* Checkpoints: what a save leaves, what is found, and that neither faults, kills nor lost power
 * ever mix two of them. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "drawer.h"
#include "gsa/checkpoint.h"
#include "gsa/hash.h"
#include "scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/thin.h"

/* ---- a checkpoint whose files tell which it is: three files whose bytes depend on (mark, file)
 * ---- */

enum { FILES = 3, BIG = 20000 }; /* more than is hashed at a time */
static const char *const file_names[FILES] = { "model.safetensors", "config.ini", "state" };
static const int64_t file_sizes[FILES] = { BIG, 57, 0 };

static void fill(char *out, int mark, int file)
{
    for (int64_t i = 0; i < file_sizes[file]; i++) out[i] = (char)(mark * 31 + file * 7 + i % 13);
}

static gsa_status put_files(gsa_checkpoint *checkpoint, int mark, gsa_error *error)
{
    static char bytes[BIG];
    for (int f = 0; f < FILES; f++) {
        gsa_output *output;
        gsa_status status = gsa_checkpoint_file(checkpoint, file_names[f], &output, error);
        if (status != GSA_OK) return status;
        fill(bytes, mark, f);
        gsa_output_write(output, bytes, file_sizes[f]);
        if ((status = gsa_output_commit(output, error)) != GSA_OK) return status;
    }
    return GSA_OK;
}

static gsa_status save(const gsa_system *system, const char *folder, int64_t step, int mark,
                       int keep, gsa_error *error)
{
    gsa_checkpoint *checkpoint;
    gsa_status status = gsa_checkpoint_begin(system, folder, step, &checkpoint, error);
    if (status != GSA_OK) return status;
    status = put_files(checkpoint, mark, error);
    if (status == GSA_OK) return gsa_checkpoint_commit(checkpoint, keep, error);
    gsa_checkpoint_abandon(checkpoint);
    return status;
}

static void must_save(const char *folder, int64_t step, int mark, int keep)
{
    gsa_error error = { 0 };
    const gsa_status status = save(NULL, folder, step, mark, keep, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
}

/* Are the files of `path` those of `mark`, all of them? */
static int is_mark(const gsa_system *system, const char *path, int mark)
{
    static char expected[BIG];
    int same = 0;
    for (int f = 0; f < FILES; f++) {
        char name[512], *bytes = NULL;
        int64_t count;
        snprintf(name, sizeof name, "%s/%s", path, file_names[f]);
        ck_assert_int_eq(gsa_read_file(system, name, 1 << 20, &bytes, &count, NULL), GSA_OK);
        fill(expected, mark, f);
        same += count == file_sizes[f] && memcmp(bytes, expected, (size_t)count) == 0;
        gsa_release(system, bytes);
    }
    return same == FILES;
}

/* The last part of the path that is found, "" when none is; which mark, when it is one of
 * `marks`. */
static const char *found(const gsa_system *system, const char *folder, const int *marks, int *mark,
                         int *warned)
{
    static char name[128];
    char *path, *warning;
    gsa_error error = { 0 };
    name[0] = 0, *mark = -1, *warned = 0;
    const gsa_status status = gsa_checkpoint_find(system, folder, NULL, &path, &warning, &error);
    if (status != GSA_OK) {
        ck_assert_ptr_null(path);
        ck_assert_ptr_null(warning);
        ck_assert_int_ne(error.text[0], 0);
        return name;
    }
    for (; *marks >= 0; marks++)
        if (is_mark(system, path, *marks)) *mark = *marks;
    *warned = warning != NULL;
    snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
    gsa_release(system, path);
    gsa_release(system, warning);
    return name;
}

/* The names in a folder, sorted, with a space between them. */
typedef struct name_list {
    char at[40][64];
    int count;
} name_list;

static int add_name(void *context, const char *name)
{
    name_list *list = context;
    ck_assert_int_lt(list->count, GSA_COUNT(list->at));
    snprintf(list->at[list->count++], sizeof list->at[0], "%s", name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *names_in(const gsa_system *system, const char *folder)
{
    static char out[2048];
    static name_list list;
    list.count = 0, out[0] = 0;
    ck_assert_int_eq(system->list(system->user, folder, add_name, &list), 0);
    qsort(list.at, (size_t)list.count, sizeof list.at[0], by_name);
    for (int i = 0; i < list.count; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "", list.at[i]);
    return out;
}

#define NAMES(scratch) names_in(gsa_system_default(), (scratch).folder)

/* ---- saving -------------------------------------------------------------------------------- */

START_TEST(manifest_is_what_sha256sum_checks)
{
    gsa_scratch scratch;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 12, 1, 1);
    ck_assert_str_eq(NAMES(scratch), "latest step-12");
    ck_assert_str_eq(names_in(gsa_system_default(), gsa_scratch_path(&scratch, "step-12")),
                     "config.ini manifest.sha256 model.safetensors state");
    char *latest = gsa_get_file(gsa_scratch_path(&scratch, "latest"), &bytes);
    ck_assert_str_eq(latest, "step-12\n");
    char *manifest = gsa_get_file(gsa_scratch_path(&scratch, "step-12/manifest.sha256"), &bytes),
         expected[512] = "", hex[65];
    for (int f = 0; f < FILES; f++) {
        static char content[BIG];
        gsa_sha256 hash;
        fill(content, 1, f);
        gsa_sha256_start(&hash);
        gsa_sha256_add(&hash, content, file_sizes[f]);
        gsa_sha256_end(&hash, hex);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s  %s\n", hex,
                 file_names[f]);
    }
    strcat(expected, "# 3 files\n");
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
            must_save(scratch.folder, step, step, keep);
            ck_assert_str_eq(NAMES(scratch), left[step - 1][keep - 1]);
        }
        gsa_scratch_close(&scratch);
    }
}
END_TEST

/* A run taken up from step 10 of 10, 20, 30 writes 15: the steps of the other line go first. */
START_TEST(previous_stays_and_not_the_abandoned)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    for (int step = 10; step <= 30; step += 10) must_save(scratch.folder, step, step, 3);
    must_save(scratch.folder, 15, 15, 2);
    ck_assert_str_eq(NAMES(scratch), "latest step-10 step-15");
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(same_step_again)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    int mark, warned;
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 0, 1, 2);
    must_save(scratch.folder, 0, 2, 2);
    ck_assert_str_eq(NAMES(scratch), "latest step-0");
    ck_assert_str_eq(found(NULL, scratch.folder, marks, &mark, &warned), "step-0");
    ck_assert_int_eq(mark, 2);
    ck_assert_int_eq(warned, 0);
    gsa_scratch_close(&scratch);
}
END_TEST

static void copy_step(const gsa_scratch *scratch, const char *from, const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "cp -r '%s/%s' '%s/%s'", scratch->folder, from,
             scratch->folder, to);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(leftovers_go_and_others_stay)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 3);
    must_save(scratch.folder, 2, 2, 3);
    copy_step(&scratch, "step-1", "step-7.tmp");
    copy_step(&scratch, "step-1", "step-2.old"); /* next to its step-2: removed */
    copy_step(&scratch, "step-1", "step-4.old"); /* alone: put back */
    copy_step(&scratch, "step-1", "step-x");
    copy_step(&scratch, "step-1", "step-007");
    copy_step(&scratch, "step-1", "step-007.tmp");
    gsa_put_file(gsa_scratch_path(&scratch, "latest.tmp-0a1b"), "step", 4);
    gsa_put_file(gsa_scratch_path(&scratch, "notes.tmp"), "mine", 4);
    must_save(scratch.folder, 5, 5, 3);
    ck_assert_str_eq(NAMES(scratch),
                     "latest notes.tmp step-007 step-007.tmp step-2 step-4 step-5 step-x");
    gsa_scratch_close(&scratch);
}
END_TEST

/* Links to another run's checkpoints, and folders that hold more than plain files, are not this
 * run's. */
START_TEST(what_is_linked_is_never_removed)
{
    static const char *const links[] = { "step-1", "step-2.tmp", "step-3.old", "step-9.old",
                                         "latest.tmp-0a1b" };
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
    ck_assert_int_eq(mkdir(gsa_scratch_path(&scratch, "run/step-5.tmp"), 0700), 0);
    ck_assert_int_eq(
        symlink("../../precious/file", gsa_scratch_path(&scratch, "run/step-5.tmp/state")), 0);
    for (int step = 6; step < 9; step++)
        must_save(gsa_scratch_path(&scratch, "run"), step, step, 1);
    ck_assert_str_eq(
        names_in(gsa_system_default(), gsa_scratch_path(&scratch, "run")),
        "latest latest.tmp-0a1b step-1 step-2.tmp step-3.old step-4 step-5.tmp step-8 step-9.old");
    ck_assert_int_eq(gsa_exists(precious), 1);
    ck_assert_int_eq(
        gsa_system_default()->clear_folder(NULL, gsa_scratch_path(&scratch, "run/step-1")), -1);
    ck_assert_int_eq(
        gsa_system_default()->clear_folder(NULL, gsa_scratch_path(&scratch, "run/step-5.tmp")), -1);
    ck_assert_int_eq(gsa_exists(precious), 1);
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
    ck_assert_int_eq(put_files(checkpoint, 1, NULL), GSA_OK);
    ck_assert_str_eq(names_in(gsa_system_default(), folder), "step-3.tmp");
    gsa_checkpoint_abandon(checkpoint);
    gsa_checkpoint_abandon(NULL);
    ck_assert_str_eq(names_in(gsa_system_default(), folder), "");
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
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 0, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "0 checkpoints cannot be kept: expected 1 or more");
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &checkpoint, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 1, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "has no files"));
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &checkpoint, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(checkpoint, "a", &output, &error), GSA_OK);
    gsa_output_abandon(output); /* a file that was announced and never came */
    ck_assert_int_eq(gsa_checkpoint_commit(checkpoint, 1, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "step-1.tmp/a' cannot be read"));
    ck_assert_str_eq(NAMES(scratch), "");
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- finding ------------------------------------------------------------------------------- */

static void flip(const char *path, int64_t at)
{
    int64_t count;
    char *bytes = gsa_get_file(path, &count);
    bytes[at < count ? at : count - 1] ^= 1;
    gsa_put_file(path, bytes, count);
    free(bytes);
}

typedef struct damage {
    const char *file; /* what is damaged */
    const char *text; /* NULL: removed; "^": a bit is flipped; else its new bytes */
    const char *says;
} damage;

#define HASH64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define EMPTY64 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
static const damage damages[] = {
    { "step-2/model.safetensors", "^",
      "step-2/model.safetensors' does not have the hash that its manifest says" },
    { "step-2/model.safetensors", NULL, "step-2/model.safetensors' cannot be read: No such file" },
    { "step-2/model.safetensors", "", "step-2/model.safetensors' does not have the hash" },
    { "step-2/config.ini", "^", "step-2/config.ini' does not have the hash" },
    { "step-2/state", "x", "step-2/state' does not have the hash" },
    { "step-2/manifest.sha256", "^", "step-2/m" },
    { "step-2/manifest.sha256", NULL, "step-2/manifest.sha256' cannot be opened: No such file" },
    { "step-2/manifest.sha256", "", "step-2/manifest.sha256:1: the list is cut off" },
    { "step-2/manifest.sha256", HASH64 "  state",
      "step-2/manifest.sha256:1: the line does not end" },
    { "step-2/manifest.sha256", "\n",
      "step-2/manifest.sha256:1: expected a hash, two spaces and a file's name" },
    { "step-2/manifest.sha256", HASH64 " state\n", "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", HASH64 " *state\n", "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", HASH64 "  ../state\n", "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", HASH64 "  manifest.sha256\n",
      "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", HASH64 "0  state\n", "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n\n", "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n",
      "manifest.sha256:2: the list is cut off, expected '# 1 files' at the end" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 2 files\n",
      "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 1 files\n# 1 files\n",
      "manifest.sha256:2: expected a hash" },
    { "latest", NULL, "latest' cannot be opened: No such file" },
    { "latest", "", "latest:1: expected one line, 'step-N'" },
    { "latest", "step-2", "latest:1: expected one line" },
    { "latest", "step-2\n\n", "latest:1: expected one line" },
    { "latest", "step-02\n", "latest:1: expected one line" },
    { "latest", "step-2.tmp\n", "latest:1: expected one line" },
    { "latest", "../step-2\n", "latest:1: expected one line" },
    { "latest", "step-9999999999999999999\n", "latest:1: expected one line" },
    { "latest", "step-5\n", "step-5' is not there" },
    { "latest", "step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2\n",
      "latest' is longer than 64 bytes" },
};

START_TEST(damage_is_named_and_passed_over)
{
    const damage *d = &damages[_i];
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "%s", d->file);
    if (!d->text) ck_assert_int_eq(remove(file), 0);
    else if (strcmp(d->text, "^") == 0) flip(file, 20);
    else gsa_put_file(file, d->text, (int64_t)strlen(d->text));
    ck_assert_msg(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error) ==
                      GSA_OK,
                  "%s", error.text);
    const int step = strncmp(d->file, "step-2", 6) == 0
                         ? 1
                         : 2; /* where `latest` alone is damaged, the newest is whole */
    ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-%d", step));
    ck_assert_msg(is_mark(NULL, path, step), "%s", path);
    ck_assert_ptr_nonnull(warning);
    ck_assert_msg(strstr(warning, d->says) != NULL, "%s", warning);
    ck_assert_ptr_nonnull(
        strstr(warning, gsa_scratch_path(&scratch, "step-%d' is used instead", step)));
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(every_flipped_byte_is_seen)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    int mark, warned;
    int64_t count;
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    for (int f = -1; f < 2; f++) {
        const char *file =
            gsa_scratch_path(&scratch, "step-2/%s", f < 0 ? "manifest.sha256" : file_names[f]);
        char *bytes = gsa_get_file(file, &count);
        free(bytes);
        for (int64_t at = 0; at < count; at += f == 0 ? 977 : 1) {
            flip(file, at);
            ck_assert_msg(strcmp(found(NULL, scratch.folder, marks, &mark, &warned), "step-1") == 0,
                          "byte %lld", (long long)at);
            ck_assert_int_eq(mark, 1);
            ck_assert_int_eq(warned, 1);
            flip(file, at);
        }
    }
    ck_assert_str_eq(found(NULL, scratch.folder, marks, &mark, &warned), "step-2");
    ck_assert_int_eq(warned, 0);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(every_part_of_a_manifest_is_noticed)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    int mark, warned;
    int64_t count;
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "step-2/manifest.sha256");
    char *bytes = gsa_get_file(file, &count);
    ck_assert_int_gt(count, FILES * 66);
    for (int64_t part = 0; part <= count; part++) {
        gsa_put_file(file, bytes, part);
        ck_assert_msg(strcmp(found(NULL, scratch.folder, marks, &mark, &warned),
                             part < count ? "step-1" : "step-2") == 0,
                      "%lld of %lld bytes", (long long)part, (long long)count);
    }
    free(bytes);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(none_is_whole)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    const char *absent = gsa_scratch_path(&scratch, "absent"),
               *latest = gsa_scratch_path(&scratch, "latest");
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "holds no whole checkpoint: '"));
    ck_assert_int_eq(gsa_checkpoint_find(NULL, absent, NULL, &path, &warning, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "is no folder of checkpoints"));
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, latest, NULL, &path, &warning, &error), GSA_ERR_IO);
    flip(gsa_scratch_path(&scratch, "step-1/config.ini"), 3);
    flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 3);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "holds no whole checkpoint: "));
    ck_assert_ptr_nonnull(strstr(error.text, "step-2/config.ini' does not have the hash"));
    ck_assert_ptr_null(path);
    ck_assert_ptr_null(warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Of several the newest that is whole, in whatever order the folder lists them. */
START_TEST(the_newest_whole_one_is_used)
{
    static const int steps[] = { 10, 9, 100, 2, 11, 30 }, newest[] = { 30, 100, 11, 10, 9, 2 };
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    for (int i = 0; i < GSA_COUNT(steps); i++) must_save(scratch.folder, steps[i], steps[i], 9);
    for (int i = 0; i < GSA_COUNT(newest); i++) { /* 30: `latest`, the last that was saved */
        ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                         GSA_OK);
        ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-%d", newest[i]));
        flip(gsa_scratch_path(&scratch, "step-%d/config.ini", newest[i]), 3);
        gsa_release(NULL, path);
        gsa_release(NULL, warning);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* What could be read for ever, or longer than anyone waits, is named and not read. */
START_TEST(pipes_and_vast_files_are_refused)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    if (_i) ck_assert_int_eq(mkfifo(gsa_scratch_path(&scratch, "step-2/pipe"), 0600), 0);
    else
        ck_assert_int_eq(truncate(gsa_scratch_path(&scratch, "step-2/state"), INT64_C(1) << 37), 0);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_OK);
    ck_assert_msg(
        strstr(warning, _i ? "pipe' is no regular file"
                           : "state' has 137438953472 bytes, and the most that is read") != NULL,
        "%s", warning);
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* The folder above runs, which a user names by mistake. */
START_TEST(runs_in_a_folder_are_named)
{
    static const char *const names[] = { "rc", "ra", "rz", "rb" };
    gsa_scratch scratch;
    char *path, *warning, folder[300];
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(gsa_make_folders(NULL, gsa_scratch_path(&scratch, "empty"), &error), GSA_OK);
    for (int i = 0; i < GSA_COUNT(names); i++) {
        snprintf(folder, sizeof folder, "%s/%s", scratch.folder, names[i]);
        ck_assert_int_eq(gsa_make_folders(NULL, folder, &error), GSA_OK);
        must_save(folder, 1, 1, 2);
    }
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, "the runs in it are ra, rb, rc, rz") != NULL, "%s",
                  error.text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A step's own folder is taken as it is: whoever names it does not want another. */
START_TEST(a_step_itself)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    const char *step = gsa_scratch_path(&scratch, "step-1");
    ck_assert_int_eq(gsa_checkpoint_find(NULL, step, NULL, &path, &warning, &error), GSA_OK);
    ck_assert_str_eq(path, step);
    ck_assert_ptr_null(warning);
    gsa_release(NULL, path);
    flip(gsa_scratch_path(&scratch, "step-1/config.ini"), 0);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, step, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "step-1/config.ini' does not have the hash"));
    gsa_scratch_close(&scratch);
}
END_TEST

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
    must_save(scratch.folder, p->old_step, 1, p->keep);
    gsa_faults_start(&faults);
    faults.fail[op] = n, faults.forever = forever;
    const gsa_status status = save(&faults.table, scratch.folder, p->new_step, 2, p->keep, &error);
    const int reached = faults.calls[op] >= n;
    ck_assert_msg(gsa_faults_live(&faults) == 0, "op %d call %d: %lld live", op, n,
                  (long long)gsa_faults_live(&faults));
    ck_assert_msg((status == GSA_OK) == (error.text[0] == 0), "op %d call %d: status %d, '%s'", op,
                  n, (int)status, error.text);
    found(NULL, scratch.folder, marks, &mark, &warned);
    ck_assert_msg(mark == 2 || (mark == 1 && status != GSA_OK),
                  "op %d call %d forever %d: status %d, mark %d", op, n, forever, (int)status,
                  mark);
    if (!forever)
        ck_assert_msg(!warned, "op %d call %d: `latest` does not name what is whole", op, n);
    if (op != GSA_OP_KIND && op != GSA_OP_CLOSE && reached)
        ck_assert_msg(status == (op == GSA_OP_ALLOC ? GSA_ERR_MEMORY : GSA_ERR_IO),
                      "op %d call %d: status %d", op, n, (int)status);
    must_save(scratch.folder, p->new_step, 3,
              p->keep); /* the next save finds nothing in its way, and cleans */
    found(NULL, scratch.folder, marks, &mark, &warned);
    ck_assert_int_eq(mark, 3);
    ck_assert_int_eq(warned, 0);
    ck_assert_int_eq(
        gsa_count_entries(scratch.folder, ".tmp") + gsa_count_entries(scratch.folder, ".old"), 0);
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
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_finding, scratch.folder),
                     0);
    flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_finding, scratch.folder),
                     0);
    /* a step that cannot be listed is passed over, the folder of all steps is not */
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_LIST, 1, GSA_ERR_IO, try_finding, scratch.folder), 0);
    flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 0);
    gsa_faults_start(&faults);
    faults.fail[GSA_OP_READ] =
        5; /* the first two reads are `latest`, the next two the manifest: then the first file */
    ck_assert_str_eq(found(&faults.table, scratch.folder, marks, &mark, &warned), "step-1");
    ck_assert_int_eq(warned, 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- killed -------------------------------------------------------------------------------- */

static void save_for_ever(const char *folder, int64_t step)
{
    for (;; step++)
        if (save(NULL, folder, step, (int)(step % 100), 2, NULL) != GSA_OK) _exit(1);
}

static int64_t step_found(const char *folder)
{
    char *path, *warning;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_checkpoint_find(NULL, folder, NULL, &path, &warning, &error) == GSA_OK, "%s",
                  error.text);
    const int64_t step = atoll(strrchr(path, '-') + 1);
    ck_assert_msg(is_mark(NULL, path, (int)(step % 100)), "%s is mixed", path);
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
        must_save(folder, step, step, 2);
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
        const int left = gsa_count_entries(scratch.folder, ".tmp");
        ck_assert_int_le(left, 1);
        leftovers += left;
        const int64_t now = step_found(scratch.folder);
        ck_assert_int_ge(now, step);
        step = now;
    }
    must_save(scratch.folder, step + 1, 0, 2);
    ck_assert_int_eq(gsa_count_entries(scratch.folder, ".tmp"), 0);
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
    ck_assert_int_eq(save(&drawer.table, "/runs/one", p->old_step, 1, p->keep, NULL), GSA_OK);
    gsa_drawer_power_cycle(&drawer, dice); /* what was promised is kept */
    found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_int_eq(mark, 1);
    drawer.power = power;
    const gsa_status status = save(&drawer.table, "/runs/one", p->new_step, 2, p->keep, NULL);
    const int cut = drawer.dead;
    ck_assert_int_eq(status != GSA_OK, cut);
    gsa_drawer_power_cycle(&drawer, dice);
    const char *name = found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_msg(mark == 2 || (mark == 1 && status != GSA_OK),
                  "change %lld: found '%s' with mark %d in '%s'", (long long)power, name, mark,
                  names_in(&drawer.table, "/runs/one"));
    ck_assert_msg(!warned || p->old_step == p->new_step,
                  "change %lld: `latest` names what is not whole", (long long)power);
    const gsa_status again = save(&drawer.table, "/runs/one", p->new_step + 1, 3, p->keep, &error);
    ck_assert_msg(again == GSA_OK, "change %lld: %s", (long long)power, error.text);
    found(&drawer.table, "/runs/one", marks, &mark, &warned);
    ck_assert_int_eq(mark, 3);
    ck_assert_int_eq(warned, 0);
    const char *left = names_in(&drawer.table, "/runs/one");
    ck_assert_msg(!strstr(left, ".tmp") && !strstr(left, ".old"), "%s", left);
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

/* A file that the caller will not read may be damaged or gone; the others may not. */
START_TEST(a_file_that_is_not_read_is_neither_checked_nor_missed)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    must_save(scratch.folder, 1, 1, 2);
    must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "step-2/config.ini");
    for (int round = 0; round < 2; round++) {
        if (round == 0) flip(file, 3);
        else ck_assert_int_eq(remove(file), 0);
        ck_assert_int_eq(
            gsa_checkpoint_find(NULL, scratch.folder, "config.ini", &path, &warning, &error),
            GSA_OK);
        ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-2"));
        ck_assert_ptr_null(warning);
        gsa_release(NULL, path);
        ck_assert_int_eq(
            gsa_checkpoint_find(NULL, scratch.folder, "state", &path, &warning, &error), GSA_OK);
        ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-1"));
        gsa_release(NULL, path);
        gsa_release(NULL, warning);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test saving[] = { GSA_TEST(manifest_is_what_sha256sum_checks),
                                       GSA_TEST(so_many_stay),
                                       GSA_TEST(previous_stays_and_not_the_abandoned),
                                       GSA_TEST(same_step_again),
                                       GSA_TEST(leftovers_go_and_others_stay),
                                       GSA_TEST(what_is_linked_is_never_removed),
                                       GSA_TEST(abandoned_leaves_nothing),
                                       GSA_TEST(refusals) };
    static const gsa_test finding[] = {
        GSA_LOOP(damage_is_named_and_passed_over, GSA_COUNT(damages)),
        GSA_TEST(every_flipped_byte_is_seen),
        GSA_TEST(every_part_of_a_manifest_is_noticed),
        GSA_TEST(none_is_whole),
        GSA_TEST(the_newest_whole_one_is_used),
        GSA_LOOP(pipes_and_vast_files_are_refused, 2),
        GSA_TEST(runs_in_a_folder_are_named),
        GSA_TEST(a_step_itself),
        GSA_TEST(a_file_that_is_not_read_is_neither_checked_nor_missed)
    };
    static const gsa_test faults[] = { GSA_LOOP(old_or_new_whatever_fails, 3),
                                       GSA_TEST(finding_with_faults) };
    static const gsa_test killed[] = { GSA_TEST(killed_at_any_moment) };
    static const gsa_test power[] = { GSA_LOOP(old_or_new_without_power, 3) };
    static const gsa_case cases[] = { GSA_CASE("saving", saving, 60),
                                      GSA_CASE("finding", finding, 60),
                                      GSA_CASE("faults", faults, 120),
                                      GSA_CASE("killed", killed, 120),
                                      GSA_CASE("power_loss", power, 120) };
    return gsa_run_suite("checkpoint", cases, GSA_COUNT(cases), argc, argv);
}
