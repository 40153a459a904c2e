#include "train/data/columns.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topologies/words.h"

int gsa_columns_split(const char *at, int64_t bytes, char separator, gsa_slice part[GSA_COLUMNS])
{
    int count = 0;
    for (const char *end = at + bytes;; at++) {
        const char *stop = memchr(at, separator, (size_t)(end - at));
        if (count == GSA_COLUMNS) return -1;
        part[count++] = (gsa_slice){ at, (stop ? stop : end) - at };
        if (!stop) return count;
        at = stop;
    }
}

/* "label, a and b" */
static void list_names(char *out, size_t size, const char *const *names, int roles,
                       const char *last)
{
    size_t used = 0;
    for (int r = 0; r < roles; r++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 r == 0          ? ""
                                 : r + 1 < roles ? ", "
                                                 : last,
                                 names[r]);
}

gsa_status gsa_columns_check(const gsa_columns *columns, const char *const *names, int roles,
                             const char *place, gsa_error *error)
{
    char all[128];
    list_names(all, sizeof all, names, roles, " and ");
    for (int r = 0; r < roles; r++) {
        int seen = 0;
        for (int i = 0; i < columns->count; i++) seen += columns->role[i] == r;
        if (seen != 1)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: column '%s' is named %s, expected %s once each", place, names[r],
                            seen ? "twice" : "nowhere", all);
    }
    return GSA_OK;
}

static int32_t role_of(gsa_slice name, const char *const *names, int roles)
{
    for (int r = 0; r < roles; r++)
        if ((int64_t)strlen(names[r]) == name.bytes &&
            memcmp(names[r], name.at, (size_t)name.bytes) == 0)
            return r;
    return GSA_COLUMN_PASSED;
}

gsa_status gsa_columns_read(const char *text, const char *const *names, int roles,
                            gsa_columns *columns, gsa_error *error)
{
    char shown[GSA_SHOWN], all[128], name[64];
    gsa_slice part[GSA_COLUMNS];
    const int count = columns->count = gsa_columns_split(text, (int64_t)strlen(text), ',', part);
    if (count < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "data.columns names more than %d columns",
                        GSA_COLUMNS);
    for (int i = 0; i < count; i++) {
        columns->role[i] = role_of(part[i], names, roles);
        if (columns->role[i] != GSA_COLUMN_PASSED || (part[i].bytes == 1 && part[i].at[0] == '-'))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(part[i].bytes < 63 ? part[i].bytes : 63),
                 part[i].at);
        list_names(all, sizeof all, names, roles, ", ");
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "data.columns holds %s, expected a list of %s and -",
                        gsa_word_show(name, shown), all);
    }
    return gsa_columns_check(columns, names, roles, "data.columns", error);
}

/* "head:7": a name and a column that is not 0. */
static int read_side(gsa_slice part, gsa_sides *sides)
{
    char text[GSA_WORD_LIMIT + 16], *end, *name = sides->name[sides->count];
    if (part.bytes >= (int64_t)sizeof text) return 0;
    snprintf(text, sizeof text, "%.*s", (int)part.bytes, part.at);
    char *colon = strchr(text, ':');
    if (!colon || colon[1] == 0 || strspn(colon + 1, "-0123456789") != strlen(colon + 1)) return 0;
    *colon = 0;
    const long column = strtol(colon + 1, &end, 10);
    if (*end || column == 0 || column < -GSA_COLUMNS || column > GSA_COLUMNS || !gsa_word_ok(text))
        return 0;
    memcpy(name, text, strlen(text) + 1); /* gsa_word_ok: it fits */
    for (int32_t i = 0; i < sides->count; i++)
        if (strcmp(sides->name[i], name) == 0) return 0;
    sides->column[sides->count++] = (int32_t)column;
    return 1;
}

gsa_status gsa_sides_read(const char *text, gsa_sides *sides, gsa_error *error)
{
    char shown[GSA_SHOWN];
    gsa_slice part[GSA_COLUMNS];
    *sides = (gsa_sides){ 0 };
    if (!*text) return GSA_OK;
    const int count = gsa_columns_split(text, (int64_t)strlen(text), ',', part);
    for (int i = 0; i < count && count <= GSA_BESIDE; i++)
        if (!read_side(part[i], sides)) break;
    if (count >= 1 && sides->count == count) return GSA_OK;
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "data.side is %s, expected at most %d columns with names, each once, as head:7,type:-1",
        gsa_word_show(text, shown), GSA_BESIDE);
}
