/* attend_graph.c - graphs of gsa/attend.h: the edges of a batch, of a pattern. */
#include "attend_parts.h"
#include <inttypes.h>
#include <string.h>
#include "graph/write.h"

static void forget_device(gsa_graph *graph)
{
    if (graph->device) {
        graph->device->free(graph->device, graph->base);
        graph->device->free(graph->device, graph->device_number);
    }
    graph->device = NULL, graph->base = graph->device_number = NULL;
}

void gsa_graph_empty(gsa_graph *graph)
{
    for (int32_t e = 0; e < graph->examples; e++) {
        gsa_instance_release(graph->instances[e]);
        graph->instances[e] = NULL;
    }
    graph->examples = 0;
    forget_device(graph);
}

void gsa_graph_release(gsa_graph *graph)
{
    if (!graph) return;
    gsa_graph_empty(graph);
    gsa_batch_release(graph->batch);
    gsa_schema_release(graph->own);
    gsa_pattern_release(graph->pattern);
    gsa_release(graph->system, graph->instances);
    gsa_release(graph->system, graph->number);
    gsa_release(graph->system, graph->order);
    gsa_release(graph->system, graph);
}

gsa_status gsa_graph_reserve(gsa_graph *graph, int32_t examples, gsa_error *error)
{
    if (examples <= graph->room) return GSA_OK;
    const size_t count = (size_t)examples;
    gsa_instance **instances =
        gsa_resize(graph->system, graph->instances, count, sizeof(gsa_instance *));
    if (instances) graph->instances = instances;
    int32_t *number = gsa_resize(graph->system, graph->number, count, sizeof *number);
    if (number) graph->number = number;
    if (!instances || !number)
        return gsa_out_of_memory(error, "a graph's examples",
                                 examples * (int64_t)sizeof(gsa_instance *));
    for (int32_t e = graph->room; e < examples; e++) number[e] = e, instances[e] = NULL;
    graph->room = examples;
    return GSA_OK;
}

gsa_status gsa_graph_join(gsa_graph *graph, int32_t examples, gsa_error *error)
{
    graph->examples = examples;
    const gsa_status status = gsa_batch_build(graph->batch, graph->instances, examples, error);
    if (status != GSA_OK) gsa_graph_empty(graph);
    return status;
}

gsa_status gsa_graph_create(const gsa_system *system, gsa_pattern *pattern, gsa_graph **graph,
                            gsa_error *error)
{
    *graph = NULL;
    if (!system) system = gsa_system_default();
    gsa_graph *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a graph", (int64_t)sizeof *made);
    made->system = system;
    made->pattern = gsa_pattern_retain(pattern);
    const gsa_status status =
        gsa_batch_create(system, gsa_pattern_schema(pattern), &made->batch, error);
    if (status != GSA_OK) gsa_graph_release(made);
    else *graph = made;
    return status;
}

gsa_status gsa_graph_open(const gsa_system *system, const gsa_registry *registry, const char *spec,
                          gsa_graph **graph, gsa_error *error)
{
    gsa_stack_spec stack;
    gsa_pattern *pattern = NULL;
    *graph = NULL;
    if (!system) system = gsa_system_default();
    gsa_status status = gsa_spec_parse(system, spec, &stack, error);
    if (status != GSA_OK) return status;
    const gsa_segment_spec *first = stack.segments;
    if (stack.n_segments != 1 || first->n_parts != 1 || first->layers != 1 || first->share == 1)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' is a stack, and a graph is of one pattern in one layer: expected "
                          "one name with its settings, as window:width=11",
                          spec);
    else
        status = gsa_pattern_create(registry, first->parts->id, first->parts->settings,
                                    first->parts->n_settings, &pattern, error);
    if (status == GSA_OK) status = gsa_graph_create(system, pattern, graph, error);
    gsa_pattern_release(pattern);
    gsa_spec_release(&stack);
    return status;
}

static gsa_status make_instance(gsa_graph *graph, gsa_cache *cache, const gsa_limits *limits,
                                const gsa_sequences *seq, int64_t token, gsa_example example,
                                gsa_instance **instance, gsa_error *error)
{
    const gsa_slice *column[GSA_COLUMNS_ASKED];
    const gsa_status status =
        gsa_pattern_take(graph->pattern, seq->column, seq->columns, token, column, error);
    if (status != GSA_OK) return status;
    example.columns = gsa_pattern_columns(graph->pattern), example.column = column;
    return gsa_pattern_instance(graph->pattern, cache, &example, limits, 0, instance, error);
}

static gsa_status make_instances(gsa_graph *graph, gsa_cache *cache, const gsa_limits *limits,
                                 const gsa_sequences *seq, int32_t heads, gsa_error *error)
{
    int64_t token = 0, memory = 0;
    for (int32_t e = 0; e < seq->count; e++) {
        const gsa_example example = { .struct_size = sizeof example,
                                      .length = seq->length[e],
                                      .memory_length =
                                          seq->memory_length ? seq->memory_length[e] : 0,
                                      .heads = heads,
                                      .text = seq->text ? seq->text + token : NULL,
                                      .group = seq->group ? seq->group + token : NULL,
                                      .memory_group =
                                          seq->memory_group ? seq->memory_group + memory : NULL };
        if (example.length < 0 || example.memory_length < 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "example %" PRId32 " has length %" PRId32 " and memory length %" PRId32
                            ": neither can be negative",
                            e, example.length, example.memory_length);
        const gsa_status status =
            make_instance(graph, cache, limits, seq, token, example, &graph->instances[e], error);
        if (status != GSA_OK) return gsa_fail_at(error, status, "example %" PRId32, e);
        graph->examples = e + 1;
        token += example.length, memory += example.memory_length;
    }
    return GSA_OK;
}

gsa_status gsa_graph_build(gsa_graph *graph, gsa_cache *cache, const gsa_limits *limits,
                           const gsa_sequences *sequences, int32_t heads, gsa_error *error)
{
    const int32_t count = sequences->count;
    if (!graph->pattern)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a graph of edges of one's own has its examples already");
    if (count < 0 || (count > 0 && !sequences->length))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a graph of %" PRId32 " examples needs their lengths", count);
    if (heads < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%" PRId32 " heads; 1 or more were expected",
                        heads);
    gsa_graph_empty(graph);
    gsa_status status = gsa_graph_reserve(graph, count, error);
    if (status == GSA_OK) status = make_instances(graph, cache, limits, sequences, heads, error);
    if (status == GSA_OK) return gsa_graph_join(graph, count, error);
    gsa_graph_empty(graph);
    gsa_batch_build(graph->batch, NULL, 0, NULL);
    return status;
}

/* ---- what it holds -------------------------------------------------------------------------- */

const int64_t *gsa_graph_order(const gsa_graph *graph)
{
    return graph->order;
}

const gsa_schema *gsa_graph_schema(const gsa_graph *graph)
{
    return gsa_batch_schema(graph->batch);
}

const gsa_pattern *gsa_graph_pattern(const gsa_graph *graph)
{
    return graph->pattern;
}

const gsa_batch *gsa_graph_batch(const gsa_graph *graph)
{
    return graph->batch;
}

int gsa_graph_phase(const gsa_graph *graph, const char *name)
{
    const gsa_schema *schema = gsa_graph_schema(graph);
    for (int p = 0; p < gsa_schema_phases(schema); p++)
        if (strcmp(gsa_schema_phase(schema, p)->name, name) == 0) return p;
    return -1;
}

static gsa_edges edges_of(const gsa_graph *graph, int phase)
{
    gsa_edges edges = { 0 };
    if (phase >= 0 && phase < gsa_schema_phases(gsa_graph_schema(graph)))
        gsa_batch_edges(graph->batch, phase, NULL, &edges);
    return edges;
}

int64_t gsa_graph_rows(const gsa_graph *graph, int phase)
{
    return edges_of(graph, phase).rows;
}

int64_t gsa_graph_edges(const gsa_graph *graph, int phase)
{
    return edges_of(graph, phase).edge_total;
}

int64_t gsa_graph_sources(const gsa_graph *graph, int phase)
{
    const gsa_edges edges = edges_of(graph, phase);
    int64_t sources = 0;
    for (int k = 0; k < edges.kinds; k++) sources += edges.part_rows[k];
    return sources;
}

gsa_status gsa_graph_list(const gsa_graph *graph, int phase, int32_t *row, int32_t *source,
                          int32_t *label, gsa_error *error)
{
    const gsa_edges edges = edges_of(graph, phase);
    if (!edges.run_offset)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "phase %d of a graph that has %d", phase,
                        gsa_schema_phases(gsa_graph_schema(graph)));
    gsa_edges_expand(&edges, source, label, NULL);
    for (int64_t r = 0; row && r < edges.rows; r++)
        for (int64_t i = edges.edge_offset[r]; i < edges.edge_offset[r + 1]; i++)
            row[i] = (int32_t)r;
    return GSA_OK;
}

gsa_status gsa_graph_write(const gsa_graph *graph, int32_t example, const gsa_slice *text,
                           const char *path, gsa_error *error)
{
    int format;
    gsa_output *output;
    gsa_status status = gsa_format_of(path, &format, error);
    if (status != GSA_OK) return status;
    if (example < 0 || example >= graph->examples)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "example %" PRId32 " of a graph that has %" PRId32,
                        example, graph->examples);
    const gsa_pattern *p = graph->pattern;
    const gsa_picture_stack stack = { .name = "", .text = text, .memory = -1 };
    const gsa_picture_sheet sheet = { .instance = graph->instances[example],
                                      .schema = gsa_graph_schema(graph),
                                      .topology = p ? gsa_pattern_topology(p) : NULL,
                                      .self = p ? gsa_pattern_self(p) : NULL };
    const gsa_picture picture = { .spec = p ? gsa_pattern_text(p) : "edges",
                                  .stacks = &stack,
                                  .sheets = &sheet,
                                  .n_stacks = 1,
                                  .n_sheets = 1 };
    status = gsa_output_open(graph->system, path, &output, error);
    if (status != GSA_OK) return status;
    status = gsa_write_picture(graph->system, &picture, format, output, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}
