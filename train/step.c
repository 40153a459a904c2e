#include "train/step.h"
#include <math.h>

/* A [1,1] tensor without the detour of gsa_tensor_read, which allocates. */
static gsa_status read_loss(gsa_backend *b, const gsa_tensor *loss, double *out, gsa_error *error)
{
    float single;
    const gsa_status status = b->real == GSA_F32 ? b->download(b, &single, loss->data, sizeof single)
                                                 : b->download(b, out, loss->data, sizeof *out);
    if (status != GSA_OK) return gsa_fail(error, status, "%s: %s", b->name, b->error.text);
    if (b->real == GSA_F32) *out = (double)single;
    return GSA_OK;
}

/* One piece: adds its gradients, and its share of the loss to *sum. `scale` is 1 / targets of the global batch. */
static gsa_status piece(gsa_trainer *t, const int64_t *example, int64_t from, int64_t to, double scale, double *sum,
                        gsa_error *error)
{
    gsa_session *s = &t->session;
    double loss_now = 0;
    const int32_t count = (int32_t)(to - from);
    s->batch.first = (int32_t)from;
    gsa_status status = gsa_session_fill(s, GSA_SPLIT_TRAIN, example + from, count, error);
    if (status != GSA_OK) return status;
    gsa_tape *tape = s->model.tape;
    gsa_tape_reset(tape, 1, (uint32_t)t->counts.seed, (uint32_t)t->counts.step);
    s->model.done = (double)t->counts.step / (double)t->schedule.steps;
    gsa_tensor *loss = gsa_learner_loss(&s->model, gsa_learner_forward(&s->model, &s->batch), &s->batch, scale);
    status = gsa_tape_status(tape, error);
    if (status == GSA_OK) status = read_loss(s->backend, loss, &loss_now, error);
    if (status == GSA_OK) status = gsa_tape_backward(tape, loss, error);
    *sum += loss_now;
    t->step_tokens += s->batch.tokens;
    return status;
}

static gsa_status gradients(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets, double *loss,
                            gsa_error *error)
{
    const gsa_session *s = &t->session;
    const int32_t terms = s->model.plan.terms;
    const double scale = 1.0 / ((double)targets * (double)(terms > 0 ? terms : 1));
    gsa_status status = gsa_parameters_zero_gradients(s->model.parameters, error);
    for (int64_t from = 0, to; from < count && status == GSA_OK; from = to) {
        to = gsa_batches_piece(&t->batches, example, count, from);
        if (s->stop && *s->stop) return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request");
        status = piece(t, example, from, to, scale, loss, error);
    }
    return status;
}

gsa_status gsa_trainer_step(gsa_trainer *t, gsa_error *error)
{
    int64_t count;
    double loss = 0;
    const int64_t tokens = t->step_tokens;
    const int64_t *example = gsa_batches_at(&t->batches, t->counts.cursor, &count);
    const int64_t targets = gsa_task_targets(t->session.task, t->session.self, GSA_SPLIT_TRAIN, example, count);
    t->lr = gsa_schedule_rate(&t->schedule, t->counts.step);
    gsa_status status = gradients(t, example, count, targets, &loss, error);
    if (status == GSA_OK) status = gsa_optimiser_step(&t->optimiser, t->lr, &t->norm, error);
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
