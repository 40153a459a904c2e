/* lock.h - one process at a time writes into a run's folder: an advisory lock on its file `lock`,
 * which holds the process's number and goes when the lock is given back. The lock dies with its
 * process, whatever ends it: a file that a killed one left locks nothing. */
#ifndef GSA_LOCK_H
#define GSA_LOCK_H
#include "graph/system.h"

typedef struct gsa_lock {
    const gsa_system *system;
    char *path; /* NULL: not held */
    int file, zero;
} gsa_lock;

/* 1: the folder, or one above it, is a checkpoint of a model, which *which names: nothing else is
 * written there. 0 of a path that is too long to be looked at. */
int gsa_is_in_checkpoint(const gsa_system *system, const char *folder, char *which, size_t room);

/* The folder is made where it is not there. Inside a checkpoint, or where another holds its lock: a
 * sentence with the folder and that process's number. */
gsa_status gsa_lock_folder(const gsa_system *system, const char *folder, gsa_lock *lock,
                           gsa_error *error);
void gsa_lock_release(gsa_lock *lock); /* a zeroed one is fine */

#endif
