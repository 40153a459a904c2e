/* examples.c - made-up examples: texts of several kinds, the caller's own next to them, groups of
 * irregular size. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "parts.h"

enum { EVERY_LENGTH_TO = 130, LONG = 1000, SOME_MEMORY = 7 };
static const gsa_limits LIMITS = { .edges = INT64_C(1) << 26,
                                   .runs = INT64_C(1) << 21 }; /* of an example of 1000 tokens */

/* The i-th length of the caller's texts, whole; -1 after the last. */
static int32_t own_length(const gsa_checking *c, int i)
{
    return c->reads_text && i < c->options.n_texts ? c->options.texts[i].count : -1;
}

int32_t gsa_checking_length(const gsa_checking *c, int i)
{
    if (c->only >= 0) return i == 0 ? c->only : -1;
    return i <= EVERY_LENGTH_TO       ? i
           : i == EVERY_LENGTH_TO + 1 ? LONG
                                      : own_length(c, i - EVERY_LENGTH_TO - 2);
}

static const int32_t few[] = { 0, 1, 2, 3, 5, 8, 13, 33, 64, EVERY_LENGTH_TO, LONG };
enum { FEW = sizeof few / sizeof *few };

int32_t gsa_checking_few(const gsa_checking *c, int i)
{
    if (c->only >= 0) return i == 0 ? c->only : -1;
    return i < FEW ? few[i] : own_length(c, i - FEW);
}

static int is_few(const gsa_checking *c, int32_t length)
{
    for (int i = 0; gsa_checking_few(c, i) >= 0; i++)
        if (gsa_checking_few(c, i) == length) return 1;
    return 0;
}

gsa_trial gsa_checking_trial(const gsa_checking *c, int32_t length)
{
    return (gsa_trial){ .length = length,
                        .memory_length = c->reads_memory ? SOME_MEMORY : 0,
                        .heads = 1,
                        .text = c->reads_text ? GSA_TEXT_CJK : GSA_TEXT_NONE };
}

int gsa_checking_text(const gsa_checking *c, int i, int *text)
{
    *text = c->reads_text ? GSA_TEXT_WORDS + i : GSA_TEXT_NONE;
    return i < (c->reads_text ? GSA_TEXT_OWN - GSA_TEXT_WORDS + c->options.n_texts : 1);
}

int gsa_checking_has(const gsa_checking *c, int text, int32_t length)
{
    if (text < GSA_TEXT_OWN) return 1;
    const int32_t whole = c->options.texts[text - GSA_TEXT_OWN].count;
    return length == whole || length == whole - 1 || length == whole / 2;
}

int gsa_checking_variant(const gsa_checking *c, int32_t length, int i, gsa_trial *trial)
{
    int text;
    *trial = gsa_checking_trial(c, length);
    if (i == 1) trial->heads = 3, trial->grouped = 1;
    if (i < 2) return 1;
    if (!c->reads_text || !gsa_checking_text(c, i - 2, &text)) return 0;
    trial->text = text;
    if (text == GSA_TEXT_WORDS) return 1;
    return text != GSA_TEXT_CJK && gsa_checking_has(c, text, length) &&
                   (text >= GSA_TEXT_OWN || is_few(c, length))
               ? 1
               : -1;
}

const char *gsa_checking_text_name(int text, char out[GSA_NODE_NAME])
{
    static const char *const names[GSA_TEXT_OWN] = { "no text",
                                                     "English text",
                                                     "Chinese text",
                                                     "text with nested brackets",
                                                     "text with unclosed brackets",
                                                     "text with unopened brackets",
                                                     "one word repeated",
                                                     "text of mixed scripts" };
    if (text < GSA_TEXT_OWN) snprintf(out, GSA_NODE_NAME, "%s", names[text]);
    else snprintf(out, GSA_NODE_NAME, "text %d of those given", text - GSA_TEXT_OWN + 1);
    return out;
}

const char *gsa_checking_where(const gsa_trial *trial, char out[GSA_NODE_NAME])
{
    char name[GSA_NODE_NAME];
    const int usual = trial->text == GSA_TEXT_NONE || trial->text == GSA_TEXT_CJK;
    snprintf(out, GSA_NODE_NAME, "%s%s%.48s", trial->heads > 1 ? " with 3 heads, in groups" : "",
             usual ? "" : " of ", usual ? "" : gsa_checking_text_name(trial->text, name));
    return out;
}

/* ---- texts --------------------------------------------------------------------------------- */

static const char *const words[] = {
    "the",  "of",    "and",     "to",   "in",     "is",  "that",  "it",
    "was",  "light", "for",     "on",   "house",  "as",  "river", "with",
    "be",   "a",     "nothing", "at",   "by",     "I",   "this",  "had",
    "long", "not",   "are",     "2026", "&c <b>", "\"x", "don't", "\xc3\xa9t\xc3\xa9"
};
/* Common characters, each in many words of any lexicon. */
static const char *const characters[] = {
    "的", "一", "是", "不", "了", "人", "我", "在", "有", "他", "这", "中", "大", "来", "上", "国",
    "个", "到", "说", "们", "为", "子", "和", "你", "地", "出", "道", "也", "时", "年", "得", "就",
    "那", "要", "下", "以", "生", "会", "自", "着", "去", "之", "过", "家", "学", "对", "可", "她",
    "里", "后", "小", "么", "心", "多", "天", "而", "能", "好", "都", "然", "没", "日", "于", "起",
};

/* Closed again within one round of the list; six deep. */
static const char *const nested[] = {
    "(", "a", "[", "(", "b", ")", "c", "{", "[", "(", "d", "(",
    "e", "[", "f", "]", ")", ")", "]", "}", "]", "g", ")", "h",
};
static const char *const open[] = { "(", "[", "(", "{", "x", "(", ")", "<" };
static const char *const closed[] = { ")", "]", ")", "}", "x", ")", "(", ">" };
static const char *const same[] = { "again" };
static const char *const mixed[] = { "Latin",
                                     "\xc3\xa9t\xc3\xa9",
                                     "e\xcc\x81",
                                     "\xe4\xb8\xad\xe6\x96\x87",
                                     "\xe5\xad\x97",
                                     "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85",
                                     "\xd9\x85\xd9\x8e",
                                     "\xf0\x9f\x98\x80",
                                     "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
                                     "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa",
                                     "0",
                                     "42",
                                     "3.14",
                                     "-7",
                                     "1e9",
                                     ".",
                                     ",",
                                     "?!",
                                     "\"",
                                     "'",
                                     "--",
                                     "/",
                                     "a.b@c",
                                     "",
                                     "#",
                                     "_",
                                     "\\",
                                     "%s" };
static const struct {
    const char *const *token;
    int32_t count, in_order; /* in_order: one after the other, over and over; else by chance */
} kinds[GSA_TEXT_OWN] = {
#define LIST(list, in_order)                                                                       \
    {                                                                                              \
        list, sizeof list / sizeof *list, in_order                                                 \
    }
    [GSA_TEXT_WORDS] = LIST(words, 0),   [GSA_TEXT_CJK] = LIST(characters, 0),
    [GSA_TEXT_NESTED] = LIST(nested, 1), [GSA_TEXT_OPEN] = LIST(open, 0),
    [GSA_TEXT_CLOSED] = LIST(closed, 0), [GSA_TEXT_SAME] = LIST(same, 1),
    [GSA_TEXT_MIXED] = LIST(mixed, 0),
};

static gsa_slice token_of(int kind, int32_t t)
{
    const uint64_t dice = gsa_random(7, (uint64_t)t, (uint64_t)kind),
                   count = (uint64_t)kinds[kind].count;
    const char *token = kinds[kind].token[(kinds[kind].in_order ? (uint64_t)t : dice) % count];
    return (gsa_slice){ token, (int64_t)strlen(token) };
}

static gsa_status make_groups(gsa_checking *c, int32_t length, gsa_error *error)
{
    if (length <= c->room[0]) return GSA_OK;
    int32_t *group = gsa_resize(c->system, c->group, (size_t)length, sizeof *group);
    if (!group) return gsa_out_of_memory(error, "an example", length * (int64_t)sizeof *group);
    for (int32_t t = c->room[0]; t < length; t++)
        group[t] = t == 0 ? 0 : group[t - 1] + (gsa_random(7, (uint64_t)t, 9) % 5 == 0);
    c->group = group, c->room[0] = length;
    return GSA_OK;
}

static gsa_status make_text(gsa_checking *c, int kind, int32_t length, gsa_error *error)
{
    if (kind == GSA_TEXT_NONE || kind >= GSA_TEXT_OWN || length <= c->room[kind]) return GSA_OK;
    gsa_slice *text = gsa_resize(c->system, c->text[kind], (size_t)length, sizeof *text);
    if (!text) return gsa_out_of_memory(error, "an example", length * (int64_t)sizeof *text);
    for (int32_t t = c->room[kind]; t < length; t++) text[t] = token_of(kind, t);
    c->text[kind] = text, c->room[kind] = length;
    return GSA_OK;
}

/* As heads of dependencies are numbered: 0 is the root, i the i-th token; each has an earlier one,
 * which makes a tree. */
static gsa_status make_beside(gsa_checking *c, int32_t length, gsa_error *error)
{
    const int columns = gsa_pattern_columns(c->pattern);
    if (columns == 0 || length <= c->beside_room) return GSA_OK;
    char(*digits)[12] = gsa_resize(c->system, c->digits, (size_t)length, sizeof *digits);
    if (digits) c->digits = digits;
    gsa_slice *beside =
        digits ? gsa_resize(c->system, c->beside, (size_t)length, sizeof *beside) : NULL;
    if (!beside) return gsa_out_of_memory(error, "an example", length * (int64_t)sizeof *beside);
    for (int32_t t = 0; t < length; t++) {
        const int bytes = snprintf(digits[t], sizeof *digits, "%" PRIu64,
                                   gsa_random(11, (uint64_t)t, 0) % ((uint64_t)t + 1));
        beside[t] = (gsa_slice){ digits[t], bytes };
    }
    c->beside = beside, c->beside_room = length;
    for (int i = 0; i < columns; i++) c->column[i] = beside;
    return GSA_OK;
}

void gsa_checking_end(gsa_checking *c)
{
    gsa_release(c->system, c->group);
    gsa_release(c->system, c->beside);
    gsa_release(c->system, c->digits);
    for (int s = GSA_TEXT_WORDS; s < GSA_TEXT_OWN; s++) gsa_release(c->system, c->text[s]);
}

/* ---- examples ------------------------------------------------------------------------------ */

gsa_status gsa_checking_example(gsa_checking *c, const gsa_trial *trial, gsa_example *example,
                                gsa_error *error)
{
    const int32_t longest =
        trial->length > trial->memory_length ? trial->length : trial->memory_length;
    const int32_t room = longest > GSA_CHECK_TEXT_MOST ? longest : GSA_CHECK_TEXT_MOST;
    gsa_status status = trial->grouped ? make_groups(c, room, error) : GSA_OK;
    if (status == GSA_OK) status = make_text(c, trial->text, room, error);
    if (status == GSA_OK) status = make_beside(c, room, error);
    if (status != GSA_OK) return status;
    *example = (gsa_example){ .struct_size = sizeof *example,
                              .length = trial->length,
                              .memory_length = trial->memory_length,
                              .heads = trial->heads,
                              .text = trial->text >= GSA_TEXT_OWN
                                          ? c->options.texts[trial->text - GSA_TEXT_OWN].token
                                      : trial->text ? c->text[trial->text]
                                                    : NULL,
                              .group = trial->grouped ? c->group : NULL,
                              .memory_group = trial->grouped ? c->group : NULL,
                              .column = c->column,
                              .columns = gsa_pattern_columns(c->pattern),
                              .draw = trial->draw };
    return GSA_OK;
}

void gsa_checking_beat(const gsa_checking *c, int32_t length)
{
    if (c->options.progress) c->options.progress(c->options.context, c->property, length);
}

gsa_status gsa_checking_build(gsa_checking *c, const gsa_trial *trial, gsa_instance **instance,
                              gsa_error *error)
{
    gsa_example example;
    *instance = NULL;
    gsa_checking_beat(c, trial->length);
    const gsa_status status = gsa_checking_example(c, trial, &example, error);
    if (status != GSA_OK) return status;
    return gsa_pattern_instance(c->pattern, NULL, &example, &LIMITS, 1, instance, error);
}

int gsa_checking_promised(const gsa_checking *c, uint32_t flag)
{
    return (gsa_schema_flags(c->schema) & flag) != 0;
}

/* ---- findings ------------------------------------------------------------------------------ */

void gsa_found(gsa_finding *finding, int verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->verdict = verdict;
}

gsa_status gsa_found_error(gsa_finding *finding, const gsa_trial *trial, gsa_status status,
                           const gsa_error *why, gsa_error *error)
{
    char name[GSA_NODE_NAME];
    if (status == GSA_ERR_MEMORY) return gsa_fail(error, status, "%s", why->text);
    finding->length = trial->length;
    gsa_found(finding, GSA_VERDICT_FAILED, "%s (%" PRId32 " heads, memory of %" PRId32 "%s%s%s)",
              why->text, trial->heads, trial->memory_length, trial->text ? ", " : "",
              trial->text ? gsa_checking_text_name(trial->text, name) : "",
              trial->grouped ? ", in groups" : "");
    return GSA_OK;
}

void gsa_checking_bases(const gsa_checking *c, const gsa_instance *x,
                        int64_t base[GSA_MAX_KINDS + 1])
{
    base[0] = 0;
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++)
        base[k + 1] = base[k] + gsa_instance_nodes(x, k);
}

const char *gsa_checking_source(const gsa_checking *c, const gsa_instance *x, int phase, int kind,
                                int64_t index, char out[GSA_NODE_NAME])
{
    const char *name = gsa_schema_kind(c->schema, kind)->name;
    const int32_t heads = gsa_instance_heads(x);
    if (gsa_schema_phase(c->schema, phase)->per_head)
        snprintf(out, GSA_NODE_NAME, "%s %" PRId64 " head %" PRId64, name, index / heads,
                 index % heads);
    else snprintf(out, GSA_NODE_NAME, "%s %" PRId64, name, index);
    return out;
}

const char *gsa_checking_row(const gsa_checking *c, const gsa_instance *x, int phase, int64_t row,
                             char out[GSA_NODE_NAME])
{
    const gsa_phase *p = gsa_schema_phase(c->schema, phase);
    const int64_t scale = p->per_head ? gsa_instance_heads(x) : 1;
    int kind = 0;
    for (;; kind++) {
        const int64_t rows = p->destinations >> kind & 1 ? gsa_instance_nodes(x, kind) * scale : 0;
        if (row < rows) break;
        row -= rows;
    }
    return gsa_checking_source(c, x, phase, kind, row, out);
}
