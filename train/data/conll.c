#include "train/data/conll.h"
#include "graph/index.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/data/lines.h"

enum { U_COLUMNS = 10 };

typedef struct reader {
    gsa_conll *conll;
    const gsa_conll_options *options;
    gsa_lines lines;
    int64_t expected;   /* conllu: the next number */
    int64_t first_line; /* that columns were counted on */
} reader;

const char *gsa_conll_format_name(int32_t format)
{
    static const char *const names[] = { "auto", "conll", "conllu", "chars" };
    return names[format];
}

static gsa_status fail(const reader *r, gsa_error *error, const char *format, ...) GSA_PRINTF(3, 4);
static gsa_status fail(const reader *r, gsa_error *error, const char *format, ...)
{
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s", r->conll->path,
                    (long long)r->lines.number, why);
}

static gsa_status fail_word(const reader *r, gsa_error *error, const char *what, gsa_slice word,
                            const char *why)
{
    char name[64], shown[GSA_SHOWN];
    snprintf(name, sizeof name, "%.*s", (int)(word.bytes < 63 ? word.bytes : 63), word.at);
    return fail(r, error, "the %s %s %s", what, gsa_word_show(name, shown), why);
}

static int starts(const char *at, int64_t bytes, const char *mark)
{
    const int64_t length = (int64_t)strlen(mark);
    return bytes >= length && memcmp(at, mark, (size_t)length) == 0;
}

/* ---- sentences ----------------------------------------------------------------------------- */

static gsa_status end_sentence(reader *r, gsa_error *error)
{
    gsa_conll *conll = r->conll;
    r->expected = 1;
    if (conll->sentences + 1 >= conll->sentence_room) {
        const int64_t room = 2 * conll->sentence_room + 1024;
        int64_t *larger = gsa_resize(conll->system, conll->offset, (size_t)room, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, conll->path, room * (int64_t)sizeof *larger);
        conll->offset = larger, conll->sentence_room = room;
        if (conll->sentences == 0) larger[0] = 0;
    }
    const int64_t length = conll->tokens - conll->offset[conll->sentences];
    if (length == 0) return GSA_OK;
    if (length > gsa_index_most)
        return fail(r, error, "the sentence has %lld tokens", (long long)length);
    conll->offset[++conll->sentences] = conll->tokens;
    if (length > conll->longest) conll->longest = length;
    return GSA_OK;
}

/* Words become lines of vocab.txt, tags of labels.txt. */
static gsa_status check_field(const reader *r, const char *what, gsa_slice field, gsa_error *error)
{
    if (starts(field.at, field.bytes, "\xef\xbb\xbf"))
        return fail(r, error, "the %s starts with a byte order mark", what);
    for (int64_t i = 0; i < field.bytes; i++) {
        const unsigned char c = (unsigned char)field.at[i];
        if (c < 0x20 || c == 0x7f)
            return fail_word(r, error, what, field, "holds a control character");
    }
    return GSA_OK;
}

static gsa_status hold_sides(reader *r, int64_t room, gsa_error *error)
{
    gsa_conll *conll = r->conll;
    for (int32_t i = 0; i < r->options->sides; i++) {
        gsa_slice *side = gsa_resize(conll->system, conll->side[i], (size_t)room, sizeof *side);
        if (!side) return gsa_out_of_memory(error, conll->path, room * (int64_t)sizeof *side);
        conll->side[i] = side;
    }
    return GSA_OK;
}

static gsa_status add_token(reader *r, gsa_slice word, gsa_slice tag, gsa_error *error)
{
    gsa_conll *conll = r->conll;
    gsa_status status = check_field(r, "token", word, error);
    if (status == GSA_OK) status = check_field(r, "tag", tag, error);
    if (status != GSA_OK) return status;
    if (conll->tokens == conll->token_room) {
        const int64_t room = 2 * conll->token_room + 4096;
        void *line = gsa_resize(conll->system, conll->line, (size_t)room, sizeof *conll->line);
        if (line) conll->line = line;
        void *words =
            line ? gsa_resize(conll->system, conll->word, (size_t)room, sizeof *conll->word) : NULL;
        if (words) conll->word = words;
        void *tags =
            words ? gsa_resize(conll->system, conll->tag, (size_t)room, sizeof *conll->tag) : NULL;
        if (!tags) return gsa_out_of_memory(error, conll->path, room * (int64_t)sizeof(gsa_slice));
        conll->tag = tags;
        status = hold_sides(r, room, error);
        if (status != GSA_OK) return status;
        conll->token_room = room;
    }
    conll->line[conll->tokens] = r->lines.number;
    conll->word[conll->tokens] = word, conll->tag[conll->tokens++] = tag;
    return GSA_OK;
}

/* ---- columns ------------------------------------------------------------------------------- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The column that starts at *at or after it; moves *at after it. 0 at the end of the line. */
static int next_column(const reader *r, gsa_slice line, int64_t *at, gsa_slice *column)
{
    int64_t first = *at;
    if (r->conll->tabs) {
        if (first > line.bytes) return 0;
        while (*at < line.bytes && line.at[*at] != '\t') ++*at;
        *column = (gsa_slice){ line.at + first, *at - first };
        ++*at;
        return 1;
    }
    while (first < line.bytes && is_blank(line.at[first])) first++;
    for (*at = first; *at < line.bytes && !is_blank(line.at[*at]);) ++*at;
    *column = (gsa_slice){ line.at + first, *at - first };
    return *at > first;
}

/* Column `wanted`, counted from 1, or from the end when it is negative. */
static gsa_status pick(const reader *r, gsa_slice line, const char *what, int32_t wanted,
                       gsa_slice *column, gsa_error *error)
{
    const int64_t place = wanted > 0 ? wanted : r->conll->columns + 1 + wanted;
    int64_t at = 0;
    if (place < 1 || place > r->conll->columns)
        return fail(r, error, "the line has %lld column%s, but the %s is column %d",
                    (long long)r->conll->columns, r->conll->columns == 1 ? "" : "s", what,
                    (int)wanted);
    for (int64_t i = 0; i < place; i++) next_column(r, line, &at, column);
    return column->bytes > 0
               ? GSA_OK
               : fail(r, error, "column %lld, the %s, is empty", (long long)place, what);
}

static gsa_status count_columns(reader *r, gsa_slice line, gsa_error *error)
{
    gsa_conll *conll = r->conll;
    int64_t columns = 0, at = 0;
    gsa_slice column = { "", 0 };
    if (conll->columns == 0)
        conll->tabs =
            conll->format == GSA_CONLL_U || memchr(line.at, '\t', (size_t)line.bytes) != NULL;
    while (next_column(r, line, &at, &column)) columns++;
    if (conll->format == GSA_CONLL_U && columns != U_COLUMNS)
        return fail(r, error, "the line has %lld column%s between tabs, CoNLL-U has %d",
                    (long long)columns, columns == 1 ? "" : "s", U_COLUMNS);
    if (conll->columns == 0) conll->columns = columns, r->first_line = r->lines.number;
    if (columns == conll->columns) return GSA_OK;
    return fail(r, error, "the line has %lld column%s between %s, line %lld has %lld",
                (long long)columns, columns == 1 ? "" : "s", conll->tabs ? "tabs" : "blanks",
                (long long)r->first_line, (long long)conll->columns);
}

static gsa_status read_columns(reader *r, gsa_slice line, gsa_error *error)
{
    const int u = r->conll->format == GSA_CONLL_U;
    const int32_t word_at = r->options->word ? r->options->word
                            : u              ? 2
                                             : 1,
                  tag_at = r->options->tag ? r->options->tag
                           : u             ? 4
                                           : -1;
    gsa_slice word = { "", 0 }, tag = word;
    gsa_status status = count_columns(r, line, error);
    if (status == GSA_OK) status = pick(r, line, "token", word_at, &word, error);
    if (status == GSA_OK && !r->options->untagged)
        status = pick(r, line, "tag", tag_at, &tag, error);
    if (status == GSA_OK) status = add_token(r, word, tag, error);
    for (int32_t i = 0; i < r->options->sides && status == GSA_OK; i++)
        status = pick(r, line, "one of data.side", r->options->side[i],
                      &r->conll->side[i][r->conll->tokens - 1], error);
    return status;
}

/* ---- CoNLL-U ------------------------------------------------------------------------------- */

/* Digits at *at; -1: none, or too many. */
static int64_t number(gsa_slice id, int64_t *at)
{
    int64_t value = 0;
    const int64_t first = *at;
    for (; *at < id.bytes && id.at[*at] >= '0' && id.at[*at] <= '9'; ++*at)
        if (*at - first >= 9) return -1;
        else value = 10 * value + (id.at[*at] - '0');
    return *at > first ? value : -1;
}

/* 1: a token; 0: a range or an empty node; -1: neither. */
static int kind_of_id(gsa_slice id, int64_t *first)
{
    int64_t at = 0, last = -1;
    *first = number(id, &at);
    if (*first >= 1 && at == id.bytes) return 1;
    const char mark = at < id.bytes ? id.at[at++] : 0;
    if (*first >= 0 && (mark == '-' || mark == '.')) last = number(id, &at);
    if (last < 0 || at < id.bytes) return -1;
    return mark == '-' && (*first < 1 || last <= *first) ? -1 : 0;
}

static gsa_status read_u(reader *r, gsa_slice line, gsa_error *error)
{
    int64_t at = 0, first;
    gsa_slice id = { "", 0 };
    if (line.at[0] == '#') return GSA_OK;
    gsa_status status = count_columns(r, line, error);
    if (status != GSA_OK) return status;
    next_column(r, line, &at, &id);
    const int kind = kind_of_id(id, &first);
    if (kind < 0) return fail_word(r, error, "number", id, "is none: expected 3, 3-4 or 3.1");
    if (kind == 0) return GSA_OK;
    if (first != r->expected)
        return fail(r, error, "the token's number is %lld, expected %lld", (long long)first,
                    (long long)r->expected);
    r->expected++;
    return read_columns(r, line, error);
}

/* ---- token, blank, tag --------------------------------------------------------------------- */

static gsa_status read_chars(reader *r, gsa_slice line, gsa_error *error)
{
    int64_t split = line.bytes;
    if (r->options->sides)
        return fail(r, error,
                    "the file has no columns beside token and tag, and data.side names some");
    while (split > 0 && !is_blank(line.at[split - 1])) split--;
    if (r->options->untagged) {
        const int whole = split < 2 || split == line.bytes;
        return add_token(r, (gsa_slice){ line.at, whole ? line.bytes : split - 1 },
                         (gsa_slice){ "", 0 }, error);
    }
    if (split == line.bytes)
        return fail(r, error, "the line ends with a blank, expected: token, one blank or tab, tag");
    if (split == 0)
        return fail(r, error, "the line has no blank, expected: token, one blank or tab, tag");
    if (split == 1)
        return fail(r, error, "the token is empty, expected: token, one blank or tab, tag");
    r->conll->columns = 2;
    return add_token(r, (gsa_slice){ line.at, split - 1 },
                     (gsa_slice){ line.at + split, line.bytes - split }, error);
}

/* ---- files --------------------------------------------------------------------------------- */

static int32_t guess(gsa_slice line)
{
    int64_t tabs = 0;
    for (int64_t i = 0; i < line.bytes; i++) tabs += line.at[i] == '\t';
    const int u = starts(line.at, line.bytes, "# ") || (tabs == U_COLUMNS - 1 && line.at[0] == '1');
    return u ? GSA_CONLL_U : GSA_CONLL_COLUMNS;
}

static gsa_status read_line(reader *r, gsa_slice line, gsa_error *error)
{
    gsa_conll *conll = r->conll;
    int64_t blanks = 0;
    while (blanks < line.bytes && is_blank(line.at[blanks])) blanks++;
    if (blanks == line.bytes) return end_sentence(r, error);
    if (conll->format == GSA_CONLL_AUTO) conll->format = guess(line);
    if (conll->format == GSA_CONLL_U) return read_u(r, line, error);
    if (starts(line.at, line.bytes, "-DOCSTART-")) return end_sentence(r, error);
    return conll->format == GSA_CONLL_CHARS ? read_chars(r, line, error)
                                            : read_columns(r, line, error);
}

static gsa_status read_lines(gsa_conll *conll, const gsa_conll_options *options, int64_t bytes,
                             gsa_error *error)
{
    reader r = { .conll = conll,
                 .options = options,
                 .expected = 1,
                 .lines = gsa_lines_start(conll->path, conll->bytes, bytes) };
    char *line;
    gsa_status status = GSA_OK;
    r.lines.advice = gsa_encoding_advice;
    while (status == GSA_OK && gsa_lines_next(&r.lines, &line, &bytes)) {
        status = gsa_lines_check(&r.lines, line, bytes, error);
        if (status == GSA_OK) status = read_line(&r, (gsa_slice){ line, bytes }, error);
    }
    if (status == GSA_OK) status = end_sentence(&r, error);
    if (status == GSA_OK && conll->sentences == 0 && !options->untagged)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no sentence", conll->path);
    return status;
}

gsa_status gsa_conll_read(const gsa_system *system, const char *path,
                          const gsa_conll_options *options, gsa_conll *conll, gsa_error *error)
{
    int64_t bytes;
    *conll = (gsa_conll){ .system = system, .format = options->format };
    gsa_status status =
        gsa_encoding_read(system, path, options->encoding, &conll->bytes, &bytes, error);
    if (status != GSA_OK) return status;
    conll->path = gsa_copy_text(system, gsa_input_name(path));
    if (!conll->path) status = gsa_out_of_memory(error, path, (int64_t)strlen(path));
    if (status == GSA_OK) status = read_lines(conll, options, bytes, error);
    if (status != GSA_OK) gsa_conll_release(conll);
    return status;
}

void gsa_conll_compact(gsa_conll *conll, const uint8_t *drop)
{
    int64_t kept = 0, tokens = 0, first = 0;
    conll->longest = 0;
    for (int64_t s = 0; s < conll->sentences; s++) {
        const int64_t last = conll->offset[s + 1], count = last - first;
        if (!drop[s]) {
            memmove(conll->line + tokens, conll->line + first, (size_t)count * sizeof *conll->line);
            memmove(conll->word + tokens, conll->word + first, (size_t)count * sizeof *conll->word);
            memmove(conll->tag + tokens, conll->tag + first, (size_t)count * sizeof *conll->tag);
            for (int i = 0; i < GSA_BESIDE && conll->side[i]; i++)
                memmove(conll->side[i] + tokens, conll->side[i] + first,
                        (size_t)count * sizeof *conll->tag);
            tokens += count;
            conll->offset[++kept] = tokens;
            if (count > conll->longest) conll->longest = count;
        }
        first = last;
    }
    conll->sentences = kept, conll->tokens = tokens;
}

void gsa_conll_release(gsa_conll *conll)
{
    gsa_release(conll->system, conll->offset);
    gsa_release(conll->system, conll->line);
    gsa_release(conll->system, conll->word);
    gsa_release(conll->system, conll->tag);
    for (int i = 0; i < GSA_BESIDE; i++) gsa_release(conll->system, conll->side[i]);
    gsa_release(conll->system, conll->bytes);
    gsa_release(conll->system, conll->path);
    *conll = (gsa_conll){ 0 };
}
