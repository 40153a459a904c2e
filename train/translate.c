#include "train/translate.h"
#include <math.h>
#include <string.h>
#include "train/beam.h"

enum { SOURCE, TARGET, ENCODER = 0, DECODER = 1 };

struct gsa_translator {
    gsa_learner *model;
    gsa_translate_options options;
    gsa_minibatch batch;
    gsa_generation *generation; /* NULL: whole prefixes */
    const gsa_translate_job *job;
    int64_t *first;             /* [count + 1] of each sentence in job->source */
    int32_t rows, started;      /* rows: hypotheses at most */
    int32_t *id, *one, *before; /* [rows] generation: the new tokens; 1, 1, ...; tokens before */
    /* whole prefixes: hypothesis i is a translation of text[i] so far, <s> first; two that take turns */
    int32_t *text[2], *made[2], *prefix[2], *last;
    int32_t now, zero;
};

static int is_prefix_stable(const gsa_stack *stack)
{
    for (int layer = 0; layer < gsa_stack_layers(stack); layer++)
        for (int p = 0; p < gsa_stack_patterns(stack, layer); p++)
            if (!(gsa_schema_flags(gsa_pattern_schema(gsa_stack_pattern(stack, layer, p))) & GSA_PREFIX_STABLE)) return 0;
    return !gsa_stack_needs_text(stack);
}

gsa_status gsa_translator_create(gsa_learner *model, const gsa_translate_options *options, gsa_translator **translator,
                                 gsa_error *error)
{
    const gsa_stack *decoder = gsa_model_stack_of(model->net, DECODER);
    gsa_translator *t = *translator = gsa_alloc_zero(model->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "a translator", sizeof *t);
    t->model = model, t->options = *options, t->batch.system = model->system;
    if (options->whole || !is_prefix_stable(decoder)) return GSA_OK;
    const gsa_generation_options o = { .longest = options->longest + 1, .cache = model->cache };
    const gsa_status status = gsa_generation_create(decoder, model->backend, &o, &t->generation, error);
    if (status != GSA_OK) gsa_translator_release(t), *translator = NULL;
    return status;
}

static void forget(gsa_translator *t)
{
    void *const all[] = { t->first,   t->id,      t->one,       t->before,    t->text[0], t->text[1],
                          t->made[0], t->made[1], t->prefix[0], t->prefix[1], t->last };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(t->model->system, all[i]);
    t->first = NULL, t->id = t->one = t->before = t->last = NULL;
    for (int k = 0; k < 2; k++) t->text[k] = t->made[k] = t->prefix[k] = NULL;
}

void gsa_translator_release(gsa_translator *t)
{
    if (!t) return;
    forget(t);
    gsa_generation_release(t->generation);
    gsa_minibatch_release(&t->batch);
    gsa_release(t->model->system, t);
}

/* ---- a batch of sources ---------------------------------------------------------------------------------------------------- */

static void put_ids(gsa_minibatch_sequence *to, int64_t at, const int32_t *id, int64_t count)
{
    if (count > 0) memcpy(to->id + at, id, (size_t)count * sizeof *id);
    for (int64_t i = 0; i < count; i++) to->text[at + i] = (gsa_slice){ "", 0 };
}

/* Sequences for `count` hypotheses of texts text[i] (NULL: each its own), with targets of `targets` tokens in all. */
static gsa_status begin_batch(gsa_translator *t, const int32_t *text, int32_t count, int64_t targets, gsa_error *error)
{
    const gsa_translate_job *job = t->job;
    int64_t sources = 0, at = 0;
    for (int32_t i = 0; i < count; i++) sources += job->length[text ? text[i] : i];
    t->batch.first = 0;
    gsa_status status = gsa_minibatch_begin(&t->batch, count, error);
    if (status == GSA_OK) status = gsa_minibatch_sequence_size(&t->batch, SOURCE, count, sources, 0, error);
    if (status == GSA_OK) status = gsa_minibatch_sequence_size(&t->batch, TARGET, count, targets, 0, error);
    if (status == GSA_OK) status = gsa_minibatch_targets(&t->batch, targets, 0, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        const int32_t e = text ? text[i] : i;
        put_ids(&t->batch.sequence[SOURCE], at, job->source + t->first[e], job->length[e]);
        t->batch.sequence[SOURCE].length[i] = job->length[e], t->batch.sequence[TARGET].length[i] = 0;
        at += job->length[e];
    }
    return status;
}

/* ---- token by token ------------------------------------------------------------------------------------------------------------ */

/* What the encoder makes of the sources becomes the memory of one sequence each. */
static gsa_status open_sequences(gsa_translator *t, gsa_error *error)
{
    gsa_tape *tape = t->model->tape;
    const gsa_status status = begin_batch(t, NULL, t->job->count, 0, error);
    if (status != GSA_OK) return status;
    gsa_tape_reset(tape, 0, 0, 0);
    const gsa_generation_memory memory = { .rows = gsa_learner_run(t->model, &t->batch, ENCODER), .length = t->job->length };
    gsa_generation_clear(t->generation);
    if (memory.rows) gsa_generation_open(t->generation, tape, t->job->count, &memory);
    return gsa_tape_status(tape, error);
}

static gsa_status append(gsa_translator *t, const int32_t *parent, const int32_t *token, int32_t count, double *logits,
                         gsa_error *error)
{
    gsa_learner *m = t->model;
    gsa_status status = t->started ? gsa_generation_choose(t->generation, parent, count, error) : open_sequences(t, error);
    if (status != GSA_OK) return status;
    for (int32_t i = 0; i < count; i++) {
        t->id[i] = token[i] + t->options.first_class;
        t->before[i] = gsa_generation_length(t->generation, i);
    }
    gsa_tape_reset(m->tape, 0, 0, 0);
    gsa_tensor *x = gsa_input_append(m->input[m->plan.input_of[TARGET]], m->tape, t->id, NULL, t->before, t->one, count);
    gsa_tensor *out = gsa_learner_head(m, gsa_generation_append(t->generation, m->tape, x, t->one, NULL));
    status = gsa_tape_status(m->tape, error);
    return status == GSA_OK ? gsa_tensor_read(m->backend, out, 0, logits, error) : status;
}

/* ---- whole prefixes ---------------------------------------------------------------------------------------------------------- */

static void grow_prefixes(gsa_translator *t, const int32_t *parent, const int32_t *token, int32_t count)
{
    const int from = t->now, to = !t->now;
    const int64_t room = t->options.longest + 1;
    for (int32_t i = 0; i < count; i++) {
        const int32_t p = parent[i], n = t->started ? t->made[from][p] : 0;
        t->text[to][i] = t->started ? t->text[from][p] : i;
        if (n > 0) memcpy(t->prefix[to] + i * room, t->prefix[from] + p * room, (size_t)n * sizeof *t->prefix[0]);
        t->prefix[to][i * room + n] = token[i] + t->options.first_class;
        t->made[to][i] = n + 1;
    }
    t->now = to;
}

static gsa_status recompute(gsa_translator *t, const int32_t *parent, const int32_t *token, int32_t count, double *logits,
                            gsa_error *error)
{
    gsa_learner *m = t->model;
    int64_t targets = 0, at = 0;
    grow_prefixes(t, parent, token, count);
    const int32_t *made = t->made[t->now];
    for (int32_t i = 0; i < count; i++) targets += made[i];
    gsa_status status = begin_batch(t, t->text[t->now], count, targets, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        put_ids(&t->batch.sequence[TARGET], at, t->prefix[t->now] + (int64_t)i * (t->options.longest + 1), made[i]);
        t->batch.sequence[TARGET].length[i] = made[i];
        at += made[i];
        t->last[i] = (int32_t)(at - 1);
    }
    if (status != GSA_OK) return status;
    gsa_tape_reset(m->tape, 0, 0, 0);
    gsa_tensor *out = gsa_learner_forward(m, &t->batch);
    const int32_t *last = gsa_tape_upload(m->tape, t->last, count * (int64_t)sizeof *t->last);
    if (out) out = gsa_op_gather(m->tape, NULL, out, last, count, 1, 0);
    status = gsa_tape_status(m->tape, error);
    return status == GSA_OK ? gsa_tensor_read(m->backend, out, 0, logits, error) : status;
}

/* ---- the search ---------------------------------------------------------------------------------------------------------------- */

/* log softmax in place; what is never written is impossible, and keeps its share. 0: the numbers are not finite. */
static int normalize(const gsa_translator *t, double *x, int32_t classes)
{
    const gsa_translate_options *o = &t->options;
    double top = x[0], sum = 0;
    for (int32_t c = 1; c < classes; c++) top = fmax(top, x[c]);
    for (int32_t c = 0; c < classes; c++) sum += exp(x[c] - top);
    const double all = top + log(sum);
    if (!isfinite(all)) return 0;
    for (int32_t c = 0; c < classes; c++) x[c] = fmin(0, x[c] - all);
    for (int32_t id = o->first_class; id < o->never; id++) x[id - o->first_class] = -HUGE_VAL;
    x[o->begin - o->first_class] = -HUGE_VAL;
    return 1;
}

static gsa_status next(void *context, const int32_t *parent, const int32_t *token, int32_t count, double *log_p,
                       gsa_error *error)
{
    gsa_translator *t = context;
    const int32_t classes = t->model->plan.outputs;
    gsa_status status =
        t->generation ? append(t, parent, token, count, log_p, error) : recompute(t, parent, token, count, log_p, error);
    t->started = 1;
    for (int32_t i = 0; i < count && status == GSA_OK; i++)
        if (!normalize(t, log_p + (int64_t)i * classes, classes))
            status = gsa_fail(error, GSA_ERR_NUMBER, "the model's numbers are not finite: it does not translate");
    return status;
}

static gsa_status reserve(gsa_translator *t, gsa_error *error)
{
    const gsa_system *system = t->model->system;
    const size_t rows = (size_t)t->rows, room = (size_t)t->options.longest + 1;
    int held = (t->first = gsa_alloc_zero(system, (size_t)t->job->count + 1, sizeof *t->first)) != NULL;
    if (t->generation) {
        held = held && (t->id = gsa_alloc(system, rows, sizeof *t->id)) != NULL;
        held = held && (t->one = gsa_alloc(system, rows, sizeof *t->one)) != NULL;
        held = held && (t->before = gsa_alloc(system, rows, sizeof *t->before)) != NULL;
        for (size_t i = 0; held && i < rows; i++) t->one[i] = 1;
    } else
        for (int k = 0; k < 2; k++) {
            held = held && (t->text[k] = gsa_alloc(system, rows, sizeof *t->text[k])) != NULL;
            held = held && (t->made[k] = gsa_alloc(system, rows, sizeof *t->made[k])) != NULL;
            held = held && (t->prefix[k] = gsa_alloc(system, rows * room, sizeof *t->prefix[k])) != NULL;
        }
    held = held && (t->last = gsa_alloc(system, rows, sizeof *t->last)) != NULL;
    return held ? GSA_OK : gsa_out_of_memory(error, "a batch to translate", (int64_t)(rows * room) * 4);
}

static gsa_status search(gsa_translator *t, const int32_t *start, const int32_t *most, gsa_beam_results *results,
                         gsa_error *error)
{
    const gsa_translate_options *o = &t->options;
    const gsa_beam_options options = { .width = o->width,
                                       .best = 1,
                                       .classes = t->model->plan.outputs,
                                       .end = o->end - o->first_class,
                                       .penalty = o->penalty,
                                       .alpha = o->alpha,
                                       .start = start,
                                       .most = most };
    const gsa_beam_model model = { t, next };
    t->started = 0;
    return gsa_beam_search(t->model->system, &options, &model, t->job->count, results, error);
}

static void take_results(const gsa_translator *t, gsa_translate_job *job, const gsa_beam_results *results)
{
    for (int32_t e = 0; e < job->count; e++) {
        const gsa_beam_found *found = &results->found[(int64_t)e * results->best];
        job->made[e] = results->count[e] > 0 ? found->length : 0;
        for (int32_t i = 0; i < job->made[e]; i++)
            job->target[(int64_t)e * job->room + i] = found->token[i] + t->options.first_class;
    }
}

gsa_status gsa_translate(gsa_translator *t, gsa_translate_job *job, gsa_error *error)
{
    const gsa_system *system = t->model->system;
    gsa_beam_results results = { 0 };
    if (job->count == 0) return GSA_OK;
    t->job = job, t->rows = job->count * t->options.width;
    int32_t *start = gsa_alloc(system, (size_t)job->count, sizeof *start), *most = NULL;
    if (start) most = gsa_alloc(system, (size_t)job->count, sizeof *most);
    gsa_status status = most ? reserve(t, error) : gsa_out_of_memory(error, "a batch to translate", job->count * INT64_C(8));
    for (int32_t e = 0; e < job->count && status == GSA_OK; e++) {
        t->first[e + 1] = t->first[e] + job->length[e];
        start[e] = t->options.begin - t->options.first_class, most[e] = job->most[e] + 1; /* with </s> */
    }
    if (status == GSA_OK) status = search(t, start, most, &results, error);
    if (status == GSA_OK) take_results(t, job, &results);
    gsa_beam_release(&results);
    gsa_release(system, start);
    gsa_release(system, most);
    forget(t);
    return status;
}
