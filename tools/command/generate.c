/* gsa generate - a trained language model goes on with texts. */
#include "train/decode/generate.h"
#include "tools/command/apply.h"
#include "topologies/param.h"

static const gsa_param reals[] = {
    { "--temperature", GSA_REAL, 0, 0, 1e6, NULL, "1", "" },
    { "--top-p", GSA_REAL, 0, 1e-9, 1, NULL, "1", "" },
};

static gsa_status read_real(const gsa_args *args, const char *name, const gsa_param *real,
                            double *number, gsa_error *error)
{
    gsa_value value;
    const gsa_status status = gsa_param_parse(real, gsa_args_text(args, name), &value, error);
    if (status == GSA_OK) *number = value.x;
    return status;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_apply_options apply;
    gsa_reporter reporter;
    gsa_generate_options how = { .prompt = gsa_args_text(args, "prompt"),
                                 .tokens = gsa_args_number(args, "tokens", 1),
                                 .count = (int32_t)gsa_args_number(args, "count", 1),
                                 .seed = (uint32_t)gsa_args_number(args, "seed", 1),
                                 .sampling = { .top_k =
                                                   (int32_t)gsa_args_number(args, "top-k", 0) },
                                 .raw = gsa_args_flag(args, "raw"),
                                 .echo = gsa_args_flag(args, "echo"),
                                 .line = gsa_args_flag(args, "line") };
    if (how.prompt && gsa_args_given(args, "input"))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--prompt and --input both say the prompts: give one of them");
    if (gsa_args_flag(args, "greedy") && gsa_args_given(args, "temperature"))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "--greedy and --temperature both say how tokens are drawn: give one of them");
    gsa_status status = gsa_apply_options_read(args, "generate", &reporter, &apply, error);
    if (status == GSA_OK)
        status = read_real(args, "temperature", &reals[0], &how.sampling.temperature, error);
    if (status == GSA_OK) status = read_real(args, "top-p", &reals[1], &how.sampling.top_p, error);
    if (status != GSA_OK) return status;
    if (gsa_args_flag(args, "greedy")) how.sampling.temperature = 0;
    return gsa_generate(gsa_args_system(args), &apply, &how, error);
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_MODEL,
    GSA_OPTION_ROW_UNTRUSTED("of a folder that another user owns"),
    { "prompt", GSA_OPTION_TEXT, "TEXT", NULL, "each line of --input", 0, 0,
      "what the text begins with; may be empty" },
    { "input", GSA_OPTION_TEXT, "FILE", "-", NULL, 0, 0,
      "prompts, one a line; - is standard input" },
    { "output", GSA_OPTION_OUTPUT, "FILE", "-", NULL, 0, 0,
      "where the texts go; - is standard output" },
    { "tokens", GSA_OPTION_NUMBER, "N", "200", NULL, 1, INT32_MAX,
      "tokens that are drawn for a text" },
    { "count", GSA_OPTION_NUMBER, "N", "1", NULL, 1, 65536, "texts of each prompt" },
    { "temperature", GSA_OPTION_TEXT, "T", "1", NULL, 0, 0,
      "scores are divided by it; 0 is --greedy" },
    { "top-k", GSA_OPTION_NUMBER, "K", "0", NULL, 0, INT32_MAX,
      "draw from the K likeliest tokens; 0: from all" },
    { "top-p", GSA_OPTION_TEXT, "P", "1", NULL, 0, 0,
      "then from the fewest whose probabilities add up to P, above 0 and at most 1" },
    { "greedy", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "always the likeliest token" },
    { "seed", GSA_OPTION_NUMBER, "N", "1", NULL, 0, 4294967295, "of what is drawn" },
    { "line", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "end a text at a line end" },
    { "echo", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "write the prompt before its text" },
    { "raw", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,
      "write bytes as they are drawn, UTF-8 or not, and no line end after a text" },
    GSA_OPTION_ROW_SET,
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
    GSA_OPTION_ROW_QUIET,
};
const gsa_verb gsa_verb_generate = {
    .name = "generate",
    .summary = "go on with a text, token by token",
    .shared = 1,
    .operands = "",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "For models of language_modelling whose patterns are causal and prefix-stable (gsa "
        "topology check).\n"
        "A token costs the rows that it makes, not the whole text. Texts are written one below the "
        "other; the first one of a "
        "prompt is written as its tokens come. Bytes that are no UTF-8 are written as U+FFFD.\n"
        "The same seed, model, options and device: the same texts. The unknown word is never "
        "drawn.",
    .run = run
};
