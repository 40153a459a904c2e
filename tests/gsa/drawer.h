/* drawer.h - a file system in memory that can lose its power: what was not synchronised is kept,
 * cut or lost by chance.
 *
 * A file's bytes are safe after sync; a folder's entries (new, renamed, removed) after sync_folder.
 * At a power cycle each change of a folder that is not safe happened or did not, one by one, and
 * each file that is not safe keeps its old bytes, has the new ones, or a beginning of them with
 * zeros up to the new length. Paths are absolute. One thread. */
#ifndef GSA_TEST_DRAWER_H
#define GSA_TEST_DRAWER_H
#include "graph/system.h"
#include "support/compare.h"

typedef struct gsa_drawer {
    gsa_system table; /* hand out &drawer.table; memory is malloc's */
    struct drawer_node *nodes;
    int count, room;
    int64_t changes; /* operations that change something, since the last power cycle */
    int64_t power; /* > 0: as many changes succeed; after them everything fails, as nobody is there
                      any more */
    int dead;
} gsa_drawer;

void gsa_drawer_open(gsa_drawer *drawer);
void gsa_drawer_close(gsa_drawer *drawer);
void gsa_drawer_power_cycle(gsa_drawer *drawer, gsa_dice *dice);

#endif
