/* The table, the sentences, and text: what every other suite builds on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/batch.h"
#include "graph/plan.h"
#include "graph/utf8.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"

/* ---- memory -------------------------------------------------------------------------------- */

START_TEST(sizes_that_overflow_are_refused)
{
    ck_assert_ptr_null(gsa_alloc(NULL, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(gsa_alloc(NULL, SIZE_MAX, 1));
    ck_assert_ptr_null(gsa_alloc(NULL, SIZE_MAX / 4 + 2, 4)); /* would wrap to 4 bytes */
    ck_assert_ptr_null(gsa_alloc_zero(NULL, 3, SIZE_MAX / 2));
    void *at = gsa_alloc(NULL, 4, 4);
    ck_assert_ptr_null(gsa_resize(NULL, at, SIZE_MAX / 4, 8));
    gsa_release(NULL, at); /* still valid */
}
END_TEST

START_TEST(zero_bytes_are_one_byte)
{
    void *a = gsa_alloc(NULL, 0, 8), *b = gsa_alloc_zero(NULL, 8, 0),
         *c = gsa_resize(NULL, NULL, 0, 0);
    ck_assert_msg(a && b && c, "NULL means failure only");
    gsa_release(NULL, a), gsa_release(NULL, b), gsa_release(NULL, c);
    gsa_release(NULL, NULL);
}
END_TEST

START_TEST(arithmetic_is_checked)
{
    int64_t out = 7;
    ck_assert(gsa_add(INT64_MAX - 1, 1, &out) && out == INT64_MAX);
    ck_assert(!gsa_add(INT64_MAX, 1, &out) && !gsa_add(-1, 1, &out));
    ck_assert(gsa_mul(INT64_MAX, 1, &out) && out == INT64_MAX);
    ck_assert(gsa_mul(INT64_MAX, 0, &out) && out == 0);
    ck_assert(!gsa_mul(INT64_MAX / 2 + 1, 2, &out) && !gsa_mul(-1, 1, &out));
}
END_TEST

/* ---- sentences ----------------------------------------------------------------------------- */

START_TEST(a_failure_is_one_line)
{
    gsa_error error;
    ck_assert_int_eq(gsa_fail(&error, GSA_ERR_LIMIT, "a\tb\nc%cd %s", 7, "\xff\xc3\xa9"),
                     GSA_ERR_LIMIT);
    ck_assert_str_eq(error.text, "a b c?d ?\xc3\xa9");
    ck_assert_int_eq(error.status, GSA_ERR_LIMIT);
    ck_assert_int_eq(gsa_fail(NULL, GSA_ERR_IO, "nobody listens"), GSA_ERR_IO);
    gsa_fail(&error, GSA_ERR_IO, "again: %s", error.text);
    ck_assert_str_eq(error.text, "again: a b c?d ?\xc3\xa9");
    gsa_fail(&error, GSA_ERR_IO, "%s",
             "\xc2\x80\x7f\xc2\x9b"
             "1m\xc2\xa0\xc3\x9b\xc2");
    ck_assert_str_eq(error.text, "???1m\xc2\xa0\xc3\x9b?"); /* U+009B begins a sequence, too */
}
END_TEST

START_TEST(a_place_goes_in_front)
{
    gsa_error error;
    gsa_fail(&error, GSA_ERR_FORMAT, "bad value");
    ck_assert_int_eq(gsa_fail_at(&error, GSA_ERR_FORMAT, "%s:%d", "file.ini", 3), GSA_ERR_FORMAT);
    ck_assert_str_eq(error.text, "file.ini:3: bad value");
    ck_assert_int_eq(gsa_fail_at(NULL, GSA_ERR_FORMAT, "x"), GSA_ERR_FORMAT);
}
END_TEST

START_TEST(long_sentences_are_cut_between_characters)
{
    char text[4 * GSA_ERROR_SIZE];
    for (int width = 1; width <= 4; width++)
        for (int shift = 0; shift < 5; shift++) {
            static const char *const characters[] = { "x", "\xc3\xa9", "\xe2\x82\xac",
                                                      "\xf0\x9f\x98\x80" };
            gsa_error error;
            memset(text, '.', (size_t)shift), text[shift] = 0;
            for (int i = 0; i < GSA_ERROR_SIZE / width + 4; i++)
                strcat(text, characters[width - 1]);
            gsa_fail(&error, GSA_ERR_FORMAT, "%s", text);
            const size_t length = strlen(error.text);
            ck_assert_msg(length < GSA_ERROR_SIZE && length > GSA_ERROR_SIZE - 9, "length %zu",
                          length);
            ck_assert_int_eq(strncmp(error.text, text, GSA_ERROR_SIZE / 2 - 4), 0);
            ck_assert_ptr_nonnull(strstr(error.text + GSA_ERROR_SIZE / 2 - 9, "..."));
            ck_assert_int_eq(gsa_utf8_invalid(error.text, (int64_t)length), -1);
            ck_assert_ptr_null(strchr(error.text, '?'));
            gsa_fail_at(&error, GSA_ERR_FORMAT, "%s", text);
            ck_assert_int_eq(gsa_utf8_invalid(error.text, (int64_t)strlen(error.text)), -1);
            ck_assert_ptr_null(strchr(error.text, '?'));
        }
}
END_TEST

/* A path of the greatest length leaves the reason to be read. */
START_TEST(the_end_of_a_long_sentence_stays)
{
    char path[4096];
    gsa_error error;
    memset(path, 'p', sizeof path - 1), path[sizeof path - 1] = 0;
    gsa_fail(&error, GSA_ERR_IO, "'%s' cannot be opened: too long", path);
    ck_assert_int_eq(strncmp(error.text, "'ppp", 4), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "p...p"));
    ck_assert_ptr_nonnull(strstr(error.text, "p' cannot be opened: too long"));
    gsa_fail(&error, GSA_ERR_FORMAT, "bad value");
    gsa_fail_at(&error, GSA_ERR_FORMAT, "%s:%d", path, 7);
    ck_assert_ptr_nonnull(strstr(error.text, "p:7: bad value"));
}
END_TEST

START_TEST(every_status_has_a_name)
{
    for (int s = GSA_OK; s <= GSA_ERR_INTERRUPTED; s++)
        for (int t = GSA_OK; t < s; t++)
            ck_assert_str_ne(gsa_status_name((gsa_status)s), gsa_status_name((gsa_status)t));
    ck_assert_str_eq(gsa_status_name((gsa_status)99), "unknown");
}
END_TEST

/* ---- text ---------------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    const char *text;
    int64_t utf8, xml; /* the first bad byte */
} texts[] = {
    /*                    U   X  */
    { "",                -1, -1 },
    { "abc",             -1, -1 },
    { "a\tb\nc\rd",      -1, -1 },
    { "ab\x01",          -1,  2 },
    { "\x1f",            -1,  0 },
    { "\x7f\xc2\x80",    -1, -1 },
    { "a\xc3\xa9",       -1, -1 },
    { "a\xc3",            1,  1 }, /* cut */
    { "a\xe2\x82",        1,  1 },
    { "a\xf0\x9f\x98",    1,  1 },
    { "\x80",             0,  0 }, /* continuation alone */
    { "\xc0\x80",         0,  0 }, /* overlong */
    { "\xc1\xbf",         0,  0 },
    { "\xe0\x9f\xbf",     0,  0 },
    { "\xf0\x8f\xbf\xbf", 0,  0 },
    { "\xed\x9f\xbf",    -1, -1 }, /* U+D7FF */
    { "\xed\xa0\x80",     0,  0 }, /* surrogates */
    { "\xed\xbf\xbf",     0,  0 },
    { "\xee\x80\x80",    -1, -1 },
    { "x\xef\xbf\xbd",   -1, -1 }, /* U+FFFD */
    { "x\xef\xbe\xbf",   -1, -1 }, /* U+FFBF */
    { "x\xef\xbf\xbe",   -1,  1 }, /* U+FFFE */
    { "x\xef\xbf\xbf",   -1,  1 },
    { "\xf4\x8f\xbf\xbf",-1, -1 }, /* U+10FFFF */
    { "\xf4\x90\x80\x80", 0,  0 }, /* beyond */
    { "\xf5\x80\x80\x80", 0,  0 },
    { "\xfe",             0,  0 },
    { "\xd7\xa9 \xd8\xb9",-1, -1 } /* right to left */
};
/* clang-format on */

START_TEST(text_is_judged)
{
    const int64_t bytes = (int64_t)strlen(texts[_i].text);
    ck_assert_int_eq(gsa_utf8_invalid(texts[_i].text, bytes), texts[_i].utf8);
    ck_assert_int_eq(gsa_xml_invalid(texts[_i].text, bytes), texts[_i].xml);
}
END_TEST

static int encode(uint32_t c, char *out)
{
    const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    const int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = bytes - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[bytes] | c);
    return bytes;
}

START_TEST(every_character_is_valid_and_counted)
{
    int64_t valid = 0, wrong = 0;
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[4];
        const int bytes = encode(c, text), surrogate = c >= 0xd800 && c < 0xe000;
        wrong += gsa_utf8_invalid(text, bytes) != (surrogate ? 0 : -1);
        if (surrogate) continue;
        wrong += gsa_utf8_length(text) != bytes;
        for (int cut = 1; cut < bytes; cut++) wrong += gsa_utf8_invalid(text, cut) != 0;
        valid++;
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(valid, 0x110000 - 0x800);
}
END_TEST

/* Of all strings of 3 bytes, those are valid that are made of characters: 128^3 + 2 * 128 * 1920 +
 * 61440 of them. */
START_TEST(nothing_else_is_valid)
{
    int64_t valid = 0;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        const char text[3] = { (char)(i >> 16), (char)(i >> 8), (char)i };
        valid += gsa_utf8_invalid(text, 3) < 0;
    }
    ck_assert_int_eq(valid, 128 * 128 * 128 + 2 * 128 * 1920 + (0x10000 - 0x800 - 0x800));
}
END_TEST

/* ---- allocation faults --------------------------------------------------------------------- */

static gsa_status make_all(gsa_faults *faults, void *context)
{
    const gsa_toy *toy = context;
    const gsa_system *system = &faults->table;
    gsa_schema *schema = NULL;
    gsa_instance *instance = NULL;
    gsa_batch *batch = NULL;
    gsa_plan *plan = NULL;
    gsa_error error = { GSA_OK, "" };
    const gsa_example example = gsa_toy_example(40, 5, 2);
    gsa_status status = gsa_schema_create(system, &gsa_random_toy, toy, &schema, &error);
    if (status == GSA_OK)
        status = gsa_instance_create(system, schema, &gsa_random_toy, toy, &example, NULL, 1,
                                     &instance, &error);
    if (status == GSA_OK) status = gsa_batch_create(system, schema, &batch, &error);
    if (status == GSA_OK)
        status =
            gsa_batch_build(batch, (gsa_instance *[]){ instance, instance, instance }, 3, &error);
    for (int p = 0; status == GSA_OK && p < gsa_schema_phases(schema); p++) {
        gsa_edges edges;
        gsa_batch_edges(batch, p, NULL, &edges);
        status =
            gsa_plan_create(system, &edges, &(gsa_plan_options){ .hub_chunk = 2 }, &plan, &error);
        gsa_plan_release(system, plan);
    }
    if (status != GSA_OK)
        ck_assert_msg(error.text[0] && strstr(error.text, "out of memory"), "'%s'", error.text);
    if (status != GSA_OK && batch) {
        ck_assert_int_eq(gsa_batch_examples(batch),
                         gsa_batch_nodes(batch, 0) ? 3 : 0); /* whole or empty */
    }
    gsa_batch_release(batch);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
    return status;
}

START_TEST(no_memory_is_said_and_nothing_leaks)
{
    gsa_toy toy;
    gsa_toy_make(&toy, (uint64_t)_i);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, make_all, &toy), 30);
}
END_TEST

static gsa_status use_cache(gsa_faults *faults, void *context)
{
    const gsa_toy *toy = context;
    gsa_schema *schema = NULL;
    gsa_cache *cache = NULL;
    gsa_error error = { GSA_OK, "" };
    gsa_status status = gsa_schema_create(NULL, &gsa_random_toy, toy, &schema, &error);
    if (status == GSA_OK) status = gsa_cache_create(&faults->table, 1 << 20, &cache, &error);
    for (int i = 0; status == GSA_OK && i < 4; i++) {
        const gsa_example example = gsa_toy_example(i % 2 + 3, 0, 1);
        gsa_instance *instance = NULL;
        status =
            gsa_cache_get(cache, schema, &gsa_random_toy, toy, &example, NULL, &instance, &error);
        ck_assert_int_eq(status == GSA_OK, instance != NULL);
        gsa_instance_release(instance);
    }
    gsa_cache_release(cache);
    gsa_schema_release(schema);
    return status;
}

START_TEST(a_cache_without_memory_stays_whole)
{
    gsa_toy toy;
    gsa_toy_make(&toy, 5);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, use_cache, &toy), 10);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test memory[] = { GSA_TEST(sizes_that_overflow_are_refused),
                                       GSA_TEST(zero_bytes_are_one_byte),
                                       GSA_TEST(arithmetic_is_checked) };
    static const gsa_test sentences[] = { GSA_TEST(a_failure_is_one_line),
                                          GSA_TEST(a_place_goes_in_front),
                                          GSA_TEST(long_sentences_are_cut_between_characters),
                                          GSA_TEST(the_end_of_a_long_sentence_stays),
                                          GSA_TEST(every_status_has_a_name) };
    static const gsa_test text[] = { GSA_LOOP(text_is_judged, GSA_COUNT(texts)),
                                     GSA_TEST(every_character_is_valid_and_counted),
                                     GSA_TEST(nothing_else_is_valid) };
    static const gsa_test faults[] = { GSA_LOOP(no_memory_is_said_and_nothing_leaks, 12),
                                       GSA_TEST(a_cache_without_memory_stays_whole) };
    static const gsa_case cases[] = { GSA_CASE("memory", memory, 30),
                                      GSA_CASE("sentences", sentences, 30),
                                      GSA_CASE("text", text, 60), GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("system", cases, GSA_COUNT(cases), argc, argv);
}
