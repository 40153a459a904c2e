/* Opening a trained model: what is read and checked of its checkpoint, and what is drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "train/driver/session.h"
#include "train/driver/trainer.h"

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

/* ---- what is read -------------------------------------------------------------------------- */

typedef struct watched { /* a table that counts the openings of a checkpoint's files */
    gsa_system table;
    int model, state;
} watched;

static int open_watched(void *user, const char *path, int mode)
{
    watched *w = user;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    w->model += strcmp(name, GSA_MODEL_FILE) == 0;
    w->state += strcmp(name, GSA_STATE_FILE) == 0;
    return gsa_system_default()->open(NULL, path, mode);
}

static void watch(watched *w)
{
    *w = (watched){ .table = *gsa_system_default() };
    w->table.user = w, w->table.open = open_watched;
}

static gsa_apply_options use_of(const rig *r)
{
    static char model[300], in[300], out[300];
    snprintf(model, sizeof model, "%s/run", r->scratch.folder);
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    return (gsa_apply_options){ .model = model, .backend = r->backend, .input = in, .output = out };
}

START_TEST(no_state_is_read_to_use_a_model)
{
    rig r;
    watched w;
    char *result;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "run");
    const gsa_apply_options o = use_of(&r);
    watch(&w);
    ck_assert_msg(gsa_evaluate(&w.table, &o, &result, &r.error) == GSA_OK, "%s", r.error.text);
    gsa_release(NULL, result);
    ck_assert_int_eq(w.model, 3); /* hash, sizes, weights */
    ck_assert_int_eq(w.state, 0);
    rig_close(&r);
}
END_TEST

START_TEST(a_state_is_read_to_go_on)
{
    rig r;
    watched w;
    rig_open(&r, rig_text, GSA_F32, 1);
    r.stop_at = 4;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    watch(&w);
    r.system = &w.table;
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    ck_assert_int_ge(w.state, 2);
    rig_close(&r);
}
END_TEST

/* The newest checkpoint's file: without it, or with a byte that is another. */
static void damage(const rig *r, const char *file, int removed)
{
    int64_t bytes;
    char latest[64] = "", *step = gsa_get_file(gsa_scratch_path(&r->scratch, "run/latest"), &bytes);
    snprintf(latest, sizeof latest, "%.*s", (int)strcspn(step, "\n"), step);
    free(step);
    const char *path = gsa_scratch_path(&r->scratch, "run/%s/%s", latest, file);
    char *content = gsa_get_file(path, &bytes);
    content[bytes / 2] ^= 1;
    if (removed) ck_assert_int_eq(remove(path), 0);
    else gsa_put_file(path, content, bytes);
    free(content);
}

static char *predict(rig *r, gsa_status expected)
{
    static const char line[] = "a fine film\n";
    const gsa_apply_options o = use_of(r);
    int64_t bytes;
    gsa_put_file(o.input, line, sizeof line - 1);
    const gsa_status status = gsa_predict(NULL, &o, &r->error);
    ck_assert_msg(status == expected, "%s", status == GSA_OK ? "no error" : r->error.text);
    return status == GSA_OK ? gsa_get_file(o.output, &bytes) : NULL;
}

static const char *const damages[] = { "does not have the hash",
                                       "cannot be" }; /* a flipped bit, no file */

START_TEST(a_damaged_state_stops_a_resumed_run_alone)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    r.stop_at = 4;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    char *before = predict(&r, GSA_OK);
    damage(&r, GSA_STATE_FILE, _i);
    char *after = predict(&r, GSA_OK);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    ck_assert_int_ne(rig_resume(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, GSA_STATE_FILE "'") && strstr(r.error.text, damages[_i]),
                  "%s", r.error.text);
    rig_close(&r);
}
END_TEST

START_TEST(what_is_used_is_checked)
{
    static const char *const files[] = { GSA_MODEL_FILE, "config.ini", "vocab.txt", "labels.txt" };
    const char *file = files[_i / 2];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "run");
    damage(&r, file, _i % 2);
    ck_assert_ptr_null(predict(&r, GSA_ERR_FORMAT));
    ck_assert_msg(strstr(r.error.text, file) && strstr(r.error.text, damages[_i % 2]), "%s",
                  r.error.text);
    rig_close(&r);
}
END_TEST

/* ---- what is drawn ------------------------------------------------------------------------- */

static void say(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

/* Weights that are not zero in a session that was just made, and weights that have gradients. */
static void count_weights(rig *r, const char *checkpoint, const char *start, int applies,
                          int *drawn, int *learned)
{
    char train[300], from[300];
    const char *const set[] = { train, from };
    gsa_session s;
    snprintf(train, sizeof train, "data.train=%s/train.tsv", r->scratch.folder);
    snprintf(from, sizeof from, "train.start=%s", start ? start : "");
    const gsa_session_options options = { .recipe = checkpoint ? NULL : r->path,
                                          .checkpoint = checkpoint,
                                          .overrides = set,
                                          .n_overrides = start ? 2 : 1,
                                          .splits = 1u << GSA_SPLIT_TRAIN,
                                          .applies = applies,
                                          .backend = r->backend,
                                          .say = say };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, &s, &r->error) == GSA_OK, "%s",
                  r->error.text);
    *drawn = *learned = 0;
    for (int i = 0; i < gsa_parameters_count(s.model.parameters); i++) {
        const gsa_tensor *x = &gsa_parameters_at(s.model.parameters, i)->value;
        double values[4096];
        ck_assert_int_le(x->rows * x->cols, GSA_COUNT(values));
        ck_assert_int_eq(gsa_tensor_read(r->backend, x, 0, values, NULL), GSA_OK);
        for (int64_t k = 0; k < x->rows * x->cols; k++) *drawn += values[k] != 0;
        *learned += x->wants_grad && x->grad;
    }
    gsa_session_release(&s);
}

START_TEST(weights_that_will_be_read_are_not_drawn)
{
    rig r;
    char run[300], step[320];
    int drawn, learned, as_new;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "run");
    snprintf(run, sizeof run, "%s/run", r.scratch.folder);
    snprintf(step, sizeof step, "%s/step-%lld", run, (long long)r.last_step);
    count_weights(&r, NULL, NULL, 0, &drawn, &as_new); /* a new run draws, and learns all */
    ck_assert_int_gt(drawn, 500);
    ck_assert_int_gt(as_new, 10);
    count_weights(&r, NULL, run, 0, &drawn, &learned); /* train.start */
    ck_assert_int_eq(drawn, 0);
    ck_assert_int_eq(learned, as_new);
    count_weights(&r, step, NULL, 0, &drawn, &learned); /* --resume */
    ck_assert_int_eq(drawn, 0);
    ck_assert_int_eq(learned, as_new);
    count_weights(&r, step, NULL, 1, &drawn, &learned); /* used, not trained */
    ck_assert_int_eq(drawn, 0);
    ck_assert_int_eq(learned, 0);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test read[] = { GSA_LOOP(no_state_is_read_to_use_a_model, GSA_COUNT(recipes)),
                                     GSA_TEST(a_state_is_read_to_go_on),
                                     GSA_LOOP(a_damaged_state_stops_a_resumed_run_alone,
                                              GSA_COUNT(damages)),
                                     GSA_LOOP(what_is_used_is_checked, 8) };
    static const gsa_test drawn[] = { GSA_TEST(weights_that_will_be_read_are_not_drawn) };
    static const gsa_case cases[] = { GSA_CASE("read", read, 60), GSA_CASE("drawn", drawn, 30) };
    return gsa_run_suite("opening", cases, GSA_COUNT(cases), argc, argv);
}
