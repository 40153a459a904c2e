/* write.c - what is drawn: checks, numbering and the walk over edges; one file a format does the rest. */
#include "graph/write.h"
#include <inttypes.h>
#include <string.h>
#include "graph/system_parts.h"
#include "graph/utf8.h"
#include "graph/write_parts.h"

static const struct {
    const char *end;
    gsa_status (*write)(const gsa_drawing *drawing, gsa_error *error);
} formats[] = { [GSA_FORMAT_GRAPHML] = { ".graphml", gsa_write_graphml },
                [GSA_FORMAT_DOT] = { ".dot", gsa_write_dot },
                [GSA_FORMAT_MTX] = { ".mtx", gsa_write_mtx } };
enum { FORMATS = sizeof formats / sizeof *formats };

gsa_status gsa_format_of(const char *path, int *format, gsa_error *error)
{
    const size_t length = strlen(path);
    for (int f = 0; f < FORMATS; f++) {
        const size_t end = strlen(formats[f].end);
        if (length < end || strcmp(path + length - end, formats[f].end) != 0) continue;
        *format = f;
        return GSA_OK;
    }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' names no graph format: it must end in .graphml, .dot or .mtx", path);
}

int gsa_is_drawn(const gsa_drawing *drawing, int phase)
{
    const gsa_phase *x = gsa_schema_phase(drawing->picture->schema, phase);
    return x->when == GSA_EACH_LAYER && x->aggregate != GSA_NONE;
}

static int64_t heads_of(const gsa_drawing *drawing, int phase)
{
    return gsa_schema_phase(drawing->picture->schema, phase)->per_head ? gsa_instance_heads(drawing->picture->instance) : 1;
}

static void draw_row(const gsa_drawing *drawing, const gsa_edges *edges, int64_t row, gsa_drawn_edge drawn,
                     gsa_draw_edge *each, void *context)
{
    const int64_t heads = heads_of(drawing, drawn.phase);
    drawn.k = 0;
    for (int64_t i = edges->run_offset[row]; i < edges->run_offset[row + 1]; i++) {
        const gsa_run *run = &edges->runs[i];
        for (int64_t j = 0; j < run->count; j++, drawn.k++) {
            const int64_t source = run->first + j * run->step;
            drawn.from = drawing->first_node[run->kind] + source / heads;
            if (drawn.head_to >= 0) drawn.head_from = (int32_t)(source % heads);
            drawn.label = (int32_t)(run->label + j * run->label_step);
            each(context, &drawn);
        }
    }
}

void gsa_draw_node_edges(const gsa_drawing *drawing, int phase, int kind, int64_t index, gsa_draw_edge *each, void *context)
{
    const gsa_phase *x = gsa_schema_phase(drawing->picture->schema, phase);
    const int64_t heads = heads_of(drawing, phase);
    gsa_edges edges;
    gsa_instance_edges(drawing->picture->instance, phase, &edges);
    int64_t row = index * heads;
    for (int k = 0, block = 0; k < kind; k++)
        if (x->destinations >> k & 1) row += edges.blocks[block++].count;
    gsa_drawn_edge drawn = { .phase = phase, .to = drawing->first_node[kind] + index, .head_from = -1, .head_to = -1 };
    for (int64_t h = 0; h < heads; h++) {
        if (x->per_head) drawn.head_to = (int32_t)h;
        draw_row(drawing, &edges, row + h, drawn, each, context);
    }
}

void gsa_draw_edges(const gsa_drawing *drawing, gsa_draw_edge *each, void *context)
{
    const gsa_picture *picture = drawing->picture;
    for (int p = 0; p < gsa_schema_phases(picture->schema); p++)
        for (int k = 0; gsa_is_drawn(drawing, p) && k < gsa_schema_kinds(picture->schema); k++)
            for (int64_t i = 0; (gsa_schema_phase(picture->schema, p)->destinations >> k & 1) &&
                                i < gsa_instance_nodes(picture->instance, k);
                 i++)
                gsa_draw_node_edges(drawing, p, k, i, each, context);
}

const char *gsa_draw_label_name(const gsa_drawing *drawing, int phase, int32_t label, char *name)
{
    const gsa_picture *picture = drawing->picture;
    memset(name, 0, GSA_LABEL_NAME);
    if (picture->topology && picture->topology->label)
        picture->topology->label(picture->self, phase, label, name, GSA_LABEL_NAME);
    name[GSA_LABEL_NAME - 1] = 0;
    return name;
}

gsa_slice gsa_draw_token(const gsa_drawing *drawing, int kind, int64_t index)
{
    const gsa_picture *picture = drawing->picture;
    const int start = gsa_schema_kind(picture->schema, kind)->start;
    if (!picture->text || (start != GSA_INPUT && start != GSA_COPY)) return (gsa_slice){ NULL, 0 };
    return picture->text[index];
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

/* ---- checks: all before the first byte ------------------------------------------------------------------------------ */

static gsa_status check_text(const char *what, int64_t number, const char *at, int64_t bytes, gsa_error *error)
{
    const int64_t bad = bytes < 0 ? 0 : gsa_xml_invalid(at, bytes);
    if (bad < 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s %" PRId64 ": byte %" PRId64 " (0x%02x) begins no UTF-8 character that XML can carry", what, number,
                    bad, bytes < 0 ? 0u : (unsigned)(unsigned char)at[bad]);
}

typedef struct label_check {
    const gsa_drawing *drawing;
    uint8_t *seen; /* a bit for each label of the phase */
    gsa_status status;
    gsa_error *error;
} label_check;

static void check_label(void *context, const gsa_drawn_edge *edge)
{
    label_check *check = context;
    uint8_t *byte = &check->seen[edge->label / 8], bit = (uint8_t)(1u << edge->label % 8);
    char name[GSA_LABEL_NAME];
    if (check->status != GSA_OK || (*byte & bit)) return;
    *byte |= bit;
    gsa_draw_label_name(check->drawing, edge->phase, edge->label, name);
    check->status = check_text("the name of label", edge->label, name, (int64_t)strlen(name), check->error);
}

static gsa_status check_labels(const gsa_drawing *drawing, int phase, gsa_error *error)
{
    const gsa_picture *picture = drawing->picture;
    const gsa_phase *x = gsa_schema_phase(picture->schema, phase);
    if (!picture->topology || !picture->topology->label) return GSA_OK;
    label_check check = { .drawing = drawing, .error = error };
    check.seen = gsa_alloc_zero(drawing->system, (size_t)x->labels / 8 + 1, 1);
    if (!check.seen) return gsa_out_of_memory(error, "label names", x->labels / 8 + 1);
    for (int k = 0; k < gsa_schema_kinds(picture->schema); k++)
        for (int64_t i = 0; (x->destinations >> k & 1) && i < gsa_instance_nodes(picture->instance, k); i++)
            gsa_draw_node_edges(drawing, phase, k, i, check_label, &check);
    gsa_release(drawing->system, check.seen);
    return check.status;
}

static gsa_status check_picture(const gsa_drawing *drawing, gsa_error *error)
{
    const gsa_picture *picture = drawing->picture;
    const int64_t tokens = picture->text ? gsa_instance_length(picture->instance) : 0;
    gsa_status status = GSA_OK;
    if (picture->spec) status = check_text("spec, part", 1, picture->spec, (int64_t)strlen(picture->spec), error);
    for (int64_t i = 0; i < tokens && status == GSA_OK; i++)
        status = check_text("token", i + 1, picture->text[i].at, picture->text[i].bytes, error);
    for (int p = 0; p < gsa_schema_phases(picture->schema) && status == GSA_OK; p++)
        if (gsa_is_drawn(drawing, p)) status = check_labels(drawing, p, error);
    return status;
}

gsa_status gsa_write_picture(const gsa_system *system, const gsa_picture *picture, int format, gsa_output *output,
                             gsa_error *error)
{
    if (format < 0 || format >= FORMATS)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "graph format %d, expected 0 to %d", format, FORMATS - 1);
    if (gsa_instance_schema(picture->instance) != picture->schema)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "the instance was built for another schema than '%s'",
                        gsa_schema_topology(picture->schema));
    gsa_drawing drawing = { .system = gsa_system_or_default(system), .picture = picture, .output = output };
    for (int k = 0; k < gsa_schema_kinds(picture->schema); k++) {
        drawing.first_node[k] = drawing.nodes;
        drawing.nodes += gsa_instance_nodes(picture->instance, k);
    }
    for (int p = 0; p < gsa_schema_phases(picture->schema); p++) {
        gsa_edges edges;
        if (!gsa_is_drawn(&drawing, p)) continue;
        gsa_instance_edges(picture->instance, p, &edges);
        drawing.edges += edges.edge_total;
        drawing.per_head |= gsa_schema_phase(picture->schema, p)->per_head;
    }
    const gsa_status status = check_picture(&drawing, error);
    return status == GSA_OK ? formats[format].write(&drawing, error) : status;
}
