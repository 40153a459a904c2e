#include "train/use/checkpoint_mean.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/checkpoint.h"
#include "gsa/checkpoint_parts.h"
#include "gsa/safetensors.h"
#include "train/driver/identity.h"
#include "train/driver/leftovers.h"
#include "train/driver/lock.h"
#include "train/driver/session.h"

enum { PATH = 4096, NAME = 512 };
static const int64_t LARGEST = INT64_C(1) << 36; /* bytes of a file that is copied */

typedef struct mean {
    const gsa_system *system;
    gsa_anchor *run, *newest; /* the folder of the run, and of its newest checkpoint */
    const gsa_system *inside; /* of the run */
    const gsa_checkpoint_mean_options *options;
    int64_t *step;            /* [options->last] the newest first */
    gsa_safetensors model;    /* of the newest: names, shapes, notes */
    double **sum;             /* [model.count] */
    char named[GSA_IDENTITY]; /* the run, "" before a checkpoint says it */
} mean;

/* ---- which checkpoints --------------------------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static gsa_status find_steps(mean *m, gsa_error *error)
{
    gsa_names names = { .system = m->system };
    int64_t found = 0;
    gsa_status status = gsa_names_list(m->inside, m->options->run, &names, error);
    m->step = gsa_alloc(m->system, (size_t)names.count + 1, sizeof *m->step);
    if (status == GSA_OK && !m->step)
        status = gsa_out_of_memory(error, "a run's checkpoints", names.count * INT64_C(8));
    for (int i = 0; i < names.count && status == GSA_OK; i++)
        found += gsa_step_of(names.at[i], "", &m->step[found]);
    gsa_names_release(&names);
    if (status != GSA_OK) return status;
    qsort(m->step, (size_t)found, sizeof *m->step, falling);
    if (found >= m->options->last) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'%s' holds %lld checkpoint%s, %lld are requested: train.keep says how many "
                    "stay, train.checkpoint_every how "
                    "often one is made",
                    m->options->run, (long long)found, found == 1 ? "" : "s",
                    (long long)m->options->last);
}

/* "RUN/step-N/name" into path[PATH]. */
static gsa_status place(const mean *m, int64_t which, const char *name, char *path,
                        gsa_error *error)
{
    const int length = snprintf(path, PATH, "%s/%s%lld%s%s", m->options->run, GSA_STEP,
                                (long long)m->step[which], *name ? "/" : "", name);
    return length < PATH ? GSA_OK
                         : gsa_fail(error, GSA_ERR_LIMIT, "a path of %d bytes is too long", length);
}

/* ---- sums ---------------------------------------------------------------------------------- */

static double value_of(const gsa_blob *blob, int64_t i)
{
    return blob->dtype == GSA_DTYPE_F64 ? ((const double *)blob->data)[i]
                                        : (double)((const float *)blob->data)[i];
}

static gsa_status add_tensor(mean *m, int t, const gsa_blob *from, const char *path,
                             gsa_error *error)
{
    const gsa_blob *own = &m->model.blobs[t];
    const int64_t count = gsa_blob_count(own);
    if (!from || from->dtype != own->dtype || from->dims != own->dims ||
        memcmp(from->shape, own->shape, (size_t)own->dims * sizeof *own->shape) != 0 ||
        (own->dtype != GSA_DTYPE_F32 && own->dtype != GSA_DTYPE_F64))
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: '%s' is missing, or of another shape or type than in the newest checkpoint", path,
            own->name);
    const gsa_status status = gsa_blob_check_finite(from, path, error);
    if (status != GSA_OK) return status;
    if (!m->sum[t] && !(m->sum[t] = gsa_alloc_zero(m->system, (size_t)count, sizeof **m->sum)))
        return gsa_out_of_memory(error, "a mean of weights", count * 8);
    for (int64_t i = 0; i < count; i++) m->sum[t][i] += value_of(from, i);
    return GSA_OK;
}

/* Weights that are next to the model's are the present ones. */
static gsa_status add_tensors(mean *m, const gsa_safetensors *model, const gsa_safetensors *state,
                              const char *path, gsa_error *error)
{
    char name[NAME];
    gsa_status status = GSA_OK;
    for (int t = 0; t < m->model.count && status == GSA_OK; t++) {
        snprintf(name, sizeof name, "weight/%s", m->model.blobs[t].name);
        const gsa_blob *present = gsa_safetensors_find(state, name);
        status = add_tensor(m, t,
                            present ? present : gsa_safetensors_find(model, m->model.blobs[t].name),
                            path, error);
    }
    return status;
}

/* All are of one run, as far as they say. */
static gsa_status check_run(mean *m, const gsa_safetensors *state, const char *path,
                            gsa_error *error)
{
    char run[GSA_IDENTITY];
    const gsa_status status =
        gsa_identity_read(m->inside, m->options->run, state, path, run, error);
    if (status == GSA_OK && *run && *m->named && strcmp(run, m->named) != 0)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the checkpoint is of another run than those after it, up to step "
                        "%lld: it was copied here, move it away",
                        path, (long long)m->step[0]);
    if (status == GSA_OK && *run) memcpy(m->named, run, sizeof run);
    return status;
}

/* `step` is the checkpoint's folder. */
static gsa_status add_files(mean *m, gsa_anchor *step, int64_t which, gsa_error *error)
{
    const gsa_system *system = gsa_anchor_system(step, m->inside);
    char path[PATH];
    gsa_safetensors model = { 0 }, state = { 0 };
    gsa_status status = place(m, which, "", path, error);
    if (status == GSA_OK) status = gsa_manifest_check(step, m->inside, path, NULL, error);
    if (status == GSA_OK) status = place(m, which, GSA_STATE_FILE, path, error);
    if (status == GSA_OK) status = gsa_safetensors_read(system, path, &state, error);
    if (status != GSA_OK) return status;
    status = check_run(m, &state, path, error);
    if (status == GSA_OK) status = place(m, which, GSA_MODEL_FILE, path, error);
    if (status == GSA_OK)
        status = gsa_safetensors_read(system, path, which ? &model : &m->model, error);
    if (status == GSA_OK && which == 0) {
        m->sum = gsa_alloc_zero(m->system, (size_t)m->model.count, sizeof *m->sum);
        if (!m->sum)
            status = gsa_out_of_memory(error, "a mean of weights", m->model.count * INT64_C(8));
    }
    if (status == GSA_OK) status = add_tensors(m, which ? &model : &m->model, &state, path, error);
    if (model.system) gsa_safetensors_release(&model);
    gsa_safetensors_release(&state);
    return status;
}

static gsa_status add_checkpoint(mean *m, int64_t which, gsa_error *error)
{
    char path[PATH];
    gsa_anchor *step = NULL;
    gsa_status status = place(m, which, "", path, error);
    if (status == GSA_OK) status = gsa_anchor_open(m->inside, m->system, path, &step, error);
    if (status == GSA_OK) status = add_files(m, step, which, error);
    if (which == 0) m->newest = step;
    else gsa_anchor_close(step);
    return status;
}

/* ---- the new model ------------------------------------------------------------------------- */

/* The sums, divided, in the place of the newest checkpoint's values; the file that was read owns
 * the memory. A sum of finite numbers may exceed the largest one. */
static gsa_status settle(mean *m, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int t = 0; t < m->model.count && status == GSA_OK; t++) {
        const gsa_blob *blob = &m->model.blobs[t];
        void *at = (void *)(uintptr_t)blob->data;
        for (int64_t i = 0; i < gsa_blob_count(blob); i++) {
            const double value = m->sum[t][i] / (double)m->options->last;
            if (blob->dtype == GSA_DTYPE_F64) ((double *)at)[i] = value;
            else ((float *)at)[i] = (float)value;
        }
        status = gsa_blob_check_finite(blob, "the mean of checkpoints", error);
    }
    return status;
}

static gsa_status write_model(mean *m, gsa_checkpoint *checkpoint, gsa_error *error)
{
    gsa_output *output;
    gsa_status status = settle(m, error);
    if (status == GSA_OK) status = gsa_checkpoint_file(checkpoint, GSA_MODEL_FILE, &output, error);
    if (status != GSA_OK) return status;
    status = gsa_safetensors_write(m->system, output, m->model.blobs, m->model.count,
                                   m->model.notes, m->model.n_notes, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

static gsa_status copy_file(const mean *m, gsa_checkpoint *checkpoint, const char *name,
                            gsa_error *error)
{
    char path[PATH], *data;
    int64_t bytes;
    gsa_output *output;
    const gsa_system *newest = gsa_anchor_system(m->newest, m->inside);
    gsa_status status = place(m, 0, name, path, error);
    if (status == GSA_OK) status = gsa_read_file(newest, path, LARGEST, &data, &bytes, error);
    if (status != GSA_OK) return status;
    status = gsa_checkpoint_file(checkpoint, name, &output, error);
    if (status == GSA_OK) {
        gsa_output_write(output, data, bytes);
        status = gsa_output_commit(output, error);
    }
    gsa_release(m->system, data);
    return status;
}

/* What the task keeps next to its weights: recipe, words, labels. */
static gsa_status copy_files(const mean *m, gsa_checkpoint *checkpoint, gsa_error *error)
{
    char folder[PATH];
    gsa_names names = { .system = m->system };
    const gsa_system *newest = gsa_anchor_system(m->newest, m->inside);
    gsa_status status = place(m, 0, "", folder, error);
    if (status == GSA_OK) status = gsa_names_list(newest, folder, &names, error);
    for (int i = 0; i < names.count && status == GSA_OK; i++) {
        const char *name = names.at[i];
        if (gsa_manifest_takes(name) && strcmp(name, GSA_MODEL_FILE) != 0 &&
            strcmp(name, GSA_STATE_FILE) != 0 && strcmp(name, GSA_MANIFEST) != 0)
            status = copy_file(m, checkpoint, name, error);
    }
    gsa_names_release(&names);
    return status;
}

/* The folder is locked, `system` is its table. */
static gsa_status write_checkpoint(mean *m, const gsa_system *system, gsa_error *error)
{
    const char *out = m->options->out;
    char step[GSA_STEP_NAME], why[128];
    gsa_checkpoint *checkpoint;
    int kind;
    gsa_status status = gsa_see_in(system, out, GSA_LATEST, &kind, error);
    if (status != GSA_OK) return status;
    if (kind != GSA_FILE_ABSENT)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "folder '%s' holds a run already: choose another",
                        out);
    /* half-written, this step is of a gsa average that was killed, and is taken away */
    const int there = gsa_finds_step(system, out, m->step[0], step);
    if (there < 0)
        return gsa_fail(error, GSA_ERR_IO, "what folder '%s' holds cannot be seen: %s", out,
                        gsa_errno_text(errno, why, sizeof why));
    if (there)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s/%s' is there already: choose another folder",
                        out, step);
    status = gsa_checkpoint_begin(system, out, m->step[0], &checkpoint, error);
    if (status != GSA_OK) return status;
    status = copy_files(m, checkpoint, error);
    if (status == GSA_OK) status = write_model(m, checkpoint, error);
    if (status == GSA_OK) return gsa_checkpoint_commit(checkpoint, 1, error);
    gsa_checkpoint_abandon(checkpoint);
    return status;
}

static gsa_status write_mean(mean *m, gsa_error *error)
{
    gsa_lock lock;
    gsa_status status = gsa_lock_folder(m->system, m->options->out, &lock, error);
    if (status != GSA_OK) return status;
    status = write_checkpoint(m, lock.system, error);
    gsa_lock_release(&lock);
    return status;
}

gsa_status gsa_checkpoint_mean(const gsa_system *system, const gsa_checkpoint_mean_options *options,
                               int64_t *first, int64_t *newest, gsa_error *error)
{
    mean m = { .system = system ? system : gsa_system_default(), .options = options };
    if (options->last < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the mean of %lld checkpoints, expected at least 1",
                        (long long)options->last);
    gsa_status status = gsa_anchor_open(m.system, m.system, options->run, &m.run, error);
    m.inside = gsa_anchor_system(m.run, m.system);
    if (status == GSA_OK) status = find_steps(&m, error);
    for (int64_t i = 0; i < options->last && status == GSA_OK; i++)
        status = add_checkpoint(&m, i, error);
    if (status == GSA_OK) status = write_mean(&m, error);
    if (status == GSA_OK && first) *first = m.step[options->last - 1];
    if (status == GSA_OK && newest) *newest = m.step[0];
    for (int t = 0; m.sum && t < m.model.count; t++) gsa_release(m.system, m.sum[t]);
    gsa_release(m.system, m.sum);
    gsa_release(m.system, m.step);
    if (m.model.system) gsa_safetensors_release(&m.model);
    gsa_anchor_close(m.newest);
    gsa_anchor_close(m.run);
    return status;
}
