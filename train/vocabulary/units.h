/* units.h - tokens of running text: words with line ends, characters or bytes; their names in
 * vocab.txt, their ids, their text.
 *
 *   words       between blanks (spaces as Unicode has them); a line end is the word <eos>. <unk>
 *               stands for those that are not known
 *   characters  every code point of the text, blanks and line ends too
 *   bytes       every byte; all 256 are known whatever the text holds
 *
 * In vocab.txt a control character or the byte 0x9 is \x09, a line end \n, a tab \t, a backslash
 * \\, a byte above 0x7e \xNN.
 *
 * Law.  Splitting and looking up: any thread. */
#ifndef GSA_UNITS_H
#define GSA_UNITS_H
#include "gsa/checkpoint.h"
#include "gsa/vocabulary.h"

typedef struct gsa_units {
    const gsa_system *system;
    int32_t kind;        /* gsa_data_tokens */
    int32_t line_end;    /* its id; 0 where the text has none */
    int32_t first_class; /* classes are ids from here on: 1, or 2 where nothing is unknown */
    int32_t zero;
    gsa_vocabulary *vocabulary;
    int32_t quick[256]; /* ids of bytes, or of characters below 0x80 */
} gsa_units;

/* What is first in [at, at + bytes): the number of bytes that it takes, blanks before it
 * included, and the token (none: bytes 0; a line end: "\n"). 0: more bytes are needed to tell,
 * which there are unless `whole`. -1: invalid UTF-8, or NUL in a word. */
int64_t gsa_unit_next(int kind, const char *at, int64_t bytes, int whole, gsa_slice *unit);

/* From counts: at least min_count times, at most max_words (0: all) of them. bytes: counts are not
 * looked at. */
typedef struct gsa_unit_counts {
    gsa_vocabulary *words;
    int64_t quick[128];
    int64_t most; /* gsa_vocabulary_bound; 0: no bound */
} gsa_unit_counts;
gsa_status gsa_unit_count(gsa_unit_counts *counts, int kind, gsa_slice unit, gsa_error *error);
/* Takes the words of `counts` over, also after a failure. */
gsa_status gsa_units_learn(const gsa_system *system, int kind, gsa_unit_counts *counts,
                           int64_t min_count, int64_t max_words, gsa_units *units,
                           gsa_error *error);
gsa_status gsa_units_restore(const gsa_system *system, int kind, const char *folder,
                             gsa_units *units, gsa_error *error);
gsa_status gsa_units_save(const gsa_units *units, gsa_checkpoint *checkpoint, gsa_error *error);
void gsa_units_release(gsa_units *units); /* a zeroed one is fine */

int32_t gsa_units_size(const gsa_units *units); /* ids 0 .. size-1; 0 is no token */
int32_t gsa_units_id(const gsa_units *units, gsa_slice unit);
/* What the token stands for in a text, "\n" for a line end; between words a blank has to be put.
 * Lives as long as `room`. */
gsa_slice gsa_units_text(const gsa_units *units, int32_t id, char room[4]);

#endif
