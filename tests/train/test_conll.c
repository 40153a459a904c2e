/* Files of columns: what is read, what is refused with file:line, encodings, faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/data/conll.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_conll conll;
} fixture;

static gsa_status read_bytes(fixture *f, const gsa_system *system, const char *bytes, int64_t count,
                             gsa_conll_options options)
{
    *f = (fixture){ .error = { .text = "" } };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "c.txt");
    gsa_put_file(path, bytes, count);
    return gsa_conll_read(system, path, &options, &f->conll, &f->error);
}

static void done(fixture *f)
{
    gsa_conll_release(&f->conll);
    gsa_scratch_close(&f->scratch);
}

/* "word/tag word/tag|word/tag" */
static void show(const gsa_conll *conll, char *out)
{
    out[0] = 0;
    for (int64_t s = 0; s < conll->sentences; s++)
        for (int64_t t = conll->offset[s]; t < conll->offset[s + 1]; t++)
            out += sprintf(out, "%s%.*s/%.*s",
                           t == 0                  ? ""
                           : t == conll->offset[s] ? "|"
                                                   : " ",
                           (int)conll->word[t].bytes, conll->word[t].at, (int)conll->tag[t].bytes,
                           conll->tag[t].at);
}

#define U(id, form, upos) id "\t" form "\tlemma\t" upos "\tXPOS\t_\t0\troot\t_\t_\n"
static const struct {
    const char *bytes, *expected;
    int format;
    gsa_conll_options options;
} good[] = {
    { "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP I-PER\n",
      "EU/I-ORG rejects/O|Peter/I-PER",
      GSA_CONLL_COLUMNS,
      { 0 } },
    { "EU NNP I-NP I-ORG\n\n", "EU/NNP", GSA_CONLL_COLUMNS, { .tag = 2 } },
    { "EU NNP I-NP I-ORG\n\n", "NNP/I-NP", GSA_CONLL_COLUMNS, { .word = -3, .tag = -2 } },
    { "-DOCSTART- -X- O O\n\na b c O\n-DOCSTART- -X- O\nd e f B\n",
      "a/O|d/B",
      GSA_CONLL_COLUMNS,
      { 0 } },
    { "\xef\xbb\xbf"
      "a O\r\nb B-X\r\n\r\nc O",
      "a/O b/B-X|c/O",
      GSA_CONLL_COLUMNS,
      { 0 } },
    { "\n\n \t \na O\n\n\n\t\nb O\n\n\n", "a/O|b/O", GSA_CONLL_COLUMNS, { 0 } },
    { "  a    O  \n b \t B \n", "a/O b/B", GSA_CONLL_COLUMNS, { 0 } },
    { "New York\tB-LOC\nis\tO\n", "New York/B-LOC is/O", GSA_CONLL_COLUMNS, { 0 } },
    { "\xe5\x8f\xa3"
      "0\tO\n\xe8\x85\x94"
      "1\tB-PER.NOM\n",
      "\xe5\x8f\xa3"
      "0/O \xe8\x85\x94"
      "1/B-PER.NOM",
      GSA_CONLL_COLUMNS,
      { 0 } },
    { "a\xc2\xa0"
      "b O\n",
      "a\xc2\xa0"
      "b/O",
      GSA_CONLL_COLUMNS,
      { 0 } },
    { "# # O\n", "#/O", GSA_CONLL_COLUMNS, { .format = GSA_CONLL_COLUMNS } },
    { "# newdoc\n# text = ab\n" U("1", "a", "DET") U("2-3", "bc", "_") U("2", "b", "NOUN")
          U("3", "c", "VERB") U("3.1", "x", "_") "\n#\n" U("1", "d", "ADV"),
      "a/DET b/NOUN c/VERB|d/ADV",
      GSA_CONLL_U,
      { 0 } },
    { U("0.1", "x", "_") U("1", "a b", "DET"), "a b/DET", GSA_CONLL_U, { .format = GSA_CONLL_U } },
    { U("1", "a", "DET"), "a/XPOS", GSA_CONLL_U, { .tag = 5 } },
    { U("1", "a", "DET"), "lemma/DET", GSA_CONLL_U, { .word = 3 } },
    { "\xe9\xab\x98 B-NAME\n\xe5\x8b\x87 E-NAME\n\n\xef\xbc\x9a O\n",
      "\xe9\xab\x98/B-NAME \xe5\x8b\x87/E-NAME|\xef\xbc\x9a/O",
      GSA_CONLL_CHARS,
      { .format = GSA_CONLL_CHARS } },
    { "  O\na b O\n\xe3\x80\x80 O\n",
      " /O a b/O \xe3\x80\x80/O",
      GSA_CONLL_CHARS,
      { .format = GSA_CONLL_CHARS } },
    { "caf\xe9 O\n\xdf\xff B\n",
      "caf\xc3\xa9/O \xc3\x9f\xc3\xbf/B",
      GSA_CONLL_COLUMNS,
      { .encoding = GSA_ENCODING_LATIN1 } },
    { "a\nb\n\nc\n", "a/ b/|c/", GSA_CONLL_COLUMNS, { .untagged = 1 } },
    { "a O\nb B\n\nc O\n", "a/ b/|c/", GSA_CONLL_COLUMNS, { .untagged = 1 } },
    { "ab\n c\n", "ab/  c/", GSA_CONLL_CHARS, { .untagged = 1, .format = GSA_CONLL_CHARS } },
    { "a B-X\n  O\nb\n",
      "a/  / b/",
      GSA_CONLL_CHARS,
      { .untagged = 1, .format = GSA_CONLL_CHARS } },
    { "ab \nc\n", "ab / c/", GSA_CONLL_CHARS, { .untagged = 1, .format = GSA_CONLL_CHARS } },
    { "2\ta\t\t\t\t\t\t\t\tO\n", "2/O", GSA_CONLL_COLUMNS, { 0 } }, /* ten columns, but no 1 */
    { "", "", GSA_CONLL_AUTO, { .untagged = 1 } },
};

START_TEST(good_files)
{
    fixture f;
    char shown[512];
    const gsa_status status =
        read_bytes(&f, NULL, good[_i].bytes, (int64_t)strlen(good[_i].bytes), good[_i].options);
    ck_assert_msg(status == GSA_OK, "%s", f.error.text);
    show(&f.conll, shown);
    ck_assert_str_eq(shown, good[_i].expected);
    ck_assert_int_eq(f.conll.format, good[_i].format);
    ck_assert(*gsa_conll_format_name(f.conll.format));
    done(&f);
}
END_TEST

#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
static const struct {
    const char *bytes, *expected;
    gsa_conll_options options;
} bad[] = {
    { "", "c.txt: the file holds no sentence", { 0 } },
    { "\n\n-DOCSTART- O\n\n", "c.txt: the file holds no sentence", { 0 } },
    { "a b O\nc O\n", "c.txt:2: the line has 2 columns between blanks, line 1 has 3", { 0 } },
    { "a O\n\nc d e\n", "c.txt:3: the line has 3 columns between blanks, line 1 has 2", { 0 } },
    { "a\tO\nc O\n", "c.txt:2: the line has 1 column between tabs, line 1 has 2", { 0 } },
    { "  a \t O  \n b   B \n", "c.txt:2: the line has 1 column between tabs, line 1 has 2", { 0 } },
    { "# # O\n", "c.txt: the file holds no sentence", { 0 } }, /* taken for a comment of CoNLL-U */
    { "a\tO\n\tO\n", "c.txt:2: column 1, the token, is empty", { 0 } },
    { "a\tO\nb\t\n", "c.txt:2: column 2, the tag, is empty", { 0 } },
    { "a O\n", "c.txt:1: the line has 2 columns, but the tag is column 4", { .tag = 4 } },
    { "a O\n", "c.txt:1: the line has 2 columns, but the token is column -3", { .word = -3 } },
    { "a\nb\n", "c.txt:1: the line has 1 column, but the tag is column 2", { .tag = 2 } },
    { "a O\ncaf\xe9 O\n",
      "c.txt:2: invalid UTF-8 at byte 4 of the line (0xe9): data.encoding = cp1252 (or latin1, or "
      "mixed) reads a file that "
      "is not UTF-8",
      { 0 } },
    { "a O\n\xc0\xaf O\n", "c.txt:2: invalid UTF-8 at byte 1 of the line (0xc0)", { 0 } },
    { "\xff\xfe"
      "a",
      "c.txt:1: the file starts with the byte order mark of UTF-16",
      { 0 } },
    { "\xfe\xff"
      "a",
      "c.txt:1: the file starts with the byte order mark of UTF-16",
      { .encoding = GSA_ENCODING_LATIN1 } },
    { "\xef\xbb\xbf"
      "a O\n",
      "c.txt:1: the file starts with the byte order mark of UTF-8: read it with data.encoding = "
      "utf8",
      { .encoding = GSA_ENCODING_LATIN1 } },
    { "a O\n\xef\xbb\xbf"
      "b O\n",
      "c.txt:2: the token starts with a byte order mark",
      { 0 } },
    { "a O\nb\x01 O\n", "c.txt:2: the token 'b\\x01' holds a control character", { 0 } },
    { "a O\n" LONG "\x01 O\n", "c.txt:2: the token 'aaaaaaaaaaaaaaa", { 0 } },
    { "a O\nb O\x7f\n", "c.txt:2: the tag 'O\\x7f' holds a control character", { 0 } },
    { "a O\rb O\n", "c.txt:1: the token", { .word = 2 } }, /* a lone CR ends no line */
    { U("1", "a", "X") "2\tb\tX\n",
      "c.txt:2: the line has 3 columns between tabs, CoNLL-U has 10",
      { 0 } },
    { U("1", "a", "X") U("3", "b", "X"), "c.txt:2: the token's number is 3, expected 2", { 0 } },
    { U("1", "a", "X") U("1", "b", "X"), "c.txt:2: the token's number is 1, expected 2", { 0 } },
    { U("1", "a", "X") "\n" U("2", "b", "X"),
      "c.txt:3: the token's number is 2, expected 1",
      { 0 } },
    { U("1", "a", "X") U("two", "b", "X"),
      "c.txt:2: the number 'two' is none: expected 3, 3-4 or 3.1",
      { 0 } },
    { U("1", "a", "X") U("3-2", "b", "X"), "c.txt:2: the number '3-2' is none", { 0 } },
    { U("1", "a", "X") U("0-1", "b", "X"), "c.txt:2: the number '0-1' is none", { 0 } },
    { U("1", "a", "X") U("1:2", "b", "X"), "c.txt:2: the number '1:2' is none", { 0 } },
    { U("1", "a", "X") U("-1", "b", "X"), "c.txt:2: the number '-1' is none", { 0 } },
    { U("1", "a", "X") U("3-4x", "b", "X"), "c.txt:2: the number '3-4x' is none", { 0 } },
    { U("1", "a", "X") U("2.1x", "b", "X"), "c.txt:2: the number '2.1x' is none", { 0 } },
    { U("1", "a", "X") U("2-", "b", "X"), "c.txt:2: the number '2-' is none", { 0 } },
    { U("1", "a", "X") U("9999999999", "b", "X"),
      "c.txt:2: the number '9999999999' is none",
      { 0 } },
    { U("1", "a", "X") U("", "b", "X"), "c.txt:2: the number '' is none", { 0 } },
    { U("1", "", "X"), "c.txt:1: column 2, the token, is empty", { 0 } },
    { "# c\na b\n", "c.txt:2: the line has 1 column between tabs, CoNLL-U has 10", { 0 } },
    { "a O\nb\n",
      "c.txt:2: the line has no blank, expected: token, one blank or tab, tag",
      { .format = GSA_CONLL_CHARS } },
    { "a O\n O\n", "c.txt:2: the token is empty", { .format = GSA_CONLL_CHARS } },
    { "a O\n\t\tO\n",
      "c.txt:2: the token '\\x09' holds a control character",
      { .format = GSA_CONLL_CHARS } },
    { "a 1 O\nb 2 O\n",
      "c.txt:1: the line has 3 columns, but the one of data.side is column 4",
      { .sides = 1, .side = { 4 } } },
    { "a O\n",
      "c.txt:1: the file has no columns beside token and tag, and data.side names some",
      { .format = GSA_CONLL_CHARS, .sides = 1, .side = { 1 } } },
    { "a O\nb \n", "c.txt:2: the line ends with a blank", { .format = GSA_CONLL_CHARS } },
};

START_TEST(bad_files)
{
    fixture f;
    ck_assert_int_eq(
        read_bytes(&f, NULL, bad[_i].bytes, (int64_t)strlen(bad[_i].bytes), bad[_i].options),
        GSA_ERR_FORMAT);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected) != NULL, "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    ck_assert_ptr_null(f.conll.word);
    done(&f);
}
END_TEST

START_TEST(nul_and_absent_files)
{
    fixture f;
    ck_assert_int_eq(read_bytes(&f, NULL, "a O\nb\0 O\n", 9, (gsa_conll_options){ 0 }),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(f.error.text, "c.txt:2: the line holds a NUL byte") != NULL, "%s",
                  f.error.text);
    const gsa_conll_options plain = { 0 };
    const char *path = gsa_scratch_path(&f.scratch, "absent");
    ck_assert_int_eq(gsa_conll_read(NULL, path, &plain, &f.conll, &f.error), GSA_ERR_IO);
    ck_assert_msg(strstr(f.error.text, "absent") != NULL, "%s", f.error.text);
    done(&f);
}
END_TEST

START_TEST(lines_are_kept)
{
    fixture f;
    const char *bytes = "-DOCSTART- O\n\na O\nb O\n\n\nc O\n";
    ck_assert_int_eq(read_bytes(&f, NULL, bytes, (int64_t)strlen(bytes), (gsa_conll_options){ 0 }),
                     GSA_OK);
    ck_assert(f.conll.tokens == 3 && f.conll.sentences == 2 && f.conll.longest == 2 &&
              f.conll.columns == 2);
    ck_assert(f.conll.line[0] == 3 && f.conll.line[1] == 4 && f.conll.line[2] == 7);
    done(&f);
}
END_TEST

/* Sentences that are left out, with what is next to their tokens. */
START_TEST(some_sentences_are_left_out)
{
    static const char bytes[] = "a 1 O\n\nb 2 O\nc 3 O\n\nd 4 O\n\ne 5 O\nf 6 O\ng 7 O\n";
    static const gsa_conll_options options = { .sides = 8, .side = { 2, 1, 1, 1, 1, 1, 1, 2 } };
    fixture f;
    char shown[64];
    for (int kept = 1; kept < 16; kept++) {
        const uint8_t drop[] = { !(kept & 1), !(kept & 2), !(kept & 4), !(kept & 8) };
        char expected[64] = "";
        static const char *const each[] = { "a/O", "b/O c/O", "d/O", "e/O f/O g/O" };
        for (int s = 0; s < 4; s++)
            if (!drop[s]) strcat(strcat(expected, *expected ? "|" : ""), each[s]);
        ck_assert_int_eq(read_bytes(&f, NULL, bytes, sizeof bytes - 1, options), GSA_OK);
        gsa_conll_compact(&f.conll, drop);
        show(&f.conll, shown);
        ck_assert_str_eq(shown, expected);
        ck_assert_int_eq(f.conll.longest, kept & 8 ? 3 : kept & 2 ? 2 : 1);
        for (int64_t t = 0; t < f.conll.tokens; t++) { /* a is 1, b is 2, ... */
            ck_assert_int_eq(f.conll.side[0][t].at[0] - '1', f.conll.word[t].at[0] - 'a');
            ck_assert_int_eq(f.conll.side[7][t].at[0] - '1', f.conll.word[t].at[0] - 'a');
        }
        done(&f);
        ck_assert_int_eq(read_bytes(&f, NULL, bytes, sizeof bytes - 1, (gsa_conll_options){ 0 }),
                         GSA_OK);
        gsa_conll_compact(&f.conll, drop);
        show(&f.conll, shown);
        ck_assert_str_eq(shown, expected);
        done(&f);
    }
}
END_TEST

/* More tokens and sentences than the first arrays hold. */
START_TEST(large_files)
{
    enum { SENTENCES = 6000, TOKENS = 5 };
    char *bytes = malloc(SENTENCES * (TOKENS * 16 + 1)), *at = bytes;
    fixture f;
    for (int s = 0; s < SENTENCES; s++) {
        for (int t = 0; t < TOKENS; t++) at += sprintf(at, "w%d B-%d\n", s, t);
        *at++ = '\n';
    }
    ck_assert_int_eq(read_bytes(&f, NULL, bytes, at - bytes, (gsa_conll_options){ 0 }), GSA_OK);
    ck_assert(f.conll.sentences == SENTENCES && f.conll.tokens == SENTENCES * TOKENS);
    for (int s = 0; s <= SENTENCES; s++) ck_assert_int_eq(f.conll.offset[s], s * TOKENS);
    ck_assert_int_eq(strncmp(f.conll.word[SENTENCES * TOKENS - 1].at, "w5999", 5), 0);
    done(&f);
    free(bytes);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

typedef struct attempt {
    const char *path;
    gsa_conll_options options;
} attempt;

static gsa_status read_with_faults(gsa_faults *faults, void *context)
{
    const attempt *a = context;
    gsa_conll conll;
    gsa_error error;
    const gsa_status status = gsa_conll_read(&faults->table, a->path, &a->options, &conll, &error);
    if (status == GSA_OK) {
        ck_assert_int_eq(conll.tokens, 3);
        gsa_conll_release(&conll);
    }
    return status;
}

START_TEST(every_fault_is_a_status)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    attempt copy = { gsa_scratch_path(&scratch, "f.txt"),
                     { .encoding = GSA_ENCODING_LATIN1, .sides = 2, .side = { 1, 2 } } };
    gsa_put_file(copy.path, "caf\xe9 O\nb B\nc O\n", 15); /* its end ends the only sentence */
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, read_with_faults, &copy), 6);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, read_with_faults, &copy), 1);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, read_with_faults, &copy), 1);
    gsa_faults faults;
    gsa_faults_start(&faults);
    faults.most = 1; /* a byte a read */
    ck_assert_int_eq(read_with_faults(&faults, &copy), GSA_OK);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test read[] = { GSA_LOOP(good_files, GSA_COUNT(good)),
                                     GSA_TEST(lines_are_kept), GSA_TEST(large_files),
                                     GSA_TEST(some_sentences_are_left_out) };
    static const gsa_test refused[] = { GSA_LOOP(bad_files, GSA_COUNT(bad)),
                                        GSA_TEST(nul_and_absent_files),
                                        GSA_TEST(every_fault_is_a_status) };
    static const gsa_case cases[] = { GSA_CASE("good", read, 30), GSA_CASE("bad", refused, 30) };
    return gsa_run_suite("conll", cases, GSA_COUNT(cases), argc, argv);
}
