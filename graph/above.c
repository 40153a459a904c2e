#include "graph/above.h"
#include "graph/system_parts.h"

#define SELF     ((const gsa_above *)user)
#define BELOW    SELF->below
#define AT(path) meant(SELF, path, (char[GSA_ABOVE_ROOM]){ 0 })

static const char *meant(const gsa_above *above, const char *path, char *room)
{
    return above->path ? above->path(above, path, room) : path;
}

/* ---- paths --------------------------------------------------------------------------------- */

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

static int stamp_of(void *user, int file, gsa_stamp *stamp)
{
    return BELOW->stamp(BELOW->user, file, stamp);
}

static void calling(void *user, const gsa_plugin_call *call)
{
    BELOW->calling(BELOW->user, call);
}

void gsa_above_start(gsa_above *above, const gsa_system *below, gsa_above_path *path)
{
    const gsa_system *b = below;
    *above = (gsa_above){ .below = below, .path = path };
    above->table = (gsa_system){ .user = above,
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
                                 .hold = b->hold ? hold : NULL,
                                 .stamp = b->stamp ? stamp_of : NULL };
}
