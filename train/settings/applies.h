/* applies.h - which tasks read which recipe keys. A value that is not its key's default, and that
 * the recipe's task would not look at, is refused: nothing of a recipe is passed over in
 * silence. */
#ifndef GSA_APPLIES_H
#define GSA_APPLIES_H
#include "train/settings/recipe.h"

enum { GSA_ALL_TASKS = (1 << GSA_TASKS) - 1 };

/* Bits of gsa_task_name; `index` as in gsa_recipe_keys(). */
uint32_t gsa_key_tasks(int index);
int gsa_applies_keys(void); /* how many keys the table names */
/* "text_classification and sentence_pairs", as recipes name them; most of them: "all but
 * masked_summation", or "all". */
void gsa_tasks_text(uint32_t tasks, char *out, size_t size);
/* file:line, the key, the task, and the tasks that read it. */
gsa_status gsa_applies_check(const gsa_recipe *recipe, gsa_error *error);
/* The same for a plugin's task, which reads the keys `own` next to those of all tasks (task.h). */
gsa_status gsa_applies_plugged(const gsa_recipe *recipe, const char *own, gsa_error *error);

#endif
