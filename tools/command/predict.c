/* gsa predict - one input line, one output line, order kept. */
#include <string.h>
#include "tools/command/apply.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_apply_options options;
    gsa_reporter reporter;
    const char *texts[2];
    gsa_status status = gsa_apply_options_read(args, "predict", &reporter, &options, error);
    options.tokenize = gsa_args_text(args, "tokenize");
    options.stream = gsa_args_flag(args, "stream");
    options.top_k = (int32_t)gsa_args_number(args, "top-k", 0);
    options.all_labels = strcmp(gsa_args_text(args, "proba"), "all") == 0;
    options.texts = texts, options.n_texts = gsa_args_operands(args);
    for (int i = 0; i < options.n_texts; i++) texts[i] = gsa_args_operand(args, i);
    if (status == GSA_OK && options.n_texts > 0 && gsa_args_given(args, "input"))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a text and --input %s: one of them",
                        options.input);
    return status == GSA_OK ? gsa_predict(gsa_args_system(args), &options, error) : status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_MODEL,
    GSA_OPTION_ROW_UNTRUSTED("of a folder that another user owns"),
    { "input", GSA_OPTION_TEXT, "FILE", "-", NULL, 0, 0, "lines to predict; - is standard input" },
    { "output", GSA_OPTION_OUTPUT, "FILE", "-", NULL, 0, 0,
      "where the predictions go; - is standard output" },
    { "tokenize", GSA_OPTION_CHOICE, "words|chars|punctuated", NULL, "columns, as in training", 0,
      0,
      "tagging: a line is a sentence of running text, cut into tokens; punctuated cuts off every "
      "mark" },
    { "top-k", GSA_OPTION_NUMBER, "K", NULL, "the best alone", 1, INT32_MAX,
      "texts, pairs, nodes: the K most probable labels of each line with their probabilities, best "
      "first" },
    { "proba", GSA_OPTION_CHOICE, "best|all", "best", NULL, 0, 0,
      "texts, pairs, nodes: all writes every label of each line with 12 digits, in the order of "
      "labels.txt" },
    { "stream", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,
      "answer each line as it comes; one that cannot be read is answered by '!', a tab and why, "
      "and the next is read" },
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
    .shared = 1,
    .operands = "[TEXT [TEXT]]",
    .most = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "A TEXT is predicted in place of lines; sentence pairs take two. A line that cannot be "
        "read, an empty one too, is named, and nothing is written; --stream answers the others.\n"
        "Classification writes the label, a tab and its probability; masked summation the "
        "numbers of the sum. Sentence pairs "
        "are read as two columns with a tab between, nodes as the file of the whole graph. "
        "Tagging reads columns as in training, or a token a line; it writes the lines with "
        "the tag as a last column. With --tokenize it reads a sentence a line and writes a token, "
        "a tab and its tag "
        "a line, and an empty line after each sentence. "
        "Span extraction reads the JSON of SQuAD and writes one object, {\"id\": \"answer\", "
        "...}.\n"
        "Translation writes the sentence that its beam search finds (decode.beam, decode.alpha); "
        "of a model with data.documents = 1 empty lines part documents and stay empty.",
    .run = run
};
