/* graphml_size.h - what a GraphML file needs of igraph's reader, which gives every node and edge a
 * place for every key: a file of 1.7 MB can need gigabytes. Of inspect and of the plugin that
 * reads graphs; not installed. */
#ifndef GSA_GRAPHML_SIZE_H
#define GSA_GRAPHML_SIZE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct gsa_graphml_size {
    int64_t bytes, keys, things, defaults; /* things: nodes and edges; defaults: bytes of them */
    int32_t zeros, foreign;                /* it is UTF-16 or no text; its words cannot be seen */
    int32_t in_name, in_tag, used, closing, in_default,
        odd;              /* odd: where a default ends is not clear */
    char name[8], before; /* used: bytes of `name`; before: the byte before */
} gsa_graphml_size;

static inline int gsa_graphml_named(const gsa_graphml_size *s, const char *name)
{
    return s->used == (int32_t)strlen(name) && memcmp(s->name, name, (size_t)s->used) == 0;
}

/* Whether the first bytes are of XML in which '<' is one byte: UTF-8, or another that has ASCII. */
static inline int gsa_graphml_begins(const char *text, int64_t bytes)
{
    static const char *const known[] = { "utf-8", "us-ascii", "ascii", "iso-8859-1" };
    char head[256];
    const size_t used = bytes < (int64_t)sizeof head ? (size_t)bytes : sizeof head - 1;
    memcpy(head, text, used), head[used] = 0;
    const char *at = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? head + 3 : head;
    at += strspn(at, " \t\r\n");
    if (*at && *at != '<') return 0;
    if (strncmp(at, "<?xml", 5) != 0) return 1;
    const char *const end = strstr(at, "?>"), *name = strstr(at, "encoding");
    if (!end) return 0;
    if (!name || name > end) return 1;
    name += strcspn(name, "\"'?");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i]);
        if (strncasecmp(name + 1, known[i], length) == 0 && name[1 + length] == *name) return 1;
    }
    return 0;
}

static inline void gsa_graphml_add(gsa_graphml_size *s, const char *text, int64_t bytes)
{
    if (s->bytes == 0 && bytes > 0) s->foreign = !gsa_graphml_begins(text, bytes);
    for (int64_t i = 0; i < bytes; s->before = text[i++]) {
        const char c = text[i];
        s->zeros |= c == 0;
        if (c == '<') s->in_name = s->in_tag = 1, s->used = s->closing = 0;
        else if (c == '!' || c == '?') s->odd |= s->in_default && s->before == '<';
        else if (c == '"' || c == '\'') s->odd |= s->in_default && s->in_tag;
        else if (s->in_name && c == ':') s->used = 0; /* that was a prefix */
        else if (s->in_name && c == '/' && s->used == 0) s->closing = 1;
        else if (s->in_name && !memchr(" \t\r\n/>", c, 6)) {
            if (s->used < 8) s->name[s->used++] = c;
        } else if (s->in_name) {
            s->in_name = 0;
            s->keys += !s->closing && gsa_graphml_named(s, "key");
            s->things +=
                !s->closing && (gsa_graphml_named(s, "node") || gsa_graphml_named(s, "edge"));
            if (gsa_graphml_named(s, "default")) s->in_default = !s->closing || s->odd;
        }
        if (c == '>' && s->in_tag && s->before == '/' && gsa_graphml_named(s, "default"))
            s->in_default = s->odd;
        s->in_tag &= c != '>';
        s->defaults += s->in_default;
    }
    s->bytes += bytes;
}

/* 0, and why: every node and edge gets a place for each key, and may get each default. Each key is
 * looked for among all those before it: of a file's keys the time is the square. The program's own
 * files have some 30, and one for each head's weights, of which 4096 are read. */
static inline int gsa_graphml_fits(const gsa_graphml_size *s, char *why, size_t size)
{
    enum { A_PLACE = 16, A_BYTE = 64, ALWAYS = 1 << 26, MOST_KEYS = 8192 };
    const double needed = (A_PLACE * (double)s->keys + 2 * (double)s->defaults) * (double)s->things;
    if (s->zeros) snprintf(why, size, "it holds a zero byte, expected GraphML in UTF-8");
    else if (s->foreign)
        snprintf(why, size, "it does not begin as XML in UTF-8, ASCII or ISO-8859-1");
    else if (s->keys > MOST_KEYS)
        snprintf(why, size, "it has %lld keys, expected at most %d", (long long)s->keys, MOST_KEYS);
    else if (needed > ALWAYS + A_BYTE * (double)s->bytes)
        snprintf(why, size,
                 "%lld keys of %lld nodes and edges need %.0f bytes, more than a file of %lld "
                 "bytes may (64 a byte)",
                 (long long)s->keys, (long long)s->things, needed, (long long)s->bytes);
    else return 1;
    return 0;
}

#endif
