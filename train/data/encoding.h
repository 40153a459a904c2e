/* encoding.h - the bytes of a text file as UTF-8.
 *   utf8     as they are; what is no UTF-8 is for the reader of the lines to refuse
 *   latin1   each byte is the character of its number (ISO 8859-1)
 *   cp1252  as latin1, but 0x80 to 0x9f are those of windows-1252; the five that it leaves out stay
 *       controls (WHATWG)
 *   mixed    lines that are UTF-8 as they are, the others as cp1252: files that were put
 *            together */
#ifndef GSA_ENCODING_H
#define GSA_ENCODING_H
#include "graph/system.h"

enum gsa_encoding {
    GSA_ENCODING_UTF8,
    GSA_ENCODING_LATIN1,
    GSA_ENCODING_CP1252,
    GSA_ENCODING_MIXED
};

/* How a sentence about invalid UTF-8 ends. */
extern const char gsa_encoding_advice[];

/* What a sentence calls the file: "-" is "standard input". */
const char *gsa_input_name(const char *path);
/* *bytes, of the system, become others where they must; a 0 follows the last. A byte order mark of
 * UTF-16, or of UTF-8 where bytes are characters, is a sentence with file:line. */
gsa_status gsa_encoding_decode(const gsa_system *system, const char *path, int32_t encoding,
                               char **bytes, int64_t *count, gsa_error *error);
/* A whole file, decoded; "-" is standard input. On failure *bytes is NULL. */
gsa_status gsa_encoding_read(const gsa_system *system, const char *path, int32_t encoding,
                             char **bytes, int64_t *count, gsa_error *error);

#endif
