/* no_cuda.c - is in for kernels/cuda/ in builds without it. */
#include "kernels/cuda.h"

int gsa_cuda_is_built(void)
{
    return 0;
}

int gsa_cuda_devices(void)
{
    return 0;
}

gsa_status gsa_backend_cuda(const gsa_system *system, int real, int device, gsa_backend **backend,
                            gsa_error *error)
{
    (void)system, (void)real, (void)device, (void)backend;
    return gsa_fail(error, GSA_ERR_UNSUPPORTED, "this build has no CUDA backend, use cpu or auto");
}

gsa_status gsa_cuda_choose_attention(gsa_backend *b, int attention)
{
    (void)attention;
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "backend '%s' has one way to attend: this build has no CUDA backend", b->name);
}

gsa_status gsa_cuda_use_stream(gsa_backend *b, void *stream, gsa_error *error)
{
    (void)stream;
    return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                    "backend '%s' has no streams: this build has no CUDA backend", b->name);
}

gsa_status gsa_cuda_use_graphs(gsa_backend *b)
{
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "backend '%s' has no graphs of calls: this build has no CUDA backend", b->name);
}
