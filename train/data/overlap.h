/* overlap.h - what a question and its passage share: a baseline that learns nothing, and types of
 * the passage's tokens. */
#ifndef GSA_OVERLAP_H
#define GSA_OVERLAP_H
#include "train/data/reading.h"

/* The sentence of the passage that shares most with the question: distinct words w weigh log(1 + 1
 * / count of w in the passage), as in the sliding-window baseline of Richardson et al. 2013. Tokens
 * first..last of the passage, without the mark that ends it. */
void gsa_overlap_sentence(const gsa_reading *reading, int64_t question, int64_t *first,
                          int64_t *last);

/* type[i] of token i of the `count` at `told`: 0 where it is not in the question, 1 where
 * it does, 2 where it does next to a neighbour that is next to it in the question, too. O(count
 * asked). */
void gsa_overlap_types(const gsa_slice *told, int32_t count, const gsa_slice *asked,
                       int32_t questions, int32_t *type);

#endif
