/* A short run with the n-th allocation, write, rename, ... failing: each a status and a sentence,
 * nothing live afterwards. */
#include <stdio.h>
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

int main(int argc, char **argv)
{
    static const gsa_test faults[] = { GSA_LOOP(every_fault_is_reported, GSA_COUNT(faults_of)),
                                       GSA_LOOP(no_memory_for_another_task, 4) };
    static const gsa_case cases[] = { GSA_CASE("faults", faults, 300) };
    return gsa_run_suite("train_faults", cases, GSA_COUNT(cases), argc, argv);
}
