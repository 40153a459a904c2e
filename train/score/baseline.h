/* baseline.h - what needs no encoder: the majority class, and multinomial naive Bayes with add-one
 * smoothing over unigrams, or unigrams and bigrams. A feature counts once an example (Wang and
 * Manning 2012, section 2.1: binarised); features unseen in training are left out. */
#ifndef GSA_BASELINE_H
#define GSA_BASELINE_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_labelled { /* a view of examples */
    int64_t examples;
    const int64_t *offset; /* [examples+1] */
    const gsa_slice *token;
    const int32_t *label; /* [examples] 0 .. classes-1 */
} gsa_labelled;

/* O(examples + classes) time. */
gsa_status gsa_majority_accuracy(const gsa_system *system, const gsa_labelled *train,
                                 const gsa_labelled *dev, int32_t classes, double *accuracy,
                                 gsa_error *error);
/* O(tokens x classes) time, O(features x classes) memory. GSA_ERR_LIMIT, and a sentence to say:
 * more than 2^32 logarithms, or more memory than 256 MiB and 256 bytes a token of train. */
gsa_status gsa_bayes_accuracy(const gsa_system *system, const gsa_labelled *train,
                              const gsa_labelled *dev, int32_t classes, int bigrams,
                              double *accuracy, gsa_error *error);

#endif
