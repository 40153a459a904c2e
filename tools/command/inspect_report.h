/* inspect_report.h - the numbers of gsa-inspect as a table for people and as JSON. */
#ifndef GSA_INSPECT_REPORT_H
#define GSA_INSPECT_REPORT_H
#include "graph/inspect/inspect.h"

/* `labels`: how many labels are shown, the most frequent ones; 0: all. */
void gsa_report_table(const gsa_view *view, const gsa_measures *measures, int labels,
                      gsa_output *out);
gsa_status gsa_report_json(const gsa_view *view, const gsa_measures *measures, gsa_output *out,
                           gsa_error *error);

#endif
