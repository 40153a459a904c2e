/* Tagging: files of each format through training, schemes, heads, characters, prediction, and what
 * is wrong. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "slopes.h"
#include "support/compare.h"
#include "train/score/outcomes.h"
#include "train/driver/session.h"
#include "train/score/spans.h"
#include "train/data/tagged.h"

#define TRAINING                                                                                   \
    "[train]\nseed = 5\nepochs = 3\nbatch = 4\naccumulate = 2\nbucket = 2\nlr = 0.01\nclip = "     \
    "1\nreport_every = 1\n"                                                                        \
    "schedule = cosine\nwarmup = 2\nkeep = 1\noptimizer = adamw\nweight_decay = 0.01\naverage = "  \
    "0.9\n"

/* Dropout everywhere, a CRF, characters and capitals. */
static const char recipe[] =
    "[task]\nname = tagging\nhead = crf\n"
    "[model]\nencoder = full,star\nhidden = 8\nheads = 2\nffn = 12\ninput = "
    "norm_dropout\ndropout_input = 0.1\n"
    "dropout_attention = 0.2\ndropout_hidden = 0.1\ndropout_ffn = 0.1\ndropout_head = "
    "0.2\nposition = learned\n"
    "position_max = 16\nbias = q,v,o\nhead_hidden = 6\nembedding = 5\ncharacters = "
    "ring,full\ncharacter_hidden = 6\n"
    "character_heads = 2\ncharacter_dropout = 0.1\n" TRAINING "[data]\ncapitals = 1\n";

/* Columns: word, number, tag in IOB1; "B-LOC" where two meet, one tag that no scheme allows (B-PER
 * after O). */
static const char columns_train[] = "Ann 1 I-PER\nsaw 1 O\nBonn 1 I-LOC\n\nin 2 O\nBonn 2 "
                                    "I-LOC\nRome 2 B-LOC\n. 2 O\n\nBob 3 I-PER\nLee 3 I-PER\nran 3 "
                                    "O\n\n"
                                    "the 4 O\ncat 4 O\nsat 4 O\n\nAnn 5 I-PER\nLee 5 I-PER\nin 5 "
                                    "O\nRome 5 I-LOC\n\nAnn 6 B-PER\nran 6 O\n\nyes 7 O\n\n"
                                    "Bob 8 I-PER\nsaw 8 O\nAnn 8 I-PER\nin 8 O\nBonn 8 I-LOC\n\nin "
                                    "9 O\nRome 9 I-LOC\n\nno 10 O\n\n42 11 O\ncats 11 O\n\n"
                                    "Lee 12 I-PER\n\nRome 13 I-LOC\nsat 13 O\n";
static const char columns_dev[] =
    "Ann 1 I-PER\nin 1 O\nBonn 1 I-LOC\n\nBob 2 I-PER\nsaw 2 O\nZoe 2 I-PER\n\nthe 3 O\nend 3 O\n";

static void open_tags(rig *r, const char *text, const char *train, const char *dev, int real)
{
    rig_open(r, text, real, 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "tags.train"), train, (int64_t)strlen(train));
    gsa_put_file(gsa_scratch_path(&r->scratch, "tags.dev"), dev, (int64_t)strlen(dev));
    r->data[0] = "tags.train", r->data[1] = "tags.dev";
}

static void says(const rig *r, const char *expected)
{
    ck_assert_msg(strstr(r->messages, expected), "'%s' lacks '%s'", r->messages, expected);
}

/* ---- formats, end to end ------------------------------------------------------------------- */

static const char u_train[] =
    "# text = Go "
    "there\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\tthere\tthere\tADV\tRB\t_\t1\tadvmod\t_\t_\n\n"
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tIN\t_\t0\tx\t_\t_\n2\tle\tle\tDET\tDT\t_"
    "\t0\tx\t_\t_\n"
    "2.1\tx\tx\tX\tX\t_\t_\t_\t_\t_\n";
static const struct {
    const char *train, *dev, *set[5], *says, *labels;
} files[] = {
    { columns_train,
      columns_dev,
      { 0 },
      "tags: IOB1; 1 of them break it, the first on line 23, and are read as conlleval",
      "B-LOC\nI-LOC\nI-PER\nO\n" },
    { columns_train,
      columns_dev,
      { "task.scheme=BIOES" },
      "read as conll: 13 sentences, 33 tokens, the longest sentence 5; tags: IOB1",
      "B-PER\nE-PER\nO\nS-LOC\nS-PER\n" },
    { columns_train,
      columns_dev,
      { "task.scheme=IOB2" },
      "tags: IOB1",
      "B-LOC\nB-PER\nI-PER\nO\n" },
    { columns_train,
      columns_dev,
      { "task.scheme=BMES", "task.legal=1" },
      "tags: IOB1",
      "B-PER\nE-PER\nO\nS-LOC\nS-PER\n" },
    { columns_train,
      columns_dev,
      { "data.scheme=IOB2" },
      "tags: IOB2; 12 of them break it, the first on line 1,",
      "B-LOC\nB-PER\nI-PER\nO\n" },
    { columns_train,
      columns_dev,
      { "data.scheme=none" },
      "tags: plain",
      "B-LOC\nB-PER\nI-LOC\nI-PER\nO\n" },
    { columns_train,
      columns_dev,
      { "data.tag=2" },
      "tags: plain",
      "1\n10\n11\n12\n13\n2\n3\n4\n5\n6\n7\n8\n9\n" },
    { columns_train,
      columns_dev,
      { "data.word=-3", "data.tag=-1", "data.format=conll" },
      "read as conll",
      "B-LOC\nI-LOC\nI-PER\nO\n" },
    { u_train,
      u_train,
      { 0 },
      "read as conllu: 2 sentences, 4 tokens, the longest sentence 2; tags: plain",
      "ADP\nADV\nDET\nVERB\n" },
    { u_train,
      u_train,
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
    open_tags(&r, recipe, files[_i].train, files[_i].dev, GSA_F32);
    for (int k = 0; k < 5 && files[_i].set[k]; k++) rig_set(&r, files[_i].set[k]);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    says(&r, files[_i].says);
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
    static const char *const tags[] = { "O", "I-A", "B-A", "I-B", "B-B", "E-A", "S-B" };
    gsa_dice dice = { 11 + (uint32_t)_i };
    const int32_t from = GSA_SCHEME_IOB1, to = GSA_SCHEME_IOB1 + _i % 4;
    char text[4096] = "";
    gsa_scratch scratch;
    gsa_tagged t;
    gsa_scratch_open(&scratch);
    for (int s = 0; s < 12; s++) {
        const int length = (int)gsa_between(&dice, 1, 9);
        for (int i = 0; i < length; i++)
            sprintf(text + strlen(text), "w %s\n", tags[gsa_between(&dice, 0, 6)]);
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
    open_tags(&r, recipe, columns_train, "x I-PER\n\ny I_PER\n", GSA_F32);
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
    open_tags(&r, recipe, bad[_i].train, columns_dev, GSA_F32);
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
    open_tags(r, recipe, columns_train, columns_dev, real);
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

/* ---- runs ---------------------------------------------------------------------------------- */

START_TEST(a_run_goes_on_to_the_bit)
{
    rig whole, cut;
    open_tags(&whole, recipe, columns_train, columns_dev, GSA_F32);
    open_tags(&cut, recipe, columns_train, columns_dev, GSA_F32);
    rig_train_ok(&whole, "run");
    cut.stop_at = 1 + _i;
    ck_assert_int_eq(rig_train(&cut, "run"), GSA_ERR_INTERRUPTED);
    cut.stop_at = 0;
    ck_assert_msg(rig_resume(&cut, "run") == GSA_OK, "%s", cut.error.text);
    int64_t na, nb;
    char *a = rig_checkpoint_file(&whole, "run", "model.safetensors", &na),
         *b = rig_checkpoint_file(&cut, "run", "model.safetensors", &nb);
    ck_assert(na == nb && memcmp(a, b, (size_t)na) == 0);
    ck_assert_double_eq(rig_number(&whole, "dev_f1"), rig_number(&cut, "dev_f1"));
    free(a);
    free(b);
    rig_close(&whole);
    rig_close(&cut);
}
END_TEST

static char *apply(rig *r, const char *input, const char *report)
{
    int64_t bytes;
    char in[300], out[300], *result = NULL, dev[320];
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/tags.dev", r->scratch.folder);
    gsa_put_file(in, input, (int64_t)strlen(input));
    const char *const set[] = { dev };
    gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "run"),
                            .backend = r->backend,
                            .input = in,
                            .output = out,
                            .report = report,
                            .overrides = set,
                            .n_overrides = report != NULL };
    const gsa_status status =
        report ? gsa_evaluate(NULL, &o, &result, &r->error) : gsa_predict(NULL, &o, &r->error);
    ck_assert_msg(status == GSA_OK, "%s", r->error.text);
    return report ? result : gsa_get_file(out, &bytes);
}

/* Lines stay, a column is added; blank lines, comments, documents and line ends too. */
START_TEST(predictions_keep_the_lines)
{
    static const struct {
        const char *set, *in, *shape; /* shape: the output with tags as * */
    } cases[] = {
        { NULL, "Ann\nsaw\n\n\nBonn\n", "Ann *\nsaw *\n\n\nBonn *\n" },
        { NULL, "\n-DOCSTART- x\n\nAnn 1 I-PER\r\nin 1 O",
          "\n-DOCSTART- x\n\nAnn 1 I-PER *\r\nin 1 O *\n" },
        { NULL, "Ann\tx\n\nsaw\ty\n\n", "Ann\tx\t*\n\nsaw\ty\t*\n\n" },
        { NULL, "", "" },
        { "data.format=conllu",
          "# x\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\n",
          "# x\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\t*\n" },
        { "data.format=chars", "A\nB O\n\nC\n", "A *\nB O *\n\nC *\n" },
    };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        rig r;
        open_tags(&r, recipe, i == 4 ? u_train : columns_train, i == 4 ? u_train : columns_dev,
                  GSA_F32);
        rig_set(&r, "train.epochs=1");
        if (cases[i].set) rig_set(&r, cases[i].set);
        rig_train_ok(&r, "run");
        char *out = apply(&r, cases[i].in, NULL);
        const char *at = out;
        for (const char *want = cases[i].shape; *want; want++) {
            if (*want == '*') at += strcspn(at, " \t\r\n");
            else ck_assert_msg(*at++ == *want, "case %d: '%s' is not '%s'", i, out, cases[i].shape);
        }
        ck_assert_msg(!*at, "case %d: '%s' is not '%s'", i, out, cases[i].shape);
        free(out);
        rig_close(&r);
    }
}
END_TEST

static void keep_sentence(void *context, const gsa_progress *p)
{
    snprintf(context, 512, "%s", p->text);
}

/* What is read is said, and a sentence a line is read where it is requested. */
START_TEST(running_text_is_cut_into_sentences)
{
    static const struct {
        const char *how, *in, *says, *shape; /* shape NULL: refused */
    } cases[] = {
        { NULL, "Ann Lee saw Bonn .\n",
          "in: 1 sentence of 1 token, a token a line, in one of 5 columns between blanks; "
          "--tokenize "
          "words reads a sentence a line",
          "Ann Lee saw Bonn . *\n" },
        { NULL, "Ann\nsaw\n", "in: 1 sentence of 2 tokens, a token a line; --tokenize words reads",
          "Ann *\nsaw *\n" },
        { NULL, "Ann Lee saw Bonn .\nso what\n",
          "line 1 has 5; --tokenize words reads a sentence a line", NULL },
        { "words", "Ann Lee saw Bonn .\n\n\nno\r\n\n",
          "in: 2 sentences of 6 tokens, a sentence a line, cut into words between blanks",
          "Ann\t*\nLee\t*\nsaw\t*\nBonn\t*\n.\t*\n\n\n\nno\t*\n\n\n" },
        { "words", "\nAnn saw\n", "in: 1 sentence of 2 tokens", "\nAnn\t*\nsaw\t*\n\n" },
        { "punctuated", "Ann saw Bonn.", "cut into words and marks",
          "Ann\t*\nsaw\t*\nBonn\t*\n.\t*\n\n" },
        { "chars", "Ann", "cut into characters", "A\t*\nn\t*\nn\t*\n\n" },
        { "words", "", "in: 0 sentences of 0 tokens", "" },
        { "bytes", "x", "--tokenize bytes: expected words, chars or punctuated", NULL },
    };
    rig r;
    char in[300], out[300], said[512];
    int64_t bytes;
    open_tags(&r, recipe, columns_train, columns_dev, GSA_F32);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    snprintf(in, sizeof in, "%s/in", r.scratch.folder);
    snprintf(out, sizeof out, "%s/out", r.scratch.folder);
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        gsa_put_file(in, cases[i].in, (int64_t)strlen(cases[i].in));
        const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                                      .backend = r.backend,
                                      .input = in,
                                      .output = out,
                                      .tokenize = cases[i].how,
                                      .progress = keep_sentence,
                                      .context = said };
        const int right = gsa_predict(NULL, &o, &r.error) == GSA_OK;
        ck_assert_msg(right == (cases[i].shape != NULL), "case %d: %s", i, r.error.text);
        ck_assert_msg(strstr(right ? said : r.error.text, cases[i].says), "case %d: %s", i,
                      right ? said : r.error.text);
        if (!right) continue;
        char *text = gsa_get_file(out, &bytes), *at = text;
        for (const char *want = cases[i].shape; *want; want++) {
            if (*want == '*') at += strcspn(at, " \t\r\n");
            else
                ck_assert_msg(*at++ == *want, "case %d: '%s' is not '%s'", i, text, cases[i].shape);
        }
        ck_assert_msg(!*at, "case %d: '%s' is not '%s'", i, text, cases[i].shape);
        free(text);
    }
    rig_close(&r);
}
END_TEST

/* What predict writes, scored by the scorer, is what eval says, in batches of any size. */
START_TEST(predict_and_eval_agree)
{
    static const char *const sets[] = { "task.scheme=IOB1", "task.scheme=BIOES", "task.legal=1" };
    rig r;
    int64_t bytes;
    gsa_conll conll, gold;
    gsa_span_score score = { .system = gsa_system_default() };
    open_tags(&r, recipe, columns_train, columns_dev, GSA_F32);
    rig_set(&r, sets[_i]);
    rig_set(&r, "train.epochs=12");
    rig_train_ok(&r, "run");
    const char *report = strdup(gsa_scratch_path(&r.scratch, "report"));
    char *result = apply(&r, "", report), *out = apply(&r, columns_dev, NULL),
         *text = gsa_get_file(report, &bytes), line[64];
    const char *path = gsa_scratch_path(&r.scratch, "out");
    ck_assert_int_eq(
        gsa_conll_read(gsa_system_default(), path, &(gsa_conll_options){ 0 }, &conll, NULL),
        GSA_OK);
    ck_assert_int_eq(
        gsa_conll_read(gsa_system_default(), path, &(gsa_conll_options){ .tag = 3 }, &gold, NULL),
        GSA_OK);
    for (int64_t s = 0; s < conll.sentences; s++)
        gsa_span_score_add(&score, gold.tag + gold.offset[s], conll.tag + conll.offset[s],
                           conll.offset[s + 1] - conll.offset[s], NULL);
    for (int64_t i = 0; i < conll.tokens; i++) /* in the files' scheme, whatever is learned */
        ck_assert(strchr("OIB", gsa_tag_of(conll.tag[i]).letter) != NULL);
    json_t *object = json_loads(result, 0, NULL);
    const double f1 = json_number_value(json_object_get(object, "dev_f1"));
    double right = 0; /* as seqeval's accuracy: equal tags, as the files write them */
    for (int64_t i = 0; i < conll.tokens; i++)
        right += gsa_slice_compare(gold.tag[i], conll.tag[i]) == 0;
    ck_assert_double_eq_tol(json_number_value(json_object_get(object, "dev_accuracy")),
                            right / (double)conll.tokens, 1e-7);
    printf("F1 %.4f\n", f1);
    ck_assert(f1 > 0);
    ck_assert_double_eq_tol(f1, gsa_span_rates_of(&score.all).f1 / 100, 1e-7);
    ck_assert_double_eq_tol(rig_number(&r, "dev_f1"), f1, 1e-7);
    ck_assert(json_object_get(object, "dev_f1_strict") &&
              json_object_get(object, "dev_precision") && json_object_get(object, "dev_recall") &&
              json_object_get(object, "dev_accuracy"));
    snprintf(line, sizeof line, "FB1: %6.2f", gsa_span_rates_of(&score.all).f1);
    ck_assert_msg(strstr(text, line) && strstr(text, "PER: precision:") &&
                      strstr(text, "dev, strict"),
                  "%s", text);
    json_decref(object);
    gsa_release(gsa_system_default(), result);
    gsa_span_score_release(&score);
    gsa_conll_release(&conll);
    gsa_conll_release(&gold);
    free((void *)(uintptr_t)report);
    free(out);
    free(text);
    rig_close(&r);
}
END_TEST

/* Outcomes know which of the two metrics they are of, and keep the strict counts: a comparison
 * needs both. */
START_TEST(outcomes_are_read_back)
{
    rig r;
    gsa_outcomes outcomes;
    gsa_error error;
    gsa_score sum = { 0 };
    gsa_fact facts[4];
    open_tags(&r, recipe, columns_train, columns_dev, GSA_F32);
    if (_i) rig_set(&r, "data.scheme=none");
    rig_set(&r, "train.epochs=12");
    rig_set(&r, "train.select=last");
    rig_train_ok(&r, "run");
    const char *path = gsa_scratch_path(&r.scratch, "run/outcomes.jsonl");
    ck_assert_msg(gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, &outcomes, &error) ==
                      GSA_OK,
                  "%s", error.text);
    ck_assert_ptr_eq(outcomes.task, _i ? &gsa_task_tagging : &gsa_task_tagging_spans);
    ck_assert_int_eq(outcomes.units, 3); /* sentences */
    for (int64_t u = 0; u < outcomes.units; u++) gsa_score_add(&sum, &outcomes.unit[u]);
    ck_assert_double_eq_tol(gsa_score_metric(outcomes.task, &sum),
                            rig_number(&r, _i ? "dev_accuracy" : "dev_f1"), 1e-7);
    if (!_i) {
        ck_assert_int_eq(outcomes.task->metrics(&sum, facts, 4), 4);
        ck_assert(strcmp(facts[0].name, "f1_strict") == 0 && facts[0].value > 0);
    }
    gsa_outcomes_release(&outcomes);
    rig_close(&r);
}
END_TEST

/* Taggers do not read a star's relay: its last phases are left out, and each is a line of its
 * own. */
START_TEST(what_is_skipped_is_a_line)
{
    rig r;
    open_tags(&r, recipe, columns_train, columns_dev, GSA_F64);
    rig_set(&r, "train.epochs=1");
    rig_set(&r, "model.encoder=star*2");
    rig_train_ok(&r, "run");
    says(&r, "encoder segment 0 layer 1: phase up reaches no readout and is skipped\n");
    ck_assert_msg(!strstr(r.messages, "\n\n"), "%s", r.messages);
    rig_close(&r);
}
END_TEST

/* What is to be found is what the file says: other schemes and other training data learn other
 * labels of it. */
START_TEST(gold_is_the_file)
{
    static const char other[] = "Ann 1 I-PER\nin 1 O\nBonn 1 I-PER\n\nBob 2 I-PER\nsaw 2 O\nZoe 2 "
                                "I-PER\n\nthe 3 O\nend 3 O\n";
    static const struct {
        const char *train, *dev, *set, *says;
        int same;
    } cases[] = { { columns_train, columns_dev, "task.scheme=as_read", "", 1 },
                  { columns_train, columns_dev, "task.scheme=BIOES", "", 1 },
                  { "x I-PER\ny B-PER\nz O\n", columns_dev, "data.capitals=0",
                    "dev: 1 of 8 tokens have tags that the training data lacks and count as wrong, "
                    "the first 'I-LOC' on line 3",
                    1 },
                  { columns_train, other, "data.capitals=0", "", 0 } };
    gsa_outcomes outcomes;
    char gold[65] = "";
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        rig r;
        open_tags(&r, recipe, cases[i].train, cases[i].dev, GSA_F32);
        rig_set(&r, "train.epochs=1");
        rig_set(&r, cases[i].set);
        rig_train_ok(&r, "run");
        const char *path = gsa_scratch_path(&r.scratch, "run/outcomes.jsonl");
        ck_assert_int_eq(
            gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, &outcomes, NULL), GSA_OK);
        if (i == 0) strcpy(gold, outcomes.gold);
        ck_assert_msg((strcmp(gold, outcomes.gold) == 0) == cases[i].same, "case %d", i);
        says(&r, cases[i].says);
        ck_assert(*cases[i].says || !strstr(r.messages, "training data lacks"));
        gsa_outcomes_release(&outcomes);
        rig_close(&r);
    }
}
END_TEST

START_TEST(a_report_of_plain_tags_is_of_labels)
{
    rig r;
    char *result = NULL;
    open_tags(&r, recipe, columns_train, columns_dev, GSA_F32);
    rig_set(&r, "data.scheme=none");
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    const char *report = strdup(gsa_scratch_path(&r.scratch, "report"));
    const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                                  .backend = r.backend,
                                  .report = report };
    int64_t bytes;
    ck_assert_int_eq(gsa_evaluate(NULL, &o, &result, &r.error), GSA_OK);
    char *text = gsa_get_file(report, &bytes);
    ck_assert_msg(strstr(text, "labels\n") && !strstr(text, "conlleval") &&
                      !strstr(text, "seqeval"),
                  "%s", text);
    gsa_release(gsa_system_default(), result);
    free(text);
    free((void *)(uintptr_t)report);
    rig_close(&r);
}
END_TEST

/* ---- characters ---------------------------------------------------------------------------- */

/* Words never seen, tagged by their last two letters; capitals tag the rest. */
static void write_words(char *text, int sentences, uint32_t seed)
{
    gsa_dice dice = { seed };
    text[0] = 0;
    for (int s = 0; s < sentences; s++) {
        const int length = (int)gsa_between(&dice, 1, 6);
        for (int w = 0; w < length; w++) {
            char word[16];
            const int n = (int)gsa_between(&dice, 5, 9), upper = gsa_between(&dice, 0, 3) == 0,
                      ing = gsa_between(&dice, 0, 1) != 0;
            for (int i = 0; i < n; i++) word[i] = (char)('a' + gsa_between(&dice, 0, 9));
            word[n] = 0;
            strcpy(word + n - 2, ing ? "ng" : "ed");
            if (upper) word[0] = (char)(word[0] - 'a' + 'A');
            sprintf(text + strlen(text), "%s %s\n", word, upper ? "NAME" : ing ? "GERUND" : "PAST");
        }
        strcat(text, "\n");
    }
}

START_TEST(characters_and_capitals_tell)
{
    static const char *const sets[][4] = {
        { "model.characters=ring*2", "data.capitals=1", "task.head=linear" },
        { "model.characters=full:clip=2", "data.capitals=0", "task.head=crf" },
        { "model.characters=", "data.capitals=0", "task.head=crf" },
        { "model.characters=none", "data.capitals=0", "task.head=linear" }
    };
    static char train[200000], dev[40000];
    rig r;
    write_words(train, 250, 3);
    write_words(dev, 60, 4);
    open_tags(&r, recipe, train, dev, GSA_F32);
    for (int i = 0; i < 3; i++) rig_set(&r, sets[_i][i]);
    rig_set(&r, "model.encoder=ring");
    rig_set(&r, "model.dropout_input=0");
    rig_set(&r, "model.dropout_head=0");
    rig_set(&r, "model.character_hidden=16");
    rig_set(&r, "data.min_count=2");
    rig_set(&r, "train.epochs=10");
    rig_set(&r, "train.report_every=0");
    rig_train_ok(&r, NULL);
    const double accuracy = rig_number(&r, "dev_accuracy");
    printf("accuracy %.3f, of each word's most frequent tag %.3f\n", accuracy,
           rig_number(&r, "word_accuracy"));
    if (_i < 2) ck_assert_double_gt(accuracy, 0.95);
    else ck_assert_double_lt(accuracy, 0.7); /* nothing else tells */
    rig_close(&r);
}
END_TEST

/* ---- baselines ----------------------------------------------------------------------------- */

START_TEST(baselines_by_hand)
{
    static const int32_t word[] = { 5, 5, 5, 7, 7, 9, 5 }, label[] = { 2, 1, 1, 0, 2, -1, 2 },
                         dev[] = { 7, 5, 9, 8, 0 };
    const gsa_tag_view from = { 7, word, label }, to = { 5, dev, NULL };
    int32_t guess[5], majority;
    ck_assert_int_eq(gsa_tag_baseline(gsa_system_default(), &from, &to, 3, &majority, guess, NULL),
                     GSA_OK);
    ck_assert_int_eq(majority, 2);
    ck_assert(guess[0] == 0 && guess[1] == 1 && guess[2] == 2 && guess[3] == 2 &&
              guess[4] == 2); /* ties: the smaller */
    const gsa_tag_view none = { 0, NULL, NULL };
    ck_assert_int_eq(
        gsa_tag_baseline(gsa_system_default(), &from, &none, 3, &majority, guess, NULL), GSA_OK);
}
END_TEST

/* Files in IOB1, BIOES is learned; the most frequent tag of each word, by hand: A is I-P (S-P as
 * learned), b O. Of dev's eight tokens seven are right in the file's tags: its first span is of two
 * words, of which BIOES guesses S-P S-P, written as I-P B-P. */
START_TEST(accuracy_is_of_the_tags_of_the_file)
{
    static const char train[] = "A I-P\nb O\n\nb O\nA I-P\nb O\n",
                      dev[] = "A I-P\nA I-P\nb O\n\nb O\nA I-P\nb O\nb O\nA I-P\n";
    rig r;
    open_tags(&r, recipe, train, dev, GSA_F32);
    rig_set(&r, "task.scheme=BIOES");
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    ck_assert_double_eq_tol(rig_number(&r, "word_accuracy"), 7.0 / 8, 1e-7);
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
    static const gsa_test runs[] = {
        GSA_LOOP(a_run_goes_on_to_the_bit, 4),         GSA_TEST(predictions_keep_the_lines),
        GSA_TEST(running_text_is_cut_into_sentences),  GSA_LOOP(predict_and_eval_agree, 3),
        GSA_LOOP(outcomes_are_read_back, 2),           GSA_TEST(gold_is_the_file),
        GSA_TEST(a_report_of_plain_tags_is_of_labels), GSA_TEST(what_is_skipped_is_a_line)
    };
    static const gsa_test characters[] = { GSA_LOOP(characters_and_capitals_tell, 4),
                                           GSA_TEST(baselines_by_hand),
                                           GSA_TEST(accuracy_is_of_the_tags_of_the_file) };
    static const gsa_case cases[] = { GSA_CASE("formats", formats, 60), GSA_CASE("bad", wrong, 60),
                                      GSA_CASE("gradients", gradients, 120),
                                      GSA_CASE("runs", runs, 60),
                                      GSA_CASE("characters", characters, 120) };
    return gsa_run_suite("tagging", cases, GSA_COUNT(cases), argc, argv);
}
