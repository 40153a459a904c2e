/* task.h - a task: what is read, what the head gives, what is lost, how it is scored. The driver does the rest.
 *
 * Law.  A task is a table of functions over one object. Examples of a split are numbered from 0. To add one: a file in
 *       tasks/, a name in keys.h (task.name), a row in gsa_task_find. */
#ifndef GSA_TASK_H
#define GSA_TASK_H
#include "gsa/checkpoint.h"
#include "gsa/input.h"
#include "train/minibatch.h"
#include "train/recipe.h"

enum gsa_split { GSA_SPLIT_TRAIN, GSA_SPLIT_DEV, GSA_SPLIT_TEST, GSA_SPLITS };

typedef struct gsa_score { /* sums over examples */
    double loss, right;    /* right: of metrics that are shares */
    int64_t targets;       /* numbers that the loss is a mean of */
    int64_t examples;
} gsa_score;

typedef struct gsa_fact { /* a number for people and the result: "bayes_accuracy" */
    const char *name;
    double value;
} gsa_fact;

typedef struct gsa_task_options {
    const gsa_system *system;
    gsa_recipe *recipe;     /* create may settle values that depend on the data (model.embedding) */
    const char *checkpoint; /* folder to restore vocabulary and labels from, or NULL: learn them from the training data */
    uint32_t splits;        /* bits: the splits that are wanted */
    void (*say)(void *context, const char *sentence);
    void *context;
} gsa_task_options;

typedef struct gsa_task {
    const char *metric; /* "accuracy", "mse": results are dev_accuracy, test_accuracy */
    int32_t rising;     /* larger is better */
    int32_t zero;
    gsa_status (*create)(const gsa_task_options *options, void **self, gsa_error *error);
    void (*destroy)(void *self);
    int64_t (*examples)(const void *self, int split); /* 0: the split is not there */
    const int32_t *(*lengths)(const void *self, int split);
    int32_t (*outputs)(const void *self); /* width of the head */
    int64_t (*targets)(const void *self); /* numbers of one example that the loss is a mean of */
    void (*input)(const void *self, gsa_input_options *options);
    /* Once the parameters stand: word vectors. NULL: nothing to do. */
    gsa_status (*prepare)(void *self, gsa_input *input, gsa_backend *backend, gsa_error *error);
    gsa_status (*fill)(void *self, int split, const int64_t *example, int32_t count, gsa_minibatch *batch, gsa_error *error);
    gsa_tensor *(*loss)(const void *self, gsa_tape *tape, gsa_tensor *out, const gsa_minibatch *batch, double scale);
    void (*score)(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *score);
    gsa_status (*save)(const void *self, gsa_checkpoint *checkpoint, gsa_error *error);
    /* Up to `room` facts beside the result (baselines); their number. */
    int (*facts)(const void *self, gsa_fact *facts, int room);
    /* ---- prediction: lines to examples of split GSA_SPLIT_TEST, in order; one output line from a row of `out` */
    gsa_status (*read_lines)(void *self, const char *path, gsa_error *error);
    void (*print)(const void *self, const double *out, gsa_output *output);
    /* One text as the only example of split GSA_SPLIT_TEST. NULL: the task's examples are no text. */
    gsa_status (*read_text)(void *self, const char *text, gsa_error *error);
} gsa_task;

extern const gsa_task gsa_task_masked_summation, gsa_task_text_classification;
const gsa_task *gsa_task_find(int64_t name); /* gsa_task_name */
double gsa_score_metric(const gsa_task *task, const gsa_score *score);

#endif
