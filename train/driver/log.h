/* log.h - log.jsonl: one JSON object a line, appended as things happen; and its numbers read back
 * when a run goes on. */
#ifndef GSA_LOG_H
#define GSA_LOG_H
#include <jansson.h>
#include "train/chart/chart.h"

typedef struct gsa_log {
    const gsa_system *system;
    char *path;
    int file; /* -1: no log */
} gsa_log;

/* path NULL: a log that takes everything and writes nothing. */
gsa_status gsa_log_open(const gsa_system *system, const char *path, gsa_log *log, gsa_error *error);
gsa_status gsa_log_close(gsa_log *log, gsa_error *error); /* a zeroed one is fine */
/* Takes the object over (NULL: out of memory). */
gsa_status gsa_log_write(gsa_log *log, json_t *object, gsa_error *error);

/* *kind of the name itself. *is 1: all of the first bytes that are there are those of a run's log,
 * which begins with its environment; -1: there are none, or a link is there, which a run
 * replaces. */
gsa_status gsa_log_is_of_a_run(const gsa_system *system, const char *path, int *kind, int *is,
                               gsa_error *error);
/* Cuts what lies after `step` (lines of steps that a checkpoint does not know, results, a last line
 * that was torn) and adds the rest to the curve. No such file is fine. */
gsa_status gsa_log_rewind(const gsa_system *system, const char *path, int64_t step,
                          const char *metric, gsa_chart *curve, gsa_error *error);

json_t *gsa_json_number(double x); /* null where x is not finite */

#endif
