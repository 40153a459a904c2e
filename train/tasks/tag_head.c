/* tag_head.c - tags from scores: a linear head takes each token's best label, or with `legal` the
 * best legal path of equal steps; a CRF (Lafferty et al. 2001) the best path under its
 * transitions. */
#include <stdio.h>
#include <string.h>
#include "train/tasks/classes.h"
#include "train/score/report.h"
#include "train/tasks/tagging_parts.h"

void gsa_tagging_release_head(tag_task *t)
{
    void *const all[] = { t->allowed, t->unit, t->nll,    t->path,    t->name,
                          t->tag,     t->span, t->letter, t->written, t->written_bytes };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(t->system, all[i]);
    gsa_span_score_release(&t->lenient);
    gsa_span_score_release(&t->strict);
}

/* ---- the chain ----------------------------------------------------------------------------- */

/* The CRF over the batch's sentences; without one, steps cost nothing. */
static gsa_crf_op chain(const tag_task *t, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch)
{
    const gsa_minibatch_sequence *words = &batch->sequence[TAG_WORDS];
    const int64_t tags = t->labels.count, bytes = (words->count + 1) * (int64_t)sizeof(int64_t);
    int64_t *offset = gsa_tape_host(tape, bytes);
    if (offset) offset[0] = 0;
    for (int32_t s = 0; offset && s < words->count; s++)
        offset[s + 1] = offset[s] + words->length[s];
    gsa_crf_op op = { .emissions = out, .sequences = words->count };
    op.offset = offset ? gsa_tape_upload(tape, offset, bytes) : NULL;
    op.targets =
        gsa_tape_upload(tape, batch->label, batch->targets * (int64_t)sizeof *batch->label);
    if (t->allowed) op.allowed = gsa_tape_upload(tape, t->allowed, (tags + 2) * tags);
    op.transitions = t->crf ? &t->transitions->value : gsa_tape_zeros(tape, tags, tags);
    op.start = t->crf ? &t->start->value : gsa_tape_zeros(tape, 1, tags);
    op.end = t->crf ? &t->end->value : op.start;
    return op;
}

gsa_tensor *gsa_tagging_loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                             const gsa_minibatch *batch, double scale)
{
    const tag_task *t = self;
    if (!t->crf) return gsa_classes_loss(t, tape, out, batch, scale);
    const gsa_crf_op op = chain(t, tape, out, batch);
    return gsa_op_crf(tape, &op, scale);
}

/* ---- tags as they are written out ---------------------------------------------------------- */

static const char letters[] = "BIESM";
enum { LETTERS = 5 };

gsa_status gsa_tagging_make_written(tag_task *t, gsa_error *error)
{
    const int32_t labels = t->labels.count;
    int64_t room = 1;
    if (t->scheme == t->learned) return GSA_OK;
    for (int32_t l = 0; l < labels; l++) room += LETTERS * (t->labels.name[l].bytes + 4);
    char *at = t->written_bytes = gsa_alloc(t->system, (size_t)room, 1);
    t->written = gsa_alloc(t->system, (size_t)labels, LETTERS * sizeof *t->written);
    if (!at || !t->written) return gsa_out_of_memory(error, "tags", room + labels * INT64_C(80));
    for (int32_t i = 0; i < labels * LETTERS; i++) {
        const gsa_slice type = gsa_tag_of(t->labels.name[i / LETTERS]).type;
        t->written[i] = (gsa_slice){ at, gsa_tag_write(at, (size_t)type.bytes + 3,
                                                       letters[i % LETTERS], type) };
        at += t->written[i].bytes + 1;
    }
    return GSA_OK;
}

/* A sentence's tags in the scheme of the files: through their spans, as conlleval reads them, so
 * its count stays what it is. */
static void write_sentence(tag_task *t, const int32_t *found, int64_t count, gsa_slice *tag)
{
    static const gsa_slice outside = { "O", 1 };
    for (int64_t i = 0; i < count; i++) t->name[i] = t->labels.name[found[i]];
    if (count > 0) memmove(tag, t->name, (size_t)count * sizeof *tag);
    if (!t->written) return;
    gsa_spans_letters(t->scheme, t->span, gsa_spans_lenient(t->name, count, t->span), count,
                      t->letter);
    for (int64_t i = 0; i < count; i++)
        tag[i] = t->letter[i] == 'O'
                     ? outside
                     : t->written[found[i] * LETTERS + (strchr(letters, t->letter[i]) - letters)];
}

/* ---- decoding ------------------------------------------------------------------------------ */

static int hold(const gsa_system *system, void **at, int64_t *room, int64_t count, size_t size)
{
    if (count <= *room && *at) return 1;
    gsa_release(system, *at);
    *at = gsa_alloc(system, (size_t)count, size);
    *room = *at ? count : 0;
    return *at != NULL;
}

#define HOLD(member, count)                                                                        \
    (at = t->member, ok = hold(t->system, &at, &t->member##_room, count, sizeof *t->member),       \
     t->member = at, ok)

gsa_status gsa_tagging_hold(tag_task *t, int64_t tags, int64_t longest, gsa_error *error)
{
    void *at;
    int ok;
    const int whole =
        HOLD(tag, tags) && HOLD(name, longest) && HOLD(span, longest) && HOLD(letter, longest);
    return whole ? GSA_OK : gsa_out_of_memory(error, "tags", tags * 16 + longest * 40);
}

static gsa_status make_room(tag_task *t, const gsa_minibatch *batch, int64_t longest,
                            gsa_error *error)
{
    void *at;
    int ok;
    const gsa_status status = gsa_tagging_hold(t, batch->targets, longest, error);
    if (status != GSA_OK) return status;
    if (!HOLD(unit, batch->count) || !HOLD(nll, batch->count) || !HOLD(path, batch->targets))
        return gsa_out_of_memory(error, "the tags of a batch", batch->targets * 4);
    memset(t->unit, 0, (size_t)batch->count * sizeof *t->unit);
    return GSA_OK;
}

/* The loss of each sentence, and the best paths, of which one that is no number anywhere has label
 * 0. */
static gsa_status find_paths(tag_task *t, gsa_tape *tape, gsa_tensor *out,
                             const gsa_minibatch *batch, gsa_error *error)
{
    gsa_backend *backend = gsa_tape_backend(tape);
    gsa_crf_op op = chain(t, tape, out, batch);
    gsa_status status = gsa_crf_decode(tape, &op, t->path, NULL, error);
    for (int64_t i = 0; i < batch->targets && status == GSA_OK; i++)
        if (t->path[i] < 0) t->path[i] = 0;
    if (status != GSA_OK || !t->crf || t->untagged) return status;
    gsa_tensor each = { .rows = batch->count,
                        .cols = 1,
                        .data =
                            gsa_tape_memory(tape, batch->count * (int64_t)backend->real_bytes) };
    op.nll = each.data;
    gsa_op_crf(tape, &op, 1);
    status = gsa_tape_status(tape, error);
    return status == GSA_OK ? gsa_tensor_read(backend, &each, 0, t->nll, error) : status;
}

static void take_best(tag_task *t, const double *out, int64_t rows)
{
    const int32_t labels = t->labels.count;
    for (int64_t i = 0; i < rows; i++, out += labels) {
        t->path[i] = 0;
        for (int32_t l = 1; l < labels; l++)
            if (out[l] > out[t->path[i]]) t->path[i] = l;
    }
}

static gsa_status judge_spans(tag_task *t, gsa_span_score *score, const gsa_slice *gold,
                              int64_t count, gsa_error *error)
{
    score->types = score->tokens = score->right_tokens = 0;
    score->all = (gsa_span_counts){ 0 };
    score->inside = 0;
    const gsa_status status = gsa_span_score_add(score, gold, t->name, count, error);
    gsa_span_score_finish(score);
    return status;
}

gsa_status gsa_tagging_judge(tag_task *t, int split, int64_t first, int64_t count,
                             const int32_t *found, gsa_score *unit, gsa_error *error)
{
    const gsa_slice *gold = t->split[split].conll.tag + first;
    gsa_status status = GSA_OK;
    write_sentence(t, found, count, t->tag);
    for (int64_t i = 0; i < count; i++) unit->right += gsa_slice_compare(gold[i], t->tag[i]) == 0;
    unit->examples += count;
    if (t->scheme == GSA_SCHEME_NONE) return GSA_OK;
    status = judge_spans(t, &t->lenient, gold, count, error);
    if (status == GSA_OK) status = judge_spans(t, &t->strict, gold, count, error);
    unit->hits = t->lenient.all.right, unit->found = t->lenient.all.found,
    unit->wanted = t->lenient.all.gold;
    unit->strict_hits = t->strict.all.right, unit->strict_found = t->strict.all.found;
    unit->strict_wanted = t->strict.all.gold;
    return status;
}

/* Out is on the host too, in the caller's array; a linear head without `legal` reads it in
 * score. */
gsa_status gsa_tagging_decode(void *self, int split, gsa_tape *tape, gsa_tensor *out,
                              const double *values, const gsa_minibatch *batch, gsa_error *error)
{
    tag_task *t = self;
    const gsa_minibatch_sequence *words = &batch->sequence[TAG_WORDS];
    gsa_status status = make_room(t, batch, t->split[split].conll.longest, error);
    if (status != GSA_OK) return status;
    if (t->crf || t->legal) status = find_paths(t, tape, out, batch, error);
    else take_best(t, values, batch->targets);
    for (int64_t i = 0; i < batch->targets && status == GSA_OK; i++)
        t->found[split][batch->note[TAG_TOKEN][i]] = t->path[i];
    for (int32_t s = 0, row = 0; s < batch->count && status == GSA_OK; row += words->length[s++]) {
        if (t->untagged) write_sentence(t, t->path + row, words->length[s], t->tag + row);
        else
            status = gsa_tagging_judge(t, split, batch->note[TAG_TOKEN][row], words->length[s],
                                       t->path + row, &t->unit[s], error);
    }
    return status;
}

void gsa_tagging_score(const void *self, const double *out, const gsa_minibatch *batch,
                       gsa_score *unit)
{
    const tag_task *t = self;
    const int32_t *length = batch->sequence[TAG_WORDS].length, labels = t->labels.count;
    for (int32_t u = 0, row = 0; u < batch->count; row += length[u++]) {
        gsa_score plain = { 0 };
        for (int32_t i = row; i < row + length[u]; i++)
            gsa_classes_score_row(out + (int64_t)i * labels, labels, -1, batch->label[i], &plain);
        unit[u] = t->unit[u];
        unit[u].loss = t->crf ? t->nll[u] : plain.loss, unit[u].targets = plain.targets;
    }
}

int gsa_tagging_span_metrics(const gsa_score *score, gsa_fact *facts, int room)
{
    const gsa_score strict = { .hits = score->strict_hits,
                               .found = score->strict_found,
                               .wanted = score->strict_wanted };
    const double hits = (double)score->hits;
    const gsa_fact all[] = { { "f1_strict", gsa_f1(&strict) },
                             { "precision", score->found > 0 ? hits / (double)score->found : 0 },
                             { "recall", score->wanted > 0 ? hits / (double)score->wanted : 0 },
                             { "accuracy",
                               score->examples > 0 ? score->right / (double)score->examples : 0 } };
    return gsa_facts_copy(facts, room, all, (int)(sizeof all / sizeof *all));
}

/* ---- the report ---------------------------------------------------------------------------- */

/* A row is a token of the split: until gsa_tagging_findings of the labels that are learned. */
gsa_status gsa_tagging_survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, ((const tag_task *)self)->split[survey->split].conll.tokens, 0,
                           error);
}

void gsa_tagging_observe(const void *self, const double *out, const gsa_minibatch *batch,
                         const int64_t *example, gsa_survey *survey)
{
    const tag_task *t = self;
    const int32_t labels = t->labels.count;
    (void)example;
    for (int64_t i = 0; i < batch->targets; i++, out += labels)
        survey->found[batch->note[TAG_TOKEN][i]] =
            gsa_found_of(out, labels, batch->label[i], t->path[i]);
}

static void describe(const void *self, int split, int64_t row, json_t *object)
{
    const gsa_conll *c = &((const tag_task *)self)->split[split].conll;
    int64_t low = 0, high = c->sentences; /* the sentence that holds the token */
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (c->offset[middle] <= row) low = middle;
        else high = middle;
    }
    json_object_set_new(object, "line", json_integer(c->line[row]));
    json_object_set_new(object, "token", gsa_json_slice(c->word[row]));
    json_object_set_new(
        object, "text",
        gsa_json_words(c->word + c->offset[low], c->offset[low + 1] - c->offset[low]));
}

/* The file's own tags and those that would be written, numbered in `names`. */
static gsa_status number_tags(tag_task *t, gsa_survey *survey, const gsa_slice *written,
                              gsa_labels *names, gsa_error *error)
{
    const gsa_slice *gold = t->split[survey->split].conll.tag;
    gsa_status status = GSA_OK;
    int32_t room = 0;
    for (int64_t i = 0; i < 2 * survey->rows && status == GSA_OK; i++)
        status = gsa_labels_add(names, i % 2 ? written[i / 2] : gold[i / 2], &room, error);
    gsa_labels_sort(names);
    for (int64_t i = 0; i < survey->rows && status == GSA_OK; i++)
        survey->found[i].gold = gsa_labels_find(names, gold[i]),
        survey->found[i].label = gsa_labels_find(names, written[i]);
    return status;
}

static gsa_status count_spans(tag_task *t, int split, int strict, const gsa_slice *written,
                              gsa_span_score *score, gsa_error *error)
{
    const gsa_conll *c = &t->split[split].conll;
    gsa_status status = GSA_OK;
    *score = (gsa_span_score){
        .system = t->system, .strict = strict, .gold_scheme = t->scheme, .found_scheme = t->learned
    };
    for (int64_t s = 0; s < c->sentences && status == GSA_OK; s++) {
        const int64_t first = c->offset[s], count = c->offset[s + 1] - first;
        for (int64_t i = 0; i < count; i++) t->name[i] = t->labels.name[t->found[split][first + i]];
        status = gsa_span_score_add(score, c->tag + first, strict ? t->name : written + first,
                                    count, error);
    }
    gsa_span_score_finish(score);
    return status;
}

static gsa_status add_entities(tag_task *t, int split, const gsa_slice *written, json_t *object,
                               gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int strict = 0; strict < 2 && status == GSA_OK && t->scheme != GSA_SCHEME_NONE; strict++) {
        gsa_span_score score;
        status = count_spans(t, split, strict, written, &score, error);
        if (status == GSA_OK)
            json_object_set_new(object, strict ? "entities_strict" : "entities",
                                gsa_report_spans(&score));
        gsa_span_score_release(&score);
    }
    return status;
}

gsa_status gsa_tagging_findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    tag_task *t = self;
    const int split = survey->split;
    const gsa_conll *c = &t->split[split].conll;
    gsa_labels names = { .system = t->system };
    gsa_slice *written = gsa_alloc(t->system, (size_t)survey->rows, sizeof *written);
    gsa_status status = written ? GSA_OK : gsa_out_of_memory(error, "a report", survey->rows * 16);
    for (int64_t s = 0; s < c->sentences && status == GSA_OK; s++)
        write_sentence(t, t->found[split] + c->offset[s], c->offset[s + 1] - c->offset[s],
                       written + c->offset[s]);
    if (status == GSA_OK) status = number_tags(t, survey, written, &names, error);
    if (status == GSA_OK)
        status = gsa_report_classes(survey, names.name, names.count, !t->crf,
                                    &(gsa_row_teller){ t, describe }, object, error);
    if (status == GSA_OK) status = add_entities(t, split, written, object, error);
    gsa_release(t->system, written);
    gsa_labels_release(&names);
    return status;
}

/* ---- what people read ---------------------------------------------------------------------- */

static gsa_status report_one(tag_task *t, int split, int strict, gsa_output *output,
                             gsa_error *error)
{
    const gsa_conll *c = &t->split[split].conll;
    gsa_span_score score = {
        .system = t->system, .strict = strict, .gold_scheme = t->scheme, .found_scheme = t->learned
    };
    gsa_status status = GSA_OK;
    for (int64_t s = 0; s < c->sentences && status == GSA_OK; s++) {
        const int64_t first = c->offset[s], count = c->offset[s + 1] - first;
        if (!strict) write_sentence(t, t->found[split] + first, count, t->name);
        for (int64_t i = 0; strict && i < count; i++)
            t->name[i] = t->labels.name[t->found[split][first + i]];
        status = gsa_span_score_add(&score, c->tag + first, t->name, count, error);
    }
    gsa_span_score_finish(&score);
    gsa_output_format(output, "%s, %s\n", gsa_split_name(split),
                      strict ? "strict" : "lenient (conlleval)");
    if (status == GSA_OK) gsa_span_report(&score, output);
    gsa_output_text(output, "\n");
    gsa_span_score_release(&score);
    return status;
}

gsa_status gsa_tagging_report(void *self, int split, gsa_output *output, gsa_error *error)
{
    tag_task *t = self;
    if (t->split[split].conll.sentences == 0) return GSA_OK;
    if (t->scheme == GSA_SCHEME_NONE) return GSA_OK;
    const gsa_status status = report_one(t, split, 0, output, error);
    return status == GSA_OK ? report_one(t, split, 1, output, error) : status;
}

static const char *line_end(const char *at)
{
    return at + strcspn(at, "\n");
}

/* A line a token of running text, an empty line after each sentence; lines without a token
 * stay. */
static void print_sentences(const tag_task *t, const gsa_minibatch *batch, gsa_output *output)
{
    const gsa_conll *c = &t->split[GSA_SPLIT_TEST].conll;
    const gsa_text *text = &t->split[GSA_SPLIT_TEST].taken;
    for (int64_t i = 0; i < batch->targets; i++) {
        const int64_t token = batch->note[TAG_TOKEN][i], last = token + 1 == c->tokens;
        for (int64_t l = token > 0 ? c->line[token - 1] : 1; l < c->line[token]; l++)
            gsa_output_text(output, "\n");
        gsa_output_write(output, c->word[token].at, c->word[token].bytes);
        gsa_output_text(output, "\t");
        gsa_output_write(output, t->tag[i].at, t->tag[i].bytes);
        gsa_output_text(output, "\n");
        for (int64_t l = c->line[token]; last && l <= text->line[text->examples - 1]; l++)
            gsa_output_text(output, "\n");
    }
}

/* The input's lines, each token's with its tag as a last column; what is between tokens stays
 * as it is. */
void gsa_tagging_print(const void *self, const double *out, const gsa_minibatch *batch,
                       gsa_output *output)
{
    const tag_task *t = self;
    const gsa_conll *c = &t->split[GSA_SPLIT_TEST].conll;
    (void)out;
    if (t->split[GSA_SPLIT_TEST].taken.path) {
        print_sentences(t, batch, output);
        return;
    }
    for (int64_t i = 0; i < batch->targets; i++) {
        const int64_t token = batch->note[TAG_TOKEN][i];
        const char *end = line_end(c->word[token].at);
        const char *first = token > 0 ? line_end(c->word[token - 1].at) + 1 : c->bytes;
        const gsa_slice tag = t->tag[i];
        const int returns = end > c->word[token].at && end[-1] == '\r';
        gsa_output_write(output, first, end - returns - first);
        gsa_output_text(output, c->tabs ? "\t" : " ");
        gsa_output_write(output, tag.at, tag.bytes);
        gsa_output_text(output, returns ? "\r\n" : "\n");
        if (token + 1 == c->tokens && *end) gsa_output_text(output, end + 1);
    }
}
