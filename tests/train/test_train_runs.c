/* What a run leaves: the chosen model, its files, what predict and eval make of them; and recipes
 * that are refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "support/compare.h"
#include "train/chart/chart.h"

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

/* ---- selection, early stop, files ---------------------------------------------------------- */

START_TEST(early_stop_and_selection)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.lr=0"); /* never better than the first evaluation */
    rig_set(&r, "train.epochs=50");
    rig_set(&r, "train.early_stop=3");
    rig_train_ok(&r, "run");
    ck_assert_double_eq(rig_number(&r, "epochs"), 4);
    ck_assert_double_eq(rig_number(&r, "best_step"), 3);
    ck_assert_int_eq(r.evaluations, 4);
    rig_set(&r, "train.early_stop=0"); /* resuming without early stop continues */
    rig_set(&r, "train.epochs=5");
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "epochs"), 5);
    rig_close(&r);
}
END_TEST

static double evaluate(rig *r, const char *run, const char *key)
{
    gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "%s", run),
                            .backend = r->backend };
    gsa_release(gsa_system_default(), r->result);
    const gsa_status status = gsa_evaluate(NULL, &o, &r->result, &r->error);
    ck_assert_msg(status == GSA_OK, "%s", r->error.text);
    return rig_number(r, key);
}

START_TEST(evaluation_repeats_the_runs_metric)
{
    static const char *const keys[] = { "dev_mse", "dev_accuracy", "dev_accuracy", "dev_bpc" };
    static const char *const selects[] = { "train.select=best", "train.select=last" };
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "train.lr=0.2"); /* wild: the best is seldom the last */
    rig_set(&r, "train.epochs=6");
    for (int s = 0; s < 2; s++) {
        r.sets = 2;
        rig_set(&r, selects[s]);
        rig_train_ok(&r, selects[s] + 6);
        const double told = rig_number(&r, keys[_i]), test = rig_number(&r, "test_mse");
        ck_assert_double_eq_tol(evaluate(&r, selects[s] + 6, keys[_i]), told,
                                1e-7 * fabs(told) + 1e-12);
        if (_i == 0) ck_assert_double_eq_tol(rig_number(&r, "test_mse"), test, 1e-7 * test);
    }
    rig_close(&r);
}
END_TEST

START_TEST(every_end_leaves_a_checkpoint)
{
    static const char *const ends[][2] = { { "train.early_stop=1",
                                             "train.eval_every=1" }, /* within the first epoch */
                                           { "train.epochs=0", "train.eval_every=0" } };
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    for (int i = 0; i < GSA_COUNT(ends); i++) {
        r.sets = 0;
        rig_set(&r, "train.lr=0");
        rig_set(&r, ends[i][0]);
        rig_set(&r, ends[i][1]);
        rig_train_ok(&r, ends[i][0]);
        ck_assert_double_eq(rig_number(&r, "epochs"), 0);
        const double told = rig_number(&r, "dev_accuracy"),
                     again = evaluate(&r, ends[i][0], "dev_accuracy");
        if (isfinite(told)) ck_assert_double_eq_tol(again, told, 1e-7);
        ck_assert_msg(rig_resume(&r, ends[i][0]) == GSA_OK, "%s", r.error.text);
    }
    rig_close(&r);
}
END_TEST

START_TEST(the_loss_is_the_mean_over_examples)
{
    static const char *const still[] = { "train.lr=0",
                                         "model.dropout_input=0",
                                         "model.dropout_attention=0",
                                         "model.dropout_hidden=0",
                                         "model.dropout_ffn=0",
                                         "model.dropout_head=0",
                                         "train.epochs=1" };
    char dev[300];
    rig r;
    rig_open(&r, rig_text, GSA_F64, 1);
    for (int i = 0; i < GSA_COUNT(still); i++) rig_set(&r, still[i]);
    snprintf(dev, sizeof dev, "data.dev=%s/train.tsv", r.scratch.folder);
    rig_set(&r, dev);
    rig_train_ok(&r, "run");
    ck_assert_double_eq_tol(evaluate(&r, "run", "dev_loss"), r.epoch_loss, 1e-6);
    rig_close(&r);
}
END_TEST

START_TEST(a_run_leaves_its_files)
{
    static const char *const files[] = { "config.ini", "log.jsonl", "curve.svg", "result.json",
                                         "latest" };
    rig r;
    int64_t bytes;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "run");
    for (int i = 0; i < GSA_COUNT(files); i++)
        ck_assert_msg(gsa_exists(gsa_scratch_path(&r.scratch, "run/%s", files[i])), "%s", files[i]);
    char *svg = gsa_get_file(gsa_scratch_path(&r.scratch, "run/curve.svg"), &bytes);
    ck_assert_ptr_nonnull(strstr(svg, "train loss"));
    ck_assert_ptr_nonnull(strstr(svg, "dev accuracy"));
    ck_assert_ptr_nonnull(strstr(svg, "</svg>"));
    ck_assert_ptr_null(strstr(svg, "nan"));
    free(svg);
    char *labels = rig_checkpoint_file(&r, "run", "labels.txt", &bytes);
    ck_assert_str_eq(labels, "bad\ngood\n");
    free(labels);
    ck_assert_ptr_nonnull(strstr(r.messages, "read as tsv: 22 examples"));
    ck_assert_ptr_nonnull(strstr(
        r.messages, "baselines on dev, from the 22 training examples: majority class 0.5000"));
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_ARGUMENT); /* never over another run */
    ck_assert_ptr_nonnull(strstr(r.error.text, "holds a run already"));
    rig_close(&r);
}
END_TEST

/* ---- the curve ----------------------------------------------------------------------------- */

START_TEST(a_curve_of_nearly_equal_values_ends)
{
    static const double values[] = { 0, 0.7, -3, 1e16, 1e-300, 1e300 };
    gsa_scratch scratch;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    for (int i = 0; i < GSA_COUNT(values); i++) {
        char name[] = "b";
        gsa_chart curve = { .system = gsa_system_default(), .lines = 2 };
        curve.line[1].right = 1;
        for (int line = 0; line < 2; line++) {
            gsa_chart_add(&curve, line, 1, values[i]);
            gsa_chart_add(&curve, line, 2,
                          nextafter(values[i], INFINITY)); /* what lr = 0 may give */
        }
        const gsa_chart_look look = { "a", "step", "loss", name, 0, GSA_CHART_AUTO, 0, 0, 0 };
        const char *path = gsa_scratch_path(&scratch, "c.svg");
        curve.line[0].name = curve.line[1].name = name;
        gsa_output *out;
        ck_assert_int_eq(gsa_output_open(NULL, path, &out, NULL), GSA_OK);
        gsa_chart_write(&curve, &look, out);
        ck_assert_int_eq(gsa_output_commit(out, NULL), GSA_OK);
        char *svg = gsa_get_file(path, &bytes);
        ck_assert_int_lt(bytes, 20000);
        ck_assert_ptr_nonnull(strstr(svg, "</svg>"));
        ck_assert_ptr_null(strstr(svg, "nan"));
        ck_assert_ptr_null(strstr(svg, "inf"));
        free(svg);
        curve.line[0].name = curve.line[1].name = NULL;
        gsa_chart_release(&curve);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- vectors ------------------------------------------------------------------------------- */

START_TEST(vectors_reach_the_embedding)
{
    static const char vectors[] = "film 3 4\nunheard 1 0\nbad -1 0.5\n";
    static const char *const frozen[] = { "data.vectors_frozen=1", "data.vectors_frozen=0" };
    char set[300];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "v.txt"), vectors, sizeof vectors - 1);
    snprintf(set, sizeof set, "data.vectors=%s/v.txt", r.scratch.folder);
    for (int i = 0; i < 2; i++) {
        gsa_safetensors file;
        int64_t bytes;
        r.sets = 0;
        rig_set(&r, set);
        rig_set(&r, frozen[i]);
        rig_set(&r, "data.vocabulary=vectors");
        rig_set(&r, "data.vectors_normalize=1");
        const char *name = i ? "learned" : "frozen", *copy = gsa_scratch_path(&r.scratch, "copy");
        rig_train_ok(&r, name);
        char *words = rig_checkpoint_file(&r, name, "vocab.txt", &bytes);
        int32_t film = 2, unheard = 2;
        for (const char *c = words; c < strstr(words, "film\t"); c++) film += *c == '\n';
        for (const char *c = words; c < strstr(words, "unheard\t"); c++) unheard += *c == '\n';
        free(words);
        char *data = rig_checkpoint_file(&r, name, "model.safetensors", &bytes);
        gsa_put_file(copy, data, bytes);
        free(data);
        ck_assert_int_eq(gsa_safetensors_read(NULL, copy, &file, NULL), GSA_OK);
        const gsa_blob *e = gsa_safetensors_find(&file, "input.embedding.weight");
        ck_assert_int_eq(e->shape[1], 2);
        const float *row = (const float *)e->data + 2 * film,
                    *other = (const float *)e->data + 2 * unheard;
        ck_assert_int_eq(fabs((double)row[0] - 0.6) < 1e-6 && fabs((double)row[1] - 0.8) < 1e-6,
                         i == 0);
        ck_assert_double_eq((double)other[0], 1); /* not in the training text: never moved */
        gsa_safetensors_release(&file);
        evaluate(&r, name, "dev_accuracy"); /* without the vectors' file: the checkpoint has all */
    }
    rig_close(&r);
}
END_TEST

/* ---- prediction ---------------------------------------------------------------------------- */

static char *predict(rig *r, const char *run, const char *input, gsa_status expected)
{
    int64_t bytes;
    char in[300], out[300];
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    gsa_put_file(in, input, (int64_t)strlen(input));
    gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "%s", run),
                            .backend = r->backend,
                            .input = in,
                            .output = out };
    const gsa_status status = gsa_predict(NULL, &o, &r->error);
    ck_assert_msg(status == expected, "%s", r->error.text);
    return status == GSA_OK ? gsa_get_file(out, &bytes) : NULL;
}

START_TEST(one_line_in_one_line_out)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.epochs=40"); /* enough to know its training data by heart */
    rig_set(&r, "train.select=last");
    rig_set(&r, "model.dropout_input=0");
    rig_set(&r, "model.dropout_attention=0");
    rig_set(&r, "model.dropout_hidden=0");
    rig_set(&r, "model.dropout_head=0");
    rig_train_ok(&r, "run");
    char *out = predict(
        &r, "run", "a fine film\nan awful and tedious mess\nfun\nunheard of\nyes\nno\n", GSA_OK);
    int lines = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        const char *tab = strchr(line, '\t');
        ck_assert_ptr_nonnull(tab);
        ck_assert(strncmp(line, "good\t", 5) == 0 || strncmp(line, "bad\t", 4) == 0);
        ck_assert(atof(tab + 1) >= 0.5 && atof(tab + 1) <= 1);
        if (lines == 0) ck_assert_int_eq(strncmp(line, "good", 4), 0);
        if (lines == 1) ck_assert_int_eq(strncmp(line, "bad", 3), 0);
    }
    ck_assert_int_eq(lines, 6);
    free(out);
    predict(&r, "run", "a\n\nb\n", GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "in:2: the example is empty"));
    free(predict(&r, "run", "", GSA_OK));
    rig_close(&r);
}
END_TEST

START_TEST(two_columns_in_one_label_out)
{
    rig r;
    rig_open(&r, rig_pairs, GSA_F32, 1);
    rig_set(&r, "train.epochs=60"); /* by heart, as above */
    rig_set(&r, "train.select=last");
    rig_set(&r, "train.schedule=constant");
    rig_set(&r, "model.dropout_input=0");
    rig_set(&r, "model.dropout_attention=0");
    rig_set(&r, "model.dropout_hidden=0");
    rig_set(&r, "model.dropout_ffn=0");
    rig_set(&r, "model.dropout_head=0");
    rig_train_ok(&r, "run");
    const double accuracy = evaluate(&r, "run", "dev_accuracy"), f1 = evaluate(&r, "run", "dev_f1");
    ck_assert(accuracy >= 0 && accuracy <= 1 && f1 >= 0 && f1 <= 1);
    char *out = predict(&r, "run", "fine day\tday\nfine day\tnight\nunheard\tof\n", GSA_OK);
    ck_assert_msg(strncmp(out, "yes\t0.", 6) == 0 || strncmp(out, "yes\t1.", 6) == 0, "%s", out);
    ck_assert_msg(strstr(out, "\nno\t"), "%s", out);
    char *again =
        predict(&r, "run", "{\"sentence1\": \"fine day\", \"sentence2\": \"day\"}\n", GSA_OK);
    ck_assert_int_eq(strncmp(out, again, strlen(again)), 0);
    free(again);
    free(out);
    free(predict(&r, "run", "", GSA_OK));
    predict(&r, "run", "a\tb\na\tb\tc\n", GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(r.error.text, "in:2: the line has 3 columns, expected 2: a<TAB>b"));
    predict(&r, "run", "a\t \n", GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "in:1: sentence b is empty"));
    rig_close(&r);
}
END_TEST

START_TEST(numbers_in_numbers_out)
{
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_train_ok(&r, "run");
    char *out = predict(&r, "run", "1 0.5 0.25\n1 .5 .25 0 .1 .2 0 .3 .4\n", GSA_OK);
    double a, b, c, d;
    ck_assert_int_eq(sscanf(out, "%lf\t%lf\n%lf\t%lf\n", &a, &b, &c, &d), 4);
    free(out);
    predict(&r, "run", "1 0.5 0.25\n1 2\n", GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(r.error.text, "in:2: the line holds 2 numbers, expected a multiple of d = 3"));
    predict(&r, "run", "1 x 0.25\n", GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "in:1: no finite number in column 2"));
    rig_close(&r);
}
END_TEST

/* ---- bad input: one sentence, nothing written ---------------------------------------------- */

static const struct {
    const char *recipe, *set, *expected;
    gsa_status status;
} refused[] = {
    { rig_text, "data.train=", "[data] train is not set: --set data.train=FILE", GSA_ERR_FORMAT },
    { rig_text, "data.train=no/such/file", "no/such/file", GSA_ERR_IO },
    { rig_text, "data.train={part}.tsv",
      "[data] train = {part}.tsv: there is no such file, and {part} is no value: --each part=VALUE",
      GSA_ERR_FORMAT },
    { rig_text, "data.dev=no/such/file", "no/such/file", GSA_ERR_IO },
    { rig_text, "data.vectors=no/such/file", "no/such/file", GSA_ERR_IO },
    { rig_text, "data.classes=3", "the data holds 2 labels, data.classes says 3", GSA_ERR_FORMAT },
    { rig_text, "data.format=fasttext", "train.tsv:1: the line does not start with __label__",
      GSA_ERR_FORMAT },
    { rig_text, "data.format=sst", "train.tsv:1: the line is no tree", GSA_ERR_FORMAT },
    { rig_text, "data.subtrees=1", "train.tsv is read as tsv, whose texts are no trees",
      GSA_ERR_FORMAT },
    { rig_text, "data.vocabulary=vectors",
      "--set data.vocabulary: [data] vocabulary = vectors does nothing", GSA_ERR_FORMAT },
    { rig_text, "model.position_max=5", "the longest example has 6 tokens, model.position_max is 5",
      GSA_ERR_LIMIT },
    { rig_text, "model.encoder=stra", "--set model.encoder: [model] encoder", GSA_ERR_ARGUMENT },
    { rig_text, "model.encoder=star:rings=1",
      "--set model.encoder: [model] encoder: ", GSA_ERR_ARGUMENT },
    { rig_text, "model.encoder=star:ring=2",
      "--set model.encoder: [model] encoder: ", GSA_ERR_ARGUMENT },
    { rig_text, "model.encoder=full,full+cross",
      "--set model.encoder: [model] encoder: full,full+cross reads another stack's sequence, and "
      "this task has none",
      GSA_ERR_ARGUMENT },
    { rig_text, "data.format=snli", "[data] format = snli is not for task text_classification",
      GSA_ERR_FORMAT },
    { rig_pairs, "data.train=", "[data] train is not set: --set data.train=FILE", GSA_ERR_FORMAT },
    { rig_pairs, "data.train=no/such/file", "no/such/file", GSA_ERR_IO },
    { rig_pairs, "data.format=sst", "[data] format = sst is not for task sentence_pairs",
      GSA_ERR_FORMAT },
    { rig_pairs, "data.format=snli", "pairs.tsv:1: no JSON: ", GSA_ERR_FORMAT },
    { rig_pairs, "data.columns=a,b", "data.columns: column 'label' is named nowhere",
      GSA_ERR_FORMAT },
    { rig_pairs, "data.classes=3", "the data holds 2 labels, data.classes says 3", GSA_ERR_FORMAT },
    { rig_pairs, "model.position_max=6",
      "the longest sentence has 7 tokens, model.position_max is 6", GSA_ERR_LIMIT },
    { rig_pairs, "model.encoder=bpt+cross",
      "--set model.encoder: [model] encoder: bpt+cross reads the other sentence from its first "
      "layer on",
      GSA_ERR_ARGUMENT },
    { rig_pairs, "model.encoder=star", NULL, GSA_OK },
    { rig_pairs, "task.features=sum", "expected one of difference,product", GSA_ERR_FORMAT },
    { rig_summation, "task.dev=0", NULL, GSA_OK },
    { rig_summation, "task.k=7", "[task] k = 7 is more than n = 6", GSA_ERR_FORMAT },
    { rig_summation, "task.d=1", "expected an integer from 2", GSA_ERR_FORMAT },
    { rig_summation, "model.hidden=9", "[model] heads = 2 does not divide hidden = 9",
      GSA_ERR_FORMAT },
};

START_TEST(refused_with_a_sentence)
{
    rig r;
    rig_open(&r, refused[_i].recipe, GSA_F32, 1);
    rig_set(&r, refused[_i].set);
    const gsa_status status = rig_train(&r, "run");
    ck_assert_msg((status == GSA_OK) == (refused[_i].status == GSA_OK), "%s", r.error.text);
    if (status != GSA_OK) {
        ck_assert_msg(strstr(r.error.text, refused[_i].expected), "'%s' lacks '%s'", r.error.text,
                      refused[_i].expected);
        ck_assert_int_eq(gsa_exists(gsa_scratch_path(&r.scratch, "run")), 0);
        ck_assert_int_eq(status, refused[_i].status);
    }
    rig_close(&r);
}
END_TEST

START_TEST(wrong_data_and_wrong_checkpoints)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "dev.tsv"), "good\tx\nugly\ty\n", 14);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(r.error.text, "dev.tsv:2: label 'ugly' is not in the training data"));
    gsa_put_file(gsa_scratch_path(&r.scratch, "dev.tsv"), "good\tx\nbad\ty\n", 13);
    rig_train_ok(&r, "run");
    rig_set(&r, "model.hidden=16");
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "checkpoint of another model"));
    r.sets = 0;
    gsa_put_file(gsa_scratch_path(&r.scratch, "train.tsv"), "good\tx\nbad\ty\n", 13);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "train.tsv has changed since the run began"));
    ck_assert_int_ne(rig_resume(&r, "nowhere"), GSA_OK);
    ck_assert_ptr_nonnull(strstr(r.error.text, "nowhere"));
    const gsa_train_options both = { .recipe = r.path, .resume = r.path }, none = { 0 };
    ck_assert_int_eq(gsa_train(NULL, &both, &r.result, &r.error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_train(NULL, &none, &r.result, &r.error), GSA_ERR_ARGUMENT);
    const char *cuda[] = { "data.train=x" };
    const gsa_train_options device = {
        .recipe = r.path, .device = "cuda", .overrides = cuda, .n_overrides = 1
    };
    ck_assert_int_eq(gsa_train(NULL, &device, &r.result, &r.error), GSA_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(r.error.text, "cuda"));
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test runs[] = { GSA_TEST(early_stop_and_selection),
                                     GSA_LOOP(evaluation_repeats_the_runs_metric,
                                              GSA_COUNT(recipes)),
                                     GSA_TEST(a_run_leaves_its_files),
                                     GSA_TEST(vectors_reach_the_embedding),
                                     GSA_TEST(the_loss_is_the_mean_over_examples),
                                     GSA_TEST(every_end_leaves_a_checkpoint),
                                     GSA_TEST(a_curve_of_nearly_equal_values_ends) };
    static const gsa_test predictions[] = { GSA_TEST(one_line_in_one_line_out),
                                            GSA_TEST(two_columns_in_one_label_out),
                                            GSA_TEST(numbers_in_numbers_out) };
    static const gsa_test bad[] = { GSA_LOOP(refused_with_a_sentence, GSA_COUNT(refused)),
                                    GSA_TEST(wrong_data_and_wrong_checkpoints) };
    static const gsa_case cases[] = { GSA_CASE("runs", runs, 60),
                                      GSA_CASE("predictions", predictions, 60),
                                      GSA_CASE("bad", bad, 60) };
    return gsa_run_suite("train_runs", cases, GSA_COUNT(cases), argc, argv);
}
