#include "train/driver/recycle.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

typedef struct gsa_recycled { /* is before a block; 16 bytes keep what follows aligned */
    size_t bytes;
    struct gsa_recycled *next;
} block;

_Static_assert(sizeof(block) == 16, "a block's head keeps the alignment of malloc");

enum { PARTS = 8, LEAST = 64, FILE_NUMBER = INT_MAX };

/* Sizes are 64 (1 + p / 8) 2^k with p of 0 .. 7: at most an eighth is lost. */
static int size_of(size_t bytes, size_t *whole)
{
    size_t base = LEAST;
    int size = 0;
    for (; base <= SIZE_MAX / 4 && bytes > 2 * base; base *= 2) size += PARTS;
    const size_t step = base / PARTS, parts = bytes > base ? (bytes - base + step - 1) / step : 0;
    *whole = base + parts * step;
    return size + (int)parts;
}

static void *take_kept(gsa_recycler *r, int size)
{
    block *found = NULL;
    pthread_mutex_lock(&r->lock);
    for (int s = size; s < GSA_RECYCLE_SIZES && !found; s++)
        if ((found = r->list[s])) r->list[s] = found->next;
    pthread_mutex_unlock(&r->lock);
    return found ? found + 1 : NULL;
}

static void *alloc(void *user, size_t bytes)
{
    gsa_recycler *r = user;
    size_t whole;
    const int size = size_of(bytes, &whole);
    if (whole < bytes || whole > SIZE_MAX - sizeof(block) || size >= GSA_RECYCLE_SIZES) return NULL;
    void *kept = r->keeps ? take_kept(r, size) : NULL;
    if (kept) return kept;
    block *made = r->above.below->alloc(r->above.below->user, sizeof *made + whole);
    if (!made) return NULL;
    *made = (block){ .bytes = whole };
    return made + 1;
}

static void release(void *user, void *at)
{
    gsa_recycler *r = user;
    block *b = at;
    size_t whole;
    if (!at) return;
    b--;
    if (!r->keeps) {
        r->above.below->release(r->above.below->user, b);
        return;
    }
    const int size = size_of(b->bytes, &whole);
    pthread_mutex_lock(&r->lock);
    b->next = r->list[size], r->list[size] = b;
    pthread_mutex_unlock(&r->lock);
}

static void *resize(void *user, void *at, size_t bytes)
{
    const size_t held = at ? ((block *)at - 1)->bytes : 0;
    if (at && bytes <= held) return at;
    void *made = alloc(user, bytes);
    if (!made || !at) return made;
    memcpy(made, at, held);
    release(user, at);
    return made;
}

/* ---- files: all but the text are those below ----------------------------------------------- */

static int is_text(const char *path)
{
    return strcmp(path, GSA_RECYCLE_TEXT) == 0;
}

static int open_file(void *user, const char *path, int mode)
{
    const gsa_recycler *r = user;
    return is_text(path) ? FILE_NUMBER : r->above.below->open(r->above.below->user, path, mode);
}

static int64_t read_file(void *user, int file, void *buffer, int64_t bytes)
{
    gsa_recycler *r = user;
    if (file != FILE_NUMBER) return r->above.below->read(r->above.below->user, file, buffer, bytes);
    const int64_t left = r->bytes - r->taken, now = left < bytes ? left : bytes;
    if (now > 0) memcpy(buffer, r->text + r->taken, (size_t)now);
    r->taken += now;
    return now;
}

static int64_t write_file(void *user, int file, const void *buffer, int64_t bytes)
{
    gsa_recycler *r = user;
    if (file != FILE_NUMBER)
        return r->above.below->write(r->above.below->user, file, buffer, bytes);
    if (r->written + bytes >= r->room) {
        const int64_t room = 2 * (r->written + bytes) + 256;
        char *larger = resize(r, r->made, (size_t)room);
        if (!larger) return r->missing = room, errno = ENOMEM, -1;
        r->made = larger, r->room = room;
    }
    memcpy(r->made + r->written, buffer, (size_t)bytes);
    r->written += bytes;
    r->made[r->written] = 0;
    return bytes;
}

static int sync_file(void *user, int file)
{
    const gsa_recycler *r = user;
    return file == FILE_NUMBER ? 0 : r->above.below->sync(r->above.below->user, file);
}

static int close_file(void *user, int file)
{
    const gsa_recycler *r = user;
    return file == FILE_NUMBER ? 0 : r->above.below->close(r->above.below->user, file);
}

static int entry_of(void *user, const char *path)
{
    const gsa_recycler *r = user;
    return is_text(path) ? GSA_FILE_OTHER : r->above.below->entry(r->above.below->user, path);
}

static int64_t stored_of(void *user, const char *path)
{
    const gsa_recycler *r = user;
    return is_text(path) ? INT64_MAX : r->above.below->stored(r->above.below->user, path);
}

static int kind_of(void *user, const char *path, int64_t *bytes)
{
    const gsa_recycler *r = user;
    return is_text(path) ? GSA_FILE_OTHER : r->above.below->kind(r->above.below->user, path, bytes);
}

static int stamp_of(void *user, int file, gsa_stamp *stamp)
{
    const gsa_recycler *r = user;
    *stamp = (gsa_stamp){ 0 }; /* of the text */
    return file == FILE_NUMBER ? 0 : r->above.below->stamp(r->above.below->user, file, stamp);
}

void gsa_recycler_start(gsa_recycler *recycler, const gsa_system *below)
{
    *recycler = (gsa_recycler){ 0 };
    gsa_above_start(&recycler->above, below, NULL);
    gsa_system *table = &recycler->above.table;
    table->alloc = alloc, table->resize = resize, table->release = release;
    table->open = open_file, table->read = read_file, table->write = write_file;
    table->sync = sync_file, table->close = close_file, table->kind = kind_of;
    if (below->entry) table->entry = entry_of;
    if (below->stored) table->stored = stored_of;
    if (below->stamp) table->stamp = stamp_of;
    /* the text alone is written, and its name is no file's */
    table->resolve = NULL, table->keep_mode = NULL, table->refuses = NULL;
    pthread_mutex_init(&recycler->lock, NULL);
}

void gsa_recycler_end(gsa_recycler *recycler)
{
    gsa_recycler *r = recycler;
    r->keeps = 0;
    release(r, r->made);
    for (int s = 0; s < GSA_RECYCLE_SIZES; s++)
        for (block *b = r->list[s], *next; b; b = next) {
            next = b->next;
            r->above.below->release(r->above.below->user, b);
        }
    pthread_mutex_destroy(&r->lock);
}

void gsa_recycler_feed(gsa_recycler *recycler, const char *text, int64_t bytes)
{
    recycler->text = text, recycler->bytes = bytes;
    recycler->taken = recycler->written = recycler->missing = 0;
    if (recycler->made) recycler->made[0] = 0;
}
