#include "train/data/nodes.h"
#include "graph/index.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topologies/words.h"
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/data/plain.h"
#include "train/task_parts.h"

enum { ID, SPLIT, LABEL, FEATURES, COLUMNS };
static const char *const column_names[COLUMNS] = { "id", "split", "label", "features" };

typedef struct node_reader {
    gsa_nodes *nodes;
    int column[COLUMNS]; /* which of them is there */
    int64_t number;      /* of the line */
} node_reader;

static gsa_status bad(const node_reader *r, gsa_error *error, const char *format, ...)
    GSA_PRINTF(3, 4);
static gsa_status bad(const node_reader *r, gsa_error *error, const char *format, ...)
{
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s", r->nodes->path, (long long)r->number,
                    why);
}

/* ---- columns ------------------------------------------------------------------------------- */

static gsa_status read_order(node_reader *r, const char *columns, gsa_error *error)
{
    char shown[GSA_SHOWN], given[128];
    int seen[COLUMNS] = { 0 }, count = 0;
    snprintf(given, sizeof given, "%s", *columns ? columns : "id,split,label,features");
    for (char *at = given, *comma; at; at = comma ? comma + 1 : NULL) {
        int which = 0;
        comma = strchr(at, ',');
        if (comma) *comma = 0;
        while (which < COLUMNS && strcmp(column_names[which], at) != 0) which++;
        if (which == COLUMNS || seen[which]++) {
            count = 0;
            break;
        }
        r->column[count++] = which;
    }
    if (count == COLUMNS) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "data.columns is %s, expected id, split, label and features in some order",
                    gsa_word_show(columns, shown));
}

/* Cuts the line at its tabs, in place; a node without features may lack the last one. */
static gsa_status cut(const node_reader *r, char *line, int64_t bytes, gsa_slice part[COLUMNS],
                      gsa_error *error)
{
    int count = 0;
    char *const end = line + bytes;
    for (int c = 0; c < COLUMNS; c++) part[c] = (gsa_slice){ end, 0 };
    for (char *at = line;; count++) {
        char *tab = memchr(at, '\t', (size_t)(end - at));
        if (count < COLUMNS) part[r->column[count]] = (gsa_slice){ at, (tab ? tab : end) - at };
        if (tab) *tab = 0;
        if (!tab) break;
        at = tab + 1;
    }
    *end = 0; /* the byte of the line end, or the one that gsa_read_file adds */
    if (++count == COLUMNS || (count == COLUMNS - 1 && r->column[COLUMNS - 1] == FEATURES))
        return GSA_OK;
    return bad(r, error, "the line has %d column%s, expected %d", count, count == 1 ? "" : "s",
               COLUMNS);
}

/* ---- values -------------------------------------------------------------------------------- */

static gsa_status read_id(const node_reader *r, gsa_slice id, gsa_error *error)
{
    char shown[GSA_SHOWN], *stop;
    const long long given = strtoll(id.at, &stop, 10);
    const int digits =
        id.bytes > 0 && id.bytes < 19 && (size_t)id.bytes == strspn(id.at, "0123456789");
    if (digits && given == r->nodes->count) return GSA_OK;
    return bad(r, error, "the id is %s, expected %lld: nodes are numbered 0, 1, 2, ... in order",
               gsa_word_show(id.at, shown), (long long)r->nodes->count);
}

static gsa_status read_split(const node_reader *r, gsa_slice word, int32_t *split, gsa_error *error)
{
    static const struct {
        const char *name;
        int32_t split;
    } known[] = { { "train", GSA_SPLIT_TRAIN }, { "dev", GSA_SPLIT_DEV }, { "val", GSA_SPLIT_DEV },
                  { "test", GSA_SPLIT_TEST },   { "none", -1 },           { "-", -1 } };
    char shown[GSA_SHOWN];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, word.at) == 0) {
            *split = known[i].split;
            return GSA_OK;
        }
    return bad(r, error, "the split is %s, expected train, dev, val, test or none",
               gsa_word_show(word.at, shown));
}

static gsa_status read_label(const node_reader *r, gsa_slice word, int32_t split, gsa_slice *label,
                             gsa_error *error)
{
    if (word.bytes == 0) return bad(r, error, "the label is empty, expected a name, or - for none");
    if (word.bytes >= 3 && memcmp(word.at, "\xef\xbb\xbf", 3) == 0)
        return bad(r, error, "the label starts with a byte order mark");
    for (int64_t i = 0; i < word.bytes; i++)
        if ((unsigned char)word.at[i] < 0x20)
            return bad(r, error, "the label holds a control character");
    const int none = strcmp(word.at, "-") == 0 || strcmp(word.at, "-1") == 0;
    if (none && split >= 0) return bad(r, error, "a node of a split has no label");
    *label = none ? (gsa_slice){ "", 0 } : word;
    return GSA_OK;
}

static gsa_status add_entry(const node_reader *r, int32_t index, float value, gsa_error *error)
{
    gsa_nodes *n = r->nodes;
    if (n->entries == n->entry_room) {
        const int64_t room = 2 * n->entry_room + 1024;
        int32_t *indices = gsa_resize(n->system, n->index, (size_t)room, sizeof *indices);
        if (indices) n->index = indices;
        float *values =
            indices ? gsa_resize(n->system, n->value, (size_t)room, sizeof *values) : NULL;
        if (!values) return gsa_out_of_memory(error, n->path, room * 8);
        n->value = values, n->entry_room = room;
    }
    n->index[n->entries] = index, n->value[n->entries++] = value;
    if (index >= n->width) n->width = index + 1;
    return GSA_OK;
}

/* "12:0.5" or "12", up to a blank. */
static gsa_status read_features(const node_reader *r, const char *at, gsa_error *error)
{
    char shown[GSA_SHOWN], *stop;
    gsa_status status = GSA_OK;
    for (int64_t last = -1; status == GSA_OK && *(at += strspn(at, " "));) {
        const long long index = strtoll(at, &stop, 10);
        float value = 1;
        if (*at < '0' || *at > '9' || index >= 1 << 24 || !strchr(": ", *stop))
            return bad(r, error, "a feature is %s, expected index:value with an index from 0 to %d",
                       gsa_word_show(at, shown), (1 << 24) - 1);
        if (index <= last)
            return bad(r, error, "feature %lld is after feature %lld: indices ascend", index,
                       (long long)last);
        if (*stop == ':') {
            const char *number = stop + 1;
            value = strtof(number, &stop);
            if (!gsa_plain_is(number, stop) || *number == ' ' || !strchr(" ", *stop) ||
                !isfinite(value))
                return bad(r, error, "the value of feature %lld is no finite number", index);
        }
        status = add_entry(r, (int32_t)index, value, error);
        at = stop, last = index;
    }
    return status;
}

/* ---- lines --------------------------------------------------------------------------------- */

static gsa_status make_room(gsa_nodes *n, gsa_error *error)
{
    if (n->count + 1 < n->room) return GSA_OK;
    const int64_t room = 2 * n->room + 1024;
    void *split = gsa_resize(n->system, n->split, (size_t)room, sizeof *n->split);
    if (split) n->split = split;
    void *line = split ? gsa_resize(n->system, n->line, (size_t)room, sizeof *n->line) : NULL;
    if (line) n->line = line;
    void *label = line ? gsa_resize(n->system, n->label, (size_t)room, sizeof *n->label) : NULL;
    if (label) n->label = label;
    void *first = label ? gsa_resize(n->system, n->first, (size_t)room, sizeof *n->first) : NULL;
    if (!first) return gsa_out_of_memory(error, n->path, room * (int64_t)sizeof(gsa_slice));
    n->first = first, n->room = room;
    return GSA_OK;
}

static gsa_status read_line(node_reader *r, char *line, int64_t bytes, gsa_error *error)
{
    gsa_nodes *n = r->nodes;
    gsa_slice part[COLUMNS];
    if (n->count == gsa_index_most) return bad(r, error, "more than %d nodes", gsa_index_most);
    gsa_status status = cut(r, line, bytes, part, error);
    if (status == GSA_OK) status = make_room(n, error);
    if (status == GSA_OK) status = read_id(r, part[ID], error);
    if (status == GSA_OK) status = read_split(r, part[SPLIT], &n->split[n->count], error);
    if (status == GSA_OK)
        status = read_label(r, part[LABEL], n->split[n->count], &n->label[n->count], error);
    if (status != GSA_OK) return status;
    n->line[n->count] = r->number, n->first[n->count] = n->entries;
    status = read_features(r, part[FEATURES].at, error);
    n->first[++n->count] = n->entries;
    return status;
}

gsa_status gsa_nodes_read(const gsa_system *system, const char *path, const char *columns,
                          int32_t encoding, gsa_nodes *nodes, gsa_error *error)
{
    int64_t bytes = 0;
    char *line;
    *nodes = (gsa_nodes){ .system = system };
    node_reader r = { .nodes = nodes };
    gsa_status status = read_order(&r, columns, error);
    if (status != GSA_OK) return status;
    nodes->path = gsa_copy_text(system, gsa_input_name(path));
    if (!nodes->path) return gsa_out_of_memory(error, path, (int64_t)strlen(path));
    status = gsa_encoding_read(system, path, encoding, &nodes->bytes, &bytes, error);
    if (status != GSA_OK) {
        gsa_nodes_release(nodes);
        return status;
    }
    gsa_lines lines = gsa_lines_start(nodes->path, nodes->bytes, bytes);
    lines.advice = gsa_encoding_advice;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        r.number = lines.number;
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status == GSA_OK) status = read_line(&r, line, bytes, error);
    }
    if (status == GSA_OK && nodes->count == 0)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no node", nodes->path);
    if (status != GSA_OK) gsa_nodes_release(nodes);
    return status;
}

void gsa_nodes_release(gsa_nodes *nodes)
{
    if (!nodes->system) return;
    void *const all[] = { nodes->path,  nodes->bytes, nodes->split, nodes->line,
                          nodes->label, nodes->first, nodes->index, nodes->value };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(nodes->system, all[i]);
    *nodes = (gsa_nodes){ 0 };
}
