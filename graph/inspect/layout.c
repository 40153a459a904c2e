/* layout.c - where boxes are: rows with spans above them, a circle, tokens by heads, igraph's
 * springs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/inspect/draw.h"
#include "graph/inspect/guard.h"

enum { TEXT_SIZE = 12, DOTS_FROM = 64, TOKEN_CHARACTERS = 18 };
static const double box_height = 22, row_gap = 130, lane_gap = 34, level_gap = 84,
                    pi = 3.14159265358979323846;

/* ---- what is in a box ------------------------------------------------------------------ */

/* 1 when the file had no better name for the node than "kind index". */
static int is_unnamed(const gsa_view *view, const gsa_view_node *node)
{
    char usual[512];
    const char *kind = strrchr(view->kinds.at[node->kind], '.');
    snprintf(usual, sizeof usual, "%s %d", kind ? kind + 1 : view->kinds.at[node->kind],
             node->index);
    return strcmp(usual, node->label) == 0;
}

static void span_text(const gsa_page *page, const gsa_view_node *node, char out[SHORT_TEXT])
{
    if (node->first == node->last) snprintf(out, SHORT_TEXT, "%d", node->first);
    else snprintf(out, SHORT_TEXT, "%d\xe2\x80\x93%d", node->first, node->last);
    (void)page;
}

/* 1 when the tokens that the bar covers are words, and not characters: some is longer than one. */
static int covers_words(const gsa_page *page, const gsa_view_node *bar)
{
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_view_node *token = &page->view->node[v];
        int characters = 0;
        if (token->kind != page->kind[bar->kind].base || token->index < bar->first ||
            token->index > bar->last)
            continue;
        for (const char *at = token->label; *at; at++) characters += (*at & 0xC0) != 0x80;
        if (characters > 1) return 1;
    }
    return 0;
}

/* "北京" for a bar above 北 and 京, "very good" above words: what it covers, where tokens have
 * texts. */
static void covered_text(const gsa_page *page, const gsa_view_node *bar, char out[SHORT_TEXT])
{
    const int32_t tokens = page->kind[bar->kind].base;
    const int words = covers_words(page, bar);
    char whole[4 * SHORT_TEXT] = "";
    size_t used = 0;
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_view_node *token = &page->view->node[v];
        if (token->kind != tokens || token->index < bar->first || token->index > bar->last)
            continue;
        if (!*token->label || is_unnamed(page->view, token) ||
            used + strlen(token->label) + 2 > sizeof whole) {
            span_text(page, bar, out);
            return;
        }
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%s",
                                 words && used ? " " : "", token->label);
    }
    gsa_text_short(whole, TOKEN_CHARACTERS, out);
}

static void fit(gsa_box *box)
{
    box->w = gsa_text_width(box->text, TEXT_SIZE) + 12, box->h = box_height;
    if (box->w < box_height) box->w = box_height;
}

static void label_boxes(gsa_page *page, const gsa_structure *s)
{
    const gsa_view *view = page->view;
    const int32_t heads = gsa_page_heads(page);
    for (int32_t b = 0; b < page->boxes; b++) {
        const gsa_view_node *node = &view->node[b / heads];
        gsa_box *box = &page->box[b];
        if (gsa_covers_all(page, b / heads) && s->hubs > 0 && !s->levels)
            gsa_text_short(view->kinds.at[node->kind], 24, box->text);
        else if (gsa_is_placed(view, b / heads) && page->style == GSA_STYLE_TREE)
            span_text(page, node, box->text);
        else if (gsa_is_placed(view, b / heads)) covered_text(page, node, box->text);
        else if (is_unnamed(view, node)) snprintf(box->text, sizeof box->text, "%d", node->index);
        else gsa_text_short(node->label, TOKEN_CHARACTERS, box->text);
        fit(box);
    }
}

/* A dot of this size, every tenth with its number. */
static void make_dot(gsa_box *box, int32_t index, double size)
{
    if (index % 10 != 0) box->text[0] = 0;
    box->dot = 1, box->w = box->h = size;
}

/* Boxes too wide to be in a row are turned; very many become dots, every tenth with its number.
 * Returns the pitch. */
static double set_pitch(gsa_page *page, const gsa_structure *s)
{
    double widest = 0;
    for (int32_t b = 0; b < page->boxes; b++)
        if (page->box[b].row >= 0 && page->box[b].w > widest) widest = page->box[b].w;
    const int dots = s->last >= DOTS_FROM;
    const double pitch = fmax(5, fmin(16, (double)MOST_WIDTH / (s->last + 1)));
    const int turned = !dots && widest > 76 && s->last >= 8;
    for (int32_t b = 0; b < page->boxes && (dots || turned); b++) {
        gsa_box *box = &page->box[b];
        if (box->row < 0) continue;
        if (dots) make_dot(box, page->view->node[b].index, pitch / 2);
        else box->upright = 1, box->h = box->w, box->w = box_height;
    }
    return dots ? pitch : turned ? box_height + 10 : widest + (widest > 40 ? 10 : 12);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The row of each kind without places: the sequence is row 0, those of other stacks follow, then
 * what is no sequence. */
static void set_rows(gsa_page *page, const gsa_structure *s)
{
    const gsa_view *view = page->view;
    int32_t next = 1;
    for (int other = 0; other < 2; other++)
        for (int32_t v = 0; v < view->nodes; v++) {
            gsa_kind_place *kind = &page->kind[view->node[v].kind];
            if (kind->row < 0 && !gsa_is_placed(view, v) &&
                (kind->base != view->node[v].kind) == other)
                kind->row = view->node[v].kind == s->primary ? 0 : next++;
        }
    for (int32_t v = 0; v < view->nodes; v++)
        page->box[v].row = gsa_is_placed(view, v) ? -1 : page->kind[view->node[v].kind].row;
}

typedef struct lane_order {
    int32_t node, base, first, last;
} lane_order;

static int by_length(const void *a, const void *b)
{
    const lane_order *x = a, *y = b;
    const int32_t dx = x->last - x->first, dy = y->last - y->first;
    if (dx != dy) return dx < dy ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* From the middle of the rows to the top of their tallest box; that of one line of text where all
 * are less. */
static double rows_reach(const gsa_page *page)
{
    double tallest = box_height;
    for (int32_t v = 0; v < page->view->nodes; v++)
        if (page->box[v].row >= 0 && page->box[v].h > tallest) tallest = page->box[v].h;
    return 0.5 * tallest;
}

/* The text of a bar is cut to its width. */
static void fit_text(gsa_box *box)
{
    char whole[SHORT_TEXT];
    memcpy(whole, box->text, sizeof whole);
    for (int most = TOKEN_CHARACTERS; most > 1 && gsa_text_width(box->text, TEXT_SIZE) > box->w - 6;
         most--)
        gsa_text_short(whole, most, box->text);
}

/* Bars: short ones lowest, each in the lowest lane where it is alone. */
static gsa_status set_lanes(gsa_page *page, double pitch, gsa_error *error)
{
    const gsa_view *view = page->view;
    int32_t n = 0;
    lane_order *bars =
        gsa_alloc(page->system, (size_t)view->nodes, sizeof *bars + 2 * sizeof(int32_t));
    if (!bars) return gsa_out_of_memory(error, "bars", view->nodes * (int64_t)sizeof *bars);
    int32_t *lane = (int32_t *)(bars + view->nodes), *taken = lane + view->nodes;
    const double lowest = rows_reach(page) + 63;
    for (int32_t v = 0; v < view->nodes; v++)
        if (page->box[v].row < 0)
            bars[n++] = (lane_order){ v, page->kind[view->node[v].kind].base, view->node[v].first,
                                      view->node[v].last };
    qsort(bars, (size_t)n, sizeof *bars, by_length);
    for (int32_t i = 0; i < n; i++) {
        taken[i] = -1; /* taken[a lane]: the last bar that cannot lie there */
        for (int32_t j = 0; j < i; j++)
            if (bars[j].base == bars[i].base && bars[j].first <= bars[i].last &&
                bars[i].first <= bars[j].last)
                taken[lane[j]] = i;
        for (lane[i] = 0; taken[lane[i]] == i;) lane[i]++;
        gsa_box *box = &page->box[bars[i].node];
        const double narrow = box_height + (bars[i].last - bars[i].first) * pitch;
        box->x = 0.5 * (bars[i].first + bars[i].last) * pitch;
        box->y = -lowest - lane_gap * lane[i];
        box->w = narrow > box->w || bars[i].last > bars[i].first ? narrow : box->w;
        fit_text(box);
    }
    gsa_release(page->system, bars);
    return GSA_OK;
}

static void set_levels(gsa_page *page, double pitch)
{
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_view_node *node = &page->view->node[v];
        if (page->box[v].row >= 0) continue;
        page->box[v].x = 0.5 * (node->first + node->last) * pitch;
        page->box[v].y = -26 - level_gap * (node->level < 1 ? 1 : node->level);
    }
}

/* That which the node stands for; NULL: no kind of the file is a sequence. */
static const gsa_kind_place *base_of(const gsa_page *page, int32_t node)
{
    const int32_t base = page->kind[page->view->node[node].kind].base;
    return base < 0 ? NULL : &page->kind[base];
}

/* How far what stands for a row's tokens reaches from it. */
static double reach_of(const gsa_page *page, int32_t row)
{
    double reach = 0;
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_kind_place *base = base_of(page, v);
        if (page->box[v].row < 0 && base && base->row == row && -page->box[v].y > reach)
            reach = -page->box[v].y;
    }
    return reach;
}

/* The place of one row and of what stands for its tokens. */
static void stand_row(gsa_page *page, const gsa_structure *s, int32_t row, double y, double pitch)
{
    for (int32_t v = 0; v < page->view->nodes; v++) {
        const gsa_kind_place *kind = &page->kind[page->view->node[v].kind],
                             *base = base_of(page, v);
        gsa_box *box = &page->box[v];
        if (box->row >= 0 ? box->row != row : !base || base->row != row) continue;
        box->x += 0.5 * (s->last - (box->row < 0 ? base : kind)->last) * pitch;
        box->y = y - box->y;
    }
}

/* Rows below each other, their middles under that of the sequence. Spans are above the sequence,
 * those of another stack hang below its row, and the first stack's other rows are over its spans:
 * what joins two sequences lies between them. */
static void stand_rows(gsa_page *page, const gsa_structure *s, double pitch)
{
    double below = 0, above = -reach_of(page, 0), hanging = 0;
    for (int32_t row = 1; row < s->rows; row++) {
        int32_t k = 0;
        while (page->kind[k].row != row) k++;
        const int up = s->stacks > 1 && page->kind[k].base == s->primary;
        if (up) above -= 0.6 * row_gap;
        else below += row_gap + hanging, hanging = reach_of(page, row);
        stand_row(page, s, row, up ? above : below, pitch);
    }
}

gsa_status gsa_layout_rows(gsa_page *page, const gsa_structure *s, gsa_error *error)
{
    set_rows(page, s);
    label_boxes(page, s);
    for (int32_t v = 0; v < page->view->nodes && page->style == GSA_STYLE_BIPARTITE; v++)
        if (page->box[v].row >= 0 && page->box[v].w < 34)
            page->box[v].w = 34; /* room for lines up and down, side by side */
    const double pitch = set_pitch(page, s);
    const int above = s->spans + s->hubs > 0;
    double widest_arc = 0;
    for (int32_t v = 0; v < page->view->nodes; v++)
        page->box[v].x = page->view->node[v].index * pitch;
    page->arcs = above && s->rows == 1 ? -1 : above || s->rows > 1 ? 1 : 0;
    for (int64_t i = 0; i < page->lines; i++) {
        const gsa_box *a = &page->box[page->line[i].from], *b = &page->box[page->line[i].to];
        if (a->row >= 0 && a->row == b->row && fabs(a->x - b->x) > widest_arc)
            widest_arc = fabs(a->x - b->x);
    }
    const double highest = page->arcs == 0 ? 230 : page->arcs > 0 && above ? 44 : 120;
    page->flat = widest_arc > 2 * highest ? 2 * highest / widest_arc : 0.9;
    page->reading =
        page->arcs == 0
            ? "Arcs above the row carry messages to the right, arcs below it to the left."
            : "";
    if (page->style == GSA_STYLE_TREE) {
        set_levels(page, pitch);
        page->reading = "Broad grey lines: what a span is made of.";
    } else if (set_lanes(page, pitch, error) != GSA_OK) return GSA_ERR_MEMORY;
    stand_rows(page, s, pitch);
    return GSA_OK;
}

/* ---- circle -------------------------------------------------------------------------------- */

void gsa_layout_circle(gsa_page *page, const gsa_structure *s)
{
    const gsa_view *view = page->view;
    int32_t n = s->last < 0 ? 1 : s->last + 1;
    double widest = box_height, hub = 0;
    set_rows(page, s);
    label_boxes(page, s);
    for (int32_t k = 0; k < view->kinds.count; k++) /* a memory may be longer than the sequence */
        if (page->kind[k].row >= 0 && page->kind[k].last >= n) n = page->kind[k].last + 1;
    for (int32_t v = 0; v < view->nodes; v++)
        if (page->box[v].row == 0 && page->box[v].w > widest) widest = page->box[v].w;
    const int dots = n > DOTS_FROM;
    const double gap =
        fmax(5, fmin(16, 0.5 * pi * MOST_WIDTH / n)); /* on a circle half as wide as a row */
    for (int32_t v = 0; v < view->nodes && dots; v++)
        if (page->box[v].row >= 0) make_dot(&page->box[v], view->node[v].index, gap / 2);
    if (dots) widest = gap / 2;
    const double around = n * (dots ? gap : widest + 20) / (2 * pi),
                 radius = around > 130 ? around : 130;
    for (int32_t v = 0; v < view->nodes; v++) {
        gsa_box *box = &page->box[v];
        const double angle = 2 * pi * view->node[v].index / n - pi / 2;
        const double r = radius + (widest + 44) * (box->row > 0 ? box->row : 0);
        if (box->row >= 0) box->x = r * cos(angle), box->y = r * sin(angle);
        else if (!gsa_covers_all(page, v)) {
            const double middle = pi * (view->node[v].first + view->node[v].last) / n - pi / 2;
            box->x = 0.55 * radius * cos(middle), box->y = 0.55 * radius * sin(middle);
        } else if (s->hubs > 1)
            box->x = 40 * cos(2 * pi * hub / s->hubs), box->y = 40 * sin(2 * pi * hub / s->hubs),
            hub++;
    }
    page->reading =
        s->rows > 1 ? "Constant sources are outside, what covers all tokens in the centre." : "";
    page->tilt = s->rows > 1 ? 0.75 : 0;
}

/* ---- tokens by heads ----------------------------------------------------------------------- */

void gsa_layout_heads(gsa_page *page, const gsa_structure *s)
{
    const int32_t heads = gsa_page_heads(page);
    double widest = box_height;
    label_boxes(page, s);
    for (int32_t b = 0; b < page->boxes; b++)
        if (page->box[b].w > widest) widest = page->box[b].w;
    const double pitch =
        widest + (page->view->weighted ? 26 : 12); /* wide lines have larger arrows */
    for (int32_t b = 0; b < page->boxes; b++) {
        gsa_box *box = &page->box[b];
        box->row = -1, box->w = widest;
        box->x = (b / heads + page->view->node[b / heads].kind) * pitch; /* a gap between kinds */
        box->y = (b % heads) * (box_height + 26);
    }
    page->reading = "A row is a head. Only the edges into one (token, head) are drawn.";
}

/* ---- springs ------------------------------------------------------------------------------- */

static igraph_error_t springs(const gsa_page *page, igraph_matrix_t *places)
{
    igraph_vector_int_t ends;
    igraph_t graph;
    igraph_error_t code = igraph_vector_int_init(&ends, 2 * page->lines);
    if (code != IGRAPH_SUCCESS) return code;
    for (int64_t i = 0; i < page->lines; i++)
        VECTOR(ends)[2 * i] = page->line[i].from, VECTOR(ends)[2 * i + 1] = page->line[i].to;
    code = igraph_create(&graph, &ends, page->view->nodes, 0);
    igraph_vector_int_destroy(&ends);
    if (code != IGRAPH_SUCCESS) return code;
    igraph_rng_seed(igraph_rng_default(), 1);
    code = igraph_layout_fruchterman_reingold(&graph, places, 0, 500, sqrt(page->view->nodes),
                                              IGRAPH_LAYOUT_NOGRID, NULL, NULL, NULL, NULL, NULL);
    igraph_destroy(&graph);
    return code;
}

/* Boxes that lie on each other move apart, along the axis where less is needed. */
static void part_boxes(gsa_page *page)
{
    enum { ROUNDS = 60 };
    const double gap = 4;
    int moved = 1;
    for (int round = 0; round < ROUNDS && moved; round++) {
        moved = 0;
        for (int32_t i = 0; i < page->boxes; i++)
            for (int32_t j = 0; j < i; j++) {
                gsa_box *a = &page->box[j], *b = &page->box[i];
                const double dx = b->x - a->x, dy = b->y - a->y;
                const double x = 0.5 * (a->w + b->w) + gap - fabs(dx),
                             y = 0.5 * (a->h + b->h) + gap - fabs(dy);
                if (x <= 0 || y <= 0) continue;
                const double mx = x < y ? (dx < 0 ? -x : x) / 2 : 0,
                             my = x < y ? 0 : (dy < 0 ? -y : y) / 2;
                a->x -= mx, a->y -= my, b->x += mx, b->y += my;
                moved = 1;
            }
    }
}

gsa_status gsa_layout_force(gsa_page *page, const gsa_structure *s, gsa_error *error)
{
    gsa_igraph_guard guard;
    igraph_matrix_t places;
    gsa_status status = gsa_igraph_enter(&guard, error);
    if (status != GSA_OK) return status;
    igraph_error_t code = igraph_matrix_init(&places, 0, 0);
    if (code == IGRAPH_SUCCESS) {
        code = springs(page, &places);
        label_boxes(page, s);
        for (int32_t v = 0; v < page->view->nodes && code == IGRAPH_SUCCESS; v++) {
            gsa_box *box = &page->box[v];
            box->x = 58 * MATRIX(places, v, 0), box->y = 58 * MATRIX(places, v, 1), box->row = -1;
            if (page->view->nodes > DOTS_FROM) box->text[0] = 0, box->w = box->h = 9, box->dot = 1;
        }
        part_boxes(page);
        igraph_matrix_destroy(&places);
    }
    if (code != IGRAPH_SUCCESS)
        status = gsa_igraph_failed(code, GSA_ERR_UNSUPPORTED, "layout", error);
    gsa_igraph_leave(&guard);
    return status;
}
