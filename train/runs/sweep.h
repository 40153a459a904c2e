/* sweep.h - several runs of one recipe: seeds, and values of names or keys. Runs are made one after
 * the other.
 *
 *   --each domain=books,music        {domain} in values of the recipe and of --set is replaced
 *   --each model.encoder='star*2;window:width=3*2,full*2'  a name with a dot is a key, which is set
 * Values are separated by ';' where one is in the text, else by ','; blanks at their ends are
 * cut; "" is an empty one. Several --each make all combinations, the first one slowest. A run lies
 * in OUT/NAME-VALUE/.../seed-N, for a key its last word, and in the value every byte that is not of
 * A-Z a-z 0-9 . _ - becomes '_'.
 *
 * Such a folder holds, next to what a run leaves (driver.h), asked.ini: every key as requested. A
 * run that is finished there is not made again; one that stopped goes on; one with other keys is an
 * error. OUT/results.jsonl and options->results hold a line for each finished
 * run (results.h). */
#ifndef GSA_SWEEP_H
#define GSA_SWEEP_H
#include "train/driver.h"
#include "train/runs/results.h"

enum { GSA_SWEEP_RUNS = 100000 };

typedef struct gsa_sweep_run {
    char *name; /* path below OUT: "domain-books/seed-1" */
    char *each; /* {"domain": "books"} */
    char **set; /* [sets] overrides */
    int sets;
    char setting[65]; /* hash of every key's value but the seed */
    char family[65];  /* and but of those that {names} are in */
} gsa_sweep_run;

typedef struct gsa_sweep_plan {
    const gsa_system *system;
    gsa_sweep_run *run;
    int runs;
} gsa_sweep_plan;

enum gsa_sweep_state { GSA_SWEEP_NEW, GSA_SWEEP_GOES_ON, GSA_SWEEP_DONE };

typedef struct gsa_sweep_options {
    gsa_train_options train; /* of every run; recipe is wanted, resume is not read, out may be NULL:
                                nothing is written */
    const char *const *each;
    int n_each;
    const int64_t *seeds;
    int n_seeds;         /* 0: the recipe's */
    const char *results; /* another file that receives the results; or NULL */
    void (*begin)(void *context, const gsa_sweep_plan *plan, int index, int state);
    void (*end)(void *context, const char *line); /* the run's result, one JSON object */
    void *context;
} gsa_sweep_options;

/* Every recipe is read and checked as far as that goes without data (gsa_task_check), so that a
 * wrong value is found before the first run; gsa_sweep looks for the files, too. */
gsa_status gsa_sweep_plan_create(const gsa_system *system, const gsa_sweep_options *options,
                                 gsa_sweep_plan *plan, gsa_error *error);
void gsa_sweep_plan_release(gsa_sweep_plan *plan); /* a zeroed one is fine */

/* *results: of all runs; released by the caller with gsa_results_release. GSA_ERR_INTERRUPTED: the
 * same call goes on. */
gsa_status gsa_sweep(const gsa_system *system, const gsa_sweep_options *options,
                     gsa_results **results, gsa_error *error);

#endif
