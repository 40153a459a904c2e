/* answers.h - exact match and F1 of an answer against its references, the best reference counting,
 * as two official scorers have them.
 *
 *   squad   SQuAD v1.1 (Rajpurkar et al. 2016): lower case, no ASCII punctuation, no articles (a,
 *           an, the), blanks alike. Exact match of what is left; F1 of the bags of its words
 *   cmrc    CMRC 2018 (Cui et al. 2019): lower case. Exact match without a list of punctuation
 *           marks, Chinese and ASCII; F1 of the longest common run of segments: an ideograph
 *           U+4E00..U+9FA5 is one, what is between is cut into words
 *
 * The CMRC scorer leaves those words to a tokenizer of English (Penn Treebank rules, NLTK's
 * variant), which is followed here but for one thing: a stretch of several English sentences is not
 * cut into sentences first, so only its last period is a word of its own. */
#ifndef GSA_ANSWERS_H
#define GSA_ANSWERS_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_scorer {
    const gsa_system *system;
    int32_t kind, zero; /* gsa_scorer_kind */
    int64_t most;       /* bytes of a text that it has room for */
    int32_t *text[2];   /* code points of prediction and reference */
    int64_t *word[2];   /* where their words begin and end */
    int64_t *row;       /* of the longest common run */
    uint8_t *mark;
} gsa_scorer;

/* For texts of at most `most` bytes: scoring allocates nothing. */
gsa_status gsa_scorer_create(const gsa_system *system, int32_t kind, int64_t most,
                             gsa_scorer *scorer, gsa_error *error);
void gsa_scorer_release(gsa_scorer *scorer); /* a zeroed one is fine */

typedef struct gsa_answer_score {
    int32_t exact, zero;
    double f1;
} gsa_answer_score;

/* One reference; texts are valid UTF-8. Uses the scorer's scratch: one thread at a time. */
gsa_answer_score gsa_answer_against(const gsa_scorer *scorer, gsa_slice prediction,
                                    gsa_slice reference);

#endif
