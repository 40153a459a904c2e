/* bpe.h - words cut into pieces by byte-pair encoding (Sennrich, Haddow and Birch 2016).
 *
 * A word is the sequence of its characters, the last of which is marked as such. Learning joins,
 * again and again, the pair of neighbours that is most often in the words (weighted by their
 * counts; among equal ones the pair that is greater as strings, left first, by bytes, the last
 * character's mark being "</w>"). Cutting a word joins in it the pairs in the order they were
 * learned.
 *
 * Law.  Pieces are written as text: one that goes on has "@@" after it, so that a line's words come
 *     back when "@@ " is removed. No last piece ends in "@@", and no piece that goes on in "</w>":
 *     such pairs are never joined, so that both ways of writing are clear.
 *     The file of merges is subword-nmt's: a line "#version: 0.2", then a line "left right" a
 *     merge.
 *     Learning costs O(n log n) time for n characters of distinct words, and each merge O(words
 *     that hold the pair). */
#ifndef GSA_BPE_H
#define GSA_BPE_H
#include "graph/system.h"
#include "graph/topology.h"
#include "gsa/vocabulary.h"

typedef struct gsa_bpe gsa_bpe;

/* At most `merges`, from the words and counts of a frozen vocabulary; ends where no pair is
 * twice. */
gsa_status gsa_bpe_learn(const gsa_system *system, const gsa_vocabulary *words, int64_t merges,
                         gsa_bpe **bpe, gsa_error *error);
/* Strict: each bad line is a sentence with file:line. */
gsa_status gsa_bpe_read(const gsa_system *system, const char *path, gsa_bpe **bpe,
                        gsa_error *error);
void gsa_bpe_write(const gsa_bpe *bpe, gsa_output *output);
void gsa_bpe_release(gsa_bpe *bpe); /* NULL does nothing */
int32_t gsa_bpe_merges(const gsa_bpe *bpe);

/* The pieces of a word (valid UTF-8, not empty), written as above; valid until the next call. What
 * was cut once is remembered: one thread uses a bpe at a time. */
gsa_status gsa_bpe_cut(gsa_bpe *bpe, gsa_slice word, const gsa_slice **piece, int32_t *count,
                       gsa_error *error);
/* 1 and the piece without its mark when it goes on; 0 when it is a word's last. */
int gsa_bpe_goes_on(gsa_slice piece, gsa_slice *text);

#endif
