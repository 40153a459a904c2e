/* results.h - results of runs as JSON lines, one object a run: what gsa_train gives, and next to it
 *   run     path below the folder of all runs, "domain-books/seed-1"
 *   recipe  the recipe's name, without folders and ".ini";
 *           data: that of the training file, without folders
 *   each    {"domain": "books"}: what was varied
 *   setting hash of every key's value but the seed; with the seed and `run` it is the run's
 *     identity
 *   family  hash without the keys, too, that names ({domain}) are in
 *   settings {"train.lr": "0.001"}: of a run that was read from its folder, every key but the seed
 * and what they are on the whole: a row for each recipe, setting and encoder, over its seeds, so
 * that runs are in one row where they agree in every key but the seed; a run that says no setting
 * has a row of its own. Where runs with `settings` disagree in a key, it is part of `each`. Where
 * names that are no
 * keys were varied (domains), a row more for their average: per seed the mean over the
 * combinations, then mean and deviation over seeds. */
#ifndef GSA_RESULTS_H
#define GSA_RESULTS_H
#include "graph/system.h"

typedef struct gsa_stat {
    int n;
    double mean, sd, least, most; /* sd: of the sample, over n - 1; 0 where n < 2 */
} gsa_stat;
gsa_stat gsa_stat_of(const double *x, int n);

typedef struct gsa_results gsa_results;
gsa_status gsa_results_create(const gsa_system *system, gsa_results **results, gsa_error *error);
void gsa_results_release(gsa_results *results); /* NULL does nothing */
/* A stack's text without the folders of the files it names, in place:
 * "char_word:lexicon=/data/words.txt*2" keeps words.txt. */
void gsa_results_shorten(char *stack);
/* Each line is an object that says its "task", or an error with file and line. The file is read
 * through `system`: the results' own, or one of a folder that is held. */
gsa_status gsa_results_read(gsa_results *results, const gsa_system *system, const char *path,
                            gsa_error *error);
/* The result.json of one run and the settings in the config.ini next to it. */
gsa_status gsa_results_read_run(gsa_results *results, const gsa_system *system, const char *folder,
                                gsa_error *error);
/* One line; takes the place of the same run. */
gsa_status gsa_results_put(gsa_results *results, const char *line, gsa_error *error);
/* Appends the line in one write, unless the same run is there with the same figures; of two
 * lines of one run the later one counts. The file is locked meanwhile, so that several processes
 * can put theirs. `own`: of a folder of runs, where a link and a second name are errors. */
gsa_status gsa_results_put_into(const gsa_system *system, const char *path, int own,
                                const char *line, gsa_error *error);

/* {"summary": [{"recipe": ..., "each": {...}, "encoder": ..., "n": 5, "dev_accuracy": {"mean",
 * "sd", "min", "max"}, "seconds": {...}, "parameters": N}, ...]} on one line; a row of averages has
 * "average_over": ["domain"] and "combinations". */
gsa_status gsa_results_summary(const gsa_results *results, char **text, gsa_error *error);

typedef struct gsa_table { /* cells as text, "0.4523 ± 0.0031"; row 0 holds the columns' names */
    const gsa_system *system;
    int rows, columns, texts; /* the first `texts` columns are words, the others numbers */
    char **cell;              /* [rows, columns] */
} gsa_table;
gsa_status gsa_results_table(const gsa_results *results, gsa_table *table, gsa_error *error);
void gsa_table_release(gsa_table *table); /* a zeroed one is fine */

#endif
