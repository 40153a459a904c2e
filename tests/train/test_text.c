/* Readers: four formats of labelled text, trees, word vectors, labels, baselines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/utf8.h"
#include "gsa/scratch.h"

#include "support/suite.h"
#include "train/score/baseline.h"
#include "train/settings/keys.h"
#include "train/vocabulary/labels.h"
#include "train/vocabulary/vectors.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_text text;
    gsa_vectors vectors;
} fixture;

static gsa_status read_text(fixture *f, const char *bytes, int64_t count, gsa_text_options options)
{
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "t.txt");
    gsa_put_file(path, bytes, count);
    if (options.phrase_min == 0) options.phrase_min = 1;
    return gsa_text_read(gsa_system_default(), path, &options, &f->text, &f->error);
}

static void done(fixture *f)
{
    gsa_text_release(&f->text);
    gsa_vectors_release(&f->vectors);
    gsa_scratch_close(&f->scratch);
}

/* All examples as "label:token token|label:...". */
static void show(const gsa_text *text, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int64_t e = 0; e < text->examples; e++) {
        used += (size_t)snprintf(out + used, size - used, "%s%.*s:", e ? "|" : "",
                                 (int)text->label[e].bytes, text->label[e].at);
        for (int64_t i = text->offset[e]; i < text->offset[e + 1]; i++)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%.*s", i > text->offset[e] ? " " : "",
                                 (int)text->token[i].bytes, text->token[i].at);
    }
}

#define TEN(text) text text text text text text text text text text
#define ROOTS     TEN("\xc8\xba\xc8\xba\xc8\xba\xc8\xba")
#define LOWERED   TEN("\xe2\xb1\xa5\xe2\xb1\xa5\xe2\xb1\xa5\xe2\xb1\xa5")
#define TREE      "(3 (2 It) (4 (2 's) (4 Good)))\n"
static const struct {
    const char *bytes, *expected;
    int format;
    gsa_text_options options;
} good[] = {
    { "pos\ta b\nneg\tc\n", "pos:a b|neg:c", GSA_TEXT_TSV, { 0 } },
    { "pos\ta b\r\nneg\tc", "pos:a b|neg:c", GSA_TEXT_TSV, { 0 } },
    { "label\ttext\npos\t  a   b \n", "pos:a b", GSA_TEXT_TSV, { .header = 1 } },
    { "\xef\xbb\xbfpos\ta\n", "pos:a", GSA_TEXT_TSV, { 0 } },
    { "__label__x a b\n__label__y  c\n", "x:a b|y:c", GSA_TEXT_FASTTEXT, { 0 } },
    { "4 a b\n0 c -LRB- d -rrb-\n", "4:a b|0:c ( d )", GSA_TEXT_STSA, { 0 } },
    { TREE, "3:It 's Good", GSA_TEXT_SST, { 0 } },
    { TREE, "2:It|2:'s|4:Good|4:'s Good|3:It 's Good", GSA_TEXT_SST, { .subtrees = 1 } },
    { TREE, "4:'s Good|3:It 's Good", GSA_TEXT_SST, { .subtrees = 1, .phrase_min = 2 } },
    { "(1 -LRB-)\n", "1:(", GSA_TEXT_SST, { 0 } },
    { "(1 (0 co\\/op) (2 a\\*b))\n", "1:co/op a*b", GSA_TEXT_SST, { 0 } },
    { "(1 (0 ()) x)\n", NULL, 0, { 0 } },
    { "x\tABC \xc3\x84\xc3\x96 \xc4\xb0\n",
      "x:abc \xc3\xa4\xc3\xb6 i",
      GSA_TEXT_TSV,
      { .lower = 1 } },
    { "x\t\xc8\xba\xc8\xba q\n",
      "x:\xe2\xb1\xa5\xe2\xb1\xa5 q",
      GSA_TEXT_TSV,
      { .lower = 1 } }, /* grows when lowered */
    { "x\tab \xe4\xbd\xa0\n", "x:a b \xe4\xbd\xa0", GSA_TEXT_TSV, { .tokens = GSA_TOKENS_CHARS } },
    { "x\ta\xc2\xa0"
      "b\xe3\x80\x80"
      "c\n",
      "x:a b c",
      GSA_TEXT_TSV,
      { 0 } }, /* Unicode blanks */
    { "x\ta b c d\n", "x:a b", GSA_TEXT_TSV, { .max_length = 2 } },
    { "x\t" ROOTS "A q\n",
      "x:" LOWERED "a q",
      GSA_TEXT_TSV,
      { .lower = 1 } }, /* more than what is near */
    { "{a b\n", "{a:b", GSA_TEXT_STSA, { 0 } },
    { "(a b\n", "(a:b", GSA_TEXT_STSA, { 0 } },
    { "(a\tb)\n", "(a:b)", GSA_TEXT_TSV, { 0 } },
    { "x\t-LRB- a\\/b\n", "x:( a\\/b", GSA_TEXT_TSV, { .escapes = GSA_ESCAPES_BRACKETS } },
    { "x\t-LRB-\n", "x:-LRB-", GSA_TEXT_TSV, { .escapes = GSA_ESCAPES_NONE } },
    { "a b\n", ":a b", GSA_TEXT_STSA, { .unlabelled = 1, .format = GSA_TEXT_STSA } },
    /* csv: quotes, separators and line ends in them, a quote in a plain field, blank lines, ';' */
    { "x,a b\r\ny,\"c, \"\"d\"\"\ne\"\r\n\r\nz,5\" f",
      "x:a b|y:c, \"d\" e|z:5\" f",
      GSA_TEXT_CSV,
      { .format = GSA_TEXT_CSV } },
    { "\xef\xbb\xbftext;\"la;bel\"\n\"a;b, c\";x\n",
      "x:a;b, c",
      GSA_TEXT_CSV,
      { .format = GSA_TEXT_CSV, .header = 1, .columns = "text,label" } },
    { "x,\"\"\"\"\n", "x:\"", GSA_TEXT_CSV, { .format = GSA_TEXT_CSV } },
    /* objects */
    { "{\"label\": \"x\", \"text\": \"a\\tb\", \"id\": [1]}\n", "x:a b", GSA_TEXT_JSON, { 0 } },
    { "{\"b\": \"a c\", \"l\": -3}\n{\"l\":true,\"b\":\"d\"}\n",
      "-3:a c|true:d",
      GSA_TEXT_JSON,
      { .format = GSA_TEXT_JSON, .columns = "label=l,text=b" } },
    { "a b\n",
      ":a b",
      GSA_TEXT_TSV,
      { .columns = "label=l,text=b", .unlabelled = 1, .format = GSA_TEXT_TSV } },
    { "a b\nc\n", ":a b|:c", GSA_TEXT_TSV, { .unlabelled = 1, .format = GSA_TEXT_TSV } },
    { "{\"label\": false, \"text\": \"a\"}\n", "false:a", GSA_TEXT_JSON, { 0 } },
    { "{\"label\": \"x\", \"text\": \"a\"}\n",
      "x:x",
      GSA_TEXT_JSON,
      { .format = GSA_TEXT_JSON, .columns = "label,text=label" } }, /* one field for both */
    { "head\na b\n",
      ":head|:a b",
      GSA_TEXT_TSV,
      { .unlabelled = 1, .header = 1, .format = GSA_TEXT_TSV } },
    { "a, b\n", ":a, b", GSA_TEXT_CSV, { .unlabelled = 1, .format = GSA_TEXT_CSV } },
    { "", "", GSA_TEXT_TSV, { .unlabelled = 1, .format = GSA_TEXT_TSV } },
    /* columns */
    { "pos\t7_9.txt\ta b\nneg\t\tc\n",
      "pos:a b|neg:c",
      GSA_TEXT_TSV,
      { .columns = "label,-,text" } },
    { "a b\tpos\n", "pos:a b", GSA_TEXT_TSV, { .columns = "text,label" } },
    { "(a b)\tpos\r\n",
      "pos:(a b)",
      GSA_TEXT_TSV,
      { .columns = "text,label" } }, /* no tree: columns say tsv */
    { "a\tb\n",
      ":a b",
      GSA_TEXT_TSV,
      { .columns = "label,-,text", .unlabelled = 1, .format = GSA_TEXT_TSV } },
    /* marks and symbols */
    { "x\tIt's done, (yes) ok! a_b $5.\n",
      "x:It ' s done , ( yes ) ok ! a _ b $ 5 .",
      GSA_TEXT_TSV,
      { .tokens = GSA_TOKENS_PUNCTUATED } },
    { "x\t\xe2\x80\x9c"
      "Caf\xc3\xa9\xe2\x80\x9d\xe3\x80\x82\xe2\x82\xac"
      "3...\n",
      "x:\xe2\x80\x9c caf\xc3\xa9 \xe2\x80\x9d \xe3\x80\x82 \xe2\x82\xac 3 . . .",
      GSA_TEXT_TSV,
      { .tokens = GSA_TOKENS_PUNCTUATED, .lower = 1 } },
    { "x\t- a --\n", "x:- a - -", GSA_TEXT_TSV, { .tokens = GSA_TOKENS_PUNCTUATED } },
    /* markup */
    { "x\ta<br /><br />b <3 c < d > </p>e <!-- q -->f <\n",
      "x:a b <3 c < d > e f <",
      GSA_TEXT_TSV,
      { .markup = 1 } },
    { "x\ta <i\n", "x:a <i", GSA_TEXT_TSV, { .markup = 1 } },
    /* encodings: 0x85 is a next line in Latin-1 and an ellipsis in windows-1252 */
    { "x\tcaf\xe9 a\x85z\n",
      "x:caf\xc3\xa9 a z",
      GSA_TEXT_TSV,
      { .encoding = GSA_ENCODING_LATIN1 } },
    { "x\t\x93q\x94 caf\xe9 a\x85z\n",
      "x:\xe2\x80\x9cq\xe2\x80\x9d caf\xc3\xa9 a\xe2\x80\xa6z",
      GSA_TEXT_TSV,
      { .encoding = GSA_ENCODING_CP1252 } },
    { "x\tcaf\xc3\xa9\ny\tcaf\xe9\nz\t\xe9",
      "x:caf\xc3\xa9|y:caf\xc3\xa9|z:\xc3\xa9",
      GSA_TEXT_TSV,
      { .encoding = GSA_ENCODING_MIXED } },
    { "\xef\xbb\xbfx\ta\ny\t\x80\n",
      "x:a|y:\xe2\x82\xac",
      GSA_TEXT_TSV,
      { .encoding = GSA_ENCODING_MIXED } },
};

START_TEST(good_text)
{
    fixture f;
    char shown[512];
    const gsa_status status =
        read_text(&f, good[_i].bytes, (int64_t)strlen(good[_i].bytes), good[_i].options);
    if (!good[_i].expected) {
        ck_assert_int_eq(status, GSA_ERR_FORMAT);
        done(&f);
        return;
    }
    ck_assert_msg(status == GSA_OK, "%s", f.error.text);
    show(&f.text, shown, sizeof shown);
    ck_assert_str_eq(shown, good[_i].expected);
    ck_assert_int_eq(f.text.format, good[_i].format);
    done(&f);
}
END_TEST

static const struct {
    const char *bytes, *expected;
    gsa_text_options options;
} bad[] = {
    { "pos\ta\nneg\n", "t.txt:2: the line has 1 column, expected 2: label<TAB>text", { 0 } },
    { "pos\ta\nneg\tb\tc\n", "t.txt:2: the line has 3 columns", { 0 } },
    { "x,a\ny,\"b\nc\nz,d\n",
      "t.txt:2: a quote opens in the record that begins here and is never",
      { .format = GSA_TEXT_CSV } },
    { "x,\"a\nb\"\ny\n",
      "t.txt:3: the line has 1 column, expected 2: label,text",
      { .format = GSA_TEXT_CSV } },
    { "x,\"a\" b\n",
      "t.txt:1: in column 2 text follows the closing quote",
      { .format = GSA_TEXT_CSV } },
    { "x,a\ny,b\xff\n",
      "t.txt:2: invalid UTF-8 at byte 4 of the line",
      { .format = GSA_TEXT_CSV } },
    { "{\"label\": \"x\"}\n", "t.txt:1: the object has no field 'text'", { 0 } },
    { "{\"label\": 1.5, \"text\": \"a\"}\n", "t.txt:1: field 'label' is no string", { 0 } },
    { "{\"l\": 1, \"text\": \"a\"}\n",
      "data.columns = 'label=,text', expected fields",
      { .columns = "label=,text", .format = GSA_TEXT_JSON } },
    { "{\"l\": 1, \"text\": \"a\"}\n",
      "data.columns = 'label,,text', expected fields",
      { .columns = "label,,text", .format = GSA_TEXT_JSON } },
    { "{\"label\": null, \"text\": \"a\"}\n", "field 'label' is no string, but null", { 0 } },
    { "{\"label\": [1], \"text\": \"a\"}\n", "field 'label' is no string, but a list", { 0 } },
    { "{\"label\": {}, \"text\": \"a\"}\n", "field 'label' is no string, but an object", { 0 } },
    { "{\"label\": \"x\", \"text\": \"a\"}\n[1]\n", "t.txt:2: the line is no JSON object", { 0 } },
    { "{\"label\": \"x\", \"text\": \"a}\n", "t.txt:1: no JSON", { .format = GSA_TEXT_JSON } },
    { "{}\n",
      "data.columns = 'label=a,label=b', expected fields",
      { .format = GSA_TEXT_JSON, .columns = "label=a,label=b" } },
    { "{}\n",
      "data.columns = 'tag=a', expected fields",
      { .format = GSA_TEXT_JSON, .columns = "tag=a" } },
    { "{\"l\": \"abcdefghij\"}\n",
      "t.txt:1: field 'l' is longer than its line",
      { .format = GSA_TEXT_JSON, .columns = "label=l,text=l" } },
    { "{}\n",
      "expected fields of JSON objects, each once: label=FIELD,text=FIELD",
      { .format = GSA_TEXT_JSON, .columns = "label=" TEN(TEN("abc")) } },
    { "{}\n",
      "expected fields of JSON objects",
      { .format = GSA_TEXT_JSON, .columns = TEN("a,a,a,a,a,a,a,") } },
    { TEN("x\tx\tx\tx\tx\tx\tx\t") "x\n",
      "t.txt:1: the line has more than 64 columns, expected 2",
      { 0 } },
    { "pos\ta\n\tb\n", "t.txt:2: the label is empty", { 0 } },
    { "pos\ta\nneg\t  \n", "t.txt:2: the example is empty", { 0 } },
    { "pos\t\nneg\t  \n", "t.txt: the file holds no example", { .empty = GSA_EMPTY_SKIP } },
    { "a\n \n", "t.txt:2: the example is empty", { .empty = GSA_EMPTY_SKIP, .unlabelled = 1 } },
    { "pos\ta\n\nneg\tb\n", "t.txt:2: the line is empty", { 0 } },
    { "pos\ta\nneg\tb\xff\n", "t.txt:2: invalid UTF-8 at byte 6 of the line", { 0 } },
    { "pos\ta\nn\xc3\tb\n", "t.txt:2: invalid UTF-8 at byte 2 of the line", { 0 } },
    { "", "t.txt: the file holds no example", { 0 } },
    { "label\ttext\n", "t.txt: the file holds no example", { .header = 1 } },
    { "__label__a x\nb y\n", "t.txt:2: the line does not start with __label__", { 0 } },
    { "__label__a __label__b y\n", "t.txt:1: the line has more than one __label__", { 0 } },
    { "__label__ y\n", "t.txt:1: the label is empty", { 0 } },
    { "a\tx\nb\r\ty\n",
      "t.txt:2: the label 'b\\x0d' holds a control character",
      { 0 } }, /* no line of labels.txt */
    { TEN("longest") "\x01\ty\n", "t.txt:1: the label 'longestlongest", { 0 } },
    { "(3 (2 It) (4\x01 a))\n",
      "t.txt:1: the label '4\\x01' holds a control character",
      { .subtrees = 1 } },
    { "a\tx\n\xef\xbb\xbf"
      "b\ty\n",
      "t.txt:2: the label starts with a byte order mark",
      { 0 } }, /* files put together */
    { "__label__a\n", "t.txt:1: the example is empty", { 0 } },
    { "3 a\n4\n", "t.txt:2: the line has no blank, expected: LABEL text", { 0 } },
    { " a\n", "t.txt:1: the label is empty", { 0 } },
    { TREE "(3 (2 It) (4 a)\n", "t.txt:2: the tree is not closed: 1 ')' missing", { 0 } },
    { TREE "(3 (2 It\n", "t.txt:2: the tree is not closed: 2 ')' missing", { 0 } },
    { TREE "(3 (2 It)) x\n", "t.txt:2: more text at byte 12 after the tree's end", { 0 } },
    { TREE "(3 (2 It)))\n", "t.txt:2: more text at byte 11 after the tree's end", { 0 } },
    { TREE "(3 ( It))\n", "t.txt:2: the node that ends at byte 8 is empty", { 0 } },
    { TREE "(3 (2 a) b)\n", "t.txt:2: a word at byte 10", { 0 } },
    { TREE "(3 a b)\n", "t.txt:2: a word at byte 6", { 0 } },
    { TREE "(3 a (2 b))\n", "t.txt:2: a node at byte 6 inside a leaf", { 0 } },
    { TREE "(3)\n", "t.txt:2: the node that ends at byte 3 is empty", { 0 } },
    { TREE "((2 a) (3 b))\n", "t.txt:2: a node at byte 2 has no label", { 0 } },
    { TREE "3 a\n", "t.txt:2: the line is no tree", { 0 } },
    { "a\n\nb\n", "t.txt:2: the example is empty", { .unlabelled = 1 } },
    /* columns */
    { "pos\ta\n",
      "t.txt:1: the line has 2 columns, expected 3, as data.columns says: label,-,text",
      { .columns = "label,-,text" } },
    { "a\tb\n",
      "data.columns: column 'text' is named nowhere, expected label and text once each",
      { .columns = "label,-" } },
    { "a\tb\n", "data.columns: column 'label' is named twice", { .columns = "label,label,text" } },
    { "a\tb\n",
      "data.columns holds 'body', expected a list of label, text and -",
      { .columns = "label,body" } },
    { "a\tb\n", "data.columns holds '', expected a list", { .columns = "label,,text" } },
    { "x\t7\t<br />\n",
      "t.txt:1: the example is empty",
      { .columns = "label,-,text", .markup = 1 } },
    /* encodings */
    { "x\ta\ny\tcaf\xe9\n",
      "t.txt:2: invalid UTF-8 at byte 6 of the line (0xe9): data.encoding = cp1252 (or latin1, or "
      "mixed) reads a file that "
      "is not UTF-8",
      { 0 } },
    { "x\t\xc0\xaf\n",
      "t.txt:1: invalid UTF-8 at byte 3 of the line (0xc0)",
      { 0 } }, /* overlong */
    { "x\t\xed\xa0\x80\n",
      "t.txt:1: invalid UTF-8 at byte 3 of the line (0xed)",
      { 0 } }, /* a surrogate */
    { "\xff\xfex", "t.txt:1: the file starts with the byte order mark of UTF-16", { 0 } },
    { "\xfe\xff"
      "x",
      "t.txt:1: the file starts with the byte order mark of UTF-16",
      { .encoding = GSA_ENCODING_MIXED } },
    { "\xef\xbb\xbfx\ta\n",
      "t.txt:1: the file starts with the byte order mark of UTF-8: read it with data.encoding = "
      "utf8",
      { .encoding = GSA_ENCODING_CP1252 } },
#define FT "__label__a x\n"
    { FT "__label__b\t \n", "t.txt:2: the example is empty", { 0 } },
    { FT "\n", "t.txt:2: the line is empty", { 0 } },
    { FT "\r\n", "t.txt:2: the line is empty", { 0 } },
    { FT "__Label__b y\n", "t.txt:2: the line does not start with __label__", { 0 } },
    { FT " __label__b y\n", "t.txt:2: the line does not start with __label__", { 0 } },
    { FT "\xef\xbb\xbf__label__b y\n", "t.txt:2: the line does not start with __label__", { 0 } },
    { FT "__label__b\x01 y\n", "t.txt:2: the label 'b\\x01' holds a control character", { 0 } },
    { FT "__label__b \t__label__c y\n", "t.txt:2: the line has more than one __label__", { 0 } },
    { FT "__label__b y\xff\n", "t.txt:2: invalid UTF-8 at byte 13 of the line (0xff)", { 0 } },
    { "a y\n", "t.txt:1: the line does not start with __label__", { .format = GSA_TEXT_FASTTEXT } },
    { "", "t.txt: the file holds no example", { .format = GSA_TEXT_FASTTEXT } },
#define STSA "3 a\n"
    { STSA "\n", "t.txt:2: the line is empty", { 0 } },
    { STSA "\r\n", "t.txt:2: the line is empty", { 0 } },
    { STSA "4 \n", "t.txt:2: the example is empty", { 0 } },
    { STSA "4\t\xc2\xa0\n",
      "t.txt:2: the example is empty",
      { 0 } }, /* a blank that does not break */
    { STSA "\tb\n", "t.txt:2: the label is empty", { 0 } },
    { STSA "4\x7f b\n", "t.txt:2: the label '4\\x7f' holds a control character", { 0 } },
    { STSA "4\r b\n", "t.txt:2: the label '4\\x0d' holds a control character", { 0 } },
    { STSA "\xef\xbb\xbf"
           "4 b\n",
      "t.txt:2: the label starts with a byte order mark",
      { 0 } },
    { STSA "4 b\x80\n", "t.txt:2: invalid UTF-8 at byte 4 of the line (0x80)", { 0 } },
    { "", "t.txt: the file holds no example", { .format = GSA_TEXT_STSA } },
    { "\xef\xbb\xbf", "t.txt: the file holds no example", { .format = GSA_TEXT_STSA } },
};

/* The NUL of "%" in every format. */
static const struct {
    const char *bytes;
    int format;
} nul[] = { { "x\ta%b\n", GSA_TEXT_TSV },
            { "x%\ta\n", GSA_TEXT_TSV },
            { "__label__x a%\n", GSA_TEXT_FASTTEXT },
            { "(3 (2 a%) (1 b))\n", GSA_TEXT_SST },
            { "3 a%\n", GSA_TEXT_STSA },
            { "%\n", GSA_TEXT_STSA } };

START_TEST(empty_examples_are_left_out_and_counted)
{
    fixture f;
    static const char bytes[] = "a\tx\nb\t\nc\t \nd\ty z\n";
    ck_assert_int_eq(
        read_text(&f, bytes, sizeof bytes - 1, (gsa_text_options){ .empty = GSA_EMPTY_SKIP }),
        GSA_OK);
    ck_assert_int_eq(f.text.examples, 2);
    ck_assert_int_eq(f.text.skipped, 2);
    ck_assert_int_eq(f.text.line[1], 4);
    ck_assert_int_eq(f.text.tokens, 3);
    done(&f);
}
END_TEST

START_TEST(cut_examples_are_counted)
{
    fixture f;
    static const char bytes[] = "a\tx\nb\tx y\nc\tx y z\n";
    ck_assert_int_eq(read_text(&f, bytes, sizeof bytes - 1, (gsa_text_options){ .max_length = 2 }),
                     GSA_OK);
    ck_assert_int_eq(f.text.tokens, 5);
    ck_assert_int_eq(f.text.cut, 1);
    char said[GSA_CUT_ROOM];
    ck_assert_str_eq(gsa_text_say_cut(f.text.cut, 2, said),
                     "; 1 of the file's texts are cut to 2 tokens");
    ck_assert_str_eq(gsa_text_say_cut(0, 2, said), "");
    const gsa_slice none = { NULL, 0 }, a = { "a", 1 };
    ck_assert(gsa_slice_compare(none, a) < 0 && gsa_slice_compare(none, none) == 0);
    done(&f);
}
END_TEST

START_TEST(a_nul_is_refused)
{
    fixture f;
    char bytes[64];
    const int64_t count = (int64_t)strlen(nul[_i].bytes);
    memcpy(bytes, nul[_i].bytes, (size_t)count);
    *(char *)memchr(bytes, '%', (size_t)count) = 0;
    ck_assert_int_eq(read_text(&f, bytes, count, (gsa_text_options){ .format = nul[_i].format }),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "t.txt:1: the line holds a NUL byte"));
    done(&f);
}
END_TEST

/* Every byte: the character of windows-1252, of Latin-1, and valid UTF-8 in all. */
START_TEST(encodings_of_every_byte)
{
    static const int32_t known[][2] = { { 0x80, 0x20ac }, { 0x82, 0x201a }, { 0x85, 0x2026 },
                                        { 0x8a, 0x160 },  { 0x91, 0x2018 }, { 0x95, 0x2022 },
                                        { 0x97, 0x2014 }, { 0x99, 0x2122 }, { 0x9f, 0x178 },
                                        { 0x81, 0x81 },   { 0x8d, 0x8d },   { 0x8f, 0x8f },
                                        { 0x90, 0x90 },   { 0x9d, 0x9d } };
    for (int encoding = GSA_ENCODING_LATIN1; encoding <= GSA_ENCODING_MIXED; encoding++)
        for (int byte = 1; byte < 256; byte++) {
            int64_t count = 1;
            char *bytes = gsa_alloc(gsa_system_default(), 2, 1);
            bytes[0] = (char)byte, bytes[1] = 0;
            ck_assert_int_eq(
                gsa_encoding_decode(gsa_system_default(), "f", encoding, &bytes, &count, NULL),
                GSA_OK);
            const unsigned char *u = (const unsigned char *)bytes;
            const int32_t c = count == 1   ? u[0]
                              : count == 2 ? (u[0] & 31) << 6 | (u[1] & 63)
                                           : (u[0] & 15) << 12 | (u[1] & 63) << 6 | (u[2] & 63);
            ck_assert(gsa_utf8_invalid(bytes, count) < 0 && bytes[count] == 0);
            if (encoding == GSA_ENCODING_LATIN1 || byte < 0x80 || byte >= 0xa0)
                ck_assert_int_eq(c, byte);
            for (int i = 0; i < GSA_COUNT(known) && encoding != GSA_ENCODING_LATIN1; i++)
                if (known[i][0] == byte) ck_assert_int_eq(c, known[i][1]);
            gsa_release(gsa_system_default(), bytes);
        }
}
END_TEST

START_TEST(bad_text)
{
    fixture f;
    ck_assert_int_ne(read_text(&f, bad[_i].bytes, (int64_t)strlen(bad[_i].bytes), bad[_i].options),
                     GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    done(&f);
}
END_TEST

START_TEST(a_deep_tree_and_a_nul)
{
    enum { DEEP = 200000 };
    fixture f;
    char *bytes = malloc(DEEP * 4 + 16), *at = bytes;
    for (int i = 0; i < DEEP; i++) memcpy(at, "(1 ", 3), at += 3;
    *at++ = 'x';
    memset(at, ')', DEEP);
    at += DEEP;
    ck_assert_msg(read_text(&f, bytes, at - bytes, (gsa_text_options){ 0 }) == GSA_OK, "%s",
                  f.error.text);
    ck_assert_int_eq(f.text.examples, 1);
    done(&f);
    ck_assert_int_eq(read_text(&f, "a\tb\0c\n", 6, (gsa_text_options){ 0 }), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "t.txt:1: the line holds a NUL byte"));
    done(&f);
    free(bytes);
}
END_TEST

/* Each phrase of a chain holds all those after it: with all of them a file of 60 kB would be 12
 * million tokens. Those of a sentence are far from the limit, and so is the root alone. */
START_TEST(phrases_are_in_proportion)
{
    static const struct {
        int words, subtrees, phrase_min, taken;
    } rows[] = { { 5000, 1, 1, 0 }, { 5000, 1, 4900, 1 }, { 5000, 0, 1, 1 }, { 1000, 1, 1, 1 } };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        fixture f;
        const int words = rows[i].words;
        char *bytes = malloc((size_t)words * 12 + 16), *at = bytes;
        for (int w = 1; w < words; w++) memcpy(at, "(1 (2 a) ", 9), at += 9;
        memcpy(at, "(2 a)", 5), at += 5;
        memset(at, ')', (size_t)words - 1), at += words - 1;
        const gsa_status status = read_text(
            &f, bytes, at - bytes,
            (gsa_text_options){ .subtrees = rows[i].subtrees, .phrase_min = rows[i].phrase_min });
        ck_assert_msg((status == GSA_OK) == rows[i].taken, "row %d: %s", i, f.error.text);
        if (!rows[i].taken)
            ck_assert_msg(strstr(f.error.text, "t.txt:1: the phrases up to here hold ") &&
                              strstr(f.error.text, "expected at most 1448536, 8 a byte"),
                          "%s", f.error.text);
        done(&f);
        free(bytes);
    }
}
END_TEST

/* ---- labels -------------------------------------------------------------------------------- */

START_TEST(labels_are_sorted_and_known)
{
    fixture f;
    gsa_labels labels;
    int32_t ids[4];
    const char *bytes = "b\tx\na\ty\n10\tz\nb\tw\n";
    ck_assert_int_eq(read_text(&f, bytes, (int64_t)strlen(bytes), (gsa_text_options){ 0 }), GSA_OK);
    ck_assert_int_eq(gsa_labels_learn(&f.text, 0, &labels, &f.error), GSA_OK);
    ck_assert_int_eq(labels.count, 3);
    ck_assert_int_eq(gsa_labels_map(&labels, &f.text, ids, &f.error), GSA_OK);
    const int32_t expected[] = { 2, 1, 0, 2 };
    ck_assert_mem_eq(ids, expected, sizeof ids);
    f.text.label[2].bytes = 1; /* "1": not known */
    ck_assert_int_eq(gsa_labels_map(&labels, &f.text, ids, &f.error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "t.txt:3: label '1' is not in the training data"));
    gsa_labels_release(&labels);
    ck_assert_int_eq(gsa_labels_learn(&f.text, 4, &labels, &f.error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "the data holds 3 labels, data.classes says 4"));
    done(&f);
}
END_TEST

/* Each comes before all that were there: time must not grow with the square of their number. */
START_TEST(labels_are_many)
{
    enum { MANY = 1000000 };
    fixture f;
    gsa_labels labels;
    char *bytes = malloc(MANY * 11 + 1), *at = bytes;
    for (int i = MANY; i > 0; i--) at += sprintf(at, "L%07d\tx\n", i);
    ck_assert_int_eq(read_text(&f, bytes, at - bytes, (gsa_text_options){ 0 }), GSA_OK);
    ck_assert_msg(gsa_labels_learn(&f.text, MANY, &labels, &f.error) == GSA_OK, "%s", f.error.text);
    ck_assert_int_eq(gsa_labels_find(&labels, (gsa_slice){ "L0000001", 8 }), 0);
    ck_assert_int_eq(gsa_labels_find(&labels, (gsa_slice){ "L1000000", 8 }), MANY - 1);
    ck_assert_int_eq(gsa_labels_find(&labels, (gsa_slice){ "L1000001", 8 }), -1);
    gsa_labels_release(&labels);
    done(&f);
    free(bytes);
}
END_TEST

START_TEST(files_of_labels_are_in_order)
{
    static const struct {
        const char *bytes, *says; /* NULL: taken */
    } rows[] = { { "a\nb\n", NULL },
                 { "b\na\n", "t.txt:2: a label that is empty, repeated or out of order" },
                 { "a\na\n", "t.txt:2: a label that is empty" },
                 { "a\n\nb\n", "t.txt:2: a label that is empty" } };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        fixture f = { 0 };
        gsa_labels labels;
        gsa_scratch_open(&f.scratch);
        const char *path = gsa_scratch_path(&f.scratch, "t.txt");
        gsa_put_file(path, rows[i].bytes, (int64_t)strlen(rows[i].bytes));
        const gsa_status status = gsa_labels_read(gsa_system_default(), path, &labels, &f.error);
        ck_assert_int_eq(status, rows[i].says ? GSA_ERR_FORMAT : GSA_OK);
        if (rows[i].says) ck_assert_msg(strstr(f.error.text, rows[i].says), "%s", f.error.text);
        else gsa_labels_release(&labels);
        done(&f);
    }
}
END_TEST

START_TEST(one_label_is_no_classification)
{
    fixture f;
    gsa_labels labels;
    ck_assert_int_eq(read_text(&f, "a\tx\na\ty\n", 8, (gsa_text_options){ 0 }), GSA_OK);
    ck_assert_int_eq(gsa_labels_learn(&f.text, 0, &labels, &f.error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(f.error.text, "t.txt: the data holds 1 label, a classifier needs at least 2"));
    done(&f);
}
END_TEST

/* ---- vectors ------------------------------------------------------------------------------- */

static gsa_status read_vectors(fixture *f, const char *bytes)
{
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "v.txt");
    gsa_put_file(path, bytes, (int64_t)strlen(bytes));
    return gsa_vectors_read(gsa_system_default(), path, &f->vectors, &f->error);
}

START_TEST(vectors_with_and_without_header)
{
    static const char *const files[] = { "the 1 -2.5 3e-1\nof 0 0 4\n",
                                         "2 3\nthe 1 -2.5 3e-1\nof 0 0 4\n",
                                         "the 1 -2.5 3e-1 \r\nof 0 0 4 \r\n" };
    const float expected[] = { 1, -2.5f, 0.3f, 0, 0, 4 };
    for (int i = 0; i < GSA_COUNT(files); i++) {
        fixture f;
        ck_assert_msg(read_vectors(&f, files[i]) == GSA_OK, "%s", f.error.text);
        ck_assert_int_eq(f.vectors.count, 2);
        ck_assert_int_eq(f.vectors.width, 3);
        ck_assert_mem_eq(f.vectors.value, expected, sizeof expected);
        ck_assert_int_eq(f.vectors.word[1].bytes, 2);
        done(&f);
    }
}
END_TEST

static const struct {
    const char *bytes, *expected;
} bad_vectors[] = {
    { "", "v.txt: the file holds no word vector" },
    { "2 3\n", "v.txt: the file holds no word vector" },
    { "the\n", "v.txt:1: too few columns for a word and its vector: 1, expected 2" },
    { "the 1 2\nof 1\n", "v.txt:2: the number of columns is: 2, expected 3" },
    { "the 1 2\nof 1 2 3\n", "v.txt:2: the number of columns is: 4, expected 3" },
    { "the 1 2\nof 1 x\n", "v.txt:2: no finite number in column 3" },
    { "the 1 2\nof 1 nan\n", "v.txt:2: no finite number in column 3" },
    { "the 1 2\nof 1 0x10\n", "v.txt:2: no finite number in column 3" },
    { "the 1 2\nof 1 2x\n", "v.txt:2: no finite number in column 3" },
    { "the 1 2\nof 1 1e99\n", "v.txt:2: no finite number in column 3" },
    { "the 1 2\n 1 2 3\n", "v.txt:2: the word is empty" },
    { "the 1 2\nof\r 1 2\n", "v.txt:2: the word is not one: it holds a carriage return" },
    { "3\n", "v.txt:1: too few columns for a word and its vector: 1, expected 2" },
    { "the 1 2\nof\t1\tx\n", "v.txt:2: no finite number in column 3" },
    { "\xff\xfe"
      "t",
      "v.txt:1: the file starts with the byte order mark of UTF-16" },
    { "3 2\nthe 1 2\nof 1 2\n", "v.txt:1: the header tells 3 vectors, and the file ends after 2" },
    { "2 1000\nthe 1 2\n", "v.txt:2: the header on line 1 has another width: 1000, expected 2" },
    { "the 1 2\no\xff 1 2\n", "v.txt:2: invalid UTF-8 at byte 2 of the line" },
};

START_TEST(bad_vector_file)
{
    fixture f;
    ck_assert_int_eq(read_vectors(&f, bad_vectors[_i].bytes), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(f.error.text, bad_vectors[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad_vectors[_i].expected);
    done(&f);
}
END_TEST

/* ---- baselines: against counts by hand ----------------------------------------------------- */

START_TEST(bayes_by_hand)
{
    /* train: a: "x x", a: "x y", b: "y z". Presence: a has x 2, y 1 (3), b has y 1, z 1 (2); 3
     * features; priors 2/3, 1/3. dev "z": a 2/3 * 1/6 = 0.111, b 1/3 * 2/5 = 0.133 -> b. "y": a
     * 2/3*2/6 = 0.222, b 1/3*2/5 = 0.133 -> a. "q": prior -> a. "x y": as bigram x_y in a (5
     * features, a 4, b 3 counted): still a. */
    static const gsa_slice token[] = { { "x", 1 }, { "x", 1 }, { "x", 1 },
                                       { "y", 1 }, { "y", 1 }, { "z", 1 } };
    static const gsa_slice query[] = { { "z", 1 }, { "y", 1 }, { "q", 1 }, { "x", 1 }, { "y", 1 } };
    static const int64_t offset[] = { 0, 2, 4, 6 }, where[] = { 0, 1, 2, 3, 5 };
    static const int32_t label[] = { 0, 0, 1 }, right[] = { 1, 0, 0, 0 }, wrong[] = { 0, 1, 1, 1 };
    const gsa_labelled train = { 3, offset, token, label }, dev = { 4, where, query, right },
                       off = { 4, where, query, wrong };
    for (int bigrams = 0; bigrams < 2; bigrams++) {
        double accuracy;
        ck_assert_int_eq(
            gsa_bayes_accuracy(gsa_system_default(), &train, &dev, 2, bigrams, &accuracy, NULL),
            GSA_OK);
        ck_assert_double_eq(accuracy, 1);
        ck_assert_int_eq(
            gsa_bayes_accuracy(gsa_system_default(), &train, &off, 2, bigrams, &accuracy, NULL),
            GSA_OK);
        ck_assert_double_eq(accuracy, 0);
    }
    double majority;
    ck_assert_int_eq(gsa_majority_accuracy(gsa_system_default(), &train, &dev, 2, &majority, NULL),
                     GSA_OK);
    ck_assert_double_eq(majority, 0.75);
}
END_TEST

START_TEST(bayes_survives_growth)
{
    /* 20,000 features, each in one class: every text is told apart */
    enum { WORDS = 20000 };
    gsa_slice *token = calloc(WORDS, sizeof *token);
    int64_t *offset = calloc(WORDS + 1, sizeof *offset);
    int32_t *label = calloc(WORDS, sizeof *label);
    char *names = calloc(WORDS, 8);
    for (int i = 0; i < WORDS; i++) {
        token[i] = (gsa_slice){ names + 8 * i, snprintf(names + 8 * i, 8, "w%d", i) };
        label[i] = i * 7 % 3;
        offset[i + 1] = i + 1;
    }
    const gsa_labelled data = { WORDS, offset, token, label };
    double accuracy;
    ck_assert_int_eq(gsa_bayes_accuracy(gsa_system_default(), &data, &data, 3, 1, &accuracy, NULL),
                     GSA_OK);
    ck_assert_double_eq(accuracy, 1);
    free(token);
    free(offset);
    free(label);
    free(names);
}
END_TEST

/* A label a line: memory and time would grow with the square of the file. */
START_TEST(bayes_of_many_labels_is_left_out)
{
    enum { LABELS = 100000 };
    static const gsa_slice word = { "x", 1 };
    gsa_slice *token = calloc(LABELS, sizeof *token);
    int64_t *offset = calloc(LABELS + 1, sizeof *offset);
    int32_t *label = calloc(LABELS, sizeof *label);
    gsa_error error;
    double accuracy;
    for (int i = 0; i < LABELS; i++) token[i] = word, offset[i + 1] = i + 1, label[i] = i;
    const gsa_labelled many = { LABELS, offset, token, label }, few = { 1, offset, token, label };
    ck_assert_int_eq(
        gsa_bayes_accuracy(gsa_system_default(), &many, &many, LABELS, 0, &accuracy, &error),
        GSA_ERR_LIMIT);
    ck_assert_str_eq(error.text, "the naive Bayes baseline is left out: 100000 tokens and 100000 "
                                 "labels");
    ck_assert_int_eq(
        gsa_bayes_accuracy(gsa_system_default(), &few, &few, LABELS, 0, &accuracy, &error),
        GSA_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "4096 features of 100000 labels"));
    free(token);
    free(offset);
    free(label);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test formats[] = {
        GSA_LOOP(good_text, GSA_COUNT(good)), GSA_TEST(a_deep_tree_and_a_nul),
        GSA_TEST(phrases_are_in_proportion),  GSA_TEST(empty_examples_are_left_out_and_counted),
        GSA_TEST(cut_examples_are_counted),   GSA_TEST(encodings_of_every_byte)
    };
    static const gsa_test refused[] = { GSA_LOOP(bad_text, GSA_COUNT(bad)),
                                        GSA_LOOP(a_nul_is_refused, GSA_COUNT(nul)) };
    static const gsa_test labels[] = { GSA_TEST(labels_are_sorted_and_known),
                                       GSA_TEST(labels_are_many),
                                       GSA_TEST(files_of_labels_are_in_order),
                                       GSA_TEST(one_label_is_no_classification) };
    static const gsa_test vectors[] = { GSA_TEST(vectors_with_and_without_header),
                                        GSA_LOOP(bad_vector_file, GSA_COUNT(bad_vectors)) };
    static const gsa_test baselines[] = { GSA_TEST(bayes_by_hand), GSA_TEST(bayes_survives_growth),
                                          GSA_TEST(bayes_of_many_labels_is_left_out) };
    static const gsa_case cases[] = { GSA_CASE("formats", formats, 30),
                                      GSA_CASE("bad", refused, 30), GSA_CASE("labels", labels, 30),
                                      GSA_CASE("vectors", vectors, 30),
                                      GSA_CASE("baselines", baselines, 30) };
    return gsa_run_suite("text", cases, GSA_COUNT(cases), argc, argv);
}
