/* span_extraction.c - the answer to a question is a span of its passage: SQuAD (Rajpurkar et al.
 * 2016), DRCD, CMRC 2018.
 *
 *     [CLS] question [SEP] passage  one sequence, types 0 and 1; with task.match 2 and 3
 *         (overlap.h)
 *     out = a row for each token: start, end logits
 *
 * A long passage is read in windows (locate.h). A question is one example, all its windows in it; a
 * window is what the loss is a mean of: the mean of two cross entropies over its tokens, that of
 * [CLS] being right where the window does not hold the answer. The answer is the span that is most
 * probable in its window: inside the passage, of at most data.answer_max tokens. The first answer
 * that is in the passage is learned; all of them count as references. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "train/score/answers.h"
#include "graph/index.h"
#include "train/score/report.h"
#include "train/data/locate.h"
#include "train/learner.h"
#include "train/data/overlap.h"
#include "train/vocabulary/wordbook.h"

enum { PATH = 4096, FACTS = 2, SPECIAL = 2, START = 1, END = 2, TYPES = 2, MATCH_TYPES = 4 };

typedef struct span_split {
    gsa_reading reading;
    int32_t *asked_id, *told_id; /* [tokens] */
    int64_t *question;           /* [examples] number of the question */
    int32_t *length;             /* [examples] tokens of all its windows */
    int64_t examples, windows, most_windows,
        untaught; /* untaught: left out of training, for no answer was found in the passage */
    int32_t longest, zero; /* tokens of the longest sequence */
} span_split;

typedef struct span_task {
    const gsa_system *system;
    gsa_reading_options options;
    int64_t window, stride;
    int32_t answer_max, scorer_kind, match, facts;
    span_split split[GSA_SPLITS];
    gsa_wordbook words;
    gsa_scorer scorer;
    int32_t *queue; /* scratch of the search for a span, [queue_room] */
    int64_t queue_room;
    gsa_fact fact[FACTS];
} span_task;

static void release_split(span_task *t, int s)
{
    span_split *d = &t->split[s];
    gsa_release(t->system, d->asked_id);
    gsa_release(t->system, d->told_id);
    gsa_release(t->system, d->question);
    gsa_release(t->system, d->length);
    gsa_reading_release(&d->reading);
    *d = (span_split){ 0 };
}

static void destroy(void *self)
{
    span_task *t = self;
    for (int s = 0; s < GSA_SPLITS; s++) release_split(t, s);
    if (t->scorer.system) gsa_scorer_release(&t->scorer);
    if (t->words.system) gsa_wordbook_release(&t->words);
    gsa_release(t->system, t->queue);
    gsa_release(t->system, t);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int64_t tokens_of(const gsa_text *text, int64_t example)
{
    return text->offset[example + 1] - text->offset[example];
}

static const gsa_answer *learned_answer(const gsa_reading *r, int64_t question)
{
    const gsa_question *q = &r->question[question];
    for (int64_t a = q->answer; a < q->answer + q->answers; a++)
        if (r->answer[a].first >= 0) return &r->answer[a];
    return NULL;
}

/* Which questions are examples, and how long they are. Windows hold their question, each: of a
 * long one memory would grow with the square of the file. */
static gsa_status list_examples(span_task *t, int s, gsa_error *error)
{
    enum { REPEATED = 1024 };
    span_split *d = &t->split[s];
    const gsa_reading *r = &d->reading;
    const int64_t questions = r->asked.examples;
    d->question = gsa_alloc(t->system, (size_t)questions, sizeof *d->question);
    d->length = gsa_alloc(t->system, (size_t)questions, sizeof *d->length);
    if (!d->question || !d->length) return gsa_out_of_memory(error, r->told.path, questions * 12);
    for (int64_t q = 0; q < questions; q++) {
        if (s == GSA_SPLIT_TRAIN && !learned_answer(r, q)) {
            d->untaught++;
            continue;
        }
        const int64_t told = tokens_of(&r->told, r->question[q].passage),
                      asked = tokens_of(&r->asked, q) + SPECIAL;
        const int64_t windows = gsa_windows(told, t->window, t->stride);
        if (windows > 1 && asked > REPEATED)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "%s: a question has %lld tokens, and each of %lld windows would hold "
                            "them: expected at most %d, to which data.max_length cuts",
                            r->told.path, (long long)(asked - SPECIAL), (long long)windows,
                            REPEATED - SPECIAL);
        int64_t length = windows * asked;
        for (int64_t w = 0; w < windows; w++)
            length += gsa_window_length(told, t->window, t->stride, w);
        const int64_t longest = asked + gsa_window_length(told, t->window, t->stride, 0);
        if (length > gsa_index_most || windows > 1 << 20)
            return gsa_fail(
                error, GSA_ERR_LIMIT,
                "%s: a passage of %lld tokens makes %lld windows of %lld tokens: too many",
                r->told.path, (long long)told, (long long)windows, (long long)longest);
        if (longest > d->longest) d->longest = (int32_t)longest;
        if (windows > d->most_windows) d->most_windows = windows;
        d->windows += windows;
        d->question[d->examples] = q, d->length[d->examples++] = (int32_t)length;
    }
    return GSA_OK;
}

static void tell(const span_task *t, const gsa_task_options *o, int s)
{
    char sentence[PATH + 512];
    const span_split *d = &t->split[s];
    const gsa_reading *r = &d->reading;
    int used = snprintf(sentence, sizeof sentence,
                        "%s, %s: %lld questions on %lld passages in %lld windows, the longest "
                        "sequence of %d tokens",
                        gsa_split_name(s), r->told.path, (long long)d->examples,
                        (long long)r->told.examples, (long long)d->windows, d->longest);
    const struct {
        int64_t count;
        const char *what;
    } odd[] = { { r->repaired,
                  "answers are not at their answer_start and were found elsewhere in the passage" },
                { r->lost, "answers are nowhere in the passage and are references only" },
                { r->unanswered, "questions without an answer are passed over" },
                { r->unasked, "questions are empty and are read as such" },
                { d->untaught, "questions have no answer in the passage and are not trained on" } };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (odd[i].count > 0 && used > 0 && (size_t)used < sizeof sentence)
            used += snprintf(sentence + used, sizeof sentence - (size_t)used, "; %lld %s",
                             (long long)odd[i].count, odd[i].what);
    o->say(o->context, sentence);
}

static gsa_status read_file(span_task *t, int s, const char *path, gsa_error *error)
{
    gsa_reading_options options = t->options;
    options.unlabelled = s < 0;
    if (s < 0) s = GSA_SPLIT_TEST;
    release_split(t, s);
    const gsa_status status =
        gsa_reading_read(t->system, path, &options, &t->split[s].reading, error);
    return status == GSA_OK ? list_examples(t, s, error) : status;
}

static gsa_status check_positions(const gsa_recipe_values *v, const span_split *d, gsa_error *error)
{
    if (v->model_position != GSA_POSITION_LEARNED || d->longest <= v->model_position_max)
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s: the longest question and window have %d tokens together, "
                    "model.position_max is %lld: set "
                    "data.window, data.max_length or a larger model.position_max",
                    d->reading.told.path, d->longest, (long long)v->model_position_max);
}

static gsa_status read_splits(span_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    const char *const paths[] = { v->data_train, v->data_dev, v->data_test };
    gsa_status status = GSA_OK;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        if (!(o->splits >> s & 1)) continue;
        if (!*paths[s] && s == GSA_SPLIT_TRAIN) return gsa_recipe_no_train(o->recipe, error);
        if (!*paths[s]) continue;
        status = read_file(t, s, paths[s], error);
        if (status == GSA_OK) tell(t, o, s);
        if (status == GSA_OK) status = check_positions(v, &t->split[s], error);
    }
    return status;
}

static gsa_status number_tokens(span_task *t, int s, gsa_error *error)
{
    span_split *d = &t->split[s];
    int32_t *length[2] = { NULL, NULL };
    gsa_status status =
        gsa_wordbook_number(&t->words, &d->reading.asked, &d->asked_id, &length[0], error);
    if (status == GSA_OK)
        status = gsa_wordbook_number(&t->words, &d->reading.told, &d->told_id, &length[1], error);
    for (int i = 0; i < 2; i++) gsa_release(t->system, length[i]);
    return status;
}

/* Scratch for the largest passage, answer and window of all splits. */
static gsa_status make_room(span_task *t, gsa_error *error)
{
    int64_t bytes = 0, tokens = 0;
    for (int s = 0; s < GSA_SPLITS; s++) {
        if (t->split[s].reading.longest_bytes > bytes) bytes = t->split[s].reading.longest_bytes;
        if (t->split[s].longest > tokens) tokens = t->split[s].longest;
    }
    if (t->scorer.system) gsa_scorer_release(&t->scorer);
    gsa_release(t->system, t->queue);
    t->queue = gsa_alloc(t->system, (size_t)tokens, sizeof *t->queue);
    if (!t->queue) return gsa_out_of_memory(error, "the search for spans", tokens * 4);
    return gsa_scorer_create(t->system, t->scorer_kind, bytes, &t->scorer, error);
}

static gsa_status get_words(span_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_text *texts[2 * GSA_SPLITS];
    for (int i = 0; i < 2 * GSA_SPLITS; i++)
        texts[i] = i % 2 ? &t->split[i / 2].reading.told : &t->split[i / 2].reading.asked;
    return o->checkpoint
               ? gsa_wordbook_restore(t->system, o->recipe, o->checkpoint, &t->words, error)
               : gsa_wordbook_learn(t->system, o->recipe, texts, 2 * GSA_SPLITS, 2, &t->words,
                                    error);
}

/* ---- scores of texts ----------------------------------------------------------------------- */

/* Tokens first..last of a question's passage as they are in the file. */
static gsa_slice span_text(const gsa_reading *r, int64_t question, int64_t first, int64_t last)
{
    const int64_t passage = r->question[question].passage;
    const gsa_passage_token *place = r->place + r->told.offset[passage];
    if (first < 0) return (gsa_slice){ "", 0 };
    return (gsa_slice){ r->passage[passage].at + place[first].begin,
                        place[last].end - place[first].begin };
}

/* The best of the references, each figure by itself, as the scorers have it. */
static gsa_answer_score score_answer(const span_task *t, const gsa_reading *r, int64_t question,
                                     gsa_slice text)
{
    const gsa_question *q = &r->question[question];
    gsa_answer_score best = { 0 };
    for (int64_t a = q->answer; a < q->answer + q->answers; a++) {
        const gsa_answer_score one = gsa_answer_against(&t->scorer, text, r->answer[a].text);
        best.exact |= one.exact;
        best.f1 = one.f1 > best.f1 ? one.f1 : best.f1;
    }
    return best;
}

/* The sentence that shares most with the question. */
static void measure_baseline(span_task *t, const gsa_task_options *o)
{
    char sentence[256];
    const gsa_reading *r = &t->split[GSA_SPLIT_DEV].reading;
    const int64_t questions = r->asked.examples;
    double exact = 0, f1 = 0;
    if (questions == 0) return;
    for (int64_t q = 0, first, last; q < questions; q++) {
        gsa_overlap_sentence(r, q, &first, &last);
        const gsa_answer_score score = score_answer(t, r, q, span_text(r, q, first, last));
        exact += score.exact, f1 += score.f1;
    }
    t->fact[0] = (gsa_fact){ "overlap_f1", f1 / (double)questions };
    t->fact[1] = (gsa_fact){ "overlap_em", exact / (double)questions };
    t->facts = FACTS;
    snprintf(sentence, sizeof sentence,
             "baseline on dev: the sentence that shares most with the question has F1 %.4f, exact "
             "match %.4f",
             t->fact[0].value, t->fact[1].value);
    o->say(o->context, sentence);
}

/* ---- making one ---------------------------------------------------------------------------- */

static gsa_status check_windows(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    if (v->data_stride <= v->data_window || v->data_window == 0) return GSA_OK;
    return gsa_recipe_fail(
        recipe, "data", "stride", error,
        "= %lld is more than window = %lld: tokens between windows would not be read",
        (long long)v->data_stride, (long long)v->data_window);
}

static gsa_status fill_task(span_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = read_splits(t, o, error);
    if (status == GSA_OK) status = get_words(t, o, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = number_tokens(t, s, error);
    if (status == GSA_OK) status = make_room(t, error);
    if (status == GSA_OK) measure_baseline(t, o);
    return status;
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    span_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system;
    t->window = v->data_window,
    t->stride = v->data_stride ? v->data_stride : (v->data_window + 1) / 2;
    t->answer_max = (int32_t)v->data_answer_max, t->scorer_kind = (int32_t)v->task_scorer;
    t->match = (int32_t)v->task_match;
    t->options = (gsa_reading_options){ .lower = (int32_t)v->data_lower,
                                        .tokens = (int32_t)v->data_tokens,
                                        .max_length = (int32_t)v->data_max_length };
    const gsa_status status = fill_task(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    return ((const span_task *)self)->split[split].examples;
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const span_task *)self)->split[split].length;
}

static int64_t windows_of(const span_task *t, const span_split *d, int64_t example)
{
    const gsa_reading *r = &d->reading;
    return gsa_windows(tokens_of(&r->told, r->question[d->question[example]].passage), t->window,
                       t->stride);
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    const span_task *t = self;
    int64_t windows = 0;
    for (int64_t i = 0; i < count; i++) windows += windows_of(t, &t->split[split], example[i]);
    return windows;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *o, gsa_task_plan *plan,
                       gsa_error *error)
{
    const span_task *t = self;
    (void)o, (void)error;
    *plan = (gsa_task_plan){ .sequence = { "text" },
                             .pass = { { .name = "text", .stack = "encoder", .sequence = "text" } },
                             .n_sequences = 1,
                             .n_passes = 1,
                             .input = { gsa_wordbook_input(&t->words) },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SEQUENCE } },
                             .n_stacks = 1,
                             .outputs = 2 };
    plan->input[0].vocabulary += SPECIAL; /* [CLS] and [SEP] come last */
    plan->input[0].types = t->match ? MATCH_TYPES : TYPES;
    return GSA_OK;
}

static gsa_status prepare(void *self, gsa_learner *learner, gsa_error *error)
{
    return gsa_wordbook_prepare(&((span_task *)self)->words, learner->input[0], learner->backend,
                                error);
}

/* [CLS] question [SEP]: the number of its rows. */
static int32_t fill_question(const span_task *t, const span_split *d, int64_t question,
                             gsa_minibatch_sequence *to, int64_t at)
{
    static const gsa_slice special[] = { { "[CLS]", 5 }, { "[SEP]", 5 } };
    const gsa_text *asked = &d->reading.asked;
    const int64_t first = asked->offset[question], count = tokens_of(asked, question);
    const int32_t words = gsa_vocabulary_size(t->words.vocabulary);
    to->id[at] = words, to->text[at] = special[0];
    if (count > 0) {
        memcpy(to->id + at + 1, d->asked_id + first, (size_t)count * sizeof *to->id);
        memcpy(to->text + at + 1, asked->token + first, (size_t)count * sizeof *to->text);
    }
    to->id[at + 1 + count] = words + 1, to->text[at + 1 + count] = special[1];
    memset(to->type + at, 0, (size_t)(count + SPECIAL) * sizeof *to->type);
    return (int32_t)count + SPECIAL;
}

/* What is right in a window: START and END are at one row each, at [CLS] where the answer is not
 * all in it; nowhere without one. */
static void mark(const gsa_answer *answer, int64_t first, int64_t count, int32_t head,
                 int32_t *label, int32_t rows)
{
    for (int32_t i = 0; i < rows; i++) label[i] = 0;
    if (!answer) return;
    const int inside = answer->first >= first && answer->last < first + count;
    label[inside ? head + answer->first - first : 0] |= START;
    label[inside ? head + answer->last - first : 0] |= END;
}

static int32_t fill_window(const span_task *t, const span_split *d, int64_t question,
                           int64_t window, gsa_minibatch *batch, int64_t at)
{
    gsa_minibatch_sequence *to = &batch->sequence[0];
    const gsa_text *told = &d->reading.told, *asked = &d->reading.asked;
    const int64_t passage = d->reading.question[question].passage, first = window * t->stride;
    const int32_t count =
        (int32_t)gsa_window_length(tokens_of(told, passage), t->window, t->stride, window);
    const int32_t head = fill_question(t, d, question, to, at);
    const int64_t from = told->offset[passage] + first, body = at + head;
    memcpy(to->id + body, d->told_id + from, (size_t)count * sizeof *to->id);
    memcpy(to->text + body, told->token + from, (size_t)count * sizeof *to->text);
    if (t->match)
        gsa_overlap_types(told->token + from, count, asked->token + asked->offset[question],
                          head - SPECIAL, to->type + body);
    for (int32_t i = 0; i < count; i++)
        to->type[body + i] = 1 + (t->match ? to->type[body + i] : 0);
    mark(learned_answer(&d->reading, question), first, count, head, batch->label + at,
         head + count);
    return head + count;
}

static gsa_status hold_batch(const span_task *t, int split, const int64_t *example,
                             gsa_minibatch *batch, gsa_error *error)
{
    const int64_t windows = targets(t, split, example, batch->count);
    int64_t tokens = 0;
    for (int32_t i = 0; i < batch->count; i++) tokens += t->split[split].length[example[i]];
    if (windows > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT, "a batch of %lld windows", (long long)windows);
    gsa_status status = gsa_minibatch_sequence_size(batch, 0, (int32_t)windows, tokens, 0, error);
    if (status == GSA_OK) status = gsa_minibatch_types(batch, 0, error);
    return status == GSA_OK ? gsa_minibatch_targets(batch, tokens, 0, error) : status;
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const span_task *t = self;
    const span_split *d = &t->split[split];
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK) status = hold_batch(t, split, example, batch, error);
    if (status != GSA_OK) return status;
    gsa_minibatch_sequence *to = &batch->sequence[0];
    int64_t at = 0;
    for (int32_t i = 0, row = 0; i < count; i++) {
        const int64_t windows = windows_of(t, d, example[i]);
        for (int64_t w = 0; w < windows; w++, row++) {
            to->number[row] =
                (int32_t)(((batch->first + i) * d->most_windows + w) & ((1 << 26) - 1));
            to->length[row] = fill_window(t, d, d->question[example[i]], w, batch, at);
            at += to->length[row];
        }
    }
    return GSA_OK;
}

/* The question's name and its answers: where they are depends on tokens and windows. */
static void gold(const void *self, int split, int64_t example, gsa_sha256 *hash)
{
    const span_split *d = &((const span_task *)self)->split[split];
    const gsa_question *q = &d->reading.question[d->question[example]];
    gsa_gold_add(hash, &q->id, 1);
    for (int64_t a = q->answer; a < q->answer + q->answers; a++)
        gsa_gold_add(hash, &d->reading.answer[a].text, 1);
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale)
{
    const gsa_minibatch_sequence *s = &batch->sequence[0];
    int64_t *offset = gsa_tape_host(tape, (s->count + INT64_C(1)) * (int64_t)sizeof *offset);
    int32_t *target = gsa_tape_host(tape, 2 * (int64_t)s->count * (int64_t)sizeof *target);
    (void)self;
    if (!offset || !target) return NULL;
    offset[0] = 0;
    for (int32_t w = 0; w < s->count; w++) {
        offset[w + 1] = offset[w] + s->length[w];
        target[2 * w] = target[2 * w + 1] = -1;
        for (int32_t i = 0; i < s->length[w]; i++)
            for (int c = 0; c < 2; c++)
                if (batch->label[offset[w] + i] & (c ? END : START)) target[2 * w + c] = i;
    }
    const int64_t *offsets =
        gsa_tape_upload(tape, offset, (s->count + INT64_C(1)) * (int64_t)sizeof *offset);
    const int32_t *targets_up =
        gsa_tape_upload(tape, target, 2 * (int64_t)s->count * (int64_t)sizeof *target);
    return offsets && targets_up
               ? gsa_op_segment_entropy(tape, out, offsets, targets_up, s->count, scale / 2)
               : NULL;
}

/* ---- answers ------------------------------------------------------------------------------- */

/* log sum exp of one column of `rows` rows of two. */
static double log_sum(const double *x, int32_t rows)
{
    double top = x[0], sum = 0;
    for (int32_t i = 1; i < rows; i++) top = x[2 * i] > top ? x[2 * i] : top;
    for (int32_t i = 0; i < rows; i++) sum += exp(x[2 * i] - top);
    return top + log(sum);
}

/* The best span of a question, in tokens of its passage, of the windows that begin at `out`; adds
 * their losses. Moves both on. */
static gsa_span_found answer(const span_task *t, const span_split *d, int64_t example,
                             const double **out, const int32_t **label, gsa_score *unit)
{
    const int64_t question = d->question[example],
                  told = tokens_of(&d->reading.told, d->reading.question[question].passage);
    const int32_t head = (int32_t)tokens_of(&d->reading.asked, question) + SPECIAL;
    const int64_t windows = windows_of(t, d, example);
    gsa_span_found best = { -1, -1, -INFINITY };
    for (int64_t w = 0; w < windows; w++) {
        const int32_t count = (int32_t)gsa_window_length(told, t->window, t->stride, w),
                      rows = head + count;
        const double *x = *out, sum[] = { log_sum(x, rows), log_sum(x + 1, rows) };
        gsa_span_found found =
            gsa_best_span(x + 2 * head, x + 2 * head + 1, 2, count, t->answer_max, t->queue);
        found.score -= sum[0] + sum[1];
        if (found.first >= 0 && (best.first < 0 || found.score > best.score))
            best = (gsa_span_found){ (int32_t)(found.first + w * t->stride),
                                     (int32_t)(found.last + w * t->stride), found.score };
        for (int32_t i = 0; i < rows && unit; i++)
            for (int c = 0; c < 2; c++)
                if ((*label)[i] & (c ? END : START))
                    unit->loss += (sum[c] - x[2 * i + c]) / 2, unit->targets += c;
        *out += 2 * rows, *label += rows;
    }
    return best;
}

/* right: F1; hits: exact matches. */
static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    const span_task *t = self;
    const span_split *d = &t->split[batch->split];
    const int32_t *label = batch->label;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t question = d->question[batch->example[i]];
        const gsa_span_found span = answer(t, d, batch->example[i], &out, &label, &unit[i]);
        const gsa_answer_score got = score_answer(
            t, &d->reading, question, span_text(&d->reading, question, span.first, span.last));
        unit[i].right = got.f1, unit[i].hits = got.exact, unit[i].examples = 1;
    }
}

/* A row is a question: exact, F1, and the answer's text. */
static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    const span_split *d = &((const span_task *)self)->split[survey->split];
    const gsa_status status = gsa_survey_open(survey, d->examples, 4, error);
    for (int64_t i = 0; i < survey->rows && status == GSA_OK; i++) survey->value[4 * i + 2] = -1;
    return status;
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    const span_task *t = self;
    const span_split *d = &t->split[batch->split];
    const int32_t *label = batch->label;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t question = d->question[example[i]];
        const gsa_span_found span = answer(t, d, example[i], &out, &label, NULL);
        const gsa_answer_score got = score_answer(
            t, &d->reading, question, span_text(&d->reading, question, span.first, span.last));
        double *row = survey->value + 4 * example[i];
        row[0] = got.exact, row[1] = got.f1, row[2] = span.first, row[3] = span.last;
    }
}

static json_t *question_json(const span_split *d, const double *row, int64_t example)
{
    const int64_t question = d->question[example];
    const gsa_reading *r = &d->reading;
    const gsa_question *q = &r->question[question];
    const int64_t first = r->asked.offset[question];
    json_t *one = json_object(), *answers = json_array();
    for (int64_t a = q->answer; a < q->answer + q->answers; a++)
        json_array_append_new(answers, gsa_json_slice(r->answer[a].text));
    json_object_set_new(one, "example", json_integer(example));
    json_object_set_new(one, "id", gsa_json_slice(q->id));
    json_object_set_new(one, "f1", json_real(row[1]));
    json_object_set_new(one, "gold", answers);
    json_object_set_new(one, "found",
                        gsa_json_slice(span_text(r, question, (int32_t)row[2], (int32_t)row[3])));
    json_object_set_new(one, "question",
                        gsa_json_words(r->asked.token + first, tokens_of(&r->asked, question)));
    return one;
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    const span_split *d = &((span_task *)self)->split[survey->split];
    int64_t row[GSA_REPORT_WORST], exact = 0, wrong = 0;
    double *short_of = gsa_alloc(survey->system, (size_t)survey->rows, sizeof *short_of);
    if (!short_of) return gsa_out_of_memory(error, "a report", survey->rows * 8);
    for (int64_t i = 0; i < survey->rows; i++) {
        short_of[i] = 1 - survey->value[4 * i + 1];
        exact += survey->value[4 * i] > 0, wrong += short_of[i] == 1;
    }
    const int64_t count = gsa_report_largest(short_of, survey->rows, 0, row, GSA_REPORT_WORST);
    json_t *list = json_array(), *answers = json_object();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, question_json(d, survey->value + 4 * row[i], row[i]));
    json_object_set_new(answers, "exact", json_integer(exact));
    json_object_set_new(answers, "partly", json_integer(survey->rows - exact - wrong));
    json_object_set_new(answers, "wrong", json_integer(wrong));
    json_object_set_new(object, "answers", answers);
    json_object_set_new(object, "worst", list);
    gsa_release(survey->system, short_of);
    return GSA_OK;
}

static int metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    if (room < 1 || score->examples == 0) return 0;
    facts[0] = (gsa_fact){ "em", (double)score->hits / (double)score->examples };
    return 1;
}

static void signature(const void *self, const gsa_recipe_values *values, char *text, size_t room)
{
    (void)self;
    snprintf(text, room, "scorer:%s",
             values->task_scorer == GSA_SCORER_CMRC ? "cmrc2018" : "squad1.1");
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    return gsa_wordbook_save(&((const span_task *)self)->words, checkpoint, error);
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const span_task *t = self;
    return gsa_facts_copy(facts, room, t->fact, t->facts);
}

/* ---- prediction ---------------------------------------------------------------------------- */

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    span_task *t = self;
    gsa_status status = read_file(t, -1, path, error);
    if (status == GSA_OK) status = number_tokens(t, GSA_SPLIT_TEST, error);
    return status == GSA_OK ? make_room(t, error) : status;
}

static void write_string(gsa_output *output, gsa_slice text)
{
    gsa_output_text(output, "\"");
    for (int64_t i = 0, from = 0; i <= text.bytes; i++) {
        const unsigned char c = i < text.bytes ? (unsigned char)text.at[i] : '"';
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        gsa_output_write(output, text.at + from, i - from);
        if (i < text.bytes) gsa_output_format(output, c < 0x20 ? "\\u%04x" : "\\%c", c);
        from = i + 1;
    }
    gsa_output_text(output, "\"");
}

/* {"id": "text", ...}, as the official scorers read it. */
static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    const span_task *t = self;
    const span_split *d = &t->split[batch->split];
    const int32_t *label = batch->label;
    for (int32_t i = 0; i < batch->count; i++) {
        const int64_t question = d->question[batch->example[i]];
        const gsa_span_found span = answer(t, d, batch->example[i], &out, &label, NULL);
        gsa_output_text(output, batch->example[i] > 0 ? ",\n" : "\n");
        write_string(output, d->reading.question[question].id);
        gsa_output_text(output, ": ");
        write_string(output, span_text(&d->reading, question, span.first, span.last));
    }
}

const gsa_task gsa_task_span_extraction = {
    .name = "span_extraction",
    .metric = "f1",
    .rising = 1,
    .check = check_windows,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .targets = targets,
    .prepare = prepare,
    .fill = fill,
    .loss = loss,
    .gold = gold,
    .score = score,
    .survey = survey,
    .observe = observe,
    .findings = findings,
    .save = save,
    .facts = facts,
    .metrics = metrics,
    .signature = signature,
    .read_lines = read_lines,
    .print = print,
    .whole = 1,
    .opening = "{",
    .closing = "\n}\n",
};
