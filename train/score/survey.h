/* survey.h - what an evaluation keeps of each target of a split, so that a report can be made of
 * it.
 *
 * A task says how many rows its split has and what a row is: a class found against the one that is
 * right, or `width` numbers. Rows are numbered by the data, so no report depends on how examples
 * were put into batches. */
#ifndef GSA_SURVEY_H
#define GSA_SURVEY_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_found {
    double nll;          /* -log p(the right class) */
    double confidence;   /* p(the class found) */
    double brier;        /* sum over classes of (p - [it is right])^2 */
    int32_t gold, label; /* classes; gold -1: the row has no label, and counts nowhere */
    int32_t rank, zero;  /* classes that are more probable than the right one */
} gsa_found;

typedef struct gsa_survey {
    const gsa_system *system;
    int split;
    int32_t width; /* numbers of a row; 0: rows are of `found` */
    int64_t rows;
    gsa_found *found;              /* [rows] */
    double *value;                 /* [rows, width] */
    char *text;                    /* texts of rows, one after the other: translations, answers */
    int64_t *text_at, bytes, room; /* text_at: [rows] where it starts, -1: none; a zero ends it */
} gsa_survey;

/* Room for the rows: every gold is -1, every number 0. */
gsa_status gsa_survey_open(gsa_survey *survey, int64_t rows, int32_t width, gsa_error *error);
void gsa_survey_release(gsa_survey *survey); /* a zeroed one is fine */
gsa_status gsa_survey_text(gsa_survey *survey, int64_t row, gsa_slice text, gsa_error *error);

/* A row of logits. label -1: the most probable class. */
gsa_found gsa_found_of(const double *out, int32_t classes, int32_t gold, int32_t label);

#endif
