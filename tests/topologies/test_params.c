/* Parameters: text to value and back, ranges, names, whatever the locale. */
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe.h"
#include "support/compare.h"
#include "support/suite.h"
#include "topologies/param.h"
#include "topologies/pattern.h"
#include "topologies/words.h"

static gsa_registry *probe_registry(void)
{
    gsa_registry *registry;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_registry_create(NULL, &registry, &error) == GSA_OK, "%s", error.text);
    ck_assert_msg(gsa_registry_add(registry, &probe, &error) == GSA_OK, "%s", error.text);
    return registry;
}

static const struct {
    int param;
    const char *key, *text, *canonical; /* canonical NULL: refused */
    const char *expected;
} values[] = {
    { PROBE_INT, "int", "0", "0", NULL },
    { PROBE_INT, "int", "-3", "-3", NULL },
    { PROBE_INT, "int", "+9", "9", NULL },
    { PROBE_INT, "int", "007", "7", NULL },
    { PROBE_INT, "int", "10", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "-4", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "+", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "1.0", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "1e0", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "0x1", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", " 1", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "1 ", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "--1", NULL, "an integer from -3 to 9" },
    { PROBE_INT, "int", "9223372036854775808", NULL, "'9223372036854775808', expected an integer" },
    { PROBE_INT, "int", "4x", NULL, "parameter 'int' is '4x', expected" },
    { PROBE_WIDE, "wide", "9007199254740992", "9007199254740992", NULL },
    { PROBE_WIDE, "wide", "-9007199254740991", "-9007199254740991", NULL },
    { PROBE_WIDE, "wide", "99999999999999999999", NULL,
      "an integer from -9007199254740992 to 9007199254740992" },
    { PROBE_REAL, "real", "0.1", "0.1", NULL },
    { PROBE_REAL, "real", "-1", "-1", NULL },
    { PROBE_REAL, "real", ".5", "0.5", NULL },
    { PROBE_REAL, "real", "5.", "5", NULL },
    { PROBE_REAL, "real", "1e300", "1e+300", NULL },
    { PROBE_REAL, "real", "2.5e-3", "0.0025", NULL },
    { PROBE_REAL, "real", "0.30000000000000004", "0.30000000000000004", NULL },
    { PROBE_REAL, "real", "1e301", NULL, "a number from -1 to 1e+300" },
    { PROBE_REAL, "real", "1e999", NULL, "a number from -1 to 1e+300" },
    { PROBE_REAL, "real", "-1.0000001", NULL, "a number from -1 to 1e+300" },
    { PROBE_REAL, "real", "0,5", NULL, "'0,5', expected a number" },
    { PROBE_REAL, "real", "nan", NULL, "a number" },
    { PROBE_REAL, "real", "inf", NULL, "a number" },
    { PROBE_REAL, "real", "0x1p-1", NULL, "a number" },
    { PROBE_REAL, "real", "1e", NULL, "a number" },
    { PROBE_REAL, "real", ".", NULL, "a number" },
    { PROBE_REAL, "real", "", NULL, "a number" },
    { PROBE_REAL, "real", "1 ", NULL, "a number" },
    { PROBE_REAL, "real", "1.2.3", NULL, "a number" },
    { PROBE_BOOL, "bool", "0", "0", NULL },
    { PROBE_BOOL, "bool", "1", "1", NULL },
    { PROBE_BOOL, "bool", "2", NULL, "0 or 1" },
    { PROBE_BOOL, "bool", "", NULL, "0 or 1" },
    { PROBE_BOOL, "bool", "01", NULL, "0 or 1" },
    { PROBE_BOOL, "bool", "yes", NULL, "'yes', expected 0 or 1" },
    { PROBE_CHOICE, "choice", "clip", "clip", NULL },
    { PROBE_CHOICE, "choice", "circular", "circular", NULL },
    { PROBE_CHOICE, "choice", "clamp", "clamp", NULL },
    { PROBE_CHOICE, "choice", "", NULL, "one of clip,circular,clamp" },
    { PROBE_CHOICE, "choice", "cli", NULL, "'cli', expected one of clip,circular,clamp" },
    { PROBE_CHOICE, "choice", "clip,circular", NULL, "one of clip,circular,clamp" },
    { PROBE_CHOICE, "choice", "Clip", NULL, "one of clip,circular,clamp" },
    { PROBE_PATH, "path", "./a b:c,d", "./a b:c,d", NULL },
    { PROBE_PATH, "path", "", "", NULL },
    { PROBE_PATH, "path", "\xc3\xa4", "\xc3\xa4", NULL },
    { PROBE_PATH, "path", "a\xff", NULL, "'a\\xff', expected a path in UTF-8" },
    { PROBE_PATH, "path", "\xc3", NULL, "'\\xc3', expected a path in UTF-8" },
    { PROBE_INT, "int", "a\nb\x1b[31m", NULL, "'a\\x0ab\\x1b[31m'" },
};

/* The whole table in one registry, under the locale of the process. */
static void check_values(void)
{
    gsa_registry *registry = probe_registry();
    for (int v = 0; v < GSA_COUNT(values); v++) {
        gsa_pattern *pattern;
        gsa_error error = { 0 };
        char text[64];
        const gsa_setting setting = { values[v].key, values[v].text };
        const gsa_status status =
            gsa_pattern_create(registry, "probe", &setting, 1, &pattern, &error);
        if (values[v].canonical) {
            ck_assert_msg(status == GSA_OK, "%s=%s: %s", setting.key, setting.value, error.text);
            ck_assert_int_eq(
                gsa_pattern_value(pattern, (uint32_t)values[v].param, text, sizeof text),
                strlen(text));
            ck_assert_str_eq(text, values[v].canonical);
            gsa_pattern_release(pattern);
        } else {
            ck_assert_msg(status == GSA_ERR_ARGUMENT, "%s=%s was accepted", setting.key,
                          setting.value);
            ck_assert_msg(strstr(error.text, "topology 'probe': parameter '") &&
                              strstr(error.text, values[v].expected),
                          "%s=%s: %s", setting.key, setting.value, error.text);
            ck_assert_ptr_null(pattern);
        }
    }
    gsa_registry_release(registry);
}

START_TEST(every_type_has_its_form_and_range)
{
    check_values();
}
END_TEST

static int comma_locale(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
    for (int i = 0; i < GSA_COUNT(names); i++)
        if (setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0) return 1;
    fprintf(stderr, "skipped: no locale with a decimal comma is installed\n");
    return 0;
}

START_TEST(the_locale_changes_nothing)
{
    if (!comma_locale()) return;
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    ck_assert_str_eq(half, "0,5"); /* it does bite */
    check_values();
    ck_assert_str_eq(localeconv()->decimal_point, ",");
}
END_TEST

/* Any number that is written is read back as the same bits, under both locales. */
START_TEST(numbers_round_trip)
{
    const gsa_param real = { "x", GSA_REAL, 0, -DBL_MAX, DBL_MAX, NULL, NULL, "" };
    const gsa_param integer = { "i", GSA_INT, 0, -0x1p53, 0x1p53, NULL, NULL, "" };
    gsa_dice dice = { 7 };
    if (_i == 1 && !comma_locale()) return;
    for (int n = 0; n < 20000; n++) {
        char text[64];
        gsa_value value, back;
        const uint64_t bits = gsa_roll(&dice);
        memcpy(&value, &bits, sizeof bits);
        if (!(value.x - value.x == 0)) continue;
        ck_assert_int_lt(gsa_param_format(&real, value, text, sizeof text), 26);
        ck_assert_msg(gsa_param_parse(&real, text, &back, NULL) == GSA_OK && back.x == value.x,
                      "%a: %s", value.x, text);
        value.i = gsa_between(&dice, -(INT64_C(1) << 53), INT64_C(1) << 53);
        gsa_param_format(&integer, value, text, sizeof text);
        ck_assert(gsa_param_parse(&integer, text, &back, NULL) == GSA_OK && back.i == value.i);
        ck_assert(gsa_param_equal(&integer, value, back));
    }
}
END_TEST

static const struct {
    const char *id;
    gsa_setting settings[3];
    int count;
    const char *fragments[3];
} wrong[] = {
    { "strar",
      { { NULL, NULL } },
      0,
      { "no topology is named 'strar'", "known: bigbird, bpt, ", "the nearest is 'star'" } },
    { "widnow", { { NULL, NULL } }, 0, { "the nearest is 'window'", "'widnow'", "known: " } },
    { "", { { NULL, NULL } }, 0, { "no topology is named ''", "known: ", "window" } },
    { "mine_own",
      { { NULL, NULL } },
      0,
      { "'mine_own'", "known: ", "; that of a plugin when it is loaded (--plugin ./FILE.so)" } },
    { "STAR", { { NULL, NULL } }, 0, { "'STAR'", "known: ", "window" } },
    { NULL, { { NULL, NULL } }, 0, { "(nothing)", "known: ", "window" } },
    { "star",
      { { "radail", "1" } },
      1,
      { "'star' has no parameter 'radail'", "known: radial, ring, cyclic",
        "the nearest is 'radial'" } },
    { "star",
      { { "ring", "1" }, { "xyzzy", "1" } },
      2,
      { "no parameter 'xyzzy'", "known: radial, ring, cyclic", "" } },
    { "star", { { "share", "1" } }, 1, { "no parameter 'share'", "known: ", "" } },
    { "star", { { NULL, "1" } }, 1, { "no parameter (nothing)", "known: ", "" } },
    { "star",
      { { "ring", "1" }, { "cyclic", "0" }, { "ring", "0" } },
      3,
      { "'ring' is given twice", "as '1' and as '0'", "'star'" } },
    { "star",
      { { "ring", "on" } },
      1,
      { "topology 'star': parameter 'ring' is 'on'", "expected 0 or 1", "" } },
    { "star", { { "ring", NULL } }, 1, { "parameter 'ring' is ''", "expected 0 or 1", "" } },
    { "window", { { "width", "0" } }, 1, { "'width' is '0'", "an integer from 1 to 1048575", "" } },
    { "window",
      { { "width", "4" } },
      1,
      { "topology 'window': width is 4, expected an odd number", "", "" } },
    { "full", { { "clip", "-1" } }, 1, { "'clip' is '-1'", "an integer from 0 to 1048576", "" } },
};

START_TEST(names_are_known_once_and_the_nearest_is_shown)
{
    gsa_registry *registry = probe_registry();
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_pattern_create(registry, wrong[_i].id, wrong[_i].settings, wrong[_i].count,
                                        &pattern, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_int_eq(error.status, GSA_ERR_ARGUMENT);
    for (int f = 0; f < 3; f++)
        ck_assert_msg(strstr(error.text, wrong[_i].fragments[f]) != NULL, "%s", error.text);
    ck_assert_ptr_null(pattern);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(names_have_one_form)
{
    static const struct {
        const char *name;
        int ok;
    } forms[] = { { "a", 1 },  { "a_1", 1 },      { "z9__", 1 }, { "", 0 },    { "A", 0 },
                  { "1a", 0 }, { "_a", 0 },       { "a-b", 0 },  { "a b", 0 }, { "aB", 0 },
                  { "a.", 0 }, { "\xc3\xa4", 0 }, { NULL, 0 } };
    char longest[GSA_WORD_LIMIT + 2];
    for (int i = 0; i < GSA_COUNT(forms); i++)
        ck_assert_msg(gsa_word_ok(forms[i].name) == forms[i].ok, "%s", forms[i].name);
    memset(longest, 'a', sizeof longest);
    longest[GSA_WORD_LIMIT + 1] = 0;
    ck_assert_int_eq(gsa_word_ok(longest), 0);
    ck_assert_int_eq(gsa_word_ok(longest + 1), 1);
}
END_TEST

START_TEST(distance_counts_edits)
{
    static const struct {
        const char *a, *b;
        int distance;
    } pairs[] = { { "", "", 0 },
                  { "a", "", 1 },
                  { "", "ab", 2 },
                  { "ring", "ring", 0 },
                  { "ring", "rnig", 1 },
                  { "ring", "rings", 1 },
                  { "kitten", "sitting", 3 },
                  { "abcd", "badc", 2 },
                  { "star", "full", 4 } };
    char longer[65];
    memset(longer, 'a', 64);
    longer[64] = 0;
    for (int i = 0; i < GSA_COUNT(pairs); i++) {
        ck_assert_int_eq(gsa_word_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        ck_assert_int_eq(gsa_word_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
    ck_assert_int_gt(gsa_word_distance(longer, "a"), 64);
    ck_assert_int_eq(gsa_word_distance(longer + 1, longer + 2), 1);
}
END_TEST

static const char *number_name(const void *context, int index)
{
    (void)index;
    return context;
}

START_TEST(lists_and_shown_texts_are_cut_safely)
{
    char list[40], shown[GSA_SHOWN], text[300];
    gsa_word_list(list, sizeof list, number_name, "a_rather_long_name", 100, "a_rather_long_nam");
    ck_assert_int_eq(strlen(list), sizeof list - 1);
    gsa_word_list(list, sizeof list, number_name, NULL, 0, "x");
    ck_assert_str_eq(list, "known: none");
    for (int fill = 0; fill < 4; fill++) {
        static const char *const pieces[] = { "a", "\xf0\x9f\x98\x80", "\xff", "\x01" };
        text[0] = 0;
        for (int i = 0; i < (fill == 0 ? 200 : 60); i++) strcat(text, pieces[fill]);
        gsa_word_show(text, shown);
        ck_assert_int_lt(strlen(shown), GSA_SHOWN);
        ck_assert_str_eq(shown + strlen(shown) - 4, "...'");
    }
    ck_assert_str_eq(gsa_word_show("a\x7f\x1f ", shown), "'a\\x7f\\x1f '");
    ck_assert_str_eq(gsa_word_show("a\xe2\x82", shown), "'a\\xe2\\x82'"); /* cut in a character */
    ck_assert_str_eq(gsa_word_show("\xc2\x9b"
                                   "1m\xc2\xa0",
                                   shown),
                     "'\\xc2\\x9b1m\xc2\xa0'");
}
END_TEST

static const gsa_test value_tests[] = { GSA_TEST(every_type_has_its_form_and_range),
                                        GSA_LOOP(numbers_round_trip, 2) };
static const gsa_test locale_tests[] = { GSA_TEST(the_locale_changes_nothing) };
static const gsa_test name_tests[] = {
    GSA_LOOP(names_are_known_once_and_the_nearest_is_shown, GSA_COUNT(wrong)),
    GSA_TEST(names_have_one_form), GSA_TEST(distance_counts_edits),
    GSA_TEST(lists_and_shown_texts_are_cut_safely)
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("values", value_tests, 60),
                                      GSA_CASE("locale", locale_tests, 60),
                                      GSA_CASE("names", name_tests, 30) };
    return gsa_run_suite("params", cases, GSA_COUNT(cases), argc, argv);
}
