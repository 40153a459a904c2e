/* state.c - a run's checkpoint: model.safetensors (the selected model), config.ini, the task's
 * files, and state.safetensors:
 *   counts, sums          where the run is
 *   first/NAME second/NAME   moments
 *   mean/NAME             the running mean of the weights, where there is one
 *   weight/NAME  present values, where model.safetensors holds others: better ones of an earlier
 *       step, or the mean
 * Its notes: run (identity.h); batches, where epochs have had other numbers of steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "gsa/checkpoint_parts.h"
#include "train/use/inputs.h"
#include "train/use/plugins.h"
#include "train/driver/trainer.h"

enum {
    COUNTS = sizeof(gsa_run_counts) / sizeof(int64_t),
    SUMS = sizeof(gsa_run_sums) / sizeof(double),
    NAME = 512
};
#define VARIED_NOTE "batches"

static int64_t bytes_of(const gsa_trainer *t, const gsa_parameter *p)
{
    return p->value.rows * p->value.cols * t->session.backend->real_bytes;
}

static gsa_parameter *parameter(const gsa_trainer *t, int i)
{
    return gsa_parameters_at(t->session.model.parameters, i);
}

static int count(const gsa_trainer *t)
{
    return gsa_parameters_count(t->session.model.parameters);
}

static gsa_status backend_failed(const gsa_trainer *t, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK
                            : gsa_fail(error, status, "%s: %s", t->session.backend->name,
                                       t->session.backend->error.text);
}

/* ---- the best model ------------------------------------------------------------------------ */

static gsa_status hold_best(gsa_trainer *t, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    if (t->best) return GSA_OK;
    t->best = gsa_alloc_zero(t->system, (size_t)count(t), sizeof *t->best);
    if (!t->best) return gsa_out_of_memory(error, "the best model", count(t) * 8);
    for (int i = 0; i < count(t); i++) {
        const int64_t bytes = bytes_of(t, parameter(t, i));
        if (!gsa_is_learned(parameter(t, i))) continue;
        t->best[i] = b->alloc(b, bytes);
        if (!t->best[i]) return gsa_backend_no_memory(b, "the best model", bytes, error);
    }
    return GSA_OK;
}

gsa_status gsa_trainer_keep_best(gsa_trainer *t, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    gsa_status status = hold_best(t, error);
    for (int i = 0; i < count(t) && status == GSA_OK; i++)
        if (t->best[i])
            status = backend_failed(
                t,
                b->copy(b, t->best[i], parameter(t, i)->value.data, bytes_of(t, parameter(t, i))),
                error);
    return status;
}

void gsa_trainer_swap_kept(gsa_trainer *t)
{
    if (!t->best) gsa_running_mean_swap(&t->running);
    for (int i = 0; t->best && i < count(t); i++) {
        gsa_parameter *p = parameter(t, i);
        void *now = p->value.data;
        if (t->best[i]) p->value.data = t->best[i], t->best[i] = now;
    }
}

void gsa_trainer_drop_best(gsa_trainer *t)
{
    for (int i = 0; t->best && i < count(t); i++)
        if (t->best[i]) t->session.backend->free(t->session.backend, t->best[i]);
    gsa_release(t->system, t->best);
    t->best = NULL;
}

/* ---- saving -------------------------------------------------------------------------------- */

typedef struct store { /* blobs that own their names and host copies */
    const gsa_system *system;
    gsa_blob *blob;
    char **name;
    void **copy;
    int count;
} store;

static void store_release(store *s)
{
    for (int i = 0; i < s->count; i++) {
        gsa_release(s->system, s->name[i]);
        gsa_release(s->system, s->copy[i]);
    }
    gsa_release(s->system, s->blob);
    gsa_release(s->system, s->name);
    gsa_release(s->system, s->copy);
}

static gsa_status store_tensor(const gsa_trainer *t, store *s, const char *part,
                               const gsa_parameter *p, const void *at, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    char name[NAME];
    snprintf(name, sizeof name, "%s/%s", part, p->name);
    const int i = s->count;
    s->name[i] = gsa_copy_text(t->system, name);
    s->copy[i] = gsa_alloc(t->system, (size_t)bytes_of(t, p), 1);
    s->count++;
    if (!s->name[i] || !s->copy[i]) return gsa_out_of_memory(error, "a checkpoint", bytes_of(t, p));
    s->blob[i] = (gsa_blob){ s->name[i],
                             b->real == GSA_F32 ? GSA_DTYPE_F32 : GSA_DTYPE_F64,
                             2,
                             { p->value.rows, p->value.cols },
                             s->copy[i] };
    return backend_failed(t, b->download(b, s->copy[i], at, bytes_of(t, p)), error);
}

static gsa_status store_all(gsa_trainer *t, store *s, gsa_error *error)
{
    const size_t room = (size_t)(4 * count(t) + 2);
    s->blob = gsa_alloc_zero(t->system, room, sizeof *s->blob);
    s->name = gsa_alloc_zero(t->system, room, sizeof *s->name);
    s->copy = gsa_alloc_zero(t->system, room, sizeof *s->copy);
    if (!s->blob || !s->name || !s->copy)
        return gsa_out_of_memory(error, "a checkpoint", (int64_t)(room * sizeof *s->blob));
    s->blob[0] = (gsa_blob){ "counts", GSA_DTYPE_I64, 1, { COUNTS }, &t->counts };
    s->blob[1] = (gsa_blob){ "sums", GSA_DTYPE_F64, 1, { SUMS }, &t->sums };
    s->count = 2;
    gsa_status status = GSA_OK;
    for (int i = 0; i < count(t) && status == GSA_OK; i++) {
        const gsa_parameter *p = parameter(t, i);
        void *const mean = t->running.mean ? t->running.mean[i] : NULL;
        const int apart = mean || (t->best && t->best[i]);
        const void *const at[] = { t->optimiser->first[i], t->optimiser->second[i], mean,
                                   apart ? p->value.data : NULL };
        static const char *const part[] = { "first", "second", "mean", "weight" };
        for (int k = 0; k < 4 && status == GSA_OK; k++)
            if (at[k]) status = store_tensor(t, s, part[k], p, at[k], error);
    }
    return status;
}

static gsa_status save_state(gsa_trainer *t, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output = NULL;
    store s = { .system = t->system };
    gsa_status status = store_all(t, &s, error);
    for (int i = 0; i < s.count && status == GSA_OK; i++) /* as reading asks */
        status = gsa_blob_check_finite(&s.blob[i], GSA_STATE_FILE, error);
    if (status == GSA_OK) status = gsa_checkpoint_file(checkpoint, GSA_STATE_FILE, &output, error);
    if (status == GSA_OK) {
        const gsa_note notes[] = { { GSA_RUN_NOTE, t->run }, { VARIED_NOTE, "varied" } };
        status =
            gsa_safetensors_write(t->system, output, s.blob, s.count, notes, 1 + t->varied, error);
        if (status == GSA_OK) status = gsa_output_commit(output, error);
        else gsa_output_abandon(output);
    }
    store_release(&s);
    return status;
}

static gsa_status save_model(gsa_trainer *t, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    const gsa_note notes[] = { { "format", "gsa" },
                               { "version", GSA_VERSION },
                               { "encoder",
                                 gsa_stack_text(gsa_learner_encoder(&t->session.model)) } };
    gsa_status status = gsa_checkpoint_file(checkpoint, GSA_MODEL_FILE, &output, error);
    if (status != GSA_OK) return status;
    gsa_trainer_swap_kept(t);
    status = gsa_parameters_write(t->system, t->session.model.parameters, output, notes, 3, error);
    gsa_trainer_swap_kept(t);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

static gsa_status save_config(gsa_trainer *t, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    const gsa_status status = gsa_checkpoint_file(checkpoint, "config.ini", &output, error);
    if (status != GSA_OK) return status;
    gsa_recipe_write(&t->session.recipe, output);
    return gsa_output_commit(output, error);
}

gsa_status gsa_trainer_save(gsa_trainer *t, gsa_error *error)
{
    gsa_checkpoint *checkpoint;
    if (!t->folder) return GSA_OK;
    t->counts.applied = t->optimiser->steps;
    t->counts.keeps_best = t->best != NULL;
    t->sums.seconds = fmin(gsa_seconds() - t->started, GSA_MOST_SECONDS);
    gsa_status status =
        gsa_checkpoint_begin(t->system, t->folder, t->counts.step, &checkpoint, error);
    if (status != GSA_OK) return status;
    status = save_model(t, checkpoint, error);
    if (status == GSA_OK) status = save_config(t, checkpoint, error);
    if (status == GSA_OK) status = t->session.task->save(t->session.self, checkpoint, error);
    if (status == GSA_OK) status = gsa_inputs_save(checkpoint, t->session.inputs, error);
    if (status == GSA_OK) status = gsa_plugins_save(checkpoint, t->session.plugins, error);
    if (status == GSA_OK) status = gsa_data_save(checkpoint, t->session.data, error);
    if (status == GSA_OK) status = save_state(t, checkpoint, error);
    if (status == GSA_OK)
        return gsa_checkpoint_commit(checkpoint, (int)t->session.recipe.values.train_keep, error);
    gsa_checkpoint_abandon(checkpoint);
    return gsa_fail_at(error, status, "step %lld is not saved", (long long)t->counts.step);
}

/* ---- restoring ----------------------------------------------------------------------------- */

static gsa_status load_tensor(gsa_trainer *t, const gsa_safetensors *file, const char *path,
                              const char *part, const gsa_parameter *p, void *at, gsa_error *error)
{
    gsa_backend *b = t->session.backend;
    char name[NAME];
    snprintf(name, sizeof name, "%s/%s", part, p->name);
    const gsa_blob *blob = gsa_safetensors_find(file, name);
    const int32_t dtype = b->real == GSA_F32 ? GSA_DTYPE_F32 : GSA_DTYPE_F64;
    if (!blob || blob->dtype != dtype || blob->dims != 2 || blob->shape[0] != p->value.rows ||
        blob->shape[1] != p->value.cols)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: '%s' of %lld x %lld is missing or of another shape or type: a state of another "
            "run",
            path, name, (long long)p->value.rows, (long long)p->value.cols);
    const gsa_status status = gsa_blob_check_finite(blob, path, error);
    if (status != GSA_OK) return status;
    return backend_failed(t, b->upload(b, at, blob->data, bytes_of(t, p)), error);
}

/* Adam takes the root of it. */
static gsa_status check_second(const gsa_safetensors *file, const char *path, const char *of,
                               gsa_error *error)
{
    char name[NAME];
    snprintf(name, sizeof name, "second/%s", of);
    const gsa_blob *blob = gsa_safetensors_find(file, name);
    const int64_t count = gsa_blob_count(blob);
    for (int64_t i = 0; i < count; i++) {
        const double value = blob->dtype == GSA_DTYPE_F32 ? (double)((const float *)blob->data)[i]
                                                          : ((const double *)blob->data)[i];
        if (value < 0)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: number %lld of '%s', counted from 0, is %g, expected 0 or more: "
                            "a mean of squares",
                            path, (long long)i, name, value);
    }
    return GSA_OK;
}

static gsa_status load_counts(gsa_trainer *t, const gsa_safetensors *file, const char *path,
                              gsa_error *error)
{
    const gsa_blob *counts = gsa_safetensors_find(file, "counts"),
                   *sums = gsa_safetensors_find(file, "sums");
    if (!counts || counts->dtype != GSA_DTYPE_I64 || counts->dims != 1 ||
        counts->shape[0] != COUNTS || !sums || sums->dtype != GSA_DTYPE_F64 || sums->dims != 1 ||
        sums->shape[0] != SUMS)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: no training state of this version", path);
    const gsa_run_counts now = t->counts;
    memcpy(&t->counts, counts->data, sizeof t->counts);
    memcpy(&t->sums, sums->data, sizeof t->sums);
    const gsa_run_counts *c = &t->counts;
    if (c->version != GSA_STATE_VERSION)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the training state is of version %lld, expected %d", path,
                        (long long)c->version, GSA_STATE_VERSION);
    if (c->seed != now.seed || c->examples != now.examples)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: the run had seed %lld and %lld training examples, this one has %lld and %lld: "
            "it cannot go on",
            path, (long long)c->seed, (long long)c->examples, (long long)now.seed,
            (long long)now.examples);
    const gsa_status status = gsa_trainer_check_ranges(t, path, error);
    if (status != GSA_OK) return status;
    t->optimiser->steps = c->applied, t->optimiser->rows_known = 0;
    return GSA_OK;
}

static int holds(const gsa_safetensors *file, const char *part)
{
    int found = 0;
    for (int i = 0; i < file->count; i++)
        found |= strncmp(file->blobs[i].name, part, strlen(part)) == 0;
    return found;
}

/* *apart: model.safetensors holds the best model or the mean, and the present values are here. */
static gsa_status see_weights(const gsa_trainer *t, const gsa_safetensors *file, const char *path,
                              int *apart, gsa_error *error)
{
    const int other = t->counts.keeps_best || holds(file, "mean/");
    *apart = holds(file, "weight/");
    if (*apart == other) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    *apart ? "%s: has tensors 'weight/...', though model.safetensors holds the "
                             "present weights"
                           : "%s: has no tensors 'weight/...', though model.safetensors holds the "
                             "best model or the mean",
                    path);
}

static gsa_status load_state(gsa_trainer *t, const gsa_safetensors *file, const char *path,
                             gsa_error *error)
{
    char run[GSA_IDENTITY] = "";
    gsa_status status = load_counts(t, file, path, error);
    const int best = t->session.recipe.values.train_select == GSA_SELECT_BEST;
    int apart = 0;
    if (status == GSA_OK) status = see_weights(t, file, path, &apart, error);
    t->varied = gsa_safetensors_note(file, VARIED_NOTE) != NULL;
    if (status == GSA_OK && t->counts.has_best && best && !t->counts.keeps_best)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "%s: the run kept no best model, so that it cannot go on with train.select = best",
            path);
    if (status == GSA_OK && best && t->counts.keeps_best)
        status = gsa_trainer_keep_best(t, error); /* what model.safetensors held */
    for (int i = 0; i < count(t) && status == GSA_OK; i++) {
        const gsa_parameter *p = parameter(t, i);
        if (t->optimiser->first[i])
            status = load_tensor(t, file, path, "first", p, t->optimiser->first[i], error);
        if (status == GSA_OK && t->optimiser->second[i])
            status = load_tensor(t, file, path, "second", p, t->optimiser->second[i], error);
        if (status == GSA_OK && t->optimiser->second[i])
            status = check_second(file, path, p->name, error);
        if (status == GSA_OK && t->running.mean && t->running.mean[i])
            status = load_tensor(t, file, path, "mean", p, t->running.mean[i], error);
        if (status == GSA_OK && apart && gsa_is_learned(p))
            status = load_tensor(t, file, path, "weight", p, p->value.data, error);
    }
    if (status == GSA_OK)
        status = gsa_identity_read(t->origin, t->options->resume, file, path, run, error);
    if (status == GSA_OK && *run) memcpy(t->run, run, sizeof run);
    return status;
}

gsa_status gsa_trainer_read_state(gsa_trainer *t, const char *path, gsa_error *error)
{
    gsa_safetensors file;
    gsa_status status = gsa_safetensors_read(t->session.system, path, &file, error);
    if (status != GSA_OK) return status;
    status = load_state(t, &file, path, error);
    gsa_safetensors_release(&file);
    return status;
}

gsa_status gsa_trainer_restore(gsa_trainer *t, const char *checkpoint, gsa_error *error)
{
    char *model = gsa_path_join(t->system, checkpoint, GSA_MODEL_FILE, error);
    char *state = model ? gsa_path_join(t->system, checkpoint, GSA_STATE_FILE, error) : NULL;
    gsa_status status =
        state ? gsa_parameters_read(t->session.system, t->session.model.parameters, model, error)
              : GSA_ERR_MEMORY;
    if (status == GSA_OK) status = gsa_trainer_read_state(t, state, error);
    if (status == GSA_OK && gsa_step_of_folder(checkpoint) != t->counts.step)
        status =
            gsa_fail(error, GSA_ERR_FORMAT,
                     "%s: the training state is of step %lld, expected %lld as its folder's "
                     "name says",
                     state, (long long)t->counts.step, (long long)gsa_step_of_folder(checkpoint));
    gsa_release(t->system, model);
    gsa_release(t->system, state);
    return status;
}
