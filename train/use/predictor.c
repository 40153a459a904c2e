#include "train/predictor.h"
#include <string.h>
#include "train/use/apply.h"
#include "train/tasks/classes.h"
#include "train/data/plain.h"
#include "train/use/predict.h"
#include "train/driver/recycle.h"

struct gsa_predictor {
    gsa_recycler recycler;
    gsa_session session;
    gsa_predict_how how;
    const gsa_labels *labels; /* or NULL */
    char **name;              /* [labels] terminated, in one block with their bytes */
    double *probability;      /* [labels] */
    char *line;
    int64_t room;
};

/* ---- opening ------------------------------------------------------------------------------- */

static gsa_status name_labels(gsa_predictor *p, gsa_error *error)
{
    const gsa_labels *labels = p->labels;
    if (!labels) return GSA_OK;
    int64_t bytes = labels->count * (int64_t)sizeof *p->name;
    for (int32_t i = 0; i < labels->count; i++) bytes += labels->name[i].bytes + 1;
    p->name = gsa_alloc(&p->recycler.above.table, (size_t)bytes, 1);
    p->probability =
        gsa_alloc(&p->recycler.above.table, (size_t)labels->count, sizeof *p->probability);
    if (!p->name || !p->probability)
        return gsa_out_of_memory(error, "labels", bytes + labels->count * INT64_C(8));
    char *at = (char *)(p->name + labels->count);
    for (int32_t i = 0; i < labels->count; i++) {
        const gsa_slice name = labels->name[i];
        memcpy(at, name.at, (size_t)name.bytes);
        at[name.bytes] = 0;
        p->name[i] = at;
        at += name.bytes + 1;
    }
    return GSA_OK;
}

static gsa_status open_model(gsa_predictor *p, const gsa_apply_options *options, gsa_error *error)
{
    gsa_session *s = &p->session;
    if (!options || !options->model)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "no model was named: expected its folder");
    gsa_apply_options settled = *options;
    if (!settled.distrusts) settled.distrusts = gsa_is_others;
    gsa_status status = gsa_apply_open(&p->recycler.above.table, &settled, 0, s, error);
    if (status != GSA_OK) return status;
    gsa_prefetch_release(s->prefetch); /* there is no batch to make ahead */
    s->prefetch = NULL;
    status = gsa_predict_settle(s, options, 1, &p->how, error);
    if (status == GSA_OK && s->task->whole)
        status =
            gsa_fail(error, GSA_ERR_ARGUMENT,
                     "the task %s reads a file as a whole, no text or line of it: --input FILE",
                     s->task->name);
    p->labels = s->task->labels && status == GSA_OK ? s->task->labels(s->self) : NULL;
    if (status == GSA_OK) status = name_labels(p, error);
    return status;
}

gsa_status gsa_predictor_open(const gsa_system *system, const gsa_apply_options *options,
                              gsa_predictor **predictor, gsa_error *error)
{
    if (!system) system = gsa_system_default();
    gsa_predictor *p = gsa_alloc_zero(system, 1, sizeof *p);
    *predictor = NULL;
    if (!p) return gsa_out_of_memory(error, "a predictor", sizeof *p);
    gsa_recycler_start(&p->recycler, system);
    const gsa_plain plain = gsa_plain_begin();
    const gsa_status status = open_model(p, options, error);
    gsa_plain_end(plain);
    p->recycler.keeps = status == GSA_OK;
    if (status != GSA_OK) gsa_predictor_close(p);
    else *predictor = p;
    return status;
}

void gsa_predictor_close(gsa_predictor *predictor)
{
    gsa_predictor *p = predictor;
    if (!p) return;
    const gsa_system *below = p->recycler.above.below;
    p->recycler.keeps = 0;
    if (p->session.system) gsa_session_release(&p->session);
    gsa_release(&p->recycler.above.table, p->name);
    gsa_release(&p->recycler.above.table, p->probability);
    gsa_release(&p->recycler.above.table, p->line);
    gsa_recycler_end(&p->recycler);
    gsa_release(below, p);
}

int32_t gsa_predictor_labels(const gsa_predictor *predictor)
{
    return predictor->labels ? predictor->labels->count : 0;
}

const char *gsa_predictor_label(const gsa_predictor *predictor, int32_t label)
{
    return label >= 0 && label < gsa_predictor_labels(predictor) ? predictor->name[label] : NULL;
}

/* ---- answering ----------------------------------------------------------------------------- */

static gsa_status run(gsa_predictor *p, const char *line, int64_t bytes, gsa_error *error)
{
    gsa_turns turns;
    gsa_session *s = &p->session;
    gsa_recycler_feed(&p->recycler, line, bytes);
    gsa_status status = gsa_predict_read(s, &p->how, GSA_RECYCLE_TEXT, error);
    if (status == GSA_OK)
        status = gsa_turns_begin(s->system, NULL, GSA_RECYCLE_TEXT, &turns, error);
    if (status != GSA_OK) return status;
    status = gsa_turns_end(&turns, gsa_predict_write(s, &p->how, &turns, error), error);
    return p->recycler.missing ? gsa_out_of_memory(error, "an answer", p->recycler.missing)
                               : status;
}

static void take(gsa_predictor *p, gsa_prediction *prediction)
{
    const gsa_recycler *r = &p->recycler;
    *prediction =
        (gsa_prediction){ .text = r->made ? r->made : "", .bytes = r->written, .label = -1 };
    if (!p->labels || p->session.batch.targets != 1) return;
    gsa_classes_probabilities(p->session.out, p->labels->count, p->probability);
    prediction->labels = p->labels->count, prediction->probability = p->probability;
    prediction->label = 0;
    for (int32_t c = 1; c < p->labels->count; c++)
        if (p->session.out[c] > p->session.out[prediction->label]) prediction->label = c;
}

static gsa_status answer(gsa_predictor *p, int64_t bytes, gsa_prediction *prediction,
                         gsa_error *error)
{
    const gsa_plain plain = gsa_plain_begin();
    p->line[bytes++] = '\n';
    const gsa_status status = run(p, p->line, bytes, error);
    if (status == GSA_OK) take(p, prediction);
    gsa_plain_end(plain);
    return status;
}

static gsa_status hold_line(gsa_predictor *p, int64_t bytes, gsa_error *error)
{
    if (bytes < p->room) return GSA_OK;
    const int64_t room = 2 * bytes + 64;
    char *larger = gsa_resize(&p->recycler.above.table, p->line, (size_t)room, 1);
    if (!larger) return gsa_out_of_memory(error, "a line", room);
    p->line = larger, p->room = room;
    return GSA_OK;
}

gsa_status gsa_predictor_line(gsa_predictor *predictor, const char *line, int64_t bytes,
                              gsa_prediction *prediction, gsa_error *error)
{
    gsa_predictor *p = predictor;
    *prediction = (gsa_prediction){ .text = "", .label = -1 };
    if (bytes > 0 && memchr(line, '\n', (size_t)bytes))
        return gsa_fail(error, GSA_ERR_ARGUMENT, GSA_RECYCLE_TEXT ":1: a line end is in the line");
    const gsa_status status = hold_line(p, bytes + 1, error);
    if (status != GSA_OK) return status;
    if (bytes > 0) memcpy(p->line, line, (size_t)bytes);
    return answer(p, bytes, prediction, error);
}

gsa_status gsa_predictor_texts(gsa_predictor *predictor, const char *const *text, int texts,
                               gsa_prediction *prediction, gsa_error *error)
{
    gsa_predictor *p = predictor;
    const int wanted = p->session.task == &gsa_task_sentence_pairs ? 2 : 1;
    int64_t bytes = 0;
    *prediction = (gsa_prediction){ .text = "", .label = -1 };
    if (texts != wanted)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%d text%s given, the task %s takes %d", texts,
                        texts == 1 ? " was" : "s were", p->session.task->name, wanted);
    for (int i = 0; i < texts; i++) {
        if (!text || !text[i])
            return gsa_fail(error, GSA_ERR_ARGUMENT, "text %d is NULL, expected a text", i + 1);
        bytes += (int64_t)strlen(text[i]) + 1;
    }
    const gsa_status status = hold_line(p, bytes, error);
    bytes = 0;
    for (int i = 0; i < texts && status == GSA_OK; i++) {
        const int64_t length = (int64_t)strlen(text[i]);
        if (i > 0) p->line[bytes++] = '\t';
        memcpy(p->line + bytes, text[i], (size_t)length);
        for (char *c = p->line + bytes; c < p->line + bytes + length; c++)
            if (*c == '\n' || *c == '\r' || (*c == '\t' && wanted == 2)) *c = ' ';
        bytes += length;
    }
    return status == GSA_OK ? answer(p, bytes, prediction, error) : status;
}
