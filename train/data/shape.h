/* shape.h - what taggers see of a word next to its identity: capitals, digits, characters. Words
 * are valid UTF-8. Pure functions, any thread. */
#ifndef GSA_SHAPE_H
#define GSA_SHAPE_H
#include "graph/topology.h"
#include "gsa/vocabulary.h"

/* Capitalisation (Collobert et al. 2011, section 3.1.2): by the letters that have a case; title
 * case (as in U+01C5) counts as upper. */
enum gsa_capitals {
    GSA_CAPITALS_NO_LETTER, /* no letter with a case, no digit: punctuation, Chinese */
    GSA_CAPITALS_DIGIT,     /* no letter with a case, but a decimal digit */
    GSA_CAPITALS_LOWER,     /* all lower */
    GSA_CAPITALS_FIRST,     /* the first is upper, the others (if any) lower */
    GSA_CAPITALS_ALL,       /* at least two, all upper */
    GSA_CAPITALS_MIXED,
    GSA_CAPITALS_CLASSES
};
int32_t gsa_capitals_of(gsa_slice word);

/* Every decimal digit (category Nd) becomes '0', in place; returns the bytes, which may be
 * fewer. */
int64_t gsa_zero_digits(char *word, int64_t bytes);

/* ---- characters: code points --------------------------------------------------------------- */

int64_t gsa_character_count(gsa_slice word);
/* Counts the word's characters into a vocabulary that is not frozen. */
gsa_status gsa_characters_add(gsa_vocabulary *vocabulary, gsa_slice word, int64_t count,
                              gsa_error *error);
/* Ids of the word's first characters, at most `room`; returns how many. */
int64_t gsa_characters_find(const gsa_vocabulary *vocabulary, gsa_slice word, int32_t *id,
                            int64_t room);

#endif
