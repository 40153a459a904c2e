/* report_text.c - a report's JSON as text: one table after the other, each where its member is
 * there. */
#include <string.h>
#include "train/data/plain.h"
#include "train/score/report.h"

enum { MATRIX = 20 };

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static long long whole(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* ---- tables -------------------------------------------------------------------------------- */

static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void put_right(gsa_output *out, const char *text, int width)
{
    for (int blanks = width - width_of(text); blanks > 0; blanks--) gsa_output_text(out, " ");
    gsa_output_text(out, text);
}

/* As scikit-learn prints its dictionary. */
static void write_rates(gsa_output *out, const char *title, const json_t *report)
{
    int width = 12;
    const char *name;
    const json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)report, name, value)
        width = width_of(name) > width ? width_of(name) : width;
    gsa_output_format(out, "\n%s\n", title);
    put_right(out, "", width);
    gsa_output_text(out, "  precision    recall  f1-score   support\n");
    json_object_foreach ((json_t *)(uintptr_t)report, name, value) {
        const int plain = !json_is_object(value);
        put_right(out, name, width);
        if (plain) gsa_output_format(out, "  %9s %9s %9.4f\n", "", "", json_number_value(value));
        else
            gsa_output_format(out, "  %9.4f %9.4f %9.4f %9lld\n", number(value, "precision"),
                              number(value, "recall"), number(value, "f1-score"),
                              whole(value, "support"));
    }
}

static void write_confusion(gsa_output *out, const json_t *labels, const json_t *rows)
{
    const size_t count = json_array_size(labels);
    int width = 8;
    if (!rows || count > MATRIX) return;
    for (size_t i = 0; i < count; i++) {
        const int own = width_of(json_string_value(json_array_get(labels, i)));
        width = own > width ? own : width;
    }
    gsa_output_text(out, "\nconfusion: rows are the right labels, columns those found\n");
    put_right(out, "", width);
    for (size_t i = 0; i < count; i++) {
        gsa_output_text(out, " ");
        put_right(out, json_string_value(json_array_get(labels, i)), 8);
    }
    for (size_t g = 0; g < count; g++) {
        gsa_output_text(out, "\n");
        put_right(out, json_string_value(json_array_get(labels, g)), width);
        for (size_t f = 0; f < count; f++) {
            const int cell = width_of(json_string_value(json_array_get(labels, f)));
            gsa_output_format(
                out, " %*lld", cell > 8 ? cell : 8,
                (long long)json_integer_value(json_array_get(json_array_get(rows, g), f)));
        }
    }
    gsa_output_text(out, "\n");
}

static void write_calibration(gsa_output *out, const json_t *c)
{
    size_t i;
    const json_t *bin;
    if (!c) return;
    gsa_output_format(out, "\ncalibration: ECE %.4f, Brier %.4f, NLL %.4f\n", number(c, "ece"),
                      number(c, "brier"), number(c, "nll"));
    gsa_output_text(out, "  confidence     count      mean  accuracy\n");
    json_array_foreach (json_object_get(c, "bins"), i, bin) {
        if (whole(bin, "count") == 0) continue;
        gsa_output_format(out, "  %.1f to %.1f  %8lld  %8.4f  %8.4f\n", number(bin, "from"),
                          number(bin, "to"), whole(bin, "count"), number(bin, "confidence"),
                          number(bin, "accuracy"));
    }
}

/* ---- objects of numbers and lists of rows -------------------------------------------------- */

static void write_value(gsa_output *out, const json_t *value)
{
    size_t i;
    const json_t *one;
    if (json_is_string(value)) gsa_output_text(out, json_string_value(value));
    else if (json_is_integer(value))
        gsa_output_format(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value)) gsa_output_format(out, "%.6g", json_real_value(value));
    else if (json_is_null(value)) gsa_output_text(out, "-");
    json_array_foreach (value, i, one) {
        if (i > 0) gsa_output_text(out, " ");
        write_value(out, one);
    }
}

static int is_text(const char *name)
{
    static const char *const texts[] = { "text",   "a",         "b",          "question",
                                         "source", "reference", "translation" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i]) == 0) return 1;
    return 0;
}

/* "name value, name value, ...", and a line each for texts. */
static void write_members(gsa_output *out, const json_t *object)
{
    const char *name;
    const json_t *value;
    int count = 0;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        if (is_text(name)) continue;
        gsa_output_format(out, "%s%s ", count++ > 0 ? ", " : "", name);
        write_value(out, value);
    }
    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
        if (is_text(name)) gsa_output_format(out, "\n      %s: %s", name, json_string_value(value));
    gsa_output_text(out, "\n");
}

static void write_list(gsa_output *out, const char *title, const json_t *list)
{
    size_t i;
    const json_t *one;
    if (json_array_size(list) == 0) return;
    gsa_output_format(out, "\n%s\n", title);
    json_array_foreach (list, i, one) {
        gsa_output_format(out, "%4zu. ", i + 1);
        write_members(out, one);
    }
}

static void write_object(gsa_output *out, const char *title, const json_t *object)
{
    if (!object) return;
    gsa_output_format(out, "\n%s: ", title);
    write_members(out, object);
}

static void write_split(gsa_output *out, const char *name, const json_t *split)
{
    static const struct {
        const char *key, *title;
    } rates[] = { { "classification_report", "labels" },
                  { "entities", "entities, as seqeval reads them by default" },
                  { "entities_strict", "entities, strict" } },
      objects[] = { { "bleu", "BLEU" },
                    { "answers", "questions by their answer" },
                    { "errors", "errors" },
                    { "loss_quantiles", "quantiles of an example's mean loss" },
                    { "error_quantiles", "quantiles of the absolute error" } },
      lists[] = { { "by_frequency", "by how often the token stood in training" },
                  { "worst_tokens", "tokens that cost the most in all" },
                  { "worst_lines", "lines of five tokens or more that cost the most a token" },
                  { "worst", "the worst" } };
    gsa_output_format(out, "%s: ", name);
    write_members(out, json_object_get(split, "scores"));
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (json_object_get(split, rates[i].key))
            write_rates(out, rates[i].title, json_object_get(split, rates[i].key));
    write_confusion(out, json_object_get(split, "labels"), json_object_get(split, "confusion"));
    if (json_object_size(json_object_get(split, "top_k")) > 0)
        write_object(out, "share of targets whose label is among the k most probable",
                     json_object_get(split, "top_k"));
    write_calibration(out, json_object_get(split, "calibration"));
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        write_object(out, objects[i].title, json_object_get(split, objects[i].key));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        write_list(out, lists[i].title, json_object_get(split, lists[i].key));
}

void gsa_report_write(const json_t *report, gsa_output *output)
{
    const gsa_plain plain = gsa_plain_begin();
    const char *name;
    const json_t *split;
    int count = 0;
    json_object_foreach (json_object_get(report, "splits"), name, split) {
        if (count++ > 0) gsa_output_text(output, "\n");
        write_split(output, name, split);
    }
    gsa_plain_end(plain);
}
