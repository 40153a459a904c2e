/* sweep_plan.c - which runs --seeds and --each request, and what each of them is called. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topologies/words.h"
#include "train/runs/sweep.h"
#include "train/task_parts.h"

enum { NAMES = 8, VALUES = 1000, NAME_ROOM = 128, PLACE = 64, PATH = 4096 };

typedef struct varied { /* one --each */
    char *copy;
    const char *name, *value[VALUES];
    int values, used;
} varied;

typedef struct planner {
    const gsa_system *system;
    const gsa_sweep_options *options;
    gsa_ini ini;
    gsa_registry *registry;
    varied *each;
    int n_each, at[NAMES]; /* at: which value of each */
    int replaced;          /* the last text held a name */
    const char **
        except; /* [n_except] of the run that is made: overrides whose keys are not of its family */
    int n_except, except_room;
} planner;

/* ---- --each -------------------------------------------------------------------------------- */

static char *cut_blanks(char *text)
{
    while (*text == ' ') text++;
    char *end = text + strlen(text);
    while (end > text && end[-1] == ' ') *--end = 0;
    return text;
}

static int is_key(const char *name)
{
    return strchr(name, '.') != NULL;
}

/* A word, or SECTION.KEY, as is_name of ini.c; whether the key exists the recipe says. */
static int name_ok(const char *name)
{
    if (*name < 'a' || *name > 'z' || strlen(name) >= NAME_ROOM) return 0;
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == 0;
}

static gsa_status parse_each(planner *p, const char *text, varied *v, gsa_error *error)
{
    char shown[GSA_SHOWN];
    v->copy = gsa_copy_text(p->system, text);
    if (!v->copy) return gsa_out_of_memory(error, "--each", (int64_t)strlen(text));
    char *equals = strchr(v->copy, '=');
    if (equals) *equals = 0;
    v->name = v->copy;
    if (!equals || !name_ok(v->name))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--each %s: expected name=value,value,... or section.key=value;value;...",
                        gsa_word_show(text, shown));
    const char separator = strchr(equals + 1, ';') ? ';' : ',';
    for (char *at = equals + 1, *next; at; at = next) {
        next = strchr(at, separator);
        if (next) *next++ = 0;
        const char *value = cut_blanks(at);
        if (!*value && !next && separator == ';' && v->values > 0)
            break; /* "full*2,star*2;" is one value */
        if (!*value)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "--each %s: value %d is empty; \"\" stands for an empty one", v->name,
                            v->values + 1);
        if (v->values == VALUES)
            return gsa_fail(error, GSA_ERR_LIMIT, "--each %s: more than %d values", v->name,
                            VALUES);
        v->value[v->values++] = strcmp(value, "\"\"") == 0 ? "" : value;
    }
    return GSA_OK;
}

static gsa_status parse_all(planner *p, gsa_error *error)
{
    const gsa_sweep_options *o = p->options;
    if (o->n_each > NAMES)
        return gsa_fail(error, GSA_ERR_LIMIT, "%d --each, at most %d", o->n_each, NAMES);
    p->each = gsa_alloc_zero(p->system, (size_t)o->n_each, sizeof *p->each);
    if (!p->each) return gsa_out_of_memory(error, "--each", (int64_t)sizeof *p->each * o->n_each);
    p->n_each = o->n_each;
    gsa_status status = GSA_OK;
    for (int i = 0; i < o->n_each && status == GSA_OK; i++) {
        status = parse_each(p, o->each[i], &p->each[i], error);
        if (status == GSA_OK && o->n_seeds > 0 && strcmp(p->each[i].name, "train.seed") == 0)
            status = gsa_fail(error, GSA_ERR_ARGUMENT,
                              "--each train.seed and --seeds both say the seeds: give one of them");
        for (int k = 0; k < i && status == GSA_OK; k++)
            if (strcmp(p->each[k].name, p->each[i].name) == 0)
                status =
                    gsa_fail(error, GSA_ERR_ARGUMENT, "--each %s is there twice", p->each[i].name);
    }
    for (int i = 0; i < o->train.n_overrides && o->n_seeds > 0 && status == GSA_OK; i++)
        if (strncmp(o->train.overrides[i], "train.seed={", 12) == 0)
            status = gsa_fail(error, GSA_ERR_ARGUMENT,
                              "--set %s and --seeds both say the seeds: give one of them",
                              o->train.overrides[i]);
    return status;
}

/* ---- replacing ----------------------------------------------------------------------------- */

/* The name in braces at `text`, or NULL. */
static varied *placeholder(const planner *p, const char *text)
{
    for (int i = 0; i < p->n_each && *text == '{'; i++) {
        const size_t bytes = strlen(p->each[i].name);
        if (!is_key(p->each[i].name) && strncmp(text + 1, p->each[i].name, bytes) == 0 &&
            text[bytes + 1] == '}')
            return &p->each[i];
    }
    return NULL;
}

/* "PREFIX text" with {name} replaced by the present values; owned by the caller. Notes which names
 * were used. */
static char *replaced(planner *p, const char *prefix, const char *text)
{
    size_t room = strlen(prefix) + 1;
    for (const char *at = text; *at; at++) {
        const varied *v = placeholder(p, at);
        room += v ? strlen(v->value[p->at[v - p->each]])
                  : 1; /* of a name its braces count too: more than enough */
    }
    char *out = gsa_alloc(p->system, room, 1), *to = out;
    if (!out) return NULL;
    to += strlen(strcpy(to, prefix));
    p->replaced = 0;
    while (*text) {
        varied *v = placeholder(p, text);
        if (v) {
            to += strlen(strcpy(to, v->value[p->at[v - p->each]]));
            text += strlen(v->name) + 2, v->used = p->replaced = 1;
        } else *to++ = *text++;
    }
    *to = 0;
    return out;
}

static gsa_status add_set(planner *p, gsa_sweep_run *run, char *text, gsa_error *error)
{
    char **larger =
        text ? gsa_resize(p->system, run->set, (size_t)run->sets + 1, sizeof *larger) : NULL;
    if (!larger) {
        gsa_release(p->system, text);
        return gsa_out_of_memory(error, "the overrides of a run", PATH);
    }
    run->set = larger;
    run->set[run->sets++] = text;
    return GSA_OK;
}

/* The text, with its names replaced; their keys are none of the family's. */
static gsa_status add_replaced(planner *p, gsa_sweep_run *run, const char *prefix, const char *text,
                               gsa_error *error)
{
    const gsa_status status = add_set(p, run, replaced(p, prefix, text), error);
    if (status != GSA_OK || !p->replaced) return status;
    if (p->n_except == p->except_room) {
        const char **larger =
            gsa_resize(p->system, p->except, 2 * (size_t)p->except_room + 16, sizeof *larger);
        if (!larger) return gsa_out_of_memory(error, "the overrides of a run", PATH);
        p->except = larger, p->except_room = 2 * p->except_room + 16;
    }
    p->except[p->n_except++] = run->set[run->sets - 1];
    return GSA_OK;
}

/* The recipe's values that hold a name, the overrides, the keys that are varied, the seed: later
 * ones win. */
static gsa_status make_sets(planner *p, gsa_sweep_run *run, const int64_t *seed, gsa_error *error)
{
    char prefix[2 * NAME_ROOM];
    gsa_status status = GSA_OK;
    p->n_except = 0;
    for (int i = 0; i < p->ini.count && status == GSA_OK; i++) {
        const gsa_ini_entry *e = &p->ini.entries[i];
        if (!e->key || !strchr(e->value, '{')) continue;
        snprintf(prefix, sizeof prefix, "%s.%s=", e->section, e->key);
        status = add_replaced(p, run, prefix, e->value, error);
    }
    for (int i = 0; i < p->options->train.n_overrides && status == GSA_OK; i++)
        status = add_replaced(p, run, "", p->options->train.overrides[i], error);
    for (int i = 0; i < p->n_each && status == GSA_OK; i++) {
        if (!is_key(p->each[i].name)) continue;
        snprintf(prefix, sizeof prefix, "%s=", p->each[i].name);
        status = add_replaced(p, run, prefix, p->each[i].value[p->at[i]], error);
        p->each[i].used = 1;
    }
    if (status != GSA_OK || !seed) return status;
    snprintf(prefix, sizeof prefix, "train.seed=%lld", (long long)*seed);
    return add_set(p, run, gsa_copy_text(p->system, prefix), error);
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *short_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static gsa_status name_run(planner *p, gsa_sweep_run *run, int64_t seed, gsa_error *error)
{
    char path[PATH];
    size_t n = 0;
    for (int i = 0; i < p->n_each; i++) {
        const char *value = p->each[i].value[p->at[i]];
        if (n + NAME_ROOM + 2 * strlen(value) > PATH / 2 || strlen(value) > 200)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "--each %s: a value of %zu bytes makes no name of a folder",
                            p->each[i].name, strlen(value));
        n += (size_t)snprintf(path + n, sizeof path - n, "%s-", short_name(p->each[i].name));
        for (; *value; value++) {
            const int plain = (*value >= 'a' && *value <= 'z') ||
                              (*value >= 'A' && *value <= 'Z') ||
                              (*value >= '0' && *value <= '9') || *value == '.' || *value == '-';
            path[n++] = plain ? *value : '_';
        }
        path[n++] = '/';
    }
    snprintf(path + n, sizeof path - n, "seed-%lld", (long long)seed);
    run->name = gsa_copy_text(p->system, path);
    return run->name ? GSA_OK : gsa_out_of_memory(error, path, PATH);
}

static gsa_status tell_each(planner *p, gsa_sweep_run *run, gsa_error *error)
{
    json_t *object = json_object();
    for (int i = 0; i < p->n_each; i++)
        json_object_set_new(object, p->each[i].name, json_string(p->each[i].value[p->at[i]]));
    char *text = json_dumps(object, JSON_COMPACT);
    run->each = text ? gsa_copy_text(p->system, text) : NULL;
    free(text);
    json_decref(object);
    return run->each ? GSA_OK
                     : gsa_fail(error, GSA_ERR_ARGUMENT, "--each: a value is no valid UTF-8");
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void hash_run(const planner *p, gsa_recipe *recipe, gsa_sweep_run *run)
{
    static const char *const seed[] = { "train.seed=" };
    const int64_t own = recipe->values.train_seed;
    gsa_recipe_hash(recipe, seed, 1, run->setting);
    recipe->values.train_seed = 0; /* of no family */
    gsa_recipe_hash(recipe, p->except, p->n_except, run->family);
    recipe->values.train_seed = own;
}

static gsa_status make_run(planner *p, const int64_t *seed, gsa_sweep_run *run, gsa_error *error)
{
    gsa_recipe recipe;
    gsa_status status = make_sets(p, run, seed, error);
    if (status != GSA_OK) return status;
    status = gsa_recipe_read(p->system, p->options->train.recipe, (const char *const *)run->set,
                             run->sets, &recipe, error);
    if (status != GSA_OK) return status;
    hash_run(p, &recipe, run);
    status = gsa_task_check(&recipe, p->registry, error);
    if (status == GSA_OK) status = gsa_recipe_idle(&recipe, error);
    if (status == GSA_OK && !*recipe.values.data_train &&
        recipe.values.task_name != GSA_TASK_MASKED_SUMMATION)
        status = gsa_recipe_no_train(&recipe, error);
    if (status == GSA_OK) status = name_run(p, run, recipe.values.train_seed, error);
    if (status == GSA_OK) status = tell_each(p, run, error);
    gsa_recipe_release(&recipe);
    return status;
}

/* The next combination; 0: that was the last. */
static int advance(planner *p)
{
    for (int i = p->n_each - 1; i >= 0; i--) {
        if (++p->at[i] < p->each[i].values) return 1;
        p->at[i] = 0;
    }
    return 0;
}

static gsa_status count_runs(const planner *p, int *runs, gsa_error *error)
{
    int64_t count = p->options->n_seeds > 0 ? p->options->n_seeds : 1;
    for (int i = 0; i < p->n_each && count <= GSA_SWEEP_RUNS; i++) count *= p->each[i].values;
    if (count > GSA_SWEEP_RUNS)
        return gsa_fail(error, GSA_ERR_LIMIT, "--each and --seeds make more than %d runs",
                        GSA_SWEEP_RUNS);
    *runs = (int)count;
    return GSA_OK;
}

static gsa_status make_runs(planner *p, gsa_sweep_plan *plan, gsa_error *error)
{
    const int seeds = p->options->n_seeds;
    int runs = 0;
    gsa_status status = count_runs(p, &runs, error);
    if (status == GSA_OK) plan->run = gsa_alloc_zero(p->system, (size_t)runs, sizeof *plan->run);
    if (status == GSA_OK && !plan->run)
        return gsa_out_of_memory(error, "the runs", runs * (int64_t)sizeof *plan->run);
    if (status != GSA_OK) return status;
    do {
        for (int s = 0; s < (seeds > 0 ? seeds : 1) && status == GSA_OK; s++)
            status = make_run(p, seeds > 0 ? &p->options->seeds[s] : NULL, &plan->run[plan->runs++],
                              error);
    } while (status == GSA_OK && advance(p));
    return status;
}

static gsa_status check_used(const planner *p, gsa_error *error)
{
    for (int i = 0; i < p->n_each; i++)
        if (!p->each[i].used)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "--each %s: {%s} is in no value of '%s' or of --set; a key is "
                            "varied by its full name, "
                            "section.key",
                            p->each[i].name, p->each[i].name, p->options->train.recipe);
    return GSA_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static gsa_status check_names(const gsa_sweep_plan *plan, gsa_error *error)
{
    gsa_status status = GSA_OK;
    char **name = gsa_alloc(plan->system, (size_t)plan->runs, sizeof *name);
    if (!name) return gsa_out_of_memory(error, "the runs", plan->runs * 8);
    for (int i = 0; i < plan->runs; i++) name[i] = plan->run[i].name;
    qsort(name, (size_t)plan->runs, sizeof *name, by_name);
    for (int i = 1; i < plan->runs && status == GSA_OK; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            status = gsa_fail(error, GSA_ERR_ARGUMENT,
                              "two runs would have the folder '%s': a value or a seed is there "
                              "twice, or two values differ "
                              "only in what is no letter",
                              name[i]);
    gsa_release(plan->system, name);
    return status;
}

static void planner_release(planner *p)
{
    for (int i = 0; p->each && i < p->n_each; i++) gsa_release(p->system, p->each[i].copy);
    gsa_release(p->system, p->each);
    gsa_release(p->system, p->except);
    if (p->registry) gsa_registry_release(p->registry);
    gsa_ini_release(&p->ini);
}

gsa_status gsa_sweep_plan_create(const gsa_system *system, const gsa_sweep_options *options,
                                 gsa_sweep_plan *plan, gsa_error *error)
{
    planner p = { .system = system ? system : gsa_system_default(), .options = options };
    p.ini.system = p.system;
    *plan = (gsa_sweep_plan){ .system = p.system };
    if (!options->train.recipe)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "several runs want a recipe: the same command goes on with those that stopped");
    gsa_status status = parse_all(&p, error);
    if (status == GSA_OK) status = gsa_ini_read(p.system, options->train.recipe, &p.ini, error);
    if (status == GSA_OK) status = gsa_registry_create(p.system, &p.registry, error);
    for (int i = 0; i < options->train.n_plugins && status == GSA_OK; i++)
        status = gsa_registry_load(p.registry, options->train.plugins[i], error);
    if (status == GSA_OK) status = make_runs(&p, plan, error);
    if (status == GSA_OK) status = check_used(&p, error);
    if (status == GSA_OK) status = check_names(plan, error);
    planner_release(&p);
    if (status != GSA_OK) gsa_sweep_plan_release(plan);
    return status;
}

void gsa_sweep_plan_release(gsa_sweep_plan *plan)
{
    for (int i = 0; i < plan->runs; i++) {
        gsa_sweep_run *run = &plan->run[i];
        for (int k = 0; k < run->sets; k++) gsa_release(plan->system, run->set[k]);
        gsa_release(plan->system, run->set);
        gsa_release(plan->system, run->name);
        gsa_release(plan->system, run->each);
    }
    gsa_release(plan->system, plan->run);
    *plan = (gsa_sweep_plan){ 0 };
}
