#include "support/faults.h"
#include <check.h>
#include <errno.h>
#include <string.h>
#include "support/thin.h"

enum {
    MANY = 64
}; /* calls: under AddressSanitizer a longer sweep lets them fail once and for ever in turn */

/* Counts the call; 1 when it has to fail. */
static int fails(gsa_faults *f, int op)
{
    pthread_mutex_lock(&f->lock);
    const int64_t call = ++f->calls[op], n = f->fail[op];
    pthread_mutex_unlock(&f->lock);
    if (n == 0 || !(call == n || (f->forever && call > n))) return 0;
    errno = f->number;
    return 1;
}

static void count(gsa_faults *f, int64_t *what, int by)
{
    pthread_mutex_lock(&f->lock);
    *what += by;
    pthread_mutex_unlock(&f->lock);
}

static const gsa_system *real(void)
{
    return gsa_system_default();
}

static void *faulty_alloc(void *user, size_t bytes)
{
    gsa_faults *f = user;
    void *at = fails(f, GSA_OP_ALLOC) ? NULL : real()->alloc(NULL, bytes);
    if (at) memset(at, 0xa5, bytes), count(f, &f->blocks, 1); /* nobody may count on zeros */
    return at;
}

static void *faulty_resize(void *user, void *old, size_t bytes)
{
    gsa_faults *f = user;
    void *at = fails(f, GSA_OP_ALLOC) ? NULL : real()->resize(NULL, old, bytes);
    if (at && !old) count(f, &f->blocks, 1);
    return at;
}

static void faulty_release(void *user, void *at)
{
    gsa_faults *f = user;
    if (at) count(f, &f->blocks, -1);
    real()->release(NULL, at);
}

static int faulty_open(void *user, const char *path, int mode)
{
    gsa_faults *f = user;
    const int file = fails(f, GSA_OP_OPEN) ? -1 : real()->open(NULL, path, mode);
    if (file >= 0) count(f, &f->files, 1);
    return file;
}

static int64_t shorter(const gsa_faults *f, int64_t bytes)
{
    return f->most > 0 && bytes > f->most ? f->most : bytes;
}

static int64_t faulty_read(void *user, int file, void *buffer, int64_t bytes)
{
    return fails(user, GSA_OP_READ) ? -1 : real()->read(NULL, file, buffer, shorter(user, bytes));
}

static int64_t faulty_read_at(void *user, int file, void *buffer, int64_t bytes, int64_t offset)
{
    return fails(user, GSA_OP_READ)
               ? -1
               : real()->read_at(NULL, file, buffer, shorter(user, bytes), offset);
}

static int64_t faulty_write(void *user, int file, const void *buffer, int64_t bytes)
{
    return fails(user, GSA_OP_WRITE) ? -1 : real()->write(NULL, file, buffer, shorter(user, bytes));
}

static int faulty_sync(void *user, int file)
{
    return fails(user, GSA_OP_SYNC) ? -1 : real()->sync(NULL, file);
}

static int faulty_close(void *user, int file)
{
    gsa_faults *f = user;
    const int failed = fails(f, GSA_OP_CLOSE), why = errno, rc = real()->close(NULL, file);
    count(f, &f->files, -1);
    if (failed) errno = why;
    return failed ? -1 : rc;
}

static int faulty_truncate(void *user, const char *path, int64_t bytes)
{
    return fails(user, GSA_OP_TRUNCATE) ? -1 : real()->truncate(NULL, path, bytes);
}

static int faulty_rename(void *user, const char *from, const char *to)
{
    return fails(user, GSA_OP_RENAME) ? -1 : real()->rename(NULL, from, to);
}

static int faulty_remove(void *user, const char *path)
{
    return fails(user, GSA_OP_REMOVE) ? -1 : real()->remove(NULL, path);
}

static int faulty_make_folder(void *user, const char *path)
{
    return fails(user, GSA_OP_MAKE_FOLDER) ? -1 : real()->make_folder(NULL, path);
}

static int faulty_sync_folder(void *user, const char *path)
{
    return fails(user, GSA_OP_SYNC_FOLDER) ? -1 : real()->sync_folder(NULL, path);
}

static int faulty_kind(void *user, const char *path, int64_t *bytes)
{
    return fails(user, GSA_OP_KIND) ? -1 : real()->kind(NULL, path, bytes);
}

static int faulty_list(void *user, const char *path, int (*each)(void *context, const char *name),
                       void *context)
{
    return fails(user, GSA_OP_LIST) ? -1 : real()->list(NULL, path, each, context);
}

static int faulty_lock(void *user, int file, int wait)
{
    return fails(user, GSA_OP_LOCK) ? -1 : real()->lock(NULL, file, wait);
}

static int faulty_entry(void *user, const char *path)
{
    return fails(user, GSA_OP_KIND) ? -1 : real()->entry(NULL, path);
}

static int64_t faulty_resolve(void *user, const char *path, char *out, int64_t room)
{
    return fails(user, GSA_OP_KIND) ? -1 : real()->resolve(NULL, path, out, room);
}

static int faulty_keep_mode(void *user, int file, const char *path)
{
    return fails(user, GSA_OP_KIND) ? -1 : real()->keep_mode(NULL, file, path);
}

static int faulty_clear_folder(void *user, const char *path)
{
    return fails(user, GSA_OP_REMOVE) ? -1 : real()->clear_folder(NULL, path);
}

static int faulty_same(void *user, int file, const char *path)
{
    return fails(user, GSA_OP_KIND) ? 0 : real()->same(NULL, file, path);
}

static int faulty_hold(void *user, const char *path, char *at, size_t room)
{
    gsa_faults *f = user;
    const int file = fails(f, GSA_OP_OPEN) ? -1 : real()->hold(NULL, path, at, room);
    if (file >= 0) count(f, &f->files, 1);
    return file;
}

void gsa_faults_start(gsa_faults *faults)
{
    memset(faults, 0, sizeof *faults);
    pthread_mutex_init(&faults->lock, NULL);
    faults->number = ENOSPC;
    faults->table = (gsa_system){ .user = faults,
                                  .alloc = faulty_alloc,
                                  .resize = faulty_resize,
                                  .release = faulty_release,
                                  .open = faulty_open,
                                  .read = faulty_read,
                                  .write = faulty_write,
                                  .sync = faulty_sync,
                                  .close = faulty_close,
                                  .truncate = faulty_truncate,
                                  .rename = faulty_rename,
                                  .remove = faulty_remove,
                                  .make_folder = faulty_make_folder,
                                  .sync_folder = faulty_sync_folder,
                                  .kind = faulty_kind,
                                  .list = faulty_list,
                                  .read_at = faulty_read_at,
                                  .lock = faulty_lock,
                                  .entry = faulty_entry,
                                  .resolve = faulty_resolve,
                                  .keep_mode = faulty_keep_mode,
                                  .clear_folder = faulty_clear_folder,
                                  .same = faulty_same,
                                  .hold = faulty_hold };
}

void gsa_faults_rewind(gsa_faults *faults)
{
    memset(faults->calls, 0, sizeof faults->calls);
    memset(faults->fail, 0, sizeof faults->fail);
    faults->forever = 0;
}

int64_t gsa_faults_live(gsa_faults *faults)
{
    pthread_mutex_lock(&faults->lock);
    const int64_t live = faults->blocks + faults->files;
    pthread_mutex_unlock(&faults->lock);
    return live;
}

int gsa_faults_sweep(int op, int may_recover, gsa_status expected,
                     gsa_status (*attempt)(gsa_faults *faults, void *context), void *context)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    ck_assert_int_eq(attempt(&faults, context), GSA_OK);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    const int most = (int)faults.calls[op], step = most > MANY ? GSA_THIN(2) : 1;
    for (int n = 1; n <= most; n++)
        for (int forever = (n ^ n >> 1) % step; forever < 2;
             forever += step) { /* not in step with calls that come in pairs */
            gsa_faults_rewind(&faults);
            faults.fail[op] = n, faults.forever = forever;
            const gsa_status status = attempt(&faults, context);
            ck_assert_msg(status == expected || (may_recover && status == GSA_OK),
                          "call %d of sort %d (forever %d): status %s", n, op, forever,
                          gsa_status_name(status));
            ck_assert_msg(gsa_faults_live(&faults) == 0,
                          "call %d of sort %d (forever %d): %lld blocks and files are live", n, op,
                          forever, (long long)gsa_faults_live(&faults));
        }
    gsa_faults_rewind(&faults);
    ck_assert_int_eq(attempt(&faults, context), GSA_OK);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    return most * 2;
}
