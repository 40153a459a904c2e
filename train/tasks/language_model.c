/* language_model.c - each token of a running text is predicted from those before it.
 *
 *   input   line end, x_0, x_1, ... x_{n-2}     a window of the text, and what is before it
 *   target            x_0, x_1, ... x_{n-1}     label = id - first_class
 *
 * Windows start every `step` tokens and hold `window` of them, the last one what is left. Training
 * (step = stride) predicts all of a window; evaluation (step = window - context) all of the first
 * and of the others what the one before has not: every token of the text is scored once, after at
 * least `context` others. */
#include "graph/system_parts.h"
#include "train/decode/language.h"
#include "graph/index.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/data/plain.h"
#include "train/score/ngram.h"
#include "train/score/surprise.h"

enum { TEXT = 512, FACTS = 2, DEFAULT_WINDOW = 256, MOST_WORDS = 1 << 22 };

typedef struct language_task {
    const gsa_system *system;
    gsa_units units;
    gsa_source *source[GSA_SPLITS]; /* with data.split the first has all */
    gsa_stream stream[GSA_SPLITS];
    int64_t *block, blocks; /* [blocks+1] first window of each, with data.stream */
    int64_t examples[GSA_SPLITS], step[GSA_SPLITS];
    int32_t *length[GSA_SPLITS];
    int64_t window;
    double smoothing, aux;
    int32_t *id;    /* [window + 1] what a window is made of */
    int64_t *line;  /* predicted lines: [examples + 1] first token of each, or NULL */
    int32_t *given; /* [tokens] of the lines */
    int32_t facts, zero;
    gsa_fact fact[FACTS];
} language_task;

static void destroy(void *self)
{
    language_task *t = self;
    for (int s = 0; s < GSA_SPLITS; s++) {
        gsa_release(t->system, t->length[s]);
        gsa_stream_release(&t->stream[s]);
        gsa_source_release(t->source[s]);
    }
    gsa_release(t->system, t->block);
    gsa_units_release(&t->units);
    gsa_release(t->system, t->id);
    gsa_release(t->system, t->line);
    gsa_release(t->system, t->given);
    gsa_release(t->system, t);
}

/* ---- which bytes are which split ----------------------------------------------------------- */

typedef struct place {
    const char *path;   /* "": the split is not there */
    gsa_source *source; /* NULL: to be opened */
    int64_t first, last;
} place;

static gsa_status bad_split(const gsa_recipe *recipe, const char *why, gsa_error *error)
{
    return gsa_recipe_fail(recipe, "data", "split", error,
                           "= %.100s: %s; expected two or three shares that add up to at most 1 "
                           "(0.9,0.05,0.05), or the "
                           "bytes of each split",
                           recipe->values.data_split, why);
}

/* Two or three numbers; their count, or 0. */
static int parse_split(const char *text, double *number)
{
    int count = 0;
    for (char *end; count < GSA_SPLITS; text = end + 1) {
        number[count] = strtod(text, &end);
        if (!gsa_plain_is(text, end) || !(number[count] >= 0) || number[count] > 9e15) return 0;
        count++;
        if (*end == 0) return count >= 2 ? count : 0;
        if (*end != ',') return 0;
    }
    return 0;
}

static gsa_status cut_splits(language_task *t, const gsa_recipe *recipe, place *places,
                             gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    double number[GSA_SPLITS] = { 0 }, sum = 0;
    int64_t at = 0, wanted = 0;
    const int count = parse_split(v->data_split, number);
    for (int s = 0; s < count; s++) sum += number[s];
    gsa_status status =
        gsa_source_open(t->system, v->data_train, v->data_stream, &t->source[0], error);
    if (status != GSA_OK) return status;
    const int64_t size = gsa_source_bytes(t->source[0]);
    if (sum > 1 && sum > (double)size) return bad_split(recipe, "the file has fewer bytes", error);
    double done = 0;
    for (int s = 0; s < count && status == GSA_OK; s++, at = places[s - 1].last) {
        done += number[s];
        wanted = sum > 1 ? (int64_t)done : done > 1 - 1e-9 ? size : (int64_t)(done * (double)size);
        places[s] = (place){ v->data_train, t->source[0], at, at };
        status = gsa_stream_cut(t->source[0], t->units.kind, wanted, &places[s].last, error);
        if (number[s] == 0) places[s].path = "";
    }
    return status;
}

static gsa_status find_splits(language_task *t, const gsa_task_options *o, place *places,
                              gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    const char *const paths[] = { v->data_train, v->data_dev, v->data_test };
    for (int s = 0; s < GSA_SPLITS; s++) places[s] = (place){ paths[s], NULL, 0, -1 };
    if (!*v->data_split) return GSA_OK;
    for (int s = 0; s < GSA_SPLITS; s++) places[s].path = "";
    if (!*v->data_train || (o->splits == 0)) return GSA_OK;
    return cut_splits(t, o->recipe, places, error);
}

/* ---- reading ------------------------------------------------------------------------------- */

static gsa_status make_windows(language_task *t, int split, gsa_error *error)
{
    const int64_t tokens = t->stream[split].tokens, step = t->step[split];
    const int64_t count = tokens <= t->window ? 1 : 1 + (tokens - t->window + step - 1) / step;
    t->length[split] = gsa_alloc(t->system, (size_t)count, sizeof(int32_t));
    if (!t->length[split]) return gsa_out_of_memory(error, t->stream[split].path, count * 4);
    for (int64_t e = 0; e < count; e++)
        t->length[split][e] =
            (int32_t)(tokens - e * step < t->window ? tokens - e * step : t->window);
    t->examples[split] = count;
    return GSA_OK;
}

/* With data.stream: so many windows a block that it has about its bytes. */
static gsa_status make_blocks(language_task *t, int64_t bytes, gsa_error *error)
{
    const gsa_stream *s = &t->stream[GSA_SPLIT_TRAIN];
    const int64_t windows = t->examples[GSA_SPLIT_TRAIN];
    const double share = (double)bytes / (double)(s->last - s->first + 1);
    const int64_t each = share * (double)windows > 1 ? (int64_t)(share * (double)windows) : 1;
    if (bytes == 0) return GSA_OK;
    t->blocks = (windows + each - 1) / each;
    t->block = gsa_alloc(t->system, (size_t)t->blocks + 1, sizeof *t->block);
    if (!t->block) return gsa_out_of_memory(error, "blocks of a text", t->blocks * 8);
    for (int64_t b = 0; b <= t->blocks; b++) t->block[b] = b < t->blocks ? b * each : windows;
    return GSA_OK;
}

static gsa_status open_split(language_task *t, const gsa_task_options *o, int split,
                             const place *from, gsa_unit_counts *counts, gsa_error *error)
{
    gsa_source *source = from->source;
    const int64_t bytes = o->recipe->values.data_stream;
    gsa_status status = GSA_OK;
    if (!source) {
        status = gsa_source_open(t->system, from->path, bytes, &source, error);
        t->source[split] = source;
    }
    if (status == GSA_OK && split == GSA_SPLIT_TRAIN && o->resumes)
        status = gsa_source_check(source, o->checkpoint, error);
    return status == GSA_OK ? gsa_stream_begin(source, t->units.kind, from->first, from->last,
                                               counts, &t->stream[split], error)
                            : status;
}

static gsa_status read_split(language_task *t, const gsa_task_options *o, int split,
                             const place *from, gsa_unit_counts *counts, gsa_error *error)
{
    static const char *const units[] = { [GSA_TOKENS_WORDS] = "words",
                                         [GSA_TOKENS_CHARS] = "characters",
                                         [GSA_TOKENS_BYTES] = "bytes" };
    char sentence[TEXT], blocks[48] = "";
    if (!(o->splits >> split & 1)) return GSA_OK;
    if (!*from->path) {
        if (split != GSA_SPLIT_TRAIN) return GSA_OK;
        return gsa_recipe_no_train(o->recipe, error);
    }
    gsa_stream *s = &t->stream[split];
    gsa_status status = open_split(t, o, split, from, counts, error);
    if (status == GSA_OK && s->tokens == 0)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: the %s text holds no token", from->path,
                          gsa_split_name(split));
    if (status == GSA_OK) status = make_windows(t, split, error);
    if (status == GSA_OK && split == GSA_SPLIT_TRAIN)
        status = make_blocks(t, o->recipe->values.data_stream, error);
    if (status != GSA_OK) return status;
    if (split == GSA_SPLIT_TRAIN && t->blocks)
        snprintf(blocks, sizeof blocks, ", in %lld blocks", (long long)t->blocks);
    snprintf(sentence, sizeof sentence,
             "%s: %.300s: %lld %s, %lld windows of %lld, one every %lld%s", gsa_split_name(split),
             from->path, (long long)s->tokens, units[t->units.kind], (long long)t->examples[split],
             (long long)t->window, (long long)t->step[split], blocks);
    o->say(o->context, sentence);
    return GSA_OK;
}

static gsa_status learn_units(language_task *t, const gsa_task_options *o, gsa_unit_counts *counts,
                              gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    return gsa_units_learn(t->system, t->units.kind, counts, v->data_min_count, v->data_max_words,
                           &t->units, error);
}

static gsa_status measure_baselines(language_task *t, const gsa_task_options *o, gsa_error *error)
{
    char sentence[TEXT];
    double unigrams, bigrams;
    const int words = t->units.kind == GSA_TOKENS_WORDS;
    if (t->examples[GSA_SPLIT_TRAIN] == 0 || t->examples[GSA_SPLIT_DEV] == 0) return GSA_OK;
    const gsa_status status =
        gsa_ngram_losses(&t->stream[GSA_SPLIT_TRAIN], &t->stream[GSA_SPLIT_DEV], &t->units,
                         &unigrams, &bigrams, error);
    if (status != GSA_OK) return status;
    unigrams = words ? exp(unigrams) : unigrams / log(2),
    bigrams = words ? exp(bigrams) : bigrams / log(2);
    t->fact[0] = (gsa_fact){ words ? "unigram_perplexity" : "unigram_bpc", unigrams };
    t->fact[1] = (gsa_fact){ words ? "bigram_perplexity" : "bigram_bpc", bigrams };
    t->facts = FACTS;
    snprintf(sentence, sizeof sentence,
             "%d classes; baselines on dev, %s: unigrams %.4g, bigrams %.4g",
             gsa_units_size(&t->units) - t->units.first_class,
             words ? "perplexity" : "bits a token", unigrams, bigrams);
    o->say(o->context, sentence);
    return GSA_OK;
}

static gsa_status read_all(language_task *t, const gsa_task_options *o, gsa_error *error)
{
    place places[GSA_SPLITS];
    gsa_unit_counts counts = { .most = o->recipe->values.data_stream ? MOST_WORDS : 0 };
    const int restored = o->checkpoint != NULL, kind = t->units.kind;
    gsa_status status = GSA_OK;
    if (restored) status = gsa_units_restore(t->system, kind, o->checkpoint, &t->units, error);
    else status = gsa_vocabulary_create(t->system, &counts.words, error);
    if (status == GSA_OK) status = find_splits(t, o, places, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        status = read_split(t, o, s, &places[s], s == GSA_SPLIT_TRAIN && !restored ? &counts : NULL,
                            error);
        if (status == GSA_OK && s == GSA_SPLIT_TRAIN && !restored)
            status = learn_units(t, o, &counts, error);
    }
    gsa_vocabulary_release(counts.words);
    return status == GSA_OK ? measure_baselines(t, o, error) : status;
}

static int64_t window_of(const gsa_recipe_values *v)
{
    return v->data_window ? v->data_window : DEFAULT_WINDOW;
}

static int64_t context_of(const gsa_recipe_values *v)
{
    return v->data_context < 0 ? window_of(v) / 2 : v->data_context;
}

static gsa_status check_shares(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    double number[GSA_SPLITS] = { 0 }, sum = 0;
    if (!*v->data_split) return GSA_OK;
    const int count = parse_split(v->data_split, number);
    if (*v->data_dev || *v->data_test)
        return bad_split(recipe, "data.dev and data.test must not be set with it", error);
    for (int s = 0; s < count; s++) sum += number[s];
    if (count == 0) return bad_split(recipe, "these are no two or three numbers", error);
    for (int s = 0; s < count && sum > 1; s++)
        if (number[s] != floor(number[s]))
            return bad_split(recipe, "the shares add up to more than 1", error);
    return GSA_OK;
}

static gsa_status check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const int64_t window = window_of(v), context = context_of(v);
    if (v->data_stride > window)
        return gsa_recipe_fail(recipe, "data", "stride", error,
                               "= %lld is more than window = %lld: tokens would be left out",
                               (long long)v->data_stride, (long long)window);
    if (context >= window)
        return gsa_recipe_fail(recipe, "data", "context", error,
                               "= %lld, expected less than window = %lld", (long long)context,
                               (long long)window);
    if (v->model_position == GSA_POSITION_LEARNED && window > v->model_position_max)
        return gsa_recipe_fail(recipe, "data", "window", error,
                               "= %lld, and learned positions end at model.position_max = %lld",
                               (long long)window, (long long)v->model_position_max);
    return check_shares(recipe, error);
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    language_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system, t->units.kind = (int32_t)v->data_tokens;
    t->smoothing = v->train_label_smoothing, t->aux = v->task_aux;
    t->window = window_of(v);
    t->step[GSA_SPLIT_TRAIN] = v->data_stride ? v->data_stride : t->window;
    t->step[GSA_SPLIT_DEV] = t->step[GSA_SPLIT_TEST] = t->window - context_of(v);
    t->id = gsa_alloc(t->system, (size_t)t->window + 1, sizeof *t->id);
    gsa_status status = t->id ? GSA_OK : gsa_out_of_memory(error, "a window", (t->window + 1) * 4);
    if (status == GSA_OK) status = read_all(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    return ((const language_task *)self)->examples[split];
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const language_task *)self)->length[split];
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    const language_task *t = self;
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += t->length[split][example[i]];
    return sum;
}

static const int64_t *blocks_of(const void *self, int64_t *blocks)
{
    const language_task *t = self;
    *blocks = t->blocks;
    return t->block;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    const language_task *t = self;
    const gsa_recipe_values *v = &options->recipe->values;
    (void)error;
    *plan = (gsa_task_plan){
        .sequence = { "text" },
        .pass = { { .stack = "encoder", .sequence = "text" } },
        .n_sequences = 1,
        .n_passes = 1,
        .input = { { .vocabulary = gsa_units_size(&t->units),
                     .width = (int32_t)v->model_embedding,
                     .embedding_std = v->model_embedding_std } },
        .n_inputs = 1,
        .stack = { { .name = "encoder", .reads = GSA_READ_SEQUENCE, .causal = 1 } },
        .n_stacks = 1,
        .outputs = gsa_units_size(&t->units) - t->units.first_class,
        .tied = 1,
        .first_class = t->units.first_class,
        .aux = t->aux
    };
    return GSA_OK;
}

static gsa_status begin(gsa_minibatch *batch, int32_t count, int64_t tokens, gsa_error *error)
{
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK) status = gsa_minibatch_sequence_size(batch, 0, count, tokens, 0, error);
    return status == GSA_OK ? gsa_minibatch_targets(batch, tokens, 0, error) : status;
}

/* `id` holds what is before the window, then the window: [length + 1]. Labels start at token
 * `scored`. */
static void put_window(const language_task *t, gsa_minibatch *batch, int64_t at, const int32_t *id,
                       int64_t length, int64_t scored)
{
    const gsa_minibatch_sequence *to = &batch->sequence[0];
    for (int64_t i = 0; i < length; i++) {
        to->id[at + i] = id[i];
        to->text[at + i] = gsa_vocabulary_word(t->units.vocabulary, id[i]);
        batch->label[at + i] = i < scored ? -1 : id[i + 1] - t->units.first_class;
    }
}

static gsa_status read_window(language_task *t, int split, int64_t example, int64_t length,
                              gsa_error *error)
{
    const int64_t start = t->line ? t->line[example] : example * t->step[split];
    if (t->line) {
        t->id[0] = t->units.line_end;
        if (length) memcpy(t->id + 1, t->given + start, (size_t)length * sizeof *t->id);
        return GSA_OK;
    }
    t->id[0] = t->units.line_end;
    if (start == 0)
        return gsa_stream_read(&t->stream[split], &t->units, 0, length, t->id + 1, error);
    return gsa_stream_read(&t->stream[split], &t->units, start - 1, length + 1, t->id, error);
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    language_task *t = self;
    gsa_status status = begin(batch, count, targets(self, split, example, count), error);
    int64_t at = 0;
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        const int64_t e = example[i], length = t->length[split][e];
        const int whole = split == GSA_SPLIT_TRAIN || e == 0 || t->line;
        batch->sequence[0].length[i] = (int32_t)length;
        status = read_window(t, split, e, length, error);
        if (status == GSA_OK)
            put_window(t, batch, at, t->id, length, whole ? 0 : t->window - t->step[split]);
        at += length;
    }
    return status;
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale)
{
    const int32_t *labels =
        gsa_tape_upload(tape, batch->label, batch->targets * (int64_t)sizeof *batch->label);
    return labels ? gsa_op_smooth_entropy(tape, out, labels,
                                          ((const language_task *)self)->smoothing, scale)
                  : NULL;
}

/* A unit is a window; `found` counts what is a character or a byte. */
static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    const int words = ((const language_task *)self)->units.kind == GSA_TOKENS_WORDS;
    const int32_t *label = batch->label;
    for (int32_t e = 0; e < batch->count; e++, unit++) {
        for (int32_t i = 0; i < batch->sequence[0].length[e]; i++)
            unit->loss += *out++, unit->targets += *label++ >= 0;
        unit->examples = unit->targets, unit->found = words ? 0 : unit->targets;
    }
}

/* A row is a token of the text. */
static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, ((const language_task *)self)->stream[survey->split].tokens, 1,
                           error);
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    const int32_t *label = batch->label;
    for (int32_t e = 0; e < batch->count; e++) {
        const int64_t first = example[e] * ((const language_task *)self)->step[survey->split];
        for (int32_t i = 0; i < batch->sequence[0].length[e]; i++, out++)
            if (*label++ >= 0) survey->value[first + i] = *out;
    }
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    enum { PART = 1 << 14 };
    language_task *t = self;
    int32_t *id = gsa_alloc(t->system, (size_t)survey->rows, sizeof *id);
    gsa_status status = id ? GSA_OK : gsa_out_of_memory(error, "a report", survey->rows * 4);
    for (int64_t i = 0; i < survey->rows && status == GSA_OK; i += PART) {
        const int64_t left = survey->rows - i;
        status = gsa_stream_read(&t->stream[survey->split], &t->units, i, left < PART ? left : PART,
                                 id + i, error);
    }
    if (status == GSA_OK) status = gsa_report_surprises(survey, &t->units, id, object, error);
    gsa_release(t->system, id);
    return status;
}

/* Bits of a character or byte; perplexity of a word. */
static int metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    const int words = score->found < score->targets;
    const double mean = score->targets > 0 ? score->loss / (double)score->targets : 0;
    if (room < 1) return 0;
    facts[0] = (gsa_fact){ words ? "perplexity" : "bpc", words ? exp(mean) : mean / log(2) };
    return 1;
}

static void signature(const void *self, const gsa_recipe_values *values, char *text, size_t room)
{
    static const char *const units[] = {
        [GSA_TOKENS_WORDS] = "words", [GSA_TOKENS_CHARS] = "chars", [GSA_TOKENS_BYTES] = "bytes"
    };
    const language_task *t = self;
    (void)values;
    snprintf(text, room, "tokens:%s|window:%lld|context:%lld", units[t->units.kind],
             (long long)t->window, (long long)(t->window - t->step[GSA_SPLIT_DEV]));
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    const language_task *t = self;
    const gsa_status status = gsa_units_save(&t->units, checkpoint, error);
    return status == GSA_OK && t->blocks
               ? gsa_source_save(t->source[GSA_SPLIT_TRAIN], checkpoint, error)
               : status;
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const language_task *t = self;
    return gsa_facts_copy(facts, room, t->fact, t->facts);
}

/* ---- prediction: a line and its end are a text of their own -------------------------------- */

const gsa_units *gsa_language_units(const void *self)
{
    return &((const language_task *)self)->units;
}

gsa_status gsa_language_ids(const void *self, const char *text, int64_t bytes, int32_t **id,
                            int64_t *count, gsa_error *error)
{
    const language_task *t = self;
    gsa_slice unit;
    int64_t used = 0, room = bytes;
    *id = NULL, *count = 0;
    if (bytes == 0) return GSA_OK;
    int32_t *made =
        gsa_alloc(t->system, (size_t)room, sizeof *made); /* no token has less than a byte */
    if (!made) return gsa_out_of_memory(error, "the tokens of a text", room * 4);
    for (int64_t took; used < bytes; used += took) {
        took = gsa_unit_next(t->units.kind, text + used, bytes - used, 1, &unit);
        if (took < 0) {
            gsa_release(t->system, made);
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "the text is invalid UTF-8 or holds a NUL after byte %lld",
                            (long long)used);
        }
        if (unit.bytes > 0) made[(*count)++] = gsa_units_id(&t->units, unit);
    }
    *id = made;
    return GSA_OK;
}

gsa_status gsa_language_next(gsa_session *session, const int32_t *id, int32_t count, double *logits,
                             gsa_error *error)
{
    const language_task *t = session->self;
    gsa_minibatch *batch = &session->batch;
    batch->first = 0;
    gsa_status status =
        count > 0 ? begin(batch, 1, count, error)
                  : gsa_fail(error, GSA_ERR_ARGUMENT, "the next token comes after at least one");
    if (status != GSA_OK) return status;
    batch->sequence[0].length[0] = count;
    for (int32_t i = 0; i < count; i++) {
        batch->sequence[0].id[i] = id[i], batch->label[i] = -1;
        batch->sequence[0].text[i] = gsa_vocabulary_word(t->units.vocabulary, id[i]);
    }
    gsa_tape *tape = session->model.tape;
    gsa_tape_reset(tape, 0, 0, 0);
    gsa_tensor *out = gsa_op_view(tape, gsa_learner_forward(&session->model, batch), count - 1, 1);
    status = gsa_tape_status(tape, error);
    return status == GSA_OK ? gsa_tensor_read(session->backend, out, 0, logits, error) : status;
}

static gsa_status room_for_line(language_task *t, int64_t lines, int64_t tokens, gsa_error *error)
{
    int64_t *line = gsa_resize(t->system, t->line, (size_t)lines + 2, sizeof *line);
    if (line) t->line = line;
    int32_t *length =
        line ? gsa_resize(t->system, t->length[GSA_SPLIT_TEST], (size_t)lines + 1, sizeof *length)
             : NULL;
    if (length) t->length[GSA_SPLIT_TEST] = length;
    int32_t *given =
        length ? gsa_resize(t->system, t->given, (size_t)tokens + 1, sizeof *given) : NULL;
    if (given) t->given = given;
    return given ? GSA_OK : gsa_out_of_memory(error, "the lines", tokens * 4 + lines * 12);
}

static gsa_status add_line(language_task *t, const char *line, int64_t bytes, gsa_error *error)
{
    int32_t *id;
    int64_t count;
    const int64_t n = t->examples[GSA_SPLIT_TEST], first = t->line ? t->line[n] : 0;
    gsa_status status = gsa_language_ids(t, line, bytes, &id, &count, error);
    if (status == GSA_OK) status = room_for_line(t, n, first + count + 1, error);
    if (status == GSA_OK) {
        if (count) memcpy(t->given + first, id, (size_t)count * sizeof *id);
        if (t->units.line_end) t->given[first + count++] = t->units.line_end;
        t->line[n] = first, t->line[n + 1] = first + count;
        t->length[GSA_SPLIT_TEST][n] = (int32_t)count, t->examples[GSA_SPLIT_TEST] = n + 1;
    }
    gsa_release(t->system, id);
    return status;
}

static gsa_status parse_lines(language_task *t, const char *path, char *bytes, int64_t count,
                              gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(path, bytes, count);
    gsa_status status = GSA_OK;
    int64_t longest = 0;
    char *line;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        if (t->units.kind != GSA_TOKENS_BYTES) status = gsa_lines_check(&lines, line, count, error);
        if (status == GSA_OK && count >= gsa_index_most)
            status = gsa_fail(error, GSA_ERR_LIMIT, "%s:%lld: the line has %lld bytes", path,
                              (long long)lines.number, (long long)count);
        if (status == GSA_OK) status = add_line(t, line, count, error);
        if (count + 1 > longest) longest = count + 1;
    }
    gsa_release(t->system, t->id);
    t->id = gsa_alloc(t->system, (size_t)longest + 1, sizeof *t->id);
    if (status == GSA_OK && !t->id) status = gsa_out_of_memory(error, "a line", longest * 4);
    return status;
}

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    language_task *t = self;
    char *bytes;
    int64_t count;
    gsa_status status = gsa_read_file(t->system, path, INT64_C(1) << 36, &bytes, &count, error);
    if (status != GSA_OK) return status;
    t->examples[GSA_SPLIT_TEST] = 0;
    status = parse_lines(t, gsa_input_name(path), bytes, count, error);
    gsa_release(t->system, bytes);
    return status;
}

static gsa_status read_text(void *self, const char *text, gsa_error *error)
{
    language_task *t = self;
    const int64_t bytes = (int64_t)strlen(text);
    char *copy = gsa_copy_text(t->system, text);
    t->examples[GSA_SPLIT_TEST] = 0;
    if (!copy) return gsa_out_of_memory(error, "the text", bytes);
    for (char *c = copy; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    const gsa_status status =
        bytes > 0 ? parse_lines(t, "the text", copy, bytes, error)
                  : gsa_fail(error, GSA_ERR_ARGUMENT, "the text is empty: it holds no token");
    gsa_release(t->system, copy);
    return status;
}

/* log2 p of the line and its end, and bits a token of it. */
static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    (void)self;
    for (int32_t e = 0; e < batch->count; e++) {
        const int32_t length = batch->sequence[0].length[e];
        double bits = 0;
        for (int32_t i = 0; i < length; i++) bits += out[i] / log(2);
        gsa_output_format(output, "%.6f\t%.6f\n", gsa_shown(length ? -bits : 0),
                          gsa_shown(length ? bits / length : 0));
        out += length;
    }
}

const gsa_task gsa_task_language_modelling = {
    .name = "language_modelling",
    .by_row = 1,
    .metric = "loss",
    .surprise = 1,
    .check = check,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .targets = targets,
    .fill = fill,
    .loss = loss,
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
    .read_text = read_text,
    .blocks = blocks_of,
};
