/* A file of one's own: what it is is told by what is in it, a recipe is written for it, and its
 * model is trained and found again with nothing else typed. Every file that is none gets one
 * sentence, and nothing is left of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"
#include "support/suite.h"

enum { LINES = 24, HOLDS = 6 };

/* `head`, then the patterns in turn, LINES of them; a '#' is the line's number. */
static void write_rows(const char *path, const char *head, const char *const *pattern)
{
    FILE *file = fopen(path, "wb");
    int patterns = 0;
    ck_assert_ptr_nonnull(file);
    if (head) fputs(head, file);
    while (pattern[patterns]) patterns++;
    for (int i = 0; i < LINES; i++)
        for (const char *at = pattern[i % patterns]; *at; at++) {
            if (*at == '#') fprintf(file, "%d", i);
            else fputc(*at, file);
        }
    ck_assert_int_eq(fclose(file), 0);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static gsa_ran ran;

static void run(const char *const *args, const char *input)
{
    gsa_cli_run(args, input, &ran);
    ck_assert_msg(ran.code == 0, "exit code %d: %s", ran.code, ran.err);
}

/* ---- kinds --------------------------------------------------------------------------------- */

static const struct {
    const char *file, *head, *pattern[4], *second; /* second: a file next to, with the same rows */
    const char *holds[HOLDS];                      /* lines of the recipe */
    const char *says;
} kinds[] = {
    { "a.tsv",
      NULL,
      { "pos\ta good film #\n", "neg\ta bad film #\n" },
      NULL,
      { "name = text_classification", "format = tsv", "columns = label,text", "header = 0",
        "hold = 2", "stratify = 1" },
      "2 labels: 'neg' 12, 'pos' 12" },
    { "header.tsv",
      "id\tbody\tsentiment\n",
      { "#\ta good film\tpos\n", "#\ta bad film\tneg\n" },
      NULL,
      { "columns = -,text,label", "header = 1" },
      "the first line names them" },
    { "unknown.tsv",
      "wie\twas\n",
      { "pos\ta good film #\n", "neg\ta bad film #\n" },
      NULL,
      { "columns = label,text", "header = 1" },
      "the first line names them" },
    { "a.csv",
      "text,label\n",
      { "\"good, \"\"very\"\"\ngood #\",pos\n", "bad #,neg\n" },
      NULL,
      { "format = csv", "columns = text,label", "header = 1" },
      "24 texts" },
    { "semicolons.csv",
      NULL,
      { "\"good; #\";1\n", "a bad one #;0\n" },
      NULL,
      { "format = csv", "columns = text,label" },
      "2 labels" },
    { "a.jsonl",
      NULL,
      { "{\"id\": #, \"review\": \"good film #\", \"stars\": 5}\n",
        "{\"review\": \"bad film #\", \"id\": #, \"stars\": 1}\n" },
      NULL,
      { "format = json", "columns = label=stars,text=review" },
      "2 labels: '1' 12, '5' 12" },
    { "a.txt",
      NULL,
      { "__label__x good film #\n", "__label__y bad film #\n" },
      NULL,
      { "format = fasttext" },
      "__label__" },
    { "numbered.txt",
      NULL,
      { "1 good film #\n", "0 bad film #\n" },
      NULL,
      { "format = stsa" },
      "LABEL text" },
    { "latin.tsv",
      NULL,
      { "pos\tcaf\xe9 # good\n", "neg\tcaf\xe9 # bad\n" },
      NULL,
      { "encoding = mixed" },
      "windows-1252" },
    { "markup.tsv",
      NULL,
      { "pos\tgood<br />film #\n", "neg\tbad<br />film #\n" },
      NULL,
      { "markup = 1" },
      "2 labels" },
    { "han.tsv",
      NULL,
      { "1\t\xe6\x88\xbf\xe9\x97\xb4\xe5\xbe\x88\xe5\xa5\xbd#\n",
        "0\t\xe6\x88\xbf\xe9\x97\xb4\xe5\xbe\x88\xe5\xb0\x8f#\n" },
      NULL,
      { "tokens = chars" },
      "characters" },
    { "trees.txt",
      NULL,
      { "(3 (2 It) (4 good))\n", "(1 (2 It) (0 bad))\n" },
      "trees.dev.txt",
      { "format = sst", "subtrees = 1", "dev = trees.dev.txt" },
      "trees" },
    { "pairs.tsv",
      NULL,
      { "a man sleeps #\ta man is awake\tno\n", "a man sleeps #\ta man rests\tyes\n" },
      NULL,
      { "name = sentence_pairs", "columns = a,b,label" },
      "24 pairs" },
    { "snli.jsonl",
      NULL,
      { "{\"gold_label\": \"n\", \"sentence1\": \"a man #\", \"sentence2\": \"a dog\"}\n",
        "{\"gold_label\": \"y\", \"sentence1\": \"a man #\", \"sentence2\": \"a man\"}\n" },
      NULL,
      { "name = sentence_pairs", "format = snli" },
      "SNLI" },
    { "names.conll",
      NULL,
      { "Ann# B-PER\nsleeps O\n. O\n\n", "In O\nRome# B-LOC\n. O\n\n" },
      NULL,
      { "name = tagging", "head = crf", "scheme = BIOES", "format = conll", "characters = ring*2",
        "hold = 2" },
      "3 tags of spans" },
    { "pos.conllu",
      NULL,
      { "1\tAnn#\t_\tNOUN\t_\t_\t0\t_\t_\t_\n2\tsleeps\t_\tVERB\t_\t_\t1\t_\t_\t_\n\n" },
      NULL,
      { "name = tagging", "head = linear", "format = conllu" },
      "2 plain tags" },
    { "names.chars",
      NULL,
      { "\xe9\xab\x98 B-NAME\n\xe5\x8b\x87 E-NAME\n\xef\xbc\x8c O\n\n",
        "\xe7\x94\xb7 O\n\xef\xbc\x8c O\n\n" },
      NULL,
      { "format = chars", "characters = none", "lower = 0" },
      "a character and its tag" },
    { "book.txt",
      NULL,
      { "#. It was the best of times, it was the worst of times.\n" },
      NULL,
      { "name = language_modelling", "tokens = chars", "split = 0.9,0.1" },
      "running text" },
    { "parallel.tsv",
      NULL,
      { "a red house #\tein rotes Haus #\n", "the old man #\tder alte Mann #\n" },
      NULL,
      { "name = translation", "columns = source,target", "hold = 2", "alpha = 1" },
      "parallel text" },
    { "text.en",
      NULL,
      { "a red house #\n", "the old man #\n" },
      "text.de",
      { "name = translation", "train = text", "source = en", "target = de" },
      "en into de" },
};

START_TEST(a_file_is_known_by_what_stands_in_it)
{
    gsa_cli_enter();
    write_rows(kinds[_i].file, kinds[_i].head, kinds[_i].pattern);
    if (kinds[_i].second) write_rows(kinds[_i].second, NULL, kinds[_i].pattern);
    if (kinds[_i].second)
        run(ARGS("init", kinds[_i].file, kinds[_i].second, "--out", "r.ini"), NULL);
    else run(ARGS("init", kinds[_i].file, "--out", "r.ini"), NULL);
    ck_assert_msg(strstr(ran.err, kinds[_i].says), "'%s' lacks '%s'", ran.err, kinds[_i].says);
    char *recipe = gsa_cli_read("r.ini"), line[256];
    ck_assert_ptr_nonnull(recipe);
    for (int i = 0; i < HOLDS && kinds[_i].holds[i]; i++) {
        snprintf(line, sizeof line, "\n%s\n", kinds[_i].holds[i]);
        ck_assert_msg(strstr(recipe, line), "no '%s' in: %s", kinds[_i].holds[i], recipe);
    }
    ck_assert_ptr_null(strchr(recipe, '{'));
    free(recipe);
    run(ARGS("train", "r.ini", "--quiet", "--set", "train.max_steps=1", "--threads", "1"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"dev_"));
    gsa_cli_leave();
}
END_TEST

/* Sentences often begin alike, and some as no other does. */
START_TEST(first_words_of_sentences_are_no_labels)
{
    gsa_cli_enter();
    FILE *file = fopen("captions.txt", "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 60; i++)
        if (i % 8 == 7) fprintf(file, "word%d begins one of the sentences\n", i);
        else fprintf(file, "%s man number %d is walking\n", i % 3 ? "a" : "the", i);
    ck_assert_int_eq(fclose(file), 0);
    run(ARGS("init", "captions.txt", "--out", "r.ini"), NULL);
    ck_assert_msg(strstr(ran.err, "captions.txt: running text, no labels") != NULL, "%s", ran.err);
    gsa_cli_leave();
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    int count; /* 0: a text, LINES times */
    const char *args[4], *says;
} bad[] = {
    { "", -1, { NULL }, "f.tsv: the file is empty" },
    { " \n\n", -1, { NULL }, "f.tsv: the file holds blanks alone" },
    { "\xff\xfe"
      "a\0b\0",
      6,
      { NULL },
      "f.tsv: the file is UTF-16, expected UTF-8: 'iconv -f UTF-16 -t UTF-8 f.tsv >NEW'" },
    { "a\0b\0c\0d\0", 8, { NULL }, "f.tsv: the file is UTF-16" },
    { "abcdefghijklmn\0op", 17, { NULL }, "f.tsv: the file is no text: byte 15 is zero" },
    { "a\x01"
      "b\x02"
      "c",
      5,
      { NULL },
      "f.tsv: the file is no text: 2 of its first 5 bytes are control characters" },
    { "\x1f\x8b\x08",
      3,
      { NULL },
      "f.tsv: the file is packed by gzip, expected text: unpack it first (gunzip)" },
    { "x\ta b #\n", 0, { NULL }, "f.tsv: every example has the label 'x'" },
    { "#\ta b #\n", 0, { NULL }, "f.tsv: none of its 2 columns holds labels" },
    { "__label__# a b\n",
      0,
      { NULL },
      "f.tsv: its 24 examples have 24 different labels: numbers to be predicted (regression), or "
      "ids" },
    { "__label__x# a b\n",
      0,
      { NULL },
      "f.tsv: its 24 examples have 24 different labels: ids or names" },
    { "x\ta b\ny\tc\nx\td e\ny\ty\tz\nx\tq r\ny\ts\nx\td\ny\tz\nx\tz\ny\tz\nx\tq\ny\tz\n",
      -1,
      { NULL },
      "f.tsv:4: the line has 3 columns, expected 2" },
    { "x,a b\ny,\"c\nx,d\ny,e f\n",
      -1,
      { "--format", "csv" },
      "f.tsv:2: a quote opens in the record that begins here" },
    { "[{\"a\": 1},\n {\"a\": 2}]\n",
      -1,
      { NULL },
      "f.tsv: JSON over several lines, expected an object a line: 'jq -c .[]" },
    { "{\"data\": [{\"paragraphs\": []}]}\n",
      -1,
      { NULL },
      "'gsa train drcd' and 'gsa train cmrc' are recipes" },
    { "__label__x a b\n__label__y c d\n",
      -1,
      { NULL },
      "f.tsv: 2 examples are too few to learn from: 8 at least" },
    { "It was the best of times.\n",
      -1,
      { "--task", "language_modelling" },
      "f.tsv: 26 characters of running text are too few" },
    { "(3 (2 It) (4 good))\n", 0, { NULL }, "f.tsv: every example has the label '3'" },
    { "x\ta b #\n",
      0,
      { "--task", "tagging" },
      "f.tsv: task tagging cannot be learned from columns between tabs" },
    { "x\ta b #\n",
      0,
      { "--columns", "label,words" },
      "data.columns holds 'words', expected a list of label, text and -" },
    { "x\ta b #\n", 0, { "--format", "xml" }, "--format" },
    { "#|a good film\n",
      0,
      { NULL },
      "f.tsv: its name says columns, but its lines have no equal numbers of tabs, or of ',' or "
      "';'; --task" },
    { "#a film\n#b film\tx\n#c film\ty\n",
      0,
      { NULL },
      "or of ',' or ';' (line 1 has 0 tabs, line 2 has 1); --task" },
    { "x\ta b\ry\tc d\rx\te f\r",
      -1,
      { NULL },
      "f.tsv: its lines end with a carriage return alone: 'tr \"\\r\" \"\\n\" <f.tsv >NEW'" },
    { "\ta b\ny\tc\nx\td e\ny\ty\nx\tq r\ny\ts\nx\td\ny\tz\nx\tz\ny\tz\nx\tq\ny\tz\n",
      -1,
      { NULL },
      "f.tsv: column 1 is like labels, but 1 of its first 12 are empty: expected one on each "
      "line" },
    { "x\ta film\n\ta film\ny\tno film\nx\ta b\n",
      0,
      { NULL },
      "f.tsv: column 1 is like labels, but 24 of its first 96 are empty" },
    { "x,a film\n", 0, { "--format", "tsv" }, "f.tsv: no line has two columns between tabs" },
    { "{\"text\": \"a film #\"}\n",
      0,
      { NULL },
      "f.tsv: the objects have one field, 'text': expected a label and a text in each" },
    { "{\"text\": \"a film #\"}\n{\"text\": \"a #\", \"stars\": 1}\n"
      "{\"text\": \"b #\", \"stars\": 2}\n",
      0,
      { NULL },
      "f.tsv:1: the object has no field 'stars'" },
    { "{\"text\": \"a film #\", \"x\": \"\"}\n{\"text\": \"a #\", \"x\": 1}\n"
      "{\"text\": \"b #\", \"x\": 2}\n",
      0,
      { NULL },
      "f.tsv: field 'x' is like labels, but 24 of its first 72 are empty" },
    { "{\"text\": \"a film #\", \"meta\": {\"label\": 1}}\n",
      0,
      { NULL },
      "f.tsv: no field holds labels: field 'meta' holds an object, expected a string" },
    { "{\"text\": \"a film #\", \"label\": null}\n{\"text\": \"a #\", \"label\": 1}\n"
      "{\"text\": \"b #\", \"label\": 2}\n",
      0,
      { NULL },
      "f.tsv:1: field 'label' is no string, but null" },
};

START_TEST(a_file_that_cannot_be_learned_from_is_one_sentence)
{
    gsa_cli_enter();
    if (bad[_i].count == 0) {
        write_rows("f.tsv", NULL, (const char *const[]){ bad[_i].bytes, NULL });
    } else {
        FILE *file = fopen("f.tsv", "wb");
        fwrite(bad[_i].bytes, 1, bad[_i].count < 0 ? strlen(bad[_i].bytes) : (size_t)bad[_i].count,
               file);
        fclose(file);
    }
    char *before = gsa_cli_listing();
    static const char *const verbs[] = { "init", "train" };
    for (int v = 0; v < 2; v++) {
        gsa_cli_run(ARGS(verbs[v], "f.tsv", bad[_i].args[0], bad[_i].args[1]), NULL, &ran);
        ck_assert_msg(ran.code == 2 && ran.signal == 0, "%s: code %d, signal %d: %s", verbs[v],
                      ran.code, ran.signal, ran.err);
        ck_assert_msg(strstr(ran.err, bad[_i].says), "%s: '%s' lacks '%s'", verbs[v], ran.err,
                      bad[_i].says);
        ck_assert_str_eq(ran.out, "");
        char *after = gsa_cli_listing();
        ck_assert_str_eq(before, after);
        free(after);
    }
    free(before);
    gsa_cli_leave();
}
END_TEST

START_TEST(a_huge_line_is_one_sentence)
{
    gsa_cli_enter();
    FILE *file = fopen("f.tsv", "wb");
    static char block[1 << 20];
    memset(block, 'a', sizeof block);
    for (int i = 0; i < 17; i++) fwrite(block, 1, sizeof block, file);
    fputs("\nx\ty\n", file);
    fclose(file);
    gsa_cli_run(ARGS("init", "f.tsv"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(strstr(
        ran.err,
        "f.tsv:1: the line has 17825792 bytes, more than 16777216: expected an example a line"));
    gsa_cli_leave();
}
END_TEST

static const char *const film[] = { "pos\ta good film #\n", "neg\ta bad film #\n", NULL };

/* Line ends part lines of a recipe, blanks around a value go, and what is no UTF-8 is refused. */
START_TEST(a_name_that_no_recipe_holds_is_one_sentence)
{
    static const char *const names[] = { "new\nline.tsv", " before.tsv", "behind ", "behind\t",
                                         "\xff.tsv" };
    static const char *const shown[] = { "'new\\x0aline.tsv'", "' before.tsv'", "'behind '",
                                         "'behind\\x09'", "'\\xff.tsv'" };
    static const char *const verbs[] = { "init", "train" };
    char says[128];
    gsa_cli_enter();
    for (int i = 0; i < GSA_COUNT(names); i++) {
        write_rows(names[i], NULL, film);
        snprintf(says, sizeof says, "gsa: %s cannot be in a recipe", shown[i]);
        for (int v = 0; v < GSA_COUNT(verbs); v++) {
            gsa_cli_run(ARGS(verbs[v], names[i]), NULL, &ran);
            ck_assert_int_eq(ran.code, 2);
            ck_assert_msg(strstr(ran.err, says) != NULL, "%s", ran.err);
            ck_assert_str_eq(ran.out, "");
        }
        remove(names[i]);
    }
    ck_assert(!gsa_cli_exists("runs"));
    gsa_cli_leave();
}
END_TEST

START_TEST(a_label_with_one_example_is_told_and_trained_on)
{
    gsa_cli_enter();
    write_rows("f.tsv", "odd\tneither of them\n", film);
    run(ARGS("init", "f.tsv"), NULL);
    ck_assert_ptr_nonnull(strstr(
        ran.err, "note: the label 'odd' has one example: it is trained on, and never held out"));
    gsa_cli_leave();
}
END_TEST

/* Settings follow the number of examples. */
START_TEST(many_pairs_are_read_wider)
{
    gsa_cli_enter();
    FILE *file = fopen("pairs.tsv", "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 10000; i++)
        fprintf(file, "man %d sleeps\tman %d %s\t%s\n", i, i, i % 2 ? "rests" : "walks",
                i % 2 ? "yes" : "no");
    ck_assert_int_eq(fclose(file), 0);
    static const char *const holds[] = { "hidden = 200", "ffn = 400", "dropout_input = 0.3",
                                         "batch = 64", "epochs = 8" };
    run(ARGS("init", "pairs.tsv", "--out", "r.ini"), NULL);
    char *recipe = gsa_cli_read("r.ini"), line[64];
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
        snprintf(line, sizeof line, "\n%s\n", holds[i]);
        ck_assert_msg(strstr(recipe, line), "no '%s' in: %s", holds[i], recipe);
    }
    free(recipe);
    gsa_cli_leave();
}
END_TEST

START_TEST(who_asks_for_something_else_is_heard)
{
    gsa_cli_enter();
    write_rows("f.tsv", NULL, film);
    run(ARGS("init", "language_modelling", "book.txt", "--help"), NULL);
    gsa_cli_run(ARGS("init", "sentence_pairs", "f.tsv"), NULL, &ran);
    ck_assert_ptr_nonnull(
        strstr(ran.err, "a pair has a label and two texts, and the file has 2 columns"));
    run(ARGS("init", "f.tsv", "--columns", "label,text", "--out", "r.ini"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "columns label,text"));
    gsa_cli_run(ARGS("init", "f.tsv", "--out", "r.ini"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(strstr(ran.err, "'r.ini' is there already"));
    gsa_cli_run(ARGS("init", "tagging", "f.tsv", "--task", "tagging"), NULL, &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, "the task is named twice"));
    gsa_cli_run(ARGS("train", "text.ini", "--task", "tagging"), NULL, &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, "--task is for a file of data"));
    gsa_cli_write("open.csv", "label,text\npos,\"a good film\nneg,a bad one\n");
    gsa_cli_run(ARGS("init", "open.csv"), NULL, &ran);
    ck_assert_ptr_nonnull(strstr(
        ran.err, "open.csv:2: a quote opens in the record that begins here and is never closed"));
    gsa_cli_run(ARGS("predict"), "a\n", &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, "'gsa predict' needs --model DIR"));
    gsa_cli_leave();
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

START_TEST(train_then_predict_with_nothing_else_typed)
{
    gsa_cli_enter();
    static const char *const objects[] = { "{\"body\": \"a good film #\", \"class\": 1}\n",
                                           "{\"body\": \"a bad film #\", \"class\": 0}\n", NULL };
    write_rows("film.tsv", NULL, film);
    write_rows("film.jsonl", NULL, objects);
    run(ARGS("train", "film.tsv"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "2 labels: 'neg' 12, 'pos' 12"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\"dev_accuracy\": 1"));
    ck_assert(gsa_cli_exists("runs/film/recipe.ini") && gsa_cli_exists("runs/film/result.json"));
    run(ARGS("predict", "--device", "cpu"), "a good one\na bad one\n");
    ck_assert_ptr_nonnull(strstr(ran.out, "pos\t"));
    ck_assert_ptr_nonnull(strstr(ran.out, "\nneg\t"));
    ck_assert_str_eq(ran.err, "");
    run(ARGS("predict"), "pos\ta good one\nneg\ta bad one\na bad one\n");
    ck_assert_ptr_nonnull(strstr(ran.err,
                                 "note: 2 of the 3 lines have the training data's form "
                                 "(tsv): each whole line, its label too, is read as text"));
    gsa_cli_run(ARGS("predict", "film.tsv"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_ptr_nonnull(
        strstr(ran.err, "'film.tsv' is a file, expected a text: --input film.tsv reads its lines"));
    run(ARGS("eval"), NULL);
    run(ARGS("train", "film.jsonl", "--set", "train.max_steps=1"), NULL);
    run(ARGS("predict"), "{\"body\": \"a good one\"}\n");
    ck_assert_ptr_nonnull(strstr(ran.err, "note: 1 of the 1 lines have the training data's form"));
    run(ARGS("train", "runs/film/recipe.ini", "--quiet", "--set", "train.max_steps=1"), NULL);
    run(ARGS("train", "film.tsv", "--quiet", "--set", "train.max_steps=1"),
        NULL); /* a run next to it, and the last one */
    ck_assert(gsa_cli_exists("runs/film-3/recipe.ini"));
    char *last = gsa_cli_read("runs/last");
    ck_assert_str_eq(last, "film-3\n");
    free(last);
    gsa_cli_leave();
}
END_TEST

/* runs/last that names no run stays as it is, and verbs take no model from it. */
START_TEST(another_file_named_last_stays)
{
    static const char *const makes[] = { "echo film >kept; ln -s ../kept runs/last",
                                         "printf 'notes\nof a user\n' >runs/last",
                                         "mkdir runs/last; echo mine >runs/last/mine",
                                         "mkfifo runs/last",
                                         "echo 'call Anna, last run was fine' >runs/last" };
    gsa_cli_enter();
    write_rows("film.tsv", NULL, film);
    ck_assert_int_eq(system("mkdir runs"), 0);
    ck_assert_int_eq(system(makes[_i]), 0);
    ck_assert_int_eq(system("ls -li runs | grep last | cut -d' ' -f1 >inode"), 0);
    run(ARGS("train", "film.tsv", "--quiet", "--set", "train.max_steps=1"), NULL);
    ck_assert_msg(strstr(ran.err, "note: runs/last names no run and stays"), "%s", ran.err);
    ck_assert_int_eq(system("ls -li runs | grep last | cut -d' ' -f1 | cmp - inode"), 0);
    ck_assert(!gsa_cli_exists("kept") || system("grep -qx film kept") == 0);
    gsa_cli_run(ARGS("predict", "a good film"), NULL, &ran);
    ck_assert_msg(ran.code == 2 && strstr(ran.err, "--model"), "%s", ran.err);
    gsa_cli_leave();
}
END_TEST

/* The command reports how many texts and pairs it cuts. */
START_TEST(a_text_that_is_cut_is_told)
{
    static const char *const pairs[] = { "a man sleeps #\ta man is awake\tno\n",
                                         "a man sleeps #\ta man rests\tyes\n", NULL };
    gsa_cli_enter();
    write_rows("film.tsv", "pos\ta film of five words\n", film);
    write_rows("pairs.tsv", NULL, pairs);
    run(ARGS("train", "film.tsv", "--set", "train.max_steps=1", "--set", "data.max_length=4"),
        NULL);
    ck_assert_msg(strstr(ran.err, "the longest 4; 1 of the file's texts are cut to 4 tokens\n"),
                  "%s", ran.err);
    run(ARGS("train", "pairs.tsv", "--set", "train.max_steps=1", "--set", "data.max_length=3"),
        NULL);
    ck_assert_msg(strstr(ran.err, "the longest sentence 3; 36 of the file's texts are cut to 3"),
                  "%s", ran.err);
    gsa_cli_leave();
}
END_TEST

/* The error names the file that points to a run that no longer exists. */
START_TEST(a_last_run_that_is_gone_is_told)
{
    gsa_cli_enter();
    ck_assert_int_eq(mkdir("runs", 0777), 0);
    gsa_cli_write("runs/last", "film\n");
    gsa_cli_run(ARGS("predict", "a good film"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "runs/last names the run 'film', which is not there: expected "
                                  "--model DIR"),
                  "%s", ran.err);
    gsa_cli_leave();
}
END_TEST

/* What the first step cannot begin with leaves no folder, so that the next try has its name. */
START_TEST(a_run_that_never_began_leaves_nothing)
{
    gsa_cli_enter();
    write_rows("film.tsv", NULL, film);
    gsa_cli_run(ARGS("train", "film.tsv", "--set", "model.heads=7"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert(!gsa_cli_exists("runs/film"));
    run(ARGS("train", "film.tsv", "--quiet", "--set", "train.max_steps=1"), NULL);
    ck_assert(gsa_cli_exists("runs/film/recipe.ini"));
    gsa_cli_leave();
}
END_TEST

#ifdef GSA_JSON_FAILS
/* Nor does what ends at once, before the run's own files are there; later its lock goes. */
START_TEST(a_run_without_memory_for_json_is_taken_back)
{
    static const char *const objects[] = { "{\"body\": \"a good film #\", \"class\": 1}\n",
                                           "{\"body\": \"a bad film #\", \"class\": 0}\n", NULL };
    static const struct {
        const char *after, *left;
    } fails[] = { { "runs/film/recipe.ini", "test ! -e runs/film" },
                  { "runs/film/log.jsonl",
                    "test -e runs/film/recipe.ini && test ! -e runs/film/lock" } };
    char command[1024];
    gsa_cli_enter();
    write_rows("film.jsonl", NULL, objects);
    for (int i = 0; i < GSA_COUNT(fails); i++) {
        snprintf(command, sizeof command,
                 "rm -rf runs; r=0; GSA_FAILS_AFTER=%s LD_PRELOAD=" GSA_JSON_FAILS " " GSA_COMMAND
                 " train film.jsonl --quiet >out 2>err || r=$?; test $r = 1 && "
                 "grep -q 'JSON: out of memory' err && %s",
                 fails[i].after, fails[i].left);
        ck_assert_msg(system(command) == 0, "%s", fails[i].after);
    }
    gsa_cli_leave();
}
END_TEST
#endif

#ifdef GSA_SYNC_ENDS
/* The signal comes once the recipe has its name. */
START_TEST(a_recipe_that_is_whole_stays)
{
    gsa_cli_enter();
    write_rows("film.tsv", NULL, film);
    ck_assert_int_eq(symlink("aim.ini", "link.ini"), 0);
    ck_assert_int_eq(system("set -e; for out in new.ini link.ini; do r=0; GSA_ENDS_AFTER=$out "
                            "LD_PRELOAD=" GSA_SYNC_ENDS " " GSA_COMMAND
                            " init film.tsv --out $out --quiet || "
                            "r=$?; test $r = 143; grep -q '^\\[train\\]' $out; done; "
                            "test $(ls | grep -c tmp-gsa) = 0; test -f aim.ini -a -h link.ini"),
                     0);
    gsa_cli_leave();
}
END_TEST
#endif

/* Two files of one name at once: each gets a folder, with its own recipe. */
START_TEST(two_at_once_get_two_folders)
{
    enum { ROUNDS = 10 };
    gsa_cli_enter();
    ck_assert(mkdir("a", 0777) == 0 && mkdir("b", 0777) == 0);
    write_rows("a/own.tsv", NULL, film);
    write_rows("b/own.tsv", NULL, film);
    for (int i = 0; i < ROUNDS; i++)
        ck_assert_int_eq(
            system(
                "rm -rf runs; for d in a b; do " GSA_COMMAND
                " train $d/own.tsv --quiet --set train.max_steps=1 >$d/out 2>$d/err & "
                "done; wait; set -e; grep -l b/own.tsv runs/own*/recipe.ini >seen; "
                "grep -l a/own.tsv runs/own*/recipe.ini >>seen; test $(sort -u seen | wc -l) = 2; "
                "test -s a/out -a -s b/out"),
            0);
    gsa_cli_leave();
}
END_TEST

/* runs/last is a file that names a run: no run's folder has that name. */
START_TEST(a_file_named_last_is_no_trouble)
{
    gsa_cli_enter();
    write_rows("last.tsv", NULL, film);
    gsa_cli_run(ARGS("train", "last.tsv", "--out", "runs/last"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(
        strstr(ran.err, "--out runs/last: a file of that name says which run was the last") != NULL,
        "%s", ran.err);
    run(ARGS("train", "last.tsv", "--quiet", "--set", "train.max_steps=1"), NULL);
    ck_assert(gsa_cli_exists("runs/last-2/recipe.ini"));
    run(ARGS("predict"), "a good one\n");
    gsa_cli_leave();
}
END_TEST

/* The same examples are held out at every call, and none of them is trained on. */
START_TEST(taggers_and_translators_hold_out_too)
{
    static const char *const tags[] = { "Ann# B-PER\nsleeps O\n. O\n\n",
                                        "In O\nRome# B-LOC\n. O\n\n", NULL };
    static const char *const two[] = { "a red house #\tein rotes Haus #\n",
                                       "the old man #\tder alte Mann #\n", NULL };
    gsa_cli_enter();
    write_rows("names.conll", NULL, tags);
    write_rows("two.tsv", NULL, two);
    run(ARGS("train", "names.conll", "--set", "train.max_steps=1"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "train: names.conll, read as conll: 22 sentences"));
    ck_assert_ptr_nonnull(strstr(ran.err, "dev: names.conll, read as conll: 2 sentences"));
    run(ARGS("predict"), "Ann\nsleeps\n");
    run(ARGS("train", "two.tsv", "--set", "train.max_steps=1"), NULL);
    ck_assert_ptr_nonnull(strstr(ran.err, "train: two.tsv: 22 pairs"));
    ck_assert_ptr_nonnull(strstr(ran.err, "dev: two.tsv: 2 pairs"));
    gsa_cli_run(ARGS("train", "runs/two/recipe.ini", "--set", "data.documents=1"), NULL, &ran);
    ck_assert_ptr_nonnull(strstr(ran.err, "hold = 2 and documents = 1 exclude each other"));
    gsa_cli_leave();
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test known[] = { GSA_LOOP(a_file_is_known_by_what_stands_in_it,
                                               GSA_COUNT(kinds)),
                                      GSA_TEST(first_words_of_sentences_are_no_labels) };
    static const gsa_test refused[] = { GSA_LOOP(a_file_that_cannot_be_learned_from_is_one_sentence,
                                                 GSA_COUNT(bad)),
                                        GSA_TEST(a_huge_line_is_one_sentence),
                                        GSA_TEST(a_name_that_no_recipe_holds_is_one_sentence),
                                        GSA_TEST(a_label_with_one_example_is_told_and_trained_on),
                                        GSA_TEST(many_pairs_are_read_wider),
                                        GSA_TEST(who_asks_for_something_else_is_heard) };
    static const gsa_test runs[] = { GSA_TEST(train_then_predict_with_nothing_else_typed),
                                     GSA_TEST(a_text_that_is_cut_is_told),
                                     GSA_TEST(a_last_run_that_is_gone_is_told),
                                     GSA_TEST(a_run_that_never_began_leaves_nothing),
#ifdef GSA_JSON_FAILS
                                     GSA_TEST(a_run_without_memory_for_json_is_taken_back),
#endif
#ifdef GSA_SYNC_ENDS
                                     GSA_TEST(a_recipe_that_is_whole_stays),
#endif
                                     GSA_TEST(two_at_once_get_two_folders),
                                     GSA_TEST(a_file_named_last_is_no_trouble),
                                     GSA_LOOP(another_file_named_last_stays, 5),
                                     GSA_TEST(taggers_and_translators_hold_out_too) };
    static const gsa_case cases[] = { GSA_CASE("known", known, 60),
                                      GSA_CASE("refused", refused, 60),
                                      GSA_CASE("runs", runs, 60) };
    return gsa_run_suite("own_file", cases, GSA_COUNT(cases), argc, argv);
}
