#include "train/data/source.h"
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"

enum { PATH = 4096, CHUNK = 1 << 16, SPANS = 2 };

typedef struct span { /* a packed file's bytes [first, last) of the run */
    int64_t first, last;
    char *at; /* [span]; NULL: not yet */
} span;

struct gsa_source {
    const gsa_system *system;
    gsa_source_file *file;
    int64_t files, room, bytes, size; /* size: of a span */
    int bounded;                      /* what is packed has gsa_unpack_most bytes at most */
    int64_t open;                     /* the file that `handle` is of; -1: none */
    int handle, next;                 /* next: the span that is replaced next */
    gsa_unpacker *unpacker;           /* of the open file, at byte `place` of the run */
    int64_t place;
    span held[SPANS];
};

static gsa_status cannot(const char *path, const char *what, gsa_error *error)
{
    char why[128];
    return gsa_fail(error, GSA_ERR_IO, "%s cannot be %s: %s", path, what,
                    gsa_errno_text(errno, why, sizeof why));
}

static gsa_status too_many(const char *path, int64_t limit, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s unpacks to more than %lld bytes: unpack it first, or read training data by "
                    "data.stream",
                    path, (long long)limit);
}

/* ---- names --------------------------------------------------------------------------------- */

typedef struct matches {
    const gsa_system *system;
    const char *pattern;
    char **name;
    int64_t count;
    int failed;
} matches;

static int take_match(void *context, const char *name)
{
    matches *m = context;
    if (fnmatch(m->pattern, name, FNM_PERIOD) != 0) return 0;
    char **larger = gsa_resize(m->system, m->name, (size_t)m->count + 1, sizeof *larger);
    if (larger) m->name = larger;
    char *copy = larger ? gsa_copy_text(m->system, name) : NULL;
    if (copy) m->name[m->count++] = copy;
    m->failed = !copy;
    return m->failed;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static gsa_status expand(const gsa_system *system, const char *part,
                         gsa_status (*each)(void *, const char *, gsa_error *), void *context,
                         gsa_error *error)
{
    char path[PATH];
    const char *slash = strrchr(part, '/');
    const int folder = slash ? (int)(slash - part) : 0;
    matches m = { .system = system, .pattern = slash ? slash + 1 : part };
    gsa_status status = GSA_OK;
    snprintf(path, sizeof path, "%.*s", slash ? folder + !folder : 1, slash ? part : ".");
    if (system->list(system->user, path, take_match, &m) < 0 && !m.failed)
        status = cannot(path, "listed", error);
    if (m.failed) status = gsa_out_of_memory(error, path, (int64_t)sizeof *m.name);
    if (status == GSA_OK && m.count == 0)
        status = gsa_fail(error, GSA_ERR_IO, "%s: no file is named so", part);
    if (m.count > 1) qsort(m.name, (size_t)m.count, sizeof *m.name, by_name);
    for (int64_t i = 0; i < m.count; i++) {
        snprintf(path, sizeof path, "%.*s%s", slash ? folder + 1 : 0, part, m.name[i]);
        if (status == GSA_OK) status = each(context, path, error);
        gsa_release(system, m.name[i]);
    }
    gsa_release(system, m.name);
    return status;
}

gsa_status gsa_source_names(const gsa_system *system, const char *names,
                            gsa_status (*each)(void *, const char *, gsa_error *), void *context,
                            gsa_error *error)
{
    char part[PATH];
    int kind;
    gsa_status status = gsa_see_value(system, names, &kind, error);
    if (status == GSA_OK && kind != GSA_FILE_ABSENT) return each(context, names, error);
    for (const char *at = names; at && status == GSA_OK;) {
        const char *comma = strchr(at, ',');
        const int64_t bytes = comma ? comma - at : (int64_t)strlen(at);
        if (bytes == 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s': a name of a file is empty", names);
        if (bytes >= PATH - 256) return gsa_fail(error, GSA_ERR_LIMIT, "a path is too long");
        snprintf(part, sizeof part, "%.*s", (int)bytes, at);
        status = gsa_see_value(system, part, &kind, error);
        if (status == GSA_OK)
            status = kind == GSA_FILE_ABSENT && strpbrk(part, "*?[")
                         ? expand(system, part, each, context, error)
                         : each(context, part, error);
        at = comma ? comma + 1 : NULL;
    }
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

static void close_file(gsa_source *s)
{
    gsa_unpacker_release(s->unpacker);
    s->unpacker = NULL;
    if (s->open >= 0) s->system->close(s->system->user, s->handle);
    s->open = -1;
}

static gsa_status open_file(gsa_source *s, int64_t which, gsa_error *error)
{
    if (s->open == which) return GSA_OK;
    close_file(s);
    s->handle = s->system->open(s->system->user, s->file[which].path, GSA_OPEN_READ);
    if (s->handle < 0) return cannot(s->file[which].path, "opened", error);
    s->open = which;
    return GSA_OK;
}

static gsa_status read_plain(gsa_source *s, const char *path, char *to, int64_t bytes, int64_t at,
                             gsa_error *error)
{
    for (int64_t got; bytes > 0; to += got, bytes -= got, at += got) {
        got = s->system->read_at(s->system->user, s->handle, to, bytes, at);
        if (got < 0) return cannot(path, "read", error);
        if (got == 0)
            return gsa_fail(error, GSA_ERR_IO, "%s has become shorter while it was in use", path);
    }
    return GSA_OK;
}

static gsa_status add_file(void *context, const char *path, gsa_error *error)
{
    gsa_source *s = context;
    char magic[4] = "";
    int64_t size = 0;
    const int kind = s->system->kind(s->system->user, path, &size);
    if (kind < 0 || kind == GSA_FILE_ABSENT) {
        if (kind == GSA_FILE_ABSENT) errno = ENOENT;
        return cannot(path, "opened", error);
    }
    if (kind != GSA_FILE_REGULAR)
        return gsa_fail(error, GSA_ERR_IO,
                        "%s is no regular file: places of a text are read in any order", path);
    if (s->files == s->room) {
        const int64_t room = 2 * s->room + 4;
        gsa_source_file *larger = gsa_resize(s->system, s->file, (size_t)room, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, path, room * (int64_t)sizeof *larger);
        s->file = larger, s->room = room;
    }
    gsa_source_file *f = &s->file[s->files];
    *f = (gsa_source_file){ .path = gsa_copy_text(s->system, path), .bytes = size };
    if (!f->path) return gsa_out_of_memory(error, path, (int64_t)strlen(path));
    s->files++;
    gsa_status status = open_file(s, s->files - 1, error);
    const int64_t first = size < 4 ? size : 4;
    if (status == GSA_OK) status = read_plain(s, path, magic, first, 0, error);
    f->packing = gsa_packing_of(magic, first);
    return status;
}

/* ---- the pass over all --------------------------------------------------------------------- */

static uint64_t hash_on(uint64_t h, const char *at, int64_t bytes)
{
    uint64_t word;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    for (; bytes > 0; at++, bytes--) h = (h ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return h;
}

/* A hash that does not depend on how the bytes come: words of 8, over the joins too. */
typedef struct digest {
    uint64_t hash;
    int64_t held;
    char rest[8];
} digest;

static void digest_add(digest *d, const char *at, int64_t bytes)
{
    while (d->held > 0 && d->held < 8 && bytes > 0) d->rest[d->held++] = *at++, bytes--;
    if (d->held == 8) d->hash = hash_on(d->hash, d->rest, 8), d->held = 0;
    const int64_t whole = bytes & ~INT64_C(7);
    d->hash = hash_on(d->hash, at, whole);
    for (at += whole, bytes -= whole; bytes > 0; bytes--) d->rest[d->held++] = *at++;
}

static gsa_status add_entry(gsa_source *s, gsa_source_file *f, const gsa_entry *entry,
                            gsa_error *error)
{
    if (f->entries == f->room) {
        const int64_t room = 2 * f->room + 4;
        gsa_entry *larger = gsa_resize(s->system, f->entry, (size_t)room, sizeof *larger);
        if (!larger) {
            gsa_release(s->system, entry->window);
            return gsa_out_of_memory(error, f->path, room * (int64_t)sizeof *larger);
        }
        f->entry = larger, f->room = room;
    }
    f->entry[f->entries++] = *entry;
    return GSA_OK;
}

static gsa_status pass_packed(gsa_source *s, int64_t which, char *chunk, gsa_error *error)
{
    gsa_source_file *f = &s->file[which];
    gsa_unpacker *u;
    gsa_entry entry;
    digest d = { 0 };
    const int64_t most = s->bounded ? gsa_unpack_most(f->bytes) : INT64_MAX;
    gsa_status status =
        gsa_unpacker_open(s->system, f->path, s->handle, f->packing, NULL, &u, error);
    if (status != GSA_OK) return status;
    f->bytes = 0;
    for (int64_t got = 1; status == GSA_OK && got > 0; f->bytes += got) {
        const int64_t last = f->entries ? f->entry[f->entries - 1].place : 0;
        if (f->bytes - last >= s->size && gsa_unpacker_entry(u, &entry))
            status = add_entry(s, f, &entry, error);
        got = 0;
        if (status == GSA_OK) status = gsa_unpacker_read(u, chunk, CHUNK, 1, &got, error);
        if (status == GSA_OK && f->bytes + got > most) status = too_many(f->path, most, error);
        digest_add(&d, chunk, got);
    }
    f->hash = hash_on(d.hash, d.rest, d.held);
    gsa_unpacker_release(u);
    return status;
}

static gsa_status pass_plain(gsa_source *s, int64_t which, char *chunk, gsa_error *error)
{
    gsa_source_file *f = &s->file[which];
    digest d = { 0 };
    gsa_status status = GSA_OK;
    for (int64_t at = 0, got; at < f->bytes && status == GSA_OK; at += got) {
        got = f->bytes - at < CHUNK ? f->bytes - at : CHUNK;
        status = read_plain(s, f->path, chunk, got, at, error);
        if (status == GSA_OK) digest_add(&d, chunk, got);
    }
    f->hash = hash_on(d.hash, d.rest, d.held);
    return status;
}

static gsa_status pass(gsa_source *s, int64_t which, gsa_error *error)
{
    char *chunk = gsa_alloc(s->system, CHUNK, 1);
    if (!chunk) return gsa_out_of_memory(error, s->file[which].path, CHUNK);
    gsa_status status = open_file(s, which, error);
    if (status == GSA_OK)
        status = s->file[which].packing ? pass_packed(s, which, chunk, error)
                                        : pass_plain(s, which, chunk, error);
    gsa_release(s->system, chunk);
    if (status == GSA_OK && s->file[which].bytes == 0)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s is empty", s->file[which].path);
    return status;
}

gsa_status gsa_source_open(const gsa_system *system, const char *names, int64_t size,
                           gsa_source **source, gsa_error *error)
{
    system = gsa_system_or_default(system);
    gsa_source *s = *source = gsa_alloc_zero(system, 1, sizeof *s);
    if (!s) return gsa_out_of_memory(error, names, (int64_t)sizeof *s);
    s->system = system, s->open = -1, s->bounded = size <= 0;
    s->size = size <= 0 ? GSA_SOURCE_SPAN : size < CHUNK ? CHUNK : size;
    gsa_status status = gsa_source_names(system, names, add_file, s, error);
    int64_t largest = CHUNK;
    const int passes = size > 0 || s->files > 1 || (s->files == 1 && s->file[0].packing);
    for (int64_t i = 0; i < s->files && status == GSA_OK; i++) {
        if (passes) status = pass(s, i, error);
        s->file[i].first = s->bytes, s->bytes += s->file[i].bytes;
        if (s->file[i].bytes > largest) largest = s->file[i].bytes;
    }
    if (s->size > largest) s->size = largest; /* no span is larger than a file */
    if (status != GSA_OK) gsa_source_release(s), *source = NULL;
    return status;
}

void gsa_source_release(gsa_source *s)
{
    if (!s) return;
    close_file(s);
    for (int64_t i = 0; i < s->files; i++) {
        gsa_source_file *f = &s->file[i];
        for (int64_t e = 0; e < f->entries; e++) gsa_release(s->system, f->entry[e].window);
        gsa_release(s->system, f->entry);
        gsa_release(s->system, f->path);
    }
    for (int i = 0; i < SPANS; i++) gsa_release(s->system, s->held[i].at);
    gsa_release(s->system, s->file);
    gsa_release(s->system, s);
}

const gsa_system *gsa_source_system(const gsa_source *s)
{
    return s->system;
}

int64_t gsa_source_bytes(const gsa_source *s)
{
    return s->bytes;
}

const gsa_source_file *gsa_source_files(const gsa_source *s, int64_t *count)
{
    *count = s->files;
    return s->file;
}

const gsa_source_file *gsa_source_at(const gsa_source *s, int64_t place)
{
    int64_t low = 0, high = s->files - 1;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (s->file[middle].first <= place) low = middle;
        else high = middle - 1;
    }
    return &s->file[low];
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The unpacker of the open file comes to byte `wanted` of it: from where it is, or from the entry
 * before. */
static gsa_status come_to(gsa_source *s, gsa_source_file *f, int64_t wanted, char *scratch,
                          gsa_error *error)
{
    const gsa_entry *from = NULL;
    for (int64_t low = 0, high = f->entries; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (f->entry[middle].place <= wanted) from = &f->entry[middle], low = middle + 1;
        else high = middle;
    }
    gsa_status status = GSA_OK;
    if (!s->unpacker || s->place > wanted || (from && s->place < from->place)) {
        gsa_unpacker_release(s->unpacker);
        s->place = from ? from->place : 0;
        status =
            gsa_unpacker_open(s->system, f->path, s->handle, f->packing, from, &s->unpacker, error);
    }
    for (int64_t got; status == GSA_OK && s->place < wanted; s->place += got) {
        const int64_t left = wanted - s->place;
        status = gsa_unpacker_read(s->unpacker, scratch, left < s->size ? left : s->size, 0, &got,
                                   error);
        if (status == GSA_OK && got == 0)
            return gsa_fail(error, GSA_ERR_IO, "%s has become shorter while it was in use",
                            f->path);
    }
    return status;
}

/* The span of the packed file that byte `at` of it is in. */
static gsa_status hold(gsa_source *s, gsa_source_file *f, int64_t at, const span **found,
                       gsa_error *error)
{
    const int64_t first = at / s->size * s->size,
                  last = f->bytes < first + s->size ? f->bytes : first + s->size;
    for (int i = 0; i < SPANS; i++)
        if (s->held[i].last > f->first + at && s->held[i].first <= f->first + at)
            return *found = &s->held[i], s->next = !i, GSA_OK;
    span *to = &s->held[s->next];
    s->next = !s->next, to->first = to->last = 0;
    if (!to->at) to->at = gsa_alloc(s->system, (size_t)s->size, 1);
    if (!to->at) return gsa_out_of_memory(error, f->path, s->size);
    gsa_status status = open_file(s, f - s->file, error);
    if (status == GSA_OK) status = come_to(s, f, first, to->at, error);
    while (status == GSA_OK && s->place < last) {
        int64_t got;
        status = gsa_unpacker_read(s->unpacker, to->at + (s->place - first), last - s->place, 0,
                                   &got, error);
        if (status == GSA_OK && got == 0)
            status =
                gsa_fail(error, GSA_ERR_IO, "%s has become shorter while it was in use", f->path);
        s->place += got;
    }
    if (status != GSA_OK) {
        gsa_unpacker_release(s->unpacker);
        s->unpacker = NULL;
        return status;
    }
    to->first = f->first + first, to->last = f->first + last;
    *found = to;
    return GSA_OK;
}

gsa_status gsa_source_read(gsa_source *s, char *to, int64_t bytes, int64_t place, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int64_t some; bytes > 0 && status == GSA_OK; to += some, bytes -= some, place += some) {
        gsa_source_file *f = &s->file[gsa_source_at(s, place) - s->file];
        const span *held = NULL;
        const int64_t left = f->first + f->bytes - place;
        some = bytes < left ? bytes : left;
        if (left <= 0)
            return gsa_fail(error, GSA_ERR_IO, "%s has become shorter while it was in use",
                            f->path);
        if (f->packing) {
            status = hold(s, f, place - f->first, &held, error);
            if (status != GSA_OK) break;
            if (some > held->last - place) some = held->last - place;
            memcpy(to, held->at + (place - held->first), (size_t)some);
        } else {
            status = open_file(s, f - s->file, error);
            if (status == GSA_OK)
                status = read_plain(s, f->path, to, some, place - f->first, error);
        }
    }
    return status;
}

/* The rest of an open packed file, `limit` bytes of it at most, and a zero after them. */
static gsa_status unpack_rest(const gsa_system *system, gsa_unpacker *u, const char *path,
                              int64_t limit, char **bytes, int64_t *count, gsa_error *error)
{
    int64_t room = 0;
    gsa_status status = GSA_OK;
    *count = 0;
    for (int64_t got = 1; status == GSA_OK && got > 0; *count += got) {
        if (room - *count < CHUNK) {
            room = 2 * room + 2 * CHUNK;
            char *larger = gsa_resize(system, *bytes, (size_t)room, 1);
            if (!larger) return gsa_out_of_memory(error, path, room);
            *bytes = larger;
        }
        got = 0;
        status = gsa_unpacker_read(u, *bytes + *count, room - *count - 1, 0, &got, error);
        if (status == GSA_OK && *count + got > limit) status = too_many(path, limit, error);
    }
    if (status == GSA_OK) (*bytes)[*count] = 0;
    return status;
}

gsa_status gsa_source_whole(const gsa_system *system, const char *path, int64_t most, char **bytes,
                            int64_t *count, gsa_error *error)
{
    gsa_unpacker *u = NULL;
    gsa_status status = gsa_read_file(system, path, most, bytes, count, error);
    const int packing = status == GSA_OK ? gsa_packing_of(*bytes, *count) : GSA_PACKED_NOT;
    int kind = GSA_FILE_ABSENT;
    if (packing) status = gsa_see(system, path, &kind, error);
    if (status != GSA_OK) gsa_release(system, *bytes), *bytes = NULL;
    if (kind != GSA_FILE_REGULAR) return status;
    const int64_t limit = gsa_unpack_most(*count);
    gsa_release(system, *bytes);
    *bytes = NULL;
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    if (file < 0) return cannot(path, "opened", error);
    status = gsa_unpacker_open(system, path, file, packing, NULL, &u, error);
    if (status == GSA_OK)
        status = unpack_rest(system, u, path, limit < most ? limit : most, bytes, count, error);
    if (status != GSA_OK) gsa_release(system, *bytes), *bytes = NULL;
    gsa_unpacker_release(u);
    system->close(system->user, file);
    return status;
}

/* ---- the same still? ----------------------------------------------------------------------- */

static const char record[] = "stream.txt";

gsa_status gsa_source_save(const gsa_source *s, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    const gsa_status status = gsa_checkpoint_file(checkpoint, record, &output, error);
    if (status != GSA_OK) return status;
    for (int64_t i = 0; i < s->files; i++)
        gsa_output_format(output, "%" PRId64 " %016" PRIx64 "\n", s->file[i].bytes,
                          s->file[i].hash);
    return gsa_output_commit(output, error);
}

gsa_status gsa_source_check(const gsa_source *s, const char *folder, gsa_error *error)
{
    char path[PATH], *text, line[64];
    int64_t bytes;
    gsa_status status = GSA_OK;
    snprintf(path, sizeof path, "%s/%s", folder, record);
    if (s->system->kind(s->system->user, path, NULL) == GSA_FILE_ABSENT) return GSA_OK;
    status = gsa_read_file(s->system, path, 1 << 30, &text, &bytes, error);
    if (status != GSA_OK) return status;
    const char *at = text;
    for (int64_t i = 0; i < s->files && status == GSA_OK; i++) {
        const int used = snprintf(line, sizeof line, "%" PRId64 " %016" PRIx64 "\n",
                                  s->file[i].bytes, s->file[i].hash);
        if (strncmp(at, line, (size_t)used) != 0)
            status = gsa_fail(error, GSA_ERR_IO,
                              "%s is not the file that the run was trained on: it has changed, or "
                              "the list of files has",
                              s->file[i].path);
        at += used;
    }
    if (status == GSA_OK && *at)
        status = gsa_fail(error, GSA_ERR_IO,
                          "%s: the run was trained on more files than the %" PRId64 " of now", path,
                          s->files);
    gsa_release(s->system, text);
    return status;
}
