/* Byte pairs: against a slow implementation that counts anew before each merge, by hand, round
 * trips, files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/utf8.h"
#include "gsa/scratch.h"
#include "support/suite.h"
#include "train/vocabulary/bpe.h"

enum { WORD = 48, WORDS = 64, MERGES = 60, PIECE = 128 };

typedef struct slow_word {
    char piece[WORD][PIECE]; /* as the file of merges has them: the last one ends in </w> */
    int count, weight;
} slow_word;

typedef struct slow_merge {
    char left[PIECE], right[PIECE];
} slow_merge;

static gsa_vocabulary *vocabulary_of(const char *const *word, const int *count, int words)
{
    gsa_vocabulary *v;
    gsa_error error;
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &v, &error), GSA_OK);
    for (int i = 0; i < words; i++)
        ck_assert_int_eq(gsa_vocabulary_add(v, (gsa_slice){ word[i], (int64_t)strlen(word[i]) },
                                            count[i], &error),
                         GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, &error), GSA_OK);
    return v;
}

/* ---- the slow one -------------------------------------------------------------------------- */

static void slow_characters(const char *word, int weight, slow_word *out)
{
    out->count = 0, out->weight = weight;
    for (const char *at = word; *at; at += gsa_utf8_length(at)) {
        const int bytes = gsa_utf8_length(at);
        snprintf(out->piece[out->count++], PIECE, "%.*s%s", bytes, at, at[bytes] ? "" : "</w>");
    }
}

static int64_t slow_count(const slow_word *words, int n, const char *left, const char *right)
{
    int64_t sum = 0;
    for (int w = 0; w < n; w++)
        for (int i = 0; i + 1 < words[w].count; i++)
            if (strcmp(words[w].piece[i], left) == 0 && strcmp(words[w].piece[i + 1], right) == 0)
                sum += words[w].weight;
    return sum;
}

static void slow_join(slow_word *w, const slow_merge *m)
{
    int kept = 0;
    for (int i = 0; i < w->count; i++) {
        char joined[2 * PIECE];
        const int here = i + 1 < w->count && strcmp(w->piece[i], m->left) == 0 &&
                         strcmp(w->piece[i + 1], m->right) == 0;
        snprintf(joined, sizeof joined, "%s%s", w->piece[i], here ? w->piece[i + 1] : "");
        memcpy(w->piece[kept++], joined, PIECE);
        i += here;
    }
    w->count = kept;
}

static int slow_learn(slow_word *words, int n, int merges, slow_merge *out)
{
    for (int m = 0; m < merges; m++) {
        int64_t best = 1;
        for (int w = 0; w < n; w++)
            for (int i = 0; i + 1 < words[w].count; i++) {
                const char *left = words[w].piece[i], *right = words[w].piece[i + 1];
                const int64_t count = slow_count(words, n, left, right);
                const int order = best == count ? strcmp(left, out[m].left) : 0;
                if (count > best ||
                    (count == best && count > 1 &&
                     (order > 0 || (order == 0 && strcmp(right, out[m].right) > 0)))) {
                    best = count;
                    memcpy(out[m].left, left, PIECE), memcpy(out[m].right, right, PIECE);
                }
            }
        if (best < 2) return m;
        for (int w = 0; w < n; w++) slow_join(&words[w], &out[m]);
    }
    return merges;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* The file of merges as text, released with free(). */
static char *written(const gsa_bpe *bpe, const gsa_scratch *scratch)
{
    gsa_output *output;
    gsa_error error;
    int64_t bytes;
    const char *path = gsa_scratch_path(scratch, "codes");
    ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &output, &error), GSA_OK);
    gsa_bpe_write(bpe, output);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    return gsa_get_file(path, &bytes);
}

/* The pieces of a word with a blank between two. */
static void cut(gsa_bpe *bpe, const char *word, char *out, size_t size)
{
    const gsa_slice *piece;
    int32_t count;
    gsa_error error;
    size_t used = 0;
    ck_assert_int_eq(
        gsa_bpe_cut(bpe, (gsa_slice){ word, (int64_t)strlen(word) }, &piece, &count, &error),
        GSA_OK);
    for (int32_t i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", i ? " " : "",
                                 (int)piece[i].bytes, piece[i].at);
}

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u, *state >> 16;
}

/* A few letters, so that pairs overlap and tie; some of two and three bytes. */
static int random_word(uint32_t *state, char *out)
{
    static const char *const letter[] = { "a", "b", "c", "ab", "\xc3\xa4", "\xe2\x82\xac" };
    const int letters = 1 + (int)(next(state) % 9), kinds = 2 + (int)(next(state) % 5);
    out[0] = 0;
    for (int i = 0; i < letters; i++) strcat(out, letter[next(state) % (uint32_t)kinds]);
    return 1 + (int)(next(state) % 5);
}

START_TEST(merges_are_those_of_the_slow_one)
{
    static slow_word slow[WORDS];
    static slow_merge expected[MERGES];
    static char text[WORDS][WORD], codes[MERGES * 2 * PIECE];
    const char *word[WORDS];
    int count[WORDS], words = 0;
    uint32_t state = (uint32_t)_i * 7919u + 1;
    const int wanted = 1 + (int)(next(&state) % (WORDS - 1));
    for (int i = 0; i < wanted; i++) {
        int twin = 0;
        count[words] = random_word(&state, text[words]), word[words] = text[words];
        for (int k = 0; k < words; k++) twin |= strcmp(text[k], text[words]) == 0;
        if (!twin) slow_characters(text[words], count[words], &slow[words]), words++;
    }
    const int merges = slow_learn(slow, words, MERGES, expected);
    size_t used = (size_t)snprintf(codes, sizeof codes, "#version: 0.2\n");
    for (int m = 0; m < merges; m++)
        used += (size_t)snprintf(codes + used, sizeof codes - used, "%s %s\n", expected[m].left,
                                 expected[m].right);
    gsa_scratch scratch;
    gsa_bpe *bpe;
    gsa_error error;
    gsa_scratch_open(&scratch);
    gsa_vocabulary *v = vocabulary_of(word, count, words);
    ck_assert_int_eq(gsa_bpe_learn(gsa_system_default(), v, MERGES, &bpe, &error), GSA_OK);
    char *found = written(bpe, &scratch), pieces[WORD * 8], shown[WORD * 8];
    ck_assert_str_eq(found, codes);
    for (int w = 0; w < words; w++) { /* a word of the corpus is cut as learning left it */
        used = 0;
        for (int i = 0; i < slow[w].count; i++) {
            const char *piece = slow[w].piece[i];
            const int last = i + 1 == slow[w].count, bytes = (int)strlen(piece) - (last ? 4 : 0);
            used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s%s", i ? " " : "",
                                     bytes, piece, last ? "" : "@@");
        }
        for (int again = 0; again < 2; again++) {
            cut(bpe, word[w], pieces, sizeof pieces);
            ck_assert_str_eq(pieces, shown);
        }
    }
    free(found);
    gsa_bpe_release(bpe);
    gsa_vocabulary_release(v);
    gsa_scratch_close(&scratch);
}
END_TEST

/* The words of the paper, with what its authors' program writes for them. */
static const char *const paper[] = { "low", "lower", "newest", "widest" };
static const int paper_count[] = { 5, 2, 6, 3 };
static const char paper_codes[] = "#version: 0.2\n"
                                  "s t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo "
                                  "w</w>\nw i\nwi d\nwid est</w>\nw e\nwe r</w>\n"
                                  "lo wer</w>\n";

START_TEST(the_words_of_the_paper)
{
    static const struct {
        const char *word, *pieces;
    } cuts[] = { { "low", "low" },
                 { "lowest", "lo@@ west" },
                 { "newer", "ne@@ wer" },
                 { "l", "l" },
                 { "lo", "l@@ o" },
                 { "xyz", "x@@ y@@ z" },
                 { "\xc3\xa4low", "\xc3\xa4@@ low" },
                 { "lowlow", "lo@@ w@@ low" } };
    gsa_scratch scratch;
    gsa_bpe *bpe, *read;
    gsa_error error;
    char pieces[256];
    gsa_scratch_open(&scratch);
    gsa_vocabulary *v = vocabulary_of(paper, paper_count, 4);
    ck_assert_int_eq(gsa_bpe_learn(gsa_system_default(), v, 100, &bpe, &error), GSA_OK);
    char *text = written(bpe, &scratch);
    ck_assert_str_eq(text, paper_codes);
    ck_assert_int_eq(
        gsa_bpe_read(gsa_system_default(), gsa_scratch_path(&scratch, "codes"), &read, &error),
        GSA_OK);
    ck_assert_int_eq(gsa_bpe_merges(read), gsa_bpe_merges(bpe));
    for (int i = 0; i < GSA_COUNT(cuts); i++) {
        cut(bpe, cuts[i].word, pieces, sizeof pieces);
        ck_assert_str_eq(pieces, cuts[i].pieces);
        cut(read, cuts[i].word, pieces, sizeof pieces);
        ck_assert_str_eq(pieces, cuts[i].pieces);
    }
    free(text);
    gsa_bpe_release(bpe);
    gsa_bpe_release(read);
    gsa_vocabulary_release(v);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Words that hold the marks: what is cut is the word again, and only its last piece does not go
 * on. */
START_TEST(marks_in_words)
{
    static const char *const word[] = { "@@",        "a@@", "@@@@", "x</w>", "</w>",
                                        "</w></w>y", "@",   "@@a",  "a@" };
    static const int count[] = { 9, 9, 9, 9, 9, 9, 9, 9, 9 };
    gsa_scratch scratch;
    gsa_bpe *bpe, *read;
    gsa_error error;
    gsa_scratch_open(&scratch);
    gsa_vocabulary *v = vocabulary_of(word, count, GSA_COUNT(word));
    ck_assert_int_eq(gsa_bpe_learn(gsa_system_default(), v, 100, &bpe, &error), GSA_OK);
    char *text = written(bpe, &scratch), again[256];
    ck_assert_int_eq(
        gsa_bpe_read(gsa_system_default(), gsa_scratch_path(&scratch, "codes"), &read, &error),
        GSA_OK);
    char *twice = written(read, &scratch);
    ck_assert_str_eq(text, twice);
    for (int i = 0; i < GSA_COUNT(word); i++) {
        const gsa_slice *piece;
        int32_t pieces;
        size_t used = 0;
        again[0] = 0;
        ck_assert_int_eq(gsa_bpe_cut(read, (gsa_slice){ word[i], (int64_t)strlen(word[i]) }, &piece,
                                     &pieces, &error),
                         GSA_OK);
        for (int32_t k = 0; k < pieces; k++) {
            gsa_slice own;
            ck_assert_int_eq(gsa_bpe_goes_on(piece[k], &own), k + 1 < pieces);
            used +=
                (size_t)snprintf(again + used, sizeof again - used, "%.*s", (int)own.bytes, own.at);
        }
        ck_assert_str_eq(again, word[i]);
    }
    free(text);
    free(twice);
    gsa_bpe_release(bpe);
    gsa_bpe_release(read);
    gsa_vocabulary_release(v);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(nothing_to_learn_from)
{
    gsa_bpe *bpe;
    gsa_error error;
    const gsa_slice *piece;
    int32_t count;
    gsa_vocabulary *v = vocabulary_of(NULL, NULL, 0);
    ck_assert_int_eq(gsa_bpe_learn(gsa_system_default(), v, 10, &bpe, &error), GSA_OK);
    ck_assert_int_eq(gsa_bpe_merges(bpe), 0);
    ck_assert_int_eq(gsa_bpe_cut(bpe, (gsa_slice){ "ab", 2 }, &piece, &count, &error), GSA_OK);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(gsa_bpe_cut(bpe, (gsa_slice){ "", 0 }, &piece, &count, &error),
                     GSA_ERR_ARGUMENT);
    gsa_bpe_release(bpe);
    gsa_vocabulary_release(v);
}
END_TEST

#define HEAD "#version: 0.2\n"
static const struct {
    const char *bytes, *sentence;
} bad[] = {
    { "", ":1: expected the line '#version: 0.2'" },
    { "l o\n", ":1: expected the line '#version: 0.2'" },
    { "#version: 0.1\nl o\n", ":1: expected the line '#version: 0.2'" },
    { HEAD "l o\nlo\n", ":3: expected two pieces with one blank" },
    { HEAD "l o w\n", ":2: expected two pieces with one blank" },
    { HEAD " o\n", ":2: expected two pieces with one blank" },
    { HEAD "l \n", ":2: expected two pieces with one blank" },
    { HEAD "l </w>\n", ":2: expected two pieces with one blank" },
    { HEAD "\n", ":2: expected two pieces with one blank" },
    { HEAD "l o\nw e\nl o\n", ":4: the pair is in line 2 already" },
    { HEAD "@ @</w>\n", ":2: the pair makes a piece that ends in @@, which is a mark" },
    { HEAD "< /w>\n", ":2: the pair makes a piece that ends in </w>, which is a mark" },
    { HEAD "a \xff\n", ":2: invalid UTF-8 at byte 3 of the line" },
};

START_TEST(bad_file)
{
    gsa_scratch scratch;
    gsa_bpe *bpe;
    gsa_error error;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "codes");
    gsa_put_file(path, bad[_i].bytes, (int64_t)strlen(bad[_i].bytes));
    ck_assert_int_eq(gsa_bpe_read(gsa_system_default(), path, &bpe, &error), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, bad[_i].sentence) != NULL, "'%s', expected '%s'", error.text,
                  bad[_i].sentence);
    ck_assert_ptr_null(bpe);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test learned[] = { GSA_LOOP(merges_are_those_of_the_slow_one, 60),
                                        GSA_TEST(the_words_of_the_paper), GSA_TEST(marks_in_words),
                                        GSA_TEST(nothing_to_learn_from) };
    static const gsa_test refused[] = { GSA_LOOP(bad_file, GSA_COUNT(bad)) };
    static const gsa_case cases[] = { GSA_CASE("learned", learned, 60),
                                      GSA_CASE("bad", refused, 30) };
    return gsa_run_suite("bpe", cases, GSA_COUNT(cases), argc, argv);
}
