/* matrix.c - the pattern as a matrix: a cell is one node by one node, or several where there are
 * more than CELLS. Cells of one colour and shade that are side by side in a row are one stroke,
 * so that a window of 1,000 tokens is 1,000 strokes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/inspect/draw.h"

enum { CELLS = 1000, SHADES = 24, SIDE = 720, NAME_CHARACTERS = 16 };

typedef struct cell {
    int32_t row, column, category;
    double weight;
} cell;

typedef struct grid {
    int32_t cells, per_cell; /* a side; nodes of a cell's side */
    int32_t pixel;
    int64_t count;
    cell *at;
    double heaviest;
} grid;

static int by_place(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->category > y->category) - (x->category < y->category);
}

/* Lines that fall into one cell are joined; the cell's colour is its heaviest category's, the first
 * of equals. */
static void join_cells(grid *g)
{
    int64_t kept = 0;
    double best = 0, part = 0;
    for (int64_t i = 0; i < g->count; i++) {
        cell *last = kept ? &g->at[kept - 1] : NULL;
        const cell x = g->at[i];
        const int same = last && last->row == x.row && last->column == x.column;
        const int again = i > 0 && same && g->at[i - 1].category == x.category;
        part = again ? part + x.weight : x.weight;
        if (!same) g->at[kept++] = x, best = part;
        else {
            last->weight += x.weight;
            if (part > best) best = part, last->category = x.category;
        }
    }
    g->count = kept;
    for (int64_t i = 0; i < kept; i++)
        if (g->at[i].weight > g->heaviest) g->heaviest = g->at[i].weight;
}

static gsa_status make_grid(const gsa_page *page, grid *g, gsa_error *error)
{
    const int32_t n = page->view->nodes;
    *g = (grid){ .per_cell = (n + CELLS - 1) / CELLS };
    if (g->per_cell < 1) g->per_cell = 1;
    g->cells = (n + g->per_cell - 1) / g->per_cell;
    g->pixel = g->cells > 0 && SIDE / g->cells < 18
                   ? SIDE / g->cells
                   : 18; /* whole pixels: no row falls between two */
    if (g->pixel < 1) g->pixel = 1;
    g->at = gsa_alloc(page->system, (size_t)page->lines, sizeof *g->at);
    if (!g->at) return gsa_out_of_memory(error, "matrix", page->lines * (int64_t)sizeof *g->at);
    for (int64_t i = 0; i < page->lines; i++)
        g->at[g->count++] =
            (cell){ page->line[i].to / g->per_cell, page->line[i].from / g->per_cell,
                    page->line[i].category, page->view->weighted ? page->line[i].weight : 1 };
    qsort(g->at, (size_t)g->count, sizeof *g->at, by_place);
    if (g->count > 0) join_cells(g);
    return GSA_OK;
}

/* 0 .. SHADES-1; without weights and with a node a cell all are dark. */
static int shade_of(const gsa_page *page, const grid *g, const cell *x)
{
    if (!page->view->weighted && g->per_cell == 1) return SHADES - 1;
    const double full = page->view->weighted ? g->heaviest : (double)g->per_cell * g->per_cell;
    if (!(x->weight < full)) return full > 0 ? SHADES - 1 : 0;
    return (int)(x->weight / full * SHADES);
}

/* All cells of one colour and shade as one path of strokes, each a run of cells in a row. */
static void draw_shade(const gsa_page *page, const grid *g, int category, int shade)
{
    int open = 0;
    for (int64_t i = 0; i < g->count; i++) {
        const cell *x = &g->at[i];
        int64_t length = 1;
        if (x->category != category || shade_of(page, g, x) != shade) continue;
        while (i + length < g->count && x[length].row == x->row &&
               x[length].column == x->column + length && x[length].category == category &&
               shade_of(page, g, &x[length]) == shade)
            length++;
        if (!open)
            gsa_output_format(
                page->out, "<path class=\"cells\" stroke=\"%s\" stroke-opacity=\"%.2f\" d=\"",
                page->categories[category].colour, 0.03 + 0.97 * shade / (SHADES - 1));
        open = 1;
        gsa_output_format(page->out, "M%d %.1fh%" PRId64, x->column, x->row + 0.5, length);
        i += length - 1;
    }
    if (open) gsa_output_text(page->out, "\"/>\n");
}

/* The kind's name next to its rows where they are high enough, and a thin line where it ends. */
static void draw_kinds(const gsa_page *page, double side, double unit)
{
    const gsa_view *view = page->view;
    for (int32_t v = 0, end; v < view->nodes && view->kinds.count > 1; v = end) {
        const char *name = view->kinds.at[view->node[v].kind];
        for (end = v; end < view->nodes && view->node[end].kind == view->node[v].kind;) end++;
        if (end < view->nodes)
            gsa_output_format(page->out,
                              "<path d=\"M0 %.1fh%.1fM%.1f 0v%.1f\" stroke=\"" FAINT
                              "\" stroke-width=\"0.6\"/>\n",
                              end * unit, side, end * unit, side);
        if (gsa_text_width(name, 10.5) > (end - v) * unit) continue;
        gsa_output_format(page->out,
                          "<text class=\"tick\" transform=\"translate(%.1f %.1f)rotate(90)\">",
                          side + 8, 0.5 * (v + end) * unit);
        gsa_draw_text(page, name);
        gsa_output_text(page->out, "</text>\n");
    }
}

/* Ticks at round numbers; where cells are large enough, every node's text. */
static void draw_ticks(const gsa_page *page, const grid *g)
{
    const double unit = (double)g->pixel / g->per_cell;
    int32_t step = 1;
    for (int i = 0; page->view->nodes / step > 10; i++) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    for (int32_t v = 0; v < page->view->nodes; v += step)
        gsa_output_format(page->out,
                          "<text class=\"axis\" x=\"-7\" y=\"%.1f\">%d</text><text class=\"tick\" "
                          "x=\"%.1f\" y=\"-7\">%d</text>\n",
                          (v + 0.5) * unit + 4, v, (v + 0.5) * unit, v);
}

static void draw_names(const gsa_page *page, const grid *g)
{
    for (int32_t v = 0; v < page->view->nodes; v++) {
        char name[SHORT_TEXT];
        gsa_text_short(page->view->node[v].label, NAME_CHARACTERS, name);
        gsa_output_format(page->out, "<text class=\"axis\" x=\"-7\" y=\"%.1f\">",
                          (v + 0.5) * g->pixel + 4);
        gsa_draw_text(page, name);
        gsa_output_format(page->out,
                          "</text><text class=\"axis\" style=\"text-anchor:start\" "
                          "transform=\"translate(%.1f -7)rotate(-90)\">",
                          (v + 0.5) * g->pixel + 4);
        gsa_draw_text(page, name);
        gsa_output_text(page->out, "</text>\n");
    }
}

static int has_names(const grid *g)
{
    return g->per_cell == 1 && g->pixel >= 13;
}

/* What is left of the matrix and above it. */
static void set_margins(gsa_page *page, const grid *g)
{
    double widest = 0;
    for (int32_t v = 0; v < page->view->nodes && has_names(g); v++) {
        char name[SHORT_TEXT];
        gsa_text_short(page->view->node[v].label, NAME_CHARACTERS, name);
        const double width = gsa_text_width(name, 10.5);
        if (width > widest) widest = width;
    }
    const double side = (double)g->cells * g->pixel, named = has_names(g);
    page->extent = (gsa_extent){ named > 0 ? -widest - 12 : -44, named > 0 ? -widest - 12 : -26,
                                 side + (page->view->kinds.count > 1 ? 18 : 0), side };
}

gsa_status gsa_draw_matrix(gsa_page *page, gsa_error *error)
{
    grid g;
    const gsa_status status = make_grid(page, &g, error);
    const double side = (double)g.cells * g.pixel;
    if (status == GSA_OK) set_margins(page, &g);
    if (status == GSA_OK && page->out) {
        gsa_output_format(page->out,
                          "<g transform=\"scale(%d)\" fill=\"none\" stroke-width=\"1\" "
                          "shape-rendering=\"crispEdges\">\n",
                          g.pixel);
        for (int c = 0; c < page->n_categories; c++)
            for (int shade = 0; shade < SHADES; shade++) draw_shade(page, &g, c, shade);
        gsa_output_text(page->out, "</g>\n");
        gsa_output_format(
            page->out, "<rect width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"" INK "\"/>\n",
            side, side);
        if (has_names(&g)) draw_names(page, &g);
        else draw_ticks(page, &g);
        draw_kinds(page, side, (double)g.pixel / g.per_cell);
    }
    gsa_release(page->system, g.at);
    return status;
}
