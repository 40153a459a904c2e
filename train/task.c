#include "train/task_parts.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"

const char *gsa_split_name(int split)
{
    static const char *const names[GSA_SPLITS] = { "train", "dev", "test" };
    return names[split];
}

const char *gsa_task_value(const gsa_recipe *recipe, const char *key, char *number)
{
    const int index = gsa_key_find(key);
    return index < 0 ? NULL : gsa_recipe_text(recipe, index, number, 64);
}

const gsa_task *gsa_task_find(int64_t name)
{
    static const gsa_task *const tasks[] = {
        [GSA_TASK_MASKED_SUMMATION] = &gsa_task_masked_summation,
        [GSA_TASK_TEXT_CLASSIFICATION] = &gsa_task_text_classification,
        [GSA_TASK_SENTENCE_PAIRS] = &gsa_task_sentence_pairs,
        [GSA_TASK_NODE_CLASSIFICATION] = &gsa_task_node_classification,
        [GSA_TASK_TAGGING] = &gsa_task_tagging,
        [GSA_TASK_SPAN_EXTRACTION] = &gsa_task_span_extraction,
        [GSA_TASK_LANGUAGE_MODELLING] = &gsa_task_language_modelling,
        [GSA_TASK_TRANSLATION] = &gsa_task_translation
    };
    return tasks[name];
}

static int is_named(const gsa_task *task, const char *name, const char *metric)
{
    return strcmp(task->name, name) == 0 && (!metric || strcmp(task->metric, metric) == 0);
}

const gsa_task *gsa_task_named(const char *name, const char *metric)
{
    for (int64_t i = 0; name && i < GSA_TASKS; i++)
        if (is_named(gsa_task_find(i), name, metric)) return gsa_task_find(i);
    return name && is_named(&gsa_task_tagging_spans, name, metric) ? &gsa_task_tagging_spans : NULL;
}

gsa_status gsa_task_fill(const gsa_task *task, void *self, int split, const int64_t *example,
                         int32_t count, gsa_minibatch *batch, gsa_error *error)
{
    const gsa_status status = task->fill(self, split, example, count, batch, error);
    return status == GSA_OK ? gsa_minibatch_name(batch, split, example, error) : status;
}

int gsa_facts_copy(gsa_fact *to, int room, const gsa_fact *facts, int count)
{
    const int copied = count < room ? count : room;
    if (copied > 0) memcpy(to, facts, (size_t)copied * sizeof *to);
    return copied > 0 ? copied : 0;
}

void gsa_gold_add(gsa_sha256 *hash, const gsa_slice *label, int64_t count)
{
    gsa_sha256_add(hash, &count, sizeof count);
    for (int64_t i = 0; i < count; i++) {
        gsa_sha256_add(hash, &label[i].bytes, sizeof label[i].bytes);
        gsa_sha256_add(hash, label[i].at, label[i].bytes);
    }
}

void gsa_score_add(gsa_score *sum, const gsa_score *unit)
{
    sum->loss += unit->loss, sum->right += unit->right;
    sum->targets += unit->targets, sum->examples += unit->examples;
    sum->hits += unit->hits, sum->found += unit->found, sum->wanted += unit->wanted;
    sum->strict_hits += unit->strict_hits, sum->strict_found += unit->strict_found;
    sum->strict_wanted += unit->strict_wanted;
}

void gsa_score_numbers(const gsa_score *s, double number[GSA_SCORE_NUMBERS])
{
    const double all[GSA_SCORE_NUMBERS] = { s->loss,
                                            s->right,
                                            (double)s->targets,
                                            (double)s->examples,
                                            (double)s->hits,
                                            (double)s->found,
                                            (double)s->wanted,
                                            (double)s->strict_hits,
                                            (double)s->strict_found,
                                            (double)s->strict_wanted };
    memcpy(number, all, sizeof all);
}

gsa_score gsa_score_of(const double x[GSA_SCORE_NUMBERS])
{
    return (gsa_score){ .loss = x[0],
                        .right = x[1],
                        .targets = (int64_t)x[2],
                        .examples = (int64_t)x[3],
                        .hits = (int64_t)x[4],
                        .found = (int64_t)x[5],
                        .wanted = (int64_t)x[6],
                        .strict_hits = (int64_t)x[7],
                        .strict_found = (int64_t)x[8],
                        .strict_wanted = (int64_t)x[9] };
}

double gsa_f1(const gsa_score *score)
{
    const int64_t both = score->found + score->wanted;
    return both > 0 ? 2 * (double)score->hits / (double)both : 0;
}

double gsa_score_metric(const gsa_task *task, const gsa_score *score)
{
    if (task->f1) return gsa_f1(score);
    if (task->rising) return score->examples > 0 ? score->right / (double)score->examples : 0;
    return score->targets > 0 ? score->loss / (double)score->targets : 0;
}

int64_t gsa_task_targets(const gsa_task *task, const void *self, int split, const int64_t *example,
                         int64_t count)
{
    return task->targets ? task->targets(self, split, example, count) : count;
}

int64_t gsa_task_units(const gsa_task *task, const void *self, int split, const int64_t *example,
                       int64_t count)
{
    int64_t units = task->units ? 0 : count;
    for (int64_t i = 0; task->units && i < count; i++)
        units += task->units(self, split, example[i]);
    return units;
}

/* ---- tasks of plugins ---------------------------------------------------------------------- */

#define SYMBOL_OF(macro)    SYMBOL_TEXT(macro)
#define SYMBOL_TEXT(symbol) #symbol

/* What of the table lacks; NULL: nothing. Functions are compared by their bytes, which are zeros in
 * a NULL. */
static const char *lacks(const gsa_task *t)
{
    static const struct {
        const char *name;
        size_t at;
    } needed[] = {
#define NEEDED(member) { #member, offsetof(gsa_task, member) }
        NEEDED(name),     NEEDED(metric),     NEEDED(create), NEEDED(destroy), NEEDED(plan),
        NEEDED(examples), NEEDED(lengths),    NEEDED(fill),   NEEDED(loss),    NEEDED(score),
        NEEDED(save),     NEEDED(read_lines), NEEDED(print)
#undef NEEDED
    };
    static const char zero[sizeof(void *)];
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (memcmp((const char *)t + needed[i].at, zero, sizeof zero) == 0) return needed[i].name;
    return NULL;
}

/* A table that is shorter or longer than this program's: what one does not know is zero. */
static gsa_status take(const gsa_task *given, const char *origin, gsa_task *task, gsa_error *error)
{
    char shown[GSA_SHOWN];
    if (given->abi != GSA_TASK_ABI)
        return gsa_fail(error, GSA_ERR_PLUGIN, "plugin '%s': task ABI %u, expected %u", origin,
                        given->abi, GSA_TASK_ABI);
    if (given->struct_size < offsetof(gsa_task, print) + sizeof given->print)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "plugin '%s': the task's struct_size is %u, expected at least %zu", origin,
                        given->struct_size, offsetof(gsa_task, print) + sizeof given->print);
    memset(task, 0, sizeof *task);
    memcpy(task, given, given->struct_size < sizeof *task ? given->struct_size : sizeof *task);
    if (!gsa_word_ok(task->name))
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "plugin '%s': the task's name is %s, expected [a-z][a-z0-9_]*", origin,
                        gsa_word_show(task->name, shown));
    if (lacks(task))
        return gsa_fail(error, GSA_ERR_PLUGIN, "plugin '%s': task '%s' has no %s", origin,
                        task->name, lacks(task));
    if (!gsa_word_ok(task->metric)) /* it is a key of results, and in files that are read again */
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "plugin '%s': task '%s': its metric is %s, expected [a-z][a-z0-9_]*",
                        origin, task->name, gsa_word_show(task->metric, shown));
    return GSA_OK;
}

gsa_status gsa_task_of(const gsa_recipe *recipe, const gsa_registry *registry, gsa_task *plugged,
                       const gsa_task **task, gsa_error *error)
{
    const char *name = gsa_recipe_task(recipe), *origin;
    const gsa_task *given;
    if (!name) {
        *task = gsa_task_find(recipe->values.task_name);
        return GSA_OK;
    }
    for (int i = 0; (given = gsa_registry_symbol(registry, SYMBOL_OF(GSA_TASK_PLUGIN), i, &origin));
         i++) {
        gsa_status status = take(given, origin, plugged, error);
        if (status == GSA_OK && strcmp(plugged->name, name) != 0) continue;
        *task = plugged;
        return status == GSA_OK ? gsa_recipe_read_by_plugin(recipe, plugged->keys, error) : status;
    }
    return gsa_recipe_no_task(recipe, error);
}

const char *gsa_task_origin(const gsa_registry *registry, const char *name)
{
    const gsa_task *given;
    const char *origin;
    for (int i = 0; (given = gsa_registry_symbol(registry, SYMBOL_OF(GSA_TASK_PLUGIN), i, &origin));
         i++)
        if (given->abi == GSA_TASK_ABI && given->name && strcmp(given->name, name) == 0)
            return origin;
    return NULL;
}
