/* graphml_size.h - what a GraphML file needs of igraph's reader, which gives every node and edge a
 * place for every key: a file of 1.7 MB can need gigabytes. Of inspect and of the plugin that
 * reads graphs; not installed. */
#ifndef GSA_GRAPHML_SIZE_H
#define GSA_GRAPHML_SIZE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct gsa_graphml_size {
    int64_t bytes, keys, things; /* things: nodes and edges */
    int32_t used, zeros;         /* used: bytes of `name`; zeros: it is UTF-16 or no text */
    int32_t in_name, zero;
    char name[4];
} gsa_graphml_size;

static inline void gsa_graphml_add(gsa_graphml_size *s, const char *text, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++) {
        const char c = text[i];
        s->zeros |= c == 0;
        if (c == '<' || (s->in_name && c == ':')) s->in_name = 1, s->used = 0;
        else if (s->in_name && c >= 'a' && c <= 'z') {
            if (s->used < 4) s->name[s->used] = c;
            s->used += s->used < 5;
        } else if (s->in_name) {
            s->in_name = 0;
            s->keys += s->used == 3 && memcmp(s->name, "key", 3) == 0;
            s->things += s->used == 4 &&
                         (memcmp(s->name, "node", 4) == 0 || memcmp(s->name, "edge", 4) == 0);
        }
    }
    s->bytes += bytes;
}

/* 0, and why: it needs more than 64 bytes a byte of its own. */
static inline int gsa_graphml_fits(const gsa_graphml_size *s, char *why, size_t size)
{
    enum { A_PLACE = 16, A_BYTE = 64, ALWAYS = 1 << 26 };
    const double asked = (double)A_PLACE * (double)s->keys * (double)s->things;
    if (s->zeros) snprintf(why, size, "it holds a zero byte, expected GraphML in UTF-8");
    else if (asked > ALWAYS + (double)A_BYTE * (double)s->bytes)
        snprintf(why, size,
                 "%lld keys of %lld nodes and edges need %.0f bytes, more than a file of %lld "
                 "bytes may (64 a byte)",
                 (long long)s->keys, (long long)s->things, asked, (long long)s->bytes);
    else return 1;
    return 0;
}

#endif
