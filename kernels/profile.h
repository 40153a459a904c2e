/* profile.h - where the time of a run goes: each call of a backend, what the host does between
 * them, by section of the run.
 *
 * Example:
 *
 *     static gsa_profile profile; // zeros
 *     char zeros[64];
 *     gsa_error error;
 *     gsa_backend *inner, *b;
 *     if (gsa_backend_open(NULL, "cpu", GSA_F32, 1, &inner, &error) ||
 *         gsa_backend_profile(inner, &profile, &b, &error))
 *         return puts(error.text), 1;
 *     gsa_profile_enter(&profile, GSA_PROFILE_STEP);
 *     b->zero_fill(b, zeros, sizeof zeros);
 *     gsa_profile_enter(&profile, GSA_PROFILE_REST);
 *     const gsa_profile_time *took = &profile.part[GSA_PROFILE_STEP][GSA_PROFILE_zero_fill];
 *     printf("%s: %d calls, %g s\n", gsa_profile_name(GSA_PROFILE_zero_fill), (int)took->calls,
 *            took->seconds);
 *     gsa_backend_release(b); // inner too
 *     return took->calls != 1;
 *
 * Law.  A gsa_profile is the caller's, zeroed before use, and one thread's. Where it is NULL
 *     nothing is timed and nothing is spent.
 *       Seconds are of the wall's clock; `processor` of the process, all its threads together,
 *       which another process's load does not lengthen. Parts of a section do not overlap; what
 *       they leave of its time is the program's own. What another thread did in that time is in
 *       `beside`; the processor's time that it took is in the parts', too, and in the section's.
 *       A device that queues its work (CUDA) returns before it is done: there a call's time says
 *         nothing.
 *     Wrapping fails with GSA_ERR_MEMORY alone. */
#ifndef GSA_PROFILE_H
#define GSA_PROFILE_H
#include "kernels/backend_calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run is doing when time is counted. */
enum gsa_profile_section {
    GSA_PROFILE_REST,
    GSA_PROFILE_STEP,
    GSA_PROFILE_EVALUATION,
    GSA_PROFILE_SECTIONS
};

enum gsa_profile_part { /* the backend's calls first, by the names of the table */
/* the part of an entry of the table */
#define GSA_PROFILE_CALL(entry, parameters, arguments) GSA_PROFILE_##entry,
                        GSA_BACKEND_CALLS(GSA_PROFILE_CALL)
#undef GSA_PROFILE_CALL
                            GSA_PROFILE_ORDER, /* examples shuffled and cut into batches */
                        GSA_PROFILE_FILL,      /* a batch's examples read, encoded and laid out */
                        GSA_PROFILE_GRAPH, /* its patterns made, or found in the cache, and joined
                                            */
                        GSA_PROFILE_WAIT,  /* until another thread had done both */
                        GSA_PROFILE_PARTS
};

/* Calls of one part, their time and their work. */
typedef struct gsa_profile_time {
    int64_t calls;             /* how many */
    double seconds, processor; /* wall; of all threads of the process */
    double flops; /* of products 2 m n k; of attention 4 and 10 for each edge and column, forward
                     and backward */
} gsa_profile_time;

/* A point in time: wall and processor, in seconds. */
typedef struct gsa_profile_mark {
    double seconds, processor; /* of clocks that never go back */
} gsa_profile_mark;

/* Where the time of a run went, by section and part. */
typedef struct gsa_profile {
    gsa_profile_time part[GSA_PROFILE_SECTIONS][GSA_PROFILE_PARTS]; /* in the calling thread */
    gsa_profile_time
        beside[GSA_PROFILE_SECTIONS]
              [GSA_PROFILE_PARTS]; /* in a thread of its own; processor: of that thread */
    gsa_profile_time section[GSA_PROFILE_SECTIONS]; /* calls: how often it was entered */
    gsa_profile_mark entered;                       /* when the section began */
    int32_t now, zero;                              /* the section */
} gsa_profile;

/* "gemm", ..., "order", "batch", "graph", "wait": `part` is 0 .. GSA_PROFILE_PARTS - 1; static. */
const char *gsa_profile_name(int part);

/* From here on time counts for `section`; what passed since the last call for the one before. */
void gsa_profile_enter(gsa_profile *profile, int section);
/* Around what the host does: began = begin(), ..., end(part, began). */
gsa_profile_mark gsa_profile_begin(const gsa_profile *profile);
void gsa_profile_end(gsa_profile *profile, int part, gsa_profile_mark began);
/* In another thread: its clocks, whose differences the profile's own thread hands over later. */
gsa_profile_mark gsa_profile_thread(const gsa_profile *profile);
void gsa_profile_beside(gsa_profile *profile, int part, gsa_profile_mark took);

/* A backend whose calls are those of `inner`, timed. It owns `inner`, also where it cannot be made;
 * the profile must outlive it. */
gsa_status gsa_backend_profile(gsa_backend *inner, gsa_profile *profile, gsa_backend **backend,
                               gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
