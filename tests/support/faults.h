/* faults.h - a gsa_system that counts what is live and lets the n-th call of a sort fail.
 *
 *   gsa_faults faults;
 *   gsa_faults_start(&faults);
 *   faults.fail[GSA_OP_WRITE] = 2;  // the 2nd write from now on fails with faults.number
 *   thing_create(&faults.table, ...);
 *   ck_assert_int_eq(gsa_faults_live(&faults), 0);
 * The table works on real memory and files. Any thread may call it; the fields are set while no
 * other thread does. */
#ifndef GSA_TEST_FAULTS_H
#define GSA_TEST_FAULTS_H
#include <pthread.h>
#include "graph/system.h"

enum gsa_op {
    GSA_OP_ALLOC, /* alloc and resize */
    GSA_OP_OPEN,
    GSA_OP_READ,
    GSA_OP_WRITE,
    GSA_OP_SYNC,
    GSA_OP_CLOSE,
    GSA_OP_TRUNCATE,
    GSA_OP_RENAME,
    GSA_OP_REMOVE,
    GSA_OP_MAKE_FOLDER,
    GSA_OP_SYNC_FOLDER,
    GSA_OP_KIND,
    GSA_OP_LIST,
    GSA_OP_LOCK,
    GSA_OPS
};

typedef struct gsa_faults {
    gsa_system table; /* hand out &faults.table */
    pthread_mutex_t lock;
    int64_t calls[GSA_OPS]; /* made since gsa_faults_rewind */
    int64_t fail[GSA_OPS];  /* 1: the next call fails, 2: the one after; 0: none. Counted from the
                               last rewind */
    int forever;            /* every later call of that sort fails too */
    int number;             /* errno of a failing file operation; ENOSPC at start */
    int64_t most;           /* > 0: a read or write moves at most so many bytes */
    int64_t blocks, files;  /* live */
} gsa_faults;

void gsa_faults_start(gsa_faults *faults);
/* Calls count from 0 again and nothing fails; what is live stays counted. */
void gsa_faults_rewind(gsa_faults *faults);
/* Live blocks and open files together. */
int64_t gsa_faults_live(gsa_faults *faults);

/* Runs `attempt` with no fault, then with the 1st, 2nd, ... call of sort `op` failing, once and
 * then for ever (under AddressSanitizer, in long sweeps, one of both), until that many calls are
 * not made any more. Each attempt must return `expected` when a call failed (GSA_OK is accepted too
 * if `may_recover`), and leave nothing live. Returns how many faults there are, two for each call;
 * dies through Check otherwise. */
int gsa_faults_sweep(int op, int may_recover, gsa_status expected,
                     gsa_status (*attempt)(gsa_faults *faults, void *context), void *context);

#endif
