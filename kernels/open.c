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

/* cuda, told which kernels attend, or to launch steps as graphs. */
typedef struct cuda_version {
    const char *name;
    int attention, graphs;
} cuda_version;
static const cuda_version cuda_versions[] = { { "cuda-bf16", GSA_CUDA_BF16, 0 },
                                              { "cuda-graphs", GSA_CUDA_FUSED, 1 },
                                              { "cuda-windows", GSA_CUDA_WINDOWS, 0 },
                                              { "cuda-tensor", GSA_CUDA_TENSOR, 0 },
                                              { "cuda-tf32", GSA_CUDA_TF32, 0 },
                                              { "cuda-bf16-windows", GSA_CUDA_BF16_WINDOWS, 0 },
                                              { "cuda-bf16-tensor", GSA_CUDA_BF16_TENSOR, 0 } };

static gsa_status open_version(const gsa_system *system, const cuda_version *version, int real, gsa_backend **backend,
                               gsa_error *error)
{
    gsa_status status = gsa_backend_cuda(system, real, 0, backend, error);
    if (status != GSA_OK) return status;
    status = version->graphs ? gsa_cuda_use_graphs(*backend) : gsa_cuda_choose_attention(*backend, version->attention);
    if (status == GSA_OK) return GSA_OK;
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
    } devices[] = { { "auto", open_auto }, { "cpu", open_cpu }, { "cuda", open_cuda }, { "ref", gsa_backend_ref } };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(device, devices[i].name) == 0) return devices[i].open(system, real, threads, backend, error);
    for (size_t i = 0; i < sizeof cuda_versions / sizeof *cuda_versions; i++)
        if (strcmp(device, cuda_versions[i].name) == 0) return open_version(system, &cuda_versions[i], real, backend, error);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "device '%s': expected cpu, ref, cuda, cuda-bf16, cuda-graphs, cuda-windows, cuda-tensor, cuda-tf32, "
                    "cuda-bf16-windows, cuda-bf16-tensor or auto",
                    device);
}
