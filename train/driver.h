/* driver.h - training, evaluation and prediction, the one way for every task; what the command's
 * verbs call.
 *
 * Example:
 *
 *     const char *const small[] = { "train.max_steps=2", "task.train=32" };
 *     gsa_error error;
 *     gsa_train_options train = { "recipe.ini", small, 2 };
 *     gsa_apply_options apply = { "out" };
 *     char *result;
 *     train.out = "out";
 *     if (gsa_train(NULL, &train, &result, &error)) return puts(error.text), 1;
 *     gsa_release(NULL, result);
 *     if (gsa_evaluate(NULL, &apply, &result, &error)) return puts(error.text), 1;
 *     puts(result); // {"task": ..., "test_mse": ...}
 *     gsa_release(NULL, result);
 *     return 0;
 *
 * Law.  Nothing is printed: progress, log lines and results go to the callbacks or into texts that
 *     the caller releases with gsa_release(system, ...). Callbacks run in the calling thread, which
 *     has the C locale for the length of the call.
 *     Any thread may call; calls share nothing, except that one process at a time trains in a
 *     folder. Errors: GSA_ERR_ARGUMENT and GSA_ERR_FORMAT (the request, the recipe or the data are
 *     wrong), GSA_ERR_IO, GSA_ERR_MEMORY, GSA_ERR_LIMIT, GSA_ERR_NUMBER (a loss that is not
 *     finite), GSA_ERR_PLUGIN, GSA_ERR_UNSUPPORTED (no such device), GSA_ERR_DEVICE (it was lost),
 *     GSA_ERR_INTERRUPTED (stopped on request). */
#ifndef GSA_DRIVER_H
#define GSA_DRIVER_H
#include <signal.h>
#include "graph/system.h"
#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_progress { /* handed to the callback every report interval, after each epoch and
                                 each evaluation */
    int32_t kind;             /* 0 step, 1 epoch (with evaluation), 2 message, 3 warning */
    int32_t epoch, epochs;    /* epochs done, planned */
    int64_t step, steps;      /* optimiser steps done, planned */
    /* means since the last report: loss of a target, norm of the gradients, learning rate, wall
     * time of a step in milliseconds, tokens of the input a second */
    double loss, norm, lr, step_ms, tokens_per_second;
    double seconds, remaining; /* kinds 0, 1: of the run so far, and to its last planned step at
                                  that pace, evaluations too */
    const char *text; /* kind 0: "best dev accuracy 0.4123", NULL before there is one; kind 1: "dev
                         accuracy 0.4123"; kind 2: a sentence for people (skipped phases, ...); kind
                         3: one that must not be missed (an older model is used) */
} gsa_progress;
/* Receives progress on the calling thread; `progress` lives until it returns. */
typedef void (*gsa_progress_call)(void *context, const gsa_progress *progress);

/* Plugins that are not named: a checkpoint says which a model was trained with (plugins.sha256).
 * Loading one runs its code. */
enum { GSA_PLUGIN_MARK = 80 };
/* Which plugins of a model may be loaded without being named. */
typedef struct gsa_plugin_policy {
    const char
        *own; /* path of the plugin that comes with the program, which no model records; or NULL */
    int (*trusts)(const char *path); /* 1: nobody else can have written file or folder. NULL: what
                                        is not named is not loaded */
    /* What tells this file from one of the same bytes that came with a model: no archive can bring
     * it. 0: it is not known. */
    int (*mark)(const char *path, char mark[GSA_PLUGIN_MARK]);
    int32_t other,
        zero; /* other: 1: a plugin with other bytes than the model was trained with is taken */
} gsa_plugin_policy;

/* Options of gsa_train; zeros are defaults. */
typedef struct gsa_train_options {
    const char *recipe;           /* INI file; NULL with `resume` */
    const char *const *overrides; /* "section.key=value", later wins */
    int n_overrides;              /* of overrides */
    const char *const *plugins;   /* paths of topology plugins */
    int n_plugins;                /* of plugins */
    gsa_plugin_policy policy;     /* which plugins of a model are trusted */
    const char *out;              /* folder of the run; NULL: nothing is written */
    const char
        *resume; /* folder of a run to go on with (its config holds; overrides may lengthen it) */
    const char *device; /* "cpu", "auto"; "cuda" and what may follow it (kernels/backend.h): refused
                           with a sentence where there is none */
    const char *build;  /* names the program's build in signatures: a commit; or NULL */
    int threads;        /* 0: all cores */
    gsa_progress_call progress; /* or NULL */
    void *context;              /* handed to progress */
    const volatile sig_atomic_t
        *stop;            /* becomes non-zero: save and return GSA_ERR_INTERRUPTED; or NULL */
    gsa_backend *backend; /* NULL: made from device and threads; else this one is used, and outlives
                             the call */
    const struct gsa_lock *lock; /* of the folder that is written to, which the caller holds
                                    (lock.h); NULL: it is taken */
    int steps_alone; /* a measurement: dev and test data are neither read nor evaluated. The result
                        has no metric, but of the last batch examples, tokens, nodes, edges,
                        score_bytes (gsa_stack_counts) */
    struct gsa_profile *profile; /* kernels/profile.h: receives where the time went; or NULL */
    struct gsa_group *group;     /* the processes that share the run, each in this call; or NULL.
                                    Rank 0 writes, and the others' progress tells the same */
} gsa_train_options;

/* Another process that trains in the same folder is refused. Writes into `out`: config.ini
 * (resolved), log.jsonl, curve.svg, checkpoints (checkpoint.h), outcomes.jsonl (outcomes.h),
 * result.json. *result: one JSON object on one line
 * (task, test_mse | dev_accuracy, test_accuracy, seconds, tokens_per_second, parameters, seed,
 * signature, ...). */
gsa_status gsa_train(const gsa_system *system, const gsa_train_options *options, char **result,
                     gsa_error *error);

/* How a trained model is used: by eval, predict, attend, generate. */
typedef struct gsa_apply_options {
    const char *model;            /* folder of a run, or of one checkpoint */
    const char *const *overrides; /* for [data] keys: another test file, a batch size */
    int n_overrides;              /* of overrides */
    const char *const *plugins;   /* paths of topology plugins */
    int n_plugins;                /* of plugins */
    gsa_plugin_policy policy;     /* which plugins of the model are trusted */
    const char *device, *build;   /* as of gsa_train_options */
    int threads;                  /* 0: all cores */
    const char *outcomes; /* evaluate: file that receives what was found of each unit (outcomes.h);
                             or NULL */
    const char *report;   /* evaluate: file that receives the report for people; or NULL */
    const char *json;     /* evaluate: file that receives it as JSON (reports.h); or NULL */
    const char *input, *output; /* predict: "-" or a path */
    const char *const *texts; /* predict: a text, or two of sentence pairs, in place of the input */
    int n_texts;              /* of texts */
    int stream;           /* predict: 1: lines are answered as they come; a line that cannot be is
                             "!<TAB>why", and what           follows goes on */
    int32_t top_k;        /* predict: so many labels of each line, best first; 0: the best alone */
    int32_t all_labels;   /* predict: 1: every label of each line, in their order */
    const char *tokenize; /* predict, tagging: lines are sentences, cut into words, chars or
                             punctuated; NULL: columns */
    int untrusted;        /* 1: no path that the model's config names is opened, no plugin that it
                             names is loaded; what is needed is given by overrides and plugins */
    int (*distrusts)(const char *folder); /* 1: as untrusted, of the checkpoint that was opened;
                                             or NULL */
    int allow_nonfinite;        /* 1: weights that are NaN or infinite are taken, not refused */
    gsa_progress_call progress; /* messages and warnings only (kinds 2, 3); or NULL */
    void *context;              /* handed to progress */
    gsa_backend *backend;       /* as above */
    struct gsa_group *group;    /* likewise: the examples are shared out; or NULL */
} gsa_apply_options;

/* Metrics of the model on its dev and test data. *result as above. */
gsa_status gsa_evaluate(const gsa_system *system, const gsa_apply_options *options, char **result,
                        gsa_error *error);
/* One input line -> one output line, order kept ("label<TAB>probability" for classification;
 * numbers for masked summation). From a program of your own, text by text: predictor.h. */
gsa_status gsa_predict(const gsa_system *system, const gsa_apply_options *options,
                       gsa_error *error);

/* The attention weights of texts or examples as pictures (graph/write.h): each layer's patterns
 * with the softmax probabilities of every head on the edges. Sums and means, which have no softmax,
 * weigh 1 and 1/degree; phases that nothing reads are left out. All stacks of the model are in it:
 * both texts of a pair, an encoder and its decoder, which reads the translation of the text that
 * the model decodes; the characters of each word have a picture of their own. The file goes to
 * options->output; messages say which words are unknown and, of the last layer, the strongest
 * edges. Several pictures need a page or numbers, and a file. */
typedef struct gsa_attend_options {
    const char *const *texts;  /* cut into tokens as the recipe says; two each of a pair */
    int n_texts;               /* of texts */
    const int64_t *examples;   /* of the test data, from 0 */
    int n_examples;            /* of examples */
    int dev;                   /* examples are of the development data instead */
    const char *const *beside; /* folders of other models, on the same texts */
    int n_beside;              /* of beside */
    int64_t most_edges;        /* of a picture; 0: no limit */
    int32_t layer;             /* -1: all */
    int32_t format;            /* gsa_format */
} gsa_attend_options;
/* Runs a model on a text, or on an example of its data, and writes the weights of its edges. */
gsa_status gsa_attend(const gsa_system *system, const gsa_apply_options *options,
                      const gsa_attend_options *attend, gsa_error *error);

/* Every key that a recipe may hold, for help, completion and the man page. Tasks are bits, in the
 * order of task.name's choices. */
typedef struct gsa_key {
    const char *section, *name; /* "train", "lr" */
    int32_t type;               /* gsa_type */
    uint32_t readers; /* tasks that read it: in others another value than the default is refused */
    double low, high; /* of numbers: the least and the largest value */
    const char *choices, *fallback, *doc; /* "a,b" or NULL; the default; a line for people */
    struct {
        const char *choices; /* some of them */
        uint32_t readers;    /* tasks that read these */
    } parts[4];              /* choices that fewer tasks read; unused ones are NULL */
    struct {
        const char *other, *values; /* "model.position" is one of "learned,sinusoid", */
        const char *choice;         /* asked of this value alone; NULL: of any */
        uint32_t tasks;             /* asked in these tasks alone; 0: in all */
    } with[2];                      /* where alone another value than the default is of use */
} gsa_key;
/* All keys of recipes, in the order of `gsa help --recipe-keys`; `count` may be NULL. */
const gsa_key *gsa_recipe_keys(int *count);

#ifdef __cplusplus
}
#endif
#endif
