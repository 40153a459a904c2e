/* Capitals, digits, characters. */
#include <string.h>
#include "support/suite.h"
#include "train/data/shape.h"

static gsa_slice slice(const char *text)
{
    return (gsa_slice){ text, (int64_t)strlen(text) };
}

static const struct {
    const char *word;
    int32_t capitals;
} capitals[] = {
    { "", GSA_CAPITALS_NO_LETTER },
    { "...", GSA_CAPITALS_NO_LETTER },
    { "\xe4\xba\xba", GSA_CAPITALS_NO_LETTER }, /* a letter without case */
    { "\xef\xbc\x95", GSA_CAPITALS_DIGIT },     /* fullwidth five */
    { "1996-08-30", GSA_CAPITALS_DIGIT },
    { "$5", GSA_CAPITALS_DIGIT },
    { "\xc2\xbd", GSA_CAPITALS_NO_LETTER }, /* one half is a number, not a decimal digit */
    { "said", GSA_CAPITALS_LOWER },
    { "1st", GSA_CAPITALS_LOWER },
    { "\xc3\xa9t\xc3\xa9", GSA_CAPITALS_LOWER },
    { "\xc3\x9f", GSA_CAPITALS_LOWER }, /* sharp s */
    { "London", GSA_CAPITALS_FIRST },
    { "\xc3\x89tat", GSA_CAPITALS_FIRST },
    { "'Twas", GSA_CAPITALS_FIRST },
    { "I", GSA_CAPITALS_FIRST },
    { "A.", GSA_CAPITALS_FIRST },
    { "\xc7\x85"
      "ep",
      GSA_CAPITALS_FIRST }, /* U+01C5: title case */
    { "EU", GSA_CAPITALS_ALL },
    { "U.N.", GSA_CAPITALS_ALL },
    { "AT&T3", GSA_CAPITALS_ALL },
    { "\xd0\xa1\xd0\xa1\xd0\xa1\xd0\xa0", GSA_CAPITALS_ALL }, /* Cyrillic */
    { "iPhone", GSA_CAPITALS_MIXED },
    { "McDonald", GSA_CAPITALS_MIXED },
    { "aB", GSA_CAPITALS_MIXED },
    { "WTo", GSA_CAPITALS_MIXED },
};

START_TEST(capitals_have_classes)
{
    ck_assert_msg(gsa_capitals_of(slice(capitals[_i].word)) == capitals[_i].capitals,
                  "%s: class %d, not %d", capitals[_i].word,
                  (int)gsa_capitals_of(slice(capitals[_i].word)), (int)capitals[_i].capitals);
}
END_TEST

static const struct {
    const char *word, *zeroed;
} digits[] = {
    { "", "" },
    { "no digit", "no digit" },
    { "1996-08-30", "0000-00-00" },
    { "a1\xc3\xa9"
      "2",
      "a0\xc3\xa9"
      "0" },
    { "\xef\xbc\x95\xef\xbc\x99x", "00x" }, /* fullwidth */
    { "\xd9\xa3", "0" },                    /* Arabic-Indic three */
    { "x\xf0\x9d\x9f\x98y", "x0y" },        /* mathematical double-struck zero */
    { "\xc2\xb2\xe2\x85\xa7",
      "\xc2\xb2\xe2\x85\xa7" }, /* superscript two, Roman eight: no decimal digits */
};

START_TEST(digits_become_zero)
{
    char word[32];
    const int64_t bytes = (int64_t)strlen(strcpy(word, digits[_i].word)),
                  left = gsa_zero_digits(word, bytes);
    ck_assert_int_eq(left, (int64_t)strlen(digits[_i].zeroed));
    ck_assert_int_eq(memcmp(word, digits[_i].zeroed, (size_t)left), 0);
}
END_TEST

START_TEST(characters_have_ids)
{
    gsa_vocabulary *v;
    int32_t id[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &v, NULL), GSA_OK);
    ck_assert_int_eq(gsa_characters_add(v, slice("aba\xe4\xba\xba"), 2, NULL), GSA_OK);
    ck_assert_int_eq(gsa_characters_add(v, slice(""), 5, NULL), GSA_OK);
    ck_assert_int_eq(gsa_characters_add(v, slice("b\xf0\x9f\x98\x80"), 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 2, 0, NULL),
                     GSA_OK); /* a 4, b 3, U+4EBA 2; the smiling face, once, is rare */
    ck_assert_int_eq(gsa_vocabulary_size(v), 5);
    ck_assert_int_eq(gsa_characters_find(v,
                                         slice("b\xe4\xba\xba\xf0\x9f\x98\x80"
                                               "a"),
                                         id, 8),
                     4);
    ck_assert(id[0] == 3 && id[1] == 4 && id[2] == GSA_WORD_UNKNOWN && id[3] == 2 && id[4] == 9);
    ck_assert_int_eq(gsa_characters_find(v, slice("aaaa"), id, 2), 2);
    ck_assert(id[2] == GSA_WORD_UNKNOWN);
    ck_assert_int_eq(gsa_characters_find(v, slice(""), id, 8), 0);
    ck_assert_int_eq(gsa_character_count(slice("b\xe4\xba\xba\xf0\x9f\x98\x80"
                                               "a")),
                     4);
    ck_assert_int_eq(gsa_character_count(slice("")), 0);
    gsa_vocabulary_release(v);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test shapes[] = { GSA_LOOP(capitals_have_classes, GSA_COUNT(capitals)),
                                       GSA_LOOP(digits_become_zero, GSA_COUNT(digits)) };
    static const gsa_test characters[] = { GSA_TEST(characters_have_ids) };
    static const gsa_case cases[] = { GSA_CASE("words", shapes, 10),
                                      GSA_CASE("characters", characters, 10) };
    return gsa_run_suite("shape", cases, GSA_COUNT(cases), argc, argv);
}
