/* gsa eval - the metrics of a trained model on its dev and test data. */
#include "tools/command/apply.h"
#include "tools/command/ranks.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_apply_options options;
    gsa_reporter reporter;
    char *result = NULL;
    gsa_status status = gsa_apply_options_read(args, "eval", &reporter, &options, error);
    options.outcomes = gsa_args_text(args, "outcomes"),
    options.report = gsa_args_text(args, "report");
    options.json = gsa_args_text(args, "json");
    gsa_remake(options.outcomes, "outcomes.jsonl");
    gsa_remake(options.json, "report.json");
    if (status == GSA_OK) status = gsa_evaluate(gsa_args_system(args), &options, &result, error);
    if (status == GSA_OK && gsa_group_rank(gsa_ranks()) == 0)
        status = gsa_print_line(gsa_args_system(args), result, error);
    gsa_release(gsa_args_system(args), result);
    return status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_MODEL,
    GSA_OPTION_ROW_UNTRUSTED(NULL),
    GSA_OPTION_ROW_SET,
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
    { "outcomes", GSA_OPTION_OUTPUT, "FILE", NULL, "not kept", 0, 0,
      "receives what was found of each example, for gsa compare" },
    { "report", GSA_OPTION_OUTPUT, "FILE", NULL, "not written", 0, 0,
      "receives for people what the metric is made of: rates of each label, confusion, "
      "calibration, the worst errors" },
    { "json", GSA_OPTION_OUTPUT, "FILE", NULL, "not written", 0, 0,
      "receives the same report as one JSON document" },
    GSA_OPTION_ROW_QUIET
};
const gsa_verb gsa_verb_eval = { .name = "eval",
                                 .summary = "measure a trained model on its dev and test data",
                                 .operands = "",
                                 .shared = 1,
                                 .options = options,
                                 .n_options = sizeof options / sizeof *options,
                                 .notes =
                                     "--set reaches [data] and [train] keys that do not change the "
                                     "model: another test file, a batch size.\n"
                                     "The last line on stdout is one JSON object, as of gsa train.",
                                 .run = run };
