/* lock.h - one process at a time writes into a run's folder: an advisory lock on its file `lock`,
 * which holds the process's number and goes when the lock is given back. The lock dies with its
 * process, whatever ends it: a file that a killed one left locks nothing. An empty `lock` that was
 * there is locked as it is, and stays. */
#ifndef GSA_LOCK_H
#define GSA_LOCK_H
#include "graph/anchor.h"

typedef struct gsa_lock {
    const gsa_system *system; /* for all that is done in the folder, wherever its name leads later;
                                 NULL: the lock is not held */
    gsa_anchor *anchor;
    char *path; /* NULL where the table has no locks */
    int file;
    int stays; /* the lock was there, empty: no run is known to have made it */
} gsa_lock;

/* Fails where the folder, which need not be there, or one above it is a checkpoint of a model:
 * nothing else is written there. */
gsa_status gsa_check_outside(const gsa_system *system, const char *folder, gsa_error *error);

/* Made where it is not there; inside a checkpoint: a sentence. */
gsa_status gsa_make_run_folder(const gsa_system *system, const char *folder, gsa_error *error);

/* The folder is made so, and opened. Where another holds its lock: a sentence with the folder and
 * that process's number. */
gsa_status gsa_lock_folder(const gsa_system *system, const char *folder, gsa_lock *lock,
                           gsa_error *error);
void gsa_lock_give_back(gsa_lock *lock); /* others may lock; the folder stays open */
void gsa_lock_release(gsa_lock *lock);   /* both; a zeroed one is fine */

#endif
