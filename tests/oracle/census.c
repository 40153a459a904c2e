#include "census.h"
#include "program.h"
#include <stdlib.h>
#include <string.h>

static void mark(oracle_features *f, const char *name, int present)
{
    int i = 0;
    while (i < f->count && strcmp(f->name[i], name) != 0) i++;
    if (i == ORACLE_FEATURES) abort();
    if (i == f->count) f->name[f->count++] = name, f->models[i] = 0;
    f->models[i] += present != 0;
}

/* ---- schema */
static int any_phase(const oracle_model *model,
                     int (*test)(const oracle_pattern *, const oracle_phase *, int), int value)
{
    for (int s = 0; s < model->stacks; s++)
        for (int g = 0; g < model->stack[s].segments; g++)
            for (int i = 0; i < model->stack[s].segment[g].parts; i++) {
                const oracle_pattern *pattern = &model->pattern[model->stack[s].segment[g].part[i]];
                for (int p = 0; p < pattern->phases; p++)
                    if (test(pattern, &pattern->phase[p], value)) return 1;
            }
    return 0;
}

static const oracle_stack *owner(const oracle_pattern *pattern)
{
    return &pattern->model->stack[pattern->stack];
}
static int has_aggregate(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern;
    return x->aggregate == value;
}
static int has_update(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    return x->update == value % 8 && owner(pattern)->settings.norm == value / 8;
}
static int has_empty(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern;
    return x->aggregate != GSA_NONE && x->empty == value;
}
static int has_label_use(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern;
    return x->labels > 1 && x->label_use == value % 8 && x->per_head == value / 8;
}
static int has_per_head(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    return x->per_head && x->aggregate == value && owner(pattern)->settings.heads > 1;
}
static int has_once(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern, (void)value;
    return x->when == GSA_ONCE;
}
static int has_together(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern;
    return x->together && x->when == value;
}
static int has_shared_rows(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)value;
    for (int q = 0; q < pattern->phases; q++)
        if (&pattern->phase[q] != x && pattern->phase[q].when == x->when &&
            (pattern->phase[q].destinations & x->destinations) &&
            oracle_group(pattern, q) == oracle_group(pattern, (int)(x - pattern->phase)))
            return 1;
    return 0;
}
static int has_shared_weights(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)value;
    for (int q = 0; q < pattern->phases; q++)
        if (x->weights[0] && &pattern->phase[q] != x &&
            strcmp(pattern->phase[q].weights, x->weights) == 0)
            return 1;
    return 0;
}
static int gaps(unsigned mask)
{
    while (mask && !(mask & 1)) mask >>= 1;
    return (mask & (mask + 1)) != 0;
}
static int has_gap(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern;
    return gaps(value ? x->destinations : x->sources);
}
static int has_many_destinations(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    (void)pattern, (void)value;
    return (x->destinations & (x->destinations - 1)) != 0;
}
static int reads_normed(const oracle_pattern *pattern, const oracle_phase *x, int value)
{
    return owner(pattern)->settings.norm == GSA_NORM_PRE && x->update == GSA_SUBLAYER &&
           x->aggregate == value && (x->sources & x->destinations) &&
           (x->sources & ~x->destinations);
}

static void count_phases(const oracle_model *model, oracle_features *f)
{
    static const char *const aggregates[] = { "attend", "sum", "mean", "none" };
    static const char *const updates[] = { "post sublayer",
                                           "post ffn",
                                           "post relu_norm",
                                           "post norm",
                                           "post linear",
                                           "post assign",
                                           "",
                                           "",
                                           "pre sublayer",
                                           "pre ffn",
                                           "pre relu_norm",
                                           "pre norm",
                                           "pre linear",
                                           "pre assign" };
    static const char *const empties[] = { "empty default", "empty update", "empty keep" };
    static const char *const uses[] = {
        "label names",          "label vectors",          "label bias",         "", "", "", "", "",
        "label names per head", "label vectors per head", "label bias per head"
    };
    static const char *const per_head[] = { "attend per head", "sum per head", "mean per head" };
    static const char *const normed[] = { "attend reads normed and raw", "sum reads normed and raw",
                                          "mean reads normed and raw" };
    for (int i = 0; i < 4; i++) mark(f, aggregates[i], any_phase(model, has_aggregate, i));
    for (int i = 0; i < 14; i++)
        if (updates[i][0]) mark(f, updates[i], any_phase(model, has_update, i));
    for (int i = 0; i < 3; i++) mark(f, empties[i], any_phase(model, has_empty, i));
    for (int i = 0; i < 11; i++)
        if (uses[i][0]) mark(f, uses[i], any_phase(model, has_label_use, i));
    for (int i = 0; i < 3; i++) mark(f, per_head[i], any_phase(model, has_per_head, i));
    for (int i = 0; i < 3; i++) mark(f, normed[i], any_phase(model, reads_normed, i));
    mark(f, "once", any_phase(model, has_once, 0));
    mark(f, "together", any_phase(model, has_together, GSA_EACH_LAYER));
    mark(f, "together once", any_phase(model, has_together, GSA_ONCE));
    mark(f, "together on one kind", any_phase(model, has_shared_rows, 0));
    mark(f, "shared weights", any_phase(model, has_shared_weights, 0));
    mark(f, "sources with a gap", any_phase(model, has_gap, 0));
    mark(f, "destinations with a gap", any_phase(model, has_gap, 1));
    mark(f, "several destination kinds", any_phase(model, has_many_destinations, 0));
}

/* ---- stacks and settings */
static void count_stack(const oracle_model *model, int s, int seen[64])
{
    const oracle_stack *stack = &model->stack[s];
    const gsa_settings *x = &stack->settings;
    /* clang-format off */
    enum { SEGMENTS, PLUS, PLUS3, TWICE, SHARE, TAP, TAP_EARLY, PRE, HEAD_DIM, FFN, SEQUENCE, SUMMARY, LEARNED, FULL, BIAS_Q, BIAS_V, BIAS_O,
           DROP_A, DROP_H, DROP_F, SKIPPED, SKIPPED_ONCE, HEADLESS, START, ACTIVATION = START + 6, MEAN = ACTIVATION + 5, MAX };
    /* clang-format on */
    seen[SEGMENTS] |= stack->segments > 1;
    for (int g = 0; g < stack->segments; g++) {
        const oracle_segment *segment = &stack->segment[g];
        seen[PLUS] |= segment->parts == 2, seen[PLUS3] |= segment->parts == 3;
        for (int i = 1; i < segment->parts; i++)
            seen[TWICE] |= segment->part[i] == segment->part[0];
        seen[SHARE] |= segment->share && segment->layers > 1;
    }
    seen[TAP] |= stack->taps > 0,
        seen[TAP_EARLY] |= stack->taps && stack->tap[0] < oracle_layers(stack) - 1;
    seen[PRE] |= x->norm, seen[HEAD_DIM] |= x->head_dim && x->head_dim * x->heads != x->hidden,
        seen[FFN] |= x->ffn == 0;
    seen[SEQUENCE] |= stack->read_sequence, seen[SUMMARY] |= stack->read_summary,
        seen[FULL] |= x->scale;
    for (int bit = 0; bit < 3; bit++) seen[BIAS_Q + bit] |= x->bias >> bit & 1;
    seen[DROP_A] |= x->dropout_attention > 0, seen[DROP_H] |= x->dropout_hidden > 0,
        seen[DROP_F] |= x->dropout_ffn > 0;
    for (int k = 0; k < stack->kinds; k++)
        seen[START + stack->kind[k].start] = 1, seen[LEARNED] |= stack->kind[k].learned > 0;
    seen[ACTIVATION + x->activation] = 1;
    seen[MEAN] |= stack->read_summary && x->readout == GSA_POOL_MEAN,
        seen[MAX] |= stack->read_summary && x->readout == GSA_POOL_MAX;
    oracle_program *program = malloc(sizeof *program);
    if (!program) abort();
    oracle_compile(model, s, program);
    for (int i = 0; i < program->items; i++) {
        const oracle_item *item = &program->item[i];
        seen[HEADLESS] |= item->opens && item->pattern->phase[item->phase].together;
        seen[program->item[i].layer < 0 ? SKIPPED_ONCE : SKIPPED] |= program->item[i].skipped;
    }
    free(program);
}

static void count_stacks(const oracle_model *model, oracle_features *f)
{
    /* clang-format off */
    static const char *const names[] = {
        "two segments", "a+b", "a+b+c", "a+a", "share", "tap", "tap of an early layer", "pre-norm", "head_dim free", "ffn by default",
        "sequence read", "summary read", "learned rows", "scale full", "bias q", "bias v", "bias o",
        "dropout attention", "dropout hidden", "dropout ffn", "skipped phase", "skipped once-phase", "once-group without its first",
        "start input", "start copy", "start mean_input", "start zero", "start by_phase", "start memory",
        "relu", "leaky relu", "gelu", "tanh", "sigmoid", "summary is the mean", "summary is the maximum" };
    /* clang-format on */
    int seen[64] = { 0 };
    for (int s = 0; s < model->stacks; s++) count_stack(model, s, seen);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) mark(f, names[i], seen[i]);
    mark(f, "two stacks", model->stacks == 2);
    mark(f, "graphs by length", model->by_length);
}

/* ---- graphs */
/* clang-format off */
enum { G_LENGTH0, G_NO_NODES, G_EMPTY_ROW, G_DUPLICATE, G_STEP, G_BACKWARDS, G_LABEL_STEP, G_COUNT0, G_MEAN, G_MAX, G_NODE, G_NO_NODE,
       G_NODE_TOKEN, G_NODE_OTHER, G_LATE_NODES, G_ONE_EXAMPLE, G_FOUR_EXAMPLES, G_GROUPS, G_ALL };
/* clang-format on */

static void count_row(const oracle_graph *graph, int phase, int kind, int64_t row, int seen[G_ALL])
{
    oracle_edge edge[256];
    const int n = oracle_row(graph, phase, kind, row, edge, 256);
    seen[G_EMPTY_ROW] |= n == 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            seen[G_DUPLICATE] |=
                edge[i].from_kind == edge[j].from_kind && edge[i].from == edge[j].from;
}

static void count_events(const oracle_graph *graph, int seen[G_ALL])
{
    for (int i = 0, runs = 0; i < graph->events; i++) {
        const oracle_event *x = &graph->event[i];
        if (x->what == ORACLE_ADD_RUN) {
            runs++;
            seen[G_STEP] |= x->run.count > 1 && x->run.step > 1,
                seen[G_BACKWARDS] |= x->run.count > 1 && x->run.step < 0;
            seen[G_LABEL_STEP] |= x->run.count > 1 && x->run.label_step != 0,
                seen[G_COUNT0] |= x->run.count == 0;
        } else if (x->what == ORACLE_ADD_NODES) seen[G_LATE_NODES] |= runs > 0 && x->count > 0;
    }
}

static void count_graph(const oracle_model *model, const oracle_pattern *pattern, int e,
                        int seen[G_ALL])
{
    int32_t group[ORACLE_LENGTH], memory_group[ORACLE_LENGTH];
    const gsa_example example = oracle_example(model, pattern->stack, e, group, memory_group);
    oracle_graph graph = oracle_invent_graph(model, pattern, &example);
    seen[G_LENGTH0] |= example.length == 0;
    for (int k = 0; k < pattern->kinds; k++) seen[G_NO_NODES] |= example.length && !graph.nodes[k];
    count_events(&graph, seen);
    for (int p = 0; p < pattern->phases; p++)
        for (int k = 0; k < pattern->kinds; k++)
            for (int row = 0; row < graph.nodes[k] && (pattern->phase[p].destinations >> k & 1);
                 row++)
                if (pattern->phase[p].aggregate != GSA_NONE && !pattern->phase[p].per_head)
                    count_row(&graph, p, k, row, seen);
    for (int i = 0; i < pattern->pools; i++) {
        seen[G_MEAN + pattern->pool[i].pool] = 1;
        if (pattern->pool[i].pool != GSA_SUMMARY_NODE) continue;
        seen[G_NO_NODE] |= graph.summary_kind < 0;
        if (graph.summary_kind >= 0)
            seen[graph.summary_kind == pattern->sequence ? G_NODE_TOKEN : G_NODE_OTHER] = 1;
    }
    oracle_forget_graph(&graph);
}

static void count_graphs(const oracle_model *model, oracle_features *f)
{
    /* clang-format off */
    static const char *const names[G_ALL] = {
        "example of length 0", "kind without nodes", "empty row", "duplicate edge", "run with a step", "run backwards", "run with a label step",
        "run of nothing", "pool mean", "pool max", "pool summary node", "no summary node", "summary node is a token", "summary node is another",
        "nodes while emitting", "one example", "four examples", "groups" };
    /* clang-format on */
    int seen[G_ALL] = { 0 };
    for (int s = 0; s < model->stacks; s++) {
        seen[G_GROUPS] |= model->stack[s].grouped;
        for (int g = 0; g < model->stack[s].segments; g++)
            for (int i = 0; i < model->stack[s].segment[g].parts; i++)
                for (int e = 0; e < model->examples; e++)
                    count_graph(model, &model->pattern[model->stack[s].segment[g].part[i]], e,
                                seen);
    }
    seen[G_ONE_EXAMPLE] = model->examples == 1, seen[G_FOUR_EXAMPLES] = model->examples == 4;
    for (int i = 0; i < G_ALL; i++) mark(f, names[i], seen[i]);
}

void oracle_count_features(const oracle_model *model, oracle_features *features)
{
    count_phases(model, features);
    count_stacks(model, features);
    count_graphs(model, features);
}
