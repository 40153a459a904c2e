/* recipe.h - a recipe, resolved: every key has a value, every value has a place for messages.
 *
 * The encoder is `[model] encoder=SPEC`, or one section a segment, [encoder.1], [encoder.2], ...:
 * topology=ID, layers=N, share=0|1, any other key is a parameter of the topology (its value may be
 * anything, a path too). Next to encoder=SPEC, a section adds parameters to its segment, of a+b to
 * the first pattern that has one of the name; what SPEC says itself it may not say again. */
#ifndef GSA_RECIPE_H
#define GSA_RECIPE_H
#include "gsa/settings.h"
#include "topologies/spec.h"
#include "train/driver.h"
#include "train/settings/ini.h"
#include "train/settings/keys.h"

typedef struct gsa_recipe {
    gsa_ini ini; /* texts of the values point into it */
    gsa_recipe_values values;
} gsa_recipe;

gsa_status gsa_recipe_read(const gsa_system *system, const char *path, const char *const *overrides,
                           int n_overrides, gsa_recipe *recipe, gsa_error *error);
void gsa_recipe_release(gsa_recipe *recipe); /* a zeroed one is fine */

/* Every key with its value; reading it back gives the same values. */
void gsa_recipe_write(const gsa_recipe *recipe, gsa_output *output);
/* *is: the file there holds what that wrote of some recipe, to the byte. */
gsa_status gsa_recipe_is_written(const gsa_system *system, const char *path, int *is,
                                 gsa_error *error);

/* The first key that the two do not agree in, as "train.lr is 0.001 and 0.002"; 0: there is
 * none. */
int gsa_recipe_differs(const gsa_recipe *a, const gsa_recipe *b, char *what, size_t size);
/* Of every key with its value, but those that `except` names: each text begins with
 * "section.key=". */
void gsa_recipe_hash(const gsa_recipe *recipe, const char *const *except, int n_except,
                     char hex[65]);

/* The value of a key as gsa_recipe_write writes it, in `number` where it is one; index as in
 * gsa_recipe_keys(). */
const char *gsa_recipe_text(const gsa_recipe *recipe, int index, char *number, size_t size);
int gsa_recipe_is_default(const gsa_recipe *recipe, int index);

/* "recipe.ini:12", "--set task.k" or "recipe.ini (default of task.k)": where a value comes from;
 * snprintf-like. */
int gsa_recipe_place(const gsa_recipe *recipe, const char *section, const char *key, char *out,
                     size_t size);

/* "recipe.ini:12: [section] key " and the sentence: "= 5 is more than 4". GSA_ERR_FORMAT. */
gsa_status gsa_recipe_fail(const gsa_recipe *recipe, const char *section, const char *key,
                           gsa_error *error, const char *sentence, ...) GSA_PRINTF(5, 6);
gsa_status gsa_recipe_no_train(const gsa_recipe *recipe,
                               gsa_error *error); /* data.train is needed and not set */

/* file:line, the key, the task, and the tasks that read it: of a value other than the default that
 * the recipe's task would not look at (read_by_task is asked by gsa_recipe_read), or a plugin's
 * task, which reads the keys `own` next to those of all tasks (task.h). */
gsa_status gsa_recipe_read_by_task(const gsa_recipe *recipe, gsa_error *error);
gsa_status gsa_recipe_read_by_plugin(const gsa_recipe *recipe, const char *own, gsa_error *error);
/* "text_classification and sentence_pairs", as recipes name them; most of them: "all but
 * masked_summation", or "all". */
void gsa_tasks_text(uint32_t tasks, char *out, size_t size);

/* Refuses a value that does nothing for lack of another key's (gsa_key.with), so that nobody
 * believes in it; but where the other key is an override (--set, --each) over a recipe that is
 * there: who tries another schedule or other files need not take out of the recipe what belongs to
 * the old ones. Not asked of a recipe that names more than half of all keys, as a run's config.ini
 * does, of an earlier version too, which names those that there were. */
gsa_status gsa_recipe_idle(const gsa_recipe *recipe, gsa_error *error);

/* The highest N of the sections [encoder.N], 0: there is none. */
int gsa_recipe_sections(const gsa_recipe *recipe);

/* The name of a task that a plugin must bring; NULL: task.name is one of the table's. And the
 * sentence where none brings it. */
const char *gsa_recipe_task(const gsa_recipe *recipe);
gsa_status gsa_recipe_no_task(const gsa_recipe *recipe, gsa_error *error);

gsa_settings gsa_recipe_settings(const gsa_recipe *recipe);
int gsa_recipe_characters(
    const gsa_recipe_values *values); /* 1: a stack over characters is requested */
/* The stack that the recipe requests, its topologies and parameters checked against the registry
 * with file:line. */
gsa_status gsa_recipe_spec(const gsa_recipe *recipe, const gsa_registry *registry,
                           gsa_stack_spec *spec, gsa_error *error);
/* Of a sentence about the encoder: what it calls the encoder, and where that is there, to be put in
 * front. */
const char *gsa_recipe_encoder(const gsa_recipe *recipe);
gsa_status gsa_recipe_encoder_fail(const gsa_recipe *recipe, gsa_status status, gsa_error *error);
/* Every part makes a pattern: a wrong name or value is found here. */
gsa_status gsa_spec_try(const gsa_stack_spec *spec, const gsa_registry *registry, gsa_error *error);
/* Every pattern promises for itself that nothing of a later token reaches an earlier one; `text`
 * and `task` are for the sentence. */
gsa_status gsa_spec_causal(const gsa_stack_spec *spec, const gsa_registry *registry,
                           const char *text, const char *task, gsa_error *error);
/* Layers of a stack before one that reads a memory; -1: it reads none. */
gsa_status gsa_recipe_memory_layer(const gsa_stack_spec *spec, const gsa_registry *registry,
                                   int *layer, gsa_error *error);

#endif
