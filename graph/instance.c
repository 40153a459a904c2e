/* instance.c - the life and the views of an instance; emit.c and finish.c build it. */
#include "graph/instance.h"
#include "graph/index.h"
#include <inttypes.h>
#include "graph/instance_parts.h"
#include "graph/schema_parts.h"
#include "graph/system_parts.h"

static gsa_status check_example(const gsa_schema *schema, const gsa_example *x, gsa_error *error)
{
    if (x->struct_size < offsetof(gsa_example, column)) /* the tail came later */
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "topology '%s': the example's struct_size is %" PRIu32 ", expected %zu",
                        schema->id, x->struct_size, sizeof *x);
    if (x->length < 0 || x->memory_length < 0 || x->heads < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "topology '%s': length %" PRId32 ", memory length %" PRId32
                        ", heads %" PRId32 ": expected at least 0, 0 and 1",
                        schema->id, x->length, x->memory_length, x->heads);
    if ((schema->flags & GSA_NEEDS_TEXT) && !x->text && x->length > 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "topology '%s' needs text: this input has none",
                        schema->id);
    return GSA_OK;
}

static gsa_status resolve_limits(const gsa_limits *given, gsa_limits *limits, gsa_error *error)
{
    *limits = (gsa_limits){ gsa_index_most, INT64_C(1) << 40, INT64_C(1) << 28 };
    if (!given) return GSA_OK;
    if (given->nodes < 0 || given->nodes > INT32_MAX || given->edges < 0 || given->runs < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "limits of %" PRId64 " nodes, %" PRId64 " edges and %" PRId64
                        " runs: expected 0 or more, nodes at most 2147483647",
                        given->nodes, given->edges, given->runs);
    if (given->nodes) limits->nodes = given->nodes;
    if (given->edges) limits->edges = given->edges;
    if (given->runs) limits->runs = given->runs;
    return GSA_OK;
}

/* The nodes that are there before emit speaks. */
static gsa_status place_given_nodes(gsa_building *b)
{
    for (int k = 0; k < b->schema->kinds; k++) {
        const int start = b->schema->kind[k].start;
        const int64_t nodes = start == GSA_MEMORY                       ? b->example->memory_length
                              : start == GSA_INPUT || start == GSA_COPY ? b->example->length
                                                                        : 0;
        b->instance->nodes[k] = nodes;
        b->node_total += nodes;
    }
    if (b->node_total > b->limits.nodes)
        return gsa_building_fail(b, GSA_ERR_LIMIT,
                                 "%" PRId64 " nodes of input and memory, the limit is %" PRId64,
                                 b->node_total, b->limits.nodes);
    return GSA_OK;
}

static gsa_status build(gsa_building *b, const gsa_topology *topology, const void *self,
                        gsa_error *error)
{
    gsa_status status = place_given_nodes(b);
    if (status == GSA_OK) {
        gsa_emitter emitter = gsa_building_emitter(b);
        gsa_calling(
            b->system,
            &(gsa_plugin_call){ .who = topology->id, .function = "emit", .example = b->example });
        topology->emit(self, b->example, &emitter);
        gsa_calling(b->system, NULL);
        status = b->status;
    }
    if (status == GSA_OK) status = gsa_building_finish(b);
    gsa_building_end(b);
    return status == GSA_OK ? status : gsa_fail(error, status, "%s", b->error.text);
}

/* In checked builds every instance is scanned as a whole, whoever made it. */
static gsa_status scan(const gsa_instance *instance, gsa_error *error)
{
#ifdef GSA_CHECKED
    for (int p = 0; p < instance->phases; p++) {
        gsa_edges edges;
        gsa_instance_edges(instance, p, &edges);
        const gsa_status status = gsa_edges_check(&edges, instance->schema->phase[p].name, error);
        if (status != GSA_OK) return status;
    }
#else
    (void)instance, (void)error;
#endif
    return GSA_OK;
}

gsa_status gsa_instance_create(const gsa_system *system, const gsa_schema *schema,
                               const gsa_topology *topology, const void *self,
                               const gsa_example *example, const gsa_limits *limits, int inspect,
                               gsa_instance **instance, gsa_error *error)
{
    *instance = NULL;
    gsa_building b = { .system = gsa_system_or_default(system),
                       .schema = schema,
                       .example = example,
                       .inspect = inspect };
    gsa_status status = check_example(schema, example, error);
    if (status == GSA_OK) status = resolve_limits(limits, &b.limits, error);
    if (status != GSA_OK) return status;
    gsa_instance *made = gsa_alloc_zero(b.system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "instance", (int64_t)sizeof *made);
    made->system = b.system, made->schema = schema;
    made->length = example->length, made->heads = example->heads;
    made->kinds = schema->kinds, made->phases = schema->phases;
    made->summary_kind = -1;
    atomic_init(&made->references, 1);
    b.instance = made;
    for (int p = 0; p < schema->phases; p++) b.phase[p].in_order = 1;
    status = build(&b, topology, self, error);
    if (status == GSA_OK) status = scan(made, error);
    if (status != GSA_OK) gsa_instance_release(made);
    else *instance = made;
    return status;
}

gsa_instance *gsa_instance_retain(gsa_instance *instance)
{
    atomic_fetch_add_explicit(&instance->references, 1, memory_order_relaxed);
    return instance;
}

void gsa_instance_release(gsa_instance *x)
{
    if (!x || atomic_fetch_sub_explicit(&x->references, 1, memory_order_acq_rel) != 1) return;
    for (int k = 0; k < x->kinds; k++) {
        gsa_release(x->system, x->place[k]);
        gsa_release(x->system, x->number[k]);
    }
    for (int p = 0; x->phase && p < x->phases; p++) {
        gsa_release(x->system, x->phase[p].run_offset);
        gsa_release(x->system, x->phase[p].runs);
        gsa_release(x->system, x->phase[p].row_local);
        gsa_release(x->system, x->phase[p].edged);
    }
    gsa_release(x->system, x->phase);
    gsa_release(x->system, x->blocks);
    gsa_release(x->system, x->zeros);
    gsa_release(x->system, x->identity);
    gsa_release(x->system, x);
}

int64_t gsa_instance_nodes(const gsa_instance *instance, int kind)
{
    return instance->nodes[kind];
}

int32_t gsa_instance_length(const gsa_instance *instance)
{
    return instance->length;
}

int32_t gsa_instance_heads(const gsa_instance *instance)
{
    return instance->heads;
}

void gsa_instance_edges(const gsa_instance *instance, int phase, gsa_edges *edges)
{
    const gsa_instance_phase *x = &instance->phase[phase];
    *edges = (gsa_edges){ .rows = x->rows,
                          .run_total = x->run_total,
                          .edge_total = x->edge_total,
                          .run_offset = x->run_offset,
                          .edge_offset = x->edge_offset,
                          .runs = x->runs,
                          .kinds = instance->kinds,
                          .labels = x->labels,
                          .row_example = instance->zeros,
                          .row_local = x->row_local ? x->row_local : instance->identity,
                          .examples = 1,
                          .block_offset = x->block_offset,
                          .blocks = instance->blocks + x->first_block };
    for (int k = 0; k < instance->kinds; k++)
        if (x->sources >> k & 1) edges->part_rows[k] = instance->nodes[k] * x->scale;
}

int gsa_instance_summary(const gsa_instance *instance, int *kind, int64_t *index)
{
    if (instance->summary_kind < 0) return 0;
    if (kind) *kind = instance->summary_kind;
    if (index) *index = instance->summary_index;
    return 1;
}

gsa_place gsa_instance_place(const gsa_instance *instance, int kind, int64_t index)
{
    return index < instance->places[kind] ? instance->place[kind][index] : (gsa_place){ -1, 0, 0 };
}

int64_t gsa_instance_bytes(const gsa_instance *instance)
{
    return instance->bytes;
}

const gsa_schema *gsa_instance_schema(const gsa_instance *instance)
{
    return instance->schema;
}
