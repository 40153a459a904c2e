/* The lexicon: every match against a search that tries all places, files that are wrong, memory and
 * files that fail, threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "topologies/host.h"
#include "support/suite.h"
#include "topologies/lexicon.h"

typedef struct shelf { /* a folder with one word list */
    gsa_scratch scratch;
    const char *path;
} shelf;

static shelf shelf_with(const char *text, int64_t bytes)
{
    shelf s;
    gsa_scratch_open(&s.scratch);
    s.path = gsa_scratch_path(&s.scratch, "words.txt");
    gsa_put_file(s.path, text, bytes < 0 ? (int64_t)strlen(text) : bytes);
    return s;
}

static gsa_lexicon *opened(const char *path, int32_t shortest, int32_t longest)
{
    gsa_lexicon *lexicon;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_lexicon_open(NULL, path, shortest, longest, &lexicon, &error) == GSA_OK, "%s",
                  error.text);
    return lexicon;
}

/* ---- matches as text: "0-1 0-2 " ----------------------------------------------------------- */

typedef struct story {
    char text[1 << 16];
    size_t used;
} story;

static void tell(void *context, int32_t first, int32_t last)
{
    story *s = context;
    s->used += (size_t)snprintf(s->text + s->used, sizeof s->text - s->used, "%d-%d ", first, last);
    ck_assert_uint_lt(s->used, sizeof s->text);
}

/* Cuts at '|'. */
static int32_t cut(const char *text, gsa_slice *token)
{
    int32_t count = 0;
    for (const char *at = text; *text; at += token[count++].bytes + 1) {
        const size_t bytes = strcspn(at, "|");
        token[count] = (gsa_slice){ at, (int64_t)bytes };
        if (!at[bytes]) return count + 1;
    }
    return 0;
}

static const struct {
    const char *words, *text; /* tokens parted by | */
    int32_t shortest, longest;
    const char *matches;
    const char *groups; /* a digit a token, or NULL */
} tale[] = {
    { "南京\n南京市\n市长\n长江\n大桥\n长江大桥\n", "南|京|市|长|江|大|桥", 2, 16,
      "0-1 0-2 2-3 3-4 3-6 5-6 ", NULL },
    { "南京\n南京市\n市长\n长江\n大桥\n长江大桥\n", "南|京|市|长|江|大|桥", 3, 3, "0-2 ", NULL },
    { "南京\n南京市\n市长\n长江\n大桥\n长江大桥\n", "南|京|市|长|江|大|桥", 2, 16, "0-1 2-3 5-6 ",
      "0011222" },
    { "a\naa\naaa\n", "a|a|a", 1, 9, "0-0 0-1 1-1 0-2 1-2 2-2 ", NULL },
    { "abc\nbc\nc\nbcd\n", "a|b|c|d", 1, 9, "0-2 1-2 2-2 1-3 ", NULL },
    { "newyork\nnew\nyork\nork\n", "in|new|york", 1, 9, "1-1 1-2 2-2 ",
      NULL },                                                        /* ork starts inside a token */
    { "newyork\nnew\nyo\n", "in|new|york", 1, 9, "1-1 1-2 ", NULL }, /* yo ends inside one */
    { "ab\n", "a||b|a|b", 1, 9, "3-4 ", NULL }, /* an empty token ends every match */
    { "b\n", "||b|", 1, 9, "2-2 ", NULL },
    { "国\n中国\n", "\xe4|\xb8|\xad|\xe5|\x9b|\xbd", 1, 9, "0-5 3-5 ", NULL }, /* bytes as tokens */
    { "中\n", "\xb8|\xad|\xff|\xe4\xb8|\xe4\xb8\xad", 1, 9, "4-4 ",
      NULL },                                                /* what is not UTF-8 matches nothing */
    { "ab\n", "a|\xe4|b|a|\x80|b|a|b", 1, 9, "6-7 ", NULL }, /* nor does what it cuts off */
    { "中\n", "\xe4\xb8|\xad|\xe4\xb8|\xad", 1, 9, "2-3 ", "0122" },
    { "/\n", "\xc0\xaf|\xe0\x80\xaf|\xf0\x80\x80\xaf|/", 1, 9, "3-3 ",
      NULL }, /* nor a longer form of a character */
    { "\xf0\x90\x80\x80\n", "\xf8\x90\x80\x80|\xf0\x90\x80\x80", 1, 9, "1-1 ", NULL },
    { "👍🏽\n😀\n", "😀|👍|🏽", 1, 9, "0-0 1-2 ", NULL },
    { "ab\n", "", 1, 9, "", NULL },
    { "ab\n", "x|y|z", 1, 9, "", NULL },
    { "ab 7 n\nab\t8\n ab\n", "a|b", 1, 9, "0-1 ",
      NULL }, /* the first column counts; twice is once */
    { "#ab\n", "#|a|b", 1, 9, "0-2 ", NULL },
    { "AB\n", "a|b|A|B", 1, 9, "2-3 ", NULL }, /* case is not the lexicon's business */
};

START_TEST(matches_are_as_written)
{
    gsa_slice token[64];
    int32_t group[64];
    static story found;
    shelf s = shelf_with(tale[_i].words, -1);
    gsa_lexicon *lexicon = opened(s.path, tale[_i].shortest, tale[_i].longest);
    gsa_example x = { .struct_size = sizeof x, .length = cut(tale[_i].text, token), .text = token };
    for (int i = 0; tale[_i].groups && i < x.length; i++)
        group[i] = tale[_i].groups[i] - '0', x.group = group;
    const int64_t count = gsa_lexicon_match(lexicon, &x, tell, &found);
    ck_assert_str_eq(found.text, tale[_i].matches);
    int64_t blanks = 0;
    for (const char *at = found.text; *at; at++) blanks += *at == ' ';
    ck_assert_int_eq(count, blanks);
    ck_assert_int_eq(gsa_lexicon_match(lexicon, &x, NULL, NULL), count);
    x.text = NULL;
    ck_assert_int_eq(gsa_lexicon_match(lexicon, &x, tell, &found), 0);
    gsa_lexicon_close(lexicon);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* ---- property: the same as trying every pair of tokens ------------------------------------- */

static const char *const alphabets[][4] = { { "a", "a", "a", "b" },
                                            { "a", "b", "a", "b" },
                                            { "中", "国", "中",
                                              "人" }, /* share first bytes, and the second */
                                            { "é", "中", "😀", "a" },  /* 2, 3, 4, 1 bytes */
                                            { "😀", "😁", "😂", "👍" } }; /* share three bytes */
enum { MOST_WORDS = 40, WORD_SIZE = 128, MOST_TOKENS = 80 };

typedef struct trial {
    char word[MOST_WORDS][WORD_SIZE];
    int characters[MOST_WORDS], words;
    char text[MOST_TOKENS * 16];
    gsa_slice token[MOST_TOKENS];
    int32_t group[MOST_TOKENS], length;
    int32_t shortest, longest;
} trial;

static int spell(gsa_dice *dice, const char *const *alphabet, int low, int high, char *out)
{
    const int count = (int)gsa_between(dice, low, high);
    *out = 0;
    for (int i = 0; i < count; i++) strcat(out, alphabet[gsa_between(dice, 0, 3)]);
    return count;
}

/* mode 0: characters are tokens, 1: pieces of up to three characters, some empty, 2: bytes. */
static void invent(trial *t, gsa_dice *dice, int mode)
{
    const char *const *alphabet = alphabets[gsa_between(dice, 0, GSA_COUNT(alphabets) - 1)];
    t->words = (int)gsa_between(dice, 1, MOST_WORDS);
    for (int w = 0; w < t->words; w++) {
        t->characters[w] = spell(dice, alphabet, 1, 7, t->word[w]);
        if (w > 0 &&
            gsa_between(dice, 0, 2) == 0) { /* the word before, longer: chains of prefixes */
            memcpy(t->word[w], t->word[w - 1], WORD_SIZE);
            t->characters[w] = t->characters[w - 1];
            if (t->characters[w] < 20) strcat(t->word[w], alphabet[0]), t->characters[w]++;
        }
    }
    t->shortest = (int32_t)gsa_between(dice, 1, 3),
    t->longest = (int32_t)gsa_between(dice, t->shortest, 9);
    t->length = (int32_t)gsa_between(dice, 0, MOST_TOKENS);
    char *at = t->text;
    for (int32_t i = 0; i < t->length; i++) {
        spell(dice, alphabet, mode == 1 ? 0 : 1, mode == 1 ? 3 : 1, at);
        if (mode == 2 && at[1] &&
            gsa_between(dice, 0, 9) > 0) { /* a byte each, where the rest finds room */
            const int bytes = (int)strlen(at);
            int k = 0;
            for (; k < bytes && i + k < t->length; k++) t->token[i + k] = (gsa_slice){ at + k, 1 };
            at += bytes, i += k - 1;
            continue;
        }
        t->token[i] = (gsa_slice){ at, (int64_t)strlen(at) };
        at += strlen(at);
    }
    int32_t group = 0;
    for (int32_t i = 0; i < t->length; i++) t->group[i] = group += gsa_between(dice, 0, 12) == 0;
}

static int is_wanted(const trial *t, const char *text, int64_t bytes)
{
    for (int w = 0; w < t->words; w++)
        if ((int64_t)strlen(t->word[w]) == bytes && memcmp(t->word[w], text, (size_t)bytes) == 0 &&
            t->characters[w] >= t->shortest && t->characters[w] <= t->longest)
            return 1;
    return 0;
}

static void search(const trial *t, int grouped, story *found)
{
    for (int32_t last = 0; last < t->length; last++)
        for (int32_t first = 0; first <= last; first++) {
            char joined[MOST_TOKENS * 16];
            int64_t bytes = 0, whole = 1;
            for (int32_t i = first; i <= last; i++) {
                whole &= t->token[i].bytes > 0 && (!grouped || t->group[i] == t->group[first]);
                memcpy(joined + bytes, t->token[i].at, (size_t)t->token[i].bytes);
                bytes += t->token[i].bytes;
            }
            if (whole && is_wanted(t, joined, bytes)) tell(found, first, last);
        }
}

START_TEST(matches_equal_a_search_that_tries_all)
{
    static trial t;
    static story found, wanted;
    int64_t matches = 0;
    gsa_dice dice = { 1000 + (uint64_t)_i };
    for (int round = 0; round < 120; round++) {
        gsa_lexicon *lexicon;
        char file[MOST_WORDS * (WORD_SIZE + 1)] = "";
        gsa_error error = { 0 };
        invent(&t, &dice, _i);
        for (int w = 0; w < t.words; w++) strcat(file, t.word[w]), strcat(file, "\n");
        shelf s = shelf_with(file, -1);
        const gsa_status status =
            gsa_lexicon_open(NULL, s.path, t.shortest, t.longest, &lexicon, &error);
        gsa_scratch_close(&s.scratch); /* the lexicon needs the file no more */
        int any = 0;
        for (int w = 0; w < t.words; w++)
            any |= t.characters[w] >= t.shortest && t.characters[w] <= t.longest;
        ck_assert_int_eq(status, any ? GSA_OK : GSA_ERR_FORMAT);
        if (!any) continue;
        for (int grouped = 0; grouped < 2; grouped++) {
            const gsa_example x = { .struct_size = sizeof x,
                                    .length = t.length,
                                    .text = t.token,
                                    .group = grouped ? t.group : NULL };
            found.used = wanted.used = 0, found.text[0] = wanted.text[0] = 0;
            search(&t, grouped, &wanted);
            matches += gsa_lexicon_match(lexicon, &x, tell, &found);
            ck_assert_msg(strcmp(found.text, wanted.text) == 0,
                          "mode %d, round %d, seed %d: found %s\nexpected %s", _i, round, 1000 + _i,
                          found.text, wanted.text);
        }
        gsa_lexicon_close(lexicon);
    }
    ck_assert_int_gt(matches, 1000); /* there was something to find */
}
END_TEST

/* Thousands of words: blocks of states, hubs with many children, the same answers. Each word is
 * found as itself, and with it what a set of all words says about its pieces. */
START_TEST(many_words_are_all_found)
{
    enum { WORDS = 30000 };
    char *file = malloc(WORDS * 16), *at = file;
    gsa_dice dice = { 77 };
    for (int w = 0; w < WORDS; w++) {
        const int count = (int)gsa_between(&dice, 2, 4);
        for (int i = 0; i < count; i++) { /* U+4E00 .. U+9DFF */
            const int code = 0x4e00 + (int)gsa_between(&dice, 0, i ? 900 : 0x4fff);
            *at++ = (char)(0xe0 | code >> 12), *at++ = (char)(0x80 | (code >> 6 & 63)),
            *at++ = (char)(0x80 | (code & 63));
        }
        *at++ = '\n';
    }
    shelf s = shelf_with(file, at - file);
    gsa_lexicon *lexicon = opened(s.path, 2, 16);
    const gsa_lexicon_facts facts = gsa_lexicon_count(lexicon);
    ck_assert_int_gt(facts.words, WORDS * 9 / 10);
    ck_assert_int_le(facts.words, WORDS);
    ck_assert_int_gt(facts.states, facts.words);
    ck_assert_int_lt(facts.bytes, 16 * 2 * facts.states + 8 * facts.words +
                                      (1 << 17)); /* packed: half full at least */
    const char *word = file;
    for (const char *stop; word < at; word = stop + 1) {
        gsa_slice token[8];
        int32_t count = 0;
        story found = { .used = 0 };
        char whole[16];
        stop = memchr(word, '\n', (size_t)(at - word));
        for (const char *c = word; c < stop; c += 3) token[count++] = (gsa_slice){ c, 3 };
        const gsa_example x = { .struct_size = sizeof x, .length = count, .text = token };
        ck_assert_int_ge(gsa_lexicon_match(lexicon, &x, tell, &found), 1);
        snprintf(whole, sizeof whole, "0-%d ", count - 1);
        ck_assert_ptr_nonnull(strstr(found.text, whole));
    }
    gsa_lexicon_close(lexicon);
    gsa_scratch_close(&s.scratch);
    free(file);
}
END_TEST

/* The longest words there can be, of the most bytes a character can have. */
START_TEST(the_longest_words_are_found)
{
    static char file[255 * 4 + 300];
    static gsa_slice token[600];
    static story found;
    for (int i = 0; i < 255; i++) memcpy(file + 4 * i, "😀", 4);
    strcpy(file + 255 * 4, "\na\n");
    shelf s = shelf_with(file, -1);
    gsa_lexicon *lexicon = opened(s.path, 2, 255);
    for (int i = 0; i < 600; i++) token[i] = (gsa_slice){ file, 4 };
    const gsa_example x = { .struct_size = sizeof x, .length = 600, .text = token };
    ck_assert_int_eq(gsa_lexicon_match(lexicon, &x, tell, &found), 600 - 254);
    ck_assert(strncmp(found.text, "0-254 1-255 ", 12) == 0);
    gsa_lexicon_close(lexicon);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* ---- files --------------------------------------------------------------------------------- */

#define TIMES_8(x) x x x x x x x x
#define LONG_WORD  TIMES_8(TIMES_8("abcd")) /* 256 characters */

static const struct {
    const char *text;
    int bytes; /* -1: to the end of the string */
    int32_t shortest, longest;
    gsa_status status;
    const char *sentence; /* after "lexicon: PATH" */
} refused[] = {
    { "", -1, 2, 16, GSA_ERR_FORMAT, ": it holds no word, expected one a line" },
    { "\n \n\t\r\n\r\n", -1, 2, 16, GSA_ERR_FORMAT, ": it holds no word, expected one a line" },
    { "\xef\xbb\xbf", -1, 2, 16, GSA_ERR_FORMAT, ": it holds no word, expected one a line" },
    { "一\n二\n\nabc\n", -1, 4, 16, GSA_ERR_FORMAT,
      ": none of its 3 words has 4 to 16 characters" },
    { "ab\ncd\n\xff\n", -1, 2, 16, GSA_ERR_FORMAT, ":3: byte 0xFF is not UTF-8" },
    { "ab\n中\xe4\xb8\ncd\n", -1, 2, 16, GSA_ERR_FORMAT, ":2: byte 0xE4 is not UTF-8" },
    { "ab 3 \xc0\x80\n", -1, 2, 16, GSA_ERR_FORMAT,
      ":1: byte 0xC0 is not UTF-8" }, /* in a column that is not read, too */
    { "ab\n\xed\xa0\x80\n", -1, 2, 16, GSA_ERR_FORMAT, ":2: byte 0xED is not UTF-8" },
    { "ab\r\ncd\r\nef\xf5gh", -1, 2, 16, GSA_ERR_FORMAT, ":3: byte 0xF5 is not UTF-8" },
    { "ab\nc\0d\n", 7, 2, 16, GSA_ERR_FORMAT, ":2: the line holds a NUL byte" },
    { "ab\n\n\ncd n \0", 12, 2, 16, GSA_ERR_FORMAT, ":4: the line holds a NUL byte" },
    { "ab\n" LONG_WORD "\n", -1, 2, 16, GSA_ERR_FORMAT,
      ":2: a word of 256 characters, expected at most 255" },
    { LONG_WORD LONG_WORD "中", -1, 2, 16, GSA_ERR_FORMAT,
      ":1: a word of 513 characters, expected at most 255" },
};

START_TEST(a_bad_file_is_a_sentence_with_its_line)
{
    gsa_error error = { 0 };
    gsa_lexicon *lexicon = (gsa_lexicon *)&error; /* becomes NULL */
    char wanted[512];
    shelf s = shelf_with(refused[_i].text, refused[_i].bytes);
    ck_assert_int_eq(
        gsa_lexicon_open(NULL, s.path, refused[_i].shortest, refused[_i].longest, &lexicon, &error),
        refused[_i].status);
    snprintf(wanted, sizeof wanted, "lexicon: %s%s", s.path, refused[_i].sentence);
    ck_assert_str_eq(error.text, wanted);
    ck_assert_ptr_null(lexicon);
    gsa_scratch_close(&s.scratch);
}
END_TEST

START_TEST(what_is_no_file_or_no_length_is_refused)
{
    gsa_lexicon *lexicon;
    gsa_error error = { 0 };
    shelf s = shelf_with("ab\n", -1);
    const struct {
        const char *path;
        int32_t shortest, longest;
        gsa_status status;
        const char *part;
    } cases[] = {
        { gsa_scratch_path(&s.scratch, "none.txt"), 2, 16, GSA_ERR_IO,
          "none.txt' cannot be opened" },
        { s.scratch.folder, 2, 16, GSA_ERR_IO, "it is a folder" },
        { "-", 2, 16, GSA_ERR_IO, "lexicon: '-' is no regular file, which can be read again" },
        { "/dev/null", 2, 16, GSA_ERR_IO, "'/dev/null' is no regular file" },
        { s.path, 0, 16, GSA_ERR_ARGUMENT,
          "words of 0 to 16 characters are requested, expected 1 to 255" },
        { s.path, 3, 2, GSA_ERR_ARGUMENT, "words of 3 to 2 characters" },
        { s.path, 1, 256, GSA_ERR_ARGUMENT, "words of 1 to 256 characters" },
    };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        ck_assert_int_eq(gsa_lexicon_open(NULL, cases[i].path, cases[i].shortest, cases[i].longest,
                                          &lexicon, &error),
                         cases[i].status);
        ck_assert_msg(strstr(error.text, cases[i].part) != NULL, "%s", error.text);
        ck_assert_int_eq(gsa_lexicon_open(NULL, cases[i].path, cases[i].shortest, cases[i].longest,
                                          &lexicon, NULL),
                         cases[i].status);
        ck_assert_ptr_null(lexicon);
    }
    gsa_lexicon_close(NULL);
    gsa_scratch_close(&s.scratch);
}
END_TEST

static const struct {
    const char *text;
    int words;
} good[] = {
    { "ab\ncd\n", 2 },
    { "ab\ncd", 2 },
    { "\xef\xbb\xbf"
      "ab\r\ncd\r\n\r\n",
      2 },
    { "  ab\n\tcd \n", 2 },
    { "ab 12 n\ncd\t3\tv\n", 2 },
    { "ab\nab\nab 2\ncd\n", 2 },
    { "# not a comment\nab\n//\n", 2 }, /* # has one character: too short for 2 to 16 */
    { "a\nb\nab\nabcdefghijklmnopq\ncd\n", 2 },
    { "ab\rcd\nef\n", 2 }, /* a CR alone ends no line */
    { "ab\r", 1 },
};

START_TEST(good_files_hold_these_words)
{
    shelf s = shelf_with(good[_i].text, -1);
    gsa_lexicon *lexicon = opened(s.path, 2, 16);
    ck_assert_int_eq(gsa_lexicon_count(lexicon).words, good[_i].words);
    gsa_lexicon_close(lexicon);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status open_and_match(gsa_faults *faults, void *context)
{
    gsa_slice token[8];
    gsa_lexicon *lexicon;
    const gsa_example x = { .struct_size = sizeof x,
                            .length = cut("中|国|人|民|a|b", token),
                            .text = token };
    gsa_error error = { 0 };
    const gsa_status status = gsa_lexicon_open(&faults->table, context, 2, 16, &lexicon, &error);
    ck_assert(status == GSA_OK || error.text[0]);
    if (status != GSA_OK) return status;
    const int64_t calls = faults->calls[GSA_OP_ALLOC];
    ck_assert_int_eq(gsa_lexicon_match(lexicon, &x, NULL, NULL), 4);
    ck_assert_int_eq(faults->calls[GSA_OP_ALLOC], calls); /* a match takes no memory */
    gsa_lexicon_close(lexicon);
    return GSA_OK;
}

static shelf shelf_with_many(void)
{
    char *text = malloc(1 << 20);
    size_t used = (size_t)sprintf(text, "中国\n国人\n人民\n中国人民\n");
    for (int i = 0; i < 9000; i++)
        used += (size_t)sprintf(text + used, "w%dx%d\n", i * 7919 % 9000, i); /* several blocks */
    shelf s = shelf_with(text, (int64_t)used);
    free(text);
    return s;
}

START_TEST(memory_may_run_out_anywhere)
{
    shelf s = shelf_with_many();
    char path[256];
    strcpy(path, s.path);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, open_and_match, path), 20);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* A file whose words are all too short or too long, and a token that no character begins: bytes
 * that no text holds match nothing. */
static gsa_status open_none(gsa_faults *faults, void *context)
{
    gsa_lexicon *lexicon;
    gsa_slice token[] = { { "\xf7\xbf\xbf\xbf", 4 }, { "ab", 2 }, { "", 0 } };
    const gsa_example x = { .struct_size = sizeof x, .length = 3, .text = token };
    const gsa_status status = gsa_lexicon_open(&faults->table, context, 2, 16, &lexicon, NULL);
    if (status != GSA_OK) return status;
    ck_assert_int_eq(gsa_lexicon_match(lexicon, &x, NULL, NULL), 1);
    gsa_lexicon_close(lexicon);
    return GSA_OK;
}

START_TEST(what_is_no_character_matches_nothing)
{
    shelf s = shelf_with("ab\n", -1);
    char path[256];
    strcpy(path, s.path);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, open_none, path), 4);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* Plugins ask through a table of functions. */
START_TEST(plugins_ask_for_the_same)
{
    gsa_faults faults;
    gsa_hosting hosting;
    gsa_faults_start(&faults);
    const gsa_lexicon_service service = gsa_lexicon_service_of(&faults.table);
    gsa_lexicon *lexicon;
    gsa_slice token[] = { { "a", 1 }, { "b", 1 } };
    const gsa_example x = { .struct_size = sizeof x, .length = 2, .text = token };
    shelf s = shelf_with("ab\n", -1);
    gsa_hosting_open(&hosting, &faults.table, NULL);
    ck_assert_int_eq(service.open(&service, &hosting.table, s.path, 2, 16, &lexicon), 0);
    ck_assert_int_eq(service.match(&service, lexicon, &x, NULL, NULL), 1);
    service.close(&service, lexicon);
    ck_assert_int_lt(service.open(&service, &hosting.table, "absent", 2, 16, &lexicon), 0);
    ck_assert(hosting.failed && !hosting.starved && strstr(hosting.said.text, "absent"));
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_ALLOC] = 2;
    ck_assert_int_lt(service.open(&service, &hosting.table, s.path, 2, 16, &lexicon), 0);
    ck_assert(hosting.starved);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&s.scratch);
}
END_TEST

START_TEST(a_disk_may_fail_anywhere)
{
    shelf s = shelf_with_many();
    char path[256];
    strcpy(path, s.path);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, open_and_match, path), 2);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, open_and_match, path), 1);
    gsa_scratch_close(&s.scratch);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

typedef struct reader {
    const gsa_lexicon *lexicon;
    const gsa_example *example;
    int64_t count;
} reader;

static void *read_often(void *context)
{
    reader *r = context;
    for (int i = 0; i < 200; i++) r->count += gsa_lexicon_match(r->lexicon, r->example, NULL, NULL);
    return NULL;
}

START_TEST(threads_share_a_lexicon)
{
    static gsa_slice token[3000];
    static const char *const characters[] = { "中", "国", "人", "民" };
    gsa_dice dice = { 5 };
    reader readers[4];
    pthread_t thread[4];
    shelf s = shelf_with("中国\n国人\n人民\n中国人民\n人人人\n", -1);
    gsa_lexicon *lexicon = opened(s.path, 2, 16);
    for (int i = 0; i < 3000; i++)
        token[i] = (gsa_slice){ characters[gsa_between(&dice, 0, 3)], 3 };
    const gsa_example x = { .struct_size = sizeof x, .length = 3000, .text = token };
    const int64_t alone = gsa_lexicon_match(lexicon, &x, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        readers[i] = (reader){ lexicon, &x, 0 };
        ck_assert_int_eq(pthread_create(&thread[i], NULL, read_often, &readers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_int_eq(readers[i].count, 200 * alone);
    }
    gsa_lexicon_close(lexicon);
    gsa_scratch_close(&s.scratch);
}
END_TEST

static const gsa_test match_tests[] = { GSA_LOOP(matches_are_as_written, GSA_COUNT(tale)),
                                        GSA_LOOP(matches_equal_a_search_that_tries_all, 3),
                                        GSA_TEST(many_words_are_all_found),
                                        GSA_TEST(the_longest_words_are_found) };
static const gsa_test file_tests[] = { GSA_LOOP(a_bad_file_is_a_sentence_with_its_line,
                                                GSA_COUNT(refused)),
                                       GSA_TEST(what_is_no_file_or_no_length_is_refused),
                                       GSA_LOOP(good_files_hold_these_words, GSA_COUNT(good)) };
static const gsa_test fault_tests[] = { GSA_TEST(memory_may_run_out_anywhere),
                                        GSA_TEST(a_disk_may_fail_anywhere),
                                        GSA_TEST(what_is_no_character_matches_nothing),
                                        GSA_TEST(plugins_ask_for_the_same) };
static const gsa_test thread_tests[] = { GSA_TEST(threads_share_a_lexicon) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("matches", match_tests, 60),
                                      GSA_CASE("files", file_tests, 30),
                                      GSA_CASE("faults", fault_tests, 60),
                                      GSA_CASE("threads", thread_tests, 60) };
    return gsa_run_suite("lexicon", cases, GSA_COUNT(cases), argc, argv);
}
