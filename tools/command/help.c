/* gsa help - this program's texts: for people, for man, for bash, for the documentation. */
#include "tools/command/verbs.h"

static gsa_status write_asked(const gsa_args *args, const gsa_verb *verb, gsa_output *out)
{
    if (gsa_args_flag(args, "man")) gsa_write_man(out);
    else if (gsa_args_flag(args, "completion")) gsa_write_completion(out);
    else if (gsa_args_flag(args, "recipe-keys")) gsa_write_recipe_keys_page(out);
    else if (verb) gsa_write_help(out, verb);
    else gsa_write_usage(out);
    return GSA_OK;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    const gsa_verb *verb = NULL;
    gsa_output *out;
    if (gsa_args_operands(args)) {
        verb = gsa_verb_find(gsa_args_operand(args, 0), error);
        if (!verb) return GSA_ERR_ARGUMENT;
    }
    gsa_status status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status != GSA_OK) return status;
    status = write_asked(args, verb, out);
    if (status == GSA_OK) return gsa_output_commit(out, error);
    gsa_output_abandon(out);
    return status;
}

static const gsa_option options[] = {
    { "man", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "the manual page gsa(1), in roff" },
    { "completion", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "completion for bash" },
    { "recipe-keys", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "every recipe key, in Markdown" },
};
const gsa_verb gsa_verb_help = { .name = "help",
                                 .summary = "show how a verb is used",
                                 .operands = "[VERB]",
                                 .most = 1,
                                 .options = options,
                                 .n_options = sizeof options / sizeof *options,
                                 .notes = "",
                                 .run = run };
