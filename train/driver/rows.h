/* rows.h - a batch whose examples' rows are spread over ranks (train.split = rows): each rank has
 * its own tokens and some ghosts, computes their rows, and the loss of its own.
 *
 * Law.  Every rank fills the same whole batch; the graph, the input rows and the targets of the
 *     rest are not made. What has one row an example is computed on every rank, and counts on rank
 *     0 alone. */
#ifndef GSA_ROWS_H
#define GSA_ROWS_H
#include "gsa/spread.h"
#include "train/learner.h"

typedef struct gsa_rank_rows {
    gsa_learner *model; /* borrowed */
    gsa_group *group;
    gsa_model_batch *graph, *whole;
    gsa_minibatch part;
    int by_example; /* has the head a row an example? */
    int64_t own;    /* tokens of the last batch that are this rank's */
} gsa_rank_rows;

/* A sentence where the task's rows depend on each other apart from the patterns. */
gsa_status gsa_rank_rows_create(gsa_learner *model, gsa_group *group, gsa_rank_rows *rows,
                                gsa_error *error);
void gsa_rank_rows_release(gsa_rank_rows *rows); /* a zeroed one is fine */
/* This rank's part of the batch, for the model's next forward pass; until gsa_rank_rows_end the
 * model reads its graph. */
gsa_status gsa_rank_rows_begin(gsa_rank_rows *rows, const gsa_minibatch *batch,
                               const gsa_minibatch **part, gsa_error *error);
void gsa_rank_rows_end(gsa_rank_rows *rows);
/* Values of out, [targets of the part, columns], as those of the batch's targets, on every rank. */
gsa_status gsa_rank_rows_collect(gsa_rank_rows *rows, gsa_status status, const double *values,
                                 const gsa_minibatch *batch, int64_t columns, double *out,
                                 gsa_error *error);

#endif
