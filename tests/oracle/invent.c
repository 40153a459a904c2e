/* invent.c - the random part of a model that no example decides: settings, kinds, phases, segments,
 * readouts. */
#include "invent.h"
#include "order.h"
#include <stdio.h>
#include <string.h>

static int roll(gsa_dice *dice, int low, int high)
{
    return (int)gsa_between(dice, low, high);
}

static int chance(gsa_dice *dice, double p)
{
    return gsa_unit(dice) < p;
}

/* A random non-empty subset of the bits of `mask`; 0 for 0. */
static unsigned some(gsa_dice *dice, unsigned mask)
{
    unsigned out = 0;
    while (mask && !out) out = (unsigned)gsa_roll(dice) & mask;
    return out;
}

static gsa_settings invent_settings(gsa_dice *dice, int hidden, int drops)
{
    gsa_settings s = { .hidden = hidden, .heads = roll(dice, 1, 3), .init = 2 };
    s.head_dim = s.hidden % s.heads == 0 && chance(dice, 0.5) ? 0 : roll(dice, 2, 4);
    s.ffn = chance(dice, 0.2) ? 0 : roll(dice, 3, 9);
    s.activation = roll(dice, 0, 4);
    s.norm = roll(dice, 0, 1);
    s.bias = roll(dice, 0, 7);
    s.scale = roll(dice, 0, 1);
    const double eps[] = { 1e-6, 1e-5, 1e-3, 1e-2 };
    s.norm_eps = eps[roll(dice, 0, 3)];
    s.dropout_attention = drops && chance(dice, 0.7) ? 0.4 * gsa_unit(dice) : 0;
    s.dropout_hidden = drops && chance(dice, 0.7) ? 0.4 * gsa_unit(dice) : 0;
    s.dropout_ffn = drops && chance(dice, 0.7) ? 0.4 * gsa_unit(dice) : 0;
    s.input_scale = 1;
    s.position_base = 10000;
    return s;
}

static void invent_kinds(gsa_dice *dice, oracle_stack *stack, int reads_memory)
{
    static const char *const names[ORACLE_KINDS] = { "tok", "relay", "span", "word", "note" };
    stack->late = chance(dice, 0.2);
    stack->kinds = roll(dice, stack->late ? 3 : 2, ORACLE_KINDS);
    for (int k = 0; k < stack->kinds; k++) {
        oracle_kind *kind = &stack->kind[k];
        snprintf(kind->name, sizeof kind->name, "%s", names[k]);
        kind->start = k == 0                   ? GSA_INPUT
                      : k == 1 && reads_memory ? GSA_MEMORY
                                               : roll(dice, GSA_INPUT, GSA_BY_PHASE + reads_memory);
        if (stack->late && k > 1 && chance(dice, 0.7)) kind->start = GSA_BY_PHASE;
        if (kind->start == GSA_COPY || kind->start == GSA_MEMORY || !chance(dice, 0.4)) continue;
        kind->learned = (kind->start == GSA_INPUT ? ORACLE_LENGTH : 4) + roll(dice, 0, 1);
    }
}

/* ---- phases */
int oracle_group(const oracle_pattern *pattern, int p)
{
    const int when = pattern->phase[p].when;
    while (pattern->phase[p].together) do
            p--;
        while (pattern->phase[p].when != when);
    return p;
}

int oracle_keeps(const oracle_phase *x)
{
    if (x->empty != GSA_EMPTY_DEFAULT) return x->empty == GSA_KEEP_EMPTY;
    return x->update != GSA_SUBLAYER && x->aggregate != GSA_NONE;
}

static void choose_ops(gsa_dice *dice, const gsa_settings *s, oracle_phase *x)
{
    static const int aggregates[] = { GSA_ATTEND, GSA_ATTEND, GSA_ATTEND, GSA_SUM,
                                      GSA_MEAN,   GSA_NONE,   GSA_NONE };
    const int head_dim = s->head_dim ? s->head_dim : s->hidden / s->heads;
    x->aggregate = aggregates[roll(dice, 0, 6)];
    if (x->aggregate == GSA_NONE) x->update = chance(dice, 0.5) ? GSA_FFN : roll(dice, 0, 5);
    else x->update = chance(dice, 0.3) ? GSA_SUBLAYER : roll(dice, GSA_RELU_NORM, GSA_ASSIGN);
    if (x->update == GSA_ASSIGN && x->aggregate == GSA_ATTEND && s->heads * head_dim != s->hidden)
        x->update = GSA_LINEAR;
    if (x->aggregate == GSA_NONE) return;
    x->labels = roll(dice, 0, 4);
    x->label_use = x->aggregate == GSA_ATTEND ? roll(dice, 0, 2) : 0;
    x->per_head = chance(dice, 0.25) && (x->aggregate == GSA_ATTEND || s->hidden % s->heads == 0);
}

/* Takes the operations and the weights of an earlier phase of the same time. */
static int copy_ops(gsa_dice *dice, oracle_pattern *pattern, int p)
{
    oracle_phase *x = &pattern->phase[p];
    if (p == 0 || !chance(dice, 0.3)) return 0;
    oracle_phase *y = &pattern->phase[roll(dice, 0, p - 1)];
    if (y->when != x->when) return 0;
    if (!y->weights[0]) snprintf(y->weights, sizeof y->weights, "w%d", p);
    x->aggregate = y->aggregate, x->update = y->update, x->labels = y->labels;
    x->label_use = y->label_use, x->per_head = y->per_head;
    memcpy(x->weights, y->weights, sizeof x->weights);
    return 1;
}

/* Phases of a group that write one kind must keep their empty rows; a phase without edges
 * cannot. */
static void join_group(gsa_dice *dice, oracle_pattern *pattern, int p)
{
    oracle_phase *x = &pattern->phase[p];
    int first = -1;
    for (int q = 0; q < p; q++)
        if (pattern->phase[q].when == x->when) first = q;
    if (first < 0 || !chance(dice, x->when == GSA_ONCE ? 0.7 : 0.4)) return;
    x->together = 1;
    for (int q = oracle_group(pattern, p); q < p; q++) {
        oracle_phase *y = &pattern->phase[q];
        if (y->when != x->when || !(y->destinations & x->destinations)) continue;
        if (x->aggregate == GSA_NONE || y->aggregate == GSA_NONE)
            x->destinations &= ~y->destinations;
        else x->empty = y->empty = GSA_KEEP_EMPTY;
    }
    if (x->destinations) return;
    x->together = 0;
    x->destinations = pattern->phase[first].destinations;
}

static void invent_phase(gsa_dice *dice, const oracle_stack *stack, oracle_pattern *pattern, int p,
                         int when, unsigned into)
{
    oracle_phase *x = &pattern->phase[p];
    snprintf(x->name, sizeof x->name, "p%d", p);
    x->when = when;
    if (!copy_ops(dice, pattern, p)) {
        choose_ops(dice, &stack->settings, x);
        if (chance(dice, 0.1)) snprintf(x->weights, sizeof x->weights, "own%d", p);
    }
    x->empty = roll(dice, 0, x->aggregate == GSA_NONE ? GSA_UPDATE_EMPTY : GSA_KEEP_EMPTY);
    x->sources = x->aggregate == GSA_NONE ? 0 : some(dice, (1u << pattern->kinds) - 1);
    x->destinations = when == GSA_ONCE ? into : some(dice, into);
    join_group(dice, pattern, p);
}

/* Once-phases are anywhere between the others; together they write every kind that starts by
 * phase. */
static void invent_phases(gsa_dice *dice, const oracle_stack *stack, oracle_pattern *pattern)
{
    unsigned writable = 0, by_phase = 0, once[2] = { 0 };
    for (int k = 0; k < pattern->kinds; k++) {
        const int start = stack->kind[pattern->kind[k]].start;
        if (start != GSA_COPY && start != GSA_MEMORY) writable |= 1u << k;
        if (start == GSA_BY_PHASE) by_phase |= 1u << k;
    }
    once[0] = some(dice, by_phase);
    once[1] = by_phase & ~once[0];
    if (!once[1] && chance(dice, 0.5)) once[1] = once[0];
    int left[2] = { roll(dice, 1, 4), !!once[0] + !!once[1] }, done = 0;
    while (left[0] + left[1]) {
        const int when = left[0] == 0 || (left[1] && chance(dice, 0.5)) ? GSA_ONCE : GSA_EACH_LAYER;
        invent_phase(dice, stack, pattern, pattern->phases++, when,
                     when == GSA_ONCE ? once[done++] : writable);
        left[when]--;
    }
}

/* A shuffled subset of the stack's kinds with at least one input kind, preferably the first; never
 * all but memory. */
static void choose_kinds(gsa_dice *dice, const oracle_stack *stack, oracle_pattern *pattern,
                         int want_memory)
{
    const unsigned all = (1u << stack->kinds) - 1;
    unsigned mask = 1u | some(dice, all) | (stack->late ? 0 : some(dice, all));
    if (chance(dice, 0.1))
        for (int k = 1; k < stack->kinds; k++)
            if (stack->kind[k].start == GSA_INPUT) mask = (mask & ~1u) | 1u << k;
    if (want_memory) mask |= 2u;
    if (!(mask & (mask - 1))) mask |= mask == 1u ? 2u : 1u;
    for (int k = 0; k < stack->kinds; k++)
        if (mask >> k & 1) pattern->kind[pattern->kinds++] = k;
    for (int k = pattern->kinds - 1; k > 0; k--) {
        const int j = roll(dice, 0, k), kept = pattern->kind[k];
        pattern->kind[k] = pattern->kind[j];
        pattern->kind[j] = kept;
    }
    for (int k = 0; k < pattern->kinds; k++) /* the stack's first kind where it is there */
        if (stack->kind[pattern->kind[k]].start == GSA_INPUT &&
            (pattern->kind[k] == 0 ||
             stack->kind[pattern->kind[pattern->sequence]].start != GSA_INPUT))
            pattern->sequence = k;
}

static int invent_pattern(gsa_dice *dice, oracle_model *model, int s)
{
    const int number = model->patterns++;
    oracle_pattern *pattern = &model->pattern[number];
    pattern->model = model;
    pattern->stack = s;
    pattern->number = number;
    snprintf(pattern->id, sizeof pattern->id, "i%c", 'a' + number);
    choose_kinds(dice, &model->stack[s], pattern, s == 1 && chance(dice, 0.8));
    invent_phases(dice, &model->stack[s], pattern);
    pattern->pools = roll(dice, 0, ORACLE_POOLS);
    for (int i = 0; i < pattern->pools; i++) {
        pattern->pool[i].kind = roll(dice, 0, pattern->kinds - 1);
        pattern->pool[i].pool = roll(dice, GSA_MEAN_OF, GSA_SUMMARY_NODE);
        pattern->pool[i].weight = 0.5 + gsa_unit(dice);
    }
    return number;
}

/* ---- stacks */
int oracle_layers(const oracle_stack *stack)
{
    int layers = 0;
    for (int g = 0; g < stack->segments; g++) layers += stack->segment[g].layers;
    return layers;
}

static void invent_segments(gsa_dice *dice, oracle_model *model, int s)
{
    oracle_stack *stack = &model->stack[s];
    const int first = model->patterns;
    stack->segments = stack->late || chance(dice, 0.4) ? 2 : 1;
    for (int g = 0; g < stack->segments; g++) {
        oracle_segment *segment = &stack->segment[g];
        segment->parts = chance(dice, 0.3) ? roll(dice, 2, ORACLE_PARTS) : 1;
        segment->layers = roll(dice, 1, 2);
        segment->share = chance(dice, 0.3);
        for (int i = 0; i < segment->parts; i++)
            segment->part[i] = model->patterns > first && chance(dice, 0.2)
                                   ? roll(dice, first, model->patterns - 1)
                                   : invent_pattern(dice, model, s);
        oracle_item layer[ORACLE_ITEMS];
        while (oracle_order(model, segment, layer) < 0) segment->parts--; /* the law forbids it */
    }
}

/* Is the stack's kind declared by one of the segments up to `last`? */
static int declared(const oracle_model *model, int s, int kind, int last)
{
    for (int g = 0; g <= last; g++)
        for (int i = 0; i < model->stack[s].segment[g].parts; i++) {
            const oracle_pattern *pattern = &model->pattern[model->stack[s].segment[g].part[i]];
            for (int k = 0; k < pattern->kinds; k++)
                if (pattern->kind[k] == kind) return 1;
        }
    return 0;
}

static void invent_readout(gsa_dice *dice, oracle_model *model, int s)
{
    oracle_stack *stack = &model->stack[s];
    const oracle_pattern *last = &model->pattern[stack->segment[stack->segments - 1].part[0]];
    for (int g = 0, layer = 0; g < stack->segments; g++)
        for (int l = 0; l < stack->segment[g].layers; l++, layer++)
            if (declared(model, s, last->kind[last->sequence], g) && chance(dice, 0.15))
                stack->tap[stack->taps++] = layer;
    if (chance(dice, 0.3)) stack->settings.readout = roll(dice, GSA_POOL_MEAN, GSA_POOL_MAX);
    stack->read_summary = (last->pools > 0 || stack->settings.readout) && chance(dice, 0.7);
    stack->read_sequence = (s == 0 && model->stacks == 2) ||
                           (!stack->read_summary && !stack->taps) || chance(dice, 0.5);
}

static void append(char spec[ORACLE_SPEC], const char *word)
{
    const size_t n = strlen(spec), more = strlen(word);
    if (n + more < ORACLE_SPEC) memcpy(spec + n, word, more + 1);
}

static void write_spec(gsa_dice *dice, oracle_model *model, int s)
{
    oracle_stack *stack = &model->stack[s];
    char layers[16];
    for (int g = 0; g < stack->segments; g++) {
        const oracle_segment *segment = &stack->segment[g];
        const int sharing = segment->share ? roll(dice, 0, segment->parts - 1) : -1;
        if (g) append(stack->spec, ",");
        for (int i = 0; i < segment->parts; i++) {
            if (i) append(stack->spec, "+");
            append(stack->spec, model->pattern[segment->part[i]].id);
            if (i == sharing) append(stack->spec, ":share=1");
        }
        snprintf(layers, sizeof layers, "*%d", segment->layers);
        if (segment->layers > 1 || chance(dice, 0.5)) append(stack->spec, layers);
    }
}

static void invent_examples(gsa_dice *dice, oracle_model *model)
{
    model->examples = roll(dice, 1, ORACLE_EXAMPLES);
    for (int s = 0; s < model->stacks; s++) {
        oracle_stack *stack = &model->stack[s];
        stack->grouped = chance(dice, 0.6);
        for (int e = 0; e < model->examples; e++) {
            stack->length[e] = chance(dice, 0.1) ? 0 : roll(dice, 0, ORACLE_LENGTH);
            for (int i = 0, group = roll(dice, 0, 2); i < stack->length[e]; i++)
                stack->group[e][i] = stack->grouped ? (group += roll(dice, 0, 1)) : 0;
        }
    }
}

void oracle_invent(oracle_model *model, uint64_t seed)
{
    gsa_dice dice = { seed };
    dice.state = gsa_roll(&dice); /* else neighbouring seeds would share one stream */
    memset(model, 0, sizeof *model);
    model->seed = seed;
    model->by_length = chance(&dice, 0.3);
    model->stacks = chance(&dice, 0.25) ? 2 : 1;
    const int hidden = roll(&dice, 4, 8), drops = chance(&dice, 0.3);
    model->drop_seed = (uint32_t)gsa_roll(&dice), model->drop_step = (uint32_t)gsa_roll(&dice);
    for (int e = 0; e < ORACLE_EXAMPLES; e++) model->example_id[e] = roll(&dice, 0, 1000);
    for (int s = 0; s < model->stacks; s++) {
        model->stack[s].name = s ? "decoder" : "encoder";
        model->stack[s].settings = invent_settings(&dice, hidden, drops);
        invent_kinds(&dice, &model->stack[s], s == 1);
        invent_segments(&dice, model, s);
        invent_readout(&dice, model, s);
        write_spec(&dice, model, s);
    }
    invent_examples(&dice, model);
    oracle_plug(model);
}

/* ---- for people */
static void print_pattern(const oracle_pattern *pattern)
{
    static const char *const aggregates[] = { "attend", "sum", "mean", "none" };
    static const char *const updates[] = { "sublayer", "ffn",    "relu_norm",
                                           "norm",     "linear", "assign" };
    static const char *const empties[] = { "default", "update", "keep" };
    static const char *const uses[] = { "names", "vectors", "bias" };
    static const char *const pools[] = { "mean", "max", "node" };
    const oracle_stack *stack = &pattern->model->stack[pattern->stack];
    fprintf(stderr, "  %s: kinds", pattern->id);
    for (int k = 0; k < pattern->kinds; k++)
        fprintf(stderr, " %s", stack->kind[pattern->kind[k]].name);
    fprintf(stderr, "; sequence %d; pools", pattern->sequence);
    for (int i = 0; i < pattern->pools; i++)
        fprintf(stderr, " %s(%d) x %.3f", pools[pattern->pool[i].pool], pattern->pool[i].kind,
                pattern->pool[i].weight);
    fprintf(stderr, "\n");
    for (int p = 0; p < pattern->phases; p++) {
        const oracle_phase *x = &pattern->phase[p];
        fprintf(stderr, "    %s: %s%s%s/%s, empty %s, sources %#x -> %#x, labels %d as %s%s%s%s\n",
                x->name, x->when ? "once " : "", x->together ? "together " : "",
                aggregates[x->aggregate], updates[x->update], empties[x->empty], x->sources,
                x->destinations, x->labels, uses[x->label_use], x->per_head ? ", per head" : "",
                x->weights[0] ? ", weights " : "", x->weights);
    }
}

static void print_stack(const oracle_model *model, int s)
{
    static const char *const starts[] = { "input", "copy",     "mean_input",
                                          "zero",  "by_phase", "memory" };
    static const char *const reads[] = { " summary", " mean", " max" };
    const oracle_stack *stack = &model->stack[s];
    const gsa_settings *x = &stack->settings;
    fprintf(stderr,
            " %s = %s: hidden %d, heads %d, head_dim %d, ffn %d, activation %d, norm %s, bias %d, "
            "scale %d, eps %g, "
            "dropout %.3f %.3f %.3f\n",
            stack->name, stack->spec, x->hidden, x->heads, x->head_dim, x->ffn, x->activation,
            x->norm ? "pre" : "post", x->bias, x->scale, x->norm_eps, x->dropout_attention,
            x->dropout_hidden, x->dropout_ffn);
    fprintf(stderr, "  kinds:");
    for (int k = 0; k < stack->kinds; k++)
        fprintf(stderr, " %s=%s+%d", stack->kind[k].name, starts[stack->kind[k].start],
                stack->kind[k].learned);
    fprintf(stderr, "; reads%s%s; taps", stack->read_sequence ? " sequence" : "",
            stack->read_summary ? reads[x->readout] : "");
    for (int i = 0; i < stack->taps; i++) fprintf(stderr, " %d", stack->tap[i]);
    fprintf(stderr, "; lengths");
    for (int e = 0; e < model->examples; e++) fprintf(stderr, " %d", stack->length[e]);
    fprintf(stderr, "\n");
}

void oracle_print(const oracle_model *model)
{
    fprintf(stderr, "model of seed %llu%s\n", (unsigned long long)model->seed,
            model->by_length ? ", by length" : "");
    for (int s = 0; s < model->stacks; s++) {
        print_stack(model, s);
        for (int p = 0; p < model->patterns; p++)
            if (model->pattern[p].stack == s) print_pattern(&model->pattern[p]);
    }
}
