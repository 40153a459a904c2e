/* sentence_pairs.c - one label a pair of sentences. Both are read by the same encoder, and the head
 * sees (Guo et al. 2019, section 4.4)
 *   difference   [r_a, r_b, |r_a - r_b|, r_a - r_b]
 *   product      [r_a, r_b, |r_a - r_b|, r_a r_b]
 *   both         [r_a, r_b]                              (Ye et al. 2019)
 * An encoder with cross phases reads of each sentence the other as it is after the layers
 * before those phases: bpt*3,bpt+cross*3 (Ye et al. 2019, section 4.1). */
#include <stdio.h>
#include <string.h>
#include "train/score/baseline.h"
#include "train/tasks/classes.h"
#include "train/learner.h"
#include "train/score/report.h"
#include "train/data/pairs.h"
#include "train/data/sample.h"
#include "train/vocabulary/wordbook.h"

enum { PATH = 4096, FACTS = 2, PARTS = 4, SLOT = GSA_SPLITS, TEXTS = SLOT + 2 }; /* blocks.h */

typedef struct pair_task {
    const gsa_system *system;
    gsa_text_options options;
    const char *columns;
    gsa_pairs pairs[TEXTS];
    int32_t *length[TEXTS][2], *both[TEXTS], *label[TEXTS], *id[TEXTS][2]; /* both: their sum */
    gsa_blocks blocks; /* of the training data with data.stream, whose pairs are then none */
    gsa_labels labels;
    gsa_wordbook words;
    int32_t features, facts; /* features: gsa_features */
    gsa_fact fact[FACTS];
} pair_task;

static void release_split(pair_task *t, int s)
{
    for (int k = 0; k < 2; k++) {
        gsa_release(t->system, t->length[s][k]);
        gsa_release(t->system, t->id[s][k]);
        t->length[s][k] = t->id[s][k] = NULL;
    }
    gsa_release(t->system, t->both[s]);
    gsa_release(t->system, t->label[s]);
    t->both[s] = t->label[s] = NULL;
    gsa_pairs_release(&t->pairs[s]);
}

static void destroy(void *self)
{
    pair_task *t = self;
    for (int s = 0; s < TEXTS; s++) release_split(t, s);
    gsa_blocks_release(&t->blocks);
    gsa_labels_release(&t->labels);
    gsa_wordbook_release(&t->words);
    gsa_release(t->system, t);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int32_t longest(const gsa_pairs *pairs)
{
    return pairs->side[0].longest > pairs->side[1].longest ? pairs->side[0].longest
                                                           : pairs->side[1].longest;
}

static void tell(const pair_task *t, const gsa_task_options *o, int split, const char *path)
{
    char sentence[PATH + 384], skipped[96] = "", empty[96] = "", cut[GSA_CUT_ROOM];
    const gsa_pairs *pairs = &t->pairs[split];
    if (pairs->skipped > 0)
        snprintf(skipped, sizeof skipped, "; %lld without a label ('-') are skipped",
                 (long long)pairs->skipped);
    if (pairs->side[0].skipped > 0)
        snprintf(empty, sizeof empty, "; %lld without a token are skipped",
                 (long long)pairs->side[0].skipped);
    snprintf(sentence, sizeof sentence,
             "%s: %s, read as %s: %lld pairs, %lld tokens, the longest sentence %d%s%s%s",
             gsa_split_name(split), path, gsa_text_format_name(pairs->format),
             (long long)pairs->side[0].examples,
             (long long)(pairs->side[0].tokens + pairs->side[1].tokens), longest(pairs), skipped,
             empty,
             gsa_text_say_cut(pairs->side[0].cut + pairs->side[1].cut,
                              o->recipe->values.data_max_length, cut));
    o->say(o->context, sentence);
}

static gsa_status check_longest(const gsa_recipe_values *v, const char *path, int32_t tokens,
                                gsa_error *error)
{
    if (v->model_position != GSA_POSITION_LEARNED || tokens <= v->model_position_max) return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s: the longest sentence has %d tokens, model.position_max is %lld: set "
                    "data.max_length or a larger "
                    "model.position_max",
                    path, tokens, (long long)v->model_position_max);
}

static gsa_status read_split(pair_task *t, const gsa_task_options *o, int split, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    gsa_pairs *pairs = &t->pairs[split];
    const char *path;
    gsa_sample sample;
    if (!(o->splits >> split & 1)) return GSA_OK;
    gsa_sample_of(v, split, &path, &sample);
    if (!*path) {
        if (split != GSA_SPLIT_TRAIN) return GSA_OK;
        return gsa_recipe_no_train(o->recipe, error);
    }
    if (split == GSA_SPLIT_TRAIN && v->data_stream)
        return gsa_blocks_open(t->system, path, v->data_stream, &t->blocks, error);
    gsa_status status = gsa_pairs_read(t->system, path, &t->options, t->columns, pairs, error);
    if (status == GSA_OK)
        status =
            gsa_sample_take(&sample, (gsa_text *[]){ &pairs->side[0], &pairs->side[1] }, 2, error);
    if (status != GSA_OK) return status;
    tell(t, o, split, path);
    return check_longest(v, path, longest(pairs), error);
}

/* ---- blocks -------------------------------------------------------------------------------- */

typedef struct counting {
    pair_task *task;
    const gsa_recipe_values *values;
    gsa_vocabulary *labels;
} counting;

static gsa_status read_block(pair_task *t, int slot, const gsa_block *block, gsa_error *error)
{
    gsa_pairs *pairs = &t->pairs[SLOT + slot];
    release_split(t, SLOT + slot);
    const gsa_status status =
        gsa_pairs_block(t->system, block, &t->options, t->columns, pairs, error);
    if (t->options.format == GSA_TEXT_AUTO) t->options.format = pairs->format;
    return status;
}

/* Words and labels of a block; once. */
static gsa_status count_block(void *context, int slot, const gsa_block *block, int64_t *examples,
                              const int32_t **length, gsa_error *error)
{
    const counting *c = context;
    pair_task *t = c->task;
    const gsa_text *side = t->pairs[SLOT + slot].side;
    gsa_status status = read_block(t, slot, block, error);
    *examples = 0, *length = NULL;
    for (int64_t e = 0; e < side[0].examples && status == GSA_OK; e++)
        status = gsa_vocabulary_add(c->labels, side[0].label[e], 1, error);
    for (int k = 0; k < 2 && status == GSA_OK; k++)
        status = gsa_wordbook_count(&t->words, &side[k], GSA_WORDS_COUNTED, error);
    return status == GSA_OK
               ? check_longest(c->values, block->path, longest(&t->pairs[SLOT + slot]), error)
               : status;
}

static gsa_status number_tokens(pair_task *t, int split, gsa_error *error);
static gsa_status take_block(void *task, int slot, const gsa_block *block, int64_t *examples,
                             const int32_t **length, gsa_error *error)
{
    pair_task *t = task;
    const gsa_text *side = t->pairs[SLOT + slot].side;
    gsa_status status = read_block(t, slot, block, error);
    if (status == GSA_OK) status = number_tokens(t, SLOT + slot, error);
    if (status == GSA_OK)
        status = gsa_labels_map(&t->labels, &side[0], t->label[SLOT + slot], error);
    *examples = side[0].examples, *length = t->both[SLOT + slot];
    return status;
}

/* ---- labels, words ------------------------------------------------------------------------- */

static gsa_status learn_blocks(pair_task *t, const gsa_task_options *o,
                               const gsa_text *const *others, gsa_error *error)
{
    counting c = { t, &o->recipe->values, NULL };
    gsa_status status = gsa_wordbook_begin(t->system, o->recipe, &t->words, error);
    if (status == GSA_OK) status = gsa_vocabulary_create(t->system, &c.labels, error);
    if (status == GSA_OK) status = gsa_blocks_pass(&t->blocks, count_block, &c, error);
    if (status == GSA_OK)
        status = gsa_labels_counted(t->system, c.labels, c.values->data_train,
                                    c.values->data_classes, &t->labels, error);
    gsa_vocabulary_release(c.labels);
    return status == GSA_OK
               ? gsa_wordbook_end(&t->words, o->recipe, others, 2 * GSA_SPLITS - 2, error)
               : status;
}

static gsa_status learn(pair_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_text *texts[2 * GSA_SPLITS];
    for (int i = 0; i < 2 * GSA_SPLITS; i++) texts[i] = &t->pairs[i / 2].side[i % 2];
    if (t->blocks.count) return learn_blocks(t, o, texts + 2, error);
    const gsa_status status =
        gsa_labels_learn(texts[0], o->recipe->values.data_classes, &t->labels, error);
    if (status != GSA_OK) return status;
    return gsa_wordbook_learn(t->system, o->recipe, texts, 2 * GSA_SPLITS, 2, &t->words, error);
}

static gsa_status restore(pair_task *t, const gsa_task_options *o, gsa_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/labels.txt", o->checkpoint);
    const gsa_status status = gsa_labels_read(t->system, path, &t->labels, error);
    return status == GSA_OK
               ? gsa_wordbook_restore(t->system, o->recipe, o->checkpoint, &t->words, error)
               : status;
}

static gsa_status number_tokens(pair_task *t, int split, gsa_error *error)
{
    const gsa_pairs *pairs = &t->pairs[split];
    const int64_t examples = pairs->side[0].examples;
    gsa_status status = GSA_OK;
    if (examples == 0) return GSA_OK;
    t->label[split] = gsa_alloc(t->system, (size_t)examples, sizeof(int32_t));
    t->both[split] = gsa_alloc(t->system, (size_t)examples, sizeof(int32_t));
    if (!t->label[split] || !t->both[split])
        return gsa_out_of_memory(error, pairs->side[0].path, examples * 8);
    for (int k = 0; k < 2 && status == GSA_OK; k++)
        status = gsa_wordbook_number(&t->words, &pairs->side[k], &t->id[split][k],
                                     &t->length[split][k], error);
    for (int64_t e = 0; e < examples && status == GSA_OK; e++) {
        const int64_t sum = (int64_t)t->length[split][0][e] + t->length[split][1][e];
        t->both[split][e] = (int32_t)(sum < INT32_MAX ? sum : INT32_MAX);
    }
    return status;
}

/* The majority class, and naive Bayes on sentence b alone: what the labels say without the pair
 * (Gururangan et al. 2018). */
static gsa_status measure_baselines(pair_task *t, const gsa_task_options *o, gsa_error *error)
{
    char sentence[256];
    double majority, bayes;
    const gsa_text *train = &t->pairs[GSA_SPLIT_TRAIN].side[1],
                   *dev = &t->pairs[GSA_SPLIT_DEV].side[1];
    const gsa_labelled from = { train->examples, train->offset, train->token,
                                t->label[GSA_SPLIT_TRAIN] };
    const gsa_labelled to = { dev->examples, dev->offset, dev->token, t->label[GSA_SPLIT_DEV] };
    if (from.examples == 0 || to.examples == 0) return GSA_OK;
    gsa_status status =
        gsa_majority_accuracy(t->system, &from, &to, t->labels.count, &majority, error);
    if (status != GSA_OK) return status;
    status = gsa_bayes_accuracy(t->system, &from, &to, t->labels.count, 0, &bayes, error);
    t->fact[0] = (gsa_fact){ "majority_accuracy", majority };
    t->facts = 1;
    if (status == GSA_ERR_LIMIT) return o->say(o->context, error->text), GSA_OK;
    if (status != GSA_OK) return status;
    t->fact[1] = (gsa_fact){ "bayes_b_accuracy", bayes };
    t->facts = FACTS;
    snprintf(sentence, sizeof sentence,
             "baselines on dev, from the %lld training pairs: majority class %.4f, naive Bayes on "
             "sentence b alone %.4f",
             (long long)from.examples, majority, bayes);
    o->say(o->context, sentence);
    return GSA_OK;
}

static gsa_status fill_task(pair_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = read_split(t, o, s, error);
    if (status == GSA_OK) status = o->checkpoint ? restore(t, o, error) : learn(t, o, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        status = number_tokens(t, s, error);
        if (status == GSA_OK)
            status = gsa_labels_map(&t->labels, &t->pairs[s].side[0], t->label[s], error);
    }
    if (status == GSA_OK && t->blocks.count)
        status = gsa_blocks_number(&t->blocks, o, take_block, t, error);
    return status == GSA_OK ? measure_baselines(t, o, error) : status;
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    pair_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system, t->columns = v->data_columns;
    t->features = (int32_t)v->task_features;
    t->options = gsa_sample_options(v);
    const gsa_status status = fill_task(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    const pair_task *t = self;
    return split == GSA_SPLIT_TRAIN && t->blocks.count ? gsa_blocks_examples(&t->blocks)
                                                       : t->pairs[split].side[0].examples;
}

static const int32_t *lengths(const void *self, int split)
{
    const pair_task *t = self;
    return split == GSA_SPLIT_TRAIN && t->blocks.count ? t->blocks.length : t->both[split];
}

static const int64_t *blocks_of(const void *self, int64_t *blocks)
{
    const pair_task *t = self;
    *blocks = t->blocks.count;
    return t->blocks.first;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *o, gsa_task_plan *plan,
                       gsa_error *error)
{
    const pair_task *t = self;
    const int after = o->memory_layer;
    (void)error;
    *plan = (gsa_task_plan){ .sequence = { "a", "b" },
                             .pass = { { .name = "a", .stack = "encoder", .sequence = "a" },
                                       { .name = "b", .stack = "encoder", .sequence = "b" } },
                             .n_sequences = 2,
                             .n_passes = 2,
                             .input = { gsa_wordbook_input(&t->words) },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SUMMARY } },
                             .n_stacks = 1,
                             .head_inputs = t->features == GSA_FEATURES_BOTH ? 2 : PARTS,
                             .outputs = t->labels.count };
    if (after > 0) {
        plan->pass[0].memory = "b", plan->pass[1].memory = "a";
        plan->pass[0].memory_after = plan->pass[1].memory_after = after;
    }
    return GSA_OK;
}

static gsa_status prepare(void *self, gsa_learner *learner, gsa_error *error)
{
    return gsa_wordbook_prepare(&((pair_task *)self)->words, learner->input[0], learner->backend,
                                error);
}

static gsa_tensor *features(const void *self, gsa_tape *tape, const gsa_readout *readouts)
{
    const int32_t kind = ((const pair_task *)self)->features;
    gsa_tensor *ab[] = { readouts[0].summary, readouts[1].summary };
    if (kind == GSA_FEATURES_BOTH) return gsa_op_beside(tape, ab, 2);
    gsa_tensor *less = gsa_op_combine(tape, ab, (const double[]){ 1, -1 }, 2); /* a - b */
    gsa_tensor *more = gsa_op_combine(tape, ab, (const double[]){ -1, 1 }, 2);
    gsa_tensor *apart = gsa_op_add(tape, gsa_op_activate(tape, less, GSA_RELU),
                                   gsa_op_activate(tape, more, GSA_RELU));
    gsa_tensor *last = kind == GSA_FEATURES_PRODUCT ? gsa_op_multiply(tape, ab[0], ab[1]) : less;
    return gsa_op_beside(tape, (gsa_tensor *[]){ ab[0], ab[1], apart, last }, PARTS);
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const pair_task *t = self;
    int64_t first = 0;
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK && count)
        status = gsa_blocks_find(&t->blocks, example[0], &split, &first, error);
    for (int side = 0; side < 2 && status == GSA_OK; side++)
        status = gsa_wordbook_fill(batch, side, example, first, &t->pairs[split].side[side],
                                   t->id[split][side], t->length[split][side], error);
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, count, 0, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++)
        batch->label[i] = t->label[split][example[i] - first];
    return status;
}

/* Labels are numbered by those of the training data. */
static void gold(const void *self, int split, int64_t example, gsa_sha256 *hash)
{
    int64_t first;
    const pair_task *t = self;
    if (gsa_blocks_find(&t->blocks, example, &split, &first, NULL) == GSA_OK)
        gsa_gold_add(hash, &t->pairs[split].side[0].label[example - first], 1);
}

/* Of two classes the second in order of bytes is the positive one: 1 of 0 and 1. */
static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    const int32_t classes = ((const pair_task *)self)->labels.count;
    gsa_classes_score(out, classes, classes == 2 ? 1 : -1, batch, NULL, unit);
}

static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, examples(self, survey->split), 0, error);
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    gsa_classes_observe(out, ((const pair_task *)self)->labels.count, batch, example, survey);
}

static void describe(const void *self, int split, int64_t row, json_t *object)
{
    int64_t first;
    const pair_task *t = self;
    if (gsa_blocks_find(&t->blocks, row, &split, &first, NULL) != GSA_OK) return;
    const gsa_text *side = t->pairs[split].side;
    row -= first;
    json_object_set_new(object, "line", json_integer(side[0].line[row]));
    for (int k = 0; k < 2; k++)
        json_object_set_new(object, k ? "b" : "a",
                            gsa_json_words(side[k].token + side[k].offset[row],
                                           side[k].offset[row + 1] - side[k].offset[row]));
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    const gsa_labels *labels = &((pair_task *)self)->labels;
    return gsa_report_classes(survey, labels->name, labels->count, 1,
                              &(gsa_row_teller){ self, describe }, object, error);
}

static int metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    if (room < 1 || score->found + score->wanted == 0) return 0;
    facts[0] = (gsa_fact){ "f1", gsa_f1(score) };
    return 1;
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    const pair_task *t = self;
    gsa_status status = gsa_labels_write(&t->labels, checkpoint, error);
    if (status == GSA_OK) status = gsa_wordbook_save(&t->words, checkpoint, error);
    return status == GSA_OK && t->blocks.count
               ? gsa_source_save(t->blocks.source, checkpoint, error)
               : status;
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const pair_task *t = self;
    return gsa_facts_copy(facts, room, t->fact, t->facts);
}

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    pair_task *t = self;
    gsa_text_options options = t->options;
    options.unlabelled = 1;
    if (options.format == GSA_TEXT_SNLI) options.format = GSA_TEXT_AUTO; /* columns will do, too */
    release_split(t, GSA_SPLIT_TEST);
    gsa_status status =
        gsa_pairs_read(t->system, path, &options, "", &t->pairs[GSA_SPLIT_TEST], error);
    if (status == GSA_OK) status = number_tokens(t, GSA_SPLIT_TEST, error);
    for (int64_t e = 0; status == GSA_OK && e < examples(t, GSA_SPLIT_TEST); e++)
        t->label[GSA_SPLIT_TEST][e] = -1;
    return status;
}

static const gsa_labels *labels_of(const void *self)
{
    return &((const pair_task *)self)->labels;
}

static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    gsa_classes_print(&((const pair_task *)self)->labels, out, batch->targets, output);
}

const gsa_task gsa_task_sentence_pairs = {
    .name = "sentence_pairs",
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
    .features = features,
    .loss = gsa_classes_loss,
    .gold = gold,
    .score = score,
    .survey = survey,
    .observe = observe,
    .findings = findings,
    .signature = gsa_wordbook_signature,
    .save = save,
    .facts = facts,
    .metrics = metrics,
    .read_lines = read_lines,
    .print = print,
    .labels = labels_of,
    .blocks = blocks_of,
};
