/* translation.c - sentences of one language into another: an encoder on the source, and a decoder that predicts each token of the target
 * from those before it and from what the encoder makes of the source (Vaswani et al. 2017).
 *
 *   source   x_1 ... x_m </s>
 *   target   <s> y_1 ... y_n       label: y_1 ... y_n </s>
 *
 * Pieces of words are shared by both languages, and so is the embedding; with model.tied it is the head's weight, too (Press and Wolf
 * 2017). Training leaves out pairs with an empty side; dev and test keep theirs, so that scores are of whole files. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "train/bleu.h"
#include "train/model.h"
#include "train/parallel.h"
#include "train/pieces.h"
#include "train/translate.h"

enum { SENTENCE = 512, FIRST_CLASS = 1 };

typedef struct pair_split { /* of the examples that are kept */
    gsa_text text[GSA_SIDES];
    gsa_piece_row row[GSA_SIDES];
    int64_t examples;
    int32_t *both; /* [examples] tokens of source and target */
} pair_split;

typedef struct translation_task {
    const gsa_system *system;
    gsa_parallel_options parallel;
    pair_split split[GSA_SPLITS];
    gsa_pieces pieces;
    double smoothing;
    gsa_translate_options search; /* but ids and lengths */
    int32_t lower, position_most; /* learned positions end there; 0: they do not end */
    int64_t longest;              /* pieces of a side of a training pair; 0: no limit */
    const char *decoder;          /* of the recipe */
} translation_task;

static void release_split(const gsa_system *system, pair_split *split)
{
    for (int s = 0; s < GSA_SIDES; s++) {
        if (split->text[s].system) gsa_text_release(&split->text[s]);
        gsa_release(system, split->row[s].first);
        gsa_release(system, split->row[s].id);
    }
    gsa_release(system, split->both);
    *split = (pair_split){ 0 };
}

static void destroy(void *self)
{
    translation_task *t = self;
    for (int s = 0; s < GSA_SPLITS; s++) release_split(t->system, &t->split[s]);
    gsa_pieces_release(&t->pieces);
    gsa_release(t->system, t);
}

/* ---- reading ----------------------------------------------------------------------------------------------------------------- */

static gsa_status read_split(translation_task *t, const gsa_task_options *o, int split, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    const char *const paths[] = { v->data_train, v->data_dev, v->data_test };
    if (!(o->splits >> split & 1)) return GSA_OK;
    if (*paths[split]) return gsa_parallel_read(t->system, paths[split], &t->parallel, t->split[split].text, error);
    if (split != GSA_SPLIT_TRAIN) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "data.train is not set: --set data.train=FILE");
}

static int64_t pieces_of(const pair_split *split, int side, int64_t example)
{
    return split->row[side].first[example + 1] - split->row[side].first[example];
}

typedef struct left_out {
    int64_t empty, long_ones;
} left_out;

/* Training pairs that are kept move together. */
static left_out drop_pairs(const translation_task *t, pair_split *split)
{
    left_out out = { 0, 0 };
    int64_t kept = 0, used[GSA_SIDES] = { 0, 0 };
    for (int64_t e = 0; e < split->examples; e++) {
        const int64_t n[] = { pieces_of(split, 0, e), pieces_of(split, 1, e) };
        const int empty = n[0] == 0 || n[1] == 0, large = t->longest > 0 && (n[0] > t->longest || n[1] > t->longest);
        out.empty += empty, out.long_ones += !empty && large;
        if (empty || large) continue;
        for (int s = 0; s < GSA_SIDES; s++) {
            gsa_piece_row *row = &split->row[s];
            memmove(row->id + used[s], row->id + row->first[e], (size_t)n[s] * sizeof *row->id);
            row->first[kept] = used[s];
            used[s] += n[s];
        }
        kept++;
    }
    for (int s = 0; s < GSA_SIDES; s++) split->row[s].first[kept] = used[s];
    split->examples = kept;
    return out;
}

static void tell(const gsa_task_options *o, int split, const pair_split *of, const left_out *out)
{
    static const char *const names[] = { "train", "dev", "test" };
    char sentence[SENTENCE], more[160] = "";
    int32_t longest = 0;
    for (int64_t e = 0; e < of->examples; e++)
        for (int s = 0; s < GSA_SIDES; s++)
            if (pieces_of(of, s, e) > longest) longest = (int32_t)pieces_of(of, s, e);
    if (out->empty + out->long_ones > 0)
        snprintf(more, sizeof more, "; left out: %lld pairs with an empty side, %lld longer than data.max_length",
                 (long long)out->empty, (long long)out->long_ones);
    snprintf(sentence, sizeof sentence, "%s: %s: %lld pairs, %lld and %lld tokens, the longest sentence %d%s", names[split],
             of->text[GSA_SOURCE].path, (long long)of->examples, (long long)of->row[GSA_SOURCE].first[of->examples],
             (long long)of->row[GSA_TARGET].first[of->examples], longest, more);
    o->say(o->context, sentence);
}

/* With <s> and </s> a sentence has a token more. */
static gsa_status check_lengths(const translation_task *t, const pair_split *split, gsa_error *error)
{
    for (int64_t e = 0; e < split->examples; e++)
        for (int s = 0; s < GSA_SIDES; s++) {
            const int64_t tokens = pieces_of(split, s, e) + 1;
            if (tokens <= INT32_MAX / 2 && (t->position_most == 0 || tokens <= t->position_most)) continue;
            return gsa_fail(
                error, GSA_ERR_LIMIT,
                "%s: a sentence has %lld tokens with its end, model.position_max is %d: set data.max_length (training) or "
                "a larger model.position_max",
                split->text[s].path, (long long)tokens, t->position_most);
        }
    return GSA_OK;
}

static gsa_status number_split(translation_task *t, int which, left_out *out, gsa_error *error)
{
    pair_split *split = &t->split[which];
    gsa_status status = GSA_OK;
    *out = (left_out){ 0, 0 };
    split->examples = split->text[GSA_SOURCE].examples;
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++)
        status = gsa_pieces_number(&t->pieces, &split->text[s], &split->row[s], error);
    if (status != GSA_OK) return status;
    if (which == GSA_SPLIT_TRAIN) *out = drop_pairs(t, split);
    if (which == GSA_SPLIT_TRAIN && split->examples == 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: no pair is left to train on", split->text[GSA_SOURCE].path);
    status = check_lengths(t, split, error);
    if (status != GSA_OK) return status;
    split->both = gsa_alloc(t->system, (size_t)split->examples, sizeof *split->both);
    if (!split->both) return gsa_out_of_memory(error, "lengths of sentences", split->examples * 4);
    for (int64_t e = 0; e < split->examples; e++)
        split->both[e] = (int32_t)(pieces_of(split, GSA_SOURCE, e) + pieces_of(split, GSA_TARGET, e) + 2);
    return status;
}

static gsa_status fill_task(translation_task *t, const gsa_task_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    left_out out;
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) status = read_split(t, o, s, error);
    if (status != GSA_OK) return status;
    if (o->checkpoint) status = gsa_pieces_restore(t->system, o->recipe, o->checkpoint, &t->pieces, error);
    else status = gsa_pieces_learn(t->system, o->recipe, t->split[GSA_SPLIT_TRAIN].text, GSA_SIDES, &t->pieces, error);
    for (int s = 0; s < GSA_SPLITS && status == GSA_OK; s++) {
        if (t->split[s].text[GSA_SOURCE].examples == 0) continue;
        status = number_split(t, s, &out, error);
        if (status == GSA_OK) tell(o, s, &t->split[s], &out);
    }
    return status;
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    if (!*v->model_decoder)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "translation needs a decoder, such as model.decoder = full:causal=1+cross*3: each token sees those before it "
            "and the source");
    if (v->data_encoding || v->data_markup)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "translation reads UTF-8 as it stands: data.encoding and data.markup are not for it");
    translation_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system, t->decoder = v->model_decoder;
    t->smoothing = v->train_label_smoothing, t->lower = (int32_t)v->data_lower, t->longest = v->data_max_length;
    t->position_most = v->model_position == GSA_POSITION_LEARNED ? (int32_t)v->model_position_max : 0;
    t->search = (gsa_translate_options){ .first_class = FIRST_CLASS,
                                         .never = GSA_WORD_FIRST,
                                         .width = (int32_t)v->decode_beam,
                                         .penalty = (int32_t)v->decode_penalty,
                                         .alpha = v->decode_alpha };
    t->parallel = (gsa_parallel_options){ .suffix = { v->data_source, v->data_target },
                                          .columns = v->data_columns,
                                          .lower = t->lower,
                                          .tokens = (int32_t)v->data_tokens };
    const gsa_status status = fill_task(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ------------------------------------------------------------------------------------------------------ */

static int64_t examples(const void *self, int split)
{
    return ((const translation_task *)self)->split[split].examples;
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const translation_task *)self)->split[split].both;
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += pieces_of(&((const translation_task *)self)->split[split], GSA_TARGET, example[i]) + 1;
    return sum;
}

static gsa_status plan(const void *self, const gsa_plan_options *o, gsa_plan *plan, gsa_error *error)
{
    const translation_task *t = self;
    const gsa_recipe_values *v = &o->recipe->values;
    if (o->memory_layer >= 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "encoder %s reads a memory, which the decoder alone has: put cross into model.decoder", o->encoder);
    *plan = (gsa_plan){ .sequence = { "source", "target" },
                        .run = { { .stack = "encoder", .sequence = "source" },
                                 { .stack = "decoder", .sequence = "target", .memory = "encoder" } },
                        .n_sequences = 2,
                        .n_runs = 2,
                        .input = { { .vocabulary = t->pieces.size,
                                     .width = (int32_t)v->model_embedding,
                                     .embedding_std = v->model_embedding_std } },
                        .n_inputs = 1,
                        .stack = { { .name = "encoder" },
                                   { .name = "decoder", .spec = t->decoder, .reads = GSA_READ_SEQUENCE, .causal = 1 } },
                        .n_stacks = 2,
                        .head_run = 1,
                        .outputs = t->pieces.size - FIRST_CLASS,
                        .tied = 1,
                        .first_class = FIRST_CLASS };
    return GSA_OK;
}

static void put(const translation_task *t, gsa_minibatch_sequence *to, int64_t at, int32_t id)
{
    to->id[at] = id;
    to->text[at] = gsa_vocabulary_word(t->pieces.vocabulary, id);
}

/* Pieces of one sentence with <s> before them or </s> behind; their number. */
static int64_t put_sentence(const translation_task *t, gsa_minibatch_sequence *to, int64_t at, const gsa_piece_row *row,
                            int64_t example, int begins)
{
    const int64_t first = row->first[example], count = row->first[example + 1] - first;
    put(t, to, begins ? at : at + count, begins ? t->pieces.begin : t->pieces.end);
    for (int64_t i = 0; i < count; i++) put(t, to, at + begins + i, row->id[first + i]);
    return count + 1;
}

static gsa_status begin(const translation_task *t, int split, const int64_t *example, int32_t count, gsa_minibatch *batch,
                        gsa_error *error)
{
    const pair_split *of = &t->split[split];
    int64_t tokens[GSA_SIDES] = { 0, 0 };
    for (int32_t i = 0; i < count; i++)
        for (int s = 0; s < GSA_SIDES; s++) tokens[s] += pieces_of(of, s, example[i]) + 1;
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++)
        status = gsa_minibatch_sequence_size(batch, s, count, tokens[s], 0, error);
    return status == GSA_OK ? gsa_minibatch_targets(batch, tokens[GSA_TARGET], 0, error) : status;
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count, gsa_minibatch *batch, gsa_error *error)
{
    const translation_task *t = self;
    const pair_split *of = &t->split[split];
    const gsa_piece_row *target = &of->row[GSA_TARGET];
    int64_t at[GSA_SIDES] = { 0, 0 };
    const gsa_status status = begin(t, split, example, count, batch, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        const int64_t e = example[i], n = pieces_of(of, GSA_TARGET, e);
        for (int64_t k = 0; k <= n; k++)
            batch->label[at[GSA_TARGET] + k] = (k < n ? target->id[target->first[e] + k] : t->pieces.end) - FIRST_CLASS;
        for (int s = 0; s < GSA_SIDES; s++) {
            gsa_minibatch_sequence *to = &batch->sequence[s];
            to->length[i] = (int32_t)put_sentence(t, to, at[s], &of->row[s], e, s == GSA_TARGET);
            at[s] += to->length[i];
        }
    }
    return status;
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out, const gsa_minibatch *batch, double scale)
{
    const int32_t *labels = gsa_tape_upload(tape, batch->label, batch->targets * (int64_t)sizeof *batch->label);
    return labels ? gsa_op_smooth_entropy(tape, out, labels, ((const translation_task *)self)->smoothing, scale) : NULL;
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    (void)self;
    for (int32_t e = 0; e < batch->count; e++) {
        const int32_t tokens = batch->sequence[GSA_TARGET].length[e];
        for (int32_t i = 0; i < tokens; i++) unit[e].loss += *out++;
        unit[e].targets = tokens, unit[e].examples = 1;
    }
}

static int metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    if (room < 1 || score->targets == 0) return 0;
    facts[0] = (gsa_fact){ "perplexity", exp(score->loss / (double)score->targets) };
    return 1;
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    return gsa_pieces_save(&((const translation_task *)self)->pieces, checkpoint, error);
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const translation_task *t = self;
    if (room < 2) return 0;
    facts[0] = (gsa_fact){ "pieces", t->pieces.size };
    facts[1] = (gsa_fact){ "merges", t->pieces.bpe ? gsa_bpe_merges(t->pieces.bpe) : 0 };
    return 2;
}

/* ---- translations ------------------------------------------------------------------------------------------------------------ */

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    translation_task *t = self;
    pair_split *split = &t->split[GSA_SPLIT_TEST];
    release_split(t->system, split);
    gsa_status status = gsa_parallel_read_lines(t->system, path, &t->parallel, &split->text[GSA_SOURCE], error);
    if (status != GSA_OK) return status;
    split->examples = split->text[GSA_SOURCE].examples;
    return gsa_pieces_number(&t->pieces, &split->text[GSA_SOURCE], &split->row[GSA_SOURCE], error);
}

typedef struct translator {
    translation_task *task;
    const gsa_decode_options *options;
    gsa_translator *search;
    gsa_translate_job job;
    int32_t *source, *length, *most;
    gsa_bleu_counts bleu;
    gsa_chrf_counts chrf;
    char *text[2]; /* a translation; its reference */
    int64_t room[2];
} translator;

/* Twice the source and twenty tokens more, as far as positions go. */
static int32_t most_of(const translation_task *t, int64_t source)
{
    const int64_t most = 2 * source + 20;
    return (int32_t)(t->position_most > 0 && most > t->position_most - 1 ? t->position_most - 1 : most);
}

static gsa_status fill_job(translator *x, int64_t from, int32_t count, gsa_error *error)
{
    const translation_task *t = x->task;
    const gsa_piece_row *row = &t->split[x->options->split].row[GSA_SOURCE];
    const int64_t tokens = row->first[from + count] - row->first[from] + count;
    int64_t at = 0;
    gsa_release(t->system, x->source);
    gsa_release(t->system, x->job.target);
    x->job.target = NULL, x->job.room = 0, x->job.count = count;
    x->source = gsa_alloc(t->system, (size_t)tokens, sizeof *x->source);
    for (int32_t i = 0; i < count && x->source; i++) {
        const int64_t first = row->first[from + i], n = row->first[from + i + 1] - first;
        if (n > 0) memcpy(x->source + at, row->id + first, (size_t)n * sizeof *x->source);
        x->source[at + n] = t->pieces.end;
        x->length[i] = (int32_t)n + 1, x->most[i] = most_of(t, n), at += n + 1;
        if (x->most[i] > x->job.room) x->job.room = x->most[i];
    }
    x->job.source = x->source, x->job.length = x->length, x->job.most = x->most;
    if (x->source) x->job.target = gsa_alloc(t->system, (size_t)count * (size_t)x->job.room, sizeof *x->job.target);
    return x->job.target ? GSA_OK : gsa_out_of_memory(error, "a batch to translate", tokens * 4);
}

/* The words of a reference with a blank between two. */
static gsa_status join_words(translator *x, const gsa_text *text, int64_t example, gsa_slice *line, gsa_error *error)
{
    int64_t bytes = 0, used = 0;
    for (int64_t i = text->offset[example]; i < text->offset[example + 1]; i++) bytes += text->token[i].bytes + 1;
    if (bytes > x->room[1] || !x->text[1]) {
        char *larger = gsa_resize(x->task->system, x->text[1], (size_t)(2 * bytes + 1), 1);
        if (!larger) return gsa_out_of_memory(error, "a reference", 2 * bytes);
        x->text[1] = larger, x->room[1] = 2 * bytes;
    }
    for (int64_t i = text->offset[example]; i < text->offset[example + 1]; i++) {
        if (used > 0) x->text[1][used++] = ' ';
        memcpy(x->text[1] + used, text->token[i].at, (size_t)text->token[i].bytes);
        used += text->token[i].bytes;
    }
    *line = (gsa_slice){ x->text[1], used };
    return GSA_OK;
}

static gsa_status judge(translator *x, gsa_slice line, int64_t example, gsa_error *error)
{
    const translation_task *t = x->task;
    const gsa_text *reference = &t->split[x->options->split].text[GSA_TARGET];
    gsa_bleu_counts bleu;
    gsa_chrf_counts chrf;
    gsa_slice wanted;
    if (reference->examples == 0) return GSA_OK;
    gsa_status status = join_words(x, reference, example, &wanted, error);
    if (status == GSA_OK) status = gsa_bleu_count(t->system, line, &wanted, 1, t->lower, &bleu, error);
    if (status == GSA_OK) status = gsa_chrf_count(t->system, line, &wanted, 1, t->lower, &chrf, error);
    if (status != GSA_OK) return status;
    gsa_bleu_add(&x->bleu, &bleu);
    gsa_chrf_add(&x->chrf, &chrf);
    return GSA_OK;
}

static gsa_status translate_batch(translator *x, int64_t from, int32_t count, gsa_error *error)
{
    const translation_task *t = x->task;
    gsa_status status = fill_job(x, from, count, error);
    if (status == GSA_OK) status = gsa_translate(x->search, &x->job, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        gsa_slice line = { 0 };
        status = gsa_pieces_text(&t->pieces, x->job.target + (int64_t)i * x->job.room, x->job.made[i], &x->text[0],
                                 &x->room[0], &line.bytes, error);
        line.at = x->text[0];
        if (status == GSA_OK) status = judge(x, line, from + i, error);
        if (status == GSA_OK && x->options->output) gsa_output_format(x->options->output, "%s\n", line.at);
    }
    return status;
}

static void report(const translator *x, gsa_decoded *decoded)
{
    const gsa_bleu bleu = gsa_bleu_score(&x->bleu);
    *decoded = (gsa_decoded){
        .fact = { { "bleu", bleu.score }, { "bleu_brevity", bleu.brevity }, { "chrf", gsa_chrf_score(&x->chrf) } },
        .facts = 3,
        .note = { { .name = "bleu_signature" }, { .name = "chrf_signature" } },
        .notes = 2
    };
    gsa_bleu_signature(1, x->task->lower, decoded->note[0].text, sizeof decoded->note[0].text);
    gsa_chrf_signature(1, x->task->lower, decoded->note[1].text, sizeof decoded->note[1].text);
}

static gsa_status open_search(translator *x, gsa_learner *learner, gsa_error *error)
{
    const translation_task *t = x->task;
    const pair_split *split = &t->split[x->options->split];
    gsa_translate_options options = t->search;
    options.begin = t->pieces.begin, options.end = t->pieces.end;
    for (int64_t e = 0; e < split->examples; e++) {
        const int32_t most = most_of(t, pieces_of(split, GSA_SOURCE, e));
        if (most > options.longest) options.longest = most;
    }
    return gsa_translator_create(learner, &options, &x->search, error);
}

static gsa_status decode(void *self, struct gsa_learner *learner, const gsa_decode_options *o, gsa_decoded *decoded,
                         gsa_error *error)
{
    translation_task *t = self;
    const int64_t sentences = t->split[o->split].examples;
    const int32_t most = o->batch;
    translator x = { .task = t, .options = o };
    x.length = gsa_alloc(t->system, (size_t)most, sizeof *x.length);
    x.most = gsa_alloc(t->system, (size_t)most, sizeof *x.most);
    x.job.made = gsa_alloc(t->system, (size_t)most, sizeof *x.job.made);
    gsa_status status = x.length && x.most && x.job.made ? GSA_OK : gsa_out_of_memory(error, "a batch", most * INT64_C(12));
    if (status == GSA_OK) status = open_search(&x, learner, error);
    for (int64_t from = 0; from < sentences && status == GSA_OK; from += most) {
        const int64_t left = sentences - from;
        if (o->stop && *o->stop) status = gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request during translation");
        else status = translate_batch(&x, from, left < most ? (int32_t)left : most, error);
    }
    if (status == GSA_OK) report(&x, decoded);
    gsa_translator_release(x.search);
    gsa_release(t->system, x.source);
    gsa_release(t->system, x.length);
    gsa_release(t->system, x.most);
    gsa_release(t->system, x.job.target);
    gsa_release(t->system, x.job.made);
    gsa_release(t->system, x.text[0]);
    gsa_release(t->system, x.text[1]);
    return status;
}

const gsa_task gsa_task_translation = {
    .name = "translation",
    .metric = "loss",
    .surprise = 1,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .targets = targets,
    .fill = fill,
    .loss = loss,
    .score = score,
    .save = save,
    .facts = facts,
    .metrics = metrics,
    .read_lines = read_lines,
    .decode_split = decode,
};
