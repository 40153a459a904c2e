/* beam.h - beam search: the likeliest sequences that a left-to-right model of tokens gives, several
 * texts at a time.
 *
 *   score(y) = log p(y) / lp(|y|),  lp(n) = ((5 + n) / 6)^alpha  (Wu et al. 2016, eq. 14)
 *       or n^alpha;  |y| counts the end
 *
 * Step t looks at every token after each of a text's hypotheses (at most `width`) and goes through
 * them from the likeliest on (by log p; of equals the earlier hypothesis, then the smaller token):
 * one that is the end is finished if it is among the first `width`; the others live on until there
 * are `width`. At step `most` only the end may follow. A text is done when no living hypothesis can
 * come before the last of its `width` best finished ones: none scores more than log p / lp(most)
 * (alpha >= 0, log p <= 0).
 *
 * Law.  Reads no clock and no chance: the same numbers, the same result. A text's result does not
 *     depend on the others. */
#ifndef GSA_BEAM_H
#define GSA_BEAM_H
#include "graph/system.h"

enum gsa_beam_penalty { GSA_BEAM_WU, GSA_BEAM_LENGTH };

typedef struct gsa_beam_options {
    int32_t width;   /* hypotheses of a text, >= 1 */
    int32_t best;    /* results of a text, 1 .. width */
    int32_t classes; /* tokens are 0 .. classes - 1 */
    int32_t end;     /* the token that ends a sequence */
    int32_t penalty; /* gsa_beam_penalty */
    int32_t zero;
    double alpha;         /* >= 0; 0: no normalisation */
    const int32_t *start; /* [texts] the token that is before each text */
    const int32_t *most;  /* [texts] tokens at most, the end among them, >= 1 */
} gsa_beam_options;

/* Who knows what comes next. Sequence i of this call is sequence parent[i] of the call before with
 * token[i] after it; of the first call, text i with its start token. log_p [count][classes] <= 0
 * receives log p of the next token of each; -inf: impossible. */
typedef struct gsa_beam_model {
    void *context;
    gsa_status (*next)(void *context, const int32_t *parent, const int32_t *token, int32_t count,
                       double *log_p, gsa_error *error);
} gsa_beam_model;

typedef struct gsa_beam_found {
    double score, log_p;
    int32_t length; /* without the end */
    int32_t zero;
    int32_t *token; /* [length] */
} gsa_beam_found;

typedef struct gsa_beam_results {
    const gsa_system *system;
    int32_t texts, best;
    int32_t *count;        /* [texts] found, at most `best` */
    gsa_beam_found *found; /* [texts][best], the best first */
} gsa_beam_results;

gsa_status gsa_beam_search(const gsa_system *system, const gsa_beam_options *options,
                           const gsa_beam_model *model, int32_t texts, gsa_beam_results *results,
                           gsa_error *error);
void gsa_beam_release(gsa_beam_results *results); /* a zeroed one is fine */
/* Adds to the score of each that was found, extra [texts][best], and sorts those of each text anew;
 * of equals in their order. */
void gsa_beam_rank(gsa_beam_results *results, const double *extra);
double gsa_beam_penalty_of(const gsa_beam_options *options, int32_t length);

#endif
