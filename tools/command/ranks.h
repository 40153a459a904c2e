/* ranks.h - the processes that a launcher (mpirun, srun) started as one job. */
#ifndef GSA_RANKS_H
#define GSA_RANKS_H
#include "tools/command/options.h"
#include "gsa/group.h"

/* Where a launcher started several: loads the module of MPI and opens its group. Alone nothing is
 * loaded. */
gsa_status gsa_ranks_open(gsa_error *error);
/* The group, or NULL. */
gsa_group *gsa_ranks(void);
/* Whether this rank was given the verb and options of rank 0, apart from threads, device and names
 * of files, whose content is compared later. */
gsa_status gsa_ranks_same(const gsa_verb *verb, const gsa_args *args, gsa_error *error);
/* The verb's end on this rank, which all ranks learn: the status of all. 1 of *speaks: this rank
 * tells the sentence. *code: the exit code. */
gsa_status gsa_ranks_agree(gsa_status status, gsa_error *error, int *speaks, int *code);
/* Once all is told. */
void gsa_ranks_close(void);

#endif
