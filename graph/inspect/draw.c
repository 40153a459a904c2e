/* draw.c - a view as SVG: colours, lines, a style, places, ink. */
#include "graph/inspect/draw.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const gsa_style_names[GSA_STYLES] = { "auto",   "arc",    "tree",  "bipartite",
                                                  "matrix", "circle", "heads", "force" };

enum { MARGIN = 26, HEAD = 58, LEAST_WIDTH = 430, MOST_TITLE = 1200 };
/* More boxes are a picture that nobody looks at, and places of boxes cost the square of their
 * number: springs 500 times. A matrix joins nodes, and draws any number. */
enum { MOST_BOXES = 1 << 14, MOST_SPRINGS = 1 << 12 };

void gsa_extent_add(gsa_extent *x, double px, double py)
{
    if (px < x->left) x->left = px;
    if (px > x->right) x->right = px;
    if (py < x->top) x->top = py;
    if (py > x->bottom) x->bottom = py;
}

static gsa_status check_boxes(const gsa_page *page, int32_t each, gsa_error *error)
{
    const int32_t nodes = page->view->nodes;
    const int most = page->style == GSA_STYLE_FORCE ? MOST_SPRINGS : MOST_BOXES;
    if (page->style == GSA_STYLE_MATRIX || nodes <= most / each) return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%" PRId32 " nodes with %" PRId32 " box%s each are too many to draw in style "
                    "'%s', expected at most %d boxes: style 'matrix' draws any number of nodes",
                    nodes, each, each == 1 ? "" : "es", gsa_style_names[page->style], most);
}

static gsa_status make_boxes(gsa_page *page, int32_t each, gsa_error *error)
{
    const int64_t count = (int64_t)page->view->nodes * each;
    gsa_release(page->system, page->box);
    page->box = gsa_alloc_zero(page->system, (size_t)count, sizeof *page->box);
    page->boxes = (int32_t)count;
    return page->box ? GSA_OK
                     : gsa_out_of_memory(error, "boxes", count * (int64_t)sizeof *page->box);
}

static int32_t count_heads(const gsa_page *page)
{
    int32_t heads = 1;
    for (int64_t e = 0; e < page->view->edges; e++) {
        const gsa_view_edge *edge = &page->view->edge[e];
        const int32_t most = edge->head_to > edge->head_from ? edge->head_to : edge->head_from;
        if (most >= heads) heads = most + 1;
    }
    return heads;
}

/* Tokens by heads: the edges into one (token, head), the middle one unless a token is requested. */
static gsa_status focus_on_head(gsa_page *page, const gsa_structure *s, int32_t heads,
                                gsa_error *error)
{
    for (int32_t v = 0; v < page->view->nodes && page->focus < 0; v++)
        if (page->view->node[v].kind == s->primary &&
            page->view->node[v].index == (s->last + 1) / 2)
            page->focus = v;
    page->focus_head = heads / 2;
    const gsa_status status = make_boxes(page, heads, error);
    return status == GSA_OK ? gsa_page_lines(page, error) : status;
}

static gsa_status check_focus(const gsa_page *page, gsa_error *error)
{
    const int32_t focus = page->options->focus;
    if (focus < page->view->nodes) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "node %" PRId32 ", the graph has %" PRId32 " nodes, counted from 0", focus,
                    page->view->nodes);
}

static gsa_status place_boxes(gsa_page *page, const gsa_structure *s, gsa_error *error)
{
    gsa_status status = GSA_OK;
    switch (page->style) {
    case GSA_STYLE_MATRIX:
        page->reading = "A cell is an edge: its row reads its column.";
        return gsa_draw_matrix(page, error); /* its extent: there is no output yet */
    case GSA_STYLE_CIRCLE:
        gsa_layout_circle(page, s);
        break;
    case GSA_STYLE_HEADS:
        gsa_layout_heads(page, s);
        break;
    case GSA_STYLE_FORCE:
        status = gsa_layout_force(page, s, error);
        break;
    default:
        status = gsa_layout_rows(page, s, error);
    }
    for (int32_t b = 0; b < page->boxes && status == GSA_OK; b++) {
        const gsa_box *box = &page->box[b];
        gsa_extent_add(&page->extent, box->x - box->w / 2, box->y - box->h / 2);
        gsa_extent_add(&page->extent, box->x + box->w / 2, box->y + box->h / 2);
    }
    if (page->style == GSA_STYLE_HEADS) page->extent.left -= 56;
    if (status == GSA_OK) gsa_measure_lines(page);
    return status;
}

static gsa_status lay_out(gsa_page *page, gsa_error *error)
{
    gsa_structure s;
    gsa_status status = check_focus(page, error);
    if (status == GSA_OK) status = gsa_page_colour(page, error);
    if (status == GSA_OK) status = make_boxes(page, 1, error);
    if (status == GSA_OK) status = gsa_page_lines(page, error);
    if (status == GSA_OK) status = gsa_page_structure(page, &s, error);
    if (status != GSA_OK) return status;
    page->style = gsa_page_style(page, &s);
    const int per_head = page->style == GSA_STYLE_HEADS && s.per_head;
    const int32_t heads = per_head ? count_heads(page) : 1;
    status = check_boxes(page, heads, error);
    if (status == GSA_OK && per_head) status = focus_on_head(page, &s, heads, error);
    return status == GSA_OK ? place_boxes(page, &s, error) : status;
}

/* ---- the sheet ----------------------------------------------------------------------------- */

/* Which layer it is where the file has several. */
static void draw_layers(const gsa_page *page)
{
    int32_t least = INT32_MAX, most = -1;
    for (int64_t e = 0; e < page->view->edges; e++) {
        const int32_t layer = page->view->edge[e].layer;
        if (layer < least) least = layer;
        if (layer > most) most = layer;
    }
    if (page->view->layers < 2 || most < 0) return;
    if (least == most) gsa_output_format(page->out, ", layer %d", most);
    else gsa_output_format(page->out, ", layers %d to %d together", least, most);
}

/* How wide the title is at most: bold letters of a wide font. */
static double title_width(const char *title)
{
    return 1.25 * gsa_text_width(title, 16);
}

/* The title, cut where it is wider than a page. */
static void fit_title(const gsa_page *page, char title[SHORT_TEXT])
{
    const char *whole = page->options->title ? page->options->title : page->view->spec;
    int most = SHORT_TEXT;
    do gsa_text_short(whole, most--, title);
    while (title_width(title) > MOST_TITLE);
}

static void draw_head(const gsa_page *page, const char *shown, double width, double height)
{
    const gsa_view *view = page->view;
    const char *title = page->options->title ? page->options->title : view->spec;
    gsa_output_format(page->out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
                      "xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"" FONT
                      "\" font-size=\"11.5\">\n<title>",
                      width, height, width, height);
    gsa_draw_text(page, title);
    gsa_output_text(page->out,
                    "</title>\n<style>.nodes text{font-size:12px;text-anchor:middle;fill:" INK
                    ";stroke:none}"
                    ".nodes .tiny{font-size:9px;fill:" INK
                    ";stroke:#fff;stroke-width:3px;paint-order:stroke}.axis{font-size:10.5px;text-"
                    "anchor:end;fill:" FAINT "}"
                    ".tick{font-size:10.5px;text-anchor:middle;fill:" FAINT "}"
                    ".legend text{fill:" INK "}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    gsa_output_format(
        page->out,
        "<text x=\"%d\" y=\"30\" font-size=\"16\" font-weight=\"bold\" fill=\"" INK "\">", MARGIN);
    gsa_draw_text(page, shown);
    gsa_output_format(page->out, "</text>\n<text x=\"%d\" y=\"48\" fill=\"" FAINT "\">", MARGIN);
    if (view->length >= 0) gsa_output_format(page->out, "length %d, ", view->length);
    gsa_output_format(page->out, "%d node%s, %" PRId64 " edge%s", view->nodes,
                      view->nodes == 1 ? "" : "s", view->edges, view->edges == 1 ? "" : "s");
    draw_layers(page);
    gsa_output_text(page->out, "</text>\n");
}

static gsa_status draw_sheet(gsa_page *page, gsa_error *error)
{
    const gsa_extent x = page->extent;
    char title[SHORT_TEXT];
    fit_title(page, title);
    double inner = x.right - x.left > LEAST_WIDTH ? x.right - x.left : LEAST_WIDTH;
    if (title_width(title) > inner) inner = title_width(title);
    const double bottom = HEAD + 14 + (x.bottom - x.top) + 22,
                 legend = gsa_draw_legend(page, inner, bottom, 0);
    draw_head(page, title, inner + 2 * MARGIN, bottom + legend + 14);
    gsa_output_format(page->out, "<g transform=\"translate(%.1f %.1f)\">\n",
                      MARGIN + (inner - (x.right - x.left)) / 2 - x.left, HEAD + 14 - x.top);
    gsa_status status = GSA_OK;
    if (page->style == GSA_STYLE_MATRIX) status = gsa_draw_matrix(page, error);
    else {
        gsa_draw_lines(page);
        gsa_draw_boxes(page);
    }
    gsa_output_format(page->out, "</g>\n<g transform=\"translate(%d 0)\">\n", MARGIN);
    gsa_draw_legend(page, inner, bottom, 1);
    gsa_output_text(page->out, "</g>\n</svg>\n");
    return status;
}

gsa_status gsa_view_draw(const gsa_view *view, const gsa_drawing_options *options,
                         gsa_output *output, gsa_error *error)
{
    gsa_page page = { .view = view,
                      .system = view->system,
                      .options = options,
                      .focus = options->focus,
                      .focus_head = -1 };
    gsa_status status = lay_out(&page, error);
    page.out = output;
    if (status == GSA_OK) status = draw_sheet(&page, error);
    gsa_release(page.system, page.kind);
    gsa_release(page.system, page.box);
    gsa_release(page.system, page.line);
    gsa_release(page.system, page.category);
    return status;
}
