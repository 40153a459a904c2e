/* driver.c - gsa_train: the loop over epochs, and what is due between two steps. */
#include "train/driver.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint_parts.h"
#include "kernels/profile.h"
#include "train/score/outcomes.h"
#include "train/driver/alike.h"
#include "train/data/plain.h"
#include "train/driver/leftovers.h"
#include "train/driver/rehearsal.h"
#include "train/driver/step.h"
#include "train/driver/trainer.h"

static const gsa_recipe_values *values(const gsa_trainer *t)
{
    return &t->session.recipe.values;
}

/* ---- setting up ---------------------------------------------------------------------------- */

static gsa_status check_selection(gsa_trainer *t, gsa_error *error)
{
    const gsa_session *s = &t->session;
    if (t->options->steps_alone || s->task->examples(s->self, GSA_SPLIT_DEV) > 0) return GSA_OK;
    if (values(t)->train_early_stop > 0)
        return gsa_recipe_fail(&s->recipe, "train", "early_stop", error,
                               "= %lld needs development data, and there is none",
                               (long long)values(t)->train_early_stop);
    if (values(t)->train_select == GSA_SELECT_BEST)
        gsa_trainer_say(t, "no development data: the last model is kept");
    return GSA_OK;
}

static gsa_status set_up_steps(gsa_trainer *t, gsa_error *error)
{
    const gsa_session *s = &t->session;
    const gsa_recipe_values *v = values(t);
    gsa_batches_options options = gsa_session_batches(s);
    const int64_t examples = s->task->examples(s->self, GSA_SPLIT_TRAIN);
    if (s->task->blocks) options.block = s->task->blocks(s->self, &options.blocks);
    gsa_status status =
        gsa_batches_create(t->system, &options, s->task->lengths(s->self, GSA_SPLIT_TRAIN),
                           examples, &t->batches, error);
    if (status != GSA_OK) return status;
    gsa_batches_shuffle(&t->batches, 0);
    int64_t steps = t->batches.count * v->train_epochs;
    if (v->train_max_steps > 0 && v->train_max_steps < steps) steps = v->train_max_steps;
    t->schedule = (gsa_schedule){ .kind = (int32_t)v->train_schedule,
                                  .hidden = (int32_t)v->model_hidden,
                                  .steps = steps,
                                  .warmup = v->train_warmup,
                                  .lr = v->train_lr,
                                  .hold = v->train_hold,
                                  .final = v->train_final };
    const gsa_optimiser_options o = { .struct_size = sizeof o,
                                      .kind = (int32_t)v->train_optimizer,
                                      .beta1 = v->train_beta1,
                                      .beta2 = v->train_beta2,
                                      .eps = v->train_eps,
                                      .momentum = v->train_momentum,
                                      .weight_decay = v->train_weight_decay,
                                      .clip = v->train_clip };
    t->counts = (gsa_run_counts){
        .version = GSA_STATE_VERSION, .seed = v->train_seed, .examples = examples, .evaluated = -1
    };
    status = gsa_optimiser_create(t->system, s->model.parameters, &o, &t->optimiser, error);
    if (status != GSA_OK) return status;
    const int64_t sharing = s->rows.model ? 1 : gsa_group_ranks(s->group);
    status = gsa_tree_create(t->system, s->model.parameters, t->pieces / sharing, s->group,
                             &t->tree, error);
    if (status != GSA_OK) return status;
    status = gsa_running_mean_create(t->system, s->model.parameters, s->backend, v->train_average,
                                     &t->running, error);
    if (status == GSA_OK && t->running.mean) t->optimiser->mean = &t->running;
    return status;
}

static gsa_status open_wire(gsa_trainer *t, gsa_error *error)
{
    char said[GSA_ERROR_SIZE];
    gsa_session *s = &t->session;
    if (s->rows.model || !s->group) return GSA_OK;
    const gsa_status status = gsa_group_open_wire(s->group, s->backend, said, sizeof said, error);
    if (status == GSA_OK && *said) gsa_trainer_say(t, said);
    return status;
}

/* train.pieces = 0: one each rank. A rank has those of one subtree. */
static gsa_status settle_pieces(gsa_trainer *t, gsa_error *error)
{
    gsa_session *s = &t->session;
    const int32_t ranks = s->rows.model ? 1 : gsa_group_ranks(s->group);
    if (s->rows.model && values(t)->train_pieces > 1)
        return gsa_recipe_fail(&s->recipe, "train", "pieces", error,
                               "= %lld: with train.split = rows a step is one piece",
                               (long long)values(t)->train_pieces);
    if (!s->group && values(t)->train_split == GSA_SPLIT_ROWS)
        gsa_trainer_say(t,
                        "train.split = rows changes nothing on one process: ranks of mpirun share "
                        "the rows of each example");
    if (values(t)->train_pieces == 0) s->recipe.values.train_pieces = ranks;
    t->pieces = values(t)->train_pieces;
    if (t->pieces % ranks != 0)
        return gsa_recipe_fail(&s->recipe, "train", "pieces", error,
                               "= %lld cannot be shared by %d ranks: expected a multiple of them",
                               (long long)t->pieces, ranks);
    if (ranks > 1 && s->backend->step_begin)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "device '%s' launches steps as a whole, %d ranks add gradients within one: "
                        "expected a device without graphs",
                        s->backend->name, ranks);
    return GSA_OK;
}

static gsa_status name_metric(gsa_trainer *t, gsa_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "dev_%s", t->session.task->metric);
    t->metric = gsa_copy_text(t->system, name);
    return t->metric ? GSA_OK : gsa_out_of_memory(error, "the metric's name", 64);
}

/* *found: a kill left this of a run, which begins anew. A run begins with its log; then config.ini
 * comes, as gsa_recipe_write writes it; then all else. So the log begins as a run's, or it tells
 * nothing (-1: it is empty), but config.ini does. *name: which of the two is another's. */
static gsa_status see_killed(const gsa_system *system, const char *folder, int *found,
                             const char **name, gsa_error *error)
{
    int log, config = GSA_FILE_ABSENT, written = 0;
    char *path = gsa_path_join(system, folder, "log.jsonl", error);
    gsa_status status =
        path ? gsa_log_is_of_a_run(system, path, &log, found, error) : GSA_ERR_MEMORY;
    gsa_release(system, path);
    if (status != GSA_OK) return status;
    path = gsa_path_join(system, folder, "config.ini", error);
    status = path ? gsa_see_entry(system, path, &config, error) : GSA_ERR_MEMORY;
    if (status == GSA_OK && config == GSA_FILE_REGULAR)
        status = gsa_recipe_is_written(system, path, &written, error);
    gsa_release(system, path);
    if (*found < 0 && (written || log == GSA_FILE_LINK)) *found = written;
    if (log != GSA_FILE_ABSENT && !*found) *name = "log.jsonl";
    else if (config != GSA_FILE_ABSENT && !written) *name = "config.ini", *found = 0;
    return status;
}

/* The run's config.ini would take the place of the recipe that is read. */
static gsa_status check_recipe(const gsa_system *system, const char *recipe, const char *out,
                               gsa_error *error)
{
    char why[128];
    if (!recipe || !system->same) return GSA_OK;
    char *path = gsa_path_join(system, out, "config.ini", error);
    if (!path) return GSA_ERR_MEMORY;
    const int file = system->open(system->user, recipe, GSA_OPEN_READ),
              is = file >= 0 && system->same(system->user, file, path);
    gsa_status status = GSA_OK;
    if (file < 0)
        status = gsa_fail(error, GSA_ERR_IO, "'%s' cannot be opened: %s", recipe,
                          gsa_errno_text(errno, why, sizeof why));
    else if (is)
        status = gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'%s' is the recipe, and the run would overwrite it: choose another --out", recipe);
    if (file >= 0) system->close(system->user, file);
    gsa_release(system, path);
    return status;
}

/* A place for a run: a folder without one, or nothing yet. */
static gsa_status check_out(const gsa_system *system, const char *recipe, const char *out,
                            gsa_error *error)
{
    char step[GSA_STEP_NAME], why[128];
    const char *name = NULL;
    int kind, latest = GSA_FILE_ABSENT, ours = 0;
    gsa_status status = gsa_see(system, out, &kind, error);
    if (status == GSA_OK && (kind == GSA_FILE_REGULAR || kind == GSA_FILE_OTHER))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--out '%s' is no folder: a run needs a folder, or a name for a new one",
                        out);
    if (status == GSA_OK) status = gsa_see_in(system, out, "latest", &latest, error);
    if (status == GSA_OK && (latest > GSA_FILE_ABSENT || gsa_has_checkpoint(system, out)))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "folder '%s' holds a run already: go on with it (--resume), or choose another", out);
    if (status == GSA_OK) status = see_killed(system, out, &ours, &name, error);
    if (status == GSA_OK && (ours || name)) status = check_recipe(system, recipe, out, error);
    if (status == GSA_OK && ours > 0) status = gsa_see_in(system, out, "result.json", &kind, error);
    if (status == GSA_OK && ours > 0 && kind == GSA_FILE_REGULAR)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s/result.json' is of a run that has ended and would be overwritten: "
                        "move it away, or choose another folder",
                        out);
    if (status != GSA_OK || ours > 0) return status;
    const int steps = gsa_finds_step(system, out, -1, step);
    if (steps < 0)
        return gsa_fail(error, GSA_ERR_IO, "what folder '%s' holds cannot be seen: %s", out,
                        gsa_errno_text(errno, why, sizeof why));
    if (steps && !name) name = step;
    for (int i = 0; i < GSA_RUN_FILES && !name && status == GSA_OK; i++) {
        status = gsa_see_in(system, out, gsa_run_files[i], &kind, error);
        if (status == GSA_OK && kind != GSA_FILE_ABSENT &&
            !(ours < 0 && strcmp(gsa_run_files[i], "log.jsonl") == 0))
            name = gsa_run_files[i];
    }
    if (!name) return status;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'%s/%s' is not of a run and would be overwritten: move it away, or choose "
                    "another folder",
                    out, name);
}

static gsa_status lock_folder(gsa_trainer *t, const char *folder, gsa_error *error)
{
    if (t->options->lock || t->lock.system) return GSA_OK;
    const gsa_status status = gsa_lock_folder(t->system, folder, &t->lock, error);
    if (status == GSA_OK) t->system = t->lock.system;
    return status;
}

/* A run that goes on in another folder than it came from. */
static int is_elsewhere(const gsa_train_options *o)
{
    return o->resume && o->out && strcmp(o->out, o->resume) != 0;
}

/* The folder that is written to, and the checkpoint that the run goes on from (NULL: none). */
static gsa_status find_folders(gsa_trainer *t, char **checkpoint, gsa_error *error)
{
    const gsa_train_options *o = t->options;
    char *warning = NULL;
    const int writes = gsa_group_rank(o->group) == 0;
    const char *folder = !writes ? NULL : o->out ? o->out : o->resume;
    if (!o->recipe == !o->resume)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "training needs a recipe or a run to go on with, and not both");
    int kind = GSA_FILE_ABSENT;
    gsa_status status = folder ? gsa_see(t->system, folder, &kind, error) : GSA_OK;
    if (kind == GSA_FILE_FOLDER) status = lock_folder(t, folder, error);
    if (status != GSA_OK) return status;
    if (writes && o->out && (!o->resume || is_elsewhere(o)))
        status = check_out(t->system, o->recipe, o->out, error);
    if (status != GSA_OK) return status;
    if (o->resume && !o->out)
        status = gsa_see_in(t->system, o->resume, "manifest.sha256", &kind, error);
    if (status != GSA_OK) return status;
    if (o->resume && !o->out && kind != GSA_FILE_ABSENT)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s' is one checkpoint: name the run's folder, or an --out next to it",
                        o->resume);
    /* in the locked folder no link is followed, and the other one may be linked into it */
    t->origin = is_elsewhere(o) ? t->base : t->system;
    if (o->resume)
        status = gsa_checkpoint_hold(t->origin, t->base, o->resume, NULL, &t->from, checkpoint,
                                     &warning, error);
    if (warning) gsa_trainer_warn(t, warning);
    gsa_release(t->system, warning);
    if (status == GSA_OK && *checkpoint)
        status = gsa_see_in(gsa_anchor_system(t->from, t->base), *checkpoint, GSA_STATE_FILE, &kind,
                            error);
    if (status == GSA_OK && *checkpoint && kind == GSA_FILE_ABSENT)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' is a model without the state of its training (gsa average makes "
                          "such), so it does not go on: "
                          "a new run begins with it by train.start",
                          o->resume);
    if (status != GSA_OK || !folder) return status;
    t->folder = gsa_copy_text(t->system, folder);
    return t->folder ? GSA_OK : gsa_out_of_memory(error, folder, (int64_t)strlen(folder));
}

static gsa_status write_config(gsa_trainer *t, gsa_error *error)
{
    gsa_output *output;
    char *path = gsa_path_join(t->system, t->folder, "config.ini", error);
    gsa_status status =
        path ? gsa_output_open_own(t->system, path, &output, error) : GSA_ERR_MEMORY;
    if (status == GSA_OK) {
        gsa_recipe_write(&t->session.recipe, output);
        status = gsa_output_commit(output, error);
    }
    gsa_release(t->system, path);
    return status;
}

static gsa_status open_log(gsa_trainer *t, int resumes, gsa_error *error)
{
    t->log = (gsa_log){ .system = t->system, .file = -1 };
    if (!t->folder) return GSA_OK;
    /* it was not there when the recipe was read */
    const int begins = !t->lock.system && !t->options->lock;
    gsa_status status = lock_folder(t, t->folder, error);
    if (status == GSA_OK && begins)
        status = check_out(t->system, t->options->recipe, t->folder, error);
    if (status == GSA_OK) status = gsa_remove_leftovers(t->system, t->folder, error);
    if (status == GSA_OK) status = gsa_checkpoint_clean(t->system, t->folder, error);
    char *path = status == GSA_OK ? gsa_path_join(t->system, t->folder, "log.jsonl", error) : NULL;
    if (!path) return status == GSA_OK ? GSA_ERR_MEMORY : status;
    /* a new run drops what another left */
    status =
        gsa_log_rewind(t->system, path, resumes ? t->counts.step : -1, t->metric, &t->curve, error);
    if (status == GSA_OK) status = gsa_log_open(t->system, path, &t->log, error);
    if (status == GSA_OK) status = gsa_trainer_report_environment(t, error);
    if (status == GSA_OK) status = write_config(t, error); /* see see_killed */
    gsa_release(t->system, path);
    return status;
}

static int finished(const gsa_trainer *t)
{
    const int64_t most = values(t)->train_max_steps;
    return t->counts.ended || t->counts.epoch >= values(t)->train_epochs ||
           (most > 0 && t->counts.step >= most);
}

/* train.start: the weights of another run, and nothing else of it. */
static gsa_status begin_with(gsa_trainer *t, gsa_error *error)
{
    char *path = gsa_path_join(t->system, t->session.start, GSA_MODEL_FILE, error);
    gsa_error why;
    if (!path) return GSA_ERR_MEMORY;
    const gsa_status status =
        gsa_parameters_read(t->session.system, t->session.model.parameters, path, &why);
    gsa_release(t->system, path);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "train.start: %s", why.text);
}

/* A resumed run has its weights: it cannot begin again. */
static gsa_status check_resumed(gsa_trainer *t, const char *checkpoint, gsa_error *error)
{
    int kind;
    const gsa_status status =
        gsa_see_in(t->session.system, checkpoint, "data.sha256", &kind, error);
    if (status != GSA_OK) return status;
    if (*t->session.data && kind == GSA_FILE_ABSENT)
        gsa_trainer_say(t, "the checkpoint has no data.sha256: whether the data has changed since "
                           "the run began is not known");
    const gsa_ini_entry *entry = gsa_ini_find(&t->session.recipe.ini, "train", "start");
    if (!entry || entry->line > 0 || !*values(t)->train_start) return GSA_OK;
    return gsa_recipe_fail(&t->session.recipe, "train", "start", error,
                           "= %s does nothing: a run that goes on (--resume) has its weights",
                           values(t)->train_start);
}

/* What this run makes of the place where the other one stopped. */
static gsa_status settle_place(gsa_trainer *t, const char *checkpoint, gsa_error *error)
{
    gsa_run_counts *c = &t->counts;
    const gsa_recipe_values *v = values(t);
    char *path = gsa_path_join(t->system, checkpoint, GSA_STATE_FILE, error);
    if (!path) return GSA_ERR_MEMORY;
    c->ended = v->train_early_stop > 0 && c->waited >= v->train_early_stop;
    gsa_batches_shuffle(&t->batches, c->epoch);
    const gsa_status status = gsa_trainer_check_place(t, path, error);
    gsa_release(t->system, path);
    if (status != GSA_OK) return status;
    if (c->cursor < t->batches.count || c->due & GSA_DUE_EPOCH || finished(t)) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "the run stopped after step %lld of its epoch, which has %lld now: it goes on "
                    "with the batch, batch_tokens "
                    "and accumulate of [train] that it began with",
                    (long long)c->cursor, (long long)t->batches.count);
}

/* 1: the recipe is in the folder that the caller locked. */
static int is_written(const gsa_train_options *o)
{
    const size_t bytes = o->lock && o->out && o->recipe ? strlen(o->out) : 0;
    return bytes > 0 && strncmp(o->recipe, o->out, bytes) == 0 && o->recipe[bytes] == '/';
}

static gsa_status create(gsa_trainer *t, gsa_error *error)
{
    const gsa_train_options *o = t->options;
    char *checkpoint = NULL;
    gsa_status status = find_folders(t, &checkpoint, error);
    const gsa_session_options options = { .recipe = o->resume ? NULL : o->recipe,
                                          .written = is_written(o) ? t->system : NULL,
                                          .checkpoint = checkpoint,
                                          .resumes = checkpoint != NULL,
                                          .overrides = o->overrides,
                                          .n_overrides = o->n_overrides,
                                          .plugins = o->plugins,
                                          .n_plugins = o->n_plugins,
                                          .policy = o->policy,
                                          .device = o->device,
                                          .build = o->build,
                                          .threads = o->threads,
                                          .splits = o->steps_alone ? 1u << GSA_SPLIT_TRAIN : 7,
                                          .backend = o->backend,
                                          .say = gsa_trainer_say,
                                          .warn = gsa_trainer_warn,
                                          .context = t,
                                          .stop = o->group ? &t->stops : o->stop,
                                          .profile = o->profile,
                                          .group = o->group };
    if (status == GSA_OK) /* what it reads may be linked into the run's folder */
        status =
            gsa_session_create(gsa_anchor_system(t->from, t->base), &options, &t->session, error);
    status = gsa_alike_check(o->group, &t->session, checkpoint, status, error);
    if (status == GSA_OK) status = settle_pieces(t, error);
    if (status == GSA_OK) status = name_metric(t, error);
    if (status == GSA_OK) status = check_selection(t, error);
    if (status == GSA_OK && checkpoint) status = check_resumed(t, checkpoint, error);
    if (status == GSA_OK && t->session.start) status = begin_with(t, error);
    status = gsa_group_tell(o->group, status, NULL, NULL, error);
    if (status == GSA_OK) gsa_identity_of(&t->session, t->run);
    if (status == GSA_OK) status = open_wire(t, error);
    if (status == GSA_OK) status = set_up_steps(t, error);
    if (status == GSA_OK && checkpoint) status = gsa_trainer_restore(t, checkpoint, error);
    if (status == GSA_OK && checkpoint) status = settle_place(t, checkpoint, error);
    if (status == GSA_OK && !finished(t)) status = gsa_trainer_rehearse(t, error);
    if (status == GSA_OK && finished(t) &&
        (!checkpoint || is_elsewhere(o))) /* epochs = 0: as initialised */
        t->counts.due |= GSA_DUE_CHECKPOINT;
    if (status == GSA_OK) status = open_log(t, checkpoint != NULL, error);
    status = gsa_group_tell(o->group, status, NULL, NULL, error);
    gsa_release(t->system, checkpoint);
    t->started = gsa_seconds() - t->sums.seconds;
    t->step_clock = gsa_seconds();
    return status;
}

static gsa_status release(gsa_trainer *t, gsa_status status, gsa_error *error)
{
    const gsa_status closed = gsa_log_close(&t->log, status == GSA_OK ? error : NULL);
    if (t->session.backend) gsa_trainer_drop_best(t);
    gsa_ledger_release(t);
    gsa_running_mean_release(&t->running);
    gsa_group_close_wire(t->session.group);
    gsa_tree_release(&t->tree);
    gsa_optimiser_release(t->optimiser);
    gsa_batches_release(&t->batches);
    gsa_chart_release(&t->curve);
    gsa_session_release(&t->session);
    gsa_anchor_close(t->from);
    gsa_release(t->system, t->metric);
    gsa_release(t->system, t->folder);
    gsa_lock_release(&t->lock);
    return status == GSA_OK ? closed : status;
}

/* ---- between two steps --------------------------------------------------------------------- */

int64_t gsa_trainer_due(const gsa_trainer *t, int64_t step, int64_t cursor)
{
    const gsa_recipe_values *v = values(t);
    const int epoch_ends = cursor >= t->batches.count;
    const int last = (v->train_max_steps > 0 && step >= v->train_max_steps) ||
                     (epoch_ends && t->counts.epoch + 1 >= v->train_epochs);
    int64_t due = epoch_ends ? GSA_DUE_EPOCH : 0;
    if (t->options->steps_alone) return due;
    if (last || (v->train_eval_every ? step % v->train_eval_every == 0 : epoch_ends))
        due |= GSA_DUE_EVALUATION;
    if (last || (v->train_checkpoint_every ? step % v->train_checkpoint_every == 0 : epoch_ends))
        due |= GSA_DUE_CHECKPOINT;
    return due;
}

/* The result tells of the best model where that one is kept, else of the last. */
static int has_kept(const gsa_trainer *t)
{
    return t->counts.has_best && values(t)->train_select == GSA_SELECT_BEST;
}

static void keep_score(gsa_trainer *t, const gsa_score *dev)
{
    const int64_t numbers[] = { dev->targets,      dev->examples,     dev->hits,
                                dev->found,        dev->wanted,       dev->strict_hits,
                                dev->strict_found, dev->strict_wanted };
    t->sums.dev_loss = dev->loss, t->sums.dev_right = dev->right;
    memcpy(t->counts.dev, numbers, sizeof numbers);
}

static gsa_status judge(gsa_trainer *t, const gsa_score *dev, gsa_error *error)
{
    gsa_run_counts *c = &t->counts;
    const double now = gsa_score_metric(t->session.task, dev);
    const int better =
        !c->has_best || (t->session.task->rising ? now > t->sums.best : now < t->sums.best);
    if (!isfinite(now) || !isfinite(dev->loss))
        return gsa_fail(error, GSA_ERR_NUMBER,
                        "step %lld: the development data have a loss of %g, expected a finite one",
                        (long long)c->step, gsa_shown(dev->loss));
    t->sums.last = now, c->evaluated = c->step;
    if (better || !has_kept(t)) keep_score(t, dev);
    c->waited = better ? 0 : c->waited + 1;
    if (values(t)->train_early_stop > 0 && c->waited >= values(t)->train_early_stop)
        c->ended = 1, c->due |= GSA_DUE_CHECKPOINT;
    if (!better) return GSA_OK;
    t->sums.best = now, c->has_best = 1, c->best_step = c->step;
    return values(t)->train_select == GSA_SELECT_BEST ? gsa_trainer_keep_best(t, error) : GSA_OK;
}

static gsa_status evaluate(gsa_trainer *t, gsa_error *error)
{
    gsa_score dev;
    const int there = t->session.task->examples(t->session.self, GSA_SPLIT_DEV) > 0;
    gsa_running_mean_swap(&t->running);
    gsa_profile_enter(t->options->profile, GSA_PROFILE_EVALUATION);
    gsa_status status = gsa_session_score(&t->session, GSA_SPLIT_DEV, &dev, NULL, error);
    gsa_profile_enter(t->options->profile, GSA_PROFILE_REST);
    if (status == GSA_OK && there) status = judge(t, &dev, error);
    gsa_running_mean_swap(&t->running);
    if (status == GSA_OK) status = gsa_trainer_report_epoch(t, there ? &dev : NULL, error);
    if (status == GSA_OK) t->counts.due &= ~GSA_DUE_EVALUATION;
    t->step_clock = gsa_seconds(),
    t->step_steps = t->step_tokens = 0; /* evaluation is no training time */
    return status;
}

static void next_epoch(gsa_trainer *t)
{
    gsa_run_counts *c = &t->counts;
    c->epoch++, c->cursor = 0, c->epoch_targets = 0;
    t->sums.epoch_loss = 0;
    c->due &= ~GSA_DUE_EPOCH;
    const gsa_profile_mark began = gsa_profile_begin(t->options->profile);
    if (!finished(t)) gsa_batches_shuffle(&t->batches, c->epoch);
    gsa_profile_end(t->options->profile, GSA_PROFILE_ORDER, began);
}

/* An epoch without an evaluation is still told. */
static gsa_status settle(gsa_trainer *t, gsa_error *error)
{
    gsa_run_counts *c = &t->counts;
    gsa_status status = GSA_OK;
    if (c->due & GSA_DUE_EVALUATION) status = evaluate(t, error);
    else if (c->due & GSA_DUE_EPOCH) status = gsa_trainer_report_epoch(t, NULL, error);
    if (status != GSA_OK) return status;
    if (c->due & GSA_DUE_EPOCH) next_epoch(t);
    if (!(c->due & GSA_DUE_CHECKPOINT)) return GSA_OK;
    c->due &= ~GSA_DUE_CHECKPOINT;
    status = gsa_trainer_save(t, error);
    return status == GSA_OK ? gsa_trainer_draw(t, error) : status;
}

static int reports(const gsa_trainer *t)
{
    const int64_t every = values(t)->train_report_every;
    return every > 0 && t->counts.step % every == 0;
}

/* Must the host know how the last steps went? Before anything is told, judged or saved, and at the
 * end. */
static int must_know(const gsa_trainer *t)
{
    return !gsa_ledger_waits(t) || reports(t) || finished(t) ||
           gsa_trainer_due(t, t->counts.step, t->counts.cursor);
}

static gsa_status advance(gsa_trainer *t, gsa_error *error)
{
    const int64_t before = t->counts.step;
    gsa_profile_enter(t->options->profile, GSA_PROFILE_STEP);
    gsa_status status = gsa_trainer_step(t, error);
    if (status == GSA_OK && must_know(t)) status = gsa_trainer_settle(t, error);
    gsa_profile_enter(t->options->profile, GSA_PROFILE_REST);
    if (status != GSA_OK || t->counts.step <= before)
        return status; /* set back: what was due there is done */
    t->counts.due |= gsa_trainer_due(t, t->counts.step, t->counts.cursor);
    return reports(t) ? gsa_trainer_report_step(t, error) : GSA_OK;
}

static gsa_status loop(gsa_trainer *t, gsa_error *error)
{
    gsa_status status = GSA_OK;
    while (status == GSA_OK) {
        if (t->counts.due) status = settle(t, error);
        else if (finished(t)) break;
        else status = advance(t, error);
    }
    return status;
}

/* Stopped on request: what is done is kept. */
static gsa_status save_interrupted(gsa_trainer *t, gsa_error *error)
{
    gsa_status status = gsa_trainer_settle(t, error);
    if (status == GSA_OK) status = gsa_trainer_save(t, error);
    if (status == GSA_OK) status = gsa_trainer_draw(t, error);
    if (status != GSA_OK) return status;
    if (!t->folder)
        return gsa_fail(
            error, GSA_ERR_INTERRUPTED,
            "stopped on request after step %lld; nothing is kept, as no folder was given",
            (long long)t->counts.step);
    return gsa_fail(error, GSA_ERR_INTERRUPTED,
                    "stopped on request after step %lld; it goes on with --resume %s",
                    (long long)t->counts.step, t->folder);
}

static void say_graphs(gsa_trainer *t)
{
    char text[128];
    if (!t->session.backend->step_begin) return;
    snprintf(text, sizeof text, "%lld of this run's %lld steps were launched as graphs",
             (long long)t->graph_steps, (long long)t->offered_steps);
    gsa_trainer_say(t, text);
}

/* The kept model on dev and test, each unit; the score on test is the result's. */
static gsa_status write_outcomes(gsa_trainer *t, gsa_score *test, gsa_error *error)
{
    gsa_outcomes outcomes[2] = { 0 };
    gsa_output *output;
    gsa_score dev;
    gsa_status status = gsa_outcomes_take(&t->session, GSA_SPLIT_DEV, &dev, &outcomes[0], error);
    if (status == GSA_OK)
        status = gsa_outcomes_take(&t->session, GSA_SPLIT_TEST, test, &outcomes[1], error);
    const int writes = status == GSA_OK && t->folder;
    char *path = writes ? gsa_path_join(t->system, t->folder, "outcomes.jsonl", error) : NULL;
    if (writes)
        status = path ? gsa_output_open_own(t->system, path, &output, error) : GSA_ERR_MEMORY;
    if (writes && status == GSA_OK) status = gsa_outcomes_save(outcomes, output, error);
    gsa_release(t->system, path);
    for (int i = 0; i < 2; i++) gsa_outcomes_release(&outcomes[i]);
    return status;
}

static gsa_status finish(gsa_trainer *t, char **result, gsa_error *error)
{
    gsa_score test = { 0 };
    const int steps_alone = t->options->steps_alone;
    json_t *more = steps_alone ? gsa_trainer_counts(t) : json_object();
    if (steps_alone) {
        const gsa_status told = gsa_trainer_result(t, &test, more, result, error);
        json_decref(more);
        return told;
    }
    gsa_trainer_swap_kept(t);
    gsa_status status = t->options->out || t->options->resume
                            ? write_outcomes(t, &test, error)
                            : gsa_session_score(&t->session, GSA_SPLIT_TEST, &test, NULL, error);
    if (status == GSA_OK) status = gsa_session_decode(&t->session, more, error);
    gsa_trainer_swap_kept(t);
    if (status == GSA_OK) status = gsa_trainer_draw(t, error);
    if (status == GSA_OK) status = gsa_trainer_result(t, &test, more, result, error);
    json_decref(more);
    return status;
}

gsa_status gsa_train(const gsa_system *system, const gsa_train_options *options, char **result,
                     gsa_error *error)
{
    gsa_error own;
    if (!error) error = &own;
    *result = NULL;
    gsa_trainer t = { .system = system ? system : gsa_system_default(),
                      .options = options,
                      .log = { .file = -1 } };
    t.base = t.curve.system = t.log.system = t.system;
    if (options->lock) t.system = options->lock->system;
    t.curve.lines = 2, t.curve.line[1].right = 1;
    const gsa_plain plain = gsa_plain_begin();
    gsa_profile_enter(options->profile, GSA_PROFILE_REST);
    gsa_status status = create(&t, error);
    if (status == GSA_OK) {
        status = loop(&t, error);
        if (status == GSA_OK) say_graphs(&t);
        if (status == GSA_OK) status = finish(&t, result, error);
        if (status == GSA_ERR_INTERRUPTED) status = save_interrupted(&t, error);
    }
    status = release(&t, status, error);
    gsa_profile_enter(options->profile, GSA_PROFILE_REST);
    gsa_plain_end(plain);
    if (status != GSA_OK && *result) gsa_release(t.base, *result), *result = NULL;
    return status;
}
