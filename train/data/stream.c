#include "train/data/stream.h"
#include <errno.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/settings/keys.h"

enum { MARK = 1024, BUFFER = 2 * GSA_LONGEST_WORD, SMALL = 1 << 13 };

/* ---- bytes --------------------------------------------------------------------------------- */

static gsa_status cannot(const char *path, const char *what, gsa_error *error)
{
    char why[128];
    return gsa_fail(error, GSA_ERR_IO, "%s cannot be %s: %s", path, what,
                    gsa_errno_text(errno, why, sizeof why));
}

/* All `bytes` at `offset`, or a sentence. */
static gsa_status read_bytes(const gsa_system *system, int file, const char *path, char *to,
                             int64_t bytes, int64_t offset, gsa_error *error)
{
    for (int64_t got; bytes > 0; to += got, bytes -= got, offset += got) {
        got = system->read_at(system->user, file, to, bytes, offset);
        if (got < 0) return cannot(path, "read", error);
        if (got == 0)
            return gsa_fail(error, GSA_ERR_IO, "%s has become shorter while it was in use", path);
    }
    return GSA_OK;
}

static gsa_status open_file(const gsa_system *system, const char *path, int *file, int64_t *size,
                            gsa_error *error)
{
    const int kind = system->kind(system->user, path, size);
    if (kind < 0 || kind == GSA_FILE_ABSENT) {
        if (kind == GSA_FILE_ABSENT) errno = ENOENT;
        return cannot(path, "opened", error);
    }
    if (kind != GSA_FILE_REGULAR)
        return gsa_fail(error, GSA_ERR_IO,
                        "%s is no regular file: places of a text are read in any order", path);
    *file = system->open(system->user, path, GSA_OPEN_READ);
    return *file < 0 ? cannot(path, "opened", error) : GSA_OK;
}

/* ---- tokens, one after the other ----------------------------------------------------------- */

typedef struct cursor {
    gsa_stream *stream;
    int64_t place;      /* of buffer[0] in the file */
    int64_t used, held; /* bytes of the buffer */
    int64_t chunk;      /* read at a time */
} cursor;

static cursor cursor_at(gsa_stream *s, int64_t place, int64_t chunk)
{
    return (cursor){ .stream = s, .place = place, .chunk = chunk };
}

static gsa_status fill(cursor *c, gsa_error *error)
{
    gsa_stream *s = c->stream;
    memmove(s->buffer, s->buffer + c->used, (size_t)(c->held - c->used));
    c->place += c->used, c->held -= c->used, c->used = 0;
    int64_t more = s->last - c->place - c->held;
    if (more > c->chunk) more = c->chunk;
    if (more > BUFFER - c->held) more = BUFFER - c->held;
    const gsa_status status = read_bytes(s->system, s->file, s->path, s->buffer + c->held, more,
                                         c->place + c->held, error);
    if (status == GSA_OK) c->held += more;
    return status;
}

/* The line, from 1, that byte `place` of the file is in; read again from the start, as there is
 * time on the way out. */
static int64_t line_of(gsa_stream *s, int64_t place)
{
    int64_t line = 1;
    for (int64_t at = 0, bytes; at < place; at += bytes) {
        bytes = place - at < BUFFER ? place - at : BUFFER;
        if (read_bytes(s->system, s->file, s->path, s->buffer, bytes, at, NULL) != GSA_OK) return 0;
        for (int64_t i = 0; i < bytes; i++) line += s->buffer[i] == '\n';
    }
    return line;
}

static gsa_status refuse(cursor *c, gsa_error *error)
{
    gsa_stream *s = c->stream;
    int64_t bad = c->used;
    gsa_slice unit;
    while (bad < c->held &&
           gsa_unit_next(GSA_TOKENS_CHARS, s->buffer + bad, c->held - bad, 1, &unit) > 0 &&
           *unit.at)
        bad += unit.bytes;
    const int nul = bad < c->held && s->buffer[bad] == 0;
    const int64_t place = c->place + bad;
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s at byte %lld of the file", s->path,
                    (long long)line_of(s, place), nul ? "a NUL" : "invalid UTF-8",
                    (long long)place + 1);
}

/* The next token; bytes 0: the end. It lives until the next call. */
static gsa_status next(cursor *c, gsa_slice *unit, gsa_error *error)
{
    gsa_stream *s = c->stream;
    for (gsa_status status;;) {
        const int whole = c->place + c->held >= s->last;
        const int64_t took =
            gsa_unit_next(s->kind, s->buffer + c->used, c->held - c->used, whole, unit);
        if (took < 0) return refuse(c, error);
        c->used += took;
        if (unit->bytes > GSA_LONGEST_WORD ||
            (took == 0 && c->held - c->used >= GSA_LONGEST_WORD + 4))
            break;
        if (unit->bytes > 0) return GSA_OK;
        if (took > 0) continue;
        if (whole) return GSA_OK;
        status = fill(c, error);
        if (status != GSA_OK) return status;
    }
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s:%lld: a word of more than %d bytes: is it a text of words?", s->path,
                    (long long)line_of(s, c->place + c->used), GSA_LONGEST_WORD);
}

/* ---- opening ------------------------------------------------------------------------------- */

static gsa_status mark(gsa_stream *s, int64_t place, gsa_error *error)
{
    if (s->marks == s->room) {
        const int64_t room = s->room ? 2 * s->room : 64;
        int64_t *larger = gsa_resize(s->system, s->mark, (size_t)room, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, s->path, room * 8);
        s->mark = larger, s->room = room;
    }
    s->mark[s->marks++] = place;
    return GSA_OK;
}

static gsa_status pass(gsa_stream *s, gsa_unit_counts *counts, gsa_error *error)
{
    cursor c = cursor_at(s, s->first, BUFFER);
    gsa_slice unit;
    for (;;) {
        const int64_t place = c.place + c.used; /* a fill moves both, not their sum */
        gsa_status status = next(&c, &unit, error);
        if (status != GSA_OK || unit.bytes == 0) return status;
        if (s->tokens % MARK == 0) status = mark(s, place, error);
        if (status == GSA_OK && counts) status = gsa_unit_count(counts, s->kind, unit, error);
        if (status != GSA_OK) return status;
        s->tokens++;
    }
}

/* After a byte order mark, where one is at the start. */
static gsa_status skip_mark(gsa_stream *s, gsa_error *error)
{
    if (s->first > 0 || s->last < 3) return GSA_OK;
    const gsa_status status = read_bytes(s->system, s->file, s->path, s->buffer, 3, 0, error);
    if (status == GSA_OK && memcmp(s->buffer, "\xef\xbb\xbf", 3) == 0) s->first = 3;
    return status;
}

gsa_status gsa_stream_open(const gsa_system *system, const char *path, int kind, int64_t first,
                           int64_t last, gsa_unit_counts *counts, gsa_stream *stream,
                           gsa_error *error)
{
    gsa_stream *s = stream;
    int64_t size;
    system = gsa_system_or_default(system);
    *s = (gsa_stream){ .system = system, .kind = kind, .first = first };
    gsa_status status = open_file(system, path, &s->file, &size, error);
    if (status != GSA_OK) return status;
    s->path = gsa_copy_text(system, path);
    s->buffer = gsa_alloc(system, BUFFER, 1);
    s->last = last < 0 || last > size ? size : last;
    if (!s->path || !s->buffer) status = gsa_out_of_memory(error, path, BUFFER);
    else if (kind == GSA_TOKENS_BYTES) s->tokens = s->last > first ? s->last - first : 0;
    else {
        status = skip_mark(s, error);
        if (status == GSA_OK) status = pass(s, counts, error);
    }
    if (status == GSA_OK) return GSA_OK;
    if (!s->path) system->close(system->user, s->file);
    gsa_stream_release(s);
    return status;
}

void gsa_stream_release(gsa_stream *stream)
{
    if (stream->path) stream->system->close(stream->system->user, stream->file);
    gsa_release(stream->system, stream->path);
    gsa_release(stream->system, stream->buffer);
    gsa_release(stream->system, stream->mark);
    *stream = (gsa_stream){ 0 };
}

/* ---- reading ------------------------------------------------------------------------------- */

static gsa_status read_direct(gsa_stream *s, const gsa_units *units, int64_t first, int64_t count,
                              int32_t *id, gsa_error *error)
{
    for (int64_t done = 0, bytes; done < count; done += bytes) {
        bytes = count - done < BUFFER ? count - done : BUFFER;
        const gsa_status status = read_bytes(s->system, s->file, s->path, s->buffer, bytes,
                                             s->first + first + done, error);
        if (status != GSA_OK) return status;
        for (int64_t i = 0; i < bytes; i++)
            id[done + i] = units->quick[(unsigned char)s->buffer[i]];
    }
    return GSA_OK;
}

gsa_status gsa_stream_read(gsa_stream *stream, const gsa_units *units, int64_t first, int64_t count,
                           int32_t *id, gsa_error *error)
{
    gsa_slice unit;
    gsa_status status = GSA_OK;
    if (count <= 0) return GSA_OK;
    if (stream->kind == GSA_TOKENS_BYTES)
        return read_direct(stream, units, first, count, id, error);
    cursor c = cursor_at(stream, stream->mark[first / MARK], count > SMALL ? BUFFER : SMALL);
    for (int64_t i = -(first % MARK); i < count && status == GSA_OK; i++) {
        status = next(&c, &unit, error);
        if (status == GSA_OK && unit.bytes == 0)
            status =
                gsa_fail(error, GSA_ERR_IO, "%s has changed while it was in use", stream->path);
        if (status == GSA_OK && i >= 0) id[i] = gsa_units_id(units, unit);
    }
    return status;
}

/* ---- cutting ------------------------------------------------------------------------------- */

gsa_status gsa_stream_cut(const gsa_system *system, const char *path, int kind, int64_t at,
                          int64_t size, int64_t *cut, gsa_error *error)
{
    char bytes[4096];
    int file;
    int64_t held = 0, now;
    *cut = at < size ? at : size;
    if (kind == GSA_TOKENS_BYTES || at <= 0 || at >= size) return GSA_OK;
    system = gsa_system_or_default(system);
    gsa_status status = open_file(system, path, &file, &now, error);
    if (status != GSA_OK) return status;
    /* one byte back: words may be cut right here, after a line end */
    for (int64_t from = kind == GSA_TOKENS_WORDS ? at - 1 : at; from < size && status == GSA_OK;
         from += held) {
        held = size - from < (int64_t)sizeof bytes ? size - from : (int64_t)sizeof bytes;
        status = read_bytes(system, file, path, bytes, held, from, error);
        int64_t i = 0;
        const int words = kind == GSA_TOKENS_WORDS;
        while (status == GSA_OK && i < held &&
               (words ? bytes[i] != '\n' : ((unsigned char)bytes[i] & 0xc0) == 0x80))
            i++;
        *cut = from + i + (words && i < held);
        if (i < held) break;
    }
    system->close(system->user, file);
    return status;
}
