/* surprise.h - which tokens and lines of a text a language model finds hard, as parts of a report.
 *
 *   by_frequency   bands of how often a token was in the training text: 0, 1 to 9, 10 to 99, ...
 *     (of bytes, in this text)
 *   worst_tokens   the 20 that cost the most in all
 *   worst_lines    of at least 5 tokens, the 20 that cost the most a token
 * A loss is -log p, in nats; a perplexity is exp of a mean. */
#ifndef GSA_SURPRISE_H
#define GSA_SURPRISE_H
#include "train/score/report.h"
#include "train/vocabulary/units.h"

/* Rows of the survey are the text's tokens, one number each; id [rows]. */
gsa_status gsa_report_surprises(const gsa_survey *survey, const gsa_units *units, const int32_t *id,
                                json_t *object, gsa_error *error);

#endif
