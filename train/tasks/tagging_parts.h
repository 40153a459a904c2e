/* tagging_parts.h - what the files of the tagging task share. Private to tasks/. */
#ifndef GSA_TAGGING_PARTS_H
#define GSA_TAGGING_PARTS_H
#include "train/vocabulary/labels.h"
#include "train/data/spelling.h"
#include "train/data/tagged.h"
#include "train/task_parts.h"
#include "train/vocabulary/wordbook.h"

enum { TAG_FACTS = 3 };
enum { TAG_WORDS, TAG_CHARACTERS }; /* sequences, and inputs */
enum {
    TAG_TOKEN,
    TAG_PLACE,
    TAG_CAPITALS
}; /* notes: number of the token in its split, its word's place among the characters' */

typedef struct tag_task {
    const gsa_system *system;
    gsa_tagged_options options;
    gsa_sides sides; /* what patterns may request next to tokens */
    gsa_tagged split[GSA_SPLITS];
    int32_t *length[GSA_SPLITS], *id[GSA_SPLITS], *label[GSA_SPLITS],
        *word[GSA_SPLITS];      /* word: its number in `spelling` */
    int32_t *found[GSA_SPLITS]; /* [tokens] labels, once decoded */
    gsa_labels labels;
    gsa_wordbook words;
    gsa_vocabulary *characters; /* NULL: no stack over them */
    gsa_spelling spelling;
    int32_t scheme, learned; /* of the files, of the labels */
    int32_t crf, legal, capitals, tokens, cut, character_max, character_width, beside, untagged;
    uint8_t *allowed; /* [labels+2, labels]; NULL: all */
    gsa_parameter *capital, *transitions, *start, *end;
    /* of the batch decoded last */
    gsa_score *unit;
    double *nll;
    int32_t *path;
    gsa_slice *name;    /* of a sentence's labels */
    gsa_slice *tag;     /* of the batch, as they are written out: in the scheme of the files */
    gsa_span *span;     /* of a sentence */
    char *letter;       /* likewise */
    gsa_slice *written; /* [labels, 5]: B, I, E, S, M with the label's type; NULL where both schemes
                           are one */
    char *written_bytes;
    int64_t unit_room, nll_room, path_room, name_room, tag_room, span_room, letter_room;
    gsa_span_score lenient, strict;
    int32_t facts, zero;
    gsa_fact fact[TAG_FACTS];
} tag_task;

/* tag_data.c: what is read */
gsa_status gsa_tagging_check_schemes(const gsa_recipe *recipe, int32_t read, int32_t learned,
                                     gsa_error *error);
gsa_status gsa_tagging_open(tag_task *task, const gsa_task_options *options, gsa_error *error);
void gsa_tagging_release_split(tag_task *task, int split);
gsa_status gsa_tagging_read_lines(void *self, const char *path, gsa_error *error);
gsa_status gsa_tagging_read_sentences(void *self, const char *path, int32_t tokens,
                                      gsa_error *error);
void gsa_tagging_read_as(const void *self, char *sentence, size_t room);
gsa_status gsa_tagging_read_text(void *self, const char *text, gsa_error *error);

/* tag_head.c: the head, what it finds, and how good that is */
gsa_tensor *gsa_tagging_loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                             const gsa_minibatch *batch, double scale);
gsa_status gsa_tagging_decode(void *self, int split, gsa_tape *tape, gsa_tensor *out,
                              const double *values, const gsa_minibatch *batch, gsa_error *error);
void gsa_tagging_score(const void *self, const double *out, const gsa_minibatch *batch,
                       gsa_score *unit);
int gsa_tagging_span_metrics(const gsa_score *score, gsa_fact *facts, int room);
gsa_status gsa_tagging_survey(const void *self, gsa_survey *survey, gsa_error *error);
void gsa_tagging_observe(const void *self, const double *out, const gsa_minibatch *batch,
                         const int64_t *example, gsa_survey *survey);
gsa_status gsa_tagging_findings(void *self, gsa_survey *survey, struct json_t *object,
                                gsa_error *error);
gsa_status gsa_tagging_report(void *self, int split, gsa_output *output, gsa_error *error);
void gsa_tagging_print(const void *self, const double *out, const gsa_minibatch *batch,
                       gsa_output *output);
/* Room for the tags of a batch, or of a sentence, and for what a sentence of `longest` tokens is
 * made of. */
gsa_status gsa_tagging_hold(tag_task *task, int64_t tags, int64_t longest, gsa_error *error);
/* Adds to a unit what labels found say of a sentence, whose tags have room: `right` of tags as its
 * file writes them. */
gsa_status gsa_tagging_judge(tag_task *task, int split, int64_t first, int64_t count,
                             const int32_t *found, gsa_score *unit, gsa_error *error);
gsa_status gsa_tagging_make_written(tag_task *task, gsa_error *error);
void gsa_tagging_release_head(tag_task *task);

#endif
