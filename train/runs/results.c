#include "train/runs/results.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/data/lines.h"
#include "train/data/plain.h"
#include "train/driver/trainer.h"
#include "train/data/json.h"
#include "train/score/report.h"

struct gsa_results {
    const gsa_system *system;
    json_t *runs;  /* array */
    json_t *place; /* key of a run -> its number in `runs`; a run of no known setting has none */
    int64_t lists; /* and objects, of all lines that were read */
};

gsa_stat gsa_stat_of(const double *x, int n)
{
    gsa_stat s = { .n = n };
    double squares = 0;
    if (n == 0) return s;
    s.least = s.most = x[0];
    for (int i = 0; i < n; i++)
        s.mean += x[i], s.least = fmin(s.least, x[i]), s.most = fmax(s.most, x[i]);
    s.mean /= n;
    for (int i = 0; i < n; i++) squares += (x[i] - s.mean) * (x[i] - s.mean);
    s.sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return s;
}

/* ---- runs ---------------------------------------------------------------------------------- */

gsa_status gsa_results_create(const gsa_system *system, gsa_results **results, gsa_error *error)
{
    if (!system) system = gsa_system_default();
    *results = gsa_alloc_zero(system, 1, sizeof **results);
    if (*results) **results = (gsa_results){ system, json_array(), json_object(), 0 };
    if (*results && (*results)->runs && (*results)->place) return GSA_OK;
    gsa_results_release(*results);
    *results = NULL;
    return gsa_out_of_memory(error, "results", sizeof **results);
}

void gsa_results_release(gsa_results *results)
{
    if (!results) return;
    json_decref(results->runs);
    json_decref(results->place);
    gsa_release(results->system, results);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* What two lines of one run share, for the caller to free; NULL: its setting is not known, or there
 * is no memory. */
static char *key_of(const json_t *run)
{
    const json_t *seed = json_object_get(run, "seed");
    json_t *key = *text_of(run, "setting")
                      ? json_pack("[s, s, I]", text_of(run, "setting"), text_of(run, "run"),
                                  json_integer_value(seed))
                      : NULL;
    char *text = key ? json_dumps(key, JSON_COMPACT) : NULL;
    json_decref(key);
    return text;
}

/* Takes the run over. */
static gsa_status put(gsa_results *r, json_t *run, gsa_error *error)
{
    char *key = key_of(run);
    const json_t *place = key ? json_object_get(r->place, key) : NULL;
    const json_int_t end = (json_int_t)json_array_size(r->runs);
    int failed = !key && *text_of(run, "setting");
    if (failed) json_decref(run);
    else if (place) failed = json_array_set_new(r->runs, (size_t)json_integer_value(place), run);
    else failed = json_array_append_new(r->runs, run);
    if (!failed && key && !place) failed = json_object_set_new(r->place, key, json_integer(end));
    free(key);
    return failed ? gsa_out_of_memory(error, "results", 4096) : GSA_OK;
}

/* Every result says its task; other objects, such as lines of a log, would be rows of nothing.
 * Takes the value over. */
static gsa_status put_value(gsa_results *r, json_t *run, const json_error_t *why, gsa_error *error)
{
    const int object = json_is_object(run);
    if (object && json_is_string(json_object_get(run, "task"))) return put(r, run, error);
    if (object)
        gsa_fail(error, GSA_ERR_FORMAT,
                 "no result of a run: expected its 'task', as gsa train writes it");
    else gsa_fail(error, GSA_ERR_FORMAT, "no JSON object: %s", run ? "another value" : why->text);
    json_decref(run);
    return GSA_ERR_FORMAT;
}

static gsa_status parse(gsa_results *r, const char *line, int64_t bytes, gsa_error *error)
{
    json_error_t why;
    r->lists += gsa_json_lists(line, bytes);
    if (r->lists > GSA_JSON_LISTS)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the results have more than %d lists and objects, which are not read",
                        GSA_JSON_LISTS);
    return put_value(r, gsa_json_parse(line, bytes, JSON_REJECT_DUPLICATES, &why), &why, error);
}

gsa_status gsa_results_put(gsa_results *results, const char *line, gsa_error *error)
{
    return parse(results, line, (int64_t)strlen(line), error);
}

void gsa_results_shorten(char *stack)
{
    char *value = NULL, *to = stack;
    for (const char *at = stack; *at; at++) {
        if (*at == '=') *to++ = *at, value = to;
        else if (*at == '/' && value) to = value;
        else *to++ = *at;
        if (strchr(":*,+", *at)) value = NULL;
    }
    *to = 0;
}

/* A line that says no setting is known by where it is. */
static void name_line(const gsa_results *r, const char *path, int64_t number)
{
    json_t *run = json_array_get(r->runs, json_array_size(r->runs) - 1);
    char at[4200];
    snprintf(at, sizeof at, "%s:%lld", path, (long long)number);
    if (!*text_of(run, "setting") && !json_object_get(run, "run"))
        json_object_set_new(run, "run", gsa_json_name(at));
}

gsa_status gsa_results_read(gsa_results *results, const gsa_system *system, const char *path,
                            gsa_error *error)
{
    char *bytes, *line;
    int64_t count;
    gsa_status status = gsa_read_file(system, path, INT64_C(1) << 30, &bytes, &count, error);
    if (status != GSA_OK) return status;
    gsa_lines lines = gsa_lines_start(path, bytes, count);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        if (count == 0) continue;
        status = parse(results, line, count, error);
        if (status == GSA_OK) name_line(results, path, lines.number);
        else gsa_fail_at(error, status, "%s:%lld", path, (long long)lines.number);
    }
    gsa_release(system, bytes);
    return status;
}

/* The same run with the same figures. */
static int holds_line(const gsa_results *r, const json_t *run)
{
    char *key = key_of(run);
    const json_t *place = key ? json_object_get(r->place, key) : NULL;
    const json_t *there = place ? json_array_get(r->runs, (size_t)json_integer_value(place)) : NULL;
    free(key);
    return there && json_equal((json_t *)(uintptr_t)there, (json_t *)(uintptr_t)run);
}

static gsa_status cannot(const char *path, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be written: %s", path,
                    errno ? strerror(errno) : "no space");
}

/* 1: the name, or the link of that name, still leads to the file that is open. */
static int is_still(const gsa_system *system, const char *path, int file)
{
    char end[4096];
    if (system->resolve && system->resolve(system->user, path, end, sizeof end) > 0) path = end;
    return !system->same || system->same(system->user, file, path);
}

/* One write, at the end; what of it went through is taken back where the rest does not. */
static gsa_status append(const gsa_system *system, const char *path, int file, const char *line,
                         gsa_error *error)
{
    int64_t before = 0;
    const int kind = system->kind(system->user, path, &before);
    const int64_t bytes = (int64_t)strlen(line);
    errno = 0;
    const int64_t done = system->write(system->user, file, line, bytes);
    if (done == bytes) return GSA_OK;
    const gsa_status status = cannot(path, error);
    if (done > 0 && kind == GSA_FILE_REGULAR && is_still(system, path, file))
        system->truncate(system->user, path, before);
    return status;
}

/* The file is locked. Where its last line has no end, the new one begins with it. */
static gsa_status put_line(gsa_results *r, const char *path, int file, const char *line,
                           gsa_error *error)
{
    int64_t bytes = 0;
    json_t *run = gsa_json_parse(line, (int64_t)strlen(line), 0, NULL);
    int kind = GSA_FILE_ABSENT;
    char *text = gsa_alloc(r->system, strlen(line) + 3, 1), *there = NULL;
    gsa_status status = text ? GSA_OK : gsa_out_of_memory(error, path, (int64_t)strlen(line) + 3);
    if (status == GSA_OK) status = gsa_see(r->system, path, &kind, error);
    const int regular = kind == GSA_FILE_REGULAR;
    if (status == GSA_OK && regular) status = gsa_results_read(r, r->system, path, error);
    if (status == GSA_OK && regular)
        status = gsa_read_file(r->system, path, INT64_C(1) << 30, &there, &bytes, error);
    if (status == GSA_OK && !holds_line(r, run)) {
        sprintf(text, "%s%s\n", bytes > 0 && there && there[bytes - 1] != '\n' ? "\n" : "", line);
        status = append(r->system, path, file, text, error);
    }
    gsa_release(r->system, there);
    gsa_release(r->system, text);
    json_decref(run);
    return status;
}

gsa_status gsa_results_put_into(const gsa_system *system, const char *path, int own,
                                const char *line, gsa_error *error)
{
    gsa_results *r;
    gsa_status status = gsa_results_create(system, &r, error);
    if (status != GSA_OK) return status;
    system = r->system;
    status = gsa_results_put(r, line, error);
    json_array_clear(r->runs);
    json_object_clear(r->place);
    const int mode = own ? GSA_OPEN_OWN : GSA_OPEN_APPEND,
              file = status == GSA_OK ? system->open(system->user, path, mode) : -1;
    int kind = GSA_FILE_ABSENT;
    if (status == GSA_OK)
        status = file < 0 ? cannot(path, error) : gsa_see(system, path, &kind, error);
    /* a device, or a descriptor, has other users: who locks it holds them all up */
    if (kind == GSA_FILE_REGULAR && system->lock && system->lock(system->user, file, 1) < 0)
        status = cannot(path, error);
    if (status == GSA_OK) status = put_line(r, path, file, line, error);
    if (status == GSA_OK && system->sync(system->user, file) < 0 && errno != EINVAL)
        status = cannot(path, error);
    if (file >= 0 && system->close(system->user, file) < 0 && status == GSA_OK)
        status = cannot(path, error);
    gsa_results_release(r);
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int is_metric(const char *key, const json_t *value)
{
    const size_t bytes = strlen(key);
    if (!json_is_number(value) || (bytes > 9 && strcmp(key + bytes - 9, "_examples") == 0))
        return 0;
    return strncmp(key, "dev_", 4) == 0 || strncmp(key, "test_", 5) == 0 ||
           strcmp(key, "seconds") == 0;
}

/* Names of metrics in the order met, `seconds` last. */
static json_t *metrics_of(const gsa_results *r)
{
    json_t *names = json_object();
    const char *key;
    json_t *value, *run;
    size_t i;
    json_array_foreach (r->runs, i, run) {
        json_object_foreach (run, key, value) {
            if (is_metric(key, value) && strcmp(key, "seconds") != 0)
                json_object_set_new(names, key, json_null());
        }
    }
    json_object_set_new(names, "seconds", json_null());
    return names;
}

/* What of `each` is a key ("model.encoder") or, keys 0, a name; NULL for a run without. */
static json_t *part_of_each(const json_t *run, int keys)
{
    json_t *part = json_object(), *value;
    const char *name;
    json_object_foreach (json_object_get(run, "each"), name, value) {
        if ((strchr(name, '.') != NULL) == keys) json_object_set(part, name, value);
    }
    return part;
}

/* The array of the object's key, made where there is none. */
static json_t *array_at(json_t *object, const char *key)
{
    json_t *array = json_object_get(object, key);
    if (array || json_object_set_new(object, key, json_array())) return array;
    return json_object_get(object, key);
}

/* What runs of one row share; takes `each` over. */
static char *row_key(const json_t *run, json_t *each, const char *hash)
{
    json_t *key = json_pack("[s, s, s, s, o]", text_of(run, "recipe"), text_of(run, hash),
                            text_of(run, "task"), text_of(run, "encoder"), each);
    char *text = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(key);
    return text;
}

/* Keys of the recipe that runs do not agree in become what was varied; the encoder has its
 * column. */
static void name_what_varies(const gsa_results *r)
{
    json_t *first = NULL, *keys = json_object(), *settings, *run, *value;
    const char *key;
    size_t i;
    json_array_foreach (r->runs, i, run) {
        settings = json_object_get(run, "settings");
        if (!first) first = settings;
        json_object_foreach (settings, key, value) {
            if (!json_equal(value, json_object_get(first, key)))
                json_object_set_new(keys, key, json_null());
        }
        json_object_foreach (first, key, value) {
            if (settings && !json_object_get(settings, key))
                json_object_set_new(keys, key, json_null());
        }
    }
    json_object_del(keys, "model.encoder");
    json_array_foreach (r->runs, i, run) {
        settings = json_object_get(run, "settings");
        json_object_foreach (keys, key, value) {
            json_t *own = json_object_get(settings, key);
            if (own) json_object_set(json_object_get(run, "each"), key, own);
        }
    }
    json_decref(keys);
}

/* key -> runs. With `average` runs that differ in names alone have one key. A run of no known
 * setting is a group. */
static json_t *group(const gsa_results *r, int average)
{
    json_t *groups = json_object(), *run;
    size_t i;
    json_array_foreach (r->runs, i, run) {
        json_t *each = json_object_get(run, "each");
        char number[32];
        snprintf(number, sizeof number, "%zu", i);
        if (!*text_of(run, "setting")) {
            if (!average) json_array_append(array_at(groups, number), run);
            continue;
        }
        char *key = average ? row_key(run, part_of_each(run, 1), "family")
                            : row_key(run, each ? json_deep_copy(each) : json_object(), "setting");
        if (key) json_array_append(array_at(groups, key), run);
        free(key);
    }
    return groups;
}

static json_t *stat_json(const double *x, int n)
{
    const gsa_stat s = gsa_stat_of(x, n);
    return json_pack("{s:o, s:o, s:o, s:o}", "mean", gsa_json_number(s.mean), "sd",
                     gsa_json_number(s.sd), "min", gsa_json_number(s.least), "max",
                     gsa_json_number(s.most));
}

/* The metric of the runs into x; how many have it. */
static int values_of(const json_t *runs, const char *metric, double *x)
{
    size_t i;
    json_t *run;
    int n = 0;
    json_array_foreach (runs, i, run) {
        const json_t *value = json_object_get(run, metric);
        if (json_is_number(value)) x[n++] = json_number_value(value);
    }
    return n;
}

static void copy_key(json_t *row, const json_t *run, const char *key)
{
    json_t *value = json_object_get(run, key);
    if (value) json_object_set(row, key, value);
}

static void add_row(json_t *rows, const json_t *runs, const json_t *metrics, double *x)
{
    const json_t *first = json_array_get(runs, 0);
    json_t *row = json_object(), *ignored;
    const char *metric;
    copy_key(row, first, *text_of(first, "setting") ? "setting" : "run");
    copy_key(row, first, "recipe");
    copy_key(row, first, "each");
    copy_key(row, first, "encoder");
    json_object_set_new(row, "n", json_integer((json_int_t)json_array_size(runs)));
    json_object_foreach ((json_t *)(uintptr_t)metrics, metric, ignored) {
        const int n = values_of(runs, metric, x);
        if (n > 0) json_object_set_new(row, metric, stat_json(x, n));
    }
    copy_key(row, first, "parameters");
    json_array_append_new(rows, row);
}

/* combination -> runs, of runs that differ in names. */
static json_t *combinations_of(const json_t *runs)
{
    json_t *combinations = json_object(), *run;
    size_t i;
    json_array_foreach (runs, i, run) {
        json_t *names = part_of_each(run, 0);
        char *key = json_dumps(names, JSON_COMPACT | JSON_SORT_KEYS);
        if (key) json_array_append(array_at(combinations, key), run);
        free(key);
        json_decref(names);
    }
    return combinations;
}

static const json_t *with_seed(const json_t *runs, json_int_t seed)
{
    size_t i;
    json_t *run;
    json_array_foreach (runs, i, run) {
        if (json_integer_value(json_object_get(run, "seed")) == seed) return run;
    }
    return NULL;
}

/* Mean over the combinations for each seed that all of them have; how many such seeds. */
static int averages_of(json_t *combinations, const char *metric, double *x)
{
    json_t *first = json_object_iter_value(json_object_iter(combinations)), *run, *runs;
    const char *name;
    size_t i;
    int n = 0;
    json_array_foreach (first, i, run) {
        const json_int_t seed = json_integer_value(json_object_get(run, "seed"));
        double sum = 0;
        size_t found = 0;
        json_object_foreach (combinations, name, runs) {
            const json_t *value = json_object_get(with_seed(runs, seed), metric);
            if (json_is_number(value)) sum += json_number_value(value), found++;
        }
        if (found == json_object_size(combinations)) x[n++] = sum / (double)found;
    }
    return n;
}

static void add_average(json_t *rows, const json_t *runs, const json_t *metrics, double *x)
{
    const json_t *first = json_array_get(runs, 0);
    json_t *combinations = combinations_of(runs), *row = json_object(),
           *names = part_of_each(first, 0), *over = json_array();
    json_t *ignored;
    const char *name;
    json_object_foreach (names, name, ignored) {
        json_array_append_new(over, json_string(name));
    }
    json_object_set_new(row, "setting", json_string(text_of(first, "family")));
    copy_key(row, first, "recipe");
    json_object_set_new(row, "average_over", over);
    json_object_set_new(row, "each", part_of_each(first, 1));
    copy_key(row, first, "encoder");
    json_object_set_new(row, "combinations",
                        json_integer((json_int_t)json_object_size(combinations)));
    int seeds = 0;
    const int several = json_object_size(combinations) > 1;
    json_object_foreach (several ? (json_t *)(uintptr_t)metrics : NULL, name, ignored) {
        const int n = averages_of(combinations, name, x);
        if (n > 0) json_object_set_new(row, name, stat_json(x, n));
        seeds = n > seeds ? n : seeds;
    }
    json_object_set_new(row, "n", json_integer(seeds));
    if (several) json_array_append(rows, row);
    json_decref(row);
    json_decref(names);
    json_decref(combinations);
}

/* NULL: out of memory. Owned by the caller. */
static json_t *rows_of(const gsa_results *r, json_t **metrics)
{
    json_t *rows = json_array(), *runs;
    const char *key;
    double *x = gsa_alloc(r->system, json_array_size(r->runs) + 1, sizeof *x);
    name_what_varies(r);
    *metrics = metrics_of(r);
    for (int average = 0; average < 2 && x; average++) {
        json_t *groups = group(r, average);
        json_object_foreach (groups, key, runs) {
            if (average) add_average(rows, runs, *metrics, x);
            else add_row(rows, runs, *metrics, x);
        }
        json_decref(groups);
    }
    if (!x) json_decref(rows), rows = NULL;
    gsa_release(r->system, x);
    return rows;
}

gsa_status gsa_results_summary(const gsa_results *results, char **text, gsa_error *error)
{
    json_t *metrics, *rows = rows_of(results, &metrics);
    json_decref(metrics);
    return gsa_json_text(results->system, rows ? json_pack("{s:o}", "summary", rows) : NULL, text,
                         error);
}

/* ---- the table ----------------------------------------------------------------------------- */

void gsa_table_release(gsa_table *table)
{
    for (int i = 0; table->cell && i < table->rows * table->columns; i++)
        gsa_release(table->system, table->cell[i]);
    gsa_release(table->system, table->cell);
    *table = (gsa_table){ 0 };
}

enum {
    MOST_CELLS = 1 << 24,
    COLUMN = 512,
    VARIED = '='
}; /* begins a column of what was varied: a name of the user's may be "n" or "seconds", too */

/* 1: two rows of known settings that nothing but these tells apart. */
static int look_alike(const json_t *rows)
{
    json_t *seen = json_object(), *row;
    size_t i;
    int twice = 0;
    json_array_foreach (rows, i, row) {
        json_t *each = json_object_get(row, "each"), *over = json_object_get(row, "average_over");
        if (!json_object_get(row, "setting")) continue;
        json_t *words = json_pack("[s, s, O, O]", text_of(row, "recipe"), text_of(row, "encoder"),
                                  each ? each : json_null(), over ? over : json_null());
        char *key = words ? json_dumps(words, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        if (key)
            twice |= json_object_get(seen, key) != NULL,
                json_object_set_new(seen, key, json_true());
        free(key);
        json_decref(words);
    }
    json_decref(seen);
    return twice;
}

/* The columns of words: run where a row's setting is not known, recipe where there are several,
 * what was varied, encoder, and setting where these leave two rows alike. */
static json_t *word_columns(const json_t *rows)
{
    json_t *words = json_object(), *row, *ignored;
    const char *recipe = text_of(json_array_get(rows, 0), "recipe"), *name;
    size_t i;
    int several = 0, unknown = 0;
    json_array_foreach (rows, i, row) {
        several |= strcmp(text_of(row, "recipe"), recipe) != 0;
        unknown |= json_object_get(row, "run") != NULL;
    }
    if (unknown) json_object_set_new(words, "run", json_null());
    if (several) json_object_set_new(words, "recipe", json_null());
    json_array_foreach (rows, i, row) {
        json_object_foreach (json_object_get(row, "each"), name, ignored) {
            char column[COLUMN];
            const int fits = snprintf(column, sizeof column, "%c%s", VARIED, name) < COLUMN;
            if (fits && strcmp(name, "model.encoder") != 0) /* that is the encoder's column */
                json_object_set_new(words, column, json_null());
        }
    }
    json_object_set_new(words, "encoder", json_null());
    if (look_alike(rows)) json_object_set_new(words, "setting", json_null());
    return words;
}

static int averaged(const json_t *row, const char *name)
{
    size_t i;
    json_t *over;
    json_array_foreach (json_object_get(row, "average_over"), i, over) {
        if (strcmp(json_string_value(over), name) == 0) return 1;
    }
    return 0;
}

/* A file may hold any number: all digits of a large one would not fit, nor mean anything. */
static void write_number(char *cell, size_t room, double x, int seconds)
{
    const int large = !(fabs(x) < 1e15);
    snprintf(cell, room, large ? "%.6g" : seconds ? "%.1f" : fabs(x) < 10 ? "%.4f" : "%.2f", x);
}

static void write_cell(char *cell, size_t room, const json_t *row, const char *column)
{
    const int varied = *column == VARIED;
    const json_t *value = varied ? json_object_get(json_object_get(row, "each"), column + 1)
                                 : json_object_get(row, column);
    const int seconds = strcmp(column, "seconds") == 0;
    char mean[64], sd[64];
    *cell = 0;
    if (varied && averaged(row, column + 1)) snprintf(cell, room, "average");
    else if (json_is_string(value)) snprintf(cell, room, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(cell, room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (varied || !json_is_object(value)) return;
    if (!json_is_number(json_object_get(value, "sd"))) { /* squares that overflow */
        snprintf(cell, room, "not finite");
        return;
    }
    write_number(mean, sizeof mean, json_number_value(json_object_get(value, "mean")), seconds);
    write_number(sd, sizeof sd, json_number_value(json_object_get(value, "sd")), seconds);
    const int alone = json_integer_value(json_object_get(row, "n")) < 2 || seconds;
    snprintf(cell, room, "%s%s%s", mean, alone ? "" : " ± ", alone ? "" : sd);
}

static int put_cell(gsa_table *table, int row, int column, const char *text)
{
    char **cell = &table->cell[row * table->columns + column];
    *cell = gsa_copy_text(table->system, text);
    return *cell != NULL;
}

static int fill_table(gsa_table *table, const json_t *rows, json_t *columns)
{
    char cell[COLUMN], title[COLUMN];
    const char *name;
    json_t *ignored;
    int good = 1, c = 0;
    json_object_foreach (columns, name, ignored) {
        const int varied = *name == VARIED;
        snprintf(title, sizeof title, "%s", strcmp(name, "n") == 0 ? "seeds" : name + varied);
        for (char *at = title; *at && !varied; at++)
            if (*at == '_') *at = ' ';
        good = good && put_cell(table, 0, c, title);
        for (int r = 1; r < table->rows && good; r++) {
            write_cell(cell, sizeof cell, json_array_get(rows, (size_t)r - 1), name);
            good = put_cell(table, r, c, cell);
        }
        c++;
    }
    return good;
}

gsa_status gsa_results_table(const gsa_results *results, gsa_table *table, gsa_error *error)
{
    json_t *metrics, *rows = rows_of(results, &metrics), *columns = word_columns(rows);
    *table = (gsa_table){ .system = results->system, .texts = (int)json_object_size(columns) };
    json_object_del(metrics, "seconds");
    json_object_update(columns, metrics);
    json_object_set_new(columns, "n", json_null());
    json_object_set_new(columns, "seconds", json_null());
    json_object_set_new(columns, "parameters", json_null());
    table->rows = (int)json_array_size(rows) + 1, table->columns = (int)json_object_size(columns);
    const int64_t cells = (int64_t)table->rows * table->columns;
    if (cells <= MOST_CELLS)
        table->cell = gsa_alloc_zero(table->system, (size_t)table->rows * (size_t)table->columns,
                                     sizeof *table->cell);
    const gsa_plain plain = gsa_plain_begin();
    const int good = rows && table->cell && fill_table(table, rows, columns);
    gsa_plain_end(plain);
    json_decref(rows);
    json_decref(metrics);
    json_decref(columns);
    if (good) return GSA_OK;
    gsa_table_release(table);
    return cells <= MOST_CELLS
               ? gsa_out_of_memory(error, "the table", cells * (int64_t)sizeof *table->cell)
               : gsa_fail(
                     error, GSA_ERR_LIMIT,
                     "the table would have %lld cells, expected at most %d: give fewer files, or "
                     "those of one recipe",
                     (long long)cells, MOST_CELLS);
}
