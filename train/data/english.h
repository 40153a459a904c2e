/* english.h - words of English by the rules of the Penn Treebank (as NLTK's word tokenizer has
 * them), on code points in lower case. */
#ifndef GSA_ENGLISH_H
#define GSA_ENGLISH_H
#include <stdint.h>

/* Blanks of Unicode. */
int gsa_is_blank(int32_t c);
/* The words of text[from..to-1], as pairs (begin, end) of places in `text`; their number, at most
 * to - from. Quotes become a code point of their own in place (opening and closing ones differ).
 * gap [to + 1 - from] is scratch. */
int64_t gsa_english_words(int32_t *text, int64_t from, int64_t to, uint8_t *gap, int64_t *word);

#endif
