#include "kernels/idle.h"
#include <stdint.h>
#include <string.h>
#include "graph/system_parts.h"
#include "kernels/backend_calls.h"
#include "kernels/ref/memory.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define IDLE(entry, parameters, arguments)                                                         \
    static gsa_status idle_##entry parameters                                                      \
    {                                                                                              \
        return GSA_OK;                                                                             \
    }
GSA_BACKEND_CALLS(IDLE)
#undef IDLE

static gsa_status download_zeros(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    if (bytes > 0) memset(to, 0, (size_t)bytes);
    return GSA_OK;
}

typedef struct idle {
    gsa_backend base;
    uintptr_t next; /* an address that was not given yet */
} idle;

/* Memory that the host reads is taken; as on others, at 64: the tape uses it again. */
static void *take(gsa_backend *b, int64_t bytes)
{
    return gsa_aligned_alloc(b->system, bytes, 0);
}

static void give_back(gsa_backend *b, void *at)
{
    gsa_aligned_release(b->system, at);
}

/* Of a device's memory an address is enough. */
static void *take_address(gsa_backend *b, int64_t bytes)
{
    idle *self = (idle *)b;
    const uintptr_t at = self->next;
    self->next += ((uintptr_t)(bytes > 0 ? bytes : 1) + 63) / 64 * 64;
    return (void *)at;
}

static void give_address_back(gsa_backend *b, void *at)
{
}

static void release(gsa_backend *b)
{
    gsa_release(b->system, b);
}

gsa_status gsa_backend_idle(const gsa_system *system, const gsa_backend *like,
                            gsa_backend **backend, gsa_error *error)
{
    idle *self = gsa_alloc(system, 1, sizeof *self);
    gsa_backend *b = *backend = self ? &self->base : NULL;
    if (!b) return gsa_out_of_memory(error, "an idle backend", (int64_t)sizeof *self);
    *b = *like, self->next = 64;
#define FILL(entry, parameters, arguments) b->entry = like->entry ? idle_##entry : NULL;
    GSA_BACKEND_CALLS(FILL)
#undef FILL
    b->system = gsa_system_or_default(system), b->state = NULL;
    b->release = release, b->download = download_zeros;
    b->alloc = like->shares_host_memory ? take : take_address;
    b->free = like->shares_host_memory ? give_back : give_address_back;
    b->step_begin = NULL, b->step_end = NULL;
    b->upload_ahead = NULL, b->upload_arrive = NULL;
    b->aside = NULL, b->back = NULL, b->meet = NULL;
    return GSA_OK;
}
