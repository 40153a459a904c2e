/* look.h - what a file of examples is, and settings that suit it: the first half of `gsa init` and
 * `gsa train FILE`.
 *
 * Law.  Nothing is printed. What was seen and decided are sentences; the settings are texts by
 *     name, which a template of a recipe names in braces. The readers of train/data read the whole
 *     file, so whatever they refuse is refused here, with file and line. */
#ifndef GSA_LOOK_H
#define GSA_LOOK_H
#include "graph/system.h"

enum { GSA_LOOK_FILES = 3, GSA_LOOK_TEXT = 1100, GSA_LOOK_VALUES = 40, GSA_LOOK_SAYS = 10 };

typedef struct gsa_look_options {
    const char *file[GSA_LOOK_FILES]; /* training data, then development and test data; or parallel
                                         text: PATH.en and PATH.de */
    int32_t files;
    int32_t task;        /* gsa_task_name; -1: told by the file */
    int32_t format;      /* gsa_data_format; GSA_TEXT_AUTO: told by the file */
    const char *columns; /* as data.columns; tagging: word, tag and -; "": told by the file */
} gsa_look_options;

typedef struct gsa_look_value {
    const char *name;
    char text[GSA_LOOK_TEXT];
} gsa_look_value;

typedef struct gsa_look {
    const char *kind; /* the template: "texts", "characters", "phrases", "pairs", "tags",
                         "language", "translation" */
    gsa_look_value value[GSA_LOOK_VALUES];
    int32_t values, says;
    char say[GSA_LOOK_SAYS][GSA_LOOK_TEXT]; /* a sentence each, without line end */
} gsa_look;

/* *look is released with gsa_release. */
gsa_status gsa_look_at(const gsa_system *system, const gsa_look_options *options, gsa_look **look,
                       gsa_error *error);

/* Is this text a recipe: a line in brackets before any other but comments and blank ones? */
int gsa_look_is_recipe(const char *bytes, int64_t count);

#endif
