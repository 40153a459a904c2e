/* translation_parts.h - what the files of task translation share. Private to tasks/.
 *
 * Documents.  A text's lines are sentences, or empty and between documents. Example e is one
 *     sentence and the `before[e]` sentences
 * that are directly before it; these are examples of their own, e - before[e] .. e - 1. Sentences
 * of one example are groups 0, 1, ..., the same on both sides, its own the last. */
#ifndef GSA_TRANSLATION_PARTS_H
#define GSA_TRANSLATION_PARTS_H
#include "train/learner.h"
#include "train/data/parallel.h"
#include "train/vocabulary/pieces.h"
#include "train/decode/translate.h"

typedef struct gsa_pair_split { /* of the examples that are kept */
    gsa_text text[GSA_SIDES];
    gsa_piece_row row[GSA_SIDES];
    int64_t examples, documents;
    int32_t *both;   /* [examples] tokens of source and target, with those of the context */
    int64_t *place;  /* [examples] with documents: which of the text's lines it is; NULL: line e,
                        from 0 */
    int32_t *before; /* [examples] with documents: sentences of context; NULL: none */
} gsa_pair_split;

typedef struct gsa_translation {
    const gsa_system *system;
    gsa_parallel_options parallel;
    gsa_pair_split split[GSA_SPLITS];
    gsa_pieces pieces;
    double smoothing;
    gsa_translate_options search;      /* but ids and lengths */
    int32_t lower, position_most;      /* learned positions end there; 0: they do not end */
    int64_t longest;                   /* pieces of a side of a training pair; 0: no limit */
    int64_t previous, previous_tokens; /* limits of a context, as the recipe has them; without
                                          documents previous is 0 */
    const char *decoder;               /* of the recipe */
} gsa_translation;

/* translation_data.c: splits that the recipe names, numbered; prediction's lines as split
 * GSA_SPLIT_TEST */
gsa_status gsa_translation_read(gsa_translation *t, const gsa_task_options *options,
                                gsa_error *error);
gsa_status gsa_translation_read_lines(void *self, const char *path, gsa_error *error);
void gsa_translation_release(const gsa_system *system, gsa_pair_split *split);

/* translation_decode.c */
gsa_status gsa_translation_survey(const void *self, gsa_survey *survey, gsa_error *error);
gsa_status gsa_translation_findings(void *self, gsa_survey *survey, struct json_t *object,
                                    gsa_error *error);
gsa_status gsa_translation_decode(void *self, gsa_learner *learner,
                                  const gsa_decode_options *options, gsa_decoded *decoded,
                                  gsa_error *error);

/* Pieces of one side of an example, without the context. */
static inline int64_t gsa_pair_pieces(const gsa_pair_split *split, int side, int64_t example)
{
    return split->row[side].first[example + 1] - split->row[side].first[example];
}

static inline int32_t gsa_pair_before(const gsa_pair_split *split, int64_t example)
{
    return split->before ? split->before[example] : 0;
}

/* Tokens of one side of `example` with `before` sentences before it, each with <s> or </s>. */
static inline int64_t gsa_pair_tokens(const gsa_pair_split *split, int side, int64_t example,
                                      int32_t before)
{
    const int64_t *first = split->row[side].first;
    return first[example + 1] - first[example - before] + before + 1;
}

#endif
