/* utf8.h - is this text what XML, JSON and a terminal accept?
 *     No allocation, any thread, linear time.
 *
 * Example:
 *
 *     const char text[] = "caf\xc3\xa9 \xff";
 *     printf("bad byte at %d\n", (int)gsa_utf8_invalid(text, (int64_t)strlen(text))); // 6
 *     return gsa_utf8_invalid(text, 5) != -1 || gsa_utf8_length(text + 3) != 2;
 *
 */
#ifndef GSA_UTF8_H
#define GSA_UTF8_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first byte that is not well-formed UTF-8 (overlong, surrogate, above U+10FFFF, cut), or -1.
 * Unicode 15, table 3-7. */
int64_t gsa_utf8_invalid(const char *at, int64_t bytes);

/* As above, and also the first character that XML 1.0 cannot carry: controls other than tab, LF,
 * CR; U+FFFE, U+FFFF. */
int64_t gsa_xml_invalid(const char *at, int64_t bytes);

/* Bytes of the character that starts at `at` (1 to 4), for text that was found valid. */
int32_t gsa_utf8_length(const char *at);

#ifdef __cplusplus
}
#endif
#endif
