/* Checkpoints: what is found. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gsa/checkpoint.h"
#include "gsa/checkpoint_parts.h"
#include "marked.h"
#include "scratch.h"
#include "support/suite.h"

typedef struct damage {
    const char *file; /* what is damaged */
    const char *text; /* NULL: removed; "^": a bit is flipped; else its new bytes, '@' a zero */
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
    { "step-2/manifest.sha256", EMPTY64 "  state@x\n", "manifest.sha256:1: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n\n", "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n" EMPTY64 "  state\n# 2 files\n",
      "manifest.sha256:2: 'state' is there twice" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n",
      "manifest.sha256:2: the list is cut off, expected '# 1 files' at the end" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 2 files\n",
      "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 1 files\n# 1 files\n",
      "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 1 files of step-3\n",
      "step-2' is a checkpoint of step 3: it was copied or renamed" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 1 files of step-2x\n",
      "manifest.sha256:2: expected a hash" },
    { "step-2/manifest.sha256", EMPTY64 "  state\n# 1 files or step-2\n",
      "manifest.sha256:2: expected a hash" },
    { "step-2/notes.txt", "x", "step-2/notes.txt' is not in the folder's manifest: move it away" },
    { "latest", NULL, "latest' cannot be opened: No such file" },
    { "latest", "", "latest:1: expected one line, 'step-N'" },
    { "latest", "step-2", "latest:1: expected one line" },
    { "latest", "step-2\n\n", "latest:1: expected one line" },
    { "latest", "step-02\n", "latest:1: expected one line" },
    { "latest", "step-2.tmp-gsa\n", "latest:1: expected one line" },
    { "latest", "../step-2\n", "latest:1: expected one line" },
    { "latest", "step-9999999999999999999\n", "latest:1: expected one line" },
    { "latest", "step-5\n", "step-5' is not there" },
    { "latest", "step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2step-2\n",
      "latest' has 73 bytes, and the most that is read is 64" },
};

START_TEST(damage_is_named_and_passed_over)
{
    const damage *d = &damages[_i];
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "%s", d->file);
    if (!d->text) ck_assert_int_eq(remove(file), 0);
    else if (strcmp(d->text, "^") == 0) marked_flip(file, 20);
    else {
        char *bytes = gsa_copy_text(gsa_system_default(), d->text);
        for (char *at = bytes; (at = strchr(at, '@')); at++) *at = 0;
        gsa_put_file(file, bytes, (int64_t)strlen(d->text));
        gsa_release(gsa_system_default(), bytes);
    }
    ck_assert_msg(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error) ==
                      GSA_OK,
                  "%s", error.text);
    const int step = strncmp(d->file, "step-2", 6) == 0
                         ? 1
                         : 2; /* where `latest` alone is damaged, the newest is whole */
    ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-%d", step));
    ck_assert_msg(marked_is(NULL, path, step), "%s", path);
    ck_assert_ptr_nonnull(warning);
    ck_assert_msg(strstr(warning, d->says) != NULL, "%s", warning);
    ck_assert_ptr_nonnull(
        strstr(warning, gsa_scratch_path(&scratch, "step-%d' is used instead", step)));
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A copy under another step's name is refused; manifests of 0.1.0 say no step. */
START_TEST(a_manifest_has_its_step)
{
    static const struct {
        const char *name;
        int64_t step; /* -1: none is said */
        int good;
    } rows[] = { { "step-2", 2, 1 },         { "step-2/", 2, 1 },  { "step-2.old-gsa", 2, 1 },
                 { "step-3", 2, 0 },         { "step-3//", 2, 0 }, { "step-3.old-gsa", 2, 0 },
                 { "model", 2, 1 },          { "step-02", 2, 1 },  { "step-3", -1, 1 },
                 { "step-3.old-gsa", -1, 1 } };
    gsa_error error;
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_scratch scratch;
        char text[256], folder[300], file[350];
        gsa_scratch_open(&scratch);
        snprintf(folder, sizeof folder, "%s", gsa_scratch_path(&scratch, "%s", rows[i].name));
        snprintf(file, sizeof file, "%s/manifest.sha256", folder);
        snprintf(text, sizeof text, rows[i].step < 0 ? "# 0 files\n" : "# 0 files of step-%d\n",
                 (int)rows[i].step);
        ck_assert_int_eq(mkdir(folder, 0700), 0);
        gsa_put_file(file, text, (int64_t)strlen(text));
        ck_assert_msg((gsa_manifest_check(NULL, gsa_system_default(), folder, NULL, &error) ==
                       GSA_OK) == rows[i].good,
                      "row %d", i);
        ck_assert(rows[i].good || strstr(error.text, "is a checkpoint of step 2: it was copied"));
        gsa_scratch_close(&scratch);
    }
}
END_TEST

typedef struct lacking {
    gsa_system table;
    int left; /* allocations before the one that fails */
} lacking;

static void *alloc_lacking(void *user, size_t bytes)
{
    lacking *l = user;
    return l->left-- == 0 ? NULL : malloc(bytes);
}

/* Every allocation of a search in folders that are held. */
START_TEST(a_held_step_without_memory)
{
    gsa_scratch scratch;
    char *found, *warning;
    gsa_error error;
    gsa_status status = GSA_ERR_MEMORY;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    for (int n = 0; status != GSA_OK; n++) {
        lacking l = { .table = *gsa_system_default(), .left = n };
        l.table.user = &l, l.table.alloc = alloc_lacking;
        status = gsa_checkpoint_find(&l.table, scratch.folder, NULL, &found, &warning, &error);
        ck_assert_msg(status == (l.left < 0 ? GSA_ERR_MEMORY : GSA_OK), "%s", error.text);
    }
    gsa_release(NULL, found), gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Beneath a folder that is held, what is too long is not noticed by the system: readers would cut
 * the name. */
START_TEST(a_path_that_is_too_long)
{
    enum { MOST = 4095, PART = 200 };
    const size_t file = strlen("/step-1/") + strlen(marked_file[0]);
    for (int over = 0; over < 2; over++) {
        gsa_scratch scratch;
        char path[MOST + 64], part[PART + 1], *found, *warning;
        gsa_error error;
        gsa_scratch_open(&scratch);
        marked_must_save(scratch.folder, 1, 1, 2);
        const int start = open(scratch.folder, O_RDONLY | O_DIRECTORY);
        int at = dup(start);
        size_t bytes = (size_t)snprintf(path, sizeof path, "%s", scratch.folder);
        while (bytes + file < (size_t)(MOST + over)) {
            const size_t left = (size_t)(MOST + over) - bytes - file - 1,
                         take = left > 2 * PART ? PART
                                : left > PART   ? left / 2
                                                : left;
            memset(part, 'p', take), part[take] = 0;
            ck_assert_int_eq(mkdirat(at, part, 0700), 0);
            const int next = openat(at, part, O_RDONLY | O_DIRECTORY);
            close(at), at = next;
            bytes += (size_t)snprintf(path + bytes, sizeof path - bytes, "/%s", part);
        }
        ck_assert_int_eq(renameat(start, "step-1", at, "step-1"), 0);
        ck_assert_int_eq(renameat(start, "latest", at, "latest"), 0);
        const gsa_status status =
            gsa_checkpoint_find(NULL, path, "state", &found, &warning, &error);
        ck_assert_msg((status == GSA_OK) == !over, "%s", error.text);
        if (over)
            ck_assert_msg(strstr(error.text, "a path of 4096 bytes is too long"), "%s", error.text);
        else gsa_release(NULL, found), gsa_release(NULL, warning);
        close(at), close(start);
        snprintf(path, sizeof path, "rm -r %s/*", scratch.folder);
        ck_assert_int_eq(system(path), 0);
        gsa_scratch_close(&scratch);
    }
}
END_TEST

START_TEST(every_flipped_byte_is_seen)
{
    static const int marks[] = { 1, 2, -1 };
    gsa_scratch scratch;
    int mark, warned;
    int64_t count;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    for (int f = -1; f < 2; f++) {
        const char *file =
            gsa_scratch_path(&scratch, "step-2/%s", f < 0 ? "manifest.sha256" : marked_file[f]);
        char *bytes = gsa_get_file(file, &count);
        free(bytes);
        for (int64_t at = 0; at < count; at += f == 0 ? 977 : 1) {
            marked_flip(file, at);
            ck_assert_msg(
                strcmp(marked_found(NULL, scratch.folder, marks, &mark, &warned), "step-1") == 0,
                "byte %lld", (long long)at);
            ck_assert_int_eq(mark, 1);
            ck_assert_int_eq(warned, 1);
            marked_flip(file, at);
        }
    }
    ck_assert_str_eq(marked_found(NULL, scratch.folder, marks, &mark, &warned), "step-2");
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
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "step-2/manifest.sha256");
    char *bytes = gsa_get_file(file, &count);
    ck_assert_int_gt(count, MARKED_FILES * 66);
    for (int64_t part = 0; part <= count; part++) {
        gsa_put_file(file, bytes, part);
        ck_assert_msg(strcmp(marked_found(NULL, scratch.folder, marks, &mark, &warned),
                             part < count ? "step-1" : "step-2") == 0,
                      "%lld of %lld bytes", (long long)part, (long long)count);
    }
    free(bytes);
    gsa_scratch_close(&scratch);
}
END_TEST

static int see_no_manifest(void *user, const char *path, int64_t *bytes)
{
    return strstr(path, "/manifest.sha256") ? (errno = EIO, -1)
                                            : gsa_system_default()->kind(user, path, bytes);
}

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
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, latest, NULL, &path, &warning, &error), GSA_ERR_IO);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, gsa_scratch_path(&scratch, "latest/x"), NULL, &path,
                                         &warning, &error),
                     GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/latest/x' cannot be opened: Not a directory"));
    gsa_system plain = *gsa_system_default();
    plain.hold = NULL; /* of a program whose folders cannot be held */
    ck_assert_int_eq(gsa_checkpoint_find(&plain, scratch.folder, NULL, &path, &warning, &error),
                     GSA_OK);
    gsa_release(NULL, path);
    plain.kind = see_no_manifest;
    ck_assert_int_eq(gsa_checkpoint_find(&plain, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/manifest.sha256' cannot be examined: "));
    marked_flip(gsa_scratch_path(&scratch, "step-1/config.ini"), 3);
    marked_flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 3);
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
    for (int i = 0; i < GSA_COUNT(steps); i++)
        marked_must_save(scratch.folder, steps[i], steps[i], 9);
    for (int i = 0; i < GSA_COUNT(newest); i++) { /* 30: `latest`, the last that was saved */
        ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                         GSA_OK);
        ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-%d", newest[i]));
        marked_flip(gsa_scratch_path(&scratch, "step-%d/config.ini", newest[i]), 3);
        gsa_release(NULL, path);
        gsa_release(NULL, warning);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* Of a step and the one that it replaced, its own is the newer; a `latest` that holds a NUL, or no
 * step, names none. */
START_TEST(a_replaced_step_comes_after_its_own)
{
    static const char *const latest[] = { "step-2\n\0", "step-two", "step-3\n" };
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 2, 1, 9);
    marked_copy(scratch.folder, "step-2", "step-2.old-gsa");
    for (int i = 0; i < GSA_COUNT(latest); i++) {
        gsa_put_file(gsa_scratch_path(&scratch, "latest"), latest[i], i == 0 ? 8 : 7);
        ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                         GSA_OK);
        ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-2"));
        gsa_release(NULL, path);
        gsa_release(NULL, warning);
    }
    marked_flip(gsa_scratch_path(&scratch, "step-2/config.ini"), 3);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_OK);
    ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-2.old-gsa"));
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A folder that bears the name of a file of the list. */
START_TEST(a_folder_is_no_file_of_a_step)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "step-2/state");
    ck_assert_int_eq(remove(file), 0);
    ck_assert_int_eq(gsa_make_folders(NULL, file, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_OK);
    ck_assert_str_eq(path, gsa_scratch_path(&scratch, "step-1"));
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

/* What could be read for ever, or longer than anyone waits, is named and not read. */
static const struct {
    const char *path; /* becomes a FIFO, or has that many bytes */
    int64_t bytes;
    const char *warning, *found;
} vast[] = {
    { "step-2/state", INT64_C(1) << 37, "state' has 137438953472 bytes, and the most that is read",
      "step-1" },
    { "step-2/state", 1 << 24, "of them: a file of holes is not read", "step-1" },
    { "step-2/pipe", 0, "pipe' is no regular file", "step-1" },
    { "latest", 0, "latest' is no regular file", "step-2" },
};

START_TEST(pipes_and_vast_files_are_refused)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *at = gsa_scratch_path(&scratch, "%s", vast[_i].path);
    if (vast[_i].bytes) ck_assert_int_eq(truncate(at, vast[_i].bytes), 0);
    else {
        remove(at);
        ck_assert_int_eq(mkfifo(at, 0600), 0);
    }
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_OK);
    ck_assert_msg(strstr(warning, vast[_i].warning), "%s", warning);
    ck_assert_str_eq(path, gsa_scratch_path(&scratch, "%s", vast[_i].found));
    gsa_release(NULL, path);
    gsa_release(NULL, warning);
    gsa_scratch_close(&scratch);
}
END_TEST

static int hold_nothing(void *user, const char *path, char *at, size_t room)
{
    (void)user, (void)path, (void)at, (void)room;
    return errno = ENOENT, -1;
}

/* Who brings the folder back after it could not be held has nothing read of it. */
START_TEST(a_folder_that_comes_back_is_not_read)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_system table = *gsa_system_default();
    table.hold = hold_nothing;
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    for (int i = 0; i < 2; i++) {
        const char *at = i ? gsa_scratch_path(&scratch, "step-1") : scratch.folder;
        ck_assert_int_eq(gsa_checkpoint_find(&table, at, NULL, &path, &warning, &error),
                         GSA_ERR_IO);
        ck_assert_msg(strstr(error.text, "it is not there or is a file"), "%s", error.text);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* A pipe, a file and a link of a step's name are none of ours: they stay as they are. */
START_TEST(what_is_no_folder_is_not_replaced)
{
    static const char *const makes[] = { "mkfifo step-1", "echo mine >step-1", "ln -s d step-1" };
    gsa_scratch scratch;
    gsa_checkpoint *made;
    gsa_output *output;
    gsa_error error = { 0 };
    struct stat before, after;
    char command[400];
    gsa_scratch_open(&scratch);
    snprintf(command, sizeof command, "cd %s && mkdir d && %s", scratch.folder, makes[_i]);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(lstat(gsa_scratch_path(&scratch, "step-1"), &before), 0);
    ck_assert_int_eq(gsa_checkpoint_begin(NULL, scratch.folder, 1, &made, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_file(made, "state", &output, &error), GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    ck_assert_int_eq(gsa_checkpoint_commit(made, 1, &error), GSA_ERR_IO);
    ck_assert_msg(strstr(error.text, "step-1' cannot be replaced: it is no folder") != NULL, "%s",
                  error.text);
    ck_assert_int_eq(lstat(gsa_scratch_path(&scratch, "step-1"), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
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
        marked_must_save(folder, 1, 1, 2);
    }
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, "the runs in it are ra, rb, rc, rz") != NULL, "%s",
                  error.text);
    /* so many that not all are: the sentence is cut between them */
    for (int i = 0; i < 20; i++) {
        snprintf(folder, sizeof folder, "%s/r-of-a-long-name-%d", scratch.folder, i);
        ck_assert_int_eq(gsa_make_folders(NULL, folder, &error), GSA_OK);
        marked_must_save(folder, 1, 1, 2);
    }
    ck_assert_int_eq(gsa_checkpoint_find(NULL, scratch.folder, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "the runs in it are r-of-a-long-name-0, "));
    gsa_scratch_close(&scratch);
}
END_TEST

/* A step's own folder is taken as it is: who names it means no other. */
START_TEST(a_step_itself)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *step = gsa_scratch_path(&scratch, "step-1");
    ck_assert_int_eq(gsa_checkpoint_find(NULL, step, NULL, &path, &warning, &error), GSA_OK);
    ck_assert_str_eq(path, step);
    ck_assert_ptr_null(warning);
    gsa_release(NULL, path);
    marked_flip(gsa_scratch_path(&scratch, "step-1/config.ini"), 0);
    ck_assert_int_eq(gsa_checkpoint_find(NULL, step, NULL, &path, &warning, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "step-1/config.ini' does not have the hash"));
    gsa_scratch_close(&scratch);
}
END_TEST

/* A file that the caller will not read may be damaged or gone; the others may not. */
START_TEST(a_file_that_is_not_read_is_neither_checked_nor_missed)
{
    gsa_scratch scratch;
    char *path, *warning;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    marked_must_save(scratch.folder, 1, 1, 2);
    marked_must_save(scratch.folder, 2, 2, 2);
    const char *file = gsa_scratch_path(&scratch, "step-2/config.ini");
    for (int round = 0; round < 2; round++) {
        if (round == 0) marked_flip(file, 3);
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
    static const gsa_test finding[] = {
        GSA_LOOP(damage_is_named_and_passed_over, GSA_COUNT(damages)),
        GSA_TEST(a_manifest_has_its_step),
        GSA_TEST(a_path_that_is_too_long),
        GSA_TEST(a_held_step_without_memory),
        GSA_TEST(every_flipped_byte_is_seen),
        GSA_TEST(every_part_of_a_manifest_is_noticed),
        GSA_TEST(none_is_whole),
        GSA_TEST(the_newest_whole_one_is_used),
        GSA_TEST(a_replaced_step_comes_after_its_own),
        GSA_TEST(a_folder_is_no_file_of_a_step),
        GSA_LOOP(pipes_and_vast_files_are_refused, GSA_COUNT(vast)),
        GSA_TEST(a_folder_that_comes_back_is_not_read),
        GSA_LOOP(what_is_no_folder_is_not_replaced, 3),
        GSA_TEST(runs_in_a_folder_are_named),
        GSA_TEST(a_step_itself),
        GSA_TEST(a_file_that_is_not_read_is_neither_checked_nor_missed)
    };
    static const gsa_case cases[] = { GSA_CASE("finding", finding, 60) };
    return gsa_run_suite("checkpoint", cases, GSA_COUNT(cases), argc, argv);
}
