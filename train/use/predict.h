/* predict.h - what predictions of a file, of single lines and of a stream share. Not installed. */
#ifndef GSA_PREDICT_H
#define GSA_PREDICT_H
#include "train/driver/session.h"
#include "train/use/turns.h"

typedef struct gsa_predict_how {
    int32_t cut;   /* gsa_data_tokens of a tagger's sentences; -1: columns */
    int32_t top_k; /* so many labels of each line; 0: the task's own line */
    int32_t all;   /* every label of each line */
} gsa_predict_how;

/* What the options say of the model; lines: a text a line is what is read. A sentence where it has
 * not that. */
gsa_status gsa_predict_settle(const gsa_session *session, const gsa_apply_options *options,
                              int lines, gsa_predict_how *how, gsa_error *error);
gsa_status gsa_predict_read(gsa_session *session, const gsa_predict_how *how, const char *path,
                            gsa_error *error);
gsa_status gsa_predict_write(gsa_session *session, const gsa_predict_how *how, gsa_turns *turns,
                             gsa_error *error);

#endif
