#include "train/task.h"

const gsa_task *gsa_task_find(int64_t name)
{
    return name == GSA_TASK_MASKED_SUMMATION ? &gsa_task_masked_summation : &gsa_task_text_classification;
}

double gsa_score_metric(const gsa_task *task, const gsa_score *score)
{
    if (task->rising) return score->examples > 0 ? score->right / (double)score->examples : 0;
    return score->targets > 0 ? score->loss / (double)score->targets : 0;
}
