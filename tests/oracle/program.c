#include "program.h"
#include "invent.h"
#include <stdio.h>
#include <string.h>

unsigned oracle_stack_kinds(const oracle_pattern *pattern, unsigned kinds)
{
    unsigned out = 0;
    for (int k = 0; k < pattern->kinds; k++)
        if (kinds >> k & 1) out |= 1u << pattern->kind[k];
    return out;
}

static const oracle_pattern *part_of(const oracle_model *model, const oracle_segment *segment,
                                     int part)
{
    return &model->pattern[segment->part[part]];
}

static void name_item(const oracle_model *model, const oracle_stack *stack, oracle_item *item)
{
    const oracle_segment *segment = &stack->segment[item->segment];
    const oracle_phase *phase = &item->pattern->phase[item->phase];
    char layer[16] = "once", part[ORACLE_NAME + 16] = "";
    if (item->layer >= 0) snprintf(layer, sizeof layer, "%d", segment->share ? 0 : item->layer);
    int again = 1;
    for (int i = 0; i < item->part; i++) again += part_of(model, segment, i) == item->pattern;
    if (segment->parts > 1 && again > 1)
        snprintf(part, sizeof part, "%s%d.", item->pattern->id, again);
    else if (segment->parts > 1) snprintf(part, sizeof part, "%s.", item->pattern->id);
    snprintf(item->name, sizeof item->name, "%s.%d.%s.%s%s", stack->name, item->segment, layer,
             part, phase->weights[0] ? phase->weights : phase->name);
}

static void add_item(const oracle_model *model, const oracle_stack *stack, oracle_program *program,
                     oracle_item item)
{
    name_item(model, stack, &item);
    item.opens = 1;
    for (int i = 0; i < program->items; i++) {
        const oracle_item *x = &program->item[i];
        if (x->segment == item.segment && x->layer == item.layer && x->part == item.part &&
            oracle_group(x->pattern, x->phase) == oracle_group(item.pattern, item.phase))
            item.opens = 0;
    }
    program->item[program->items++] = item;
}

static void add_segment(const oracle_model *model, const oracle_stack *stack, int g, unsigned alive,
                        int layers_before, oracle_program *program)
{
    const oracle_segment *segment = &stack->segment[g];
    for (int i = 0; i < segment->parts; i++)
        program->born[g] |= oracle_stack_kinds(part_of(model, segment, i), ~0u) & ~alive;
    for (int i = 0; i < segment->parts; i++) {
        const oracle_pattern *pattern = part_of(model, segment, i);
        for (int p = 0; p < pattern->phases; p++)
            if (pattern->phase[p].when == GSA_ONCE &&
                (oracle_stack_kinds(pattern, pattern->phase[p].destinations) & program->born[g]))
                add_item(model, stack, program,
                         (oracle_item){ .segment = g,
                                        .layer = -1,
                                        .part = i,
                                        .phase = p,
                                        .pattern = pattern,
                                        .last = -1 });
    }
    oracle_item layer[ORACLE_ITEMS];
    const int n = oracle_order(model, segment, layer);
    for (int l = 0; l < segment->layers; l++)
        for (int i = 0; i < n; i++) {
            layer[i].segment = g, layer[i].layer = l;
            layer[i].last = i == n - 1 ? layers_before + l : -1;
            add_item(model, stack, program, layer[i]);
        }
}

/* ---- reachability, value by value: a kind's values are numbered from 0, its start */
typedef struct values {
    int now[ORACLE_KINDS];                  /* number of the kind's current value */
    int opened[ORACLE_PARTS][ORACLE_KINDS]; /* at the start of the part's open group */
    int old[ORACLE_ITEMS][ORACLE_KINDS], before[ORACLE_ITEMS][ORACLE_KINDS],
        after[ORACLE_ITEMS][ORACLE_KINDS];
    char needed[ORACLE_KINDS][ORACLE_ITEMS + 1];
} values;

static void need(values *v, const int number[ORACLE_KINDS], unsigned kinds)
{
    for (int k = 0; k < ORACLE_KINDS; k++)
        if (kinds >> k & 1) v->needed[k][number[k]] = 1;
}

oracle_pattern oracle_read_as(const oracle_stack *stack, const oracle_pattern *last)
{
    oracle_pattern out = *last;
    if (stack->settings.readout == GSA_POOL_SUMMARY) return out;
    out.pools = 1, out.pool[0].kind = out.sequence, out.pool[0].weight = 1;
    out.pool[0].pool = stack->settings.readout == GSA_POOL_MEAN ? GSA_MEAN_OF : GSA_MAX_OF;
    return out;
}

static unsigned read_by_summary(const oracle_stack *stack, const oracle_pattern *last)
{
    const oracle_pattern pattern = oracle_read_as(stack, last);
    unsigned kinds = 0;
    for (int i = 0; i < pattern.pools; i++)
        kinds |= pattern.pool[i].pool == GSA_SUMMARY_NODE ? ~0u : 1u << pattern.pool[i].kind;
    return oracle_stack_kinds(&pattern, kinds);
}

static void number_values(const oracle_program *program, values *v)
{
    for (int i = 0; i < program->items; i++) {
        const oracle_item *item = &program->item[i];
        const oracle_phase *phase = &item->pattern->phase[item->phase];
        const unsigned written = oracle_stack_kinds(item->pattern, phase->destinations);
        if (item->opens) memcpy(v->opened[item->part], v->now, sizeof v->now);
        memcpy(v->old[i], v->opened[item->part], sizeof v->now);
        memcpy(v->before[i], v->now, sizeof v->now);
        for (int k = 0; k < ORACLE_KINDS; k++) v->now[k] += written >> k & 1;
        memcpy(v->after[i], v->now, sizeof v->now);
    }
}

static int blind(const oracle_phase *x) /* overwrites all rows without reading them */
{
    return (x->aggregate == GSA_SUM || x->aggregate == GSA_MEAN) && x->update != GSA_SUBLAYER &&
           !oracle_keeps(x);
}

static int is_needed(const values *v, int i, unsigned written)
{
    for (int k = 0; k < ORACLE_KINDS; k++)
        if ((written >> k & 1) && v->needed[k][v->after[i][k]]) return 1;
    return 0;
}

static void reach(const oracle_model *model, int s, oracle_program *program)
{
    const oracle_stack *stack = &model->stack[s];
    const oracle_pattern *reader = part_of(model, &stack->segment[stack->segments - 1], 0);
    const unsigned sequence = oracle_stack_kinds(reader, 1u << reader->sequence);
    values v;
    memset(&v, 0, sizeof v);
    number_values(program, &v);
    if (stack->read_sequence) need(&v, v.now, sequence);
    if (stack->read_summary) need(&v, v.now, read_by_summary(stack, reader));
    for (int i = 0; i < program->items; i++)
        for (int tap = 0; tap < stack->taps; tap++)
            if (program->item[i].last == stack->tap[tap]) need(&v, v.after[i], sequence);
    for (int i = program->items - 1; i >= 0; i--) {
        oracle_item *item = &program->item[i];
        const oracle_phase *x = &item->pattern->phase[item->phase];
        const unsigned written = oracle_stack_kinds(item->pattern, x->destinations);
        item->skipped = !is_needed(&v, i, written);
        if (item->skipped) continue;
        need(&v, v.old[i], oracle_stack_kinds(item->pattern, x->sources));
        if (!blind(x)) need(&v, v.old[i], written);
        if (x->aggregate != GSA_NONE && oracle_keeps(x)) need(&v, v.before[i], written);
    }
    for (int k = 0; k < ORACLE_KINDS; k++) program->start_needed |= (unsigned)v.needed[k][0] << k;
}

void oracle_compile(const oracle_model *model, int s, oracle_program *program)
{
    const oracle_stack *stack = &model->stack[s];
    memset(program, 0, sizeof *program);
    unsigned alive = 0;
    for (int g = 0, layers = 0; g < stack->segments; g++) {
        add_segment(model, stack, g, alive, layers, program);
        alive |= program->born[g];
        layers += stack->segment[g].layers;
    }
    reach(model, s, program);
}
