/* A short run with the n-th allocation, write, rename, ... failing: each a status and a sentence,
 * nothing live afterwards. */
#include <stdio.h>
#include <string.h>
#include "rig.h"

static const struct {
    int op;
    gsa_status expected;
    int may_recover;
} faults_of[] = {
    { GSA_OP_ALLOC, GSA_ERR_MEMORY, 1 },   { GSA_OP_OPEN, GSA_ERR_IO, 0 },
    { GSA_OP_WRITE, GSA_ERR_IO, 0 },       { GSA_OP_SYNC, GSA_ERR_IO, 0 },
    { GSA_OP_CLOSE, GSA_ERR_IO, 1 },       { GSA_OP_RENAME, GSA_ERR_IO, 0 },
    { GSA_OP_MAKE_FOLDER, GSA_ERR_IO, 0 }, { GSA_OP_LOCK, GSA_ERR_IO, 0 },
};

START_TEST(every_fault_is_reported)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.max_steps=1");
    rig_set(&r, "model.encoder=star");
    const int tried = gsa_faults_sweep(faults_of[_i].op, faults_of[_i].may_recover,
                                       faults_of[_i].expected, rig_train_faulty, &r);
    ck_assert_int_gt(tried, 1);
    rig_close(&r);
}
END_TEST

/* The same for what other tasks read and build. */
START_TEST(no_memory_for_another_task)
{
    static const char nodes[] =
        "0\ttrain\tx\t0:1 3:0.5\n1\tdev\ty\t1\n2\ttrain\ty\t2\n3\ttest\tx\t0\n";
    static const char recipe[] =
        "[task]\nname = node_classification\n[model]\nencoder = full\nhidden = 8\nheads = 2\n"
        "[train]\nepochs = 1\nbatch = 1\n";
    static const char tags[] = "Al I-X\nsaw O\n\nit O\n";
    static const char tagging[] =
        "[task]\nname = tagging\nhead = crf\nlegal = 1\n[model]\nencoder = full\nhidden = 8\nheads "
        "= 2\n"
        "characters = ring\n[train]\nepochs = 1\n[data]\ncapitals = 1\nlower = 1\n";
    rig r;
    static const char *const recipes[] = { rig_pairs, recipe, rig_text, tagging };
    static const char *const held[] = { "data.dev=",
                                        "data.hold=6",
                                        "data.encoding=cp1252",
                                        "data.tokens=punctuated",
                                        "data.columns=label,text",
                                        "train.memory=1000000000000" };
    rig_open(&r, recipes[_i], GSA_F32, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "nodes.tsv"), nodes, sizeof nodes - 1);
    if (_i == 1) r.data[0] = "nodes.tsv", r.data[1] = NULL;
    gsa_put_file(gsa_scratch_path(&r.scratch, "tags"), tags, sizeof tags - 1);
    if (_i == 3) r.data[0] = r.data[1] = "tags";
    for (int i = 0; i < GSA_COUNT(held) && _i == 2; i++) rig_set(&r, held[i]);
    rig_set(&r, "train.max_steps=1");
    const int tried = gsa_faults_sweep(GSA_OP_ALLOC, 1, GSA_ERR_MEMORY, rig_train_faulty, &r);
    ck_assert_int_gt(tried, 2);
    rig_close(&r);
}
END_TEST

/* ---- a backend that fails ------------------------------------------------------------------ */

static struct {
    gsa_status (*move)(gsa_backend *b, void *to, const void *from, int64_t bytes);
    int64_t calls, at;
} broken;

static gsa_status breaks(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    if (++broken.calls == broken.at)
        return gsa_fail(&b->error, GSA_ERR_DEVICE, "call %d broke", (int)broken.at);
    return broken.move(b, to, from, bytes);
}

/* Each copy within the backend, or out of it: the best model that is held, a checkpoint, losses. */
START_TEST(every_failed_copy_ends_the_run)
{
    static const char *const sets[] = { "train.max_steps=2", "train.eval_every=1",
                                        "train.checkpoint_every=1", "train.select=best",
                                        "model.encoder=star" };
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    for (int i = 0; i < GSA_COUNT(sets); i++) rig_set(&r, sets[i]);
    gsa_status (**const move)(gsa_backend *, void *, const void *, int64_t) =
        _i ? &r.backend->download : &r.backend->copy;
    broken.move = *move, broken.at = 0;
    *move = breaks;
    do {
        char name[16];
        snprintf(name, sizeof name, "run%d", (int)++broken.at);
        broken.calls = 0;
        const gsa_status status = rig_train(&r, name);
        if (broken.calls < broken.at) ck_assert_int_eq(status, GSA_OK);
        else {
            ck_assert_msg(status == GSA_ERR_DEVICE, "call %d: %s", (int)broken.at, r.error.text);
            ck_assert_ptr_nonnull(strstr(r.error.text, " broke"));
        }
    } while (broken.calls >= broken.at);
    ck_assert_int_gt(broken.at, 4);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test faults[] = { GSA_LOOP(every_fault_is_reported, GSA_COUNT(faults_of)),
                                       GSA_LOOP(no_memory_for_another_task, 4),
                                       GSA_LOOP(every_failed_copy_ends_the_run, 2) };
    static const gsa_case cases[] = { GSA_CASE("faults", faults, 300) };
    return gsa_run_suite("train_faults", cases, GSA_COUNT(cases), argc, argv);
}
