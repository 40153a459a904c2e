/* gsa attend - the attention weights of trained models on texts, as a graph. */
#include <stdio.h>
#include <string.h>
#include "tools/command/apply.h"
#include "graph/write.h"

static gsa_status read_format(const gsa_args *args, int32_t *format, gsa_error *error)
{
    int found = GSA_FORMAT_GRAPHML;
    gsa_status status = GSA_OK;
    char path[16];
    const char *asked = gsa_args_text(args, "format"), *out = gsa_args_text(args, "out");
    snprintf(path, sizeof path, "x.%s", asked);
    if (strcmp(asked, "auto") != 0) status = gsa_format_of(path, &found, error);
    else if (strcmp(out, "-") != 0) status = gsa_format_of(out, &found, error);
    *format = found;
    return status;
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_apply_options apply;
    gsa_reporter reporter;
    gsa_attend_options attend = { .layer = (int32_t)gsa_args_number(args, "layer", -1),
                                  .most_edges = gsa_args_number(args, "max-edges", 0) };
    attend.texts = gsa_args_texts(args, "text", &attend.n_texts);
    attend.examples = gsa_args_numbers(args, "example", &attend.n_examples);
    attend.beside = gsa_args_texts(args, "beside", &attend.n_beside);
    gsa_status status = gsa_apply_options_read(args, "attend", &reporter, &apply, error);
    if (status != GSA_OK) return status;
    for (int i = 0; i < attend.n_beside; i++) {
        apply.untrusted |= gsa_is_others(attend.beside[i]);
        if (!gsa_note_run(args, attend.beside[i]))
            return gsa_out_of_memory(error, "the files that a recipe names", GSA_PATH_ROOM);
    }
    if (!attend.n_texts == !attend.n_examples)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa attend' needs either --text T or --example N");
    apply.output = gsa_args_text(args, "out");
    status = read_format(args, &attend.format, error);
    return status == GSA_OK ? gsa_attend(gsa_args_system(args), &apply, &attend, error) : status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_MODEL,
    GSA_OPTION_ROW_UNTRUSTED("of a folder that another user owns"),
    { "text", GSA_OPTION_TEXTS, "T", NULL, NULL, 0, 0,
      "a text in UTF-8, cut into tokens as the model's recipe says; repeatable, and of sentence "
      "pairs twice each" },
    { "example", GSA_OPTION_NUMBERS, "N,N,...", NULL, NULL, 0, INT64_MAX,
      "instead of a text: examples, from 0, of the test data" },
    { "beside", GSA_OPTION_TEXTS, "DIR", NULL, NULL, 0, 0,
      "another model on the same texts, to look at side by side; repeatable" },
    { "layer", GSA_OPTION_NUMBER, "N", NULL, "all layers", 0, INT32_MAX, "one layer, from 0" },
    { "out", GSA_OPTION_OUTPUT, "FILE", "-", NULL, 0, 0,
      "where the graph goes: .graphml, .dot, .mtx, .html (a page to look at), .json or .csv "
      "(numbers of each head); - is standard output" },
    { "format", GSA_OPTION_CHOICE, "auto|graphml|dot|mtx|html|json|csv", "auto", NULL, 0, 0,
      "auto: by the ending of --out, graphml for -" },
    { "max-edges", GSA_OPTION_NUMBER, "N", "20000000", NULL, 1, INT64_C(1) << 40,
      "refuse a larger graph" },
    GSA_OPTION_ROW_SET,
    GSA_OPTION_ROW_PLUGIN,
    GSA_OPTION_ROW_OTHER_PLUGIN,
    GSA_OPTION_ROW_DEVICE,
    GSA_OPTION_ROW_THREADS,
    GSA_OPTION_ROW_QUIET,
};
const gsa_verb gsa_verb_attend = {
    .name = "attend",
    .summary = "write a trained model's attention weights on texts as a page, a graph or numbers",
    .operands = "",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "Every edge carries its weight in each head (w0, w1, ...) and their mean (weight): "
             "the softmax\n"
             "over the edges that enter a node in one phase of one layer, so that they sum to 1 "
             "there. Sums and\n"
             "means weigh 1 and 1/degree. On stderr the strongest edges of the last layer. --set "
             "reaches keys\n"
             "that do not change the model: data.test.",
    .run = run
};
