/* tagging.c - one tag a token: parts of speech, names. Next to a word's embedding may be how it
 * is capitalised, and what a second stack makes of its characters, computed once for each distinct
 * word of a batch. */
#include <stdio.h>
#include <string.h>
#include "train/tasks/classes.h"
#include "train/learner.h"
#include "train/data/shape.h"
#include "train/tasks/tagging_parts.h"

enum { CAPITAL_COLUMNS = 8 };

static void destroy(void *self)
{
    tag_task *t = self;
    for (int s = 0; s < GSA_SPLITS; s++) gsa_tagging_release_split(t, s);
    gsa_labels_release(&t->labels);
    gsa_wordbook_release(&t->words);
    gsa_vocabulary_release(t->characters);
    gsa_spelling_release(&t->spelling);
    gsa_tagging_release_head(t);
    gsa_release(t->system, t);
}

/* ---- making one ---------------------------------------------------------------------------- */

static gsa_status check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const int32_t read = (int32_t)v->data_scheme - 1,
                  learned = v->task_scheme ? (int32_t)v->task_scheme - 1 : read;
    const gsa_status status = gsa_sample_check(recipe, error);
    return read < 0 || status != GSA_OK ? status
                                        : gsa_tagging_check_schemes(recipe, read, learned, error);
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    static const int32_t formats[] = { [GSA_TEXT_AUTO] = GSA_CONLL_AUTO,
                                       [GSA_TEXT_CONLL] = GSA_CONLL_COLUMNS,
                                       [GSA_TEXT_CONLLU] = GSA_CONLL_U,
                                       [GSA_TEXT_CHARS] = GSA_CONLL_CHARS };
    const gsa_recipe_values *v = &o->recipe->values;
    tag_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system;
    t->options = (gsa_tagged_options){ .conll = { .format = formats[v->data_format],
                                                  .encoding = (int32_t)v->data_encoding,
                                                  .word = (int32_t)v->data_word,
                                                  .tag = (int32_t)v->data_tag },
                                       .lower = (int32_t)v->data_lower,
                                       .zero_digits = (int32_t)v->data_zero_digits };
    gsa_status status = gsa_sides_read(v->data_side, &t->sides, error);
    t->options.conll.sides = t->sides.count;
    memcpy(t->options.conll.side, t->sides.column, sizeof t->sides.column);
    t->crf = v->task_head == GSA_TAG_HEAD_CRF, t->legal = (int32_t)v->task_legal;
    t->tokens = v->data_format == GSA_TEXT_CHARS ? GSA_TOKENS_CHARS : (int32_t)v->data_tokens;
    t->capitals = (int32_t)v->data_capitals;
    if (gsa_recipe_characters(v))
        t->character_max = (int32_t)v->model_character_max,
        t->character_width = (int32_t)v->model_character_hidden;
    t->beside = t->character_width + (t->capitals ? CAPITAL_COLUMNS : 0);
    if (status == GSA_OK) status = gsa_tagging_open(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    return ((const tag_task *)self)->split[split].conll.sentences;
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const tag_task *)self)->length[split];
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < count; i++)
        tokens += ((const tag_task *)self)->length[split][example[i]];
    return tokens;
}

/* The stack over characters has its own width and always learned positions: the order of letters is
 * what it reads. */
static gsa_settings character_settings(const gsa_recipe *recipe)
{
    const gsa_recipe_values *v = &recipe->values;
    gsa_settings s = gsa_recipe_settings(recipe);
    s.hidden = (int32_t)v->model_character_hidden, s.heads = (int32_t)v->model_character_heads,
    s.head_dim = s.ffn = 0;
    s.position = GSA_POSITION_LEARNED, s.position_max = (int32_t)v->model_character_max;
    s.dropout_input = v->model_character_dropout;
    return s;
}

static void plan_characters(const tag_task *t, const gsa_recipe *recipe, gsa_task_plan *plan)
{
    const gsa_settings settings = character_settings(recipe);
    plan->sequence[TAG_CHARACTERS] = "characters";
    plan->input_of[TAG_CHARACTERS] = TAG_CHARACTERS;
    plan->input[TAG_CHARACTERS] =
        (gsa_input_options){ .name = "characters",
                             .vocabulary = gsa_vocabulary_size(t->characters),
                             .embedding_std = recipe->values.model_embedding_std };
    plan->input_settings[TAG_CHARACTERS] = settings;
    plan->stack[1] = (gsa_task_stack){ .name = "characters",
                                       .spec = recipe->values.model_characters,
                                       .reads = GSA_READ_SUMMARY,
                                       .settings = settings };
    plan->pass[1] = plan->pass[0]; /* words read what characters gave */
    plan->pass[0] = (gsa_model_pass){ .stack = "characters", .sequence = "characters" };
    plan->n_sequences = plan->n_inputs = plan->n_stacks = plan->n_passes = 2;
    plan->head_pass = 1;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    const tag_task *t = self;
    (void)error;
    *plan = (gsa_task_plan){ .sequence = { "words" },
                             .pass = { { .stack = "encoder", .sequence = "words" } },
                             .n_sequences = 1,
                             .n_passes = 1,
                             .input = { gsa_wordbook_input(&t->words) },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SEQUENCE } },
                             .n_stacks = 1,
                             .outputs = t->labels.count };
    plan->input[TAG_WORDS].beside = t->beside;
    if (t->characters) plan_characters(t, options->recipe, plan);
    return GSA_OK;
}

static gsa_status prepare(void *self, gsa_learner *m, gsa_error *error)
{
    tag_task *t = self;
    const int64_t labels = t->labels.count;
    gsa_status status = gsa_wordbook_prepare(&t->words, m->input[TAG_WORDS], m->backend, error);
    if (status == GSA_OK && t->capitals)
        status = gsa_parameters_add(m->parameters, "capitals.weight", GSA_CAPITALS_CLASSES,
                                    CAPITAL_COLUMNS, GSA_INIT_NORMAL, 0.5, GSA_NO_DECAY,
                                    &t->capital, error);
    if (status != GSA_OK || !t->crf) return status;
    status = gsa_parameters_add(m->parameters, "crf.transitions", labels, labels, GSA_INIT_ZERO, 0,
                                GSA_NO_DECAY, &t->transitions, error);
    if (status == GSA_OK)
        status = gsa_parameters_add(m->parameters, "crf.start", 1, labels, GSA_INIT_ZERO, 0,
                                    GSA_NO_DECAY, &t->start, error);
    if (status == GSA_OK)
        status = gsa_parameters_add(m->parameters, "crf.end", 1, labels, GSA_INIT_ZERO, 0,
                                    GSA_NO_DECAY, &t->end, error);
    return status;
}

/* ---- a batch ------------------------------------------------------------------------------- */

/* Where the file has them: running text has none. */
static gsa_status fill_sides(const tag_task *t, int split, const int64_t *example, int32_t count,
                             gsa_minibatch *batch, gsa_error *error)
{
    const gsa_conll *c = &t->split[split].conll;
    gsa_status status = GSA_OK;
    for (int32_t s = 0; s < t->sides.count && c->side[s] && status == GSA_OK; s++) {
        status = gsa_minibatch_side(batch, TAG_WORDS, t->sides.name[s], error);
        for (int64_t i = 0, at = 0; i < count && status == GSA_OK; i++) {
            const int64_t first = c->offset[example[i]], length = t->length[split][example[i]];
            memcpy(batch->sequence[TAG_WORDS].side[s] + at, c->side[s] + first,
                   (size_t)length * sizeof(gsa_slice));
            at += length;
        }
    }
    return status;
}

static gsa_status fill_words(const tag_task *t, int split, const int64_t *example, int32_t count,
                             gsa_minibatch *batch, gsa_error *error)
{
    const gsa_tagged *d = &t->split[split];
    int64_t tokens = targets(t, split, example, count);
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK)
        status = gsa_minibatch_sequence_size(batch, TAG_WORDS, count, tokens, 0, error);
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, tokens, 0, error);
    for (int n = 0; n < GSA_BATCH_NOTES && status == GSA_OK; n++)
        status = gsa_minibatch_note(batch, n, tokens, error);
    if (status != GSA_OK) return status;
    const gsa_minibatch_sequence *to = &batch->sequence[TAG_WORDS];
    tokens = 0;
    for (int32_t i = 0; i < count; i++) {
        const int64_t first = d->conll.offset[example[i]], length = t->length[split][example[i]];
        memcpy(to->id + tokens, t->id[split] + first, (size_t)length * sizeof *to->id);
        memcpy(to->text + tokens, d->words.token + first, (size_t)length * sizeof *to->text);
        memcpy(batch->label + tokens, t->label[split] + first,
               (size_t)length * sizeof *batch->label);
        to->length[i] = (int32_t)length;
        for (int64_t k = 0; k < length; k++)
            batch->note[TAG_TOKEN][tokens + k] = (int32_t)(first + k);
        tokens += length;
    }
    return fill_sides(t, split, example, count, batch, error);
}

static gsa_status fill_characters(tag_task *t, int split, gsa_minibatch *batch, gsa_error *error)
{
    gsa_spelling *s = &t->spelling;
    const int64_t tokens = batch->tokens;
    const int32_t *word = t->word[split], *token = batch->note[TAG_TOKEN];
    int32_t *place = batch->note[TAG_PLACE], words = 0, next = 0;
    int64_t letters = 0;
    gsa_spelling_begin(s);
    for (int64_t i = 0; i < tokens; i++) {
        const int32_t w = word[token[i]], before = words;
        place[i] = gsa_spelling_place(s, w, &words);
        if (words > before) letters += s->offset[w + 1] - s->offset[w];
    }
    const gsa_status status =
        gsa_minibatch_sequence_size(batch, TAG_CHARACTERS, words, letters, 0, error);
    const gsa_minibatch_sequence *to = &batch->sequence[TAG_CHARACTERS];
    batch->tokens = tokens; /* what speed is told in */
    letters = 0;
    for (int64_t i = 0; i < tokens && status == GSA_OK; i++) {
        const int32_t w = word[token[i]];
        const int64_t count = s->offset[w + 1] - s->offset[w];
        if (place[i] != next) continue;
        memcpy(to->id + letters, s->id + s->offset[w], (size_t)count * sizeof *to->id);
        memcpy(to->text + letters, s->text + s->offset[w], (size_t)count * sizeof *to->text);
        to->length[next] = (int32_t)count, to->number[next++] = s->number[w];
        letters += count;
    }
    return status;
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    tag_task *t = self;
    const gsa_status status = fill_words(t, split, example, count, batch, error);
    if (status != GSA_OK) return status;
    for (int64_t i = 0; t->capitals && i < batch->targets; i++)
        batch->note[TAG_CAPITALS][i] =
            gsa_capitals_of(t->split[split].form[batch->note[TAG_TOKEN][i]]);
    return t->characters ? fill_characters(t, split, batch, error) : GSA_OK;
}

/* [characters' summaries of the token's word, capitals] */
static gsa_tensor *beside(const void *self, gsa_tape *tape, int sequence,
                          const gsa_minibatch *batch, const gsa_readout *readouts)
{
    const tag_task *t = self;
    const int64_t tokens = batch->targets, bytes = tokens * (int64_t)sizeof(int32_t);
    gsa_tensor *part[2];
    int parts = 0;
    (void)sequence;
    if (t->characters)
        part[parts++] =
            gsa_op_gather(tape, NULL, readouts[0].summary,
                          gsa_tape_upload(tape, batch->note[TAG_PLACE], bytes), tokens, 1, 0);
    if (t->capitals)
        part[parts++] =
            gsa_op_gather(tape, NULL, &t->capital->value,
                          gsa_tape_upload(tape, batch->note[TAG_CAPITALS], bytes), tokens, 1, 0);
    return parts == 1 ? part[0] : gsa_op_beside(tape, part, parts);
}

/* The file's own tags: labels are numbered by what is learned. */
static void gold(const void *self, int split, int64_t example, gsa_sha256 *hash)
{
    const gsa_conll *c = &((const tag_task *)self)->split[split].conll;
    gsa_gold_add(hash, c->tag + c->offset[example], c->offset[example + 1] - c->offset[example]);
}

/* ---- around a run -------------------------------------------------------------------------- */

static void signature(const void *self, const gsa_recipe_values *values, char *text, size_t room)
{
    const tag_task *t = self;
    (void)values;
    if (t->scheme == GSA_SCHEME_NONE) snprintf(text, room, "tags:plain");
    else
        snprintf(text, room, "scheme:%s|learned:%s|match:lenient-conlleval",
                 gsa_scheme_name(t->scheme), gsa_scheme_name(t->learned));
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    const tag_task *t = self;
    gsa_output *output;
    gsa_status status = gsa_labels_write(&t->labels, checkpoint, error);
    if (status == GSA_OK) status = gsa_wordbook_save(&t->words, checkpoint, error);
    if (status != GSA_OK || !t->characters) return status;
    status = gsa_checkpoint_file(checkpoint, "characters.txt", &output, error);
    if (status != GSA_OK) return status;
    status = gsa_vocabulary_write(t->characters, output);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return gsa_fail(error, status, "characters.txt cannot be written");
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const tag_task *t = self;
    return gsa_facts_copy(facts, room, t->fact, t->facts);
}

#define TAGGING                                                                                    \
    .name = "tagging", .rising = 1, .check = check, .create = create, .destroy = destroy,          \
    .plan = plan, .examples = examples, .lengths = lengths, .targets = targets,                    \
    .prepare = prepare, .fill = fill, .beside = beside, .loss = gsa_tagging_loss,                  \
    .decode = gsa_tagging_decode, .gold = gold, .score = gsa_tagging_score,                        \
    .signature = signature, .save = save, .facts = facts, .survey = gsa_tagging_survey,            \
    .observe = gsa_tagging_observe, .findings = gsa_tagging_findings,                              \
    .report = gsa_tagging_report, .read_lines = gsa_tagging_read_lines,                            \
    .read_sentences = gsa_tagging_read_sentences, .read_as = gsa_tagging_read_as,                  \
    .print = gsa_tagging_print, .read_text = gsa_tagging_read_text

const gsa_task gsa_task_tagging_spans = { TAGGING, .metric = "f1", .f1 = 1,
                                          .metrics = gsa_tagging_span_metrics };

static const gsa_task *variant(const void *self)
{
    return ((const tag_task *)self)->scheme == GSA_SCHEME_NONE ? &gsa_task_tagging
                                                               : &gsa_task_tagging_spans;
}

const gsa_task gsa_task_tagging = { TAGGING, .metric = "accuracy", .variant = variant };
