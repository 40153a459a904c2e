/* write_graphml.c - the profile of write.h. Key ids carry v_, e_ and g_; attr.name is what other
 * programs map: label, weight, interaction (Cytoscape), rel (the label's number), and as Gephi
 * reads them x, y, size, r, g, b. yEd has elements of its own, which come before the keys that say
 * the same. Cost O(nodes + edges) time, 16 bytes a node. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/palette.h"
#include "graph/write_parts.h"

/* Edges of larger pictures have no colours: no program shows so many well, and they take half as
 * much again. */
enum { COLOURED = 20000, UNIT = 60 /* of a place, in Gephi's and yEd's */ };

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

static void data_real(gsa_output *output, const char *key, double value)
{
    gsa_output_text(output, "<data key=\"");
    gsa_output_text(output, key);
    gsa_output_text(output, "\">");
    gsa_draw_real(output, value);
    gsa_output_text(output, "</data>");
}

/* A hue as the three numbers r, g, b; `id` is the first one's key. */
static void data_colour(gsa_output *output, const char *id, const char *hue)
{
    char own[8];
    unsigned value = 0;
    sscanf(hue + 1, "%x", &value);
    snprintf(own, sizeof own, "%s", id);
    for (int i = 0; i < 3; i++) {
        own[2] = "rgb"[i];
        data_int(output, own, value >> (16 - 8 * i) & 255);
    }
}

static void data_text(gsa_output *output, const char *key, const char *text, int64_t bytes)
{
    gsa_output_text(output, "<data key=\"");
    gsa_output_text(output, key);
    gsa_output_text(output, "\">");
    escaped(output, text, bytes);
    gsa_output_text(output, "</data>");
}

static void key(gsa_output *output, const char *id, const char *class, const char *name,
                const char *type)
{
    gsa_output_format(output, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                      id, class, name, type);
}

static int is_colour_of_edge(const char *id)
{
    return strcmp(id, "e_r") == 0 || strcmp(id, "e_g") == 0 || strcmp(id, "e_b") == 0;
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
        { "v_stack", "node", "stack", "string" },
        { "v_x", "node", "x", "double" },
        { "v_y", "node", "y", "double" },
        { "v_size", "node", "size", "double" },
        { "v_r", "node", "r", "int" },
        { "v_g", "node", "g", "int" },
        { "v_b", "node", "b", "int" },
        { "e_phase", "edge", "phase", "int" },
        { "e_label", "edge", "rel", "int" },
        { "e_name", "edge", "label", "string" },
        { "e_k", "edge", "k", "int" },
        { "e_interaction", "edge", "interaction", "string" },
        { "e_weight", "edge", "weight", "double" },
        { "e_layer", "edge", "layer", "int" },
        { "e_r", "edge", "r", "int" },
        { "e_g", "edge", "g", "int" },
        { "e_b", "edge", "b", "int" },
        { "e_head_from", "edge", "head_from", "int" },
        { "e_head_to", "edge", "head_to", "int" },
    };
    char id[24];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((d->per_head || strncmp(all[i][0], "e_head", 6) != 0) &&
            (d->edges <= COLOURED || !is_colour_of_edge(all[i][0])))
            key(d->output, all[i][0], all[i][1], all[i][2], all[i][3]);
    gsa_output_text(d->output, "  <key id=\"v_yed\" for=\"node\" attr.name=\"yed\" "
                               "attr.type=\"string\" yfiles.type=\"nodegraphics\"/>\n");
    if (d->edges <= COLOURED)
        gsa_output_text(d->output, "  <key id=\"e_yed\" for=\"edge\" attr.name=\"yed\" "
                                   "attr.type=\"string\" yfiles.type=\"edgegraphics\"/>\n");
    for (int h = 0; h < d->columns; h++) {
        snprintf(id, sizeof id, "e_w%d", h);
        key(d->output, id, "edge", id + 2, "double");
    }
}

static void head(const gsa_drawing *d)
{
    const char *spec = d->picture->spec ? d->picture->spec : d->topologies;
    gsa_output_text(d->output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" "
                               "xmlns:y=\"http://www.yworks.com/xml/graphml\">\n  <!-- spec: ");
    commented(d->output, spec);
    gsa_output_format(
        d->output, " topology: %s length: %lld heads: %d nodes: %lld edges: %lld -->\n",
        d->topologies, (long long)d->length, d->heads, (long long)d->nodes, (long long)d->edges);
    keys(d);
    gsa_output_text(d->output, "  <graph id=\"G\" edgedefault=\"directed\">\n    ");
    data_text(d->output, "g_topology", d->topologies, (int64_t)strlen(d->topologies));
    data_text(d->output, "g_spec", spec, (int64_t)strlen(spec));
    data_int(d->output, "g_length", d->length);
    data_int(d->output, "g_heads", d->heads);
    data_int(d->output, "g_nodes", d->nodes);
    data_int(d->output, "g_edges", d->edges);
    gsa_output_text(d->output, "\n");
}

/* The token, or "relay 0". */
static void label(const gsa_drawing *d, const gsa_drawn_kind *k, int64_t index)
{
    const gsa_slice token = gsa_draw_token(d, k, index);
    if (token.at) escaped(d->output, token.at, token.bytes);
    else {
        gsa_output_text(d->output, k->name);
        gsa_output_text(d->output, " ");
        gsa_draw_int(d->output, index);
    }
}

/* An attribute: name="value". */
static void attribute(gsa_output *output, const char *name, double value)
{
    gsa_output_text(output, name);
    gsa_output_text(output, "=\"");
    gsa_draw_real(output, value);
    gsa_output_text(output, "\"");
}

/* yEd's places are those of corners, and grow downwards. */
static void yed_node(const gsa_drawing *d, int kind, int64_t index, gsa_point at, double size)
{
    gsa_output *out = d->output;
    gsa_output_text(out, "<data key=\"v_yed\"><y:ShapeNode><y:Geometry");
    attribute(out, " height", size);
    attribute(out, " width", size);
    attribute(out, " x", at.x - size / 2);
    attribute(out, " y", at.y - size / 2);
    gsa_output_format(out, "/><y:Fill color=\"%s\" transparent=\"false\"/><y:NodeLabel>",
                      gsa_hue[kind % GSA_HUES]);
    label(d, &d->kinds[kind], index);
    gsa_output_text(out, "</y:NodeLabel><y:Shape type=\"ellipse\"/></y:ShapeNode></data>");
}

/* Nodes that stand for more tokens are larger. */
static double size_of(const gsa_drawn_kind *k, gsa_place place, int64_t length)
{
    const int64_t tokens = place.level >= 0 ? place.last - place.first + 1
                           : k->count == 1  ? length
                                            : 1;
    return tokens > 15 ? 60 : tokens > 3 ? 40 : tokens > 1 ? 30 : 20;
}

/* Hundredths are enough, and the same with every mathematics library; no -0. */
static double placed(double tokens)
{
    return rint(100 * UNIT * tokens) / 100 + 0.0;
}

static void node(const gsa_drawing *d, int kind, int64_t index, gsa_point at)
{
    const gsa_drawn_kind *k = &d->kinds[kind];
    const gsa_place place = gsa_draw_place(d, kind, index);
    const double size = size_of(k, place, d->length);
    const char *stack = gsa_draw_stack(d, k->stack), *prefix = gsa_draw_prefix(d, k->stack);
    gsa_output_text(d->output, "    <node id=\"n");
    gsa_draw_int(d->output, k->first + index);
    gsa_output_text(d->output, "\">");
    at.x = placed(at.x), at.y = placed(at.y);
    yed_node(d, kind, index, at, size);
    gsa_output_text(d->output, "<data key=\"v_label\">");
    label(d, k, index);
    gsa_output_text(d->output, "</data><data key=\"v_kind\">");
    escaped(d->output, prefix, (int64_t)strlen(prefix));
    if (*prefix) gsa_output_text(d->output, ".");
    gsa_output_text(d->output, k->name);
    gsa_output_text(d->output, "</data>");
    data_int(d->output, "v_index", index);
    data_int(d->output, "v_level", place.level);
    data_int(d->output, "v_first", place.level < 0 ? -1 : place.first);
    data_int(d->output, "v_last", place.level < 0 ? -1 : place.last);
    data_text(d->output, "v_stack", stack, (int64_t)strlen(stack));
    data_real(d->output, "v_x", at.x);
    data_real(d->output, "v_y", 0.0 - at.y); /* Gephi's grow upwards */
    data_real(d->output, "v_size", size);
    data_colour(d->output, "v_r", gsa_hue[kind % GSA_HUES]);
    gsa_output_text(d->output, "</node>\n");
}

typedef struct edge_writer {
    const gsa_drawing *drawing;
    int64_t written;
} edge_writer;

static void weights(const gsa_drawing *d, const gsa_drawn_edge *e)
{
    char id[24];
    for (int h = 0; h < d->columns; h++) {
        snprintf(id, sizeof id, "e_w%d", h);
        data_real(d->output, id, gsa_draw_weight_in(e, h));
    }
}

/* The hue is the phase's. */
static void colours(const gsa_drawing *d, const gsa_drawn_edge *e)
{
    const char *hue = gsa_hue[(d->first_phase[e->sheet] + e->phase) % GSA_HUES];
    if (d->edges > COLOURED) return;
    gsa_output_format(d->output,
                      "<data key=\"e_yed\"><y:PolyLineEdge><y:LineStyle color=\"%s\" "
                      "type=\"line\" width=\"1\"/><y:Arrows source=\"none\" "
                      "target=\"standard\"/></y:PolyLineEdge></data>",
                      hue);
    data_colour(d->output, "e_r", hue);
}

static void edge(void *context, const gsa_drawn_edge *e)
{
    edge_writer *w = context;
    const gsa_drawing *d = w->drawing;
    const gsa_picture_sheet *sheet = &d->picture->sheets[e->sheet];
    char name[GSA_LABEL_NAME], phase[GSA_PHASE_NAME];
    gsa_draw_label_name(sheet, e->phase, e->label, name);
    gsa_output_text(d->output, "    <edge id=\"e");
    gsa_draw_int(d->output, w->written++);
    gsa_output_text(d->output, "\" source=\"n");
    gsa_draw_int(d->output, e->from);
    gsa_output_text(d->output, "\" target=\"n");
    gsa_draw_int(d->output, e->to);
    gsa_output_text(d->output, "\">");
    colours(d, e);
    data_int(d->output, "e_phase", d->first_phase[e->sheet] + e->phase);
    data_int(d->output, "e_label", e->label);
    data_text(d->output, "e_name", name, (int64_t)strlen(name));
    data_int(d->output, "e_k", e->k);
    gsa_draw_phase_name(d, e, phase);
    data_text(d->output, "e_interaction", phase, (int64_t)strlen(phase));
    data_real(d->output, "e_weight", gsa_draw_weight(d, e));
    data_int(d->output, "e_layer", sheet->layer);
    if (d->per_head) {
        data_int(d->output, "e_head_from", e->head_from);
        data_int(d->output, "e_head_to", e->head_to);
    }
    weights(d, e);
    gsa_output_text(d->output, "</edge>\n");
}

gsa_status gsa_write_graphml(const gsa_drawing *d, gsa_error *error)
{
    gsa_point *at = gsa_alloc(d->system, (size_t)d->nodes + 1, sizeof *at);
    if (!at) return gsa_out_of_memory(error, "a picture", d->nodes * (int64_t)sizeof *at);
    gsa_draw_places(d, gsa_draw_view(d), at);
    head(d);
    for (int k = 0; k < d->n_kinds; k++)
        for (int64_t i = 0; i < d->kinds[k].count; i++) node(d, k, i, at[d->kinds[k].first + i]);
    gsa_release(d->system, at);
    edge_writer writer = { d, 0 };
    gsa_draw_edges(d, edge, &writer);
    gsa_output_text(d->output, "  </graph>\n</graphml>\n");
    return GSA_OK;
}
