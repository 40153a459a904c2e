/* The vocabulary: ids that do not depend on order, limits, vocab.txt there and back, bad files,
 * faults. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/slots.h"
#include "gsa/vocabulary.h"
#include "scratch.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"

static gsa_slice text(const char *word)
{
    return (gsa_slice){ word, (int64_t)strlen(word) };
}

static gsa_vocabulary *new_vocabulary(void)
{
    gsa_vocabulary *v;
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &v, NULL), GSA_OK);
    return v;
}

/* The ids from 2 on as "word:count word:count". */
static const char *listed(const gsa_vocabulary *v)
{
    static char out[1024];
    int used = 0;
    out[0] = 0;
    for (int32_t id = GSA_WORD_FIRST; id < gsa_vocabulary_size(v); id++) {
        const gsa_slice word = gsa_vocabulary_word(v, id);
        used += snprintf(out + used, sizeof out - (size_t)used, "%s%.*s:%lld",
                         id > GSA_WORD_FIRST ? " " : "", (int)word.bytes, word.at,
                         (long long)gsa_vocabulary_count(v, id));
        ck_assert_int_eq(gsa_vocabulary_find(v, word), id);
    }
    return out;
}

/* ---- freezing ------------------------------------------------------------------------------ */

START_TEST(limits_and_ties)
{
    static const struct {
        const char *words; /* one occurrence each */
        int64_t min_count, max_size;
        const char *list;
    } rows[] = {
        /* words              min max  ids from 2 on */
        { "", 1, 0, "" },
        { "a", 1, 0, "a:1" },
        { "a", 2, 0, "" },
        { "b a c", 1, 0, "a:1 b:1 c:1" },
        { "b a b", 1, 0, "b:2 a:1" },
        { "c a b c b c", 1, 0, "c:3 b:2 a:1" },
        { "c a b c b c", 2, 0, "c:3 b:2" },
        { "c a b c b c", 3, 0, "c:3" },
        { "c a b c b c", 4, 0, "" },
        { "c a b c b c", 0, 2, "c:3 b:2" },
        { "c a b c b c", 1, 1, "c:3" },
        { "c a b c b c", 1, 9, "c:3 b:2 a:1" },
        { "c a b c b c", 3, 2, "c:3" },
        { "aa a ab b B", 1, 0, "B:1 a:1 aa:1 ab:1 b:1" }, /* ties by bytes, a prefix first */
        { "é z \xf0\x9f\x8c\xb3", 1, 0, "z:1 é:1 \xf0\x9f\x8c\xb3:1" },
        { "<unk> a <unk>", 1, 0, "a:1" }, /* it is id 1 already */
    };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_vocabulary *v = new_vocabulary();
        char copy[128];
        snprintf(copy, sizeof copy, "%s", rows[i].words);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
            ck_assert_int_eq(gsa_vocabulary_add(v, text(word), 1, NULL), GSA_OK);
        ck_assert_int_eq(gsa_vocabulary_freeze(v, rows[i].min_count, rows[i].max_size, NULL),
                         GSA_OK);
        ck_assert_str_eq(listed(v), rows[i].list);
        gsa_vocabulary_release(v);
    }
}
END_TEST

/* Random words, counts split over several calls, in two random orders: the same ids. */
START_TEST(order_does_not_matter)
{
    enum { WORDS = 2000, ADDS = 6000 };
    static int32_t which[ADDS], counts[ADDS];
    gsa_dice dice = { 5 };
    for (int i = 0; i < ADDS; i++)
        which[i] = (int32_t)gsa_between(&dice, 0, WORDS - 1),
        counts[i] = (int32_t)gsa_between(&dice, 1, 3);
    gsa_vocabulary *v[2];
    for (int order = 0; order < 2; order++) {
        v[order] = new_vocabulary();
        for (int i = 0; i < ADDS; i++) {
            char word[16];
            snprintf(word, sizeof word, "w%d", (int)which[i]);
            ck_assert_int_eq(gsa_vocabulary_add(v[order], text(word), counts[i], NULL), GSA_OK);
        }
        for (int i = ADDS - 1; i > 0; i--) {
            const int64_t j = gsa_between(&dice, 0, i);
            const int32_t a = which[i], b = counts[i];
            which[i] = which[j], counts[i] = counts[j], which[j] = a, counts[j] = b;
        }
        ck_assert_int_eq(gsa_vocabulary_freeze(v[order], 2, 1500, NULL), GSA_OK);
    }
    ck_assert_int_eq(gsa_vocabulary_size(v[0]), gsa_vocabulary_size(v[1]));
    ck_assert_int_gt(gsa_vocabulary_size(v[0]), 1000);
    for (int32_t id = 0; id < gsa_vocabulary_size(v[0]); id++) {
        const gsa_slice a = gsa_vocabulary_word(v[0], id), b = gsa_vocabulary_word(v[1], id);
        ck_assert_int_eq(a.bytes, b.bytes);
        ck_assert_mem_eq(a.at, b.at, (size_t)a.bytes);
        ck_assert_int_eq(gsa_vocabulary_count(v[0], id), gsa_vocabulary_count(v[1], id));
        if (id > GSA_WORD_FIRST)
            ck_assert_int_le(gsa_vocabulary_count(v[0], id), gsa_vocabulary_count(v[0], id - 1));
    }
    gsa_vocabulary_release(v[0]);
    gsa_vocabulary_release(v[1]);
}
END_TEST

START_TEST(a_count_has_a_limit)
{
    gsa_vocabulary *v = new_vocabulary();
    gsa_error error;
    ck_assert_int_eq(gsa_vocabulary_add(v, text("a"), INT64_MAX, &error), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_add(v, text("a"), 1, &error), GSA_ERR_LIMIT);
    ck_assert_str_eq(error.text, "the count of a word exceeds 9223372036854775807");
    gsa_vocabulary_release(v);
}
END_TEST

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Two words whose hashes are the same 32 bits in this vocabulary: of half a million, 29 pairs are
 * to be expected. */
static void find_twins(const gsa_vocabulary *v, char first[16], char second[16])
{
    enum { WORDS = 500000 };
    static uint64_t each[WORDS]; /* the hash, and below it the word's number */
    int at = 1;
    for (int i = 0; i < WORDS; i++) {
        const int bytes = snprintf(first, 16, "w%d", i);
        each[i] = gsa_slot_hash(gsa_slot_seed(v), first, bytes) << 32 | (uint32_t)i;
    }
    qsort(each, WORDS, sizeof *each, by_value);
    while (at < WORDS && each[at] >> 32 != each[at - 1] >> 32) at++;
    ck_assert_int_lt(at, WORDS);
    snprintf(first, 16, "w%d", (int)(uint32_t)each[at - 1]);
    snprintf(second, 16, "w%d", (int)(uint32_t)each[at]);
}

START_TEST(words_of_one_hash_are_two)
{
    gsa_vocabulary *v = new_vocabulary();
    char first[16], second[16];
    find_twins(v, first, second);
    ck_assert_int_eq(gsa_vocabulary_add(v, text(first), 2, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_add(v, text(second), 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_bound(v, 2, NULL), GSA_OK); /* it has no more */
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_find(v, text(first)), GSA_WORD_FIRST);
    ck_assert_int_eq(gsa_vocabulary_find(v, text(second)), GSA_WORD_FIRST + 1);
    gsa_vocabulary_release(v);
}
END_TEST

/* Nothing was counted: every word is unknown. */
START_TEST(an_empty_one_knows_no_word)
{
    gsa_vocabulary *v = new_vocabulary();
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_find(v, text("a")), GSA_WORD_UNKNOWN);
    gsa_vocabulary_release(v);
}
END_TEST

START_TEST(frozen_and_not_yet)
{
    gsa_error error;
    gsa_vocabulary *v = new_vocabulary();
    ck_assert_int_eq(gsa_vocabulary_add(v, text("a"), 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_size(v), 2);
    ck_assert_int_eq(gsa_vocabulary_find(v, text("a")), GSA_WORD_UNKNOWN);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, -1, 0, &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 0, -1, &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 0, 0, &error), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 0, 0, &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_vocabulary_add(v, text("b"), 1, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(error.text, "a word is added to a vocabulary that is frozen");
    ck_assert_str_eq(listed(v), "a:1");
    gsa_vocabulary_release(v);
    gsa_vocabulary_release(NULL);
}
END_TEST

/* ---- words --------------------------------------------------------------------------------- */

START_TEST(special_ids_and_unknown_words)
{
    gsa_vocabulary *v = new_vocabulary();
    ck_assert_int_eq(gsa_vocabulary_add(v, text("tree"), 7, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_word(v, GSA_WORD_PADDING).bytes, 0);
    ck_assert_mem_eq(gsa_vocabulary_word(v, GSA_WORD_UNKNOWN).at, "<unk>", 5);
    ck_assert_int_eq(gsa_vocabulary_word(v, GSA_WORD_UNKNOWN).bytes, 5);
    ck_assert_int_eq(
        gsa_vocabulary_count(v, GSA_WORD_PADDING) + gsa_vocabulary_count(v, GSA_WORD_UNKNOWN), 0);
    ck_assert_int_eq(gsa_vocabulary_find(v, text("tree")), 2);
    static const char *const others[] = { "", "<unk>", "tre", "trees", "Tree", "\xff", "a\tb" };
    for (int i = 0; i < GSA_COUNT(others); i++)
        ck_assert_int_eq(gsa_vocabulary_find(v, text(others[i])), GSA_WORD_UNKNOWN);
    ck_assert_int_eq(gsa_vocabulary_find(v, (gsa_slice){ NULL, 0 }), GSA_WORD_UNKNOWN);
    ck_assert_int_eq(gsa_vocabulary_word(v, 3).bytes,
                     5); /* out of range reads as the unknown word */
    ck_assert_int_eq(gsa_vocabulary_word(v, -1).bytes, 5);
    ck_assert_int_eq(gsa_vocabulary_count(v, 3), 0);
    gsa_vocabulary_release(v);
}
END_TEST

START_TEST(bad_words_are_refused)
{
    static const struct {
        const char *word;
        int64_t bytes, count;
        gsa_status status;
        const char *says;
    } rows[] = {
        { "", 0, 1, GSA_ERR_FORMAT, "a word is empty" },
        { "a\tb", 3, 1, GSA_ERR_FORMAT, "the word 'a b' holds a tab or a line end" },
        { "a\nb", 3, 1, GSA_ERR_FORMAT, "holds a tab or a line end" },
        { "ab\r", 3, 1, GSA_ERR_FORMAT, "holds a tab or a line end" },
        { "a\xff", 2, 1, GSA_ERR_FORMAT, "is not valid UTF-8 at its byte 1" },
        { "\xe2\x82", 2, 1, GSA_ERR_FORMAT, "is not valid UTF-8 at its byte 0" },
        { "a", 1, -1, GSA_ERR_ARGUMENT, "a word is added -1 times" },
        { "full", 4, INT64_MAX, GSA_ERR_LIMIT, "the count of a word exceeds 9223372036854775807" },
    };
    gsa_vocabulary *v = new_vocabulary();
    ck_assert_int_eq(gsa_vocabulary_add(v, text("full"), 1, NULL), GSA_OK);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_error error = { 0 };
        ck_assert_int_eq(gsa_vocabulary_add(v, (gsa_slice){ rows[i].word, rows[i].bytes },
                                            rows[i].count, &error),
                         rows[i].status);
        ck_assert_msg(strstr(error.text, rows[i].says) != NULL, "row %d says %s", i, error.text);
    }
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 0, 0, NULL), GSA_OK);
    ck_assert_str_eq(listed(v), "full:1");
    gsa_vocabulary_release(v);
}
END_TEST

/* ---- vocab.txt ----------------------------------------------------------------------------- */

static gsa_status write_vocabulary(const gsa_system *system, const gsa_vocabulary *v,
                                   const char *path)
{
    gsa_output *output;
    gsa_status status = gsa_output_open(system, path, &output, NULL);
    if (status != GSA_OK) return status;
    status = gsa_vocabulary_write(v, output);
    if (status == GSA_OK) return gsa_output_commit(output, NULL);
    gsa_output_abandon(output);
    return status;
}

START_TEST(there_and_back)
{
    gsa_scratch scratch;
    gsa_vocabulary *v = new_vocabulary(), *again;
    gsa_error error = { 0 };
    int64_t bytes;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "vocab.txt");
    char *megabyte = malloc((1 << 20) + 1);
    memset(megabyte, 'm', 1 << 20);
    megabyte[1 << 20] = 0;
    const char *const words[] = { "a",
                                  "b c",
                                  "\"",
                                  "\\t",
                                  "é",
                                  "\xf0\x9f\x8c\xb3",
                                  "\xe2\x80\xae"
                                  "rtl",
                                  "\x01",
                                  megabyte,
                                  " " };
    for (int i = 0; i < GSA_COUNT(words); i++)
        ck_assert_int_eq(gsa_vocabulary_add(v, text(words[i]), 100 - i, NULL), GSA_OK);
    ck_assert_int_eq(write_vocabulary(NULL, v, path), GSA_ERR_ARGUMENT); /* not frozen */
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(write_vocabulary(NULL, v, path), GSA_OK);
    ck_assert_msg(gsa_vocabulary_read(NULL, path, &again, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_vocabulary_size(again), 2 + GSA_COUNT(words));
    for (int i = 0; i < GSA_COUNT(words); i++) {
        ck_assert_int_eq(gsa_vocabulary_find(again, text(words[i])), i + 2);
        ck_assert_int_eq(gsa_vocabulary_count(again, i + 2), 100 - i);
    }
    ck_assert_int_eq(gsa_vocabulary_add(again, text("new"), 1, NULL), GSA_ERR_ARGUMENT);
    char *file = gsa_get_file(path, &bytes);
    ck_assert_mem_eq(file, "a\t100\nb c\t99\n\"\t98\n\\t\t97\n", 24);
    free(file);
    free(megabyte);
    gsa_vocabulary_release(v);
    gsa_vocabulary_release(again);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(good_files)
{
    static const struct {
        const char *file, *list;
    } rows[] = {
        { "", "" },
        { "a\t1\n", "a:1" },
        { "b\t1\na\t5\n", "b:1 a:5" }, /* the file's order is the ids' order */
        { "a\t0\n", "a:0" },
        { "a\t9223372036854775807\n", "a:9223372036854775807" },
    };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "vocab.txt");
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_vocabulary *v;
        gsa_error error = { 0 };
        gsa_put_file(path, rows[i].file, (int64_t)strlen(rows[i].file));
        ck_assert_msg(gsa_vocabulary_read(NULL, path, &v, &error) == GSA_OK, "%s", error.text);
        ck_assert_str_eq(listed(v), rows[i].list);
        gsa_vocabulary_release(v);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(bad_files)
{
    static const struct {
        const char *file, *says;
    } rows[] = {
        { "a", ":1: the line does not end" },
        { "a\t1\nb\t2", ":2: the line does not end" },
        { "a 1\n", ":1: expected a word, a tab and a count, found no tab" },
        { "a\t1\n\n", ":2: expected a word, a tab and a count, found no tab" },
        { "\t1\n", ":1: a word is empty" },
        { "a\t\n", ":1: the count of 'a' is '', not a whole number >= 0" },
        { "a\t1\t2\n", ":1: the count of 'a' is '1 2', not a whole number >= 0" },
        { "a\t-1\n", ":1: the count of 'a' is '-1'" },
        { "a\t+1\n", ":1: the count of 'a' is '+1'" },
        { "a\t1.0\n", ":1: the count of 'a' is '1.0'" },
        { "a\t 1\n", ":1: the count of 'a' is ' 1'" },
        { "a\t1 \n", ":1: the count of 'a' is '1 '" },
        { "a\t01\n", ":1: the count of 'a' is '01'" },
        { "a\t0x1\n", ":1: the count of 'a' is '0x1'" },
        { "a\tmany\n", ":1: the count of 'a' is 'many'" },
        { "a\t9223372036854775808\n", ":1: the count of 'a' is '9223372036854775808'" },
        { "a\t92233720368547758070\n", ":1: the count of 'a' is '92233720368547758070'" },
        { "a\t1234567890123456789012345678901234567890\n",
          ":1: the count of 'a' is '1234567890123456789012345678901234567890', not" },
        { "a\t12345678901234567890123456789012345678901\n",
          ":1: the count of 'a' is '1234567890123456789012345678901234567890', not" },
        { "a\t1\r\n", ":1: the count of 'a' is '1 '" },
        { "a\r\t1\n", ":1: the word 'a ' holds a tab or a line end" },
        { "a\t1\nb\t1\na\t1\n", ":3: the word 'a' is in line 1 already" },
        { "a\t1\n<unk>\t1\n", ":2: '<unk>' is the unknown word, which has no line" },
        { "a\t1\n\xff\t1\n", ":2: the word '?' is not valid UTF-8 at its byte 0" },
        { "\xef\xbb\xbf\xed\xa0\x80\t1\n", ":1: the word" },
    };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "vocab.txt");
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_vocabulary *v;
        gsa_error error = { 0 };
        gsa_put_file(path, rows[i].file, (int64_t)strlen(rows[i].file));
        ck_assert_int_eq(gsa_vocabulary_read(&faults.table, path, &v, &error), GSA_ERR_FORMAT);
        ck_assert_ptr_null(v);
        ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0, "row %d says %s", i,
                      error.text);
        ck_assert_msg(strncmp(error.text + strlen(path), rows[i].says, strlen(rows[i].says)) == 0,
                      "row %d says %s", i, error.text);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    gsa_vocabulary *v;
    ck_assert_int_eq(gsa_vocabulary_read(NULL, gsa_scratch_path(&scratch, "absent"), &v, NULL),
                     GSA_ERR_IO);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- many words ---------------------------------------------------------------------------- */

START_TEST(two_hundred_thousand_words)
{
    enum { WORDS = 200000 };
    gsa_scratch scratch;
    gsa_vocabulary *v = new_vocabulary(), *again;
    char word[16];
    gsa_scratch_open(&scratch);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < WORDS; i++) {
            snprintf(word, sizeof word, "word%d", i);
            ck_assert_int_eq(gsa_vocabulary_add(v, text(word), i + 1, NULL), GSA_OK);
        }
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(write_vocabulary(NULL, v, gsa_scratch_path(&scratch, "vocab.txt")), GSA_OK);
    ck_assert_int_eq(
        gsa_vocabulary_read(NULL, gsa_scratch_path(&scratch, "vocab.txt"), &again, NULL), GSA_OK);
    for (int i = 0; i < WORDS; i++) {
        snprintf(word, sizeof word, "word%d", i);
        if (gsa_vocabulary_find(v, text(word)) != WORDS + 1 - i ||
            gsa_vocabulary_find(again, text(word)) != WORDS + 1 - i)
            ck_abort_msg("%s has another id", word);
    }
    ck_assert_int_eq(gsa_vocabulary_count(again, 2), 3 * WORDS);
    gsa_vocabulary_release(v);
    gsa_vocabulary_release(again);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status try_counting(gsa_faults *faults, void *path)
{
    gsa_vocabulary *v;
    char word[80];
    gsa_status status = gsa_vocabulary_create(&faults->table, &v, NULL);
    for (int i = 0; i < 1000 && status == GSA_OK; i++) {
        snprintf(word, sizeof word, "%070d", i); /* more than one block of texts */
        status = gsa_vocabulary_add(v, text(word), 1, NULL);
    }
    if (status == GSA_OK) status = gsa_vocabulary_freeze(v, 1, 0, NULL);
    if (status == GSA_OK) status = write_vocabulary(&faults->table, v, path);
    gsa_vocabulary_release(v);
    return status;
}

static gsa_status try_bounding(gsa_faults *faults, void *context)
{
    gsa_vocabulary *v;
    char word[16];
    (void)context;
    gsa_status status = gsa_vocabulary_create(&faults->table, &v, NULL);
    for (int i = 0; i < 1000 && status == GSA_OK; i++) {
        snprintf(word, sizeof word, "w%d", i);
        status = gsa_vocabulary_add(v, text(word), i, NULL);
    }
    if (status == GSA_OK) status = gsa_vocabulary_bound(v, 900, NULL);
    gsa_vocabulary_release(v);
    return status;
}

static gsa_status try_reading(gsa_faults *faults, void *path)
{
    gsa_vocabulary *v;
    const gsa_status status = gsa_vocabulary_read(&faults->table, path, &v, NULL);
    ck_assert_int_eq(status == GSA_OK, v != NULL);
    gsa_vocabulary_release(v);
    return status;
}

START_TEST(every_fault_is_reported)
{
    static char path[512];
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&scratch, "vocab.txt"));
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_counting, path), 10);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_WRITE, 0, GSA_ERR_IO, try_counting, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_bounding, NULL), 10);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_reading, path), 10);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, try_reading, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, try_reading, path), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A word that could not be added can be added later: nothing is lost. */
START_TEST(goes_on_after_no_memory)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    gsa_vocabulary *v;
    ck_assert_int_eq(gsa_vocabulary_create(&faults.table, &v, NULL), GSA_OK);
    for (int i = 0; i < 2000; i++) {
        char word[16];
        snprintf(word, sizeof word, "w%d", i);
        for (int n = 1; n <= 4; n++) { /* each allocation that it needs fails once */
            gsa_faults_rewind(&faults);
            faults.fail[GSA_OP_ALLOC] = n;
            if (gsa_vocabulary_add(v, text(word), 1, NULL) == GSA_OK) break;
            ck_assert_int_lt(n, 4);
        }
    }
    gsa_faults_rewind(&faults);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_size(v), 2002);
    gsa_vocabulary_release(v);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test freezing[] = {
        GSA_TEST(limits_and_ties),           GSA_TEST(order_does_not_matter),
        GSA_TEST(frozen_and_not_yet),        GSA_TEST(a_count_has_a_limit),
        GSA_TEST(words_of_one_hash_are_two), GSA_TEST(an_empty_one_knows_no_word)
    };
    static const gsa_test words[] = { GSA_TEST(special_ids_and_unknown_words),
                                      GSA_TEST(bad_words_are_refused) };
    static const gsa_test files[] = { GSA_TEST(there_and_back), GSA_TEST(good_files),
                                      GSA_TEST(bad_files) };
    static const gsa_test many[] = { GSA_TEST(two_hundred_thousand_words) };
    static const gsa_test faults[] = { GSA_TEST(every_fault_is_reported),
                                       GSA_TEST(goes_on_after_no_memory) };
    static const gsa_case cases[] = { GSA_CASE("freezing", freezing, 30),
                                      GSA_CASE("words", words, 30), GSA_CASE("files", files, 30),
                                      GSA_CASE("many", many, 60), GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("vocabulary", cases, GSA_COUNT(cases), argc, argv);
}
