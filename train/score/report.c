#include "train/score/report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/utf8.h"
#include "train/driver/log.h"

enum { TEXT = 1000 };

/* ---- texts --------------------------------------------------------------------------------- */

typedef struct shown {
    char text[3 * TEXT + 16];
    int64_t used, taken;
    int cut;
} shown;

static void put(shown *s, const char *at, int64_t bytes)
{
    static const char unknown[] = "\xef\xbf\xbd";
    for (int64_t i = 0, length; i < bytes && !s->cut; i += length) {
        const int64_t left = bytes - i < 4 ? bytes - i : 4, bad = gsa_utf8_invalid(at + i, left);
        const int whole = bad != 0 && at[i] != 0;
        length = whole ? gsa_utf8_length(at + i) : 1;
        s->cut = s->taken + length > TEXT;
        if (s->cut) break;
        memcpy(s->text + s->used, whole ? at + i : unknown, whole ? (size_t)length : 3);
        s->used += whole ? length : 3, s->taken += length;
    }
}

static json_t *end(shown *s)
{
    if (s->cut) memcpy(s->text + s->used, "...", 3), s->used += 3;
    return json_stringn(s->text, (size_t)s->used);
}

json_t *gsa_json_slice(gsa_slice text)
{
    shown s = { .used = 0 };
    put(&s, text.at, text.bytes);
    return end(&s);
}

json_t *gsa_json_name(const char *text)
{
    json_t *name = json_string(text);
    return name ? name : gsa_json_slice((gsa_slice){ text, (int64_t)strlen(text) });
}

json_t *gsa_json_words(const gsa_slice *word, int64_t count)
{
    shown s = { .used = 0 };
    for (int64_t i = 0; i < count && !s.cut; i++) {
        if (i > 0) put(&s, " ", 1);
        put(&s, word[i].at, word[i].bytes);
    }
    return end(&s);
}

/* ---- precision, recall, F1 ----------------------------------------------------------------- */

typedef struct counts {
    int64_t right, found, gold;
} counts;

typedef struct rates {
    double precision, recall, f1;
    int64_t support;
} rates;

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static rates rates_of(const counts *c)
{
    return (rates){ share((double)c->right, (double)c->found),
                    share((double)c->right, (double)c->gold),
                    share(2 * (double)c->right, (double)(c->found + c->gold)), c->gold };
}

static json_t *rates_json(rates r)
{
    return json_pack("{s:f, s:f, s:f, s:I}", "precision", r.precision, "recall", r.recall,
                     "f1-score", r.f1, "support", (json_int_t)r.support);
}

/* Of the names that occur: the mean of their rates, plain or by support. */
static rates mean_of(const counts *each, int64_t names, int weighted)
{
    rates sum = { 0 };
    double weights = 0;
    for (int64_t i = 0; i < names; i++) {
        const rates r = rates_of(&each[i]);
        const double weight = weighted ? (double)r.support : each[i].found + each[i].gold > 0;
        sum.precision += weight * r.precision, sum.recall += weight * r.recall,
            sum.f1 += weight * r.f1;
        sum.support += r.support, weights += weight;
    }
    return (rates){ share(sum.precision, weights), share(sum.recall, weights),
                    share(sum.f1, weights), sum.support };
}

/* The keys of the sums. A label of such a name is told as "NAME (label)". */
static int is_sum(const char *name)
{
    static const char *const sums[] = { "accuracy", "micro avg", "macro avg", "weighted avg" };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (strcmp(name, sums[i]) == 0) return 1;
    return 0;
}

static void set_rates(json_t *object, gsa_slice name, const counts *c)
{
    json_t *key = gsa_json_slice(name);
    const char *text = json_string_value(key);
    char label[32];
    if (is_sum(text)) {
        snprintf(label, sizeof label, "%s (label)", text);
        text = label;
    }
    if (c->found + c->gold > 0) json_object_set_new(object, text, rates_json(rates_of(c)));
    json_decref(key);
}

/* ---- classes ------------------------------------------------------------------------------- */

/* The rows that count. */
static int64_t labelled(const gsa_survey *s)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->rows; i++) count += s->found[i].gold >= 0;
    return count;
}

static void count_classes(const gsa_survey *s, counts *each)
{
    for (int64_t i = 0; i < s->rows; i++) {
        const gsa_found *f = &s->found[i];
        if (f->gold < 0) continue;
        each[f->gold].gold++, each[f->label].found++;
        each[f->gold].right += f->gold == f->label;
    }
}

static json_t *classes_json(const counts *each, const gsa_slice *name, int32_t names,
                            double accuracy)
{
    json_t *object = json_object();
    for (int32_t c = 0; c < names; c++) set_rates(object, name[c], &each[c]);
    json_object_set_new(object, "accuracy", json_real(accuracy));
    json_object_set_new(object, "macro avg", rates_json(mean_of(each, names, 0)));
    json_object_set_new(object, "weighted avg", rates_json(mean_of(each, names, 1)));
    return object;
}

/* place[class]: its number among those that occur. */
static gsa_status add_confusion(const gsa_survey *s, const int32_t *place, int32_t occur,
                                json_t *object, gsa_error *error)
{
    int64_t *cell = gsa_alloc_zero(s->system, (size_t)occur * (size_t)occur, sizeof *cell);
    if (!cell) return gsa_out_of_memory(error, "the confusion matrix", occur * (int64_t)occur * 8);
    for (int64_t i = 0; i < s->rows; i++)
        if (s->found[i].gold >= 0)
            cell[(int64_t)place[s->found[i].gold] * occur + place[s->found[i].label]]++;
    json_t *rows = json_array();
    for (int32_t g = 0; g < occur; g++) {
        json_t *row = json_array();
        for (int32_t f = 0; f < occur; f++)
            json_array_append_new(row, json_integer(cell[(int64_t)g * occur + f]));
        json_array_append_new(rows, row);
    }
    json_object_set_new(object, "confusion", rows);
    gsa_release(s->system, cell);
    return GSA_OK;
}

static json_t *top_json(const gsa_survey *s, int32_t names, int64_t count)
{
    static const int32_t tops[] = { 1, 2, 3, 5, 10 };
    json_t *object = json_object();
    for (size_t t = 0; t < sizeof tops / sizeof *tops && tops[t] < names; t++) {
        char key[16];
        int64_t right = 0;
        for (int64_t i = 0; i < s->rows; i++)
            right += s->found[i].gold >= 0 && s->found[i].rank < tops[t];
        snprintf(key, sizeof key, "%d", tops[t]);
        json_object_set_new(object, key, json_real(share((double)right, (double)count)));
    }
    return object;
}

/* Bin b holds the confidences above b / 10, up to (b + 1) / 10. */
static int bin_of(double confidence)
{
    if (!(confidence > 0)) return 0; /* no number, too */
    const int bin = (int)ceil(confidence * GSA_REPORT_BINS) - 1;
    return bin < GSA_REPORT_BINS ? bin : GSA_REPORT_BINS - 1;
}

static json_t *calibration_json(const gsa_survey *s, int64_t count)
{
    struct {
        int64_t count, right;
        double confidence;
    } bin[GSA_REPORT_BINS] = { 0 };
    double nll = 0, brier = 0, ece = 0;
    json_t *bins = json_array();
    for (int64_t i = 0; i < s->rows; i++) {
        const gsa_found *f = &s->found[i];
        if (f->gold < 0) continue;
        const int b = bin_of(f->confidence);
        bin[b].count++, bin[b].right += f->gold == f->label, bin[b].confidence += f->confidence;
        nll += f->nll, brier += f->brier;
    }
    for (int b = 0; b < GSA_REPORT_BINS; b++) {
        const double n = (double)bin[b].count;
        ece += fabs((double)bin[b].right - bin[b].confidence) / (double)count;
        json_t *one =
            json_pack("{s:f, s:f, s:I}", "from", b / (double)GSA_REPORT_BINS, "to",
                      (b + 1) / (double)GSA_REPORT_BINS, "count", (json_int_t)bin[b].count);
        json_object_set_new(one, "confidence",
                            n > 0 ? gsa_json_number(bin[b].confidence / n) : json_null());
        json_object_set_new(one, "accuracy",
                            n > 0 ? json_real((double)bin[b].right / n) : json_null());
        json_array_append_new(bins, one);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "ece", gsa_json_number(ece), "brier",
                     gsa_json_number(brier / (double)count), "nll",
                     gsa_json_number(nll / (double)count), "bins", bins);
}

int64_t gsa_report_largest(const double *key, int64_t count, double least, int64_t *row,
                           int64_t most)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!(key[i] > least) || (kept == most && !(key[i] > key[row[most - 1]]))) continue;
        int64_t at = kept < most ? kept++ : most - 1;
        for (; at > 0 && key[i] > key[row[at - 1]]; at--) row[at] = row[at - 1];
        row[at] = i;
    }
    return kept;
}

static gsa_status add_worst(const gsa_survey *s, const gsa_slice *name, int probable,
                            const gsa_row_teller *d, json_t *object, gsa_error *error)
{
    int64_t row[GSA_REPORT_WORST];
    double *key = gsa_alloc(s->system, (size_t)s->rows, sizeof *key);
    if (!key) return gsa_out_of_memory(error, "a report", s->rows * 8);
    for (int64_t i = 0; i < s->rows; i++) {
        const gsa_found *f = &s->found[i];
        key[i] = f->gold < 0 || f->gold == f->label ? -1 : probable ? f->nll : 1;
    }
    const int64_t count = gsa_report_largest(key, s->rows, -1, row, GSA_REPORT_WORST);
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        const gsa_found *f = &s->found[row[i]];
        json_t *one = json_pack("{s:o, s:o}", "gold", gsa_json_slice(name[f->gold]), "found",
                                gsa_json_slice(name[f->label]));
        if (probable) {
            json_object_set_new(one, "confidence", gsa_json_number(f->confidence));
            json_object_set_new(one, "nll", gsa_json_number(f->nll));
        }
        d->describe(d->self, s->split, row[i], one);
        json_array_append_new(list, one);
    }
    json_object_set_new(object, "worst", list);
    gsa_release(s->system, key);
    return GSA_OK;
}

static void add_labels(const counts *each, const gsa_slice *name, int32_t names, int32_t *place,
                       int32_t *occur, json_t *object)
{
    json_t *list = json_array();
    *occur = 0;
    for (int32_t c = 0; c < names; c++) {
        if (each[c].found + each[c].gold == 0) continue;
        place[c] = (*occur)++;
        json_array_append_new(list, gsa_json_slice(name[c]));
    }
    json_object_set_new(object, "labels", list);
}

gsa_status gsa_report_classes(const gsa_survey *s, const gsa_slice *name, int32_t names,
                              int probable, const gsa_row_teller *teller, json_t *object,
                              gsa_error *error)
{
    const int64_t count = labelled(s);
    int32_t occur;
    int64_t right = 0;
    counts *each = gsa_alloc_zero(s->system, (size_t)names, sizeof *each);
    int32_t *place = gsa_alloc(s->system, (size_t)names, sizeof *place);
    gsa_status status =
        each && place ? GSA_OK : gsa_out_of_memory(error, "a report", names * INT64_C(28));
    if (status == GSA_OK) {
        count_classes(s, each);
        for (int32_t c = 0; c < names; c++) right += each[c].right;
        json_object_set_new(object, "targets", json_integer(count));
        json_object_set_new(object, "classification_report",
                            classes_json(each, name, names, share((double)right, (double)count)));
        add_labels(each, name, names, place, &occur, object);
        if (occur <= GSA_REPORT_CONFUSED) status = add_confusion(s, place, occur, object, error);
    }
    if (status == GSA_OK && probable) {
        json_object_set_new(object, "top_k", top_json(s, names, count));
        json_object_set_new(object, "calibration", calibration_json(s, count));
    }
    if (status == GSA_OK) status = add_worst(s, name, probable, teller, object, error);
    gsa_release(s->system, each);
    gsa_release(s->system, place);
    return status;
}

/* ---- spans, translations, numbers ---------------------------------------------------------- */

json_t *gsa_report_spans(gsa_span_score *score)
{
    static const gsa_slice nameless = { "_", 1 };
    counts all = { score->all.right, score->all.found, score->all.gold };
    counts *each = gsa_alloc_zero(score->system, (size_t)score->types, sizeof *each);
    json_t *object = each ? json_object() : NULL;
    gsa_span_sort(score);
    for (int64_t i = 0; i < score->types && each; i++) {
        const gsa_span_counts *t = &score->type[i];
        each[i] = (counts){ t->right, t->found, t->gold };
        set_rates(object, t->type.bytes > 0 ? t->type : nameless, &each[i]);
    }
    if (each) {
        json_object_set_new(object, "micro avg", rates_json(rates_of(&all)));
        json_object_set_new(object, "macro avg", rates_json(mean_of(each, score->types, 0)));
        json_object_set_new(object, "weighted avg", rates_json(mean_of(each, score->types, 1)));
    }
    gsa_release(score->system, each);
    return object;
}

json_t *gsa_report_bleu(const gsa_bleu_counts *sum)
{
    const gsa_bleu bleu = gsa_bleu_score(sum);
    json_t *precisions = json_array();
    for (int n = 0; n < GSA_BLEU_ORDER; n++)
        json_array_append_new(precisions, json_real(bleu.precision[n]));
    return json_pack("{s:f, s:o, s:f, s:I, s:I}", "score", bleu.score, "precisions", precisions,
                     "brevity", bleu.brevity, "length", (json_int_t)sum->length, "reference_length",
                     (json_int_t)sum->reference);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

json_t *gsa_report_quantiles(double *x, int64_t count)
{
    static const struct {
        const char *name;
        double share;
    } of[] = { { "0", 0 },     { "0.25", 0.25 }, { "0.5", 0.5 },   { "0.75", 0.75 },
               { "0.9", 0.9 }, { "0.95", 0.95 }, { "0.99", 0.99 }, { "1", 1 } };
    json_t *object = json_object();
    if (count > 1) qsort(x, (size_t)count, sizeof *x, by_size);
    for (size_t q = 0; q < sizeof of / sizeof *of && count > 0; q++) {
        const double at = of[q].share * (double)(count - 1);
        const int64_t low = (int64_t)at, high = low + 1 < count ? low + 1 : low;
        json_object_set_new(object, of[q].name,
                            gsa_json_number(x[low] + (at - (double)low) * (x[high] - x[low])));
    }
    return object;
}

gsa_status gsa_report_losses(const gsa_survey *s, json_t *object, gsa_error *error)
{
    int64_t row[GSA_REPORT_WORST];
    double *loss = gsa_alloc(s->system, (size_t)s->rows, sizeof *loss);
    if (!loss) return gsa_out_of_memory(error, "a report", s->rows * 8);
    const int64_t count = gsa_report_largest(s->value, s->rows, -HUGE_VAL, row, GSA_REPORT_WORST);
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:I, s:o}", "example", (json_int_t)row[i], "loss",
                                              gsa_json_number(s->value[row[i]])));
    memcpy(loss, s->value, (size_t)s->rows * sizeof *loss);
    json_object_set_new(object, "loss_quantiles", gsa_report_quantiles(loss, s->rows));
    json_object_set_new(object, "worst", list);
    gsa_release(s->system, loss);
    return GSA_OK;
}
