/* lines.c - the way a line takes between two boxes, and its ink. */
#include <math.h>
#include "graph/inspect/draw.h"

enum { ARROWS_UP_TO = 900, BESIDE = 4 };

typedef struct route { /* a path: from (x0, y0) to (x1, y1) */
    int sort;          /* ARC, QUADRATIC, CUBIC */
    double x0, y0, x1, y1;
    double ax, ay, bx, by; /* radii of an arc, control points of a curve */
} route;
enum { ARC, QUADRATIC, CUBIC };

/* Where the way from the box's centre towards (x, y) leaves the box. */
static void leave(const gsa_box *box, double x, double y, double gap, double *out_x, double *out_y)
{
    const double dx = x - box->x, dy = y - box->y, w = 0.5 * box->w + gap, h = 0.5 * box->h + gap;
    const double side = fabs(dx) > 0 ? w / fabs(dx) : INFINITY,
                 top = fabs(dy) > 0 ? h / fabs(dy) : INFINITY;
    double t = side < top ? side : top;
    const double length = sqrt(dx * dx + dy * dy), round = 0.5 * box->h + gap;
    if (box->w <= box->h + 2 && length > 0) t = round / length; /* a circle */
    if (!(t < 1)) t = 0;                                        /* the point is inside the box */
    *out_x = box->x + t * dx, *out_y = box->y + t * dy;
}

/* How far before the box a line ends: the rest is the arrow's tip. */
static double tip_of(const gsa_page *page)
{
    return page->view->weighted && gsa_has_arrows(page) ? 5 : 1;
}

/* What stays in a row lies above it or below it. */
static int hangs_below(const gsa_page *page, const gsa_box *box)
{
    return page->arcs < 0 ? box->row >= 0 : page->arcs > 0 && box->row > 0;
}

/* A loop outside the box: away from the centre of a circle, else up (down where arcs hang
 * below). */
static route loop_of(const gsa_page *page, const gsa_line *line, const gsa_box *a)
{
    const double away =
        sqrt((a->x - page->cx) * (a->x - page->cx) + (a->y - page->cy) * (a->y - page->cy));
    const int round = page->style == GSA_STYLE_CIRCLE && away > 60;
    const double turn = round ? page->tilt : 0, ux0 = round ? (a->x - page->cx) / away : 0;
    const double uy0 = round ? (a->y - page->cy) / away : hangs_below(page, a) ? 1 : -1;
    const double ux = ux0 * cos(turn) - uy0 * sin(turn), uy = ux0 * sin(turn) + uy0 * cos(turn);
    const double dot = a->dot ? 0.5 : 1, reach = dot * (20 + 9 * line->lane), half = dot * 5,
                 px = -uy, py = ux;
    double bx, by;
    leave(a, a->x + 100 * ux, a->y + 100 * uy, 0, &bx, &by);
    return (route){ CUBIC,
                    bx - px * half,
                    by - py * half,
                    bx + px * half,
                    by + py * half,
                    bx - px * (half + 8 * dot) + ux * reach,
                    by - py * (half + 8 * dot) + uy * reach,
                    bx + px * (half + 8 * dot) + ux * reach,
                    by + py * (half + 8 * dot) + uy * reach };
}

/* Leaves and ends next to the middle of the boxes, so that what comes from the left and from the
 * right does not meet. */
static route arc_of(const gsa_page *page, const gsa_line *line, const gsa_box *a, const gsa_box *b)
{
    const int right = b->x > a->x, above = page->arcs == 0 ? right : !hangs_below(page, a);
    const double side = above ? -1 : 1, aside = right ? 0.2 : -0.2;
    route r = { .sort = ARC };
    r.x0 = a->x + aside * a->w, r.x1 = b->x - aside * b->w;
    r.y0 = a->y + side * (0.5 * a->h), r.y1 = b->y + side * (0.5 * b->h + tip_of(page));
    r.ax = 0.5 * fabs(r.x1 - r.x0);
    r.ay = r.ax * page->flat * (page->arcs != 0 && right ? 0.86 : 1) + 4 * line->lane + 4;
    r.bx = right == above; /* clockwise */
    return r;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The place of a box nearest to x. */
static double inside(const gsa_box *box, double x)
{
    return clamp(x, box->x - 0.5 * box->w, box->x + 0.5 * box->w);
}

/* Where a line that goes up or down meets a wide bar: straight above or below the other end, a lane
 * a colour. */
static double meet(const gsa_page *page, const gsa_line *line, const gsa_box *bar, double x)
{
    const double lanes = page->n_categories - 1,
                 pitch = lanes > 0 ? (lanes < 4 ? 7 : 26 / lanes) : 0;
    const double beside = (line->category - 0.5 * lanes) * pitch, half = 0.5 * bar->w - 3;
    return clamp(x + beside, bar->x - half, bar->x + half);
}

static route cubic_of(const gsa_page *page, const gsa_line *line, const gsa_box *a,
                      const gsa_box *b)
{
    const double down = b->y > a->y ? 1 : -1;
    const int beside = a->row >= 0 && b->row >= 0 && page->view->directed && page->up &&
                       page->down; /* two ways, side by side */
    route r = { .sort = CUBIC,
                .x0 = a->x + beside * down * BESIDE,
                .x1 = b->x + beside * down * BESIDE };
    const int bars = page->style != GSA_STYLE_TREE;
    if (bars && a->row < 0) r.x0 = meet(page, line, a, b->x), r.x1 = inside(b, r.x0);
    else if (bars && b->row < 0) r.x1 = meet(page, line, b, a->x), r.x0 = inside(a, r.x1);
    if (fabs(b->y - a->y) <
        1) { /* spans of one level; the two ways between wide bars do not meet */
        const int right = b->x > a->x;
        if (bars)
            r.x0 = a->x + (right ? 0.2 : -0.2) * a->w, r.x1 = b->x - (right ? 0.2 : -0.2) * b->w;
        r.y0 = a->y - 0.5 * a->h, r.y1 = b->y - 0.5 * b->h;
        r.ay = r.by = r.y0 - (bars && !right ? 0.28 : 0.35) * fabs(r.x1 - r.x0), r.ax = r.x0,
        r.bx = r.x1;
        return r;
    }
    r.y0 = a->y + down * 0.5 * a->h, r.y1 = b->y - down * (0.5 * b->h + tip_of(page));
    r.ax = r.x0, r.bx = r.x1;
    r.ay = r.y0 + 0.45 * (r.y1 - r.y0), r.by = r.y1 - 0.45 * (r.y1 - r.y0);
    return r;
}

/* Bent to its right, so that the two directions lie side by side, and a little towards the centre
 * of a circle. */
static route chord_of(const gsa_page *page, const gsa_line *line, const gsa_box *a,
                      const gsa_box *b)
{
    const double dx = b->x - a->x, dy = b->y - a->y, length = sqrt(dx * dx + dy * dy);
    const double bend = !page->view->directed            ? 0.02
                        : page->style != GSA_STYLE_HEADS ? 0.09
                        : fabs(dy) < 1                   ? 0.3
                                                         : 0.16;
    const double radius =
        sqrt((a->x - page->cx) * (a->x - page->cx) + (a->y - page->cy) * (a->y - page->cy));
    const double pull =
        page->style == GSA_STYLE_CIRCLE && radius > 0 ? fmin(0.12, 0.12 * length / radius) : 0;
    const double more = length > 0 ? 1 + 10 * line->lane / (0.09 * length + 1) : 1;
    const double mx = 0.5 * (a->x + b->x), my = 0.5 * (a->y + b->y);
    route r = { .sort = QUADRATIC };
    r.ax = mx + pull * (page->cx - mx) + bend * more * dy,
    r.ay = my + pull * (page->cy - my) - bend * more * dx;
    leave(a, r.ax, r.ay, 0, &r.x0, &r.y0);
    leave(b, r.ax, r.ay, tip_of(page), &r.x1, &r.y1);
    return r;
}

static route route_of(const gsa_page *page, const gsa_line *line)
{
    const gsa_box *a = &page->box[line->from], *b = &page->box[line->to];
    const int free = page->style == GSA_STYLE_CIRCLE || page->style == GSA_STYLE_FORCE ||
                     page->style == GSA_STYLE_HEADS;
    if (line->from == line->to) return loop_of(page, line, a);
    if (free) return chord_of(page, line, a, b);
    return a->row >= 0 && a->row == b->row ? arc_of(page, line, a, b) : cubic_of(page, line, a, b);
}

void gsa_measure_lines(gsa_page *page)
{
    gsa_extent *x = &page->extent;
    for (int64_t i = 0; i < page->lines; i++) {
        const gsa_box *a = &page->box[page->line[i].from], *b = &page->box[page->line[i].to];
        if (a->row >= 0 && b->row >= 0 && a->row != b->row)
            *(b->y > a->y ? &page->down : &page->up) = 1;
    }
    for (int64_t i = 0; i < page->lines; i++) {
        const route r = route_of(page, &page->line[i]);
        const int above = r.sort == ARC && r.bx == (r.x1 > r.x0);
        gsa_extent_add(x, r.x0, r.y0);
        gsa_extent_add(x, r.x1, r.y1);
        if (r.sort == ARC) gsa_extent_add(x, r.x0, above ? r.y0 - r.ay : r.y0 + r.ay);
        if (r.sort == CUBIC) { /* inside its control points; three quarters of the way to them */
            gsa_extent_add(x, r.x0 + 0.75 * (r.ax - r.x0), r.y0 + 0.75 * (r.ay - r.y0));
            gsa_extent_add(x, r.x1 + 0.75 * (r.bx - r.x1), r.y1 + 0.75 * (r.by - r.y1));
        }
        if (r.sort == QUADRATIC)
            gsa_extent_add(x, 0.5 * r.ax + 0.25 * (r.x0 + r.x1), 0.5 * r.ay + 0.25 * (r.y0 + r.y1));
    }
}

static void draw_route(const gsa_page *page, const gsa_line *line)
{
    const route r = route_of(page, line);
    gsa_output_format(page->out, "<path d=\"M%.1f %.1f", r.x0, r.y0);
    if (r.sort == ARC)
        gsa_output_format(page->out, "A%.1f %.1f 0 0 %d %.1f %.1f\"", r.ax, r.ay, r.bx > 0, r.x1,
                          r.y1);
    else if (r.sort == QUADRATIC)
        gsa_output_format(page->out, "Q%.1f %.1f %.1f %.1f\"", r.ax, r.ay, r.x1, r.y1);
    else
        gsa_output_format(page->out, "C%.1f %.1f %.1f %.1f %.1f %.1f\"", r.ax, r.ay, r.bx, r.by,
                          r.x1, r.y1);
    if (page->view->weighted && page->heaviest > 0) {
        const double share = line->weight < page->heaviest ? line->weight / page->heaviest : 1;
        gsa_output_format(page->out, " stroke-width=\"%.2f\" opacity=\"%.2f\"", 0.3 + 3.7 * share,
                          0.03 + 0.92 * share);
    }
    gsa_output_text(page->out, "/>\n");
}

/* Wide lines end after the tip, which they would blunt. */
static void draw_marker(const gsa_page *page, int c)
{
    const int wide = page->view->weighted;
    gsa_output_format(page->out,
                      "<marker id=\"a%d\" viewBox=\"0 0 8 8\" refX=\"%s\" refY=\"4\" "
                      "markerWidth=\"%s\" markerHeight=\"%s\" "
                      "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 .8L8 4L0 "
                      "7.2L1.6 4z\" fill=\"%s\"/></marker>\n",
                      c, wide ? "3.6" : "7", wide ? "9" : "7", wide ? "9" : "7",
                      page->categories[c].colour);
}

int gsa_has_arrows(const gsa_page *page)
{
    const int dots = page->boxes > 0 && page->style != GSA_STYLE_FORCE && page->box[0].dot;
    return page->view->directed && page->style != GSA_STYLE_MATRIX && page->lines > 0 &&
           page->lines <= ARROWS_UP_TO && !dots;
}

/* In a tree, what goes up to the spans is drawn fainter: it says little more than the tree. */
static int goes_up(const gsa_page *page, const gsa_line *line)
{
    return page->style == GSA_STYLE_TREE && page->box[line->from].row >= 0 &&
           page->box[line->to].row < 0;
}

static void draw_group(const gsa_page *page, int c, int up, double width, double opacity,
                       int arrows)
{
    int open = 0;
    for (int64_t i = 0; i < page->lines; i++) {
        if (page->line[i].category != c || goes_up(page, &page->line[i]) != up) continue;
        if (!open++) {
            gsa_output_format(page->out,
                              "<g stroke=\"%s\" stroke-width=\"%.1f\" stroke-opacity=\"%.2f\"",
                              page->categories[c].colour, width, up ? 0.45 * opacity : opacity);
            if (arrows) gsa_output_format(page->out, " marker-end=\"url(#a%d)\"", c);
            gsa_output_text(page->out, ">\n");
        }
        draw_route(page, &page->line[i]);
    }
    if (open) gsa_output_text(page->out, "</g>\n");
}

/* The smallest span above a node that holds it: its parent in the tree; -1: none. */
static int32_t parent_of(const gsa_page *page, int32_t node)
{
    const gsa_view_node *x = &page->view->node[node];
    const int32_t first = x->level < 0 ? x->index : x->first,
                  last = x->level < 0 ? x->index : x->last;
    int32_t best = -1;
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_view_node *y = &page->view->node[v];
        if (page->kind[y->kind].base != page->kind[x->kind].base) continue;
        if (page->box[v].row >= 0 || y->level <= x->level || y->level < 1 || y->first > first ||
            y->last < last)
            continue;
        if (best < 0 || y->level < page->view->node[best].level) best = v;
    }
    return best;
}

static void draw_scaffold(const gsa_page *page)
{
    gsa_output_text(page->out, "<path class=\"tree\" fill=\"none\" stroke=\"#e4e6ea\" "
                               "stroke-width=\"5\" stroke-linecap=\"round\" d=\"");
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const int32_t kind = page->view->node[v].kind;
        const int32_t up =
            page->box[v].row < 0 || page->kind[kind].base == kind ? parent_of(page, v) : -1;
        if (up >= 0)
            gsa_output_format(page->out, "M%.1f %.1fL%.1f %.1f", page->box[v].x, page->box[v].y,
                              page->box[up].x, page->box[up].y);
    }
    gsa_output_text(page->out, "\"/>\n");
}

void gsa_draw_lines(const gsa_page *page)
{
    const double n = (double)page->lines;
    const double opacity = page->view->weighted ? 1
                           : n < 80             ? 0.9
                           : n < 250            ? 0.72
                           : n < 900            ? 0.5
                                                : 0.32,
                 width = n < 80    ? 1.5
                         : n < 250 ? 1.2
                                   : 0.9;
    const int arrows = gsa_has_arrows(page);
    gsa_output_text(page->out, "<defs>\n");
    for (int c = 0; c < page->n_categories && arrows; c++) draw_marker(page, c);
    gsa_output_text(page->out, "</defs>\n");
    if (page->style == GSA_STYLE_TREE) draw_scaffold(page);
    gsa_output_text(page->out, "<g class=\"edges\" fill=\"none\">\n");
    for (int up = 1; up >= 0; up--)
        for (int c = 0; c < page->n_categories; c++)
            draw_group(page, c, up, width, opacity, arrows);
    gsa_output_text(page->out, "</g>\n");
}
