/* report.h - pages of runs. */
#ifndef GSA_REPORT_PAGE_H
#define GSA_REPORT_PAGE_H
#include <jansson.h>
#include "graph/system.h"

/* The page before its data, and after; UTF-8, terminated (page.cmake). */
extern const unsigned char gsa_report_before[], gsa_report_after[];

typedef struct gsa_reported { /* folders of runs, which may still train; borrowed */
    const gsa_system *system;
    const char *const *run;
    int count;
} gsa_reported;
/* Writes the page; `tensorboard`: a folder for event files, too, or NULL. */
gsa_status gsa_run_report_write(const gsa_reported *runs, const char *out, const char *tensorboard,
                                gsa_error *error);

/* FOLDER/RUN/events.out.tfevents.0.gsa of each run's log; wall times count from the run's start. */
gsa_status gsa_tensorboard_write(const gsa_system *system, const char *folder, const json_t *runs,
                                 gsa_error *error);

#endif
