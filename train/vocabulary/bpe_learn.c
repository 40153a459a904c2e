/* bpe_learn.c - learning merges. Words hold their symbols; a pair knows its count and, as a chain,
 * the words that held it once. A heap gives the pair of the greatest count: an entry's count is at
 * least its pair's, and is corrected when it comes up. */
#include <string.h>
#include "train/vocabulary/bpe_parts.h"

enum { LEAST = 2 }; /* times that a pair must occur to be joined */

typedef struct word {
    int64_t first, weight; /* place of its symbols; its count */
    int32_t length, zero;
} word;

typedef struct pair {
    int64_t count, before; /* before: the merge that is going on */
    int32_t left, right, chain;
    int32_t touched; /* merge in which it was seen last, from 1 */
} pair;

typedef struct link {
    int32_t word, next;
} link;

typedef struct entry {
    int64_t count;
    int32_t pair, zero;
} entry;

typedef struct learner {
    gsa_bpe *bpe;
    const gsa_system *system;
    int32_t *symbol; /* of all words */
    word *word;
    pair *pair;
    link *link;
    entry *heap;
    int32_t *touched;  /* pairs of the merge that is going on */
    gsa_couples index; /* of pairs */
    int64_t words, pairs, links, entries, touches, pair_room, link_room, heap_room, touched_room;
    int32_t round, zero;
} learner;

/* Room for one more of member `list`. */
#define ROOM(l, list, count, room)                                                                 \
    (at = (l)->list,                                                                               \
     held = gsa_bpe_room((l)->system, &at, &(l)->room, (l)->count + 1, sizeof *(l)->list),         \
     (l)->list = at, held && (l)->count < INT32_MAX)

/* ---- the order of pairs -------------------------------------------------------------------- */

/* Byte i of a piece as the file of merges writes it, with the last one's mark; -1: past its end. */
static int byte_of(gsa_slice text, int on, int64_t i)
{
    if (i < text.bytes) return (unsigned char)text.at[i];
    return !on && i < text.bytes + 4 ? "</w>"[i - text.bytes] : -1;
}

static int compare_pieces(const gsa_symbols *symbols, int32_t a, int32_t b)
{
    gsa_slice x, y;
    if (a == b) return 0;
    const int x_on = gsa_bpe_goes_on(gsa_symbols_text(symbols, a), &x);
    const int y_on = gsa_bpe_goes_on(gsa_symbols_text(symbols, b), &y);
    for (int64_t i = 0;; i++) {
        const int p = byte_of(x, x_on, i), q = byte_of(y, y_on, i);
        if (p != q) return p < q ? -1 : 1;
    }
}

/* Does entry a come up before b? */
static int is_before(const learner *l, entry a, entry b)
{
    if (a.count != b.count) return a.count > b.count;
    const pair *x = &l->pair[a.pair], *y = &l->pair[b.pair];
    const int order = compare_pieces(&l->bpe->symbols, x->left, y->left);
    return (order ? order : compare_pieces(&l->bpe->symbols, x->right, y->right)) > 0;
}

static int push(learner *l, int32_t p)
{
    void *at;
    int held;
    if (l->pair[p].count < LEAST) return 1;
    if (!ROOM(l, heap, entries, heap_room)) return 0;
    int64_t i = l->entries++;
    const entry e = { l->pair[p].count, p, 0 };
    for (; i > 0 && is_before(l, e, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = e;
    return 1;
}

static entry pop(learner *l)
{
    const entry top = l->heap[0], e = l->heap[--l->entries];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < l->entries; i = child) {
        if (child + 1 < l->entries && is_before(l, l->heap[child + 1], l->heap[child])) child++;
        if (!is_before(l, l->heap[child], e)) break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = e;
    return top;
}

/* The pair of the greatest count, -1: none is often enough; -2: no memory. */
static int32_t take_best(learner *l)
{
    while (l->entries > 0) {
        const entry e = pop(l);
        if (e.count == l->pair[e.pair].count) return e.pair;
        if (e.count > l->pair[e.pair].count && !push(l, e.pair)) return -2;
    }
    return -1;
}

/* ---- counts -------------------------------------------------------------------------------- */

/* The number of a pair, made where it is new; -1: they are never joined; -2: no memory. */
static int32_t number_of(learner *l, int32_t left, int32_t right)
{
    void *at;
    int held;
    int32_t *number = gsa_couples_at(&l->index, left, right);
    if (!number) return -2;
    if (*number >= 0) return *number;
    if (!gsa_bpe_joins(l->bpe, left, right)) return -1;
    if (!ROOM(l, pair, pairs, pair_room)) return -2;
    l->pair[l->pairs] = (pair){ .left = left, .right = right, .chain = -1 };
    return *number = (int32_t)l->pairs++;
}

/* Adds `weight` to a pair in word w; a new place of it is linked. */
static int count_pair(learner *l, int32_t w, int32_t left, int32_t right, int64_t weight,
                      int linked)
{
    void *at;
    int held;
    const int32_t p = number_of(l, left, right);
    if (p < 0) return p == -1;
    pair *own = &l->pair[p];
    if (own->touched != l->round) {
        if (!ROOM(l, touched, touches, touched_room)) return 0;
        own->touched = l->round, own->before = own->count;
        l->touched[l->touches++] = p;
    }
    own->count += weight;
    if (!linked || (own->chain >= 0 && l->link[own->chain].word == w)) return 1;
    if (!ROOM(l, link, links, link_room)) return 0;
    l->link[l->links] = (link){ w, own->chain };
    own->chain = (int32_t)l->links++;
    return 1;
}

/* Counts the pairs of word w `sign` times its weight; those with symbol `fresh` (-1: all) are
 * linked to it. */
static int count_word(learner *l, int32_t w, int sign, int32_t fresh)
{
    const word *own = &l->word[w];
    const int32_t *symbol = l->symbol + own->first;
    int fine = 1;
    for (int32_t i = 0; fine && i + 1 < own->length; i++) {
        const int linked = sign > 0 && (fresh < 0 || symbol[i] == fresh || symbol[i + 1] == fresh);
        fine = count_pair(l, w, symbol[i], symbol[i + 1], sign * own->weight, linked);
    }
    return fine;
}

static int holds(const learner *l, const word *own, const gsa_merge *merge)
{
    const int32_t *symbol = l->symbol + own->first;
    for (int32_t i = 0; i + 1 < own->length; i++)
        if (symbol[i] == merge->left && symbol[i + 1] == merge->right) return 1;
    return 0;
}

/* Those that are more often than before get an entry; the others have one. */
static int push_touched(learner *l)
{
    int fine = 1;
    for (int64_t i = 0; fine && i < l->touches; i++)
        if (l->pair[l->touched[i]].count > l->pair[l->touched[i]].before)
            fine = push(l, l->touched[i]);
    l->touches = 0;
    return fine;
}

static int apply_merge(learner *l, int32_t p, const gsa_merge *merge)
{
    int fine = 1;
    l->round++;
    for (int32_t k = l->pair[p].chain; fine && k >= 0; k = l->link[k].next) {
        const int32_t w = l->link[k].word;
        word *own = &l->word[w];
        if (!holds(l, own, merge)) continue;
        fine = count_word(l, w, -1, -1);
        own->length = gsa_bpe_join(l->symbol + own->first, own->length, merge);
        if (fine) fine = count_word(l, w, 1, merge->into);
    }
    return fine && push_touched(l);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static gsa_status read_words(learner *l, const gsa_vocabulary *words, gsa_error *error)
{
    const int32_t first = GSA_WORD_FIRST, size = gsa_vocabulary_size(words);
    int64_t bytes = 0, used = 0;
    for (int32_t i = first; i < size; i++) bytes += gsa_vocabulary_word(words, i).bytes;
    l->words = size - first;
    l->symbol = gsa_alloc(l->system, (size_t)bytes, sizeof *l->symbol);
    l->word = gsa_alloc_zero(l->system, (size_t)l->words, sizeof *l->word);
    if (!l->symbol || !l->word)
        return gsa_out_of_memory(error, "words to learn byte pairs from",
                                 bytes * 4 + l->words * 24);
    int fine = 1;
    l->round = 1;
    for (int32_t w = 0; w < l->words && fine; w++) {
        const int32_t length =
            gsa_bpe_characters(l->bpe, gsa_vocabulary_word(words, first + w), l->symbol + used);
        l->word[w] = (word){ used, gsa_vocabulary_count(words, first + w), length, 0 };
        used += length;
        fine = length >= 0 && count_word(l, w, 1, -1);
    }
    return fine && push_touched(l)
               ? GSA_OK
               : gsa_out_of_memory(error, "pairs of symbols", l->pairs * (int64_t)sizeof(pair));
}

static gsa_status learn(learner *l, int64_t merges, gsa_error *error)
{
    gsa_status status = GSA_OK;
    while (status == GSA_OK && l->bpe->merges < merges) {
        const int32_t p = take_best(l);
        int32_t into;
        if (p == -1) break;
        if (p < 0)
            return gsa_out_of_memory(error, "pairs of symbols",
                                     l->entries * (int64_t)sizeof(entry));
        status = gsa_bpe_append(l->bpe, l->pair[p].left, l->pair[p].right, &into, error);
        if (status == GSA_OK && !apply_merge(l, p, &l->bpe->merge[l->bpe->merges - 1]))
            status = gsa_out_of_memory(error, "pairs of symbols", l->pairs * (int64_t)sizeof(pair));
    }
    return status;
}

gsa_status gsa_bpe_learn(const gsa_system *system, const gsa_vocabulary *words, int64_t merges,
                         gsa_bpe **bpe, gsa_error *error)
{
    learner l = { .system = system, .index = { .system = system } };
    gsa_status status = gsa_bpe_create(system, bpe, error);
    if (status != GSA_OK) return status;
    l.bpe = *bpe;
    status = read_words(&l, words, error);
    if (status == GSA_OK) status = learn(&l, merges, error);
    gsa_couples_release(&l.index);
    gsa_release(system, l.symbol);
    gsa_release(system, l.word);
    gsa_release(system, l.pair);
    gsa_release(system, l.link);
    gsa_release(system, l.heap);
    gsa_release(system, l.touched);
    if (status != GSA_OK) gsa_bpe_release(*bpe), *bpe = NULL;
    return status;
}
