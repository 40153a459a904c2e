/* lexicon.h - the host service "gsa.lexicon/1": a word list in a file, and every place in a text
 * where one of its words is. C11 or C++17, no other header of the project than topology.h.
 *
 * Example:
 *
 *     struct own {
 *         const gsa_lexicon_service *use;
 *         gsa_lexicon *words;
 *     };
 *     static const gsa_param params[] = {
 *         { "words", GSA_PATH, 0, 0, 0, NULL, NULL, "a file with a word a line" },
 *     };
 *     static int create(const gsa_host *host, const gsa_value *p, void **self)
 *     {
 *         struct own *o = (struct own *)host->alloc(host, sizeof *o);
 *         if (!(*self = o)) return host->fail(host, "no memory");
 *         o->words = NULL; // destroy runs after a failure too
 *         o->use = (const gsa_lexicon_service *)host->service(host, GSA_LEXICON_SERVICE);
 *         if (!o->use) return host->fail(host, "this host has no " GSA_LEXICON_SERVICE);
 *         return o->use->open(o->use, host, p[0].s, 2, 16, &o->words); // 2 to 16 characters
 *     }
 *     static void destroy(const gsa_host *host, void *self)
 *     {
 *         struct own *o = (struct own *)self;
 *         if (o->use) o->use->close(o->use, o->words);
 *         host->release(host, o);
 *     }
 *     static void describe(const void *self, gsa_describer *d)
 *     {
 *         (void)self, gsa_transformer_layer(d, GSA_NAMES_ONLY, 1, 0);
 *         d->promise(d, GSA_NEEDS_TEXT | GSA_DUPLICATES, GSA_SQUARE_EDGES);
 *     }
 *     // a word's last token reads its first
 *     static void found(void *e, int32_t first, int32_t last)
 *     {
 *         gsa_edge((gsa_emitter *)e, 0, gsa_at(0, first), gsa_at(0, last), 0);
 *     }
 *     static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
 *     {
 *         const struct own *o = (const struct own *)self;
 *         for (int64_t i = 0; i < x->length; i++) gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 0);
 *         o->use->match(o->use, o->words, x, found, e);
 *     }
 *     const gsa_topology GSA_PLUGIN = {
 *         GSA_ABI, sizeof(gsa_topology), sizeof *params, 1, "words", "ends of words", "none",
 *         params, create, destroy, describe, emit
 *     };
 *
 * Law.  open and close run where create and destroy do; match is const on the lexicon and runs in
 *     many threads at once. A lexicon never changes after open: the file may go. The service lives
 *     as long as its registry, a lexicon until close.
 *     Append only: a later service of this major has a larger struct_size.
 *     File: UTF-8, one word a line: what is before the first space or tab (after leading ones); the
 *     rest of the line, such as a frequency and a tag, is not read. LF or CR LF; a byte order mark
 *     is skipped, so are lines of blanks. There are no comments: '#' starts a word like any other
 *     character. A word that is there twice is one word. Refused, with file:line where there is
 *     one: what is not UTF-8, a NUL byte, a word of more than 255 characters, a file of more than
 *     256 MiB, and a file without any word of the lengths that are requested.
 *     Match: one or more whole tokens, one after the other, that joined with nothing in between are
 *     a word of the list, of `shortest` to `longest` characters (code points). With characters as
 *     tokens these are all places of all words; with words as tokens a word of the list that starts
 *     or ends inside a token is no match. All matches are found, overlapping and nested ones too;
 *     none crosses from one group to the next or holds an empty token.
 *     Order: by the last token, then by the first: what is before a token is found in the same
 *     order whatever follows it.
 *     Cost: time linear in the bytes of the text and the places found; no memory. Opening is linear
 *     in the bytes of the file. */
#ifndef GSA_LEXICON_H
#define GSA_LEXICON_H
#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name by which a topology finds the service. */
#define GSA_LEXICON_SERVICE "gsa.lexicon/1"
enum { GSA_LEXICON_LONGEST = 255 }; /* characters of a word */

/* A word list, opened by a topology. Opaque; it belongs to the host. */
typedef struct gsa_lexicon gsa_lexicon;

/* Tokens first to last, inclusive, are a word. */
typedef void gsa_lexicon_found(void *context, int32_t first, int32_t last);

typedef struct gsa_lexicon_service gsa_lexicon_service;
/* Opens word lists and finds their words in texts, for topologies. */
struct gsa_lexicon_service {
    uint32_t struct_size, zero;
    const void *context; /* the service's own */
    /* Reads the words of shortest to longest characters, 1 <= shortest <= longest <= 255. 0, or < 0
     * after host->fail(). */
    int (*open)(const gsa_lexicon_service *, const gsa_host *, const char *path, int32_t shortest,
                int32_t longest, gsa_lexicon **);
    void (*close)(const gsa_lexicon_service *, gsa_lexicon *); /* NULL does nothing */
    /* Calls found (NULL: nobody) for every match in the example's text; returns their number. No
     * text: none. */
    int64_t (*match)(const gsa_lexicon_service *, const gsa_lexicon *, const gsa_example *,
                     gsa_lexicon_found *found, void *context);
};

#ifdef __cplusplus
}
#endif
#endif
