/* reading.h - questions on passages: the JSON of SQuAD 1.1, which DRCD and CMRC 2018 share.
 *
 *     {"data": [{"paragraphs": [{"context": "...", "qas": [
 *         {"id": "...", "question": "...", "answers": [{"text": "...", "answer_start": 17}]}]}]}]}
 *
 * answer_start counts code points of the context. Other fields are passed over. The file is read an
 * article at a time: memory is the file, one article as JSON, and what is kept. An error names the
 * file, the line where the article begins and the path within.
 *
 * An answer whose text is not at answer_start is *repaired*: it is where that text is
 * nearest (of two as near, before). One that is nowhere is *lost*: it counts when predictions
 * are scored, and nothing is trained on it.
 *
 * Tokens: every character but blanks; or, as words, runs of letters, digits and marks, everything
 * else alone, ideographs too. */
#ifndef GSA_READING_H
#define GSA_READING_H
#include "train/data/text.h"

typedef struct gsa_reading_options {
    int32_t lower, tokens; /* gsa_data_tokens */
    int32_t max_length;    /* tokens of a question that are read; 0: all */
    int32_t unlabelled;    /* `answers` is not read */
} gsa_reading_options;

typedef struct gsa_answer {
    gsa_slice text;
    int64_t first, last; /* the tokens of the passage that it touches; -1: lost */
} gsa_answer;

typedef struct gsa_question {
    gsa_slice id;
    int64_t passage;
    int64_t answer, answers; /* the first of its answers, and how many */
} gsa_question;

typedef struct gsa_passage_token {
    int64_t begin, end; /* bytes of its passage */
} gsa_passage_token;

typedef struct gsa_reading_block gsa_reading_block;
typedef struct gsa_reading {
    const gsa_system *system;
    gsa_text asked, told;     /* tokens: an example is a question, a passage */
    gsa_question *question;   /* [asked.examples] */
    gsa_slice *passage;       /* [told.examples] as it is in the file */
    gsa_passage_token *place; /* [told.tokens] */
    gsa_answer *answer;       /* [answers] */
    int64_t answers, repaired, lost;
    int64_t unanswered; /* questions passed over, for their list of answers is empty (SQuAD 2.0) */
    int64_t unasked; /* questions without a token, which are read as they are (CMRC 2018 has one) */
    int64_t longest_bytes; /* of a passage or an answer */
    int64_t room[4];
    gsa_reading_block *blocks; /* where the texts are */
} gsa_reading;

/* "-" is standard input. */
gsa_status gsa_reading_read(const gsa_system *system, const char *path,
                            const gsa_reading_options *options, gsa_reading *reading,
                            gsa_error *error);
void gsa_reading_release(gsa_reading *reading); /* a zeroed one is fine */

#endif
