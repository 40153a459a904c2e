#include "train/decode/translate.h"
#include <math.h>
#include <string.h>
#include "train/decode/beam.h"
#include "train/decode/coverage.h"

enum { SOURCE, TARGET, ENCODER = 0, DECODER = 1 };

struct gsa_translator {
    gsa_learner *model;
    gsa_translate_options options;
    gsa_minibatch batch;
    gsa_generation *generation; /* NULL: whole prefixes */
    const gsa_translate_job *job;
    int64_t *first;  /* [count + 1] of each text in job->source */
    int64_t *behind; /* [count + 1] of each text's context in job->context; NULL: no contexts */
    int32_t rows, started;   /* rows: hypotheses at most */
    int32_t *id, *group;     /* generation: the new tokens, with contexts at first; their groups */
    int32_t *fresh, *before; /* [rows] how many; tokens before */
    /* whole prefixes: hypothesis i is a translation of text[i] so far, <s> first; two that take
     * turns */
    int32_t *text[2], *made[2], *prefix[2], *last;
    int32_t now, zero;
    gsa_coverage coverage; /* where options.coverage > 0 */
};

static int is_prefix_stable(const gsa_stack *stack)
{
    for (int layer = 0; layer < gsa_stack_layers(stack); layer++)
        for (int p = 0; p < gsa_stack_patterns(stack, layer); p++)
            if (!(gsa_schema_flags(gsa_pattern_schema(gsa_stack_pattern(stack, layer, p))) &
                  GSA_PREFIX_STABLE))
                return 0;
    return !gsa_stack_needs_text(stack);
}

gsa_status gsa_translator_create(gsa_learner *model, const gsa_translate_options *options,
                                 gsa_translator **translator, gsa_error *error)
{
    const gsa_stack *decoder = gsa_model_stack_of(model->net, DECODER);
    gsa_translator *t = *translator = gsa_alloc_zero(model->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "a translator", sizeof *t);
    t->model = model, t->options = *options, t->batch.system = model->system;
    const gsa_status found =
        options->coverage > 0 ? gsa_coverage_find(decoder, &t->coverage, error) : GSA_OK;
    if (found != GSA_OK) {
        gsa_translator_release(t), *translator = NULL;
        return found;
    }
    if (options->whole || !is_prefix_stable(decoder)) return GSA_OK;
    if (options->context > INT32_MAX - 1 - options->longest) {
        gsa_translator_release(t), *translator = NULL;
        return gsa_fail(error, GSA_ERR_LIMIT, "translations of %d tokens after %d are too long",
                        options->longest, options->context);
    }
    const gsa_generation_options o = { .longest = options->context + options->longest + 1,
                                       .cache = model->cache };
    const gsa_status status =
        gsa_generation_create(decoder, model->backend, &o, &t->generation, error);
    if (status != GSA_OK) gsa_translator_release(t), *translator = NULL;
    return status;
}

static void forget(gsa_translator *t)
{
    void *const all[] = { t->first,   t->behind,    t->id,       t->group,   t->fresh,
                          t->before,  t->last,      t->text[0],  t->text[1], t->made[0],
                          t->made[1], t->prefix[0], t->prefix[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(t->model->system, all[i]);
    t->first = t->behind = NULL, t->id = t->group = t->fresh = t->before = t->last = NULL;
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

/* ---- a batch of sources -------------------------------------------------------------------- */

static void put_ids(gsa_minibatch_sequence *to, int64_t at, const int32_t *id, const int32_t *group,
                    int64_t count)
{
    if (count > 0) memcpy(to->id + at, id, (size_t)count * sizeof *id);
    if (count > 0 && group) memcpy(to->group + at, group, (size_t)count * sizeof *group);
    for (int64_t i = 0; i < count; i++) to->text[at + i] = (gsa_slice){ "", 0 };
}

/* Room for `count` examples with so many tokens, and their groups where the job has them. */
static gsa_status reserve_batch(gsa_translator *t, int32_t count, int64_t sources, int64_t targets,
                                gsa_error *error)
{
    const int64_t tokens[] = { sources, targets };
    t->batch.first = 0;
    gsa_status status = gsa_minibatch_begin(&t->batch, count, error);
    for (int s = SOURCE; s <= TARGET && status == GSA_OK; s++) {
        status = gsa_minibatch_sequence_size(&t->batch, s, count, tokens[s], 0, error);
        if (status == GSA_OK && t->job->group) status = gsa_minibatch_groups(&t->batch, s, error);
    }
    return status == GSA_OK ? gsa_minibatch_targets(&t->batch, targets, 0, error) : status;
}

/* Sequences for `count` hypotheses of texts text[i] (NULL: each its own), with targets of `targets`
 * tokens in all. */
static gsa_status begin_batch(gsa_translator *t, const int32_t *text, int32_t count,
                              int64_t targets, gsa_error *error)
{
    const gsa_translate_job *job = t->job;
    int64_t sources = 0, at = 0;
    for (int32_t i = 0; i < count; i++) sources += job->length[text ? text[i] : i];
    const gsa_status status = reserve_batch(t, count, sources, targets, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        const int32_t e = text ? text[i] : i;
        put_ids(&t->batch.sequence[SOURCE], at, job->source + t->first[e],
                job->group ? job->group + t->first[e] : NULL, job->length[e]);
        t->batch.sequence[SOURCE].length[i] = job->length[e],
        t->batch.sequence[TARGET].length[i] = 0;
        at += job->length[e];
    }
    return status;
}

/* Tokens that are before what is written of text e. */
static int32_t context_of(const gsa_translator *t, int32_t e)
{
    return t->behind ? t->job->context_length[e] : 0;
}

/* The group of what is written of text e: its source's last one. */
static int32_t own_group(const gsa_translator *t, int32_t e)
{
    return t->job->group ? t->job->group[t->first[e + 1] - 1] : 0;
}

/* ---- token by token ------------------------------------------------------------------------ */

/* What the encoder makes of the sources becomes the memory of one sequence each. */
static gsa_status open_sequences(gsa_translator *t, gsa_error *error)
{
    gsa_tape *tape = t->model->tape;
    const gsa_status status = begin_batch(t, NULL, t->job->count, 0, error);
    if (status != GSA_OK) return status;
    gsa_tape_reset(tape, 0, 0, 0);
    const gsa_generation_memory memory = { .rows = gsa_learner_pass(t->model, &t->batch, ENCODER),
                                           .length = t->job->length,
                                           .group = t->job->group };
    gsa_generation_clear(t->generation);
    if (memory.rows) gsa_generation_open(t->generation, tape, t->job->count, &memory);
    return gsa_tape_status(tape, error);
}

/* The new tokens, at first after their contexts; how many. */
static int64_t list_fresh(gsa_translator *t, const int32_t *token, int32_t count)
{
    int64_t at = 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t context = t->started ? 0 : context_of(t, i);
        if (context > 0) {
            memcpy(t->id + at, t->job->context + t->behind[i], (size_t)context * sizeof *t->id);
            memcpy(t->group + at, t->job->context_group + t->behind[i],
                   (size_t)context * sizeof *t->group);
        }
        at += context;
        t->id[at] = token[i] + t->options.first_class;
        if (!t->started) t->group[at] = own_group(t, i);
        t->fresh[i] = context + 1, t->before[i] = gsa_generation_length(t->generation, i);
        t->last[i] = (int32_t)at++;
    }
    return at;
}

static gsa_status append(gsa_translator *t, const int32_t *parent, const int32_t *token,
                         int32_t count, double *logits, gsa_error *error)
{
    gsa_learner *m = t->model;
    gsa_status status = t->started ? gsa_generation_choose(t->generation, parent, count, error)
                                   : open_sequences(t, error);
    if (status != GSA_OK) return status;
    const int64_t fresh = list_fresh(t, token, count);
    const int32_t *group =
        t->started || !t->job->group ? NULL : t->group; /* later on: as the token before */
    gsa_tape_reset(m->tape, 0, 0, 0);
    gsa_tensor *x = gsa_input_append(m->input[m->plan.input_of[TARGET]], m->tape, t->id, NULL,
                                     t->before, t->fresh, count);
    x = gsa_generation_append(t->generation, m->tape, x, t->fresh, group);
    if (fresh > count) {
        const int32_t *last = gsa_tape_upload(m->tape, t->last, count * (int64_t)sizeof *t->last);
        x = gsa_op_gather(m->tape, NULL, x, last, count, 1, 0);
    }
    gsa_tensor *out = gsa_learner_head(m, x);
    status = gsa_tape_status(m->tape, error);
    return status == GSA_OK ? gsa_tensor_read(m->backend, out, 0, logits, error) : status;
}

/* ---- whole prefixes ------------------------------------------------------------------------ */

static void grow_prefixes(gsa_translator *t, const int32_t *parent, const int32_t *token,
                          int32_t count)
{
    const int from = t->now, to = !t->now;
    const int64_t room = t->options.longest + 1;
    for (int32_t i = 0; i < count; i++) {
        const int32_t p = parent[i], n = t->started ? t->made[from][p] : 0;
        t->text[to][i] = t->started ? t->text[from][p] : i;
        if (n > 0)
            memcpy(t->prefix[to] + i * room, t->prefix[from] + p * room,
                   (size_t)n * sizeof *t->prefix[0]);
        t->prefix[to][i * room + n] = token[i] + t->options.first_class;
        t->made[to][i] = n + 1;
    }
    t->now = to;
}

/* Hypothesis i of text e: its context, then what is written; where it ends. */
static int64_t put_prefix(gsa_translator *t, int32_t i, int32_t e, int64_t at)
{
    gsa_minibatch_sequence *to = &t->batch.sequence[TARGET];
    const int32_t context = context_of(t, e), made = t->made[t->now][i];
    if (context > 0)
        put_ids(to, at, t->job->context + t->behind[e], t->job->context_group + t->behind[e],
                context);
    put_ids(to, at + context, t->prefix[t->now] + (int64_t)i * (t->options.longest + 1), NULL,
            made);
    for (int32_t k = 0; k < made && to->grouped; k++) to->group[at + context + k] = own_group(t, e);
    to->length[i] = context + made;
    return at + context + made;
}

static gsa_status recompute(gsa_translator *t, const int32_t *parent, const int32_t *token,
                            int32_t count, double *logits, gsa_error *error)
{
    gsa_learner *m = t->model;
    int64_t targets = 0, at = 0;
    grow_prefixes(t, parent, token, count);
    const int32_t *text = t->text[t->now];
    for (int32_t i = 0; i < count; i++) targets += context_of(t, text[i]) + t->made[t->now][i];
    gsa_status status = begin_batch(t, text, count, targets, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        at = put_prefix(t, i, text[i], at);
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

/* ---- the search ---------------------------------------------------------------------------- */

/* log softmax in place; what is never written is impossible, and keeps its share. 0: the numbers
 * are not finite. */
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

static gsa_status next(void *context, const int32_t *parent, const int32_t *token, int32_t count,
                       double *log_p, gsa_error *error)
{
    gsa_translator *t = context;
    const int32_t classes = t->model->plan.outputs;
    gsa_status status = t->generation ? append(t, parent, token, count, log_p, error)
                                      : recompute(t, parent, token, count, log_p, error);
    t->started = 1;
    for (int32_t i = 0; i < count && status == GSA_OK; i++)
        if (!normalize(t, log_p + (int64_t)i * classes, classes))
            status = gsa_fail(error, GSA_ERR_NUMBER,
                              "the model's numbers are not finite: it does not translate");
    return status;
}

/* Where each text's source and context lie. */
static gsa_status place_texts(gsa_translator *t, gsa_error *error)
{
    const gsa_translate_job *job = t->job;
    const size_t places = (size_t)job->count + 1;
    t->first = gsa_alloc_zero(t->model->system, places, sizeof *t->first);
    if (job->context_length)
        t->behind = gsa_alloc_zero(t->model->system, places, sizeof *t->behind);
    if (!t->first || (job->context_length && !t->behind))
        return gsa_out_of_memory(error, "a batch to translate", job->count);
    for (int32_t e = 0; e < job->count; e++) {
        t->first[e + 1] = t->first[e] + job->length[e];
        if (t->behind) t->behind[e + 1] = t->behind[e] + job->context_length[e];
    }
    return GSA_OK;
}

static gsa_status reserve(gsa_translator *t, gsa_error *error)
{
    const gsa_system *system = t->model->system;
    const size_t rows = (size_t)t->rows, room = (size_t)t->options.longest + 1;
    const size_t ids = rows + (t->behind ? (size_t)t->behind[t->job->count] : 0);
    int held = 1;
    if (t->generation) {
        held = held && (t->id = gsa_alloc(system, ids, sizeof *t->id)) != NULL;
        held = held && (t->group = gsa_alloc(system, ids, sizeof *t->group)) != NULL;
        held = held && (t->fresh = gsa_alloc(system, rows, sizeof *t->fresh)) != NULL;
        held = held && (t->before = gsa_alloc(system, rows, sizeof *t->before)) != NULL;
    } else
        for (int k = 0; k < 2; k++) {
            held = held && (t->text[k] = gsa_alloc(system, rows, sizeof *t->text[k])) != NULL;
            held = held && (t->made[k] = gsa_alloc(system, rows, sizeof *t->made[k])) != NULL;
            held = held &&
                   (t->prefix[k] = gsa_alloc(system, rows * room, sizeof *t->prefix[k])) != NULL;
        }
    held = held && (t->last = gsa_alloc(system, rows, sizeof *t->last)) != NULL;
    return held ? GSA_OK
                : gsa_out_of_memory(error, "a batch to translate", (int64_t)(rows * room) * 4);
}

static gsa_status search(gsa_translator *t, const int32_t *start, const int32_t *most,
                         gsa_beam_results *results, gsa_error *error)
{
    const gsa_translate_options *o = &t->options;
    const gsa_beam_options options = { .width = o->width,
                                       .best = o->coverage > 0 ? o->width : 1,
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

/* ---- coverage: what was found of each text goes through the whole model once more, its attention
 * watched ---- */

/* The hypotheses of text e as targets, <s> or the context before them. */
static gsa_status begin_found(gsa_translator *t, int32_t e, const gsa_beam_found *found,
                              int32_t count, gsa_error *error)
{
    const int32_t context = context_of(t, e),
                  border = context > 0 ? t->options.end : t->options.begin;
    int32_t *text = gsa_alloc(t->model->system, (size_t)count, sizeof *text);
    int64_t targets = 0, at = 0;
    if (!text) return gsa_out_of_memory(error, "hypotheses", count * INT64_C(4));
    for (int32_t i = 0; i < count; i++) text[i] = e, targets += context + found[i].length + 1;
    const gsa_status status = begin_batch(t, text, count, targets, error);
    gsa_minibatch_sequence *to = &t->batch.sequence[TARGET];
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        const int64_t n = found[i].length + 1;
        if (context > 0)
            put_ids(to, at, t->job->context + t->behind[e], t->job->context_group + t->behind[e],
                    context);
        put_ids(to, at + context, &border, NULL, 1);
        put_ids(to, at + context + 1, found[i].token, NULL, n - 1);
        for (int64_t k = 0; k < n; k++) {
            if (k > 0) to->id[at + context + k] += t->options.first_class;
            if (to->grouped) to->group[at + context + k] = own_group(t, e);
        }
        to->length[i] = (int32_t)(context + n);
        at += context + n;
    }
    gsa_release(t->model->system, text);
    return status;
}

/* The weights of all hypotheses of the batch, [edges, heads]. */
static gsa_status watch_found(gsa_translator *t, double **weights, int64_t *edges, int32_t *heads,
                              gsa_error *error)
{
    gsa_learner *m = t->model;
    gsa_stack_batch *watched = gsa_model_batch_of(m->graph, DECODER);
    gsa_status status = gsa_stack_watch(watched, &t->coverage.watched, 1, error);
    if (status != GSA_OK) return status;
    gsa_tape_reset(m->tape, 0, 0, 0);
    gsa_learner_forward(m, &t->batch);
    status = gsa_tape_status(m->tape, error);
    const gsa_tensor *made = t->coverage.watched.weights;
    if (status == GSA_OK && !made)
        status = gsa_fail(error, GSA_ERR_UNSUPPORTED, "the decoder's attention was not computed");
    if (status == GSA_OK) {
        *edges = made->rows, *heads = (int32_t)made->cols;
        *weights = gsa_alloc(m->system, (size_t)(made->rows * made->cols), sizeof **weights);
        status = *weights
                     ? gsa_tensor_read(m->backend, made, 0, *weights, error)
                     : gsa_out_of_memory(error, "attention weights", made->rows * made->cols * 8);
    }
    gsa_stack_watch(watched, NULL, 0, NULL);
    return status;
}

/* cp of hypothesis i, whose edges begin at *at. */
static gsa_status cover_one(gsa_translator *t, int32_t e, int32_t i, const double *weights,
                            int64_t edges, int32_t heads, int64_t *at, double *cp, gsa_error *error)
{
    const gsa_system *system = t->model->system;
    const gsa_minibatch_sequence *source = &t->batch.sequence[SOURCE],
                                 *target = &t->batch.sequence[TARGET];
    const int32_t sources = t->job->length[e], length = target->length[i];
    int64_t rows = 0;
    for (int32_t k = 0; k < i; k++) rows += target->length[k];
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = length,
                                  .memory_length = sources,
                                  .heads = t->model->settings.heads,
                                  .group = target->grouped ? target->group + rows : NULL,
                                  .memory_group = source->grouped
                                                      ? source->group + (int64_t)i * sources
                                                      : NULL };
    gsa_instance *instance;
    gsa_edges list;
    gsa_status status = gsa_pattern_instance(t->coverage.pattern, t->model->cache, &example, NULL,
                                             0, &instance, error);
    if (status != GSA_OK) return status;
    gsa_instance_edges(instance, t->coverage.watched.phase, &list);
    int32_t *to = gsa_alloc(system, (size_t)list.edge_total, sizeof *to);
    double *sum = gsa_alloc(system, (size_t)sources, sizeof *sum);
    if (!to || !sum)
        status = gsa_out_of_memory(error, "coverage", list.edge_total * 4 + sources * INT64_C(8));
    else if (*at + list.edge_total > edges)
        status =
            gsa_fail(error, GSA_ERR_PLUGIN, "%s: a second emission of the example has other edges",
                     gsa_pattern_text(t->coverage.pattern));
    for (int32_t s = 0; status == GSA_OK && s < sources; s++) sum[s] = -1;
    if (status == GSA_OK) {
        gsa_coverage_add(&t->coverage, &list, weights + *at * heads, heads, context_of(t, e),
                         length, to, sum);
        *cp = gsa_coverage_of(sum, sources);
    }
    *at += list.edge_total;
    gsa_release(system, to);
    gsa_release(system, sum);
    gsa_instance_release(instance);
    return status;
}

static gsa_status cover(gsa_translator *t, int32_t e, const gsa_beam_found *found, int32_t count,
                        double *extra, gsa_error *error)
{
    double *weights = NULL;
    int64_t edges = 0, at = 0;
    int32_t heads = 0;
    gsa_status status = begin_found(t, e, found, count, error);
    if (status == GSA_OK) status = watch_found(t, &weights, &edges, &heads, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        status = cover_one(t, e, i, weights, edges, heads, &at, &extra[i], error);
        extra[i] *= t->options.coverage;
    }
    gsa_release(t->model->system, weights);
    return status;
}

static gsa_status rank(gsa_translator *t, gsa_beam_results *results, gsa_error *error)
{
    const size_t room = (size_t)results->texts * (size_t)results->best;
    double *extra = gsa_alloc_zero(t->model->system, room, sizeof *extra);
    gsa_status status = extra ? GSA_OK : gsa_out_of_memory(error, "coverage", (int64_t)room * 8);
    for (int32_t e = 0; e < results->texts && status == GSA_OK; e++) {
        const int64_t first = (int64_t)e * results->best;
        if (results->count[e] > 1)
            status = cover(t, e, results->found + first, results->count[e], extra + first, error);
    }
    if (status == GSA_OK) gsa_beam_rank(results, extra);
    gsa_release(t->model->system, extra);
    return status;
}

static void take_results(const gsa_translator *t, gsa_translate_job *job,
                         const gsa_beam_results *results)
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
    gsa_status status =
        most ? place_texts(t, error)
             : gsa_out_of_memory(error, "a batch to translate", job->count * INT64_C(8));
    if (status == GSA_OK) status = reserve(t, error);
    for (int32_t e = 0; e < job->count && status == GSA_OK; e++) {
        const int32_t border = context_of(t, e) > 0 ? t->options.end : t->options.begin;
        start[e] = border - t->options.first_class, most[e] = job->most[e] + 1; /* with </s> */
    }
    if (status == GSA_OK) status = search(t, start, most, &results, error);
    if (status == GSA_OK && t->options.coverage > 0) status = rank(t, &results, error);
    if (status == GSA_OK) take_results(t, job, &results);
    gsa_beam_release(&results);
    gsa_release(system, start);
    gsa_release(system, most);
    forget(t);
    return status;
}
