/* graphml_size.h - what a GraphML file needs of igraph's reader, which gives every node and edge a
 * place for every key: a file of 1.7 MB can need gigabytes. Of inspect and of the plugin that
 * reads graphs; not installed. */
#ifndef GSA_GRAPHML_SIZE_H
#define GSA_GRAPHML_SIZE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct gsa_graphml_word { /* as far as it has to be known */
    char at[10];
    int32_t used;
} gsa_graphml_word;

typedef struct gsa_graphml_size {
    int64_t bytes, keys, nodes, edges, defaults; /* defaults: bytes of them */
    int64_t of_node, of_edge;                    /* bytes that one needs of igraph for its places */
    int32_t zeros, foreign, declares; /* it is UTF-16 or no text; its words cannot be seen */
    int32_t in_name, in_tag, closing, in_default, odd; /* odd: where a default ends is not clear */
    int32_t in_key, owners, types;                     /* what a key has said of itself */
    int32_t declaring;                                 /* the bytes before are <! */
    char before, quote;                                /* the byte before; of a value of the key */
    gsa_graphml_word name, attribute, value;
} gsa_graphml_size;

enum { GSA_GRAPHML_NODE = 1, GSA_GRAPHML_EDGE = 2, GSA_GRAPHML_GRAPH = 4 };
enum { GSA_GRAPHML_NUMBER = 1, GSA_GRAPHML_TEXT = 2 };

static inline int gsa_graphml_is(const gsa_graphml_word *w, const char *text)
{
    return w->used == (int32_t)strlen(text) && memcmp(w->at, text, (size_t)w->used) == 0;
}

static inline void gsa_graphml_grow(gsa_graphml_word *w, char c)
{
    if (w->used < (int32_t)sizeof w->at) w->at[w->used++] = c;
}

static inline int gsa_graphml_named(const gsa_graphml_size *s, const char *name)
{
    return gsa_graphml_is(&s->name, name);
}

/* A value of a key. Two may be for one attribute, of which one has a prefix: both count. */
static inline void gsa_graphml_said(gsa_graphml_size *s)
{
    static const char *const numbers[] = { "int", "long", "float", "double", "boolean" };
    if (gsa_graphml_is(&s->attribute, "for"))
        s->owners |= gsa_graphml_is(&s->value, "node")    ? GSA_GRAPHML_NODE
                     : gsa_graphml_is(&s->value, "edge")  ? GSA_GRAPHML_EDGE
                     : gsa_graphml_is(&s->value, "graph") ? GSA_GRAPHML_GRAPH
                                                          : GSA_GRAPHML_NODE | GSA_GRAPHML_EDGE;
    if (!gsa_graphml_is(&s->attribute, "attr.type")) return;
    int32_t type = GSA_GRAPHML_TEXT;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (gsa_graphml_is(&s->value, numbers[i])) type = GSA_GRAPHML_NUMBER;
    s->types |= type;
}

/* The places of a key, as igraph 0.10 takes them at most: two copies of a text with what malloc
 * adds, or of a number. A key that is not clear is one of texts, and of nodes and edges. */
static inline void gsa_graphml_places(gsa_graphml_size *s)
{
    enum { A_TEXT = 96, A_NUMBER = 18 };
    const int64_t place = s->types == GSA_GRAPHML_NUMBER ? A_NUMBER : A_TEXT;
    if (s->owners == 0) s->owners = GSA_GRAPHML_NODE | GSA_GRAPHML_EDGE;
    if (s->owners & GSA_GRAPHML_NODE) s->of_node += place;
    if (s->owners & GSA_GRAPHML_EDGE) s->of_edge += place;
    s->in_key = 0;
}

/* A byte of a key's tag, after its name. */
static inline void gsa_graphml_attribute(gsa_graphml_size *s, char c)
{
    if (s->quote && c == s->quote) {
        gsa_graphml_said(s);
        s->quote = 0, s->attribute.used = 0;
    } else if (s->quote) gsa_graphml_grow(&s->value, c);
    else if (c == '"' || c == '\'') s->quote = c, s->value.used = 0;
    else if (c == '>') gsa_graphml_places(s);
    else if (c == ':') s->attribute.used = 0; /* that was a prefix */
    else if (!memchr(" \t\r\n=/", c, 6)) gsa_graphml_grow(&s->attribute, c);
}

/* A tag's name has ended. */
static inline void gsa_graphml_tag(gsa_graphml_size *s)
{
    const int opens = !s->closing;
    s->in_name = 0;
    s->nodes += opens && gsa_graphml_named(s, "node");
    s->edges += opens && gsa_graphml_named(s, "edge");
    if (gsa_graphml_named(s, "default")) s->in_default = opens || s->odd;
    if (!opens || !gsa_graphml_named(s, "key")) return;
    s->keys++, s->in_key = 1, s->owners = s->types = 0;
    s->quote = 0, s->attribute.used = 0;
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
        s->declares |= s->declaring && !memchr("-[D", c, 3); /* no comment, CDATA or DOCTYPE */
        s->declaring = s->before == '<' && c == '!';
        if (s->in_key) gsa_graphml_attribute(s, c);
        if (c == '<') s->in_name = s->in_tag = 1, s->name.used = s->closing = s->in_key = 0;
        else if (c == '!' || c == '?') s->odd |= s->in_default && s->before == '<';
        else if (c == '"' || c == '\'') s->odd |= s->in_default && s->in_tag;
        else if (s->in_name && c == ':') s->name.used = 0; /* that was a prefix */
        else if (s->in_name && c == '/' && s->name.used == 0) s->closing = 1;
        else if (s->in_name && !memchr(" \t\r\n/>", c, 6)) gsa_graphml_grow(&s->name, c);
        else if (s->in_name) {
            gsa_graphml_tag(s);
            if (s->in_key && c == '>') gsa_graphml_places(s);
        }
        if (c == '>' && s->in_tag && s->before == '/' && gsa_graphml_named(s, "default"))
            s->in_default = s->odd;
        s->in_tag &= c != '>';
        s->defaults += s->in_default;
    }
    s->bytes += bytes;
}

/* 0, and why: every node and edge gets a place for each of its keys, and may get each default,
 * twice. An edge makes the two nodes that no <node> has named. Each key is looked for among all
 * those before it: of a file's keys the time is the square. The program's own files have some 30,
 * and one for each head's weights, of which 4096 are read. A default that the file's DTD declares
 * is of every tag of its name, and an entity is of any size: neither is counted here. */
static inline int gsa_graphml_fits(const gsa_graphml_size *s, char *why, size_t size)
{
    enum { A_BYTE = 64, ALWAYS = 1 << 26, MOST_KEYS = 8192 };
    const double edges = (double)s->edges, nodes = (double)s->nodes + 2 * edges;
    const double needed = (double)s->of_node * nodes + (double)s->of_edge * edges +
                          2 * (double)s->defaults * (nodes + edges);
    if (s->zeros) snprintf(why, size, "it holds a zero byte, expected GraphML in UTF-8");
    else if (s->foreign)
        snprintf(why, size, "it does not begin as XML in UTF-8, ASCII or ISO-8859-1");
    else if (s->declares)
        snprintf(why, size,
                 "its DTD declares what its tags hold (<!ATTLIST, <!ENTITY), expected GraphML "
                 "without a DTD of its own");
    else if (s->keys > MOST_KEYS)
        snprintf(why, size, "it has %lld keys, expected at most %d", (long long)s->keys, MOST_KEYS);
    else if (needed > ALWAYS + A_BYTE * (double)s->bytes)
        snprintf(why, size,
                 "%lld keys of %lld nodes and edges need %.0f bytes, more than a file of %lld "
                 "bytes may (64 a byte)",
                 (long long)s->keys, (long long)(s->nodes + s->edges), needed, (long long)s->bytes);
    else return 1;
    return 0;
}

#endif
