/* gsa average - the mean of a run's last checkpoints (train/use/checkpoint_mean.h). */
#include <stdio.h>
#include "train/use/checkpoint_mean.h"
#include "tools/command/verbs.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    char line[160];
    int64_t first, newest;
    const gsa_checkpoint_mean_options options = { .run = gsa_args_operand(args, 0),
                                                  .out = gsa_args_text(args, "out"),
                                                  .last = gsa_args_number(args, "last", 5) };
    if (!options.out)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "gsa average needs a folder to write to: --out DIR");
    gsa_status status = gsa_check_replaced(options.out, 1, error);
    if (status == GSA_OK && !gsa_note_run(args, options.run))
        status = gsa_out_of_memory(error, "the files that a recipe names", GSA_PATH_ROOM);
    if (status == GSA_OK)
        status = gsa_checkpoint_mean(gsa_args_system(args), &options, &first, &newest, error);
    gsa_let_signals_come();
    if (status != GSA_OK) return status;
    snprintf(line, sizeof line,
             "{\"checkpoints\": %lld, \"first_step\": %lld, \"last_step\": %lld}",
             (long long)options.last, (long long)first, (long long)newest);
    return gsa_print_line(gsa_args_system(args), line, error);
}

static const gsa_option options[] = {
    { "out", GSA_OPTION_OUTPUT, "DIR", NULL, NULL, 0, 0,
      "folder that receives the model; it holds no run (needed)" },
    { "last", GSA_OPTION_NUMBER, "N", "5", NULL, 1, 1000000, "checkpoints, the newest ones" },
};
const gsa_verb gsa_verb_average = {
    .name = "average",
    .summary = "make a model of the mean of a run's last checkpoints",
    .operands = "RUN",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "How many a run keeps, and how often it makes one, is said by train.keep and "
             "train.checkpoint_every. Each "
             "counts with the "
             "weights that training had then. DIR serves gsa eval, predict and attend; it does not "
             "go on (--resume).\n"
             "The line on stdout is one JSON object: checkpoints, first_step, last_step.",
    .run = run
};
