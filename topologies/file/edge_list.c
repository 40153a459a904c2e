/* edge_list.c - lines "from to" or "from to label"; # and % open comments. header=1: the first line
 * is "nodes
 * edges". It is never guessed: "5 2" before two edges of five nodes is as good an edge. */
#include <inttypes.h>
#include <string.h>
#include "loader.h"

typedef struct edge_line {
    int64_t from, to;
    file_label label;
    char name[FILE_WORD];
} edge_line;

static int read_index(file_text *text, const char *what, int64_t *value)
{
    if (text_integer(text->word, 0, INT32_MAX - 1, value)) return 0;
    return loader_fail(text->load, text->line, "the %s is '%.64s', expected a node from 0 to %d",
                       what, text->word, INT32_MAX - 1);
}

/* The third column: a number, or a name. */
static int read_label(const file_text *text, edge_line *edge)
{
    if (text_integer(text->word, -(INT64_C(1) << 53), INT64_C(1) << 53, &edge->label.number))
        return 0;
    if (!text_is_name(text->word))
        return loader_fail(text->load, text->line,
                           "the label '%.64s' is not UTF-8 without control characters", text->word);
    memcpy(edge->name, text->word, sizeof edge->name);
    edge->label = (file_label){ 0, edge->name, 0 };
    return 0;
}

/* The rest of a line whose first word was read; the columns in *columns. */
static int read_line(file_text *text, edge_line *edge, int *columns)
{
    const int64_t line = text->line;
    int got;
    *columns = 1, edge->label = (file_label){ 0, "", 0 };
    if (read_index(text, "source", &edge->from) < 0) return -1;
    while ((got = text_next(text)) == TEXT_WORD) {
        if (*columns == 1 && read_index(text, "destination", &edge->to) < 0) return -1;
        if (*columns == 2 && text->load->options.use_labels && read_label(text, edge) < 0)
            return -1;
        if (++*columns > 3)
            return loader_fail(text->load, line, "a column after the third, '%.64s'", text->word);
    }
    if (got == TEXT_FAILED) return -1;
    return *columns > 1
               ? 0
               : loader_fail(text->load, line, "one column, expected source and destination");
}

/* The first line's numbers of nodes and edges: as many edges must follow, and no index lie
 * beyond. */
static int take_header(loader *load, int first_columns, int64_t first_line, int32_t smallest,
                       int32_t largest)
{
    const file_edge first = load->count > 0 ? load->edges[0] : (file_edge){ 0 };
    const int64_t base = load->options.base >= 0 ? load->options.base : smallest > 0;
    if (load->count == 0 || first_columns != 2)
        return loader_fail(load, first_line, "header=1 expects a first line 'nodes edges'");
    if (first.to != load->count - 1)
        return loader_fail(load, first_line,
                           "the header names %" PRId32 " edges, but %" PRId64 " follow", first.to,
                           load->count - 1);
    if (largest - base >= first.from)
        return loader_fail(load, first_line,
                           "the header names %" PRId32 " nodes, but node %" PRId32 " occurs",
                           first.from, largest);
    load->nodes = first.from;
    load->count--;
    memmove(load->edges, load->edges + 1, (size_t)load->count * sizeof *load->edges);
    return 0;
}

static void range_of(const loader *load, int64_t from, int32_t *smallest, int32_t *largest)
{
    *smallest = INT32_MAX, *largest = -1;
    for (int64_t e = from; e < load->count; e++) {
        const file_edge *x = &load->edges[e];
        const int32_t low = x->from < x->to ? x->from : x->to,
                      high = x->from < x->to ? x->to : x->from;
        if (low < *smallest) *smallest = low;
        if (high > *largest) *largest = high;
    }
}

/* Takes the header and finds the base; indices count from 0 afterwards. `plain`: a line after the
 * first that has no label. */
static int settle(loader *load, int first_columns, int64_t first_line, int64_t plain)
{
    int32_t smallest, largest;
    range_of(load, 1, &smallest, &largest);
    if (load->options.header && take_header(load, first_columns, first_line, smallest, largest) < 0)
        return -1;
    if (!load->options.header && first_columns == 2) plain = first_line;
    if (plain > 0 && load->labels.count > 0)
        return loader_fail(load, plain,
                           "no label, but other edges have one (labels=none leaves them out)");
    range_of(load, 0, &smallest, &largest);
    const int32_t base =
        load->options.base >= 0 ? (int32_t)load->options.base : load->count > 0 && smallest > 0;
    if (load->count > 0 && smallest < base)
        return loader_fail(load, 0,
                           "node %" PRId32 " is in an edge, expected nodes from %" PRId32
                           " on (base=%" PRId32 ")",
                           smallest, base, base);
    for (int64_t e = 0; e < load->count; e++)
        load->edges[e].from -= base, load->edges[e].to -= base;
    load->largest = load->count > 0 ? largest - base : -1;
    return 0;
}

static int add_line(loader *load, int64_t line, const edge_line *edge, int columns)
{
    const int use = load->options.use_labels;
    load->options.use_labels = use && columns == 3;
    const int added = loader_edge(load, line, edge->from, edge->to, edge->label);
    load->options.use_labels = use;
    return added;
}

int read_edges(loader *load)
{
    file_text text;
    edge_line edge;
    int got, columns, first_columns = 0;
    int64_t first_line = 0, plain = 0;
    if (text_open(&text, load) < 0) return -1;
    while ((got = text_next(&text)) > TEXT_END) {
        const int64_t line = text.line;
        if (got == TEXT_LINE) continue;
        if (text.word[0] == '#' || text.word[0] == '%') got = text_skip_line(&text);
        else {
            got = read_line(&text, &edge, &columns);
            if (got == 0) got = add_line(load, line, &edge, columns);
            if (load->count == 1) first_columns = columns, first_line = line;
            else if (columns == 2 && plain == 0) plain = line;
        }
        if (got < 0) break;
    }
    text_close(&text);
    return got < 0 ? -1 : settle(load, first_columns, first_line, plain);
}
