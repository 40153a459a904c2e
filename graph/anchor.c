#include "graph/anchor.h"
#include <errno.h>
#include <stdio.h>
#include "graph/above.h"
#include "graph/system_parts.h"

enum { HOLD = 64 };

typedef struct watched {
    struct watched *next;
    gsa_stamp stamp; /* when it was opened first */
    int64_t bytes;   /* until then: that it had before; -1: any */
    int opened;
    char name[];
} watched;

struct gsa_anchor {
    gsa_above above; /* the first: its path function is given this */
    char *name;      /* `bytes` of it, without a slash at the end */
    size_t bytes;
    int file;
    char at[HOLD]; /* leads there (system.h: hold); "": it was not there */
    watched *first;
};

/* "./../d.tsv" is a user's way out of ".". */
static int leaves(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (!at[3] || at[3] == '/') return 1;
    return 0;
}

/* What is too long for `room` is too long for any system, too, and goes there as it is. */
static const char *beneath(const gsa_above *above, const char *path, char *room)
{
    const gsa_anchor *a = (const gsa_anchor *)above;
    if (strncmp(path, a->name, a->bytes) != 0 || (path[a->bytes] && path[a->bytes] != '/') ||
        leaves(path + a->bytes))
        return path;
    if (!*a->at) return ""; /* which no system has a file of */
    const int bytes = snprintf(room, GSA_ABOVE_ROOM, "%s%s", a->at, path + a->bytes);
    return bytes < GSA_ABOVE_ROOM ? room : path;
}

/* ---- files that stay as they are ------------------------------------------------------------ */

static int stamp_of(const gsa_anchor *a, int file, gsa_stamp *stamp)
{
    return a->above.below->stamp(a->above.below->user, file, stamp);
}

static int is_same(const gsa_stamp *a, const gsa_stamp *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* integers of one size */
}

/* Of a path beneath the folder. */
static const char *name_in(const gsa_anchor *a, const char *path)
{
    return path + a->bytes + strspn(path + a->bytes, "/");
}

static int open_file(void *user, const char *path, int mode)
{
    const gsa_anchor *a = user;
    const gsa_system *below = a->above.below;
    char room[GSA_ABOVE_ROOM];
    const char *meant = beneath(&a->above, path, room);
    gsa_stamp now;
    const int reads = mode == GSA_OPEN_READ || mode == GSA_OPEN_READ_OWN;
    const int inside = reads && meant != path;
    const int file = below->open(below->user, meant, inside ? GSA_OPEN_READ_OWN : mode);
    if (file < 0 || !inside || !a->first || strchr(name_in(a, path), '/')) return file;
    watched *w = a->first;
    while (w && strcmp(w->name, name_in(a, path)) != 0) w = w->next;
    const int known = w && stamp_of(a, file, &now) == 0;
    if (known && !w->opened && (w->bytes < 0 || w->bytes == now.bytes))
        w->stamp = now, w->opened = 1;
    if (known && w->opened && is_same(&now, &w->stamp)) return file;
    below->close(below->user, file);
    return errno = ESTALE, -1;
}

/* The last call is the one that finds the end; a file that grows without end has none. */
static int64_t read_file(void *user, int file, void *buffer, int64_t bytes)
{
    const gsa_anchor *a = user;
    const int64_t got = a->above.below->read(a->above.below->user, file, buffer, bytes);
    gsa_stamp now;
    if (got < 0 || !a->first) return got;
    if (stamp_of(a, file, &now) < 0) return -1;
    for (const watched *w = a->first; w; w = w->next)
        if (w->stamp.inode == now.inode && w->stamp.device == now.device &&
            !is_same(&w->stamp, &now))
            return errno = ESTALE, -1;
    return got;
}

gsa_status gsa_anchor_watch(gsa_anchor *a, const char *path, int64_t bytes, gsa_error *error)
{
    if (!a || !a->above.table.stamp) return GSA_OK;
    const char *name = name_in(a, path);
    const size_t room = sizeof(watched) + strlen(name) + 1;
    watched *w = gsa_alloc_zero(a->above.below, room, 1);
    if (!w) return gsa_out_of_memory(error, path, (int64_t)room);
    strcpy(w->name, name);
    w->bytes = bytes;
    w->next = a->first, a->first = w;
    return GSA_OK;
}

/* ---- the anchor ----------------------------------------------------------------------------- */

static void end(gsa_anchor *a)
{
    const gsa_system *below = a->above.below;
    for (watched *w = a->first, *next; w; w = next) {
        next = w->next;
        gsa_release(below, w);
    }
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
    a->above.table.open = open_file, a->above.table.read = read_file;
    a->name = name_of(below, path, &a->bytes);
    if (!a->name) {
        end(a);
        return gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    }
    a->file = through->hold(through->user, path, a->at, sizeof a->at);
    if (a->file >= 0 || errno == ENOENT || errno == ENOTDIR) {
        if (a->file < 0) *a->at = 0;
        *anchor = a;
        return GSA_OK;
    }
    const gsa_status status = cannot(path, error);
    end(a);
    return status;
}

int gsa_anchor_lacks(const gsa_anchor *anchor)
{
    return anchor && !*anchor->at;
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
    if (anchor->file >= 0) below->close(below->user, anchor->file);
    end(anchor);
}
