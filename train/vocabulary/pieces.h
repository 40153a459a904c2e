/* pieces.h - the vocabulary of translation: pieces of words (bpe.h) or words, one for both
 * languages, with <s> and </s> after them. */
#ifndef GSA_PIECES_H
#define GSA_PIECES_H
#include "gsa/checkpoint.h"
#include "gsa/vocabulary.h"
#include "train/vocabulary/bpe.h"
#include "train/settings/recipe.h"
#include "train/data/text.h"

typedef struct gsa_pieces {
    const gsa_system *system;
    gsa_vocabulary *vocabulary;
    gsa_bpe *bpe;       /* NULL: words */
    int32_t begin, end; /* ids of <s> and </s> */
    int32_t size, zero; /* of all ids */
} gsa_pieces;

typedef struct gsa_piece_row { /* the ids of a text's examples: of e from first[e] on */
    int64_t *first;            /* [examples + 1] */
    int32_t *id;
} gsa_piece_row;

/* From training texts: merges as [data] bpe and bpe_codes say, then the pieces that are at least
 * min_count times. */
gsa_status gsa_pieces_learn(const gsa_system *system, const gsa_recipe *recipe,
                            const gsa_text *texts, int count, gsa_pieces *pieces, gsa_error *error);
/* vocab.txt and bpe.codes of a checkpoint's folder. */
gsa_status gsa_pieces_restore(const gsa_system *system, const gsa_recipe *recipe,
                              const char *folder, gsa_pieces *pieces, gsa_error *error);
gsa_status gsa_pieces_save(const gsa_pieces *pieces, gsa_checkpoint *checkpoint, gsa_error *error);
void gsa_pieces_release(gsa_pieces *pieces); /* a zeroed one is fine */

/* Without <s> and </s>. The caller releases both arrays, also after a failure. */
gsa_status gsa_pieces_number(gsa_pieces *pieces, const gsa_text *text, gsa_piece_row *row,
                             gsa_error *error);
/* The text of ids, a blank between two words; *text grows as it must and is terminated. */
gsa_status gsa_pieces_text(const gsa_pieces *pieces, const int32_t *id, int64_t count, char **text,
                           int64_t *room, int64_t *bytes, gsa_error *error);

#endif
