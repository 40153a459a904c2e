/* trainer.h - a training run: what driver.c loops over, state.c saves and report.c tells. Not
 * installed. */
#ifndef GSA_TRAINER_H
#define GSA_TRAINER_H
#include "train/driver/gradient_tree.h"
#include "train/driver/identity.h"
#include "train/driver/lock.h"
#include "train/driver/log.h"
#include "gsa/optimiser_parts.h"
#include "gsa/schedule.h"
#include "train/driver/session.h"

enum { GSA_STATE_VERSION = 3 };

/* Of a state that is read: counts stop there, as does the time, so that what is saved is read. */
#define GSA_MOST_COUNT   (INT64_C(1) << 53)
#define GSA_MOST_SECONDS 1e12

/* What a step has still to do when a run is cut off after it. */
enum gsa_due { GSA_DUE_EVALUATION = 1, GSA_DUE_EPOCH = 2, GSA_DUE_CHECKPOINT = 4 };

typedef struct gsa_run_counts { /* stored as they are: int64 numbers alone */
    int64_t version, seed, examples;
    int64_t step, epoch, cursor; /* cursor: the epoch's next global batch */
    int64_t applied, skipped;    /* optimiser steps; steps whose gradient was not finite */
    int64_t due;                 /* gsa_due */
    int64_t has_best, best_step, waited,
        ended;          /* waited: evaluations without a better one; ended: stopped early */
    int64_t keeps_best; /* model.safetensors holds the best model */
    int64_t epoch_targets, report_targets, tokens,
        evaluated;  /* evaluated: step of the last evaluation, -1: none */
    int64_t dev[8]; /* the whole numbers of the dev score that the result tells, as gsa_score has
                       them */
} gsa_run_counts;
typedef struct gsa_run_sums { /* likewise: doubles alone */
    double best, last;        /* dev metric */
    double dev_loss, dev_right;
    double epoch_loss, report_loss, seconds;
} gsa_run_sums;

/* Steps whose norm and losses the host has not read. */
enum { GSA_LEDGER_STEPS = 128, GSA_LEDGER_BYTES = 4096 };
typedef struct gsa_ledger_step {
    int64_t at; /* byte of the norm, a double; the losses of the pieces follow in the backend's real
                   type */
    int64_t pieces, targets;
    int64_t step, cursor, tokens, step_steps, step_tokens, applied, offered_steps,
        graph_steps; /* as they were before the step */
} gsa_ledger_step;
typedef struct gsa_ledger {
    char *at, *host;            /* [bytes]: the backend's memory, and where it is read to */
    int64_t bytes, used, count; /* count: steps */
    int64_t close;              /* so many steps to come are read one by one, for one was bad */
    gsa_ledger_step step[GSA_LEDGER_STEPS + 1]; /* and the one that is being queued */
} gsa_ledger;

typedef struct gsa_trainer {
    const gsa_system *system; /* beneath the folder that is written to, once it is locked */
    const gsa_system *base;   /* the caller's */
    const gsa_system *origin; /* reads the run that is gone on with */
    const gsa_train_options *options;
    char *folder;     /* of the run, or NULL */
    gsa_lock lock;    /* of the folder, where the caller has none */
    gsa_anchor *from; /* the checkpoint that the run goes on from, or NULL */
    gsa_session session;
    gsa_batches batches;
    gsa_optimiser *optimiser;
    gsa_running_mean running;
    gsa_tree tree;      /* of the pieces of a step that are this rank's */
    int64_t pieces;     /* of all ranks */
    int varied;         /* 1: went on with other batches, so that epochs differ in their steps */
    int32_t bad_rank;   /* the first whose gradients of the last step were not finite, or -1 */
    sig_atomic_t stops; /* 1: a rank was asked to stop, which all know */
    gsa_schedule schedule;
    gsa_run_counts counts;
    gsa_run_sums sums;
    void **best; /* [parameters] values of the best model, NULL before there is one */
    gsa_log log;
    gsa_chart curve;   /* line 0: training loss, 1: the dev metric */
    double started;    /* clock when this process's part began, less the seconds before it */
    double step_clock; /* clock at the last report */
    int64_t step_steps, step_tokens; /* since then */
    double norm, lr;
    gsa_ledger ledger;
    int64_t sent;                       /* by this process in its steps, bytes */
    int64_t offered_steps, graph_steps; /* of this process: steps the backend knew of (backend.h:
                                           step_begin); of them launched as graphs */
    char *metric;                       /* "dev_accuracy" */
    char run[GSA_IDENTITY];             /* its name (identity.h) */
} gsa_trainer;

/* driver.c: what is due (gsa_due) once so many steps are done, of them so many in this epoch. */
int64_t gsa_trainer_due(const gsa_trainer *t, int64_t step, int64_t cursor);
/* ledger.c. A step opens its entry (which may settle those before it: then look whether the run was
 * set back, to fewer steps), has its losses and its norm copied there, and closes it once all of it
 * is queued. */
gsa_status gsa_ledger_open(gsa_trainer *t, int64_t pieces, int64_t targets, gsa_error *error);
char *gsa_ledger_loss(const gsa_trainer *t, int64_t piece); /* backend memory of one real */
gsa_status gsa_ledger_norm(gsa_trainer *t, gsa_error *error);
void gsa_ledger_close(gsa_trainer *t);
void gsa_trainer_count(int64_t *count, int64_t more); /* adds it, up to GSA_MOST_COUNT */
int gsa_ledger_waits(const gsa_trainer *t);           /* 0: each step is read at once */
void gsa_ledger_release(gsa_trainer *t);
/* Reads what steps left: losses into the sums, the last norm. Of a norm that is not finite:
 * GSA_ERR_NUMBER with the step's number, or with check_nan = 0 one step skipped; where steps were
 * queued after it, the run is set back to before it. */
gsa_status gsa_trainer_settle(gsa_trainer *t, gsa_error *error);
/* state.c */
gsa_status gsa_trainer_save(gsa_trainer *t, gsa_error *error);
gsa_status gsa_trainer_restore(gsa_trainer *t, const char *checkpoint, gsa_error *error);
gsa_status gsa_trainer_read_state(gsa_trainer *t, const char *path, gsa_error *error);
/* state_ranges.c: the counts and sums that were just read. */
gsa_status gsa_trainer_check_ranges(const gsa_trainer *t, const char *path, gsa_error *error);
/* The place in the epoch, whose batches are in their order. */
gsa_status gsa_trainer_check_place(gsa_trainer *t, const char *path, gsa_error *error);
gsa_status gsa_trainer_keep_best(gsa_trainer *t, gsa_error *error);
void gsa_trainer_swap_kept(gsa_trainer *t); /* the values that are kept in (the best, else the mean
                                               of the weights), the present ones out; again: back */
void gsa_trainer_drop_best(gsa_trainer *t);

/* report.c */
void gsa_trainer_say(void *trainer, const char *sentence);
void gsa_trainer_warn(void *trainer, const char *sentence);
/* A line of the log: the machine, the compiler, the number of threads. */
gsa_status gsa_trainer_report_environment(gsa_trainer *t, gsa_error *error);
gsa_status gsa_trainer_report_step(gsa_trainer *t, gsa_error *error);
gsa_status gsa_trainer_report_epoch(gsa_trainer *t, const gsa_score *dev,
                                    gsa_error *error); /* dev NULL: no evaluation */
/* `more`: members to add, or NULL. */
gsa_status gsa_trainer_result(gsa_trainer *t, const gsa_score *test, json_t *more, char **result,
                              gsa_error *error);
gsa_status gsa_trainer_draw(gsa_trainer *t, gsa_error *error);
/* counts.c */
json_t *
gsa_trainer_counts(const gsa_trainer *t); /* of the last batch: examples, tokens, nodes, edges,
                                             score_bytes (of a number for each edge and head) */
/* Edges that end in a token, on average over the layers and the tokens of the longest example to
 * train on; 0 where that is not told by the length. */
double gsa_session_in_degree(const gsa_session *session);
/* The task's metrics next to the first: "dev_f1". */
void gsa_json_metrics(json_t *object, const gsa_task *task, const char *split,
                      const gsa_score *score);
/* encoder, and decoder where there is one. */
void gsa_json_stacks(json_t *object, const gsa_session *session);
/* dev_bleu, test_bleu, ... of a task that decodes; else nothing. */
gsa_status gsa_session_decode(gsa_session *session, json_t *object, gsa_error *error);
int32_t gsa_session_decode_batch(const gsa_session *session); /* sentences at a time */
/* The object as one line, owned by the system; takes the object over. */
gsa_status gsa_json_text(const gsa_system *system, json_t *object, char **text, gsa_error *error);

#endif
