/* backend.c - what holds for every backend. */
#include "kernels/backend.h"

void gsa_backend_release(gsa_backend *backend)
{
    if (backend != NULL) backend->release(backend);
}

gsa_status gsa_backend_no_memory(const gsa_backend *backend, const char *what, int64_t bytes,
                                 gsa_error *error)
{
    const gsa_status status = backend->error.status;
    if (backend->shares_host_memory || (status != GSA_ERR_MEMORY && status != GSA_ERR_DEVICE))
        return gsa_out_of_memory(error, what, bytes);
    return gsa_fail(error, status, "%s: %s", what, backend->error.text);
}
