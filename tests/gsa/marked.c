#include "marked.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scratch.h"
#include "support/suite.h"

const char *const marked_file[MARKED_FILES] = { "model.safetensors", "config.ini", "state" };
const int64_t marked_size[MARKED_FILES] = { MARKED_BIG, 57, 0 };

void marked_fill(char *out, int mark, int file)
{
    for (int64_t i = 0; i < marked_size[file]; i++) out[i] = (char)(mark * 31 + file * 7 + i % 13);
}

gsa_status marked_put(gsa_checkpoint *checkpoint, int mark, gsa_error *error)
{
    static char bytes[MARKED_BIG];
    for (int f = 0; f < MARKED_FILES; f++) {
        gsa_output *output;
        gsa_status status = gsa_checkpoint_file(checkpoint, marked_file[f], &output, error);
        if (status != GSA_OK) return status;
        marked_fill(bytes, mark, f);
        gsa_output_write(output, bytes, marked_size[f]);
        if ((status = gsa_output_commit(output, error)) != GSA_OK) return status;
    }
    return GSA_OK;
}

gsa_status marked_save(const gsa_system *system, const char *folder, int64_t step, int mark,
                       int keep, gsa_error *error)
{
    gsa_checkpoint *checkpoint;
    gsa_status status = gsa_checkpoint_begin(system, folder, step, &checkpoint, error);
    if (status != GSA_OK) return status;
    status = marked_put(checkpoint, mark, error);
    if (status == GSA_OK) return gsa_checkpoint_commit(checkpoint, keep, error);
    gsa_checkpoint_abandon(checkpoint);
    return status;
}

void marked_must_save(const char *folder, int64_t step, int mark, int keep)
{
    gsa_error error = { 0 };
    const gsa_status status = marked_save(NULL, folder, step, mark, keep, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
}

int marked_is(const gsa_system *system, const char *path, int mark)
{
    static char expected[MARKED_BIG];
    int same = 0;
    for (int f = 0; f < MARKED_FILES; f++) {
        char name[512], *bytes = NULL;
        int64_t count;
        snprintf(name, sizeof name, "%s/%s", path, marked_file[f]);
        ck_assert_int_eq(gsa_read_file(system, name, 1 << 20, &bytes, &count, NULL), GSA_OK);
        marked_fill(expected, mark, f);
        same += count == marked_size[f] && memcmp(bytes, expected, (size_t)count) == 0;
        gsa_release(system, bytes);
    }
    return same == MARKED_FILES;
}

const char *marked_found(const gsa_system *system, const char *folder, const int *marks, int *mark,
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
        if (marked_is(system, path, *marks)) *mark = *marks;
    *warned = warning != NULL;
    snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
    gsa_release(system, path);
    gsa_release(system, warning);
    return name;
}

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

const char *marked_names(const gsa_system *system, const char *folder)
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

void marked_flip(const char *path, int64_t at)
{
    int64_t count;
    char *bytes = gsa_get_file(path, &count);
    bytes[at < count ? at : count - 1] ^= 1;
    gsa_put_file(path, bytes, count);
    free(bytes);
}

void marked_copy(const char *folder, const char *from, const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "cp -r '%s/%s' '%s/%s'", folder, from, folder, to);
    ck_assert_int_eq(system(command), 0);
}
