#include "train/data/parallel.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/settings/keys.h"
#include "train/data/lines.h"

enum { PATH = 4096, MOST_COLUMNS = 64, PASSED = -1 };
static const int64_t LARGEST = INT64_C(1) << 36;

static gsa_text_options sentences(const gsa_parallel_options *o)
{
    return (gsa_text_options){ .format = GSA_TEXT_TSV,
                               .lower = o->lower,
                               .tokens = o->tokens,
                               .unlabelled = 1,
                               .empty = GSA_EMPTY_KEEP };
}

gsa_status gsa_parallel_read_lines(const gsa_system *system, const char *path,
                                   const gsa_parallel_options *options, gsa_text *text,
                                   gsa_error *error)
{
    const gsa_text_options o = sentences(options);
    return gsa_text_read(system, path, &o, text, error);
}

/* ---- documents ----------------------------------------------------------------------------- */

static int is_empty(const gsa_text *text, int64_t example)
{
    return text->offset[example] == text->offset[example + 1];
}

/* Lines that both sides have are empty on both or on none. */
static gsa_status check_borders(const gsa_text *side, gsa_error *error)
{
    static const char *const names[] = { "source", "target" };
    const int64_t lines = side[0].examples < side[1].examples ? side[0].examples : side[1].examples;
    for (int64_t e = 0; e < lines; e++) {
        const int none = is_empty(&side[GSA_SOURCE], e) ? GSA_SOURCE : GSA_TARGET, some = !none;
        if (is_empty(&side[none], e) == is_empty(&side[some], e)) continue;
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: the %s is empty and the %s of %s:%lld is not: with "
                        "data.documents = 1 an empty line parts "
                        "documents, in both languages",
                        side[none].path, (long long)side[none].line[e], names[none], names[some],
                        side[some].path, (long long)side[some].line[e]);
    }
    return GSA_OK;
}

/* ---- two files ----------------------------------------------------------------------------- */

static gsa_status read_files(const gsa_system *system, const char *path,
                             const gsa_parallel_options *o, gsa_text *side, gsa_error *error)
{
    char name[PATH];
    gsa_status status = GSA_OK;
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++) {
        if (snprintf(name, sizeof name, "%s.%s", path, o->suffix[s]) >= PATH)
            return gsa_fail(error, GSA_ERR_LIMIT, "the path '%.60s...' has more than %d bytes",
                            path, PATH - 1);
        if (system->kind(system->user, name, NULL) == GSA_FILE_ABSENT)
            return gsa_fail(error, GSA_ERR_IO,
                            "there is no file '%s': '%s' with '.%s' of data.%s after it", name,
                            path, o->suffix[s], s == GSA_SOURCE ? "source" : "target");
        status = gsa_parallel_read_lines(system, name, o, &side[s], error);
    }
    if (status == GSA_OK && o->documents) status = check_borders(side, error);
    if (status != GSA_OK || side[0].examples == side[1].examples) return status;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s has %lld lines, %s has %lld: parallel text has equally many", side[0].path,
                    (long long)side[0].examples, side[1].path, (long long)side[1].examples);
}

/* ---- one file ------------------------------------------------------------------------------ */

typedef struct table {
    gsa_text_reader side[GSA_SIDES];
    int role[MOST_COLUMNS], columns, documents;
} table;

/* The end of the column that starts at `at`: the next `separator`, or `end`. */
static const char *column_end(const char *at, const char *end, char separator)
{
    const char *stop = at < end ? memchr(at, separator, (size_t)(end - at)) : NULL;
    return stop ? stop : end;
}

static int role_of(const char *name, int64_t bytes)
{
    static const char *const names[] = { "source", "target" };
    for (int r = 0; r < GSA_SIDES; r++)
        if ((int64_t)strlen(names[r]) == bytes && memcmp(names[r], name, (size_t)bytes) == 0)
            return r;
    return PASSED;
}

static gsa_status read_columns(const char *text, table *t, gsa_error *error)
{
    const char *end = text + strlen(text);
    char shown[GSA_SHOWN];
    int seen[GSA_SIDES] = { 0 };
    for (const char *at = text, *stop;; at = stop + 1) {
        stop = column_end(at, end, ',');
        const int role = role_of(at, stop - at), passed = stop - at == 1 && *at == '-';
        if ((role == PASSED && !passed) || t->columns == MOST_COLUMNS)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "data.columns = %s, expected a list of source, target and -",
                            gsa_word_show(text, shown));
        if (role != PASSED) seen[role]++;
        t->role[t->columns++] = role;
        if (stop == end) break;
    }
    if (seen[GSA_SOURCE] == 1 && seen[GSA_TARGET] == 1) return GSA_OK;
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "data.columns = %s names source %d times and target %d times, expected each once",
        gsa_word_show(text, shown), seen[GSA_SOURCE], seen[GSA_TARGET]);
}

static gsa_status add_side(gsa_text_reader *side, char *at, int64_t bytes, gsa_error *error)
{
    side->words = 0;
    const gsa_status status = gsa_text_tokenize(side, at, bytes, error);
    return status == GSA_OK ? gsa_text_add(side, (gsa_slice){ "", 0 }, 0, side->words, error)
                            : status;
}

static gsa_status read_row(table *t, char *line, int64_t bytes, gsa_error *error)
{
    const char *end = line + bytes;
    gsa_status status = GSA_OK;
    int columns = 1;
    for (int64_t i = 0; i < bytes; i++) columns += line[i] == '\t';
    if (bytes == 0 && t->documents) {
        for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++)
            status = add_side(&t->side[s], line, 0, error);
        return status;
    }
    if (columns != t->columns)
        return gsa_text_fail(&t->side[0], error,
                             "the line has %d column%s, expected %d with tabs between them",
                             columns, columns == 1 ? "" : "s", t->columns);
    for (int c = 0; c < columns && status == GSA_OK; c++) {
        const char *stop = column_end(line, end, '\t');
        if (t->role[c] != PASSED) status = add_side(&t->side[t->role[c]], line, stop - line, error);
        line += stop - line + 1;
    }
    return status;
}

static gsa_status read_rows(table *t, int64_t bytes, gsa_error *error)
{
    gsa_text *text = t->side[0].text;
    gsa_lines lines = gsa_lines_start(text->path, text->bytes, bytes);
    gsa_status status = GSA_OK;
    char *line;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        for (int s = 0; s < GSA_SIDES; s++) t->side[s].number = lines.number;
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status == GSA_OK) status = read_row(t, line, bytes, error);
    }
    return status;
}

static gsa_status read_table(const gsa_system *system, const char *path,
                             const gsa_parallel_options *o, gsa_text *side, gsa_error *error)
{
    const gsa_text_options options = sentences(o);
    int64_t bytes = 0;
    table t = { .documents = o->documents };
    gsa_status status = read_columns(*o->columns ? o->columns : "source,target", &t, error);
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++) {
        side[s] = (gsa_text){ .system = system,
                              .format = GSA_TEXT_TSV,
                              .path = gsa_copy_text(system, path) };
        t.side[s] = (gsa_text_reader){ .text = &side[s], .options = &options };
        if (!side[s].path) status = gsa_out_of_memory(error, path, (int64_t)strlen(path));
    }
    if (status == GSA_OK)
        status = gsa_read_file(system, path, LARGEST, &side[0].bytes, &bytes, error);
    if (status == GSA_OK) status = read_rows(&t, bytes, error);
    if (status == GSA_OK && o->documents) status = check_borders(side, error);
    for (int s = 0; s < GSA_SIDES; s++) gsa_release(system, t.side[s].word);
    return status;
}

gsa_status gsa_parallel_read(const gsa_system *system, const char *path,
                             const gsa_parallel_options *o, gsa_text side[GSA_SIDES],
                             gsa_error *error)
{
    gsa_status status;
    for (int s = 0; s < GSA_SIDES; s++) side[s] = (gsa_text){ .system = system };
    if (!*o->suffix[GSA_SOURCE] != !*o->suffix[GSA_TARGET])
        status =
            gsa_fail(error, GSA_ERR_ARGUMENT,
                     "data.source is '%s' and data.target is '%s': two files need both, one none",
                     o->suffix[GSA_SOURCE], o->suffix[GSA_TARGET]);
    else if (*o->suffix[GSA_SOURCE]) status = read_files(system, path, o, side, error);
    else status = read_table(system, path, o, side, error);
    if (status == GSA_OK && (side[0].examples == 0 || (o->documents && side[0].tokens == 0)))
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no sentence", side[0].path);
    for (int s = 0; s < GSA_SIDES && status != GSA_OK; s++)
        if (side[s].system) gsa_text_release(&side[s]);
    return status;
}
