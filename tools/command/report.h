/* report.h - pages of runs. */
#ifndef GSA_REPORT_PAGE_H
#define GSA_REPORT_PAGE_H
#include <stdatomic.h>
#include <jansson.h>
#include "topologies/registry.h"
#include "train/driver.h"

/* The page before its data, and after; UTF-8, terminated (page.cmake). */
extern const unsigned char gsa_report_before[], gsa_report_after[];

typedef struct gsa_reported { /* folders of runs, which may still train; borrowed */
    const gsa_system *system;
    const char *const *run;
    int count;
    const gsa_registry *registry; /* of patterns that are drawn; NULL: none is */
    int64_t errors;               /* of each split whose attention is drawn */
    gsa_apply_options apply;      /* how their models are opened */
    const atomic_int *lack;       /* gsa_run_report_write's own: errno where descriptors ran out */
} gsa_reported;
/* Writes the page; `tensorboard`: a folder for event files, too, or NULL. */
gsa_status gsa_run_report_write(const gsa_reported *runs, const char *out, const char *tensorboard,
                                gsa_error *error);

/* Ends with what is no reason to be shown on a page without its figures, but of having no page: a
 * lack of memory, or of descriptors, whatever else came of it. */
gsa_status gsa_report_lack(const gsa_reported *of, gsa_status status, const gsa_error *why,
                           gsa_error *error);

/* report_pictures.c: a list of pictures (graph/write_html.c); each run of the list `runs` learns
 * where its own are. NULL: there was a lack. */
json_t *gsa_report_draw(const gsa_reported *of, json_t *runs, gsa_error *error);

/* Before the page is written: what --tensorboard would do to a checkpoint, to another run's events
 * or to the page itself. */
gsa_status gsa_tensorboard_check(const gsa_system *system, const char *folder, const json_t *runs,
                                 const char *page, gsa_error *error);
/* FOLDER/RUN/events.out.tfevents.0.gsa of each run's log; wall times count from the run's start. */
gsa_status gsa_tensorboard_write(const gsa_system *system, const char *folder, const json_t *runs,
                                 gsa_error *error);

#endif
