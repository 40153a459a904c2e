/* Translation of documents: sections and labels, what reaches what, translations that are on
 * those before them, and a language in which a word means what the sentence before it says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "slopes.h"
#include "gsa/vocabulary.h"
#include "train/decode/beam.h"
#include "train/driver/session.h"
#include "train/decode/translate.h"

static const char recipe[] =
    "[task]\nname = translation\n"
    "[model]\nencoder = full\ndecoder = full:causal=1+cross:align=1\nhidden = 8\nheads = 2\nffn = "
    "8\nposition = sinusoid\n"
    "tied = 1\nactivation = tanh\ndropout_input = 0.1\ndropout_hidden = 0.1\ndropout_head = 0.2\n"
    "[train]\nseed = 5\nepochs = 3\nbatch = 4\naccumulate = 2\nbucket = 2\nlr = "
    "0.01\nlabel_smoothing = 0.1\n"
    "report_every = 1\nkeep = 1\n"
    "[data]\ndocuments = 1\nprevious = 2\n";

/* Three documents, of 4, 1 and 3 sentences; lines 1, 6, 7 and 9 lie between them. */
static const char some[] =
    "\na b\tx\nc\ty z\nd e f\tw\na c\tz z\n\n\nb\tx y z w\n\nf\tw w\ne d\tx\nc b a\ty\n";

static void open_data(rig *r, const char *text, int real)
{
    rig_open(r, recipe, real, 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "docs.tsv"), text, (int64_t)strlen(text));
    r->data[0] = r->data[1] = "docs.tsv";
}

static void say(void *context, const char *sentence)
{
    rig *r = context;
    strncat(r->messages, sentence, sizeof r->messages - strlen(r->messages) - 1);
}

static gsa_status try_session(rig *r, gsa_session *s, const char *const *more, int count)
{
    char train[300];
    const char *set[RIG_SETS] = { train };
    snprintf(train, sizeof train, "data.train=%s/%s", r->scratch.folder, r->data[0]);
    for (int i = 0; i < count; i++) set[i + 1] = more[i];
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = count + 1,
                                          .splits = 1u << GSA_SPLIT_TRAIN,
                                          .backend = r->backend,
                                          .say = say,
                                          .context = r };
    return gsa_session_create(gsa_system_default(), &options, s, &r->error);
}

static void open_session(rig *r, gsa_session *s, const char *const *more, int count)
{
    ck_assert_msg(try_session(r, s, more, count) == GSA_OK, "%s", r->error.text);
}

static void fill(gsa_session *s, const int64_t *example, int32_t count)
{
    gsa_error error;
    ck_assert_msg(gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, count, &s->batch,
                                &error) == GSA_OK,
                  "%s", error.text);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The word of an id: "<" begins a target, "/" ends a sentence. */
static gsa_slice word_of(const gsa_session *s, int32_t id)
{
    const int32_t end = s->model.plan.outputs;
    if (id >= end - 1) return (gsa_slice){ id == end ? "/" : "<", 1 };
    for (int k = 0; k < 2; k++)
        for (int64_t t = 0; t < s->batch.sequence[k].tokens; t++)
            if (s->batch.sequence[k].id[t] == id) return s->batch.sequence[k].text[t];
    return (gsa_slice){ "?", 1 };
}

/* "a0 b0 /0 c1 /1" of one example of a sequence: words with their groups. */
static void show(const gsa_session *s, int sequence, char *out, size_t size)
{
    const gsa_minibatch_sequence *of = &s->batch.sequence[sequence];
    size_t used = 0;
    out[0] = 0;
    for (int32_t i = 0; i < of->length[0]; i++) {
        const gsa_slice word = word_of(s, of->id[i]);
        used += (size_t)snprintf(out + used, size - used, "%s%.*s%d", i ? " " : "", (int)word.bytes,
                                 word.at, of->group[i]);
    }
}

/* "/:z z:z z:/": what is to be predicted after the tokens that predict it. */
static void show_labels(const gsa_session *s, char *out, size_t size)
{
    const gsa_minibatch *b = &s->batch;
    size_t used = 0;
    for (int64_t i = 0; i < b->targets; i++) {
        const gsa_slice from = word_of(s, b->sequence[1].id[b->pick[i]]),
                        to = word_of(s, b->label[i] + 1);
        used += (size_t)snprintf(out + used, size - used, "%s%.*s:%.*s", i ? " " : "",
                                 (int)from.bytes, from.at, (int)to.bytes, to.at);
    }
}

static const struct {
    int64_t example;
    const char *source, *target, *label, *set[2];
} rows[] = {
    { 0, "a0 b0 /0", "<0 x0", "<:x x:/", { "data.previous=2", "data.max_length=0" } },
    { 1,
      "a0 b0 /0 c1 /1",
      "<0 x0 /1 y1 z1",
      "/:y y:z z:/",
      { "data.previous=2", "data.max_length=0" } },
    { 3,
      "c0 /0 d1 e1 f1 /1 a2 c2 /2",
      "<0 y0 z0 /1 w1 /2 z2 z2",
      "/:z z:z z:/",
      { "data.previous=2", "data.max_length=0" } },
    { 3,
      "d0 e0 f0 /0 a1 c1 /1",
      "<0 w0 /1 z1 z1",
      "/:z z:z z:/",
      { "data.previous=1", "data.max_length=0" } },
    { 3, "a0 c0 /0", "<0 z0 z0", "<:z z:z z:/", { "data.previous=0", "data.max_length=0" } },
    /* four tokens of d e f are enough; the two of c and five are not */
    { 3,
      "d0 e0 f0 /0 a1 c1 /1",
      "<0 w0 /1 z1 z1",
      "/:z z:z z:/",
      { "data.previous=9", "data.previous_tokens=4" } },
    { 3,
      "c0 /0 d1 e1 f1 /1 a2 c2 /2",
      "<0 y0 z0 /1 w1 /2 z2 z2",
      "/:z z:z z:/",
      { "data.previous=9", "data.previous_tokens=5" } },
    { 4,
      "b0 /0",
      "<0 x0 y0 z0 w0",
      "<:x x:y y:z z:w w:/",
      { "data.previous=2", "data.max_length=0" } },
    /* d e f is left out, and what follows it is alone; b and c b a, too */
    { 2, "a0 c0 /0", "<0 z0 z0", "<:z z:z z:/", { "data.previous=2", "data.max_length=2" } },
    { 4,
      "f0 /0 e1 d1 /1",
      "<0 w0 w0 /1 x1",
      "/:x x:/",
      { "data.previous=2", "data.max_length=2" } },
};

START_TEST(sections_and_labels)
{
    rig r;
    gsa_session s;
    char shown[300];
    open_data(&r, some, GSA_F32);
    open_session(&r, &s, rows[_i].set, 2);
    fill(&s, &rows[_i].example, 1);
    show(&s, 0, shown, sizeof shown);
    ck_assert_str_eq(shown, rows[_i].source);
    show(&s, 1, shown, sizeof shown);
    ck_assert_str_eq(shown, rows[_i].target);
    show_labels(&s, shown, sizeof shown);
    ck_assert_str_eq(shown, rows[_i].label);
    ck_assert_int_eq(s.task->lengths(s.self, GSA_SPLIT_TRAIN)[rows[_i].example], s.batch.tokens);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* Every target token and every end counts once, whatever is before it. */
START_TEST(targets_count_once)
{
    static const int64_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    static const char *const contexts[] = { "data.previous=0", "data.previous=1",
                                            "data.previous=7" };
    double loss[2];
    for (int c = 0; c < 3; c++) {
        rig r;
        gsa_session s;
        gsa_score score, unit[8] = { { 0 } };
        open_data(&r, some, GSA_F64);
        open_session(&r, &s, &contexts[c], 1);
        ck_assert_ptr_nonnull(
            strstr(r.messages, "8 pairs in 3 documents, 15 and 14 tokens, the longest sentence 4"));
        ck_assert_int_eq(s.task->examples(s.self, GSA_SPLIT_TRAIN), 8);
        ck_assert_int_eq(s.task->targets(s.self, GSA_SPLIT_TRAIN, all, 8), 22);
        fill(&s, all, 8);
        ck_assert_int_eq(s.batch.targets, 22);
        ck_assert_int_eq(gsa_session_score(&s, GSA_SPLIT_TRAIN, &score, unit, &r.error), GSA_OK);
        ck_assert_int_eq(score.targets, 22);
        ck_assert_int_eq(score.examples, 8);
        ck_assert_int_eq(unit[4].targets, 5);
        if (c == 0) loss[0] = unit[0].loss + unit[4].loss + unit[5].loss;
        else
            loss[1] = unit[0].loss + unit[4].loss +
                      unit[5].loss; /* the first of a document have no context */
        if (c > 0) ck_assert_double_eq_tol(loss[0], loss[1], 1e-12);
        gsa_session_release(&s);
        rig_close(&r);
    }
}
END_TEST

/* ---- gradients ----------------------------------------------------------------------------- */

static double loss_of(gsa_session *s, int backward)
{
    static const int64_t example[] = { 3, 0, 6, 7 };
    return slopes_loss(s, example, 4, backward);
}

static const char *const models[][4] = {
    { "model.tied=1", "model.encoder=full", "model.decoder=full:causal=1+cross:align=1",
      "model.head_hidden=8" },
    { "model.tied=0", "model.encoder=bpt:k=1", "model.decoder=bpt:k=1:causal=1+cross:align=1*2",
      "model.head_hidden=0" },
    { "model.tied=1", "model.encoder=star", "model.decoder=window:width=3:causal=1+cross*2",
      "data.bpe=2" },
};

START_TEST(every_parameter_differentiates)
{
    rig r;
    gsa_session s;
    open_data(&r, some, GSA_F64);
    open_session(&r, &s, models[_i], 4);
    check_slopes(&s, loss_of, 3, SILENT_UNREACHED | SILENT_LABELS);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* Which words of the source the loss of one target row depends on: the rows of the embedding that
 * have a gradient. */
static void reached(gsa_session *s, int64_t row, int *reaches)
{
    gsa_parameter *p = gsa_input_embedding(s->model.input[0]);
    const gsa_minibatch_sequence *source = &s->batch.sequence[0];
    double *gradient = malloc((size_t)(p->value.rows * p->value.cols) * sizeof *gradient);
    gsa_error error;
    s->batch.targets = 1, s->batch.pick[0] = (int32_t)row;
    gsa_parameters_zero_gradients(s->model.parameters, NULL);
    gsa_tape_reset(s->model.tape, 1, 3, 4);
    gsa_tensor *loss =
        gsa_learner_loss(&s->model, gsa_learner_forward(&s->model, &s->batch), &s->batch, 1);
    ck_assert_int_eq(gsa_tape_backward(s->model.tape, loss, &error), GSA_OK);
    gsa_tensor_read(s->backend, &p->value, 1, gradient, NULL);
    for (int64_t t = 0; t < source->tokens; t++) {
        reaches[t] = 0;
        for (int64_t c = 0; c < p->value.cols; c++)
            reaches[t] |=
                gradient[source->id[t] * p->value.cols + c] != 0; /* exactly: nothing is added */
    }
    free(gradient);
}

/* One layer over an encoder that mixes no tokens: a target token reads its own sentence and no
 * other, or with `cross` all of them. */
START_TEST(a_target_token_reads_its_own_sentence)
{
    static const char *const more[][4] = {
        { "model.encoder=window:width=1", "model.decoder=full:causal=1+cross:align=1",
          "model.tied=0", "data.previous=3" },
        { "model.encoder=window:width=1", "model.decoder=full:causal=1+cross", "model.tied=0",
          "data.previous=3" },
    };
    static const int64_t example = 2;
    rig r;
    gsa_session s;
    int reaches[32];
    open_data(&r, "a b\tx\nc d\ty z\ne\tw w\n", GSA_F64);
    open_session(&r, &s, more[_i], 4);
    fill(&s, &example, 1);
    const gsa_minibatch_sequence *source = &s.batch.sequence[0], *target = &s.batch.sequence[1];
    ck_assert_int_eq(target->tokens, 8);
    for (int64_t row = 0; row < target->tokens; row++) {
        reached(&s, row, reaches);
        for (int64_t t = 0; t < source->tokens; t++) {
            if (source->id[t] == s.model.plan.outputs)
                continue; /* </s>: the same row for all sentences */
            ck_assert_msg(reaches[t] == (_i || source->group[t] == target->group[row]),
                          "target %d, source %d", (int)row, (int)t);
        }
    }
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- search -------------------------------------------------------------------------------- */

enum { SEEDS = 4, SENTENCES = 8, LINES = 12, ROOM = 64 };

typedef struct slow { /* one sentence after the other, each prefix as a whole */
    gsa_session *s;
    gsa_translator *t;
    int32_t id[SENTENCES][ROOM], made[SENTENCES];
    int32_t begin, end;
} slow;

static void slow_sentence(slow *w, int e, int before)
{
    const int64_t example = e;
    int32_t context[8 * ROOM], group[8 * ROOM], length = 0, made;
    gsa_error error;
    fill(w->s, &example, 1);
    const gsa_minibatch_sequence *source = &w->s->batch.sequence[0];
    int32_t own = 0;
    for (int64_t t = 0; t < source->tokens; t++) own += source->group[t] == before;
    const int32_t most = 2 * (own - 1) + 20;
    for (int g = 0; g < before; g++)
        for (int i = -1; i < w->made[e - before + g]; i++, length++) {
            context[length] = i >= 0 ? w->id[e - before + g][i] : g ? w->end : w->begin;
            group[length] = g;
        }
    gsa_translate_job job = { .source = source->id,
                              .length = source->length,
                              .most = &most,
                              .count = 1,
                              .room = ROOM,
                              .group = source->group,
                              .context = context,
                              .context_group = group,
                              .context_length = &length,
                              .target = w->id[e],
                              .made = &made };
    ck_assert_msg(gsa_translate(w->t, &job, &error) == GSA_OK, "%s", error.text);
    w->made[e] = made;
}

static void open_slow(slow *w, gsa_session *s, int width)
{
    gsa_error error;
    *w = (slow){ .s = s, .end = s->model.plan.outputs, .begin = s->model.plan.outputs - 1 };
    const gsa_translate_options options = { .begin = w->begin,
                                            .end = w->end,
                                            .first_class = 1,
                                            .never = GSA_WORD_FIRST,
                                            .width = width,
                                            .penalty = GSA_BEAM_WU,
                                            .alpha = 0.6,
                                            .whole = 1,
                                            .longest = ROOM,
                                            .context = 8 * ROOM };
    ck_assert_msg(gsa_translator_create(&s->model, &options, &w->t, &error) == GSA_OK, "%s",
                  error.text);
}

/* All sentences, each after `previous` at most; how many came out as in `other`. */
static int slow_all(slow *w, const int *standing, int previous, const slow *other)
{
    int same = 0;
    for (int e = 0; e < SENTENCES; e++) {
        slow_sentence(w, e, standing[e] < previous ? standing[e] : previous);
        if (!other) continue;
        same += w->made[e] == other->made[e] &&
                memcmp(w->id[e], other->id[e], (size_t)w->made[e] * sizeof *w->id[e]) == 0;
    }
    return same;
}

/* The ids of a line, whose words are somewhere in the batch. */
static int ids_of(const gsa_session *s, char *line, int32_t *id)
{
    int count = 0;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "), count++) {
        id[count] = -1;
        for (int k = 0; k < 2; k++)
            for (int64_t t = 0; t < s->batch.sequence[k].tokens; t++) {
                const gsa_slice text = s->batch.sequence[k].text[t];
                if ((int64_t)strlen(word) == text.bytes &&
                    memcmp(word, text.at, (size_t)text.bytes) == 0)
                    id[count] = s->batch.sequence[k].id[t];
            }
    }
    return count;
}

/* What the task writes, line for line, of so many sentences at a time. */
static void decode(rig *r, gsa_session *s, int32_t batch, gsa_decoded *decoded,
                   char line[LINES][8 * ROOM])
{
    char path[300];
    int64_t bytes;
    gsa_output *output;
    snprintf(path, sizeof path, "%s/out", r->scratch.folder);
    ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &output, &r->error), GSA_OK);
    const gsa_decode_options options = { .split = GSA_SPLIT_TRAIN,
                                         .batch = batch,
                                         .output = output };
    ck_assert_msg(s->task->decode_split(s->self, &s->model, &options, decoded, &r->error) == GSA_OK,
                  "%s", r->error.text);
    ck_assert_int_eq(gsa_output_commit(output, &r->error), GSA_OK);
    char *all = gsa_get_file(path, &bytes), *at = all;
    for (int l = 0; l < LINES; l++) {
        char *stop = strchr(at, '\n');
        ck_assert_ptr_nonnull(stop);
        snprintf(line[l], sizeof line[l], "%.*s", (int)(stop - at), at);
        at = stop + 1;
    }
    ck_assert_int_eq(*at, 0);
    free(all);
}

static const struct {
    const char *set[5];
    int width, previous;
} searches[] = {
    { { "model.encoder=full", "model.decoder=full:causal=1+cross:align=1*2",
        "model.embedding_std=2", "data.previous=2", "decode.beam=1" },
      1,
      2 },
    { { "model.encoder=full", "model.decoder=full:causal=1+cross*2", "model.embedding_std=2",
        "data.previous=3", "decode.beam=3" },
      3,
      3 },
    { { "model.encoder=bpt:k=1", "model.decoder=bpt:k=1:causal=1+cross:align=1*2", "model.tied=0",
        "model.embedding_std=3", "decode.beam=2" },
      2,
      2 },
    { { "model.encoder=star",
        "model.decoder=window:width=3:causal=1+cross:align=1,strided:causal=1:stride=0+cross",
        "model.embedding_std=2", "data.previous=1", "decode.beam=2" },
      2,
      1 },
};

/* Returns how many sentences would be translated alike without context. */
static int check_search(int which, int number)
{
    static const int64_t all[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    static const int line_of[] = { 1, 2, 3, 4, 7, 9, 10, 11 },
                     standing[] = { 0, 1, 2, 3, 0, 0, 1, 2 };
    static const int32_t batches[] = { 1, 2, 3, 64 };
    char seed[32];
    const char *set[6];
    rig r;
    gsa_session s;
    slow w, alone;
    gsa_decoded first;
    open_data(&r, some, GSA_F64);
    snprintf(seed, sizeof seed, "train.seed=%d", number);
    memcpy(set, searches[which].set, sizeof searches[0].set);
    set[5] = seed;
    open_session(&r, &s, set, 6);
    open_slow(&w, &s, searches[which].width);
    slow_all(&w, standing, searches[which].previous, NULL);
    alone = w;
    const int same = slow_all(&alone, standing, 0, &w);
    ck_assert_int_ge(same, 3); /* the first of a document */
    fill(&s, all, 8);
    for (int b = 0; b < GSA_COUNT(batches); b++) {
        char line[LINES][8 * ROOM];
        gsa_decoded decoded;
        decode(&r, &s, batches[b], &decoded, line);
        fill(&s, all, 8);
        for (int l = 0, e = 0; l < LINES; l++) {
            int32_t id[ROOM];
            if (l != line_of[e]) {
                ck_assert_str_eq(line[l], "");
                continue;
            }
            ck_assert_int_eq(ids_of(&s, line[l], id), w.made[e]);
            ck_assert_mem_eq(id, w.id[e], (size_t)w.made[e] * sizeof *id);
            if (e < SENTENCES - 1) e++;
        }
        if (b == 0) first = decoded;
        ck_assert_double_eq(first.fact[0].value, decoded.fact[0].value);
        ck_assert_double_eq(first.fact[2].value, decoded.fact[2].value);
    }
    gsa_translator_release(w.t);
    gsa_session_release(&s);
    rig_close(&r);
    return same;
}

START_TEST(translations_stand_on_those_before)
{
    int same = 0;
    for (int seed = 0; seed < SEEDS; seed++) same += check_search(_i, seed);
    ck_assert_int_le(same, SEEDS * (SENTENCES - 1));
}
END_TEST

/* Learned positions end: what was written may leave no room for all of the context, and the
 * farthest sentences are left out. */
START_TEST(positions_end)
{
    static const char *const more[] = { "model.position=learned", "model.position_max=40",
                                        "model.embedding_std=2", "data.previous=3" };
    static const int32_t batches[] = { 1, 3 };
    char line[2][LINES][8 * ROOM];
    rig r;
    gsa_session s;
    gsa_decoded decoded;
    open_data(&r, some, GSA_F64);
    open_session(&r, &s, more, 4);
    for (int b = 0; b < 2; b++) {
        memset(line[b], 0, sizeof line[b]);
        decode(&r, &s, batches[b], &decoded, line[b]);
    }
    for (int l = 0; l < LINES; l++) ck_assert_str_eq(line[0][l], line[1][l]);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------ */

static const struct {
    const char *set[3], *sentence;
} refused[] = {
    { { "data.documents=0", "data.previous=1", "data.lower=0" },
      "recipe.ini:5: [model] decoder = full:causal=1+cross:align=1 aligns sentences, of which "
      "there is one in an example: "
      "cross:align=1 is for data.documents = 1" },
    { { "data.documents=0", "model.decoder=full:causal=1+cross", "data.lower=0" },
      "recipe.ini:27: [data] previous = 2: sentences have others before them with data.documents = "
      "1 alone" },
    { { "data.documents=0", "model.decoder=full:causal=1+cross", "data.previous_tokens=7" },
      "--set data.previous_tokens: [data] previous_tokens = 7" },
    { { "model.position=learned", "model.position_max=8", "data.previous=3" },
      "docs.tsv:4: the sentence and the 2 before it have 9 tokens with their ends, "
      "model.position_max is 8" },
    { { "model.position=learned", "model.position_max=3", "data.previous=0" },
      "docs.tsv: a sentence has 4 tokens with its end, model.position_max is 3" },
    { { "data.max_length=1", "data.previous=1", "data.lower=0" }, NULL },
};

START_TEST(a_bad_recipe)
{
    rig r;
    gsa_session s;
    open_data(&r, some, GSA_F32);
    const gsa_status status = try_session(&r, &s, refused[_i].set, 3);
    if (refused[_i].sentence)
        ck_assert_msg(status != GSA_OK && strstr(r.error.text, refused[_i].sentence),
                      "'%s' lacks '%s'", r.error.text, refused[_i].sentence);
    else ck_assert_ptr_nonnull(strstr(r.error.text, "docs.tsv: no pair is left to train on"));
    rig_close(&r);
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

START_TEST(resumed_runs_have_the_same_bits)
{
    rig r;
    open_data(&r, some, GSA_F32);
    rig_train_ok(&r, "whole");
    const double bleu = rig_number(&r, "dev_bleu"), chrf = rig_number(&r, "dev_chrf");
    for (int step = 1; step <= 2; step++) {
        char name[16];
        snprintf(name, sizeof name, "cut%d", step);
        r.stop_at = step;
        ck_assert_int_eq(rig_train(&r, name), GSA_ERR_INTERRUPTED);
        r.stop_at = 0;
        ck_assert_msg(rig_resume(&r, name) == GSA_OK, "%s", r.error.text);
        ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
        ck_assert_double_eq(rig_number(&r, "dev_bleu"), bleu);
        ck_assert_double_eq(rig_number(&r, "dev_chrf"), chrf);
    }
    rig_close(&r);
}
END_TEST

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u, *state >> 16;
}

/* Documents of two sentences and one of three. "it" is what the sentence before it says: der after
 * a dog, die after a cat. */
static void put_documents(rig *r, const char *name, int count, uint32_t seed)
{
    static const char *const nouns[] = { "dog", "cat" }, *const german[] = { "hund", "katze" },
                             *const articles[] = { "der", "die" };
    static const char *const verbs[] = { "runs", "sleeps", "eats", "sits" };
    static const char *const other[] = { "rennt", "schlaeft", "frisst", "sitzt" };
    char *text = malloc((size_t)count * 128);
    size_t used = 0;
    for (int d = 0; d < count; d++) {
        const uint32_t noun = next(&seed) % 2;
        uint32_t verb = next(&seed) % 4;
        used += (size_t)sprintf(text + used, "the %s %s\t%s %s\n", nouns[noun], verbs[verb],
                                german[noun], other[verb]);
        for (uint32_t k = 0; k <= (uint32_t)(d % 3 == 0); k++) {
            verb = next(&seed) % 4;
            used += (size_t)sprintf(text + used, "it %s\t%s %s\n", verbs[verb], articles[noun],
                                    other[verb]);
        }
        used += (size_t)sprintf(text + used, "\n");
    }
    gsa_put_file(gsa_scratch_path(&r->scratch, "%s", name), text, (int64_t)used);
    free(text);
}

/* The share of lines "it ..." whose translation is the reference to the letter. */
static double rightly_it(rig *r, const char *run)
{
    char model[300], input[300], output[300];
    int64_t bytes, used = 0;
    snprintf(model, sizeof model, "%s/%s", r->scratch.folder, run);
    snprintf(input, sizeof input, "%s/in", r->scratch.folder);
    snprintf(output, sizeof output, "%s/out", r->scratch.folder);
    char *pairs = gsa_get_file(gsa_scratch_path(&r->scratch, "dev.docs"), &bytes),
         *source = calloc((size_t)bytes + 1, 1);
    for (int64_t i = 0, on = 1; i < bytes; i++) {
        if (pairs[i] == '\t') on = 0;
        if (pairs[i] == '\n') on = 1;
        if (on) source[used++] = pairs[i];
    }
    gsa_put_file(input, source, used);
    const gsa_apply_options options = {
        .model = model, .backend = r->backend, .input = input, .output = output
    };
    ck_assert_msg(gsa_predict(NULL, &options, &r->error) == GSA_OK, "%s", r->error.text);
    char *written = gsa_get_file(output, &used), *line = written;
    int right = 0, all = 0;
    for (char *pair = pairs, *stop; (stop = strchr(pair, '\n')) != NULL; pair = stop + 1) {
        char *end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        const char *tab = memchr(pair, '\t', (size_t)(stop - pair));
        if (!tab) ck_assert_int_eq(end - line, 0);
        else if (strncmp(pair, "it ", 3) == 0) {
            all++;
            right +=
                end - line == stop - tab - 1 && memcmp(line, tab + 1, (size_t)(end - line)) == 0;
        }
        line = end + 1;
    }
    ck_assert_int_eq(line - written, used);
    free(pairs);
    free(source);
    free(written);
    return right / (double)all;
}

static const struct {
    const char *decoder, *previous;
    double low, high;
} needed[] = {
    { "model.decoder=full:causal=1+cross:align=1", "data.previous=1", 0.95, 1 },
    { "model.decoder=full:causal=1+cross", "data.previous=1", 0.95, 1 },
    { "model.decoder=full:causal=1+cross:align=1", "data.previous=0", 0.35, 0.65 },
};

START_TEST(a_word_that_needs_its_context)
{
    static const char *const more[] = { "model.hidden=32",          "model.ffn=64",
                                        "model.dropout_input=0",    "model.dropout_hidden=0",
                                        "model.dropout_head=0",     "model.input_scale=5.65",
                                        "model.embedding_std=0.18", "train.batch=32",
                                        "train.accumulate=1",       "train.lr=0.003",
                                        "train.epochs=6",           "train.label_smoothing=0",
                                        "model.activation=relu",    "train.report_every=0" };
    rig r;
    open_data(&r, some, GSA_F32);
    put_documents(&r, "train.docs", 400, 1);
    put_documents(&r, "dev.docs", 150, 2);
    r.data[0] = "train.docs", r.data[1] = "dev.docs";
    for (int i = 0; i < GSA_COUNT(more); i++) rig_set(&r, more[i]);
    rig_set(&r, needed[_i].decoder);
    rig_set(&r, needed[_i].previous);
    rig_train_ok(&r, "run");
    const double right = rightly_it(&r, "run");
    ck_assert_msg(right >= needed[_i].low && right <= needed[_i].high, "%g of the lines are right",
                  right);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test data[] = { GSA_LOOP(sections_and_labels, GSA_COUNT(rows)),
                                     GSA_TEST(targets_count_once),
                                     GSA_LOOP(a_bad_recipe, GSA_COUNT(refused)) };
    static const gsa_test gradients[] = { GSA_LOOP(every_parameter_differentiates,
                                                   GSA_COUNT(models)),
                                          GSA_LOOP(a_target_token_reads_its_own_sentence, 2) };
    static const gsa_test search[] = {
        GSA_LOOP(translations_stand_on_those_before, GSA_COUNT(searches)), GSA_TEST(positions_end)
    };
    static const gsa_test runs[] = { GSA_TEST(resumed_runs_have_the_same_bits),
                                     GSA_LOOP(a_word_that_needs_its_context, GSA_COUNT(needed)) };
    static const gsa_case cases[] = { GSA_CASE("data", data, 30),
                                      GSA_CASE("gradients", gradients, 60),
                                      GSA_CASE("search", search, 60), GSA_CASE("runs", runs, 120) };
    return gsa_run_suite("documents", cases, GSA_COUNT(cases), argc, argv);
}
