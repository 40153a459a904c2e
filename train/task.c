#include "train/task.h"
#include <string.h>
#include "train/tasks/classes.h"

const char *gsa_split_name(int split)
{
    static const char *const names[GSA_SPLITS] = { "train", "dev", "test" };
    return names[split];
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
