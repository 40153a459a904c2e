/* translation_decode.c - the sentences of a split translated, written and scored, in the order of
 * their file.
 *
 * A sentence of a document is translated after what was written of those before it, not after
 * their references. So a document goes sentence by sentence, and as many documents as a batch has
 * room for go side by side; without documents each sentence is one. */
#include <stdio.h>
#include <string.h>
#include "gsa/group.h"
#include "train/score/report.h"
#include "train/tasks/translation_parts.h"

typedef struct translator {
    gsa_translation *task;
    gsa_learner *learner;
    const gsa_pair_split *split;
    const gsa_decode_options *options;
    gsa_translator *search;
    gsa_translate_job job;
    /* a batch */
    int64_t
        *next; /* [batch] the sentence that place i of a batch goes on with, -1: a new document */
    int64_t *chosen; /* [count] its sentences */
    int32_t *before, *length, *most,
        *context_length; /* [count] of these; before: sentences of context */
    int32_t *source, *group, *context, *context_group;
    int64_t unopened; /* documents that start before this sentence are under way or done */
    /* what was written */
    int32_t *pack; /* of this rank since the last `take` */
    int64_t packed, pack_room;
    int32_t *id;
    int64_t used, room;
    int64_t *first;      /* [examples] where it starts in id */
    int32_t *made;       /* [examples] tokens; -1: not yet */
    int64_t shown, line; /* sentences and lines of the file that were told */
    gsa_bleu_counts bleu;
    gsa_chrf_counts chrf;
    char *text[2]; /* a translation; its reference */
    int64_t text_room[2];
} translator;

/* ---- which sentences ----------------------------------------------------------------------- */

static int64_t open_document(translator *x)
{
    const gsa_pair_split *split = x->split;
    while (x->unopened < split->examples && gsa_pair_before(split, x->unopened) > 0) x->unopened++;
    return x->unopened < split->examples ? x->unopened++ : -1;
}

/* The next sentence of each document under way, and of new ones where there is room. */
static int32_t choose(translator *x)
{
    int32_t count = 0;
    for (int32_t i = 0; i < x->options->batch; i++) {
        if (x->next[i] < 0) x->next[i] = open_document(x);
        if (x->next[i] >= 0) x->chosen[count++] = x->next[i];
    }
    return count;
}

static void go_on(translator *x)
{
    for (int32_t i = 0; i < x->options->batch; i++) {
        if (x->next[i] < 0) continue;
        const int64_t e = x->next[i] + 1;
        x->next[i] = e < x->split->examples && gsa_pair_before(x->split, e) > 0 ? e : -1;
    }
}

/* ---- a batch ------------------------------------------------------------------------------- */

/* Twice the source and twenty tokens more, as far as positions go. */
static int32_t most_of(const translator *x, int64_t example)
{
    const int64_t most = 2 * gsa_pair_pieces(x->split, GSA_SOURCE, example) + 20,
                  positions = x->task->position_most;
    return (int32_t)(positions > 0 && most > positions - 1 ? positions - 1 : most);
}

/* Tokens of what was written of the `before` sentences before an example, each with <s> or </s>. */
static int64_t written(const translator *x, int64_t example, int32_t before)
{
    int64_t tokens = before;
    for (int32_t k = 1; k <= before; k++) tokens += x->made[example - k];
    return tokens;
}

/* Sentences of context, the farthest left out where positions do not reach. */
static int32_t context_of(const translator *x, int64_t example)
{
    const int64_t positions = x->task->position_most;
    int32_t before = gsa_pair_before(x->split, example);
    while (positions > 0 && before > 0 &&
           (gsa_pair_tokens(x->split, GSA_SOURCE, example, before) > positions ||
            written(x, example, before) + 1 + most_of(x, example) > positions))
        before--;
    return before;
}

static int64_t put_source(translator *x, int64_t at, int64_t example, int32_t before)
{
    const gsa_piece_row *row = &x->split->row[GSA_SOURCE];
    for (int32_t g = 0; g <= before; g++) {
        const int64_t e = example - before + g, n = row->first[e + 1] - row->first[e];
        if (n > 0) memcpy(x->source + at, row->id + row->first[e], (size_t)n * sizeof *x->source);
        x->source[at + n] = x->task->pieces.end;
        for (int64_t i = 0; i <= n; i++) x->group[at + i] = g;
        at += n + 1;
    }
    return at;
}

static int64_t put_context(translator *x, int64_t at, int64_t example, int32_t before)
{
    for (int32_t g = 0; g < before; g++) {
        const int64_t e = example - before + g, n = x->made[e];
        x->context[at] = g > 0 ? x->task->pieces.end : x->task->pieces.begin;
        if (n > 0) memcpy(x->context + at + 1, x->id + x->first[e], (size_t)n * sizeof *x->context);
        for (int64_t i = 0; i <= n; i++) x->context_group[at + i] = g;
        at += n + 1;
    }
    return at;
}

static gsa_status reserve_job(translator *x, int64_t sources, int64_t contexts, gsa_error *error)
{
    const gsa_system *system = x->task->system;
    int32_t **const all[] = { &x->source, &x->group, &x->context, &x->context_group,
                              &x->job.target };
    const int64_t numbers[] = { sources, sources, contexts, contexts,
                                (int64_t)x->job.count * x->job.room };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        gsa_release(system, *all[i]);
        *all[i] = gsa_alloc(system, (size_t)numbers[i], sizeof **all[i]);
        if (!*all[i]) return gsa_out_of_memory(error, "a batch to translate", numbers[i] * 4);
    }
    return GSA_OK;
}

static gsa_status fill_job(translator *x, int32_t count, gsa_error *error)
{
    int64_t sources = 0, contexts = 0;
    x->job.room = 0, x->job.count = count;
    for (int32_t i = 0; i < count; i++) {
        const int64_t e = x->chosen[i];
        x->before[i] = context_of(x, e), x->most[i] = most_of(x, e);
        x->length[i] = (int32_t)gsa_pair_tokens(x->split, GSA_SOURCE, e, x->before[i]);
        x->context_length[i] = (int32_t)written(x, e, x->before[i]);
        sources += x->length[i], contexts += x->context_length[i];
        if (x->most[i] > x->job.room) x->job.room = x->most[i];
    }
    const gsa_status status = reserve_job(x, sources, contexts, error);
    if (status != GSA_OK) return status;
    sources = contexts = 0;
    for (int32_t i = 0; i < count; i++) {
        sources = put_source(x, sources, x->chosen[i], x->before[i]);
        contexts = put_context(x, contexts, x->chosen[i], x->before[i]);
    }
    x->job.source = x->source, x->job.length = x->length, x->job.most = x->most;
    if (!x->split->before) return GSA_OK;
    x->job.group = x->group, x->job.context = x->context, x->job.context_group = x->context_group;
    x->job.context_length = x->context_length;
    return GSA_OK;
}

/* The batch's sentences, each by its number, its tokens' number and its tokens. */
static gsa_status pack(translator *x, gsa_error *error)
{
    const gsa_translate_job *job = &x->job;
    int64_t numbers = x->packed;
    for (int32_t i = 0; i < job->count; i++) numbers += 3 + job->made[i];
    if (numbers > x->pack_room) {
        int32_t *larger = gsa_resize(x->task->system, x->pack, (size_t)numbers, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "translations", numbers * 4);
        x->pack = larger, x->pack_room = numbers;
    }
    for (int32_t i = 0; i < job->count; i++) {
        const int32_t made = job->made[i];
        int32_t *to = x->pack + x->packed;
        memcpy(to, &x->chosen[i], sizeof x->chosen[i]);
        to[2] = made;
        if (made > 0)
            memcpy(to + 3, job->target + (int64_t)i * job->room, (size_t)made * sizeof *to);
        x->packed += 3 + made;
    }
    return GSA_OK;
}

/* What all ranks packed. */
static gsa_status take(translator *x, gsa_status status, gsa_error *error)
{
    const void *all;
    int64_t bytes;
    status = gsa_group_join(x->options->group, status, x->pack, x->packed * 4, &all, &bytes, error);
    x->packed = 0;
    if (status != GSA_OK) return status;
    if (x->used + bytes / 4 > x->room) {
        const int64_t room = 2 * (x->used + bytes / 4) + 1024;
        int32_t *larger = gsa_resize(x->task->system, x->id, (size_t)room, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "translations", room * 4);
        x->id = larger, x->room = room;
    }
    for (const int32_t *at = all, *end = at + bytes / 4; at < end; at += 3 + at[2]) {
        int64_t e;
        memcpy(&e, at, sizeof e);
        if (at[2] > 0) memcpy(x->id + x->used, at + 3, (size_t)at[2] * sizeof *x->id);
        x->first[e] = x->used, x->made[e] = at[2];
        x->used += at[2];
    }
    return GSA_OK;
}

/* ---- scores and lines ---------------------------------------------------------------------- */

/* The words of a reference with a blank between two. */
static gsa_status join_words(translator *x, const gsa_text *text, int64_t place, gsa_slice *line,
                             gsa_error *error)
{
    int64_t bytes = 0, used = 0;
    for (int64_t i = text->offset[place]; i < text->offset[place + 1]; i++)
        bytes += text->token[i].bytes + 1;
    if (bytes > x->text_room[1] || !x->text[1]) {
        char *larger = gsa_resize(x->task->system, x->text[1], (size_t)(2 * bytes + 1), 1);
        if (!larger) return gsa_out_of_memory(error, "a reference", 2 * bytes);
        x->text[1] = larger, x->text_room[1] = 2 * bytes;
    }
    for (int64_t i = text->offset[place]; i < text->offset[place + 1]; i++) {
        if (used > 0) x->text[1][used++] = ' ';
        memcpy(x->text[1] + used, text->token[i].at, (size_t)text->token[i].bytes);
        used += text->token[i].bytes;
    }
    *line = (gsa_slice){ x->text[1], used };
    return GSA_OK;
}

/* ---- reports: a row is a sentence ---------------------------------------------------------- */

enum { TOTAL = GSA_BLEU_ORDER, LENGTH = 2 * GSA_BLEU_ORDER, REFERENCE, CHRF, NUMBERS };

gsa_status gsa_translation_survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, ((const gsa_translation *)self)->split[survey->split].examples,
                           NUMBERS, error);
}

static gsa_status observe(gsa_survey *survey, int64_t example, gsa_slice line,
                          const gsa_bleu_counts *bleu, const gsa_chrf_counts *chrf,
                          gsa_error *error)
{
    double *row = survey->value + NUMBERS * example;
    for (int n = 0; n < GSA_BLEU_ORDER; n++)
        row[n] = (double)bleu->right[n], row[TOTAL + n] = (double)bleu->total[n];
    row[LENGTH] = (double)bleu->length, row[REFERENCE] = (double)bleu->reference;
    row[CHRF] = gsa_chrf_score(chrf);
    return gsa_survey_text(survey, example, line, error);
}

static gsa_bleu_counts counts_of(const double *row)
{
    gsa_bleu_counts counts = { .length = (int64_t)row[LENGTH],
                               .reference = (int64_t)row[REFERENCE] };
    for (int n = 0; n < GSA_BLEU_ORDER; n++)
        counts.right[n] = (int64_t)row[n], counts.total[n] = (int64_t)row[TOTAL + n];
    return counts;
}

static json_t *words_json(const gsa_text *text, int64_t place)
{
    const int64_t first = text->offset[place];
    return gsa_json_words(text->token + first, text->offset[place + 1] - first);
}

static json_t *sentence_json(const gsa_survey *survey, const gsa_pair_split *split, int64_t example)
{
    const double *row = survey->value + NUMBERS * example;
    const gsa_bleu_counts counts = counts_of(row);
    const char *text = survey->text_at[example] < 0 ? "" : survey->text + survey->text_at[example];
    const int64_t place = split->place ? split->place[example] : example;
    json_t *one = json_object();
    json_object_set_new(one, "example", json_integer(place));
    json_object_set_new(one, "chrf", json_real(row[CHRF]));
    json_object_set_new(one, "bleu", json_real(gsa_bleu_sentence(&counts)));
    json_object_set_new(one, "source", words_json(&split->text[GSA_SOURCE], place));
    json_object_set_new(one, "reference", words_json(&split->text[GSA_TARGET], place));
    json_object_set_new(one, "translation",
                        gsa_json_slice((gsa_slice){ text, (int64_t)strlen(text) }));
    return one;
}

gsa_status gsa_translation_findings(void *self, gsa_survey *survey, json_t *object,
                                    gsa_error *error)
{
    const gsa_pair_split *split = &((gsa_translation *)self)->split[survey->split];
    int64_t row[GSA_REPORT_WORST];
    gsa_bleu_counts all = { 0 };
    double *short_of = gsa_alloc(survey->system, (size_t)survey->rows, sizeof *short_of);
    if (!short_of) return gsa_out_of_memory(error, "a report", survey->rows * 8);
    for (int64_t i = 0; i < survey->rows; i++) {
        const gsa_bleu_counts counts = counts_of(survey->value + NUMBERS * i);
        gsa_bleu_add(&all, &counts);
        short_of[i] = 100 - survey->value[NUMBERS * i + CHRF];
    }
    const int64_t count = gsa_report_largest(short_of, survey->rows, 0, row, GSA_REPORT_WORST);
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, sentence_json(survey, split, row[i]));
    json_object_set_new(object, "bleu", gsa_report_bleu(&all));
    json_object_set_new(object, "worst", list);
    gsa_release(survey->system, short_of);
    return GSA_OK;
}

static gsa_status judge(translator *x, gsa_slice line, int64_t place, gsa_error *error)
{
    const gsa_translation *t = x->task;
    const gsa_text *reference = &x->split->text[GSA_TARGET];
    gsa_bleu_counts bleu;
    gsa_chrf_counts chrf;
    gsa_slice wanted;
    if (reference->examples == 0) return GSA_OK;
    gsa_status status = join_words(x, reference, place, &wanted, error);
    if (status == GSA_OK)
        status = gsa_bleu_count(t->system, line, &wanted, 1, t->lower, &bleu, error);
    if (status == GSA_OK)
        status = gsa_chrf_count(t->system, line, &wanted, 1, t->lower, &chrf, error);
    if (status != GSA_OK) return status;
    gsa_bleu_add(&x->bleu, &bleu);
    gsa_chrf_add(&x->chrf, &chrf);
    return x->options->survey ? observe(x->options->survey, x->shown, line, &bleu, &chrf, error)
                              : GSA_OK;
}

/* What is done of the file, as far as nothing is missing. Lines between documents stay empty. */
static gsa_status show(translator *x, gsa_error *error)
{
    const gsa_pair_split *split = x->split;
    gsa_output *output = x->options->output;
    gsa_status status = GSA_OK;
    for (; x->shown < split->examples && x->made[x->shown] >= 0 && status == GSA_OK; x->shown++) {
        const int64_t e = x->shown, place = split->place ? split->place[e] : e;
        gsa_slice line = { 0 };
        status = gsa_pieces_text(&x->task->pieces, x->id + x->first[e], x->made[e], &x->text[0],
                                 &x->text_room[0], &line.bytes, error);
        line.at = x->text[0];
        if (status == GSA_OK) status = judge(x, line, place, error);
        for (; status == GSA_OK && x->line < place; x->line++)
            if (output) gsa_output_text(output, "\n");
        if (status == GSA_OK && output) gsa_output_format(output, "%s\n", line.at);
        x->line = place + 1;
    }
    for (; x->shown == split->examples && x->line < split->text[GSA_SOURCE].examples &&
           status == GSA_OK;
         x->line++)
        if (output) gsa_output_text(output, "\n");
    return status;
}

static void report(const translator *x, gsa_decoded *decoded)
{
    const gsa_bleu bleu = gsa_bleu_score(&x->bleu);
    *decoded =
        (gsa_decoded){ .fact = { { "bleu", bleu.score },
                                 { "bleu_brevity", bleu.brevity },
                                 { "chrf", gsa_chrf_score(&x->chrf) } },
                       .facts = 3,
                       .note = { { .name = "bleu_signature" }, { .name = "chrf_signature" } },
                       .notes = 2 };
    gsa_bleu_signature(1, x->task->lower, decoded->note[0].text, sizeof decoded->note[0].text);
    gsa_chrf_signature(1, x->task->lower, decoded->note[1].text, sizeof decoded->note[1].text);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* For the batch that is in the job: contexts are as long as they are, and plans of one length
 * are of no use to another. Without documents the first one serves all, whose longest is that of
 * the split. */
static gsa_status open_search(translator *x, gsa_error *error)
{
    const gsa_pair_split *split = x->split;
    gsa_translate_options options = x->task->search;
    if (x->search && !split->before) return GSA_OK;
    options.begin = x->task->pieces.begin, options.end = x->task->pieces.end,
    options.longest = x->job.room;
    for (int32_t i = 0; i < x->job.count; i++)
        if (x->context_length[i] > options.context) options.context = x->context_length[i];
    for (int64_t e = 0; e < split->examples && !split->before; e++)
        if (most_of(x, e) > options.longest) options.longest = most_of(x, e);
    gsa_translator_release(x->search);
    return gsa_translator_create(x->learner, &options, &x->search, error);
}

static gsa_status begin(translator *x, gsa_error *error)
{
    const gsa_system *system = x->task->system;
    const size_t most = (size_t)x->options->batch, examples = (size_t)x->split->examples;
    int32_t **const lists[] = { &x->before, &x->length, &x->most, &x->context_length,
                                &x->job.made };
    int held = (x->next = gsa_alloc(system, most, sizeof *x->next)) != NULL;
    held = held && (x->chosen = gsa_alloc(system, most, sizeof *x->chosen)) != NULL;
    held = held && (x->first = gsa_alloc(system, examples, sizeof *x->first)) != NULL;
    held = held && (x->made = gsa_alloc(system, examples, sizeof *x->made)) != NULL;
    for (size_t i = 0; held && i < sizeof lists / sizeof *lists; i++)
        held = (*lists[i] = gsa_alloc(system, most, sizeof **lists[i])) != NULL;
    if (!held)
        return gsa_out_of_memory(error, "translations", (int64_t)(most * 36 + examples * 12));
    for (size_t i = 0; i < most; i++) x->next[i] = -1;
    for (size_t e = 0; e < examples; e++) x->made[e] = -1;
    return GSA_OK;
}

static void end(translator *x)
{
    void *const all[] = { x->next,           x->chosen,   x->before, x->length,  x->most,
                          x->context_length, x->source,   x->group,  x->context, x->context_group,
                          x->job.target,     x->job.made, x->id,     x->first,   x->made,
                          x->text[0],        x->text[1],  x->pack };
    gsa_translator_release(x->search);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(x->task->system, all[i]);
}

static gsa_status translate(translator *x, int32_t count, gsa_error *error)
{
    const gsa_decode_options *o = x->options;
    if (o->stop && *o->stop)
        return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request during translation");
    gsa_status status = fill_job(x, count, error);
    if (status == GSA_OK) status = open_search(x, error);
    if (status == GSA_OK) status = gsa_translate(x->search, &x->job, error);
    return status == GSA_OK ? pack(x, error) : status;
}

/* Ranks translate batches in turn; where a sentence waits for those before it, each translates
 * all. */
gsa_status gsa_translation_decode(void *self, gsa_learner *learner, const gsa_decode_options *o,
                                  gsa_decoded *decoded, gsa_error *error)
{
    gsa_translation *t = self;
    gsa_decode_options own = *o;
    translator x = { .task = t, .learner = learner, .split = &t->split[o->split], .options = &own };
    if (x.split->before) own.group = NULL;
    const int32_t ranks = gsa_group_ranks(own.group), rank = gsa_group_rank(own.group);
    gsa_status status = begin(&x, error);
    for (int32_t count = 1, turn = 0; status == GSA_OK && count > 0;) {
        for (turn = 0; turn < ranks && (count = choose(&x)) > 0; turn++, go_on(&x))
            if (turn == rank) status = translate(&x, count, error);
        if (turn > 0) status = take(&x, status, error);
        if (status == GSA_OK) status = show(&x, error);
    }
    if (status == GSA_OK) report(&x, decoded);
    end(&x);
    return status;
}
