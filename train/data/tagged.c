#include "train/data/tagged.h"
#include <string.h>
#include "train/driver/batches.h"
#include "train/settings/keys.h"
#include "train/data/shape.h"

void gsa_tagged_release(gsa_tagged *tagged)
{
    gsa_conll_release(&tagged->conll);
    gsa_text_release(&tagged->taken);
    gsa_release(tagged->system, tagged->bytes);
    gsa_release(tagged->system, tagged->tag_bytes);
    gsa_release(tagged->system, tagged->form);
    gsa_release(tagged->system, tagged->words.token);
    gsa_release(tagged->system, tagged->tags.label);
    *tagged = (gsa_tagged){ 0 };
}

/* ---- words --------------------------------------------------------------------------------- */

/* Forms and words are copies: the file's lines stay as they are, to be written out again. */
static gsa_status make_words(gsa_tagged *t, const gsa_tagged_options *options, gsa_error *error)
{
    const gsa_conll *c = &t->conll;
    int64_t room = 1;
    for (int64_t i = 0; i < c->tokens; i++) room += (options->lower ? 5 : 1) * c->word[i].bytes;
    char *at = t->bytes = gsa_alloc(t->system, (size_t)room, 1);
    t->form = gsa_alloc(t->system, (size_t)c->tokens, sizeof *t->form);
    t->words.token = gsa_alloc(t->system, (size_t)c->tokens, sizeof *t->words.token);
    if (!at || !t->form || !t->words.token)
        return gsa_out_of_memory(error, c->path, room + c->tokens * 32);
    for (int64_t i = 0; i < c->tokens; i++) {
        int64_t bytes = c->word[i].bytes;
        memcpy(at, c->word[i].at, (size_t)bytes);
        if (options->zero_digits) bytes = gsa_zero_digits(at, bytes);
        t->form[i] = t->words.token[i] = (gsa_slice){ at, bytes };
        at += bytes;
        if (!options->lower) continue;
        t->words.token[i] = (gsa_slice){ at, gsa_lower_into(t->form[i].at, bytes, at) };
        at += t->words.token[i].bytes;
    }
    t->words.system = t->system, t->words.path = c->path, t->words.examples = c->sentences,
    t->words.tokens = c->tokens;
    t->words.offset = c->offset, t->words.longest = (int32_t)c->longest;
    return GSA_OK;
}

static gsa_status take_part(gsa_conll *c, const gsa_sample *part, gsa_error *error)
{
    if (part->held == 0) return GSA_OK;
    uint8_t *drop = gsa_alloc_zero(c->system, (size_t)c->sentences, 1);
    if (!drop) return gsa_out_of_memory(error, c->path, c->sentences);
    const gsa_status status =
        gsa_sample_choose(c->system, part, c->path, NULL, c->sentences, drop, error);
    if (status == GSA_OK) gsa_conll_compact(c, drop);
    gsa_release(c->system, drop);
    return status;
}

gsa_status gsa_tagged_read(const gsa_system *system, const char *path,
                           const gsa_tagged_options *options, gsa_tagged *tagged, gsa_error *error)
{
    *tagged = (gsa_tagged){ .system = system };
    gsa_status status = gsa_conll_read(system, path, &options->conll, &tagged->conll, error);
    if (status == GSA_OK) status = take_part(&tagged->conll, &options->part, error);
    if (status == GSA_OK) status = make_words(tagged, options, error);
    if (status != GSA_OK) gsa_tagged_release(tagged);
    return status;
}

/* The arrays of a file whose sentences are the text's examples; those without a token are none. */
static gsa_status imitate(gsa_conll *c, const gsa_text *text, gsa_error *error)
{
    const size_t tokens = (size_t)text->tokens;
    c->path = gsa_copy_text(c->system, text->path), c->bytes = gsa_copy_text(c->system, "");
    c->offset = gsa_alloc_zero(c->system, (size_t)text->examples + 1, sizeof *c->offset);
    c->line = gsa_alloc_zero(c->system, tokens, sizeof *c->line);
    c->word = gsa_alloc(c->system, tokens, sizeof *c->word);
    c->tag = gsa_alloc(c->system, tokens, sizeof *c->tag);
    if (!c->path || !c->bytes || !c->offset || !c->line || !c->word || !c->tag)
        return gsa_out_of_memory(error, "the text", text->tokens * 40);
    for (size_t i = 0; i < tokens; i++)
        c->word[i] = text->token[i], c->tag[i] = (gsa_slice){ "", 0 };
    for (int64_t e = 0; e < text->examples; e++) {
        const int64_t first = text->offset[e], last = text->offset[e + 1];
        for (int64_t i = first; i < last; i++) c->line[i] = text->line[e];
        if (last > first) c->offset[++c->sentences] = last;
    }
    c->tokens = text->tokens, c->longest = text->longest;
    return GSA_OK;
}

static gsa_status take(gsa_status read, const gsa_tagged_options *options, gsa_tagged *tagged,
                       gsa_error *error)
{
    gsa_status status = read;
    if (status == GSA_OK) status = imitate(&tagged->conll, &tagged->taken, error);
    if (status == GSA_OK) status = make_words(tagged, options, error);
    if (status != GSA_OK) gsa_tagged_release(tagged);
    return status;
}

gsa_status gsa_tagged_take(const gsa_system *system, const char *text, int32_t tokens,
                           const gsa_tagged_options *options, gsa_tagged *tagged, gsa_error *error)
{
    const gsa_text_options cut = { .tokens = tokens };
    *tagged = (gsa_tagged){ .system = system, .conll = { .system = system } };
    return take(gsa_text_take(system, "the text", text, &cut, &tagged->taken, error), options,
                tagged, error);
}

gsa_status gsa_tagged_lines(const gsa_system *system, const char *path, int32_t tokens,
                            const gsa_tagged_options *options, gsa_tagged *tagged, gsa_error *error)
{
    const gsa_text_options cut = { .format = GSA_TEXT_TSV,
                                   .tokens = tokens,
                                   .unlabelled = 1,
                                   .encoding = options->conll.encoding,
                                   .empty = GSA_EMPTY_KEEP };
    *tagged = (gsa_tagged){ .system = system, .conll = { .system = system } };
    return take(gsa_text_read(system, path, &cut, &tagged->taken, error), options, tagged, error);
}

/* ---- tags ---------------------------------------------------------------------------------- */

/* One sentence's tags after *at, in `scheme`; in a span, each letter once: a "." may be in one, and
 * is shorter than the span's type, which is its last token's. */
static void write_tags(gsa_tagged *t, int64_t sentence, int32_t scheme, gsa_span *span,
                       char *letter, char **at)
{
    const int64_t first = t->conll.offset[sentence], count = t->conll.offset[sentence + 1] - first;
    const int64_t spans = gsa_spans_lenient(t->conll.tag + first, count, span);
    gsa_spans_letters(scheme, span, spans, count, letter);
    for (int64_t i = 0, s = 0; i < count; i++) {
        while (s < spans && span[s].last < i) s++;
        const int inside = s < spans && span[s].first <= i;
        if (inside && span[s].first < i && letter[i] == letter[i - 1]) {
            t->tags.label[first + i] = t->tags.label[first + i - 1];
            continue;
        }
        const gsa_slice type = inside ? span[s].type : (gsa_slice){ "", 0 };
        const int64_t bytes = gsa_tag_write(*at, (size_t)type.bytes + 3, letter[i], type);
        t->tags.label[first + i] = (gsa_slice){ *at, bytes };
        *at += bytes + 1;
    }
}

static gsa_status rewrite(gsa_tagged *t, int32_t scheme, gsa_error *error)
{
    const gsa_conll *c = &t->conll;
    int64_t room = 1;
    for (int64_t i = 0; i < c->tokens; i++) /* "O", and B-, I- and E- of the last one's type */
        room += 2 + 3 * (c->tag[i].bytes + 3);
    gsa_span *span = gsa_alloc(t->system, (size_t)c->longest, sizeof *span);
    char *letter = gsa_alloc(t->system, (size_t)c->longest, 1);
    char *at = t->tag_bytes = gsa_alloc(t->system, (size_t)room, 1);
    const int whole = span && letter && at;
    for (int64_t s = 0; whole && s < c->sentences; s++) write_tags(t, s, scheme, span, letter, &at);
    gsa_release(t->system, span);
    gsa_release(t->system, letter);
    return whole ? GSA_OK : gsa_out_of_memory(error, c->path, room + c->longest * 40);
}

gsa_status gsa_tagged_convert(gsa_tagged *tagged, int32_t from, int32_t to, gsa_error *error)
{
    const gsa_conll *c = &tagged->conll;
    const int spans = from != GSA_SCHEME_NONE;
    tagged->tags = (gsa_text){
        .system = tagged->system, .path = c->path, .examples = c->tokens + spans, .line = c->line
    };
    tagged->tags.label =
        gsa_alloc(tagged->system, (size_t)c->tokens + 1, sizeof *tagged->tags.label);
    if (!tagged->tags.label) return gsa_out_of_memory(error, c->path, c->tokens * 16);
    if (c->tokens > 0 && !spans)
        memcpy(tagged->tags.label, c->tag, (size_t)c->tokens * sizeof *c->tag);
    tagged->tags.label[c->tokens] = (gsa_slice){ "O", 1 };
    return spans ? rewrite(tagged, to, error) : GSA_OK;
}

/* ---- the most frequent tag ----------------------------------------------------------------- */

/* The most frequent label among sorted (word, label) pairs from..to-1. */
static int32_t favourite(const gsa_keyed *pair, int64_t from, int64_t to)
{
    int32_t best = -1;
    int64_t most = 0;
    for (int64_t i = from, next; i < to; i = next) {
        for (next = i; next < to && pair[next].key == pair[i].key;) next++;
        if (next - i > most) most = next - i, best = (int32_t)(pair[i].key & 0x7fffffff);
    }
    return best;
}

static int64_t find_word(const gsa_keyed *pair, int64_t count, int32_t word)
{
    int64_t low = 0;
    while (low < count) {
        const int64_t middle = low + (count - low) / 2;
        if (pair[middle].key >> 32 < (uint64_t)word) low = middle + 1;
        else count = middle;
    }
    return low;
}

static int32_t most_frequent(const gsa_tag_view *train, int32_t labels, int64_t *count)
{
    int32_t best = 0;
    for (int64_t i = 0; i < train->tokens; i++)
        if (train->label[i] >= 0) count[train->label[i]]++;
    for (int32_t l = 1; l < labels; l++)
        if (count[l] > count[best]) best = l;
    return best;
}

gsa_status gsa_tag_baseline(const gsa_system *system, const gsa_tag_view *train,
                            const gsa_tag_view *dev, int32_t labels, int32_t *majority,
                            int32_t *guess, gsa_error *error)
{
    gsa_keyed *pair = gsa_alloc(system, (size_t)train->tokens, sizeof *pair);
    int64_t *count = gsa_alloc_zero(system, (size_t)labels, sizeof *count), pairs = 0;
    const int whole = pair && count;
    if (whole) *majority = most_frequent(train, labels, count);
    for (int64_t i = 0; whole && i < train->tokens; i++)
        if (train->label[i] >= 0)
            pair[pairs++] =
                (gsa_keyed){ (uint64_t)train->word[i] << 32 | (uint64_t)train->label[i], i };
    if (whole) gsa_sort_keyed(pair, pairs);
    for (int64_t i = 0; whole && i < dev->tokens; i++) {
        const int64_t from = find_word(pair, pairs, dev->word[i]);
        int64_t to = from;
        while (to < pairs && pair[to].key >> 32 == (uint64_t)dev->word[i]) to++;
        const int32_t best = favourite(pair, from, to);
        guess[i] = best < 0 ? *majority : best;
    }
    gsa_release(system, pair);
    gsa_release(system, count);
    return whole ? GSA_OK : gsa_out_of_memory(error, "the baseline of tags", train->tokens * 16);
}
