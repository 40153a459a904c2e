#include "train/step.h"
#include <math.h>

static gsa_status backend_failed(gsa_backend *b, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

/* ---- the losses of the pieces stay in the backend's memory until the whole step is queued ------------------------------------- */

static gsa_status loss_room(gsa_trainer *t, int64_t pieces, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    const int64_t bytes = pieces * b->real_bytes;
    if (pieces <= t->loss_room) return GSA_OK;
    gsa_trainer_drop_losses(t);
    t->losses = b->alloc(b, bytes);
    if (!t->losses) return gsa_out_of_memory(error, "the losses of a step", bytes);
    t->loss_room = pieces;
    return GSA_OK;
}

void gsa_trainer_drop_losses(gsa_trainer *t)
{
    if (t->losses) t->session.backend->free(t->session.backend, t->losses);
    t->losses = NULL;
    t->loss_room = 0;
}

/* *sum of them in their order. */
static gsa_status read_losses(gsa_trainer *t, int64_t pieces, double *sum, gsa_error *error)
{
    enum { AT_A_TIME = 64 };
    gsa_backend *b = t->session.backend;
    union {
        float f[AT_A_TIME];
        double d[AT_A_TIME];
    } read;
    *sum = 0;
    for (int64_t from = 0; from < pieces; from += AT_A_TIME) {
        const int64_t count = pieces - from < AT_A_TIME ? pieces - from : AT_A_TIME;
        const gsa_status status =
            b->download(b, &read, (const char *)t->losses + from * b->real_bytes, count * b->real_bytes);
        if (status != GSA_OK) return backend_failed(b, status, error);
        for (int64_t i = 0; i < count; i++) *sum += b->real == GSA_F32 ? (double)read.f[i] : read.d[i];
    }
    return GSA_OK;
}

/* ---- forward and backward -------------------------------------------------------------------------------------------------------- */

/* The piece of a global batch's `count` examples that starts at `from`. */
static gsa_wanted piece_at(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t from)
{
    const int64_t to = gsa_batches_piece(&t->batches, example, count, from);
    return (gsa_wanted){
        .split = GSA_SPLIT_TRAIN, .count = (int32_t)(to - from), .first = (int32_t)from, .example = example + from
    };
}

/* Has the piece that ends at `to` another one behind it, in this global batch or in the next? Not where an evaluation, which has batches
 * of its own, or an epoch, which has another order, comes first. */
static int next_piece(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t to, gsa_wanted *next)
{
    const int64_t cursor = t->counts.cursor + 1, step = t->counts.step + 1;
    if (to == count) {
        if (step >= t->schedule.steps || gsa_trainer_due(t, step, cursor) & (GSA_DUE_EPOCH | GSA_DUE_EVALUATION)) return 0;
        example = gsa_batches_at(&t->batches, cursor, &count);
        to = 0;
    }
    *next = piece_at(t, example, count, to);
    return 1;
}

/* Piece `number`: adds its gradients, and notes its share of the loss. `scale` is 1 / targets of the global batch. */
static gsa_status piece(gsa_trainer *t, int64_t number, const gsa_wanted *wanted, const gsa_wanted *next, double scale,
                        gsa_error *error)
{
    gsa_session *s = &t->session;
    gsa_backend *b = s->backend;
    gsa_status status = gsa_session_fill(s, wanted, error);
    if (status != GSA_OK) return status;
    gsa_tape *tape = s->model.tape;
    gsa_tape_reset(tape, 1, (uint32_t)t->counts.seed, (uint32_t)t->counts.step);
    gsa_session_ask(s, next);
    s->model.done = (double)t->counts.step / (double)t->schedule.steps;
    gsa_tensor *loss = gsa_learner_loss(&s->model, gsa_learner_forward(&s->model, &s->batch), &s->batch, scale);
    status = gsa_tape_status(tape, error);
    if (status == GSA_OK) {
        char *noted = (char *)t->losses + number * b->real_bytes;
        status = backend_failed(b, b->copy(b, noted, loss->data, b->real_bytes), error);
    }
    if (status == GSA_OK) status = gsa_tape_backward(tape, loss, error);
    t->step_tokens += s->batch.tokens;
    return status;
}

static int64_t count_pieces(const gsa_trainer *t, const int64_t *example, int64_t count)
{
    int64_t pieces = 0;
    for (int64_t from = 0; from < count; from = gsa_batches_piece(&t->batches, example, count, from)) pieces++;
    return pieces;
}

static gsa_status gradients(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets, gsa_error *error)
{
    const gsa_session *s = &t->session;
    const int32_t terms = s->model.plan.terms;
    const double scale = 1.0 / ((double)targets * (double)(terms > 0 ? terms : 1));
    int64_t number = 0;
    gsa_status status = gsa_parameters_zero_gradients(s->model.parameters, error);
    for (int64_t from = 0; from < count && status == GSA_OK;) {
        gsa_wanted next;
        const gsa_wanted wanted = piece_at(t, example, count, from);
        from += wanted.count;
        if (s->stop && *s->stop) return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request");
        const int more = next_piece(t, example, count, from, &next);
        status = piece(t, number++, &wanted, more ? &next : NULL, scale, error);
    }
    return status;
}

/* ---- the step ------------------------------------------------------------------------------------------------------------------- */

/* All of it is queued before the host asks for a number: the norm and the losses are read at its end. */
static gsa_status whole_step(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets, double *loss,
                             gsa_error *error)
{
    const int64_t pieces = count_pieces(t, example, count);
    gsa_status status = loss_room(t, pieces, error);
    if (status == GSA_OK) status = gradients(t, example, count, targets, error);
    if (status == GSA_OK) status = gsa_optimiser_step(&t->optimiser, t->lr, &t->norm, error);
    if (status == GSA_OK) status = read_losses(t, pieces, loss, error);
    return status;
}

/* Where the backend can, the step is launched as a whole. */
static gsa_status repeated_step(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets, double *loss,
                                gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    int graphs = 0;
    if (!b->step_begin) return whole_step(t, example, count, targets, loss, error);
    gsa_status status = backend_failed(b, b->step_begin(b), error);
    if (status != GSA_OK) return status;
    status = whole_step(t, example, count, targets, loss, error);
    const gsa_status ended = b->step_end(b, &graphs);
    t->offered_steps++, t->graph_steps += graphs > 0;
    return status == GSA_OK ? backend_failed(b, ended, error) : status;
}

gsa_status gsa_trainer_step(gsa_trainer *t, gsa_error *error)
{
    int64_t count;
    double loss = 0;
    const int64_t tokens = t->step_tokens;
    const int64_t *example = gsa_batches_at(&t->batches, t->counts.cursor, &count);
    const int64_t targets = gsa_task_targets(t->session.task, t->session.self, GSA_SPLIT_TRAIN, example, count);
    t->lr = gsa_schedule_rate(&t->schedule, t->counts.step);
    gsa_status status = repeated_step(t, example, count, targets, &loss, error);
    if (status != GSA_OK) return status;
    const int bad = !isfinite(t->norm);
    if (bad && t->session.recipe.values.train_check_nan)
        return gsa_optimiser_blame(&t->optimiser, t->counts.step + 1, loss, t->norm, error);
    t->counts.skipped += bad;
    t->counts.step++, t->counts.cursor++, t->step_steps++;
    t->counts.tokens += t->step_tokens - tokens;
    if (isfinite(loss)) {
        t->sums.epoch_loss += loss * (double)targets, t->counts.epoch_targets += targets;
        t->sums.report_loss += loss * (double)targets, t->counts.report_targets += targets;
    }
    return GSA_OK;
}
