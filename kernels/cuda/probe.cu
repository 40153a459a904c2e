/* probe.cu - asks the CUDA runtime; linked statically, so that a machine without CUDA gets a
 * sentence and no loader error. */
#include "kernels/cuda/probe.h"
#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdio.h>

struct line {
    char *text;
    size_t size, used;
};

static void add(line *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(at->text + at->used, at->size - at->used, format, arguments);
    va_end(arguments);
    const size_t left = at->size - at->used - 1;
    if (length > 0) at->used += (size_t)length < left ? (size_t)length : left;
}

static void add_version(line *at, const char *what, cudaError_t status, int version)
{
    if (status != cudaSuccess) add(at, "%s unknown (%s)", what, cudaGetErrorString(status));
    else if (version == 0) add(at, "%s none", what);
    else add(at, "%s %d.%d", what, version / 1000, version % 1000 / 10);
}

static void add_device(line *at, int device)
{
    cudaDeviceProp p;
    const cudaError_t status = cudaGetDeviceProperties(&p, device);
    if (status != cudaSuccess) add(at, "\ndevice %d: %s", device, cudaGetErrorString(status));
    else
        add(at, "\ndevice %d: %s, %.1f GiB, compute capability %d.%d, %d multiprocessors", device,
            p.name, (double)p.totalGlobalMem / 1073741824.0, p.major, p.minor,
            p.multiProcessorCount);
}

extern "C" int gsa_cuda_probe(char *text, size_t size)
{
    int version = 0, devices = 0;
    line at = { text, size, 0 };
    text[0] = 0;
    const cudaError_t runtime = cudaRuntimeGetVersion(&version);
    add_version(&at, "runtime", runtime, version);
    const cudaError_t driver = cudaDriverGetVersion(&version);
    add_version(&at, ", driver", driver, version);
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) {
        add(&at, "\nno device: %s", cudaGetErrorString(status));
        return 0;
    }
    if (devices == 0) add(&at, "\nno device");
    for (int i = 0; i < devices; i++) add_device(&at, i);
    return devices;
}
