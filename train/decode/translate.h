/* translate.h - sentences in, sentences out: what a trained encoder with a decoder writes, by beam
 * search (beam.h).
 *
 * The encoder runs once a batch. The decoder goes token by token (gsa/generation.h): a hypothesis
 * is a list of rows, its prefix is shared with others. A decoder whose patterns are no prefixes of
 * themselves (strided without a fixed stride) cannot go so: then, or where `whole` requests it,
 * each token is a forward pass over the whole prefix. Both give the same translations, up to ties
 * of rounding.
 *
 * With context a text is the last sentence of its source, after others whose translations are
 * there already: the decoder is given them at once, and goes on. Sentences are groups, which
 * patterns may read (cross:align=1). */
#ifndef GSA_TRANSLATE_H
#define GSA_TRANSLATE_H
#include "gsa/generation.h"
#include "train/learner.h"

typedef struct gsa_translate_options {
    int32_t begin, end;  /* ids of <s> and </s> */
    int32_t first_class; /* class c is id c + first_class */
    int32_t never;       /* ids below are not written */
    int32_t width;       /* of the beam, >= 1 */
    int32_t penalty;     /* gsa_beam_penalty */
    double alpha;
    double coverage; /* beta of coverage.h, added to the scores of a text's finished hypotheses,
                        which it ranks anew; 0: none */
    int32_t whole, longest; /* longest: tokens that any translation may have, of all jobs */
    int32_t context, zero;  /* likewise of a context */
} gsa_translate_options;

typedef struct gsa_translate_job {
    const int32_t *source; /* ids of all sentences, one after the other, each with </s> */
    const int32_t *length; /* [count] */
    const int32_t
        *most; /* [count] tokens that a translation has at most, without </s>; at most `longest` */
    int32_t count, room; /* room: the largest of `most` */
    /* Context; all NULL: none. What is written starts with <s>, or after a context with </s>, the
     * end of its last sentence. */
    const int32_t *group;   /* of the source's tokens: the sentence of its text, ascending */
    const int32_t *context; /* ids that are before what is written, one text after the other: <s>
                               y1 </s> y2 */
    const int32_t *context_group;  /* of these */
    const int32_t *context_length; /* [count]; 0: none */
    int32_t *target;               /* [count, room] receives the ids, without <s> and </s> */
    int32_t *made;                 /* [count] how many */
} gsa_translate_job;

typedef struct gsa_translator gsa_translator;
/* Runs of the model: encoder on sequence 0, decoder on sequence 1. The model must outlive it. */
gsa_status gsa_translator_create(gsa_learner *model, const gsa_translate_options *options,
                                 gsa_translator **translator, gsa_error *error);
void gsa_translator_release(gsa_translator *translator); /* NULL does nothing */
gsa_status gsa_translate(gsa_translator *translator, gsa_translate_job *job, gsa_error *error);

#endif
