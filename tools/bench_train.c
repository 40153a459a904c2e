/* bench_train.c - gsa bench train: whole recipes, nothing written. */
#include <stdio.h>
#include <sys/resource.h>
#include "bench.h"

typedef struct gsa_train_case {
    gsa_bench *bench;
    gsa_train_options options;
    json_t *facts; /* the slot's */
} gsa_train_case;

static void release(void *state)
{
    gsa_train_case *one = state;
    gsa_release(one->bench->system, one);
}

/* Of the result, and what the process has held at most so far: of the first case alone, where there are several. */
static void note_facts(json_t *facts, const char *result)
{
    static const char *const keys[] = { "steps", "seconds", "tokens_per_second", "parameters", "tape_bytes" };
    struct rusage usage;
    json_t *told = json_loads(result, 0, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(told, keys[i]);
        if (value) json_object_set(facts, keys[i], value);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        json_object_set_new(facts, "peak_rss_bytes", json_integer((json_int_t)usage.ru_maxrss * 1024));
    json_decref(told);
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    gsa_train_case *one = state;
    char *result = NULL;
    const double start = gsa_now();
    const gsa_status status = gsa_train(one->bench->system, &one->options, &result, error);
    seconds[0] = gsa_now() - start;
    if (status == GSA_OK) note_facts(one->facts, result);
    gsa_release(one->bench->system, result);
    return status;
}

gsa_status gsa_bench_train(gsa_bench *bench, gsa_error *error)
{
    const int count = gsa_args_operands(bench->args);
    if (count < 2) return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa bench train' wants a RECIPE or several");
    bench->series[0] = "train", bench->n_series = 1;
    for (int i = 1; i < count; i++) {
        gsa_bench_case *slot = gsa_bench_add(bench, error);
        gsa_train_case *one = gsa_alloc_zero(bench->system, 1, sizeof *one);
        if (!slot || !one) {
            gsa_release(bench->system, one);
            return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
        }
        one->bench = bench;
        one->options = (gsa_train_options){ .recipe = gsa_args_operand(bench->args, i),
                                            .device = gsa_args_text(bench->args, "device"),
                                            .threads = bench->threads };
        one->options.overrides = gsa_args_texts(bench->args, "set", &one->options.n_overrides);
        one->options.plugins = gsa_args_texts(bench->args, "plugin", &one->options.n_plugins);
        slot->state = one, slot->run = run, slot->release = release, one->facts = slot->facts;
        snprintf(slot->name, sizeof slot->name, "%s", one->options.recipe);
    }
    return GSA_OK;
}
