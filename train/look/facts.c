#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>
#include "topologies/words.h"
#include "train/driver/batches.h"
#include "train/look/look_parts.h"

/* ---- labels -------------------------------------------------------------------------------- */

typedef struct tally {
    int64_t count;
    gsa_slice name;
} tally;

static int by_name(const void *a, const void *b)
{
    return gsa_slice_compare(((const tally *)a)->name, ((const tally *)b)->name);
}

static int by_count(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return by_name(a, b);
}

static int is_number(gsa_slice s)
{
    int64_t digits = 0;
    for (int64_t i = 0; i < s.bytes; i++) {
        if (s.at[i] >= '0' && s.at[i] <= '9') digits++;
        else if (!strchr("+-.,eE", s.at[i])) return 0;
    }
    return digits > 0;
}

static void list(const tally *t, gsa_look_facts *f)
{
    char name[GSA_SHOWN], text[64];
    size_t used = 0;
    f->numbers = 1;
    for (int64_t i = 0; i < f->labels; i++) f->numbers &= is_number(t[i].name);
    const int64_t shown = f->labels <= 12 ? f->labels : 10;
    for (int64_t i = 0; i < shown && used < sizeof f->listed - GSA_SHOWN; i++) {
        snprintf(text, sizeof text, "%.*s", (int)(t[i].name.bytes < 24 ? t[i].name.bytes : 24),
                 t[i].name.at);
        used += (size_t)snprintf(f->listed + used, sizeof f->listed - used, "%s%s %lld",
                                 i ? ", " : "", gsa_word_show(text, name), (long long)t[i].count);
    }
    if (shown < f->labels)
        snprintf(f->listed + used, sizeof f->listed - used, ", and %lld more",
                 (long long)(f->labels - shown));
    const tally *last = &t[f->labels - 1];
    f->smallest = last->count;
    snprintf(text, sizeof text, "%.*s", (int)(last->name.bytes < 60 ? last->name.bytes : 60),
             last->name.at);
    gsa_word_show(text, f->rarest);
}

gsa_status gsa_look_tally(const gsa_text *text, gsa_look_facts *f, gsa_error *error)
{
    tally *t = gsa_alloc(text->system, (size_t)text->examples, sizeof *t);
    if (!t) return gsa_out_of_memory(error, text->path, text->examples * (int64_t)sizeof *t);
    for (int64_t i = 0; i < text->examples; i++) t[i] = (tally){ 1, text->label[i] };
    qsort(t, (size_t)text->examples, sizeof *t, by_name);
    for (int64_t i = 0; i < text->examples; i++) {
        if (f->labels > 0 && gsa_slice_compare(t[f->labels - 1].name, t[i].name) == 0)
            t[f->labels - 1].count++;
        else t[f->labels++] = t[i];
    }
    qsort(t, (size_t)f->labels, sizeof *t, by_count);
    if (f->labels > 0) list(t, f);
    gsa_release(text->system, t);
    return GSA_OK;
}

gsa_status gsa_look_check_labels(const char *path, const gsa_look_facts *f, gsa_error *error)
{
    if (f->labels == 1)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: every example has the label %s: there is nothing to tell apart", path,
                        f->rarest);
    if (2 * f->labels <= f->examples || f->labels < 8) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: its %lld examples have %lld different labels: %s; --columns says which "
                    "column holds labels",
                    path, (long long)f->examples, (long long)f->labels,
                    f->numbers
                        ? "numbers to be predicted (regression), or ids, which no task here learns"
                        : "ids or names, which nothing can be learned of");
}

/* ---- lengths ------------------------------------------------------------------------------- */

gsa_status gsa_look_measure(const gsa_text *const *side, int sides, int labelled, gsa_look_facts *f,
                            gsa_error *error)
{
    const gsa_text *text = side[0];
    const int64_t n = text->examples;
    *f = (gsa_look_facts){ .examples = n };
    gsa_keyed *length = gsa_alloc(text->system, (size_t)n, sizeof *length);
    if (!length) return gsa_out_of_memory(error, text->path, n * (int64_t)sizeof *length);
    for (int64_t e = 0; e < n; e++) {
        int64_t most = 0;
        for (int s = 0; s < sides; s++) {
            const int64_t tokens = side[s]->offset[e + 1] - side[s]->offset[e];
            f->tokens += tokens;
            if (tokens > most) most = tokens;
        }
        length[e] = (gsa_keyed){ (uint64_t)most, e };
    }
    gsa_sort_keyed(length, n);
    if (n > 0) {
        f->half = (int64_t)length[(n - 1) / 2].key,
        f->most = (int64_t)length[(n - 1) * 95 / 100].key;
        f->longest = (int64_t)length[n - 1].key;
    }
    gsa_release(text->system, length);
    return labelled ? gsa_look_tally(text, f, error) : GSA_OK;
}

/* ---- script -------------------------------------------------------------------------------- */

/* Scripts that write without blanks between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer. */
static int is_unspaced(int32_t c)
{
    return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff) ||
           (c >= 0x0e00 && c <= 0x0eff) || (c >= 0x1000 && c <= 0x109f) ||
           (c >= 0x1780 && c <= 0x17ff);
}

int32_t gsa_look_script(const char *bytes, int64_t count)
{
    int64_t letters = 0, unspaced = 0, blanks = 0, marks = 0, alone = 0;
    int32_t before = ' ';
    if (count > 1 << 22) count = 1 << 22;
    for (int64_t i = 0; i < count;) {
        utf8proc_int32_t c;
        const int64_t length = utf8proc_iterate((const utf8proc_uint8_t *)bytes + i, count - i, &c);
        if (length <= 0) break;
        i += length;
        const int own = is_unspaced(c);
        letters += own || utf8proc_category(c) <= UTF8PROC_CATEGORY_LO, unspaced += own;
        blanks += own && before == ' ';
        const int mark = c == '.' || c == ',' || c == '!' || c == '?';
        marks += mark, alone += mark && before == ' ';
        before = c;
    }
    if (3 * unspaced > letters && 3 * blanks < unspaced) return GSA_TOKENS_CHARS;
    return marks > 0 && 10 * alone > 8 * marks ? GSA_TOKENS_WORDS : GSA_TOKENS_PUNCTUATED;
}

int gsa_look_has_markup(const char *bytes, int64_t count)
{
    int64_t tags = 0, lines = 0;
    for (int64_t i = 0; i + 2 < count; i++) {
        lines += bytes[i] == '\n';
        tags += bytes[i] == '<' && ((bytes[i + 1] == '/' && bytes[i + 2] >= 'a') ||
                                    (bytes[i + 1] == 'b' && bytes[i + 2] == 'r') ||
                                    (bytes[i + 1] == 'p' && bytes[i + 2] == '>'));
    }
    return 100 * tags > lines && tags > 0;
}
