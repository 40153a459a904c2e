/* bleu.h - how close translations are to references: BLEU (Papineni et al. 2002) as sacreBLEU
 * counts it (Post 2018: tokenised as mteval-v13a does, exponential smoothing, no effective order),
 * and chrF2 (Popović 2015: character n-grams up to 6, beta 2).
 *
 * Law.  A sentence's counts are all that a corpus's score needs: counts add, and scores are made of
 *     sums. Both scores are 0 to 100.
 *       Sentences are UTF-8 without NUL. A sentence of t tokens costs O(t log t) comparisons. */
#ifndef GSA_BLEU_H
#define GSA_BLEU_H
#include "graph/system.h"
#include "graph/topology.h"

enum { GSA_BLEU_ORDER = 4, GSA_CHRF_ORDER = 6 };

typedef struct gsa_bleu_counts {
    int64_t right[GSA_BLEU_ORDER],
        total[GSA_BLEU_ORDER]; /* n-grams of the translation, and those that a reference has, too */
    int64_t length,
        reference; /* tokens; of the reference whose length is nearest, the shorter of two */
} gsa_bleu_counts;

typedef struct gsa_bleu {
    double score, brevity;
    double precision[GSA_BLEU_ORDER]; /* per cent, smoothed */
} gsa_bleu;

typedef struct gsa_chrf_counts {
    int64_t translation[GSA_CHRF_ORDER], reference[GSA_CHRF_ORDER], right[GSA_CHRF_ORDER];
} gsa_chrf_counts;

/* A sentence's counts; `references` >= 1. lower: case is ignored. */
gsa_status gsa_bleu_count(const gsa_system *system, gsa_slice translation,
                          const gsa_slice *reference, int references, int lower,
                          gsa_bleu_counts *counts, gsa_error *error);
void gsa_bleu_add(gsa_bleu_counts *sum, const gsa_bleu_counts *counts);
gsa_bleu gsa_bleu_score(const gsa_bleu_counts *sum);
/* Of one sentence: sacreBLEU's with the effective order, over those orders that
 * the translation has n-grams of. */
double gsa_bleu_sentence(const gsa_bleu_counts *counts);
/* "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:..." */
void gsa_bleu_signature(int references, int lower, char *text, size_t size);

/* Of several references the one that gives this sentence the best score, the first of equal
 * ones. */
gsa_status gsa_chrf_count(const gsa_system *system, gsa_slice translation,
                          const gsa_slice *reference, int references, int lower,
                          gsa_chrf_counts *counts, gsa_error *error);
void gsa_chrf_add(gsa_chrf_counts *sum, const gsa_chrf_counts *counts);
double gsa_chrf_score(const gsa_chrf_counts *sum);
void gsa_chrf_signature(int references, int lower, char *text, size_t size);

/* The tokens of a sentence, one blank between two; released by the caller. */
gsa_status gsa_bleu_tokens(const gsa_system *system, gsa_slice sentence, int lower, char **text,
                           int64_t *bytes, gsa_error *error);
/* Lower case as Unicode's full mapping without locales has it: I with a dot above becomes two
 * characters, a sigma that ends a word its final form. Released by the caller. */
gsa_status gsa_lower_text(const gsa_system *system, gsa_slice text, char **lower, int64_t *bytes,
                          gsa_error *error);

#endif
