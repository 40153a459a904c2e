/* ledger.c - what steps leave in the backend's memory until the host asks: the norm of their
 * gradients and their losses.
 *
 * A device that shares no memory with the host is not asked after each step: it clips, and looks
 * whether the norm is finite, by itself. After the first norm that is not it changes nothing any
 * more (gsa/optimiser.h), so a run that learns of it late is set back to where that step began: the
 * step runs again, is read at once, and is named or left out as it would have been. */
#include <math.h>
#include <string.h>
#include "train/driver/trainer.h"

static gsa_status backend_failed(gsa_backend *b, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

/* ---- room ---------------------------------------------------------------------------------- */

void gsa_ledger_release(gsa_trainer *t)
{
    gsa_ledger *l = &t->ledger;
    if (l->at) t->session.backend->free(t->session.backend, l->at);
    gsa_release(t->system, l->host);
    l->at = l->host = NULL;
    l->bytes = l->used = l->count = 0;
}

static int64_t bytes_of(const gsa_trainer *t, int64_t pieces)
{
    const int64_t word = (int64_t)sizeof(double);
    return word + (pieces * t->session.backend->real_bytes + word - 1) / word * word;
}

static gsa_status make_room(gsa_trainer *t, int64_t bytes, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    gsa_ledger *l = &t->ledger;
    gsa_ledger_release(t);
    if (bytes < GSA_LEDGER_BYTES) bytes = GSA_LEDGER_BYTES;
    l->at = b->alloc(b, bytes);
    l->host = gsa_alloc(t->system, (size_t)bytes, 1);
    l->bytes = bytes;
    if (!l->at) return gsa_backend_no_memory(b, "the losses of steps", bytes, error);
    return l->host ? GSA_OK : gsa_out_of_memory(error, "the losses of steps", bytes);
}

gsa_status gsa_ledger_open(gsa_trainer *t, int64_t pieces, int64_t targets, gsa_error *error)
{
    gsa_ledger *l = &t->ledger;
    const int64_t bytes = bytes_of(t, pieces), step = t->counts.step;
    gsa_status status = GSA_OK;
    if (l->count == GSA_LEDGER_STEPS || l->used + bytes > l->bytes)
        status = gsa_trainer_settle(t, error);
    if (status == GSA_OK && t->counts.step == step && bytes > l->bytes)
        status = make_room(t, bytes, error);
    l->step[l->count] = (gsa_ledger_step){ .at = l->used,
                                           .pieces = pieces,
                                           .targets = targets,
                                           .step = t->counts.step,
                                           .cursor = t->counts.cursor,
                                           .tokens = t->counts.tokens,
                                           .step_steps = t->step_steps,
                                           .step_tokens = t->step_tokens,
                                           .applied = t->optimiser->steps,
                                           .offered_steps = t->offered_steps,
                                           .graph_steps = t->graph_steps };
    if (status != GSA_OK || !t->session.group) return status;
    return backend_failed(t->session.backend, /* other ranks' losses are none of this one's */
                          t->session.backend->zero_fill(t->session.backend, l->at + l->used, bytes),
                          error);
}

char *gsa_ledger_loss(const gsa_trainer *t, int64_t piece)
{
    const gsa_ledger *l = &t->ledger;
    return l->at + l->step[l->count].at + (int64_t)sizeof(double) +
           piece * t->session.backend->real_bytes;
}

gsa_status gsa_ledger_norm(gsa_trainer *t, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    char *at = t->ledger.at + t->ledger.step[t->ledger.count].at;
    return backend_failed(b, b->copy(b, at, t->optimiser->control, sizeof(double)), error);
}

void gsa_ledger_close(gsa_trainer *t)
{
    gsa_ledger *l = &t->ledger;
    l->used += bytes_of(t, l->step[l->count].pieces);
    l->count++;
}

int gsa_ledger_waits(const gsa_trainer *t)
{
    return !t->session.backend->shares_host_memory && t->ledger.close == 0;
}

/* ---- what the host makes of it ------------------------------------------------------------- */

/* In the order of the pieces. */
static double loss_of(const gsa_trainer *t, const gsa_ledger_step *s)
{
    const char *at = t->ledger.host + s->at + sizeof(double);
    double sum = 0;
    for (int64_t i = 0; i < s->pieces; i++) {
        float f;
        double d;
        if (t->session.backend->real == GSA_F32)
            memcpy(&f, at + i * (int64_t)sizeof f, sizeof f), d = (double)f;
        else memcpy(&d, at + i * (int64_t)sizeof d, sizeof d);
        sum += d;
    }
    return sum;
}

void gsa_trainer_count(int64_t *count, int64_t more)
{
    *count = more < GSA_MOST_COUNT - *count ? *count + more : GSA_MOST_COUNT;
}

static void count_loss(gsa_trainer *t, const gsa_ledger_step *s, double loss)
{
    if (!isfinite(loss)) return;
    t->sums.epoch_loss += loss * (double)s->targets,
        t->sums.report_loss += loss * (double)s->targets;
    gsa_trainer_count(&t->counts.epoch_targets, s->targets);
    gsa_trainer_count(&t->counts.report_targets, s->targets);
}

/* The run as it was before the step. */
static void set_back(gsa_trainer *t, const gsa_ledger_step *s)
{
    t->counts.step = s->step, t->counts.cursor = s->cursor, t->counts.tokens = s->tokens;
    t->step_steps = s->step_steps, t->step_tokens = s->step_tokens;
    t->offered_steps = s->offered_steps, t->graph_steps = s->graph_steps;
}

/* The last step that ran: its gradients still are. */
static gsa_status judge(gsa_trainer *t, const gsa_ledger_step *s, double loss, gsa_error *error)
{
    if (t->session.recipe.values.train_check_nan) {
        set_back(t, s);
        const gsa_status status =
            gsa_optimiser_blame(t->optimiser, s->step + 1, loss, t->norm, error);
        if (!t->session.group || t->bad_rank < 0) return status;
        t->session.group->blamed = 1;
        gsa_fail_at(error, status, "rank %d of %d", t->bad_rank, t->session.group->ranks);
        return status;
    }
    t->counts.skipped++;
    count_loss(t, s, loss);
    return GSA_OK;
}

static gsa_status stumble(gsa_trainer *t, const gsa_ledger_step *s, int last, gsa_error *error)
{
    const gsa_status status = gsa_optimiser_resume(t->optimiser, s->applied, error);
    /* Of a sum it is not known whose: the step runs again, and each rank looks at its own. */
    if (t->tree.planes && !t->tree.looks) last = 0;
    t->ledger.close = GSA_LEDGER_STEPS; /* one that is bad is often followed by others */
    if (status != GSA_OK) return status;
    if (last) return judge(t, s, loss_of(t, s), error);
    set_back(t, s);
    return GSA_OK;
}

gsa_status gsa_trainer_settle(gsa_trainer *t, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    gsa_ledger *l = &t->ledger;
    const int64_t count = l->count, used = l->used;
    if (count == 0) return GSA_OK;
    l->count = l->used = 0;
    gsa_status status = backend_failed(b, b->download(b, l->host, l->at, used), error);
    status = gsa_group_merge(t->session.group, status, l->host, used, error);
    if (status != GSA_OK) return status;
    l->close -= count < l->close ? count : l->close;
    for (int64_t i = 0; i < count; i++) {
        const gsa_ledger_step *s = &l->step[i];
        memcpy(&t->norm, l->host + s->at, sizeof t->norm);
        if (!isfinite(t->norm)) return stumble(t, s, i + 1 == count, error);
        count_loss(t, s, loss_of(t, s));
    }
    return GSA_OK;
}
