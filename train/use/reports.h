/* reports.h - the report of an evaluation: what the task finds of each split, written as JSON or
 * for people. Not installed.
 *
 *   {"report": 1, "task": "...", "metric": "...", "signature": "...",
 *    "splits": {"dev": {"scores": {"accuracy": ..., "loss": ...}, ...}, "test": {...}}}
 * What a split holds next to its scores is the task's: score/report.h, score/surprise.h. */
#ifndef GSA_REPORTS_H
#define GSA_REPORTS_H
#include <jansson.h>
#include "train/driver/session.h"

/* Opens the surveys of the splits that are there, [GSA_SPLITS]; from now on evaluations fill
 * them. */
gsa_status gsa_reports_begin(gsa_session *session, gsa_survey *survey, gsa_error *error);
void gsa_reports_end(gsa_session *session, gsa_survey *survey);
/* result: the evaluation's, whose members "dev_..." and "test_..." are the scores. Paths: NULL: not
 * wanted. */
gsa_status gsa_reports_write(gsa_session *session, const json_t *result, const char *text,
                             const char *json, gsa_error *error);

#endif
