/* bench_profile.c - gsa bench train --profile: where the time of a recipe's steps goes, call by
 * call.
 *
 * Each round trains the whole recipe once and keeps a profile; what is shown is the round whose
 * steps took the median time. Of a step's time the calls of the backend, building its batches, and
 * the rest: the program between the calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lab/bench.h"
#include "kernels/profile.h"

typedef struct gsa_profile_case {
    gsa_bench *bench;
    gsa_train_options options;
    json_t *facts;       /* the slot's */
    gsa_profile *rounds; /* [runs + 1]: a round each, and the last one as long as it runs */
    int count, warm;     /* rounds that count, by their steps' time; the one before them is done */
} gsa_profile_case;

static void release(void *state)
{
    gsa_profile_case *one = state;
    gsa_release(one->bench->system, one->rounds);
    gsa_release(one->bench->system, one);
}

static double step_seconds(const gsa_profile *profile)
{
    return profile->section[GSA_PROFILE_STEP].seconds;
}

static int by_step_time(const void *a, const void *b)
{
    const double x = step_seconds(a), y = step_seconds(b);
    return (x > y) - (x < y);
}

/* ---- what is shown: parts by their time ---------------------------------------------------- */

typedef struct shown_part {
    const char *name;
    gsa_profile_time time;
} shown_part;

typedef struct summary {
    shown_part part[GSA_PROFILE_PARTS + 1];
    int count;
    gsa_profile_time whole, product;
    gsa_profile_time batch,
        beside; /* building batches: in the section's time, and in a thread of its own meanwhile */
} summary;

static int by_time(const void *a, const void *b)
{
    const shown_part *x = a, *y = b;
    return (x->time.seconds < y->time.seconds) - (x->time.seconds > y->time.seconds);
}

static void add(gsa_profile_time *to, const gsa_profile_time *from, int sign)
{
    to->seconds += sign * from->seconds;
    to->processor += sign * from->processor;
}

static summary summarise(const gsa_profile *profile, int section)
{
    summary s = { .whole = profile->section[section],
                  .product = profile->part[section][GSA_PROFILE_gemm] };
    shown_part rest = {
        "rest",
        { .calls = s.whole.calls, .seconds = s.whole.seconds, .processor = s.whole.processor }
    };
    for (int p = 0; p < GSA_PROFILE_PARTS; p++) {
        const gsa_profile_time *time = &profile->part[section][p];
        if (time->calls == 0) continue;
        s.part[s.count++] = (shown_part){ gsa_profile_name(p), *time };
        add(&rest.time, time, -1);
    }
    static const int building[] = { GSA_PROFILE_FILL, GSA_PROFILE_GRAPH, GSA_PROFILE_WAIT };
    for (size_t i = 0; i < sizeof building / sizeof *building; i++) {
        add(&s.batch, &profile->part[section][building[i]], 1);
        add(&s.beside, &profile->beside[section][building[i]], 1);
    }
    qsort(s.part, (size_t)s.count, sizeof *s.part, by_time);
    s.part[s.count++] = rest;
    return s;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static json_t *time_json(const gsa_profile_time *time)
{
    json_t *object = json_pack("{s:I, s:f, s:f}", "calls", (json_int_t)time->calls, "seconds",
                               time->seconds, "processor_seconds", time->processor);
    if (time->flops > 0)
        json_object_update_new(object, json_pack("{s:f, s:f, s:f}", "gflop", 1e-9 * time->flops,
                                                 "gflops", 1e-9 * ratio(time->flops, time->seconds),
                                                 "gflops_processor",
                                                 1e-9 * ratio(time->flops, time->processor)));
    return object;
}

static json_t *section_json(const gsa_profile *profile, int section)
{
    const summary s = summarise(profile, section);
    json_t *parts = json_object();
    for (int i = 0; i < s.count; i++) {
        json_t *part = time_json(&s.part[i].time);
        json_object_set_new(part, "share",
                            json_real(ratio(s.part[i].time.seconds, s.whole.seconds)));
        json_object_set_new(parts, s.part[i].name, part);
    }
    json_t *object = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "per_product",
                               ratio(s.whole.seconds, s.product.seconds), "per_product_processor",
                               ratio(s.whole.processor, s.product.processor), "batch_share",
                               ratio(s.batch.seconds, s.whole.seconds), "batch_share_processor",
                               ratio(s.batch.processor, s.whole.processor), "ahead_share",
                               ratio(s.beside.seconds, s.whole.seconds), "ahead_share_processor",
                               ratio(s.beside.processor, s.whole.processor));
    json_object_update_new(object, time_json(&s.whole));
    json_object_set_new(object, "parts", parts);
    return object;
}

/* ---- table for people ---------------------------------------------------------------------- */

static void write_part(const shown_part *part, const summary *s, gsa_output *out)
{
    const gsa_profile_time *t = &part->time;
    gsa_output_format(out, "  %-24s %9.3f %6.1f%% %9.3f %6.1f%% %10.1f %9.4f", part->name,
                      t->seconds, 100 * ratio(t->seconds, s->whole.seconds), t->processor,
                      100 * ratio(t->processor, s->whole.processor),
                      ratio((double)t->calls, (double)s->whole.calls),
                      1e3 * ratio(t->seconds, (double)s->whole.calls));
    if (t->flops > 0)
        gsa_output_format(out, " %9.2f %8.2f", 1e-9 * t->flops, 1e-9 * ratio(t->flops, t->seconds));
    gsa_output_text(out, "\n");
}

static gsa_status explain(void *state, gsa_output *out, gsa_error *error)
{
    const gsa_profile_case *one = state;
    const gsa_profile *profile = &one->rounds[one->count / 2];
    const summary s = summarise(profile, GSA_PROFILE_STEP);
    const gsa_profile_time *rest = &profile->section[GSA_PROFILE_REST],
                           *judged = &profile->section[GSA_PROFILE_EVALUATION];
    (void)error;
    gsa_output_format(out, "  %-24s %9s %7s %9s %7s %10s %9s %9s %8s\n", "of all steps", "seconds",
                      "share", "processor", "share", "calls/step", "ms/step", "GFLOP", "GFLOP/s");
    for (int i = 0; i < s.count; i++) write_part(&s.part[i], &s, out);
    gsa_output_format(out,
                      "  %lld steps in %.3f s (processor %.3f s): %.2f times the products' time "
                      "(processor %.2f)\n",
                      (long long)s.whole.calls, s.whole.seconds, s.whole.processor,
                      ratio(s.whole.seconds, s.product.seconds),
                      ratio(s.whole.processor, s.product.processor));
    gsa_output_format(
        out,
        "  building batches (batch, graph, wait): %.2f%% of the steps' time (processor %.2f%%)\n",
        100 * ratio(s.batch.seconds, s.whole.seconds),
        100 * ratio(s.batch.processor, s.whole.processor));
    if (s.beside.seconds > 0)
        gsa_output_format(out,
                          "  ahead, in a thread of its own: as long as %.2f%% of the steps' time "
                          "(processor %.2f%%)\n",
                          100 * ratio(s.beside.seconds, s.whole.seconds),
                          100 * ratio(s.beside.processor, s.whole.processor));
    gsa_output_format(
        out, "  outside of steps: evaluation on dev %.3f s; reading, order, reports, test %.3f s\n",
        judged->seconds, rest->seconds);
    return GSA_OK;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static gsa_status train(gsa_profile_case *one, gsa_profile *profile, gsa_error *error)
{
    char *result = NULL;
    gsa_train_options options = one->options;
    *profile = (gsa_profile){ 0 };
    gsa_status status = gsa_backend_open(one->bench->system, options.device, GSA_F32,
                                         options.threads, &options.backend, error);
    if (status == GSA_OK)
        status = gsa_backend_profile(options.backend, profile, &options.backend, error);
    if (status != GSA_OK) return status;
    options.profile = profile;
    status = gsa_train(one->bench->system, &options, &result, error);
    gsa_backend_release(options.backend);
    gsa_release(one->bench->system, result);
    return status;
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    gsa_profile_case *one = state;
    gsa_profile *profile = &one->rounds[one->bench->runs];
    const gsa_status status = train(one, profile, error);
    if (status != GSA_OK) return status;
    seconds[0] = step_seconds(profile);
    if (!one->warm++) return GSA_OK;
    one->rounds[one->count++] = *profile;
    qsort(one->rounds, (size_t)one->count, sizeof *one->rounds, by_step_time);
    profile = &one->rounds[one->count / 2];
    json_object_set_new(one->facts, "timed_steps",
                        json_integer((json_int_t)profile->section[GSA_PROFILE_STEP].calls));
    json_object_set_new(one->facts, "threads", json_integer(one->bench->threads));
    json_object_set_new(one->facts, "step", section_json(profile, GSA_PROFILE_STEP));
    json_object_set_new(one->facts, "evaluation", section_json(profile, GSA_PROFILE_EVALUATION));
    json_object_set_new(one->facts, "outside", time_json(&profile->section[GSA_PROFILE_REST]));
    return GSA_OK;
}

static gsa_status add_case(gsa_bench *bench, const gsa_train_options *options, gsa_error *error)
{
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    gsa_profile_case *one = gsa_alloc_zero(bench->system, 1, sizeof *one);
    gsa_profile *rounds = gsa_alloc_zero(bench->system, (size_t)bench->runs + 1, sizeof *rounds);
    if (!slot || !one || !rounds) {
        gsa_release(bench->system, one);
        gsa_release(bench->system, rounds);
        return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    }
    *one = (gsa_profile_case){
        .bench = bench, .options = *options, .facts = slot->facts, .rounds = rounds
    };
    slot->state = one, slot->run = run, slot->explain = explain, slot->release = release;
    snprintf(slot->name, sizeof slot->name, "%s", options->recipe);
    return GSA_OK;
}

gsa_status gsa_bench_profile(gsa_bench *bench, gsa_error *error)
{
    const char *device = gsa_args_text(bench->args, "device");
    gsa_train_options options = { .device = strcmp(device, "auto") == 0 ? "cpu" : device,
                                  .threads = bench->threads };
    gsa_status status = GSA_OK;
    options.overrides = gsa_args_texts(bench->args, "set", &options.n_overrides);
    options.plugins = gsa_args_texts(bench->args, "plugin", &options.n_plugins);
    bench->series[0] = "steps", bench->n_series = 1;
    static const char *const alien[] = { "steps", "each", "memory" };
    for (size_t i = 0; i < sizeof alien / sizeof *alien; i++)
        if (gsa_args_given(bench->args, alien[i]))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "--%s is not for --profile, which trains whole recipes: --set "
                            "train.max_steps=N shortens them",
                            alien[i]);
    if (strncmp(device, "cuda", 4) == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "--profile times calls, and --device %s only queues them: expected cpu or ref", device);
    for (int i = 1; i < gsa_args_operands(bench->args) && status == GSA_OK; i++) {
        options.recipe = gsa_args_operand(bench->args, i);
        status = add_case(bench, &options, error);
    }
    return status;
}
