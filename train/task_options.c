/* task_options.c - the options that a plugin's task declares, as the recipe's task.options has
 * them. */
#include <stdio.h>
#include <string.h>
#include "topologies/param.h"
#include "topologies/words.h"
#include "train/task_parts.h"

static const gsa_param *option_at(const gsa_task *task, uint32_t index)
{
    return (const gsa_param *)((const char *)task->options + (size_t)index * task->option_stride);
}

static const char *option_name(const void *task, int index)
{
    return option_at(task, (uint32_t)index)->name;
}

static gsa_status refuse(const gsa_recipe *recipe, gsa_error *error, const char *sentence)
{
    return gsa_recipe_fail(recipe, "task", "options", error, "= %.100s: %s",
                           recipe->values.task_options, sentence);
}

/* The table itself. */
static gsa_status check_table(const gsa_task *task, gsa_error *error)
{
    if (task->n_options > 0 && (!task->options || task->option_stride < sizeof(gsa_param)))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "task '%s': %u options without a table of them, or of a stride of %u",
                        task->name, task->n_options, task->option_stride);
    for (uint32_t i = 0; i < task->n_options; i++) {
        const gsa_param *option = option_at(task, i);
        if (!gsa_word_ok(option->name) || !option->fallback || option->type == GSA_PATH)
            return gsa_fail(error, GSA_ERR_PLUGIN,
                            "task '%s': option %u needs a name, a fallback, and a type that is no "
                            "path",
                            task->name, i);
    }
    return GSA_OK;
}

/* Every name is declared, and none is there twice. */
static gsa_status check_names(const gsa_task *task, const gsa_recipe *recipe,
                              const gsa_part_spec *given, gsa_error *error)
{
    char list[512], why[768], shown[GSA_SHOWN];
    for (int g = 0; g < given->n_settings; g++) {
        const char *name = given->settings[g].key;
        int known = 0;
        for (uint32_t i = 0; i < task->n_options; i++)
            known |= strcmp(option_at(task, i)->name, name) == 0;
        for (int before = 0; before < g && known; before++)
            if (strcmp(given->settings[before].key, name) == 0) {
                snprintf(why, sizeof why, "option %s is given twice", name);
                return refuse(recipe, error, why);
            }
        if (known) continue;
        gsa_word_list(list, sizeof list, option_name, task, (int)task->n_options, name);
        snprintf(why, sizeof why, "task %s has no option %s; %s", task->name,
                 gsa_word_show(name, shown), task->n_options ? list : "it has none");
        return refuse(recipe, error, why);
    }
    return GSA_OK;
}

static gsa_status fill(const gsa_task *task, const gsa_recipe *recipe, const gsa_part_spec *given,
                       gsa_value *value, gsa_error *error)
{
    gsa_error why;
    for (uint32_t i = 0; i < task->n_options; i++) {
        const gsa_param *option = option_at(task, i);
        const char *text = option->fallback;
        for (int g = 0; given && g < given->n_settings; g++)
            if (strcmp(given->settings[g].key, option->name) == 0)
                text = given->settings[g].value ? given->settings[g].value : "";
        if (gsa_param_parse(option, text, &value[i], &why) != GSA_OK)
            return refuse(recipe, error, why.text);
    }
    return GSA_OK;
}

/* task.options as the settings of one pattern in a stack's text: "NAME:power=2:signed=1". */
static gsa_status parse(const gsa_system *system, const gsa_task *task, const gsa_recipe *recipe,
                        gsa_stack_spec *spec, gsa_error *error)
{
    const char *options = recipe->values.task_options;
    const size_t room = strlen(task->name) + strlen(options) + 2;
    char *text = gsa_alloc(system, room, 1);
    gsa_error why;
    if (!text) return gsa_out_of_memory(error, "a task's options", (int64_t)room);
    snprintf(text, room, "%s:%s", task->name, options);
    gsa_status status = gsa_spec_parse(system, text, spec, &why);
    gsa_release(system, text);
    if (status != GSA_OK) return refuse(recipe, error, why.text);
    const gsa_segment_spec *only = spec->segments;
    if (spec->n_segments != 1 || only->n_parts != 1 || only->layers != 1 || only->share)
        return refuse(recipe, error, "expected NAME=VALUE, and more of them after a ':'");
    return check_names(task, recipe, only->parts, error);
}

gsa_status gsa_task_read_options(const gsa_system *system, const gsa_task *task,
                                 const gsa_recipe *recipe, gsa_value **value, gsa_error *error)
{
    gsa_stack_spec spec = { 0 };
    const int given = *recipe->values.task_options != 0;
    *value = NULL;
    gsa_status status = check_table(task, error);
    if (status == GSA_OK && given) status = parse(system, task, recipe, &spec, error);
    if (status == GSA_OK && task->n_options > 0) {
        *value = gsa_alloc_zero(system, task->n_options, sizeof **value);
        status = *value ? fill(task, recipe, given ? spec.segments->parts : NULL, *value, error)
                        : gsa_out_of_memory(error, "a task's options",
                                            task->n_options * (int64_t)sizeof **value);
    }
    gsa_spec_release(&spec);
    if (status != GSA_OK) gsa_release(system, *value), *value = NULL;
    return status;
}
