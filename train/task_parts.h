/* task_parts.h - tasks as the driver knows them: the table, and what is asked of all. */
#ifndef GSA_TASK_PARTS_H
#define GSA_TASK_PARTS_H
#include "train/score/survey.h"
#include "train/settings/recipe.h"
#include "train/task.h"

const char *gsa_split_name(int split); /* "train", "dev", "test" */
extern const gsa_task gsa_task_masked_summation, gsa_task_text_classification,
    gsa_task_sentence_pairs, gsa_task_node_classification, gsa_task_tagging, gsa_task_tagging_spans,
    gsa_task_span_extraction, gsa_task_language_modelling, gsa_task_translation;
const gsa_task *gsa_task_find(int64_t name); /* gsa_task_name; not of a plugin */
/* The task that the recipe names: of the table above, or of a plugin, which is checked and copied
 * to `plugged`. Refuses keys that a plugin's task does not read. */
gsa_status gsa_task_of(const gsa_recipe *recipe, const gsa_registry *registry, gsa_task *plugged,
                       const gsa_task **task, gsa_error *error);
/* What task.options says of the table's options: [n_options] values, for the caller to release.
 * NULL where the table has none. */
gsa_status gsa_task_read_options(const gsa_system *system, const gsa_task *task,
                                 const gsa_recipe *recipe, gsa_value **value, gsa_error *error);
/* Where the task of that name comes from; NULL: from no plugin. */
const char *gsa_task_origin(const gsa_registry *registry, const char *name);
/* Everything about a recipe that can be known to be wrong before data is read: stacks, and what the
 * task says. */
gsa_status gsa_task_check(const gsa_recipe *recipe, const gsa_registry *registry, gsa_error *error);
/* The table with these texts, variants too; metric NULL: any. NULL: there is none. */
const gsa_task *gsa_task_named(const char *name, const char *metric);
/* The first of `count` facts into `to`, as many as fit; their number. */
int gsa_facts_copy(gsa_fact *to, int room, const gsa_fact *facts, int count);
/* The hash of an example's gold labels: how many there are, then each as its file writes it. */
void gsa_gold_add(gsa_sha256 *hash, const gsa_slice *label, int64_t count);
void gsa_score_add(gsa_score *sum, const gsa_score *unit);
/* 2 hits / (found + wanted); 0 where there is nothing. */
double gsa_f1(const gsa_score *score);
double gsa_score_metric(const gsa_task *task, const gsa_score *score);
int64_t gsa_task_targets(const gsa_task *task, const void *self, int split, const int64_t *example,
                         int64_t count);
/* Fills the batch and names its examples. */
gsa_status gsa_task_fill(const gsa_task *task, void *self, int split, const int64_t *example,
                         int32_t count, gsa_minibatch *batch, gsa_error *error);
int64_t gsa_task_units(const gsa_task *task, const void *self, int split, const int64_t *example,
                       int64_t count);

enum { GSA_SCORE_NUMBERS = 10 }; /* the members of a score, in their order */
void gsa_score_numbers(const gsa_score *score, double number[GSA_SCORE_NUMBERS]);
gsa_score gsa_score_of(const double number[GSA_SCORE_NUMBERS]);

#endif
