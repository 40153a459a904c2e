/* Translation: gradients of the smoothed loss with one embedding for both languages and the head,
 * what is left out, and a language whose sentences are those of another backwards, learned and
 * translated. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/suite.h"
#include "slopes.h"
#include "support/guard.h"
#include "gsa/vocabulary.h"
#include "train/decode/beam.h"
#include "train/decode/coverage.h"
#include "train/driver/session.h"
#include "train/decode/translate.h"

static const char recipe[] =
    "[task]\nname = translation\n"
    "[model]\nencoder = full\ndecoder = full:causal=1+cross\nhidden = 8\nheads = 2\nffn = 8\n"
    "position = sinusoid\ntied = 1\nactivation = tanh\ndropout_input = 0.1\ndropout_hidden = 0.1\n"
    "[train]\nbatch = 4\nepochs = 1\nlabel_smoothing = 0.1\n"
    "[data]\nsource = a\ntarget = b\nlower = 1\n";
static const char *const words[] = { "alpha", "bravo",   "charlie", "delta",
                                     "echo",  "foxtrot", "golf",    "hotel" };

typedef struct world {
    gsa_scratch scratch;
    gsa_backend *backend;
    gsa_error error;
    char train[300], dev[300], path[300], messages[4096];
    char *result;
} world;

static void say(void *context, const char *sentence)
{
    world *w = context;
    strncat(w->messages, sentence, sizeof w->messages - strlen(w->messages) - 2);
    strcat(w->messages, "\n");
}

static void progress(void *context, const gsa_progress *p)
{
    if (p->kind == 2) say(context, p->text);
}

static void put(world *w, const char *name, const char *text, char *override, const char *key)
{
    gsa_put_file(gsa_scratch_path(&w->scratch, "%s", name), text, (int64_t)strlen(text));
    if (override)
        snprintf(override, 300, "%s=%s/%.*s", key, w->scratch.folder, (int)strcspn(name, "."),
                 name);
}

static void open_world(world *w, int real)
{
    *w = (world){ 0 };
    gsa_scratch_open(&w->scratch);
    put(w, "recipe.ini", recipe, NULL, NULL);
    snprintf(w->path, sizeof w->path, "%s/recipe.ini", w->scratch.folder);
    ck_assert_int_eq(gsa_test_backend(gsa_system_default(), real, 1, &w->backend, &w->error),
                     GSA_OK);
}

static void close_world(world *w)
{
    gsa_release(gsa_system_default(), w->result);
    gsa_backend_release(w->backend);
    gsa_scratch_close(&w->scratch);
}

static void open_session(world *w, gsa_session *s, const char *const *more, int count)
{
    const char *set[16] = { w->train };
    for (int i = 0; i < count; i++) set[i + 1] = more[i];
    const gsa_session_options options = { .recipe = w->path,
                                          .overrides = set,
                                          .n_overrides = count + 1,
                                          .splits = 1,
                                          .backend = w->backend,
                                          .say = say,
                                          .context = w };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, s, &w->error) == GSA_OK, "%s",
                  w->error.text);
}

/* ---- gradients, by central differences in double, with dropout ----------------------------- */

static double loss_of(gsa_session *s, int backward)
{
    static const int64_t example[] = { 0, 1, 2 };
    return slopes_loss(s, example, 3, backward);
}

static const char *const models[][4] = {
    { "model.tied=1", "data.bpe=4", "model.encoder=full", "model.decoder=full:causal=1+cross" },
    { "model.tied=0", "data.bpe=0", "model.encoder=star",
      "model.decoder=window:width=3:causal=1+cross*2" },
    { "model.tied=1", "data.bpe=2", "model.encoder=bpt:k=1,full",
      "model.decoder=bpt:k=1:causal=1,bpt:k=1:causal=1+cross" },
};

START_TEST(every_parameter_differentiates)
{
    world w;
    gsa_session s;
    open_world(&w, GSA_F64);
    put(&w, "t.a", "ab abc b\nc\nabc ab\n", w.train, "data.train");
    put(&w, "t.b", "x yx\nyx yx xy\nx\n", NULL, NULL);
    open_session(&w, &s, models[_i], 4);
    check_slopes(&s, loss_of, 3, SILENT_UNREACHED);
    gsa_session_release(&s);
    close_world(&w);
}
END_TEST

/* ---- search -------------------------------------------------------------------------------- */

enum { TEXTS = 5, MOST = 9 };

/* An untrained model, whose weights are large enough that it writes different things. */
static void translate_all(gsa_session *s, int width, double alpha, int whole, int32_t *target,
                          int32_t *made)
{
    static const int32_t length[TEXTS] = { 3, 1, 6, 2, 4 }, most[TEXTS] = { MOST, 4, MOST, 0, 7 };
    int32_t source[16], at = 0;
    gsa_error error;
    gsa_translator *t;
    const int32_t size = s->model.plan.outputs + 1, end = size - 1;
    for (int e = 0; e < TEXTS; e++)
        for (int32_t i = 0; i < length[e]; i++, at++)
            source[at] = i + 1 < length[e] ? 2 + (at * 7 + e) % (size - 4) : end;
    const gsa_translate_options options = { .begin = end - 1,
                                            .end = end,
                                            .first_class = 1,
                                            .never = GSA_WORD_FIRST,
                                            .width = width,
                                            .penalty = width % 2 ? GSA_BEAM_WU : GSA_BEAM_LENGTH,
                                            .alpha = alpha,
                                            .whole = whole,
                                            .longest = MOST };
    gsa_translate_job job = { .source = source,
                              .length = length,
                              .most = most,
                              .count = TEXTS,
                              .room = MOST,
                              .target = target,
                              .made = made };
    ck_assert_msg(gsa_translator_create(&s->model, &options, &t, &error) == GSA_OK, "%s",
                  error.text);
    for (int again = 0; again < 2; again++) /* a translator is used again */
        ck_assert_msg(gsa_translate(t, &job, &error) == GSA_OK, "%s", error.text);
    gsa_translator_release(t);
}

START_TEST(beams_are_those_of_whole_prefixes)
{
    static const char *const more[][5] = {
        { "model.tied=1", "data.bpe=4", "model.encoder=full", "model.decoder=full:causal=1+cross",
          "model.embedding_std=2" },
        { "model.tied=0", "data.bpe=0", "model.encoder=star",
          "model.decoder=window:width=3:causal=1+cross*2", "model.embedding_std=2" },
        { "model.tied=1", "data.bpe=2", "model.encoder=bpt:k=1",
          "model.decoder=bpt:k=1:causal=1+cross*2", "model.embedding_std=2" },
    };
    world w;
    gsa_session s;
    int lengths = 0;
    open_world(&w, GSA_F64);
    put(&w, "t.a", "ab abc b\nc\nabc ab\n", w.train, "data.train");
    put(&w, "t.b", "x yx\nyx yx xy\nx\n", NULL, NULL);
    open_session(&w, &s, more[_i], 5);
    for (int width = 1; width <= 5; width++) {
        int32_t target[2][TEXTS * MOST] = { { 0 } }, made[2][TEXTS];
        for (int whole = 0; whole < 2; whole++)
            translate_all(&s, width, 0.3 * width, whole, target[whole], made[whole]);
        ck_assert_mem_eq(made[0], made[1], sizeof made[0]);
        for (int e = 0; e < TEXTS; e++) {
            ck_assert_mem_eq(target[0] + e * MOST, target[1] + e * MOST,
                             (size_t)made[0][e] * sizeof **target);
            for (int i = 0; i < made[0][e]; i++) {
                ck_assert_int_ge(target[0][e * MOST + i], GSA_WORD_FIRST);
                ck_assert_int_lt(target[0][e * MOST + i], s.model.plan.outputs - 1);
            }
            lengths += made[0][e];
        }
        ck_assert_int_eq(made[0][3], 0);
    }
    ck_assert_int_gt(lengths, 0);
    gsa_session_release(&s);
    close_world(&w);
}
END_TEST

/* ---- data ---------------------------------------------------------------------------------- */

/* ---- coverage, against every translation that there is ------------------------------------- */

enum { SHORT = 2, HEADS = 2 };
typedef struct twin {
    gsa_session *s;
    gsa_minibatch batch;
    const int32_t *source;
    int32_t sources, end;
    double alpha, beta, score;
    int32_t length, token[SHORT];
} twin;

/* s(Y, X) of a translation by one whole pass: the cross phase of the last layer has an edge from
 * every source to every target. */
static double score_of(twin *x, const int32_t *token, int32_t length)
{
    gsa_learner *m = &x->s->model;
    gsa_watched watched = { .layer = 1, .pattern = 1, .phase = 0 };
    const int32_t rows = length + 1, classes = m->plan.outputs;
    double *out = malloc((size_t)(rows * classes) * sizeof *out),
           *p = malloc((size_t)(rows * x->sources * HEADS) * sizeof *p);
    double log_p = 0, cp = 0;
    ck_assert_int_eq(gsa_minibatch_begin(&x->batch, 1, NULL), GSA_OK);
    ck_assert_int_eq(gsa_minibatch_sequence_size(&x->batch, 0, 1, x->sources, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_minibatch_sequence_size(&x->batch, 1, 1, rows, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_minibatch_targets(&x->batch, rows, 0, NULL), GSA_OK);
    for (int32_t i = 0; i < x->sources; i++)
        x->batch.sequence[0].id[i] = x->source[i], x->batch.sequence[0].text[i].bytes = 0;
    for (int32_t k = 0; k < rows; k++)
        x->batch.sequence[1].id[k] = k ? token[k - 1] : x->end - 1,
        x->batch.sequence[1].text[k].bytes = 0;
    x->batch.sequence[0].length[0] = x->sources, x->batch.sequence[1].length[0] = rows;
    ck_assert_int_eq(gsa_stack_watch(gsa_model_batch_of(m->graph, 1), &watched, 1, NULL), GSA_OK);
    gsa_tape_reset(m->tape, 0, 0, 0);
    gsa_tensor *made = gsa_learner_forward(m, &x->batch);
    ck_assert(made && watched.weights && watched.weights->rows == rows * x->sources &&
              watched.weights->cols == HEADS);
    ck_assert_int_eq(gsa_tensor_read(m->backend, made, 0, out, NULL), GSA_OK);
    ck_assert_int_eq(gsa_tensor_read(m->backend, watched.weights, 0, p, NULL), GSA_OK);
    gsa_stack_watch(gsa_model_batch_of(m->graph, 1), NULL, 0, NULL);
    for (int32_t k = 0; k < rows; k++) {
        double all = 0;
        for (int32_t c = 0; c < classes; c++) all += exp(out[k * classes + c]);
        log_p += out[k * classes + (k < length ? token[k] : x->end) - 1] - log(all);
    }
    for (int32_t i = 0; i < x->sources; i++) {
        double sum = 0;
        for (int32_t k = 0; k < rows; k++)
            for (int h = 0; h < HEADS; h++) sum += p[(k * x->sources + i) * HEADS + h] / HEADS;
        cp += log(sum < 1 ? sum : 1);
    }
    free(out), free(p);
    return log_p / pow((5.0 + rows) / 6, x->alpha) + x->beta * cp;
}

static void try_all(twin *x, int32_t *token, int32_t length)
{
    const double score = score_of(x, token, length);
    if (score > x->score)
        x->score = score, x->length = length,
        memcpy(x->token, token, (size_t)length * sizeof *token);
    for (int32_t id = GSA_WORD_FIRST; id < x->end - 1 && length < SHORT; id++) {
        token[length] = id;
        try_all(x, token, length + 1);
    }
}

START_TEST(coverage_is_of_equation_14)
{
    static const char *const more[] = { "model.tied=0", "data.bpe=0",
                                        "model.decoder=full:causal=1+cross*2",
                                        "model.embedding_std=2" };
    static const double betas[] = { 0, 0.5, 20 };
    static const int32_t length[] = { 4, 1, 3 }, most[] = { SHORT, SHORT, SHORT };
    world w;
    gsa_session s;
    int moved = 0;
    open_world(&w, GSA_F64);
    put(&w, "t.a", "ab abc b\nc\nabc ab\n", w.train, "data.train");
    put(&w, "t.b", "x yx\nyx yx xy\nx\n", NULL, NULL);
    open_session(&w, &s, more, 4);
    const int32_t end = s.model.plan.outputs;
    int32_t source[8], target[GSA_COUNT(betas)][3 * SHORT] = { { 0 } }, made[GSA_COUNT(betas)][3];
    for (int i = 0; i < 8; i++)
        source[i] = i == 3 || i == 4 || i == 7 ? end : 2 + (i * 5) % (end - 3);
    for (int b = 0; b < GSA_COUNT(betas); b++) {
        gsa_translator *t;
        const gsa_translate_options options = { .begin = end - 1,
                                                .end = end,
                                                .first_class = 1,
                                                .never = GSA_WORD_FIRST,
                                                .width = 100,
                                                .alpha = 0.6,
                                                .coverage = betas[b],
                                                .longest = SHORT };
        gsa_translate_job job = { .source = source,
                                  .length = length,
                                  .most = most,
                                  .count = 3,
                                  .room = SHORT,
                                  .target = target[b],
                                  .made = made[b] };
        ck_assert_int_eq(gsa_translator_create(&s.model, &options, &t, &w.error), GSA_OK);
        ck_assert_msg(gsa_translate(t, &job, &w.error) == GSA_OK, "%s", w.error.text);
        gsa_translator_release(t);
        for (int e = 0, at = 0; e < 3; at += length[e++]) {
            int32_t token[SHORT];
            twin x = { .s = &s,
                       .batch = { .system = gsa_system_default() },
                       .source = source + at,
                       .sources = length[e],
                       .end = end,
                       .alpha = 0.6,
                       .beta = betas[b],
                       .score = -INFINITY };
            try_all(&x, token, 0);
            ck_assert_int_eq(made[b][e], x.length);
            if (x.length)
                ck_assert_mem_eq(target[b] + e * SHORT, x.token, (size_t)x.length * sizeof *token);
            gsa_minibatch_release(&x.batch);
        }
        moved += memcmp(made[b], made[0], sizeof made[b]) != 0 ||
                 memcmp(target[b], target[0], sizeof target[b]) != 0;
    }
    ck_assert_int_gt(moved, 0); /* it does something */
    gsa_session_release(&s);
    close_world(&w);
}
END_TEST

START_TEST(no_coverage_without_cross_attention)
{
    world w;
    gsa_session s;
    gsa_coverage coverage;
    open_world(&w, GSA_F64);
    put(&w, "t.a", "ab abc b\nc\nabc ab\n", w.train, "data.train");
    put(&w, "t.b", "x yx\nyx yx xy\nx\n", NULL, NULL);
    open_session(&w, &s, NULL, 0);
    ck_assert_int_eq(gsa_coverage_find(gsa_model_stack_of(s.model.net, 1), &coverage, &w.error),
                     GSA_OK);
    ck_assert_int_eq(gsa_coverage_find(gsa_model_stack_of(s.model.net, 0), &coverage, &w.error),
                     GSA_ERR_UNSUPPORTED);
    ck_assert_str_eq(w.error.text,
                     "no phase of the decoder full*1 attends from its tokens alone to the source: "
                     "decode.coverage must be 0");
    gsa_session_release(&s);
    close_world(&w);
}
END_TEST

START_TEST(rows_and_labels)
{
    static const int64_t example[] = { 1, 0 };
    static const char *const more[] = { "data.max_length=3" };
    world w;
    gsa_session s;
    open_world(&w, GSA_F32);
    put(&w, "t.a", "p q\n\nq\nq q q q\np\n", w.train, "data.train");
    put(&w, "t.b", "p\np\nq p q\np\n\n", NULL, NULL);
    open_session(&w, &s, more, 1);
    ck_assert_ptr_nonnull(strstr(w.messages, "2 pairs, 3 and 4 tokens, the longest sentence 3; "
                                             "left out: 2 pairs with an empty side, 1 longer"));
    ck_assert_int_eq(s.task->examples(s.self, GSA_SPLIT_TRAIN), 2);
    ck_assert_int_eq(s.task->targets(s.self, GSA_SPLIT_TRAIN, example, 2), 6);
    ck_assert_int_eq(gsa_task_fill(s.task, s.self, GSA_SPLIT_TRAIN, example, 2, &s.batch, &w.error),
                     GSA_OK);
    /* q is more frequent than p: ids 2 and 3, <s> 4, </s> 5; class = id - 1 */
    static const int32_t source[] = { 2, 5, 3, 2, 5 }, target[] = { 4, 2, 3, 2, 4, 3 },
                         label[] = { 1, 2, 1, 4, 2, 4 };
    ck_assert_mem_eq(s.batch.sequence[0].id, source, sizeof source);
    ck_assert_mem_eq(s.batch.sequence[1].id, target, sizeof target);
    ck_assert_mem_eq(s.batch.label, label, sizeof label);
    ck_assert_int_eq(s.batch.targets, 6);
    gsa_session_release(&s);
    close_world(&w);
}
END_TEST

static const struct {
    const char *set, *sentence, *more;
} refused[] = {
    { "model.decoder=",
      "[model] decoder is not set: translation needs one, such as full:causal=1+cross*3", NULL },
    { "model.decoder=full+cross", "lets a token see those after it", NULL },
    { "model.decoder=full:causal=1", "memory", NULL },
    { "model.encoder=full+cross", "put cross into model.decoder", NULL },
    { "data.max_length=1", "no pair is left to train on", NULL },
    { "data.bpe_codes=/nowhere/codes", "/nowhere/codes", NULL },
    { "model.position=learned",
      "t.a: a sentence has 3 tokens with its end, model.position_max is 2",
      "model.position_max=2" },
};

START_TEST(a_bad_recipe)
{
    world w;
    gsa_session s;
    open_world(&w, GSA_F32);
    put(&w, "t.a", "p q\n", w.train, "data.train");
    put(&w, "t.b", "p q\n", NULL, NULL);
    const char *set[] = { w.train, refused[_i].set, refused[_i].more };
    const gsa_session_options options = { .recipe = w.path,
                                          .overrides = set,
                                          .n_overrides = refused[_i].more ? 3 : 2,
                                          .splits = 1,
                                          .backend = w.backend,
                                          .say = say,
                                          .context = &w };
    ck_assert_int_ne(gsa_session_create(gsa_system_default(), &options, &s, &w.error), GSA_OK);
    ck_assert_msg(strstr(w.error.text, refused[_i].sentence) != NULL, "'%s' lacks '%s'",
                  w.error.text, refused[_i].sentence);
    close_world(&w);
}
END_TEST

/* ---- the whole ----------------------------------------------------------------------------- */

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u, *state >> 16;
}

/* `count` sentences of up to six words, and the same words backwards. */
static void put_backwards(world *w, const char *name, int count, uint32_t seed, char *override,
                          const char *key)
{
    char *a = calloc((size_t)count, 64), *b = calloc((size_t)count, 64), file[32];
    size_t used_a = 0, used_b = 0;
    for (int e = 0; e < count; e++) {
        int word[6];
        const int length = 1 + (int)(next(&seed) % 6);
        for (int i = 0; i < length; i++) word[i] = (int)(next(&seed) % 8);
        for (int i = 0; i < length; i++) {
            used_a +=
                (size_t)sprintf(a + used_a, "%s%s", words[word[i]], i + 1 < length ? " " : "\n");
            used_b += (size_t)sprintf(b + used_b, "%s%s", words[word[length - 1 - i]],
                                      i + 1 < length ? " " : "\n");
        }
    }
    snprintf(file, sizeof file, "%s.a", name);
    put(w, file, a, override, key);
    snprintf(file, sizeof file, "%s.b", name);
    put(w, file, b, NULL, NULL);
    free(a);
    free(b);
}

static double number(const char *result, const char *key)
{
    json_t *object = json_loads(result, 0, NULL);
    const double value = json_number_value(json_object_get(object, key));
    json_decref(object);
    return value;
}

static gsa_apply_options applied(world *w, const char *model, const char *const *set, int sets)
{
    return (gsa_apply_options){ .model = model,
                                .overrides = set,
                                .n_overrides = sets,
                                .backend = w->backend,
                                .progress = progress,
                                .context = w };
}

/* The report's BLEU is the result's, and a sentence among the worst is told with its source and
 * reference. */
static void check_report(const char *path, double bleu)
{
    json_t *report = json_load_file(path, 0, NULL);
    const json_t *test = json_object_get(json_object_get(report, "splits"), "test");
    const json_t *score = json_object_get(json_object_get(test, "bleu"), "score");
    const json_t *one = json_array_get(json_object_get(test, "worst"), 0);
    ck_assert_double_eq_tol(json_number_value(score), bleu, 1e-5);
    for (int i = 0; one && i < 3; i++)
        ck_assert(json_is_string(
            json_object_get(one, ((const char *[]){ "source", "reference", "translation" })[i])));
    ck_assert(json_is_array(json_object_get(test, "worst")));
    json_decref(report);
}

/* Translations of a file are in its order, and an evaluation sees the same ones. */
static void check_applied(world *w, const char *run, const char *pieces)
{
    char test[300], input[300], output[300], *evaluated = NULL;
    int64_t bytes;
    put(w, "few.a", "alpha bravo hotel echo\n\nhotel\ngolf golf echo\n", NULL, NULL);
    put(w, "few.b", "echo hotel bravo alpha\n\nhotel\necho golf golf\n", test, "data.test");
    snprintf(input, sizeof input, "%s/few.a", w->scratch.folder);
    const char *set[] = { "data.dev=", test };
    gsa_apply_options options = applied(w, run, set, 2);
    snprintf(output, sizeof output, "%s/report.json", w->scratch.folder);
    options.json = output;
    ck_assert_msg(gsa_evaluate(NULL, &options, &evaluated, &w->error) == GSA_OK, "%s",
                  w->error.text);
    check_report(output, number(evaluated, "test_bleu"));
    options.json = NULL;
    snprintf(output, sizeof output, "%s/out", w->scratch.folder);
    options.input = input, options.output = output;
    ck_assert_msg(gsa_predict(NULL, &options, &w->error) == GSA_OK, "%s", w->error.text);
    char *lines = gsa_get_file(output, &bytes);
    int found = 0;
    for (int64_t i = 0; i < bytes; i++) found += lines[i] == '\n';
    ck_assert_int_eq(found, 4);
    ck_assert_ptr_nonnull(strstr(lines, "echo hotel bravo alpha\n"));
    ck_assert_ptr_nonnull(strstr(lines, "\nhotel\necho golf golf\n"));
    ck_assert_double_gt(number(evaluated, "test_bleu"), 60); /* the empty line may be anything */
    ck_assert_ptr_nonnull(
        strstr(evaluated, "\"bleu_signature\": \"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|"));
    ck_assert_ptr_nonnull(
        strstr(evaluated, "\"signature\": \"task:translation|metric:loss|pieces:"));
    ck_assert_msg(strstr(evaluated, pieces), "%s", evaluated);
    ck_assert_ptr_nonnull(strstr(evaluated, "|case:lower|beam:4|penalty:wu-0.6|seed:"));
    free(lines);
    char *text = calloc(4097, 6), *at = text;
    for (int i = 0; i < 4097; i++, at += 5) memcpy(at, i % 2 ? "golf " : "echo ", 5);
    put(w, "few.a", text, NULL, NULL);
    free(text);
    ck_assert_int_eq(gsa_predict(NULL, &options, &w->error), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(w->error.text, "and the most that is translated is 4096"), "%s",
                  w->error.text);
    gsa_release(gsa_system_default(), evaluated);
}

START_TEST(sentences_backwards)
{
    static const char *const more[] = { "model.hidden=32",
                                        "model.ffn=64",
                                        "model.dropout_input=0",
                                        "model.dropout_hidden=0",
                                        "train.epochs=10",
                                        "train.batch=32",
                                        "train.lr=0.003",
                                        "train.schedule=linear",
                                        "train.warmup=50",
                                        "model.input_scale=5.65",
                                        "model.embedding_std=0.18",
                                        "train.clip=1",
                                        "model.decoder=full:causal=1+cross*2" };
    world w;
    const char *set[20];
    char run[300];
    open_world(&w, GSA_F32);
    put_backwards(&w, "train", 2000, 1, w.train, "data.train");
    put_backwards(&w, "dev", 60, 2, w.dev, "data.dev");
    snprintf(run, sizeof run, "%s/run", w.scratch.folder);
    int sets = 0;
    set[sets++] = w.train, set[sets++] = w.dev, set[sets++] = _i ? "data.bpe=60" : "data.bpe=0";
    for (int i = 0; i < GSA_COUNT(more); i++) set[sets++] = more[i];
    const gsa_train_options options = { .recipe = w.path,
                                        .overrides = set,
                                        .n_overrides = sets,
                                        .out = run,
                                        .progress = progress,
                                        .context = &w,
                                        .backend = w.backend };
    ck_assert_msg(gsa_train(NULL, &options, &w.result, &w.error) == GSA_OK, "%s", w.error.text);
    ck_assert_msg(number(w.result, "dev_bleu") > 90, "%s", w.result);
    ck_assert_double_gt(number(w.result, "dev_chrf"), 90);
    check_applied(&w, run, _i ? "|pieces:bpe-" : "|pieces:words|");
    close_world(&w);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test gradients[] = { GSA_LOOP(every_parameter_differentiates,
                                                   GSA_COUNT(models)) };
    static const gsa_test data[] = { GSA_TEST(coverage_is_of_equation_14),
                                     GSA_TEST(no_coverage_without_cross_attention),
                                     GSA_TEST(rows_and_labels),
                                     GSA_LOOP(a_bad_recipe, GSA_COUNT(refused)) };
    static const gsa_test learns[] = { GSA_LOOP(sentences_backwards, 2) };
    static const gsa_test search[] = { GSA_LOOP(beams_are_those_of_whole_prefixes, 3) };
    static const gsa_case cases[] = { GSA_CASE("gradients", gradients, 60),
                                      GSA_CASE("search", search, 60), GSA_CASE("data", data, 30),
                                      GSA_CASE("learns", learns, 120) };
    return gsa_run_suite("translation", cases, GSA_COUNT(cases), argc, argv);
}
