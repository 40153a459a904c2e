/* mpi.h - a group whose ranks are MPI's (Open MPI, MPICH): a module of its own, which a
 * program loads where a launcher started it (tools/command/ranks.c). So nothing else needs MPI. */
#ifndef GSA_GROUP_MPI_H
#define GSA_GROUP_MPI_H
#include "gsa/group.h"

typedef struct gsa_group_mpi {
    /* MPI_Init, and a thread that tells rank + 1 twice a second that this rank lives. Where rank -
     * 1 gives no sign for some seconds, or others do not hear what failed (gsa/group.h), `lost`
     * receives a sentence, in that thread, and all ranks are ended with what it gives. 0; else
     * `why` says what is wrong. */
    int (*open)(gsa_group *group, int (*lost)(gsa_status status, const char *sentence), char *why,
                size_t room);
    /* Waits for the other ranks' close; MPI_Finalize. */
    void (*close)(gsa_group *group);
} gsa_group_mpi;

#define GSA_GROUP_MPI_TABLE "gsa_group_mpi_table" /* the one name that the module exports */
extern const gsa_group_mpi gsa_group_mpi_table;

#endif
