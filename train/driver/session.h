/* session.h - what training, evaluation and prediction have in common: a recipe, its task with
 * data, a backend, a model. */
#ifndef GSA_SESSION_H
#define GSA_SESSION_H
#include <signal.h>
#include "graph/anchor.h"
#include "train/driver/batches.h"
#include "train/driver.h"
#include "train/driver/prefetch.h"
#include "gsa/group.h"
#include "train/driver/rows.h"
#include "train/driver/same_data.h"

#define GSA_MODEL_FILE "model.safetensors" /* of a checkpoint */

typedef struct gsa_session_options {
    const char *recipe;        /* or NULL: the config.ini of `checkpoint` */
    const gsa_system *written; /* reads `recipe`, which may be in the locked folder; or NULL */
    const char *checkpoint; /* folder of one checkpoint to restore words and labels from, or NULL:
                               the recipe's train.start, if any. With either weights are not drawn:
                               the caller reads them, and they are zero till then */
    const char *const *overrides, *const *plugins;
    int n_overrides, n_plugins;
    gsa_plugin_policy policy;
    const char *device, *build;
    int threads;
    uint32_t splits;
    int applies;          /* 1: no training step is made, so that weights have no gradients */
    int resumes;          /* 1: the run of `checkpoint` goes on */
    int untrusted;        /* 1: no path that the checkpoint's recipe names is opened */
    int allow_nonfinite;  /* 1: weights that are NaN or infinite are taken */
    gsa_backend *backend; /* NULL: one is made */
    void (*say)(void *context, const char *sentence);
    void (*warn)(void *context, const char *sentence); /* what must not be missed */
    void *context;
    const volatile sig_atomic_t *stop;
    struct gsa_profile *profile; /* or NULL */
    gsa_group *group;            /* or NULL */
} gsa_session_options;

typedef struct gsa_session {
    const gsa_system *system;
    gsa_anchor *anchor; /* holds the checkpoint, for its files; NULL: the caller's table does */
    gsa_recipe recipe;
    gsa_registry *registry;
    const gsa_task *task;
    gsa_task *plugged; /* a plugin's table, in this program's size */
    void *self;
    gsa_backend *backend;
    int owns_backend, zero;
    gsa_learner model;
    const char *build; /* borrowed; or NULL */
    char *start;       /* the checkpoint that train.start names; NULL: none, or one was given */
    char data[GSA_DATA_HASHES]; /* of training: hashes of its files */
    char *inputs;               /* hashes of the patterns' files (inputs.h) */
    char *plugins;              /* and of the plugins that they come from (plugins.h) */
    gsa_minibatch batch;
    gsa_prefetch *prefetch; /* NULL with train.prefetch = 0 */
    double *out;            /* a batch's outputs on the host */
    int64_t out_room;
    int finite;       /* 1: an output that is not finite is GSA_ERR_NUMBER */
    gsa_group *group; /* borrowed; or NULL */
    gsa_rank_rows
        rows;        /* of ranks that share each example's rows; its model is NULL: they do not */
    gsa_score *unit; /* units of the batches that the ranks score at once, one each */
    int64_t unit_room;
    gsa_survey *survey; /* [GSA_SPLITS] receives what scoring finds of each target; or NULL */
    const volatile sig_atomic_t *stop;
    struct gsa_profile *profile; /* or NULL */
} gsa_session;

gsa_status gsa_session_create(const gsa_system *system, const gsa_session_options *options,
                              gsa_session *session, gsa_error *error);
void gsa_session_release(gsa_session *session); /* a zeroed one is fine */

/* Examples into session->batch. */
gsa_status gsa_session_fill(gsa_session *session, const gsa_wanted *wanted, gsa_error *error);
/* Once the tape was reset for that batch: the one that is likely to follow, or NULL. */
void gsa_session_ask(gsa_session *session, const gsa_wanted *next);
/* Once a forward and backward pass is queued: the arrays of the batch requested go to the device
 * next to it, where the backend can do that. */
gsa_status gsa_session_upload_ahead(gsa_session *session, gsa_error *error);
/* Outputs of some examples into session->out, without dropout: rows of out, or with task->surprise
 * a number a target. */
gsa_status gsa_session_outputs(gsa_session *session, int split, const int64_t *example,
                               int32_t count, gsa_error *error);
/* The same, where it is known what is likely to follow (or NULL). */
gsa_status gsa_session_compute(gsa_session *session, const gsa_wanted *wanted,
                               const gsa_wanted *next, gsa_error *error);
/* Scores a whole split; GSA_ERR_INTERRUPTED when a stop is requested. An absent split scores
 * nothing. `outcome`, where not NULL, receives each unit's score, example after example as they are
 * numbered: gsa_session_units of them. */
gsa_status gsa_session_score(gsa_session *session, int split, gsa_score *score, gsa_score *outcome,
                             gsa_error *error);
int64_t gsa_session_units(const gsa_session *session, int split);
gsa_batches_options gsa_session_batches(const gsa_session *session);
/* "FOLDER/NAME", released by the caller; NULL after a failure. */
char *gsa_path_join(const gsa_system *system, const char *folder, const char *name,
                    gsa_error *error);
double gsa_seconds(void); /* of a clock that only goes forward */

#endif
