/* write_drawing.c - from sheets to numbered nodes, and the walk over edges that every format
 * does. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/schema_parts.h"
#include "graph/write_parts.h"

/* ---- names in sentences -------------------------------------------------------------------- */

enum { PLACE = 160 };

/* "layer 2 (bpt)", "stack 'encoder', layer 2 (bpt)" */
static const char *place_of(const gsa_picture *picture, int sheet, char out[PLACE])
{
    const gsa_picture_sheet *s = &picture->sheets[sheet];
    const char *name = picture->stacks[s->stack].name;
    const char *id = gsa_schema_topology(s->schema);
    if (name && *name) snprintf(out, PLACE, "stack '%.60s', layer %d (%s)", name, s->layer, id);
    else snprintf(out, PLACE, "layer %d (%s)", s->layer, id);
    return out;
}

/* ---- does it fit together? ----------------------------------------------------------------- */

static gsa_status check_stacks(const gsa_picture *picture, gsa_error *error)
{
    if (picture->n_sheets < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a picture without a sheet has nothing to draw");
    if (picture->n_sheets > GSA_MAX_SHEETS)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "a picture of %d sheets (patterns x layers), at most %d can be",
                        picture->n_sheets, GSA_MAX_SHEETS);
    for (int s = 0; s < picture->n_stacks; s++) {
        const char *name = picture->stacks[s].name;
        const int memory = picture->stacks[s].memory;
        if (picture->n_stacks > 1 && (!name || !*name))
            return gsa_fail(error, GSA_ERR_ARGUMENT, "stack %d of %d has no name", s,
                            picture->n_stacks);
        for (int t = 0; t < s; t++)
            if (strcmp(picture->stacks[t].name, name) == 0)
                return gsa_fail(error, GSA_ERR_ARGUMENT, "stacks %d and %d are both named '%s'", t,
                                s, name);
        if (memory < -1 || memory >= picture->n_stacks || memory == s)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "stack %d reads the sequence of stack %d, expected another of 0 to %d, "
                            "or -1",
                            s, memory, picture->n_stacks - 1);
    }
    return GSA_OK;
}

static gsa_status check_sheet(const gsa_picture *picture, int sheet, gsa_error *error)
{
    char here[PLACE], there[PLACE];
    const gsa_picture_sheet *s = &picture->sheets[sheet];
    if (s->stack < 0 || s->stack >= picture->n_stacks || s->layer < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "sheet %d is in layer %d of stack %d, expected a layer from 0 and a stack "
                        "from 0 to %d",
                        sheet, s->layer, s->stack, picture->n_stacks - 1);
    if (gsa_instance_schema(s->instance) != s->schema)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the instance was built for another schema than '%s'",
                        gsa_schema_topology(s->schema));
    for (int before = 0; before < sheet; before++) {
        const gsa_picture_sheet *b = &picture->sheets[before];
        if (b->stack == s->stack &&
            gsa_instance_length(b->instance) != gsa_instance_length(s->instance))
            return gsa_fail(error, GSA_ERR_ARGUMENT, "%s has length %d, but %s has %d",
                            place_of(picture, before, there), gsa_instance_length(b->instance),
                            place_of(picture, sheet, here), gsa_instance_length(s->instance));
        if (b->weights && s->weights &&
            gsa_instance_heads(b->instance) != gsa_instance_heads(s->instance))
            return gsa_fail(error, GSA_ERR_ARGUMENT, "%s has weights of %d heads, but %s of %d",
                            place_of(picture, before, there), gsa_instance_heads(b->instance),
                            place_of(picture, sheet, here), gsa_instance_heads(s->instance));
    }
    return GSA_OK;
}

/* ---- kinds --------------------------------------------------------------------------------- */

static int is_bound(const gsa_drawing *d, int sheet, int kind)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    return d->picture->stacks[s->stack].memory >= 0 &&
           gsa_schema_kind(s->schema, kind)->start == GSA_MEMORY;
}

static gsa_status add_kind(gsa_drawing *d, int sheet, int kind, gsa_error *error)
{
    char here[PLACE], there[PLACE];
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_kind *k = gsa_schema_kind(s->schema, kind);
    const int64_t count = gsa_instance_nodes(s->instance, kind);
    int at = 0;
    while (at < d->n_kinds &&
           (d->kinds[at].stack != s->stack || strcmp(d->kinds[at].name, k->name) != 0))
        at++;
    d->kind[(size_t)sheet * GSA_MAX_KINDS + (size_t)kind] = at;
    if (at == d->n_kinds) {
        d->kinds[d->n_kinds++] =
            (gsa_drawn_kind){ k->name, s->stack, k->start, sheet, kind, d->nodes, count };
        if (!gsa_add(d->nodes, count, &d->nodes))
            return gsa_fail(error, GSA_ERR_LIMIT, "the picture has 2^63 nodes or more");
        return GSA_OK;
    }
    const gsa_drawn_kind *known = &d->kinds[at];
    if (known->start != k->start)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT, "%s and %s both have a kind '%s', but it starts differently",
            place_of(d->picture, known->sheet, there), place_of(d->picture, sheet, here), k->name);
    if (known->count != count)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "kind '%s' has %" PRId64 " nodes in %s, but %" PRId64 " in %s", k->name,
                        known->count, place_of(d->picture, known->sheet, there), count,
                        place_of(d->picture, sheet, here));
    return GSA_OK;
}

/* The drawn kind of the sequence that other stacks read: that of the stack's last sheet. */
static int sequence_of(const gsa_drawing *d, int stack)
{
    for (int i = d->picture->n_sheets - 1; i >= 0; i--) {
        const gsa_picture_sheet *s = &d->picture->sheets[i];
        if (s->stack == stack) return d->kind[i * GSA_MAX_KINDS + gsa_schema_sequence(s->schema)];
    }
    return -1;
}

static gsa_status bind_kind(gsa_drawing *d, int sheet, int kind, gsa_error *error)
{
    char here[PLACE];
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_picture_stack *stack = &d->picture->stacks[s->stack];
    const int at = sequence_of(d, stack->memory);
    const int64_t wanted = gsa_instance_nodes(s->instance, kind),
                  there = at < 0 ? 0 : d->kinds[at].count;
    const char *name = gsa_draw_stack(d, stack->memory);
    if (at < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "stack '%s' is read, but no sheet draws it", name);
    if (wanted != there)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s reads a memory of %" PRId64
                        " nodes, but the sequence of stack '%s' has %" PRId64,
                        place_of(d->picture, sheet, here), wanted, name, there);
    d->kind[(size_t)sheet * GSA_MAX_KINDS + (size_t)kind] = at;
    return GSA_OK;
}

/* Own kinds first, stack by stack; then those that are another stack's. */
static gsa_status number_nodes(gsa_drawing *d, gsa_error *error)
{
    const gsa_picture *p = d->picture;
    gsa_status status = GSA_OK;
    for (int stack = 0; stack < p->n_stacks; stack++)
        for (int s = 0; s < p->n_sheets; s++)
            for (int k = 0;
                 p->sheets[s].stack == stack && k < gsa_schema_kinds(p->sheets[s].schema); k++)
                if (status == GSA_OK && !is_bound(d, s, k)) status = add_kind(d, s, k, error);
    for (int s = 0; s < p->n_sheets; s++)
        for (int k = 0; k < gsa_schema_kinds(p->sheets[s].schema); k++)
            if (status == GSA_OK && is_bound(d, s, k)) status = bind_kind(d, s, k, error);
    return status;
}

/* ---- counts and facts ---------------------------------------------------------------------- */

/* Its place in its layer, and the length where it is its stack's first sheet. */
static void place_sheet(gsa_drawing *d, int sheet)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const char *id = gsa_schema_topology(s->schema);
    int first_of_stack = 1, alone = 1, same = 1;
    for (int other = 0; other < d->picture->n_sheets; other++) {
        const gsa_picture_sheet *o = &d->picture->sheets[other];
        if (other == sheet || o->stack != s->stack) continue;
        if (other < sheet) first_of_stack = 0;
        if (o->layer != s->layer) continue;
        alone = 0;
        if (other < sheet) d->first_phase[sheet] += gsa_schema_phases(o->schema);
        if (other < sheet) same += strcmp(gsa_schema_topology(o->schema), id) == 0;
    }
    d->twin[sheet] = alone ? 0 : same;
    if (first_of_stack) d->length += gsa_instance_length(s->instance);
}

static gsa_status count_sheet(gsa_drawing *d, int sheet, gsa_error *error)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    place_sheet(d, sheet);
    if (gsa_instance_heads(s->instance) > d->heads) d->heads = gsa_instance_heads(s->instance);
    if (s->weights) d->columns = gsa_instance_heads(s->instance);
    d->layers |= s->layer > 0;
    for (int p = 0; p < gsa_schema_phases(s->schema); p++) {
        gsa_edges edges;
        if (!gsa_is_drawn(s, p)) continue;
        gsa_instance_edges(s->instance, p, &edges);
        d->per_head |= gsa_schema_phase(s->schema, p)->per_head;
        if (!gsa_add(d->edges, edges.edge_total, &d->edges))
            return gsa_fail(error, GSA_ERR_LIMIT, "the picture has 2^63 edges or more");
    }
    return GSA_OK;
}

static void join_topologies(gsa_drawing *d)
{
    char *end = d->topologies;
    *end = 0;
    for (int s = 0; s < d->picture->n_sheets; s++) {
        const char *id = gsa_schema_topology(d->picture->sheets[s].schema);
        int known = 0;
        for (int before = 0; before < s && !known; before++)
            known = strcmp(id, gsa_schema_topology(d->picture->sheets[before].schema)) == 0;
        if (known) continue;
        if (end > d->topologies) *end++ = ',';
        const size_t bytes = strlen(id);
        memcpy(end, id, bytes + 1);
        end += bytes;
    }
}

static gsa_status allocate(gsa_drawing *d, gsa_error *error)
{
    size_t kinds = 0, names = 1;
    const size_t sheets = (size_t)d->picture->n_sheets;
    for (size_t s = 0; s < sheets; s++) {
        kinds += (size_t)gsa_schema_kinds(d->picture->sheets[s].schema);
        names += strlen(gsa_schema_topology(d->picture->sheets[s].schema)) + 1;
    }
    d->kinds = gsa_alloc_zero(d->system, kinds, sizeof *d->kinds);
    d->kind = gsa_alloc_zero(d->system, sheets * GSA_MAX_KINDS, sizeof *d->kind);
    d->first_phase = gsa_alloc_zero(d->system, sheets, sizeof *d->first_phase);
    d->twin = gsa_alloc_zero(d->system, sheets, sizeof *d->twin);
    d->topologies = gsa_alloc(d->system, names, 1);
    if (d->kinds && d->kind && d->first_phase && d->twin && d->topologies) return GSA_OK;
    return gsa_out_of_memory(error, "a picture",
                             (int64_t)(sheets * GSA_MAX_KINDS * sizeof *d->kind));
}

gsa_status gsa_drawing_create(gsa_drawing *d, gsa_error *error)
{
    gsa_status status = check_stacks(d->picture, error);
    for (int s = 0; s < d->picture->n_sheets && status == GSA_OK; s++)
        status = check_sheet(d->picture, s, error);
    if (status == GSA_OK) status = allocate(d, error);
    if (status == GSA_OK) status = number_nodes(d, error);
    for (int s = 0; s < d->picture->n_sheets && status == GSA_OK; s++)
        status = count_sheet(d, s, error);
    if (status == GSA_OK) join_topologies(d);
    return status;
}

void gsa_drawing_release(gsa_drawing *d)
{
    gsa_release(d->system, d->kinds);
    gsa_release(d->system, d->kind);
    gsa_release(d->system, d->first_phase);
    gsa_release(d->system, d->twin);
    gsa_release(d->system, d->topologies);
}

/* ---- edges --------------------------------------------------------------------------------- */

int gsa_is_drawn(const gsa_picture_sheet *sheet, int phase)
{
    const gsa_phase *x = gsa_schema_phase(sheet->schema, phase);
    return x->when == GSA_EACH_LAYER && x->aggregate != GSA_NONE &&
           (!sheet->weights || sheet->weights[phase]);
}

static void draw_row(const gsa_drawing *d, const gsa_edges *edges, int64_t row,
                     gsa_drawn_edge drawn, gsa_draw_edge *each, void *context)
{
    const gsa_picture_sheet *s = &d->picture->sheets[drawn.sheet];
    const int all_heads = gsa_instance_heads(s->instance), own = drawn.head_to >= 0;
    const int64_t scale = own ? all_heads : 1, columns = own ? 1 : all_heads;
    const int *kind = d->kind + (size_t)drawn.sheet * GSA_MAX_KINDS;
    if (s->weights) drawn.weights = s->weights[drawn.phase] + edges->edge_offset[row] * columns;
    drawn.k = 0;
    for (int64_t i = edges->run_offset[row]; i < edges->run_offset[row + 1]; i++) {
        const gsa_run *run = &edges->runs[i];
        const int64_t first = d->kinds[kind[run->kind]].first;
        for (int64_t j = 0; j < run->count; j++, drawn.k++) {
            const int64_t source = run->first + j * run->step;
            drawn.from = first + source / scale;
            if (own) drawn.head_from = (int32_t)(source % scale);
            drawn.label = (int32_t)(run->label + j * run->label_step);
            each(context, &drawn);
            if (drawn.weights) drawn.weights += columns;
        }
    }
}

/* Heads ascending. */
static void draw_node(const gsa_drawing *d, int sheet, int phase, int kind, int64_t index,
                      gsa_draw_edge *each, void *context)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    const int64_t heads = x->per_head ? gsa_instance_heads(s->instance) : 1;
    gsa_edges edges;
    gsa_instance_edges(s->instance, phase, &edges);
    int64_t row = index * heads;
    for (int k = 0, block = 0; k < kind; k++)
        if (x->destinations >> k & 1) row += edges.blocks[block++].count;
    const int64_t first = d->kinds[d->kind[(size_t)sheet * GSA_MAX_KINDS + (size_t)kind]].first;
    gsa_drawn_edge drawn = {
        .sheet = sheet, .phase = phase, .to = first + index, .head_from = -1, .head_to = -1
    };
    for (int64_t h = 0; h < heads; h++) {
        if (x->per_head) drawn.head_to = (int32_t)h;
        draw_row(d, &edges, row + h, drawn, each, context);
    }
}

void gsa_draw_node_edges(const gsa_drawing *d, int kind, int64_t index, gsa_draw_edge *each,
                         void *context)
{
    for (int s = 0; s < d->picture->n_sheets; s++) {
        const gsa_picture_sheet *sheet = &d->picture->sheets[s];
        if (sheet->stack != d->kinds[kind].stack) continue;
        const int own = gsa_schema_find_kind(sheet->schema, d->kinds[kind].name);
        for (int p = 0; own >= 0 && p < gsa_schema_phases(sheet->schema); p++)
            if (gsa_is_drawn(sheet, p) &&
                gsa_schema_phase(sheet->schema, p)->destinations >> own & 1)
                draw_node(d, s, p, own, index, each, context);
    }
}

void gsa_draw_phase_edges(const gsa_drawing *d, int sheet, int phase, gsa_draw_edge *each,
                          void *context)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    for (int k = 0; gsa_is_drawn(s, phase) && k < gsa_schema_kinds(s->schema); k++)
        for (int64_t i = 0; x->destinations >> k & 1 && i < gsa_instance_nodes(s->instance, k);
             i++) {
            if (gsa_output_failed(d->output)) return;
            draw_node(d, sheet, phase, k, i, each, context);
        }
}

void gsa_draw_edges(const gsa_drawing *d, gsa_draw_edge *each, void *context)
{
    for (int s = 0; s < d->picture->n_sheets; s++)
        for (int p = 0; p < gsa_schema_phases(d->picture->sheets[s].schema); p++)
            gsa_draw_phase_edges(d, s, p, each, context);
}

/* ---- names and values ---------------------------------------------------------------------- */

const char *gsa_draw_label_name(const gsa_picture_sheet *sheet, int phase, int32_t label,
                                char *name)
{
    memset(name, 0, GSA_LABEL_NAME);
    if (sheet->topology && sheet->topology->label) {
        gsa_calling(sheet->schema->system,
                    &(gsa_plugin_call){ .who = sheet->topology->id, .function = "label" });
        sheet->topology->label(sheet->self, phase, label, name, GSA_LABEL_NAME);
        gsa_calling(sheet->schema->system, NULL);
    }
    name[GSA_LABEL_NAME - 1] = 0;
    return name;
}

const char *gsa_draw_phase_name(const gsa_drawing *d, const gsa_drawn_edge *edge, char *name)
{
    const gsa_schema *schema = d->picture->sheets[edge->sheet].schema;
    const char *phase = gsa_schema_phase(schema, edge->phase)->name,
               *id = gsa_schema_topology(schema);
    const int twin = d->twin[edge->sheet];
    if (twin == 0) snprintf(name, GSA_PHASE_NAME, "%s", phase);
    else if (twin == 1) snprintf(name, GSA_PHASE_NAME, "%.63s.%s", id, phase);
    else snprintf(name, GSA_PHASE_NAME, "%.63s%d.%s", id, twin, phase);
    return name;
}

gsa_slice gsa_draw_token(const gsa_drawing *d, const gsa_drawn_kind *kind, int64_t index)
{
    const gsa_picture_stack *stack = &d->picture->stacks[kind->stack];
    const int reads = kind->start == GSA_INPUT || kind->start == GSA_COPY;
    if (reads && stack->text) return stack->text[index];
    if (kind->start == GSA_MEMORY && stack->memory_text) return stack->memory_text[index];
    return (gsa_slice){ NULL, 0 };
}

gsa_place gsa_draw_place(const gsa_drawing *d, int kind, int64_t index)
{
    const gsa_drawn_kind *k = &d->kinds[kind];
    const gsa_picture *p = d->picture;
    gsa_place place = gsa_instance_place(p->sheets[k->sheet].instance, k->kind, index);
    for (int s = k->sheet + 1; s < p->n_sheets && place.level < 0; s++) {
        const gsa_picture_sheet *sheet = &p->sheets[s];
        if (sheet->stack != k->stack || sheet->instance == p->sheets[s - 1].instance) continue;
        const int own = gsa_schema_find_kind(sheet->schema, k->name);
        if (own >= 0) place = gsa_instance_place(sheet->instance, own, index);
    }
    return place;
}

const char *gsa_draw_stack(const gsa_drawing *d, int stack)
{
    const char *name = d->picture->stacks[stack].name;
    return name ? name : "";
}

const char *gsa_draw_prefix(const gsa_drawing *d, int stack)
{
    return d->picture->n_stacks > 1 ? gsa_draw_stack(d, stack) : "";
}

double gsa_draw_weight_in(const gsa_drawn_edge *edge, int head)
{
    const int own = edge->head_to >= 0;
    if (own && head != edge->head_to) return 0;
    return edge->weights ? edge->weights[own ? 0 : head] : 1;
}

double gsa_draw_weight(const gsa_drawing *d, const gsa_drawn_edge *edge)
{
    if (!edge->weights) return 1;
    if (edge->head_to >= 0) return edge->weights[0];
    double sum = 0;
    for (int h = 0; h < d->columns; h++) sum += edge->weights[h];
    return sum / d->columns;
}

void gsa_draw_int(gsa_output *output, int64_t value)
{
    char digits[20];
    int at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) digits[--at] = '-';
    gsa_output_write(output, digits + at, (int64_t)sizeof digits - at);
}

void gsa_draw_real(gsa_output *output, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.9g", value);
    const size_t whole = strspn(text, "-0123456789"), point = strcspn(text + whole, "0123456789e");
    gsa_output_write(output, text, (int64_t)whole);
    if (point > 0)
        gsa_output_text(output, "."); /* whatever the locale's is, of one byte or several */
    gsa_output_text(output, text + whole + point);
}
