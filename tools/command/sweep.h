/* sweep.h - several runs of gsa train, and tables of results. */
#ifndef GSA_TOOLS_SWEEP_H
#define GSA_TOOLS_SWEEP_H
#include "tools/command/options.h"
#include "train/runs/results.h"
#include "tools/command/verbs.h"

int gsa_sweep_asked(const gsa_args *args); /* --seeds, --each or --results */
/* system: the table, or one that holds --out. */
gsa_status gsa_run_sweep(const gsa_args *args, const gsa_system *system,
                         const gsa_train_options *train, gsa_reporter *reporter, gsa_error *error);

/* On stderr, for people, in aligned columns. */
void gsa_print_table(const gsa_table *table);

#endif
