/* open.c - devices by name. */
#include <string.h>
#include "kernels/cuda.h"

static gsa_status open_cpu(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    return real == GSA_F32 ? gsa_backend_cpu(system, GSA_CPU_BEST, threads, backend, error)
                           : gsa_backend_ref(system, real, threads, backend, error);
}

static gsa_status open_cuda(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    (void)threads;
    return gsa_backend_cuda(system, real, 0, backend, error);
}

/* cuda, whose attention reads what is rounded to bf16. */
static gsa_status open_cuda_bf16(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    gsa_status status = open_cuda(system, real, threads, backend, error);
    if (status != GSA_OK || (status = gsa_cuda_choose_attention(*backend, GSA_CUDA_BF16)) == GSA_OK) return status;
    if (error) *error = (*backend)->error;
    gsa_backend_release(*backend);
    return status;
}

static gsa_status open_cuda_graphs(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    gsa_status status = open_cuda(system, real, threads, backend, error);
    if (status != GSA_OK || (status = gsa_cuda_use_graphs(*backend)) == GSA_OK) return status;
    if (error) *error = (*backend)->error;
    gsa_backend_release(*backend);
    return status;
}

/* cuda where it can be had, else cpu; then the backend's error holds the sentence with which cuda was refused. */
static gsa_status open_auto(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    gsa_error why = { 0 };
    if (open_cuda(system, real, threads, backend, &why) == GSA_OK) return GSA_OK;
    const gsa_status status = open_cpu(system, real, threads, backend, error);
    if (status == GSA_OK && gsa_cuda_is_built()) (*backend)->error = why;
    return status;
}

gsa_status gsa_backend_open(const gsa_system *system, const char *device, int real, int threads, gsa_backend **backend,
                            gsa_error *error)
{
    static const struct {
        const char *name;
        gsa_status (*open)(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error);
    } devices[] = { { "auto", open_auto },
                    { "cpu", open_cpu },
                    { "cuda", open_cuda },
                    { "cuda-bf16", open_cuda_bf16 },
                    { "cuda-graphs", open_cuda_graphs },
                    { "ref", gsa_backend_ref } };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(device, devices[i].name) == 0) return devices[i].open(system, real, threads, backend, error);
    return gsa_fail(error, GSA_ERR_ARGUMENT, "device '%s': expected cpu, ref, cuda, cuda-bf16, cuda-graphs or auto", device);
}
