/* gsa bench - how long kernels, graphs and training take, several side by side. */
#define _DEFAULT_SOURCE /* getloadavg */
#include "tools/lab/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topologies/words.h"

gsa_bench_case *gsa_bench_add(gsa_bench *bench, gsa_error *error)
{
    gsa_bench_case *more =
        gsa_resize(bench->system, bench->cases, (size_t)bench->n_cases + 1, sizeof *more);
    double *seconds =
        gsa_alloc_zero(bench->system, (size_t)bench->runs * GSA_BENCH_SERIES, sizeof *seconds);
    char *skipped = gsa_alloc_zero(bench->system, GSA_ERROR_SIZE, 1);
    if (more) bench->cases = more;
    if (!more || !seconds || !skipped) {
        gsa_release(bench->system, seconds);
        gsa_release(bench->system, skipped);
        gsa_out_of_memory(error, "bench cases", (int64_t)sizeof *more);
        return NULL;
    }
    gsa_bench_case *made = &bench->cases[bench->n_cases++];
    *made = (gsa_bench_case){ .seconds = seconds, .skipped = skipped, .facts = json_object() };
    return made;
}

void gsa_bench_detail(const gsa_bench *bench, const char *what, int32_t length,
                      char detail[GSA_BENCH_DETAIL])
{
    int batches;
    gsa_args_numbers(bench->args, "batch", &batches);
    if (batches > 1) snprintf(detail, GSA_BENCH_DETAIL, "%s=%d x %d", what, length, bench->batch);
    else snprintf(detail, GSA_BENCH_DETAIL, "%s=%d", what, length);
}

gsa_status gsa_bench_each_pattern(gsa_bench *bench, gsa_bench_add_pattern *add, gsa_error *error)
{
    static const char *const usual[] = { "ring", "star", "window", "full" };
    int n_specs, n_lengths, n_batches;
    const char *const *specs = gsa_args_texts(bench->args, "topology", &n_specs);
    const int64_t *lengths = gsa_args_numbers(bench->args, "length", &n_lengths);
    const int64_t *batches = gsa_args_numbers(bench->args, "batch", &n_batches);
    if (n_specs == 0) specs = usual, n_specs = sizeof usual / sizeof *usual;
    gsa_status status = gsa_open_registry(bench->args, &bench->registry, error);
    for (int s = 0; s < n_specs && status == GSA_OK; s++) {
        gsa_pattern *pattern;
        status = gsa_open_pattern(bench->registry, bench->system, specs[s], &pattern, error);
        if (status != GSA_OK) break;
        for (int i = 0; i < n_lengths * n_batches && status == GSA_OK; i++) {
            bench->batch = (int32_t)batches[i % n_batches];
            status = add(bench, pattern, (int32_t)lengths[i / n_batches], error);
        }
        gsa_pattern_release(pattern);
    }
    return status;
}

/* kernel and graph: with the passages of --text where it is given. */
static gsa_status add_patterns(gsa_bench *bench, gsa_bench_text *text, gsa_error *error)
{
    const char *path = gsa_args_text(bench->args, "text");
    const gsa_status status = path ? gsa_bench_text_open(bench->system, path, text, error) : GSA_OK;
    if (status != GSA_OK) return status;
    bench->text = path ? text : NULL;
    return strcmp(bench->what, "kernel") == 0 ? gsa_bench_kernel(bench, error)
                                              : gsa_bench_graph(bench, error);
}

static gsa_status add_cases(gsa_bench *bench, gsa_bench_text *text, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const int kernel = strcmp(bench->what, "kernel") == 0,
              graph = strcmp(bench->what, "graph") == 0;
    const int lexicon = strcmp(bench->what, "lexicon") == 0;
    if (strcmp(bench->what, "train") == 0) return gsa_bench_train(bench, error);
    const int generate = strcmp(bench->what, "generate") == 0;
    if (!kernel && !graph && !lexicon && !generate)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'gsa bench' cannot measure %s: expected kernel, graph, train, lexicon or generate",
            gsa_word_show(bench->what, shown));
    if (gsa_args_operands(bench->args) > 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa bench %s' takes no recipe, but %s is given",
                        bench->what, gsa_word_show(gsa_args_operand(bench->args, 1), shown));
    if (lexicon) return gsa_bench_lexicon(bench, error);
    if (generate) return gsa_bench_generate(bench, error);
    return add_patterns(bench, text, error);
}

/* Round -1 warms up: its times are overwritten by round 0. */
static gsa_status measure(gsa_bench *bench, gsa_error *error)
{
    for (int round = bench->no_warm_up ? 0 : -1; round < bench->runs; round++) {
        for (int c = 0; c < bench->n_cases; c++) {
            gsa_bench_case *one = &bench->cases[c];
            double seconds[GSA_BENCH_SERIES] = { 0 };
            if (*one->skipped) continue;
            const gsa_status status = one->run(one->state, seconds, error);
            if (status != GSA_OK) return status;
            for (int s = 0; s < bench->n_series; s++)
                one->seconds[s * bench->runs + (round < 0 ? 0 : round)] = seconds[s];
        }
    }
    return GSA_OK;
}

static int explains(const gsa_args *args)
{
    return gsa_args_flag(args, "explain") || gsa_args_flag(args, "profile");
}

static int goes_to_output(const gsa_args *args, const char *option)
{
    const char *path = gsa_args_text(args, option);
    return path && strcmp(path, "-") == 0;
}

/* JSON or arrays that go to standard output are there alone: who reads them finds no table. */
static gsa_status check_outputs(const gsa_args *args, const char *what, gsa_error *error)
{
    const int json = goes_to_output(args, "json"), arrays = goes_to_output(args, "arrays");
    const char *option = json ? "--json" : "--arrays";
    if (gsa_args_given(args, "arrays") && strcmp(what, "kernel") != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--arrays is of gsa bench kernel, and this is gsa bench %s", what);
    if (json && arrays)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--json - and --arrays - would share standard output: give one a file");
    if ((json || arrays) && explains(args))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s - leaves no room on standard output for %s: give %s a file", option,
                        gsa_args_flag(args, "explain") ? "--explain" : "--profile", option);
    return GSA_OK;
}

static gsa_status print(const gsa_bench *bench, gsa_error *error)
{
    gsa_output *out;
    if (goes_to_output(bench->args, "json") || goes_to_output(bench->args, "arrays")) return GSA_OK;
    gsa_status status = gsa_output_open(bench->system, "-", &out, error);
    if (status != GSA_OK) return status;
    gsa_bench_write_table(bench, out);
    for (int c = 0; c < bench->n_cases && explains(bench->args) && status == GSA_OK; c++) {
        const gsa_bench_case *one = &bench->cases[c];
        if (!one->explain) continue;
        gsa_output_format(out, "\n%s %s\n", one->name, one->detail);
        status = one->explain(one->state, out, error);
    }
    if (status == GSA_OK) return gsa_output_commit(out, error);
    gsa_output_abandon(out);
    return status;
}

static void end(gsa_bench *bench)
{
    for (int c = 0; c < bench->n_cases; c++) {
        if (bench->cases[c].release) bench->cases[c].release(bench->cases[c].state);
        json_decref(bench->cases[c].facts);
        gsa_release(bench->system, bench->cases[c].seconds);
        gsa_release(bench->system, bench->cases[c].skipped);
    }
    for (int p = 0; p < bench->n_plans; p++) gsa_sweep_plan_release(&bench->plans[p]);
    gsa_release(bench->system, bench->cases);
    gsa_registry_release(bench->registry);
}

static double load_now(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

/* A training has many steps in a round. */
static int rounds_of(const gsa_args *args)
{
    const int train = strcmp(gsa_args_operand(args, 0), "train") == 0;
    return train && !gsa_args_given(args, "runs") ? 1 : (int)gsa_args_number(args, "runs", 1);
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_bench bench = { .system = gsa_args_system(args),
                        .args = args,
                        .what = gsa_args_operand(args, 0),
                        .rate = { "GFLOP/s", "gflops", 1e-9 },
                        .runs = rounds_of(args),
                        .load = load_now(),
                        .counts_cpu = strcmp(gsa_args_text(args, "clock"), "cpu") == 0,
                        .threads = gsa_thread_count(args) };
    const char *json = gsa_args_text(args, "json");
    gsa_bench_text text = { 0 };
    gsa_status status = json ? gsa_output_check(bench.system, json, error) : GSA_OK;
    if (status == GSA_OK) status = check_outputs(args, bench.what, error);
    if (status == GSA_OK) status = add_cases(&bench, &text, error);
    if (status == GSA_OK) status = measure(&bench, error);
    if (status == GSA_OK) status = print(&bench, error);
    if (status == GSA_OK && json) status = gsa_bench_write_json(&bench, json, error);
    end(&bench);
    gsa_bench_text_close(bench.system, &text);
    return status;
}

static const gsa_option options[] = {
    { "topology", GSA_OPTION_TEXTS, "SPEC", NULL, "ring, star, window, full", 0, 0,
      "kernel, graph: a pattern to measure; generate: a stack, as window:causal=1*6; repeatable" },
    { "length", GSA_OPTION_NUMBERS, "N,N,...", "512", NULL, 0, 1 << 24,
      "kernel, graph: tokens of an example; generate: tokens before those that are timed" },
    { "batch", GSA_OPTION_NUMBERS, "N,N,...", "4", NULL, 1, 65536,
      "kernel, graph: examples in the batch; generate: sequences side by side" },
    { "heads", GSA_OPTION_NUMBER, "H", "8", NULL, 1, 4096,
      "kernel, graph, generate: attention heads" },
    { "head-dim", GSA_OPTION_NUMBER, "D", "64", NULL, 1, 65536,
      "kernel, generate: numbers of a head" },
    { "real", GSA_OPTION_CHOICE, "float|double", "float", NULL, 0, 0, "kernel: the numbers' type" },
    { "dropout", GSA_OPTION_TEXT, "P", "0", NULL, 0, 0,
      "kernel: the share of edges that attention drops" },
    { "against", GSA_OPTION_TEXTS, "DEVICE[/N]", NULL, NULL, 0, 0,
      "kernel: measured in turn with --device; one of its, or cpu-plain, cpu-avx2, cpu-avx512, "
      "cpu-neon, cuda-cusparse; "
      "N threads; repeatable" },
    { "lexicon", GSA_OPTION_TEXT, "FILE", NULL, NULL, 0, 0,
      "lexicon: a file with one word a line" },
    { "text", GSA_OPTION_TEXT, "FILE", NULL, NULL, 0, 0,
      "lexicon: the text whose words are looked up; kernel, graph: each example is the next "
      "--length characters of it, "
      "line ends left out: for patterns that read text, as char_word" },
    { "runs", GSA_OPTION_NUMBER, "N", "7", NULL, 1, 10000,
      "rounds; each runs every case once, after one that warms up; train: 1, its first steps warm "
      "up" },
    { "each", GSA_OPTION_TEXTS, "NAME=VALUE,VALUE...", NULL, NULL, 0, 0,
      "train: a case for each value, as gsa train has it; repeatable, all combinations" },
    { "steps", GSA_OPTION_NUMBER, "N", NULL, "the whole recipe, with its evaluations", 1, 1000000,
      "train: so many steps are timed, after two that warm up, and nothing else is done" },
    { "memory", GSA_OPTION_NUMBER, "MIB", NULL, "three quarters of the machine's", 0, 1 << 30,
      "train: a case that takes more is skipped, and says so; 0: no limit" },
    { "clock", GSA_OPTION_CHOICE, "wall|cpu", "wall", NULL, 0, 0,
      "cpu: the time in which the threads computed is counted: where other work goes on, with "
      "--threads 1" },
    { "explain", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,
      "kernel, graph: print the plan of each phase" },
    { "profile", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,
      "train: print where the time of the steps goes, call by call" },
    { "arrays", GSA_OPTION_OUTPUT, "FILE", NULL, "no file", 0, 0,
      "kernel: edges, numbers and results of one round of its one case, as safetensors" },
    { "json", GSA_OPTION_OUTPUT, "FILE", NULL, "no file", 0, 0,
      "the figures as JSON; - is standard output, which then has no table" },
    GSA_OPTION_ROW_SET,
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
};
const gsa_verb gsa_verb_bench = {
    .name = "bench",
    .summary =
        "measure kernels, graph building, training, a lexicon or generation, several side by side",
    .operands = "kernel|graph|train|lexicon|generate [RECIPE...]",
    .least = 1,
    .most = 17,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "kernel: one attend forward and backward over all phases of a layer. graph: emit, "
             "batch, plan. train: whole "
             "recipes, "
             "with --set. lexicon: opening a word list, finding its words of 2 to 16 characters in "
             "a text. "
             "generate: the next tokens of a stack with random weights after a prefix, "
             "milliseconds a step of all "
             "sequences; edges "
             "and rows a token in the JSON.\nTimes are "
             "medians over the rounds; the spread is (largest - smallest) / median. Of kernels on "
             "the CPU in float, `floor` "
             "is the share of the time that no kernel can be below (docs/kernels.md), and what "
             "binds it: compute or memory.",
    .run = run
};
