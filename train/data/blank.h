/* blank.h - the characters that part words where text is split as Python splits it: Unicode's
 * blanks and the separators of ASCII. */
#ifndef GSA_BLANK_H
#define GSA_BLANK_H
#include <stdint.h>

/* Is the character at `at` one? *bytes is its length either way. Valid UTF-8 of `left` >= 1
 * bytes. */
int gsa_blank_at(const char *at, int64_t left, int32_t *bytes);

#endif
