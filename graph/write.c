/* write.c - formats by name, and the checks before the first byte; one file a format does the
 * rest. */
#include "graph/write.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "graph/system_parts.h"
#include "graph/utf8.h"
#include "graph/write_parts.h"

static const struct {
    const char *end;
    gsa_status (*write)(const gsa_drawing *drawing, gsa_error *error);
} formats[] = { [GSA_FORMAT_GRAPHML] = { ".graphml", gsa_write_graphml },
                [GSA_FORMAT_DOT] = { ".dot", gsa_write_dot },
                [GSA_FORMAT_MTX] = { ".mtx", gsa_write_mtx },
                [GSA_FORMAT_HTML] = { ".html", gsa_write_html },
                [GSA_FORMAT_JSON] = { ".json", gsa_write_json },
                [GSA_FORMAT_CSV] = { ".csv", gsa_write_csv } };
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
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "'%s' names no graph format: it must end in .graphml, .dot, .mtx, .html, .json or "
        ".csv",
        path);
}

/* ---- text ---------------------------------------------------------------------------------- */

static gsa_status check_text(const char *what, int64_t number, const char *at, int64_t bytes,
                             gsa_error *error)
{
    const int64_t bad = bytes < 0 ? 0 : gsa_xml_invalid(at, bytes);
    if (bad < 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s %" PRId64 ": byte %" PRId64
                    " (0x%02x) begins no UTF-8 character that XML can carry",
                    what, number, bad, bytes < 0 ? 0u : (unsigned)(unsigned char)at[bad]);
}

static gsa_status check_tokens(const char *what, const gsa_slice *token, int64_t count,
                               gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int64_t i = 0; token && i < count && status == GSA_OK; i++)
        status = check_text(what, i + 1, token[i].at, token[i].bytes, error);
    return status;
}

static gsa_status check_stack(const gsa_drawing *d, int stack, gsa_error *error)
{
    const gsa_picture_stack *s = &d->picture->stacks[stack];
    const char *name = gsa_draw_stack(d, stack);
    int64_t length = 0, memory = 0;
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        if (kind->stack != stack) continue;
        if (kind->start == GSA_INPUT || kind->start == GSA_COPY) length = kind->count;
        if (kind->start == GSA_MEMORY) memory = kind->count;
    }
    gsa_status status = check_text("the name of stack", stack, name, (int64_t)strlen(name), error);
    if (status == GSA_OK) status = check_tokens("token", s->text, length, error);
    return status == GSA_OK ? check_tokens("memory token", s->memory_text, memory, error) : status;
}

/* ---- label names: of each label that occurs, once ------------------------------------------ */

static gsa_status check_label(const gsa_picture_sheet *s, int phase, int32_t label,
                              gsa_error *error)
{
    char name[GSA_LABEL_NAME];
    gsa_draw_label_name(s, phase, label, name);
    const gsa_status status =
        check_text("the name of label", label, name, (int64_t)strlen(name), error);
    return status == GSA_OK
               ? status
               : gsa_fail_at(error, status, "topology '%s', phase '%s'", s->topology->id,
                             gsa_schema_phase(s->schema, phase)->name);
}

static gsa_status check_labels(const gsa_drawing *d, int sheet, int phase, gsa_error *error)
{
    gsa_met_labels met;
    gsa_status status = gsa_draw_labels(d, sheet, phase, &met, error);
    if (status != GSA_OK) return status;
    for (int64_t i = 0; i < met.count && status == GSA_OK; i++)
        status = check_label(&d->picture->sheets[sheet], phase, met.label[i], error);
    gsa_release(d->system, met.label);
    return status;
}

/* The layers of a segment share an instance: its labels are looked at once. */
static int labels_are_new(const gsa_drawing *d, int sheet, int phase)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    if (!s->topology || !s->topology->label) return 0;
    for (int before = 0; before < sheet; before++) {
        const gsa_picture_sheet *b = &d->picture->sheets[before];
        if (b->instance == s->instance && b->topology == s->topology && b->self == s->self &&
            gsa_is_drawn(b, phase))
            return 0;
    }
    return 1;
}

/* ---- weights ------------------------------------------------------------------------------- */

static gsa_status check_weights(const gsa_picture_sheet *s, int phase, gsa_error *error)
{
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    const int64_t columns = x->per_head ? 1 : gsa_instance_heads(s->instance);
    gsa_edges edges;
    gsa_instance_edges(s->instance, phase, &edges);
    for (int64_t i = 0; i < edges.edge_total * columns; i++)
        if (!isfinite(s->weights[phase][i]))
            return gsa_fail(error, GSA_ERR_NUMBER,
                            "layer %d, phase %s: the weight of edge %" PRId64
                            " is not a finite number",
                            s->layer, x->name, i / columns);
    return GSA_OK;
}

static gsa_status check_drawing(const gsa_drawing *d, gsa_error *error)
{
    const gsa_picture *p = d->picture;
    gsa_status status = GSA_OK;
    if (p->spec) status = check_text("spec, part", 1, p->spec, (int64_t)strlen(p->spec), error);
    for (int s = 0; s < p->n_stacks && status == GSA_OK; s++) status = check_stack(d, s, error);
    for (int s = 0; s < p->n_sheets; s++) {
        const gsa_picture_sheet *sheet = &p->sheets[s];
        for (int f = 0; f < gsa_schema_phases(sheet->schema) && status == GSA_OK; f++) {
            if (!gsa_is_drawn(sheet, f)) continue;
            if (labels_are_new(d, s, f)) status = check_labels(d, s, f, error);
            if (status == GSA_OK && sheet->weights) status = check_weights(sheet, f, error);
        }
    }
    return status;
}

/* What is before a picture: the file's beginning, or what parts it from the one before. */
static gsa_status begin_picture(const gsa_pictures *p, gsa_error *error)
{
    if (p->count > 0 && p->format < GSA_FORMAT_HTML)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a %s file holds one picture, expected .html, .json or .csv for several",
                        formats[p->format].end);
    if (p->count > 0) gsa_output_text(p->output, p->format == GSA_FORMAT_CSV ? "" : ",");
    else if (p->format == GSA_FORMAT_HTML) gsa_page_begin(p->output);
    else if (p->format == GSA_FORMAT_JSON) gsa_output_text(p->output, "{\"pictures\":[");
    else if (p->format == GSA_FORMAT_CSV)
        gsa_output_text(p->output, "picture,stack,layer,phase,head,measure,of,value\n");
    return GSA_OK;
}

gsa_status gsa_pictures_add(gsa_pictures *p, const gsa_picture *picture, const char *title,
                            gsa_error *error)
{
    if (p->format < 0 || p->format >= FORMATS)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "graph format %d, expected 0 to %d", p->format,
                        FORMATS - 1);
    gsa_drawing drawing = { .system = gsa_system_or_default(p->system),
                            .picture = picture,
                            .title = title,
                            .output = p->output };
    gsa_status status = gsa_drawing_create(&drawing, error);
    if (status == GSA_OK && title)
        status =
            check_text("the title of picture", p->count + 1, title, (int64_t)strlen(title), error);
    if (status == GSA_OK) status = check_drawing(&drawing, error);
    if (status == GSA_OK) status = begin_picture(p, error);
    if (status == GSA_OK) status = formats[p->format].write(&drawing, error);
    if (status == GSA_OK) p->count++;
    gsa_drawing_release(&drawing);
    return status;
}

void gsa_pictures_end(const gsa_pictures *p)
{
    if (p->format == GSA_FORMAT_HTML) gsa_page_end(p->output, p->beside);
    if (p->format == GSA_FORMAT_JSON) gsa_output_text(p->output, "]}\n");
}

gsa_status gsa_write_picture(const gsa_system *system, const gsa_picture *picture, int format,
                             gsa_output *output, gsa_error *error)
{
    gsa_pictures pictures = { .system = system, .output = output, .format = format };
    const gsa_status status = gsa_pictures_add(&pictures, picture, NULL, error);
    if (status == GSA_OK) gsa_pictures_end(&pictures);
    return status;
}
