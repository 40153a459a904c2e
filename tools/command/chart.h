/* chart.h - from JSON records to the points of a chart. */
#ifndef GSA_TOOLS_CHART_H
#define GSA_TOOLS_CHART_H
#include "train/chart/chart.h"

typedef struct gsa_chart_source {
    const char *x, *series; /* series NULL: a line a file, called by its name, or by its folder
                               where names are alike */
    const char *const *y;   /* [n_y] "key" or "key=name": with several each has a line of its own */
    const char *const *where; /* [n_where] "key=value": other records are left out */
    int n_y, n_where, log_x, log_y, n_files;
} gsa_chart_source;
/* The records of files as gsa bench --json (its cases) and gsa train --results (its lines) write
 * them. A key is one of the record, of its `each`, or with dots one further inside
 * ("forward.median_ms"); `topology` is the first word of the encoder. Records with `skipped` are
 * counted and left out. Samples of one line at one x are one point. */
gsa_status gsa_chart_read(const gsa_system *system, const gsa_chart_source *source,
                          const char *const *files, gsa_chart *chart, gsa_error *error);

#endif
