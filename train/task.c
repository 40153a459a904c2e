#include "train/task.h"

const gsa_task *gsa_task_find(int64_t name)
{
    static const gsa_task *const tasks[] = { [GSA_TASK_MASKED_SUMMATION] = &gsa_task_masked_summation,
                                             [GSA_TASK_TEXT_CLASSIFICATION] = &gsa_task_text_classification,
                                             [GSA_TASK_SENTENCE_PAIRS] = &gsa_task_sentence_pairs,
                                             [GSA_TASK_NODE_CLASSIFICATION] = &gsa_task_node_classification };
    return tasks[name];
}

double gsa_score_metric(const gsa_task *task, const gsa_score *score)
{
    if (task->rising) return score->examples > 0 ? score->right / (double)score->examples : 0;
    return score->targets > 0 ? score->loss / (double)score->targets : 0;
}

int64_t gsa_task_targets(const gsa_task *task, const void *self, int split, const int64_t *example, int64_t count)
{
    return task->targets ? task->targets(self, split, example, count) : count;
}
