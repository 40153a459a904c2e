/* graph.c - the random nodes and edges of an example. */
#include "invent.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    gsa_dice dice = { a ^ (b + UINT64_C(0x632be59bd9b4e019)) * UINT64_C(0xd6e8feb86659fd93) };
    return gsa_roll(&dice);
}

gsa_example oracle_example(const oracle_model *model, int s, int e, int32_t group[ORACLE_LENGTH],
                           int32_t memory_group[ORACLE_LENGTH])
{
    const oracle_stack *stack = &model->stack[s], *memory = s ? &model->stack[s - 1] : NULL;
    gsa_example x = { .struct_size = sizeof x,
                      .length = stack->length[e],
                      .memory_length = memory ? memory->length[e] : 0,
                      .heads = stack->settings.heads };
    for (int i = 0; i < x.length; i++) group[i] = stack->group[e][i];
    for (int i = 0; i < x.memory_length; i++) memory_group[i] = memory->group[e][i];
    if (stack->grouped) x.group = group;
    if (memory && memory->grouped) x.memory_group = memory_group;
    return x;
}

/* What the graph depends on. Patterns of one stack agree in it, so that kinds of one name agree in
 * their nodes. */
static uint64_t key_of(const oracle_model *model, int s, const gsa_example *x)
{
    uint64_t key =
        mix(mix(mix(model->seed, (uint64_t)s), (uint64_t)x->length), (uint64_t)x->memory_length);
    if (model->by_length) return key;
    for (int i = 0; x->group && i < x->length; i++) key = mix(key, (uint64_t)x->group[i]);
    for (int i = 0; x->memory_group && i < x->memory_length; i++)
        key = mix(key, 77 + (uint64_t)x->memory_group[i]);
    return key;
}

static void record(oracle_graph *graph, oracle_event event)
{
    if (graph->events == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 64;
        graph->event = realloc(graph->event, (size_t)graph->room * sizeof *graph->event);
        if (!graph->event) fprintf(stderr, "oracle: no memory for events\n"), abort();
    }
    graph->event[graph->events++] = event;
}

typedef struct work {
    const oracle_pattern *pattern;
    uint64_t key;
    int heads;
    gsa_dice dice;
    oracle_graph graph;
    int there[ORACLE_KINDS];     /* nodes that exist already */
    double empty[ORACLE_PHASES]; /* share of rows without edges */
} work;

static void add_nodes(work *w, int kind, int count)
{
    w->there[kind] += count;
    record(&w->graph, (oracle_event){ .what = ORACLE_ADD_NODES, .kind = kind, .count = count });
}

static void count_nodes(work *w, const gsa_example *x)
{
    const oracle_stack *stack = &w->pattern->model->stack[w->pattern->stack];
    for (int k = 0; k < w->pattern->kinds; k++) {
        const int start = stack->kind[w->pattern->kind[k]].start;
        const int given = start == GSA_INPUT || start == GSA_COPY ? x->length
                          : start == GSA_MEMORY                   ? x->memory_length
                                                                  : -1;
        w->graph.nodes[k] =
            given >= 0 ? given : (int)(mix(w->key, 1000 + (uint64_t)w->pattern->kind[k]) % 5);
        if (given >= 0) w->there[k] = given;
        else add_nodes(w, k, (int)gsa_between(&w->dice, 0, w->graph.nodes[k]));
    }
}

/* Phases of a together group that write one kind share its nodes out among themselves. */
static int owns(const work *w, int p, int kind, int node)
{
    const oracle_pattern *pattern = w->pattern;
    const int leader = oracle_group(pattern, p);
    int owner[ORACLE_PHASES], owners = 0;
    for (int q = leader; q < pattern->phases; q++)
        if (pattern->phase[q].when == pattern->phase[p].when &&
            oracle_group(pattern, q) == leader && (pattern->phase[q].destinations >> kind & 1))
            owner[owners++] = q;
    return owner[mix(mix(w->key, (uint64_t)node), (uint64_t)(100 * leader + kind)) %
                 (uint64_t)owners] == p;
}

static void add_run(work *w, int p, int to_kind, int64_t to)
{
    const oracle_phase *x = &w->pattern->phase[p];
    const int scale = x->per_head ? w->heads : 1, labels = x->labels ? x->labels : 1;
    int kinds[ORACLE_KINDS], n = 0;
    for (int k = 0; k < w->pattern->kinds; k++)
        if ((x->sources >> k & 1) && w->there[k]) kinds[n++] = k;
    if (!n) return;
    oracle_run run = { .phase = p,
                       .from_kind = kinds[gsa_between(&w->dice, 0, n - 1)],
                       .to_kind = to_kind,
                       .to = to };
    const int64_t rows = (int64_t)scale * w->there[run.from_kind];
    run.from = gsa_between(&w->dice, 0, rows - 1);
    run.step = (int)gsa_between(&w->dice, -2, 3);
    const int64_t most = run.step > 0   ? (rows - 1 - run.from) / run.step
                         : run.step < 0 ? run.from / -run.step
                                        : 3;
    run.count = 1 + (int)gsa_between(&w->dice, 0, most < 3 ? most : 3);
    run.label = (int)gsa_between(&w->dice, 0, labels - 1);
    run.label_step = (int)gsa_between(&w->dice, -2, 2);
    const int last = run.label + (run.count - 1) * run.label_step;
    if (last < 0 || last >= labels) run.label_step = 0;
    if (gsa_unit(&w->dice) < 0.03) run.count = 0;
    record(&w->graph, (oracle_event){ .what = ORACLE_ADD_RUN, .run = run });
}

/* Edges into the nodes `first` .. `there`-1 of the phase's destination kind, forwards or
 * backwards. */
static void add_rows(work *w, int p, int kind, int first)
{
    const oracle_phase *x = &w->pattern->phase[p];
    const int scale = x->per_head ? w->heads : 1, count = (w->there[kind] - first) * scale,
              back = gsa_unit(&w->dice) < 0.3;
    for (int i = 0; i < count; i++) {
        const int64_t row = (int64_t)first * scale + (back ? count - 1 - i : i);
        if (!owns(w, p, kind, (int)(row / scale)) || gsa_unit(&w->dice) < w->empty[p]) continue;
        for (int64_t runs = gsa_between(&w->dice, 1, 3); runs > 0; runs--) add_run(w, p, kind, row);
    }
}

static void add_edges(work *w, const int first[ORACLE_KINDS])
{
    for (int p = 0; p < w->pattern->phases; p++)
        for (int k = 0; k < w->pattern->kinds; k++)
            if (w->pattern->phase[p].aggregate != GSA_NONE &&
                (w->pattern->phase[p].destinations >> k & 1))
                add_rows(w, p, k, first[k]);
}

/* A pattern whose readout has a summary node must name one for every example that is not empty. */
static void name_summary(work *w, int length)
{
    int kinds[ORACLE_KINDS], n = 0, must = 0;
    for (int i = 0; i < w->pattern->pools; i++)
        must |= length && w->pattern->pool[i].pool == GSA_SUMMARY_NODE;
    w->graph.summary_kind = -1;
    for (int k = 0; k < w->pattern->kinds; k++)
        if (w->graph.nodes[k]) kinds[n++] = k;
    if (!n || (!must && gsa_unit(&w->dice) < 0.5)) return;
    w->graph.summary_kind = kinds[gsa_between(&w->dice, 0, n - 1)];
    w->graph.summary_index =
        (int)gsa_between(&w->dice, 0, w->graph.nodes[w->graph.summary_kind] - 1);
    record(&w->graph, (oracle_event){ .what = ORACLE_NAME_SUMMARY,
                                      .kind = w->graph.summary_kind,
                                      .count = w->graph.summary_index });
}

/* Some nodes, some edges, the other nodes, edges into those (and a few more into the first): nodes
 * may come while emitting. */
oracle_graph oracle_invent_graph(const oracle_model *model, const oracle_pattern *pattern,
                                 const gsa_example *example)
{
    static const double empties[] = { 0, 0.2, 0.5, 1 };
    const uint64_t key = key_of(model, pattern->stack, example);
    work w = { .pattern = pattern,
               .key = key,
               .heads = example->heads,
               .dice = { mix(key, (uint64_t)pattern->number) } };
    int first[ORACLE_KINDS] = { 0 };
    for (int p = 0; p < pattern->phases; p++)
        w.empty[p] = empties[gsa_between(&w.dice, 0, 15) % 15 % 4];
    for (int p = 0; p < pattern->phases; p++)
        if (w.empty[p] == 1 && gsa_unit(&w.dice) < 0.5) w.empty[p] = 0.1;
    count_nodes(&w, example);
    add_edges(&w, first);
    for (int k = 0; k < pattern->kinds; k++) {
        first[k] = gsa_unit(&w.dice) < 0.8 ? w.there[k] : 0;
        if (w.there[k] < w.graph.nodes[k]) add_nodes(&w, k, w.graph.nodes[k] - w.there[k]);
    }
    add_edges(&w, first);
    name_summary(&w, example->length);
    return w.graph;
}

void oracle_forget_graph(oracle_graph *graph)
{
    free(graph->event);
    *graph = (oracle_graph){ 0 };
}

int oracle_row(const oracle_graph *graph, int phase, int to_kind, int64_t to, oracle_edge *edge,
               int room)
{
    int n = 0;
    for (int i = 0; i < graph->events; i++) {
        const oracle_run *run = &graph->event[i].run;
        if (graph->event[i].what != ORACLE_ADD_RUN || run->phase != phase ||
            run->to_kind != to_kind || run->to != to)
            continue;
        for (int j = 0; j < run->count; j++, n++)
            if (n < room)
                edge[n] = (oracle_edge){ run->from_kind, run->label + j * run->label_step,
                                         run->from + j * run->step };
    }
    return n;
}
