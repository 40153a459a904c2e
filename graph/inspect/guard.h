/* guard.h - igraph as a library that never prints or aborts: its handlers and attribute table while
 * a call of ours runs. */
#ifndef GSA_INSPECT_GUARD_H
#define GSA_INSPECT_GUARD_H
#include <igraph/igraph.h>
#include "graph/inspect/inspect.h"

typedef struct gsa_igraph_guard { /* what the process had */
    igraph_error_handler_t *errors;
    igraph_warning_handler_t *warnings;
    igraph_attribute_table_t *attributes;
    igraph_safelocale_t locale;
    int plain; /* the locale is igraph's own */
} gsa_igraph_guard;

gsa_status gsa_igraph_enter(gsa_igraph_guard *guard, gsa_error *error);
void gsa_igraph_leave(gsa_igraph_guard *guard);
/* The failure of an igraph call since gsa_igraph_enter, as our status: no memory, or `otherwise`
 * with igraph's words. */
gsa_status gsa_igraph_failed(igraph_error_t code, gsa_status otherwise, const char *what,
                             gsa_error *error);
const char *gsa_igraph_warning(void); /* the first one, or "" */

#endif
