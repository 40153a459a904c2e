/* gsa report - one page of a run, or of several side by side: settings, curves, results, whether
 * they differ, confusion. What a run's folder holds is read; nothing is computed anew but the
 * paired bootstrap. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "graph/above.h"
#include "graph/anchor.h"
#include "graph/palette.h"
#include "graph/system_parts.h"
#include "train/task_parts.h"
#include "train/driver/trainer.h"
#include "train/runs/compare.h"
#include "train/settings/ini.h"
#include "tools/command/apply.h"
#include "tools/command/report.h"
#include "tools/command/verbs.h"
#include "train/data/json.h"

/* The most that is read of a file: gsa eval writes some 150 bytes a label and split. A value takes
 * up to 30 times its bytes in memory, but a list or an object 200 bytes for 2, so that these are
 * counted before they are made. */
enum { RUNS = 16, LIMIT = 1 << 24, LOG_LIMIT = 1 << 26 };

static gsa_status bad(const gsa_reported *of, int run, const char *name, const char *what,
                      gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_FORMAT, "%s/%s: %s", of->run[run], name, what);
}

/* ---- what a folder holds ------------------------------------------------------------------- */

static gsa_status count_lists(const char *path, const char *text, int64_t bytes, gsa_error *error)
{
    const int64_t lists = gsa_json_lists(text, bytes);
    return lists <= GSA_JSON_LISTS
               ? GSA_OK
               : gsa_fail(error, GSA_ERR_LIMIT,
                          "'%s' has %lld lists and objects, and the most that are read is %d", path,
                          (long long)lists, GSA_JSON_LISTS);
}

/* A file of JSON of the run; *bytes -1: it is not there. */
static gsa_status read_text(const gsa_reported *of, int run, const char *name, int64_t limit,
                            char **text, int64_t *bytes, gsa_error *error)
{
    const gsa_system *system = of->system;
    char *path = gsa_path_join(system, of->run[run], name, error);
    gsa_status status = path ? GSA_OK : GSA_ERR_MEMORY;
    int kind = GSA_FILE_ABSENT;
    *text = NULL, *bytes = -1;
    if (path) status = gsa_check_regular(system, path, error);
    if (status == GSA_OK) status = gsa_see(system, path, &kind, error);
    if (status == GSA_OK && kind != GSA_FILE_ABSENT)
        status = gsa_read_file(system, path, limit, text, bytes, error);
    if (status == GSA_OK) status = count_lists(path, *text, *bytes, error);
    gsa_release(system, path);
    return status;
}

/* The JSON of a file, null where it is not there. */
static gsa_status read_json(const gsa_reported *of, int run, const char *name, json_t **value,
                            gsa_error *error)
{
    json_error_t wrong;
    char *text;
    int64_t bytes;
    gsa_status status = read_text(of, run, name, LIMIT, &text, &bytes, error);
    if (status == GSA_OK) *value = bytes < 0 ? json_null() : gsa_json_parse(text, bytes, 0, &wrong);
    if (status == GSA_OK && !*value) status = bad(of, run, name, wrong.text, error);
    gsa_release(of->system, text);
    return status;
}

/* An object a line. A line without its end is one that is being written. */
static gsa_status read_lines(const gsa_reported *of, int run, json_t *lines, gsa_error *error)
{
    json_error_t wrong;
    char *text;
    int64_t bytes;
    gsa_status status = read_text(of, run, "log.jsonl", LOG_LIMIT, &text, &bytes, error);
    for (char *at = text, *end; status == GSA_OK && bytes > 0; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + bytes - at));
        if (!end) break;
        json_t *line = gsa_json_parse(at, end - at, 0, &wrong);
        if (!line) status = bad(of, run, "log.jsonl", wrong.text, error);
        else json_array_append_new(lines, line);
    }
    gsa_release(of->system, text);
    return status;
}

static gsa_status read_settings(const gsa_reported *of, int run, json_t *settings, gsa_error *error)
{
    gsa_ini ini = { 0 };
    char name[512];
    char *path = gsa_path_join(of->system, of->run[run], "config.ini", error);
    gsa_status status = path ? gsa_check_regular(of->system, path, error) : GSA_ERR_MEMORY;
    if (status == GSA_OK) status = gsa_ini_read(of->system, path, &ini, error);
    for (int i = 0; status == GSA_OK && i < ini.count; i++) {
        const gsa_ini_entry *entry = &ini.entries[i];
        if (!entry->key) continue;
        snprintf(name, sizeof name, "%s.%s", entry->section, entry->key);
        if (json_object_set_new(settings, name, json_string(entry->value)) != 0)
            status = gsa_out_of_memory(error, "a report", (int64_t)strlen(entry->value));
    }
    gsa_ini_release(&ini);
    gsa_release(of->system, path);
    return status;
}

static gsa_status read_files(const gsa_reported *of, int run, json_t *runs, gsa_error *error)
{
    json_t *result = NULL, *report = NULL, *settings = json_object(), *log = json_array();
    gsa_status status = read_settings(of, run, settings, error);
    if (status == GSA_OK) status = read_lines(of, run, log, error);
    if (status == GSA_OK) status = read_json(of, run, "result.json", &result, error);
    if (status == GSA_OK) status = read_json(of, run, "report.json", &report, error);
    json_t *made = json_pack("{s:s, s:o?, s:o?, s:o?, s:o?}", "name", of->run[run], "settings",
                             settings, "log", log, "result", result, "report", report);
    if (status == GSA_OK && !made)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "run %d: its folder's name is no UTF-8", run + 1);
    if (status == GSA_OK && json_array_append_new(runs, made) != 0)
        return gsa_out_of_memory(error, "a report", LIMIT);
    if (status != GSA_OK) json_decref(made);
    return status;
}

static gsa_status read_run(const gsa_reported *of, int run, json_t *runs, gsa_error *error)
{
    gsa_anchor *folder;
    gsa_status status = gsa_anchor_open(of->system, of->system, of->run[run], &folder, error);
    gsa_reported held = *of;
    held.system = gsa_anchor_system(folder, of->system);
    if (status == GSA_OK) status = read_files(&held, run, runs, error);
    gsa_anchor_close(folder);
    return status;
}

/* ---- what ends it -------------------------------------------------------------------------- */

typedef struct watch {
    gsa_above above;
    atomic_int lack;
} watch;

static int noted(watch *w, int result)
{
    if (result < 0 && (errno == EMFILE || errno == ENFILE)) atomic_store(&w->lack, errno);
    return result;
}

static int open_file(void *user, const char *path, int mode)
{
    const gsa_system *below = ((watch *)user)->above.below;
    return noted(user, below->open(below->user, path, mode));
}

static int list_folder(void *user, const char *path, int (*each)(void *context, const char *name),
                       void *context)
{
    const gsa_system *below = ((watch *)user)->above.below;
    return noted(user, below->list(below->user, path, each, context));
}

static int hold(void *user, const char *path, char *at, size_t room)
{
    const gsa_system *below = ((watch *)user)->above.below;
    return noted(user, below->hold(below->user, path, at, room));
}

static void watch_start(watch *w, const gsa_system *below)
{
    gsa_above_start(&w->above, below, NULL);
    w->above.table.open = open_file, w->above.table.list = list_folder;
    if (below->hold) w->above.table.hold = hold;
    atomic_init(&w->lack, 0);
}

gsa_status gsa_report_lack(const gsa_reported *of, gsa_status status, const gsa_error *why,
                           gsa_error *error)
{
    char text[128];
    const int lack = atomic_load(of->lack);
    if (lack)
        return gsa_fail(error, GSA_ERR_IO, "a run's file cannot be opened: %s",
                        gsa_errno_text(lack, text, sizeof text));
    return status == GSA_ERR_MEMORY ? gsa_fail(error, status, "%s", why->text) : GSA_OK;
}

/* ---- do the others differ from the first? -------------------------------------------------- */

static json_t *compared_with(const gsa_compared *c, int run, const char *split)
{
    return json_pack("{s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "run", run, "split",
                     split, "metric", c->metric, "value", c->a, "first", c->b, "difference",
                     c->difference, "low", c->low, "high", c->high, "p", c->p, "units",
                     (json_int_t)c->units);
}

/* What cannot be compared says why on the page. */
static gsa_status compare(const gsa_reported *of, int run, const char *split, json_t *list,
                          gsa_error *error)
{
    const gsa_compare_options options = { .samples = 10000, .seed = 1 };
    gsa_compared c;
    gsa_error why = { GSA_OK, "" };
    int there = 0;
    const gsa_status status = gsa_compare_folders(of->system, &options, of->run[run], of->run[0],
                                                  split, &there, &c, &why);
    if (gsa_report_lack(of, status, &why, error) != GSA_OK) return error->status;
    if (status != GSA_OK)
        json_array_append_new(
            list, json_pack("{s:i, s:s, s:s}", "run", run, "split", split, "said", why.text));
    else if (there) json_array_append_new(list, compared_with(&c, run, split));
    return GSA_OK;
}

/* The palette on both papers. */
static json_t *hues(void)
{
    json_t *paper[GSA_PAPERS] = { json_array(), json_array() };
    for (int p = 0; p < GSA_PAPERS; p++)
        for (int h = 0; h < GSA_HUES; h++)
            json_array_append_new(paper[p], json_string(gsa_hues[p][h]));
    return json_pack("{s:o?, s:o?}", "light", paper[0], "dark", paper[1]);
}

static json_t *read_all(const gsa_reported *of, gsa_error *error)
{
    json_t *runs = json_array(), *compared = json_array();
    gsa_status status = GSA_OK;
    for (int run = 0; run < of->count && status == GSA_OK; run++)
        status = read_run(of, run, runs, error);
    for (int run = 1; run < of->count && status == GSA_OK; run++)
        for (int s = GSA_SPLIT_DEV; s < GSA_SPLITS && status == GSA_OK; s++)
            status = compare(of, run, gsa_split_name(s), compared, error);
    json_t *pictures = status == GSA_OK ? gsa_report_draw(of, runs, error) : json_null();
    if (!pictures) status = GSA_ERR_MEMORY;
    json_t *all = json_pack("{s:s, s:o?, s:o?, s:o?, s:o?}", "version", GSA_VERSION, "hues", hues(),
                            "pictures", pictures, "runs", runs, "compared", compared);
    if (status == GSA_OK && !all) gsa_out_of_memory(error, "a report", LIMIT);
    if (status == GSA_OK) return all;
    json_decref(all);
    return NULL;
}

/* ---- the page ------------------------------------------------------------------------------ */

/* '<' occurs in texts alone, and may end the element that holds them. */
static int put(const char *bytes, size_t count, void *out)
{
    for (size_t i = 0, from = 0; i <= count; i++) {
        if (i < count && bytes[i] != '<') continue;
        gsa_output_write(out, bytes + from, (int64_t)(i - from));
        if (i < count) gsa_output_text(out, "\\u003c");
        from = i + 1;
    }
    return 0;
}

gsa_status gsa_run_report_write(const gsa_reported *of, const char *path, const char *tensorboard,
                                gsa_error *error)
{
    gsa_output *out;
    watch files;
    watch_start(&files, of->system);
    gsa_reported watched = *of;
    watched.system = &files.above.table, watched.lack = &files.lack;
    json_t *all = read_all(&watched, error);
    if (!all) return error->status;
    const json_t *runs = json_object_get(all, "runs");
    gsa_status status =
        tensorboard ? gsa_tensorboard_check(of->system, tensorboard, runs, path, error) : GSA_OK;
    if (status == GSA_OK) status = gsa_output_open(of->system, path, &out, error);
    if (status == GSA_OK) {
        gsa_output_text(out, (const char *)gsa_report_before);
        json_dump_callback(all, put, out, JSON_COMPACT);
        gsa_output_text(out, (const char *)gsa_report_after);
        status = gsa_output_commit(out, error);
    }
    if (status == GSA_OK && tensorboard)
        status = gsa_tensorboard_write(of->system, tensorboard, runs, error);
    json_decref(all);
    return status;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    const char *name[RUNS];
    gsa_registry *registry = NULL;
    gsa_reported of = {
        .system = gsa_args_system(args),
        .run = name,
        .count = gsa_args_operands(args),
        .errors = gsa_args_number(args, "errors", 0),
        .apply = { .build = gsa_build(), .device = "cpu", .policy = gsa_read_plugin_policy(args) }
    };
    of.apply.plugins = gsa_args_texts(args, "plugin", &of.apply.n_plugins);
    of.apply.distrusts = gsa_is_others;
    for (int i = 0; i < of.count; i++) {
        name[i] = gsa_args_operand(args, i);
        of.apply.untrusted |= gsa_is_others(name[i]);
    }
    gsa_status status = gsa_open_registry(args, &registry, error);
    for (int i = 0; i < of.count && status == GSA_OK; i++)
        if (!gsa_note_run(args, name[i]))
            status = gsa_out_of_memory(error, "the files that a recipe names", GSA_PATH_ROOM);
    of.registry = registry;
    if (status == GSA_OK)
        status = gsa_run_report_write(&of, gsa_args_text(args, "out"),
                                      gsa_args_text(args, "tensorboard"), error);
    gsa_registry_release(registry);
    return status;
}

static const gsa_option options[] = {
    { "out", GSA_OPTION_OUTPUT, "FILE", "report.html", NULL, 0, 0,
      "where the page goes; - is standard output" },
    { "errors", GSA_OPTION_NUMBER, "N", "3", NULL, 0, 20,
      "worst errors of RUN/report.json whose attention is shown, of each split" },
    { "tensorboard", GSA_OPTION_OUTPUT, "DIR", NULL, NULL, 0, 0,
      "event files of the logs for TensorBoard, too: DIR/RUN/events.out.tfevents.0.gsa" },
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
};
const gsa_verb gsa_verb_report = {
    .name = "report",
    .summary = "make one page of runs: settings, curves, results, errors, patterns",
    .operands = "RUN...",
    .least = 1,
    .most = RUNS,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "RUN is a folder of gsa train; it may still be training. Runs are compared with the "
        "first one by the paired\n"
        "bootstrap. Rates, confusion, calibration and errors are of RUN/report.json, which gsa "
        "eval --model RUN\n"
        "--json RUN/report.json writes.",
    .run = run
};
