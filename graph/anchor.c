#include "graph/anchor.h"
#include <errno.h>
#include <stdio.h>
#include "graph/system_parts.h"

enum { HOLD = 64, PATH = 4096 };

struct gsa_anchor {
    gsa_system table;
    const gsa_system *below;
    char *name; /* `bytes` of it, without a slash at the end */
    size_t bytes;
    int file;
    char at[HOLD]; /* leads there (system.h: hold) */
};

/* ---- paths --------------------------------------------------------------------------------- */

#define SELF     ((const gsa_anchor *)user)
#define BELOW    SELF->below
#define AT(path) beneath(SELF, path, (char[HOLD + PATH]){ 0 }, HOLD + PATH)

/* What is too long for `room` is too long for any system, too, and goes there as it is. */
static const char *beneath(const gsa_anchor *a, const char *path, char *room, size_t size)
{
    if (strncmp(path, a->name, a->bytes) != 0 || (path[a->bytes] && path[a->bytes] != '/'))
        return path;
    const int bytes = snprintf(room, size, "%s%s", a->at, path + a->bytes);
    return (size_t)bytes < size ? room : path;
}

static int open_file(void *user, const char *path, int mode)
{
    return BELOW->open(BELOW->user, AT(path), mode);
}

static int truncate_file(void *user, const char *path, int64_t bytes)
{
    return BELOW->truncate(BELOW->user, AT(path), bytes);
}

static int rename_file(void *user, const char *from, const char *to)
{
    return BELOW->rename(BELOW->user, AT(from), AT(to));
}

static int remove_file(void *user, const char *path)
{
    return BELOW->remove(BELOW->user, AT(path));
}

static int make_folder(void *user, const char *path)
{
    return BELOW->make_folder(BELOW->user, AT(path));
}

static int sync_folder(void *user, const char *path)
{
    return BELOW->sync_folder(BELOW->user, AT(path));
}

static int kind_of(void *user, const char *path, int64_t *bytes)
{
    return BELOW->kind(BELOW->user, AT(path), bytes);
}

static int list_folder(void *user, const char *path, int (*each)(void *context, const char *name),
                       void *context)
{
    return BELOW->list(BELOW->user, AT(path), each, context);
}

static int entry_of(void *user, const char *path)
{
    return BELOW->entry(BELOW->user, AT(path));
}

static int64_t resolve(void *user, const char *path, char *out, int64_t room)
{
    return BELOW->resolve(BELOW->user, AT(path), out, room);
}

static int keep_mode(void *user, int file, const char *path)
{
    return BELOW->keep_mode(BELOW->user, file, AT(path));
}

static int clear_folder(void *user, const char *path)
{
    return BELOW->clear_folder(BELOW->user, AT(path));
}

static int same(void *user, int file, const char *path)
{
    return BELOW->same(BELOW->user, file, AT(path));
}

static int64_t stored(void *user, const char *path)
{
    return BELOW->stored(BELOW->user, AT(path));
}

static int hold(void *user, const char *path, char *at, size_t room)
{
    return BELOW->hold(BELOW->user, AT(path), at, room);
}

/* The program knows its outputs by their names. */
static int refuses(void *user, const char *path, char *why, size_t room)
{
    return BELOW->refuses(BELOW->user, path, why, room);
}

/* ---- what has no path ---------------------------------------------------------------------- */

static void *alloc(void *user, size_t bytes)
{
    return BELOW->alloc(BELOW->user, bytes);
}

static void *resize(void *user, void *at, size_t bytes)
{
    return BELOW->resize(BELOW->user, at, bytes);
}

static void release(void *user, void *at)
{
    BELOW->release(BELOW->user, at);
}

static int64_t read_file(void *user, int file, void *buffer, int64_t bytes)
{
    return BELOW->read(BELOW->user, file, buffer, bytes);
}

static int64_t read_at(void *user, int file, void *buffer, int64_t bytes, int64_t offset)
{
    return BELOW->read_at(BELOW->user, file, buffer, bytes, offset);
}

static int64_t write_file(void *user, int file, const void *buffer, int64_t bytes)
{
    return BELOW->write(BELOW->user, file, buffer, bytes);
}

static int sync_file(void *user, int file)
{
    return BELOW->sync(BELOW->user, file);
}

static int close_file(void *user, int file)
{
    return BELOW->close(BELOW->user, file);
}

static int lock_file(void *user, int file, int wait)
{
    return BELOW->lock(BELOW->user, file, wait);
}

static void calling(void *user, const gsa_plugin_call *call)
{
    BELOW->calling(BELOW->user, call);
}

/* ---- the anchor ---------------------------------------------------------------------------- */

static gsa_system table_of(gsa_anchor *a)
{
    const gsa_system *b = a->below;
    return (gsa_system){ .user = a,
                         .alloc = alloc,
                         .resize = resize,
                         .release = release,
                         .open = open_file,
                         .read = read_file,
                         .write = write_file,
                         .sync = sync_file,
                         .close = close_file,
                         .truncate = truncate_file,
                         .rename = rename_file,
                         .remove = remove_file,
                         .make_folder = make_folder,
                         .sync_folder = sync_folder,
                         .kind = kind_of,
                         .list = list_folder,
                         .read_at = read_at,
                         .lock = b->lock ? lock_file : NULL,
                         .calling = b->calling ? calling : NULL,
                         .entry = b->entry ? entry_of : NULL,
                         .resolve = b->resolve ? resolve : NULL,
                         .keep_mode = b->keep_mode ? keep_mode : NULL,
                         .clear_folder = b->clear_folder ? clear_folder : NULL,
                         .same = b->same ? same : NULL,
                         .refuses = b->refuses ? refuses : NULL,
                         .stored = b->stored ? stored : NULL,
                         .hold = b->hold ? hold : NULL };
}

static void end(gsa_anchor *a)
{
    const gsa_system *below = a->below;
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
    a->below = below;
    a->name = name_of(below, path, &a->bytes);
    if (!a->name) {
        end(a);
        return gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    }
    a->file = through->hold(through->user, path, a->at, sizeof a->at);
    if (a->file >= 0) {
        a->table = table_of(a);
        *anchor = a;
        return GSA_OK;
    }
    const gsa_status status = errno == ENOENT || errno == ENOTDIR ? GSA_OK : cannot(path, error);
    end(a);
    return status;
}

gsa_status gsa_anchor_move(gsa_anchor *anchor, const char *path, gsa_error *error)
{
    gsa_anchor *a = anchor;
    char at[HOLD];
    size_t bytes;
    if (!a || strcmp(path, a->name) == 0) return GSA_OK;
    char *name = name_of(a->below, path, &bytes);
    if (!name) return gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    const int file = hold(a, path, at, sizeof at);
    if (file < 0) {
        const gsa_status status = cannot(path, error);
        gsa_release(a->below, name);
        return status;
    }
    a->below->close(a->below->user, a->file);
    gsa_release(a->below, a->name);
    a->name = name, a->bytes = bytes, a->file = file;
    memcpy(a->at, at, sizeof at);
    return GSA_OK;
}

const char *gsa_anchor_at(const gsa_anchor *anchor)
{
    return anchor->at;
}

const gsa_system *gsa_anchor_system(const gsa_anchor *anchor, const gsa_system *otherwise)
{
    return anchor ? &anchor->table : otherwise;
}

void gsa_anchor_close(gsa_anchor *anchor)
{
    if (!anchor) return;
    anchor->below->close(anchor->below->user, anchor->file);
    end(anchor);
}
