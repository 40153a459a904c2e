/* Pictures: well-formed, the same bytes each time, as many lines as edges, boxes apart, the style
 * that the structure requests. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "drawn.h"
#include "support/faults.h"
#include "support/suite.h"

static int64_t count_of(const char *text, const char *what)
{
    int64_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}

static void release(char *svg)
{
    gsa_release(gsa_system_default(), svg);
}

/* ---- every style of every pattern ---------------------------------------------------------- */

static const char *const specs[] = { "full:clip=2",    "ring",
                                     "window:width=5", "star",
                                     "bpt:k=1",        "head_area:width=3:heads=3",
                                     "longformer",     "bigbird",
                                     "cross",          "char_word:lexicon=LEXICON" };
static const int32_t lengths[] = { 0, 1, 2, 13 };

START_TEST(every_picture_is_well_formed_and_repeats)
{
    for (int l = 0; l < GSA_COUNT(lengths); l++) {
        drawn d = drawn_make(specs[_i], lengths[l], 1);
        for (int style = 0; style < GSA_STYLES; style++) {
            char *svg = drawn_svg(d.view, style, -1),
                 *again = l ? drawn_svg(d.view, style, -1) : NULL;
            ck_assert_msg(drawn_is_well_formed(svg), "%s, length %d, style %s", specs[_i],
                          lengths[l], gsa_style_names[style]);
            if (again) ck_assert_str_eq(svg, again);
            ck_assert_ptr_null(strstr(svg, "nan"));
            ck_assert_ptr_null(strstr(svg, "inf "));
            release(svg);
            release(again);
        }
        drawn_end(&d);
    }
}
END_TEST

START_TEST(the_structure_chooses_the_style)
{
    static const struct {
        const char *spec;
        int32_t length;
        int style;
    } choices[] = { { "star", 12, GSA_STYLE_CIRCLE },
                    { "ring", 12, GSA_STYLE_CIRCLE },
                    { "ring:cyclic=0", 12, GSA_STYLE_ARC },
                    { "window:width=5", 12, GSA_STYLE_ARC },
                    { "full", 10, GSA_STYLE_ARC },
                    { "longformer", 14, GSA_STYLE_ARC },
                    { "cross", 6, GSA_STYLE_ARC },
                    { "bpt:k=1", 16, GSA_STYLE_TREE },
                    { "char_word:lexicon=LEXICON", 20, GSA_STYLE_BIPARTITE },
                    { "head_area:width=3:heads=3", 9, GSA_STYLE_HEADS },
                    { "window:width=3", 500, GSA_STYLE_ARC },
                    { "window:width=3", 501, GSA_STYLE_MATRIX },
                    { "full", 64, GSA_STYLE_MATRIX } };
    for (int i = 0; i < GSA_COUNT(choices); i++) {
        drawn d = drawn_make(choices[i].spec, choices[i].length, 1);
        char *chosen = drawn_svg(d.view, GSA_STYLE_AUTO, -1),
             *named = drawn_svg(d.view, choices[i].style, -1);
        ck_assert_msg(strcmp(chosen, named) == 0, "%s, length %d is not drawn as %s",
                      choices[i].spec, choices[i].length, gsa_style_names[choices[i].style]);
        release(chosen);
        release(named);
        drawn_end(&d);
    }
}
END_TEST

/* ---- lines --------------------------------------------------------------------------------- */

static const struct {
    const char *spec;
    int32_t length;
    int style;
    int64_t lines;
} lines[] = {
    { "star", 12, GSA_STYLE_CIRCLE, 73 },        { "star", 12, GSA_STYLE_ARC, 73 },
    { "star", 1, GSA_STYLE_CIRCLE, 7 },          { "ring", 9, GSA_STYLE_CIRCLE, 27 },
    { "full", 10, GSA_STYLE_ARC, 100 },          { "full:clip=3", 10, GSA_STYLE_FORCE, 100 },
    { "window:width=5", 12, GSA_STYLE_ARC, 54 }, { "bpt:k=1", 16, GSA_STYLE_TREE, 178 },
    { "cross", 6, GSA_STYLE_ARC, 48 },           { "window:width=5", 100, GSA_STYLE_ARC, 494 }
};

START_TEST(there_is_a_line_for_every_edge)
{
    drawn d = drawn_make(lines[_i].spec, lines[_i].length, 0);
    char *svg = drawn_svg(d.view, lines[_i].style, -1), *edges = drawn_group(svg, "edges");
    ck_assert_int_eq(d.view->edges, lines[_i].lines);
    ck_assert_int_eq(count_of(edges, "<path "), lines[_i].lines);
    free(edges);
    release(svg);
    drawn_end(&d);
}
END_TEST

START_TEST(parallel_edges_of_one_colour_are_one_line)
{
    drawn d = drawn_make("head_area:width=3:heads=3", 5,
                         0); /* 3 heads: 9 edges between neighbours, 7 where a border is cut */
    char *svg = drawn_svg(d.view, GSA_STYLE_ARC, -1), *edges = drawn_group(svg, "edges");
    ck_assert_int_eq(d.view->edges, 13 * 7);
    ck_assert_int_eq(count_of(edges, "<path "),
                     13 * 3); /* a colour each for own head, head above, head below */
    free(edges);
    release(svg);
    drawn_end(&d);
}
END_TEST

START_TEST(parallel_edges_of_several_colours_lie_apart)
{
    drawn d = drawn_make("star", 1, 0); /* reads itself three times: left, self, right */
    char *svg = drawn_svg(d.view, GSA_STYLE_CIRCLE, -1), *edges = drawn_group(svg, "edges"),
         *seen[16];
    int n = 0;
    for (char *at = edges; (at = strstr(at, "<path d=\"")) && n < 16; at++) {
        seen[n] = strndup(at, strcspn(at, "/"));
        for (int i = 0; i < n; i++) ck_assert_str_ne(seen[i], seen[n]);
        n++;
    }
    ck_assert_int_eq(n, 7);
    for (int i = 0; i < n; i++) free(seen[i]);
    free(edges);
    release(svg);
    drawn_end(&d);
}
END_TEST

START_TEST(a_focus_draws_what_one_node_reads)
{
    drawn d = drawn_make("window:width=5", 12, 0);
    gsa_error error = { 0 };
    char *svg = drawn_svg(d.view, GSA_STYLE_ARC, 6), *edges = drawn_group(svg, "edges");
    ck_assert_int_eq(count_of(edges, "<path "), 5);
    ck_assert_ptr_nonnull(strstr(svg, "Only edges into node 6 are drawn."));
    ck_assert_ptr_nonnull(strstr(svg, "attend (5 of 54)"));
    free(edges);
    release(svg);
    const gsa_drawing_options options = { .focus = 12 };
    ck_assert_int_eq(gsa_view_draw(d.view, &options, NULL, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "node 12, the graph has 12 nodes"), "%s", error.text);
    drawn_end(&d);
}
END_TEST

/* ---- matrices: the strokes' lengths add up to the cells ------------------------------------ */

static int64_t cells_of(const char *svg)
{
    int64_t cells = 0;
    for (const char *path = svg; (path = strstr(path, "<path class=\"cells\"")); path++) {
        const char *d = strstr(path, " d=\"") + 4, *end = strchr(d, '"');
        for (const char *h = d; (h = strchr(h, 'h')) && h < end; h++) cells += atoll(h + 1);
    }
    return cells;
}

/* Every cell is where an edge is, and once. */
static void check_cells(const drawn *d, const char *svg)
{
    const int32_t n = d->view->nodes;
    char *cell = calloc((size_t)n * (size_t)n + 1, 1);
    for (const char *path = svg; (path = strstr(path, "<path class=\"cells\"")); path++) {
        int32_t x, length, used;
        double y;
        const char *at = strstr(path, " d=\"") + 4;
        for (; sscanf(at, "M%d %lfh%d%n", &x, &y, &length, &used) == 3; at += used)
            for (int32_t i = 0; i < length; i++)
                ck_assert_int_eq(cell[(int32_t)y * n + x + i]++, 0);
    }
    for (int64_t e = 0; e < d->view->edges; e++)
        cell[d->view->edge[e].to * n + d->view->edge[e].from] |= 2;
    for (int32_t i = 0; i < n * n; i++) ck_assert_int_eq(cell[i], cell[i] & 2 ? 3 : 0);
    free(cell);
}

START_TEST(a_matrix_has_a_cell_for_every_pair)
{
    static const struct {
        const char *spec;
        int32_t length;
        int64_t cells;
    } all[] = { { "window:width=3", 300, 898 },
                { "full", 60, 3600 },
                { "star", 12, 73 },
                { "bpt:k=1", 16, 178 },
                { "ring", 2, 4 } };
    for (int i = 0; i < GSA_COUNT(all); i++) {
        drawn d = drawn_make(all[i].spec, all[i].length, 0);
        char *svg = drawn_svg(d.view, GSA_STYLE_MATRIX, -1);
        ck_assert_int_eq(cells_of(svg), all[i].cells);
        check_cells(&d, svg);
        release(svg);
        drawn_end(&d);
    }
}
END_TEST

START_TEST(a_large_matrix_stays_small)
{
    gsa_view *v = drawn_large(4000, 64);
    char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1);
    ck_assert_int_gt(v->edges, 500000);
    ck_assert_uint_lt(strlen(svg), 60000);
    release(svg);
    gsa_view_release(v);
}
END_TEST

/* ---- boxes --------------------------------------------------------------------------------- */

typedef struct rect {
    double x, y, w, h;
} rect;

static int rects_of(const char *svg, rect *out, int most)
{
    char *nodes = drawn_group(svg, "nodes");
    int n = 0;
    for (const char *at = nodes; (at = strstr(at, "<rect ")) && n < most; at++)
        if (sscanf(at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &out[n].x,
                   &out[n].y, &out[n].w, &out[n].h) == 4)
            n++;
    free(nodes);
    return n;
}

static void check_apart(const rect *r, int count, const char *what, int32_t length)
{
    for (int a = 0; a < count; a++)
        for (int b = 0; b < a; b++)
            ck_assert_msg(r[a].x + r[a].w <= r[b].x || r[b].x + r[b].w <= r[a].x ||
                              r[a].y + r[a].h <= r[b].y || r[b].y + r[b].h <= r[a].y,
                          "%s, length %d: boxes %d and %d", what, length, a, b);
}

START_TEST(no_two_boxes_overlap)
{
    static const struct {
        const char *spec;
        int style, text;
    } all[] = {
        { "window", GSA_STYLE_ARC, 1 },   { "star", GSA_STYLE_CIRCLE, 1 },
        { "star", GSA_STYLE_ARC, 1 },     { "bpt:k=1", GSA_STYLE_TREE, 1 },
        { "bpt:k=1", GSA_STYLE_TREE, 0 }, { "cross", GSA_STYLE_ARC, 1 },
        { "ring", GSA_STYLE_CIRCLE, 0 },  { "char_word:lexicon=LEXICON", GSA_STYLE_BIPARTITE, 1 },
        { "star", GSA_STYLE_FORCE, 0 }
    };
    for (int i = 0; i < GSA_COUNT(all); i++)
        for (int32_t n = 1; n < 70; n = n * 2 + 1) {
            drawn d = drawn_make(all[i].spec, n, all[i].text);
            char *svg = drawn_svg(d.view, all[i].style, -1);
            rect r[512];
            const int count = rects_of(svg, r, 512);
            ck_assert_int_eq(count, d.view->nodes);
            check_apart(r, count, all[i].spec, n);
            release(svg);
            drawn_end(&d);
        }
}
END_TEST

START_TEST(two_stacks_stand_apart)
{
    static const struct {
        const char *spec;
        int32_t encoder, decoder;
    } all[] = { { "bpt:k=1", 12, 8 },
                { "bpt:k=1", 5, 13 },
                { "star", 6, 9 },
                { "char_word:lexicon=LEXICON", 4, 4 } };
    static const int styles[] = { GSA_STYLE_AUTO, GSA_STYLE_TREE, GSA_STYLE_BIPARTITE };
    for (int i = 0; i < GSA_COUNT(all); i++)
        for (int s = 0; s < GSA_COUNT(styles); s++) {
            gsa_view *v = drawn_pair(all[i].spec, all[i].encoder, all[i].decoder);
            char *svg = drawn_svg(v, styles[s], -1);
            rect r[256];
            ck_assert_int_eq(rects_of(svg, r, 256), v->nodes);
            check_apart(r, v->nodes, gsa_style_names[styles[s]],
                        100 * all[i].encoder + all[i].decoder);
            release(svg);
            gsa_view_release(v);
        }
}
END_TEST

/* Each stack's spans on its own side, so that what joins the two sequences lies between them; a
 * tree has a broad grey line for every node but its root, to a span of its own stack. */
START_TEST(a_decoder_hangs_below_its_encoder)
{
    gsa_view *v = drawn_pair("bpt:k=1", 12, 8);
    char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1);
    rect r[64];
    int grey = 0, roots = 0;
    double y[2] = { 0, 0 };
    ck_assert_int_eq(rects_of(svg, r, 64), v->nodes);
    for (int32_t i = 0; i < v->nodes; i++)
        if (v->node[i].level < 0)
            y[strstr(v->kinds.at[v->node[i].kind], "decoder") != NULL] = r[i].y;
    ck_assert(y[0] < y[1]);
    for (int32_t i = 0; i < v->nodes; i++) {
        const int decoder = strstr(v->kinds.at[v->node[i].kind], "decoder") != NULL;
        if (v->node[i].level > 0) ck_assert(decoder ? r[i].y > y[1] : r[i].y < y[0]);
        roots +=
            v->node[i].level > 0 && v->node[i].first == 0 && v->node[i].last == (decoder ? 7 : 11);
    }
    const char *tree = strstr(svg, "<path class=\"tree\""), *end = strchr(tree, '>');
    for (const char *at = tree; (at = strchr(at, 'L')) && at < end; at++) grey++;
    ck_assert_int_eq(roots, 2);
    ck_assert_int_eq(grey, v->nodes - roots);
    release(svg);
    gsa_view_release(v);
}
END_TEST

/* A foreign file may say anything of its nodes: every style gets along with the largest numbers
 * that it can hold. */
START_TEST(far_places_are_drawn)
{
    static const char *const names[] = { "index", "level", "first",     "last",   "layer",
                                         "phase", "rel",   "head_from", "head_to" };
    static const char nodes[] =
        "<graph edgedefault=\"directed\"><node id=\"a\"/><node id=\"b\">@index</node>"
        "<node id=\"c\">@level@first@last</node><node id=\"d\">@level@last</node>"
        "<edge source=\"a\" target=\"b\">@layer@phase@rel</edge>"
        "<edge source=\"c\" target=\"a\">@head_from@head_to</edge>"
        "<edge source=\"b\" target=\"d\"/></graph></graphml>";
    char text[4096] = "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">",
         *end = text + strlen(text);
    for (int i = 0; i < GSA_COUNT(names); i++)
        end += sprintf(end, "<key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"int\"/>",
                       names[i], i < 4 ? "node" : "edge", names[i]);
    for (const char *at = nodes; *at; at++) {
        if (*at != '@') *end++ = *at;
        else {
            const int bytes = (int)strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
            end += sprintf(end, "<data key=\"%.*s\">2147483647</data>", bytes, at + 1);
            at += bytes;
        }
    }
    *end = 0;
    gsa_view *v = drawn_view(text);
    ck_assert_int_ge(v->layers, 0);
    for (int style = 0; style < GSA_STYLES; style++) {
        char *svg = drawn_svg(v, style, -1);
        ck_assert_msg(drawn_is_well_formed(svg), "%s", gsa_style_names[style]);
        release(svg);
    }
    gsa_view_release(v);
}
END_TEST

/* A foreign file may have spans alone, or two kinds of them, and no kind that they are of. */
START_TEST(spans_without_a_sequence_are_drawn)
{
    static const char *const kinds[] = { "span", "other" };
    for (int two = 0; two < 2; two++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
                 "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>"
                 "<key id=\"l\" for=\"node\" attr.name=\"level\" attr.type=\"double\"/>"
                 "<key id=\"f\" for=\"node\" attr.name=\"first\" attr.type=\"double\"/>"
                 "<key id=\"a\" for=\"node\" attr.name=\"last\" attr.type=\"double\"/>"
                 "<graph edgedefault=\"directed\"><node id=\"n0\"><data key=\"k\">span</data>"
                 "<data key=\"l\">0</data><data key=\"f\">0</data><data key=\"a\">1</data></node>"
                 "<node id=\"n1\"><data key=\"k\">%s</data><data key=\"l\">1</data>"
                 "<data key=\"f\">0</data><data key=\"a\">3</data></node>"
                 "<edge source=\"n0\" target=\"n1\"/></graph></graphml>",
                 kinds[two]);
        gsa_view *v = drawn_view(text);
        for (int style = 0; style < GSA_STYLES; style++) {
            char *svg = drawn_svg(v, style, -1);
            ck_assert_msg(drawn_is_well_formed(svg) && !strstr(svg, "nan"), "%s",
                          gsa_style_names[style]);
            release(svg);
        }
        gsa_view_release(v);
    }
}
END_TEST

/* Nothing of the node that is shown has weight; the sum of two edges' is infinite. */
START_TEST(weights_without_a_share_are_drawn)
{
    gsa_view *v = drawn_view(
        "<graphml><key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/><graph "
        "edgedefault=\"directed\"><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\">"
        "<data key=\"w\">0</data></edge><edge source=\"b\" target=\"a\"><data "
        "key=\"w\">1e308</data>"
        "</edge><edge source=\"b\" target=\"a\"><data "
        "key=\"w\">1.7e308</data></edge></graph></graphml>");
    for (int style = GSA_STYLE_AUTO; style < GSA_STYLES; style++)
        for (int focus = -1; focus < 2; focus++) {
            char *svg = drawn_svg(v, style, focus);
            ck_assert_msg(drawn_is_well_formed(svg) && !strstr(svg, "nan"), "%s, %d",
                          gsa_style_names[style], focus);
            if (style == GSA_STYLE_MATRIX) ck_assert_int_gt(count_of(svg, "class=\"cells\""), 0);
            release(svg);
        }
    gsa_view_release(v);
}
END_TEST

START_TEST(bars_that_overlap_stand_in_lanes)
{
    static const int spans[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 0, 2 }, { 1, 3 },
                                    { 2, 4 }, { 3, 4 }, { 0, 4 }, { 1, 4 }, { 4, 4 } };
    gsa_view *v = drawn_large(5, 1);
    const int32_t words = GSA_COUNT(spans), kind = gsa_texts_add(v->system, &v->kinds, "word");
    v->node = gsa_resize(v->system, v->node, (size_t)(5 + words), sizeof *v->node);
    for (int32_t i = 0; i < words; i++)
        v->node[v->nodes++] = (gsa_view_node){
            gsa_copy_text(v->system, "word"), kind, i, 1, spans[i][0], spans[i][1]
        };
    char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1);
    rect r[32];
    const int count = rects_of(svg, r, 32);
    ck_assert_int_eq(count, 5 + words);
    check_apart(r, count, "bars", 5);
    release(svg);
    gsa_view_release(v);
}
END_TEST

/* Does a point lie at the edge of some box? Arrows end a little before it, loops and arcs begin
 * next to its middle. */
static int touches(const rect *r, int count, double x, double y)
{
    for (int i = 0; i < count; i++)
        if (x >= r[i].x - 2 && x <= r[i].x + r[i].w + 2 &&
            (fabs(y - r[i].y) <= 6 || fabs(y - r[i].y - r[i].h) <= 6))
            return 1;
    return 0;
}

/* Segments of four tokens read one another; nodes that stand for nothing, in a row of their own,
 * read them. */
static gsa_view *segments(const char *token, int32_t tokens)
{
    gsa_view *v = drawn_large(tokens, 1);
    const int32_t bars = tokens / 4, bar = gsa_texts_add(v->system, &v->kinds, "segment");
    const int32_t other = gsa_texts_add(v->system, &v->kinds, "cls");
    const int32_t most = tokens + bars + 2, edges = (int32_t)v->edges + bars * (bars + 2);
    v->node = gsa_resize(v->system, v->node, (size_t)most, sizeof *v->node);
    v->edge = gsa_resize(v->system, v->edge, (size_t)edges, sizeof *v->edge);
    for (int32_t i = 0; i < tokens; i++) {
        gsa_release(v->system, (void *)(uintptr_t)v->node[i].label);
        v->node[i].label = gsa_copy_text(v->system, token);
    }
    for (int32_t i = 0; i < bars; i++)
        v->node[v->nodes++] =
            (gsa_view_node){ gsa_copy_text(v->system, "segment"), bar, i, 1, 4 * i, 4 * i + 3 };
    for (int32_t i = 0; i < 2; i++)
        v->node[v->nodes++] =
            (gsa_view_node){ gsa_copy_text(v->system, "cls"), other, i, -1, -1, -1 };
    for (int32_t to = tokens; to < most; to++)
        for (int32_t from = tokens; from < tokens + bars; from++)
            v->edge[v->edges++] = (gsa_view_edge){
                .from = from, .to = to, .head_from = -1, .head_to = -1, .weight = 1
            };
    ck_assert_int_eq(v->edges, edges);
    return v;
}

START_TEST(lines_between_bars_and_rows_meet_their_ends)
{
    static const char *const tokens[] = { "a", "film", "a-word-that-is-long" };
    for (int i = 0; i < GSA_COUNT(tokens); i++) {
        gsa_view *v = segments(tokens[i], 12);
        char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1), *edges = drawn_group(svg, "edges");
        rect r[32];
        const int count = rects_of(svg, r, 32);
        int paths = 0;
        ck_assert_int_eq(count, v->nodes);
        check_apart(r, count, tokens[i], 12);
        for (const char *at = edges; (at = strstr(at, "<path d=\"M")); at++, paths++) {
            double x, y, end[6];
            const int numbers = sscanf(at, "<path d=\"M%lf %lfC%lf %lf %lf %lf %lf %lf", &x, &y,
                                       &end[0], &end[1], &end[2], &end[3], &end[4], &end[5]);
            if (numbers < 8) continue; /* an arc between two tokens */
            ck_assert_msg(touches(r, count, x, y) && touches(r, count, end[4], end[5]), "%s: %.60s",
                          tokens[i], at);
            ck_assert_msg(fabs(x - end[4]) + fabs(y - end[5]) > 5, "no way: %.60s", at);
        }
        ck_assert_int_eq(paths, v->edges);
        free(edges);
        release(svg);
        gsa_view_release(v);
    }
}
END_TEST

START_TEST(a_bar_above_words_parts_them)
{
    static const char *const text[][2] = { { "a", ">aaaa</text>" },
                                           { "it", ">it it it it</text>" } };
    for (int i = 0; i < GSA_COUNT(text); i++) {
        gsa_view *v = segments(text[i][0], 12);
        char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1);
        ck_assert_msg(strstr(svg, text[i][1]) != NULL, "no %s", text[i][1]);
        release(svg);
        gsa_view_release(v);
    }
    gsa_view *v =
        segments("a-wider-word", 12); /* turned tokens are narrow, and so are the bars above them */
    char *svg = drawn_svg(v, GSA_STYLE_AUTO, -1);
    ck_assert_ptr_nonnull(strstr(svg, ">a-wider-word a\xe2\x80\xa6</text>"));
    release(svg);
    gsa_view_release(v);
}
END_TEST

START_TEST(tokens_stand_as_text)
{
    drawn d = drawn_make("window:width=3", 12, 1);
    char *svg = drawn_svg(d.view, GSA_STYLE_ARC, -1);
    static const char *const wanted[] = {
        ">\xe5\x8c\x97</text>", ">&lt;&amp;&gt;\"'</text>",  ">]]&gt;</text>",
        ">&amp;amp;</text>",    ">a\xe2\x87\xa5\x62</text>", ">\xf0\x9f\x98\x80</text>"
    };
    for (int i = 0; i < GSA_COUNT(wanted); i++)
        ck_assert_msg(strstr(svg, wanted[i]) != NULL, "no %s", wanted[i]);
    release(svg);
    drawn_end(&d);
    d = drawn_make("char_word:lexicon=LEXICON", 4, 1);
    svg = drawn_svg(d.view, GSA_STYLE_AUTO, -1);
    ck_assert_ptr_nonnull(
        strstr(svg, ">\xe5\x8c\x97\xe4\xba\xac</text>")); /* the word above its characters */
    release(svg);
    drawn_end(&d);
}
END_TEST

/* ---- weights, colours, memory -------------------------------------------------------------- */

static const char weighted[] = "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key "
                               "id=\"w\" for=\"edge\" attr.name=\"weight\" "
                               "attr.type=\"double\"/>"
                               "<key id=\"k\" for=\"node\" attr.name=\"kind\" "
                               "attr.type=\"string\"/><graph edgedefault=\"directed\">"
                               "<node id=\"a\"><data key=\"k\">token</data></node><node "
                               "id=\"b\"><data key=\"k\">token</data></node>"
                               "<edge source=\"a\" target=\"b\"><data "
                               "key=\"w\">0.25</data></edge><edge source=\"b\" target=\"a\"><data "
                               "key=\"w\">1</data></edge>"
                               "</graph></graphml>";

START_TEST(weights_are_width_and_darkness)
{
    gsa_view *v = drawn_view(weighted);
    char *svg = drawn_svg(v, GSA_STYLE_ARC, -1);
    ck_assert_ptr_nonnull(strstr(svg, "stroke-width=\"1.23\" opacity=\"0.26\""));
    ck_assert_ptr_nonnull(strstr(svg, "stroke-width=\"4.00\" opacity=\"0.95\""));
    ck_assert_ptr_nonnull(strstr(svg, "Width and darkness of a line: weight, 0 to 1."));
    release(svg);
    gsa_view_release(v);
}
END_TEST

START_TEST(colours_are_few_and_in_the_legend)
{
    drawn d = drawn_make("bpt:k=4", 40, 0); /* more than eight labels: their first words */
    char *svg = drawn_svg(d.view, GSA_STYLE_AUTO, -1), *legend = drawn_group(svg, "legend");
    static const char *const names[] = { ">self (40)<", ">left (",      ">right (",
                                         ">anc (",      ">token (40)<", ">span (" };
    for (int i = 0; i < GSA_COUNT(names); i++)
        ck_assert_msg(strstr(legend, names[i]) != NULL, "no %s in %s", names[i], legend);
    free(legend);
    release(svg);
    drawn_end(&d);
}
END_TEST

static double width_of(const char *svg)
{
    double width;
    const char *at = strstr(svg, " width=\"");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, " width=\"%lf\"", &width), 1);
    return width;
}

START_TEST(a_title_fits_on_its_page)
{
    static const struct {
        const char *text;
        double pixels; /* in DejaVu Sans Bold, a wide font, at the title's size */
    } titles[] = { { "encoder=bpt:k=1 decoder=bpt:k=1:causal=1+cross", 467 },
                   { "a title that is quite a bit longer than the page of such a small pattern",
                     631 },
                   { "WIDE LETTERS MAKE WIDE TITLES: MMMMMMMMMMMM", 515 } };
    drawn d = drawn_make("ring", 3, 0);
    for (int i = 0; i < GSA_COUNT(titles); i++) {
        const gsa_drawing_options options = { .style = GSA_STYLE_ARC,
                                              .focus = -1,
                                              .title = titles[i].text };
        char path[64], text[4096];
        gsa_output *out;
        drawn_write(path, "", 0);
        ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &out, NULL), GSA_OK);
        ck_assert_int_eq(gsa_view_draw(d.view, &options, out, NULL), GSA_OK);
        ck_assert_int_eq(gsa_output_commit(out, NULL), GSA_OK);
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        remove(path);
        ck_assert_double_ge(width_of(text), 26 + titles[i].pixels);
    }
    drawn_end(&d);
}
END_TEST

START_TEST(long_patterns_fit_on_a_screen)
{
    static const char *const specs_long[] = { "star", "ring", "window:width=5" };
    for (int i = 0; i < GSA_COUNT(specs_long); i++)
        for (int style = GSA_STYLE_ARC; style <= GSA_STYLE_CIRCLE; style++) {
            if (style != GSA_STYLE_ARC && style != GSA_STYLE_CIRCLE) continue;
            drawn d = drawn_make(specs_long[i], 200, 1);
            char *svg = drawn_svg(d.view, style, -1);
            ck_assert_msg(width_of(svg) <= 1700, "%s, style %d: %g pixels", specs_long[i], style,
                          width_of(svg));
            release(svg);
            drawn_end(&d);
        }
}
END_TEST

/* Distances of full:clip=4: four to the left, four to the right, and none. */
START_TEST(nine_labels_have_nine_colours)
{
    drawn d = drawn_make("full:clip=4", 12, 0);
    char *svg = drawn_svg(d.view, GSA_STYLE_ARC, -1), *legend = drawn_group(svg, "legend");
    char colours[16][8];
    int n = 0;
    for (const char *at = legend; (at = strstr(at, "stroke=\"#")) && n < 16; at++)
        if (strstr(at, "stroke-width=\"2.4\"") == at + 17) snprintf(colours[n++], 8, "%s", at + 8);
    ck_assert_int_eq(n, 9);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) ck_assert_str_ne(colours[a], colours[b]);
    free(legend);
    release(svg);
    drawn_end(&d);
}
END_TEST

START_TEST(weights_near_zero_are_near_white)
{
    static const char text[] =
        "<graphml><key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/><graph "
        "edgedefault=\"directed\">"
        "<node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"><data "
        "key=\"w\">1</data></edge>"
        "<edge source=\"b\" target=\"a\"><data key=\"w\">0.0001</data></edge></graph></graphml>";
    static const int styles[] = { GSA_STYLE_ARC, GSA_STYLE_MATRIX };
    gsa_view *v = drawn_view(text);
    for (int i = 0; i < GSA_COUNT(styles); i++) {
        char *svg = drawn_svg(v, styles[i], -1);
        ck_assert_ptr_nonnull(strstr(svg, i ? "stroke-opacity=\"0.03\"" : "opacity=\"0.03\""));
        ck_assert_ptr_nonnull(strstr(svg, i ? "stroke-opacity=\"1.00\"" : "opacity=\"0.95\""));
        release(svg);
    }
    gsa_view_release(v);
}
END_TEST

/* Why a view is not drawn. */
static const char *refusal(const gsa_view *view, int style)
{
    static gsa_error error;
    gsa_output *output;
    const gsa_drawing_options options = { .style = style, .focus = -1 };
    ck_assert_int_eq(gsa_output_open(gsa_system_default(), "/dev/null", &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_view_draw(view, &options, output, &error), GSA_ERR_LIMIT);
    gsa_output_abandon(output);
    return error.text;
}

START_TEST(a_picture_that_nobody_could_look_at_is_not_drawn)
{
    gsa_view *v = drawn_large(16385, 0);
    for (int style = GSA_STYLE_ARC; style < GSA_STYLES; style++)
        if (style == GSA_STYLE_MATRIX) release(drawn_svg(v, style, -1));
        else if (style != GSA_STYLE_FORCE)
            ck_assert_ptr_nonnull(strstr(refusal(v, style), "16385 nodes with 1 box each"));
    ck_assert_ptr_nonnull(strstr(refusal(v, GSA_STYLE_FORCE), "expected at most 4096 boxes"));
    gsa_view_release(v);
    v = drawn_large(300, 0);
    v->edge[0].head_from = v->edge[0].head_to = 54; /* 55 heads: 16500 boxes */
    ck_assert_str_eq(refusal(v, GSA_STYLE_HEADS),
                     "300 nodes with 55 boxes each are too many to draw in style 'heads', "
                     "expected at most 16384 boxes: style 'matrix' draws any number of nodes");
    v->edge[0].head_from = v->edge[0].head_to = 53;
    release(drawn_svg(v, GSA_STYLE_HEADS, -1));
    gsa_view_release(v);
}
END_TEST

/* 6000 bars, each in a lane of its own: a search of all lanes for each takes minutes. */
START_TEST(many_bars_that_overlap_are_placed_soon)
{
    enum { BARS = 6000 };
    gsa_view *v = drawn_large(BARS, 0);
    gsa_texts_add(v->system, &v->kinds, "span");
    for (int32_t i = 1; i < BARS; i++)
        v->node[i].kind = 1, v->node[i].level = 0, v->node[i].first = 0, v->node[i].last = 1;
    char *svg = drawn_svg(v, GSA_STYLE_BIPARTITE, -1);
    ck_assert_int_eq(count_of(svg, "<rect x="), BARS + 2); /* two are the legend's */
    release(svg);
    gsa_view_release(v);
}
END_TEST

static gsa_status attempt(gsa_faults *faults, void *path)
{
    gsa_view *view;
    gsa_output *output;
    gsa_error error = { 0 };
    gsa_status status = gsa_view_read(&faults->table, path, &view, &error);
    for (int style = GSA_STYLE_ARC; style < GSA_STYLES && status == GSA_OK; style++) {
        const gsa_drawing_options options = { .style = style, .focus = -1 };
        status = gsa_output_open(&faults->table, "/dev/null", &output, &error);
        if (status != GSA_OK) break;
        status = gsa_view_draw(view, &options, output, &error);
        if (status == GSA_OK) status = gsa_output_commit(output, &error);
        else gsa_output_abandon(output);
    }
    gsa_view_release(view);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    char path[64];
    drawn_write(path, weighted, (int64_t)strlen(weighted));
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, attempt, path), 40);
    remove(path);
}
END_TEST

static const gsa_test style_tests[] = {
    GSA_LOOP(every_picture_is_well_formed_and_repeats, GSA_COUNT(specs)),
    GSA_TEST(the_structure_chooses_the_style), GSA_TEST(a_title_fits_on_its_page),
    GSA_TEST(long_patterns_fit_on_a_screen)
};
static const gsa_test line_tests[] = { GSA_LOOP(there_is_a_line_for_every_edge, GSA_COUNT(lines)),
                                       GSA_TEST(parallel_edges_of_one_colour_are_one_line),
                                       GSA_TEST(parallel_edges_of_several_colours_lie_apart),
                                       GSA_TEST(a_focus_draws_what_one_node_reads),
                                       GSA_TEST(weights_are_width_and_darkness),
                                       GSA_TEST(weights_near_zero_are_near_white),
                                       GSA_TEST(colours_are_few_and_in_the_legend),
                                       GSA_TEST(nine_labels_have_nine_colours),
                                       GSA_TEST(every_allocation_may_fail) };
static const gsa_test matrix_tests[] = { GSA_TEST(a_matrix_has_a_cell_for_every_pair),
                                         GSA_TEST(a_large_matrix_stays_small) };
static const gsa_test box_tests[] = { GSA_TEST(no_two_boxes_overlap),
                                      GSA_TEST(two_stacks_stand_apart),
                                      GSA_TEST(far_places_are_drawn),
                                      GSA_TEST(spans_without_a_sequence_are_drawn),
                                      GSA_TEST(weights_without_a_share_are_drawn),
                                      GSA_TEST(a_decoder_hangs_below_its_encoder),
                                      GSA_TEST(bars_that_overlap_stand_in_lanes),
                                      GSA_TEST(many_bars_that_overlap_are_placed_soon),
                                      GSA_TEST(a_picture_that_nobody_could_look_at_is_not_drawn),
                                      GSA_TEST(lines_between_bars_and_rows_meet_their_ends),
                                      GSA_TEST(a_bar_above_words_parts_them),
                                      GSA_TEST(tokens_stand_as_text) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("styles", style_tests, 120),
                                      GSA_CASE("lines", line_tests, 60),
                                      GSA_CASE("matrix", matrix_tests, 60),
                                      GSA_CASE("boxes", box_tests, 60) };
    return gsa_run_suite("draw", cases, GSA_COUNT(cases), argc, argv);
}
