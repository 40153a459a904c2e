/* memory.c - allocation through the table, sizes multiplied with a check. */
#include <inttypes.h>
#include <string.h>
#include "graph/system.h"
#include "graph/system_parts.h"

/* 1 and the product, at least 1; or 0. PTRDIFF_MAX, as malloc: differences of pointers must not
 * overflow. */
static int product(size_t count, size_t size, size_t *bytes)
{
    if (size != 0 && count > (size_t)PTRDIFF_MAX / size) return 0;
    *bytes = count == 0 || size == 0 ? 1 : count * size;
    return 1;
}

void *gsa_alloc(const gsa_system *system, size_t count, size_t size)
{
    size_t bytes;
    system = gsa_system_or_default(system);
    return product(count, size, &bytes) ? system->alloc(system->user, bytes) : NULL;
}

void *gsa_alloc_zero(const gsa_system *system, size_t count, size_t size)
{
    void *at = gsa_alloc(system, count, size);
    return at ? memset(at, 0, count * size) : NULL;
}

void *gsa_resize(const gsa_system *system, void *at, size_t count, size_t size)
{
    size_t bytes;
    system = gsa_system_or_default(system);
    return product(count, size, &bytes) ? system->resize(system->user, at, bytes) : NULL;
}

void gsa_release(const gsa_system *system, void *at)
{
    system = gsa_system_or_default(system);
    if (at) system->release(system->user, at);
}

void gsa_calling(const gsa_system *system, const gsa_plugin_call *call)
{
    system = gsa_system_or_default(system);
    if (system->calling) system->calling(system->user, call);
}

char *gsa_copy_text(const gsa_system *system, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = gsa_alloc(system, bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

gsa_status gsa_out_of_memory(gsa_error *error, const char *what, int64_t bytes)
{
    return gsa_fail(error, GSA_ERR_MEMORY, "%s: out of memory, %" PRId64 " bytes were requested",
                    what, bytes);
}
