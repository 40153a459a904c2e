/* The state of a run: every number of it has a range, every tensor a shape and a type; damage, cuts
 * and the state of another run are refused; what fails while it is written or read is a status. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "gsa/checkpoint_parts.h"
#include "rig.h"
#include "support/thin.h"
#include "vouch.h"
#include "train/driver/trainer.h"

/* ---- a state that says something else ------------------------------------------------------ */

/* The folder of the run's newest checkpoint, for the manifest to be made anew. */
static void step_of(const rig *r, const char *run, char *step, size_t size)
{
    char *found, *warning;
    ck_assert_int_eq(gsa_checkpoint_find(NULL, gsa_scratch_path(&r->scratch, "%s", run), NULL,
                                         &found, &warning, NULL),
                     GSA_OK);
    snprintf(step, size, "%s", found);
    gsa_release(NULL, found);
    gsa_release(NULL, warning);
}

/* A run that was stopped, and what a test does to a copy of it. */
static void stop_run(rig *r, const char *run, int64_t step)
{
    r->stop_at = step;
    ck_assert_msg(rig_train(r, run) == GSA_ERR_INTERRUPTED, "%s", r->error.text);
    r->stop_at = 0;
}

static void copy_run(const rig *r, const char *from, const char *to)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -rf %s/%s && cp -r %s/%s %s/%s", r->scratch.folder, to,
             r->scratch.folder, from, r->scratch.folder, to);
    ck_assert_int_eq(system(command), 0);
}

typedef struct edit {
    const char *tensor, *says;
    int place; /* of the number that becomes `whole` or `real` */
    int64_t whole;
    double real;
    int also;            /* place of another whole number that becomes the same, unless 0 */
    int32_t dtype, dims; /* of the tensor, unless 0 and 0; dims -1: it, or all of NAME/, is gone */
    int64_t shape[2];
} edit;

static void apply(const rig *r, const char *run, const edit *e)
{
    gsa_safetensors file;
    gsa_output *output;
    char path[512], step[480];
    step_of(r, run, step, sizeof step);
    static const char zeros[1 << 16];
    snprintf(path, sizeof path, "%s/" GSA_STATE_FILE, step);
    ck_assert_int_eq(gsa_safetensors_read(NULL, path, &file, NULL), GSA_OK);
    const size_t length = strlen(e->tensor), part = e->tensor[length - 1] == '/';
    gsa_blob *blob = NULL;
    for (int i = file.count - 1; i >= 0; i--)
        if (strncmp(file.blobs[i].name, e->tensor, length + !part) == 0) {
            blob = &file.blobs[i];
            if (part) *blob = file.blobs[--file.count];
        }
    ck_assert_msg(blob != NULL, "no %s", e->tensor);
    void *at = (void *)(uintptr_t)blob->data;
    if (part) at = NULL; /* all of it are gone */
    else if (e->dims < 0) *blob = file.blobs[--file.count];
    else if (e->dims > 0)
        *blob = (gsa_blob){ blob->name, e->dtype, e->dims, { e->shape[0], e->shape[1] }, zeros };
    else if (blob->dtype == GSA_DTYPE_I64)
        ((int64_t *)at)[e->place] = ((int64_t *)at)[e->also ? e->also : e->place] = e->whole;
    else if (blob->dtype == GSA_DTYPE_F64) ((double *)at)[e->place] = e->real;
    else ((float *)at)[e->place] = (float)e->real;
    ck_assert_int_eq(gsa_output_open(NULL, path, &output, NULL), GSA_OK);
    ck_assert_int_eq(
        gsa_safetensors_write(NULL, output, file.blobs, file.count, file.notes, file.n_notes, NULL),
        GSA_OK);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    gsa_vouch(step);
    gsa_safetensors_release(&file);
}

#define PLACE(name) (int)(offsetof(gsa_run_counts, name) / sizeof(int64_t))
#define SUM(name)   (int)(offsetof(gsa_run_sums, name) / sizeof(double))
enum { COUNTS = sizeof(gsa_run_counts) / 8, SUMS = sizeof(gsa_run_sums) / 8 };
#define NUMBER(name, said, at, n, x)                                                               \
    {                                                                                              \
        .tensor = name, .says = said, .place = at, .whole = n, .real = x                           \
    }
#define SHAPED(name, said, type, n, ...)                                                           \
    {                                                                                              \
        .tensor = name, .says = said, .dtype = type, .dims = n, .shape = { __VA_ARGS__ }           \
    }
#define NONE  "no training state of this version"
#define OTHER "is missing or of another shape or type: a state of another run"

START_TEST(every_number_and_tensor_has_a_range)
{
    static const edit rows[] = {
        NUMBER("counts", "due is 8, expected 1 to 7", PLACE(due), 8,
               0), /* a bit that nothing ever clears */
        NUMBER("counts", "due is -1", PLACE(due), -1, 0),
        NUMBER("counts", "step is 9223372036854775807", PLACE(step), INT64_MAX, 0),
        NUMBER("counts", "skipped is 0, expected 999996 to 999996", PLACE(step), 1000000, 0),
        { "counts", "epoch is 1, expected 45455 to ", PLACE(step), 1000000,
          .also = PLACE(applied) },
        { "counts", "epoch is 1, and with its other counts no number would be right", PLACE(step),
          INT64_C(1) << 50, .also = PLACE(applied) },
        { "counts", "is of step 5, expected ", PLACE(step), 5, .also = PLACE(applied) },
        NUMBER("counts", "due is 2, expected 3 to 7", PLACE(due), 2, 0), /* no evaluation */
        NUMBER("counts", "due is 4, expected 5 to 7", PLACE(due), 4, 0),
        NUMBER("counts", "due is 1, expected 0 to 0", PLACE(cursor), 0, 0),
        NUMBER("counts", "cursor is 1, expected 3 to 3", PLACE(due), 3, 0),
        NUMBER("counts", "cursor is 3, expected 0 to 2", PLACE(cursor), 3, 0),
        NUMBER("counts", "step is 4, expected 5 to 5", PLACE(cursor), 2, 0),
        NUMBER("counts", "step is 4, expected 7 to 7", PLACE(epoch), 2, 0),
        NUMBER("counts", "evaluated is 4, expected -1 to 3", PLACE(evaluated), 4, 0),
        NUMBER("counts", "epoch is -1", PLACE(epoch), -1, 0),
        NUMBER("counts", "epoch is 0, expected 1 to 4", PLACE(epoch), 0, 0),
        NUMBER("counts", "epoch is 2147483648", PLACE(epoch), INT64_C(1) << 31, 0),
        NUMBER("counts", "cursor is 9223372036854775807", PLACE(cursor), INT64_MAX, 0),
        NUMBER("counts", "applied is 9223372036854775807", PLACE(applied), INT64_MAX, 0),
        NUMBER("counts", "skipped is 5", PLACE(skipped), 5, 0),
        NUMBER("counts", "skipped is 1, expected 0 to 0", PLACE(skipped), 1, 0),
        NUMBER("counts", "skipped is 0, expected 1 to 1", PLACE(applied), 3, 0),
        NUMBER("counts", "epoch is 5, expected 1 to 4", PLACE(epoch), 5, 0),
        NUMBER("counts", "cursor is 4, expected 0 to 3", PLACE(cursor), 4, 0),
        NUMBER("counts", "applied is -9223372036854775808", PLACE(applied), INT64_MIN, 0),
        NUMBER("counts", "best_step is -1, expected 1 to 2", PLACE(best_step), -1, 0),
        NUMBER("counts", "best_step is 5, expected 1 to 2", PLACE(best_step), 5, 0),
        NUMBER("counts", "has_best is 0, expected 1 to 1", PLACE(has_best), 0, 0),
        NUMBER("counts", "waited is 5, expected 0 to 0", PLACE(waited), 5, 0),
        NUMBER("counts", "waited is 0, expected 1 to 1", PLACE(best_step), 1, 0),
        NUMBER("counts", "has_best is 2", PLACE(has_best), 2, 0),
        NUMBER("counts", "best_step is 9223372036854775807", PLACE(best_step), INT64_MAX, 0),
        NUMBER("counts", "waited is 9223372036854775807", PLACE(waited), INT64_MAX, 0),
        NUMBER("counts", "ended is 3", PLACE(ended), 3, 0),
        NUMBER("counts", "keeps_best is -2", PLACE(keeps_best), -2, 0),
        NUMBER("counts", "epoch_targets is -4", PLACE(epoch_targets), -4, 0),
        NUMBER("counts", "report_targets is 9223372036854775807", PLACE(report_targets), INT64_MAX,
               0),
        NUMBER("counts", "tokens is 9223372036854775807", PLACE(tokens), INT64_MAX, 0),
        NUMBER("counts", "epoch_targets is 9007199254740992, expected 0 to 22",
               PLACE(epoch_targets), INT64_C(1) << 53, 0),
        NUMBER("counts", "report_targets is 9007199254740992, expected 0 to ",
               PLACE(report_targets), INT64_C(1) << 53, 0),
        NUMBER("counts", "tokens is 9007199254740992, expected 0 to ", PLACE(tokens),
               INT64_C(1) << 53, 0),
        NUMBER("counts", "dev[1] is 4, expected 1 to 1", PLACE(dev), 1, 0),
        NUMBER("counts", "expected 9007199254740992 to 9007199254740992", PLACE(dev),
               INT64_C(1) << 53, 0),
        NUMBER("counts", "dev[2] is 3, expected 0 to 0", PLACE(dev) + 2, 3, 0), /* no spans */
        NUMBER("counts", "dev[3] is 1000, expected 0 to ", PLACE(dev) + 3, 1000, 0),
        NUMBER("counts", "dev[4] is 1000, expected 0 to ", PLACE(dev) + 4, 1000, 0),
        NUMBER("counts", "dev[6] is 1000, expected 0 to ", PLACE(dev) + 6, 1000, 0),
        NUMBER("counts", "dev[7] is 1000, expected 0 to ", PLACE(dev) + 7, 1000, 0),
        NUMBER("counts", "evaluated is -2", PLACE(evaluated), -2, 0),
        NUMBER("counts", "dev[7] is -1", PLACE(dev) + 7, -1, 0),
        NUMBER("sums", "epoch_loss is nan", SUM(epoch_loss), 0, NAN),
        NUMBER("sums", "report_loss is inf", SUM(report_loss), 0, INFINITY),
        NUMBER("sums", "seconds is -1", SUM(seconds), 0, -1),
        NUMBER("sums", "seconds is 1e+30", SUM(seconds), 0, 1e30),
        NUMBER("first/head.out.bias", "of 'first/head.out.bias', counted from 0, is nan", 0, 0,
               NAN),
        NUMBER("counts", "is of version 99, expected", PLACE(version), 99, 0),
        NUMBER("counts", "the run had seed 99", PLACE(seed), 99, 0),
        NUMBER("counts", "99 training examples, this one has", PLACE(examples), 99, 0),
        NUMBER("sums", "best is inf", SUM(best), 0, INFINITY),
        NUMBER("sums", "last is nan", SUM(last), 0, NAN),
        NUMBER("sums", "dev_loss is -inf", SUM(dev_loss), 0, -INFINITY),
        NUMBER("sums", "dev_right is nan", SUM(dev_right), 0, NAN),
        NUMBER("sums", "epoch_loss is 1e+301", SUM(epoch_loss), 0, 1e301),
        NUMBER("sums", "epoch_loss is -8, expected ", SUM(epoch_loss), 0, -8),
        NUMBER("sums", "epoch_loss is 1e+290, expected ", SUM(epoch_loss), 0, 1e290),
        NUMBER("sums", "report_loss is -8, expected ", SUM(report_loss), 0, -8),
        NUMBER("sums", "report_loss is 1e+290, expected ", SUM(report_loss), 0, 1e290),
        NUMBER("sums", "dev_loss is -8, expected ", SUM(dev_loss), 0, -8),
        NUMBER("sums", "dev_loss is 1e+290, expected ", SUM(dev_loss), 0, 1e290),
        NUMBER("sums", "dev_right is -1, expected 0 to ", SUM(dev_right), 0, -1),
        NUMBER("sums", "dev_right is 1e+15, expected 0 to ", SUM(dev_right), 0, 1e15),
        NUMBER("sums", "dev score has accuracy 0", SUM(dev_right), 0, 0),
        NUMBER("sums", "best is 1e+15, expected 0 to 1", SUM(best), 0, 1e15),
        NUMBER("sums", "best is -1, expected 0 to 1", SUM(best), 0, -1),
        NUMBER("sums", "last is 1.5, expected 0.", SUM(last), 0, 1.5),
        NUMBER("sums", "last is 0.", SUM(best), 0, 1), /* of the same step */
        { "counts", "dev score has accuracy ", PLACE(dev) + 1, 1000, .also = PLACE(dev) },
        NUMBER("counts", "dev[2] is 1000, expected 0 to ", PLACE(dev) + 2, 1000, 0),
        NUMBER("counts", "dev[5] is 1, expected 0 to 0", PLACE(dev) + 5, 1, 0),
        NUMBER("counts", "has_best is 1, expected 0 to 0", PLACE(evaluated), -1, 0),
        NUMBER("counts", "best_step is ", PLACE(evaluated), 0, 0),
        NUMBER("counts", "ended is 1, expected 0 to 0", PLACE(ended), 1, 0),
        SHAPED("counts", NONE, 0, -1, 0),
        SHAPED("counts", NONE, GSA_DTYPE_F64, 1, COUNTS),
        SHAPED("counts", NONE, GSA_DTYPE_I64, 2, COUNTS, 1),
        SHAPED("counts", NONE, GSA_DTYPE_I64, 1, COUNTS + 1),
        SHAPED("sums", NONE, 0, -1, 0),
        SHAPED("sums", NONE, GSA_DTYPE_I64, 1, SUMS),
        SHAPED("sums", NONE, GSA_DTYPE_F64, 2, SUMS, 1),
        SHAPED("sums", NONE, GSA_DTYPE_F64, 1, SUMS - 1),
        SHAPED("weight/", "has no tensors 'weight/...', though", 0, -1, 0),
        SHAPED("first/head.out.bias", OTHER, 0, -1, 0),
        SHAPED("second/head.out.bias", OTHER, 0, -1, 0),
        SHAPED("mean/head.out.bias", OTHER, 0, -1, 0),
        SHAPED("weight/head.out.bias", OTHER, 0, -1, 0),
        SHAPED("first/head.out.bias", OTHER, GSA_DTYPE_F64, 2, 1, 2),
        SHAPED("second/head.out.bias", OTHER, GSA_DTYPE_F32, 1, 2),
        SHAPED("mean/head.out.bias", OTHER, GSA_DTYPE_F32, 2, 1, 3),
        SHAPED("weight/head.out.bias", OTHER, GSA_DTYPE_F32, 2, 2, 2),
    };
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.eval_every=2");
    stop_run(&r, "whole", 4);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        copy_run(&r, "whole", "run");
        apply(&r, "run", &rows[i]);
        ck_assert_msg(rig_resume(&r, "run") != GSA_OK, "%s was taken", rows[i].says);
        ck_assert_msg(strstr(r.error.text, rows[i].says), "%s: %s", rows[i].says, r.error.text);
    }
    rig_close(&r);
}
END_TEST

/* The run, whose epochs have three steps, as it would be so many epochs and a step after its
 * beginning. */
static void move_on(const rig *r, const char *run, int64_t epoch)
{
    const int64_t step = 3 * epoch + 1;
    const edit steps = { "counts", .place = PLACE(step), .whole = step, .also = PLACE(applied) },
               epochs = NUMBER("counts", "", PLACE(epoch), epoch, 0);
    char from[480], to[512];
    step_of(r, run, from, sizeof from);
    snprintf(to, sizeof to, "%.*s/step-%lld", (int)(strrchr(from, '/') - from), from,
             (long long)step);
    apply(r, run, &steps), apply(r, run, &epochs);
    ck_assert_int_eq(rename(from, to), 0);
    gsa_vouch(to);
    snprintf(from, sizeof from, "%s", gsa_scratch_path(&r->scratch, "%s/latest", run));
    ck_assert_int_eq(remove(from), 0);
}

/* What a run saves it reads: nothing that is counted leaves its range in the steps to come. */
START_TEST(a_run_goes_on_from_the_highest_numbers)
{
    static const edit tokens = NUMBER("counts", "", PLACE(tokens), INT64_C(1) << 53, 0),
                      seconds = NUMBER("sums", "", SUM(seconds), 0, 1e12);
    char most[64];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.eval_every=2");
    stop_run(&r, "run", 4);
    move_on(&r, "run", 70000);
    apply(&r, "run", &tokens), apply(&r, "run", &seconds);
    rig_set(&r, "train.epochs=100000");
    for (int64_t step = 210003; step < 210006; step++) {
        snprintf(most, sizeof most, "train.max_steps=%lld", (long long)step);
        rig_set(&r, most);
        ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    }
    rig_close(&r);
}
END_TEST

/* A resume prints the epoch plus one and saves it: both stay in range. */
START_TEST(no_epoch_goes_on_after_the_last)
{
    static const struct {
        int64_t epoch;
        const char *said; /* NULL: it is read */
    } rows[] = { { 999999, NULL },
                 { 1000000, "epoch is 1000000, expected 136364 to 999999" },
                 { INT32_MAX, "epoch is 2147483647, and with its other counts no number" } };
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.eval_every=2");
    stop_run(&r, "whole", 4);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        copy_run(&r, "whole", "run");
        move_on(&r, "run", rows[i].epoch);
        const gsa_status status = rig_resume(&r, "run");
        ck_assert_msg(rows[i].said
                          ? status == GSA_ERR_FORMAT && strstr(r.error.text, rows[i].said) != NULL
                          : status == GSA_OK,
                      "epoch %lld: %s", (long long)rows[i].epoch, r.error.text);
    }
    rig_close(&r);
}
END_TEST

/* Where an example has several targets. */
START_TEST(targets_are_of_examples)
{
    static const edit none = NUMBER("counts", "", PLACE(dev) + 1, 0, 0);
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.eval_every=2");
    stop_run(&r, "run", 4);
    apply(&r, "run", &none);
    ck_assert_int_ne(rig_resume(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, "dev[1] is 0, expected 1 to "), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

START_TEST(second_moments_are_means_of_squares)
{
    static const edit negative = NUMBER("second/head.out.bias", "", 1, 0, -1);
    rig r;
    rig_open(&r, rig_text, _i ? GSA_F64 : GSA_F32, 1);
    stop_run(&r, "run", 4);
    apply(&r, "run", &negative);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "state.safetensors: number 1 of 'second/head.out.bias', "
                                       "counted from 0, is -1, expected 0 or more: a mean"),
                  "%s", r.error.text);
    rig_close(&r);
}
END_TEST

START_TEST(weights_beside_the_present_model_are_refused)
{
    static const edit none = NUMBER("counts", "", PLACE(keeps_best), 0, 0);
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.eval_every=2"), rig_set(&r, "train.average=0");
    rig_set(&r, "train.select=best");
    stop_run(&r, "run", 4);
    rig_set(&r, "train.select=last");
    apply(&r, "run", &none);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "has tensors 'weight/...', though"), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* ---- bytes --------------------------------------------------------------------------------- */

/* Whatever a bit turns, or wherever the file is cut, with a manifest that says so: the run goes on
 * or is refused, and nothing else happens. The header's bits one by one, the others here and
 * there. */
START_TEST(bits_and_cuts_are_survived)
{
    enum { HEADER = 4000 };
    rig r;
    char path[512], step[480];
    int64_t bytes, refused = 0, taken = 0;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.max_steps=4");
    rig_set(&r, "model.encoder=star");
    rig_train_ok(&r, "run");
    step_of(&r, "run", step, sizeof step);
    snprintf(path, sizeof path, "%s/" GSA_STATE_FILE, step);
    char *whole = gsa_get_file(path, &bytes), *spoilt = malloc((size_t)bytes);
    const int64_t stride = GSA_THIN(4) > 1 ? 397 : 101;
    for (int64_t bit = 0; bit < 8 * bytes; bit += bit < 64       ? 1
                                                  : bit < HEADER ? stride
                                                                 : 8 * stride) {
        memcpy(spoilt, whole, (size_t)bytes);
        spoilt[bit / 8] ^= (char)(1 << bit % 8);
        gsa_put_file(path, spoilt, bytes);
        gsa_vouch(step);
        const gsa_status status = rig_resume(&r, "run");
        if (status == GSA_OK) taken++;
        else refused++;
        ck_assert_msg(status == GSA_OK || strstr(r.error.text, GSA_STATE_FILE), "bit %lld: %s",
                      (long long)bit, r.error.text);
    }
    for (int64_t cut = 0; cut < bytes; cut += 1 + bytes / 50) {
        gsa_put_file(path, whole, cut);
        gsa_vouch(step);
        ck_assert_msg(rig_resume(&r, "run") != GSA_OK && strstr(r.error.text, GSA_STATE_FILE),
                      "cut after %lld bytes", (long long)cut);
    }
    gsa_put_file(path, whole, bytes);
    gsa_vouch(step);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_OK);
    ck_assert(refused > 64 && taken > 0);
    free(whole);
    free(spoilt);
    rig_close(&r);
}
END_TEST

/* Files of one run among those of another, with a manifest that says so. */
START_TEST(files_of_another_run_are_refused)
{
    static const struct {
        const char *set, *file, *says;
    } rows[] = {
        { "model.hidden=16", GSA_STATE_FILE, "a state of another run" },
        { "model.encoder=star", GSA_STATE_FILE, "a state of another run" },
        { "model.hidden=16", GSA_MODEL_FILE, GSA_MODEL_FILE },
        { "model.encoder=star", GSA_MODEL_FILE, GSA_MODEL_FILE },
        { "train.seed=6", GSA_STATE_FILE, "the run had seed 6" },
    };
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    stop_run(&r, "whole", 4);
    const int sets = r.sets;
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        int64_t bytes;
        char other[16], step[480];
        snprintf(other, sizeof other, "other%d", i);
        rig_set(&r, rows[i].set);
        stop_run(&r, other, 4);
        r.sets = sets;
        char *theirs = rig_checkpoint_file(&r, other, rows[i].file, &bytes);
        copy_run(&r, "whole", "run");
        step_of(&r, "run", step, sizeof step);
        gsa_put_file(
            gsa_scratch_path(&r.scratch, "run/%s/%s", strrchr(step, '/') + 1, rows[i].file), theirs,
            bytes);
        gsa_vouch(step);
        ck_assert_msg(rig_resume(&r, "run") != GSA_OK, "%s of %s was taken", rows[i].file,
                      rows[i].set);
        ck_assert_msg(strstr(r.error.text, rows[i].says), "%s: %s", rows[i].set, r.error.text);
        free(theirs);
    }
    rig_close(&r);
}
END_TEST

START_TEST(a_state_under_the_log_of_another_run_is_refused)
{
    char from[480], to[480];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    stop_run(&r, "run", 4);
    rig_set(&r, "train.seed=6");
    stop_run(&r, "other", 4);
    r.sets--;
    snprintf(from, sizeof from, "%s", gsa_scratch_path(&r.scratch, "other/log.jsonl"));
    snprintf(to, sizeof to, "%s", gsa_scratch_path(&r.scratch, "run/log.jsonl"));
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "the checkpoint is of another run than '"), "%s",
                  r.error.text);
    rig_close(&r);
}
END_TEST

/* Frozen weights, several optimisers, a mean or none, the best model or the last: what is stopped
 * and goes on is as if nothing had been. */
START_TEST(all_that_a_state_holds)
{
    static const char *const sets[][4] = {
        { "train.select=best", "train.lr=0.05" },
        { "train.select=best", "train.optimizer=sgd", "train.average=0", "train.momentum=0.9" },
        { "train.select=best", "train.optimizer=sgd", "train.average=0", "train.momentum=0" },
        { "train.select=last", "train.optimizer=sgd", "train.average=0", "train.momentum=0" },
        { "train.select=last", "train.average=0" },
    };
    static const char vectors[] = "film 3 4 1 1 2 2 1 1\nunheard 1 0 1 1 2 2 1 1\n";
    rig r;
    char frozen[300];
    rig_open(&r, rig_text, GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "v.txt"), vectors, sizeof vectors - 1);
    snprintf(frozen, sizeof frozen, "data.vectors=%s/v.txt", r.scratch.folder);
    rig_set(&r, frozen);
    rig_set(&r, "train.eval_every=1");
    if (_i % 2 == 0) rig_set(&r, "data.vectors_frozen=1");
    for (int i = 0; i < 4 && sets[_i / 2][i]; i++) rig_set(&r, sets[_i / 2][i]);
    rig_train_ok(&r, "whole");
    stop_run(&r, "cut", 4);
    ck_assert_msg(rig_resume(&r, "cut") == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "whole", "cut"), 0);
    if (_i / 2 == 4) { /* it kept no best model */
        stop_run(&r, "last", 4);
        rig_set(&r, "train.select=best");
        ck_assert_int_eq(rig_resume(&r, "last"), GSA_ERR_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(r.error.text, "the run kept no best model"));
    }
    rig_close(&r);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

enum { COPY, DOWNLOAD, UPLOAD, ALLOC, BACKEND_CALLS };
static struct {
    gsa_faults faults;
    gsa_system table;
    gsa_backend whole;
    const char *refused; /* a file that cannot be opened to write; NULL: none */
    int call;            /* whose n-th from `from` on fails; BACKEND_CALLS: a host's allocation */
    const char *from;    /* the opening of that file; NULL: the first step, or the start */
    int64_t calls, n;
} broken;

static void break_now(void)
{
    gsa_faults_rewind(&broken.faults);
    broken.calls = 0;
    if (broken.call == BACKEND_CALLS) broken.faults.fail[GSA_OP_ALLOC] = broken.n;
}

static int is_file(const char *path, const char *file)
{
    const char *slash = strrchr(path, '/');
    return file && slash && strncmp(slash + 1, file, strlen(file)) == 0;
}

static int open_unless(void *user, const char *path, int mode)
{
    if (mode != GSA_OPEN_READ && is_file(path, broken.refused)) return errno = ENOSPC, -1;
    const int file = broken.faults.table.open(user, path, mode);
    if (is_file(path, broken.from)) break_now();
    return file;
}

static int breaks(int call)
{
    return broken.call == call && broken.n > 0 && ++broken.calls == broken.n;
}

static gsa_status fail_copy(gsa_backend *b)
{
    return gsa_fail(&b->error, GSA_ERR_DEVICE, "call %d broke", (int)broken.n);
}

static gsa_status copy(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    return breaks(COPY) ? fail_copy(b) : broken.whole.copy(b, to, from, bytes);
}

static gsa_status download(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    return breaks(DOWNLOAD) ? fail_copy(b) : broken.whole.download(b, to, from, bytes);
}

static gsa_status upload(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    return breaks(UPLOAD) ? fail_copy(b) : broken.whole.upload(b, to, from, bytes);
}

static void *alloc(gsa_backend *b, int64_t bytes)
{
    return breaks(ALLOC) ? NULL : broken.whole.alloc(b, bytes);
}

static void after_first_step(rig *r, const gsa_progress *p)
{
    (void)r;
    if (!broken.from && p->kind == 0 && p->step == 1) break_now();
}

static int reached(void)
{
    return (broken.call == BACKEND_CALLS ? broken.faults.calls[GSA_OP_ALLOC] : broken.calls) >=
           broken.n;
}

static void open_breakable(rig *r, const char *recipe)
{
    rig_open(r, recipe, GSA_F32, 1);
    gsa_faults_start(&broken.faults);
    broken.table = broken.faults.table;
    broken.table.open = open_unless;
    broken.whole = *r->backend;
    r->backend->copy = copy, r->backend->download = download;
    r->backend->upload = upload, r->backend->alloc = alloc;
    r->system = &broken.table;
    rig_set(r, "train.prefetch=0"); /* no second thread, whose calls come in between */
    rig_set(r, "train.max_steps=2");
    rig_set(r, "train.eval_every=1");
    rig_set(r, "train.select=best");
    rig_set(r, "train.checkpoint_every=1");
    rig_set(r, "model.encoder=star");
}

/* The n-th call from a moment on fails, until there is no such call: a status and a sentence. */
START_TEST(every_failed_call_ends_the_run)
{
    static const struct {
        int call, resumed, dense;
        const char *from;
    } moments[] = {
        { COPY, 0, 16, NULL },
        { DOWNLOAD, 0, 16, NULL },
        { ALLOC, 0, 16, NULL },
        { BACKEND_CALLS, 0, 64, NULL }, /* the first 64 have that of the best model */
        { BACKEND_CALLS, 0, 16, GSA_MODEL_FILE },
        { BACKEND_CALLS, 0, 16, "labels.txt" }, /* the last file before the state */
        { BACKEND_CALLS, 0, 16, GSA_STATE_FILE },
        { COPY, 1, 16, NULL },
        { UPLOAD, 1, 16, NULL },
        { ALLOC, 1, 16, NULL },
        { BACKEND_CALLS, 1, 16, NULL },
        { BACKEND_CALLS, 1, 16, GSA_MODEL_FILE },
        { BACKEND_CALLS, 1, 1000, "labels.txt" },
        { BACKEND_CALLS, 1, 16, GSA_STATE_FILE },
    };
    const int resumed = moments[_i].resumed;
    rig r;
    broken.call = moments[_i].call, broken.n = 0, broken.from = NULL, broken.refused = NULL;
    open_breakable(&r, rig_text);
    if (resumed) stop_run(&r, "whole", 1);
    else r.each = after_first_step;
    broken.from = moments[_i].from;
    do {
        char name[16];
        broken.n +=
            1 + broken.n / (moments[_i].dense / GSA_THIN(4)); /* the first ones all, then fewer */
        snprintf(name, sizeof name, "run%d", (int)broken.n);
        if (resumed) copy_run(&r, "whole", name), break_now();
        const gsa_status status = resumed ? rig_resume(&r, name) : rig_train(&r, name);
        if (!reached()) ck_assert_msg(status == GSA_OK, "%s", r.error.text);
        else if (status != GSA_OK) ck_assert(*r.error.text);
        gsa_release(r.system, r.result);
        r.result = NULL;
        ck_assert_int_eq(gsa_faults_live(&broken.faults), 0);
    } while (reached());
    rig_close(&r);
}
END_TEST

/* As many lines, each as long as before: one letter is another. */
START_TEST(data_that_has_changed_is_refused)
{
    static const char *const files[] = { "train.tsv", "dev.tsv", "test.tsv" };
    char said[64], test[512];
    int64_t bytes;
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    char *dev = gsa_get_file(gsa_scratch_path(&r.scratch, "dev.tsv"), &bytes);
    gsa_put_file(gsa_scratch_path(&r.scratch, "test.tsv"), dev, bytes);
    free(dev);
    snprintf(test, sizeof test, "data.test=%s/test.tsv", r.scratch.folder);
    rig_set(&r, test);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    rig_set(&r, "train.epochs=2");
    for (int i = 0; i < GSA_COUNT(files); i++) {
        const char *path = gsa_scratch_path(&r.scratch, "%s", files[i]);
        char *text = gsa_get_file(path, &bytes), *at = strchr(text, '\t') + 1, letter = *at;
        *at = letter == 'x' ? 'y' : 'x';
        gsa_put_file(path, text, bytes);
        ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_ARGUMENT);
        snprintf(said, sizeof said, "/%s has changed since the run began", files[i]);
        ck_assert_msg(strstr(r.error.text, said) != NULL, "%s", r.error.text);
        ck_assert(remove(path) == 0 && mkfifo(path, 0600) == 0);
        ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_ARGUMENT);
        snprintf(said, sizeof said, "/%s is no regular file, and was one", files[i]);
        ck_assert_msg(strstr(r.error.text, said) != NULL, "%s", r.error.text);
        ck_assert_int_eq(remove(path), 0);
        *at = letter;
        gsa_put_file(path, text, bytes);
        free(text);
    }
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* Each file of a checkpoint, in turn, cannot be written: the run says which. */
START_TEST(a_file_that_cannot_be_written_is_named)
{
    static const char *const files[] = { GSA_MODEL_FILE,  "config.ini",     "vocab.txt",
                                         "inputs.sha256", "plugins.sha256", "data.sha256",
                                         GSA_STATE_FILE };
    static const char words[] = "fine film\ngood\n";
    rig r;
    char encoder[400];
    broken.call = BACKEND_CALLS, broken.n = 0, broken.from = NULL, broken.refused = files[_i];
    open_breakable(&r, rig_text);
    const char *lexicon = gsa_scratch_path(&r.scratch, "words.txt");
    gsa_put_file(lexicon, words, sizeof words - 1);
    snprintf(encoder, sizeof encoder, "model.encoder=char_word:lexicon=%s,odd", lexicon);
    rig_set(&r, encoder);
    r.plugin = GSA_ODD_PLUGIN;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_IO);
    ck_assert_msg(strstr(r.error.text, files[_i]) && strstr(r.error.text, "No space left"), "%s",
                  r.error.text);
    ck_assert_int_eq(gsa_faults_live(&broken.faults), 0);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test hostile[] = { GSA_LOOP(all_that_a_state_holds, 10),
                                        GSA_TEST(every_number_and_tensor_has_a_range),
                                        GSA_TEST(a_run_goes_on_from_the_highest_numbers),
                                        GSA_TEST(no_epoch_goes_on_after_the_last),
                                        GSA_TEST(targets_are_of_examples),
                                        GSA_LOOP(second_moments_are_means_of_squares, 2),
                                        GSA_TEST(weights_beside_the_present_model_are_refused),
                                        GSA_TEST(bits_and_cuts_are_survived),
                                        GSA_TEST(data_that_has_changed_is_refused),
                                        GSA_TEST(files_of_another_run_are_refused),
                                        GSA_TEST(a_state_under_the_log_of_another_run_is_refused) };
    static const gsa_test faults[] = { GSA_LOOP(every_failed_call_ends_the_run, 14),
                                       GSA_LOOP(a_file_that_cannot_be_written_is_named, 7) };
    static const gsa_case cases[] = { GSA_CASE("hostile", hostile, 60),
                                      GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("state", cases, GSA_COUNT(cases), argc, argv);
}
