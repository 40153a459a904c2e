#include "graph/anchor.h"
#include <errno.h>
#include <stdio.h>
#include "graph/above.h"
#include "graph/system_parts.h"

enum { HOLD = 64 };

struct gsa_anchor {
    gsa_above above; /* the first: its path function is given this */
    char *name;      /* `bytes` of it, without a slash at the end */
    size_t bytes;
    int file;
    char at[HOLD]; /* leads there (system.h: hold) */
};

/* What is too long for `room` is too long for any system, too, and goes there as it is. */
static const char *beneath(const gsa_above *above, const char *path, char *room)
{
    const gsa_anchor *a = (const gsa_anchor *)above;
    if (strncmp(path, a->name, a->bytes) != 0 || (path[a->bytes] && path[a->bytes] != '/'))
        return path;
    const int bytes = snprintf(room, GSA_ABOVE_ROOM, "%s%s", a->at, path + a->bytes);
    return bytes < GSA_ABOVE_ROOM ? room : path;
}

static void end(gsa_anchor *a)
{
    const gsa_system *below = a->above.below;
    gsa_release(below, a->name);
    gsa_release(below, a);
}

/* Without the slashes at its end. */
static char *name_of(const gsa_system *system, const char *path, size_t *bytes)
{
    char *name = gsa_copy_text(system, path);
    *bytes = strlen(path);
    while (*bytes > 0 && path[*bytes - 1] == '/') --*bytes;
    return name;
}

static gsa_status cannot(const char *path, gsa_error *error)
{
    char why[128];
    return gsa_fail(error, GSA_ERR_IO, "folder '%s' cannot be opened: %s", path,
                    gsa_errno_text(errno, why, sizeof why));
}

gsa_status gsa_anchor_open(const gsa_system *through, const gsa_system *below, const char *path,
                           gsa_anchor **anchor, gsa_error *error)
{
    *anchor = NULL;
    if (!through->hold) return GSA_OK;
    gsa_anchor *a = gsa_alloc_zero(below, 1, sizeof *a);
    if (!a) return gsa_out_of_memory(error, path, (int64_t)sizeof *a);
    gsa_above_start(&a->above, below, beneath);
    a->name = name_of(below, path, &a->bytes);
    if (!a->name) {
        end(a);
        return gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    }
    a->file = through->hold(through->user, path, a->at, sizeof a->at);
    if (a->file >= 0) {
        *anchor = a;
        return GSA_OK;
    }
    const gsa_status status = errno == ENOENT || errno == ENOTDIR ? GSA_OK : cannot(path, error);
    end(a);
    return status;
}

const char *gsa_anchor_at(const gsa_anchor *anchor)
{
    return anchor->at;
}

const gsa_system *gsa_anchor_system(const gsa_anchor *anchor, const gsa_system *otherwise)
{
    return anchor ? &anchor->above.table : otherwise;
}

void gsa_anchor_close(gsa_anchor *anchor)
{
    if (!anchor) return;
    const gsa_system *below = anchor->above.below;
    below->close(below->user, anchor->file);
    end(anchor);
}
