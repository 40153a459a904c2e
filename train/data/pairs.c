#include "train/data/pairs.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/settings/keys.h"
#include "train/data/lines.h"

enum { LABEL, A, B, ROLES };
static const char *const role_names[ROLES] = { "label", "a", "b" };

typedef struct pair_reader {
    gsa_text_reader side[2];
    const gsa_text_options *options;
    gsa_pairs *pairs;
    gsa_columns columns;
} pair_reader;

#define FAIL(reader, error, ...) gsa_text_fail(&(reader)->side[0], error, __VA_ARGS__)

/* ---- columns --------------------------------------------------------------------------------------------------------------- */

static int32_t role_of(gsa_slice name)
{
    static const struct {
        const char *name;
        int32_t role;
    } known[] = { { "label", LABEL }, { "gold_label", LABEL }, { "a", A },          { "b", B },         { "sentence1", A },
                  { "sentence2", B }, { "premise", A },        { "hypothesis", B }, { "question1", A }, { "question2", B } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((int64_t)strlen(known[i].name) == name.bytes && memcmp(known[i].name, name.at, (size_t)name.bytes) == 0)
            return known[i].role;
    return GSA_COLUMN_PASSED;
}

static gsa_status read_header(pair_reader *r, const char *line, int64_t bytes, gsa_error *error)
{
    char place[512];
    gsa_slice part[GSA_COLUMNS];
    const int count = r->columns.count = gsa_columns_split(line, bytes, '\t', part);
    if (count < 0) return FAIL(r, error, "the header has more than %d columns", GSA_COLUMNS);
    for (int i = 0; i < count; i++) r->columns.role[i] = role_of(part[i]);
    snprintf(place, sizeof place, "%s:1", r->side[0].text->path);
    return gsa_columns_check(&r->columns, role_names, ROLES, place, error);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------ */

static gsa_status cut_side(pair_reader *r, int s, gsa_slice sentence, gsa_error *error)
{
    char *at = (char *)(uintptr_t)sentence.at; /* ours: the bytes of the file */
    r->side[s].words = 0;
    const gsa_status status = gsa_text_tokenize(&r->side[s], at, sentence.bytes, error);
    if (status != GSA_OK || r->side[s].words > 0 || (r->options->empty == GSA_EMPTY_SKIP && !r->options->unlabelled))
        return status;
    return FAIL(r, error, "sentence %s is empty: it holds no token", s ? "b" : "a");
}

static gsa_status add_pair(pair_reader *r, const gsa_slice part[ROLES], gsa_error *error)
{
    if (part[LABEL].bytes == 0 && !r->options->unlabelled) return FAIL(r, error, "the label is empty");
    gsa_status status = cut_side(r, 0, part[A], error);
    if (status == GSA_OK) status = cut_side(r, 1, part[B], error);
    if (status == GSA_OK && (r->side[0].words == 0 || r->side[1].words == 0)) {
        r->pairs->side[0].skipped++;
        return GSA_OK;
    }
    if (status == GSA_OK) status = gsa_text_add(&r->side[0], part[LABEL], 0, r->side[0].words, error);
    return status == GSA_OK ? gsa_text_add(&r->side[1], (gsa_slice){ "", 0 }, 0, r->side[1].words, error) : status;
}

static gsa_status read_tsv(pair_reader *r, const char *line, int64_t bytes, gsa_error *error)
{
    gsa_slice part[GSA_COLUMNS], pair[ROLES] = { { "", 0 } };
    const int count = gsa_columns_split(line, bytes, '\t', part);
    if (count != r->columns.count) {
        char found[32] = "more than 64";
        if (count > 0) snprintf(found, sizeof found, "%d", count);
        return FAIL(r, error, "the line has %s column%s, expected %d%s", found, count == 1 ? "" : "s", r->columns.count,
                    r->options->unlabelled ? ": a<TAB>b" : "");
    }
    for (int i = 0; i < count; i++)
        if (r->columns.role[i] != GSA_COLUMN_PASSED) pair[r->columns.role[i]] = part[i];
    return add_pair(r, pair, error);
}

/* A string of the object, copied to *to, which moves on: what is decoded is no longer than what stood in the line. */
static gsa_status take_field(pair_reader *r, const json_t *object, const char *name, char **to, const char *end,
                             gsa_slice *field, gsa_error *error)
{
    const json_t *value = json_object_get(object, name);
    if (!value) return FAIL(r, error, "the object has no field '%s'", name);
    if (!json_is_string(value)) return FAIL(r, error, "field '%s' is no string", name);
    const size_t bytes = json_string_length(value);
    if (bytes > (size_t)(end - *to)) return FAIL(r, error, "field '%s' is longer than its line", name);
    memcpy(*to, json_string_value(value), bytes);
    *field = (gsa_slice){ *to, (int64_t)bytes };
    *to += bytes;
    return GSA_OK;
}

static gsa_status read_object(pair_reader *r, const json_t *object, char *line, int64_t bytes, gsa_error *error)
{
    static const char *const names[ROLES] = { "gold_label", "sentence1", "sentence2" };
    gsa_slice pair[ROLES] = { { "", 0 } };
    gsa_status status = GSA_OK;
    char *to = line;
    if (!json_is_object(object)) return FAIL(r, error, "the line is no JSON object");
    for (int f = r->options->unlabelled ? A : LABEL; f < ROLES && status == GSA_OK; f++)
        status = take_field(r, object, names[f], &to, line + bytes, &pair[f], error);
    if (status != GSA_OK) return status;
    if (pair[LABEL].bytes == 1 && pair[LABEL].at[0] == '-') {
        r->pairs->skipped++;
        return GSA_OK;
    }
    return add_pair(r, pair, error);
}

static gsa_status read_json(pair_reader *r, char *line, int64_t bytes, gsa_error *error)
{
    json_error_t why;
    json_t *object = json_loadb(line, (size_t)bytes, JSON_REJECT_DUPLICATES, &why);
    if (!object) return FAIL(r, error, "no JSON: %s (byte %d)", why.text, why.position);
    const gsa_status status = read_object(r, object, line, bytes, error);
    json_decref(object);
    return status;
}

static gsa_status read_line(pair_reader *r, char *line, int64_t bytes, gsa_error *error)
{
    if (bytes == 0) return FAIL(r, error, "the line is empty");
    if (r->pairs->format == GSA_TEXT_AUTO) r->pairs->format = line[0] == '{' ? GSA_TEXT_SNLI : GSA_TEXT_TSV;
    return r->pairs->format == GSA_TEXT_SNLI ? read_json(r, line, bytes, error) : read_tsv(r, line, bytes, error);
}

/* ---- files ------------------------------------------------------------------------------------------------------------------ */

static gsa_status read_lines(pair_reader *r, const char *columns, int64_t bytes, gsa_error *error)
{
    gsa_text *text = r->side[0].text;
    gsa_lines lines = gsa_lines_start(text->path, text->bytes, bytes);
    lines.advice = gsa_encoding_advice;
    gsa_status status = GSA_OK;
    char *line;
    const int header = r->options->header && !r->options->unlabelled && r->pairs->format != GSA_TEXT_SNLI;
    if (header) r->pairs->format = GSA_TEXT_TSV;
    r->columns = r->options->unlabelled ? (gsa_columns){ { A, B }, 2 } : (gsa_columns){ { LABEL, A, B }, 3 };
    if (*columns && !r->options->unlabelled) status = gsa_columns_read(columns, role_names, ROLES, &r->columns, error);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        r->side[0].number = r->side[1].number = lines.number;
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status != GSA_OK) break;
        if (!header || lines.number > 1) status = read_line(r, line, bytes, error);
        else if (!*columns) status = read_header(r, line, bytes, error);
    }
    if (status == GSA_OK && text->examples == 0 && !r->options->unlabelled)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no pair", text->path);
    return status;
}

static gsa_status open_side(gsa_text *text, const gsa_system *system, const char *path, gsa_error *error)
{
    *text = (gsa_text){ .system = system, .format = GSA_TEXT_TSV };
    text->path = gsa_copy_text(system, strcmp(path, "-") == 0 ? "standard input" : path);
    return text->path ? GSA_OK : gsa_out_of_memory(error, path, (int64_t)strlen(path));
}

gsa_status gsa_pairs_read(const gsa_system *system, const char *path, const gsa_text_options *options, const char *columns,
                          gsa_pairs *pairs, gsa_error *error)
{
    int64_t bytes = 0;
    *pairs = (gsa_pairs){ .format = options->format };
    pair_reader r = { .options = options, .pairs = pairs };
    gsa_status status = GSA_OK;
    for (int s = 0; s < 2 && status == GSA_OK; s++) {
        status = open_side(&pairs->side[s], system, path, error);
        r.side[s] = (gsa_text_reader){ .text = &pairs->side[s], .options = options };
    }
    if (status == GSA_OK) status = gsa_encoding_read(system, path, options->encoding, &pairs->side[0].bytes, &bytes, error);
    if (status == GSA_OK) status = read_lines(&r, columns, bytes, error);
    for (int s = 0; s < 2; s++) gsa_release(system, r.side[s].word);
    if (status != GSA_OK) gsa_pairs_release(pairs);
    return status;
}

void gsa_pairs_release(gsa_pairs *pairs)
{
    for (int s = 0; s < 2; s++)
        if (pairs->side[s].system) gsa_text_release(&pairs->side[s]);
    *pairs = (gsa_pairs){ 0 };
}
