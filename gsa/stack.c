#include "stack_parts.h"
#include "graph/index.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_FIRST_SITE = 16,
    MOST_KINDS = GSA_MAX_KINDS * 64,
    MOST_HEADS = 1 << 14 /* of the key of dropout: backend.h */
};

/* ---- texts that grow ----------------------------------------------------------------------- */
static gsa_status append(gsa_stack *stack, char **text, gsa_error *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    const size_t old = *text ? strlen(*text) : 0, room = (length > 0 ? (size_t)length : 0) + 1;
    char *grown = gsa_resize(stack->system, *text, old + room, 1);
    if (!grown) return gsa_out_of_memory(error, "a stack's text", (int64_t)(old + room));
    *text = grown;
    va_start(list, format);
    vsnprintf(grown + old, room, format, list);
    va_end(list);
    return GSA_OK;
}

static gsa_status write_text(gsa_stack *stack, gsa_error *error)
{
    gsa_status status = append(stack, &stack->text, error, "%s", "");
    for (int s = 0; s < stack->n_segments && status == GSA_OK; s++) {
        if (s) status = append(stack, &stack->text, error, ",");
        for (int p = stack->first_part[s]; p < stack->first_part[s + 1] && status == GSA_OK; p++)
            status =
                append(stack, &stack->text, error, "%s%s%s", p > stack->first_part[s] ? "+" : "",
                       gsa_pattern_text(stack->parts[p].pattern),
                       stack->segments[s].share && p == stack->first_part[s] ? ":share=1" : "");
        if (status == GSA_OK)
            status = append(stack, &stack->text, error, "*%d", stack->segments[s].layers);
    }
    return status;
}

static gsa_status write_report(gsa_stack *stack, gsa_error *error)
{
    gsa_status status = append(stack, &stack->report, error, "%s", "");
    for (int i = 0; i < stack->n_steps && status == GSA_OK; i++) {
        const gsa_step *step = &stack->steps[i];
        if (step->what != GSA_STEP_PHASE || step->needed) continue;
        const char *where = step->layer < 0 ? "once" : "layer";
        char layer[24] = "";
        if (step->layer >= 0) snprintf(layer, sizeof layer, " %d", step->layer);
        status = append(stack, &stack->report, error,
                        "%s segment %d %s%s: phase %s%s reaches no readout and is skipped\n",
                        stack->name, step->segment, where, layer, stack->parts[step->part].prefix,
                        gsa_step_phase(stack, step)->name);
    }
    return status;
}

/* ---- settings ------------------------------------------------------------------------------ */
static gsa_status resolve_settings(gsa_stack *stack, const gsa_settings *settings, gsa_error *error)
{
    gsa_settings s = *settings;
    if (s.hidden < 1 || s.heads < 1 || s.head_dim < 0 || s.ffn < 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "hidden = %d and heads = %d must be at least 1, head_dim = %d and ffn = %d at least 0",
            s.hidden, s.heads, s.head_dim, s.ffn);
    if (s.heads > MOST_HEADS)
        return gsa_fail(error, GSA_ERR_LIMIT, "heads = %d: at most %d are possible", s.heads,
                        MOST_HEADS);
    if (s.head_dim == 0 && s.hidden % s.heads != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "hidden = %d does not divide by heads = %d: set head_dim", s.hidden,
                        s.heads);
    if (s.head_dim == 0) s.head_dim = s.hidden / s.heads;
    if (s.ffn == 0) {
        if (s.hidden > gsa_index_most / 4)
            return gsa_fail(error, GSA_ERR_LIMIT, "hidden = %d is too large for ffn = 4 hidden",
                            s.hidden);
        s.ffn = 4 * s.hidden;
    }
    if (s.readout < GSA_POOL_SUMMARY || s.readout > GSA_POOL_MAX)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "readout = %d is no gsa_pooling", s.readout);
    if ((int64_t)s.heads * s.head_dim > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "heads = %d times head_dim = %d exceeds 2^31",
                        s.heads, s.head_dim);
    const double rates[] = { s.dropout_input, s.dropout_attention, s.dropout_hidden, s.dropout_ffn,
                             s.dropout_head };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (!(rates[i] >= 0 && rates[i] < 1))
            return gsa_fail(error, GSA_ERR_ARGUMENT, "a dropout of %g is outside [0, 1)", rates[i]);
    stack->settings = s;
    return GSA_OK;
}

static gsa_status check_phase(const gsa_stack *stack, const gsa_stack_part *part,
                              const gsa_phase *phase, gsa_error *error)
{
    const gsa_settings *s = &stack->settings;
    const char *id = gsa_schema_topology(part->schema);
    const int plain = phase->aggregate == GSA_SUM || phase->aggregate == GSA_MEAN;
    if (plain && phase->per_head && s->hidden % s->heads != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s, phase %s aggregates by head: hidden = %d must divide by heads = %d",
                        id, phase->name, s->hidden, s->heads);
    if (phase->update == GSA_ASSIGN && gsa_stack_aggregate_columns(stack, phase) != s->hidden)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s, phase %s assigns what it attends to: heads x head_dim = %d x %d must "
                        "be hidden = %d",
                        id, phase->name, s->heads, s->head_dim, s->hidden);
    return GSA_OK;
}

static gsa_status check_phases(const gsa_stack *stack, gsa_error *error)
{
    for (int p = 0; p < stack->n_parts; p++)
        for (int f = 0; f < gsa_schema_phases(stack->parts[p].schema); f++) {
            const gsa_status status = check_phase(
                stack, &stack->parts[p], gsa_schema_phase(stack->parts[p].schema, f), error);
            if (status != GSA_OK) return status;
        }
    return GSA_OK;
}

/* ---- patterns ------------------------------------------------------------------------------ */
static void name_part(gsa_stack *stack, int p)
{
    gsa_stack_part *part = &stack->parts[p];
    const int first = stack->first_part[part->segment];
    const char *id = gsa_schema_topology(part->schema);
    int same = 1;
    for (int q = first; q < p; q++)
        same += strcmp(gsa_schema_topology(stack->parts[q].schema), id) == 0;
    if (stack->first_part[part->segment + 1] - first == 1) part->prefix[0] = 0;
    else if (same == 1) snprintf(part->prefix, sizeof part->prefix, "%.60s.", id);
    else snprintf(part->prefix, sizeof part->prefix, "%.60s%d.", id, same);
}

static gsa_status create_patterns(gsa_stack *stack, const gsa_registry *registry,
                                  const gsa_stack_spec *spec, gsa_error *error)
{
    int total = 0;
    for (int s = 0; s < spec->n_segments; s++) total += spec->segments[s].n_parts;
    stack->parts = gsa_alloc_zero(stack->system, (size_t)total, sizeof *stack->parts);
    stack->first_part =
        gsa_alloc_zero(stack->system, (size_t)spec->n_segments + 1, sizeof *stack->first_part);
    stack->segments =
        gsa_alloc_zero(stack->system, (size_t)spec->n_segments, sizeof *stack->segments);
    if (!stack->parts || !stack->first_part || !stack->segments)
        return gsa_out_of_memory(error, "patterns of a stack",
                                 total * (int64_t)sizeof *stack->parts);
    stack->n_segments = spec->n_segments;
    for (int s = 0; s < spec->n_segments; s++) {
        const gsa_segment_spec *segment = &spec->segments[s];
        stack->segments[s].layers = segment->layers;
        stack->segments[s].share = segment->share;
        for (int i = 0; i < segment->n_parts; i++) {
            gsa_stack_part *part = &stack->parts[stack->n_parts];
            const gsa_part_spec *from = &segment->parts[i];
            const gsa_status status = gsa_pattern_create(registry, from->id, from->settings,
                                                         from->n_settings, &part->pattern, error);
            if (status != GSA_OK) return status;
            part->schema = gsa_pattern_schema(part->pattern);
            part->segment = s;
            stack->needs_text |= (gsa_schema_flags(part->schema) & GSA_NEEDS_TEXT) != 0;
            stack->n_parts++;
        }
        stack->first_part[s + 1] = stack->n_parts;
    }
    for (int p = 0; p < stack->n_parts; p++) name_part(stack, p);
    return GSA_OK;
}

static const gsa_schema *last_schema(const gsa_stack *stack)
{
    return stack->parts[stack->first_part[stack->n_segments - 1]].schema;
}

int gsa_stack_pools(const gsa_stack *stack)
{
    return stack->settings.readout == GSA_POOL_SUMMARY ? gsa_schema_summaries(last_schema(stack))
                                                       : 1;
}

void gsa_stack_pool(const gsa_stack *stack, int index, int *kind, int *pool, double *weight)
{
    const gsa_schema *schema = last_schema(stack);
    if (stack->settings.readout == GSA_POOL_SUMMARY) {
        gsa_schema_summary(schema, index, kind, pool, weight);
        return;
    }
    *kind = gsa_schema_sequence(schema), *weight = 1;
    *pool = stack->settings.readout == GSA_POOL_MAX ? GSA_MAX_OF : GSA_MEAN_OF;
}

static gsa_status set_readout(gsa_stack *stack, const gsa_stack_options *options, gsa_error *error)
{
    const gsa_stack_part *last = &stack->parts[stack->first_part[stack->n_segments - 1]];
    stack->reads = options->reads;
    stack->sequence = last->kind[gsa_schema_sequence(last->schema)];
    if (options->reads & GSA_READ_SUMMARY && gsa_stack_pools(stack) == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "stack %s: the task reads a summary, but the last segment's pattern %s describes none",
            stack->name, gsa_pattern_text(last->pattern));
    if (options->n_taps < 0 || (options->n_taps > 0 && !options->taps))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "stack %s: %d taps need their layers", stack->name,
                        options->n_taps);
    stack->taps = gsa_alloc_zero(stack->system, (size_t)options->n_taps, sizeof *stack->taps);
    if (!stack->taps)
        return gsa_out_of_memory(error, "taps", options->n_taps * (int64_t)sizeof *stack->taps);
    stack->n_taps = options->n_taps;
    int layers = 0, first_alive = 0;
    for (int s = 0; s < stack->n_segments; s++) {
        if (s == stack->kinds[stack->sequence].segment) first_alive = layers;
        layers += stack->segments[s].layers;
    }
    for (int t = 0; t < options->n_taps; t++) {
        const int layer = stack->taps[t] = options->taps[t];
        if (layer < first_alive || layer >= layers || (t && layer <= stack->taps[t - 1]))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "stack %s: tap %d must be a layer from %d to %d, and taps ascend",
                            stack->name, layer, first_alive, layers - 1);
    }
    return GSA_OK;
}

/* ---- life ---------------------------------------------------------------------------------- */
static gsa_status build(gsa_stack *stack, const gsa_registry *registry, const gsa_stack_spec *spec,
                        const gsa_settings *settings, const gsa_stack_options *options,
                        gsa_parameters *parameters, gsa_error *error)
{
    if (!options->name) return gsa_fail(error, GSA_ERR_ARGUMENT, "the name of a stack is NULL");
    if (spec->n_segments < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "stack %s has no segment", options->name);
    stack->name = gsa_copy_text(stack->system, options->name);
    if (!stack->name)
        return gsa_out_of_memory(error, "a stack's name", (int64_t)strlen(options->name) + 1);
    stack->first_site = stack->next_site =
        options->first_site ? options->first_site : DEFAULT_FIRST_SITE;
    gsa_status status = resolve_settings(stack, settings, error);
    if (status == GSA_OK) status = create_patterns(stack, registry, spec, error);
    if (status == GSA_OK) status = check_phases(stack, error);
    if (status == GSA_OK) status = gsa_stack_join_kinds(stack, error);
    if (status == GSA_OK && stack->n_kinds > MOST_KINDS)
        status = gsa_fail(error, GSA_ERR_LIMIT, "stack %s has %d kinds, at most %d are possible",
                          stack->name, stack->n_kinds, MOST_KINDS);
    if (status == GSA_OK) status = set_readout(stack, options, error);
    if (status == GSA_OK) status = gsa_stack_order(stack, error);
    if (status != GSA_OK) return status;
    gsa_stack_find_needed(stack);
    status = gsa_stack_add_weights(stack, parameters, error);
    if (status == GSA_OK) gsa_stack_flag_unreached(stack);
    if (status == GSA_OK) status = write_text(stack, error);
    return status == GSA_OK ? write_report(stack, error) : status;
}

gsa_status gsa_stack_create(const gsa_system *system, const gsa_registry *registry,
                            const gsa_stack_spec *spec, const gsa_settings *settings,
                            const gsa_stack_options *options, gsa_parameters *parameters,
                            gsa_stack **stack, gsa_error *error)
{
    gsa_stack *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a stack", (int64_t)sizeof *made);
    made->system = system;
    const gsa_status status = build(made, registry, spec, settings, options, parameters, error);
    if (status != GSA_OK) gsa_stack_release(made);
    else *stack = made;
    return status;
}

void gsa_stack_release(gsa_stack *stack)
{
    if (!stack) return;
    for (int p = 0; p < stack->n_parts; p++) gsa_pattern_release(stack->parts[p].pattern);
    void *const all[] = { stack->name,    stack->text,    stack->report,     stack->taps,
                          stack->kinds,   stack->parts,   stack->first_part, stack->steps,
                          stack->weights, stack->segments };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(stack->system, all[i]);
    gsa_release(stack->system, stack);
}

int gsa_stack_layers(const gsa_stack *stack)
{
    return stack->n_layers;
}

uint32_t gsa_stack_sites(const gsa_stack *stack)
{
    return stack->next_site;
}

int gsa_stack_has_summary(const gsa_stack *stack)
{
    return gsa_stack_pools(stack) > 0;
}

int gsa_stack_reads_memory(const gsa_stack *stack)
{
    return stack->reads_memory;
}

int gsa_stack_memory_layer(const gsa_stack *stack)
{
    int first = -1, layers = 0;
    for (int s = 0; s < stack->n_segments; s++) {
        for (int k = 0; k < stack->n_kinds && first < 0; k++)
            if (stack->kinds[k].segment == s && stack->kinds[k].start == GSA_MEMORY) first = layers;
        layers += stack->segments[s].layers;
    }
    return first;
}

int gsa_stack_needs_text(const gsa_stack *stack)
{
    return stack->needs_text;
}

const char *gsa_stack_text(const gsa_stack *stack)
{
    return stack->text;
}

const char *gsa_stack_report(const gsa_stack *stack)
{
    return stack->report;
}
