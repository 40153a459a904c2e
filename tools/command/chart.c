/* gsa chart - results and measurements as a picture of lines. */
#include "tools/command/chart.h"
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "topologies/words.h"
#include "tools/command/verbs.h"

enum { FILES = 64, LABEL = 160 };

static int base_of(const gsa_args *args, const char *option)
{
    const char *text = gsa_args_text(args, option);
    return !text ? 0 : strcmp(text, "2") == 0 ? 2 : 10;
}

static int is_bytes(const char *key, size_t length)
{
    return length >= 5 && strcmp(key + length - 5, "bytes") == 0;
}

/* "forward.median_ms" is "forward median (ms)", "peak_rss_bytes" "peak rss", whose ticks name their
 * unit. */
static void label_of(const char *key, size_t length, char label[LABEL])
{
    static const char *const said[][2] = { { "tokens_per_second", "tokens a second" },
                                           { "edges_per_token", "edges a token" },
                                           { "rows_per_token", "rows a token" },
                                           { "data.window", "length in tokens" },
                                           { "in_degree", "edges into a token" },
                                           { "dev_bpc", "bits a character, dev" },
                                           { "test_bpc", "bits a character, test" },
                                           { "peak_rss_bytes", "peak memory of the process" },
                                           { "seconds", "seconds" } };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strlen(said[i][0]) == length && memcmp(key, said[i][0], length) == 0) {
            snprintf(label, LABEL, "%s", said[i][1]);
            return;
        }
    const int cut = is_bytes(key, length) && length > 6                  ? 6
                    : length > 3 && strcmp(key + length - 3, "_ms") == 0 ? 3
                                                                         : 0;
    snprintf(label, LABEL, "%.*s%s", (int)(length < 120 ? length - (size_t)cut : 120), key,
             cut == 3 ? " (ms)" : "");
    for (char *at = label; *at; at++)
        if (*at == '_' || *at == '.') *at = ' ';
}

static gsa_status check_text(const char *option, const char *text, gsa_error *error)
{
    char shown[GSA_SHOWN];
    if (!text || gsa_utf8_invalid(text, (int64_t)strlen(text)) < 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "--%s %s: expected UTF-8", option,
                    gsa_word_show(text, shown));
}

static gsa_status check(const gsa_args *args, const gsa_chart_source *source, gsa_error *error)
{
    static const char *const texts[] = { "title", "x-label", "y-label" };
    if (!source->x || source->n_y == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'gsa chart' needs --x KEY and --y KEY, such as --x data.window --y "
                        "tokens_per_second");
    if (!gsa_args_given(args, "out"))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa chart' needs --out FILE.svg");
    gsa_status status = gsa_args_svg(args, "out", error);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == GSA_OK; i++)
        status = check_text(texts[i], gsa_args_text(args, texts[i]), error);
    return status;
}

static gsa_status draw(const gsa_args *args, const gsa_chart_source *source, const gsa_chart *chart,
                       gsa_error *error)
{
    char x_label[LABEL], y_label[LABEL];
    const size_t x_bytes = strlen(source->x), y_bytes = strcspn(source->y[0], "=");
    const char *title = gsa_args_text(args, "title"), *x = gsa_args_text(args, "x-label"),
               *y = gsa_args_text(args, "y-label");
    label_of(source->x, x_bytes, x_label);
    label_of(source->y[0], y_bytes, y_label);
    const gsa_chart_look look = { .title = title ? title : "",
                                  .x_label = x ? x : x_label,
                                  .y_label = y ? y : y_label,
                                  .log_x = source->log_x,
                                  .log_y = source->log_y,
                                  .zero = gsa_args_flag(args, "zero"),
                                  .bytes_x = is_bytes(source->x, x_bytes),
                                  .bytes_y = is_bytes(source->y[0], y_bytes) };
    if (chart->skipped > 0)
        fprintf(stderr, "%d case%s left out, skipped when measured\n", chart->skipped,
                chart->skipped > 1 ? "s" : "");
    gsa_output *out;
    const gsa_status status =
        gsa_output_open(chart->system, gsa_args_text(args, "out"), &out, error);
    if (status != GSA_OK) return status;
    gsa_chart_write(chart, &look, out);
    return gsa_output_commit(out, error);
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    const char *files[FILES];
    gsa_chart chart;
    gsa_chart_source source = { .x = gsa_args_text(args, "x"),
                                .series = gsa_args_text(args, "series"),
                                .log_x = base_of(args, "log-x"),
                                .log_y = base_of(args, "log-y"),
                                .n_files = gsa_args_operands(args) };
    source.y = gsa_args_texts(args, "y", &source.n_y);
    source.where = gsa_args_texts(args, "where", &source.n_where);
    for (int i = 0; i < source.n_files; i++) files[i] = gsa_args_operand(args, i);
    gsa_status status = check(args, &source, error);
    if (status == GSA_OK)
        status = gsa_chart_read(gsa_args_system(args), &source, files, &chart, error);
    if (status != GSA_OK) return status;
    status = draw(args, &source, &chart, error);
    gsa_chart_release(&chart);
    return status;
}

static const gsa_option options[] = {
    { "out", GSA_OPTION_OUTPUT, "FILE.svg", NULL, NULL, 0, 0, "the picture; - is standard output" },
    { "x", GSA_OPTION_TEXT, "KEY", NULL, NULL, 0, 0,
      "across: a number, or words, which are put side by side" },
    { "y", GSA_OPTION_TEXTS, "KEY[=NAME]", NULL, NULL, 0, 0,
      "upwards: a number; repeatable, each has a line of its own, called NAME" },
    { "series", GSA_OPTION_TEXT, "KEY", NULL, "one line a file", 0, 0,
      "a line for each value; topology: the first word of the encoder" },
    { "where", GSA_OPTION_TEXTS, "KEY=VALUE", NULL, "all records", 0, 0,
      "draw records of this value alone; repeatable" },
    { "log-x", GSA_OPTION_CHOICE, "2|10", NULL, "linear", 0, 0,
      "logarithmic, with powers of 2 or 10 as ticks" },
    { "log-y", GSA_OPTION_CHOICE, "2|10", NULL, "linear", 0, 0, "likewise" },
    { "zero", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "the linear y axis begins at 0" },
    { "title", GSA_OPTION_TEXT, "TEXT", NULL, "none", 0, 0, "above the drawing" },
    { "x-label", GSA_OPTION_TEXT, "TEXT", NULL, "made of the key", 0, 0, "with the unit" },
    { "y-label", GSA_OPTION_TEXT, "TEXT", NULL, "made of the key", 0, 0, "with the unit" },
};
const gsa_verb gsa_verb_chart = { .name = "chart",
                                  .summary = "draw results or measurements as lines, in SVG",
                                  .operands = "FILE.json|FILE.jsonl...",
                                  .least = 1,
                                  .most = FILES,
                                  .options = options,
                                  .n_options = sizeof options / sizeof *options,
                                  .notes =
                                      "Reads what gsa bench --json writes (a record for each case) "
                                      "and lines of JSON, as gsa train --results and "
                                      "log.jsonl "
                                      "have them. A key is one of the record, or of what --each "
                                      "varied (data.window), or with dots one further inside "
                                      "(forward.median_ms). Records of one line with the same x, "
                                      "such as several seeds, are one point: their mean, with a "
                                      "bar from the smallest to the largest. Keys that end in "
                                      "`bytes` are drawn in KiB, MiB, GiB.",
                                  .run = run };
