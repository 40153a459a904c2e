/* bench_graph.c - gsa bench graph: emitting an instance, joining a batch, planning its phases. */
#include <inttypes.h>
#include <stdio.h>
#include "tools/lab/bench.h"
#include "graph/plan.h"

typedef struct gsa_graph_case {
    gsa_bench *bench;
    gsa_pattern *pattern;
    int32_t length, batch;
    int64_t edges, runs, bytes; /* of the batch; of the examples that are emitted, as they are */
} gsa_graph_case;

static void release(void *state)
{
    gsa_graph_case *one = state;
    gsa_pattern_release(one->pattern);
    gsa_release(one->bench->system, one);
}

/* Every phase with edges, one after the other; `out` NULL: only the work. */
static gsa_status plan_phases(const gsa_graph_case *one, const gsa_batch *batch, gsa_output *out,
                              gsa_error *error)
{
    const gsa_schema *schema = gsa_pattern_schema(one->pattern);
    gsa_status status = GSA_OK;
    for (int p = 0; p < gsa_schema_phases(schema) && status == GSA_OK; p++) {
        gsa_edges edges;
        gsa_plan *plan;
        char text[2048];
        if (gsa_schema_phase(schema, p)->aggregate == GSA_NONE) continue;
        gsa_batch_edges(batch, p, NULL, &edges);
        status = gsa_plan_create(one->bench->system, &edges, NULL, &plan, error);
        if (status != GSA_OK) break;
        if (out) {
            gsa_plan_explain(plan, text, sizeof text);
            gsa_output_format(out, "phase %s\n%s", gsa_schema_phase(schema, p)->name, text);
        }
        gsa_plan_release(one->bench->system, plan);
    }
    return status;
}

static void count_examples(gsa_graph_case *one, const gsa_bench_examples *examples)
{
    one->runs = one->bytes = 0;
    for (int32_t i = 0; i < examples->different; i++) {
        one->bytes += gsa_instance_bytes(examples->at[i]);
        for (int p = 0; p < gsa_schema_phases(gsa_pattern_schema(one->pattern)); p++) {
            gsa_edges edges;
            gsa_instance_edges(examples->at[i], p, &edges);
            one->runs += edges.run_total;
        }
    }
}

static gsa_status build(gsa_graph_case *one, double *seconds, gsa_output *out, gsa_error *error)
{
    const gsa_bench *bench = one->bench;
    const int32_t heads = (int32_t)gsa_args_number(bench->args, "heads", 1);
    gsa_bench_examples examples;
    gsa_batch *batch = NULL;
    const double start = gsa_clock_now(bench->counts_cpu);
    gsa_status status = gsa_bench_emit(bench->system, one->pattern, bench->text, one->length, heads,
                                       one->batch, &examples, error);
    if (status != GSA_OK) return status;
    const double emitted = gsa_clock_now(bench->counts_cpu);
    status = gsa_bench_join(bench->system, one->pattern, &examples, &batch, error);
    const double joined = gsa_clock_now(bench->counts_cpu);
    if (status == GSA_OK) status = plan_phases(one, batch, out, error);
    seconds[0] = emitted - start, seconds[1] = joined - emitted,
    seconds[2] = gsa_clock_now(bench->counts_cpu) - joined;
    one->edges = batch ? gsa_batch_edge_total(batch) : 0;
    count_examples(one, &examples);
    gsa_batch_release(batch);
    gsa_bench_examples_release(bench->system, &examples);
    return status;
}

static gsa_status run(void *state, double *seconds, gsa_error *error)
{
    return build(state, seconds, NULL, error);
}

static gsa_status explain(void *state, gsa_output *out, gsa_error *error)
{
    double seconds[GSA_BENCH_SERIES];
    return build(state, seconds, out, error);
}

static gsa_status add(gsa_bench *bench, gsa_pattern *pattern, int32_t length, gsa_error *error)
{
    double seconds[GSA_BENCH_SERIES];
    gsa_bench_case *slot = gsa_bench_add(bench, error);
    if (!slot) return GSA_ERR_MEMORY;
    gsa_graph_case *one = gsa_alloc_zero(bench->system, 1, sizeof *one);
    if (!one) return gsa_out_of_memory(error, "a bench case", (int64_t)sizeof *one);
    one->bench = bench, one->pattern = gsa_pattern_retain(pattern), one->length = length,
    one->batch = bench->batch;
    slot->state = one, slot->run = run, slot->explain = explain, slot->release = release;
    snprintf(slot->name, sizeof slot->name, "%s", gsa_pattern_text(pattern));
    gsa_bench_detail(bench, "n", length, slot->detail);
    const gsa_status status = build(one, seconds, NULL, error); /* to know the counts */
    slot->items = (double)one->edges;
    json_object_set_new(slot->facts, "length", json_integer(length));
    json_object_set_new(slot->facts, "edges", json_integer(one->edges));
    slot->flops[0] = (double)one->runs;
    slot->flops[1] = (double)one->runs * (bench->text ? 1 : (double)one->batch);
    json_object_set_new(slot->facts, "runs", json_integer(one->runs));
    json_object_set_new(slot->facts, "instance_bytes", json_integer(one->bytes));
    return status;
}

gsa_status gsa_bench_graph(gsa_bench *bench, gsa_error *error)
{
    bench->rate = (gsa_bench_rate){ "Mruns/s", "mruns_per_s", 1e-6 };
    bench->series[0] = "emit", bench->series[1] = "batch", bench->series[2] = "plan",
    bench->n_series = 3;
    return gsa_bench_each_pattern(bench, add, error);
}
