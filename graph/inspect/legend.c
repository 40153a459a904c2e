/* legend.c - what colours, shapes and directions mean, in lines as wide as the picture. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/inspect/draw.h"

static const double line_height = 19, size = 11.5, swatch = 30, between = 22;

typedef struct flow { /* where the next item goes */
    double x, y, width;
    int write;
} flow;

static void make_room(flow *f, double wide)
{
    if (f->x > 0 && f->x + wide > f->width) f->x = 0, f->y += line_height;
}

static void end_line(flow *f)
{
    if (f->x > 0) f->x = 0, f->y += line_height;
}

static void put_text(const gsa_page *page, const flow *f, double x, const char *text)
{
    gsa_output_format(page->out, "<text x=\"%.1f\" y=\"%.1f\">", x, f->y + 4);
    gsa_draw_text(page, text);
    gsa_output_text(page->out, "</text>\n");
}

/* "adjacent (6)"; where one node's edges alone are drawn "adjacent (2 of 6)". */
static void name_category(const gsa_page *page, int c, char *text, size_t room)
{
    const gsa_category *category = &page->categories[c];
    int64_t drawn = 0;
    for (int64_t i = 0; i < page->lines; i++)
        if (page->line[i].category == c) drawn += page->line[i].edges;
    if (drawn < category->edges)
        snprintf(text, room, "%s (%" PRId64 " of %" PRId64 ")", category->name, drawn,
                 category->edges);
    else snprintf(text, room, "%s (%" PRId64 ")", category->name, drawn);
}

static void put_category(const gsa_page *page, flow *f, int c)
{
    char text[2 * SHORT_TEXT];
    const gsa_category *category = &page->categories[c];
    name_category(page, c, text, sizeof text);
    const double wide = swatch + gsa_text_width(text, size);
    make_room(f, wide);
    if (f->write && page->style == GSA_STYLE_MATRIX)
        gsa_output_format(page->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" fill=\"%s\"/>\n",
                          f->x + 9, f->y - 6, category->colour);
    else if (f->write)
        gsa_output_format(page->out,
                          "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"2.4\"/>\n", f->x,
                          f->y, category->colour);
    if (f->write) put_text(page, f, f->x + swatch, text);
    f->x += wide + between;
}

static void put_kind(const gsa_page *page, flow *f, int32_t kind)
{
    char text[2 * SHORT_TEXT], name[SHORT_TEXT];
    int32_t nodes = 0;
    for (int32_t v = 0; v < page->view->nodes; v++) nodes += page->view->node[v].kind == kind;
    if (nodes == 0) return;
    gsa_text_short(page->view->kinds.at[kind], 28, name);
    snprintf(text, sizeof text, "%s (%" PRId32 ")", name, nodes);
    const double wide = swatch + gsa_text_width(text, size);
    make_room(f, wide);
    if (f->write) {
        gsa_output_format(page->out,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"12\" rx=\"6\" "
                          "fill=\"%s\" stroke=\"" INK "\"/>\n",
                          f->x + 1, f->y - 6, gsa_kind_fill(kind));
        put_text(page, f, f->x + swatch, text);
    }
    f->x += wide + between;
}

/* A sentence, broken between words. */
static void put_sentence(const gsa_page *page, flow *f, const char *text)
{
    char line[512] = "";
    size_t used = 0;
    end_line(f);
    while (*text) {
        const int word = (int)strcspn(text, " ");
        char longer[640];
        snprintf(longer, sizeof longer, "%s%s%.*s", line, used ? " " : "", word, text);
        if (used && (gsa_text_width(longer, size) > f->width || strlen(longer) >= sizeof line)) {
            if (f->write) put_text(page, f, 0, line);
            f->y += line_height - 3;
            snprintf(longer, sizeof longer, "%.*s", word, text);
        }
        used = (size_t)snprintf(line, sizeof line, "%s", longer);
        text += word + (text[word] == ' ');
    }
    if (f->write && used) put_text(page, f, 0, line);
    if (used) f->y += line_height - 3;
}

static void put_facts(const gsa_page *page, flow *f)
{
    char text[512];
    const char *reading = page->reading ? page->reading : "";
    snprintf(text, sizeof text, "%s%s%s", reading, *reading ? " " : "",
             gsa_has_arrows(page) ? "An arrow ends at the node that reads." : "");
    put_sentence(page, f, text);
    if (page->view->weighted && page->heaviest > 0) {
        snprintf(text, sizeof text, "%s: weight, 0 to %.3g.",
                 page->style == GSA_STYLE_MATRIX ? "Darkness" : "Width and darkness of a line",
                 page->heaviest);
        put_sentence(page, f, text);
    }
    if (page->focus >= 0 && page->style != GSA_STYLE_HEADS) {
        snprintf(text, sizeof text, "Only edges into node %d are drawn.", page->focus);
        put_sentence(page, f, text);
    }
}

double gsa_draw_legend(const gsa_page *page, double width, double top, int write)
{
    flow f = { 0, top + 6, width, write };
    if (write) gsa_output_text(page->out, "<g class=\"legend\">\n");
    for (int c = 0; c < page->n_categories; c++) put_category(page, &f, c);
    end_line(&f);
    for (int32_t k = 0; k < page->view->kinds.count && page->view->kinds.count <= 24; k++)
        put_kind(page, &f, k);
    end_line(&f);
    put_facts(page, &f);
    if (write) gsa_output_text(page->out, "</g>\n");
    return f.y - top;
}
