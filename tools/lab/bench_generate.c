/* bench_generate.c - gsa bench generate: what the next tokens of a stack cost after prefixes of
 * several lengths. */
#include <stdio.h>
#include "tools/lab/bench.h"
#include "gsa/generation.h"

enum { STEPS = 64 }; /* timed in a round: bpt's short spans end among them as often as anywhere */

typedef struct generate_case {
    gsa_bench *bench;
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_stack *stack;
    gsa_tape *tape;
    gsa_generation *generation;
    gsa_settings settings;
    int32_t prefix, batch;
    int32_t *number; /* [batch + 1]: parents, then lengths */
    double *rows;    /* [prefix or batch][hidden] input */
} generate_case;

static void release(void *state)
{
    generate_case *one = state;
    gsa_generation_release(one->generation);
    if (one->tape) gsa_tape_release(one->tape);
    if (one->stack) gsa_stack_release(one->stack);
    if (one->parameters) gsa_parameters_release(one->parameters);
    if (one->backend) gsa_backend_release(one->backend);
    gsa_release(one->bench->system, one->number);
    gsa_release(one->bench->system, one->rows);
    gsa_release(one->bench->system, one);
}

static gsa_status append(generate_case *one, int64_t tokens, gsa_error *error)
{
    double *last = one->rows; /* what a device computes is waited for */
    gsa_tape_reset(one->tape, 0, 0, 0);
    gsa_tensor *x = gsa_tape_constant(one->tape, one->rows, GSA_F64, tokens, one->settings.hidden);
    gsa_tensor *y = gsa_generation_append(one->generation, one->tape, x, one->number, NULL);
    y = y ? gsa_op_view(one->tape, y, y->rows - 1, 1) : NULL;
    const gsa_status status = gsa_tape_status(one->tape, error);
    return status == GSA_OK ? gsa_tensor_read(one->backend, y, 0, last, error) : status;
}

/* Sequence 0 is the prefix and stays; the others go on from it in each round. */
static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    generate_case *one = state;
    for (int32_t i = 0; i <= one->batch; i++) one->number[i] = 0;
    const gsa_status chosen =
        gsa_generation_choose(one->generation, one->number, one->batch + 1, error);
    if (chosen != GSA_OK) return chosen;
    for (int32_t i = 1; i <= one->batch; i++) one->number[i] = 1;
    const double start = gsa_clock_now(one->bench->counts_cpu);
    for (int step = 0; step < STEPS; step++) {
        const gsa_status status = append(one, one->batch, error);
        if (status != GSA_OK) return status;
    }
    seconds[0] = (gsa_clock_now(one->bench->counts_cpu) - start) / STEPS;
    return GSA_OK;
}

static gsa_status make_stack(generate_case *one, const char *text, gsa_error *error)
{
    const gsa_system *system = one->bench->system;
    const gsa_stack_options options = { .name = "decoder", .reads = GSA_READ_SEQUENCE };
    gsa_stack_spec spec;
    gsa_status status = gsa_backend_open(system, gsa_args_text(one->bench->args, "device"), GSA_F32,
                                         one->bench->threads, &one->backend, error);
    if (status == GSA_OK)
        status = gsa_parameters_create(system, one->backend, 1, &one->parameters, error);
    if (status == GSA_OK) status = gsa_spec_parse(system, text, &spec, error);
    if (status != GSA_OK) return status;
    status = gsa_stack_create(system, one->bench->registry, &spec, &one->settings, &options,
                              one->parameters, &one->stack, error);
    gsa_spec_release(&spec);
    if (status == GSA_OK && gsa_stack_reads_memory(one->stack))
        status = gsa_fail(error, GSA_ERR_UNSUPPORTED,
                          "%s reads a memory, and 'gsa bench generate' has none", text);
    return status == GSA_OK ? gsa_tape_create(system, one->backend, &one->tape, error) : status;
}

static gsa_status begin(generate_case *one, gsa_error *error)
{
    const gsa_system *system = one->bench->system;
    const gsa_generation_options options = { .longest = one->prefix + STEPS };
    const int64_t rows = one->prefix > one->batch ? one->prefix : one->batch;
    one->number = gsa_alloc(system, (size_t)one->batch + 1, sizeof *one->number);
    one->rows = gsa_alloc(system, (size_t)(rows * one->settings.hidden), sizeof *one->rows);
    if (!one->number || !one->rows)
        return gsa_out_of_memory(error, "input rows", rows * one->settings.hidden * 8);
    for (int64_t i = 0; i < rows * one->settings.hidden; i++)
        one->rows[i] = (double)(gsa_random(7, (uint64_t)i, 0) >> 11) / 4503599627370496.0 - 1;
    gsa_status status =
        gsa_generation_create(one->stack, one->backend, &options, &one->generation, error);
    if (status != GSA_OK) return status;
    gsa_tape_reset(one->tape, 0, 0, 0);
    gsa_generation_open(one->generation, one->tape, 1, NULL);
    status = gsa_tape_status(one->tape, error);
    one->number[0] = one->prefix;
    return status == GSA_OK && one->prefix ? append(one, one->prefix, error) : status;
}

/* One round tells what a token makes and reads. */
static gsa_status note_counts(gsa_bench_case *slot, generate_case *one, gsa_error *error)
{
    double seconds[GSA_BENCH_SERIES];
    const gsa_generation_counts before = gsa_generation_count(one->generation);
    const gsa_status status = run(one, seconds, error);
    const gsa_generation_counts after = gsa_generation_count(one->generation);
    const double tokens = (double)(after.tokens - before.tokens);
    json_object_set_new(slot->facts, "prefix", json_integer(one->prefix));
    json_object_set_new(slot->facts, "sequences", json_integer(one->batch));
    json_object_set_new(slot->facts, "rows_per_token",
                        json_real((double)(after.rows - before.rows) / tokens));
    json_object_set_new(slot->facts, "edges_per_token",
                        json_real((double)(after.edges - before.edges) / tokens));
    json_object_set_new(slot->facts, "kept_bytes", json_integer(before.bytes));
    return status;
}

static gsa_status add(gsa_bench *bench, const char *spec, int32_t prefix, gsa_error *error)
{
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    generate_case *one = slot ? gsa_alloc_zero(bench->system, 1, sizeof *one) : NULL;
    if (!one) return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    const int32_t heads = (int32_t)gsa_args_number(bench->args, "heads", 8);
    const int32_t head_dim = (int32_t)gsa_args_number(bench->args, "head-dim", 64);
    *one = (generate_case){
        .bench = bench, .settings = gsa_settings_default(), .prefix = prefix, .batch = bench->batch
    };
    one->settings.heads = heads, one->settings.head_dim = head_dim,
    one->settings.hidden = heads * head_dim;
    slot->state = one, slot->run = run, slot->release = release;
    snprintf(slot->name, sizeof slot->name, "%s", spec);
    gsa_bench_detail(bench, "prefix", prefix, slot->detail);
    gsa_status status = make_stack(one, spec, error);
    if (status == GSA_OK) status = begin(one, error);
    return status == GSA_OK ? note_counts(slot, one, error) : status;
}

gsa_status gsa_bench_generate(gsa_bench *bench, gsa_error *error)
{
    static const char *const usual[] = { "window:causal=1*2", "bpt:causal=1*2", "full:causal=1*2" };
    int n_specs, n_lengths, n_batches;
    const char *const *specs = gsa_args_texts(bench->args, "topology", &n_specs);
    const int64_t *lengths = gsa_args_numbers(bench->args, "length", &n_lengths);
    const int64_t *batches = gsa_args_numbers(bench->args, "batch", &n_batches);
    if (n_specs == 0) specs = usual, n_specs = sizeof usual / sizeof *usual;
    bench->series[0] = "token", bench->n_series = 1;
    gsa_status status = gsa_open_registry(bench->args, &bench->registry, error);
    for (int i = 0; i < n_specs * n_lengths * n_batches && status == GSA_OK; i++) {
        bench->batch = (int32_t)batches[i % n_batches];
        status = add(bench, specs[i / n_batches / n_lengths],
                     (int32_t)lengths[i / n_batches % n_lengths], error);
    }
    return status;
}
