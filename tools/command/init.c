/* gsa init - looks at a file of data and writes a recipe for it; what it does is
 * gsa_own_recipe's. */
#include "tools/command/own.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    const char *task = gsa_args_text(args, "task"), *out = gsa_args_text(args, "out");
    const int named =
        gsa_own_is_task(gsa_args_operand(args, 0)) &&
        system->kind(system->user, gsa_args_operand(args, 0), NULL) == GSA_FILE_ABSENT;
    if (named && task)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "the task is named twice: %s and --task %s",
                        gsa_args_operand(args, 0), task);
    if (named) task = gsa_args_operand(args, 0);
    if (gsa_args_operands(args) == named || gsa_args_operands(args) > named + 3)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa init' needs a FILE, or three: training, development and test data");
    return gsa_own_recipe(args, task, named, gsa_args_flag(args, "quiet"), out, error);
}

static const gsa_option options[] = {
    { "out", GSA_OPTION_OUTPUT, "FILE", "-", NULL, 0, 0,
      "where the recipe goes: a new file, or - for standard output" },
    GSA_OPTION_ROW_OWN("told by the file"),
    { "quiet", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "do not say what was seen" },
};
const gsa_verb gsa_verb_init = {
    .name = "init",
    .summary = "look at a file of data and write a recipe for it",
    .operands = "[TASK] FILE...",
    .least = 1,
    .most = 4,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "FILE is training data; a second one is development data, a third one test data. "
             "Two files PATH.en and PATH.de of running "
             "text are parallel text. Without a second file some of the first are held out.\n"
             "What was seen and decided goes to stderr; settings come from the size of the "
             "data. gsa train FILE does this and trains.",
    .run = run
};
