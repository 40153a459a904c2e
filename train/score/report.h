/* report.h - what an evaluation tells of a split next to its metric, as parts of a JSON object, and
 * that object as text.
 *
 *   classification_report   scikit-learn's classification_report(output_dict=True), of the labels
 *     that occur; a label that is named as a sum (accuracy, macro avg) is "NAME (label)"
 *   confusion               rows: the right label; columns: the one found; both in the order of
 *     `labels`
 *   top_k                   the share of targets whose right label is among the k most probable
 *     ones
 *   calibration             ECE over ten bins of confidence (Guo et al. 2017), the bins, Brier
 *     score, NLL
 *   worst                   errors whose right label was least probable, with their text
 *
 * Sums run over rows in the order of the data. Reports are for a host's memory: jansson's
 * allocations are its own. */
#ifndef GSA_REPORT_H
#define GSA_REPORT_H
#include <jansson.h>
#include "train/score/bleu.h"
#include "train/score/spans.h"
#include "train/score/survey.h"

enum { GSA_REPORT_WORST = 20, GSA_REPORT_BINS = 10, GSA_REPORT_CONFUSED = 200 };

/* What a row is, for people: "line", "text". */
typedef struct gsa_row_teller {
    const void *self;
    void (*describe)(const void *self, int split, int64_t row, json_t *object);
} gsa_row_teller;

/* Adds what rows of `found` say; names are in order of bytes. probable 0: the head gives no
 * probabilities of labels, and what is made of them is left out. */
gsa_status gsa_report_classes(const gsa_survey *survey, const gsa_slice *name, int32_t names,
                              int probable, const gsa_row_teller *teller, json_t *object,
                              gsa_error *error);
/* seqeval's classification_report(output_dict=True) of what a score counted; its types become
 * sorted. */
json_t *gsa_report_spans(gsa_span_score *score);
/* {"score": ..., "precisions": [...], "brevity": ..., "length": ..., "reference_length": ...} */
json_t *gsa_report_bleu(const gsa_bleu_counts *sum);
/* Least and largest number, and those below which a share of all lies, interpolated as NumPy does;
 * sorts x. */
json_t *gsa_report_quantiles(double *x, int64_t count);

/* Of a survey of width 1, a row an example: quantiles of the mean loss, and the examples with the
 * largest. */
gsa_status gsa_report_losses(const gsa_survey *survey, json_t *object, gsa_error *error);

/* Numbers of rows by falling key, of equal ones the first: at most `most` of those with a key above
 * `least`. */
int64_t gsa_report_largest(const double *key, int64_t count, double least, int64_t *row,
                           int64_t most);

/* Texts are cut after about a thousand bytes; bytes that are no UTF-8 become U+FFFD. */
json_t *gsa_json_slice(gsa_slice text);
json_t *gsa_json_name(const char *text); /* whole, if it is UTF-8; else as above */
json_t *gsa_json_words(const gsa_slice *word, int64_t count); /* a blank between two */

/* The whole report, {"splits": {"dev": {...}}}, for people. */
void gsa_report_write(const json_t *report, gsa_output *output);

#endif
