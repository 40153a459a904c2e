/* lexicon.c - a word list as an automaton over characters (Aho and Corasick 1975).
 *
 * A state is a beginning of words, the root the empty one. Where a state has no child by a
 * character, the text goes on from `fail`, the longest proper ending of the state that is a state
 * too. The words that a state ends with are itself, where it is one, and what hangs on `shorter`,
 * the longest proper ending that is a word. Characters have numbers of their own, from 1. A text
 * that is matched once in a while finds nothing of this in the caches: what counts is how many
 * lines of memory a character touches. So a state is its place in one hash table by (parent,
 * character), 16 bytes that hold all there is to know of it, and the root's child by a character
 * is next to the character's number. While it is built, states are numbered level by level
 * instead, so that the children of one are together, in the order of their characters.
 * Open: time O(bytes of the file), but for the sorting of children. Match: O(bytes of the text +
 * places found), one probe of the table a character and one more for each `fail`, of which there
 * are as many as characters at most; no memory. */
#include "lexicon.h"
#include <inttypes.h>
#include <string.h>
#include "graph/slots.h"
#include "graph/utf8.h"
#include "host.h"

enum { ROOT = 0, CODES = 0x110000, PAGE = 256, PAGES = CODES / PAGE };
enum { RING = 256 }; /* a power of 2, at least the characters of the longest word */
static const int64_t file_limit = INT64_C(1) << 28;

typedef struct gsa_letter {
    uint32_t number; /* 0: in no word */
    uint32_t start;  /* the root's child, or ROOT */
} gsa_letter;

typedef struct gsa_state {
    uint32_t parent;
    uint32_t last; /* its last character, and above it the characters of the word that it is, 0: it
                      is none. An empty place: 0 */
    uint32_t fail, shorter;
} gsa_state;
enum { CHARACTER = (1 << 21) - 1, HAS_CHILDREN = 1 << 21, LENGTH_SHIFT = 24 }; /* of `last` */

struct gsa_lexicon {
    const gsa_system *system;
    uint16_t page[PAGES]; /* of a code point, 0: an empty one */
    gsa_letter *letter;   /* [pages][PAGE] */
    int64_t pages;
    gsa_state *state;      /* [places]: number 1 is the first, 0 is the root */
    uint32_t places, seed; /* seed: of the places, which no word list knows (graph/slots.h) */
    int64_t states, words; /* states: with the root */
};

static inline gsa_letter *letter_of(const gsa_lexicon *x, uint32_t code)
{
    return &x->letter[(int64_t)x->page[code / PAGE] * PAGE + code % PAGE];
}

/* Where the search for a child begins. */
static inline uint32_t place_of(const gsa_lexicon *x, uint32_t parent, uint32_t character)
{
    uint32_t hash = parent * 0x9e3779b1u ^ character * 0x85ebca6bu ^ x->seed;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    return (uint32_t)((uint64_t)(hash ^ hash >> 13) * x->places >> 32);
}

static inline uint32_t child_of(const gsa_lexicon *x, uint32_t parent, uint32_t character)
{
    for (uint32_t i = place_of(x, parent, character);; i = i + 1 < x->places ? i + 1 : 0) {
        const gsa_state *state = &x->state[i];
        if (state->last == 0) return ROOT;
        if (state->parent == parent && (state->last & CHARACTER) == character) return i + 1;
    }
}

static inline const gsa_state *state_at(const gsa_lexicon *x, uint32_t state)
{
    return &x->state[state - 1];
}

/* The child of the state, or of its longest ending that has one, by this character; else the
 * root. */
static inline uint32_t step(const gsa_lexicon *x, uint32_t state, gsa_letter letter)
{
    for (; state != ROOT; state = state_at(x, state)->fail) {
        const uint32_t child =
            state_at(x, state)->last & HAS_CHILDREN ? child_of(x, state, letter.number) : ROOT;
        if (child != ROOT) return child;
    }
    return letter.start;
}

/* ---- the file ------------------------------------------------------------------------------ */

typedef struct gsa_reading {
    const char *path;
    char *data;
    int64_t bytes;
    int32_t shortest, longest; /* characters of the words that are wanted */
} gsa_reading;

static int64_t line_of(const gsa_reading *r, int64_t offset)
{
    int64_t line = 1;
    for (int64_t i = 0; i < offset; i++) line += r->data[i] == '\n';
    return line;
}

static gsa_status check_bytes(const gsa_reading *r, gsa_error *error)
{
    const int64_t bad = gsa_utf8_invalid(r->data, r->bytes);
    if (bad >= 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%" PRId64 ": byte 0x%02X is not UTF-8", r->path,
                        line_of(r, bad), (unsigned char)r->data[bad]);
    const char *nul = r->bytes ? memchr(r->data, 0, (size_t)r->bytes) : NULL;
    if (!nul) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%" PRId64 ": the line holds a NUL byte", r->path,
                    line_of(r, nul - r->data));
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What is before the first blank of the line [at, end), after leading ones. */
static gsa_slice first_column(const char *at, const char *end)
{
    if (end > at && end[-1] == '\r') end--;
    while (at < end && is_blank(*at)) at++;
    const char *stop = at;
    while (stop < end && !is_blank(*stop)) stop++;
    return (gsa_slice){ at, stop - at };
}

static int64_t characters(gsa_slice word)
{
    int64_t count = 0;
    for (int64_t i = 0; i < word.bytes; i++) count += ((unsigned char)word.at[i] & 0xc0) != 0x80;
    return count;
}

typedef struct gsa_count {
    int64_t seen, words,
        characters; /* words of any length; those that are wanted, and their characters */
} gsa_count;

/* Counts the words that are wanted, and keeps them where `word` is not NULL. */
static gsa_status read_words(const gsa_reading *r, gsa_slice *word, gsa_count *count,
                             gsa_error *error)
{
    const char *at = r->data, *end = r->data + r->bytes;
    if (r->bytes >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    *count = (gsa_count){ 0 };
    for (int64_t line = 1; at < end; line++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        const gsa_slice found = first_column(at, stop);
        const int64_t length = characters(found);
        if (length > GSA_LEXICON_LONGEST)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s:%" PRId64 ": a word of %" PRId64 " characters, expected at most %d",
                            r->path, line, length, GSA_LEXICON_LONGEST);
        at = feed ? feed + 1 : end;
        if (length == 0) continue;
        count->seen++;
        if (length < r->shortest || length > r->longest) continue;
        if (word) word[count->words] = found;
        count->words++, count->characters += length;
    }
    return GSA_OK;
}

static gsa_status count_words(const gsa_reading *r, gsa_count *count, gsa_error *error)
{
    gsa_status status = check_bytes(r, error);
    if (status == GSA_OK) status = read_words(r, NULL, count, error);
    if (status != GSA_OK || count->words > 0) return status;
    if (count->seen == 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: it holds no word, expected one a line",
                        r->path);
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: none of its %" PRId64 " words has %d to %d characters", r->path,
                    count->seen, r->shortest, r->longest);
}

/* ---- the automaton ------------------------------------------------------------------------- */

typedef struct gsa_range { /* words[begin .. end) start with what a state is */
    int32_t begin, end;
} gsa_range;

typedef struct gsa_spelling { /* a word in numbers of characters */
    const uint32_t *character;
    int64_t count;
} gsa_spelling;

typedef struct gsa_beginning { /* a state, while levels are numbered */
    uint32_t first;            /* its children are first .. (the next one's first) - 1 */
    uint32_t fail, shorter;
} gsa_beginning;

typedef struct gsa_growing {
    gsa_lexicon *x;
    uint32_t
        starts; /* characters 1 .. starts begin words: the root's child by character c is state c */
    gsa_beginning *state; /* [states + 1]: the last ends the children of the last but one */
    uint32_t *last;       /* [states]: as in gsa_state */
    gsa_slice *text;      /* [words]: in the file */
    int64_t words, characters;
    uint32_t *character;        /* [characters]: of all words */
    gsa_spelling *word, *spare; /* [words] each */
    gsa_range *level, *below; /* [words] each: of the states of one depth, and of their children */
    int64_t n_level, n_below;
} gsa_growing;

/* The code point at `at`, which is UTF-8; *bytes is its length. */
static uint32_t code_at(const char *at, int32_t *bytes)
{
    static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    *bytes = gsa_utf8_length(at);
    uint32_t code = (unsigned char)at[0] & mask[*bytes];
    for (int32_t i = 1; i < *bytes; i++) code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Pages for the characters that words have, marked 1, and 2 where a word starts with them. */
static gsa_status mark_characters(gsa_growing *g, gsa_error *error)
{
    gsa_lexicon *x = g->x;
    int32_t bytes;
    for (int64_t w = 0; w < g->words; w++)
        for (const char *at = g->text[w].at; at < g->text[w].at + g->text[w].bytes; at += bytes)
            x->page[code_at(at, &bytes) / PAGE] = 1;
    x->pages = 1;
    for (int p = 0; p < PAGES; p++) x->page[p] = x->page[p] ? (uint16_t)x->pages++ : 0;
    x->letter = gsa_alloc_zero(x->system, (size_t)x->pages, PAGE * sizeof *x->letter);
    if (!x->letter)
        return gsa_out_of_memory(error, "the characters of a lexicon", x->pages * PAGE * 8);
    for (int64_t w = 0; w < g->words; w++)
        for (const char *start = g->text[w].at, *at = start; at < start + g->text[w].bytes;
             at += bytes)
            letter_of(x, code_at(at, &bytes))->number |= at == start ? 2 : 1;
    return GSA_OK;
}

static void number_characters(gsa_growing *g)
{
    gsa_lexicon *x = g->x;
    uint32_t starting = 0, other = 0;
    const int64_t count = x->pages * PAGE;
    for (int64_t i = 0; i < count; i++) g->starts += x->letter[i].number > 1;
    for (int64_t i = 0; i < count; i++)
        if (x->letter[i].number)
            x->letter[i].number = x->letter[i].number > 1 ? ++starting : g->starts + ++other;
}

static gsa_status spell_words(gsa_growing *g, gsa_error *error)
{
    gsa_status status = mark_characters(g, error);
    if (status != GSA_OK) return status;
    number_characters(g);
    uint32_t *next = g->character;
    for (int64_t w = 0; w < g->words; w++) {
        int32_t bytes;
        g->word[w].character = next;
        for (const char *at = g->text[w].at; at < g->text[w].at + g->text[w].bytes; at += bytes)
            *next++ = letter_of(g->x, code_at(at, &bytes))->number;
        g->word[w].count = next - g->word[w].character;
    }
    return GSA_OK;
}

static uint32_t key_of(gsa_spelling word, int64_t depth)
{
    return depth < word.count ? word.character[depth] : 0;
}

static void merge(gsa_spelling *out, const gsa_spelling *a, int64_t n_a, const gsa_spelling *b,
                  int64_t n_b, int64_t depth)
{
    while (n_a > 0 || n_b > 0) {
        const int left = n_b == 0 || (n_a > 0 && key_of(*a, depth) <= key_of(*b, depth));
        *out++ = left ? *a++ : *b++;
        if (left) n_a--;
        else n_b--;
    }
}

/* By the character at `depth`, words that end there first: merges runs of 1, 2, 4, ... words. */
static void sort_words(gsa_spelling *word, gsa_spelling *spare, int64_t count, int64_t depth)
{
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t i = 0; i < count; i += 2 * run) {
            const int64_t n_a = count - i < run ? count - i : run, rest = count - i - n_a,
                          n_b = rest < run ? rest : run;
            merge(spare + i, word + i, n_a, word + i + n_a, n_b, depth);
        }
        memcpy(word, spare, (size_t)count * sizeof *word);
    }
}

/* As step() finds it, among beginnings. */
static uint32_t fail_of(const gsa_growing *g, uint32_t state, uint32_t character)
{
    for (; state != ROOT; state = g->state[state].fail) {
        uint32_t low = g->state[state].first, count = g->state[state + 1].first - low;
        if (count == 0) continue;
        for (; count > 1; count -= count / 2)
            low = (g->last[low + count / 2] & CHARACTER) <= character ? low + count / 2 : low;
        if ((g->last[low] & CHARACTER) == character) return low;
    }
    return character <= g->starts ? character : ROOT;
}

/* The state's words end here or go on in its children, which are put into the level below. */
static void expand(gsa_growing *g, uint32_t state, gsa_range range, int64_t depth)
{
    gsa_lexicon *x = g->x;
    gsa_spelling *word = g->word;
    gsa_beginning *own = &g->state[state];
    int32_t i = range.begin;
    sort_words(word + i, g->spare, range.end - i, depth);
    own->first = (uint32_t)x->states;
    own->shorter = g->last[own->fail] >> LENGTH_SHIFT ? own->fail : g->state[own->fail].shorter;
    while (i < range.end && word[i].count == depth) i++;
    if (i > range.begin) g->last[state] |= (uint32_t)depth << LENGTH_SHIFT, x->words++;
    for (int32_t begin = i; i < range.end; begin = i) {
        const uint32_t character = word[begin].character[depth];
        while (i < range.end && word[i].character[depth] == character) i++;
        g->last[state] |= HAS_CHILDREN;
        g->last[x->states] = character;
        g->state[x->states++].fail = depth > 0 ? fail_of(g, own->fail, character) : ROOT;
        g->below[g->n_below++] = (gsa_range){ begin, i };
    }
}

static void grow(gsa_growing *g)
{
    gsa_lexicon *x = g->x;
    g->level[0] = (gsa_range){ 0, (int32_t)g->words };
    g->n_level = 1, x->states = 1;
    uint32_t state = ROOT;
    for (int64_t depth = 0; g->n_level > 0; depth++) {
        g->n_below = 0;
        for (int64_t i = 0; i < g->n_level; i++) expand(g, state++, g->level[i], depth);
        gsa_range *level = g->level;
        g->level = g->below, g->below = level;
        g->n_level = g->n_below;
    }
    g->state[state].first = (uint32_t)x->states;
}

/* Room for a state a character: more beginnings there cannot be. */
static gsa_status make_room(gsa_growing *g, const char *path, gsa_error *error)
{
    gsa_lexicon *x = g->x;
    const size_t words = (size_t)g->words, states = (size_t)g->characters + 1;
    g->text = gsa_alloc(x->system, words, sizeof *g->text);
    g->character = gsa_alloc(x->system, states, sizeof *g->character);
    g->word = gsa_alloc(x->system, words, sizeof *g->word),
    g->spare = gsa_alloc(x->system, words, sizeof *g->spare);
    g->level = gsa_alloc(x->system, words, sizeof *g->level),
    g->below = gsa_alloc(x->system, words, sizeof *g->below);
    g->state = gsa_alloc_zero(x->system, states + 1, sizeof *g->state);
    g->last = gsa_alloc_zero(x->system, states, sizeof *g->last);
    if (g->text && g->character && g->word && g->spare && g->level && g->below && g->state &&
        g->last)
        return GSA_OK;
    return gsa_out_of_memory(error, path, (int64_t)(states * 20 + words * 64));
}

/* The number of a new state of the table. */
static uint32_t settle(gsa_lexicon *x, uint32_t parent, uint32_t last)
{
    uint32_t i = place_of(x, parent, last & CHARACTER);
    while (x->state[i].last) i = i + 1 < x->places ? i + 1 : 0;
    x->state[i] = (gsa_state){ .parent = parent, .last = last };
    return i + 1;
}

/* Parents come before their children, so that they have their numbers. */
static void fill_table(gsa_growing *g, uint32_t *number)
{
    gsa_lexicon *x = g->x;
    number[ROOT] = ROOT;
    for (int64_t s = 0; s < x->states; s++)
        for (uint32_t c = g->state[s].first; c < g->state[s + 1].first; c++)
            number[c] = settle(x, number[s], g->last[c]);
    for (int64_t s = 1; s < x->states; s++) {
        gsa_state *state = &x->state[number[s] - 1];
        state->fail = number[g->state[s].fail], state->shorter = number[g->state[s].shorter];
    }
    for (int64_t i = 0; i < x->pages * PAGE; i++)
        if (x->letter[i].number && x->letter[i].number <= g->starts)
            x->letter[i].start = number[x->letter[i].number];
}

/* The beginnings into the table, which is filled to three fifths. */
static gsa_status pack(gsa_growing *g, gsa_error *error)
{
    gsa_lexicon *x = g->x;
    const int64_t places = x->states / 3 * 5 + 8;
    uint32_t *number = gsa_alloc(x->system, (size_t)x->states, sizeof *number);
    x->state = gsa_alloc_zero(x->system, (size_t)places, sizeof *x->state);
    x->places = (uint32_t)places;
    x->seed = (uint32_t)gsa_slot_seed(x->state);
    if (number && x->state) fill_table(g, number);
    gsa_release(x->system, number);
    return number && x->state
               ? GSA_OK
               : gsa_out_of_memory(error, "a lexicon", places * (int64_t)sizeof *x->state);
}

static gsa_status build(gsa_lexicon *x, const gsa_reading *r, gsa_error *error)
{
    gsa_growing g = { .x = x };
    gsa_count count;
    gsa_status status = count_words(r, &count, error);
    if (status != GSA_OK) return status;
    g.words = count.words, g.characters = count.characters;
    status = make_room(&g, r->path, error);
    if (status == GSA_OK) {
        read_words(r, g.text, &count, error); /* what it refuses count_words refused */
        status = spell_words(&g, error);
    }
    if (status == GSA_OK) grow(&g), status = pack(&g, error);
    void *const all[] = { g.text, g.character, g.word, g.spare, g.level, g.below, g.state, g.last };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(x->system, all[i]);
    return status;
}

/* ---- the handle ---------------------------------------------------------------------------- */

/* A pattern is made more than once (to check a recipe, to build a model): what can be read only
 * once will not do. */
static gsa_status check_arguments(const gsa_system *system, const gsa_reading *r, gsa_error *error)
{
    if (!system) system = gsa_system_default();
    if (r->shortest < 1 || r->shortest > r->longest || r->longest > GSA_LEXICON_LONGEST)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "words of %d to %d characters are requested, expected 1 to %d", r->shortest,
                        r->longest, GSA_LEXICON_LONGEST);
    if (strcmp(r->path, "-") == 0 || system->kind(system->user, r->path, NULL) == GSA_FILE_OTHER)
        return gsa_fail(error, GSA_ERR_IO, "'%s' is no regular file, which can be read again",
                        r->path);
    return GSA_OK;
}

gsa_status gsa_lexicon_open(const gsa_system *system, const char *path, int32_t shortest,
                            int32_t longest, gsa_lexicon **lexicon, gsa_error *error)
{
    gsa_reading r = { .path = path, .shortest = shortest, .longest = longest };
    gsa_lexicon *x = NULL;
    *lexicon = NULL;
    gsa_status status = check_arguments(system, &r, error);
    if (status == GSA_OK)
        status = gsa_read_file(system, path, file_limit, &r.data, &r.bytes, error);
    if (status == GSA_OK) {
        x = gsa_alloc_zero(system, 1, sizeof *x);
        if (x) x->system = system, status = build(x, &r, error);
        else status = gsa_out_of_memory(error, "a lexicon", (int64_t)sizeof *x);
    }
    gsa_release(system, r.data);
    if (status == GSA_OK) *lexicon = x;
    else gsa_lexicon_close(x), gsa_fail_at(error, status, "lexicon");
    return status;
}

void gsa_lexicon_close(gsa_lexicon *lexicon)
{
    if (!lexicon) return;
    void *const all[] = { lexicon->letter, lexicon->state };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(lexicon->system, all[i]);
    gsa_release(lexicon->system, lexicon);
}

gsa_lexicon_facts gsa_lexicon_count(const gsa_lexicon *lexicon)
{
    const gsa_lexicon *x = lexicon;
    return (gsa_lexicon_facts){ x->words, x->states,
                                (int64_t)sizeof *x + x->pages * PAGE * (int64_t)sizeof *x->letter +
                                    x->places * (int64_t)sizeof *x->state };
}

/* ---- matching ------------------------------------------------------------------------------ */

typedef struct gsa_reader {
    uint32_t state, code;
    int left, length;     /* continuation bytes of the character: that it still needs, and in all */
    uint32_t place;       /* characters that have started */
    int32_t starts[RING]; /* the token that started with one of the last characters, or -1 */
} gsa_reader;

/* The next byte of the text. What is not UTF-8 is a character that no word has. `token`: that
 * starts here, or -1. */
static inline void read_byte(const gsa_lexicon *x, gsa_reader *r, unsigned char byte, int32_t token)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    if ((byte & 0xc0) != 0x80) {
        if (r->left > 0) r->state = ROOT; /* the one before is cut off */
        r->starts[r->place++ % RING] = token;
        r->left = r->length = byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        r->code = byte < 0x80 ? byte : byte < 0xe0 ? byte & 0x1f : byte & 0x0f;
    } else if (r->left > 0) {
        r->left--;
        r->code = r->code << 6 | (byte & 0x3f);
    } else r->length = 1, r->code = 0; /* a continuation of nothing */
    if (r->left > 0) return;
    const int whole = r->code < CODES && r->code >= least[r->length];
    const gsa_letter letter = whole ? *letter_of(x, r->code) : (gsa_letter){ 0 };
    r->state = letter.number ? step(x, r->state, letter) : ROOT;
}

/* Tokens that are looked at before their turn: what two neighbours ask of the table, where a word
 * begins with the first, is on its way to the caches then. */
enum { AHEAD = 8 };

static inline gsa_letter first_letter(const gsa_lexicon *x, gsa_slice token)
{
    static const uint8_t mask[] = { 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
                                    0,    0,    0,    0,    0x1f, 0x1f, 0x0f, 0x07 };
    if (token.bytes == 0) return (gsa_letter){ 0 };
    const unsigned char lead = (unsigned char)token.at[0];
    uint32_t code = lead & mask[lead >> 4];
    for (int64_t i = 1; i < token.bytes && i < 4 && ((unsigned char)token.at[i] & 0xc0) == 0x80;
         i++)
        code = code << 6 | ((unsigned char)token.at[i] & 0x3f);
    return code < CODES ? *letter_of(x, code) : (gsa_letter){ 0 };
}

static inline gsa_letter look_ahead(const gsa_lexicon *x, const gsa_example *example, int64_t token,
                                    gsa_letter before)
{
    const gsa_letter letter =
        token < example->length ? first_letter(x, example->text[token]) : (gsa_letter){ 0 };
#ifdef __GNUC__
    if (before.start != ROOT && letter.number > 0)
        __builtin_prefetch(&x->state[place_of(x, before.start, letter.number)]);
#endif
    return letter;
}

int64_t gsa_lexicon_match(const gsa_lexicon *lexicon, const gsa_example *example,
                          gsa_lexicon_found *found, void *context)
{
    const int32_t *group = example->group;
    gsa_reader r = { .state = ROOT };
    int64_t count = 0;
    gsa_letter ahead = { 0 };
    for (int64_t t = 0; example->text && t < AHEAD; t++)
        ahead = look_ahead(lexicon, example, t, ahead);
    for (int32_t t = 0; example->text && t < example->length; t++) {
        ahead = look_ahead(lexicon, example, (int64_t)t + AHEAD, ahead);
        const gsa_slice token = example->text[t];
        if (token.bytes == 0 || (group && t > 0 && group[t] != group[t - 1]))
            r.state = ROOT, r.left = 0;
        for (int64_t i = 0; i < token.bytes; i++)
            read_byte(lexicon, &r, (unsigned char)token.at[i], i ? -1 : t);
        for (uint32_t w = r.left ? ROOT : r.state; w != ROOT; w = state_at(lexicon, w)->shorter) {
            const uint32_t characters = state_at(lexicon, w)->last >> LENGTH_SHIFT;
            const int32_t first = characters > 0 ? r.starts[(r.place - characters) % RING] : -1;
            if (first < 0) continue;
            if (found) found(context, first, t);
            count++;
        }
    }
    return count;
}

/* ---- the service --------------------------------------------------------------------------- */

static int service_open(const gsa_lexicon_service *service, const gsa_host *host, const char *path,
                        int32_t shortest, int32_t longest, gsa_lexicon **lexicon)
{
    gsa_error error;
    const gsa_status status =
        gsa_lexicon_open(service->context, path, shortest, longest, lexicon, &error);
    if (status == GSA_OK) return 0;
    if (status == GSA_ERR_MEMORY) gsa_host_starve(host);
    return host->fail(host, error.text);
}

static void service_close(const gsa_lexicon_service *service, gsa_lexicon *lexicon)
{
    (void)service;
    gsa_lexicon_close(lexicon);
}

static int64_t service_match(const gsa_lexicon_service *service, const gsa_lexicon *lexicon,
                             const gsa_example *example, gsa_lexicon_found *found, void *context)
{
    (void)service;
    return gsa_lexicon_match(lexicon, example, found, context);
}

gsa_lexicon_service gsa_lexicon_service_of(const gsa_system *system)
{
    return (gsa_lexicon_service){ .struct_size = sizeof(gsa_lexicon_service),
                                  .context = system,
                                  .open = service_open,
                                  .close = service_close,
                                  .match = service_match };
}
