/* Reports: numbers as scikit-learn, seqeval, sacreBLEU and NumPy have them (golden_report.h), and
 * what gsa_evaluate writes for each kind of task. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden_report.h"
#include "rig.h"
#include "support/faults.h"
#include "train/score/report.h"
#include "train/score/surprise.h"
#include "train/settings/keys.h"

enum { CLASSES = 6, ROWS = 400, SENTENCES = 60 };

typedef struct dice {
    uint64_t state;
} dice;

static double draw(dice *d) /* as check_report.py draws */
{
    d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(d->state >> 11) / 9007199254740992.0;
}

static void compare(const char *title, const json_t *got, const json_t *want)
{
    char below[256];
    const char *name;
    const json_t *one;
    size_t i;
    if (json_is_number(want)) {
        ck_assert_msg(json_is_number(got), "%s is no number", title);
        ck_assert_msg(fabs(json_number_value(got) - json_number_value(want)) <= 1e-9,
                      "%s: %.12g, expected %.12g", title, json_number_value(got),
                      json_number_value(want));
    } else if (!json_is_object(want) && !json_is_array(want))
        ck_assert_msg(json_equal(got, want), "%s", title);
    ck_assert_msg(json_object_size(got) == json_object_size(want) &&
                      json_array_size(got) == json_array_size(want),
                  "%s: another number of members", title);
    json_object_foreach ((json_t *)(uintptr_t)want, name, one) {
        snprintf(below, sizeof below, "%s.%s", title, name);
        compare(below, json_object_get(got, name), one);
    }
    json_array_foreach (want, i, one) {
        snprintf(below, sizeof below, "%s[%zu]", title, i);
        compare(below, json_array_get(got, i), one);
    }
}

static json_t *parse(const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    ck_assert_msg(object != NULL, "no JSON: %s", text);
    return object;
}

/* ---- golden numbers ------------------------------------------------------------------------ */

static void make_row(dice *d, int i, double logits[CLASSES], int32_t *gold)
{
    int best = 0;
    for (int c = 0; c < CLASSES; c++) logits[c] = 6 * draw(d) - 3;
    logits[5] = -40;
    for (int c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    const int other = (int)(5 * draw(d)), right = draw(d) < 0.6 ? best : other;
    *gold = i % 17 == 0 ? -1 : right == 4 ? 0 : right;
}

static void tell_row(const void *self, int split, int64_t row, json_t *object)
{
    (void)self;
    json_object_set_new(object, "row", json_integer(row + split));
}

static json_t *classes_of(gsa_survey *s)
{
    static const gsa_slice names[CLASSES] = { { "O", 1 }, { "b", 1 },        { "y", 1 },
                                              { "z", 1 }, { "\xc3\xa4", 2 }, { "\xc3\xb6", 2 } };
    json_t *object = json_object();
    ck_assert_int_eq(
        gsa_report_classes(s, names, CLASSES, 1, &(gsa_row_teller){ NULL, tell_row }, object, NULL),
        GSA_OK);
    return object;
}

START_TEST(classes_as_scikit_learn_counts_them)
{
    dice d = { 7 };
    double logits[CLASSES];
    int32_t gold;
    gsa_survey s = { .system = gsa_system_default() };
    ck_assert_int_eq(gsa_survey_open(&s, ROWS, 0, NULL), GSA_OK);
    for (int i = 0; i < ROWS; i++) {
        make_row(&d, i, logits, &gold);
        s.found[i] = gsa_found_of(logits, CLASSES, gold, -1);
    }
    json_t *got = classes_of(&s), *want = parse(golden_classes),
           *worst = json_object_get(got, "worst");
    const char *name;
    json_t *value;
    json_object_foreach (want, name, value) compare(name, json_object_get(got, name), value);
    ck_assert_int_eq(json_array_size(worst), GSA_REPORT_WORST);
    for (size_t i = 0; i < GSA_REPORT_WORST;
         i++) { /* the worst errors, and none is left out that is worse */
        const json_t *one = json_array_get(worst, i);
        const double nll = json_number_value(json_object_get(one, "nll"));
        const gsa_found *f = &s.found[json_integer_value(json_object_get(one, "row"))];
        int worse = 0;
        ck_assert(f->gold >= 0 && f->gold != f->label && f->nll == nll);
        for (int k = 0; k < ROWS; k++)
            worse +=
                s.found[k].gold >= 0 && s.found[k].gold != s.found[k].label && s.found[k].nll > nll;
        ck_assert_int_eq(worse, i);
    }
    json_decref(got);
    json_decref(want);
    gsa_survey_release(&s);
}
END_TEST

/* scikit-learn's own dictionary loses the rates of a label that is named as a sum. */
START_TEST(labels_named_as_sums_keep_their_rates)
{
    static const gsa_slice name[] = { { "accuracy", 8 }, { "macro avg", 9 } };
    static const gsa_row_teller teller = { NULL, tell_row };
    gsa_survey s = { .system = gsa_system_default() };
    ck_assert_int_eq(gsa_survey_open(&s, 4, 0, NULL), GSA_OK);
    for (int i = 0; i < 4; i++) s.found[i] = gsa_found_of((double[2]){ i == 3, 0 }, 2, i > 1, -1);
    json_t *object = json_object();
    ck_assert_int_eq(gsa_report_classes(&s, name, 2, 1, &teller, object, NULL), GSA_OK);
    const json_t *report = json_object_get(object, "classification_report");
    ck_assert(json_is_real(json_object_get(report, "accuracy")));
    for (int i = 0; i < 2; i++) {
        const json_t *label = json_object_get(report, i ? "macro avg (label)" : "accuracy (label)");
        ck_assert_int_eq(json_integer_value(json_object_get(label, "support")), 2);
    }
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(report, "macro avg"), "support")), 4);
    json_decref(object);
    gsa_survey_release(&s);
}
END_TEST

static gsa_slice draw_tag(dice *d, char room[8])
{
    static const char letters[] = "BIOIO", *const types[] = { "LOC", "ORG", "PER" };
    const char letter = letters[(int)(5 * draw(d))];
    const char *type = types[(int)(3 * draw(d))];
    snprintf(room, 8, letter == 'O' ? "O" : "%c-%s", letter, type);
    return (gsa_slice){ room, (int64_t)strlen(room) };
}

START_TEST(entities_as_seqeval_counts_them)
{
    enum { MOST = 12 };
    dice d = { 11 };
    char *room = calloc(SENTENCES, 2 * MOST * 8), *at = room;
    gsa_span_score score = { .system = NULL };
    for (int s = 0; s < SENTENCES; s++) {
        gsa_slice gold[MOST], found[MOST];
        const int count = 1 + (int)(12 * draw(&d));
        for (int i = 0; i < count; i++, at += 8) gold[i] = draw_tag(&d, at);
        for (int i = 0; i < count; i++, at += 8)
            found[i] = draw(&d) < 0.7 ? gold[i] : draw_tag(&d, at);
        ck_assert_int_eq(gsa_span_score_add(&score, gold, found, count, NULL), GSA_OK);
    }
    gsa_span_score_finish(&score);
    json_t *got = gsa_report_spans(&score), *want = parse(golden_entities);
    compare("entities", got, want);
    json_decref(got);
    json_decref(want);
    gsa_span_score_release(&score);
    free(room);
}
END_TEST

START_TEST(sentences_and_quantiles_as_sacrebleu_and_numpy_have_them)
{
    dice d = { 7 };
    double x[102];
    int32_t gold;
    for (int i = 0; i < GSA_COUNT(golden_bleu); i++) {
        const char *const *text = &golden_bleu[i].translation;
        const gsa_slice line = { text[0], (int64_t)strlen(text[0]) },
                        other = { text[1], (int64_t)strlen(text[1]) };
        gsa_bleu_counts counts;
        ck_assert_int_eq(gsa_bleu_count(gsa_system_default(), line, &other, 1, 0, &counts, NULL),
                         GSA_OK);
        ck_assert_double_eq_tol(gsa_bleu_sentence(&counts), golden_bleu[i].bleu, 1e-9);
    }
    for (int i = 0; i < 102; i += CLASSES) make_row(&d, i, x + i, &gold);
    for (int i = 0; i < 101; i++) x[i] = fabs(x[i]);
    json_t *got = gsa_report_quantiles(x, 101), *want = parse(golden_quantiles);
    compare("quantiles", got, want);
    json_decref(got);
    json_decref(want);
}
END_TEST

/* ---- what is odd --------------------------------------------------------------------------- */

START_TEST(numbers_that_are_none_and_targets_that_are_none)
{
    static const double logits[2][CLASSES] = { { NAN, 1, 2, 3, 4, 5 }, { 1, 2, 3, 4, 5, 6 } };
    gsa_survey s = { .system = gsa_system_default() };
    ck_assert_int_eq(gsa_survey_open(&s, 2, 0, NULL), GSA_OK);
    for (int i = 0; i < 2; i++) s.found[i] = gsa_found_of(logits[i], CLASSES, _i ? -1 : 1, -1);
    json_t *got = classes_of(&s);
    const json_t *c = json_object_get(got, "calibration");
    ck_assert_int_eq(json_integer_value(json_object_get(got, "targets")), _i ? 0 : 2);
    ck_assert(json_is_null(json_object_get(c, "nll")) && json_is_null(json_object_get(c, "brier")));
    char *text = json_dumps(got, 0);
    ck_assert(text != NULL);
    free(text);
    json_decref(got);
    gsa_survey_release(&s);
}
END_TEST

START_TEST(texts_are_cut_and_mended)
{
    static const char bytes[] = "a\xff"
                                "b\xe2\x82"
                                "c\0d\xc3\xa4";
    char *long_text = malloc(5000);
    json_t *text = gsa_json_slice((gsa_slice){ bytes, sizeof bytes - 1 });
    ck_assert_str_eq(json_string_value(text), "a\xef\xbf\xbd"
                                              "b\xef\xbf\xbd\xef\xbf\xbd"
                                              "c\xef\xbf\xbd"
                                              "d\xc3\xa4");
    json_decref(text);
    for (int i = 0; i < 5000; i++) long_text[i] = "\xe4\xb8\xad"[i % 3];
    text = gsa_json_slice((gsa_slice){ long_text, 4998 });
    ck_assert_int_eq(json_string_length(text), 999 + 3);
    ck_assert_str_eq(json_string_value(text) + 999, "...");
    json_decref(text);
    free(long_text);
}
END_TEST

static gsa_status without_memory(gsa_faults *faults, void *context)
{
    gsa_survey s = { .system = &faults->table };
    static const gsa_slice names[2] = { { "no", 2 }, { "yes", 3 } };
    json_t *object = json_object();
    (void)context;
    gsa_status status = gsa_survey_open(&s, 3, 0, NULL);
    for (int i = 0; i < 3 && status == GSA_OK; i++) {
        s.found[i] = gsa_found_of((double[]){ i, 1 }, 2, i % 2, -1);
        status = gsa_survey_text(&s, i, names[0], NULL);
    }
    if (status == GSA_OK)
        status =
            gsa_report_classes(&s, names, 2, 1, &(gsa_row_teller){ NULL, tell_row }, object, NULL);
    json_decref(object);
    gsa_survey_release(&s);
    return status;
}

/* Whatever counts a vocab.txt has, the bands hold them. */
START_TEST(bands_hold_the_largest_counts)
{
    static const struct {
        const char *word;
        int64_t count, from, to;
    } words[] = { { "a", INT64_MAX, INT64_C(1000000000000000000), INT64_MAX },
                  { "b", INT64_C(999999999999999999), INT64_C(100000000000000000),
                    INT64_C(999999999999999999) },
                  { "c", 10, 10, 99 },
                  { "d", 9, 1, 9 } };
    enum { WORDS = GSA_COUNT(words) };
    gsa_units units = { .system = gsa_system_default(), .kind = GSA_TOKENS_WORDS };
    gsa_survey s = { .system = gsa_system_default() };
    int32_t id[WORDS];
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &units.vocabulary, NULL), GSA_OK);
    for (int i = 0; i < WORDS; i++)
        ck_assert_int_eq(gsa_vocabulary_add(units.vocabulary, (gsa_slice){ words[i].word, 1 },
                                            words[i].count, NULL),
                         GSA_OK);
    ck_assert_int_eq(gsa_vocabulary_freeze(units.vocabulary, 0, 0, NULL), GSA_OK);
    for (int i = 0; i < WORDS; i++)
        id[i] = gsa_vocabulary_find(units.vocabulary, (gsa_slice){ words[i].word, 1 });
    ck_assert_int_eq(gsa_survey_open(&s, WORDS, 1, NULL), GSA_OK);
    json_t *object = json_object();
    ck_assert_int_eq(gsa_report_surprises(&s, &units, id, object, NULL), GSA_OK);
    const json_t *bands = json_object_get(object, "by_frequency");
    ck_assert_int_eq(json_array_size(bands), WORDS);
    for (int i = 0; i < WORDS; i++) {
        const json_t *band = json_array_get(bands, (size_t)(WORDS - 1 - i));
        ck_assert_int_eq(json_integer_value(json_object_get(band, "from")), words[i].from);
        ck_assert_int_eq(json_integer_value(json_object_get(band, "to")), words[i].to);
        ck_assert_int_eq(json_integer_value(json_object_get(band, "count")), 1);
    }
    json_decref(object);
    gsa_survey_release(&s);
    gsa_vocabulary_release(units.vocabulary);
}
END_TEST

START_TEST(a_report_without_memory)
{
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, without_memory, NULL), 12);
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

static const char tagging[] =
    "[task]\nname = tagging\n"
    "[model]\nencoder = star\nhidden = 8\nheads = 2\nffn = 12\nposition = none\n"
    "[train]\nseed = 5\nepochs = 2\nbatch = 4\nlr = 0.01\n";
static const char columns[] =
    "Ann B-PER\nsaw O\nOslo B-LOC\n\nBo B-PER\nLee I-PER\nslept O\n\nOslo B-LOC\n";

static const struct {
    const char *recipe, *set[3];
    const char *wanted[4]; /* members of a split */
} runs[] = {
    { rig_text, { NULL }, { "classification_report", "confusion", "top_k", "calibration" } },
    { rig_pairs, { NULL }, { "classification_report", "confusion", "calibration", "worst" } },
    { tagging,
      { NULL },
      { "classification_report", "entities", "entities_strict", "calibration" } },
    { tagging, { "data.scheme=none" }, { "classification_report", "confusion", "top_k", "worst" } },
    { rig_summation, { NULL }, { "errors", "error_quantiles", "worst" } },
    { rig_language, { NULL }, { "all", "by_frequency", "worst_tokens", "worst_lines" } },
    { rig_language,
      { "data.tokens=bytes" },
      { "all", "by_frequency", "worst_tokens", "worst_lines" } },
};

static void open_run(rig *r, int i)
{
    rig_open(r, runs[i].recipe, GSA_F32, 1);
    if (runs[i].recipe == tagging) {
        gsa_put_file(gsa_scratch_path(&r->scratch, "tags"), columns, sizeof columns - 1);
        r->data[0] = r->data[1] = "tags";
    }
    for (int k = 0; k < 3 && runs[i].set[k]; k++) rig_set(r, runs[i].set[k]);
    rig_train_ok(r, "run");
}

static gsa_status evaluate(rig *r, const gsa_system *system, const char *set, char **result)
{
    char model[300], text[300], json[300];
    snprintf(model, sizeof model, "%s/run", r->scratch.folder);
    snprintf(text, sizeof text, "%s/report.txt", r->scratch.folder);
    snprintf(json, sizeof json, "%s/report.json", r->scratch.folder);
    const gsa_apply_options o = { .model = model,
                                  .overrides = &set,
                                  .n_overrides = set != NULL,
                                  .device = "cpu",
                                  .threads = 1,
                                  .backend = system ? NULL : r->backend,
                                  .report = text,
                                  .json = json };
    return gsa_evaluate(system, &o, result, &r->error);
}

static json_t *split_of(const json_t *report)
{
    return json_object_get(json_object_get(report, "splits"), "dev");
}

/* Supports and the bins add up to the targets, the accuracy is the metric, and the batches change
 * no count. */
START_TEST(a_report_of_each_task)
{
    rig r;
    char *result;
    int64_t bytes;
    open_run(&r, _i);
    ck_assert_msg(evaluate(&r, NULL, NULL, &result) == GSA_OK, "%s", r.error.text);
    char *text = gsa_get_file(gsa_scratch_path(&r.scratch, "report.txt"), &bytes),
         *bare = gsa_get_file(gsa_scratch_path(&r.scratch, "report.json"), &bytes);
    json_t *report = parse(bare), *told = parse(result), *dev = split_of(report);
    ck_assert_int_eq(json_integer_value(json_object_get(report, "report")), 1);
    for (int i = 0; i < 4 && runs[_i].wanted[i]; i++)
        ck_assert_msg(json_object_get(dev, runs[_i].wanted[i]) != NULL, "%s: no %s", bare,
                      runs[_i].wanted[i]);
    const json_t *rates = json_object_get(dev, "classification_report"),
                 *all = json_object_get(dev, "all");
    const double support =
        json_number_value(json_object_get(json_object_get(rates, "macro avg"), "support"));
    const double accuracy = json_number_value(json_object_get(rates, "accuracy"));
    if (rates) ck_assert_double_eq(support, json_number_value(json_object_get(dev, "targets")));
    if (rates)
        ck_assert_double_eq_tol(accuracy, json_number_value(json_object_get(told, "dev_accuracy")),
                                1e-7);
    if (all)
        ck_assert_double_eq_tol(json_number_value(json_object_get(all, "loss")),
                                json_number_value(json_object_get(told, "dev_loss")), 1e-6);
    ck_assert_msg(strstr(text, "dev: ") && strlen(text) > 200, "%s", text);
    json_decref(told);
    json_decref(report);
    gsa_release(gsa_system_default(), result);
    free(text);
    free(bare);
    rig_close(&r);
}
END_TEST

START_TEST(batches_change_no_report)
{
    rig r;
    char *result;
    json_t *report[2];
    open_run(&r, _i);
    for (int k = 0; k < 2; k++) {
        int64_t bytes;
        ck_assert_int_eq(evaluate(&r, NULL, k ? "train.batch=1" : NULL, &result), GSA_OK);
        char *bare = gsa_get_file(gsa_scratch_path(&r.scratch, "report.json"), &bytes);
        json_t *whole = parse(bare);
        report[k] = json_incref(split_of(whole));
        json_decref(whole);
        json_object_del(json_object_get(report[k], "scores"), "loss");
        json_object_del(report[k], "worst"); /* in which equal ones may change places */
        json_object_del(report[k], "worst_lines");
        json_object_del(report[k], "worst_tokens");
        gsa_release(gsa_system_default(), result);
        free(bare);
    }
    const json_t *a = json_object_get(report[0], "classification_report"),
                 *b = json_object_get(report[1], "classification_report");
    ck_assert(!a || json_equal(a, b));
    a = json_object_get(json_object_get(report[0], "calibration"), "nll");
    b = json_object_get(json_object_get(report[1], "calibration"), "nll");
    if (a) ck_assert_double_eq_tol(json_number_value(a), json_number_value(b), 1e-5);
    for (int k = 0; k < 2; k++) json_decref(report[k]);
    rig_close(&r);
}
END_TEST

static gsa_status faulty(gsa_faults *faults, void *context)
{
    rig *r = context;
    char *result = NULL;
    const gsa_status status = evaluate(r, &faults->table, NULL, &result);
    ck_assert(status == GSA_OK || !result);
    gsa_release(&faults->table, result);
    return status;
}

/* Where there is no memory or no space: one sentence, nothing stays after, no half a file. */
START_TEST(a_report_that_cannot_be_written)
{
    static const struct {
        int op;
        gsa_status expected;
    } of[] = { { GSA_OP_WRITE, GSA_ERR_IO }, { GSA_OP_RENAME, GSA_ERR_IO } };
    rig r;
    open_run(&r, 2);
    ck_assert_int_gt(gsa_faults_sweep(of[_i].op, 0, of[_i].expected, faulty, &r), 0);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test numbers[] = {
        GSA_TEST(classes_as_scikit_learn_counts_them),
        GSA_TEST(labels_named_as_sums_keep_their_rates),
        GSA_TEST(entities_as_seqeval_counts_them),
        GSA_TEST(sentences_and_quantiles_as_sacrebleu_and_numpy_have_them),
        GSA_LOOP(numbers_that_are_none_and_targets_that_are_none, 2),
        GSA_TEST(texts_are_cut_and_mended),
        GSA_TEST(bands_hold_the_largest_counts),
        GSA_TEST(a_report_without_memory)
    };
    static const gsa_test tasks[] = { GSA_LOOP(a_report_of_each_task, GSA_COUNT(runs)),
                                      GSA_LOOP(batches_change_no_report, 4),
                                      GSA_LOOP(a_report_that_cannot_be_written, 2) };
    static const gsa_case cases[] = { GSA_CASE("numbers", numbers, 30),
                                      GSA_CASE("runs", tasks, 120) };
    return gsa_run_suite("report", cases, GSA_COUNT(cases), argc, argv);
}
