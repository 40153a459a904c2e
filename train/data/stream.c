#include "train/data/stream.h"
#include <string.h>
#include "train/settings/keys.h"

enum { MARK = 1024, BUFFER = 2 * GSA_LONGEST_WORD, SMALL = 1 << 13 };

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
    const gsa_status status =
        gsa_source_read(s->source, s->buffer + c->held, more, c->place + c->held, error);
    if (status == GSA_OK) c->held += more;
    return status;
}

/* The line, from 1, of its file that byte `place` of the source is in; read again from the start,
 * as there is time on the way out. */
static int64_t line_of(gsa_stream *s, int64_t place)
{
    int64_t line = 1;
    for (int64_t at = gsa_source_at(s->source, place)->first, bytes; at < place; at += bytes) {
        bytes = place - at < BUFFER ? place - at : BUFFER;
        if (gsa_source_read(s->source, s->buffer, bytes, at, NULL) != GSA_OK) return 0;
        for (int64_t i = 0; i < bytes; i++) line += s->buffer[i] == '\n';
    }
    return line;
}

static gsa_status refuse(cursor *c, gsa_error *error)
{
    gsa_stream *s = c->stream;
    int64_t bad = c->used;
    gsa_slice unit;
    while (gsa_unit_next(GSA_TOKENS_CHARS, s->buffer + bad, c->held - bad, 1, &unit) > 0 &&
           *unit.at)
        bad += unit.bytes;
    const int64_t place = c->place + bad;
    const gsa_source_file *file = gsa_source_at(s->source, place);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s at byte %lld of the file", file->path,
                    (long long)line_of(s, place), unit.bytes > 0 ? "a NUL" : "invalid UTF-8",
                    (long long)(place - file->first) + 1);
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
                    "%s:%lld: a word of more than %d bytes: is it a text of words?",
                    gsa_source_at(s->source, c->place + c->used)->path,
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
    const gsa_status status = gsa_source_read(s->source, s->buffer, 3, 0, error);
    if (status == GSA_OK && memcmp(s->buffer, "\xef\xbb\xbf", 3) == 0) s->first = 3;
    return status;
}

gsa_status gsa_stream_begin(gsa_source *source, int kind, int64_t first, int64_t last,
                            gsa_unit_counts *counts, gsa_stream *stream, gsa_error *error)
{
    gsa_stream *s = stream;
    int64_t files;
    const int64_t size = gsa_source_bytes(source);
    *s = (gsa_stream){ .system = gsa_source_system(source),
                       .source = source,
                       .path = gsa_source_files(source, &files)->path,
                       .kind = kind,
                       .first = first,
                       .last = last < 0 || last > size ? size : last };
    gsa_status status = GSA_OK;
    s->buffer = gsa_alloc(s->system, BUFFER, 1);
    if (!s->buffer) status = gsa_out_of_memory(error, s->path, BUFFER);
    else if (kind == GSA_TOKENS_BYTES) s->tokens = s->last > first ? s->last - first : 0;
    else {
        status = skip_mark(s, error);
        if (status == GSA_OK) status = pass(s, counts, error);
    }
    if (status != GSA_OK) gsa_stream_release(s);
    return status;
}

gsa_status gsa_stream_open(const gsa_system *system, const char *path, int kind, int64_t first,
                           int64_t last, gsa_unit_counts *counts, gsa_stream *stream,
                           gsa_error *error)
{
    gsa_source *source;
    *stream = (gsa_stream){ 0 };
    gsa_status status = gsa_source_open(system, path, 0, &source, error);
    if (status != GSA_OK) return status;
    status = gsa_stream_begin(source, kind, first, last, counts, stream, error);
    stream->owns = status == GSA_OK;
    if (status != GSA_OK) gsa_source_release(source);
    return status;
}

void gsa_stream_release(gsa_stream *stream)
{
    if (stream->owns) gsa_source_release(stream->source);
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
        const gsa_status status =
            gsa_source_read(s->source, s->buffer, bytes, s->first + first + done, error);
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

gsa_status gsa_stream_cut(gsa_source *source, int kind, int64_t at, int64_t *cut, gsa_error *error)
{
    char bytes[4096];
    const int64_t size = gsa_source_bytes(source);
    const int words = kind == GSA_TOKENS_WORDS;
    gsa_status status = GSA_OK;
    *cut = at < size ? at : size;
    if (kind == GSA_TOKENS_BYTES || *cut <= 0 || *cut == size) return GSA_OK;
    /* one byte back: words may be cut right here, after a line end */
    for (int64_t from = words ? at - 1 : at, held; from < size; from += held) {
        held = size - from < (int64_t)sizeof bytes ? size - from : (int64_t)sizeof bytes;
        status = gsa_source_read(source, bytes, held, from, error);
        if (status != GSA_OK) return status;
        int64_t i = 0;
        while (i < held && (words ? bytes[i] != '\n' : ((unsigned char)bytes[i] & 0xc0) == 0x80))
            i++;
        *cut = from + i + (words && i < held);
        if (i < held) break;
    }
    return status;
}
