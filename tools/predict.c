/* gsa predict - one input line, one output line, order kept. */
#include "apply.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_apply_options options;
    gsa_reporter reporter;
    const gsa_status status = gsa_apply_options_read(args, "predict", &reporter, &options, error);
    options.tokenize = gsa_args_text(args, "tokenize");
    return status == GSA_OK ? gsa_predict(gsa_args_system(args), &options, error) : status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_MODEL,
    { "input", GSA_OPTION_TEXT, "FILE", "-", NULL, 0, 0, "lines to predict; - is standard input" },
    { "output", GSA_OPTION_TEXT, "FILE", "-", NULL, 0, 0, "where the predictions go; - is standard output" },
    { "tokenize", GSA_OPTION_CHOICE, "words|chars|punctuated", NULL, "columns, as in training", 0, 0,
      "tagging: a line is a sentence of running text, cut into tokens; punctuated cuts off every mark" },
    GSA_OPTION_ROW_SET,
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
    GSA_OPTION_ROW_QUIET,
};
const gsa_verb gsa_verb_predict = {
    .name = "predict",
    .summary = "predict with a trained model, one output line for each input line",
    .operands = "",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "Classification writes the label, a tab and its probability; masked summation the "
             "numbers of the sum. Sentence pairs "
             "are read as two columns with a tab between, nodes as the file of the whole graph. "
             "Tagging reads columns as in training, or a token a line; it writes the lines with "
             "the tag as a last column. With --tokenize it reads a sentence a line and writes a token, a tab and its tag "
             "a line, and an empty line behind each sentence. "
             "Span extraction reads the JSON of SQuAD and writes one object, {\"id\": \"answer\", ...}.\n"
             "Translation writes the sentence that its beam search finds (decode.beam, decode.alpha); "
             "of a model with data.documents = 1 empty lines part documents and stay empty.",
    .run = run
};
