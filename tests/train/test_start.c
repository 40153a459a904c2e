/* train.start: a run that begins with the weights, words and labels of another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

static char start[320]; /* the override that names the run, of the open rig */

static void start_from(rig *r, const char *run)
{
    snprintf(start, sizeof start, "train.start=%s/%s", r->scratch.folder, run);
    rig_set(r, start);
}

static int same_file(const rig *r, const char *a, const char *b, const char *file)
{
    int64_t bytes[2];
    char *content[2] = { rig_checkpoint_file(r, a, file, &bytes[0]),
                         rig_checkpoint_file(r, b, file, &bytes[1]) };
    const int same = bytes[0] == bytes[1] && memcmp(content[0], content[1], (size_t)bytes[0]) == 0;
    for (int i = 0; i < 2; i++) free(content[i]);
    return same;
}

START_TEST(weights_are_the_others)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "first");
    rig_set(&r, "train.seed=6");
    rig_set(&r, "train.epochs=0");
    rig_train_ok(&r, "fresh");
    ck_assert(!same_file(&r, "first", "fresh", "model.safetensors")); /* the comparison can fail */
    start_from(&r, "first");
    rig_train_ok(&r, "begun");
    ck_assert(same_file(&r, "first", "begun", "model.safetensors"));
    rig_close(&r);
}
END_TEST

START_TEST(optimiser_and_schedule_are_new)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "first");
    start_from(&r, "first");
    rig_train_ok(&r, "second");
    ck_assert_int_eq(r.last_step, 9);
    ck_assert(!same_file(&r, "first", "second", "model.safetensors"));
    rig_train_ok(&r, "again"); /* reads the first run, not what is in its own folder */
    ck_assert_int_eq(rig_differ(&r, "second", "again"), 0);
    rig_close(&r);
}
END_TEST

START_TEST(words_are_the_others)
{
    static const char text[] =
        "good\tquite other words\nbad\tnone of them known\ngood\ta film\nbad\ta mess\n";
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "first");
    gsa_put_file(gsa_scratch_path(&r.scratch, "other.tsv"), text, sizeof text - 1);
    r.data[0] = "other.tsv";
    rig_train_ok(&r, "alone");
    ck_assert(!same_file(&r, "first", "alone", "vocab.txt"));
    start_from(&r, "first");
    rig_train_ok(&r, "second");
    ck_assert(same_file(&r, "first", "second", "vocab.txt"));
    rig_close(&r);
}
END_TEST

/* data.vectors of a recipe that the first run was trained by: their width is its embedding's, they
 * are not read again. */
START_TEST(vectors_give_way)
{
    static const char vectors[] = "good 1 2 3\nfilm 2 3 4\n";
    char set[320];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "vectors.txt"), vectors, sizeof vectors - 1);
    snprintf(set, sizeof set, "data.vectors=%s/vectors.txt", r.scratch.folder);
    rig_set(&r, set);
    rig_train_ok(&r, "first");
    rig_set(&r, "train.epochs=0");
    start_from(&r, "first");
    rig_train_ok(&r, "begun");
    ck_assert(same_file(&r, "first", "begun", "model.safetensors"));
    rig_close(&r);
}
END_TEST

START_TEST(a_resumed_run_does_not_begin_again)
{
    rig r;
    char folder[2][320];
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "first");
    start_from(&r, "first");
    rig_train_ok(&r, "whole");
    r.stop_at = 4;
    ck_assert_int_eq(rig_train(&r, "cut"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    snprintf(folder[0], sizeof folder[0], "%s/first", r.scratch.folder);
    snprintf(folder[1], sizeof folder[1], "%s/away", r.scratch.folder);
    ck_assert_int_eq(rename(folder[0], folder[1]), 0);
    start_from(&r, "away");
    ck_assert_int_ne(rig_resume(&r, "cut"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, "does nothing: a run that goes on") != NULL, "%s",
                  r.error.text);
    r.sets = 0;
    ck_assert_msg(rig_resume(&r, "cut") == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "whole", "cut"), 0);
    rig_close(&r);
}
END_TEST

START_TEST(what_cannot_be_begun_with_is_refused)
{
    static const struct {
        const char *run, *set, *says;
    } cases[] = {
        { "none", "train.epochs=1", "none' is no folder of checkpoints" },
        { "train.tsv", "train.epochs=1", "is no folder of checkpoints" },
        { "first", "model.hidden=16", "' is [" },
        { "first", "model.encoder=star", "checkpoint of another model" },
        { "first", "data.tokens=chars",
          "was trained with data.tokens = words, this recipe has chars" },
        { "sums", "train.epochs=1",
          "was trained with task.name = masked_summation, this recipe has text_classification" },
    };
    rig r, sums;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "first");
    rig_open(&sums, rig_summation, GSA_F32, 1);
    rig_train_ok(&sums, "sums");
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        r.sets = 0;
        start_from(&r, cases[i].run);
        if (strcmp(cases[i].run, "sums") == 0)
            snprintf(start, sizeof start, "train.start=%s/sums", sums.scratch.folder);
        rig_set(&r, cases[i].set);
        const gsa_status status = rig_train(&r, "second");
        ck_assert_msg(status != GSA_OK, "%s, %s", cases[i].run, cases[i].set);
        ck_assert_msg(strncmp(r.error.text, "train.start: ", 13) == 0, "%s", r.error.text);
        ck_assert_msg(strstr(r.error.text, cases[i].says) != NULL, "%s", r.error.text);
    }
    rig_close(&sums);
    rig_close(&r);
}
END_TEST

START_TEST(no_memory_is_reported)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.max_steps=1");
    rig_set(&r, "model.encoder=star");
    rig_train_ok(&r, "first");
    start_from(&r, "first");
    gsa_release(gsa_system_default(), r.result);
    r.result = NULL;
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 1, GSA_ERR_MEMORY, rig_train_faulty, &r), 1);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test runs[] = { GSA_LOOP(weights_are_the_others, GSA_COUNT(recipes)),
                                     GSA_LOOP(optimiser_and_schedule_are_new, GSA_COUNT(recipes)),
                                     GSA_TEST(words_are_the_others),
                                     GSA_TEST(vectors_give_way),
                                     GSA_TEST(a_resumed_run_does_not_begin_again),
                                     GSA_TEST(what_cannot_be_begun_with_is_refused) };
    static const gsa_test faults[] = { GSA_TEST(no_memory_is_reported) };
    static const gsa_case cases[] = { GSA_CASE("runs", runs, 60), GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("start", cases, GSA_COUNT(cases), argc, argv);
}
