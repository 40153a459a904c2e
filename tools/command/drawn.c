#include "tools/command/drawn.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/command/verbs.h"

/* ---- patterns ------------------------------------------------------------------------------ */

/* "+", "," or nothing, the pattern, and at a segment's end its layers. */
static gsa_status append(gsa_drawn_stack *stack, const char *before, const char *pattern,
                         int layers, gsa_error *error)
{
    char times[16] = "";
    if (layers > 1) snprintf(times, sizeof times, "*%d", layers);
    const size_t old = stack->text ? strlen(stack->text) : 0;
    const size_t room = old + strlen(before) + strlen(pattern) + strlen(times) + 1;
    char *text = gsa_resize(stack->system, stack->text, room, 1);
    if (!text) return gsa_out_of_memory(error, "a stack's text", (int64_t)room);
    snprintf(text + old, room - old, "%s%s%s", before, pattern, times);
    stack->text = text;
    return GSA_OK;
}

static gsa_status add_part(gsa_drawn_stack *stack, const gsa_registry *registry,
                           const gsa_part_spec *spec, int first_layer, int layers, gsa_error *error)
{
    gsa_drawn_part *part = &stack->parts[stack->n_parts];
    const gsa_status status = gsa_pattern_create(registry, spec->id, spec->settings,
                                                 spec->n_settings, &part->pattern, error);
    if (status != GSA_OK) return status;
    const gsa_schema *schema = gsa_pattern_schema(part->pattern);
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        stack->reads_memory |= gsa_schema_kind(schema, k)->start == GSA_MEMORY;
    part->first_layer = first_layer, part->layers = layers;
    stack->n_parts++;
    return gsa_note_pattern(part->pattern) ? GSA_OK
                                           : gsa_out_of_memory(error, spec->id, GSA_PATH_ROOM);
}

static gsa_status count_sheets(gsa_drawn_stack *stack, const gsa_stack_spec *spec, int *parts,
                               gsa_error *error)
{
    int64_t sheets = 0, total = 0;
    for (int s = 0; s < spec->n_segments; s++) {
        total += spec->segments[s].n_parts;
        sheets += (int64_t)spec->segments[s].n_parts * spec->segments[s].layers;
    }
    if (sheets > GSA_MAX_SHEETS)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the stack has %" PRId64
                        " patterns over its layers, at most %d can be drawn",
                        sheets, GSA_MAX_SHEETS);
    stack->sheets = (int)sheets, *parts = (int)total;
    return GSA_OK;
}

gsa_status gsa_drawn_stack_create(const gsa_system *system, const gsa_registry *registry,
                                  const gsa_stack_spec *spec, gsa_drawn_stack *stack,
                                  gsa_error *error)
{
    int parts = 0, layer = 0;
    *stack = (gsa_drawn_stack){ .system = system };
    gsa_status status = count_sheets(stack, spec, &parts, error);
    if (status != GSA_OK) return status;
    stack->parts = gsa_alloc_zero(system, (size_t)parts, sizeof *stack->parts);
    if (!stack->parts)
        return gsa_out_of_memory(error, "a stack", parts * (int64_t)sizeof *stack->parts);
    for (int s = 0; s < spec->n_segments; s++) {
        const gsa_segment_spec *segment = &spec->segments[s];
        for (int i = 0; i < segment->n_parts && status == GSA_OK; i++) {
            const int last = i == segment->n_parts - 1;
            status = add_part(stack, registry, &segment->parts[i], layer, segment->layers, error);
            if (status != GSA_OK) break;
            status = append(stack,
                            i   ? "+"
                            : s ? ","
                                : "",
                            gsa_pattern_text(stack->parts[stack->n_parts - 1].pattern),
                            last ? segment->layers : 1, error);
        }
        layer += segment->layers;
    }
    return status;
}

void gsa_drawn_stack_release(gsa_drawn_stack *stack)
{
    if (!stack->system) return;
    for (int p = 0; p < stack->n_parts; p++) {
        gsa_instance_release(stack->parts[p].instance);
        gsa_pattern_release(stack->parts[p].pattern);
    }
    gsa_release(stack->system, stack->parts);
    gsa_release(stack->system, stack->text);
    *stack = (gsa_drawn_stack){ 0 };
}

/* ---- instances and sheets ------------------------------------------------------------------ */

gsa_status gsa_drawn_stack_emit(gsa_drawn_stack *stack, const gsa_example *example,
                                const gsa_limits *limits, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int p = 0; p < stack->n_parts && status == GSA_OK; p++)
        status = gsa_pattern_instance(stack->parts[p].pattern, NULL, example, limits, 1,
                                      &stack->parts[p].instance, error);
    return status;
}

void gsa_drawn_stack_sheets(const gsa_drawn_stack *stack, int number, gsa_picture_sheet *sheets)
{
    int segment_end;
    for (int first = 0, at = 0; first < stack->n_parts; first = segment_end) {
        const gsa_drawn_part *lead = &stack->parts[first];
        for (segment_end = first; segment_end < stack->n_parts; segment_end++)
            if (stack->parts[segment_end].first_layer != lead->first_layer) break;
        for (int l = 0; l < lead->layers; l++)
            for (int p = first; p < segment_end; p++)
                sheets[at++] =
                    (gsa_picture_sheet){ .instance = stack->parts[p].instance,
                                         .schema = gsa_pattern_schema(stack->parts[p].pattern),
                                         .topology = gsa_pattern_topology(stack->parts[p].pattern),
                                         .self = gsa_pattern_self(stack->parts[p].pattern),
                                         .stack = number,
                                         .layer = lead->first_layer + l };
    }
}

/* ---- counts -------------------------------------------------------------------------------- */

/* Edges of the phase in one layer; -1: not part of a layer, or without edges. */
static int64_t phase_edges(const gsa_drawn_part *part, int phase)
{
    const gsa_phase *x = gsa_schema_phase(gsa_pattern_schema(part->pattern), phase);
    gsa_edges edges;
    if (x->when != GSA_EACH_LAYER || x->aggregate == GSA_NONE) return -1;
    gsa_instance_edges(part->instance, phase, &edges);
    return edges.edge_total;
}

int64_t gsa_drawn_stack_edges(const gsa_drawn_stack *stack)
{
    int64_t total = 0;
    for (int p = 0; p < stack->n_parts; p++)
        for (int f = 0; f < gsa_schema_phases(gsa_pattern_schema(stack->parts[p].pattern)); f++) {
            const int64_t edges = phase_edges(&stack->parts[p], f);
            if (edges > 0) total += edges * stack->parts[p].layers;
        }
    return total;
}

/* Is the kind drawn by this part, not by one before it, nor by another stack? */
static int owns_kind(const gsa_drawn_stack *stack, int part, int kind, int bound)
{
    const gsa_kind *k = gsa_schema_kind(gsa_pattern_schema(stack->parts[part].pattern), kind);
    if (bound && k->start == GSA_MEMORY) return 0;
    for (int p = 0; p < part; p++)
        if (gsa_schema_find_kind(gsa_pattern_schema(stack->parts[p].pattern), k->name) >= 0)
            return 0;
    return 1;
}

static int64_t say_nodes(const gsa_drawn_stack *stack, int bound)
{
    int64_t total = 0;
    fputs(" | nodes:", stderr);
    for (int p = 0, shown = 0; p < stack->n_parts; p++) {
        const gsa_schema *schema = gsa_pattern_schema(stack->parts[p].pattern);
        for (int k = 0; k < gsa_schema_kinds(schema); k++) {
            if (!owns_kind(stack, p, k, bound)) continue;
            const int64_t count = gsa_instance_nodes(stack->parts[p].instance, k);
            fprintf(stderr, "%s %s %" PRId64, shown++ ? "," : "", gsa_schema_kind(schema, k)->name,
                    count);
            total += count;
        }
    }
    return total;
}

static int shares_layer(const gsa_drawn_stack *stack, int part)
{
    const int first = stack->parts[part].first_layer;
    return (part > 0 && stack->parts[part - 1].first_layer == first) ||
           (part + 1 < stack->n_parts && stack->parts[part + 1].first_layer == first);
}

void gsa_drawn_stack_say(const gsa_drawn_stack *stack, const char *name, int bound)
{
    const int32_t length = gsa_instance_length(stack->parts[0].instance);
    fprintf(stderr, "%s%s%s, length %d", name ? name : "", name ? " " : "", stack->text, length);
    const int64_t nodes = say_nodes(stack, bound);
    fputs(" | edges:", stderr);
    for (int p = 0, shown = 0; p < stack->n_parts; p++) {
        const gsa_drawn_part *part = &stack->parts[p];
        const gsa_schema *schema = gsa_pattern_schema(part->pattern);
        for (int f = 0; f < gsa_schema_phases(schema); f++) {
            const int64_t edges = phase_edges(part, f);
            if (edges < 0) continue;
            fprintf(stderr, "%s ", shown++ ? "," : "");
            if (shares_layer(stack, p)) fprintf(stderr, "%s.", gsa_schema_topology(schema));
            fprintf(stderr, "%s ", gsa_schema_phase(schema, f)->name);
            if (part->layers > 1) fprintf(stderr, "%d x ", part->layers);
            fprintf(stderr, "%" PRId64, edges);
        }
    }
    fprintf(stderr, " | %" PRId64 " nodes, %" PRId64 " edges\n", nodes,
            gsa_drawn_stack_edges(stack));
}
