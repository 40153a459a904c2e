/* attend_edges.c - graphs of edges of one's own. They come in as a topology's do, through an
 * emitter, so that what is checked, joined, written and computed of patterns is of them too. */
#include "attend_parts.h"
#include "graph/index.h"
#include <inttypes.h>

/* A list, grouped by row; `at` is the example that is emitted next. */
typedef struct own_edges {
    gsa_edge_list list;
    const int64_t *offset, *order; /* order NULL: as listed */
    int32_t at;
} own_edges;

static int64_t index_at(const void *array, int32_t bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

static void describe(const void *self, gsa_describer *d)
{
    const own_edges *own = self;
    const int apart = own->list.sources >= 0;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "node"));
    if (apart) d->kind(d, &GSA_KIND(.start = GSA_MEMORY, .name = "source"));
    d->phase(d,
             &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .labels = own->list.labels,
                        .sources = apart ? 2 : 1, .destinations = 1, .name = "attend"));
    d->sequence(d, 0);
    d->promise(d, GSA_DUPLICATES, GSA_SQUARE_EDGES);
}

/* First row and first source of an example; of one example all are its own. */
static int64_t first_row(const own_edges *own, int32_t example)
{
    if (own->list.example_rows) return own->list.example_rows[example];
    return example == 0 ? 0 : own->list.rows;
}

static int64_t first_source(const own_edges *own, int32_t example)
{
    if (own->list.sources < 0) return first_row(own, example);
    if (own->list.example_sources) return own->list.example_sources[example];
    return example == 0 ? 0 : own->list.sources;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const own_edges *own = self;
    const gsa_edge_list *list = &own->list;
    const int64_t rows = first_row(own, own->at), sources = first_source(own, own->at);
    for (int64_t r = 0; r < x->length; r++)
        for (int64_t i = own->offset[rows + r]; i < own->offset[rows + r + 1]; i++) {
            const int64_t at = own->order ? own->order[i] : i;
            const int64_t source = index_at(list->source, list->index_bytes, at) - sources;
            gsa_edge(e, 0, gsa_at(list->sources >= 0, source), gsa_at(0, r),
                     list->label ? list->label[at] : 0);
        }
}

const gsa_topology gsa_own_edges = { .abi = GSA_ABI,
                                     .struct_size = sizeof(gsa_topology),
                                     .param_stride = sizeof(gsa_param),
                                     .id = "edges",
                                     .summary = "edges of one's own",
                                     .reference = "",
                                     .describe = describe,
                                     .emit = emit };

/* ---- checks: whatever a list can have wrong ------------------------------------------------- */

static gsa_status check_parts(const int64_t *first, int32_t examples, int64_t nodes,
                              const char *what, gsa_error *error)
{
    for (int32_t e = 0; e <= examples; e++)
        if ((e == 0 && first[e] != 0) || (e > 0 && first[e] < first[e - 1]) ||
            (e == examples && first[e] != nodes))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "edges: %s[%" PRId32 "] is %" PRId64
                            "; they begin at 0, never fall, and end at the %" PRId64 " nodes",
                            what, e, first[e], nodes);
    return GSA_OK;
}

static gsa_status check_sizes(const own_edges *own, gsa_error *error)
{
    const gsa_edge_list *l = &own->list;
    if (l->index_bytes != 4 && l->index_bytes != 8)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "edges: indices of %" PRId32 " bytes; 4 or 8 were expected",
                        l->index_bytes);
    if (l->rows < 0 || l->rows > gsa_index_most || l->sources > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "edges: %" PRId64 " rows and %" PRId64 " sources; each is at most %" PRId32,
                        l->rows, l->sources, gsa_index_most);
    if (l->count < 0 || l->labels < 1 || l->examples < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "edges: %" PRId64 " edges, %" PRId32 " labels, %" PRId32
                        " examples: none can be negative",
                        l->count, l->labels, l->examples);
    if ((l->count > 0 && !l->source) || (!l->destination && !l->row_offset && l->count > 0) ||
        (l->destination && l->row_offset))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "edges: sources and either destinations or row offsets were expected");
    if (l->examples > 1 && (!l->example_rows || (l->sources >= 0 && !l->example_sources)))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "edges: %" PRId32 " examples need their first rows and sources",
                        l->examples);
    gsa_status status = GSA_OK;
    if (l->example_rows)
        status = check_parts(l->example_rows, l->examples, l->rows, "example_rows", error);
    if (status == GSA_OK && l->sources >= 0 && l->example_sources)
        status = check_parts(l->example_sources, l->examples, l->sources, "example_sources", error);
    return status;
}

static gsa_status check_row(const own_edges *own, int64_t row, int32_t example, gsa_error *error)
{
    const gsa_edge_list *l = &own->list;
    const int64_t low = first_source(own, example), high = first_source(own, example + 1);
    for (int64_t i = own->offset[row]; i < own->offset[row + 1]; i++) {
        const int64_t at = own->order ? own->order[i] : i;
        const int64_t source = index_at(l->source, l->index_bytes, at);
        if (source < low || source >= high)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "edge %" PRId64 " into row %" PRId64 ": source %" PRId64
                            " is not in %" PRId64 " .. %" PRId64 ", the nodes that row can read",
                            at, row, source, low, high - 1);
        if (l->label && (l->label[at] < 0 || l->label[at] >= l->labels))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "edge %" PRId64 " into row %" PRId64 ": label %" PRId32
                            " is not in 0 .. %" PRId32,
                            at, row, l->label[at], l->labels - 1);
    }
    return GSA_OK;
}

static gsa_status check_edges(const own_edges *own, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int32_t e = 0; e < own->list.examples; e++)
        for (int64_t r = first_row(own, e); r < first_row(own, e + 1) && status == GSA_OK; r++)
            status = check_row(own, r, e, error);
    return status;
}

/* ---- grouped by row -------------------------------------------------------------------------- */

static gsa_status copy_offsets(const gsa_edge_list *l, int64_t *offset, gsa_error *error)
{
    offset[0] = 0;
    for (int64_t r = 0; r <= l->rows && l->row_offset; r++) {
        offset[r] = index_at(l->row_offset, l->index_bytes, r);
        if ((r == 0 && offset[r] != 0) || (r > 0 && offset[r] < offset[r - 1]) ||
            (r == l->rows && offset[r] != l->count))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "edges: row_offset[%" PRId64 "] is %" PRId64
                            "; they begin at 0, never fall, and end at the %" PRId64 " edges",
                            r, offset[r], l->count);
    }
    for (int64_t r = 1; r <= l->rows && !l->row_offset; r++) offset[r] = 0;
    return GSA_OK;
}

/* Counts the destinations into offset[row + 1]. *sorted: they never fall. */
static gsa_status count_rows(const gsa_edge_list *l, int64_t *offset, int *sorted, gsa_error *error)
{
    int64_t before = 0;
    *sorted = 1;
    for (int64_t i = 0; i < l->count; i++) {
        const int64_t row = index_at(l->destination, l->index_bytes, i);
        if (row < 0 || row >= l->rows)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "edge %" PRId64 ": destination %" PRId64 " is not in 0 .. %" PRId64
                            ", the rows",
                            i, row, l->rows - 1);
        if (row < before) *sorted = 0;
        before = row;
        offset[row + 1]++;
    }
    for (int64_t r = 0; r < l->rows; r++) offset[r + 1] += offset[r];
    return GSA_OK;
}

/* A counting sort; edges of a row keep their order. `next` [rows] is scratch. */
static void sort_rows(const gsa_edge_list *l, const int64_t *offset, int64_t *next, int64_t *order)
{
    for (int64_t r = 0; r < l->rows; r++) next[r] = offset[r];
    for (int64_t i = 0; i < l->count; i++)
        order[next[index_at(l->destination, l->index_bytes, i)]++] = i;
}

static gsa_status group_rows(gsa_graph *graph, own_edges *own, int64_t *offset, int64_t *next,
                             gsa_error *error)
{
    int sorted = 1;
    gsa_status status = copy_offsets(&own->list, offset, error);
    if (status == GSA_OK && !own->list.row_offset)
        status = count_rows(&own->list, offset, &sorted, error);
    own->offset = offset;
    if (status != GSA_OK || sorted) return status;
    graph->order = gsa_alloc(graph->system, (size_t)own->list.count, sizeof(int64_t));
    if (!graph->order) return gsa_out_of_memory(error, "the order of edges", own->list.count * 8);
    sort_rows(&own->list, offset, next, graph->order);
    own->order = graph->order;
    return GSA_OK;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static gsa_status make_examples(gsa_graph *graph, own_edges *own, gsa_error *error)
{
    const int32_t examples = own->list.examples;
    gsa_status status = gsa_graph_reserve(graph, examples, error);
    for (own->at = 0; own->at < examples && status == GSA_OK; own->at++) {
        const int32_t e = own->at;
        const int64_t sources = first_source(own, e + 1) - first_source(own, e);
        const gsa_example example = { .struct_size = sizeof example,
                                      .length =
                                          (int32_t)(first_row(own, e + 1) - first_row(own, e)),
                                      .memory_length =
                                          own->list.sources >= 0 ? (int32_t)sources : 0,
                                      .heads = 1 };
        status = gsa_instance_create(graph->system, graph->own, &gsa_own_edges, own, &example, NULL,
                                     0, &graph->instances[e], error);
        if (status == GSA_OK) graph->examples = e + 1;
    }
    return status == GSA_OK ? gsa_graph_join(graph, examples, error) : status;
}

static gsa_status fill(gsa_graph *graph, own_edges *own, gsa_error *error)
{
    const size_t rows = (size_t)own->list.rows + 1;
    int64_t *offset = gsa_alloc(graph->system, rows, 2 * sizeof *offset);
    if (!offset)
        return gsa_out_of_memory(error, "the rows of edges", (int64_t)(rows * 2 * sizeof *offset));
    gsa_status status = group_rows(graph, own, offset, offset + rows, error);
    if (status == GSA_OK) status = check_edges(own, error);
    if (status == GSA_OK)
        status = gsa_schema_create(graph->system, &gsa_own_edges, own, &graph->own, error);
    if (status == GSA_OK)
        status = gsa_batch_create(graph->system, graph->own, &graph->batch, error);
    if (status == GSA_OK) status = make_examples(graph, own, error);
    gsa_release(graph->system, offset);
    return status;
}

gsa_status gsa_graph_of_edges(const gsa_system *system, const gsa_edge_list *list,
                              gsa_graph **graph, gsa_error *error)
{
    own_edges own = { .list = *list };
    *graph = NULL;
    if (list->struct_size != sizeof *list)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "edges: struct_size is %" PRIu32 "; this library expects %zu",
                        list->struct_size, sizeof *list);
    if (own.list.labels == 0) own.list.labels = 1;
    if (own.list.examples == 0) own.list.examples = 1;
    gsa_status status = check_sizes(&own, error);
    if (status != GSA_OK) return status;
    if (!system) system = gsa_system_default();
    gsa_graph *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a graph", (int64_t)sizeof *made);
    made->system = system;
    status = fill(made, &own, error);
    if (status != GSA_OK) gsa_graph_release(made);
    else *graph = made;
    return status;
}
