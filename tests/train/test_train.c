/* Whole runs: the same bits from the same recipe, whatever the threads, the split into pieces, or
 * the interruptions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "rig.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/guard.h"
#include "train/chart/chart.h"
#include "train/driver/gradient_tree.h"

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

/* ---- bits ---------------------------------------------------------------------------------- */

START_TEST(two_runs_are_equal)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "a");
    rig_train_ok(&r, "b");
    ck_assert_int_eq(rig_differ(&r, "a", "b"), 0);
    rig_set(&r, "train.seed=6");
    rig_train_ok(&r, "c");
    ck_assert_int_ne(rig_differ(&r, "a", "c"), 0); /* the comparison can fail */
    rig_close(&r);
}
END_TEST

START_TEST(threads_do_not_change_bits)
{
    static const int threads[] = { 1, 2, 3, 8, 16 };
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "model.hidden=72");
    rig_set(&r, recipes[_i] == rig_language ? "model.head_hidden=72"
                                            : "model.head_hidden=40"); /* tied: one width */
    rig_set(&r, "train.batch=11");
    if (recipes[_i] == rig_summation) rig_set(&r, "task.n=33");
    rig_train_ok(&r, "t1");
    for (int i = 1; i < GSA_COUNT(threads); i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", threads[i]);
        gsa_backend_release(r.backend);
        ck_assert_int_eq(
            gsa_test_backend(gsa_system_default(), GSA_F32, threads[i], &r.backend, &r.error),
            GSA_OK);
        ck_assert_int_eq(r.backend->threads, threads[i]);
        rig_train_ok(&r, name);
        ck_assert_int_eq(rig_differ(&r, "t1", name), 0);
    }
    rig_close(&r);
}
END_TEST

/* ---- splits: the same global batch of 8 in pieces of 8, 4, 2, 1 ---------------------------- */

static double loss_of_split(rig *r, const char *batch, const char *accumulate, const char *dropout)
{
    r->sets = 0;
    rig_set(r, batch);
    rig_set(r, accumulate);
    rig_set(r, dropout);
    rig_set(r, "train.max_steps=2");
    rig_train_ok(r, NULL);
    return r->loss; /* of step 2: with the masks of step 2 on weights that step 1's masks made */
}

START_TEST(pieces_draw_the_same_masks)
{
    static const char *const split[][2] = { { "train.batch=8", "train.accumulate=1" },
                                            { "train.batch=4", "train.accumulate=2" },
                                            { "train.batch=2", "train.accumulate=4" },
                                            { "train.batch=1", "train.accumulate=8" } };
    for (int real = GSA_F32; real <= GSA_F64; real++) {
        rig r;
        const double tolerance = real == GSA_F32 ? 1e-5 : 1e-12;
        rig_open(&r, recipes[_i], real, 1);
        const double whole = loss_of_split(&r, split[0][0], split[0][1], "model.dropout_head=0.5");
        for (int s = 1; s < GSA_COUNT(split); s++) {
            const double loss =
                loss_of_split(&r, split[s][0], split[s][1], "model.dropout_head=0.5");
            ck_assert_double_eq_tol(loss, whole, tolerance * fabs(whole));
        }
        ck_assert(fabs(loss_of_split(&r, split[0][0], split[0][1], "model.dropout_head=0.4") -
                       whole) > 1e-4 * fabs(whole));
        rig_close(&r);
    }
}
END_TEST

/* ---- train.pieces: gradients are added along a tree ---------------------------------------- */

START_TEST(gradients_are_added_along_a_tree)
{
    /* in float, from left to right: 1; ((1 + e) + (e + e)) is 1 + 2e */
    static const float leaf[] = { 1, 0x1p-24f, 0x1p-24f, 0x1p-24f };
    gsa_error error;
    gsa_backend *b;
    gsa_parameters *parameters;
    gsa_parameter *p;
    gsa_tree tree;
    float sum;
    ck_assert_int_eq(gsa_test_backend(gsa_system_default(), GSA_F32, 1, &b, &error), GSA_OK);
    ck_assert_int_eq(gsa_parameters_create(gsa_system_default(), b, 1, &parameters, &error),
                     GSA_OK);
    ck_assert_int_eq(
        gsa_parameters_add(parameters, "w", 1, 1, GSA_INIT_ONE, 0, GSA_BY_ROWS, &p, &error),
        GSA_OK);
    ck_assert_int_eq(gsa_tree_create(gsa_system_default(), parameters, 4, NULL, &tree, &error),
                     GSA_OK);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(b->download(b, &sum, p->value.grad, sizeof sum), GSA_OK);
        ck_assert(sum == 0);
        ck_assert_int_eq(b->upload(b, p->value.grad, &leaf[i], sizeof leaf[i]), GSA_OK);
        if (p->value.marks) p->value.marks->row[0] = 1;
        ck_assert_int_eq(gsa_tree_add(&tree, i, &error), GSA_OK);
    }
    ck_assert_int_eq(b->download(b, &sum, p->value.grad, sizeof sum), GSA_OK);
    ck_assert(sum == 1 + 0x1p-23f);
    gsa_tree_release(&tree);
    gsa_parameters_release(parameters);
    gsa_backend_release(b);
}
END_TEST

/* More pieces than examples, too: some are empty. */
START_TEST(pieces_change_rounding_alone)
{
    static const char *const pieces[] = { "train.pieces=2", "train.pieces=8", "train.pieces=32" },
                             *const cut[] = { "cut2", "cut8", "cut32" };
    for (int real = GSA_F32; real <= GSA_F64; real++) {
        rig r;
        rig_open(&r, recipes[_i], real, 1);
        rig_train_ok(&r, "whole");
        const double whole = r.loss;
        for (int s = 0; s < GSA_COUNT(pieces); s++) {
            r.sets = 0;
            rig_set(&r, pieces[s]);
            rig_train_ok(&r, pieces[s]);
            ck_assert_double_eq_tol(r.loss, whole, (real == GSA_F32 ? 1e-4 : 1e-11) * fabs(whole));
            ck_assert_int_ne(rig_differ(&r, "whole", pieces[s]), 0);
            r.stop_at = 5;
            ck_assert_int_eq(rig_train(&r, cut[s]), GSA_ERR_INTERRUPTED);
            r.stop_at = 0;
            ck_assert_msg(rig_resume(&r, cut[s]) == GSA_OK, "%s", r.error.text);
            ck_assert_int_eq(rig_differ(&r, pieces[s], cut[s]), 0);
        }
        rig_close(&r);
    }
}
END_TEST

/* ---- interruptions ------------------------------------------------------------------------- */

START_TEST(resume_after_every_step)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "whole");
    ck_assert_int_eq(r.last_step, 9);
    for (int64_t step = 1; step <= 9; step += r.backend->shares_host_memory ? 1 : 4) {
        char name[16];
        snprintf(name, sizeof name, "cut%d", (int)step);
        r.stop_at = step;
        const gsa_status status = rig_train(&r, name);
        ck_assert_msg(status == GSA_ERR_INTERRUPTED, "step %d: %s", (int)step, r.error.text);
        ck_assert_ptr_nonnull(strstr(r.error.text, "it goes on with --resume"));
        ck_assert_ptr_null(r.result);
        r.stop_at = 0;
        ck_assert_msg(rig_resume(&r, name) == GSA_OK, "%s", r.error.text);
        ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
    }
    rig_close(&r);
}
END_TEST

START_TEST(resume_after_a_stop_anywhere)
{
    /* between two pieces of a step, in an evaluation, in the test at the end: wherever a matrix is
     * multiplied */
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "train.eval_every=2");
    rig_set(&r, "train.checkpoint_every=4");
    rig_set(&r, "train.early_stop=50");
    rig_stop_in_gemm(&r, 0);
    rig_train_ok(&r, "whole");
    const int64_t calls = rig_gemm_calls(), places = r.backend->shares_host_memory ? 23 : 5,
                  stride = calls / places + 1;
    int stopped = 0;
    for (int64_t n = 1; n <= calls; n += stride) {
        char name[24];
        snprintf(name, sizeof name, "at%d", (int)n);
        rig_stop_in_gemm(&r, n);
        gsa_status status = rig_train(&r, name);
        stopped += status == GSA_ERR_INTERRUPTED;
        rig_stop_in_gemm(&r, n / 2 + 1); /* a second stop on the way */
        if (status == GSA_ERR_INTERRUPTED) status = rig_resume(&r, name);
        rig_stop_in_gemm(&r, 0);
        if (status == GSA_ERR_INTERRUPTED) status = rig_resume(&r, name);
        ck_assert_msg(status == GSA_OK, "%s", r.error.text);
        ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
    }
    ck_assert_int_gt(stopped, places / 2);
    rig_close(&r);
}
END_TEST

START_TEST(the_log_of_a_resumed_run_is_whole)
{
    rig r;
    int64_t bytes;
    rig_open(&r, rig_text, GSA_F32, 1);
    r.stop_at = 5;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    FILE *log = fopen(gsa_scratch_path(&r.scratch, "run/log.jsonl"),
                      "a"); /* what a killed process may leave */
    fputs("{\"kind\":\"step\",\"epoch\":3,\"step\":8,\"loss\":1}\n{\"kind\":\"step\",\"ep", log);
    fclose(log);
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    char *text = gsa_get_file(gsa_scratch_path(&r.scratch, "run/log.jsonl"), &bytes);
    int steps = 0, epochs = 0, results = 0, last = 0, machines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *step = strstr(line, "\"step\":");
        steps += strstr(line, "\"kind\":\"step\"") != NULL;
        epochs += strstr(line, "\"kind\":\"epoch\"") != NULL;
        results += strstr(line, "\"kind\":\"result\"") != NULL;
        machines += strstr(line, "\"kind\":\"environment\"") != NULL;
        ck_assert_ptr_nonnull(step || results || machines ? line : NULL);
        if (step && strstr(line, "\"kind\":\"step\"")) {
            ck_assert_int_eq(atoi(step + 7), last + 1);
            last++;
        }
    }
    ck_assert_int_eq(steps, 9);
    ck_assert_int_eq(epochs, 3);
    ck_assert_int_eq(results, 1);
    ck_assert_int_eq(machines, 2); /* of the run, and of its resumption */
    free(text);
    rig_close(&r);
}
END_TEST

START_TEST(a_finished_run_can_be_lengthened)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.schedule=constant");
    rig_set(&r, "train.warmup=0");
    rig_train_ok(&r, "run");
    ck_assert_double_eq(rig_number(&r, "steps"), 9);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_OK); /* nothing left to do: the result again */
    ck_assert_double_eq(rig_number(&r, "steps"), 9);
    rig_set(&r, "train.epochs=4");
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "steps"), 12);
    rig_train_ok(&r, "straight");
    ck_assert_int_eq(rig_differ(&r, "run", "straight"), 0);
    rig_close(&r);
}
END_TEST

/* Nothing is left to do, and yet the new folder is a run like any other. */
START_TEST(a_finished_run_goes_on_elsewhere)
{
    rig r;
    char *result = NULL, run[300], copy[300];
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "run");
    snprintf(run, sizeof run, "%s", gsa_scratch_path(&r.scratch, "run"));
    snprintf(copy, sizeof copy, "%s", gsa_scratch_path(&r.scratch, "copy"));
    const gsa_train_options options = {
        .resume = run, .out = copy, .device = "cpu", .threads = 1, .backend = r.backend
    };
    ck_assert_msg(gsa_train(NULL, &options, &result, &r.error) == GSA_OK, "%s", r.error.text);
    gsa_release(NULL, result);
    ck_assert_int_eq(rig_differ(&r, "run", "copy"), 0);
    ck_assert_msg(rig_resume(&r, "copy") == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

START_TEST(what_a_resumed_run_may_change)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.schedule=constant");
    rig_set(&r, "train.warmup=0");
    rig_set(&r, "train.eval_every=1");
    rig_set(&r, "train.select=last");
    rig_train_ok(&r, "last");
    r.sets--;
    r.stop_at = 5; /* after two of the epoch's three steps */
    ck_assert_int_eq(rig_train(&r, "best"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    rig_set(&r, "train.batch=22");
    ck_assert_int_eq(rig_resume(&r, "best"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "after step 2 of its epoch, which has 1 now"), "%s",
                  r.error.text);
    r.sets--;
    rig_set(&r, "train.select=last"); /* on from the present weights, not from the best ones */
    ck_assert_msg(rig_resume(&r, "best") == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "last", "best"), 0);
    rig_set(&r, "train.select=best");
    ck_assert_int_eq(rig_resume(&r, "last"), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "train.select = best"), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* Between two epochs; the state says so, as its steps are no longer as many in each. */
START_TEST(epochs_of_other_batches_go_on)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    rig_set(&r, "train.epochs=2");
    rig_set(&r, "train.batch=22");
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "steps"), 3 + 1);
    r.sets = 0;
    rig_set(&r, "train.epochs=3");
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "steps"), 3 + 1 + 1);
    rig_close(&r);
}
END_TEST

/* ---- numbers that are not finite ----------------------------------------------------------- */

static struct {
    int64_t calls, at;
    gsa_status (*backward)(gsa_backend *, void *, const void *, const void *, const void *, double,
                           int64_t);
} poison;

static gsa_status poisoned(gsa_backend *b, void *dx, const void *dloss, const void *x,
                           const void *target, double scale, int64_t count)
{
    return poison.backward(b, dx, dloss, x, target, ++poison.calls == poison.at ? NAN : scale,
                           count);
}

START_TEST(a_nan_stops_the_run_with_its_name)
{
    static const char *const sets[] = { "train.checkpoint_every=1", "train.eval_every=1",
                                        "train.schedule=constant" };
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    for (int i = 0; i < GSA_COUNT(sets); i++) rig_set(&r, sets[i]);
    rig_set(&r, "train.max_steps=2");
    rig_train_ok(&r, "two");
    poison.backward = r.backend->square_error_backward, poison.calls = 0,
    poison.at = 6; /* two pieces a step: in step 3 */
    r.backend->square_error_backward = poisoned;
    r.sets = GSA_COUNT(sets);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_NUMBER);
    ck_assert_msg(strstr(r.error.text, "step 3: the gradient of '") &&
                      strstr(r.error.text, "nothing was applied"),
                  "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "two", "run"),
                     0); /* what is kept is the run as it was after step 2 */
    poison.calls = 0;
    rig_set(&r, "train.check_nan=0");
    ck_assert_msg(rig_train(&r, "skips") == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "skipped_steps"), 1);
    rig_close(&r);
}
END_TEST

static struct {
    gsa_status (*attend)(gsa_backend *, const gsa_attend_args *);
    gsa_status (*adam)(gsa_backend *, void *, void *, void *, const void *, const double *,
                       const gsa_adam *, int64_t);
    int calls, at;
} spoilt;

static gsa_status spoilt_values(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_status status = spoilt.attend(b, args);
    const float nan = NAN;
    return ++spoilt.calls == spoilt.at ? b->upload(b, args->out, &nan, sizeof nan) : status;
}

static gsa_status spoilt_moment(gsa_backend *b, void *w, void *m, void *v, const void *g,
                                const double *control, const gsa_adam *adam, int64_t count)
{
    const gsa_status status = spoilt.adam(b, w, m, v, g, control, adam, count);
    const float infinity = INFINITY;
    return ++spoilt.calls == spoilt.at ? b->upload(b, v, &infinity, sizeof infinity) : status;
}

/* No checkpoint is saved that reading would refuse. */
START_TEST(what_is_not_finite_is_not_saved)
{
    static const char *const says[] = { "step 1: the development data have a loss of nan",
                                        "is not saved: 'state.safetensors': row 0, column 0 of" };
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.eval_every=1"), rig_set(&r, "train.max_steps=3");
    spoilt.attend = r.backend->attend_forward, spoilt.adam = r.backend->adam;
    spoilt.calls = 0, spoilt.at = _i ? 1 : 5; /* in the first evaluation */
    if (_i) r.backend->adam = spoilt_moment;
    else r.backend->attend_forward = spoilt_values;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_NUMBER);
    ck_assert_msg(strstr(r.error.text, says[_i]), "%s", r.error.text);
    ck_assert_int_ne(access(gsa_scratch_path(&r.scratch, "run/latest"), F_OK), 0);
    rig_close(&r);
}
END_TEST

/* ---- no allocation in the steady state ----------------------------------------------------- */

static int64_t steady_calls[64];

/* In the first steps waits a while: the thread that builds batches ahead gets its memory when it
 * first comes to run, on a busy machine late. */
static void count_calls(rig *r, const gsa_progress *p)
{
    gsa_faults *faults = r->context;
    if (p->kind == 0 && p->step < 5) nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    if (p->kind == 0 && p->step < GSA_COUNT(steady_calls))
        steady_calls[p->step] = faults->calls[GSA_OP_ALLOC];
}

START_TEST(a_step_allocates_nothing)
{
    gsa_faults faults;
    rig r;
    gsa_faults_start(&faults);
    rig_open(&r, recipes[_i], GSA_F32, 1);
    gsa_backend_release(r.backend);
    ck_assert_int_eq(gsa_backend_ref(&faults.table, GSA_F32, 2, &r.backend, &r.error), GSA_OK);
    r.system = &faults.table, r.each = count_calls, r.context = &faults;
    if (recipes[_i] == rig_summation) rig_set(&r, "task.dev=0"), rig_set(&r, "task.train=160");
    rig_set(&r, "train.eval_every=1000000");
    rig_set(&r, "train.epochs=30");
    if (recipes[_i] == rig_text || recipes[_i] == rig_pairs)
        rig_set(&r, "data.max_length=1"); /* one shape: what varies may grow a buffer later */
    rig_set(&r, "train.max_steps=20");
    if (_i >= 1) rig_set(&r, "train.batch=1"), rig_set(&r, "train.accumulate=11");
    rig_train_ok(&r, NULL);
    for (int s = 5; s <= 20; s++)
        ck_assert_msg(steady_calls[s] == steady_calls[4], "step %d: %lld allocations", s,
                      (long long)(steady_calls[s] - steady_calls[4]));
    gsa_release(&faults.table, r.result);
    r.result = NULL, r.system = NULL;
    gsa_backend_release(r.backend);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &r.backend, &r.error), GSA_OK);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bits[] = { GSA_LOOP(two_runs_are_equal, GSA_COUNT(recipes)),
                                     GSA_LOOP(threads_do_not_change_bits, GSA_COUNT(recipes)),
                                     GSA_LOOP(pieces_draw_the_same_masks, GSA_COUNT(recipes)),
                                     GSA_TEST(gradients_are_added_along_a_tree),
                                     GSA_LOOP(pieces_change_rounding_alone, GSA_COUNT(recipes)) };
    static const gsa_test resume[] = { GSA_LOOP(resume_after_every_step, GSA_COUNT(recipes)),
                                       GSA_LOOP(resume_after_a_stop_anywhere, GSA_COUNT(recipes)),
                                       GSA_TEST(the_log_of_a_resumed_run_is_whole),
                                       GSA_TEST(a_finished_run_can_be_lengthened),
                                       GSA_TEST(a_finished_run_goes_on_elsewhere),
                                       GSA_TEST(what_a_resumed_run_may_change),
                                       GSA_TEST(epochs_of_other_batches_go_on) };
    static const gsa_test numbers[] = { GSA_TEST(a_nan_stops_the_run_with_its_name),
                                        GSA_LOOP(what_is_not_finite_is_not_saved, 2) };
    static const gsa_test steady[] = { GSA_LOOP(a_step_allocates_nothing, GSA_COUNT(recipes)) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 120), GSA_CASE("resume", resume, 120),
                                      GSA_CASE("numbers", numbers, 60),
                                      GSA_CASE("steady", steady, 60) };
    return gsa_run_suite("train", cases, GSA_COUNT(cases), argc, argv);
}
