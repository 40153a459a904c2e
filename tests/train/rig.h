/* rig.h - a small training run for tests: base recipes, overrides, a stop at a chosen place, and
 * what a run leaves after. */
#ifndef GSA_TEST_TRAIN_RIG_H
#define GSA_TEST_TRAIN_RIG_H
#include <signal.h>
#include "gsa/safetensors.h"
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/driver.h"

enum { RIG_SETS = 24 };

typedef struct rig {
    gsa_scratch scratch;
    gsa_backend *backend;
    struct gsa_group *group; /* NULL: alone */
    const char *set[RIG_SETS];
    int sets, attempts;          /* attempts: of rig_train_faulty */
    const gsa_system *system;    /* NULL: the default one */
    char path[256];              /* of the recipe */
    const char *plugin;          /* path of a topology, or NULL */
    const struct gsa_lock *lock; /* of the folder that is written to, or NULL */
    const char *data[2];         /* files of the scratch that are train and dev; NULL: none */
    char *result;                /* of the last run */
    gsa_error error;
    volatile sig_atomic_t stop;
    /* what the progress callback does and saw */
    int64_t stop_at; /* step after whose report a stop is requested; 0: never */
    int64_t reports, evaluations, last_step;
    double loss, epoch_loss; /* of the last report, of the last epoch */
    char messages[4096];
    void (*each)(struct rig *, const gsa_progress *);
    void *context;
} rig;

/* A scratch folder with the recipe in it, and training and dev text. The backend is the one that
 * GSA_TEST_BACKEND names. */
void rig_open(rig *r, const char *recipe, int real, int threads);
void rig_close(rig *r);
void rig_set(rig *r, const char *override); /* the text is borrowed */

/* Runs into folder `name` of the scratch (NULL: none), or goes on with it. */
gsa_status rig_train(rig *r, const char *name);
gsa_status rig_resume(rig *r, const char *name);
gsa_status rig_train_ok(rig *r, const char *name); /* dies through Check unless GSA_OK */
/* For gsa_faults_sweep, whose context is the rig: a run into a folder of its own, whose system has
 * these faults. */
gsa_status rig_train_faulty(gsa_faults *faults, void *context);
double rig_number(const rig *r, const char *key); /* of the result; NAN: not there */

/* 0 when both runs' newest checkpoints hold the same bits: model, moments and counts (not the
 * seconds). Says what differs. */
int rig_differ(const rig *r, const char *a, const char *b);
/* The bytes of a file of the run's newest checkpoint; released with free(). */
char *rig_checkpoint_file(const rig *r, const char *run, const char *file, int64_t *bytes);

/* Makes the n-th call from now on (1: the next) of the backend's gemm request a stop; 0: counts
 * only. One rig at a time. */
void rig_stop_in_gemm(rig *r, int64_t n);
int64_t rig_gemm_calls(void);

/* Tiny recipes: 22 training examples in steps of 8, pieces of 4, dropout everywhere, 3 epochs = 9
 * steps. */
extern const char rig_summation[], rig_text[], rig_pairs[], rig_language[];

#endif
