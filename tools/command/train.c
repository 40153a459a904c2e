/* gsa train - trains the model of a recipe; what it does is gsa_train's (train/driver.h). */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint_parts.h"
#include "tools/command/own.h"
#include "tools/command/ranks.h"
#include "tools/command/report.h"
#include "tools/command/sweep.h"
#include "train/use/apply.h"

/* What is trained: a recipe, or a file of data with the recipe that is written for it into a folder
 * of its own. */
typedef struct wanted {
    char path[GSA_PATH_ROOM];
    const char *recipe, *out;
    int data;
    gsa_own_run own; /* of data */
} wanted;

static gsa_status refuse_words(const gsa_args *args, gsa_error *error)
{
    static const char *const own[] = { "task", "format", "columns" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (gsa_args_text(args, own[i]))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "--%s is for a file of data: a recipe says it itself (--set)", own[i]);
    if (gsa_args_operands(args) > 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa train' takes one recipe, '%s' is left over",
                        gsa_args_operand(args, 1));
    return GSA_OK;
}

static gsa_status find_wanted(const gsa_args *args, wanted *w, gsa_error *error)
{
    gsa_status status = GSA_OK;
    w->out = gsa_args_text(args, "out"), w->recipe = NULL, w->data = 0;
    if (!gsa_args_operands(args) && !gsa_args_text(args, "resume"))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa train' needs a RECIPE, a FILE of data or --resume DIR: usage: gsa "
                        "train [RECIPE] [options]");
    if (gsa_args_operands(args))
        status = gsa_find_recipe(gsa_args_operand(args, 0), w->path, &w->recipe, error);
    if (status == GSA_OK && w->recipe)
        status = gsa_own_is_data(gsa_args_system(args), w->recipe, &w->data, error);
    if (status != GSA_OK) return status;
    if (!w->data) {
        status = refuse_words(args, error);
        const int again = w->recipe && (w->out || gsa_sweep_asked(args));
        return status == GSA_OK && again ? gsa_check_reread(w->recipe, error) : status;
    }
    if (gsa_ranks())
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s' is data, and %d ranks were started: 'gsa init' writes the recipe "
                        "that they share",
                        w->recipe, gsa_ranks()->ranks);
    if (gsa_args_text(args, "resume"))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--resume goes on with its own data, '%s' is left over", w->recipe);
    status = gsa_own_begin(args, gsa_args_flag(args, "quiet"), &w->own, error);
    w->recipe = w->own.recipe, w->out = w->own.folder;
    return status;
}

/* --report: the page is written anew after each epoch, and at the end. */
typedef struct live {
    gsa_reporter *reporter;
    const gsa_args *args;
    const gsa_system *system;
    const char *run, *page;
    gsa_status status; /* of the last time */
    gsa_error error;
} live;

static gsa_status write_page(live *l)
{
    gsa_reported one = { .system = l->system, .run = &l->run, .count = 1 };
    gsa_registry *registry = NULL;
    if (!l->page) return l->status;
    l->status = gsa_open_registry(l->args, &registry, &l->error);
    one.registry = registry;
    if (l->status == GSA_OK) l->status = gsa_run_report_write(&one, l->page, NULL, &l->error);
    gsa_registry_release(registry);
    return l->status;
}

static void tell(void *context, const gsa_progress *progress)
{
    live *l = context;
    gsa_report(l->reporter, progress);
    if (progress->kind == 1) write_page(l);
}

/* 1 when the page would be written over a file of the run, again and again. */
static int is_of_a_run(const gsa_system *system, const char *path)
{
    char real[PATH_MAX];
    int64_t step;
    if (system->resolve(system->user, path, real, sizeof real) > 0) path = real;
    const char *slash = strrchr(path, '/');
    return gsa_is_of_a_run(path, 1) || gsa_step_of(slash ? slash + 1 : path, "", &step);
}

static gsa_status open_live(const gsa_args *args, const wanted *w, gsa_reporter *reporter, live *l,
                            gsa_error *error)
{
    *l = (live){ .reporter = reporter,
                 .args = args,
                 .system = gsa_args_system(args),
                 .run = w->out ? w->out : gsa_args_text(args, "resume"),
                 .page = gsa_args_text(args, "report") };
    if (!l->page) return GSA_OK;
    if (!l->run)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--report shows a folder: --out DIR is wanted");
    if (gsa_sweep_asked(args))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--report shows one run; of several, gsa report RUN... makes a page");
    if (strcmp(l->page, "-") == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--report needs a file, it is written again");
    if (is_of_a_run(l->system, l->page))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--report %s: a run writes a file of that name; expected a page, such as "
                        "report.html",
                        l->page);
    return gsa_output_check(l->system, l->page, error);
}

/* Of one run; a sweep asks for each of its own (sweep.c). */
static gsa_status check_replaced(const gsa_args *args, const wanted *w, gsa_error *error)
{
    int count, noted = 1;
    const gsa_system *system = gsa_args_system(args);
    const char *const *set = gsa_args_texts(args, "set", &count);
    const char *resume = gsa_args_text(args, "resume"), *folder = w->out ? w->out : resume;
    if (!folder || gsa_sweep_asked(args)) return GSA_OK;
    if (w->recipe) noted = gsa_note_recipe(system, w->recipe, set, count);
    else if (resume) noted = gsa_note_config(system, resume, set, count, 1);
    if (!noted) return gsa_out_of_memory(error, "the files that a recipe names", 4096);
    return gsa_check_replaced(folder, !resume, error);
}

static gsa_status train(const gsa_args *args, wanted *w, gsa_error *error)
{
    live page;
    const int writes = gsa_group_rank(gsa_ranks()) == 0, sweep = gsa_sweep_asked(args);
    gsa_reporter reporter = gsa_reporter_new(writes ? gsa_args_flag(args, "quiet") != 0 : 2);
    const char *resumed = gsa_args_text(args, "resume");
    if (resumed && gsa_is_others(resumed)) gsa_read_regular(); /* what it names is its owner's */
    gsa_status status = check_replaced(args, w, error);
    if (status == GSA_OK) status = open_live(args, w, &reporter, &page, error);
    if (status != GSA_OK && w->data) gsa_own_undo(gsa_args_system(args), &w->own);
    if (status != GSA_OK) return status;
    if (!writes) page.page = NULL;
    gsa_train_options options = { .recipe = w->recipe,
                                  .out = w->out,
                                  .resume = gsa_args_text(args, "resume"),
                                  .device = gsa_args_text(args, "device"),
                                  .build = gsa_build(),
                                  .threads = (int)gsa_args_number(args, "threads", 0),
                                  .progress = !writes ? NULL
                                              : sweep ? gsa_report
                                                      : tell,
                                  .context = sweep ? (void *)&reporter : &page,
                                  .stop = gsa_catch_signals(),
                                  .lock = w->own.lock.system && !sweep ? &w->own.lock : NULL,
                                  .group = gsa_ranks() };
    options.overrides = gsa_args_texts(args, "set", &options.n_overrides);
    options.plugins = gsa_args_texts(args, "plugin", &options.n_plugins);
    options.policy = gsa_read_plugin_policy(args);
    if (gsa_ranks() && gsa_sweep_asked(args))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--seeds, --each and --results are for one process, and %d ranks were "
                        "started: start them run by run",
                        gsa_ranks()->ranks);
    if (sweep) {
        gsa_lock_give_back(&w->own.lock); /* each run has its own */
        return gsa_run_sweep(args, w->own.lock.system ? w->own.lock.system : gsa_args_system(args),
                             &options, &reporter, error);
    }
    char *result = NULL;
    status = gsa_train(gsa_args_system(args), &options, &result, error);
    gsa_reporter_end(&reporter);
    if (w->data && status != GSA_OK && !result) gsa_own_undo(gsa_args_system(args), &w->own);
    if (result && status == GSA_OK && !reporter.quiet)
        status = gsa_print_summary(result, options.out ? options.out : options.resume, error);
    if (w->data && (status == GSA_OK || status == GSA_ERR_INTERRUPTED)) {
        const gsa_status noted =
            gsa_own_end(gsa_args_system(args), &w->own, status == GSA_OK ? error : NULL);
        if (status == GSA_OK) status = noted;
    }
    if (result && writes) { /* also of a run that was stopped */
        const gsa_status printed =
            gsa_print_line(gsa_args_system(args), result, status == GSA_OK ? error : NULL);
        if (status == GSA_OK) status = printed;
    }
    gsa_release(gsa_args_system(args), result);
    if (status == GSA_OK && write_page(&page) != GSA_OK) {
        if (error) *error = page.error;
        return page.status;
    }
    return status;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    wanted w = { .data = 0 };
    gsa_status status = find_wanted(args, &w, error);
    if (status == GSA_OK) status = train(args, &w, error);
    gsa_own_release(gsa_args_system(args), &w.own);
    return status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_SET,
    { "out", GSA_OPTION_OUTPUT, "DIR", NULL, "nothing is written; of a data file runs/NAME", 0, 0,
      "folder of the run: resolved config.ini, log.jsonl, curve.svg, outcomes.jsonl, result.json, "
      "checkpoints" },
    GSA_OPTION_ROW_OWN("told by the file"),
    { "resume", GSA_OPTION_TEXT, "DIR", NULL, "a new run", 0, 0,
      "go on with the run in DIR, bit for bit; --set may lengthen it" },
    { "seeds", GSA_OPTION_NUMBERS, "N", NULL, "the recipe's", 0, 4294967295,
      "a run for each seed of 1 to N, or of a list N,N,...; in DIR/seed-N" },
    { "each", GSA_OPTION_TEXTS, "NAME=VALUE,...", NULL, "nothing is varied", 0, 0,
      "a run for each value of {NAME} in the recipe and --set, or of a key SECTION.KEY; \"\" is an "
      "empty one, ';' separates "
      "values that hold commas; in DIR/NAME-VALUE/seed-N; repeatable: all combinations" },
    { "results", GSA_OPTION_OUTPUT, "FILE", NULL, "DIR/results.jsonl alone", 0, 0,
      "append the result of each run to this file too; of two lines of the same run the later one "
      "counts" },
    { "report", GSA_OPTION_OUTPUT, "FILE", NULL, NULL, 0, 0,
      "the page of gsa report, written after each epoch: reload it while the run trains" },
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
    { "quiet", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "of progress on stderr, warnings alone" },
};
const gsa_verb gsa_verb_train = {
    .name = "train",
    .summary = "train the model of a recipe, or one for a file of data",
    .operands = "[RECIPE|FILE...]",
    .most = 3,
    .shared = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "RECIPE is an INI file, or the name of one that comes with the command, as sst5-star; its "
        "data are named by --set "
        "and found from the current folder.\n"
        "FILE is data: what it is is found out and said, a recipe is written (gsa init), and its "
        "model is trained in "
        "runs/NAME, which "
        "predict and eval take without --model. A second file is development data, a third one "
        "test data.\n"
        "The last line on stdout is one JSON object: task, test_mse or dev_accuracy and "
        "test_accuracy, seconds, "
        "tokens_per_second, parameters, seed, signature.\n"
        "With --seeds, --each or --results: one such line a run, and a last one that is the "
        "summary: mean, sd, min and max; "
        "runs that are finished in DIR are not made again, one that stopped goes on.\n"
        "The first SIGINT or SIGTERM saves a checkpoint and exits 0; the second exits at once.",
    .more = gsa_write_recipe_keys,
    .run = run
};
