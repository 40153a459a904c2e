/* child.h - work in a process of its own: what it takes of memory is its own to report, and cannot
 * take more than it is given. */
#ifndef GSA_TOOLS_CHILD_H
#define GSA_TOOLS_CHILD_H
#include "graph/system.h"
#include "tools/command/sanitized.h"

/* Under AddressSanitizer, which reserves terabytes, no limit is set. */
#if GSA_SANITIZED
enum { GSA_CHILD_LIMITS = 0 };
#else
enum { GSA_CHILD_LIMITS = 1 };
#endif

typedef struct gsa_child_work {
    void (*prepare)(void); /* in the child, before its memory is limited: what crashes without
                              memory. NULL: nothing */
    /* Runs in the child, which ends with it; *text, of the system, is what comes back. */
    gsa_status (*run)(void *context, char **text, gsa_error *error);
    void *context;
    int64_t most_bytes; /* of memory that the child may write, as far as the machine can hold it to
                           that; 0: no limit */
} gsa_child_work;

/* Call it before the process has other threads. *text (released by the caller) and what the child
 * held at most. The child's failure is this call's, with its sentence; a child that a signal ends
 * is GSA_ERR_MEMORY for SIGKILL, which is how a machine without memory ends processes, else
 * GSA_ERR_UNSUPPORTED. */
gsa_status gsa_child_run(const gsa_system *system, const gsa_child_work *work, char **text,
                         int64_t *peak_bytes, gsa_error *error);

#endif
