/* system_parts.h - what the files of graph/ share about the table; not installed. */
#ifndef GSA_SYSTEM_PARTS_H
#define GSA_SYSTEM_PARTS_H
#include <string.h>
#include "graph/system.h"

static inline const gsa_system *gsa_system_or_default(const gsa_system *system)
{
    return system ? system : gsa_system_default();
}

/* The kind of the name itself: GSA_FILE_LINK for a link, where the table knows links. */
static inline int gsa_entry_kind(const gsa_system *system, const char *path)
{
    return system->entry ? system->entry(system->user, path)
                         : system->kind(system->user, path, NULL);
}

/* The words of an errno, in `out`. */
static inline const char *gsa_errno_text(int number, char *out, size_t size)
{
    out[0] = 0;
    return strerror_r(number, out, size) == 0 && out[0] ? out : "unknown error";
}

#endif
