#include "tools/command/apply.h"
#include <string.h>
#include "tools/command/ranks.h"

/* What a model names is read by gsa eval, also of a stranger's. */
static int reads_regular(const char *folder)
{
    if (gsa_is_others(folder)) gsa_read_regular();
    return 0;
}

gsa_status gsa_apply_options_read(const gsa_args *args, const char *verb, gsa_reporter *reporter,
                                  gsa_apply_options *options, gsa_error *error)
{
    *reporter =
        gsa_reporter_new(gsa_group_rank(gsa_ranks()) > 0 ? 2 : gsa_args_flag(args, "quiet") != 0);
    *options = (gsa_apply_options){ .model = gsa_args_text(args, "model"),
                                    .device = gsa_args_text(args, "device"),
                                    .build = gsa_build(),
                                    .threads = (int)gsa_args_number(args, "threads", 0),
                                    .input = gsa_args_text(args, "input"),
                                    .output = gsa_args_text(args, "output"),
                                    .untrusted = gsa_args_flag(args, "untrusted"),
                                    .allow_nonfinite = gsa_args_flag(args, "allow-nonfinite"),
                                    .progress = gsa_report,
                                    .context = reporter,
                                    .group = gsa_ranks() };
    options->overrides = gsa_args_texts(args, "set", &options->n_overrides);
    options->plugins = gsa_args_texts(args, "plugin", &options->n_plugins);
    options->policy = gsa_read_plugin_policy(args);
    options->distrusts = strcmp(verb, "eval") == 0 ? reads_regular : gsa_is_others;
    if (options->model)
        return gsa_note_run(args, options->model)
                   ? GSA_OK
                   : gsa_out_of_memory(error, "the files that a recipe names", GSA_PATH_ROOM);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'gsa %s' needs --model DIR, the folder of a run or of one checkpoint: no gsa "
                    "train FILE was called in this folder",
                    verb);
}
