/* generate.h - a trained language model goes on with a text. */
#ifndef GSA_GENERATE_H
#define GSA_GENERATE_H
#include "train/driver.h"
#include "train/decode/sampler.h"

typedef struct gsa_generate_options {
    const char *prompt; /* NULL: each line of options->input is one */
    int64_t tokens;     /* to be drawn for each text, >= 1 */
    int32_t count;      /* texts of each prompt */
    uint32_t seed;
    gsa_sampling sampling;
    int raw;  /* bytes as they are drawn, and no line end after a text */
    int echo; /* the prompt before what follows it */
    int line; /* a line end ends a text */
    int zero;
} gsa_generate_options;

/* Texts go to options->output, one below the other, the first one of each prompt as its tokens
 * come. Token i of text t of prompt p is drawn with a number that (seed, p, t, i) alone give: not
 * with how many others there are. The unknown word is never drawn. Says what it cost. */
gsa_status gsa_generate(const gsa_system *system, const gsa_apply_options *options,
                        const gsa_generate_options *generate, gsa_error *error);

#endif
