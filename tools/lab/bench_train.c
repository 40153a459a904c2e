/* bench_train.c - gsa bench train: recipes and what --each makes of them, each case in a process of
 * its own, nothing written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/lab/bench.h"
#include "tools/command/child.h"
#include "tools/command/verbs.h"
#include "kernels/gemm.h"
#include "train/runs/sweep.h"
#include "train/score/report.h"

/* The first step finds out how much memory the tape takes, the second takes it in one piece: both
 * touch new pages. */
enum { WARM_UP = 2 };

typedef struct gsa_train_case {
    gsa_bench *bench;
    gsa_train_options options;
    int64_t most_bytes;
    int slot; /* in bench->cases */
} gsa_train_case;

static void release(void *state)
{
    gsa_train_case *one = state;
    gsa_release(one->bench->system, one);
}

/* ---- in the child -------------------------------------------------------------------------- */

typedef struct gsa_step_times { /* without those that warm up */
    const gsa_bench *bench;
    json_t *ms;
    double tokens, clock; /* clock: at the last report */
    int64_t seen;
} gsa_step_times;

static void note_step(void *context, const gsa_progress *progress)
{
    gsa_step_times *times = context;
    const double now = gsa_clock_now(times->bench->counts_cpu), cpu_ms = 1e3 * (now - times->clock);
    times->clock = now;
    if (progress->kind != 0 || times->seen++ < WARM_UP) return;
    json_array_append_new(times->ms,
                          json_real(times->bench->counts_cpu ? cpu_ms : progress->step_ms));
    times->tokens += 1e-3 * progress->step_ms * progress->tokens_per_second;
}

/* A library's first product makes its code, and oneDNN 2.6.3 crashes where that finds no memory. */
static void multiply_once(void)
{
    enum { SIDE = 16 };
    const float a[SIDE * SIDE] = { 0 };
    float product[SIDE * SIDE];
    sigset_t before;
    gsa_gemm_begin(&before);
    gsa_gemm_f32(&(gsa_gemm){ .c = product,
                              .a = a,
                              .b = a,
                              .m = SIDE,
                              .n = SIDE,
                              .k = SIDE,
                              .ldc = SIDE,
                              .lda = SIDE,
                              .ldb = SIDE });
    gsa_gemm_end(&before);
}

/* A name that is no text in JSON stays out. */
static int name_read(void *context, const char *path)
{
    json_t *text = json_string(path);
    return !text || json_array_append_new(context, text) == 0;
}

/* *text: the training's result, the times of its steps, and the files that it read: nothing is
 * written over them. */
static gsa_status train(void *context, char **text, gsa_error *error)
{
    const gsa_train_case *one = context;
    gsa_step_times times = { .bench = one->bench, .ms = json_array() };
    gsa_train_options options = one->options;
    char *result = NULL;
    options.progress = note_step, options.context = &times;
    const double start = gsa_clock_now(one->bench->counts_cpu);
    const gsa_status status = gsa_train(one->bench->system, &options, &result, error);
    if (status != GSA_OK) return status;
    const double seconds = gsa_clock_now(one->bench->counts_cpu) - start,
                 steps = (double)json_array_size(times.ms);
    if (steps == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "the first %d steps warm up, and no other is left to measure: it takes %d at least",
            WARM_UP, WARM_UP + 1);
    json_t *told = json_loads(result, 0, NULL);
    json_object_set_new(told, "step_ms", times.ms);
    json_object_set_new(told, "step_tokens", json_real(times.tokens / steps));
    json_object_set_new(told, "seconds", json_real(seconds));
    json_t *reads = json_array();
    const int named = gsa_each_read(name_read, reads);
    json_object_set_new(told, "reads", reads);
    char *line = named ? json_dumps(told, JSON_COMPACT) : NULL;
    *text = line ? gsa_copy_text(one->bench->system, line) : NULL;
    return *text ? GSA_OK : gsa_out_of_memory(error, "the result", 4096);
}

/* ---- in the parent ------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of milliseconds, in seconds; 0 of none, or without memory. */
static double median_of(const gsa_system *system, const json_t *ms)
{
    const size_t count = json_array_size(ms);
    double *x = count > 0 ? gsa_alloc(system, count, sizeof *x) : NULL;
    if (!x) return 0;
    for (size_t i = 0; i < count; i++) x[i] = json_real_value(json_array_get(ms, i));
    qsort(x, count, sizeof *x, ascending);
    const double median = 0.5 * (x[(count - 1) / 2] + x[count / 2]);
    gsa_release(system, x);
    return 1e-3 * median;
}

/* Of the last round; but the steps of all, and the largest peak. */
static void note_facts(const gsa_system *system, json_t *facts, const json_t *told, int64_t peak)
{
    static const char *const keys[] = { "encoder",    "decoder",    "steps",       "examples",
                                        "tokens",     "nodes",      "score_bytes", "edges",
                                        "in_degree",  "parameters", "tape_bytes",  "seconds",
                                        "graph_steps" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(told, keys[i]);
        if (value) json_object_set(facts, keys[i], value);
    }
    json_t *times = json_object_get(facts, "step_ms"), *more = json_object_get(told, "step_ms");
    if (times) json_array_extend(times, more);
    else json_object_set(facts, "step_ms", more);
    const double seconds = median_of(system, json_object_get(facts, "step_ms")),
                 examples = json_number_value(json_object_get(told, "examples"));
    json_object_set_new(
        facts, "tokens_per_second",
        json_real(seconds > 0 ? json_number_value(json_object_get(told, "step_tokens")) / seconds
                              : 0));
    if (examples > 0)
        json_object_set_new(
            facts, "length",
            json_real(json_number_value(json_object_get(told, "tokens")) / examples));
    if (peak > json_integer_value(json_object_get(facts, "peak_rss_bytes")))
        json_object_set_new(facts, "peak_rss_bytes", json_integer((json_int_t)peak));
}

static gsa_status run_case(void *state, double *seconds, gsa_error *error)
{
    const gsa_train_case *one = state;
    gsa_bench_case *slot = &one->bench->cases[one->slot];
    const gsa_child_work work = {
        .prepare = multiply_once, .run = train, .context = state, .most_bytes = one->most_bytes
    };
    char *text;
    int64_t peak;
    const gsa_status status = gsa_child_run(one->bench->system, &work, &text, &peak, error);
    if (status == GSA_ERR_MEMORY && one->most_bytes > 0) {
        snprintf(slot->skipped, GSA_ERROR_SIZE, "not within --memory %lld MiB: %.900s",
                 (long long)(one->most_bytes >> 20), error->text);
        return GSA_OK;
    }
    if (status != GSA_OK) return gsa_fail_at(error, status, "%s", slot->name);
    json_t *told = json_loads(text, 0, NULL), *path;
    size_t i;
    int noted = 1;
    json_array_foreach (json_object_get(told, "reads"), i, path)
        noted = noted && gsa_note_read(json_string_value(path));
    seconds[0] = median_of(one->bench->system, json_object_get(told, "step_ms"));
    seconds[1] = json_number_value(json_object_get(told, "seconds"));
    note_facts(one->bench->system, slot->facts, told, peak);
    slot->flops[0] = json_number_value(json_object_get(told, "step_tokens"));
    snprintf(slot->detail, sizeof slot->detail, "peak %lld MiB",
             (long long)json_integer_value(json_object_get(slot->facts, "peak_rss_bytes")) >> 20);
    json_decref(told);
    gsa_release(one->bench->system, text);
    return noted ? GSA_OK : gsa_out_of_memory(error, "the files that were read", 4096);
}

/* ---- cases --------------------------------------------------------------------------------- */

/* Three quarters of the machine's memory; 0 where that is not known. */
static int64_t usual_mib(void)
{
    const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (pages / 4 * 3 * bytes) >> 20 : 0;
}

/* What --each varied, "bpt:k=16:causal=1*4 512"; the recipe where it varied nothing, or there are
 * others. */
static void name_case(gsa_bench_case *slot, const gsa_sweep_run *run, const char *recipe,
                      int recipes)
{
    json_t *each = json_loads(run->each, 0, NULL), *value;
    const char *slash = strrchr(recipe, '/'), *key;
    size_t used = 0;
    if (json_object_size(each) == 0 || recipes > 1)
        used = (size_t)snprintf(slot->name, sizeof slot->name, "%.60s", slash ? slash + 1 : recipe);
    json_object_foreach (each, key, value) {
        if (used < sizeof slot->name)
            used += (size_t)snprintf(slot->name + used, sizeof slot->name - used, "%s%s",
                                     used ? " " : "", json_string_value(value));
    }
    json_object_set_new(slot->facts, "recipe", gsa_json_name(slash ? slash + 1 : recipe));
    json_object_set_new(slot->facts, "each", each);
}

static gsa_status add_case(gsa_bench *bench, const gsa_train_options *options,
                           const gsa_sweep_run *run, gsa_error *error)
{
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    gsa_train_case *one = slot ? gsa_alloc_zero(bench->system, 1, sizeof *one) : NULL;
    if (!one) return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    *one =
        (gsa_train_case){ .bench = bench,
                          .options = *options,
                          .most_bytes = gsa_args_number(bench->args, "memory", usual_mib()) << 20,
                          .slot = bench->n_cases - 1 };
    one->options.overrides = (const char *const *)run->set, one->options.n_overrides = run->sets;
    slot->state = one, slot->run = run_case, slot->release = release;
    name_case(slot, run, options->recipe, gsa_args_operands(bench->args) - 1);
    return GSA_OK;
}

/* --set, and what a measurement of steps asks of a recipe. */
static const char **overrides_of(const gsa_bench *bench, char max_steps[64], int *count)
{
    const char *const *given = gsa_args_texts(bench->args, "set", count);
    const int64_t steps = gsa_args_number(bench->args, "steps", 0);
    const char **all = gsa_alloc(bench->system, (size_t)*count + 3, sizeof *all);
    if (!all) return NULL;
    for (int i = 0; i < *count; i++) all[i] = given[i];
    all[(*count)++] = "train.report_every=1";
    if (steps == 0) return all;
    snprintf(max_steps, 64, "train.max_steps=%lld", (long long)steps + WARM_UP);
    all[(*count)++] = max_steps, all[(*count)++] = "train.epochs=1000000";
    return all;
}

static gsa_status add_recipe(gsa_bench *bench, const char *recipe, gsa_error *error)
{
    char max_steps[64];
    gsa_sweep_options sweep = { .train = { .recipe = recipe,
                                           .device = gsa_args_text(bench->args, "device"),
                                           .threads = bench->threads,
                                           .steps_alone = gsa_args_given(bench->args, "steps") } };
    gsa_train_options *options = &sweep.train;
    gsa_status status = gsa_check_reread(recipe, error);
    if (status != GSA_OK) return status;
    sweep.each = gsa_args_texts(bench->args, "each", &sweep.n_each);
    options->plugins = gsa_args_texts(bench->args, "plugin", &options->n_plugins);
    const char **overrides = overrides_of(bench, max_steps, &options->n_overrides);
    if (!overrides) return gsa_out_of_memory(error, "--set", options->n_overrides * 8);
    options->overrides = overrides;
    gsa_sweep_plan *plan = &bench->plans[bench->n_plans];
    status = gsa_sweep_plan_create(bench->system, &sweep, plan, error);
    gsa_release(bench->system, overrides);
    if (status != GSA_OK) return status;
    bench->n_plans++;
    for (int i = 0; i < plan->runs && status == GSA_OK; i++) {
        const gsa_sweep_run *run = &plan->run[i]; /* a case that is skipped may have read, too */
        status = add_case(bench, options, run, error);
        if (status == GSA_OK &&
            !gsa_note_recipe(bench->system, recipe, (const char *const *)run->set, run->sets))
            status = gsa_out_of_memory(error, "the files that a recipe names", 4096);
    }
    return status;
}

gsa_status gsa_bench_train(gsa_bench *bench, gsa_error *error)
{
    const int count = gsa_args_operands(bench->args);
    if (count < 2)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa bench train' needs a RECIPE or several");
    if (gsa_args_flag(bench->args, "profile")) return gsa_bench_profile(bench, error);
    bench->series[0] = "step", bench->series[1] = "run", bench->n_series = 2;
    bench->rate = (gsa_bench_rate){ "tokens/s", "tokens_per_second", 1 };
    bench->no_warm_up = 1;
    /* plugins that are loaded here load in a child whatever its memory is */
    gsa_status status = gsa_open_registry(bench->args, &bench->registry, error);
    for (int i = 1; i < count && status == GSA_OK; i++)
        status = add_recipe(bench, gsa_args_operand(bench->args, i), error);
    return status;
}
