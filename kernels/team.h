/* team.h - threads for parallel loops, owned by whoever made them: no process-wide pool, nothing
 * mutable and global.
 *
 * Work is cut into items by the caller, never by the number of threads, so that the result does not
 * depend on it. A thread takes a range of its own first: its cache may hold what that is about.
 * Waiting threads sleep after some ten microseconds, and one that wakes late is not waited for:
 * with a pool that spins, a step on a shared machine took five times as long as on one thread.
 * A process that forked holds no team: its loops run in order, with the same bits. */
#ifndef GSA_TEAM_H
#define GSA_TEAM_H
#include "graph/system.h"

typedef struct gsa_team gsa_team;

/* `threads` >= 1 counts the caller's own. Fails with GSA_ERR_MEMORY, a thread's stack included, or
 * GSA_ERR_LIMIT when the system gives no more threads. */
gsa_status gsa_team_create(const gsa_system *system, int threads, gsa_team **team,
                           gsa_error *error);
void gsa_team_release(gsa_team *team); /* NULL does nothing */

/* body(context, item) runs once for each item 0..items-1; items of one call must not write what
 * another reads or writes. Returns when all are done. One caller at a time; a body does not call it
 * again. */
void gsa_team_run(gsa_team *team, int64_t items, void (*body)(void *context, int64_t item),
                  void *context);

/* The same with memory for what is too large for a stack: `rooms` holds one room of `bytes` bytes
 * for each thread, and body gets the room of the thread that runs it, whatever was in it before. */
void gsa_team_run_in(gsa_team *team, int64_t items,
                     void (*body)(void *context, void *room, int64_t item), void *context,
                     void *rooms, int64_t bytes);

#endif
