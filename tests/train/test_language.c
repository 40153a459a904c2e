/* Language modelling: every token is scored once after enough others, none sees what it has to
 * predict, and the losses of tied, smoothed and tapped models are what their equations say. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "slopes.h"
#include "train/settings/keys.h"
#include "train/decode/language.h"

static void say_nothing(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

/* ---- windows ------------------------------------------------------------------------------- */

typedef struct task_of {
    gsa_scratch scratch;
    gsa_recipe recipe;
    void *self;
    gsa_minibatch batch;
    gsa_error error;
} task_of;

static const gsa_task *const task = &gsa_task_language_modelling;

static const char ini_text[] =
    "[task]\nname = language_modelling\n[model]\nencoder = full:causal=1\n";

/* The task over one file that is train, dev and test; `more` is a list of overrides, ended by
 * NULL. */
static gsa_status open_task(task_of *t, const char *text, int64_t bytes, const char *const *more)
{
    char paths[3][300];
    const char *set[16] = { paths[0], paths[1], paths[2] };
    int sets = 3;
    *t = (task_of){ .batch.system = gsa_system_default() };
    gsa_scratch_open(&t->scratch);
    const char *file = gsa_scratch_path(&t->scratch, "t.txt"),
               *ini = gsa_scratch_path(&t->scratch, "r.ini");
    gsa_put_file(file, text, bytes);
    gsa_put_file(ini, ini_text, sizeof ini_text - 1);
    snprintf(paths[0], sizeof paths[0], "data.train=%s", file);
    snprintf(paths[1], sizeof paths[1], "data.dev=%s", file);
    snprintf(paths[2], sizeof paths[2], "data.test=%s", file);
    while (*more) set[sets++] = *more++;
    gsa_status status =
        gsa_recipe_read(gsa_system_default(), ini, set, sets, &t->recipe, &t->error);
    ck_assert_msg(status == GSA_OK, "%s", t->error.text);
    const gsa_task_options options = {
        .system = gsa_system_default(), .recipe = &t->recipe, .splits = 7, .say = say_nothing
    };
    status = task->check(&t->recipe, &t->error);
    return status == GSA_OK ? task->create(&options, &t->self, &t->error) : status;
}

static void close_task(task_of *t)
{
    if (t->self) task->destroy(t->self);
    gsa_minibatch_release(&t->batch);
    gsa_recipe_release(&t->recipe);
    gsa_scratch_close(&t->scratch);
}

/* Walks all windows of a split; counts how often each token is scored, and how much is before
 * it. */
static void check_windows(task_of *t, int split, int tokens, int window, int step, int context)
{
    int scored[64] = { 0 };
    const gsa_units *units = gsa_language_units(t->self);
    for (int64_t e = 0, count = task->examples(t->self, split); e < count; e++) {
        ck_assert_int_eq(task->fill(t->self, split, &e, 1, &t->batch, &t->error), GSA_OK);
        const int32_t length = t->batch.sequence[0].length[0], first = (int32_t)e * step;
        ck_assert_int_eq(length, task->lengths(t->self, split)[e]);
        ck_assert(length > 0 && length <= window && t->batch.targets == length);
        for (int32_t i = 0; i < length; i++) {
            const char before = (char)('A' + first + i - 1), now = (char)('A' + first + i);
            const int32_t input =
                first + i == 0 ? units->line_end : gsa_units_id(units, (gsa_slice){ &before, 1 });
            ck_assert_int_eq(t->batch.sequence[0].id[i], input);
            if (t->batch.label[i] < 0) continue;
            ck_assert_int_eq(t->batch.label[i] + units->first_class,
                             gsa_units_id(units, (gsa_slice){ &now, 1 }));
            scored[first + i]++;
            if (split != GSA_SPLIT_TRAIN) ck_assert(e == 0 || i >= context);
        }
    }
    for (int i = 0; i < tokens; i++)
        if (split != GSA_SPLIT_TRAIN)
            ck_assert_msg(scored[i] == 1, "token %d of %d is scored %d times", i, tokens,
                          scored[i]);
        else ck_assert_int_ge(scored[i], 1);
}

/* Every length, window, context and stride: 40 different tokens at most. */
START_TEST(every_token_is_scored_once)
{
    char text[64], settings[3][40];
    const char *const more[] = { "data.tokens=bytes", settings[0], settings[1], settings[2], NULL };
    const int window = _i + 1;
    for (int i = 0; i < 64; i++) text[i] = (char)('A' + i);
    for (int context = 0; context < window; context++)
        for (int tokens = 1; tokens <= 40; tokens += tokens < 12 ? 1 : 7) {
            task_of t;
            snprintf(settings[0], sizeof settings[0], "data.window=%d", window);
            snprintf(settings[1], sizeof settings[1], "data.context=%d", context);
            snprintf(settings[2], sizeof settings[2], "data.stride=%d", context + 1);
            ck_assert_msg(open_task(&t, text, tokens, more) == GSA_OK, "%s", t.error.text);
            check_windows(&t, GSA_SPLIT_DEV, tokens, window, window - context, context);
            check_windows(&t, GSA_SPLIT_TRAIN, tokens, window, context + 1, 0);
            close_task(&t);
        }
}
END_TEST

START_TEST(training_counts_its_targets)
{
    static const char *const more[] = { "data.tokens=chars", "data.window=4", "data.stride=3",
                                        NULL };
    static const int64_t all[] = { 0, 1, 2 };
    task_of t;
    ck_assert_msg(open_task(&t, "abcdefghi", 9, more) == GSA_OK, "%s", t.error.text);
    ck_assert_int_eq(task->examples(t.self, GSA_SPLIT_TRAIN), 3); /* abcd, defg, ghi */
    ck_assert_int_eq(task->targets(t.self, GSA_SPLIT_TRAIN, all, 3), 4 + 4 + 3);
    close_task(&t);
}
END_TEST

/* Words: a line end is before the text, and is a word. */
START_TEST(lines_of_words)
{
    static const char *const more[] = { "data.tokens=words", "data.window=8", NULL };
    static const char *const words[] = { "<eos>", "a", "b", "<eos>", "<eos>", "a" };
    static const int64_t first = 0;
    task_of t;
    ck_assert_msg(open_task(&t, "a b\n\na ", 7, more) == GSA_OK, "%s", t.error.text);
    ck_assert_int_eq(task->fill(t.self, GSA_SPLIT_DEV, &first, 1, &t.batch, &t.error), GSA_OK);
    ck_assert_int_eq(t.batch.targets, 5);
    for (int i = 0; i < 5; i++) {
        const gsa_slice in = t.batch.sequence[0].text[i];
        ck_assert(in.bytes == (int64_t)strlen(words[i]) &&
                  memcmp(in.at, words[i], (size_t)in.bytes) == 0);
        const int32_t id = t.batch.label[i] + gsa_language_units(t.self)->first_class;
        const gsa_slice out = gsa_vocabulary_word(gsa_language_units(t.self)->vocabulary, id);
        ck_assert(out.bytes == (int64_t)strlen(words[i + 1]) &&
                  memcmp(out.at, words[i + 1], (size_t)out.bytes) == 0);
    }
    close_task(&t);
}
END_TEST

static const struct {
    const char *split, *parts[3]; /* of "ab\ncd\nefgh" as words; NULL: a sentence with parts[1] */
} splits[] = {
    { "0.5,0.5", { "ab\ncd\n", "efgh", "" } },
    { "0.1,0.3,0.6", { "ab\n", "cd\n", "efgh" } },
    { "3,3,4", { "ab\n", "cd\n", "efgh" } },
    { "3,3", { "ab\n", "cd\n", "" } },
    { "6,4", { "ab\ncd\n", "efgh", "" } },
    { "0.6,0", { "ab\ncd\n", "", "" } },
    { "0.6", { NULL, "these are no two or three numbers" } },
    { "0.2,0.2,0.2,0.2", { NULL, "these are no two or three numbers" } },
    { "0.6,x", { NULL, "these are no two or three numbers" } },
    { "0.6,-0.1", { NULL, "these are no two or three numbers" } },
    { "0.6,0.6", { NULL, "the shares add up to more than 1" } },
    { "8,8", { NULL, "the file has fewer bytes" } },
    { "0.9999,0.0001", { NULL, "the dev text holds no token" } },
};

START_TEST(one_file_for_all_splits)
{
    char split[64], shown[64];
    const char *const more[] = { "data.dev=", "data.test=", "data.window=20", split, NULL };
    static const int64_t first = 0;
    task_of t;
    snprintf(split, sizeof split, "data.split=%s", splits[_i].split);
    const gsa_status status = open_task(&t, "ab\ncd\nefgh", 10, more);
    if (!splits[_i].parts[0]) {
        ck_assert_int_ne(status, GSA_OK);
        ck_assert_msg(strstr(t.error.text, splits[_i].parts[1]), "%s", t.error.text);
    } else ck_assert_msg(status == GSA_OK, "%s", t.error.text);
    for (int s = 0; s < GSA_SPLITS && splits[_i].parts[0]; s++) {
        size_t used = 0;
        shown[0] = 0;
        if (task->examples(t.self, s) > 0) {
            ck_assert_int_eq(task->fill(t.self, s, &first, 1, &t.batch, &t.error), GSA_OK);
            for (int64_t i = 0; i < t.batch.targets; i++) {
                char room[4];
                const gsa_slice unit =
                    gsa_units_text(gsa_language_units(t.self), t.batch.label[i] + 1, room);
                used += (size_t)snprintf(shown + used, sizeof shown - used, "%.*s", (int)unit.bytes,
                                         unit.at);
            }
        }
        /* words of later splits are unknown, line ends are not */
        const char *wanted = s == 0                              ? splits[_i].parts[0]
                             : strchr(splits[_i].parts[s], '\n') ? "<unk>\n"
                             : *splits[_i].parts[s]              ? "<unk>"
                                                                 : "";
        ck_assert_str_eq(shown, wanted);
    }
    close_task(&t);
}
END_TEST

/* ---- sessions ------------------------------------------------------------------------------ */

static gsa_status try_session(rig *r, gsa_session *s, int real, const char *const *more)
{
    char train[300], dev[300];
    const char *set[20] = { train, dev, "model.activation=tanh" };
    int sets = 3;
    rig_open(r, rig_language, real, 1);
    snprintf(train, sizeof train, "data.train=%s/train.txt", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/dev.txt", r->scratch.folder);
    while (*more) set[sets++] = *more++;
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = sets,
                                          .splits = 3,
                                          .backend = r->backend,
                                          .say = say_nothing };
    return gsa_session_create(gsa_system_default(), &options, s, &r->error);
}

static void open_session(rig *r, gsa_session *s, int real, const char *const *more)
{
    ck_assert_msg(try_session(r, s, real, more) == GSA_OK, "%s", r->error.text);
}

static const char *const none[] = { NULL };

/* ---- nothing sees what it predicts --------------------------------------------------------- */

static const char *const causal[] = { "model.encoder=full:causal=1*2",
                                      "model.encoder=window:width=3:causal=1,full:causal=1",
                                      "model.encoder=bpt:k=1:causal=1*2,bpt:k=2:causal=1",
                                      "model.encoder=strided:stride=3:causal=1*2",
                                      "model.encoder=dilated:causal=1*2",
                                      "model.encoder=longformer:causal=1*2",
                                      "model.encoder=bigbird:causal=1*2" };

/* The rows of out [targets, classes] for a text. */
static double *rows_of(gsa_session *s, const char *text, int64_t *targets)
{
    static const int64_t first = 0;
    gsa_error error;
    ck_assert_int_eq(s->task->read_text(s->self, text, &error), GSA_OK);
    ck_assert_int_eq(gsa_task_fill(s->task, s->self, GSA_SPLIT_TEST, &first, 1, &s->batch, &error),
                     GSA_OK);
    *targets = s->batch.targets;
    gsa_tape_reset(s->model.tape, 0, 0, 0);
    const gsa_tensor *out = gsa_learner_forward(&s->model, &s->batch);
    ck_assert_msg(out, "%d", gsa_tape_status(s->model.tape, &error));
    double *rows = malloc((size_t)(out->rows * out->cols) * sizeof *rows);
    ck_assert_int_eq(gsa_tensor_read(s->backend, out, 0, rows, NULL), GSA_OK);
    return rows;
}

START_TEST(a_later_token_changes_no_earlier_row)
{
    const char *const more[] = { causal[_i], "model.position=sinusoid", NULL };
    char text[] = "the cat sat on a log";
    int64_t targets;
    gsa_session s;
    rig r;
    open_session(&r, &s, GSA_F32, more);
    const int32_t classes = s.model.plan.outputs;
    double *before = rows_of(&s, text, &targets);
    for (int changed = 0; changed < (int)strlen(text); changed += 3) {
        const char was = text[changed];
        text[changed] = was == 'n' ? 'm' : 'n';
        double *after = rows_of(&s, text, &targets);
        /* row i reads tokens < i */
        ck_assert_int_eq(memcmp(before, after, (size_t)((changed + 1) * classes) * sizeof *after),
                         0);
        ck_assert_int_ne(memcmp(before, after, (size_t)(targets * classes) * sizeof *after), 0);
        text[changed] = was;
        free(after);
    }
    free(before);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* What comes next, from a prefix alone, is the whole text's row there. */
START_TEST(the_next_token_is_the_texts_row)
{
    const char *const more[] = { causal[_i], "model.position=sinusoid", NULL };
    static const char text[] = "the cat sat on";
    int64_t targets, count;
    int32_t *id, behind[32];
    double logits[64];
    gsa_session s;
    rig r;
    open_session(&r, &s, GSA_F64, more);
    double *rows = rows_of(&s, text, &targets);
    ck_assert_int_eq(gsa_language_ids(s.self, text, sizeof text - 1, &id, &count, &r.error),
                     GSA_OK);
    ck_assert_int_eq(targets, count + 1); /* the line's end too */
    behind[0] = gsa_language_units(s.self)->line_end;
    memcpy(behind + 1, id, (size_t)count * sizeof *id);
    for (int32_t n = 1; n <= count + 1; n++) {
        ck_assert_int_eq(gsa_language_next(&s, behind, n, logits, &r.error), GSA_OK);
        for (int32_t c = 0; c < s.model.plan.outputs; c++)
            ck_assert_double_eq_tol(logits[c], rows[(n - 1) * s.model.plan.outputs + c], 1e-12);
    }
    ck_assert_int_eq(gsa_language_next(&s, behind, 0, logits, &r.error), GSA_ERR_ARGUMENT);
    gsa_release(gsa_system_default(), id);
    free(rows);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

static const struct {
    const char *encoder, *sentence;
} leaks[] = {
    { "model.encoder=full", "layer 1 of full, full, lets a token see those after it" },
    { "model.encoder=full:causal=1*2,star", "layer 3 of full:causal=1*2,star, star, lets" },
    { "model.encoder=bpt:k=1:causal=1,window:width=3",
      "layer 2 of bpt:k=1:causal=1,window:width=3, window:width=3, lets" },
    { "model.encoder=full:causal=1,full:causal=1+head_area", "head_area" },
    { "model.encoder=ring", "layer 1 of ring" },
};

START_TEST(what_looks_ahead_is_refused)
{
    const char *const more[] = { leaks[_i].encoder, NULL };
    gsa_session s;
    rig r;
    ck_assert_int_eq(try_session(&r, &s, GSA_F32, more), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, leaks[_i].sentence), "'%s' lacks '%s'", r.error.text,
                  leaks[_i].sentence);
    rig_close(&r);
}
END_TEST

/* ---- gradients ----------------------------------------------------------------------------- */

static gsa_tensor *forward(gsa_session *s)
{
    static const int64_t example[] = { 0, 3, 21 };
    gsa_error error;
    ck_assert_int_eq(
        gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, 3, &s->batch, &error), GSA_OK);
    gsa_tape_reset(s->model.tape, 1, 3, 4);
    return gsa_learner_forward(&s->model, &s->batch);
}

static double loss_of(gsa_session *s, int backward)
{
    gsa_error error;
    double value;
    gsa_tensor *loss = gsa_learner_loss(&s->model, forward(s), &s->batch, 0.1);
    ck_assert_msg(gsa_tape_status(s->model.tape, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_tensor_read(s->backend, loss, 0, &value, &error), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(s->model.tape, loss, &error), GSA_OK);
    return value;
}

static const char *const models[][4] = {
    { "model.tied=1" }, /* with losses of layers, label smoothing and dropout */
    { "model.tied=0" },
    { "model.tied=1", "model.head_hidden=8" },
    { "model.tied=1", "model.norm=pre", "data.tokens=bytes", "task.aux=0" },
};

START_TEST(every_parameter_differentiates)
{
    gsa_session s;
    rig r;
    const char *const more[] = { models[_i][0], models[_i][1], models[_i][2], models[_i][3], NULL };
    open_session(&r, &s, GSA_F64, more);
    check_slopes(&s, loss_of, _i == 3 ? 17 : 3, SILENT_UNREACHED | SILENT_LABELS);
    const int untied = gsa_parameters_find(s.model.parameters, "head.out.weight") != NULL;
    ck_assert_int_eq(untied, _i == 1);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- numbers ------------------------------------------------------------------------------- */

/* The smoothed cross entropy of logits by its definition, times 0.1. */
static double by_hand(const gsa_session *s, const gsa_tensor *logits, double smoothing)
{
    const int64_t classes = logits->cols;
    double *x = malloc((size_t)(logits->rows * classes) * sizeof *x), sum = 0;
    ck_assert_int_eq(gsa_tensor_read(s->backend, logits, 0, x, NULL), GSA_OK);
    for (int64_t i = 0; i < logits->rows; i++) {
        double all = 0;
        for (int64_t c = 0; c < classes; c++) all += exp(x[i * classes + c]);
        for (int64_t c = 0; c < classes; c++) {
            const double wanted =
                smoothing / (double)classes + (c == s->batch.label[i] ? 1 - smoothing : 0);
            sum -= wanted * log(exp(x[i * classes + c]) / all);
        }
    }
    free(x);
    return 0.1 * sum;
}

/* loss = L_3 + 0.5 mean of those of L_1, L_2 whose time has not ended. */
START_TEST(losses_of_layers_by_hand)
{
    static const double done[] = { 0, 0.34, 0.67, 1 };
    gsa_session s;
    rig r;
    open_session(&r, &s, GSA_F64, none);
    ck_assert_int_eq(s.model.n_taps, 2);
    for (int i = 0; i < GSA_COUNT(done); i++) {
        double sum = 0, value;
        int count = 0;
        s.model.done = done[i];
        gsa_tensor *out = forward(&s);
        const double last = by_hand(&s, out, 0.1);
        for (int l = 0; l < 2; l++) {
            ck_assert_int_eq(s.model.tapped[l] != NULL, (l + 1) / 3.0 > done[i]);
            if (s.model.tapped[l]) sum += by_hand(&s, s.model.tapped[l], 0.1), count++;
        }
        gsa_tensor_read(s.backend, gsa_learner_loss(&s.model, out, &s.batch, 0.1), 0, &value, NULL);
        ck_assert_double_eq_tol(value, last + (count ? 0.5 * sum / count : 0), 1e-12);
    }
    gsa_tape_reset(s.model.tape, 0, 0, 0); /* evaluation has none */
    gsa_learner_forward(&s.model, &s.batch);
    ck_assert(!s.model.tapped[0] && !s.model.tapped[1]);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

static double evaluate(rig *r, const char *run, const char *key)
{
    gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "%s", run),
                            .backend = r->backend };
    gsa_release(gsa_system_default(), r->result);
    ck_assert_msg(gsa_evaluate(NULL, &o, &r->result, &r->error) == GSA_OK, "%s", r->error.text);
    return rig_number(r, key);
}

/* Weights of zero give every class the same: the perplexity is their number. */
START_TEST(a_uniform_model_has_perplexity_v)
{
    static const char *const sets[] = { "train.epochs=0", "model.init=normal", "model.init_scale=0",
                                        "model.tied=0" };
    rig r;
    rig_open(&r, rig_language, GSA_F64, 1);
    for (int i = 0; i < GSA_COUNT(sets); i++) rig_set(&r, sets[i]);
    rig_set(&r, "data.tokens=bytes");
    rig_train_ok(&r, "bytes");
    ck_assert_double_eq_tol(evaluate(&r, "bytes", "dev_bpc"), 8, 1e-7); /* results have 8 digits */
    ck_assert_double_eq(rig_number(&r, "dev_examples"), 23);
    r.sets--;
    rig_set(&r, "data.tokens=words");
    rig_train_ok(&r, "words"); /* <eos> <unk> the cat sat on mat dog log ate hen no */
    ck_assert_double_eq_tol(evaluate(&r, "words", "dev_perplexity"), 12, 1e-6);
    rig_close(&r);
}
END_TEST

/* Each line's log2 probability is that of its tokens, one after the other; an empty line is its
 * end. */
START_TEST(lines_add_up)
{
    static const char *const lines[] = { "the cat", "", "no" };
    gsa_session s;
    rig r;
    int64_t bytes, count;
    rig_open(&r, rig_language, GSA_F64, 1);
    rig_train_ok(&r, "run");
    char input[300];
    snprintf(input, sizeof input, "%s", gsa_scratch_path(&r.scratch, "in.txt"));
    const char *output = gsa_scratch_path(&r.scratch, "out.txt");
    gsa_put_file(input, "the cat\n\nno", 11);
    gsa_apply_options o = { .backend = r.backend, .input = input, .output = output };
    o.model = gsa_scratch_path(&r.scratch, "run");
    ck_assert_msg(gsa_predict(NULL, &o, &r.error) == GSA_OK, "%s", r.error.text);
    char *told = gsa_get_file(output, &bytes), *at = told, *checkpoint, *warning;
    ck_assert_int_eq(
        gsa_checkpoint_find(gsa_system_default(), o.model, NULL, &checkpoint, &warning, &r.error),
        GSA_OK);
    const gsa_session_options options = { .checkpoint = checkpoint,
                                          .backend = r.backend,
                                          .say = say_nothing };
    ck_assert_int_eq(gsa_session_create(gsa_system_default(), &options, &s, &r.error), GSA_OK);
    char weights[400];
    snprintf(weights, sizeof weights, "%s/model.safetensors", checkpoint);
    ck_assert_int_eq(
        gsa_parameters_read(gsa_system_default(), s.model.parameters, weights, &r.error), GSA_OK);
    const gsa_units *units = gsa_language_units(s.self);
    for (int l = 0; l < 3; l++) {
        int32_t behind[16] = { units->line_end }, *id;
        double logits[64], sum = 0;
        gsa_language_ids(s.self, lines[l], (int64_t)strlen(lines[l]), &id, &count, &r.error);
        for (int64_t i = 0; i < count; i++) behind[i + 1] = id[i];
        behind[count + 1] = units->line_end;
        for (int32_t n = 1; n <= count + 1; n++) {
            double all = 0;
            gsa_language_next(&s, behind, n, logits, &r.error);
            for (int32_t c = 0; c < s.model.plan.outputs; c++) all += exp(logits[c]);
            sum += log2(exp(logits[behind[n] - units->first_class]) / all);
        }
        ck_assert_double_eq_tol(strtod(at, &at), sum, 1e-4);
        ck_assert_double_eq_tol(strtod(at, &at), -sum / (double)(count + 1), 1e-4);
        gsa_release(gsa_system_default(), id);
    }
    ck_assert_str_eq(at, "\n");
    free(told);
    gsa_release(gsa_system_default(), checkpoint);
    gsa_release(gsa_system_default(), warning);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* The model of a checkpoint: the table is in it once. */
START_TEST(a_tied_table_is_kept_once)
{
    rig r;
    int64_t bytes;
    rig_open(&r, rig_language, GSA_F32, 1);
    rig_train_ok(&r, "run");
    char *model = rig_checkpoint_file(&r, "run", "model.safetensors", &bytes);
    int64_t header;
    memcpy(&header, model, sizeof header);
    model[8 + header] = 0;
    ck_assert_ptr_nonnull(strstr(model + 8, "input.embedding.weight"));
    ck_assert_ptr_null(strstr(model + 8, "head.out.weight"));
    ck_assert_ptr_nonnull(strstr(model + 8, "head.out.bias"));
    free(model);
    ck_assert(isfinite(rig_number(&r, "dev_bpc")) && isfinite(rig_number(&r, "bigram_bpc")));
    ck_assert_ptr_nonnull(strstr(r.messages, "69 characters, 22 windows of 6, one every 3"));
    rig_close(&r);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------ */

static const struct {
    const char *set[3], *sentence;
} bad[] = {
    { { "data.stride=7" }, "--set data.stride: [data] stride = 7 is more than window = 6" },
    { { "data.context=6" },
      "--set data.context: [data] context = 6, expected less than window = 6" },
    { { "data.window=17", "data.stride=17" },
      "--set data.window: [data] window = 17, and learned positions end at model.position_max = "
      "16" },
    { { "data.lower=1" }, "--set data.lower: [data] lower = 1 is not for task language_modelling" },
    { { "data.encoding=latin1" }, "[data] encoding = latin1 is not for task language_modelling" },
    { { "data.tokens=punctuated" },
      "[data] tokens = punctuated is not for task language_modelling" },
    { { "model.embedding=6" }, "[model] tied = 1: the head reads 8 columns, the embedding has 6" },
    { { "model.head_hidden=6" },
      "[model] tied = 1: the head reads 6 columns, the embedding has 8" },
    { { "model.decoder=full" }, "[model] decoder = full is not for task language_modelling" },
    { { "data.split=0.5,0.5" }, "data.dev and data.test must not be set with it" },
    { { "data.train=" }, "[data] train is not set" },
    { { "data.train=/dev/null" }, "/dev/null is no regular file" },
};

START_TEST(bad_settings)
{
    const char *const more[] = { bad[_i].set[0], bad[_i].set[1],
                                 bad[_i].set[1] ? bad[_i].set[2] : NULL, NULL };
    gsa_session s;
    rig r;
    ck_assert_int_ne(try_session(&r, &s, GSA_F32, more), GSA_OK);
    ck_assert_msg(strstr(r.error.text, bad[_i].sentence), "'%s' lacks '%s'", r.error.text,
                  bad[_i].sentence);
    rig_close(&r);
}
END_TEST

START_TEST(empty_texts)
{
    static const char *const texts[] = { "", " \t ", "\xef\xbb\xbf" };
    static const char *const more[] = { "data.tokens=words", NULL };
    task_of t;
    for (int i = 0; i < GSA_COUNT(texts); i++) {
        ck_assert_int_eq(open_task(&t, texts[i], (int64_t)strlen(texts[i]), more), GSA_ERR_FORMAT);
        ck_assert_msg(strstr(t.error.text, "t.txt: the train text holds no token"), "%s",
                      t.error.text);
        t.self = NULL;
        close_task(&t);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test windows[] = { GSA_LOOP(every_token_is_scored_once, 9),
                                        GSA_TEST(training_counts_its_targets),
                                        GSA_TEST(lines_of_words),
                                        GSA_LOOP(one_file_for_all_splits, GSA_COUNT(splits)) };
    static const gsa_test causals[] = {
        GSA_LOOP(a_later_token_changes_no_earlier_row, GSA_COUNT(causal)),
        GSA_LOOP(the_next_token_is_the_texts_row, GSA_COUNT(causal)),
        GSA_LOOP(what_looks_ahead_is_refused, GSA_COUNT(leaks))
    };
    static const gsa_test gradients[] = { GSA_LOOP(every_parameter_differentiates,
                                                   GSA_COUNT(models)) };
    static const gsa_test numbers[] = { GSA_TEST(losses_of_layers_by_hand),
                                        GSA_TEST(a_uniform_model_has_perplexity_v),
                                        GSA_TEST(lines_add_up),
                                        GSA_TEST(a_tied_table_is_kept_once) };
    static const gsa_test bads[] = { GSA_LOOP(bad_settings, GSA_COUNT(bad)),
                                     GSA_TEST(empty_texts) };
    static const gsa_case cases[] = { GSA_CASE("windows", windows, 60),
                                      GSA_CASE("causal", causals, 60),
                                      GSA_CASE("gradients", gradients, 120),
                                      GSA_CASE("numbers", numbers, 60), GSA_CASE("bad", bads, 30) };
    return gsa_run_suite("language", cases, GSA_COUNT(cases), argc, argv);
}
