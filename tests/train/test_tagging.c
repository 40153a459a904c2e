/* Tagging: files of each format through training, schemes, heads, characters, prediction, and what
 * is wrong. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "slopes.h"
#include "tags.h"
#include "support/compare.h"
#include "train/score/outcomes.h"
#include "train/driver/session.h"
#include "train/score/spans.h"
#include "train/data/tagged.h"

/* ---- formats, end to end ------------------------------------------------------------------- */

static const struct {
    const char *train, *dev, *set[5], *says, *labels;
} files[] = {
    { tags_train,
      tags_dev,
      { 0 },
      "tags: IOB1; 1 of them break it, the first on line 23, and are read as conlleval",
      "B-LOC\nI-LOC\nI-PER\nO\n" },
    { tags_train,
      tags_dev,
      { "task.scheme=BIOES" },
      "read as conll: 13 sentences, 33 tokens, the longest sentence 5; tags: IOB1",
      "B-PER\nE-PER\nO\nS-LOC\nS-PER\n" },
    { tags_train, tags_dev, { "task.scheme=IOB2" }, "tags: IOB1", "B-LOC\nB-PER\nI-PER\nO\n" },
    { tags_train,
      tags_dev,
      { "task.scheme=BMES", "task.legal=1" },
      "tags: IOB1",
      "B-PER\nE-PER\nO\nS-LOC\nS-PER\n" },
    { tags_train,
      tags_dev,
      { "data.scheme=IOB2" },
      "tags: IOB2; 12 of them break it, the first on line 1,",
      "B-LOC\nB-PER\nI-PER\nO\n" },
    { tags_train,
      tags_dev,
      { "data.scheme=none" },
      "tags: plain",
      "B-LOC\nB-PER\nI-LOC\nI-PER\nO\n" },
    { tags_train,
      tags_dev,
      { "data.tag=2" },
      "tags: plain",
      "1\n10\n11\n12\n13\n2\n3\n4\n5\n6\n7\n8\n9\n" },
    { tags_train,
      tags_dev,
      { "data.word=-3", "data.tag=-1", "data.format=conll" },
      "read as conll",
      "B-LOC\nI-LOC\nI-PER\nO\n" },
    { tags_conllu,
      tags_conllu,
      { 0 },
      "read as conllu: 2 sentences, 4 tokens, the longest sentence 2; tags: plain",
      "ADP\nADV\nDET\nVERB\n" },
    { tags_conllu,
      tags_conllu,
      { "data.tag=5", "data.format=conllu" },
      "read as conllu",
      "DT\nIN\nRB\nVB\n" },
    { "\xe5\x90\xb4 B-N\n  O\n\xe9\x87\x8d E-N\n\nx S-N\n",
      "x O\n",
      { "data.format=chars" },
      "read as chars: 2 sentences, 4 tokens, the longest sentence 3; tags: BIOES; 2 of them break "
      "it",
      "O\nS-N\n" },
    { "Caf\xe9 A\nx B\n", "\xe9 A\n", { "data.encoding=latin1" }, "tags: plain", "A\nB\n" },
    { "\xef\xbb\xbfx\tA\r\ny\tB\r\n\r\n\r\nz\tA",
      "y A\n",
      { 0 },
      "2 sentences, 3 tokens",
      "A\nB\n" },
    { "-DOCSTART- -X- O\n\nx y O\nz y I-A\n",
      "x y O\n",
      { 0 },
      "1 sentences, 2 tokens, the longest sentence 2; tags: IOB1",
      "I-A\nO\n" },
    { "a B-P\nb I-P\nc O\n\nd B_P\n",
      "x O\n",
      { "data.scheme=IOB2" }, /* a tag of no scheme, read as conlleval reads it: on request */
      "tags: IOB2; 1 of them break it, the first on line 5, and are read as conlleval",
      "B-P\nI-P\nO\n" },
    { "a B-P\nb X\nc Y\n",
      "x X\n",
      { 0 },
      "tags: plain",
      "B-P\nX\nY\n" }, /* more of none than of one */
};

START_TEST(files_of_every_format)
{
    rig r;
    int64_t bytes;
    tags_open(&r, tags_recipe, files[_i].train, files[_i].dev, GSA_F32);
    for (int k = 0; k < 5 && files[_i].set[k]; k++) rig_set(&r, files[_i].set[k]);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    tags_say(&r, files[_i].says);
    char *labels = rig_checkpoint_file(&r, "run", "labels.txt", &bytes);
    ck_assert_int_eq((int)strlen(files[_i].labels), bytes);
    ck_assert_msg(strncmp(labels, files[_i].labels, (size_t)bytes) == 0, "%.*s", (int)bytes,
                  labels);
    free(labels);
    const int plain = strstr(r.messages, "tags: plain") != NULL;
    ck_assert(isnan(rig_number(&r, "dev_f1")) == plain && !isnan(rig_number(&r, "dev_accuracy")));
    rig_close(&r);
}
END_TEST

/* Digits and case: what is a word, and what its characters are. */
START_TEST(words_and_their_forms)
{
    static const struct {
        int lower, zero;
        const char *words, *forms;
    } cases[] = { { 0, 0, "Ab1\xd9\xa3 \xc4\xb0X", "Ab1\xd9\xa3 \xc4\xb0X" },
                  { 1, 0, "ab1\xd9\xa3 ix", "Ab1\xd9\xa3 \xc4\xb0X" },
                  { 0, 1, "Ab00 \xc4\xb0X", "Ab00 \xc4\xb0X" },
                  { 1, 1, "ab00 ix", "Ab00 \xc4\xb0X" } };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        gsa_scratch scratch;
        gsa_tagged tagged;
        gsa_error error;
        char words[64] = "", forms[64] = "";
        gsa_scratch_open(&scratch);
        const char *path = gsa_scratch_path(&scratch, "x"),
                   text[] = "Ab1\xd9\xa3 A\n\xc4\xb0X B\n"; /* an Arabic digit; a dotted I */
        gsa_put_file(path, text, sizeof text - 1);
        const gsa_tagged_options options = { .lower = cases[i].lower,
                                             .zero_digits = cases[i].zero };
        ck_assert_int_eq(gsa_tagged_read(gsa_system_default(), path, &options, &tagged, &error),
                         GSA_OK);
        for (int w = 0; w < 2; w++) {
            snprintf(words + strlen(words), 32, "%s%.*s", w ? " " : "",
                     (int)tagged.words.token[w].bytes, tagged.words.token[w].at);
            snprintf(forms + strlen(forms), 32, "%s%.*s", w ? " " : "", (int)tagged.form[w].bytes,
                     tagged.form[w].at);
        }
        ck_assert_str_eq(words, cases[i].words);
        ck_assert_str_eq(forms, cases[i].forms);
        gsa_tagged_release(&tagged);
        gsa_scratch_close(&scratch);
    }
}
END_TEST

/* Through every pair of schemes: the spans stay, and what is written is legal. */
START_TEST(schemes_are_converted)
{
    static const char *const tags[] = { "O",   "I-A", "B-A",
                                        "I-B", "B-B", "E-A",
                                        "S-B", ".",   ".-a-type-that-is-longer-than-others" };
    gsa_dice dice = { 11 + (uint32_t)_i };
    const int32_t from = GSA_SCHEME_IOB1, to = GSA_SCHEME_IOB1 + _i % 4;
    char text[8192] = "";
    gsa_scratch scratch;
    gsa_tagged t;
    gsa_scratch_open(&scratch);
    for (int s = 0; s < 12; s++) {
        const int length = (int)gsa_between(&dice, 1, 9);
        for (int i = 0; i < length; i++)
            sprintf(text + strlen(text), "w %s\n",
                    tags[gsa_between(&dice, 0, GSA_COUNT(tags) - 1)]);
        strcat(text, "\n");
    }
    const char *path = gsa_scratch_path(&scratch, "x");
    gsa_put_file(path, text, (int64_t)strlen(text));
    ck_assert_int_eq(
        gsa_tagged_read(gsa_system_default(), path, &(gsa_tagged_options){ 0 }, &t, NULL), GSA_OK);
    ck_assert_int_eq(gsa_tagged_convert(&t, from, to, NULL), GSA_OK);
    for (int64_t s = 0; s < t.conll.sentences; s++) {
        gsa_span a[16], b[16];
        int64_t broken, offset[2] = { 0, t.conll.offset[s + 1] - t.conll.offset[s] };
        const gsa_slice *now = t.tags.label + t.conll.offset[s];
        const int64_t spans = gsa_spans_lenient(t.conll.tag + t.conll.offset[s], offset[1], a);
        gsa_scheme_broken(to, now, offset, 1, &broken, NULL);
        ck_assert_int_eq(broken, 0);
        ck_assert_int_eq(gsa_spans_strict(to, now, offset[1], b), spans);
        for (int64_t i = 0; i < spans; i++)
            ck_assert(a[i].first == b[i].first && a[i].last == b[i].last &&
                      gsa_slice_compare(a[i].type, b[i].type) == 0);
    }
    ck_assert_int_eq(t.tags.examples,
                     t.conll.tokens + 1); /* and O, which stands for what no tag says */
    gsa_tagged_release(&t);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- what is wrong: one sentence, with file and line where a line is to blame -------------- */

static const struct {
    const char *train, *set[3], *expected;
} bad[] = {
    { "a O\nb\n", { 0 }, "tags.train:2: the line has 1 column between blanks, line 1 has 2" },
    { "a O\nb x O\n", { 0 }, "tags.train:2: the line has 3 columns between blanks, line 1 has 2" },
    { "a\tO\nb\t\n", { 0 }, "tags.train:2: column 2, the tag, is empty" },
    { "a O\n\xff O\n",
      { 0 },
      "tags.train:2: invalid UTF-8 at byte 1 of the line (0xff): data.encoding = cp1252 (or "
      "latin1, or mixed) reads" },
    { "a O\nb \x01\n", { 0 }, "tags.train:2: the tag '\\x01' holds a control character" },
    { "a O\n", { "data.tag=3" }, "tags.train:1: the line has 2 columns, but the tag is column 3" },
    { "a O\n",
      { "data.word=-3" },
      "tags.train:1: the line has 2 columns, but the token is column -3" },
    { "1\ta\ta\tX\n",
      { "data.format=conllu" },
      "tags.train:1: the line has 4 columns between tabs, CoNLL-U has 10" },
    { "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n3\ta\ta\tX\t_\t_\t_\t_\t_\t_\n",
      { 0 },
      "tags.train:2: the token's number is 3, expected 2" },
    { "aO\n", { "data.format=chars" }, "tags.train:1: the line has no blank" },
    { "\n\n", { 0 }, "tags.train: the file holds no sentence" },
    { "a O\nb O\n", { 0 }, "tags.train: the data holds 1 label, a classifier needs at least 2" },
    { "\xff\xfe", { 0 }, "tags.train:1: the file starts with the byte order mark of UTF-16" },
    { "a O\nb I-X\n",
      { "task.scheme=none" },
      "--set task.scheme: [task] scheme = none, but the tags of the data are read as IOB1 "
      "(data.scheme)" },
    { "a X\nb Y\n",
      { "task.scheme=BIOES" },
      "--set task.scheme: [task] scheme = BIOES, but the tags of the data are read as none "
      "(data.scheme)" },
    { "a X\nb Y\n",
      { "data.format=tsv" },
      "--set data.format: [data] format = tsv is not for task tagging: it is read by "
      "text_classification and "
      "sentence_pairs" },
    { "a X\nb Y\n",
      { "model.character_heads=4" },
      "[model] character_heads = 4 does not divide character_hidden = 6" },
    { "a X\nb Y\n", { "model.characters=rung" }, "rung" },
    { "a X\nb Y\n",
      { "model.encoder=full,full+cross" },
      "reads another stack's sequence, and this task has none" },
    { "a X\nb Y\nc X\n",
      { "model.position_max=2" },
      "tags.train: the longest sentence has 3 tokens, model.position_max is 2" },
    { "a X\nb Y\n", { "data.train_part=1" }, "[data] train_part = 1 is not for task tagging" },
    { "a B-P\nb I-P\nc O\n\nd B_P\n",
      { 0 },
      "tags.train:5: the tag 'B_P' is of no scheme of spans" },
    { "a B-P\nb I-P\nc O-P\n", { 0 }, "tags.train:3: the tag 'O-P' is of no scheme of spans" },
    { "a X\nb Y\n",
      { "task.legal=1" },
      "--set task.legal: [task] legal = 1 needs tags of a scheme, and these are read as plain" },
    { "a X\nb Y\n", { "data.classes=3" }, "the data holds 2 labels, data.classes says 3" },
};

START_TEST(bad_tags_of_dev)
{
    rig r;
    tags_open(&r, tags_recipe, tags_train, "x I-PER\n\ny I_PER\n", GSA_F32);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "tags.dev:3: the tag 'I_PER' is of no scheme of spans"),
                  "%s", r.error.text);
    rig_set(&r, "data.scheme=IOB1");
    rig_train_ok(&r, "run");
    rig_close(&r);
}
END_TEST

START_TEST(bad_input)
{
    rig r;
    tags_open(&r, tags_recipe, bad[_i].train, tags_dev, GSA_F32);
    for (int k = 0; k < 3 && bad[_i].set[k]; k++) rig_set(&r, bad[_i].set[k]);
    rig_set(&r, "data.dev=");
    rig_set(&r, "train.early_stop=0");
    ck_assert_int_ne(rig_train(&r, NULL), GSA_OK);
    ck_assert_msg(strstr(r.error.text, bad[_i].expected), "'%s' lacks '%s'", r.error.text,
                  bad[_i].expected);
    rig_close(&r);
}
END_TEST

/* ---- gradients and batches ----------------------------------------------------------------- */

static void say_nothing(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static void open_session(rig *r, gsa_session *s, int real, const char *const *more, int n_more)
{
    char train[300], dev[300];
    tags_open(r, tags_recipe, tags_train, tags_dev, real);
    snprintf(train, sizeof train, "data.train=%s/tags.train", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/tags.dev", r->scratch.folder);
    const char *set[8] = { train, dev, "model.activation=tanh" };
    for (int i = 0; i < n_more; i++) set[3 + i] = more[i];
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = 3 + n_more,
                                          .splits = 3,
                                          .backend = r->backend,
                                          .say = say_nothing };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, s, &r->error) == GSA_OK, "%s",
                  r->error.text);
}

static double loss_of(gsa_session *s, const int64_t *example, int32_t count, int backward)
{
    gsa_error error;
    double value;
    gsa_tape *tape = s->model.tape;
    ck_assert_int_eq(
        gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, count, &s->batch, &error),
        GSA_OK);
    gsa_tape_reset(tape, 1, 3, 4);
    gsa_tensor *loss =
        s->task->loss(s->self, tape, gsa_learner_forward(&s->model, &s->batch), &s->batch, 0.25);
    ck_assert_msg(gsa_tape_status(tape, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_tensor_read(s->backend, loss, 0, &value, &error), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(tape, loss, &error), GSA_OK);
    return value;
}

static const char *const heads[] = { "task.head=linear", "task.head=crf" };

static double three(gsa_session *s, int backward)
{
    static const int64_t example[] = { 1, 4, 7 };
    return loss_of(s, example, 3, backward);
}

START_TEST(every_parameter_differentiates)
{
    gsa_session s;
    rig r;
    open_session(&r, &s, GSA_F64, &heads[_i], 1);
    check_slopes(&s, three, 5, SILENT_UNREACHED);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* A batch's split moves no mask: three sentences at once lose what they lose one by one. The stack
 * over characters is keyed by words. */
START_TEST(a_batch_is_the_sum_of_its_parts)
{
    static const int64_t example[] = { 1, 4, 7 }, turned[] = { 7, 1, 4 };
    gsa_session s;
    rig r;
    open_session(&r, &s, GSA_F64, &heads[_i], 1);
    double sum = 0, plain = 0;
    const double whole = loss_of(&s, example, 3, 0);
    for (int32_t i = 0; i < 3; i++) {
        s.batch.first = i;
        sum += loss_of(&s, example + i, 1, 0);
    }
    s.batch.first = 0;
    ck_assert_double_eq_tol(whole, sum, 1e-12);
    gsa_session_outputs(&s, GSA_SPLIT_TRAIN, example, 3,
                        NULL); /* without dropout their order is free */
    gsa_score a[3] = { 0 }, b[3] = { 0 };
    s.task->score(s.self, s.out, &s.batch, a);
    gsa_session_outputs(&s, GSA_SPLIT_TRAIN, turned, 3, NULL);
    s.task->score(s.self, s.out, &s.batch, b);
    for (int i = 0; i < 3; i++) {
        const gsa_score *x = &a[i], *y = &b[(i + 1) % 3];
        ck_assert_double_eq_tol(x->loss, y->loss, 1e-12);
        ck_assert(x->right == y->right && x->hits == y->hits && x->found == y->found &&
                  x->wanted == y->wanted);
        plain += x->loss;
    }
    ck_assert(plain > 0);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* Random parameters write any tags; with `legal` none that the scheme forbids, whatever the
 * head. */
START_TEST(legal_paths_are_legal)
{
    static const char *const sets[][3] = {
        { "task.head=linear", "task.legal=1", "task.scheme=BIOES" },
        { "task.head=crf", "task.legal=1", "task.scheme=BIOES" },
        { "task.head=linear", "task.legal=1", "task.scheme=IOB2" },
        { "task.head=linear", "task.legal=0", "task.scheme=BIOES" }
    };
    gsa_session s;
    rig r;
    int64_t all = 0;
    open_session(&r, &s, GSA_F32, sets[_i], 3);
    for (uint32_t round = 0; round < 8; round++) {
        gsa_dice dice = { 100 + round };
        gsa_score score;
        char *text;
        int64_t bytes;
        for (int k = 0; k < gsa_parameters_count(s.model.parameters); k++) {
            gsa_parameter *p = gsa_parameters_at(s.model.parameters, k);
            double x[512];
            if (strncmp(p->name, "head.out", 8) != 0 && strncmp(p->name, "crf", 3) != 0) continue;
            for (int64_t i = 0; i < p->value.rows * p->value.cols; i++)
                x[i] = 4 * gsa_normal(&dice);
            gsa_tensor_write(s.backend, &p->value, x, NULL);
        }
        ck_assert_int_eq(gsa_session_score(&s, GSA_SPLIT_TRAIN, &score, NULL, NULL), GSA_OK);
        gsa_output *output;
        const char *path = gsa_scratch_path(&r.scratch, "report");
        ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &output, NULL), GSA_OK);
        ck_assert_int_eq(s.task->report(s.self, GSA_SPLIT_TRAIN, output, NULL), GSA_OK);
        ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
        text = gsa_get_file(path, &bytes);
        ck_assert_msg(
            strstr(text, "train, lenient (conlleval)\nprocessed 33 tokens with 14 phrases") &&
                strstr(text, "train, strict\nprocessed 33 tokens with 13 phrases"),
            "%s", text);
        free(text);
        all +=
            score.found -
            score.strict_found; /* spans that only leniency sees are where tags break the scheme */
    }
    if (_i < 3) ck_assert_int_eq(all, 0);
    else ck_assert_int_gt(all, 0);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test formats[] = { GSA_LOOP(files_of_every_format, GSA_COUNT(files)),
                                        GSA_TEST(words_and_their_forms),
                                        GSA_LOOP(schemes_are_converted, 16) };
    static const gsa_test wrong[] = { GSA_LOOP(bad_input, GSA_COUNT(bad)),
                                      GSA_TEST(bad_tags_of_dev) };
    static const gsa_test gradients[] = { GSA_LOOP(every_parameter_differentiates, 2),
                                          GSA_LOOP(a_batch_is_the_sum_of_its_parts, 2),
                                          GSA_LOOP(legal_paths_are_legal, 4) };
    static const gsa_case cases[] = { GSA_CASE("formats", formats, 60), GSA_CASE("bad", wrong, 60),
                                      GSA_CASE("gradients", gradients, 120) };
    return gsa_run_suite("tagging", cases, GSA_COUNT(cases), argc, argv);
}
