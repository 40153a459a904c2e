/* ngram.h - what a text is worth without a network: unigrams with add-one smoothing, and bigrams
 * that fall back on them (Witten and Bell 1991):
 *   p(w) = (c(w) + 1) / (N + V)  p(w | v) = (c(v w) + T(v) p(w)) / (c(v) + T(v)),
 *       T(v): different tokens after v
 * Counted over at most the first 2^23 tokens of the training text: at most 256 MiB, far less where
 * pairs repeat. */
#ifndef GSA_NGRAM_H
#define GSA_NGRAM_H
#include "train/data/stream.h"

/* Mean -log p of the tokens of `held`, the first of which follows a line end
 * (units->line_end). O(tokens). */
gsa_status gsa_ngram_losses(gsa_stream *train, gsa_stream *held, const gsa_units *units,
                            double *unigrams, double *bigrams, gsa_error *error);

#endif
