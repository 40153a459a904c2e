/* text_classification.c - one label a text. */
#include <stdio.h>
#include <string.h>
#include "train/score/baseline.h"
#include "train/driver/batches.h"
#include "train/tasks/classes.h"
#include "train/learner.h"
#include "train/score/report.h"
#include "train/data/sample.h"
#include "train/vocabulary/wordbook.h"

enum { PATH = 4096, FACTS = 3, SLOT = GSA_SPLITS, TEXTS = SLOT + 2 }; /* SLOT: blocks.h has two */

typedef struct text_task {
    const gsa_system *system;
    gsa_text_options options;
    gsa_text text[TEXTS];
    int32_t *length[TEXTS], *label[TEXTS], *id[TEXTS];
    gsa_blocks blocks; /* of the training data with data.stream, whose text is then empty */
    gsa_labels labels;
    gsa_wordbook words;
    int32_t facts;
    gsa_fact fact[FACTS];
} text_task;

static void release_split(text_task *t, int s)
{
    gsa_release(t->system, t->length[s]);
    gsa_release(t->system, t->label[s]);
    gsa_release(t->system, t->id[s]);
    gsa_text_release(&t->text[s]);
    t->length[s] = t->label[s] = t->id[s] = NULL;
}

static void destroy(void *self)
{
    text_task *t = self;
    for (int s = 0; s < TEXTS; s++) release_split(t, s);
    gsa_blocks_release(&t->blocks);
    gsa_labels_release(&t->labels);
    gsa_wordbook_release(&t->words);
    gsa_release(t->system, t);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int same_example(const gsa_text *text, int64_t a, int64_t b)
{
    const int64_t count = text->offset[a + 1] - text->offset[a];
    if (count != text->offset[b + 1] - text->offset[b] ||
        gsa_slice_compare(text->label[a], text->label[b]) != 0)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (gsa_slice_compare(text->token[text->offset[a] + i], text->token[text->offset[b] + i]) !=
            0)
            return 0;
    return 1;
}

static uint64_t hash_of(const gsa_text *text, int64_t e)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = text->offset[e] - 1; i < text->offset[e + 1]; i++) {
        const gsa_slice word = i < text->offset[e] ? text->label[e] : text->token[i];
        for (int64_t b = 0; b < word.bytes; b++)
            h = (h ^ (unsigned char)word.at[b]) * UINT64_C(0x100000001b3);
        h = (h ^ 0x1f) * UINT64_C(0x100000001b3);
    }
    return h;
}

static gsa_status drop_repeated(gsa_text *text, gsa_error *error)
{
    gsa_keyed *keyed = gsa_alloc(text->system, (size_t)text->examples, sizeof *keyed);
    uint8_t *drop = gsa_alloc_zero(text->system, (size_t)text->examples, 1);
    const int whole = keyed && drop;
    for (int64_t e = 0; whole && e < text->examples; e++)
        keyed[e] = (gsa_keyed){ hash_of(text, e), e };
    if (whole) gsa_sort_keyed(keyed, text->examples);
    for (int64_t i = 1; whole && i < text->examples; i++) /* equal hashes are in order of lines */
        drop[keyed[i].value] = keyed[i].key == keyed[i - 1].key &&
                               same_example(text, keyed[i].value, keyed[i - 1].value);
    if (whole) gsa_text_compact(text, drop);
    const gsa_status status =
        whole ? GSA_OK : gsa_out_of_memory(error, text->path, text->examples * 17);
    gsa_release(text->system, keyed);
    gsa_release(text->system, drop);
    return status;
}

/* How the training data writes marks is how every text of the model is read; it goes into the
 * configuration. */
static void settle_escapes(text_task *t, const gsa_task_options *o, int32_t format)
{
    gsa_recipe_values *v = &o->recipe->values;
    if (v->data_escapes == GSA_ESCAPES_AUTO) v->data_escapes = gsa_text_format_escapes(format);
    t->options.escapes = (int32_t)v->data_escapes;
}

static gsa_status check_longest(const gsa_recipe_values *v, const char *path, int32_t longest,
                                gsa_error *error)
{
    if (v->model_position != GSA_POSITION_LEARNED || longest <= v->model_position_max)
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s: the longest example has %d tokens, model.position_max is %lld: set "
                    "data.max_length or a larger model.position_max",
                    path, longest, (long long)v->model_position_max);
}

static gsa_status read_split(text_task *t, const gsa_task_options *o, int split, gsa_error *error)
{
    char sentence[PATH + 384], skipped[96] = "", cut[GSA_CUT_ROOM];
    const gsa_recipe_values *v = &o->recipe->values;
    const char *path;
    gsa_sample sample;
    gsa_text *text = &t->text[split];
    gsa_text_options options = t->options;
    if (!(o->splits >> split & 1)) return GSA_OK;
    gsa_sample_of(v, split, &path, &sample);
    if (!*path) {
        if (split != GSA_SPLIT_TRAIN) return GSA_OK;
        return gsa_recipe_no_train(o->recipe, error);
    }
    if (split == GSA_SPLIT_TRAIN && v->data_stream)
        return gsa_blocks_open(t->system, path, v->data_stream, &t->blocks, error);
    options.subtrees = split == GSA_SPLIT_TRAIN && options.subtrees;
    gsa_status status = gsa_text_read(t->system, path, &options, text, error);
    if (status == GSA_OK && split == GSA_SPLIT_TRAIN) settle_escapes(t, o, text->format);
    if (status == GSA_OK && options.subtrees && text->format != GSA_TEXT_SST)
        status = gsa_recipe_fail(o->recipe, "data", "subtrees", error,
                                 "= 1: %s is read as %s, whose texts are no trees", path,
                                 gsa_text_format_name(text->format));
    if (status == GSA_OK) status = gsa_sample_take(&sample, &text, 1, error);
    if (status == GSA_OK && split == GSA_SPLIT_TRAIN && v->data_unique)
        status = drop_repeated(text, error);
    if (status != GSA_OK) return status;
    if (text->skipped > 0)
        snprintf(skipped, sizeof skipped, "; %lld without a token are skipped",
                 (long long)text->skipped);
    snprintf(sentence, sizeof sentence,
             "%s: %s, read as %s: %lld examples, %lld tokens, the longest %d%s%s",
             gsa_split_name(split), path, gsa_text_format_name(text->format),
             (long long)text->examples, (long long)text->tokens, text->longest, skipped,
             gsa_text_say_cut(text->cut, v->data_max_length, cut));
    o->say(o->context, sentence);
    return check_longest(v, path, text->longest, error);
}

/* ---- blocks -------------------------------------------------------------------------------- */

typedef struct counting {
    text_task *task;
    const gsa_task_options *options;
    gsa_vocabulary *labels;
} counting;

static gsa_status read_block(text_task *t, int slot, const gsa_block *block, gsa_error *error)
{
    gsa_text *text = &t->text[SLOT + slot];
    release_split(t, SLOT + slot);
    const gsa_status status = gsa_text_block(t->system, block, &t->options, text, error);
    if (t->options.format == GSA_TEXT_AUTO) t->options.format = text->format;
    return status;
}

/* What a block's words and labels are; once. */
static gsa_status count_block(void *context, int slot, const gsa_block *block, int64_t *examples,
                              const int32_t **length, gsa_error *error)
{
    const counting *c = context;
    text_task *t = c->task;
    gsa_text *text = &t->text[SLOT + slot];
    gsa_status status = read_block(t, slot, block, error);
    *examples = 0, *length = NULL;
    if (status == GSA_OK) settle_escapes(t, c->options, text->format);
    for (int64_t e = 0; e < text->examples && status == GSA_OK; e++)
        status = gsa_vocabulary_add(c->labels, text->label[e], 1, error);
    if (status == GSA_OK) status = gsa_wordbook_count(&t->words, text, GSA_WORDS_COUNTED, error);
    return status == GSA_OK
               ? check_longest(&c->options->recipe->values, block->path, text->longest, error)
               : status;
}

static gsa_status number_tokens(text_task *t, int split, gsa_error *error);
static gsa_status take_block(void *task, int slot, const gsa_block *block, int64_t *examples,
                             const int32_t **length, gsa_error *error)
{
    text_task *t = task;
    const gsa_text *text = &t->text[SLOT + slot];
    gsa_status status = read_block(t, slot, block, error);
    if (status == GSA_OK) status = number_tokens(t, SLOT + slot, error);
    if (status == GSA_OK) status = gsa_labels_map(&t->labels, text, t->label[SLOT + slot], error);
    *examples = text->examples, *length = t->length[SLOT + slot];
    return status;
}

/* ---- labels, words, vectors ---------------------------------------------------------------- */

static gsa_status learn_blocks(text_task *t, const gsa_task_options *o,
                               const gsa_text *const *others, gsa_error *error)
{
    counting c = { t, o, NULL };
    gsa_status status = gsa_wordbook_begin(t->system, o->recipe, &t->words, error);
    if (status == GSA_OK) status = gsa_vocabulary_create(t->system, &c.labels, error);
    if (status == GSA_OK) status = gsa_blocks_pass(&t->blocks, count_block, &c, error);
    if (status == GSA_OK)
        status = gsa_labels_counted(t->system, c.labels, o->recipe->values.data_train,
                                    o->recipe->values.data_classes, &t->labels, error);
    gsa_vocabulary_release(c.labels);
    return status == GSA_OK ? gsa_wordbook_end(&t->words, o->recipe, others, GSA_SPLITS - 1, error)
                            : status;
}

static gsa_status learn(text_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_text *const texts[] = { &t->text[GSA_SPLIT_TRAIN], &t->text[GSA_SPLIT_DEV],
                                      &t->text[GSA_SPLIT_TEST] };
    if (t->blocks.count) return learn_blocks(t, o, texts + 1, error);
    const gsa_status status = gsa_labels_learn(&t->text[GSA_SPLIT_TRAIN],
                                               o->recipe->values.data_classes, &t->labels, error);
    if (status != GSA_OK) return status;
    return gsa_wordbook_learn(t->system, o->recipe, texts, GSA_SPLITS, 1, &t->words, error);
}

static gsa_status restore(text_task *t, const gsa_task_options *o, gsa_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/labels.txt", o->checkpoint);
    const gsa_status status = gsa_labels_read(t->system, path, &t->labels, error);
    return status == GSA_OK
               ? gsa_wordbook_restore(t->system, o->recipe, o->checkpoint, &t->words, error)
               : status;
}

static gsa_status number_tokens(text_task *t, int split, gsa_error *error)
{
    const gsa_text *text = &t->text[split];
    if (text->examples == 0) return GSA_OK;
    t->label[split] = gsa_alloc(t->system, (size_t)text->examples, sizeof(int32_t));
    if (!t->label[split]) return gsa_out_of_memory(error, text->path, text->examples * 4);
    return gsa_wordbook_number(&t->words, text, &t->id[split], &t->length[split], error);
}

static gsa_labelled view(const text_task *t, int split)
{
    return (gsa_labelled){ t->text[split].examples, t->text[split].offset, t->text[split].token,
                           t->label[split] };
}

static gsa_status measure_baselines(text_task *t, const gsa_task_options *o, gsa_error *error)
{
    char sentence[256];
    double majority, unigrams, bigrams;
    const gsa_labelled train = view(t, GSA_SPLIT_TRAIN), dev = view(t, GSA_SPLIT_DEV);
    if (train.examples == 0 || dev.examples == 0) return GSA_OK;
    gsa_status status =
        gsa_majority_accuracy(t->system, &train, &dev, t->labels.count, &majority, error);
    if (status != GSA_OK) return status;
    status = gsa_bayes_accuracy(t->system, &train, &dev, t->labels.count, 0, &unigrams, error);
    if (status == GSA_OK)
        status = gsa_bayes_accuracy(t->system, &train, &dev, t->labels.count, 1, &bigrams, error);
    t->fact[0] = (gsa_fact){ "majority_accuracy", majority };
    t->facts = 1;
    if (status == GSA_ERR_LIMIT) return o->say(o->context, error->text), GSA_OK;
    if (status != GSA_OK) return status;
    t->fact[1] = (gsa_fact){ "bayes_accuracy", unigrams };
    t->fact[2] = (gsa_fact){ "bayes_bigram_accuracy", bigrams };
    t->facts = FACTS;
    const int phrases = t->text[GSA_SPLIT_TRAIN].format == GSA_TEXT_SST && t->options.subtrees;
    snprintf(sentence, sizeof sentence,
             "baselines on dev, from the %lld training %s: majority class %.4f, naive Bayes on "
             "unigrams %.4f, on unigrams "
             "and bigrams %.4f",
             (long long)train.examples, phrases ? "phrases" : "examples", majority, unigrams,
             bigrams);
    o->say(o->context, sentence);
    return GSA_OK;
}

static gsa_status fill_task(text_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = read_split(t, o, s, error);
    if (status == GSA_OK) status = o->checkpoint ? restore(t, o, error) : learn(t, o, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        status = number_tokens(t, s, error);
        if (status == GSA_OK) status = gsa_labels_map(&t->labels, &t->text[s], t->label[s], error);
    }
    if (status == GSA_OK && t->blocks.count)
        status = gsa_blocks_number(&t->blocks, o, take_block, t, error);
    return status == GSA_OK ? measure_baselines(t, o, error) : status;
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    text_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system;
    t->options = gsa_sample_options(v);
    const gsa_status status = fill_task(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    const text_task *t = self;
    return split == GSA_SPLIT_TRAIN && t->blocks.count ? gsa_blocks_examples(&t->blocks)
                                                       : t->text[split].examples;
}

static const int32_t *lengths(const void *self, int split)
{
    const text_task *t = self;
    return split == GSA_SPLIT_TRAIN && t->blocks.count ? t->blocks.length : t->length[split];
}

static const int64_t *blocks_of(const void *self, int64_t *blocks)
{
    const text_task *t = self;
    *blocks = t->blocks.count;
    return t->blocks.first;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    const text_task *t = self;
    (void)options, (void)error;
    *plan = (gsa_task_plan){ .sequence = { "text" },
                             .pass = { { .stack = "encoder", .sequence = "text" } },
                             .n_sequences = 1,
                             .n_passes = 1,
                             .input = { gsa_wordbook_input(&t->words) },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SUMMARY } },
                             .n_stacks = 1,
                             .outputs = t->labels.count };
    return GSA_OK;
}

static gsa_status prepare(void *self, gsa_learner *learner, gsa_error *error)
{
    return gsa_wordbook_prepare(&((text_task *)self)->words, learner->input[0], learner->backend,
                                error);
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const text_task *t = self;
    int64_t first = 0;
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK && count)
        status = gsa_blocks_find(&t->blocks, example[0], &split, &first, error);
    if (status == GSA_OK)
        status = gsa_wordbook_fill(batch, 0, example, first, &t->text[split], t->id[split],
                                   t->length[split], error);
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, count, 0, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++)
        batch->label[i] = t->label[split][example[i] - first];
    return status;
}

/* Labels are numbered by those of the training data. */
static void gold(const void *self, int split, int64_t example, gsa_sha256 *hash)
{
    int64_t first;
    const text_task *t = self;
    if (gsa_blocks_find(&t->blocks, example, &split, &first, NULL) == GSA_OK)
        gsa_gold_add(hash, &t->text[split].label[example - first], 1);
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    gsa_classes_score(out, ((const text_task *)self)->labels.count, -1, batch, NULL, unit);
}

static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, examples(self, survey->split), 0, error);
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    gsa_classes_observe(out, ((const text_task *)self)->labels.count, batch, example, survey);
}

static void describe(const void *self, int split, int64_t row, json_t *object)
{
    const text_task *t = self;
    int64_t block;
    if (gsa_blocks_find(&t->blocks, row, &split, &block, NULL) != GSA_OK) return;
    const gsa_text *text = &t->text[split];
    row -= block;
    const int64_t first = text->offset[row];
    json_object_set_new(object, "line", json_integer(text->line[row]));
    json_object_set_new(object, "text",
                        gsa_json_words(text->token + first, text->offset[row + 1] - first));
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    const gsa_labels *labels = &((text_task *)self)->labels;
    return gsa_report_classes(survey, labels->name, labels->count, 1,
                              &(gsa_row_teller){ self, describe }, object, error);
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    const text_task *t = self;
    gsa_status status = gsa_labels_write(&t->labels, checkpoint, error);
    if (status == GSA_OK) status = gsa_wordbook_save(&t->words, checkpoint, error);
    return status == GSA_OK && t->blocks.count
               ? gsa_source_save(t->blocks.source, checkpoint, error)
               : status;
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const text_task *t = self;
    return gsa_facts_copy(facts, room, t->fact, t->facts);
}

/* The test split holds texts without a label. */
static gsa_status number_unlabelled(text_task *t, gsa_error *error)
{
    const gsa_status status = number_tokens(t, GSA_SPLIT_TEST, error);
    for (int64_t e = 0; e < t->text[GSA_SPLIT_TEST].examples && status == GSA_OK; e++)
        t->label[GSA_SPLIT_TEST][e] = -1;
    return status;
}

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    text_task *t = self;
    gsa_text_options options = t->options;
    options.unlabelled = 1;
    release_split(t, GSA_SPLIT_TEST);
    const gsa_status status =
        gsa_text_read(t->system, path, &options, &t->text[GSA_SPLIT_TEST], error);
    return status == GSA_OK ? number_unlabelled(t, error) : status;
}

/* A file with labels is no file of texts, and nothing else would say so. */
static void read_as(const void *self, char *sentence, size_t room)
{
    const gsa_text *text = &((const text_task *)self)->text[GSA_SPLIT_TEST];
    *sentence = 0;
    if (text->alike > 0)
        snprintf(
            sentence, room,
            "note: %lld of the %lld lines have the training data's form (%s): each whole line, "
            "its label too, is read as text",
            (long long)text->alike, (long long)text->examples, gsa_text_format_name(text->format));
}

static gsa_status read_text(void *self, const char *text, gsa_error *error)
{
    text_task *t = self;
    release_split(t, GSA_SPLIT_TEST);
    const gsa_status status =
        gsa_text_take(t->system, "the text", text, &t->options, &t->text[GSA_SPLIT_TEST], error);
    return status == GSA_OK ? number_unlabelled(t, error) : status;
}

static const gsa_labels *labels_of(const void *self)
{
    return &((const text_task *)self)->labels;
}

static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    gsa_classes_print(&((const text_task *)self)->labels, out, batch->targets, output);
}

const gsa_task gsa_task_text_classification = {
    .name = "text_classification",
    .by_row = 1,
    .metric = "accuracy",
    .rising = 1,
    .check = gsa_sample_check,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .prepare = prepare,
    .fill = fill,
    .loss = gsa_classes_loss,
    .gold = gold,
    .score = score,
    .survey = survey,
    .observe = observe,
    .findings = findings,
    .signature = gsa_wordbook_signature,
    .save = save,
    .facts = facts,
    .read_lines = read_lines,
    .read_as = read_as,
    .print = print,
    .labels = labels_of,
    .read_text = read_text,
    .blocks = blocks_of,
};
