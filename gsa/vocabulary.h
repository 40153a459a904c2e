/* vocabulary.h - words and their ids. Id 0 is padding (a frozen zero row), id 1 the unknown word.
 * Lookups: any thread.
 * Changes: one thread. Errors: GSA_ERR_ARGUMENT (a call after the freeze, or before it),
 * GSA_ERR_FORMAT (the file of words, a word that is not UTF-8), GSA_ERR_LIMIT (too many words),
 * GSA_ERR_IO, GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     const gsa_slice film = { "film", 4 }, good = { "good", 4 };
 *     gsa_error error;
 *     gsa_vocabulary *words = NULL;
 *     int failed = gsa_vocabulary_create(NULL, &words, &error) ||
 *                  gsa_vocabulary_add(words, film, 2, &error) ||
 *                  gsa_vocabulary_add(words, good, 1, &error) ||
 *                  gsa_vocabulary_freeze(words, 2, 0, &error); // words seen twice, any number
 *     if (failed) return puts(error.text), gsa_vocabulary_release(words), 1;
 *     failed = gsa_vocabulary_find(words, film) != GSA_WORD_FIRST ||
 *              gsa_vocabulary_find(words, good) != GSA_WORD_UNKNOWN;
 *     gsa_vocabulary_release(words);
 *     return failed;
 *
 */
#ifndef GSA_VOCABULARY_H
#define GSA_VOCABULARY_H
#include "graph/system.h"
#include "graph/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words and their ids. Opaque. */
typedef struct gsa_vocabulary gsa_vocabulary;

enum { GSA_WORD_PADDING = 0, GSA_WORD_UNKNOWN = 1, GSA_WORD_FIRST = 2 };

/* Counting: add every occurrence, then freeze: words of at least `min_count` get ids by falling
 * count, ties by bytes, so that the result does not depend on the order of adding; at most
 * `max_size` words (0: all). After freezing nothing is added. */
gsa_status gsa_vocabulary_create(const gsa_system *system, gsa_vocabulary **vocabulary,
                                 gsa_error *error);
void gsa_vocabulary_release(gsa_vocabulary *vocabulary);
gsa_status gsa_vocabulary_add(gsa_vocabulary *vocabulary, gsa_slice word, int64_t count,
                              gsa_error *error);
/* Where more than `most` words are counted the rarest are forgotten, until at most half of `most`
 * are left: memory stays bounded, and a word that comes again counts from 0 (lossy counting, Manku
 * and Motwani 2002). */
gsa_status gsa_vocabulary_bound(gsa_vocabulary *vocabulary, int64_t most, gsa_error *error);
gsa_status gsa_vocabulary_freeze(gsa_vocabulary *vocabulary, int64_t min_count, int64_t max_size,
                                 gsa_error *error);

int32_t gsa_vocabulary_size(const gsa_vocabulary *vocabulary); /* with the two special ids */
int32_t gsa_vocabulary_find(const gsa_vocabulary *vocabulary,
                            gsa_slice word); /* GSA_WORD_UNKNOWN if it is not in */
gsa_slice gsa_vocabulary_word(const gsa_vocabulary *vocabulary,
                              int32_t id); /* "" and "<unk>" for 0 and 1 */
/* How often the word was in the training data; 0 of an id out of range. */
int64_t gsa_vocabulary_count(const gsa_vocabulary *vocabulary, int32_t id);

/* vocab.txt: "word<TAB>count" a line, from id 2 on; words hold no tab and no line end. Strict
 * reader with file:line. */
gsa_status gsa_vocabulary_write(const gsa_vocabulary *vocabulary, gsa_output *output);
gsa_status gsa_vocabulary_read(const gsa_system *system, const char *path,
                               gsa_vocabulary **vocabulary, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
