/* predictor.h - a trained model that answers for one text after the other: of strings, from a
 * program of your own.
 *
 * Example:
 *
 *     const char *const text[] = { "1 .1 .2 .3 .4" };
 *     gsa_error error;
 *     gsa_apply_options options = { "run" }; // folder of a trained model
 *     gsa_predictor *p;
 *     gsa_prediction found;
 *     options.threads = 1;
 *     if (gsa_predictor_open(NULL, &options, &p, &error)) return puts(error.text), 1;
 *     int failed = gsa_predictor_texts(p, text, 1, &found, &error);
 *     puts(failed ? error.text : found.text);
 *     if (!failed && found.labels) puts(gsa_predictor_label(p, found.label)); // a task with labels
 *     gsa_predictor_close(p);
 *     return failed;
 *
 * Law.  A predictor is used by one thread at a time. Several predictors, of one folder or of many,
 *     may be used by as many threads at once: they share nothing. A call changes nothing that a
 *     later one sees; after a failure the predictor goes on.
 *     A warm predictor asks the system for no memory and opens no file: one that has answered for
 *     texts of this length, twice for the longest (a pattern that is made by length is kept for
 *     each length).
 *     Errors of opening: GSA_ERR_IO and GSA_ERR_FORMAT (no model, or a damaged one),
 *     GSA_ERR_ARGUMENT (options, a task without predictions), GSA_ERR_PLUGIN, GSA_ERR_UNSUPPORTED
 *     (no such device), GSA_ERR_MEMORY; of a call: GSA_ERR_FORMAT and GSA_ERR_ARGUMENT (the text is
 *     wrong), GSA_ERR_LIMIT. */
#ifndef GSA_PREDICTOR_H
#define GSA_PREDICTOR_H
#include "train/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A trained model that answers texts. One thread at a time uses it. Opaque. */
typedef struct gsa_predictor gsa_predictor;

/* Lives until the predictor's next call. */
typedef struct gsa_prediction {
    const char *text; /* the lines that `gsa predict` writes, terminated */
    int64_t bytes;    /* of text, without its end */
    int32_t labels; /* of the model; 0: the task gives a text no label, and has no probabilities */
    int32_t label;  /* the most probable one, by its number; -1: none */
    const double *probability; /* [labels]; NULL */
} gsa_prediction;

/* Of the options the model, overrides, plugins, device, threads, backend and progress, and of
 * tagging tokenize; top_k and all_labels say what prediction.text holds. A task that reads a whole
 * file and no lines is refused: nodes, span extraction. distrusts NULL: a model in a folder of
 * a user who is neither the caller nor root is untrusted, as to gsa predict. */
gsa_status gsa_predictor_open(const gsa_system *system, const gsa_apply_options *options,
                              gsa_predictor **predictor, gsa_error *error);
void gsa_predictor_close(gsa_predictor *predictor); /* NULL does nothing */

/* How many labels the model knows; 0 for tasks without. */
int32_t gsa_predictor_labels(const gsa_predictor *predictor);
const char *gsa_predictor_label(const gsa_predictor *predictor,
                                int32_t label); /* label from 0; lives as long as the predictor */

/* One text, or two of sentence pairs, in UTF-8; their line ends, and of pairs their tabs, are
 * blanks. */
gsa_status gsa_predictor_texts(gsa_predictor *predictor, const char *const *text, int texts,
                               gsa_prediction *prediction, gsa_error *error);
/* A line as `gsa predict` reads it, in the encoding of the model's data. */
gsa_status gsa_predictor_line(gsa_predictor *predictor, const char *line, int64_t bytes,
                              gsa_prediction *prediction, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
