/* own.h - a recipe for a file of one's own: what gsa init writes and gsa train FILE trains. */
#ifndef GSA_OWN_H
#define GSA_OWN_H
#include "tools/command/topology.h"
#include "tools/command/verbs.h"
#include "train/driver/lock.h"

/* Templates by the names of their files, texts.ini and so on; made by embed.cmake of
 * train/recipes/own. */
extern const gsa_template_file gsa_own[];
extern const int gsa_own_files;

#define GSA_OPTION_ROW_OWN(absent)                                                                 \
    { "task",                                                                                      \
      GSA_OPTION_CHOICE,                                                                           \
      "text_classification|sentence_pairs|tagging|language_modelling|translation",                 \
      NULL,                                                                                        \
      absent,                                                                                      \
      0,                                                                                           \
      0,                                                                                           \
      "of a data file: what is learned from it" },                                                 \
        { "format",                                                                                \
          GSA_OPTION_CHOICE,                                                                       \
          "tsv|csv|json|snli|fasttext|stsa|sst|conll|conllu|chars",                                \
          NULL,                                                                                    \
          absent,                                                                                  \
          0,                                                                                       \
          0,                                                                                       \
          "of a data file: how it is written (data.format)" },                                     \
    {                                                                                              \
        "columns", GSA_OPTION_TEXT, "LIST", NULL, absent, 0, 0,                                    \
            "of a data file: which column is which (data.columns), as label,-,text or "            \
            "label=class,text=body; tagging: word,-,tag"                                           \
    }

/* The name of a task, so that `gsa init TASK FILE` is told from `gsa init FILE`. */
int gsa_own_is_task(const char *word);
/* Looks at files first.. of the operands, says what was seen (one line each) unless quiet, and
 * writes the recipe to `path`. task: of --task, or NULL. */
gsa_status gsa_own_recipe(const gsa_args *args, const char *task, int first, int quiet,
                          const char *path, gsa_error *error);

/* ---- gsa train FILE: its run is runs/NAME, and runs/last holds that NAME, for verbs without
 * --model ---- */
/* 1: the operand is a file of data and no recipe. */
gsa_status gsa_own_is_data(const gsa_system *system, const char *operand, int *data,
                           gsa_error *error);
typedef struct gsa_own_run {
    char folder[GSA_PATH_ROOM], recipe[GSA_PATH_ROOM + 16];
    char *written; /* the recipe's text */
    int made;      /* the folder was not there before */
    gsa_lock lock;
    gsa_anchor *runs; /* the folder of runs/last; NULL: the run is elsewhere */
} gsa_own_run;

/* A new folder for the run, whose lock is held from now on, and the recipe in it. `run` is zeroed,
 * and released in any case. */
gsa_status gsa_own_begin(const gsa_args *args, int quiet, gsa_own_run *run, gsa_error *error);
/* Of a run that failed: takes the recipe, as it was written, and the folder that was made, back
 * where nothing else is in it. The lock is released. */
void gsa_own_undo(const gsa_system *system, gsa_own_run *run);
/* The same of the run that began and is not released, if there is one: the process ends at once. */
void gsa_own_give_up(void);
gsa_status gsa_own_end(const gsa_system *system, const gsa_own_run *run, gsa_error *error);
void gsa_own_release(const gsa_system *system, gsa_own_run *run);
/* --model of a verb that has it and was not given any: the run that runs/last names, if there is
 * one. `folder` must outlive args. */
gsa_status gsa_own_add_last(gsa_args *args, const gsa_verb *verb, char folder[GSA_PATH_ROOM],
                            gsa_error *error);

#endif
