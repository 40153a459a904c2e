/* written.h - tokens as text, as they come: blanks between words, characters whole. */
#ifndef GSA_WRITTEN_H
#define GSA_WRITTEN_H
#include "train/vocabulary/units.h"

typedef struct gsa_written {
    const gsa_units *units;
    int raw;   /* bytes as they come, whether or not they are UTF-8 */
    int blank; /* the next word needs one before it */
    int waiting, zero;
    char wait[4]; /* the beginning of a character */
    char *text;   /* owned */
    int64_t bytes, room;
} gsa_written;

/* Appends the token's text. Bytes of a character wait until it is whole; those that cannot become
 * one turn into U+FFFD, one for each longest beginning of a character, as Unicode advises (chapter
 * 3.9). */
gsa_status gsa_written_token(const gsa_system *system, gsa_written *written, int32_t id,
                             gsa_error *error);
/* What still waits: U+FFFD, or with `raw` as it is. */
gsa_status gsa_written_end(const gsa_system *system, gsa_written *written, gsa_error *error);
void gsa_written_release(const gsa_system *system, gsa_written *written); /* a zeroed one is fine */

#endif
