/* task.h - a task: what is read, which stacks run on what, what the head gives, what is lost, how
 * it is scored. The driver does the rest.
 *
 * Example: train/template/trend.c, a whole task that is a plugin; docs/library.md tells of it.
 *
 *     examples --fill--> minibatch --inputs--> rows --passes--> readouts --features--> head --> out
 *       --loss, score, print
 *
 * A task says in its *plan* which sequences an example has, which input makes their rows, which
 * passes of stacks go over them (gsa/model.h), and what the head reads. `out` has a row for each
 * target; a target is a label (-1: none, ignored by loss and metric) or numbers. So each of these
 * is a file in tasks/ and nothing else:
 *
 *     task  sequences  passes  out, one row for each ...
 *     masked summation      x                  encoder(x)                      example
 *     text classification   text               encoder(text)                   example
 *     sentence pairs        a, b               encoder(a), encoder(b)          example
 *     tagging               words, characters  encoder(words), char(chars)     token of words
 *     span extraction  question, passage  encoder(both as one)
 *          token; a question is one example, however many windows
 *     nodes of a graph  nodes  encoder(nodes), one example
 *           node; those of other splits have label -1
 *     language modelling  text  encoder(text), causal  token; its label is the next one
 *     translation           source, target     encoder(source), decoder        token of target
 *
 * Law.  A task is a table of functions over one object. Examples of a split are numbered from 0. To
 *     add one without this tree: a shared object that exports GSA_TASK_PLUGIN; in it: a file in
 *     tasks/, a name in keys_table.h (task.name), a row in task.c.
 *
 * Law.  `fill` may run in another thread than all the rest, one call at a time (prefetch.h): what
 *     it writes of the object no other function reads or writes, and what it reads nothing changes
 *     once the model is. read_lines and read_text run when nothing is filled.
 *
 * Law.  What is scored comes in *units*, which one could have drawn singly: what a bootstrap
 *     resamples. A unit is an example; where one example holds all that there is (a graph), each
 *     target with a label is one. A metric is made of the units' sums, so results do not depend on
 *     how examples are put into batches, but for the last bits of a sum of losses. */
#ifndef GSA_TASK_H
#define GSA_TASK_H
#include <signal.h>
#include "gsa/checkpoint.h"
#include "gsa/hash.h"
#include "gsa/input.h"
#include "gsa/model.h"
#include "train/driver/minibatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of the data. */
enum gsa_split { GSA_SPLIT_TRAIN, GSA_SPLIT_DEV, GSA_SPLIT_TEST, GSA_SPLITS };
enum { GSA_TASK_PASSES = 4, GSA_TASK_STACKS = 4 };

typedef struct gsa_recipe gsa_recipe;               /* read by gsa_task_value */
typedef struct gsa_recipe_values gsa_recipe_values; /* the host's own */
typedef struct gsa_survey gsa_survey;               /* likewise, as are the next three */
struct gsa_learner;
struct json_t;
struct gsa_labels;

/* The value of a key such as "data.train" as recipes write it, in `number` (of 64 bytes) where it
 * is one; NULL: there is no such key. A text lives as long as the recipe. */
const char *gsa_task_value(const gsa_recipe *recipe, const char *key, char *number);

typedef struct gsa_score {       /* of one unit (below), or sums over units */
    double loss, right;          /* right: of metrics that are shares */
    int64_t targets;             /* numbers that the loss is a mean of */
    int64_t examples;            /* that `right` is a share of: targets with a label */
    int64_t hits, found, wanted; /* of metrics that are F1: right ones among those found, and among
                                    those to be found */
    int64_t strict_hits, strict_found, strict_wanted; /* likewise, of spans read strictly
                                                         (spans.h) */
} gsa_score;

typedef struct gsa_fact { /* a number for people and the result: "bayes_accuracy" */
    const char *name;     /* a key of the result */
    double value;         /* finite, else the fact is left out */
} gsa_fact;

/* What a task is created of; all of it is borrowed. */
typedef struct gsa_task_options {
    const gsa_system *system; /* memory and files */
    gsa_recipe *recipe;     /* create may settle values that depend on the data (model.embedding) */
    const char *checkpoint; /* folder to restore vocabulary and labels from, or NULL: learn them
                               from the training data */
    uint32_t splits;        /* bits: the splits that are wanted */
    void (*say)(void *context, const char *sentence); /* for people */
    void *context;                                    /* of say */
    int32_t resumes, zero;  /* resumes: the run of the checkpoint goes on, on the same data */
    const gsa_value *value; /* [n_options] of the table, for as long as create runs: what
                               task.options says, else the fallbacks */
} gsa_task_options;

/* One stack of a task's model. */
typedef struct gsa_task_stack {
    const char *name;      /* passes name it; first word of its parameters' names */
    const char *spec;      /* NULL: the recipe's encoder; else text, of another key of the recipe */
    uint32_t reads;        /* gsa_readout_use: what the task reads of its passes */
    gsa_settings settings; /* hidden 0: the recipe's */
    int32_t causal; /* a token must not see those after it: a pattern that does not promise so is
                       refused */
} gsa_task_stack;

/* What the learner builds. Texts are borrowed and outlive it. */
typedef struct gsa_task_plan {
    const char *sequence[GSA_BATCH_SEQUENCES];    /* names */
    int32_t input_of[GSA_BATCH_SEQUENCES];        /* which input makes a sequence's rows */
    gsa_input_options input[GSA_BATCH_SEQUENCES]; /* name NULL: "input"; the learner gives each its
                                                     dropout site */
    gsa_settings input_settings[GSA_BATCH_SEQUENCES];  /* hidden 0: the recipe's */
    gsa_task_stack stack[GSA_TASK_STACKS];             /* of the model */
    gsa_model_pass pass[GSA_TASK_PASSES];              /* in the order of execution */
    int32_t n_sequences, n_inputs, n_stacks, n_passes; /* of the arrays above */
    int32_t head_pass;   /* the head reads this pass's summary, where its stack gives it, else its
                           sequence */
    int32_t head_inputs; /* the head's columns are so many times hidden; 0: 1. More: `features`
                            makes them */
    int32_t outputs;     /* columns of out */
    int32_t terms;       /* numbers of a target that the loss is a mean of; 0: 1 (labels) */
    /* With model.tied = 1 the weight of the head's last Linear is rows first_class.. of this
     * input's embedding, its gradient added to the embedding's: class c is id c + first_class.
     * tied: 1 + the input, or 0: the head cannot be tied */
    int32_t tied, first_class;
    double aux; /* weight of the mean loss of the layers below the last of the head's pass, in
                   training (learner.h); 0: none */
} gsa_task_plan;

/* What a task's plan depends on. */
typedef struct gsa_task_plan_options {
    const gsa_recipe *recipe; /* of the run */
    int memory_layer; /* layers of the encoder before it reads a memory; -1: it reads none */
} gsa_task_plan_options;

/* What a task writes of its own accord, one sentence after the other: translations. */
typedef struct gsa_decode_options {
    int split;                         /* gsa_split */
    int32_t batch;                     /* examples at a time, >= 1 */
    gsa_output *output;                /* receives a line an example, in their order; or NULL */
    gsa_survey *survey;                /* receives what is found of each; or NULL */
    const volatile sig_atomic_t *stop; /* not 0: end with GSA_ERR_INTERRUPTED; or NULL */
    struct gsa_group *group; /* of ranks that share the batches: each makes some, and receives all,
                                or NULL */
} gsa_decode_options;

enum { GSA_DECODED_FACTS = 8, GSA_DECODED_NOTES = 2 };
typedef struct gsa_decoded {          /* how good it is: "bleu" makes test_bleu; notes are texts */
    gsa_fact fact[GSA_DECODED_FACTS]; /* [facts] */
    struct {
        const char *name;
        char text[128];
    } note[GSA_DECODED_NOTES]; /* [notes] texts for the result */
    int32_t facts, notes;      /* of the arrays above */
} gsa_decoded;

/* A plugin's table begins with GSA_TASK_HEAD. It needs name, metric, create, destroy, plan,
 * examples, lengths, fill, loss, score, save, read_lines and print; what else it leaves out is NULL
 * or 0. Its gsa_ calls are resolved in the program that loads it. */
typedef struct gsa_task {
    uint32_t abi, struct_size; /* GSA_TASK_HEAD fills them */
    const char *name;          /* [a-z][a-z0-9_]*, as in recipes */
    const char *metric;        /* such a word, too: results are dev_mse, test_mse */
    int32_t
        rising; /* larger is better: the share score.right / score.examples; else the mean loss */
    int32_t f1; /* rising, and the metric is the F1 of score.hits, found and wanted */
    /* Another table for this object, where data or recipe settle the metric. NULL: this one. */
    const struct gsa_task *(*variant)(const void *self);
    int32_t surprise; /* score and print are given -log p(label) of each target, 0 for a label of
                         -1, in place of out: for classes so many that rows of them should not come
                         to the host */
    /* What is wrong with values, where no data is needed to know it; the other functions count on
     * it. NULL: nothing. */
    gsa_status (*check)(const gsa_recipe *recipe, gsa_error *error);
    gsa_status (*create)(const gsa_task_options *options, void **self, gsa_error *error);
    void (*destroy)(void *self);
    gsa_status (*plan)(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error);
    int64_t (*examples)(const void *self, int split); /* 0: the split is not there */
    const int32_t *(*lengths)(
        const void *self, int split); /* tokens of each example, in all its sequences together */
    /* Targets of some examples: those that the loss is a mean of. NULL: one each. */
    int64_t (*targets)(const void *self, int split, const int64_t *example, int64_t count);
    /* Once the inputs are: word vectors, parameters of the task's own. NULL: nothing to do. */
    gsa_status (*prepare)(void *self, struct gsa_learner *learner, gsa_error *error);
    gsa_status (*fill)(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error);
    /* The columns that are next to the embedding of a sequence whose input says so
     * (gsa_input_options.next to), made of what the passes before it gave: words of characters.
     * With it passes are executed in the plan's order, each as a whole. NULL: there are none. */
    gsa_tensor *(*beside)(const void *self, gsa_tape *tape, int sequence,
                          const gsa_minibatch *batch, const gsa_readout *readouts);
    /* readouts [passes] -> [rows, head_inputs x hidden]. NULL: the head reads pass 0's as it is. */
    gsa_tensor *(*features)(const void *self, gsa_tape *tape, const gsa_readout *readouts);
    gsa_tensor *(*loss)(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale);
    /* After a forward pass without dropout, before score and print: what they need that is computed
     * where `out` is (best paths); `values` are out's on the host. NULL: nothing. */
    gsa_status (*decode)(void *self, int split, gsa_tape *tape, gsa_tensor *out,
                         const double *values, const gsa_minibatch *batch, gsa_error *error);
    /* Units of one example. NULL: one each. */
    int64_t (*units)(const void *self, int split, int64_t example);
    /* Adds to the hash what is to be found in an example, as its file says it: of labels whose
     * numbers or places depend on the training data or on the recipe. NULL: the targets that `fill`
     * gives. */
    void (*gold)(const void *self, int split, int64_t example, gsa_sha256 *hash);
    /* Fills unit[...], zeroed: of the batch's first example, then of its second, ... The caller
     * adds them up in this order. */
    void (*score)(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit);
    gsa_status (*save)(const void *self, gsa_checkpoint *checkpoint, gsa_error *error);
    /* Up to `room` facts next to the result (baselines); their number. NULL: none. */
    int (*facts)(const void *self, gsa_fact *facts, int room);
    /* Likewise of a score next to the metric: "f1" makes dev_f1, test_f1. NULL: none. */
    int (*metrics)(const gsa_score *score, gsa_fact *facts, int room);
    /* What a score depends on next to the task and its metric, "scheme:BIOES|match:lenient", for
     * signatures. NULL: nothing. */
    void (*signature)(const void *self, const gsa_recipe_values *values, char *text, size_t room);
    /* What the field's scorer prints, once a split was scored: text reports begin with it. NULL:
     * there is none. */
    gsa_status (*report)(void *self, int split, gsa_output *output, gsa_error *error);
    /* ---- more of an evaluation (score/report.h). Opens the survey of a split that is there. NULL:
     * its rows are the examples' mean losses */
    gsa_status (*survey)(const void *self, gsa_survey *survey, gsa_error *error);
    /* After `score` of these examples: their rows. NULL: decode_split fills them, or
     * there is no survey. */
    void (*observe)(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey);
    /* Adds the split's part of the report. NULL: quantiles of the losses and the worst examples,
     * where there is no survey either; else nothing */
    gsa_status (*findings)(void *self, gsa_survey *survey, struct json_t *object, gsa_error *error);
    /* ---- prediction: lines to examples of split GSA_SPLIT_TEST, in order; the output lines of a
     * batch from its rows of out */
    gsa_status (*read_lines)(void *self, const char *path, gsa_error *error);
    /* The same of running text, a sentence a line, cut into gsa_data_tokens. NULL: read_lines does
     * so, or lines are no sentences. */
    gsa_status (*read_sentences)(void *self, const char *path, int32_t tokens, gsa_error *error);
    void (*read_as)(const void *self, char *sentence,
                    size_t room); /* what was read, for people. NULL: nothing to say */
    void (*print)(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output);
    const struct gsa_labels *(*labels)(const void *self); /* of which out has a logit each, a row a
                                                             line. NULL: out is something else */
    int32_t whole;                 /* a file is read as a whole: no line of it alone */
    const char *opening, *closing; /* of the output, before the first line and after the last: "{",
                                      "}". NULL: nothing */
    /* The whole split, without dropout. A task that has it needs no print; evaluations and the end
     * of training call it, too. */
    gsa_status (*decode_split)(void *self, struct gsa_learner *learner,
                               const gsa_decode_options *options, gsa_decoded *decoded,
                               gsa_error *error);
    /* One text as the only example of split GSA_SPLIT_TEST. NULL: the task's examples are no single
     * text. */
    gsa_status (*read_text)(void *self, const char *text, gsa_error *error);
    /* Keys that it reads next to those that all tasks read: " data.train data.dev ", a blank before
     * and after each. Others are refused. NULL: none. */
    const char *keys;
    /* 1: the loss of a row of out depends on that row and its target alone, so that rows of one
     * example may be computed by several ranks (train.split). */
    int32_t by_row, zero;
    /* Where the training examples come in blocks, each read as a whole: block b holds first[b] to
     * first[b + 1] - 1, and a batch is of one. Its texts stay until two other blocks were read.
     * NULL, or *blocks 0: there are none. */
    const int64_t *(*blocks)(const void *self, int64_t *blocks);
    /* Options of its own, which a recipe gives as `options = power=2:signed=1` in [task]; no paths:
     * files are keys of [data]. GSA_TASK_OPTIONS fills the three. */
    const gsa_param *options;
    uint32_t n_options, option_stride;
} gsa_task;

/* The first members of a gsa_task: ABI and size. */
#define GSA_TASK_HEAD .abi = GSA_TASK_ABI, .struct_size = sizeof(gsa_task)
/* Its options: an array of gsa_param. */
#define GSA_TASK_OPTIONS(p)                                                                        \
    .options = (p), .n_options = sizeof(p) / sizeof(*(p)), .option_stride = sizeof(gsa_param)
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
/* The table that a plugin of a task exports. */
extern const gsa_task GSA_TASK_PLUGIN;

#ifdef __cplusplus
}
#endif
#endif
