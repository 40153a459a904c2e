#include "xml.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8, NAME = 32, VALUE = 128 };

typedef struct event {
    int opens, closes; /* both: <x/> */
    char name[NAME], key[VALUE], source[VALUE], target[VALUE];
    const char *text, *end; /* character data before the tag */
} event;

static const char *name_at(const char *at, char *out)
{
    size_t n = 0;
    while (isalnum((unsigned char)*at) || strchr("_.:", *at ? *at : ' ')) {
        if (n == NAME - 1) return NULL;
        out[n++] = *at++;
    }
    out[n] = 0;
    return n ? at : NULL;
}

static const char *attribute(const char *at, event *e)
{
    char name[NAME], value[VALUE];
    size_t n = 0;
    if (!(at = name_at(at, name)) || *at++ != '=' || *at++ != '"') return NULL;
    for (; *at != '"'; at++) {
        if (!*at || *at == '<' || *at == '&' || n == VALUE - 1) return NULL;
        value[n++] = *at;
    }
    value[n] = 0;
    if (strcmp(name, "key") == 0) strcpy(e->key, value);
    if (strcmp(name, "source") == 0) strcpy(e->source, value);
    if (strcmp(name, "target") == 0) strcpy(e->target, value);
    return at + 1;
}

/* One tag; `at` is after '<'. */
static const char *tag(const char *at, event *e)
{
    e->opens = *at != '/', e->closes = *at == '/';
    if (e->closes) at++;
    if (!(at = name_at(at, e->name))) return NULL;
    while (*at == ' ') {
        at++;
        if (!(at = attribute(at, e))) return NULL;
    }
    if (*at == '/' && e->opens) e->closes = 1, at++;
    return *at == '>' ? at + 1 : NULL;
}

static const char *const entities[][2] = {
    { "&amp;", "&" },   { "&lt;", "<" },   { "&gt;", ">" },
    { "&quot;", "\"" }, { "&apos;", "'" }, { "&#13;", "\r" }
};

static int entity_at(const char *at)
{
    for (int i = 0; i < 6; i++)
        if (strncmp(at, entities[i][0], strlen(entities[i][0])) == 0) return i;
    return -1;
}

/* The next tag, comments skipped; NULL at the end or where the document is broken (then
 * *broken). */
static const char *next(const char *at, event *e, int *broken)
{
    memset(e, 0, sizeof *e);
    for (e->text = at; *at;) {
        if (*at == '&' && entity_at(at) < 0) break;
        if (*at == ']' && strncmp(at, "]]>", 3) == 0) break;
        if (*at != '<') {
            at++;
            continue;
        }
        e->end = at;
        if (strncmp(at, "<!--", 4) != 0) {
            at = tag(at + 1, e);
            if (!at) *broken = 1;
            return at;
        }
        at = strstr(at + 4, "--");
        if (!at || at[2] != '>') break;
        at += 3;
    }
    *broken = *at != 0;
    return NULL;
}

static int parse(const char *at, void (*each)(void *context, const event *e), void *context)
{
    char open[DEPTH][NAME];
    int depth = 0, roots = 0, broken = 0;
    event e;
    static const char declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    if (strncmp(at, declaration, sizeof declaration - 1) != 0) return 0;
    at += sizeof declaration - 1;
    while ((at = next(at, &e, &broken))) {
        if (e.opens) {
            if (depth == DEPTH || (depth == 0 && roots++)) return 0;
            strcpy(open[depth++], e.name);
            each(context, &e);
        }
        if (e.closes && (depth == 0 || strcmp(open[--depth], e.name) != 0)) return 0;
        if (e.closes && !e.opens) each(context, &e);
    }
    return !broken && depth == 0 && roots == 1;
}

static char *unescaped(const char *from, const char *end)
{
    char *out = malloc((size_t)(end - from) + 1), *to = out;
    while (from < end) {
        if (*from == '\r') { /* what every XML reader does to line ends */
            *to++ = '\n';
            from += from[1] == '\n' ? 2 : 1;
        } else if (*from == '&') {
            const int i = entity_at(from);
            *to++ = entities[i][1][0];
            from += strlen(entities[i][0]);
        } else *to++ = *from++;
    }
    *to = 0;
    return out;
}

/* ---- data ---------------------------------------------------------------------------------- */

typedef struct search {
    const char *key;
    int nth, inside;
    char *found;
} search;

static void look(void *context, const event *e)
{
    search *s = context;
    if (s->inside && e->closes) s->found = unescaped(e->text, e->end);
    s->inside =
        e->opens && strcmp(e->name, "data") == 0 && strcmp(e->key, s->key) == 0 && s->nth-- == 0;
}

char *xml_data(const char *document, const char *key, int nth)
{
    search s = { key, nth, 0, NULL };
    if (parse(document, look, &s)) return s.found;
    free(s.found);
    return NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

typedef struct number_list {
    const char *key;
    double *at;
    int64_t count;
    int inside;
} number_list;

static void read_number(void *context, const event *e)
{
    number_list *list = context;
    if (list->inside && e->closes) list->at[list->count++] = strtod(e->text, NULL);
    list->inside = e->opens && strcmp(e->name, "data") == 0 && strcmp(e->key, list->key) == 0;
}

double *xml_numbers(const char *document, const char *key, int64_t *count)
{
    const int64_t most = xml_count(document, "data");
    number_list list = { key, most < 0 ? NULL : calloc((size_t)most + 1, sizeof *list.at), 0, 0 };
    if (list.at) parse(document, read_number, &list);
    *count = list.count;
    return list.at;
}

/* ---- counts -------------------------------------------------------------------------------- */

typedef struct tally {
    const char *name;
    int64_t count;
} tally;

static void count_one(void *context, const event *e)
{
    tally *t = context;
    t->count += e->opens && strcmp(e->name, t->name) == 0;
}

int64_t xml_count(const char *document, const char *name)
{
    tally t = { name, 0 };
    return parse(document, count_one, &t) ? t.count : -1;
}

/* ---- edges --------------------------------------------------------------------------------- */

typedef struct edge_list {
    xml_edge *at;
    int64_t count;
    char key[VALUE];
} edge_list;

static void read_edge(void *context, const event *e)
{
    edge_list *list = context;
    if (e->opens && strcmp(e->name, "edge") == 0)
        list->at[list->count++] = (xml_edge){
            atoll(e->source + 1), atoll(e->target + 1), -1, -1, -1, -1, 0
        }; /* ids are n0, n1, ... */
    if (e->opens) strcpy(list->key, e->key);
    if (e->opens || strcmp(e->name, "data") != 0 || list->count == 0) return;
    xml_edge *edge = &list->at[list->count - 1];
    const int64_t value = atoll(e->text);
    if (strcmp(list->key, "e_phase") == 0) edge->phase = value;
    if (strcmp(list->key, "e_label") == 0) edge->label = value;
    if (strcmp(list->key, "e_head_from") == 0) edge->head_from = value;
    if (strcmp(list->key, "e_head_to") == 0) edge->head_to = value;
}

xml_edge *xml_edges(const char *document, int64_t *count)
{
    const int64_t most = xml_count(document, "edge");
    edge_list list = { most < 0 ? NULL : calloc((size_t)most + 1, sizeof *list.at), 0, "" };
    if (list.at) parse(document, read_edge, &list);
    *count = list.count;
    return list.at;
}
