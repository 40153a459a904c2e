/* boxes.c - nodes as pills, circles and bars with their text. */
#include <math.h>
#include "graph/inspect/draw.h"

int32_t gsa_page_heads(const gsa_page *page)
{
    return page->view->nodes > 0 ? page->boxes / page->view->nodes : 1;
}

const char *gsa_kind_fill(int32_t kind)
{
    static const char *const fills[] = { "#ffffff", "#fdf0d5", "#e3eefa",
                                         "#e2f3ea", "#f8e6f0", "#ececef" };
    return fills[kind % (int)(sizeof fills / sizeof *fills)];
}

static void draw_text_at(const gsa_page *page, const gsa_box *box)
{
    if (!box->text[0]) return;
    const double away =
        sqrt((box->x - page->cx) * (box->x - page->cx) + (box->y - page->cy) * (box->y - page->cy));
    if (box->dot && page->style == GSA_STYLE_CIRCLE && away > 0) /* its number is further out */
        gsa_output_format(page->out, "<text class=\"tiny\" x=\"%.1f\" y=\"%.1f\">",
                          box->x + 14 * (box->x - page->cx) / away,
                          box->y + 14 * (box->y - page->cy) / away + 3);
    else if (box->dot) /* its number hangs below it */
        gsa_output_format(page->out, "<text class=\"tiny\" x=\"%.1f\" y=\"%.1f\">", box->x,
                          box->y + 14);
    else if (box->upright)
        gsa_output_format(page->out, "<text transform=\"translate(%.1f %.1f)rotate(-90)\">",
                          box->x + 4, box->y);
    else gsa_output_format(page->out, "<text x=\"%.1f\" y=\"%.1f\">", box->x, box->y + 4.2);
    gsa_draw_text(page, box->text);
    gsa_output_text(page->out, "</text>\n");
}

static void draw_box(const gsa_page *page, const gsa_box *box, const char *fill)
{
    const double w = box->w, h = box->h, small = w < h ? w : h,
                 round = small / 2 < 11 ? small / 2 : 11;
    gsa_output_format(
        page->out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" fill=\"%s\"/>\n",
        box->x - w / 2, box->y - h / 2, w, h, round, fill);
    draw_text_at(page, box);
}

/* The colour of a source's line into the focus, lightened by the sheet's opacity; NULL: no line
 * comes from it. */
static const char *source_colour(const gsa_page *page, int32_t box)
{
    int64_t first = 0, beyond = page->lines; /* lines ascend by `from` */
    while (first < beyond) {
        const int64_t middle = first + (beyond - first) / 2;
        if (page->line[middle].from < box) first = middle + 1;
        else beyond = middle;
    }
    if (first == page->lines || page->line[first].from != box) return NULL;
    return page->categories[page->line[first].category].colour;
}

static void draw_head_names(const gsa_page *page, int32_t heads)
{
    for (int32_t h = 0; h < heads; h++)
        gsa_output_format(page->out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">head %d</text>\n",
                          page->box[0].x - page->box[0].w / 2 - 10, page->box[h].y + 4, h);
}

void gsa_draw_boxes(const gsa_page *page)
{
    const int32_t heads = gsa_page_heads(page);
    gsa_output_text(page->out, "<g class=\"nodes\" stroke=\"" INK "\" stroke-width=\"1\">\n");
    for (int32_t b = 0; b < page->boxes; b++) {
        const gsa_box *box = &page->box[b];
        draw_box(page, box, gsa_kind_fill(page->view->node[b / heads].kind));
        const char *colour = page->style == GSA_STYLE_HEADS ? source_colour(page, b) : NULL;
        if (colour)
            gsa_output_format(
                page->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"11\" fill=\"%s\" "
                "fill-opacity=\"0.22\"/>\n",
                box->x - box->w / 2, box->y - box->h / 2, box->w, box->h, colour);
    }
    if (page->focus >= 0) {
        const gsa_box *box =
            &page->box[heads > 1 ? page->focus * heads + page->focus_head : page->focus];
        gsa_output_format(page->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"13\" "
                          "fill=\"none\" stroke-width=\"2.4\"/>\n",
                          box->x - box->w / 2 - 2, box->y - box->h / 2 - 2, box->w + 4, box->h + 4);
    }
    gsa_output_text(page->out, "</g>\n");
    if (page->style == GSA_STYLE_HEADS && page->boxes > 0) draw_head_names(page, heads);
}
