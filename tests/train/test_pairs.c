/* Sentence pairs: two formats, columns in any order, malformed lines, and the gradients of
 * features, head and both runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "slopes.h"
#include "train/tasks/classes.h"
#include "train/settings/keys.h"
#include "train/data/pairs.h"
#include "train/driver/session.h"

/* ---- formats ------------------------------------------------------------------------------- */

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_pairs pairs;
} fixture;

static gsa_status read_pairs(fixture *f, const char *bytes, const char *columns,
                             gsa_text_options options)
{
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "p.txt");
    gsa_put_file(path, bytes, (int64_t)strlen(bytes));
    return gsa_pairs_read(gsa_system_default(), path, &options, columns ? columns : "", &f->pairs,
                          &f->error);
}

static void done(fixture *f)
{
    gsa_pairs_release(&f->pairs);
    gsa_scratch_close(&f->scratch);
}

/* All pairs as "label:a tokens/b tokens|...". */
static void show(const gsa_pairs *pairs, char *out, size_t size)
{
    size_t used = 0;
    const gsa_text *a = &pairs->side[0];
    out[0] = 0;
    for (int64_t e = 0; e < a->examples; e++) {
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", e ? "|" : "",
                                 (int)a->label[e].bytes, a->label[e].at);
        for (int s = 0; s < 2; s++) {
            const gsa_text *text = &pairs->side[s];
            for (int64_t i = text->offset[e]; i < text->offset[e + 1]; i++)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s",
                                         i > text->offset[e] ? " "
                                         : s                 ? "/"
                                                             : ":",
                                         (int)text->token[i].bytes, text->token[i].at);
        }
    }
}

#define JSON(label, a, b)                                                                          \
    "{\"gold_label\": \"" label "\", \"sentence1\": \"" a "\", \"sentence2\": \"" b "\"}\n"
static const struct {
    const char *bytes, *columns, *expected;
    int format, skipped;
    gsa_text_options options;
} good[] = {
    { "x\ta b\tc\ny\td\te f\n", NULL, "x:a b/c|y:d/e f", GSA_TEXT_TSV, 0, { 0 } },
    { "\xef\xbb\xbfx\ta b\tc\r\ny\td\te",
      NULL,
      "x:a b/c|y:d/e",
      GSA_TEXT_TSV,
      0,
      { 0 } }, /* byte order mark, CRLF, no last LF */
    { "a b\tc\tx\n", "a,b,label", "x:a b/c", GSA_TEXT_TSV, 0, { 0 } },
    { "1\tx\tc\t\ta b\n", "-,label,b,-,a", "x:a b/c", GSA_TEXT_TSV, 0, { 0 } },
    { "b\tlabel\ta\nc\tx\ta b\n", NULL, "x:a b/c", GSA_TEXT_TSV, 0, { .header = 1 } },
    { "pairID\tsentence1\tsentence2\tgold_label\n1\ta b\tc\tx\n",
      NULL,
      "x:a b/c",
      GSA_TEXT_TSV,
      0,
      { .header = 1 } },
    { "premise\thypothesis\tlabel\na\tc\tx\n", NULL, "x:a/c", GSA_TEXT_TSV, 0, { .header = 1 } },
    { "any\tthing\there\na\tc\tx\n", "a,b,label", "x:a/c", GSA_TEXT_TSV, 0, { .header = 1 } },
    { "-\ta\tb\n", NULL, "-:a/b", GSA_TEXT_TSV, 0, { 0 } }, /* a label like any other */
    { "x\tAB c\tD\n", NULL, "x:ab c/d", GSA_TEXT_TSV, 0, { .lower = 1 } },
    { "x\tab \xe4\xbd\xa0\tc\n",
      NULL,
      "x:a b \xe4\xbd\xa0/c",
      GSA_TEXT_TSV,
      0,
      { .tokens = GSA_TOKENS_CHARS } },
    { "x\ta b c\td e f\n", NULL, "x:a b/d e", GSA_TEXT_TSV, 0, { .max_length = 2 } },
    { "a b\tc\n", "a,b,label", ":a b/c", GSA_TEXT_TSV, 0, { .unlabelled = 1 } },
    { JSON("x", "a b", "c") JSON("-", "d", "e") JSON("y", "f", "g"),
      NULL,
      "x:a b/c|y:f/g",
      GSA_TEXT_SNLI,
      1,
      { 0 } },
    { "{\"sentence2\":\"c\",\"more\":[1,{}],\"sentence1\":\"a\\tb\\n\",\"gold_label\":\"x\"}\n",
      NULL,
      "x:a b/c",
      GSA_TEXT_SNLI,
      0,
      { 0 } },
    { JSON("x", "\\u4f60\\u00e9", "\\ud83d\\ude00 \\\"q\\\""),
      NULL,
      "x:\xe4\xbd\xa0\xc3\xa9/\xf0\x9f\x98\x80 \"q\"",
      GSA_TEXT_SNLI,
      0,
      { 0 } },
    { "{\"sentence1\": \"A\", \"sentence2\": \"b\"}\n",
      NULL,
      ":a/b",
      GSA_TEXT_SNLI,
      0,
      { .unlabelled = 1, .lower = 1 } },
    { "", NULL, "", GSA_TEXT_AUTO, 0, { .unlabelled = 1 } },
    { "id,premise,hypothesis,label\n1,\"a, b\",c,x\n",
      NULL,
      "x:a, b/c",
      GSA_TEXT_CSV,
      0,
      { .format = GSA_TEXT_CSV, .header = 1 } },
    { "x;\"a\nb\";c\n", "label,a,b", "x:a b/c", GSA_TEXT_CSV, 0, { .format = GSA_TEXT_CSV } },
    { "a\tb\n", "label,a,b", ":a/b", GSA_TEXT_CSV, 0, { .format = GSA_TEXT_CSV, .unlabelled = 1 } },
    { "{\"q\": \"a b\", \"r\": \"c\", \"y\": 1}\n",
      "label=y,a=q,b=r",
      "1:a b/c",
      GSA_TEXT_JSON,
      0,
      { .format = GSA_TEXT_JSON } },
    { "{\"q\": \"a b\", \"b\": \"c\"}\n",
      "a=q",
      ":a b/c",
      GSA_TEXT_JSON,
      0,
      { .format = GSA_TEXT_JSON, .unlabelled = 1 } },
    { "x\t1\ta, b\tc<br />d\n",
      "label,-,a,b",
      "x:a , b/c d",
      GSA_TEXT_TSV,
      0,
      { .tokens = GSA_TOKENS_PUNCTUATED, .markup = 1 } },
    { "x\tcaf\xe9\t\x93\n",
      NULL,
      "x:caf\xc3\xa9/\xe2\x80\x9c",
      GSA_TEXT_TSV,
      0,
      { .encoding = GSA_ENCODING_CP1252 } },
    { "x\ta\t \ny\t\tb\nz\tc\td\n", NULL, "z:c/d", GSA_TEXT_TSV, 0, { .empty = GSA_EMPTY_SKIP } },
    { "any,thing,here\nx,a,b\n",
      "label,a,b",
      "x:a/b",
      GSA_TEXT_CSV,
      0,
      { .format = GSA_TEXT_CSV, .header = 1 } },
    { "a\tb\nc\td\n",
      NULL,
      ":a/b|:c/d",
      GSA_TEXT_TSV,
      0,
      { .header = 1, .unlabelled = 1 } }, /* what is predicted has no header */
    { JSON("x", "a", "b"),
      NULL,
      "x:a/b",
      GSA_TEXT_SNLI,
      0,
      { .header = 1, .format = GSA_TEXT_SNLI } },
    { JSON("x", "caf\xe9", "b") JSON("y", "caf\xc3\xa9", "d"),
      NULL,
      "x:caf\xc3\xa9/b|y:caf\xc3\xa9/d",
      GSA_TEXT_SNLI,
      0,
      { .encoding = GSA_ENCODING_MIXED } },
};

START_TEST(good_pairs)
{
    fixture f;
    char shown[512];
    const gsa_status status = read_pairs(&f, good[_i].bytes, good[_i].columns, good[_i].options);
    ck_assert_msg(status == GSA_OK, "%s", f.error.text);
    show(&f.pairs, shown, sizeof shown);
    ck_assert_str_eq(shown, good[_i].expected);
    ck_assert_int_eq(f.pairs.format, good[_i].format);
    ck_assert_int_eq(f.pairs.skipped, good[_i].skipped);
    ck_assert_int_eq(f.pairs.side[0].examples, f.pairs.side[1].examples);
    done(&f);
}
END_TEST

/* ---- malformed input: one sentence with file:line ------------------------------------------ */

static const struct {
    const char *bytes, *columns, *expected;
    gsa_text_options options;
} bad[] = {
    { "x\ta\tb\ny\ta\n", NULL, "p.txt:2: the line has 2 columns, expected 3", { 0 } },
    { "x\ta\tb\ny\ta\tb\tc\n", NULL, "p.txt:2: the line has 4 columns, expected 3", { 0 } },
    { "x a b\n", NULL, "p.txt:1: the line has 1 column, expected 3", { 0 } },
    { "x\ta\tb\n\ny\ta\tb\n", NULL, "p.txt:2: the line is empty", { 0 } },
    { "x\ta\tb\n\ta\tb\n", NULL, "p.txt:2: the label is empty", { 0 } },
    { "x\ta\tb\ny\t \tb\n", NULL, "p.txt:2: sentence a is empty: it holds no token", { 0 } },
    { "x\ta\tb\ny\ta\t\n", NULL, "p.txt:2: sentence b is empty: it holds no token", { 0 } },
    { "x\ta\tb\xff\n", NULL, "p.txt:1: invalid UTF-8 at byte 6 of the line", { 0 } },
    { "x\x01\ta\tb\n", NULL, "p.txt:1: the label 'x\\x01' holds a control character", { 0 } },
    { "", NULL, "p.txt: the file holds no pair", { 0 } },
    { "x,a,b\ny,c\nz,d,e\n",
      NULL,
      "p.txt:2: the line has 2 columns, expected 3",
      { .format = GSA_TEXT_CSV } },
    { "x,a,b\ny,\"c\n", NULL, "p.txt:2: a quote opens", { .format = GSA_TEXT_CSV } },
    { "label,a,c\nx,y,z\n",
      NULL,
      "p.txt:1: column 'b' is named nowhere",
      { .format = GSA_TEXT_CSV, .header = 1 } },
    { JSON("x", "a", "b"),
      "label=",
      "expected fields of JSON objects",
      { .format = GSA_TEXT_JSON } },
    { "a\t \n",
      NULL,
      "p.txt:1: sentence b is empty",
      { .unlabelled = 1, .empty = GSA_EMPTY_SKIP } },
    { "label\ta\tb\n", NULL, "p.txt: the file holds no pair", { .header = 1 } },
    { "label\ta\tc\nx\ty\tz\n",
      NULL,
      "p.txt:1: column 'b' is named nowhere, expected label, a and b once each",
      { .header = 1 } },
    { "label\ta\tb\tpremise\n", NULL, "p.txt:1: column 'a' is named twice", { .header = 1 } },
    { "x\ta\tb\n", "label,a", "data.columns: column 'b' is named nowhere", { 0 } },
    { "x\ta\tb\n", "label,a,b,b", "data.columns: column 'b' is named twice", { 0 } },
    { "x\ta\tb\n",
      "label,a,c",
      "data.columns holds 'c', expected a list of label, a, b and -",
      { 0 } },
    { "x\ta\tb\n", "label,,b", "data.columns holds '', expected a list", { 0 } },
    { "a\tb\tc\n",
      NULL,
      "p.txt:1: the line has 3 columns, expected 2: a<TAB>b",
      { .unlabelled = 1 } },
    { JSON("x", "a", "b") "{\"gold_label\": \"y\"\n", NULL, "p.txt:2: no JSON: ", { 0 } },
    { JSON("x", "a", "b") "x\ta\tb\n", NULL, "p.txt:2: no JSON: ", { 0 } },
    { JSON("x", "a", "b") "[1]\n", NULL, "p.txt:2: the line is no JSON object", { 0 } },
    { JSON("x", "a", "b") "{\"sentence1\": \"a\", \"sentence2\": \"b\"}\n",
      NULL,
      "p.txt:2: the object has no field 'gold_label'",
      { 0 } },
    { "{\"gold_label\": \"x\", \"sentence1\": \"a\"}\n",
      NULL,
      "p.txt:1: the object has no field 'sentence2'",
      { 0 } },
    { "{\"gold_label\": 1.5, \"sentence1\": \"a\", \"sentence2\": \"b\"}\n",
      NULL,
      "p.txt:1: field 'gold_label' is no string",
      { 0 } },
    { "{\"gold_label\": \"x\", \"sentence1\": null, \"sentence2\": \"b\"}\n",
      NULL,
      "p.txt:1: field 'sentence1' is no string",
      { 0 } },
    { "{\"gold_label\": \"x\", \"gold_label\": \"y\"}\n",
      NULL,
      "p.txt:1: no JSON: duplicate object key",
      { 0 } },
    { JSON("x", "a", " "), NULL, "p.txt:1: sentence b is empty", { 0 } },
    { JSON("", "a", "b"), NULL, "p.txt:1: the label is empty", { 0 } },
    { JSON("x\\n", "a", "b"), NULL, "holds a control character", { 0 } },
    { JSON("x", "a\\u0000", "b"), NULL, "p.txt:1: no JSON: ", { 0 } },
    { JSON("-", "a", "b"), NULL, "p.txt: the file holds no pair", { 0 } },
    { JSON("x", "a", "b") "\n", NULL, "p.txt:2: the line is empty", { 0 } },
    { JSON("x", "a", "b") "\r\n", NULL, "p.txt:2: the line is empty", { 0 } },
    { JSON("x", "a", "b") "\xef\xbb\xbf" JSON("x", "a", "b"), NULL, "p.txt:2: no JSON: ", { 0 } },
    { JSON("x", "caf\xe9", "b"),
      NULL,
      "invalid UTF-8 at byte 38 of the line (0xe9): data.encoding = cp1252",
      { 0 } },
    { JSON("x", "a", "b\\ud800"), NULL, "p.txt:1: no JSON: ", { 0 } }, /* half a character */
    { "x\ta\tb\n\xef\xbb\xbfy\ta\tb\n",
      NULL,
      "p.txt:2: the label starts with a byte order mark",
      { 0 } },
    { "x\ta\tb\ny\tcaf\xe9\tb\n",
      NULL,
      "p.txt:2: invalid UTF-8 at byte 6 of the line (0xe9)",
      { 0 } },
    { "\xff\xfex", NULL, "p.txt:1: the file starts with the byte order mark of UTF-16", { 0 } },
};

/* The NUL of "%" in both formats. */
START_TEST(a_nul_is_refused)
{
    static const char *const lines[] = { "x\ta%\tb\n", "%\ta\tb\n",
                                         "{\"gold_label\": \"x%\", \"sentence1\": \"a\"}\n" };
    fixture f = { 0 };
    char bytes[64];
    const int64_t count = (int64_t)strlen(lines[_i]);
    memcpy(bytes, lines[_i], (size_t)count);
    *(char *)memchr(bytes, '%', (size_t)count) = 0;
    gsa_scratch_open(&f.scratch);
    const char *path = gsa_scratch_path(&f.scratch, "p.txt");
    gsa_put_file(path, bytes, count);
    ck_assert_int_eq(gsa_pairs_read(gsa_system_default(), path, &(gsa_text_options){ 0 }, "",
                                    &f.pairs, &f.error),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(f.error.text, "p.txt:1: the line holds a NUL byte"), "%s", f.error.text);
    done(&f);
}
END_TEST

START_TEST(bad_pairs)
{
    fixture f;
    ck_assert_int_ne(read_pairs(&f, bad[_i].bytes, bad[_i].columns, bad[_i].options), GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    done(&f);
}
END_TEST

START_TEST(a_line_of_many_columns)
{
    char line[256] = "x";
    fixture f;
    for (int i = 0; i < 70; i++) strcat(line, "\ta");
    ck_assert_int_eq(read_pairs(&f, line, "", (gsa_text_options){ 0 }), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(f.error.text, "p.txt:1: the line has more than 64 columns, expected 3"));
    done(&f);
    ck_assert_int_eq(read_pairs(&f, line, "", (gsa_text_options){ .header = 1 }), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "p.txt:1: the header has more than 64 columns"));
    done(&f);
}
END_TEST

/* ---- gradients, by central differences in double, with dropout ----------------------------- */

static void say_nothing(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static double loss_of(gsa_session *s, int backward)
{
    static const int64_t example[] = { 0, 3, 4, 17 };
    gsa_error error;
    double value;
    gsa_tape *tape = s->model.tape;
    ck_assert_int_eq(
        gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, 4, &s->batch, &error), GSA_OK);
    gsa_tape_reset(tape, 1, 3, 4);
    gsa_tensor *loss =
        s->task->loss(s->self, tape, gsa_learner_forward(&s->model, &s->batch), &s->batch, 0.25);
    ck_assert_msg(gsa_tape_status(tape, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_tensor_read(s->backend, loss, 0, &value, &error), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(tape, loss, &error), GSA_OK);
    return value;
}

static const struct {
    const char *encoder, *features;
} models[] = {
    { "model.encoder=star", "task.features=difference" },
    { "model.encoder=star", "task.features=product" },
    { "model.encoder=bpt:k=1,bpt:k=1+cross", "task.features=difference" },
    { "model.encoder=full,full+cross", "task.features=product" },
    { "model.encoder=bpt:k=1,bpt:k=1+cross*2", "task.features=both" },
};

static void open_session(rig *r, gsa_session *s, int model)
{
    char train[300];
    rig_open(r, rig_pairs, GSA_F64, 1);
    snprintf(train, sizeof train, "data.train=%s/pairs.tsv", r->scratch.folder);
    const char *const set[] = { train, models[model].encoder, models[model].features,
                                "model.activation=tanh" };
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = 4,
                                          .splits = 1,
                                          .backend = r->backend,
                                          .say = say_nothing };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, s, &r->error) == GSA_OK, "%s",
                  r->error.text);
}

START_TEST(every_parameter_differentiates)
{
    gsa_session s;
    rig r;
    open_session(&r, &s, _i);
    check_slopes(&s, loss_of, 3, SILENT_UNREACHED | SILENT_LABELS);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* [a, b, |a - b|, a - b or a b] of two rows of two columns, to the bit. */
START_TEST(features_are_the_papers)
{
    static const double a[] = { 1, -2, 0.5, 3 }, b[] = { 4, -5, 0.5, -0.25 };
    double x[16];
    gsa_session s;
    rig r;
    open_session(&r, &s, _i);
    gsa_tape_reset(s.model.tape, 1, 0, 0);
    const gsa_readout both[] = { { .summary = gsa_tape_constant(s.model.tape, a, GSA_F64, 2, 2) },
                                 { .summary = gsa_tape_constant(s.model.tape, b, GSA_F64, 2, 2) } };
    const gsa_tensor *out = s.task->features(s.self, s.model.tape, both);
    ck_assert(out && out->rows == 2 && out->cols == 8);
    ck_assert_int_eq(gsa_tensor_read(s.backend, out, 0, x, NULL), GSA_OK);
    for (int row = 0; row < 2; row++)
        for (int c = 0; c < 2; c++) {
            const double p = a[2 * row + c], q = b[2 * row + c], *at = x + 8 * row + c;
            ck_assert(at[0] == p && at[2] == q && at[4] == fabs(p - q) &&
                      at[6] == (_i == 1 ? p * q : p - q));
        }
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- scores -------------------------------------------------------------------------------- */

START_TEST(accuracy_and_f1_by_hand)
{
    static const double out[] = { 0, 1, 2, 0, 0, 3, 1, 0, 5, 0, 0, 1 }; /* says 1 0 1 0 0 1 */
    int32_t label[] = { 1, 1, 0, 0, -1, 1 };
    const gsa_minibatch batch = { .count = 6, .targets = 6, .label = label };
    gsa_score score = { 0 }, none = { 0 }, unit[6] = { 0 }, plain[6] = { 0 };
    gsa_classes_score(out, 2, 1, &batch, NULL, unit);
    for (int u = 0; u < 6; u++) gsa_score_add(&score, &unit[u]);
    ck_assert(unit[4].targets == 0 && unit[4].loss == 0 && unit[0].right == 1 &&
              unit[1].right == 0);
    ck_assert_int_eq(score.examples, 5);
    ck_assert_int_eq(score.targets, 5);
    ck_assert_double_eq(score.right, 3);
    ck_assert(score.hits == 2 && score.found == 3 && score.wanted == 3);
    ck_assert_double_eq_tol(gsa_f1(&score), 2.0 / 3, 1e-15);
    const double lost =
        log1p(exp(-1)) + log(1 + exp(2)) + log(1 + exp(3)) + log1p(exp(-1)) + log1p(exp(-1));
    ck_assert_double_eq_tol(score.loss, lost, 1e-12);
    gsa_classes_score(out, 2, -1, &batch, NULL, plain);
    for (int u = 0; u < 6; u++) gsa_score_add(&none, &plain[u]);
    ck_assert(none.hits == 0 && none.found == 0 && none.wanted == 0 && gsa_f1(&none) == 0);
}
END_TEST

/* log 2 is less than the last place of such a number. */
START_TEST(logits_are_large)
{
    static const double out[] = { 1e30, 1e30, -1e30, -1e30 };
    int32_t label[] = { 1, 0 };
    double probability[2];
    const gsa_minibatch batch = { .count = 2, .targets = 2, .label = label };
    gsa_score unit[2] = { 0 };
    gsa_classes_score(out, 2, -1, &batch, NULL, unit);
    for (int u = 0; u < 2; u++) {
        gsa_classes_probabilities(out + 2 * u, 2, probability);
        ck_assert_double_eq_tol(unit[u].loss, log(2), 1e-15);
        ck_assert_double_eq_tol(gsa_found_of(out + 2 * u, 2, label[u], -1).nll, log(2), 1e-15);
        ck_assert(fabs(probability[0] - 0.5) < 1e-15 && fabs(probability[1] - 0.5) < 1e-15);
    }
}
END_TEST

/* One sum serves all classes of a row, and each has the bits of a sum of its own. */
START_TEST(probabilities_are_each_to_the_bit)
{
    enum { CLASSES = 257 };
    double out[CLASSES], probability[CLASSES], wanted[CLASSES], top = -1e300;
    for (int c = 0; c < CLASSES; c++) out[c] = 9 * sin(7.0 * c) + 1e-3 * c;
    for (int c = 0; c < CLASSES; c++) top = out[c] > top ? out[c] : top;
    for (int c = 0; c < CLASSES; c++) {
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) sum += exp(out[k] - top);
        wanted[c] = exp(-(log(sum) - (out[c] - top)));
    }
    gsa_classes_probabilities(out, CLASSES, probability);
    ck_assert_mem_eq(probability, wanted, sizeof wanted);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test formats[] = { GSA_LOOP(good_pairs, GSA_COUNT(good)) };
    static const gsa_test wrong[] = { GSA_LOOP(bad_pairs, GSA_COUNT(bad)),
                                      GSA_LOOP(a_nul_is_refused, 3),
                                      GSA_TEST(a_line_of_many_columns) };
    static const gsa_test gradients[] = { GSA_LOOP(every_parameter_differentiates,
                                                   GSA_COUNT(models)),
                                          GSA_LOOP(features_are_the_papers, 2) };
    static const gsa_test scores[] = { GSA_TEST(accuracy_and_f1_by_hand),
                                       GSA_TEST(logits_are_large),
                                       GSA_TEST(probabilities_are_each_to_the_bit) };
    static const gsa_case cases[] = { GSA_CASE("formats", formats, 20), GSA_CASE("bad", wrong, 20),
                                      GSA_CASE("gradients", gradients, 120),
                                      GSA_CASE("scores", scores, 10) };
    return gsa_run_suite("pairs", cases, GSA_COUNT(cases), argc, argv);
}
