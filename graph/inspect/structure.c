/* structure.c - what sort of pattern it is, told by kinds, levels, spans and edges, never by a name; the picture follows
 * from it. */
#include "graph/inspect/draw.h"

int gsa_is_placed(const gsa_view *view, int32_t node)
{
    const gsa_view_node *x = &view->node[node];
    return x->level >= 0 && x->first >= 0 && x->last >= x->first;
}

int gsa_covers_all(const gsa_view *view, const gsa_structure *structure, int32_t node)
{
    const gsa_view_node *x = &view->node[node];
    return gsa_is_placed(view, node) && x->first == 0 && x->last >= structure->last;
}

/* Most nodes without a place that some edge enters; the kind of the most nodes where no edge enters any. */
static int32_t find_primary(const gsa_view *view, const int32_t *nodes, const int32_t *placed, const int64_t *entered)
{
    int32_t best = -1;
    for (int32_t k = 0; k < view->kinds.count; k++) {
        if (placed[k] > 0) continue;
        if (best < 0 || (entered[k] > 0) > (entered[best] > 0) ||
            ((entered[k] > 0) == (entered[best] > 0) && nodes[k] > nodes[best]))
            best = k;
    }
    return best;
}

/* On a line an edge of the sequence is long, on a circle all are short: then it is drawn on a circle. */
static int is_cyclic(const gsa_view *view, int32_t primary, int32_t n)
{
    int32_t far = 0, around = 0;
    for (int64_t e = 0; e < view->edges; e++) {
        const gsa_view_node *a = &view->node[view->edge[e].from], *b = &view->node[view->edge[e].to];
        if (a->kind != primary || b->kind != primary) continue;
        const int32_t d = a->index < b->index ? b->index - a->index : a->index - b->index, c = d < n - d ? d : n - d;
        if (d > far) far = d;
        if (c > around) around = c;
    }
    return n >= 4 && around > 0 && 4 * around <= n && 4 * far > 3 * n;
}

gsa_status gsa_page_structure(const gsa_page *page, gsa_structure *structure, gsa_error *error)
{
    const gsa_view *view = page->view;
    const size_t kinds = (size_t)view->kinds.count;
    int32_t *nodes = gsa_alloc_zero(page->system, 3 * kinds, sizeof *nodes), *placed = nodes + kinds,
            *level = placed + kinds;
    int64_t *entered = gsa_alloc_zero(page->system, kinds, sizeof *entered);
    *structure = (gsa_structure){ .primary = -1, .last = -1 };
    if (!nodes || !entered) {
        gsa_release(page->system, nodes);
        gsa_release(page->system, entered);
        return gsa_out_of_memory(error, "kinds", (int64_t)kinds * 20);
    }
    for (int32_t v = 0; v < view->nodes; v++)
        nodes[view->node[v].kind]++, placed[view->node[v].kind] += gsa_is_placed(view, v);
    for (int64_t e = 0; e < view->edges; e++) {
        entered[view->node[view->edge[e].to].kind]++;
        structure->per_head |= view->edge[e].head_to >= 0;
    }
    structure->primary = find_primary(view, nodes, placed, entered);
    for (int32_t v = 0; v < view->nodes; v++)
        if (view->node[v].kind == structure->primary && view->node[v].index > structure->last)
            structure->last = view->node[v].index;
    for (int32_t v = 0; v < view->nodes; v++) {
        const int32_t k = view->node[v].kind;
        if (!gsa_is_placed(view, v)) continue;
        if (nodes[k] == 1 && gsa_covers_all(view, structure, v)) structure->hubs++;
        else structure->spans++;
        structure->levels |= level[k] > 0 && level[k] != view->node[v].level + 1;
        level[k] = view->node[v].level + 1;
    }
    for (int32_t k = 0; k < view->kinds.count; k++) structure->rows += nodes[k] > 0 && placed[k] == 0;
    if (structure->primary >= 0) structure->cyclic = is_cyclic(view, structure->primary, nodes[structure->primary]);
    gsa_release(page->system, nodes);
    gsa_release(page->system, entered);
    return GSA_OK;
}

int gsa_page_style(const gsa_page *page, const gsa_structure *s)
{
    if (page->options->style != GSA_STYLE_AUTO) return page->options->style;
    if (s->per_head && page->view->nodes <= 64) return GSA_STYLE_HEADS;
    if (page->view->nodes > MATRIX_NODES || page->lines > MATRIX_LINES) return GSA_STYLE_MATRIX;
    if (!page->view->profile) return GSA_STYLE_FORCE;
    if (s->spans > 0) return s->levels ? GSA_STYLE_TREE : GSA_STYLE_BIPARTITE;
    if (s->hubs > 0 || (s->cyclic && s->rows == 1)) return GSA_STYLE_CIRCLE;
    return GSA_STYLE_ARC;
}
