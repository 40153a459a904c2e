/* chart_read.c - JSON records of files to points of lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command/chart.h"
#include "topologies/words.h"
#include "train/data/lines.h"
#include "train/data/json.h"
#include "train/data/plain.h"

enum { PLACE = 512, KNOWN = 64, LISTED = 128, NUMBER = 40 };

typedef struct part { /* of a text that is another's */
    const char *at;
    size_t bytes;
} part;

typedef struct sample {
    int line;
    double x, y;
} sample;

typedef struct reader {
    const gsa_system *system;
    const gsa_chart_source *source;
    gsa_chart *chart;
    const char *const *files;
    const char *file;
    int number;        /* of the file */
    int alike;         /* 1: base names do not tell the files apart */
    size_t lead, tail; /* bytes of every path that all share, in whole folders, at both ends */
    char place[PLACE]; /* "results.jsonl:3", "bench.json: case 2 (star)" */
    char *key, *head;  /* room for any of the source's keys, and for what is before a dot of it */
    sample *sample;
    int64_t samples, room;
    int64_t records;
} reader;

/* ---- keys ---------------------------------------------------------------------------------- */

static const char *copy(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
    to[bytes] = 0;
    return to;
}

/* Of "key=name" or "key=value". */
static const char *key_of(const reader *r, const char *text)
{
    return copy(r->key, text, strcspn(text, "="));
}

static gsa_status make_room(reader *r, gsa_error *error)
{
    const gsa_chart_source *s = r->source;
    size_t most = strlen(s->x), bytes = s->series ? strlen(s->series) : 0;
    if (bytes > most) most = bytes;
    for (int i = 0; i < s->n_y + s->n_where; i++) {
        bytes = strlen(i < s->n_y ? s->y[i] : s->where[i - s->n_y]);
        if (bytes > most) most = bytes;
    }
    r->key = gsa_alloc(r->system, 2, most + 1);
    if (!r->key) return gsa_out_of_memory(error, "the keys of a chart", 2 * (int64_t)most + 2);
    r->head = r->key + most + 1;
    return GSA_OK;
}

static const json_t *find(const reader *r, const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    if (!value) value = json_object_get(json_object_get(record, "each"), key);
    for (const char *dot = strchr(key, '.'); dot && !value; dot = strchr(dot + 1, '.')) {
        const json_t *inner = json_object_get(record, copy(r->head, key, (size_t)(dot - key)));
        if (json_is_object(inner)) value = find(r, inner, dot + 1);
    }
    return value;
}

typedef struct known_keys {
    char name[KNOWN][LISTED];
    int count;
} known_keys;

static const char *known_at(const void *context, int index)
{
    return ((const known_keys *)context)->name[index];
}

/* Without those that are too long for a sentence. */
static void list_keys(const json_t *record, const char *before, known_keys *known)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)record, key, value) {
        char name[LISTED];
        if (snprintf(name, sizeof name, "%s%s", before, key) >= LISTED) continue;
        if (json_is_object(value) && !*before) {
            char inside[LISTED + 1];
            snprintf(inside, sizeof inside, "%s.", name);
            list_keys(value, strcmp(key, "each") == 0 ? "" : inside, known);
        } else if (!json_is_object(value) && known->count < KNOWN)
            strcpy(known->name[known->count++], name);
    }
}

static gsa_status no_key(const reader *r, const json_t *record, const char *key, gsa_error *error)
{
    char shown[GSA_SHOWN], list[700];
    known_keys known = { .count = 0 };
    list_keys(record, "", &known);
    gsa_word_list(list, sizeof list, known_at, &known, known.count, key);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: no key %s (%s)", r->place,
                    gsa_word_show(key, shown), list);
}

/* The value as text: a string as it is, a number shortest; NULL where it is neither. */
static const char *text_of(const json_t *value, char number[NUMBER])
{
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_integer(value))
        snprintf(number, NUMBER, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value)) snprintf(number, NUMBER, "%.10g", json_real_value(value));
    else return NULL;
    return number;
}

/* What a scale's steps and powers can be computed from without overflow. */
static const double least = 1e-100, most = 1e100;

/* A number, or a text that is one ("512" of --each). */
static int number_of(const json_t *value, double *number)
{
    char *end;
    if (json_is_number(value)) *number = json_number_value(value);
    else if (json_is_string(value) && *json_string_value(value)) {
        *number = strtod(json_string_value(value), &end);
        if (*end || !gsa_plain_is(json_string_value(value), end)) return 0;
    } else return 0;
    return *number == 0 || (fabs(*number) >= least && fabs(*number) <= most);
}

/* ---- samples ------------------------------------------------------------------------------- */

static gsa_status no_number(const reader *r, const char *key, const json_t *value,
                            const char *wanted, gsa_error *error)
{
    char shown[GSA_SHOWN], *text = json_dumps(value, JSON_ENCODE_ANY);
    gsa_fail(error, GSA_ERR_FORMAT, "%s: %s is %s, expected %s", r->place, key,
             gsa_word_show(text, shown), wanted);
    free(text);
    return GSA_ERR_FORMAT;
}

static int is_called(const char *name, part series, const char *between, const char *last)
{
    const size_t bytes = strlen(between);
    return strncmp(name, series.at, series.bytes) == 0 &&
           strncmp(name + series.bytes, between, bytes) == 0 &&
           strcmp(name + series.bytes + bytes, last) == 0;
}

/* Of the name that the three are. Without --series a line belongs to its file, whatever others are
 * called. */
static gsa_status find_line(reader *r, part series, const char *between, const char *last,
                            int *line, gsa_error *error)
{
    gsa_chart *c = r->chart;
    const int file = r->source->series ? -1 : r->number;
    for (*line = 0; *line < c->lines; ++*line)
        if (c->line[*line].file == file && is_called(c->line[*line].name, series, between, last))
            return GSA_OK;
    if (c->lines == GSA_CHART_LINES)
        return gsa_fail(
            error, GSA_ERR_LIMIT,
            "%s: more than %d lines cannot be told apart: choose with --where, or another "
            "--series",
            r->place, GSA_CHART_LINES);
    const size_t room = series.bytes + strlen(between) + strlen(last) + 1;
    char *name = gsa_alloc(r->system, room, 1);
    if (!name) return gsa_out_of_memory(error, "a line", (int64_t)room);
    snprintf(name, room, "%.*s%s%s", (int)series.bytes, series.at, between, last);
    c->line[c->lines++] = (gsa_chart_line){ .file = file, .name = name };
    return GSA_OK;
}

/* The place of a word on the x axis. */
static gsa_status find_name(reader *r, const char *name, double *x, gsa_error *error)
{
    gsa_chart *c = r->chart;
    int i = 0;
    while (i < c->n_names && strcmp(c->name[i], name) != 0) i++;
    *x = i;
    if (i < c->n_names) return GSA_OK;
    if (i == GSA_CHART_NAMES)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%s: more than %d words on the x axis: choose with --where", r->place,
                        GSA_CHART_NAMES);
    c->name[i] = gsa_copy_text(r->system, name);
    return c->name[i] ? (c->n_names++, GSA_OK) : gsa_out_of_memory(error, "a word", 64);
}

static gsa_status find_x(reader *r, const json_t *record, double *x, gsa_error *error)
{
    char number_text[NUMBER];
    const gsa_chart_source *s = r->source;
    const json_t *value = find(r, record, s->x);
    if (!value) return no_key(r, record, s->x, error);
    const int number = number_of(value, x), words = r->chart->n_names > 0;
    if (number && !words) {
        if (s->log_x && *x <= 0)
            return no_number(r, s->x, value, "more than 0, as --log-x is given", error);
        return GSA_OK;
    }
    const char *text = text_of(value, number_text);
    if (!text || s->log_x || (r->samples > 0 && !words))
        return no_number(r, s->x, value,
                         s->log_x || r->samples > 0 ? "a number" : "a number or a word", error);
    return find_name(r, text, x, error);
}

static gsa_status add_sample(reader *r, sample one, gsa_error *error)
{
    if (r->samples == r->room) {
        sample *larger = gsa_resize(r->system, r->sample, 2 * (size_t)r->room + 64, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "the points", r->room * 48);
        r->sample = larger, r->room = 2 * r->room + 64;
    }
    r->sample[r->samples++] = one;
    return GSA_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Of files of one name in several folders: what their paths do not share. */
static void compare_files(reader *r)
{
    const int n = r->source->n_files;
    const char *const *f = r->files;
    size_t shortest = strlen(f[0]), lead = 0, tail = 0;
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) r->alike |= strcmp(base_name(f[i]), base_name(f[k])) == 0;
    for (int i = 1; i < n; i++) shortest = strlen(f[i]) < shortest ? strlen(f[i]) : shortest;
    for (int same = 1; same && lead < shortest; lead += (size_t)same)
        for (int i = 1; i < n; i++) same &= f[i][lead] == f[0][lead];
    for (int same = 1; same && tail < shortest; tail += (size_t)same)
        for (int i = 1; i < n; i++)
            same &= f[i][strlen(f[i]) - 1 - tail] == f[0][strlen(f[0]) - 1 - tail];
    while (lead > 0 && f[0][lead - 1] != '/') lead--;
    while (tail > 0 && f[0][strlen(f[0]) - tail] != '/') tail--;
    r->tail = tail < shortest ? tail : 0;
    r->lead = lead + r->tail < shortest ? lead : 0;
}

/* The line's name but for which y it is: of --series, of the file, or nothing. */
static gsa_status name_series(const reader *r, const json_t *record, char number[NUMBER],
                              part *series, gsa_error *error)
{
    const gsa_chart_source *s = r->source;
    const char *text = "";
    if (!s->series && s->n_files > 1) text = r->alike ? r->file + r->lead : base_name(r->file);
    *series = (part){ text, strlen(text) };
    if (!s->series && s->n_files > 1 && r->alike) series->bytes -= r->tail;
    if (!s->series) return GSA_OK;
    const json_t *value = find(r, record, s->series);
    if (value) {
        text = text_of(value, number);
        if (!text) return no_number(r, s->series, value, "a word or a number", error);
        *series = (part){ text, strlen(text) };
        return GSA_OK;
    }
    value = strcmp(s->series, "topology") == 0 ? find(r, record, "encoder") : NULL;
    if (!value && strcmp(s->series, "topology") == 0) value = find(r, record, "name");
    if (!json_is_string(value)) return no_key(r, record, s->series, error);
    text = json_string_value(value);
    *series = (part){ text, strcspn(text, ":*,+ ") };
    return GSA_OK;
}

static gsa_status add_y(reader *r, const json_t *record, part series, const char *y, double x,
                        gsa_error *error)
{
    const gsa_chart_source *s = r->source;
    sample one = { .x = x };
    const char *equals = strchr(y, '='), *key = key_of(r, y);
    const json_t *value = find(r, record, key);
    if (!value) return no_key(r, record, key, error);
    if (!number_of(value, &one.y))
        return no_number(r, key, value, "a number of 1e-100 to 1e100", error);
    if (s->log_y && one.y <= 0)
        return no_number(r, key, value, "more than 0, as --log-y is given", error);
    const char *last = s->n_y == 1 ? "" : equals ? equals + 1 : key;
    const gsa_status status =
        find_line(r, series, s->n_y > 1 && series.bytes ? ", " : "", last, &one.line, error);
    return status == GSA_OK ? add_sample(r, one, error) : status;
}

/* Does the record have every KEY=VALUE of --where? */
static int wanted(const reader *r, const json_t *record)
{
    for (int i = 0; i < r->source->n_where; i++) {
        char number[NUMBER];
        const char *where = r->source->where[i],
                   *text = text_of(find(r, record, key_of(r, where)), number);
        if (!text || strcmp(text, strchr(where, '=') + 1) != 0) return 0;
    }
    return 1;
}

static gsa_status add_record(reader *r, const json_t *record, gsa_error *error)
{
    char number[NUMBER];
    part series;
    double x = 0;
    r->records++;
    if (!json_is_object(record))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: expected a JSON object", r->place);
    if (!wanted(r, record)) return GSA_OK;
    if (json_object_get(record, "skipped")) return r->chart->skipped++, GSA_OK;
    gsa_status status = name_series(r, record, number, &series, error);
    if (status == GSA_OK) status = find_x(r, record, &x, error);
    for (int i = 0; i < r->source->n_y && status == GSA_OK; i++)
        status = add_y(r, record, series, r->source->y[i], x, error);
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

static gsa_status add_cases(reader *r, const json_t *cases, gsa_error *error)
{
    size_t i;
    json_t *one;
    gsa_status status = GSA_OK;
    json_array_foreach ((json_t *)(uintptr_t)cases, i, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        snprintf(r->place, PLACE, "%.300s: case %zu%s%.100s%s", r->file, i + 1, name ? " (" : "",
                 name ? name : "", name ? ")" : "");
        status = add_record(r, one, error);
        if (status != GSA_OK) break;
    }
    return status;
}

static gsa_status add_lines(reader *r, char *bytes, int64_t count, gsa_error *error)
{
    char *line;
    gsa_status status = GSA_OK;
    gsa_lines lines = gsa_lines_start(r->file, bytes, count);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        json_error_t why;
        if (count == 0) continue;
        json_t *record =
            gsa_json_parse(line, count, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
        snprintf(r->place, PLACE, "%.400s:%" PRId64, r->file, (int64_t)lines.number);
        status = record ? add_record(r, record, error)
                        : gsa_fail(error, GSA_ERR_FORMAT, "%s: no JSON: %s", r->place, why.text);
        json_decref(record);
    }
    return status;
}

/* Is it one value over several lines, as gsa bench writes it? Else each line is one. */
static int is_document(const char *bytes, int64_t count)
{
    return count > 1 && (*bytes == '{' || *bytes == '[') && (bytes[1] == '\n' || bytes[1] == '\r');
}

static gsa_status add_file(reader *r, int number, gsa_error *error)
{
    const char *file = r->files[number];
    char *bytes;
    int64_t count;
    r->file = file, r->number = number;
    gsa_status status = gsa_read_file(r->system, file, INT64_C(1) << 30, &bytes, &count, error);
    if (status != GSA_OK) return status;
    const int64_t before = r->records;
    json_error_t why;
    json_t *whole = gsa_json_parse(bytes, count, JSON_REJECT_DUPLICATES, &why);
    const json_t *cases = json_is_array(whole) ? whole : json_object_get(whole, "cases");
    if (json_is_array(cases)) status = add_cases(r, cases, error);
    else if (whole) {
        snprintf(r->place, PLACE, "%.400s", file);
        status = add_record(r, whole, error);
    } else if (is_document(bytes, count))
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s:%d: no JSON: %s", file, why.line, why.text);
    else status = add_lines(r, bytes, count, error);
    json_decref(whole);
    gsa_release(r->system, bytes);
    if (status == GSA_OK && r->records == before)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s is empty: expected the JSON of gsa bench or the lines of gsa train",
                        file);
    return status;
}

/* ---- points -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const sample *p = a, *q = b;
    if (p->line != q->line) return p->line < q->line ? -1 : 1;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* Sorted samples of one line and one x are one point. */
static gsa_status make_points(reader *r, gsa_error *error)
{
    if (r->samples > 1) qsort(r->sample, (size_t)r->samples, sizeof *r->sample, ascending);
    for (int64_t i = 0, next; i < r->samples; i = next) {
        const sample *first = &r->sample[i];
        gsa_chart_line *line = &r->chart->line[first->line];
        gsa_chart_point *more =
            gsa_resize(r->system, line->point, (size_t)line->points + 1, sizeof *more);
        if (!more)
            return gsa_out_of_memory(error, "the points", r->samples * (int64_t)sizeof *more);
        line->point = more;
        gsa_chart_point *point = &more[line->points++];
        *point = (gsa_chart_point){ .x = first->x, .low = first->y };
        for (next = i; next < r->samples && r->sample[next].line == first->line &&
                       r->sample[next].x == first->x;
             next++)
            point->y += r->sample[next].y, point->high = r->sample[next].y, point->n++;
        point->y /= point->n;
    }
    return GSA_OK;
}

static gsa_status check_where(const gsa_chart_source *source, gsa_error *error)
{
    char shown[GSA_SHOWN];
    for (int i = 0; i < source->n_where; i++)
        if (!strchr(source->where[i], '='))
            return gsa_fail(error, GSA_ERR_ARGUMENT, "--where %s: expected KEY=VALUE",
                            gsa_word_show(source->where[i], shown));
    return GSA_OK;
}

gsa_status gsa_chart_read(const gsa_system *system, const gsa_chart_source *source,
                          const char *const *files, gsa_chart *chart, gsa_error *error)
{
    if (!system) system = gsa_system_default();
    reader r = { .system = system, .source = source, .chart = chart, .files = files };
    *chart = (gsa_chart){ .system = system };
    gsa_status status = check_where(source, error);
    if (status == GSA_OK) status = make_room(&r, error);
    if (source->n_files > 1) compare_files(&r);
    for (int i = 0; i < source->n_files && status == GSA_OK; i++) status = add_file(&r, i, error);
    if (status == GSA_OK && r.samples == 0)
        status = gsa_fail(error, GSA_ERR_FORMAT,
                          "no point to draw: of %" PRId64 " records %d were skipped when they were "
                          "measured, the others are not what --where selects",
                          r.records, chart->skipped);
    if (status == GSA_OK) status = make_points(&r, error);
    gsa_release(system, r.sample);
    gsa_release(system, r.key);
    if (status != GSA_OK) gsa_chart_release(chart);
    return status;
}
