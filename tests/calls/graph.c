/* Schemas, instances, batches, plans, pictures; patterns by name; graphs of a user's edges. */
#include "calls.h"
#include "graph/batch.h"
#include "graph/plan.h"
#include "graph/ready.h"
#include "graph/write.h"
#include "gsa/attend.h"
#include "support/toy.h"
#include "topologies/check.h"

static void describe(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "span"));
    d->phase(d, &GSA_PHASE(.sources = 3, .destinations = 2, .name = "up"));
    d->sequence(d, 0);
    d->summary(d, 1, GSA_MEAN, 1);
}

static void emit(const gsa_example *x, gsa_emitter *e)
{
    const gsa_node span = gsa_at(1, e->nodes(e, 1, 1));
    e->place(e, span, 1, 0, x->length - 1);
    e->run(e, 0, gsa_at(0, 0), x->length, 1, span, 0, 0);
    gsa_edge(e, 0, span, span, 0);
    e->summary(e, span);
}

static const gsa_script script = { describe, emit };

static void see_schema(const gsa_schema *schema)
{
    int kind, pool;
    double weight;
    CALL(gsa_schema_topology)(schema), CALL(gsa_schema_kinds)(schema);
    CALL(gsa_schema_phases)(schema), CALL(gsa_schema_kind)(schema, 0);
    CALL(gsa_schema_phase)(schema, 0), CALL(gsa_schema_find_kind)(schema, "span");
    CALL(gsa_schema_sequence)(schema), CALL(gsa_schema_summaries)(schema);
    CALL(gsa_schema_summary)(schema, 0, &kind, &pool, &weight);
    CALL(gsa_schema_flags)(schema), CALL(gsa_schema_growth)(schema);
}

static void see_instance(gsa_instance *instance)
{
    gsa_edges edges;
    int kind;
    int64_t index;
    CALL(gsa_instance_nodes)(instance, 0), CALL(gsa_instance_length)(instance);
    CALL(gsa_instance_heads)(instance), CALL(gsa_instance_edges)(instance, 0, &edges);
    CALL(gsa_instance_summary)(instance, &kind, &index);
    CALL(gsa_instance_place)(instance, 1, 0), CALL(gsa_instance_bytes)(instance);
    CALL(gsa_instance_schema)(instance);
    gsa_instance_release(CALL(gsa_instance_retain)(instance));
}

static void see_batch(gsa_batch *batch)
{
    int64_t bytes;
    CALL(gsa_batch_tell_content)(batch), CALL(gsa_batch_examples)(batch);
    CALL(gsa_batch_nodes)(batch, 0);
    const void *base = CALL(gsa_batch_block)(batch, &bytes);
    CALL(gsa_batch_schema)(batch), CALL(gsa_batch_edge_total)(batch);
    CALL(gsa_batch_offset)(batch, 0, base), CALL(gsa_batch_node_example)(batch, 0, base);
    CALL(gsa_batch_node_local)(batch, 0, base), CALL(gsa_batch_empty)(batch, 0, base);
    CALL(gsa_batch_destinations)(batch, 0);
    CALL(gsa_batch_destination_example)(batch, 0, base);
    CALL(gsa_batch_destination_local)(batch, 0, base), CALL(gsa_batch_summary)(batch, 1, base);
}

static void see_ready(const gsa_ready *ready, const gsa_instance *instance)
{
    int32_t old[2][8] = { { 0 } }, next[2][8];
    const int32_t *const from[] = { old[0], old[1] };
    int32_t *const to[] = { next[0], next[1] };
    int phase, layer;
    CALL(gsa_ready_steps)(ready), CALL(gsa_ready_step)(ready, 0, &phase, &layer);
    CALL(gsa_ready_at)(ready, 0, 0);
    CALL(gsa_ready_phase)(instance, 0, from, from, to);
}

gsa_status calls_graph(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    const gsa_example example = gsa_toy_example(4, 0, 1);
    gsa_status status;
    gsa_schema *schema = NULL;
    gsa_instance *instance = NULL, *cached = NULL;
    gsa_cache *cache = NULL;
    gsa_batch *batch = NULL;
    gsa_plan *plan = NULL;
    gsa_ready *ready = NULL;
    gsa_edges edges = { 0 };
    gsa_memo memo = { .system = s };
    char text[512];
    (void)scratch;
    TRY(gsa_schema_create, s, &gsa_scripted, &script, &schema);
    see_schema(schema);
    TRY(gsa_instance_create, s, schema, &gsa_scripted, &script, &example, NULL, 1, &instance);
    see_instance(instance);
    TRY(gsa_cache_create, s, 1 << 20, &cache);
    TRY(gsa_cache_get, cache, schema, &gsa_scripted, &script, &example, NULL, &cached);
    CALL(gsa_cache_count)(cache);
    CALL(gsa_cache_forget)(cache, schema);
    TRY(gsa_batch_create, s, schema, &batch);
    TRY(gsa_batch_build, batch, &instance, 1);
    see_batch(batch);
    const void *base = gsa_batch_block(batch, &(int64_t){ 0 });
    CALL(gsa_batch_edges)(batch, 0, base, &edges);
    TRY(gsa_edges_check, &edges, "edges");
    int32_t sources[8], labels[8];
    int64_t part_first[GSA_MAX_KINDS + 1];
    CALL(gsa_edges_expand)(&edges, sources, labels, part_first);
    TRY(gsa_plan_create, s, &edges, NULL, &plan);
    CALL(gsa_plan_explain)(plan, text, sizeof text);
    TRY(gsa_ready_create, s, instance, 2, NULL, &ready);
    see_ready(ready, instance);
out:
    CALL(gsa_memo_clear)(&memo);
    CALL(gsa_ready_release)(ready);
    CALL(gsa_plan_release)(s, plan);
    CALL(gsa_batch_release)(batch);
    CALL(gsa_instance_release)(cached);
    CALL(gsa_cache_release)(cache);
    gsa_instance_release(instance);
    CALL(gsa_schema_release)(schema);
    return status;
}

gsa_status calls_pictures(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    const gsa_example example = gsa_toy_example(3, 0, 1);
    static const gsa_slice words[] = { { "a", 1 }, { "<b>", 3 }, { "c", 1 } };
    const gsa_picture_stack stack = { .name = "encoder", .text = words, .memory = -1 };
    gsa_status status;
    gsa_schema *schema = NULL;
    gsa_instance *instance = NULL;
    gsa_output *output = NULL;
    int format;
    TRY(gsa_format_of, "x.json", &format);
    TRY(gsa_schema_create, s, &gsa_scripted, &script, &schema);
    TRY(gsa_instance_create, s, schema, &gsa_scripted, &script, &example, NULL, 1, &instance);
    const gsa_picture_sheet sheet = {
        .instance = instance, .schema = schema, .topology = &gsa_scripted, .self = &script
    };
    const gsa_picture picture = { "scripted", &stack, &sheet, 1, 1 };
    for (int f = GSA_FORMAT_GRAPHML; f <= GSA_FORMAT_CSV; f++) {
        TRY(gsa_output_open, s, gsa_scratch_path(scratch, "picture"), &output);
        TRY(gsa_write_picture, s, &picture, f, output);
        gsa_output_abandon(output), output = NULL;
    }
    TRY(gsa_output_open, s, gsa_scratch_path(scratch, "picture"), &output);
    gsa_pictures pictures = { .system = s, .output = output, .format = GSA_FORMAT_HTML };
    TRY(gsa_pictures_add, &pictures, &picture, "a");
    CALL(gsa_pictures_end)(&pictures);
out:
    gsa_output_abandon(output);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
    return status;
}

gsa_status calls_patterns(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    const gsa_example example = gsa_toy_example(3, 0, 1);
    const gsa_setting setting = { "width", "3" };
    gsa_topology own = gsa_scripted;
    gsa_status status;
    gsa_registry *registry = NULL;
    gsa_stack_spec spec = { 0 };
    gsa_pattern *pattern = NULL;
    gsa_cache *cache = NULL;
    gsa_instance *instance = NULL;
    const gsa_slice *place[2];
    const char *origin;
    char text[64];
    (void)scratch;
    TRY(gsa_registry_create, s, &registry);
    TRY(gsa_registry_load, registry, GSA_FILE_PLUGIN);
    CALL(gsa_registry_symbol)(registry, "gsa_topology_plugin", 0, &origin);
    own.reference = "a test";
    TRY(gsa_registry_add, registry, &own);
    CALL(gsa_registry_count)(registry), CALL(gsa_registry_origin)(registry, 0);
    CALL(gsa_topology_param)(CALL(gsa_registry_at)(registry, 0), 0);
    ck_assert_ptr_nonnull(CALL(gsa_registry_find)(registry, "window", &calls_error));
    TRY(gsa_registry_offer, registry, "gsa.test/1", &script);
    TRY(gsa_spec_parse, s, "window:width=5*2,star", &spec);
    TRY(gsa_spec_set, &spec, 0, 0, "causal", "1");
    TRY(gsa_pattern_create, registry, "window", &setting, 1, &pattern);
    CALL(gsa_pattern_topology)(pattern), CALL(gsa_pattern_schema)(pattern);
    CALL(gsa_pattern_self)(pattern), CALL(gsa_pattern_text)(pattern);
    CALL(gsa_pattern_value)(pattern, 0, text, sizeof text);
    CALL(gsa_pattern_columns)(pattern), CALL(gsa_pattern_column)(pattern, 0);
    TRY(gsa_pattern_take, pattern, NULL, 0, 0, place);
    CALL(gsa_pattern_release)(CALL(gsa_pattern_retain)(pattern));
    TRY(gsa_cache_create, s, 1 << 20, &cache);
    TRY(gsa_pattern_instance, pattern, cache, &example, NULL, 0, &instance);
out:
    gsa_instance_release(instance);
    gsa_cache_release(cache);
    gsa_pattern_release(pattern);
    CALL(gsa_spec_release)(&spec);
    CALL(gsa_registry_release)(registry);
    return status;
}

gsa_status calls_check(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    const gsa_check_options few = { .length = 1 };
    static gsa_check_report report;
    gsa_status status;
    gsa_registry *registry = NULL;
    gsa_pattern *pattern = NULL;
    (void)scratch;
    TRY(gsa_registry_create, s, &registry);
    TRY(gsa_pattern_create, registry, "full", NULL, 0, &pattern);
    TRY(gsa_check_pattern, s, pattern, &few, &report);
    CALL(gsa_check_name)(0), CALL(gsa_verdict_name)(0);
out:
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

/* Attention in the user's buffers; each call builds the plan of a graph that is new. */
static gsa_status attend(gsa_backend *backend, gsa_graph *graph, const gsa_sequences *sequences)
{
    gsa_status status;
    float x[6 * 4], y[6 * 4], lse[6], dq[6 * 4], dk[6 * 4], dv[6 * 4];
    for (int i = 0; i < 24; i++) x[i] = (float)i / 8;
    gsa_attention a = { .struct_size = sizeof a,
                        .heads = 1,
                        .head_dim = 4,
                        .scale = 0.5,
                        .q = x,
                        .k = x,
                        .v = x,
                        .out = y,
                        .lse = lse,
                        .dout = x,
                        .dq = dq,
                        .dk = dk,
                        .dv = dv };
    TRY(gsa_graph_build, graph, NULL, NULL, sequences, 1);
    TRY(gsa_attend_forward, backend, graph, &a);
    TRY(gsa_graph_build, graph, NULL, NULL, sequences, 1);
    TRY(gsa_attend_backward, backend, graph, &a);
    TRY(gsa_graph_build, graph, NULL, NULL, sequences, 1);
    TRY(gsa_aggregate_forward, backend, graph, 0, 1, 4, x, y);
    TRY(gsa_graph_build, graph, NULL, NULL, sequences, 1);
    TRY(gsa_aggregate_backward, backend, graph, 0, 1, 4, x, dv, 0);
out:
    return status;
}

gsa_status calls_edges(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const int32_t length[] = { 2, 4 }, source[] = { 1, 0, 3 }, row[] = { 2, 0, 0 };
    const gsa_sequences sequences = { .count = 2, .length = length };
    const gsa_edge_list list = { .struct_size = sizeof list,
                                 .index_bytes = 4,
                                 .rows = 3,
                                 .sources = 4,
                                 .count = 3,
                                 .source = source,
                                 .destination = row };
    gsa_status status;
    gsa_registry *registry = NULL;
    gsa_pattern *pattern = NULL;
    gsa_graph *graph = NULL, *other = NULL, *own = NULL;
    gsa_backend *backend = NULL;
    int32_t rows[16], from[16], label[16];
    TRY(gsa_registry_create, s, &registry);
    TRY(gsa_graph_open, s, registry, "window:width=3", &graph);
    TRY(gsa_graph_build, graph, NULL, NULL, &sequences, 1);
    TRY(gsa_pattern_create, registry, "full", NULL, 0, &pattern);
    TRY(gsa_graph_create, s, pattern, &other);
    TRY(gsa_graph_of_edges, s, &list, &own);
    CALL(gsa_graph_order)(own), CALL(gsa_graph_phase)(graph, "window");
    CALL(gsa_graph_schema)(graph), CALL(gsa_graph_pattern)(graph), CALL(gsa_graph_batch)(graph);
    CALL(gsa_graph_rows)(graph, 0), CALL(gsa_graph_sources)(graph, 0);
    ck_assert_int_le(CALL(gsa_graph_edges)(graph, 0), 16);
    TRY(gsa_graph_list, graph, 0, rows, from, label);
    TRY(gsa_graph_write, graph, 1, NULL, gsa_scratch_path(scratch, "graph.dot"));
    TRY(gsa_backend_open, s, "cpu", GSA_F32, 1, &backend);
    status = attend(backend, graph, &sequences);
out:
    gsa_backend_release(backend);
    CALL(gsa_graph_release)(own);
    gsa_graph_release(other);
    gsa_graph_release(graph);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}
