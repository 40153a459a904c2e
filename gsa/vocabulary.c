/* vocabulary.c - an open-addressed table over words that lie in blocks which never move. Adding and
 * finding: O(bytes of the word); freezing: O(n log n). Memory: the texts, 24 bytes a word, at most
 * 8 bytes of table a word. */
#include "vocabulary.h"
#include "graph/index.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/slots.h"
#include "graph/system_parts.h"
#include "graph/utf8.h"

enum { BLOCK = 1 << 16, FIRST_ROOM = 256, LONGEST_FILE = 1 << 30 };
static const char unknown_word[] = "<unk>";

typedef struct word {
    const char *at;
    int64_t count;
    int32_t bytes;
    uint32_t hash;
} word;

typedef struct block {
    struct block *before;
    int64_t used, room;
    char text[];
} block;

struct gsa_vocabulary {
    const gsa_system *system;
    block *blocks;
    word *words;                     /* word i has id i + GSA_WORD_FIRST once frozen */
    int32_t *table;                  /* [table_room] index of a word or -1; at most half full */
    int32_t count, room, table_room; /* table_room: a power of two */
    int frozen;
};

/* Words keep their hash while the table moves: the seed is the vocabulary's own address. */
static uint32_t hash_of(const gsa_vocabulary *v, gsa_slice text)
{
    return (uint32_t)gsa_slot_hash(gsa_slot_seed(v), text.at, text.bytes);
}

static int same(gsa_slice a, const char *at, int64_t bytes)
{
    return a.bytes == bytes && memcmp(a.at, at, (size_t)bytes) == 0;
}

static int is_unknown(gsa_slice text)
{
    return same(text, unknown_word, (int64_t)sizeof unknown_word - 1);
}

/* ---- the table ----------------------------------------------------------------------------- */

/* The slot that holds the word, or the free one where it would be. */
static int32_t *slot_of(const gsa_vocabulary *v, gsa_slice text, uint32_t hash)
{
    const uint32_t mask = (uint32_t)v->table_room - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        int32_t *slot = &v->table[i];
        if (*slot < 0) return slot;
        const word *w = &v->words[*slot];
        if (w->hash == hash && same(text, w->at, w->bytes)) return slot;
    }
}

static void fill_table(gsa_vocabulary *v)
{
    memset(v->table, 0xff, (size_t)v->table_room * sizeof *v->table);
    for (int32_t i = 0; i < v->count; i++) {
        const word *w = &v->words[i];
        *slot_of(v, (gsa_slice){ w->at, w->bytes }, w->hash) = i;
    }
}

static gsa_status grow(gsa_vocabulary *v, gsa_error *error)
{
    if (v->count < v->room) return GSA_OK;
    const int32_t room = v->room ? 2 * v->room : FIRST_ROOM;
    word *words = gsa_resize(v->system, v->words, (size_t)room, sizeof *words);
    if (!words) return gsa_out_of_memory(error, "a vocabulary", room * (int64_t)sizeof *words);
    v->words = words;
    int32_t *table = gsa_alloc(v->system, (size_t)room * 2, sizeof *table);
    if (!table) return gsa_out_of_memory(error, "a vocabulary", room * 2 * (int64_t)sizeof *table);
    gsa_release(v->system, v->table);
    v->table = table;
    v->room = room, v->table_room = 2 * room;
    fill_table(v);
    return GSA_OK;
}

/* ---- counting ------------------------------------------------------------------------------ */

static const char *keep_text(gsa_vocabulary *v, gsa_slice text)
{
    block *last = v->blocks;
    if (!last || last->room - last->used < text.bytes) {
        const int64_t room = text.bytes > BLOCK ? text.bytes : BLOCK;
        block *made = gsa_alloc(v->system, sizeof *made + (size_t)room, 1);
        if (!made) return NULL;
        made->before = last, made->used = 0, made->room = room;
        v->blocks = last = made;
    }
    char *at = last->text + last->used;
    memcpy(at, text.at, (size_t)text.bytes);
    last->used += text.bytes;
    return at;
}

/* What no line of vocab.txt could hold. */
static gsa_status check_word(gsa_slice text, gsa_error *error)
{
    if (text.bytes <= 0) return gsa_fail(error, GSA_ERR_FORMAT, "a word is empty");
    if (text.bytes > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "a word has %" PRId64 " bytes", text.bytes);
    const int64_t bad = gsa_utf8_invalid(text.at, text.bytes);
    const int shown = text.bytes < 80 ? (int)text.bytes : 80;
    if (bad >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "the word '%.*s' is not valid UTF-8 at its byte %" PRId64, shown, text.at,
                        bad);
    for (const char *c = "\t\n\r"; *c; c++)
        if (memchr(text.at, *c, (size_t)text.bytes))
            return gsa_fail(error, GSA_ERR_FORMAT, "the word '%.*s' holds a tab or a line end",
                            shown, text.at);
    return GSA_OK;
}

static gsa_status append(gsa_vocabulary *v, gsa_slice text, uint32_t hash, int64_t count,
                         gsa_error *error)
{
    const int32_t most = gsa_index_most / 4; /* the table's room is an index */
    if (v->count == most)
        return gsa_fail(error, GSA_ERR_LIMIT, "a vocabulary holds at most %d words", most);
    const gsa_status status = grow(v, error);
    if (status != GSA_OK) return status;
    const char *at = keep_text(v, text);
    if (!at) return gsa_out_of_memory(error, "a vocabulary", text.bytes);
    *slot_of(v, text, hash) = v->count;
    v->words[v->count++] = (word){ at, count, (int32_t)text.bytes, hash };
    return GSA_OK;
}

gsa_status gsa_vocabulary_add(gsa_vocabulary *v, gsa_slice text, int64_t count, gsa_error *error)
{
    if (v->frozen)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a word is added to a vocabulary that is frozen");
    if (count < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a word is added %" PRId64 " times", count);
    const gsa_status status = check_word(text, error);
    if (status != GSA_OK || is_unknown(text)) return status;
    const uint32_t hash = hash_of(v, text);
    const int32_t found = v->count ? *slot_of(v, text, hash) : -1;
    if (found < 0) return append(v, text, hash, count, error);
    if (gsa_add(v->words[found].count, count, &v->words[found].count)) return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT, "the count of a word exceeds %" PRId64, INT64_MAX);
}

/* The least count that at most `most` words exceed. */
static int64_t floor_for(const gsa_vocabulary *v, int64_t most)
{
    int64_t floor = 0, left = v->count;
    while (left > most) {
        int64_t next = INT64_MAX;
        for (int32_t i = 0; i < v->count; i++)
            if (v->words[i].count > floor && v->words[i].count < next) next = v->words[i].count;
        floor = next, left = 0;
        for (int32_t i = 0; i < v->count; i++) left += v->words[i].count > floor;
    }
    return floor;
}

gsa_status gsa_vocabulary_bound(gsa_vocabulary *v, int64_t most, gsa_error *error)
{
    gsa_vocabulary *made;
    if (v->count <= most) return GSA_OK;
    gsa_status status = gsa_vocabulary_create(v->system, &made, error);
    if (status != GSA_OK) return status;
    const int64_t floor = floor_for(v, most / 2);
    for (int32_t i = 0; i < v->count && status == GSA_OK; i++) {
        const word *w = &v->words[i];
        if (w->count > floor)
            status = append(made, (gsa_slice){ w->at, w->bytes }, w->hash, w->count, error);
    }
    if (status == GSA_OK) {
        const gsa_vocabulary old = *v; /* the hashes in `made` are those of v */
        *v = *made, *made = old;
    }
    gsa_vocabulary_release(made);
    return status;
}

static int by_count(const void *a, const void *b)
{
    const word *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    const int order = memcmp(x->at, y->at, (size_t)(x->bytes < y->bytes ? x->bytes : y->bytes));
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

gsa_status gsa_vocabulary_freeze(gsa_vocabulary *v, int64_t min_count, int64_t max_size,
                                 gsa_error *error)
{
    if (v->frozen) return gsa_fail(error, GSA_ERR_ARGUMENT, "a vocabulary is frozen a second time");
    if (min_count < 0 || max_size < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "words of at least %" PRId64 " occurrences, at most %" PRId64
                        " of them: neither may be negative",
                        min_count, max_size);
    if (v->count > 1) qsort(v->words, (size_t)v->count, sizeof *v->words, by_count);
    if (max_size > 0 && v->count > max_size) v->count = (int32_t)max_size;
    while (v->count > 0 && v->words[v->count - 1].count < min_count) v->count--;
    if (v->table) fill_table(v);
    v->frozen = 1;
    return GSA_OK;
}

gsa_status gsa_vocabulary_create(const gsa_system *system, gsa_vocabulary **vocabulary,
                                 gsa_error *error)
{
    system = gsa_system_or_default(system);
    *vocabulary = gsa_alloc_zero(system, 1, sizeof **vocabulary);
    if (!*vocabulary) return gsa_out_of_memory(error, "a vocabulary", (int64_t)sizeof **vocabulary);
    (*vocabulary)->system = system;
    return GSA_OK;
}

void gsa_vocabulary_release(gsa_vocabulary *v)
{
    if (!v) return;
    for (block *last = v->blocks, *before; last; last = before) {
        before = last->before;
        gsa_release(v->system, last);
    }
    gsa_release(v->system, v->words);
    gsa_release(v->system, v->table);
    gsa_release(v->system, v);
}

/* ---- asking -------------------------------------------------------------------------------- */

int32_t gsa_vocabulary_size(const gsa_vocabulary *v)
{
    return GSA_WORD_FIRST + (v->frozen ? v->count : 0);
}

int32_t gsa_vocabulary_find(const gsa_vocabulary *v, gsa_slice text)
{
    if (!v->frozen || v->count == 0) return GSA_WORD_UNKNOWN;
    const int32_t found = *slot_of(v, text, hash_of(v, text));
    return found < 0 ? GSA_WORD_UNKNOWN : found + GSA_WORD_FIRST;
}

static const word *word_of(const gsa_vocabulary *v, int32_t id)
{
    return id >= GSA_WORD_FIRST && id < gsa_vocabulary_size(v) ? &v->words[id - GSA_WORD_FIRST]
                                                               : NULL;
}

gsa_slice gsa_vocabulary_word(const gsa_vocabulary *v, int32_t id)
{
    const word *w = word_of(v, id);
    if (w) return (gsa_slice){ w->at, w->bytes };
    return id == GSA_WORD_PADDING ? (gsa_slice){ "", 0 }
                                  : (gsa_slice){ unknown_word, (int64_t)sizeof unknown_word - 1 };
}

int64_t gsa_vocabulary_count(const gsa_vocabulary *v, int32_t id)
{
    const word *w = word_of(v, id);
    return w ? w->count : 0;
}

/* ---- vocab.txt ----------------------------------------------------------------------------- */

gsa_status gsa_vocabulary_write(const gsa_vocabulary *v, gsa_output *output)
{
    if (!v->frozen) return GSA_ERR_ARGUMENT;
    for (int32_t i = 0; i < v->count; i++) {
        gsa_output_write(output, v->words[i].at, v->words[i].bytes);
        gsa_output_format(output, "\t%" PRId64 "\n", v->words[i].count);
    }
    return GSA_OK;
}

/* Digits up to `end`: 1, or 0 when they are none, start with a needless 0 or exceed int64. */
static int read_count(const char *at, const char *end, int64_t *count)
{
    if (at == end || (*at == '0' && end - at > 1)) return 0;
    *count = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return 0;
        if (!gsa_mul(*count, 10, count) || !gsa_add(*count, *at - '0', count)) return 0;
    }
    return 1;
}

static gsa_status read_line(gsa_vocabulary *v, const char *at, const char *end, gsa_error *error)
{
    int64_t count;
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    if (!tab)
        return gsa_fail(error, GSA_ERR_FORMAT, "expected a word, a tab and a count, found no tab");
    const gsa_slice text = { at, tab - at };
    const gsa_status status = check_word(text, error);
    if (status != GSA_OK) return status;
    const int shown = text.bytes < 80 ? (int)text.bytes : 80,
              counted = end - tab < 40 ? (int)(end - tab - 1) : 40;
    if (!read_count(tab + 1, end, &count))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "the count of '%.*s' is '%.*s', not a whole number >= 0", shown, at,
                        counted, tab + 1);
    if (is_unknown(text))
        return gsa_fail(error, GSA_ERR_FORMAT, "'%s' is the unknown word, which has no line",
                        unknown_word);
    const uint32_t hash = hash_of(v, text);
    const int32_t twin = v->count ? *slot_of(v, text, hash) : -1;
    if (twin < 0) return append(v, text, hash, count, error);
    return gsa_fail(error, GSA_ERR_FORMAT, "the word '%.*s' is in line %d already", shown, at,
                    (int)twin + 1);
}

static gsa_status read_lines(gsa_vocabulary *v, const char *path, const char *at, int64_t bytes,
                             gsa_error *error)
{
    const char *const last = at + bytes;
    for (int64_t number = 1; at < last; number++) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        const gsa_status status = end ? read_line(v, at, end, error)
                                      : gsa_fail(error, GSA_ERR_FORMAT, "the line does not end");
        if (status != GSA_OK) return gsa_fail_at(error, status, "%s:%" PRId64, path, number);
        at = end + 1;
    }
    v->frozen = 1;
    return GSA_OK;
}

gsa_status gsa_vocabulary_read(const gsa_system *system, const char *path,
                               gsa_vocabulary **vocabulary, gsa_error *error)
{
    char *text;
    int64_t bytes;
    *vocabulary = NULL;
    gsa_status status = gsa_read_file(system, path, LONGEST_FILE, &text, &bytes, error);
    if (status != GSA_OK) return status;
    gsa_vocabulary *made;
    status = gsa_vocabulary_create(system, &made, error);
    if (status == GSA_OK) status = read_lines(made, path, text, bytes, error);
    gsa_release(system, text);
    if (status == GSA_OK) *vocabulary = made;
    else gsa_vocabulary_release(made);
    return status;
}
