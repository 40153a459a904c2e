/* predict.c - gsa_predict: the lines of a file, texts of the command line, a stream of lines. */
#include "train/use/predict.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "train/use/apply.h"
#include "train/driver/alike.h"
#include "train/tasks/classes.h"
#include "train/data/plain.h"
#include "train/predictor.h"
#include "train/driver/recycle.h"
#include "train/settings/keys.h"
#include "train/driver/trainer.h"

enum { LINE_MOST = 1 << 20, READ = 1 << 16 };

/* Lines from .. from + count - 1, as many as there are: their numbers are in one array, one after
 * the other. */
static gsa_wanted lines_from(const int64_t *number, int64_t lines, int64_t from, int64_t count)
{
    const int64_t left = from < lines ? lines - from : 0;
    return (gsa_wanted){ .split = GSA_SPLIT_TEST,
                         .count = (int32_t)(left < count ? left : count),
                         .example = number + lines - left };
}

static void print(const gsa_session *s, const gsa_predict_how *how, gsa_output *output)
{
    if (!how->top_k && !how->all) s->task->print(s->self, s->out, &s->batch, output);
    else
        gsa_classes_print_many(s->task->labels(s->self), s->out, s->batch.targets, how->top_k,
                               output);
}

/* Batches are shared by ranks in turn; those that share rows need each other in all. */
static gsa_status write_lines(gsa_session *s, const gsa_predict_how *how, gsa_turns *turns,
                              gsa_error *error)
{
    const int rows = s->rows.model != NULL, prints = !rows || gsa_group_rank(s->group) == 0;
    const gsa_batches_options limits = gsa_session_batches(s);
    const int64_t lines = s->task->examples(s->self, GSA_SPLIT_TEST);
    const int64_t most = limits.batch > 0 ? limits.batch : 64;
    int64_t *number = gsa_alloc(s->system, (size_t)lines, sizeof *number);
    const int64_t ranks = rows ? 1 : gsa_group_ranks(turns->group),
                  rank = rows ? 0 : gsa_group_rank(turns->group);
    if (s->task->opening) gsa_output_text(turns->whole, s->task->opening);
    gsa_status status = number ? GSA_OK : gsa_out_of_memory(error, "the lines' numbers", lines * 8);
    for (int64_t i = 0; i < lines && number; i++) number[i] = i;
    for (int64_t from = 0; from < lines && status == GSA_OK; from += ranks * most) {
        const gsa_wanted now = lines_from(number, lines, from + rank * most, most),
                         next = lines_from(number, lines, from + (ranks + rank) * most, most);
        if (now.count) status = gsa_session_compute(s, &now, next.count ? &next : NULL, error);
        if (now.count && status == GSA_OK && prints) print(s, how, turns->part);
        status = gsa_turns_next(turns, status, error);
    }
    if (s->task->closing) gsa_output_text(turns->whole, s->task->closing);
    gsa_release(s->system, number);
    return status;
}

gsa_status gsa_predict_write(gsa_session *s, const gsa_predict_how *how, gsa_turns *turns,
                             gsa_error *error)
{
    gsa_decoded decoded;
    const gsa_decode_options options = { .split = GSA_SPLIT_TEST,
                                         .batch = gsa_session_decode_batch(s),
                                         .output = turns->whole,
                                         .stop = s->stop,
                                         .group = turns->group };
    if (!s->task->decode_split) return write_lines(s, how, turns, error);
    return s->task->decode_split(s->self, &s->model, &options, &decoded, error);
}

gsa_status gsa_predict_read(gsa_session *s, const gsa_predict_how *how, const char *path,
                            gsa_error *error)
{
    return how->cut >= 0 ? s->task->read_sentences(s->self, path, how->cut, error)
                         : s->task->read_lines(s->self, path, error);
}

/* ---- what was requested -------------------------------------------------------------------- */

static gsa_status settle_labels(const gsa_session *s, const gsa_apply_options *o, gsa_error *error)
{
    const gsa_labels *labels = s->task->labels ? s->task->labels(s->self) : NULL;
    if (!o->top_k && !o->all_labels) return GSA_OK;
    if (o->top_k && o->all_labels)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--top-k %d and --proba all: one of them",
                        o->top_k);
    if (!labels)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "%s is for texts, pairs and nodes that have one label each: the model's task is %s",
            o->top_k ? "--top-k" : "--proba all", s->task->name);
    if (o->top_k >= 0 && o->top_k <= labels->count) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "--top-k %d: expected 1 to %d, the number of the model's labels", o->top_k,
                    labels->count);
}

gsa_status gsa_predict_settle(const gsa_session *s, const gsa_apply_options *o, int lines,
                              gsa_predict_how *how, gsa_error *error)
{
    static const struct {
        const char *name;
        int32_t cut;
    } cuts[] = { { "words", GSA_TOKENS_WORDS },
                 { "chars", GSA_TOKENS_CHARS },
                 { "punctuated", GSA_TOKENS_PUNCTUATED } };
    const gsa_recipe_values *v = &s->recipe.values;
    *how = (gsa_predict_how){ .cut = -1, .top_k = o->top_k, .all = o->all_labels };
    if (lines && s->task->read_sentences)
        how->cut = v->data_format == GSA_TEXT_CHARS ? GSA_TOKENS_CHARS : (int32_t)v->data_tokens;
    if (!o->tokenize) return settle_labels(s, o, error);
    if (!s->task->read_sentences)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--tokenize %s is for tagging: %s cuts its lines as its recipe says",
                        o->tokenize, s->task->name);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        if (strcmp(cuts[i].name, o->tokenize) == 0) {
            how->cut = cuts[i].cut;
            return settle_labels(s, o, error);
        }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "--tokenize %s: expected words, chars or punctuated",
                    o->tokenize);
}

/* ---- a file -------------------------------------------------------------------------------- */

static gsa_status predict_file(gsa_session *s, const gsa_apply_options *o, gsa_error *error)
{
    gsa_turns turns;
    gsa_predict_how how;
    char sentence[512];
    const char *input = o->input ? o->input : "-";
    gsa_status status = gsa_predict_settle(s, o, 0, &how, error);
    status = gsa_alike_file(s->group, s->system, input, status, error);
    if (status == GSA_OK) status = gsa_predict_read(s, &how, input, error);
    if (status == GSA_OK && s->task->read_as) {
        s->task->read_as(s->self, sentence, sizeof sentence);
        if (*sentence) gsa_apply_say((void *)(uintptr_t)o, sentence);
    }
    if (status == GSA_OK)
        status = gsa_turns_begin(s->system, s->group, o->output ? o->output : "-", &turns, error);
    if (status != GSA_OK) return status;
    return gsa_turns_end(&turns, gsa_predict_write(s, &how, &turns, error), error);
}

static gsa_status of_file(const gsa_system *system, const gsa_apply_options *options,
                          gsa_error *error)
{
    gsa_session session;
    const gsa_plain plain = gsa_plain_begin();
    gsa_status status = gsa_apply_open(system, options, 0, &session, error);
    if (status == GSA_OK) {
        status = predict_file(&session, options, error);
        gsa_session_release(&session);
    }
    gsa_plain_end(plain);
    return status;
}

/* ---- texts, streams ------------------------------------------------------------------------ */

static gsa_status of_texts(gsa_predictor *p, const gsa_apply_options *o, gsa_output *output,
                           gsa_error *error)
{
    gsa_prediction found;
    const gsa_status status = gsa_predictor_texts(p, o->texts, o->n_texts, &found, error);
    if (status == GSA_OK) gsa_output_write(output, found.text, found.bytes);
    return status;
}

typedef struct stream {
    gsa_predictor *predictor;
    gsa_output *output;
    const char *path;
    int file, too_long; /* too_long: the line that is being read is passed over */
    int64_t lines, failed;
    char *at; /* [LINE_MOST + READ] what was read, from the beginning of a line */
    int64_t used;
} stream;

/* "!<TAB>line 7: what is wrong". */
static void write_failure(stream *s, const gsa_error *error)
{
    static const char place[] = GSA_RECYCLE_TEXT ":1: ";
    const size_t length = sizeof place - 1;
    const char *text =
        strncmp(error->text, place, length) == 0 ? error->text + length : error->text;
    gsa_output_format(s->output, "!\tline %lld: %s\n", (long long)s->lines, text);
    s->failed++;
}

static gsa_status answer_line(stream *s, const char *line, int64_t bytes, gsa_error *error)
{
    gsa_prediction found;
    gsa_error why = { 0 };
    gsa_status status = GSA_OK;
    s->lines++;
    if (s->too_long || bytes > LINE_MOST)
        gsa_fail(&why, GSA_ERR_LIMIT, "the line has more than %d bytes", LINE_MOST);
    else status = gsa_predictor_line(s->predictor, line, bytes, &found, &why);
    s->too_long = 0;
    if (status == GSA_ERR_DEVICE || status == GSA_ERR_INTERRUPTED) {
        *error = why;
        return status;
    }
    if (why.text[0]) write_failure(s, &why);
    else if (found.bytes > 0) gsa_output_write(s->output, found.text, found.bytes);
    else gsa_output_text(s->output, "\n");
    return GSA_OK;
}

/* The whole lines that were read; the beginning of one moves to the front. */
static gsa_status answer_lines(stream *s, gsa_error *error)
{
    gsa_status status = GSA_OK;
    char *from = s->at, *const end = s->at + s->used;
    for (char *stop; status == GSA_OK && (stop = memchr(from, '\n', (size_t)(end - from)));
         from = stop + 1)
        status = answer_line(s, from, stop - from, error);
    s->used = end - from;
    if (s->used > LINE_MOST) s->too_long = 1;
    if (s->too_long) s->used = 0;
    else if (s->used > 0) memmove(s->at, from, (size_t)s->used);
    return status;
}

/* What is answered goes out before more is waited for. */
static gsa_status answer_all(stream *s, const gsa_system *system, gsa_error *error)
{
    gsa_status status = GSA_OK;
    while (status == GSA_OK && !gsa_output_failed(s->output)) {
        const int64_t got = system->read(system->user, s->file, s->at + s->used, READ);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be read: %s", s->path, strerror(errno));
        if (got == 0) break;
        s->used += got;
        status = answer_lines(s, error);
        gsa_output_flush(s->output);
    }
    if (status == GSA_OK && (s->used > 0 || s->too_long))
        status = answer_line(s, s->at, s->used, error);
    return status;
}

static gsa_status of_stream(gsa_predictor *p, const gsa_apply_options *o, gsa_output *output,
                            const gsa_system *system, gsa_error *error)
{
    char sentence[128];
    stream s = { .predictor = p, .output = output, .path = o->input ? o->input : "-" };
    s.at = gsa_alloc(system, LINE_MOST + READ, 1);
    if (!s.at) return gsa_out_of_memory(error, "a stream", LINE_MOST + READ);
    s.file = system->open(system->user, s.path, GSA_OPEN_READ);
    gsa_status status = GSA_OK;
    if (s.file < 0)
        status = gsa_fail(error, GSA_ERR_IO, "'%s' cannot be opened: %s", s.path, strerror(errno));
    if (status == GSA_OK) {
        status = answer_all(&s, system, error);
        system->close(system->user, s.file);
    }
    gsa_release(system, s.at);
    snprintf(sentence, sizeof sentence, "%lld of %lld lines could not be read", (long long)s.failed,
             (long long)s.lines);
    if (status == GSA_OK && s.failed > 0) gsa_apply_say((void *)(uintptr_t)o, sentence);
    return status;
}

static gsa_status finish(gsa_output *output, gsa_status status, gsa_error *error)
{
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

static gsa_status of_lines(const gsa_system *system, const gsa_apply_options *o, gsa_error *error)
{
    gsa_predictor *p;
    gsa_output *output;
    gsa_status status = gsa_predictor_open(system, o, &p, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open(system, o->output ? o->output : "-", &output, error);
    if (status == GSA_OK) {
        const gsa_plain plain = gsa_plain_begin();
        status = o->stream ? of_stream(p, o, output, system, error) : of_texts(p, o, output, error);
        status = finish(output, status, error);
        gsa_plain_end(plain);
    }
    gsa_predictor_close(p);
    return status;
}

gsa_status gsa_predict(const gsa_system *system, const gsa_apply_options *options, gsa_error *error)
{
    const gsa_apply_options *o = options;
    if (!system) system = gsa_system_default();
    if (o->n_texts > 0 && o->stream)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a text and --stream: the lines of a stream are its texts");
    for (int i = 0; i < o->n_texts; i++)
        if (system->kind(system->user, o->texts[i], NULL) == GSA_FILE_REGULAR)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "'%s' is a file, expected a text: --input %s reads its lines",
                            o->texts[i], o->texts[i]);
    if (o->group && (o->n_texts > 0 || o->stream))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "texts and --stream are for one process: %d ranks share the lines of a "
                        "file, --input FILE",
                        o->group->ranks);
    return o->n_texts > 0 || o->stream ? of_lines(system, o, error) : of_file(system, o, error);
}
