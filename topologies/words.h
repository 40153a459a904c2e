/* words.h - names as sentences need them: their form, a list of the known ones with the nearest,
 * text made safe to show. */
#ifndef GSA_WORDS_H
#define GSA_WORDS_H
#include <stddef.h>

enum { GSA_WORD_LIMIT = 63 }; /* bytes of a name */
enum { GSA_SHOWN = 96 };      /* bytes that gsa_word_show needs */

/* 1 when the name matches [a-z][a-z0-9_]* and has at most GSA_WORD_LIMIT bytes. NULL is no name. */
int gsa_word_ok(const char *name);

/* Edits (insert, delete, replace, swap neighbours) that turn one into the other; a large number
 * when either is longer than GSA_WORD_LIMIT. O(|a| |b|). */
int gsa_word_distance(const char *a, const char *b);

/* "known: full, ring, star; the nearest is 'star'" into out; no nearest when none is near. `at`
 * gives the names. */
typedef const char *gsa_word_at(const void *context, int index);
void gsa_word_list(char *out, size_t size, gsa_word_at *at, const void *context, int count,
                   const char *wanted);

/* The text in quotes, control characters and broken UTF-8 as \xNN, cut at a character with "..."
 * where too long. Returns out. NULL is shown as (nothing). */
const char *gsa_word_show(const char *text, char out[GSA_SHOWN]);

#endif
