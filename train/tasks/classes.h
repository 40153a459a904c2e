/* classes.h - what tasks with one label a row of `out` share: loss, tallies, output lines. Rows
 * with label -1 do not count. */
#ifndef GSA_CLASSES_H
#define GSA_CLASSES_H
#include "gsa/tape.h"
#include "train/vocabulary/labels.h"
#include "train/task_parts.h"

/* A task's `loss`: scale sum of the cross entropies. */
gsa_tensor *gsa_classes_loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                             const gsa_minibatch *batch, double scale);
/* Adds one row of out to its unit; hits, found and wanted count class `positive` (-1: none). */
void gsa_classes_score_row(const double *out, int32_t classes, int32_t positive, int32_t label,
                           gsa_score *unit);
/* Out [targets, classes] into the batch's units, of rows[unit] rows each; NULL: of one. */
void gsa_classes_score(const double *out, int32_t classes, int32_t positive,
                       const gsa_minibatch *batch, const int32_t *rows, gsa_score *unit);
/* A task's `observe` of rows that are examples. */
void gsa_classes_observe(const double *out, int32_t classes, const gsa_minibatch *batch,
                         const int64_t *example, gsa_survey *survey);
/* "label<TAB>probability" of each row. */
void gsa_classes_print(const gsa_labels *labels, const double *out, int64_t rows,
                       gsa_output *output);
/* "label<TAB>probability", several in a row: the `top` most probable ones, best first; with top 0
 * all, in their order, with 12 digits. */
void gsa_classes_print_many(const gsa_labels *labels, const double *out, int64_t rows, int32_t top,
                            gsa_output *output);
/* [classes] of a row of out. */
void gsa_classes_probabilities(const double *out, int32_t classes, double *probability);

#endif
