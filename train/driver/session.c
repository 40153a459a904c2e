#include "graph/system_parts.h"
#include "train/driver/session.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "gsa/checkpoint_parts.h"
#include "kernels/cuda.h"
#include "kernels/profile.h"
#include "train/use/inputs.h"
#include "train/use/paths.h"
#include "train/use/plugins.h"
#include "train/use/sizes.h"

double gsa_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Which device it is, where that was not the caller's to know: a CUDA device was taken, or one that
 * could be was refused. */
static void say_device(const gsa_backend *backend, const gsa_session_options *o)
{
    char text[GSA_ERROR_SIZE + 128];
    const int refused =
        o->device == NULL || strcmp(o->device, "auto") == 0 ? backend->error.text[0] != 0 : 0;
    if (strncmp(backend->name, "cuda", 4) != 0 && !refused) return;
    snprintf(text, sizeof text, "computes on %s%s%s%s", backend->name,
             backend->step_begin ? ", training steps as graphs" : "", refused ? ", since " : "",
             refused ? backend->error.text : "");
    o->say(o->context, text);
}

/* Ranks of a machine that has several CUDA devices take them in turn, unless one was named. */
static const char *device_of(const gsa_session_options *o, char name[64])
{
    const char *device = o->device ? o->device : "auto";
    const int cuda = strncmp(device, "cuda", 4) == 0 && (device[4] == 0 || device[4] == '-');
    if (!o->group || (!cuda && strcmp(device, "auto") != 0)) return o->device;
    const int devices = gsa_cuda_devices();
    if (devices < 2) return o->device;
    snprintf(name, 64, "%.4s:%d%s", device, o->group->host_rank % devices, device + 4);
    return name;
}

static gsa_status create_backend(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    if (o->backend) {
        s->backend = o->backend;
        return GSA_OK;
    }
    /* the ranks of a machine share its cores */
    const long share = o->group ? sysconf(_SC_NPROCESSORS_ONLN) / o->group->on_host : 0;
    const int threads = o->threads == 0 && o->group ? (share > 1 ? (int)share : 1) : o->threads;
    char name[64];
    s->owns_backend = 1;
    const gsa_status status =
        gsa_backend_open(s->system, device_of(o, name), GSA_F32, threads, &s->backend, error);
    if (status == GSA_OK && o->say) say_device(s->backend, o);
    return status;
}

static gsa_status load_plugins(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    gsa_status status = gsa_registry_create(s->system, &s->registry, error);
    for (int i = 0; i < o->n_plugins && status == GSA_OK; i++)
        status = gsa_registry_load(s->registry, o->plugins[i], error);
    if (status != GSA_OK || !o->checkpoint) return status;
    gsa_plugin_policy policy = o->policy;
    if (o->untrusted) policy.trusts = NULL;
    return gsa_plugins_find(s->system, o->checkpoint, &policy, o->say, o->context, s->registry,
                            error);
}

static gsa_status read_recipe(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    char path[4096];
    const gsa_system *system = o->recipe && o->written ? o->written : s->system;
    snprintf(path, sizeof path, "%s/config.ini", o->checkpoint ? o->checkpoint : "");
    return gsa_recipe_read(system, o->recipe ? o->recipe : path, o->overrides, o->n_overrides,
                           &s->recipe, error);
}

/* A key whose value must be that of train.start's recipe. */
static gsa_status check_alike(const gsa_session *s, const gsa_recipe *theirs, const char *section,
                              const char *name, gsa_error *error)
{
    int count, i = 0;
    char number[2][64];
    const gsa_key *keys = gsa_recipe_keys(&count);
    while (i < count && (strcmp(keys[i].section, section) != 0 || strcmp(keys[i].name, name) != 0))
        i++;
    const char *own = gsa_recipe_text(&s->recipe, i, number[0], sizeof number[0]);
    const char *other = gsa_recipe_text(theirs, i, number[1], sizeof number[1]);
    if (strcmp(own, other) == 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' was trained with %s.%s = %s, this recipe has %s",
                    s->start, section, name, other, own);
}

/* Vectors, which are not read, give way to the other model's embedding. */
static gsa_status check_start(gsa_session *s, gsa_error *error)
{
    gsa_recipe theirs = { 0 };
    gsa_recipe_values *v = &s->recipe.values;
    char path[4096];
    snprintf(path, sizeof path, "%s/config.ini", s->start);
    gsa_status status = gsa_recipe_read(s->system, path, NULL, 0, &theirs, error);
    if (status == GSA_OK) status = check_alike(s, &theirs, "task", "name", error);
    if (status == GSA_OK) status = check_alike(s, &theirs, "data", "tokens", error);
    if (status == GSA_OK && v->model_embedding == 0 && *v->data_vectors)
        v->model_embedding = theirs.values.model_embedding;
    gsa_recipe_release(&theirs);
    return status;
}

/* Whose words and labels the task takes, and whose weights training begins with. */
static gsa_status find_start(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    const char *start = s->recipe.values.train_start;
    char *warning = NULL;
    gsa_error why;
    if (o->checkpoint || !*start) return GSA_OK;
    gsa_status status = gsa_checkpoint_hold(s->system, s->system, start, GSA_STATE_FILE, &s->anchor,
                                            &s->start, &warning, &why);
    s->system = gsa_anchor_system(s->anchor, s->system);
    if (warning && o->warn) o->warn(o->context, warning);
    gsa_release(s->system, warning);
    if (status == GSA_OK) status = check_start(s, &why);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "train.start: %s", why.text);
}

static gsa_status create_task(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    gsa_value *value = NULL;
    s->plugged = gsa_alloc(s->system, 1, sizeof *s->plugged);
    if (!s->plugged) return gsa_out_of_memory(error, "the task", (int64_t)sizeof *s->plugged);
    gsa_status status = gsa_task_of(&s->recipe, s->registry, s->plugged, &s->task, error);
    if (status == GSA_OK)
        status = gsa_task_read_options(s->system, s->task, &s->recipe, &value, error);
    const gsa_task_options options = { .system = s->system,
                                       .recipe = &s->recipe,
                                       .checkpoint = o->checkpoint ? o->checkpoint : s->start,
                                       .splits = o->splits,
                                       .say = o->say,
                                       .context = o->context,
                                       .resumes = o->resumes,
                                       .value = value };
    if (status == GSA_OK) status = s->task->create(&options, &s->self, error);
    gsa_release(s->system, value);
    if (status == GSA_OK && s->task == s->plugged && !s->self)
        return gsa_fail(error, GSA_ERR_PLUGIN, "task '%s': create gave no object", s->task->name);
    if (status == GSA_OK && s->task != s->plugged && s->task->variant)
        s->task = s->task->variant(s->self);
    return status;
}

/* {NAME} of a name that --each should have replaced. */
static gsa_status check_names(const gsa_session *s, gsa_error *error)
{
    const gsa_recipe_values *v = &s->recipe.values;
    const char *const path[GSA_SPLITS] = { v->data_train, v->data_dev, v->data_test };
    for (int i = 0; i < GSA_SPLITS; i++) {
        const char *open = strchr(path[i], '{'), *close = open ? strchr(open, '}') : NULL;
        if (!close || s->system->kind(s->system->user, path[i], NULL) != GSA_FILE_ABSENT) continue;
        return gsa_recipe_fail(&s->recipe, "data", gsa_split_name(i), error,
                               "= %s: there is no such file, and {%.*s} is no value: --each "
                               "%.*s=VALUE,VALUE,... gives it some",
                               path[i], (int)(close - open - 1), open + 1, (int)(close - open - 1),
                               open + 1);
    }
    return GSA_OK;
}

/* A sentence a line. */
static void say_lines(const gsa_session_options *o, const char *text)
{
    char line[1024];
    for (size_t bytes; *text; text += bytes + (text[bytes] == '\n')) {
        bytes = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)bytes, text);
        o->say(o->context, line);
    }
}

/* The model, whose weights the caller reads where there is a checkpoint; else they are drawn. */
static gsa_status create_model(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    const char *from = o->checkpoint ? o->checkpoint : s->start;
    const uint32_t without = (from ? GSA_WITHOUT_DRAWING : 0) |
                             (o->applies ? GSA_WITHOUT_GRADIENTS : 0) |
                             (o->allow_nonfinite ? GSA_WITHOUT_CHECKING : 0);
    gsa_error why;
    char *weights = from ? gsa_path_join(s->system, from, GSA_MODEL_FILE, error) : NULL;
    if (from && !weights) return GSA_ERR_MEMORY;
    gsa_status status = gsa_learner_create(s->system, &s->recipe, s->registry, s->task, s->self,
                                           s->backend, without, weights, &s->model, &why);
    gsa_release(s->system, weights);
    s->model.profile = o->profile;
    if (status == GSA_OK) return GSA_OK;
    return gsa_fail(error, status, "%s%s", from && !o->checkpoint ? "train.start: " : "", why.text);
}

/* What the model was made of, and what makes batches for it. */
static gsa_status finish_parts(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    gsa_status status = GSA_OK;
    const char *from = o->checkpoint ? o->checkpoint : s->start;
    if (s->group && s->recipe.values.train_split == GSA_SPLIT_ROWS)
        status = gsa_rank_rows_create(&s->model, s->group, &s->rows, error);
    else if (s->recipe.values.train_prefetch)
        status = gsa_prefetch_create(s->system, &s->model, &s->prefetch, error);
    const gsa_stack *encoder = status == GSA_OK ? gsa_learner_encoder(&s->model) : NULL;
    if (status == GSA_OK) status = gsa_inputs_hash(s->system, encoder, &s->inputs, error);
    if (status == GSA_OK && from)
        status = gsa_inputs_check(s->system, encoder, s->inputs, from, error);
    if (status == GSA_OK)
        status = gsa_plugins_hash(s->system, s->model.net, gsa_recipe_task(&s->recipe), s->registry,
                                  &o->policy, &s->plugins, error);
    if (status == GSA_OK && !o->applies) say_lines(o, gsa_stack_report(encoder));
    return status;
}

/* Checks and makes all that may read files: those that a checkpoint's recipe names are not told
 * of. */
static gsa_status create_hiding(gsa_session *s, const gsa_session_options *o, gsa_error *error)
{
    gsa_status status = gsa_task_check(&s->recipe, s->registry, error);
    if (status == GSA_OK && o->recipe) status = gsa_recipe_idle(&s->recipe, error);
    if (status == GSA_OK && o->splits) status = check_names(s, error);
    if (status == GSA_OK) status = create_backend(s, o, error);
    if (status == GSA_OK) status = find_start(s, o, error);
    const int reads = status == GSA_OK;
    if (status == GSA_OK) status = create_task(s, o, error);
    const uint32_t splits = reads && status != GSA_OK ? o->splits : 0;
    if (status == GSA_OK) status = create_model(s, o, error);
    if (status != GSA_OK && o->checkpoint) gsa_paths_hide(&s->recipe, s->registry, splits, error);
    return status;
}

gsa_status gsa_session_create(const gsa_system *system, const gsa_session_options *options,
                              gsa_session *session, gsa_error *error)
{
    gsa_session *s = session;
    *s = (gsa_session){ .system = system,
                        .stop = options->stop,
                        .build = options->build,
                        .profile = options->profile,
                        .finite = options->applies && !options->allow_nonfinite,
                        .group = options->group };
    s->batch.system = system;
    gsa_status status = read_recipe(s, options, error);
    if (status == GSA_OK) status = load_plugins(s, options, error);
    if (status == GSA_OK && options->checkpoint)
        status = gsa_paths_check(system, &s->recipe, s->registry, options->splits,
                                 options->untrusted, error);
    if (status == GSA_OK && options->untrusted) status = gsa_sizes_check(&s->recipe, error);
    if (status == GSA_OK && !options->applies)
        status = gsa_data_hash(system, &s->recipe, options->checkpoint, s->data, error);
    if (status == GSA_OK) status = create_hiding(s, options, error);
    if (status == GSA_OK) status = finish_parts(s, options, error);
    if (status != GSA_OK) gsa_session_release(s);
    return status;
}

void gsa_session_release(gsa_session *session)
{
    gsa_session *s = session;
    gsa_prefetch_release(s->prefetch);
    gsa_rank_rows_release(&s->rows);
    gsa_learner_release(&s->model);
    if (s->self) s->task->destroy(s->self);
    if (s->owns_backend && s->backend) gsa_backend_release(s->backend);
    if (s->registry) gsa_registry_release(s->registry);
    gsa_minibatch_release(&s->batch);
    gsa_release(s->system, s->out);
    gsa_release(s->system, s->unit);
    gsa_release(s->system, s->start);
    gsa_release(s->system, s->inputs);
    gsa_release(s->system, s->plugins);
    gsa_release(s->system, s->plugged);
    gsa_recipe_release(&s->recipe);
    gsa_anchor_close(s->anchor);
    *s = (gsa_session){ 0 };
}

/* What score and print are given of `out`: it, or a number a target. */
static gsa_tensor *judged(gsa_session *s, const gsa_minibatch *batch, gsa_tensor *out)
{
    if (!s->task->surprise) return out;
    const int64_t bytes = batch->targets * (int64_t)sizeof *batch->label;
    return gsa_op_surprise(s->model.tape, out, gsa_tape_upload(s->model.tape, batch->label, bytes));
}

/* 1: it was made ahead, or could not be, which *status says. */
static int take_ahead(gsa_session *s, const gsa_wanted *wanted, gsa_status *status,
                      gsa_error *error)
{
    if (!s->prefetch) return 0;
    const gsa_profile_mark began = gsa_profile_begin(s->profile);
    const int taken = gsa_prefetch_take(s->prefetch, wanted, &s->batch, status, error);
    gsa_profile_end(s->profile, GSA_PROFILE_WAIT, began);
    gsa_tape_expect(s->model.tape, taken && *status == GSA_OK);
    return taken;
}

gsa_status gsa_session_fill(gsa_session *s, const gsa_wanted *wanted, gsa_error *error)
{
    gsa_status status;
    s->model.joined = 0;
    if (take_ahead(s, wanted, &status, error)) return status;
    const gsa_profile_mark began = gsa_profile_begin(s->profile);
    s->batch.first = wanted->first, s->batch.draw = wanted->draw;
    status = gsa_task_fill(s->task, s->self, wanted->split, wanted->example, wanted->count,
                           &s->batch, error);
    gsa_profile_end(s->profile, GSA_PROFILE_FILL, began);
    return status;
}

void gsa_session_ask(gsa_session *s, const gsa_wanted *next)
{
    if (!s->prefetch || !next) return;
    gsa_tape_forget_ahead(s->model.tape);
    gsa_prefetch_ask(s->prefetch, next);
}

gsa_status gsa_session_upload_ahead(gsa_session *s, gsa_error *error)
{
    const gsa_minibatch *batch;
    const gsa_model_batch *graph;
    if (!s->prefetch || !s->backend->upload_ahead) return GSA_OK;
    const gsa_profile_mark began = gsa_profile_begin(s->profile);
    const int there = gsa_prefetch_look(s->prefetch, &batch, &graph);
    gsa_profile_end(s->profile, GSA_PROFILE_WAIT, began);
    return there ? gsa_learner_ahead(&s->model, batch, graph, error) : GSA_OK;
}

static gsa_status out_room(gsa_session *s, gsa_error *error)
{
    const int64_t values = s->batch.targets * (s->task->surprise ? 1 : s->model.plan.outputs);
    if (values <= s->out_room && s->out) return GSA_OK;
    gsa_release(s->system, s->out);
    s->out = gsa_alloc(s->system, (size_t)values, sizeof *s->out);
    s->out_room = s->out ? values : 0;
    return s->out ? GSA_OK : gsa_out_of_memory(error, "the outputs", values * 8);
}

/* Each rank its rows; afterwards every rank has all outputs. */
static gsa_status compute_rows(gsa_session *s, gsa_error *error)
{
    const gsa_minibatch *part;
    gsa_status status = gsa_rank_rows_begin(&s->rows, &s->batch, &part, error);
    gsa_tensor *out = NULL;
    double *values = NULL;
    if (status == GSA_OK) {
        out = judged(s, part, gsa_learner_forward(&s->model, part));
        status = gsa_tape_status(s->model.tape, error);
    }
    if (status == GSA_OK) {
        values = gsa_alloc(s->system, (size_t)(out->rows * out->cols) + 1, sizeof *values);
        if (!values) status = gsa_out_of_memory(error, "the outputs", out->rows * out->cols * 8);
    }
    if (status == GSA_OK) status = gsa_tensor_read(s->backend, out, 0, values, error);
    status = gsa_rank_rows_collect(&s->rows, status, values, &s->batch, out ? out->cols : 0, s->out,
                                   error);
    gsa_rank_rows_end(&s->rows);
    gsa_release(s->system, values);
    return status;
}

/* Finite weights can overflow, and no label is the best of NaNs. */
static gsa_status check_outputs(const gsa_session *s, const gsa_wanted *wanted, gsa_error *error)
{
    const int64_t a_row = s->task->surprise ? 1 : s->model.plan.outputs;
    for (int64_t i = 0; s->finite && i < s->batch.targets * a_row; i++)
        if (!isfinite(s->out[i]))
            return gsa_fail(
                error, GSA_ERR_NUMBER,
                "%s, example %lld, counted from 0%s: the model gives %g, expected a "
                "finite number",
                gsa_split_name(wanted->split),
                (long long)(s->batch.targets == wanted->count ? wanted->example[i / a_row]
                                                              : wanted->example[0]),
                s->batch.targets == wanted->count ? "" : ", or soon after", gsa_shown(s->out[i]));
    return GSA_OK;
}

gsa_status gsa_session_compute(gsa_session *s, const gsa_wanted *wanted, const gsa_wanted *next,
                               gsa_error *error)
{
    gsa_status status = gsa_session_fill(s, wanted, error);
    if (status == GSA_OK) status = out_room(s, error);
    if (status != GSA_OK) return status;
    gsa_tape_reset(s->model.tape, 0, 0, 0);
    gsa_session_ask(s, next);
    if (s->rows.model) {
        status = compute_rows(s, error);
        return status == GSA_OK ? check_outputs(s, wanted, error) : status;
    }
    gsa_tensor *out = judged(s, &s->batch, gsa_learner_forward(&s->model, &s->batch));
    status = gsa_tape_status(s->model.tape, error);
    if (status == GSA_OK) status = gsa_tensor_read(s->backend, out, 0, s->out, error);
    if (status == GSA_OK) status = check_outputs(s, wanted, error);
    if (status != GSA_OK || !s->task->decode) return status;
    return s->task->decode(s->self, wanted->split, s->model.tape, out, s->out, &s->batch, error);
}

gsa_status gsa_session_outputs(gsa_session *s, int split, const int64_t *example, int32_t count,
                               gsa_error *error)
{
    return gsa_session_compute(
        s, &(gsa_wanted){ .split = split, .count = count, .example = example }, NULL, error);
}

gsa_batches_options gsa_session_batches(const gsa_session *s)
{
    const gsa_recipe_values *v = &s->recipe.values;
    return (gsa_batches_options){ .batch = v->train_batch,
                                  .batch_tokens = v->train_batch_tokens,
                                  .accumulate = v->train_accumulate,
                                  .bucket = v->train_bucket,
                                  .seed = (uint32_t)v->train_seed };
}

int64_t gsa_session_units(const gsa_session *s, int split)
{
    int64_t units = 0;
    for (int64_t e = 0; e < s->task->examples(s->self, split); e++)
        units += gsa_task_units(s->task, s->self, split, &e, 1);
    return units;
}

static gsa_status unit_room(gsa_session *s, int64_t units, gsa_error *error)
{
    if (units > s->unit_room || !s->unit) {
        gsa_release(s->system, s->unit);
        s->unit = gsa_alloc(s->system, (size_t)units, sizeof *s->unit);
        s->unit_room = s->unit ? units : 0;
    }
    if (!s->unit) return gsa_out_of_memory(error, "the scores", units * (int64_t)sizeof *s->unit);
    memset(s->unit, 0, (size_t)units * sizeof *s->unit);
    return GSA_OK;
}

/* first[e]: where the outcomes of example e begin. */
static gsa_status place_outcomes(const gsa_session *s, int split, int64_t examples, int64_t **first,
                                 gsa_error *error)
{
    *first = gsa_alloc(s->system, (size_t)examples, sizeof **first);
    if (!*first) return gsa_out_of_memory(error, "the outcomes", examples * 8);
    for (int64_t e = 0, at = 0; e < examples; e++) {
        (*first)[e] = at;
        at += gsa_task_units(s->task, s->self, split, &e, 1);
    }
    return GSA_OK;
}

/* A survey of a task that has none of its own: a row an example, its mean loss. */
static void observe_losses(const gsa_session *s, const gsa_wanted *wanted, const gsa_score *unit)
{
    for (int64_t i = 0; i < wanted->count; i++) {
        const int64_t e = wanted->example[i],
                      own = gsa_task_units(s->task, s->self, wanted->split, &e, 1);
        gsa_score sum = { 0 };
        for (int64_t u = 0; u < own; u++) gsa_score_add(&sum, unit++);
        s->survey[wanted->split].value[e] = sum.targets > 0 ? sum.loss / (double)sum.targets : 0;
    }
}

static gsa_status score_batch(gsa_session *s, const gsa_wanted *wanted, const gsa_wanted *next,
                              gsa_score *unit, gsa_error *error)
{
    const gsa_status status = gsa_session_compute(s, wanted, next, error);
    if (status != GSA_OK) return status;
    s->task->score(s->self, s->out, &s->batch, unit);
    if (s->survey && s->task->observe)
        s->task->observe(s->self, s->out, &s->batch, wanted->example, &s->survey[wanted->split]);
    else if (s->survey && !s->task->survey) observe_losses(s, wanted, unit);
    return GSA_OK;
}

/* Adds a batch's units; after them are those of the next one. */
static const gsa_score *count_batch(const gsa_session *s, const gsa_wanted *wanted,
                                    const gsa_score *unit, gsa_score *score, const int64_t *first,
                                    gsa_score *outcome)
{
    for (int64_t i = 0; i < wanted->count; i++) {
        const int64_t e = wanted->example[i],
                      own = gsa_task_units(s->task, s->self, wanted->split, &e, 1);
        for (int64_t u = 0; u < own; u++) gsa_score_add(score, &unit[u]);
        if (outcome) memcpy(outcome + first[e], unit, (size_t)own * sizeof *outcome);
        unit += own;
    }
    return unit;
}

/* Batch `index` of an evaluation; after the last one none. */
static gsa_wanted wanted_at(const gsa_batches *batches, int split, int64_t index)
{
    int64_t count = 0;
    const int64_t *example = index < batches->count ? gsa_batches_at(batches, index, &count) : NULL;
    return (gsa_wanted){ .split = split, .count = (int32_t)count, .example = example };
}

/* Who shares the batches of an evaluation. A survey has the rows of all of them, and ranks that
 * share rows need each other in all: then each rank scores them all. */
static gsa_group *scorers(const gsa_session *s)
{
    return s->survey || s->rows.model ? NULL : s->group;
}

/* Batch `from` and those after it, one a rank. */
static gsa_status score_round(gsa_session *s, const gsa_batches *batches, int split, int64_t from,
                              gsa_score *score, const int64_t *first, gsa_score *outcome,
                              gsa_error *error)
{
    gsa_group *g = scorers(s);
    const int64_t ranks = gsa_group_ranks(g), own = from + gsa_group_rank(g);
    const gsa_wanted now = wanted_at(batches, split, own),
                     next = wanted_at(batches, split, own + ranks);
    int64_t units = 0, before = 0;
    for (int64_t b = from; b < from + ranks; b++) {
        const gsa_wanted w = wanted_at(batches, split, b);
        if (b == own) before = units;
        if (w.count) units += gsa_task_units(s->task, s->self, split, w.example, w.count);
    }
    gsa_status status = unit_room(s, units, error);
    if (status == GSA_OK && now.count)
        status = score_batch(s, &now, next.count ? &next : NULL, s->unit + before, error);
    status = gsa_group_merge(g, status, s->unit, units * (int64_t)sizeof *s->unit, error);
    const gsa_score *unit = s->unit;
    for (int64_t b = from; b < from + ranks && status == GSA_OK; b++) {
        const gsa_wanted w = wanted_at(batches, split, b);
        unit = count_batch(s, &w, unit, score, first, outcome);
    }
    return status;
}

gsa_status gsa_session_score(gsa_session *s, int split, gsa_score *score, gsa_score *outcome,
                             gsa_error *error)
{
    gsa_batches batches;
    gsa_batches_options options = gsa_session_batches(s);
    const int64_t examples = s->task->examples(s->self, split);
    int64_t *first = NULL;
    *score = (gsa_score){ 0 };
    if (examples == 0) return GSA_OK;
    options.accumulate = 1;
    gsa_status status = outcome ? place_outcomes(s, split, examples, &first, error) : GSA_OK;
    if (status != GSA_OK) return status;
    status = gsa_batches_create(s->system, &options, s->task->lengths(s->self, split), examples,
                                &batches, error);
    if (status == GSA_OK) gsa_batches_plain(&batches);
    const int64_t ranks = gsa_group_ranks(scorers(s));
    for (int64_t b = 0; status == GSA_OK && b < batches.count; b += ranks) {
        if (s->stop && *s->stop)
            status =
                gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request during an evaluation");
        else status = score_round(s, &batches, split, b, score, first, outcome, error);
    }
    gsa_batches_release(&batches);
    gsa_release(s->system, first);
    return status;
}
