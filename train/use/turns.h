/* turns.h - the text of one output that ranks make in rounds: in each round every rank makes a
 * part, and rank 0 writes the parts in the order of the ranks. Alone each part is written at once.
 * Not installed. */
#ifndef GSA_TURNS_H
#define GSA_TURNS_H
#include "gsa/group.h"
#include "train/driver/recycle.h"

typedef struct gsa_turns {
    gsa_group *group;  /* borrowed; or NULL */
    gsa_output *part;  /* receives this rank's part of the round; alone it is `whole` */
    gsa_output *whole; /* of other ranks than 0: the null device */
    gsa_recycler memory;
} gsa_turns;

/* Opens the output of rank 0. */
gsa_status gsa_turns_begin(const gsa_system *system, gsa_group *group, const char *path,
                           gsa_turns *turns, gsa_error *error);
/* The round ends: each rank brings its status. */
gsa_status gsa_turns_next(gsa_turns *turns, gsa_status status, gsa_error *error);
/* The output is whole, or after a failure is not there. */
gsa_status gsa_turns_end(gsa_turns *turns, gsa_status status, gsa_error *error);

#endif
