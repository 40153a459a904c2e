/* tag_data.c - what a tagger reads: splits, schemes, labels, words and their characters,
 * baselines. */
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/data/shape.h"
#include "train/tasks/tagging_parts.h"

enum { PATH = 4096 };

void gsa_tagging_release_split(tag_task *t, int split)
{
    int32_t **const all[] = { &t->length[split], &t->id[split], &t->label[split], &t->word[split],
                              &t->found[split] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        gsa_release(t->system, *all[i]);
        *all[i] = NULL;
    }
    gsa_tagged_release(&t->split[split]);
}

/* ---- reading ------------------------------------------------------------------------------- */

static gsa_status check_length(const gsa_conll *c, const gsa_recipe_values *v, gsa_error *error)
{
    if (v->model_position != GSA_POSITION_LEARNED || c->longest <= v->model_position_max)
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s: the longest sentence has %lld tokens, model.position_max is %lld: set a "
                    "larger model.position_max",
                    c->path, (long long)c->longest, (long long)v->model_position_max);
}

static gsa_status read_split(tag_task *t, const gsa_task_options *o, int split, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    const char *path;
    gsa_tagged_options options = t->options;
    gsa_sample_of(v, split, &path, &options.part);
    if (!(o->splits >> split & 1)) return GSA_OK;
    if (!*path) {
        if (split != GSA_SPLIT_TRAIN) return GSA_OK;
        return gsa_recipe_no_train(o->recipe, error);
    }
    const gsa_status status = gsa_tagged_read(t->system, path, &options, &t->split[split], error);
    return status == GSA_OK ? check_length(&t->split[split].conll, v, error) : status;
}

static void tell(const tag_task *t, const gsa_task_options *o, int split)
{
    const gsa_conll *c = &t->split[split].conll;
    char sentence[PATH + 512], mended[160] = "";
    int64_t broken = 0, first = -1;
    if (c->sentences == 0) return;
    gsa_scheme_broken(t->scheme, c->tag, c->offset, c->sentences, &broken, &first);
    if (broken > 0)
        snprintf(
            mended, sizeof mended,
            "; %lld of them break it, the first on line %lld, and are read as conlleval reads them",
            (long long)broken, (long long)c->line[first]);
    snprintf(
        sentence, sizeof sentence,
        "%s: %s, read as %s: %lld sentences, %lld tokens, the longest sentence %lld; tags: %s%s",
        gsa_split_name(split), c->path, gsa_conll_format_name(c->format), (long long)c->sentences,
        (long long)c->tokens, (long long)c->longest,
        t->scheme == GSA_SCHEME_NONE ? "plain" : gsa_scheme_name(t->scheme), mended);
    o->say(o->context, sentence);
}

gsa_status gsa_tagging_check_schemes(const gsa_recipe *recipe, int32_t read, int32_t learned,
                                     gsa_error *error)
{
    if ((read == GSA_SCHEME_NONE) != (learned == GSA_SCHEME_NONE))
        return gsa_recipe_fail(
            recipe, "task", "scheme", error,
            "= %s, but the tags of the data are read as %s (data.scheme): plain tags and spans are "
            "nothing alike",
            gsa_scheme_name(learned), gsa_scheme_name(read));
    if (!recipe->values.task_legal || read != GSA_SCHEME_NONE) return GSA_OK;
    return gsa_recipe_fail(
        recipe, "task", "legal", error,
        "= 1 needs tags of a scheme, and these are read as plain (data.scheme = none)");
}

/* A tag that no scheme has, among others in one, is a slip that would be learned and scored as
 * something else (conlleval takes B_PER for no span, and after I-LOC for one without a type). Who
 * names data.scheme requests conlleval's reading. */
static gsa_status check_tags(const gsa_conll *c, int32_t scheme, gsa_error *error)
{
    char tag[64], shown[GSA_SHOWN];
    const gsa_tag_census census = gsa_tag_count(c->tag, c->tokens);
    if (census.strange == 0 || (scheme == GSA_SCHEME_NONE && census.typed <= census.strange))
        return GSA_OK;
    const gsa_slice name = c->tag[census.first];
    snprintf(tag, sizeof tag, "%.*s", (int)(name.bytes < 63 ? name.bytes : 63), name.at);
    return gsa_fail(
        error, GSA_ERR_FORMAT,
        "%s:%lld: the tag %s is of no scheme of spans, as B-X, I-X and O are: mend it, or set "
        "data.scheme, to none for "
        "plain tags or to a scheme, in which such tags are read as conlleval reads them",
        c->path, (long long)c->line[census.first], gsa_word_show(tag, shown));
}

/* What the files are written in and what is learned; both go into the configuration. */
static gsa_status settle_schemes(tag_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    gsa_recipe_values *v = &o->recipe->values;
    const gsa_conll *c = &t->split[GSA_SPLIT_TRAIN].conll;
    const int told = v->data_scheme != 0;
    if (!told) v->data_scheme = 1 + gsa_scheme_detect(c->tag, c->offset, c->sentences, NULL, NULL);
    if (v->task_scheme == 0) v->task_scheme = v->data_scheme;
    t->scheme = (int32_t)v->data_scheme - 1, t->learned = (int32_t)v->task_scheme - 1;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK && !told; s++)
        if (s == GSA_SPLIT_TRAIN || t->scheme != GSA_SCHEME_NONE)
            status = check_tags(&t->split[s].conll, t->scheme, error);
    if (status != GSA_OK) return status;
    return gsa_tagging_check_schemes(o->recipe, t->scheme, t->learned, error);
}

/* ---- labels, words, characters ------------------------------------------------------------- */

static gsa_status learn_characters(tag_task *t, gsa_error *error)
{
    const gsa_tagged *train = &t->split[GSA_SPLIT_TRAIN];
    gsa_status status = gsa_vocabulary_create(t->system, &t->characters, error);
    for (int64_t i = 0; i < train->conll.tokens && status == GSA_OK; i++)
        status = gsa_characters_add(t->characters, train->form[i], 1, error);
    return status == GSA_OK ? gsa_vocabulary_freeze(t->characters, 1, 0, error) : status;
}

static gsa_status learn(tag_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_text *texts[GSA_SPLITS];
    for (int s = 0; s < GSA_SPLITS; s++) texts[s] = &t->split[s].words;
    gsa_status status = gsa_labels_learn(&t->split[GSA_SPLIT_TRAIN].tags,
                                         o->recipe->values.data_classes, &t->labels, error);
    if (status == GSA_OK)
        status = gsa_wordbook_learn(t->system, o->recipe, texts, GSA_SPLITS, 1, &t->words, error);
    return status == GSA_OK && t->character_max > 0 ? learn_characters(t, error) : status;
}

static gsa_status restore(tag_task *t, const gsa_task_options *o, gsa_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/labels.txt", o->checkpoint);
    gsa_status status = gsa_labels_read(t->system, path, &t->labels, error);
    if (status == GSA_OK)
        status = gsa_wordbook_restore(t->system, o->recipe, o->checkpoint, &t->words, error);
    if (status != GSA_OK || t->character_max == 0) return status;
    snprintf(path, sizeof path, "%s/characters.txt", o->checkpoint);
    return gsa_vocabulary_read(t->system, path, &t->characters, error);
}

static gsa_status number_split(tag_task *t, int split, gsa_error *error)
{
    const gsa_tagged *d = &t->split[split];
    const size_t tokens = (size_t)d->conll.tokens;
    if (tokens == 0) return GSA_OK;
    t->label[split] = gsa_alloc(t->system, tokens, sizeof(int32_t));
    t->word[split] = gsa_alloc_zero(t->system, tokens, sizeof(int32_t));
    t->found[split] = gsa_alloc_zero(t->system, tokens, sizeof(int32_t));
    if (!t->label[split] || !t->word[split] || !t->found[split])
        return gsa_out_of_memory(error, d->conll.path, d->conll.tokens * 12);
    for (size_t i = 0; i < tokens; i++)
        t->label[split][i] = t->untagged ? -1 : gsa_labels_find(&t->labels, d->tags.label[i]);
    return gsa_wordbook_number(&t->words, &d->words, &t->id[split], &t->length[split], error);
}

/* Distinct words get numbers; with a stack over characters they are spelled. */
static gsa_status spell(tag_task *t, gsa_error *error)
{
    const gsa_slice *form[GSA_SPLITS];
    int64_t count[GSA_SPLITS];
    for (int s = 0; s < GSA_SPLITS; s++)
        form[s] = t->split[s].form, count[s] = t->split[s].conll.tokens;
    gsa_spelling_release(&t->spelling);
    const gsa_status status =
        gsa_spelling_create(t->system, form, count, GSA_SPLITS, t->characters,
                            t->characters ? t->character_max : 0, &t->spelling, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++)
        for (int64_t i = 0; i < count[s]; i++)
            t->word[s][i] = gsa_vocabulary_find(t->spelling.forms, form[s][i]);
    return status;
}

/* Tags that no label stands for can never be found. */
static void tell_unknown(const tag_task *t, const gsa_task_options *o, int split)
{
    const gsa_tagged *d = &t->split[split];
    char sentence[256];
    int64_t unknown = 0, first = -1;
    for (int64_t i = 0; i < d->conll.tokens; i++)
        if (t->label[split][i] < 0 && unknown++ == 0) first = i;
    if (unknown == 0) return;
    snprintf(sentence, sizeof sentence,
             "%s: %lld of %lld tokens have tags that the training data lacks and count as wrong, "
             "the first on line %lld",
             gsa_split_name(split), (long long)unknown, (long long)d->conll.tokens,
             (long long)d->conll.line[first]);
    o->say(o->context, sentence);
}

/* ---- baselines ----------------------------------------------------------------------------- */

static gsa_status score_guess(tag_task *t, const int32_t *guess, gsa_score *sum, gsa_error *error)
{
    const gsa_conll *c = &t->split[GSA_SPLIT_DEV].conll;
    gsa_status status = gsa_tagging_hold(t, c->longest, c->longest, error);
    *sum = (gsa_score){ 0 };
    for (int64_t s = 0; s < c->sentences && status == GSA_OK; s++) {
        gsa_score unit = { 0 };
        const int64_t first = c->offset[s];
        status = gsa_tagging_judge(t, GSA_SPLIT_DEV, first, c->offset[s + 1] - first, guess + first,
                                   &unit, error);
        gsa_score_add(sum, &unit);
    }
    return status;
}

static void tell_baselines(tag_task *t, const gsa_task_options *o, const gsa_score *sum,
                           double majority)
{
    char sentence[256];
    const double accuracy = sum->right / (double)sum->examples;
    t->fact[0] = (gsa_fact){ "majority_accuracy", majority };
    t->fact[1] = (gsa_fact){ "word_accuracy", accuracy };
    t->fact[2] = (gsa_fact){ "word_f1", gsa_f1(sum) };
    t->facts = t->scheme == GSA_SCHEME_NONE ? 2 : 3;
    const int used = snprintf(
        sentence, sizeof sentence,
        "baselines on dev: the most frequent tag %.4f, the most frequent tag of each word %.4f",
        majority, accuracy);
    if (t->facts == 3)
        snprintf(sentence + used, sizeof sentence - (size_t)used, ", F1 %.4f", gsa_f1(sum));
    o->say(o->context, sentence);
}

static gsa_status measure_baselines(tag_task *t, const gsa_task_options *o, gsa_error *error)
{
    const gsa_conll *train = &t->split[GSA_SPLIT_TRAIN].conll,
                    *dev = &t->split[GSA_SPLIT_DEV].conll;
    int32_t majority, *guess = t->found[GSA_SPLIT_DEV];
    gsa_score sum, most;
    if (train->tokens == 0 || dev->tokens == 0) return GSA_OK;
    const gsa_tag_view from = { train->tokens, t->word[GSA_SPLIT_TRAIN],
                                t->label[GSA_SPLIT_TRAIN] };
    const gsa_tag_view to = { dev->tokens, t->word[GSA_SPLIT_DEV], t->label[GSA_SPLIT_DEV] };
    gsa_status status =
        gsa_tag_baseline(t->system, &from, &to, t->labels.count, &majority, guess, error);
    if (status == GSA_OK) status = score_guess(t, guess, &sum, error);
    for (int64_t i = 0; i < dev->tokens && status == GSA_OK; i++) guess[i] = majority;
    if (status == GSA_OK) status = score_guess(t, guess, &most, error);
    if (status != GSA_OK) return status;
    tell_baselines(t, o, &sum, most.right / (double)most.examples);
    return GSA_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* A chain of tags has tables that grow with their square, and a tag a line is a small file. */
enum { MOST_CHAINED = 4096 };
static gsa_status make_mask(tag_task *t, const gsa_recipe *recipe, gsa_error *error)
{
    const size_t labels = (size_t)t->labels.count;
    if ((t->crf || t->legal) && labels > MOST_CHAINED)
        return gsa_recipe_fail(recipe, "task", t->crf ? "head" : "legal", error,
                               "= %s: a table of %zu x %zu tags has %zu bytes, expected at most "
                               "%d tags",
                               t->crf ? "crf" : "1", labels, labels, labels * labels * 4,
                               MOST_CHAINED);
    if (!t->legal) return GSA_OK;
    t->allowed = gsa_alloc(t->system, labels + 2, labels);
    if (!t->allowed)
        return gsa_out_of_memory(error, "legal tags", t->labels.count * (int64_t)(labels + 2));
    return gsa_scheme_allowed(t->learned, t->labels.name, t->labels.count, t->allowed, error);
}

gsa_status gsa_tagging_open(tag_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = read_split(t, o, s, error);
    if (status == GSA_OK) status = settle_schemes(t, o, error);
    t->lenient = (gsa_span_score){ .system = t->system };
    t->strict = (gsa_span_score){
        .system = t->system, .strict = 1, .gold_scheme = t->scheme, .found_scheme = t->learned
    };
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        tell(t, o, s);
        status = gsa_tagged_convert(&t->split[s], t->scheme, t->learned, error);
    }
    if (status == GSA_OK) status = o->checkpoint ? restore(t, o, error) : learn(t, o, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = number_split(t, s, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) tell_unknown(t, o, s);
    if (status == GSA_OK) status = spell(t, error);
    if (status == GSA_OK) status = make_mask(t, o->recipe, error);
    if (status == GSA_OK) status = gsa_tagging_make_written(t, error);
    return status == GSA_OK ? measure_baselines(t, o, error) : status;
}

/* The test split holds sentences without tags. */
static gsa_status number_untagged(tag_task *t, gsa_error *error)
{
    t->untagged = 1;
    const gsa_status status = number_split(t, GSA_SPLIT_TEST, error);
    return status == GSA_OK ? spell(t, error) : status;
}

gsa_status gsa_tagging_read_lines(void *self, const char *path, gsa_error *error)
{
    tag_task *t = self;
    gsa_tagged_options options = t->options;
    options.conll.untagged = 1;
    gsa_tagging_release_split(t, GSA_SPLIT_TEST);
    const gsa_status status =
        gsa_tagged_read(t->system, path, &options, &t->split[GSA_SPLIT_TEST], error);
    if (status == GSA_ERR_FORMAT && error) {
        const size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, "%s",
                 "; --tokenize words reads a sentence a line");
    }
    return status == GSA_OK ? number_untagged(t, error) : status;
}

gsa_status gsa_tagging_read_text(void *self, const char *text, gsa_error *error)
{
    tag_task *t = self;
    gsa_tagging_release_split(t, GSA_SPLIT_TEST);
    const gsa_status status =
        gsa_tagged_take(t->system, text, t->tokens, &t->options, &t->split[GSA_SPLIT_TEST], error);
    return status == GSA_OK ? number_untagged(t, error) : status;
}

gsa_status gsa_tagging_read_sentences(void *self, const char *path, int32_t tokens,
                                      gsa_error *error)
{
    tag_task *t = self;
    gsa_tagging_release_split(t, GSA_SPLIT_TEST);
    t->cut = tokens;
    const gsa_status status =
        gsa_tagged_lines(t->system, path, tokens, &t->options, &t->split[GSA_SPLIT_TEST], error);
    return status == GSA_OK ? number_untagged(t, error) : status;
}

void gsa_tagging_read_as(const void *self, char *sentence, size_t room)
{
    static const char *const cuts[] = { "words between blanks", "characters", "words and marks" };
    const tag_task *t = self;
    const gsa_tagged *d = &t->split[GSA_SPLIT_TEST];
    const gsa_conll *c = &d->conll;
    const int64_t used = snprintf(sentence, room, "%s: %lld sentence%s of %lld token%s, ", c->path,
                                  (long long)c->sentences, c->sentences == 1 ? "" : "s",
                                  (long long)c->tokens, c->tokens == 1 ? "" : "s");
    if (used < 0 || (size_t)used >= room) return;
    char *const at = sentence + used;
    room -= (size_t)used;
    if (d->taken.path) snprintf(at, room, "a sentence a line, cut into %s", cuts[t->cut]);
    else if (c->columns < 2 || c->format == GSA_CONLL_CHARS)
        snprintf(at, room, "a token a line; --tokenize words reads a sentence a line");
    else
        snprintf(at, room,
                 "a token a line, in one of %lld columns between %s; --tokenize words reads a "
                 "sentence a line",
                 (long long)c->columns, c->tabs ? "tabs" : "blanks");
}
