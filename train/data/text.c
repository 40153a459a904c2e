#include "train/data/text.h"
#include "graph/index.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include "topologies/words.h"
#include "train/settings/keys.h"
#include "train/data/csv.h"
#include "train/data/objects.h"

static const char FASTTEXT[] = "__label__";
static const char *const role_names[] = { "label", "text" };

const char *gsa_text_format_name(int32_t format)
{
    static const char *const names[] = { "auto",  "tsv",    "fasttext", "sst", "stsa", "snli",
                                         "conll", "conllu", "chars",    "csv", "json" };
    return names[format];
}

int gsa_slice_compare(gsa_slice a, gsa_slice b)
{
    const int64_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = common ? memcmp(a.at, b.at, (size_t)common) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

gsa_status gsa_text_fail(const gsa_text_reader *reader, gsa_error *error, const char *format, ...)
{
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s", reader->text->path,
                    (long long)reader->number, why);
}

/* Room for `count` more of what *at holds `used` of. */
static gsa_status grow(const gsa_system *system, void **at, int64_t *room, int64_t used,
                       int64_t count, size_t size, gsa_error *error)
{
    if (used + count <= *room) return GSA_OK;
    const int64_t wanted = used + count > 2 * *room ? used + count : 2 * *room;
    void *larger = gsa_resize(system, *at, (size_t)wanted, size);
    if (!larger) return gsa_out_of_memory(error, "text", wanted * (int64_t)size);
    *at = larger, *room = wanted;
    return GSA_OK;
}

/* ---- tokens -------------------------------------------------------------------------------- */

static int is_space(int32_t c)
{
    if (c <= 0x20) return 1;
    if (c < 0x80) return 0;
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP || c == 0x85;
}

/* Marks and symbols. */
static int is_mark(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

int64_t gsa_lower_into(const char *from, int64_t bytes, char *to)
{
    int64_t used = 0;
    for (int64_t i = 0; i < bytes;) {
        utf8proc_int32_t c;
        i += utf8proc_iterate((const utf8proc_uint8_t *)from + i, bytes - i, &c);
        used += utf8proc_encode_char(utf8proc_tolower(c), (utf8proc_uint8_t *)to + used);
    }
    return used;
}

/* In place where the result fits, else in a spill that the text owns. */
static gsa_status lower_word(gsa_text *text, char **at, int64_t *bytes, gsa_error *error)
{
    char near[256], *to = near;
    const int64_t most = 4 * *bytes;
    if (most > (int64_t)sizeof near) to = gsa_alloc(text->system, (size_t)most, 1);
    if (!to) return gsa_out_of_memory(error, text->path, most);
    const int64_t used = gsa_lower_into(*at, *bytes, to);
    if (used > *bytes) {
        char **larger =
            gsa_resize(text->system, text->spills, (size_t)text->n_spills + 1, sizeof *larger);
        if (larger) text->spills = larger;
        *at = larger ? gsa_alloc(text->system, (size_t)used, 1) : NULL;
        if (*at) text->spills[text->n_spills++] = *at;
    }
    if (*at) memcpy(*at, to, (size_t)used), *bytes = used;
    if (to != near) gsa_release(text->system, to);
    return *at ? GSA_OK : gsa_out_of_memory(error, text->path, used);
}

static gsa_status add_token(gsa_text_reader *reader, const char *at, int64_t bytes,
                            gsa_error *error)
{
    void *words = reader->word;
    const gsa_status status = grow(reader->text->system, &words, &reader->room, reader->words, 1,
                                   sizeof *reader->word, error);
    reader->word = words;
    if (status == GSA_OK) reader->word[reader->words++] = (gsa_slice){ at, bytes };
    return status;
}

int32_t gsa_text_format_escapes(int32_t format)
{
    return format == GSA_TEXT_SST    ? GSA_ESCAPES_TREEBANK
           : format == GSA_TEXT_STSA ? GSA_ESCAPES_BRACKETS
                                     : GSA_ESCAPES_AUTO;
}

static gsa_status add_word(gsa_text_reader *reader, char *at, int64_t bytes, gsa_error *error)
{
    const int32_t own = gsa_text_format_escapes(reader->text->format),
                  told = reader->options->escapes, escapes = told == GSA_ESCAPES_AUTO ? own : told;
    if (escapes >= GSA_ESCAPES_BRACKETS)
        bytes = gsa_tree_unescape(at, bytes, escapes == GSA_ESCAPES_TREEBANK);
    gsa_status status =
        reader->options->lower ? lower_word(reader->text, &at, &bytes, error) : GSA_OK;
    if (status != GSA_OK) return status;
    if (reader->options->tokens == GSA_TOKENS_WORDS) return add_token(reader, at, bytes, error);
    const int chars = reader->options->tokens == GSA_TOKENS_CHARS;
    int64_t first = 0;
    for (int64_t i = 0; i < bytes && status == GSA_OK;) {
        utf8proc_int32_t c;
        const int64_t length = utf8proc_iterate((const utf8proc_uint8_t *)at + i, bytes - i, &c);
        const int alone = chars || is_mark(c);
        if (alone && i > first) status = add_token(reader, at + first, i - first, error);
        if (alone && status == GSA_OK) status = add_token(reader, at + i, length, error);
        i += length;
        if (alone) first = i;
    }
    return status == GSA_OK && first < bytes ? add_token(reader, at + first, bytes - first, error)
                                             : status;
}

static void blank_tags(char *at, int64_t bytes)
{
    for (char *const end = at + bytes; (at = memchr(at, '<', (size_t)(end - at))); at++) {
        const char next = (char)(at + 1 < end ? at[1] | 0x20 : 0); /* / and ! have that bit */
        const int tag = next == '/' || next == '!' || (next >= 'a' && next <= 'z');
        const char *stop = tag ? memchr(at, '>', (size_t)(end - at)) : NULL;
        if (stop) memset(at, ' ', (size_t)(stop + 1 - at));
    }
}

gsa_status gsa_text_tokenize(gsa_text_reader *reader, char *at, int64_t bytes, gsa_error *error)
{
    gsa_status status = GSA_OK;
    int64_t first = -1;
    if (reader->options->markup) blank_tags(at, bytes);
    for (int64_t i = 0; i < bytes && status == GSA_OK;) {
        utf8proc_int32_t c = (unsigned char)at[i];
        const int64_t length =
            c < 0x80 ? 1 : utf8proc_iterate((const utf8proc_uint8_t *)at + i, bytes - i, &c);
        const int space = is_space(c);
        if (space && first >= 0)
            status = add_word(reader, at + first, i - first, error), first = -1;
        if (!space && first < 0) first = i;
        i += length;
    }
    if (first >= 0 && status == GSA_OK) status = add_word(reader, at + first, bytes - first, error);
    return status;
}

/* A label is a line of labels.txt and a column of what predict writes. */
static gsa_status check_label(const gsa_text_reader *reader, gsa_slice label, gsa_error *error)
{
    char name[64], shown[GSA_SHOWN];
    if (label.bytes >= 3 && memcmp(label.at, "\xef\xbb\xbf", 3) == 0)
        return gsa_text_fail(reader, error, "the label starts with a byte order mark");
    for (int64_t i = 0; i < label.bytes; i++) {
        const unsigned char c = (unsigned char)label.at[i];
        if (c >= 0x20 && c != 0x7f) continue;
        snprintf(name, sizeof name, "%.*s", (int)(label.bytes < 63 ? label.bytes : 63), label.at);
        return gsa_text_fail(reader, error, "the label %s holds a control character",
                             gsa_word_show(name, shown));
    }
    return GSA_OK;
}

gsa_status gsa_text_add(gsa_text_reader *reader, gsa_slice label, int64_t first, int64_t last,
                        gsa_error *error)
{
    gsa_text *text = reader->text;
    int64_t count = last - first;
    gsa_status status = check_label(reader, label, error);
    if (status != GSA_OK) return status;
    if (count == 0 && reader->options->empty != GSA_EMPTY_KEEP)
        return gsa_text_fail(reader, error, "the example is empty: it holds no token");
    if (reader->options->max_length > 0 && count > reader->options->max_length) {
        count = reader->options->max_length;
        text->cut++;
    }
    if (count > gsa_index_most)
        return gsa_text_fail(reader, error, "the example has %lld tokens", (long long)count);
    if (text->examples + 1 >= text->example_room) {
        const int64_t room = 2 * text->example_room + 1024;
        void *offset = gsa_resize(text->system, text->offset, (size_t)room, sizeof *text->offset);
        if (offset) text->offset = offset;
        void *line =
            offset ? gsa_resize(text->system, text->line, (size_t)room, sizeof *text->line) : NULL;
        if (line) text->line = line;
        void *labels =
            line ? gsa_resize(text->system, text->label, (size_t)room, sizeof *text->label) : NULL;
        if (!labels) return gsa_out_of_memory(error, text->path, room * (int64_t)sizeof(gsa_slice));
        text->label = labels, text->example_room = room;
        if (text->examples == 0) text->offset[0] = 0;
    }
    void *tokens = text->token;
    status = grow(text->system, &tokens, &text->token_room, text->tokens, count,
                  sizeof *text->token, error);
    text->token = tokens;
    if (status != GSA_OK) return status;
    if (count > 0)
        memcpy(text->token + text->tokens, reader->word + first,
               (size_t)count * sizeof *text->token);
    text->tokens += count;
    text->line[text->examples] = reader->number, text->label[text->examples] = label;
    text->offset[++text->examples] = text->tokens;
    if (count > text->longest) text->longest = (int32_t)count;
    return GSA_OK;
}

const char *gsa_text_say_cut(int64_t texts, int64_t most, char out[GSA_CUT_ROOM])
{
    out[0] = 0;
    if (texts > 0)
        snprintf(out, GSA_CUT_ROOM, "; %lld of the file's texts are cut to %lld tokens",
                 (long long)texts, (long long)most);
    return out;
}

/* ---- lines --------------------------------------------------------------------------------- */

static gsa_status add_labelled(gsa_text_reader *reader, gsa_slice label, char *at, int64_t bytes,
                               gsa_error *error)
{
    if (label.bytes == 0) return gsa_text_fail(reader, error, "the label is empty");
    const gsa_status status = gsa_text_tokenize(reader, at, bytes, error);
    if (status == GSA_OK && reader->words == 0 && reader->options->empty == GSA_EMPTY_SKIP) {
        reader->text->skipped++;
        return GSA_OK;
    }
    return status == GSA_OK ? gsa_text_add(reader, label, 0, reader->words, error) : status;
}

static int own_columns(const gsa_text_options *options)
{
    return options->columns && *options->columns;
}

static gsa_status take_parts(gsa_text_reader *reader, const gsa_slice *part, int count,
                             gsa_error *error)
{
    const gsa_columns *columns = &reader->columns;
    gsa_slice found[2] = { { "", 0 }, { "", 0 } };
    if (count != columns->count) {
        char shown[32] = "more than 64";
        if (count > 0) snprintf(shown, sizeof shown, "%d", count);
        return gsa_text_fail(reader, error, "the line has %s column%s, expected %d%s%s", shown,
                             count == 1 ? "" : "s", columns->count,
                             own_columns(reader->options)           ? ", as data.columns says: "
                             : reader->text->format == GSA_TEXT_CSV ? ": label,text"
                                                                    : ": label<TAB>text",
                             own_columns(reader->options) ? reader->options->columns : "");
    }
    for (int i = 0; i < count; i++)
        if (columns->role[i] != GSA_COLUMN_PASSED) found[columns->role[i]] = part[i];
    return add_labelled(reader, found[0], (char *)(uintptr_t)found[1].at, found[1].bytes,
                        error); /* ours: the file's bytes */
}

static gsa_status read_tsv(gsa_text_reader *reader, const char *line, int64_t bytes,
                           gsa_error *error)
{
    gsa_slice part[GSA_COLUMNS];
    return take_parts(reader, part, gsa_columns_split(line, bytes, '\t', part), error);
}

static gsa_status read_csv(gsa_text_reader *reader, gsa_lines *lines, gsa_error *error)
{
    gsa_slice part[GSA_COLUMNS];
    const char separator = gsa_csv_separator(lines);
    int count, passed = !reader->options->header;
    gsa_status status = gsa_csv_next(lines, separator, part, &count, &reader->number, error);
    for (; status == GSA_OK && count; passed = 1) {
        reader->words = 0;
        if (passed) status = take_parts(reader, part, count, error);
        if (status == GSA_OK)
            status = gsa_csv_next(lines, separator, part, &count, &reader->number, error);
    }
    return status;
}

static gsa_status read_json(gsa_text_reader *reader, char *line, int64_t bytes, gsa_error *error)
{
    gsa_slice found[2];
    gsa_object_keys keys;
    gsa_status status = gsa_object_keys_read(
        reader->options->columns ? reader->options->columns : "", role_names, 2, &keys, error);
    if (status == GSA_OK)
        status = gsa_object_read(reader->text->path, reader->number, &keys, 0, line, bytes, found,
                                 error);
    return status == GSA_OK ? add_labelled(reader, found[0], (char *)(uintptr_t)found[1].at,
                                           found[1].bytes, error)
                            : status;
}

static gsa_status read_spaced(gsa_text_reader *reader, char *line, int64_t bytes, int64_t prefix,
                              gsa_error *error)
{
    int64_t stop = prefix;
    while (stop < bytes && line[stop] != ' ' && line[stop] != '\t') stop++;
    if (prefix == 0 && stop == bytes)
        return gsa_text_fail(reader, error, "the line has no blank, expected: LABEL text");
    return add_labelled(reader, (gsa_slice){ line + prefix, stop - prefix }, line + stop,
                        bytes - stop, error);
}

static int has_prefix(const char *line, int64_t bytes, const char *prefix)
{
    const int64_t length = (int64_t)strlen(prefix);
    return bytes >= length && memcmp(line, prefix, (size_t)length) == 0;
}

static gsa_status read_fasttext(gsa_text_reader *reader, char *line, int64_t bytes,
                                gsa_error *error)
{
    const int64_t prefix = (int64_t)sizeof FASTTEXT - 1;
    if (!has_prefix(line, bytes, FASTTEXT))
        return gsa_text_fail(
            reader, error, "the line does not start with __label__, expected: __label__LABEL text");
    int64_t second = prefix;
    while (second < bytes && line[second] != ' ' && line[second] != '\t') second++;
    while (second < bytes && (line[second] == ' ' || line[second] == '\t')) second++;
    if (has_prefix(line + second, bytes - second, FASTTEXT))
        return gsa_text_fail(reader, error, "the line has more than one __label__, expected one");
    return read_spaced(reader, line, bytes, prefix, error);
}

/* bytes > 0 */
static int32_t guess(const char *line, int64_t bytes)
{
    if (has_prefix(line, bytes, FASTTEXT)) return GSA_TEXT_FASTTEXT;
    const char *space = memchr(line, ' ', (size_t)bytes);
    if (line[0] == '{' && line[bytes - 1] == '}') return GSA_TEXT_JSON;
    if (line[0] == '(' && space && line[bytes - 1] == ')') return GSA_TEXT_SST;
    return memchr(line, '\t', (size_t)bytes) ? GSA_TEXT_TSV : GSA_TEXT_STSA;
}

static gsa_status read_line(gsa_text_reader *reader, char *line, int64_t bytes, gsa_error *error)
{
    gsa_text *text = reader->text;
    reader->words = 0;
    if (reader->options->unlabelled) {
        text->alike +=
            bytes > 0 && text->format != GSA_TEXT_STSA && guess(line, bytes) == text->format;
        const gsa_status status = gsa_text_tokenize(reader, line, bytes, error);
        return status == GSA_OK
                   ? gsa_text_add(reader, (gsa_slice){ "", 0 }, 0, reader->words, error)
                   : status;
    }
    if (bytes == 0) return gsa_text_fail(reader, error, "the line is empty");
    if (text->format == GSA_TEXT_AUTO) text->format = guess(line, bytes);
    switch (text->format) {
    case GSA_TEXT_TSV:
        return read_tsv(reader, line, bytes, error);
    case GSA_TEXT_JSON:
        return read_json(reader, line, bytes, error);
    case GSA_TEXT_FASTTEXT:
        return read_fasttext(reader, line, bytes, error);
    case GSA_TEXT_SST:
        return gsa_tree_read(reader, line, bytes, error);
    default:
        return read_spaced(reader, line, bytes, 0, error);
    }
}

/* `before`: lines of the file before them; -1: it is no file's block, and holds an example. */
static gsa_status read_lines(gsa_text *text, const gsa_text_options *options, int64_t bytes,
                             int64_t before, gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(text->path, text->bytes, bytes);
    if (before > 0) lines.number = before;
    gsa_text_reader reader = { .text = text, .options = options, .bytes = bytes };
    char *line;
    const int csv = text->format == GSA_TEXT_CSV && !options->unlabelled,
              json = text->format == GSA_TEXT_JSON;
    gsa_status status = GSA_OK;
    if (!json && !options->unlabelled)
        status = gsa_columns_read(own_columns(options) ? options->columns : "label,text",
                                  role_names, 2, &reader.columns, error);
    if (own_columns(options) && text->format == GSA_TEXT_AUTO) text->format = GSA_TEXT_TSV;
    lines.advice = gsa_encoding_advice;
    if (status == GSA_OK && csv) status = read_csv(&reader, &lines, error);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        reader.number = lines.number;
        if (options->header && lines.number == 1 && !options->unlabelled) continue;
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status == GSA_OK) status = read_line(&reader, line, bytes, error);
    }
    gsa_release(text->system, reader.word);
    if (status == GSA_OK && text->examples == 0 && !options->unlabelled && before < 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no example", text->path);
    return status;
}

gsa_status gsa_text_block(const gsa_system *system, const gsa_block *block,
                          const gsa_text_options *options, gsa_text *text, gsa_error *error)
{
    int64_t bytes = block->count;
    *text = (gsa_text){ .system = system, .format = options->format, .bytes = block->bytes };
    text->path = gsa_copy_text(system, block->path);
    gsa_status status = text->path
                            ? gsa_encoding_decode(system, block->path, options->encoding,
                                                  &text->bytes, &bytes, error)
                            : gsa_out_of_memory(error, block->path, (int64_t)strlen(block->path));
    if (status == GSA_OK) status = read_lines(text, options, bytes, block->line, error);
    if (status != GSA_OK) gsa_text_release(text);
    return status;
}

gsa_status gsa_text_read(const gsa_system *system, const char *path,
                         const gsa_text_options *options, gsa_text *text, gsa_error *error)
{
    int64_t bytes;
    *text = (gsa_text){ .system = system, .format = options->format };
    gsa_status status =
        gsa_encoding_read(system, path, options->encoding, &text->bytes, &bytes, error);
    if (status != GSA_OK) return status;
    text->path = gsa_copy_text(system, gsa_input_name(path));
    status = text->path ? read_lines(text, options, bytes, -1, error)
                        : gsa_out_of_memory(error, path, (int64_t)strlen(path));
    if (status != GSA_OK) gsa_text_release(text);
    return status;
}

gsa_status gsa_text_take(const gsa_system *system, const char *name, const char *at,
                         const gsa_text_options *options, gsa_text *text, gsa_error *error)
{
    const int64_t bytes = (int64_t)strlen(at);
    gsa_text_options unlabelled = *options;
    unlabelled.unlabelled = 1;
    *text = (gsa_text){ .system = system, .format = GSA_TEXT_TSV };
    text->path = gsa_copy_text(system, name);
    text->bytes = gsa_copy_text(system, at);
    if (!text->path || !text->bytes) {
        gsa_text_release(text);
        return gsa_out_of_memory(error, name, bytes);
    }
    for (char *c = text->bytes; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    gsa_status status = GSA_OK;
    if (strspn(text->bytes, " \t") < (size_t)bytes)
        status = read_lines(text, &unlabelled, bytes, -1, error);
    else status = gsa_fail(error, GSA_ERR_ARGUMENT, "%s is empty: it holds no token", name);
    if (status != GSA_OK) gsa_text_release(text);
    return status;
}

void gsa_text_release(gsa_text *text)
{
    for (int64_t i = 0; i < text->n_spills; i++) gsa_release(text->system, text->spills[i]);
    gsa_release(text->system, text->spills);
    gsa_release(text->system, text->offset);
    gsa_release(text->system, text->line);
    gsa_release(text->system, text->label);
    gsa_release(text->system, text->token);
    gsa_release(text->system, text->bytes);
    gsa_release(text->system, text->path);
    *text = (gsa_text){ 0 };
}
