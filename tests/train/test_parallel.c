/* Parallel text: two files or one, empty sentences, malformed input; pieces: numbers and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/suite.h"
#include "train/settings/keys.h"
#include "train/data/parallel.h"
#include "train/vocabulary/pieces.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_text side[GSA_SIDES];
} fixture;

/* `target` NULL: one file. */
static gsa_status read_both(fixture *f, const char *source, const char *target,
                            gsa_parallel_options options)
{
    char path[300];
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    gsa_put_file(gsa_scratch_path(&f->scratch, target ? "p.en" : "p.tsv"), source,
                 (int64_t)strlen(source));
    if (target)
        gsa_put_file(gsa_scratch_path(&f->scratch, "p.de"), target, (int64_t)strlen(target));
    snprintf(path, sizeof path, "%s/%s", f->scratch.folder, target ? "p" : "p.tsv");
    if (!options.columns) options.columns = "";
    if (!options.suffix[0]) options.suffix[0] = target ? "en" : "";
    if (!options.suffix[1]) options.suffix[1] = target ? "de" : "";
    return gsa_parallel_read(gsa_system_default(), path, &options, f->side, &f->error);
}

static void done(fixture *f)
{
    for (int s = 0; s < GSA_SIDES; s++)
        if (f->side[s].system) gsa_text_release(&f->side[s]);
    gsa_scratch_close(&f->scratch);
}

/* "a b=c|d=": source and target of each pair. */
static void show(const gsa_text *side, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int64_t e = 0; e < side[0].examples; e++)
        for (int s = 0; s < GSA_SIDES; s++) {
            used += (size_t)snprintf(out + used, size - used, "%s", s ? "=" : e ? "|" : "");
            for (int64_t i = side[s].offset[e]; i < side[s].offset[e + 1]; i++)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                         i > side[s].offset[e] ? " " : "",
                                         (int)side[s].token[i].bytes, side[s].token[i].at);
        }
}

static const struct {
    const char *source, *target, *expected;
    gsa_parallel_options options;
} good[] = {
    { "a b\nc\n", "x\ny z\n", "a b=x|c=y z", { .lower = 0 } },
    { "a b\r\nc", "x\ny z", "a b=x|c=y z", { .lower = 0 } },
    { "\n\n \n", "\nx\n\n", "=|=x|=", { .lower = 0 } },
    { "A\n", "\xc3\x84\n", "a=\xc3\xa4", { .lower = 1 } },
    { "ab\n", "c\n", "a b=c", { .tokens = GSA_TOKENS_CHARS } },
    { "\xef\xbb\xbf"
      "a\n",
      "\xef\xbb\xbfx\n",
      "a=x",
      { .lower = 0 } },
    { "a\tb\n", "x\n", "a b=x", { .lower = 0 } },
    { "a b\tx\nc\ty z\n", NULL, "a b=x|c=y z", { .lower = 0 } },
    { "\tx\nc\t\n\t\n", NULL, "=x|c=|=", { .lower = 0 } },
    { "x\tby A\ta\n", NULL, "a=x", { .columns = "target,-,source" } },
    { "a\n\n \nb\n\n", "x\n\n\ny\n\n", "a=x|=|=|b=y|=", { .documents = 1 } },
    { "\na\tx\n\n\t\nb\ty\n", NULL, "=|a=x|=|=|b=y", { .documents = 1 } },
};

START_TEST(good_files)
{
    fixture f;
    char shown[512];
    ck_assert_msg(read_both(&f, good[_i].source, good[_i].target, good[_i].options) == GSA_OK, "%s",
                  f.error.text);
    show(f.side, shown, sizeof shown);
    ck_assert_str_eq(shown, good[_i].expected);
    done(&f);
}
END_TEST

#define TEN(text) text text text text text text text text text text
static const struct {
    const char *source, *target, *expected;
    gsa_parallel_options options;
} bad[] = {
    { "a\nb\n", "x\n", "p.en has 2 lines, ", { .lower = 0 } },
    { "a\nb\n", "x\n", "p.de has 1: parallel text has equally many", { .lower = 0 } },
    { "", "", "p.en: the file holds no sentence", { .lower = 0 } },
    { "a\n\xff\n", "x\ny\n", "p.en:2: invalid UTF-8 at byte 1 of the line", { .lower = 0 } },
    { "a\n",
      "x\n",
      "data.source is 'en' and data.target is '': two files need both, one none",
      { .suffix = { "en", "" } } },
    { "a\n", "x\n", "p.fr': '", { .suffix = { "fr", "de" } } },
    { "a\n", "x\n", "p.fr': '", { .suffix = { "en", "fr" } } },
    { "a\tx\n",
      NULL,
      "names source 1 times and target 0 times, expected each once",
      { .columns = "source,-" } },
    { "a\tx\n",
      NULL,
      "expected a list of source, target and -",
      { .columns = "source,target" TEN(",-,-,-,-,-,-,-") } },
    { "a\tx\nb\n",
      NULL,
      "p.tsv:2: the line has 1 column, expected 2 with tabs between them",
      { .lower = 0 } },
    { "a\tx\n\nb\ty\n", NULL, "p.tsv:2: the line has 1 column, expected 2", { .lower = 0 } },
    { "a\tx\nb\xff\ty\n", NULL, "p.tsv:2: invalid UTF-8 at byte 2 of the line", { .lower = 0 } },
    { "a\tx\ty\n", NULL, "p.tsv:1: the line has 3 columns, expected 2", { .lower = 0 } },
    { "a\tx\n", NULL, "expected a list of source, target and -", { .columns = "source,a" } },
    { "a\tx\n",
      NULL,
      "names source 2 times and target 1 times, expected each once",
      { .columns = "source,source,target" } },
    { "", NULL, "p.tsv: the file holds no sentence", { .lower = 0 } },
    { "a\nb\n", "x\n \n", "p.de:2: the target is empty and the source of ", { .documents = 1 } },
    { "a\nb\n",
      "x\n \n",
      "p.en:2 is not: with data.documents = 1 an empty line parts documents",
      { .documents = 1 } },
    { "a\n\nb\n", "x\ny\n", "p.en:2: the source is empty and the target of ", { .documents = 1 } },
    { "a\nb\n", "x\n", "p.de has 1: parallel text has equally many", { .documents = 1 } },
    { "a\tx\nb\t\n", NULL, "p.tsv:2: the target is empty and the source of ", { .documents = 1 } },
    { "a\tx\n \n", NULL, "p.tsv:2: the line has 1 column, expected 2", { .documents = 1 } },
    { "\n\n", "\n\n", "p.en: the file holds no sentence", { .documents = 1 } },
};

START_TEST(bad_files)
{
    fixture f;
    ck_assert_int_ne(read_both(&f, bad[_i].source, bad[_i].target, bad[_i].options), GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected) != NULL, "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    done(&f);
}
END_TEST

START_TEST(a_path_has_a_length)
{
    static const gsa_parallel_options two = { .suffix = { "en", "de" }, .columns = "" };
    char path[5000];
    gsa_text side[GSA_SIDES];
    gsa_error error;
    memset(path, 'p', sizeof path - 1), path[sizeof path - 1] = 0;
    ck_assert_int_eq(gsa_parallel_read(NULL, path, &two, side, &error), GSA_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "ppp...' has more than 4095 bytes"));
}
END_TEST

START_TEST(a_line_of_ten_thousand_tokens)
{
    enum { TOKENS = 10000 };
    char *line = malloc(2 * TOKENS + 2);
    fixture f;
    for (int i = 0; i < TOKENS; i++) memcpy(line + 2 * i, i % 3 ? "b " : "a ", 2);
    memcpy(line + 2 * TOKENS, "\n", 2);
    ck_assert_int_eq(read_both(&f, line, line, (gsa_parallel_options){ .lower = 1 }), GSA_OK);
    ck_assert_int_eq(f.side[0].tokens, TOKENS);
    ck_assert_int_eq(f.side[1].tokens, TOKENS);
    done(&f);
    free(line);
}
END_TEST

/* Text to ids to text: with merges and without. */
START_TEST(pieces_give_the_text_back)
{
    static const char source[] = "lower lowest newest\n\nlow @@ x@@ \xc3\xa4\n",
                      target[] = "wider widest\nx\nnew low newer\n";
    static const char *const expected[] = { "lower lowest newest", "", "low @@ x@@ \xc3\xa4" };
    gsa_recipe recipe = {
        .values = { .data_bpe = _i ? 12 : 0, .data_bpe_codes = "", .data_min_count = 1 }
    };
    gsa_pieces pieces;
    gsa_piece_row row;
    fixture f;
    char *text = NULL;
    int64_t room = 0, bytes;
    ck_assert_int_eq(read_both(&f, source, target, (gsa_parallel_options){ .lower = 1 }), GSA_OK);
    ck_assert_int_eq(gsa_pieces_learn(gsa_system_default(), &recipe, f.side, 2, &pieces, &f.error),
                     GSA_OK);
    ck_assert_int_eq(pieces.bpe != NULL, _i);
    ck_assert_int_eq(pieces.size, pieces.end + 1);
    ck_assert_int_eq(gsa_pieces_number(&pieces, &f.side[0], &row, &f.error), GSA_OK);
    for (int e = 0; e < 3; e++) {
        const int64_t count = row.first[e + 1] - row.first[e];
        for (int64_t i = 0; i < count; i++)
            ck_assert_int_ge(row.id[row.first[e] + i], GSA_WORD_FIRST);
        ck_assert_int_eq(
            gsa_pieces_text(&pieces, row.id + row.first[e], count, &text, &room, &bytes, &f.error),
            GSA_OK);
        ck_assert_str_eq(text, expected[e]);
        ck_assert_int_eq(bytes, (int64_t)strlen(expected[e]));
    }
    gsa_release(gsa_system_default(), text);
    gsa_release(gsa_system_default(), row.first);
    gsa_release(gsa_system_default(), row.id);
    gsa_pieces_release(&pieces);
    done(&f);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test files[] = { GSA_LOOP(good_files, GSA_COUNT(good)),
                                      GSA_TEST(a_line_of_ten_thousand_tokens) };
    static const gsa_test refused[] = { GSA_LOOP(bad_files, GSA_COUNT(bad)),
                                        GSA_TEST(a_path_has_a_length) };
    static const gsa_test pieces[] = { GSA_LOOP(pieces_give_the_text_back, 2) };
    static const gsa_case cases[] = { GSA_CASE("files", files, 30), GSA_CASE("bad", refused, 30),
                                      GSA_CASE("pieces", pieces, 30) };
    return gsa_run_suite("parallel", cases, GSA_COUNT(cases), argc, argv);
}
