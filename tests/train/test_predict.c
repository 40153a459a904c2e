/* gsa_predict: a line out for each line in, in order, whatever the batches are; a line that cannot
 * be read stops it before it writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

enum { LINES = 150 }; /* more than two batches of 64 */

static const struct {
    const char *recipe, *const set[4],
        *trained;        /* trained: a file of training data, or NULL: the rig's */
    const char *line[3]; /* of lines to predict, in turn */
} tasks[] = {
    { rig_text,
      { "data.format=tsv" },
      NULL,
      { "a fine film", "an awful and tedious mess", "fun" } },
    { rig_text,
      { "data.columns=label,-,text", "data.markup=1", "data.tokens=punctuated" },
      "good\t1\ta<br />fine film!\nbad\t2\tan awful mess.\ngood\t3\tfun?\nbad\t4\tno, no\n",
      { "a fine film!", "an awful<br />mess", "so, fun" } },
    { rig_text,
      { "data.format=fasttext" },
      "__label__good a film\n__label__bad no mess\n",
      { "a film", "no mess", "unknown" } },
    { rig_text,
      { "data.format=stsa" },
      "1 a film\n0 no mess\n",
      { "1 film", "no mess at all", "0" } },
    { rig_text,
      { "data.format=sst" },
      "(1 (1 a) (1 film))\n(0 (0 no) (0 mess))\n",
      { "a film", "no ( mess )", "(1 a)" } },
    { rig_text,
      { "data.encoding=cp1252" },
      "good\tcaf\xe9\nbad\t\x93no\x94\n",
      { "caf\xe9", "\x93no\x94", "\x80 \x81" } },
    { rig_pairs,
      { "data.format=tsv" },
      NULL,
      { "fine day\tday", "fine day\tnight", "unheard\tof" } },
    { rig_pairs,
      { "data.columns=-,a,b,label" },
      "1\ta b\tb\tyes\n2\ta b\tc\tno\n3\td\td\tyes\n4\td\te\tno\n",
      { "a b\tb", "a b\tc", "d\td" } },
    { rig_pairs,
      { "data.format=snli", "task.features=both" },
      NULL,
      { "{\"sentence1\": \"fine day\", \"sentence2\": \"day\"}",
        "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"gold_label\": \"-\"}", /* no label is looked
                                                                                  at: no line is
                                                                                  skipped */
        "{\"sentence2\": \"x y z\", \"sentence1\": \"q\"}" } },
};

static const char objects[] =
    "{\"gold_label\": \"yes\", \"sentence1\": \"fine day\", \"sentence2\": \"day\"}\n"
    "{\"gold_label\": \"-\", \"sentence1\": \"fine day\", \"sentence2\": \"sun\"}\n"
    "{\"gold_label\": \"no\", \"sentence1\": \"fine day\", \"sentence2\": \"night\"}\n";

static void train(rig *r, int task)
{
    const char *trained = tasks[task].trained;
    rig_open(r, tasks[task].recipe, GSA_F32, 1);
    if (!trained && strcmp(tasks[task].set[0], "data.format=snli") == 0) trained = objects;
    if (trained) {
        gsa_put_file(gsa_scratch_path(&r->scratch, "own.txt"), trained, (int64_t)strlen(trained));
        r->data[0] = "own.txt";
        rig_set(r, "data.dev=");
    }
    for (int i = 0; i < 4 && tasks[task].set[i]; i++) rig_set(r, tasks[task].set[i]);
    rig_set(r, "train.epochs=1");
    rig_set(r, "train.average=0");
    rig_train_ok(r, "run");
}

/* What is predicted of the bytes, to be freed; NULL where it fails, and then no file is there. */
static char *predict(rig *r, const char *bytes, gsa_status expected)
{
    char in[300], out[300], model[300];
    int64_t count;
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    snprintf(model, sizeof model, "%s/run", r->scratch.folder);
    remove(out);
    gsa_put_file(in, bytes, (int64_t)strlen(bytes));
    const gsa_apply_options o = {
        .model = model, .backend = r->backend, .input = in, .output = out
    };
    const gsa_status status = gsa_predict(NULL, &o, &r->error);
    ck_assert_msg(status == expected, "%s", status == GSA_OK ? "no error" : r->error.text);
    if (status == GSA_OK) return gsa_get_file(out, &count);
    FILE *left = fopen(out, "r");
    ck_assert_ptr_null(left);
    return NULL;
}

START_TEST(a_line_for_each_line_in_order)
{
    char many[LINES * 100] = "", *alone[3];
    rig r;
    train(&r, _i);
    for (int i = 0; i < 3; i++) {
        char one[128];
        snprintf(one, sizeof one, "%s\n", tasks[_i].line[i]);
        alone[i] = predict(&r, one, GSA_OK);
    }
    for (int i = 0, used = 0; i < LINES; i++) /* CR LF counts as LF; the last line lacks its end */
        used += snprintf(many + used, sizeof many - (size_t)used, "%s%s", tasks[_i].line[i * i % 3],
                         i + 1 == LINES ? ""
                         : i % 5 == 1   ? "\r\n"
                                        : "\n");
    char *out = predict(&r, many, GSA_OK), *at = out;
    for (int i = 0; i < LINES; i++) {
        const char *line = alone[i * i % 3];
        const size_t name = strcspn(line, "\t") + 1;
        char *stop = strchr(at, '\n');
        ck_assert_msg(stop && strncmp(at, line, name) == 0, "line %d: '%.20s' is not '%s'", i + 1,
                      at, line);
        ck_assert_double_eq_tol(strtod(at + name, NULL), strtod(line + name, NULL),
                                2e-6); /* others share its batch */
        at = stop + 1;
    }
    ck_assert_str_eq(at, "");
    free(out);
    for (int i = 0; i < 3; i++) free(alone[i]);
    rig_close(&r);
}
END_TEST

static const struct {
    int task;
    const char *bytes, *expected;
} bad[] = {
    { 0, "a\n\nb\n", "in:2: the example is empty" },
    { 0, "a\n  \t\nb\n", "in:2: the example is empty" },
    { 0, "a\nb\r\n\r\nc\n", "in:3: the example is empty" },
    { 0, "a\nb\xff\n", "in:2: invalid UTF-8 at byte 2 of the line (0xff)" },
    { 1, "a\n<br />\n", "in:2: the example is empty" },
    { 6, "a\tb\n\n", "in:2: the line is empty" },
    { 6, "a\tb\na\n", "in:2: the line has 1 column, expected 2: a<TAB>b" },
    { 6, "a\tb\na\tb\tc\n", "in:2: the line has 3 columns, expected 2: a<TAB>b" },
    { 6, "a\tb\na\t \n", "in:2: sentence b is empty" },
    { 8, "{\"sentence1\": \"a\", \"sentence2\": \"b\"}\n{\"sentence1\": \"a\"}\n",
      "in:2: the object has no field 'sentence2'" },
    { 8, "{\"sentence1\": \"a\", \"sentence2\": \"b\"}\n\n", "in:2: the line is empty" },
    { 8, "{\"sentence1\": \"a\", \"sentence2\": \"b\"\n", "in:1: no JSON: " },
};

START_TEST(a_bad_line_stops_it_before_it_writes)
{
    rig r;
    train(&r, bad[_i].task);
    ck_assert_ptr_null(predict(&r, bad[_i].bytes, GSA_ERR_FORMAT));
    ck_assert_msg(strstr(r.error.text, bad[_i].expected), "'%s' lacks '%s'", r.error.text,
                  bad[_i].expected);
    rig_close(&r);
}
END_TEST

/* What the training data calls a bracket is one in every text that the model reads. */
static const struct {
    const char *set, *trained, *lines; /* two lines */
    int alike;
} marks[] = {
    { "data.format=auto", "1 -lrb- fine film -rrb-\n0 no mess\n", "-lrb- fine -RRB-\n( fine )\n",
      1 },
    { "data.format=auto", "(1 (1 -LRB-) (1 a\\/b))\n(0 (0 no) (0 mess))\n", "-LRB- a\\/b\n( a/b\n",
      1 },
    { "data.format=auto", "1 a\\/b film\n0 no a/b\n", "a\\/b\na/b\n", 0 },
    { "data.format=tsv", "1\t-lrb- fine film\n0\tno ( mess\n", "-lrb-\n(\n", 0 },
    { "data.escapes=brackets", "1\t-lrb- fine film\n0\tno ( mess\n", "-lrb-\n(\n", 1 },
    { "data.escapes=none", "1 -lrb- fine film\n0 no ( mess\n", "-lrb-\n(\n", 0 },
};

START_TEST(marks_are_read_as_in_training)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "own.txt"), marks[_i].trained,
                 (int64_t)strlen(marks[_i].trained));
    r.data[0] = "own.txt";
    rig_set(&r, "data.dev=");
    rig_set(&r, marks[_i].set);
    rig_set(&r, "train.lr=0.01");
    rig_set(&r, "train.average=0");
    rig_train_ok(&r, "run");
    char *out = predict(&r, marks[_i].lines, GSA_OK), *second = strchr(out, '\n') + 1;
    const int alike =
        strlen(second) == (size_t)(second - out) && strncmp(out, second, strlen(second)) == 0;
    ck_assert_msg(alike == marks[_i].alike, "%s", out);
    free(out);
    rig_close(&r);
}
END_TEST

START_TEST(nothing_of_nothing)
{
    rig r;
    train(&r, _i);
    char *out = predict(&r, "", GSA_OK);
    ck_assert_str_eq(out, "");
    free(out);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test lines[] = { GSA_LOOP(a_line_for_each_line_in_order, GSA_COUNT(tasks)),
                                      GSA_LOOP(nothing_of_nothing, GSA_COUNT(tasks)),
                                      GSA_LOOP(marks_are_read_as_in_training, GSA_COUNT(marks)) };
    static const gsa_test wrong[] = { GSA_LOOP(a_bad_line_stops_it_before_it_writes,
                                               GSA_COUNT(bad)) };
    static const gsa_case cases[] = { GSA_CASE("lines", lines, 60), GSA_CASE("bad", wrong, 60) };
    return gsa_run_suite("predict", cases, GSA_COUNT(cases), argc, argv);
}
