/* check.c - what can be known to be wrong with a recipe before its data is read, so that the first
 * of many runs says it. */
#include <string.h>
#include "train/task_parts.h"

/* A stack that is text of another key. */
static gsa_status check_stack(const gsa_recipe *recipe, const gsa_registry *registry,
                              const char *task, const char *key, const char *text, int causal,
                              gsa_error *error)
{
    char place[512];
    gsa_stack_spec spec;
    gsa_status status = gsa_spec_parse(recipe->ini.system, text, &spec, error);
    if (status == GSA_OK) status = gsa_spec_try(&spec, registry, error);
    if (status == GSA_OK && causal) status = gsa_spec_causal(&spec, registry, text, task, error);
    gsa_spec_release(&spec);
    if (status == GSA_OK) return GSA_OK;
    gsa_recipe_place(recipe, "model", key, place, sizeof place);
    gsa_fail_at(error, status, "%s: [model] %s", place, key);
    return status;
}

/* Which tasks have something else to read, and from which layer on. */
static gsa_status check_memory(const gsa_recipe *recipe, int layer, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const char *text = gsa_recipe_encoder(recipe);
    if (layer < 0 || (v->task_name == GSA_TASK_SENTENCE_PAIRS && layer > 0)) return GSA_OK;
    if (v->task_name == GSA_TASK_TRANSLATION)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "%s reads a memory, which the decoder alone has: put cross into model.decoder", text);
    if (v->task_name == GSA_TASK_SENTENCE_PAIRS)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s reads the other sentence from its first layer on, where both would "
                        "wait for each other: put "
                        "layers before it that do not (bpt*3,bpt+cross*3)",
                        text);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "%s reads another stack's sequence, and this task has none", text);
}

static gsa_status check_encoder(const gsa_recipe *recipe, const gsa_registry *registry,
                                gsa_error *error)
{
    gsa_stack_spec spec;
    int layer;
    gsa_status status = gsa_recipe_spec(recipe, registry, &spec, error);
    if (status != GSA_OK) return status;
    status = gsa_recipe_memory_layer(&spec, registry, &layer, error);
    if (status == GSA_OK) status = check_memory(recipe, layer, error);
    if (status == GSA_OK && recipe->values.task_name == GSA_TASK_LANGUAGE_MODELLING)
        status = gsa_spec_causal(&spec, registry, gsa_recipe_encoder(recipe),
                                 gsa_task_language_modelling.name, error);
    gsa_spec_release(&spec);
    return status == GSA_OK ? GSA_OK : gsa_recipe_encoder_fail(recipe, status, error);
}

gsa_status gsa_task_check(const gsa_recipe *recipe, const gsa_registry *registry, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    gsa_task plugged;
    const gsa_task *task;
    gsa_status status = gsa_task_of(recipe, registry, &plugged, &task, error);
    if (status == GSA_OK) status = check_encoder(recipe, registry, error);
    if (status == GSA_OK && *v->model_decoder)
        status = check_stack(recipe, registry, task->name, "decoder", v->model_decoder, 1, error);
    if (status == GSA_OK && gsa_recipe_characters(v))
        status =
            check_stack(recipe, registry, task->name, "characters", v->model_characters, 0, error);
    return status == GSA_OK && task->check ? task->check(recipe, error) : status;
}
