/* choose.c - settings by the size of the data. The shares and limits are what small experiments on
 * real data left standing: docs/results.md, "A file of one's own". */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "topologies/words.h"
#include "train/look/look_parts.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void put(gsa_look *look, const char *name, const char *format, ...) GSA_PRINTF(3, 4);
static void put(gsa_look *look, const char *name, const char *format, ...)
{
    va_list arguments;
    gsa_look_value *v = &look->value[look->values++];
    v->name = name;
    va_start(arguments, format);
    vsnprintf(v->text, sizeof v->text, format, arguments);
    va_end(arguments);
}

static void put_number(gsa_look *look, const char *name, int64_t value)
{
    put(look, name, "%lld", (long long)value);
}

/* A tenth, at least one and at most 2,000. */
int64_t gsa_look_hold(int64_t examples)
{
    return clamp(examples / 10, 1, 2000);
}

/* So many passes that some `tokens` are read, but no fewer than `least` steps of `batch` examples
 * request, within bounds. */
static int64_t passes(const gsa_look_facts *f, int64_t tokens, int64_t steps, int64_t batch,
                      int64_t low, int64_t high)
{
    const int64_t by_time = tokens / (f->tokens + 1),
                  by_steps = 1 + steps * batch / (f->examples + 1);
    return clamp(by_time < by_steps ? by_time : by_steps, low, high);
}

static void put_texts(const gsa_look_found *found, gsa_look *look)
{
    static const char *const tokens[] = { [GSA_TOKENS_WORDS] = "words",
                                          [GSA_TOKENS_CHARS] = "chars",
                                          [GSA_TOKENS_PUNCTUATED] = "punctuated" };
    static const char *const encodings[] = {
        [GSA_ENCODING_UTF8] = "utf8", [GSA_ENCODING_MIXED] = "mixed"
    };
    put(look, "tokens", "%s", tokens[found->tokens]);
    put(look, "encoding", "%s", encodings[found->encoding]);
    put(look, "format", "%s", found->format);
    put(look, "columns", "%s", found->columns);
    put_number(look, "header", found->header);
    put_number(look, "markup", found->markup);
    put_number(look, "stratify", found->hold > 0);
}

/* Few steps make a pass of small data: more of them may be no better than the best before. */
static void put_passes(gsa_look *look, int64_t epochs)
{
    put_number(look, "epochs", epochs);
    put_number(look, "early_stop", clamp(epochs / 3, 3, 25));
}

static void put_sizes(const gsa_look_found *found, gsa_look *look)
{
    const gsa_look_facts *f = &found->facts;
    const int64_t n = f->examples, limit = strcmp(found->kind, "characters") == 0 ? 256 : 512;
    const int64_t batch = n < 5000 ? clamp(n / 50, 4, 16) : 32;
    int64_t epochs;
    put_number(look, "min_count", n < 500 ? 1 : 2);
    if (strcmp(found->kind, "tags") == 0) {
        put_number(look, "batch", clamp(n / 50, 4, 16));
        epochs = passes(f, 900000, 1600, 16, 4, 60);
        put_number(look, "position_max", clamp((f->longest + 255) / 256 * 256, 256, 1 << 20));
        put_passes(look, epochs);
        return;
    }
    put_number(look, "max_length", clamp((f->most + 15) / 16 * 16, 16, limit));
    if (strcmp(found->kind, "pairs") == 0) {
        const int many = n >= 10000;
        put_number(look, "batch", n < 2000 ? clamp(n / 50, 4, 16) : many ? 64 : 32);
        put_number(look, "width", many ? 200 : 100);
        put_number(look, "ffn", many ? 400 : 200);
        put(look, "dropout", "%s", many ? "0.3" : "0.2");
        epochs = many ? passes(f, 8000000, 1600, 64, 5, 8) : passes(f, 4000000, 1400, 32, 4, 60);
    } else if (strcmp(found->kind, "phrases") == 0) {
        epochs = f->tokens > 1000000 ? 1 : 3;
    } else {
        put_number(look, "batch", batch);
        epochs = passes(f, 8000000, n < 5000 ? 600 : 2000, batch, 3, 100);
    }
    put_passes(look, epochs);
}

static void put_tags(const gsa_look_found *found, gsa_look *look)
{
    put(look, "head", "%s", found->spans ? "crf" : "linear");
    put_number(look, "legal", found->spans);
    put(look, "scheme", "%s",
        found->spans ? "BIOES"
                     : "as_read"); /* says more of a span than IOB does; BMES is the same */
    put(look, "format", "%s", found->format);
    put(look, "encoding", "%s", found->encoding == GSA_ENCODING_UTF8 ? "utf8" : "mixed");
    put_number(look, "word", found->word);
    put_number(look, "tag", found->tag);
    put(look, "characters", "%s", found->single ? "none" : "ring*2");
    put_number(look, "lower", !found->single);
}

static void put_translation(const gsa_look_found *found, gsa_look *look)
{
    const gsa_look_facts *f = &found->facts;
    put(look, "source", "%s", found->suffix[0]);
    put(look, "target", "%s", found->suffix[1]);
    put(look, "columns", "%s", found->columns);
    put(look, "tokens", "%s",
        found->tokens == GSA_TOKENS_CHARS   ? "chars"
        : found->tokens == GSA_TOKENS_WORDS ? "words"
                                            : "punctuated");
    put_number(look, "bpe", clamp(f->examples / 4, 200, 8000));
    /* A minute for 10,000 pairs. */
    put_number(look, "epochs",
               passes(f, 320 * (f->examples > 10000 ? f->examples : 10000), 7200, 50, 3, 20));
}

static void put_language(const gsa_look_found *found, gsa_look *look)
{
    const int64_t steps = found->facts.tokens / 512;
    put(look, "tokens", "%s", found->encoding == GSA_ENCODING_UTF8 ? "chars" : "bytes");
    put(look, "split", "%s", found->options->files > 1 ? "" : "0.9,0.1");
    put_number(look, "max_steps", clamp(steps, 60, 600));
    put_number(look, "warmup", clamp(steps / 10, 6, 60));
}

/* A value of a recipe is one line of UTF-8, without the blanks around it. */
static gsa_status check_values(const gsa_look *look, gsa_error *error)
{
    char shown[GSA_SHOWN];
    for (int i = 0; i < look->values; i++) {
        const char *text = look->value[i].text;
        const size_t bytes = strlen(text);
        if (gsa_utf8_invalid(text, (int64_t)bytes) >= 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "%s cannot be in a recipe: it is no valid UTF-8: rename it",
                            gsa_word_show(text, shown));
        if (bytes == 0 ||
            (!strchr(text, '\n') && !strchr(" \t\r", text[0]) && !strchr(" \t\r", text[bytes - 1])))
            continue;
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "%s cannot be in a recipe: it has a line end, or a blank at an end: rename it",
            gsa_word_show(text, shown));
    }
    return GSA_OK;
}

gsa_status gsa_look_choose(const gsa_look_found *found, gsa_look *look, gsa_error *error)
{
    const gsa_look_options *o = found->options;
    const int two = *found->stem != 0; /* parallel text in two files */
    for (int i = 0; i < o->files; i++)
        if (strlen(o->file[i]) >= GSA_LOOK_TEXT)
            return gsa_fail(error, GSA_ERR_LIMIT, "the path '%.60s...' has more than %d bytes",
                            o->file[i], GSA_LOOK_TEXT - 1);
    look->kind = found->kind;
    put(look, "train", "%s", two ? found->stem : o->file[0]);
    put(look, "dev", "%s", o->files > 1 && !two ? o->file[1] : "");
    put(look, "test", "%s", o->files > 2 && !two ? o->file[2] : "");
    put_number(look, "hold", found->hold);
    if (strcmp(found->kind, "language") == 0) put_language(found, look);
    else if (strcmp(found->kind, "translation") == 0) put_translation(found, look);
    else put_sizes(found, look);
    if (strcmp(found->kind, "tags") == 0) put_tags(found, look);
    else if (strcmp(found->kind, "language") != 0 && strcmp(found->kind, "translation") != 0)
        put_texts(found, look);
    return check_values(look, error);
}
