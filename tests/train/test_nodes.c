/* Nodes of a given graph: the format, malformed lines, and a graph that says what features do
 * not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "train/data/nodes.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_nodes nodes;
} fixture;

static gsa_status read_nodes(fixture *f, const char *bytes, const char *columns)
{
    *f = (fixture){ 0 };
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "n.tsv");
    gsa_put_file(path, bytes, (int64_t)strlen(bytes));
    return gsa_nodes_read(gsa_system_default(), path, columns ? columns : "", GSA_ENCODING_UTF8,
                          &f->nodes, &f->error);
}

static void done(fixture *f)
{
    gsa_nodes_release(&f->nodes);
    gsa_scratch_close(&f->scratch);
}

/* "split label index=value,...|..." */
static void show(const gsa_nodes *n, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int64_t i = 0; i < n->count; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%d %.*s ", i ? "|" : "", n->split[i],
                                 (int)n->label[i].bytes, n->label[i].at);
        for (int64_t e = n->first[i]; e < n->first[i + 1]; e++)
            used += (size_t)snprintf(out + used, size - used, "%s%d=%g", e > n->first[i] ? "," : "",
                                     n->index[e], (double)n->value[e]);
    }
}

static const struct {
    const char *bytes, *columns, *expected;
    int width;
} good[] = {
    { "0\ttrain\tx\t0:1 3:0.5\n1\tnone\t-\t\n2\ttest\ty\t2\n", NULL, "0 x 0=1,3=0.5|-1  |2 y 2=1",
      4 },
    { "\xef\xbb\xbf"
      "0\tdev\tx\t1:-2e1\r\n1\tval\tx\t",
      NULL, "1 x 1=-20|1 x ", 2 },
    { "0\tx\ttrain\t0\n1\t-1\tnone\t1\n", "id,label,split,features", "0 x 0=1|-1  1=1", 2 },
    { "0\ttrain\tx\n1\t-\ty\t7:1\n", NULL, "0 x |-1 y 7=1",
      8 }, /* a label without a split; no column of features */
};

START_TEST(good_nodes)
{
    fixture f;
    char shown[256];
    ck_assert_msg(read_nodes(&f, good[_i].bytes, good[_i].columns) == GSA_OK, "%s", f.error.text);
    show(&f.nodes, shown, sizeof shown);
    ck_assert_str_eq(shown, good[_i].expected);
    ck_assert_int_eq(f.nodes.width, good[_i].width);
    done(&f);
}
END_TEST

#define FIRST "0\ttrain\tx\t0:1\n"
static const struct {
    const char *bytes, *columns, *expected;
} bad[] = {
    { "", NULL, "n.tsv: the file holds no node" },
    { FIRST "\n", NULL, "n.tsv:2: the line has 1 column, expected 4" },
    { FIRST "1\ttrain\n", NULL, "n.tsv:2: the line has 2 columns, expected 4" },
    { FIRST "1\ttrain\tx\t0:1\t2\n", NULL, "n.tsv:2: the line has 5 columns, expected 4" },
    { "0:1\t0\ttrain\n", "features,id,split,label", "n.tsv:1: the line has 3 columns" },
    { FIRST "2\ttrain\tx\t0:1\n", NULL,
      "n.tsv:2: the id is '2', expected 1: nodes are numbered 0, 1, 2, ... in order" },
    { FIRST "0\ttrain\tx\t0:1\n", NULL, "n.tsv:2: the id is '0', expected 1" },
    { FIRST "one\ttrain\tx\t0:1\n", NULL, "n.tsv:2: the id is 'one'" },
    { FIRST "\ttrain\tx\t0:1\n", NULL, "n.tsv:2: the id is ''" },
    { FIRST "1\ttrial\tx\t0:1\n", NULL,
      "n.tsv:2: the split is 'trial', expected train, dev, val, test or none" },
    { FIRST "1\ttrain\t\t0:1\n", NULL, "n.tsv:2: the label is empty" },
    { FIRST "1\ttrain\t-\t0:1\n", NULL, "n.tsv:2: a node of a split has no label" },
    { FIRST "1\ttest\t-1\t0:1\n", NULL, "n.tsv:2: a node of a split has no label" },
    { FIRST "1\ttrain\t\xef\xbb\xbfx\t0:1\n", NULL,
      "n.tsv:2: the label starts with a byte order mark" },
    { FIRST "1\ttrain\tx\x01\t0:1\n", NULL, "n.tsv:2: the label holds a control character" },
    { FIRST "1\ttrain\tx\t-1:1\n", NULL, "n.tsv:2: a feature is '-1:1', expected index:value" },
    { FIRST "1\ttrain\txyz\tword\n", NULL, "n.tsv:2: a feature is 'word'" },
    { FIRST "1\ttrain\tx\t1=2\n", NULL, "n.tsv:2: a feature is '1=2'" },
    { FIRST "1\ttrain\tx\t16777216:1\n", NULL,
      "expected index:value with an index from 0 to 16777215" },
    { FIRST "1\ttrain\tx\t3:1 3:2\n", NULL,
      "n.tsv:2: feature 3 is after feature 3: indices ascend" },
    { FIRST "1\ttrain\tx\t3:1 2:2\n", NULL, "n.tsv:2: feature 2 is after feature 3" },
    { FIRST "1\ttrain\tx\t3: 1\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "1\ttrain\tx\t3:nan\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "1\ttrain\tx\t3:x\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "1\ttrain\tx\t3:0x1\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "1\ttrain\tx\t3:1x\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "1\ttrain\tx\xff\t3:1\n", NULL, "n.tsv:2: invalid UTF-8 at byte 10 of the line" },
    { FIRST "1\ttrain\tx\xff\t3:1\n", NULL,
      "(0xff): data.encoding = cp1252 (or latin1, or mixed) reads a file that is not UTF-8" },
    { "\xfe\xff", NULL, "n.tsv:1: the file starts with the byte order mark of UTF-16" },
    { FIRST "\xef\xbb\xbf"
            "1\ttrain\tx\t3:1\n",
      NULL, "n.tsv:2: the id is " },
    { FIRST "1 train x 3:1\n", NULL, "n.tsv:2: the line has 1 column, expected 4" },
    { FIRST "1\ttrain\tx\t3:1e99\n", NULL, "n.tsv:2: the value of feature 3 is no finite number" },
    { FIRST "99999999999999999999\ttrain\tx\t3:1\n", NULL, "n.tsv:2: the id is " },
    { FIRST, "id,label",
      "data.columns is 'id,label', expected id, split, label and features in some order" },
    { FIRST, "id,label,split,split", "data.columns is 'id,label,split,split'" },
    { FIRST, "id,label,split,features,id", "data.columns is" },
    { FIRST, "id,label,split,class", "data.columns is 'id,label,split,class'" },
    { FIRST, "id,split,label,features,class", "data.columns is 'id,split,label,features,class'" },
    { FIRST, "id,split,label,features,", "data.columns is 'id,split,label,features,'" },
};

START_TEST(bad_nodes)
{
    fixture f;
    ck_assert_int_ne(read_nodes(&f, bad[_i].bytes, bad[_i].columns), GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad[_i].expected);
    done(&f);
}
END_TEST

/* "1\ttrain" as Windows' editors may save it. */
START_TEST(utf16_is_refused)
{
    static const char bytes[] = "\xff\xfe"
                                "1\0\t\0t\0r\0a\0i\0n\0\n\0";
    fixture f = { 0 };
    gsa_scratch_open(&f.scratch);
    const char *path = gsa_scratch_path(&f.scratch, "n.tsv");
    gsa_put_file(path, bytes, sizeof bytes - 1);
    ck_assert_int_eq(
        gsa_nodes_read(gsa_system_default(), path, "", GSA_ENCODING_UTF8, &f.nodes, &f.error),
        GSA_ERR_FORMAT);
    ck_assert_msg(strstr(f.error.text, "UTF-16") != NULL, "%s", f.error.text);
    done(&f);
}
END_TEST

static gsa_status read_with_faults(gsa_faults *faults, void *context)
{
    gsa_nodes nodes;
    gsa_error error;
    const gsa_status status =
        gsa_nodes_read(&faults->table, context, "", GSA_ENCODING_UTF8, &nodes, &error);
    if (status == GSA_OK) {
        ck_assert(nodes.count == 2 && nodes.width == 6);
        gsa_nodes_release(&nodes);
    }
    return status;
}

START_TEST(every_fault_is_a_status)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    char *path = (char *)(uintptr_t)gsa_scratch_path(&scratch, "n.tsv");
    static const char bytes[] = FIRST "1\ttest\ty\t3:1 5:2\n";
    gsa_put_file(path, bytes, sizeof bytes - 1);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, read_with_faults, path), 6);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, read_with_faults, path), 1);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, read_with_faults, path), 1);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- a graph that is needed: nodes come in pairs (2i, 2i+1); only the first of a pair has
 * features that say the class ---- */

enum { PAIRS = 40, FEATURES = 3 };
static const char recipe[] =
    "[task]\nname = node_classification\n[model]\nencoder = file\nhidden = 16\nheads = 2\ninput = "
    "plain\n"
    "[train]\nseed = 2\nepochs = 60\nbatch = 1\nlr = 0.01\nreport_every = 0\n";

static void write_graph(rig *r, char *nodes, size_t room)
{
    char edges[PAIRS * 24];
    size_t used = 0, at = 0;
    for (int i = 0; i < 2 * PAIRS; i++) {
        const char *split = i / 2 % 4 == 3             ? "none"
                            : i / 2 % 4 == 2           ? "dev"
                            : i % 4 == 1 || i % 4 == 2 ? "train"
                                                       : "test";
        const int class = i / 2 % 3;
        used += (size_t)snprintf(nodes + used, room - used, "%d\t%s\tc%d\t", i, split, class);
        if (i % 2 == 0) used += (size_t)snprintf(nodes + used, room - used, "%d:1", class);
        used += (size_t)snprintf(nodes + used, room - used, "\n");
        if (i % 2 == 0) at += (size_t)snprintf(edges + at, sizeof edges - at, "%d\t%d\n", i, i + 1);
    }
    gsa_put_file(gsa_scratch_path(&r->scratch, "nodes.tsv"), nodes, (int64_t)used);
    gsa_put_file(gsa_scratch_path(&r->scratch, "edges.txt"), edges, (int64_t)at);
    r->data[0] = "nodes.tsv", r->data[1] = NULL;
}

static void open_graph(rig *r, char *path, size_t size, char *nodes, size_t room)
{
    rig_open(r, recipe, GSA_F32, 1);
    write_graph(r, nodes, room);
    snprintf(path, size, "encoder.1.path=%s/edges.txt", r->scratch.folder);
    r->plugin = GSA_FILE_PLUGIN;
    rig_set(r, path);
    rig_set(r, "encoder.1.directed=0");
    rig_set(r, "encoder.1.self=1");
}

START_TEST(the_graph_tells_what_features_do_not)
{
    char path[300], nodes[8192];
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    rig_train_ok(&r, "graph");
    ck_assert_msg(rig_number(&r, "test_accuracy") == 1 && rig_number(&r, "dev_accuracy") == 1, "%s",
                  r.result);
    ck_assert_double_eq(rig_number(&r, "nodes"), 2 * PAIRS);
    for (int i = 0, at = 0; i < 2 * PAIRS; i++)
        at += snprintf(nodes + at, sizeof nodes - (size_t)at, "%d %d\n", i, i);
    gsa_put_file(gsa_scratch_path(&r.scratch, "edges.txt"), nodes,
                 (int64_t)strlen(nodes)); /* each node alone */
    rig_train_ok(&r, "none");
    ck_assert_msg(rig_number(&r, "test_accuracy") < 0.8, "%s", r.result);
    rig_close(&r);
}
END_TEST

/* A node reads one of its neighbours in a step, each of which says its class: which, tells the step
 * alone. */
START_TEST(neighbours_are_drawn_in_each_step)
{
    char path[300], nodes[8192], edges[4096];
    int at = 0;
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    for (int i = 0; i < 2 * PAIRS; i++)
        for (int k = 1; k <= 3; k++)
            at += snprintf(edges + at, sizeof edges - (size_t)at, "%d %d\n", i,
                           (i + 6 * k - i % 2) % (2 * PAIRS));
    gsa_put_file(gsa_scratch_path(&r.scratch, "edges.txt"), edges, at);
    rig_set(&r, "encoder.1.sample=1");
    rig_set(&r, "train.report_every=1");
    rig_train_ok(&r, "once");
    rig_set(&r, "encoder.1.redraw=1");
    rig_train_ok(&r, "anew");
    ck_assert_double_lt(r.epoch_loss, 0.4); /* it begins at log 3 */
    ck_assert_int_ne(rig_differ(&r, "once", "anew"), 0);
    rig_set(&r, "train.prefetch=0");
    rig_train_ok(&r, "again");
    ck_assert_int_eq(rig_differ(&r, "anew", "again"), 0);
    r.stop_at = 23;
    ck_assert_int_eq(rig_train(&r, "cut"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    ck_assert_msg(rig_resume(&r, "cut") == GSA_OK, "%s", r.error.text);
    ck_assert_int_eq(rig_differ(&r, "anew", "cut"), 0);
    rig_close(&r);
}
END_TEST

START_TEST(evaluation_and_prediction)
{
    char path[300], nodes[8192], in[300], out[300];
    int64_t bytes;
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    rig_train_ok(&r, "run");
    rig_set(&r, "train.seed=3");
    rig_train_ok(&r, "other");
    ck_assert_int_ne(rig_differ(&r, "run", "other"), 0);
    snprintf(in, sizeof in, "%s/nodes.tsv", r.scratch.folder);
    snprintf(out, sizeof out, "%s/out", r.scratch.folder);
    gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                            .plugins = &r.plugin,
                            .n_plugins = 1,
                            .backend = r.backend,
                            .input = in,
                            .output = out };
    ck_assert_msg(gsa_predict(NULL, &o, &r.error) == GSA_OK, "%s", r.error.text);
    char *lines = gsa_get_file(out, &bytes);
    int node = 0;
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"), node++) {
        ck_assert_msg(line[0] == 'c' && line[1] == '0' + node / 2 % 3 && line[2] == '\t',
                      "node %d: %s", node, line);
    }
    ck_assert_int_eq(node, 2 * PAIRS);
    free(lines);
    gsa_release(gsa_system_default(), r.result);
    o.report = out;
    ck_assert_msg(gsa_evaluate(NULL, &o, &r.result, &r.error) == GSA_OK, "%s", r.error.text);
    ck_assert_double_eq(rig_number(&r, "test_accuracy"), 1);
    ck_assert_double_eq(rig_number(&r, "test_examples"), 20);
    char *report = gsa_get_file(out, &bytes), *test = strstr(report, "test: accuracy 1, ");
    ck_assert_msg(test && strstr(test, "    accuracy                         1.0000\n"), "%s",
                  report);
    ck_assert_msg(strstr(test, "weighted avg     1.0000    1.0000    1.0000        20\n"), "%s",
                  report);
    free(report);
    rig_close(&r);
}
END_TEST

static const struct {
    const char *set, *expected;
} refused[] = {
    { "data.train=", "[data] train is not set: --set data.train=FILE" },
    { "data.features=2", "the nodes have features to index 2, data.features is 2" },
    { "data.classes=4", "the data holds 3 labels, data.classes says 4" },
    { "model.encoder=full,full+cross", "reads another stack's sequence, and this task has none" },
};

START_TEST(refused_with_a_sentence)
{
    char path[300], nodes[8192];
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    if (_i == 3) r.sets = 0;
    rig_set(&r, refused[_i].set);
    ck_assert_int_ne(rig_train(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, refused[_i].expected), "'%s' lacks '%s'", r.error.text,
                  refused[_i].expected);
    rig_close(&r);
}
END_TEST

/* 50 bytes would make weights of gigabytes, of a higher index; who says so gets them. */
START_TEST(one_index_makes_no_wide_model)
{
    static const char wide[] = "0\ttrain\tx\t0:1\n1\ttrain\ty\t99999:1\n";
    char path[300], nodes[8192];
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    gsa_put_file(gsa_scratch_path(&r.scratch, "nodes.tsv"), wide, sizeof wide - 1);
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_LIMIT);
    ck_assert_msg(strstr(r.error.text, "the nodes have features to index 99999, and 2 in all: "
                                       "data.features=100000 says that so many are meant"),
                  "%s", r.error.text);
    rig_set(&r, "data.features=100000");
    ck_assert_int_ne(rig_train(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, "the graph has 80 nodes"), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

START_TEST(a_graph_of_another_size)
{
    static const char two[] = "0\ttrain\tx\t0:1\n1\ttrain\ty\t1:1\n",
                      untrained[] = "0\tdev\tx\t0:1\n1\tdev\ty\t1:1\n";
    char path[300], nodes[8192];
    rig r;
    open_graph(&r, path, sizeof path, nodes, sizeof nodes);
    gsa_put_file(gsa_scratch_path(&r.scratch, "nodes.tsv"), two, sizeof two - 1);
    ck_assert_int_ne(rig_train(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, "the graph has 80 nodes, the length is 2"), "%s",
                  r.error.text);
    gsa_put_file(gsa_scratch_path(&r.scratch, "nodes.tsv"), untrained, sizeof untrained - 1);
    ck_assert_int_ne(rig_train(&r, "run"), GSA_OK);
    ck_assert_msg(strstr(r.error.text, "no node is of split train"), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test format[] = { GSA_LOOP(good_nodes, GSA_COUNT(good)) };
    static const gsa_test wrong[] = { GSA_LOOP(bad_nodes, GSA_COUNT(bad)),
                                      GSA_TEST(utf16_is_refused),
                                      GSA_TEST(every_fault_is_a_status) };
    static const gsa_test graphs[] = { GSA_TEST(the_graph_tells_what_features_do_not),
                                       GSA_TEST(neighbours_are_drawn_in_each_step),
                                       GSA_TEST(evaluation_and_prediction),
                                       GSA_LOOP(refused_with_a_sentence, GSA_COUNT(refused)),
                                       GSA_TEST(one_index_makes_no_wide_model),
                                       GSA_TEST(a_graph_of_another_size) };
    static const gsa_case cases[] = { GSA_CASE("format", format, 20), GSA_CASE("bad", wrong, 20),
                                      GSA_CASE("graphs", graphs, 60) };
    return gsa_run_suite("nodes", cases, GSA_COUNT(cases), argc, argv);
}
