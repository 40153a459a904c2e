/* recycle.h - a gsa_system over another that keeps the memory it is given back, and whose file
 * GSA_RECYCLE_TEXT is a text in memory: for work that is done again and again. Not installed.
 *
 * Law.  With `keeps` set, blocks that are released wait in lists by their size and are handed out
 *     again, the smallest that is large enough: a new one is requested only where all of those are
 *     in use. So there are never more of any size than were in use at once, and what was done
 *     before, with texts as long, requests nothing. Calls may come from many threads. */
#ifndef GSA_RECYCLE_H
#define GSA_RECYCLE_H
#include <pthread.h>
#include "graph/above.h"

/* What reads this path reads `text`; what writes it adds to `made`. No file of that name is looked
 * for. */
#define GSA_RECYCLE_TEXT "the text"

enum { GSA_RECYCLE_SIZES = 384 };

typedef struct gsa_recycler {
    gsa_above above; /* the first; hand out &above.table */
    pthread_mutex_t lock;
    int keeps, zero;
    struct gsa_recycled *list[GSA_RECYCLE_SIZES];
    const char *text;
    int64_t bytes, taken; /* of the text */
    char *made;
    int64_t written, room;
    int64_t missing; /* bytes that there was no memory for to write them; 0: none */
} gsa_recycler;

void gsa_recycler_start(gsa_recycler *recycler, const gsa_system *below);
/* What was handed out is back. */
void gsa_recycler_end(gsa_recycler *recycler);
/* From now on that text is read, and nothing was written. */
void gsa_recycler_feed(gsa_recycler *recycler, const char *text, int64_t bytes);

#endif
