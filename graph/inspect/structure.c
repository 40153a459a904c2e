/* structure.c - what sort of pattern it is, told by kinds, levels, spans and edges, never by a
 * name; the picture follows from it. */
#include "graph/inspect/draw.h"
#include <string.h>

int gsa_is_placed(const gsa_view *view, int32_t node)
{
    const gsa_view_node *x = &view->node[node];
    return x->level >= 0 && x->first >= 0 && x->last >= x->first;
}

int gsa_covers_all(const gsa_page *page, int32_t node)
{
    const gsa_view_node *x = &page->view->node[node];
    const int32_t base = page->kind[x->kind].base;
    return gsa_is_placed(page->view, node) && x->first == 0 &&
           x->last >= (base < 0 ? -1 : page->kind[base].last);
}

/* "encoder" of "encoder.token"; 0 bytes where the file has one stack. */
static int is_same_stack(const gsa_view *view, int32_t a, int32_t b)
{
    const char *x = view->kinds.at[a], *y = view->kinds.at[b], *x_end = strrchr(x, '.'),
               *y_end = strrchr(y, '.');
    const size_t x_bytes = x_end ? (size_t)(x_end - x) : 0,
                 y_bytes = y_end ? (size_t)(y_end - y) : 0;
    return x_bytes == y_bytes && memcmp(x, y, x_bytes) == 0;
}

typedef struct kind_counts {
    int32_t nodes, placed, level;
    int64_t entered;
} kind_counts;

/* Most nodes without a place that some edge enters; the kind of the most nodes where no edge enters
 * any. Of the
 * stack of kind `within`; -1: it has none. */
static int32_t find_primary(const gsa_view *view, const kind_counts *count, int32_t within)
{
    int32_t best = -1;
    for (int32_t k = 0; k < view->kinds.count; k++) {
        if (count[k].placed > 0 || !is_same_stack(view, k, within)) continue;
        if (best < 0 || (count[k].entered > 0) > (count[best].entered > 0) ||
            ((count[k].entered > 0) == (count[best].entered > 0) &&
             count[k].nodes > count[best].nodes))
            best = k;
    }
    return best;
}

/* On a line an edge of the sequence is long, on a circle all are short: then it is drawn on a
 * circle. */
static int is_cyclic(const gsa_view *view, int32_t primary, int32_t n)
{
    int32_t far = 0, around = 0;
    for (int64_t e = 0; e < view->edges; e++) {
        const gsa_view_node *a = &view->node[view->edge[e].from],
                            *b = &view->node[view->edge[e].to];
        if (a->kind != primary || b->kind != primary) continue;
        const int32_t d = a->index < b->index ? b->index - a->index : a->index - b->index,
                      c = d < n - d ? d : n - d;
        if (d > far) far = d;
        if (c > around) around = c;
    }
    return n >= 4 && around > 0 && (int64_t)4 * around <= n && (int64_t)4 * far > (int64_t)3 * n;
}

static void count_kinds(const gsa_view *view, kind_counts *count, gsa_structure *s)
{
    for (int32_t v = 0; v < view->nodes; v++)
        count[view->node[v].kind].nodes++,
            count[view->node[v].kind].placed += gsa_is_placed(view, v);
    for (int64_t e = 0; e < view->edges; e++) {
        count[view->node[view->edge[e].to].kind].entered++;
        s->per_head |= view->edge[e].head_to >= 0;
    }
    for (int32_t k = 0; k < view->kinds.count; k++)
        s->rows += count[k].nodes > 0 && count[k].placed == 0;
}

/* The first stack's sequence is the picture's; a stack without one of its own leans on it. */
static void find_bases(gsa_page *page, const kind_counts *count, gsa_structure *s)
{
    const gsa_view *view = page->view;
    for (int32_t k = 0; k < view->kinds.count; k++) {
        const int32_t base = find_primary(view, count, k);
        page->kind[k] = (gsa_kind_place){ .base = base, .last = -1, .row = -1 };
        s->stacks += base == k && count[k].nodes > 0;
        if (s->primary < 0 && base >= 0 && count[base].nodes > 0) s->primary = base;
    }
    for (int32_t k = 0; k < view->kinds.count; k++)
        if (page->kind[k].base < 0) page->kind[k].base = s->primary;
    for (int32_t v = 0; v < view->nodes; v++) {
        gsa_kind_place *kind = &page->kind[view->node[v].kind];
        if (view->node[v].index > kind->last) kind->last = view->node[v].index;
    }
    if (s->primary >= 0) s->last = page->kind[s->primary].last;
}

gsa_status gsa_page_structure(gsa_page *page, gsa_structure *structure, gsa_error *error)
{
    const gsa_view *view = page->view;
    const size_t kinds = (size_t)view->kinds.count;
    kind_counts *count = gsa_alloc_zero(page->system, kinds, sizeof *count);
    page->kind = gsa_alloc_zero(page->system, kinds, sizeof *page->kind);
    *structure = (gsa_structure){ .primary = -1, .last = -1 };
    if (!count || !page->kind) {
        gsa_release(page->system, count);
        return gsa_out_of_memory(error, "kinds",
                                 (int64_t)(kinds * (sizeof *count + sizeof *page->kind)));
    }
    count_kinds(view, count, structure);
    find_bases(page, count, structure);
    for (int32_t v = 0; v < view->nodes; v++) {
        kind_counts *kind = &count[view->node[v].kind];
        if (!gsa_is_placed(view, v)) continue;
        if (kind->nodes == 1 && gsa_covers_all(page, v)) structure->hubs++;
        else structure->spans++;
        structure->levels |= kind->level > 0 && kind->level != view->node[v].level + 1;
        kind->level = view->node[v].level + 1;
    }
    if (structure->primary >= 0)
        structure->cyclic = is_cyclic(view, structure->primary, count[structure->primary].nodes);
    gsa_release(page->system, count);
    return GSA_OK;
}

int gsa_page_style(const gsa_page *page, const gsa_structure *s)
{
    if (page->options->style != GSA_STYLE_AUTO) return page->options->style;
    if (s->per_head && s->stacks < 2 && page->view->nodes <= 64) return GSA_STYLE_HEADS;
    if (page->view->nodes > MATRIX_NODES || page->lines > MATRIX_LINES) return GSA_STYLE_MATRIX;
    if (!page->view->profile) return GSA_STYLE_FORCE;
    if (s->spans > 0) return s->levels ? GSA_STYLE_TREE : GSA_STYLE_BIPARTITE;
    if (s->hubs > 0 && s->stacks > 1) return GSA_STYLE_BIPARTITE;
    if (s->hubs > 0 || (s->cyclic && s->rows == 1)) return GSA_STYLE_CIRCLE;
    return GSA_STYLE_ARC;
}
