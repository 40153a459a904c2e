/* What is given bytes and their number reads none behind them: no zero is there, and the next page
 * is nobody's. */
#include <stdio.h>
#include <string.h>
#include "graph/inspect/graphml_size.h"
#include "graph/utf8.h"
#include "gsa/scratch.h"
#include "support/ends.h"
#include "support/suite.h"
#include "topologies/unpack.h"
#include "train/data/blank.h"
#include "train/data/csv.h"
#include "train/data/encoding.h"
#include "train/data/json.h"
#include "train/data/objects.h"
#include "train/data/pairs.h"
#include "train/data/shape.h"
#include "train/look/look_parts.h"
#include "train/score/answers.h"
#include "train/score/bleu.h"
#include "train/score/report.h"
#include "train/score/spans.h"
#include "train/settings/recipe.h"
#include "train/vocabulary/bpe.h"
#include "train/vocabulary/labels.h"
#include "train/vocabulary/symbols.h"
#include "train/vocabulary/units.h"

static gsa_system ends; /* what parsers allocate ends so, too */
static gsa_error error;

static int valid(gsa_slice s)
{
    return gsa_utf8_invalid(s.at, s.bytes) < 0 && !memchr(s.at, 0, (size_t)s.bytes);
}

/* ---- parsers of bytes that may be changed, and that are whatever comes --------------------- */

static void lines(char *at, int64_t bytes)
{
    gsa_lines l = gsa_lines_start("f", at, bytes);
    char *line;
    while (gsa_lines_next(&l, &line, &bytes)) gsa_lines_check(&l, line, bytes, &error);
}

static void xml(char *at, int64_t bytes)
{
    gsa_xml_invalid(at, bytes);
}

static void graphml(char *at, int64_t bytes)
{
    gsa_graphml_size size = { 0 };
    gsa_graphml_add(&size, at, bytes);
}

static void packing(char *at, int64_t bytes)
{
    gsa_packing_of(at, bytes);
}

static void json(char *at, int64_t bytes)
{
    json_decref(gsa_json_parse(at, bytes, 0, NULL));
}

static void csv(char *at, int64_t bytes)
{
    gsa_lines l = gsa_lines_start("f", at, bytes);
    gsa_slice part[GSA_COLUMNS];
    int64_t line;
    int count = 1;
    const char separator = gsa_csv_separator(&l);
    while (count && gsa_csv_next(&l, separator, part, &count, &line, &error) == GSA_OK) continue;
}

static void object(char *at, int64_t bytes)
{
    static const char *const names[] = { "label", "text" };
    gsa_object_keys keys;
    gsa_slice field[GSA_OBJECT_ROLES];
    ck_assert_int_eq(gsa_object_keys_read("", names, 2, &keys, &error), GSA_OK);
    gsa_object_read("f", 1, &keys, 0, at, bytes, field, &error);
}

static void slice(char *at, int64_t bytes)
{
    json_decref(gsa_json_slice((gsa_slice){ at, bytes }));
}

static void units(char *at, int64_t bytes)
{
    gsa_slice unit;
    for (int kind = GSA_TOKENS_WORDS; kind <= GSA_TOKENS_BYTES; kind++)
        for (int64_t i = 0, used = 1; i < bytes && used > 0; i += used)
            used = gsa_unit_next(kind, at + i, bytes - i, 1, &unit);
}

static void looks(char *at, int64_t bytes)
{
    gsa_look_is_recipe(at, bytes);
}

/* A block owns its bytes, and a zero follows: here the last byte is that zero. */
static void blocks(char *at, int64_t bytes)
{
    static const int32_t formats[] = { GSA_TEXT_TSV,  GSA_TEXT_FASTTEXT, GSA_TEXT_SST,
                                       GSA_TEXT_STSA, GSA_TEXT_CSV,      GSA_TEXT_JSON };
    for (int i = 0; i < 4 * GSA_COUNT(formats); i++) {
        const gsa_text_options options = { .format = formats[i / 4],
                                           .lower = i & 1,
                                           .subtrees = i & 1,
                                           .markup = i & 1,
                                           .phrase_min = 1,
                                           .encoding = i & 2 ? GSA_ENCODING_MIXED : 0,
                                           .tokens =
                                               i & 2 ? GSA_TOKENS_PUNCTUATED : GSA_TOKENS_CHARS };
        gsa_text text;
        gsa_pairs pairs;
        gsa_block block = { "f", gsa_ends_copy(at, bytes), bytes - 1, 0 };
        block.bytes[bytes - 1] = 0;
        if (gsa_text_block(&ends, &block, &options, &text, &error) == GSA_OK)
            gsa_text_release(&text);
        if (i / 4 > 0 && i / 4 < 4) continue; /* no formats of pairs */
        block.bytes = gsa_ends_copy(at, bytes), block.bytes[bytes - 1] = 0;
        if (gsa_pairs_block(&ends, &block, &options, "", &pairs, &error) == GSA_OK)
            gsa_pairs_release(&pairs);
    }
}

/* ---- of valid UTF-8 ------------------------------------------------------------------------ */

static void words(char *at, int64_t bytes)
{
    const gsa_slice word = { at, bytes };
    gsa_slice part[GSA_COLUMNS], tag[2] = { word, word };
    gsa_span span[2];
    int32_t length;
    if (!valid(word)) return;
    for (int64_t i = 0; i < bytes; i += length) gsa_blank_at(at + i, bytes - i, &length);
    gsa_columns_split(at, bytes, ' ', part);
    gsa_capitals_of(word), gsa_character_count(word);
    gsa_tag_of(word), gsa_tag_count(tag, 2);
    gsa_spans_lenient(tag, 2, span), gsa_spans_strict(GSA_SCHEME_BIOES, tag, 2, span);
    gsa_slice_compare(word, (gsa_slice){ "Ann", 3 });
    gsa_look_script(at, bytes), gsa_look_has_markup(at, bytes);
    gsa_tree_unescape(at, bytes, 1); /* in place */
}

static void digits(char *at, int64_t bytes)
{
    if (valid((gsa_slice){ at, bytes })) gsa_zero_digits(at, bytes);
}

static void scores(char *at, int64_t bytes)
{
    const gsa_slice text = { at, bytes };
    gsa_bleu_counts bleu;
    gsa_chrf_counts chrf;
    gsa_scorer scorer;
    char *copy;
    int64_t count;
    if (!valid(text)) return;
    if (gsa_bleu_tokens(&ends, text, 1, &copy, &count, &error) == GSA_OK) gsa_release(&ends, copy);
    if (gsa_lower_text(&ends, text, &copy, &count, &error) == GSA_OK) gsa_release(&ends, copy);
    gsa_bleu_count(&ends, text, &text, 1, 1, &bleu, &error);
    gsa_chrf_count(&ends, text, &text, 1, 0, &chrf, &error);
    for (int kind = 0; kind < 2; kind++) {
        ck_assert_int_eq(gsa_scorer_create(&ends, kind, bytes, &scorer, &error), GSA_OK);
        gsa_answer_against(&scorer, text, text);
        gsa_scorer_release(&scorer);
    }
}

static void tables(char *at, int64_t bytes)
{
    const gsa_slice word = { at, bytes };
    gsa_vocabulary *v;
    gsa_symbols symbols = { .system = &ends };
    int32_t id[64];
    if (!valid(word)) return;
    ck_assert_int_eq(gsa_vocabulary_create(&ends, &v, &error), GSA_OK);
    gsa_characters_add(v, word, 1, &error);
    gsa_vocabulary_add(v, word, 1, &error);
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, &error), GSA_OK);
    gsa_vocabulary_find(v, word);
    gsa_characters_find(v, word, id, 8);
    gsa_symbols_add(&symbols, word, word), gsa_symbols_find(&symbols, word);
    gsa_symbols_release(&symbols);
    gsa_vocabulary_release(v);
}

/* ---- files that test_readers.c has not ----------------------------------------------------- */

static void files(char *at, int64_t bytes)
{
    gsa_scratch scratch;
    gsa_vocabulary *v;
    gsa_labels labels;
    gsa_bpe *bpe;
    gsa_recipe recipe;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "f");
    gsa_put_file(path, at, bytes);
    if (gsa_vocabulary_read(&ends, path, &v, &error) == GSA_OK) gsa_vocabulary_release(v);
    if (gsa_labels_read(&ends, path, &labels, &error) == GSA_OK) gsa_labels_release(&labels);
    if (gsa_bpe_read(&ends, path, &bpe, &error) == GSA_OK) gsa_bpe_release(bpe);
    if (gsa_recipe_read(&ends, path, NULL, 0, &recipe, &error) == GSA_OK)
        gsa_recipe_release(&recipe);
    gsa_scratch_close(&scratch);
}

static const struct {
    const char *name;
    void (*parse)(char *at, int64_t bytes);
} parsers[] = {
    { "lines", lines },   { "xml", xml },       { "graphml", graphml }, { "packing", packing },
    { "json", json },     { "csv", csv },       { "object", object },   { "slice", slice },
    { "units", units },   { "looks", looks },   { "blocks", blocks },   { "words", words },
    { "digits", digits }, { "scores", scores }, { "tables", tables },   { "files", files },
};

static const char *const texts[] = {
    "x\ta <br />b\ny\tC \xc4\xb0 -LRB- 1,5\r\nz\t\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80!",
    "\xef\xbb\xbfx,\"a \"\"b\"\"\nc\",\"d\"\ny;5,\"e",
    "{\"label\": \"x\", \"text\": \"a\\u00e4\\n\\\"\", \"n\": [1, -2.5e-3, true, null]}",
    "[[[{\"a\": [\"b\\\\\", \"c]\"]}]]] x",
    "(3 (2 It) (4 (2 's) (4 Go\\/od-lrb-)))\n(3 (2 It",
    "__label__a b c\n__label__",
    "4 a b &quot; U.S.A. -- 'n' don't\n0",
    "<?xml version='1.0' encoding='UTF-8'?><graphml><key id='a'><default>1</default></key>",
    "<?xml encoding=\"UTF-16",
    "# a recipe\n[task]\nname = tagging\n[encoder.1]\ntopology = star\nwidth = 3",
    "the\t12\nof\t7\ncaf\xc3\xa9\t1\n",
    "#version: 0.2\nt h\nth e</w>\nn</w> x\n",
    "B-PER\nI-PER\nE-LOC\nS-\nO\nB\n-\n",
    "\x1f\x8b\x08\x00 \xfd\x37zXZ \x28\xb5\x2f\xfd PK\x03\x04",
    "caf\xe9 \x93q\x94 \xc3\n\xe4\xbd\n\xf0\x9f\x98\n\xed\xa0\x80",
    "\xe2\x80\xa9 \xce\xa3\xce\x91\xce\xa3 \xd9\xa3 \xc8\xba\xc8\xba A\xcc\x88 \xe3\x80\x80",
};

/* Each part of a text from its begin, and each to its end. */
START_TEST(nothing_behind_the_bytes_is_touched)
{
    ends = gsa_ends_system();
    for (int t = 0; t < GSA_COUNT(texts); t++) {
        const int64_t bytes = (int64_t)strlen(texts[t]);
        for (int64_t cut = 1; cut < 2 * bytes; cut++) {
            const int64_t first = cut > bytes ? cut - bytes : 0,
                          count = cut > bytes ? bytes - first : cut;
            char *at = gsa_ends_copy(texts[t] + first, count);
            parsers[_i].parse(at, count);
            gsa_release(&ends, at);
        }
    }
}
END_TEST

/* ---- how deep JSON is ---------------------------------------------------------------------- */

#define EIGHT(text) text text text text text text text text
#define OPEN        EIGHT("[[[[[[[[")
#define SHUT        EIGHT("]]]]]]]]")
static const struct {
    const char *text;
    int deep, taken;
} values[] = {
    { OPEN SHUT, 0, 1 },
    { "{\"a\": [" OPEN SHUT "]}", 1, 0 },
    { " \t\r\n[" OPEN, 1, 0 },
    { "\"[\\\"" OPEN "\"", 0, 1 }, /* a string */
    { "[\"[\\\"" OPEN "\", 1]", 0, 1 },
    { "[1] [" OPEN, 0, 1 }, /* of the first value alone */
    { "{} [" OPEN, 0, 1 },
    { "17 [" OPEN, 0, 1 },
    { "x[" OPEN, 0, 0 },
    { "][" OPEN, 0, 0 },
    { "[" SHUT OPEN "[", 0, 1 },
    { "\"" OPEN "[", 0, 0 },
    { OPEN, 0, 0 },
    { "", 0, 0 },
};

START_TEST(json_is_nested_64_deep_at_most)
{
    const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
    for (int i = 0; i < GSA_COUNT(values); i++) {
        const int64_t bytes = (int64_t)strlen(values[i].text);
        json_error_t why = { 0 };
        json_t *value = gsa_json_parse(values[i].text, bytes, flags, &why);
        ck_assert_msg(!value == !values[i].taken, "value %d: %s", i, why.text);
        ck_assert_int_eq(strcmp(why.text, "it is nested more than 64 deep") == 0, values[i].deep);
        json_decref(value);
        value = gsa_json_parse(values[i].text, bytes, flags, NULL);
        ck_assert(!value == !values[i].taken);
        json_decref(value);
    }
}
END_TEST

/* Two bytes are one, which takes a hundred times as many. */
START_TEST(json_has_a_million_lists_at_most)
{
    for (int more = 0; more < 2; more++) {
        const int64_t objects = GSA_JSON_LISTS - 1 + more, bytes = 3 * objects + 1;
        json_error_t why = { 0 };
        char *text = malloc((size_t)bytes);
        ck_assert_ptr_nonnull(text);
        for (int64_t i = 0; i < objects; i++) memcpy(text + 3 * i, i ? ",{}" : "[{}", 3);
        text[bytes - 1] = ']';
        ck_assert_int_eq(gsa_json_lists(text, bytes), objects + 1);
        json_t *value = gsa_json_parse(text, bytes, 0, &why);
        ck_assert_int_eq(value != NULL, !more);
        ck_assert(!more || strcmp(why.text, "it has more than 1048576 lists and objects") == 0);
        json_decref(value);
        if (more) ck_assert_ptr_null(gsa_json_parse(text, bytes, 0, NULL));
        free(text);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bytes[] = { GSA_LOOP(nothing_behind_the_bytes_is_touched,
                                               GSA_COUNT(parsers)) };
    static const gsa_test deep[] = { GSA_TEST(json_is_nested_64_deep_at_most),
                                     GSA_TEST(json_has_a_million_lists_at_most) };
    static const gsa_case cases[] = { GSA_CASE("bytes", bytes, 60), GSA_CASE("json", deep, 60) };
    return gsa_run_suite("ends", cases, GSA_COUNT(cases), argc, argv);
}
