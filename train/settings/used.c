/* used.c - no value of a recipe is passed over in silence: one that the task does not read, or that
 * does nothing next to another key's value, is refused (keys_table.h says which). */
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/settings/recipe.h"

enum { PLACE = 512, LIST = 512, NAME = 128 };

/* A word of a list such as "a,b" or " a b ". */
static int is_listed(const char *list, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = list; bytes && at && (at = strstr(at, word)); at++)
        if ((at == list || strchr(" ,", at[-1])) && strchr(" ,", at[bytes])) return 1;
    return 0;
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* Of a value: some choices have fewer readers than their key. */
static uint32_t readers_of(const gsa_key *key, const char *value)
{
    for (int i = 0; i < 4 && key->parts[i].choices; i++)
        if (is_listed(key->parts[i].choices, value)) return key->parts[i].readers;
    return key->readers;
}

/* The task's name: a choice of the first key. */
static gsa_slice task_name(int64_t task)
{
    const char *at = gsa_recipe_keys(NULL)[0].choices;
    for (; task > 0; task--) at = strchr(at, ',') + 1;
    return (gsa_slice){ at, (int64_t)strcspn(at, ",") };
}

/* "tagging, span_extraction and translation" */
static void list_tasks(uint32_t tasks, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int t = 0; t < GSA_TASKS && used < size; t++) {
        if (!(tasks >> t & 1)) continue;
        const gsa_slice name = task_name(t);
        const char *before = used == 0 ? "" : tasks >> (t + 1) ? ", " : " and ";
        used +=
            (size_t)snprintf(out + used, size - used, "%s%.*s", before, (int)name.bytes, name.at);
    }
}

void gsa_tasks_text(uint32_t tasks, char *out, size_t size)
{
    int count = 0;
    if (!tasks) snprintf(out, size, "tasks of plugins");
    for (int t = 0; t < GSA_TASKS; t++) count += tasks >> t & 1;
    const int most = 2 * count > GSA_TASKS + 1;
    const int used = most ? snprintf(out, size, count < GSA_TASKS ? "all but " : "all") : 0;
    if (count > 0 && count < GSA_TASKS)
        list_tasks(most ? GSA_ALL_TASKS & ~tasks : tasks, out + used, size - (size_t)used);
}

gsa_status gsa_recipe_read_by_task(const gsa_recipe *recipe, gsa_error *error)
{
    int count;
    char number[64], list[LIST];
    const gsa_key *keys = gsa_recipe_keys(&count);
    const int64_t own = recipe->values.task_name;
    for (int i = 0; i < count && own != GSA_TASK_PLUGGED; i++) {
        const char *value = gsa_recipe_text(recipe, i, number, sizeof number);
        const uint32_t tasks = readers_of(&keys[i], value);
        if (tasks >> own & 1 || gsa_recipe_is_default(recipe, i)) continue;
        gsa_tasks_text(tasks, list, sizeof list);
        return gsa_recipe_fail(recipe, keys[i].section, keys[i].name, error,
                               "= %.100s is not for task %.*s: it is read by %s", value,
                               (int)task_name(own).bytes, task_name(own).at, list);
    }
    return GSA_OK;
}

gsa_status gsa_recipe_read_by_plugin(const gsa_recipe *recipe, const char *own, gsa_error *error)
{
    int count;
    char name[NAME], number[64];
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s.%s", keys[i].section, keys[i].name);
        if (!keys[i].readers || keys[i].readers == GSA_ALL_TASKS || is_listed(own, name) ||
            gsa_recipe_is_default(recipe, i))
            continue;
        return gsa_recipe_fail(recipe, keys[i].section, keys[i].name, error,
                               "= %.100s is not for task %s, which reads%s%s",
                               gsa_recipe_text(recipe, i, number, sizeof number),
                               gsa_recipe_task(recipe), own ? own : " no key of its own",
                               own ? "in addition to those of all tasks" : "");
    }
    return GSA_OK;
}

/* ---- other keys ---------------------------------------------------------------------------- */

static int serves(const char *values, const char *value)
{
    const int set = *value && strcmp(value, "none") != 0;
    if (strcmp(values, GSA_MUST_BE_POSITIVE) == 0) return *value != '0';
    if (strcmp(values, GSA_MUST_BE_SEVERAL) == 0) return strcmp(value, "1") != 0;
    if (strcmp(values, GSA_MUST_BE_SET) == 0) return set;
    if (strcmp(values, GSA_MUST_NOT_BE_SET) == 0) return !set;
    return is_listed(values, value);
}

/* "it is for train.schedule = linear, cosine or hold_linear" */
static void advise(const char *values, const char *other, char *out, size_t size)
{
    if (*values == '!') {
        snprintf(out, size, "%s must %s", other, values + 1);
        return;
    }
    size_t used = (size_t)snprintf(out, size, "it is for %s = ", other);
    for (const char *at = values; *at && used < size;) {
        const int bytes = (int)strcspn(at, ",");
        const char *next = at + bytes + (at[bytes] == ',');
        const char *after = !*next ? "" : strchr(next, ',') ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%.*s%s", bytes, at, after);
        at = next;
    }
}

static int is_override(const gsa_recipe *recipe, const gsa_key *key)
{
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, key->section, key->name);
    return entry && entry->line == 0;
}

/* A run's config.ini names every key that there was when it was written: to name one there is to
 * mean nothing by it. */
static int names_most_keys(const gsa_recipe *recipe)
{
    int count, named = 0;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++)
        named += gsa_ini_find(&recipe->ini, keys[i].section, keys[i].name) != NULL;
    return named > count / 2;
}

/* Rule `rule` of key `index`. */
static gsa_status check_beside(const gsa_recipe *recipe, int index, int rule, gsa_error *error)
{
    char number[2][64], advice[LIST], shown[GSA_SHOWN];
    const gsa_key *keys = gsa_recipe_keys(NULL), *key = &keys[index];
    const char *name = key->with[rule].other, *values = key->with[rule].values;
    const char *choice = key->with[rule].choice;
    const uint32_t tasks = key->with[rule].tasks;
    const int other = gsa_key_find(name);
    const char *value = gsa_recipe_text(recipe, index, number[0], sizeof number[0]);
    const char *given = gsa_recipe_text(recipe, other, number[1], sizeof number[1]);
    if ((tasks && !(tasks >> recipe->values.task_name & 1)) ||
        (choice && strcmp(choice, value) != 0) || gsa_recipe_is_default(recipe, index) ||
        serves(values, given) || is_override(recipe, &keys[other]))
        return GSA_OK;
    advise(values, name, advice, sizeof advice);
    return gsa_recipe_fail(
        recipe, key->section, key->name, error, "= %.100s does nothing with %s %s%s: %s", value,
        name, *given ? "= " : "not set", *given ? gsa_word_show(given, shown) : "", advice);
}

gsa_status gsa_recipe_idle(const gsa_recipe *recipe, gsa_error *error)
{
    int count;
    gsa_status status = GSA_OK;
    const gsa_key *keys = gsa_recipe_keys(&count);
    if (names_most_keys(recipe)) return GSA_OK;
    for (int i = 0; i < count; i++)
        for (int rule = 0; rule < 2 && keys[i].with[rule].other && status == GSA_OK; rule++)
            status = check_beside(recipe, i, rule, error);
    return status;
}
