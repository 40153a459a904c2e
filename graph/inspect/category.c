/* category.c - edges become lines: a colour for each phase and label while 24 suffice, else for
 * each phase
 * and the label's first word ("left 2:1" is a left), else for each phase. Up to eight have a hue
 * each. Of
 * more labels, those with one word share its hue, and are lighter by their numbers: far is pale.
 * Where words
 * tell nothing apart, labels go from dark to light by their numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/inspect/draw.h"
#include "graph/palette.h"

enum { DISTINCT = GSA_HUES };
static const double PALEST = 0.72; /* white in the palest of a hue */
/* Viridis up to its 0.86: what follows is too light on white. */
static const char *const ramp[CATEGORIES] = { "#440154", "#450e60", "#461b6b", "#472877", "#45347e",
                                              "#413f83", "#3d4a88", "#3a558b", "#355f8c", "#31688d",
                                              "#2c728e", "#297b8d", "#26848d", "#228e8c", "#22968a",
                                              "#249f86", "#27a883", "#2db07d", "#3db874", "#4dc06b",
                                              "#5dc963", "#74ce54", "#8cd445", "#a4da36" };

enum { BY_LABEL, BY_WORD, BY_PHASE, FINENESS };

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The label up to its first digit or sign, without blanks at the end; nothing where that holds no
 * letter. */
static int first_word(const char *label)
{
    int length = (int)strcspn(label, "0123456789<>=:+-"), letters = 0;
    while (length > 0 && label[length - 1] == ' ') length--;
    for (int i = 0; i < length; i++) letters |= is_letter(label[i]);
    return letters ? length : 0;
}

static void name_of(const gsa_view *view, const gsa_view_edge *edge, int fineness, char *out,
                    size_t size)
{
    const char *phase = view->phases.at[edge->phase], *label = view->labels.at[edge->label];
    const int length = fineness == BY_LABEL  ? (int)strlen(label)
                       : fineness == BY_WORD ? first_word(label)
                                             : 0;
    const int alone = view->phases.count == 1;
    char cut[2 * SHORT_TEXT];
    snprintf(cut, sizeof cut, "%s%s%.*s", alone && length ? "" : phase,
             alone || !length ? "" : ": ", length, label);
    gsa_text_short(cut, 28, out);
    (void)size;
}

/* Gives every edge its category; 0 when there are more than `most` of them. */
static int categorise(gsa_page *page, int fineness, int most, gsa_texts *names, int *memory)
{
    const gsa_view *view = page->view;
    char name[SHORT_TEXT];
    int32_t place = 0;
    for (int64_t e = 0; e < view->edges; e++) {
        const gsa_view_edge *edge = &view->edge[e], *before = e ? edge - 1 : NULL;
        if (!before || before->phase != edge->phase || before->label != edge->label) {
            name_of(view, edge, fineness, name, sizeof name);
            place = gsa_texts_add(page->system, names, name);
        }
        if (place < 0) *memory = 0;
        if (place < 0 || (place >= most && fineness < BY_PHASE)) return 0;
        page->category[e] = (uint8_t)(place < most ? place : most - 1);
    }
    return 1;
}

/* The last whole number in a label's name, with its sign. */
static long number_in(const char *name)
{
    const char *at = name + strlen(name);
    while (at > name && (at[-1] < '0' || at[-1] > '9')) at--;
    while (at > name && at[-1] >= '0' && at[-1] <= '9') at--;
    return strtol(at > name && at[-1] == '-' ? at - 1 : at, NULL, 10);
}

/* The category's phase and first word, as its name begins. */
static int same_word(const char *a, const char *b)
{
    const int length = (int)strcspn(a, "0123456789<=>+-");
    return length == (int)strcspn(b, "0123456789<=>+-") && strncmp(a, b, (size_t)length) == 0;
}

/* The place of category c by its number, the first of equals first, among those it shares a word
 * with (or
 * among all); `count` of them. */
static int rank_of(const gsa_page *page, int c, int words, int *count)
{
    const long own = number_in(page->categories[c].name);
    int rank = 0;
    *count = 0;
    for (int other = 0; other < page->n_categories; other++) {
        const long number = number_in(page->categories[other].name);
        if (words && !same_word(page->categories[c].name, page->categories[other].name)) continue;
        rank += number < own || (number == own && other < c);
        ++*count;
    }
    return rank;
}

/* The colour with `share` of white. */
static void lighten(const char *colour, double share, char out[8])
{
    unsigned int rgb[3];
    sscanf(colour, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]);
    for (int i = 0; i < 3; i++) rgb[i] += (unsigned int)(share * (255 - rgb[i]) + 0.5);
    snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 0xff, rgb[1] & 0xff, rgb[2] & 0xff);
}

/* Distinct hues; of more than eight categories a hue a word, or the ramp where words are too many
 * or one. */
static void colour_categories(gsa_page *page)
{
    int hue[CATEGORIES], hues = 0, loops = 0;
    for (int c = 0; c < page->n_categories; c++) {
        const gsa_category *category = &page->categories[c];
        const int faint =
            category->loops == category->edges && page->n_categories > 1 && loops++ == 0;
        hue[c] = faint ? -1 : hues;
        for (int other = 0; other < c && !faint && page->n_categories > DISTINCT; other++)
            if (hue[other] >= 0 && same_word(page->categories[other].name, category->name))
                hue[c] = hue[other];
        hues += hue[c] == hues;
    }
    const int words = hues > 1 && hues <= DISTINCT;
    for (int c = 0; c < page->n_categories; c++) {
        int count;
        const int rank = rank_of(page, c, words, &count);
        char *colour = page->categories[c].colour;
        if (hue[c] < 0) lighten(GSA_GREY, 0, colour); /* edges from a node to itself */
        else if (page->n_categories <= DISTINCT) lighten(gsa_hue[hue[c]], 0, colour);
        else if (words)
            lighten(gsa_hue[hue[c]], count > 1 ? PALEST * rank / (count - 1) : 0, colour);
        else lighten(ramp[rank * (CATEGORIES - 1) / (count > 1 ? count - 1 : 1)], 0, colour);
    }
}

static void paint(gsa_page *page, const gsa_texts *names, int most)
{
    const gsa_view *view = page->view;
    page->n_categories = names->count < most ? names->count : most;
    for (int64_t e = 0; e < view->edges; e++) {
        gsa_category *category = &page->categories[page->category[e]];
        category->edges++, category->loops += view->edge[e].from == view->edge[e].to;
    }
    for (int c = 0; c < page->n_categories; c++) {
        const int others = c == most - 1 && names->count > most;
        snprintf(page->categories[c].name, sizeof page->categories[c].name, "%s",
                 others ? "other phases" : names->at[c]);
    }
    colour_categories(page);
}

gsa_status gsa_page_colour(gsa_page *page, gsa_error *error)
{
    static const int most[FINENESS] = {
        [BY_LABEL] = CATEGORIES, [BY_WORD] = DISTINCT, [BY_PHASE] = DISTINCT
    };
    gsa_texts names = { 0 };
    int memory = 1, done = 0, fineness = BY_LABEL;
    page->category = gsa_alloc(page->system, (size_t)page->view->edges, 1);
    if (!page->category) return gsa_out_of_memory(error, "colours", page->view->edges);
    for (; memory && !done; fineness++) {
        gsa_texts_release(page->system, &names);
        done = categorise(page, fineness, most[fineness], &names, &memory);
    }
    if (memory) paint(page, &names, most[fineness - 1]);
    gsa_texts_release(page->system, &names);
    return memory ? GSA_OK : gsa_out_of_memory(error, "colours", CATEGORIES);
}

/* ---- lines --------------------------------------------------------------------------------- */

static int by_ends(const void *a, const void *b)
{
    const gsa_line *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->category > y->category) - (x->category < y->category);
}

/* The box of one end of an edge: the node, or (node, head) where heads are drawn. */
static int32_t box_of(const gsa_page *page, int32_t node, int32_t head)
{
    const int32_t heads = gsa_page_heads(page);
    return heads > 1 ? node * heads + (head < 0 ? 0 : head) : node;
}

static int is_wanted(const gsa_page *page, const gsa_view_edge *edge)
{
    if (page->focus < 0) return 1;
    return edge->to == page->focus && (page->focus_head < 0 || edge->head_to == page->focus_head);
}

gsa_status gsa_page_lines(gsa_page *page, gsa_error *error)
{
    const gsa_view *view = page->view;
    int64_t n = 0, kept = 0;
    gsa_release(page->system, page->line);
    gsa_line *all = page->line = gsa_alloc(page->system, (size_t)view->edges, sizeof *all);
    if (!all) return gsa_out_of_memory(error, "lines", view->edges * (int64_t)sizeof *all);
    for (int64_t e = 0; e < view->edges; e++) {
        const gsa_view_edge *edge = &view->edge[e];
        if (!is_wanted(page, edge)) continue;
        all[n++] = (gsa_line){ box_of(page, edge->from, edge->head_from),
                               box_of(page, edge->to, edge->head_to),
                               page->category[e],
                               0,
                               1,
                               edge->weight < 0 ? -edge->weight : edge->weight };
    }
    qsort(all, (size_t)n, sizeof *all, by_ends);
    for (int64_t i = 0; i < n; i++) {
        gsa_line *before = kept ? &all[kept - 1] : NULL;
        if (before && by_ends(before, &all[i]) == 0)
            before->edges++, before->weight += all[i].weight;
        else {
            const int again = before && before->from == all[i].from && before->to == all[i].to;
            all[i].lane = again ? before->lane + 1 : 0;
            all[kept++] = all[i];
        }
    }
    page->lines = kept, page->heaviest = 0;
    for (int64_t i = 0; i < kept; i++)
        if (all[i].weight > page->heaviest) page->heaviest = all[i].weight;
    return GSA_OK;
}
