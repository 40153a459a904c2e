/* translation.c - sentences of one language into another: an encoder on the source, and a decoder
 * that predicts each token of the target from those before it and from what the encoder makes of
 * the source (Vaswani et al. 2017).
 *
 *   source   x_1 ... x_m </s>
 *   target   <s> y_1 ... y_n       label: y_1 ... y_n </s>
 *
 * With data.documents an example is a sentence after those that are before it in its document
 * (Ye et al. 2019, section 4.3; theirs are segments, whose targets are all learned). Sentences are
 * groups: with cross:align=1 each target token reads the sentence that it translates, a </s>
 * between two that of the second, whose first token it predicts. The loss is of the last sentence
 * alone, so that each counts once.
 *
 *   source   x_1 ... x_m </s> x'_1 ... x'_m' </s>
 *   group    0 ...            1 ...
 *   target   <s> y_1 ... y_n </s> y'_1 ... y'_n'       label: y'_1 ... y'_n' </s>
 *   group    0 ...           1 ...
 *
 * Pieces of words are shared by both languages, and so is the embedding; with model.tied it is the
 * head's weight, too (Press and Wolf 2017). Training leaves out pairs with an empty side; dev and
 * test keep theirs, so that scores are of whole files. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "topologies/spec.h"
#include "train/data/sample.h"
#include "train/tasks/translation_parts.h"

enum { FIRST_CLASS = 1 };

static void destroy(void *self)
{
    gsa_translation *t = self;
    for (int s = 0; s < GSA_SPLITS; s++) gsa_translation_release(t->system, &t->split[s]);
    gsa_pieces_release(&t->pieces);
    gsa_release(t->system, t);
}

/* Does the text of a stack have cross:align=1? A text that is none is found later. */
static int is_aligned(const gsa_system *system, const char *text)
{
    gsa_stack_spec spec;
    int aligned = 0;
    if (gsa_spec_parse(system, text, &spec, NULL) != GSA_OK) return 0;
    for (int s = 0; s < spec.n_segments; s++)
        for (int p = 0; p < spec.segments[s].n_parts; p++) {
            const gsa_part_spec *part = &spec.segments[s].parts[p];
            for (int k = 0; k < part->n_settings && strcmp(part->id, "cross") == 0; k++)
                aligned |= strcmp(part->settings[k].key, "align") == 0 &&
                           strcmp(part->settings[k].value, "1") == 0;
        }
    gsa_spec_release(&spec);
    return aligned;
}

/* Without documents there is no context, and nobody thinks so who requests one. */
static gsa_status check_documents(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const int limited = v->data_previous_tokens > 0;
    if (v->data_documents) return GSA_OK;
    if (is_aligned(recipe->ini.system, v->model_decoder))
        return gsa_recipe_fail(
            recipe, "model", "decoder", error,
            "= %s aligns sentences, of which there is one in an example: cross:align=1 is for "
            "data.documents = 1",
            v->model_decoder);
    if (v->data_previous == 1 && !limited) return GSA_OK;
    return gsa_recipe_fail(
        recipe, "data", limited ? "previous_tokens" : "previous", error,
        "= %lld: sentences have others before them with data.documents = 1 alone",
        (long long)(limited ? v->data_previous_tokens : v->data_previous));
}

static gsa_status check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    if (!*v->model_decoder)
        return gsa_recipe_fail(recipe, "model", "decoder", error,
                               "is not set: translation needs one, such as full:causal=1+cross*3, "
                               "in which each token sees "
                               "those before it and the source");
    if (!*v->data_source != !*v->data_target)
        return gsa_recipe_fail(recipe, "data", *v->data_source ? "source" : "target", error,
                               "is set and %s is not: two files need both, one none",
                               *v->data_source ? "target" : "source");
    const gsa_status status = gsa_sample_check(recipe, error);
    return status == GSA_OK ? check_documents(recipe, error) : status;
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &o->recipe->values;
    gsa_translation *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system, t->decoder = v->model_decoder;
    t->smoothing = v->train_label_smoothing, t->lower = (int32_t)v->data_lower,
    t->longest = v->data_max_length;
    t->position_most =
        v->model_position == GSA_POSITION_LEARNED ? (int32_t)v->model_position_max : 0;
    t->search = (gsa_translate_options){ .first_class = FIRST_CLASS,
                                         .never = GSA_WORD_FIRST,
                                         .width = (int32_t)v->decode_beam,
                                         .penalty = (int32_t)v->decode_penalty,
                                         .alpha = v->decode_alpha,
                                         .coverage = v->decode_coverage };
    t->parallel = (gsa_parallel_options){ .suffix = { v->data_source, v->data_target },
                                          .columns = v->data_columns,
                                          .lower = t->lower,
                                          .tokens = (int32_t)v->data_tokens,
                                          .documents = (int32_t)v->data_documents };
    t->previous = v->data_documents ? v->data_previous : 0,
    t->previous_tokens = v->data_previous_tokens;
    const gsa_status status = gsa_translation_read(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    return ((const gsa_translation *)self)->split[split].examples;
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const gsa_translation *)self)->split[split].both;
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += gsa_pair_pieces(&((const gsa_translation *)self)->split[split], GSA_TARGET,
                               example[i]) +
               1;
    return sum;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *o, gsa_task_plan *plan,
                       gsa_error *error)
{
    const gsa_translation *t = self;
    const gsa_recipe_values *v = &o->recipe->values;
    (void)error;
    *plan = (gsa_task_plan){
        .sequence = { "source", "target" },
        .pass = { { .stack = "encoder", .sequence = "source" },
                  { .stack = "decoder", .sequence = "target", .memory = "encoder" } },
        .n_sequences = 2,
        .n_passes = 2,
        .input = { { .vocabulary = t->pieces.size,
                     .width = (int32_t)v->model_embedding,
                     .embedding_std = v->model_embedding_std } },
        .n_inputs = 1,
        .stack = { { .name = "encoder" },
                   { .name = "decoder",
                     .spec = t->decoder,
                     .reads = GSA_READ_SEQUENCE,
                     .causal = 1 } },
        .n_stacks = 2,
        .head_pass = 1,
        .outputs = t->pieces.size - FIRST_CLASS,
        .tied = 1,
        .first_class = FIRST_CLASS
    };
    return GSA_OK;
}

static void put(const gsa_translation *t, gsa_minibatch_sequence *to, int64_t at, int32_t id,
                int32_t group)
{
    static const gsa_slice begin = { "<s>", 3 }, end = { "</s>", 4 };
    to->id[at] = id;
    to->text[at] = id == t->pieces.begin ? begin
                   : id == t->pieces.end ? end
                                         : gsa_vocabulary_word(t->pieces.vocabulary, id);
    if (to->grouped) to->group[at] = group;
}

/* One side of an example: its sentences with </s> after each, or of the target <s> before the
 * first and </s> before others; how many tokens. */
static int64_t put_side(const gsa_translation *t, const gsa_pair_split *of, int side,
                        gsa_minibatch_sequence *to, int64_t at, int64_t example)
{
    const gsa_piece_row *row = &of->row[side];
    const int32_t before = gsa_pair_before(of, example);
    const int64_t start = at;
    for (int32_t g = 0; g <= before; g++) {
        const int64_t e = example - before + g;
        if (side == GSA_TARGET) put(t, to, at++, g > 0 ? t->pieces.end : t->pieces.begin, g);
        for (int64_t i = row->first[e]; i < row->first[e + 1]; i++) put(t, to, at++, row->id[i], g);
        if (side == GSA_SOURCE) put(t, to, at++, t->pieces.end, g);
    }
    return at - start;
}

static gsa_status begin(const gsa_translation *t, int split, const int64_t *example, int32_t count,
                        gsa_minibatch *batch, gsa_error *error)
{
    const gsa_pair_split *of = &t->split[split];
    int64_t tokens[GSA_SIDES] = { 0, 0 }, own = 0;
    for (int32_t i = 0; i < count; i++) {
        own += gsa_pair_pieces(of, GSA_TARGET, example[i]) + 1;
        for (int s = 0; s < GSA_SIDES; s++)
            tokens[s] += gsa_pair_tokens(of, s, example[i], gsa_pair_before(of, example[i]));
    }
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    for (int s = 0; s < GSA_SIDES && status == GSA_OK; s++) {
        status = gsa_minibatch_sequence_size(batch, s, count, tokens[s], 0, error);
        if (status == GSA_OK && of->before) status = gsa_minibatch_groups(batch, s, error);
    }
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, own, 0, error);
    return status == GSA_OK && of->before ? gsa_minibatch_pick(batch, error) : status;
}

/* The labels of an example, whose target ends at row `end`; how many. */
static int64_t put_labels(const gsa_translation *t, const gsa_pair_split *of, gsa_minibatch *batch,
                          int64_t at, int64_t end, int64_t example)
{
    const gsa_piece_row *target = &of->row[GSA_TARGET];
    const int64_t n = gsa_pair_pieces(of, GSA_TARGET, example);
    for (int64_t k = 0; k <= n; k++) {
        batch->label[at + k] =
            (k < n ? target->id[target->first[example] + k] : t->pieces.end) - FIRST_CLASS;
        if (batch->picks) batch->pick[at + k] = (int32_t)(end - n - 1 + k);
    }
    return n + 1;
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const gsa_translation *t = self;
    const gsa_pair_split *of = &t->split[split];
    int64_t at[GSA_SIDES] = { 0, 0 }, labels = 0;
    const gsa_status status = begin(t, split, example, count, batch, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        for (int s = 0; s < GSA_SIDES; s++) {
            gsa_minibatch_sequence *to = &batch->sequence[s];
            to->length[i] = (int32_t)put_side(t, of, s, to, at[s], example[i]);
            at[s] += to->length[i];
        }
        labels += put_labels(t, of, batch, labels, at[GSA_TARGET], example[i]);
    }
    return status;
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale)
{
    const int32_t *labels =
        gsa_tape_upload(tape, batch->label, batch->targets * (int64_t)sizeof *batch->label);
    return labels ? gsa_op_smooth_entropy(tape, out, labels,
                                          ((const gsa_translation *)self)->smoothing, scale)
                  : NULL;
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    for (int32_t e = 0; e < batch->count; e++) {
        const int64_t tokens = targets(self, batch->split, &batch->example[e], 1);
        for (int64_t i = 0; i < tokens; i++) unit[e].loss += *out++;
        unit[e].targets = tokens, unit[e].examples = 1;
    }
}

static int metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    if (room < 1 || score->targets == 0) return 0;
    facts[0] = (gsa_fact){ "perplexity", exp(score->loss / (double)score->targets) };
    return 1;
}

static void signature(const void *self, const gsa_recipe_values *values, char *text, size_t room)
{
    static const char *const penalties[] = { "wu", "length" };
    const gsa_translation *t = self;
    char pieces[32] = "words", context[64] = "", coverage[32] = "";
    if (t->pieces.bpe) snprintf(pieces, sizeof pieces, "bpe-%d", gsa_bpe_merges(t->pieces.bpe));
    if (values->data_documents)
        snprintf(context, sizeof context, "|previous:%lld|previous_tokens:%lld",
                 (long long)values->data_previous, (long long)values->data_previous_tokens);
    if (t->search.coverage > 0)
        snprintf(coverage, sizeof coverage, "|coverage:%g", t->search.coverage);
    snprintf(text, room, "pieces:%s|case:%s%s|beam:%d|penalty:%s-%g%s", pieces,
             t->lower ? "lower" : "mixed", context, t->search.width,
             penalties[values->decode_penalty], t->search.alpha, coverage);
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    return gsa_pieces_save(&((const gsa_translation *)self)->pieces, checkpoint, error);
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const gsa_translation *t = self;
    if (room < 2) return 0;
    facts[0] = (gsa_fact){ "pieces", t->pieces.size };
    facts[1] = (gsa_fact){ "merges", t->pieces.bpe ? gsa_bpe_merges(t->pieces.bpe) : 0 };
    return 2;
}

const gsa_task gsa_task_translation = {
    .name = "translation",
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
    .save = save,
    .facts = facts,
    .metrics = metrics,
    .signature = signature,
    .read_lines = gsa_translation_read_lines,
    .survey = gsa_translation_survey,
    .findings = gsa_translation_findings,
    .decode_split = gsa_translation_decode,
};
