/* sweep.c - gsa train with --seeds or --each: several runs, a line each, a summary
 * (train/runs/sweep.h). */
#include "tools/command/sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "graph/system_parts.h"
#include "train/runs/sweep.h"
#include "tools/command/verbs.h"

typedef struct teller {
    const gsa_system *system;
    gsa_reporter *reporter;
    gsa_status status; /* of stdout */
    gsa_error *error;
} teller;

static void begin(void *context, const gsa_sweep_plan *plan, int index, int state)
{
    static const char *const says[] = { "", ", which goes on", ", which is there already" };
    const teller *t = context;
    gsa_reporter_end(t->reporter);
    if (!t->reporter->quiet)
        fprintf(stderr, "run %d/%d: %s%s\n", index + 1, plan->runs, plan->run[index].name,
                says[state]);
}

static void end(void *context, const char *line)
{
    teller *t = context;
    gsa_reporter_end(t->reporter);
    if (t->status == GSA_OK) t->status = gsa_print_line(t->system, line, t->error);
}

static gsa_status tell(const gsa_args *args, const gsa_results *results, gsa_error *error)
{
    char *summary = NULL;
    gsa_table table = { 0 };
    gsa_status status = gsa_results_summary(results, &summary, error);
    if (status == GSA_OK && !gsa_args_flag(args, "quiet"))
        status = gsa_results_table(results, &table, error);
    if (status == GSA_OK && table.cell) gsa_print_table(&table);
    if (status == GSA_OK) status = gsa_print_line(gsa_args_system(args), summary, error);
    gsa_table_release(&table);
    gsa_release(gsa_args_system(args), summary);
    return status;
}

/* --seeds N is 1 to N, --seeds A,B,... these; the caller frees them. */
static gsa_status read_seeds(const gsa_args *args, int64_t **seeds, int *count, gsa_error *error)
{
    const int64_t *given = gsa_args_numbers(args, "seeds", count);
    *seeds = NULL;
    if (*count == 0) return GSA_OK;
    const int64_t one = *count == 1 ? given[0] : 0;
    if (*count == 1 && (one < 1 || one > GSA_SWEEP_RUNS))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--seeds %lld: expected how many, 1 to %d, or a list such as 3,7,9",
                        (long long)one, GSA_SWEEP_RUNS);
    const int n = *count == 1 ? (int)one : *count;
    *seeds = gsa_alloc(gsa_args_system(args), (size_t)n, sizeof **seeds);
    if (!*seeds) return gsa_out_of_memory(error, "--seeds", n * 8);
    for (int i = 0; i < n; i++) (*seeds)[i] = *count == 1 ? i + 1 : given[i];
    *count = n;
    return GSA_OK;
}

/* Lines are not put into a run's folder under the name of a file that the run will make. */
static gsa_status check_apart(const gsa_system *system, const char *results, const char *folder,
                              gsa_error *error)
{
    char at[PATH_MAX];
    struct stat own, there;
    if (gsa_is_one_output(system, results, folder))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' cannot be written: it is a run's folder",
                        results);
    if (gsa_place_of_output(system, results, at) && gsa_is_of_a_run(at, 1)) {
        strrchr(at, '/')[1] = 0;
        if (stat(at, &there) == 0 && stat(folder, &own) == 0 && there.st_ino == own.st_ino &&
            there.st_dev == own.st_dev)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "'%s' cannot be written: '%s' is a run, which has a file of that name",
                            results, folder);
    }
    return gsa_is_in_run(folder, results)
               ? gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' cannot be written: it is a file of run '%s'", results, folder)
               : GSA_OK;
}

/* One that has its result is not made again. */
static gsa_status check_replaced(const gsa_system *system, const char *folder, gsa_error *error)
{
    int done;
    const gsa_status status = gsa_see_in(system, folder, "result.json", &done, error);
    return status != GSA_OK || done ? status : gsa_check_replaced(folder, 1, error);
}

/* No run replaces a file that one reads, and no line is put to its end. */
static gsa_status check_outputs(const gsa_args *args, const gsa_sweep_options *options,
                                gsa_error *error)
{
    gsa_sweep_plan plan;
    char own[GSA_PATH_ROOM];
    const char *recipe = options->train.recipe, *out = options->train.out;
    const gsa_system *system = gsa_args_system(args);
    gsa_status status = gsa_sweep_plan_create(system, options, &plan, error);
    for (int i = 0; status == GSA_OK && i < plan.runs; i++)
        if (!gsa_note_recipe(system, recipe, (const char *const *)plan.run[i].set,
                             plan.run[i].sets))
            status = gsa_out_of_memory(error, "the files that a recipe names", 4096);
    for (int i = 0; status == GSA_OK && out && i < plan.runs; i++) {
        snprintf(own, sizeof own, "%s/%s", out, plan.run[i].name);
        status = check_replaced(system, own, error);
        if (status == GSA_OK && options->results)
            status = check_apart(system, options->results, own, error);
    }
    gsa_sweep_plan_release(&plan);
    snprintf(own, sizeof own, "%s/results.jsonl", out ? out : "");
    if (status == GSA_OK && out) status = gsa_check_stream(system, own, error);
    if (status == GSA_OK && out) status = gsa_check_appended(system, own, error);
    if (status == GSA_OK && options->results)
        status = gsa_check_appended(system, options->results, error);
    return status;
}

int gsa_sweep_asked(const gsa_args *args)
{
    return gsa_args_given(args, "seeds") || gsa_args_given(args, "each") ||
           gsa_args_given(args, "results");
}

gsa_status gsa_run_sweep(const gsa_args *args, const gsa_system *system,
                         const gsa_train_options *train, gsa_reporter *reporter, gsa_error *error)
{
    gsa_results *results = NULL;
    int64_t *seeds;
    teller t = { .system = gsa_args_system(args), .reporter = reporter, .error = error };
    gsa_sweep_options options = { .train = *train,
                                  .results = gsa_args_text(args, "results"),
                                  .begin = begin,
                                  .end = end,
                                  .context = &t };
    if (train->resume)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--resume goes on with one run: with --seeds, --each or --results the same "
                        "command goes on");
    if (options.results && strcmp(options.results, "-") == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa train --results -': expected a file; the line of each run is on "
                        "standard output already");
    options.each = gsa_args_texts(args, "each", &options.n_each);
    gsa_status status = read_seeds(args, &seeds, &options.n_seeds, error);
    options.seeds = seeds;
    if (status == GSA_OK) status = check_outputs(args, &options, error);
    if (status == GSA_OK) status = gsa_sweep(system, &options, &results, error);
    gsa_reporter_end(reporter);
    if (status == GSA_OK) status = t.status;
    if (status == GSA_OK) status = tell(args, results, error);
    gsa_results_release(results);
    gsa_release(gsa_args_system(args), seeds);
    return status;
}
