/* write_graphml.c - the profile of write.h. Key ids carry v_, e_ and g_; attr.name is what other programs map: label, weight,
 * interaction (Cytoscape), rel (the label's number). Cost O(nodes + edges) time, no memory. */
#include <string.h>
#include "graph/write_parts.h"

/* Element content: markup is escaped, and CR, which a reader would turn into LF. */
static void escaped(gsa_output *output, const char *text, int64_t bytes)
{
    int64_t from = 0;
    for (int64_t i = 0; i < bytes; i++) {
        const char *as = text[i] == '&'    ? "&amp;"
                         : text[i] == '<'  ? "&lt;"
                         : text[i] == '>'  ? "&gt;"
                         : text[i] == '"'  ? "&quot;"
                         : text[i] == '\r' ? "&#13;"
                                           : NULL;
        if (!as) continue;
        gsa_output_write(output, text + from, i - from);
        gsa_output_text(output, as);
        from = i + 1;
    }
    gsa_output_write(output, text + from, bytes - from);
}

/* A comment must not hold "--", nor end in "-" (a space follows). */
static void commented(gsa_output *output, const char *text)
{
    for (const char *c = text; *c; c++) {
        gsa_output_write(output, *c == '\r' || *c == '\n' ? " " : c, 1);
        if (c[0] == '-' && c[1] == '-') gsa_output_text(output, " ");
    }
}

static void data_int(gsa_output *output, const char *key, int64_t value)
{
    gsa_output_text(output, "<data key=\"");
    gsa_output_text(output, key);
    gsa_output_text(output, "\">");
    gsa_draw_int(output, value);
    gsa_output_text(output, "</data>");
}

static void data_text(gsa_output *output, const char *key, const char *text, int64_t bytes)
{
    gsa_output_text(output, "<data key=\"");
    gsa_output_text(output, key);
    gsa_output_text(output, "\">");
    escaped(output, text, bytes);
    gsa_output_text(output, "</data>");
}

static void keys(const gsa_drawing *d)
{
    static const char *const all[][4] = {
        { "g_topology", "graph", "topology", "string" },
        { "g_spec", "graph", "spec", "string" },
        { "g_length", "graph", "length", "int" },
        { "g_heads", "graph", "heads", "int" },
        { "g_nodes", "graph", "nodes", "long" },
        { "g_edges", "graph", "edges", "long" },
        { "v_label", "node", "label", "string" },
        { "v_kind", "node", "kind", "string" },
        { "v_index", "node", "index", "int" },
        { "v_level", "node", "level", "int" },
        { "v_first", "node", "first", "int" },
        { "v_last", "node", "last", "int" },
        { "e_phase", "edge", "phase", "int" },
        { "e_label", "edge", "rel", "int" },
        { "e_name", "edge", "label", "string" },
        { "e_k", "edge", "k", "int" },
        { "e_interaction", "edge", "interaction", "string" },
        { "e_weight", "edge", "weight", "double" },
        { "e_head_from", "edge", "head_from", "int" },
        { "e_head_to", "edge", "head_to", "int" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (d->per_head || strncmp(all[i][0], "e_head", 6) != 0)
            gsa_output_format(d->output, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n", all[i][0],
                              all[i][1], all[i][2], all[i][3]);
}

static void head(const gsa_drawing *d)
{
    const gsa_picture *p = d->picture;
    const char *id = gsa_schema_topology(p->schema), *spec = p->spec ? p->spec : id;
    gsa_output_text(d->output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n  <!-- spec: ");
    commented(d->output, spec);
    gsa_output_format(d->output, " topology: %s length: %d heads: %d nodes: %lld edges: %lld -->\n", id,
                      gsa_instance_length(p->instance), gsa_instance_heads(p->instance), (long long)d->nodes,
                      (long long)d->edges);
    keys(d);
    gsa_output_text(d->output, "  <graph id=\"G\" edgedefault=\"directed\">\n    ");
    data_text(d->output, "g_topology", id, (int64_t)strlen(id));
    data_text(d->output, "g_spec", spec, (int64_t)strlen(spec));
    data_int(d->output, "g_length", gsa_instance_length(p->instance));
    data_int(d->output, "g_heads", gsa_instance_heads(p->instance));
    data_int(d->output, "g_nodes", d->nodes);
    data_int(d->output, "g_edges", d->edges);
    gsa_output_text(d->output, "\n");
}

static void node(const gsa_drawing *d, int kind, int64_t index)
{
    const char *name = gsa_schema_kind(d->picture->schema, kind)->name;
    const gsa_slice token = gsa_draw_token(d, kind, index);
    const gsa_place place = gsa_instance_place(d->picture->instance, kind, index);
    gsa_output_text(d->output, "    <node id=\"n");
    gsa_draw_int(d->output, d->first_node[kind] + index);
    gsa_output_text(d->output, "\"><data key=\"v_label\">");
    if (token.at) escaped(d->output, token.at, token.bytes);
    else {
        gsa_output_text(d->output, name);
        gsa_output_text(d->output, " ");
        gsa_draw_int(d->output, index);
    }
    gsa_output_text(d->output, "</data>");
    data_text(d->output, "v_kind", name, (int64_t)strlen(name));
    data_int(d->output, "v_index", index);
    data_int(d->output, "v_level", place.level);
    data_int(d->output, "v_first", place.level < 0 ? -1 : place.first);
    data_int(d->output, "v_last", place.level < 0 ? -1 : place.last);
    gsa_output_text(d->output, "</node>\n");
}

typedef struct edge_writer {
    const gsa_drawing *drawing;
    int64_t written;
} edge_writer;

static void edge(void *context, const gsa_drawn_edge *e)
{
    edge_writer *w = context;
    const gsa_drawing *d = w->drawing;
    const char *phase = gsa_schema_phase(d->picture->schema, e->phase)->name;
    char name[GSA_LABEL_NAME];
    gsa_draw_label_name(d, e->phase, e->label, name);
    gsa_output_text(d->output, "    <edge id=\"e");
    gsa_draw_int(d->output, w->written++);
    gsa_output_text(d->output, "\" source=\"n");
    gsa_draw_int(d->output, e->from);
    gsa_output_text(d->output, "\" target=\"n");
    gsa_draw_int(d->output, e->to);
    gsa_output_text(d->output, "\">");
    data_int(d->output, "e_phase", e->phase);
    data_int(d->output, "e_label", e->label);
    data_text(d->output, "e_name", name, (int64_t)strlen(name));
    data_int(d->output, "e_k", e->k);
    data_text(d->output, "e_interaction", phase, (int64_t)strlen(phase));
    data_int(d->output, "e_weight", 1);
    if (d->per_head) {
        data_int(d->output, "e_head_from", e->head_from);
        data_int(d->output, "e_head_to", e->head_to);
    }
    gsa_output_text(d->output, "</edge>\n");
}

gsa_status gsa_write_graphml(const gsa_drawing *d, gsa_error *error)
{
    (void)error; /* all that can fail was checked; the output remembers the rest */
    head(d);
    for (int k = 0; k < gsa_schema_kinds(d->picture->schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(d->picture->instance, k); i++) node(d, k, i);
    edge_writer writer = { d, 0 };
    gsa_draw_edges(d, edge, &writer);
    gsa_output_text(d->output, "  </graph>\n</graphml>\n");
    return GSA_OK;
}
