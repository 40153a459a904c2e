#include "drawer.h"
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 80, ENTRIES = 32, PENDING = 128 };
enum change_kind { LINK, UNLINK, RENAME };

typedef struct entry {
    char name[NAME];
    int node; /* -1: free */
} entry;
typedef struct change {
    int kind, node;
    char name[NAME], to[NAME];
} change;
typedef struct bytes {
    char *at;
    int64_t count;
} bytes;
typedef struct drawer_node {
    int folder;
    bytes now, safe; /* a file */
    int64_t read_at;
    entry entries[ENTRIES], kept[ENTRIES]; /* a folder: now, and at its last sync_folder */
    change pending[PENDING];
    int n_pending;
} drawer_node;

/* ---- folders ------------------------------------------------------------------------------- */

static entry *look_up(entry *entries, const char *name)
{
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i].node >= 0 && strcmp(entries[i].name, name) == 0) return &entries[i];
    return NULL;
}

static void set_entry(entry *entries, const char *name, int node)
{
    entry *at = look_up(entries, name);
    for (int i = 0; !at && i < ENTRIES; i++)
        if (entries[i].node < 0) at = &entries[i];
    ck_assert_ptr_nonnull(at);
    strcpy(at->name, name);
    at->node = node;
}

static void apply(entry *entries, const change *c)
{
    entry *from = look_up(entries, c->name);
    if (c->kind == LINK) set_entry(entries, c->name, c->node);
    if (c->kind == LINK || !from) return;
    const int node = from->node;
    from->node = -1;
    if (c->kind == RENAME) set_entry(entries, c->to, node);
}

static void change_folder(drawer_node *folder, int kind, const char *name, const char *to, int node)
{
    ck_assert_int_lt(folder->n_pending, PENDING);
    change *c = &folder->pending[folder->n_pending++];
    c->kind = kind, c->node = node;
    strcpy(c->name, name);
    strcpy(c->to, to);
    apply(folder->entries, c);
}

static int new_node(gsa_drawer *d, int folder)
{
    if (d->count == d->room) {
        d->room = d->room ? 2 * d->room : 16;
        d->nodes = realloc(d->nodes, (size_t)d->room * sizeof *d->nodes);
        ck_assert_ptr_nonnull(d->nodes);
    }
    drawer_node *n = &d->nodes[d->count];
    memset(n, 0, sizeof *n);
    n->folder = folder;
    for (int i = 0; i < ENTRIES; i++) n->entries[i].node = n->kept[i].node = -1;
    return d->count++;
}

/* The folder that holds the last part of `path` and that part; -1: there is no such folder. "/"
 * itself: an empty name. */
static int parent_of(gsa_drawer *d, const char *path, char name[NAME])
{
    int at = 0;
    ck_assert_int_eq(path[0], '/');
    for (path++;;) {
        const size_t length = strcspn(path, "/");
        ck_assert_uint_lt(length, NAME);
        memcpy(name, path, length);
        name[length] = 0;
        if (!path[length]) return at;
        const entry *next = look_up(d->nodes[at].entries, name);
        if (!next || !d->nodes[next->node].folder) return -1;
        at = next->node;
        path += length + 1;
    }
}

static int find(gsa_drawer *d, const char *path)
{
    char name[NAME];
    const int parent = parent_of(d, path, name);
    if (parent < 0 || !name[0]) return parent;
    const entry *at = look_up(d->nodes[parent].entries, name);
    return at ? at->node : -1;
}

static int no(int number)
{
    errno = number;
    return -1;
}

/* 1: the change may be made. */
static int alive(gsa_drawer *d, int changes)
{
    if (changes && d->power > 0 && d->changes >= d->power) d->dead = 1;
    d->changes += changes;
    if (d->dead) errno = EIO;
    return !d->dead;
}

/* ---- the table: a descriptor is a node's number, one reader a file at a time --------------- */

static int drawer_open(void *user, const char *path, int mode)
{
    gsa_drawer *d = user;
    char name[NAME];
    if (!alive(d, mode != GSA_OPEN_READ)) return -1;
    const int parent = parent_of(d, path, name), node = find(d, path);
    if (parent < 0 || (node < 0 && mode == GSA_OPEN_READ)) return no(ENOENT);
    if (mode == GSA_OPEN_READ) {
        d->nodes[node].read_at = 0;
        return node;
    }
    ck_assert_int_eq(mode, GSA_OPEN_CREATE); /* all that the project does with checkpoints */
    if (node >= 0) return no(EEXIST);
    const int made = new_node(d, 0);
    change_folder(&d->nodes[parent], LINK, name, "", made);
    return made;
}

static int64_t drawer_read(void *user, int file, void *buffer, int64_t count)
{
    gsa_drawer *d = user;
    drawer_node *n = &d->nodes[file];
    if (!alive(d, 0)) return -1;
    const int64_t left = n->now.count - n->read_at, take = count < left ? count : left;
    if (take > 0) memcpy(buffer, n->now.at + n->read_at, (size_t)take);
    n->read_at += take;
    return take;
}

static void resize(bytes *b, int64_t count)
{
    b->at = realloc(b->at, (size_t)count + 1);
    ck_assert_ptr_nonnull(b->at);
    if (count > b->count) memset(b->at + b->count, 0, (size_t)(count - b->count));
    b->count = count;
}

static int64_t drawer_write(void *user, int file, const void *from, int64_t count)
{
    gsa_drawer *d = user;
    bytes *now = &d->nodes[file].now;
    if (!alive(d, 1)) return -1;
    const int64_t old = now->count;
    resize(now, old + count);
    memcpy(now->at + old, from, (size_t)count);
    return count;
}

static void copy_bytes(bytes *to, const bytes *from, int64_t count)
{
    resize(to, count);
    if (count > 0) memcpy(to->at, from->at, (size_t)count);
}

static int drawer_sync(void *user, int file)
{
    gsa_drawer *d = user;
    drawer_node *n = &d->nodes[file];
    if (!alive(d, 1)) return -1;
    copy_bytes(&n->safe, &n->now, n->now.count);
    return 0;
}

static int drawer_close(void *user, int file)
{
    (void)file;
    return alive(user, 0) ? 0 : -1;
}

static int drawer_truncate(void *user, const char *path, int64_t count)
{
    (void)user, (void)path, (void)count;
    return no(ENOSYS);
}

static int is_empty(const drawer_node *folder)
{
    for (int i = 0; i < ENTRIES; i++)
        if (folder->entries[i].node >= 0) return 0;
    return 1;
}

static int drawer_rename(void *user, const char *from, const char *to)
{
    gsa_drawer *d = user;
    char old[NAME], new[NAME];
    if (!alive(d, 1)) return -1;
    const int parent = parent_of(d, from, old), node = find(d, from), target = find(d, to);
    ck_assert_int_eq(parent_of(d, to, new), parent); /* within a folder is all that is needed */
    if (node < 0) return no(ENOENT);
    if (target >= 0 && d->nodes[target].folder && !is_empty(&d->nodes[target]))
        return no(ENOTEMPTY);
    if (target >= 0 && d->nodes[target].folder != d->nodes[node].folder) return no(EISDIR);
    change_folder(&d->nodes[parent], RENAME, old, new, node);
    return 0;
}

static int drawer_remove(void *user, const char *path)
{
    gsa_drawer *d = user;
    char name[NAME];
    if (!alive(d, 1)) return -1;
    const int parent = parent_of(d, path, name), node = find(d, path);
    if (node < 0) return no(ENOENT);
    if (d->nodes[node].folder && !is_empty(&d->nodes[node])) return no(ENOTEMPTY);
    change_folder(&d->nodes[parent], UNLINK, name, "", node);
    return 0;
}

static int drawer_make_folder(void *user, const char *path)
{
    gsa_drawer *d = user;
    char name[NAME];
    if (!alive(d, 1)) return -1;
    const int parent = parent_of(d, path, name);
    if (parent < 0) return no(ENOENT);
    if (find(d, path) >= 0) return no(EEXIST);
    const int made = new_node(d, 1);
    change_folder(&d->nodes[parent], LINK, name, "", made);
    return 0;
}

static int drawer_sync_folder(void *user, const char *path)
{
    gsa_drawer *d = user;
    if (!alive(d, 1)) return -1;
    const int node = find(d, path);
    if (node < 0) return no(ENOENT);
    drawer_node *n = &d->nodes[node];
    memcpy(n->kept, n->entries, sizeof n->kept);
    n->n_pending = 0;
    return 0;
}

static int drawer_kind(void *user, const char *path, int64_t *count)
{
    gsa_drawer *d = user;
    if (!alive(d, 0)) return -1;
    const int node = find(d, path);
    if (count) *count = node < 0 ? 0 : d->nodes[node].now.count;
    return node < 0 ? GSA_FILE_ABSENT : d->nodes[node].folder ? GSA_FILE_FOLDER : GSA_FILE_REGULAR;
}

static int drawer_list(void *user, const char *path, int (*each)(void *context, const char *name),
                       void *context)
{
    gsa_drawer *d = user;
    if (!alive(d, 0)) return -1;
    const int node = find(d, path);
    if (node < 0) return no(ENOENT);
    for (int i = 0; i < ENTRIES; i++) {
        const entry *e = &d->nodes[node].entries[i];
        const int rc = e->node >= 0 ? each(context, e->name) : 0;
        if (rc) return rc;
    }
    return 0;
}

void gsa_drawer_open(gsa_drawer *drawer)
{
    memset(drawer, 0, sizeof *drawer);
    drawer->table = *gsa_system_default();
    gsa_system *t = &drawer->table;
    t->user = drawer;
    t->open = drawer_open, t->read = drawer_read, t->write = drawer_write, t->sync = drawer_sync,
    t->close = drawer_close;
    t->entry = NULL, t->resolve = NULL, t->keep_mode = NULL, t->clear_folder = NULL, t->same = NULL,
    t->hold = NULL; /* no links in a drawer */
    t->truncate = drawer_truncate, t->rename = drawer_rename, t->remove = drawer_remove,
    t->make_folder = drawer_make_folder;
    t->sync_folder = drawer_sync_folder, t->kind = drawer_kind, t->list = drawer_list;
    new_node(drawer, 1);
}

void gsa_drawer_close(gsa_drawer *drawer)
{
    for (int i = 0; i < drawer->count; i++)
        free(drawer->nodes[i].now.at), free(drawer->nodes[i].safe.at);
    free(drawer->nodes);
}

/* ---- without power ------------------------------------------------------------------------- */

static void cycle_file(drawer_node *n, gsa_dice *dice)
{
    const int64_t whole = n->now.count, part = gsa_between(dice, 0, whole);
    switch (gsa_between(dice, 0, 3)) {
    case 0:
        copy_bytes(&n->now, &n->safe, n->safe.count);
        break;
    case 1:
        resize(&n->now, part);
        break;
    case 2:
        resize(&n->now, part);
        resize(&n->now, whole); /* zeros */
        break;
    default:
        break;
    }
    copy_bytes(&n->safe, &n->now, n->now.count);
}

static void cycle_folder(drawer_node *n, gsa_dice *dice)
{
    for (int i = 0; i < n->n_pending; i++)
        if (gsa_between(dice, 0, 1)) apply(n->kept, &n->pending[i]);
    memcpy(n->entries, n->kept, sizeof n->entries);
    n->n_pending = 0;
}

void gsa_drawer_power_cycle(gsa_drawer *drawer, gsa_dice *dice)
{
    for (int i = 0; i < drawer->count; i++) {
        drawer_node *n = &drawer->nodes[i];
        if (n->folder) cycle_folder(n, dice);
        else if (n->now.count != n->safe.count ||
                 (n->now.count && memcmp(n->now.at, n->safe.at, (size_t)n->now.count) != 0))
            cycle_file(n, dice);
    }
    drawer->dead = 0, drawer->power = 0, drawer->changes = 0;
}
