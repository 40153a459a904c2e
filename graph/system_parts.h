/* system_parts.h - what the files of graph/ share about the table; not installed. */
#ifndef GSA_SYSTEM_PARTS_H
#define GSA_SYSTEM_PARTS_H
#include <string.h>
#include "graph/system.h"

static inline const gsa_system *gsa_system_or_default(const gsa_system *system)
{
    return system ? system : gsa_system_default();
}

/* The words of an errno, in `out`. */
static inline const char *gsa_errno_text(int number, char *out, size_t size)
{
    out[0] = 0;
    return strerror_r(number, out, size) == 0 && out[0] ? out : "unknown error";
}

#endif
