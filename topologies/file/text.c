/* text.c - a text file as words of lines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "loader.h"

int text_open(file_text *text, loader *load)
{
    *text = (file_text){ .load = load, .line = 1 };
    text->file = fopen(load->path, "rb");
    if (!text->file) return loader_fail(load, 0, "it cannot be opened: %s", strerror(errno));
    return 0;
}

void text_close(file_text *text)
{
    if (text->file) fclose(text->file);
    text->file = NULL;
}

/* The end of the file, or of what can be read of it (a folder opens and reads nothing). */
static int at_end(file_text *text)
{
    if (!ferror((FILE *)text->file)) return TEXT_END;
    return loader_fail(text->load, text->line, "it cannot be read: %s", strerror(errno));
}

static int separates(int c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

int text_next(file_text *text)
{
    FILE *file = text->file;
    size_t used = 0;
    int c = getc_unlocked(file);
    while (separates(c)) c = getc_unlocked(file);
    if (c == EOF) return at_end(text);
    if (c == '\n') {
        text->line++;
        return TEXT_LINE;
    }
    for (; c != EOF && c != '\n' && !separates(c); c = getc_unlocked(file)) {
        if (c == 0) return loader_fail(text->load, text->line, "a zero byte, expected text");
        if (used + 1 == FILE_WORD && (text->word[0] == '#' || text->word[0] == '%'))
            break; /* a comment: skipped anyhow */
        if (used + 1 == FILE_WORD)
            return loader_fail(text->load, text->line,
                               "a word of more than %d bytes, starting %.16s", FILE_WORD - 1,
                               text->word);
        text->word[used++] = (char)c;
        text->word[used] = 0;
    }
    if (c != EOF) ungetc(c, file);
    return TEXT_WORD;
}

int text_skip_line(file_text *text)
{
    int c;
    do c = getc_unlocked((FILE *)text->file);
    while (c != '\n' && c != EOF);
    if (c == EOF) return at_end(text);
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
