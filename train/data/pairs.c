#include "train/data/pairs.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/settings/keys.h"
#include "train/data/csv.h"
#include "train/data/objects.h"

enum { LABEL, A, B, ROLES };
static const char *const role_names[ROLES] = { "label", "a", "b" };

typedef struct pair_reader {
    gsa_text_reader side[2];
    const gsa_text_options *options;
    gsa_pairs *pairs;
    gsa_columns columns;
    gsa_object_keys keys;
} pair_reader;

#define FAIL(reader, error, ...) gsa_text_fail(&(reader)->side[0], error, __VA_ARGS__)

/* ---- columns ------------------------------------------------------------------------------- */

static int32_t role_of(gsa_slice name)
{
    static const struct {
        const char *name;
        int32_t role;
    } known[] = { { "label", LABEL }, { "gold_label", LABEL }, { "a", A },
                  { "b", B },         { "sentence1", A },      { "sentence2", B },
                  { "premise", A },   { "hypothesis", B },     { "question1", A },
                  { "question2", B } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((int64_t)strlen(known[i].name) == name.bytes &&
            memcmp(known[i].name, name.at, (size_t)name.bytes) == 0)
            return known[i].role;
    return GSA_COLUMN_PASSED;
}

static gsa_status read_header(pair_reader *r, const gsa_slice *part, int count, gsa_error *error)
{
    char place[512];
    r->columns.count = count;
    if (count < 0) return FAIL(r, error, "the header has more than %d columns", GSA_COLUMNS);
    for (int i = 0; i < count; i++) r->columns.role[i] = role_of(part[i]);
    snprintf(place, sizeof place, "%s:1", r->side[0].text->path);
    return gsa_columns_check(&r->columns, role_names, ROLES, place, error);
}

/* ---- pairs --------------------------------------------------------------------------------- */

static gsa_status cut_side(pair_reader *r, int s, gsa_slice sentence, gsa_error *error)
{
    char *at = (char *)(uintptr_t)sentence.at; /* ours: the bytes of the file */
    r->side[s].words = 0;
    const gsa_status status = gsa_text_tokenize(&r->side[s], at, sentence.bytes, error);
    if (status != GSA_OK || r->side[s].words > 0 ||
        (r->options->empty == GSA_EMPTY_SKIP && !r->options->unlabelled))
        return status;
    return FAIL(r, error, "sentence %s is empty: it holds no token", s ? "b" : "a");
}

static gsa_status add_pair(pair_reader *r, const gsa_slice part[ROLES], gsa_error *error)
{
    if (part[LABEL].bytes == 0 && !r->options->unlabelled)
        return FAIL(r, error, "the label is empty");
    gsa_status status = cut_side(r, 0, part[A], error);
    if (status == GSA_OK) status = cut_side(r, 1, part[B], error);
    if (status == GSA_OK && (r->side[0].words == 0 || r->side[1].words == 0)) {
        r->pairs->side[0].skipped++;
        return GSA_OK;
    }
    if (status == GSA_OK)
        status = gsa_text_add(&r->side[0], part[LABEL], 0, r->side[0].words, error);
    return status == GSA_OK
               ? gsa_text_add(&r->side[1], (gsa_slice){ "", 0 }, 0, r->side[1].words, error)
               : status;
}

static gsa_status take_parts(pair_reader *r, const gsa_slice *part, int count, gsa_error *error)
{
    gsa_slice pair[ROLES] = { { "", 0 } };
    if (count != r->columns.count) {
        char found[32] = "more than 64";
        if (count > 0) snprintf(found, sizeof found, "%d", count);
        return FAIL(r, error, "the line has %s column%s, expected %d%s", found,
                    count == 1 ? "" : "s", r->columns.count,
                    r->options->unlabelled ? ": a<TAB>b" : "");
    }
    for (int i = 0; i < count; i++)
        if (r->columns.role[i] != GSA_COLUMN_PASSED) pair[r->columns.role[i]] = part[i];
    return add_pair(r, pair, error);
}

static gsa_status read_json(pair_reader *r, char *line, int64_t bytes, gsa_error *error)
{
    gsa_slice pair[ROLES] = { { "", 0 } };
    const gsa_status status =
        gsa_object_read(r->side[0].text->path, r->side[0].number, &r->keys,
                        r->options->unlabelled ? A : LABEL, line, bytes, pair, error);
    if (status != GSA_OK) return status;
    if (r->pairs->format == GSA_TEXT_SNLI && pair[LABEL].bytes == 1 && pair[LABEL].at[0] == '-') {
        r->pairs->skipped++;
        return GSA_OK;
    }
    return add_pair(r, pair, error);
}

static int is_json(int32_t format)
{
    return format == GSA_TEXT_SNLI || format == GSA_TEXT_JSON;
}

static gsa_status read_line(pair_reader *r, char *line, int64_t bytes, gsa_error *error)
{
    if (bytes == 0) return FAIL(r, error, "the line is empty");
    if (r->pairs->format == GSA_TEXT_AUTO)
        r->pairs->format = line[0] == '{' ? GSA_TEXT_SNLI : GSA_TEXT_TSV;
    if (is_json(r->pairs->format)) return read_json(r, line, bytes, error);
    gsa_slice part[GSA_COLUMNS];
    return take_parts(r, part, gsa_columns_split(line, bytes, '\t', part), error);
}

static gsa_status read_csv(pair_reader *r, gsa_lines *lines, const char *columns, gsa_error *error)
{
    gsa_slice part[GSA_COLUMNS];
    const char separator = gsa_csv_separator(lines);
    int count, first = r->options->header;
    gsa_status status = GSA_OK;
    for (; status == GSA_OK; first = 0) {
        status = gsa_csv_next(lines, separator, part, &count, &r->side[0].number, error);
        r->side[1].number = r->side[0].number;
        if (status != GSA_OK || count == 0) break;
        if (!first) status = take_parts(r, part, count, error);
        else if (!*columns) status = read_header(r, part, count, error);
    }
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Which columns, or which fields of objects. */
static gsa_status settle_columns(pair_reader *r, const char *columns, gsa_error *error)
{
    static const char *const snli[ROLES] = { "gold_label", "sentence1", "sentence2" };
    const int json = r->pairs->format == GSA_TEXT_JSON;
    gsa_status status =
        gsa_object_keys_read(json ? columns : "", json ? role_names : snli, ROLES, &r->keys, error);
    r->columns =
        r->options->unlabelled ? (gsa_columns){ { A, B }, 2 } : (gsa_columns){ { LABEL, A, B }, 3 };
    if (status == GSA_OK && *columns && !r->options->unlabelled && !json)
        status = gsa_columns_read(columns, role_names, ROLES, &r->columns, error);
    return status;
}

/* `before`: lines of the file before them; -1: it is no file's block, and holds a pair. */
static gsa_status read_lines(pair_reader *r, const char *columns, int64_t bytes, int64_t before,
                             gsa_error *error)
{
    gsa_text *text = r->side[0].text;
    gsa_lines lines = gsa_lines_start(text->path, text->bytes, bytes);
    if (before > 0) lines.number = before;
    lines.advice = gsa_encoding_advice;
    gsa_status status = GSA_OK;
    char *line;
    const int header = r->options->header && !r->options->unlabelled && !is_json(r->pairs->format);
    const int csv = r->pairs->format == GSA_TEXT_CSV && !r->options->unlabelled;
    if (header && !csv) r->pairs->format = GSA_TEXT_TSV;
    status = settle_columns(r, columns, error);
    if (status == GSA_OK && csv) status = read_csv(r, &lines, columns, error);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        gsa_slice part[GSA_COLUMNS];
        r->side[0].number = r->side[1].number = lines.number;
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status != GSA_OK) break;
        if (!header || lines.number > 1) status = read_line(r, line, bytes, error);
        else if (!*columns)
            status = read_header(r, part, gsa_columns_split(line, bytes, '\t', part), error);
    }
    if (status == GSA_OK && text->examples == 0 && !r->options->unlabelled && before < 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no pair", text->path);
    return status;
}

static gsa_status open_side(gsa_text *text, const gsa_system *system, const char *path,
                            gsa_error *error)
{
    *text = (gsa_text){ .system = system, .format = GSA_TEXT_TSV };
    text->path = gsa_copy_text(system, gsa_input_name(path));
    return text->path ? GSA_OK : gsa_out_of_memory(error, path, (int64_t)strlen(path));
}

/* From the bytes of a file, or of a block of it. */
static gsa_status read_bytes(const gsa_system *system, const char *path, const gsa_block *block,
                             const gsa_text_options *options, const char *columns, gsa_pairs *pairs,
                             gsa_error *error)
{
    int64_t bytes = block ? block->count : 0;
    *pairs = (gsa_pairs){ .format = options->format };
    pair_reader r = { .options = options, .pairs = pairs };
    gsa_status status = GSA_OK;
    for (int s = 0; s < 2 && status == GSA_OK; s++) {
        status = open_side(&pairs->side[s], system, path, error);
        r.side[s] = (gsa_text_reader){ .text = &pairs->side[s], .options = options };
    }
    char **const at = &pairs->side[0].bytes;
    if (block) *at = block->bytes;
    if (status == GSA_OK)
        status = block ? gsa_encoding_decode(system, path, options->encoding, at, &bytes, error)
                       : gsa_encoding_read(system, path, options->encoding, at, &bytes, error);
    if (status == GSA_OK) status = read_lines(&r, columns, bytes, block ? block->line : -1, error);
    for (int s = 0; s < 2; s++) gsa_release(system, r.side[s].word);
    if (status != GSA_OK) gsa_pairs_release(pairs);
    return status;
}

gsa_status gsa_pairs_read(const gsa_system *system, const char *path,
                          const gsa_text_options *options, const char *columns, gsa_pairs *pairs,
                          gsa_error *error)
{
    return read_bytes(system, path, NULL, options, columns, pairs, error);
}

gsa_status gsa_pairs_block(const gsa_system *system, const gsa_block *block,
                           const gsa_text_options *options, const char *columns, gsa_pairs *pairs,
                           gsa_error *error)
{
    return read_bytes(system, block->path, block, options, columns, pairs, error);
}

void gsa_pairs_release(gsa_pairs *pairs)
{
    for (int s = 0; s < 2; s++)
        if (pairs->side[s].system) gsa_text_release(&pairs->side[s]);
    *pairs = (gsa_pairs){ 0 };
}
