/* Files: all or nothing, devices never renamed over, every fault reported. */
#define _GNU_SOURCE /* setgroups */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include "support/faults.h"
#include "support/suite.h"

/* A fresh folder, removed by the test with its files. */
static void make_place(char *folder)
{
    strcpy(folder, "/tmp/gsa-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

typedef struct names {
    int count;
    char last[256];
} names;

static int note_name(void *context, const char *name)
{
    names *seen = context;
    seen->count++;
    snprintf(seen->last, sizeof seen->last, "%s", name);
    return 0;
}

static int files_in(const char *folder)
{
    names seen = { 0 };
    ck_assert_int_eq(gsa_system_default()->list(NULL, folder, note_name, &seen), 0);
    return seen.count;
}

static void put_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void holds(const char *path, const char *content)
{
    char *data;
    int64_t bytes;
    gsa_error error;
    ck_assert_int_eq(gsa_read_file(NULL, path, 1 << 24, &data, &bytes, &error), GSA_OK);
    ck_assert_int_eq(bytes, (int64_t)strlen(content));
    ck_assert_str_eq(data, content);
    gsa_release(NULL, data);
}

START_TEST(a_check_leaves_nothing)
{
    char folder[64], path[128];
    gsa_error error;
    make_place(folder);
    snprintf(path, sizeof path, "%s/f", folder);
    ck_assert_int_eq(gsa_output_check(NULL, path, &error), GSA_OK);
    ck_assert_int_eq(files_in(folder), 0);
    put_file(path, "old");
    ck_assert_int_eq(gsa_output_check(NULL, path, &error), GSA_OK);
    ck_assert_int_eq(files_in(folder), 1);
    holds(path, "old");
    ck_assert_int_eq(gsa_output_check(NULL, folder, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(
        mkfifo(path, 0600),
        0); /* who waits at its other end would see it opened and closed: nobody is there */
    ck_assert_int_eq(gsa_output_check(NULL, path, &error), GSA_OK);
    ck_assert_int_eq(gsa_output_check(NULL, "-", &error), GSA_OK);
    ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof path, "%s/none/f", folder);
    ck_assert_int_eq(gsa_output_check(NULL, path, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "No such file"));
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(a_file_is_replaced_at_commit)
{
    char folder[32], path[64];
    gsa_output *output;
    gsa_error error;
    make_place(folder);
    snprintf(path, sizeof path, "%s/out", folder);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(gsa_output_open(NULL, path, &output, &error), GSA_OK);
        gsa_output_text(output, "one ");
        gsa_output_format(output, "%d %s", 2, "three");
        if (round == 0)
            ck_assert_int_eq(gsa_system_default()->kind(NULL, path, NULL), GSA_FILE_ABSENT);
        if (round == 2) {
            put_file(path, "old");
            gsa_output_abandon(output);
            holds(path, "old");
        } else {
            ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
            holds(path, "one 2 three");
        }
        ck_assert_int_eq(files_in(folder), 1);
    }
    unlink(path), rmdir(folder);
}
END_TEST

START_TEST(any_size_of_pieces_gives_the_same_bytes)
{
    char folder[32], path[64], *expected = malloc(400001), *data;
    int64_t bytes;
    gsa_output *output;
    gsa_error error;
    gsa_faults faults;
    make_place(folder);
    snprintf(path, sizeof path, "%s/out", folder);
    for (int i = 0; i < 400000; i++) expected[i] = (char)('a' + i % 26);
    expected[400000] = 0;
    const int sizes[] = { 1, 700, 65535, 65536, 65537, 400000 };
    for (int s = 0; s < GSA_COUNT(sizes); s++) {
        gsa_faults_start(&faults);
        faults.most = 1000; /* short writes and reads */
        ck_assert_int_eq(gsa_output_open(&faults.table, path, &output, &error), GSA_OK);
        for (int at = 0; at < 400000; at += sizes[s])
            if (s % 2)
                gsa_output_write(output, expected + at,
                                 at + sizes[s] < 400000 ? sizes[s] : 400000 - at);
            else
                gsa_output_format(output, "%.*s", at + sizes[s] < 400000 ? sizes[s] : 400000 - at,
                                  expected + at);
        ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
        ck_assert_int_eq(gsa_read_file(&faults.table, path, 400000, &data, &bytes, &error), GSA_OK);
        ck_assert_int_eq(bytes, 400000);
        ck_assert(memcmp(data, expected, 400001) == 0);
        gsa_release(&faults.table, data);
        ck_assert_int_eq(gsa_read_file(&faults.table, path, 399999, &data, &bytes, &error),
                         GSA_ERR_LIMIT);
        ck_assert_ptr_nonnull(strstr(error.text, "399999"));
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    free(expected), unlink(path), rmdir(folder);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status rewrite(gsa_faults *faults, void *context)
{
    gsa_output *output;
    gsa_error error = { GSA_OK, "" };
    gsa_status status = gsa_output_open(&faults->table, context, &output, &error);
    if (status == GSA_OK) {
        char line[1000];
        memset(line, 'x', sizeof line);
        for (int i = 0; i < 200; i++) gsa_output_write(output, line, sizeof line);
        status = gsa_output_commit(output, &error);
    }
    if (status != GSA_OK)
        ck_assert_msg(strstr(error.text, context) != NULL, "'%s' names no file", error.text);
    return status;
}

static const struct {
    int op;
    gsa_status status;
    int target_changes; /* the fault comes after the rename */
} output_faults[] = { { GSA_OP_ALLOC, GSA_ERR_MEMORY, 0 }, { GSA_OP_OPEN, GSA_ERR_IO, 0 },
                      { GSA_OP_WRITE, GSA_ERR_IO, 0 },     { GSA_OP_SYNC, GSA_ERR_IO, 0 },
                      { GSA_OP_CLOSE, GSA_ERR_IO, 0 },     { GSA_OP_RENAME, GSA_ERR_IO, 0 },
                      { GSA_OP_KIND, GSA_ERR_IO, 0 },      { GSA_OP_SYNC_FOLDER, GSA_ERR_IO, 1 } };

/* As gsa_faults_sweep, and after each fault the old file is and nothing lies next to it. */
START_TEST(a_fault_leaves_the_old_file)
{
    char folder[32], path[64];
    gsa_faults faults;
    make_place(folder);
    snprintf(path, sizeof path, "%s/out", folder);
    put_file(path, "old");
    gsa_faults_start(&faults);
    ck_assert_int_eq(rewrite(&faults, path), GSA_OK);
    const int op = output_faults[_i].op, most = (int)faults.calls[op];
    ck_assert_int_gt(most, 0);
    for (int n = 1; n <= most; n++)
        for (int forever = 0; forever < 2; forever++) {
            put_file(path, "old");
            gsa_faults_rewind(&faults);
            faults.fail[op] = n, faults.forever = forever;
            ck_assert_int_eq(rewrite(&faults, path), output_faults[_i].status);
            if (!output_faults[_i].target_changes) holds(path, "old");
            ck_assert_int_eq(files_in(folder), 1);
            ck_assert_int_eq(gsa_faults_live(&faults), 0);
        }
    unlink(path), rmdir(folder);
}
END_TEST

START_TEST(a_first_file_that_fails_leaves_nothing)
{
    char folder[32], path[64];
    gsa_faults faults;
    make_place(folder);
    snprintf(path, sizeof path, "%s/out", folder);
    for (int op = GSA_OP_WRITE; op <= GSA_OP_CLOSE; op++) {
        gsa_faults_start(&faults);
        faults.fail[op] = 1;
        ck_assert_int_eq(rewrite(&faults, path), GSA_ERR_IO);
        ck_assert_int_eq(files_in(folder), 0);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    rmdir(folder);
}
END_TEST

/* ---- what is no regular file --------------------------------------------------------------- */

START_TEST(a_full_device_is_an_error)
{
    gsa_error error;
    gsa_output *output;
    if (gsa_system_default()->kind(NULL, "/dev/full", NULL) != GSA_FILE_OTHER) return;
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 1024) {
        ck_assert_int_eq(gsa_output_open(NULL, "/dev/full", &output, &error), GSA_OK);
        for (int i = 0; i < bytes; i++) gsa_output_write(output, "x", 1);
        ck_assert_int_eq(gsa_output_commit(output, &error), GSA_ERR_IO);
        ck_assert_ptr_nonnull(strstr(error.text, "/dev/full"));
        ck_assert_int_eq(gsa_system_default()->kind(NULL, "/dev/full", NULL), GSA_FILE_OTHER);
    }
}
END_TEST

START_TEST(a_device_stays_a_device)
{
    gsa_error error;
    gsa_output *output;
    gsa_faults faults;
    gsa_faults_start(&faults);
    ck_assert_int_eq(gsa_output_open(&faults.table, "/dev/null", &output, &error), GSA_OK);
    gsa_output_text(output, "gone");
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    ck_assert_int_eq(faults.calls[GSA_OP_RENAME] + faults.calls[GSA_OP_REMOVE], 0);
    ck_assert_int_eq(gsa_system_default()->kind(NULL, "/dev/null", NULL), GSA_FILE_OTHER);
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_CLOSE] = 1; /* a device tells of a lost write when it is closed */
    ck_assert_int_eq(rewrite(&faults, (char[]){ "/dev/null" }), GSA_ERR_IO);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

static void *drain(void *path)
{
    static char got[64];
    const int file = open(path, O_RDONLY);
    for (ssize_t n, at = 0; (n = read(file, got + at, sizeof got - 1 - (size_t)at)) > 0;) at += n;
    close(file);
    return got;
}

START_TEST(a_fifo_is_written_directly)
{
    char folder[32], path[64];
    void *got;
    pthread_t reader;
    gsa_error error;
    gsa_output *output;
    make_place(folder);
    snprintf(path, sizeof path, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, drain, path), 0);
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, &error), GSA_OK);
    gsa_output_text(output, "through the pipe");
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    pthread_join(reader, &got);
    ck_assert_str_eq(got, "through the pipe");
    ck_assert_int_eq(gsa_system_default()->kind(NULL, path, NULL), GSA_FILE_OTHER);
    ck_assert_int_eq(files_in(folder), 1);
    unlink(path), rmdir(folder);
}
END_TEST

START_TEST(standard_output_is_written_and_stays_open)
{
    int ends[2];
    char got[32] = "";
    gsa_error error;
    gsa_output *output;
    ck_assert_int_eq(pipe(ends), 0);
    const int kept = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    const gsa_status opened = gsa_output_open(NULL, "-", &output, &error);
    if (opened == GSA_OK) gsa_output_text(output, "to stdout");
    const gsa_status status = opened == GSA_OK ? gsa_output_commit(output, &error) : opened;
    const int open_still = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    dup2(kept, STDOUT_FILENO);
    close(ends[1]), close(kept);
    ck_assert_int_eq(status, GSA_OK);
    ck_assert(open_still);
    ck_assert_int_eq(read(ends[0], got, sizeof got - 1), 9);
    ck_assert_str_eq(got, "to stdout");
    close(ends[0]);
}
END_TEST

START_TEST(bad_targets_have_a_sentence)
{
    static const struct {
        const char *path, *says;
        gsa_status status;
    } rows[] = { { "", "empty", GSA_ERR_ARGUMENT },
                 { "/tmp", "folder", GSA_ERR_IO },
                 { "/nonexistent-folder/x", "/nonexistent-folder/x", GSA_ERR_IO },
                 { "/dev/null/x", "/dev/null/x", GSA_ERR_IO } };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_output *output;
        gsa_error error;
        ck_assert_int_eq(gsa_output_open(NULL, rows[i].path, &output, &error), rows[i].status);
        ck_assert_msg(strstr(error.text, rows[i].says) != NULL, "'%s'", error.text);
        ck_assert_ptr_null(output);
    }
}
END_TEST

/* ---- reading and folders ------------------------------------------------------------------- */

static gsa_status read_back(gsa_faults *faults, void *context)
{
    char *data;
    int64_t bytes;
    gsa_error error;
    faults->most = 4096;
    const gsa_status status =
        gsa_read_file(&faults->table, context, 1 << 20, &data, &bytes, &error);
    if (status == GSA_OK) ck_assert_int_eq(bytes, 50000);
    else ck_assert_ptr_null(data);
    gsa_release(&faults->table, data);
    return status;
}

/* The file was empty when it was looked at, and has grown since. */
static int kind_of_empty(void *user, const char *path, int64_t *bytes)
{
    const int kind = gsa_system_default()->kind(NULL, path, bytes);
    (void)user;
    if (bytes) *bytes = 0;
    return kind;
}

static gsa_status read_grown(gsa_faults *faults, void *context)
{
    faults->table.kind = kind_of_empty;
    return read_back(faults, context);
}

START_TEST(reading_reports_every_fault)
{
    char folder[32], path[64], content[50001];
    make_place(folder);
    snprintf(path, sizeof path, "%s/in", folder);
    memset(content, 'y', 50000), content[50000] = 0;
    put_file(path, content);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, read_back, path), 20);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, read_back, path), 1);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, read_back, path), 1);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, read_grown, path), 3);
    unlink(path), rmdir(folder);
}
END_TEST

START_TEST(files_that_cannot_be_read_have_a_sentence)
{
    static const char *const paths[] = { "/nonexistent", "/tmp", "/dev/null/x" };
    char *data;
    int64_t bytes;
    for (int i = 0; i < GSA_COUNT(paths); i++) {
        gsa_error error;
        ck_assert_int_eq(gsa_read_file(NULL, paths[i], 100, &data, &bytes, &error), GSA_ERR_IO);
        ck_assert_ptr_nonnull(strstr(error.text, paths[i]));
        ck_assert_ptr_null(data);
    }
    ck_assert_int_eq(gsa_read_file(NULL, "/dev/null", 0, &data, &bytes, NULL), GSA_OK);
    ck_assert_str_eq(data, "");
    gsa_release(NULL, data);
    ck_assert_int_eq(gsa_read_file(NULL, "/dev/zero", 1000, &data, &bytes, NULL), GSA_ERR_LIMIT);
}
END_TEST

static int tell_one_byte(void *user, const char *path, int64_t *bytes)
{
    (void)user, (void)path;
    if (bytes) *bytes = 1;
    return GSA_FILE_REGULAR;
}

/* A file that has grown since it was looked at is not read without end. */
START_TEST(a_file_that_grows_meanwhile_is_read_in_part)
{
    char folder[64] = "/tmp/gsa-grows-XXXXXX", path[80], *data;
    int64_t bytes;
    gsa_error error;
    gsa_system table = *gsa_system_default();
    table.kind = tell_one_byte;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(ftruncate(fileno(file), 1 << 22), 0);
    ck_assert_int_eq(gsa_read_file(&table, path, 1 << 30, &data, &bytes, &error), GSA_OK);
    ck_assert_int_eq(bytes, 1 << 22);
    gsa_release(NULL, data);
    ck_assert_int_eq(ftruncate(fileno(file), 1 << 26), 0);
    ck_assert_int_eq(gsa_read_file(&table, path, 1 << 30, &data, &bytes, &error), GSA_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "x' is longer than 16777218 bytes"));
    fclose(file), unlink(path), rmdir(folder);
}
END_TEST

START_TEST(folders_are_made_with_their_parents)
{
    char folder[32], path[96];
    gsa_error error;
    make_place(folder);
    snprintf(path, sizeof path, "%s/a//b/c/", folder);
    for (int round = 0; round < 2; round++)
        ck_assert_int_eq(gsa_make_folders(NULL, path, &error), GSA_OK);
    ck_assert_int_eq(gsa_system_default()->kind(NULL, path, NULL), GSA_FILE_FOLDER);
    snprintf(path, sizeof path, "%s/a/file", folder);
    put_file(path, "");
    strcat(path, "/deeper");
    ck_assert_int_eq(gsa_make_folders(NULL, path, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/a/file"));
    ck_assert_int_eq(gsa_make_folders(NULL, "", &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_make_folders(NULL, "/proc/none/here", &error), GSA_ERR_IO);
    /* a path that is too long leaves nothing of it, and what was there */
    char deep[8000];
    int used = snprintf(deep, sizeof deep, "%s/a", folder);
    while (used < 6000) used += snprintf(deep + used, sizeof deep - (size_t)used, "/%0100d", 0);
    ck_assert_int_eq(gsa_make_folders(NULL, deep, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "File name too long"));
    const char *const inside[] = { "/a/file", "/a/b/c", "/a/b", "/a", "" };
    for (int i = 0; i < GSA_COUNT(inside); i++) {
        snprintf(path, sizeof path, "%s%s", folder, inside[i]);
        ck_assert_int_eq(gsa_system_default()->remove(NULL, path), 0);
    }
}
END_TEST

START_TEST(the_table_opens_as_it_says)
{
    char folder[32], path[64];
    const gsa_system *s = gsa_system_default();
    int64_t bytes;
    make_place(folder);
    snprintf(path, sizeof path, "%s/f", folder);
    ck_assert_int_lt(s->open(NULL, path, GSA_OPEN_READ), 0);
    ck_assert_int_lt(s->open(NULL, path, GSA_OPEN_EXISTING), 0);
    static const struct {
        int mode;
        const char *write, *content;
    } steps[] = { { GSA_OPEN_CREATE, "one", "one" },
                  { GSA_OPEN_APPEND, "two", "onetwo" },
                  { GSA_OPEN_EXISTING, "ONE", "ONEtwo" },
                  { GSA_OPEN_REPLACE, "x", "x" } };
    for (int i = 0; i < GSA_COUNT(steps); i++) {
        const int file = s->open(NULL, path, steps[i].mode);
        ck_assert_int_ge(file, 0);
        ck_assert_int_eq(s->write(NULL, file, steps[i].write, (int64_t)strlen(steps[i].write)),
                         (int64_t)strlen(steps[i].write));
        ck_assert_int_eq(s->sync(NULL, file), 0);
        ck_assert_int_eq(s->close(NULL, file), 0);
        holds(path, steps[i].content);
    }
    ck_assert_int_lt(s->open(NULL, path, GSA_OPEN_CREATE), 0);
    ck_assert_int_eq(errno, EEXIST);
    ck_assert_int_eq(s->truncate(NULL, path, 5), 0);
    ck_assert_int_eq(s->kind(NULL, path, &bytes), GSA_FILE_REGULAR);
    ck_assert_int_eq(bytes, 5);
    ck_assert_int_eq(s->sync_folder(NULL, folder), 0);
    ck_assert_int_lt(s->sync_folder(NULL, "/nonexistent"), 0);
    ck_assert_int_lt(s->list(NULL, "/nonexistent", note_name, &(names){ 0 }), 0);
    ck_assert_int_eq(s->remove(NULL, path), 0);
    ck_assert_int_eq(s->remove(NULL, folder), 0);
}
END_TEST

static void write_text(const char *path, const char *text)
{
    gsa_output *output;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_output_open(NULL, path, &output, &error) == GSA_OK, "%s", error.text);
    gsa_output_text(output, text);
    ck_assert_msg(gsa_output_commit(output, &error) == GSA_OK, "%s", error.text);
}

START_TEST(a_link_stays_and_what_it_names_is_written)
{
    char folder[64], path[128], link[128], chain[128];
    struct stat seen;
    make_place(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(chain, sizeof chain, "%s/chain", folder);
    ck_assert_int_eq(symlink("file", link), 0); /* of nothing, at first */
    ck_assert_int_eq(symlink(link, chain), 0);
    for (int i = 0; i < 3; i++) {
        write_text(i == 1 ? link : chain, i == 1 ? "one" : "two");
        holds(path, i == 1 ? "one" : "two");
        ck_assert(lstat(link, &seen) == 0 && S_ISLNK(seen.st_mode));
        ck_assert(lstat(chain, &seen) == 0 && S_ISLNK(seen.st_mode));
    }
    ck_assert_int_eq(files_in(folder), 3);
    gsa_output *output; /* of a folder that is ours: the link itself is replaced */
    ck_assert_int_eq(gsa_output_open_own(NULL, link, &output, NULL), GSA_OK);
    gsa_output_text(output, "own");
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    ck_assert(lstat(link, &seen) == 0 && S_ISREG(seen.st_mode));
    holds(path, "two");
    remove(path), remove(link), remove(chain), rmdir(folder);
}
END_TEST

START_TEST(a_file_keeps_its_permissions)
{
    static const mode_t modes[] = { 0600, 0640, 0644, 0755 };
    char folder[64], path[128];
    struct stat seen;
    make_place(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    put_file(path, "old");
    for (int i = 0; i < GSA_COUNT(modes); i++) {
        ck_assert_int_eq(chmod(path, modes[i]), 0);
        write_text(path, "new");
        ck_assert_int_eq(stat(path, &seen), 0);
        ck_assert_uint_eq(seen.st_mode & 07777, modes[i]);
    }
    ck_assert_int_eq(chmod(path, 06755), 0); /* whoever writes such a file takes its rights away */
    write_text(path, "new");
    ck_assert_int_eq(stat(path, &seen), 0);
    ck_assert_uint_eq(seen.st_mode & 07777, 0755);
    if (geteuid() == 0) { /* root writes a user's file, which stays the user's */
        ck_assert(chown(path, 12345, 23456) == 0 && chmod(path, 06750) == 0);
        write_text(path, "new");
        ck_assert_int_eq(stat(path, &seen), 0);
        ck_assert(seen.st_uid == 12345 && seen.st_gid == 23456);
        ck_assert_uint_eq(seen.st_mode & 07777, 0750);
    }
    remove(path), rmdir(folder);
}
END_TEST

static mode_t private_at_first;
static int see_and_keep(void *user, int file, const char *path)
{
    struct stat seen;
    ck_assert_int_eq(fstat(file, &seen), 0);
    private_at_first = seen.st_mode;
    return gsa_system_default()->keep_mode(user, file, path);
}

/* Who opened the new file before it has the old one's permissions would read what is written. */
START_TEST(nobody_opens_what_will_be_private)
{
    char folder[64], path[128];
    gsa_system table = *gsa_system_default();
    gsa_output *output;
    table.keep_mode = see_and_keep;
    make_place(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    put_file(path, "old");
    ck_assert_int_eq(chmod(path, 0644), 0);
    const mode_t before = umask(0);
    ck_assert_int_eq(gsa_output_open(&table, path, &output, NULL), GSA_OK);
    umask(before);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    ck_assert_uint_eq(private_at_first & 07777, 0600);
    remove(path), rmdir(folder);
}
END_TEST

/* What user 1001 of the group 2000, too, makes of a file of 1002 and `group` with that mode. */
static struct stat written_over(const char *path, gid_t group, mode_t mode)
{
    struct stat seen;
    int status;
    put_file(path, "old");
    ck_assert(chown(path, 1002, group) == 0 && chmod(path, mode) == 0);
    const pid_t child = fork();
    if (child == 0) {
        gsa_output *output;
        const gid_t more = 2000;
        if (setgroups(1, &more) < 0 || setgid(1001) < 0 || setuid(1001) < 0) _exit(1);
        if (gsa_output_open(NULL, path, &output, NULL) != GSA_OK) _exit(2);
        _exit(gsa_output_commit(output, NULL) == GSA_OK ? 0 : 3);
    }
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    ck_assert(stat(path, &seen) == 0 && seen.st_uid == 1001);
    ck_assert_int_eq(remove(path), 0);
    return seen;
}

/* Only root gives a file away. Its group can be kept by who is in it; else the new group, and who
 * has left the old one, may do what all could. Who may not read it does not see whether it has a
 * list of others (below). */
START_TEST(a_new_owner_lets_nobody_in)
{
    static const struct {
        gid_t group;
        mode_t mode, left;
    } files[] = { { 2000, 0640, 0640 }, { 2000, 0604, 0600 }, { 3000, 0640, 0600 },
                  { 3000, 0604, 0600 }, { 3000, 0664, 0644 }, { 3000, 0775, 0755 } };
    char folder[64], path[128];
    if (geteuid() != 0) return;
    make_place(folder);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < GSA_COUNT(files); i++) {
        const struct stat seen = written_over(path, files[i].group, files[i].mode);
        ck_assert_uint_eq(seen.st_gid, files[i].group == 2000 ? 2000 : 1001);
        ck_assert_uint_eq(seen.st_mode & 07777, files[i].left);
    }
    rmdir(folder);
}
END_TEST

#ifdef __linux__
#define LIST "system.posix_acl_access"
/* user::rw-, user:1234:rw-, group::---, mask::rw-, other::--- */
static const unsigned char list[] = { 2,   0,   0,   0,   1,   0,   6,  0,   255, 255, 255,
                                      255, 2,   0,   6,   0,   210, 4,  0,   0,   4,   0,
                                      0,   0,   255, 255, 255, 255, 16, 0,   6,   0,   255,
                                      255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255 };

/* The mode of a file with such a list says its mask, not what its group may. */
START_TEST(a_list_of_who_may_read_is_kept)
{
    char folder[64], path[128], kept[sizeof list + 1];
    struct stat seen;
    make_place(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    put_file(path, "old");
    if (setxattr(path, LIST, list, sizeof list, 0) == 0) { /* else there are none here */
        write_text(path, "new");
        ck_assert_int_eq(getxattr(path, LIST, kept, sizeof kept), sizeof list);
        ck_assert_mem_eq(kept, list, sizeof list);
        ck_assert(stat(path, &seen) == 0);
        ck_assert_uint_eq(seen.st_mode & 07777, 0660);
        /* what the folder gives to new files is not what this one had */
        ck_assert_int_eq(setxattr(folder, "system.posix_acl_default", list, sizeof list, 0), 0);
        ck_assert_int_eq(removexattr(path, LIST), 0);
        ck_assert_int_eq(chmod(path, 0640), 0);
        write_text(path, "new");
        ck_assert_int_eq(getxattr(path, LIST, kept, sizeof kept), -1);
        ck_assert(stat(path, &seen) == 0);
        ck_assert_uint_eq(seen.st_mode & 07777, 0640);
    }
    remove(path);
    if (geteuid() == 0) { /* a group that is not kept is in no list either */
        ck_assert_int_eq(chmod(folder, 0777), 0);
        put_file(path, "old");
        if (setxattr(path, LIST, list, sizeof list, 0) == 0)
            ck_assert_uint_eq(written_over(path, 3000, 0664).st_mode & 07777, 0600);
        remove(path);
    }
    rmdir(folder);
}
END_TEST
#endif

/* Standard output is a file that holds something: it goes on after that, and keeps its name and
 * inode. */
START_TEST(a_descriptor_is_written_where_it_is)
{
    char folder[64], path[128], link[128], chain[128];
    const char *const paths[] = { "/dev/stdout",
                                  "/dev/fd/1",
                                  "/proc/self/fd/1",
                                  "//dev/stdout",
                                  "/dev/../dev/fd/1",
                                  "/proc/thread-self/fd/1",
                                  link,
                                  chain };
    struct stat before, after;
    make_place(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(chain, sizeof chain, "%s/chain", folder);
    ck_assert(symlink("/dev/stdout", link) == 0 && symlink("link", chain) == 0);
    for (int i = 0; i < GSA_COUNT(paths); i++) {
        const int saved = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ck_assert(saved >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
        ck_assert_int_eq(fstat(file, &before), 0);
        ck_assert_int_eq(write(STDOUT_FILENO, "one ", 4), 4);
        write_text(paths[i], "two");
        ck_assert_int_eq(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
        close(saved), close(file);
        ck_assert_int_eq(stat(path, &after), 0);
        ck_assert_uint_eq(before.st_ino, after.st_ino);
        holds(path, "one two");
        ck_assert_int_eq(files_in(folder), 3);
    }
    /* a program's own, which its children do not get */
    const int closed = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    char named[64];
    snprintf(named, sizeof named, "/dev/fd/%d", closed);
    ck_assert_int_eq(write(closed, "one ", 4), 4);
    write_text(named, "two");
    ck_assert_int_eq(close(closed), 0);
    holds(path, "one two");
    /* what a run opens as its own, or makes, is no descriptor */
    ck_assert_int_lt(gsa_system_default()->open(NULL, link, GSA_OPEN_OWN), 0);
    ck_assert_int_lt(gsa_system_default()->open(NULL, link, GSA_OPEN_CREATE), 0);
    /* what is read as a folder's own is no link, and no FIFO, which would be waited for */
    int own = gsa_system_default()->open(NULL, path, GSA_OPEN_READ_OWN);
    ck_assert_int_ge(own, 0);
    close(own);
    ck_assert_int_lt(gsa_system_default()->open(NULL, link, GSA_OPEN_READ_OWN), 0);
    remove(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_lt(gsa_system_default()->open(NULL, path, GSA_OPEN_READ_OWN), 0);
    remove(path), remove(link), remove(chain), rmdir(folder);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test output[] = { GSA_TEST(a_check_leaves_nothing),
                                       GSA_TEST(a_file_is_replaced_at_commit),
                                       GSA_TEST(any_size_of_pieces_gives_the_same_bytes),
                                       GSA_TEST(bad_targets_have_a_sentence) };
    static const gsa_test faults[] = {
        GSA_LOOP(a_fault_leaves_the_old_file, GSA_COUNT(output_faults)),
        GSA_TEST(a_first_file_that_fails_leaves_nothing), GSA_TEST(reading_reports_every_fault)
    };
    static const gsa_test devices[] = { GSA_TEST(a_full_device_is_an_error),
                                        GSA_TEST(a_device_stays_a_device),
                                        GSA_TEST(a_fifo_is_written_directly),
                                        GSA_TEST(standard_output_is_written_and_stays_open),
                                        GSA_TEST(a_link_stays_and_what_it_names_is_written),
                                        GSA_TEST(a_file_keeps_its_permissions),
                                        GSA_TEST(nobody_opens_what_will_be_private),
                                        GSA_TEST(a_new_owner_lets_nobody_in),
#ifdef __linux__
                                        GSA_TEST(a_list_of_who_may_read_is_kept),
#endif
                                        GSA_TEST(a_descriptor_is_written_where_it_is) };
    static const gsa_test files[] = { GSA_TEST(files_that_cannot_be_read_have_a_sentence),
                                      GSA_TEST(a_file_that_grows_meanwhile_is_read_in_part),
                                      GSA_TEST(folders_are_made_with_their_parents),
                                      GSA_TEST(the_table_opens_as_it_says) };
    static const gsa_case cases[] = { GSA_CASE("output", output, 60),
                                      GSA_CASE("faults", faults, 60),
                                      GSA_CASE("devices", devices, 30),
                                      GSA_CASE("files", files, 30) };
    return gsa_run_suite("output", cases, GSA_COUNT(cases), argc, argv);
}
