/* read.c - GraphML to plain arrays: igraph reads, then every attribute that the profile of
 * graph/write.h knows is taken over. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/inspect/graphml_size.h"
#include "graph/inspect/guard.h"

static const int64_t FILE_LIMIT = INT64_C(1) << 32;
enum { NO_TYPE = -1, NAME_ROOM = 512 };
/* Kinds are compared with each other and counted over all nodes. A topology has 64 at most. */
enum { MOST_KINDS = 1024 };

/* ---- attributes that may be absent, or of another type than ours (other programs write all as
 * text) ---- */

static int type_of(const igraph_t *graph, igraph_attribute_elemtype_t element, const char *name)
{
    igraph_attribute_type_t type;
    if (!igraph_cattribute_has_attr(graph, element, name)) return NO_TYPE;
    return igraph_cattribute_table.gettype(graph, &type, element, name) == IGRAPH_SUCCESS
               ? (int)type
               : NO_TYPE;
}

/* Places in a foreign file may be any number: two of them add up to an int32. */
enum { MOST_PLACE = (1 << 30) - 1, MOST_HEAD = 4095 };

static int32_t whole(double x, int32_t most, int32_t absent)
{
    return x >= -1 && x <= most ? (int32_t)x : absent;
}

typedef struct columns { /* of nodes or edges: which attributes there are */
    const igraph_t *graph;
    int text_label, text_name, number_label, kind, index, level, first, last, id;
    int phase_name, phase, rel, layer, head_from, head_to, weight, edge_text_label, edge_text_name;
} columns;

static void find_columns(columns *c, const igraph_t *g)
{
    const igraph_attribute_elemtype_t v = IGRAPH_ATTRIBUTE_VERTEX, e = IGRAPH_ATTRIBUTE_EDGE;
    const int text = IGRAPH_ATTRIBUTE_STRING, number = IGRAPH_ATTRIBUTE_NUMERIC;
    *c = (columns){ .graph = g,
                    .text_label = type_of(g, v, "label") == text,
                    .number_label = type_of(g, v, "label") == number,
                    .text_name = type_of(g, v, "name") == text,
                    .id = type_of(g, v, "id") == text,
                    .kind = type_of(g, v, "kind") == text,
                    .index = type_of(g, v, "index") == number,
                    .level = type_of(g, v, "level") == number,
                    .first = type_of(g, v, "first") == number,
                    .last = type_of(g, v, "last") == number,
                    .phase_name = type_of(g, e, "interaction") == text,
                    .phase = type_of(g, e, "phase") == number,
                    .rel = type_of(g, e, "rel") == number,
                    .layer = type_of(g, e, "layer") == number,
                    .head_from = type_of(g, e, "head_from") == number,
                    .head_to = type_of(g, e, "head_to") == number,
                    .weight = type_of(g, e, "weight") == number,
                    .edge_text_label = type_of(g, e, "label") == text,
                    .edge_text_name = type_of(g, e, "name") == text };
}

static const char *node_label(const columns *c, igraph_integer_t v, char *room)
{
    if (c->text_label) return VAS(c->graph, "label", v);
    if (c->text_name) return VAS(c->graph, "name", v);
    if (c->number_label) snprintf(room, NAME_ROOM, "%.15g", VAN(c->graph, "label", v));
    else if (c->id) return VAS(c->graph, "id", v);
    else snprintf(room, NAME_ROOM, "%" PRId64, (int64_t)v);
    return room;
}

static int read_node(gsa_view *view, const columns *c, igraph_integer_t v)
{
    char room[NAME_ROOM];
    gsa_view_node *node = &view->node[v];
    node->kind =
        gsa_texts_add(view->system, &view->kinds, c->kind ? VAS(c->graph, "kind", v) : "node");
    node->label = gsa_copy_text(view->system, node_label(c, v, room));
    node->index = c->index ? whole(VAN(c->graph, "index", v), MOST_PLACE, (int32_t)v) : (int32_t)v;
    node->level = c->level ? whole(VAN(c->graph, "level", v), MOST_PLACE, -1) : -1;
    node->first = c->first ? whole(VAN(c->graph, "first", v), MOST_PLACE, -1) : -1;
    node->last = c->last ? whole(VAN(c->graph, "last", v), MOST_PLACE, -1) : -1;
    return node->kind >= 0 && node->label;
}

static const char *phase_name(const columns *c, igraph_integer_t e, char *room)
{
    if (c->phase_name) return EAS(c->graph, "interaction", e);
    if (!c->phase) return "edge";
    snprintf(room, NAME_ROOM, "phase %d", whole(EAN(c->graph, "phase", e), MOST_PLACE, -1));
    return room;
}

static int read_edge(gsa_view *view, const columns *c, igraph_integer_t e)
{
    char room[NAME_ROOM];
    gsa_view_edge *edge = &view->edge[e];
    const char *label = c->edge_text_label  ? EAS(c->graph, "label", e)
                        : c->edge_text_name ? EAS(c->graph, "name", e)
                                            : "";
    edge->from = (int32_t)IGRAPH_FROM(c->graph, e), edge->to = (int32_t)IGRAPH_TO(c->graph, e);
    edge->phase = gsa_texts_add(view->system, &view->phases, phase_name(c, e, room));
    edge->label = gsa_texts_add(view->system, &view->labels, label);
    edge->rel = c->rel ? whole(EAN(c->graph, "rel", e), INT32_MAX, 0) : 0;
    edge->layer = c->layer ? whole(EAN(c->graph, "layer", e), MOST_PLACE, -1) : -1;
    edge->head_from = c->head_from ? whole(EAN(c->graph, "head_from", e), MOST_HEAD, -1) : -1;
    edge->head_to = c->head_to ? whole(EAN(c->graph, "head_to", e), MOST_HEAD, -1) : -1;
    edge->weight = c->weight ? EAN(c->graph, "weight", e) : 1;
    if (!isfinite(edge->weight)) edge->weight = 0;
    view->weighted |= e > 0 && edge->weight != view->edge[0].weight;
    if (edge->layer >= view->layers) view->layers = edge->layer + 1;
    return edge->phase >= 0 && edge->label >= 0;
}

/* Attribute wH of every edge. All at once: to find an attribute igraph compares its name with those
 * before it. */
static igraph_error_t read_head(gsa_view *view, const igraph_t *graph, int32_t h,
                                igraph_vector_t *values)
{
    char name[16];
    snprintf(name, sizeof name, "w%d", h);
    const igraph_error_t code = EANV(graph, name, values);
    for (int64_t e = 0; code == IGRAPH_SUCCESS && e < view->edges; e++) {
        const double x = VECTOR(*values)[e];
        view->head_weight[e * view->head_weights + h] = isfinite(x) ? x : 0;
    }
    return code;
}

/* w0, w1, ... as far as they go. */
static gsa_status read_head_weights(gsa_view *view, const igraph_t *graph, gsa_error *error)
{
    char name[16] = "w0";
    int32_t n = 0;
    while (n < 4096 && type_of(graph, IGRAPH_ATTRIBUTE_EDGE, name) == IGRAPH_ATTRIBUTE_NUMERIC)
        snprintf(name, sizeof name, "w%d", ++n);
    int64_t count;
    if (n == 0) return GSA_OK;
    if (!gsa_mul(view->edges, n, &count))
        return gsa_fail(error, GSA_ERR_LIMIT, "%d weights an edge are too many", n);
    view->head_weight = gsa_alloc(view->system, (size_t)count, sizeof *view->head_weight);
    if (!view->head_weight)
        return gsa_out_of_memory(error, "weights", count * (int64_t)sizeof *view->head_weight);
    view->head_weights = n;
    igraph_vector_t values;
    igraph_error_t code = igraph_vector_init(&values, view->edges);
    if (code != IGRAPH_SUCCESS) return gsa_igraph_failed(code, GSA_ERR_MEMORY, "weights", error);
    for (int32_t h = 0; h < n && code == IGRAPH_SUCCESS; h++)
        code = read_head(view, graph, h, &values);
    igraph_vector_destroy(&values);
    return code == IGRAPH_SUCCESS ? GSA_OK
                                  : gsa_igraph_failed(code, GSA_ERR_FORMAT, "weights", error);
}

/* ---- the graph ----------------------------------------------------------------------------- */

static double graph_number(const igraph_t *graph, const char *name)
{
    return type_of(graph, IGRAPH_ATTRIBUTE_GRAPH, name) == IGRAPH_ATTRIBUTE_NUMERIC
               ? GAN(graph, name)
               : -1;
}

static gsa_status check_counts(const gsa_view *view, const igraph_t *graph, const char *path,
                               gsa_error *error)
{
    const double nodes = graph_number(graph, "nodes"), edges = graph_number(graph, "edges");
    if (nodes >= 0 && nodes != view->nodes)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "'%s': it says %.0f nodes and has %" PRId32
                        ": it is cut, or an edge names a "
                        "node that is not there",
                        path, nodes, view->nodes);
    if (edges >= 0 && edges != (double)view->edges)
        return gsa_fail(error, GSA_ERR_FORMAT, "'%s': it says %.0f edges and has %" PRId64, path,
                        edges, view->edges);
    return GSA_OK;
}

static gsa_status take(gsa_view *view, const igraph_t *graph, const char *path, gsa_error *error)
{
    columns c;
    const igraph_integer_t nodes = igraph_vcount(graph), edges = igraph_ecount(graph);
    if (nodes > INT32_MAX)
        return gsa_fail(error, GSA_ERR_LIMIT, "'%s' has more than %d nodes", path, INT32_MAX);
    find_columns(&c, graph);
    view->nodes = (int32_t)nodes, view->edges = edges, view->directed = igraph_is_directed(graph),
    view->profile = c.kind;
    gsa_status status = check_counts(view, graph, path, error);
    if (status != GSA_OK) return status;
    const int named = type_of(graph, IGRAPH_ATTRIBUTE_GRAPH, "spec") == IGRAPH_ATTRIBUTE_STRING;
    view->length = whole(graph_number(graph, "length"), INT32_MAX, -1),
    view->heads = whole(graph_number(graph, "heads"), INT32_MAX, -1);
    view->spec = gsa_copy_text(view->system, named ? GAS(graph, "spec") : path);
    view->node = gsa_alloc_zero(view->system, (size_t)nodes, sizeof *view->node);
    view->edge = gsa_alloc_zero(view->system, (size_t)edges, sizeof *view->edge);
    int room = view->spec && view->node && view->edge;
    for (igraph_integer_t v = 0; v < nodes && room; v++) room = read_node(view, &c, v);
    for (igraph_integer_t e = 0; e < edges && room; e++) room = read_edge(view, &c, e);
    if (!room)
        return gsa_out_of_memory(
            error, path, nodes * (int64_t)sizeof *view->node + edges * (int64_t)sizeof *view->edge);
    if (view->kinds.count > MOST_KINDS)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%s: its nodes are of %" PRId32 " kinds, expected at most %d", path,
                        view->kinds.count, MOST_KINDS);
    return read_head_weights(view, graph, error);
}

static gsa_status parse(gsa_view *view, const char *path, char *data, int64_t bytes,
                        gsa_error *error)
{
    igraph_t graph;
    gsa_igraph_guard guard;
    gsa_graphml_size size_of = { .zeros = 0 };
    char why[256];
    gsa_graphml_add(&size_of, data, bytes);
    if (!gsa_graphml_fits(&size_of, why, sizeof why))
        return gsa_fail(error, size_of.foreign ? GSA_ERR_FORMAT : GSA_ERR_LIMIT, "%s: %s", path,
                        why);
    FILE *in = bytes > 0 ? fmemopen(data, (size_t)bytes, "r") : NULL;
    if (bytes == 0) return gsa_fail(error, GSA_ERR_FORMAT, "'%s' is empty, expected GraphML", path);
    if (!in) return gsa_out_of_memory(error, path, bytes);
    gsa_status status = gsa_igraph_enter(&guard, error);
    if (status == GSA_OK) {
        const igraph_error_t code = igraph_read_graph_graphml(&graph, in, 0);
        if (code == IGRAPH_SUCCESS) {
            status = take(view, &graph, path, error);
            igraph_destroy(&graph);
        } else if (code == IGRAPH_EINVAL) /* the graph that it was to take is not there */
            status = gsa_fail(error, GSA_ERR_FORMAT,
                              "%s: XML that holds no <graph>, expected GraphML", path);
        else status = gsa_igraph_failed(code, GSA_ERR_FORMAT, path, error);
        snprintf(view->note, sizeof view->note, "%s", gsa_igraph_warning());
        gsa_igraph_leave(&guard);
    }
    fclose(in);
    return status;
}

gsa_status gsa_view_read(const gsa_system *system, const char *path, gsa_view **view,
                         gsa_error *error)
{
    char *data;
    int64_t bytes;
    *view = NULL;
    gsa_status status = gsa_read_file(system, path, FILE_LIMIT, &data, &bytes, error);
    if (status != GSA_OK) return status;
    gsa_view *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (made) {
        made->system = system;
        status = parse(made, path, data, bytes, error);
    } else status = gsa_out_of_memory(error, path, (int64_t)sizeof *made);
    gsa_release(system, data);
    if (status == GSA_OK) *view = made;
    else gsa_view_release(made);
    return status;
}

void gsa_view_release(gsa_view *view)
{
    if (!view) return;
    for (int32_t v = 0; view->node && v < view->nodes; v++)
        gsa_release(view->system, (void *)(uintptr_t)view->node[v].label);
    gsa_texts_release(view->system, &view->kinds);
    gsa_texts_release(view->system, &view->phases);
    gsa_texts_release(view->system, &view->labels);
    gsa_release(view->system, view->head_weight);
    gsa_release(view->system, view->edge);
    gsa_release(view->system, view->node);
    gsa_release(view->system, view->spec);
    gsa_release(view->system, view);
}

/* ---- selection ----------------------------------------------------------------------------- */

static void list_names(const gsa_texts *names, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int32_t i = 0; i < names->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", names->at[i]);
}

static gsa_status check_selection(const gsa_view *view, int32_t layer, const char *phase,
                                  int32_t head, gsa_error *error)
{
    char known[256];
    int found = phase == NULL;
    for (int32_t i = 0; i < view->phases.count && !found; i++)
        found = strcmp(view->phases.at[i], phase) == 0;
    list_names(&view->phases, known, sizeof known);
    if (!found)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "no phase is named '%s'; the file has: %s", phase,
                        known);
    if (layer >= 0 && view->layers == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "layer %d: the file's edges belong to no layer",
                        layer);
    if (layer >= view->layers && layer >= 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "layer %d, expected 0 to %d", layer,
                        view->layers - 1);
    if (head >= 0 && view->head_weights == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "head %d: the file has no weights of single heads (w0, w1, ...)", head);
    if (head >= view->head_weights && head >= 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "head %d, expected 0 to %d", head,
                        view->head_weights - 1);
    return GSA_OK;
}

gsa_status gsa_view_select(gsa_view *view, int32_t layer, const char *phase, int32_t head,
                           gsa_error *error)
{
    const gsa_status status = check_selection(view, layer, phase, head, error);
    if (status != GSA_OK) return status;
    const int32_t heads = view->head_weights;
    int64_t kept = 0;
    view->weighted = 0;
    for (int64_t e = 0; e < view->edges; e++) {
        gsa_view_edge edge = view->edge[e];
        if (layer >= 0 && edge.layer != layer) continue;
        if (phase && strcmp(view->phases.at[edge.phase], phase) != 0) continue;
        if (head >= 0) edge.weight = view->head_weight[e * heads + head];
        if (heads > 0)
            memmove(view->head_weight + kept * heads, view->head_weight + e * heads,
                    (size_t)heads * sizeof *view->head_weight);
        view->edge[kept++] = edge;
        view->weighted |= edge.weight != view->edge[0].weight;
    }
    view->edges = kept;
    return GSA_OK;
}
