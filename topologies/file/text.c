/* text.c - a text file as words of lines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "loader.h"

enum { CHUNK = 1 << 16 };

static void *alloc_of(void *host, size_t bytes)
{
    return ((const gsa_host *)host)->alloc(host, bytes);
}

static void release_of(void *host, void *at)
{
    ((const gsa_host *)host)->release(host, at);
}

static int fails(file_text *text, const char *what)
{
    text->failed = 1;
    return loader_fail(text->load, text->line, "%s", what);
}

/* A sentence that begins with the path, which loader_fail says itself. */
static int passes_on(file_text *text, const gsa_error *error)
{
    const size_t bytes = strlen(text->load->path);
    const char *why = error->text;
    if (strncmp(why, text->load->path, bytes) == 0) why += bytes, why += strspn(why, ": ");
    return fails(text, why);
}

static int cannot(file_text *text, int64_t line, const char *what)
{
    const char *why = strerror(errno);
    text->failed = 1;
    return loader_fail(text->load, line, "it cannot be %s: %s", what, why);
}

/* Another chunk; 0 at the end, and after a failure. */
static int refill(file_text *text)
{
    const gsa_system *s = &text->system;
    gsa_error error;
    if (text->failed) return 0;
    text->used = text->held = 0;
    if (text->unpacker) {
        if (gsa_unpacker_read(text->unpacker, text->chunk, CHUNK, 0, &text->held, &error) != GSA_OK)
            return passes_on(text, &error), 0;
        if (text->place + text->held > gsa_unpack_most(text->load->bytes))
            return fails(text, "it unpacks to too much for its size: unpack it first"), 0;
    } else text->held = s->read_at(s->user, text->file, text->chunk, CHUNK, text->place);
    if (text->held < 0) return cannot(text, text->line, "read"), 0;
    text->place += text->held;
    return text->held > 0;
}

/* The file was a regular one when it was looked at. Its owner may have put a FIFO there, whose
 * opening would wait. What a descriptor leads to may have no name: its path is opened as it is. */
static int open_regular(const gsa_system *s, const char *path)
{
    char end[4096];
    if (gsa_descriptor_of(path) == -1 && s->resolve(s->user, path, end, sizeof end) > 0)
        return s->open(s->user, end, GSA_OPEN_READ_OWN);
    return s->open(s->user, path, GSA_OPEN_READ);
}

static int open_text(file_text *text, loader *load)
{
    gsa_error error;
    *text = (file_text){ .load = load, .line = 1, .system = *gsa_system_default() };
    gsa_system *s = &text->system;
    s->user = (void *)(uintptr_t)load->host;
    s->alloc = alloc_of, s->release = release_of;
    text->file = open_regular(s, load->path);
    if (text->file < 0) return cannot(text, 0, "opened");
    text->chunk = s->alloc(s->user, CHUNK);
    if (!text->chunk) return fails(text, "out of memory for its text");
    if (!refill(text)) return text->failed ? -1 : 0;
    text->packing = gsa_packing_of(text->chunk, text->held);
    if (!text->packing) return 0;
    text->place = 0;
    if (gsa_unpacker_open(s, load->path, text->file, text->packing, NULL, &text->unpacker,
                          &error) != GSA_OK)
        return passes_on(text, &error);
    return refill(text) || !text->failed ? 0 : -1;
}

int text_open(file_text *text, loader *load)
{
    if (open_text(text, load) == 0) return 0;
    text_close(text);
    return -1;
}

void text_start(const file_text *text, char *start, size_t size)
{
    const size_t got = (size_t)text->held < size - 1 ? (size_t)text->held : size - 1;
    if (got > 0) memcpy(start, text->chunk, got);
    start[got] = 0;
}

void text_close(file_text *text)
{
    const gsa_system *s = &text->system;
    gsa_unpacker_release(text->unpacker);
    s->release(s->user, text->chunk);
    if (text->file >= 0) s->close(s->user, text->file);
    text->unpacker = NULL, text->chunk = NULL, text->file = -1;
}

static int next_byte(file_text *text)
{
    if (text->used == text->held && !refill(text)) return EOF;
    return (unsigned char)text->chunk[text->used++];
}

static int at_end(const file_text *text)
{
    return text->failed ? TEXT_FAILED : TEXT_END;
}

static int separates(int c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

static int zero_byte(const file_text *text)
{
    return loader_fail(text->load, text->line, "a zero byte, expected text");
}

int text_next(file_text *text)
{
    size_t used = 0;
    int c = next_byte(text);
    while (separates(c)) c = next_byte(text);
    if (c == EOF) return at_end(text);
    if (c == '\n') {
        text->line++;
        return TEXT_LINE;
    }
    for (; c != EOF && c != '\n' && !separates(c); c = next_byte(text)) {
        if (c == 0) return zero_byte(text);
        if (used + 1 == FILE_WORD && (text->word[0] == '#' || text->word[0] == '%'))
            break; /* a comment: skipped anyhow */
        if (used + 1 == FILE_WORD)
            return loader_fail(text->load, text->line,
                               "a word of more than %d bytes, starting %.16s", FILE_WORD - 1,
                               text->word);
        text->word[used++] = (char)c;
        text->word[used] = 0;
    }
    if (c != EOF) text->used--;
    else if (text->failed) return TEXT_FAILED;
    return TEXT_WORD;
}

int text_skip_line(file_text *text)
{
    int c;
    do c = next_byte(text);
    while (c != '\n' && c != EOF && c != 0);
    if (c == EOF) return at_end(text);
    if (c == 0) return zero_byte(text);
    text->line++;
    return TEXT_LINE;
}

int text_integer(const char *word, int64_t low, int64_t high, int64_t *value)
{
    const int minus = *word == '-';
    const char *at = word + (minus || *word == '+');
    int64_t sum = 0;
    if (!*at || at[strspn(at, "0123456789")]) return 0;
    for (; *at; at++) {
        if (sum > (INT64_MAX - 9) / 10) return 0;
        sum = 10 * sum + (*at - '0');
    }
    *value = minus ? -sum : sum;
    return *value >= low && *value <= high;
}

/* The code point at *at, which moves after it; -1 where it is not UTF-8. */
static int32_t next_code(const unsigned char **at)
{
    static const int32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char first = *(*at)++;
    const int more = first < 0x80   ? 0
                     : first < 0xc0 ? -1
                     : first < 0xe0 ? 1
                     : first < 0xf0 ? 2
                     : first < 0xf8 ? 3
                                    : -1;
    int32_t code = more < 1 ? first : first & (0x3f >> more);
    if (more < 0) return -1;
    for (int i = 0; i < more; i++, ++*at) {
        if ((**at & 0xc0) != 0x80) return -1;
        code = code << 6 | (**at & 0x3f);
    }
    return code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? -1 : code;
}

int text_is_name(const char *word)
{
    const unsigned char *at = (const unsigned char *)word;
    while (*at) {
        const int32_t code = next_code(&at);
        if (code < 0x20 || code == 0x7f) return 0;
    }
    return 1;
}
