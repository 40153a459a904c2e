#include "train/runs/sweep.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/driver/leftovers.h"
#include "train/driver/lock.h"
#include "train/data/plain.h"
#include "train/data/source.h"
#include "train/settings/recipe.h"
#include "train/driver/trainer.h"
#include "train/data/json.h"
#include "train/score/report.h"

enum { PATH = 4096, WHAT = 512 };

typedef struct sweep {
    const gsa_system *system; /* beneath the folder of the runs, or of the run that is locked */
    const gsa_system *base;   /* the caller's */
    const gsa_sweep_options *options;
    gsa_sweep_plan plan;
    gsa_results *results;
    int pipe; /* a device or a pipe that gets the results; -1: none. Open from first to last, for
                 what reads a pipe goes when nobody has it open */
} sweep;

/* ---- where a run is -------------------------------------------------------------------- */

/* *there: the folder has something of that name. */
static gsa_status see(const sweep *s, const char *folder, const char *name, int *there,
                      gsa_error *error)
{
    int kind;
    const gsa_status status = gsa_see_in(s->system, folder, name, &kind, error);
    *there = kind > GSA_FILE_ABSENT;
    return status;
}

static gsa_status read_asked(const sweep *s, const gsa_sweep_run *run, gsa_recipe *recipe,
                             gsa_error *error)
{
    return gsa_recipe_read(s->base, s->options->train.recipe, (const char *const *)run->set,
                           run->sets, recipe, error);
}

static gsa_status check_asked(const sweep *s, const gsa_sweep_run *run, const char *folder,
                              gsa_error *error)
{
    char path[PATH], what[WHAT];
    gsa_recipe there, asked;
    snprintf(path, sizeof path, "%s/asked.ini", folder);
    gsa_status status = gsa_check_regular(s->system, path, error);
    if (status == GSA_OK) status = gsa_recipe_read(s->system, path, NULL, 0, &there, error);
    if (status != GSA_OK) return status;
    status = read_asked(s, run, &asked, error);
    if (status == GSA_OK) {
        if (gsa_recipe_differs(&there, &asked, what, sizeof what))
            status =
                gsa_fail(error, GSA_ERR_ARGUMENT,
                         "folder '%s' holds another run, %s: choose another --out", folder, what);
        gsa_recipe_release(&asked);
    }
    gsa_recipe_release(&there);
    return status;
}

/* asked.ini is replaced where an earlier sweep began the run, and kept nothing of it. */
static gsa_status check_replaced(const sweep *s, const char *path, gsa_error *error)
{
    int64_t bytes = 0;
    int ours = 0;
    gsa_status status = gsa_check_regular(s->system, path, error);
    if (status != GSA_OK) return status;
    int kind = s->system->kind(s->system->user, path, &bytes);
    status = gsa_take_kind(path, &kind, error);
    if (status != GSA_OK || kind == GSA_FILE_ABSENT || bytes == 0) return status;
    status = gsa_recipe_is_written(s->system, path, &ours, error);
    if (status == GSA_OK && !ours)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' is not of a run and would be overwritten: move it away, or choose "
                          "another folder",
                          path);
    return status;
}

static gsa_status begin_folder(const sweep *s, const gsa_sweep_run *run, const char *folder,
                               gsa_error *error)
{
    char path[PATH];
    gsa_recipe asked;
    gsa_output *output;
    snprintf(path, sizeof path, "%s/asked.ini", folder);
    gsa_status status = check_replaced(s, path, error);
    if (status == GSA_OK) status = read_asked(s, run, &asked, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open_own(s->system, path, &output, error);
    if (status == GSA_OK) {
        gsa_recipe_write(&asked, output);
        status = gsa_output_commit(output, error);
    }
    gsa_recipe_release(&asked);
    return status;
}

/* A folder of several runs is none of one. */
static gsa_status check_tree(const sweep *s, gsa_error *error)
{
    static const char *const of_a_run[] = { "lock", "config.ini", "latest", "result.json" };
    const char *out = s->options->train.out;
    gsa_status status = GSA_OK;
    for (size_t i = 0; status == GSA_OK && out && i < sizeof of_a_run / sizeof *of_a_run; i++) {
        int there;
        status = see(s, out, of_a_run[i], &there, error);
        if (status == GSA_OK && there)
            status = gsa_fail(error, GSA_ERR_ARGUMENT,
                              "folder '%s' holds a run ('%s'): choose another --out for several",
                              out, of_a_run[i]);
    }
    return status;
}

/* The folder of the runs stays the one that it is now. */
static gsa_status hold_tree(sweep *s, gsa_anchor **anchor, gsa_error *error)
{
    const char *out = s->options->train.out;
    gsa_status status = out ? gsa_make_run_folder(s->system, out, error) : GSA_OK;
    if (out && status == GSA_OK) status = gsa_anchor_open(s->system, s->system, out, anchor, error);
    s->system = gsa_anchor_system(*anchor, s->system);
    return status;
}

/* The folder of a run that is not finished, made where it is not there. */
static gsa_status lock_run(const sweep *s, const char *folder, gsa_lock *lock, gsa_error *error)
{
    int done = 1;
    const gsa_status status = *folder ? see(s, folder, "result.json", &done, error) : GSA_OK;
    return status != GSA_OK || done ? status : gsa_lock_folder(s->system, folder, lock, error);
}

/* *state of the run that is requested; a folder is begun only where nothing is there. */
static gsa_status find_state(const sweep *s, const gsa_sweep_run *run, const char *folder,
                             int *state, gsa_error *error)
{
    *state = GSA_SWEEP_NEW;
    if (!*folder) return GSA_OK;
    int done, goes_on, asked;
    gsa_status status = see(s, folder, "result.json", &done, error);
    if (status == GSA_OK) status = see(s, folder, "latest", &goes_on, error);
    goes_on = status == GSA_OK && (goes_on || gsa_has_checkpoint(s->system, folder));
    if (status == GSA_OK && !done && !goes_on) return begin_folder(s, run, folder, error);
    if (status == GSA_OK) status = see(s, folder, "asked.ini", &asked, error);
    if (status != GSA_OK) return status;
    if (!asked)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "folder '%s' holds a run that was begun alone: choose another --out",
                        folder);
    status = check_asked(s, run, folder, error);
    *state = done ? GSA_SWEEP_DONE : GSA_SWEEP_GOES_ON;
    return status;
}

/* ---- one run ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The result with what tells this run from the others; `result` is one JSON object. */
static gsa_status describe(const sweep *s, const gsa_sweep_run *run, const char *result,
                           char **line, gsa_error *error)
{
    gsa_recipe asked;
    char recipe[256];
    const gsa_status status = read_asked(s, run, &asked, error);
    if (status != GSA_OK) return status;
    snprintf(recipe, sizeof recipe, "%s", base_name(s->options->train.recipe));
    char *end = strrchr(recipe, '.');
    if (end && strcmp(end, ".ini") == 0) *end = 0;
    const char *data = base_name(asked.values.data_train);
    json_t *object = json_pack("{s:s, s:o, s:s%, s:s%, s:o}", "run", run->name, "recipe",
                               gsa_json_name(recipe), "setting", run->setting, (size_t)12, "family",
                               run->family, (size_t)12, "each", json_loads(run->each, 0, NULL)),
           *own = gsa_json_parse(result, (int64_t)strlen(result), 0, NULL);
    if (*data) json_object_set_new(object, "data", json_string(data));
    const int good = object && own && json_object_update(object, own) == 0;
    const char *stack = json_string_value(json_object_get(own, "encoder"));
    char *brief = good && stack ? gsa_copy_text(s->system, stack) : NULL;
    const int lacks = good && stack && !brief;
    if (brief)
        gsa_results_shorten(brief), json_object_set_new(object, "encoder", json_string(brief));
    gsa_release(s->system, brief);
    json_decref(own);
    gsa_recipe_release(&asked);
    if (good && !lacks) return gsa_json_text(s->system, object, line, error);
    json_decref(object);
    if (lacks) return gsa_out_of_memory(error, run->name, WHAT);
    return gsa_fail(error, GSA_ERR_FORMAT, "the result of run '%s' is no JSON object", run->name);
}

static gsa_status read_result(const sweep *s, const char *folder, char **result, gsa_error *error)
{
    char path[PATH];
    int64_t bytes;
    snprintf(path, sizeof path, "%s/result.json", folder);
    const gsa_status status = gsa_check_regular(s->system, path, error);
    return status == GSA_OK ? gsa_read_file(s->system, path, 1 << 24, result, &bytes, error)
                            : status;
}

static gsa_status train(const sweep *s, const gsa_sweep_run *run, const char *folder, int state,
                        const gsa_lock *lock, char **result, gsa_error *error)
{
    gsa_train_options o = s->options->train;
    o.resume = NULL, o.out = *folder ? folder : NULL, o.lock = lock->system ? lock : NULL;
    o.overrides = (const char *const *)run->set, o.n_overrides = run->sets;
    if (state == GSA_SWEEP_GOES_ON)
        o.recipe = NULL, o.out = NULL, o.resume = folder, o.overrides = NULL, o.n_overrides = 0;
    return gsa_train(s->base, &o, result, error);
}

static gsa_status stopped(const sweep *s, int index, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_INTERRUPTED, "stopped on request in run %d of %d (%s); %s",
                    index + 1, s->plan.runs, s->plan.run[index].name,
                    s->options->train.out ? "the same command goes on"
                                          : "nothing is kept, as no folder was given");
}

static gsa_status keep(const sweep *s, const char *line, gsa_error *error)
{
    char path[PATH];
    gsa_status status = GSA_OK;
    snprintf(path, sizeof path, "%s/results.jsonl",
             s->options->train.out ? s->options->train.out : "");
    if (status == GSA_OK && s->options->train.out)
        status = gsa_results_put_into(s->system, path, 1, line, error);
    if (status == GSA_OK && s->options->results)
        status = gsa_results_put_into(s->base, s->options->results, 0, line, error);
    if (status == GSA_OK && s->options->end) s->options->end(s->options->context, line);
    return status;
}

/* What is there is understood. A device or a pipe is written to, never read. */
static gsa_status check_readable(const sweep *s, const char *path, gsa_error *error)
{
    gsa_results *there;
    const int kind = s->system->kind(s->system->user, path, NULL);
    if (kind == GSA_FILE_ABSENT || kind == GSA_FILE_OTHER) return GSA_OK;
    gsa_status status = gsa_results_create(s->system, &there, error);
    if (status != GSA_OK) return status;
    status = gsa_results_read(there, s->system, path, error);
    gsa_results_release(there);
    return status;
}

/* A checkpoint holds nothing else, also where it is reached through a link. */
static gsa_status check_place(const sweep *s, const char *path, gsa_error *error)
{
    char end[PATH];
    const gsa_system *system = s->system;
    if (!system->resolve || system->resolve(system->user, path, end, sizeof end) <= 0)
        snprintf(end, sizeof end, "%s", path);
    char *slash = strrchr(end, '/');
    if (slash) slash[slash == end] = 0;
    const gsa_status status = gsa_check_outside(system, slash ? end : ".", error);
    return status == GSA_OK ? status : gsa_fail_at(error, status, "'%s' cannot be written", path);
}

/* Lines can be put after those of the file, or the file can be made: without making it. One in the
 * folder of the runs is made with it. */
static gsa_status check_writable(sweep *s, const char *path, int own, gsa_error *error)
{
    const int kind = s->system->kind(s->system->user, path, NULL);
    if (kind == GSA_FILE_ABSENT) return own ? GSA_OK : gsa_output_check(s->system, path, error);
    const int file = s->system->open(s->system->user, path, own ? GSA_OPEN_OWN : GSA_OPEN_APPEND);
    if (file < 0)
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be written: %s", path, strerror(errno));
    if (kind == GSA_FILE_OTHER) s->pipe = file;
    else s->system->close(s->system->user, file);
    return GSA_OK;
}

/* Before anything is trained, what would refuse its result. */
static gsa_status check_results(sweep *s, gsa_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/results.jsonl",
             s->options->train.out ? s->options->train.out : "");
    gsa_status status = s->options->train.out ? gsa_check_regular(s->system, path, error) : GSA_OK;
    if (status == GSA_OK && s->options->train.out) status = check_readable(s, path, error);
    if (status == GSA_OK && s->options->train.out) status = check_writable(s, path, 1, error);
    if (status != GSA_OK || !s->options->results) return status;
    status = check_place(s, s->options->results, error);
    if (status == GSA_OK) status = check_readable(s, s->options->results, error);
    if (status == GSA_OK) status = check_writable(s, s->options->results, 0, error);
    return status;
}

/* What the run gives, or gave. */
static gsa_status obtain(const sweep *s, int index, const char *folder, int state,
                         const gsa_lock *lock, char **result, gsa_error *error)
{
    const gsa_sweep_options *o = s->options;
    const gsa_sweep_run *run = &s->plan.run[index];
    if (o->begin) o->begin(o->context, &s->plan, index, state);
    if (state == GSA_SWEEP_DONE) return read_result(s, folder, result, error);
    const gsa_status status = train(s, run, folder, state, lock, result, error);
    if (status == GSA_ERR_INTERRUPTED) return stopped(s, index, error);
    return status == GSA_OK ? status : gsa_fail_at(error, status, "run '%s'", run->name);
}

static gsa_status see_there(void *context, const char *path, gsa_error *error)
{
    const sweep *s = context;
    return s->system->kind(s->system->user, path, NULL) != GSA_FILE_ABSENT
               ? GSA_OK
               : gsa_fail(error, GSA_ERR_IO, "there is no file '%s'", path);
}

/* One file, or a list or pattern of files, of a run that is still to be made. */
static gsa_status check_file(const sweep *s, const gsa_sweep_run *run, const char *key,
                             const char *path, const char *suffix, gsa_error *error)
{
    char whole[PATH];
    if (!*path || strcmp(path, "-") == 0) return GSA_OK;
    snprintf(whole, sizeof whole, "%s%s%s", path, *suffix ? "." : "", suffix);
    sweep seen = *s;
    const gsa_status status = gsa_source_names(s->system, whole, see_there, &seen, error);
    return status == GSA_OK ? status : gsa_fail_at(error, status, "run '%s': %s", run->name, key);
}

/* What the runs read is there: a name that is wrong in the last one is told before the first one is
 * trained. */
static gsa_status check_files(const sweep *s, const gsa_sweep_run *run, gsa_error *error)
{
    char folder[PATH];
    gsa_recipe asked;
    snprintf(folder, sizeof folder, "%s/%s", s->options->train.out ? s->options->train.out : "",
             run->name);
    gsa_status status = s->options->train.out
                            ? gsa_check_below(s->system, s->options->train.out, folder, error)
                            : GSA_OK;
    int done = 0;
    if (status == GSA_OK && s->options->train.out)
        status = see(s, folder, "result.json", &done, error);
    if (status != GSA_OK || done) return status;
    status = read_asked(s, run, &asked, error);
    if (status != GSA_OK) return status;
    const gsa_recipe_values *v = &asked.values;
    const char *const key[] = { "data.train", "data.dev", "data.test" }, *const path[] = {
        v->data_train, v->data_dev, v->data_test
    };
    for (int i = 0; i < 3 && status == GSA_OK; i++) {
        status = check_file(s, run, key[i], path[i], v->data_source, error);
        if (status == GSA_OK && *v->data_target)
            status = check_file(s, run, key[i], path[i], v->data_target, error);
    }
    if (status == GSA_OK) status = check_file(s, run, "data.vectors", v->data_vectors, "", error);
    if (status == GSA_OK)
        status = check_file(s, run, "data.bpe_codes", v->data_bpe_codes, "", error);
    gsa_recipe_release(&asked);
    return status;
}

static gsa_status make_run(sweep *s, int index, gsa_error *error)
{
    const gsa_sweep_options *o = s->options;
    const gsa_sweep_run *run = &s->plan.run[index];
    char folder[PATH] = "", *result = NULL, *line = NULL;
    gsa_lock lock = { 0 };
    int state = GSA_SWEEP_NEW;
    if (o->train.stop && *o->train.stop) return stopped(s, index, error);
    if (o->train.out &&
        snprintf(folder, sizeof folder, "%s/%s", o->train.out, run->name) >= PATH - 64)
        return gsa_fail(error, GSA_ERR_LIMIT, "the path of run '%s' is too long", run->name);
    gsa_status status = lock_run(s, folder, &lock, error);
    sweep inside = *s; /* the folder that is locked */
    if (lock.system) inside.system = lock.system;
    if (status == GSA_OK) status = find_state(&inside, run, folder, &state, error);
    if (status == GSA_OK) status = obtain(&inside, index, folder, state, &lock, &result, error);
    gsa_lock_release(&lock);
    if (status == GSA_OK) status = describe(s, run, result, &line, error);
    if (status == GSA_OK) {
        status = gsa_results_put(s->results, line, error);
        if (status != GSA_OK)
            gsa_fail_at(error, status, "run '%s': %s/result.json", run->name, folder);
    }
    if (status == GSA_OK) status = keep(s, line, error);
    gsa_release(s->system, result);
    gsa_release(s->system, line);
    return status;
}

gsa_status gsa_sweep(const gsa_system *system, const gsa_sweep_options *options,
                     gsa_results **results, gsa_error *error)
{
    gsa_error own;
    if (!error) error = &own;
    sweep s = { .system = system ? system : gsa_system_default(), .options = options, .pipe = -1 };
    gsa_anchor *anchor = NULL;
    s.base = s.system;
    *results = NULL;
    const gsa_plain plain = gsa_plain_begin();
    gsa_status status = gsa_sweep_plan_create(s.system, options, &s.plan, error);
    if (status == GSA_OK) status = gsa_results_create(s.system, &s.results, error);
    if (status == GSA_OK) status = check_results(&s, error);
    if (status == GSA_OK) status = check_tree(&s, error);
    for (int i = 0; i < s.plan.runs && status == GSA_OK; i++)
        status = check_files(&s, &s.plan.run[i], error);
    if (status == GSA_OK) status = hold_tree(&s, &anchor, error);
    for (int i = 0; i < s.plan.runs && status == GSA_OK; i++) status = make_run(&s, i, error);
    if (s.pipe >= 0) s.system->close(s.system->user, s.pipe);
    gsa_sweep_plan_release(&s.plan);
    gsa_anchor_close(anchor);
    gsa_plain_end(plain);
    if (status == GSA_OK) *results = s.results;
    else gsa_results_release(s.results);
    return status;
}
