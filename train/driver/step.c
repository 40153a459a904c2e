#include "train/driver/step.h"
#include <stdio.h>

static gsa_status backend_failed(gsa_backend *b, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

/* ---- forward and backward ------------------------------------------------------------------ */

/* Where the piece ends in which example `from` lies (train.pieces). */
static int64_t share_end(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t from)
{
    int64_t to = count;
    for (int64_t s = t->pieces - 1; s > 0; s--) {
        const int64_t begins = gsa_batches_share(&t->batches, example, count, s, t->pieces);
        if (begins <= from) break;
        to = begins;
    }
    return to;
}

/* The part of a global batch's `count` examples that starts at `from`: of one piece, and within the
 * limits of a batch. */
static int64_t part_end(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t from)
{
    return gsa_batches_piece(&t->batches, example, share_end(t, example, count, from), from);
}

/* Which of the ranks that share examples this one is. Ranks that share rows have them all. */
static int64_t share_rank(const gsa_trainer *t)
{
    return t->session.rows.model ? 0 : gsa_group_rank(t->session.group);
}

/* Where this rank's examples begin (after: those of the next one). */
static int64_t own_begin(const gsa_trainer *t, const int64_t *example, int64_t count, int after)
{
    const int64_t piece = (share_rank(t) + after) * t->tree.pieces;
    return gsa_batches_share(&t->batches, example, count, piece, t->pieces);
}

/* The part that starts at `from`, as a batch of that step. */
static gsa_wanted piece_at(const gsa_trainer *t, int64_t step, const int64_t *example,
                           int64_t count, int64_t from)
{
    const int64_t to = part_end(t, example, count, from);
    return (gsa_wanted){ .split = GSA_SPLIT_TRAIN,
                         .count = (int32_t)(to - from),
                         .first = (int32_t)from,
                         .draw = step + 1,
                         .example = example + from };
}

gsa_wanted gsa_trainer_largest(const gsa_trainer *t, int64_t batches, int64_t *most)
{
    gsa_wanted best = { .split = GSA_SPLIT_TRAIN };
    int64_t count, at = 0;
    *most = -1;
    for (int64_t i = 0; i < batches && i < t->batches.count; i++) {
        const int64_t *example = gsa_batches_at(&t->batches, i, &count);
        const int64_t to = own_begin(t, example, count, 1);
        for (int64_t from = own_begin(t, example, count, 0); from < to;) {
            const gsa_wanted piece = piece_at(t, t->counts.step, example, count, from);
            int64_t tokens = 0;
            for (int32_t e = 0; e < piece.count; e++) tokens += t->batches.length[piece.example[e]];
            if (tokens > *most) *most = tokens, best = piece, at = i;
            from += piece.count;
        }
    }
    if (best.count > 0) best.example = gsa_batches_at(&t->batches, at, &count) + best.first;
    return best;
}

/* Has the piece that ends at `to` another one after it, in this global batch or in the next? Not
 * where an evaluation, which has batches of its own, or an epoch, which has another order, comes
 * first. */
static int next_piece(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t to,
                      gsa_wanted *next)
{
    const int64_t cursor = t->counts.cursor + 1;
    int64_t step = t->counts.step;
    if (to == own_begin(t, example, count, 1)) {
        if (++step >= t->schedule.steps ||
            gsa_trainer_due(t, step, cursor) & (GSA_DUE_EPOCH | GSA_DUE_EVALUATION))
            return 0;
        example = gsa_batches_at(&t->batches, cursor, &count);
        to = own_begin(t, example, count, 0);
        if (to == own_begin(t, example, count, 1)) return 0;
    }
    *next = piece_at(t, step, example, count, to);
    return 1;
}

/* Piece `number`: adds its gradients, and notes its share of the loss. `scale` is 1 / targets of
 * the global batch; `last`: nothing is added to this rank's gradients afterwards. */
static gsa_status piece(gsa_trainer *t, int64_t number, const gsa_wanted *wanted,
                        const gsa_wanted *next, int last, double scale, gsa_error *error)
{
    gsa_session *s = &t->session;
    gsa_backend *b = s->backend;
    gsa_status status = gsa_session_fill(s, wanted, error);
    if (status != GSA_OK) return status;
    gsa_tape *tape = s->model.tape;
    gsa_tape_reset(tape, 1, (uint32_t)t->counts.seed, (uint32_t)t->counts.step);
    if (last) gsa_tree_watch(&t->tree, tape);
    gsa_session_ask(s, next);
    const gsa_minibatch *batch = &s->batch;
    if (s->rows.model) {
        status = gsa_rank_rows_begin(&s->rows, &s->batch, &batch, error);
        if (status != GSA_OK) return status;
        number = number * s->group->ranks + s->group->rank;
        if (s->rows.by_example && s->group->rank > 0) scale = 0;
    }
    s->model.done = (double)t->counts.step / (double)t->schedule.steps;
    gsa_tensor *loss =
        gsa_learner_loss(&s->model, gsa_learner_forward(&s->model, batch), batch, scale);
    status = gsa_tape_status(tape, error);
    if (status == GSA_OK) {
        status = backend_failed(
            b, b->copy(b, gsa_ledger_loss(t, number), loss->data, b->real_bytes), error);
    }
    if (status == GSA_OK) status = gsa_tape_backward(tape, loss, error);
    t->step_tokens += s->rows.model ? s->rows.own : s->batch.tokens;
    if (s->rows.model) gsa_rank_rows_end(&s->rows);
    return status;
}

/* Parts of the examples before `to`. */
static int64_t count_parts(const gsa_trainer *t, const int64_t *example, int64_t count, int64_t to)
{
    int64_t parts = 0;
    for (int64_t from = 0; from < to; from = part_end(t, example, count, from)) parts++;
    return parts;
}

/* This rank's pieces that end at `from`, from piece *next on: their gradients go into the tree. */
static gsa_status end_pieces(gsa_trainer *t, const int64_t *example, int64_t count, int64_t from,
                             int64_t *next, gsa_error *error)
{
    const int64_t first = share_rank(t) * t->tree.pieces;
    gsa_status status = GSA_OK;
    while (status == GSA_OK && *next < t->tree.pieces &&
           gsa_batches_share(&t->batches, example, count, first + *next + 1, t->pieces) <= from)
        status = gsa_tree_add(&t->tree, (*next)++, error);
    return status;
}

static gsa_status gradients(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets,
                            gsa_error *error)
{
    gsa_session *s = &t->session;
    const int32_t terms = s->model.plan.terms;
    const double scale = 1.0 / ((double)targets * (double)(terms > 0 ? terms : 1));
    int64_t from = own_begin(t, example, count, 0), next_share = 0;
    const int64_t to = own_begin(t, example, count, 1);
    int64_t number = count_parts(t, example, count, from);
    gsa_status status = gsa_parameters_zero_gradients(s->model.parameters, error);
    t->tree.looks = t->ledger.close > 0;
    if (status == GSA_OK) status = end_pieces(t, example, count, from, &next_share, error);
    while (from < to && status == GSA_OK) {
        gsa_wanted next;
        const gsa_wanted wanted = piece_at(t, t->counts.step, example, count, from);
        from += wanted.count;
        if (s->stop && *s->stop) return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request");
        const int more = next_piece(t, example, count, from, &next),
                  last = from == to && next_share + 1 == t->tree.pieces;
        status = piece(t, number++, &wanted, more ? &next : NULL, last, scale, error);
        if (status == GSA_OK) status = end_pieces(t, example, count, from, &next_share, error);
        if (status == GSA_OK && from < to) status = gsa_session_upload_ahead(s, error);
    }
    return status;
}

/* The gradients of all ranks; tokens of this step that are not this rank's; whether one is to
 * stop. */
static gsa_status share(gsa_trainer *t, gsa_status status, int64_t tokens_before, gsa_error *error)
{
    gsa_group *g = t->session.group;
    const volatile sig_atomic_t *stop = t->options->stop;
    int64_t all[GSA_GROUP_RANKS * GSA_GROUP_NUMBERS],
        own[GSA_GROUP_NUMBERS] = { stop && *stop, 0, t->step_tokens - tokens_before };
    if (!g) return status;
    if (t->session.rows
            .model) { /* ops tell each other, too: there the others wait, not in the sum */
        status = gsa_group_tell(g, status, NULL, NULL, error);
        if (status != GSA_OK) return status;
    }
    const gsa_status ended = gsa_tree_end(&t->tree, &own[1], status == GSA_OK ? error : NULL);
    status = gsa_group_tell(g, status == GSA_OK ? ended : status, own, all, error);
    if (status != GSA_OK) return status;
    t->bad_rank = -1, t->step_tokens = tokens_before;
    for (int32_t r = g->ranks - 1; r >= 0; r--) {
        const int64_t *theirs = all + r * GSA_GROUP_NUMBERS;
        if (theirs[0]) t->stops = 1;
        if (theirs[1]) t->bad_rank = r;
        t->step_tokens += theirs[2];
    }
    return gsa_tree_take(&t->tree, error);
}

/* ---- the step ------------------------------------------------------------------------------ */

/* All of it is queued; the norm is requested on the way where that costs nothing. */
static gsa_status whole_step(gsa_trainer *t, const int64_t *example, int64_t count, int64_t targets,
                             gsa_error *error)
{
    double *norm = t->session.backend->shares_host_memory ? &t->norm : NULL;
    const int64_t tokens = t->step_tokens;
    /* Sums carry no status: ranks exchange here what failed before. */
    gsa_status status = gsa_group_tell(t->session.group, GSA_OK, NULL, NULL, error);
    if (status != GSA_OK) return status;
    status = gradients(t, example, count, targets, error);
    status = share(t, status, tokens, error);
    if (status == GSA_OK) status = gsa_optimiser_step(t->optimiser, t->lr, norm, error);
    if (status == GSA_OK) status = gsa_ledger_norm(t, error);
    return status;
}

/* Where the backend can, the step is launched as a whole. */
static gsa_status repeated_step(gsa_trainer *t, const int64_t *example, int64_t count,
                                int64_t targets, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    int graphs = 0;
    if (!b->step_begin) return whole_step(t, example, count, targets, error);
    gsa_status status = backend_failed(b, b->step_begin(b), error);
    if (status != GSA_OK) return status;
    status = whole_step(t, example, count, targets, error);
    const gsa_status ended = b->step_end(b, &graphs);
    t->offered_steps++, t->graph_steps += graphs > 0;
    return ended == GSA_OK ? status
                           : backend_failed(b, ended, error); /* which knows why work was dropped */
}

/* Where the next batch cannot go up next to a step: once. */
static void say_refusal(gsa_trainer *t)
{
    char text[GSA_ERROR_SIZE + 64];
    const char *why = gsa_tape_refused(t->session.model.tape);
    if (!why) return;
    snprintf(text, sizeof text,
             "batches are uploaded in their turn, not during the step before: %s", why);
    gsa_trainer_say(t, text);
}

gsa_status gsa_trainer_step(gsa_trainer *t, gsa_error *error)
{
    int64_t count;
    const int64_t tokens = t->step_tokens, step = t->counts.step;
    if (t->stops) return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request");
    const int64_t *example = gsa_batches_at(&t->batches, t->counts.cursor, &count);
    const int64_t targets =
        gsa_task_targets(t->session.task, t->session.self, GSA_SPLIT_TRAIN, example, count);
    const gsa_group *group = t->session.group;
    const int64_t losses = t->session.rows.model ? group->ranks : 1;
    const int64_t sent = group ? group->sent : 0;
    gsa_status status =
        gsa_ledger_open(t, losses * count_parts(t, example, count, count), targets, error);
    if (status != GSA_OK || t->counts.step < step) return status;
    t->lr = gsa_schedule_rate(&t->schedule, t->counts.step);
    status = repeated_step(t, example, count, targets, error);
    if (group) t->sent += group->sent - sent;
    if (status == GSA_OK) status = gsa_session_upload_ahead(&t->session, error);
    if (status != GSA_OK) return status;
    say_refusal(t);
    gsa_ledger_close(t);
    t->counts.step++, t->counts.cursor++, t->step_steps++;
    gsa_trainer_count(&t->counts.tokens, t->step_tokens - tokens);
    return GSA_OK;
}
