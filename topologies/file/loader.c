/* loader.c - edges in file order become rows: a counting sort by destination, then what the options
 * request. */
#include "loader.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"

int loader_fail(loader *load, int64_t line, const char *format, ...)
{
    va_list arguments;
    if (load->why[0]) return -1;
    int used = line > 0
                   ? snprintf(load->why, sizeof load->why, "%.256s:%" PRId64 ": ", load->path, line)
                   : snprintf(load->why, sizeof load->why, "%.256s: ", load->path);
    va_start(arguments, format);
    vsnprintf(load->why + used, sizeof load->why - (size_t)used, format, arguments);
    va_end(arguments);
    return -1;
}

int loader_stored(loader *load)
{
    gsa_error error;
    if (gsa_check_stored(gsa_system_default(), load->path, load->bytes, &error) == GSA_OK) return 0;
    snprintf(load->why, sizeof load->why, "%s", error.text); /* which names the path itself */
    return -1;
}

void *loader_grow(const loader *load, void *at, int64_t used, int64_t room, size_t size)
{
    if ((uint64_t)room > SIZE_MAX / size) return NULL;
    void *more = load->host->alloc(load->host, (size_t)room * size);
    if (!more) return NULL;
    if (used > 0) memcpy(more, at, (size_t)used * size);
    load->host->release(load->host, at);
    return more;
}

/* A small file that requests much memory is refused. */
static int check_size(loader *load, int64_t line, int64_t count, const char *what)
{
    const int64_t most = load->bytes < (INT64_MAX - FILE_FREE) / FILE_EACH
                             ? FILE_FREE + FILE_EACH * load->bytes
                             : INT64_MAX;
    if (count <= most) return 0;
    return loader_fail(load, line,
                       "%" PRId64 " %s of a file of %" PRId64 " bytes, expected at most %" PRId64
                       " (%d, and %d a byte)",
                       count, what, load->bytes, most, FILE_FREE, FILE_EACH);
}

int loader_begin(loader *load, int64_t line, int64_t nodes)
{
    if (nodes < 0 || nodes > INT32_MAX)
        return loader_fail(load, line, "%" PRId64 " nodes, expected 0 to %d", nodes, INT32_MAX);
    load->nodes = nodes;
    return check_size(load, line, nodes, "nodes");
}

int loader_edge(loader *load, int64_t line, int64_t from, int64_t to, file_label label)
{
    const int64_t end = load->nodes >= 0 ? load->nodes : INT32_MAX, larger = from > to ? from : to;
    if (from < 0 || to < 0 || larger >= end)
        return loader_fail(load, line,
                           "node %" PRId64 " does not exist (counted from 0), there are %" PRId64,
                           from < 0 || to < 0 ? (from < to ? from : to) : larger, end);
    if (load->count == load->room) {
        if (check_size(load, line, load->count + 1, "edges") < 0) return -1;
        const int64_t room = load->room ? 2 * load->room : 1024;
        file_edge *more = loader_grow(load, load->edges, load->count, room, sizeof *more);
        if (!more) return loader_fail(load, line, "out of memory for %" PRId64 " edges", room);
        load->edges = more, load->room = room;
    }
    const int32_t place = load->options.use_labels ? labels_find(load, line, label) : 0;
    if (place < 0) return -1;
    load->edges[load->count++] = (file_edge){ (int32_t)from, (int32_t)to, place };
    if (larger > load->largest) load->largest = (int32_t)larger;
    return 0;
}

void loader_release(loader *load)
{
    load->host->release(load->host, load->edges);
    labels_release(load->host, &load->labels);
    load->edges = NULL;
}

void file_graph_release(const gsa_host *host, file_graph *graph)
{
    file_labels names = { .at = graph->names, .count = graph->labels };
    host->release(host, graph->row);
    host->release(host, graph->source);
    host->release(host, graph->label);
    labels_release(host, &names);
}

/* ---- rows ---------------------------------------------------------------------------------- */

typedef struct shape { /* what is known before the edges are placed */
    int both, labelled;
    int64_t edges; /* at most */
} shape;

static int64_t count_rows(const loader *load, const shape *s, int64_t *row, int64_t nodes)
{
    memset(row, 0, ((size_t)nodes + 1) * sizeof *row);
    for (int64_t e = 0; e < load->count; e++) {
        row[load->edges[e].to + 1]++;
        if (s->both && load->edges[e].from != load->edges[e].to) row[load->edges[e].from + 1]++;
    }
    for (int64_t i = 0; i < nodes; i++) row[i + 1] += row[i];
    return row[nodes];
}

static void place_edge(file_graph *g, int64_t *next, int32_t from, int32_t to, int32_t label)
{
    const int64_t at = next[to]++;
    g->source[at] = from;
    if (g->label) g->label[at] = label;
}

static void place_edges(const loader *load, const shape *s, const int32_t *rank, file_graph *g,
                        int64_t *next)
{
    memcpy(next, g->row, (size_t)g->nodes * sizeof *next);
    for (int64_t e = 0; e < load->count; e++) {
        const file_edge *x = &load->edges[e];
        const int32_t label = g->label ? rank[x->label] : 0;
        place_edge(g, next, x->from, x->to, label);
        if (s->both && x->from != x->to) place_edge(g, next, x->to, x->from, label);
    }
}

static void move_edge(file_graph *g, int64_t to, int64_t from)
{
    g->source[to] = g->source[from];
    if (g->label) g->label[to] = g->label[from];
}

/* Row i becomes what is kept of it: once each source where `unique`. seen[source] = i + 1 marks the
 * sources of row i. */
static void finish_rows(const loader *load, file_graph *g, const int64_t *filled, int64_t *seen)
{
    int64_t out = 0;
    memset(seen, 0, (size_t)g->nodes * sizeof *seen);
    for (int64_t i = 0; i < g->nodes; i++) {
        const int64_t from = g->row[i];
        g->row[i] = out;
        for (int64_t e = from; e < filled[i]; e++) {
            const int again = seen[g->source[e]] == i + 1;
            g->duplicates |= again && !load->options.unique;
            if (again && load->options.unique) continue;
            seen[g->source[e]] = i + 1;
            move_edge(g, out++, e);
        }
    }
    g->row[g->nodes] = g->edges = out;
}

/* The labels' names move to the graph; self edges that are added get a label of their own where
 * there are others. */
static int take_labels(loader *load, shape *s, file_graph *g)
{
    if (s->labelled && load->options.self) {
        const file_label self = { INT64_MAX, "self", 0 }; /* which sorts last */
        if (labels_find(load, 0, self) < 0) return -1;
    }
    g->labels = s->labelled ? (int32_t)load->labels.count : 1;
    return 0;
}

static int place_all(loader *load, shape *s, file_graph *g, int64_t *work)
{
    int32_t *rank = loader_grow(load, NULL, 0, load->labels.count + 1, sizeof *rank);
    if (!rank) return loader_fail(load, 0, "out of memory for labels");
    labels_sort(&load->labels, rank);
    place_edges(load, s, rank, g, work);
    finish_rows(load, g, work, work + g->nodes);
    load->host->release(load->host, rank);
    g->names = s->labelled ? load->labels.at : NULL;
    if (s->labelled) load->labels.at = NULL, load->labels.count = 0;
    return 0;
}

int loader_build(loader *load, file_graph *graph)
{
    file_graph *g = graph;
    shape s = { .both = load->options.both < 0 ? load->undirected : load->options.both };
    *g = (file_graph){ .nodes = load->nodes >= 0 ? load->nodes : (int64_t)load->largest + 1 };
    s.labelled = load->options.use_labels && load->labels.count > 0;
    if (check_size(load, 0, g->nodes, "nodes") < 0) return -1;
    if (take_labels(load, &s, g) < 0) return -1;
    g->row = loader_grow(load, NULL, 0, g->nodes + 1, sizeof *g->row);
    if (!g->row) return loader_fail(load, 0, "out of memory for %" PRId64 " nodes", g->nodes);
    s.edges = count_rows(load, &s, g->row, g->nodes);
    g->source = loader_grow(load, NULL, 0, s.edges + 1, sizeof *g->source);
    if (s.labelled) g->label = loader_grow(load, NULL, 0, s.edges + 1, sizeof *g->label);
    int64_t *work = loader_grow(load, NULL, 0, 2 * g->nodes + 1, sizeof *work);
    int done = -1;
    if (g->source && work && (g->label || !s.labelled)) done = place_all(load, &s, g, work);
    else loader_fail(load, 0, "out of memory for %" PRId64 " edges", s.edges);
    load->host->release(load->host, work);
    return done;
}
