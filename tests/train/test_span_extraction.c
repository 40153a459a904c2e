/* Span extraction through the driver: gradients of the whole loss, scores of known logits, a toy
 * that is learned, resumed, predicted. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "slopes.h"
#include "support/compare.h"
#include "support/faults.h"
#include "train/score/outcomes.h"

static const char recipe[] =
    "[task]\nname = span_extraction\nmatch = 1\n"
    "[model]\nencoder = window:width=5*2\nhidden = 16\nheads = 2\nffn = 24\nhead_hidden = "
    "12\ninput = norm_dropout\n"
    "dropout_input = 0.05\ndropout_attention = 0.05\ndropout_hidden = 0.05\ndropout_head = 0.05\n"
    "position = learned\nposition_max = 32\nactivation = tanh\n"
    "[train]\nseed = 5\nepochs = 3\nbatch = 8\naccumulate = 2\nbucket = 2\nlr = 0.01\nclip = "
    "1\nreport_every = 1\nkeep = 1\n"
    "[data]\nwindow = 9\nstride = 4\nanswer_max = 4\n";

/* "k3 v7 v1 . k1 v2 . ..." and questions "k1 ?", whose answer is "v2". */
static char *make_json(uint64_t seed, int passages)
{
    enum { KEYS = 12, VALUES = 9, FACTS = 5 };
    gsa_dice dice = { seed };
    json_t *paragraphs = json_array();
    for (int p = 0; p < passages; p++) {
        json_t *qas = json_array();
        char context[256] = "";
        int key = (int)gsa_between(&dice, 0, KEYS - 1);
        for (int f = 0; f < FACTS; f++, key = (key + 5) % KEYS) {
            char answer[32] = "", question[16], id[16];
            sprintf(context + strlen(context), "%sk%d ", f ? " " : "", key);
            const int start = (int)strlen(context);
            for (int v = (int)gsa_between(&dice, 1, 2); v > 0; v--)
                sprintf(answer + strlen(answer), "%sv%d", *answer ? " " : "",
                        (int)gsa_between(&dice, 1, VALUES));
            sprintf(context + strlen(context), "%s .", answer);
            snprintf(question, sizeof question, "k%d ?", key);
            snprintf(id, sizeof id, "p%d-%d", p, f);
            json_array_append_new(qas, json_pack("{s:s, s:s, s:[{s:s, s:i}]}", "id", id, "question",
                                                 question, "answers", "text", answer,
                                                 "answer_start", start));
        }
        json_array_append_new(paragraphs, json_pack("{s:s, s:o}", "context", context, "qas", qas));
    }
    json_t *whole = json_pack("{s:[{s:o}]}", "data", "paragraphs", paragraphs);
    char *text = json_dumps(whole, 0);
    json_decref(whole);
    return text;
}

static void open_toy(rig *r, int real, int passages)
{
    rig_open(r, recipe, real, 1);
    for (int i = 0; i < 2; i++) {
        char *text = make_json(21 + (uint64_t)i, i ? 8 : passages);
        gsa_put_file(gsa_scratch_path(&r->scratch, i ? "dev.json" : "train.json"), text,
                     (int64_t)strlen(text));
        free(text);
    }
    r->data[0] = "train.json", r->data[1] = "dev.json";
}

static void say_nothing(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static void open_session(rig *r, gsa_session *s, const char *more)
{
    char train[300], dev[300];
    snprintf(train, sizeof train, "data.train=%s/train.json", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/dev.json", r->scratch.folder);
    const char *const set[] = { train, dev, more };
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = 3,
                                          .splits = 3,
                                          .backend = r->backend,
                                          .say = say_nothing };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, s, &r->error) == GSA_OK, "%s",
                  r->error.text);
}

/* ---- gradients, by central differences in double, with dropout ----------------------------- */

static double loss_of(gsa_session *s, int backward)
{
    static const int64_t example[] = { 0, 4, 7 };
    gsa_error error;
    double value;
    gsa_tape *tape = s->model.tape;
    ck_assert_int_eq(
        gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, 3, &s->batch, &error), GSA_OK);
    gsa_tape_reset(tape, 1, 3, 4);
    gsa_tensor *loss =
        s->task->loss(s->self, tape, gsa_learner_forward(&s->model, &s->batch), &s->batch, 0.25);
    ck_assert_msg(gsa_tape_status(tape, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_tensor_read(s->backend, loss, 0, &value, &error), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(tape, loss, &error), GSA_OK);
    return value;
}

START_TEST(every_parameter_differentiates)
{
    gsa_session s;
    rig r;
    open_toy(&r, GSA_F64, 3);
    open_session(&r, &s, "train.seed=2");
    check_slopes(&s, loss_of, 7, 0);
    const gsa_parameter *types = gsa_parameters_find(s.model.parameters, "input.type.weight");
    ck_assert_ptr_nonnull(types);
    ck_assert_int_eq(types->value.rows, 4);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- scores of logits that are known ------------------------------------------------------- */

#define ANSWERS(...)        "[" __VA_ARGS__ "]"
#define ANSWER(text, start) "{\"text\": \"" text "\", \"answer_start\": " #start "}"
static const char known[] =
    "{\"data\": [{\"paragraphs\": [{\"context\": \"a b c d e f g h i j k l\", \"qas\": ["
    "{\"id\": \"0\", \"question\": \"x y\", \"answers\": " ANSWERS(ANSWER("c d", 4) "," ANSWER(
        "k", 20)) "},"
                  "{\"id\": \"1\", \"question\": \"x\", \"answers\": " ANSWERS(
                      ANSWER("l", 22)) "}]}]}]}";

/* Sequences: [CLS] x y [SEP] then a..i, then e..l; [CLS] x [SEP] likewise. In the first question's
 * second window j and k are the rows 4 + 5 and 4 + 6. */
static const struct {
    double f1;
    int hits;
    struct {
        int row, column;
        double logit;
    } set[3];
} spans[] = {
    { 1, 1, { { 4 + 6, 0, 9 }, { 4 + 6, 1, 8 } } },       /* k: the second reference, exactly */
    { 2.0 / 3, 0, { { 4 + 5, 0, 9 }, { 4 + 6, 1, 8 } } }, /* j k */
    { 1,
      1,
      { { 4 + 6, 0, 9 }, { 4 + 5, 1, 8 }, { 4 + 6, 1, 7.5 } } }, /* no span ends before it starts */
    { 1, 1, { { 2, 0, 9 }, { 4 + 6, 0, 8.9 }, { 4 + 6, 1, 8 } } }, /* none starts in the question */
    { 1, 1, { { 4 + 0, 0, 9 }, { 4 + 6, 0, 8 }, { 4 + 6, 1, 8 } } }, /* e .. k has 7 tokens,
                                                                        data.answer_max is 4 */
    { 0, 0, { { 0, 0, 19 }, { 4 + 6, 0, 9 }, { 4 + 6, 1, 8 } } }, /* [CLS] says that it is not here:
                                                                     the other window's */
};

START_TEST(known_logits_give_known_scores)
{
    static const int64_t example[] = { 0, 1 };
    gsa_session s;
    rig r;
    double out[2 * 64] = { 0 }, f1 = 0;
    gsa_score unit[2] = { { 0 } };
    open_toy(&r, GSA_F64, 2);
    gsa_put_file(gsa_scratch_path(&r.scratch, "dev.json"), known, sizeof known - 1);
    open_session(&r, &s, "data.tokens=words");
    ck_assert_int_eq(gsa_task_fill(s.task, s.self, GSA_SPLIT_DEV, example, 2, &s.batch, NULL),
                     GSA_OK);
    const gsa_minibatch_sequence *x = &s.batch.sequence[0];
    ck_assert_int_eq(x->count, 4);
    const int32_t lengths[] = { 4 + 9, 4 + 8, 3 + 9, 3 + 8 };
    int64_t rows = 0;
    for (int w = 0; w < 4; w++) {
        ck_assert_int_eq(x->length[w], lengths[w]);
        rows += lengths[w];
    }
    ck_assert_int_eq(s.batch.targets, rows);
    /* what is right: c d is in the first window; the second says [CLS]. l: the other way
     * round */
    const int32_t start[] = { 4 + 2, 13, 25, 37 + 3 + 7 }, end[] = { 4 + 3, 13, 25, 37 + 3 + 7 };
    for (int64_t i = 0; i < rows; i++) {
        int label = 0;
        for (int w = 0; w < 4; w++) label |= (i == start[w]) | (i == end[w]) << 1;
        ck_assert_int_eq(s.batch.label[i], label);
    }
    for (int i = 0; i < 3; i++)
        if (spans[_i].set[i].logit > 0)
            out[2 * (13 + spans[_i].set[i].row) + spans[_i].set[i].column] = spans[_i].set[i].logit;
    out[2 * (37 + 3 + 7)] = 5, out[2 * (37 + 3 + 7) + 1] = 5; /* l */
    s.task->score(s.self, out, &s.batch, unit);
    f1 = unit[0].right;
    ck_assert_double_eq_tol(f1, spans[_i].f1, 1e-12);
    ck_assert_int_eq(unit[0].hits, spans[_i].hits);
    ck_assert(unit[1].right == 1 && unit[1].hits == 1);
    for (int i = 0; i < 2; i++) ck_assert(unit[i].examples == 1 && unit[i].targets == 2);
    const double l = log(exp(5) + 10) - 5,
                 none = log(12.0); /* of the second question: its own window; the other */
    ck_assert_double_eq_tol(unit[1].loss, l + none, 1e-12);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* What training lowers is what is reported: the mean over windows. */
START_TEST(the_loss_is_the_one_that_is_scored)
{
    static const int64_t example[] = { 0, 4, 7 };
    gsa_session s;
    gsa_score unit[3] = { { 0 } }, sum = { 0 };
    double out[2 * 256], loss;
    rig r;
    open_toy(&r, GSA_F64, 3);
    open_session(&r, &s, "train.seed=2");
    ck_assert_int_eq(gsa_task_fill(s.task, s.self, GSA_SPLIT_TRAIN, example, 3, &s.batch, NULL),
                     GSA_OK);
    const int64_t windows = s.task->targets(s.self, GSA_SPLIT_TRAIN, example, 3);
    ck_assert(windows > 3 && windows == s.batch.sequence[0].count && s.batch.targets <= 256);
    gsa_tape_reset(s.model.tape, 0, 0, 0);
    gsa_tensor *x = gsa_learner_forward(&s.model, &s.batch);
    gsa_tensor *y = s.task->loss(s.self, s.model.tape, x, &s.batch, 1.0 / (double)windows);
    ck_assert_int_eq(gsa_tensor_read(s.backend, x, 0, out, NULL), GSA_OK);
    ck_assert_int_eq(gsa_tensor_read(s.backend, y, 0, &loss, NULL), GSA_OK);
    s.task->score(s.self, out, &s.batch, unit);
    for (int i = 0; i < 3; i++) gsa_score_add(&sum, &unit[i]);
    ck_assert_int_eq(sum.targets, windows);
    ck_assert_double_eq_tol(sum.loss / (double)windows, loss, 1e-12);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- whole runs ---------------------------------------------------------------------------- */

static json_t *predict(rig *r, const char *run, const char *input)
{
    char in[300], out[300];
    gsa_error error;
    json_error_t why;
    snprintf(in, sizeof in, "%s/%s", r->scratch.folder, input);
    snprintf(out, sizeof out, "%s/out.json", r->scratch.folder);
    const gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "%s", run),
                                  .backend = r->backend,
                                  .input = in,
                                  .output = out };
    ck_assert_msg(gsa_predict(NULL, &o, &error) == GSA_OK, "%s", error.text);
    json_t *object = json_load_file(out, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(object && json_is_object(object), "line %d: %s", why.line, why.text);
    return object;
}

START_TEST(a_toy_is_learned_and_predicted)
{
    rig r;
    int right = 0, count = 0;
    const char *id;
    json_t *answer;
    open_toy(&r, GSA_F32, 60);
    rig_set(&r, "train.epochs=12");
    rig_set(&r, "train.accumulate=1");
    rig_train_ok(&r, "run");
    printf("F1 %.4f, overlap %.4f\n", rig_number(&r, "dev_f1"), rig_number(&r, "overlap_f1"));
    ck_assert(rig_number(&r, "dev_f1") > 0.95 && rig_number(&r, "overlap_f1") < 0.8);
    /* what is predicted has the score that was measured: ids in the order of the file, answers as
     * they are there */
    json_t *predicted = predict(&r, "run", "dev.json"), *file;
    file = json_load_file(gsa_scratch_path(&r.scratch, "dev.json"), 0, NULL);
    const json_t *paragraphs =
        json_object_get(json_array_get(json_object_get(file, "data"), 0), "paragraphs");
    json_object_foreach (predicted, id, answer) {
        const json_t *qa =
            json_array_get(json_object_get(json_array_get(paragraphs, (size_t)(count / 5)), "qas"),
                           (size_t)(count % 5));
        ck_assert_str_eq(id, json_string_value(json_object_get(qa, "id")));
        right += strcmp(json_string_value(json_object_get(
                            json_array_get(json_object_get(qa, "answers"), 0), "text")),
                        json_string_value(answer)) == 0;
        count++;
    }
    ck_assert_int_eq(count, 40);
    ck_assert_msg(right > 0.95 * count, "%d of %d are right", right, count);
    json_decref(predicted);
    json_decref(file);
    rig_close(&r);
}
END_TEST

START_TEST(odd_files_are_predicted)
{
    static const char none[] = "{\"data\": []}";
    static const char odd[] = "{\"data\": [{\"paragraphs\": [{\"context\": \"k1 "
                              "\\\"\\\\\\u0007\\\" v1 .\", \"qas\": [{\"id\": "
                              "\"a\\n\\\"\", \"question\": \"k1 ?\"}]}]}]}";
    rig r;
    open_toy(&r, GSA_F32, 4);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    gsa_put_file(gsa_scratch_path(&r.scratch, "none.json"), none, sizeof none - 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "odd.json"), odd, sizeof odd - 1);
    json_t *object = predict(&r, "run", "none.json");
    ck_assert_int_eq((int)json_object_size(object), 0);
    json_decref(object);
    object = predict(&r, "run", "odd.json");
    const char *text = json_string_value(json_object_get(object, "a\n\""));
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr("k1 \"\\\a\" v1 .", text));
    json_decref(object);
    rig_close(&r);
}
END_TEST

START_TEST(a_stopped_run_goes_on_to_the_same_bits)
{
    rig r;
    open_toy(&r, GSA_F32, 6);
    rig_train_ok(&r, "whole");
    const int64_t steps = r.last_step;
    for (int64_t step = 1; step < steps; step += 2) {
        char name[16];
        snprintf(name, sizeof name, "cut%d", (int)step);
        r.stop_at = step;
        ck_assert_int_eq(rig_train(&r, name), GSA_ERR_INTERRUPTED);
        r.stop_at = 0;
        ck_assert_msg(rig_resume(&r, name) == GSA_OK, "%s", r.error.text);
        ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
    }
    rig_close(&r);
}
END_TEST

static const struct {
    const char *set, *expected;
} wrong[] = {
    { "data.stride=10", "--set data.stride: [data] stride = 10 is more than window = 9: tokens "
                        "between windows would not be read" },
    { "model.position_max=10", "train.json: the longest question and window have 13 tokens "
                               "together, model.position_max is 10" },
    { "model.encoder=star,full+cross", "reads another stack's sequence, and this task has none" },
};

START_TEST(wrong_settings_are_sentences)
{
    rig r;
    open_toy(&r, GSA_F32, 2);
    rig_set(&r, wrong[_i].set);
    ck_assert_int_ne(rig_train(&r, NULL), GSA_OK);
    ck_assert_msg(strstr(r.error.text, wrong[_i].expected), "'%s' lacks '%s'", r.error.text,
                  wrong[_i].expected);
    rig_close(&r);
}
END_TEST

/* It would be in each window, and memory would grow with the square of the file. */
START_TEST(a_long_question_is_no_windows_of_it)
{
    enum { WORDS = 1100 };
    char question[2 * WORDS + 1] = "", text[2 * WORDS + 512];
    rig r;
    open_toy(&r, GSA_F32, 2);
    for (int i = 0; i < WORDS; i++) memcpy(question + (ptrdiff_t)2 * i, "x ", 3);
    snprintf(text, sizeof text,
             "{\"data\": [{\"paragraphs\": [{\"context\": \"a b c d e f g h i j k l\", \"qas\": "
             "[{\"id\": \"0\", \"question\": \"%s\", \"answers\": [{\"text\": \"a\", "
             "\"answer_start\": 0}]}]}]}]}",
             question);
    gsa_put_file(gsa_scratch_path(&r.scratch, "train.json"), text, (int64_t)strlen(text));
    ck_assert_int_eq(rig_train(&r, NULL), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(r.error.text,
                         "a question has 1100 tokens, and each of 2 windows would hold them: "
                         "expected at most 1022, to which data.max_length cuts"),
                  "%s", r.error.text);
    rig_set(&r, "data.max_length=1022");
    rig_set(&r, "model.position_max=2000");
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, NULL);
    rig_close(&r);
}
END_TEST

/* Where an answer is among tokens and windows is the run's affair. */
START_TEST(gold_is_the_file)
{
    static const char *const windows[] = { "data.window=0", "data.window=6" };
    gsa_outcomes o[2];
    rig r;
    open_toy(&r, GSA_F32, 3);
    rig_set(&r, "train.epochs=1");
    for (int i = 0; i < 2; i++) {
        rig_set(&r, windows[i]);
        rig_train_ok(&r, i ? "b" : "a");
        const char *path =
            gsa_scratch_path(&r.scratch, i ? "b/outcomes.jsonl" : "a/outcomes.jsonl");
        ck_assert_int_eq(
            gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, &o[i], &r.error), GSA_OK);
    }
    ck_assert_str_eq(o[0].gold, o[1].gold);
    for (int i = 0; i < 2; i++) gsa_outcomes_release(&o[i]);
    rig_close(&r);
}
END_TEST

/* As in the trial set of CMRC 2018: without a token to read, the passage alone is. */
START_TEST(empty_questions_are_told)
{
    static const char json[] =
        "{\"data\": [{\"paragraphs\": [{\"context\": \"a b c\", \"qas\": ["
        "{\"id\": \"0\", \"question\": \"\", \"answers\": " ANSWERS(
            ANSWER("b", 2)) "},"
                            "{\"id\": \"1\", \"question\": \" \", \"answers\": " ANSWERS(
                                ANSWER("c", 4)) "}]}]}]}";
    rig r;
    open_toy(&r, GSA_F32, 2);
    gsa_put_file(gsa_scratch_path(&r.scratch, "train.json"), json, sizeof json - 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "dev.json"), json, sizeof json - 1);
    rig_set(&r, "train.epochs=1");
    rig_set(&r, "task.match=1");
    rig_train_ok(&r, NULL);
    ck_assert_msg(strstr(r.messages, "train.json: 2 questions on 1 passages in 2 windows, the "
                                     "longest sequence of 5 tokens; 2 "
                                     "questions are empty and are read as such\n") != NULL,
                  "%s", r.messages);
    rig_close(&r);
}
END_TEST

START_TEST(lost_answers_are_told)
{
    static const char json[] =
        "{\"data\": [{\"paragraphs\": [{\"context\": \"a b c\", \"qas\": ["
        "{\"id\": \"0\", \"question\": \"x\", \"answers\": " ANSWERS(ANSWER(
            "b", 0)) "},"
                     "{\"id\": \"1\", \"question\": \"x\", \"answers\": " ANSWERS(ANSWER(
                         "zz", 0)) "},"
                                   "{\"id\": \"2\", \"question\": \"x\", \"answers\": []}]}]}]}";
    rig r;
    open_toy(&r, GSA_F32, 2);
    gsa_put_file(gsa_scratch_path(&r.scratch, "train.json"), json, sizeof json - 1);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, NULL);
    ck_assert_msg(strstr(r.messages, "train.json: 1 questions on 1 passages in 1 windows") &&
                      strstr(r.messages, "; 1 answers are not at their answer_start") &&
                      strstr(r.messages, "; 1 answers are nowhere in the passage") &&
                      strstr(r.messages, "; 1 questions without an answer are passed over") &&
                      strstr(r.messages,
                             "; 1 questions have no answer in the passage and are not trained on"),
                  "%s", r.messages);
    rig_close(&r);
}
END_TEST

/* ---- faults: reading, and one batch filled ------------------------------------------------- */

static gsa_status read_and_fill(gsa_faults *faults, void *context)
{
    static const int64_t example[] = { 0, 1, 2 };
    rig *r = context;
    gsa_session s;
    char train[300], dev[300];
    snprintf(train, sizeof train, "data.train=%s/train.json", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/dev.json", r->scratch.folder);
    const char *const set[] = { train, dev, "data.lower=1" };
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = 3,
                                          .splits = 3,
                                          .backend = r->backend,
                                          .say = say_nothing };
    gsa_status status = gsa_session_create(&faults->table, &options, &s, &r->error);
    if (status != GSA_OK) return status;
    status = gsa_task_fill(s.task, s.self, GSA_SPLIT_TRAIN, example, 3, &s.batch, &r->error);
    gsa_session_release(&s);
    return status;
}

static const struct {
    int op;
    gsa_status expected;
} faults_of[] = { { GSA_OP_ALLOC, GSA_ERR_MEMORY },
                  { GSA_OP_OPEN, GSA_ERR_IO },
                  { GSA_OP_READ, GSA_ERR_IO } };

START_TEST(every_fault_is_reported)
{
    rig r;
    open_toy(&r, GSA_F32, 2);
    ck_assert_int_gt(
        gsa_faults_sweep(faults_of[_i].op, 1, faults_of[_i].expected, read_and_fill, &r), 2);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test gradients[] = { GSA_TEST(every_parameter_differentiates) };
    static const gsa_test scores[] = { GSA_LOOP(known_logits_give_known_scores, GSA_COUNT(spans)),
                                       GSA_TEST(the_loss_is_the_one_that_is_scored) };
    static const gsa_test runs[] = { GSA_TEST(a_toy_is_learned_and_predicted),
                                     GSA_TEST(odd_files_are_predicted),
                                     GSA_TEST(a_stopped_run_goes_on_to_the_same_bits),
                                     GSA_LOOP(wrong_settings_are_sentences, GSA_COUNT(wrong)),
                                     GSA_TEST(a_long_question_is_no_windows_of_it),
                                     GSA_TEST(empty_questions_are_told),
                                     GSA_TEST(lost_answers_are_told),
                                     GSA_TEST(gold_is_the_file) };
    static const gsa_test faults[] = { GSA_LOOP(every_fault_is_reported, GSA_COUNT(faults_of)) };
    static const gsa_case cases[] = { GSA_CASE("gradients", gradients, 120),
                                      GSA_CASE("scores", scores, 20), GSA_CASE("runs", runs, 120),
                                      GSA_CASE("faults", faults, 120) };
    return gsa_run_suite("span_extraction", cases, GSA_COUNT(cases), argc, argv);
}
