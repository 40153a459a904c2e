/* above.h - a gsa_system whose calls all go to the one below; not installed.
 *
 * A struct that begins with a gsa_above replaces those members of its table that it answers itself:
 * `user` points at both. */
#ifndef GSA_ABOVE_H
#define GSA_ABOVE_H
#include "graph/system.h"

enum { GSA_ABOVE_ROOM = 4096 + 64 };

struct gsa_above;
/* The path below that stands for `path`: itself, or written into room[GSA_ABOVE_ROOM]. */
typedef const char *gsa_above_path(const struct gsa_above *above, const char *path, char *room);

typedef struct gsa_above {
    gsa_system table; /* hand out &table */
    const gsa_system *below;
    gsa_above_path *path; /* NULL: paths stay as they are */
} gsa_above;

/* `below` and `above` outlive what the table is given to. */
void gsa_above_start(gsa_above *above, const gsa_system *below, gsa_above_path *path);

#endif
