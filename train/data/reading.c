#include "train/data/reading.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include "topologies/words.h"
#include "train/settings/keys.h"
#include "train/data/json.h"

static const int64_t LARGEST = INT64_C(1) << 36, BLOCK = INT64_C(1) << 20;

struct gsa_reading_block {
    gsa_reading_block *before;
    int64_t used, room;
    char at[];
};

typedef struct cutter { /* tokens of one text */
    gsa_slice *word;
    gsa_passage_token *place;
    int64_t count, word_room, place_room;
} cutter;

typedef struct reader {
    gsa_reading *out;
    const gsa_reading_options *options;
    cutter cut;
    const char *at, *end;                         /* what is left of the file */
    int64_t line, article, paragraph, qa, answer; /* where we are; -1: not within one */
} reader;

static gsa_status fail(const reader *r, gsa_error *error, const char *format, ...) GSA_PRINTF(3, 4);

static gsa_status fail(const reader *r, gsa_error *error, const char *format, ...)
{
    char why[512], place[128];
    int used = snprintf(place, sizeof place, "%s", r->article >= 0 ? "data" : "the file");
    const struct {
        const char *name;
        int64_t at;
    } steps[] = { { "", r->article },
                  { ".paragraphs", r->paragraph },
                  { ".qas", r->qa },
                  { ".answers", r->answer } };
    for (int i = 0; i < 4 && steps[i].at >= 0; i++)
        used += snprintf(place + used, sizeof place - (size_t)used, "%s[%lld]", steps[i].name,
                         (long long)steps[i].at);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s: %s", r->out->told.path, (long long)r->line,
                    place, why);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Room for `bytes` that stay where they are; NULL: no memory. */
static char *keep(gsa_reading *out, int64_t bytes)
{
    gsa_reading_block *block = out->blocks;
    if (!block || block->room - block->used < bytes) {
        const int64_t least = bytes > BLOCK ? bytes : BLOCK, room = (least + 7) / 8 * 8; /* words */
        block = gsa_alloc(out->system, 1, sizeof *block + (size_t)room);
        if (!block) return NULL;
        *block = (gsa_reading_block){ .before = out->blocks, .room = room };
        out->blocks = block;
    }
    block->used += bytes;
    return block->at + block->used - bytes;
}

static gsa_status keep_text(gsa_reading *out, const char *text, int64_t bytes, gsa_slice *kept,
                            gsa_error *error)
{
    char *at = keep(out, bytes);
    if (!at) return gsa_out_of_memory(error, out->told.path, bytes);
    memcpy(at, text, (size_t)bytes);
    *kept = (gsa_slice){ at, bytes };
    return GSA_OK;
}

/* Room for one more of what *at holds `count` of. */
static gsa_status grow(const gsa_system *system, void **at, int64_t *room, int64_t count,
                       size_t size, gsa_error *error)
{
    if (count < *room) return GSA_OK;
    const int64_t wanted = 2 * *room + 256;
    void *larger = gsa_resize(system, *at, (size_t)wanted, size);
    if (!larger) return gsa_out_of_memory(error, "questions", wanted * (int64_t)size);
    *at = larger, *room = wanted;
    return GSA_OK;
}

#define GROW(owner, member, room, count)                                                           \
    (at = (owner)->member,                                                                         \
     status = grow(system, &at, room, count, sizeof *(owner)->member, error),                      \
     (owner)->member = at, status)

/* ---- tokens -------------------------------------------------------------------------------- */

enum { BLANK, PART, ALONE };

static int is_ideograph(int32_t c)
{
    return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

static int class_of(int32_t c, int words)
{
    const utf8proc_category_t k = utf8proc_category(c);
    if (c <= 0x20 || c == 0x85 || k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL ||
        k == UTF8PROC_CATEGORY_ZP)
        return BLANK;
    if (!words || is_ideograph(c)) return ALONE;
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NO
               ? PART
               : ALONE; /* letters, marks, numbers */
}

static gsa_status open_token(reader *r, const char *word, int64_t begin, gsa_error *error)
{
    const gsa_system *system = r->out->system;
    cutter *c = &r->cut;
    void *at;
    gsa_status status;
    if (GROW(c, word, &c->word_room, c->count) != GSA_OK) return status;
    if (GROW(c, place, &c->place_room, c->count) != GSA_OK) return status;
    c->word[c->count] = (gsa_slice){ word, 0 };
    c->place[c->count++] = (gsa_passage_token){ begin, begin };
    return GSA_OK;
}

/* The tokens of a kept text into r->cut; lower-cased they are in a copy. */
static gsa_status cut_text(reader *r, gsa_slice text, gsa_error *error)
{
    const int words = r->options->tokens != GSA_TOKENS_CHARS, lower = r->options->lower;
    char *copy =
        lower ? keep(r->out, 2 * text.bytes) : NULL; /* no letter grows by more than half */
    int before = BLANK;
    gsa_status status = GSA_OK;
    if (lower && !copy) return gsa_out_of_memory(error, r->out->told.path, 2 * text.bytes);
    r->cut.count = 0;
    for (int64_t i = 0, next; i < text.bytes && status == GSA_OK; i = next) {
        utf8proc_int32_t c;
        next = i + utf8proc_iterate((const utf8proc_uint8_t *)text.at + i, text.bytes - i, &c);
        const int class = class_of(c, words);
        if (class == ALONE || (class == PART && before != PART))
            status = open_token(r, lower ? copy : text.at + i, i, error);
        before = class;
        if (class == BLANK || status != GSA_OK) continue;
        int64_t bytes = next - i;
        if (lower)
            copy += bytes = utf8proc_encode_char(utf8proc_tolower(c), (utf8proc_uint8_t *)copy);
        r->cut.word[r->cut.count - 1].bytes += bytes, r->cut.place[r->cut.count - 1].end = next;
    }
    return status;
}

static gsa_status add_tokens(reader *r, gsa_text *text, int32_t most, gsa_error *error)
{
    const gsa_text_options options = { .max_length = most, .empty = GSA_EMPTY_KEEP };
    gsa_text_reader add = {
        .text = text, .options = &options, .word = r->cut.word, .number = r->line
    };
    return gsa_text_add(&add, (gsa_slice){ "", 0 }, 0, r->cut.count, error);
}

/* ---- answers ------------------------------------------------------------------------------- */

/* Bytes of the first `points` code points; -1: there are fewer, or points < 0. */
static int64_t bytes_of(gsa_slice text, int64_t points)
{
    int64_t at = 0;
    for (; points > 0 && at < text.bytes; points--)
        for (at++; at < text.bytes && ((unsigned char)text.at[at] & 0xc0) == 0x80;) at++;
    return points == 0 ? at : -1;
}

static int stands(gsa_slice text, gsa_slice part, int64_t at)
{
    return at >= 0 && at <= text.bytes - part.bytes &&
           memcmp(text.at + at, part.at, (size_t)part.bytes) == 0;
}

/* Where `part` is nearest to the byte `near`; -1: nowhere. Of two as near the first. */
static int64_t nearest(gsa_slice text, gsa_slice part, int64_t near)
{
    int64_t best = -1;
    for (int64_t at = 0; at <= text.bytes - part.bytes; at++) {
        if (text.at[at] != part.at[0] || !stands(text, part, at)) continue;
        if (best < 0 || llabs(at - near) < llabs(best - near)) best = at;
    }
    return best;
}

/* The tokens of the passage that the bytes from..to-1 touch. */
static void cover(const gsa_reading *out, int64_t passage, int64_t from, int64_t to,
                  gsa_answer *answer)
{
    const int64_t first = out->told.offset[passage], last = out->told.offset[passage + 1];
    int64_t i = first, j = last - 1;
    while (i < last && out->place[i].end <= from) i++;
    while (j >= first && out->place[j].begin >= to) j--;
    answer->first = i <= j ? i - first : -1, answer->last = i <= j ? j - first : -1;
}

static void find_answer(gsa_reading *out, int64_t passage, int64_t start, gsa_answer *answer)
{
    const gsa_slice context = out->passage[passage];
    int64_t at = bytes_of(context, start);
    const int there = stands(context, answer->text, at);
    if (!there) at = nearest(context, answer->text, at < 0 ? (start < 0 ? 0 : context.bytes) : at);
    answer->first = answer->last = -1;
    if (at >= 0) cover(out, passage, at, at + answer->text.bytes, answer);
    if (answer->first < 0) out->lost++;
    else out->repaired += !there;
}

/* ---- the parts of an article --------------------------------------------------------------- */

static const json_t *member(const reader *r, const json_t *object, const char *name,
                            gsa_error *error)
{
    const json_t *value = NULL;
    if (json_typeof(object) != JSON_OBJECT) fail(r, error, "expected an object");
    else if ((value = json_object_get(object, name)) == NULL)
        fail(r, error, "the object has no field '%s'", name);
    return value;
}

static const json_t *list(const reader *r, const json_t *object, const char *name, gsa_error *error)
{
    const json_t *value = member(r, object, name, error);
    if (value && !json_is_array(value))
        value = (fail(r, error, "field '%s' is no array", name), NULL);
    return value;
}

/* The string of a field, kept. */
static gsa_status take_any(reader *r, const json_t *object, const char *name, gsa_slice *kept,
                           gsa_error *error)
{
    const json_t *value = member(r, object, name, error);
    if (!value) return GSA_ERR_FORMAT;
    if (!json_is_string(value)) return fail(r, error, "field '%s' is no string", name);
    return keep_text(r->out, json_string_value(value), (int64_t)json_string_length(value), kept,
                     error);
}

/* Likewise, and empty ones are refused. */
static gsa_status take(reader *r, const json_t *object, const char *name, gsa_slice *kept,
                       gsa_error *error)
{
    const gsa_status status = take_any(r, object, name, kept, error);
    return status == GSA_OK && kept->bytes == 0 ? fail(r, error, "field '%s' is empty", name)
                                                : status;
}

static gsa_status read_answer(reader *r, const json_t *object, int64_t passage, gsa_error *error)
{
    const gsa_system *system = r->out->system;
    gsa_reading *out = r->out;
    gsa_answer answer;
    void *at;
    gsa_status status = take(r, object, "text", &answer.text, error);
    if (status != GSA_OK) return status;
    const json_t *start = member(r, object, "answer_start", error);
    if (!start) return GSA_ERR_FORMAT;
    if (!json_is_integer(start)) return fail(r, error, "field 'answer_start' is no integer");
    if (GROW(out, answer, &out->room[0], out->answers) != GSA_OK) return status;
    find_answer(out, passage, json_integer_value(start), &answer);
    if (answer.text.bytes > out->longest_bytes) out->longest_bytes = answer.text.bytes;
    out->answer[out->answers++] = answer;
    return GSA_OK;
}

static gsa_status read_answers(reader *r, const json_t *qa, gsa_question *q, gsa_error *error)
{
    if (r->options->unlabelled) return GSA_OK;
    const json_t *answers = list(r, qa, "answers", error);
    if (!answers) return GSA_ERR_FORMAT;
    gsa_status status = GSA_OK;
    q->answers = (int64_t)json_array_size(answers);
    for (r->answer = 0; r->answer < q->answers && status == GSA_OK; r->answer++)
        status = read_answer(r, json_array_get(answers, (size_t)r->answer), q->passage, error);
    if (status == GSA_OK) r->answer = -1;
    return status;
}

static gsa_status read_question(reader *r, const json_t *qa, int64_t passage, gsa_error *error)
{
    const gsa_system *system = r->out->system;
    gsa_reading *out = r->out;
    gsa_slice text;
    void *at;
    gsa_question q = { .passage = passage, .answer = out->answers };
    gsa_status status = take(r, qa, "id", &q.id, error);
    if (status == GSA_OK) status = take_any(r, qa, "question", &text, error);
    if (status == GSA_OK) status = read_answers(r, qa, &q, error);
    if (status != GSA_OK) return status;
    if (q.answers == 0 && !r->options->unlabelled) {
        out->unanswered++;
        return GSA_OK;
    }
    status = cut_text(r, text, error);
    out->unasked += status == GSA_OK && r->cut.count == 0;
    if (status != GSA_OK || GROW(out, question, &out->room[1], out->asked.examples) != GSA_OK)
        return status;
    out->question[out->asked.examples] = q;
    return add_tokens(r, &out->asked, r->options->max_length, error);
}

static gsa_status read_passage(reader *r, const json_t *paragraph, gsa_error *error)
{
    const gsa_system *system = r->out->system;
    gsa_reading *out = r->out;
    gsa_slice text;
    void *at;
    const int64_t had = out->told.tokens;
    gsa_status status = take(r, paragraph, "context", &text, error);
    if (status == GSA_OK) status = cut_text(r, text, error);
    if (status == GSA_OK && r->cut.count == 0)
        status = fail(r, error, "the context holds no token");
    if (status != GSA_OK || GROW(out, passage, &out->room[2], out->told.examples) != GSA_OK)
        return status;
    out->passage[out->told.examples] = text;
    if (text.bytes > out->longest_bytes) out->longest_bytes = text.bytes;
    status = add_tokens(r, &out->told, 0, error);
    for (int64_t i = had; i < out->told.tokens && status == GSA_OK; i++) {
        if (GROW(out, place, &out->room[3], i) == GSA_OK) out->place[i] = r->cut.place[i - had];
    }
    return status;
}

static gsa_status read_paragraph(reader *r, const json_t *paragraph, gsa_error *error)
{
    gsa_status status = read_passage(r, paragraph, error);
    const int64_t passage = r->out->told.examples - 1;
    const json_t *qas = status == GSA_OK ? list(r, paragraph, "qas", error) : NULL;
    if (!qas) return status == GSA_OK ? GSA_ERR_FORMAT : status;
    const int64_t count = (int64_t)json_array_size(qas);
    for (r->qa = 0; r->qa < count && status == GSA_OK; r->qa += status == GSA_OK)
        status = read_question(r, json_array_get(qas, (size_t)r->qa), passage, error);
    if (status == GSA_OK) r->qa = -1;
    return status;
}

static gsa_status read_article(reader *r, const json_t *article, gsa_error *error)
{
    const json_t *paragraphs = list(r, article, "paragraphs", error);
    if (!paragraphs) return GSA_ERR_FORMAT;
    const int64_t count = (int64_t)json_array_size(paragraphs);
    gsa_status status = GSA_OK;
    for (r->paragraph = 0; r->paragraph < count && status == GSA_OK;
         r->paragraph += status == GSA_OK)
        status = read_paragraph(r, json_array_get(paragraphs, (size_t)r->paragraph), error);
    if (status == GSA_OK) r->paragraph = -1;
    return status;
}

/* ---- the file: values one after the other, so that no more than one article is in memory as
 * JSON ---- */

static void skip_blanks(reader *r)
{
    for (; r->at < r->end && memchr(" \t\r\n", *r->at, 4); r->at++) r->line += *r->at == '\n';
}

/* The value that begins here; moves after it. */
static json_t *next_value(reader *r, int64_t *lines, gsa_error *error)
{
    json_error_t why;
    json_t *value =
        gsa_json_parse(r->at, r->end - r->at,
                       JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &why);
    *lines = 0;
    if (!value) {
        r->line += why.line - 1;
        fail(r, error, "no JSON: %s", why.text);
        return NULL;
    }
    for (const char *stop = r->at + why.position; r->at < stop; r->at++) *lines += *r->at == '\n';
    return value;
}

static gsa_status expect(reader *r, const char *any, char *found, gsa_error *error)
{
    char shown[GSA_SHOWN], text[2] = { r->at < r->end ? *r->at : 0 };
    if (r->at < r->end && memchr(any, *r->at, strlen(any))) {
        *found = *r->at++;
        skip_blanks(r);
        return GSA_OK;
    }
    return fail(r, error, "no JSON: %s where '%c'%s%.1s%s is expected",
                *text ? gsa_word_show(text, shown) : "the end", any[0], any[1] ? " or '" : "",
                any + 1, any[1] ? "'" : "");
}

static gsa_status read_articles(reader *r, gsa_error *error)
{
    char found;
    gsa_status status = expect(r, "[", &found, error);
    if (status == GSA_OK && r->at < r->end && *r->at == ']') return expect(r, "]", &found, error);
    for (r->article = 0, found = ','; status == GSA_OK && found == ','; r->article++) {
        int64_t lines;
        json_t *article = next_value(r, &lines, error);
        if (!article) return GSA_ERR_FORMAT;
        status = read_article(r, article, error);
        json_decref(article);
        if (status != GSA_OK) return status;
        r->line += lines;
        skip_blanks(r);
        status = expect(r, ",]", &found, error);
    }
    r->article = -1;
    return status;
}

static gsa_status read_field(reader *r, int *seen, gsa_error *error)
{
    int64_t lines;
    char found;
    json_t *name = next_value(r, &lines, error), *value;
    const int data = name && json_is_string(name) && strcmp(json_string_value(name), "data") == 0;
    const int string = name && json_is_string(name);
    json_decref(name);
    if (!name) return GSA_ERR_FORMAT;
    if (!string) return fail(r, error, "no JSON: the name of a field is no string");
    skip_blanks(r);
    const gsa_status status = expect(r, ":", &found, error);
    if (status != GSA_OK) return status;
    if (data && (*seen)++) return fail(r, error, "field 'data' occurs twice");
    if (data) return read_articles(r, error);
    value = next_value(r, &lines, error);
    json_decref(value);
    r->line += lines;
    skip_blanks(r);
    return value ? GSA_OK : GSA_ERR_FORMAT;
}

static gsa_status read_whole(reader *r, gsa_error *error)
{
    char found;
    int seen = 0;
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0) r->at += 3;
    skip_blanks(r);
    gsa_status status = expect(r, "{", &found, error);
    if (status == GSA_OK && r->at < r->end && *r->at == '}') status = expect(r, "}", &found, error);
    else
        for (found = ','; status == GSA_OK && found == ',';) {
            status = read_field(r, &seen, error);
            if (status == GSA_OK) status = expect(r, ",}", &found, error);
        }
    if (status != GSA_OK) return status;
    if (r->at < r->end) return fail(r, error, "something follows the object");
    return seen ? GSA_OK : fail(r, error, "the object has no field 'data'");
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    return gsa_slice_compare(*(const gsa_slice *)a, *(const gsa_slice *)b);
}

/* Predictions are kept by id. */
static gsa_status check_ids(const gsa_reading *out, gsa_error *error)
{
    const int64_t count = out->asked.examples;
    char name[64], shown[GSA_SHOWN];
    gsa_slice *id = gsa_alloc(out->system, (size_t)count, sizeof *id);
    gsa_status status = GSA_OK;
    if (!id) return gsa_out_of_memory(error, out->told.path, count * (int64_t)sizeof *id);
    for (int64_t i = 0; i < count; i++) id[i] = out->question[i].id;
    if (count > 0) qsort(id, (size_t)count, sizeof *id, by_id);
    for (int64_t i = 1; i < count && status == GSA_OK; i++)
        if (gsa_slice_compare(id[i - 1], id[i]) == 0) {
            snprintf(name, sizeof name, "%.*s", (int)(id[i].bytes < 63 ? id[i].bytes : 63),
                     id[i].at);
            status = gsa_fail(error, GSA_ERR_FORMAT, "%s: two questions have the id %s",
                              out->told.path, gsa_word_show(name, shown));
        }
    gsa_release(out->system, id);
    return status;
}

gsa_status gsa_reading_read(const gsa_system *system, const char *path,
                            const gsa_reading_options *options, gsa_reading *reading,
                            gsa_error *error)
{
    char *bytes = NULL;
    int64_t count = 0;
    *reading = (gsa_reading){ .system = system,
                              .asked = { .system = system },
                              .told = { .system = system } };
    reader r = { .out = reading,
                 .options = options,
                 .line = 1,
                 .article = -1,
                 .paragraph = -1,
                 .qa = -1,
                 .answer = -1 };
    gsa_text *texts[] = { &reading->asked, &reading->told };
    gsa_status status = GSA_OK;
    for (int i = 0; i < 2 && status == GSA_OK; i++) {
        texts[i]->path = gsa_copy_text(system, gsa_input_name(path));
        if (!texts[i]->path) status = gsa_out_of_memory(error, path, (int64_t)strlen(path));
    }
    if (status == GSA_OK) status = gsa_read_file(system, path, LARGEST, &bytes, &count, error);
    r.at = bytes, r.end = bytes ? bytes + count : NULL;
    if (status == GSA_OK) status = read_whole(&r, error);
    gsa_release(system, bytes);
    gsa_release(system, r.cut.word);
    gsa_release(system, r.cut.place);
    if (status == GSA_OK) status = check_ids(reading, error);
    if (status == GSA_OK && reading->asked.examples == 0 && !options->unlabelled)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no question%s",
                          reading->told.path, reading->unanswered > 0 ? " with an answer" : "");
    if (status != GSA_OK) gsa_reading_release(reading);
    return status;
}

void gsa_reading_release(gsa_reading *reading)
{
    if (!reading->system) return;
    for (gsa_reading_block *block = reading->blocks, *before; block; block = before) {
        before = block->before;
        gsa_release(reading->system, block);
    }
    gsa_release(reading->system, reading->question);
    gsa_release(reading->system, reading->passage);
    gsa_release(reading->system, reading->place);
    gsa_release(reading->system, reading->answer);
    gsa_text_release(&reading->asked);
    gsa_text_release(&reading->told);
    *reading = (gsa_reading){ 0 };
}
