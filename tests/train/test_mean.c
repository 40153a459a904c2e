/* The mean of checkpoints: every weight of a run whose checkpoints all stay, and a folder that
 * evaluates and predicts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "support/guard.h"
#include "train/use/checkpoint_mean.h"
#include "vouch.h"

/* 9 steps, a checkpoint after each. */
static void train_run(rig *r, const char *select, const char *average)
{
    rig_open(r, rig_text, GSA_F32, 1);
    rig_set(r, "train.checkpoint_every=1");
    rig_set(r, "train.keep=100");
    rig_set(r, select);
    rig_set(r, average);
    rig_train_ok(r, "run");
}

static gsa_status average(rig *r, const char *out, int64_t last, int64_t *first, int64_t *newest)
{
    char run[300], to[300];
    snprintf(run, sizeof run, "%s/run", r->scratch.folder);
    snprintf(to, sizeof to, "%s/%s", r->scratch.folder, out);
    const gsa_checkpoint_mean_options options = { .run = run, .out = to, .last = last };
    return gsa_checkpoint_mean(NULL, &options, first, newest, &r->error);
}

static void read_tensors(const rig *r, const char *run, int step, const char *file,
                         gsa_safetensors *tensors)
{
    gsa_error error;
    const gsa_status status = gsa_safetensors_read(
        gsa_system_default(), gsa_scratch_path(&r->scratch, "%s/step-%d/%s", run, step, file),
        tensors, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
}

static const struct {
    const char *select, *average;
} variants[] = { { "train.select=last", "train.average=0" },
                 { "train.select=best", "train.average=0" },
                 { "train.select=last", "train.average=0.9" } };

/* The weights that training had, wherever a checkpoint keeps them. */
static double present(const gsa_safetensors *model, const gsa_safetensors *state,
                      const char *tensor, int64_t i)
{
    char name[300];
    snprintf(name, sizeof name, "weight/%s", tensor);
    const gsa_blob *blob = gsa_safetensors_find(state, name);
    if (!blob) blob = gsa_safetensors_find(model, tensor);
    return (double)((const float *)blob->data)[i];
}

START_TEST(every_weight_is_the_mean)
{
    enum { LAST = 4, NEWEST = 9 };
    rig r;
    int64_t first, newest;
    int differ = 0;
    gsa_safetensors model[LAST], state[LAST], made;
    train_run(&r, variants[_i].select, variants[_i].average);
    ck_assert_msg(average(&r, "mean", LAST, &first, &newest) == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(first, NEWEST - LAST + 1);
    ck_assert_int_eq(newest, NEWEST);
    for (int k = 0; k < LAST; k++) {
        read_tensors(&r, "run", NEWEST - k, "model.safetensors", &model[k]);
        read_tensors(&r, "run", NEWEST - k, "state.safetensors", &state[k]);
    }
    read_tensors(&r, "mean", NEWEST, "model.safetensors", &made);
    ck_assert_int_eq(made.count, model[0].count);
    for (int t = 0; t < made.count; t++)
        for (int64_t i = 0; i < gsa_blob_count(&made.blobs[t]); i++) {
            double sum = 0;
            const double found = (double)((const float *)made.blobs[t].data)[i];
            for (int k = 0; k < LAST; k++)
                sum += present(&model[k], &state[k], made.blobs[t].name, i);
            ck_assert_double_eq_tol(found, sum / LAST, 1e-7 * fmax(1, fabs(found)));
            differ |= fabs(found - present(&model[0], &state[0], made.blobs[t].name, i)) > 1e-5;
        }
    ck_assert_int_eq(rig_resume(&r, "mean"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "without the state of its training") && !r.messages[0], "%s",
                  r.error.text);
    ck_assert(differ); /* the comparison can fail */
    for (int k = 0; k < LAST; k++)
        gsa_safetensors_release(&model[k]), gsa_safetensors_release(&state[k]);
    gsa_safetensors_release(&made);
    rig_close(&r);
}
END_TEST

START_TEST(the_mean_evaluates)
{
    char mean[300], dev[300], *result;
    rig r;
    train_run(&r, "train.select=last", "train.average=0");
    ck_assert_int_eq(average(&r, "mean", 3, NULL, NULL), GSA_OK);
    snprintf(mean, sizeof mean, "%s/mean", r.scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/dev.tsv", r.scratch.folder);
    const char *set[] = { dev };
    const gsa_apply_options options = {
        .model = mean, .overrides = set, .n_overrides = 1, .backend = r.backend
    };
    ck_assert_msg(gsa_evaluate(NULL, &options, &result, &r.error) == GSA_OK, "%s", r.error.text);
    ck_assert_ptr_nonnull(strstr(result, "\"dev_accuracy\""));
    gsa_release(gsa_system_default(), result);
    rig_close(&r);
}
END_TEST

START_TEST(what_is_refused)
{
    rig r;
    train_run(&r, "train.select=last", "train.average=0");
    ck_assert_int_eq(average(&r, "mean", 10, NULL, NULL), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(
        r.error.text, "holds 9 checkpoints, 10 are requested: train.keep says how many stay"));
    ck_assert_int_eq(average(&r, "mean", 0, NULL, NULL), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(average(&r, "run", 2, NULL, NULL), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(r.error.text, "holds a run already"));
    gsa_put_file(gsa_scratch_path(&r.scratch, "run/step-8/model.safetensors"), "x", 1);
    ck_assert_int_ne(average(&r, "mean", 2, NULL, NULL), GSA_OK);
    ck_assert_ptr_nonnull(strstr(r.error.text, "step-8"));
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "mean")));
    ck_assert_int_eq(average(&r, "mean", 1, NULL, NULL), GSA_OK);
    rig_close(&r);
}
END_TEST

/* Every weight of the checkpoint is the same number, in double. */
static void fill_weights(const rig *r, int step, const char *file, double value)
{
    gsa_safetensors tensors;
    gsa_output *output;
    char path[400];
    snprintf(path, sizeof path, "%s/run/step-%d/%s", r->scratch.folder, step, file);
    read_tensors(r, "run", step, file, &tensors);
    for (int t = 0; t < tensors.count; t++) {
        const gsa_blob *blob = &tensors.blobs[t];
        if (strcmp(file, "state.safetensors") == 0 && strncmp(blob->name, "weight/", 7) != 0)
            continue;
        ck_assert_int_eq(blob->dtype, GSA_DTYPE_F64);
        for (int64_t i = 0; i < gsa_blob_count(blob); i++)
            ((double *)(uintptr_t)blob->data)[i] = value;
    }
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_safetensors_write(NULL, output, tensors.blobs, tensors.count,
                                           tensors.notes, tensors.n_notes, NULL),
                     GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    gsa_safetensors_release(&tensors);
    *strrchr(path, '/') = 0;
    gsa_vouch(path);
}

START_TEST(a_mean_beyond_the_largest_number_is_refused)
{
    rig r;
    rig_open(&r, rig_text, GSA_F64, 1);
    rig_set(&r, "train.checkpoint_every=1");
    rig_set(&r, "train.keep=100");
    rig_train_ok(&r, "run");
    for (int step = 8; step <= 9; step++) {
        fill_weights(&r, step, "model.safetensors", 1.5e308);
        fill_weights(&r, step, "state.safetensors", 1.5e308);
    }
    ck_assert_int_eq(average(&r, "mean", 2, NULL, NULL), GSA_ERR_NUMBER);
    ck_assert_msg(strstr(r.error.text, "is inf, expected a finite number"), "%s", r.error.text);
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "mean/latest")));
    ck_assert_int_eq(gsa_count_entries(gsa_scratch_path(&r.scratch, "mean"), ""), 0);
    ck_assert_msg(average(&r, "mean", 1, NULL, NULL) == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test mean[] = { GSA_LOOP(every_weight_is_the_mean, GSA_COUNT(variants)),
                                     GSA_TEST(the_mean_evaluates), GSA_TEST(what_is_refused),
                                     GSA_TEST(a_mean_beyond_the_largest_number_is_refused) };
    static const gsa_case cases[] = { GSA_CASE("checkpoints", mean, 60) };
    return gsa_run_suite("mean", cases, GSA_COUNT(cases), argc, argv);
}
