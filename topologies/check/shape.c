/* shape.c - what the graph of one layer looks like: parallel edges, distances between tokens, nodes
 * that nothing touches. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "parts.h"

/* ---- duplicates ---------------------------------------------------------------------------- */

/* The first parallel edge of a phase; `stamp` has one entry for each source (x heads) of all
 * kinds. */
static int64_t find_parallel(const gsa_edges *edges, int64_t *stamp, const int64_t *base,
                             int64_t *row, const gsa_run **run)
{
    for (*row = 0; *row < edges->rows; ++*row) {
        int64_t k = 0;
        for (int64_t i = edges->run_offset[*row]; i < edges->run_offset[*row + 1]; i++) {
            *run = &edges->runs[i];
            for (int64_t j = 0; j < (*run)->count; j++, k++) {
                int64_t *mark = &stamp[base[(*run)->kind] + (*run)->first + j * (*run)->step];
                if (*mark == *row + 1) return k;
                *mark = *row + 1;
            }
        }
    }
    return -1;
}

static gsa_status find_in_phase(gsa_checking *c, const gsa_instance *x, int p, gsa_finding *finding,
                                gsa_error *error)
{
    int64_t base[GSA_MAX_KINDS + 1] = { 0 }, row = 0;
    const gsa_run *run = NULL;
    gsa_edges edges;
    gsa_instance_edges(x, p, &edges);
    for (int k = 0; k < edges.kinds; k++) base[k + 1] = base[k] + edges.part_rows[k];
    int64_t *stamp = gsa_alloc_zero(c->system, (size_t)base[edges.kinds], sizeof *stamp);
    if (!stamp)
        return gsa_out_of_memory(error, "marks", base[edges.kinds] * (int64_t)sizeof *stamp);
    const int64_t k = find_parallel(&edges, stamp, base, &row, &run);
    gsa_release(c->system, stamp);
    if (k < 0) return GSA_OK;
    char from[GSA_NODE_NAME], to[GSA_NODE_NAME];
    int64_t before = edges.edge_offset[row], source = run->first;
    for (const gsa_run *r = &edges.runs[edges.run_offset[row]]; r < run; r++) before += r->count;
    source += (edges.edge_offset[row] + k - before) * run->step;
    finding->length = gsa_instance_length(x), finding->phase = p;
    finding->row = row, finding->edge = k, finding->value = source;
    gsa_found(finding, GSA_VERDICT_FAILED,
              "%s reads %s twice at length %" PRId64 " (phase '%s', edge %" PRId64
              "), and parallel edges are not promised",
              gsa_checking_row(c, x, p, row, to),
              gsa_checking_source(c, x, p, run->kind, source, from), finding->length,
              gsa_schema_phase(c->schema, p)->name, k);
    return GSA_OK;
}

static gsa_status find_in_example(gsa_checking *c, const gsa_trial *trial, gsa_finding *finding,
                                  gsa_error *error)
{
    gsa_instance *x;
    gsa_status status = gsa_checking_build(c, trial, &x, error);
    for (int p = 0;
         p < gsa_schema_phases(c->schema) && status == GSA_OK && finding->verdict == GSA_VERDICT_OK;
         p++)
        if (gsa_schema_phase(c->schema, p)->aggregate != GSA_NONE)
            status = find_in_phase(c, x, p, finding, error);
    gsa_instance_release(x);
    return status;
}

gsa_status gsa_check_duplicates(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    gsa_status status = GSA_OK;
    gsa_trial trial;
    for (int i = 0; gsa_checking_length(c, i) >= 0; i++)
        for (int v = 0, use;
             (use = gsa_checking_variant(c, gsa_checking_length(c, i), v, &trial)) != 0; v++) {
            trial.heads = 3;
            if (use > 0 && !trial.grouped && status == GSA_OK && finding->verdict == GSA_VERDICT_OK)
                status = find_in_example(c, &trial, finding, error);
        }
    if (status != GSA_OK) return status;
    const int met = finding->verdict == GSA_VERDICT_FAILED;
    if (!met && gsa_checking_promised(c, GSA_DUPLICATES))
        gsa_found(finding, GSA_VERDICT_NOTE,
                  "parallel edges are promised, and no length tried has one");
    else if (!met) gsa_found(finding, GSA_VERDICT_OK, "no parallel edges");
    else if (gsa_checking_promised(c, GSA_DUPLICATES))
        gsa_found(finding, GSA_VERDICT_OK,
                  "parallel edges are meant; the first is at length %" PRId64, finding->length);
    return GSA_OK;
}

/* ---- the graph of one layer, phases joined ------------------------------------------------- */

typedef struct graph { /* out-edges of the nodes of all kinds, heads joined */
    int64_t base[GSA_MAX_KINDS + 1], nodes, edges;
    int64_t *offset; /* [nodes + 2] */
    int32_t *to;     /* [edges] */
    uint8_t *read;   /* [nodes]: has an in-edge */
} graph;

static void close_graph(const gsa_checking *c, graph *g)
{
    gsa_release(c->system, g->offset);
    gsa_release(c->system, g->to);
    gsa_release(c->system, g->read);
}

/* Calls for each edge of a phase; fill 0 counts out-edges at offset[source + 2], fill 1 puts them
 * in place. */
static void add_phase(const gsa_checking *c, const gsa_instance *x, int phase, graph *g, int fill)
{
    const gsa_phase *p = gsa_schema_phase(c->schema, phase);
    const int32_t heads = p->per_head ? gsa_instance_heads(x) : 1;
    gsa_edges edges;
    int64_t row = 0;
    gsa_instance_edges(x, phase, &edges);
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++) {
        const int64_t rows = p->destinations >> k & 1 ? gsa_instance_nodes(x, k) * heads : 0;
        for (int64_t r = 0; r < rows; r++, row++) {
            const int64_t to = g->base[k] + r / heads;
            g->read[to] |= edges.run_offset[row] < edges.run_offset[row + 1];
            for (int64_t i = edges.run_offset[row]; i < edges.run_offset[row + 1]; i++)
                for (int64_t j = 0; j < edges.runs[i].count; j++) {
                    const gsa_run *run = &edges.runs[i];
                    const int64_t from = g->base[run->kind] + (run->first + j * run->step) / heads;
                    if (fill) g->to[g->offset[from + 1]++] = (int32_t)to;
                    else g->offset[from + 2]++;
                }
        }
    }
}

static gsa_status open_graph(const gsa_checking *c, const gsa_instance *x, graph *g,
                             gsa_error *error)
{
    *g = (graph){ 0 };
    gsa_checking_bases(c, x, g->base);
    g->nodes = g->base[gsa_schema_kinds(c->schema)];
    g->offset = gsa_alloc_zero(c->system, (size_t)g->nodes + 2, sizeof *g->offset);
    g->read = gsa_alloc_zero(c->system, (size_t)g->nodes, 1);
    if (!g->offset || !g->read) return gsa_out_of_memory(error, "a graph", g->nodes * 9);
    for (int p = 0; p < gsa_schema_phases(c->schema); p++)
        if (gsa_schema_phase(c->schema, p)->aggregate != GSA_NONE) add_phase(c, x, p, g, 0);
    for (int64_t i = 0; i < g->nodes; i++) g->offset[i + 2] += g->offset[i + 1];
    g->edges = g->offset[g->nodes + 1];
    g->to = gsa_alloc(c->system, (size_t)g->edges, sizeof *g->to);
    if (!g->to) return gsa_out_of_memory(error, "a graph", g->edges * (int64_t)sizeof *g->to);
    for (int p = 0; p < gsa_schema_phases(c->schema); p++)
        if (gsa_schema_phase(c->schema, p)->aggregate != GSA_NONE) add_phase(c, x, p, g, 1);
    return GSA_OK;
}

/* ---- longest path -------------------------------------------------------------------------- */

/* Distances in edges from one node; `queue` has room for every node. */
static void walk(const graph *g, int64_t from, int32_t *distance, int32_t *queue)
{
    int64_t head = 0, tail = 0;
    for (int64_t i = 0; i < g->nodes; i++) distance[i] = -1;
    distance[from] = 0, queue[tail++] = (int32_t)from;
    while (head < tail) {
        const int32_t at = queue[head++];
        for (int64_t i = g->offset[at]; i < g->offset[at + 1]; i++)
            if (distance[g->to[i]] < 0)
                distance[g->to[i]] = distance[at] + 1, queue[tail++] = g->to[i];
    }
}

/* Shortest paths from at most 128 tokens, evenly spread, to all others; of a causal pattern to
 * later ones. */
static gsa_status measure_paths(const gsa_checking *c, const graph *g, int32_t length,
                                int64_t *longest, int64_t *missing, int64_t *pairs,
                                gsa_error *error)
{
    const int sequence = gsa_schema_sequence(c->schema),
              causal = gsa_checking_promised(c, GSA_CAUSAL);
    int32_t *distance = gsa_alloc(c->system, (size_t)g->nodes, 2 * sizeof *distance);
    if (!distance) return gsa_out_of_memory(error, "distances", g->nodes * 8);
    for (int32_t from = 0; from < length; from += (length - 1) / 128 + 1) {
        walk(g, g->base[sequence] + from, distance, distance + g->nodes);
        for (int32_t to = causal ? from + 1 : 0; to < length; to++) {
            const int32_t steps = distance[g->base[sequence] + to];
            *pairs += to != from, *missing += steps < 0;
            if (steps > *longest) *longest = steps;
        }
    }
    gsa_release(c->system, distance);
    return GSA_OK;
}

gsa_status gsa_check_path(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    int64_t longest = 0, missing = 0, pairs = 0;
    const gsa_trial trial = gsa_checking_trial(c, c->only >= 0 ? c->only : 128);
    gsa_instance *x;
    graph g = { 0 };
    gsa_status status = gsa_checking_build(c, &trial, &x, error);
    if (status == GSA_OK) status = open_graph(c, x, &g, error);
    if (status == GSA_OK)
        status = measure_paths(c, &g, trial.length, &longest, &missing, &pairs, error);
    close_graph(c, &g);
    gsa_instance_release(x);
    finding->length = trial.length, finding->value = longest;
    if (status != GSA_OK) return status;
    gsa_found(finding, GSA_VERDICT_OK, "%" PRId64 " edge%s between tokens, of %" PRId32 " tokens",
              longest, longest == 1 ? "" : "s", trial.length);
    const size_t used = strlen(finding->text);
    if (missing)
        snprintf(finding->text + used, sizeof finding->text - used,
                 "; %" PRId64 " of %" PRId64 " pairs%s have no path", missing, pairs,
                 gsa_checking_promised(c, GSA_CAUSAL) ? " (earlier, later)" : "");
    return GSA_OK;
}

/* ---- isolated nodes ------------------------------------------------------------------------ */

static gsa_status count_isolated(gsa_checking *c, int32_t length, int64_t *count,
                                 gsa_finding *finding, gsa_error *error)
{
    const gsa_trial trial = gsa_checking_trial(c, length);
    gsa_instance *x;
    graph g = { 0 };
    gsa_status status = gsa_checking_build(c, &trial, &x, error);
    if (status == GSA_OK) status = open_graph(c, x, &g, error);
    for (int k = 0; k < gsa_schema_kinds(c->schema) && status == GSA_OK; k++)
        for (int64_t i = g.base[k]; i < g.base[k + 1]; i++) {
            if (g.read[i] || g.offset[i] < g.offset[i + 1]) continue;
            if (++*count > 1) continue;
            finding->length = length, finding->row = i - g.base[k];
            gsa_found(finding, GSA_VERDICT_NOTE, "%s %" PRId64 " at length %" PRId32 " has no edge",
                      gsa_schema_kind(c->schema, k)->name, finding->row, length);
        }
    close_graph(c, &g);
    gsa_instance_release(x);
    return status;
}

gsa_status gsa_check_isolated(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    int64_t count = 0;
    gsa_status status = GSA_OK;
    for (int i = 0; gsa_checking_few(c, i) >= 0 && status == GSA_OK; i++)
        if (gsa_checking_few(c, i) > 0)
            status = count_isolated(c, gsa_checking_few(c, i), &count, finding, error);
    finding->value = count;
    if (status == GSA_OK && count == 0) gsa_found(finding, GSA_VERDICT_OK, "none");
    return status;
}
