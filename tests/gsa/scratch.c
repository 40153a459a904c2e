#include "scratch.h"
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* In memory where there is such a place: thousands of synchronised files would wait for a disk. */
void gsa_scratch_open(gsa_scratch *scratch)
{
    const char *const bases[] = { getenv("TMPDIR"), "/dev/shm", "/tmp" };
    for (int i = 0; i < (int)(sizeof bases / sizeof *bases); i++) {
        if (!bases[i] || strlen(bases[i]) > 100) continue;
        snprintf(scratch->folder, sizeof scratch->folder, "%s/gsa-test-XXXXXX", bases[i]);
        if (mkdtemp(scratch->folder)) return;
    }
    ck_abort_msg("no folder for temporary files: neither TMPDIR, /dev/shm nor /tmp");
}

static int remove_one(void *context, const char *name)
{
    const gsa_system *system = gsa_system_default();
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    if (system->kind(NULL, path, NULL) == GSA_FILE_FOLDER)
        system->list(NULL, path, remove_one, path);
    return system->remove(NULL, path);
}

void gsa_scratch_close(gsa_scratch *scratch)
{
    ck_assert_int_eq(gsa_system_default()->list(NULL, scratch->folder, remove_one, scratch->folder),
                     0);
    ck_assert_int_eq(gsa_system_default()->remove(NULL, scratch->folder), 0);
}

const char *gsa_scratch_path(const gsa_scratch *scratch, const char *format, ...)
{
    static _Thread_local char paths[8][512];
    static _Thread_local int next;
    char *path = paths[next++ % 8];
    const int used = snprintf(path, sizeof paths[0], "%s/", scratch->folder);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + used, sizeof paths[0] - (size_t)used, format, arguments);
    va_end(arguments);
    return path;
}

void gsa_put_file(const char *path, const void *bytes, int64_t count)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fwrite(bytes, 1, (size_t)count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

char *gsa_get_file(const char *path, int64_t *count)
{
    char *text = NULL;
    ck_assert_int_eq(gsa_read_file(NULL, path, 1 << 28, &text, count, NULL), GSA_OK);
    return text;
}

int gsa_exists(const char *path)
{
    struct stat seen;
    return stat(path, &seen) == 0;
}

typedef struct tally {
    const char *suffix;
    int count;
} tally;

static int count_one(void *context, const char *name)
{
    tally *t = context;
    const size_t length = strlen(name), tail = strlen(t->suffix);
    t->count += length >= tail && strcmp(name + length - tail, t->suffix) == 0;
    return 0;
}

int gsa_count_entries(const char *folder, const char *suffix)
{
    tally t = { suffix, 0 };
    ck_assert_int_eq(gsa_system_default()->list(NULL, folder, count_one, &t), 0);
    return t.count;
}
