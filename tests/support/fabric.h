/* fabric.h - ranks of a group as threads of this process that hand each other their bytes. */
#ifndef GSA_TEST_FABRIC_H
#define GSA_TEST_FABRIC_H
#include "gsa/group.h"

enum { FABRIC_RANKS = 8 };

typedef struct fabric fabric;
typedef struct fabric_rank {
    fabric *fabric;
    gsa_group group;
} fabric_rank;

/* `body` with argument[r] in a thread for each rank r; at[r] is its place while it runs. */
void fabric_run(int ranks, fabric_rank *at, void *(*body)(void *), void *const *argument);

#endif
