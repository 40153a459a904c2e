/* bpe_parts.h - what bpe.c and bpe_learn.c share. Not installed. */
#ifndef GSA_BPE_PARTS_H
#define GSA_BPE_PARTS_H
#include "train/vocabulary/bpe.h"
#include "train/vocabulary/symbols.h"

typedef struct gsa_merge { /* symbols */
    int32_t left, right, into;
} gsa_merge;

typedef struct gsa_bpe_word { /* a word that was cut: pieces first .. first+count-1 */
    int64_t first;
    int32_t count, zero;
} gsa_bpe_word;

struct gsa_bpe {
    const gsa_system *system;
    gsa_symbols symbols; /* pieces as text: "lo@@", "w" */
    gsa_merge *merge;    /* [merges] in the order they were learned */
    gsa_couples rank;    /* (left, right) -> merge */
    int32_t merges, merge_room;
    /* what was cut: word i of `words` */
    gsa_symbols words;
    gsa_bpe_word *cut;
    int32_t *piece;
    int32_t cut_room, zero;
    int64_t pieces, piece_room;
    int32_t *joining; /* [joining_room] the word that is being cut */
    gsa_slice *shown; /* [shown_room] its pieces as the caller gets them */
    int64_t joining_room, shown_room;
};

gsa_status gsa_bpe_create(const gsa_system *system, gsa_bpe **bpe, gsa_error *error);
/* The characters of a word as symbols; `symbol` has room for its bytes. Their number, or -1: no
 * memory. */
int32_t gsa_bpe_characters(gsa_bpe *bpe, gsa_slice word, int32_t *symbol);
/* May the two be joined? The law of bpe.h. */
int gsa_bpe_joins(const gsa_bpe *bpe, int32_t left, int32_t right);
/* The next merge; *into is what it makes. */
gsa_status gsa_bpe_append(gsa_bpe *bpe, int32_t left, int32_t right, int32_t *into,
                          gsa_error *error);
/* Joins every (left, right) of a word from the left on, in place; its new length. */
int32_t gsa_bpe_join(int32_t *symbol, int32_t count, const gsa_merge *merge);
/* Room for `count` of what *at holds; doubles. 0: no memory. */
int gsa_bpe_room(const gsa_system *system, void **at, int64_t *room, int64_t count, size_t size);

#endif
