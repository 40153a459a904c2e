/* node_classification.c - one label a node of a given graph, some of which are known (Yang et al.
 * 2016, "Planetoid": transductive). The graph is the encoder's (topology `file`); the whole of it
 * is the one example of each split, and the nodes of the other splits have no target. */
#include <stdio.h>
#include <string.h>
#include "train/tasks/classes.h"
#include "train/data/nodes.h"
#include "train/score/report.h"

enum { PATH = 4096 };

typedef struct node_task {
    const gsa_system *system;
    const char *columns;
    gsa_nodes nodes;
    gsa_labels labels;
    int32_t *label;           /* [nodes] class, -1: none */
    int32_t length;           /* of the one example: nodes */
    int32_t width, normalize; /* features */
    int32_t encoding, zero;
    int64_t targets[GSA_SPLITS]; /* nodes of each split; 0: not wanted */
} node_task;

static void destroy(void *self)
{
    node_task *t = self;
    gsa_release(t->system, t->label);
    gsa_labels_release(&t->labels);
    gsa_nodes_release(&t->nodes);
    gsa_release(t->system, t);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The nodes that have a label, as labels.h reads them; `node` receives which they are. */
static gsa_status labelled(const node_task *t, gsa_text *view, int64_t **node, gsa_error *error)
{
    const gsa_nodes *n = &t->nodes;
    *view = (gsa_text){ .system = t->system, .path = n->path };
    view->label = gsa_alloc(t->system, (size_t)n->count, sizeof *view->label);
    view->line = gsa_alloc(t->system, (size_t)n->count, sizeof *view->line);
    *node = gsa_alloc(t->system, (size_t)n->count, sizeof **node);
    if (!view->label || !view->line || !*node)
        return gsa_out_of_memory(error, n->path, n->count * 32);
    for (int64_t i = 0; i < n->count; i++) {
        if (n->label[i].bytes == 0) continue;
        view->label[view->examples] = n->label[i], view->line[view->examples] = n->line[i];
        (*node)[view->examples++] = i;
    }
    return GSA_OK;
}

static gsa_status read_labels(node_task *t, const gsa_task_options *o, gsa_error *error)
{
    char path[PATH];
    gsa_text view;
    int64_t *node = NULL;
    gsa_status status = labelled(t, &view, &node, error);
    snprintf(path, sizeof path, "%s/labels.txt", o->checkpoint ? o->checkpoint : "");
    if (status == GSA_OK && o->checkpoint)
        status = gsa_labels_read(t->system, path, &t->labels, error);
    else if (status == GSA_OK)
        status = gsa_labels_learn(&view, o->recipe->values.data_classes, &t->labels, error);
    t->label = gsa_alloc(t->system, (size_t)t->nodes.count + 1, sizeof *t->label);
    if (status == GSA_OK && !t->label)
        status = gsa_out_of_memory(error, view.path, t->nodes.count * 4);
    if (status == GSA_OK) status = gsa_labels_map(&t->labels, &view, t->label, error);
    for (int64_t i = t->nodes.count - 1, from = view.examples - 1; i >= 0 && status == GSA_OK;
         i--) /* in place: from <= i */
        t->label[i] = from >= 0 && node[from] == i ? t->label[from--] : -1;
    gsa_release(t->system, view.label);
    gsa_release(t->system, view.line);
    gsa_release(t->system, node);
    return status;
}

/* Weights and rows are dense: one index of a small file would make them as large as it says. */
static gsa_status settle_width(node_task *t, gsa_recipe_values *v, gsa_error *error)
{
    enum { EASY = 1 << 16, RATIO = 64 };
    if (v->data_features == 0 && t->nodes.width > EASY && t->nodes.width / RATIO > t->nodes.entries)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%s: the nodes have features to index %d, and %lld in all: "
                        "data.features=%d says that so many are meant",
                        t->nodes.path, t->nodes.width - 1, (long long)t->nodes.entries,
                        t->nodes.width);
    if (v->data_features == 0) v->data_features = t->nodes.width;
    t->width = (int32_t)v->data_features;
    if (t->nodes.width > t->width)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the nodes have features to index %d, data.features is %d",
                        t->nodes.path, t->nodes.width - 1, t->width);
    if (t->width > 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: no node has a feature", t->nodes.path);
}

static gsa_status take_nodes(node_task *t, const gsa_task_options *o, gsa_error *error)
{
    char sentence[PATH + 256];
    gsa_recipe_values *v = &o->recipe->values;
    if (!*v->data_train) return gsa_recipe_no_train(o->recipe, error);
    gsa_status status =
        gsa_nodes_read(t->system, v->data_train, t->columns, t->encoding, &t->nodes, error);
    if (status == GSA_OK) status = settle_width(t, v, error);
    if (status == GSA_OK) status = read_labels(t, o, error);
    if (status != GSA_OK) return status;
    t->length = (int32_t)t->nodes.count;
    int64_t all[GSA_SPLITS] = { 0 };
    for (int64_t i = 0; i < t->nodes.count; i++)
        if (t->nodes.split[i] >= 0) all[t->nodes.split[i]]++;
    for (int s = 0; s < GSA_SPLITS; s++) t->targets[s] = o->splits >> s & 1 ? all[s] : 0;
    if (all[GSA_SPLIT_TRAIN] == 0 && o->splits & 1)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: no node is of split train", v->data_train);
    snprintf(sentence, sizeof sentence,
             "%s: %d nodes with %d features, %lld entries; %d classes; of train %lld, of dev %lld, "
             "of test %lld",
             v->data_train, t->length, t->width, (long long)t->nodes.entries, t->labels.count,
             (long long)all[GSA_SPLIT_TRAIN], (long long)all[GSA_SPLIT_DEV],
             (long long)all[GSA_SPLIT_TEST]);
    o->say(o->context, sentence);
    return GSA_OK;
}

/* Nothing is wanted for prediction but what the checkpoint knows. */
static gsa_status take_checkpoint(node_task *t, const gsa_task_options *o, gsa_error *error)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/labels.txt", o->checkpoint);
    t->width = (int32_t)o->recipe->values.data_features;
    return gsa_labels_read(t->system, path, &t->labels, error);
}

static gsa_status create(const gsa_task_options *o, void **self, gsa_error *error)
{
    node_task *t = gsa_alloc_zero(o->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = o->system, t->columns = o->recipe->values.data_columns;
    t->normalize = (int32_t)o->recipe->values.data_normalize;
    t->encoding = (int32_t)o->recipe->values.data_encoding;
    const gsa_status status = o->splits ? take_nodes(t, o, error) : take_checkpoint(t, o, error);
    if (status != GSA_OK) destroy(t);
    else *self = t;
    return status;
}

/* ---- the model's side ---------------------------------------------------------------------- */

static int64_t examples(const void *self, int split)
{
    return ((const node_task *)self)->targets[split] > 0;
}

static const int32_t *lengths(const void *self, int split)
{
    (void)split;
    return &((const node_task *)self)->length;
}

static int64_t targets(const void *self, int split, const int64_t *example, int64_t count)
{
    (void)example;
    return count * ((const node_task *)self)->targets[split];
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    const node_task *t = self;
    (void)options, (void)error;
    *plan = (gsa_task_plan){ .sequence = { "nodes" },
                             .pass = { { .stack = "encoder", .sequence = "nodes" } },
                             .n_sequences = 1,
                             .n_passes = 1,
                             .input = { { .width = t->width } },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SEQUENCE } },
                             .n_stacks = 1,
                             .outputs = t->labels.count };
    return GSA_OK;
}

static void spread(const node_task *t, float *x)
{
    const gsa_nodes *n = &t->nodes;
    memset(x, 0, (size_t)n->count * (size_t)t->width * sizeof *x);
    for (int64_t i = 0; i < n->count; i++, x += t->width) {
        double sum = 0;
        for (int64_t e = n->first[i]; e < n->first[i + 1]; e++) sum += n->value[e];
        const double scale = t->normalize && sum != 0 ? 1 / sum : 1;
        for (int64_t e = n->first[i]; e < n->first[i + 1]; e++)
            x[n->index[e]] = (float)(scale * (double)n->value[e]);
    }
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const node_task *t = self;
    (void)example;
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK)
        status = gsa_minibatch_sequence_size(batch, 0, count, t->nodes.count, t->width, error);
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, t->nodes.count, 0, error);
    if (status != GSA_OK) return status;
    batch->sequence[0].length[0] = t->length;
    spread(t, batch->sequence[0].feature);
    for (int64_t i = 0; i < t->nodes.count; i++)
        batch->label[i] = t->nodes.split[i] == split ? t->label[i] : -1;
    return GSA_OK;
}

/* Of each node of the split its number and its label. */
static void gold(const void *self, int split, int64_t example, gsa_sha256 *hash)
{
    const gsa_nodes *n = &((const node_task *)self)->nodes;
    (void)example;
    for (int64_t i = 0; i < n->count; i++) {
        if (n->split[i] != split) continue;
        gsa_sha256_add(hash, &i, sizeof i);
        gsa_gold_add(hash, &n->label[i], 1);
    }
}

/* A node is a unit. */
static int64_t units(const void *self, int split, int64_t example)
{
    (void)example;
    return ((const node_task *)self)->targets[split];
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    const int32_t classes = ((const node_task *)self)->labels.count;
    for (int64_t i = 0; i < batch->targets; i++)
        if (batch->label[i] >= 0)
            gsa_classes_score_row(out + i * classes, classes, -1, batch->label[i], unit++);
}

static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, ((const node_task *)self)->nodes.count, 0, error);
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    const int32_t classes = ((const node_task *)self)->labels.count;
    (void)example;
    for (int64_t i = 0; i < batch->targets; i++)
        survey->found[i] = gsa_found_of(out + i * classes, classes, batch->label[i], -1);
}

static void describe(const void *self, int split, int64_t row, json_t *object)
{
    (void)split;
    json_object_set_new(object, "node", json_integer(row));
    json_object_set_new(object, "line", json_integer(((const node_task *)self)->nodes.line[row]));
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    const gsa_labels *labels = &((node_task *)self)->labels;
    return gsa_report_classes(survey, labels->name, labels->count, 1,
                              &(gsa_row_teller){ self, describe }, object, error);
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    return gsa_labels_write(&((const node_task *)self)->labels, checkpoint, error);
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    if (room < 1) return 0;
    facts[0] = (gsa_fact){ "nodes", ((const node_task *)self)->length };
    return 1;
}

/* All nodes of the graph again, whose splits and labels are not looked at. */
static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    node_task *t = self;
    const gsa_status status =
        gsa_nodes_read(t->system, path, t->columns, t->encoding, &t->nodes, error);
    if (status != GSA_OK) return status;
    if (t->nodes.width > t->width)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the nodes have features to index %d, the model reads %d",
                        t->nodes.path, t->nodes.width - 1, t->width);
    t->label = gsa_alloc(t->system, (size_t)t->nodes.count, sizeof *t->label);
    if (!t->label) return gsa_out_of_memory(error, path, t->nodes.count * 4);
    for (int64_t i = 0; i < t->nodes.count; i++) t->label[i] = -1;
    t->length = (int32_t)t->nodes.count, t->targets[GSA_SPLIT_TEST] = t->nodes.count;
    return GSA_OK;
}

static const gsa_labels *labels_of(const void *self)
{
    return &((const node_task *)self)->labels;
}

static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    gsa_classes_print(&((const node_task *)self)->labels, out, batch->targets, output);
}

const gsa_task gsa_task_node_classification = {
    .name = "node_classification",
    .by_row = 1,
    .metric = "accuracy",
    .rising = 1,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .targets = targets,
    .fill = fill,
    .loss = gsa_classes_loss,
    .gold = gold,
    .units = units,
    .score = score,
    .survey = survey,
    .observe = observe,
    .findings = findings,
    .save = save,
    .facts = facts,
    .read_lines = read_lines,
    .print = print,
    .labels = labels_of,
    .whole = 1,
};
