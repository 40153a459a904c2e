/* examples.c - made-up examples: texts of words and of Chinese characters, groups of irregular size. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "parts.h"

enum { EVERY_LENGTH_TO = 130, LONG = 1000, SOME_MEMORY = 7 };
static const gsa_limits LIMITS = { .edges = INT64_C(1) << 26, .runs = INT64_C(1) << 21 }; /* of an example of 1000 tokens */

int32_t gsa_checking_length(const gsa_checking *c, int i)
{
    if (c->only >= 0) return i == 0 ? c->only : -1;
    return i <= EVERY_LENGTH_TO ? i : i == EVERY_LENGTH_TO + 1 ? LONG : -1;
}

int32_t gsa_checking_few(const gsa_checking *c, int i)
{
    static const int32_t few[] = { 0, 1, 2, 3, 5, 8, 13, 33, 64, EVERY_LENGTH_TO, LONG };
    if (c->only >= 0) return i == 0 ? c->only : -1;
    return i < (int)(sizeof few / sizeof *few) ? few[i] : -1;
}

gsa_trial gsa_checking_trial(const gsa_checking *c, int32_t length)
{
    return (gsa_trial){ .length = length,
                        .memory_length = c->reads_memory ? SOME_MEMORY : 0,
                        .heads = 1,
                        .text = c->reads_text ? GSA_TEXT_CJK : GSA_TEXT_NONE };
}

int gsa_checking_variant(const gsa_checking *c, int32_t length, int i, gsa_trial *trial)
{
    *trial = gsa_checking_trial(c, length);
    if (i == 1) trial->heads = 3, trial->grouped = 1;
    if (i == 2) trial->text = GSA_TEXT_WORDS;
    return i < 2 + c->reads_text;
}

const char *gsa_checking_where(const gsa_trial *trial, char out[GSA_NODE_NAME])
{
    snprintf(out, GSA_NODE_NAME, "%s%s", trial->heads > 1 ? " with 3 heads, in groups" : "",
             trial->text == GSA_TEXT_WORDS ? " of English text" : "");
    return out;
}

/* ---- texts --------------------------------------------------------------------------------------------------------------- */

static const char *const words[] = { "the",  "of",    "and",     "to",   "in",     "is",  "that",  "it",
                                     "was",  "light", "for",     "on",   "house",  "as",  "river", "with",
                                     "be",   "a",     "nothing", "at",   "by",     "I",   "this",  "had",
                                     "long", "not",   "are",     "2026", "&c <b>", "\"x", "don't", "\xc3\xa9t\xc3\xa9" };
/* Common characters, each in many words of any lexicon. */
static const char *const characters[] = {
    "的", "一", "是", "不", "了", "人", "我", "在", "有", "他", "这", "中", "大", "来", "上", "国",
    "个", "到", "说", "们", "为", "子", "和", "你", "地", "出", "道", "也", "时", "年", "得", "就",
    "那", "要", "下", "以", "生", "会", "自", "着", "去", "之", "过", "家", "学", "对", "可", "她",
    "里", "后", "小", "么", "心", "多", "天", "而", "能", "好", "都", "然", "没", "日", "于", "起",
};

static gsa_slice token_of(int script, int32_t t)
{
    const uint64_t dice = gsa_random(7, (uint64_t)t, (uint64_t)script);
    const char *token = script == GSA_TEXT_WORDS ? words[dice % (sizeof words / sizeof *words)]
                                                 : characters[dice % (sizeof characters / sizeof *characters)];
    return (gsa_slice){ token, (int64_t)strlen(token) };
}

static gsa_status make_room(gsa_checking *c, int32_t length, gsa_error *error)
{
    if (length <= c->room) return GSA_OK;
    int32_t *group = gsa_resize(c->system, c->group, (size_t)length, sizeof *group);
    if (group) c->group = group;
    for (int s = 0; s < 2 && group; s++) {
        gsa_slice *text = gsa_resize(c->system, c->text[s], (size_t)length, sizeof *text);
        if (!text) group = NULL;
        else c->text[s] = text;
    }
    if (!group) return gsa_out_of_memory(error, "an example", length * (int64_t)sizeof(gsa_slice));
    for (int32_t t = c->room; t < length; t++) {
        c->group[t] = t == 0 ? 0 : c->group[t - 1] + (gsa_random(7, (uint64_t)t, 9) % 5 == 0);
        for (int s = 0; s < 2; s++) c->text[s][t] = token_of(s + GSA_TEXT_WORDS, t);
    }
    c->room = length;
    return GSA_OK;
}

void gsa_checking_end(gsa_checking *c)
{
    gsa_release(c->system, c->group);
    for (int s = 0; s < 2; s++) gsa_release(c->system, c->text[s]);
}

/* ---- examples ------------------------------------------------------------------------------------------------------------ */

gsa_status gsa_checking_example(gsa_checking *c, const gsa_trial *trial, gsa_example *example, gsa_error *error)
{
    const int32_t longest = trial->length > trial->memory_length ? trial->length : trial->memory_length;
    const gsa_status status = make_room(c, longest > LONG ? longest : LONG, error);
    if (status != GSA_OK) return status;
    *example = (gsa_example){ .struct_size = sizeof *example,
                              .length = trial->length,
                              .memory_length = trial->memory_length,
                              .heads = trial->heads,
                              .text = trial->text ? c->text[trial->text - GSA_TEXT_WORDS] : NULL,
                              .group = trial->grouped ? c->group : NULL,
                              .memory_group = trial->grouped ? c->group : NULL };
    return GSA_OK;
}

void gsa_checking_beat(const gsa_checking *c, int32_t length)
{
    if (c->options.progress) c->options.progress(c->options.context, c->property, length);
}

gsa_status gsa_checking_build(gsa_checking *c, const gsa_trial *trial, gsa_instance **instance, gsa_error *error)
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

/* ---- findings ------------------------------------------------------------------------------------------------------------ */

void gsa_found(gsa_finding *finding, int verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->verdict = verdict;
}

gsa_status gsa_found_error(gsa_finding *finding, const gsa_trial *trial, gsa_status status, const gsa_error *why,
                           gsa_error *error)
{
    if (status == GSA_ERR_MEMORY) return gsa_fail(error, status, "%s", why->text);
    finding->length = trial->length;
    gsa_found(finding, GSA_VERDICT_FAILED, "%s (%" PRId32 " heads, memory of %" PRId32 "%s%s)", why->text, trial->heads,
              trial->memory_length,
              trial->text == GSA_TEXT_CJK    ? ", Chinese text"
              : trial->text == GSA_TEXT_NONE ? ""
                                             : ", English text",
              trial->grouped ? ", in groups" : "");
    return GSA_OK;
}

void gsa_checking_bases(const gsa_checking *c, const gsa_instance *x, int64_t base[GSA_MAX_KINDS + 1])
{
    base[0] = 0;
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++) base[k + 1] = base[k] + gsa_instance_nodes(x, k);
}

const char *gsa_checking_source(const gsa_checking *c, const gsa_instance *x, int phase, int kind, int64_t index,
                                char out[GSA_NODE_NAME])
{
    const char *name = gsa_schema_kind(c->schema, kind)->name;
    const int32_t heads = gsa_instance_heads(x);
    if (gsa_schema_phase(c->schema, phase)->per_head)
        snprintf(out, GSA_NODE_NAME, "%s %" PRId64 " head %" PRId64, name, index / heads, index % heads);
    else snprintf(out, GSA_NODE_NAME, "%s %" PRId64, name, index);
    return out;
}

const char *gsa_checking_row(const gsa_checking *c, const gsa_instance *x, int phase, int64_t row, char out[GSA_NODE_NAME])
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
