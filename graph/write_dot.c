/* write_dot.c - Graphviz: quoted strings, in which " and \ are escaped, line breaks are \n, and &
 * would begin an entity. */
#include <stdio.h>
#include <string.h>
#include "graph/write_parts.h"

static void quoted(gsa_output *output, const char *text, int64_t bytes)
{
    gsa_output_text(output, "\"");
    for (int64_t i = 0; i < bytes; i++) {
        const char *as = text[i] == '"'    ? "\\\""
                         : text[i] == '\\' ? "\\\\"
                         : text[i] == '\n' ? "\\n"
                         : text[i] == '\r' ? "&#13;"
                         : text[i] == '&'  ? "&amp;"
                                           : NULL;
        if (as) gsa_output_text(output, as);
        else gsa_output_write(output, text + i, 1);
    }
    gsa_output_text(output, "\"");
}

static void attribute(gsa_output *output, const char *name, int64_t value)
{
    gsa_output_text(output, ", ");
    gsa_output_text(output, name);
    gsa_output_text(output, "=");
    gsa_draw_int(output, value);
}

static void real_attribute(gsa_output *output, const char *name, double value)
{
    gsa_output_text(output, ", ");
    gsa_output_text(output, name);
    gsa_output_text(output, "=");
    gsa_draw_real(output, value);
}

static void kind_name(const gsa_drawing *d, const gsa_drawn_kind *kind)
{
    char name[GSA_LABEL_NAME];
    const char *prefix = gsa_draw_prefix(d, kind->stack);
    const int bytes = snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", kind->name);
    quoted(d->output, name, bytes < (int)sizeof name ? bytes : (int)sizeof name - 1);
}

static void node(const gsa_drawing *d, int kind, int64_t index)
{
    const gsa_drawn_kind *k = &d->kinds[kind];
    const gsa_slice token = gsa_draw_token(d, k, index);
    const gsa_place place = gsa_draw_place(d, kind, index);
    const char *stack = gsa_draw_stack(d, k->stack);
    gsa_output_text(d->output, "  n");
    gsa_draw_int(d->output, k->first + index);
    gsa_output_text(d->output, " [label=");
    if (token.at) quoted(d->output, token.at, token.bytes);
    else gsa_output_format(d->output, "\"%s %lld\"", k->name, (long long)index);
    gsa_output_text(d->output, ", kind=");
    kind_name(d, k);
    attribute(d->output, "index", index);
    if (place.level >= 0) {
        attribute(d->output, "level", place.level);
        attribute(d->output, "first", place.first);
        attribute(d->output, "last", place.last);
    }
    if (*stack) {
        gsa_output_text(d->output, ", stack=");
        quoted(d->output, stack, (int64_t)strlen(stack));
    }
    gsa_output_text(d->output, "];\n");
}

static void weights(const gsa_drawing *d, const gsa_drawn_edge *e)
{
    char name[24];
    if (d->columns > 0) real_attribute(d->output, "weight", gsa_draw_weight(d, e));
    for (int h = 0; h < d->columns; h++) {
        snprintf(name, sizeof name, "w%d", h);
        real_attribute(d->output, name, gsa_draw_weight_in(e, h));
    }
}

static void edge(void *context, const gsa_drawn_edge *e)
{
    const gsa_drawing *d = *(const gsa_drawing *const *)context;
    const gsa_picture_sheet *sheet = &d->picture->sheets[e->sheet];
    char name[GSA_LABEL_NAME], phase[GSA_PHASE_NAME];
    gsa_draw_label_name(sheet, e->phase, e->label, name);
    gsa_output_text(d->output, "  n");
    gsa_draw_int(d->output, e->from);
    gsa_output_text(d->output, " -> n");
    gsa_draw_int(d->output, e->to);
    gsa_output_format(d->output, " [interaction=\"%s\"", gsa_draw_phase_name(d, e, phase));
    gsa_output_text(d->output, ", label=");
    quoted(d->output, name, (int64_t)strlen(name));
    attribute(d->output, "rel", e->label);
    attribute(d->output, "k", e->k);
    if (e->head_to >= 0) {
        attribute(d->output, "head_from", e->head_from);
        attribute(d->output, "head_to", e->head_to);
    }
    if (d->layers) attribute(d->output, "layer", sheet->layer);
    weights(d, e);
    gsa_output_text(d->output, "];\n");
}

gsa_status gsa_write_dot(const gsa_drawing *d, gsa_error *error)
{
    (void)error; /* all that can fail was checked; the output remembers the rest */
    const char *spec = d->picture->spec ? d->picture->spec : d->topologies;
    gsa_output_text(d->output, "digraph ");
    quoted(d->output, d->topologies, (int64_t)strlen(d->topologies));
    gsa_output_text(d->output, " {\n  graph [spec=");
    quoted(d->output, spec, (int64_t)strlen(spec));
    attribute(d->output, "length", d->length);
    attribute(d->output, "heads", d->heads);
    gsa_output_text(d->output, "];\n");
    for (int k = 0; k < d->n_kinds; k++)
        for (int64_t i = 0; i < d->kinds[k].count; i++) node(d, k, i);
    gsa_draw_edges(d, edge, &d);
    gsa_output_text(d->output, "}\n");
    return GSA_OK;
}
