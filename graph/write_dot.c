/* write_dot.c - Graphviz: quoted strings, in which " and \ are escaped, line breaks are \n, and & would begin an entity. */
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

static void node(const gsa_drawing *d, int kind, int64_t index)
{
    const char *name = gsa_schema_kind(d->picture->schema, kind)->name;
    const gsa_slice token = gsa_draw_token(d, kind, index);
    const gsa_place place = gsa_instance_place(d->picture->instance, kind, index);
    gsa_output_text(d->output, "  n");
    gsa_draw_int(d->output, d->first_node[kind] + index);
    gsa_output_text(d->output, " [label=");
    if (token.at) quoted(d->output, token.at, token.bytes);
    else gsa_output_format(d->output, "\"%s %lld\"", name, (long long)index);
    gsa_output_format(d->output, ", kind=\"%s\"", name);
    attribute(d->output, "index", index);
    if (place.level >= 0) {
        attribute(d->output, "level", place.level);
        attribute(d->output, "first", place.first);
        attribute(d->output, "last", place.last);
    }
    gsa_output_text(d->output, "];\n");
}

typedef struct edge_writer {
    const gsa_drawing *drawing;
} edge_writer;

static void edge(void *context, const gsa_drawn_edge *e)
{
    const gsa_drawing *d = ((const edge_writer *)context)->drawing;
    char name[GSA_LABEL_NAME];
    gsa_draw_label_name(d, e->phase, e->label, name);
    gsa_output_text(d->output, "  n");
    gsa_draw_int(d->output, e->from);
    gsa_output_text(d->output, " -> n");
    gsa_draw_int(d->output, e->to);
    gsa_output_format(d->output, " [interaction=\"%s\"", gsa_schema_phase(d->picture->schema, e->phase)->name);
    gsa_output_text(d->output, ", label=");
    quoted(d->output, name, (int64_t)strlen(name));
    attribute(d->output, "rel", e->label);
    attribute(d->output, "k", e->k);
    if (e->head_to >= 0) {
        attribute(d->output, "head_from", e->head_from);
        attribute(d->output, "head_to", e->head_to);
    }
    gsa_output_text(d->output, "];\n");
}

gsa_status gsa_write_dot(const gsa_drawing *d, gsa_error *error)
{
    (void)error; /* all that can fail was checked; the output remembers the rest */
    const char *id = gsa_schema_topology(d->picture->schema), *spec = d->picture->spec ? d->picture->spec : id;
    gsa_output_format(d->output, "digraph \"%s\" {\n  graph [spec=", id);
    quoted(d->output, spec, (int64_t)strlen(spec));
    attribute(d->output, "length", gsa_instance_length(d->picture->instance));
    attribute(d->output, "heads", gsa_instance_heads(d->picture->instance));
    gsa_output_text(d->output, "];\n");
    for (int k = 0; k < gsa_schema_kinds(d->picture->schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(d->picture->instance, k); i++) node(d, k, i);
    edge_writer writer = { d };
    gsa_draw_edges(d, edge, &writer);
    gsa_output_text(d->output, "}\n");
    return GSA_OK;
}
