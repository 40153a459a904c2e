#include "train/driver/rehearsal.h"
#include <stdio.h>
#include "kernels/idle.h"
#include "train/driver/step.h"
#include "train/memory.h"

/* ---- the step ------------------------------------------------------------------------------ */

/* Forward and backward of the batch, on a tape of its own. The learner's parameters, which the idle
 * backend leaves alone, are the run's. */
static gsa_status walk(gsa_trainer *t, const gsa_minibatch *batch, int64_t *bytes, gsa_error *error)
{
    gsa_session *s = &t->session;
    gsa_learner idle = s->model;
    gsa_status status = gsa_backend_idle(t->system, s->backend, &idle.backend, error);
    if (status != GSA_OK) return status;
    status = gsa_tape_create(t->system, idle.backend, &idle.tape, error);
    if (status == GSA_OK) {
        gsa_tape_reset(idle.tape, 1, 0, 0);
        gsa_tensor *loss = gsa_learner_loss(&idle, gsa_learner_forward(&idle, batch), batch, 1);
        status = gsa_tape_status(idle.tape, error);
        if (status == GSA_OK) status = gsa_tape_backward(idle.tape, loss, error);
        *bytes = gsa_tape_peak(idle.tape);
        gsa_tape_release(idle.tape);
    }
    gsa_backend_release(idle.backend);
    return status;
}

static gsa_status rehearse(gsa_trainer *t, gsa_need *need, gsa_error *error)
{
    gsa_session *s = &t->session;
    int64_t tokens;
    const gsa_wanted wanted = gsa_trainer_largest(t, GSA_REHEARSAL_BATCHES, &tokens);
    const int64_t layer = tokens * s->model.settings.hidden * s->backend->real_bytes;
    const gsa_minibatch *batch = &s->batch;
    if (wanted.count == 0 || (s->recipe.values.train_memory == 0 && layer < GSA_REHEARSAL_BYTES))
        return GSA_OK;
    const int64_t before = gsa_memory_resident(t->system);
    s->batch.first = wanted.first, s->batch.draw = wanted.draw;
    gsa_status status = gsa_task_fill(s->task, s->self, wanted.split, wanted.example, wanted.count,
                                      &s->batch, error);
    if (status != GSA_OK) return status;
    if (s->rows.model) status = gsa_rank_rows_begin(&s->rows, &s->batch, &batch, error);
    if (status == GSA_OK) status = walk(t, batch, &need->tensors, error);
    if (s->rows.model) gsa_rank_rows_end(&s->rows);
    need->held = gsa_memory_resident(t->system);
    if (s->prefetch && need->held > before) need->batch = need->held - before;
    return status;
}

/* ---- what is said -------------------------------------------------------------------------- */

enum { SAID = 32 };
static const char *said(int64_t bytes, char text[SAID])
{
    if (bytes < 1000000000) snprintf(text, SAID, "%.3f MB", 1e-6 * (double)bytes);
    else snprintf(text, SAID, "%.2f GB", 1e-9 * (double)bytes);
    return text;
}

/* need: of each number the largest of any rank; `available` is this machine's. */
static gsa_status judge(gsa_trainer *t, const gsa_need *need, gsa_error *error)
{
    char text[512], tensors[SAID], rest[SAID], there[SAID];
    const gsa_session *s = &t->session;
    const int shared = s->backend->shares_host_memory;
    const char *who = s->group ? "a rank's step" : "a step";
    const int64_t limit = s->recipe.values.train_memory, ranks = s->group ? s->group->on_host : 1,
                  more = (shared ? need->tensors : 0) + need->batch, whole = more + need->held;
    said(need->tensors, tensors), said(need->held + need->batch, rest);
    said(need->available, there);
    snprintf(text, sizeof text,
             shared ? "%s needs %s for states and gradients, %s for data, graph and weights; %s "
                      "are available"
                    : "%s needs %s of the device for states and gradients, and %s here",
             who, tensors, rest, there);
    gsa_trainer_say(t, text);
    if (limit > 0 && whole > limit)
        return gsa_recipe_fail(&s->recipe, "train", "memory", error, "= %lld: %s needs %lld bytes",
                               (long long)limit, who, (long long)whole);
    if (limit > 0 || !shared || need->available == 0 || more * ranks <= need->available)
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "%s needs %s more than it has, %s are available%s: take a smaller train.batch "
                    "or batch_tokens, share rows over ranks (train.split), or set train.memory",
                    who, said(more, rest), there, ranks > 1 ? " to all ranks of this machine" : "");
}

static void keep_largest(int64_t *largest, int64_t number)
{
    if (number > *largest) *largest = number;
}

gsa_status gsa_trainer_rehearse(gsa_trainer *t, gsa_error *error)
{
    gsa_group *group = t->session.group;
    int64_t numbers[GSA_GROUP_RANKS * GSA_GROUP_NUMBERS];
    gsa_need need = { 0 };
    gsa_status status = rehearse(t, &need, error);
    const int64_t own[GSA_GROUP_NUMBERS] = { need.tensors, need.batch, need.held };
    status = gsa_group_tell(group, status, own, numbers, error);
    if (status != GSA_OK) return status;
    for (int32_t r = 0; r < gsa_group_ranks(group); r++) {
        const int64_t *one = numbers + r * GSA_GROUP_NUMBERS;
        keep_largest(&need.tensors, one[0]);
        keep_largest(&need.batch, one[1]);
        keep_largest(&need.held, one[2]);
    }
    if (need.tensors == 0) return GSA_OK;
    need.available = gsa_memory_available(t->system);
    status = judge(t, &need, error);
    return gsa_group_tell(group, status, NULL, NULL, error);
}
